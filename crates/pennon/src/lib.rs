//! Columnar files for AI data: the Lance format from Rust, and conversion from and to Parquet, Arrow, CSV and JSON lines.
//!
//! ```
//! # fn main() -> Result<(), pennon::Error> {
//! let file = pennon::open("../../testdata/golden/unicode.v2_2.lance")?;
//! println!("{} rows of {}", file.num_rows(), file.schema()?);
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

use arrow_schema::Schema;

pub use pennon_convert as convert;
pub use pennon_file::{
    Batches, Blob, BlobColumn, BlobDescriptor, BlobKind, BlobOptions, BlobPlace, BlobReader, BlobResolver,
    BlobView, BloomFilters, Choice, ColumnInspection, ColumnStatistics, Compression, Considered,
    DEFAULT_BATCH_BYTES, DEFAULT_BATCH_ROWS, Error, ErrorKind, ExplainOptions, ExplainedCandidate,
    ExplainedColumn, ExplainedEncodings, File, FileEncoder, FileWriter, FormatVersion,
    GlobalBufferInspection, Inspection, Limits, OpenOptions, PageInspection, PathWriter, Place, Preset,
    Result, RowsStatistics, Scan, TABLE_BATCH_BYTES, Take, TakeBatches, ValueBound, VerifyReport,
    WriteOptions, string_views,
};
pub use pennon_file::{filter, io};

/// Scans, and the predicates that filter them.
///
/// ```
/// use pennon::scan::{Predicate, col};
///
/// let file = pennon::open("../../testdata/golden/unicode.v2_2.lance")?;
/// let all = file.scan().count()?;
/// let name = file.scan().batches()?.schema().field(0).name().clone();
/// let nulls = file.count_rows(Some(&col(&name).is_null()))?;
/// assert_eq!(file.scan().filter(!col(&name).is_null()).count()?, all - nulls);
/// assert_eq!(Predicate::parse("a > 3")?, col("a").gt(3));
/// # Ok::<(), pennon::Error>(())
/// ```
pub mod scan {
    pub use pennon_file::filter::{Column, Literal, Predicate, col};
    pub use pennon_file::{Batches, Scan};
}

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

/// Starts a Lance file at `path` for batches of `schema`. The file appears there when
/// [`finish`](PathWriter::finish) succeeds, and replaces what was there.
///
/// ```
/// use std::sync::Arc;
/// use arrow_array::{ArrayRef, Int64Array, RecordBatch};
///
/// # let path = std::env::temp_dir().join(format!("pennon-create-{}.lance", std::process::id()));
/// let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..1000));
/// let batch = RecordBatch::try_from_iter([("n", numbers)]).unwrap();
/// let mut writer = pennon::create(&path, &batch.schema())?;
/// writer.write(&batch)?;
/// writer.finish()?;
/// assert_eq!(pennon::open(&path)?.num_rows(), 1000);
/// # std::fs::remove_file(&path).unwrap();
/// # Ok::<(), pennon::Error>(())
/// ```
///
/// # Errors
/// The directory cannot be written to, or the schema has a type that the format does not hold.
pub fn create(path: impl AsRef<Path>, schema: &Schema) -> Result<PathWriter> {
    PathWriter::create(path, schema, WriteOptions::default())
}
