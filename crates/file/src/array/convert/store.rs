//! Arrays to the arrays that they are stored as.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal32Type, Decimal64Type, Decimal128Type};
use arrow_array::{
    Array, ArrayRef, ArrowPrimitiveType, BinaryArray, BooleanArray, FixedSizeListArray, GenericListArray,
    GenericListViewArray, Int8Array, MapArray, OffsetSizeTrait, PrimitiveArray, StructArray,
    downcast_integer_array, make_array,
};
use arrow_buffer::{ArrowNativeType, BooleanBuffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Fields};

use super::gather::{Gathering, NULL, gather};
use super::size::for_each_run;
use crate::{Error, Result};

/// Whether arrays of type `user` are taken apart as they are where `stored` is wanted.
pub(crate) fn is_stored_as(user: &DataType, stored: &DataType) -> bool {
    use DataType::*;
    match (user, stored) {
        (Utf8View, Utf8) | (BinaryView, Binary) => true,
        // The same bytes.
        (Interval(_), Int32 | FixedSizeBinary(_)) => true,
        (Struct(a), Struct(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_stored_as(a.data_type(), b.data_type()))
        }
        (List(a), List(b))
        | (LargeList(a), LargeList(b))
        | (Map(a, _), Map(b, _))
        | (FixedSizeList(a, _), FixedSizeList(b, _)) => is_stored_as(a.data_type(), b.data_type()),
        (Dictionary(ka, a), Dictionary(kb, b)) => ka == kb && is_stored_as(a, b),
        (a, b) => a == b,
    }
}

/// The array to store for `array`; its type is `stored` but for views, for names and for nullability.
///
/// `struct_nulls` says whether the format can keep nulls of structs.
///
/// # Errors
/// Of kind `Limit` where fewer rows would do.
pub(crate) fn store(stored: &DataType, array: &ArrayRef, struct_nulls: bool) -> Result<ArrayRef> {
    use DataType::*;
    if is_stored_as(array.data_type(), stored) {
        return Ok(array.clone());
    }
    check_items(array)?;
    let nulls = array.nulls().cloned();
    let len = array.len();
    let child = |field: &FieldRef, child: &ArrayRef| store(field.data_type(), child, struct_nulls);
    Ok(match (array.data_type(), stored) {
        (RunEndEncoded(..), _) => expanded_runs(stored, array, struct_nulls)?,
        (Dictionary(_, value), Dictionary(..)) if !matches!(**value, Dictionary(..) | RunEndEncoded(..)) => {
            let Dictionary(_, to) = stored else { return Err(misfit(array, stored)) };
            let dictionary = array.as_any_dictionary();
            let values = store(to, dictionary.values(), struct_nulls)?;
            dictionary.with_values(values)
        }
        (Dictionary(..), _) => {
            let dictionary = array.as_any_dictionary();
            let values = store(stored, dictionary.values(), struct_nulls)?;
            gather(&values, &picks_of(dictionary.keys(), values.len())?)?
        }
        (Decimal32(..), Decimal128(..)) => widened::<Decimal32Type>(array, stored)?,
        (Decimal64(..), Decimal128(..)) => widened::<Decimal64Type>(array, stored)?,
        (FixedSizeBinary(0), Binary) => {
            let offsets = OffsetBuffer::new(ScalarBuffer::from(vec![0i32; len + 1]));
            Arc::new(BinaryArray::try_new(offsets, Vec::<u8>::new().into(), nulls).map_err(wrong)?)
        }
        (Struct(fields), Boolean) if fields.is_empty() => {
            Arc::new(BooleanArray::new(BooleanBuffer::new_set(len), nulls))
        }
        (Struct(_), Struct(fields)) => {
            let columns = array.as_struct().columns();
            let columns: Vec<ArrayRef> =
                fields.iter().zip(columns).map(|(f, c)| child(f, c)).collect::<Result<_>>()?;
            structure(fields, columns, nulls, len)?
        }
        (List(_), List(item)) => list::<i32>(item, array, struct_nulls)?,
        (LargeList(_), LargeList(item)) => list::<i64>(item, array, struct_nulls)?,
        (ListView(_), List(item)) => list_view::<i32>(item, array, struct_nulls)?,
        (LargeListView(_), LargeList(item)) => list_view::<i64>(item, array, struct_nulls)?,
        (Map(..), Map(entries, _)) => {
            let map = array.as_map();
            let (offsets, pairs) = from_first(map.offsets(), &(Arc::new(map.entries().clone()) as ArrayRef));
            let pairs = child(entries, &pairs)?;
            // As Arrow wants it; what the schema says of nulls is checked where levels are made.
            let pairs = pairs.as_struct().clone();
            let entries = Arc::new(Field::new("entries", pairs.data_type().clone(), false));
            map_of(entries, offsets, pairs, nulls)?
        }
        (Map(..), List(entries)) => {
            let map = array.as_map();
            let (offsets, pairs) = from_first(map.offsets(), &(Arc::new(map.entries().clone()) as ArrayRef));
            list_of(entries, offsets, child(entries, &pairs)?, nulls)?
        }
        (FixedSizeList(..), FixedSizeList(item, size)) => {
            let items = child(item, array.as_fixed_size_list().values())?;
            let item = open(item, &items);
            let array = FixedSizeListArray::try_new_with_length(item, *size, items, nulls, len);
            Arc::new(array.map_err(wrong)?)
        }
        (FixedSizeList(_, size), List(item)) => {
            let items = child(item, array.as_fixed_size_list().values())?;
            // Null lists span their items; nothing that lies there is stored.
            let offset = |row: usize| i32::try_from(row as u64 * *size as u64).map_err(|_| too_many());
            let offsets = (0..=len).map(offset).collect::<Result<Vec<i32>>>()?;
            list_of(item, OffsetBuffer::new(offsets.into()), items, nulls)?
        }
        (Union(..), Struct(fields)) => union(fields, array, struct_nulls)?,
        _ => return Err(misfit(array, stored)),
    })
}

#[cold]
/// Fails for nulls among items that have none by their field. Unions and runs have no validity of their own, so nothing
/// before here has looked; those who read the file would.
fn check_items(array: &ArrayRef) -> Result<()> {
    use DataType::*;
    let (field, items) = match array.data_type() {
        List(field) => (field, array.as_list::<i32>().values()),
        LargeList(field) => (field, array.as_list::<i64>().values()),
        ListView(field) => (field, array.as_list_view::<i32>().values()),
        LargeListView(field) => (field, array.as_list_view::<i64>().values()),
        FixedSizeList(field, _) => (field, array.as_fixed_size_list().values()),
        _ => return Ok(()),
    };
    let unlooked_at = matches!(field.data_type(), Union(..) | RunEndEncoded(..)) && !field.is_nullable();
    if unlooked_at && items.logical_null_count() > 0 {
        return Err(Error::invalid("a null among items of a list whose field says that there are none"));
    }
    Ok(())
}

fn misfit(array: &ArrayRef, stored: &DataType) -> Error {
    Error::invalid(format!("internal: values of type {} to be stored as {stored}", array.data_type()))
}

fn wrong(e: ArrowError) -> Error {
    Error::invalid(format!("values that contradict their type: {e}"))
}

#[cold]
fn too_many() -> Error {
    Error::limit(
        "more than 2,147,483,647 items in a batch of lists with 32-bit offsets; write fewer rows at once",
    )
}

/// A field around converted values. Nulls are checked where levels are made, against the schema and without those
/// that lie under other nulls.
fn open(field: &FieldRef, values: &ArrayRef) -> FieldRef {
    Arc::new(Field::new(field.name(), values.data_type().clone(), true))
}

fn structure(
    fields: &Fields,
    columns: Vec<ArrayRef>,
    nulls: Option<NullBuffer>,
    len: usize,
) -> Result<ArrayRef> {
    let fields: Fields = fields.iter().zip(&columns).map(|(f, c)| open(f, c)).collect();
    Ok(Arc::new(StructArray::try_new_with_length(fields, columns, nulls, len).map_err(wrong)?))
}

/// A map's key must not be nullable in Arrow's eyes, whatever lies under nulls.
fn map_of(
    entries: FieldRef,
    offsets: OffsetBuffer<i32>,
    pairs: StructArray,
    nulls: Option<NullBuffer>,
) -> Result<ArrayRef> {
    let (fields, columns, entry_nulls) = pairs.into_parts();
    let mut fields: Vec<FieldRef> = fields.iter().cloned().collect();
    if let Some(key) = fields.first_mut() {
        *key = Arc::new(key.as_ref().clone().with_nullable(false));
    }
    let pairs = StructArray::try_new(fields.into(), columns, entry_nulls).map_err(wrong)?;
    let entries = Arc::new(entries.as_ref().clone().with_data_type(pairs.data_type().clone()));
    Ok(Arc::new(MapArray::try_new(entries, offsets, pairs, nulls, false).map_err(wrong)?))
}

/// Offsets that begin at 0, and the items from the first of them on.
fn from_first<O: OffsetSizeTrait>(
    offsets: &OffsetBuffer<O>,
    items: &ArrayRef,
) -> (OffsetBuffer<O>, ArrayRef) {
    let (first, last) = (offsets[0], offsets[offsets.len() - 1]);
    let items = items.slice(first.as_usize(), (last - first).as_usize());
    if first == O::zero() {
        return (offsets.clone(), items);
    }
    (OffsetBuffer::new(offsets.iter().map(|o| *o - first).collect::<Vec<O>>().into()), items)
}

fn list_of<O: OffsetSizeTrait>(
    item: &FieldRef,
    offsets: OffsetBuffer<O>,
    items: ArrayRef,
    nulls: Option<NullBuffer>,
) -> Result<ArrayRef> {
    let item = open(item, &items);
    Ok(Arc::new(GenericListArray::<O>::try_new(item, offsets, items, nulls).map_err(wrong)?))
}

fn list<O: OffsetSizeTrait>(item: &FieldRef, array: &ArrayRef, struct_nulls: bool) -> Result<ArrayRef> {
    let list = array.as_list::<O>();
    let (offsets, items) = from_first(list.offsets(), list.values());
    list_of(item, offsets, store(item.data_type(), &items, struct_nulls)?, list.nulls().cloned())
}

/// List views in order are lists; others have their items put in order.
fn list_view<O: OffsetSizeTrait>(item: &FieldRef, array: &ArrayRef, struct_nulls: bool) -> Result<ArrayRef> {
    let views: &GenericListViewArray<O> = array.as_list_view::<O>();
    let nulls = views.nulls().cloned();
    let size = |row: usize| if views.is_null(row) { O::zero() } else { views.value_size(row) };
    let mut ends = Vec::with_capacity(views.len() + 1);
    let mut end = 0usize;
    ends.push(O::zero());
    for row in 0..views.len() {
        end += size(row).as_usize();
        ends.push(O::from_usize(end).ok_or_else(too_many)?);
    }
    let first = (0..views.len()).find(|row| size(*row) > O::zero());
    let start = first.map_or(0, |row| views.value_offset(row).as_usize());
    let in_order = (0..views.len()).all(|row| {
        size(row) == O::zero() || views.value_offset(row).as_usize() == start + ends[row].as_usize()
    });
    let items = if in_order {
        store(item.data_type(), &views.values().slice(start, end), struct_nulls)?
    } else {
        let values = store(item.data_type(), views.values(), struct_nulls)?;
        let data = values.to_data();
        let mut items = Gathering::new(&data, false, end)?;
        for row in 0..views.len() {
            items.slots(views.value_offset(row).as_usize(), size(row).as_usize())?;
        }
        items.finish()
    };
    list_of(item, OffsetBuffer::new(ends.into()), items, nulls)
}

fn widened<T: ArrowPrimitiveType>(array: &ArrayRef, stored: &DataType) -> Result<ArrayRef>
where
    T::Native: Into<i128>,
{
    let array = array.as_primitive::<T>();
    let values: Vec<i128> = array.values().iter().map(|v| (*v).into()).collect();
    let wide = PrimitiveArray::<Decimal128Type>::try_new(values.into(), array.nulls().cloned());
    Ok(Arc::new(wide.map_err(wrong)?.with_data_type(stored.clone())))
}

/// Keys as slots of `num_values` values.
fn picks_of(keys: &dyn Array, num_values: usize) -> Result<Vec<u32>> {
    let mut picks = Vec::with_capacity(keys.len());
    downcast_integer_array!(
        keys => {
            for key in keys.iter() {
                let Some(key) = key else {
                    picks.push(NULL);
                    continue;
                };
                match key.to_usize().filter(|k| *k < num_values).and_then(|k| u32::try_from(k).ok()) {
                    Some(key) if key != NULL => picks.push(key),
                    _ => return Err(Error::invalid(format!(
                        "dictionary key {key} where the dictionary has {num_values} entries"
                    ))),
                }
            }
        },
        other => return Err(Error::invalid(format!("dictionary keys of type {other}")))
    );
    Ok(picks)
}

fn expanded_runs(stored: &DataType, array: &ArrayRef, struct_nulls: bool) -> Result<ArrayRef> {
    let mut runs = Vec::new();
    let mut all = None;
    for_each_run(array, 0..array.len(), |value, count, values| {
        runs.push((value, count));
        all.get_or_insert_with(|| values.clone());
    });
    let Some(values) = all else { return Ok(arrow_array::new_empty_array(stored)) };
    // Only the values that the runs use.
    let first = runs.first().map_or(0, |(value, _)| *value);
    let values = store(stored, &values.slice(first, runs.len()), struct_nulls)?;
    let data = values.to_data();
    let mut out = Gathering::new(&data, false, array.len())?;
    for (value, count) in runs {
        for _ in 0..count {
            out.slots(value - first, 1)?;
        }
    }
    Ok(out.finish())
}

fn union(fields: &Fields, array: &ArrayRef, struct_nulls: bool) -> Result<ArrayRef> {
    let union = array.as_union();
    let DataType::Union(of, _) = array.data_type() else { return Err(misfit(array, &DataType::Null)) };
    let ids = union.type_ids();
    let mut columns: Vec<ArrayRef> = vec![Arc::new(Int8Array::new(ids.clone(), None))];
    for ((id, _), field) in of.iter().zip(fields.iter().skip(1)) {
        let child = union.child(id);
        columns.push(match union.offsets() {
            None => {
                let child = store(field.data_type(), child, struct_nulls)?;
                only(child, &BooleanBuffer::collect_bool(ids.len(), |row| ids[row] == id), struct_nulls)?
            }
            Some(offsets) => {
                let picks: Vec<u32> = ids
                    .iter()
                    .zip(offsets.iter())
                    .map(|(i, offset)| if *i == id { *offset as u32 } else { NULL })
                    .collect();
                let nullable = struct_nulls || !matches!(field.data_type(), DataType::Struct(_));
                let child = store(field.data_type(), child, struct_nulls)?;
                if nullable {
                    gather(&child, &picks)?
                } else {
                    // Structs without nulls of their own: any value will do where another field is meant.
                    let first = picks.iter().copied().find(|pick| *pick != NULL);
                    match first {
                        Some(first) => {
                            let filled: Vec<u32> =
                                picks.iter().map(|p| if *p == NULL { first } else { *p }).collect();
                            gather(&child, &filled)?
                        }
                        None => defaults(field.data_type(), false, picks.len())?,
                    }
                }
            }
        });
    }
    structure(fields, columns, None, array.len())
}

/// An array whose slots outside of `kept` are null, so that nothing of what lies there is stored.
fn only(array: ArrayRef, kept: &BooleanBuffer, struct_nulls: bool) -> Result<ArrayRef> {
    let has_nulls = match array.data_type() {
        DataType::Null => false,
        DataType::Struct(fields) => struct_nulls && !fields.is_empty(),
        _ => true,
    };
    if !has_nulls {
        return Ok(array);
    }
    let nulls = match array.nulls() {
        Some(nulls) => nulls.inner() & kept,
        None => kept.clone(),
    };
    let data = array.to_data().into_builder().nulls(Some(NullBuffer::new(nulls)));
    Ok(make_array(data.build().map_err(wrong)?))
}

/// Values of a type that may stand where nothing is meant: nulls where they are allowed, but no null structs.
fn defaults(data_type: &DataType, nullable: bool, len: usize) -> Result<ArrayRef> {
    if let DataType::Struct(fields) = data_type {
        let columns = fields.iter().map(|f| defaults(f.data_type(), f.is_nullable(), len));
        let columns = columns.collect::<Result<Vec<_>>>()?;
        return structure(fields, columns, None, len);
    }
    let nulls = arrow_array::new_null_array(data_type, len);
    if nullable || matches!(data_type, DataType::Dictionary(..)) {
        return Ok(nulls);
    }
    Ok(make_array(nulls.to_data().into_builder().nulls(None).build().map_err(wrong)?))
}
