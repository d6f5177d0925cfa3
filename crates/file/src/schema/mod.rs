//! The schema: the format's tree of fields, the Arrow schema it stands for, and the stored columns
//! that hold it.
//!
//! ```text
//! pre-order list of Field messages ⇄ tree of Field ⇄ Arrow schema
//!                                     │ walk
//!                                     ▼
//!                                  Leaf 0, Leaf 1, …   one stored column each (2.1 and later)
//! ```
//!
//! See docs/format/container.md, "Descriptor".

pub(crate) mod blob;
mod descriptor;
mod leaves;
mod logical_type;
mod order;
mod parts;
mod project;
mod rules;
mod stored;
mod tag;
#[cfg(test)]
mod tests;
mod type_name;
mod views;

use std::ops::Range;
use std::sync::Arc;

use arrow_schema::{DataType, FieldRef, Metadata, SchemaRef};

use crate::{FormatVersion, Limits, Result};

pub use blob::BlobView;
pub(crate) use leaves::{Leaf, LeafKind, Nesting, Parent, ParentField, parents_have_columns, path_part};
pub(crate) use order::Order;
pub(crate) use parts::{DescriptorParts, FieldPart};
#[cfg(feature = "filter")]
pub(crate) use project::{Part, distance, parse_path};
pub(crate) use project::{Projection, first_names};
pub(crate) use type_name::type_name;
pub use views::string_views;

/// Arrow metadata key that names an extension type.
pub(crate) const EXTENSION_NAME: &str = "ARROW:extension:name";
/// Field metadata key that pins a field id when writing; never stored.
pub(crate) const FIELD_ID: &str = "lance:field_id";
/// Field metadata key whose presence makes a blob column.
pub(crate) const BLOB: &str = "lance-encoding:blob";
/// Field metadata keys that make a packed struct, if their value is truthy.
pub(crate) const PACKED: [&str; 2] = ["lance-encoding:packed", "packed"];

/// The fields of a file and the columns they are stored in.
#[derive(Debug, Clone)]
pub(crate) struct Schema {
    pub(crate) fields: Vec<Field>,
    /// The same in Arrow's words, with the schema's metadata; tagged where types stand for others.
    pub(crate) arrow: SchemaRef,
    /// What it stands for: the schema of a caller's batches.
    pub(crate) user: SchemaRef,
    /// Stored columns of the whole file, also where this is a projection of it.
    pub(crate) num_columns: u32,
    /// Structs and lists have columns of their own: format version 2.0.
    pub(crate) parents_have_columns: bool,
}

/// A node of the schema.
#[derive(Debug, Clone)]
pub(crate) struct Field {
    /// Number of the field, unique in the file; not its position.
    pub(crate) id: i32,
    /// The type as the format spells it, children aside.
    pub(crate) logical_type: String,
    pub(crate) children: Vec<Field>,
    /// Name, type, nullability and metadata.
    pub(crate) arrow: FieldRef,
    /// The stored columns of this field and what is below it.
    pub(crate) columns: Range<u32>,
    pub(crate) keys: Keys,
}

/// Table-level marks of a field, carried along.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Keys {
    pub(crate) primary: bool,
    /// 1-based; 0 is unset.
    pub(crate) primary_position: u32,
    pub(crate) clustering: bool,
    /// 1-based; 0 is unset.
    pub(crate) clustering_position: u32,
}

/// How a field is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FieldKind {
    /// One column of values.
    Leaf,
    /// Columns of the children.
    Struct,
    /// Columns of the item.
    List,
    /// Columns of keys, then of values.
    Map,
    /// A fixed-size list of structs: columns of the struct.
    FixedSizeList(u64),
    /// One column of rows of all children.
    PackedStruct,
    /// One column of positions and sizes.
    Blob,
    /// One column without anything in it.
    EmptyStruct,
}

impl Field {
    pub(crate) fn name(&self) -> &str {
        self.arrow.name()
    }

    pub(crate) fn kind(&self) -> FieldKind {
        kind_of(&self.arrow)
    }
}

/// How a field of an Arrow schema is stored.
pub(crate) fn kind_of(field: &arrow_schema::Field) -> FieldKind {
    if is_blob(field) {
        return FieldKind::Blob;
    }
    match field.data_type() {
        DataType::Struct(children) if children.is_empty() => FieldKind::EmptyStruct,
        DataType::Struct(_) if is_packed(field) => FieldKind::PackedStruct,
        DataType::Struct(_) => FieldKind::Struct,
        DataType::List(_) | DataType::LargeList(_) => FieldKind::List,
        DataType::Map(..) => FieldKind::Map,
        DataType::FixedSizeList(item, dimension) if matches!(item.data_type(), DataType::Struct(_)) => {
            FieldKind::FixedSizeList(u64::try_from(*dimension).unwrap_or(0))
        }
        _ => FieldKind::Leaf,
    }
}

fn is_blob(field: &arrow_schema::Field) -> bool {
    let metadata = field.metadata();
    metadata.contains_key(BLOB) || metadata.get(EXTENSION_NAME).is_some_and(|name| name == "lance.blob.v2")
}

fn is_packed(field: &arrow_schema::Field) -> bool {
    PACKED.iter().any(|key| {
        let value = field.metadata().get(key).map(|v| v.to_ascii_lowercase());
        value.is_some_and(|v| matches!(v.as_str(), "1" | "true" | "on" | "yes" | "y"))
    })
}

impl Schema {
    /// The schema to write `arrow` with: types as they are stored, ids given.
    ///
    /// Fails for what the format version cannot hold, naming the field.
    pub(crate) fn from_arrow(arrow: &arrow_schema::Schema, version: FormatVersion) -> Result<Self> {
        let limits = Limits::default();
        let stored = stored::stored_schema(arrow, version, limits.nesting)?;
        rules::check(&stored, version)?;
        let fields = descriptor::from_arrow(&stored, &limits)?;
        Self::new(fields, arrow.metadata().clone(), version)
    }

    /// Puts fields together and numbers their columns.
    fn new(mut fields: Vec<Field>, metadata: Metadata, version: FormatVersion) -> Result<Self> {
        let num_columns = leaves::number_columns(&mut fields, 0, version);
        Self::of(fields, metadata, num_columns, parents_have_columns(version))
    }

    /// Puts fields together whose columns are numbered.
    fn of(
        fields: Vec<Field>,
        metadata: Metadata,
        num_columns: u32,
        parents_have_columns: bool,
    ) -> Result<Self> {
        let arrow = arrow_schema::Schema::new_with_metadata(
            fields.iter().map(|f| f.arrow.clone()).collect::<Vec<_>>(),
            metadata,
        );
        let arrow = Arc::new(arrow);
        let user = stored::user_schema(&arrow)?;
        Ok(Self { fields, arrow, user, num_columns, parents_have_columns })
    }

    /// The schema as it is stored, in Arrow's words.
    pub(crate) fn stored_arrow(&self) -> SchemaRef {
        self.arrow.clone()
    }

    /// The schema as Arrow sees it.
    pub(crate) fn to_arrow(&self) -> SchemaRef {
        self.user.clone()
    }
}
