//! One dictionary per column over all batches.
//!
//! The Arrow IPC file form allows a dictionary to grow but not to change. Batches from elsewhere may each bring
//! their own, so the values are collected in one dictionary that only grows, and keys are rewritten to it. In the
//! stream form dictionaries may be replaced, so nothing is done there.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::ArrowDictionaryKeyType;
use arrow_array::{
    Array, ArrayRef, DictionaryArray, PrimitiveArray, RecordBatch, RecordBatchOptions, UInt64Array,
    downcast_integer,
};
use arrow_buffer::ArrowNativeType;
use arrow_schema::{DataType, Schema};
use pennon_file::{Error, Result};

use crate::hash::{dictionary_keys, hash_values};
use crate::nested::rebuild;
use crate::types::{children, type_name};

/// The dictionaries of a schema's columns.
pub(crate) struct Unifier {
    columns: Vec<Node>,
}

enum Node {
    /// No dictionary here or below.
    Plain,
    Dictionary(Collected),
    /// A node per child.
    Nested(Vec<Node>),
}

#[derive(Default)]
struct Collected {
    values: Option<ArrayRef>,
    /// Positions in `values` by hash.
    places: HashMap<u128, Vec<usize>>,
}

impl Unifier {
    /// `None` when the schema has no dictionaries.
    pub(crate) fn new(schema: &Schema) -> Option<Self> {
        Self::of(schema, false)
    }

    /// As [`new`](Self::new), for dictionaries with keys of 8 or 16 bits only: what is collected stays small,
    /// and other keys do not run out.
    pub(crate) fn narrow(schema: &Schema) -> Option<Self> {
        Self::of(schema, true)
    }

    fn of(schema: &Schema, narrow: bool) -> Option<Self> {
        let columns: Vec<_> = schema.fields().iter().map(|f| node(f.data_type(), narrow)).collect();
        columns.iter().any(|n| !matches!(n, Node::Plain)).then_some(Self { columns })
    }

    /// The batch with its keys rewritten to the collected dictionaries.
    pub(crate) fn unify(&mut self, batch: &RecordBatch) -> Result<RecordBatch> {
        let schema = batch.schema();
        let columns = self.columns.iter_mut().zip(batch.columns()).zip(schema.fields());
        let columns =
            columns.map(|((node, column), field)| unify(node, column).map_err(|e| e.in_column(field.name())));
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        RecordBatch::try_new_with_options(schema.clone(), columns.collect::<Result<_>>()?, &options)
            .map_err(|e| Error::invalid(e.to_string()))
    }
}

fn node(data_type: &DataType, narrow: bool) -> Node {
    match data_type {
        DataType::Dictionary(key, _) if narrow && key.primitive_width().is_none_or(|w| w > 2) => Node::Plain,
        DataType::Dictionary(_, _) => Node::Dictionary(Collected::default()),
        // Children of these are never rebuilt.
        DataType::Union(_, _) | DataType::RunEndEncoded(_, _) => Node::Plain,
        DataType::Map(entries, _) => node(entries.data_type(), narrow),
        _ => {
            let nodes: Vec<_> = children(data_type).iter().map(|c| node(c.data_type(), narrow)).collect();
            if nodes.iter().all(|n| matches!(n, Node::Plain)) { Node::Plain } else { Node::Nested(nodes) }
        }
    }
}

fn unify(node: &mut Node, array: &ArrayRef) -> Result<ArrayRef> {
    match node {
        Node::Plain => Ok(array.clone()),
        Node::Nested(nodes) => {
            rebuild(array, array.data_type(), &mut |i, child, _| unify(&mut nodes[i], child))
        }
        Node::Dictionary(collected) => collected.unify(array),
    }
}

impl Collected {
    fn unify(&mut self, array: &ArrayRef) -> Result<ArrayRef> {
        let dictionary = array.as_any_dictionary();
        let values = dictionary.values();
        let Some(known) = &self.values else {
            for (i, hash) in hash_values(values)?.into_iter().enumerate() {
                self.places.entry(hash).or_default().push(i);
            }
            self.values = Some(values.clone());
            return Ok(array.clone());
        };
        if known.to_data().ptr_eq(&values.to_data()) {
            return Ok(array.clone());
        }
        // Only values that a row uses are added: key types may be narrow.
        let keys = dictionary_keys(dictionary);
        let mut used = vec![false; values.len()];
        for (row, key) in keys.iter().enumerate() {
            if !array.is_null(row)
                && let Some(used) = used.get_mut(*key)
            {
                *used = true;
            }
        }
        let hashes = hash_values(values)?;
        let mut moved = vec![0usize; values.len()];
        let mut added = Vec::new();
        for (i, hash) in hashes.iter().enumerate().filter(|(i, _)| used[*i]) {
            let same = |&&place: &&usize| match place.checked_sub(known.len()) {
                None => known.slice(place, 1).as_ref() == values.slice(i, 1).as_ref(),
                Some(new) => {
                    let new: u64 = added[new];
                    values.slice(new as usize, 1).as_ref() == values.slice(i, 1).as_ref()
                }
            };
            let places = self.places.entry(*hash).or_default();
            moved[i] = match places.iter().find(same) {
                Some(place) => *place,
                None => {
                    let place = known.len() + added.len();
                    places.push(place);
                    added.push(i as u64);
                    place
                }
            };
        }
        if !added.is_empty() {
            let wrong = |e: arrow_schema::ArrowError| Error::invalid(e.to_string());
            let new = arrow_select::take::take(values, &UInt64Array::from(added), None).map_err(wrong)?;
            self.values = Some(arrow_select::concat::concat(&[known.as_ref(), new.as_ref()]).map_err(wrong)?);
        }
        let known = self.values.as_ref().unwrap_or(values);
        macro_rules! rewrite {
            ($key:ty) => {
                rewrite::<$key>(array, &keys, &moved, known)
            };
        }
        let DataType::Dictionary(key_type, _) = array.data_type() else { return Ok(array.clone()) };
        downcast_integer! {
            key_type.as_ref() => (rewrite),
            _ => Ok(array.clone()),
        }
    }
}

fn rewrite<K: ArrowDictionaryKeyType>(
    array: &ArrayRef,
    keys: &[usize],
    moved: &[usize],
    values: &ArrayRef,
) -> Result<ArrayRef> {
    let mut new = Vec::with_capacity(keys.len());
    for (row, key) in keys.iter().enumerate() {
        let place = if array.is_null(row) { 0 } else { moved.get(*key).copied().unwrap_or(0) };
        new.push(K::Native::from_usize(place).filter(|k| k.as_usize() == place).ok_or_else(|| {
            Error::unsupported(format!(
                "over all batches the dictionary has {} values, more than {} holds; write an IPC stream (.arrows), which may change dictionaries, or jsonl, which holds the values alone",
                values.len(),
                type_name(array.data_type())
            ))
        })?);
    }
    let keys = PrimitiveArray::<K>::new(new.into(), array.nulls().cloned());
    let made = DictionaryArray::try_new(keys, values.clone()).map_err(|e| Error::invalid(e.to_string()))?;
    Ok(Arc::new(made))
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::types::{Int8Type, Int32Type};
    use arrow_array::{Int8Array, ListArray, StringArray};
    use arrow_schema::Field;

    fn batch(array: ArrayRef) -> RecordBatch {
        let schema = Schema::new(vec![Field::new("d", array.data_type().clone(), true)]);
        RecordBatch::try_new(Arc::new(schema), vec![array]).unwrap()
    }

    fn texts(array: &ArrayRef) -> Vec<Option<String>> {
        let plain = crate::text::to_text(array).unwrap();
        plain.as_string::<i32>().iter().map(|v| v.map(str::to_owned)).collect()
    }

    #[test]
    fn dictionaries_grow_and_values_stay() {
        let a: ArrayRef = Arc::new(DictionaryArray::<Int32Type>::from_iter([Some("x"), None, Some("y")]));
        let b: ArrayRef =
            Arc::new(DictionaryArray::<Int32Type>::from_iter([Some("y"), Some("z"), None, Some("x")]));
        let mut unifier = Unifier::new(&batch(a.clone()).schema()).unwrap();
        let first = unifier.unify(&batch(a.clone())).unwrap();
        let second = unifier.unify(&batch(b.clone())).unwrap();
        assert_eq!(texts(first.column(0)), texts(&a));
        assert_eq!(texts(second.column(0)), texts(&b));
        let values = second.column(0).as_dictionary::<Int32Type>().values().clone();
        assert_eq!(values.as_ref(), &StringArray::from(vec!["x", "y", "z"]) as &dyn Array);
    }

    #[test]
    fn keys_under_nulls_and_null_values_do_no_harm() {
        let values: ArrayRef = Arc::new(StringArray::from(vec![Some("a"), None]));
        let keys = Int8Array::new(vec![1, 99, 0].into(), Some(vec![true, false, true].into()));
        let odd: ArrayRef = Arc::new(DictionaryArray::<Int8Type>::new(keys, values));
        let plain: ArrayRef = Arc::new(DictionaryArray::<Int8Type>::from_iter([Some("b")]));
        let mut unifier = Unifier::new(&batch(plain.clone()).schema()).unwrap();
        unifier.unify(&batch(plain)).unwrap();
        let out = unifier.unify(&batch(odd)).unwrap();
        assert_eq!(texts(out.column(0)), [None, None, Some("a".into())]);
    }

    #[test]
    fn a_dictionary_inside_a_list_is_found() {
        let make = |names: [&str; 2]| -> ArrayRef {
            let items: ArrayRef =
                Arc::new(names.into_iter().map(Some).collect::<DictionaryArray<Int8Type>>());
            let field = Arc::new(Field::new("item", items.data_type().clone(), true));
            Arc::new(ListArray::new(field, arrow_buffer::OffsetBuffer::from_lengths([2]), items, None))
        };
        let mut unifier = Unifier::new(&batch(make(["a", "b"])).schema()).unwrap();
        unifier.unify(&batch(make(["a", "b"]))).unwrap();
        let out = unifier.unify(&batch(make(["c", "b"]))).unwrap();
        assert_eq!(texts(out.column(0).as_list::<i32>().values()), [Some("c".into()), Some("b".into())]);
    }

    #[test]
    fn too_many_values_for_the_keys_are_refused() {
        let make = |from: usize| -> ArrayRef {
            let names: Vec<_> = (from..from + 100).map(|i| i.to_string()).collect();
            Arc::new(names.iter().map(|n| Some(n.as_str())).collect::<DictionaryArray<Int8Type>>())
        };
        let mut unifier = Unifier::new(&batch(make(0)).schema()).unwrap();
        unifier.unify(&batch(make(0))).unwrap();
        let e = unifier.unify(&batch(make(50))).unwrap_err().to_string();
        assert!(e.starts_with("unsupported: over all batches the dictionary has 150 values"), "{e}");
    }
}
