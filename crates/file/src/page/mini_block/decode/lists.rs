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
use crate::error::corrupt;
use crate::{Error, Result};

/// Pages with lists: rows are found by repetition levels.
pub(super) fn decode(
    page: &MiniBlockPage<'_>,
    rows_index: &RowIndex,
    rows: &[Range<u64>],
    out: &mut LeafData,
    scratch: &mut PageScratch,
) -> Result<bool> {
    let mut loaded = None;
    // The chunk whose values are in `scratch.whole`.
    let mut whole = None;
    for (i, range) in rows.iter().enumerate() {
        if i.is_multiple_of(AHEAD) {
            page.prefetch_chunks(&rows[i..rows.len().min(i + AHEAD)], LEVEL_LINES);
        }
        let mut done = range.start;
        let chunks = rows_index.chunks(range);
        let last = chunks.end - 1;
        for number in chunks {
            let chunk = page.chunk(number)?;
            if loaded != Some(number) {
                load_levels(page, rows_index, number, &chunk, scratch).map_err(|e| page.place(e, number))?;
                loaded = Some(number);
            }
            // More ranges in this chunk: decoding it whole once may pay.
            let shared = number == last && rows.get(i + 1).is_some_and(|r| r.start < rows_index.end(number));
            let state = (&mut done, &mut whole);
            let complete =
                append_chunk_rows(page, rows_index, number, &chunk, range, state, shared, out, scratch)
                    .map_err(|e| page.place(e, number))?;
            if !complete {
                return Ok(false);
            }
            if out.is_full() && !(number == last && i + 1 == rows.len()) {
                out.rewind();
                return Ok(false);
            }
        }
    }
    Ok(true)
}

/// Cache lines at the beginning of a chunk of lists that are asked for: where its levels are, most of them.
const LEVEL_LINES: usize = 4;

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

/// Appends what chunk `number` holds of `range`, of which rows before `done` are in already. `whole` is the chunk that
/// was decoded whole last.
#[expect(clippy::too_many_arguments, reason = "all of them are the state of one chunk")]
fn append_chunk_rows(
    page: &MiniBlockPage<'_>,
    rows: &RowIndex,
    number: usize,
    chunk: &Chunk<'_>,
    range: &Range<u64>,
    (done, whole): (&mut u64, &mut Option<usize>),
    shared: bool,
    out: &mut LeafData,
    scratch: &mut PageScratch,
) -> Result<bool> {
    let index = page.index;
    let first = rows.first_start(number);
    let num_levels = scratch.rep.len();
    let event_of = |row: u64, scratch: &PageScratch| -> usize {
        // Rows that start before this chunk begin with it.
        match row.checked_sub(first) {
            None => 0,
            Some(i) => scratch.events.start(&scratch.rep, i as usize).unwrap_or(num_levels),
        }
    };
    let visible = |event: usize, scratch: &PageScratch| scratch.events.visible_before(&scratch.def, event);
    let e0 = event_of(range.start, scratch);
    let e1 = if range.end > rows.end(number) {
        num_levels
    } else if range.end == range.start + 1 && range.start >= first {
        scratch.events.next_start(&scratch.rep, e0)
    } else {
        event_of(range.end, scratch)
    };
    let (v0, v1) = (visible(e0, scratch), visible(e1, scratch));
    let num_values = index.num_values(number);
    let buffers = chunk.buffers.as_slice();
    let mut append = |values: Range<usize>, out: &mut LeafData, scratch: &mut PageScratch| {
        let pays = shared && !index.reader.prefers_points(values.len(), num_values);
        let part = [values.start as u32..values.end as u32];
        let wanted = match whole {
            Some(last) if *last == number => Wanted::Again(part[0].clone()),
            _ if pays => Wanted::Parts(&part),
            _ => Wanted::Range(values),
        };
        let done = append_values(index, buffers, num_values, &wanted, out, scratch)?;
        if pays {
            *whole = Some(number);
        }
        Ok::<_, Error>(done)
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
