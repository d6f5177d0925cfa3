//! The Lance v2 file format: read, write, take, scan.

mod array;
mod choose;
mod column;
mod container;
mod encoding;
mod error;
mod inspect;
pub mod io;
mod limits;
mod page;
mod proto;
mod read;
mod scan;
mod schema;
mod verify;
mod version;
mod write;

pub use choose::Compression;
pub use error::{Error, ErrorKind, Place, Result};
pub use inspect::{ColumnInspection, GlobalBufferInspection, Inspection, PageInspection};

pub use limits::Limits;
pub use read::{File, OpenOptions};
pub use scan::{Batches, DEFAULT_BATCH_BYTES, DEFAULT_BATCH_ROWS, Scan, Take, TakeBatches};
pub use verify::VerifyReport;
pub use version::FormatVersion;
pub use write::{FileEncoder, FileWriter, PathWriter, WriteOptions};

/// The examples of the project's README compile.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
