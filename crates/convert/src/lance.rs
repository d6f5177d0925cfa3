//! Lance, through pennon-file.

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use pennon_file::{Error, Result};

use crate::input::Bytes;
use crate::output::{Output, Staged};
use crate::reader::{Batches, Selection};
use crate::writer::{BatchWriter, WriterOptions};

/// A Lance file.
#[derive(Debug)]
pub(crate) struct Source {
    schema: SchemaRef,
}

impl Source {
    pub(crate) fn open(name: &str, _bytes: Bytes) -> Result<Self> {
        Err(Error::unsupported(format!("{name}: reading Lance is being built")))
    }

    pub(crate) fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    pub(crate) fn num_rows(&self) -> u64 {
        0
    }

    pub(crate) fn batches(&self, _selection: &Selection) -> Result<Batches> {
        Ok(Box::new(std::iter::empty()))
    }

    pub(crate) fn take(&self, _rows: &[u64], _selection: &Selection) -> Result<Batches> {
        Ok(Box::new(std::iter::empty()))
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
