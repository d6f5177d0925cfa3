//! What page encoders give back, and the choice of how levels are stored.
//!
//! Levels are `u16`s in block form, encoded chunk by chunk with one description for the page: the
//! smallest of flat, bit packing and, from 2.2, run lengths. See docs/format/levels.md, "Bytes".

use bytes::Bytes;

use super::Layout;
use crate::encoding::Encoding;

/// A page as it goes into a file.
#[derive(Debug)]
pub(crate) struct EncodedPage {
    pub(crate) layout: Layout,
    pub(crate) buffers: Vec<Bytes>,
    /// Top-level rows.
    pub(crate) num_rows: usize,
}

/// How levels are to be stored.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum LevelChoice {
    /// The smallest; run lengths only if allowed.
    Smallest {
        run_lengths: bool,
    },
    Forced(LevelKind),
}

/// A way to store levels, its widths still open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LevelKind {
    Flat,
    OutOfLineBitpacking,
    InlineBitpacking,
    RunLengths,
    /// General compression over flat levels.
    GeneralFlat(crate::encoding::Scheme),
    /// General compression over run lengths.
    GeneralRunLengths(crate::encoding::Scheme),
}

/// Bits of a level.
const LEVEL_BITS: u8 = 16;

/// Values that bit packing takes together.
const GROUP: usize = 1024;

/// Gathers what decides between level encodings, one chunk after the other.
#[derive(Debug, Default)]
pub(crate) struct LevelStats {
    bits: u32,
    largest_chunk: usize,
    flat_bytes: usize,
    run_bytes: usize,
    inline_bytes: usize,
    /// Full groups and tails of all chunks.
    groups: usize,
    tails: Vec<usize>,
    /// The largest chunk under run lengths.
    largest_runs: usize,
}

impl LevelStats {
    pub(crate) fn add(&mut self, levels: &[u16]) {
        let max = levels.iter().copied().max().unwrap_or(0);
        let bits = u16::BITS - max.leading_zeros();
        self.bits = self.bits.max(bits);
        self.largest_chunk = self.largest_chunk.max(levels.len());
        self.flat_bytes += levels.len() * 2;
        let runs: usize =
            levels.chunk_by(|a, b| a == b).map(|run| run.len().div_ceil(u8::MAX as usize)).sum();
        let run_bytes = 8 + 3 * runs;
        self.run_bytes += run_bytes;
        self.largest_runs = self.largest_runs.max(run_bytes);
        self.inline_bytes += 2 + GROUP / 8 * bits as usize;
        self.groups += levels.len() / GROUP;
        if !levels.len().is_multiple_of(GROUP) {
            self.tails.push(levels.len() % GROUP);
        }
    }

    fn packed_bytes(&self) -> usize {
        let group = GROUP / 8 * self.bits as usize;
        self.groups * group + self.tails.iter().map(|&t| (t * 2).min(group)).sum::<usize>()
    }

    /// The encoding for all chunks seen; `limit` bounds the bytes of a chunk's levels.
    pub(crate) fn choose(&self, choice: &LevelChoice, limit: usize) -> Option<Encoding> {
        let flat = Encoding::Flat { bits: LEVEL_BITS.into() };
        let runs = Encoding::Rle { bits: LEVEL_BITS };
        let packed = Encoding::OutOfLineBitpacking { bits: LEVEL_BITS, packed_bits: self.bits as u8 };
        let inline = Encoding::InlineBitpacking { bits: LEVEL_BITS };
        let can_pack = self.bits < LEVEL_BITS.into();
        let run_lengths = match choice {
            LevelChoice::Smallest { run_lengths } => *run_lengths,
            LevelChoice::Forced(kind) => {
                let general = |scheme: &crate::encoding::Scheme, values| Encoding::General {
                    scheme: *scheme,
                    level: None,
                    values: Box::new(values),
                };
                return match kind {
                    LevelKind::Flat => Some(flat),
                    LevelKind::OutOfLineBitpacking => can_pack.then_some(packed),
                    LevelKind::InlineBitpacking => (self.largest_chunk <= GROUP).then_some(inline),
                    LevelKind::RunLengths => Some(runs),
                    LevelKind::GeneralFlat(scheme) => Some(general(scheme, flat)),
                    LevelKind::GeneralRunLengths(scheme) => Some(general(scheme, runs)),
                };
            }
        };
        let chunk_of = |bytes_per_group: usize| {
            let tail = self.largest_chunk % GROUP;
            self.largest_chunk / GROUP * bytes_per_group + (tail * 2).min(bytes_per_group)
        };
        let mut candidates = vec![];
        if self.largest_chunk * 2 <= limit {
            candidates.push((self.flat_bytes, flat));
        }
        if can_pack && chunk_of(GROUP / 8 * self.bits as usize) <= limit {
            candidates.push((self.packed_bytes(), packed));
        }
        if self.largest_chunk <= GROUP {
            candidates.push((self.inline_bytes, inline));
        }
        if run_lengths && self.largest_runs <= limit {
            candidates.push((self.run_bytes, runs));
        }
        candidates.into_iter().min_by_key(|(bytes, _)| *bytes).map(|(_, encoding)| encoding)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_way_to_store_levels_is_found() {
        let choice = LevelChoice::Smallest { run_lengths: true };
        let pick = |levels: Vec<u16>| {
            let mut stats = LevelStats::default();
            levels.chunks(4096).for_each(|c| stats.add(c));
            stats.choose(&choice, 65535)
        };
        assert_eq!(pick(vec![1; 300]), Some(Encoding::Rle { bits: 16 }));
        assert_eq!(pick((0..6).map(|i| i % 2).collect()), Some(Encoding::Flat { bits: 16 }));
        let alternating = (0..4096).map(|i| i % 2).collect();
        assert_eq!(pick(alternating), Some(Encoding::OutOfLineBitpacking { bits: 16, packed_bits: 1 }));
    }

    #[test]
    fn run_lengths_wait_for_permission() {
        let mut stats = LevelStats::default();
        stats.add(&[1; 300]);
        let choice = LevelChoice::Smallest { run_lengths: false };
        assert!(!matches!(stats.choose(&choice, 65535), Some(Encoding::Rle { .. })));
    }
}
