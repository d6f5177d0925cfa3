//! Rows of a leaf below lists that have columns of their own, as in 2.0: from offsets to items, list by list.
//!
//! ```text
//! rows 1..3 of list<list<int32>>
//! round 1   offsets column     rows 1..3        lists of 0, 2 items: lists 4..6 of the next column
//! round 2   offsets column     lists 4..6       lists of 3, null items: items 9..12
//! round 3   leaf column        items 9..12      values and validity
//! levels    rep 2 | 2 0 0 1    def empty | 0 0 0 null                 as other versions store them
//! ```
//!
//! What comes out is numbered as [`LevelScheme`](crate::page::LevelScheme) says, so nothing behind this knows of offsets.
//! Items that a null list hides are stepped over. Where the budget does not last, rows at the end are left out at every step.
//!
//! Bound on reads: an offset per list and the one before each range; then the bytes of the items alone.

use std::ops::Range;
use std::sync::Arc;

use arrow_buffer::BooleanBuffer;

use super::{Column, FileFacts, LeafRead, page_reads, parse_pages, united};
use crate::container::ColumnRecord;
use crate::encoding::{Arena, ValueType};
use crate::error::corrupt;
use crate::io::{Decode, Segments, Step};
use crate::page::plain::PlainEncoding;
use crate::page::{Layout, LeafData, LeafShape, LevelScheme, Page, Structure};
use crate::ranges::first_of;
use crate::schema::Nesting;
use crate::{Error, Limits, Result};

/// The column that says where lists end.
#[derive(Debug)]
pub(crate) struct ListColumn {
    pub(crate) pages: Vec<Page>,
    /// Items before each page.
    first_items: Vec<u64>,
    num_rows: u64,
    num_items: u64,
    scheme: LevelScheme,
}

/// Shape of an offset.
const OFFSET: ValueType = ValueType::Fixed(8);

impl ListColumn {
    /// Parses the pages' descriptions.
    pub(crate) fn new(record: ColumnRecord, facts: &FileFacts<'_>) -> Result<Self> {
        let (pages, num_rows) = parse_pages(record, 1, facts, |layout| match layout {
            Layout::Plain(p) if list_items(&p.encoding).is_some() => Ok(()),
            _ => corrupt!("a column of lists whose pages hold no offsets"),
        })?;
        let mut first_items = Vec::with_capacity(pages.len());
        let mut num_items = 0u64;
        for page in &pages {
            first_items.push(num_items);
            let more = match &page.layout {
                Layout::Plain(p) => list_items(&p.encoding).unwrap_or(0),
                _ => 0,
            };
            num_items = match num_items.checked_add(more) {
                Some(n) => n,
                None => corrupt!("the items of lists pass 2^64"),
            };
        }
        let scheme = LevelScheme::new(&[Nesting::Item]);
        Ok(Self { pages, first_items, num_rows, num_items, scheme })
    }

    /// Lists.
    pub(crate) fn num_rows(&self) -> u64 {
        self.num_rows
    }

    /// Items of all lists.
    pub(crate) fn num_items(&self) -> u64 {
        self.num_items
    }

    fn shape(&self) -> LeafShape<'_> {
        LeafShape { shape: &OFFSET, keys: None, scheme: &self.scheme, is_offsets: true }
    }

    fn place(&self, e: Error, page: usize) -> Error {
        e.in_page(page as u64)
    }

    /// Adds what the lists at `rows` need.
    fn want(
        &self,
        rows: &[Range<u64>],
        segments: &Segments,
        limits: &Limits,
        needs: &mut Vec<Range<u64>>,
    ) -> Result<()> {
        for (page, read) in page_reads(&self.pages, rows.iter().cloned()) {
            read.want(&self.shape(), segments, limits, needs).map_err(|e| self.place(e, page))?;
        }
        Ok(())
    }

    /// Items of the lists at `rows`, counted from the first of the column.
    fn read(&self, rows: &[Range<u64>], segments: &Segments, limits: &Limits) -> Result<Vec<List>> {
        let mut lists = Vec::new();
        let mut stored = Vec::new();
        for (page, read) in page_reads(&self.pages, rows.iter().cloned()) {
            stored.clear();
            read.decode_lists(&self.shape(), segments, limits, &mut stored)
                .map_err(|e| self.place(e, page))?;
            // Pages were checked to have no more items than their sum tells.
            let first = self.first_items[page];
            lists.extend(stored.iter().map(|l| {
                let start = first + l.start;
                if l.is_null {
                    List { items: start..start, is_null: true }
                } else {
                    List { items: start..start + l.len, is_null: false }
                }
            }));
        }
        Ok(lists)
    }
}

/// Items that a page of offsets says it has.
fn list_items(encoding: &PlainEncoding) -> Option<u64> {
    match encoding {
        PlainEncoding::NoNull { values } => list_items(values),
        PlainEncoding::List { num_items, .. } => Some(*num_items),
        _ => None,
    }
}

/// Fails unless each list's items are the rows of the next column; `num_slots` are the leaf's.
pub(super) fn check_chain(lists: &[Arc<ListColumn>], num_slots: u64) -> Result<()> {
    for (i, list) in lists.iter().enumerate() {
        let found = lists.get(i + 1).map_or(num_slots, |inner| inner.num_rows);
        if list.num_items != found {
            corrupt!("lists of {} items in all, whose column holds {found}", list.num_items);
        }
    }
    Ok(())
}

/// One list.
struct List {
    items: Range<u64>,
    is_null: bool,
}

/// In place of the length of a null list.
const NULL: u64 = u64::MAX;
/// Bytes that a list takes while it is looked at.
const LIST_BYTES: usize = 32;

/// Reading some rows of a leaf below lists: a round for each list's offsets, then those of the leaf itself; each step one
/// more where its pages' checksums are not known yet.
#[derive(Debug)]
pub(crate) struct ListRead<'c> {
    column: &'c Column,
    budget: usize,
    arena: Arena,
    limits: &'c Limits,
    /// Lengths of the lists met, outermost first.
    lengths: Vec<Vec<u64>>,
    /// What to read of the next column, and for each row how far it reaches into that.
    ranges: Vec<Range<u64>>,
    ends: Vec<u64>,
    leaf: Option<LeafRead<'c>>,
    /// A single row is being read, whatever its size.
    is_forced: bool,
}

impl<'c> ListRead<'c> {
    pub(super) fn new(
        column: &'c Column,
        rows: &[Range<u64>],
        budget: usize,
        arena: &Arena,
        limits: &'c Limits,
    ) -> Self {
        let asked = rows.iter().fold(0u64, |sum, r| sum.saturating_add(r.end - r.start));
        let count = asked.min((budget / LIST_BYTES) as u64 + 1);
        Self {
            column,
            budget,
            arena: arena.clone(),
            limits,
            lengths: Vec::new(),
            ranges: first_of(rows, count),
            ends: (1..=count).collect(),
            leaf: None,
            is_forced: false,
        }
    }

    /// Goes from the lists of one column to their items.
    fn enter(&mut self, lists: &[List]) -> Result<()> {
        let mut ranges: Vec<Range<u64>> = Vec::new();
        let mut lengths = Vec::with_capacity(lists.len());
        let mut sums = Vec::with_capacity(lists.len() + 1);
        sums.push(0);
        let mut sum = 0;
        for list in lists {
            let len = list.items.end - list.items.start;
            sum += len;
            sums.push(sum);
            lengths.push(if list.is_null { NULL } else { len });
            match ranges.last_mut() {
                _ if len == 0 => {}
                Some(last) if last.end == list.items.start => last.end = list.items.end,
                _ => ranges.push(list.items.clone()),
            }
        }
        let Some(mut ends) =
            self.ends.iter().map(|e| sums.get(*e as usize).copied()).collect::<Option<Vec<_>>>()
        else {
            corrupt!("{} lists where more are expected", lists.len());
        };
        self.lengths.push(lengths);
        let is_last = self.lengths.len() == self.column.lists.len();
        let item_bytes = match (is_last, self.column.keys.or(self.column.leaf.shape.fixed_bytes())) {
            (true, bytes) => 4 + bytes.unwrap_or(4),
            (false, _) => LIST_BYTES,
        };
        let most = (self.budget / item_bytes) as u64;
        let rows = ends.partition_point(|e| *e <= most).max(1);
        ends.truncate(rows);
        let count = ends.last().copied().unwrap_or(0);
        if count > self.limits.buffer_bytes / 4 && count > most {
            return Err(Error::limit(format!(
                "one row of lists has {count} items, more than {} bytes hold",
                self.limits.buffer_bytes
            )));
        }
        self.ranges = first_of(&ranges, count);
        self.ends = ends;
        Ok(())
    }

    /// A read of the items, within what the levels leave of the budget.
    fn read_items(&self) -> LeafRead<'c> {
        let count = self.ends.last().copied().unwrap_or(0);
        let budget = if self.is_forced {
            usize::try_from(self.limits.buffer_bytes).unwrap_or(usize::MAX)
        } else {
            self.budget.saturating_sub(usize::try_from(count).unwrap_or(usize::MAX).saturating_mul(4)).max(1)
        };
        self.column.read_slots(&self.ranges, budget, &self.arena, self.limits)
    }

    /// The rows that the items suffice for, with levels.
    fn finish(&self, mut data: LeafData, rows: usize) -> LeafData {
        let valid = match std::mem::replace(
            &mut data.structure,
            Structure::Levels { rep: Vec::new(), def: Vec::new() },
        ) {
            Structure::Flat(validity) => validity.into_buffer(),
            Structure::Levels { .. } => None,
        };
        let values = rows.checked_sub(1).map_or(0, |last| self.ends[last]) as usize;
        let mut levels = Levels {
            lengths: self.lengths.iter().map(|l| l.iter()).collect(),
            nulls: null_levels(&self.column.leaf.layers),
            valid,
            next_value: 0,
            rep: Vec::new(),
            def: Vec::new(),
        };
        for _ in 0..rows {
            levels.emit(0, self.lengths.len() as u16);
        }
        data.with_levels(levels.rep, levels.def, rows, values)
    }
}

impl Decode for ListRead<'_> {
    type Output = LeafData;

    fn step(&mut self, segments: &Segments) -> Result<Step<LeafData>> {
        let column = self.column;
        let place = |e: Error| e.in_column(&column.leaf.path);
        while let Some(list) = column.lists.get(self.lengths.len()) {
            if !segments.is_whole() {
                let mut needs = Vec::new();
                list.want(&self.ranges, segments, self.limits, &mut needs).map_err(place)?;
                if !needs.is_empty() {
                    return Ok(Step::Need(united(needs)));
                }
            }
            let lists = list.read(&self.ranges, segments, self.limits).map_err(place)?;
            self.enter(&lists).map_err(place)?;
        }
        loop {
            let mut leaf = match self.leaf.take() {
                Some(leaf) => leaf,
                None => self.read_items(),
            };
            let data = match leaf.step(segments)? {
                Step::Need(needs) => {
                    self.leaf = Some(leaf);
                    return Ok(Step::Need(needs));
                }
                Step::Done(data) => data,
            };
            let rows = self.ends.partition_point(|e| *e <= data.num_rows as u64);
            if rows > 0 || self.ends.is_empty() {
                return Ok(Step::Done(self.finish(data, rows)));
            }
            if self.is_forced {
                return Err(place(Error::limit(format!(
                    "one row of lists has {} items, {} of which take the {} bytes that are the limit",
                    self.ends[0], data.num_rows, self.limits.buffer_bytes
                ))));
            }
            // A batch holds at least one row. What it needs is there already.
            self.is_forced = true;
            self.ends.truncate(1);
            self.ranges = first_of(&self.ranges, self.ends[0]);
        }
    }
}

/// The definition level of a null list, for each list, outermost first; an empty one has the next.
fn null_levels(layers: &[Nesting]) -> Vec<u16> {
    let mut level = 0;
    let mut nulls = Vec::new();
    for layer in layers {
        match layer {
            Nesting::List => {
                nulls.push(level + 1);
                level += 2;
            }
            Nesting::Item | Nesting::FixedSizeList(_) => level += 1,
        }
    }
    nulls.reverse();
    nulls
}

/// Levels in the making: what is left of the lists of each column.
struct Levels<'a> {
    lengths: Vec<std::slice::Iter<'a, u64>>,
    nulls: Vec<u16>,
    valid: Option<BooleanBuffer>,
    next_value: usize,
    rep: Vec<u16>,
    def: Vec<u16>,
}

impl Levels<'_> {
    /// The events of the next list at `depth`, the first of them with repetition level `rep`.
    fn emit(&mut self, depth: usize, rep: u16) {
        let len = self.lengths[depth].next().copied().unwrap_or(0);
        if len == NULL || len == 0 {
            self.rep.push(rep);
            self.def.push(self.nulls[depth] + u16::from(len == 0));
            return;
        }
        if depth + 1 == self.lengths.len() {
            self.emit_values(len as usize, rep);
            return;
        }
        let inner = (self.lengths.len() - 1 - depth) as u16;
        for i in 0..len {
            self.emit(depth + 1, if i == 0 { rep } else { inner });
        }
    }

    fn emit_values(&mut self, len: usize, rep: u16) {
        let at = self.def.len();
        self.rep.push(rep);
        self.rep.resize(at + len, 0);
        self.def.resize(at + len, 0);
        if let Some(valid) = &self.valid {
            let bits = valid.slice(self.next_value, len);
            if bits.has_false() {
                let levels = self.def[at..].iter_mut().zip(bits.iter());
                levels.for_each(|(level, valid)| *level = u16::from(!valid));
            }
        }
        self.next_value += len;
    }
}
