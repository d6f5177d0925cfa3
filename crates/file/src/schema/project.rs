//! Projection: the part of a schema that paths name.

use std::collections::HashSet;
use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef, Schema as ArrowSchema, SchemaRef};

use super::path::{self, Segment};
use super::{Leaf, Schema, is_leaf, leaves};
use crate::{Error, Result};

/// Projected fields and the leaves that their columns are, in the order in which arrays are assembled.
#[derive(Debug, Clone)]
pub(crate) struct Projection {
    pub(crate) schema: SchemaRef,
    pub(crate) leaves: Vec<Leaf>,
}

impl Schema {
    /// What `paths` name, everything without paths. Top-level fields come in the order in which they are
    /// first named, what is below them in file order.
    ///
    /// # Errors
    /// `Invalid` for a path that names nothing, with the names that are near.
    pub(crate) fn project(&self, paths: Option<&[String]>) -> Result<Projection> {
        let leaves = leaves(self.arrow.fields().iter().map(Arc::as_ref))?;
        let Some(paths) = paths else { return Ok(Projection { schema: self.arrow.clone(), leaves }) };
        // Leaves below each top-level field.
        let mut spans = Vec::with_capacity(self.arrow.fields().len());
        let mut start = 0;
        for field in self.arrow.fields() {
            let end = start + count_leaves(field);
            spans.push(start..end);
            start = end;
        }
        let mut order: Vec<usize> = Vec::new();
        let mut selected = HashSet::new();
        for path in paths {
            let (top, span) = self.resolve(path, &spans)?;
            if !order.contains(&top) {
                order.push(top);
            }
            selected.extend(span);
        }
        let mut fields = Vec::with_capacity(order.len());
        let mut chosen = Vec::new();
        for top in order {
            let mut next = spans[top].start;
            if let Some(field) = prune(&self.arrow.fields()[top], &mut next, &selected) {
                fields.push(field);
            }
            chosen.extend(spans[top].clone().filter(|i| selected.contains(i)).map(|i| leaves[i].clone()));
        }
        let schema = ArrowSchema::new_with_metadata(fields, self.arrow.metadata().clone());
        Ok(Projection { schema: Arc::new(schema), leaves: chosen })
    }

    /// The top-level field a path leads into, and the leaves at its end.
    fn resolve(&self, path: &str, spans: &[std::ops::Range<usize>]) -> Result<(usize, std::ops::Range<usize>)> {
        let fields = self.arrow.fields();
        if let Some(top) = fields.iter().position(|f| f.name() == path) {
            return Ok((top, spans[top].clone()));
        }
        let segments = path::parse(path)?;
        let unknown = |what: &str, names: Vec<&str>| {
            let near = path::similar(what, names.iter().copied());
            let hint = if near.is_empty() {
                let mut some: Vec<_> = names.iter().take(10).copied().collect();
                if names.len() > 10 {
                    some.push("…");
                }
                format!("there are {}", some.join(", "))
            } else {
                format!("did you mean {}?", near.join(", "))
            };
            Error::invalid(format!("no column {path:?}: {hint}"))
        };
        let names = || fields.iter().map(|f| f.name().as_str()).collect::<Vec<_>>();
        let (first, rest) = segments.split_first().ok_or_else(|| unknown(path, names()))?;
        let top = nth(fields.iter().map(|f| f.name().as_str()), first).ok_or_else(|| unknown(&first.name, names()))?;
        let mut span = spans[top].clone();
        let mut field = fields[top].clone();
        for segment in rest {
            let children = children(&field);
            let Some(at) = nth(children.iter().map(|(name, _)| name.as_str()), segment) else {
                let names = children.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>();
                if names.is_empty() {
                    return Err(Error::invalid(format!(
                        "no column {path:?}: {:?} has the type {} and no fields",
                        field.name(),
                        field.data_type()
                    )));
                }
                return Err(unknown(&segment.name, names));
            };
            let before: usize = children[..at].iter().map(|(_, child)| count_leaves(child)).sum();
            // Keys and values of a map are only useful together.
            if !matches!(field.data_type(), DataType::Map(..)) {
                span = span.start + before..span.start + before + count_leaves(&children[at].1);
            } else if segments.last() != Some(segment) {
                return Err(Error::invalid(format!("column path {path:?} goes into a map, which is read whole")));
            }
            field = children[at].1.clone();
        }
        Ok((top, span))
    }
}

/// The `nth` of equal names.
fn nth<'a>(names: impl Iterator<Item = &'a str>, segment: &Segment) -> Option<usize> {
    names.enumerate().filter(|(_, name)| *name == segment.name).nth(segment.nth - 1).map(|(i, _)| i)
}

/// The fields that a path can step to from `field`, with the names it steps by.
fn children(field: &Field) -> Vec<(String, FieldRef)> {
    if is_leaf(field) {
        return Vec::new();
    }
    match field.data_type() {
        DataType::Struct(fields) => fields.iter().map(|f| (f.name().clone(), f.clone())).collect(),
        DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => {
            vec![("item".to_owned(), item.clone())]
        }
        DataType::Map(entries, _) => match entries.data_type() {
            DataType::Struct(fields) => {
                fields.iter().zip(["key", "value"]).map(|(f, name)| (name.to_owned(), f.clone())).collect()
            }
            _ => Vec::new(),
        },
        _ => Vec::new(),
    }
}

fn count_leaves(field: &Field) -> usize {
    if is_leaf(field) { 1 } else { children(field).iter().map(|(_, child)| count_leaves(child)).sum() }
}

/// The field without what is not selected; `next` counts its leaves.
fn prune(field: &FieldRef, next: &mut usize, selected: &HashSet<usize>) -> Option<FieldRef> {
    if is_leaf(field) {
        let index = *next;
        *next += 1;
        return selected.contains(&index).then(|| field.clone());
    }
    let data_type = match field.data_type() {
        DataType::Struct(fields) => {
            let kept: Vec<_> = fields.iter().filter_map(|f| prune(f, next, selected)).collect();
            if kept.is_empty() {
                return None;
            }
            DataType::Struct(kept.into())
        }
        DataType::List(item) => DataType::List(prune(item, next, selected)?),
        DataType::LargeList(item) => DataType::LargeList(prune(item, next, selected)?),
        DataType::FixedSizeList(item, n) => DataType::FixedSizeList(prune(item, next, selected)?, *n),
        DataType::Map(entries, sorted) => DataType::Map(prune(entries, next, selected)?, *sorted),
        _ => return None,
    };
    Some(Arc::new(field.as_ref().clone().with_data_type(data_type)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FormatVersion;

    fn schema() -> Schema {
        let f = |n: &str, t: DataType| Field::new(n, t, true);
        let ab = DataType::Struct(vec![f("a", DataType::Int32), f("b", DataType::Utf8)].into());
        let list = DataType::List(Arc::new(f("element", ab.clone())));
        let fields = vec![f("x", DataType::Int8), f("s", ab), f("l", list), f("a.b", DataType::Int8), f("x", DataType::Utf8)];
        Schema::from_arrow(&ArrowSchema::new(fields), FormatVersion::V2_2).unwrap()
    }

    fn columns(paths: &[&str]) -> (Vec<u32>, String) {
        let paths: Vec<_> = paths.iter().map(|p| (*p).to_owned()).collect();
        let p = schema().project(Some(&paths)).unwrap();
        let names = p.schema.fields().iter().map(|f| f.name().as_str()).collect::<Vec<_>>().join(",");
        (p.leaves.iter().map(|l| l.column).collect(), names)
    }

    #[test]
    fn paths_select_leaves_and_order_top_level_fields() {
        assert_eq!(columns(&["l.item.b", "x"]), (vec![4, 0], "l,x".into()));
        assert_eq!(columns(&["s.b", "s.a"]), (vec![1, 2], "s".into()));
        assert_eq!(columns(&["a.b", "x#2"]), (vec![5, 6], "a.b,x".into()));
        assert_eq!(columns(&["`a.b`"]), (vec![5], "a.b".into()));
        assert_eq!(columns(&[]), (vec![], String::new()));
    }

    #[test]
    fn a_name_that_is_not_there_is_answered_with_near_ones() {
        let error = |p: &str| schema().project(Some(&[p.to_owned()])).unwrap_err().to_string();
        assert_eq!(error("s.aa"), "no column \"s.aa\": did you mean a?");
        assert_eq!(error("zzz"), "no column \"zzz\": there are x, s, l, a.b, x");
        assert_eq!(error("x.y"), "no column \"x.y\": \"x\" has the type Int8 and no fields");
    }
}
