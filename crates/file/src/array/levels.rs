//! Levels of a leaf, from the inside out: each layer takes its validity, and its offsets if it is a list.
//!
//! ```text
//! list<struct<a>>     rep 1 0 1 1    def 0 1 3 0      def: 1 null a, 2 null struct, 3 null list
//! a        item       validity 1 0 1                 slots: events where def is at most 2
//! struct   item       validity of the same slots
//! list     list       offsets 0 2 2 3                rep, and levels left for what is around it
//! ```
//!
//! Loops have no branches that depend on levels: these are as irregular as the data.

use arrow_array::OffsetSizeTrait;
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use pennon_codec::bits;

use crate::error::corrupt;
use crate::{Error, Result};

/// Level streams of a leaf, with the layers inside the current one already consumed.
pub(super) struct Levels {
    rep: Vec<u16>,
    def: Vec<u16>,
    /// Definition levels consumed.
    base: u16,
}

impl Levels {
    pub(super) fn new(rep: Vec<u16>, def: Vec<u16>) -> Self {
        Self { rep, def, base: 0 }
    }

    /// Entries left.
    pub(super) fn len(&self) -> usize {
        self.def.len()
    }

    /// Consumes an item layer with `items` more item layers before the next list: validity of its slots,
    /// `None` if all are valid.
    pub(super) fn consume_item(&mut self, items: u16) -> Option<NullBuffer> {
        let base = self.base;
        self.base += 1;
        // Levels beyond belong to lists outside, whose null and empty ones have no slot here.
        let top = self.base + items;
        // Looking at all levels runs on vectors, and most layers have no nulls.
        if !self.def.iter().fold(false, |any, d| any | (*d > base && *d <= top)) {
            return None;
        }
        let mut valid = Bits::with_capacity(self.def.len());
        let (blocks, rest) = self.def.as_chunks::<64>();
        for block in blocks {
            valid.push_some(bits::at_most_word(block, top), bits::at_most_word(block, base));
        }
        for def in rest {
            valid.push(*def <= base, *def <= top);
        }
        Some(NullBuffer::new(valid.into_buffer())).filter(|n| n.null_count() > 0)
    }

    /// Consumes a fixed-size list of structs: one of every `dimension` entries stands for the list.
    pub(super) fn consume_fixed_size_list(
        &mut self,
        dimension: usize,
        items: u16,
    ) -> Result<Option<NullBuffer>> {
        if !self.rep.is_empty() {
            return Err(Error::unsupported("a fixed-size list of structs on one path with lists"));
        }
        if dimension == 0 || !self.def.len().is_multiple_of(dimension) {
            corrupt!("{} levels in fixed-size lists of {dimension}", self.def.len());
        }
        self.def = self.def.iter().step_by(dimension).copied().collect();
        Ok(self.consume_item(items))
    }

    /// Consumes a list layer with `items` item layers between it and the next list: offsets and validity of its lists, which
    /// have `num_items` items.
    pub(super) fn consume_list<O: OffsetSizeTrait>(
        &mut self,
        num_items: usize,
        items: u16,
    ) -> Result<(OffsetBuffer<O>, Option<NullBuffer>)> {
        let Self { rep, def, .. } = self;
        if rep.len() != def.len() {
            corrupt!("a list column without repetition levels")
        }
        let (base, null, empty) = (self.base, self.base + 1, self.base + 2);
        let top = empty + items;
        let is_null = |d: u16| d == null || (d > empty && d <= top);
        let any_null = def.iter().fold(false, |any, d| any | is_null(*d));
        let num_lists = rep.iter().map(|r| usize::from(*r != 0)).sum::<usize>();
        let mut offsets = vec![O::default(); num_lists + 1];
        let mut valid = any_null.then(|| Bits::with_capacity(num_lists));
        let (mut kept, mut lists, mut found) = (0, 0, 0);
        for i in 0..rep.len() {
            let (r, d) = (rep[i], def[i]);
            let begins = r != 0;
            let is_list = begins & (d <= top);
            offsets[lists] = O::usize_as(found);
            if let Some(valid) = &mut valid {
                valid.push(!is_null(d), is_list);
            }
            // What does not begin anything is overwritten by what comes next.
            rep[kept] = r.wrapping_sub(1);
            def[kept] = d;
            kept += usize::from(begins);
            lists += usize::from(is_list);
            found += usize::from(!begins | (d <= base));
        }
        rep.truncate(kept);
        def.truncate(kept);
        self.base += 2;
        if found != num_items {
            corrupt!("lists of {found} items in all around {num_items} items");
        }
        if O::from_usize(found).is_none() {
            return Err(Error::limit(
                "a batch holds more than 2,147,483,647 items of a list with 32-bit offsets; read fewer rows at once",
            ));
        }
        offsets.truncate(lists + 1);
        offsets[lists] = O::usize_as(found);
        let offsets = OffsetBuffer::new(ScalarBuffer::from(offsets));
        Ok((offsets, valid.map(|valid| NullBuffer::new(valid.into_buffer()))))
    }
}

/// A bitmap that grows by bits that may turn out not to belong to it.
struct Bits {
    words: Vec<u64>,
    /// Bits of the last word.
    word: u64,
    len: usize,
}

impl Bits {
    fn with_capacity(bits: usize) -> Self {
        Self { words: Vec::with_capacity(bits.div_ceil(64) + 1), word: 0, len: 0 }
    }

    /// Appends a bit if it `belongs`.
    #[inline]
    fn push(&mut self, bit: bool, belongs: bool) {
        self.word |= u64::from(bit & belongs) << (self.len % 64);
        self.len += usize::from(belongs);
        if belongs & self.len.is_multiple_of(64) {
            self.words.push(std::mem::take(&mut self.word));
        }
    }

    /// Appends the bits of `word` that `belong`.
    fn push_some(&mut self, belong: u64, word: u64) {
        if belong == u64::MAX {
            let used = self.len % 64;
            self.words.push(self.word | word << used);
            // A shift by all 64 bits is none at all.
            self.word = if used == 0 { 0 } else { word >> (64 - used) };
            self.len += 64;
            return;
        }
        for i in 0..64 {
            self.push(word >> i & 1 != 0, belong >> i & 1 != 0);
        }
    }

    fn into_buffer(mut self) -> BooleanBuffer {
        self.words.push(self.word);
        BooleanBuffer::new(Buffer::from_vec(self.words), 0, self.len)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn validity(nulls: Option<NullBuffer>, len: usize) -> Vec<bool> {
        nulls.map_or(vec![true; len], |nulls| nulls.iter().collect())
    }

    proptest! {
        #[test]
        fn an_item_layer_has_the_slots_that_no_list_outside_lacks(
            def in prop::collection::vec(0u16..5, 0..400), items in 0u16..2
        ) {
            let mut levels = Levels::new(Vec::new(), def.clone());
            let top = 1 + items;
            let expected: Vec<bool> = def.iter().filter(|d| **d <= top).map(|d| *d == 0).collect();
            let nulls = levels.consume_item(items);
            prop_assert_eq!(nulls.is_some(), expected.contains(&false));
            prop_assert_eq!(validity(nulls, expected.len()), expected);
        }

        #[test]
        fn a_list_layer_is_what_a_walk_over_its_levels_makes(
            events in prop::collection::vec((0u16..3, 0u16..6), 0..400), items in 0u16..2
        ) {
            let (rep, def): (Vec<u16>, Vec<u16>) = events.iter().copied().unzip();
            let (null, empty, top) = (1, 2, 2 + items);
            let (mut offsets, mut valid, mut found) = (Vec::new(), Vec::new(), 0);
            let mut left = (Vec::new(), Vec::new());
            for (r, d) in events {
                if r == 0 {
                    found += 1;
                    continue;
                }
                left.0.push(r - 1);
                left.1.push(d);
                if d <= top {
                    offsets.push(found);
                    valid.push(d != null && d <= empty);
                    found += i32::from(d == 0);
                }
            }
            offsets.push(found);
            let mut levels = Levels::new(rep.clone(), def.clone());
            let (made, nulls) = levels.consume_list::<i32>(found as usize, items).unwrap();
            prop_assert_eq!(made.to_vec(), offsets);
            prop_assert_eq!(validity(nulls, valid.len()), valid);
            prop_assert_eq!((levels.rep, levels.def, levels.base), (left.0, left.1, 2));
            let mut levels = Levels::new(rep, def);
            prop_assert!(levels.consume_list::<i32>(found as usize + 1, items).is_err());
        }
    }
}
