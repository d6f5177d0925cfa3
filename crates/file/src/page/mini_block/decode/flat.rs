//! Rows of pages without lists: a row is a value.
//!
//! ```text
//! rows     1 5 │ 1030 │ 2050 2051 …          chunks of 1,024 values each
//! groups   2   │ 1    │ 2                    found first, their memory asked for, then decoded
//! ```

use std::ops::Range;

use super::super::super::leaf_data::{LeafData, Structure};
use super::super::super::scratch::PageScratch;
use super::super::chunk::Chunk;
use super::super::index::MiniBlockIndex;
use super::{AHEAD, MiniBlockPage, Wanted, append_values};
use crate::encoding::{
    Encoding, ValueType, Values, append_dictionary, append_validity as append_levels, levels_at,
};
use crate::error::corrupt;
use crate::{Error, Result};

/// Pages without lists: a row is a value.
pub(super) fn decode(
    page: &MiniBlockPage<'_>,
    rows: &[Range<u64>],
    out: &mut LeafData,
    scratch: &mut PageScratch,
) -> Result<bool> {
    let index = page.index;
    let ahead = AHEAD.min(rows.len());
    let mut parts: Vec<Range<u32>> = Vec::with_capacity(ahead);
    let mut groups: Vec<Group<'_>> = Vec::with_capacity(ahead);
    let all = rows;
    let mut rows = rows.iter().cloned();
    let mut current = rows.next();
    // Rows whose chunks were asked for.
    let mut asked = 0;
    while current.is_some() {
        if out.is_full() {
            return Ok(false);
        }
        // So many that the next chunks are on their way while those before them are decoded, and stay in the cache until then.
        let at = all.len() - rows.len();
        if at + AHEAD > asked {
            let end = all.len().min(at + 8 * AHEAD);
            if all.len() > 1 {
                page.prefetch_chunks(
                    all[asked.min(end)..end].iter().map(|rows| index.chunk_of(rows.start)),
                    1,
                );
            }
            asked = end;
        }
        // Some chunks are found before the first of them is decoded, so that their cache misses overlap.
        parts.clear();
        groups.clear();
        while groups.len() < AHEAD
            && let Some(range) = current.clone()
        {
            let number = index.chunk_of(range.start);
            let first = index.first_value(number);
            let num_values = index.num_values(number);
            let end = first + num_values as u64;
            let from = parts.len();
            while let Some(range) = &mut current {
                if range.start >= end {
                    break;
                }
                let stop = range.end.min(end);
                parts.push((range.start - first) as u32..(stop - first) as u32);
                if range.end > end {
                    range.start = end;
                    break;
                }
                current = rows.next();
            }
            let chunk = page.chunk(number)?;
            groups.push(Group { number, num_values, parts: from..parts.len(), chunk });
        }
        prefetch_values(index, &groups, &parts);
        if decode_few_values(page, &groups, &parts, out, scratch)? {
            continue;
        }
        let last = groups.len() - 1;
        for (i, group) in groups.iter().enumerate() {
            let complete = decode_plain_chunk(page, group, &parts[group.parts.clone()], out, scratch)
                .map_err(|e| page.place(e, group.number))?;
            if !complete || ((i < last || current.is_some()) && out.is_full()) {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

/// Asks for the memory of the values of several chunks, so that their cache misses overlap.
fn prefetch_values(index: &MiniBlockIndex, groups: &[Group<'_>], parts: &[Range<u32>]) {
    /// Parts of a chunk beyond which it is read from end to end.
    const MANY: usize = 64;
    let some = |group: &Group<'_>| -> &[Range<u32>] {
        let parts = &parts[group.parts.clone()];
        if parts.len() > MANY { &parts[..1] } else { parts }
    };
    for group in groups {
        index.reader.prefetch(group.chunk.buffers.as_slice(), group.num_values, some(group));
    }
    for group in groups {
        index.reader.prefetch_bytes(group.chunk.buffers.as_slice(), some(group));
    }
}

/// Few values of each of several chunks, all of them in one go: what a value costs beside its decoding is paid once. False, and nothing
/// done, where that is not what is wanted, or where room may run out.
fn decode_few_values(
    page: &MiniBlockPage<'_>,
    groups: &[Group<'_>],
    parts: &[Range<u32>],
    out: &mut LeafData,
    scratch: &mut PageScratch,
) -> Result<bool> {
    let index = page.index;
    let ValueType::Fixed(width) = index.stored else { return Ok(false) };
    let largest = match &index.dictionary {
        None => width,
        Some(dictionary) => match &**dictionary {
            Values::Fixed(entries) => entries.width,
            entries @ (Values::Variable(_) | Values::LargeVariable(_)) => entries.byte_size(),
            _ => return Ok(false),
        },
    };
    let single = groups.len() > 1
        && !index.keeps_keys
        && parts.iter().all(|part| part.len() == 1)
        && groups.iter().all(|group| index.reader.prefers_points(group.parts.len(), group.num_values));
    if !single || out.room() / parts.len() <= largest {
        return Ok(false);
    }
    let mut indices = match (&index.dictionary, scratch.indices.take()) {
        (None, kept) => {
            scratch.indices = kept;
            None
        }
        (Some(_), Some(indices)) if indices.shape() == index.stored => Some(indices),
        (Some(_), _) => Some(Values::new(&index.stored, parts.len())),
    };
    if let Some(indices) = &mut indices {
        indices.truncate(0);
    }
    let mut points = std::mem::take(&mut scratch.points);
    points.clear();
    points.extend(parts.iter().map(|part| part.start));
    for group in groups {
        let target = indices.as_mut().unwrap_or(&mut out.values);
        let buffers = group.chunk.buffers.as_slice();
        let points = &points[group.parts.clone()];
        index
            .reader
            .decode_points(buffers, group.num_values, points, target, &mut scratch.encoding)
            .map_err(|e| page.place(e, group.number))?;
    }
    scratch.points = points;
    if let (Some(indices), Some(dictionary)) = (&indices, &index.dictionary) {
        let done = append_dictionary(indices, 0..parts.len(), dictionary, &mut out.values)?;
        if done < parts.len() {
            // Offsets pass what they can count: the careful way ends the batch.
            out.rewind();
            scratch.indices = None;
            return Ok(false);
        }
    }
    scratch.indices = indices.or(scratch.indices.take());
    let has_levels = page.layout.def.is_some() && index.max_def > 0;
    if let (Structure::Flat(validity), false) = (&mut out.structure, has_levels) {
        validity.append_n(parts.len(), true);
        out.finish_rows(parts.len());
        return Ok(true);
    }
    for group in groups {
        let parts = &parts[group.parts.clone()];
        append_plain_levels(page, &group.chunk, group.num_values, parts, parts.len(), true, out, scratch)
            .map_err(|e| page.place(e, group.number))?;
    }
    out.finish_rows(parts.len());
    Ok(true)
}

/// A chunk of which something is wanted.
struct Group<'a> {
    number: usize,
    num_values: usize,
    /// Which of the parts gathered are of this chunk.
    parts: Range<usize>,
    chunk: Chunk<'a>,
}

fn decode_plain_chunk(
    page: &MiniBlockPage<'_>,
    group: &Group<'_>,
    parts: &[Range<u32>],
    out: &mut LeafData,
    scratch: &mut PageScratch,
) -> Result<bool> {
    let index = page.index;
    let Group { num_values, ref chunk, .. } = *group;
    let count: usize = parts.iter().map(|p| p.len()).sum();
    let as_points = count < num_values && index.reader.prefers_points(count, num_values);
    let mut points = std::mem::take(&mut scratch.points);
    points.clear();
    let wanted = match parts {
        [one] if one.len() != 1 || !as_points => Wanted::Range(one.start as usize..one.end as usize),
        _ if as_points => {
            points.extend(parts.iter().cloned().flatten());
            Wanted::Points(&points)
        }
        _ => Wanted::Parts(parts),
    };
    let buffers = chunk.buffers.as_slice();
    let mut done = append_values(index, buffers, num_values, &wanted, out, scratch)?;
    if done == 0 && count > 0 && out.num_rows == 0 {
        // Not even one value fits the budget: one row may be larger than it.
        out.values.set_byte_limit(usize::MAX);
        let first = parts[0].start as usize;
        done = append_values(index, buffers, num_values, &Wanted::Range(first..first + 1), out, scratch)?;
        if done == 0 {
            return Err(Error::limit(
                "one value is larger than 2,147,483,647 bytes in a column with 32-bit offsets; its type must be the large (64-bit) one",
            ));
        }
    }
    debug_assert!(done <= wanted.len().max(1));
    append_plain_levels(page, chunk, num_values, parts, done, as_points, out, scratch)?;
    scratch.points = points;
    out.finish_rows(done);
    Ok(done == count)
}

/// Appends the levels of the first `count` wanted values.
#[expect(clippy::too_many_arguments, reason = "all of them are the state of one chunk")]
fn append_plain_levels(
    page: &MiniBlockPage<'_>,
    chunk: &Chunk<'_>,
    num_values: usize,
    parts: &[Range<u32>],
    count: usize,
    as_points: bool,
    out: &mut LeafData,
    scratch: &mut PageScratch,
) -> Result<()> {
    let index = page.index;
    let Some(encoding) = page.layout.def.as_ref().filter(|_| index.max_def > 0) else {
        out.structure.append_valid(count);
        return Ok(());
    };
    let num_levels = if chunk.num_levels == num_values { num_values } else { page.num_levels(chunk)? };
    if num_levels != num_values {
        corrupt!("a chunk of {num_values} values without lists has {num_levels} levels");
    }
    let mut left = count;
    let addressable = !matches!(encoding, Encoding::General { .. });
    if addressable && as_points && count * 8 < num_values {
        let points = parts.iter().cloned().flatten().take(count);
        let mut highest = 0;
        let translated = |level: u16| index.translation.get(usize::from(level)).copied().unwrap_or_default();
        let take = |level: u16| {
            highest = highest.max(level);
            match &mut out.structure {
                Structure::Flat(validity) => validity.append_n(1, translated(level) == 0),
                Structure::Levels { def, .. } => def.push(translated(level)),
            }
        };
        levels_at(encoding, chunk.def, num_values, points, page.limits, take)?;
        if usize::from(highest) >= index.translation.len() {
            corrupt!("level {highest} on a page whose highest is {}", index.max_def);
        }
        return Ok(());
    }
    if let (Structure::Flat(validity), [part]) = (&mut out.structure, parts)
        && part.len() == num_values
        && left == num_values
        && index.max_def == 1
    {
        // A whole chunk of a flat column: its levels go into the bitmap a word at a time.
        let scratch = &mut scratch.encoding;
        return validity.append_with(num_values, |bits| {
            append_levels(encoding, chunk.def, num_values, 0, 1, bits, page.limits, scratch)
        });
    }
    page.levels(encoding, chunk.def, num_values, index.max_def, &mut scratch.def)?;
    for part in parts {
        let part = part.start as usize..(part.end as usize).min(part.start as usize + left);
        left -= part.len();
        let levels = &scratch.def[part];
        match &mut out.structure {
            Structure::Flat(validity) => validity.append_levels(levels),
            Structure::Levels { def, .. } => index.translation.append(levels, def),
        }
    }
    Ok(())
}
