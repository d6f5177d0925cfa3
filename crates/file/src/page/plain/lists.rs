//! The offsets column of lists: where the items of some lists are.
//!
//! ```text
//! [[1, 2], null, [], [3]]     stored  2 | 2 + 4 | 2 | 3      adjustment 4, 3 items
//! ```
//!
//! What an end says is in `ends.rs`. Positions count from the first item of the page; items of earlier pages come
//! before. A null list may hide items: they are there.
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
    let Root::Lists { ends, num_items } = &index.root else {
        corrupt!("values where the offsets of lists are expected");
    };
    let access = index.access(buffers, segments, limits);
    for range in rows {
        let mut last = 0;
        ends.each(range, &access, |items, is_null| {
            last = items.end;
            out.push(StoredList { start: items.start, len: items.end - items.start, is_null });
        })?;
        // None of them ends behind the last.
        if last > *num_items {
            corrupt!("lists of {last} items and more where the page has {num_items}");
        }
    }
    index.put_after(access, rows, num_rows);
    Ok(())
}
