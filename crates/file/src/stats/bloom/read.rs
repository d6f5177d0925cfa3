//! Reading filters of some columns, as far as some values are asked for.
//!
//! ```text
//! once      header, then entries: they are kept
//! a round   for each value the row of its block: 32 bytes for each zone
//! ```

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use super::bits::{BLOCK_BYTES, block_of, has, hash_of};
use super::buffer::{Entry, HEADER_BYTES, parse_table, table_bytes};
use crate::error::corrupt;
use crate::io::{Decode, Segments, Step};
use crate::stats::Value;
use crate::{Error, Limits, Result};

/// Which columns have filters, and where.
#[derive(Debug, Clone, Default)]
pub(crate) struct BloomTable {
    /// Of the buffer.
    start: u64,
    /// Bytes of the header and the entries.
    bytes: u64,
    pub(crate) entries: Vec<Entry>,
}

impl BloomTable {
    pub(crate) fn entry(&self, column: u32) -> Option<&Entry> {
        let at = self.entries.binary_search_by_key(&column, |entry| entry.column).ok()?;
        self.entries.get(at)
    }
}

/// Reads the entries: at most two rounds. No entries where the layout is one of the future.
#[derive(Debug)]
pub(crate) struct ReadTable {
    pub(crate) buffer: Range<u64>,
    /// Of the file.
    pub(crate) num_rows: u64,
    pub(crate) limits: Limits,
    pub(crate) held: Arc<Segments>,
}

impl Decode for ReadTable {
    type Output = BloomTable;

    fn step(&mut self, segments: &Segments) -> Result<Step<Self::Output>> {
        let find = |range: &Range<u64>| segments.bytes(range).or_else(|| self.held.bytes(range));
        let place = |e: Error| e.at_offset(self.buffer.start);
        let bytes = self.buffer.end - self.buffer.start;
        if bytes < HEADER_BYTES {
            return Err(place(Error::corrupt(format!("bloom filters of {bytes} bytes"))));
        }
        let at = |bytes: u64| self.buffer.start..self.buffer.start + bytes;
        let header = at(HEADER_BYTES);
        let Some(header) = find(&header) else { return Ok(Step::Need(vec![header])) };
        let Some(header) = header.first_chunk() else { return Ok(Step::Done(BloomTable::default())) };
        let Some(table_bytes) = table_bytes(header, bytes).map_err(place)? else {
            return Ok(Step::Done(BloomTable::default()));
        };
        check_bytes(table_bytes, &self.limits)?;
        let Some(table) = find(&at(table_bytes)) else { return Ok(Step::Need(vec![at(table_bytes)])) };
        let entries = parse_table(&table, bytes, self.num_rows).map_err(place)?;
        Ok(Step::Done(BloomTable { start: self.buffer.start, bytes: table_bytes, entries }))
    }
}

fn check_bytes(bytes: u64, limits: &Limits) -> Result<()> {
    if bytes > limits.metadata_bytes {
        return Err(Error::limit(format!(
            "bloom filters of {bytes} bytes; at most {} are read",
            limits.metadata_bytes
        )));
    }
    Ok(())
}

/// What is to be read of the filters of a column.
#[derive(Debug, Clone)]
pub(crate) enum Blocks {
    All,
    /// Those of some hashes.
    Of(Vec<u64>),
}

impl Blocks {
    fn numbers(&self, log2: u32) -> Vec<u32> {
        let mut numbers: Vec<u32> = match self {
            Self::All => (0..1 << log2).collect(),
            Self::Of(hashes) => hashes.iter().map(|hash| block_of(*hash, log2)).collect(),
        };
        numbers.sort_unstable();
        numbers.dedup();
        numbers
    }
}

/// Reads blocks of the filters of columns in one round.
#[derive(Debug)]
pub(crate) struct ReadBlooms<'a> {
    pub(crate) table: &'a BloomTable,
    pub(crate) wanted: Vec<(&'a Entry, Blocks)>,
    pub(crate) limits: Limits,
    pub(crate) held: Arc<Segments>,
}

impl Decode for ReadBlooms<'_> {
    type Output = Vec<ColumnBlooms>;

    fn step(&mut self, segments: &Segments) -> Result<Step<Self::Output>> {
        let find = |range: &Range<u64>| segments.bytes(range).or_else(|| self.held.bytes(range));
        let start = self.table.start + self.table.bytes;
        let wanted: Vec<(&Entry, Vec<u32>)> =
            self.wanted.iter().map(|(entry, blocks)| (*entry, blocks.numbers(entry.log2))).collect();
        let range = |entry: &Entry, block: u32| {
            let row = entry.row(block);
            start + row.start..start + row.end
        };
        let ranges = || wanted.iter().flat_map(|(e, blocks)| blocks.iter().map(move |b| range(e, *b)));
        check_bytes(ranges().fold(0, |sum: u64, r| sum.saturating_add(r.end - r.start)), &self.limits)?;
        let missing: Vec<Range<u64>> = ranges().filter(|range| find(range).is_none()).collect();
        if !missing.is_empty() {
            return Ok(Step::Need(missing));
        }
        let read = wanted.iter().map(|(entry, blocks)| {
            let mut column = ColumnBlooms {
                zone_rows: entry.zone_rows,
                num_zones: entry.num_zones,
                log2: entry.log2,
                blocks: BTreeMap::new(),
                bytes: 0,
            };
            for block in blocks {
                let range = range(entry, *block);
                let Some(row) = find(&range) else { corrupt!("a bloom filter that was not read") };
                entry.verify(*block, &row).map_err(|e| e.at_offset(range.start))?;
                column.bytes += row.len() as u64;
                column.blocks.insert(*block, row);
            }
            Ok(column)
        });
        Ok(Step::Done(read.collect::<Result<_>>()?))
    }
}

/// Blocks of the filters of one column.
#[derive(Debug)]
pub(crate) struct ColumnBlooms {
    /// Rows of a zone; the last one may have fewer.
    pub(crate) zone_rows: u64,
    pub(crate) num_zones: u64,
    log2: u32,
    /// By number: this block of every zone.
    blocks: BTreeMap<u32, Bytes>,
    /// Bytes read.
    pub(crate) bytes: u64,
}

impl ColumnBlooms {
    /// Whether a value that stands for `hash` may be in a zone; true where that is not known.
    pub(crate) fn may_have(&self, zone: u64, hash: u64) -> bool {
        let block = || {
            let row = self.blocks.get(&block_of(hash, self.log2))?;
            if zone >= self.num_zones {
                return None;
            }
            row.get(usize::try_from(zone).ok()? * BLOCK_BYTES..)?.first_chunk()
        };
        block().is_none_or(|block| has(block, hash))
    }

    pub(crate) fn zone(&self, zone: u64) -> ZoneFilter<'_> {
        ZoneFilter { column: self, zone }
    }
}

/// The filter of one zone.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ZoneFilter<'a> {
    column: &'a ColumnBlooms,
    zone: u64,
}

impl ZoneFilter<'_> {
    /// Whether a value may be in the zone; true where that is not known.
    pub(crate) fn may_have(&self, value: &Value) -> bool {
        hash_of(value).is_none_or(|hash| self.column.may_have(self.zone, hash))
    }
}
