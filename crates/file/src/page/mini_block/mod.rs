//! Mini-block pages: values in chunks that decode by themselves. See docs/format/pages.md.
//!
//! ```text
//! buffer 0  chunk table        per chunk: u16 (2.1) or u32 (2.2)   bits 0..3 log2(values)   bits 4.. bytes/8 - 1
//! buffer 1  chunks             header | rep | def | value buffer 0 | … each padded to 8
//! buffer 2  dictionary         only if described, block form
//! last      repetition index   only with repetition: per chunk u64 rows that end, u64 levels left over
//! ```

mod chunk;
mod decode;
mod encode;
mod events;
mod index;
mod plan;

pub(crate) use decode::{MiniBlockPage, decode};
pub(crate) use encode::{MiniBlockChoice, StoredEntries, encode};
pub(crate) use events::EventIndex;
pub(crate) use index::MiniBlockIndex;
pub(crate) use plan::{ChunkRule, Count, bytes_of as values_bytes, chunk_len, runs};
