//! Scans: what to read, and its batches on their way to Python.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use pennon_convert::Selection;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::capsule;
use crate::error::{Raise, no_column};
use crate::file::Shared;
use crate::stream::{Exported, Stream};
use crate::table::{wrap_batch, wrap_schema, wrap_table};

/// What is read of a file.
#[derive(Debug, Clone, Default)]
pub(crate) struct Wanted {
    pub(crate) columns: Option<Vec<String>>,
    pub(crate) filter: (),
    pub(crate) offset: u64,
    pub(crate) limit: Option<u64>,
    pub(crate) batch_size: Option<usize>,
    pub(crate) batch_bytes: Option<usize>,
    pub(crate) threads: Option<usize>,
}

impl Wanted {
    /// The same in the terms of the readers.
    pub(crate) fn selection(&self, shared: &Shared) -> Selection {
        let end = self.limit.map_or(u64::MAX, |limit| self.offset.saturating_add(limit));
        let mut selection =
            Selection::default().with_columns(self.columns.clone()).with_rows(self.offset..end);
        if let Some(rows) = self.batch_size {
            selection = selection.with_batch_rows(rows.max(1));
        }
        if let Some(bytes) = self.batch_bytes {
            selection = selection.with_batch_bytes(bytes.max(1));
        }
        // Calls into Python are made by the thread that asks for batches, and by no other.
        selection.threads = if shared.by_calls { 1 } else { self.threads.unwrap_or(0) };
        selection
    }
}

/// The columns asked, or the exception that names the one that is not there.
pub(crate) fn projected(py: Python<'_>, shared: &Shared, columns: Option<&[String]>) -> PyResult<SchemaRef> {
    match shared.reader.projected_schema(columns) {
        Err(e) if e.kind() == pennon_file::ErrorKind::Invalid => Err(no_column(py, &e)),
        other => other.raise(py),
    }
}

/// Starts nothing yet: a stream that reads when it is asked.
pub(crate) fn stream(py: Python<'_>, shared: &Arc<Shared>, wanted: &Wanted) -> PyResult<Stream> {
    let schema = projected(py, shared, wanted.columns.as_deref())?;
    let rows = Arc::new(AtomicU64::new(0));
    let (shared, selection) = (shared.clone(), wanted.selection(shared));
    let (counter, remembered) = (rows.clone(), wanted.clone());
    let start = move || {
        shared.remember(remembered, None, counter);
        shared.reader.batches(&selection)
    };
    Ok(Stream::new(schema, rows, Box::new(start)))
}

/// Everything of a stream, with a look at signals after each batch.
pub(crate) fn collect(py: Python<'_>, mut stream: Stream) -> PyResult<Vec<RecordBatch>> {
    let mut batches = Vec::new();
    while let Some(batch) = py.detach(|| stream.next()) {
        batches.push(batch.raise(py)?);
        py.check_signals()?;
    }
    Ok(batches)
}

/// A scan that has not begun: each use of it reads anew.
///
/// It is iterable (batches), and anything that knows the Arrow PyCapsule interface takes it as a stream.
#[pyclass(frozen, module = "pennon", name = "Scan")]
pub(crate) struct PyScan {
    pub(crate) shared: Arc<Shared>,
    pub(crate) wanted: Wanted,
}

#[pymethods]
impl PyScan {
    /// The schema of the batches.
    #[getter]
    fn schema<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        wrap_schema(py, projected(py, &self.shared, self.wanted.columns.as_deref())?)
    }

    /// Reads everything into a table.
    fn to_table<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let stream = stream(py, &self.shared, &self.wanted)?;
        wrap_table(py, stream.schema(), collect(py, stream)?)
    }

    /// Batches one after the other.
    fn to_batches(&self, py: Python<'_>) -> PyResult<PyBatches> {
        PyBatches::new(stream(py, &self.shared, &self.wanted)?)
    }

    fn __iter__(&self, py: Python<'_>) -> PyResult<PyBatches> {
        self.to_batches(py)
    }

    fn __repr__(&self) -> String {
        format!("<pennon.Scan of {}>", self.shared.name())
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        capsule::export_schema(py, &*projected(py, &self.shared, self.wanted.columns.as_deref())?)
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        capsule::export_stream(py, Box::new(Exported(stream(py, &self.shared, &self.wanted)?)))
    }
}

/// An iterator of batches. Nothing is read before the first is asked for.
#[pyclass(frozen, module = "pennon", name = "Batches")]
pub(crate) struct PyBatches {
    stream: Mutex<Stream>,
    schema: SchemaRef,
}

impl PyBatches {
    pub(crate) fn new(stream: Stream) -> PyResult<Self> {
        Ok(Self { schema: stream.schema(), stream: Mutex::new(stream) })
    }
}

#[pymethods]
impl PyBatches {
    /// The schema of the batches.
    #[getter]
    fn schema<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        wrap_schema(py, self.schema.clone())
    }

    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let next = py.detach(|| self.stream.lock().unwrap_or_else(PoisonError::into_inner).next());
        py.check_signals()?;
        next.transpose().raise(py)?.map(|batch| wrap_batch(py, batch)).transpose()
    }
}

/// What the last scan or take of a handle was.
#[derive(Debug, Clone)]
pub(crate) struct Last {
    pub(crate) wanted: Wanted,
    /// Row numbers of a take.
    pub(crate) taken: Option<Arc<[u64]>>,
    pub(crate) rows: Arc<AtomicU64>,
}

impl Last {
    pub(crate) fn rows(&self) -> u64 {
        self.rows.load(Ordering::Relaxed)
    }
}
