//! Small files of format version 2.3 written by the official library: read equal in every way, and damaged.
//!
//! Guards against: descriptions of 2.3 that are read otherwise than they are meant, and what a flipped bit makes
//! of structure that a few bytes say for any number of rows. `python/make_planar.py` made the files.

mod common;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow_array::{RecordBatch, StringArray};
use bytes::Bytes;
use common::compare::difference;
use common::counted::{Counted, total};
use common::engine::{Part, expected_take, open, reading_exactly, scan, take, whole};
use common::memory;
use common::shared::read_ipc;
use common::work::{each, no_failures};
use pennon_file::{ErrorKind, File, OpenOptions};

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/planar")
}

/// Name, bytes and values of every file.
fn files() -> Vec<(String, Bytes, RecordBatch)> {
    let mut files: Vec<_> = std::fs::read_dir(folder())
        .expect("the folder is there")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|e| e == "lance"))
        .map(|path| {
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let bytes = Bytes::from(std::fs::read(&path).expect("a file"));
            let values = match name.as_str() {
                "sparse_indexed" => indexed(&bytes),
                _ => {
                    let batches = read_ipc(&path.with_extension("arrow"));
                    whole(&batches[0].schema(), &batches)
                }
            };
            (name, bytes, values)
        })
        .collect();
    files.sort_by(|a, b| a.0.cmp(&b.0));
    assert!(files.len() >= 16, "only {} files", files.len());
    files
}

/// The long texts that are made rather than kept.
fn indexed(bytes: &Bytes) -> RecordBatch {
    let texts = ["red ".repeat(9000), "green ".repeat(7000), "x".to_owned(), "blue ".repeat(9000)];
    let column = StringArray::from_iter((0..100).map(|i| (i % 3 == 0).then(|| texts[i % 4].as_str())));
    RecordBatch::try_new(open(bytes).expect("a file").schema().expect("schema"), vec![Arc::new(column)])
        .expect("one column")
}

#[test]
fn files_of_2_3_are_read_equal_whole_in_parts_and_piece_by_piece() {
    let files = files();
    let failures = each(&files, |(_, bytes, values)| {
        let same = |expected: &RecordBatch, found: pennon_file::Result<Vec<RecordBatch>>, what: &str| {
            let found = found.map_err(|e| format!("{what}: {e}"))?;
            difference(std::slice::from_ref(expected), &found).map_or(Ok(()), |t| Err(format!("{what}: {t}")))
        };
        let apart = File::from_read_at(Counted::new(bytes.clone()), &reading_exactly());
        for file in [open(bytes), apart] {
            let file = file.map_err(|e| e.to_string())?;
            same(values, scan(&file, &Part::default()), "whole")?;
            let small = Part { batch_bytes: Some(64), ..Part::default() };
            same(values, scan(&file, &small), "small batches")?;
            let rows = values.num_rows() as u64;
            for row in 0..rows.min(200) {
                let one = values.slice(row as usize, 1);
                same(&one, take(&file, &[row], None), &format!("take of row {row}"))?;
                let part = Part { rows: Some(row..row + 1), ..Part::default() };
                same(&one, scan(&file, &part), &format!("scan of row {row}"))?;
            }
            let asked: Vec<u64> = (0..rows).rev().step_by(2).chain([0, 0, rows / 2]).collect();
            same(&expected_take(values, &asked), take(&file, &asked, None), "take backwards")?;
        }
        Ok(())
    });
    println!("planar: {} of {} files read equal", files.len() - failures.len(), files.len());
    no_failures("planar", &failures, |i| files[i].0.clone());
}

#[test]
fn every_layout_of_2_3_is_among_the_files() {
    let mut layouts: Vec<&str> = Vec::new();
    for (_, bytes, _) in files() {
        let inspection = open(&bytes).and_then(|f| f.inspect()).expect("inspect");
        layouts.extend(inspection.columns.iter().flat_map(|c| c.pages.iter().map(|p| p.layout)));
    }
    for layout in [
        "mini-block",
        "sparse mini-block",
        "sparse full-zip",
        "sparse indexed",
        "sparse constant",
        "sparse null",
    ] {
        assert!(layouts.contains(&layout), "{layout} is not among {layouts:?}");
    }
}

#[test]
fn a_file_of_2_3_is_refused_unless_unstable_formats_are_allowed() {
    let (_, bytes, _) = files().swap_remove(0);
    let error = File::from_bytes(bytes, &OpenOptions::default()).expect_err("2.3 is not read by default");
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.to_string().contains("allow_unstable"), "{error}");
}

#[test]
fn one_of_many_indexed_values_is_fetched_without_the_others() {
    let (_, bytes, values) = files().into_iter().find(|f| f.0 == "sparse_indexed").expect("it is there");
    let counted = Counted::new(bytes);
    let file = File::from_read_at(counted.clone(), &reading_exactly()).expect("open");
    let all: u64 = {
        let page = &file.inspect().expect("inspect").columns[0].pages[0];
        page.buffers[1].1
    };
    take(&file, &[1], None).expect("a null");
    counted.drain();
    let found = take(&file, &[6], None).expect("the short text");
    assert_eq!(difference(&[values.slice(6, 1)], &found), None);
    let read = total(&counted.drain());
    assert!(read < all / 2, "{read} bytes read, all items have {all}");
}

#[test]
fn every_flipped_bit_of_2_3_gives_values_or_a_typed_error_in_bounded_memory() {
    if !memory::is_child() {
        return memory::in_child("every_flipped_bit_of_2_3_gives_values_or_a_typed_error_in_bounded_memory");
    }
    let base = memory::resident();
    let files = files();
    let cases: Vec<(usize, usize)> =
        files.iter().enumerate().flat_map(|(i, f)| (0..f.1.len()).map(move |at| (i, at))).collect();
    let failures = each(&cases, |(i, at)| {
        let bytes = &files[*i].1;
        let flips = (0..8).map(|bit| 1 << bit).chain([0xff]);
        for flip in flips {
            let start = Instant::now();
            let mut damaged = bytes.to_vec();
            damaged[*at] ^= flip;
            let damaged = Bytes::from(damaged);
            let Ok(file) = open(&damaged) else { continue };
            let rows = file.num_rows();
            if rows == 0 {
                continue;
            }
            let _ = take(&file, &[rows - 1, 0, rows / 2, 0], None);
            let _ = file.inspect();
            // Any number of rows may be announced; the first thousands are as good as all.
            let _ = scan(
                &file,
                &Part { rows: Some(0..rows.min(5000)), batch_rows: Some(700), ..Part::default() },
            );
            if flip == 0xff {
                let apart = File::from_read_at(Counted::new(damaged), &reading_exactly());
                let _ = apart.and_then(|file| take(&file, &[0, rows / 2, rows - 1], None));
            }
            if start.elapsed() > Duration::from_secs(5) {
                return Err(format!("flip {flip:#x}: took {:.1?}", start.elapsed()));
            }
        }
        Ok(())
    });
    let grown = memory::peak().saturating_sub(base);
    println!("planar: {} bytes of {} files, 8 bits each: peak {} MiB", cases.len(), files.len(), grown >> 20);
    no_failures("planar", &failures, |c| format!("{}, byte {}", files[cases[c].0].0, cases[c].1));
    assert!(grown < 512 << 20, "{} MiB", grown >> 20);
}
