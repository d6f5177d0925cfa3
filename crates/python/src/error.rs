//! Errors of the crates below as exceptions: the classes are those of `pennon/_errors.py`.

use pennon_file::{Error, ErrorKind};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyType};

/// A class of `pennon._errors`.
macro_rules! class {
    ($py:expr, $name:literal) => {{
        static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
        CLASS.import($py, "pennon._errors", $name)
    }};
}

/// The exception for an error.
pub(crate) fn raised(py: Python<'_>, error: &Error) -> PyErr {
    build(py, error).unwrap_or_else(|e| e)
}

fn build(py: Python<'_>, error: &Error) -> PyResult<PyErr> {
    if let Some(io) = error.io_source() {
        // An exception of a file-like object on its way through the reader.
        if let Some(inner) = io.get_ref().and_then(|e| e.downcast_ref::<PyErr>()) {
            return Ok(inner.clone_ref(py));
        }
        return io_error(py, io, error.place().file.as_deref(), &error.to_string());
    }
    let class = match error.kind() {
        ErrorKind::Corrupt => class!(py, "CorruptFile"),
        ErrorKind::Unsupported => class!(py, "Unsupported"),
        ErrorKind::Limit => class!(py, "LimitExceeded"),
        ErrorKind::Invalid => class!(py, "InvalidArgument"),
        _ => class!(py, "Error"),
    }?;
    let place = error.place();
    let named = PyDict::new(py);
    named.set_item("file", &place.file)?;
    named.set_item("column", &place.column)?;
    named.set_item("page", place.page)?;
    named.set_item("buffer", place.buffer)?;
    named.set_item("offset", place.offset)?;
    Ok(PyErr::from_value(class.call((error.to_string(),), Some(&named))?))
}

/// A failure of the system as `OSError` with its number, and so as the subclass that the number stands for.
fn io_error(py: Python<'_>, io: &std::io::Error, file: Option<&str>, text: &str) -> PyResult<PyErr> {
    use std::io::ErrorKind as K;
    let class = match io.kind() {
        K::NotFound => class!(py, "MissingFile"),
        K::PermissionDenied => class!(py, "PermissionDenied"),
        _ => class!(py, "IoError"),
    }?;
    let number = io.raw_os_error();
    let value = match (number, file) {
        (Some(number), Some(file)) => class.call1((number, strip_code(&io.to_string()), file))?,
        (Some(number), None) => class.call1((number, strip_code(text)))?,
        (None, _) => class.call1((text,))?,
    };
    Ok(PyErr::from_value(value))
}

/// The text of an error of the system without the number that Rust puts behind it; `OSError` puts it in front.
fn strip_code(text: &str) -> &str {
    text.rfind(" (os error ").map_or(text, |at| &text[..at])
}

/// A failure of the system about a file that was named by the caller.
pub(crate) fn os_error(py: Python<'_>, io: &std::io::Error, file: &str) -> PyErr {
    io_error(py, io, Some(file), &io.to_string()).unwrap_or_else(|e| e)
}

pub(crate) fn invalid(py: Python<'_>, text: impl Into<String>) -> PyErr {
    raised(py, &Error::invalid(text))
}

pub(crate) fn unsupported(py: Python<'_>, text: impl Into<String>) -> PyErr {
    raised(py, &Error::unsupported(text))
}

/// A row that is not there: also an `IndexError`.
pub(crate) fn no_row(py: Python<'_>, text: String) -> PyErr {
    let make = || class!(py, "RowOutOfRange")?.call1((text,));
    make().map_or_else(|e| e, PyErr::from_value)
}

/// A column that is not there: also a `KeyError`.
pub(crate) fn no_column(py: Python<'_>, error: &Error) -> PyErr {
    let make = || class!(py, "ColumnNotFound")?.call1((error.to_string(),));
    make().map_or_else(|e| e, PyErr::from_value)
}

/// Results of the crates below become results of Python calls.
pub(crate) trait Raise<T> {
    fn raise(self, py: Python<'_>) -> PyResult<T>;
}

impl<T> Raise<T> for pennon_file::Result<T> {
    fn raise(self, py: Python<'_>) -> PyResult<T> {
        self.map_err(|e| raised(py, &e))
    }
}
