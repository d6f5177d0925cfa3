//! Bytes of arrays, before they are made.

use std::ops::Range;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, downcast_integer_array, downcast_run_array};
use arrow_buffer::ArrowNativeType;
use arrow_schema::DataType;

/// Bytes that a slot of a type takes at least, null or not.
pub(super) fn least_bytes(data_type: &DataType) -> usize {
    match data_type {
        DataType::Null | DataType::Boolean => 0,
        DataType::FixedSizeBinary(bytes) => *bytes as usize,
        DataType::FixedSizeList(item, size) => least_bytes(item.data_type()).saturating_mul(*size as usize),
        DataType::Struct(fields) => {
            fields.iter().fold(0, |sum: usize, f| sum.saturating_add(least_bytes(f.data_type())))
        }
        DataType::Dictionary(key, _) => least_bytes(key),
        DataType::LargeUtf8 | DataType::LargeBinary | DataType::LargeList(_) => 8,
        other => other.primitive_width().unwrap_or(4),
    }
}

/// Arrow bytes of some slots of an array of any type, about; what lies under nulls included.
pub(crate) fn bytes_of(array: &ArrayRef, range: Range<usize>) -> usize {
    let count = range.len();
    let below = |child: &ArrayRef, start: usize, end: usize| bytes_of(child, start..end);
    match array.data_type() {
        DataType::Utf8 => {
            let offsets = array.as_string::<i32>().offsets();
            (offsets[range.end] - offsets[range.start]) as usize + 4 * count
        }
        DataType::Binary => {
            let offsets = array.as_binary::<i32>().offsets();
            (offsets[range.end] - offsets[range.start]) as usize + 4 * count
        }
        DataType::LargeUtf8 => {
            let offsets = array.as_string::<i64>().offsets();
            (offsets[range.end] - offsets[range.start]) as usize + 8 * count
        }
        DataType::LargeBinary => {
            let offsets = array.as_binary::<i64>().offsets();
            (offsets[range.end] - offsets[range.start]) as usize + 8 * count
        }
        DataType::Utf8View => view_bytes(&array.as_string_view().views()[range]),
        DataType::BinaryView => view_bytes(&array.as_binary_view().views()[range]),
        DataType::Struct(_) => array.as_struct().columns().iter().map(|c| bytes_of(c, range.clone())).sum(),
        DataType::List(_) => {
            let list = array.as_list::<i32>();
            let offsets = list.offsets();
            4 * count + below(list.values(), offsets[range.start].as_usize(), offsets[range.end].as_usize())
        }
        DataType::LargeList(_) => {
            let list = array.as_list::<i64>();
            let offsets = list.offsets();
            8 * count + below(list.values(), offsets[range.start].as_usize(), offsets[range.end].as_usize())
        }
        DataType::Map(..) => {
            let map = array.as_map();
            let (start, end) = (map.offsets()[range.start] as usize, map.offsets()[range.end] as usize);
            let columns = map.entries().columns();
            4 * count + columns.iter().map(|c| bytes_of(c, start..end)).sum::<usize>()
        }
        DataType::FixedSizeList(_, size) => {
            let size = *size as usize;
            below(array.as_fixed_size_list().values(), range.start * size, range.end * size)
        }
        DataType::ListView(_) => {
            let list = array.as_list_view::<i32>();
            let slots = range.map(|i| (list.value_offset(i) as usize, list.value_size(i) as usize));
            8 * count + slots.map(|(at, len)| bytes_of(list.values(), at..at + len)).sum::<usize>()
        }
        DataType::LargeListView(_) => {
            let list = array.as_list_view::<i64>();
            let slots = range.map(|i| (list.value_offset(i) as usize, list.value_size(i) as usize));
            16 * count + slots.map(|(at, len)| bytes_of(list.values(), at..at + len)).sum::<usize>()
        }
        DataType::Dictionary(key, _) => count * least_bytes(key),
        DataType::RunEndEncoded(..) => {
            let mut bytes = 0;
            for_each_run(array, range, |value, _, values| bytes += 8 + bytes_of(values, value..value + 1));
            bytes
        }
        DataType::Union(fields, _) => {
            let union = array.as_union();
            let mut bytes = count;
            for row in range {
                let id = union.type_id(row);
                if fields.iter().any(|(known, _)| known == id) {
                    let slot = union.value_offset(row);
                    bytes += 4 + bytes_of(union.child(id), slot..slot + 1);
                }
            }
            bytes
        }
        other => count * least_bytes(other),
    }
}

fn view_bytes(views: &[u128]) -> usize {
    views.iter().map(|view| *view as u32 as usize + 4).sum()
}

/// Calls `visit` with the number of a value, how many slots of `range` it fills, and all values.
pub(super) fn for_each_run(
    array: &ArrayRef,
    range: Range<usize>,
    mut visit: impl FnMut(usize, usize, &ArrayRef),
) {
    downcast_run_array!(
        array => {
            let ends = array.run_ends();
            let (start, end) = (ends.offset() + range.start, ends.offset() + range.end);
            if range.is_empty() {
                return;
            }
            let all = ends.values();
            let first = all.partition_point(|e| e.as_usize() <= start);
            let mut at = start;
            for (value, run_end) in all.iter().enumerate().skip(first) {
                if at >= end {
                    break;
                }
                let until = run_end.as_usize().min(end);
                visit(value, until - at, array.values());
                at = until;
            }
        },
        _ => {}
    );
}

/// Bytes of an array as it is stored, about: for types that grow on the way, with what they grow by.
pub(crate) fn stored_bytes(array: &ArrayRef, stored: &DataType) -> usize {
    let all = 0..array.len();
    match (array.data_type(), stored) {
        (DataType::RunEndEncoded(_, values), stored) => {
            let mut bytes = 0usize;
            for_each_run(array, all, |value, count, values| {
                let one = stored_bytes(&values.slice(value, 1), stored);
                bytes = bytes.saturating_add(one.saturating_mul(count));
            });
            let _ = values;
            bytes
        }
        (DataType::Dictionary(_, value), stored)
            if !matches!(stored, DataType::Dictionary(..)) || matches!(**value, DataType::Dictionary(..)) =>
        {
            let dictionary = array.as_any_dictionary();
            let (keys, values) = (dictionary.keys(), dictionary.values());
            let one = |key: usize| {
                if key < values.len() { stored_bytes(&values.slice(key, 1), stored) } else { 0 }
            };
            downcast_integer_array!(
                keys => keys.iter().flatten().fold(0usize, |sum, key| {
                    sum.saturating_add(key.to_usize().map_or(0, one))
                }),
                _ => 0
            )
        }
        (DataType::Struct(_), DataType::Struct(fields)) => {
            let columns = array.as_struct().columns().iter().zip(fields);
            columns.fold(0, |sum, (c, f)| sum.saturating_add(stored_bytes(c, f.data_type())))
        }
        (DataType::List(_), DataType::List(item)) => {
            let list = array.as_list::<i32>();
            let (start, end) = (list.offsets()[0] as usize, list.offsets()[list.len()] as usize);
            stored_bytes(&list.values().slice(start, end - start), item.data_type())
        }
        (DataType::LargeList(_), DataType::LargeList(item)) => {
            let list = array.as_list::<i64>();
            let (start, end) = (list.offsets()[0] as usize, list.offsets()[list.len()] as usize);
            stored_bytes(&list.values().slice(start, end - start), item.data_type())
        }
        (DataType::Map(..), DataType::Map(entries, _) | DataType::List(entries)) => {
            let map = array.as_map();
            let (start, end) = (map.offsets()[0] as usize, map.offsets()[map.len()] as usize);
            let pairs: ArrayRef = std::sync::Arc::new(map.entries().slice(start, end - start));
            stored_bytes(&pairs, entries.data_type())
        }
        (DataType::FixedSizeList(..), DataType::FixedSizeList(item, _) | DataType::List(item)) => {
            stored_bytes(array.as_fixed_size_list().values(), item.data_type())
        }
        (DataType::Union(fields, _), DataType::Struct(children)) => {
            let union = array.as_union();
            let ids = union.type_ids();
            let mut bytes = array.len();
            for ((id, _), child) in fields.iter().zip(children.iter().skip(1)) {
                let data_type = child.data_type();
                bytes = bytes.saturating_add(array.len().saturating_mul(least_bytes(data_type)));
                for (row, _) in ids.iter().enumerate().filter(|(_, i)| **i == id) {
                    let slot = union.child(id).slice(union.value_offset(row), 1);
                    bytes = bytes.saturating_add(stored_bytes(&slot, data_type));
                }
            }
            bytes
        }
        (DataType::Decimal32(..) | DataType::Decimal64(..), _) => 16 * array.len(),
        _ => bytes_of(array, all),
    }
}
