//! How many different values there are, about: HyperLogLog with 512 registers, a standard error of 4.6 %.
//!
//! ```text
//! hash of a value   9 bits: which register │ 55 bits: zeros it begins with + 1, the register keeps the most
//! ```
//!
//! Few values are counted by the registers still empty, which is right to about one in a hundred.

use super::extent::Slots;
use crate::encoding::hash::{head, of_bytes, of_pair, of_short, of_word};
use crate::encoding::{Offset, Values, VariableValues};

const BITS: u32 = 9;
const REGISTERS: usize = 1 << BITS;

/// Counts different values of one column.
#[derive(Debug)]
pub(super) struct Distinct {
    registers: Box<[u8; REGISTERS]>,
}

impl Distinct {
    pub(super) fn new() -> Self {
        Self { registers: Box::new([0; REGISTERS]) }
    }

    /// Adds values of fixed or variable width; those of other shapes are not counted.
    pub(super) fn add(&mut self, values: &Values, slots: &Slots<'_>) {
        match values {
            Values::Fixed(fixed) => {
                let bytes = fixed.bytes();
                match fixed.width {
                    1 => self.words(bytes, slots, |b: [u8; 1]| u64::from(b[0])),
                    2 => self.words(bytes, slots, |b| u64::from(u16::from_le_bytes(b))),
                    4 => self.words(bytes, slots, |b| u64::from(u32::from_le_bytes(b))),
                    8 => self.words(bytes, slots, u64::from_le_bytes),
                    16 => {
                        let words = bytes.as_chunks::<16>().0;
                        self.hashes(slots, |i| {
                            let word = u128::from_le_bytes(words[i]);
                            of_pair(word as u64, (word >> 64) as u64)
                        });
                    }
                    width => self.hashes(slots, |i| of_bytes(&bytes[i * width..(i + 1) * width])),
                }
            }
            Values::Variable(v) => self.variable(v, slots),
            Values::LargeVariable(v) => self.variable(v, slots),
            _ => {}
        }
    }

    fn words<const N: usize>(&mut self, bytes: &[u8], slots: &Slots<'_>, read: impl Fn([u8; N]) -> u64) {
        let words = bytes.as_chunks::<N>().0;
        self.hashes(slots, |i| of_word(read(words[i])));
    }

    fn variable<O: Offset>(&mut self, values: &VariableValues<O>, slots: &Slots<'_>) {
        self.hashes(slots, |i| {
            let (start, end) = values.bounds(i);
            if end - start <= 8 {
                of_short(head(&values.data, start, end), end - start)
            } else {
                of_bytes(&values.data[start..end])
            }
        });
    }

    fn hashes(&mut self, slots: &Slots<'_>, hash: impl Fn(usize) -> u64) {
        slots.for_each_run(|run| run.for_each(|i| self.insert(hash(i))));
    }

    #[inline]
    fn insert(&mut self, hash: u64) {
        let register = &mut self.registers[(hash >> (64 - BITS)) as usize];
        // A bit at the end, so that the zeros end.
        let zeros = (hash << BITS | 1 << (BITS - 1)).leading_zeros() as u8 + 1;
        *register = (*register).max(zeros);
    }

    /// The estimate.
    pub(super) fn count(&self) -> u64 {
        let m = REGISTERS as f64;
        let empty = self.registers.iter().filter(|r| **r == 0).count();
        let sum: f64 = self.registers.iter().map(|r| 1.0 / (1u64 << r) as f64).sum();
        let raw = 0.7213 / (1.0 + 1.079 / m) * m * m / sum;
        let count = if raw <= 2.5 * m && empty > 0 { m * (m / empty as f64).ln() } else { raw };
        count.round() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encoding::ValueType;

    fn estimate(width: usize, numbers: impl Iterator<Item = u64>) -> u64 {
        let mut values = Values::new(&ValueType::Fixed(width), 0);
        for n in numbers {
            values.fixed_mut(width).unwrap().extend(&n.to_le_bytes()[..width]);
        }
        let mut distinct = Distinct::new();
        distinct.add(&values, &Slots { range: 0..values.len(), valid: None });
        distinct.count()
    }

    #[test]
    fn estimates_are_near_however_the_values_run() {
        for count in [1u64, 2, 3, 10, 100, 1000, 10_000, 300_000] {
            let most = if count <= 3 { 0.0 } else { 0.14 };
            for step in [1, 10, 8192, 0x1_0000_0001] {
                let found = estimate(8, (0..2 * count).map(|i| (i % count).wrapping_mul(step)));
                let off = (found as f64 / count as f64 - 1.0).abs();
                assert!(off <= most, "{found} for {count} numbers {step} apart");
            }
        }
        assert_eq!(estimate(4, std::iter::empty()), 0);
    }

    #[test]
    fn texts_that_share_their_beginnings_are_told_apart() {
        let mut values = Values::new(&ValueType::Variable { wide: false }, 0);
        if let Values::Variable(v) = &mut values {
            (0..5000).for_each(|i| assert!(v.push(format!("https://example.org/{}", i % 2500).as_bytes())));
        }
        let mut distinct = Distinct::new();
        distinct.add(&values, &Slots { range: 0..5000, valid: None });
        let found = distinct.count();
        assert!((2150..2850).contains(&found), "{found}");
    }
}
