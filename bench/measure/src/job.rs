//! What is to be measured, as `run.py` writes it down.
//!
//! ```json
//! {"file": "x.lance", "measures": ["scan", "take_100_one"], "seconds": 0.3, "threads": 1, "one": ["a"], "two": ["a", "b"],
//!  "sets": {"100": [[3, 8, …], …]}, "write": {"source": "x.arrow", "preset": "fast"}}
//! ```

use std::error::Error;

use serde_json::Value;

/// Whatever went wrong ends the program.
pub type Outcome<T> = Result<T, Box<dyn Error>>;

/// A file and what to do with it.
pub struct Job {
    /// The file that is read.
    pub file: String,
    /// Names of measures, in the order in which they are run.
    pub measures: Vec<String>,
    /// Time for each; with 0 it is run once.
    pub seconds: f64,
    /// Of scans; 0 is as many as the engine likes.
    pub threads: usize,
    /// The column of measures of one column.
    pub one: Vec<String>,
    /// The columns of measures of two.
    pub two: Vec<String>,
    /// What is written and how, for programs that write.
    pub write: Value,
    sets: Value,
}

impl Job {
    /// Reads the JSON file that the first argument names. A second argument is the only measure to run, for a profiler.
    pub fn from_arguments() -> Outcome<Self> {
        let mut arguments = std::env::args().skip(1);
        let path = arguments.next().ok_or("usage: PROGRAM JOB.json [MEASURE]")?;
        let job: Value = serde_json::from_str(&std::fs::read_to_string(path)?)?;
        let measures = arguments.next().map_or_else(|| names(&job["measures"]), |only| vec![only]);
        Ok(Self {
            file: job["file"].as_str().ok_or("the job names no file")?.to_owned(),
            measures,
            seconds: job["seconds"].as_f64().unwrap_or(0.0),
            threads: job["threads"].as_u64().unwrap_or(1) as usize,
            one: names(&job["one"]),
            two: names(&job["two"]),
            write: job["write"].clone(),
            sets: job["sets"].clone(),
        })
    }

    /// The sets of `size` row numbers, each ascending.
    pub fn sets(&self, size: &str) -> Outcome<Vec<Vec<u64>>> {
        let sets: Vec<Vec<u64>> =
            list(&self.sets[size]).map(|set| list(set).filter_map(Value::as_u64).collect()).collect();
        if sets.is_empty() {
            return Err(format!("the job has no sets of {size} rows").into());
        }
        Ok(sets)
    }
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn names(value: &Value) -> Vec<String> {
    list(value).filter_map(Value::as_str).map(str::to_owned).collect()
}
