//! The statistics of one leaf as bytes.
//!
//! ```text
//! ├──────┼──────────────────────────────────────────────────────────────────────────────────────┤
//! │ u8   │ body; form 1: a zstd frame of it, which says how long the body is                     │
//! └──────┴──────────────────────────────────────────────────────────────────────────────────────┘
//!  form
//!
//! body of n = numbers (see bytes.rs):
//!   n  distinct values + 1, 0 where unknown
//!   of the file   n values │ n nulls │ n NaNs (floats only) │ u8 flags │ min? │ max?
//!   n  zones Z
//!   of zones, where there are any:
//!     n shift: zones have the buffer's zone rows × 2^shift rows, the last one may have fewer
//!     Z counts of values │ Z of nulls │ Z of NaNs (floats only) │ Z flags │ a min of each that has one │ a max likewise
//!
//! flags     1 there is a min  2 it is exact  4 there is a max  8 it is exact
//! Z counts  u8 0: as in the file, in proportion to rows     1: Z numbers
//! Z flags   u8 0: one byte for all                          1: Z bytes
//! beside    a max stands beside its own min; a min beside the one before, the first beside the file's; where there is none,
//!           beside nothing
//! ```
//!
//! See docs/format/extras.md, "Kind 3".

use super::bytes::{Cursor, push_number, push_value};
use super::{Bound, Facts, Value};
use crate::encoding::{Lent, Scheme, decompress};
use crate::error::corrupt;
use crate::schema::Order;
use crate::{Error, Limits, Result};

/// Zones of one column at most.
pub(crate) const MAX_ZONES: u64 = 1 << 16;

const PLAIN: u8 = 0;
const ZSTD: u8 = 1;
/// Bodies below this do not get smaller.
const COMPRESS_BYTES: usize = 64;
/// Bodies are small.
const LEVEL: i32 = 12;

const HAS_MIN: u8 = 1;
const MIN_EXACT: u8 = 2;
const HAS_MAX: u8 = 4;
const MAX_EXACT: u8 = 8;

/// What is known of a column, as a file says it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ColumnFacts {
    /// Rows of a zone; the last one may have fewer. The file's where there are no zones.
    pub(crate) zone_rows: u64,
    /// In order of their rows; empty where only the file's are known.
    pub(crate) zones: Vec<Facts>,
    /// Of all rows.
    pub(crate) file: Facts,
    /// About how many different values there are.
    pub(crate) distinct: Option<u64>,
    /// Bytes in the file.
    pub(crate) bytes: u64,
}

/// What a message is about.
#[derive(Debug, Clone, Copy)]
pub(super) struct Subject {
    pub(super) order: Order,
    /// Of the file.
    pub(super) num_rows: u64,
    /// Zone rows of the buffer.
    pub(super) base_rows: u64,
}

/// A column's message; `zones` have `base << shift` rows, or there are none.
pub(super) fn emit(
    subject: &Subject,
    distinct: Option<u64>,
    file: &Facts,
    shift: u32,
    zones: &[Facts],
) -> Vec<u8> {
    let order = subject.order;
    let mut body = Vec::new();
    push_number(&mut body, distinct.map_or(0, |count| u128::from(count) + 1));
    push_number(&mut body, file.values.into());
    push_number(&mut body, file.nulls.into());
    if has_nans(order) {
        push_number(&mut body, file.nans.into());
    }
    body.push(flags(file));
    push_bounds(&mut body, file, order, None, true, true);
    push_number(&mut body, zones.len() as u128);
    if !zones.is_empty() {
        push_number(&mut body, shift.into());
        let spread = Spread { zone_rows: subject.base_rows << shift, num_rows: subject.num_rows };
        let mut push = |count: fn(&Facts) -> u64| push_counts(&mut body, zones, count, count(file), spread);
        push(|zone| zone.values);
        push(|zone| zone.nulls);
        if has_nans(order) {
            push(|zone| zone.nans);
        }
        let first = flags(&zones[0]);
        if zones.iter().all(|zone| flags(zone) == first) {
            body.extend_from_slice(&[0, first]);
        } else {
            body.push(1);
            body.extend(zones.iter().map(flags));
        }
        let mut last = value(&file.min);
        for zone in zones {
            push_bounds(&mut body, zone, order, last, true, false);
            last = value(&zone.min).or(last);
        }
        for zone in zones {
            push_bounds(&mut body, zone, order, None, false, true);
        }
    }
    if body.len() >= COMPRESS_BYTES
        && let Ok(frame) = zstd::bulk::compress(&body, LEVEL)
        && frame.len() < body.len()
    {
        let mut message = vec![ZSTD];
        message.extend_from_slice(&frame);
        return message;
    }
    body.insert(0, PLAIN);
    body
}

fn has_nans(order: Order) -> bool {
    matches!(order, Order::Float { .. })
}

fn value(bound: &Option<Bound>) -> Option<&Value> {
    bound.as_ref().map(|bound| &bound.value)
}

fn flags(facts: &Facts) -> u8 {
    let of = |bound: &Option<Bound>, has: u8, exact: u8| match bound {
        None => 0,
        Some(bound) if bound.exact => has | exact,
        Some(_) => has,
    };
    of(&facts.min, HAS_MIN, MIN_EXACT) | of(&facts.max, HAS_MAX, MAX_EXACT)
}

fn push_bounds(out: &mut Vec<u8>, facts: &Facts, order: Order, beside: Option<&Value>, min: bool, max: bool) {
    if let Some(bound) = facts.min.as_ref().filter(|_| min) {
        push_value(out, &bound.value, order, beside);
    }
    if let Some(bound) = facts.max.as_ref().filter(|_| max) {
        push_value(out, &bound.value, order, value(&facts.min));
    }
}

/// How a count of the file falls to zones if it is the same in every row.
#[derive(Debug, Clone, Copy)]
struct Spread {
    zone_rows: u64,
    num_rows: u64,
}

impl Spread {
    /// Rows of a zone.
    fn rows(self, zone: usize) -> u64 {
        let start = (zone as u64).saturating_mul(self.zone_rows);
        self.num_rows.saturating_sub(start).min(self.zone_rows)
    }

    /// The share of a zone in `total`; `None` if it is no whole number in each row.
    fn share(self, zone: usize, total: u64) -> Option<u64> {
        let per_row = total.checked_div(self.num_rows)?;
        (per_row.checked_mul(self.num_rows)? == total).then(|| per_row * self.rows(zone))
    }
}

fn push_counts(out: &mut Vec<u8>, zones: &[Facts], count: fn(&Facts) -> u64, total: u64, spread: Spread) {
    if zones.iter().enumerate().all(|(at, zone)| spread.share(at, total) == Some(count(zone))) {
        out.push(0);
        return;
    }
    out.push(1);
    zones.iter().for_each(|zone| push_number(out, count(zone).into()));
}

/// Reads a message. What it says of counts and zones agrees with itself and with the file's rows.
pub(super) fn parse(subject: &Subject, message: &[u8], limits: &Limits) -> Result<ColumnFacts> {
    let Some((form, body)) = message.split_first() else { corrupt!("statistics of no bytes") };
    let bytes = message.len() as u64;
    match *form {
        PLAIN => parse_body(subject, body, bytes),
        ZSTD => {
            let body = decompress(Scheme::Zstd, body, limits.buffer_bytes, &mut Lent::take())?;
            parse_body(subject, &body, bytes)
        }
        form => corrupt!("statistics of form {form}; 0 and 1 are known"),
    }
}

fn parse_body(subject: &Subject, body: &[u8], bytes: u64) -> Result<ColumnFacts> {
    let (order, num_rows) = (subject.order, subject.num_rows);
    let mut cursor = Cursor::new(body);
    let distinct = cursor.count()?.checked_sub(1);
    let mut file = Facts { values: cursor.count()?, nulls: cursor.count()?, ..Facts::default() };
    if has_nans(order) {
        file.nans = cursor.count()?;
    }
    let file_flags = cursor.byte()?;
    check(&file, file_flags)?;
    file.min = bound(&mut cursor, order, file_flags, (HAS_MIN, MIN_EXACT), None)?;
    file.max = bound(&mut cursor, order, file_flags, (HAS_MAX, MAX_EXACT), value(&file.min))?;
    check_range(&file)?;
    let num_zones = cursor.count()?;
    let mut facts = ColumnFacts { zone_rows: num_rows, zones: Vec::new(), file, distinct, bytes };
    if num_zones > 0 {
        let shift = cursor.count()?;
        let factor = u32::try_from(shift).ok().and_then(|shift| 1u64.checked_shl(shift));
        let zone_rows = factor.and_then(|factor| factor.checked_mul(subject.base_rows));
        let expected = zone_rows.map(|rows| num_rows.div_ceil(rows.max(1)));
        if num_zones > MAX_ZONES || expected != Some(num_zones) {
            corrupt!(
                "statistics of {num_zones} zones of {} × 2^{shift} rows in a file of {num_rows} rows",
                subject.base_rows
            );
        }
        facts.zone_rows = zone_rows.unwrap_or(num_rows);
        facts.zones = zones(&mut cursor, order, &facts, num_zones as usize, num_rows)?;
    }
    if !cursor.rest().is_empty() {
        corrupt!("{} bytes after the end of statistics", cursor.rest().len());
    }
    Ok(facts)
}

fn zones(
    cursor: &mut Cursor<'_>,
    order: Order,
    facts: &ColumnFacts,
    count: usize,
    num_rows: u64,
) -> Result<Vec<Facts>> {
    let spread = Spread { zone_rows: facts.zone_rows, num_rows };
    let file = &facts.file;
    let values = counts(cursor, count, file.values, spread, "values")?;
    let nulls = counts(cursor, count, file.nulls, spread, "nulls")?;
    let nans = match has_nans(order) {
        true => counts(cursor, count, file.nans, spread, "NaNs")?,
        false => vec![0; count],
    };
    let flags = match cursor.byte()? {
        0 => vec![cursor.byte()?; count],
        1 => cursor.take(count)?.to_vec(),
        mode => corrupt!("flags of zones in mode {mode}; 0 and 1 are known"),
    };
    let mut zones = Vec::with_capacity(count);
    let mut last = value(&file.min).cloned();
    for at in 0..count {
        let mut zone = Facts { values: values[at], nulls: nulls[at], nans: nans[at], ..Facts::default() };
        check(&zone, flags[at]).map_err(|e| in_zone(e, at))?;
        zone.min = bound(cursor, order, flags[at], (HAS_MIN, MIN_EXACT), last.as_ref())?;
        if let Some(bound) = &zone.min {
            last = Some(bound.value.clone());
        }
        zones.push(zone);
    }
    for (at, zone) in zones.iter_mut().enumerate() {
        zone.max = bound(cursor, order, flags[at], (HAS_MAX, MAX_EXACT), value(&zone.min))?;
        check_range(zone).map_err(|e| in_zone(e, at))?;
    }
    Ok(zones)
}

fn in_zone(e: Error, zone: usize) -> Error {
    Error::corrupt(format!("zone {zone}: {}", e.message()))
}

fn counts(cursor: &mut Cursor<'_>, count: usize, total: u64, spread: Spread, what: &str) -> Result<Vec<u64>> {
    match cursor.byte()? {
        0 => match (0..count).map(|zone| spread.share(zone, total)).collect() {
            Some(counts) => Ok(counts),
            None => corrupt!("{total} {what} in equal parts in {} rows", spread.num_rows),
        },
        1 => {
            let counts = (0..count).map(|_| cursor.count()).collect::<Result<Vec<u64>>>()?;
            let sum = counts.iter().try_fold(0u64, |sum, count| sum.checked_add(*count));
            if sum != Some(total) {
                corrupt!("{what} of zones that are not {total} together, as the file's are");
            }
            Ok(counts)
        }
        mode => corrupt!("counts of zones in mode {mode}; 0 and 1 are known"),
    }
}

/// That counts go together, and bounds are where values are.
fn check(facts: &Facts, flags: u8) -> Result<()> {
    let none = facts.nulls.checked_add(facts.nans);
    if none.is_none_or(|none| none > facts.values) {
        corrupt!("{} nulls and {} NaNs among {} values", facts.nulls, facts.nans, facts.values);
    }
    let alone = |has: u8, exact: u8| flags & exact != 0 && flags & has == 0;
    if flags > 15 || alone(HAS_MIN, MIN_EXACT) || alone(HAS_MAX, MAX_EXACT) {
        corrupt!("flags {flags:#x} of bounds");
    }
    if facts.ordered() == 0 && flags != 0 {
        corrupt!("bounds of no values");
    }
    Ok(())
}

fn bound(
    cursor: &mut Cursor<'_>,
    order: Order,
    flags: u8,
    (has, exact): (u8, u8),
    beside: Option<&Value>,
) -> Result<Option<Bound>> {
    if flags & has == 0 {
        return Ok(None);
    }
    Ok(Some(Bound { value: cursor.value(order, beside)?, exact: flags & exact != 0 }))
}

fn check_range(facts: &Facts) -> Result<()> {
    if let (Some(min), Some(max)) = (&facts.min, &facts.max)
        && max.value.order(&min.value).is_none_or(std::cmp::Ordering::is_lt)
    {
        corrupt!("a minimum of {:?} above the maximum of {:?}", min.value, max.value);
    }
    Ok(())
}
