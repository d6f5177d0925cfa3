//! Which slots belong to which row, and which of them have a value.
//!
//! ```text
//! flat     row i has slot i
//! lists    rep 1 0 1 1     def 0 1 3 0       rows end at slots 2, 2, 3: the second is an empty list
//! ```

use std::ops::Range;

use arrow_buffer::BooleanBuffer;

use super::{LeafData, LevelScheme, Structure};
use crate::{Error, Result};

/// The slots of the rows of one leaf.
#[derive(Debug)]
pub(crate) struct RowSlots {
    ends: Ends,
    /// Which slots have a value; `None` if all have.
    valid: Option<BooleanBuffer>,
}

/// Where the slots of rows end.
#[derive(Debug)]
enum Ends {
    /// Every row has as many.
    Every(usize),
    Each(Vec<usize>),
}

impl RowSlots {
    /// Of the first `num_rows` rows of `data`, `scale` slots each where there are no lists.
    pub(crate) fn of(data: &LeafData, scheme: &LevelScheme, scale: usize, num_rows: usize) -> Result<Self> {
        let slots = match &data.structure {
            Structure::Flat(validity) => Self { ends: Ends::Every(scale), valid: validity.to_buffer() },
            Structure::Levels { rep, def } => {
                let visible = def.iter().filter(|d| **d <= scheme.max_visible());
                let valid = visible.map(|d| *d == 0).collect();
                let ends = if scheme.has_lists() {
                    let mut ends = Vec::with_capacity(num_rows);
                    let mut slots = 0;
                    for (i, (r, d)) in rep.iter().zip(def).enumerate() {
                        if *r == scheme.max_rep() && i > 0 {
                            ends.push(slots);
                        }
                        slots += usize::from(*d <= scheme.max_visible());
                    }
                    ends.push(slots);
                    ends.truncate(num_rows);
                    Ends::Each(ends)
                } else {
                    Ends::Every(scale)
                };
                Self { ends, valid: Some(valid) }
            }
        };
        let rows = match &slots.ends {
            Ends::Every(_) => num_rows,
            Ends::Each(ends) => ends.len(),
        };
        let values = slots.valid.as_ref().map_or(usize::MAX, BooleanBuffer::len).min(data.values.len());
        if rows < num_rows || slots.count(rows) > values {
            return Err(Error::corrupt(format!(
                "levels of {rows} rows with {} values, where {num_rows} rows with {values} are expected",
                slots.count(rows)
            )));
        }
        Ok(slots)
    }

    /// Slots of a row.
    pub(crate) fn row(&self, row: usize) -> Range<usize> {
        self.rows(row..row + 1)
    }

    /// Slots of some rows.
    pub(crate) fn rows(&self, rows: Range<usize>) -> Range<usize> {
        self.count(rows.start)..self.count(rows.end)
    }

    /// Slots of the first `rows` rows.
    pub(crate) fn count(&self, rows: usize) -> usize {
        match &self.ends {
            Ends::Every(slots) => rows.saturating_mul(*slots),
            Ends::Each(ends) => rows.checked_sub(1).map_or(0, |last| ends[last]),
        }
    }

    /// Which slots have a value; `None` if all have.
    pub(crate) fn validity(&self) -> Option<&BooleanBuffer> {
        self.valid.as_ref()
    }

    /// Whether a slot has a value.
    pub(crate) fn is_valid(&self, slot: usize) -> bool {
        self.valid.as_ref().is_none_or(|valid| slot < valid.len() && valid.value(slot))
    }
}
