//! Nested arrays with other children.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{
    Array, ArrayRef, FixedSizeListArray, GenericListArray, GenericListViewArray, ListArray, MapArray,
    OffsetSizeTrait, StructArray,
};
use arrow_schema::{ArrowError, DataType, FieldRef};
use pennon_file::{Error, Result};

/// What becomes of a child: its index, its array, and the field it must fit.
pub(crate) type Change<'a> = dyn FnMut(usize, &ArrayRef, &FieldRef) -> Result<ArrayRef> + 'a;

/// `array` with each child replaced by what `change` makes of it; lengths, offsets and validity stay.
/// `target` has the same shape as the array's type, except that a map may become a list of its entries and the
/// other way round. Types without children come back as they are.
pub(crate) fn rebuild(array: &ArrayRef, target: &DataType, change: &mut Change<'_>) -> Result<ArrayRef> {
    use DataType as T;
    Ok(match (array.data_type(), target) {
        (T::Struct(_), T::Struct(_)) => Arc::new(structs(array.as_struct(), target, change)?),
        (T::List(_), T::List(f)) => list::<i32>(array, f, change)?,
        (T::LargeList(_), T::LargeList(f)) => list::<i64>(array, f, change)?,
        (T::ListView(_), T::ListView(f)) => list_view::<i32>(array, f, change)?,
        (T::LargeListView(_), T::LargeListView(f)) => list_view::<i64>(array, f, change)?,
        (T::FixedSizeList(_, _), T::FixedSizeList(f, n)) => {
            let array = array.as_fixed_size_list();
            let values = change(0, array.values(), f)?;
            let made = FixedSizeListArray::try_new_with_length(
                f.clone(),
                *n,
                values,
                array.nulls().cloned(),
                array.len(),
            );
            Arc::new(made.map_err(wrong)?)
        }
        (T::Map(_, _), T::Map(f, sorted)) => {
            let array = array.as_map();
            let entries = structs(array.entries(), f.data_type(), change)?;
            let made = MapArray::try_new(
                f.clone(),
                array.offsets().clone(),
                entries,
                array.nulls().cloned(),
                *sorted,
            );
            Arc::new(made.map_err(wrong)?)
        }
        (T::Map(_, _), T::List(f)) => {
            let array = array.as_map();
            let entries = Arc::new(structs(array.entries(), f.data_type(), change)?);
            Arc::new(
                ListArray::try_new(f.clone(), array.offsets().clone(), entries, array.nulls().cloned())
                    .map_err(wrong)?,
            )
        }
        (T::List(_), T::Map(f, sorted)) => {
            let array = array.as_list::<i32>();
            let entries = structs(array.values().as_struct(), f.data_type(), change)?;
            let made = MapArray::try_new(
                f.clone(),
                array.offsets().clone(),
                entries,
                array.nulls().cloned(),
                *sorted,
            );
            Arc::new(made.map_err(wrong)?)
        }
        _ => array.clone(),
    })
}

fn wrong(e: ArrowError) -> Error {
    Error::invalid(e.to_string())
}

fn structs(array: &StructArray, target: &DataType, change: &mut Change<'_>) -> Result<StructArray> {
    let DataType::Struct(fields) = target else { return Ok(array.clone()) };
    let columns = array.columns().iter().zip(fields).enumerate().map(|(i, (c, f))| change(i, c, f));
    let columns = columns.collect::<Result<Vec<_>>>()?;
    StructArray::try_new_with_length(fields.clone(), columns, array.nulls().cloned(), array.len())
        .map_err(wrong)
}

fn list<O: OffsetSizeTrait>(array: &ArrayRef, field: &FieldRef, change: &mut Change<'_>) -> Result<ArrayRef> {
    let array = array.as_list::<O>();
    let values = change(0, array.values(), field)?;
    let made =
        GenericListArray::try_new(field.clone(), array.offsets().clone(), values, array.nulls().cloned());
    Ok(Arc::new(made.map_err(wrong)?))
}

fn list_view<O: OffsetSizeTrait>(
    array: &ArrayRef,
    field: &FieldRef,
    change: &mut Change<'_>,
) -> Result<ArrayRef> {
    let array = array.as_list_view::<O>();
    let values = change(0, array.values(), field)?;
    let (offsets, sizes) = (array.offsets().clone(), array.sizes().clone());
    let made = GenericListViewArray::try_new(field.clone(), offsets, sizes, values, array.nulls().cloned());
    Ok(Arc::new(made.map_err(wrong)?))
}
