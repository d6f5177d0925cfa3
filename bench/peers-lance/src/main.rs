//! Reads a Lance file with the `lance-file` crate, of which pylance is made, and prints what it cost, as `pennon-measure` does.
//!
//! ```text
//! measure-lance JOB.json [MEASURE]
//! ```
//!
//! What a process keeps for all its files is made once: the runtime of tokio, the object store, the scheduler of reads. What is
//! learned of a file is cached as long as the file is open.

#[path = "../../measure/src/job.rs"]
#[allow(dead_code, reason = "this program writes nothing")]
mod job;
#[path = "../../measure/src/measures.rs"]
mod measures;

use std::hint::black_box;
use std::sync::Arc;

use arrow_schema::Schema;
use futures::TryStreamExt;
use job::{Job, Outcome};
use lance_core::cache::LanceCache;
use lance_encoding::decoder::{DecoderPlugins, FilterExpression};
use lance_file::LanceEncodingsIo;
use lance_file::reader::{FileReader, FileReaderOptions};
use lance_file::versions::reader_projection_from_column_names;
use lance_io::ReadBatchParams;
use lance_io::object_store::ObjectStore;
use lance_io::scheduler::{ScanScheduler, SchedulerConfig};
use lance_io::utils::CachedFileSize;
use measures::Engine;
use object_store::path::Path;
use tokio::runtime::{Builder, Runtime};

const BATCH_ROWS: u32 = 32_768;
/// Batches decoded ahead of the one that is asked for, as many as pylance's reader has.
const READAHEAD: u32 = 16;
/// Of what is cached of a file; a session of Lance takes as much for its metadata.
const CACHE_BYTES: usize = 1 << 30;

fn main() -> Outcome<()> {
    let job = Job::from_arguments()?;
    let mut builder = Builder::new_multi_thread();
    if job.threads > 0 {
        builder.worker_threads(job.threads);
    }
    let runtime = builder.enable_all().build()?;
    let store = Arc::new(ObjectStore::local());
    let config = SchedulerConfig::max_bandwidth(&store);
    let scheduler = {
        let _inside = runtime.enter();
        ScanScheduler::new(store, config)
    };
    measures::run(&Lance { runtime, scheduler }, &job)
}

struct Lance {
    runtime: Runtime,
    scheduler: Arc<ScanScheduler>,
}

impl Lance {
    /// As pylance opens a file: its metadata first, of which the columns that are read are then found.
    async fn open_for(&self, path: &Path, columns: Option<&[String]>) -> Outcome<FileReader> {
        let file = self.scheduler.open_file(path, &CachedFileSize::unknown()).await?;
        let metadata = Arc::new(FileReader::read_all_metadata(&file).await?);
        let projection = columns.map(|columns| {
            let names: Vec<&str> = columns.iter().map(String::as_str).collect();
            reader_projection_from_column_names(metadata.version, &metadata.file_schema, &names)
        });
        let options = FileReaderOptions::default();
        let io = Arc::new(LanceEncodingsIo::new(file).with_read_chunk_size(options.read_chunk_size));
        let (plugins, cache) = (Arc::<DecoderPlugins>::default(), LanceCache::with_capacity(CACHE_BYTES));
        let reader = FileReader::try_open_with_file_metadata(
            io,
            path.clone(),
            projection.transpose()?,
            plugins,
            metadata,
            &cache,
            options,
        );
        Ok(reader.await?)
    }
}

/// What the reader was opened for, of some rows.
async fn read(reader: &FileReader, rows: ReadBatchParams, batch_rows: u32, keep: bool) -> Outcome<u64> {
    let mut batches = reader.read_stream(rows, batch_rows, READAHEAD, FilterExpression::no_filter()).await?;
    let (mut kept, mut num_rows) = (Vec::new(), 0);
    while let Some(batch) = batches.try_next().await? {
        let batch = black_box(batch);
        num_rows += batch.num_rows() as u64;
        if keep {
            kept.push(batch);
        }
    }
    Ok(num_rows)
}

impl Engine for Lance {
    type Handle = FileReader;

    fn open(&self, path: &str, columns: Option<&[String]>) -> Outcome<FileReader> {
        let path = Path::from_absolute_path(std::path::absolute(path)?)?;
        self.runtime.block_on(self.open_for(&path, columns))
    }

    fn describe(&self, reader: &FileReader) -> Outcome<u64> {
        black_box(Schema::from(reader.schema().as_ref()));
        Ok(reader.num_rows())
    }

    fn scan(&self, reader: &FileReader, _: Option<&[String]>, keep: bool) -> Outcome<u64> {
        self.runtime.block_on(read(reader, ReadBatchParams::RangeFull, BATCH_ROWS, keep))
    }

    fn take(&self, reader: &FileReader, rows: &[u64], _: Option<&[String]>) -> Outcome<u64> {
        // Takes of the crate know rows of 32 bits.
        let indices = rows.iter().map(|&row| u32::try_from(row)).collect::<Result<Vec<_>, _>>()?;
        let batch_rows = u32::try_from(rows.len())?;
        self.runtime.block_on(read(reader, ReadBatchParams::Indices(indices.into()), batch_rows, true))
    }
}
