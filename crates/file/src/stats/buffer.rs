//! The statistics of a file: a global buffer with a message for each leaf (extras kind 3).
//!
//! ```text
//! ├────────┬───────────────────┬───────────┬───────────┬───┤
//! │ header │ n × entry         │ message 0 │ message 1 │ … │
//! └────────┴───────────────────┴───────────┴───────────┴───┘
//! header   0  u32  layout: 1                 entry   0  u32  stored column
//!          4  u32  rows of a zone                    4  u32  where its message ends, from the end of the entries
//!          8  u64  rows of the file                  8  u32  CRC of ( u32 stored column ‖ message )
//!         16  u32  entries n
//!         20  u32  CRC of the 20 bytes before
//! ```
//!
//! Entries ascend by their columns. A message begins where the one before ends; an entry without bytes says nothing of its column.
//! See docs/format/extras.md, "Kind 3".

use std::ops::Range;

use crate::error::corrupt;
use crate::{Error, Result};

pub(super) const LAYOUT: u32 = 1;
pub(super) const HEADER_BYTES: u64 = 24;
pub(super) const ENTRY_BYTES: u64 = 12;
/// A directory of more entries has one for every column if most have statistics, so that an entry's place is known.
const DENSE_COLUMNS: usize = 1000;

/// What stands at the beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) zone_rows: u64,
    pub(super) num_rows: u64,
    pub(super) num_entries: u32,
}

/// Where a column's message is, and its CRC.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) column: u32,
    /// From the end of the entries.
    pub(super) message: Range<u64>,
    crc: u32,
}

/// Entries of a buffer with messages of `num_messages` of `num_columns` columns.
pub(super) fn num_entries(num_messages: usize, num_columns: usize) -> usize {
    if num_columns > DENSE_COLUMNS && num_messages > num_columns / 2 { num_columns } else { num_messages }
}

/// The buffer; `messages` with their columns ascend, and have less than 2^32 bytes together.
pub(super) fn emit(
    zone_rows: u32,
    num_rows: u64,
    num_columns: usize,
    messages: &[(u32, Vec<u8>)],
) -> Vec<u8> {
    let count = num_entries(messages.len(), num_columns);
    let mut out = Vec::new();
    out.extend_from_slice(&LAYOUT.to_le_bytes());
    out.extend_from_slice(&zone_rows.to_le_bytes());
    out.extend_from_slice(&num_rows.to_le_bytes());
    out.extend_from_slice(&(count as u32).to_le_bytes());
    let crc = crc32c::crc32c(&out);
    out.extend_from_slice(&crc.to_le_bytes());
    let mut end = 0u32;
    let mut push = |column: u32, message: &[u8]| {
        end += message.len() as u32;
        for word in [column, end, message_crc(column, message)] {
            out.extend_from_slice(&word.to_le_bytes());
        }
    };
    if count == messages.len() {
        messages.iter().for_each(|(column, message)| push(*column, message));
    } else {
        let mut next = messages.iter().peekable();
        for column in 0..count as u32 {
            match next.next_if(|(c, _)| *c == column) {
                Some((_, message)) => push(column, message),
                None => push(column, &[]),
            }
        }
    }
    messages.iter().for_each(|(_, message)| out.extend_from_slice(message));
    out
}

fn message_crc(column: u32, message: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&column.to_le_bytes()), message)
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes[at..].first_chunk::<4>().map_or(0, |word| u32::from_le_bytes(*word))
}

/// Whether the buffer of `bytes` has a header at all.
pub(super) fn header_range(buffer: &Range<u64>) -> Result<Range<u64>> {
    let bytes = buffer.end - buffer.start;
    if bytes < HEADER_BYTES {
        corrupt!("statistics of {bytes} bytes; the header has {HEADER_BYTES}");
    }
    Ok(buffer.start..buffer.start + HEADER_BYTES)
}

/// Reads a header of a file of `num_rows`; `None` where the layout is one of the future.
pub(super) fn parse_header(header: &[u8], buffer_bytes: u64, num_rows: u64) -> Result<Option<Header>> {
    let Some(header) = header.first_chunk::<{ HEADER_BYTES as usize }>() else {
        corrupt!("a header of statistics of {} bytes", header.len());
    };
    let (expected, found) = (u32_at(header, 20), crc32c::crc32c(&header[..20]));
    if expected != found {
        corrupt!("checksum of the header of statistics: expected {expected:08x}, found {found:08x}");
    }
    if u32_at(header, 0) != LAYOUT {
        return Ok(None);
    }
    let rows = u64::from(u32_at(header, 12)) << 32 | u64::from(u32_at(header, 8));
    let parsed =
        Header { zone_rows: u32_at(header, 4).into(), num_rows: rows, num_entries: u32_at(header, 16) };
    if parsed.zone_rows == 0 {
        corrupt!("statistics of zones of no rows");
    }
    if rows != num_rows {
        corrupt!("statistics of {rows} rows in a file of {num_rows}");
    }
    let entries = u64::from(parsed.num_entries) * ENTRY_BYTES;
    if HEADER_BYTES + entries > buffer_bytes {
        corrupt!("{} entries of statistics in {buffer_bytes} bytes", parsed.num_entries);
    }
    Ok(Some(parsed))
}

impl Header {
    /// Where the messages begin, from the start of the buffer.
    pub(super) fn messages_start(&self) -> u64 {
        HEADER_BYTES + u64::from(self.num_entries) * ENTRY_BYTES
    }

    /// Entries among which a column's is, if it has one, and the one before: columns before it may have none, those after it
    /// may too.
    pub(super) fn window(&self, column: u32, num_columns: u32) -> Range<u64> {
        let (count, column) = (u64::from(self.num_entries), u64::from(column));
        let missing = u64::from(num_columns).saturating_sub(count);
        let first = column.saturating_sub(missing).saturating_sub(1);
        first.min(count)..(column + 1).min(count)
    }

    /// Bytes of some entries, from the start of the buffer.
    pub(super) fn entries_range(&self, entries: &Range<u64>) -> Range<u64> {
        HEADER_BYTES + entries.start * ENTRY_BYTES..HEADER_BYTES + entries.end * ENTRY_BYTES
    }
}

/// Reads entries, of which the first is number `first`; its message is known to begin at 0 only if that is 0, else it is not
/// among what is returned. `messages_bytes` is the length of all messages.
pub(super) fn parse_entries(bytes: &[u8], first: u64, messages_bytes: u64) -> Result<Vec<Entry>> {
    let mut entries: Vec<Entry> = Vec::with_capacity(bytes.len() / ENTRY_BYTES as usize);
    let mut before: Option<(u32, u64)> = None;
    for (at, entry) in bytes.chunks_exact(ENTRY_BYTES as usize).enumerate() {
        let (column, end, crc) = (u32_at(entry, 0), u64::from(u32_at(entry, 4)), u32_at(entry, 8));
        let (ascends, start) = match before {
            None => (true, 0),
            Some((last, start)) => (last < column, start),
        };
        if !ascends || end < start || end > messages_bytes {
            corrupt!(
                "entry {} of statistics: column {column} from {start} to {end} of {messages_bytes} bytes, after {before:?}",
                first + at as u64
            );
        }
        if before.is_some() || first == 0 {
            entries.push(Entry { column, message: start..end, crc });
        }
        before = Some((column, end));
    }
    Ok(entries)
}

impl Entry {
    /// Checks the message.
    pub(super) fn verify(&self, message: &[u8]) -> Result<()> {
        match message_crc(self.column, message) {
            found if found == self.crc => Ok(()),
            found => Err(Error::corrupt(format!(
                "checksum of the statistics of column {}: expected {:08x}, found {found:08x}",
                self.column, self.crc
            ))),
        }
    }
}
