//! Projection: the part of a schema that a list of paths names.
//!
//! ```text
//! path  = part ( "." part )*            x.item is the item of a list, x.key and x.value those of a map
//! part  = ( name | "`" quoted "`" ) [ "#" n ]      "``" inside quotes is one backquote; n counts from 1
//! ```
//!
//! An exact top-level name wins over a walk. A path to an inner field brings what is around it.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::descriptor::with_children;
use super::leaves::{join_path, path_part};
use super::stored::{cut, is_listed_map};
use super::type_name::type_name;
use super::{Field, FieldKind, Leaf, Schema};
use crate::{Error, Result};

/// A part of a schema, and the leaves it needs.
#[derive(Debug, Clone)]
pub(crate) struct Projection {
    pub(crate) schema: Schema,
    /// In the order of the projected fields.
    pub(crate) leaves: Vec<Leaf>,
}

/// What of a field is wanted.
#[derive(Debug, Default)]
enum Selection {
    #[default]
    Nothing,
    All,
    /// Children by position.
    Some(BTreeMap<usize, Selection>),
}

impl Selection {
    /// Adds the field that `steps` lead to.
    fn add(&mut self, steps: &[usize]) {
        match (steps, &mut *self) {
            (_, Self::All) => {}
            ([], _) => *self = Self::All,
            ([first, rest @ ..], Self::Some(children)) => children.entry(*first).or_default().add(rest),
            ([first, rest @ ..], Self::Nothing) => {
                let mut child = Self::Nothing;
                child.add(rest);
                *self = Self::Some(BTreeMap::from([(*first, child)]));
            }
        }
    }
}

impl Schema {
    /// Everything.
    pub(crate) fn project_all(&self) -> Result<Projection> {
        Ok(Projection { schema: self.clone(), leaves: self.leaves()? })
    }

    /// The fields that `paths` name: top-level fields in the order asked, inner ones in the order of
    /// the file. A field named twice comes once.
    pub(crate) fn project<S: AsRef<str>>(&self, paths: &[S]) -> Result<Projection> {
        let steps = paths.iter().map(|path| self.find(path.as_ref())).collect::<Result<Vec<_>>>()?;
        self.project_steps(&steps)
    }

    /// The same by position: each of `paths` is the positions of the children that lead to a field.
    pub(crate) fn project_steps(&self, paths: &[Vec<usize>]) -> Result<Projection> {
        let mut order: Vec<usize> = Vec::new();
        let mut wanted: BTreeMap<usize, Selection> = BTreeMap::new();
        for steps in paths {
            let selection = wanted.entry(steps[0]).or_insert_with(|| {
                order.push(steps[0]);
                Selection::Nothing
            });
            selection.add(&steps[1..]);
        }
        let fields: Vec<Field> = order.iter().map(|at| prune(&self.fields[*at], &wanted[at])).collect();
        let schema =
            Self::of(fields, self.arrow.metadata().clone(), self.num_columns, self.parents_have_columns)?;
        let leaves = schema.leaves()?;
        Ok(Projection { schema, leaves })
    }

    /// For every leaf the positions of the children that lead to it, in the order of [`Schema::leaves`]. Unlike its
    /// path they mean this leaf whatever other fields are called.
    pub(crate) fn leaf_steps(&self) -> Vec<Vec<usize>> {
        let mut out = Vec::new();
        for (at, field) in self.fields.iter().enumerate() {
            push_leaf_steps(field, &mut vec![at], &mut out);
        }
        out
    }

    /// Positions of the children that lead to a path; never empty.
    fn find(&self, path: &str) -> Result<Vec<usize>> {
        if let Some(at) = self.fields.iter().position(|f| f.name() == path) {
            return Ok(vec![at]);
        }
        let parts = parse_path(path)?;
        let mut steps = Vec::new();
        let mut at = String::new();
        let mut field: Option<&Field> = None;
        for part in &parts {
            let (found, more): (Option<&Field>, Vec<usize>) = match field.map(|f| (f, f.kind())) {
                None => pick(&self.fields, part),
                Some((f, FieldKind::Struct)) => pick(&f.children, part),
                Some((f, FieldKind::List | FieldKind::FixedSizeList(_))) if part.is("item") => {
                    (f.children.first(), vec![0])
                }
                // A map that is stored as a list is walked as what it is, or as what it is stored as.
                Some((f, FieldKind::List)) if is_map(f) && (part.is("key") || part.is("value")) => {
                    let which = usize::from(part.is("value"));
                    (f.children.first().and_then(|e| e.children.get(which)), vec![0, which])
                }
                Some((f, FieldKind::Map)) if part.is("key") || part.is("value") => {
                    let which = usize::from(part.is("value"));
                    (f.children.first().and_then(|e| e.children.get(which)), vec![0, which])
                }
                Some(_) => (None, Vec::new()),
            };
            let Some(found) = found else {
                return Err(no_such_column(path, &at, part, field, &self.fields));
            };
            at = join_path(&at, &part.to_string());
            steps.extend(more);
            field = Some(found);
        }
        Ok(steps)
    }
}

fn push_leaf_steps(field: &Field, steps: &mut Vec<usize>, out: &mut Vec<Vec<usize>>) {
    let len = steps.len();
    let mut below = |more: &[usize], child: &Field| {
        steps.extend(more);
        push_leaf_steps(child, steps, out);
        steps.truncate(len);
    };
    match (field.kind(), field.children.as_slice()) {
        (FieldKind::Struct, children) => children.iter().enumerate().for_each(|(at, c)| below(&[at], c)),
        (FieldKind::List | FieldKind::FixedSizeList(_), [item, ..]) => below(&[0], item),
        (FieldKind::Map, [entries, ..]) => {
            entries.children.iter().take(2).enumerate().for_each(|(at, c)| below(&[0, at], c));
        }
        _ => out.push(steps.clone()),
    }
}

/// One part of a path.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) name: String,
    /// From 1 on.
    pub(crate) nth: usize,
    /// The same with `#n` as part of the name, for names that end like that.
    pub(crate) raw: Option<String>,
}

impl Part {
    fn is(&self, name: &str) -> bool {
        self.name == name && self.nth == 1
    }
}

impl std::fmt::Display for Part {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&path_part(&self.name, self.nth))
    }
}

pub(crate) fn parse_path(path: &str) -> Result<Vec<Part>> {
    let bad = |why: &str| Error::invalid(format!("column path {path:?}: {why}"));
    let mut parts = Vec::new();
    let mut rest = path;
    loop {
        let (name, quoted, after) = if let Some(inner) = rest.strip_prefix('`') {
            let mut name = String::new();
            let mut tail = inner;
            loop {
                let (text, after) = tail.split_once('`').ok_or_else(|| bad("a backquote is not closed"))?;
                name.push_str(text);
                match after.strip_prefix('`') {
                    Some(more) => {
                        name.push('`');
                        tail = more;
                    }
                    None => break (name, true, after),
                }
            }
        } else {
            let end = rest.find('.').unwrap_or(rest.len());
            (rest[..end].to_owned(), false, &rest[end..])
        };
        if name.is_empty() && !quoted {
            return Err(bad("a name is missing; an empty name is written ``"));
        }
        let (end, after) = match after.split_once('.') {
            Some((end, after)) => (end, Some(after)),
            None => (after, None),
        };
        // What follows a closing quote up to the dot, or the end of a bare name.
        let suffix = if quoted { end.strip_prefix('#') } else { name.rsplit_once('#').map(|(_, n)| n) };
        let nth = suffix.and_then(|n| n.parse::<usize>().ok()).filter(|n| *n > 0);
        parts.push(match (quoted, nth) {
            (true, _) if end.is_empty() => Part { name, nth: 1, raw: None },
            (true, Some(nth)) => Part { name, nth, raw: None },
            (true, None) => return Err(bad("after a closing backquote comes a dot, #n or the end")),
            (false, Some(nth)) => {
                let bare = name.rsplit_once('#').map_or("", |(bare, _)| bare).to_owned();
                Part { name: bare, nth, raw: Some(name) }
            }
            (false, None) => Part { name, nth: 1, raw: None },
        });
        match after {
            Some(after) => rest = after,
            None => return Ok(parts),
        }
    }
}

/// The names of top-level fields that decide what a path leads to; the path itself alone where it is no path.
pub(crate) fn first_names(path: &str) -> Vec<String> {
    let mut names = vec![path.to_owned()];
    if let Some(first) = parse_path(path).ok().and_then(|parts| parts.into_iter().next()) {
        names.extend(first.raw);
        names.push(first.name);
    }
    names.dedup();
    names
}

/// The child that a part names, and its position.
fn pick<'a>(fields: &'a [Field], part: &Part) -> (Option<&'a Field>, Vec<usize>) {
    let exact =
        |name: &str, nth: usize| fields.iter().enumerate().filter(|(_, f)| f.name() == name).nth(nth - 1);
    let found = part.raw.as_deref().and_then(|raw| exact(raw, 1)).or_else(|| exact(&part.name, part.nth));
    match found {
        Some((at, field)) => (Some(field), vec![at]),
        None => (None, Vec::new()),
    }
}

#[cold]
fn no_such_column(path: &str, at: &str, part: &Part, inside: Option<&Field>, top: &[Field]) -> Error {
    let (names, place) = match inside.map(|f| (f, f.kind())) {
        None => (part_names(top), String::new()),
        Some((f, FieldKind::Struct)) => (part_names(&f.children), format!(" in {at}")),
        Some((_, FieldKind::List | FieldKind::FixedSizeList(_))) => {
            (vec!["item".to_owned()], format!(" in the list {at}"))
        }
        Some((_, FieldKind::Map)) => {
            (vec!["key".to_owned(), "value".to_owned()], format!(" in the map {at}"))
        }
        Some((_, FieldKind::PackedStruct)) => {
            return Error::invalid(format!("no column {path:?}: {at} is a packed struct, read it whole"));
        }
        Some((_, FieldKind::Blob)) => {
            return Error::invalid(format!("no column {path:?}: {at} is a blob, read it whole"));
        }
        Some((f, _)) => {
            let data_type = type_name(f.arrow.data_type());
            return Error::invalid(format!("no column {path:?}: {at} is {data_type}, nothing is inside it"));
        }
    };
    let wanted = part.to_string();
    let mut close: Vec<(usize, &String)> = names
        .iter()
        .map(|name| (distance(&wanted, name), name))
        .filter(|(d, _)| *d <= 1 + wanted.len() / 3)
        .collect();
    close.sort();
    let list = |names: &mut dyn Iterator<Item = &String>| {
        names.take(5).map(|n| join_path(at, n)).collect::<Vec<_>>().join(", ")
    };
    let hint = if !close.is_empty() {
        format!("close names are {}", list(&mut close.iter().map(|(_, n)| *n)))
    } else if names.is_empty() {
        "there are no columns".to_owned()
    } else if names.len() <= 5 {
        format!("there are {}", list(&mut names.iter()))
    } else {
        format!("there are {} names, the first are {}", names.len(), list(&mut names.iter()))
    };
    Error::invalid(format!("no column {path:?}: no {wanted}{place}; {hint}"))
}

fn part_names(fields: &[Field]) -> Vec<String> {
    let mut seen = std::collections::HashMap::new();
    fields
        .iter()
        .map(|f| {
            let nth = seen.entry(f.name()).or_insert(0usize);
            *nth += 1;
            path_part(f.name(), *nth)
        })
        .collect()
}

/// Edits between two names, cases aside; names far apart in length are not looked at.
pub(crate) fn distance(a: &str, b: &str) -> usize {
    let a: Vec<char> = a.to_lowercase().chars().take(64).collect();
    let b: Vec<char> = b.to_lowercase().chars().take(64).collect();
    if a.len().abs_diff(b.len()) > 8 {
        return usize::MAX;
    }
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let change = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = change.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

/// The part of a field that a selection wants.
fn prune(field: &Field, selection: &Selection) -> Field {
    let Selection::Some(wanted) = selection else { return field.clone() };
    let children: Vec<Field> = field
        .children
        .iter()
        .enumerate()
        .filter_map(|(at, child)| {
            let selection = wanted.get(&at)?;
            Some(if is_map(field) { prune_entries(child, selection) } else { prune(child, selection) })
        })
        .collect();
    with_pruned(field, children)
}

/// Whether a field is a map, however it is stored.
fn is_map(field: &Field) -> bool {
    field.kind() == FieldKind::Map || is_listed_map(&field.arrow)
}

/// A map has both its parts: the one that was not named comes whole.
fn prune_entries(entries: &Field, selection: &Selection) -> Field {
    let Selection::Some(wanted) = selection else { return entries.clone() };
    let whole = Selection::All;
    let children = entries.children.iter().enumerate();
    let children = children.map(|(at, child)| prune(child, wanted.get(&at).unwrap_or(&whole))).collect();
    with_pruned(entries, children)
}

fn with_pruned(field: &Field, children: Vec<Field>) -> Field {
    let data_type = with_children(field.arrow.data_type(), &children);
    let arrow = cut(field.arrow.as_ref().clone()).with_data_type(data_type);
    Field {
        id: field.id,
        logical_type: field.logical_type.clone(),
        children,
        arrow: Arc::new(arrow),
        columns: field.columns.clone(),
        keys: field.keys,
    }
}
