//! What readers return where there is no pyarrow: types with the same methods as pyarrow's, which cross to any other library
//! through the PyCapsule interface.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions, StructArray};
use arrow_schema::{Field, FieldRef, Schema, SchemaRef};
use pennon_convert::{schema_from_json, type_name};
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyList, PyString, PyTuple};

use crate::capsule::{self, Buffer};
use crate::error::{Raise, invalid, no_column};
use crate::rows;
use crate::stream::{Exported, Stream};
use crate::wrap::wrap_schema;

/// The place of a field that is named or numbered.
fn place(schema: &Schema, which: &Bound<'_, PyAny>) -> PyResult<usize> {
    let py = which.py();
    if let Ok(name) = which.cast::<PyString>() {
        let name = name.to_cow()?;
        let names =
            || schema.fields().iter().take(8).map(|f| f.name().as_str()).collect::<Vec<_>>().join(", ");
        return schema.index_of(&name).map_err(|_| {
            no_column(
                py,
                &pennon_file::Error::invalid(format!("no column {name:?}; the columns are {}", names())),
            )
        });
    }
    let at: isize = which.extract()?;
    let len = schema.fields().len();
    let found = if at < 0 { len.checked_sub(at.unsigned_abs()) } else { Some(at as usize) };
    found.filter(|i| *i < len).ok_or_else(|| PyIndexError::new_err(format!("column {at} of {len}")))
}

pub(crate) fn metadata<'py>(
    py: Python<'py>,
    metadata: &arrow_schema::Metadata,
) -> PyResult<Bound<'py, PyDict>> {
    let mut pairs: Vec<_> = metadata.iter().collect();
    pairs.sort();
    let dict = PyDict::new(py);
    for (key, value) in pairs {
        dict.set_item(key, value)?;
    }
    Ok(dict)
}

/// The columns of a file or batch: names, types, nullability.
#[pyclass(frozen, module = "pennon", name = "Schema", eq)]
#[derive(PartialEq)]
pub(crate) struct PySchema {
    pub(crate) schema: SchemaRef,
}

#[pymethods]
impl PySchema {
    /// Names of the columns.
    #[getter]
    fn names(&self) -> Vec<&str> {
        self.schema.fields().iter().map(|f| f.name().as_str()).collect()
    }

    /// The fields, one for each column.
    #[getter]
    fn fields(&self) -> Vec<PyField> {
        self.schema.fields().iter().map(|field| PyField { field: field.clone() }).collect()
    }

    /// Key-value metadata of the schema.
    #[getter]
    fn metadata<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        metadata(py, self.schema.metadata())
    }

    /// The field of a name or number.
    fn field(&self, which: &Bound<'_, PyAny>) -> PyResult<PyField> {
        Ok(PyField { field: self.schema.fields()[place(&self.schema, which)?].clone() })
    }

    fn __len__(&self) -> usize {
        self.schema.fields().len()
    }

    fn __repr__(&self) -> String {
        self.schema.fields().iter().map(|f| describe(f)).collect::<Vec<_>>().join("\n")
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        capsule::export_schema(py, &self.schema)
    }
}

fn describe(field: &Field) -> String {
    let null = if field.is_nullable() { "" } else { " not null" };
    format!("{}: {}{null}", field.name(), type_name(field.data_type()))
}

/// A schema from names and types: ``pennon.schema({"id": "int64", "name": "utf8", "tags": "list<utf8>"})``.
///
/// A type is a name as ``pennon schema`` shows it. An ``!`` behind it says that the column has no nulls.
/// With pyarrow installed, the result is a ``pyarrow.Schema``.
///
/// >>> import pennon
/// >>> pennon.schema({"id": "int64!", "tags": "list<utf8>"}).names
/// ['id', 'tags']
#[pyfunction]
#[pyo3(signature = (fields, /))]
pub(crate) fn schema<'py>(fields: &Bound<'py, PyDict>) -> PyResult<Bound<'py, PyAny>> {
    let py = fields.py();
    let mut json = Vec::new();
    for (name, kind) in fields {
        let (name, kind): (String, String) = (name.extract()?, kind.extract()?);
        json.push(
            field_json(&name, kind.trim())
                .ok_or_else(|| invalid(py, format!("column {name:?}: no type {kind:?}")))?,
        );
    }
    let text = serde_json::json!({ "fields": json }).to_string();
    let schema = schema_from_json("schema", &text).raise(py)?;
    wrap_schema(py, Arc::new(schema))
}

/// `list<struct<a: int32, b: utf8>>` in the form of the schema's JSON.
fn field_json(name: &str, kind: &str) -> Option<serde_json::Value> {
    let (kind, nullable) = kind.strip_suffix('!').map_or((kind, true), |k| (k.trim_end(), false));
    let (head, inner) = match kind.split_once('<') {
        Some((head, rest)) => (head, rest.strip_suffix('>')?),
        None => (kind, ""),
    };
    let parts = top_level_parts(inner);
    let named = |(i, part): (usize, &&str)| match (head, i) {
        ("struct", _) => part.split_once(':').and_then(|(n, k)| field_json(n.trim(), k.trim())),
        ("map", 0) => field_json("key", &format!("{part}!")),
        ("map", _) => field_json("value", part),
        _ => field_json("item", part),
    };
    let children: Option<Vec<_>> = parts.iter().enumerate().map(named).collect();
    let mut children = children?;
    if head == "map" {
        children = vec![
            serde_json::json!({ "name": "entries", "type": "struct", "nullable": false, "children": children }),
        ];
    }
    Some(serde_json::json!({ "name": name, "type": head, "nullable": nullable, "children": children }))
}

/// Cuts at commas that stand outside of brackets.
fn top_level_parts(text: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut start) = (Vec::new(), 0, 0);
    for (at, c) in text.char_indices() {
        match c {
            '<' | '[' | '(' => depth += 1,
            '>' | ']' | ')' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(text[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    if !text[start..].trim().is_empty() {
        parts.push(text[start..].trim());
    }
    parts
}

/// A column's name, type, nullability and metadata.
#[pyclass(frozen, module = "pennon", name = "Field", eq)]
#[derive(PartialEq)]
pub(crate) struct PyField {
    field: FieldRef,
}

#[pymethods]
impl PyField {
    #[getter]
    fn name(&self) -> &str {
        self.field.name()
    }

    /// The type by its name, as in ``list<int32>``.
    #[getter]
    fn r#type(&self) -> String {
        type_name(self.field.data_type())
    }

    #[getter]
    fn nullable(&self) -> bool {
        self.field.is_nullable()
    }

    #[getter]
    fn metadata<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        metadata(py, self.field.metadata())
    }

    fn __repr__(&self) -> String {
        describe(&self.field)
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        capsule::export_field(py, &self.field)
    }
}

/// A column of a batch.
#[pyclass(frozen, module = "pennon", name = "Array")]
pub(crate) struct PyArray {
    field: FieldRef,
    array: ArrayRef,
}

#[pymethods]
impl PyArray {
    /// The type by its name, as in ``list<int32>``.
    #[getter]
    fn r#type(&self) -> String {
        type_name(self.array.data_type())
    }

    /// Nulls at the top level.
    #[getter]
    fn null_count(&self) -> usize {
        self.array.logical_null_count()
    }

    /// Items in front of the first in the buffers.
    #[getter]
    fn offset(&self) -> usize {
        self.array.to_data().offset()
    }

    /// The buffers of Arrow's memory layout: validity (or ``None``) first, then those of the type.
    fn buffers(&self) -> Vec<Option<Buffer>> {
        let data = self.array.to_data();
        let nulls = data.nulls().map(|n| Buffer(n.inner().sliced()));
        let mut buffers = vec![nulls];
        buffers.extend(data.buffers().iter().map(|b| Some(Buffer(b.clone()))));
        buffers
    }

    /// The arrays below: items of a list, fields of a struct.
    fn children(&self) -> Vec<PyArray> {
        let fields = match self.array.data_type() {
            arrow_schema::DataType::Struct(fields) => fields.to_vec(),
            _ => Vec::new(),
        };
        let child = |(i, data): (usize, &arrow_data::ArrayData)| {
            let unnamed = || Arc::new(Field::new("item", data.data_type().clone(), true));
            let field = fields.get(i).cloned().unwrap_or_else(unnamed);
            PyArray { field, array: arrow_array::make_array(data.clone()) }
        };
        self.array.to_data().child_data().iter().enumerate().map(child).collect()
    }

    /// The values as Python objects, ``None`` for nulls.
    fn to_pylist<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        PyList::new(py, rows::values(py, &self.array, &self.field)?)
    }

    fn __len__(&self) -> usize {
        self.array.len()
    }

    fn __getitem__<'py>(&self, py: Python<'py>, at: isize) -> PyResult<Bound<'py, PyAny>> {
        let len = self.array.len();
        let found = if at < 0 { len.checked_sub(at.unsigned_abs()) } else { Some(at as usize) };
        let at = found
            .filter(|i| *i < len)
            .ok_or_else(|| PyIndexError::new_err(format!("{at} of {len} values")))?;
        rows::one(py, &self.array.slice(at, 1), &self.field)
    }

    fn __repr__(&self) -> String {
        format!("<pennon.Array of {} {}>", self.array.len(), type_name(self.array.data_type()))
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        capsule::export_field(py, &self.field)
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let _ = requested_schema;
        capsule::export_array(py, capsule::export_field(py, &self.field)?, &self.array.to_data())
    }
}

/// Some rows of a table.
#[pyclass(frozen, module = "pennon", name = "RecordBatch")]
pub(crate) struct PyRecordBatch {
    pub(crate) batch: RecordBatch,
}

#[pymethods]
impl PyRecordBatch {
    #[getter]
    fn num_rows(&self) -> usize {
        self.batch.num_rows()
    }

    #[getter]
    fn num_columns(&self) -> usize {
        self.batch.num_columns()
    }

    #[getter]
    fn column_names(&self) -> Vec<String> {
        self.batch.schema_ref().fields().iter().map(|f| f.name().clone()).collect()
    }

    #[getter]
    fn schema(&self) -> PySchema {
        PySchema { schema: self.batch.schema() }
    }

    /// The column of a name or number.
    fn column(&self, which: &Bound<'_, PyAny>) -> PyResult<PyArray> {
        let at = place(self.batch.schema_ref(), which)?;
        let field = self.batch.schema_ref().fields()[at].clone();
        Ok(PyArray { field, array: self.batch.column(at).clone() })
    }

    /// The rows as dicts.
    fn to_pylist<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        PyList::new(py, rows::dicts(py, &self.batch)?)
    }

    fn __len__(&self) -> usize {
        self.batch.num_rows()
    }

    fn __repr__(&self) -> String {
        format!(
            "<pennon.RecordBatch of {} rows and {} columns>",
            self.batch.num_rows(),
            self.batch.num_columns()
        )
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        capsule::export_schema(py, self.batch.schema_ref())
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let _ = requested_schema;
        let data = StructArray::from(self.batch.clone()).to_data();
        capsule::export_array(py, capsule::export_schema(py, self.batch.schema_ref())?, &data)
    }
}

/// Rows in batches of one schema.
#[pyclass(frozen, module = "pennon", name = "Table")]
pub(crate) struct PyTable {
    pub(crate) schema: SchemaRef,
    pub(crate) batches: Vec<RecordBatch>,
}

impl PyTable {
    fn rows(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }
}

#[pymethods]
impl PyTable {
    #[getter]
    fn num_rows(&self) -> usize {
        self.rows()
    }

    #[getter]
    fn num_columns(&self) -> usize {
        self.schema.fields().len()
    }

    #[getter]
    fn column_names(&self) -> Vec<String> {
        self.schema.fields().iter().map(|f| f.name().clone()).collect()
    }

    #[getter]
    fn schema(&self) -> PySchema {
        PySchema { schema: self.schema.clone() }
    }

    /// The column of a name or number, its batches joined.
    fn column(&self, py: Python<'_>, which: &Bound<'_, PyAny>) -> PyResult<PyArray> {
        let at = place(&self.schema, which)?;
        let field = self.schema.fields()[at].clone();
        let chunks: Vec<&dyn Array> = self.batches.iter().map(|b| b.column(at).as_ref()).collect();
        let array = match chunks.as_slice() {
            [] => arrow_array::new_empty_array(field.data_type()),
            [_] => self.batches[0].column(at).clone(),
            many => py.detach(|| arrow_select::concat::concat(many)).map_err(|e| {
                invalid(
                    py,
                    format!("column {:?} cannot be joined ({e}); take it batch by batch", field.name()),
                )
            })?,
        };
        Ok(PyArray { field, array })
    }

    /// The batches.
    fn to_batches(&self) -> Vec<PyRecordBatch> {
        self.batches.iter().map(|batch| PyRecordBatch { batch: batch.clone() }).collect()
    }

    /// The rows as dicts.
    fn to_pylist<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        for batch in &self.batches {
            for row in rows::dicts(py, batch)? {
                list.append(row)?;
            }
            py.check_signals()?;
        }
        Ok(list)
    }

    /// The columns as lists, by name.
    fn to_pydict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for (at, (name, field)) in rows::names(&self.schema).into_iter().zip(self.schema.fields()).enumerate()
        {
            let list = PyList::empty(py);
            for batch in &self.batches {
                for value in rows::values(py, batch.column(at), field)? {
                    list.append(value)?;
                }
            }
            dict.set_item(name, list)?;
        }
        Ok(dict)
    }

    fn __len__(&self) -> usize {
        self.rows()
    }

    fn __repr__(&self) -> String {
        format!("<pennon.Table of {} rows and {} columns>", self.rows(), self.schema.fields().len())
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        capsule::export_schema(py, &self.schema)
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let batches: Vec<_> = self.batches.clone();
        let start = Box::new(move || Ok(Box::new(batches.into_iter().map(Ok)) as _));
        let stream = Stream::new(self.schema.clone(), Arc::default(), start);
        capsule::export_stream(py, Box::new(Exported(stream)))
    }
}

/// A batch of `schema` from columns that are those of the schema by now.
pub(crate) fn batch(
    schema: SchemaRef,
    columns: Vec<ArrayRef>,
    rows: usize,
) -> pennon_file::Result<RecordBatch> {
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(schema, columns, &options)
        .map_err(|e| pennon_file::Error::invalid(e.to_string()))
}
