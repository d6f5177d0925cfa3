//! The only place where bytes are fetched: byte ranges, the sans-I/O contract, and drivers.
//!
//! ```text
//!            Need(ranges)                      ReadAt::read_at / a mapping
//!  decoder ───────────────▶ drive ───────────▶ Source ───────────────▶ file
//!          ◀─────────────── (sorts, joins     ◀───────────────────────
//!            Segments        near ranges)       bytes
//! ```
//!
//! A [`Decode`] never reads: it says which byte ranges it needs and gets them as [`Segments`]. [`drive`]
//! is the loop between such a decoder and a [`Source`]. Everything above this module is a decoder.

mod coalesce;
mod decode;
mod driver;
mod mmap;
mod passing;
mod read_at;
mod segments;
mod source;
#[cfg(test)]
mod tests;

pub use decode::{Decode, Join, Step, join};
pub use driver::drive;
pub(crate) use driver::drive_with;
pub use read_at::ReadAt;
pub use segments::Segments;
pub use source::{MappingPolicy, Source, SourceOptions};
