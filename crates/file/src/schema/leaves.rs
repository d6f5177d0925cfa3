//! Which fields own a stored column, and what surrounds them (spec 3).

use arrow_schema::{DataType, Field, FieldRef};
use std::sync::Arc;

use super::path::{child_segment, Siblings};
use crate::encoding::ValueType;
use crate::page::Nesting;
use crate::{Error, Result};

/// Field metadata key of a packed struct, and its older spelling.
const PACKED: [&str; 2] = ["lance-encoding:packed", "packed"];
/// Field metadata key of a blob column.
pub(super) const BLOB: &str = "lance-encoding:blob";
const BLOB_V2: &str = "lance.blob.v2";

/// A field that owns a column.
#[derive(Debug, Clone)]
pub(crate) struct Leaf {
    /// Index of its column in the file.
    pub(crate) column: u32,
    /// Path from the top, as in `a.b.item`.
    pub(crate) path: String,
    /// Layers of nesting, innermost (the leaf itself) first.
    pub(crate) nestings: Vec<Nesting>,
    /// Shape of its values; of the dictionary's for a field of dictionary type.
    pub(crate) shape: ValueType,
    /// Bytes of a key, for a field of dictionary type.
    pub(crate) keys: Option<usize>,
    pub(crate) field: FieldRef,
    /// Slots per row: the dimensions of fixed-size lists of structs above it.
    pub(crate) rows_scale: u64,
}

fn is_truthy(text: &str) -> bool {
    ["1", "true", "on", "yes", "y"].iter().any(|t| text.eq_ignore_ascii_case(t))
}

/// Whether a field is a packed struct: one column for all its children.
pub(crate) fn is_packed(field: &Field) -> bool {
    matches!(field.data_type(), DataType::Struct(_))
        && PACKED.iter().any(|key| field.metadata().get(*key).is_some_and(|v| is_truthy(v)))
}

fn is_blob(field: &Field) -> bool {
    field.metadata().contains_key(BLOB)
        || field.metadata().get(super::logical_type::EXTENSION_NAME).is_some_and(|n| n == BLOB_V2)
}

/// Whether a field owns a column, its children (if any) none.
pub(crate) fn is_leaf(field: &Field) -> bool {
    match field.data_type() {
        _ if is_blob(field) => true,
        DataType::Struct(fields) => fields.is_empty() || is_packed(field),
        DataType::List(_) | DataType::LargeList(_) | DataType::Map(..) => false,
        DataType::FixedSizeList(item, _) => !matches!(item.data_type(), DataType::Struct(_)),
        _ => true,
    }
}

/// The shape of a leaf's values.
pub(crate) fn value_type(data_type: &DataType) -> Result<ValueType> {
    Ok(match data_type {
        // A value without bytes is as good as none.
        DataType::Null | DataType::FixedSizeBinary(0) => ValueType::Null,
        DataType::Boolean => ValueType::Bits,
        DataType::Utf8 | DataType::Binary => ValueType::Variable { wide: false },
        DataType::LargeUtf8 | DataType::LargeBinary => ValueType::Variable { wide: true },
        DataType::FixedSizeBinary(bytes) if *bytes > 0 => ValueType::Fixed(*bytes as usize),
        DataType::FixedSizeList(item, dimension) if *dimension > 0 => {
            ValueType::List { dimension: *dimension as usize, items: Box::new(value_type(item.data_type())?) }
        }
        DataType::Struct(fields) if fields.is_empty() => ValueType::Null,
        DataType::Struct(fields) => {
            ValueType::Struct(fields.iter().map(|f| value_type(f.data_type())).collect::<Result<_>>()?)
        }
        other => match other.primitive_width() {
            Some(bytes) => ValueType::Fixed(bytes),
            None => return Err(Error::unsupported(format!("values of type {other}"))),
        },
    })
}

/// All leaves below `fields`, in column order.
pub(crate) fn leaves<'a>(fields: impl Iterator<Item = &'a Field>) -> Result<Vec<Leaf>> {
    let mut walk = Walk { leaves: Vec::new(), above: Vec::new() };
    let mut siblings = Siblings::default();
    for field in fields {
        let segment = siblings.segment(field.name());
        walk.field(&Arc::new(field.clone()), &segment)?;
    }
    Ok(walk.leaves)
}

struct Walk {
    leaves: Vec<Leaf>,
    /// Nestings from the top down to the parent of the current field.
    above: Vec<Nesting>,
}

impl Walk {
    fn field(&mut self, field: &FieldRef, path: &str) -> Result<()> {
        if is_leaf(field) {
            return self.leaf(field, path);
        }
        match field.data_type() {
            DataType::Struct(fields) => {
                self.above.push(Nesting::Item);
                let mut siblings = Siblings::default();
                for child in fields {
                    self.field(child, &format!("{path}.{}", siblings.segment(child.name())))?;
                }
            }
            DataType::List(item) | DataType::LargeList(item) => {
                self.above.push(Nesting::List);
                self.field(item, &format!("{path}.{}", child_segment(field.data_type(), 0)))?;
            }
            DataType::FixedSizeList(item, dimension) => {
                self.above.push(Nesting::FixedSizeList(*dimension as usize));
                self.field(item, &format!("{path}.{}", child_segment(field.data_type(), 0)))?;
            }
            DataType::Map(entries, _) => {
                self.above.push(Nesting::List);
                self.above.push(Nesting::Item);
                if let DataType::Struct(fields) = entries.data_type() {
                    for (i, child) in fields.iter().enumerate() {
                        self.field(child, &format!("{path}.{}", child_segment(field.data_type(), i)))?;
                    }
                }
                self.above.pop();
            }
            other => return Err(Error::unsupported(format!("a field of type {other}")).in_column(path)),
        }
        self.above.pop();
        Ok(())
    }

    fn leaf(&mut self, field: &FieldRef, path: &str) -> Result<()> {
        let nestings = std::iter::once(Nesting::Item).chain(self.above.iter().rev().copied()).collect();
        let (keys, values) = match field.data_type() {
            DataType::Dictionary(key, value) => (key.primitive_width(), value.as_ref()),
            other => (None, other),
        };
        let rows_scale = self.above.iter().try_fold(1u64, |scale, n| match n {
            Nesting::FixedSizeList(dimension) => scale.checked_mul(*dimension as u64),
            _ => Some(scale),
        });
        self.leaves.push(Leaf {
            column: self.leaves.len() as u32,
            path: path.to_owned(),
            nestings,
            shape: value_type(values).map_err(|e| e.in_column(path))?,
            keys,
            field: field.clone(),
            rows_scale: rows_scale
                .ok_or_else(|| Error::limit("fixed-size lists multiply to more than 2^64").in_column(path))?,
        });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    #[test]
    fn columns_are_the_leaves_of_the_worked_example() {
        let f = |n: &str, t: DataType| Field::new(n, t, true);
        let fr = |n: &str, t: DataType| Arc::new(f(n, t));
        let ab = || DataType::Struct(vec![f("a", DataType::Int32), f("b", DataType::Utf8)].into());
        let entries = DataType::Struct(vec![f("key", DataType::Utf8), f("value", DataType::Int32)].into());
        let q = DataType::Struct(vec![f("q", DataType::Int16)].into());
        let packed = f("pk", DataType::Struct(vec![f("x", DataType::Int8), f("y", DataType::Int8)].into()))
            .with_metadata(HashMap::from([("lance-encoding:packed".into(), "True".into())]));
        let fields = [
            f("i", DataType::Int64),
            f("s", ab()),
            f("l", DataType::List(fr("item", DataType::Int32))),
            f("ls", DataType::LargeList(fr("item", ab()))),
            f("m", DataType::Map(fr("entries", entries), false)),
            f("f", DataType::FixedSizeList(fr("item", DataType::Float32), 4)),
            f("fs", DataType::FixedSizeList(fr("item", q), 2)),
            f("d", DataType::Dictionary(Box::new(DataType::Int8), Box::new(DataType::Utf8))),
            packed,
            f("n", DataType::Null),
            f("es", DataType::Struct(arrow_schema::Fields::empty())),
            f("e", DataType::Utf8),
        ];
        let leaves = leaves(fields.iter()).unwrap();
        let paths: Vec<_> = leaves.iter().map(|l| l.path.as_str()).collect();
        assert_eq!(
            paths,
            [
                "i", "s.a", "s.b", "l.item", "ls.item.a", "ls.item.b", "m.key", "m.value", "f", "fs.item.q", "d", "pk",
                "n", "es", "e"
            ]
        );
        assert_eq!(leaves[4].nestings, [Nesting::Item, Nesting::Item, Nesting::List]);
        assert_eq!(leaves[6].nestings, [Nesting::Item, Nesting::Item, Nesting::List]);
        assert_eq!(leaves[9].nestings, [Nesting::Item, Nesting::Item, Nesting::FixedSizeList(2)]);
        assert_eq!((leaves[9].rows_scale, leaves[10].keys), (2, Some(1)));
    }
}
