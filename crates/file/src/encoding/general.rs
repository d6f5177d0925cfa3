//! General compression: LZ4 or zstd around another encoding.
//!
//! ```text
//! LZ4          u32: uncompressed size | LZ4 block
//! zstd         u64: uncompressed size | zstd frame
//! bare zstd    a frame without the size: fewer than 8 bytes, or it begins with the frame's mark and
//!              bit 4 of byte 4 is clear
//!
//! mini-block   buffer 0 of each chunk is compressed, the others are not
//! block        the whole payload is compressed
//! per-value    each value is compressed; a null has no bytes at all
//! ```
//!
//! The size written there is believed only when `Limits` admits it and the compressed bytes can make it.

use pennon_codec::zstd_frame::FrameCompressor;

use super::{Scheme, Scratch};
use crate::error::corrupt;
use crate::{Error, Result};

pub(super) type ZstdDecompressor = zstd::bulk::Decompressor<'static>;

/// A zstd context and the level it is set to.
pub(super) struct ZstdCompressor {
    level: i32,
    context: zstd::bulk::Compressor<'static>,
}

/// The level that zstd takes for 0.
const DEFAULT_LEVEL: i32 = 3;
const ZSTD_MARK: [u8; 4] = [0x28, 0xB5, 0x2F, 0xFD];

/// The most that LZ4 makes of n bytes: a length byte stands for 255.
fn lz4_most(compressed: usize) -> u64 {
    compressed as u64 * 255 + 64
}

/// The most that zstd makes of n bytes: a block of 128 KiB takes at least 4.
fn zstd_most(compressed: usize) -> u64 {
    (compressed as u64 / 4 + 1) << 17
}

/// The declared size, if it may be believed.
fn admit(declared: u64, most: u64, compressed: usize, max_bytes: u64) -> Result<usize> {
    if declared > most {
        corrupt!("{compressed} compressed bytes that declare to be {declared}, at most {most} are possible");
    }
    if declared > max_bytes {
        return Err(Error::limit(format!("a buffer of {declared} bytes, above the limit of {max_bytes}")));
    }
    usize::try_from(declared).map_err(|_| Error::limit(format!("a buffer of {declared} bytes")))
}

/// Compressed bytes, and what they say they make.
pub(super) struct Compressed<'a> {
    scheme: Scheme,
    /// Believable; `None` where a bare frame does not tell.
    pub(super) size: Option<usize>,
    body: &'a [u8],
    max_bytes: u64,
}

impl<'a> Compressed<'a> {
    /// Reads the size; one that `max_bytes` or the compressed bytes rule out is an error.
    pub(super) fn parse(scheme: Scheme, data: &'a [u8], max_bytes: u64) -> Result<Self> {
        let made = |declared: Option<u64>, body: &'a [u8], most: u64| {
            let size = declared.map(|size| admit(size, most, body.len(), max_bytes)).transpose()?;
            Ok(Self { scheme, size, body, max_bytes })
        };
        match scheme {
            Scheme::Lz4 => {
                let Some((size, body)) = data.split_first_chunk::<4>() else {
                    corrupt!("{} bytes of LZ4, whose size takes 4", data.len());
                };
                made(Some(u64::from(u32::from_le_bytes(*size))), body, lz4_most(body.len()))
            }
            Scheme::Zstd if data.is_empty() => made(Some(0), data, 0),
            Scheme::Zstd => {
                let bare = data.len() < 8 || (data.starts_with(&ZSTD_MARK) && data[4] & 0x10 == 0);
                let (declared, frame) = match data.split_first_chunk::<8>() {
                    Some((size, frame)) if !bare => (Some(u64::from_le_bytes(*size)), frame),
                    _ => (zstd::zstd_safe::get_frame_content_size(data).ok().flatten(), data),
                };
                made(declared, frame, zstd_most(frame.len()))
            }
        }
    }

    /// Decompresses into a buffer of `scratch`, which the caller gives back.
    pub(super) fn read(&self, scratch: &mut Scratch) -> Result<Vec<u8>> {
        let mut out = scratch.take();
        out.clear();
        let done = match (self.size, self.scheme) {
            (None, _) => decompress_unsized(self.body, zstd_most(self.body.len()), self.max_bytes, &mut out),
            (Some(size), Scheme::Lz4) => {
                out.resize(size, 0);
                self.read_into(&mut out, scratch)
            }
            (Some(size), Scheme::Zstd) => {
                out.reserve(size);
                self.read_zstd(size, &mut out, scratch)
            }
        };
        match done {
            Ok(()) => Ok(out),
            Err(e) => {
                scratch.give(out);
                Err(e)
            }
        }
    }

    /// Decompresses into `out`, which is as long as [`size`](Self::size) says.
    pub(super) fn read_into(&self, out: &mut [u8], scratch: &mut Scratch) -> Result<()> {
        let size = out.len();
        match self.scheme {
            Scheme::Lz4 if size == 0 && self.body.is_empty() => Ok(()),
            Scheme::Lz4 => match lz4_flex::block::decompress_into(self.body, out) {
                Ok(found) if found == size => Ok(()),
                Ok(found) => corrupt!("{found} bytes of LZ4 where {size} are declared"),
                Err(e) => corrupt!("LZ4 block of {} bytes: {e}", self.body.len()),
            },
            Scheme::Zstd => self.read_zstd(size, out, scratch),
        }
    }

    fn read_zstd<O>(&self, size: usize, out: &mut O, scratch: &mut Scratch) -> Result<()>
    where
        O: zstd::zstd_safe::WriteBuf + ?Sized,
    {
        let frame = self.body;
        if size == 0 && frame.is_empty() {
            return Ok(());
        }
        let context = match &mut scratch.decompressor {
            Some(context) => context,
            none => {
                let new = ZstdDecompressor::new().map_err(|e| Error::io("making a zstd context", e))?;
                none.insert(new)
            }
        };
        match context.decompress_to_buffer(frame, out) {
            Ok(found) if found == size => Ok(()),
            Ok(found) => corrupt!("{found} bytes of zstd where {size} are declared"),
            Err(e) => corrupt!("zstd frame of {} bytes, {size} uncompressed: {e}", frame.len()),
        }
    }
}

/// Decompresses into a buffer of `scratch`, which the caller gives back.
pub(crate) fn decompress(
    scheme: Scheme,
    data: &[u8],
    max_bytes: u64,
    scratch: &mut Scratch,
) -> Result<Vec<u8>> {
    Compressed::parse(scheme, data, max_bytes)?.read(scratch)
}

/// A bare frame that does not tell its size: read until it ends or passes a limit.
fn decompress_unsized(frame: &[u8], most: u64, max_bytes: u64, out: &mut Vec<u8>) -> Result<()> {
    use std::io::Read;
    let failed = |e: std::io::Error| Error::corrupt(format!("zstd frame of {} bytes: {e}", frame.len()));
    let decoder = zstd::stream::read::Decoder::with_buffer(frame).map_err(failed)?;
    let bound = most.min(max_bytes);
    let found = decoder.take(bound.saturating_add(1)).read_to_end(out).map_err(failed)?;
    if found as u64 > bound {
        return Err(Error::limit(format!("a buffer of more than {bound} bytes")));
    }
    Ok(())
}

/// What the bytes of a chunk are, as far as a compressor gains from knowing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Content {
    Bytes,
    /// This many streams of equal length.
    Streams(usize),
    /// Offsets of `width` bytes, `bytes` in all, then what they lead to.
    Strings {
        bytes: usize,
        width: usize,
    },
}

/// Whether frames with borders of our own are the smaller ones, for some chunks to come.
#[derive(Debug, Default)]
pub(super) struct BorderHabit {
    pays: bool,
    /// Chunks until both are tried again.
    chunks: u32,
}

/// Chunks between two tries.
const HABIT_CHUNKS: u32 = 16;
/// Bytes below which borders do not pay.
const MIN_BORDER_BYTES: usize = 256;

/// Appends a chunk compressed, with its size in front: the smaller of an ordinary zstd frame and one whose blocks end where the
/// content changes its nature. Either is standard.
pub(super) fn compress_chunk(
    scheme: Scheme,
    level: Option<i32>,
    data: &[u8],
    content: Content,
    out: &mut Vec<u8>,
    scratch: &mut Scratch,
) -> Result<()> {
    if scheme != Scheme::Zstd || content == Content::Bytes || data.len() < MIN_BORDER_BYTES {
        return compress(scheme, level, data, out, scratch);
    }
    let start = out.len();
    let tries = scratch.borders.chunks == 0;
    if tries || scratch.borders.pays {
        let size = with_borders(level, data, content, out, scratch).then(|| out.len() - start);
        if !tries && size.is_some() {
            scratch.borders.chunks -= 1;
            return Ok(());
        }
        let mut ordinary = scratch.take();
        compress(scheme, level, data, &mut ordinary, scratch)?;
        let pays = size.is_some_and(|size| size < ordinary.len());
        if !pays {
            out.truncate(start);
            out.extend_from_slice(&ordinary);
        }
        scratch.give(ordinary);
        scratch.borders = BorderHabit { pays, chunks: HABIT_CHUNKS - 1 };
        return Ok(());
    }
    scratch.borders.chunks -= 1;
    compress(scheme, level, data, out, scratch)
}

/// Appends the frame with borders; false, and nothing appended, where the library makes none.
fn with_borders(
    level: Option<i32>,
    data: &[u8],
    content: Content,
    out: &mut Vec<u8>,
    scratch: &mut Scratch,
) -> bool {
    let compressor = match &mut scratch.frames {
        Some(compressor) => compressor,
        none => match FrameCompressor::new() {
            Ok(new) => none.insert(new),
            Err(_) => return false,
        },
    };
    let start = out.len();
    out.extend_from_slice(&(data.len() as u64).to_le_bytes());
    let level = match level {
        None | Some(0) => DEFAULT_LEVEL,
        Some(level) => level,
    };
    let done = match content {
        Content::Strings { bytes, width } => compressor.strings(level, data, bytes, width, out),
        Content::Streams(count) => {
            let stream = data.len() / count.max(1);
            let is_constant = |i: usize| {
                let bytes = &data[i * stream..(i + 1) * stream];
                bytes.windows(2).all(|pair| pair[0] == pair[1])
            };
            // Streams of one value each need no border between them.
            let borders: Vec<usize> =
                (1..count).filter(|i| !(is_constant(i - 1) && is_constant(*i))).map(|i| i * stream).collect();
            compressor.with_borders(level, data, &borders, out)
        }
        Content::Bytes => return false,
    };
    if done.is_err() {
        out.truncate(start);
    }
    done.is_ok()
}

/// Appends `data` compressed, with its size in front.
pub(crate) fn compress(
    scheme: Scheme,
    level: Option<i32>,
    data: &[u8],
    out: &mut Vec<u8>,
    scratch: &mut Scratch,
) -> Result<()> {
    match scheme {
        Scheme::Lz4 => {
            let Ok(size) = u32::try_from(data.len()) else {
                return Err(Error::invalid(format!("{} bytes in one LZ4 block", data.len())));
            };
            out.extend_from_slice(&size.to_le_bytes());
            let start = out.len();
            out.resize(start + lz4_flex::block::get_maximum_output_size(data.len()), 0);
            match lz4_flex::block::compress_into(data, &mut out[start..]) {
                Ok(written) => out.truncate(start + written),
                Err(e) => return Err(Error::invalid(format!("LZ4 of {} bytes: {e}", data.len()))),
            }
        }
        Scheme::Zstd => {
            let failed = |e| Error::io("compressing with zstd", e);
            let level = level.unwrap_or(0);
            let compressor = match &mut scratch.compressor {
                Some(compressor) => compressor,
                none => {
                    let context = zstd::bulk::Compressor::new(level).map_err(failed)?;
                    none.insert(ZstdCompressor { level, context })
                }
            };
            if compressor.level != level {
                compressor.context.set_compression_level(level).map_err(failed)?;
                compressor.level = level;
            }
            let mut frame = Vec::with_capacity(zstd::zstd_safe::compress_bound(data.len()));
            compressor.context.compress_to_buffer(data, &mut frame).map_err(failed)?;
            out.extend_from_slice(&(data.len() as u64).to_le_bytes());
            out.extend_from_slice(&frame);
        }
    }
    Ok(())
}
