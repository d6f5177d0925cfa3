//! Whether a page's values repeat enough to be stored once each, and the dictionary if so.
//!
//! The bounds are those of the official writer: at least 100 values, entries at most values / divisor and
//! 100,000, the whole not larger than a share of the raw size. Memory is bounded by the same numbers.

use std::collections::HashMap;

use arrow_buffer::BooleanBuffer;

use super::hash::Fold;
use super::spec::ValueSpec;
use super::tuning::Tuning;
use super::values;
use crate::encoding::{Encoding, FixedValues, Values, encode_block};
use crate::{FormatVersion, Result};

const MIN_VALUES: usize = 100;
const MAX_ENTRIES: usize = 100_000;
/// Values looked at before all are, in runs of neighbours.
const SAMPLES: usize = 4096;
const SAMPLE_RUNS: usize = 32;
/// Share of distinct values in the sample above which there is no point.
const MAX_DISTINCT: f64 = 0.98;

/// Values as numbers of entries.
pub(super) struct Dictionary {
    /// Of 1, 2 or 4 bytes; 0 under nulls.
    pub(super) indices: Values,
    pub(super) entries: Values,
}

/// The dictionary of a page, if that is allowed for its type and pays against `direct_bytes`.
pub(super) fn worthwhile(
    values: &Values,
    valid: Option<&BooleanBuffer>,
    num_valid: usize,
    tuning: &Tuning,
    direct_bytes: usize,
) -> Option<Dictionary> {
    let eligible = match values {
        Values::Variable(_) | Values::LargeVariable(_) => true,
        Values::Fixed(v) => v.width == 16 || (v.width == 8 && tuning.version >= FormatVersion::V2_2),
        _ => false,
    };
    if !eligible || num_valid < MIN_VALUES || mostly_distinct(values, valid) {
        return None;
    }
    let max_entries = (num_valid / tuning.dictionary.divisor).min(MAX_ENTRIES);
    let raw = values.byte_size();
    let most = ((raw as f64 * tuning.dictionary.size_ratio) as usize).min(direct_bytes);
    build(values, valid, |entries, bytes| {
        let bits = (usize::BITS - entries.saturating_sub(1).leading_zeros()) as usize;
        entries <= max_entries
            && bytes <= tuning.dictionary.max_bytes
            && bytes + values.len() * bits / 8 <= most
    })
}

/// The dictionary of a page, however large; `None` for values that have no bytes of their own.
pub(super) fn any(values: &Values, valid: Option<&BooleanBuffer>) -> Option<Dictionary> {
    build(values, valid, |_, _| true)
}

fn mostly_distinct(values: &Values, valid: Option<&BooleanBuffer>) -> bool {
    let run = SAMPLES / SAMPLE_RUNS;
    if values.len() < 2 * SAMPLES {
        return false;
    }
    let mut seen = HashMap::with_capacity_and_hasher(SAMPLES, Fold::default());
    let mut count = 0;
    for start in (0..SAMPLE_RUNS).map(|i| i * (values.len() - run) / (SAMPLE_RUNS - 1)) {
        for index in (start..start + run).filter(|i| valid.is_none_or(|v| v.value(*i))) {
            if let Some(bytes) = values.bytes_at(index) {
                seen.insert(bytes, ());
                count += 1;
            }
        }
    }
    count >= 1024 && seen.len() as f64 >= MAX_DISTINCT * f64::from(count)
}

/// Gives every value its entry, while `goes_on(entries, bytes of entries)` agrees.
fn build(
    values: &Values,
    valid: Option<&BooleanBuffer>,
    goes_on: impl Fn(usize, usize) -> bool,
) -> Option<Dictionary> {
    let mut index: HashMap<&[u8], u32, Fold> = HashMap::with_hasher(Fold::default());
    let mut firsts: Vec<usize> = Vec::new();
    let mut bytes_so_far = 0;
    let mut numbers: Vec<u32> = Vec::with_capacity(values.len());
    let mut last: Option<(&[u8], u32)> = None;
    for i in 0..values.len() {
        if valid.is_some_and(|v| !v.value(i)) {
            numbers.push(0);
            continue;
        }
        let bytes = values.bytes_at(i)?;
        let number = match last {
            Some((same, number)) if same == bytes => number,
            _ => {
                let next = firsts.len() as u32;
                *index.entry(bytes).or_insert(next)
            }
        };
        last = Some((bytes, number));
        if number as usize == firsts.len() {
            firsts.push(i);
            bytes_so_far += bytes.len() + 4;
            if !goes_on(firsts.len(), bytes_so_far) {
                return None;
            }
        }
        numbers.push(number);
    }
    if firsts.is_empty() {
        // Indices under nulls must be in range all the same.
        firsts.push(0);
    }
    values.bytes_at(0)?;
    let mut entries = Values::new(&values.shape(), firsts.len());
    for &i in &firsts {
        entries.extend(values, i..i + 1).ok()?;
    }
    let width = match firsts.len() {
        0..=0x100 => 1,
        0x101..=0x1_0000 => 2,
        _ => 4,
    };
    let mut indices = FixedValues::new(width, numbers.len());
    for number in &numbers {
        indices.extend(&number.to_le_bytes()[..width]);
    }
    Some(Dictionary { indices: Values::Fixed(indices), entries })
}

/// How the entries of a dictionary are stored.
pub(super) fn entries_encoding(
    entries: &Values,
    spec: Option<&ValueSpec>,
    tuning: &Tuning,
) -> Result<Encoding> {
    if let Some(spec) = spec {
        return match (spec, entries) {
            // One group holds no more.
            (ValueSpec::Bitpack, _) if entries.len() > 1024 => Err(crate::Error::invalid(format!(
                "bitpack: a dictionary of {} entries, inline bit packing holds 1024",
                entries.len()
            ))),
            _ => values::forced(spec, entries),
        };
    }
    let plain = values::plain(entries);
    let Some((scheme, level)) = tuning.dictionary.scheme else { return Ok(plain) };
    if tuning.version < FormatVersion::V2_2 || tuning.is_plain() || matches!(entries, Values::Bits(_)) {
        return Ok(plain);
    }
    let general = Encoding::General { scheme, level, values: Box::new(plain.clone()) };
    let smaller = encode_block(&general, entries)?.len() < encode_block(&plain, entries)?.len();
    Ok(if smaller { general } else { plain })
}
