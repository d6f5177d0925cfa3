//! Parts of a descriptor: where the messages of each top-level field are, and a schema out of some of them.
//!
//! ```text
//! descriptor   0a len │ 0a len Field x │ 0a len Field y │ 0a len Field y.a │ 2a len entry … │ 10 rows
//!                     ├────── x ───────┼────────────── y ──────────────────┼─ metadata ─────┤
//! ```
//!
//! Fields stand in pre-order, so a top-level field and all below it are one range. Each part is a run of fields of
//! a `Schema` message, tags included. See docs/format/container.md, "Descriptor", and docs/format/extras.md, "Kind 2".

use std::ops::Range;

use arrow_schema::Metadata;
use bytes::Bytes;

use super::descriptor::{NO_PARENT, build_tree, parse_schema};
use super::{Field, Schema, leaves};
use crate::error::corrupt;
use crate::proto::skim;
use crate::{FormatVersion, Limits, Result};

/// Ranges of a descriptor, from its start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DescriptorParts {
    /// One for each top-level field, in order.
    pub(crate) fields: Vec<Range<usize>>,
    /// The schema's metadata.
    pub(crate) metadata: Range<usize>,
}

impl DescriptorParts {
    /// Finds the parts. Fails where they are not one range each; our writer's always are.
    pub(crate) fn find(descriptor: &[u8]) -> Result<Self> {
        let mut found = Self { fields: Vec::new(), metadata: 0..0 };
        let mut outer = skim::Fields::new(descriptor);
        while let Some((number, payload)) = outer.next()? {
            if number != 1 {
                continue;
            }
            let schema = payload.bytes("the schema")?;
            let mut inner = skim::Fields::new(&descriptor[schema.clone()]);
            loop {
                let start = schema.start + inner.position();
                let Some((number, payload)) = inner.next()? else { break };
                let end = schema.start + inner.position();
                match number {
                    1 => {
                        let field = payload.bytes("a field")?;
                        let field = &descriptor[schema.start + field.start..schema.start + field.end];
                        match found.fields.last_mut() {
                            Some(last) if !is_top(field)? && last.end == start => last.end = end,
                            _ if is_top(field)? => found.fields.push(start..end),
                            _ => corrupt!("a field at byte {start} of the descriptor that follows no parent"),
                        }
                    }
                    5 if found.metadata.is_empty() => found.metadata = start..end,
                    5 if found.metadata.end == start => found.metadata.end = end,
                    _ => corrupt!("part {number} of the schema at byte {start}, where no other reader looks"),
                }
            }
        }
        Ok(found)
    }
}

/// Whether a `Field` message names no parent.
fn is_top(field: &[u8]) -> Result<bool> {
    let mut parent = 0;
    let mut parts = skim::Fields::new(field);
    while let Some((number, payload)) = parts.next()? {
        if number == 4 {
            parent = payload.varint("a parent's id")? as i32;
        }
    }
    Ok(parent == NO_PARENT)
}

/// A top-level field by itself.
#[derive(Debug, Clone)]
pub(crate) struct FieldPart {
    /// A range of [`DescriptorParts`].
    pub(crate) messages: Bytes,
    /// The stored columns it is said to have.
    pub(crate) columns: Range<u32>,
}

impl FieldPart {
    /// The field, if its messages and its columns agree.
    pub(crate) fn parse(&self, version: FormatVersion, limits: &Limits) -> Result<Field> {
        let mut messages = Vec::new();
        let mut metadata = Metadata::new();
        parse_schema(&self.messages, &mut messages, &mut metadata, limits)?;
        let mut fields = build_tree(messages, limits)?;
        let [field] = fields.as_mut_slice() else {
            corrupt!("{} top-level fields in the messages of one", fields.len())
        };
        let end = leaves::number_columns(std::slice::from_mut(field), self.columns.start, version);
        if end != self.columns.end || !metadata.is_empty() {
            corrupt!("field {:?} of columns {:?} has those up to {end}", field.name(), self.columns);
        }
        Ok(fields.swap_remove(0))
    }
}

impl Schema {
    /// A schema of some top-level fields of a file of `num_columns`, in the file's order.
    pub(crate) fn of_fields(
        fields: Vec<Field>,
        metadata: &Bytes,
        num_columns: u32,
        version: FormatVersion,
        limits: &Limits,
    ) -> Result<Self> {
        let (mut none, mut entries) = (Vec::new(), Metadata::new());
        parse_schema(metadata, &mut none, &mut entries, limits)?;
        if !none.is_empty() {
            corrupt!("{} fields in the metadata of the schema", none.len());
        }
        Self::of(fields, entries, num_columns, leaves::parents_have_columns(version))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_schema::DataType;

    use super::*;

    fn field(name: &str, data_type: DataType) -> arrow_schema::Field {
        arrow_schema::Field::new(name, data_type, true)
    }

    #[test]
    fn a_field_of_its_part_alone_is_that_of_the_whole_schema() {
        for version in [FormatVersion::V2_0, FormatVersion::V2_1] {
            let inner = vec![field("a", DataType::Int8), field("b", DataType::Utf8)];
            let item = Arc::new(field("item", DataType::Struct(inner.clone().into())));
            let arrow = arrow_schema::Schema::new_with_metadata(
                vec![
                    field("x", DataType::Int32),
                    field("y", DataType::List(item)),
                    field("x", DataType::Struct(inner.into())),
                ],
                Metadata::from([("k", "v"), ("l", "w")].map(|(k, v)| (k.to_owned(), v.to_owned()))),
            );
            let schema = Schema::from_arrow(&arrow, FormatVersion::V2_1).unwrap();
            let descriptor = Bytes::from(schema.to_descriptor(300));
            let (schema, _) = Schema::parse(&descriptor, version, &Limits::default()).unwrap();
            let parts = DescriptorParts::find(&descriptor).unwrap();
            assert_eq!(parts.fields.len(), 3);
            assert_eq!(parts.fields[2].end, parts.metadata.start);
            assert_eq!(parts.metadata.end + 3, descriptor.len(), "the row count follows");
            for (range, whole) in parts.fields.iter().zip(&schema.fields) {
                let part = |columns| FieldPart { messages: descriptor.slice(range.clone()), columns };
                let found = part(whole.columns.clone()).parse(version, &Limits::default()).unwrap();
                assert_eq!(format!("{found:?}"), format!("{whole:?}"));
                let columns = whole.columns.start..whole.columns.end + 1;
                assert!(part(columns).parse(version, &Limits::default()).is_err());
            }
            let metadata = descriptor.slice(parts.metadata.clone());
            let some =
                Schema::of_fields(schema.fields[1..2].to_vec(), &metadata, 9, version, &Limits::default());
            let some = some.unwrap();
            assert_eq!(some.arrow.metadata(), arrow.metadata());
            assert_eq!((some.num_columns, some.fields.len()), (9, 1));
            let two = FieldPart {
                messages: descriptor.slice(parts.fields[0].start..parts.fields[1].end),
                columns: 0..3,
            };
            assert!(two.parse(version, &Limits::default()).is_err());
        }
    }
}
