//! Reading the statistics of some columns.
//!
//! ```text
//! round 1   all of a buffer of up to 64 KiB; of a larger one the header
//! round 2   the entries among which those of the columns are
//! round 3   their messages
//! ```
//!
//! Nothing is read that opening the file has brought already. Messages have checksums of their own: nothing else is read to check
//! them.

use std::ops::Range;
use std::sync::Arc;

use super::buffer::{Entry, Header, header_range, parse_entries, parse_header};
use super::message::{ColumnFacts, Subject, parse};
use crate::error::corrupt;
use crate::io::{Decode, Segments, Step};
use crate::schema::Order;
use crate::{Error, Limits, Result};

/// A buffer up to this is read whole.
const WHOLE_BYTES: u64 = 64 << 10;

/// A column whose statistics are wanted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wanted {
    /// The stored column.
    pub(crate) column: u32,
    pub(crate) order: Order,
    /// Values of a row, where all rows have as many: outside of lists.
    pub(crate) per_row: Option<u64>,
}

/// Reads the statistics of columns: at most three rounds. `None` for columns of which there are none.
#[derive(Debug)]
pub(crate) struct ReadFacts {
    /// Where the statistics are.
    pub(crate) buffer: Range<u64>,
    /// Of the file.
    pub(crate) num_rows: u64,
    pub(crate) num_columns: u32,
    pub(crate) wanted: Vec<Wanted>,
    pub(crate) limits: Limits,
    pub(crate) held: Arc<Segments>,
}

impl ReadFacts {
    fn parse_header(&self, header: &[u8]) -> Result<Option<Header>> {
        parse_header(header, self.buffer.end - self.buffer.start, self.num_rows)
    }

    fn at(&self, range: Range<u64>) -> Range<u64> {
        self.buffer.start + range.start..self.buffer.start + range.end
    }

    /// The entry of every column that has one.
    fn entries(
        &self,
        header: &Header,
        find: &impl Fn(&Range<u64>) -> Option<bytes::Bytes>,
    ) -> Result<Step<Vec<Option<Entry>>>> {
        let messages_bytes = self.buffer.end - self.buffer.start - header.messages_start();
        let mut windows: Vec<Range<u64>> =
            self.wanted.iter().map(|w| header.window(w.column, self.num_columns)).collect();
        windows.sort_unstable_by_key(|window| window.start);
        windows.dedup_by(|next, last| {
            let joins = next.start <= last.end;
            if joins {
                last.end = last.end.max(next.end);
            }
            joins
        });
        windows.retain(|window| !window.is_empty());
        let ranges: Vec<Range<u64>> = windows.iter().map(|w| self.at(header.entries_range(w))).collect();
        let missing: Vec<_> = ranges.iter().filter(|range| find(range).is_none()).cloned().collect();
        if !missing.is_empty() {
            return Ok(Step::Need(missing));
        }
        let mut entries: Vec<Entry> = Vec::new();
        for (window, range) in windows.iter().zip(&ranges) {
            entries.extend(parse_entries(&find(range).unwrap_or_default(), window.start, messages_bytes)?);
        }
        if entries.windows(2).any(|pair| pair[0].column >= pair[1].column) {
            corrupt!("the entries of statistics do not ascend");
        }
        let of = |wanted: &Wanted| {
            let at = entries.binary_search_by_key(&wanted.column, |entry| entry.column).ok()?;
            Some(entries[at].clone()).filter(|entry| !entry.message.is_empty())
        };
        Ok(Step::Done(self.wanted.iter().map(of).collect()))
    }
}

impl Decode for ReadFacts {
    type Output = Vec<Option<ColumnFacts>>;

    fn step(&mut self, segments: &Segments) -> Result<Step<Self::Output>> {
        let find = |range: &Range<u64>| segments.bytes(range).or_else(|| self.held.bytes(range));
        let place = |e: Error| e.at_offset(self.buffer.start);
        let header = header_range(&self.buffer).map_err(place)?;
        let whole = if self.buffer.end - self.buffer.start <= WHOLE_BYTES { &self.buffer } else { &header };
        let Some(bytes) = find(whole) else { return Ok(Step::Need(vec![whole.clone()])) };
        let Some(header) = self.parse_header(&bytes).map_err(place)? else {
            return Ok(Step::Done(vec![None; self.wanted.len()]));
        };
        // What was asked for in one piece is found in parts of it.
        let find = |range: &Range<u64>| {
            if range.start >= whole.start && range.end <= whole.end {
                let start = (range.start - whole.start) as usize;
                return Some(bytes.slice(start..start + (range.end - range.start) as usize));
            }
            find(range)
        };
        let entries = match self.entries(&header, &find).map_err(place)? {
            Step::Done(entries) => entries,
            Step::Need(need) => return Ok(Step::Need(need)),
        };
        let start = header.messages_start();
        let range = |entry: &Entry| self.at(start + entry.message.start..start + entry.message.end);
        let total = entries.iter().flatten().map(|entry| entry.message.end - entry.message.start);
        let total: u64 = total.fold(0, u64::saturating_add);
        if total > self.limits.metadata_bytes {
            return Err(Error::limit(format!(
                "statistics of {total} bytes; at most {} are read",
                self.limits.metadata_bytes
            )));
        }
        let need: Vec<_> =
            entries.iter().flatten().map(range).filter(|range| find(range).is_none()).collect();
        if !need.is_empty() {
            return Ok(Step::Need(need));
        }
        let mut facts = Vec::with_capacity(entries.len());
        for (entry, wanted) in entries.iter().zip(&self.wanted) {
            let Some(entry) = entry else {
                facts.push(None);
                continue;
            };
            let message = find(&range(entry)).unwrap_or_default();
            let place = |e: Error| {
                Error::corrupt(format!("statistics of column {}: {}", wanted.column, e.message()))
                    .at_offset(range(entry).start)
            };
            entry.verify(&message).map_err(|e| e.at_offset(range(entry).start))?;
            let subject =
                Subject { order: wanted.order, num_rows: self.num_rows, base_rows: header.zone_rows };
            let parsed = parse(&subject, &message, &self.limits).map_err(place)?;
            check_values(&parsed, wanted.per_row, self.num_rows).map_err(place)?;
            facts.push(Some(parsed));
        }
        Ok(Step::Done(facts))
    }
}

/// That there are as many values as the rows make where that is known, in the file and in each zone.
fn check_values(facts: &ColumnFacts, per_row: Option<u64>, num_rows: u64) -> Result<()> {
    let Some(per_row) = per_row else { return Ok(()) };
    let expected = |rows: u64| u128::from(rows) * u128::from(per_row);
    if u128::from(facts.file.values) != expected(num_rows) {
        corrupt!("{} values in {num_rows} rows of {per_row}", facts.file.values);
    }
    for (at, zone) in facts.zones.iter().enumerate() {
        let rows = facts.zone_rows.min(num_rows - at as u64 * facts.zone_rows);
        if u128::from(zone.values) != expected(rows) {
            corrupt!("{} values in zone {at}, which has {rows} rows of {per_row}", zone.values);
        }
    }
    Ok(())
}
