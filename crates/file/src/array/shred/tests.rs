//! Guards the examples of docs/format/levels.md, what is hidden staying out, and slices of every kind.

use std::sync::Arc;

use arrow_array::builder::{Int32Builder, ListBuilder};
use arrow_array::types::Int32Type;
use arrow_array::*;
use arrow_buffer::{NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{DataType, Field, Fields};

use super::*;
use crate::page::Layer::*;

fn path_of(field: Field, column: usize) -> Arc<LeafPath> {
    Arc::new(leaf_paths(&Fields::from(vec![field])).unwrap().remove(column))
}

fn field_of(array: &dyn Array) -> Field {
    Field::new("x", array.data_type().clone(), true)
}

fn shred(array: ArrayRef, column: usize) -> LeafPage {
    let path = path_of(field_of(&array), column);
    let mut buffer = LeafBuffer::new(path);
    assert_eq!(buffer.push(&array, 0..array.len(), false).unwrap(), Pushed::All);
    buffer.take()
}

fn def_of(page: &LeafPage) -> Vec<u16> {
    let mut def = Vec::new();
    page.def_levels(0..page.num_events, &mut def);
    def
}

fn ints(page: &LeafPage) -> Vec<i32> {
    match &page.values {
        Values::Fixed(v) => v.bytes().as_chunks::<4>().0.iter().map(|b| i32::from_le_bytes(*b)).collect(),
        other => panic!("{other:?}"),
    }
}

fn lists(rows: &[Option<&[Option<i32>]>]) -> ArrayRef {
    let mut b = ListBuilder::new(Int32Builder::new());
    for row in rows {
        match row {
            Some(items) => b.append_value(items.iter().copied()),
            None => b.append_null(),
        }
    }
    Arc::new(b.finish())
}

#[test]
fn list_of_the_spec_gives_its_levels() {
    let array = lists(&[Some(&[Some(1), Some(2)]), None, Some(&[]), Some(&[Some(3), None])]);
    let page = shred(array, 0);
    assert_eq!(page.layers, [NullableItem, NullAndEmptyList]);
    assert_eq!(page.rep, [1, 0, 1, 1, 1, 0]);
    assert_eq!(def_of(&page), [0, 0, 2, 3, 0, 1]);
    assert_eq!(ints(&page), [1, 2, 3, 0]);
    assert_eq!((page.num_rows, page.num_valid, page.max_visible()), (4, 3, 1));
}

#[test]
fn list_of_lists_of_the_spec_gives_its_levels() {
    let inner = lists(&[Some(&[Some(1), Some(2)]), Some(&[]), Some(&[Some(3)]), Some(&[Some(4)])]);
    let item = Arc::new(Field::new("item", inner.data_type().clone(), true));
    let offsets = OffsetBuffer::new(vec![0, 3, 3, 4, 4].into());
    let nulls = NullBuffer::from(vec![true, false, true, true]);
    let array = ListArray::new(item, offsets, inner, Some(nulls));
    let page = shred(Arc::new(array), 0);
    assert_eq!(page.layers, [AllValidItem, EmptyableList, NullAndEmptyList]);
    assert_eq!(page.rep, [2, 0, 1, 1, 2, 2, 2]);
    assert_eq!(def_of(&page), [0, 0, 1, 0, 2, 0, 3]);
    assert_eq!(ints(&page), [1, 2, 3, 4]);
}

fn structs(values: Vec<Option<i32>>, valid: Vec<bool>) -> ArrayRef {
    let child: ArrayRef = Arc::new(Int32Array::from(values));
    let fields = Fields::from(vec![Field::new("a", DataType::Int32, true)]);
    Arc::new(StructArray::new(fields, vec![child], Some(NullBuffer::from(valid))))
}

#[test]
fn struct_of_the_spec_gives_its_levels() {
    let page = shred(structs(vec![Some(1), Some(99), None], vec![true, false, true]), 0);
    assert_eq!(page.layers, [NullableItem, NullableItem]);
    assert_eq!(def_of(&page), [0, 2, 1]);
    assert_eq!(ints(&page), [1, 0, 0], "99 is hidden under a null struct");
}

#[test]
fn list_of_structs_of_the_spec_gives_its_levels() {
    let items = structs(vec![Some(1), Some(7), None], vec![true, false, true]);
    let item = Arc::new(Field::new("item", items.data_type().clone(), true));
    let offsets = OffsetBuffer::new(vec![0, 2, 2, 3, 3].into());
    let nulls = NullBuffer::from(vec![true, true, true, false]);
    let page = shred(Arc::new(ListArray::new(item, offsets, items, Some(nulls))), 0);
    assert_eq!(page.layers, [NullableItem, NullableItem, NullAndEmptyList]);
    assert_eq!(page.rep, [1, 0, 1, 1, 1]);
    assert_eq!(def_of(&page), [0, 2, 4, 1, 3]);
    assert_eq!(page.values.len(), 3);
}

#[test]
fn fixed_size_list_of_structs_of_the_spec_gives_its_levels() {
    let items = structs(
        vec![Some(1), Some(2), Some(9), Some(9), Some(9), Some(4)],
        vec![true, true, true, true, false, true],
    );
    let item = Arc::new(Field::new("item", items.data_type().clone(), true));
    let nulls = NullBuffer::from(vec![true, false, true]);
    let page = shred(Arc::new(FixedSizeListArray::new(item, 2, items, Some(nulls))), 0);
    // The leaf itself has no null here, but it is null under the others.
    assert_eq!(page.layers, [NullableItem, NullableItem, NullableItem]);
    assert_eq!(def_of(&page), [0, 0, 3, 3, 2, 0]);
    assert_eq!(ints(&page), [1, 2, 0, 0, 0, 4]);
    assert_eq!(page.num_rows, 3);
}

#[test]
fn items_behind_null_lists_and_before_the_first_offset_are_left_out() {
    let values: ArrayRef = Arc::new(Int32Array::from(vec![-1, -2, 1, 2, -3, -4, 3, -5]));
    let item = Arc::new(Field::new("item", DataType::Int32, true));
    let offsets = OffsetBuffer::new(ScalarBuffer::from(vec![2, 4, 6, 7]));
    let nulls = NullBuffer::from(vec![true, false, true]);
    let array: ArrayRef = Arc::new(ListArray::new(item, offsets, values, Some(nulls)));
    let page = shred(array.clone(), 0);
    assert_eq!(ints(&page), [1, 2, 3]);
    assert_eq!(page.layers, [AllValidItem, NullableList]);
    assert_eq!(def_of(&page), [0, 0, 1, 0]);
    let tail = shred(array.slice(2, 1), 0);
    assert_eq!((ints(&tail), tail.layers.clone()), (vec![3], vec![AllValidItem, AllValidList]));
    assert!(!tail.has_def());
}

#[test]
fn validity_of_slices_not_aligned_to_bytes_is_kept() {
    let whole: Int32Array = (0..100).map(|i| (i % 3 != 0).then_some(i)).collect();
    let path = path_of(field_of(&whole), 0);
    let mut buffer = LeafBuffer::new(path);
    let array: ArrayRef = Arc::new(whole);
    for (start, len) in [(3, 5), (8, 1), (9, 40), (49, 51)] {
        buffer.push(&array.slice(start, len), 0..len, true).unwrap();
    }
    buffer.push(&array, 1..3, false).unwrap();
    let page = buffer.take();
    let expected: Vec<i32> = (3..100).chain(1..3).collect();
    assert_eq!(def_of(&page), expected.iter().map(|i| u16::from(i % 3 == 0)).collect::<Vec<_>>());
    assert_eq!(ints(&page), expected.iter().map(|i| if i % 3 == 0 { 0 } else { *i }).collect::<Vec<_>>());
    assert!(matches!(page.def, DefLevels::Validity(_)));
    assert_eq!(buffer.num_rows(), 0);
}

#[test]
fn plain_values_without_nulls_are_not_copied() {
    let array: ArrayRef = Arc::new(Int32Array::from_iter_values(0..5000));
    let mut buffer = LeafBuffer::new(path_of(field_of(&array), 0));
    buffer.push(&array, 1000..4000, true).unwrap();
    let page = buffer.take();
    let Values::Fixed(values) = &page.values else { panic!() };
    assert_eq!(values.bytes().as_ptr(), address_of(&array, 4000));
}

fn address_of(array: &ArrayRef, byte: usize) -> *const u8 {
    array.to_data().buffers()[0].as_slice()[byte..].as_ptr()
}

#[test]
fn a_null_in_a_field_without_nulls_is_refused_and_named() {
    let array: ArrayRef = Arc::new(Int32Array::from(vec![Some(1), None]));
    let mut buffer = LeafBuffer::new(path_of(Field::new("a", DataType::Int32, false), 0));
    let e = buffer.push(&array, 0..2, false).unwrap_err();
    assert_eq!(e.kind(), crate::ErrorKind::Invalid);
    assert_eq!(e.place().column.as_deref(), Some("a"));
    buffer.push(&array, 0..1, false).unwrap();
}

#[test]
fn a_child_without_nulls_may_be_null_under_a_null_parent() {
    let child: ArrayRef = Arc::new(Int32Array::from(vec![1, 2]));
    let fields = Fields::from(vec![Field::new("a", DataType::Int32, false)]);
    let array: ArrayRef =
        Arc::new(StructArray::new(fields, vec![child], Some(NullBuffer::from(vec![false, true]))));
    let page = shred(array, 0);
    assert_eq!((def_of(&page), ints(&page)), (vec![2, 0], vec![0, 2]));
}

#[test]
fn dictionaries_of_several_batches_become_one() {
    let field = Field::new_dictionary("d", DataType::Int8, DataType::Utf8, true);
    let make = |keys: Vec<Option<i8>>, values: Vec<Option<&str>>| -> ArrayRef {
        Arc::new(DictionaryArray::<types::Int8Type>::new(keys.into(), Arc::new(StringArray::from(values))))
    };
    let mut buffer = LeafBuffer::new(path_of(field, 0));
    let first = make(vec![Some(0), None, Some(1)], vec![Some("a"), Some("b"), Some("unused")]);
    let second = make(vec![Some(2), Some(1), Some(0)], vec![Some("z"), None, Some("b")]);
    buffer.push(&first, 0..3, false).unwrap();
    buffer.push(&second, 0..3, false).unwrap();
    let page = buffer.take();
    assert_eq!(def_of(&page), [0, 1, 0, 0, 1, 0]);
    let Values::Fixed(keys) = &page.values else { panic!() };
    assert_eq!(keys.bytes(), [0, 0, 1, 1, 0, 3]);
    let Some(Values::Variable(entries)) = &page.dictionary else { panic!() };
    let entries: Vec<_> = (0..entries.len()).map(|i| entries.value(i)).collect();
    assert_eq!(entries, [b"a".as_slice(), b"b", b"unused", b"z"]);
}

#[test]
fn a_dictionary_that_runs_out_of_keys_asks_for_a_new_page() {
    let field = Field::new_dictionary("d", DataType::Int8, DataType::Int64, true);
    let make = |base: i64| -> ArrayRef {
        Arc::new(DictionaryArray::<types::Int8Type>::new(
            (0..100i8).collect::<PrimitiveArray<_>>(),
            Arc::new(Int64Array::from_iter_values(base..base + 100)),
        ))
    };
    let mut buffer = LeafBuffer::new(path_of(field, 0));
    assert_eq!(buffer.push(&make(0), 0..100, false).unwrap(), Pushed::All);
    assert_eq!(buffer.push(&make(1000), 0..100, false).unwrap(), Pushed::DictionaryFull);
    assert_eq!(buffer.take().num_rows, 100);
    assert_eq!(buffer.push(&make(1000), 0..100, false).unwrap(), Pushed::All);
}

#[test]
fn struct_nulls_with_full_inner_lists_are_declared_for_the_official_reader() {
    // list<struct<list<int>>>: a null struct, inner lists without nulls, an empty outer list.
    let inner = lists(&[Some(&[Some(1)]), Some(&[Some(2)])]);
    let fields = Fields::from(vec![Field::new("l", inner.data_type().clone(), true)]);
    let items: ArrayRef =
        Arc::new(StructArray::new(fields, vec![inner], Some(NullBuffer::from(vec![true, false]))));
    let item = Arc::new(Field::new("item", items.data_type().clone(), true));
    let array = ListArray::new(item, OffsetBuffer::new(vec![0, 2, 2].into()), items, None);
    let page = shred(Arc::new(array), 0);
    assert_eq!(page.layers, [AllValidItem, NullableList, NullableItem, EmptyableList]);
    assert_eq!(page.rep, [2, 1, 2]);
    assert_eq!(def_of(&page), [0, 2, 3]);
}

#[test]
fn fixed_size_lists_keep_the_validity_of_their_items() {
    let rows: Vec<Option<Vec<Option<i32>>>> =
        vec![Some(vec![Some(1), None]), None, Some(vec![Some(3), Some(4)])];
    let array = FixedSizeListArray::from_iter_primitive::<Int32Type, _, _>(rows, 2);
    let page = shred(Arc::new(array), 0);
    assert_eq!(def_of(&page), [0, 1, 0]);
    let Values::List(list) = &page.values else { panic!() };
    let bits: Vec<bool> = (0..6).map(|i| list.item_validity.as_ref().unwrap().get_bit(i)).collect();
    assert_eq!(bits, [true, false, true, true, true, true]);
    let Values::Fixed(items) = &*list.items else { panic!() };
    assert_eq!(items.bytes().as_chunks::<4>().0.iter().map(|b| b[0]).collect::<Vec<_>>(), [1, 0, 0, 0, 3, 4]);
}

#[test]
fn pages_split_on_row_borders() {
    let rows: Vec<Vec<Option<i32>>> = (0..10).map(|i| (0..i % 4).map(Some).collect()).collect();
    let rows: Vec<Option<&[Option<i32>]>> = rows.iter().map(|r| Some(r.as_slice())).collect();
    let page = shred(lists(&rows), 0);
    let (a, b) = page.halves().unwrap().unwrap();
    assert_eq!(a.num_rows + b.num_rows, 10);
    assert_eq!(a.num_events + b.num_events, page.num_events);
    assert_eq!(b.rep[0], 1);
    assert_eq!([ints(&a), ints(&b)].concat(), ints(&page));
}

#[test]
fn bytes_are_counted_without_building_levels() {
    let array = lists(&[Some(&[Some(1), Some(2)]), None, Some(&[]), Some(&[Some(3), None])]);
    let path = path_of(field_of(&array), 0);
    assert_eq!(leaf_bytes(&path, &array, 0..4).unwrap(), 4 * 4 + 4 * 4);
    let strings: ArrayRef = Arc::new(StringArray::from(vec!["abc", "d"]));
    assert_eq!(leaf_bytes(&path_of(field_of(&strings), 0), &strings, 1..2).unwrap(), 5);
}
