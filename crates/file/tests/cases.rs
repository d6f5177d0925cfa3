//! Cases that readers and writers of nested columns are known to get wrong.
//!
//! Guards against: leading empty lists (1), more bytes than 32-bit offsets reach (3), a lone value
//! behind a million nulls (5), unsorted and repeated rows (7), data hidden under nulls (9).

mod common;

use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow_array::builder::{Int32Builder, ListBuilder, StringBuilder, StructBuilder};
use arrow_array::{
    Array, ArrayRef, Int32Array, Int64Array, ListArray, RecordBatch, StringArray, StructArray, cast::AsArray,
    types::*,
};
use arrow_buffer::{BooleanBuffer, NullBuffer, OffsetBuffer};
use arrow_schema::{DataType, Field, Fields, Schema, SchemaRef};
use bytes::Bytes;
use common::compare::{Flags, difference, schema_difference};
use common::counted::{Counted, inside, total};
use common::engine::{Part, VERSIONS, expected_projection, expected_take, open, options, scan, take, write};
use common::memory;
use pennon_file::{ErrorKind, File, FileWriter, FormatVersion, OpenOptions, WriteOptions};

fn one_column(name: &str, array: ArrayRef) -> RecordBatch {
    let schema = Schema::new(vec![Field::new(name, array.data_type().clone(), true)]);
    RecordBatch::try_new(Arc::new(schema), vec![array]).expect("one column")
}

/// Writes, checks that the schema comes back exactly, and that a full scan equals the input.
fn round_trip(batch: &RecordBatch, options: WriteOptions) -> (Bytes, File) {
    let bytes = write(&batch.schema(), std::slice::from_ref(batch), options).expect("write");
    let file = open(&bytes).expect("open");
    assert_eq!(schema_difference(&batch.schema(), &file.schema().expect("schema"), Flags::Same), None);
    equal(batch, scan(&file, &Part::default()), "full scan");
    (bytes, file)
}

#[track_caller]
fn equal(expected: &RecordBatch, actual: pennon_file::Result<Vec<RecordBatch>>, what: &str) {
    let actual = actual.unwrap_or_else(|e| panic!("{what}: {e}"));
    if let Some(text) = difference(std::slice::from_ref(expected), &actual) {
        panic!("{what}: {text}");
    }
}

#[track_caller]
fn takes(batch: &RecordBatch, file: &File, rows: &[u64]) {
    equal(&expected_take(batch, rows), take(file, rows, None), &format!("take of {rows:?}"));
}

// ---- case 1

fn leading_empty_lists(variant_b: bool) -> RecordBatch {
    let fields =
        Fields::from(vec![Field::new("a", DataType::Int32, true), Field::new("b", DataType::Utf8, true)]);
    let item =
        StructBuilder::new(fields, vec![Box::new(Int32Builder::new()), Box::new(StringBuilder::new())]);
    let mut lists = ListBuilder::new(item);
    for row in 0..1075_usize {
        if row >= 1025 {
            let item = lists.values();
            let null = variant_b && row == 1030;
            let i = (row - 1025) as i32;
            let (a, b) = if null { (None, None) } else { (Some(i), Some(i.to_string())) };
            item.field_builder::<Int32Builder>(0).expect("a").append_option(a);
            item.field_builder::<StringBuilder>(1).expect("b").append_option(b);
            item.append(!null);
        }
        lists.append(!(variant_b && row == 512));
    }
    one_column("l", Arc::new(lists.finish()))
}

#[test]
fn case_1_many_leading_empty_lists() {
    for version in VERSIONS {
        for variant_b in [false, true] {
            if variant_b && version == FormatVersion::V2_0 {
                // It has null structs.
                continue;
            }
            let batch = leading_empty_lists(variant_b);
            for chunk in [None, Some(64), Some(256), Some(1024)] {
                let mut options = options(version);
                if let Some(bytes) = chunk {
                    // Variant C: the border falls inside.
                    common::engine::force_small(&mut options, bytes, bytes * 4);
                }
                let (_, file) = round_trip(&batch, options);
                takes(&batch, &file, &[1024, 0, 1024, 1025, 1074]);
                takes(&batch, &file, &[1074, 1025]);
                takes(&batch, &file, &[512, 1030, 511]);
                let part = Part { rows: Some(1020..1031), ..Part::default() };
                equal(&batch.slice(1020, 11), scan(&file, &part), "rows 1020 to 1030");
            }
        }
    }
}

// ---- case 3

/// Rows and bytes per string: the full size when asked for (`PENNON_LARGE=1`, and always in CI).
fn case_3_size() -> (usize, usize) {
    let large = std::env::var_os("PENNON_LARGE").is_some() || common::shared::in_ci();
    if large { (2_300, 1_000_000) } else { (2_300, 20_000) }
}

fn case_3_chunk(chunk: usize, rows: usize, letters: usize) -> RecordBatch {
    let first = chunk * rows;
    let id = Int64Array::from_iter_values((first..first + rows).map(|i| i as i64));
    let x = "x".repeat(letters);
    let s = StringArray::from_iter_values((first..first + rows).map(|i| format!("{x}{}", i % 100)));
    let schema =
        Schema::new(vec![Field::new("id", DataType::Int64, false), Field::new("s", DataType::Utf8, true)]);
    RecordBatch::try_new(Arc::new(schema), vec![Arc::new(id), Arc::new(s)]).expect("two columns")
}

#[test]
fn case_3_more_than_2_gib_in_one_32_bit_string_column() {
    if !memory::is_child() {
        return memory::in_child("case_3_more_than_2_gib_in_one_32_bit_string_column");
    }
    let (rows, letters) = case_3_size();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("case3.lance");
    let schema = case_3_chunk(0, 1, 1).schema();
    {
        let out = std::io::BufWriter::new(std::fs::File::create(&path).expect("create"));
        let mut writer = FileWriter::new(out, &schema, WriteOptions::default()).expect("writer");
        for chunk in 0..23 {
            writer.write(&case_3_chunk(chunk, rows / 23, letters)).expect("write");
        }
        writer.finish().expect("finish");
    }
    let after_writing = memory::peak();
    let file = File::open(&path).expect("open");
    assert_eq!(*file.schema().expect("schema"), *schema);
    let check = |batch: &RecordBatch, at: u64| {
        let id = batch.column_by_name("id").expect("id").as_primitive::<Int64Type>();
        let s = batch.column_by_name("s").expect("s").as_string::<i32>();
        for (i, (id, s)) in id.iter().zip(s).enumerate() {
            assert_eq!(id, Some((at + i as u64) as i64));
            let s = s.expect("no nulls");
            let tail = (at + i as u64) % 100;
            assert_eq!(&s[letters..], tail.to_string());
            assert!(s.as_bytes()[..letters].iter().all(|b| *b == b'x'));
        }
    };
    for batch_rows in [None, Some(10_000)] {
        let mut scan = file.scan();
        if let Some(n) = batch_rows {
            // An upper limit, never a reason to fail.
            scan = scan.batch_rows(n);
        }
        let mut at = 0;
        for batch in scan.batches().expect("scan") {
            let batch = batch.expect("batch");
            check(&batch, at);
            at += batch.num_rows() as u64;
        }
        assert_eq!(at, rows as u64);
    }
    let peak = memory::peak();
    let mib = |bytes: u64| bytes >> 20;
    println!(
        "case 3: {} MiB of strings, peak {} MiB after writing, {} MiB after two scans",
        (rows * letters) >> 20,
        mib(after_writing),
        mib(peak)
    );
    assert!(peak < 1 << 30, "a scan that drops its batches took {} MiB", mib(peak));

    // Every row at once: as many batches as the offsets need.
    let all: Vec<u64> = (0..rows as u64).collect();
    let mut at = 0;
    for batch in file.take(&all).batches().expect("take") {
        let batch = batch.expect("batch");
        check(&batch, at);
        at += batch.num_rows() as u64;
    }
    assert_eq!(at, rows as u64);
    let ends = take(&file, &[rows as u64 - 1, 0, rows as u64 - 1], Some(&["id"])).expect("take");
    assert_eq!(
        ends.iter()
            .flat_map(|b| b.column(0).as_primitive::<Int64Type>().values().to_vec())
            .collect::<Vec<_>>(),
        [rows as i64 - 1, 0, rows as i64 - 1]
    );

    let counted = Counted::local(std::fs::File::open(&path).expect("open"));
    let mut one_at_a_time = OpenOptions::default();
    one_at_a_time.source.mapping = pennon_file::io::MappingPolicy::Never;
    let file = File::from_read_at(counted.clone(), &one_at_a_time).expect("open");
    scan(&file, &Part { columns: Some(&["id"]), threads: Some(1), ..Part::default() }).expect("id only");
    let bytes = total(&counted.drain());
    println!("case 3: id only reads {bytes} bytes");
    assert!(bytes < 1 << 20, "id only reads {bytes} bytes");
}

// ---- case 5

#[test]
fn case_5_all_null_except_the_last_row() {
    const ROWS: usize = 1_000_000;
    let last_only = || NullBuffer::new(BooleanBuffer::collect_bool(ROWS, |i| i == ROWS - 1));
    let mut text = StringBuilder::new();
    (1..ROWS).for_each(|_| text.append_null());
    text.append_value("last");
    let mut list = ListBuilder::new(Int32Builder::new());
    (1..ROWS).for_each(|_| list.append_null());
    list.append_value([Some(1), None]);
    let mut a = vec![0; ROWS];
    a[ROWS - 1] = 1;
    let mut s = StringBuilder::new();
    (1..ROWS).for_each(|_| s.append_value(""));
    s.append_value("z");
    let fields =
        Fields::from(vec![Field::new("a", DataType::Int32, true), Field::new("s", DataType::Utf8, true)]);
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("utf8", Arc::new(text.finish())),
        ("int64", Arc::new(Int64Array::new(vec![7; ROWS].into(), Some(last_only())))),
        ("list", Arc::new(list.finish())),
        (
            "struct",
            Arc::new(StructArray::new(
                fields,
                vec![Arc::new(Int32Array::from(a)), Arc::new(s.finish())],
                Some(last_only()),
            )),
        ),
    ];
    for version in VERSIONS {
        for (name, array) in &columns {
            if *name == "struct" && version == FormatVersion::V2_0 {
                continue;
            }
            let batch = one_column("x", array.clone());
            let (bytes, file) = round_trip(&batch, options(version));
            takes(&batch, &file, &[999_999, 0, 999_998]);
            let nulls: usize =
                scan(&file, &Part::default()).expect("scan").iter().map(|b| b.column(0).null_count()).sum();
            assert_eq!(nulls, 999_999, "{name} {version}");

            let counted = Counted::new(bytes.clone());
            let file = File::from_read_at(counted.clone(), &common::engine::reading_exactly()).expect("open");
            counted.drain();
            take(&file, &[999_999, 0, 999_998], None).expect("take");
            let read = total(&counted.drain());
            println!("case 5: {name} {version}: file of {} bytes, take reads {read}", bytes.len());
            // Offsets of lists have no stretches in 2.0.
            if version == FormatVersion::V2_2 || (version == FormatVersion::V2_0 && *name != "list") {
                assert!(bytes.len() <= 64 << 10, "{name}: file of {} bytes", bytes.len());
                assert!(read <= 64 << 10, "{name}: take reads {read} bytes");
            }
        }
    }
}

// ---- case 7

#[test]
fn case_7_take_with_duplicates_and_without_order() {
    const ROWS: u64 = 1_000_000;
    let batch = one_column("x", Arc::new(Int64Array::from_iter_values(0..ROWS as i64)));
    for version in VERSIONS {
        let (_, file) = round_trip(&batch, options(version));
        let mut rng = common::rng::Rng::new(7);
        let asked: [(&str, Vec<u64>, f64); 5] = [
            ("a", (0..415).flat_map(|w| w * 241..w * 241 + 2410).collect(), 2.0),
            ("b", vec![7; 200_000], 0.2),
            ("c", (0..200_000).map(|_| rng.word() % ROWS).collect(), 0.5),
            ("d", vec![], 0.1),
            ("e", vec![999_999, 999_999, 0, 0], 0.1),
        ];
        for (name, rows, limit) in asked {
            let start = Instant::now();
            let batches = take(&file, &rows, None).expect("take");
            let took = start.elapsed();
            println!("case 7 ({name}) {version}: {} rows in {took:.1?}", rows.len());
            let found: Vec<i64> = batches
                .iter()
                .flat_map(|b| b.column(0).as_primitive::<Int64Type>().values().to_vec())
                .collect();
            assert!(found.iter().map(|v| *v as u64).eq(rows.iter().copied()), "({name})");
            assert_eq!(batches[0].schema(), batch.schema());
            let slack = if cfg!(debug_assertions) { 4.0 } else { 1.0 };
            assert!(took < Duration::from_secs_f64(limit * slack), "({name}) took {took:.1?}");
        }
        for bad in [1_000_000, u64::MAX] {
            let error = take(&file, &[3, bad, 5], None).expect_err("out of range");
            assert_eq!(error.kind(), ErrorKind::Invalid);
            let text = error.to_string();
            assert!(text.contains(&bad.to_string()) && text.contains("1000000"), "{text}");
        }
    }
}

// ---- case 9

/// Marks bytes that no reader may ever get to see.
const HIDDEN: &str = "HIDDEN-UNDER-A-NULL";

fn case_9_struct(hidden: bool) -> (SchemaRef, ArrayRef) {
    let mut l = ListBuilder::new(arrow_array::builder::Int64Builder::new());
    let mut s = StringBuilder::new();
    for row in 0..1500 {
        let under_null = row % 5 >= 2;
        if under_null && !hidden {
            l.append_null();
            s.append_null();
            continue;
        }
        match row % 5 {
            0 => l.append_value([Some(1), Some(2)]),
            1 => l.append_value([Some(3)]),
            2 => l.append_value([] as [Option<i64>; 0]),
            3 => l.append_null(),
            _ => l.append_value([Some(4), Some(5), Some(6)]),
        }
        if under_null {
            s.append_value(format!("{HIDDEN}-{row}-{}", "x".repeat(50)))
        } else {
            s.append_value(["a", "b"][row % 5])
        }
    }
    let (l, s): (ArrayRef, ArrayRef) = (Arc::new(l.finish()), Arc::new(s.finish()));
    let fields = Fields::from(vec![
        Field::new("l", l.data_type().clone(), true),
        Field::new("s", DataType::Utf8, true),
    ]);
    let nulls = NullBuffer::new(BooleanBuffer::collect_bool(1500, |i| i % 5 < 2));
    let array: ArrayRef = Arc::new(StructArray::new(fields, vec![l, s], Some(nulls)));
    (Arc::new(Schema::new(vec![Field::new("x", array.data_type().clone(), true)])), array)
}

/// All bytes of all buffers of an array.
fn shows(array: &dyn Array, needle: &[u8]) -> bool {
    fn data_shows(data: &arrow_data::ArrayData, needle: &[u8]) -> bool {
        data.buffers().iter().any(|b| b.as_slice().windows(needle.len()).any(|w| w == needle))
            || data.child_data().iter().any(|c| data_shows(c, needle))
    }
    data_shows(&array.to_data(), needle)
}

#[test]
fn case_9_data_hidden_under_null_parents_is_not_stored() {
    // 2.0 has no null structs.
    for version in [FormatVersion::V2_1, FormatVersion::V2_2] {
        let (schema, hidden) = case_9_struct(true);
        let (_, clean) = case_9_struct(false);
        for start in [0, 3] {
            let hidden = RecordBatch::try_new(schema.clone(), vec![hidden.slice(start, 1500 - start)])
                .expect("struct column");
            let clean = RecordBatch::try_new(schema.clone(), vec![clean.slice(start, 1500 - start)])
                .expect("struct column");
            let (bytes, file) = round_trip(&hidden, options(version));
            let (clean_bytes, _) = round_trip(&clean, options(version));
            assert_eq!(bytes.len(), clean_bytes.len(), "the file grows with hidden data");
            assert!(!bytes.windows(HIDDEN.len()).any(|w| w == HIDDEN.as_bytes()));
            takes(&hidden, &file, &[1, 0, 4, 1496]);
            for path in [&["x", "s"][..], &["x", "l"], &["x"]] {
                let names: Vec<String> = path.iter().map(|p| (*p).to_owned()).collect();
                let text = path.join(".");
                let part = Part { columns: Some(&[&text]), ..Part::default() };
                let found = scan(&file, &part);
                equal(&expected_projection(&hidden, &names), found, &text);
                let found = scan(&file, &part).expect("scan");
                assert!(
                    !found.iter().any(|b| shows(b.column(0).as_ref(), HIDDEN.as_bytes())),
                    "{text} shows what is hidden"
                );
            }
        }
    }
}

#[test]
fn case_9_lists_whose_nulls_span_items_and_whose_offsets_start_anywhere() {
    let hidden_at = |i: usize| i % 3 == 1;
    let nulls = || Some(NullBuffer::new(BooleanBuffer::collect_bool(900, |i| !hidden_at(i))));
    let offsets =
        |first: i32| OffsetBuffer::<i32>::new((0..=900).map(|i| first + 2 * i).collect::<Vec<_>>().into());
    let text = |i: usize| {
        if (5..1805).contains(&i) && hidden_at((i - 5) / 2) {
            format!("{HIDDEN}{i}")
        } else {
            format!("v{i}")
        }
    };
    let strings: ArrayRef = Arc::new(StringArray::from_iter_values((0..1900).map(text)));
    let fields = Fields::from(vec![Field::new("q", DataType::Utf8, true)]);
    let structs: ArrayRef = Arc::new(StructArray::new(fields, vec![strings.clone()], None));
    for values in [strings, structs] {
        let item = Arc::new(Field::new("item", values.data_type().clone(), true));
        // (c) a first offset other than 0; (d), (e) null slots that span real items.
        let plain = ListArray::new(item.clone(), offsets(5), values.clone(), None);
        let spanning = ListArray::new(item, offsets(5), values, nulls());
        for version in VERSIONS {
            let batch = one_column("l", Arc::new(plain.clone()));
            let (_, file) = round_trip(&batch, options(version));
            takes(&batch, &file, &[1, 0, 4, 899]);
            let batch = one_column("l", Arc::new(spanning.clone()));
            let (bytes, file) = round_trip(&batch, options(version));
            assert!(!bytes.windows(HIDDEN.len()).any(|w| w == HIDDEN.as_bytes()));
            takes(&batch, &file, &[1, 0, 4, 899]);
            let sliced = batch.slice(3, 800);
            let (_, file) = round_trip(&sliced, options(version));
            takes(&sliced, &file, &[1, 0, 4, 799]);
        }
    }
}

// ---- levels beyond a chunk

#[test]
fn more_levels_than_a_chunk_holds_come_back_whatever_they_are() {
    const MANY: usize = 70_000;
    let mut tables: Vec<(&str, ArrayRef)> = Vec::new();
    // Values far apart: empty lists between some, null lists between others.
    let mut lists = ListBuilder::new(Int32Builder::new());
    for stretch in 0..4 {
        lists.append_value([Some(stretch), None]);
        (0..MANY).for_each(|_| {
            if stretch % 2 == 0 { lists.append_value([] as [Option<i32>; 0]) } else { lists.append_null() }
        });
    }
    tables.push(("stretches of empty and null lists", Arc::new(lists.finish())));
    // One row of many items, some null; rows around it.
    let mut lists = ListBuilder::new(StringBuilder::new());
    lists.append_value([Some("before")]);
    lists.append_value((0..3 * MANY).map(|i| (i % 9 != 0).then(|| i.to_string())));
    lists.append_null();
    lists.append_value([None::<String>]);
    tables.push(("one row of many items", Arc::new(lists.finish())));
    // One row of many lists without a value between two that have one.
    let mut lists = ListBuilder::new(ListBuilder::new(Int32Builder::new()));
    for row in 0..3 {
        lists.values().append_value([Some(row)]);
        (0..MANY).for_each(|i| {
            if i % 2 == 0 {
                lists.values().append_null()
            } else {
                lists.values().append_value([] as [Option<i32>; 0])
            }
        });
        lists.values().append_value([Some(row), None]);
        lists.append(true);
    }
    tables.push(("rows of many lists without items", Arc::new(lists.finish())));
    for version in VERSIONS {
        for (name, array) in &tables {
            let batch = one_column("x", array.clone());
            let (bytes, file) = round_trip(&batch, options(version));
            let rows = batch.num_rows() as u64;
            takes(&batch, &file, &[rows - 1, 0, rows / 2, 1, rows - 2, 1]);
            println!("levels: {name} {version}: file of {} bytes", bytes.len());
        }
    }
}

#[test]
fn reads_inside_a_range_are_counted() {
    assert_eq!(inside(&[0..10, 20..30], &(5..25)), 10);
}
