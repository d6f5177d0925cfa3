//! A file of ours damaged in every way that disks and transfers manage (case 11).
//!
//! Guards against: wrong values where checksums could tell, faults that `verify` does not place, and
//! panics, hangs or memory without bound on the way.

mod common;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use arrow_array::builder::{Int32Builder, ListBuilder};
use arrow_array::types::Int32Type;
use arrow_array::{
    ArrayRef, BinaryArray, DictionaryArray, Float64Array, Int64Array, RecordBatch, StringArray,
};
use arrow_schema::{Field, Schema};
use bytes::Bytes;
use common::compare::difference;
use common::engine::{Part, expected_take, open, scan, take, write};
use common::memory;
use common::rng::Rng;
use common::work::{each, no_failures};
use pennon_file::{FormatVersion, WriteOptions};

fn table() -> RecordBatch {
    const ROWS: usize = 2000;
    let mut rng = Rng::new(11);
    let numbers = Int64Array::from_iter((0..ROWS).map(|i| (i % 7 != 3).then_some(i as i64 * 1_000_003)));
    let texts = StringArray::from_iter((0..ROWS).map(|i| (i % 5 != 1).then(|| format!("text number {i}"))));
    let dictionary: DictionaryArray<Int32Type> =
        (0..ROWS).map(|i| (i % 11 != 0).then(|| ["red", "green", "blue"][i % 3])).collect();
    let mut lists = ListBuilder::new(Int32Builder::new());
    for i in 0..ROWS {
        match i % 6 {
            0 => lists.append_null(),
            1 => lists.append_value([] as [Option<i32>; 0]),
            n => lists.append_value((0..n).map(|k| (k != 3).then_some((i * k) as i32))),
        }
    }
    let floats = Float64Array::from_iter_values((0..ROWS).map(|_| rng.word() as f64 / 3.0));
    let bytes = BinaryArray::from_iter_values(
        (0..ROWS).map(|_| (0..20).map(|_| rng.word() as u8).collect::<Vec<_>>()),
    );
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("i", Arc::new(numbers)),
        ("s", Arc::new(texts)),
        ("d", Arc::new(dictionary)),
        ("l", Arc::new(lists.finish())),
        ("f", Arc::new(floats)),
        ("b", Arc::new(bytes)),
    ];
    let fields: Vec<Field> =
        columns.iter().map(|(n, a)| Field::new(*n, a.data_type().clone(), true)).collect();
    let arrays = columns.into_iter().map(|c| c.1).collect();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).expect("columns of one length")
}

/// One damage.
#[derive(Debug, Clone, Copy)]
enum Damage {
    Bit { at: usize, bit: u8 },
    Ones { at: usize },
    Cut { bytes: usize },
    Tail { from_end: usize },
    Noise { seed: u64 },
}

impl Damage {
    fn apply(self, bytes: &Bytes) -> Bytes {
        let mut out = bytes.to_vec();
        match self {
            Self::Bit { at, bit } => out[at] ^= 1 << bit,
            Self::Ones { at } => out[at..].iter_mut().take(4).for_each(|b| *b = 0xff),
            Self::Cut { bytes } => out.truncate(bytes),
            Self::Tail { from_end } => {
                let n = out.len();
                out[n - 1 - from_end] = out[n - 1 - from_end].wrapping_add(0x55);
            }
            Self::Noise { seed } => {
                let mut rng = Rng::new(seed);
                out = (0..rng.within(40, 5000)).map(|_| rng.word() as u8).collect();
                let n = out.len();
                out[n - 8..].copy_from_slice(&[2, 0, 2, 0, b'L', b'A', b'N', b'C']);
            }
        }
        out.into()
    }
}

fn damages(len: usize) -> Vec<Damage> {
    let mut rng = Rng::new(1_111);
    let mut all = Vec::new();
    for _ in 0..2000 {
        let at = rng.below(len);
        all.extend((0..8).map(|bit| Damage::Bit { at, bit }));
    }
    all.extend((0..500).map(|_| Damage::Ones { at: rng.below(len) }));
    all.extend((0..500).map(|_| Damage::Cut { bytes: rng.below(len) }));
    all.extend((0..400).map(|from_end| Damage::Tail { from_end }));
    all.extend((0..100).map(|_| Damage::Noise { seed: rng.word() }));
    all
}

#[test]
fn case_11_damaged_files_give_right_values_or_a_typed_error() {
    if !memory::is_child() {
        return memory::in_child("case_11_damaged_files_give_right_values_or_a_typed_error");
    }
    let table = table();
    let base = memory::resident();
    let mut failures = Vec::new();
    for version in [FormatVersion::V2_0, FormatVersion::V2_1, FormatVersion::V2_2] {
        for checksums in [true, false] {
            let mut options = WriteOptions::default();
            options.format_version = version;
            options.checksums = checksums;
            let bytes = write(&table.schema(), std::slice::from_ref(&table), options).expect("write");
            let all = damages(bytes.len());
            let outcomes: Mutex<BTreeMap<&str, usize>> = Mutex::default();
            let bad = each(&all, |damage| {
                let start = Instant::now();
                let outcome = check(*damage, &bytes, &table, checksums)?;
                *outcomes.lock().expect("no panic while held").entry(outcome).or_default() += 1;
                let took = start.elapsed();
                if took > Duration::from_secs(5) { Err(format!("took {took:.1?}")) } else { Ok(()) }
            });
            println!(
                "case 11: {version}, checksums {checksums}: file of {} bytes, {} damages: {:?}, {} fail",
                bytes.len(),
                all.len(),
                outcomes.into_inner().expect("no panic while held"),
                bad.len()
            );
            let name = |i: usize| format!("{version}, checksums {checksums}, {:?}", all[i]);
            failures.extend(
                bad.into_iter()
                    .map(|(i, text)| (failures.len(), format!("{}: {text}", name(i))))
                    .collect::<Vec<_>>(),
            );
        }
    }
    let grown = memory::peak().saturating_sub(base);
    println!("case 11: peak {} MiB above the start", grown >> 20);
    no_failures("case 11", &failures, |_| "damage".to_owned());
    assert!(grown < 512 << 20, "{} MiB", grown >> 20);
}

fn check(
    damage: Damage,
    bytes: &Bytes,
    table: &RecordBatch,
    checksums: bool,
) -> Result<&'static str, String> {
    let damaged = damage.apply(bytes);
    let Ok(file) = open(&damaged) else { return Ok("not opened") };
    let asked = [1999, 0, 1000];
    let taken = take(&file, &asked, None);
    let scanned = open(&damaged).and_then(|f| scan(&f, &Part::default()));
    let wrong = |expected: &RecordBatch, found: &pennon_file::Result<Vec<RecordBatch>>| match found {
        Ok(found) => difference(std::slice::from_ref(expected), found),
        Err(_) => None,
    };
    // Noise may be a file without anything wrong with it, and without checksums a flipped value is a value.
    let must_be_right = checksums && !matches!(damage, Damage::Noise { .. });
    if must_be_right
        && let Some(text) = wrong(&expected_take(table, &asked), &taken).or_else(|| wrong(table, &scanned))
    {
        return Err(text);
    }
    // Walking the file again for every bit of a byte would tell nothing new.
    match damage {
        Damage::Bit { at, bit } if at % 8 != usize::from(bit) => {}
        _ => {
            let report = open(&damaged).and_then(|f| f.verify(|_| {})).map_err(|e| e.to_string());
            if let Damage::Bit { at, .. } = damage {
                placed(at as u64, bytes, &report, checksums)?;
            }
        }
    }
    Ok(if taken.is_ok() && scanned.is_ok() { "read" } else { "an error" })
}

/// A flipped bit in a page is named by `verify` with its column and page; without checksums `verify`
/// says that nothing was checked.
fn placed(
    at: u64,
    bytes: &Bytes,
    report: &Result<pennon_file::VerifyReport, String>,
    checksums: bool,
) -> Result<(), String> {
    let inspection = open(bytes).and_then(|f| f.inspect()).map_err(|e| e.to_string())?;
    for column in &inspection.columns {
        for (p, page) in column.pages.iter().enumerate() {
            if !page.buffers.iter().any(|(offset, n)| (*offset..offset + n).contains(&at)) {
                continue;
            }
            let report = report.as_ref().map_err(|e| format!("verify failed on a flipped page: {e}"))?;
            if !checksums {
                return if report.unchecked_bytes == 0 {
                    Err("verify does not say that nothing is checked".into())
                } else {
                    Ok(())
                };
            }
            let named = |f: &pennon_file::Error| {
                f.place().column.as_deref() == Some(&column.path) && f.place().page == Some(p as u64)
            };
            if !report.faults.iter().any(named) {
                return Err(format!("verify names {:?}, not column {} page {p}", report.faults, column.path));
            }
        }
    }
    Ok(())
}

/// Files that once made a reader panic, kept as they were found.
#[test]
fn files_that_once_broke_a_reader_give_values_or_a_typed_error() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/damaged");
    let mut count = 0;
    for entry in std::fs::read_dir(folder).expect("the folder is there") {
        let path = entry.expect("an entry").path();
        let bytes = Bytes::from(std::fs::read(&path).expect("a file"));
        count += 1;
        let Ok(file) = open(&bytes) else { continue };
        let rows = file.num_rows();
        if rows == 0 {
            continue;
        }
        for asked in [vec![0], vec![rows - 1, 0, rows / 2], vec![0, rows / 2, rows - 1]] {
            for path in file.inspect().map_or(Vec::new(), |i| i.columns) {
                let _ = take(&file, &asked, Some(&[&path.path]));
            }
            let _ = take(&file, &asked, None);
        }
        let _ = scan(&file, &Part { batch_rows: Some(2), ..Part::default() });
        let _ = file.verify(|_| {});
    }
    assert!(count > 0);
}
