//! How much values repeat, from a sample: whether a dictionary is worth a look at all of them.

use std::collections::HashMap;

use arrow_buffer::BooleanBuffer;

use crate::encoding::Values;
use crate::encoding::hash::of_bytes;

/// Values in a sample, in runs of neighbours.
const SAMPLES: usize = 4096;
const SAMPLE_RUNS: usize = 32;
/// Of the bits that an estimate gives, those that are there nearly for certain.
const CERTAIN: f64 = 0.95;

/// What a sample says of all values.
#[derive(Debug, Clone, Copy)]
pub(super) struct Repetition {
    /// Different values, at least about.
    pub(super) distinct: f64,
    /// Bits of a value's number, at least about, where neighbours have nothing to do with each other.
    pub(super) bits: f64,
}

impl Repetition {
    /// Looks at some of the values; `None` where they are too few for a sample, or have no bytes of their own.
    pub(super) fn of(values: &Values, valid: Option<&BooleanBuffer>) -> Option<Self> {
        let run = SAMPLES / SAMPLE_RUNS;
        let len = values.len();
        if len < 2 * SAMPLES {
            return None;
        }
        // Equal hashes stand for equal values: at worst a wrong guess.
        let mut seen: HashMap<u64, u32> = HashMap::with_capacity(SAMPLES);
        let mut count = 0u32;
        for start in (0..SAMPLE_RUNS).map(|i| i * (len - run) / (SAMPLE_RUNS - 1)) {
            for index in (start..start + run).filter(|i| valid.is_none_or(|v| v.value(*i))) {
                *seen.entry(of_bytes(values.bytes_at(index)?)).or_default() += 1;
                count += 1;
            }
        }
        // In an order of their own: sums of floats depend on it, and with them what is written.
        let mut seen: Vec<u32> = seen.into_values().collect();
        seen.sort_unstable();
        let found = seen.len().max(1) as f64;
        let times = |n: u32| seen.iter().filter(|times| **times == n).count() as f64;
        let (once, twice) = (times(1), times(2));
        // Chao's lower bound; Good and Turing's share of what was not seen.
        let distinct = found + once * (once - 1.0).max(0.0) / (2.0 * (twice + 1.0));
        let share = |times: &u32| f64::from(*times) / f64::from(count);
        let entropy: f64 = seen.iter().map(|times| -share(times) * share(times).log2()).sum();
        let unseen = once / f64::from(count.max(1));
        let distinct = distinct.min(len as f64);
        Some(Self { distinct, bits: (entropy + unseen * (distinct / found).log2()) * CERTAIN })
    }
}
