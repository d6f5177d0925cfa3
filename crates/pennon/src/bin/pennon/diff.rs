//! `pennon diff`: the logical difference of two files of any readable formats.

use pennon::Result;
use pennon::convert::{
    Batches, OrderedDifference, Reader, Selection, Sums, compare_ordered, pairs, quote_name,
    schema_differences,
};
use serde_json::{Value, json};

use crate::Outcome;
use crate::args::{STDIN_TWICE, Source, bytes};
use crate::output::line;
use crate::progress::Progress;
use crate::table::{count, cut};

/// Differing cells that are shown.
const CELLS: usize = 20;

/// Compare two files by what they hold, whatever their formats
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  pennon diff flights.parquet flights.lance\n  pennon diff old.lance new.lance --ordered\n\nWithout --ordered the order of rows does not matter. Exit code 0 equal, 1 different."
)]
pub(crate) struct Args {
    /// One file
    a: String,
    /// The other file
    b: String,
    /// Compare row by row and show the first 20 cells that differ
    #[arg(long)]
    ordered: bool,
    /// Print JSON: {equal, schema, rows_a, rows_b, columns, cells}
    #[arg(long)]
    json: bool,
    /// Bytes of Arrow data to work with, as in 32MiB
    #[arg(long, value_name = "BYTES", value_parser = bytes, default_value = "32MiB")]
    memory: u64,
    #[command(flatten)]
    source: Source,
}

pub(crate) fn run(args: &Args) -> Result<Outcome> {
    if args.a == "-" && args.b == "-" {
        return Ok(Outcome::WrongUse(STDIN_TWICE.to_owned()));
    }
    let (a, b) = (args.source.open_to_stream(&args.a)?, args.source.open_to_stream(&args.b)?);
    let (schema_a, schema_b) = (a.schema()?, b.schema()?);
    let schema = schema_differences(&schema_a, &schema_b);
    let columns = pairs(&schema_a, &schema_b);
    let names: Vec<_> = columns.iter().map(|(i, _)| quote_name(schema_a.field(*i).name())).collect();
    let batch = usize::try_from(args.memory / 16).unwrap_or(usize::MAX).max(1 << 16);
    let selection = Selection::default().with_batch_bytes(batch);
    let batches = |r: &Reader| -> Result<Batches> { r.batches(&selection) };
    let found = if args.ordered {
        let progress = Progress::rows(a.num_rows());
        let found = compare_ordered(batches(&a)?, batches(&b)?, &columns, CELLS, |rows| progress.at(rows))?;
        drop(progress);
        ordered(&found, &names)
    } else {
        let total = a.num_rows().zip(b.num_rows()).map(|(a, b)| a + b);
        let progress = Progress::rows(total);
        let (left, right): (Vec<_>, Vec<_>) = columns.iter().copied().unzip();
        let (x, y) = (sums(batches(&a)?, &left, &progress)?, sums(batches(&b)?, &right, &progress)?);
        drop(progress);
        unordered(&x, &y, &names)
    };
    let equal = schema.is_empty() && found.equal;
    if args.json {
        let mut report = found.json;
        report["equal"] = json!(equal);
        report["schema"] = json!(schema);
        line(report)?;
    } else {
        for difference in &schema {
            line(format!("schema: {difference}"))?;
        }
        for text in &found.lines {
            line(text)?;
        }
        line(if equal {
            found.verdict
        } else if found.equal {
            "different: the schemas differ, the rows are equal".to_owned()
        } else {
            found.verdict
        })?;
    }
    Ok(if equal { Outcome::Done } else { Outcome::Found })
}

/// What is said about the rows.
struct Report {
    equal: bool,
    lines: Vec<String>,
    verdict: String,
    json: Value,
}

fn sums(batches: Batches, columns: &[usize], progress: &Progress) -> Result<Sums> {
    let mut sums = Sums::new(columns.len());
    for batch in batches {
        let batch = batch?;
        sums.add(&batch, columns)?;
        progress.add(batch.num_rows() as u64);
    }
    Ok(sums)
}

fn unordered(a: &Sums, b: &Sums, names: &[String]) -> Report {
    let mut lines = Vec::new();
    let mut columns = Vec::new();
    if a.rows != b.rows {
        lines.push(format!("rows: {} in A, {} in B", count(a.rows), count(b.rows)));
    }
    let mut differing = 0;
    for (i, name) in names.iter().enumerate() {
        let equal = a.columns[i] == b.columns[i];
        columns.push(json!({ "path": name, "equal": equal, "nulls_a": a.nulls[i], "nulls_b": b.nulls[i] }));
        if !equal {
            differing += 1;
            lines.push(format!(
                "column {name}: values differ; nulls: {} in A, {} in B",
                count(a.nulls[i]),
                count(b.nulls[i])
            ));
        }
    }
    let equal = a == b;
    let verdict = if equal {
        format!("equal: {} rows, {} columns, in any order", count(a.rows), names.len())
    } else if differing > 0 {
        format!("different: {differing} of {} columns differ (--ordered shows cells)", names.len())
    } else if a.rows != b.rows {
        "different: the numbers of rows differ".to_owned()
    } else {
        "different: every column holds the same values, but they stand in other rows together".to_owned()
    };
    let json = json!({ "ordered": false, "rows_a": a.rows, "rows_b": b.rows, "columns": columns, "rows_equal": a.whole == b.whole && a.rows == b.rows });
    Report { equal, lines, verdict, json }
}

fn ordered(found: &OrderedDifference, names: &[String]) -> Report {
    let mut lines = Vec::new();
    if found.rows_a != found.rows_b {
        lines.push(format!("rows: {} in A, {} in B", count(found.rows_a), count(found.rows_b)));
    }
    let show = |v: &Option<String>| v.as_deref().map_or_else(|| "null".to_owned(), cut);
    for cell in &found.cells {
        lines.push(format!(
            "row {}, {}: {} in A, {} in B",
            cell.row,
            cell.path,
            show(&cell.a),
            show(&cell.b)
        ));
    }
    let by_column: Vec<_> = names
        .iter()
        .zip(&found.by_column)
        .filter(|(_, n)| **n > 0)
        .map(|(name, n)| format!("{name} {}", count(*n)))
        .collect();
    let verdict = if found.is_equal() {
        format!("equal: {} rows, {} columns, in order", count(found.rows_a), names.len())
    } else if found.differing == 0 {
        format!(
            "different: the first {} rows are equal, then one side ends",
            count(found.rows_a.min(found.rows_b))
        )
    } else {
        format!("different: {} cells differ: {}", count(found.differing), by_column.join(", "))
    };
    let columns: Vec<_> = names
        .iter()
        .zip(&found.by_column)
        .map(|(path, n)| json!({ "path": path, "equal": *n == 0, "differing": n }))
        .collect();
    let cells: Vec<_> =
        found.cells.iter().map(|c| json!({ "row": c.row, "path": c.path, "a": c.a, "b": c.b })).collect();
    let json = json!({ "ordered": true, "rows_a": found.rows_a, "rows_b": found.rows_b, "columns": columns, "differing": found.differing, "cells": cells });
    Report { equal: found.is_equal(), lines, verdict, json }
}
