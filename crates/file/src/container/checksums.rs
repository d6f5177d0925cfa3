//! Checksums: CRC32C of everything a reader may touch, in one global buffer (extras kind 1).
//!
//! ```text
//! at 0        u32 × U    page units, in the order column, page, buffer
//! then        u32 × V    units of the global buffers 1 …, by index, without this one
//! then   12 bytes × N    per column: u64 index of its first page unit, u32 CRC of its metadata message
//! then        u32 × C    units of the CMO table
//! trailer             0  u32  CRC of the descriptor
//!                     4  u64  U
//!                    12  u64  V
//!                    20  u32  N, columns
//!                    24  u32  G, global buffers
//!                    28  u32  bytes of a unit: 4096
//!                    32  u32  layout: 1
//!                    36  u32  CRC of the 36 bytes before
//!                    40  u32  CRC of the buffer up to here
//! ```
//!
//! A unit is a block of 4,096 bytes counted from the start of its buffer, the last one shorter. The
//! units of a page are neighbours, so that one read brings them; what opening a file needs stands at
//! the end, next to the descriptor, so that the tail read brings it. See docs/format/extras.md.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use bytes::Bytes;

use super::{u32_at, u64_at};
use crate::error::corrupt;
use crate::{Error, Result};

/// Bytes under one checksum.
pub(crate) const UNIT_BYTES: u64 = 4096;
const LAYOUT: u32 = 1;
const CRC_BYTES: u64 = 4;
const COLUMN_BYTES: u64 = 12;
const TRAILER_BYTES: usize = 44;

/// Units of a buffer.
pub(crate) fn num_units(bytes: u64) -> u64 {
    bytes.div_ceil(UNIT_BYTES)
}

/// Appends the CRC of every unit of a buffer.
pub(super) fn unit_crcs(bytes: &[u8], out: &mut Vec<u32>) {
    out.extend(bytes.chunks(UNIT_BYTES as usize).map(crc32c::crc32c));
}
pub(super) fn mismatch(what: &str, expected: u32, found: u32) -> Error {
    Error::corrupt(format!("checksum of {what}: expected {expected:08x}, found {found:08x}"))
}

/// What the checksums buffer of a file says, as far as opening reads it.
#[derive(Debug)]
pub(crate) struct FileChecks {
    /// Where the checksums are.
    buffer: Range<u64>,
    /// Which global buffer that is.
    index: usize,
    num_page_units: u64,
    num_columns: u32,
    /// First unit of each global buffer among the units of global buffers.
    global_units: Vec<u64>,
    descriptor_crc: u32,
    cmo_crcs: Bytes,
}

impl FileChecks {
    /// The part of a checksums buffer that opening needs.
    pub(crate) fn tail_range(buffer: &Range<u64>, num_columns: u32) -> Result<Range<u64>> {
        let bytes = TRAILER_BYTES as u64 + num_units(u64::from(num_columns) * 16) * CRC_BYTES;
        match buffer.end.checked_sub(bytes) {
            Some(start) if start >= buffer.start => Ok(start..buffer.end),
            _ => Err(Error::corrupt(format!(
                "checksums of {num_columns} columns in {} bytes",
                buffer.end - buffer.start
            ))),
        }
    }

    /// Parses the bytes of [`tail_range`](Self::tail_range). `None` where the layout is one of the future.
    pub(crate) fn parse(
        tail: Bytes,
        index: usize,
        global_buffers: &[Range<u64>],
        num_columns: u32,
    ) -> Result<Option<Self>> {
        let buffer = global_buffers[index].clone();
        let Some((_, trailer)) = tail.split_last_chunk::<TRAILER_BYTES>() else {
            corrupt!("a checksums trailer of {} bytes", tail.len())
        };
        let word = |at: usize| u32_at(trailer, at / 4);
        let wide_at = |at: usize| u64_at(&trailer[at..], 0);
        let (expected, found) = (word(36), crc32c::crc32c(&trailer[..36]));
        if expected != found {
            return Err(mismatch("the checksums trailer", expected, found).at_offset(buffer.end));
        }
        if word(32) != LAYOUT || u64::from(word(28)) != UNIT_BYTES {
            return Ok(None);
        }
        if word(20) != num_columns || word(24) as usize != global_buffers.len() {
            corrupt!(
                "checksums of {} columns and {} global buffers; the file has {num_columns} and {}",
                word(20),
                word(24),
                global_buffers.len()
            );
        }
        let mut global_units = Vec::with_capacity(global_buffers.len());
        let mut units = 0u64;
        for (at, range) in global_buffers.iter().enumerate() {
            global_units.push(units);
            if at != 0 && at != index {
                units = units.saturating_add(num_units(range.end - range.start));
            }
        }
        let (page_units, stored_units) = (wide_at(4), wide_at(12));
        let cmo_units = num_units(u64::from(num_columns) * 16);
        let wanted = page_units
            .checked_add(stored_units)
            .and_then(|units| units.checked_add(cmo_units))
            .and_then(|units| units.checked_mul(CRC_BYTES))
            .and_then(|b| b.checked_add(u64::from(num_columns) * COLUMN_BYTES + TRAILER_BYTES as u64));
        if stored_units != units || wanted != Some(buffer.end - buffer.start) {
            corrupt!(
                "checksums of {page_units} page units and {stored_units} of {units} global units in {} bytes",
                buffer.end - buffer.start
            );
        }
        let cmo_crcs = tail.slice(..tail.len() - TRAILER_BYTES);
        Ok(Some(Self {
            index,
            num_page_units: page_units,
            num_columns,
            global_units,
            descriptor_crc: word(0),
            cmo_crcs,
            buffer,
        }))
    }

    /// Checks the descriptor, which is one message.
    pub(crate) fn verify_descriptor(&self, bytes: &[u8]) -> Result<()> {
        match crc32c::crc32c(bytes) {
            found if found == self.descriptor_crc => Ok(()),
            found => Err(mismatch("the file descriptor", self.descriptor_crc, found)),
        }
    }

    /// Checks the whole CMO table.
    pub(crate) fn verify_cmo(&self, table: &[u8]) -> Result<()> {
        verify_units(table, &self.cmo_crcs, "the column metadata offsets")
    }

    /// Where the entry of a column is: 12 bytes.
    pub(crate) fn column_range(&self, column: u32) -> Range<u64> {
        let columns = self.buffer.end
            - TRAILER_BYTES as u64
            - self.cmo_crcs.len() as u64
            - u64::from(self.num_columns) * COLUMN_BYTES;
        let start = columns + u64::from(column) * COLUMN_BYTES;
        start..start + COLUMN_BYTES
    }

    /// Checks a column's metadata message against its entry; gives its first page unit.
    pub(crate) fn verify_column(&self, column: u32, entry: &[u8], message: &[u8]) -> Result<u64> {
        let (expected, found) = (u32_at(entry, 2), crc32c::crc32c(message));
        if expected != found {
            return Err(mismatch(&format!("the metadata of column {column}"), expected, found));
        }
        Ok(u64_at(entry, 0))
    }

    /// Where the CRCs of page units are.
    pub(crate) fn page_crcs(&self) -> Range<u64> {
        self.buffer.start..self.buffer.start + self.num_page_units * CRC_BYTES
    }

    /// Where the CRCs of a global buffer are; empty for the descriptor and the checksums themselves.
    pub(crate) fn global_range(&self, index: usize, bytes: u64) -> Range<u64> {
        if index == 0 || index == self.index {
            return 0..0;
        }
        let first = self.num_page_units + self.global_units[index];
        let start = self.buffer.start + first * CRC_BYTES;
        start..start + num_units(bytes) * CRC_BYTES
    }

    /// Checks a whole global buffer; `crcs` are the bytes of [`global_range`](Self::global_range).
    pub(crate) fn verify_global(&self, index: usize, bytes: &[u8], crcs: &[u8]) -> Result<()> {
        if index == 0 {
            return self.verify_descriptor(bytes);
        }
        if index == self.index {
            let Some((body, crc)) = bytes.split_last_chunk::<4>() else {
                corrupt!("checksums of {} bytes", bytes.len())
            };
            let (expected, found) = (u32::from_le_bytes(*crc), crc32c::crc32c(body));
            if expected != found {
                return Err(mismatch("the checksums", expected, found));
            }
            return Ok(());
        }
        verify_units(bytes, crcs, &format!("global buffer {index}"))
    }
}

/// Where the CRCs of `count` page units from `first` on are, inside `crcs`.
pub(super) fn page_range(crcs: &Range<u64>, first: u64, count: u64) -> Result<Range<u64>> {
    let end = first.checked_add(count).and_then(|end| end.checked_mul(CRC_BYTES)?.checked_add(crcs.start));
    match end {
        Some(end) if end <= crcs.end => Ok(crcs.start + first * CRC_BYTES..end),
        _ => Err(Error::corrupt(format!(
            "checksums of page units {first} to {first} + {count}; there are {} at most",
            (crcs.end - crcs.start) / CRC_BYTES
        ))),
    }
}

fn verify_units(bytes: &[u8], crcs: &[u8], what: &str) -> Result<()> {
    if crcs.len() as u64 != num_units(bytes.len() as u64) * CRC_BYTES {
        corrupt!("{} bytes of checksums for {} bytes of {what}", crcs.len(), bytes.len());
    }
    for (at, unit) in bytes.chunks(UNIT_BYTES as usize).enumerate() {
        let (expected, found) = (u32_at(crcs, at), crc32c::crc32c(unit));
        if expected != found {
            let start = at * UNIT_BYTES as usize;
            return Err(mismatch(
                &format!("bytes {start}..{} of {what}", start + unit.len()),
                expected,
                found,
            ));
        }
    }
    Ok(())
}

/// Checksums of one page's buffers, with a bit for each unit that was found right already.
#[derive(Debug)]
pub(crate) struct PageChecks {
    crcs: Bytes,
    /// Bytes of each buffer.
    sizes: Vec<u64>,
    /// First unit of each buffer within the page.
    starts: Vec<usize>,
    seen: Box<[AtomicU64]>,
    /// Units not yet found right; at 0 nothing is looked at any more.
    left: AtomicUsize,
}

impl PageChecks {
    /// Checks for buffers of these sizes; `crcs` has a little-endian CRC for each unit of each.
    pub(crate) fn new(crcs: Bytes, sizes: Vec<u64>) -> Result<Self> {
        let mut starts = Vec::with_capacity(sizes.len());
        let mut units = 0u64;
        for bytes in &sizes {
            starts.push(units as usize);
            units = units.saturating_add(num_units(*bytes));
        }
        if units.checked_mul(CRC_BYTES) != Some(crcs.len() as u64) {
            corrupt!("{} bytes of checksums for {units} units of a page", crcs.len());
        }
        let units = crcs.len() / CRC_BYTES as usize;
        let seen = (0..units.div_ceil(64)).map(|_| AtomicU64::new(0)).collect();
        Ok(Self { crcs, sizes, starts, seen, left: AtomicUsize::new(units) })
    }

    /// The bytes of `buffer` to read so that `range` of it can be checked: `range` itself where it was
    /// checked before, else widened to borders of units. Both count from the buffer's start.
    pub(crate) fn widen(&self, buffer: usize, range: Range<u64>) -> Range<u64> {
        if range.is_empty() || self.is_verified(buffer, &range) {
            return range;
        }
        let size = self.sizes.get(buffer).copied().unwrap_or(0);
        let start = range.start / UNIT_BYTES * UNIT_BYTES;
        let end = num_units(range.end).saturating_mul(UNIT_BYTES).min(size).max(range.end);
        start..end
    }

    /// Whether every unit that `range` touches was found right before.
    pub(crate) fn is_verified(&self, buffer: usize, range: &Range<u64>) -> bool {
        if self.left.load(Ordering::Acquire) == 0 {
            return true;
        }
        let Some((first, last)) = self.units(buffer, range) else { return range.is_empty() };
        (first..last).all(|unit| self.has_seen(unit))
    }

    /// Bytes of the checksums, and of the bits.
    pub(crate) fn held_bytes(&self) -> u64 {
        (self.crcs.len() + self.seen.len() * 8) as u64
    }

    /// Checks the units under `bytes`, which stand at `start` of `buffer`, that were not found right
    /// before. Units that are only partly there must have been.
    pub(crate) fn verify(&self, buffer: usize, start: u64, bytes: &[u8]) -> Result<()> {
        if bytes.is_empty() || self.left.load(Ordering::Acquire) == 0 {
            return Ok(());
        }
        let range = start..start.saturating_add(bytes.len() as u64);
        let size = self.sizes.get(buffer).copied().unwrap_or(0);
        let Some((first, last)) = self.units(buffer, &range) else {
            corrupt!("bytes {}..{} of buffer {buffer} of {size} bytes", range.start, range.end)
        };
        let first_in_buffer = first - self.starts[buffer];
        for unit in first..last {
            if self.has_seen(unit) {
                continue;
            }
            let unit_start = (first_in_buffer + unit - first) as u64 * UNIT_BYTES;
            let unit_end = (unit_start + UNIT_BYTES).min(size);
            if unit_start < range.start || unit_end > range.end {
                return Err(Error::invalid(format!(
                    "internal: bytes {}..{} of buffer {buffer} are not whole units",
                    range.start, range.end
                )));
            }
            let found = crc32c::crc32c(&bytes[(unit_start - start) as usize..(unit_end - start) as usize]);
            let expected = u32_at(&self.crcs, unit);
            if found != expected {
                return Err(
                    mismatch(&format!("bytes {unit_start}..{unit_end}"), expected, found).in_buffer(buffer)
                );
            }
            let bit = 1 << (unit % 64);
            if self.seen[unit / 64].fetch_or(bit, Ordering::AcqRel) & bit == 0 {
                self.left.fetch_sub(1, Ordering::AcqRel);
            }
        }
        Ok(())
    }

    #[inline]
    fn has_seen(&self, unit: usize) -> bool {
        self.seen[unit / 64].load(Ordering::Acquire) >> (unit % 64) & 1 == 1
    }

    /// Units of the page under a range of a buffer; `None` if it passes the buffer's end.
    fn units(&self, buffer: usize, range: &Range<u64>) -> Option<(usize, usize)> {
        let size = *self.sizes.get(buffer)?;
        if range.start > range.end || range.end > size {
            return None;
        }
        let start = self.starts[buffer];
        Some((start + (range.start / UNIT_BYTES) as usize, start + num_units(range.end) as usize))
    }
}

/// Everything that goes into a checksums buffer.
pub(super) struct Checksums<'a> {
    /// Page units of each column.
    pub(super) columns: Vec<(&'a [u32], &'a [u8])>,
    /// Units of the global buffers before this one.
    pub(super) globals: &'a [u32],
    pub(super) cmo_table: &'a [u8],
    pub(super) descriptor: &'a [u8],
    /// Including this one.
    pub(super) num_global_buffers: u32,
}

impl Checksums<'_> {
    /// Bytes of the buffer.
    pub(super) fn buffer_bytes(num_page_units: u64, num_global_units: u64, num_columns: u64) -> u64 {
        (num_page_units + num_global_units + num_units(num_columns * 16)) * CRC_BYTES
            + num_columns * COLUMN_BYTES
            + TRAILER_BYTES as u64
    }

    pub(super) fn emit(&self) -> Vec<u8> {
        let page_units: u64 = self.columns.iter().map(|(crcs, _)| crcs.len() as u64).sum();
        let global_units = self.globals.len() as u64;
        let num_columns = self.columns.len() as u64;
        let mut out = Vec::with_capacity(Self::buffer_bytes(page_units, global_units, num_columns) as usize);
        let mut cmo_crcs = Vec::new();
        unit_crcs(self.cmo_table, &mut cmo_crcs);
        let push = |out: &mut Vec<u8>, crcs: &[u32]| {
            crcs.iter().for_each(|crc| out.extend_from_slice(&crc.to_le_bytes()));
        };
        for (crcs, _) in &self.columns {
            push(&mut out, crcs);
        }
        push(&mut out, self.globals);
        let mut first = 0u64;
        for (crcs, message) in &self.columns {
            out.extend_from_slice(&first.to_le_bytes());
            out.extend_from_slice(&crc32c::crc32c(message).to_le_bytes());
            first += crcs.len() as u64;
        }
        push(&mut out, &cmo_crcs);
        let trailer = out.len();
        out.extend_from_slice(&crc32c::crc32c(self.descriptor).to_le_bytes());
        out.extend_from_slice(&page_units.to_le_bytes());
        out.extend_from_slice(&global_units.to_le_bytes());
        out.extend_from_slice(&(self.columns.len() as u32).to_le_bytes());
        out.extend_from_slice(&self.num_global_buffers.to_le_bytes());
        out.extend_from_slice(&(UNIT_BYTES as u32).to_le_bytes());
        out.extend_from_slice(&LAYOUT.to_le_bytes());
        let crc = crc32c::crc32c(&out[trailer..]);
        out.extend_from_slice(&crc.to_le_bytes());
        let crc = crc32c::crc32c(&out);
        out.extend_from_slice(&crc.to_le_bytes());
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checks(buffers: &[&[u8]]) -> PageChecks {
        let mut crcs = Vec::new();
        buffers.iter().for_each(|b| unit_crcs(b, &mut crcs));
        let crcs: Vec<u8> = crcs.iter().flat_map(|crc| crc.to_le_bytes()).collect();
        PageChecks::new(crcs.into(), buffers.iter().map(|b| b.len() as u64).collect()).unwrap()
    }

    #[test]
    fn a_range_is_widened_to_units_until_they_were_found_right() {
        let (a, b) = (vec![1u8; 10_000], vec![2u8; 5_000]);
        let page = checks(&[&a, &[], &b]);
        assert_eq!(page.widen(0, 5_000..5_010), 4_096..8_192);
        assert_eq!(page.widen(2, 4_095..4_097), 0..5_000);
        assert_eq!(page.widen(0, 7..7), 7..7);
        page.verify(0, 4_096, &a[4_096..8_192]).unwrap();
        assert_eq!(page.widen(0, 5_000..5_010), 5_000..5_010);
        assert_eq!(page.widen(0, 5_000..8_193), 4_096..10_000);
        page.verify(0, 0, &a).unwrap();
        page.verify(2, 0, &b).unwrap();
        assert!(page.is_verified(2, &(0..5_000)));
        assert_eq!(page.left.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn a_wrong_byte_is_named_with_its_unit_and_stays_wrong() {
        let good = vec![7u8; 9_000];
        let page = checks(&[&good]);
        let mut bad = good.clone();
        bad[8_999] ^= 4;
        for _ in 0..2 {
            let error = page.verify(0, 0, &bad).unwrap_err();
            assert!(error.to_string().contains("bytes 8192..9000"), "{error}");
            assert_eq!(error.place().buffer, Some(0));
        }
        page.verify(0, 8_192, &good[8_192..]).unwrap();
    }

    #[test]
    fn bytes_that_cannot_be_checked_are_never_let_through() {
        let good = vec![7u8; 9_000];
        let page = checks(&[&good]);
        assert!(page.verify(0, 1, &good[1..4_096]).is_err());
        assert!(page.verify(0, 0, &good[..5_000]).is_err());
        assert!(page.verify(0, 4_096, &good).is_err());
        assert!(page.verify(1, 0, &good).is_err());
        assert!(PageChecks::new(Bytes::from_static(&[0; 8]), vec![9_000]).is_err());
    }

    #[test]
    fn the_buffer_has_the_stated_layout() {
        let sums = Checksums {
            columns: vec![(&[1, 2], b"one"), (&[], b"two")],
            globals: &[9],
            cmo_table: &[5; 32],
            descriptor: b"descriptor",
            num_global_buffers: 3,
        };
        let bytes = sums.emit();
        assert_eq!(bytes.len() as u64, Checksums::buffer_bytes(2, 1, 2));
        assert_eq!(bytes[..12], [1, 0, 0, 0, 2, 0, 0, 0, 9, 0, 0, 0]);
        assert_eq!(bytes[12..20], [0; 8]);
        assert_eq!(bytes[20..24], crc32c::crc32c(b"one").to_le_bytes());
        assert_eq!(bytes[24..32], [2, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(bytes[36..40], crc32c::crc32c(&[5; 32]).to_le_bytes());
        assert_eq!(bytes[40..44], crc32c::crc32c(b"descriptor").to_le_bytes());
        let trailer =
            [2, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 0, 16, 0, 0, 1, 0, 0, 0];
        assert_eq!(bytes[44..76], trailer);
        assert_eq!(bytes[80..], crc32c::crc32c(&bytes[..80]).to_le_bytes());
        let globals = [0..10, 64..100, 1000..1000 + bytes.len() as u64];
        let tail = FileChecks::tail_range(&globals[2], 2).unwrap();
        let tail = Bytes::from(bytes.clone()).slice((tail.start - 1000) as usize..);
        let checks = FileChecks::parse(tail, 2, &globals, 2).unwrap().unwrap();
        checks.verify_descriptor(b"descriptor").unwrap();
        checks.verify_cmo(&[5; 32]).unwrap();
        assert!(checks.verify_cmo(&[6; 32]).is_err());
        assert_eq!(checks.column_range(1), 1024..1036);
        assert_eq!(checks.verify_column(1, &bytes[24..36], b"two").unwrap(), 2);
        assert_eq!(page_range(&checks.page_crcs(), 0, 2).unwrap(), 1000..1008);
        assert!(page_range(&checks.page_crcs(), 1, 2).is_err());
        assert_eq!(checks.global_range(1, 36), 1008..1012);
    }
}
