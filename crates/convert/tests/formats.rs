//! Guards that what is written in a format is read back the same, in any batches, by row range, by column and by row
//! number, and that damaged or surprising input gives an error.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use arrow_array::builder::{Int32Builder, ListBuilder, MapBuilder, StringBuilder};
use arrow_array::types::{Int8Type, Int32Type};
use arrow_array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, DictionaryArray,
    DurationMillisecondArray, FixedSizeBinaryArray, Float32Array, Float64Array, Int64Array, RecordBatch,
    StringArray, StructArray, Time64MicrosecondArray, TimestampMicrosecondArray, UInt64Array,
};
use arrow_schema::{DataType, Field, Fields, Schema, SchemaRef};
use arrow_select::concat::concat_batches;
use pennon_convert::{
    BatchWriter, Format, Input, Output, ReadOptions, Reader, Selection, WriterOptions, compare_ordered,
    create_writer,
};
use pennon_file::{Compression, Result};

fn flat(rows: i64) -> RecordBatch {
    let some = |i: i64| i % 7 != 3;
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("i", Arc::new((0..rows).map(|i| some(i).then_some(i - 5)).collect::<Int64Array>())),
        ("u", Arc::new((0..rows).map(|i| Some(u64::MAX - i as u64)).collect::<UInt64Array>())),
        ("f", Arc::new((0..rows).map(|i| some(i).then_some(i as f32 / 3.0)).collect::<Float32Array>())),
        ("b", Arc::new((0..rows).map(|i| some(i).then_some(i % 2 == 0)).collect::<BooleanArray>())),
        (
            "s",
            Arc::new(
                (0..rows).map(|i| some(i).then(|| format!("text, \"{i}\"\nnext"))).collect::<StringArray>(),
            ),
        ),
        ("d", Arc::new((0..rows).map(|i| some(i).then_some(i as i32 * 100)).collect::<Date32Array>())),
        (
            "t",
            Arc::new(
                (0..rows)
                    .map(|i| some(i).then_some(i * 86_400_000_123))
                    .collect::<TimestampMicrosecondArray>(),
            ),
        ),
        (
            "z",
            Arc::new(
                (0..rows)
                    .map(|i| some(i).then_some(i))
                    .collect::<TimestampMicrosecondArray>()
                    .with_timezone("Europe/Paris"),
            ),
        ),
        ("h", Arc::new((0..rows).map(|i| some(i).then_some(i * 1001)).collect::<Time64MicrosecondArray>())),
        ("p", Arc::new((0..rows).map(|i| some(i).then_some(-i)).collect::<DurationMillisecondArray>())),
        (
            "m",
            Arc::new(
                (0..rows)
                    .map(|i| some(i).then_some(i128::from(i) - 300))
                    .collect::<Decimal128Array>()
                    .with_precision_and_scale(20, 2)
                    .unwrap(),
            ),
        ),
        ("x", Arc::new((0..rows).map(|i| some(i).then(|| vec![i as u8, 255, 0])).collect::<BinaryArray>())),
        (
            "w",
            Arc::new(
                FixedSizeBinaryArray::try_from_sparse_iter_with_size(
                    (0..rows).map(|i| some(i).then_some([i as u8, 1])),
                    2,
                )
                .unwrap(),
            ),
        ),
        (
            "k",
            Arc::new(
                (0..rows)
                    .map(|i| some(i).then(|| ["red", "green"][i as usize % 2]))
                    .collect::<DictionaryArray<Int8Type>>(),
            ),
        ),
    ];
    let fields: Vec<_> = columns.iter().map(|(n, c)| Field::new(*n, c.data_type().clone(), true)).collect();
    let schema = Schema::new(fields).with_metadata([("origin", "test")]);
    RecordBatch::try_new(Arc::new(schema), columns.into_iter().map(|(_, c)| c).collect()).unwrap()
}

fn nested(rows: i64) -> RecordBatch {
    let mut lists = ListBuilder::new(Int32Builder::new());
    let mut maps = MapBuilder::new(None, StringBuilder::new(), Int32Builder::new());
    for i in 0..rows {
        match i % 4 {
            0 => lists.append_null(),
            n => lists.append_value((1..n).map(|v| (v != 2).then_some(v as i32))),
        }
        if i % 5 != 0 {
            maps.keys().append_value(format!("k{i}"));
            maps.values().append_value(i as i32);
        }
        maps.append(i % 6 != 0).unwrap();
    }
    let (lists, maps) = (lists.finish(), maps.finish());
    let inner = Fields::from(vec![
        Field::new("l", lists.data_type().clone(), true),
        Field::new("v", DataType::Float64, true),
    ]);
    let values: ArrayRef = Arc::new(
        (0..rows)
            .map(|i| Some([f64::NAN, f64::INFINITY, -0.5, 1e300][i as usize % 4]))
            .collect::<Float64Array>(),
    );
    let nulls = (0..rows).map(|i| i % 3 != 0).collect::<Vec<_>>();
    let structs = StructArray::new(inner, vec![Arc::new(lists), values], Some(nulls.into()));
    let schema = Schema::new(vec![
        Field::new("s", structs.data_type().clone(), true),
        Field::new("m", maps.data_type().clone(), true),
        Field::new("n", DataType::Int64, false),
    ]);
    let n: ArrayRef = Arc::new((0..rows).collect::<Int64Array>());
    RecordBatch::try_new(Arc::new(schema), vec![Arc::new(structs), Arc::new(maps), n]).unwrap()
}

fn write(format: Format, path: &Path, batches: &[RecordBatch], options: &WriterOptions) -> Result<u64> {
    let output = Output::path(path, true)?;
    let mut writer: Box<dyn BatchWriter> = create_writer(format, output, &batches[0].schema(), options)?;
    for batch in batches {
        writer.write(batch)?;
    }
    writer.finish()?.commit()
}

fn open(path: &Path, schema: Option<SchemaRef>) -> Result<Reader> {
    let mut options = ReadOptions::default();
    options.schema = schema;
    Reader::open(&Input::path(path), &options)
}

fn all(reader: &Reader, selection: &Selection) -> RecordBatch {
    let schema = reader.projected_schema(selection.columns.as_deref()).unwrap();
    let batches = reader.batches(selection).unwrap().collect::<Result<Vec<_>>>().unwrap();
    assert!(batches.iter().all(|b| b.num_rows() <= selection.batch_rows));
    concat_batches(&schema, &batches).unwrap()
}

/// Equal as values, whatever lies under nulls and however dictionaries are cut.
fn assert_same(a: &RecordBatch, b: &RecordBatch) {
    assert_eq!(a.schema().fields(), b.schema().fields());
    let pairs: Vec<_> = (0..a.num_columns()).map(|i| (i, i)).collect();
    let one =
        |batch: &RecordBatch| -> pennon_convert::Batches { Box::new(std::iter::once(Ok(batch.clone()))) };
    let found = compare_ordered(one(a), one(b), &pairs, 3, |_| ()).unwrap();
    assert!(found.is_equal(), "{found:?}");
}

fn check(format: Format, batch: &RecordBatch, options: &WriterOptions) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(format!("t.{format}"));
    let n = batch.num_rows();
    let (a, b) = (batch.slice(0, n / 3), batch.slice(n / 3, n - n / 3));
    let bytes = write(format, &path, &[a, b], options).unwrap();
    assert_eq!(bytes, std::fs::metadata(&path).unwrap().len());

    let text = matches!(format, Format::Csv | Format::Jsonl);
    let reader = open(&path, text.then(|| batch.schema())).unwrap();
    assert_eq!(reader.format(), format);
    assert!(reader.num_rows().is_none_or(|r| r == n as u64));
    assert_eq!(reader.count().unwrap(), n as u64);
    if !text {
        assert_eq!(reader.schema().unwrap(), batch.schema());
    }
    assert_same(&all(&reader, &Selection::default()), batch);
    assert_same(&all(&reader, &Selection::default().with_batch_rows(7)), batch);
    assert_same(&all(&reader, &Selection::default().with_batch_bytes(300)), batch);
    let (from, to) = (n as u64 / 5, n as u64 - 3);
    assert_same(
        &all(&reader, &Selection::default().with_rows(from..to)),
        &batch.slice(from as usize, (to - from) as usize),
    );
    assert_eq!(all(&reader, &Selection::default().with_rows(n as u64..u64::MAX)).num_rows(), 0);
    let last = batch.schema().field(batch.num_columns() - 1).name().clone();
    let one = all(&reader, &Selection::default().with_columns(Some(vec![last])));
    assert_same(&one, &batch.project(&[batch.num_columns() - 1]).unwrap());

    let rows = [n as u64 - 1, 0, 5, 5, 4, n as u64 - 1];
    let took = reader.take(&rows, &Selection::default()).unwrap().collect::<Result<Vec<_>>>().unwrap();
    let indices = UInt64Array::from(rows.to_vec());
    let expected = arrow_select::take::take_record_batch(batch, &indices).unwrap();
    assert_same(&concat_batches(&batch.schema().with_no_metadata(), &took).unwrap(), &expected);
    let e = reader.take(&[0, n as u64], &Selection::default()).map(|_| ()).unwrap_err().to_string();
    assert!(
        e.contains(&format!("row {n} is out of range: the file has {n} rows, rows go from 0 to {}", n - 1)),
        "{e}"
    );
    assert_eq!(
        reader.take(&[], &Selection::default()).unwrap().map(|b| b.unwrap().num_rows()).sum::<usize>(),
        0
    );
}

trait WithNoMetadata {
    fn with_no_metadata(&self) -> SchemaRef;
}

impl WithNoMetadata for SchemaRef {
    fn with_no_metadata(&self) -> SchemaRef {
        Arc::new(Schema::new(self.fields().clone()))
    }
}

fn compressed(compression: Compression) -> WriterOptions {
    let mut options = WriterOptions::default();
    options.compression = compression;
    options
}

#[test]
fn parquet_brings_back_flat_and_nested_tables() {
    // Parquet knows neither the zone-less duration type nor its kin on its own; the kept Arrow schema brings them back.
    check(Format::Parquet, &flat(100), &WriterOptions::default());
    check(Format::Parquet, &nested(100), &compressed(Compression::Lz4));
    check(Format::Parquet, &nested(100), &compressed(Compression::None));
}

#[test]
fn arrow_files_bring_back_flat_and_nested_tables() {
    check(Format::Arrow, &flat(100), &WriterOptions::default());
    check(Format::Arrow, &nested(100), &compressed(Compression::Lz4));
    check(Format::Arrow, &nested(100), &compressed(Compression::Zstd(None)));
}

#[test]
fn arrow_streams_bring_back_flat_and_nested_tables() {
    check(Format::ArrowStream, &flat(100), &WriterOptions::default());
    check(Format::ArrowStream, &nested(100), &WriterOptions::default());
}

#[test]
fn csv_brings_back_flat_tables_with_their_schema() {
    check(Format::Csv, &flat(100), &WriterOptions::default());
    check(Format::Csv, &flat(2500), &WriterOptions::default());
}

#[test]
fn json_lines_bring_back_flat_and_nested_tables_with_their_schema() {
    check(Format::Jsonl, &flat(100), &WriterOptions::default());
    check(Format::Jsonl, &nested(2500), &WriterOptions::default());
}

#[test]
fn json_lines_look_as_documented() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("t.jsonl");
    write(Format::Jsonl, &path, &[flat(1)], &WriterOptions::default()).unwrap();
    assert_eq!(
        std::fs::read_to_string(&path).unwrap(),
        concat!(
            r#"{"i":-5,"u":18446744073709551615,"f":0.0,"b":true,"s":"text, \"0\"\nnext","d":"1970-01-01","t":"1970-01-01T00:00:00","#,
            r#""z":"1970-01-01T00:00:00Z","h":"00:00:00","p":0,"m":"-3.00","x":"AP8A","w":"AAE=","k":"red"}"#,
            "\n"
        )
    );
    write(Format::Jsonl, &path, &[nested(2)], &WriterOptions::default()).unwrap();
    assert_eq!(
        std::fs::read_to_string(&path).unwrap(),
        "{\"s\":null,\"m\":null,\"n\":0}\n{\"s\":{\"l\":[],\"v\":\"Infinity\"},\"m\":{\"k1\":1},\"n\":1}\n"
    );
}

#[test]
fn types_of_csv_are_guessed_and_a_late_misfit_says_what_to_do() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("t.csv");
    std::fs::write(&path, "\u{feff}a,b,c,d\n1,2.5,,x\n,,,\n3,4,,\"y, z\"\n").unwrap();
    let reader = open(&path, None).unwrap();
    let names: Vec<_> = reader
        .schema()
        .unwrap()
        .fields()
        .iter()
        .map(|f| format!("{}:{}", f.name(), pennon_convert::type_name(f.data_type())))
        .collect();
    assert_eq!(names, ["a:int64", "b:float64", "c:utf8", "d:utf8"]);
    let batch = all(&reader, &Selection::default());
    assert_eq!(batch.num_rows(), 3);
    assert_eq!((0..4).map(|c| batch.column(c).null_count()).collect::<Vec<_>>(), [1, 1, 3, 1]);

    let mut file = std::fs::File::create(&path).unwrap();
    writeln!(file, "a").unwrap();
    (0..1500).for_each(|i| writeln!(file, "{i}").unwrap());
    writeln!(file, "oops").unwrap();
    let e = open(&path, None).unwrap().count().unwrap_err().to_string();
    assert!(e.starts_with("row 1500, column a: expected int64, found \"oops\"; types are guessed"), "{e}");
}

#[test]
fn types_of_json_are_guessed_and_late_members_are_not_lost_in_silence() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("t.jsonl");
    let mut file = std::fs::File::create(&path).unwrap();
    (0..1500).for_each(|i| writeln!(file, "{{\"a\":{i},\"b\":[\"x\"],\"c\":{{\"d\":null}}}}").unwrap());
    let reader = open(&path, None).unwrap();
    assert_eq!(reader.count().unwrap(), 1500);
    assert_eq!(pennon_convert::type_name(reader.schema().unwrap().field(1).data_type()), "list<utf8>");
    writeln!(file, "{{\"a\":1,\"new\":2}}").unwrap();
    let e = open(&path, None).unwrap().count().unwrap_err().to_string();
    assert!(e.contains("new") && e.contains("--schema F.json sets them"), "{e}");
    std::fs::write(&path, "{\"a\":1}\n{\"a\":").unwrap();
    let e = open(&path, None).and_then(|r| r.count()).unwrap_err().to_string();
    assert!(!e.contains('\n'), "{e}");
}

#[test]
fn dictionaries_that_change_between_batches_reach_an_arrow_file() {
    let dir = tempfile::tempdir().unwrap();
    let make = |names: &[Option<&str>]| -> RecordBatch {
        let column: ArrayRef = Arc::new(names.iter().copied().collect::<DictionaryArray<Int32Type>>());
        RecordBatch::try_from_iter_with_nullable([("k", column, true)]).unwrap()
    };
    let batches =
        [make(&[Some("a"), None]), make(&[Some("b"), Some("a")]), make(&[None]), make(&[Some("c")])];
    for format in [Format::Arrow, Format::ArrowStream, Format::Parquet] {
        let path = dir.path().join(format!("t.{format}"));
        write(format, &path, &batches, &WriterOptions::default()).unwrap();
        let batch = all(&open(&path, None).unwrap(), &Selection::default());
        let text = arrow_cast::cast(batch.column(0), &DataType::Utf8).unwrap();
        let expected: ArrayRef =
            Arc::new(StringArray::from(vec![Some("a"), None, Some("b"), Some("a"), None, Some("c")]));
        assert_eq!(&text, &expected, "{format}");
    }
}

#[test]
fn tables_without_rows_and_without_columns_pass_where_the_format_has_them() {
    let dir = tempfile::tempdir().unwrap();
    let empty = flat(3).slice(0, 0);
    for format in [Format::Arrow, Format::ArrowStream, Format::Parquet, Format::Csv] {
        let path = dir.path().join(format!("t.{format}"));
        write(format, &path, std::slice::from_ref(&empty), &WriterOptions::default()).unwrap();
        let reader = open(&path, None).unwrap();
        assert_eq!((reader.count().unwrap(), reader.schema().unwrap().fields().len()), (0, 14), "{format}");
    }
    let options = arrow_array::RecordBatchOptions::new().with_row_count(Some(5));
    let bare = RecordBatch::try_new_with_options(Arc::new(Schema::empty()), vec![], &options).unwrap();
    let path = dir.path().join("bare.arrow");
    write(Format::Arrow, &path, std::slice::from_ref(&bare), &WriterOptions::default()).unwrap();
    assert_eq!(open(&path, None).unwrap().count().unwrap(), 5);
    let e = write(Format::Csv, &path, &[bare], &WriterOptions::default()).unwrap_err().to_string();
    assert!(e.contains("CSV cannot hold a table without columns"), "{e}");
}

#[test]
fn what_a_format_cannot_hold_is_refused_before_anything_is_written() {
    let dir = tempfile::tempdir().unwrap();
    let e = write(Format::Csv, &dir.path().join("t.csv"), &[nested(1)], &WriterOptions::default())
        .unwrap_err()
        .to_string();
    assert!(e.starts_with("unsupported: column \"s\" of type struct<l: list<int32>, v: float64> cannot be written as CSV; choose"), "{e}");
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn a_stream_is_told_by_its_content_and_spooled_when_it_must_be() {
    let dir = tempfile::tempdir().unwrap();
    let batch = nested(50);
    for format in [Format::Arrow, Format::ArrowStream, Format::Parquet, Format::Jsonl] {
        let path = dir.path().join("t");
        write(format, &path, std::slice::from_ref(&batch), &WriterOptions::default()).unwrap();
        let input = Input::stream("pipe", Box::new(std::fs::File::open(&path).unwrap()));
        let reader = Reader::open(&input, &ReadOptions::default()).unwrap();
        assert_eq!(reader.format(), format);
        assert_eq!(reader.count().unwrap(), 50, "{format}");
    }
}

#[test]
fn damaged_files_give_errors_and_never_panics() {
    let dir = tempfile::tempdir().unwrap();
    std::panic::set_hook(Box::new(|info| {
        if !pennon_convert::panic_is_expected() {
            eprintln!("{info}");
        }
    }));
    for format in [Format::Arrow, Format::ArrowStream, Format::Parquet, Format::Jsonl, Format::Csv] {
        let path = dir.path().join(format!("t.{format}"));
        let batch = if format == Format::Csv { flat(20) } else { nested(20) };
        write(format, &path, &[batch], &WriterOptions::default()).unwrap();
        let good = std::fs::read(&path).unwrap();
        let damaged = dir.path().join(format!("d.{format}"));
        let step = (good.len() / 300).max(1);
        for at in (0..good.len()).step_by(step) {
            for (cut, byte) in [(true, 0), (false, 0xFF), (false, good[at] ^ 1)] {
                let mut bad = good.clone();
                if cut {
                    bad.truncate(at)
                } else {
                    bad[at] = byte
                }
                std::fs::write(&damaged, &bad).unwrap();
                // Either outcome is fine; a panic or a hang is not.
                let started = std::time::Instant::now();
                if let Ok(reader) = open(&damaged, None) {
                    let _ = reader
                        .batches(&Selection::default())
                        .map(|b| b.map(|b| b.map(|b| b.num_rows())).collect::<Vec<_>>());
                    let _ = reader.take(&[3, 1], &Selection::default()).map(Iterator::count);
                }
                assert!(
                    started.elapsed().as_secs() < 5,
                    "{format}: byte {at}, {cut}, {byte}: {:?}",
                    started.elapsed()
                );
            }
        }
    }
    let _ = std::panic::take_hook();
}

/// The error of reading `text` as a file called `name`, with the types of `schema`.
fn refusal(name: &str, text: &str, schema: Option<(&str, DataType)>) -> String {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(name);
    std::fs::write(&path, text).unwrap();
    let schema = schema.map(|(n, t)| Arc::new(Schema::new(vec![Field::new(n, t, true)])));
    open(&path, schema)
        .and_then(|r| r.count())
        .map(|n| panic!("{n} rows of {text:?}"))
        .unwrap_err()
        .to_string()
}

#[test]
fn a_value_that_its_type_would_cut_is_an_error_that_names_row_column_and_value() {
    let many = "{\"a\":1,\"l\":[{\"b\":1}]}\n".repeat(1200);
    let e = refusal("t.jsonl", &format!("{many}{{\"a\":1.5}}\n"), None);
    assert!(e.starts_with("row 1200, column a: expected int64, found \"1.5\""), "{e}");
    let e = refusal("t.jsonl", &format!("{many}{{\"a\":1,\"l\":[{{\"b\":1}},{{\"b\":2.5}}]}}\n"), None);
    assert!(e.starts_with("row 1200, column l: expected int64, found \"2.5\""), "{e}");
    let e = refusal("t.jsonl", "{\"a\":1}\n{\"a\":1.9}\n", Some(("a", DataType::Int8)));
    assert!(e.starts_with("row 1, column a: expected int8, found \"1.9\""), "{e}");
    let e =
        refusal("t.jsonl", "{\"a\":1.5}\n", Some(("a", DataType::Duration(arrow_schema::TimeUnit::Second))));
    assert!(e.contains("found \"1.5\""), "{e}");

    let e = refusal("t.csv", &format!("d\n{}2020-01-01T10:00:00\n", "2020-01-01\n".repeat(1200)), None);
    assert!(e.starts_with("row 1200, column d: expected date32, found \"2020-01-01T10:00:00\""), "{e}");
    let e = refusal(
        "t.csv",
        &format!("d\n{}2020-01-01T10:00:00.25\n", "2020-01-01T10:00:00\n".repeat(1200)),
        None,
    );
    assert!(e.starts_with("row 1200, column d: expected timestamp[s], found"), "{e}");
    let e = refusal("t.csv", "m\n1.239\n", Some(("m", DataType::Decimal128(5, 2))));
    assert!(e.starts_with("row 0, column m: expected decimal128(5,2), found \"1.239\""), "{e}");
    let e = refusal("t.csv", "f\n1e39\n", Some(("f", DataType::Float32)));
    assert!(e.starts_with("row 0, column f: expected float32, found \"1e39\""), "{e}");
    let e = refusal("t.csv", "n\nx\n", Some(("n", DataType::Null)));
    assert!(e.starts_with("row 0, column n: expected null, found \"x\""), "{e}");
}

#[test]
fn an_object_has_one_member_of_a_name_when_written_and_when_read() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("t.jsonl");
    let one = |v: i64| -> ArrayRef { Arc::new(Int64Array::from(vec![v])) };
    let fields: Vec<_> =
        ["x", "x", "x#2", "x#2"].map(|n| Field::new(n, DataType::Int64, true)).into_iter().collect();
    let batch =
        RecordBatch::try_new(Arc::new(Schema::new(fields)), vec![one(1), one(2), one(3), one(4)]).unwrap();
    write(Format::Jsonl, &path, &[batch], &WriterOptions::default()).unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "{\"x\":1,\"x#3\":2,\"x#2\":3,\"x#2#2\":4}\n");

    let e = refusal("t.jsonl", "{\"a\":1}\n{\"a\":1,\n\"a\":2}\n", None);
    assert!(e.starts_with("row 1: two members called \"a\""), "{e}");
    let e = refusal("t.jsonl", "{\"s\":[{\"a\":1,\"b\":2,\"a\":null}]}\n", None);
    assert!(e.starts_with("row 0: two members called \"a\""), "{e}");
}

#[test]
fn csv_with_odd_quotes_and_nul_bytes_is_told_apart_from_csv_that_ends() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("t.csv");
    std::fs::write(&path, format!("a\n5\" pipe\n{}", "xxxxxxxxxx\n".repeat(1000))).unwrap();
    let batches = open(&path, None).unwrap().batches(&Selection::default().with_batch_bytes(1000)).unwrap();
    assert!(batches.count() > 5);
    let e = refusal("t.csv", "a,b\n1,2\n3,\"4\n5,6\n", None);
    assert!(e.starts_with("corrupt file: row 1: a quote opened there does not close"), "{e}");

    let e = refusal("t.csv", &format!("a\n{}\0\n", "x\n".repeat(9000)), None);
    assert!(e.starts_with("row 9000: expected text, found a NUL byte"), "{e}");
    let zeros = Input::stream("zeros", Box::new(std::io::repeat(0)));
    for format in [Format::Csv, Format::Jsonl] {
        let mut options = ReadOptions::default();
        options.format = Some(format);
        let e = Reader::open(&zeros, &options).map(drop).unwrap_err().to_string();
        assert!(e.contains("NUL byte") || e.contains("only once"), "{e}");
    }
    let text: ArrayRef = Arc::new(StringArray::from(vec!["a\0b"]));
    let batch = RecordBatch::try_from_iter([("a", text)]).unwrap();
    assert!(write(Format::Csv, &path, &[batch], &WriterOptions::default()).is_err());
}

#[test]
fn a_fixed_size_list_that_no_memory_holds_is_a_limit() {
    let item = |t: DataType| Arc::new(Field::new("item", t, true));
    let inner = DataType::FixedSizeList(item(DataType::Int8), 50_000);
    for t in [
        DataType::FixedSizeList(item(DataType::Int8), 2_000_000_000),
        DataType::FixedSizeList(item(inner), 50_000),
        DataType::List(item(DataType::FixedSizeList(item(DataType::Utf8), i32::MAX))),
    ] {
        let e = refusal("t.jsonl", "{\"a\":null}\n", Some(("a", t)));
        assert!(e.starts_with("limit: ") && e.contains("one value of column"), "{e}");
    }
}

#[test]
fn parquet_refuses_more_dictionary_values_than_its_readers_keys_hold() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("t.parquet");
    let make = |from: usize| -> RecordBatch {
        let names: Vec<_> = (from..from + 100).map(|i| i.to_string()).collect();
        let column: ArrayRef =
            Arc::new(names.iter().map(|n| Some(n.as_str())).collect::<DictionaryArray<Int8Type>>());
        RecordBatch::try_from_iter_with_nullable([("k", column, true)]).unwrap()
    };
    write(Format::Parquet, &path, &[make(0), make(20)], &WriterOptions::default()).unwrap();
    assert_eq!(all(&open(&path, None).unwrap(), &Selection::default()).num_rows(), 200);
    let e = write(Format::Parquet, &path, &[make(0), make(100)], &WriterOptions::default()).unwrap_err();
    assert!(e.to_string().contains("the dictionary has 200 values"), "{e}");
    let path = dir.path().join("t.arrows");
    write(Format::ArrowStream, &path, &[make(0), make(100)], &WriterOptions::default()).unwrap();
    assert_eq!(open(&path, None).unwrap().count().unwrap(), 200);
}

#[test]
fn json_lines_without_rows_are_a_table_without_rows() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("t.jsonl");
    write(Format::Jsonl, &path, &[flat(0)], &WriterOptions::default()).unwrap();
    let reader = open(&path, Some(flat(0).schema())).unwrap();
    assert_eq!((reader.count().unwrap(), reader.schema().unwrap().fields()), (0, flat(0).schema().fields()));
    assert_eq!(open(&path, None).unwrap().count().unwrap(), 0);
    let path = dir.path().join("empty");
    std::fs::write(&path, "\n").unwrap();
    let mut options = ReadOptions::default();
    options.format = Some(Format::Jsonl);
    assert_eq!(Reader::open(&Input::path(&path), &options).unwrap().count().unwrap(), 0);
    assert!(refusal("t.jsonl", "{}\n", None).contains("at least one member"));
}

#[test]
fn a_message_shows_little_of_a_long_value() {
    let long = "y".repeat(5000);
    for (name, text) in [
        ("t.csv", format!("a\n{}{long}\n", "1\n".repeat(1200))),
        ("t.jsonl", format!("{}{{\"a\":\"{long}\"}}\n", "{\"a\":1}\n".repeat(1200))),
        ("t.jsonl", format!("{}{{\"a\":\"{long}\"}}\n", "{\"a\":true}\n".repeat(1200))),
        ("t.jsonl", format!("{}{{\"{long}\":1}}\n", "{\"a\":true}\n".repeat(1200))),
    ] {
        let e = refusal(name, &text, None);
        assert!(e.matches('y').count() < 80, "{e}");
    }
}

#[test]
fn bytes_after_the_end_of_an_arrow_stream_are_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("t.arrows");
    write(Format::ArrowStream, &path, &[flat(5)], &WriterOptions::default()).unwrap();
    let mut twice = std::fs::read(&path).unwrap();
    twice.extend_from_within(..);
    std::fs::write(&path, twice).unwrap();
    let e = open(&path, None).unwrap().count().unwrap_err().to_string();
    assert!(e.contains("bytes after the end of the stream"), "{e}");
}

#[test]
fn what_parquet_cannot_hold_is_refused_by_column_before_there_is_an_output() {
    let dir = tempfile::tempdir().unwrap();
    let union = arrow_schema::UnionFields::try_new([0], [Field::new("a", DataType::Int8, true)]).unwrap();
    let union = DataType::Union(union, arrow_schema::UnionMode::Sparse);
    let list = DataType::List(Arc::new(Field::new("item", DataType::FixedSizeBinary(0), true)));
    for t in [union, list] {
        let batch = RecordBatch::new_empty(Arc::new(Schema::new(vec![Field::new("c", t, false)])));
        let e = write(Format::Parquet, &dir.path().join("t.parquet"), &[batch], &WriterOptions::default())
            .unwrap_err()
            .to_string();
        assert!(e.starts_with("unsupported: column \"c\" of type"), "{e}");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}

#[test]
fn parquet_with_gzip_is_unsupported_and_not_corrupt() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("t.parquet");
    let column: ArrayRef = Arc::new(Int64Array::from(vec![1, 2, 3]));
    let batch = RecordBatch::try_from_iter([("c", column)]).unwrap();
    write(Format::Parquet, &path, &[batch], &WriterOptions::default()).unwrap();
    let good = std::fs::read(&path).unwrap();
    // The footer says zstd in a byte of value 12 (6, doubled); gzip would be 4.
    let mut messages = Vec::new();
    for at in (0..good.len()).filter(|at| good[*at] == 12) {
        let mut bytes = good.clone();
        bytes[at] = 4;
        std::fs::write(&path, bytes).unwrap();
        messages.extend(open(&path, None).and_then(|r| r.batches(&Selection::default()).map(drop)).err());
    }
    let wanted =
        "unsupported: column c is compressed with gzip, which is not read; rewrite the file with zstd";
    assert!(messages.iter().any(|e| e.to_string().starts_with(wanted)), "{messages:?}");
}
