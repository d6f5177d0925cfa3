//! One stored column: its leaf, its pages, and a decoder of some of its rows.

use std::ops::Range;

use arrow_schema::DataType;

use crate::container::ColumnRecord;
use crate::encoding::Arena;
use crate::error::corrupt;
use crate::io::{Decode, Segments, Step};
use crate::page::{LeafData, LeafShape, LevelScheme, Page, PageBuffers, PageRead, PageScratch, ZipWidth};
use crate::schema::Leaf;
use crate::{Error, Limits, Result};

/// A column with its pages.
#[derive(Debug)]
pub(crate) struct Column {
    pub(crate) leaf: Leaf,
    /// Bytes of a key, for a column of dictionary type.
    pub(crate) keys: Option<usize>,
    pub(crate) scheme: LevelScheme,
    pub(crate) pages: Vec<Page>,
    /// Rows, in slots: rows of the file times [`Leaf::rows_scale`].
    pub(crate) num_slots: u64,
}

impl Column {
    /// Parses the pages' descriptions.
    pub(crate) fn new(leaf: Leaf, record: ColumnRecord, large_chunks: bool, limits: &Limits) -> Result<Self> {
        let scheme = LevelScheme::new(&leaf.layers);
        let mut pages = Vec::with_capacity(record.pages.len());
        let mut num_slots = 0u64;
        for (i, page) in record.pages.into_iter().enumerate() {
            let place = |e: Error| e.in_page(i as u64).in_column(&leaf.path);
            let layout =
                crate::page::Layout::parse(page.page_layout().map_err(place)?, limits).map_err(place)?;
            if let crate::page::Layout::MiniBlock(m) = layout.storage()
                && m.large_chunks != large_chunks
            {
                return Err(place(Error::corrupt(
                    "the width of chunk sizes in a page is not that of the file's format version",
                )));
            }
            if leaf.rows_scale == 0 || !page.length.is_multiple_of(leaf.rows_scale) {
                return Err(place(Error::corrupt(format!(
                    "a page of {} slots where every row has {}: rows never straddle pages",
                    page.length, leaf.rows_scale
                ))));
            }
            let buffers = PageBuffers::new(page.buffers, page.crcs);
            pages.push(Page::new(num_slots, page.length, layout, buffers));
            num_slots = match num_slots.checked_add(page.length) {
                Some(n) => n,
                None => return Err(place(Error::corrupt("the rows of a column pass 2^64"))),
            };
        }
        let keys = match leaf.arrow.data_type() {
            DataType::Dictionary(key, _) => key.primitive_width(),
            _ => None,
        };
        Ok(Self { leaf, keys, scheme, pages, num_slots })
    }

    /// Fails unless the pages add up to the rows that the descriptor announces.
    pub(crate) fn check_rows(&self, num_rows: u64) -> Result<()> {
        if num_rows.checked_mul(self.leaf.rows_scale) == Some(self.num_slots) {
            return Ok(());
        }
        let scale = self.leaf.rows_scale.max(1);
        Err(Error::corrupt(format!(
            "the pages of a column hold {} rows, the file says {num_rows}",
            self.num_slots / scale
        ))
        .in_column(&self.leaf.path))
    }

    /// The rows of the file that page `page` holds.
    pub(crate) fn page_rows(&self, page: usize) -> Range<u64> {
        let page = &self.pages[page];
        let scale = self.leaf.rows_scale.max(1);
        page.first_row / scale..(page.first_row + page.num_rows) / scale
    }

    pub(crate) fn leaf_shape(&self) -> LeafShape<'_> {
        LeafShape { shape: &self.leaf.shape, keys: self.keys, scheme: &self.scheme }
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
        self.pages.partition_point(|p| p.first_row + p.num_rows <= slot)
    }

    /// A guess of the bytes in Arrow memory that one row takes, near `row`.
    pub(crate) fn bytes_per_row(&self, row: u64) -> f64 {
        let scale = self.leaf.rows_scale as f64;
        let Some(page) = self.pages.get(self.page_of(row.saturating_mul(self.leaf.rows_scale))) else {
            return 0.0;
        };
        let rows = page.num_rows.max(1) as f64;
        let stored = page.stored_bytes() as f64 / rows;
        let (num_items, compressed) = match page.layout.storage() {
            crate::page::Layout::MiniBlock(m) => (m.num_items as f64 / rows, true),
            crate::page::Layout::FullZip(z) => (z.num_items as f64 / rows, z.values.compresses()),
            crate::page::Layout::Constant(_) | crate::page::Layout::Blob(_) => (1.0, false),
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
        let plain = matches!(&page.layout, crate::page::Layout::FullZip(z)
            if z.bits_rep + z.bits_def == 0 && matches!(z.width, ZipWidth::Value(_)) && !z.values.compresses());
        plain.then(|| (page.first_row + page.num_rows) / scale)
    }

    /// A decoder of `rows` of the file: ascending, disjoint, none empty, all inside.
    pub(crate) fn read<'c>(
        &'c self,
        rows: &[Range<u64>],
        budget: usize,
        arena: &Arena,
        limits: &'c Limits,
    ) -> LeafRead<'c> {
        let scale = self.leaf.rows_scale;
        let mut reads: Vec<(usize, PageRead<'c>)> = Vec::new();
        let mut parts: Vec<Range<u64>> = Vec::new();
        let mut page = usize::MAX;
        let mut flush = |page: usize, parts: &mut Vec<Range<u64>>| {
            if !parts.is_empty() {
                reads.push((page, PageRead::new(&self.pages[page], std::mem::take(parts))));
            }
        };
        let mut capacity = 0u64;
        for range in rows {
            let (mut start, end) = (range.start * scale, range.end * scale);
            capacity += end - start;
            while start < end {
                let in_page = page < self.pages.len() && {
                    let p = &self.pages[page];
                    (p.first_row..p.first_row + p.num_rows).contains(&start)
                };
                if !in_page {
                    flush(page, &mut parts);
                    page = self.page_of(start);
                }
                let p = &self.pages[page];
                let stop = end.min(p.first_row + p.num_rows);
                parts.push(start - p.first_row..stop - p.first_row);
                start = stop;
            }
        }
        flush(page, &mut parts);
        LeafRead { column: self, reads, capacity: capacity as usize, budget, arena: arena.clone(), limits }
    }

    fn place(&self, e: Error, page: usize) -> Error {
        e.in_page(page as u64).in_column(&self.leaf.path)
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
        let keys = leaf.keys.map(crate::encoding::ValueType::Fixed);
        let shape = keys.as_ref().unwrap_or(leaf.shape);
        // Rows announced are not rows there: a constant page of any length costs nothing to write.
        let capacity = self.capacity.min(self.budget / shape.fixed_bytes().unwrap_or(16).max(1) + 1);
        let mut out = LeafData::new(shape, &column.scheme, capacity, self.budget, &self.arena);
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
    /// The first row asked for, whatever its size: a batch holds at least one. Its bytes are there.
    fn first_row(&self, segments: &Segments) -> Result<LeafData> {
        let column = self.column;
        let leaf = column.leaf_shape();
        let keys = leaf.keys.map(crate::encoding::ValueType::Fixed);
        let slots = column.leaf.rows_scale;
        let Some((page, Some(start))) = self.reads.first().map(|(page, read)| (*page, read.first_row()))
        else {
            corrupt!("no page has the row asked for");
        };
        let read = PageRead::new(&column.pages[page], vec![start..start + slots]);
        let shape = keys.as_ref().unwrap_or(leaf.shape);
        let most = usize::try_from(self.limits.buffer_bytes).unwrap_or(usize::MAX);
        let mut out = LeafData::new(shape, &column.scheme, 1, most, &Arena::default());
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
