//! What statistics say of the values of one column in some rows.

use super::Value;

/// What is known of the values of one column in a stretch of rows, without looking at them.
///
/// Values in lists count one by one. `min` and `max` bound all values that are neither null nor NaN; `None` for both where there is no
/// such value. Zeros of either sign are the same value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Facts {
    /// Values, nulls and NaNs among them.
    pub(crate) values: u64,
    pub(crate) nulls: u64,
    pub(crate) nans: u64,
    /// Not above any value.
    pub(crate) min: Option<Bound>,
    /// Not below any value.
    pub(crate) max: Option<Bound>,
}

/// A bound of values.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Bound {
    pub(crate) value: Value,
    /// One of the values is equal to it.
    pub(crate) exact: bool,
}
