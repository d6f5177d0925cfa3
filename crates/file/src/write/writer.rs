//! A file written to anything that takes bytes.

use std::io::Write;

use arrow_array::RecordBatch;
use bytes::Bytes;

use super::encoder::FileEncoder;
use super::options::WriteOptions;
use crate::{Error, Result};

/// Arrow bytes handed to the encoder at once, so that a huge batch does not become a huge output.
const STEP_BYTES: usize = 16 << 20;
/// Bytes put together before they are written.
const GATHER_BYTES: usize = 256 << 10;

/// Writes record batches as a file to `W`, front to back.
///
/// ```
/// # use std::sync::Arc;
/// # use arrow_array::{ArrayRef, RecordBatch, StringArray};
/// # fn main() -> Result<(), pennon_file::Error> {
/// let s: ArrayRef = Arc::new(StringArray::from(vec![Some("a"), None]));
/// let batch = RecordBatch::try_from_iter([("s", s)]).unwrap();
/// let mut writer = pennon_file::FileWriter::new(Vec::new(), &batch.schema(), Default::default())?;
/// writer.write(&batch)?;
/// let file: Vec<u8> = writer.finish()?;
/// # assert_eq!(&file[file.len() - 4..], b"LANC");
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct FileWriter<W: Write> {
    encoder: FileEncoder,
    output: W,
    gathered: Vec<u8>,
}

impl<W: Write> FileWriter<W> {
    /// A file for batches of `schema`.
    pub fn new(output: W, schema: &arrow_schema::Schema, options: WriteOptions) -> Result<Self> {
        Ok(Self { encoder: FileEncoder::new(schema, options)?, output, gathered: Vec::new() })
    }

    /// Rows written so far.
    pub fn num_rows(&self) -> u64 {
        self.encoder.num_rows()
    }

    /// Bytes of the file so far; what is buffered is not in yet.
    pub fn position(&self) -> u64 {
        self.encoder.position()
    }

    /// Adds rows. Columns are found by name.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let bytes = self.encoder.arrow_bytes(batch)?;
        let steps = bytes.div_ceil(STEP_BYTES).max(1);
        let rows = batch.num_rows().div_ceil(steps).max(1);
        let mut start = 0;
        while start < batch.num_rows() {
            let count = rows.min(batch.num_rows() - start);
            self.encoder.write(&batch.slice(start, count))?;
            let output = self.encoder.take_output();
            self.append(output)?;
            start += count;
        }
        Ok(())
    }

    /// Ends the file and gives back what it was written to, flushed.
    pub fn finish(mut self) -> Result<W> {
        while self.encoder.flush_step(STEP_BYTES)? {
            let output = self.encoder.take_output();
            self.append(output)?;
        }
        let output = self.encoder.take_output();
        self.append(output)?;
        let Self { encoder, mut output, mut gathered } = self;
        append(&mut output, &mut gathered, encoder.finish()?)?;
        output.write_all(&gathered).and_then(|()| output.flush()).map_err(cannot_write)?;
        Ok(output)
    }

    fn append(&mut self, pieces: Vec<Bytes>) -> Result<()> {
        append(&mut self.output, &mut self.gathered, pieces)
    }
}

/// Writes large pieces as they are and small ones together.
fn append<W: Write>(output: &mut W, gathered: &mut Vec<u8>, pieces: Vec<Bytes>) -> Result<()> {
    for piece in pieces {
        if gathered.len() + piece.len() > GATHER_BYTES {
            output.write_all(gathered).map_err(cannot_write)?;
            gathered.clear();
            if piece.len() > GATHER_BYTES {
                output.write_all(&piece).map_err(cannot_write)?;
                continue;
            }
        }
        gathered.extend_from_slice(&piece);
    }
    Ok(())
}

fn cannot_write(e: std::io::Error) -> Error {
    Error::io("cannot write", e)
}
