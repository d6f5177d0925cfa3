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

    /// The event at which row start `i` of the chunk stands.
    pub(super) fn start(&self, rep: &[u16], i: usize) -> Option<usize> {
        if i >= self.num_starts() {
            return None;
        }
        // The last block with no more than i starts before it.
        let block = self.starts.partition_point(|n| *n as usize <= i) - 1;
        let rest = &rep[block * BLOCK..];
        let mut padded = [0; BLOCK];
        let levels = rest.first_chunk().unwrap_or_else(|| {
            padded[..rest.len()].copy_from_slice(rest);
            &padded
        });
        // No level is above the highest; with lists that is at least 1.
        let mut starts = !bits::at_most_word(levels, self.max_rep.saturating_sub(1));
        for _ in self.starts[block] as usize..i {
            starts &= starts.wrapping_sub(1);
        }
        Some(block * BLOCK + starts.trailing_zeros() as usize)
    }

    /// The event at which the next row starts after the one that starts at `event`; behind the last where none does.
    pub(super) fn next_start(&self, rep: &[u16], event: usize) -> usize {
        let rest = rep.get(event + 1..).unwrap_or_default();
        rest.iter().position(|r| *r == self.max_rep).map_or(rep.len(), |at| event + 1 + at)
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
            for pair in starts.windows(2) {
                assert_eq!(index.next_start(&rep, pair[0]), pair[1]);
            }
            assert_eq!(starts.last().map_or(len, |last| index.next_start(&rep, *last)), len);
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
