//! Scans of the rows that pass a predicate.
//!
//! ```text
//! task   rows ──▶ the predicate's columns ──▶ a bit per row ──▶ ranges of rows that pass
//!                                                               │
//!        batch ◀── other columns, of these rows alone ◀─────────┘   columns of the predicate are not read again
//! ```
//!
//! Rows of which none can pass, by statistics of zones (`zones.rs`), are in no task; those that all pass are read without being
//! looked at. A task is as many rows as a batch's worth of them will pass, by what has passed so far: of wide rows that all pass
//! a few, of a search for one row in millions a million. Batches without rows are not handed out.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{Schema, SchemaRef};

use super::batch::{Projected, no_progress};
use super::batches::{Batches, From, Scan};
use super::gaps::rows_of;
use super::parallel::Workers;
use super::zones::{Outlook, Piece, Pieces, num_rows};
use crate::column::Column;
use crate::filter::{Bound, Predicate, concat, ranges_of, select};
use crate::ranges::{drop_first, first_of};
use crate::{BlobView, Error, Result};

/// Most rows of a task, in batches.
const TASK_BATCHES: u64 = 16;

impl Scan {
    /// Keeps the rows for which a predicate is TRUE. Its columns need not be among those that are handed out.
    ///
    /// The columns of the predicate are read first, and the others only for the rows that pass.
    ///
    /// ```no_run
    /// use pennon_file::File;
    /// use pennon_file::filter::col;
    ///
    /// # fn main() -> pennon_file::Result<()> {
    /// let file = File::open("flights.lance")?;
    /// let late = col("dep_delay").gt(60) & col("origin").is_in(["JFK", "EWR"]);
    /// for batch in file.scan().columns(&["flight", "dest"]).filter(late).limit(100).batches()? {
    ///     println!("{} flights", batch?.num_rows());
    /// }
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn filter(mut self, predicate: Predicate) -> Self {
        self.filter = Some(match self.filter.take() {
            Some(first) => first.and(predicate),
            None => predicate,
        });
        self
    }

    /// Whether the filter is told by the file's statistics which rows to look at: what is handed out is the same.
    #[doc(hidden)]
    #[must_use]
    pub fn use_statistics(mut self, on: bool) -> Self {
        self.statistics = on;
        self
    }
}

/// The columns of a predicate, and the predicate in their terms.
pub(super) fn bound(scan: &Scan, predicate: &Predicate) -> Result<(Projected, Bound)> {
    let columns = predicate.columns();
    let paths: Vec<String> = columns.iter().map(|c| c.path().to_owned()).collect();
    // The second of a name is the second only beside the first.
    let all: Vec<String> = columns.iter().flat_map(|c| c.paths_with_namesakes()).collect();
    let project = |view: BlobView| match scan.file.project_as(Some(&all), view) {
        Ok(tests) => Ok(tests),
        Err(_) => scan.file.project_as(Some(&paths), view),
    };
    // Columns of the filter may be handed out too, so they are of the same types.
    let mut tests = project(scan.blobs)?.with_string_views(scan.string_views);
    let mut bound = predicate.bind(&tests.schema).map_err(|e| tests.in_file(e))?;
    // Whether a blob is null its descriptor says: the bytes are not fetched if that is all that is asked.
    if !tests.blobs.is_empty() {
        let descriptors = project(BlobView::Descriptors)?.with_string_views(scan.string_views);
        if let Ok(without) = predicate.bind(&descriptors.schema) {
            (tests, bound) = (descriptors, without);
        }
    }
    Ok((tests, bound))
}

/// Starts a filtered scan.
pub(super) fn batches(scan: &Scan, projected: Arc<Projected>, predicate: &Predicate) -> Result<Batches> {
    let (mut tests, bound) = bound(scan, predicate)?;
    let outlook = Outlook::of(scan, &tests, &bound)?;
    let num_rows = outlook.num_rows();
    tests.prefer_mapping(scan.rows.start, num_rows, true);
    let search = Arc::new(Search::new(projected.clone(), tests, bound, scan));
    let pieces = Pieces::new(outlook.stretches);
    let small = pieces.first().is_none_or(|(first, _)| num_rows <= search.batch_rows(first));
    let mut plan = Plan { search: search.clone(), pieces, left: scan.limit };
    let threads = scan.most_threads();
    let tasks = if threads > 1 && !small && scan.limit > 0 {
        let workers = search.clone();
        let run = move |task: &Piece| workers.run(task.clone());
        Tasks::Workers(Workers::start(move || plan.next(), run, threads))
    } else {
        Tasks::Here(plan)
    };
    let filtered = Filtered { search, tasks, current: None, left: scan.limit };
    Ok(Batches { projected, from: From::Filter(Box::new(filtered)), failed: false })
}

/// What all tasks of a filtered scan share.
#[derive(Debug)]
pub(super) struct Search {
    output: Arc<Projected>,
    tests: Projected,
    bound: Bound,
    /// For each field handed out, the field of `tests` that it is; `None` is the next of `rest`.
    kept: Vec<Option<usize>>,
    /// What is handed out and not in `tests`.
    rest: Projected,
    batch_rows: u64,
    batch_bytes: usize,
    limit: u64,
    /// Rows looked at so far, and those that passed.
    seen: AtomicU64,
    passed: AtomicU64,
}

/// The tasks to come.
#[derive(Debug)]
struct Plan {
    search: Arc<Search>,
    pieces: Pieces,
    /// The limit, less the rows known to pass that are in tasks already.
    left: u64,
}

impl Plan {
    fn next(&mut self) -> Option<Piece> {
        let (start, passes) = self.pieces.first().filter(|_| self.left > 0)?;
        if !passes {
            return self.pieces.next(self.search.task_rows(start));
        }
        let mut task = self.pieces.next(self.search.batch_rows(start).min(self.left))?;
        if let [rows] = task.rows.as_mut_slice() {
            let end = self.search.output.cut(rows.clone());
            self.pieces.put_back(end..rows.end, true);
            rows.end = end;
        }
        self.left -= num_rows(&task.rows);
        Some(task)
    }
}

/// Rows that passed, on their way to batches.
#[derive(Debug)]
struct Found {
    /// Ascending, disjoint; none is empty.
    ranges: Vec<Range<u64>>,
    /// What the fields of `tests` that are handed out have in these rows.
    kept: Vec<Option<ArrayRef>>,
    /// Rows to ask for at most, after a batch held fewer than were asked for: how large blobs are is not planned by.
    most: u64,
    /// The first batch of them.
    first: Option<RecordBatch>,
    /// Rows of the task that were not looked at.
    rows: Vec<Range<u64>>,
}

impl Search {
    fn new(output: Arc<Projected>, tests: Projected, bound: Bound, scan: &Scan) -> Self {
        let batch_bytes = scan.budget(&output);
        let (kept, rest) = split(&output, &tests);
        Self {
            output,
            tests,
            bound,
            kept,
            rest,
            batch_rows: scan.batch_rows as u64,
            batch_bytes,
            limit: scan.limit,
            seen: AtomicU64::new(0),
            passed: AtomicU64::new(0),
        }
    }

    /// Rows of a batch handed out.
    fn batch_rows(&self, row: u64) -> u64 {
        self.output.rows_for(row, self.batch_bytes).min(self.batch_rows)
    }

    /// Rows of which about a batch will pass.
    fn task_rows(&self, row: u64) -> u64 {
        let (seen, passed) = (self.seen.load(Ordering::Relaxed), self.passed.load(Ordering::Relaxed));
        let target = self.batch_rows(row);
        let wanted = target.min(self.limit).max(1) as f64 * (seen + 1) as f64 / (passed + 1) as f64;
        (wanted as u64).clamp(target.min(self.batch_rows), self.batch_rows.saturating_mul(TASK_BATCHES))
    }

    fn run(&self, task: Piece) -> Result<Found> {
        let mut found = if task.passes {
            // What the predicate looks at is read with the rest.
            let ranges = first_of(&task.rows, self.limit);
            Found { ranges, kept: vec![None; self.kept.len()], most: u64::MAX, first: None, rows: Vec::new() }
        } else {
            self.look(task.rows)?
        };
        found.first = self.batch(&mut found)?;
        Ok(found)
    }

    /// Looks at rows until a batch of them has passed.
    fn look(&self, mut rows: Vec<Range<u64>>) -> Result<Found> {
        let start = rows.first().map_or(0, |range| range.start);
        let target = self.batch_rows(start).min(self.limit);
        let step = self.tests.rows_for(start, self.batch_bytes).min(self.batch_rows);
        let mut ranges: Vec<Range<u64>> = Vec::new();
        let mut parts: Vec<Vec<ArrayRef>> = vec![Vec::new(); self.kept.len()];
        let mut count = 0;
        let mut at = 0;
        while count < target
            && let Some(left) = rows.get_mut(at)
        {
            let part = left.start..left.end.min(left.start.saturating_add(step));
            let (batch, seen) = self.tests.read_batch(part.clone(), self.batch_bytes)?;
            let bits = self.bound.evaluate(&batch)?;
            let passed = bits.count_set_bits() as u64;
            self.seen.fetch_add(seen, Ordering::Relaxed);
            self.passed.fetch_add(passed, Ordering::Relaxed);
            left.start += seen;
            at += usize::from(left.is_empty());
            if passed == 0 {
                continue;
            }
            count += passed;
            let found = ranges_of(&bits);
            for (parts, field) in parts.iter_mut().zip(&self.kept) {
                if let Some(field) = field {
                    parts.push(select(batch.column(*field), &found)?);
                }
            }
            for range in found {
                let range = part.start + range.start as u64..part.start + range.end as u64;
                match ranges.last_mut() {
                    Some(last) if last.end == range.start => last.end = range.end,
                    _ => ranges.push(range),
                }
            }
        }
        let ranges = first_of(&ranges, self.limit);
        let kept = parts.iter().map(|parts| concat(parts)).collect::<Result<Vec<_>>>()?;
        rows.drain(..at);
        Ok(Found { ranges, kept, most: u64::MAX, first: None, rows })
    }

    /// The next batch of what was found.
    fn batch(&self, found: &mut Found) -> Result<Option<RecordBatch>> {
        let Some(first) = found.ranges.first() else { return Ok(None) };
        let asked = first_of(&found.ranges, self.batch_rows(first.start).min(found.most));
        let num_asked = asked.iter().map(|r| (r.end - r.start) as usize).sum();
        let mut count = num_asked;
        // Fields whose parts do not join are read again, with the others.
        let again = self.kept.iter().zip(&found.kept).any(|(field, kept)| field.is_some() && kept.is_none());
        let source = if again { &self.output } else { &self.rest };
        let mut read = Vec::new();
        if !source.columns.is_empty() {
            let batch = rows_of(source, &asked, count, self.batch_bytes)?;
            (read, count) = (batch.columns().to_vec(), batch.num_rows());
        }
        let columns: Vec<ArrayRef> = if again {
            read
        } else {
            let mut read = read.into_iter();
            let of_field = |kept: &Option<ArrayRef>| match kept {
                Some(array) => Some(array.slice(0, count)),
                None => read.next(),
            };
            found.kept.iter().map(of_field).collect::<Option<_>>().ok_or_else(no_progress)?
        };
        let options = RecordBatchOptions::new().with_row_count(Some(count));
        let batch = RecordBatch::try_new_with_options(self.output.schema.clone(), columns, &options)
            .map_err(|e| Error::corrupt(format!("values that the schema does not allow: {e}")))?;
        drop_first(&mut found.ranges, count as u64);
        found.most = if count < num_asked { count as u64 } else { found.most }.saturating_mul(2);
        for array in found.kept.iter_mut().flatten() {
            *array = array.slice(count, array.len() - count);
        }
        Ok(Some(batch))
    }
}

/// Which fields of the output the predicate's columns already are, and a projection of the others.
fn split(output: &Projected, tests: &Projected) -> (Vec<Option<usize>>, Projected) {
    let (ours, theirs) = (by_field(output), by_field(tests));
    // Every field has columns, so that there are as many groups of them; where not, all is read anew.
    let grouped = ours.len() == output.schema.fields().len() && theirs.len() == tests.schema.fields().len();
    let numbers = |of: &Projected, columns: &Range<usize>| -> Vec<u32> {
        of.columns[columns.clone()].iter().map(|c| c.leaf.column).collect()
    };
    let same = |at: usize, other: usize| {
        tests.schema.field(other) == output.schema.field(at)
            && numbers(tests, &theirs[other]) == numbers(output, &ours[at])
    };
    let kept: Vec<Option<usize>> = (0..output.schema.fields().len())
        .map(|at| (0..theirs.len()).find(|other| grouped && same(at, *other)))
        .collect();
    let read = |schema: &Schema| -> SchemaRef {
        let fields = schema.fields().iter().zip(&kept).filter(|(_, kept)| kept.is_none());
        Arc::new(Schema::new(fields.map(|(field, _)| field.clone()).collect::<Vec<_>>()))
    };
    let schema = read(&output.schema);
    // What is stored as it is handed out is told by being the same schema.
    let stored =
        if Arc::ptr_eq(&output.schema, &output.stored) { schema.clone() } else { read(&output.stored) };
    let columns: Vec<usize> = if grouped {
        let read = ours.iter().zip(&kept).filter(|(_, kept)| kept.is_none());
        read.flat_map(|(columns, _)| columns.clone()).collect()
    } else {
        (0..output.columns.len()).collect()
    };
    let blobs =
        columns.iter().enumerate().filter(|(_, c)| output.blobs.binary_search(c).is_ok()).map(|(i, _)| i);
    let rest = Projected {
        source: output.source.clone(),
        schema,
        stored,
        blobs: blobs.collect(),
        columns: columns.iter().map(|c| output.columns[*c].clone()).collect(),
        limits: output.limits.clone(),
        store: output.store.clone(),
        scattered: output.scattered,
    };
    (kept, rest)
}

/// Positions of the columns of each field: those whose paths begin alike.
fn by_field(projected: &Projected) -> Vec<Range<usize>> {
    let mut at = 0;
    let groups = projected.columns.chunk_by(|a, b| top(&a.leaf.path) == top(&b.leaf.path));
    let range = |group: &[Arc<Column>]| {
        at += group.len();
        at - group.len()..at
    };
    groups.map(range).collect()
}

/// The first part of a path.
fn top(path: &str) -> &str {
    let mut quoted = false;
    let end = path.find(|c| {
        quoted ^= c == '`';
        c == '.' && !quoted
    });
    &path[..end.unwrap_or(path.len())]
}

/// The batches of a filtered scan.
#[derive(Debug)]
pub(super) struct Filtered {
    search: Arc<Search>,
    tasks: Tasks,
    current: Option<Found>,
    /// Rows that may still be handed out.
    left: u64,
}

#[derive(Debug)]
enum Tasks {
    Here(Plan),
    Workers(Workers<Piece, Found>),
}

impl Filtered {
    /// The next batch that has rows.
    pub(super) fn advance(&mut self) -> Option<Result<RecordBatch>> {
        loop {
            if self.left == 0 {
                return None;
            }
            let next = match &mut self.current {
                Some(found) => match found.first.take() {
                    Some(batch) => Ok(Some(batch)),
                    None => self.search.batch(found),
                },
                None => {
                    let found = match &mut self.tasks {
                        Tasks::Here(plan) => self.search.run(plan.next()?),
                        Tasks::Workers(workers) => workers.next()?.0,
                    };
                    match found {
                        Ok(found) => {
                            self.current = Some(found);
                            continue;
                        }
                        Err(e) => Err(e),
                    }
                }
            };
            match next {
                Err(e) => return Some(Err(self.search.output.in_file(e))),
                Ok(Some(batch)) => {
                    let rows = (batch.num_rows() as u64).min(self.left);
                    self.left -= rows;
                    return Some(Ok(batch.slice(0, rows as usize)));
                }
                // Rows of the task that are left are looked at here.
                Ok(None) => {
                    let rows = self.current.take().map_or(Vec::new(), |found| found.rows);
                    if !rows.is_empty() {
                        match self.search.run(Piece { rows, passes: false }) {
                            Ok(found) => self.current = Some(found),
                            Err(e) => return Some(Err(self.search.output.in_file(e))),
                        }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_begins_with_a_name() {
        assert_eq!(top("`a.b`.c"), "`a.b`");
    }
}
