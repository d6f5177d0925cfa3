//! One writer for all formats.

use std::collections::HashSet;

use arrow_array::RecordBatch;
use arrow_schema::{DataType, Schema, SchemaRef};
use pennon_file::{Compression, Error, FormatVersion, Preset, Result};

use crate::format::Format;
use crate::guard::in_file;
use crate::output::{Failure, Output, Staged};
use crate::{csv, ipc, json, lance, parquet};

/// Takes batches of one schema and makes a file of them.
pub trait BatchWriter: Send {
    /// Writes the rows of `batch`.
    fn write(&mut self, batch: &RecordBatch) -> Result<()>;

    /// Writes what is still to be written. The file gets its name by [`Staged::commit`].
    fn finish(self: Box<Self>) -> Result<Staged>;
}

/// How a file is written. Each format heeds what it has a notion of.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct WriterOptions {
    /// Format version of a Lance file; `None` means the default.
    pub format_version: Option<FormatVersion>,
    /// General compression; `Auto` leaves it to the format.
    pub compression: Compression,
    /// What a Lance file is to be good at.
    pub preset: Preset,
    /// The same for single columns of a Lance file, by path.
    pub column_presets: Vec<(String, Preset)>,
    /// Chooses the encodings of a Lance file from all of the data instead of samples.
    pub thorough: bool,
    /// Alignment of buffers in a Lance file; `None` means the default.
    pub alignment: Option<u64>,
    /// Bound on the Arrow bytes of a Lance page; `None` means the default.
    pub max_page_bytes: Option<u64>,
    /// Bytes of Arrow data that may be held back; `None` means the default.
    pub memory_bytes: Option<usize>,
    /// Whether a Lance file carries checksums.
    pub checksums: bool,
    /// Whether a Lance file carries statistics of its columns.
    pub statistics: bool,
    /// Columns of a Lance file, by path, that get bloom filters.
    pub blooms: Vec<String>,
}

impl Default for WriterOptions {
    fn default() -> Self {
        Self {
            format_version: None,
            compression: Compression::Auto,
            preset: Preset::Balanced,
            column_presets: Vec::new(),
            thorough: false,
            alignment: None,
            max_page_bytes: None,
            memory_bytes: None,
            checksums: true,
            statistics: true,
            blooms: Vec::new(),
        }
    }
}

/// Makes a writer of `format` for batches of `schema`.
pub fn create_writer(
    format: Format,
    output: Output,
    schema: &SchemaRef,
    options: &WriterOptions,
) -> Result<Box<dyn BatchWriter>> {
    let (name, failure) = (output.name().to_owned(), output.failure());
    writable(format, schema).map_err(|e| e.in_file(&name))?;
    let writer: Result<Box<dyn BatchWriter>> = match format {
        Format::Lance => lance::Writer::create(output, schema, options).map(|w| Box::new(w) as _),
        Format::Parquet => parquet::Writer::create(output, schema, options).map(|w| Box::new(w) as _),
        Format::Arrow => ipc::FileWriter::create(output, schema, options).map(|w| Box::new(w) as _),
        Format::ArrowStream => ipc::StreamWriter::create(output, schema, options).map(|w| Box::new(w) as _),
        Format::Csv => csv::Writer::create(output, schema).map(|w| Box::new(w) as _),
        Format::Jsonl => json::Writer::create(output, schema).map(|w| Box::new(w) as _),
    };
    match writer {
        Ok(inner) => Ok(Box::new(Reporting { inner, name, failure })),
        Err(e) => Err(reported(e, &name, &failure)),
    }
}

/// Says what the medium said, where a library in between turned it into something else.
struct Reporting {
    inner: Box<dyn BatchWriter>,
    name: String,
    failure: Failure,
}

impl BatchWriter for Reporting {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        self.inner.write(batch).map_err(|e| reported(e, &self.name, &self.failure))
    }

    fn finish(self: Box<Self>) -> Result<Staged> {
        self.inner.finish().map_err(|e| reported(e, &self.name, &self.failure))
    }
}

fn reported(e: Error, name: &str, failure: &Failure) -> Error {
    match failure.get() {
        Some(io) => Error::io(format!("cannot write {name}"), io),
        None => in_file(e, name),
    }
}

/// Says early and by name which column a format cannot hold.
pub fn writable(format: Format, schema: &Schema) -> Result<()> {
    if matches!(format, Format::Csv | Format::Jsonl) && schema.fields().is_empty() {
        return Err(Error::unsupported(format!("{} cannot hold a table without columns", format.title())));
    }
    for field in schema.fields() {
        if format == Format::Csv && crate::text::text_type(field.data_type()).is_nested() {
            return Err(Error::unsupported(format!(
                "column {:?} of type {} cannot be written as CSV; choose jsonl, arrow, parquet or lance, or leave it out with --columns",
                field.name(),
                crate::types::type_name(field.data_type())
            )));
        }
        if format == Format::Parquet {
            in_parquet(field.name(), field.data_type())?;
        }
        if format == Format::Jsonl {
            twin_names(field.name(), field.data_type())?;
        }
    }
    Ok(())
}

/// Parquet has no unions and no values of no bytes.
fn in_parquet(column: &str, data_type: &DataType) -> Result<()> {
    if matches!(data_type, DataType::Union(_, _) | DataType::FixedSizeBinary(0)) {
        return Err(Error::unsupported(format!(
            "column {column:?} of type {} cannot be written as Parquet; choose arrow, or leave it out with --columns",
            crate::types::type_name(data_type)
        )));
    }
    crate::types::children(data_type).iter().try_for_each(|c| in_parquet(column, c.data_type()))
}

/// A JSON object cannot hold two members of one name. At the top level the second is called `name#2`; inside a
/// struct it is an error.
fn twin_names(column: &str, data_type: &DataType) -> Result<()> {
    if let DataType::Struct(fields) = data_type {
        let mut seen = HashSet::new();
        if let Some(twin) = fields.iter().find(|f| !seen.insert(f.name())) {
            return Err(Error::unsupported(format!(
                "column {column:?} has two fields called {:?} inside, which JSON cannot hold; choose arrow or lance",
                twin.name()
            )));
        }
    }
    crate::types::children(data_type).iter().try_for_each(|c| twin_names(column, c.data_type()))
}
