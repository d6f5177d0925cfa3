//! Bloom filters of zones, on request: whether a value may be in a stretch of rows, for conditions that ask for single values.
//!
//! ```text
//! writing   pages ──▶ BloomCollector ──▶ bits of each zone ──▶ buffer ──▶ global buffer (extras kind 4)
//! reading   hashes of the values asked for ──▶ ReadBlooms ──▶ ColumnBlooms: a block of each zone for each value
//! ```
//!
//! See docs/format/extras.md, "Kind 4".

mod audit;
mod bits;
mod buffer;
mod collect;
mod read;
#[cfg(test)]
mod tests;

pub(crate) use audit::BloomAudit;
pub(crate) use bits::hash_of;
pub(crate) use buffer::emit as bloom_buffer;
pub(crate) use collect::{BloomCollected, BloomCollector};
pub(crate) use read::{Blocks, BloomTable, ColumnBlooms, ReadBlooms, ReadTable, ZoneFilter};
