//! Rows of a plain page: what must be read for them, and their values.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use super::super::PageBuffers;
use super::super::leaf_data::{LeafData, LeafShape, Structure, Validity, too_large_for_offsets};
use super::arrays::{Access, Inflated};
use super::dictionary::Items;
use super::ends::Ends;
use super::reader::Array;
use super::{PlainEncoding, PlainLayout};
use crate::error::corrupt;
use crate::io::Segments;
use crate::{Error, Limits, Result};

/// Rows of values that vary in length that are decoded together.
const BLOCK_ROWS: u64 = 8192;

/// A range of fewer rows is not part of a scan that goes on.
const SCAN_ROWS: u64 = 256;

/// What a handle keeps of a plain page: the tree, checked, and the items of its dictionary. Compressed buffers are kept
/// decompressed only from one batch of a scan to the next, until the page is done.
pub(crate) struct PlainIndex {
    pub(super) root: Root,
    items: Option<Items>,
    /// Bytes of a value in memory, `None` if they vary.
    value_bytes: Option<usize>,
    inflated: Mutex<Inflated>,
}

/// What a page is.
pub(super) enum Root {
    Array(Array),
    /// Where lists end.
    Lists {
        ends: Ends,
        num_items: u64,
    },
}

impl PlainIndex {
    /// Bytes of the items of its dictionary.
    pub(crate) fn dictionary_bytes(&self) -> u64 {
        self.items.as_ref().map_or(0, |items| items.values.byte_size()) as u64
    }
}

impl std::fmt::Debug for PlainIndex {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PlainIndex").field("items", &self.items).finish_non_exhaustive()
    }
}

impl Root {
    fn new(layout: &PlainLayout, leaf: &LeafShape<'_>) -> Result<Self> {
        let mut encoding = &layout.encoding;
        while let PlainEncoding::NoNull { values } = encoding {
            encoding = values;
        }
        match encoding {
            PlainEncoding::List { offsets, null_adjustment, num_items } if leaf.is_offsets => {
                Ok(Self::Lists { ends: Ends::new(offsets, *null_adjustment)?, num_items: *num_items })
            }
            other if leaf.is_offsets => {
                corrupt!("{} where the offsets of lists are expected", other.describe())
            }
            encoding => Array::new(encoding, leaf.shape, leaf.keys).map(Self::Array),
        }
    }
}

impl PlainIndex {
    /// What must be in memory to read the index: a dictionary, whole. Says whether there is one.
    pub(crate) fn want(
        layout: &PlainLayout,
        buffers: &PageBuffers,
        segments: &Segments,
        leaf: &LeafShape<'_>,
        limits: &Limits,
        needs: &mut Vec<Range<u64>>,
    ) -> Result<bool> {
        if let Root::Array(array) = Root::new(layout, leaf)?
            && let Some(dictionary) = array.dictionary()
        {
            let access = Access::new(buffers, segments, limits);
            dictionary.items.want(&(0..dictionary.num_items), &access, needs)?;
            return Ok(true);
        }
        Ok(false)
    }

    pub(crate) fn read(
        layout: &PlainLayout,
        buffers: &PageBuffers,
        segments: &Segments,
        leaf: &LeafShape<'_>,
        limits: &Limits,
    ) -> Result<Self> {
        let root = Root::new(layout, leaf)?;
        let items = match &root {
            Root::Array(array) => {
                let access = Access::new(buffers, segments, limits);
                array.dictionary().map(|d| d.load(leaf.shape, &access, limits)).transpose()?
            }
            Root::Lists { .. } => None,
        };
        let value_bytes = leaf.keys.or(leaf.shape.fixed_bytes());
        Ok(Self { root, items, value_bytes, inflated: Mutex::default() })
    }

    /// Adds what `rows` need.
    pub(crate) fn want_rows(
        &self,
        buffers: &PageBuffers,
        rows: &[Range<u64>],
        segments: &Segments,
        limits: &Limits,
        needs: &mut Vec<Range<u64>>,
    ) -> Result<()> {
        let access = self.access(buffers, segments, limits);
        for range in rows {
            match &self.root {
                Root::Array(array) => array.want(range, &access, needs)?,
                Root::Lists { ends, .. } => ends.want(range, &access, needs)?,
            }
        }
        self.put(access);
        Ok(())
    }

    /// Access to the page's bytes, with what is decompressed of them already.
    pub(super) fn access<'a>(
        &self,
        buffers: &'a PageBuffers,
        segments: &'a Segments,
        limits: &'a Limits,
    ) -> Access<'a> {
        let inflated = self.inflated.lock().unwrap_or_else(PoisonError::into_inner);
        Access::new(buffers, segments, limits).with_inflated(inflated.clone())
    }

    /// Keeps what is decompressed.
    fn put(&self, access: Access<'_>) {
        *self.inflated.lock().unwrap_or_else(PoisonError::into_inner) = access.into_inflated();
    }

    /// Keeps what is decompressed if `rows` look like those of a scan that has not come to the page's end.
    pub(super) fn put_after(&self, access: Access<'_>, rows: &[Range<u64>], num_rows: u64) {
        let goes_on = match rows {
            [one] => one.end < num_rows && one.end - one.start >= SCAN_ROWS,
            _ => false,
        };
        match goes_on {
            true => self.put(access),
            false => self.inflated.lock().unwrap_or_else(PoisonError::into_inner).clear(),
        }
    }
}

/// Everything that decoding one page needs, borrowed.
pub(crate) struct PlainPage<'a> {
    pub(crate) index: &'a PlainIndex,
    pub(crate) buffers: &'a PageBuffers,
    pub(crate) segments: &'a Segments,
    pub(crate) limits: &'a Limits,
    pub(crate) num_rows: u64,
}

/// Appends `rows` (page-relative, ascending, not empty) to `out`. Says whether all went in; otherwise
/// the budget of `out` was used up and `out.num_rows` tells how many did.
pub(crate) fn decode(page: &PlainPage<'_>, rows: &[Range<u64>], out: &mut LeafData) -> Result<bool> {
    let Root::Array(array) = &page.index.root else {
        corrupt!("the offsets of lists where values are expected")
    };
    let keeps_keys = array.dictionary().is_some_and(|d| d.keeps_keys);
    if keeps_keys && let Some(items) = &page.index.items {
        let max_entries = match page.index.value_bytes {
            Some(1) => 1 << 7,
            Some(2) => 1 << 15,
            _ => 1 << 31,
        };
        if !out.use_dictionary(&items.values, max_entries.max(items.values.len()))? {
            return Ok(false);
        }
    }
    if let Some(bytes) = page.index.value_bytes
        && bytes as u64 > page.limits.buffer_bytes
    {
        return Err(Error::limit(format!(
            "one value has {bytes} bytes, at most {} are read",
            page.limits.buffer_bytes
        )));
    }
    let access = page.index.access(page.buffers, page.segments, page.limits);
    let complete = append_rows(page, array, keeps_keys, &access, rows, out);
    if let Ok(complete) = complete {
        // Where a batch was full before all rows were in, the rest comes next.
        let num_rows = if complete { page.num_rows } else { u64::MAX };
        page.index.put_after(access, rows, num_rows);
    }
    complete
}

fn append_rows(
    page: &PlainPage<'_>,
    array: &Array,
    keeps_keys: bool,
    access: &Access<'_>,
    rows: &[Range<u64>],
    out: &mut LeafData,
) -> Result<bool> {
    for (i, range) in rows.iter().enumerate() {
        let last = i + 1 == rows.len();
        let mut start = range.start;
        while start < range.end {
            let count = room(page, out).min(range.end - start);
            if count == 0 {
                return Ok(false);
            }
            let block = start..start + count;
            let mut valid = match &mut out.structure {
                Structure::Flat(validity) => std::mem::take(validity),
                Structure::Levels { .. } => Validity::default(),
            };
            let done =
                array.append(&block, access, page.index.items.as_ref(), &mut out.values, &mut valid)?;
            append_structure(&mut out.structure, valid, done);
            if keeps_keys {
                out.remap_keys(done);
            }
            out.finish_rows(done);
            if done == 0 && out.num_rows == 0 {
                return Err(too_large_for_offsets());
            }
            start += done as u64;
            if (done as u64) < count || (out.is_full() && !(last && start == range.end)) {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

/// Validity of `count` more values: bits, or definition levels where there are structs above.
fn append_structure(structure: &mut Structure, valid: Validity, count: usize) {
    match structure {
        Structure::Flat(validity) => *validity = valid,
        Structure::Levels { def, .. } => match valid.into_buffer() {
            Some(bits) => def.extend(bits.iter().map(|valid| u16::from(!valid))),
            None => def.resize(def.len() + count, 0),
        },
    }
}

/// Rows that the budget of `out` leaves room for; one at least if there is none yet.
fn room(page: &PlainPage<'_>, out: &LeafData) -> u64 {
    let left = out.budget.saturating_sub(out.byte_size()) as u64;
    let rows = match page.index.value_bytes {
        Some(bytes) => left / bytes.max(1) as u64,
        None => (left / 4).min(BLOCK_ROWS),
    };
    rows.max(u64::from(out.num_rows == 0))
}
