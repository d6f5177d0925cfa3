//! Every type that Arrow has, in the groups of the published table.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef, Fields, IntervalUnit, TimeUnit, UnionFields, UnionMode};

/// Types that share a line of the table.
#[derive(Debug)]
pub struct Group {
    pub label: &'static str,
    pub fields: Vec<Field>,
    /// What the official reader makes of it where that is not the stored type.
    pub others: Option<&'static str>,
}

fn f(data_type: DataType) -> Field {
    Field::new("f", data_type, true)
}

pub fn item(data_type: DataType) -> FieldRef {
    Arc::new(Field::new("item", data_type, true))
}

fn dictionary(key: DataType, value: DataType) -> DataType {
    DataType::Dictionary(Box::new(key), Box::new(value))
}

fn structure() -> DataType {
    DataType::Struct(Fields::from(vec![
        Field::new("a", DataType::Int32, true),
        Field::new("b", DataType::Utf8, true),
    ]))
}

pub fn map(sorted: bool) -> DataType {
    let pair = Fields::from(vec![
        Field::new("key", DataType::Utf8, false),
        Field::new(
            "value",
            DataType::List(item(DataType::Struct(vec![Field::new("x", DataType::Int32, true)].into()))),
            true,
        ),
    ]);
    DataType::Map(Arc::new(Field::new("entries", DataType::Struct(pair), false)), sorted)
}

pub fn union(mode: UnionMode) -> DataType {
    let fields = vec![
        Field::new("i", DataType::Int64, true),
        Field::new("s", DataType::Utf8, true),
        Field::new("l", DataType::List(item(DataType::Int8)), true),
    ];
    DataType::Union(UnionFields::try_new(vec![1, 0, 7], fields).expect("three ids"), mode)
}

fn runs(ends: DataType, values: DataType) -> DataType {
    let ends = Arc::new(Field::new("run_ends", ends, false));
    DataType::RunEndEncoded(ends, Arc::new(Field::new("values", values, true)))
}

fn extension(name: &str, parameters: &str, data_type: DataType) -> Field {
    let metadata = [("ARROW:extension:name", name), ("ARROW:extension:metadata", parameters)];
    // pyarrow gives extension types without parameters empty ones.
    let metadata: HashMap<String, String> =
        metadata.into_iter().map(|(k, v)| (k.to_owned(), v.to_owned())).collect();
    f(data_type).with_metadata(metadata)
}

/// All groups, in the order of the table.
pub fn groups() -> Vec<Group> {
    use DataType::*;
    let group = |label, types: Vec<DataType>| Group {
        label,
        fields: types.into_iter().map(f).collect(),
        others: None,
    };
    let units = [TimeUnit::Second, TimeUnit::Millisecond, TimeUnit::Microsecond, TimeUnit::Nanosecond];
    let zones = [None, Some("America/New_York".into()), Some("+08:00".into())];
    let timestamps = units.iter().flat_map(|u| zones.clone().map(|z| Timestamp(*u, z))).collect();
    let required = Arc::new(Field::new("element", Int32, false));
    vec![
        group("Null", vec![Null]),
        group("Boolean", vec![Boolean]),
        group("Int8, 16, 32, 64", vec![Int8, Int16, Int32, Int64]),
        group("UInt8, 16, 32, 64", vec![UInt8, UInt16, UInt32, UInt64]),
        group("Float16, 32, 64", vec![Float16, Float32, Float64]),
        group("Decimal32(p, s)", vec![Decimal32(9, 2), Decimal32(1, -3)]),
        group("Decimal64(p, s)", vec![Decimal64(18, 2), Decimal64(5, 0)]),
        group("Decimal128(p, s)", vec![Decimal128(38, 2), Decimal128(10, -2)]),
        group("Decimal256(p, s)", vec![Decimal256(76, 2)]),
        group("Date32", vec![Date32]),
        group("Date64", vec![Date64]),
        group("Time32(unit)", vec![Time32(TimeUnit::Second), Time32(TimeUnit::Millisecond)]),
        group("Time64(unit)", vec![Time64(TimeUnit::Microsecond), Time64(TimeUnit::Nanosecond)]),
        group("Timestamp(unit, zone)", timestamps),
        group("Duration(unit)", units.map(Duration).to_vec()),
        group("Interval(YearMonth)", vec![Interval(IntervalUnit::YearMonth)]),
        group("Interval(DayTime)", vec![Interval(IntervalUnit::DayTime)]),
        group("Interval(MonthDayNano)", vec![Interval(IntervalUnit::MonthDayNano)]),
        group("Utf8", vec![Utf8]),
        group("LargeUtf8", vec![LargeUtf8]),
        group("Utf8View", vec![Utf8View]),
        group("Binary", vec![Binary]),
        group("LargeBinary", vec![LargeBinary]),
        group("BinaryView", vec![BinaryView]),
        group("FixedSizeBinary(n)", vec![FixedSizeBinary(16), FixedSizeBinary(1)]),
        group("FixedSizeBinary(0)", vec![FixedSizeBinary(0)]),
        group("List", vec![List(item(Int32)), List(required.clone()), List(item(structure()))]),
        group("LargeList", vec![LargeList(item(Int32)), LargeList(item(structure()))]),
        group("ListView", vec![ListView(item(Int32)), ListView(item(structure()))]),
        group("LargeListView", vec![LargeListView(item(Int32)), LargeListView(item(Utf8View))]),
        group(
            "FixedSizeList of values of fixed width, n > 0",
            vec![
                FixedSizeList(item(Float32), 3),
                FixedSizeList(item(Boolean), 3),
                FixedSizeList(item(Decimal128(10, 2)), 2),
                FixedSizeList(item(FixedSizeList(item(Int32), 2)), 2),
            ],
        ),
        group(
            "… whose item is not a nullable `item`",
            vec![FixedSizeList(required, 3), FixedSizeList(item(Decimal32(9, 2)), 2)],
        ),
        Group {
            others: Some(
                "what it is stored as; the official reader wants `fixed_size_list:struct:N` asked for alone",
            ),
            ..group("FixedSizeList of structs", vec![FixedSizeList(item(structure()), 2)])
        },
        group(
            "FixedSizeList of anything else",
            vec![
                FixedSizeList(item(Utf8), 2),
                FixedSizeList(item(Binary), 2),
                FixedSizeList(item(List(item(Int32))), 2),
                FixedSizeList(item(dictionary(Int8, Utf8)), 2),
                FixedSizeList(item(union(UnionMode::Dense)), 1),
            ],
        ),
        group(
            "FixedSizeList, n = 0",
            vec![FixedSizeList(item(Int32), 0), FixedSizeList(item(structure()), 0)],
        ),
        group("Struct", vec![structure(), Struct(vec![Field::new("n", Null, true)].into())]),
        Group {
            others: Some("what it is stored as"),
            ..group("Struct without fields, not the last column", vec![Struct(Fields::empty())])
        },
        group("Map", vec![map(false)]),
        group("Map, keys sorted", vec![map(true)]),
        group("Union, sparse", vec![union(UnionMode::Sparse)]),
        group("Union, dense", vec![union(UnionMode::Dense)]),
        group(
            "Dictionary of text, binary, numbers, booleans",
            vec![
                dictionary(Int8, Utf8),
                dictionary(UInt64, LargeUtf8),
                dictionary(Int16, Int64),
                dictionary(Int32, Binary),
            ],
        ),
        Group {
            fields: vec![f(dictionary(Int8, Utf8)).with_dict_is_ordered(true)],
            ..group("… ordered", Vec::new())
        },
        group("… of views", vec![dictionary(Int8, Utf8View)]),
        group(
            "Dictionary of other values",
            vec![
                dictionary(Int32, FixedSizeBinary(16)),
                dictionary(Int8, Timestamp(TimeUnit::Second, None)),
                dictionary(UInt8, Decimal32(9, 2)),
                dictionary(Int8, dictionary(Int8, Utf8)),
            ],
        ),
        group("Dictionary of structs", vec![dictionary(Int16, structure())]),
        group(
            "RunEndEncoded",
            vec![runs(Int32, Int64), runs(Int16, Utf8), runs(Int64, List(item(Utf8View)))],
        ),
        group("RunEndEncoded structs", vec![runs(Int32, structure())]),
        Group {
            fields: vec![
                extension("arrow.uuid", "", FixedSizeBinary(16)),
                extension("arrow.bool8", "", Int8),
                extension("arrow.fixed_shape_tensor", r#"{"shape":[3]}"#, FixedSizeList(item(Float32), 3)),
                extension("somebody.unknown", "x y", Utf8View),
            ],
            ..group("extension types", Vec::new())
        },
    ]
}
