//! Asking the official library, in a Python, what it reads from files.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use arrow_array::RecordBatch;
use serde_json::{Value, json};

use super::compare::difference;
use super::engine::{expected_take, whole};
use super::rng::Rng;
use super::shared::in_ci;

/// The Python that has the official library: `PENNON_PYTHON`. Without it `what` is skipped, in one line;
/// with `CI=true` that is a failure.
pub fn python(what: &str) -> Option<PathBuf> {
    let python = std::env::var_os("PENNON_PYTHON").map(PathBuf::from).filter(|p| p.exists());
    if python.is_none() {
        assert!(!in_ci(), "CI=true, but PENNON_PYTHON names no Python: {what} cannot run");
        println!("{what}: not run, 0 checked: PENNON_PYTHON names no Python with the official library");
    }
    python
}

/// One file, and what it must hold.
#[derive(Debug)]
pub struct Job {
    pub name: String,
    pub file: PathBuf,
    /// Columns to ask for; `None` is all.
    pub columns: Option<Vec<String>>,
    pub expected: RecordBatch,
    ranges: Vec<(usize, usize)>,
    takes: Vec<Vec<u64>>,
}

impl Job {
    /// All rows, some ranges and some takes (ascending and distinct).
    pub fn new(name: String, file: PathBuf, expected: RecordBatch, seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let rows = expected.num_rows();
        let mut ranges = Vec::new();
        let mut takes = Vec::new();
        if rows > 0 {
            for _ in 0..3 {
                let start = rng.below(rows);
                ranges.push((start, 1 + rng.below(rows - start)));
            }
            takes.push(vec![rows as u64 - 1]);
            for _ in 0..2 {
                let mut asked: Vec<u64> = (0..rng.within(1, 30)).map(|_| rng.below(rows) as u64).collect();
                asked.sort_unstable();
                asked.dedup();
                takes.push(asked);
            }
        }
        Self { name, file, columns: None, expected, ranges, takes }
    }

    /// Only the whole read, for what the official library cannot read in parts.
    pub fn whole_only(mut self) -> Self {
        self.ranges.clear();
        self.takes.clear();
        self
    }

    fn compare(&self, out: &str) -> Result<(), String> {
        let check = |suffix: String, expected: RecordBatch, what: String| {
            let found =
                read_stream(Path::new(&format!("{out}.{suffix}"))).map_err(|e| format!("{what}: {e}"))?;
            // The official reader gives no batch at all for no rows.
            if found.is_empty() && expected.num_rows() == 0 {
                return Ok(());
            }
            difference(&[expected], &found).map_or(Ok(()), |text| Err(format!("official {what}: {text}")))
        };
        check("all".into(), self.expected.clone(), "read".into())?;
        for (i, (start, n)) in self.ranges.iter().enumerate() {
            check(format!("range{i}"), self.expected.slice(*start, *n), format!("rows {start}+{n}"))?;
        }
        for (i, rows) in self.takes.iter().enumerate() {
            check(format!("take{i}"), expected_take(&self.expected, rows), format!("take {rows:?}"))?;
        }
        Ok(())
    }
}

fn read_stream(path: &Path) -> Result<Vec<RecordBatch>, String> {
    let file = std::fs::File::open(path).map_err(|e| format!("{}: {e}", path.display()))?;
    let reader = arrow_ipc::reader::StreamReader::try_new_buffered(file, None).map_err(|e| e.to_string())?;
    let batches: Vec<RecordBatch> =
        reader.collect::<Result<_, _>>().map_err(|e: arrow_schema::ArrowError| e.to_string())?;
    Ok(batches)
}

/// What the official library makes of each job, in order. A job that kills its process fails alone.
pub fn ask(python: &Path, jobs: &[Job]) -> Vec<Result<(), String>> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let out = |id: usize| folder.path().join(id.to_string()).to_string_lossy().into_owned();
    let lines: Vec<Value> = jobs
        .iter()
        .enumerate()
        .map(|(id, job)| {
            json!({"id": id, "file": job.file, "columns": job.columns, "ranges": job.ranges, "takes": job.takes, "out": out(id)})
        })
        .collect();
    let results = run(python, "interchange.py", &lines, |id| jobs[id].compare(&out(id)));
    results.iter().enumerate().filter(|(_, r)| r.is_err()).for_each(|(i, _)| keep(&jobs[i], i));
    results
}

/// Has the official library write `batch` as a file of format version `version`, for each job.
pub fn write_all(
    python: &Path,
    jobs: &[(RecordBatch, PathBuf)],
    version: &str,
    max_page_bytes: Option<u64>,
) -> Vec<Result<(), String>> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut lines = Vec::new();
    for (id, (batch, out)) in jobs.iter().enumerate() {
        let file = folder.path().join(format!("{id}.arrow"));
        write_ipc(&file, batch);
        lines.push(
            json!({"id": id, "file": file, "out": out, "version": version, "max_page_bytes": max_page_bytes}),
        );
    }
    run(python, "write.py", &lines, |_| Ok(()))
}

/// Gives `lines` to a script of the folder `python`, and `then` each line that it answers without an error.
fn run(
    python: &Path,
    script: &str,
    lines: &[Value],
    mut then: impl FnMut(usize) -> Result<(), String>,
) -> Vec<Result<(), String>> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/python").join(script);
    let mut results: Vec<Result<(), String>> = Vec::with_capacity(lines.len());
    while results.len() < lines.len() {
        let first = results.len();
        let mut child = Command::new(python)
            .arg(&script)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap_or_else(|e| panic!("{}: {e}", python.display()));
        let mut stdin = child.stdin.take().expect("piped");
        let answers = BufReader::new(child.stdout.take().expect("piped"));
        std::thread::scope(|scope| {
            // A process that died does not read the rest: that is found out below.
            scope.spawn(move || lines[first..].iter().try_for_each(|l| writeln!(stdin, "{l}")));
            for line in answers.lines().map_while(Result::ok) {
                let Ok(answer) = serde_json::from_str::<Value>(&line) else { continue };
                let id = results.len();
                if answer["id"].as_u64() != Some(id as u64) {
                    continue;
                }
                results.push(match answer["error"].as_str() {
                    Some(error) => Err(format!("official: {error}")),
                    None => then(id),
                });
            }
        });
        let status = child.wait().expect("the child was started");
        if results.len() < lines.len() && !status.success() {
            results.push(Err(format!("official: its process ended with {status}")));
        } else if results.len() == first {
            panic!("{} answered nothing: does it have the official library?", python.display());
        }
    }
    results
}

fn write_ipc(path: &Path, batch: &RecordBatch) {
    let file = std::fs::File::create(path).expect("the folder takes files");
    let mut writer = arrow_ipc::writer::FileWriter::try_new(file, &batch.schema()).expect("IPC");
    writer.write(batch).and_then(|()| writer.finish()).expect("IPC");
}

/// Keeps a failed job's file and the values it should hold in the folder `PENNON_KEEP`, if it is set.
fn keep(job: &Job, number: usize) {
    let Some(folder) = std::env::var_os("PENNON_KEEP").map(PathBuf::from) else { return };
    let kept = std::fs::create_dir_all(&folder)
        .and_then(|()| std::fs::copy(&job.file, folder.join(format!("{number}.lance"))));
    kept.expect("PENNON_KEEP names a folder to write to");
    write_ipc(&folder.join(format!("{number}.arrow")), &job.expected);
    println!("kept: {number}: {}", job.name);
}

/// `batches` as one, for use as expected values.
pub fn one(batches: &[RecordBatch]) -> RecordBatch {
    whole(&batches[0].schema(), batches)
}
