//! Arrow IPC: the file form with its index, and the stream form.

use std::io::{BufRead, BufReader, BufWriter, Read};
use std::sync::{Arc, Mutex};

use arrow_array::{Array, RecordBatch, RecordBatchOptions, make_array};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer};
use arrow_data::ArrayData;
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{DictionaryHandling, IpcWriteOptions};
use arrow_schema::{ArrowError, DataType, SchemaRef};
use pennon_file::{Compression, Error, Result};

use crate::dictionary::Unifier;
use crate::guard::{arrow_error, guard};
use crate::input::{At, Bytes, Cursor64, FromStart};
use crate::output::{Buffered, Output, Staged, unbuffer};
use crate::projection::Projection;
use crate::reader::Batches;
use crate::rebatch::RowRange;
use crate::selection::Selection;
use crate::writer::{BatchWriter, WriterOptions};

const READING: &str = "reading Arrow IPC";
const WRITING: &str = "writing Arrow IPC";

/// A file with an index of its batches.
#[derive(Debug, Clone)]
pub(crate) struct FileSource {
    file: At,
    schema: SchemaRef,
    /// First row of each batch, and the number of rows at the end.
    starts: Arc<[u64]>,
}

impl FileSource {
    pub(crate) fn open(name: &str, bytes: Bytes) -> Result<Self> {
        let Bytes::File { at: file, .. } = bytes else {
            return Err(Error::invalid(format!("{name}: the Arrow IPC file form needs a file")));
        };
        let starts = guard(READING, || batch_starts(&file))?;
        let schema = reader(&file, None)?.schema();
        Ok(Self { file, schema, starts: starts.into() })
    }

    pub(crate) fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    pub(crate) fn num_rows(&self) -> u64 {
        self.starts.last().copied().unwrap_or(0)
    }

    pub(crate) fn batches(&self, selection: &Selection, projection: Option<&Projection>) -> Result<Batches> {
        let top_level = projection.map(|p| {
            let mut columns = p.top_level();
            columns.sort_unstable();
            columns
        });
        let mut reader = reader(&self.file, top_level)?;
        // The last batch that starts at or before the first row wanted.
        let first = self.starts.partition_point(|s| *s <= selection.rows.start).saturating_sub(1);
        if first > 0 && first + 1 < self.starts.len() {
            reader.set_index(first).map_err(|e| arrow_error(READING, e))?;
        } else if first > 0 {
            return Ok(Box::new(std::iter::empty()));
        }
        let skipped = self.starts.get(first).copied().unwrap_or(0);
        let range = selection.rows.start - skipped..selection.rows.end.saturating_sub(skipped);
        let projection = projection.cloned();
        let batches = Guarded { inner: Some(reader) }.map(move |batch| {
            let batch = batch?;
            projection.as_ref().map_or(Ok(batch.clone()), |p| p.apply_pruned(&batch))
        });
        Ok(Box::new(RowRange::new(Box::new(batches), range)))
    }
}

fn reader(file: &At, columns: Option<Vec<usize>>) -> Result<arrow_ipc::reader::FileReader<Cursor64>> {
    guard(READING, || {
        arrow_ipc::reader::FileReader::try_new(Cursor64::new(file.clone()), columns)
            .map_err(|e| arrow_error(READING, e))
    })
}

/// Reads the index and the head of each batch, checking that all lie inside the file:
///
/// ```text
/// … batches … | footer (flatbuffer) | i32 footer bytes | "ARROW1"
/// ```
fn batch_starts(file: &At) -> Result<Vec<u64>> {
    let len = file.len;
    let bad = |what: String| Error::corrupt(format!("{READING}: {what}"));
    if len < 10 {
        return Err(bad(format!(
            "expected a footer of at least 10 bytes at the end, the file has {len} bytes"
        )));
    }
    let mut end = [0; 10];
    file.read_exact_at(&mut end, len - 10).map_err(|e| Error::io(READING, e))?;
    if &end[4..] != b"ARROW1" {
        return Err(bad("expected \"ARROW1\" at the end; the file is cut short or was not finished".into()));
    }
    let footer_bytes = i32::from_le_bytes([end[0], end[1], end[2], end[3]]);
    let footer_at = u64::try_from(footer_bytes).ok().and_then(|n| (len - 10).checked_sub(n));
    let footer_at = footer_at
        .ok_or_else(|| bad(format!("a footer of {footer_bytes} bytes does not fit in a file of {len}")))?;
    let mut footer = vec![0; footer_bytes as usize];
    file.read_exact_at(&mut footer, footer_at).map_err(|e| Error::io(READING, e))?;
    let footer =
        arrow_ipc::root_as_footer(&footer).map_err(|e| bad(format!("the footer does not parse: {e}")))?;
    let mut starts = vec![0u64];
    let batches = footer.recordBatches().into_iter().flatten().map(|b| (b, true));
    let dictionaries = footer.dictionaries().into_iter().flatten().map(|b| (b, false));
    for (block, is_batch) in batches.chain(dictionaries) {
        let (offset, head, body) = (block.offset(), block.metaDataLength(), block.bodyLength());
        let parts = (u64::try_from(offset), u64::try_from(head), u64::try_from(body));
        let (Ok(offset), Ok(head), Ok(body)) = parts else {
            return Err(bad(format!("a block at {offset} with {head} + {body} bytes")));
        };
        if head < 8 || offset.checked_add(head).and_then(|e| e.checked_add(body)).is_none_or(|e| e > len) {
            return Err(bad(format!(
                "a block of {head} + {body} bytes at offset {offset} does not fit in a file of {len} bytes"
            )));
        }
        if is_batch {
            let mut message = vec![0; head as usize];
            file.read_exact_at(&mut message, offset).map_err(|e| Error::io(READING, e))?;
            let message = if message[..4] == [0xFF; 4] { &message[8..] } else { &message[4..] };
            let message = arrow_ipc::root_as_message(message)
                .map_err(|e| bad(format!("the message at {offset} does not parse: {e}")))?;
            let rows = message.header_as_record_batch().and_then(|b| u64::try_from(b.length()).ok());
            let rows = rows.ok_or_else(|| {
                bad(format!("expected a batch at offset {offset}, found {:?}", message.header_type()))
            })?;
            let before = starts[starts.len() - 1];
            starts.push(before.checked_add(rows).ok_or_else(|| bad("more rows than 64 bits count".into()))?);
        }
    }
    Ok(starts)
}

/// An iterator of the library whose calls are guarded and that ends with its first error.
struct Guarded<I> {
    inner: Option<I>,
}

impl<I: Iterator<Item = Result<RecordBatch, ArrowError>>> Iterator for Guarded<I> {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        let inner = self.inner.as_mut()?;
        let next = guard(READING, || {
            let batch = inner.next().transpose().map_err(|e| arrow_error(READING, e))?;
            batch.as_ref().map(unshared).transpose()
        });
        if !matches!(next, Ok(Some(_))) {
            self.inner = None;
        }
        next.transpose()
    }
}

/// The batch with columns that do not share memory. All columns of a batch lie in one body, so a writer that keeps
/// a narrow column for a while would keep the wide ones with it, without knowing.
fn unshared(batch: &RecordBatch) -> Result<RecordBatch> {
    if batch.num_columns() < 2 {
        return Ok(batch.clone());
    }
    let columns =
        batch.columns().iter().map(|c| copied(&c.to_data()).map(make_array)).collect::<Result<Vec<_>, _>>();
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    columns
        .and_then(|columns| RecordBatch::try_new_with_options(batch.schema(), columns, &options))
        .map_err(|e| arrow_error(READING, e))
}

fn copied(data: &ArrayData) -> Result<ArrayData, ArrowError> {
    let copy = |b: &Buffer| Buffer::from_slice_ref(b.as_slice());
    let children = match data.data_type() {
        // A dictionary has memory of its own and is shared by all batches.
        DataType::Dictionary(_, _) => data.child_data().to_vec(),
        _ => data.child_data().iter().map(copied).collect::<Result<_, _>>()?,
    };
    let nulls = data.nulls().map(|n| {
        let bits = BooleanBuffer::new(copy(n.inner().inner()), n.offset(), n.len());
        NullBuffer::new(bits)
    });
    data.clone()
        .into_builder()
        .buffers(data.buffers().iter().map(copy).collect())
        .child_data(children)
        .nulls(nulls)
        .build()
}

type Stream = arrow_ipc::reader::StreamReader<BufReader<Box<dyn Read + Send>>>;

/// A stream of batches.
#[derive(Debug)]
pub(crate) struct StreamSource {
    bytes: FromStart,
    schema: SchemaRef,
    /// The reader that found the schema, for the first who asks.
    opened: Mutex<Option<Box<Stream>>>,
}

impl StreamSource {
    pub(crate) fn open(_name: &str, bytes: Bytes) -> Result<Self> {
        let bytes = FromStart::new(bytes);
        let reader = open_stream(&bytes)?;
        Ok(Self { bytes, schema: reader.schema(), opened: Mutex::new(Some(Box::new(reader))) })
    }

    pub(crate) fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    pub(crate) fn batches(&self) -> Result<Batches> {
        let opened = self.opened.lock().unwrap_or_else(|e| e.into_inner()).take();
        let reader = match opened {
            Some(reader) => reader,
            None => Box::new(open_stream(&self.bytes)?),
        };
        Ok(Box::new(Guarded { inner: Some(Whole(reader)) }))
    }
}

/// A stream after whose end nothing comes: a second stream would be lost in silence.
struct Whole(Box<Stream>);

impl Iterator for Whole {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = self.0.next();
        if next.is_none() && self.0.get_mut().fill_buf().is_ok_and(|rest| !rest.is_empty()) {
            let text =
                "bytes after the end of the stream; streams one after the other are to be read one by one";
            return Some(Err(ArrowError::IpcError(text.to_owned())));
        }
        next
    }
}

fn open_stream(bytes: &FromStart) -> Result<Stream> {
    let reader = BufReader::with_capacity(1 << 16, bytes.open(false)?);
    guard(READING, || {
        arrow_ipc::reader::StreamReader::try_new(reader, None).map_err(|e| arrow_error(READING, e))
    })
}

fn write_options(options: &WriterOptions) -> Result<IpcWriteOptions> {
    let compression = match options.compression {
        Compression::Lz4 => Some(CompressionType::LZ4_FRAME),
        Compression::Zstd(_) => Some(CompressionType::ZSTD),
        _ => None,
    };
    IpcWriteOptions::default().try_with_compression(compression).map_err(|e| arrow_error(WRITING, e))
}

fn unwritable(e: ArrowError) -> Error {
    let e = arrow_error(WRITING, e);
    if e.kind() == pennon_file::ErrorKind::Corrupt { Error::unsupported(e.message()) } else { e }
}

/// Writes the file form.
pub(crate) struct FileWriter {
    inner: arrow_ipc::writer::FileWriter<Buffered>,
    dictionaries: Option<Unifier>,
}

impl FileWriter {
    pub(crate) fn create(output: Output, schema: &SchemaRef, options: &WriterOptions) -> Result<Self> {
        let options = write_options(options)?.with_dictionary_handling(DictionaryHandling::Delta);
        let inner = guard(WRITING, || {
            arrow_ipc::writer::FileWriter::try_new_with_options(
                BufWriter::with_capacity(1 << 16, output),
                schema,
                options,
            )
            .map_err(unwritable)
        })?;
        Ok(Self { inner, dictionaries: Unifier::new(schema) })
    }
}

impl BatchWriter for FileWriter {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let unified = self.dictionaries.as_mut().map(|d| d.unify(batch)).transpose()?;
        guard(WRITING, || self.inner.write(unified.as_ref().unwrap_or(batch)).map_err(unwritable))
    }

    fn finish(mut self: Box<Self>) -> Result<Staged> {
        self.inner.finish().map_err(unwritable)?;
        unbuffer(self.inner.into_inner().map_err(unwritable)?)?.stage()
    }
}

/// Writes the stream form; each batch can be read as soon as it was written.
pub(crate) struct StreamWriter {
    inner: arrow_ipc::writer::StreamWriter<Buffered>,
}

impl StreamWriter {
    pub(crate) fn create(output: Output, schema: &SchemaRef, options: &WriterOptions) -> Result<Self> {
        let options = write_options(options)?;
        let inner = guard(WRITING, || {
            arrow_ipc::writer::StreamWriter::try_new_with_options(
                BufWriter::with_capacity(1 << 16, output),
                schema,
                options,
            )
            .map_err(unwritable)
        })?;
        Ok(Self { inner })
    }
}

impl BatchWriter for StreamWriter {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        guard(WRITING, || {
            self.inner.write(batch).map_err(unwritable)?;
            self.inner.flush().map_err(unwritable)
        })
    }

    fn finish(mut self: Box<Self>) -> Result<Staged> {
        self.inner.finish().map_err(unwritable)?;
        unbuffer(self.inner.into_inner().map_err(unwritable)?)?.stage()
    }
}
