//! Rows of a full-zip page to values and levels.
//!
//! Bound on reads: where rows vary in size, two row offsets for each range of rows, then exactly the
//! bytes of the rows; otherwise the bytes of the rows alone.

use std::ops::Range;

use pennon_codec::prefetch;

use super::super::leaf_data::{LeafData, Structure, too_large_for_offsets};
use super::super::scratch::PageScratch;
use super::super::{FullZipLayout, PageBuffers};
use super::index::{DATA, FullZipIndex};
use crate::error::corrupt;
use crate::io::Segments;
use crate::{Error, Result};

/// Bytes of rows that are parsed before their values are decoded together.
const BLOCK_BYTES: u64 = 1 << 20;
/// Rows that are decoded together.
const BLOCK_ROWS: u64 = 4096;

/// Everything that decoding one page needs, borrowed.
pub(crate) struct FullZipPage<'a> {
    pub(crate) layout: &'a FullZipLayout,
    pub(crate) index: &'a FullZipIndex,
    pub(crate) buffers: &'a PageBuffers,
    pub(crate) segments: &'a Segments,
}

/// Appends `rows` (page-relative, ascending, not empty) to `out`. Says whether all went in; otherwise
/// the budget of `out` was used up and `out.num_rows` tells how many did.
pub(crate) fn decode(
    page: &FullZipPage<'_>,
    rows: &[Range<u64>],
    out: &mut LeafData,
    scratch: &mut PageScratch,
) -> Result<bool> {
    let place = |e: Error| e.in_buffer(DATA).at_offset(page.buffers.ranges()[DATA].start);
    if rows.len() > 1 && page.index.offset_bytes.is_none() && page.index.control_bytes == 0 {
        return decode_bare(page, rows, out).map(|()| true).map_err(place);
    }
    for (i, range) in rows.iter().enumerate() {
        let last = i + 1 == rows.len();
        let complete = match page.index.offset_bytes {
            Some(_) => decode_varying(page, range, last, out, scratch),
            None => decode_uniform(page, range, last, out, scratch),
        };
        if !complete.map_err(place)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Several ranges of rows that are nothing but a value of fixed width.
fn decode_bare(page: &FullZipPage<'_>, rows: &[Range<u64>], out: &mut LeafData) -> Result<()> {
    /// Ranges between the one that is copied and the one whose memory is asked for.
    const AHEAD: usize = 4;
    /// Ranges from one look whether all of the page is verified to the next.
    const LOOKS: usize = 64;
    let stride = page.index.row_bytes();
    let bytes = |rows: &Range<u64>| rows.start * stride..rows.end * stride;
    let mut whole: Option<&[u8]> = None;
    let mut count = 0;
    for (i, range) in rows.iter().enumerate() {
        // Once all of a page is verified a row is looked up with no more ado.
        if whole.is_none() && i.is_multiple_of(LOOKS) {
            whole = page.buffers.verified(page.segments, DATA);
        }
        if let (Some(whole), Some(next)) = (whole, rows.get(i + AHEAD)) {
            prefetch(whole, bytes(next).start as usize);
        }
        let bytes = bytes(range);
        let found = whole.and_then(|whole| whole.get(bytes.start as usize..bytes.end as usize));
        let data = match found {
            Some(data) => data,
            None => page.buffers.slice(page.segments, DATA, bytes)?,
        };
        let some = (range.end - range.start) as usize;
        page.index.reader.decode_strided(data, stride as usize, 0, some, &mut out.values)?;
        count += some;
    }
    out.structure.append_valid(count);
    out.finish_rows(count);
    Ok(())
}

/// Rows of one size: no lists, fixed-width values.
fn decode_uniform(
    page: &FullZipPage<'_>,
    rows: &Range<u64>,
    last: bool,
    out: &mut LeafData,
    scratch: &mut PageScratch,
) -> Result<bool> {
    let index = page.index;
    let stride = index.row_bytes() as usize;
    if index.control_bytes == 0 {
        let bytes = rows.start * stride as u64..rows.end * stride as u64;
        let count = (rows.end - rows.start) as usize;
        let data = page.buffers.bytes(page.segments, DATA, bytes)?;
        index.reader.decode_shared(&data, count, &mut out.values)?;
        out.structure.append_valid(count);
        out.finish_rows(count);
        return Ok(true);
    }
    let mut start = rows.start;
    while start < rows.end {
        let end = rows.end.min(start + BLOCK_ROWS);
        let count = (end - start) as usize;
        let data = page.buffers.slice(page.segments, DATA, start * stride as u64..end * stride as u64)?;
        scratch.def.clear();
        for row in data.chunks_exact(stride) {
            let def = control_word(&row[..index.control_bytes]) as u16;
            if def > index.max_def {
                corrupt!("definition level {def} on a page whose highest is {}", index.max_def);
            }
            scratch.def.push(def);
        }
        index.reader.decode_strided(data, stride, index.control_bytes, count, &mut out.values)?;
        match &mut out.structure {
            Structure::Flat(validity) => validity.append_levels(&scratch.def),
            Structure::Levels { def, .. } => {
                index.translation.append(&scratch.def, def);
            }
        }
        out.finish_rows(count);
        start = end;
        if out.is_full() && !(last && start == rows.end) {
            return Ok(false);
        }
    }
    Ok(true)
}

fn control_word(bytes: &[u8]) -> u32 {
    let mut word = [0; 4];
    word[..bytes.len()].copy_from_slice(bytes);
    u32::from_le_bytes(word)
}

/// Rows found through offsets: lists, or values of varying size.
fn decode_varying(
    page: &FullZipPage<'_>,
    rows: &Range<u64>,
    last: bool,
    out: &mut LeafData,
    scratch: &mut PageScratch,
) -> Result<bool> {
    let offsets = page.index.offsets(page.buffers, page.segments, rows)?;
    let count = rows.end - rows.start;
    let mut values = Vec::new();
    let mut row = 0;
    while row < count {
        // Whole rows of about a block.
        let from = offsets.at(row);
        let mut end = row + 1;
        while end < count && end - row < BLOCK_ROWS && offsets.at(end + 1).saturating_sub(from) <= BLOCK_BYTES
        {
            end += 1;
        }
        let to = offsets.at(end);
        if from > to {
            corrupt!("row offsets fall from {from} to {to}");
        }
        let data = page.buffers.slice(page.segments, DATA, from..to)?;
        scratch.starts.clear();
        for r in row..end {
            let (start, next) = (offsets.at(r), offsets.at(r + 1));
            if start < from || next < start || next > to {
                corrupt!("row offsets fall from {start} to {next}");
            }
            let at = u32::try_from(start - from).map_err(|_| Error::limit("one row is larger than 4 GiB"))?;
            scratch.starts.push(at);
        }
        if data.len() > u32::MAX as usize {
            return Err(Error::limit("one row is larger than 4 GiB"));
        }
        scratch.starts.push(data.len() as u32);
        let complete = decode_rows(page, data, out, scratch, &mut values)?;
        row = end;
        if !complete || (out.is_full() && !(last && row == count)) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Decodes whole rows; `scratch.starts` has the start of each in `data`, and the end.
fn decode_rows(
    page: &FullZipPage<'_>,
    data: &[u8],
    out: &mut LeafData,
    scratch: &mut PageScratch,
    values: &mut Vec<Range<usize>>,
) -> Result<bool> {
    let index = page.index;
    scratch.rep.clear();
    scratch.def.clear();
    // Events and values at the end of each row.
    scratch.visible.clear();
    scratch.points.clear();
    values.clear();
    for bounds in scratch.starts.windows(2) {
        let (mut at, end) = (bounds[0] as usize, bounds[1] as usize);
        let first = scratch.def.len();
        // A row without a control word and without bytes is one empty fixed-width value.
        while at < end || scratch.def.len() == first {
            let (rep, def) = levels(page.layout, take(data, &mut at, index.control_bytes, end)?);
            if rep > index.max_rep || def > index.max_def {
                corrupt!(
                    "levels {rep}, {def} on a page whose highest are {}, {}",
                    index.max_rep,
                    index.max_def
                );
            }
            if index.has_lists && (rep == index.max_rep) != (scratch.def.len() == first) {
                corrupt!("a row of a full-zip page does not begin where its offset says");
            }
            scratch.rep.push(rep);
            scratch.def.push(def);
            if def <= index.max_visible {
                let len = match index.value_bytes {
                    Some(bytes) => bytes,
                    None if def == 0 => length(take(data, &mut at, index.length_bytes, end)?)?,
                    None => 0,
                };
                let start = at;
                take(data, &mut at, len, end)?;
                values.push(start..at);
            }
        }
        if !index.has_lists && scratch.def.len() != first + 1 {
            corrupt!("a row without lists has {} events", scratch.def.len() - first);
        }
        scratch.visible.push(values.len() as u32);
        scratch.points.push(scratch.def.len() as u32);
    }
    let num_rows = scratch.starts.len() - 1;
    let mut rows = num_rows;
    let taken = append_values(index, data, values, out, scratch)?;
    if taken < values.len() {
        rows = scratch.visible.partition_point(|v| *v as usize <= taken);
        if rows == 0 && out.num_rows > 0 {
            out.rewind();
            return Ok(false);
        }
        if rows == 0 {
            // One row may be larger than the budget.
            out.values.set_byte_limit(usize::MAX);
            let first = scratch.visible[0] as usize;
            if append_values(index, data, &values[taken..first], out, scratch)? < first - taken {
                return Err(too_large_for_offsets());
            }
            rows = 1;
        } else {
            let keep = scratch.visible[rows - 1] as usize;
            out.values.truncate(out.values.len() - (taken - keep));
        }
    }
    let events = if rows == 0 { 0 } else { scratch.points[rows - 1] as usize };
    match &mut out.structure {
        Structure::Flat(validity) => validity.append_levels(&scratch.def[..events]),
        Structure::Levels { rep, def } => {
            if index.has_lists {
                rep.extend_from_slice(&scratch.rep[..events]);
            }
            index.translation.append(&scratch.def[..events], def);
        }
    }
    out.finish_rows(rows);
    Ok(rows == num_rows)
}

/// Appends values; says how many went in.
fn append_values(
    index: &FullZipIndex,
    data: &[u8],
    values: &[Range<usize>],
    out: &mut LeafData,
    scratch: &mut PageScratch,
) -> Result<usize> {
    let Some(bytes) = index.value_bytes else {
        return index.reader.decode_variable(data, values, &mut out.values, &mut scratch.encoding);
    };
    // Neighbours with nothing but a control word between them go together.
    let stride = bytes + index.control_bytes;
    let mut i = 0;
    while i < values.len() {
        let mut n = 1;
        while i + n < values.len() && values[i + n].start == values[i].start + n * stride {
            n += 1;
        }
        let end = values[i + n - 1].end;
        index.reader.decode_strided(&data[values[i].start..end], stride, 0, n, &mut out.values)?;
        i += n;
    }
    Ok(values.len())
}

fn levels(layout: &FullZipLayout, control: &[u8]) -> (u16, u16) {
    let word = control_word(control);
    let def = if layout.bits_def == 0 { 0 } else { word & ((1 << layout.bits_def) - 1) };
    let rep = word >> layout.bits_def;
    (rep.min(u32::from(u16::MAX)) as u16, def as u16)
}

fn length(bytes: &[u8]) -> Result<usize> {
    let mut word = [0; 8];
    word[..bytes.len()].copy_from_slice(bytes);
    let length = u64::from_le_bytes(word);
    usize::try_from(length).map_err(|_| Error::corrupt(format!("a value of {length} bytes")))
}

fn take<'a>(data: &'a [u8], at: &mut usize, len: usize, end: usize) -> Result<&'a [u8]> {
    match at.checked_add(len) {
        Some(next) if next <= end => {
            let part = &data[*at..next];
            *at = next;
            Ok(part)
        }
        _ => corrupt!("{len} bytes wanted at byte {at} of a row that ends at {end}"),
    }
}
