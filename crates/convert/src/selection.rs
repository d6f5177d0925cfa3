//! What is read of a source: columns, rows, and in what batches.

use std::ops::Range;

use pennon_file::filter::Predicate;
use pennon_file::{DEFAULT_BATCH_BYTES, DEFAULT_BATCH_ROWS, TABLE_BATCH_BYTES};

/// Which part of a source is read, and in what batches.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Selection {
    /// Column paths in the order wanted; `None` means all.
    pub columns: Option<Vec<String>>,
    /// Keeps the rows for which this is TRUE. Its columns need not be among `columns`. Rows taken by number are not filtered.
    pub filter: Option<Predicate>,
    /// Rows, from 0: of the file, or of those that the filter keeps.
    pub rows: Range<u64>,
    /// Most rows of one batch.
    pub batch_rows: usize,
    /// About the most bytes of one batch, unless a single row is larger; half as much again is not cut. `None`: what the source likes best.
    pub batch_bytes: Option<usize>,
    /// Threads that may decode; 0 means as many as there are.
    pub threads: usize,
    /// All batches are kept.
    pub for_table: bool,
    /// Strings and binary values with 32-bit offsets come as views, see [`pennon_file::string_views`].
    pub string_views: bool,
}

impl Default for Selection {
    fn default() -> Self {
        Self {
            columns: None,
            filter: None,
            rows: 0..u64::MAX,
            batch_rows: DEFAULT_BATCH_ROWS,
            batch_bytes: None,
            threads: 0,
            for_table: false,
            string_views: false,
        }
    }
}

impl Selection {
    /// Selects columns by path.
    #[must_use]
    pub fn with_columns(mut self, columns: Option<Vec<String>>) -> Self {
        self.columns = columns;
        self
    }

    /// Keeps the rows for which a predicate is TRUE.
    #[must_use]
    pub fn with_filter(mut self, filter: Option<Predicate>) -> Self {
        self.filter = filter;
        self
    }

    /// Selects rows, of the file or of those that the filter keeps.
    #[must_use]
    pub fn with_rows(mut self, rows: Range<u64>) -> Self {
        self.rows = rows;
        self
    }

    /// Says that all batches are kept, see [`pennon_file::Scan::for_table`].
    #[must_use]
    pub fn for_table(mut self) -> Self {
        self.for_table = true;
        self
    }

    /// Bytes of a batch where the source has no better default.
    pub(crate) fn bytes_of_batch(&self) -> usize {
        let default = if self.for_table { TABLE_BATCH_BYTES } else { DEFAULT_BATCH_BYTES };
        self.batch_bytes.unwrap_or(default).max(1)
    }

    /// Bounds the bytes of a batch.
    #[must_use]
    pub fn with_batch_bytes(mut self, bytes: usize) -> Self {
        self.batch_bytes = Some(bytes);
        self
    }

    /// Bounds the rows of a batch.
    #[must_use]
    pub fn with_batch_rows(mut self, rows: usize) -> Self {
        self.batch_rows = rows;
        self
    }
}
