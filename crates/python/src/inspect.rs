//! What a file is made of, as Python values.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use serde_json::Value;

use crate::error::{Raise, unsupported};
use crate::file::Shared;

pub(crate) fn inspect<'py>(py: Python<'py>, shared: &Shared) -> PyResult<Bound<'py, PyAny>> {
    let Some(file) = shared.reader.as_lance() else {
        return Err(unsupported(
            py,
            format!(
                "{}: inspect shows Lance files, this is {}",
                shared.name(),
                shared.reader.format().title()
            ),
        ));
    };
    let json =
        py.detach(|| file.inspect().map(|i| pennon_convert::inspection_to_json(file, &i, true))).raise(py)?;
    to_python(py, &json)
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
