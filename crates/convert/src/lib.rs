//! Reads and writes record batches in the formats that people's data comes in.
//!
//! ```text
//!             ┌─ lance.rs ──┐                                   ┌─ lance.rs ──┐
//!   Input ──▶ │  parquet.rs │ ──▶ Batches (bounded by bytes) ──▶│  parquet.rs │ ──▶ Output (temporary
//! (path or    │  ipc.rs     │     projection, row range, take   │  ipc.rs     │     name, renamed when
//!  stdin)     │  csv.rs     │                                   │  csv.rs     │     finished; or stdout)
//!             └─ json.rs ───┘                                   └─ json.rs ───┘
//! ```
//!
//! One file per format, reader and writer together. Rows are filtered inside Lance files, and by `filter.rs` after reading others. A format is found by content when reading and by the
//! name's extension when writing. Everything that can fail gives a [`pennon_file::Error`].
//!
//! ```
//! use pennon_convert::{Input, ReadOptions, Reader, Selection};
//! # fn main() -> Result<(), pennon_file::Error> {
//! # let dir = std::env::temp_dir().join(format!("pennon-doc-{}", std::process::id()));
//! # std::fs::create_dir_all(&dir).unwrap();
//! # let path = dir.join("birds.csv");
//! # std::fs::write(&path, "name,wings\nauk,2\nowl,2\n").unwrap();
//! let reader = Reader::open(&Input::path(&path), &ReadOptions::default())?;
//! let rows: usize = reader.batches(&Selection::default())?.map(|b| b.map(|b| b.num_rows())).sum::<Result<_, _>>()?;
//! assert_eq!(rows, 2);
//! # std::fs::remove_dir_all(&dir).unwrap();
//! # Ok(())
//! # }
//! ```

mod compare;
mod csv;
mod dictionary;
mod exact;
mod explain;
mod filter;
mod format;
mod guard;
mod guess;
mod hash;
mod input;
mod inspect_json;
mod ipc;
mod json;
mod lance;
mod nested;
mod output;
mod parquet;
mod projection;
mod reader;
mod rebatch;
mod records;
mod row_numbers;
mod schema_json;
mod selection;
mod statistics_json;
mod take;
mod text;
mod types;
mod views;
mod why_json;
mod widen;
mod writer;

pub use compare::{Cell, OrderedDifference, Sums, compare_ordered, pairs, schema_differences};
pub use format::Format;
pub use guard::panic_is_expected;
pub use input::Input;
pub use inspect_json::{inspected_type, inspection_to_json};
pub use output::{Output, Staged, remove_temporaries};
pub use projection::{Projection, field_at, leaf_paths, quote_name};
pub use reader::{Batches, ReadOptions, Reader, schema_difference};
pub use rebatch::batch_bytes;
pub use row_numbers::RowNumbers;
pub use schema_json::{schema_from_json, schema_to_json};
pub use selection::Selection;
pub use statistics_json::{bound_to_json, bound_to_text, statistics_to_json, statistics_type};
pub use text::readable;
pub use types::type_name;
pub use why_json::{explained_to_json, explained_type};
pub use writer::{BatchWriter, WriterOptions, create_writer, writable};
