//! The offsets column of lists: where the items of some lists are.
//!
//! ```text
//! [[1, 2], null, [], [3]]     stored  2 | 2 + 4 | 2 | 3      adjustment 4, 3 items
//! ```
//!
//! There is no leading zero: a list begins where the one before it ends, the first of a page at 0. Positions count from
//! the first item of the page; items of earlier pages come before. A null list may hide items: they are there.
//!
//! Bound on reads: an offset for each list, and the one before each range of them.

use std::ops::Range;

use super::decode::{PlainPage, Root};
use crate::Result;
use crate::error::corrupt;

/// Where a list is among the items of its page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StoredList {
    pub(crate) start: u64,
    pub(crate) len: u64,
    pub(crate) is_null: bool,
}

/// Appends the lists at `rows`; what they need must be there.
pub(crate) fn read_lists(page: &PlainPage<'_>, rows: &[Range<u64>], out: &mut Vec<StoredList>) -> Result<()> {
    let PlainPage { index, buffers, segments, limits, num_rows } = *page;
    let Root::Lists { ends, null_adjustment, num_items } = &index.root else {
        corrupt!("values where the offsets of lists are expected");
    };
    let access = index.access(buffers, segments, limits);
    for range in rows {
        let stored = ends.words(&(range.start.saturating_sub(1)..range.end), &access)?;
        let end_of = |stored: u64| if stored >= *null_adjustment { stored - null_adjustment } else { stored };
        let (mut last, stored) = match (range.start, stored.split_first()) {
            (0, _) => (0, stored.as_slice()),
            (_, Some((before, stored))) => (end_of(*before), stored),
            (_, None) => corrupt!("no offsets where some are expected"),
        };
        for stored in stored {
            let end = end_of(*stored);
            if end < last || end > *num_items {
                corrupt!("a list from item {last} to {end} of {num_items}");
            }
            out.push(StoredList { start: last, len: end - last, is_null: *stored >= *null_adjustment });
            last = end;
        }
    }
    index.put_after(access, rows, num_rows);
    Ok(())
}
