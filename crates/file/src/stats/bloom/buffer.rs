//! The filters of a file: a global buffer (extras kind 4).
//!
//! ```text
//! ├────────┬───────────┬────────────────────────────────────────────────┬───┤
//! │ header │ n × entry │ filters of a column: 2^b × row of blocks       │ … │
//! └────────┴───────────┴────────────────────────────────────────────────┴───┘
//! header   0  u32  layout: 1                 entry   0  u32  stored column
//!          4  u32  rows of a zone                    4  u8   s: zones of this column have the header's rows × 2^s
//!          8  u64  rows of the file                  5  u8   b: filters have 2^b blocks
//!         16  u32  entries n                         6  u16  0
//!         20  u32  CRC of the 20 bytes before        8  u64  where its filters begin, from the end of the entries
//!                  and of the entries
//! row      32 bytes: this block of zone 0 │ of zone 1 │ … │ u32 CRC of ( u32 stored column ‖ u32 number of the block ‖ blocks )
//! ```
//!
//! The same block of all zones stands together, so that one read tells of a value in which zones it may be.
//! See docs/format/extras.md, "Kind 4".

use std::ops::Range;

use super::bits::{BLOCK_BYTES, Bits, MAX_LOG2};
use super::collect::BloomCollected;
use crate::Result;
use crate::error::corrupt;

pub(super) const LAYOUT: u32 = 1;
pub(super) const HEADER_BYTES: u64 = 24;
pub(super) const ENTRY_BYTES: u64 = 16;
const CRC_BYTES: u64 = 4;
/// Zones of one column at most, as of statistics.
const MAX_ZONES: u64 = 1 << 16;

/// Where the filters of a column are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) column: u32,
    /// Rows of a zone; the last one may have fewer.
    pub(crate) zone_rows: u64,
    pub(crate) num_zones: u64,
    /// Filters have two to this blocks.
    pub(super) log2: u32,
    /// From the end of the entries.
    pub(super) start: u64,
}

impl Entry {
    /// Bytes of a row of blocks.
    fn row_bytes(&self) -> u64 {
        self.num_zones * BLOCK_BYTES as u64 + CRC_BYTES
    }

    /// Bytes of all filters.
    pub(crate) fn bytes(&self) -> u64 {
        self.row_bytes() << self.log2
    }

    /// Bytes of the row of a block, from the end of the entries.
    pub(super) fn row(&self, block: u32) -> Range<u64> {
        let start = self.start + u64::from(block) * self.row_bytes();
        start..start + self.row_bytes()
    }

    /// Checks a row of blocks.
    pub(super) fn verify(&self, block: u32, row: &[u8]) -> Result<()> {
        let Some((blocks, crc)) = row.split_last_chunk::<4>() else { corrupt!("a bloom filter of no bytes") };
        let (expected, found) = (u32::from_le_bytes(*crc), row_crc(self.column, block, blocks));
        if expected != found {
            corrupt!(
                "checksum of block {block} of the bloom filters of column {}: expected {expected:08x}, found {found:08x}",
                self.column
            );
        }
        Ok(())
    }
}

fn row_crc(column: u32, block: u32, blocks: &[u8]) -> u32 {
    let crc = crc32c::crc32c_append(crc32c::crc32c(&column.to_le_bytes()), &block.to_le_bytes());
    crc32c::crc32c_append(crc, blocks)
}

/// The buffer for what was gathered of each column, in the order of columns, in at most `max_bytes`: filters become half as large,
/// the largest first, and then go. `None` if nothing is left.
pub(crate) fn emit(
    mut columns: Vec<(u32, BloomCollected)>,
    zone_rows: u32,
    num_rows: u64,
    max_bytes: u64,
) -> Option<Vec<u8>> {
    columns.retain(|(_, column)| !column.zones.is_empty() && column.zones.len() as u64 <= MAX_ZONES);
    let entry = |column: u32, collected: &BloomCollected, log2: u32, start: u64| Entry {
        column,
        zone_rows: u64::from(zone_rows) << collected.shift,
        num_zones: collected.zones.len() as u64,
        log2,
        start,
    };
    let mut plans: Vec<(u32, BloomCollected, u32)> = columns
        .into_iter()
        .map(|(column, collected)| {
            let log2 = collected.zones.iter().map(|zone| zone.log2).max().unwrap_or(0);
            (column, collected, log2)
        })
        .collect();
    let bytes = |plan: &(u32, BloomCollected, u32)| entry(plan.0, &plan.1, plan.2, 0).bytes() + ENTRY_BYTES;
    while HEADER_BYTES + plans.iter().map(bytes).sum::<u64>() > max_bytes {
        let (at, _) = plans.iter().enumerate().max_by_key(|(_, plan)| bytes(plan))?;
        match plans[at].2 {
            0 => drop(plans.remove(at)),
            _ => plans[at].2 -= 1,
        }
    }
    if plans.is_empty() {
        return None;
    }
    let mut out = Vec::new();
    out.extend_from_slice(&LAYOUT.to_le_bytes());
    out.extend_from_slice(&zone_rows.to_le_bytes());
    out.extend_from_slice(&num_rows.to_le_bytes());
    out.extend_from_slice(&(plans.len() as u32).to_le_bytes());
    let mut entries = Vec::new();
    let mut start = 0u64;
    for (column, collected, log2) in &plans {
        entries.extend_from_slice(&column.to_le_bytes());
        entries.extend_from_slice(&[collected.shift as u8, *log2 as u8, 0, 0]);
        entries.extend_from_slice(&start.to_le_bytes());
        start += entry(*column, collected, *log2, start).bytes();
    }
    let crc = crc32c::crc32c_append(crc32c::crc32c(&out), &entries);
    out.extend_from_slice(&crc.to_le_bytes());
    out.extend_from_slice(&entries);
    for (column, collected, log2) in &plans {
        for block in 0..1u32 << log2 {
            push_row(&mut out, *column, block, &collected.zones, *log2);
        }
    }
    Some(out)
}

fn push_row(out: &mut Vec<u8>, column: u32, block: u32, zones: &[Bits], log2: u32) {
    let start = out.len();
    for zone in zones {
        zone.block(block as usize, log2).iter().for_each(|word| out.extend_from_slice(&word.to_le_bytes()));
    }
    let crc = row_crc(column, block, &out[start..]);
    out.extend_from_slice(&crc.to_le_bytes());
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes[at..].first_chunk::<4>().map_or(0, |word| u32::from_le_bytes(*word))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at + 4)) << 32 | u64::from(u32_at(bytes, at))
}

/// Bytes of a header with its entries, in a buffer of `buffer_bytes`; `None` where the layout is one of the future.
pub(super) fn table_bytes(header: &[u8; HEADER_BYTES as usize], buffer_bytes: u64) -> Result<Option<u64>> {
    if u32_at(header, 0) != LAYOUT {
        return Ok(None);
    }
    let bytes = HEADER_BYTES + u64::from(u32_at(header, 16)) * ENTRY_BYTES;
    if bytes > buffer_bytes {
        corrupt!("{} entries of bloom filters in {buffer_bytes} bytes", u32_at(header, 16));
    }
    Ok(Some(bytes))
}

/// Reads a header with its entries; of a file of `num_rows` rows, in a buffer of `buffer_bytes`.
pub(super) fn parse_table(table: &[u8], buffer_bytes: u64, num_rows: u64) -> Result<Vec<Entry>> {
    let Some((header, entries)) = table.split_first_chunk::<{ HEADER_BYTES as usize }>() else {
        corrupt!("a header of bloom filters of {} bytes", table.len());
    };
    let found = crc32c::crc32c_append(crc32c::crc32c(&header[..20]), entries);
    let expected = u32_at(header, 20);
    if expected != found {
        corrupt!("checksum of the entries of bloom filters: expected {expected:08x}, found {found:08x}");
    }
    let (base_rows, rows) = (u64::from(u32_at(header, 4)), u64_at(header, 8));
    if rows != num_rows || base_rows == 0 {
        corrupt!("bloom filters of {rows} rows in zones of {base_rows}, in a file of {num_rows}");
    }
    let filters_bytes = buffer_bytes.saturating_sub(table.len() as u64);
    let mut parsed: Vec<Entry> = Vec::with_capacity(entries.len() / ENTRY_BYTES as usize);
    for bytes in entries.chunks_exact(ENTRY_BYTES as usize) {
        let (column, shift, log2) = (u32_at(bytes, 0), u32::from(bytes[4]), u32::from(bytes[5]));
        let factor = 1u64.checked_shl(shift);
        let Some(zone_rows) = factor.and_then(|factor| factor.checked_mul(base_rows)) else {
            corrupt!("bloom filters of column {column} in zones of {base_rows} × 2^{shift} rows");
        };
        let num_zones = num_rows.div_ceil(zone_rows);
        let entry = Entry { column, zone_rows, num_zones, log2, start: u64_at(bytes, 8) };
        if num_zones > MAX_ZONES || log2 > MAX_LOG2 || bytes[6..8] != [0, 0] {
            corrupt!("bloom filters of column {column}: {num_zones} zones, 2^{log2} blocks");
        }
        let end = entry.start.checked_add(entry.bytes());
        let ascends = parsed.last().is_none_or(|last| last.column < column);
        if !ascends || end.is_none_or(|end| end > filters_bytes) {
            corrupt!(
                "bloom filters of column {column}: {} bytes at {} of {filters_bytes}, after column {:?}",
                entry.bytes(),
                entry.start,
                parsed.last().map(|last| last.column)
            );
        }
        parsed.push(entry);
    }
    Ok(parsed)
}
