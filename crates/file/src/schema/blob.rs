//! Blob fields: which they are, what their column holds, and how they are shown.
//!
//! ```text
//! first kind    x: large_binary                          column: struct<position: u64, size: u64>
//!               metadata lance-encoding:blob
//! second kind   x: struct<kind: u8, position: u64,       column: the same struct, packed
//!                         size: u64, blob_id: u32,
//!                         blob_uri: string>
//!               metadata lance-encoding:blob
//! ```
//!
//! Only whether the key is there counts, not its value. See docs/format/blobs.md.

use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef, Fields, Metadata, SchemaRef};

use super::{BLOB, FieldKind, PACKED, kind_of};
use crate::encoding::ValueType;
use crate::{Error, FormatVersion, Result};

/// How blob columns are read: as the bytes, or as the descriptors that say where the bytes are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum BlobView {
    /// Bytes where they are all in the file itself, descriptors where they may lie in other files too.
    #[default]
    Auto,
    /// Bytes, as large binary. Fails where those of a row cannot be found.
    Values,
    /// Descriptors: `struct<position, size>`, or the five fields with which a file can name other files.
    Descriptors,
}

/// Names and types of a descriptor that can name other files, in order, as the format and as Arrow spells them.
pub(super) const DESCRIPTOR: [(&str, &str, DataType); 5] = [
    ("kind", "uint8", DataType::UInt8),
    ("position", "uint64", DataType::UInt64),
    ("size", "uint64", DataType::UInt64),
    ("blob_id", "uint32", DataType::UInt32),
    ("blob_uri", "string", DataType::Utf8),
];

/// What the column of a blob field holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stored {
    /// Positions and sizes in the file itself.
    Ranges,
    /// Descriptors that can name other files.
    Descriptors,
}

/// What the column of a field holds that is marked as a blob.
pub(super) fn stored(field: &Field) -> Result<Stored> {
    match field.data_type() {
        DataType::LargeBinary => Ok(Stored::Ranges),
        DataType::Struct(children) if is_descriptor(children) => Ok(Stored::Descriptors),
        other => Err(Error::unsupported(format!(
            "field {:?}: a blob column of type {other}; known are large binary and descriptors of five fields",
            field.name()
        ))),
    }
}

fn is_descriptor(children: &Fields) -> bool {
    children.len() == DESCRIPTOR.len()
        && children
            .iter()
            .zip(&DESCRIPTOR)
            .all(|(child, (name, _, data_type))| child.name() == name && child.data_type() == data_type)
}

/// Shape of a position and a size.
pub(crate) fn range_shape() -> ValueType {
    ValueType::Struct(vec![ValueType::Fixed(8), ValueType::Fixed(8)])
}

/// The type of a position and a size.
pub(crate) fn range_type() -> DataType {
    let number = |name: &str| Field::new(name, DataType::UInt64, true);
    DataType::Struct(Fields::from(vec![number("position"), number("size")]))
}

/// The schema as a view of blobs shows it. The marks stay: they tell descriptors from ordinary structs.
pub(crate) fn view(schema: &SchemaRef, view: BlobView) -> SchemaRef {
    let fields: Vec<FieldRef> = schema.fields().iter().map(|f| view_field(f, view)).collect();
    if fields.iter().zip(schema.fields()).all(|(a, b)| Arc::ptr_eq(a, b)) {
        return schema.clone();
    }
    Arc::new(arrow_schema::Schema::new_with_metadata(fields, schema.metadata().clone()))
}

fn view_field(field: &FieldRef, view: BlobView) -> FieldRef {
    if kind_of(field) == FieldKind::Blob {
        let data_type = match (stored(field), view) {
            (Ok(Stored::Ranges), BlobView::Descriptors) => range_type(),
            (Ok(Stored::Descriptors), BlobView::Values) => DataType::LargeBinary,
            _ => return field.clone(),
        };
        let mut metadata: Metadata = field.metadata().clone();
        if data_type == DataType::LargeBinary {
            PACKED.iter().for_each(|key| drop(metadata.remove(key)));
        }
        let shown = Field::new(field.name(), data_type, field.is_nullable()).with_metadata(metadata);
        return Arc::new(shown);
    }
    let one = |child: &FieldRef| {
        let shown = view_field(child, view);
        (!Arc::ptr_eq(&shown, child)).then_some(shown)
    };
    let data_type = match field.data_type() {
        DataType::Struct(children) => {
            let shown: Vec<FieldRef> = children.iter().map(|c| view_field(c, view)).collect();
            let same = shown.iter().zip(children).all(|(a, b)| Arc::ptr_eq(a, b));
            (!same).then(|| DataType::Struct(shown.into()))
        }
        DataType::List(item) => one(item).map(DataType::List),
        DataType::LargeList(item) => one(item).map(DataType::LargeList),
        DataType::Map(entries, sorted) => one(entries).map(|e| DataType::Map(e, *sorted)),
        DataType::FixedSizeList(item, n) => one(item).map(|item| DataType::FixedSizeList(item, *n)),
        _ => None,
    };
    match data_type {
        Some(data_type) => Arc::new(field.as_ref().clone().with_data_type(data_type)),
        None => field.clone(),
    }
}

/// Why a blob of this type cannot be written where it stands; `None` if it can.
pub(super) fn refusal(
    data_type: &DataType,
    version: FormatVersion,
    in_list: bool,
    in_fixed_size_list: bool,
) -> Option<String> {
    if *data_type != DataType::LargeBinary {
        let hint = match data_type {
            DataType::Struct(_) => "read blobs as values to write them",
            _ => "cast it to large binary, or take the mark away",
        };
        return Some(format!(
            "the mark {BLOB:?} on {data_type}; blobs are written from large binary: {hint}"
        ));
    }
    if in_list && version > FormatVersion::V2_0 {
        return Some(format!(
            "a blob inside a list: pages of {version} do not say where a list of blobs begins, those of 2.0 do"
        ));
    }
    in_fixed_size_list.then(|| "a blob inside a fixed-size list of structs".into())
}
