//! The container of one file: where everything is, and nothing about what is inside a page.
//!
//! ```text
//! ┌──────────────┬────────────┬──────────────────┬───────────┬───────────┬─────────┬────────┐
//! │ page buffers,│ descriptor │ column metadata  │ CMO table │ GBO table │ extras  │ footer │
//! │ global       │ (schema,   │ 0 … N-1          │ 16 N      │ 16 G      │ record? │ 40     │
//! │ buffers 1 …  │ row count) │                  │           │           │         │        │
//! └──────────────┴────────────┴──────────────────┴───────────┴───────────┴─────────┴────────┘
//! ```
//!
//! A file is written from left to right and read from right to left. See docs/format/container.md.

mod audit;
mod checksums;
mod column;
mod directory;
#[cfg(test)]
mod directory_tests;
mod encoder;
mod extras;
mod find;
mod footer;
mod global;
#[cfg(test)]
mod layout_tests;
mod metadata;
mod tables;
#[cfg(test)]
mod tests;

pub(crate) use audit::DirectoryFaults;
pub(crate) use checksums::{FileChecks, PageChecks, UNIT_BYTES};
pub(crate) use column::{ColumnPlace, ColumnRecord, PageMessage, ReadColumns};
pub(crate) use encoder::{ContainerEncoder, DIRECTORY_COLUMNS, NewPage, PADDING_BYTE};
pub(crate) use extras::{KIND_BLOOMS, KIND_CHECKSUMS, KIND_DIRECTORY, KIND_STATISTICS};
pub(crate) use find::{FindFields, FoundField};
pub(crate) use footer::FOOTER_BYTES;
pub(crate) use global::ReadGlobalBuffer;
pub(crate) use metadata::{Metadata, OpenFile};
pub(crate) use tables::Tables;

use std::ops::Range;

use crate::{Error, Result};

/// `start .. start + len`, if it ends at or before `end`.
fn range_within(start: u64, len: u64, end: u64, what: impl Fn() -> String) -> Result<Range<u64>> {
    match start.checked_add(len) {
        Some(stop) if stop <= end => Ok(start..stop),
        _ => Err(Error::corrupt(format!("{} at {start} of {len} bytes passes {end}", what()))),
    }
}

/// The `index`-th little-endian `u32`.
fn u32_at(bytes: &[u8], index: usize) -> u32 {
    bytes.as_chunks::<4>().0.get(index).map_or(0, |word| u32::from_le_bytes(*word))
}

/// The `index`-th little-endian `u64`.
fn u64_at(bytes: &[u8], index: usize) -> u64 {
    bytes.as_chunks::<8>().0.get(index).map_or(0, |word| u64::from_le_bytes(*word))
}

/// An entry of an offset table: position and length.
fn table_entry(table: &[u8], index: usize) -> (u64, u64) {
    (u64_at(table, 2 * index), u64_at(table, 2 * index + 1))
}
