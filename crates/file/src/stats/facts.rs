//! What statistics say of the values of one column in some rows.

use std::cmp::Ordering;

use super::Value;

/// What is known of the values of one column in a stretch of rows, without looking at them.
///
/// Values in lists count one by one. `min` and `max` bound all values that are neither null nor NaN; `None` for both where there is no
/// such value. Zeros of either sign are the same value.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Facts {
    /// Values, nulls and NaNs among them.
    pub(crate) values: u64,
    pub(crate) nulls: u64,
    pub(crate) nans: u64,
    /// Not above any value. Also `None` where nothing is known.
    pub(crate) min: Option<Bound>,
    /// Not below any value. Also `None` where nothing is known, as of bytes that cannot be rounded up.
    pub(crate) max: Option<Bound>,
}

/// A bound of values.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Bound {
    pub(crate) value: Value,
    /// One of the values is equal to it.
    pub(crate) exact: bool,
}

impl Facts {
    /// Values that are neither null nor NaN.
    pub(crate) fn ordered(&self) -> u64 {
        self.values.saturating_sub(self.nulls).saturating_sub(self.nans)
    }

    /// Adds what is known of other rows of the column.
    pub(crate) fn merge(&mut self, other: &Self) {
        if other.ordered() > 0 {
            if self.ordered() > 0 {
                outer(&mut self.min, &other.min, Ordering::Less);
                outer(&mut self.max, &other.max, Ordering::Greater);
            } else {
                self.min.clone_from(&other.min);
                self.max.clone_from(&other.max);
            }
        }
        self.values = self.values.saturating_add(other.values);
        self.nulls = self.nulls.saturating_add(other.nulls);
        self.nans = self.nans.saturating_add(other.nans);
    }
}

/// The bound further out of two; none where one of them is not known.
fn outer(bound: &mut Option<Bound>, other: &Option<Bound>, out: Ordering) {
    let (Some(own), Some(other)) = (bound.as_mut(), other) else {
        *bound = None;
        return;
    };
    match other.value.order(&own.value) {
        Some(Ordering::Equal) => own.exact |= other.exact,
        Some(order) if order == out => own.clone_from(other),
        Some(_) => {}
        None => *bound = None,
    }
}
