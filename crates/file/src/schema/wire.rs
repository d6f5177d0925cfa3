//! Arrow schemas ⇄ the flat list of fields in the file descriptor.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef, Fields, Schema as ArrowSchema};
use bytes::Bytes;

use super::logical_type::{self, EXTENSION_NAME};
use super::{Schema, check_writable};
use crate::error::corrupt;
use crate::proto::file as pb;
use crate::{Error, FormatVersion, Limits, Result};

/// Arrow metadata key that pins a field's id; turned into the id, not stored.
const FIELD_ID: &str = "lance:field_id";

/// Child fields that the wire lists for a field.
pub(super) fn wire_children(field: &Field) -> Fields {
    match field.data_type() {
        DataType::Struct(fields) => fields.clone(),
        DataType::List(item) | DataType::LargeList(item) | DataType::Map(item, _) => Fields::from(vec![item.clone()]),
        DataType::FixedSizeList(item, _) if matches!(item.data_type(), DataType::Struct(_)) => {
            Fields::from(vec![item.clone()])
        }
        _ => Fields::empty(),
    }
}

/// A field of the wire while its children are still being collected.
struct Node {
    wire: pb::Field,
    children: Vec<usize>,
}

impl Schema {
    /// The schema of a file to be written.
    ///
    /// # Errors
    /// `Unsupported` for types that the format version cannot hold, `Invalid` for ids given twice.
    pub(crate) fn from_arrow(arrow: &ArrowSchema, version: FormatVersion) -> Result<Self> {
        check_writable(arrow, version)?;
        let mut pinned = Vec::new();
        for field in arrow.fields() {
            pinned_ids(field, &mut pinned)?;
        }
        let mut taken: std::collections::HashSet<i32> = pinned.iter().flatten().copied().collect();
        if taken.len() != pinned.iter().flatten().count() {
            return Err(Error::invalid(format!("two fields have the same {FIELD_ID}")));
        }
        let mut next = 0;
        let mut ids = Vec::with_capacity(pinned.len());
        for pin in pinned {
            ids.push(pin.unwrap_or_else(|| {
                while !taken.insert(next) {
                    next += 1;
                }
                next
            }));
        }
        let fields: Vec<FieldRef> = arrow.fields().iter().map(without_ids).collect();
        let arrow = ArrowSchema::new_with_metadata(fields, arrow.metadata().clone());
        Ok(Self { arrow: Arc::new(arrow), ids })
    }

    /// The schema of a file that is read.
    pub(crate) fn from_proto(schema: &pb::Schema, limits: &Limits) -> Result<Self> {
        let mut nodes: Vec<Node> = Vec::with_capacity(schema.fields.len());
        let mut by_id = HashMap::with_capacity(schema.fields.len());
        let mut roots = Vec::new();
        for (i, wire) in schema.fields.iter().enumerate() {
            if wire.parent_id == -1 {
                roots.push(i);
            } else {
                let Some(parent) = by_id.get(&wire.parent_id) else {
                    corrupt!("field {:?} has the parent {}, which no earlier field is", wire.name, wire.parent_id)
                };
                let parent: &mut Node = &mut nodes[*parent];
                parent.children.push(i);
            }
            // The last of several fields of one id gets the children, as with official readers.
            by_id.insert(wire.id, i);
            nodes.push(Node { wire: wire.clone(), children: Vec::new() });
        }
        let mut ids = Vec::with_capacity(nodes.len());
        let fields = roots
            .iter()
            .map(|root| parse_field(&nodes, *root, &mut ids, 0, limits))
            .collect::<Result<Vec<_>>>()?;
        let metadata = text_metadata(&schema.metadata);
        Ok(Self { arrow: Arc::new(ArrowSchema::new_with_metadata(fields, metadata)), ids })
    }

    /// The wire form.
    pub(crate) fn to_proto(&self) -> Result<pb::Schema> {
        let mut fields = Vec::with_capacity(self.ids.len());
        let mut ids = self.ids.iter().copied();
        for field in self.arrow.fields() {
            emit_field(field, -1, &mut ids, &mut fields)?;
        }
        let metadata = self.arrow.metadata().iter();
        Ok(pb::Schema { fields, metadata: metadata.map(|(k, v)| (k.clone(), Bytes::from(v.clone()))).collect() })
    }
}

/// The ids that metadata pins, in the order of the wire.
fn pinned_ids(field: &Field, ids: &mut Vec<Option<i32>>) -> Result<()> {
    ids.push(match field.metadata().get(FIELD_ID) {
        None => None,
        Some(text) => match text.parse::<i32>() {
            Ok(id) if id >= 0 => Some(id),
            _ => {
                return Err(Error::invalid(format!(
                    "{FIELD_ID} of field {:?} is {text:?}, a number from 0 on is expected",
                    field.name()
                )));
            }
        },
    });
    wire_children(field).iter().try_for_each(|child| pinned_ids(child, ids))
}

/// The field as it will be read back: without the keys that pin ids.
fn without_ids(field: &FieldRef) -> FieldRef {
    let data_type = match field.data_type() {
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(without_ids).collect()),
        DataType::List(item) => DataType::List(without_ids(item)),
        DataType::LargeList(item) => DataType::LargeList(without_ids(item)),
        DataType::Map(entries, sorted) => DataType::Map(without_ids(entries), *sorted),
        DataType::FixedSizeList(item, n) => DataType::FixedSizeList(without_ids(item), *n),
        other => other.clone(),
    };
    let mut metadata = field.metadata().clone();
    if metadata.remove(FIELD_ID).is_none() && data_type == *field.data_type() {
        return field.clone();
    }
    Arc::new(field.as_ref().clone().with_data_type(data_type).with_metadata(metadata))
}

fn text_metadata(metadata: &BTreeMap<String, Bytes>) -> HashMap<String, String> {
    metadata.iter().map(|(k, v)| (k.clone(), String::from_utf8_lossy(v).into_owned())).collect()
}

fn parse_field(nodes: &[Node], index: usize, ids: &mut Vec<i32>, depth: usize, limits: &Limits) -> Result<FieldRef> {
    if depth > limits.nesting {
        return Err(Error::limit(format!("fields nested deeper than {}", limits.nesting)));
    }
    let Node { wire, children } = &nodes[index];
    ids.push(wire.id);
    let children = children
        .iter()
        .map(|child| parse_field(nodes, *child, ids, depth + 1, limits))
        .collect::<Result<Vec<_>>>()?;
    let data_type = logical_type::parse(&wire.logical_type, children).map_err(|e| e.in_column(&wire.name))?;
    let mut metadata = text_metadata(&wire.metadata);
    if !wire.extension_name.is_empty() {
        metadata.entry(EXTENSION_NAME.to_owned()).or_insert_with(|| wire.extension_name.clone());
    }
    if wire.logical_type == "blob" {
        metadata.entry(super::leaves::BLOB.to_owned()).or_insert_with(|| "true".to_owned());
    }
    Ok(Arc::new(Field::new(&wire.name, data_type, wire.nullable).with_metadata(metadata)))
}

fn emit_field(
    field: &Field,
    parent_id: i32,
    ids: &mut impl Iterator<Item = i32>,
    fields: &mut Vec<pb::Field>,
) -> Result<()> {
    let id = ids.next().unwrap_or(fields.len() as i32);
    let metadata = field.metadata();
    fields.push(pb::Field {
        name: field.name().clone(),
        id,
        parent_id,
        logical_type: logical_type::emit(field.data_type()).map_err(|e| e.in_column(field.name()))?,
        nullable: field.is_nullable(),
        encoding: logical_type::legacy_encoding(field.data_type()),
        extension_name: metadata.get(EXTENSION_NAME).cloned().unwrap_or_default(),
        metadata: metadata.iter().map(|(k, v)| (k.clone(), Bytes::from(v.clone()))).collect(),
        ..pb::Field::default()
    });
    wire_children(field).iter().try_for_each(|child| emit_field(child, id, ids, fields))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trip(schema: &ArrowSchema) -> Schema {
        let ours = Schema::from_arrow(schema, FormatVersion::V2_2).unwrap();
        Schema::from_proto(&ours.to_proto().unwrap(), &Limits::default()).unwrap()
    }

    fn nested() -> ArrowSchema {
        let a = Field::new("a", DataType::Int32, false).with_metadata(HashMap::from([("k".into(), "v".into())]));
        let s = Field::new("element", DataType::Struct(vec![a].into()), true);
        let entries = vec![Field::new("key", DataType::Utf8, false), Field::new("value", DataType::Int8, true)];
        let map = DataType::Map(Arc::new(Field::new("entries", DataType::Struct(entries.into()), false)), false);
        let fields = vec![Field::new("l", DataType::List(Arc::new(s)), true), Field::new("m", map, true)];
        ArrowSchema::new_with_metadata(fields, HashMap::from([("who".into(), "us".into())]))
    }

    #[test]
    fn a_schema_comes_back_with_names_nullability_and_metadata() {
        let back = round_trip(&nested());
        assert_eq!(*back.arrow, nested());
        assert_eq!(back.ids, [0, 1, 2, 3, 4, 5, 6]);
    }

    #[test]
    fn pinned_ids_are_kept_and_not_stored_as_metadata() {
        let pinned = Field::new("x", DataType::Int8, true)
            .with_metadata(HashMap::from([(FIELD_ID.to_owned(), "7".to_owned())]));
        let schema = ArrowSchema::new(vec![Field::new("y", DataType::Int8, true), pinned]);
        let back = round_trip(&schema);
        assert_eq!(back.ids, [0, 7]);
        assert!(back.arrow.field(1).metadata().is_empty());
    }

    #[test]
    fn a_parent_that_comes_later_is_corrupt() {
        let mut wire = Schema::from_arrow(&nested(), FormatVersion::V2_2).unwrap().to_proto().unwrap();
        wire.fields.swap(0, 1);
        assert!(Schema::from_proto(&wire, &Limits::default()).is_err());
    }
}
