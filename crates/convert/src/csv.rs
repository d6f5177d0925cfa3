//! Comma-separated values: a header line, then a record a line; an empty field is null.
//!
//! Types are guessed from the first 1,000 rows unless a schema says them. See [`text`](crate::text) for the
//! types that are written as something else.

use std::io::{BufRead, BufReader, BufWriter, Read};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_csv::reader::{Decoder, Format};
use arrow_csv::{ReaderBuilder, WriterBuilder};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use pennon_file::{Error, Result};

use crate::guard::{arrow_error, cut, guard, short};
use crate::input::{Bytes, FromStart};
use crate::output::{Buffered, Output, Staged, unbuffer};
use crate::reader::Batches;
use crate::records::{self, Checked};
use crate::selection::Selection;
use crate::text::{batch_from_text, batch_to_text, reading_schema, text_schema};
use crate::writer::BatchWriter;

const READING: &str = "reading CSV";
/// Rows that types are guessed from.
pub(crate) const GUESS_ROWS: usize = 1000;
/// Bytes looked at together.
pub(crate) const CHUNK: u64 = 1 << 16;
/// What a message adds when a value does not fit.
pub(crate) const HINT: &str = "types are guessed from the first 1,000 rows; --schema F.json sets them";

/// A CSV file or stream.
#[derive(Debug)]
pub(crate) struct Source {
    bytes: FromStart,
    schema: SchemaRef,
}

impl Source {
    pub(crate) fn open(name: &str, bytes: Bytes, given: Option<&Schema>) -> Result<Self> {
        let bytes = FromStart::new(bytes);
        let format = Format::default().with_header(true);
        let (guessed, _) = bytes.peek(|start: &mut dyn Read| {
            Checked::look(start, records::Records::csv(), |start| {
                guard(READING, || {
                    format.infer_schema(start, Some(GUESS_ROWS)).map_err(|e| arrow_error(READING, e))
                })
            })
        })?;
        let guessed = guessed.0;
        if guessed.fields().is_empty() {
            return Err(Error::invalid(format!(
                "{name}: expected a header line with column names, found none"
            )));
        }
        let schema = override_types(name, &guessed, given)?;
        for field in schema.fields() {
            if field.data_type().is_nested() {
                return Err(Error::invalid(format!(
                    "{name}: column {:?} cannot be read from CSV as {}",
                    field.name(),
                    crate::types::type_name(field.data_type())
                )));
            }
        }
        Ok(Self { bytes, schema })
    }

    pub(crate) fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    pub(crate) fn batches(&self, selection: &Selection) -> Result<Batches> {
        let text = csv_schema(&self.schema);
        let decoder = ReaderBuilder::new(text)
            .with_header(true)
            .with_batch_size(selection.batch_rows.max(1))
            .build_decoder();
        Ok(Box::new(Records {
            lines: BufReader::with_capacity(1 << 16, self.bytes.open(true)?),
            decoder,
            schema: self.schema.clone(),
            line: Vec::new(),
            at: 0,
            records: records::Records::csv(),
            pending: 0,
            batch_bytes: selection.bytes_of_batch(),
            rows: 0,
            done: false,
        }))
    }
}

/// The guessed schema with the types of `given` for the columns that it names. A column in which nothing was seen
/// becomes text, so that a later value is kept.
pub(crate) fn override_types(name: &str, guessed: &Schema, given: Option<&Schema>) -> Result<SchemaRef> {
    let mut fields: Vec<Arc<Field>> =
        guessed.fields().iter().map(|f| Arc::new(Field::new(f.name(), seen(f.data_type()), true))).collect();
    let mut metadata = arrow_schema::Metadata::default();
    if let Some(given) = given {
        metadata = given.metadata().clone();
        for field in given.fields() {
            check_width(name, field)?;
            let place = fields.iter_mut().find(|f| f.name() == field.name());
            *place.ok_or_else(|| {
                Error::invalid(format!(
                    "{name}: --schema names column {:?}, which is not there",
                    field.name()
                ))
            })? = field.clone();
        }
    }
    Ok(Arc::new(Schema::new(fields).with_metadata(metadata)))
}

/// A value of a list of fixed size takes its room even if it is null.
fn check_width(name: &str, field: &Field) -> Result<()> {
    const MOST: u64 = 1 << 30;
    let bytes = value_bytes(field.data_type());
    if bytes > MOST {
        return Err(Error::limit(format!(
            "{name}: one value of column {:?} of type {} takes {bytes} bytes, more than {MOST}",
            field.name(),
            crate::types::type_name(field.data_type())
        )));
    }
    crate::types::children(field.data_type()).iter().try_for_each(|f| check_width(name, f))
}

/// The least bytes of a value, null or not, while it is read.
pub(crate) fn value_bytes(data_type: &DataType) -> u64 {
    let children = crate::types::children(data_type);
    let inner = children.iter().map(|f| value_bytes(f.data_type())).fold(0, u64::saturating_add);
    match data_type {
        DataType::FixedSizeList(_, n) => inner.saturating_mul(u64::try_from(*n).unwrap_or(0)),
        DataType::FixedSizeBinary(n) => u64::try_from(*n).unwrap_or(0),
        DataType::Struct(_) => inner,
        // Only what lists hold grows beyond an offset, and that has to be in the input.
        _ => data_type.primitive_width().unwrap_or(8).max(8) as u64,
    }
}

/// A type without the null type in it.
fn seen(data_type: &DataType) -> DataType {
    let field = |f: &Field| Arc::new(f.clone().with_data_type(seen(f.data_type())));
    match data_type {
        DataType::Null => DataType::Utf8,
        DataType::List(f) => DataType::List(field(f)),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(|f| field(f)).collect()),
        other => other.clone(),
    }
}

/// The types that the CSV decoder makes. It has one of the three string types only.
fn csv_schema(schema: &Schema) -> SchemaRef {
    let text = reading_schema(schema, false);
    let fields = text.fields().iter().map(|f| match f.data_type() {
        DataType::LargeUtf8 => Arc::new(f.as_ref().clone().with_data_type(DataType::Utf8)),
        _ => f.clone(),
    });
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}

/// Feeds lines to the decoder and takes a batch out when enough bytes went in. The decoder cannot give a batch in
/// the middle of a record, so quotes are followed to know where records end.
struct Records {
    lines: BufReader<Box<dyn Read + Send>>,
    decoder: Decoder,
    schema: SchemaRef,
    line: Vec<u8>,
    at: usize,
    records: records::Records,
    pending: usize,
    batch_bytes: usize,
    /// Rows of all batches so far, for messages.
    rows: u64,
    done: bool,
}

impl Records {
    fn batch(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            if self.at == self.line.len() {
                if self.pending >= self.batch_bytes
                    && self.records.between()
                    && let Some(batch) = self.flush()?
                {
                    return Ok(Some(batch));
                }
                self.line.clear();
                self.at = 0;
                let mut lines = (&mut self.lines).take(CHUNK);
                lines.read_until(b'\n', &mut self.line).map_err(|e| Error::io(READING, e))?;
                if self.line.is_empty() {
                    self.done = true;
                    self.records.finish()?;
                    // An empty read tells the decoder that the last record has ended.
                    self.feed()?;
                    return self.flush();
                }
                self.records.follow(&self.line)?;
            }
            let taken = self.feed()?;
            self.at += taken;
            self.pending += taken;
            if taken == 0 || self.decoder.capacity() == 0 {
                if let Some(batch) = self.flush()? {
                    return Ok(Some(batch));
                }
                if taken == 0 {
                    return Err(Error::corrupt(format!(
                        "{READING}: no record ends within {} bytes",
                        self.line.len() - self.at
                    )));
                }
            }
        }
    }

    fn feed(&mut self) -> Result<usize> {
        let rest = &self.line[self.at..];
        let decoder = &mut self.decoder;
        guard(READING, || decoder.decode(rest).map_err(|e| arrow_error(READING, e)))
    }

    fn flush(&mut self) -> Result<Option<RecordBatch>> {
        self.pending = 0;
        let decoder = &mut self.decoder;
        let batch = guard(READING, || decoder.flush().map_err(|e| arrow_error(READING, e)));
        let schema = self.schema.clone();
        let hinted = |e: Error| {
            Error::invalid(format!(
                "{}; {HINT}",
                misfit(e.message(), &schema).unwrap_or_else(|| cut(e.message()))
            ))
        };
        match batch.map_err(hinted)? {
            Some(batch) => {
                let batch = batch_from_text(&batch, &self.schema, self.rows, false).map_err(hinted)?;
                self.rows += batch.num_rows() as u64;
                Ok(Some(batch))
            }
            None => Ok(None),
        }
    }
}

/// The decoder's message about a value that does not fit, with the row counted from 0 and the column by name:
/// `… parsing value 'x' as type 'Int64' for column 0 at line 12. Row data: '[x]'`.
fn misfit(message: &str, schema: &Schema) -> Option<String> {
    let (_, rest) = message.split_once("parsing value '")?;
    let (value, rest) = rest.split_once("' as type '")?;
    let (_, rest) = rest.split_once("' for column ")?;
    let (column, rest) = rest.split_once(" at line ")?;
    let line: u64 = rest.split('.').next()?.parse().ok()?;
    let field = schema.fields().get(column.parse::<usize>().ok()?)?;
    let name = crate::projection::quote_name(field.name());
    // The header is line 0 for the decoder.
    let row = line.checked_sub(1)?;
    Some(format!(
        "row {row}, column {name}: expected {}, found {}",
        crate::types::type_name(field.data_type()),
        short(value)
    ))
}

impl Iterator for Records {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.done {
            return None;
        }
        let next = self.batch();
        if next.is_err() {
            self.done = true;
        }
        next.transpose()
    }
}

/// Writes CSV.
pub(crate) struct Writer {
    inner: arrow_csv::Writer<Buffered>,
    schema: SchemaRef,
}

impl Writer {
    pub(crate) fn create(output: Output, schema: &SchemaRef) -> Result<Self> {
        let schema = text_schema(schema);
        let mut inner =
            WriterBuilder::new().with_header(true).build(BufWriter::with_capacity(1 << 16, output));
        // The header goes out even if no row follows.
        inner.write(&RecordBatch::new_empty(schema.clone())).map_err(writing)?;
        Ok(Self { inner, schema })
    }
}

fn has_nul<'a>(mut values: impl Iterator<Item = Option<&'a str>>) -> bool {
    values.any(|v| v.is_some_and(|v| v.as_bytes().contains(&0)))
}

fn writing(e: arrow_schema::ArrowError) -> Error {
    arrow_error("writing CSV", e)
}

impl BatchWriter for Writer {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let text = batch_to_text(batch, &self.schema)?;
        for (column, field) in text.columns().iter().zip(self.schema.fields()) {
            let nul = match column.data_type() {
                DataType::Utf8 => has_nul(column.as_string::<i32>().iter()),
                DataType::LargeUtf8 => has_nul(column.as_string::<i64>().iter()),
                DataType::Utf8View => has_nul(column.as_string_view().iter()),
                _ => false,
            };
            if nul || field.name().contains('\0') {
                return Err(Error::unsupported(format!(
                    "column {:?} has a text with a NUL byte, which CSV cannot hold; choose jsonl or a binary format",
                    field.name()
                )));
            }
        }
        guard("writing CSV", || self.inner.write(&text).map_err(writing))
    }

    fn finish(self: Box<Self>) -> Result<Staged> {
        unbuffer(self.inner.into_inner())?.stage()
    }
}
