//! A page's different values, stored once each, and the numbers that stand for them.
//!
//! ```text
//! values    7.50  7.25  7.50  9.00        entries  7.25  7.50  9.00      in an order that compresses well
//!                                         indices     1     0     1  2   bit-packed, or in any other way of numbers
//! ```

use arrow_buffer::BooleanBuffer;
use pennon_codec::bitpack::GROUP;

use super::cost;
use super::numbering::{self, Numbered};
use super::repetition::Repetition;
use super::spec::ValueSpec;
use super::tuning::Tuning;
use super::values;
use crate::encoding::{Encoding, FixedValues, Scheme, Values, encode_block};
use crate::page::mini_block::{StoredEntries, runs};
use crate::{FormatVersion, Result};

/// Values below which a dictionary is not worth its buffers.
const MIN_VALUES: usize = 32;
/// Entries at most: numbers of 32 bits, and memory.
const MAX_ENTRIES: usize = 1 << 24;
/// zstd level of a quick look.
const QUICK_LEVEL: i32 = 1;
/// How many times smaller than that a thorough search may make entries.
const SEARCH_GAIN: usize = 2;
/// The same of numbers.
const NUMBER_GAIN: f64 = 1.3;
/// Values of a page so small that ways to store it are not worth long looks.
const FEW_VALUES: usize = 4096;
/// How many times more different values a sample has to promise than there may be.
const SURELY: f64 = 1.25;
/// Bytes that an entry takes at the very least, however well entries compress.
const LEAST_ENTRY: f64 = 0.5;

/// Values as numbers of entries.
#[derive(Debug)]
pub(super) struct Dictionary {
    /// Of 1, 2 or 4 bytes; under nulls the one before.
    pub(super) indices: Values,
    pub(super) entries: Values,
}

/// The order of entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    /// As they were found.
    Found,
    Value,
    /// By the lowest byte first: equal tails of decimal fractions come together.
    LowestByte,
}

/// Why there is no dictionary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum No {
    /// The type has none, or too much is different.
    Never,
    /// The entries take more than the preset allows: fewer rows would have fewer. About so many may do.
    TooLarge { values: usize },
}

/// The dictionary of a page, if it may cost less than `direct`. `look`: what a sample says.
pub(super) fn worthwhile(
    values: &Values,
    valid: Option<&BooleanBuffer>,
    look: Option<Repetition>,
    tuning: &Tuning,
    direct: f64,
) -> std::result::Result<Dictionary, No> {
    let eligible = match values {
        Values::Variable(_) | Values::LargeVariable(_) => true,
        Values::Fixed(v) => v.width > 1,
        _ => false,
    };
    let count = values.len();
    if !eligible || count < MIN_VALUES {
        return Err(No::Never);
    }
    // Run lengths of numbers take two bytes a run.
    let run_bytes = match values {
        Values::Fixed(v) => runs(v.bytes(), v.width) * 2,
        _ => usize::MAX,
    } as f64;
    let least = |bits: f64, entries: f64| (count as f64 * bits / 8.0).min(run_bytes) + entries * LEAST_ENTRY;
    if look.is_some_and(|look| least(look.bits, look.distinct) > direct) {
        return Err(No::Never);
    }
    let limits = &tuning.dictionary;
    // Strings that are mostly different gain nothing but the order; whoever wants one would read and decompress them all.
    let divisor = if matches!(values, Values::Fixed(_)) { limits.divisor } else { limits.divisor.max(2) };
    // Nor do a few thousand narrow numbers, whose entries would hardly take less than they do.
    let narrow = matches!(values, Values::Fixed(v) if v.width <= 4) && count < FEW_VALUES;
    let divisor = if narrow { divisor.max(2) } else { divisor };
    let max_entries = (count / divisor).min(MAX_ENTRIES);
    // What a sample promises is rather too low.
    if look.is_some_and(|look| look.distinct > max_entries as f64 * SURELY) {
        return Err(No::Never);
    }
    let max_raw = (values.byte_size() as f64 * limits.size_ratio) as usize;
    // Compressed, an entry takes a byte about, and hardly less than an eighth of its bytes.
    let room = tuning.preset.weights().entries_bytes;
    let mut no = No::Never;
    let found = build(values, valid, |seen, entries, bytes| {
        if entries > room || bytes / 8 > room {
            no = No::TooLarge { values: seen };
            return false;
        }
        // Numbers of neighbours may be alike: half of their bits is what they take at least.
        let least = least(f64::from(entries.ilog2()) / 2.0, entries as f64);
        entries <= max_entries && bytes <= limits.max_bytes && bytes <= max_raw && least < direct
    });
    found.ok_or(no)
}

/// The dictionary of a page, however large; `None` for values that have no bytes of their own.
pub(super) fn any(values: &Values, valid: Option<&BooleanBuffer>) -> Option<Dictionary> {
    build(values, valid, |_, _, _| true)
}

/// Gives every value its entry, while `goes_on(values seen, entries, bytes of entries)` agrees.
fn build(
    values: &Values,
    valid: Option<&BooleanBuffer>,
    goes_on: impl FnMut(usize, usize, usize) -> bool,
) -> Option<Dictionary> {
    let len = values.len();
    match valid {
        Some(valid) => build_from(values, len, |i| valid.value(i), goes_on),
        None => build_from(values, len, |_| true, goes_on),
    }
}

fn build_from(
    values: &Values,
    len: usize,
    is_valid: impl Fn(usize) -> bool,
    mut goes_on: impl FnMut(usize, usize, usize) -> bool,
) -> Option<Dictionary> {
    let mut bytes = 0;
    let told = |i: usize, entries: usize| {
        bytes += match values {
            Values::Fixed(v) => v.width,
            Values::LargeVariable(v) => v.value(i).len() + 8,
            _ => values.bytes_at(i).map_or(0, <[u8]>::len) + 4,
        };
        goes_on(i, entries, bytes)
    };
    let numbered = match values {
        Values::Fixed(v) => match v.width {
            2 => numbering::of_words(len, is_valid, word_of::<2>(v.bytes()), told),
            4 => numbering::of_words(len, is_valid, word_of::<4>(v.bytes()), told),
            8 => numbering::of_words(len, is_valid, word_of::<8>(v.bytes()), told),
            16 => {
                let words = v.bytes().as_chunks::<16>().0;
                numbering::of_words(len, is_valid, |i| u128::from_le_bytes(words[i]), told)
            }
            width => numbering::of_strings(len, is_valid, v.bytes(), |i| (i * width, (i + 1) * width), told),
        },
        Values::Variable(v) => numbering::of_strings(len, is_valid, &v.data, |i| v.bounds(i), told),
        Values::LargeVariable(v) => numbering::of_strings(len, is_valid, &v.data, |i| v.bounds(i), told),
        _ => None,
    };
    let Numbered { numbers, mut firsts } = numbered?;
    if firsts.is_empty() {
        // Indices under nulls must be in range all the same.
        firsts.push(0);
    }
    let entries = gather(values, firsts.iter().copied())?;
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

fn gather(values: &Values, places: impl ExactSizeIterator<Item = usize>) -> Option<Values> {
    let mut out = Values::new(&values.shape(), places.len());
    if let (Values::Fixed(from), Values::Fixed(to)) = (values, &mut out) {
        let width = from.width;
        let slots = to.grow(places.len()).chunks_exact_mut(width);
        slots
            .zip(places)
            .for_each(|(slot, i)| slot.copy_from_slice(&from.bytes()[i * width..(i + 1) * width]));
        return Some(out);
    }
    for i in places {
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

/// What putting entries in order came to.
pub(super) enum Arranged {
    /// An order: the dictionary, and its entries as they are stored.
    By(Order, Box<(Dictionary, StoredEntries)>),
    /// No order is worth it.
    AsFound,
    /// The entries take about so many bytes, more than there is room for.
    TooLarge { bytes: usize },
}

/// The entries in the order that takes the fewest bytes, which is free where every number takes the same bits; or in the order
/// `wanted`; in at most `room` bytes.
pub(super) fn ordered(
    dictionary: &Dictionary,
    wanted: Option<Order>,
    room: usize,
    tuning: &Tuning,
) -> Result<Arranged> {
    let entries = &dictionary.entries;
    if entries.len() < 16 || tuning.dictionary.scheme.is_none() || wanted == Some(Order::Found) {
        return Ok(Arranged::AsFound);
    }
    let orders: &[Order] = match (&wanted, entries) {
        (Some(order), _) => std::slice::from_ref(order),
        (None, Values::Fixed(v)) if matches!(v.width, 8 | 16) => &[Order::Value, Order::LowestByte],
        _ => &[Order::Value],
    };
    let mut best: Option<(Vec<u32>, Values, usize, Order)> = None;
    for &order in orders {
        let Some((places, moved)) = in_order(entries, order) else { return Ok(Arranged::AsFound) };
        // Which order is the better a quick look tells.
        let bytes = if orders.len() > 1 { quick_bytes(&moved)? } else { 0 };
        if best.as_ref().is_none_or(|(_, _, least, _)| bytes < *least) {
            best = Some((places, moved, bytes, order));
        }
    }
    let Some((places, moved, bytes, order)) = best else { return Ok(Arranged::AsFound) };
    // Between neighbours of about the same value a thorough search finds no more than a quick one.
    let quick = order == Order::Value && matches!(moved, Values::Fixed(_));
    if bytes / if quick { 1 } else { SEARCH_GAIN } > room {
        return Ok(Arranged::TooLarge { bytes });
    }
    let stored = stored_at(&moved, quick.then_some(QUICK_LEVEL), tuning)?;
    if stored.bytes.len() > room {
        return Ok(Arranged::TooLarge { bytes: stored.bytes.len() });
    }
    let mut rank = vec![0u32; places.len()];
    places.iter().enumerate().for_each(|(to, from)| rank[*from as usize] = to as u32);
    let Values::Fixed(old) = &dictionary.indices else { return Ok(Arranged::AsFound) };
    let indices = match old.width {
        1 => ranked::<1>(old.bytes(), &rank, places.len()),
        2 => ranked::<2>(old.bytes(), &rank, places.len()),
        _ => ranked::<4>(old.bytes(), &rank, places.len()),
    };
    Ok(Arranged::By(order, Box::new((Dictionary { indices, entries: moved }, stored))))
}

/// Numbers of N bytes, each replaced by its rank.
fn ranked<const N: usize>(numbers: &[u8], rank: &[u32], entries: usize) -> Values {
    let numbers = numbers.as_chunks::<N>().0.iter().map(|number| {
        let mut word = [0; 4];
        word[..N].copy_from_slice(number);
        rank[u32::from_le_bytes(word) as usize]
    });
    indices(entries, numbers)
}

/// Entries in an order, and where each comes from.
fn in_order(entries: &Values, order: Order) -> Option<(Vec<u32>, Values)> {
    let lowest = order == Order::LowestByte;
    let places = match entries {
        Values::Fixed(v) => match v.width {
            2 => order_of(v.bytes(), |w| u64::from(u16::from_le_bytes(w))),
            4 => order_of(v.bytes(), |w| u64::from(u32::from_le_bytes(w))),
            8 if lowest => order_of(v.bytes(), u64::from_be_bytes),
            8 => order_of(v.bytes(), u64::from_le_bytes),
            16 if lowest => order_of(v.bytes(), u128::from_be_bytes),
            16 if v.bytes().as_chunks::<16>().0.iter().all(|w| w[8..] == [0; 8]) => {
                order_of(v.bytes(), |w: [u8; 16]| u128::from_le_bytes(w) as u64)
            }
            16 => order_of(v.bytes(), u128::from_le_bytes),
            width => {
                let value = |i: u32| &v.bytes()[i as usize * width..(i as usize + 1) * width];
                order_by(entries.len(), |a, b| value(a).iter().rev().cmp(value(b).iter().rev()))
            }
        },
        _ => {
            let bytes = |i: u32| entries.bytes_at(i as usize);
            order_by(entries.len(), |a, b| bytes(a).cmp(&bytes(b)))
        }
    };
    let moved = gather(entries, places.iter().map(|i| *i as usize))?;
    Some((places, moved))
}

/// The order of entries of N bytes by a key.
fn order_of<const N: usize, K: Ord + Copy>(bytes: &[u8], key: fn([u8; N]) -> K) -> Vec<u32> {
    let mut order: Vec<(K, u32)> = bytes.as_chunks::<N>().0.iter().map(|w| key(*w)).zip(0..).collect();
    order.sort_unstable();
    order.into_iter().map(|(_, i)| i).collect()
}

fn order_by(count: usize, mut compare: impl FnMut(u32, u32) -> std::cmp::Ordering) -> Vec<u32> {
    let mut order: Vec<u32> = (0..count as u32).collect();
    order.sort_unstable_by(|a, b| compare(*a, *b));
    order
}

/// Bytes of entries under a quick compressor, about: of many it looks at some runs of neighbours.
fn quick_bytes(entries: &Values) -> Result<usize> {
    /// Bytes of a sample, and the runs that it consists of.
    const SAMPLE: usize = 64 << 10;
    const RUNS: usize = 4;
    let compressed = |some: &Values| {
        let values = Box::new(values::plain(some));
        let encoding = Encoding::General { scheme: Scheme::Zstd, level: Some(QUICK_LEVEL), values };
        encode_block(&encoding, some).map(|block| block.len())
    };
    let (len, bytes) = (entries.len(), entries.byte_size());
    let run = len * (SAMPLE / RUNS) / bytes.max(1);
    if bytes <= 2 * SAMPLE || run == 0 {
        return compressed(entries);
    }
    let mut some = Values::new(&entries.shape(), run * RUNS);
    for start in (0..RUNS).map(|i| i * (len - run) / (RUNS - 1)) {
        some.extend(entries, start..start + run)?;
    }
    Ok(compressed(&some)? * bytes / some.byte_size().max(1))
}

/// The entries of a dictionary as they are stored.
pub(super) fn stored(entries: &Values, spec: Option<&ValueSpec>, tuning: &Tuning) -> Result<StoredEntries> {
    match (spec, entries) {
        (None, _) => stored_at(entries, None, tuning),
        // One group holds no more.
        (Some(ValueSpec::Bitpack), _) if entries.len() > GROUP => Err(crate::Error::invalid(format!(
            "bitpack: a dictionary of {} entries, inline bit packing holds {GROUP}",
            entries.len()
        ))),
        (Some(spec), _) => stored_as(values::forced(spec, entries)?, entries),
    }
}

/// The same in the order in which they were found, in which a thorough search finds nothing in numbers that a quick one does not.
pub(super) fn stored_as_found(entries: &Values, tuning: &Tuning) -> Result<StoredEntries> {
    let quick = matches!(entries, Values::Fixed(_)) && entries.len() > FEW_VALUES / 4;
    stored_at(entries, quick.then_some(QUICK_LEVEL), tuning)
}

fn stored_as(encoding: Encoding, entries: &Values) -> Result<StoredEntries> {
    let bytes = encode_block(&encoding, entries)?;
    Ok(StoredEntries { encoding, num_items: entries.len(), bytes })
}

/// The same where nothing was asked for; `level`: one that will do in place of the preset's.
fn stored_at(entries: &Values, level: Option<i32>, tuning: &Tuning) -> Result<StoredEntries> {
    let plain = values::plain(entries);
    let Some((scheme, preset_level)) = entries_scheme(tuning) else { return stored_as(plain, entries) };
    let level = if scheme == Scheme::Zstd { level.or(preset_level) } else { preset_level };
    if tuning.is_plain() && !tuning.is_plain_by_metadata
        || matches!(entries, Values::Bits(_))
        || entries.byte_size() < 64
    {
        return stored_as(plain, entries);
    }
    let compressed = |scheme, level| {
        stored_as(Encoding::General { scheme, level, values: Box::new(plain.clone()) }, entries)
    };
    let weights = tuning.preset.weights();
    // What decoding costs is weighed where nobody asked for a scheme.
    let is_free = tuning.chooses() && tuning.dictionary.scheme == Some((Scheme::Lz4, None));
    let weight = if is_free { weights.entries_decode } else { 0.0 };
    let cost =
        |bytes: usize, encoding: &Encoding| bytes as f64 + weight * cost::entries_ns(encoding, entries);
    let is_larger = |way: &StoredEntries| way.bytes.len() > weights.entries_bytes;
    // What has room goes before what has none; of equals what comes first.
    let better = |a: StoredEntries, b: StoredEntries| {
        let costs = |way: &StoredEntries| cost(way.bytes.len(), &way.encoding);
        let order = is_larger(&a).cmp(&is_larger(&b)).then(costs(&a).total_cmp(&costs(&b)));
        if order.is_le() { a } else { b }
    };
    let mut best = stored_as(plain.clone(), entries)?;
    if is_free && let Some(packed) = packed(entries) {
        best = better(stored_as(packed, entries)?, best);
    }
    if weight > 0.0 {
        best = better(compressed(Scheme::Lz4, None)?, best);
        // A scheme that takes long to decode has to save what that costs.
        let encoding = Encoding::General { scheme, level, values: Box::new(plain.clone()) };
        let gain = if matches!(entries, Values::Fixed(_)) { NUMBER_GAIN } else { SEARCH_GAIN as f64 };
        let least = cost((quick_bytes(entries)? as f64 / gain) as usize, &encoding);
        if !is_larger(&best) && least >= cost(best.bytes.len(), &best.encoding) {
            return Ok(best);
        }
    }
    // Plain goes before a compressor that gains nothing.
    Ok(better(best, compressed(scheme, level)?))
}

/// Many numbers that do not need all of their bits.
fn packed(entries: &Values) -> Option<Encoding> {
    let Values::Fixed(v) = entries else { return None };
    if !matches!(v.width, 2 | 4 | 8) || entries.len() <= GROUP {
        return None;
    }
    let (bits, packed_bits) = ((v.width * 8) as u8, super::measure::widest_bits(v.bytes(), v.width));
    (packed_bits < bits).then_some(Encoding::OutOfLineBitpacking { bits, packed_bits })
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
