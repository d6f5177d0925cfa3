//! Columnar files for AI data: the Lance format from Rust, and conversion from and to Parquet, Arrow, CSV and JSON lines.
//!
//! ```
//! # fn main() -> Result<(), pennon::Error> {
//! let file = pennon::open("../../testdata/golden/unicode.v2_2.lance")?;
//! println!("{} rows of {}", file.num_rows(), file.schema());
//! for batch in file.scan().batch_rows(100).batches()? {
//!     println!("{} rows", batch?.num_rows());
//! }
//! let rows = file.take(&[3, 1, 3]).read()?;
//! assert_eq!(rows[0].num_rows(), 3);
//! # Ok(())
//! # }
//! ```
//!
//! The crates below: [`pennon_file`] is the file format alone, for programs that need nothing else;
//! [`convert`] reads and writes the other formats.

use std::path::Path;

pub use pennon_convert as convert;
pub use pennon_file::io;
pub use pennon_file::{
    Batches, ColumnInspection, DEFAULT_BATCH_BYTES, DEFAULT_BATCH_ROWS, Error, ErrorKind, File,
    FormatVersion, GlobalBufferInspection, Inspection, Limits, OpenOptions, PageInspection, Place, Result,
    Scan, Take, TakeBatches, VerifyReport,
};

/// Opens a local Lance file.
///
/// ```
/// let file = pennon::open("../../testdata/golden/unicode.v2_2.lance")?;
/// assert!(file.num_rows() > 0);
/// # Ok::<(), pennon::Error>(())
/// ```
///
/// # Errors
/// The file cannot be read, is not a Lance file, has a format version that is not read, or is damaged.
pub fn open(path: impl AsRef<Path>) -> Result<File> {
    File::open(path)
}
