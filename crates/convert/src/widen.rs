//! Dictionaries with narrow keys, read with wider ones.
//!
//! The Parquet reader refuses a dictionary of as many values as its keys number, 128 with `int8` keys, because it
//! takes their count for a key. So narrow keys are read one size wider and made narrow again.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions, make_array};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{DataType, Field, FieldRef, Schema, SchemaRef};
use pennon_file::{Error, Result};

use crate::guard::arrow_error;
use crate::nested::rebuild;

const WHAT: &str = "reading dictionaries of Parquet";

/// The schema with wider keys; `None` where no keys are narrow.
pub(crate) fn wide(schema: &Schema) -> Option<SchemaRef> {
    let fields: Vec<FieldRef> = schema.fields().iter().map(wide_field).collect();
    let changed = fields.iter().zip(schema.fields()).any(|(wide, field)| !Arc::ptr_eq(wide, field));
    changed.then(|| Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone())))
}

fn wide_field(field: &FieldRef) -> FieldRef {
    match wide_type(field.data_type()) {
        Some(data_type) => Arc::new(Field::clone(field).with_data_type(data_type)),
        None => field.clone(),
    }
}

fn wide_type(data_type: &DataType) -> Option<DataType> {
    use DataType as T;
    let one = |field: &FieldRef| {
        let wide = wide_field(field);
        (!Arc::ptr_eq(&wide, field)).then_some(wide)
    };
    Some(match data_type {
        T::Dictionary(key, value) => {
            let key = match **key {
                T::Int8 => T::Int16,
                T::UInt8 => T::UInt16,
                T::Int16 => T::Int32,
                T::UInt16 => T::UInt32,
                _ => return None,
            };
            T::Dictionary(Box::new(key), value.clone())
        }
        T::Struct(fields) => {
            let wide: Vec<FieldRef> = fields.iter().map(wide_field).collect();
            if wide.iter().zip(fields).all(|(wide, field)| Arc::ptr_eq(wide, field)) {
                return None;
            }
            T::Struct(wide.into())
        }
        T::List(item) => T::List(one(item)?),
        T::LargeList(item) => T::LargeList(one(item)?),
        T::FixedSizeList(item, size) => T::FixedSizeList(one(item)?, *size),
        T::Map(entries, sorted) => T::Map(one(entries)?, *sorted),
        _ => return None,
    })
}

/// A batch with the keys of `target` again.
pub(crate) fn narrow(batch: &RecordBatch, target: &SchemaRef) -> Result<RecordBatch> {
    let columns = batch.columns().iter().zip(target.fields());
    let columns = columns.map(|(column, field)| narrow_array(column, field)).collect::<Result<_>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(target.clone(), columns, &options).map_err(|e| arrow_error(WHAT, e))
}

fn narrow_array(array: &ArrayRef, target: &FieldRef) -> Result<ArrayRef> {
    let data_type = target.data_type();
    if array.data_type() == data_type {
        return Ok(array.clone());
    }
    let (DataType::Dictionary(_, found), DataType::Dictionary(key, value)) = (array.data_type(), data_type)
    else {
        return rebuild(array, data_type, &mut |_, child, field| narrow_array(child, field));
    };
    if found != value {
        return Err(Error::corrupt(format!("{WHAT}: values of type {found}, {value} expected")));
    }
    let dictionary = array.as_any_dictionary();
    let keys = make_array(dictionary.keys().to_data());
    let options = CastOptions { safe: false, ..CastOptions::default() };
    let keys = cast_with_options(&keys, key, &options).map_err(|e| arrow_error(WHAT, e))?;
    let data = keys.to_data().into_builder().data_type(data_type.clone());
    let data =
        data.add_child_data(dictionary.values().to_data()).build().map_err(|e| arrow_error(WHAT, e))?;
    Ok(make_array(data))
}
