//! Global buffers: bytes that belong to the file as a whole.
//!
//! Index 0 is the descriptor; the others belong to whoever wrote the file.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use super::{FileChecks, Metadata, Tables};
use crate::io::{Decode, Segments, Step};
use crate::{Error, Limits, Result};

/// Reads one global buffer and checks it: one round, or none where opening brought it already.
#[derive(Debug)]
pub(crate) struct ReadGlobalBuffer {
    index: usize,
    range: Range<u64>,
    crcs: Range<u64>,
    checks: Option<Arc<FileChecks>>,
    held: Arc<Segments>,
}

impl ReadGlobalBuffer {
    pub(crate) fn new(metadata: &Metadata, tables: &Tables, index: usize, limits: &Limits) -> Result<Self> {
        let Some(range) = metadata.global_buffers.get(index).cloned() else {
            return Err(Error::invalid(format!(
                "global buffer {index}; the file has {}",
                metadata.global_buffers.len()
            )));
        };
        let bytes = range.end - range.start;
        if bytes > limits.buffer_bytes {
            return Err(Error::limit(format!(
                "global buffer {index} has {bytes} bytes; at most {} are read",
                limits.buffer_bytes
            )));
        }
        let checks = tables.checks.clone();
        let crcs = checks.as_ref().map_or(0..0, |checks| checks.global_range(index, bytes));
        Ok(Self { index, range, crcs, checks, held: metadata.held.clone() })
    }
}

impl Decode for ReadGlobalBuffer {
    type Output = Bytes;

    fn step(&mut self, segments: &Segments) -> Result<Step<Bytes>> {
        let find = |range: &Range<u64>| segments.bytes(range).or_else(|| self.held.bytes(range));
        let (Some(bytes), Some(crcs)) = (find(&self.range), find(&self.crcs)) else {
            let mut need = vec![self.range.clone(), self.crcs.clone()];
            need.retain(|range| find(range).is_none());
            return Ok(Step::Need(need));
        };
        if let Some(checks) = &self.checks {
            checks.verify_global(self.index, &bytes, &crcs).map_err(|e| e.at_offset(self.range.start))?;
        }
        Ok(Step::Done(bytes))
    }
}
