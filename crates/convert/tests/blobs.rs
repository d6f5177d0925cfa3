//! Guards that predicates see blobs of Lance files as the schema shows them: as the bytes, like those of other formats.

use std::path::Path;
use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, LargeBinaryArray, RecordBatch, StringArray, StructArray, UInt8Array, UInt32Array,
    UInt64Array,
};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, Field, Schema};
use pennon_convert::{Format, Input, Output, ReadOptions, Reader, Selection, WriterOptions, create_writer};
use pennon_file::filter::Predicate;

/// The blobs of both files.
const VALUES: [Option<&[u8]>; 6] = [Some(b"0123"), None, Some(b""), Some(b"012"), Some(b"3456"), None];

fn write(path: &Path, format: Format, field: Field, array: ArrayRef) {
    let batch = RecordBatch::try_new(Arc::new(Schema::new(vec![field])), vec![array]).unwrap();
    let mut options = WriterOptions::default();
    options.checksums = false;
    let output = Output::path(path, true).unwrap();
    let mut writer = create_writer(format, output, &batch.schema(), &options).unwrap();
    writer.write(&batch).unwrap();
    writer.finish().unwrap().commit().unwrap();
}

fn open(path: &Path) -> Reader {
    Reader::open(&Input::path(path), &ReadOptions::default()).unwrap()
}

/// A Lance file whose blobs are of the second kind, in a file beside it. Such blobs are not written, so the mark is misspelled
/// first.
fn second_kind(folder: &Path) -> Reader {
    let places = VALUES.map(|v| v.map(|v| (u64::from(*v.first().unwrap_or(&b'0') - b'0'), v.len() as u64)));
    let numbers =
        |f: fn((u64, u64)) -> u64| UInt64Array::from_iter_values(places.map(|p| f(p.unwrap_or_default())));
    let fields = vec![
        Field::new("kind", DataType::UInt8, false),
        Field::new("position", DataType::UInt64, false),
        Field::new("size", DataType::UInt64, false),
        Field::new("blob_id", DataType::UInt32, false),
        Field::new("blob_uri", DataType::Utf8, false),
    ];
    let columns: Vec<ArrayRef> = vec![
        Arc::new(UInt8Array::from_iter_values(places.map(|p| u8::from(p.is_some())))),
        Arc::new(numbers(|place| place.0)),
        Arc::new(numbers(|place| place.1)),
        Arc::new(UInt32Array::from_iter_values(places.map(|p| u32::from(p.is_some())))),
        Arc::new(StringArray::from_iter_values(places.map(|_| ""))),
    ];
    let nulls: NullBuffer = places.iter().map(Option::is_some).collect();
    let array = StructArray::new(fields.into(), columns, Some(nulls));
    let metadata =
        ["lance-encoding:blub", "lance-encoding:packed"].map(|k| (k.to_owned(), "true".to_owned()));
    let field = Field::new("b", array.data_type().clone(), true).with_metadata(metadata);
    let path = folder.join("f.lance");
    write(&path, Format::Lance, field, Arc::new(array));
    let mut bytes = std::fs::read(&path).unwrap();
    let (wrong, right) = (b"lance-encoding:blub", b"lance-encoding:blob");
    let at = bytes.windows(wrong.len()).position(|w| w == wrong).expect("the mark");
    bytes[at..at + right.len()].copy_from_slice(right);
    std::fs::write(&path, bytes).unwrap();
    std::fs::create_dir(folder.join("f")).unwrap();
    std::fs::write(folder.join("f/10000000000000000000000000000000.blob"), "0123456789").unwrap();
    open(&path)
}

/// Blobs of both kinds in Lance files, and the same bytes in an Arrow file.
fn sources(folder: &Path) -> [Reader; 3] {
    let array: ArrayRef = Arc::new(LargeBinaryArray::from_iter(VALUES));
    let mark = [("lance-encoding:blob".to_owned(), "true".to_owned())];
    let field = Field::new("b", DataType::LargeBinary, true).with_metadata(mark);
    let (lance, arrow) = (folder.join("first.lance"), folder.join("b.arrow"));
    write(&lance, Format::Lance, field.clone(), array.clone());
    write(&arrow, Format::Arrow, field, array);
    [second_kind(folder), open(&lance), open(&arrow)]
}

fn check(cases: &[(&str, u64)]) {
    let folder = tempfile::tempdir().unwrap();
    for reader in sources(folder.path()) {
        for (text, expected) in cases {
            let predicate = Predicate::parse(text).unwrap();
            let name = reader.name();
            assert_eq!(reader.schema().unwrap().field(0).data_type(), &DataType::LargeBinary);
            let counted = reader.count_where(&predicate).unwrap_or_else(|e| panic!("{name}: {text}: {e}"));
            assert_eq!(counted, *expected, "{name}: {text}");
            let selection = Selection::default().with_filter(Some(predicate.clone()));
            let batches = reader.batches(&selection).unwrap();
            let rows: usize = batches.map(|batch| batch.unwrap().num_rows()).sum();
            assert_eq!(rows as u64, *expected, "{name}: {text}");
            reader.explain(&selection).unwrap_or_else(|e| panic!("{name}: {text}: {e}"));
            let numbers = reader.row_numbers(&predicate, 1).unwrap().map(|n| n.unwrap().len()).sum::<usize>();
            assert_eq!(numbers as u64, *expected, "{name}: {text}");
        }
    }
}

#[test]
fn blobs_of_both_kinds_are_filtered_by_their_bytes() {
    check(&[
        ("b = X'30313233'", 1),
        ("b <> X'30313233'", 3),
        ("b = X''", 1),
        ("b > X'303132'", 2),
        ("starts_with(b, X'303132')", 2),
        ("NOT starts_with(b, X'303132')", 2),
        ("b IN (X'', X'303132', X'00')", 2),
        ("b NOT IN (X'', X'303132', X'00')", 2),
        ("b BETWEEN X'303132' AND X'3031323300'", 2),
        ("b = b", 4),
        ("b IS NULL", 2),
        ("b IS NULL OR b = X''", 3),
    ]);
}

#[test]
fn an_empty_list_has_no_blob_and_null_is_neither_in_it_nor_not() {
    check(&[
        ("b IN ()", 0),
        ("NOT b IN ()", 4),
        ("b NOT IN ()", 4),
        ("b NOT IN () OR b IS NULL", 6),
        ("b IN () OR b = X''", 1),
    ]);
}

#[test]
fn a_blob_has_nothing_inside_it_whatever_its_kind() {
    let folder = tempfile::tempdir().unwrap();
    for reader in sources(folder.path()) {
        let error = reader.count_where(&Predicate::parse("b.kind = 0").unwrap()).unwrap_err().to_string();
        assert!(error.contains("\"b.kind\"") && error.lines().count() == 1, "{error}");
        // Names of types in Rust.
        assert!(!["Struct", "LargeBinary", "UInt8"].iter().any(|name| error.contains(name)), "{error}");
    }
}
