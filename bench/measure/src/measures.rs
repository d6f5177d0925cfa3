//! The measures, the same for every engine: `measures.py` tells what they are.

use std::hint::black_box;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use serde_json::{Map, Value, json};

use crate::job::{Job, Outcome};

/// A library that reads one format. Every function answers with a number of rows, which must not change from run to run.
pub trait Engine {
    /// An open file.
    type Handle;

    /// Opens a file, ready to read these columns, or all; the same are asked for afterwards.
    fn open(&self, path: &str, columns: Option<&[String]>) -> Outcome<Self::Handle>;

    /// The schema and the number of rows.
    fn describe(&self, handle: &Self::Handle) -> Outcome<u64>;

    /// Reads these columns, or all; `keep` says whether batches stay in memory until the end.
    fn scan(&self, handle: &Self::Handle, columns: Option<&[String]>, keep: bool) -> Outcome<u64>;

    /// Reads ascending rows of these columns, or all.
    fn take(&self, handle: &Self::Handle, rows: &[u64], columns: Option<&[String]>) -> Outcome<u64>;

    /// Writes what the job says.
    fn write(&self) -> Outcome<u64> {
        Err("this engine does not write".into())
    }
}

/// Runs what the job asks for and prints the answer as JSON.
pub fn run<E: Engine>(engine: &E, job: &Job) -> Outcome<()> {
    let mut answer = Map::new();
    for measure in &job.measures {
        answer.insert(measure.clone(), one_measure(engine, job, measure)?);
    }
    println!("{}", Value::Object(answer));
    Ok(())
}

fn one_measure<E: Engine>(engine: &E, job: &Job, measure: &str) -> Outcome<Value> {
    let path = job.file.as_str();
    let words: Vec<&str> = measure.split('_').collect();
    let columns = match words.last() {
        Some(&"one") => Some(job.one.as_slice()),
        Some(&"two") => Some(job.two.as_slice()),
        _ => None,
    };
    let open = || engine.open(path, columns);
    match words.as_slice() {
        ["write"] => repeat(job.seconds, |_| engine.write()),
        ["open"] => repeat(job.seconds, |_| engine.describe(&open()?)),
        ["open", "one"] => repeat(job.seconds, |_| engine.scan(&open()?, columns, true)),
        ["open", "take", _] => {
            let sets = job.sets("100")?;
            repeat(job.seconds, |run| engine.take(&open()?, &sets[run % sets.len()], columns))
        }
        ["take", size, _] => {
            let (handle, sets) = (open()?, job.sets(size)?);
            repeat(job.seconds, |run| engine.take(&handle, &sets[run % sets.len()], columns))
        }
        ["scan" | "one" | "two"] => {
            let handle = open()?;
            repeat(job.seconds, |_| engine.scan(&handle, columns, true))
        }
        ["stream"] => {
            let handle = open()?;
            repeat(job.seconds, |_| engine.scan(&handle, columns, false))
        }
        _ => Err(format!("there is no measure {measure}").into()),
    }
}

/// Runs `work` once for nothing, then again and again for some seconds; the mean CPU and the median wall time of a run.
/// With no seconds it is run once and no clock looked at: valgrind does not bear how rustix finds that of the process.
fn repeat(seconds: f64, mut work: impl FnMut(usize) -> Outcome<u64>) -> Outcome<Value> {
    let num_rows = work(0)?;
    if seconds <= 0.0 {
        return Ok(json!({ "runs": 1, "rows": counted(&mut work, 1)? }));
    }
    let time = Duration::from_secs_f64(seconds);
    let (began, cpu) = (Instant::now(), process_cpu());
    let mut walls: Vec<Duration> = Vec::new();
    // At least three runs, unless they take long.
    while began.elapsed() < time || (walls.len() < 3 && began.elapsed() <= 4 * time) || walls.is_empty() {
        let before = Instant::now();
        let found = counted(&mut work, walls.len() + 1)?;
        walls.push(before.elapsed());
        if found != num_rows {
            return Err("two runs gave different numbers of rows".into());
        }
    }
    let cpu = (process_cpu() - cpu).as_secs_f64() / walls.len() as f64;
    walls.sort_unstable();
    let wall = walls[walls.len() / 2].as_secs_f64();
    Ok(json!({ "cpu": cpu, "wall": wall, "runs": walls.len(), "rows": num_rows }))
}

/// A run that counts, a function of its own for callgrind to begin and end with.
#[inline(never)]
fn counted(work: &mut dyn FnMut(usize) -> Outcome<u64>, run: usize) -> Outcome<u64> {
    black_box(work(run))
}

/// User and system time of all threads so far, ended ones too.
fn process_cpu() -> Duration {
    let now = clock_gettime(ClockId::ProcessCPUTime);
    // The clock starts at zero with the process and its nanoseconds stay below 10^9.
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}
