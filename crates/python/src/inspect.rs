//! What a file is made of, as Python values.

use pennon_file::{Error, ExplainOptions, File};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use serde_json::Value;

use crate::error::{Raise, invalid, unsupported};
use crate::file::Shared;
use crate::write::preset_of;

pub(crate) fn inspect<'py>(py: Python<'py>, shared: &Shared) -> PyResult<Bound<'py, PyAny>> {
    let file = lance(py, shared, "inspect shows")?;
    let json =
        py.detach(|| file.inspect().map(|i| pennon_convert::inspection_to_json(file, &i, true))).raise(py)?;
    to_python(py, &json)
}

pub(crate) fn explain_encodings<'py>(
    py: Python<'py>,
    shared: &Shared,
    columns: Option<Vec<String>>,
    preset: Option<&str>,
    format_version: Option<&str>,
    thorough: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let file = lance(py, shared, "explain_encodings is about")?;
    let mut options = ExplainOptions::default();
    options.columns = columns;
    if let Some(name) = preset {
        options.preset = preset_of(py, "preset", name)?;
    }
    options.format_version = match format_version {
        None => None,
        Some("2.1" | "2.2") => format_version.map(str::parse).transpose().raise(py)?,
        Some(other) => {
            return Err(invalid(py, format!("format_version: expected 2.1 or 2.2, found {other:?}")));
        }
    };
    options.thorough = thorough;
    let mut signal = None;
    let explained = py.detach(|| {
        let explained = file.explain_encodings(&options, |_| {
            // Ctrl-C ends the work between two batches.
            signal = Python::attach(|py| py.check_signals()).err();
            if signal.is_some() { Err(Error::invalid("interrupted")) } else { Ok(()) }
        });
        explained.map(|explained| pennon_convert::explained_to_json(file, &explained))
    });
    if let Some(signal) = signal {
        return Err(signal);
    }
    let json = explained.map_err(|e| e.in_file(shared.name())).raise(py)?;
    to_python(py, &json["columns"])
}

/// The Lance file behind a handle.
fn lance<'a>(py: Python<'_>, shared: &'a Shared, what: &str) -> PyResult<&'a File> {
    shared.reader.as_lance().ok_or_else(|| {
        let format = shared.reader.format().title();
        unsupported(py, format!("{}: {what} Lance files, this is {format}", shared.name()))
    })
}

/// JSON as Python's `json` would load it.
pub(crate) fn to_python<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        Value::Null => py.None().into_bound(py),
        Value::Bool(b) => b.into_pyobject(py)?.to_owned().into_any(),
        Value::Number(n) => match (n.as_u64(), n.as_i64()) {
            (Some(n), _) => n.into_pyobject(py)?.into_any(),
            (None, Some(n)) => n.into_pyobject(py)?.into_any(),
            (None, None) => n.as_f64().into_pyobject(py)?.into_any(),
        },
        Value::String(s) => s.into_pyobject(py)?.into_any(),
        Value::Array(items) => {
            let items = items.iter().map(|v| to_python(py, v)).collect::<PyResult<Vec<_>>>()?;
            PyList::new(py, items)?.into_any()
        }
        Value::Object(map) => {
            let dict = PyDict::new(py);
            for (key, value) in map {
                dict.set_item(key, to_python(py, value)?)?;
            }
            dict.into_any()
        }
    })
}
