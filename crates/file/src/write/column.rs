//! One stored column on its way into a file: rows are gathered, cut into pages and encoded.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::ArrayRef;

use crate::array::shred::{LeafBuffer, LeafPath, Pushed, leaf_bytes};
use crate::choose::{self, Choice, Tuning};
use crate::container::{NewPage, PageMessage};
use crate::encoding::ValueType;
use crate::page::LeafPage;
use crate::page::plain::{self, PlainPageParts};
use crate::schema::{Leaf, Parent};
use crate::stats::{BloomCollected, BloomCollector, Collected, Collector};
use crate::{Error, FormatVersion, Result};

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
    column: u32,
    tuning: Tuning,
    bounds: PageBounds,
    buffer: LeafBuffer,
    /// Top-level row of the first one in `buffer`.
    first_row: u64,
    num_pages: u64,
    /// Why its pages are as they are.
    choices: Vec<Choice>,
    /// Structs and lists above that have columns of their own, outermost first.
    parents: Vec<Parent>,
    /// Items so far of each list among them.
    num_items: Vec<u64>,
    /// Of a leaf with an order, if there are to be statistics.
    statistics: Option<Collector>,
    /// Where bloom filters were asked for.
    blooms: Option<BloomCollector>,
}

/// A page, and the column that it belongs to.
pub(super) type ColumnPage = (u32, NewPage);

impl ColumnWriter {
    pub(super) fn new(path: LeafPath, leaf: &Leaf, tuning: Tuning, bounds: PageBounds) -> Self {
        let path = Arc::new(path);
        let rows = bounds.rows.min(MAX_PAGE_ROWS / path.rows_scale().max(1) as u64).max(1);
        Self {
            buffer: LeafBuffer::new(path.clone()),
            path,
            column: leaf.column,
            num_items: leaf.lists().map(|_| 0).collect(),
            parents: leaf.parents.clone(),
            tuning,
            bounds: PageBounds { rows, ..bounds },
            first_row: 0,
            num_pages: 0,
            choices: Vec::new(),
            statistics: None,
            blooms: None,
        }
    }

    /// Gathers statistics of all rows; before any of them.
    pub(super) fn collect(&mut self, statistics: Option<Collector>) {
        self.statistics = statistics;
    }

    /// Gathers bloom filters of all rows; before any of them.
    pub(super) fn collect_blooms(&mut self, blooms: BloomCollector) {
        self.blooms = Some(blooms);
    }

    /// The bloom filters of all rows and the column's number, once.
    pub(super) fn collected_blooms(&mut self) -> Option<(u32, BloomCollected)> {
        Some((self.column, self.blooms.take()?.finish()))
    }

    /// The statistics of all rows and the column's number, once.
    pub(super) fn collected(&mut self) -> Option<(u32, Collected)> {
        Some((self.column, self.statistics.take()?.finish()))
    }

    /// Why the pages so far are as they are.
    pub(super) fn choices(&self) -> &[Choice] {
        &self.choices
    }

    /// The column's path, and the same.
    pub(super) fn into_choices(self) -> (String, Vec<Choice>) {
        (self.path.path.clone(), self.choices)
    }

    /// Whether no rows are buffered.
    pub(super) fn is_empty(&self) -> bool {
        self.buffer.num_rows() == 0
    }

    /// Bytes buffered.
    pub(super) fn byte_size(&self) -> usize {
        self.buffer.byte_size()
    }

    /// Adds all rows of a top-level array; gives back the pages that became full.
    pub(super) fn push(&mut self, top: &ArrayRef) -> Result<Vec<ColumnPage>> {
        let mut pages = Vec::new();
        let mut left = 0..top.len();
        // Rows tried at once: fewer where not even an empty dictionary has room for them.
        let mut most = usize::MAX;
        while !left.is_empty() {
            let room = self.bounds.bytes.saturating_sub(self.buffer.byte_size());
            let row_room = (self.bounds.rows - self.buffer.num_rows() as u64).min(left.len() as u64) as usize;
            let row_room = row_room.min(most);
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
                most = usize::MAX;
            } else if self.buffer.num_rows() == 0 {
                most = (count / 2).max(1);
            }
            let is_full = self.is_slice()
                || self.buffer.byte_size() >= self.bounds.bytes
                || self.buffer.num_rows() as u64 >= self.bounds.rows
                || pushed == Pushed::DictionaryFull;
            if is_full {
                self.flush(&mut pages)?;
            }
        }
        Ok(pages)
    }

    /// Whether what is buffered is somebody's slice that goes into the file as it is, values too wide for chunks: more rows would copy
    /// it. It is at least half a page.
    fn is_slice(&self) -> bool {
        self.buffer.byte_size() > self.buffer.num_rows().saturating_mul(choose::CHUNKED_BYTES)
            && self.buffer.is_shared()
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
    pub(super) fn flush(&mut self, pages: &mut Vec<ColumnPage>) -> Result<()> {
        if self.buffer.num_rows() == 0 {
            return Ok(());
        }
        let mut page = self.buffer.take();
        if let Some(statistics) = &mut self.statistics {
            statistics.add(&page);
        }
        if let Some(blooms) = &mut self.blooms {
            blooms.add(&page);
        }
        if self.tuning.version == FormatVersion::V2_0 {
            if super::blob::is_blob(&self.path) {
                page.mark_null_descriptors()?;
            }
            let pages = self.plain_pages(&page, pages);
            return pages.map_err(|e| e.in_column(&self.path.path).in_page(self.num_pages));
        }
        let encoded = super::blob::encode(page, &self.path, &self.tuning)
            .map_err(|e| e.in_column(&self.path.path).in_page(self.num_pages))?;
        self.choices.extend(encoded.choices);
        for page in encoded.pages {
            let rows = page.num_rows as u64;
            let length = rows
                .checked_mul(self.path.rows_scale() as u64)
                .ok_or_else(|| Error::limit("more rows in a page than 64 bits count"))?;
            let page = NewPage {
                buffers: page.buffers,
                length,
                priority: self.first_row,
                message: PageMessage::PageLayout,
                layout: page.layout.emit().into(),
            };
            pages.push((self.column, page));
            self.first_row += rows;
            self.num_pages += 1;
        }
        Ok(())
    }

    /// The same in 2.0: pages of values, and a page of offsets for every list whose first leaf this is.
    fn plain_pages(&mut self, page: &LeafPage, pages: &mut Vec<ColumnPage>) -> Result<()> {
        self.first_row += page.num_rows as u64;
        // The pages of structs tell how many there are, whichever leaf is the first of their list.
        let counts = self.tuning.is_empty_struct || self.parents.iter().any(|p| !p.is_list && p.is_first);
        // Layers are innermost first, lists outermost first.
        let list_layers = (0..page.layers.len()).rev().filter(|i| page.layers[*i].is_list());
        let lists = self.parents.iter().filter(|p| p.is_list);
        for ((layer, parent), num_items) in list_layers.zip(lists).zip(&mut self.num_items) {
            if !parent.is_first && !counts {
                continue;
            }
            if let Some(offsets) = plain::offsets(page, layer) {
                *num_items += offsets.num_items();
                if parent.is_first {
                    pages.push((parent.column, new_page(offsets)));
                }
            }
        }
        if page.values.len() > 0 && !self.tuning.is_empty_struct {
            let parts = choose::encode_plain(page, &self.tuning)?;
            self.num_pages += parts.len() as u64;
            pages.extend(parts.into_iter().map(|part| (self.column, new_page(part))));
        }
        Ok(())
    }

    /// Pages that come once a file is complete: of structs whose first leaf this is, and of itself if it is a struct without
    /// members. They say how many there are. Only in 2.0.
    pub(super) fn finish(&mut self) -> Result<Vec<ColumnPage>> {
        if self.tuning.version != FormatVersion::V2_0 {
            return Ok(Vec::new());
        }
        let mut pages = Vec::new();
        let mut length = self.first_row;
        let mut num_items = self.num_items.iter();
        for parent in &self.parents {
            match parent.is_list {
                true => length = num_items.next().copied().unwrap_or(length),
                false if parent.is_first => pages.push((parent.column, new_page(plain::header(length)))),
                false => {}
            }
        }
        if self.tuning.is_empty_struct {
            pages.push((self.column, new_page(plain::header(length))));
        }
        if matches!(self.path.shape, ValueType::Struct(_)) && self.num_pages == 0 {
            // The official reader looks for the first page of packed structs even where there are none of them.
            let page = self.buffer.take();
            let parts = choose::encode_plain(&page, &self.tuning)?;
            pages.extend(parts.into_iter().map(|part| (self.column, new_page(part))));
        }
        Ok(pages)
    }
}

fn new_page(parts: PlainPageParts) -> NewPage {
    NewPage {
        buffers: parts.buffers.into_iter().map(Into::into).collect(),
        length: parts.length,
        priority: 0,
        message: PageMessage::ArrayEncoding,
        layout: parts.layout.emit().into(),
    }
}
