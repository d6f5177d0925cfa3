//! Rows of several columns to one record batch.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::SchemaRef;

use crate::blob::{BlobStore, Media, fetch_values};
use crate::column::Column;
use crate::encoding::Arena;
use crate::io::{Source, drive_with, join};
use crate::page::LeafData;
use crate::schema::string_views;
use crate::{Error, ErrorKind, Limits, Result};

/// What scans and takes share: a file's projected columns.
#[derive(Debug)]
pub(crate) struct Projected {
    pub(crate) source: Arc<Source>,
    pub(crate) schema: SchemaRef,
    /// The same as it is stored.
    pub(crate) stored: SchemaRef,
    /// In column order, which is the order of leaves in the schema.
    pub(crate) columns: Vec<Arc<Column>>,
    pub(crate) limits: Limits,
    pub(crate) store: Arc<BlobStore>,
    /// The columns, by position, whose blobs are returned as bytes.
    pub(crate) blobs: Vec<usize>,
    /// Whether rows are wanted that lie scattered over the file, as by a take.
    pub(crate) scattered: bool,
}

/// Arrow bytes that a row is expected to take, above zero. To find them looks at a page of every column.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RowBytes(f64);

impl RowBytes {
    /// Rows that a batch of `budget` bytes is expected to hold, at least 1.
    pub(crate) fn rows_in(self, budget: usize) -> u64 {
        ((budget as f64 / self.0) as u64).max(1)
    }

    /// Bytes that `rows` rows are expected to take.
    pub(super) fn of(self, rows: u64) -> f64 {
        rows as f64 * self.0
    }

    /// Memory for a batch of `count` rows, of at most `budget` bytes.
    pub(crate) fn arena(self, count: usize, budget: usize) -> Arena {
        // Values of varying length may be longer than a page has them in the mean.
        Arena::new(((count as f64 * self.0 * 1.25) as usize).min(budget))
    }
}

impl Projected {
    /// The same with views in place of strings and binary values, if `on`.
    pub(crate) fn with_string_views(mut self, on: bool) -> Self {
        if on {
            self.schema = string_views(&self.schema);
        }
        self
    }

    /// Rows from `row` on that a batch of `budget` bytes is expected to hold, at least 1.
    pub(crate) fn rows_for(&self, row: u64, budget: usize) -> u64 {
        self.row_bytes(row).rows_in(budget)
    }

    /// A guess of the Arrow bytes of one row near `row`.
    pub(crate) fn row_bytes(&self, row: u64) -> RowBytes {
        let per_row: f64 = self.columns.iter().map(|c| c.bytes_per_row(row)).sum();
        RowBytes((per_row + self.blob_bytes_per_row()).max(1.0 / 64.0))
    }

    /// The bytes of one row near `row` that are handed out as they are in the file, if that is in memory.
    pub(super) fn sliced_bytes(&self, row: u64) -> f64 {
        if self.source.whole().is_none() {
            return 0.0;
        }
        let sliced = self.columns.iter().filter(|c| c.slice_end(row).is_some());
        sliced.map(|c| c.bytes_per_row(row)).sum()
    }

    /// A guess of the bytes of blobs in one row: no more than the file has, whatever else is in it.
    fn blob_bytes_per_row(&self) -> f64 {
        let Some(column) = self.blobs.first().map(|i| &self.columns[*i]) else { return 0.0 };
        let rows = match column.lists.first() {
            Some(outermost) => outermost.num_rows(),
            None => column.num_slots / column.leaf.rows_scale.max(1),
        };
        self.source.file_bytes() as f64 / rows.max(1) as f64
    }

    /// Maps the file, where `num_rows` rows from about `row` on are worth it: a few small ones are cheaper by read calls. What is not to
    /// `stay` mapped is left page by page by those who [pass over it](Self::pass_batch).
    pub(super) fn prefer_mapping(&mut self, row: u64, num_rows: u64, stay: bool) {
        /// Rows from which on a mapping costs less.
        const MANY: u64 = 1024;
        /// Bytes likewise.
        const MUCH: f64 = (4 << 20) as f64;
        if num_rows < MANY && self.row_bytes(row).of(num_rows) < MUCH {
            return;
        }
        match if stay { None } else { self.source.passing() } {
            Some(passing) => self.source = Arc::new(passing),
            None => self.source.prefer_mapping(),
        }
    }

    /// Where a batch of `rows` had better end: at the edge of a page that is handed out as a slice of the
    /// file, unless that leaves next to nothing. Two such pages in one array would have to be copied.
    pub(crate) fn cut(&self, rows: Range<u64>) -> u64 {
        let least = rows.start + (rows.end - rows.start).div_ceil(8);
        let edges = self.columns.iter().filter_map(|c| c.slice_end(rows.start));
        edges.filter(|edge| *edge >= least).fold(rows.end, u64::min)
    }

    /// The first edge after `row` of a page that is handed out as a slice of the file.
    pub(super) fn slice_end(&self, row: u64) -> Option<u64> {
        self.columns.iter().filter_map(|c| c.slice_end(row)).min()
    }

    /// Decodes `rows` of every column. The data of a column may end early, at its share of the budget.
    pub(crate) fn read(&self, rows: &[Range<u64>], budget: usize, arena: &Arena) -> Result<Vec<LeafData>> {
        self.admit_row()?;
        let reads = self.columns.iter().map(|c| c.read(rows, budget, arena, &self.limits)).collect();
        let mut segments = self.source.segments_for(self.scattered);
        drive_with(&self.source, join(reads), &mut segments).map_err(|e| self.in_file(e))
    }

    /// That one row, which every batch holds at least, is within the limits. Constant pages cost a file nothing,
    /// so that a short schema may otherwise promise rows of any size.
    pub(super) fn admit_row(&self) -> Result<()> {
        let bytes = self.columns.iter().fold(0, |sum: u64, c| sum.saturating_add(c.least_row_bytes()));
        if bytes > self.limits.buffer_bytes {
            return Err(self.in_file(Error::limit(format!(
                "one row of {} columns takes {bytes} bytes, at most {} are allowed; read fewer columns at once",
                self.columns.len(),
                self.limits.buffer_bytes
            ))));
        }
        Ok(())
    }

    /// Rows that all columns have.
    pub(crate) fn common_rows(&self, leaves: &[LeafData], asked: usize) -> usize {
        let rows = leaves.iter().zip(&self.columns).map(|(d, c)| d.num_rows / c.leaf.rows_scale as usize);
        rows.min().unwrap_or(asked)
    }

    /// Fetches the blobs of at most the first `rows` rows; says of how many, as the budget allows.
    pub(crate) fn fetch_blobs(
        &self,
        leaves: &mut [LeafData],
        rows: usize,
        budget: usize,
        arena: &Arena,
    ) -> Result<usize> {
        if self.blobs.is_empty() || rows == 0 {
            return Ok(rows);
        }
        let media = Media {
            source: &self.source,
            store: &self.store,
            limits: &self.limits,
            scattered: self.scattered,
        };
        fetch_values(&media, &self.columns, leaves, &self.blobs, rows, budget, arena)
            .map_err(|e| self.in_file(e))
    }

    /// Builds the batch of the first `rows` rows of the leaves; of fewer, where the types of the schema cannot count
    /// that many at once.
    pub(crate) fn build(
        &self,
        mut leaves: Vec<LeafData>,
        rows: usize,
        budget: usize,
        arena: &Arena,
    ) -> Result<RecordBatch> {
        for (leaf, column) in leaves.iter_mut().zip(&self.columns) {
            leaf.truncate_rows(rows * column.leaf.rows_scale as usize, &column.scheme);
        }
        let mut leaves = leaves.into_iter();
        let mut arrays = Vec::with_capacity(self.schema.fields().len());
        let mut paths = self.columns.iter();
        for field in self.stored.fields() {
            let before = leaves.len();
            let path = paths.as_slice().first().map_or("", |c| c.leaf.path.as_str());
            let array = crate::array::assemble(field, &mut leaves, arena)
                .map_err(|e| self.in_file(e.in_column(path)))?;
            for _ in leaves.len()..before {
                paths.next();
            }
            arrays.push(array);
        }
        let mut rows = rows;
        if !Arc::ptr_eq(&self.stored, &self.schema) {
            (arrays, rows) = self.restore(arrays, rows, budget)?;
        }
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(self.schema.clone(), arrays, &options)
            .map_err(|e| self.in_file(Error::corrupt(format!("values that the schema does not allow: {e}"))))
    }

    /// The arrays that stored ones stand for, of as many rows as can be had at once.
    fn restore(
        &self,
        stored: Vec<ArrayRef>,
        mut rows: usize,
        budget: usize,
    ) -> Result<(Vec<ArrayRef>, usize)> {
        let most = usize::try_from(self.limits.buffer_bytes).unwrap_or(usize::MAX);
        loop {
            // A batch holds at least one row, whatever its size.
            let budget = if rows > 1 { budget } else { most };
            let restored = self.schema.fields().iter().zip(&stored).map(|(field, array)| {
                let array = if array.len() > rows { &array.slice(0, rows) } else { array };
                crate::array::convert::restore(field.data_type(), array, budget)
                    .map_err(|e| e.in_column(field.name()))
            });
            match restored.collect() {
                Ok(arrays) => return Ok((arrays, rows)),
                Err(e) if e.kind() == ErrorKind::Limit && rows > 1 => rows /= 2,
                Err(e) => return Err(self.in_file(e)),
            }
        }
    }

    /// The first rows of `rows`, as many as the budget allows, and how many they are.
    pub(crate) fn read_batch(&self, rows: Range<u64>, budget: usize) -> Result<(RecordBatch, u64)> {
        self.read_batch_looking(rows, budget, |_, _| Ok(()))
    }

    /// The same for a reader that does not come back to these rows.
    pub(super) fn pass_batch(&self, rows: Range<u64>, budget: usize) -> Result<(RecordBatch, u64)> {
        let row_bytes = self.row_bytes(rows.start);
        let read = self.read_batch(rows, budget);
        if let Ok((_, count)) = &read {
            self.source.passed(row_bytes.of(*count) as u64);
        }
        read
    }

    /// The same as [`read_batch`](Self::read_batch); `look` is shown what the leaves have of at least as many rows before they become arrays.
    pub(crate) fn read_batch_looking(
        &self,
        rows: Range<u64>,
        budget: usize,
        look: impl FnOnce(&[LeafData], usize) -> Result<()>,
    ) -> Result<(RecordBatch, u64)> {
        let asked = (rows.end - rows.start) as usize;
        if self.columns.is_empty() || asked == 0 {
            return Ok((self.build(Vec::new(), asked, budget, &Arena::default())?, asked as u64));
        }
        let arena = self.row_bytes(rows.start).arena(asked, budget);
        let mut leaves = self.read(&[rows], budget, &arena)?;
        let count = self.common_rows(&leaves, asked);
        let count = self.fetch_blobs(&mut leaves, count, budget, &arena)?;
        if count == 0 {
            return Err(self.in_file(no_progress()));
        }
        look(&leaves, count)?;
        let batch = self.build(leaves, count, budget, &arena)?;
        let count = batch.num_rows() as u64;
        Ok((batch, count))
    }

    pub(crate) fn in_file(&self, e: Error) -> Error {
        match self.source.name() {
            Some(name) => e.in_file(name),
            None => e,
        }
    }
}

/// A decoder that yields no row has been misled by the file.
pub(crate) fn no_progress() -> Error {
    Error::corrupt("pages that yield no rows")
}
