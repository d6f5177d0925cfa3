//! Three-valued results, a bit or two per row.
//!
//! ```text
//! truth  known      AND  T F N      OR  T F N      NOT
//!   1      1   T     T   T F N      T   T T T       F
//!   0      1   F     F   F F F      F   T F N       T
//!   0      0   N     N   N F N      N   T N N       N
//! ```

use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer};

/// TRUE, FALSE or NULL for each row.
#[derive(Debug, Clone)]
pub(super) struct Mask {
    /// Set where TRUE, and nowhere else.
    truth: BooleanBuffer,
    /// Set where not NULL; `None` if that is everywhere.
    known: Option<BooleanBuffer>,
}

impl Mask {
    /// The bits of `truth` where there is a value, NULL elsewhere.
    pub(super) fn new(truth: BooleanBuffer, nulls: Option<&NullBuffer>) -> Self {
        match nulls.filter(|n| n.null_count() > 0) {
            None => Self { truth, known: None },
            Some(nulls) => Self { truth: &truth & nulls.inner(), known: Some(nulls.inner().clone()) },
        }
    }

    /// Two bitmaps; `truth` may have bits that are not known.
    pub(super) fn of_bits(truth: BooleanBuffer, known: BooleanBuffer) -> Self {
        Self { truth: &truth & &known, known: Some(known) }
    }

    pub(super) fn constant(value: bool, len: usize) -> Self {
        let truth = if value { BooleanBuffer::new_set(len) } else { BooleanBuffer::new_unset(len) };
        Self { truth, known: None }
    }

    pub(super) fn null(len: usize) -> Self {
        Self { truth: BooleanBuffer::new_unset(len), known: Some(BooleanBuffer::new_unset(len)) }
    }

    pub(super) fn truth(&self) -> &BooleanBuffer {
        &self.truth
    }

    pub(super) fn known(&self) -> Option<&BooleanBuffer> {
        self.known.as_ref()
    }

    pub(super) fn into_truth(self) -> BooleanBuffer {
        self.truth
    }

    pub(super) fn and(self, other: Self) -> Self {
        let known = match (&self.known, &other.known) {
            (None, None) => None,
            // Known where both are, and where one of them is FALSE.
            _ => {
                let (a, b) = (self.known_bits(), other.known_bits());
                let false_a = &a & &!&self.truth;
                let false_b = &b & &!&other.truth;
                Some(&(&(&a & &b) | &false_a) | &false_b)
            }
        };
        Self { truth: &self.truth & &other.truth, known }
    }

    pub(super) fn or(self, other: Self) -> Self {
        let known = match (&self.known, &other.known) {
            (None, None) => None,
            // Known where both are, and where one of them is TRUE.
            _ => {
                let both = &self.known_bits() & &other.known_bits();
                Some(&(&both | &self.truth) | &other.truth)
            }
        };
        Self { truth: &self.truth | &other.truth, known }
    }

    pub(super) fn not(self) -> Self {
        let truth = !&self.truth;
        match self.known {
            None => Self { truth, known: None },
            Some(known) => Self { truth: &truth & &known, known: Some(known) },
        }
    }

    fn known_bits(&self) -> BooleanBuffer {
        self.known.clone().unwrap_or_else(|| BooleanBuffer::new_set(self.truth.len()))
    }
}

/// A bit for each value.
pub(super) fn pack<T: Copy>(values: &[T], f: impl Fn(T) -> bool) -> BooleanBuffer {
    let words = values.chunks(64).map(|chunk| {
        let mut word = 0u64;
        for (i, value) in chunk.iter().enumerate() {
            word |= u64::from(f(*value)) << i;
        }
        word
    });
    bits(words.collect(), values.len())
}

/// A bit for each pair of values.
pub(super) fn pack_pairs<T: Copy>(a: &[T], b: &[T], f: impl Fn(T, T) -> bool) -> BooleanBuffer {
    let words = a.chunks(64).zip(b.chunks(64)).map(|(a, b)| {
        let mut word = 0u64;
        for (i, (a, b)) in a.iter().zip(b).enumerate() {
            word |= u64::from(f(*a, *b)) << i;
        }
        word
    });
    bits(words.collect(), a.len().min(b.len()))
}

fn bits(words: Vec<u64>, len: usize) -> BooleanBuffer {
    let words: Vec<u64> = words.into_iter().map(u64::to_le).collect();
    BooleanBuffer::new(Buffer::from_vec(words), 0, len)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_of_three_valued_logic_hold() {
        const VALUES: [Option<bool>; 3] = [Some(true), Some(false), None];
        let pairs = VALUES.iter().flat_map(|a| VALUES.iter().map(move |b| (*a, *b)));
        let (left, right): (Vec<_>, Vec<_>) = pairs.unzip();
        let mask = |values: &[Option<bool>]| {
            Mask::of_bits(
                values.iter().map(|v| v.unwrap_or(true)).collect(),
                values.iter().map(Option::is_some).collect(),
            )
        };
        let back = |mask: Mask| -> Vec<Option<bool>> {
            let known = mask.known_bits();
            (0..known.len()).map(|i| known.value(i).then(|| mask.truth.value(i))).collect()
        };
        let and = |a, b| match (a, b) {
            (Some(false), _) | (_, Some(false)) => Some(false),
            (Some(true), Some(true)) => Some(true),
            _ => None,
        };
        let not = |a: Option<bool>| a.map(|a| !a);
        let expected: Vec<_> = left.iter().zip(&right).map(|(a, b)| and(*a, *b)).collect();
        assert_eq!(back(mask(&left).and(mask(&right))), expected);
        let expected: Vec<_> = left.iter().zip(&right).map(|(a, b)| not(and(not(*a), not(*b)))).collect();
        assert_eq!(back(mask(&left).or(mask(&right))), expected);
        assert_eq!(back(mask(&left).not()), left.iter().map(|a| not(*a)).collect::<Vec<_>>());
        let all = Mask::constant(true, 9);
        assert_eq!(back(all.clone().and(mask(&left))), left);
        assert_eq!(back(Mask::constant(false, 9).or(mask(&left))), left);
    }

    #[test]
    fn bits_are_packed_in_order_over_word_borders() {
        let values: Vec<u32> = (0..200).collect();
        let packed = pack(&values, |v| v % 3 == 0);
        assert_eq!(packed, values.iter().map(|v| v % 3 == 0).collect::<BooleanBuffer>());
        let packed = pack_pairs(&values, &values[1..], |a, b| a + b > 200);
        assert_eq!(packed, (0..199).map(|v| v * 2 + 1 > 200).collect::<BooleanBuffer>());
    }
}
