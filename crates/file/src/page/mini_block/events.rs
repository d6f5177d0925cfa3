//! Where the rows and the values of a chunk stand among its levels.
//!
//! ```text
//! events    0 1 2 … 63 │ 64 65 … 127 │ 128 …
//! starts         0     │      9      │  20     rows that start before each block
//! visible        0     │     61      │ 118     values before it
//! ```
//!
//! A take wants a row of each of many chunks: counting whole blocks runs on vectors, and only in the block that is looked
//! for are events told apart, by the bits of a word.

use pennon_codec::bits;

/// Events of a block: a bit of a word each.
const BLOCK: usize = 64;

/// Counts of one chunk's levels; empty until [`count`](Self::count).
#[derive(Debug, Default)]
pub(crate) struct EventIndex {
    /// Before each block, and in all.
    starts: Vec<u32>,
    visible: Vec<u32>,
    max_rep: u16,
    max_visible: u16,
}

impl EventIndex {
    /// Counts the levels of a chunk, as many of each kind: a row starts where `rep` is `max_rep`, a value stands where `def` is at most
    /// `max_visible`.
    pub(super) fn count(&mut self, rep: &[u16], def: &[u16], max_rep: u16, max_visible: u16) {
        (self.max_rep, self.max_visible) = (max_rep, max_visible);
        count_blocks(&mut self.starts, rep, |r| r == max_rep);
        count_blocks(&mut self.visible, def, |d| d <= max_visible);
    }

    pub(super) fn num_starts(&self) -> usize {
        self.starts.last().map_or(0, |n| *n as usize)
    }

    pub(super) fn num_visible(&self) -> usize {
        self.visible.last().map_or(0, |n| *n as usize)
    }

    /// Looks row starts up, of the levels that were counted.
    pub(super) fn walk<'a>(&'a self, rep: &'a [u16], def: &'a [u16]) -> Walk<'a> {
        Walk { index: self, rep, def, block: None }
    }

    /// The event at which row start `i` of the chunk stands.
    pub(super) fn start(&self, rep: &[u16], i: usize) -> Option<usize> {
        (i < self.num_starts()).then(|| self.walk(rep, &[]).seek(i).0)
    }

    /// The last event at which a row starts.
    pub(super) fn last_start(&self, rep: &[u16]) -> Option<usize> {
        self.start(rep, self.num_starts().checked_sub(1)?)
    }

    /// Row starts before `event`.
    pub(super) fn starts_before(&self, rep: &[u16], event: usize) -> usize {
        let block = event / BLOCK;
        let inside = &rep[block * BLOCK..event];
        self.starts[block] as usize + inside.iter().filter(|r| **r == self.max_rep).count()
    }

    /// Values before `event`.
    pub(super) fn visible_before(&self, def: &[u16], event: usize) -> usize {
        let block = event / BLOCK;
        let inside = &def[block * BLOCK..event];
        self.visible[block] as usize + inside.iter().filter(|d| **d <= self.max_visible).count()
    }
}

/// A walk over the row starts of a chunk, ascending.
pub(super) struct Walk<'a> {
    index: &'a EventIndex,
    rep: &'a [u16],
    def: &'a [u16],
    block: Option<Block>,
}

/// The block in which a row start was found.
struct Block {
    number: usize,
    /// Row starts of the block that are not behind, and the number of the first of them.
    starts: u64,
    next: usize,
    visible: u64,
}

impl Walk<'_> {
    /// The event at which row start `i` stands, which must not be before the one looked up last, and the values before it; the ends
    /// of both where there are no more starts.
    pub(super) fn seek(&mut self, i: usize) -> (usize, usize) {
        let index = self.index;
        if i >= index.num_starts() {
            return (self.rep.len(), index.num_visible());
        }
        let block = match self.block.take() {
            Some(block) if i < index.starts[block.number + 1] as usize => block,
            before => {
                // The last block with no more than i starts before it.
                let from = before.map_or(0, |block| block.number + 1);
                let number = from + index.starts[from..].partition_point(|n| *n as usize <= i) - 1;
                // No level is above the highest; with lists that is at least 1.
                let starts = !word(self.rep, number, index.max_rep.saturating_sub(1));
                let visible = word(self.def, number, index.max_visible);
                Block { number, starts, next: index.starts[number] as usize, visible }
            }
        };
        let block = self.block.insert(block);
        for _ in block.next..i {
            block.starts &= block.starts.wrapping_sub(1);
        }
        block.next = i;
        let bit = block.starts.trailing_zeros();
        let before = block.visible & !(u64::MAX << bit);
        let visible = index.visible.get(block.number).map_or(0, |n| *n as usize);
        (block.number * BLOCK + bit as usize, visible + before.count_ones() as usize)
    }
}

/// Bits of the levels of a block that are at most `threshold`; of those that are not there, too.
fn word(levels: &[u16], block: usize, threshold: u16) -> u64 {
    let rest = levels.get(block * BLOCK..).unwrap_or_default();
    let mut padded = [0; BLOCK];
    let levels = rest.first_chunk().unwrap_or_else(|| {
        padded[..rest.len()].copy_from_slice(rest);
        &padded
    });
    bits::at_most_word(levels, threshold)
}

/// How many of the levels before each block, and of all, are such.
fn count_blocks(sums: &mut Vec<u32>, levels: &[u16], is: impl Fn(u16) -> bool) {
    sums.clear();
    sums.push(0);
    let mut sum = 0;
    for block in levels.chunks(BLOCK) {
        sum += u32::from(block.iter().map(|level| u16::from(is(*level))).sum::<u16>());
        sums.push(sum);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_finds_what_a_walk_finds() {
        for len in [0usize, 1, 63, 64, 65, 128, 500] {
            let rep: Vec<u16> = (0..len).map(|i| u16::from(i % 7 == 0 || i % 5 == 3) * 2).collect();
            let def: Vec<u16> = (0..len).map(|i| (i * i % 11 % 4) as u16).collect();
            let mut index = EventIndex::default();
            index.count(&rep, &def, 2, 1);
            let starts: Vec<usize> = (0..len).filter(|i| rep[*i] == 2).collect();
            assert_eq!(index.num_starts(), starts.len());
            assert_eq!(index.last_start(&rep), starts.last().copied());
            for step in [1, 2, 9] {
                let mut walk = index.walk(&rep, &def);
                for i in (0..=starts.len()).step_by(step) {
                    let event = starts.get(i).copied().unwrap_or(len);
                    assert_eq!(walk.seek(i), (event, index.visible_before(&def, event)));
                }
            }
            for i in 0..=starts.len() {
                assert_eq!(index.start(&rep, i), starts.get(i).copied());
            }
            for event in 0..=len {
                assert_eq!(index.starts_before(&rep, event), starts.iter().filter(|s| **s < event).count());
                assert_eq!(
                    index.visible_before(&def, event),
                    def[..event].iter().filter(|d| **d <= 1).count()
                );
            }
            assert_eq!(index.num_visible(), index.visible_before(&def, len));
        }
    }
}
