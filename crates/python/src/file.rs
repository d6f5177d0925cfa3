//! An open file.

use std::path::PathBuf;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use arrow_schema::SchemaRef;
use pennon_convert::{Format, ReadOptions, Reader, Selection};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyMemoryView, PySlice, PyTuple};

use crate::capsule::{self, Buffer};
use crate::error::Raise;
use crate::expr::predicate;
use crate::indices::Rows;
use crate::scan::{Last, PyBatches, PyScan, Wanted, collect, explain, projected, schema_of, stream};
use crate::source;
use crate::stream::{Exported, Stream};
use crate::table::metadata;
use crate::wrap::{Wrapped, wrap_schema};
use crate::{inspect, rows, statistics};

/// What a handle and its scans share.
pub(crate) struct Shared {
    pub(crate) reader: Reader,
    pub(crate) path: Option<PathBuf>,
    pub(crate) by_calls: bool,
    /// How it was opened, to open it again in another process.
    format: Option<Format>,
    mapping: bool,
    unstable: bool,
    with_schema: bool,
    count: OnceLock<u64>,
    last: Mutex<Option<Last>>,
    pub(crate) wrapped: Wrapped,
}

impl Shared {
    pub(crate) fn name(&self) -> &str {
        self.reader.name()
    }

    /// The schema of all columns, which a wide file is asked for when it is first wanted.
    pub(crate) fn schema(&self, py: Python<'_>) -> PyResult<SchemaRef> {
        py.detach(|| self.reader.schema()).raise(py)
    }

    /// Rows of the file; formats that do not say are read through once.
    pub(crate) fn num_rows(&self, py: Python<'_>) -> PyResult<u64> {
        if let Some(rows) = self.reader.num_rows() {
            return Ok(rows);
        }
        if let Some(rows) = self.count.get() {
            return Ok(*rows);
        }
        let mut rows = 0;
        let mut batches = py.detach(|| self.reader.batches(&Selection::default())).raise(py)?;
        while let Some(batch) = py.detach(|| batches.next()) {
            rows += batch.raise(py)?.num_rows() as u64;
            py.check_signals()?;
        }
        Ok(*self.count.get_or_init(|| rows))
    }

    pub(crate) fn remember(&self, wanted: Wanted, taken: Option<Arc<[u64]>>, rows: Arc<AtomicU64>) {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(Last { wanted, taken, rows });
    }
}

/// Opens a file to read: Lance, Parquet, Arrow IPC, CSV or JSON lines, told by its content.
///
/// Parameters
/// ----------
/// src
///     A path, bytes, or a file-like object: one with ``read_at(offset, nbytes)`` (or pyarrow's ``read_at(nbytes, offset)``),
///     or with ``seek`` and ``read``. Nothing is read whole; pieces are read where they are needed.
/// format
///     ``"lance"``, ``"parquet"``, ``"arrow"``, ``"arrows"``, ``"csv"`` or ``"jsonl"``, instead of looking at the content.
/// schema
///     Types for the columns of a CSV or JSON lines file, instead of guessing them.
/// mapping
///     Whether a local file may be mapped into memory. Say ``False`` where another process may cut the file short.
/// unstable
///     Whether a Lance file may have a format version that its authors mark unstable (2.3).
///
/// >>> import pennon
/// >>> f = pennon.open("birds.lance")
/// >>> f.num_rows, f.columns
/// (3, ['name', 'wings'])
#[pyfunction]
#[pyo3(signature = (src, *, format=None, schema=None, mapping=true, unstable=false))]
pub(crate) fn open(
    src: &Bound<'_, PyAny>,
    format: Option<&str>,
    schema: Option<&Bound<'_, PyAny>>,
    mapping: bool,
    unstable: bool,
) -> PyResult<PyFile> {
    let py = src.py();
    let mut options = ReadOptions::default();
    options.format = format.map(str::parse).transpose().raise(py)?;
    options.mapping = mapping;
    options.allow_unstable = unstable;
    options.schema = schema.map(capsule::import_schema).transpose()?.map(Arc::new);
    let opened = source::open(src, &options)?;
    let shared = Shared {
        reader: opened.reader,
        path: opened.path,
        by_calls: opened.by_calls,
        format: options.format,
        mapping,
        unstable,
        with_schema: options.schema.is_some(),
        count: OnceLock::new(),
        last: Mutex::new(None),
        wrapped: Wrapped::default(),
    };
    Ok(PyFile { shared: Arc::new(shared) })
}

/// An open file. It has no position and no thread of its own: any number of threads may use it at once, it works on in a
/// forked child, and the handle of a path can be pickled.
///
/// >>> import pennon
/// >>> f = pennon.open("birds.lance")
/// >>> len(f)
/// 3
/// >>> f[-1]
/// {'name': 'owl', 'wings': 2}
#[pyclass(frozen, module = "pennon", name = "File")]
pub(crate) struct PyFile {
    shared: Arc<Shared>,
}

impl PyFile {
    fn taken(&self, py: Python<'_>, rows: Vec<u64>, wanted: Wanted) -> PyResult<Stream> {
        let schema = schema_of(py, &self.shared, &wanted)?;
        let counter = Arc::new(AtomicU64::new(0));
        let shared = self.shared.clone();
        let (selection, counted) = (wanted.selection(&shared), counter.clone());
        let start = move || {
            let rows: Arc<[u64]> = rows.into();
            shared.remember(wanted, Some(rows.clone()), counted);
            shared.reader.take(&rows, &selection)
        };
        Ok(Stream::new(schema, counter, Box::new(start)))
    }

    fn rows<'a>(&'a self, py: Python<'_>) -> PyResult<Rows<'a>> {
        Ok(Rows { name: self.shared.name(), count: self.shared.num_rows(py)? })
    }

    fn take_rows<'py>(
        &self,
        py: Python<'py>,
        rows: Vec<u64>,
        columns: Option<Vec<String>>,
        string_views: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let wanted = Wanted { columns, string_views, for_table: true, ..Wanted::default() };
        let stream = self.taken(py, rows, wanted)?;
        self.shared.wrapped.table(py, stream.schema(), collect(py, stream)?)
    }
}

#[pymethods]
impl PyFile {
    /// The schema of the columns.
    #[getter]
    fn schema<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        wrap_schema(py, self.shared.schema(py)?)
    }

    /// Names of the columns.
    #[getter]
    fn columns(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        Ok(self.shared.schema(py)?.fields().iter().map(|f| f.name().clone()).collect())
    }

    /// Rows of the file. Formats that do not say (CSV, JSON lines, Arrow streams) are read through for it, once.
    #[getter]
    fn num_rows(&self, py: Python<'_>) -> PyResult<u64> {
        self.shared.num_rows(py)
    }

    /// The format: ``"lance"``, ``"parquet"``, ``"arrow"``, ``"arrows"``, ``"csv"`` or ``"jsonl"``.
    #[getter]
    fn format(&self) -> &'static str {
        self.shared.reader.format().name()
    }

    /// The version of the Lance format, as in ``"2.1"``; ``None`` for other formats.
    #[getter]
    fn format_version(&self) -> Option<String> {
        self.shared.reader.as_lance().map(|f| f.format_version().to_string())
    }

    /// Key-value metadata of the schema.
    #[getter]
    fn metadata<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        metadata(py, self.shared.schema(py)?.metadata())
    }

    /// The path as it was given, or ``None`` for bytes and file-like objects.
    #[getter]
    fn path(&self) -> Option<String> {
        self.shared.path.as_ref().map(|p| p.display().to_string())
    }

    /// A scan to be handed on: iterable, and an Arrow stream for other libraries.
    #[pyo3(signature = (columns=None, filter=None, offset=0, limit=None, batch_size=None, batch_bytes=None, threads=None, string_views=false))]
    #[allow(clippy::too_many_arguments)]
    fn scan(
        &self,
        py: Python<'_>,
        columns: Option<Vec<String>>,
        filter: Option<&Bound<'_, PyAny>>,
        offset: u64,
        limit: Option<u64>,
        batch_size: Option<usize>,
        batch_bytes: Option<usize>,
        threads: Option<usize>,
        string_views: bool,
    ) -> PyResult<PyScan> {
        projected(py, &self.shared, columns.as_deref())?;
        let wanted = Wanted {
            columns,
            filter: predicate(py, &self.shared, filter)?,
            offset,
            limit,
            batch_size,
            batch_bytes,
            threads,
            string_views,
            ..Wanted::default()
        };
        Ok(PyScan { shared: self.shared.clone(), wanted })
    }

    /// Reads columns and rows into a table: a ``pyarrow.Table`` where pyarrow is installed, else a :class:`pennon.Table`.
    ///
    /// Columns are named by paths: ``"a"``, ``"a.b"`` for a field of a struct, ``"a.item"`` for the items of a list.
    ///
    /// >>> import pennon
    /// >>> pennon.open("birds.lance").to_table(columns=["name"], limit=2).to_pylist()
    /// [{'name': 'auk'}, {'name': 'kiwi'}]
    #[pyo3(signature = (columns=None, filter=None, offset=0, limit=None, string_views=false))]
    fn to_table<'py>(
        &self,
        py: Python<'py>,
        columns: Option<Vec<String>>,
        filter: Option<&Bound<'_, PyAny>>,
        offset: u64,
        limit: Option<u64>,
        string_views: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let stream = stream(
            py,
            &self.shared,
            &Wanted {
                columns,
                filter: predicate(py, &self.shared, filter)?,
                offset,
                limit,
                string_views,
                for_table: true,
                ..Wanted::default()
            },
        )?;
        self.shared.wrapped.table(py, stream.schema(), collect(py, stream)?)
    }

    /// The same batch by batch. ``batch_size`` is the most rows of a batch and ``batch_bytes`` about the most bytes, whichever
    /// is met first; ``threads`` is how many decode ahead. ``string_views`` hands strings and binary values out as views.
    ///
    /// >>> import pennon
    /// >>> [batch.num_rows for batch in pennon.open("birds.lance").to_batches(batch_size=2)]
    /// [2, 1]
    #[pyo3(signature = (columns=None, filter=None, offset=0, limit=None, batch_size=None, batch_bytes=None, threads=None, string_views=false))]
    #[allow(clippy::too_many_arguments)]
    fn to_batches(
        &self,
        py: Python<'_>,
        columns: Option<Vec<String>>,
        filter: Option<&Bound<'_, PyAny>>,
        offset: u64,
        limit: Option<u64>,
        batch_size: Option<usize>,
        batch_bytes: Option<usize>,
        threads: Option<usize>,
        string_views: bool,
    ) -> PyResult<PyBatches> {
        let wanted = Wanted {
            columns,
            filter: predicate(py, &self.shared, filter)?,
            offset,
            limit,
            batch_size,
            batch_bytes,
            threads,
            string_views,
            ..Wanted::default()
        };
        Ok(PyBatches::new(&self.shared, stream(py, &self.shared, &wanted)?))
    }

    /// The first rows.
    #[pyo3(signature = (n=10, columns=None))]
    fn head<'py>(
        &self,
        py: Python<'py>,
        n: u64,
        columns: Option<Vec<String>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.to_table(py, columns, None, 0, Some(n), false)
    }

    /// Rows by number, in the order asked, repeats kept: a list, range, slice, NumPy or Arrow array of numbers.
    ///
    /// A number that is negative or past the end raises an ``IndexError`` before anything is read.
    ///
    /// >>> import pennon
    /// >>> pennon.open("birds.lance").take([2, 0, 2], columns=["name"]).to_pylist()
    /// [{'name': 'owl'}, {'name': 'auk'}, {'name': 'owl'}]
    #[pyo3(signature = (indices, columns=None, string_views=false))]
    fn take<'py>(
        &self,
        py: Python<'py>,
        indices: &Bound<'py, PyAny>,
        columns: Option<Vec<String>>,
        string_views: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let rows = self.rows(py)?.all(indices)?;
        self.take_rows(py, rows, columns, string_views)
    }

    /// Rows of the file, or of those the rows for which a filter is true.
    ///
    /// >>> import pennon
    /// >>> pennon.open("birds.lance").count_rows("wings = 0")
    /// 1
    #[pyo3(signature = (filter=None))]
    fn count_rows(&self, py: Python<'_>, filter: Option<&Bound<'_, PyAny>>) -> PyResult<u64> {
        let Some(filter) = predicate(py, &self.shared, filter)? else { return self.shared.num_rows(py) };
        // Batches without columns: their rows are counted, and signals are looked at between them.
        let wanted = Wanted { columns: Some(Vec::new()), filter: Some(filter), ..Wanted::default() };
        let mut stream = stream(py, &self.shared, &wanted)?;
        let mut rows = 0;
        while let Some(batch) = py.detach(|| stream.next()) {
            rows += batch.raise(py)?.num_rows() as u64;
            py.check_signals()?;
        }
        Ok(rows)
    }

    /// The numbers of the rows for which a filter is true, ascending: a ``memoryview`` of 64-bit integers without sign, which
    /// ``numpy.frombuffer(…, "uint64")`` and :meth:`take` understand.
    ///
    /// >>> import pennon
    /// >>> list(pennon.open("birds.lance").row_numbers("wings > 0"))
    /// [0, 2]
    fn row_numbers<'py>(&self, py: Python<'py>, filter: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let Some(filter) = predicate(py, &self.shared, Some(filter))? else {
            return Err(PyTypeError::new_err("row_numbers wants a filter, found None"));
        };
        let shared = &*self.shared;
        let threads = usize::from(shared.by_calls);
        let mut found = py.detach(|| shared.reader.row_numbers(&filter, threads)).raise(py)?;
        let mut all: Vec<u64> = Vec::new();
        while let Some(rows) = py.detach(|| found.next()) {
            all.extend(rows.raise(py)?);
            py.check_signals()?;
        }
        let buffer = Bound::new(py, Buffer(arrow_buffer::Buffer::from_vec(all)))?;
        PyMemoryView::from(&buffer)?.call_method1("cast", ("Q",))
    }

    /// What a scan would read, told from the file's metadata: ``{"columns", "filter_columns", "rows", "pages", "bytes",
    /// "filter_bytes", "passing_rows", "statistics_bytes"}``. Bytes are those of the pages that hold the rows, so the most that is
    /// read; of a Parquet file ``pages`` counts column chunks. ``rows`` are those that statistics do not rule out, ``passing_rows``
    /// those of them that pass by statistics alone.
    #[pyo3(signature = (columns=None, filter=None, offset=0, limit=None))]
    fn explain<'py>(
        &self,
        py: Python<'py>,
        columns: Option<Vec<String>>,
        filter: Option<&Bound<'py, PyAny>>,
        offset: u64,
        limit: Option<u64>,
    ) -> PyResult<Bound<'py, PyDict>> {
        projected(py, &self.shared, columns.as_deref())?;
        let filter = predicate(py, &self.shared, filter)?;
        explain(py, &self.shared, &Wanted { columns, filter, offset, limit, ..Wanted::default() })
    }

    /// What the last scan or take of this handle asked of the file, by whatever library: ``{"kind", "columns", "filter", "offset",
    /// "limit", "rows", "read_columns", "pages", "bytes"}``, or ``None`` before the first. ``rows`` were handed out; pages and
    /// bytes are those that were planned, as in :meth:`explain`.
    #[getter]
    fn last_scan<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let last = self.shared.last.lock().unwrap_or_else(PoisonError::into_inner).clone();
        last.map(|last| last.describe(py, &self.shared)).transpose()
    }

    /// The file as a ``pyarrow.dataset.Dataset``: DuckDB, Polars and pandas use it, and their columns and filters reach the file.
    fn to_dataset<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("pennon.dataset")?.getattr("Dataset")?.call1((slf,))
    }

    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("pennon._html")?.call_method1("render", (slf,))
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(usize::try_from(self.shared.num_rows(py)?)?)
    }

    fn __getitem__<'py>(&self, py: Python<'py>, which: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let file = self.rows(py)?;
        if let Ok(slice) = which.cast::<PySlice>() {
            let (start, step, len) = file.slice(slice)?;
            if step != 1 {
                return self.take_rows(py, file.all(which)?, None, false);
            }
            return self.to_table(py, None, None, start, Some(len as u64), false);
        }
        if !which.hasattr("__index__")? {
            return Err(PyTypeError::new_err(format!(
                "rows are found by an integer or a slice, found {}; columns by to_table(columns=[…])",
                which.get_type().name()?
            )));
        }
        let row = file.one(which)?;
        let batches = collect(py, self.taken(py, vec![row], Wanted::default())?)?;
        let dict =
            batches.first().map(|b| rows::dicts(py, b)).transpose()?.and_then(|d| d.into_iter().next());
        dict.map(Bound::into_any)
            .ok_or_else(|| crate::error::unsupported(py, format!("row {row} was not read")))
    }

    fn __iter__(&self, py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
        let _ = py;
        Err(PyTypeError::new_err("iterate over to_batches(), or over rows by f[i]"))
    }

    /// What the file is made of, as ``pennon inspect --json --pages`` prints it: pages, layouts, encodings, bytes.
    fn inspect<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        inspect::inspect(py, &self.shared)
    }

    /// Why the columns of a Lance file would be stored in which way: the writer's chooser of encodings looks at all of their values,
    /// and nothing is written. A list with a dict for each stored column: what is in the file (``"file"``), what the choice comes to
    /// (``"bytes"``, ``"encodings"``), ``"reasons"``, and ``"candidates"`` with estimated bytes, nanoseconds and cost, what was chosen
    /// first. ``docs/cli.md`` has all members.
    ///
    /// ``preset`` is ``"balanced"`` (the default), ``"fast"`` or ``"small"``; ``format_version`` ``"2.1"`` or ``"2.2"``, the file's unless
    /// given; ``thorough`` looks at all of the data instead of samples.
    ///
    /// >>> import pennon
    /// >>> pennon.write({"n": list(range(100_000))}, "count.lance", preset="fast")
    /// 100000
    /// >>> why, = pennon.open("count.lance").explain_encodings(preset="small")
    /// >>> why["path"], why["reasons"][0]["reason"], why["bytes"] * 10 < why["file"]["bytes"]
    /// ('n', 'costs least', True)
    #[pyo3(signature = (columns=None, preset=None, *, format_version=None, thorough=false))]
    fn explain_encodings<'py>(
        &self,
        py: Python<'py>,
        columns: Option<Vec<String>>,
        preset: Option<&str>,
        format_version: Option<&str>,
        thorough: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        projected(py, &self.shared, columns.as_deref())?;
        inspect::explain_encodings(py, &self.shared, columns, preset, format_version, thorough)
    }

    /// What the file says of its columns' values: for every column that has an order ``{"path", "type", "value_count",
    /// "null_count", "nan_count", "min", "max", "min_exact", "max_exact", "distinct", "bytes", "zone_rows", "zones"}``, and for every
    /// zone the same counts and bounds with ``"first_row"`` and ``"num_rows"``. A bound that is not exact is none of the values, but
    /// bounds them: texts and bytes are cut at 64 bytes. The list is empty for files without statistics, as other writers' are.
    ///
    /// >>> import pennon
    /// >>> _ = pennon.write([{"n": 7}, {"n": 3}, {"n": None}], "n.lance")
    /// >>> n, = pennon.open("n.lance").statistics()
    /// >>> n["min"], n["max"], n["null_count"]
    /// (3, 7, 1)
    fn statistics<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        statistics::statistics(py, &self.shared)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let rows = self.shared.reader.num_rows().map_or(String::new(), |n| format!("{n} rows, "));
        let columns = self.shared.schema(py)?.fields().len();
        Ok(format!("<pennon.File {} ({}): {rows}{columns} columns>", self.shared.name(), self.format()))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let shared = &*self.shared;
        let Some(path) = &shared.path else {
            return Err(PyTypeError::new_err(format!(
                "the handle of {} cannot be pickled: only that of a path can be opened again elsewhere",
                shared.name()
            )));
        };
        if shared.with_schema {
            return Err(PyTypeError::new_err("a handle opened with a schema cannot be pickled"));
        }
        let absolute = std::path::absolute(path).unwrap_or_else(|_| path.clone());
        let reopen = py.import("pennon._values")?.getattr("reopen")?;
        let format = shared.format.map(|f| f.name());
        let arguments =
            (absolute.into_os_string(), format, shared.mapping, shared.unstable).into_pyobject(py)?;
        Ok((reopen, arguments))
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        capsule::export_schema(py, &*self.shared.schema(py)?)
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let stream = stream(py, &self.shared, &Wanted::default())?;
        capsule::export_stream(py, Box::new(Exported(stream)))
    }
}
