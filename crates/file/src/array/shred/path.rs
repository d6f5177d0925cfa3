//! The way from a top-level field down to each leaf that owns a column.
//!
//! ```text
//! a: struct<b: list<map<string, int32>>>      a.b.item.key    [Struct(0), List, Map, Struct(0)] leaf
//!                                             a.b.item.value  [Struct(0), List, Map, Struct(1)] leaf
//! ```
//!
//! Every step is one layer of the page, the leaf is the innermost one.
//! A fixed-size list of plain values and a packed struct are leaves: their inside is in the values.

use arrow_schema::{DataType, Field, Fields};

use crate::encoding::ValueType;
use crate::page::Layer;
use crate::schema::{FieldKind, kind_of, path_part};
use crate::{Error, Result};

/// One step of nesting between the top of a column and its leaf.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Step {
    pub(crate) kind: StepKind,
    /// Whether the schema allows nulls here.
    pub(crate) nullable: bool,
    /// Path of this field, for messages.
    pub(crate) path: String,
}

/// What a step goes through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StepKind {
    /// Child of a struct.
    Struct(usize),
    /// Items of a list or large list.
    List,
    /// Entries of a map.
    Map,
    /// Rows of a fixed-size list of structs.
    FixedSizeList(usize),
}

impl StepKind {
    pub(crate) fn is_list(self) -> bool {
        matches!(self, Self::List | Self::Map)
    }
}

/// How the keys of a dictionary-typed leaf are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DictionaryKeys {
    /// Bytes of a key.
    pub(crate) bytes: usize,
    /// Entries that the key type can number.
    pub(crate) max_entries: usize,
    /// Nulls of a page have a key of their own, as they do in 2.0.
    pub(crate) null_is_entry: bool,
}

/// A leaf and the way to it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LeafPath {
    /// Index of the top-level field.
    pub(crate) top: usize,
    /// Outermost first.
    pub(crate) steps: Vec<Step>,
    pub(crate) field: Field,
    pub(crate) path: String,
    /// Of the values; of the dictionary's entries for a dictionary-typed leaf.
    pub(crate) shape: ValueType,
    pub(crate) dictionary: Option<DictionaryKeys>,
    /// A struct without children: no values, no validity.
    pub(crate) is_empty_struct: bool,
}

impl LeafPath {
    /// Whether any list or map lies above the leaf.
    pub(crate) fn has_lists(&self) -> bool {
        self.steps.iter().any(|s| s.kind.is_list())
    }

    /// Product of the structural fixed-size list dimensions above the leaf.
    pub(crate) fn rows_scale(&self) -> usize {
        let dimension = |s: &Step| match s.kind {
            StepKind::FixedSizeList(dimension) => dimension,
            _ => 1,
        };
        self.steps.iter().map(dimension).product()
    }

    /// Layers, innermost first, of nullable structs around a list: nullable on every page, because the
    /// official reader wants the pages of a column to agree there.
    pub(crate) fn kept_layers(&self) -> std::sync::Arc<[bool]> {
        let mut below = false;
        let step = |s: &Step| {
            below |= s.kind.is_list();
            below && !s.kind.is_list() && s.nullable
        };
        std::iter::once(false).chain(self.steps.iter().rev().map(step)).collect()
    }

    /// The widest meaning of every layer, innermost first.
    pub(crate) fn widest_layers(&self) -> Vec<Layer> {
        let step = |s: &Step| if s.kind.is_list() { Layer::NullAndEmptyList } else { Layer::NullableItem };
        std::iter::once(Layer::NullableItem).chain(self.steps.iter().rev().map(step)).collect()
    }
}

/// The leaves of a schema in column order.
pub(crate) fn leaf_paths(fields: &Fields) -> Result<Vec<LeafPath>> {
    let mut leaves = Vec::new();
    for (top, field) in fields.iter().enumerate() {
        let mut steps = Vec::new();
        descend(top, field, path_part(field.name(), 1), &mut steps, &mut leaves)?;
    }
    Ok(leaves)
}

fn descend(
    top: usize,
    field: &Field,
    path: String,
    steps: &mut Vec<Step>,
    leaves: &mut Vec<LeafPath>,
) -> Result<()> {
    if steps.len() > 64 {
        return Err(Error::limit(format!("column {path} is nested deeper than 64 levels")));
    }
    let mut step = |kind| steps.push(Step { kind, nullable: field.is_nullable(), path: path.clone() });
    match field.data_type() {
        DataType::Struct(children) if kind_of(field) == FieldKind::Struct => {
            for (i, child) in children.iter().enumerate() {
                let kind = StepKind::Struct(i);
                steps.push(Step { kind, nullable: field.is_nullable(), path: path.clone() });
                descend(top, child, format!("{path}.{}", path_part(child.name(), 1)), steps, leaves)?;
                steps.pop();
            }
        }
        DataType::List(item) | DataType::LargeList(item) => {
            step(StepKind::List);
            descend(top, item, format!("{path}.item"), steps, leaves)?;
            steps.pop();
        }
        DataType::Map(entries, _) => {
            let DataType::Struct(children) = entries.data_type() else {
                return Err(Error::invalid(format!("column {path}: a map whose entries are not a struct")));
            };
            step(StepKind::Map);
            for (i, (child, name)) in children.iter().zip(["key", "value"]).enumerate() {
                let kind = StepKind::Struct(i);
                steps.push(Step { kind, nullable: entries.is_nullable(), path: format!("{path}.entries") });
                descend(top, child, format!("{path}.{name}"), steps, leaves)?;
                steps.pop();
            }
            steps.pop();
        }
        DataType::FixedSizeList(item, dimension) if matches!(item.data_type(), DataType::Struct(_)) => {
            step(StepKind::FixedSizeList(dimension_of(*dimension, &path)?));
            descend(top, item, format!("{path}.item"), steps, leaves)?;
            steps.pop();
        }
        _ => leaves.push(leaf(top, field, path, steps.clone())?),
    }
    Ok(())
}

fn leaf(top: usize, field: &Field, path: String, steps: Vec<Step>) -> Result<LeafPath> {
    let shape = shape_of(field.data_type()).map_err(|e| e.in_column(&path))?;
    let dictionary = match field.data_type() {
        DataType::Dictionary(key, _) => Some(keys_of(key)?),
        _ => None,
    };
    let is_empty_struct = matches!(field.data_type(), DataType::Struct(c) if c.is_empty());
    let has_lists = steps.iter().any(|s| s.kind.is_list());
    let has_fixed = steps.iter().any(|s| matches!(s.kind, StepKind::FixedSizeList(_)));
    if has_lists && has_fixed {
        return Err(Error::unsupported(
            "fixed-size lists of structs together with lists on one path: other readers fail on them",
        )
        .in_column(&path));
    }
    if is_empty_struct && !steps.is_empty() {
        return Err(Error::unsupported("structs without fields inside others").in_column(&path));
    }
    Ok(LeafPath { top, steps, field: field.clone(), path, shape, dictionary, is_empty_struct })
}

fn dimension_of(dimension: i32, path: &str) -> Result<usize> {
    match usize::try_from(dimension) {
        Ok(dimension) if dimension > 0 => Ok(dimension),
        _ => Err(Error::unsupported(format!("fixed-size list of dimension {dimension}")).in_column(path)),
    }
}

fn keys_of(key: &DataType) -> Result<DictionaryKeys> {
    let (bytes, max_entries) = match key {
        DataType::Int8 => (1, i8::MAX as usize + 1),
        DataType::UInt8 => (1, u8::MAX as usize + 1),
        DataType::Int16 => (2, i16::MAX as usize + 1),
        DataType::UInt16 => (2, u16::MAX as usize + 1),
        DataType::Int32 => (4, i32::MAX as usize),
        DataType::UInt32 => (4, u32::MAX as usize),
        DataType::Int64 | DataType::UInt64 => (8, u32::MAX as usize),
        other => return Err(Error::invalid(format!("dictionary keys of type {other}"))),
    };
    Ok(DictionaryKeys { bytes, max_entries, null_is_entry: false })
}

/// The physical shape of a leaf of an Arrow type; of the values of a dictionary type.
pub(in crate::array) fn shape_of(data_type: &DataType) -> Result<ValueType> {
    Ok(match data_type {
        DataType::Null => ValueType::Null,
        DataType::Boolean => ValueType::Bits,
        DataType::Utf8 | DataType::Binary | DataType::Utf8View | DataType::BinaryView => {
            ValueType::Variable { wide: false }
        }
        DataType::LargeUtf8 | DataType::LargeBinary => ValueType::Variable { wide: true },
        // Values of no bytes have no payload.
        DataType::FixedSizeBinary(0) => ValueType::Null,
        DataType::FixedSizeBinary(n) => ValueType::Fixed(dimension_of(*n, "fixed_size_binary")?),
        DataType::FixedSizeList(item, dimension) => {
            let items = shape_of(item.data_type())?;
            if !matches!(items, ValueType::Bits | ValueType::Fixed(_) | ValueType::List { .. }) {
                return Err(Error::unsupported(format!("fixed-size lists of {}", item.data_type())));
            }
            ValueType::List { dimension: dimension_of(*dimension, "")?, items: Box::new(items) }
        }
        DataType::Struct(children) if children.is_empty() => ValueType::Null,
        DataType::Struct(children) => {
            let fields: Result<Vec<_>> = children.iter().map(|c| shape_of(c.data_type())).collect();
            let fields = fields?;
            for (shape, child) in fields.iter().zip(children) {
                if matches!(shape, ValueType::Null | ValueType::Bits | ValueType::Struct(_)) {
                    return Err(Error::unsupported(format!(
                        "packed struct with child {:?} of type {}",
                        child.name(),
                        child.data_type()
                    )));
                }
            }
            ValueType::Struct(fields)
        }
        DataType::Dictionary(_, values) => {
            let shape = shape_of(values)?;
            if matches!(shape, ValueType::List { .. } | ValueType::Struct(_) | ValueType::Null)
                || matches!(**values, DataType::Dictionary(..))
            {
                return Err(Error::unsupported(format!("dictionaries of {values}")));
            }
            shape
        }
        other => match other.primitive_width() {
            Some(width) => ValueType::Fixed(width),
            None => return Err(Error::unsupported(format!("values of type {other}"))),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn leaves_come_in_column_order_with_their_steps() {
        let list = DataType::List(Arc::new(Field::new("x", DataType::Int8, true)));
        let entries = DataType::Struct(Fields::from(vec![
            Field::new("key", DataType::Utf8, false),
            Field::new("value", list, true),
        ]));
        let fields = Fields::from(vec![
            Field::new("a", DataType::Int64, false),
            Field::new("m m", DataType::Map(Arc::new(Field::new("entries", entries, false)), false), true),
            Field::new("e", DataType::Struct(Fields::empty()), true),
        ]);
        let leaves = leaf_paths(&fields).unwrap();
        let paths: Vec<_> = leaves.iter().map(|l| l.path.as_str()).collect();
        assert_eq!(paths, ["a", "`m m`.key", "`m m`.value.item", "e"]);
        let kinds: Vec<_> = leaves[2].steps.iter().map(|s| s.kind).collect();
        assert_eq!(kinds, [StepKind::Map, StepKind::Struct(1), StepKind::List]);
        assert!(leaves[3].is_empty_struct);
        assert_eq!(
            leaves[2].widest_layers(),
            [Layer::NullableItem, Layer::NullAndEmptyList, Layer::NullableItem, Layer::NullAndEmptyList]
        );
    }
}
