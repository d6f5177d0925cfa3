//! The field directory of wide files: finds one field without the descriptor (extras kind 2).
//!
//! ```text
//! buckets, a global buffer before the descriptor       index, a global buffer after the GBO table
//! ┌──────────┬──────────┬───┐                          ┌──────────────────────────────┬─────────┐
//! │ bucket 0 │ bucket 1 │ … │                          │ per bucket: u64 first hash   │ trailer │
//! └──────────┴──────────┴───┘                          │   u32 end, u32 CRC           │ 60      │
//!  entries sorted by hash, then by place               └──────────────────────────────┴─────────┘
//!
//! entry    0  u64  hash of the name                    trailer  0  u64  rows
//!          8  u64  its Field messages: where in the             8  u64  schema metadata: where in the
//!                  descriptor                                           descriptor
//!         16  u32  their bytes                                 16  u32  its bytes
//!         20  u32  their CRC                                   20  u32  its CRC
//!         24  u32  first stored column                         24  u32  top-level fields
//!         28  u32  number of stored columns n                  28  u32  stored columns
//!         32  n ×  u64  its metadata: where in the file        32  u32  buckets
//!                  u32  bytes                                  36  u32  the buckets' global buffer
//!                  u32  CRC                                    40  u32  CRC of the table of buckets
//!                  u64  first page unit (checksums)            44  u32  layout of the checksums, 0 for none
//!                                                              48  u32  0
//!                                                              52  u32  layout: 1
//!                                                              56  u32  CRC of the 56 bytes before
//! ```
//!
//! The index and the GBO table are in the tail read, so that a column takes one bucket, one range of the descriptor
//! and its own metadata more. See docs/format/extras.md, "Kind 2".

use std::ops::Range;

use bytes::Bytes;

use super::checksums::mismatch;
use super::{range_within, u32_at, u64_at};
use crate::error::corrupt;
use crate::{Error, Result};

pub(super) const LAYOUT: u32 = 1;
/// Layout of the checksums that page units of layout 1 count in.
pub(super) const CHECKSUMS_LAYOUT: u32 = 1;
const HEAD_BYTES: usize = 32;
const COLUMN_BYTES: usize = 24;
const BUCKET_ENTRY_BYTES: usize = 16;
pub(super) const TRAILER_BYTES: usize = 60;
/// A bucket is closed by the entry that would pass this; one entry may be larger.
const BUCKET_BYTES: usize = 4096;
/// Buckets one name may be in before the descriptor is the better place to look.
const MAX_BUCKETS_OF_A_NAME: usize = 4;

/// FNV-1a of 64 bits over a name's UTF-8.
pub(super) fn name_hash(name: &str) -> u64 {
    name.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

/// Where one stored column's metadata is, and what is known of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KnownColumn {
    /// Absolute.
    pub(crate) message: Range<u64>,
    pub(crate) crc: u32,
    /// Its first page unit among the checksums.
    pub(crate) first_unit: u64,
}

/// One top-level field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) hash: u64,
    /// Its messages, from the descriptor's start.
    pub(crate) messages: Range<u64>,
    pub(crate) messages_crc: u32,
    pub(crate) first_column: u32,
    pub(crate) columns: Vec<KnownColumn>,
}

impl Entry {
    /// The stored columns.
    pub(crate) fn column_range(&self) -> Range<u32> {
        self.first_column..self.first_column + self.columns.len() as u32
    }

    fn emit(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.hash.to_le_bytes());
        push_part(out, &self.messages, self.messages_crc);
        out.extend_from_slice(&self.first_column.to_le_bytes());
        out.extend_from_slice(&(self.columns.len() as u32).to_le_bytes());
        for column in &self.columns {
            push_part(out, &column.message, column.crc);
            out.extend_from_slice(&column.first_unit.to_le_bytes());
        }
    }
}

/// `u64` start, `u32` length, `u32` CRC.
fn push_part(out: &mut Vec<u8>, range: &Range<u64>, crc: u32) {
    out.extend_from_slice(&range.start.to_le_bytes());
    out.extend_from_slice(&((range.end - range.start) as u32).to_le_bytes());
    out.extend_from_slice(&crc.to_le_bytes());
}

/// The same read: a range that ends at or before `end`.
fn part_at(bytes: &[u8], end: u64, what: &str) -> Result<(Range<u64>, u32)> {
    let len = u64::from(u32_at(bytes, 2));
    Ok((range_within(u64_at(bytes, 0), len, end, || what.to_owned())?, u32_at(bytes, 3)))
}

/// How entries fall into buckets: known before what is in them.
#[derive(Debug)]
pub(super) struct Plan {
    /// First entry of each bucket.
    starts: Vec<usize>,
    /// Bytes of all buckets.
    pub(super) bytes: u64,
}

impl Plan {
    /// `columns` of the entries, in their final order.
    pub(super) fn new(columns: impl Iterator<Item = u32>) -> Self {
        let (mut starts, mut bytes, mut in_bucket) = (Vec::new(), 0, 0);
        for (at, columns) in columns.enumerate() {
            let entry = HEAD_BYTES + columns as usize * COLUMN_BYTES;
            if starts.is_empty() || in_bucket + entry > BUCKET_BYTES {
                starts.push(at);
                in_bucket = 0;
            }
            in_bucket += entry;
            bytes += entry as u64;
        }
        Self { starts, bytes }
    }

    pub(super) fn index_bytes(&self) -> u64 {
        (self.starts.len() * BUCKET_ENTRY_BYTES + TRAILER_BYTES) as u64
    }
}

/// What the index says besides the buckets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Summary {
    pub(crate) num_rows: u64,
    /// The schema's metadata, from the descriptor's start.
    pub(crate) metadata: Range<u64>,
    pub(crate) metadata_crc: u32,
    pub(crate) num_fields: u32,
    pub(crate) num_columns: u32,
    pub(crate) buckets_buffer: u32,
    pub(crate) has_units: bool,
}

/// The bytes of the buckets and of the index. Lengths have been checked to fit.
pub(super) fn emit(plan: &Plan, entries: &[Entry], summary: &Summary) -> (Vec<u8>, Vec<u8>) {
    let mut buckets = Vec::with_capacity(plan.bytes as usize);
    let mut index = Vec::with_capacity(plan.index_bytes() as usize);
    for (at, &first) in plan.starts.iter().enumerate() {
        let start = buckets.len();
        let last = plan.starts.get(at + 1).copied().unwrap_or(entries.len());
        entries[first..last].iter().for_each(|entry| entry.emit(&mut buckets));
        index.extend_from_slice(&entries[first].hash.to_le_bytes());
        index.extend_from_slice(&(buckets.len() as u32).to_le_bytes());
        index.extend_from_slice(&crc32c::crc32c(&buckets[start..]).to_le_bytes());
    }
    let table_crc = crc32c::crc32c(&index);
    let trailer = index.len();
    index.extend_from_slice(&summary.num_rows.to_le_bytes());
    push_part(&mut index, &summary.metadata, summary.metadata_crc);
    let units = if summary.has_units { CHECKSUMS_LAYOUT } else { 0 };
    let counts = [summary.num_fields, summary.num_columns, plan.starts.len() as u32, summary.buckets_buffer];
    for word in counts.into_iter().chain([table_crc, units, 0, LAYOUT]) {
        index.extend_from_slice(&word.to_le_bytes());
    }
    let crc = crc32c::crc32c(&index[trailer..]);
    index.extend_from_slice(&crc.to_le_bytes());
    (buckets, index)
}

/// A file's directory as far as opening reads it: the index.
#[derive(Debug)]
pub(crate) struct Directory {
    pub(crate) summary: Summary,
    /// Where the buckets are, absolute.
    buckets: Range<u64>,
    table: Bytes,
}

impl Directory {
    /// The trailer of an index.
    pub(super) fn trailer_range(index: &Range<u64>) -> Result<Range<u64>> {
        match index.end.checked_sub(TRAILER_BYTES as u64) {
            Some(start) if start >= index.start => Ok(start..index.end),
            _ => Err(Error::corrupt(format!("a field directory of {} bytes", index.end - index.start))),
        }
    }

    /// The table of buckets, as the trailer tells; `None` where the layout is one of the future.
    pub(super) fn table_range(index: &Range<u64>, trailer: &[u8]) -> Result<Option<Range<u64>>> {
        let (expected, found) = (u32_at(trailer, 14), crc32c::crc32c(&trailer[..TRAILER_BYTES - 4]));
        if expected != found {
            return Err(mismatch("the field directory", expected, found));
        }
        if u32_at(trailer, 13) != LAYOUT {
            return Ok(None);
        }
        let bytes = u64::from(u32_at(trailer, 8)) * BUCKET_ENTRY_BYTES as u64;
        if index.end - index.start != bytes + TRAILER_BYTES as u64 {
            corrupt!(
                "a field directory of {} buckets in {} bytes",
                u32_at(trailer, 8),
                index.end - index.start
            );
        }
        Ok(Some(index.start..index.start + bytes))
    }

    /// Puts both together; `num_columns` is the footer's.
    pub(super) fn parse(
        trailer: &[u8],
        table: Bytes,
        global_buffers: &[Range<u64>],
        num_columns: u32,
        has_checksums: bool,
    ) -> Result<Self> {
        let word = |at: usize| u32_at(trailer, at / 4);
        let (expected, found) = (word(40), crc32c::crc32c(&table));
        if expected != found {
            return Err(mismatch("the field directory's table", expected, found));
        }
        let buffer = word(36);
        let (Some(buckets), Some(descriptor)) = (global_buffers.get(buffer as usize), global_buffers.first())
        else {
            corrupt!("a field directory in global buffer {buffer}; there are {}", global_buffers.len());
        };
        let descriptor_bytes = descriptor.end - descriptor.start;
        let (metadata, metadata_crc) = part_at(&trailer[8..], descriptor_bytes, "the schema's metadata")?;
        let summary = Summary {
            num_rows: u64_at(trailer, 0),
            metadata,
            metadata_crc,
            num_fields: word(24),
            num_columns: word(28),
            buckets_buffer: buffer,
            has_units: word(44) != 0,
        };
        if summary.num_columns != num_columns || word(44) > CHECKSUMS_LAYOUT {
            corrupt!(
                "a field directory of {} columns and checksums of layout {}; the file has {num_columns} columns",
                summary.num_columns,
                word(44)
            );
        }
        if summary.has_units != has_checksums {
            corrupt!("a field directory says whether the file has checksums: {}", summary.has_units);
        }
        let directory = Self { summary, buckets: buckets.clone(), table };
        directory.check_table()?;
        Ok(directory)
    }

    /// That hashes and ends ascend and the last end is that of the buckets.
    fn check_table(&self) -> Result<()> {
        let (mut hash, mut end) = (0, 0);
        for at in 0..self.num_buckets() {
            let (first, stop) = (self.first_hash(at), self.bucket_end(at));
            if first < hash || stop <= end {
                corrupt!("bucket {at} of the field directory, hash {first:016x}, ends at {stop} after {end}");
            }
            (hash, end) = (first, stop);
        }
        if end != self.buckets.end - self.buckets.start {
            corrupt!(
                "the buckets of the field directory end at {end} of {} bytes",
                self.buckets.end - self.buckets.start
            );
        }
        Ok(())
    }

    pub(super) fn num_buckets(&self) -> usize {
        self.table.len() / BUCKET_ENTRY_BYTES
    }

    fn first_hash(&self, bucket: usize) -> u64 {
        u64_at(&self.table, 2 * bucket)
    }

    fn bucket_end(&self, bucket: usize) -> u64 {
        u64::from(u32_at(&self.table, 4 * bucket + 2))
    }

    /// Where a bucket is, absolute.
    pub(super) fn bucket_range(&self, bucket: usize) -> Range<u64> {
        let start = bucket.checked_sub(1).map_or(0, |before| self.bucket_end(before));
        self.buckets.start + start..self.buckets.start + self.bucket_end(bucket)
    }

    /// The buckets that may have entries of a hash; `None` if those are too many.
    pub(super) fn buckets_of(&self, hash: u64) -> Option<Range<usize>> {
        let partition = |before: &dyn Fn(u64) -> bool| {
            let (mut low, mut high) = (0, self.num_buckets());
            while low < high {
                let middle = low + (high - low) / 2;
                if before(self.first_hash(middle)) { low = middle + 1 } else { high = middle }
            }
            low
        };
        // The one before the first that begins with the hash may end with it.
        let start = partition(&|first| first < hash).saturating_sub(1);
        let end = partition(&|first| first <= hash).max(start);
        (end - start <= MAX_BUCKETS_OF_A_NAME).then_some(start..end)
    }

    /// The entries of a bucket: checked against the table, the descriptor's length and where the file's data ends.
    pub(super) fn parse_bucket(&self, bucket: usize, bytes: &[u8], ends: &Ends) -> Result<Vec<Entry>> {
        let (expected, found) = (u32_at(&self.table, 4 * bucket + 3), crc32c::crc32c(bytes));
        if expected != found {
            return Err(mismatch(&format!("bucket {bucket} of the field directory"), expected, found));
        }
        let mut entries: Vec<Entry> = Vec::new();
        let mut rest = bytes;
        while !rest.is_empty() {
            let (entry, after) = self.parse_entry(rest, ends)?;
            let first = self.first_hash(bucket);
            let ordered = match entries.last() {
                None => entry.hash == first,
                Some(last) => (last.hash, last.messages.start) < (entry.hash, entry.messages.start),
            };
            if !ordered {
                corrupt!("entry {} of bucket {bucket} of the field directory is out of order", entries.len());
            }
            entries.push(entry);
            rest = after;
        }
        Ok(entries)
    }

    fn parse_entry<'b>(&self, bytes: &'b [u8], ends: &Ends) -> Result<(Entry, &'b [u8])> {
        let Some((head, rest)) = bytes.split_first_chunk::<HEAD_BYTES>() else {
            corrupt!("an entry of the field directory in {} bytes", bytes.len());
        };
        let (messages, messages_crc) = part_at(&head[8..], ends.descriptor_bytes, "the messages of a field")?;
        let (first_column, count) = (u32_at(head, 6), u32_at(head, 7));
        if first_column.checked_add(count).is_none_or(|end| end > self.summary.num_columns) {
            corrupt!(
                "a field of {count} columns from {first_column} on; the file has {}",
                self.summary.num_columns
            );
        }
        let bytes = count as usize * COLUMN_BYTES;
        if rest.len() < bytes {
            corrupt!("a directory entry of {count} columns in {} bytes", HEAD_BYTES + rest.len());
        }
        let (columns, rest) = rest.split_at(bytes);
        let columns = columns.as_chunks::<COLUMN_BYTES>().0.iter().enumerate().map(|(at, column)| {
            let what = || format!("metadata of column {}", first_column + at as u32);
            let (message, crc) = part_at(column, ends.data_end, "column metadata")
                .map_err(|e| Error::corrupt(format!("{}: {}", what(), e.message())))?;
            Ok(KnownColumn { message, crc, first_unit: u64_at(column, 2) })
        });
        let columns = columns.collect::<Result<_>>()?;
        Ok((Entry { hash: u64_at(head, 0), messages, messages_crc, first_column, columns }, rest))
    }
}

/// What entries must not pass.
#[derive(Debug, Clone)]
pub(super) struct Ends {
    pub(super) descriptor_bytes: u64,
    pub(super) data_end: u64,
}
