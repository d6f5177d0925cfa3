//! Leaf data to Arrow arrays: levels become validity, offsets and nesting.
//!
//! ```text
//! list<struct<a, b>>     leaf a  rep 1 0 1   def 0 0 3   ┐
//!                        leaf b  rep 1 0 1   def 0 1 3   ┴▶ a, b ▶ struct ▶ list
//! ```
//!
//! Structure is stored with every leaf; that of a parent is taken from its first child, and the others
//! are checked to be as long.

use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, FixedSizeListArray, LargeListArray, ListArray, MapArray, OffsetSizeTrait, StructArray,
};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::{ArrowError, DataType, Field, FieldRef};

use super::build::build_leaf;
use super::levels::Levels;
use crate::encoding::Arena;
use crate::error::corrupt;
use crate::page::{LeafData, Structure};
use crate::schema::{FieldKind, kind_of};
use crate::{Error, Result};

/// Builds the array of a top-level field from the data of its leaves, in column order.
pub(crate) fn assemble(
    field: &FieldRef,
    leaves: &mut std::vec::IntoIter<LeafData>,
    arena: &Arena,
) -> Result<ArrayRef> {
    let (array, levels) = build(&mut Leaves { leaves, arena }, field, &[])?;
    if let Some(levels) = levels
        && levels.len() != array.len()
    {
        corrupt!("levels of {} rows around {} values", levels.len(), array.len());
    }
    Ok(array)
}

/// The leaves not yet built, and the memory of the batch.
struct Leaves<'a> {
    leaves: &'a mut std::vec::IntoIter<LeafData>,
    arena: &'a Arena,
}

/// One step of nesting above the current field, innermost first: what list layers need to look ahead.
type Above<'a> = &'a [Step];

#[derive(Clone, Copy, PartialEq)]
enum Step {
    Item,
    List,
}

/// Levels that belong to item layers between here and the next list layer.
fn items_above(above: Above<'_>) -> u16 {
    above.iter().take_while(|s| **s == Step::Item).count() as u16
}

fn prepend(step: Step, above: Above<'_>) -> Vec<Step> {
    let mut steps = Vec::with_capacity(above.len() + 1);
    steps.push(step);
    steps.extend_from_slice(above);
    steps
}

type Built = (ArrayRef, Option<Levels>);

fn build(leaves: &mut Leaves<'_>, field: &FieldRef, above: Above<'_>) -> Result<Built> {
    let owns_column = matches!(
        kind_of(field),
        FieldKind::Leaf | FieldKind::PackedStruct | FieldKind::Blob | FieldKind::EmptyStruct
    );
    if owns_column {
        let Some(leaf) = leaves.leaves.next() else {
            return Err(Error::invalid("fewer leaves were read than the schema has"));
        };
        return build_item(field, leaf, above, leaves.arena);
    }
    match field.data_type() {
        DataType::Struct(fields) => {
            let inner = prepend(Step::Item, above);
            let mut arrays = Vec::with_capacity(fields.len());
            let mut levels: Option<Levels> = None;
            for child in fields {
                let (array, child_levels) = build(leaves, child, &inner)?;
                arrays.push(array);
                levels = levels.or(child_levels);
            }
            let len = arrays.first().map_or(0, |a| a.len());
            if let Some(odd) = arrays.iter().position(|a| a.len() != len) {
                corrupt!("child {} of a struct has {} values, child 0 has {len}", odd, arrays[odd].len());
            }
            let nulls = levels.as_mut().and_then(|l| l.consume_item(items_above(above)));
            let array =
                StructArray::try_new_with_length(fields.clone(), arrays, nulls, len).map_err(wrong)?;
            Ok((Arc::new(array), levels))
        }
        DataType::List(item) => {
            let (items, levels) = build(leaves, item, &prepend(Step::List, above))?;
            let (levels, offsets, nulls) = consume_list::<i32>(levels, items.len(), above)?;
            Ok((
                Arc::new(ListArray::try_new(item.clone(), offsets, items, nulls).map_err(wrong)?),
                Some(levels),
            ))
        }
        DataType::LargeList(item) => {
            let (items, levels) = build(leaves, item, &prepend(Step::List, above))?;
            let (levels, offsets, nulls) = consume_list::<i64>(levels, items.len(), above)?;
            Ok((
                Arc::new(LargeListArray::try_new(item.clone(), offsets, items, nulls).map_err(wrong)?),
                Some(levels),
            ))
        }
        DataType::Map(entries, sorted) => {
            let (items, levels) = build(leaves, entries, &prepend(Step::List, above))?;
            let (levels, offsets, nulls) = consume_list::<i32>(levels, items.len(), above)?;
            let Some(items) = items.as_any().downcast_ref::<StructArray>() else {
                corrupt!("a map whose entries are {}", items.data_type())
            };
            let array =
                MapArray::try_new(entries.clone(), offsets, items.clone(), nulls, *sorted).map_err(wrong)?;
            Ok((Arc::new(array), Some(levels)))
        }
        DataType::FixedSizeList(item, dimension) => {
            let (items, levels) = build(leaves, item, &prepend(Step::Item, above))?;
            let Some(mut levels) = levels else {
                return Err(Error::invalid("a fixed-size list without levels"));
            };
            let nulls = levels.consume_fixed_size_list(*dimension as usize, items_above(above))?;
            let array = FixedSizeListArray::try_new(item.clone(), *dimension, items, nulls).map_err(wrong)?;
            Ok((Arc::new(array), Some(levels)))
        }
        other => Err(Error::unsupported(format!("a nested field of type {other}"))),
    }
}

/// The leaf itself.
fn build_item(field: &Field, leaf: LeafData, above: Above<'_>, arena: &Arena) -> Result<Built> {
    let num_values = leaf.values.len();
    let (nulls, levels) = match leaf.structure {
        Structure::Flat(validity) => {
            if validity.len() != num_values {
                corrupt!("{num_values} values with validity of {}", validity.len());
            }
            (validity.into_buffer().map(NullBuffer::new), None)
        }
        Structure::Levels { rep, def } => {
            let mut levels = Levels::new(rep, def);
            let nulls = levels.consume_item(items_above(above));
            (nulls, Some(levels))
        }
    };
    if let Some(nulls) = &nulls
        && nulls.len() != num_values
    {
        corrupt!("{num_values} values where levels make {} slots", nulls.len());
    }
    let nulls = nulls.filter(|n| n.null_count() > 0);
    let array = build_leaf(field.data_type(), leaf.values, nulls, leaf.dictionary, arena)?;
    Ok((array, levels))
}

/// Consumes a list layer: offsets and validity of its lists.
fn consume_list<O: OffsetSizeTrait>(
    levels: Option<Levels>,
    num_items: usize,
    above: Above<'_>,
) -> Result<(Levels, OffsetBuffer<O>, Option<NullBuffer>)> {
    let Some(mut levels) = levels else { corrupt!("a list column without repetition levels") };
    let (offsets, nulls) = levels.consume_list(num_items, items_above(above))?;
    Ok((levels, offsets, nulls))
}

/// Arrow's own refusal of what a file holds, such as a null in a field that has none.
fn wrong(e: ArrowError) -> Error {
    Error::corrupt(format!("values that the schema does not allow: {e}"))
}
