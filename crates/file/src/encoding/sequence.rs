//! Sequences of unsigned numbers: positions, counts, offsets and indices of format version 2.3.
//!
//! ```text
//! rule     base, base + first, base + 2 × first + second, …       three numbers, however many there are
//! listed   as they are
//! runs     straight pieces: 5 5 5 | 7 8 9 10 | 0
//! ```
//!
//! A description of a few bytes may be of 2^60 numbers, so what follows a rule stays a rule: it is asked for single
//! numbers and never written out. `sequence/decode.rs` makes them.

mod decode;

pub(crate) use decode::has_payload;
pub(super) use decode::{sequence_bits, word_bits};

use super::block;
use crate::error::corrupt;
use crate::{Error, Limits, Result};

/// Numbers, each at most as wide as the sequence was said to be.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Sequence {
    /// Number i is `base + i × first + i × (i − 1) / 2 × second`.
    Rule {
        len: u64,
        base: u64,
        first: u64,
        second: u64,
    },
    Listed(Vec<u64>),
    Runs(Runs),
}

/// Straight pieces: run k goes from `ends[k − 1]` to `ends[k]`, starts with `bases[k]` and rises by `slopes[k]`.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Runs {
    ends: Vec<u64>,
    bases: Vec<u64>,
    /// Empty where all are level.
    slopes: Vec<u64>,
}

impl Runs {
    fn get(&self, index: u64) -> u64 {
        let run = self.ends.partition_point(|end| *end <= index);
        let start = if run == 0 { 0 } else { self.ends[run - 1] };
        let base = self.bases.get(run).copied().unwrap_or(0);
        let slope = self.slopes.get(run).copied().unwrap_or(0);
        base.wrapping_add(slope.wrapping_mul(index - start))
    }
}

impl Sequence {
    /// No numbers.
    pub(crate) const EMPTY: Self = Self::Rule { len: 0, base: 0, first: 0, second: 0 };

    pub(crate) fn len(&self) -> u64 {
        match self {
            Self::Rule { len, .. } => *len,
            Self::Listed(numbers) => numbers.len() as u64,
            Self::Runs(runs) => runs.ends.last().copied().unwrap_or(0),
        }
    }

    /// Number `index`, which must be below the length.
    #[inline]
    pub(crate) fn get(&self, index: u64) -> u64 {
        debug_assert!(index < self.len(), "number {index} of {}", self.len());
        match self {
            // The last number was computed without overflow, and those before it are not larger.
            Self::Rule { base, first, second, .. } => {
                let bent = match second {
                    0 => 0,
                    _ => (u128::from(index) * u128::from(index.saturating_sub(1)) / 2) as u64 * second,
                };
                base + index * first + bent
            }
            Self::Listed(numbers) => numbers[index as usize],
            Self::Runs(runs) => runs.get(index),
        }
    }

    /// A rule whose last number fits `bits`, and so all others.
    fn rule(len: u64, base: u64, first: u64, second: u64, bits: u8) -> Result<Self> {
        let last = u128::from(len.saturating_sub(1));
        let rise = last.checked_mul(u128::from(first));
        let bend = (last * last.saturating_sub(1) / 2).checked_mul(u128::from(second));
        let end = rise.zip(bend).and_then(|(a, b)| a.checked_add(b)?.checked_add(u128::from(base)));
        if end.is_none_or(|end| end > u128::from(u64::MAX >> (64 - bits))) {
            corrupt!(
                "{len} numbers from {base} on by {first} and {second} more each pass the {bits} bits they have"
            );
        }
        Ok(Self::Rule { len, base, first, second })
    }

    /// How many numbers are below `bound`, where the sequence does not fall.
    pub(crate) fn below(&self, bound: u64) -> u64 {
        match self {
            Self::Listed(numbers) => numbers.partition_point(|n| *n < bound) as u64,
            Self::Rule { len, base, first, second: 0 } => match bound.checked_sub(*base) {
                None | Some(0) => 0,
                Some(_) if *first == 0 => *len,
                Some(rise) => rise.div_ceil(*first).min(*len),
            },
            _ => {
                let (mut low, mut high) = (0, self.len());
                while low < high {
                    let middle = low + (high - low) / 2;
                    if self.get(middle) < bound { low = middle + 1 } else { high = middle }
                }
                low
            }
        }
    }

    /// Whether every number is larger than the one before it.
    pub(crate) fn rises(&self) -> bool {
        match self {
            Self::Rule { len, first, .. } => *len < 2 || *first > 0,
            Self::Listed(numbers) => numbers.is_sorted_by(|a, b| a < b),
            Self::Runs(runs) => {
                let starts = std::iter::once(0).chain(runs.ends.iter().copied());
                let single = starts.zip(&runs.ends).all(|(start, end)| end - start == 1);
                single && runs.bases.is_sorted_by(|a, b| a < b)
            }
        }
    }

    /// Whether no number is 0.
    pub(crate) fn is_positive(&self) -> bool {
        match self {
            Self::Rule { len, base, .. } => *len == 0 || *base > 0,
            Self::Listed(numbers) => !numbers.contains(&0),
            Self::Runs(runs) => !runs.bases.contains(&0),
        }
    }

    /// The last number.
    pub(crate) fn last(&self) -> Option<u64> {
        self.len().checked_sub(1).map(|last| self.get(last))
    }

    /// The different numbers at `range`, which must lie inside, that are below `bound`; ascending.
    pub(crate) fn different(&self, range: &std::ops::Range<u64>, bound: u64) -> Vec<u64> {
        if range.start >= range.end {
            return Vec::new();
        }
        let mut found: Vec<u64> = match self {
            Self::Rule { first: 0, second: 0, .. } => vec![self.get(range.start)],
            // A rule does not fall: what is below the bound comes first.
            Self::Rule { .. } => {
                (range.start..range.end).map(|i| self.get(i)).take_while(|n| *n < bound).collect()
            }
            Self::Listed(numbers) => numbers[range.start as usize..range.end as usize].to_vec(),
            Self::Runs(runs) => {
                let first = runs.ends.partition_point(|end| *end <= range.start);
                let last = runs.ends.partition_point(|end| *end < range.end);
                runs.bases[first..=last].to_vec()
            }
        };
        found.sort_unstable();
        found.dedup();
        found.truncate(found.partition_point(|n| *n < bound));
        found
    }

    /// All numbers together, where they are a simple sequence.
    fn total(&self) -> Result<u128> {
        Ok(match self {
            Self::Rule { len, base, first, second: 0 } => {
                let pairs = u128::from(*len) * u128::from(len.saturating_sub(1)) / 2;
                let rest = pairs.saturating_mul(u128::from(*first));
                (u128::from(*len) * u128::from(*base)).saturating_add(rest)
            }
            Self::Listed(numbers) => numbers.iter().map(|n| u128::from(*n)).sum(),
            _ => corrupt!("lengths of runs that follow no simple rule"),
        })
    }

    /// The sums before each number, and of all: one more than there are numbers. Fails unless all together are
    /// `total`.
    pub(crate) fn sums(self, total: u64, limits: &Limits) -> Result<Self> {
        let wrong =
            |found: u128| Error::corrupt(format!("counts of {found} in all where {total} are expected"));
        let check = |found: u128| if found == u128::from(total) { Ok(()) } else { Err(wrong(found)) };
        match self {
            Self::Rule { len, base, first, second: 0 } => {
                check(self.total()?)?;
                Ok(Self::Rule { len: len.saturating_add(1), base: 0, first: base, second: first })
            }
            Self::Rule { len, .. } => {
                // Sums of a rule that bends grow with the third power: those within 64 bits are few.
                if len > 1 << 23 {
                    return Err(wrong(u128::MAX));
                }
                block::admit(len as usize, 8, limits)?;
                let numbers: Vec<u64> = (0..len).map(|i| self.get(i)).collect();
                Self::Listed(numbers).sums(total, limits)
            }
            Self::Listed(mut numbers) => {
                let mut sum = 0u128;
                for number in &mut numbers {
                    let before = sum;
                    sum += u128::from(*number);
                    // What passes 64 bits is not `total` either.
                    *number = before as u64;
                }
                check(sum)?;
                numbers.push(total);
                Ok(Self::Listed(numbers))
            }
            Self::Runs(mut runs) => {
                let (mut sum, mut start) = (0u128, 0u64);
                runs.slopes = runs.bases.clone();
                for (base, end) in runs.bases.iter_mut().zip(&mut runs.ends) {
                    let before = sum;
                    sum = sum.saturating_add(u128::from(*base) * u128::from(*end - start));
                    *base = before as u64;
                    start = *end;
                }
                check(sum)?;
                // The sum of all is a run of its own.
                runs.ends.push(start.saturating_add(1));
                runs.bases.push(total);
                runs.slopes.push(0);
                Ok(Self::Runs(runs))
            }
        }
    }
}
