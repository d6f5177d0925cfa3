//! Rows of pages with lists: found by repetition levels.
//!
//! ```text
//! rep      2 1 1 │ 2 │ 2 1 …      a row begins where the level is the highest
//! values   a b c │ - │ d e …      those of a row are the visible events between two starts
//! ```

use std::ops::Range;

use super::super::super::leaf_data::{LeafData, Structure, too_large_for_offsets};
use super::super::super::scratch::PageScratch;
use super::super::chunk::Chunk;
use super::super::index::RowIndex;
use super::{AHEAD, MiniBlockPage, Wanted, append_values};
use crate::Result;
use crate::error::corrupt;

/// Pages with lists: rows are found by repetition levels.
pub(super) fn decode(
    page: &MiniBlockPage<'_>,
    rows_index: &RowIndex,
    rows: &[Range<u64>],
    out: &mut LeafData,
    scratch: &mut PageScratch,
) -> Result<bool> {
    let mut groups: Vec<Group> = Vec::with_capacity(AHEAD.min(rows.len()));
    let mut spans = Spans::default();
    let mut next = 0;
    while next < rows.len() {
        // Some chunks are found before the first of them is decoded, so that their cache misses overlap.
        let mut hint = groups.last().map_or(0, |group| group.number);
        groups.clear();
        while groups.len() < AHEAD && next < rows.len() {
            let group = Group::find(rows_index, rows, next, hint);
            (hint, next) = (group.number, group.ranges.end);
            groups.push(group);
        }
        if rows.len() > 1 {
            page.prefetch_chunks(groups.iter().map(|group| group.number), LEVEL_LINES);
        }
        for group in &groups {
            let ranges = &rows[group.ranges.clone()];
            let is_last = group.ranges.end == rows.len();
            let done = match group.is_inside {
                true => append_together(page, rows_index, group.number, ranges, &mut spans, out, scratch)
                    .map_err(|e| page.place(e, group.number))?,
                false => 0,
            };
            let rest = &ranges[done..];
            if !rest.is_empty() && !append_in_turn(page, rows_index, rest, is_last, out, scratch)? {
                return Ok(false);
            }
            if out.is_full() && !is_last {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

/// Cache lines at the beginning of a chunk of lists that are asked for: where its levels are, most of them.
const LEVEL_LINES: usize = 4;

/// Rows that begin in the same chunk.
struct Group {
    number: usize,
    /// Which of the ranges of rows they are.
    ranges: Range<usize>,
    /// Whether all of them end in the chunk; otherwise there is one range.
    is_inside: bool,
}

impl Group {
    /// The group of range `first`, the chunk of which is not before `hint`.
    fn find(rows_index: &RowIndex, rows: &[Range<u64>], first: usize, hint: usize) -> Self {
        let number = rows_index.first_chunk_from(hint, rows[first].start);
        let end = rows_index.end(number);
        let inside = rows[first..].iter().take_while(|range| range.end <= end).count();
        Self { number, ranges: first..first + inside.max(1), is_inside: inside > 0 }
    }
}

/// Where rows stand in their chunk.
#[derive(Default)]
struct Spans {
    /// Of each range of rows.
    events: Vec<Range<usize>>,
    /// Values up to the end of each.
    ends: Vec<usize>,
    /// Of those that have some.
    values: Vec<Range<u32>>,
}

/// Appends `ranges`, which lie in chunk `number`. What a range costs beside its values is paid once. Says how many of them went in, which
/// are fewer where the room of `out` does not suffice.
fn append_together(
    page: &MiniBlockPage<'_>,
    rows_index: &RowIndex,
    number: usize,
    ranges: &[Range<u64>],
    spans: &mut Spans,
    out: &mut LeafData,
    scratch: &mut PageScratch,
) -> Result<usize> {
    let index = page.index;
    let chunk = page.chunk(number)?;
    load_levels(page, rows_index, number, &chunk, scratch)?;
    let first = rows_index.first_start(number);
    let Spans { events, ends, values } = spans;
    events.clear();
    ends.clear();
    values.clear();
    let mut total = 0;
    let mut walk = scratch.events.walk(&scratch.rep, &scratch.def);
    for range in ranges {
        let (e0, v0) = walk.seek((range.start - first) as usize);
        let (e1, v1) = walk.seek((range.end - first) as usize);
        events.push(e0..e1);
        if v0 < v1 {
            values.push(v0 as u32..v1 as u32);
        }
        total += v1 - v0;
        ends.push(total);
    }
    let num_values = index.num_values(number);
    let before = out.values.len();
    let mut points = std::mem::take(&mut scratch.points);
    let wanted = match values.as_slice() {
        [] => None,
        [one] => Some(Wanted::Range(one.start as usize..one.end as usize)),
        parts if index.reader.prefers_points(total, num_values) => {
            points.clear();
            points.extend(parts.iter().cloned().flatten());
            Some(Wanted::Points(&points))
        }
        parts => Some(Wanted::Parts(parts)),
    };
    let done = match wanted {
        Some(wanted) => append_values(index, chunk.buffers.as_slice(), num_values, &wanted, out, scratch)?,
        None => 0,
    };
    scratch.points = points;
    let whole = if done < total { ends.partition_point(|end| *end <= done) } else { ranges.len() };
    let kept = whole.checked_sub(1).map_or(0, |last| ends[last]);
    out.values.truncate(before + kept);
    let Structure::Levels { rep, def } = &mut out.structure else {
        corrupt!("lists in a column without list layers")
    };
    for events in &events[..whole] {
        rep.extend_from_slice(&scratch.rep[events.clone()]);
        index.translation.append(&scratch.def[events.clone()], def);
    }
    out.finish_rows(ranges[..whole].iter().map(|range| (range.end - range.start) as usize).sum());
    Ok(whole)
}

/// Appends `ranges` one by one, each chunk by chunk: rows that go on from chunk to chunk, and those at which the budget may be met.
fn append_in_turn(
    page: &MiniBlockPage<'_>,
    rows_index: &RowIndex,
    ranges: &[Range<u64>],
    is_last: bool,
    out: &mut LeafData,
    scratch: &mut PageScratch,
) -> Result<bool> {
    for (i, range) in ranges.iter().enumerate() {
        let mut done = range.start;
        let chunks = rows_index.chunks(range);
        let last = chunks.end - 1;
        for number in chunks {
            let place = |e| page.place(e, number);
            let chunk = page.chunk(number)?;
            load_levels(page, rows_index, number, &chunk, scratch).map_err(place)?;
            let complete =
                append_chunk_rows(page, rows_index, number, &chunk, range, &mut done, out, scratch);
            if !complete.map_err(place)? {
                return Ok(false);
            }
            if out.is_full() && !(is_last && number == last && i + 1 == ranges.len()) {
                out.rewind();
                return Ok(false);
            }
        }
    }
    Ok(true)
}

/// Decodes a chunk's levels and finds its row starts.
fn load_levels(
    page: &MiniBlockPage<'_>,
    rows: &RowIndex,
    number: usize,
    chunk: &Chunk<'_>,
    scratch: &mut PageScratch,
) -> Result<()> {
    let index = page.index;
    let Some(rep) = &page.layout.rep else { corrupt!("a page of lists has no repetition levels") };
    let num_levels = page.num_levels(chunk)?;
    page.levels(rep, chunk.rep, num_levels, index.max_rep, &mut scratch.rep)?;
    match page.layout.def.as_ref().filter(|_| index.max_def > 0) {
        Some(def) => page.levels(def, chunk.def, num_levels, index.max_def, &mut scratch.def)?,
        None => {
            scratch.def.clear();
            scratch.def.resize(num_levels, 0);
        }
    }
    scratch.events.count(&scratch.rep, &scratch.def, index.max_rep, index.max_visible);
    let visible = scratch.events.num_visible();
    let num_values = index.num_values(number);
    if visible != num_values {
        corrupt!("a chunk of {num_values} values has levels for {visible}");
    }
    let before = if number == 0 { 0 } else { rows.end(number - 1) };
    let ended = rows.end(number) - before;
    let expected = ended + u64::from(rows.goes_on(number));
    let found = scratch.events.num_starts() as u64 + u64::from(rows.has_preamble(number));
    if found != expected
        || (!rows.has_preamble(number) && num_levels > 0 && scratch.rep.first() != Some(&index.max_rep))
    {
        corrupt!("a chunk with parts of {found} rows where the repetition index says {expected}");
    }
    Ok(())
}

/// Appends what chunk `number` holds of `range`, of which rows before `done` are in already.
#[expect(clippy::too_many_arguments, reason = "all of them are the state of one chunk")]
fn append_chunk_rows(
    page: &MiniBlockPage<'_>,
    rows: &RowIndex,
    number: usize,
    chunk: &Chunk<'_>,
    range: &Range<u64>,
    done: &mut u64,
    out: &mut LeafData,
    scratch: &mut PageScratch,
) -> Result<bool> {
    let index = page.index;
    let first = rows.first_start(number);
    let num_levels = scratch.rep.len();
    let visible = |event: usize, scratch: &PageScratch| scratch.events.visible_before(&scratch.def, event);
    let mut walk = scratch.events.walk(&scratch.rep, &scratch.def);
    // Rows that start before this chunk begin with it.
    let (e0, v0) = match range.start.checked_sub(first) {
        None => (0, 0),
        Some(start) => walk.seek(start as usize),
    };
    let (e1, v1) = match range.end.checked_sub(first) {
        Some(end) if range.end <= rows.end(number) => walk.seek(end as usize),
        _ => (num_levels, scratch.events.num_visible()),
    };
    let num_values = index.num_values(number);
    let buffers = chunk.buffers.as_slice();
    let append = |values: Range<usize>, out: &mut LeafData, scratch: &mut PageScratch| {
        append_values(index, buffers, num_values, &Wanted::Range(values), out, scratch)
    };
    let mut taken = if v0 < v1 { append(v0..v1, out, scratch)? } else { 0 };
    let mut stop = e1;
    if taken < v1 - v0 {
        // The budget is met: end at the last row that is whole.
        let whole = |e: usize| e > e0 && visible(e, scratch) <= v0 + taken;
        let start = |i: usize| scratch.events.start(&scratch.rep, i).filter(|e| *e <= e1 && whole(*e));
        let last = (0..scratch.events.num_starts()).rev().find_map(start);
        match last {
            Some(e) => {
                stop = e;
                let keep = visible(e, scratch) - v0;
                out.values.truncate(out.values.len() - (taken - keep));
            }
            None if out.num_rows > 0 => {
                out.rewind();
                return Ok(false);
            }
            None => {
                out.values.set_byte_limit(usize::MAX);
                taken += append(v0 + taken..v1, out, scratch)?;
                if taken < v1 - v0 {
                    return Err(too_large_for_offsets());
                }
            }
        }
    }
    let Structure::Levels { rep, def } = &mut out.structure else {
        corrupt!("lists in a column without list layers")
    };
    rep.extend_from_slice(&scratch.rep[e0..stop]);
    index.translation.append(&scratch.def[e0..stop], def);
    if stop < e1 {
        let ended = first + scratch.events.starts_before(&scratch.rep, stop) as u64;
        out.finish_rows((ended - *done) as usize);
        return Ok(false);
    }
    let ended = range.end.min(rows.end(number));
    if ended > *done {
        // A row that goes on in the next chunk is not whole; it begins at the last start.
        let tail = match scratch.events.last_start(&scratch.rep) {
            Some(e) if range.end > rows.end(number) && rows.goes_on(number) => e,
            _ => e1,
        };
        let values = v1 - visible(tail, scratch);
        out.finish_rows_before((ended - *done) as usize, values, e1 - tail);
        *done = ended;
    }
    Ok(true)
}
