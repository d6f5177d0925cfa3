//! Guards the walk from fields to columns, projection by path, and what each version refuses.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_schema::{DataType, Field, Fields, TimeUnit, UnionFields, UnionMode};

use super::*;
use crate::encoding::ValueType;
use crate::{ErrorKind, FormatVersion};

fn f(name: &str, data_type: DataType) -> Field {
    Field::new(name, data_type, true)
}

fn structure(fields: Vec<Field>) -> DataType {
    DataType::Struct(Fields::from(fields))
}

fn list(item: DataType) -> DataType {
    DataType::List(Arc::new(f("element", item)))
}

fn map(key: DataType, value: DataType) -> DataType {
    let pair = structure(vec![Field::new("key", key, false), f("value", value)]);
    DataType::Map(Arc::new(Field::new("entries", pair, false)), false)
}

fn fixed(item: DataType, dimension: i32) -> DataType {
    DataType::FixedSizeList(Arc::new(f("item", item)), dimension)
}

fn with(field: Field, key: &str, value: &str) -> Field {
    field.with_metadata(HashMap::from([(key.to_owned(), value.to_owned())]))
}

fn packed(name: &str, fields: Vec<Field>) -> Field {
    with(f(name, structure(fields)), "lance-encoding:packed", "TRUE")
}

/// Every kind of nesting: 25 fields, 15 columns.
fn example() -> arrow_schema::Schema {
    use DataType::*;
    arrow_schema::Schema::new(vec![
        f("i", Int64),
        f("s", structure(vec![f("a", Int32), f("b", Int32)])),
        f("l", list(Int32)),
        f("ls", LargeList(Arc::new(f("item", structure(vec![f("a", Int32), f("b", Utf8)]))))),
        f("m", map(Utf8, Int32)),
        f("f", fixed(Float32, 4)),
        f("fs", fixed(structure(vec![f("q", Int16)]), 2)),
        f("d", Dictionary(Box::new(Int8), Box::new(Utf8))),
        packed("pk", vec![f("x", Int32), f("y", Int64)]),
        f("n", Null),
        f("es", structure(vec![])),
        f("e", Utf8View),
    ])
}

fn schema(arrow: &arrow_schema::Schema) -> Schema {
    Schema::from_arrow(arrow, FormatVersion::V2_2).unwrap()
}

#[test]
fn the_example_has_its_fifteen_columns_in_order() {
    let schema = schema(&example());
    let leaves = schema.leaves().unwrap();
    let paths: Vec<&str> = leaves.iter().map(|l| l.path.as_str()).collect();
    let expected = [
        "i",
        "s.a",
        "s.b",
        "l.item",
        "ls.item.a",
        "ls.item.b",
        "m.key",
        "m.value",
        "f",
        "fs.item.q",
        "d",
        "pk",
        "n",
        "es",
        "e",
    ];
    assert_eq!(paths, expected);
    assert_eq!(schema.num_columns, 15);
    assert!(leaves.iter().enumerate().all(|(at, leaf)| leaf.column as usize == at));
    use Nesting::{FixedSizeList, Item, List};
    assert_eq!(leaves[0].layers, [Item]);
    assert_eq!(leaves[1].layers, [Item, Item]);
    assert_eq!(leaves[5].layers, [Item, Item, List]);
    assert_eq!(leaves[7].layers, [Item, Item, List]);
    assert_eq!(leaves[9].layers, [Item, Item, FixedSizeList(2)]);
    assert_eq!((leaves[9].rows_scale, leaves[8].rows_scale), (2, 1));
    assert_eq!(leaves[8].shape, ValueType::List { dimension: 4, items: Box::new(ValueType::Fixed(4)) });
    assert_eq!(leaves[10].shape, ValueType::Variable { wide: false });
    assert_eq!(leaves[11].shape, ValueType::Struct(vec![ValueType::Fixed(4), ValueType::Fixed(8)]));
    assert_eq!((leaves[11].kind, leaves[13].kind), (LeafKind::PackedStruct, LeafKind::Values));
    assert_eq!(
        leaves[13].arrow.data_type(),
        &DataType::Boolean,
        "only the last column may be without fields"
    );
    let ids: Vec<i32> = schema.fields.iter().map(|f| f.id).collect();
    assert_eq!(ids, [0, 1, 4, 6, 10, 14, 15, 18, 19, 22, 23, 24]);
    assert_eq!(schema.fields[11].arrow.data_type(), &DataType::Utf8);
    let sides: Vec<_> = schema.fields.iter().map(|f| f.columns.clone()).collect();
    assert_eq!((sides[1].clone(), sides[4].clone()), (1..3, 6..8));
}

#[test]
fn in_2_0_every_field_has_a_column() {
    let inner = structure(vec![f("a", DataType::Int32), f("b", list(DataType::Utf8))]);
    let arrow = arrow_schema::Schema::new(vec![f("x", DataType::Int32), f("y", inner)]);
    let newer = schema(&arrow);
    assert_eq!(newer.num_columns, 3);
    let older =
        Schema::parse(&newer.to_descriptor(1).into(), FormatVersion::V2_0, &Limits::default()).unwrap().0;
    assert_eq!(older.num_columns, 5);
    assert_eq!(older.leaf_paths().iter().map(|l| l.0).collect::<Vec<_>>(), [0, 2, 4]);
}

#[test]
fn a_schema_survives_the_descriptor_with_ids_and_metadata() {
    let arrow = arrow_schema::Schema::new_with_metadata(
        vec![
            with(
                f("t", DataType::Timestamp(TimeUnit::Nanosecond, Some("America/New_York".into()))),
                FIELD_ID,
                "7",
            ),
            with(f("u", DataType::FixedSizeBinary(16)), EXTENSION_NAME, "arrow.uuid"),
            f("v", structure(vec![with(f("w", DataType::Int8), FIELD_ID, "1"), f("x", DataType::Int8)])),
        ],
        HashMap::from([("schema key".to_owned(), "schema value".to_owned())]),
    );
    let schema = schema(&arrow);
    assert_eq!(schema.fields[0].id, 7);
    assert!(schema.fields[0].arrow.metadata().is_empty(), "the pin is consumed");
    assert_eq!((schema.fields[1].id, schema.fields[2].id), (0, 2));
    assert_eq!((schema.fields[2].children[0].id, schema.fields[2].children[1].id), (1, 3));
    let bytes = bytes::Bytes::from(schema.to_descriptor(99));
    let (again, rows) = Schema::parse(&bytes, FormatVersion::V2_2, &Limits::default()).unwrap();
    assert_eq!(rows, 99);
    assert_eq!(again.to_arrow(), schema.to_arrow());
    assert_eq!(again.fields[2].children[0].id, 1);
    assert_eq!(again.to_arrow().metadata()["schema key"], "schema value");
    for pins in [["3", "3"], ["-1", "0"], ["x", "0"]] {
        let fields = pins.iter().enumerate();
        let fields: Vec<_> =
            fields.map(|(i, p)| with(f(&i.to_string(), DataType::Int8), FIELD_ID, p)).collect();
        let error = Schema::from_arrow(&arrow_schema::Schema::new(fields), FormatVersion::V2_2).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
    }
}

fn projected(paths: &[&str]) -> (Vec<String>, SchemaRef) {
    let projection = schema(&example()).project(paths).unwrap();
    let leaves = projection.leaves.iter().map(|l| format!("{} {}", l.column, l.path)).collect();
    (leaves, projection.schema.to_arrow())
}

#[test]
fn paths_walk_structs_lists_and_maps_and_keep_the_asked_order() {
    let (leaves, arrow) = projected(&["e", "s.b", "i", "ls.item.b", "s"]);
    assert_eq!(leaves, ["14 e", "1 s.a", "2 s.b", "0 i", "5 ls.item.b"]);
    let names: Vec<_> = arrow.fields().iter().map(|f| f.name().as_str()).collect();
    assert_eq!(names, ["e", "s", "i", "ls"]);
    let inner = DataType::LargeList(Arc::new(f("item", structure(vec![f("b", DataType::Utf8)]))));
    assert_eq!(arrow.field(3).data_type(), &inner);
    assert_eq!(projected(&["m.key"]).0, ["6 m.key", "7 m.value"]);
    assert_eq!(projected(&["fs.item.q", "l.item", "pk"]).0, ["9 fs.item.q", "3 l.item", "11 pk"]);
    assert_eq!(projected(&[]).0, Vec::<String>::new());
    let map_of_structs = arrow_schema::Schema::new(vec![f(
        "m",
        map(DataType::Int8, structure(vec![f("x", DataType::Int8), f("y", DataType::Int8)])),
    )]);
    let projection = schema(&map_of_structs).project(&["m.value.y"]).unwrap();
    assert_eq!(projection.leaves.iter().map(|l| l.path.as_str()).collect::<Vec<_>>(), ["m.key", "m.value.y"]);
}

/// Stored type and tag of a field, and that it comes back as it was.
fn stored_as(field: Field, version: FormatVersion) -> (DataType, Option<String>) {
    let arrow = arrow_schema::Schema::new(vec![field, f("after", DataType::Int8)]);
    let schema = Schema::from_arrow(&arrow, version).unwrap();
    let bytes = bytes::Bytes::from(schema.to_descriptor(1));
    let again = Schema::parse(&bytes, version, &Limits::default()).unwrap().0;
    assert_eq!(again.to_arrow().as_ref(), &arrow);
    assert_eq!(again.to_arrow().field(0).dict_is_ordered(), arrow.field(0).dict_is_ordered());
    let stored = again.stored_arrow();
    let tag = stored.field(0).metadata().get("pennon:arrow-type").cloned();
    (stored.field(0).data_type().clone(), tag)
}

#[test]
fn types_without_a_name_are_stored_as_others_with_a_tag() {
    use DataType::*;
    let two = FormatVersion::V2_2;
    let tag = |field: Field, version| stored_as(field, version).1.unwrap_or_default();
    let dictionary = |key, value| Dictionary(Box::new(key), Box::new(value));
    let runs =
        |values: Field| RunEndEncoded(Arc::new(Field::new("run_ends", Int16, false)), Arc::new(values));
    assert_eq!(stored_as(f("v", Utf8View), two), (Utf8, Some("utf8_view".into())));
    assert_eq!(stored_as(f("v", Decimal32(9, 2)), two), (Decimal128(9, 2), Some("decimal32".into())));
    assert_eq!(tag(f("v", dictionary(Int8, FixedSizeBinary(4))), two), "dictionary:int8");
    assert_eq!(tag(f("v", dictionary(Int8, Utf8View)), two), "values/utf8_view");
    assert_eq!(tag(f("v", dictionary(Int8, Utf8)).with_dict_is_ordered(true), two), "ordered");
    assert_eq!(
        tag(f("v", runs(f("values", dictionary(UInt8, Date32)))), two),
        "run_end_encoded:int16/dictionary:uint8"
    );
    let odd = with(Field::new("v;", dictionary(Int8, Utf8View), false), "k", "=").with_dict_is_ordered(true);
    assert_eq!(
        tag(f("v", runs(odd)), two),
        "run_end_encoded:int16[values.name=v%3B;values.nullable=false;values.metadata.k=%3D]/ordered/values/utf8_view"
    );
    // What is null in the file and not in the type.
    assert_eq!(tag(Field::new("v", runs(f("values", Int8)), false), two), "required/run_end_encoded:int16");
    assert_eq!(tag(f("v", fixed(Utf8, 2)), two), "fixed_size_list:2");
    let required = Arc::new(Field::new("x", Int8, false));
    assert_eq!(tag(f("v", FixedSizeList(required, 2)), two), "item[name=x;nullable=false]");
    assert_eq!(tag(f("v", fixed(fixed(Decimal32(5, 1), 3), 2)), two), "item/item/decimal32");
    assert_eq!(tag(f("v", map(Utf8, Int8)), two), "");
    assert_eq!(tag(f("v", map(Utf8, Int8)), FormatVersion::V2_1), "map");
    assert_eq!(tag(f("v", fixed(structure(vec![f("x", Int8)]), 2)), two), "");
    assert_eq!(
        tag(f("v", fixed(structure(vec![f("x", Utf8View), f("l", list(Int8))]), 2)), two),
        "fixed_size_list:2"
    );
    let union =
        UnionFields::try_new(vec![3, 0], vec![f("a", Int8), Field::new("b", Utf8View, false)]).unwrap();
    let (stored, text) = stored_as(f("v", Union(union, UnionMode::Dense)), two);
    assert_eq!(text.as_deref(), Some("union:dense:3:0[required=1]"));
    let Struct(children) = stored else { panic!("{stored}") };
    assert_eq!(children.iter().map(|c| c.name().as_str()).collect::<Vec<_>>(), ["type_id", "a", "b"]);
    assert!(children[2].is_nullable() && !children[0].is_nullable());
}

#[test]
fn a_type_nested_as_deep_as_may_be_is_mapped_in_little_time() {
    let deep = (0..40).fold(DataType::Utf8, |inner, i| match i % 2 {
        0 => fixed(inner, 1),
        _ => fixed(structure(vec![f("x", inner)]), 1),
    });
    let arrow = arrow_schema::Schema::new(vec![f("deep", deep)]);
    let verdict = Schema::from_arrow(&arrow, FormatVersion::V2_2);
    assert_eq!(verdict.unwrap().to_arrow().as_ref(), &arrow);
}

#[test]
fn keys_of_the_format_never_reach_the_user_and_tags_that_lie_are_corrupt() {
    let own = with(f("v", DataType::Utf8), "pennon:arrow-type", "utf8_view");
    let arrow = arrow_schema::Schema::new(vec![own]);
    let written = Schema::from_arrow(&arrow, FormatVersion::V2_2).unwrap();
    assert_eq!(written.to_arrow().field(0), &f("v", DataType::Utf8), "a caller's own key is dropped");
    // What others may have put into a file: fields with tags as they like.
    let read = |data_type: DataType, tag: &str| {
        let field = with(f("v", data_type), "pennon:arrow-type", tag);
        let fields =
            descriptor::from_arrow(&arrow_schema::Schema::new(vec![field]), &Limits::default()).unwrap();
        Schema::new(fields, Metadata::new(), FormatVersion::V2_2)
            .map(|schema| schema.to_arrow().field(0).clone())
    };
    assert_eq!(read(DataType::Utf8, "a_type_of_tomorrow:7").unwrap(), f("v", DataType::Utf8));
    assert_eq!(read(DataType::Utf8, "utf8_view").unwrap(), f("v", DataType::Utf8View));
    let pair = structure(vec![f("type_id", DataType::Int8), f("a", DataType::Int8)]);
    for (data_type, tag) in [
        (DataType::Int32, "utf8_view"),
        (DataType::Utf8, "utf8_view/utf8_view"),
        (DataType::Decimal128(30, 2), "decimal32"),
        (DataType::Decimal128(19, 2), "decimal64"),
        (DataType::Int64, "interval:year_month"),
        (DataType::FixedSizeBinary(9), "interval:day_time"),
        (DataType::Utf8, "fixed_size_list:3"),
        (list(DataType::Int8), "map"),
        (pair.clone(), "union:sparse:0:1"),
        (pair.clone(), "union:sparse:-1"),
        (structure(vec![f("type_id", DataType::Int16), f("a", DataType::Int8)]), "union:sparse:0"),
        (structure(vec![]), "union:sparse:0"),
        (DataType::Utf8, "ordered"),
        (DataType::Utf8, "values"),
        (DataType::Utf8, "item"),
        (DataType::Utf8, "struct"),
        (DataType::Utf8, "dictionary:text"),
        (DataType::Dictionary(Box::new(DataType::Int8), Box::new(DataType::Utf8)), "values/dictionary:int8"),
    ] {
        let verdict = read(data_type.clone(), tag).map_err(|e| e.kind());
        assert_eq!(verdict, Err(ErrorKind::Corrupt), "{data_type} {tag}");
    }
    assert!(read(pair, "union:sparse:5").is_ok());
}

#[test]
fn paths_follow_the_type_that_is_stood_for_and_a_part_of_a_union_is_a_struct() {
    let fields = vec![f("a", DataType::Int8), f("b", DataType::Utf8View)];
    let fields = UnionFields::try_new(vec![0, 1], fields).unwrap();
    let arrow = arrow_schema::Schema::new(vec![
        f("u", DataType::Union(fields, UnionMode::Sparse)),
        f("m", map(DataType::Utf8View, structure(vec![f("x", DataType::Int8), f("y", DataType::Int8)]))),
        f("l", fixed(structure(vec![f("x", DataType::Int8), f("y", DataType::Utf8View)]), 2)),
        f(
            "d",
            DataType::Dictionary(
                Box::new(DataType::Int8),
                Box::new(structure(vec![f("x", DataType::Int8), f("y", DataType::Int8)])),
            ),
        ),
    ]);
    for version in [FormatVersion::V2_1, FormatVersion::V2_2] {
        let schema = Schema::from_arrow(&arrow, version).unwrap();
        let part =
            |path: &str| schema.project(&[path]).unwrap().schema.to_arrow().field(0).data_type().clone();
        assert_eq!(part("u"), *arrow.field(0).data_type());
        assert_eq!(part("u.b"), structure(vec![f("b", DataType::Utf8View)]));
        let pair = map(DataType::Utf8View, structure(vec![f("y", DataType::Int8)]));
        assert_eq!(part("m.value.y"), pair, "{version}");
        assert_eq!(part("m.key"), *arrow.field(1).data_type());
        assert_eq!(part("l.item.y"), fixed(structure(vec![f("y", DataType::Utf8View)]), 2), "{version}");
        let values = structure(vec![f("x", DataType::Int8)]);
        assert_eq!(part("d.x"), DataType::Dictionary(Box::new(DataType::Int8), Box::new(values)));
        // Every leaf can be asked for by the path that it is known under.
        for leaf in schema.leaves().unwrap() {
            assert!(schema.project(&[&leaf.path]).unwrap().leaves.iter().any(|l| l.column == leaf.column));
        }
    }
}

#[test]
fn odd_names_are_quoted_and_doubles_are_numbered() {
    // Such names come from other writers: build the tree without our own rules.
    let names = ["a.b", "x y", "b`q", "n", "n", "", "c#2"];
    let inner = structure(names.iter().map(|n| f(n, DataType::Int8)).collect());
    let top = schema(&arrow_schema::Schema::new(vec![f("s", inner)])).fields[0].children.clone();
    let schema = Schema::new(top, Metadata::new(), FormatVersion::V2_2).unwrap();
    let paths: Vec<String> = schema.leaves().unwrap().into_iter().map(|l| l.path).collect();
    assert_eq!(paths, ["`a.b`", "`x y`", "`b``q`", "n", "n#2", "``", "`c#2`"]);
    for (column, path) in paths.iter().enumerate() {
        let found = schema.project(&[path]).unwrap();
        assert_eq!(found.leaves[0].column as usize, column, "{path}");
    }
    for (column, name) in names.iter().enumerate().filter(|(at, _)| *at != 4) {
        assert_eq!(schema.project(&[name]).unwrap().leaves[0].column as usize, column, "{name:?}");
    }
    for bad in ["`a", "`a.b`x", "a..b", "n#3", "n#0", "."] {
        assert_eq!(schema.project(&[bad]).unwrap_err().kind(), ErrorKind::Invalid, "{bad:?}");
    }
}

#[test]
fn a_wrong_path_says_where_it_ends_and_what_is_close() {
    let text = |path: &str| schema(&example()).project(&[path]).unwrap_err().to_string();
    assert_eq!(text("s.c"), "no column \"s.c\": no c in s; close names are s.a, s.b");
    assert_eq!(text("ls.a"), "no column \"ls.a\": no a in the list ls; there are ls.item");
    assert_eq!(text("m.values"), "no column \"m.values\": no values in the map m; close names are m.value");
    assert_eq!(text("i.x"), "no column \"i.x\": i is int64, nothing is inside it");
    assert_eq!(text("pk.x"), "no column \"pk.x\": pk is a packed struct, read it whole");
    assert!(text("zzzzzzzzzzzz").ends_with("there are 12 names, the first are i, s, l, ls, m"));
}

#[test]
fn each_version_refuses_what_it_cannot_hold_and_names_the_column() {
    use DataType::*;
    let verdict = |field: Field, version| {
        let arrow = arrow_schema::Schema::new(vec![f("ok", Int8), field]);
        match Schema::from_arrow(&arrow, version) {
            Ok(_) => true,
            Err(error) => {
                assert!(matches!(error.kind(), ErrorKind::Unsupported | ErrorKind::Limit), "{error}");
                let whole_version = error.message().starts_with("writing format version");
                assert!(whole_version || error.place().column.is_some(), "{error}");
                false
            }
        }
    };
    let point = || structure(vec![f("x", Int32)]);
    let sorted = match map(Utf8, Int32) {
        Map(entries, _) => Map(entries, true),
        other => other,
    };
    let deep = (0..80).fold(Int8, |inner, _| list(inner));
    // Field, whether 2.1 takes it, whether 2.2 does.
    let cases = [
        (f("map", map(Utf8, Int32)), true, true),
        (f("fsl of struct", fixed(point(), 2)), true, true),
        (f("fsl of fsl", fixed(fixed(Int32, 2), 3)), true, true),
        (f("fsl of bool", fixed(Boolean, 3)), true, true),
        (f("fsl of text", fixed(Utf8, 2)), true, true),
        (f("fsl of list", fixed(list(Int32), 2)), true, true),
        (f("fsl of nothing", fixed(Int32, 0)), true, true),
        (f("fsl of dictionary", fixed(Dictionary(Box::new(Int8), Box::new(Int64)), 2)), true, true),
        (f("list of fsl of struct", list(fixed(point(), 2))), true, true),
        (f("fsl of struct of list", fixed(structure(vec![f("l", list(Int8))]), 2)), true, true),
        (
            f("fsl of struct of fsl of struct", fixed(structure(vec![f("l", fixed(point(), 2))]), 2)),
            true,
            true,
        ),
        (f("sorted map", sorted), true, true),
        (f("no bytes", FixedSizeBinary(0)), true, true),
        (f("interval", Interval(arrow_schema::IntervalUnit::DayTime)), true, true),
        (f("list view", ListView(Arc::new(f("item", Int8)))), true, true),
        (f("dictionary of text", Dictionary(Box::new(Int8), Box::new(LargeUtf8))), true, true),
        (f("dictionary of dates", Dictionary(Box::new(Int8), Box::new(Date32))), true, true),
        (f("empty struct", structure(vec![])), true, true),
        (f("list of empty struct", list(structure(vec![]))), true, true),
        (packed("packed", vec![f("a", Int16), f("b", Int32)]), true, true),
        (packed("packed text", vec![f("a", Int16), f("b", Utf8)]), false, true),
        (packed("packed fsl", vec![f("a", fixed(Int16, 2))]), false, true),
        (packed("packed bool", vec![f("a", Boolean)]), false, false),
        (
            packed(
                "packed union",
                vec![f("a", Union(UnionFields::from_fields(vec![f("x", Int8)]), UnionMode::Dense))],
            ),
            false,
            false,
        ),
        (f("union of nothing", Union(UnionFields::empty(), UnionMode::Sparse)), false, false),
        (packed("packed struct in it", vec![f("a", point())]), false, false),
        (with(f("blob", LargeBinary), BLOB, "false"), true, true),
        (with(f("blob of short bytes", Binary), BLOB, "true"), false, false),
        (f("list of blobs", List(Arc::new(with(f("item", LargeBinary), BLOB, "true")))), false, false),
        (f("a.b", Int8), true, true),
        (f("ok", Int8), true, true),
        (f("deep", deep), false, false),
        (f("", Int8), true, true),
    ];
    for (field, old, new) in cases {
        assert_eq!(verdict(field.clone(), FormatVersion::V2_1), old, "2.1 {field:?}");
        assert_eq!(verdict(field.clone(), FormatVersion::V2_2), new, "2.2 {field:?}");
        // Lists have columns of their own in 2.0, and packed rows any field of whole bytes.
        let oldest =
            old || ["list of empty struct", "packed fsl", "list of blobs"].contains(&field.name().as_str());
        assert_eq!(verdict(field.clone(), FormatVersion::V2_0), oldest, "2.0 {field:?}");
    }
}

#[test]
fn broken_trees_are_corrupt() {
    use crate::proto::file as pb;
    use prost::Message;
    let field = |id, parent_id, logical_type: &str| pb::Field {
        name: format!("f{id}"),
        id,
        parent_id,
        logical_type: logical_type.to_owned(),
        ..Default::default()
    };
    let parse = |fields: Vec<pb::Field>| {
        let schema = pb::Schema { fields, ..Default::default() };
        let bytes = pb::FileDescriptor { schema: Some(schema), length: 1 }.encode_to_vec();
        Schema::parse(&bytes.into(), FormatVersion::V2_2, &Limits::default())
            .map(|_| ())
            .map_err(|e| e.kind())
    };
    assert_eq!(parse(vec![field(0, -1, "int8"), field(5, -1, "list"), field(3, 5, "int8")]), Ok(()));
    assert_eq!(parse(vec![field(0, 7, "int8")]), Err(ErrorKind::Corrupt));
    assert_eq!(parse(vec![field(0, 0, "int8")]), Err(ErrorKind::Corrupt));
    assert_eq!(parse(vec![field(0, -1, "int8"), field(0, -1, "int8")]), Err(ErrorKind::Corrupt));
    assert_eq!(parse(vec![field(0, -1, "struct"), field(-1, 0, "int8"), field(-1, 0, "int8")]), Ok(()));
    assert_eq!(parse(vec![field(0, -1, "list")]), Err(ErrorKind::Corrupt));
    assert_eq!(parse(vec![field(0, -1, "map"), field(1, 0, "int8")]), Err(ErrorKind::Corrupt));
    assert_eq!(parse(vec![field(0, -1, "")]), Err(ErrorKind::Corrupt));
    assert_eq!(parse(vec![field(0, -1, "int9")]), Err(ErrorKind::Unsupported));
    let chain = (0..100).map(|id| field(id, id - 1, "list")).collect();
    assert_eq!(parse(chain), Err(ErrorKind::Limit));
    let none = Schema::parse(&bytes::Bytes::new(), FormatVersion::V2_2, &Limits::default());
    assert_eq!(none.unwrap_err().kind(), ErrorKind::Corrupt);
}
