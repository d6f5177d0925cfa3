//! Guards types on their way between formats: dictionaries with every kind of null keep theirs through Lance and
//! Parquet, and types that a format cannot hold are refused before there is a file.

use std::path::Path;
use std::sync::Arc;

use arrow_array::types::{ArrowDictionaryKeyType, Int8Type, Int16Type, Int32Type, UInt8Type};
use arrow_array::{
    Array, ArrayRef, Decimal32Array, DictionaryArray, FixedSizeBinaryArray, Int8Array, Int32Array,
    Int64Array, IntervalMonthDayNanoArray, LargeStringArray, ListArray, ListViewArray, PrimitiveArray,
    RecordBatch, RunArray, StringArray, StringViewArray, UnionArray,
};
use arrow_buffer::{IntervalMonthDayNano, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{DataType, Field, Schema, UnionFields};
use pennon_convert::{
    Batches, Format, Input, Output, ReadOptions, Reader, Selection, WriterOptions, compare_ordered,
    create_writer,
};
use pennon_file::{ErrorKind, Result};

fn table(batches: &[ArrayRef], ordered: bool) -> Vec<RecordBatch> {
    let field = Field::new("c", batches[0].data_type().clone(), true);
    let schema = Arc::new(Schema::new(vec![field.with_dict_is_ordered(ordered)]));
    batches.iter().map(|a| RecordBatch::try_new(schema.clone(), vec![a.clone()]).unwrap()).collect()
}

fn write(format: Format, path: &Path, batches: &[RecordBatch]) -> Result<()> {
    let output = Output::path(path, true)?;
    let mut writer = create_writer(format, output, &batches[0].schema(), &WriterOptions::default())?;
    for batch in batches {
        writer.write(batch)?;
    }
    writer.finish()?.commit().map(|_| ())
}

fn read(path: &Path) -> Vec<RecordBatch> {
    let reader = Reader::open(&Input::path(path), &ReadOptions::default()).unwrap();
    reader.batches(&Selection::default()).unwrap().collect::<Result<_>>().unwrap()
}

fn stream(batches: &[RecordBatch]) -> Batches {
    let owned: Vec<RecordBatch> = batches.to_vec();
    Box::new(owned.into_iter().map(Ok))
}

/// Equal in type, ordered flag and values.
#[track_caller]
fn assert_same(expected: &[RecordBatch], found: &[RecordBatch], what: &str) {
    let (a, b) = (expected[0].schema(), found[0].schema());
    assert_eq!(a.fields(), b.fields(), "{what}");
    assert_eq!(a.field(0).dict_is_ordered(), b.field(0).dict_is_ordered(), "{what}");
    let difference = compare_ordered(stream(expected), stream(found), &[(0, 0)], 3, |_| ()).unwrap();
    assert!(difference.is_equal(), "{what}: {difference:?}");
}

fn dictionary<K: ArrowDictionaryKeyType>(
    keys: impl IntoIterator<Item = Option<K::Native>>,
    values: ArrayRef,
) -> ArrayRef {
    Arc::new(DictionaryArray::<K>::new(PrimitiveArray::<K>::from_iter(keys), values))
}

fn texts(count: usize) -> ArrayRef {
    Arc::new(StringArray::from_iter_values((0..count).map(|i| format!("v{i}"))))
}

#[test]
fn dictionaries_with_every_kind_of_null_go_from_lance_to_parquet_and_back() {
    let a = || dictionary::<Int8Type>((0..=127).map(Some).chain([None, Some(127), Some(0)]), texts(128));
    let c = dictionary::<Int32Type>([None; 10], texts(0));
    let with_null: ArrayRef = Arc::new(StringArray::from(vec![Some("a"), None, Some("c")]));
    let d = (0..1500).map(|i| [Some(0), Some(1), None, Some(2), Some(1)][i % 5]);
    let nulls = NullBuffer::from(vec![true, true, false, true]);
    let odd_keys = Int32Array::new(ScalarBuffer::from(vec![0, 1, 99, 1]), Some(nulls));
    let e: ArrayRef = Arc::new(DictionaryArray::<Int32Type>::new(odd_keys, texts(2)));
    let uuids = FixedSizeBinaryArray::try_from_iter((0..5u8).map(|i| [i; 16])).unwrap();
    let keys = |n: i32| (0..300).map(move |i| (i % 7 != 3).then_some(i % n));
    let numbers: ArrayRef = Arc::new(Int64Array::from(vec![i64::MIN, -1, 0, i64::MAX]));
    let items = dictionary::<Int32Type>(keys(3), texts(3));
    let field = Arc::new(Field::new("item", items.data_type().clone(), true));
    let nulls = NullBuffer::from((0..100).map(|i| i % 4 != 1).collect::<Vec<bool>>());
    let offsets = OffsetBuffer::from_lengths((0..100).map(|_| 3));
    let cases: Vec<(&str, Vec<ArrayRef>, bool)> = vec![
        ("a", vec![a()], false),
        ("b", vec![dictionary::<UInt8Type>((0..=255).map(Some).chain([None]), texts(256))], false),
        ("c", vec![c], false),
        ("d", vec![dictionary::<Int32Type>(d, with_null)], false),
        ("e", vec![e], false),
        ("f", vec![dictionary::<Int32Type>(keys(5), Arc::new(uuids))], false),
        ("g", vec![dictionary::<Int16Type>(keys(4).map(|k| k.map(|k| k as i16)), numbers)], false),
        (
            "h",
            vec![dictionary::<Int32Type>(keys(3), Arc::new(LargeStringArray::from(vec!["x", "", "z"])))],
            false,
        ),
        ("i", vec![a()], true),
        ("j", vec![Arc::new(ListArray::new(field, offsets, items, Some(nulls)))], false),
        ("k", vec![a(), dictionary::<Int8Type>([None; 10], texts(0))], false),
    ];
    let folder = tempfile::tempdir().unwrap();
    let (lance, parquet, again) =
        (folder.path().join("a.lance"), folder.path().join("b.parquet"), folder.path().join("c.lance"));
    for (name, arrays, ordered) in cases {
        let batches = table(&arrays, ordered);
        write(Format::Lance, &lance, &batches).unwrap();
        assert_same(&batches, &read(&lance), &format!("({name}) in Lance"));
        write(Format::Parquet, &parquet, &read(&lance)).unwrap();
        assert_same(&batches, &read(&parquet), &format!("({name}) in Parquet"));
        write(Format::Lance, &again, &read(&parquet)).unwrap();
        assert_same(&batches, &read(&again), &format!("({name}) in Lance again"));
    }
}

#[test]
fn types_of_arrow_that_a_format_cannot_hold_are_refused_and_the_others_come_back() {
    let ends = PrimitiveArray::<Int32Type>::from(vec![2, 3, 4]);
    let runs = RunArray::try_new(&ends, &StringArray::from(vec![Some("a"), None, Some("b")])).unwrap();
    let fields = UnionFields::try_new(
        vec![0, 1],
        vec![Field::new("i", DataType::Int8, true), Field::new("s", DataType::Utf8, true)],
    )
    .unwrap();
    let children: Vec<ArrayRef> =
        vec![Arc::new(Int8Array::from(vec![Some(1), None])), Arc::new(StringArray::from(vec!["x", "y"]))];
    let union = UnionArray::try_new(fields, vec![0, 1, 1, 0].into(), Some(vec![0, 0, 1, 1].into()), children)
        .unwrap();
    let item = Arc::new(Field::new("item", DataType::Int8, true));
    let view = ListViewArray::new(
        item,
        vec![2, 0, 0, 1].into(),
        vec![1, 2, 0, 2].into(),
        Arc::new(Int8Array::from(vec![1, 2, 3])),
        Some(NullBuffer::from(vec![true, true, false, true])),
    );
    let interval = IntervalMonthDayNano::new(1, -2, 3);
    let arrays: Vec<ArrayRef> = vec![
        Arc::new(StringViewArray::from(vec![
            Some("short"),
            None,
            Some("longer than twelve bytes"),
            Some(""),
        ])),
        Arc::new(Decimal32Array::from(vec![Some(1), None, Some(-99), Some(0)])),
        Arc::new(IntervalMonthDayNanoArray::from(vec![Some(interval), None, None, Some(interval)])),
        Arc::new(view),
        Arc::new(runs),
        Arc::new(union),
    ];
    let folder = tempfile::tempdir().unwrap();
    for (i, array) in arrays.into_iter().enumerate() {
        let name = array.data_type().to_string();
        let batches = table(&[array], false);
        let lance = folder.path().join(format!("{i}.lance"));
        write(Format::Lance, &lance, &batches).unwrap();
        assert_same(&batches, &read(&lance), &name);
        for format in [Format::Parquet, Format::Arrow, Format::Csv, Format::Jsonl] {
            let path = folder.path().join(format!("{i}.{format}"));
            match write(format, &path, &batches) {
                Ok(()) => assert!(path.exists()),
                Err(e) => {
                    assert_eq!(e.kind(), ErrorKind::Unsupported, "{format} {name}: {e}");
                    assert!(!path.exists(), "{format} {name}: {e}");
                    println!("{format} {name}: {e}");
                }
            }
        }
    }
}
