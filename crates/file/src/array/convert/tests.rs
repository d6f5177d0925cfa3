//! Guards the conversions against what files may hold and batches may be.

use std::sync::Arc;

use arrow_array::builder::{ListBuilder, StringBuilder};
use arrow_array::cast::AsArray;
use arrow_array::types::{Int16Type, Int32Type};
use arrow_array::{
    Array, ArrayRef, BooleanArray, Decimal128Array, DictionaryArray, FixedSizeBinaryArray, Float64Array,
    Int8Array, Int32Array, Int64Array, ListArray, RunArray, StringArray, StructArray,
};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::{DataType, Field, FieldRef, UnionFields, UnionMode};

use super::*;
use crate::ErrorKind;

const BUDGET: usize = 1 << 20;

fn item(data_type: DataType) -> FieldRef {
    Arc::new(Field::new("item", data_type, true))
}

fn runs(ends: DataType, values: DataType) -> DataType {
    let ends = Arc::new(Field::new("run_ends", ends, false));
    DataType::RunEndEncoded(ends, Arc::new(Field::new("values", values, true)))
}

fn dictionary(key: DataType, value: DataType) -> DataType {
    DataType::Dictionary(Box::new(key), Box::new(value))
}

fn kind(result: Result<ArrayRef, crate::Error>) -> ErrorKind {
    result.expect_err("an error").kind()
}

/// Lists with these lengths, null where there is none.
fn lists(lengths: &[Option<usize>]) -> ArrayRef {
    let offsets = OffsetBuffer::<i32>::from_lengths(lengths.iter().map(|n| n.unwrap_or(0)));
    let items: ArrayRef = Arc::new(Int64Array::from_iter_values(0..i64::from(offsets.last())));
    let nulls = NullBuffer::from(lengths.iter().map(Option::is_some).collect::<Vec<_>>());
    Arc::new(ListArray::new(item(DataType::Int64), offsets, items, Some(nulls)))
}

#[test]
fn null_fixed_size_lists_get_their_items_back_within_the_budget() {
    let to = |size| DataType::FixedSizeList(item(DataType::Int64), size);
    let array = restore(&to(2), &lists(&[Some(2), None, None, Some(2), Some(2), None]), BUDGET).unwrap();
    let array = array.as_fixed_size_list();
    assert_eq!((array.len(), array.null_count(), array.values().len()), (6, 3, 12));
    assert_eq!(array.value(4).as_primitive::<arrow_array::types::Int64Type>().values(), &[4, 5]);
    assert_eq!(kind(restore(&to(2), &lists(&[Some(2), Some(3)]), BUDGET)), ErrorKind::Corrupt);
    assert_eq!(kind(restore(&to(i32::MAX), &lists(&[None; 1000]), BUDGET)), ErrorKind::Limit);
    assert_eq!(restore(&to(0), &lists(&[Some(0), None]), BUDGET).unwrap().null_count(), 1);
}

#[test]
fn runs_and_dictionaries_tell_values_apart_by_their_bits() {
    let nan = f64::from_bits(0x7ff8_0000_0000_0001);
    let values = [Some(0.0), Some(-0.0), Some(-0.0), None, None, Some(nan), Some(f64::NAN), Some(f64::NAN)];
    let floats: ArrayRef = Arc::new(Float64Array::from(values.to_vec()));
    let array = restore(&runs(DataType::Int16, DataType::Float64), &floats, BUDGET).unwrap();
    let array = array.as_any().downcast_ref::<RunArray<Int16Type>>().unwrap();
    assert_eq!(array.run_ends().values(), &[1, 3, 5, 6, 8]);
    let array = restore(&dictionary(DataType::Int8, DataType::Float64), &floats, BUDGET).unwrap();
    assert_eq!(array.as_any_dictionary().values().len(), 4);
    assert_eq!(array.null_count(), 2);
    // Nested values, of which some only look alike: ["ab"] and ["a", "b"], [null] and [], [] and null.
    let mut builder = ListBuilder::new(StringBuilder::new());
    builder.append_value([Some("ab")]);
    builder.append_value([Some("a"), Some("b")]);
    builder.append_value([None::<&str>]);
    builder.append_value(Vec::<Option<&str>>::new());
    builder.append_null();
    builder.append_value([Some("ab")]);
    let nested: ArrayRef = Arc::new(builder.finish());
    let to = dictionary(DataType::UInt16, nested.data_type().clone());
    let array = restore(&to, &nested, BUDGET).unwrap();
    assert_eq!(array.as_any_dictionary().values().len(), 4);
    assert_eq!(array.as_any_dictionary().normalized_keys()[5], 0);
    let array = restore(&runs(DataType::Int32, nested.data_type().clone()), &nested, BUDGET).unwrap();
    assert_eq!(array.as_any().downcast_ref::<RunArray<Int32Type>>().unwrap().values().len(), 6);
}

#[test]
fn what_a_type_cannot_count_is_a_limit_so_that_fewer_rows_are_tried() {
    let many: ArrayRef = Arc::new(Int32Array::from_iter_values(0..129));
    assert_eq!(kind(restore(&dictionary(DataType::Int8, DataType::Int32), &many, BUDGET)), ErrorKind::Limit);
    assert!(restore(&dictionary(DataType::Int8, DataType::Int32), &many.slice(0, 128), BUDGET).is_ok());
    let long: ArrayRef = Arc::new(BooleanArray::from(vec![true; 40_000]));
    assert_eq!(kind(restore(&runs(DataType::Int16, DataType::Boolean), &long, BUDGET)), ErrorKind::Limit);
    assert!(restore(&runs(DataType::Int16, DataType::Boolean), &long.slice(7, 32_767), BUDGET).is_ok());
}

#[test]
fn unions_with_ids_of_no_field_are_corrupt_unless_they_lie_under_a_null() {
    let fields = UnionFields::try_new(
        vec![3, 5],
        vec![Field::new("a", DataType::Int8, true), Field::new("b", DataType::Utf8, true)],
    )
    .unwrap();
    let stored = |ids: Vec<Option<i8>>, valid: Vec<bool>| -> ArrayRef {
        let (count, ids) = (ids.len(), Int8Array::from(ids));
        let columns: Vec<ArrayRef> = vec![
            Arc::new(ids),
            Arc::new(Int8Array::from(vec![7; count])),
            Arc::new(StringArray::from(vec!["x"; count])),
        ];
        let names = ["type_id", "a", "b"];
        let children = names.iter().zip(&columns).map(|(n, c)| Field::new(*n, c.data_type().clone(), true));
        Arc::new(StructArray::new(children.collect(), columns, Some(NullBuffer::from(valid))))
    };
    for mode in [UnionMode::Sparse, UnionMode::Dense] {
        let to = DataType::Union(fields.clone(), mode);
        let good = restore(
            &to,
            &stored(vec![Some(5), Some(3), Some(9), None], vec![true, true, false, false]),
            BUDGET,
        );
        assert_eq!(good.unwrap().as_union().type_ids(), &[5, 3, 3, 3]);
        for bad in [Some(4), Some(-1), Some(127), None] {
            let stored = stored(vec![Some(5), bad], vec![true, true]);
            assert_eq!(kind(restore(&to, &stored, BUDGET)), ErrorKind::Corrupt, "{bad:?}");
        }
        let few: ArrayRef = stored(vec![], vec![]).as_struct().column(1).clone();
        assert_eq!(kind(restore(&to, &few, BUDGET)), ErrorKind::Corrupt);
    }
}

#[test]
fn decimals_and_empty_binaries_that_do_not_fit_are_corrupt() {
    let wide = Decimal128Array::from(vec![Some(1), Some(i128::from(i32::MAX) + 1)])
        .with_precision_and_scale(9, 2)
        .unwrap();
    let wide: ArrayRef = Arc::new(wide);
    assert_eq!(kind(restore(&DataType::Decimal32(9, 2), &wide, BUDGET)), ErrorKind::Corrupt);
    assert!(restore(&DataType::Decimal64(9, 2), &wide, BUDGET).is_ok());
    let bytes: ArrayRef = Arc::new(arrow_array::BinaryArray::from(vec![&b""[..], b"x"]));
    assert_eq!(kind(restore(&DataType::FixedSizeBinary(0), &bytes, BUDGET)), ErrorKind::Corrupt);
    let other: ArrayRef = Arc::new(Int32Array::from(vec![1]));
    assert_eq!(kind(restore(&DataType::Utf8View, &other, BUDGET)), ErrorKind::Corrupt);
}

#[test]
fn the_size_of_what_grows_is_known_before_it_is_made() {
    let long = "x".repeat(1 << 20);
    let values: ArrayRef = Arc::new(StringArray::from(vec![long.as_str(), "y"]));
    let ends = arrow_array::PrimitiveArray::<Int32Type>::from(vec![1_000_000, 1_000_001]);
    let array: ArrayRef = Arc::new(RunArray::try_new(&ends, values.as_ref()).unwrap());
    assert!(stored_bytes(&array, &DataType::Utf8) > 1 << 39);
    assert!(bytes_of(&array, 0..array.len()) < 3 << 20);
    assert!(stored_bytes(&array.slice(999_999, 2), &DataType::Utf8) < 3 << 20);
    let uuids = FixedSizeBinaryArray::try_from_iter([[0u8; 16]].into_iter()).unwrap();
    let keys = arrow_array::PrimitiveArray::<Int16Type>::from(vec![0; 1000]);
    let array: ArrayRef = Arc::new(DictionaryArray::new(keys, Arc::new(uuids)));
    assert_eq!(stored_bytes(&array, &DataType::FixedSizeBinary(16)), 16_000);
    let stored = store(&DataType::FixedSizeBinary(16), &array, true).unwrap();
    assert_eq!(stored.as_fixed_size_binary().len(), 1000);
}

#[test]
fn what_needs_no_conversion_is_passed_on() {
    let array: ArrayRef = Arc::new(StringArray::from(vec!["a"]));
    let stored = store(&DataType::Utf8, &array, true).unwrap();
    assert!(Arc::ptr_eq(&stored, &array));
    assert!(Arc::ptr_eq(&restore(&DataType::Utf8, &array, BUDGET).unwrap(), &array));
    assert!(is_stored_as(&DataType::List(item(DataType::Utf8View)), &DataType::List(item(DataType::Utf8))));
    assert!(!is_stored_as(
        &DataType::List(item(DataType::Decimal32(5, 1))),
        &DataType::List(item(DataType::Decimal128(5, 1)))
    ));
}
