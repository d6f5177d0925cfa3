//! The file descriptor: the schema tree as a flat list of messages, and the row count.
//!
//! ```text
//! FileDescriptor { 1: Schema { 1: Field*, 5: metadata* }, 2: length }
//!
//!  id 0  parent -1  x: int32             x
//!  id 1  parent -1  y: struct            y ─┬─ a
//!  id 2  parent  1    a: int32              └─ b ── item
//!  id 3  parent  1    b: list
//!  id 4  parent  3      item: string     parents stand before their children
//! ```
//!
//! See docs/format/container.md, "Descriptor".

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use arrow_schema::{DataType, FieldRef, Fields, Metadata};
use bytes::Bytes;
use prost::Message;

use super::logical_type::{self, implied_metadata};
use super::{EXTENSION_NAME, FIELD_ID, Field, Keys, Schema};
use crate::error::corrupt;
use crate::proto::{file as pb, skim};
use crate::{Error, FormatVersion, Limits, Result};

/// Parent id of a top-level field.
const NO_PARENT: i32 = -1;

impl Schema {
    /// Parses a file descriptor; also gives the number of rows.
    pub(crate) fn parse(descriptor: &Bytes, version: FormatVersion, limits: &Limits) -> Result<(Self, u64)> {
        let mut fields = Vec::new();
        let mut metadata = Metadata::new();
        let mut num_rows = 0;
        let mut has_schema = false;
        let mut parts = skim::Fields::new(descriptor);
        while let Some((number, payload)) = parts.next()? {
            match number {
                1 => {
                    has_schema = true;
                    let schema = descriptor.slice(payload.bytes("the schema")?);
                    parse_schema(&schema, &mut fields, &mut metadata, limits)?;
                }
                2 => num_rows = payload.varint("the row count")?,
                _ => {}
            }
        }
        if !has_schema {
            corrupt!("the file descriptor has no schema");
        }
        let schema = Self::new(build_tree(fields, limits)?, metadata, version)?;
        Ok((schema, num_rows))
    }

    /// The file descriptor of a file with this schema and `num_rows`.
    pub(crate) fn to_descriptor(&self, num_rows: u64) -> Vec<u8> {
        let mut fields = Vec::new();
        for field in &self.fields {
            emit_field(field, NO_PARENT, &mut fields);
        }
        let metadata = to_entries(self.arrow.metadata());
        let schema = pb::Schema { fields, metadata };
        pb::FileDescriptor { schema: Some(schema), length: num_rows }.encode_to_vec()
    }
}

fn parse_schema(
    schema: &Bytes,
    fields: &mut Vec<pb::Field>,
    metadata: &mut Metadata,
    limits: &Limits,
) -> Result<()> {
    let mut parts = skim::Fields::new(schema);
    while let Some((number, payload)) = parts.next()? {
        match number {
            1 => {
                let field = schema.slice(payload.bytes("a field")?);
                let field = pb::Field::decode(field)
                    .map_err(|e| Error::corrupt(format!("field {} of the schema: {e}", fields.len())))?;
                if field.logical_type.is_empty() {
                    corrupt!("field {} ({:?}) of the schema has no type", fields.len(), field.name);
                }
                if fields.len() >= limits.columns.saturating_mul(4) {
                    return Err(Error::limit(format!("a schema of more than {} fields", fields.len())));
                }
                fields.push(field);
            }
            5 => {
                let (key, value) = parse_entry(&schema.slice(payload.bytes("schema metadata")?))?;
                metadata.insert(key, value);
            }
            _ => {}
        }
    }
    Ok(())
}

/// A map entry: field 1 the key, field 2 the value. Text that is not UTF-8 is replaced.
fn parse_entry(entry: &[u8]) -> Result<(String, String)> {
    let (mut key, mut value) = (0..0, 0..0);
    let mut parts = skim::Fields::new(entry);
    while let Some((number, payload)) = parts.next()? {
        match number {
            1 => key = payload.bytes("a metadata key")?,
            2 => value = payload.bytes("a metadata value")?,
            _ => {}
        }
    }
    let text = |range| String::from_utf8_lossy(&entry[range]).into_owned();
    Ok((text(key), text(value)))
}

/// Hangs each field under its parent. Works backwards, so that a field's children are complete
/// when its own type is put together.
fn build_tree(fields: Vec<pb::Field>, limits: &Limits) -> Result<Vec<Field>> {
    let mut place_of: HashMap<i32, usize> = HashMap::with_capacity(fields.len());
    let mut depths: Vec<usize> = Vec::with_capacity(fields.len());
    let mut parents: Vec<Option<usize>> = Vec::with_capacity(fields.len());
    for (index, field) in fields.iter().enumerate() {
        let (parent, depth) = if field.parent_id == NO_PARENT {
            (None, 1)
        } else {
            let Some(&parent) = place_of.get(&field.parent_id) else {
                corrupt!(
                    "field {index} ({:?}) of the schema names parent {}, which is not before it",
                    field.name,
                    field.parent_id
                )
            };
            (Some(parent), depths[parent] + 1)
        };
        if depth > limits.nesting {
            return Err(Error::limit(format!(
                "field {:?} of the schema is nested deeper than {}",
                field.name, limits.nesting
            )));
        }
        // Descriptors of blobs in tables carry -1: fields that nothing refers to.
        if field.id >= 0 && place_of.insert(field.id, index).is_some() {
            corrupt!("two fields of the schema have id {}; the second is {:?}", field.id, field.name);
        }
        depths.push(depth);
        parents.push(parent);
    }
    // Children arrive last to first, and are turned round when their parent takes them.
    let mut children: Vec<Vec<Field>> = vec![Vec::new(); fields.len()];
    let mut roots = Vec::new();
    for (index, field) in fields.into_iter().enumerate().rev() {
        let mut below = std::mem::take(&mut children[index]);
        below.reverse();
        let depth = limits.nesting - depths[index];
        let field = build_field(field, below, depth)?;
        match parents[index] {
            Some(parent) => children[parent].push(field),
            None => roots.push(field),
        }
    }
    roots.reverse();
    Ok(roots)
}

fn build_field(field: pb::Field, children: Vec<Field>, depth: usize) -> Result<Field> {
    let below: Vec<FieldRef> = children.iter().map(|f| f.arrow.clone()).collect();
    let data_type =
        logical_type::parse(&field.logical_type, &below, depth).map_err(|e| e.in_column(&field.name))?;
    let mut metadata = Metadata::new();
    for (key, value) in &field.metadata {
        metadata.insert(key.as_str(), String::from_utf8_lossy(value));
    }
    if !field.extension_name.is_empty() && !metadata.contains_key(EXTENSION_NAME) {
        metadata.insert(EXTENSION_NAME, field.extension_name);
    }
    if let Some((key, value)) = implied_metadata(&field.logical_type)
        && !metadata.contains_key(key)
    {
        metadata.insert(key, value);
    }
    let keys = Keys {
        primary: field.unenforced_primary_key,
        primary_position: field.unenforced_primary_key_position,
        clustering: field.unenforced_clustering_key,
        clustering_position: field.unenforced_clustering_key_position,
    };
    let arrow = arrow_schema::Field::new(field.name, data_type, field.nullable).with_metadata(metadata);
    Ok(Field {
        id: field.id,
        logical_type: field.logical_type,
        // Other types have no children, whatever hangs under them.
        children: if below_counts(arrow.data_type()) { children } else { Vec::new() },
        arrow: Arc::new(arrow),
        columns: 0..0,
        keys,
    })
}

/// Whether a type has child fields of its own in the schema.
fn below_counts(data_type: &DataType) -> bool {
    match data_type {
        DataType::Struct(_) | DataType::List(_) | DataType::LargeList(_) | DataType::Map(..) => true,
        DataType::FixedSizeList(item, _) => matches!(item.data_type(), DataType::Struct(_)),
        _ => false,
    }
}

fn to_entries(metadata: &Metadata) -> BTreeMap<String, Bytes> {
    metadata.iter().map(|(key, value)| (key.clone(), Bytes::from(value.clone()))).collect()
}

fn emit_field(field: &Field, parent_id: i32, out: &mut Vec<pb::Field>) {
    let arrow = &field.arrow;
    out.push(pb::Field {
        r#type: 0,
        name: arrow.name().clone(),
        id: field.id,
        parent_id,
        logical_type: field.logical_type.clone(),
        nullable: arrow.is_nullable(),
        encoding: logical_type::legacy_encoding(arrow.data_type()),
        extension_name: arrow.metadata().get(EXTENSION_NAME).cloned().unwrap_or_default(),
        metadata: to_entries(arrow.metadata()),
        unenforced_primary_key: field.keys.primary,
        unenforced_primary_key_position: field.keys.primary_position,
        unenforced_clustering_key: field.keys.clustering,
        unenforced_clustering_key_position: field.keys.clustering_position,
    });
    for child in &field.children {
        emit_field(child, field.id, out);
    }
}

/// The tree of a schema as it is stored, with ids in pre-order where none are pinned.
pub(super) fn from_arrow(schema: &arrow_schema::Schema, limits: &Limits) -> Result<Vec<Field>> {
    let mut pinned = HashSet::new();
    let mut fields = schema
        .fields()
        .iter()
        .map(|field| convert(field, &mut pinned, limits.nesting).map_err(|e| e.in_column(field.name())))
        .collect::<Result<Vec<_>>>()?;
    let mut next = 0;
    for field in &mut fields {
        number_ids(field, &pinned, &mut next)?;
    }
    Ok(fields)
}

/// Id of a field that has none yet.
const NO_ID: i32 = -1;

fn convert(field: &FieldRef, pinned: &mut HashSet<i32>, depth: usize) -> Result<Field> {
    let Some(depth) = depth.checked_sub(1) else {
        return Err(Error::limit("types nested too deep"));
    };
    let logical_type = logical_type::emit(field)?;
    let mut metadata = field.metadata().clone();
    let id = match metadata.remove(FIELD_ID) {
        None => NO_ID,
        Some(text) => match text.parse::<i32>() {
            Ok(id) if id >= 0 && pinned.insert(id) => id,
            Ok(id) if id >= 0 => return Err(Error::invalid(format!("two fields pin the id {id}"))),
            _ => return Err(Error::invalid(format!("{FIELD_ID} is {text:?}, not a number from 0 on"))),
        },
    };
    let below: Vec<&FieldRef> = match field.data_type() {
        DataType::Struct(fields) => fields.iter().collect(),
        DataType::List(item) | DataType::LargeList(item) | DataType::Map(item, _) => vec![item],
        DataType::FixedSizeList(item, _) if matches!(item.data_type(), DataType::Struct(_)) => vec![item],
        _ => Vec::new(),
    };
    let children = below.into_iter().map(|f| convert(f, pinned, depth)).collect::<Result<Vec<_>>>()?;
    let data_type = with_children(field.data_type(), &children);
    let arrow =
        arrow_schema::Field::new(field.name(), data_type, field.is_nullable()).with_metadata(metadata);
    Ok(Field { id, logical_type, children, arrow: Arc::new(arrow), columns: 0..0, keys: Keys::default() })
}

fn number_ids(field: &mut Field, pinned: &HashSet<i32>, next: &mut i32) -> Result<()> {
    if field.id == NO_ID {
        while pinned.contains(next) {
            *next = next.checked_add(1).ok_or_else(|| Error::limit("field ids are used up"))?;
        }
        field.id = *next;
        *next = next.checked_add(1).ok_or_else(|| Error::limit("field ids are used up"))?;
    }
    field.children.iter_mut().try_for_each(|child| number_ids(child, pinned, next))
}

/// A type of the same kind around other children.
pub(super) fn with_children(data_type: &DataType, children: &[Field]) -> DataType {
    let first = || children[0].arrow.clone();
    match data_type {
        DataType::Struct(_) => DataType::Struct(children.iter().map(|f| f.arrow.clone()).collect::<Fields>()),
        DataType::List(_) if !children.is_empty() => DataType::List(first()),
        DataType::LargeList(_) if !children.is_empty() => DataType::LargeList(first()),
        DataType::Map(_, sorted) if !children.is_empty() => DataType::Map(first(), *sorted),
        DataType::FixedSizeList(_, dimension) if !children.is_empty() => {
            DataType::FixedSizeList(first(), *dimension)
        }
        other => other.clone(),
    }
}
