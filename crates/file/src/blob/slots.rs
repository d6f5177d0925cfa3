//! Which descriptors belong to which row.
//!
//! ```text
//! flat     row i has slot i
//! lists    rep 1 0 1 1     def 0 1 3 0       rows end at slots 2, 2, 3: the second is an empty list
//! ```

use crate::page::{LeafData, LevelScheme, Structure};
use crate::{Error, Result};

/// The slots of the rows of one leaf.
pub(super) struct Slots {
    /// Where the slots of each row end.
    ends: Vec<usize>,
    /// Which slots have a value; `None` if all have.
    valid: Option<Vec<bool>>,
}

impl Slots {
    /// Of the first `num_rows` rows of `data`, `scale` slots each where there are no lists.
    pub(super) fn of(data: &LeafData, scheme: &LevelScheme, scale: usize, num_rows: usize) -> Result<Self> {
        let slots = match &data.structure {
            Structure::Flat(validity) => Self {
                ends: (1..=num_rows).map(|row| row * scale).collect(),
                valid: validity.has_nulls().then(|| validity.iter().collect()),
            },
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
                    ends
                } else {
                    (1..=num_rows).map(|row| row * scale).collect()
                };
                Self { ends, valid: Some(valid) }
            }
        };
        let (rows, values) = (slots.ends.len(), data.values.len());
        if rows < num_rows || slots.count(rows) > values {
            return Err(Error::corrupt(format!(
                "levels of {rows} rows with {} blobs, where {num_rows} rows with {values} are expected",
                slots.count(rows)
            )));
        }
        Ok(slots)
    }

    /// Slots of a row.
    pub(super) fn row(&self, row: usize) -> std::ops::Range<usize> {
        row.checked_sub(1).map_or(0, |before| self.ends[before])..self.ends[row]
    }

    /// Slots of the first `rows` rows.
    pub(super) fn count(&self, rows: usize) -> usize {
        rows.checked_sub(1).map_or(0, |last| self.ends[last])
    }

    /// Whether a slot has a value.
    pub(super) fn is_valid(&self, slot: usize) -> bool {
        self.valid.as_ref().is_none_or(|valid| valid.get(slot).copied().unwrap_or(false))
    }
}
