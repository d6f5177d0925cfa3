//! Statistics in files: what they cost, and that no damage to them gives a wrong result.
//!
//! Guards against: a flipped bit that rules out rows which exist, statistics that outgrow their budget, and a wide file whose
//! statistics are read for the sake of one column.

mod common;

use std::sync::Arc;

use arrow_array::*;
use arrow_schema::{DataType, Field, Fields, Schema};
use bytes::Bytes;
use common::counted::{Counted, total};
use common::engine::{VERSIONS, open, options, reading, write};
use common::rng::Rng;
use common::work::{each, no_failures};
use pennon_file::filter::Predicate;
use pennon_file::{ErrorKind, File, FormatVersion, WriteOptions};

/// Where the statistics are, and how many bytes they have; nothing where there are none.
fn place(file: &File) -> Option<(usize, usize)> {
    let buffers = file.inspect().expect("inspect").global_buffers;
    let found = buffers.iter().find(|buffer| buffer.kind == "statistics")?;
    Some((found.offset as usize, found.bytes as usize))
}

/// Of three zones; every kind of value.
fn small() -> RecordBatch {
    let texts = (0..12).map(|i| (i % 5 != 2).then(|| format!("{}{i:02}", "t".repeat(i % 3))));
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("i", Arc::new(Int64Array::from_iter((0..12).map(|i| (i != 4).then_some(i * i))))),
        (
            "f",
            Arc::new(Float64Array::from_iter_values(
                (0..12).map(|i| [f64::NAN, f64::from(i)][(i % 3).min(1) as usize]),
            )),
        ),
        ("t", Arc::new(StringArray::from_iter(texts))),
        ("yes", Arc::new(BooleanArray::from_iter((0..12).map(|i| (i != 9).then_some(i >= 4))))),
    ];
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(n, a)| (n, a, true))).expect("columns")
}

const PREDICATES: [&str; 9] = [
    "i > 60",
    "i < 5 OR i IS NULL",
    "i IN (25, 26, 100)",
    "NOT is_nan(f) AND f <= 4",
    "is_nan(f)",
    "t LIKE 't0%' OR t >= 'tt05'",
    "t IS NULL",
    "yes",
    "NOT yes AND i < 9",
];

#[test]
fn every_flipped_bit_of_statistics_gives_the_right_rows_or_a_typed_error() {
    let batch = small();
    for version in VERSIONS {
        for checksums in [true, false] {
            let mut options = options(version);
            (options.zone_rows, options.statistics_bytes, options.checksums) = (4, Some(1 << 16), checksums);
            let bytes = write(&batch.schema(), std::slice::from_ref(&batch), options).expect("write");
            let predicates = PREDICATES.map(|text| Predicate::parse(text).expect("a predicate"));
            let counts =
                |file: &File| predicates.each_ref().map(|predicate| file.count_rows(Some(predicate)));
            let file = open(&bytes).expect("open");
            let expected = counts(&file).map(|count| count.expect("count"));
            let without = predicates.each_ref().map(|predicate| {
                file.scan().filter(predicate.clone()).use_statistics(false).count().expect("count")
            });
            assert_eq!(expected, without);
            let (start, len) = place(&file).expect("statistics");
            let bits: Vec<usize> = (0..len * 8).collect();
            let told = std::sync::atomic::AtomicUsize::new(0);
            let failures = each(&bits, |bit| {
                let mut damaged = bytes.to_vec();
                damaged[start + bit / 8] ^= 1 << (bit % 8);
                let file = open(&Bytes::from(damaged)).map_err(|e| format!("open: {e}"))?;
                let mut any = false;
                for ((count, expected), text) in counts(&file).into_iter().zip(expected).zip(PREDICATES) {
                    match count {
                        Ok(count) if count != expected => {
                            return Err(format!("{text}: {count} rows, not {expected}"));
                        }
                        Err(e) if e.kind() != ErrorKind::Corrupt => return Err(format!("{text}: {e}")),
                        Err(_) => any = true,
                        Ok(_) => {}
                    }
                }
                any |= file.statistics().is_err();
                told.fetch_add(usize::from(any), std::sync::atomic::Ordering::Relaxed);
                let report = file.verify(|_| {}).map_err(|e| format!("verify: {e}"))?;
                // Without checksums a column's name can be damaged so that the message is nobody's.
                if report.faults.is_empty() && (checksums || any) {
                    return Err("verify finds nothing".to_owned());
                }
                Ok(())
            });
            println!(
                "statistics: {version}, checksums {checksums}: {len} bytes, {} flips, {} told by readers",
                bits.len(),
                told.into_inner()
            );
            no_failures("statistics", &failures, |bit| {
                format!("{version}, checksums {checksums}, bit {bit}")
            });
        }
    }
}

/// Tables of many shapes, each with values whose zones differ.
fn shapes() -> Vec<(&'static str, RecordBatch)> {
    let mut rng = Rng::new(11);
    let mut ints = |rows: usize, from: i64| -> ArrayRef {
        Arc::new(Int64Array::from_iter_values((0..rows as i64).map(|i| from + i + (rng.word() & 7) as i64)))
    };
    let many: Vec<(String, ArrayRef)> = (0..60).map(|i| (format!("c{i}"), ints(2000, 1000 * i))).collect();
    let wide: Vec<(String, ArrayRef)> = (0..1500).map(|i| (format!("c{i}"), ints(50, i))).collect();
    let texts: ArrayRef =
        Arc::new(StringArray::from_iter_values((0..5000).map(|i| format!("{i:06}").repeat(1 + i % 30))));
    let leaf = ints(3000, 5);
    let fields =
        Fields::from(vec![Field::new("x", DataType::Int64, true), Field::new("y", DataType::Int64, true)]);
    let inner: ArrayRef = Arc::new(StructArray::new(fields, vec![leaf.clone(), leaf.clone()], None));
    let lengths = std::iter::repeat_n(3, 1000);
    let offsets = arrow_buffer::OffsetBuffer::from_lengths(lengths);
    let item = Arc::new(Field::new("item", inner.data_type().clone(), true));
    let nested: ArrayRef = Arc::new(ListArray::new(item, offsets, inner, None));
    let of = |columns: Vec<(String, ArrayRef)>| {
        RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(n, a)| (n, a, true)))
            .expect("columns")
    };
    vec![
        ("one column", of(vec![("a".into(), ints(40_000, 0))])),
        ("many columns", of(many)),
        ("more columns than a directory takes", of(wide)),
        ("long texts", of(vec![("t".into(), texts)])),
        ("lists of structs", of(vec![("l".into(), nested)])),
        ("a row", of(vec![("a".into(), ints(1, 0))])),
    ]
}

#[test]
fn statistics_keep_to_their_budget_and_tell_the_more_the_larger_it_is() {
    for (name, batch) in shapes() {
        let mut before = 0;
        for budget in [0, 23, 24, 40, 100, 1000, 10_000, 1 << 20] {
            let mut options = WriteOptions::default();
            (options.zone_rows, options.statistics_bytes) = (64, Some(budget));
            let bytes = write(&batch.schema(), std::slice::from_ref(&batch), options).expect("write");
            let file = open(&bytes).expect("open");
            let len = place(&file).map_or(0, |(_, len)| len) as u64;
            assert!(len <= budget, "{name}: {len} bytes of statistics, {budget} are allowed");
            assert!(len >= before, "{name}: {len} bytes of statistics by {budget}, {before} by less");
            before = len;
            let known = file.statistics().expect("statistics");
            assert!(known.iter().map(|column| column.bytes).sum::<u64>() <= len, "{name}");
            assert!(file.verify(|_| {}).expect("verify").faults.is_empty(), "{name} by {budget}");
        }
        assert!(before > 0, "{name}: no statistics by any budget");
    }
}

#[test]
fn extras_take_no_more_than_they_shall_of_any_shape() {
    for (name, batch) in shapes() {
        let size = |statistics: bool, checksums: bool, directory: usize| {
            let mut options = WriteOptions::default();
            (options.statistics, options.checksums, options.zone_rows) = (statistics, checksums, 64);
            options.directory_columns = directory;
            let bytes = write(&batch.schema(), std::slice::from_ref(&batch), options).expect("write");
            let statistics = place(&open(&bytes).expect("open")).map_or(0, |(_, len)| len);
            (bytes.len(), statistics)
        };
        let (bare, none) = size(false, false, usize::MAX);
        let (checked, _) = size(false, true, usize::MAX);
        let (full, statistics) = size(true, true, usize::MAX);
        assert_eq!(none, 0);
        // Of many small columns the checksums alone may be more; then there are no statistics.
        let most = (bare * 15 / 10_000 + 1024).max(checked - bare);
        println!("statistics: {name}: {bare} bytes, {} of extras, {statistics} of statistics", full - bare);
        assert!(full - bare <= most, "{name}: {} bytes of extras over {bare}", full - bare);
        assert!(
            bare < 200_000 || statistics * 100 < bare,
            "{name}: {statistics} bytes of statistics over {bare}"
        );
    }
}

#[test]
fn a_wide_file_with_statistics_is_opened_as_one_without_and_gives_one_columns_by_three_reads() {
    const COLUMNS: usize = 20_000;
    let fields: Vec<Field> =
        (0..COLUMNS).map(|i| Field::new(format!("c{i:05}"), DataType::Int32, true)).collect();
    let column = |i: usize| -> ArrayRef {
        Arc::new(Int32Array::from_iter_values((0..100).map(|row| (i + row) as i32)))
    };
    let schema = Arc::new(Schema::new(fields));
    let batch = RecordBatch::try_new(schema, (0..COLUMNS).map(column).collect()).expect("columns");
    for version in [FormatVersion::V2_0, FormatVersion::V2_2] {
        let written = |statistics: bool, budget: Option<u64>| {
            let mut options = options(version);
            (options.statistics, options.statistics_bytes, options.zone_rows) = (statistics, budget, 20);
            write(&batch.schema(), std::slice::from_ref(&batch), options).expect("write")
        };
        // Everything there is to say; what fits beside the checksums and the directory; nothing.
        let (all, usual, none) = (written(true, Some(8 << 20)), written(true, None), written(false, None));
        let opening = |bytes: &Bytes| {
            let counted = Counted::new(bytes.clone());
            let file = File::from_read_at(counted.clone(), &reading(4096)).expect("open");
            let reads = counted.drain();
            ((reads.len(), total(&reads)), counted, file)
        };
        let (without, ..) = opening(&none);
        let (with, counted, file) = opening(&all);
        assert_eq!(with, without, "{version}: reads and bytes of opening");
        assert_eq!(opening(&usual).0, without, "{version}: reads and bytes of opening");
        let filter = Predicate::parse("c12345 < 12365").expect("a predicate");
        assert_eq!(file.count_rows(Some(&filter)).expect("count"), 20);
        let reads = counted.drain();
        println!(
            "statistics: {version}, {COLUMNS} columns: {} bytes of statistics in {}; a filter takes {} reads, {} bytes",
            place(&file).expect("statistics").1,
            all.len(),
            reads.len(),
            total(&reads)
        );
        // The directory's bucket; the field and its metadata; header, entry and message of the statistics, which tell all.
        assert!(reads.len() <= 6 && total(&reads) < 50 << 10, "{version}: {reads:?}");
        let share = place(&open(&usual).expect("open")).map_or(0, |(_, len)| len) * 100;
        assert!(share < usual.len(), "{version}: {share} / 100 of {} bytes", usual.len());
    }
}
