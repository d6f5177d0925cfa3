//! Lance, through pennon-file.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use pennon_file::{Error, File, OpenOptions, Result};

use crate::input::Bytes;
use crate::output::{Output, Staged};
use crate::projection::Projection;
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

    pub(crate) fn batches(&self, selection: &Selection, projection: Option<&Projection>) -> Result<Batches> {
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
        Ok(in_order(Box::new(scan.batches()?), projection))
    }

    pub(crate) fn take(
        &self,
        rows: &[u64],
        selection: &Selection,
        projection: Option<&Projection>,
    ) -> Result<Batches> {
        let mut take = self.file.take(rows).batch_bytes(selection.batch_bytes);
        if let Some(columns) = &selection.columns {
            take = take.columns(columns);
        }
        Ok(in_order(Box::new(take.batches()?), projection))
    }
}

/// The file gives columns in its own order; they were asked for in another perhaps.
fn in_order(batches: Batches, projection: Option<&Projection>) -> Batches {
    match projection.cloned() {
        None => batches,
        Some(p) => Box::new(batches.map(move |b| b.and_then(|b| p.apply_pruned(&b)))),
    }
}

/// Writes Lance.
pub(crate) struct Writer;

impl Writer {
    pub(crate) fn create(_output: Output, _schema: &SchemaRef, _options: &WriterOptions) -> Result<Self> {
        Err(Error::unsupported("writing Lance is being built"))
    }
}

impl BatchWriter for Writer {
    fn write(&mut self, _batch: &RecordBatch) -> Result<()> {
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<Staged> {
        Err(Error::unsupported("writing Lance is being built"))
    }
}
