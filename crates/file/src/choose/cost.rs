//! What decoding costs, about, in nanoseconds of this engine on a core of 3 to 4 GHz.
//!
//! Only differences between ways to store the same values matter, and only as far as they are larger than what sampling
//! gets wrong; so one figure per encoding will do.

use super::preset::Weights;
use crate::encoding::{Encoding, Scheme, Values};

/// Decoding one value among many, its decompressed bytes aside.
fn value_ns(encoding: &Encoding) -> f64 {
    match encoding {
        Encoding::Flat { .. } => 0.2,
        Encoding::InlineBitpacking { .. } | Encoding::OutOfLineBitpacking { .. } => 0.35,
        Encoding::Rle { .. } => 0.3,
        Encoding::ByteStreamSplit { .. } => 0.6,
        Encoding::Variable { .. } => 1.0,
        Encoding::Fsst { .. } => 3.0,
        Encoding::General { values, .. } => value_ns(values),
        _ => 0.5,
    }
}

/// Time of a general compressor's frame, and of each byte in it.
fn frame_ns(scheme: Scheme) -> (f64, f64) {
    match scheme {
        Scheme::Lz4 => (150.0, 0.25),
        Scheme::Zstd => (1500.0, 0.8),
    }
}

/// Decoding the entries of a dictionary: every one of numbers in order is a match of its own, of strings there are some.
pub(super) fn entries_ns(encoding: &Encoding, entries: &Values) -> f64 {
    let Encoding::General { scheme, .. } = encoding else { return 0.0 };
    let (entry, byte) = match scheme {
        Scheme::Lz4 => (3.0, 0.1),
        Scheme::Zstd => (15.0, 0.4),
    };
    entry * entries.len() as f64 + byte * entries.byte_size() as f64
}

/// What the chunks of an encoding cost.
#[derive(Debug, Clone, Copy)]
pub(super) struct DecodeCost {
    /// A value in a scan.
    pub(super) value: f64,
    /// A value alone.
    pub(super) point: f64,
    /// What general compressors add to each. Only that is weighed: among light encodings bytes decide, so that no page comes out
    /// larger than the official writer makes it.
    pub(super) extra_value: f64,
    pub(super) extra_point: f64,
}

impl DecodeCost {
    /// Bytes that decoding `num_values` is worth.
    pub(super) fn weighed(&self, num_values: usize, weights: &Weights) -> f64 {
        num_values as f64 * (weights.decode * self.extra_value + weights.point * self.extra_point)
    }
}

/// The cost for chunks of `values` values that are `bytes` once decompressed.
pub(super) fn of(encoding: &Encoding, values: f64, bytes: f64) -> DecodeCost {
    let own = value_ns(encoding);
    let (mut extra, mut inner) = (0.0, encoding);
    while let Encoding::General { scheme, values, .. } = inner {
        let (frame, byte) = frame_ns(*scheme);
        extra += frame + byte * bytes;
        inner = values;
    }
    let extra_value = extra / values.max(1.0);
    DecodeCost { value: own + extra_value, point: own + extra, extra_value, extra_point: extra }
}
