//! How much values repeat, from a sample: whether a dictionary is worth a look at all of them.

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
    /// Looks at some of the values; `None` where they have no bytes of their own. Of few it looks at all if `few` says that this
    /// saves more than it costs.
    pub(super) fn of(values: &Values, valid: Option<&BooleanBuffer>, few: bool) -> Option<Self> {
        let len = values.len();
        let is_all = len < 2 * SAMPLES;
        if is_all && !few {
            return None;
        }
        let (run, starts) = if is_all { (len, 1) } else { (SAMPLES / SAMPLE_RUNS, SAMPLE_RUNS) };
        // Equal hashes stand for equal values: at worst a wrong guess.
        let mut hashes = Counts::with_capacity(run * starts);
        for start in (0..starts).map(|i| i * (len - run) / (starts - 1).max(1)) {
            for index in (start..start + run).filter(|i| valid.is_none_or(|v| v.value(*i))) {
                hashes.add(of_bytes(values.bytes_at(index)?));
            }
        }
        let (count, seen) = hashes.times();
        let found = seen.iter().map(|(_, values)| values).sum::<u32>().max(1) as f64;
        let share = |times: u32| f64::from(times) / f64::from(count);
        let bits = |times: u32| -share(times) * share(times).log2();
        let entropy: f64 = seen.iter().map(|(times, values)| f64::from(*values) * bits(*times)).sum();
        if is_all {
            return Some(Self { distinct: found, bits: entropy * CERTAIN });
        }
        let times =
            |n: u32| seen.iter().find(|(times, _)| *times == n).map_or(0.0, |(_, values)| f64::from(*values));
        let (once, twice) = (times(1), times(2));
        // Chao's lower bound; Good and Turing's share of what was not seen.
        let distinct = found + once * (once - 1.0).max(0.0) / (2.0 * (twice + 1.0));
        let unseen = once / f64::from(count.max(1));
        let distinct = distinct.min(len as f64);
        Some(Self { distinct, bits: (entropy + unseen * (distinct / found).log2()) * CERTAIN })
    }
}

/// How often hashes come: an open table of twice as many places.
struct Counts(Vec<(u64, u32)>);

impl Counts {
    fn with_capacity(hashes: usize) -> Self {
        Self(vec![(0, 0); (2 * hashes).next_power_of_two()])
    }

    fn add(&mut self, hash: u64) {
        let mask = self.0.len() - 1;
        let mut at = hash as usize & mask;
        while self.0[at].1 > 0 && self.0[at].0 != hash {
            at = (at + 1) & mask;
        }
        self.0[at] = (hash, self.0[at].1 + 1);
    }

    /// The number of all, and how many come how often, the seldom first.
    fn times(self) -> (u32, Vec<(u32, u32)>) {
        let once = self.0.iter().filter(|(_, times)| *times == 1).count() as u32;
        let mut often: Vec<u32> = self.0.iter().map(|(_, times)| *times).filter(|times| *times > 1).collect();
        often.sort_unstable();
        let often = often.chunk_by(u32::eq).filter_map(|equal| Some((*equal.first()?, equal.len() as u32)));
        let times: Vec<(u32, u32)> =
            [(1, once)].into_iter().chain(often).filter(|(_, values)| *values > 0).collect();
        (times.iter().map(|(times, values)| times * values).sum(), times)
    }
}
