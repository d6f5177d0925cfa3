//! Files whose statistics lie: `verify` finds what would rule out a row that exists, and nothing else.

use std::sync::Arc;

use arrow_array::types::{Int8Type, Int32Type};
use arrow_array::{
    ArrayRef, BinaryArray, BooleanArray, DictionaryArray, Float64Array, Int64Array, ListArray, RecordBatch,
    StringArray, StructArray,
};
use arrow_schema::Field;

use super::{Bound, ColumnFacts, Value, buffer, message};
use crate::container::KIND_STATISTICS;
use crate::{File, FileEncoder, FormatVersion, OpenOptions, WriteOptions};

const VERSIONS: [FormatVersion; 3] = [FormatVersion::V2_0, FormatVersion::V2_1, FormatVersion::V2_2];
/// Rows of a zone where it is not said otherwise.
const ZONE: u32 = 4;

/// Ten rows: three zones, the last of two rows.
fn table() -> RecordBatch {
    let long = |c: char| format!("{}{c}", "x".repeat(80));
    let texts = [Some(long('a')), None, Some("b".into()), Some(String::new()), Some(long('z'))];
    let floats = [f64::NAN, -0.0, 1.5, f64::NAN, 9.0, f64::NAN, f64::INFINITY, 3.0, f64::NAN, f64::NAN];
    let lists = (0..10).map(|i| (i != 1).then(|| (0..i % 4).map(move |j| (j != 2).then_some(10 * i + j))));
    let keys = ["p", "q", "p", "q", "r", "r", "r", "q", "q", "r"];
    let inner: ArrayRef = Arc::new(Int64Array::from_iter((0..10).map(|i| (i % 3 != 1).then_some(-i))));
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("i", Arc::new(Int64Array::from_iter((0..10).map(|i| (i != 4).then_some(i * i))))),
        ("f", Arc::new(Float64Array::from(floats.to_vec()))),
        ("t", Arc::new(StringArray::from_iter(texts.iter().cycle().take(10)))),
        ("b", Arc::new(BinaryArray::from_iter_values((0..10u8).map(|i| [0xff, i])))),
        ("yes", Arc::new(BooleanArray::from_iter((0..10).map(|i| (i != 9).then_some(i >= 4))))),
        ("l", Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>(lists))),
        ("d", Arc::new(DictionaryArray::<Int8Type>::from_iter(keys))),
        (
            "s",
            Arc::new(StructArray::from(vec![(
                Arc::new(Field::new("n", inner.data_type().clone(), true)),
                inner,
            )])),
        ),
        ("same", Arc::new(Int64Array::from(vec![Some(7); 10]))),
    ];
    let columns = columns.into_iter().map(|(name, array)| (name, array, true));
    RecordBatch::try_from_iter_with_nullable(columns).unwrap()
}

fn written(options: WriteOptions, add: impl FnOnce(&mut FileEncoder)) -> Vec<u8> {
    let batch = table();
    let mut encoder = FileEncoder::new(&batch.schema(), options).unwrap();
    encoder.write(&batch).unwrap();
    add(&mut encoder);
    let mut bytes: Vec<u8> = encoder.take_output().concat();
    bytes.extend(encoder.finish().unwrap().concat());
    bytes
}

fn open(bytes: Vec<u8>) -> File {
    File::from_bytes(bytes, &OpenOptions::default()).unwrap()
}

fn options(version: FormatVersion, page_rows: u64) -> WriteOptions {
    WriteOptions {
        format_version: version,
        zone_rows: ZONE,
        statistics_bytes: Some(1 << 20),
        max_page_rows: Some(page_rows),
        ..WriteOptions::default()
    }
}

/// A file whose statistics say of a column what `lie` makes of what is true.
fn lying(options: WriteOptions, path: &str, lie: impl Fn(&mut ColumnFacts)) -> File {
    let zone_rows = options.zone_rows;
    let honest = open(written(options.clone(), |_| {}));
    let mut messages = Vec::new();
    for leaf in honest.tables().unwrap().schema.leaves().unwrap() {
        let Some((order, mut facts)) = honest.fresh_facts(&leaf).unwrap() else { continue };
        if leaf.path == path {
            lie(&mut facts);
        }
        let subject = message::Subject { order, num_rows: 10, base_rows: zone_rows.into() };
        let message = message::emit(&subject, facts.distinct, &facts.file, 0, &facts.zones);
        messages.push((leaf.column, message));
    }
    let num_columns = honest.metadata().num_columns() as usize;
    let options = WriteOptions { statistics: false, ..options };
    let file = open(written(options, |encoder| {
        let bytes = buffer::emit(zone_rows, 10, num_columns, &messages);
        encoder.add_extra(KIND_STATISTICS, bytes.into()).unwrap();
    }));
    assert!(file.has_statistics());
    file
}

fn faults(file: &File) -> Vec<String> {
    let report = file.verify(|_| {}).unwrap();
    report
        .faults
        .iter()
        .map(|f| format!("{}: {}", f.place().column.as_deref().unwrap_or("?"), f.message()))
        .collect()
}

fn exact(value: Value) -> Option<Bound> {
    Some(Bound { value, exact: true })
}

fn loose(value: Value) -> Option<Bound> {
    Some(Bound { value, exact: false })
}

/// What is found of a lie, whatever the version and the pages.
fn found(path: &str, lie: impl Fn(&mut ColumnFacts), expected: &[&str]) {
    for version in VERSIONS {
        for page_rows in [1, 3, 100] {
            let faults = faults(&lying(options(version, page_rows), path, &lie));
            let expected: Vec<String> = expected.iter().map(|e| format!("{path}: statistics: {e}")).collect();
            assert_eq!(faults, expected, "{version}, pages of {page_rows} rows");
        }
    }
}

fn text(bytes: &[u8]) -> Value {
    Value::Bytes(bytes.to_vec())
}

#[test]
fn statistics_that_are_true_are_no_fault() {
    found("i", |_| {}, &[]);
    for version in VERSIONS {
        for page_rows in [1, 3, 100] {
            let file = open(written(options(version, page_rows), |_| {}));
            assert_eq!(faults(&file), [] as [&str; 0]);
            assert_eq!(file.statistics().unwrap().len(), 9);
        }
    }
}

#[test]
fn bounds_that_shut_a_value_out_are_found() {
    found(
        "i",
        |facts| facts.zones[1].min = exact(Value::Int(26)),
        &["minimum 26 expected in zone 1 (rows 4 to 7), a value below it found: 25"],
    );
    found(
        "i",
        |facts| facts.zones[2].max = loose(Value::Int(80)),
        &["maximum 80 expected in zone 2 (rows 8 to 9), a value above it found: 81"],
    );
    found(
        "f",
        |facts| facts.zones[0].min = exact(Value::Float(1.5)),
        &["minimum 1.5 expected in zone 0 (rows 0 to 3), a value below it found: 0.0"],
    );
    found(
        "t",
        |facts| facts.zones[1].max = loose(text(b"xxxx")),
        &[&format!(
            "maximum \"xxxx\" expected in zone 1 (rows 4 to 7), a value above it found: \"{}\"…",
            "x".repeat(32)
        )],
    );
    found(
        "b",
        |facts| facts.zones[0].min = loose(text(b"\xff\x00\x00")),
        &[
            "minimum \"\\xff\\x00\\x00\" expected in zone 0 (rows 0 to 3), a value below it found: \"\\xff\\x00\"",
        ],
    );
    found(
        "yes",
        |facts| facts.zones[1].min = exact(Value::Bool(false)),
        &["a value false expected in zone 1 (rows 4 to 7), as the minimum is said to be one; none found"],
    );
    found(
        "l.item",
        |facts| facts.zones[1].min = exact(Value::Int(51)),
        &["minimum 51 expected in zone 1 (rows 4 to 7), a value below it found: 50"],
    );
    found(
        "d",
        |facts| facts.zones[1].max = exact(text(b"q")),
        &["maximum \"q\" expected in zone 1 (rows 4 to 7), a value above it found: \"r\""],
    );
    found(
        "s.n",
        |facts| facts.file.min = exact(Value::Int(-8)),
        &["minimum -8 expected in the file, a value below it found: -9"],
    );
    found(
        "same",
        |facts| facts.file.min = exact(Value::Int(6)),
        &["a value 6 expected in the file, as the minimum is said to be one; none found"],
    );
}

#[test]
fn bounds_that_are_wider_than_they_need_be_are_no_fault() {
    found("i", |facts| facts.zones[1].min = loose(Value::Int(-1)), &[]);
    found("i", |facts| facts.file.max = None, &[]);
    found("f", |facts| facts.zones[0].min = exact(Value::Float(-0.0)), &[]);
    found("t", |facts| facts.zones[0].max = loose(text(b"y")), &[]);
    // A longer part of the value than is written is a bound too.
    found("t", |facts| facts.zones[0].min = loose(text(b"")), &[]);
}

#[test]
fn counts_that_are_not_those_of_the_rows_are_found() {
    found(
        "i",
        |facts| {
            facts.zones[1].nulls = 0;
            facts.zones[0].nulls = 1;
        },
        &[
            "1 nulls expected in zone 0 (rows 0 to 3), 0 found",
            "0 nulls expected in zone 1 (rows 4 to 7), 1 found",
        ],
    );
    found(
        "f",
        |facts| {
            facts.zones[1].nans -= 1;
            facts.file.nans -= 1;
        },
        &["0 NaNs expected in zone 1 (rows 4 to 7), 1 found", "4 NaNs expected in the file, 5 found"],
    );
    found(
        "l.item",
        |facts| {
            facts.zones[0].values += 1;
            facts.zones[1].values -= 1;
        },
        &[
            "6 values expected in zone 0 (rows 0 to 3), 5 found",
            "5 values expected in zone 1 (rows 4 to 7), 6 found",
        ],
    );
}

#[test]
fn zones_whose_borders_are_moved_are_found() {
    // What is true of the zones one further on.
    found(
        "b",
        |facts| facts.zones.swap(0, 1),
        &[
            "minimum \"\\xff\\x04\" expected in zone 0 (rows 0 to 3), a value below it found: \"\\xff\\x00\"",
            "a value \"\\xff\\x07\" expected in zone 0 (rows 0 to 3), as the maximum is said to be one; none found",
            "a value \"\\xff\\x00\" expected in zone 1 (rows 4 to 7), as the minimum is said to be one; none found",
            "maximum \"\\xff\\x03\" expected in zone 1 (rows 4 to 7), a value above it found: \"\\xff\\x07\"",
        ],
    );
}

#[test]
fn of_many_faults_of_a_column_some_are_told_and_all_are_counted() {
    let options = WriteOptions { zone_rows: 1, ..options(FormatVersion::V2_2, 100) };
    let wrong = |facts: &mut ColumnFacts| {
        for zone in &mut facts.zones {
            (zone.min, zone.max) = (exact(Value::Int(90)), exact(Value::Int(91)));
        }
    };
    let faults = faults(&lying(options, "same", wrong));
    assert_eq!(faults.len(), 17, "{faults:?}");
    // In each of ten zones a value below the minimum, and none that is the maximum.
    assert_eq!(faults[16], "same: statistics: 4 more faults");
}

#[test]
fn of_rows_that_are_damaged_nothing_is_said() {
    let honest = written(options(FormatVersion::V2_2, 3), |_| {});
    let file = open(honest.clone());
    let page = &file.inspect().unwrap().columns[0].pages[1];
    let at = page.buffers[0].0 as usize;
    let mut damaged = honest;
    damaged[at] ^= 0x10;
    let faults = faults(&open(damaged));
    assert!(faults.iter().all(|fault| !fault.contains("statistics")), "{faults:?}");
    assert!(!faults.is_empty());
}
