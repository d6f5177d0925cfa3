//! Rows of a sparse page: levels from a walk, then the values of the slots it met.
//!
//! Bound on reads: the chunks, or the values, of the rows that are asked for.

use std::ops::Range;

use super::super::leaf_data::{LeafData, Structure as Levels, too_large_for_offsets};
use super::super::mini_block::{self, MiniBlockPage};
use super::super::scratch::PageScratch;
use super::super::{LevelScheme, PageBuffers, full_zip};
use super::index::{SparseIndex, ValuesIndex};
use super::walk::Walker;
use super::{SparseLayout, SparseValues};
use crate::encoding::{Arena, Values};
use crate::error::corrupt;
use crate::io::Segments;
use crate::page::constant::repeat_value;
use crate::page::full_zip::FullZipPage;
use crate::schema::Nesting;
use crate::{Error, Limits, Result, ranges};

/// Levels that are gathered before their values are decoded together.
const BLOCK_EVENTS: usize = 8192;

/// Everything that decoding one page needs, borrowed.
pub(crate) struct SparsePage<'a> {
    pub(crate) layout: &'a SparseLayout,
    pub(crate) index: &'a SparseIndex,
    pub(crate) buffers: &'a PageBuffers,
    pub(crate) segments: &'a Segments,
    pub(crate) limits: &'a Limits,
}

/// Rows that were walked, and whose values are still to come.
#[derive(Default)]
struct Block {
    /// For each row: levels and leaf slots up to its end.
    ends: Vec<(usize, usize)>,
    /// Leaf slots, those that follow one another as one.
    slots: Vec<Range<u64>>,
    num_slots: usize,
}

impl Block {
    fn clear(&mut self) {
        self.ends.clear();
        self.slots.clear();
        self.num_slots = 0;
    }

    fn push_row(&mut self, num_events: usize, slots: Range<u64>) {
        self.num_slots += (slots.end - slots.start) as usize;
        self.ends.push((num_events, self.num_slots));
        match self.slots.last_mut() {
            Some(last) if last.end == slots.start => last.end = slots.end,
            _ if slots.start < slots.end => self.slots.push(slots),
            _ => {}
        }
    }
}

/// Appends `rows` (page-relative, ascending, not empty) to `out`. Says whether all went in; otherwise
/// the budget of `out` was used up and `out.num_rows` tells how many did.
pub(crate) fn decode(
    page: &SparsePage<'_>,
    rows: &[Range<u64>],
    out: &mut LeafData,
    scratch: &mut PageScratch,
) -> Result<bool> {
    let structure = &page.index.structure;
    let scale = structure.scale;
    if let Some(odd) = rows.iter().find(|r| !r.start.is_multiple_of(scale) || !r.end.is_multiple_of(scale)) {
        return Err(Error::invalid(format!("slots {odd:?} of rows that have {scale} each")));
    }
    let mut rows = rows.iter().flat_map(|rows| rows.start / scale..rows.end / scale).peekable();
    let mut walker = Walker::new(structure);
    let mut block = Block::default();
    let width = out.values.shape().fixed_bytes().unwrap_or(4).max(1);
    while rows.peek().is_some() {
        walker.rep.clear();
        walker.def.clear();
        block.clear();
        let left = out.budget.saturating_sub(out.byte_size());
        let target = BLOCK_EVENTS.min(left / width + 1);
        let mut no_room = false;
        while walker.def.len() < target
            && let Some(row) = rows.peek()
        {
            // A row that passes the budget waits for the next batch, unless it is the first of this one.
            let first = out.num_rows == 0 && block.ends.is_empty();
            let most = (page.limits.buffer_bytes / 16) as usize;
            walker.room = if first { most } else { most.min(BLOCK_EVENTS + left / 2) };
            let (start, before) = (structure.leaf_start(*row), walker.def.len());
            if !walker.row(*row)? {
                if first {
                    return Err(Error::limit(format!("one row has more than {most} items and empty lists")));
                }
                if structure.has_lists {
                    walker.rep.truncate(before);
                }
                walker.def.truncate(before);
                no_room = true;
                break;
            }
            block.push_row(walker.def.len(), start..walker.next_leaf);
            rows.next();
        }
        let whole = append_block(page, &walker, &block, out, scratch)?;
        let more = no_room || rows.peek().is_some();
        if !whole || (more && (no_room || out.is_full())) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Appends the levels and values of a block, as many rows as fit; says whether all did.
fn append_block(
    page: &SparsePage<'_>,
    walker: &Walker<'_>,
    block: &Block,
    out: &mut LeafData,
    scratch: &mut PageScratch,
) -> Result<bool> {
    let (rep, def) = (&walker.rep, &walker.def);
    let base = out.values.len();
    let budget = out.budget;
    let mut taken = append_values(page, block, def, 0..block.num_slots, budget, out, scratch)?;
    let mut rows = block.ends.partition_point(|(_, slots)| *slots <= taken);
    if rows == 0 && !block.ends.is_empty() {
        if out.num_rows > 0 {
            out.values.truncate(base);
            return Ok(false);
        }
        // One row may be larger than the budget.
        out.values.set_byte_limit(usize::MAX);
        let most = usize::try_from(page.limits.buffer_bytes).unwrap_or(usize::MAX);
        let first = block.ends[0].1;
        if let Some(width) = out.values.shape().fixed_bytes()
            && first.saturating_mul(width) > most
        {
            return Err(Error::limit(format!("one row has {first} values of {width} bytes")));
        }
        taken += append_values(page, block, def, taken..first, most, out, scratch)?;
        if taken < first {
            return Err(too_large_for_offsets());
        }
        rows = 1;
    }
    let (events, slots) = if rows == 0 { (0, 0) } else { block.ends[rows - 1] };
    out.values.truncate(base + slots);
    match &mut out.structure {
        Levels::Flat(validity) => validity.append_levels(&def[..events]),
        Levels::Levels { rep: out_rep, def: out_def } => {
            if page.index.structure.has_lists {
                out_rep.extend_from_slice(&rep[..events]);
            }
            out_def.extend_from_slice(&def[..events]);
        }
    }
    out.finish_rows(rows * page.index.structure.scale as usize);
    Ok(rows == block.ends.len())
}

/// Appends the values of leaf slots number `wanted` of a block; says how many went in.
fn append_values(
    page: &SparsePage<'_>,
    block: &Block,
    def: &[u16],
    wanted: Range<usize>,
    budget: usize,
    out: &mut LeafData,
    scratch: &mut PageScratch,
) -> Result<usize> {
    let count = wanted.len();
    match (&page.index.values, &page.layout.values) {
        (ValuesIndex::Chunked { layout, index }, _) => {
            let slots = part(&block.slots, &wanted);
            if slots.is_empty() {
                return Ok(0);
            }
            let SparsePage { buffers, segments, limits, .. } = *page;
            let chunks = MiniBlockPage { layout, index, buffers, segments, limits };
            out.append_flat(budget, |values| mini_block::decode(&chunks, &slots, values, scratch).map(|_| ()))
        }
        (ValuesIndex::Zipped { index }, SparseValues::Zipped(layout)) => {
            let zipped = FullZipPage { layout, index, buffers: page.buffers, segments: page.segments };
            let mut done = 0;
            each_run(page, block, def, &wanted, |slots, valid| {
                let n = (slots.end - slots.start) as usize;
                let appended = if valid {
                    let first = page.index.structure.rank(slots.start);
                    let values = first..first + n as u64;
                    out.append_flat(budget, |out| {
                        full_zip::decode(&zipped, std::slice::from_ref(&values), out, scratch).map(|_| ())
                    })?
                } else {
                    out.values.push_defaults(n);
                    n
                };
                done += appended;
                Ok(appended == n)
            })?;
            Ok(done)
        }
        (
            ValuesIndex::Indexed { indices, items, num_items, buffers },
            SparseValues::Indexed { items: layout, .. },
        ) => {
            let zipped = FullZipPage { layout, index: items, buffers, segments: page.segments };
            let items = Items { page: &zipped, limits: page.limits };
            let mut places: Vec<u64> = Vec::with_capacity(count);
            each_run(page, block, def, &wanted, |slots, valid| {
                if valid {
                    places.extend(slots.map(|slot| indices.get(slot)));
                } else {
                    // What index a null has says nothing.
                    places.resize(places.len() + (slots.end - slots.start) as usize, NULL);
                }
                Ok(true)
            })?;
            if let Some(index) = places.iter().find(|index| **index >= *num_items && **index != NULL) {
                corrupt!("index {index} into {num_items} items");
            }
            items.append(&places, budget, out, scratch)
        }
        (ValuesIndex::Constant(value), _) => repeat_value(&mut out.values, value, count),
        (ValuesIndex::None, _) => {
            if !matches!(out.values, Values::Null(_)) && def.contains(&0) {
                corrupt!("a page without values says that one is valid");
            }
            out.values.push_defaults(count);
            Ok(count)
        }
        (ValuesIndex::Zipped { .. } | ValuesIndex::Indexed { .. }, _) => {
            unreachable!("an index is made for its page's layout")
        }
    }
}

/// Stands for an index where there is no value.
const NULL: u64 = u64::MAX;

/// The items of indexed values.
struct Items<'a> {
    page: &'a FullZipPage<'a>,
    limits: &'a Limits,
}

impl Items<'_> {
    /// Appends the items at `places`; says how many went in. Every item is decoded once for as many places as the
    /// budget of `out` allows to hold in memory beside it.
    fn append(
        &self,
        places: &[u64],
        budget: usize,
        out: &mut LeafData,
        scratch: &mut PageScratch,
    ) -> Result<usize> {
        let mut done = 0;
        let mut count = places.len();
        while done < places.len() {
            let now = &places[done..places.len().min(done + count)];
            let mut wanted: Vec<u64> = now.iter().copied().filter(|place| *place != NULL).collect();
            wanted.sort_unstable();
            wanted.dedup();
            let most = usize::try_from(self.limits.buffer_bytes).unwrap_or(usize::MAX);
            let most = if now.len() > 1 { most.min(budget.saturating_mul(2).max(1 << 20)) } else { most };
            let scheme = LevelScheme::new(&[Nesting::Item]);
            let mut items = LeafData::new(&out.values.shape(), &scheme, 0, most, &Arena::default());
            let ranges = ranges::of_numbers(wanted.iter().copied());
            let complete = ranges.is_empty() || full_zip::decode(self.page, &ranges, &mut items, scratch)?;
            if !complete && now.len() > 1 {
                count = now.len() / 2;
                continue;
            }
            if items.num_rows != wanted.len() {
                return Err(Error::limit(format!("an item of more than {most} bytes")));
            }
            // Behind them one for the nulls, which are larger than all places.
            items.values.push_defaults(1);
            let mut indices = Vec::with_capacity(now.len());
            for place in now {
                let at = wanted.partition_point(|w| w < place);
                indices.push(at as u32);
            }
            let appended = out.values.gather(&items.values, &indices)?;
            done += appended;
            if appended < now.len() {
                break;
            }
        }
        Ok(done)
    }
}

/// Calls `each` with stretches of the wanted leaf slots that are all valid or all null, until it says false.
fn each_run(
    page: &SparsePage<'_>,
    block: &Block,
    def: &[u16],
    wanted: &Range<usize>,
    mut each: impl FnMut(Range<u64>, bool) -> Result<bool>,
) -> Result<()> {
    let max_visible = page.index.max_visible;
    let mut levels =
        def.iter().filter(|def| **def <= max_visible).skip(wanted.start).map(|def| *def == 0).peekable();
    for slots in part(&block.slots, wanted) {
        let mut start = slots.start;
        while start < slots.end
            && let Some(valid) = levels.next()
        {
            let mut end = start + 1;
            while end < slots.end && levels.next_if_eq(&valid).is_some() {
                end += 1;
            }
            if !each(start..end, valid)? {
                return Ok(());
            }
            start = end;
        }
    }
    Ok(())
}

/// Those of the slots that are number `wanted` among all of them.
fn part(slots: &[Range<u64>], wanted: &Range<usize>) -> Vec<Range<u64>> {
    let mut out = Vec::new();
    let mut before = 0u64;
    let (first, last) = (wanted.start as u64, wanted.end as u64);
    for range in slots {
        let n = range.end - range.start;
        let (from, to) = (first.saturating_sub(before).min(n), last.saturating_sub(before).min(n));
        if from < to {
            out.push(range.start + from..range.start + to);
        }
        before += n;
    }
    out
}
