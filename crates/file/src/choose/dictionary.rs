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
/// zstd level of a quick look.
const QUICK_LEVEL: i32 = 1;
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
    /// The entries take more than the preset allows: fewer rows would have fewer. About so many may do.
    TooLarge { values: usize },
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
    // Strings that are mostly different gain nothing but the order; whoever wants one would read and decompress them all.
    let divisor = if matches!(values, Values::Fixed(_)) { limits.divisor } else { limits.divisor.max(2) };
    let max_entries = (count / divisor).min(MAX_ENTRIES);
    let max_raw = (values.byte_size() as f64 * limits.size_ratio) as usize;
    // Compressed, an entry takes a byte about, and hardly less than an eighth of its bytes.
    let room = tuning.preset.weights().entries_bytes;
    let mut no = No::Never;
    let found = build(values, valid, |seen, entries, bytes| {
        if entries > room || bytes / 8 > room {
            no = No::TooLarge { values: seen };
            return false;
        }
        let least = least(entries.ilog2() as usize);
        entries <= max_entries && bytes <= limits.max_bytes && bytes <= max_raw && least < direct_bytes
    });
    found.ok_or(no)
}

/// The dictionary of a page, however large; `None` for values that have no bytes of their own.
pub(super) fn any(values: &Values, valid: Option<&BooleanBuffer>) -> Option<Dictionary> {
    build(values, valid, |_, _, _| true)
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

/// Gives every value its entry, while `goes_on(values seen, entries, bytes of entries)` agrees.
fn build(
    values: &Values,
    valid: Option<&BooleanBuffer>,
    goes_on: impl FnMut(usize, usize, usize) -> bool,
) -> Option<Dictionary> {
    let is_valid = |i: usize| valid.is_none_or(|v| v.value(i));
    let len = values.len();
    let numbered = match values {
        Values::Fixed(v) => match v.width {
            2 => number(len, is_valid, word_of::<2>(v.bytes()), |_| 2, goes_on),
            4 => number(len, is_valid, word_of::<4>(v.bytes()), |_| 4, goes_on),
            8 => number(len, is_valid, word_of::<8>(v.bytes()), |_| 8, goes_on),
            16 => {
                let words = v.bytes().as_chunks::<16>().0;
                number(len, is_valid, |i| u128::from_le_bytes(words[i]), |_| 16, goes_on)
            }
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
    mut goes_on: impl FnMut(usize, usize, usize) -> bool,
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
                    if !goes_on(i, firsts.len(), bytes) {
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
    if let (Values::Fixed(from), Values::Fixed(to)) = (values, &mut out) {
        let width = from.width;
        let slots = to.grow(places.len()).chunks_exact_mut(width);
        slots.zip(places).for_each(|(slot, i)| slot.copy_from_slice(&from.bytes()[i * width..(i + 1) * width]));
        return Some(out);
    }
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
    let orders = match entries {
        Values::Fixed(v) => match v.width {
            2 => orders_of::<2, u64>(v.bytes(), |w| u64::from(u16::from_le_bytes(w)), None),
            4 => orders_of::<4, u64>(v.bytes(), |w| u64::from(u32::from_le_bytes(w)), None),
            8 => orders_of(v.bytes(), u64::from_le_bytes, Some(u64::from_be_bytes)),
            16 => orders_of(v.bytes(), u128::from_le_bytes, Some(u128::from_be_bytes)),
            width => {
                let value = |i: u32| &v.bytes()[i as usize * width..(i as usize + 1) * width];
                vec![order_by(entries.len(), |a, b| value(a).iter().rev().cmp(value(b).iter().rev()))]
            }
        },
        _ => {
            let bytes = |i: u32| entries.bytes_at(i as usize);
            vec![order_by(entries.len(), |a, b| bytes(a).cmp(&bytes(b)))]
        }
    };
    let mut best: Option<(Vec<u32>, Values, usize)> = None;
    let several = orders.len() > 1;
    let mut by_value = false;
    for (place, order) in orders.into_iter().enumerate() {
        let places: Vec<usize> = order.iter().map(|i| *i as usize).collect();
        let Some(moved) = gather(entries, &places) else { return Ok(None) };
        // Which order is the better a quick look tells.
        let bytes = if several { quick_bytes(&moved)? } else { 0 };
        if best.as_ref().is_none_or(|(.., least)| bytes < *least) {
            best = Some((order, moved, bytes));
            by_value = place == 0;
        }
    }
    let Some((order, moved, _)) = best else { return Ok(None) };
    // Between neighbours of about the same value a thorough search finds no more than a quick one.
    let level = (by_value && matches!(moved, Values::Fixed(_))).then_some(QUICK_LEVEL);
    let (encoding, bytes) = sized_entries(&moved, level, tuning)?;
    let mut rank = vec![0u32; order.len()];
    order.iter().enumerate().for_each(|(to, from)| rank[*from as usize] = to as u32);
    let Values::Fixed(old) = &dictionary.indices else { return Ok(None) };
    let numbers = (0..old.len()).map(|i| rank[index_at(old.bytes(), old.width, i) as usize]);
    let moved = Dictionary { indices: indices(order.len(), numbers), entries: moved };
    Ok(Some((moved, encoding, bytes)))
}

/// Of entries of N bytes the order by value, and by the other key: with the lowest byte first equal tails of decimal fractions come together.
fn orders_of<const N: usize, K: Ord + Copy>(
    bytes: &[u8],
    value: fn([u8; N]) -> K,
    other: Option<fn([u8; N]) -> K>,
) -> Vec<Vec<u32>> {
    let keys = [Some(value), other];
    let sorted = keys.into_iter().flatten().map(|key| {
        let mut order: Vec<(K, u32)> = bytes.as_chunks::<N>().0.iter().map(|w| key(*w)).zip(0..).collect();
        order.sort_unstable();
        order.into_iter().map(|(_, i)| i).collect()
    });
    sorted.collect()
}

fn order_by(count: usize, mut compare: impl FnMut(u32, u32) -> std::cmp::Ordering) -> Vec<u32> {
    let mut order: Vec<u32> = (0..count as u32).collect();
    order.sort_unstable_by(|a, b| compare(*a, *b));
    order
}

/// Bytes of entries under a quick compressor.
fn quick_bytes(entries: &Values) -> Result<usize> {
    let values = Box::new(values::plain(entries));
    Ok(encode_block(&Encoding::General { scheme: Scheme::Zstd, level: Some(QUICK_LEVEL), values }, entries)?.len())
}

/// How the entries of a dictionary are stored, and the bytes that takes.
pub(super) fn entries_encoding(
    entries: &Values,
    spec: Option<&ValueSpec>,
    tuning: &Tuning,
) -> Result<(Encoding, usize)> {
    if let Some(spec) = spec {
        let sized = |encoding: Encoding| encode_block(&encoding, entries).map(|bytes| (encoding, bytes.len()));
        return match (spec, entries) {
            // One group holds no more.
            (ValueSpec::Bitpack, _) if entries.len() > 1024 => Err(crate::Error::invalid(format!(
                "bitpack: a dictionary of {} entries, inline bit packing holds 1024",
                entries.len()
            ))),
            _ => sized(values::forced(spec, entries)?),
        };
    }
    sized_entries(entries, None, tuning)
}

/// The same without what was asked for; `level`: one that will do in place of the preset's.
fn sized_entries(entries: &Values, level: Option<i32>, tuning: &Tuning) -> Result<(Encoding, usize)> {
    let sized = |encoding: Encoding| encode_block(&encoding, entries).map(|bytes| (encoding, bytes.len()));
    let plain = sized(values::plain(entries))?;
    let Some((scheme, preset_level)) = entries_scheme(tuning) else { return Ok(plain) };
    let level = if scheme == Scheme::Zstd { level.or(preset_level) } else { preset_level };
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
