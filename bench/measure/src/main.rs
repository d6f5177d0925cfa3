//! Reads a Lance file with pennon and prints what it cost as one line of JSON.
//!
//! ```text
//! pennon-measure FILE ROWS SECONDS [THREADS]
//! ```
//!
//! `ROWS` is a text file, one set of ascending row numbers a line, separated by spaces. Each measure is repeated for
//! `SECONDS` after one run that is not counted; the answer holds the seconds of one repetition. CPU is user and system time of all
//! threads of the process. `speed.py` starts this and the Python side alike.

use std::error::Error;
use std::hint::black_box;
use std::time::{Duration, Instant};

use arrow_array::RecordBatch;
use pennon_file::File;
use rustix::time::{ClockId, clock_gettime};
use serde_json::{Value, json};

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (path, rows, seconds, threads) = match arguments.as_slice() {
        [path, rows, seconds] => (path, rows, seconds.parse()?, 1),
        [path, rows, seconds, threads] => (path, rows, seconds.parse()?, threads.parse()?),
        _ => return Err("usage: pennon-measure FILE ROWS SECONDS [THREADS]".into()),
    };
    let sets = row_sets(rows)?;
    let time = Duration::from_secs_f64(seconds);

    let file = File::open(path)?;
    if let Ok(only) = std::env::var("PENNON_ONLY") {
        // One measure alone, for a profiler.
        let mut next = sets.iter().cycle();
        let figure = repeat(time, || match only.as_str() {
            "scan" => scan(&file, threads).map(|batches| count(&batches)),
            _ => {
                let rows = next.next().ok_or("no rows")?;
                Ok(count(&file.take(rows).batches()?.collect::<Result<Vec<_>, _>>()?))
            }
        })?;
        println!("{figure}");
        return Ok(());
    }
    let open = repeat(time / 4, || Ok(File::open(path)?.num_rows()))?;
    let scan = repeat(time, || scan(&file, threads).map(|batches| count(&batches)))?;
    let stream = repeat(time, || {
        let mut num_rows = 0;
        for batch in file.scan().threads(threads).batches()? {
            num_rows += black_box(batch?).num_rows() as u64;
        }
        Ok(num_rows)
    })?;
    let mut next = sets.iter().cycle();
    let take = repeat(time, || {
        // The iterator cycles over a list that row_sets found not to be empty.
        let rows = next.next().ok_or("no rows")?;
        let batches = file.take(rows).batches()?.collect::<Result<Vec<_>, _>>()?;
        Ok(count(&batches))
    })?;
    let mut next = sets.iter().cycle();
    let open_take = repeat(time, || {
        let rows = next.next().ok_or("no rows")?;
        let file = File::open(path)?;
        let batches = file.take(rows).batches()?.collect::<Result<Vec<_>, _>>()?;
        Ok(count(&batches))
    })?;

    let answer = json!({
        "rows": file.num_rows(), "bytes": file.file_bytes(), "threads": threads,
        "open": open, "scan": scan, "stream": stream, "take": take, "open_take": open_take,
    });
    println!("{answer}");
    Ok(())
}

/// The whole table as record batches held in memory.
fn scan(file: &File, threads: usize) -> Outcome<Vec<RecordBatch>> {
    Ok(file.scan().threads(threads).batches()?.collect::<Result<_, _>>()?)
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
    if sets.is_empty() { Err("no rows to take".into()) } else { Ok(sets) }
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
