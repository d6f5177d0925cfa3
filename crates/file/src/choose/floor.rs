//! What a way to store values costs at the least, told before anything is encoded: a way that cannot win is not tried.
//!
//! ```text
//! decoding, by rule                                             always known
//! bytes of another level of zstd over the same chunks           where one was tried
//! entropy of byte streams                                       where values are split into such
//! entropy of all bytes of a chunk                               where LZ4 found nothing in it that comes again
//! ```

use std::cell::OnceCell;

use super::candidates::Candidate;
use super::measure::{self, ByteEntropy};
use super::preset::Weights;
use super::sample::Frame;
use crate::encoding::{Encoding, Scheme, Values};
use crate::page::mini_block::chunk_len;

/// What is left of the entropy of byte streams where their bytes repeat in some order.
const ENTROPY: f64 = 0.8;
/// The same of all bytes of a chunk in which LZ4 finds next to nothing: zstd has one table of codes for them, and little else.
const CODES: f64 = 0.96;
/// What is left by a higher level of zstd where LZ4 finds next to nothing.
const LEVEL: f64 = 0.99;
/// What LZ4 takes of the bytes of zstd, at the least.
const LZ4_LOSS: f64 = 1.1;

/// What was found out about some values so far.
#[derive(Default)]
pub(super) struct Known {
    /// Bits of their bytes.
    entropy: OnceCell<ByteEntropy>,
    /// Ways to store them in chunks, and their bytes.
    tried: Vec<(Candidate, f64)>,
}

impl Known {
    /// Notes the bytes that a candidate came to.
    pub(super) fn note(&mut self, candidate: &Candidate, bytes: f64) {
        self.tried.push((candidate.clone(), bytes));
    }

    /// The least that storing `values` by a candidate costs: 0 for ways without a general compressor, which are cheap to try.
    pub(super) fn floor(
        &self,
        values: &Values,
        candidate: &Candidate,
        frame: Frame,
        weights: &Weights,
    ) -> f64 {
        let Encoding::General { scheme, values: inner, .. } = &candidate.encoding else { return 0.0 };
        let decode = frame.decode_cost(values, candidate);
        let is_same = |other: &Candidate| {
            other.rule == candidate.rule
                && matches!(&other.encoding, Encoding::General { scheme: Scheme::Zstd, values, .. } if values == inner)
        };
        let is_lz4 = |other: &Candidate| matches!(&other.encoding, Encoding::General { scheme: Scheme::Lz4, values, .. } if values == inner);
        let all = values.byte_size() as f64;
        let nothing_again = self.tried.iter().any(|(other, bytes)| is_lz4(other) && *bytes >= all);
        // Another level gains some percent, next to nothing where nothing comes again; LZ4, which packs no bits, loses some.
        let is_split = matches!(**inner, Encoding::ByteStreamSplit { .. });
        let gain = match scheme {
            Scheme::Zstd if nothing_again => LEVEL,
            Scheme::Zstd => weights.level_gain[usize::from(is_split)],
            Scheme::Lz4 => LZ4_LOSS,
        };
        let mut bytes =
            self.tried.iter().find(|(other, _)| is_same(other)).map_or(0.0, |(_, bytes)| bytes * gain);
        if let (true, Values::Fixed(v)) = (is_split, values) {
            // Streams of bytes that hardly repeat come down to their entropy.
            let bits = *self.entropy.get_or_init(|| measure::byte_entropy(v.bytes(), v.width));
            bytes = bytes.max(bits.planes / 8.0 * all * ENTROPY);
            // Of larger pages chunks may be less alike inside than all of them together.
            if nothing_again && chunk_len(values, 0, &candidate.rule) == v.len() {
                bytes = bytes.max(bits.together / 8.0 * all * CODES);
            }
        }
        (decode.weighed(values.len(), weights) + bytes) / weights.general_share
    }
}
