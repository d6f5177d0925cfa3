//! Reads or writes a Lance file with pennon and prints what it cost as one line of JSON.
//!
//! ```text
//! pennon-measure JOB.json [MEASURE]
//! ```
//!
//! `run.py` and `instructions.py` write jobs; [`job`] shows one. Each measure is repeated for the job's seconds after one run
//! that is not counted; the answer holds the seconds of one repetition. CPU is user and system time of all threads of the
//! process. With `MEASURE` only that one is run, for a profiler.

mod job;
mod measures;

use std::hint::black_box;
use std::path::Path;

use arrow_array::RecordBatch;
use arrow_ipc::reader::FileReader;
use job::{Job, Outcome};
use measures::Engine;
use pennon_file::{File, PathWriter, Preset, WriteOptions};

fn main() -> Outcome<()> {
    let job = Job::from_arguments()?;
    let source = match job.write["source"].as_str() {
        Some(source) => read_arrow(source)?,
        None => Vec::new(),
    };
    if job.threads == 1 {
        // Writers work on threads of the global pool: then this one is all of it.
        rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread().build_global()?;
    }
    measures::run(&Pennon { job: &job, source }, &job)
}

struct Pennon<'a> {
    job: &'a Job,
    /// What is written, in memory before anything is measured.
    source: Vec<RecordBatch>,
}

impl Engine for Pennon<'_> {
    type Handle = File;

    fn open(&self, path: &str, _: Option<&[String]>) -> Outcome<File> {
        Ok(File::open(path)?)
    }

    fn describe(&self, file: &File) -> Outcome<u64> {
        file.schema()?;
        Ok(file.num_rows())
    }

    fn scan(&self, file: &File, columns: Option<&[String]>, keep: bool) -> Outcome<u64> {
        let mut scan = if keep { file.scan().for_table() } else { file.scan() };
        if self.job.threads == 1 {
            scan = scan.threads(1);
        }
        if let Some(columns) = columns {
            scan = scan.columns(columns);
        }
        let (mut kept, mut num_rows) = (Vec::new(), 0);
        for batch in scan.batches()? {
            let batch = black_box(batch?);
            num_rows += batch.num_rows() as u64;
            if keep {
                kept.push(batch);
            }
        }
        Ok(num_rows)
    }

    fn take(&self, file: &File, rows: &[u64], columns: Option<&[String]>) -> Outcome<u64> {
        let mut take = file.take(rows);
        if let Some(columns) = columns {
            take = take.columns(columns);
        }
        let batches = black_box(take.batches()?.collect::<Result<Vec<_>, _>>()?);
        Ok(batches.iter().map(|batch| batch.num_rows() as u64).sum())
    }

    fn write(&self) -> Outcome<u64> {
        let first = self.source.first().ok_or("the job names no source to write")?;
        let mut options = WriteOptions::default();
        options.preset = match self.job.write["preset"].as_str() {
            Some("fast") => Preset::Fast,
            Some("small") => Preset::Small,
            _ => Preset::Balanced,
        };
        let path = Path::new(&self.job.file).with_extension("written");
        let mut writer = PathWriter::create(&path, &first.schema(), options)?;
        for batch in &self.source {
            writer.write(batch)?;
        }
        let num_rows = writer.num_rows();
        writer.finish()?;
        std::fs::remove_file(path)?;
        Ok(num_rows)
    }
}

fn read_arrow(path: &str) -> Outcome<Vec<RecordBatch>> {
    let reader = FileReader::try_new(std::fs::File::open(path)?, None)?;
    Ok(reader.collect::<Result<_, _>>()?)
}
