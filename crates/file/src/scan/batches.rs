//! Scans: a range of rows as a stream of batches.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use super::batch::Projected;
use super::parallel::Workers;
use super::{DEFAULT_BATCH_BYTES, DEFAULT_BATCH_ROWS, TABLE_BATCH_BYTES};
use crate::read::File;
use crate::schema::BlobView;
use crate::{Error, Result};

/// Threads of a scan at most.
const MAX_THREADS: usize = 256;

/// A scan to be: which columns, which rows, in what pieces. See [`File::scan`].
#[derive(Debug, Clone)]
pub struct Scan {
    pub(super) file: File,
    pub(super) columns: Option<Vec<String>>,
    pub(super) rows: Range<u64>,
    pub(super) limit: u64,
    pub(super) batch_rows: usize,
    /// `None`: by the number of columns.
    pub(super) batch_bytes: Option<usize>,
    /// `None`: as many as there are and are worth it.
    pub(super) threads: Option<usize>,
    /// All batches are kept.
    pub(super) for_table: bool,
    pub(super) blobs: BlobView,
    pub(super) string_views: bool,
    #[cfg(feature = "filter")]
    pub(super) filter: Option<crate::filter::Predicate>,
    /// Whether the filter is told by statistics which rows to look at.
    #[cfg(feature = "filter")]
    pub(super) statistics: bool,
}

impl Scan {
    pub(crate) fn new(file: File) -> Self {
        let rows = 0..file.num_rows();
        Self {
            file,
            columns: None,
            rows,
            limit: u64::MAX,
            batch_rows: DEFAULT_BATCH_ROWS,
            batch_bytes: None,
            threads: None,
            for_table: false,
            blobs: BlobView::default(),
            string_views: false,
            #[cfg(feature = "filter")]
            filter: None,
            #[cfg(feature = "filter")]
            statistics: true,
        }
    }

    /// Reads these columns only, in file order: paths as `a`, `a.b`, `l.item` (an exact top-level name wins).
    #[must_use]
    pub fn columns<S: AsRef<str>>(mut self, paths: &[S]) -> Self {
        self.columns = Some(paths.iter().map(|p| p.as_ref().to_owned()).collect());
        self
    }

    /// Reads these rows only; the range must lie in the file.
    #[must_use]
    pub fn rows(mut self, rows: Range<u64>) -> Self {
        self.rows = rows;
        self
    }

    /// Hands out this many rows at most: the first of the range, or the first that pass the filter.
    #[must_use]
    pub fn limit(mut self, rows: u64) -> Self {
        self.limit = rows;
        self
    }

    /// Most rows of a batch; at least 1.
    #[must_use]
    pub fn batch_rows(mut self, rows: usize) -> Self {
        self.batch_rows = rows.max(1);
        self
    }

    /// Arrow bytes at which a batch ends, in place of [`DEFAULT_BATCH_BYTES`]. A single row may be larger, and a batch passes the bound by at most
    /// one chunk.
    #[must_use]
    pub fn batch_bytes(mut self, bytes: usize) -> Self {
        self.batch_bytes = Some(bytes.max(1));
        self
    }

    /// Says that all batches are kept: they hold up to [`TABLE_BATCH_BYTES`], unless told otherwise, and pages of the file that values are
    /// slices of stay mapped for the next table. Otherwise a scan without a filter takes the pages behind it off the process, unless the
    /// handle has mapped the file by then.
    #[must_use]
    pub fn for_table(mut self) -> Self {
        self.for_table = true;
        self
    }

    /// Arrow bytes of a batch of these columns.
    pub(super) fn budget(&self, projected: &Projected) -> usize {
        /// For each column.
        const COLUMN: usize = 32 << 10;
        let default = match self.for_table {
            true => TABLE_BATCH_BYTES,
            false => (projected.columns.len() * COLUMN).clamp(DEFAULT_BATCH_BYTES, TABLE_BATCH_BYTES),
        };
        self.batch_bytes.unwrap_or(default)
    }

    /// Threads that decode; 1 decodes in the caller's. Without, as many as there are and have enough to do.
    #[must_use]
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = Some(threads.clamp(1, MAX_THREADS));
        self
    }

    /// Threads that may decode.
    pub(super) fn most_threads(&self) -> usize {
        self.threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, |n| n.get()))
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

    /// Starts the scan.
    ///
    /// # Errors
    /// A column that the file does not have, rows outside the file, or metadata that cannot be read.
    pub fn batches(mut self) -> Result<Batches> {
        self.check_rows()?;
        let mut projected = self.projected()?;
        #[cfg(feature = "filter")]
        if let Some(predicate) = self.filter.take() {
            return super::filtered::batches(&self, Arc::new(projected), &predicate);
        }
        let threads = self.most_threads();
        self.rows.end = self.rows.end.min(self.rows.start.saturating_add(self.limit));
        projected.prefer_mapping(self.rows.start, self.rows.end - self.rows.start, self.for_table);
        let projected = Arc::new(projected);
        let batch_bytes = self.budget(&projected);
        let plan = Plan { rows: self.rows, batch_rows: self.batch_rows as u64, batch_bytes };
        let threads = if threads > 1 { plan.worth_threads(&projected, threads, self.threads) } else { 1 };
        let workers = (threads > 1).then(|| {
            let (plans, reads, mut plan) = (projected.clone(), projected.clone(), plan.clone());
            let budget = plan.batch_bytes;
            let run = move |task: &Range<u64>| reads.pass_batch(task.clone(), budget);
            Workers::start(move || plan.next(&plans), run, threads)
        });
        let from = From::Rows { plan, workers, rest: 0..0, most: u64::MAX };
        Ok(Batches { projected, from, failed: false })
    }

    fn projected(&self) -> Result<Projected> {
        let projected = self.file.project_as(self.columns.as_deref(), self.blobs)?;
        Ok(projected.with_string_views(self.string_views))
    }

    pub(super) fn check_rows(&self) -> Result<()> {
        let num_rows = self.file.num_rows();
        if self.rows.start > self.rows.end || self.rows.end > num_rows {
            return Err(Error::invalid(format!(
                "rows {}..{} are asked of a file of {num_rows} rows",
                self.rows.start, self.rows.end
            )));
        }
        Ok(())
    }
}

/// What is left to hand out of a scan.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    rows: Range<u64>,
    batch_rows: u64,
    batch_bytes: usize,
}

impl Plan {
    /// Rows of the batch that begins at `row`.
    fn task_rows(&self, projected: &Projected, row: u64) -> u64 {
        /// Chunks hold a power of two of values, rarely more than this: a batch that ends between two of them leaves none to be decoded
        /// again for the next.
        const EDGE: u64 = 4096;
        let rows = projected.rows_for(row, self.batch_bytes);
        if rows >= self.batch_rows {
            return self.batch_rows;
        }
        // Slices of a page in equal parts, so that no rest of one is copied beside the beginning of the next.
        let left = projected.slice_end(row).map_or(0, |end| end.saturating_sub(row));
        if left > rows / 8 {
            return left.div_ceil(left.div_ceil(rows));
        }
        let edge = row.saturating_add(rows) / EDGE * EDGE;
        if edge >= row.saturating_add(rows.div_ceil(2)) { edge - row } else { rows }
    }

    /// Threads that have enough to do each: a new one begins with memory that nobody has touched, which a few MiB of batches do not make
    /// up for. Two on 12 MB of lists took as long as one, and 1.6 times its CPU.
    fn worth_threads(&self, projected: &Projected, most: usize, asked: Option<usize>) -> usize {
        /// Bytes of batches for each thread.
        const ENOUGH: f64 = (16 << 20) as f64;
        let rows = self.rows.end - self.rows.start;
        let row_bytes = projected.row_bytes(self.rows.start);
        let batches = rows.div_ceil(row_bytes.rows_in(self.batch_bytes).min(self.batch_rows));
        // Slices of a file in memory leave nothing to do.
        let bytes = row_bytes.of(rows) - projected.sliced_bytes(self.rows.start) * rows as f64;
        let worth = asked.unwrap_or_else(|| most.min((bytes / ENOUGH) as usize));
        worth.min(usize::try_from(batches).unwrap_or(usize::MAX))
    }

    /// The next task: rows of about one batch.
    fn next(&mut self, projected: &Projected) -> Option<Range<u64>> {
        if self.rows.start >= self.rows.end {
            return None;
        }
        let start = self.rows.start;
        let end = self.rows.end.min(start.saturating_add(self.task_rows(projected, start)));
        let end = projected.cut(start..end);
        self.rows.start = end;
        Some(start..end)
    }
}

/// The batches of a scan, in row order.
#[derive(Debug)]
pub struct Batches {
    pub(super) projected: Arc<Projected>,
    pub(super) from: From,
    pub(super) failed: bool,
}

/// Where batches come from.
#[derive(Debug)]
pub(super) enum From {
    /// All rows of a range.
    Rows {
        plan: Plan,
        workers: Option<Workers<Range<u64>, (RecordBatch, u64)>>,
        /// Rows of the current task that its batches did not hold yet.
        rest: Range<u64>,
        /// Rows to ask for at most, after a batch held fewer than were asked for: how large blobs are is told by
        /// none of what tasks are planned by.
        most: u64,
    },
    /// Those that pass a predicate.
    #[cfg(feature = "filter")]
    Filter(Box<super::filtered::Filtered>),
    /// Nothing more.
    Nothing,
}

impl Batches {
    /// Schema of every batch.
    pub fn schema(&self) -> SchemaRef {
        self.projected.schema.clone()
    }

    fn advance(&mut self) -> Option<Result<RecordBatch>> {
        let (plan, workers, rest, most) = match &mut self.from {
            From::Rows { plan, workers, rest, most } => (plan, workers, rest, most),
            #[cfg(feature = "filter")]
            From::Filter(filtered) => return filtered.advance(),
            From::Nothing => return None,
        };
        if rest.is_empty() {
            match workers {
                Some(workers) => {
                    let (result, task) = workers.next()?;
                    return Some(result.map(|(batch, count)| {
                        *rest = task.start + count..task.end;
                        *most = if rest.is_empty() { u64::MAX } else { count.saturating_mul(2) };
                        batch
                    }));
                }
                None => *rest = plan.next(&self.projected)?,
            }
        }
        let at_most = if self.projected.blobs.is_empty() { u64::MAX } else { *most };
        let asked = rest.start..rest.end.min(rest.start.saturating_add(at_most));
        let num_asked = asked.end - asked.start;
        let result = self.projected.pass_batch(asked, plan.batch_bytes);
        Some(result.map(|(batch, count)| {
            rest.start += count;
            *most = if count < num_asked { count } else { *most }.saturating_mul(2);
            batch
        }))
    }
}

impl Iterator for Batches {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        let item = self.advance();
        if matches!(item, Some(Err(_))) {
            self.failed = true;
            self.from = From::Nothing;
        }
        item
    }
}
