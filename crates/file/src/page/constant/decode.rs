//! Rows of a constant page, produced without storing them.
//!
//! Bound on reads: nothing without levels; two bytes for each wanted row where levels are raw and there
//! are no lists; otherwise the page's levels, which is all it has.

use std::ops::Range;

use super::super::leaf_data::{LeafData, LeafShape, Structure};
use super::super::scratch::PageScratch;
use super::super::{ConstantLayout, Layer, PageBuffers, Translation, max_def, max_rep, max_visible};
use crate::encoding::{Encoding, ValueType, Values, decode_levels};
use crate::error::corrupt;
use crate::io::Segments;
use crate::{Error, Limits, Result};

/// Rows that are produced before the budget is looked at again.
const BLOCK_ROWS: usize = 8192;

/// What a handle keeps of a constant page: the value.
#[derive(Debug)]
pub(crate) struct ConstantIndex {
    /// One value, or none where all is null.
    scalar: Option<Values>,
    /// Buffers with repetition and definition levels.
    levels: Option<(usize, usize)>,
    translation: Translation,
    max_rep: u16,
    max_def: u16,
    max_visible: u16,
}

impl ConstantIndex {
    fn value_buffer(layout: &ConstantLayout, buffers: &PageBuffers) -> bool {
        layout.inline_value.is_none() && matches!(buffers.count(), 1 | 3)
    }

    /// What must be in memory to read the index.
    pub(crate) fn want(
        layout: &ConstantLayout,
        buffers: &PageBuffers,
        segments: &Segments,
        needs: &mut Vec<Range<u64>>,
    ) -> Result<()> {
        if Self::value_buffer(layout, buffers) {
            buffers.want(0, 0..buffers.len(0)?, segments, needs)?;
        }
        Ok(())
    }

    pub(crate) fn read(
        layout: &ConstantLayout,
        buffers: &PageBuffers,
        segments: &Segments,
        leaf: &LeafShape<'_>,
    ) -> Result<Self> {
        let in_buffer = Self::value_buffer(layout, buffers);
        let scalar = if let Some(bytes) = &layout.inline_value {
            Some(inline_scalar(bytes, leaf.shape)?)
        } else if in_buffer {
            Some(buffer_scalar(buffers.whole(segments, 0)?, leaf.shape).map_err(|e| e.in_buffer(0))?)
        } else {
            None
        };
        if scalar.is_some() && leaf.keys.is_some() {
            corrupt!("a constant value in a dictionary column");
        }
        let first = usize::from(in_buffer);
        let levels = match buffers.count() - first {
            0 => None,
            2 => Some((first, first + 1)),
            n => corrupt!("a constant page with {n} buffers of levels, none or 2 expected"),
        };
        if scalar.is_none() && levels.is_none() && layout.layers != [Layer::NullableItem] {
            corrupt!("an all-null page of layers {:?} has no levels", layout.layers);
        }
        if levels.is_none() && max_rep(&layout.layers) > 0 {
            corrupt!("a constant page of layers {:?} has no repetition levels", layout.layers);
        }
        Ok(Self {
            scalar,
            levels,
            translation: leaf.scheme.translation(&layout.layers)?,
            max_rep: max_rep(&layout.layers),
            max_def: max_def(&layout.layers),
            max_visible: max_visible(&layout.layers),
        })
    }

    /// Whether single rows can be found without reading all levels.
    fn addressable(&self, layout: &ConstantLayout) -> bool {
        self.max_rep == 0 && layout.def.is_none()
    }

    /// Adds the levels that `rows` need.
    pub(crate) fn want_rows(
        &self,
        layout: &ConstantLayout,
        buffers: &PageBuffers,
        rows: &[Range<u64>],
        segments: &Segments,
        needs: &mut Vec<Range<u64>>,
    ) -> Result<()> {
        let Some((rep, def)) = self.levels else { return Ok(()) };
        if self.addressable(layout) {
            let bytes = buffers.len(def)?;
            if bytes > 0 {
                // A range past the levels is answered by the decoder, which knows how many there must be.
                let inside = rows.iter().filter(|r| r.end <= bytes / 2);
                for range in inside {
                    buffers.want(def, range.start * 2..range.end * 2, segments, needs)?;
                }
            }
        } else {
            buffers.want(rep, 0..buffers.len(rep)?, segments, needs)?;
            buffers.want(def, 0..buffers.len(def)?, segments, needs)?;
        }
        Ok(())
    }
}

/// A value in the description: the single Arrow buffer of an array of length 1.
pub(crate) fn inline_scalar(bytes: &[u8], shape: &ValueType) -> Result<Values> {
    let mut value = Values::new(shape, 1);
    match (&mut value, shape) {
        (Values::Bits(bits), _) if bytes.len() == 1 => bits.append(bytes[0] & 1 == 1),
        (Values::Fixed(v), _) if bytes.len() == v.width => v.extend(bytes),
        // Binary of width 0: the value is that there is one.
        (Values::Null(len), _) if bytes.is_empty() => *len = 1,
        _ => corrupt!("an inline value of {} bytes for values of shape {shape:?}", bytes.len()),
    }
    Ok(value)
}

/// A value in a buffer: the Arrow buffers of an array of length 1.
fn buffer_scalar(bytes: &[u8], shape: &ValueType) -> Result<Values> {
    let word = |i: usize| -> Result<usize> {
        match bytes.get(i * 4..i * 4 + 4) {
            Some(b) => Ok(u32::from_le_bytes([b[0], b[1], b[2], b[3]]) as usize),
            None => corrupt!("a constant value of {} bytes ends within its sizes", bytes.len()),
        }
    };
    let count = word(0)?;
    let expected = if matches!(shape, ValueType::Variable { .. }) { 2 } else { 1 };
    if count != expected {
        corrupt!("a constant value of {count} buffers, {expected} expected");
    }
    let mut at = 4 + 4 * count;
    let mut parts: [&[u8]; 2] = [&[]; 2];
    for (i, part) in parts.iter_mut().take(count).enumerate() {
        let size = word(i + 1)?;
        *part = match bytes.get(at..at.saturating_add(size)) {
            Some(part) => part,
            None => {
                corrupt!("buffer {i} of a constant value has {size} bytes, {} are left", bytes.len() - at)
            }
        };
        at += size;
    }
    if at != bytes.len() {
        corrupt!("{} bytes follow a constant value", bytes.len() - at);
    }
    let ValueType::Variable { wide } = shape else { return inline_scalar(parts[0], shape) };
    let offset = |b: &[u8]| -> u64 {
        let mut word = [0; 8];
        word[..b.len()].copy_from_slice(b);
        u64::from_le_bytes(word)
    };
    let width = if *wide { 8 } else { 4 };
    let [offsets, data] = parts;
    if offsets.len() != 2 * width
        || offset(&offsets[..width]) != 0
        || offset(&offsets[width..]) != data.len() as u64
    {
        corrupt!("offsets of a constant value do not span its {} bytes", data.len());
    }
    let mut value = Values::new(shape, 1);
    let pushed = match &mut value {
        Values::Variable(v) => v.push(data),
        Values::LargeVariable(v) => v.push(data),
        _ => false,
    };
    if !pushed {
        corrupt!("a constant value of {} bytes", data.len());
    }
    Ok(value)
}

/// Everything that decoding one page needs, borrowed.
pub(crate) struct ConstantPage<'a> {
    pub(crate) layout: &'a ConstantLayout,
    pub(crate) index: &'a ConstantIndex,
    pub(crate) buffers: &'a PageBuffers,
    pub(crate) segments: &'a Segments,
    pub(crate) limits: &'a Limits,
    pub(crate) num_rows: u64,
}

/// Appends `rows` (page-relative, ascending, not empty) to `out`. Says whether all went in; otherwise
/// the budget of `out` was used up and `out.num_rows` tells how many did.
pub(crate) fn decode(
    page: &ConstantPage<'_>,
    rows: &[Range<u64>],
    out: &mut LeafData,
    scratch: &mut PageScratch,
) -> Result<bool> {
    let nothing_varies = page.index.max_rep == 0 && page.index.max_def == 0;
    let Some((rep, def)) = page.index.levels.filter(|_| !nothing_varies) else {
        if page.index.scalar.is_none() && nothing_varies {
            corrupt!("an all-null page on which nothing may be null");
        }
        for range in rows {
            if !repeat(page, (range.end - range.start) as usize, out)? {
                return Ok(false);
            }
        }
        return Ok(true);
    };
    if page.index.addressable(page.layout) {
        return decode_raw(page, def, rows, out, scratch);
    }
    load_levels(page, rep, def, scratch)?;
    for (i, range) in rows.iter().enumerate() {
        let last = i + 1 == rows.len();
        let complete = if page.index.max_rep > 0 {
            decode_lists(page, range, last, out, scratch)?
        } else {
            let levels = std::mem::take(&mut scratch.def);
            let part = range.start as usize..range.end as usize;
            let complete = append_rows(page, &levels[part], out);
            scratch.def = levels;
            complete?
        };
        if !complete {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Rows without levels: `count` times the value, or null.
fn repeat(page: &ConstantPage<'_>, count: usize, out: &mut LeafData) -> Result<bool> {
    let mut left = count;
    while left > 0 {
        let block = left.min(BLOCK_ROWS);
        let mut done = push_values(page, block, out)?;
        if done == 0 && out.num_rows == 0 {
            force_values(page, 1, out)?;
            done = 1;
        }
        let level = if page.index.scalar.is_some() { 0 } else { page.index.translation[1] };
        match &mut out.structure {
            Structure::Flat(validity) => validity.append_n(done, level == 0),
            Structure::Levels { def, .. } => def.resize(def.len() + done, level),
        }
        out.finish_rows(done);
        left -= done;
        if done < block || (left > 0 && out.is_full()) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Appends `count` values, nulls where there is none; says how many fit the budget.
fn push_values(page: &ConstantPage<'_>, count: usize, out: &mut LeafData) -> Result<usize> {
    let fits = match out.values.shape().fixed_bytes() {
        Some(width) => count.min(out.budget.saturating_sub(out.byte_size()) / width.max(1)),
        // Strings know their own limit; their nulls are offsets.
        None => count,
    };
    append(page, fits, out)
}

/// Appends `count` values of one row that may be larger than the budget, but not than [`Limits`] allow.
fn force_values(page: &ConstantPage<'_>, count: usize, out: &mut LeafData) -> Result<()> {
    let width = match &page.index.scalar {
        Some(Values::Variable(v)) => v.data.len() + 4,
        Some(Values::LargeVariable(v)) => v.data.len() + 8,
        _ => out.values.shape().fixed_bytes().unwrap_or(8),
    };
    let bytes = count.saturating_mul(width).saturating_add(out.byte_size());
    if bytes as u64 > page.limits.buffer_bytes {
        return Err(Error::limit(format!(
            "one row of a constant page takes {bytes} bytes, at most {} are allowed",
            page.limits.buffer_bytes
        )));
    }
    out.values.set_byte_limit(usize::MAX);
    if append(page, count, out)? < count {
        return Err(Error::limit("one row of constant values does not fit 32-bit offsets"));
    }
    Ok(())
}

/// Appends `count` values; says how many went in before the byte limit of strings was met.
fn append(page: &ConstantPage<'_>, count: usize, out: &mut LeafData) -> Result<usize> {
    match &page.index.scalar {
        Some(value) => repeat_value(&mut out.values, value, count),
        None => {
            out.values.push_defaults(count);
            Ok(count)
        }
    }
}

/// Appends the one value of `value` `count` times; says how often before the byte limit of strings was met.
pub(crate) fn repeat_value(out: &mut Values, value: &Values, count: usize) -> Result<usize> {
    let zeroes = [0u32; 256];
    let mut done = 0;
    while done < count {
        let block = (count - done).min(zeroes.len());
        let n = out.gather(value, &zeroes[..block])?;
        done += n;
        if n < block {
            break;
        }
    }
    Ok(done)
}

/// Raw definition levels without lists: two bytes per row.
fn decode_raw(
    page: &ConstantPage<'_>,
    def: usize,
    rows: &[Range<u64>],
    out: &mut LeafData,
    scratch: &mut PageScratch,
) -> Result<bool> {
    let bytes = page.buffers.len(def)?;
    if bytes == 0 {
        for range in rows {
            if !repeat_valid(page, (range.end - range.start) as usize, out)? {
                return Ok(false);
            }
        }
        return Ok(true);
    }
    if bytes != page.num_rows.saturating_mul(2) {
        corrupt!("{bytes} bytes of definition levels for {} rows", page.num_rows);
    }
    for range in rows {
        let levels = page.buffers.slice(page.segments, def, range.start * 2..range.end * 2)?;
        scratch.def.clear();
        scratch.def.extend(levels.as_chunks::<2>().0.iter().map(|b| u16::from_le_bytes(*b)));
        check(&scratch.def, page.index.max_def)?;
        let levels = std::mem::take(&mut scratch.def);
        let complete = append_rows(page, &levels, out);
        scratch.def = levels;
        if !complete? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Levels are there but hold nothing: all rows have the value.
fn repeat_valid(page: &ConstantPage<'_>, count: usize, out: &mut LeafData) -> Result<bool> {
    if page.index.scalar.is_none() && page.index.max_def > 0 {
        corrupt!("an all-null page without definition levels");
    }
    repeat(page, count, out)
}

fn check(levels: &[u16], max: u16) -> Result<()> {
    let highest = levels.iter().fold(0, |a, b| a.max(*b));
    if highest > max {
        corrupt!("level {highest} on a page whose highest is {max}");
    }
    Ok(())
}

/// Rows without lists, one level each.
fn append_rows(page: &ConstantPage<'_>, levels: &[u16], out: &mut LeafData) -> Result<bool> {
    // Types without payload have a value wherever they are not null.
    if page.index.scalar.is_none() && !matches!(out.values, Values::Null(_)) && levels.contains(&0) {
        corrupt!("an all-null page says that a value is valid");
    }
    for block in levels.chunks(BLOCK_ROWS) {
        let mut done = push_values(page, block.len(), out)?;
        if done == 0 && out.num_rows == 0 {
            force_values(page, 1, out)?;
            done = 1;
        }
        match &mut out.structure {
            Structure::Flat(validity) => validity.append_levels(&block[..done]),
            Structure::Levels { def, .. } => {
                page.index.translation.append(&block[..done], def);
            }
        }
        out.finish_rows(done);
        if done < block.len() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Decodes all levels of the page and finds its row starts.
fn load_levels(page: &ConstantPage<'_>, rep: usize, def: usize, scratch: &mut PageScratch) -> Result<()> {
    let index = page.index;
    let read = |buffer: usize,
                encoding: &Option<Encoding>,
                count: u64,
                max: u16,
                out: &mut Vec<u16>|
     -> Result<()> {
        out.clear();
        let data = page.buffers.whole(page.segments, buffer)?;
        let count = match encoding {
            Some(_) => usize::try_from(count).unwrap_or(usize::MAX),
            None => data.len() / 2,
        };
        // Levels may be run-length encoded; what they become is bounded like any other buffer.
        if (count as u64).saturating_mul(2) > page.limits.buffer_bytes {
            return Err(Error::limit(format!(
                "{count} levels on one page, at most {} bytes allowed in one buffer",
                page.limits.buffer_bytes
            )));
        }
        decode_levels(
            encoding.as_ref().unwrap_or(&Encoding::Flat { bits: 16 }),
            data,
            count,
            out,
            page.limits,
        )
        .map_err(|e| e.in_buffer(buffer))?;
        check(out, max).map_err(|e| e.in_buffer(buffer))
    };
    read(rep, &page.layout.rep, page.layout.num_rep_values, index.max_rep, &mut scratch.rep)?;
    read(def, &page.layout.def, page.layout.num_def_values, index.max_def, &mut scratch.def)?;
    let count = if index.max_rep > 0 { scratch.rep.len() } else { page.num_rows as usize };
    if scratch.def.is_empty() && index.max_def == 0 {
        scratch.def.resize(count, 0);
    }
    if scratch.def.len() != count {
        corrupt!("{} repetition and {} definition levels", scratch.rep.len(), scratch.def.len());
    }
    scratch.starts.clear();
    if index.max_rep > 0 {
        let starts = scratch.rep.iter().enumerate().filter(|(_, r)| **r == index.max_rep);
        scratch.starts.extend(starts.map(|(i, _)| i as u32));
        if scratch.starts.len() as u64 != page.num_rows || scratch.starts.first() != Some(&0) {
            corrupt!("levels of {} rows on a page of {}", scratch.starts.len(), page.num_rows);
        }
        scratch.starts.push(count as u32);
    }
    Ok(())
}

/// Rows of lists.
fn decode_lists(
    page: &ConstantPage<'_>,
    rows: &Range<u64>,
    last: bool,
    out: &mut LeafData,
    scratch: &PageScratch,
) -> Result<bool> {
    let index = page.index;
    let mut row = rows.start as usize;
    let end = rows.end as usize;
    while row < end {
        let stop = end.min(row + BLOCK_ROWS);
        let events = scratch.starts[row] as usize..scratch.starts[stop] as usize;
        let visible = scratch.def[events.clone()].iter().filter(|d| **d <= index.max_visible).count();
        if index.scalar.is_none() && scratch.def[events.clone()].contains(&0) {
            corrupt!("an all-null page says that a value is valid");
        }
        let done = push_values(page, visible, out)?;
        if done < visible {
            // Rare: long constant strings in lists. Go row by row until the budget is met.
            out.rewind();
            return decode_lists_singly(page, row..end, out, scratch);
        }
        append_events(index, events, out, scratch);
        out.finish_rows(stop - row);
        row = stop;
        if out.is_full() && !(last && row == end) {
            return Ok(false);
        }
    }
    Ok(true)
}

fn decode_lists_singly(
    page: &ConstantPage<'_>,
    rows: Range<usize>,
    out: &mut LeafData,
    scratch: &PageScratch,
) -> Result<bool> {
    for row in rows {
        let events = scratch.starts[row] as usize..scratch.starts[row + 1] as usize;
        let visible = scratch.def[events.clone()].iter().filter(|d| **d <= page.index.max_visible).count();
        let done = push_values(page, visible, out)?;
        if done < visible {
            if out.num_rows > 0 {
                out.rewind();
                return Ok(false);
            }
            force_values(page, visible - done, out)?;
        }
        append_events(page.index, events, out, scratch);
        out.finish_rows(1);
    }
    Ok(true)
}

fn append_events(index: &ConstantIndex, events: Range<usize>, out: &mut LeafData, scratch: &PageScratch) {
    if let Structure::Levels { rep, def } = &mut out.structure {
        rep.extend_from_slice(&scratch.rep[events.clone()]);
        index.translation.append(&scratch.def[events], def);
    }
}
