//! Chunks to values and levels.
//!
//! ```text
//! chunk  u16 levels | u16 rep bytes? | u16 def bytes? | u16 or u32 bytes of each value buffer | pad to 8
//!        rep, pad to 8? | def, pad to 8? | value buffer 0, pad to 8 | …
//! ```
//!
//! Bound on reads: the chunks that hold a wanted row. Where few values of a chunk are wanted and its
//! encoding can address them, only they are decoded.

use std::ops::Range;
use std::sync::Arc;

use pennon_codec::prefetch;

use super::super::leaf_data::{LeafData, Structure, too_large_for_offsets};
use super::super::scratch::PageScratch;
use super::super::{MiniBlockLayout, PageBuffers};
use super::chunk::{Chunk, parse_chunk};
use super::index::{CHUNKS, MiniBlockIndex, RowIndex};
use crate::encoding::{
    ChunkReader, Encoding, ValueType, Values, append_dictionary, append_validity as append_levels,
    count_rle_levels, decode_levels, levels_at,
};
use crate::error::corrupt;
use crate::io::Segments;
use crate::{Error, Limits, Result};

/// Everything that decoding one page needs, borrowed.
pub(crate) struct MiniBlockPage<'a> {
    pub(crate) layout: &'a MiniBlockLayout,
    pub(crate) index: &'a MiniBlockIndex,
    pub(crate) buffers: &'a PageBuffers,
    pub(crate) segments: &'a Segments,
    pub(crate) limits: &'a Limits,
}

/// Appends `rows` (page-relative, ascending, not empty) to `out`. Says whether all went in; otherwise
/// the budget of `out` was used up and `out.num_rows` tells how many did.
pub(crate) fn decode(
    page: &MiniBlockPage<'_>,
    rows: &[Range<u64>],
    out: &mut LeafData,
    scratch: &mut PageScratch,
) -> Result<bool> {
    if page.index.keeps_keys {
        let Some(dictionary) = &page.index.dictionary else {
            corrupt!("a page of a dictionary column has no dictionary")
        };
        let max_entries = match page.index.stored {
            ValueType::Fixed(1) => 1 << 7,
            ValueType::Fixed(2) => 1 << 15,
            _ => 1 << 31,
        };
        if !out.use_dictionary(dictionary, max_entries.max(dictionary.len()))? {
            return Ok(false);
        }
    }
    match page.index.row_index() {
        Some(index) => decode_lists(page, index, rows, out, scratch),
        None => decode_plain(page, rows, out, scratch),
    }
}

impl<'a> MiniBlockPage<'a> {
    fn chunk(&self, chunk: usize) -> Result<Chunk<'a>> {
        let bytes = self.buffers.slice(self.segments, CHUNKS, self.index.chunk_bytes(chunk))?;
        parse_chunk(bytes, self.layout, self.index.reader.num_buffers()).map_err(|e| self.place(e, chunk))
    }

    fn place(&self, e: Error, chunk: usize) -> Error {
        let start = self.buffers.ranges()[CHUNKS].start;
        e.in_buffer(CHUNKS).at_offset(start + self.index.chunk_bytes(chunk).start)
    }

    /// Asks for the memory of the chunks that `rows` start in. A take that wants a value of each of many chunks otherwise spends its
    /// time on one cache miss after the other.
    fn prefetch_chunks(&self, rows: &[Range<u64>], lines: usize) {
        /// Bytes of a cache line.
        const LINE: usize = 64;
        let Some(range) = self.buffers.ranges().get(CHUNKS).filter(|_| rows.len() > 1) else { return };
        let Some(chunks) = self.segments.slice(range) else { return };
        for rows in rows {
            let number = match self.index.row_index() {
                Some(index) => index.first_chunk(rows.start),
                None => self.index.chunk_of(rows.start),
            };
            let start = self.index.chunk_bytes(number).start as usize;
            (0..lines).for_each(|line| prefetch(chunks, start + line * LINE));
        }
    }

    /// Levels of a chunk: what its header says, except that old writers let the count wrap at 65,536 where
    /// levels are run-length encoded, whose lengths tell.
    fn num_levels(&self, chunk: &Chunk<'_>) -> Result<usize> {
        for (encoding, data) in [(&self.layout.rep, chunk.rep), (&self.layout.def, chunk.def)] {
            if let Some(count) = encoding.as_ref().map_or(Ok(None), |e| count_rle_levels(e, data))?
                && count != chunk.num_levels
                && count & 0xffff == chunk.num_levels
            {
                return Ok(count);
            }
        }
        Ok(chunk.num_levels)
    }

    /// Decodes levels of a chunk into `out`, checking them against `max`.
    fn levels(
        &self,
        encoding: &Encoding,
        data: &[u8],
        num_levels: usize,
        max: u16,
        out: &mut Vec<u16>,
    ) -> Result<()> {
        out.clear();
        decode_levels(encoding, data, num_levels, out, self.limits)?;
        if out.len() != num_levels {
            corrupt!("{} levels decoded in a chunk of {num_levels}", out.len());
        }
        let highest = out.iter().fold(0, |a, b| a.max(*b));
        if highest > max {
            corrupt!("level {highest} on a page whose highest is {max}");
        }
        Ok(())
    }
}

/// The values that are wanted of a chunk.
enum Wanted<'a> {
    Range(Range<usize>),
    Points(&'a [u32]),
    /// Parts of a chunk that is decoded whole.
    Parts(&'a [Range<u32>]),
    /// A part of the chunk that was decoded whole last.
    Again(Range<u32>),
}

impl Wanted<'_> {
    fn len(&self) -> usize {
        match self {
            Self::Range(r) => r.len(),
            Self::Points(p) => p.len(),
            Self::Parts(p) => p.iter().map(|r| r.len()).sum(),
            Self::Again(r) => r.len(),
        }
    }
}

/// Appends wanted values of a chunk to `out`; says how many went in.
fn append_values(
    index: &MiniBlockIndex,
    buffers: &[&[u8]],
    num_values: usize,
    wanted: &Wanted<'_>,
    out: &mut LeafData,
    scratch: &mut PageScratch,
) -> Result<usize> {
    let decode = |out: &mut Values, whole: &mut Option<Values>, encoding: &mut _| -> Result<usize> {
        match wanted {
            Wanted::Range(range) => index.reader.decode(buffers, num_values, range.clone(), out, encoding),
            Wanted::Points(points) => index.reader.decode_points(buffers, num_values, points, out, encoding),
            Wanted::Parts(parts) => {
                let whole = whole.get_or_insert_with(|| Values::new(&index.stored, 0));
                if whole.shape() != index.stored {
                    *whole = Values::new(&index.stored, 0);
                }
                whole.truncate(0);
                whole.set_byte_limit(usize::MAX);
                decode_whole(&index.reader, buffers, num_values, whole, encoding)?;
                let mut done = 0;
                for part in *parts {
                    let n = out.extend(whole, part.start as usize..part.end as usize)?;
                    done += n;
                    if n < part.len() {
                        break;
                    }
                }
                Ok(done)
            }
            Wanted::Again(part) => match whole {
                Some(whole) => out.extend(whole, part.start as usize..part.end as usize),
                None => Ok(0),
            },
        }
    };
    match &index.dictionary {
        None => decode(&mut out.values, &mut scratch.whole, &mut scratch.encoding),
        Some(dictionary) if index.keeps_keys => {
            let done = decode(&mut out.values, &mut scratch.whole, &mut scratch.encoding)?;
            check_keys(&out.values, done, dictionary)?;
            out.remap_keys(done);
            Ok(done)
        }
        Some(dictionary) => {
            let mut indices = match scratch.indices.take() {
                Some(indices) if indices.shape() == index.stored => indices,
                _ => Values::new(&index.stored, 0),
            };
            indices.truncate(0);
            let count = decode(&mut indices, &mut scratch.whole, &mut scratch.encoding)?;
            let done = append_dictionary(&indices, 0..count, dictionary, &mut out.values)?;
            scratch.indices = Some(indices);
            Ok(done)
        }
    }
}

fn decode_whole(
    reader: &ChunkReader,
    buffers: &[&[u8]],
    num_values: usize,
    out: &mut Values,
    scratch: &mut crate::encoding::Scratch,
) -> Result<()> {
    let done = reader.decode(buffers, num_values, 0..num_values, out, scratch)?;
    if done != num_values {
        corrupt!("{done} of {num_values} values of a chunk fit 32-bit offsets");
    }
    Ok(())
}

/// The last `count` keys must be below the length of the page's dictionary.
fn check_keys(keys: &Values, count: usize, dictionary: &Arc<Values>) -> Result<()> {
    let Values::Fixed(keys) = keys else { corrupt!("dictionary keys that are not of fixed width") };
    let bytes = keys.bytes();
    let entries = dictionary.len() as u64;
    // A dictionary without entries belongs to keys that are all null and point nowhere.
    if entries == 0 {
        return Ok(());
    }
    let mut highest = 0;
    for key in bytes[bytes.len() - count * keys.width..].chunks_exact(keys.width) {
        let mut word = [0; 8];
        word[..keys.width].copy_from_slice(key);
        highest = highest.max(u64::from_le_bytes(word));
    }
    if count > 0 && highest >= entries {
        corrupt!("dictionary index {highest} in a dictionary of {entries} entries");
    }
    Ok(())
}

/// Pages without lists: a row is a value.
fn decode_plain(
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
            page.prefetch_chunks(&all[asked.min(end)..end], 1);
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

/// Chunks that are found before they are decoded.
const AHEAD: usize = 32;

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
        match &mut out.structure {
            Structure::Flat(validity) => validity.append_n(count, true),
            Structure::Levels { def, .. } => def.resize(def.len() + count, 0),
        }
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
            Structure::Levels { def, .. } => {
                def.extend(levels.iter().map(|l| index.translation[usize::from(*l)]))
            }
        }
    }
    Ok(())
}

/// Pages with lists: rows are found by repetition levels.
fn decode_lists(
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
    def.extend(scratch.def[e0..stop].iter().map(|l| index.translation[usize::from(*l)]));
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
