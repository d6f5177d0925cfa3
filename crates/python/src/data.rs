//! Data to be written, however it is given, as batches.
//!
//! ```text
//! __arrow_c_stream__ __arrow_c_array__   as they are          list of dicts      types from the values, or those asked
//! pandas DataFrame                       through Arrow        dict of columns    NumPy and Arrow arrays, lists
//! iterable of any of these               one after the other
//! ```

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use pyo3::exceptions::PyTypeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyDict, PyIterator, PyList, PyString};

use crate::error::{Raise, invalid};
use crate::infer::Cell;
use crate::table::batch;
use crate::{build, capsule, infer, numpy};

/// Iterables inside each other, at most.
const MOST_DEPTH: usize = 8;

/// Rows of a batch that is made of Python values.
const ROWS: usize = 1 << 14;

type Pull<'py> = Box<dyn FnMut(Python<'py>) -> PyResult<Option<RecordBatch>> + 'py>;

/// Batches of one schema.
pub(crate) struct Data<'py> {
    pub(crate) schema: SchemaRef,
    pull: Pull<'py>,
}

impl<'py> Data<'py> {
    pub(crate) fn next(&mut self, py: Python<'py>) -> PyResult<Option<RecordBatch>> {
        (self.pull)(py)
    }

    fn of(schema: SchemaRef, batches: Vec<RecordBatch>) -> Self {
        let mut batches = batches.into_iter();
        Self { schema, pull: Box::new(move |_| Ok(batches.next())) }
    }
}

/// The batches of `object`. With `schema`, values that have no Arrow type of their own get the types it says.
pub(crate) fn data<'py>(object: &Bound<'py, PyAny>, schema: Option<&SchemaRef>) -> PyResult<Data<'py>> {
    nested(object, schema, 0)
}

/// The same inside of `depth` iterables, one of which may hold itself.
fn nested<'py>(object: &Bound<'py, PyAny>, schema: Option<&SchemaRef>, depth: usize) -> PyResult<Data<'py>> {
    let py = object.py();
    if depth > MOST_DEPTH {
        return Err(invalid(
            py,
            format!("iterables of batches inside each other, more than {MOST_DEPTH} deep"),
        ));
    }
    if object.hasattr(intern!(py, "__arrow_c_stream__"))? {
        match stream(object) {
            // pandas hands itself over through pyarrow, which may not be there.
            Err(e) if is_frame(object)? && e.is_instance_of::<pyo3::exceptions::PyImportError>(py) => {}
            other => return other,
        }
    } else if object.hasattr(intern!(py, "__arrow_c_array__"))? {
        let (field, array) = capsule::import_array(object)?;
        let schema = table_schema(py, &field)?;
        let batch = rows_of(py, &schema, &array)?;
        return Ok(Data::of(schema, vec![batch]));
    }
    if is_of_datasets(object)? {
        return stream(&py.import("pennon.hf")?.call_method1("reader", (object,))?);
    }
    if is_frame(object)? {
        return frame(object, schema);
    }
    if let Ok(columns) = object.cast::<PyDict>() {
        return of_columns(columns, schema);
    }
    if let Ok(rows) = object.cast::<PyList>() {
        let is_rows = match rows.len() {
            0 => schema.is_some(),
            _ => rows.get_item(0)?.is_instance_of::<PyDict>(),
        };
        if is_rows {
            return of_rows(rows, schema);
        }
        if rows.is_empty() {
            return Err(invalid(py, "an empty list has no columns; give a schema"));
        }
    }
    let is_text = object.is_instance_of::<PyString>()
        || object.is_instance_of::<PyBytes>()
        || object.is_instance_of::<PyByteArray>();
    if !is_text && let Ok(items) = object.try_iter() {
        return of_items(py, items, schema, depth);
    }
    Err(PyTypeError::new_err(format!(
        "cannot write {}: expected something with __arrow_c_stream__ or __arrow_c_array__, a pandas frame, a dict of columns, a list of dicts, or an iterable of these",
        object.get_type()
    )))
}

fn is_frame(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    let kind = object.get_type();
    Ok(kind.name()? == "DataFrame" && kind.module()?.to_cow()?.starts_with("pandas"))
}

/// A Hugging Face dataset, which has no Arrow stream of its own.
fn is_of_datasets(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(object.get_type().module()?.to_cow()?.starts_with("datasets."))
}

fn table_schema(py: Python<'_>, field: &Field) -> PyResult<SchemaRef> {
    match field.data_type() {
        DataType::Struct(fields) => {
            Ok(Arc::new(Schema::new_with_metadata(fields.clone(), field.metadata().clone())))
        }
        other => Err(invalid(
            py,
            format!(
                "a column of {} where a table is due; put it into a dict",
                pennon_convert::type_name(other)
            ),
        )),
    }
}

fn rows_of(py: Python<'_>, schema: &SchemaRef, array: &ArrayRef) -> PyResult<RecordBatch> {
    if array.null_count() > 0 {
        return Err(invalid(py, format!("{} rows of a table are null as a whole", array.null_count())));
    }
    batch(schema.clone(), array.as_struct().columns().to_vec(), array.len()).raise(py)
}

fn stream<'py>(object: &Bound<'py, PyAny>) -> PyResult<Data<'py>> {
    let py = object.py();
    let mut arrays = capsule::import_stream(object)?;
    let field = arrow_array::ArrayReader::field(&arrays).clone();
    let schema = table_schema(py, &field)?;
    let of = schema.clone();
    let pull = move |py: Python<'py>| match py.detach(|| arrays.next()) {
        None => Ok(None),
        Some(Ok(array)) => rows_of(py, &of, &array).map(Some),
        Some(Err(e)) => Err(PyErr::take(py).unwrap_or_else(|| invalid(py, e.to_string()))),
    };
    Ok(Data { schema, pull: Box::new(pull) })
}

/// A pandas frame: through pyarrow, else column by column.
fn frame<'py>(frame: &Bound<'py, PyAny>, schema: Option<&SchemaRef>) -> PyResult<Data<'py>> {
    let py = frame.py();
    if let Some(pyarrow) = crate::wrap::pyarrow(py)? {
        return stream(&pyarrow.getattr("Table")?.call_method1("from_pandas", (frame,))?);
    }
    let columns = PyDict::new(py);
    for name in frame.getattr("columns")?.try_iter()? {
        let name = name?;
        let values = frame.get_item(&name)?.call_method0("to_numpy")?;
        columns.set_item(name.str()?, values)?;
    }
    of_columns(&columns, schema)
}

/// A dict of columns, all of one length.
fn of_columns<'py>(columns: &Bound<'py, PyDict>, schema: Option<&SchemaRef>) -> PyResult<Data<'py>> {
    let py = columns.py();
    let (mut fields, mut arrays, mut rows) = (Vec::new(), Vec::<ArrayRef>::new(), None);
    for (name, object) in columns {
        let name: String =
            name.extract().map_err(|_| invalid(py, format!("a column's name is a str, found {name}")))?;
        let wanted = schema.and_then(|s| s.field_with_name(&name).ok());
        let (field, array) = column(py, &name, &object, wanted)?;
        match &rows {
            None => rows = Some((name.clone(), array.len())),
            Some((first, len)) if *len != array.len() => {
                return Err(invalid(
                    py,
                    format!("column {name:?} has {} rows where column {first:?} has {len}", array.len()),
                ));
            }
            Some(_) => {}
        }
        fields.push(field);
        arrays.push(array);
    }
    let found = Arc::new(Schema::new(fields));
    let made = batch(found.clone(), arrays, rows.map_or(0, |(_, len)| len)).raise(py)?;
    Ok(Data::of(found, vec![made]))
}

/// One column, from anything that holds values.
fn column(
    py: Python<'_>,
    name: &str,
    object: &Bound<'_, PyAny>,
    wanted: Option<&Field>,
) -> PyResult<(Field, ArrayRef)> {
    if object.hasattr(intern!(py, "__arrow_c_array__"))? {
        let (field, array) = capsule::import_array(object)?;
        return Ok((field.with_name(name), array));
    }
    if object.hasattr(intern!(py, "__arrow_c_stream__"))? {
        let reader = capsule::import_stream(object)?;
        let field = arrow_array::ArrayReader::field(&reader).as_ref().clone().with_name(name);
        let chunks = reader.collect::<Result<Vec<_>, _>>().map_err(|e| invalid(py, e.to_string()))?;
        let chunks: Vec<&dyn Array> = chunks.iter().map(AsRef::as_ref).collect();
        let array = match chunks.is_empty() {
            true => arrow_array::new_empty_array(field.data_type()),
            false => arrow_select::concat::concat(&chunks)
                .map_err(|e| invalid(py, format!("column {name:?}: {e}")))?,
        };
        return Ok((field, array));
    }
    let is_text = object.is_instance_of::<PyString>()
        || object.is_instance_of::<PyBytes>()
        || object.is_instance_of::<PyByteArray>();
    if !is_text && let Some(array) = numpy::column(py, name, object)? {
        return Ok((Field::new(name, array.data_type().clone(), true), array));
    }
    let values = match object.hasattr(intern!(py, "tolist"))? {
        true => object.call_method0(intern!(py, "tolist"))?,
        false => object.clone(),
    };
    if is_text || values.is_instance_of::<PyDict>() {
        return Err(invalid(
            py,
            format!("column {name:?}: expected an array or a list, found {}", object.get_type()),
        ));
    }
    let iterator = values.try_iter().map_err(|_| {
        invalid(py, format!("column {name:?}: expected an array or a list, found {}", object.get_type()))
    })?;
    let cells =
        iterator.enumerate().map(|(row, value)| Cell::new(row, value?)).collect::<PyResult<Vec<_>>>()?;
    let kind = match wanted {
        Some(field) => field.data_type().clone(),
        None => infer::data_type(py, name, &cells)?,
    };
    let array = build::array(py, name, &kind, &cells)?;
    Ok((Field::new(name, kind, true), array))
}

/// Rows as dicts.
fn of_rows<'py>(rows: &Bound<'py, PyList>, schema: Option<&SchemaRef>) -> PyResult<Data<'py>> {
    let py = rows.py();
    let mut cells = Vec::with_capacity(rows.len());
    for (row, value) in rows.iter().enumerate() {
        if !value.is_instance_of::<PyDict>() {
            return Err(invalid(py, format!("row {row} is a {}, expected a dict", value.get_type().name()?)));
        }
        cells.push(Cell { row, value });
    }
    let schema = match schema {
        Some(schema) => schema.clone(),
        None => match infer::data_type(py, "", &cells)? {
            DataType::Struct(fields) => Arc::new(Schema::new(fields)),
            _ => Arc::new(Schema::empty()),
        },
    };
    let of = schema.clone();
    let mut cells = cells.into_iter();
    let pull = move |py: Python<'py>| {
        let part: Vec<_> = cells.by_ref().take(ROWS).collect();
        if part.is_empty() {
            return Ok(None);
        }
        let made = build::structs(py, "", of.fields(), &part, None)?;
        batch(of.clone(), made.columns().to_vec(), part.len()).raise(py).map(Some)
    };
    Ok(Data { schema, pull: Box::new(pull) })
}

/// Batches one after the other; the first says the schema unless one is given.
fn of_items<'py>(
    py: Python<'py>,
    mut items: Bound<'py, PyIterator>,
    schema: Option<&SchemaRef>,
    depth: usize,
) -> PyResult<Data<'py>> {
    let first = match items.next() {
        Some(first) => nested(&first?, schema, depth + 1)?,
        None => match schema {
            Some(schema) => return Ok(Data::of(schema.clone(), Vec::new())),
            None => return Err(invalid(py, "no batches, so no columns; give a schema")),
        },
    };
    let schema = schema.cloned().unwrap_or_else(|| first.schema.clone());
    let of = schema.clone();
    let mut current = Some(first);
    let pull = move |py: Python<'py>| {
        while let Some(data) = &mut current {
            if let Some(batch) = data.next(py)? {
                return conform(py, batch, &of, false).map(Some);
            }
            current =
                items.next().transpose()?.map(|item| nested(&item, Some(&of), depth + 1)).transpose()?;
        }
        Ok(None)
    };
    Ok(Data { schema, pull: Box::new(pull) })
}

/// The batch with the columns of `schema`, found by name. Types must agree, or are cast without loss if `cast`.
pub(crate) fn conform(
    py: Python<'_>,
    found: RecordBatch,
    schema: &SchemaRef,
    cast: bool,
) -> PyResult<RecordBatch> {
    if found.schema_ref() == schema {
        return Ok(found);
    }
    let have = found.schema();
    if let Some(extra) = have.fields().iter().find(|f| schema.index_of(f.name()).is_err()) {
        return Err(invalid(py, format!("a batch has a column {:?} that the schema has not", extra.name())));
    }
    let same_order = have.fields().len() == schema.fields().len()
        && have.fields().iter().zip(schema.fields()).all(|(a, b)| a.name() == b.name());
    let mut columns = Vec::with_capacity(schema.fields().len());
    for (at, field) in schema.fields().iter().enumerate() {
        let at = if same_order { Ok(at) } else { have.index_of(field.name()) };
        let at = at.map_err(|_| invalid(py, format!("a batch has no column {:?}", field.name())))?;
        let column = found.column(at);
        if column.data_type() == field.data_type() {
            columns.push(column.clone());
            continue;
        }
        let named = pennon_convert::type_name;
        let alike = column.data_type().equals_datatype(field.data_type()) || column.data_type().is_null();
        if !cast && !alike {
            return Err(invalid(
                py,
                format!(
                    "column {:?} is {} in a batch, and {} in the file",
                    field.name(),
                    named(column.data_type()),
                    named(field.data_type())
                ),
            ));
        }
        let options = CastOptions { safe: false, ..CastOptions::default() };
        let fitted = cast_with_options(column, field.data_type(), &options)
            .map_err(|e| invalid(py, format!("column {:?}: {e}", field.name())))?;
        columns.push(fitted);
    }
    batch(schema.clone(), columns, found.num_rows()).raise(py)
}
