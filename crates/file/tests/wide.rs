//! Files of thousands of columns (case 8): what opening one and reading a column costs.
//!
//! Guards against: a descriptor read or parsed for the sake of one column, a directory that leads to another column
//! than the schema does, and damage to it that goes unnoticed.

mod common;

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow_array::{
    ArrayRef, Float32Array, Int32Array, Int64Array, ListArray, RecordBatch, StringArray, StructArray,
};
use arrow_schema::{DataType, Field, Fields, Schema};
use bytes::Bytes;
use common::compare::difference;
use common::counted::{Counted, total};
use common::engine::{Part, VERSIONS, expected_take, open, options, reading, scan, take, write};
use common::generate::{Generator, Wanted};
use common::official::{Job, ask, python};
use common::rng::{Rng, seeds};
use common::work::{each, no_failures};
use pennon_file::io::ReadAt;
use pennon_file::{File, FormatVersion, OpenOptions, WriteOptions};

/// `columns` columns of random floats, named c00000 and so on, of 100 rows.
fn wide(columns: usize) -> RecordBatch {
    let mut rng = Rng::new(8);
    let fields: Vec<Field> =
        (0..columns).map(|i| Field::new(format!("c{i:05}"), DataType::Float32, true)).collect();
    let mut array = || -> ArrayRef {
        Arc::new(Float32Array::from_iter_values((0..100).map(|_| rng.word() as u32 as f32 / 7.0)))
    };
    let arrays = (0..columns).map(|_| array()).collect();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).expect("columns of one length")
}

/// The same with a field directory whatever the number of columns.
fn with_directory(version: FormatVersion) -> WriteOptions {
    let mut options = options(version);
    options.directory_columns = 0;
    options
}

/// A store that answers after 20 ms.
struct Slow(Arc<Counted>);

impl ReadAt for Slow {
    fn len(&self) -> io::Result<u64> {
        ReadAt::len(&*self.0)
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<()> {
        std::thread::sleep(Duration::from_millis(20));
        self.0.read_at(offset, buf)
    }
}

fn ms(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1e3
}

#[test]
fn case_8_one_column_of_twenty_thousand_takes_six_reads_and_twice_the_columns_no_more() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for version in VERSIONS {
        let mut costs = Vec::new();
        for columns in [20_000, 40_000] {
            let batch = wide(columns);
            let start = Instant::now();
            let bytes =
                write(&batch.schema(), std::slice::from_ref(&batch), options(version)).expect("write");
            let writing = ms(start);
            let expected = batch.project(&[12_345]).expect("a column");
            let one = Part { columns: Some(&["c12345"]), ..Part::default() };

            let counted = Counted::new(bytes.clone());
            let file = File::from_read_at(counted.clone(), &OpenOptions::default()).expect("open");
            let opening = counted.drain();
            assert_eq!(file.num_rows(), 100);
            assert_eq!(difference(std::slice::from_ref(&expected), &scan(&file, &one).expect("scan")), None);
            let mut reads = counted.drain();
            let reading_one = reads.clone();
            reads.extend(opening.iter().cloned());
            assert!(reads.len() <= 6, "{} reads: {reads:?}", reads.len());
            assert!(total(&reads) < 100 << 10, "{} bytes: {reads:?}", total(&reads));

            // What was read once is not read again but for the values themselves.
            assert_eq!(difference(std::slice::from_ref(&expected), &scan(&file, &one).expect("scan")), None);
            assert!(counted.drain().len() <= 1);
            let taken = take(&file, &[50], Some(&["c12345"])).expect("take");
            assert_eq!(difference(&[expected_take(&expected, &[50])], &taken), None);
            let file = File::from_read_at(counted.clone(), &OpenOptions::default()).expect("open");
            take(&file, &[50], Some(&["c12345"])).expect("take");
            let take_reads = counted.drain();
            assert!(take_reads.len() <= 7 && total(&take_reads) < 100 << 10, "{take_reads:?}");

            let path = folder.path().join("wide.lance");
            std::fs::write(&path, &bytes).expect("the temporary folder takes files");
            let start = Instant::now();
            scan(&File::open(&path).expect("open"), &one).expect("scan");
            let local = ms(start);
            let slow = Arc::new(Slow(Counted::new(bytes.clone())));
            let start = Instant::now();
            scan(&File::from_read_at(slow.clone(), &reading(4096)).expect("open"), &one).expect("scan");
            let slow = ms(start);
            let file = open(&bytes).expect("open");
            let start = Instant::now();
            assert_eq!(file.schema().expect("schema").fields(), batch.schema().fields());
            let schema = ms(start);
            println!(
                "case 8: {version}, {columns} columns: file of {} bytes written in {writing:.0} ms; opening {} reads, {} bytes; \
                 one column {} reads, {} bytes more; local {local:.1} ms, 20 ms a read {slow:.0} ms; then the schema {schema:.1} ms",
                bytes.len(),
                opening.len(),
                total(&opening),
                reading_one.len(),
                total(&reading_one)
            );
            costs.push((reads.len() as u64, total(&reads)));
        }
        assert!(costs[1].0 <= 2 * costs[0].0 && costs[1].1 <= 2 * costs[0].1, "{costs:?}");
    }
}

/// Names that need quotes, names that occur twice, and everything that has several columns.
fn varied() -> RecordBatch {
    let ints = |from: i32| -> ArrayRef { Arc::new(Int32Array::from_iter_values(from..from + 50)) };
    let child =
        Fields::from(vec![Field::new("x", DataType::Int32, true), Field::new("y.z", DataType::Utf8, true)]);
    let texts: ArrayRef =
        Arc::new(StringArray::from_iter((0..50).map(|i| (i % 3 > 0).then(|| format!("t{i}")))));
    let inner: ArrayRef = Arc::new(StructArray::new(child, vec![ints(500), texts.clone()], None));
    let item = Arc::new(Field::new("item", inner.data_type().clone(), true));
    let offsets = arrow_buffer::OffsetBuffer::from_lengths(std::iter::repeat_n(1, 50));
    let list: ArrayRef = Arc::new(ListArray::new(item, offsets, inner.clone(), None));
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("a", ints(0)),
        ("s", inner.clone()),
        ("s.x", ints(100)),
        ("twice", ints(200)),
        ("l", list),
        ("twice", texts),
        ("twice#2", ints(300)),
        ("", ints(400)),
        ("twice", inner),
        ("wide", Arc::new(Int64Array::from_iter_values(0..50))),
    ];
    let fields: Vec<Field> =
        columns.iter().map(|(n, a)| Field::new(*n, a.data_type().clone(), true)).collect();
    let metadata = [("of".to_owned(), "the schema".to_owned())];
    let schema = Schema::new(fields).with_metadata(std::collections::HashMap::from(metadata));
    RecordBatch::try_new(Arc::new(schema), columns.into_iter().map(|c| c.1).collect()).expect("columns")
}

const PATHS: &[&[&str]] = &[
    &["a"],
    &["s.x"],
    &["s"],
    &["`s`.x"],
    &["s.`y.z`", "wide"],
    &["twice"],
    &["twice#2"],
    &["`twice`#2"],
    &["twice#3"],
    &["twice#3.x"],
    &["``"],
    &["l.item.x"],
    &["wide", "l", "a", "a"],
    &["twice#3", "twice", "`twice`#2"],
    &[],
];

#[test]
fn a_path_leads_to_the_same_column_with_and_without_a_directory() {
    let batch = varied();
    for version in VERSIONS {
        let made = |options| write(&batch.schema(), std::slice::from_ref(&batch), options).expect("write");
        let (with, without) = (made(with_directory(version)), made(options(version)));
        for paths in PATHS {
            let part = Part { columns: Some(paths), ..Part::default() };
            let expected = scan(&open(&without).expect("open"), &part).expect("scan");
            let found = scan(&open(&with).expect("open"), &part).unwrap_or_else(|e| panic!("{paths:?}: {e}"));
            assert_eq!(expected[0].schema(), found[0].schema(), "{paths:?}");
            assert_eq!(difference(&expected, &found), None, "{paths:?}");
        }
        for wrong in ["b", "s.z", "twice#4", "`a", "wide.x", "Twice"] {
            let part = Part { columns: Some(&[wrong]), ..Part::default() };
            let text = |bytes| scan(&open(bytes).expect("open"), &part).unwrap_err().to_string();
            assert_eq!(text(&with), text(&without), "{wrong:?}");
        }
        // One handle for all, in turn: what was found before changes nothing.
        let handle = open(&with).expect("open");
        for paths in PATHS.iter().rev() {
            let part = Part { columns: Some(paths), ..Part::default() };
            let expected = scan(&open(&without).expect("open"), &part).expect("scan");
            assert_eq!(difference(&expected, &scan(&handle, &part).expect("scan")), None, "{paths:?}");
        }
        let report = handle.verify(|_| {}).expect("verify");
        assert!(report.faults.is_empty() && report.unchecked_bytes == 0, "{report:?}");
        let kinds: Vec<_> =
            handle.inspect().expect("inspect").global_buffers.iter().map(|b| b.kind).collect();
        assert_eq!(kinds, ["schema", "field directory", "checksums", "field directory"]);
    }
}

#[test]
fn a_directory_that_looks_up_is_all_that_is_read_of_the_metadata() {
    let batch = wide(3000);
    let bytes =
        write(&batch.schema(), std::slice::from_ref(&batch), options(FormatVersion::V2_2)).expect("write");
    let counted = Counted::new(bytes.clone());
    let file = File::from_read_at(counted.clone(), &reading(0)).expect("open");
    let schema = file.inspect().expect("inspect").global_buffers[0].clone();
    let schema = schema.offset..schema.offset + schema.bytes;
    counted.drain();
    let file = File::from_read_at(counted.clone(), &reading(0)).expect("open");
    counted.drain();
    let names: Vec<String> = (0..20).map(|i| format!("c{:05}", i * 149)).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let part = Part { columns: Some(&names), ..Part::default() };
    let expected = batch.project(&(0..20).map(|i| i * 149).collect::<Vec<_>>()).expect("columns");
    assert_eq!(difference(&[expected], &scan(&file, &part).expect("scan")), None);
    let read = common::counted::inside(&counted.drain(), &schema);
    assert!(read < 20 * 50, "{read} bytes of the schema of {}", schema.end - schema.start);
}

#[test]
fn random_schemas_are_read_alike_with_and_without_a_directory() {
    let seeds: Vec<u64> = seeds("wide", 60).collect();
    let failures = each(&seeds, |seed| {
        let mut rng = Rng::new(*seed);
        let version = *rng.pick(&VERSIONS);
        let mut g = Generator::new(rng.word(), Wanted::new(version));
        let schema = g.schema();
        let batch = g.batch(&schema, 30);
        let mut options = with_directory(version);
        options.checksums = rng.below(4) > 0;
        options.alignment = *rng.pick(&[64, 4096]);
        let bytes = write(&schema, std::slice::from_ref(&batch), options).map_err(|e| e.to_string())?;
        for (i, field) in schema.fields().iter().enumerate() {
            if schema.fields().iter().filter(|f| f.name() == field.name()).count() > 1 {
                continue;
            }
            let path = common::engine::path_text(&[field.name().clone()]);
            let expected = batch.project(&[i]).map_err(|e| e.to_string())?;
            let file = open(&bytes).map_err(|e| e.to_string())?;
            let part = Part { columns: Some(&[&path]), ..Part::default() };
            let found = scan(&file, &part).map_err(|e| format!("{path}: {e}"))?;
            if let Some(text) = difference(&[expected], &found) {
                return Err(format!("{path}: {text}"));
            }
        }
        let file = open(&bytes).map_err(|e| e.to_string())?;
        let report = file.verify(|_| {}).map_err(|e| e.to_string())?;
        if !report.faults.is_empty() {
            return Err(format!("verify: {:?}", report.faults));
        }
        difference(&[batch], &scan(&file, &Part::default()).map_err(|e| e.to_string())?).map_or(Ok(()), Err)
    });
    no_failures("wide", &failures, |i| format!("seed {}", seeds[i]));
}

#[test]
fn every_flipped_byte_of_a_file_with_a_directory_gives_right_values_or_a_typed_error() {
    let batch = varied();
    let mut cases = Vec::new();
    let mut files = Vec::new();
    for (i, version) in VERSIONS.into_iter().enumerate() {
        let bytes =
            write(&batch.schema(), std::slice::from_ref(&batch), with_directory(version)).expect("write");
        cases.extend((0..bytes.len()).map(|at| (i, at)));
        files.push(bytes);
    }
    let columns = [("a", 0), ("twice#3", 8), ("l", 4), ("``", 7)];
    let expected: Vec<RecordBatch> = columns.map(|(_, i)| batch.project(&[i]).expect("a column")).to_vec();
    let silent = std::sync::atomic::AtomicUsize::new(0);
    let failures = each(&cases, |(i, at)| {
        for flip in [1 << (at % 8), 0xff] {
            let mut damaged = files[*i].to_vec();
            damaged[*at] ^= flip;
            let Ok(file) = open(&Bytes::from(damaged)) else { continue };
            for ((path, _), expected) in columns.iter().zip(&expected) {
                let part = Part { columns: Some(&[path]), ..Part::default() };
                if let Ok(found) = scan(&file, &part)
                    && let Some(text) = difference(std::slice::from_ref(expected), &found)
                {
                    return Err(format!("flip {flip:#x}: {path}: {text}"));
                }
            }
            let clean = file.verify(|_| {}).is_ok_and(|report| report.faults.is_empty());
            // Padding alone is covered by nothing.
            if clean {
                if files[*i][*at] != 0x48 {
                    return Err(format!("flip {flip:#x}: verify finds nothing"));
                }
                silent.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            }
        }
        Ok(())
    });
    println!("wide: {} bytes flipped twice, {} flips in padding", cases.len(), silent.into_inner());
    no_failures("wide", &failures, |c| format!("file {}, byte {}", cases[c].0, cases[c].1));
}

#[test]
fn files_with_a_directory_are_read_by_the_official_library() {
    let Some(python) = python("wide") else { return };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut jobs = Vec::new();
    for version in VERSIONS {
        for (columns, alignment) in [(1500, 64), (1500, 4096), (20_000, 64)] {
            let batch = wide(columns);
            let mut options = options(version);
            options.alignment = alignment;
            let bytes = write(&batch.schema(), std::slice::from_ref(&batch), options).expect("write");
            let kinds = open(&bytes).and_then(|f| f.inspect()).expect("inspect").global_buffers;
            assert_eq!(kinds.last().expect("buffers").kind, "field directory");
            let path = folder.path().join(format!("{version}-{columns}-{alignment}.lance"));
            std::fs::write(&path, bytes).expect("the temporary folder takes files");
            jobs.push(Job::new(format!("{version}, {columns} columns at {alignment}"), path, batch, 8));
        }
    }
    let failures: Vec<(usize, String)> =
        ask(&python, &jobs).into_iter().enumerate().filter_map(|(i, r)| Some((i, r.err()?))).collect();
    println!(
        "wide: {} of {} files with a directory read equal by the official library",
        jobs.len() - failures.len(),
        jobs.len()
    );
    no_failures("wide", &failures, |i| jobs[i].name.clone());
}
