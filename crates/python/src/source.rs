//! Where a file comes from: a path, bytes, or an object that reads.

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use pennon_convert::{Input, ReadOptions, Reader};
use pennon_file::io::ReadAt;
use pyo3::buffer::PyUntypedBuffer;
use pyo3::exceptions::PyTypeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyByteArray, PyBytes, PyString};

use crate::capsule;
use crate::error::{Raise, os_error};

/// An opened source.
pub(crate) struct Opened {
    pub(crate) reader: Reader,
    pub(crate) path: Option<PathBuf>,
    /// Bytes come from an object of Python, one call at a time.
    pub(crate) by_calls: bool,
}

pub(crate) fn open(src: &Bound<'_, PyAny>, options: &ReadOptions) -> PyResult<Opened> {
    let py = src.py();
    let read = |input: Input| py.detach(|| Reader::open(&input, options)).raise(py);
    let by_calls = |reader| Opened { reader, path: None, by_calls: true };
    if src.is_instance_of::<PyString>() || src.hasattr(intern!(py, "__fspath__"))? {
        let path: PathBuf = src.extract()?;
        check_file(py, &path)?;
        return Ok(Opened { reader: read(Input::path(&path))?, path: Some(path), by_calls: false });
    }
    if let Ok(bytes) = src.cast::<PyBytes>() {
        let bytes = Bytes::from_owner(PyBackedBytes::from(bytes.clone()));
        let reader = read(Input::read_at("bytes", Arc::new(bytes)))?;
        return Ok(Opened { reader, path: None, by_calls: false });
    }
    if let Some(object) = FileLike::new(src)? {
        let name = object.name.clone();
        return read(Input::read_at(&name, Arc::new(object))).map(by_calls);
    }
    if let Ok(view) = PyUntypedBuffer::get(src) {
        // Memory that others may write to is copied.
        let bytes = if view.readonly() && view.is_c_contiguous() {
            capsule::share(view).map_or_else(Bytes::new, |b| Bytes::from_owner(Shared(b)))
        } else {
            let copy = py.get_type::<PyBytes>().call1((src,))?;
            Bytes::from_owner(PyBackedBytes::from(copy.cast_into::<PyBytes>()?))
        };
        let reader = read(Input::read_at("bytes", Arc::new(bytes)))?;
        return Ok(Opened { reader, path: None, by_calls: false });
    }
    Err(PyTypeError::new_err(format!(
        "cannot open {}: expected a path, bytes, or a file-like object with read_at, or with read and seek",
        src.get_type().name()?
    )))
}

/// The number by which systems say that a file is a directory.
const IS_DIRECTORY: i32 = 21;

/// What is wrong with a path is said as Python does.
fn check_file(py: Python<'_>, path: &std::path::Path) -> PyResult<()> {
    let opened = py.detach(|| {
        let file = std::fs::File::open(path)?;
        if file.metadata()?.is_dir() {
            return Err(io::Error::from_raw_os_error(IS_DIRECTORY));
        }
        Ok(())
    });
    opened.map_err(|e| os_error(py, &e, &path.display().to_string()))
}

/// Arrow memory as bytes.
struct Shared(arrow_buffer::Buffer);

impl AsRef<[u8]> for Shared {
    fn as_ref(&self) -> &[u8] {
        self.0.as_slice()
    }
}

/// How an object reads.
#[derive(Clone, Copy)]
enum Way {
    /// `read_at(offset, nbytes)`
    AtOffset,
    /// `read_at(nbytes, offset)`, as pyarrow's files have it.
    AtBytes,
    /// `seek` and `read`
    Read,
    /// `seek` and `readinto`
    ReadInto,
}

/// A file-like object. Its calls are made one at a time, because most such objects have one position.
struct FileLike {
    object: Py<PyAny>,
    way: Way,
    name: String,
    len: u64,
    /// Taken without the interpreter lock and kept while waiting for it, never the other way round.
    turn: Mutex<()>,
}

impl FileLike {
    fn new(object: &Bound<'_, PyAny>) -> PyResult<Option<Self>> {
        let py = object.py();
        let seeks = object.hasattr(intern!(py, "seek"))?;
        let way = if object.hasattr(intern!(py, "read_at"))? {
            read_at_order(object)
        } else if seeks && object.hasattr(intern!(py, "read"))? {
            Way::Read
        } else if seeks && object.hasattr(intern!(py, "readinto"))? {
            Way::ReadInto
        } else {
            return Ok(None);
        };
        let name = match object.getattr(intern!(py, "name")).and_then(|n| n.extract::<String>()) {
            Ok(name) => name,
            Err(_) => object.get_type().name()?.to_string(),
        };
        let len = length(object)?;
        Ok(Some(Self { object: object.clone().unbind(), way, name, len, turn: Mutex::new(()) }))
    }

    fn fill(&self, py: Python<'_>, offset: u64, buf: &mut [u8]) -> PyResult<()> {
        let object = self.object.bind(py);
        let mut filled = 0;
        if matches!(self.way, Way::Read | Way::ReadInto) {
            object.call_method1(intern!(py, "seek"), (offset,))?;
        }
        while filled < buf.len() {
            let (at, missing) = (offset + filled as u64, buf.len() - filled);
            let read_at = intern!(py, "read_at");
            let found = match self.way {
                Way::AtOffset => object.call_method1(read_at, (at, missing))?,
                Way::AtBytes => object.call_method1(read_at, (missing, at))?,
                Way::Read => object.call_method1(intern!(py, "read"), (missing,))?,
                Way::ReadInto => {
                    let space = PyByteArray::new_with(py, missing, |_| Ok(()))?;
                    let read = object.call_method1(intern!(py, "readinto"), (&space,))?;
                    let read: usize = read.extract()?;
                    PyBytes::new(py, &space.to_vec()[..read.min(missing)]).into_any()
                }
            };
            // Usually bytes; anything else with the buffer protocol is copied into bytes.
            let found = match found.cast_into::<PyBytes>() {
                Ok(bytes) => bytes,
                Err(e) => {
                    let other = e.into_inner();
                    if other.is_instance_of::<PyString>() {
                        let text =
                            format!("{}: gives text where bytes are due; open it in binary mode", self.name);
                        return Err(PyTypeError::new_err(text));
                    }
                    py.get_type::<PyBytes>().call1((other,))?.cast_into::<PyBytes>()?
                }
            };
            let bytes = found.as_bytes();
            if bytes.is_empty() || bytes.len() > missing {
                let text = format!(
                    "{}: expected {missing} bytes at offset {at}, the object gave {}",
                    self.name,
                    bytes.len()
                );
                return Err(pyo3::exceptions::PyOSError::new_err(text));
            }
            buf[filled..filled + bytes.len()].copy_from_slice(bytes);
            filled += bytes.len();
        }
        Ok(())
    }
}

impl ReadAt for FileLike {
    fn len(&self) -> io::Result<u64> {
        Ok(self.len)
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<()> {
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let filled = Python::try_attach(|py| self.fill(py, offset, buf).map_err(io::Error::other));
        filled.unwrap_or_else(|| Err(io::Error::other("Python is shutting down")))
    }
}

/// The order of the arguments of `read_at`, told by the name of the first.
fn read_at_order(object: &Bound<'_, PyAny>) -> Way {
    let py = object.py();
    let first = || -> PyResult<String> {
        let method = object.getattr(intern!(py, "read_at"))?;
        let signature = py.import("inspect")?.call_method1("signature", (method,))?;
        signature
            .getattr("parameters")?
            .try_iter()?
            .next()
            .transpose()?
            .map_or(Ok(String::new()), |n| n.extract())
    };
    let first = first().unwrap_or_default();
    if ["off", "pos", "start", "at"].iter().any(|word| first.starts_with(word)) {
        Way::AtOffset
    } else {
        Way::AtBytes
    }
}

/// The length of what an object reads: `size`, `len()`, or where `seek` finds the end.
fn length(object: &Bound<'_, PyAny>) -> PyResult<u64> {
    let py = object.py();
    if let Ok(size) = object.getattr(intern!(py, "size")) {
        let size = if size.is_callable() { size.call0()? } else { size };
        if let Ok(len) = size.extract() {
            return Ok(len);
        }
    }
    if object.hasattr(intern!(py, "__len__"))? {
        return Ok(object.len()? as u64);
    }
    let end = object.call_method1(intern!(py, "seek"), (0, 2))?;
    match end.extract() {
        Ok(len) => Ok(len),
        Err(_) => object.call_method0(intern!(py, "tell"))?.extract(),
    }
}
