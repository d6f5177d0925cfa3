//! Strings and binary values handed out as views.
//!
//! ```text
//! utf8          offsets, bytes          a copy of every string one after the other
//! utf8_view     16 bytes a value        its length, and the string itself or where in the bytes it is
//! ```

use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef, Schema, SchemaRef};

/// The schema with views in place of strings and binary values with 32-bit offsets, at the top and inside of structs and lists. Maps,
/// list views, unions, and values of dictionaries and runs stay as they are.
pub fn string_views(schema: &SchemaRef) -> SchemaRef {
    let fields: Vec<FieldRef> = schema.fields().iter().map(viewed).collect();
    Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()))
}

fn viewed(field: &FieldRef) -> FieldRef {
    let ty = match field.data_type() {
        DataType::Utf8 => DataType::Utf8View,
        DataType::Binary => DataType::BinaryView,
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(viewed).collect()),
        DataType::List(item) => DataType::List(viewed(item)),
        DataType::LargeList(item) => DataType::LargeList(viewed(item)),
        DataType::FixedSizeList(item, size) => DataType::FixedSizeList(viewed(item), *size),
        _ => return field.clone(),
    };
    Arc::new(Field::clone(field).with_data_type(ty))
}
