//! The Python package `pennon`, below its Python files: arguments are unwrapped here, the interpreter lock is released, results
//! are wrapped and errors become exceptions. What a file means is decided in the crates below.
//!
//! ```text
//! source.rs   path, bytes, file-like object ──▶ Reader          file.rs scan.rs   File, Scan, iterators of batches
//! data.rs     anything that holds a table ──▶ batches           write.rs          Writer
//! expr.rs     conditions ──▶ Predicate
//!   numpy.rs infer.rs build.rs  arrays and Python values        table.rs          Table, RecordBatch, Array, Schema, Field
//! capsule.rs  the Arrow PyCapsule interface, both ways          rows.rs           Arrow values ──▶ Python values
//! ```
//!
//! Python's own objects are touched only while the lock is held; everything that reads, decodes or writes runs without it.

use pyo3::prelude::*;

mod build;
mod capsule;
mod data;
mod error;
mod expr;
mod file;
mod indices;
mod infer;
mod inspect;
mod numpy;
mod pool;
mod rows;
mod scan;
mod source;
mod statistics;
mod stream;
mod table;
mod wrap;
mod write;

/// The compiled part of pennon.
#[pymodule]
mod _pennon {
    #[pymodule_export]
    use super::capsule::Buffer;
    #[pymodule_export]
    use super::expr::{Expression, col, expr};
    #[pymodule_export]
    use super::file::{PyFile, open};
    #[pymodule_export]
    use super::scan::{PyBatches, PyScan};
    #[pymodule_export]
    use super::table::{PyArray, PyField, PyRecordBatch, PySchema, PyTable, schema};
    #[pymodule_export]
    use super::write::{PyWriter, write};

    #[pymodule_export]
    #[allow(non_upper_case_globals)]
    const __version__: &str = env!("CARGO_PKG_VERSION");
}
