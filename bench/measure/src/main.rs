//! Reads a Lance file with pennon and prints what it cost as one line of JSON.
//!
//! ```text
//! pennon-measure FILE ROWS SECONDS [THREADS [MEASURE]]
//! ```
//!
//! `ROWS` is a text file, one set of ascending row numbers a line, separated by spaces. Each measure is repeated for
//! `SECONDS` after one run that is not counted; the answer holds the seconds of one repetition. CPU is user and system
//! time of all threads of the process. With `MEASURE` only that one is run, for a profiler. `speed.py` starts this
//! and the Python side alike.

use std::error::Error;
use std::hint::black_box;
use std::time::{Duration, Instant};

use arrow_array::RecordBatch;
use pennon_file::File;
use rustix::time::{ClockId, clock_gettime};
use serde_json::{Value, json};

type Outcome<T> = Result<T, Box<dyn Error>>;

const MEASURES: [&str; 5] = ["open", "scan", "stream", "take", "open_take"];

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [path, rows, seconds, rest @ ..] = arguments.as_slice() else {
        return Err("usage: pennon-measure FILE ROWS SECONDS [THREADS [MEASURE]]".into());
    };
    let threads = rest.first().map_or(Ok(1), |n| n.parse())?;
    let only = rest.get(1).map(String::as_str);
    let sets = row_sets(rows)?;
    let time = Duration::from_secs_f64(seconds.parse()?);

    let file = File::open(path)?;
    let mut answer = json!({ "rows": file.num_rows(), "bytes": file.file_bytes(), "threads": threads });
    for measure in MEASURES.into_iter().filter(|name| only.is_none_or(|only| only == *name)) {
        let mut sets = sets.iter().cycle();
        let mut next = || sets.next().ok_or("no rows to take");
        answer[measure] = match measure {
            "open" => repeat(time / 4, || Ok(File::open(path)?.num_rows())),
            "scan" => repeat(time, || scan(&file, threads).map(|batches| count(&batches))),
            "stream" => repeat(time, || stream(&file, threads)),
            "take" => repeat(time, || take(&file, next()?)),
            _ => repeat(time, || take(&File::open(path)?, next()?)),
        }?;
    }
    println!("{answer}");
    Ok(())
}

/// The whole table as record batches held in memory.
fn scan(file: &File, threads: usize) -> Outcome<Vec<RecordBatch>> {
    Ok(file.scan().threads(threads).batches()?.collect::<Result<_, _>>()?)
}

/// The whole table batch by batch, none of them kept.
fn stream(file: &File, threads: usize) -> Outcome<u64> {
    let mut num_rows = 0;
    for batch in file.scan().threads(threads).batches()? {
        num_rows += black_box(batch?).num_rows() as u64;
    }
    Ok(num_rows)
}

fn take(file: &File, rows: &[u64]) -> Outcome<u64> {
    let batches = file.take(rows).batches()?.collect::<Result<Vec<_>, _>>()?;
    Ok(count(&batches))
}

fn count(batches: &[RecordBatch]) -> u64 {
    black_box(batches).iter().map(|batch| batch.num_rows() as u64).sum()
}

fn row_sets(path: &str) -> Outcome<Vec<Vec<u64>>> {
    let text = std::fs::read_to_string(path)?;
    let sets = text
        .lines()
        .map(|line| line.split(' ').map(str::parse).collect::<Result<Vec<u64>, _>>())
        .collect::<Result<Vec<_>, _>>()?;
    Ok(sets)
}

/// Runs `work` once for nothing, then for as long as `time`, and gives the seconds of one run.
fn repeat(time: Duration, mut work: impl FnMut() -> Outcome<u64>) -> Outcome<Value> {
    let num_rows = work()?;
    let (wall, cpu) = (Instant::now(), process_cpu());
    let mut runs = 0;
    while runs == 0 || wall.elapsed() < time {
        if work()? != num_rows {
            return Err("two runs gave different numbers of rows".into());
        }
        runs += 1;
    }
    let per_run = |total: Duration| total.as_secs_f64() / f64::from(runs);
    Ok(json!({
        "cpu": per_run(process_cpu() - cpu), "wall": per_run(wall.elapsed()), "runs": runs, "rows": num_rows,
    }))
}

/// User and system time of all threads so far, ended ones too.
fn process_cpu() -> Duration {
    let now = clock_gettime(ClockId::ProcessCPUTime);
    // The clock starts at zero with the process and its nanoseconds stay below 10^9.
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}
