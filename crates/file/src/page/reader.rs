//! One page of a column: its description, its index once read, and a decoder of some of its rows.
//!
//! ```text
//! round 1   checksums, chunk table, dictionary, repetition index | row offsets (full-zip) | indices (plain strings) | structure (sparse)
//! round 2   chunks                                               | rows                   | bytes                   | as its values
//! ```
//!
//! A page of up to 8 KiB comes whole in round 1. Once a handle has the index of a page, a read of it takes one round
//! (two for full-zip pages whose rows vary in size, and for plain pages of strings).

use std::borrow::Cow;
use std::ops::Range;
use std::sync::OnceLock;

use super::constant::{self, ConstantIndex, ConstantPage};
use super::full_zip::{self, FullZipIndex, FullZipPage};
use super::leaf_data::{LeafData, LeafShape};
use super::mini_block::{self, MiniBlockIndex, MiniBlockPage};
use super::plain::{self, PlainEncoding, PlainIndex, PlainPage, StoredList};
use super::scratch::PageScratch;
use super::sparse::{self, SparseIndex, SparsePage};
use super::{Layout, PageBuffers, max_def, max_rep};
use crate::container::UNIT_BYTES;
use crate::held::HeldBytes;
use crate::io::Segments;
use crate::{Limits, Result};

/// A page of no more bytes is fetched whole together with its index: two units of checksums.
const SMALL_PAGE_BYTES: u64 = 2 * UNIT_BYTES;

/// One page of one column.
#[derive(Debug)]
pub(crate) struct Page {
    /// First row, in slots from the column's start.
    pub(crate) first_row: u64,
    /// Rows, in slots.
    pub(crate) num_rows: u64,
    pub(crate) layout: Layout,
    pub(crate) buffers: PageBuffers,
    index: OnceLock<PageIndex>,
}

/// What a handle keeps of a page after its first use.
#[derive(Debug)]
enum PageIndex {
    MiniBlock(MiniBlockIndex),
    FullZip(FullZipIndex),
    Constant(ConstantIndex),
    Plain(PlainIndex),
    Sparse(Box<SparseIndex>),
}

impl Page {
    pub(crate) fn new(first_row: u64, num_rows: u64, layout: Layout, buffers: PageBuffers) -> Self {
        Self { first_row, num_rows, layout, buffers, index: OnceLock::new() }
    }

    /// Adds what a handle keeps of the page by now.
    pub(crate) fn add_held(&self, held: &mut HeldBytes) {
        self.buffers.add_held(held);
        match self.index.get() {
            Some(PageIndex::MiniBlock(index)) => index.add_held(held),
            Some(PageIndex::Sparse(index)) => index.add_held(held),
            Some(PageIndex::Plain(index)) => held.dictionaries += index.dictionary_bytes(),
            Some(PageIndex::FullZip(_) | PageIndex::Constant(_)) | None => {}
        }
    }

    /// Bytes stored, all buffers.
    pub(crate) fn stored_bytes(&self) -> u64 {
        self.buffers.ranges().iter().map(|r| r.end - r.start).sum()
    }

    /// Whether it announces far more rows than its bytes can tell apart.
    pub(crate) fn is_all_but_empty(&self) -> bool {
        is_all_but_empty(self.num_rows, self.stored_bytes())
    }

    /// Whether all rows are alike, so that a page of any length costs the file nothing.
    pub(crate) fn repeats_one_row(&self) -> bool {
        let layout = match self.layout.storage() {
            Layout::Constant(layout) => layout,
            Layout::Plain(layout) => {
                return matches!(layout.encoding, PlainEncoding::AllNull | PlainEncoding::Struct);
            }
            Layout::MiniBlock(_) | Layout::FullZip(_) | Layout::Sparse(_) | Layout::Blob(_) => return false,
        };
        let levels = match self.buffers.ranges() {
            [.., rep, def] => rep.end - rep.start + (def.end - def.start),
            _ => 0,
        };
        max_rep(&layout.layers) == 0 && (levels == 0 || max_def(&layout.layers) == 0)
    }

    /// The leaf as what the page stores sees it.
    fn stored_leaf<'a>(&self, leaf: &LeafShape<'a>) -> Result<LeafShape<'a>> {
        match &self.layout {
            Layout::Blob(layout) => layout.stored_leaf(leaf),
            _ => Ok(*leaf),
        }
    }

    /// The index, read from `segments` if it is not there yet; `None` after adding what is missing to `needs`.
    fn index(
        &self,
        leaf: &LeafShape<'_>,
        segments: &Segments,
        limits: &Limits,
        needs: &mut Vec<Range<u64>>,
    ) -> Result<Option<&PageIndex>> {
        if let Some(index) = self.index.get() {
            // An index that took no bytes may be there before the checksums are.
            self.buffers.load_checks(segments, needs)?;
            return Ok(Some(index));
        }
        let leaf = &self.stored_leaf(leaf)?;
        let layout = self.layout.storage();
        let before = needs.len();
        self.buffers.load_checks(segments, needs)?;
        match layout {
            Layout::MiniBlock(layout) => MiniBlockIndex::want(layout, &self.buffers, segments, needs)?,
            Layout::Constant(layout) => ConstantIndex::want(layout, &self.buffers, segments, needs)?,
            Layout::Plain(layout) => {
                // Nothing is read for an index without a dictionary: rows are asked for beside the checksums.
                if !PlainIndex::want(layout, &self.buffers, segments, leaf, limits, needs)? {
                    let index = PlainIndex::read(layout, &self.buffers, segments, leaf, limits)?;
                    return Ok(Some(self.index.get_or_init(|| PageIndex::Plain(index))));
                }
            }
            Layout::Sparse(layout) => SparseIndex::want(layout, &self.buffers, segments, needs)?,
            Layout::FullZip(_) | Layout::Blob(_) => {}
        }
        if needs.len() > before {
            // What is asked for next is so little that waiting for it would cost more.
            if self.stored_bytes() <= SMALL_PAGE_BYTES {
                self.buffers.want_all(segments, needs);
            }
            return Ok(None);
        }
        let index = match layout {
            Layout::MiniBlock(layout) => PageIndex::MiniBlock(MiniBlockIndex::read(
                layout,
                &self.buffers,
                segments,
                leaf,
                self.num_rows,
                limits,
            )?),
            Layout::FullZip(layout) => {
                PageIndex::FullZip(FullZipIndex::read(layout, &self.buffers, leaf, self.num_rows, limits)?)
            }
            Layout::Constant(layout) => {
                PageIndex::Constant(ConstantIndex::read(layout, &self.buffers, segments, leaf)?)
            }
            Layout::Plain(layout) => {
                PageIndex::Plain(PlainIndex::read(layout, &self.buffers, segments, leaf, limits)?)
            }
            Layout::Sparse(layout) => {
                let index = SparseIndex::read(layout, &self.buffers, segments, leaf, self.num_rows, limits)?;
                PageIndex::Sparse(Box::new(index))
            }
            Layout::Blob(_) => unreachable!("what a page stores is never laid out as a blob"),
        };
        // A lost race stored the same index.
        Ok(Some(self.index.get_or_init(|| index)))
    }
}

/// Rows that a stored byte may stand for before they count as all but empty.
const ROWS_PER_BYTE: u64 = 1 << 16;

/// Whether rows are far more than the bytes stored of them can tell apart.
pub(crate) fn is_all_but_empty(num_rows: u64, stored_bytes: u64) -> bool {
    num_rows / ROWS_PER_BYTE > stored_bytes
}

/// Reading some rows of one page.
#[derive(Debug)]
pub(crate) struct PageRead<'p> {
    page: &'p Page,
    /// Page-relative, ascending, none empty.
    rows: Cow<'p, [Range<u64>]>,
}

impl<'p> PageRead<'p> {
    pub(crate) fn new(page: &'p Page, rows: impl Into<Cow<'p, [Range<u64>]>>) -> Self {
        Self { page, rows: rows.into() }
    }

    /// The first row to read, page-relative.
    pub(crate) fn first_row(&self) -> Option<u64> {
        self.rows.first().map(|r| r.start)
    }

    /// Adds to `needs` what must be fetched before [`decode`](Self::decode); nothing when all is there.
    pub(crate) fn want(
        &self,
        leaf: &LeafShape<'_>,
        segments: &Segments,
        limits: &Limits,
        needs: &mut Vec<Range<u64>>,
    ) -> Result<()> {
        let page = self.page;
        let Some(index) = page.index(leaf, segments, limits, needs)? else { return Ok(()) };
        match (index, page.layout.storage()) {
            (PageIndex::MiniBlock(index), _) => index.want_chunks(&page.buffers, &self.rows, segments, needs),
            (PageIndex::FullZip(index), _) => index.want(&page.buffers, &self.rows, segments, needs),
            (PageIndex::Constant(index), Layout::Constant(layout)) => {
                index.want_rows(layout, &page.buffers, &self.rows, segments, needs)
            }
            (PageIndex::Plain(index), _) => {
                index.want_rows(&page.buffers, &self.rows, segments, limits, needs)
            }
            (PageIndex::Sparse(index), _) => index.want_rows(&page.buffers, &self.rows, segments, needs),
            (PageIndex::Constant(_), _) => unreachable!("a constant index is made for a constant layout"),
        }
    }

    /// Appends the rows to `out`. Says whether all went in, see the layouts' own `decode`.
    pub(crate) fn decode(
        &self,
        leaf: &LeafShape<'_>,
        segments: &Segments,
        limits: &Limits,
        out: &mut LeafData,
        scratch: &mut PageScratch,
    ) -> Result<bool> {
        let page = self.page;
        if let Layout::Blob(layout) = &page.layout {
            return layout
                .decode(leaf, out, |stored, out| self.decode_stored(stored, segments, limits, out, scratch));
        }
        self.decode_stored(leaf, segments, limits, out, scratch)
    }

    fn decode_stored(
        &self,
        leaf: &LeafShape<'_>,
        segments: &Segments,
        limits: &Limits,
        out: &mut LeafData,
        scratch: &mut PageScratch,
    ) -> Result<bool> {
        let page = self.page;
        let buffers = &page.buffers;
        // The index is there: `want` had nothing more to ask for.
        let mut missing = Vec::new();
        let Some(index) = page.index(leaf, segments, limits, &mut missing)?.filter(|_| missing.is_empty())
        else {
            return Err(crate::Error::invalid("a page was decoded before its index was fetched"));
        };
        match (index, page.layout.storage()) {
            (PageIndex::MiniBlock(index), Layout::MiniBlock(layout)) => mini_block::decode(
                &MiniBlockPage { layout, index, buffers, segments, limits },
                &self.rows,
                out,
                scratch,
            ),
            (PageIndex::FullZip(index), Layout::FullZip(layout)) => {
                full_zip::decode(&FullZipPage { layout, index, buffers, segments }, &self.rows, out, scratch)
            }
            (PageIndex::Constant(index), Layout::Constant(layout)) => {
                let num_rows = page.num_rows;
                let page = ConstantPage { layout, index, buffers, segments, limits, num_rows };
                constant::decode(&page, &self.rows, out, scratch)
            }
            (PageIndex::Plain(index), _) => {
                let num_rows = page.num_rows;
                plain::decode(&PlainPage { index, buffers, segments, limits, num_rows }, &self.rows, out)
            }
            (PageIndex::Sparse(index), Layout::Sparse(layout)) => {
                let page = SparsePage { layout, index, buffers, segments, limits };
                sparse::decode(&page, &self.rows, out, scratch)
            }
            _ => unreachable!("an index is made for its page's layout"),
        }
    }

    /// Appends the lists at the rows of a page of offsets.
    pub(crate) fn decode_lists(
        &self,
        leaf: &LeafShape<'_>,
        segments: &Segments,
        limits: &Limits,
        out: &mut Vec<StoredList>,
    ) -> Result<()> {
        let page = self.page;
        match page.index(leaf, segments, limits, &mut Vec::new())? {
            Some(PageIndex::Plain(index)) => {
                let (buffers, num_rows) = (&page.buffers, page.num_rows);
                plain::read_lists(&PlainPage { index, buffers, segments, limits, num_rows }, &self.rows, out)
            }
            _ => Err(crate::Error::corrupt("a column of offsets whose pages have levels")),
        }
    }
}
