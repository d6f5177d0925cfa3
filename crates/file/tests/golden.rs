//! Every golden file is read as its manifest says, whole and in every kind of part.
//!
//! Guards against: anything the official writer produces that we read otherwise.

mod common;

use arrow_array::RecordBatch;
use bytes::Bytes;
use common::compare::{Flags, difference, schema_difference};
use common::engine::{
    Part, expected_projection, expected_take, open, path_text, paths, random_preset, scan, take, whole, write,
};
use common::rng::Rng;
use common::shared::{Golden, goldens};
use common::work::{each, no_failures};
use pennon_file::{ErrorKind, ExplainOptions, WriteOptions};

#[test]
fn every_golden_file_is_read_equal_to_its_expected_values() {
    let all = goldens();
    let only = std::env::var("PENNON_ONLY").unwrap_or_default();
    let files: Vec<&Golden> = all.files.iter().filter(|g| g.case.contains(&only)).collect();
    let failures = each(&files, |golden| check(golden));
    println!("golden: {} of {} read equal", files.len() - failures.len(), files.len());
    no_failures("golden", &failures, |i| files[i].name());
    assert!(
        !all.full || !only.is_empty() || files.len() >= 1090,
        "only {} files in the manifest",
        files.len()
    );
}

fn check(golden: &Golden) -> Result<(), String> {
    let expected = golden.read_expected();
    let schema = expected[0].schema();
    let expected = whole(&schema, &expected);
    let bytes = Bytes::from(std::fs::read(&golden.file).map_err(|e| e.to_string())?);
    let file = open(&bytes).map_err(|e| format!("open: {e}"))?;
    let rows = expected.num_rows() as u64;
    if file.num_rows() != rows {
        return Err(format!("{} rows, expected {rows}", file.num_rows()));
    }

    let all = |part: &Part<'_>, what: &str| same(&expected, scan(&file, part), what);
    all(&Part::default(), "whole")?;
    all(&Part { batch_rows: Some(7), ..Part::default() }, "batches of 7")?;
    all(
        &Part { threads: Some(2), batch_bytes: Some(4096), ..Part::default() },
        "small batches on two threads",
    )?;

    let mut rng = Rng::new(rows ^ 0x5eed);
    for _ in 0..10 {
        let start = rng.below(rows as usize + 1);
        let end = start + rng.below(rows as usize - start + 1);
        let part = Part { rows: Some(start as u64..end as u64), ..Part::default() };
        same(&expected.slice(start, end - start), scan(&file, &part), &format!("rows {start}..{end}"))?;
    }

    // Single rows by both verbs: all of them when few, the edges and a sample when many.
    let mut singles: Vec<u64> = if rows <= 40 {
        (0..rows).collect()
    } else {
        (0..24).map(|_| rng.below(rows as usize) as u64).collect()
    };
    if rows > 40 {
        singles.extend([0, 1, rows - 2, rows - 1]);
    }
    for row in singles {
        let one = expected.slice(row as usize, 1);
        same(&one, take(&file, &[row], None), &format!("take of row {row}"))?;
        let part = Part { rows: Some(row..row + 1), ..Part::default() };
        same(&one, scan(&file, &part), &format!("scan of row {row}"))?;
    }

    for count in [0, 3, 20, 300] {
        let asked: Vec<u64> =
            (0..count).filter(|_| rows > 0).map(|_| rng.below(rows as usize) as u64).collect();
        same(&expected_take(&expected, &asked), take(&file, &asked, None), &format!("take of {asked:?}"))?;
    }
    let descending: Vec<u64> =
        (0..rows).rev().step_by(1 + rows as usize / 500).flat_map(|r| [r, r]).collect();
    same(
        &expected_take(&expected, &descending),
        take(&file, &descending, None),
        "take of every row twice, from the end",
    )?;

    // One column, and one nested child: every path there is, up to a few dozen.
    let mut paths = paths(&schema);
    rng.shuffle(&mut paths);
    for path in paths.iter().take(24) {
        if schema.fields().iter().filter(|f| *f.name() == path[0]).count() > 1 {
            continue;
        }
        let text = path_text(path);
        let columns: &[&str] = &[&text];
        let projected = expected_projection(&expected, path);
        let part = Part { columns: Some(columns), ..Part::default() };
        same(&projected, scan(&file, &part), &format!("column {text}"))?;
        let asked: Vec<u64> = (0..4).filter(|_| rows > 0).map(|_| rng.below(rows as usize) as u64).collect();
        same(
            &expected_take(&projected, &asked),
            take(&file, &asked, Some(columns)),
            &format!("take of {asked:?}, column {text}"),
        )?;
    }
    Ok(())
}

#[test]
fn every_golden_table_written_by_us_is_read_by_us_with_its_schema() {
    let all = goldens();
    let wanted = |g: &&Golden| ["2.0", "2.1", "2.2"].contains(&g.version.as_str());
    let files: Vec<&Golden> = all.files.iter().filter(wanted).collect();
    let failures = each(&files, |golden| {
        let batches = golden.read_expected();
        let schema = batches[0].schema();
        let mut options = WriteOptions::default();
        options.format_version = golden.version.parse().map_err(|e| format!("{e}"))?;
        options.max_page_rows = Some(1000);
        let mut rng = Rng::new(golden.rows);
        options.preset = random_preset(&mut rng);
        options.thorough = rng.chance(1, 3);
        let bytes = write(&schema, &batches, options).map_err(|e| format!("write: {e}"))?;
        let file = open(&bytes).map_err(|e| format!("open: {e}"))?;
        let found = file.schema().map_err(|e| format!("schema: {e}"))?;
        if let Some(text) = schema_difference(&schema, &found, Flags::Same) {
            return Err(text);
        }
        let expected = whole(&schema, &batches);
        same(&expected, scan(&file, &Part::default()), "whole")?;
        let rows = golden.rows as usize;
        let asked: Vec<u64> = (0..20).filter(|_| rows > 0).map(|_| rng.below(rows) as u64).collect();
        same(&expected_take(&expected, &asked), take(&file, &asked, None), &format!("take of {asked:?}"))
    });
    println!("golden: {} of {} tables written and read equal", files.len() - failures.len(), files.len());
    no_failures("golden", &failures, |i| files[i].name());
}

#[test]
fn every_golden_file_is_explained_unless_its_pages_have_no_choice() {
    let all = goldens();
    let files: Vec<&Golden> = all.files.iter().collect();
    let failures = each(&files, |golden| {
        let bytes = Bytes::from(std::fs::read(&golden.file).map_err(|e| e.to_string())?);
        let file = open(&bytes).map_err(|e| format!("open: {e}"))?;
        let mut rng = Rng::new(golden.rows);
        let mut options = ExplainOptions::default();
        options.preset = random_preset(&mut rng);
        let explained = match (file.explain_encodings(&options, |_| Ok(())), golden.version.as_str()) {
            (Err(e), "2.0") if e.kind() == ErrorKind::Unsupported => return Ok(()),
            (Ok(_), "2.0") => return Err("pages of 2.0 were explained".into()),
            (explained, _) => explained.map_err(|e| format!("explain: {e}"))?,
        };
        let inspection = file.inspect().map_err(|e| format!("inspect: {e}"))?;
        let stored: Vec<_> = inspection.columns.iter().map(|c| (c.path.as_str(), c.bytes)).collect();
        let found: Vec<_> = explained.columns.iter().map(|c| (c.path.as_str(), c.file_bytes)).collect();
        if stored != found {
            return Err(format!("{found:?} explained, {stored:?} stored"));
        }
        let pages = |pages: u64, sum: u64, what: &str| {
            if pages == sum { Ok(()) } else { Err(format!("{sum} {what} of {pages} pages")) }
        };
        for column in &explained.columns {
            let reasons = column.reasons.iter().map(|(_, pages)| pages).sum();
            pages(column.pages, reasons, "reasons")?;
            let chosen: u64 = column.candidates.iter().map(|c| c.chosen_pages).sum();
            if chosen > column.pages || column.candidates.iter().any(|c| c.pages > column.pages) {
                return Err(format!("more candidates than pages: {column:?}"));
            }
        }
        Ok(())
    });
    println!("golden: {} of {} files explained", files.len() - failures.len(), files.len());
    no_failures("golden", &failures, |i| files[i].name());
}

fn same(
    expected: &RecordBatch,
    actual: pennon_file::Result<Vec<RecordBatch>>,
    what: &str,
) -> Result<(), String> {
    let actual = actual.map_err(|e| format!("{what}: {e}"))?;
    difference(std::slice::from_ref(expected), &actual).map_or(Ok(()), |text| Err(format!("{what}: {text}")))
}
