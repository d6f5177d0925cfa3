//! One stored column: its leaf, its pages, and a decoder of some of its rows.

mod lists;
mod structs;

use std::ops::Range;
use std::sync::Arc;

use arrow_schema::DataType;

use crate::container::{ColumnRecord, PageMessage};
use crate::encoding::{Arena, Encoding, ValueType};
use crate::error::corrupt;
use crate::io::{Decode, Segments, Step};
use crate::page::{
    Layout, LeafData, LeafShape, LevelScheme, Page, PageBuffers, PageRead, PageScratch, ZipWidth, plain,
};
use crate::schema::{Leaf, LeafKind, Nesting};
use crate::{Error, Limits, Result};

pub(crate) use lists::{ListColumn, ListRead};
pub(crate) use structs::StructColumn;

/// What the columns of a file share.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FileFacts<'a> {
    /// Mini-block chunks carry 32-bit sizes.
    pub(crate) large_chunks: bool,
    pub(crate) global_buffers: &'a [Range<u64>],
    pub(crate) limits: &'a Limits,
}

/// A column with its pages.
#[derive(Debug)]
pub(crate) struct Column {
    pub(crate) leaf: Leaf,
    /// Bytes of a key, for a column of dictionary type.
    pub(crate) keys: Option<usize>,
    pub(crate) scheme: LevelScheme,
    pub(crate) pages: Vec<Page>,
    /// Rows, in slots: rows of the file times [`Leaf::rows_scale`]; items where there are lists with columns of their own.
    pub(crate) num_slots: u64,
    /// Offsets of the lists above, outermost first, where lists have columns of their own.
    pub(crate) lists: Vec<Arc<ListColumn>>,
    /// The levels of an item by itself, below such lists.
    item_scheme: LevelScheme,
    /// Whether nulls are descriptors of their own, as blobs of 2.0 have them.
    null_descriptors: bool,
}

/// Parses the descriptions of a column's pages; gives them and their length in all.
fn parse_pages(
    record: ColumnRecord,
    scale: u64,
    facts: &FileFacts<'_>,
    check: impl Fn(&Layout) -> Result<()>,
) -> Result<(Vec<Page>, u64)> {
    let mut pages = Vec::with_capacity(record.pages.len());
    let mut num_slots = 0u64;
    for (i, page) in record.pages.into_iter().enumerate() {
        let place = |e: Error| e.in_page(i as u64);
        let (layout, borrowed) = match page.message {
            PageMessage::ArrayEncoding => {
                let from = plain::Borrowable {
                    own: page.buffers.len(),
                    column: &record.buffers,
                    file: facts.global_buffers,
                };
                let (layout, borrowed) =
                    plain::PlainLayout::parse(&page.encoding, from, facts.limits).map_err(place)?;
                (Layout::Plain(layout), borrowed)
            }
            PageMessage::PlanarLayout => {
                (Layout::parse_planar(&page.encoding, facts.limits).map_err(place)?, Vec::new())
            }
            PageMessage::PageLayout => {
                (Layout::parse(&page.encoding, facts.limits).map_err(place)?, Vec::new())
            }
        };
        if let Layout::MiniBlock(m) = layout.storage()
            && m.large_chunks != facts.large_chunks
        {
            return Err(place(Error::corrupt(
                "the width of chunk sizes in a page is not that of the file's format version",
            )));
        }
        check(&layout).map_err(place)?;
        if scale == 0 || !page.length.is_multiple_of(scale) {
            return Err(place(Error::corrupt(format!(
                "a page of {} slots where every row has {scale}: rows never straddle pages",
                page.length
            ))));
        }
        let buffers = PageBuffers::new(page.buffers, page.crcs).with_borrowed(borrowed);
        pages.push(Page::new(num_slots, page.length, layout, buffers));
        num_slots = match num_slots.checked_add(page.length) {
            Some(n) => n,
            None => return Err(place(Error::corrupt("the rows of a column pass 2^64"))),
        };
    }
    Ok((pages, num_slots))
}

impl Column {
    /// Parses the pages' descriptions; `lists` are the columns of the lists above, outermost first, where those have any.
    pub(crate) fn new(
        leaf: Leaf,
        record: ColumnRecord,
        lists: Vec<Arc<ListColumn>>,
        facts: &FileFacts<'_>,
    ) -> Result<Self> {
        let place = |e: Error| e.in_column(&leaf.path);
        let is_plain = record.pages.iter().any(|p| p.message == PageMessage::ArrayEncoding);
        if is_plain && leaf.layers.iter().any(|l| matches!(l, Nesting::FixedSizeList(_))) {
            return Err(place(Error::unsupported("fixed-size lists of structs in 2.0")));
        }
        // With columns of their own for lists come pages without levels, and the other way round.
        let plain_expected = !leaf.parents.is_empty();
        let (pages, num_slots) = parse_pages(record, leaf.rows_scale, facts, |layout| {
            let is_plain = matches!(layout, Layout::Plain(_));
            let has_lists = leaf.layers.contains(&Nesting::List);
            if is_plain != plain_expected && has_lists {
                corrupt!("the pages of a column below lists are not those of the file's format version");
            }
            Ok(())
        })
        .map_err(place)?;
        lists::check_chain(&lists, num_slots).map_err(place)?;
        let scheme = LevelScheme::new(&leaf.layers);
        let keys = match leaf.arrow.data_type() {
            DataType::Dictionary(key, _) => key.primitive_width(),
            _ => None,
        };
        let null_descriptors = leaf.kind == LeafKind::Blob && is_plain;
        let item_scheme = LevelScheme::new(&[Nesting::Item]);
        Ok(Self { leaf, keys, scheme, pages, num_slots, lists, item_scheme, null_descriptors })
    }

    /// Fails unless the pages add up to the rows that the descriptor announces.
    pub(crate) fn check_rows(&self, num_rows: u64) -> Result<()> {
        let scale = self.leaf.rows_scale.max(1);
        let (found, expected) = match self.lists.first() {
            Some(outermost) => (outermost.num_rows(), Some(num_rows)),
            None => (self.num_slots, num_rows.checked_mul(self.leaf.rows_scale)),
        };
        if expected == Some(found) {
            return Ok(());
        }
        Err(Error::corrupt(format!(
            "the pages of a column hold {} rows, the file says {num_rows}",
            found / scale
        ))
        .in_column(&self.leaf.path))
    }

    /// The rows of the file that page `page` holds; items, where lists have columns of their own.
    pub(crate) fn page_rows(&self, page: usize) -> Range<u64> {
        let page = &self.pages[page];
        let scale = self.leaf.rows_scale.max(1);
        page.first_row / scale..(page.first_row + page.num_rows) / scale
    }

    pub(crate) fn leaf_shape(&self) -> LeafShape<'_> {
        let scheme = if self.lists.is_empty() { &self.scheme } else { &self.item_scheme };
        LeafShape { shape: &self.leaf.shape, keys: self.keys, scheme, is_offsets: false }
    }

    /// Bytes in Arrow memory that every row takes at least, whatever is in it.
    pub(crate) fn least_row_bytes(&self) -> u64 {
        // Under a list a row may have no items at all.
        if self.scheme.has_lists() {
            return 0;
        }
        let bytes = self.keys.or(self.leaf.shape.fixed_bytes()).unwrap_or(4);
        (bytes as u64).saturating_mul(self.leaf.rows_scale)
    }

    fn page_of(&self, slot: u64) -> usize {
        page_of(&self.pages, slot)
    }

    /// A guess of the bytes in Arrow memory that one row of lists takes.
    fn bytes_per_list(&self) -> f64 {
        let rows = self.lists[0].num_rows().max(1) as f64;
        let items = self.num_slots as f64;
        let stored: u64 = self.pages.iter().fold(0, |sum, p| sum.saturating_add(p.stored_bytes()));
        let width = match self.keys.or(self.leaf.shape.fixed_bytes()) {
            Some(bytes) => bytes as f64,
            None => 4.0 + stored as f64 / items.max(1.0),
        };
        let inner: u64 = self.lists.iter().fold(0, |sum, l| sum.saturating_add(l.num_rows()));
        (items * (width + 4.0) + inner as f64 * 8.0) / rows
    }

    /// A guess of the bytes in Arrow memory that one row takes, near `row`.
    pub(crate) fn bytes_per_row(&self, row: u64) -> f64 {
        if !self.lists.is_empty() {
            return self.bytes_per_list();
        }
        let scale = self.leaf.rows_scale as f64;
        let Some(page) = self.pages.get(self.page_of(row.saturating_mul(self.leaf.rows_scale))) else {
            return 0.0;
        };
        let rows = page.num_rows.max(1) as f64;
        let stored = page.stored_bytes() as f64 / rows;
        let (num_items, compressed) = match page.layout.storage() {
            Layout::MiniBlock(m) => (m.num_items as f64 / rows, true),
            Layout::FullZip(z) => (z.num_items as f64 / rows, z.values.compresses()),
            Layout::Constant(_) | Layout::Blob(_) => (1.0, false),
            Layout::Plain(p) => (1.0, p.encoding.compresses()),
            Layout::Sparse(s) => (s.num_slots(page.num_rows) as f64 / rows, true),
        };
        let levels = if self.scheme.is_flat() { 0.125 } else { 4.0 };
        let width = match self.keys {
            Some(keys) => keys as f64,
            None => match self.leaf.shape.fixed_bytes() {
                Some(bytes) => (bytes as f64).max(0.125),
                // What text shrinks by is not known before it is read; three is usual.
                None if compressed => 4.0 + 3.0 * stored / num_items.max(1e-9),
                None => 4.0 + stored / num_items.max(1e-9),
            },
        };
        (num_items * (width + levels) + levels) * scale
    }

    /// The end of the page with `row`, if its values are handed out as they are in the file.
    pub(crate) fn slice_end(&self, row: u64) -> Option<u64> {
        let scale = self.leaf.rows_scale;
        let page = self.pages.get(self.page_of(row.checked_mul(scale)?))?;
        let sliced = match &page.layout {
            Layout::FullZip(z) => {
                z.bits_rep + z.bits_def == 0
                    && matches!(z.width, ZipWidth::Value(_))
                    && !z.values.compresses()
            }
            Layout::Plain(p) => self.lists.is_empty() && p.encoding.is_sliced(),
            Layout::MiniBlock(_) | Layout::Constant(_) | Layout::Sparse(_) | Layout::Blob(_) => false,
        };
        sliced.then(|| (page.first_row + page.num_rows) / scale)
    }

    /// A decoder of `rows` of the file: ascending, disjoint, none empty, all inside.
    pub(crate) fn read<'c>(
        &'c self,
        rows: &'c [Range<u64>],
        budget: usize,
        arena: &Arena,
        limits: &'c Limits,
    ) -> ColumnRead<'c> {
        let rows = if self.lists.is_empty() {
            // Thousands of columns of one page each share the rows they are asked for.
            RowsRead::Leaf(match self.first_page_with_all(rows) {
                Some(page) => {
                    self.leaf_read(vec![(0, PageRead::new(page, rows))], rows, budget, arena, limits)
                }
                None => self.read_slots(rows, budget, arena, limits),
            })
        } else {
            RowsRead::Lists(Box::new(ListRead::new(self, rows, budget, arena, limits)))
        };
        ColumnRead { column: self, rows }
    }

    /// The first page, if it has all of `rows`, and a row is a slot.
    fn first_page_with_all(&self, rows: &[Range<u64>]) -> Option<&Page> {
        let page = self.pages.first()?;
        (self.leaf.rows_scale == 1 && rows.last()?.end <= page.num_rows).then_some(page)
    }

    /// As [`read`](Self::read), of values alone where lists have columns of their own: `rows` are items then.
    fn read_slots<'c>(
        &'c self,
        rows: &[Range<u64>],
        budget: usize,
        arena: &Arena,
        limits: &'c Limits,
    ) -> LeafRead<'c> {
        let scale = self.leaf.rows_scale;
        let slots = rows.iter().map(|r| r.start * scale..r.end * scale);
        self.leaf_read(page_reads(&self.pages, slots), rows, budget, arena, limits)
    }

    /// A decoder of `rows`, which are to be read from these pages.
    fn leaf_read<'c>(
        &'c self,
        reads: Vec<(usize, PageRead<'c>)>,
        rows: &[Range<u64>],
        budget: usize,
        arena: &Arena,
        limits: &'c Limits,
    ) -> LeafRead<'c> {
        let count = rows.iter().fold(0, |sum: u64, r| sum.saturating_add(r.end - r.start));
        let capacity = usize::try_from(count.saturating_mul(self.leaf.rows_scale)).unwrap_or(usize::MAX);
        LeafRead { column: self, reads, capacity, budget, arena: arena.clone(), limits }
    }

    fn place(&self, e: Error, page: usize) -> Error {
        e.in_page(page as u64).in_column(&self.leaf.path)
    }
}

/// The page with a slot.
fn page_of(pages: &[Page], slot: u64) -> usize {
    pages.partition_point(|p| p.first_row + p.num_rows <= slot)
}

/// Reads of the pages that hold `slots`: ascending, disjoint, none empty, all inside.
fn page_reads(pages: &[Page], slots: impl Iterator<Item = Range<u64>>) -> Vec<(usize, PageRead<'_>)> {
    let mut reads = Vec::new();
    let mut parts: Vec<Range<u64>> = Vec::new();
    let mut page = usize::MAX;
    let mut flush = |page: usize, parts: &mut Vec<Range<u64>>| {
        if !parts.is_empty() {
            reads.push((page, PageRead::new(&pages[page], std::mem::take(parts))));
        }
    };
    for range in slots {
        let (mut start, end) = (range.start, range.end);
        while start < end {
            let in_page =
                pages.get(page).is_some_and(|p| (p.first_row..p.first_row + p.num_rows).contains(&start));
            if !in_page {
                flush(page, &mut parts);
                page = page_of(pages, start);
            }
            let p = &pages[page];
            let stop = end.min(p.first_row + p.num_rows);
            parts.push(start - p.first_row..stop - p.first_row);
            start = stop;
        }
    }
    flush(page, &mut parts);
    reads
}

/// A decoder of some rows of a column.
#[derive(Debug)]
pub(crate) struct ColumnRead<'c> {
    column: &'c Column,
    rows: RowsRead<'c>,
}

#[derive(Debug)]
enum RowsRead<'c> {
    Leaf(LeafRead<'c>),
    /// Where lists have columns of their own.
    Lists(Box<ListRead<'c>>),
}

impl Decode for ColumnRead<'_> {
    type Output = LeafData;

    fn step(&mut self, segments: &Segments) -> Result<Step<LeafData>> {
        let step = match &mut self.rows {
            RowsRead::Leaf(read) => read.step(segments),
            RowsRead::Lists(read) => read.step(segments),
        }?;
        Ok(match step {
            Step::Done(mut data) if self.column.null_descriptors => {
                crate::page::blob::find_nulls(&mut data, &self.column.scheme)?;
                Step::Done(data)
            }
            step => step,
        })
    }
}

/// Reading some rows of a column: one round for the pages' indices unless the handle has them, then one
/// for the chunks or rows (two where rows are found through offsets).
#[derive(Debug)]
pub(crate) struct LeafRead<'c> {
    column: &'c Column,
    reads: Vec<(usize, PageRead<'c>)>,
    capacity: usize,
    budget: usize,
    arena: Arena,
    limits: &'c Limits,
}

/// Needs in file order, those that overlap as one: chunks of one page may share a checksummed unit.
fn united(mut needs: Vec<Range<u64>>) -> Vec<Range<u64>> {
    needs.sort_by_key(|need| need.start);
    needs.dedup_by(|next, last| {
        let overlaps = next.start < last.end;
        if overlaps {
            last.end = last.end.max(next.end);
        }
        overlaps
    });
    needs
}

impl Decode for LeafRead<'_> {
    type Output = LeafData;

    fn step(&mut self, segments: &Segments) -> Result<Step<LeafData>> {
        let column = self.column;
        let leaf = column.leaf_shape();
        if !segments.is_whole() {
            let mut needs = Vec::new();
            for (page, read) in &self.reads {
                read.want(&leaf, segments, self.limits, &mut needs).map_err(|e| column.place(e, *page))?;
            }
            if !needs.is_empty() {
                return Ok(Step::Need(united(needs)));
            }
        }
        let keys = leaf.keys.map(ValueType::Fixed);
        let shape = keys.as_ref().unwrap_or(leaf.shape);
        // Rows announced are not rows there: a constant page of any length costs nothing to write.
        let capacity = self.capacity.min(self.budget / shape.fixed_bytes().unwrap_or(16).max(1) + 1);
        let mut out = LeafData::new(shape, leaf.scheme, capacity, self.budget, &self.arena);
        out.values.expect_bytes(self.value_bytes(), &self.arena);
        let mut scratch = PageScratch::default();
        for (page, read) in &self.reads {
            if !out.has_room() {
                break;
            }
            let complete = read
                .decode(&leaf, segments, self.limits, &mut out, &mut scratch)
                .map_err(|e| column.place(e, *page))?;
            if !complete {
                break;
            }
        }
        // A budget met within a row of a fixed-size list leaves a row begun.
        let scale = column.leaf.rows_scale as usize;
        if scale > 1 && !out.num_rows.is_multiple_of(scale) {
            let whole = out.num_rows / scale * scale;
            if whole == 0 {
                return self.first_row(segments).map(Step::Done);
            }
            out.truncate_rows(whole, &column.scheme);
        }
        Ok(Step::Done(out))
    }
}

impl LeafRead<'_> {
    /// Bytes that large values of varying length are expected to take, with some to spare; 0 where they are short.
    fn value_bytes(&self) -> usize {
        /// Bytes of a value from which on it is large.
        const LARGE: f64 = 1024.0;
        let column = self.column;
        let Some((page, _)) = self.reads.first() else { return 0 };
        // Elsewhere values are short, or decoded where they cannot stay.
        let is_large = matches!(column.pages[*page].layout.storage(), Layout::FullZip(z) if !matches!(z.values, Encoding::Fsst { .. }));
        if column.leaf.shape.fixed_bytes().is_some() || column.leaf.rows_scale != 1 || !is_large {
            return 0;
        }
        let each = column.bytes_per_row(column.pages[*page].first_row);
        let expected = if each < LARGE { 0.0 } else { each * 1.25 * self.capacity as f64 };
        (expected as usize).min(self.budget)
    }

    /// The first row asked for, whatever its size: a batch holds at least one. Its bytes are there.
    fn first_row(&self, segments: &Segments) -> Result<LeafData> {
        let column = self.column;
        let leaf = column.leaf_shape();
        let keys = leaf.keys.map(ValueType::Fixed);
        let slots = column.leaf.rows_scale;
        let Some((page, Some(start))) = self.reads.first().map(|(page, read)| (*page, read.first_row()))
        else {
            corrupt!("no page has the row asked for");
        };
        let read = PageRead::new(&column.pages[page], vec![start..start + slots]);
        let shape = keys.as_ref().unwrap_or(leaf.shape);
        let most = usize::try_from(self.limits.buffer_bytes).unwrap_or(usize::MAX);
        let mut out = LeafData::new(shape, leaf.scheme, 1, most, &Arena::default());
        read.decode(&leaf, segments, self.limits, &mut out, &mut PageScratch::default())
            .map_err(|e| column.place(e, page))?;
        if out.num_rows as u64 != slots {
            return Err(Error::limit(format!(
                "{} of the {slots} slots of one row take {most} bytes, which is the limit",
                out.num_rows
            ))
            .in_page(page as u64)
            .in_column(&column.leaf.path));
        }
        Ok(out)
    }
}
