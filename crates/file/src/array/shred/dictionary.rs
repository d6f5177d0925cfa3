//! Arrow dictionary arrays gathered into one dictionary per page.
//!
//! The first array's dictionary is taken as it is when it is worth its bytes, so its order and unused
//! entries survive; otherwise, and for further dictionaries, entries are added when a key first uses
//! them. Nulls in a dictionary become nulls of the keys; keys under nulls are never looked at.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, downcast_integer_array};
use arrow_buffer::{ArrowNativeType, BooleanBuffer, NullBuffer};

use super::path::DictionaryKeys;
use super::source::{Source, whole};
use crate::encoding::{ValueType, Values};
use crate::{Error, Result};

/// No entry yet.
const UNMAPPED: u32 = u32::MAX;

/// The dictionary of a page being gathered.
#[derive(Debug)]
pub(super) struct PageEntries {
    keys: DictionaryKeys,
    shape: ValueType,
    pub(super) entries: Values,
    /// Whether slots mapped so far are null where nulls take an entry.
    has_null: bool,
    /// Value bytes → entry. Built when a second dictionary comes or entries are added one by one.
    index: Option<HashMap<Box<[u8]>, u32>>,
    /// The last dictionary array met, and where its entries went.
    last: Option<(ArrayRef, Vec<u32>)>,
    /// Bytes of `entries` and `index`, about.
    index_bytes: usize,
}

/// Keys of some slots, or the news that the page's dictionary is full.
pub(super) enum Keys {
    Mapped(Values),
    Full,
}

impl PageEntries {
    pub(super) fn new(keys: DictionaryKeys, shape: ValueType) -> Self {
        let entries = Values::new(&shape, 0);
        Self { keys, shape, entries, has_null: false, index: None, last: None, index_bytes: 0 }
    }

    pub(super) fn byte_size(&self) -> usize {
        self.entries.byte_size() + self.index_bytes
    }

    /// Stored keys of the slots of `ranges`; zero where `valid` is not set, which is `None` where all are valid.
    ///
    /// Leaves the dictionary as good as it was when it says `Full`: some entries may have been added
    /// that nothing uses.
    pub(super) fn map(
        &mut self,
        array: &ArrayRef,
        ranges: &[Range<usize>],
        valid: Option<&BooleanBuffer>,
    ) -> Result<Keys> {
        let dictionary = array.as_any_dictionary();
        let values = dictionary.values();
        let num_slots: usize = ranges.iter().map(ExactSizeIterator::len).sum();
        let has_null = self.has_null || (self.keys.null_is_entry && valid.is_some());
        let room = self.keys.max_entries - usize::from(has_null);
        if self.entries.len() > room {
            return Ok(Keys::Full);
        }
        self.meet(values, num_slots, room)?;
        let Some((_, mut mapped)) = self.last.take() else { return Ok(Keys::Full) };
        let source = Source::new(values, &self.shape)?;
        let mut out = Values::new(&ValueType::Fixed(self.keys.bytes), num_slots);
        let mut keys = Vec::with_capacity(num_slots);
        let mut full = false;
        let raw = dictionary.keys();
        let mut at = 0;
        for range in ranges {
            for slot in range.clone() {
                let used = valid.is_none_or(|v| v.value(at));
                at += 1;
                if !used {
                    keys.push(0);
                    continue;
                }
                let key = key_at(raw, slot);
                let Some(to) = key.and_then(|k| mapped.get_mut(k)) else {
                    return Err(Error::invalid(format!(
                        "dictionary key {key:?} where the dictionary has {} entries",
                        values.len()
                    )));
                };
                if *to == UNMAPPED {
                    let Some(key) = key else { continue };
                    match self.add(&source, key, room)? {
                        Some(entry) => *to = entry,
                        None => {
                            full = true;
                            break;
                        }
                    }
                }
                keys.push(*to);
            }
        }
        self.last = Some((values.clone(), mapped));
        if full {
            return Ok(Keys::Full);
        }
        self.has_null = has_null;
        if let Values::Fixed(out) = &mut out {
            match self.keys.bytes {
                1 => keys.iter().for_each(|&k| out.extend(&(k as u8).to_le_bytes())),
                2 => keys.iter().for_each(|&k| out.extend(&(k as u16).to_le_bytes())),
                4 => keys.iter().for_each(|&k| out.extend(&k.to_le_bytes())),
                _ => keys.iter().for_each(|&k| out.extend(&u64::from(k).to_le_bytes())),
            }
        }
        Ok(Keys::Mapped(out))
    }

    /// Prepares the table of a source dictionary; the page's may have `room` entries in all.
    fn meet(&mut self, values: &ArrayRef, num_slots: usize, room: usize) -> Result<()> {
        if let Some((last, _)) = &self.last
            && (Arc::ptr_eq(last, values) || last.to_data().ptr_eq(&values.to_data()))
        {
            return Ok(());
        }
        let is_first = self.last.is_none() && self.entries.len() == 0;
        let worth_keeping = values.null_count() == 0
            && values.len() <= room
            && values.len() <= num_slots.max(1024).saturating_mul(2);
        let mapped = if is_first && worth_keeping {
            self.entries = whole(values, &self.shape)?;
            (0..values.len() as u32).collect()
        } else {
            vec![UNMAPPED; values.len()]
        };
        self.last = Some((values.clone(), mapped));
        Ok(())
    }

    /// The entry that holds value `slot` of a source, added if new; `None` if there is no `room`.
    fn add(&mut self, source: &Source, slot: usize, room: usize) -> Result<Option<u32>> {
        if self.index.is_none() {
            let mut index = HashMap::new();
            for entry in 0..self.entries.len() {
                if let Some(bytes) = self.entries.bytes_at(entry) {
                    self.index_bytes += bytes.len() + 32;
                    index.entry(bytes.into()).or_insert(entry as u32);
                }
            }
            self.index = Some(index);
        }
        let (Some(index), Some(bytes)) = (&mut self.index, source.value(slot)) else {
            return Err(Error::unsupported("a dictionary of nested values"));
        };
        if let Some(&entry) = index.get(bytes) {
            return Ok(Some(entry));
        }
        let entry = self.entries.len();
        if entry >= room {
            return Ok(None);
        }
        self.index_bytes += bytes.len() + 32;
        index.insert(bytes.into(), entry as u32);
        source.append(&mut self.entries, std::slice::from_ref(&(slot..slot + 1)), None)?;
        Ok(Some(entry as u32))
    }

    /// The dictionary, and an empty one in its place.
    pub(super) fn take(&mut self) -> Values {
        let fresh = Self::new(self.keys, self.shape.clone());
        std::mem::replace(self, fresh).entries
    }
}

fn key_at(keys: &dyn Array, slot: usize) -> Option<usize> {
    downcast_integer_array!(
        keys => {
            // A negative key becomes a huge one and is refused as out of range.
            let key = keys.values()[slot];
            key.to_usize()
        },
        _ => None
    )
}

/// Nulls of a dictionary array's slots: those of its keys and of the entries they point at.
pub(super) fn logical_nulls(array: &ArrayRef) -> Option<NullBuffer> {
    let dictionary = array.as_any_dictionary();
    let values = dictionary.values();
    let key_nulls = dictionary.nulls();
    let Some(value_nulls) = values.logical_nulls().filter(|n| n.null_count() > 0) else {
        return key_nulls.cloned();
    };
    let keys = dictionary.keys();
    let valid = BooleanBuffer::collect_bool(array.len(), |slot| {
        if key_nulls.is_some_and(|n| n.is_null(slot)) {
            return false;
        }
        // A key out of range counts as valid here: if anybody sees it, `map` refuses it.
        key_at(keys, slot).is_none_or(|key| key >= value_nulls.len() || value_nulls.is_valid(key))
    });
    Some(NullBuffer::new(valid))
}
