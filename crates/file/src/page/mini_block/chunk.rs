//! The parts of a chunk, found and bounded.
//!
//! ```text
//! chunk  u16 levels | u16 rep bytes? | u16 def bytes? | u16 or u32 bytes of each value buffer | pad to 8
//!        rep, pad to 8? | def, pad to 8? | value buffer 0, pad to 8 | …
//! ```
//!
//! Sizes leave the padding out; chunks start at multiples of 8 of their buffer.

use super::super::MiniBlockLayout;
use crate::Result;
use crate::error::corrupt;

/// The parts of a chunk.
pub(super) struct Chunk<'a> {
    pub(super) num_levels: usize,
    pub(super) rep: &'a [u8],
    pub(super) def: &'a [u8],
    pub(super) buffers: Buffers<'a>,
}

/// Value buffers of a chunk; more than four only in deeply nested fixed-size lists.
pub(super) struct Buffers<'a> {
    few: [&'a [u8]; 4],
    many: Vec<&'a [u8]>,
    count: usize,
}

impl<'a> Buffers<'a> {
    pub(super) fn as_slice(&self) -> &[&'a [u8]] {
        if self.count <= self.few.len() { &self.few[..self.count] } else { &self.many }
    }
}

/// A cursor over the bytes of a chunk.
struct ChunkCursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> ChunkCursor<'a> {
    fn take(&mut self, len: usize, what: &str) -> Result<&'a [u8]> {
        match self.bytes.get(self.at..).and_then(|b| b.get(..len)) {
            Some(part) => {
                self.at += len;
                Ok(part)
            }
            None => corrupt!("{what} of {len} bytes at byte {} of a chunk of {}", self.at, self.bytes.len()),
        }
    }

    fn u16(&mut self) -> Result<usize> {
        let b = self.take(2, "a size")?;
        Ok(usize::from(u16::from_le_bytes([b[0], b[1]])))
    }

    fn u32(&mut self) -> Result<usize> {
        let b = self.take(4, "a size")?;
        Ok(u32::from_le_bytes([b[0], b[1], b[2], b[3]]) as usize)
    }

    fn pad(&mut self) {
        self.at = self.at.next_multiple_of(8);
    }
}

pub(super) fn parse_chunk<'a>(
    bytes: &'a [u8],
    layout: &MiniBlockLayout,
    num_buffers: usize,
) -> Result<Chunk<'a>> {
    let mut cursor = ChunkCursor { bytes, at: 0 };
    let num_levels = cursor.u16()?;
    let rep_bytes = if layout.rep.is_some() { cursor.u16()? } else { 0 };
    let def_bytes = if layout.def.is_some() { cursor.u16()? } else { 0 };
    let sizes_at = cursor.at;
    let size_bytes = if layout.large_chunks { 4 } else { 2 };
    cursor.take(num_buffers * size_bytes, "sizes of value buffers")?;
    cursor.pad();
    let rep = cursor.take(rep_bytes, "repetition levels")?;
    cursor.pad();
    let def = cursor.take(def_bytes, "definition levels")?;
    cursor.pad();
    let mut sizes = ChunkCursor { bytes, at: sizes_at };
    let mut buffers = Buffers { few: [&[]; 4], many: Vec::new(), count: num_buffers };
    for i in 0..num_buffers {
        let size = if layout.large_chunks { sizes.u32()? } else { sizes.u16()? };
        let buffer = cursor.take(size, "a value buffer")?;
        cursor.pad();
        if num_buffers <= 4 {
            buffers.few[i] = buffer;
        } else {
            buffers.many.push(buffer);
        }
    }
    Ok(Chunk { num_levels, rep, def, buffers })
}
