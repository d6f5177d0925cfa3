//! A page's different values, stored once each, and the numbers that stand for them.
//!
//! ```text
//! values    7.50  7.25  7.50  9.00        entries  7.25  7.50  9.00      in an order that compresses well
//!                                         indices     1     0     1  2   bit-packed, or in any other way of numbers
//! ```

use std::collections::HashMap;

use arrow_buffer::BooleanBuffer;

use super::hash::Fold;
use super::spec::ValueSpec;
use super::tuning::Tuning;
use super::values;
use crate::encoding::{Encoding, FixedValues, Scheme, Values, encode_block};
use crate::page::mini_block::runs;
use crate::{FormatVersion, Result};

/// Values below which a dictionary is not worth its buffers.
const MIN_VALUES: usize = 32;
/// Entries at most: numbers of 32 bits, and memory.
const MAX_ENTRIES: usize = 1 << 24;
/// Values looked at before all are, in runs of neighbours.
const SAMPLES: usize = 4096;
const SAMPLE_RUNS: usize = 32;

/// Values as numbers of entries.
#[derive(Debug)]
pub(super) struct Dictionary {
    /// Of 1, 2 or 4 bytes; under nulls the one before.
    pub(super) indices: Values,
    pub(super) entries: Values,
}

/// Why there is no dictionary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum No {
    /// The type has none, or too much is different.
    Never,
    /// The entries take more than the preset allows: fewer rows would have fewer.
    TooLarge,
}

/// The dictionary of a page, if it may take less than `direct_bytes`.
pub(super) fn worthwhile(
    values: &Values,
    valid: Option<&BooleanBuffer>,
    tuning: &Tuning,
    direct_bytes: usize,
) -> std::result::Result<Dictionary, No> {
    let eligible = match values {
        Values::Variable(_) | Values::LargeVariable(_) => true,
        Values::Fixed(v) => v.width > 1,
        _ => false,
    };
    let count = values.len();
    // Run lengths of numbers take two bytes a run; any other way not much less than half of their bits.
    let run_bytes = match values {
        Values::Fixed(v) => runs(v.bytes(), v.width) * 2,
        _ => usize::MAX,
    };
    let least = |bits: usize| (count.saturating_mul(bits) / 16).min(run_bytes);
    if !eligible || count < MIN_VALUES || least(least_bits(values, valid)) > direct_bytes {
        return Err(No::Never);
    }
    let limits = &tuning.dictionary;
    let max_entries = (count / limits.divisor).min(MAX_ENTRIES);
    let max_raw = (values.byte_size() as f64 * limits.size_ratio) as usize;
    // Compressed, an entry takes a byte at the least, and hardly less than a sixth of its bytes.
    let room = tuning.preset.weights().entries_bytes;
    let mut no = No::Never;
    let found = build(values, valid, |entries, bytes| {
        if entries > room || bytes / 6 > room {
            no = No::TooLarge;
            return false;
        }
        let least = least(entries.ilog2() as usize);
        entries <= max_entries && bytes <= limits.max_bytes && bytes <= max_raw && least < direct_bytes
    });
    found.ok_or(no)
}

/// The dictionary of a page, however large; `None` for values that have no bytes of their own.
pub(super) fn any(values: &Values, valid: Option<&BooleanBuffer>) -> Option<Dictionary> {
    build(values, valid, |_, _| true)
}

/// Bits of a number at the very least, from how many different values a sample has.
fn least_bits(values: &Values, valid: Option<&BooleanBuffer>) -> usize {
    let run = SAMPLES / SAMPLE_RUNS;
    if values.len() < 2 * SAMPLES {
        return 0;
    }
    let mut seen = HashMap::with_capacity_and_hasher(SAMPLES, Fold::default());
    for start in (0..SAMPLE_RUNS).map(|i| i * (values.len() - run) / (SAMPLE_RUNS - 1)) {
        for index in (start..start + run).filter(|i| valid.is_none_or(|v| v.value(*i))) {
            if let Some(bytes) = values.bytes_at(index) {
                seen.insert(bytes, ());
            }
        }
    }
    seen.len().max(1).ilog2() as usize
}

/// Gives every value its entry, while `goes_on(entries, bytes of entries)` agrees.
fn build(
    values: &Values,
    valid: Option<&BooleanBuffer>,
    goes_on: impl FnMut(usize, usize) -> bool,
) -> Option<Dictionary> {
    let is_valid = |i: usize| valid.is_none_or(|v| v.value(i));
    let len = values.len();
    let numbered = match values {
        Values::Fixed(v) => match v.width {
            2 => number(len, is_valid, word_of::<2>(v.bytes()), |_| 2, goes_on),
            4 => number(len, is_valid, word_of::<4>(v.bytes()), |_| 4, goes_on),
            8 => number(len, is_valid, word_of::<8>(v.bytes()), |_| 8, goes_on),
            width => {
                let bytes = v.bytes();
                number(len, is_valid, |i| &bytes[i * width..(i + 1) * width], |b: &[u8]| b.len(), goes_on)
            }
        },
        Values::Variable(v) => number(len, is_valid, |i| v.value(i), |b: &[u8]| b.len() + 4, goes_on),
        Values::LargeVariable(v) => number(len, is_valid, |i| v.value(i), |b: &[u8]| b.len() + 8, goes_on),
        _ => None,
    };
    let Numbered { numbers, mut firsts } = numbered?;
    if firsts.is_empty() {
        // Indices under nulls must be in range all the same.
        firsts.push(0);
    }
    let entries = gather(values, &firsts)?;
    Some(Dictionary { indices: indices(firsts.len(), numbers.into_iter()), entries })
}

/// Words of N bytes as keys.
fn word_of<const N: usize>(bytes: &[u8]) -> impl Fn(usize) -> u64 {
    let words = bytes.as_chunks::<N>().0;
    move |i| {
        let mut word = [0; 8];
        word[..N].copy_from_slice(&words[i]);
        u64::from_le_bytes(word)
    }
}

struct Numbered {
    numbers: Vec<u32>,
    /// Of every entry the first value that has it.
    firsts: Vec<usize>,
}

fn number<K: std::hash::Hash + Eq + Copy>(
    len: usize,
    is_valid: impl Fn(usize) -> bool,
    key: impl Fn(usize) -> K,
    bytes_of: impl Fn(K) -> usize,
    mut goes_on: impl FnMut(usize, usize) -> bool,
) -> Option<Numbered> {
    let mut index: HashMap<K, u32, Fold> = HashMap::with_hasher(Fold::default());
    let mut firsts: Vec<usize> = Vec::new();
    let mut bytes = 0;
    let mut numbers: Vec<u32> = Vec::with_capacity(len);
    let mut last: Option<K> = None;
    let mut current = 0;
    for i in 0..len {
        if is_valid(i) {
            let value = key(i);
            if last != Some(value) {
                let next = firsts.len() as u32;
                current = *index.entry(value).or_insert(next);
                last = Some(value);
                if current == next {
                    firsts.push(i);
                    bytes += bytes_of(value);
                    if !goes_on(firsts.len(), bytes) {
                        return None;
                    }
                }
            }
        }
        numbers.push(current);
    }
    Some(Numbered { numbers, firsts })
}

fn gather(values: &Values, places: &[usize]) -> Option<Values> {
    let mut out = Values::new(&values.shape(), places.len());
    for &i in places {
        out.extend(values, i..i + 1).ok()?;
    }
    Some(out)
}

/// Numbers below `entries` in the narrowest words.
fn indices(entries: usize, numbers: impl ExactSizeIterator<Item = u32>) -> Values {
    let mut out;
    match entries {
        0..=0x100 => {
            out = FixedValues::new(1, numbers.len());
            out.grow(numbers.len()).iter_mut().zip(numbers).for_each(|(slot, n)| *slot = n as u8);
        }
        0x101..=0x1_0000 => {
            out = FixedValues::new(2, numbers.len());
            let slots = out.grow(numbers.len()).as_chunks_mut::<2>().0;
            slots.iter_mut().zip(numbers).for_each(|(slot, n)| *slot = (n as u16).to_le_bytes());
        }
        _ => {
            out = FixedValues::new(4, numbers.len());
            let slots = out.grow(numbers.len()).as_chunks_mut::<4>().0;
            slots.iter_mut().zip(numbers).for_each(|(slot, n)| *slot = n.to_le_bytes());
        }
    }
    Values::Fixed(out)
}

/// Number `i` of some indices.
fn index_at(bytes: &[u8], width: usize, i: usize) -> u32 {
    let mut word = [0; 4];
    word[..width].copy_from_slice(&bytes[i * width..(i + 1) * width]);
    u32::from_le_bytes(word)
}

/// The entries in the order that takes the fewest bytes, which is free where every number takes the same bits; and how
/// those are stored.
pub(super) fn ordered(
    dictionary: &Dictionary,
    tuning: &Tuning,
) -> Result<Option<(Dictionary, Encoding, usize)>> {
    let entries = &dictionary.entries;
    if entries.len() < 16 || tuning.dictionary.scheme.is_none() {
        return Ok(None);
    }
    let mut orders: Vec<Vec<u32>> = Vec::new();
    let mut sorted_by = |compare: &dyn Fn(u32, u32) -> std::cmp::Ordering| {
        let mut order: Vec<u32> = (0..entries.len() as u32).collect();
        order.sort_by(|a, b| compare(*a, *b));
        orders.push(order);
    };
    match entries {
        Values::Fixed(v) => {
            let value = |i: u32| &v.bytes()[i as usize * v.width..(i as usize + 1) * v.width];
            // By value, that is by the last byte first; and by the first: equal tails of decimal fractions come together.
            sorted_by(&|a, b| value(a).iter().rev().cmp(value(b).iter().rev()));
            if v.width >= 8 {
                sorted_by(&|a, b| value(a).cmp(value(b)));
            }
        }
        _ => sorted_by(&|a, b| entries.bytes_at(a as usize).cmp(&entries.bytes_at(b as usize))),
    }
    let mut best: Option<(Vec<u32>, Values, Encoding, usize)> = None;
    for order in orders {
        let places: Vec<usize> = order.iter().map(|i| *i as usize).collect();
        let Some(moved) = gather(entries, &places) else { return Ok(None) };
        let (encoding, bytes) = entries_encoding(&moved, None, tuning)?;
        if best.as_ref().is_none_or(|(.., least)| bytes < *least) {
            best = Some((order, moved, encoding, bytes));
        }
    }
    let Some((order, moved, encoding, bytes)) = best else { return Ok(None) };
    let mut rank = vec![0u32; order.len()];
    order.iter().enumerate().for_each(|(to, from)| rank[*from as usize] = to as u32);
    let Values::Fixed(old) = &dictionary.indices else { return Ok(None) };
    let numbers = (0..old.len()).map(|i| rank[index_at(old.bytes(), old.width, i) as usize]);
    let moved = Dictionary { indices: indices(order.len(), numbers), entries: moved };
    Ok(Some((moved, encoding, bytes)))
}

/// How the entries of a dictionary are stored, and the bytes that takes.
pub(super) fn entries_encoding(
    entries: &Values,
    spec: Option<&ValueSpec>,
    tuning: &Tuning,
) -> Result<(Encoding, usize)> {
    let sized = |encoding: Encoding| encode_block(&encoding, entries).map(|bytes| (encoding, bytes.len()));
    if let Some(spec) = spec {
        return match (spec, entries) {
            // One group holds no more.
            (ValueSpec::Bitpack, _) if entries.len() > 1024 => Err(crate::Error::invalid(format!(
                "bitpack: a dictionary of {} entries, inline bit packing holds 1024",
                entries.len()
            ))),
            _ => sized(values::forced(spec, entries)?),
        };
    }
    let plain = sized(values::plain(entries))?;
    let Some((scheme, level)) = entries_scheme(tuning) else { return Ok(plain) };
    if tuning.is_plain() && !tuning.is_plain_by_metadata
        || matches!(entries, Values::Bits(_))
        || entries.byte_size() < 64
    {
        return Ok(plain);
    }
    let general = sized(Encoding::General { scheme, level, values: Box::new(plain.0.clone()) })?;
    Ok(if general.1 < plain.1 { general } else { plain })
}

/// What was asked for, or what the preset gives.
fn entries_scheme(tuning: &Tuning) -> Option<(Scheme, Option<i32>)> {
    match tuning.dictionary.scheme {
        Some((Scheme::Lz4, None)) if tuning.chooses() => {
            Some((Scheme::Zstd, Some(tuning.preset.weights().entries_level)))
        }
        // As in the official writer.
        Some(_) if tuning.version < FormatVersion::V2_2 && !tuning.chooses() => None,
        other => other,
    }
}
