//! Full-zip pages: all of an event side by side, for wide values. See docs/format/pages.md.
//!
//! ```text
//! buffer 0  per event: control word (0, 1, 2 or 4 bytes) | u32 or u64 length? | value bytes?
//! buffer 1  row offsets into buffer 0, length + 1 of 1, 2, 4 or 8 bytes: where rows vary in size
//! ```

mod decode;
mod encode;
mod index;

pub(crate) use decode::{FullZipPage, decode};
pub(crate) use encode::encode;
pub(crate) use index::FullZipIndex;
