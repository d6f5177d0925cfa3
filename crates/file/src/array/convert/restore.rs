//! Stored arrays to the arrays that they stand for.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal32Type, Decimal64Type, Decimal128Type, DecimalType, Int8Type};
use arrow_array::{
    Array, ArrayRef, BinaryViewArray, FixedSizeListArray, GenericListArray, GenericListViewArray, MapArray,
    OffsetSizeTrait, PrimitiveArray, StringViewArray, StructArray, UnionArray, make_array,
};
use arrow_buffer::{Buffer, NullBuffer, ScalarBuffer};
use arrow_data::ArrayData;
use arrow_schema::{ArrowError, DataType, FieldRef, UnionFields, UnionMode};

use super::gather::{Gathering, NULL, gather};
use super::keyed::Keyed;
use super::size::least_bytes;
use crate::error::corrupt;
use crate::{Error, Result};

/// The array of type `user` that a stored array stands for. What is made beyond the size of the stored array is
/// bounded by `budget` bytes.
///
/// # Errors
/// Of kind `Limit` where fewer rows would do: more than a key or an offset can count, or the budget.
pub(crate) fn restore(user: &DataType, stored: &ArrayRef, budget: usize) -> Result<ArrayRef> {
    use DataType::*;
    if user == stored.data_type() {
        return Ok(stored.clone());
    }
    let nulls = stored.nulls().cloned();
    let len = stored.len();
    Ok(match (user, stored.data_type()) {
        (RunEndEncoded(ends, values), _) => run_end_encoded(user, ends, values, stored, budget)?,
        (Dictionary(key, value), Dictionary(..))
            if !matches!(**value, Dictionary(..) | RunEndEncoded(..)) =>
        {
            let dictionary = stored.as_any_dictionary();
            let values = restore(value, dictionary.values(), budget)?;
            let keys = dictionary.keys().to_data();
            built(
                keys.into_builder()
                    .data_type(Dictionary(key.clone(), value.clone()))
                    .child_data(vec![values.to_data()]),
            )?
        }
        (Dictionary(key, value), _) => dictionary(user, key, value, stored, budget)?,
        (Utf8View, Utf8) => Arc::new(StringViewArray::from(stored.as_string::<i32>())),
        (BinaryView, Binary) => Arc::new(BinaryViewArray::from(stored.as_binary::<i32>())),
        (Decimal32(..), Decimal128(..)) => decimal::<Decimal32Type>(user, stored)?,
        (Decimal64(..), Decimal128(..)) => decimal::<Decimal64Type>(user, stored)?,
        // The same bytes.
        (Interval(_), Int32 | FixedSizeBinary(_)) => {
            built(stored.to_data().into_builder().data_type(user.clone()).align_buffers(true))?
        }
        (FixedSizeBinary(0), Binary) => {
            let binary = stored.as_binary::<i32>();
            if let Some(slot) = (0..len).find(|i| binary.is_valid(*i) && !binary.value(*i).is_empty()) {
                corrupt!("{} bytes in a value of a type of 0 bytes", binary.value(slot).len());
            }
            let empty = Buffer::from_vec(Vec::<u8>::new());
            built(ArrayData::builder(user.clone()).len(len).add_buffer(empty).nulls(nulls))?
        }
        (Struct(fields), Boolean) if fields.is_empty() => Arc::new(StructArray::new_empty_fields(len, nulls)),
        (Struct(fields), Struct(_)) => {
            let columns = stored.as_struct().columns();
            if columns.len() != fields.len() {
                return Err(misfit(user, stored));
            }
            let columns = fields.iter().zip(columns).map(|(f, c)| restore(f.data_type(), c, budget));
            let columns = columns.collect::<Result<_>>()?;
            Arc::new(StructArray::try_new_with_length(fields.clone(), columns, nulls, len).map_err(wrong)?)
        }
        (List(item), List(_)) => list::<i32>(item, stored, budget)?,
        (LargeList(item), LargeList(_)) => list::<i64>(item, stored, budget)?,
        (ListView(item), List(_)) => list_view::<i32>(item, stored, budget)?,
        (LargeListView(item), LargeList(_)) => list_view::<i64>(item, stored, budget)?,
        (Map(entries, sorted), Map(..)) => {
            let map = stored.as_map();
            let pairs: ArrayRef = Arc::new(map.entries().clone());
            let pairs = restore(entries.data_type(), &pairs, budget)?;
            let (offsets, pairs) = (map.offsets().clone(), pairs.as_struct().clone());
            Arc::new(MapArray::try_new(entries.clone(), offsets, pairs, nulls, *sorted).map_err(wrong)?)
        }
        (Map(entries, sorted), List(_)) => {
            let list = stored.as_list::<i32>();
            let pairs = restore(entries.data_type(), list.values(), budget)?;
            let Some(pairs) = pairs.as_struct_opt().cloned() else { return Err(misfit(user, stored)) };
            let offsets = list.offsets().clone();
            Arc::new(MapArray::try_new(entries.clone(), offsets, pairs, nulls, *sorted).map_err(wrong)?)
        }
        (FixedSizeList(item, size), FixedSizeList(..)) => {
            let items = restore(item.data_type(), stored.as_fixed_size_list().values(), budget)?;
            fixed_size_list(item, *size, items, nulls, len)?
        }
        (FixedSizeList(item, size), List(_)) => {
            let items = items_of_all(stored, *size, budget)?;
            fixed_size_list(item, *size, restore(item.data_type(), &items, budget)?, nulls, len)?
        }
        (Union(fields, mode), Struct(_)) => union(fields, *mode, stored, budget)?,
        _ => return Err(misfit(user, stored)),
    })
}

#[cold]
fn misfit(user: &DataType, stored: &ArrayRef) -> Error {
    Error::corrupt(format!("values stored as {} for a column of type {user}", stored.data_type()))
}

/// Arrow's own refusal of what a file holds, such as a null in a field that has none.
fn wrong(e: ArrowError) -> Error {
    Error::corrupt(format!("values that the schema does not allow: {e}"))
}

fn built(builder: arrow_data::ArrayDataBuilder) -> Result<ArrayRef> {
    Ok(make_array(builder.build().map_err(wrong)?))
}

fn list<O: OffsetSizeTrait>(item: &FieldRef, stored: &ArrayRef, budget: usize) -> Result<ArrayRef> {
    let list = stored.as_list::<O>();
    let items = restore(item.data_type(), list.values(), budget)?;
    let (offsets, nulls) = (list.offsets().clone(), list.nulls().cloned());
    Ok(Arc::new(GenericListArray::<O>::try_new(item.clone(), offsets, items, nulls).map_err(wrong)?))
}

fn list_view<O: OffsetSizeTrait>(item: &FieldRef, stored: &ArrayRef, budget: usize) -> Result<ArrayRef> {
    let list = stored.as_list::<O>();
    let items = restore(item.data_type(), list.values(), budget)?;
    let sizes: Vec<O> = list.offsets().windows(2).map(|w| w[1] - w[0]).collect();
    let offsets = list.offsets().inner().slice(0, list.len());
    let view = GenericListViewArray::<O>::try_new(
        item.clone(),
        offsets,
        ScalarBuffer::from(sizes),
        items,
        list.nulls().cloned(),
    );
    Ok(Arc::new(view.map_err(wrong)?))
}

fn fixed_size_list(
    item: &FieldRef,
    size: i32,
    items: ArrayRef,
    nulls: Option<NullBuffer>,
    len: usize,
) -> Result<ArrayRef> {
    let array = FixedSizeListArray::try_new_with_length(item.clone(), size, items, nulls, len);
    Ok(Arc::new(array.map_err(wrong)?))
}

/// The items of lists of `size` each, with that many nulls for a null list.
fn items_of_all(stored: &ArrayRef, size: i32, budget: usize) -> Result<ArrayRef> {
    let list = stored.as_list::<i32>();
    let (size, offsets) = (size as usize, list.offsets());
    for (row, bounds) in offsets.windows(2).enumerate() {
        let found = (bounds[1] - bounds[0]) as usize;
        if found != size && list.is_valid(row) {
            corrupt!("a list of {found} items in a column of fixed-size lists of {size}");
        }
    }
    let (first, last) = (offsets[0] as usize, offsets[list.len()] as usize);
    if list.null_count() == 0 {
        return Ok(list.values().slice(first, last - first));
    }
    // Every null list has items again, though the file has none.
    let width = least_bytes(list.values().data_type()).max(1);
    let bytes = list.null_count().saturating_mul(size).saturating_mul(width);
    if bytes > budget {
        return Err(Error::limit(format!(
            "{} null lists of {size} items take {bytes} bytes, {budget} are allowed",
            list.null_count()
        )));
    }
    let data = list.values().to_data();
    let mut items = Gathering::new(&data, true, list.len() * size)?;
    // Lists one after the other are one run.
    let mut run = first..first;
    for (row, bounds) in offsets.windows(2).enumerate() {
        if list.is_valid(row) {
            if run.end != bounds[0] as usize {
                items.slots(run.start, run.len())?;
                run.start = bounds[0] as usize;
            }
            run.end = bounds[1] as usize;
        } else {
            items.slots(run.start, run.len())?;
            items.nulls(size)?;
            run = bounds[1] as usize..bounds[1] as usize;
        }
    }
    items.slots(run.start, run.len())?;
    Ok(items.finish())
}

fn decimal<T: DecimalType>(user: &DataType, stored: &ArrayRef) -> Result<ArrayRef>
where
    T::Native: TryFrom<i128>,
{
    let stored = stored.as_primitive::<Decimal128Type>();
    let mut values = Vec::with_capacity(stored.len());
    for (slot, value) in stored.values().iter().enumerate() {
        match T::Native::try_from(*value) {
            Ok(value) => values.push(value),
            Err(_) if stored.is_null(slot) => values.push(T::Native::default()),
            Err(_) => corrupt!("the decimal {value} in a column of type {user}"),
        }
    }
    let array = PrimitiveArray::<T>::try_new(values.into(), stored.nulls().cloned()).map_err(wrong)?;
    Ok(Arc::new(array.with_data_type(user.clone())))
}

fn dictionary(
    user: &DataType,
    key: &DataType,
    value: &DataType,
    stored: &ArrayRef,
    budget: usize,
) -> Result<ArrayRef> {
    let most = match key {
        DataType::Int8 => 1 << 7,
        DataType::UInt8 => 1 << 8,
        DataType::Int16 => 1 << 15,
        DataType::UInt16 => 1 << 16,
        _ => i32::MAX as usize,
    };
    let Some((keys, firsts)) = Keyed::new(stored)?.distinct(stored.len(), most) else {
        return Err(Error::limit(format!(
            "more than {most} distinct values in a batch of dictionaries with {key} keys; read fewer rows at once"
        )));
    };
    let values = restore(value, &gather(stored, &firsts)?, budget)?;
    let nulls = keys.contains(&NULL).then(|| keys.iter().map(|k| *k != NULL).collect::<NullBuffer>());
    let key_of = |k: u32| if k == NULL { 0 } else { k };
    let buffer = match key.primitive_width() {
        Some(1) => Buffer::from_vec(keys.iter().map(|k| key_of(*k) as u8).collect::<Vec<_>>()),
        Some(2) => Buffer::from_vec(keys.iter().map(|k| key_of(*k) as u16).collect::<Vec<_>>()),
        Some(4) => Buffer::from_vec(keys.iter().map(|k| key_of(*k)).collect::<Vec<_>>()),
        _ => Buffer::from_vec(keys.iter().map(|k| u64::from(key_of(*k))).collect::<Vec<_>>()),
    };
    let data = ArrayData::builder(user.clone()).len(keys.len()).add_buffer(buffer).nulls(nulls);
    built(data.add_child_data(values.to_data()))
}

fn run_end_encoded(
    user: &DataType,
    ends: &FieldRef,
    values: &FieldRef,
    stored: &ArrayRef,
    budget: usize,
) -> Result<ArrayRef> {
    let len = stored.len();
    let most = match ends.data_type() {
        DataType::Int16 => i16::MAX as usize,
        DataType::Int32 => i32::MAX as usize,
        _ => usize::MAX,
    };
    if len > most {
        return Err(Error::limit(format!(
            "{len} values in a batch of runs whose ends are {}, at most {most}; read fewer rows at once",
            ends.data_type()
        )));
    }
    let starts = Keyed::new(stored)?.run_starts(len);
    let run_values = restore(values.data_type(), &gather(stored, &starts)?, budget)?;
    // Runs of values that are not nullable are null all the same where something around them is.
    let run_ends = starts.iter().skip(1).map(|s| *s as usize).chain((len > 0).then_some(len));
    let buffer = match ends.data_type() {
        DataType::Int16 => Buffer::from_vec(run_ends.map(|end| end as i16).collect::<Vec<_>>()),
        DataType::Int32 => Buffer::from_vec(run_ends.map(|end| end as i32).collect::<Vec<_>>()),
        _ => Buffer::from_vec(run_ends.map(|end| end as i64).collect::<Vec<_>>()),
    };
    let run_ends = ArrayData::builder(ends.data_type().clone()).len(starts.len()).add_buffer(buffer);
    let run_ends = run_ends.build().map_err(wrong)?;
    let data = ArrayData::builder(user.clone()).len(len).add_child_data(run_ends);
    built(data.add_child_data(run_values.to_data()))
}

fn union(fields: &UnionFields, mode: UnionMode, stored: &ArrayRef, budget: usize) -> Result<ArrayRef> {
    let columns = stored.as_struct().columns();
    let Some((type_ids, children)) = columns.split_first().filter(|(_, c)| c.len() == fields.len()) else {
        return Err(Error::corrupt(format!("a union stored as {}", stored.data_type())));
    };
    let Some(type_ids) = type_ids.as_primitive_opt::<Int8Type>() else {
        return Err(Error::corrupt(format!("type ids of a union stored as {}", type_ids.data_type())));
    };
    let mut place_of = [u8::MAX; 128];
    for (place, (id, _)) in fields.iter().enumerate() {
        place_of[id as usize] = place as u8;
    }
    let first = fields.iter().next().map_or(0, |(id, _)| id);
    let mut ids = Vec::with_capacity(stored.len());
    for row in 0..stored.len() {
        // What lies under a null around the union may be anything.
        if stored.is_null(row) {
            ids.push(first);
            continue;
        }
        let id = type_ids.value(row);
        let known = usize::try_from(id).is_ok_and(|id| place_of[id] != u8::MAX);
        if type_ids.is_null(row) || !known {
            let ids: Vec<i8> = fields.iter().map(|(id, _)| id).collect();
            let found = type_ids.is_valid(row).then_some(id);
            corrupt!("a union's type id is {found:?}, expected one of {ids:?}");
        }
        ids.push(id);
    }
    let mut offsets = None;
    let mut arrays = Vec::with_capacity(children.len());
    match mode {
        UnionMode::Sparse => {
            for ((_, field), child) in fields.iter().zip(children) {
                arrays.push(restore(field.data_type(), child, budget)?);
            }
        }
        UnionMode::Dense => {
            let mut picks: Vec<Vec<u32>> = vec![Vec::new(); children.len()];
            let mut all = Vec::with_capacity(ids.len());
            for (row, id) in ids.iter().enumerate() {
                let of_field = &mut picks[place_of[*id as usize] as usize];
                all.push(of_field.len() as i32);
                of_field.push(if stored.is_null(row) { NULL } else { row as u32 });
            }
            for (((_, field), child), picks) in fields.iter().zip(children).zip(&picks) {
                arrays.push(restore(field.data_type(), &gather(child, picks)?, budget)?);
            }
            offsets = Some(ScalarBuffer::from(all));
        }
    }
    let union = UnionArray::try_new(fields.clone(), ScalarBuffer::from(ids), offsets, arrays);
    Ok(Arc::new(union.map_err(wrong)?))
}
