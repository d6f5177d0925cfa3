//! Where pointers cross between Python and Arrow: the PyCapsule interface, and buffers either way.
//!
//! ```text
//! __arrow_c_schema__  "arrow_schema"                    ArrowSchema
//! __arrow_c_array__   ("arrow_schema", "arrow_array")   ArrowSchema, ArrowArray
//! __arrow_c_stream__  "arrow_array_stream"              ArrowArrayStream
//! ```
//!
//! A capsule owns its structure; whoever takes it moves it out and leaves a released one behind. pyarrow takes an array whose schema it
//! knows by its address instead ([`hand_over`]). What comes in is trusted as far as the interface demands it: lengths and types are
//! checked by the Arrow crates, values are not.

#![allow(unsafe_code)]

use std::ffi::{CStr, c_int, c_void};
use std::panic::AssertUnwindSafe;
use std::ptr::NonNull;
use std::sync::Arc;

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi};
use arrow_array::ffi_stream::{ArrayStreamReader, FFI_ArrowArrayStream};
use arrow_array::{ArrayRef, RecordBatchReader, make_array};
use arrow_data::ArrayData;
use arrow_schema::{ArrowError, Field, Schema};
use pyo3::buffer::PyUntypedBuffer;
use pyo3::exceptions::{PyBufferError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyTuple};
use pyo3::{ffi, intern};

use crate::error::{invalid, unsupported};

const SCHEMA: &CStr = c"arrow_schema";
const ARRAY: &CStr = c"arrow_array";
const STREAM: &CStr = c"arrow_array_stream";

fn arrow(py: Python<'_>, e: ArrowError) -> PyErr {
    match e {
        ArrowError::NotYetImplemented(text) => unsupported(py, text),
        e => invalid(py, e.to_string()),
    }
}

pub(crate) fn export_schema<'py>(py: Python<'py>, schema: &Schema) -> PyResult<Bound<'py, PyCapsule>> {
    let schema = FFI_ArrowSchema::try_from(schema).map_err(|e| arrow(py, e))?;
    PyCapsule::new_with_value(py, schema, SCHEMA)
}

pub(crate) fn export_field<'py>(py: Python<'py>, field: &Field) -> PyResult<Bound<'py, PyCapsule>> {
    let schema = FFI_ArrowSchema::try_from(field).map_err(|e| arrow(py, e))?;
    PyCapsule::new_with_value(py, schema, SCHEMA)
}

/// The capsules of an array, the first of which is `schema`.
pub(crate) fn export_array<'py>(
    py: Python<'py>,
    schema: Bound<'py, PyCapsule>,
    data: &ArrayData,
) -> PyResult<Bound<'py, PyTuple>> {
    let array = PyCapsule::new_with_value(py, FFI_ArrowArray::new(data), ARRAY)?;
    PyTuple::new(py, [schema, array])
}

/// Calls `import`, an importer of the C data interface, with the address of an array, which it moves out of there, and its schema.
pub(crate) fn hand_over<'py>(
    import: &Bound<'py, PyAny>,
    data: &ArrayData,
    schema: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    // Where it is not moved out, as after an error, it is released here.
    let mut array = FFI_ArrowArray::new(data);
    import.call1((std::ptr::from_mut(&mut array).expose_provenance(), schema))
}

pub(crate) fn export_stream<'py>(
    py: Python<'py>,
    reader: Box<dyn RecordBatchReader + Send>,
) -> PyResult<Bound<'py, PyCapsule>> {
    PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(reader), STREAM)
}

/// The pointer in a capsule that a method of another library returned.
fn pointer<T>(value: &Bound<'_, PyAny>, name: &CStr, method: &str) -> PyResult<NonNull<T>> {
    let capsule = value.cast::<PyCapsule>().map_err(|_| {
        PyTypeError::new_err(format!("{method} returned {} where a capsule is due", value.get_type()))
    })?;
    Ok(capsule.pointer_checked(Some(name))?.cast())
}

/// The schema of anything with `__arrow_c_schema__`.
pub(crate) fn import_schema(object: &Bound<'_, PyAny>) -> PyResult<Schema> {
    let py = object.py();
    if !object.hasattr(intern!(py, "__arrow_c_schema__"))? {
        return Err(PyTypeError::new_err(format!(
            "expected a schema, as pennon.schema({{…}}) or a pyarrow.Schema, found {}",
            object.get_type()
        )));
    }
    let capsule = object.call_method0(intern!(py, "__arrow_c_schema__"))?;
    let pointer = pointer::<FFI_ArrowSchema>(&capsule, SCHEMA, "__arrow_c_schema__")?;
    // SAFETY: the name of the capsule says that it holds an ArrowSchema, and the capsule outlives this borrow.
    let schema = unsafe { pointer.as_ref() };
    Schema::try_from(schema).map_err(|e| arrow(py, e))
}

/// The arrays of anything with `__arrow_c_stream__`, and their field.
pub(crate) fn import_stream(object: &Bound<'_, PyAny>) -> PyResult<ArrayStreamReader> {
    let py = object.py();
    let capsule = object.call_method0(intern!(py, "__arrow_c_stream__"))?;
    let pointer = pointer::<FFI_ArrowArrayStream>(&capsule, STREAM, "__arrow_c_stream__")?;
    // SAFETY: the name of the capsule says that it holds an ArrowArrayStream. It is moved out, and the capsule is left
    // with a released one.
    let stream = unsafe { FFI_ArrowArrayStream::from_raw(pointer.as_ptr()) };
    ArrayStreamReader::try_new(stream).map_err(|e| arrow(py, e))
}

/// The array of anything with `__arrow_c_array__`, and its field.
pub(crate) fn import_array(object: &Bound<'_, PyAny>) -> PyResult<(Field, ArrayRef)> {
    const METHOD: &str = "__arrow_c_array__";
    let py = object.py();
    let pair = object.call_method0(intern!(py, "__arrow_c_array__"))?;
    let pair = pair.cast::<PyTuple>()?;
    let schema = pointer::<FFI_ArrowSchema>(&pair.get_item(0)?, SCHEMA, METHOD)?;
    let array = pointer::<FFI_ArrowArray>(&pair.get_item(1)?, ARRAY, METHOD)?;
    // SAFETY: the names of the capsules say what they hold. The array is moved out, and its capsule is left with a
    // released one; the schema is only looked at while its capsule lives.
    let (schema, array) = unsafe { (schema.as_ref(), FFI_ArrowArray::from_raw(array.as_ptr())) };
    if array.is_released() {
        return Err(invalid(py, "the array was handed over before"));
    }
    let field = Field::try_from(schema).map_err(|e| arrow(py, e))?;
    // SAFETY: a producer of this interface vouches for its buffers.
    let data = unsafe { from_ffi(array, schema) }.map_err(|e| arrow(py, e))?;
    Ok((field, make_array(data)))
}

/// The memory of an object with the buffer protocol, which must be contiguous, as a buffer of Arrow that keeps it alive.
pub(crate) fn share(view: PyUntypedBuffer) -> Option<arrow_buffer::Buffer> {
    let len = view.len_bytes();
    let start = NonNull::new(view.buf_ptr().cast::<u8>())?;
    if !view.is_c_contiguous() {
        return None;
    }
    // SAFETY: a contiguous view of `len` bytes begins at `start` and stays there until it is released, which is when the
    // last buffer drops it. That nobody writes to the memory meanwhile is the caller's promise, as for every view.
    Some(unsafe {
        arrow_buffer::Buffer::from_custom_allocation(start, len, Arc::new(AssertUnwindSafe(view)))
    })
}

/// Memory of an Arrow array. It has Python's buffer protocol: `memoryview(buffer)`, `numpy.frombuffer(buffer, …)`.
#[pyclass(frozen, module = "pennon", name = "Buffer")]
pub(crate) struct Buffer(pub(crate) arrow_buffer::Buffer);

#[pymethods]
impl Buffer {
    /// Size in bytes.
    fn __len__(&self) -> usize {
        self.0.len()
    }

    fn __repr__(&self) -> String {
        format!("<pennon.Buffer of {} bytes>", self.0.len())
    }

    /// Address of the first byte.
    #[getter]
    fn address(&self) -> usize {
        self.0.as_ptr().addr()
    }

    unsafe fn __getbuffer__(slf: Bound<'_, Self>, view: *mut ffi::Py_buffer, flags: c_int) -> PyResult<()> {
        if view.is_null() {
            return Err(PyBufferError::new_err("no view to fill"));
        }
        if flags & ffi::PyBUF_WRITABLE == ffi::PyBUF_WRITABLE {
            return Err(PyBufferError::new_err("the memory of an Arrow array is read-only"));
        }
        let bytes = slf.get().0.as_slice();
        let (start, len) = (bytes.as_ptr().cast_mut().cast::<c_void>(), bytes.len() as ffi::Py_ssize_t);
        // SAFETY: Python gives a view to fill, and the bytes live as long as the object, to which the view keeps a
        // reference.
        let filled = unsafe { ffi::PyBuffer_FillInfo(view, slf.as_ptr(), start, len, 1, flags) };
        if filled == 0 { Ok(()) } else { Err(PyErr::fetch(slf.py())) }
    }
}
