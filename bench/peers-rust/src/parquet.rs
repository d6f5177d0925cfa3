//! Reads a Parquet file with the `parquet` crate and prints what it cost, as `pennon-measure` does.
//!
//! ```text
//! measure-parquet JOB.json [MEASURE]
//! ```
//!
//! A take selects rows through the page index, so that only pages with a wanted row are read: the best that Parquet's
//! layout allows.

#[path = "../../measure/src/job.rs"]
#[allow(dead_code, reason = "this program writes nothing")]
mod job;
#[path = "../../measure/src/measures.rs"]
mod measures;

use std::fs::File;
use std::hint::black_box;

use job::{Job, Outcome};
use measures::Engine;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder,
    RowSelection, RowSelector,
};
use parquet::file::metadata::PageIndexPolicy;

const BATCH_ROWS: usize = 32_768;

fn main() -> Outcome<()> {
    let job = Job::from_arguments()?;
    measures::run(&Parquet, &job)
}

struct Parquet;

struct Handle {
    file: File,
    metadata: ArrowReaderMetadata,
}

impl Handle {
    fn reader(&self, columns: Option<&[String]>) -> Outcome<ParquetRecordBatchReaderBuilder<File>> {
        let builder =
            ParquetRecordBatchReaderBuilder::new_with_metadata(self.file.try_clone()?, self.metadata.clone());
        let Some(columns) = columns else { return Ok(builder) };
        let fields = self.metadata.schema().fields();
        let roots =
            columns.iter().map(|name| fields.find(name).map(|(at, _)| at).ok_or(format!("no column {name}")));
        let roots = roots.collect::<Result<Vec<_>, _>>()?;
        let mask = ProjectionMask::roots(self.metadata.parquet_schema(), roots);
        Ok(builder.with_projection(mask))
    }
}

impl Engine for Parquet {
    type Handle = Handle;

    fn open(&self, path: &str, _: Option<&[String]>) -> Outcome<Handle> {
        let file = File::open(path)?;
        let options = ArrowReaderOptions::new().with_page_index_policy(PageIndexPolicy::Optional);
        let metadata = ArrowReaderMetadata::load(&file, options)?;
        Ok(Handle { file, metadata })
    }

    fn describe(&self, handle: &Handle) -> Outcome<u64> {
        Ok(handle.metadata.metadata().file_metadata().num_rows() as u64)
    }

    fn scan(&self, handle: &Handle, columns: Option<&[String]>, keep: bool) -> Outcome<u64> {
        read(handle.reader(columns)?.with_batch_size(BATCH_ROWS).build()?, keep)
    }

    fn take(&self, handle: &Handle, rows: &[u64], columns: Option<&[String]>) -> Outcome<u64> {
        let selection = select(rows);
        read(handle.reader(columns)?.with_row_selection(selection).with_batch_size(rows.len()).build()?, true)
    }
}

fn read(reader: ParquetRecordBatchReader, keep: bool) -> Outcome<u64> {
    let (mut kept, mut num_rows) = (Vec::new(), 0);
    for batch in reader {
        let batch = black_box(batch?);
        num_rows += batch.num_rows() as u64;
        if keep {
            kept.push(batch);
        }
    }
    Ok(num_rows)
}

/// Ascending rows as runs of what is passed over and what is read.
fn select(rows: &[u64]) -> RowSelection {
    let mut selectors = Vec::with_capacity(2 * rows.len());
    let mut next = 0;
    for &row in rows {
        if row > next {
            selectors.push(RowSelector::skip((row - next) as usize));
        }
        selectors.push(RowSelector::select(1));
        next = row + 1;
    }
    selectors.into()
}
