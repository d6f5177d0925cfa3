//! Batches of the size that was asked for, and the rows that were asked for.

use std::ops::Range;

use arrow_array::{Array, RecordBatch};
use pennon_file::Result;

use crate::reader::Batches;

/// Bytes of Arrow data that the rows of `batch` take, buffers shared with other rows not counted.
pub fn batch_bytes(batch: &RecordBatch) -> usize {
    batch
        .columns()
        .iter()
        .map(|c| c.to_data().get_slice_memory_size().unwrap_or_else(|_| c.get_array_memory_size()))
        .sum()
}

/// Cuts batches so that each keeps within `rows` and, unless one row is larger, about within `bytes`.
pub(crate) struct Bounded {
    inner: Batches,
    rows: usize,
    bytes: usize,
    /// The batch being handed out, where in it, and in steps of how many rows.
    current: Option<(RecordBatch, usize, usize)>,
}

impl Bounded {
    pub(crate) fn new(inner: Batches, rows: usize, bytes: usize) -> Self {
        Self { inner, rows: rows.max(1), bytes: bytes.max(1), current: None }
    }
}

impl Iterator for Bounded {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some((batch, at, step)) = &mut self.current {
                let len = (*step).min(batch.num_rows() - *at);
                let piece = batch.slice(*at, len);
                *at += len;
                if *at >= batch.num_rows() {
                    self.current = None;
                }
                return Some(Ok(piece));
            }
            let batch = match self.inner.next()? {
                Ok(batch) => batch,
                Err(e) => return Some(Err(e)),
            };
            let (rows, bytes) = (batch.num_rows(), batch_bytes(&batch));
            // What is a little over is not worth two batches.
            if rows <= self.rows && (bytes <= self.bytes.saturating_add(self.bytes / 2) || rows <= 1) {
                return Some(Ok(batch));
            }
            // Even cuts: rows of unlike size may pass the bound by the ratio of their sizes.
            let pieces = bytes.div_ceil(self.bytes).max(rows.div_ceil(self.rows)).max(1);
            self.current = Some((batch, 0, rows.div_ceil(pieces).max(1)));
        }
    }
}

/// Keeps the rows of `range`, counted over all batches, and stops after them.
pub(crate) struct RowRange {
    inner: Batches,
    range: Range<u64>,
    at: u64,
}

impl RowRange {
    pub(crate) fn new(inner: Batches, range: Range<u64>) -> Self {
        Self { inner, range, at: 0 }
    }
}

impl Iterator for RowRange {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.at < self.range.end {
            let batch = match self.inner.next()? {
                Ok(batch) => batch,
                Err(e) => return Some(Err(e)),
            };
            let rows = batch.num_rows() as u64;
            let first = self.range.start.saturating_sub(self.at).min(rows);
            let last = (self.range.end - self.at).min(rows);
            self.at += rows;
            if first < last {
                return Some(Ok(batch.slice(first as usize, (last - first) as usize)));
            }
        }
        None
    }
}
