//! Lance, through pennon-file.

use std::io::BufWriter;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use pennon_file::{Error, File, FileWriter, OpenOptions, Result, WriteOptions};

use crate::input::Bytes;
use crate::output::{Buffered, Output, Staged, unbuffer};
use crate::reader::{Batches, Selection};
use crate::writer::{BatchWriter, WriterOptions};

/// A Lance file.
#[derive(Debug)]
pub(crate) struct Source {
    file: File,
}

impl Source {
    pub(crate) fn open(name: &str, bytes: Bytes) -> Result<Self> {
        let file = match bytes {
            Bytes::File { path: Some(path), .. } => File::open(path)?,
            Bytes::File { file, .. } => File::from_read_at(Arc::new(file), &OpenOptions::default())?,
            Bytes::Stream(_) => return Err(Error::invalid(format!("{name}: Lance needs a file"))),
        };
        Ok(Self { file })
    }

    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    /// Columns come in the order asked, as the file gives them.
    pub(crate) fn batches(&self, selection: &Selection) -> Result<Batches> {
        let mut scan = self.file.scan().batch_rows(selection.batch_rows).batch_bytes(selection.batch_bytes);
        if selection.threads > 0 {
            scan = scan.threads(selection.threads);
        }
        if let Some(columns) = &selection.columns {
            scan = scan.columns(columns);
        }
        let rows =
            selection.rows.start.min(self.file.num_rows())..selection.rows.end.min(self.file.num_rows());
        if rows != (0..self.file.num_rows()) {
            scan = scan.rows(rows);
        }
        Ok(Box::new(scan.batches()?))
    }

    pub(crate) fn take(&self, rows: &[u64], selection: &Selection) -> Result<Batches> {
        let mut take = self.file.take(rows).batch_bytes(selection.batch_bytes);
        if let Some(columns) = &selection.columns {
            take = take.columns(columns);
        }
        Ok(Box::new(take.batches()?))
    }
}

/// Writes Lance.
pub(crate) struct Writer {
    inner: FileWriter<Buffered>,
}

impl Writer {
    pub(crate) fn create(output: Output, schema: &SchemaRef, options: &WriterOptions) -> Result<Self> {
        let mut write = WriteOptions::default();
        if let Some(version) = options.format_version {
            write.format_version = version;
        }
        write.compression = options.compression;
        if let Some(alignment) = options.alignment {
            write.alignment = alignment;
        }
        if let Some(bytes) = options.max_page_bytes {
            write.max_page_bytes = bytes;
        }
        if let Some(bytes) = options.memory_bytes {
            write.memory_bytes = bytes;
        }
        write.checksums = options.checksums;
        // Page buffers are large; the buffer gathers the small pieces between them.
        let inner = FileWriter::new(BufWriter::with_capacity(1 << 16, output), schema, write)?;
        Ok(Self { inner })
    }
}

impl BatchWriter for Writer {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        self.inner.write(batch)
    }

    fn finish(self: Box<Self>) -> Result<Staged> {
        unbuffer(self.inner.finish()?)?.stage()
    }
}
