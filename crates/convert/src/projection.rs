//! Columns by path.
//!
//! ```text
//! path = part ("." part)*      part = name | "`" name with "``" for "`" "`"      name#2: the second of that name
//! x.item: items of a list      x.key, x.value: of a map      an exact top-level name wins over a walk
//! ```

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{
    Array, ArrayRef, FixedSizeListArray, GenericListArray, GenericListViewArray, MapArray, OffsetSizeTrait,
    RecordBatch, RecordBatchOptions, StructArray,
};
use arrow_schema::{DataType, Field, FieldRef, Fields, Schema, SchemaRef};
use pennon_file::{Error, Result};

/// Which fields of a schema are wanted, and what they look like then.
#[derive(Debug, Clone)]
pub struct Projection {
    schema: SchemaRef,
    /// Top-level columns in the order asked, each with what is kept of it.
    columns: Vec<(usize, Keep)>,
    /// The paths as they were given, in the order of the file.
    paths: Vec<String>,
}

/// What is kept of a field.
#[derive(Debug, Clone)]
enum Keep {
    All,
    /// These children, in the field's own order.
    Children(Vec<(usize, Keep)>),
}

impl Projection {
    /// Finds `paths` in `schema`; `name` is the file's, for messages.
    pub fn new(name: &str, schema: &Schema, paths: &[String]) -> Result<Self> {
        let mut columns: Vec<(usize, Keep)> = Vec::new();
        let mut found = Vec::with_capacity(paths.len());
        for path in paths {
            let indices = find(name, schema, path)?;
            merge(&mut columns, &indices);
            found.push((indices, path.clone()));
        }
        found.sort();
        let paths = found.into_iter().map(|(_, path)| path).collect();
        let mut fields = Vec::with_capacity(columns.len());
        for (index, keep) in &mut columns {
            sort(keep);
            fields.push(project_field(schema.field(*index), keep));
        }
        let schema = Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()));
        Ok(Self { schema, columns, paths })
    }

    /// The schema of projected batches.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The paths as they were given, in the order of the file.
    pub(crate) fn paths_in_file_order(&self) -> &[String] {
        &self.paths
    }

    /// Top-level columns that are touched, in the order asked.
    pub fn top_level(&self) -> Vec<usize> {
        self.columns.iter().map(|(i, _)| *i).collect()
    }

    /// The numbers of the wanted leaves when the leaves of `schema` are counted depth first.
    pub(crate) fn leaves(&self, schema: &Schema) -> Vec<usize> {
        let mut first = Vec::with_capacity(schema.fields().len());
        let mut count = 0;
        for field in schema.fields() {
            first.push(count);
            count += num_leaves(field.data_type());
        }
        let mut leaves = Vec::new();
        for (index, keep) in &self.columns {
            collect_leaves(schema.field(*index).data_type(), keep, first[*index], &mut leaves);
        }
        leaves
    }

    /// The wanted part of `batch`, which has all columns.
    pub fn apply(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        self.apply_to(batch, &|index| index)
    }

    /// Like [`apply`](Self::apply), for a batch that has only the top-level columns, pruned or not, in schema order.
    pub(crate) fn apply_pruned(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let mut order = self.top_level();
        order.sort_unstable();
        self.apply_to(batch, &|index| order.binary_search(&index).unwrap_or(usize::MAX))
    }

    fn apply_to(&self, batch: &RecordBatch, position: &dyn Fn(usize) -> usize) -> Result<RecordBatch> {
        let mut columns = Vec::with_capacity(self.columns.len());
        for ((index, keep), field) in self.columns.iter().zip(self.schema.fields()) {
            let Some(column) = batch.columns().get(position(*index)) else {
                return Err(Error::corrupt(format!(
                    "a batch has {} columns, expected one numbered {index}",
                    batch.num_columns()
                )));
            };
            columns.push(project_array(column, field, keep)?);
        }
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        RecordBatch::try_new_with_options(self.schema.clone(), columns, &options)
            .map_err(|e| Error::corrupt(format!("projected columns do not fit: {e}")))
    }
}

/// Every path of a schema that leads to a leaf, written as [`Projection::new`] reads it.
pub fn leaf_paths(schema: &Schema) -> Vec<String> {
    all_paths(schema).into_iter().filter(|(_, leaf)| *leaf).map(|(path, _)| path).collect()
}

/// The field at `path`, if there is one.
pub fn field_at(schema: &Schema, path: &str) -> Option<FieldRef> {
    let indices = find("", schema, path).ok()?;
    let (first, rest) = indices.split_first()?;
    let mut field: FieldRef = schema.fields().get(*first)?.clone();
    for index in rest {
        field = steps(field.data_type()).get(*index)?.1.clone();
    }
    Some(field)
}

/// A name as it is written in a path: quoted with backquotes unless it is plain.
pub fn quote_name(name: &str) -> String {
    let plain = !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    if plain { name.to_owned() } else { format!("`{}`", name.replace('`', "``")) }
}

fn all_paths(schema: &Schema) -> Vec<(String, bool)> {
    fn walk(prefix: &str, field: &Field, name: String, paths: &mut Vec<(String, bool)>, depth: usize) {
        let path = if prefix.is_empty() { name } else { format!("{prefix}.{name}") };
        let steps = steps(field.data_type());
        paths.push((path.clone(), steps.is_empty()));
        if depth < 64 && paths.len() < 100_000 {
            for (name, child) in numbered(&steps) {
                walk(&path, child, name, paths, depth + 1);
            }
        }
    }
    let mut paths = Vec::new();
    let top: Vec<_> = schema.fields().iter().map(|f| (f.name().clone(), f.clone())).collect();
    for (name, field) in numbered(&top) {
        walk("", field, name, &mut paths, 0);
    }
    paths
}

/// Quoted names, the second of a name with `#2`, and so on.
fn numbered(named: &[(String, FieldRef)]) -> Vec<(String, &FieldRef)> {
    let mut seen = std::collections::HashMap::<&str, usize>::new();
    let mut out = Vec::with_capacity(named.len());
    for (name, field) in named {
        let count = seen.entry(name).or_default();
        *count += 1;
        let quoted = quote_name(name);
        out.push((if *count == 1 { quoted } else { format!("{quoted}#{count}") }, field));
    }
    out
}

/// The children of a type as steps of a path: the name to say, and the field it leads to.
fn steps(data_type: &DataType) -> Vec<(String, FieldRef)> {
    match data_type {
        DataType::Struct(fields) => fields.iter().map(|f| (f.name().clone(), f.clone())).collect(),
        DataType::List(f)
        | DataType::LargeList(f)
        | DataType::ListView(f)
        | DataType::LargeListView(f)
        | DataType::FixedSizeList(f, _) => vec![("item".into(), f.clone())],
        DataType::Map(entries, _) => match entries.data_type() {
            DataType::Struct(kv) if kv.len() == 2 => {
                vec![("key".into(), kv[0].clone()), ("value".into(), kv[1].clone())]
            }
            _ => Vec::new(),
        },
        _ => Vec::new(),
    }
}

/// One part of a path.
struct Part {
    name: String,
    /// Which of the fields of that name, from 1.
    nth: usize,
}

fn parse(path: &str) -> Result<Vec<Part>> {
    let bad = |why: &str| Error::invalid(format!("column path {path:?}: {why}"));
    let mut parts = Vec::new();
    let mut rest = path;
    loop {
        let name;
        if let Some(mut inside) = rest.strip_prefix('`') {
            let mut text = String::new();
            loop {
                let end = inside.find('`').ok_or_else(|| bad("expected a closing backquote"))?;
                text.push_str(&inside[..end]);
                inside = &inside[end + 1..];
                match inside.strip_prefix('`') {
                    Some(more) => {
                        text.push('`');
                        inside = more;
                    }
                    None => break,
                }
            }
            name = text;
            rest = inside;
        } else {
            let end = rest.find(['.', '#']).unwrap_or(rest.len());
            if end == 0 {
                return Err(bad("expected a name; write an empty one as ``"));
            }
            name = rest[..end].to_owned();
            rest = &rest[end..];
        }
        let mut nth = 1;
        if let Some(digits) = rest.strip_prefix('#') {
            let end = digits.find('.').unwrap_or(digits.len());
            nth = digits[..end]
                .parse()
                .ok()
                .filter(|n| *n >= 1)
                .ok_or_else(|| bad("expected a number after #"))?;
            rest = &digits[end..];
        }
        parts.push(Part { name, nth });
        match rest.strip_prefix('.') {
            Some(more) => rest = more,
            None if rest.is_empty() => return Ok(parts),
            None => return Err(bad("expected a dot after a name")),
        }
    }
}

/// The indices from the top level down to the field at `path`. Entries of maps do not count as a step of the
/// path but as an index 0, because arrays have them.
fn find(name: &str, schema: &Schema, path: &str) -> Result<Vec<usize>> {
    // An exact top-level name needs no quotes.
    if let Ok(index) = schema.index_of(path) {
        return Ok(vec![index]);
    }
    let missing = || Error::invalid(missing_column(name, schema, path));
    let parts = parse(path).map_err(|e| if path.contains('`') { e } else { missing() })?;
    let mut fields: Vec<(String, FieldRef)> =
        schema.fields().iter().map(|f| (f.name().clone(), f.clone())).collect();
    let mut indices = Vec::with_capacity(parts.len());
    for part in &parts {
        let found = fields.iter().enumerate().filter(|(_, (n, _))| *n == part.name).nth(part.nth - 1);
        let (index, (_, field)) = found.ok_or_else(missing)?;
        indices.push(index);
        let field = field.clone();
        fields = steps(field.data_type());
    }
    Ok(indices)
}

/// The message for a column that is not there, with the names that come close.
fn missing_column(name: &str, schema: &Schema, path: &str) -> String {
    let wanted = path.to_lowercase();
    let mut near: Vec<(usize, String)> = all_paths(schema)
        .into_iter()
        .map(|(p, _)| (distance(&wanted, &p.to_lowercase()), p))
        .filter(|(d, p)| {
            *d <= 2.max(p.chars().count() / 3) || (wanted.len() >= 3 && p.to_lowercase().contains(&wanted))
        })
        .collect();
    near.sort();
    let near: Vec<_> = near.into_iter().take(3).map(|(_, p)| p).collect();
    if near.is_empty() {
        let mut all: Vec<_> = schema.fields().iter().take(8).map(|f| quote_name(f.name())).collect();
        if schema.fields().len() > 8 {
            all.push(format!("… ({} columns)", schema.fields().len()));
        }
        format!(
            "{name}: no column {path:?}; the columns are {}",
            if all.is_empty() { "none".into() } else { all.join(", ") }
        )
    } else {
        format!("{name}: no column {path:?}; did you mean {}?", near.join(", "))
    }
}

/// Edits between two texts, at most a row of the usual table in memory.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().take(100).collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().take(100).enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let substituted = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

fn merge(keep: &mut Vec<(usize, Keep)>, path: &[usize]) {
    let Some((&first, rest)) = path.split_first() else { return };
    let at = match keep.iter().position(|(i, _)| *i == first) {
        Some(at) => at,
        None => {
            keep.push((first, Keep::Children(Vec::new())));
            keep.len() - 1
        }
    };
    match &mut keep[at].1 {
        Keep::All => {}
        entry if rest.is_empty() => *entry = Keep::All,
        Keep::Children(children) => merge(children, rest),
    }
}

fn sort(keep: &mut Keep) {
    if let Keep::Children(children) = keep {
        children.sort_by_key(|(i, _)| *i);
        children.iter_mut().for_each(|(_, k)| sort(k));
    }
}

fn project_field(field: &Field, keep: &Keep) -> FieldRef {
    let Keep::Children(children) = keep else { return Arc::new(field.clone()) };
    let only = |f: &FieldRef| children.first().map_or_else(|| f.clone(), |(_, k)| project_field(f, k));
    let data_type = match field.data_type() {
        DataType::Struct(fields) => {
            DataType::Struct(children.iter().map(|(i, k)| project_field(&fields[*i], k)).collect::<Fields>())
        }
        DataType::List(f) => DataType::List(only(f)),
        DataType::LargeList(f) => DataType::LargeList(only(f)),
        DataType::ListView(f) => DataType::ListView(only(f)),
        DataType::LargeListView(f) => DataType::LargeListView(only(f)),
        DataType::FixedSizeList(f, n) => DataType::FixedSizeList(only(f), *n),
        DataType::Map(entries, sorted) => match entries.data_type() {
            // A map needs both; the other child stays whole.
            DataType::Struct(kv) => {
                let kept = |i: usize| children.iter().find(|(at, _)| *at == i).map_or(&Keep::All, |(_, k)| k);
                let kv: Fields = (0..kv.len()).map(|i| project_field(&kv[i], kept(i))).collect();
                let entries = entries.as_ref().clone().with_data_type(DataType::Struct(kv));
                DataType::Map(Arc::new(entries), *sorted)
            }
            other => other.clone(),
        },
        other => other.clone(),
    };
    Arc::new(field.clone().with_data_type(data_type))
}

fn project_array(array: &ArrayRef, field: &Field, keep: &Keep) -> Result<ArrayRef> {
    let Keep::Children(children) = keep else { return Ok(array.clone()) };
    if array.data_type() == field.data_type() {
        return Ok(array.clone());
    }
    let wrong = |e: arrow_schema::ArrowError| Error::corrupt(format!("projecting {}: {e}", field.name()));
    let first = || children.first().map_or(&Keep::All, |(_, k)| k);
    Ok(match field.data_type() {
        DataType::Struct(fields) => {
            let array = array.as_struct();
            // A reader that pruned by itself hands over just the wanted children.
            let pruned = array.num_columns() == children.len();
            let columns = children.iter().zip(fields).enumerate().map(|(at, ((i, k), f))| {
                let child = array.columns().get(if pruned { at } else { *i });
                let child = child.ok_or_else(|| {
                    Error::corrupt(format!("struct {}: child {i} is missing", field.name()))
                })?;
                project_array(child, f, k)
            });
            let columns = columns.collect::<Result<Vec<_>>>()?;
            let made = StructArray::try_new_with_length(
                fields.clone(),
                columns,
                array.nulls().cloned(),
                array.len(),
            );
            Arc::new(made.map_err(wrong)?)
        }
        DataType::List(f) => Arc::new(project_list::<i32>(array, f, first()).map_err(wrong)?),
        DataType::LargeList(f) => Arc::new(project_list::<i64>(array, f, first()).map_err(wrong)?),
        DataType::ListView(f) => Arc::new(project_list_view::<i32>(array, f, first()).map_err(wrong)?),
        DataType::LargeListView(f) => Arc::new(project_list_view::<i64>(array, f, first()).map_err(wrong)?),
        DataType::FixedSizeList(f, n) => {
            let array = array.as_fixed_size_list();
            let values = project_array(array.values(), f, first())?;
            Arc::new(
                FixedSizeListArray::try_new_with_length(
                    f.clone(),
                    *n,
                    values,
                    array.nulls().cloned(),
                    array.len(),
                )
                .map_err(wrong)?,
            )
        }
        DataType::Map(f, sorted) => {
            let array = array.as_map();
            let DataType::Struct(kv) = f.data_type() else { return Ok(Arc::new(array.clone())) };
            let entries = array.entries();
            let kept = |i: usize| children.iter().find(|(at, _)| *at == i).map_or(&Keep::All, |(_, k)| k);
            let columns = (0..kv.len())
                .map(|i| project_array(entries.column(i), &kv[i], kept(i)))
                .collect::<Result<Vec<_>>>()?;
            let entries = StructArray::try_new_with_length(
                kv.clone(),
                columns,
                entries.nulls().cloned(),
                entries.len(),
            )
            .map_err(wrong)?;
            Arc::new(
                MapArray::try_new(
                    f.clone(),
                    array.offsets().clone(),
                    entries,
                    array.nulls().cloned(),
                    *sorted,
                )
                .map_err(wrong)?,
            )
        }
        _ => array.clone(),
    })
}

fn project_list<O: OffsetSizeTrait>(
    array: &ArrayRef,
    field: &FieldRef,
    keep: &Keep,
) -> Result<GenericListArray<O>, arrow_schema::ArrowError> {
    let array = array.as_list::<O>();
    let values = project_array(array.values(), field, keep)
        .map_err(|e| arrow_schema::ArrowError::ComputeError(e.to_string()))?;
    GenericListArray::try_new(field.clone(), array.offsets().clone(), values, array.nulls().cloned())
}

fn project_list_view<O: OffsetSizeTrait>(
    array: &ArrayRef,
    field: &FieldRef,
    keep: &Keep,
) -> Result<GenericListViewArray<O>, arrow_schema::ArrowError> {
    let array = array.as_list_view::<O>();
    let values = project_array(array.values(), field, keep)
        .map_err(|e| arrow_schema::ArrowError::ComputeError(e.to_string()))?;
    GenericListViewArray::try_new(
        field.clone(),
        array.offsets().clone(),
        array.sizes().clone(),
        values,
        array.nulls().cloned(),
    )
}

fn num_leaves(data_type: &DataType) -> usize {
    let steps = steps(data_type);
    match data_type {
        DataType::Struct(_) => steps.iter().map(|(_, f)| num_leaves(f.data_type())).sum(),
        _ if steps.is_empty() => 1,
        _ => steps.iter().map(|(_, f)| num_leaves(f.data_type())).sum(),
    }
}

fn collect_leaves(data_type: &DataType, keep: &Keep, first: usize, leaves: &mut Vec<usize>) {
    let steps = steps(data_type);
    match keep {
        Keep::Children(children) if !steps.is_empty() => {
            let mut at = first;
            for (i, (_, field)) in steps.iter().enumerate() {
                let kept = children.iter().find(|(c, _)| *c == i).map(|(_, k)| k);
                // A map needs both of its children.
                let kept = kept.or(matches!(data_type, DataType::Map(_, _)).then_some(&Keep::All));
                if let Some(kept) = kept {
                    collect_leaves(field.data_type(), kept, at, leaves);
                }
                at += num_leaves(field.data_type());
            }
        }
        _ => leaves.extend(first..first + num_leaves(data_type)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{Int32Array, StringArray};

    fn schema() -> Schema {
        let inner = Fields::from(vec![
            Field::new("b", DataType::Int32, true),
            Field::new("c.d", DataType::Utf8, true),
        ]);
        let list = DataType::List(Arc::new(Field::new("element", DataType::Struct(inner.clone()), true)));
        Schema::new(vec![
            Field::new("a", DataType::Struct(inner), true),
            Field::new("a.b", DataType::Int32, true),
            Field::new("l", list, true),
            Field::new("x", DataType::Int32, true),
            Field::new("x", DataType::Utf8, true),
        ])
    }

    fn shape(paths: &[&str]) -> String {
        let paths: Vec<_> = paths.iter().map(|p| (*p).to_owned()).collect();
        let p = Projection::new("f", &schema(), &paths).unwrap();
        let each = p
            .schema()
            .fields()
            .iter()
            .map(|f| format!("{}: {}", f.name(), crate::types::type_name(f.data_type())));
        each.collect::<Vec<_>>().join("; ")
    }

    #[test]
    fn paths_walk_structs_and_lists_and_an_exact_name_wins() {
        assert_eq!(shape(&["a.b"]), "a.b: int32");
        assert_eq!(shape(&["`a`.b"]), "a: struct<b: int32>");
        assert_eq!(shape(&["a.`c.d`"]), "a: struct<c.d: utf8>");
        assert_eq!(shape(&["l.item.b"]), "l: list<struct<b: int32>>");
        assert_eq!(shape(&["x#2", "x"]), "x: utf8; x: int32");
        assert_eq!(
            shape(&["a.`c.d`", "l", "`a`.b"]),
            "a: struct<b: int32, c.d: utf8>; l: list<struct<b: int32, c.d: utf8>>"
        );
    }

    #[test]
    fn leaves_are_counted_depth_first() {
        let p = |paths: &[&str]| {
            let paths: Vec<_> = paths.iter().map(|p| (*p).to_owned()).collect();
            Projection::new("f", &schema(), &paths).unwrap().leaves(&schema())
        };
        assert_eq!(p(&["l.item.`c.d`", "a"]), [4, 0, 1]);
        assert_eq!(p(&["x#2"]), [6]);
        assert_eq!(
            leaf_paths(&schema()),
            ["a.b", "a.`c.d`", "`a.b`", "l.item.b", "l.item.`c.d`", "x", "x#2"]
        );
    }

    #[test]
    fn a_wrong_name_is_answered_with_the_close_ones() {
        let schema = Schema::new(vec![
            Field::new("dep_delay", DataType::Int32, true),
            Field::new("arr_delay", DataType::Int32, true),
            Field::new("origin", DataType::Utf8, true),
        ]);
        let message = |p: &str| Projection::new("f.lance", &schema, &[p.to_owned()]).unwrap_err().to_string();
        assert_eq!(message("dep_dely"), "f.lance: no column \"dep_dely\"; did you mean dep_delay?");
        assert_eq!(
            message("zzz"),
            "f.lance: no column \"zzz\"; the columns are dep_delay, arr_delay, origin"
        );
        assert_eq!(
            message("a..b"),
            "f.lance: no column \"a..b\"; the columns are dep_delay, arr_delay, origin"
        );
    }

    #[test]
    fn a_batch_loses_what_was_not_asked_for() {
        let fields =
            Fields::from(vec![Field::new("b", DataType::Int32, true), Field::new("c", DataType::Utf8, true)]);
        let s = StructArray::new(
            fields.clone(),
            vec![Arc::new(Int32Array::from(vec![1, 2])), Arc::new(StringArray::from(vec!["x", "y"]))],
            None,
        );
        let schema = Arc::new(Schema::new(vec![
            Field::new("n", DataType::Int32, true),
            Field::new("a", DataType::Struct(fields), true),
        ]));
        let batch =
            RecordBatch::try_new(schema.clone(), vec![Arc::new(Int32Array::from(vec![7, 8])), Arc::new(s)])
                .unwrap();
        let p = Projection::new("f", &schema, &["a.c".into(), "n".into()]).unwrap();
        let out = p.apply(&batch).unwrap();
        assert_eq!(out.column(0).as_struct().column(0).as_string::<i32>().value(1), "y");
        assert_eq!(out.column(0).as_struct().num_columns(), 1);
        assert_eq!(out.column(1).as_primitive::<arrow_array::types::Int32Type>().values(), &[7, 8]);
    }
}
