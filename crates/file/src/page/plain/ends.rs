//! Where strings or lists end, and which of them are null.
//!
//! ```text
//! "x", null, "yz"     1 | 1 + 4 | 3     adjustment 4: an end that is not below it is that of a null, increased by it
//! ```
//!
//! There is no leading zero: each begins where the one before it ends, the first of a page at 0.
//!
//! Bound on reads: the ends of the rows asked for, and the one before them.

use std::ops::Range;

use super::PlainEncoding;
use super::arrays::{Access, FixedArray};
use crate::Result;
use crate::error::corrupt;

/// The ends of a page.
#[derive(Debug)]
pub(super) struct Ends {
    stored: FixedArray,
    null_adjustment: u64,
}

impl Ends {
    pub(super) fn new(encoding: &PlainEncoding, null_adjustment: u64) -> Result<Self> {
        Ok(Self { stored: FixedArray::new(encoding, 8)?, null_adjustment })
    }

    /// Those that tell where `rows` are.
    fn telling(rows: &Range<u64>) -> Range<u64> {
        rows.start.saturating_sub(1)..rows.end
    }

    /// Adds what [`each`](Self::each) of `rows` needs.
    pub(super) fn want(
        &self,
        rows: &Range<u64>,
        access: &Access<'_>,
        needs: &mut Vec<Range<u64>>,
    ) -> Result<()> {
        self.stored.want(&Self::telling(rows), access, needs)
    }

    /// An end, and whether it is that of a null.
    fn plain(&self, stored: u64) -> (u64, bool) {
        match stored.checked_sub(self.null_adjustment) {
            Some(end) => (end, true),
            None => (stored, false),
        }
    }

    /// Where all before `row` end.
    pub(super) fn before(&self, row: u64, access: &Access<'_>) -> Result<u64> {
        let Some(last) = row.checked_sub(1) else { return Ok(0) };
        let bytes = self.stored.read(&(last..row), access)?;
        match bytes.first_chunk() {
            Some(stored) => Ok(self.plain(u64::from_le_bytes(*stored)).0),
            None => corrupt!("no end where one is expected"),
        }
    }

    /// Gives where each of `rows` is, and whether it is null, to `each`; says where the first of them begins.
    pub(super) fn each(
        &self,
        rows: &Range<u64>,
        access: &Access<'_>,
        mut each: impl FnMut(Range<u64>, bool),
    ) -> Result<u64> {
        let bytes = self.stored.read(&Self::telling(rows), access)?;
        let mut stored = bytes.as_chunks().0.iter().map(|stored| self.plain(u64::from_le_bytes(*stored)));
        let first = match (rows.start, rows.start < rows.end) {
            (0, _) | (_, false) => 0,
            _ => match stored.next() {
                Some((end, _)) => end,
                None => corrupt!("no ends where some are expected"),
            },
        };
        let mut last = first;
        for (end, is_null) in stored {
            if end < last {
                corrupt!("the ends of strings or lists fall from {last} to {end}");
            }
            each(last..end, is_null);
            last = end;
        }
        Ok(first)
    }
}
