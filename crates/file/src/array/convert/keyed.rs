//! Values by which slots can be told apart: runs and dictionaries found again.
//!
//! Values are compared as bytes, so that floats keep theirs (NaN payloads, −0.0). Nested values are first
//! written one after the other, each with its length or its validity in front.

use std::collections::HashMap;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, downcast_integer_array};
use arrow_buffer::{ArrowNativeType, NullBuffer};
use arrow_schema::DataType;

use super::gather::NULL;
use crate::array::shred::path::shape_of;
use crate::array::shred::source::Source;
use crate::encoding::ValueType;
use crate::{Error, Result};

/// An array taken apart so that the value of a slot is cheap.
pub(super) struct Keyed {
    nulls: Option<NullBuffer>,
    kind: Kind,
}

enum Kind {
    /// No slot has a value.
    Null,
    /// The bytes of a value are there.
    Flat(Source),
    /// Offsets of the items of every slot.
    List {
        offsets: Vec<usize>,
        items: Box<Keyed>,
    },
    Struct(Vec<Keyed>),
    /// Keys, and what they number.
    Dictionary {
        keys: Vec<usize>,
        values: Box<Keyed>,
    },
}

impl Keyed {
    pub(super) fn new(array: &ArrayRef) -> Result<Self> {
        let nulls = array.nulls().filter(|n| n.null_count() > 0).cloned();
        let kind = match array.data_type() {
            DataType::Null => Kind::Null,
            DataType::Struct(_) => {
                Kind::Struct(array.as_struct().columns().iter().map(Self::new).collect::<Result<_>>()?)
            }
            DataType::List(_) => {
                let list = array.as_list::<i32>();
                Kind::list(list.offsets().iter().map(|o| *o as usize), list.values())?
            }
            DataType::LargeList(_) => {
                let list = array.as_list::<i64>();
                Kind::list(list.offsets().iter().map(|o| *o as usize), list.values())?
            }
            DataType::Map(..) => {
                let map = array.as_map();
                let entries: ArrayRef = std::sync::Arc::new(map.entries().clone());
                Kind::list(map.offsets().iter().map(|o| *o as usize), &entries)?
            }
            DataType::FixedSizeList(_, size) => {
                let size = *size as usize;
                Kind::list((0..=array.len()).map(|i| i * size), array.as_fixed_size_list().values())?
            }
            DataType::Dictionary(..) => {
                let dictionary = array.as_any_dictionary();
                let values = Box::new(Self::new(dictionary.values())?);
                let keys = dictionary.keys();
                let keys = downcast_integer_array!(
                    keys => keys.values().iter().map(|k| k.to_usize().unwrap_or(usize::MAX)).collect(),
                    other => return Err(Error::invalid(format!("dictionary keys of type {other}")))
                );
                Kind::Dictionary { keys, values }
            }
            other => match shape_of(other)? {
                // Values of no bytes.
                ValueType::Null => Kind::Struct(Vec::new()),
                shape => Kind::Flat(Source::new(array, &shape)?),
            },
        };
        Ok(Self { nulls, kind })
    }

    pub(super) fn is_null(&self, slot: usize) -> bool {
        match &self.kind {
            _ if self.nulls.as_ref().is_some_and(|n| n.is_null(slot)) => true,
            Kind::Null => true,
            Kind::Dictionary { keys, values } => values.is_null(keys[slot]),
            _ => false,
        }
    }

    /// The bytes of a value that is not null, where it has them as they are.
    fn bytes(&self, slot: usize) -> Option<&[u8]> {
        match &self.kind {
            Kind::Flat(source) => source.value(slot),
            Kind::Dictionary { keys, values } => values.bytes(keys[slot]),
            _ => None,
        }
    }

    fn is_flat(&self) -> bool {
        match &self.kind {
            Kind::Flat(_) => true,
            Kind::Dictionary { values, .. } => values.is_flat(),
            _ => false,
        }
    }

    /// Writes what tells the slot from others.
    fn write(&self, slot: usize, out: &mut Vec<u8>) {
        if self.is_null(slot) {
            out.push(0);
            return;
        }
        out.push(1);
        match &self.kind {
            Kind::Null => {}
            Kind::Flat(source) => {
                let bytes = source.value(slot).unwrap_or_default();
                out.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
                out.extend_from_slice(bytes);
            }
            Kind::List { offsets, items } => {
                let range = offsets[slot]..offsets[slot + 1];
                out.extend_from_slice(&(range.len() as u64).to_le_bytes());
                range.for_each(|item| items.write(item, out));
            }
            Kind::Struct(children) => children.iter().for_each(|child| child.write(slot, out)),
            Kind::Dictionary { keys, values } => values.write(keys[slot], out),
        }
    }

    /// The slots at which a run of equal values begins.
    pub(super) fn run_starts(&self, len: usize) -> Vec<u32> {
        let mut starts = Vec::new();
        let (mut last, mut this) = (Vec::new(), Vec::new());
        for slot in 0..len {
            let same = if self.is_flat() {
                slot > 0 && self.same_bytes(slot - 1, slot)
            } else {
                this.clear();
                self.write(slot, &mut this);
                let same = slot > 0 && this == last;
                std::mem::swap(&mut this, &mut last);
                same
            };
            if !same {
                starts.push(slot as u32);
            }
        }
        starts
    }

    fn same_bytes(&self, a: usize, b: usize) -> bool {
        match (self.is_null(a), self.is_null(b)) {
            (false, false) => self.bytes(a) == self.bytes(b),
            (a, b) => a == b,
        }
    }

    /// For every slot the number of its value among the distinct ones, or [`NULL`]; and the slots at which each of
    /// those is met first. `None` if there are more than `most`.
    pub(super) fn distinct(&self, len: usize, most: usize) -> Option<(Vec<u32>, Vec<u32>)> {
        let mut keys = Vec::with_capacity(len);
        let mut firsts: Vec<u32> = Vec::new();
        let mut flat: HashMap<&[u8], u32> = HashMap::new();
        let mut nested: HashMap<Box<[u8]>, u32> = HashMap::new();
        let mut written = Vec::new();
        for slot in 0..len {
            if self.is_null(slot) {
                keys.push(NULL);
                continue;
            }
            let next = firsts.len() as u32;
            let key = match self.bytes(slot) {
                Some(bytes) => *flat.entry(bytes).or_insert(next),
                None => {
                    written.clear();
                    self.write(slot, &mut written);
                    match nested.get(written.as_slice()) {
                        Some(key) => *key,
                        None => {
                            nested.insert(written.as_slice().into(), next);
                            next
                        }
                    }
                }
            };
            if key == next {
                if firsts.len() == most {
                    return None;
                }
                firsts.push(slot as u32);
            }
            keys.push(key);
        }
        Some((keys, firsts))
    }
}

impl Kind {
    fn list(offsets: impl Iterator<Item = usize>, items: &ArrayRef) -> Result<Self> {
        Ok(Self::List { offsets: offsets.collect(), items: Box::new(Keyed::new(items)?) })
    }
}
