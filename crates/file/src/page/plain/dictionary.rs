//! Dictionaries inside a plain page: positions, and the items they name.
//!
//! ```text
//! dictionary type     positions 0 2 1     k is item k; items may be null
//! other text          positions 1 0 2     0 is null, k is item k - 1
//! ```
//!
//! Bound on reads: the items whole, once for a handle; of the positions the bytes under the rows asked for. See
//! docs/format/plain.md, "Dictionary".

use std::ops::Range;
use std::sync::Arc;

use arrow_buffer::BooleanBuffer;

use super::super::leaf_data::Validity;
use super::arrays::{Access, BitArray, FixedArray};
use super::reader::Array;
use crate::encoding::{ValueType, Values};
use crate::error::corrupt;
use crate::{Error, Limits, Result};

/// Positions in the page's dictionary.
pub(super) struct DictionaryArray {
    pub(super) validity: Option<BitArray>,
    pub(super) indices: FixedArray,
    pub(super) items: Box<Array>,
    pub(super) num_items: u64,
    /// The column is of Arrow's dictionary type: positions are its keys. Otherwise position 0 is null and position
    /// k is item k - 1.
    pub(super) keeps_keys: bool,
}

/// The items of a dictionary, once read; with a null in front where position 0 is one.
#[derive(Debug)]
pub(super) struct Items {
    pub(super) values: Arc<Values>,
    /// How many positions there are; nulls at the end have no value.
    len: u64,
    valid: Option<BooleanBuffer>,
}

impl Items {
    /// `position` must be below the length.
    fn is_null(&self, position: u64) -> bool {
        self.valid.as_ref().is_some_and(|valid| !valid.value(position as usize))
    }
}

impl DictionaryArray {
    /// Reads the items; what they need must be there.
    pub(super) fn load(&self, shape: &ValueType, access: &Access<'_>, limits: &Limits) -> Result<Items> {
        // Besides the items themselves: where they are and whether they are null.
        let item_bytes = shape.fixed_bytes().unwrap_or(0).saturating_add(32) as u64;
        let bytes = self.num_items.saturating_mul(item_bytes);
        if bytes > limits.buffer_bytes {
            return Err(Error::limit(format!(
                "a dictionary of {} items, at most {} bytes of them are read",
                self.num_items, limits.buffer_bytes
            )));
        }
        let mut values = Values::new(shape, self.num_items as usize + 1);
        let mut valid = Validity::default();
        if !self.keeps_keys {
            values.push_defaults(1);
            valid.append_n(1, false);
        }
        let done = self.items.append(&(0..self.num_items), access, None, &mut values, &mut valid)?;
        if (done as u64) < self.num_items {
            return Err(Error::limit("a dictionary holds more bytes than 32-bit offsets can count"));
        }
        let len = values.len() as u64;
        let valid = valid.into_buffer();
        if let Some(valid) = &valid {
            // Nulls at the end stand there to be pointed at; they are no entries.
            let kept = valid.set_slices().last().map_or(0, |(_, end)| end);
            values.truncate(kept);
        }
        Ok(Items { values: Arc::new(values), len, valid })
    }

    pub(super) fn append(
        &self,
        rows: &Range<u64>,
        access: &Access<'_>,
        items: &Items,
        out: &mut Values,
        valid: &mut Validity,
    ) -> Result<usize> {
        let count = (rows.end - rows.start) as usize;
        let mut positions = self.indices.words(rows, access)?;
        let own = match &self.validity {
            Some(validity) => {
                let (bytes, start) = validity.read(rows, access)?;
                let bit = |i: usize| bytes[(start + i) / 8] >> ((start + i) % 8) & 1 == 1;
                Some(BooleanBuffer::collect_bool(count, bit))
            }
            None => None,
        };
        let is_valid = |i: usize| own.as_ref().is_none_or(|own| own.value(i));
        for (i, position) in positions.iter_mut().enumerate() {
            if *position >= items.len {
                if is_valid(i) {
                    corrupt!("position {position} in a dictionary of {} items", items.len);
                }
                *position = 0;
            }
        }
        let done = if self.keeps_keys {
            out.fixed_mut(self.indices.width)?.extend(&self.indices.read(rows, access)?);
            count
        } else {
            // A null is looked up where the one in front is, which is empty.
            let positions: Vec<u32> =
                positions.iter().map(|p| if items.is_null(*p) { 0 } else { *p as u32 }).collect();
            if items.values.len() == 0 {
                out.push_defaults(count);
                count
            } else {
                out.gather(&items.values, &positions)?
            }
        };
        match (&items.valid, &own) {
            (None, None) => valid.append_n(done, true),
            (entries, _) => {
                debug_assert!(entries.as_ref().is_none_or(|e| e.len() as u64 == items.len));
                let bits = BooleanBuffer::collect_bool(done, |i| is_valid(i) && !items.is_null(positions[i]));
                match bits.has_false() {
                    true => valid.append_bits(bits.values(), bits.offset(), done),
                    false => valid.append_n(done, true),
                }
            }
        }
        Ok(done)
    }
}
