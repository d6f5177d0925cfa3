//! Takes: rows by number, in the order asked, repeats allowed.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use super::TABLE_BATCH_BYTES;
use super::batch::{Projected, no_progress};
use crate::column::Column;
use crate::encoding::Arena;
use crate::page::LeafData;
use crate::ranges::of_numbers;
use crate::read::File;
use crate::schema::BlobView;
use crate::{Error, Result};

/// Row numbers that are looked at together, at most.
const MAX_ROWS: usize = 1 << 20;

/// A take to be: which rows, which columns. See [`File::take`].
#[derive(Debug, Clone)]
pub struct Take {
    file: File,
    columns: Option<Vec<String>>,
    rows: Vec<u64>,
    batch_bytes: usize,
    blobs: BlobView,
    string_views: bool,
}

impl Take {
    pub(crate) fn new(file: File, rows: Vec<u64>) -> Self {
        Self {
            file,
            columns: None,
            rows,
            batch_bytes: TABLE_BATCH_BYTES,
            blobs: BlobView::default(),
            string_views: false,
        }
    }

    /// Reads these columns only, in file order: paths as `a`, `a.b`, `l.item` (an exact top-level name wins).
    #[must_use]
    pub fn columns<S: AsRef<str>>(mut self, paths: &[S]) -> Self {
        self.columns = Some(paths.iter().map(|p| p.as_ref().to_owned()).collect());
        self
    }

    /// Arrow bytes at which a batch ends; a single row may be larger.
    #[must_use]
    pub fn batch_bytes(mut self, bytes: usize) -> Self {
        self.batch_bytes = bytes.max(1);
        self
    }

    /// How blob columns are read.
    #[must_use]
    pub fn blobs(mut self, view: BlobView) -> Self {
        self.blobs = view;
        self
    }

    /// Hands out strings and binary values with 32-bit offsets as views (`utf8_view`, `binary_view`), which whoever filters or sorts
    /// next copies 16 bytes of in place of the string.
    #[must_use]
    pub fn string_views(mut self, on: bool) -> Self {
        self.string_views = on;
        self
    }

    /// Starts the take. Nothing is read of a file when a row number is out of range.
    ///
    /// # Errors
    /// A row number at or past the file's row count, a column that it does not have, or metadata that
    /// cannot be read.
    pub fn batches(self) -> Result<TakeBatches> {
        let num_rows = self.file.num_rows();
        if let Some(row) = self.rows.iter().find(|r| **r >= num_rows) {
            return Err(Error::invalid(format!("row {row} is out of range: the file has {num_rows} rows")));
        }
        let projected = self.file.project_as(self.columns.as_deref(), self.blobs)?;
        let mut projected = projected.with_string_views(self.string_views);
        projected.scattered = true;
        let batch_bytes = self.batch_bytes;
        Ok(TakeBatches { projected, rows: self.rows, done: 0, batch_bytes, most: MAX_ROWS, failed: false })
    }

    /// The columns, and the rows as ascending ranges, for whoever wants to know what would be read.
    pub(super) fn planned(&self) -> Result<(Projected, Vec<Range<u64>>)> {
        let num_rows = self.file.num_rows();
        if let Some(row) = self.rows.iter().find(|r| **r >= num_rows) {
            return Err(Error::invalid(format!("row {row} is out of range: the file has {num_rows} rows")));
        }
        Ok((self.file.project_as(self.columns.as_deref(), self.blobs)?, Order::of(&self.rows).ranges))
    }

    /// All batches; usually one.
    ///
    /// # Errors
    /// Those of [`batches`](Self::batches), and what reading meets.
    pub fn read(self) -> Result<Vec<RecordBatch>> {
        let mut batches = self.batches()?;
        let mut out: Vec<_> = batches.by_ref().collect::<Result<_>>()?;
        if out.is_empty() {
            out.push(RecordBatch::new_empty(batches.schema()));
        }
        Ok(out)
    }
}

/// The batches of a take, in the order asked.
#[derive(Debug)]
pub struct TakeBatches {
    projected: Projected,
    rows: Vec<u64>,
    done: usize,
    batch_bytes: usize,
    /// Rows to ask for at most, after the blobs of a batch were larger than its budget.
    most: usize,
    failed: bool,
}

impl TakeBatches {
    /// Schema of every batch.
    pub fn schema(&self) -> SchemaRef {
        self.projected.schema.clone()
    }

    fn advance(&mut self) -> Result<RecordBatch> {
        let (mut leaves, found, arena) = self.leaves()?;
        let rows = self.projected.fetch_blobs(&mut leaves, found, self.batch_bytes, &arena)?;
        self.most = if rows < found { rows } else { self.most }.saturating_mul(2);
        let batch = self.projected.build(leaves, rows, self.batch_bytes, &arena)?;
        self.done += batch.num_rows();
        Ok(batch)
    }

    /// What the columns store of the next rows, and how many those are; `None` at the end.
    pub(crate) fn next_leaves(&mut self) -> Result<Option<(Vec<LeafData>, usize)>> {
        if self.done >= self.rows.len() {
            return Ok(None);
        }
        let (leaves, rows, _) = self.leaves()?;
        self.done += rows;
        Ok(Some((leaves, rows)))
    }

    /// The columns that are read.
    pub(crate) fn columns(&self) -> &[Arc<Column>] {
        &self.projected.columns
    }

    /// Leaves of the next rows in the order asked, as many as the budget allows; they may hold more than those.
    fn leaves(&self) -> Result<(Vec<LeafData>, usize, Arena)> {
        let left = &self.rows[self.done..];
        let mut count = left.len().min(MAX_ROWS).min(self.most.max(1));
        let row_bytes = self.projected.row_bytes(left[0]);
        count = count.min(usize::try_from(row_bytes.rows_in(self.batch_bytes)).unwrap_or(MAX_ROWS));
        loop {
            let asked = &left[..count];
            if self.projected.columns.is_empty() {
                return Ok((Vec::new(), count, Arena::default()));
            }
            let order = Order::of(asked);
            let arena = row_bytes.arena(count, self.batch_bytes);
            // Where rows are asked out of order, what is read first is not what is handed out.
            let first = if order.positions.is_none() { arena.clone() } else { Arena::default() };
            let leaves = self.projected.read(&order.ranges, self.batch_bytes, &first)?;
            let have = self.projected.common_rows(&leaves, order.distinct);
            if have == 0 {
                return Err(self.projected.in_file(no_progress()));
            }
            let Some(positions) = &order.positions else { return Ok((leaves, have, arena)) };
            if have < order.distinct {
                // Rows are larger than was promised: ask for fewer of them.
                count = (count / 2).max(1);
                continue;
            }
            let mut rows = count;
            let mut gathered = Vec::with_capacity(leaves.len());
            for (leaf, column) in leaves.iter().zip(&self.projected.columns) {
                let scale = column.leaf.rows_scale as usize;
                let data = leaf
                    .gather(&positions[..rows], scale, &column.scheme, self.batch_bytes, &arena)
                    .map_err(|e| self.projected.in_file(e.in_column(&column.leaf.path)))?;
                rows = rows.min(data.num_rows / scale);
                gathered.push(data);
            }
            for (data, leaf) in gathered.iter_mut().zip(leaves) {
                data.dictionary = leaf.dictionary;
            }
            return Ok((gathered, rows, arena));
        }
    }
}

impl Iterator for TakeBatches {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed || self.done >= self.rows.len() {
            return None;
        }
        let batch = self.advance();
        self.failed = batch.is_err();
        Some(batch)
    }
}

/// Row numbers as ranges to read, and how to get from there to the order asked.
struct Order {
    /// Ascending, disjoint.
    ranges: Vec<Range<u64>>,
    /// Rows in the ranges.
    distinct: usize,
    /// Where each asked row is among them; `None` if they are in order already.
    positions: Option<Vec<u32>>,
}

impl Order {
    fn of(rows: &[u64]) -> Self {
        if rows.is_sorted_by(|a, b| a < b) {
            return Self { ranges: of_numbers(rows.iter().copied()), distinct: rows.len(), positions: None };
        }
        let mut sorted: Vec<(u64, u32)> = rows.iter().enumerate().map(|(i, r)| (*r, i as u32)).collect();
        sorted.sort_unstable();
        let mut positions = vec![0u32; rows.len()];
        let mut distinct = 0u32;
        let mut last = None;
        for (row, i) in &sorted {
            if last != Some(*row) {
                distinct += 1;
                last = Some(*row);
            }
            positions[*i as usize] = distinct - 1;
        }
        sorted.dedup_by_key(|(row, _)| *row);
        let ranges = of_numbers(sorted.iter().map(|(row, _)| *row));
        Self { ranges, distinct: distinct as usize, positions: Some(positions) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_order_becomes_ascending_ranges_and_positions_in_them() {
        let order = Order::of(&[9, 3, 4, 9, 3]);
        assert_eq!(order.ranges, [3..5, 9..10]);
        assert_eq!((order.distinct, order.positions), (3, Some(vec![2, 0, 1, 2, 0])));
        let order = Order::of(&[1, 2, 7]);
        assert_eq!((order.ranges, order.positions), (vec![1..3, 7..8], None));
    }
}
