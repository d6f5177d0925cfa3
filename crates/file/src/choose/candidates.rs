//! The ways to store values in chunks that are worth a look.
//!
//! ```text
//! words of 1 to 8 bytes   flat, bit packing, run lengths; byte stream split under LZ4 or zstd; flat under zstd
//! other fixed widths      flat; under zstd
//! strings                 as they are, FSST; either under LZ4 or zstd, in chunks of several sizes
//! bits                    flat; under LZ4 or zstd
//! fixed-size lists        flat; under zstd
//! ```

use super::measure;
use super::preset::Weights;
use super::tuning::{Switch, Tuning};
use super::values::{self, FsstUse};
use crate::encoding::{Encoding, Scheme, Values};
use crate::page::mini_block::ChunkRule;

/// Decompressed bytes below which a chunk gains nothing from a general compressor.
const MIN_GENERAL_BYTES: usize = 512;

/// A way to store values.
#[derive(Debug, Clone)]
pub(super) struct Candidate {
    pub(super) encoding: Encoding,
    pub(super) rule: ChunkRule,
}

/// Ways without a general compressor. The first stores values as they are.
pub(super) fn light(values: &Values, tuning: &Tuning) -> Vec<Candidate> {
    let plain = values::plain(values);
    let mut found = vec![plain.clone()];
    match values {
        Values::Fixed(v) if matches!(v.width, 1 | 2 | 4 | 8) => {
            let bits = v.width as u8 * 8;
            found.push(Encoding::InlineBitpacking { bits });
            if measure::may_have_run_lengths(v, tuning) {
                found.push(Encoding::Rle { bits });
            }
        }
        Values::Variable(_) | Values::LargeVariable(_) => {
            found.extend(values::fsst(values, FsstUse::IfSmaller).map(|(encoding, _)| encoding));
        }
        _ => {}
    }
    let candidate = |encoding| Candidate { rule: values::rule(&encoding, tuning), encoding };
    found.into_iter().map(candidate).collect()
}

/// Ways with one, over the `light` ones. `are_indices`: numbers of dictionary entries.
pub(super) fn general(
    values: &Values,
    light: &[Candidate],
    tuning: &Tuning,
    weights: &Weights,
    are_indices: bool,
) -> Vec<Candidate> {
    let mut found = Vec::new();
    if !weights.general || values.byte_size() < MIN_GENERAL_BYTES {
        return found;
    }
    let mut add = |scheme: Scheme, level: Option<i32>, inner: &Encoding, max_values: usize, bytes: usize| {
        let encoding = Encoding::General { scheme, level, values: Box::new(inner.clone()) };
        let mut rule = values::rule(&encoding, tuning);
        rule.max_values = tuning.at_most_values(max_values);
        rule.target_bytes = bytes.min(tuning.max_chunk_bytes);
        found.push(Candidate { encoding, rule });
    };
    let plain = &light[0].encoding;
    let most = weights.chunk_bytes.iter().copied().max().unwrap_or(0);
    match values {
        Values::Fixed(v) if matches!(v.width, 4 | 8) && tuning.byte_stream_split != Switch::Off => {
            let split = Encoding::ByteStreamSplit { bits: v.width as u8 * 8 };
            let most_values = weights.chunk_values.min(most / v.width);
            let max = most_values.next_power_of_two();
            if weights.lz4 {
                add(Scheme::Lz4, None, &split, max, most);
            }
            for level in weights.number_levels {
                add(Scheme::Zstd, Some(*level), &split, max, most);
            }
            // Few different values in no order: whole words are what repeats.
            if tuning.byte_stream_split == Switch::Auto {
                let level = weights.number_levels.last().copied();
                add(Scheme::Zstd, level, plain, max, most);
            }
        }
        Values::Fixed(v) => {
            let max = weights.chunk_values.min((most / v.width).max(2));
            let max = if max.is_power_of_two() { max } else { max.next_power_of_two() / 2 };
            for level in weights.number_levels {
                add(Scheme::Zstd, Some(*level), plain, max, most);
            }
            if are_indices && weights.lz4 {
                add(Scheme::Lz4, None, plain, max, most);
            }
        }
        Values::Bits(_) => {
            let max = 32 << 10;
            if weights.lz4 {
                add(Scheme::Lz4, None, plain, max, most);
            }
            add(Scheme::Zstd, weights.number_levels.last().copied(), plain, max, most);
        }
        Values::Variable(_) | Values::LargeVariable(_) => {
            for bytes in weights.chunk_bytes {
                for inner in light {
                    let is_plain = matches!(inner.encoding, Encoding::Variable { .. });
                    for level in weights.string_levels.iter().filter(|_| is_plain || weights.zstd_over_fsst) {
                        add(Scheme::Zstd, Some(*level), &inner.encoding, weights.chunk_values, *bytes);
                    }
                    if weights.lz4 {
                        add(Scheme::Lz4, None, &inner.encoding, weights.chunk_values, *bytes);
                    }
                }
            }
        }
        Values::List(_) => {
            add(Scheme::Zstd, weights.number_levels.last().copied(), plain, weights.chunk_values, most);
        }
        Values::Null(_) | Values::Struct { .. } => {}
    }
    found
}
