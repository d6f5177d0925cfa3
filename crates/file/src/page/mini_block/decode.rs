//! Chunks to values and levels.
//!
//! ```text
//! chunk  u16 levels | u16 rep bytes? | u16 def bytes? | u16 or u32 bytes of each value buffer | pad to 8
//!        rep, pad to 8? | def, pad to 8? | value buffer 0, pad to 8 | …
//! ```
//!
//! Bound on reads: the chunks that hold a wanted row. Where few values of a chunk are wanted and its
//! encoding can address them, only they are decoded.

mod flat;
mod lists;

use std::ops::Range;
use std::sync::Arc;

use pennon_codec::prefetch;

use super::super::leaf_data::LeafData;
use super::super::scratch::PageScratch;
use super::super::{MiniBlockLayout, PageBuffers};
use super::chunk::{Chunk, parse_chunk};
use super::index::{CHUNKS, MiniBlockIndex};
use crate::encoding::{
    ChunkReader, Encoding, ValueType, Values, append_dictionary, count_rle_levels, decode_levels,
};
use crate::error::corrupt;
use crate::io::Segments;
use crate::{Error, Limits, Result};

/// Chunks whose memory is asked for before the first of them is decoded.
const AHEAD: usize = 32;

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
        Some(index) => lists::decode(page, index, rows, out, scratch),
        None => flat::decode(page, rows, out, scratch),
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

    /// Asks for the memory at the beginning of `chunks`. A take that wants a value of each of many chunks otherwise spends its
    /// time on one cache miss after the other.
    fn prefetch_chunks(&self, chunks: impl Iterator<Item = usize>, lines: usize) {
        /// Bytes of a cache line.
        const LINE: usize = 64;
        let Some(bytes) = self.buffers.ranges().get(CHUNKS).and_then(|range| self.segments.slice(range))
        else {
            return;
        };
        for number in chunks {
            let start = self.index.chunk_bytes(number).start as usize;
            (0..lines).for_each(|line| prefetch(bytes, start + line * LINE));
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
}

impl Wanted<'_> {
    fn len(&self) -> usize {
        match self {
            Self::Range(r) => r.len(),
            Self::Points(p) => p.len(),
            Self::Parts(p) => p.iter().map(|r| r.len()).sum(),
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
