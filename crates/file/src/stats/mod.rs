//! Statistics: what is known of columns in stretches of rows, so that a search passes over what cannot match.
//!
//! ```text
//! writing   pages ──▶ Collector ──▶ zones of each leaf ──▶ budget ──▶ messages ──▶ global buffer (extras kind 3)
//! reading   global buffer ──▶ ReadFacts ──▶ ColumnFacts: Facts of the file and of its zones
//! ```
//!
//! Bloom filters, which are there on request, go the same way (`bloom/`).
//!
//! A zone is 8,192 top-level rows, counted from the file's first row on, whatever the pages and the same for all leaves; a column
//! may have its zones put together in powers of two where that saves bytes. See docs/format/extras.md, "Kind 3".

mod audit;
#[cfg(test)]
mod audit_tests;
mod bloom;
mod budget;
mod buffer;
mod bytes;
mod collect;
mod cut;
mod distinct;
mod extent;
mod facts;
mod message;
mod read;
#[cfg(test)]
mod tests;
mod value;

pub(crate) use audit::Audit;
pub(crate) use bloom::{
    Blocks, BloomAudit, BloomCollected, BloomCollector, BloomTable, ColumnBlooms, ReadBlooms, ReadTable,
    ZoneFilter, bloom_buffer, hash_of,
};
pub(crate) use budget::{LEAST_USE, buffer as statistics_buffer};
pub(crate) use collect::{Collected, Collector};
pub(crate) use extent::half_bytes;
pub(crate) use facts::{Bound, Facts};
pub(crate) use message::ColumnFacts;
pub(crate) use read::{ReadFacts, Wanted};
pub(crate) use value::Value;
