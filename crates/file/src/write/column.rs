//! One stored column on its way into a file: rows are gathered, cut into pages and encoded.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::ArrayRef;

use crate::array::shred::{LeafBuffer, LeafPath, Pushed, leaf_bytes};
use crate::choose::Tuning;
use crate::container::NewPage;
use crate::{Error, Result};

/// Rows of a page at most, so that no count inside a page passes 32 bits.
const MAX_PAGE_ROWS: u64 = 1 << 28;

/// Where a column becomes a page.
#[derive(Debug, Clone, Copy)]
pub(super) struct PageBounds {
    pub(super) bytes: usize,
    pub(super) rows: u64,
}

/// A column being written.
#[derive(Debug)]
pub(super) struct ColumnWriter {
    pub(super) path: Arc<LeafPath>,
    /// Index of the stored column.
    pub(super) column: u32,
    tuning: Tuning,
    bounds: PageBounds,
    buffer: LeafBuffer,
    /// Top-level row of the first one in `buffer`.
    first_row: u64,
    num_pages: u64,
}

impl ColumnWriter {
    pub(super) fn new(path: LeafPath, column: u32, tuning: Tuning, bounds: PageBounds) -> Self {
        let path = Arc::new(path);
        let rows = bounds.rows.min(MAX_PAGE_ROWS / path.rows_scale().max(1) as u64).max(1);
        Self {
            buffer: LeafBuffer::new(path.clone()),
            path,
            column,
            tuning,
            bounds: PageBounds { rows, ..bounds },
            first_row: 0,
            num_pages: 0,
        }
    }

    /// Bytes buffered.
    pub(super) fn byte_size(&self) -> usize {
        self.buffer.byte_size()
    }

    /// Adds all rows of a top-level array; gives back the pages that became full.
    pub(super) fn push(&mut self, top: &ArrayRef) -> Result<Vec<NewPage>> {
        let mut pages = Vec::new();
        let mut left = 0..top.len();
        while !left.is_empty() {
            let room = self.bounds.bytes.saturating_sub(self.buffer.byte_size());
            let row_room = (self.bounds.rows - self.buffer.num_rows() as u64).min(left.len() as u64) as usize;
            let (mut count, bytes) = self.fitting(top, left.start..left.start + row_room, room)?;
            if count == 0 {
                if self.buffer.num_rows() > 0 {
                    self.flush(&mut pages)?;
                    continue;
                }
                // A row larger than a page is a page.
                count = 1;
            }
            // Worth keeping somebody's buffer alive only if the page is about to be done.
            let share = bytes >= self.bounds.bytes / 2;
            let pushed = self.buffer.push(top, left.start..left.start + count, share)?;
            if pushed == Pushed::All {
                left.start += count;
            }
            let is_full = self.buffer.byte_size() >= self.bounds.bytes
                || self.buffer.num_rows() as u64 >= self.bounds.rows
                || pushed == Pushed::DictionaryFull;
            if is_full {
                self.flush(&mut pages)?;
            }
        }
        Ok(pages)
    }

    /// How many of `rows` have at most `room` bytes, and how many bytes those have.
    fn fitting(&self, top: &ArrayRef, rows: Range<usize>, room: usize) -> Result<(usize, usize)> {
        let bytes = |count: usize| leaf_bytes(&self.path, top, rows.start..rows.start + count);
        let all = bytes(rows.len())?;
        if all <= room {
            return Ok((rows.len(), all));
        }
        let (mut fits, mut fit_bytes, mut passes) = (0, 0, rows.len());
        while passes - fits > 1 {
            let middle = fits + (passes - fits) / 2;
            let size = bytes(middle)?;
            if size <= room {
                (fits, fit_bytes) = (middle, size);
            } else {
                passes = middle;
            }
        }
        Ok((fits, fit_bytes))
    }

    /// Encodes what is buffered, if anything.
    pub(super) fn flush(&mut self, pages: &mut Vec<NewPage>) -> Result<()> {
        if self.buffer.num_rows() == 0 {
            return Ok(());
        }
        let page = self.buffer.take();
        let encoded = super::blob::encode(page, &self.path, &self.tuning)
            .map_err(|e| e.in_column(&self.path.path).in_page(self.num_pages))?;
        for page in encoded {
            let rows = page.num_rows as u64;
            let length = rows
                .checked_mul(self.path.rows_scale() as u64)
                .ok_or_else(|| Error::limit("more rows in a page than 64 bits count"))?;
            pages.push(NewPage {
                buffers: page.buffers.into_iter().map(Into::into).collect(),
                length,
                priority: self.first_row,
                layout: page.layout.emit().into(),
            });
            self.first_row += rows;
            self.num_pages += 1;
        }
        Ok(())
    }
}
