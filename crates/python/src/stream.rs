//! Batches on their way to Python: started late, bound to the process that started them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use pennon_convert::Batches;
use pennon_file::{Error, Result};
use pyo3::prelude::*;

type Start = Box<dyn FnOnce() -> Result<Batches> + Send>;

enum State {
    Waiting(Start),
    Running { batches: Batches, process: u32 },
    Done,
}

/// Batches that are read when they are asked for. Nothing happens, and no thread runs, before the first.
pub(crate) struct Stream {
    schema: SchemaRef,
    state: State,
    /// Rows handed out.
    rows: Arc<AtomicU64>,
}

impl Stream {
    pub(crate) fn new(schema: SchemaRef, rows: Arc<AtomicU64>, start: Start) -> Self {
        Self { schema, state: State::Waiting(start), rows }
    }

    pub(crate) fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    fn advance(&mut self) -> Result<Option<RecordBatch>> {
        if let State::Waiting(_) = self.state
            && let State::Waiting(start) = std::mem::replace(&mut self.state, State::Done)
        {
            self.state = State::Running { batches: start()?, process: std::process::id() };
        }
        let State::Running { batches, process } = &mut self.state else { return Ok(None) };
        if *process != std::process::id() {
            return Err(Error::invalid(
                "this iterator was begun in another process, whose threads read for it; begin one in this process",
            ));
        }
        let next = batches.next();
        if !matches!(next, Some(Ok(_))) {
            self.state = State::Done;
        }
        let next = next.transpose()?;
        self.rows.fetch_add(next.as_ref().map_or(0, |b| b.num_rows() as u64), Ordering::Relaxed);
        Ok(next)
    }
}

impl Iterator for Stream {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        self.advance().transpose()
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        let State::Running { batches, process } = std::mem::replace(&mut self.state, State::Done) else {
            return;
        };
        if process != std::process::id() {
            // To drop it would mean to wait for threads that the fork left behind.
            std::mem::forget(batches);
            return;
        }
        // Its threads may be in the middle of a batch; others need not wait for that with us.
        let mut batches = Some(batches);
        let done = Python::try_attach(|py| py.detach(|| batches.take().map(drop)));
        if done.is_none() {
            drop(batches);
        }
    }
}

/// A stream for other libraries, which know errors as text.
pub(crate) struct Exported(pub(crate) Stream);

impl Iterator for Exported {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        // Called from C, where a panic would end the process.
        let next = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| self.0.next()));
        let next = next.unwrap_or_else(|_| Some(Err(Error::invalid("internal: reading panicked"))));
        next.map(|batch| batch.map_err(|e| foreign(&e)))
    }
}

impl RecordBatchReader for Exported {
    fn schema(&self) -> SchemaRef {
        self.0.schema()
    }
}

fn foreign(e: &Error) -> ArrowError {
    // It becomes a C string.
    let text = e.to_string().replace('\0', "\u{fffd}");
    match e.kind() {
        pennon_file::ErrorKind::Io => ArrowError::IoError(text.clone(), std::io::Error::other(text)),
        pennon_file::ErrorKind::Unsupported => ArrowError::NotYetImplemented(text),
        _ => ArrowError::InvalidArgumentError(text),
    }
}
