//! Filters through whole files.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};

use super::{Blocks, hash_of};
use crate::container::KIND_BLOOMS;
use crate::stats::Value;
use crate::{ErrorKind, File, FileEncoder, FileWriter, FormatVersion, OpenOptions, WriteOptions};

fn table() -> RecordBatch {
    let ints: ArrayRef =
        Arc::new(Int64Array::from_iter((0..1000).map(|i| (i % 7 != 3).then_some(i * 7919 % 1009))));
    let texts: ArrayRef =
        Arc::new(StringArray::from_iter_values((0..1000).map(|i| format!("t{}", i * 31 % 500))));
    let floats: ArrayRef = Arc::new(Float64Array::from_iter_values(
        (0..1000).map(|i| [f64::NAN, -0.0, f64::from(i)][i as usize % 3]),
    ));
    RecordBatch::try_from_iter_with_nullable([("i", ints, true), ("t", texts, true), ("f", floats, true)])
        .unwrap()
}

fn options() -> WriteOptions {
    WriteOptions {
        zone_rows: 64,
        blooms: vec!["i".into(), "t".into(), "f".into()],
        ..WriteOptions::default()
    }
}

fn written(options: WriteOptions) -> Vec<u8> {
    let batch = table();
    let mut writer = FileWriter::new(Vec::new(), &batch.schema(), options).unwrap();
    for start in (0..batch.num_rows()).step_by(150) {
        writer.write(&batch.slice(start, 150.min(batch.num_rows() - start))).unwrap();
    }
    writer.finish().unwrap()
}

fn open(bytes: Vec<u8>) -> File {
    File::from_bytes(bytes, &OpenOptions::default()).unwrap()
}

/// For every zone whether it may have a value.
fn zones(file: &File, column: u32, value: &Value) -> Vec<bool> {
    let hash = hash_of(value).unwrap();
    let blooms = file.column_blooms(vec![(column, Blocks::Of(vec![hash]))]).unwrap();
    let blooms = blooms[0].as_ref().unwrap();
    (0..blooms.num_zones).map(|zone| blooms.may_have(zone, hash)).collect()
}

#[test]
fn zones_are_told_to_have_what_they_have_and_little_else_whatever_pages_and_version() {
    let batch = table();
    let ints = batch.column(0).as_any().downcast_ref::<Int64Array>().unwrap().clone();
    for version in [FormatVersion::V2_0, FormatVersion::V2_1, FormatVersion::V2_2] {
        for page_rows in [10, 77, 5000] {
            let options =
                WriteOptions { format_version: version, max_page_rows: Some(page_rows), ..options() };
            let file = open(written(options));
            let mut wrong = 0;
            for value in 0..1009 {
                for (zone, told) in zones(&file, 0, &Value::Int(value)).into_iter().enumerate() {
                    let rows = zone * 64..(zone * 64 + 64).min(1000);
                    let there =
                        rows.clone().any(|row| ints.is_valid(row) && i128::from(ints.value(row)) == value);
                    assert!(told || !there, "{version}, {value} in zone {zone}");
                    wrong += usize::from(told && !there);
                }
            }
            assert!(wrong < 16 * 1009 / 20, "{version}: {wrong} wrong");
            assert!(zones(&file, 1, &Value::Bytes(b"t31".to_vec()))[0]);
            assert!(zones(&file, 2, &Value::Float(0.0)).iter().all(|told| *told));
            let known: Vec<_> =
                file.bloom_filters().unwrap().into_iter().map(|f| (f.path, f.num_zones)).collect();
            assert_eq!(known, [("i".into(), 16), ("t".into(), 16), ("f".into(), 16)]);
        }
    }
}

#[test]
fn filters_keep_to_the_bytes_that_they_may_have() {
    let mut before = 0;
    for budget in [0, 39, 100, 700, 3000, 10_000, 1 << 20] {
        let file = open(written(WriteOptions { bloom_bytes: Some(budget), ..options() }));
        let buffer = file.metadata().blooms.map(|at| file.metadata().global_buffers[at].clone());
        let bytes = buffer.map_or(0, |range| range.end - range.start);
        assert!(bytes <= budget && bytes >= before, "{bytes} bytes by {budget}, {before} by less");
        before = bytes;
        assert!(file.verify(|_| {}).unwrap().faults.is_empty());
    }
    assert!(before > 3 * 16 * 32);
}

#[test]
fn columns_that_filters_are_no_use_for_are_refused() {
    use arrow_array::types::Int32Type;
    let yes: ArrayRef = Arc::new(arrow_array::BooleanArray::from(vec![true]));
    let list: ArrayRef =
        Arc::new(arrow_array::ListArray::from_iter_primitive::<Int32Type, _, _>([Some([Some(1)])]));
    let batch = RecordBatch::try_from_iter([("yes", yes), ("l", list)]).unwrap();
    for (path, why) in [
        ("yes", "of two values"),
        ("l.item", "values in lists"),
        ("l", "the schema has not"),
        ("x", "the schema has not"),
    ] {
        let options = WriteOptions { blooms: vec![path.into()], ..WriteOptions::default() };
        let e = FileWriter::new(Vec::new(), &batch.schema(), options).unwrap_err();
        assert!(e.kind() == ErrorKind::Invalid && e.message().contains(why), "{e}");
    }
}

#[test]
fn no_flipped_bit_of_filters_hides_a_value() {
    let bytes = written(WriteOptions {
        checksums: false,
        blooms: vec!["i".into()],
        bloom_bytes: Some(1 << 10),
        ..options()
    });
    let file = open(bytes.clone());
    let place = file.metadata().global_buffers[file.metadata().blooms.unwrap()].clone();
    let value = Value::Int(5 * 7919 % 1009);
    let expected = zones(&file, 0, &value);
    let hash = hash_of(&value).unwrap();
    let mut told = 0;
    for bit in 0..(place.end - place.start) as usize * 8 {
        let mut damaged = bytes.clone();
        damaged[place.start as usize + bit / 8] ^= 1 << (bit % 8);
        let file = open(damaged);
        match file.column_blooms(vec![(0, Blocks::Of(vec![hash]))]) {
            Err(e) if e.kind() == ErrorKind::Corrupt => told += 1,
            Err(e) => panic!("bit {bit}: {e}"),
            Ok(blooms) => match &blooms[0] {
                None => {}
                Some(blooms) => {
                    let found: Vec<bool> =
                        (0..blooms.num_zones).map(|zone| blooms.may_have(zone, hash)).collect();
                    assert_eq!(found, expected, "bit {bit}");
                }
            },
        }
    }
    println!("bloom: {told} of {} flips told", (place.end - place.start) * 8);
}

#[test]
fn filters_of_other_values_are_found_by_verify() {
    let file = open(written(options()));
    let place = file.metadata().global_buffers[file.metadata().blooms.unwrap()].clone();
    let filters = written(options())[place.start as usize..place.end as usize].to_vec();
    // The same rows in another order: what was in one zone is in several.
    let batch = table();
    let mut encoder =
        FileEncoder::new(&batch.schema(), WriteOptions { blooms: Vec::new(), ..options() }).unwrap();
    encoder.write(&batch.slice(1, 999)).unwrap();
    encoder.write(&batch.slice(0, 1)).unwrap();
    encoder.add_extra(KIND_BLOOMS, filters.into()).unwrap();
    let mut bytes = encoder.take_output().concat();
    bytes.extend(encoder.finish().unwrap().concat());
    let faults = open(bytes).verify(|_| {}).unwrap().faults;
    let of_column =
        |path: &str| faults.iter().filter(|fault| fault.place().column.as_deref() == Some(path)).count();
    // A row of the next zone in each but the last few, where it may be by chance; -0.0 is in every zone.
    assert!(of_column("i") >= 10 && of_column("t") >= 10, "{faults:?}");
    let message = "bloom filters: the value of row 63 expected in the filter of zone 0, not found there";
    assert!(faults.iter().any(|fault| fault.message() == message), "{faults:?}");
}
