//! Scans: what to read, and its batches on their way to Python.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use pennon_convert::Selection;
use pennon_file::filter::Predicate;
use pennon_file::{Explanation, string_views};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict};

use crate::capsule;
use crate::error::{Raise, no_column};
use crate::file::Shared;
use crate::stream::{Exported, Stream};
use crate::wrap::wrap_schema;

/// What is read of a file.
#[derive(Debug, Clone, Default)]
pub(crate) struct Wanted {
    pub(crate) columns: Option<Vec<String>>,
    pub(crate) filter: Option<Predicate>,
    pub(crate) offset: u64,
    pub(crate) limit: Option<u64>,
    pub(crate) batch_size: Option<usize>,
    pub(crate) batch_bytes: Option<usize>,
    pub(crate) threads: Option<usize>,
    /// Strings and binary values come as views.
    pub(crate) string_views: bool,
    /// All batches are kept.
    pub(crate) for_table: bool,
}

impl Wanted {
    /// The same in the terms of the readers.
    pub(crate) fn selection(&self, shared: &Shared) -> Selection {
        let end = self.limit.map_or(u64::MAX, |limit| self.offset.saturating_add(limit));
        let mut selection = Selection::default()
            .with_columns(self.columns.clone())
            .with_filter(self.filter.clone())
            .with_rows(self.offset..end);
        if self.for_table {
            selection = selection.for_table();
        }
        if let Some(rows) = self.batch_size {
            selection = selection.with_batch_rows(rows.max(1));
        }
        if let Some(bytes) = self.batch_bytes {
            selection = selection.with_batch_bytes(bytes.max(1));
        }
        selection.string_views = self.string_views;
        // Calls into Python are made by the thread that asks for batches, and by no other.
        selection.threads = if shared.by_calls { 1 } else { self.threads.unwrap_or(0) };
        selection
    }
}

/// The columns asked, or the exception that names the one that is not there.
pub(crate) fn projected(py: Python<'_>, shared: &Shared, columns: Option<&[String]>) -> PyResult<SchemaRef> {
    match py.detach(|| shared.reader.projected_schema(columns)) {
        Err(e) if e.kind() == pennon_file::ErrorKind::Invalid => Err(no_column(py, &e)),
        other => other.raise(py),
    }
}

/// The schema of the batches, or the exception that names the column that is not there.
pub(crate) fn schema_of(py: Python<'_>, shared: &Shared, wanted: &Wanted) -> PyResult<SchemaRef> {
    let schema = projected(py, shared, wanted.columns.as_deref())?;
    Ok(if wanted.string_views { string_views(&schema) } else { schema })
}

/// Starts nothing yet: a stream that reads when it is asked.
pub(crate) fn stream(py: Python<'_>, shared: &Arc<Shared>, wanted: &Wanted) -> PyResult<Stream> {
    let schema = schema_of(py, shared, wanted)?;
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
        wrap_schema(py, schema_of(py, &self.shared, &self.wanted)?)
    }

    /// Reads everything into a table.
    fn to_table<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let stream = stream(py, &self.shared, &Wanted { for_table: true, ..self.wanted.clone() })?;
        self.shared.wrapped.table(py, stream.schema(), collect(py, stream)?)
    }

    /// Batches one after the other.
    fn to_batches(&self, py: Python<'_>) -> PyResult<PyBatches> {
        Ok(PyBatches::new(&self.shared, stream(py, &self.shared, &self.wanted)?))
    }

    fn __iter__(&self, py: Python<'_>) -> PyResult<PyBatches> {
        self.to_batches(py)
    }

    /// What it would read; see :meth:`File.explain`.
    fn explain<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        explain(py, &self.shared, &self.wanted)
    }

    fn __repr__(&self) -> String {
        format!("<pennon.Scan of {}>", self.shared.name())
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        capsule::export_schema(py, &*schema_of(py, &self.shared, &self.wanted)?)
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
    shared: Arc<Shared>,
}

impl PyBatches {
    pub(crate) fn new(shared: &Arc<Shared>, stream: Stream) -> Self {
        Self { schema: stream.schema(), stream: Mutex::new(stream), shared: shared.clone() }
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
        next.transpose()
            .raise(py)?
            .map(|batch| self.shared.wrapped.batch(py, &self.schema, batch))
            .transpose()
    }
}

/// What would be read, as a dict.
pub(crate) fn explain<'py>(
    py: Python<'py>,
    shared: &Shared,
    wanted: &Wanted,
) -> PyResult<Bound<'py, PyDict>> {
    let found = py.detach(|| shared.reader.explain(&wanted.selection(shared))).raise(py)?;
    planned(py, &found)
}

fn planned<'py>(py: Python<'py>, found: &Explanation) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("columns", &found.columns)?;
    dict.set_item("filter_columns", &found.filter_columns)?;
    dict.set_item("rows", found.rows)?;
    dict.set_item("pages", found.pages)?;
    dict.set_item("bytes", found.bytes)?;
    dict.set_item("filter_bytes", found.filter_bytes)?;
    dict.set_item("passing_rows", found.passing_rows)?;
    dict.set_item("statistics_bytes", found.statistics_bytes)?;
    Ok(dict)
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
    /// As a dict: what was asked of the file, what that was planned to read, and the rows handed out so far.
    pub(crate) fn describe<'py>(&self, py: Python<'py>, shared: &Shared) -> PyResult<Bound<'py, PyDict>> {
        let selection = self.wanted.selection(shared);
        let plan = || match &self.taken {
            Some(rows) => shared.reader.explain_take(rows, &selection),
            None => shared.reader.explain(&selection),
        };
        let plan = py.detach(plan).raise(py)?;
        let dict = PyDict::new(py);
        dict.set_item("kind", if self.taken.is_some() { "take" } else { "scan" })?;
        dict.set_item("columns", &self.wanted.columns)?;
        dict.set_item("filter", self.wanted.filter.as_ref().map(ToString::to_string))?;
        dict.set_item("offset", self.wanted.offset)?;
        dict.set_item("limit", self.wanted.limit)?;
        dict.set_item("rows", self.rows.load(Ordering::Relaxed))?;
        dict.set_item("read_columns", &plan.columns)?;
        dict.set_item("pages", plan.pages)?;
        dict.set_item("bytes", plan.bytes)?;
        Ok(dict)
    }
}
