//! The schema of a file: Arrow's on the outside, a flat list of fields with type strings on the wire.
//!
//! ```text
//! wire    id 0 parent -1 "x" list.struct | id 1 parent 0 "item" struct | id 2 parent 1 "a" int32 | …
//! Arrow   x: List<item: Struct<a: Int32, …>>
//! leaves  column 0: x.item.a   nestings [item, item, list]   values of 4 bytes
//! ```
//!
//! See encodings-2.1-2.2.md §2 and §3.

mod check;
mod leaves;
mod logical_type;
mod path;
mod project;
mod wire;

use std::sync::Arc;

use arrow_schema::{FieldRef, SchemaRef};

pub(crate) use check::check_writable;
pub(crate) use leaves::{Leaf, is_leaf, is_packed, leaves};
pub(crate) use project::Projection;

use crate::Result;

/// A file's schema.
#[derive(Debug, Clone)]
pub(crate) struct Schema {
    arrow: SchemaRef,
    /// Ids of all fields that the wire lists, parents before children.
    ids: Vec<i32>,
}

impl Schema {
    /// The Arrow schema.
    pub(crate) fn to_arrow(&self) -> Result<SchemaRef> {
        Ok(self.arrow.clone())
    }

    /// Ids in the order of the wire.
    pub(crate) fn ids(&self) -> &[i32] {
        &self.ids
    }

    /// All leaves, in column order.
    pub(crate) fn leaves(&self) -> Result<Vec<Leaf>> {
        leaves(self.arrow.fields().iter().map(Arc::as_ref))
    }
}

/// A field of a file's schema, with what Arrow does not know of it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct FieldInfo {
    /// Id, unique in the file.
    pub id: i32,
    /// Name, type, nullability and metadata.
    pub field: FieldRef,
    /// Child fields; none below packed types and lists that are one column.
    pub children: Vec<FieldInfo>,
}

impl Schema {
    /// The fields as a tree, with their ids.
    pub(crate) fn fields(&self) -> Vec<FieldInfo> {
        let mut ids = self.ids.iter().copied();
        self.arrow.fields().iter().map(|field| info(field, &mut ids)).collect()
    }
}

fn info(field: &FieldRef, ids: &mut impl Iterator<Item = i32>) -> FieldInfo {
    let id = ids.next().unwrap_or(-1);
    let children = wire::wire_children(field).iter().map(|child| info(child, ids)).collect();
    FieldInfo { id, field: field.clone(), children }
}
