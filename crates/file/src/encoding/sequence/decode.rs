//! Sequences from their descriptions and payloads.
//!
//! ```text
//! constant, range      no payload; the description is the sequence
//! flat, bitpacking     words, as in the block form
//! general              flat, compressed
//! delta                base, then base + d0, base + d0 + d1, …     payload of the differences
//! rle                  u64: bytes of the run values | run values | run lengths (32-bit)
//!                      nothing where neither has a payload
//! dictionary           u64: bytes of the indices | u64: bytes of the items | indices | items
//! ```
//!
//! See docs/format/planar.md, "Sequences".

use super::super::{Encoding, Lent, ValueType, Values, block, rle};
use super::{Runs, Sequence};
use crate::error::corrupt;
use crate::{Error, Limits, Result};

/// Items that a dictionary of numbers may have.
const MAX_ITEMS: u32 = 4096;

/// Runs that are made of descriptions alone: they cost the file nothing.
const MAX_RULED_RUNS: u64 = 1 << 16;

impl Sequence {
    /// Decodes `len` numbers of `bits` (32 or 64); `data` is empty where the description says all.
    pub(crate) fn decode(
        encoding: &Encoding,
        data: &[u8],
        len: u64,
        bits: u8,
        limits: &Limits,
    ) -> Result<Self> {
        if !has_payload(encoding) && !data.is_empty() {
            corrupt!("{} bytes of a sequence described as {}", data.len(), encoding.describe());
        }
        match encoding {
            Encoding::Delta { bits: wide, base, deltas } if *wide == bits => {
                let Some(count) = len.checked_sub(1).filter(|count| *count > 0) else {
                    corrupt!("differences of {len} numbers: at least 2 are expected");
                };
                match simple(deltas, data, count, bits, limits)? {
                    Self::Rule { base: first, first: second, .. } => {
                        Self::rule(len, *base, first, second, bits)
                    }
                    Self::Listed(mut numbers) => {
                        let mut number = u128::from(*base);
                        for slot in &mut numbers {
                            let delta = std::mem::replace(slot, number as u64);
                            number += u128::from(delta);
                        }
                        numbers.push(number as u64);
                        if number > u128::from(u64::MAX >> (64 - bits)) {
                            corrupt!("differences that add up to {number}, more than {bits} bits");
                        }
                        Ok(Self::Listed(numbers))
                    }
                    Self::Runs(_) => unreachable!("simple sequences have no runs"),
                }
            }
            Encoding::Runs { values, lengths } => decode_runs(values, lengths, data, len, bits, limits),
            Encoding::Dictionary { indices, items, num_items } => {
                if *num_items > MAX_ITEMS {
                    corrupt!("a dictionary of {num_items} numbers, at most {MAX_ITEMS} are legal");
                }
                let [indices_data, items_data] = split_dictionary(data)?;
                let items = simple(items, items_data, u64::from(*num_items), bits, limits)?;
                let Some(index_bits) = word_bits(indices).filter(|bits| [32, 64].contains(bits)) else {
                    corrupt!("indices of numbers described as {}", indices.describe());
                };
                let indices = simple(indices, indices_data, len, index_bits, limits)?;
                let find = |index: u64| {
                    if index >= items.len() {
                        corrupt!("index {index} into {} numbers", items.len());
                    }
                    Ok(items.get(index))
                };
                match indices {
                    Self::Rule { base, first: 0, .. } => Self::rule(len, find(base)?, 0, 0, bits),
                    Self::Rule { base, first, .. } => {
                        // Indices that rise end within the items.
                        find(base.saturating_add(first.saturating_mul(len.saturating_sub(1))))?;
                        (0..len).map(|i| find(base + i * first)).collect::<Result<_>>().map(Self::Listed)
                    }
                    Self::Listed(mut numbers) => {
                        for number in &mut numbers {
                            *number = find(*number)?;
                        }
                        Ok(Self::Listed(numbers))
                    }
                    Self::Runs(_) => unreachable!("simple sequences have no runs"),
                }
            }
            _ => simple(encoding, data, len, bits, limits),
        }
    }
}

/// Whether a sequence takes a buffer.
pub(crate) fn has_payload(encoding: &Encoding) -> bool {
    match encoding {
        Encoding::Constant { .. } | Encoding::Range { .. } => false,
        Encoding::Delta { deltas, .. } => has_payload(deltas),
        Encoding::Runs { values, lengths } => has_payload(values) || has_payload(lengths),
        _ => true,
    }
}

/// Bits of the words that an encoding of words makes.
pub(in crate::encoding) fn word_bits(encoding: &Encoding) -> Option<u8> {
    match encoding {
        Encoding::Flat { bits } => u8::try_from(*bits).ok(),
        Encoding::InlineBitpacking { bits }
        | Encoding::OutOfLineBitpacking { bits, .. }
        | Encoding::Range { bits, .. } => Some(*bits),
        Encoding::Constant { value: Some(value) } => u8::try_from(value.len() * 8).ok(),
        Encoding::General { values, .. } => word_bits(values),
        _ => None,
    }
}

/// Bits of the numbers of a sequence, by its description.
pub(in crate::encoding) fn sequence_bits(encoding: &Encoding) -> Option<u8> {
    match encoding {
        Encoding::Delta { bits, .. } => Some(*bits),
        Encoding::Runs { values, .. } => word_bits(values),
        Encoding::Dictionary { items, .. } => word_bits(items),
        other => word_bits(other),
    }
}

/// A sequence that others may be made of.
fn simple(encoding: &Encoding, data: &[u8], len: u64, bits: u8, limits: &Limits) -> Result<Sequence> {
    if !has_payload(encoding) && !data.is_empty() {
        corrupt!("{} bytes of a sequence described as {}", data.len(), encoding.describe());
    }
    match encoding {
        Encoding::Constant { value: None } if len == 0 => Ok(Sequence::EMPTY),
        _ if len == 0 => corrupt!("no numbers, described as {}", encoding.describe()),
        Encoding::Constant { value: Some(value) } if value.len() * 8 == usize::from(bits) => {
            let mut word = [0; 8];
            word[..value.len()].copy_from_slice(value);
            Sequence::rule(len, u64::from_le_bytes(word), 0, 0, bits)
        }
        Encoding::Range { bits: wide, start, step } if *wide == bits => {
            Sequence::rule(len, *start, *step, 0, bits)
        }
        Encoding::OutOfLineBitpacking { packed_bits: 0, .. } => {
            corrupt!("numbers of no bits, which would be constant")
        }
        Encoding::Flat { .. } | Encoding::InlineBitpacking { .. } | Encoding::OutOfLineBitpacking { .. } => {
            words(encoding, data, len, bits, limits)
        }
        Encoding::General { values, .. } if matches!(**values, Encoding::Flat { .. }) => {
            words(encoding, data, len, bits, limits)
        }
        _ => corrupt!("a sequence of {bits}-bit numbers described as {}", encoding.describe()),
    }
}

fn words(encoding: &Encoding, data: &[u8], len: u64, bits: u8, limits: &Limits) -> Result<Sequence> {
    let width = usize::from(bits) / 8;
    let count = usize::try_from(len).unwrap_or(usize::MAX);
    block::admit(count, 8, limits)?;
    let shape = ValueType::Fixed(width);
    let mut words = Values::new(&shape, 0);
    block::decode(encoding, data, count, &shape, limits, &mut words, &mut Lent::take())?;
    Ok(Sequence::Listed(match width {
        4 => words.fixed_bytes(4)?.as_chunks().0.iter().map(|w| u32::from_le_bytes(*w).into()).collect(),
        _ => words.fixed_bytes(8)?.as_chunks().0.iter().map(|w| u64::from_le_bytes(*w)).collect(),
    }))
}

fn decode_runs(
    values: &Encoding,
    lengths: &Encoding,
    data: &[u8],
    len: u64,
    bits: u8,
    limits: &Limits,
) -> Result<Sequence> {
    let [values_data, lengths_data] = match has_payload(values) || has_payload(lengths) {
        true => rle::split(data)?,
        false => [&[][..]; 2],
    };
    let flat = |encoding: &Encoding, data: &[u8], width: usize| match encoding {
        Encoding::Flat { .. } => Some((data.len() / width) as u64),
        _ => None,
    };
    // What is not recoverable from the lengths is from values that stand there one by one.
    let count = match lengths {
        Encoding::Constant { value: Some(value) } if value.len() == 4 => {
            let length = u32::from_le_bytes([value[0], value[1], value[2], value[3]]);
            if length == 0 {
                corrupt!("runs of no numbers");
            }
            Some(len.div_ceil(length.into()))
        }
        Encoding::Range { start, step, .. } => {
            let reaches = |runs: u64| {
                let (runs, start, step) = (u128::from(runs), u128::from(*start), u128::from(*step));
                runs * start + runs * runs.saturating_sub(1) / 2 * step >= u128::from(len)
            };
            // Lengths are of 32 bits, so more runs than that do not rise.
            let (mut low, mut high) = (0, 1u64 << 32);
            while low < high {
                let middle = low + (high - low) / 2;
                if reaches(middle) { high = middle } else { low = middle + 1 }
            }
            Some(low)
        }
        other => flat(other, lengths_data, 4),
    };
    let count = count.or_else(|| flat(values, values_data, usize::from(bits) / 8));
    let Some(count) = count else {
        corrupt!("runs of {} and {}, whose number is not told", values.describe(), lengths.describe());
    };
    if let Encoding::Constant { value: Some(_) } = values {
        // However they are cut, the numbers are all the same.
        let lengths = simple(lengths, lengths_data, count, 32, limits)?;
        let positive = lengths.is_positive();
        let reached = lengths.total()?;
        if !positive || reached != u128::from(len) {
            corrupt!("runs of {reached} numbers where {len} are expected");
        }
        return simple(values, values_data, len, bits, limits);
    }
    if values_data.is_empty() && lengths_data.is_empty() && count > MAX_RULED_RUNS {
        return Err(Error::limit(format!(
            "{count} runs that follow a rule, at most {MAX_RULED_RUNS} are read"
        )));
    }
    let values = simple(values, values_data, count, bits, limits)?;
    let lengths = simple(lengths, lengths_data, count, 32, limits)?;
    let mut runs = Runs::default();
    let mut end = 0u64;
    for i in 0..count {
        let length = lengths.get(i);
        end = match end.checked_add(length) {
            Some(end) if length > 0 => end,
            _ => corrupt!("run {i} has {length} numbers and begins at {end}"),
        };
        runs.ends.push(end);
        runs.bases.push(values.get(i));
    }
    if end != len {
        corrupt!("runs of {end} numbers where {len} are expected");
    }
    Ok(Sequence::Runs(runs))
}

/// Payloads of the indices and the items of a dictionary.
fn split_dictionary(data: &[u8]) -> Result<[&[u8]; 2]> {
    let Some(([indices, items], rest)) = data.split_first_chunk::<16>().map(|(sizes, rest)| {
        (*sizes.as_chunks::<8>().0.first_chunk::<2>().expect("16 bytes are two words"), rest)
    }) else {
        corrupt!("{} bytes of a dictionary of numbers, whose sizes take 16", data.len());
    };
    let (indices, items) = (u64::from_le_bytes(indices), u64::from_le_bytes(items));
    let split = usize::try_from(indices).ok().and_then(|indices| rest.split_at_checked(indices));
    match split {
        Some((first, second)) if second.len() as u64 == items => Ok([first, second]),
        _ => corrupt!("{indices} bytes of indices and {items} of items in a payload of {}", rest.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(encoding: &Encoding, data: &[u8], len: u64) -> Result<Sequence> {
        Sequence::decode(encoding, data, len, 64, &Limits::default())
    }

    fn numbers(sequence: &Sequence) -> Vec<u64> {
        (0..sequence.len()).map(|i| sequence.get(i)).collect()
    }

    fn constant(value: u64) -> Encoding {
        Encoding::Constant { value: Some(value.to_le_bytes().to_vec()) }
    }

    fn short(value: u32) -> Encoding {
        Encoding::Constant { value: Some(value.to_le_bytes().to_vec()) }
    }

    fn words(words: &[u64]) -> Vec<u8> {
        words.iter().flat_map(|w| w.to_le_bytes()).collect()
    }

    const FLAT: Encoding = Encoding::Flat { bits: 64 };

    #[test]
    fn descriptions_of_2_to_the_60_numbers_stay_descriptions() {
        let len = 1 << 60;
        let evens = decode(&Encoding::Range { bits: 64, start: 4, step: 2 }, &[], len).unwrap();
        assert_eq!((evens.get(0), evens.get(len - 1)), (4, 2 + (1 << 61)));
        assert_eq!((evens.below(4), evens.below(5), evens.below(6)), (0, 1, 1));
        assert_eq!(evens.below(u64::MAX), len);
        let sums = decode(&constant(3), &[], len).unwrap().sums(3 << 60, &Limits::default()).unwrap();
        assert_eq!((sums.len(), sums.get(5), sums.last()), (len + 1, 15, Some(3 << 60)));
        let runs = Encoding::Runs { values: Box::new(constant(9)), lengths: Box::new(short(u32::MAX)) };
        // Their lengths must add up to what is asked for.
        let len = u64::from(u32::MAX) << 20;
        assert_eq!(decode(&runs, &[], len).unwrap(), decode(&constant(9), &[], len).unwrap());
        assert!(decode(&runs, &[], len + 1).is_err());
    }

    #[test]
    fn differences_of_a_constant_are_a_range_and_of_a_range_a_rule() {
        let delta = |deltas| Encoding::Delta { bits: 64, base: 5, deltas: Box::new(deltas) };
        assert_eq!(numbers(&decode(&delta(constant(2)), &[], 4).unwrap()), [5, 7, 9, 11]);
        let range = Encoding::Range { bits: 64, start: 1, step: 2 };
        let bent = decode(&delta(range), &[], 5).unwrap();
        assert_eq!(numbers(&bent), [5, 6, 9, 14, 21]);
        assert_eq!((bent.below(6), bent.below(15)), (1, 4));
        assert_eq!(numbers(&bent.sums(55, &Limits::default()).unwrap()), [0, 5, 11, 20, 34, 55]);
        assert_eq!(numbers(&decode(&delta(FLAT), &words(&[1, 0, 4]), 4).unwrap()), [5, 6, 6, 10]);
        assert!(decode(&delta(FLAT), &words(&[u64::MAX]), 2).is_err());
        assert!(decode(&delta(constant(2)), &[], 1).is_err());
    }

    #[test]
    fn runs_and_dictionaries_are_what_their_parts_say() {
        let lengths: Vec<u8> = [2u32, 1, 3].iter().flat_map(|l| l.to_le_bytes()).collect();
        let runs = Encoding::Runs {
            values: Box::new(Encoding::Range { bits: 64, start: 1, step: 4 }),
            lengths: Box::new(Encoding::Flat { bits: 32 }),
        };
        let data = [&words(&[0])[..], &lengths].concat();
        let found = decode(&runs, &data, 6).unwrap();
        assert_eq!(numbers(&found), [1, 1, 5, 9, 9, 9]);
        assert_eq!((found.below(5), found.rises(), found.is_positive()), (2, false, true));
        assert_eq!(found.different(&(1..4), 9), [1, 5]);
        assert_eq!(numbers(&found.sums(34, &Limits::default()).unwrap()), [0, 1, 2, 7, 16, 25, 34]);
        assert!(decode(&runs, &data, 7).is_err());

        let dictionary = Encoding::Dictionary {
            indices: Box::new(Encoding::Flat { bits: 32 }),
            items: Box::new(Encoding::Range { bits: 64, start: 1, step: 2 }),
            num_items: 3,
        };
        let data = [&words(&[12, 0])[..], &lengths[..4], &[0; 4], &lengths[4..8]].concat();
        assert_eq!(numbers(&decode(&dictionary, &data, 3).unwrap()), [5, 1, 3]);
        let wrong = [&words(&[4, 0])[..], &lengths[8..]].concat();
        assert!(decode(&dictionary, &wrong, 1).is_err());
    }

    #[test]
    fn sequences_that_pass_their_bits_or_have_no_numbers_are_corrupt() {
        let range = |start, step| Encoding::Range { bits: 32, start, step };
        let at = |e: &Encoding, len| Sequence::decode(e, &[], len, 32, &Limits::default());
        assert!(at(&range(u64::from(u32::MAX) - 1, 1), 2).is_ok());
        assert!(at(&range(u64::from(u32::MAX) - 1, 1), 3).is_err());
        assert!(at(&range(0, u64::MAX), u64::MAX).is_err());
        assert_eq!(at(&Encoding::Constant { value: None }, 0).unwrap(), Sequence::EMPTY);
        assert!(at(&Encoding::Constant { value: None }, 1).is_err());
        assert!(at(&range(0, 1), 0).is_err());
        assert!(Sequence::decode(&short(1), &[0], 1, 32, &Limits::default()).is_err());
    }
}
