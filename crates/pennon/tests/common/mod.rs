//! The built program and small tables for it.
#![allow(dead_code, reason = "each test file uses its own part")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Arc;

use arrow_array::builder::{Int32Builder, ListBuilder};
use arrow_array::{
    Array, ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, StringArray, StructArray,
};
use arrow_schema::{DataType, Field, Fields, Schema};
use pennon::convert::{Format, Output as Target, WriterOptions, create_writer};

/// A directory with the files that the tests name.
pub struct Place {
    pub dir: tempfile::TempDir,
}

pub struct Ran {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Place {
    /// `birds.csv`, and `t.lance`, `t.parquet`, `t.arrow`, `t.jsonl` with the same 1,000 rows.
    pub fn new() -> Self {
        let dir = tempfile::tempdir().expect("a temporary directory");
        std::fs::write(dir.path().join("birds.csv"), "name,wings\nauk,2\nowl,2\n,\n").expect("to write");
        let place = Self { dir };
        for format in [Format::Lance, Format::Parquet, Format::Arrow, Format::Jsonl] {
            write(&place.path(&format!("t.{format}")), format, &[table(0..1000)]);
        }
        place
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Runs the program in the directory.
    pub fn run(&self, args: &[&str]) -> Ran {
        let output = self.command(args).stdin(Stdio::null()).output().expect("the program runs");
        ran(&output)
    }

    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pennon"));
        command.args(args).current_dir(self.dir.path());
        command
    }

    /// Runs a shell line in the directory, with the program as `$P`.
    pub fn shell(&self, line: &str) -> Ran {
        let mut command = Command::new("bash");
        command
            .args(["-c", line])
            .env("P", env!("CARGO_BIN_EXE_pennon"))
            .current_dir(self.dir.path())
            .stdin(Stdio::null());
        ran(&command.output().expect("bash runs"))
    }

    /// Names in the directory, sorted.
    pub fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.dir.path()).expect("to list");
        let mut names: Vec<_> =
            entries.map(|e| e.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }
}

pub fn ran(output: &Output) -> Ran {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ran { code: output.status.code().unwrap_or(-1), out: text(&output.stdout), err: text(&output.stderr) }
}

/// Rows with numbers, texts, nulls, a struct and lists.
pub fn table(rows: std::ops::Range<i64>) -> RecordBatch {
    let some = |i: i64| i % 7 != 3;
    let mut lists = ListBuilder::new(Int32Builder::new());
    for i in rows.clone() {
        if some(i) { lists.append_value((0..i % 4).map(|v| Some(v as i32))) } else { lists.append_null() }
    }
    let x: ArrayRef =
        Arc::new(rows.clone().map(|i| some(i).then_some(i as f64 / 4.0)).collect::<Float64Array>());
    let b: ArrayRef = Arc::new(rows.clone().map(|i| Some(i % 2 == 0)).collect::<BooleanArray>());
    let fields = Fields::from(vec![
        Field::new("x", DataType::Float64, true),
        Field::new("b", DataType::Boolean, true),
    ]);
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("id", Arc::new(rows.clone().collect::<Int64Array>())),
        (
            "word",
            Arc::new(rows.clone().map(|i| some(i).then(|| format!("word {i}"))).collect::<StringArray>()),
        ),
        ("s", Arc::new(StructArray::new(fields, vec![x, b], None))),
        ("l", Arc::new(lists.finish())),
    ];
    let fields: Vec<_> = columns.iter().map(|(n, c)| Field::new(*n, c.data_type().clone(), true)).collect();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns.into_iter().map(|(_, c)| c).collect())
        .expect("a batch")
}

pub fn write(path: &Path, format: Format, batches: &[RecordBatch]) {
    let output = Target::path(path, true).expect("an output");
    let mut writer =
        create_writer(format, output, &batches[0].schema(), &WriterOptions::default()).expect("a writer");
    batches.iter().for_each(|b| writer.write(b).expect("to write"));
    writer.finish().and_then(|s| s.commit()).expect("to finish");
}
