//! The Lance v2 file format: files of columns, read by range or row by row, and written.
//!
//! ```text
//!  file ──container──▶ page buffers ──page, encoding──▶ levels + values ──array──▶ RecordBatch
//!       ◀─────────────              ◀─────────────────                 ◀──────────
//! ```
//!
//! ```no_run
//! use pennon_file::{File, PathWriter, WriteOptions};
//!
//! # fn main() -> pennon_file::Result<()> {
//! let file = File::open("birds.lance")?;
//! let schema = file.schema()?;
//! let mut writer = PathWriter::create("some.lance", &schema, WriteOptions::default())?;
//! for batch in file.take(&[7, 0, 7]).batches()? {
//!     writer.write(&batch?)?;
//! }
//! writer.finish()
//! # }
//! ```
//!
//! A [`File`] is a handle: cheap to clone, without a thread or a position of its own. [`io`] has the contract between
//! decoders and whatever fetches bytes. How a file is laid out is stated in `docs/format/` of the repository.

mod array;
mod blob;
mod choose;
mod column;
mod container;
mod encoding;
mod error;
#[cfg(feature = "filter")]
pub mod filter;
mod held;
mod inspect;
pub mod io;
mod limits;
mod lookup;
mod page;
mod proto;
mod ranges;
mod read;
mod scan;
mod schema;
mod statistics;
mod stats;
mod verify;
mod version;
mod why;
mod write;

pub use blob::{
    Blob, BlobColumn, BlobDescriptor, BlobKind, BlobOptions, BlobPlace, BlobReader, BlobResolver,
};
pub use choose::{Choice, Compression, Considered, Preset};
pub use error::{Error, ErrorKind, Place, Result};
pub use held::HeldBytes;
pub use inspect::{ColumnInspection, GlobalBufferInspection, Inspection, PageInspection};

pub use limits::Limits;
pub use read::{File, OpenOptions};
pub use scan::{
    Batches, DEFAULT_BATCH_BYTES, DEFAULT_BATCH_ROWS, Explanation, Scan, TABLE_BATCH_BYTES, Take, TakeBatches,
};
pub use schema::{BlobView, string_views};
pub use statistics::{BloomFilters, ColumnStatistics, RowsStatistics, ValueBound};
pub use verify::VerifyReport;
pub use version::FormatVersion;
pub use why::{ExplainOptions, ExplainedCandidate, ExplainedColumn, ExplainedEncodings};
pub use write::{FileEncoder, FileWriter, PathWriter, WriteOptions};

/// The examples of the project's README compile.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
