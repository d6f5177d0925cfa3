//! Statistics from pages to bytes and back, through whole files.

use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, Float64Array, Int64Array, ListArray, RecordBatch, StringArray};

use super::{Bound, ColumnFacts, Facts, Value};
use crate::{File, FileWriter, FormatVersion, OpenOptions, WriteOptions};

fn options(zone_rows: u32) -> WriteOptions {
    WriteOptions { zone_rows, statistics_bytes: Some(1 << 20), ..WriteOptions::default() }
}

fn written(columns: Vec<(&str, ArrayRef)>, options: WriteOptions) -> Vec<u8> {
    let batch =
        RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(n, a)| (n, a, true))).unwrap();
    let mut writer = FileWriter::new(Vec::new(), &batch.schema(), options).unwrap();
    // Several pushes, so that zones and pages cross.
    for start in (0..batch.num_rows()).step_by(5) {
        writer.write(&batch.slice(start, 5.min(batch.num_rows() - start))).unwrap();
    }
    writer.finish().unwrap()
}

fn open(bytes: &[u8]) -> File {
    File::from_bytes(bytes.to_vec(), &OpenOptions::default()).unwrap()
}

fn facts(file: &File) -> Vec<Option<Arc<ColumnFacts>>> {
    let leaves = file.tables().unwrap().schema.leaves().unwrap();
    file.column_facts(&leaves).unwrap()
}

fn int(value: i128) -> Option<Bound> {
    Some(Bound { value: Value::Int(value), exact: true })
}

fn float(value: f64) -> Option<Bound> {
    Some(Bound { value: Value::Float(value), exact: true })
}

#[test]
fn zones_are_counted_in_rows_of_the_file_whatever_its_pages_and_version() {
    for version in [FormatVersion::V2_0, FormatVersion::V2_1, FormatVersion::V2_2] {
        for page_rows in [1, 3, 7, 100] {
            let ints: ArrayRef = Arc::new(Int64Array::from_iter((0..10).map(|i| (i != 4).then_some(i * i))));
            let floats = [f64::NAN, -0.0, 1.5, f64::NAN, f64::NAN, f64::NAN, f64::NAN, f64::NAN, -9.0, 0.0];
            let floats: ArrayRef = Arc::new(Float64Array::from(floats.to_vec()));
            let lists =
                (0..10).map(|i| (i != 1).then(|| (0..i).map(move |j| (j != 2).then_some(10 * i + j))));
            let lists: ArrayRef = Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>(lists));
            let mut options = options(4);
            options.format_version = version;
            options.max_page_rows = Some(page_rows);
            let file = open(&written(vec![("i", ints), ("f", floats), ("l", lists)], options));
            let facts = facts(&file);
            let [i, f, l] = facts.iter().map(|f| f.as_deref().unwrap()).collect::<Vec<_>>()[..] else {
                panic!()
            };
            let zone = |values, nulls, nans, min, max| Facts { values, nulls, nans, min, max };
            assert_eq!((i.zone_rows, f.zone_rows, l.zone_rows), (4, 4, 4));
            assert_eq!(
                i.zones,
                [
                    zone(4, 0, 0, int(0), int(9)),
                    zone(4, 1, 0, int(25), int(49)),
                    zone(2, 0, 0, int(64), int(81))
                ]
            );
            assert_eq!(i.file, zone(10, 1, 0, int(0), int(81)));
            assert_eq!(i.distinct, Some(9));
            assert_eq!(
                f.zones,
                [
                    zone(4, 0, 2, float(0.0), float(1.5)),
                    zone(4, 0, 4, None, None),
                    zone(2, 0, 0, float(-9.0), float(0.0))
                ]
            );
            // Rows 0, 1 (null), 2 and 3 have 0 + 0 + 2 + 3 items.
            assert_eq!(l.zones[0], zone(5, 1, 0, int(20), int(31)));
            assert_eq!(l.zones[1], zone(22, 4, 0, int(40), int(76)));
            assert_eq!(l.file.values, 44);
        }
    }
}

#[test]
fn files_say_nothing_where_they_were_told_not_to_or_have_no_rows() {
    let ints = || vec![("i", Arc::new(Int64Array::from(vec![1, 2, 3])) as ArrayRef)];
    let mut without = options(2);
    without.statistics = false;
    assert_eq!(facts(&open(&written(ints(), without))), [None]);
    let mut none = options(2);
    none.statistics_bytes = Some(40);
    assert_eq!(facts(&open(&written(ints(), none))), [None]);
    let empty: ArrayRef = Arc::new(Int64Array::from(Vec::<i64>::new()));
    assert_eq!(facts(&open(&written(vec![("i", empty)], options(2)))), [None]);
    assert!(facts(&open(&written(ints(), options(2))))[0].is_some());
}

#[test]
fn texts_are_bounded_by_their_first_bytes() {
    let long = |c: char| format!("{}{c}", "x".repeat(80));
    let texts = [long('a'), long('b'), "b".into(), "a".into(), "y".into(), String::new()];
    let texts: ArrayRef = Arc::new(StringArray::from_iter_values(texts));
    let file = open(&written(vec![("t", texts)], options(2)));
    let facts = facts(&file);
    let zones = &facts[0].as_ref().unwrap().zones;
    let bound = |text: &str, exact| Some(Bound { value: Value::Bytes(text.into()), exact });
    assert_eq!(zones[0].min, bound(&"x".repeat(64), false));
    assert_eq!(zones[0].max, bound(&format!("{}y", "x".repeat(63)), false));
    assert_eq!((&zones[1].min, &zones[1].max), (&bound("a", true), &bound("b", true)));
    assert_eq!((&zones[2].min, &zones[2].max), (&bound("", true), &bound("y", true)));
    let file = &facts[0].as_ref().unwrap().file;
    assert_eq!((&file.min, &file.max), (&bound("", true), &bound("y", true)));
}

/// The bytes in a picture of the documentation: hexadecimal, up to two spaces; a word may stand before them.
fn example(text: &str) -> Vec<u8> {
    let of_line = |line: &str| {
        let bytes = line.get(10..).unwrap_or_default().split("  ").next().unwrap_or_default();
        bytes.split(' ').filter_map(|word| u8::from_str_radix(word, 16).ok()).collect::<Vec<u8>>()
    };
    text.lines().flat_map(of_line).collect()
}

#[test]
fn the_documentations_example_is_what_is_written_byte_for_byte() {
    let text = include_str!("../../../../docs/format/extras.md");
    let (_, text) = text.split_once("The statistics of one column of int64 in zones of 4 rows").unwrap();
    let expected = example(text.split("```").nth(1).unwrap());
    let values = [Some(0), Some(1), Some(4), Some(9), None, Some(25), Some(36), Some(49), Some(64), Some(81)];
    let column: ArrayRef = Arc::new(Int64Array::from_iter(values));
    let bytes = written(vec![("i", column)], options(4));
    let file = open(&bytes);
    let place = file.metadata().global_buffers[file.metadata().statistics.unwrap()].clone();
    assert_eq!(bytes[place.start as usize..place.end as usize], expected);
    assert_eq!(expected.len(), 59);
}
