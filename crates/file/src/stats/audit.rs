//! Whether statistics are true of the data they are about, for `verify`.
//!
//! ```text
//! rows      │    batch    │  batch  │      batch      │
//! zones     │ zone 0 │ zone 1 │ zone 2 │ zone 3       │
//!             each piece beside the bounds of its zone and of the file: values outside are noted
//!             at the end of a zone, and of the file: counts, and whether exact bounds were met
//! ```
//!
//! What would rule out a row that exists is a fault: a minimum above a value, a maximum below one, a count that is not the one
//! found. Bounds farther away than they need be are none, unless a value is said to be equal to them. Of rows that nobody
//! looked at nothing is said: what was found in their zone may be less than there is.
//!
//! One batch and one zone are looked at at a time, so that nothing grows with the file.

use std::cmp::Ordering;
use std::fmt::{self, Display};
use std::ops::Range;

use super::collect::PageValues;
use super::extent::{Long, Slots};
use super::{Bound, ColumnFacts, Facts, Value, cut};
use crate::page::{LeafData, RowSlots};
use crate::schema::Order;

/// Faults of one column that are told apart.
const MAX_FAULTS: usize = 16;
/// Bytes of a text that are shown.
const SHOWN_BYTES: usize = 32;

/// The statistics of one leaf beside its values, which are shown in order of their rows.
#[derive(Debug)]
pub(crate) struct Audit<'a> {
    facts: &'a ColumnFacts,
    order: Order,
    num_rows: u64,
    /// Rows before are done with.
    next_row: u64,
    /// Of the zone that the next row is in.
    zone: Found,
    file: Found,
    faults: Vec<String>,
    /// Faults beyond those.
    more: u64,
}

/// What was found in a zone or the file so far.
#[derive(Debug, Default)]
struct Found {
    values: u64,
    nulls: u64,
    nans: u64,
    /// The value farthest outside.
    below: Option<Value>,
    above: Option<Value>,
    /// A value is equal to the bound.
    meets_min: bool,
    meets_max: bool,
    /// Rows were passed over.
    has_gap: bool,
}

impl<'a> Audit<'a> {
    /// For a leaf of a file of `num_rows` rows.
    pub(crate) fn new(facts: &'a ColumnFacts, order: Order, num_rows: u64) -> Self {
        Self {
            facts,
            order,
            num_rows,
            next_row: 0,
            zone: Found::default(),
            file: Found::default(),
            faults: Vec::new(),
            more: 0,
        }
    }

    /// Looks at the first `num_rows` rows of `leaf`, which have these slots and of which the first is number `first_row` of the file.
    /// Rows looked at before are passed over.
    pub(crate) fn look(&mut self, first_row: u64, num_rows: usize, leaf: &LeafData, slots: &RowSlots) {
        let values = values_of(leaf, self.order);
        let end = first_row.saturating_add(num_rows as u64).min(self.num_rows);
        self.pass_over(first_row);
        while self.next_row < end {
            let stop = end.min(self.zone_end());
            let rows = (self.next_row - first_row) as usize..(stop - first_row) as usize;
            let slots = Slots { range: slots.rows(rows), valid: slots.validity() };
            let found = values.facts(self.order, &slots, Long::Whole);
            self.add(&found, 1);
            self.advance(stop);
        }
    }

    /// Looks at the first row of `leaf`, which every one of `rows` is like.
    pub(crate) fn look_alike(&mut self, rows: Range<u64>, leaf: &LeafData, slots: &RowSlots) {
        let slots = Slots { range: slots.row(0), valid: slots.validity() };
        let found = values_of(leaf, self.order).facts(self.order, &slots, Long::Whole);
        let end = rows.end.min(self.num_rows);
        self.pass_over(rows.start);
        while self.next_row < end {
            let stop = end.min(self.zone_end());
            self.add(&found, stop - self.next_row);
            self.advance(stop);
        }
    }

    /// Every fault found, each with its zone; rows that were not looked at are passed over.
    pub(crate) fn finish(mut self) -> Vec<String> {
        self.pass_over(self.num_rows);
        let found = std::mem::take(&mut self.file);
        let facts = self.facts;
        self.compare(&facts.file, &found, &"in the file");
        if self.more > 0 {
            self.faults.push(format!("statistics: {} more faults", self.more));
        }
        self.faults
    }

    /// Where the zone of the next row ends.
    fn zone_end(&self) -> u64 {
        if self.facts.zones.is_empty() || self.facts.zone_rows == 0 {
            return self.num_rows;
        }
        let zone = self.next_row / self.facts.zone_rows;
        (zone + 1).saturating_mul(self.facts.zone_rows).min(self.num_rows)
    }

    fn zone_number(&self) -> Option<usize> {
        usize::try_from(self.next_row.checked_div(self.facts.zone_rows)?).ok()
    }

    /// Says nothing of the rows up to `row`.
    fn pass_over(&mut self, row: u64) {
        let row = row.min(self.num_rows);
        while self.next_row < row {
            self.zone.has_gap = true;
            self.file.has_gap = true;
            self.advance(row.min(self.zone_end()));
        }
    }

    /// Adds what `times` times some rows of a zone have.
    fn add(&mut self, found: &Facts, times: u64) {
        let facts = self.facts;
        if let Some(zone) = self.zone_number().and_then(|zone| facts.zones.get(zone)) {
            self.zone.add(zone, found, times);
        }
        self.file.add(&facts.file, found, times);
    }

    /// Goes on to `row`, no farther than to the end of the zone.
    fn advance(&mut self, row: u64) {
        if row == self.zone_end() {
            let found = std::mem::take(&mut self.zone);
            let facts = self.facts;
            if let Some(number) = self.zone_number()
                && let Some(zone) = facts.zones.get(number)
            {
                let first = number as u64 * facts.zone_rows;
                self.compare(zone, &found, &format_args!("in zone {number} (rows {first} to {})", row - 1));
            }
        }
        self.next_row = row;
    }

    fn compare(&mut self, said: &Facts, found: &Found, place: &dyn Display) {
        let mut fault = |text: String| match self.faults.len() {
            MAX_FAULTS.. => self.more += 1,
            _ => self.faults.push(text),
        };
        let bounds = [
            ("minimum", "below", &said.min, &found.below, found.meets_min),
            ("maximum", "above", &said.max, &found.above, found.meets_max),
        ];
        for (what, side, bound, outside, met) in bounds {
            let Some(bound) = bound else { continue };
            if let Some(value) = outside {
                fault(format!(
                    "statistics: {what} {} expected {place}, a value {side} it found: {}",
                    Shown(&bound.value),
                    Shown(value)
                ));
            } else if bound.exact && !met && !found.has_gap {
                fault(format!(
                    "statistics: a value {} expected {place}, as the {what} is said to be one; none found",
                    Shown(&bound.value)
                ));
            }
        }
        let counts = [
            ("values", said.values, found.values),
            ("nulls", said.nulls, found.nulls),
            ("NaNs", said.nans, found.nans),
        ];
        for (what, expected, found) in counts.into_iter().filter(|_| !found.has_gap) {
            if expected != found {
                fault(format!("statistics: {expected} {what} expected {place}, {found} found"));
            }
        }
    }
}

impl Found {
    fn add(&mut self, said: &Facts, found: &Facts, times: u64) {
        self.values = self.values.saturating_add(found.values.saturating_mul(times));
        self.nulls = self.nulls.saturating_add(found.nulls.saturating_mul(times));
        self.nans = self.nans.saturating_add(found.nans.saturating_mul(times));
        let sides = [
            (&said.min, &found.min, Ordering::Less, &mut self.below, &mut self.meets_min),
            (&said.max, &found.max, Ordering::Greater, &mut self.above, &mut self.meets_max),
        ];
        for (bound, found, out, outside, meets) in sides {
            let (Some(bound), Some(Bound { value, .. })) = (bound, found) else { continue };
            match value.order(&bound.value) {
                Some(Ordering::Equal) => *meets = true,
                Some(order) if order != out => {}
                // Also where the bound has no order, as NaN.
                _ => {
                    if outside.as_ref().is_none_or(|known| value.order(known) == Some(out)) {
                        *outside = Some(shortened(value));
                    }
                }
            }
        }
    }
}

/// As much of a value as is held.
fn shortened(value: &Value) -> Value {
    match value {
        Value::Bytes(bytes) => Value::Bytes(bytes[..bytes.len().min(cut::MAX_BYTES)].to_vec()),
        other => other.clone(),
    }
}

fn values_of(leaf: &LeafData, order: Order) -> PageValues<'_> {
    match &leaf.dictionary {
        Some(dictionary) => PageValues::keyed(&leaf.values, &dictionary.values, order),
        None => PageValues::Plain(&leaf.values),
    }
}

/// A value as it is stored, in a message.
struct Shown<'a>(&'a Value);

impl Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Value::Bool(value) => write!(f, "{value}"),
            Value::Int(value) => write!(f, "{value}"),
            Value::Wide(value) => write!(f, "{value}"),
            Value::Float(value) => write!(f, "{value:?}"),
            Value::Bytes(bytes) => {
                let shown = &bytes[..bytes.len().min(SHOWN_BYTES)];
                write!(f, "\"{}\"", shown.escape_ascii())?;
                f.write_str(if shown.len() < bytes.len() { "…" } else { "" })
            }
        }
    }
}
