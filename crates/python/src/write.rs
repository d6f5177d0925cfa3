//! Writing files.

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::{Mutex, PoisonError};

use arrow_schema::SchemaRef;
use pennon_convert::{BatchWriter, Format, Output, WriterOptions, create_writer};
use pennon_file::{Compression, FormatVersion, Preset};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyMapping;

use crate::capsule;
use crate::data::{Data, conform, data};
use crate::error::{Raise, invalid};
use crate::pool::{pool, within};

/// Options as they were given, checked against the format.
struct Options {
    format: Format,
    replace: bool,
    writer: WriterOptions,
}

#[allow(clippy::too_many_arguments)]
fn options(
    py: Python<'_>,
    path: &Path,
    to: Option<&str>,
    format_version: Option<&Bound<'_, PyAny>>,
    compression: Option<&str>,
    preset: Option<&str>,
    column_presets: Option<&Bound<'_, PyAny>>,
    thorough: bool,
    align: Option<u64>,
    max_page_bytes: Option<u64>,
    memory: Option<usize>,
    no_checksums: bool,
    no_clobber: bool,
    stats: bool,
    bloom: Option<Vec<String>>,
) -> PyResult<Options> {
    let format = match to {
        Some(name) => name.parse().raise(py)?,
        None => Format::for_writing(path).raise(py)?,
    };
    let mut writer = WriterOptions::default();
    if let Some(version) = format_version {
        writer.format_version = Some(version.str()?.to_cow()?.parse::<FormatVersion>().raise(py)?);
    }
    writer.compression = match compression {
        None => Compression::Auto,
        Some(text) => compression_of(text).ok_or_else(|| {
            invalid(py, format!("compression: expected auto, none, lz4, zstd or zstd:LEVEL, found {text:?}"))
        })?,
    };
    if let Some(name) = preset {
        writer.preset = preset_of(py, "preset", name)?;
    }
    if let Some(given) = column_presets {
        writer.column_presets = presets_of(py, given)?;
    }
    writer.thorough = thorough;
    writer.alignment = align;
    writer.max_page_bytes = max_page_bytes;
    writer.memory_bytes = memory;
    writer.checksums = !no_checksums;
    writer.statistics = stats;
    let about_lance = [
        ("format_version", format_version.is_some()),
        ("preset", preset.is_some()),
        ("column_presets", column_presets.is_some()),
        ("thorough", thorough),
        ("align", align.is_some()),
        ("max_page_bytes", max_page_bytes.is_some()),
        ("no_checksums", no_checksums),
        ("stats", !stats),
        ("bloom", bloom.is_some()),
    ];
    if let Some((option, _)) =
        about_lance.iter().find(|(_, given)| *given).filter(|_| format != Format::Lance)
    {
        return Err(invalid(py, format!("{option} is about Lance files; the target is {}", format.name())));
    }
    writer.blooms = bloom.unwrap_or_default();
    let compresses = !matches!(writer.compression, Compression::Auto | Compression::None);
    if matches!(format, Format::Csv | Format::Jsonl) && compresses {
        return Err(invalid(py, format!("compression: a {} file is plain text", format.name())));
    }
    Ok(Options { format, replace: !no_clobber, writer })
}

/// A preset by its name; `option` is where it was given.
pub(crate) fn preset_of(py: Python<'_>, option: &str, name: &str) -> PyResult<Preset> {
    name.parse()
        .map_err(|_| invalid(py, format!("{option}: expected balanced, fast or small, found {name:?}")))
}

/// A dict of columns and the names of their presets.
fn presets_of(py: Python<'_>, given: &Bound<'_, PyAny>) -> PyResult<Vec<(String, Preset)>> {
    let wrong = || {
        PyTypeError::new_err(
            "column_presets: expected a dict of columns and presets, as in {\"a\": \"small\"}",
        )
    };
    let Ok(mapping) = given.cast::<PyMapping>() else { return Err(wrong()) };
    let mut presets = Vec::new();
    for item in mapping.items()?.iter() {
        let (path, name): (String, String) = item.extract().map_err(|_| wrong())?;
        let preset = preset_of(py, &format!("column_presets[{path:?}]"), &name)?;
        presets.push((path, preset));
    }
    Ok(presets)
}

fn compression_of(text: &str) -> Option<Compression> {
    Some(match text {
        "auto" => Compression::Auto,
        "none" => Compression::None,
        "lz4" => Compression::Lz4,
        "zstd" => Compression::Zstd(None),
        _ => {
            let level = i32::from_str(text.strip_prefix("zstd:")?).ok()?;
            Compression::Zstd(Some(level).filter(|l| (1..=22).contains(l)).map(Some)?)
        }
    })
}

/// A file being written.
struct Open {
    writer: Box<dyn BatchWriter>,
    schema: SchemaRef,
}

enum State {
    /// Nothing was written yet, and the schema is not known.
    Waiting,
    Open(Open),
    Closed,
}

struct Inner {
    path: PathBuf,
    options: Options,
    /// The schema that the caller gave.
    given: Option<SchemaRef>,
    state: State,
    rows: u64,
    process: u32,
}

impl Drop for Inner {
    fn drop(&mut self) {
        // An unfinished file takes its temporary name with it, but that belongs to the process that made it.
        if self.process != std::process::id() {
            std::mem::forget(std::mem::replace(&mut self.state, State::Closed));
        }
    }
}

impl Inner {
    /// The open file; opens it for data of `schema` if it is not open yet.
    fn begin(&mut self, py: Python<'_>, schema: &SchemaRef) -> PyResult<&mut Open> {
        if matches!(self.state, State::Waiting) {
            let (path, options, schema) = (&self.path, &self.options, schema.clone());
            let create = || {
                let output = Output::path(path, options.replace)?;
                create_writer(options.format, output, &schema, &options.writer)
            };
            let writer = py.detach(create).raise(py)?;
            self.state = State::Open(Open { writer, schema });
        }
        match &mut self.state {
            State::Open(open) => Ok(open),
            _ => Err(invalid(py, "this writer is closed")),
        }
    }

    fn write<'py>(&mut self, py: Python<'py>, object: &Bound<'py, PyAny>) -> PyResult<u64> {
        if matches!(self.state, State::Closed) {
            return Err(invalid(py, "this writer is closed"));
        }
        let known = match &self.state {
            State::Open(open) => Some(open.schema.clone()),
            _ => self.given.clone(),
        };
        let cast = self.given.is_some();
        let mut data: Data<'py> = data(object, known.as_ref())?;
        let schema = known.unwrap_or_else(|| data.schema.clone());
        let mut rows = 0;
        self.begin(py, &schema)?;
        while let Some(batch) = data.next(py)? {
            let batch = conform(py, batch, &schema, cast)?;
            let threads = pool(py);
            let open = self.begin(py, &schema)?;
            py.detach(|| within(threads.as_deref(), || open.writer.write(&batch))).raise(py)?;
            rows += batch.num_rows() as u64;
            py.check_signals()?;
        }
        self.rows += rows;
        Ok(rows)
    }

    fn finish(&mut self, py: Python<'_>) -> PyResult<()> {
        if let (State::Waiting, Some(schema)) = (&self.state, self.given.clone()) {
            self.begin(py, &schema)?;
        }
        match std::mem::replace(&mut self.state, State::Closed) {
            State::Closed => Ok(()),
            State::Waiting => {
                Err(invalid(py, "nothing was written, and there is no schema to write a file without rows"))
            }
            State::Open(open) => {
                let threads = pool(py);
                py.detach(|| within(threads.as_deref(), || open.writer.finish())?.commit()).raise(py)?;
                Ok(())
            }
        }
    }
}

/// Writes data to a file, which appears, or replaces what was there, when all of it is written.
///
/// Parameters
/// ----------
/// data
///     Anything with ``__arrow_c_stream__`` or ``__arrow_c_array__`` (pyarrow, polars, DuckDB, pandas, a :class:`File`), a dict of
///     columns (NumPy or Arrow arrays, lists), a list of dicts, or an iterable of these.
/// path
///     Where to; the extension names the format (``.lance .parquet .arrow .arrows .csv .jsonl``), unless ``to`` does.
/// schema
///     The schema to write: types for Python values, and what data of other types is cast to.
///
/// preset, column_presets, thorough
///     What a Lance file is to be good at: ``"balanced"``, ``"fast"`` or ``"small"``; the same for single columns, as in
///     ``{"comment": "small"}``; whether encodings are chosen from all of the data instead of samples.
///
/// bloom
///     Columns of a Lance file that get bloom filters, by which conditions for single values pass over rows.
///
/// The other options are those of ``pennon convert``. Returns the number of rows.
///
/// >>> import pennon
/// >>> pennon.write([{"id": 1, "name": "auk"}, {"id": 2, "name": None}], "two.lance")
/// 2
/// >>> pennon.open("two.lance")[1]
/// {'id': 2, 'name': None}
#[pyfunction]
#[pyo3(signature = (data, path, *, schema=None, to=None, format_version=None, compression=None, preset=None, column_presets=None, thorough=false, align=None, max_page_bytes=None, memory=None, no_checksums=false, no_clobber=false, stats=true, bloom=None))]
#[allow(clippy::too_many_arguments)]
pub(crate) fn write<'py>(
    py: Python<'py>,
    data: &Bound<'py, PyAny>,
    path: PathBuf,
    schema: Option<&Bound<'py, PyAny>>,
    to: Option<&str>,
    format_version: Option<&Bound<'py, PyAny>>,
    compression: Option<&str>,
    preset: Option<&str>,
    column_presets: Option<&Bound<'py, PyAny>>,
    thorough: bool,
    align: Option<u64>,
    max_page_bytes: Option<u64>,
    memory: Option<usize>,
    no_checksums: bool,
    no_clobber: bool,
    stats: bool,
    bloom: Option<Vec<String>>,
) -> PyResult<u64> {
    let writer = PyWriter::new(
        py,
        path,
        schema,
        to,
        format_version,
        compression,
        preset,
        column_presets,
        thorough,
        align,
        max_page_bytes,
        memory,
        no_checksums,
        no_clobber,
        stats,
        bloom,
    )?;
    let mut inner = writer.inner.into_inner().unwrap_or_else(PoisonError::into_inner);
    let rows = inner.write(py, data)?;
    inner.finish(py)?;
    Ok(rows)
}

/// Writes a file piece by piece. As a context manager it finishes the file at the end, or leaves nothing behind if there was an
/// exception.
///
/// >>> import pennon
/// >>> with pennon.Writer("numbers.lance") as w:
/// ...     for n in range(3):
/// ...         _ = w.write([{"n": n}])
/// >>> pennon.open("numbers.lance").num_rows
/// 3
#[pyclass(frozen, module = "pennon", name = "Writer")]
pub(crate) struct PyWriter {
    inner: Mutex<Inner>,
}

impl PyWriter {
    /// Writers do not wait for each other with the interpreter lock held.
    fn with<T>(&self, py: Python<'_>, work: impl FnOnce(&mut Inner) -> PyResult<T>) -> PyResult<T> {
        match self.inner.try_lock() {
            Ok(mut inner) => work(&mut inner),
            Err(std::sync::TryLockError::Poisoned(e)) => work(&mut e.into_inner()),
            Err(std::sync::TryLockError::WouldBlock) => {
                Err(invalid(py, "this writer is in use by another thread; write from one at a time"))
            }
        }
    }
}

#[pymethods]
impl PyWriter {
    #[new]
    #[pyo3(signature = (path, schema=None, *, to=None, format_version=None, compression=None, preset=None, column_presets=None, thorough=false, align=None, max_page_bytes=None, memory=None, no_checksums=false, no_clobber=false, stats=true, bloom=None))]
    #[allow(clippy::too_many_arguments)]
    fn new(
        py: Python<'_>,
        path: PathBuf,
        schema: Option<&Bound<'_, PyAny>>,
        to: Option<&str>,
        format_version: Option<&Bound<'_, PyAny>>,
        compression: Option<&str>,
        preset: Option<&str>,
        column_presets: Option<&Bound<'_, PyAny>>,
        thorough: bool,
        align: Option<u64>,
        max_page_bytes: Option<u64>,
        memory: Option<usize>,
        no_checksums: bool,
        no_clobber: bool,
        stats: bool,
        bloom: Option<Vec<String>>,
    ) -> PyResult<Self> {
        let options = options(
            py,
            &path,
            to,
            format_version,
            compression,
            preset,
            column_presets,
            thorough,
            align,
            max_page_bytes,
            memory,
            no_checksums,
            no_clobber,
            stats,
            bloom,
        )?;
        let given = schema.map(capsule::import_schema).transpose()?.map(Into::into);
        let mut inner =
            Inner { path, options, given, state: State::Waiting, rows: 0, process: std::process::id() };
        // A schema that cannot be written, or a place that cannot be written to, is told at once.
        if let Some(schema) = inner.given.clone() {
            inner.begin(py, &schema)?;
        }
        Ok(Self { inner: Mutex::new(inner) })
    }

    /// Writes rows, in any form that :func:`pennon.write` takes. The first call settles the schema, unless one was given.
    /// Returns the number of rows.
    fn write<'py>(&self, py: Python<'py>, data: &Bound<'py, PyAny>) -> PyResult<u64> {
        self.with(py, |inner| inner.write(py, data))
    }

    /// Rows written so far.
    #[getter]
    fn num_rows(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, |inner| Ok(inner.rows))
    }

    /// Finishes the file and gives it its name.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.with(py, |inner| inner.finish(py))
    }

    /// Gives up: nothing is left behind.
    fn abort(&self, py: Python<'_>) -> PyResult<()> {
        self.with(py, |inner| {
            inner.state = State::Closed;
            Ok(())
        })
    }

    fn __enter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __exit__(
        &self,
        py: Python<'_>,
        kind: &Bound<'_, PyAny>,
        _value: &Bound<'_, PyAny>,
        _traceback: &Bound<'_, PyAny>,
    ) -> PyResult<bool> {
        if kind.is_none() {
            self.close(py)?
        } else {
            self.abort(py)?
        }
        Ok(false)
    }

    fn __repr__(&self) -> String {
        "<pennon.Writer>".to_owned()
    }
}
