//! Cases about types that readers and writers are known to lose or to fall over.
//!
//! Guards against: fixed-size lists that only work for numbers (4), dictionaries that mistake nulls (6), types that
//! change on the way, odd names, and tables without columns or rows (10).

mod common;

use std::sync::Arc;

use arrow_array::builder::{
    BinaryBuilder, BooleanBuilder, Decimal128Builder, FixedSizeListBuilder, Float32Builder, Int32Builder,
    ListBuilder, StringBuilder, StructBuilder,
};
use arrow_array::{
    Array, ArrayRef, DictionaryArray, FixedSizeBinaryArray, FixedSizeListArray, Float16Array, Float32Array,
    Float64Array, Int8Array, Int32Array, Int64Array, LargeStringArray, ListArray, RecordBatch,
    RecordBatchOptions, StringArray, StructArray, TimestampSecondArray, types::*,
};
use arrow_buffer::{NullBuffer, OffsetBuffer, ScalarBuffer, i256};
use arrow_schema::{DataType, Field, Fields, IntervalUnit, Schema, UnionMode};
use common::all_types::{item, map, union};
use common::compare::difference;
use common::engine::{Part, VERSIONS, open, options, scan, take, write};
use common::generate::{Generator, Wanted};
use pennon_file::{ErrorKind, File, FormatVersion, PathWriter};

fn table(field: Field, column: ArrayRef) -> RecordBatch {
    RecordBatch::try_new(Arc::new(Schema::new(vec![field])), vec![column]).expect("one column")
}

fn one_column(column: ArrayRef) -> RecordBatch {
    table(Field::new("c", column.data_type().clone(), true), column)
}

#[track_caller]
fn equal(expected: &[RecordBatch], actual: pennon_file::Result<Vec<RecordBatch>>, what: &str) {
    let actual = actual.unwrap_or_else(|e| panic!("{what}: {e}"));
    if let Some(text) = difference(expected, &actual) {
        panic!("{what}: {text}");
    }
}

/// Writes batches, checks schema and rows, and takes some rows one by one.
#[track_caller]
fn round_trip(batches: &[RecordBatch], version: FormatVersion, rows: &[u64]) -> File {
    let schema = batches[0].schema();
    let what =
        format!("{version} {}", schema.fields().iter().map(|f| f.to_string()).collect::<Vec<_>>().join(", "));
    let bytes = write(&schema, batches, options(version)).unwrap_or_else(|e| panic!("{what}: {e}"));
    let file = open(&bytes).unwrap_or_else(|e| panic!("{what}: {e}"));
    assert_eq!(file.schema().expect("schema"), schema, "{what}");
    for (found, expected) in file.schema().expect("schema").fields().iter().zip(schema.fields()) {
        assert_eq!(found.dict_is_ordered(), expected.dict_is_ordered(), "{what}");
    }
    equal(batches, scan(&file, &Part::default()), &what);
    let row = |mut at: usize| {
        let batch = batches.iter().find(|b| {
            let here = at < b.num_rows();
            at -= if here { 0 } else { b.num_rows() };
            here
        });
        batch.expect("a row inside").slice(at, 1)
    };
    let expected: Vec<RecordBatch> = rows.iter().map(|r| row(*r as usize)).collect();
    equal(&expected, take(&file, rows, None), &format!("{what}, take"));
    file
}

// ---- case 4

/// 1,500 lists of `size`: full, null, with a null inside, and so on. `push` adds item 0 or 1 of a full list, or a null.
fn lists<B: arrow_array::builder::ArrayBuilder>(
    items: B,
    size: i32,
    push: impl Fn(&mut B, Option<usize>),
) -> ArrayRef {
    let mut lists = FixedSizeListBuilder::new(items, size);
    for row in 0..1500 {
        for at in 0..size as usize {
            let is_null = row % 3 == 1 || (row % 3 == 2 && at == 1);
            push(lists.values(), (!is_null).then_some(row + at));
        }
        lists.append(row % 3 != 1);
    }
    Arc::new(lists.finish())
}

#[test]
fn case_4_fixed_size_lists_of_everything() {
    let fields =
        Fields::from(vec![Field::new("x", DataType::Int32, true), Field::new("y", DataType::Utf8, true)]);
    let structs =
        StructBuilder::new(fields, vec![Box::new(Int32Builder::new()), Box::new(StringBuilder::new())]);
    let decimals = Decimal128Builder::new().with_precision_and_scale(10, 2).expect("10, 2");
    let columns = [
        lists(StringBuilder::new(), 2, |b, v| b.append_option(v.map(|v| "b".repeat(v % 5)))),
        lists(BinaryBuilder::new(), 2, |b, v| b.append_option(v.map(|v| v.to_le_bytes()))),
        lists(BooleanBuilder::new(), 3, |b, v| b.append_option(v.map(|v| v % 2 == 0))),
        lists(Float32Builder::new(), 3, |b, v| b.append_option(v.map(|v| -(v as f32)))),
        lists(structs, 2, |b, v| {
            b.field_builder::<Int32Builder>(0).expect("x").append_option(v.map(|v| v as i32));
            b.field_builder::<StringBuilder>(1).expect("y").append_option(v.map(|v| v.to_string()));
            b.append(v.is_some());
        }),
        lists(ListBuilder::new(Int32Builder::new()), 2, |b, v| {
            for i in 0..v.unwrap_or(0) % 4 {
                b.values().append_option((i != 2).then_some(i as i32));
            }
            b.append(v.is_some());
        }),
        lists(FixedSizeListBuilder::new(Int32Builder::new(), 2), 2, |b, v| {
            b.values().append_option(v.map(|v| v as i32));
            b.values().append_option(v.filter(|v| v % 2 == 0).map(|v| v as i32));
            b.append(v.is_some());
        }),
        lists(decimals, 2, |b, v| b.append_option(v.map(|v| v as i128 * 12_345_678))),
    ];
    for version in VERSIONS {
        for column in &columns {
            let batch = one_column(column.clone());
            // 2.0 keeps no nulls of structs: refused before there is a file.
            let is_struct = matches!(column.data_type(), DataType::FixedSizeList(i, _) if i.data_type().is_nested() && matches!(i.data_type(), DataType::Struct(_)));
            if is_struct && version == FormatVersion::V2_0 {
                let folder = tempfile::tempdir().expect("a temporary folder");
                let path = folder.path().join("x.lance");
                let mut writer = PathWriter::create(&path, &batch.schema(), options(version))
                    .expect("the type alone is no reason");
                let e = writer.write(&batch).expect_err("null structs");
                assert_eq!(
                    (e.kind(), e.place().column.as_deref()),
                    (ErrorKind::Unsupported, Some("c.item")),
                    "{e}"
                );
                drop(writer);
                assert_eq!(std::fs::read_dir(folder.path()).expect("the folder").count(), 0);
                continue;
            }
            round_trip(std::slice::from_ref(&batch), version, &[1, 0, 2, 1499]);
        }
        let nulls = NullBuffer::from((0..30).map(|row| row % 2 == 0).collect::<Vec<bool>>());
        let empty = Int32Array::from(Vec::<i32>::new());
        let of_nothing = FixedSizeListArray::try_new_with_length(
            item(DataType::Int32),
            0,
            Arc::new(empty),
            Some(nulls),
            30,
        );
        let batch = one_column(Arc::new(of_nothing.expect("lists of nothing")));
        let file = round_trip(std::slice::from_ref(&batch), version, &[1, 0, 2, 29]);
        let found = scan(&file, &Part::default()).expect("a scan");
        assert_eq!(found[0].column(0).null_count(), 15, "null and empty are different");
    }
}

// ---- case 6

fn dictionary<K: ArrowDictionaryKeyType>(
    keys: impl IntoIterator<Item = Option<K::Native>>,
    values: ArrayRef,
) -> ArrayRef {
    let keys = arrow_array::PrimitiveArray::<K>::from_iter(keys);
    Arc::new(DictionaryArray::<K>::new(keys, values))
}

fn texts(count: usize) -> ArrayRef {
    Arc::new(StringArray::from_iter_values((0..count).map(|i| format!("v{i}"))))
}

fn ordered(column: ArrayRef) -> RecordBatch {
    let field = Field::new("c", column.data_type().clone(), true).with_dict_is_ordered(true);
    table(field, column)
}

#[test]
fn case_6_dictionaries_with_every_kind_of_null() {
    let a = || dictionary::<Int8Type>((0..=127).map(Some).chain([None, Some(127), Some(0)]), texts(128));
    let b = dictionary::<UInt8Type>((0..=255).map(Some).chain([None]), texts(256));
    let c = dictionary::<Int32Type>([None; 10], texts(0));
    let with_null: ArrayRef = Arc::new(StringArray::from(vec![Some("a"), None, Some("c")]));
    let d = dictionary::<Int32Type>(
        (0..1500).map(|i| [Some(0), Some(1), None, Some(2), Some(1)][i % 5]),
        with_null,
    );
    let keys = Int32Array::new(
        ScalarBuffer::from(vec![0, 1, 99, 1]),
        Some(NullBuffer::from(vec![true, true, false, true])),
    );
    let e: ArrayRef = Arc::new(DictionaryArray::<Int32Type>::new(keys, texts(2)));
    let uuids = FixedSizeBinaryArray::try_from_iter((0..5u8).map(|i| [i; 16])).expect("16 bytes each");
    let keys = |n: i32| (0..300).map(move |i| (i % 7 != 3).then_some(i % n));
    let f = dictionary::<Int32Type>(keys(5), Arc::new(uuids));
    let g = dictionary::<Int16Type>(
        keys(4).map(|k| k.map(|k| k as i16)),
        Arc::new(Int64Array::from(vec![i64::MIN, -1, 0, i64::MAX])),
    );
    let h = dictionary::<Int32Type>(keys(3), Arc::new(LargeStringArray::from(vec!["x", "", "z"])));
    let items = dictionary::<Int32Type>(keys(3), texts(3));
    let offsets = OffsetBuffer::from_lengths((0..100).map(|_| 3));
    let nulls = NullBuffer::from((0..100).map(|i| i % 4 != 1).collect::<Vec<bool>>());
    let field = Arc::new(Field::new("item", items.data_type().clone(), true));
    let j: ArrayRef = Arc::new(ListArray::new(field, offsets, items, Some(nulls)));
    let none_used = dictionary::<Int8Type>([None; 10], texts(0));
    for version in VERSIONS {
        for column in
            [a(), b.clone(), c.clone(), d.clone(), e.clone(), f.clone(), g.clone(), h.clone(), j.clone()]
        {
            let rows: Vec<u64> = [2, column.len() as u64 - 1, 0]
                .into_iter()
                .chain((0..column.len()).filter(|i| column.is_null(*i)).map(|i| i as u64))
                .collect();
            round_trip(&[one_column(column)], version, &rows);
        }
        let file = round_trip(&[one_column(d.clone())], version, &[1, 4, 0]);
        let found = take(&file, &[1], None).expect("row 1");
        assert_eq!(found[0].column(0).logical_null_count(), 1, "a key of a null value is null");
        round_trip(&[ordered(a())], version, &[128, 130, 0]);
        // (k): one dictionary without room, then one without values, and the other way round.
        round_trip(&[one_column(a()), one_column(none_used.clone())], version, &[128, 131, 140, 0]);
        round_trip(
            &[one_column(none_used.clone()), one_column(a()), one_column(none_used.clone())],
            version,
            &[0, 10, 150],
        );
        // Two chunks that have more values together than the keys number.
        let other = StringArray::from_iter_values((0..128).map(|i| format!("w{i}")));
        let other = dictionary::<Int8Type>((0..=127).map(Some), Arc::new(other));
        round_trip(&[one_column(a()), one_column(other)], version, &[0, 131, 258]);
    }
}

// ---- case 10

const ROWS: usize = 900;

fn fields_of_case_10() -> Vec<Field> {
    use DataType::*;
    let mut types = vec![
        Decimal32(9, 2),
        Decimal64(18, 2),
        Decimal128(38, 2),
        Decimal256(76, 2),
        Float16,
        Duration(arrow_schema::TimeUnit::Nanosecond),
        Time32(arrow_schema::TimeUnit::Second),
        Time64(arrow_schema::TimeUnit::Nanosecond),
        Date64,
        Interval(IntervalUnit::MonthDayNano),
        FixedSizeBinary(0),
        FixedSizeBinary(16),
        Null,
        Struct(vec![Field::new("n", Null, true)].into()),
        Struct(Fields::empty()),
        List(item(Struct(Fields::empty()))),
        map(false),
        map(true),
        union(UnionMode::Dense),
        union(UnionMode::Sparse),
        Utf8View,
        BinaryView,
        ListView(item(Int32)),
    ];
    let ends = Arc::new(Field::new("run_ends", Int32, false));
    types.push(RunEndEncoded(ends, Arc::new(Field::new("values", Utf8, true))));
    types.into_iter().map(|t| Field::new("c", t, true)).collect()
}

#[test]
fn case_10_every_type_comes_back_with_its_nulls() {
    for version in VERSIONS {
        for (i, field) in fields_of_case_10().into_iter().enumerate() {
            let wanted = Wanted { long_values: false, ..Wanted::new(version) };
            let column = Generator::new(i as u64, wanted).array(&field, ROWS);
            round_trip(&[table(field.clone(), column.clone())], version, &[899, 0, 450, 0]);
            // Followed by another column, too.
            let schema = Schema::new(vec![field, Field::new("after", DataType::Int32, true)]);
            let after: ArrayRef = Arc::new(Int32Array::from_iter_values(0..ROWS as i32));
            let both = RecordBatch::try_new(Arc::new(schema), vec![column, after]).expect("two columns");
            round_trip(&[both], version, &[899, 0]);
        }
    }
}

#[test]
fn case_10_a_struct_without_fields_keeps_its_nulls_wherever_it_stands() {
    let nulls = NullBuffer::from((0..ROWS).map(|i| i % 3 != 1).collect::<Vec<bool>>());
    let empty: ArrayRef = Arc::new(StructArray::new_empty_fields(ROWS, Some(nulls)));
    for version in [FormatVersion::V2_1, FormatVersion::V2_2] {
        let file = round_trip(
            &[one_column(empty.clone()), one_column(empty.slice(0, 1))],
            version,
            &[1, 0, 899, 900],
        );
        assert_eq!(scan(&file, &Part::default()).expect("a scan")[0].column(0).null_count(), 300);
        let part = Part { batch_rows: Some(7), ..Part::default() };
        equal(
            &[one_column(empty.clone()), one_column(empty.slice(0, 1))],
            scan(&file, &part),
            "small batches",
        );
    }
}

#[test]
fn case_10_extreme_values_and_float_bits_are_kept() {
    let wide = 10_i128.pow(35);
    let widest = i256::from_i128(10_i128.pow(35)).wrapping_mul(i256::from_i128(10_i128.pow(35)));
    let half = |bits| half_of(bits);
    let zone = || "America/New_York";
    let columns: Vec<ArrayRef> = vec![
        Arc::new(
            arrow_array::Decimal128Array::from(vec![Some(wide), None, Some(-wide)])
                .with_precision_and_scale(38, 2)
                .expect("38, 2"),
        ),
        Arc::new(
            arrow_array::Decimal256Array::from(vec![Some(widest), None, Some(-widest)])
                .with_precision_and_scale(76, 2)
                .expect("76, 2"),
        ),
        Arc::new(
            arrow_array::Decimal32Array::from(vec![Some(999_999_999), None, Some(-999_999_999)])
                .with_precision_and_scale(9, 2)
                .expect("9, 2"),
        ),
        Arc::new(
            arrow_array::Decimal64Array::from(vec![Some(i64::MAX / 10), None, Some(i64::MIN / 10)])
                .with_precision_and_scale(18, 2)
                .expect("18, 2"),
        ),
        // Year 1 and year 9999.
        Arc::new(
            TimestampSecondArray::from(vec![Some(-62_135_596_800), None, Some(253_402_300_799)])
                .with_timezone(zone()),
        ),
    ];
    let floats: Vec<ArrayRef> = vec![
        Arc::new(Float16Array::from_iter_values([0x7e01, 0x8000, 0x0001].map(half))),
        Arc::new(Float32Array::from_iter_values([0x7fc0_1234, 0x8000_0000, 1].map(f32::from_bits))),
        Arc::new(Float64Array::from_iter_values([0xfff8_0000_0000_0777, 1 << 63, 1].map(f64::from_bits))),
    ];
    for version in VERSIONS {
        for column in columns.iter().chain(&floats) {
            let file = round_trip(&[one_column(column.clone())], version, &[2, 0, 1]);
            let found = scan(&file, &Part::default()).expect("a scan");
            let bytes = |array: &ArrayRef| array.to_data().buffers()[0].as_slice().to_vec();
            if column.null_count() == 0 {
                assert_eq!(bytes(found[0].column(0)), bytes(column), "{version} {}", column.data_type());
            }
        }
    }
}

fn half_of(bits: u16) -> <Float16Type as ArrowPrimitiveType>::Native {
    <Float16Type as ArrowPrimitiveType>::Native::from_bits(bits)
}

#[test]
fn case_10_odd_names_extensions_and_tables_of_nothing() {
    let names = ["a.b", "", "ünï`cødé", "x y\"z", "twice", "twice", "_rowid", "pennon", "type_id"];
    let fields: Vec<Field> = names.iter().map(|name| Field::new(*name, DataType::Int8, true)).collect();
    let columns =
        (0..names.len()).map(|i| Arc::new(Int8Array::from(vec![Some(i as i8), None, Some(-1)])) as ArrayRef);
    let odd = RecordBatch::try_new(Arc::new(Schema::new(fields)), columns.collect()).expect("odd names");
    let extension = |name: &str, parameters: &str, data_type: DataType| {
        let metadata = [("ARROW:extension:name", name), ("ARROW:extension:metadata", parameters), ("k", "")];
        let metadata = metadata.map(|(k, v)| (k.to_owned(), v.to_owned()));
        Field::new(name, data_type, true).with_metadata(std::collections::HashMap::from(metadata))
    };
    let fields = vec![
        extension("arrow.uuid", "", DataType::FixedSizeBinary(16)),
        extension("arrow.bool8", "", DataType::Int8),
        extension(
            "arrow.fixed_shape_tensor",
            r#"{"shape":[3]}"#,
            DataType::FixedSizeList(item(DataType::Float32), 3),
        ),
        extension("somebody.else", "{}", DataType::Utf8View),
        extension("somebody.union", "", union(UnionMode::Dense)),
    ];
    for version in VERSIONS {
        let file = round_trip(std::slice::from_ref(&odd), version, &[2, 0]);
        let part = Part { columns: Some(&["twice#2", "a.b", "``"]), ..Part::default() };
        let found = scan(&file, &part).expect("odd names are found");
        let found: Vec<i8> = found[0]
            .columns()
            .iter()
            .map(|c| {
                let column: &Int8Array = c.as_any().downcast_ref().expect("int8");
                column.value(0)
            })
            .collect();
        assert_eq!(found, [5, 0, 1]);

        let mut g = Generator::new(3, Wanted { long_values: false, ..Wanted::new(version) });
        let schema = Arc::new(Schema::new(fields.clone()));
        let columns = fields.iter().map(|f| g.array(f, ROWS)).collect();
        round_trip(&[RecordBatch::try_new(schema.clone(), columns).expect("extensions")], version, &[899, 0]);
        round_trip(&[RecordBatch::new_empty(schema)], version, &[]);

        let nothing = RecordBatchOptions::new().with_row_count(Some(900));
        let metadata = std::collections::HashMap::from([("k".to_owned(), "v".to_owned())]);
        let schema = Arc::new(Schema::new_with_metadata(Fields::empty(), metadata));
        let nothing = RecordBatch::try_new_with_options(schema, vec![], &nothing).expect("no columns");
        let bytes =
            write(&nothing.schema(), std::slice::from_ref(&nothing), options(version)).expect("no columns");
        let file = open(&bytes).expect("a file without columns");
        assert_eq!((file.num_rows(), file.schema().expect("schema")), (900, nothing.schema()));
        assert_eq!(
            scan(&file, &Part::default()).expect("a scan").iter().map(RecordBatch::num_rows).sum::<usize>(),
            900
        );
    }
}
