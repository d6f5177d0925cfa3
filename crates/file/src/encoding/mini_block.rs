//! The mini-block form: a chunk's values as a fixed number of buffers.
//!
//! ```text
//! encoding            buffers of a chunk
//! flat, bitpacking,
//! byte stream split   1   values
//! variable, FSST      1   offsets and bytes
//! RLE                 2   run values, run lengths
//! detached variable   1   bytes, with the payload of the offsets in front if they have one
//! fixed-size list     1 + one bitmap per layer with validity, in front
//! general(x)          those of x, the first compressed
//! ```
//!
//! A [`ChunkReader`] is prepared once per page: it has checked the description against the type of the
//! column and expanded the symbol table, so that a chunk costs no more than its bytes.

use std::ops::Range;

use pennon_codec::prefetch;

use super::detached::DetachedCodec;
use super::fixed_size_list::ListCodec;
use super::fsst::FsstCodec;
use super::general::Content;
use super::packed_struct::StructCodec;
use super::runs::{self, RunsCodec};
use super::{
    Encoding, Lent, Purpose, Scheme, Scratch, ValueType, Values, bitpacking, block, byte_stream_split, flat,
    general, rle, variable,
};
use crate::error::corrupt;
use crate::{Error, Limits, Result};

/// An encoding that was checked against a shape.
enum ChunkCodec {
    Bits,
    Flat(usize),
    Variable { wide: bool },
    InlineBitpacking(usize),
    Fsst { codec: Box<FsstCodec>, wide: bool },
    Rle(usize),
    Runs(RunsCodec),
    Detached(DetachedCodec),
    ByteStreamSplit(usize),
    General { scheme: Scheme, level: Option<i32>, values: Box<ChunkCodec> },
    List(ListCodec),
    Struct(StructCodec),
}

impl ChunkCodec {
    fn new(encoding: &Encoding, shape: &ValueType, purpose: Purpose) -> Result<Self> {
        let fits = |bits: u64, width: usize| bits == width as u64 * 8;
        let word = |width: usize| matches!(width, 1 | 2 | 4 | 8);
        Ok(match (encoding, shape) {
            (Encoding::Flat { bits: 1 }, ValueType::Bits) => Self::Bits,
            (Encoding::Flat { bits }, ValueType::Fixed(width)) if fits(*bits, *width) => Self::Flat(*width),
            (Encoding::Variable { offset_bits }, ValueType::Variable { wide })
                if *offset_bits == offset_bits_of(*wide) =>
            {
                Self::Variable { wide: *wide }
            }
            (Encoding::InlineBitpacking { bits }, ValueType::Fixed(width))
                if fits(u64::from(*bits), *width) && word(*width) =>
            {
                Self::InlineBitpacking(*width)
            }
            (Encoding::Fsst { table, values }, ValueType::Variable { wide })
                if **values == (Encoding::Variable { offset_bits: offset_bits_of(*wide) }) =>
            {
                Self::Fsst { codec: Box::new(FsstCodec::new(table, purpose)?), wide: *wide }
            }
            (Encoding::Rle { bits }, ValueType::Fixed(width))
                if fits(u64::from(*bits), *width) && word(*width) =>
            {
                Self::Rle(*width)
            }
            (Encoding::Runs { values, lengths }, ValueType::Fixed(width)) => {
                Self::Runs(RunsCodec::new(values, lengths, *width)?)
            }
            (Encoding::DetachedVariable { offset_bits, offsets }, ValueType::Variable { wide })
                if *offset_bits == offset_bits_of(*wide) =>
            {
                Self::Detached(DetachedCodec::new(offsets, *wide))
            }
            (Encoding::ByteStreamSplit { bits }, ValueType::Fixed(width @ (4 | 8)))
                if fits(u64::from(*bits), *width) =>
            {
                Self::ByteStreamSplit(*width)
            }
            (Encoding::General { scheme, level, values }, shape) => Self::General {
                scheme: *scheme,
                level: *level,
                values: Box::new(Self::new(values, shape, purpose)?),
            },
            (Encoding::FixedSizeList { .. }, ValueType::List { .. }) => {
                Self::List(ListCodec::new(encoding, shape, false)?)
            }
            (Encoding::PackedStruct { field_bits }, ValueType::Struct(_)) => {
                Self::Struct(StructCodec::new(field_bits, shape)?)
            }
            _ => corrupt!("mini-block encoding {} for values of {shape:?}", encoding.describe()),
        })
    }

    fn num_buffers(&self) -> usize {
        match self {
            Self::Rle(_) | Self::Runs(_) => 2,
            Self::Detached(codec) => codec.num_buffers(),
            Self::List(codec) => codec.num_buffers(),
            Self::General { values, .. } => values.num_buffers(),
            _ => 1,
        }
    }

    fn decode(
        &self,
        buffers: &[&[u8]],
        num_values: usize,
        range: Range<usize>,
        max_bytes: u64,
        out: &mut Values,
        scratch: &mut Scratch,
    ) -> Result<usize> {
        let first = buffers[0];
        match self {
            Self::Bits => flat::decode_bits(first, num_values, range, out),
            Self::Flat(width) => flat::decode(*width, first, num_values, range, out),
            Self::Variable { wide } => variable::decode(*wide, first, num_values, range, out),
            Self::InlineBitpacking(width) => bitpacking::decode_inline(*width, first, num_values, range, out),
            Self::Fsst { codec, wide } => codec.decode(*wide, first, num_values, range, out, scratch),
            Self::Rle(width) => {
                // A run of a few bytes may be of many values: their count alone must not ask for memory.
                block::admit_bytes(range.len(), *width, max_bytes)?;
                rle::decode(*width, buffers, num_values, range, out)
            }
            Self::Runs(codec) => {
                block::admit_bytes(range.len(), 8, max_bytes)?;
                runs::decode(codec, buffers, num_values, range, max_bytes, out, scratch)
            }
            Self::Detached(codec) => codec.decode(buffers, num_values, range, max_bytes, out),
            Self::ByteStreamSplit(width) => byte_stream_split::decode(*width, first, num_values, range, out),
            Self::General { scheme, values, .. } => {
                with_first(buffers, *scheme, max_bytes, scratch, |buffers, scratch| {
                    values.decode(buffers, num_values, range, max_bytes, out, scratch)
                })
            }
            Self::List(codec) => codec.decode(buffers, num_values, range, out),
            Self::Struct(codec) => codec.decode(first, num_values, range, out),
        }
    }

    fn decode_points(
        &self,
        buffers: &[&[u8]],
        num_values: usize,
        points: &[u32],
        max_bytes: u64,
        out: &mut Values,
        scratch: &mut Scratch,
    ) -> Result<usize> {
        let first = buffers[0];
        match self {
            Self::Bits => flat::decode_bit_points(first, num_values, points, out),
            Self::Flat(width) => flat::decode_points(*width, first, num_values, points, out),
            Self::Variable { wide } => variable::decode_points(*wide, first, num_values, points, out),
            Self::InlineBitpacking(width) => {
                bitpacking::decode_inline_points(*width, first, num_values, points, out)
            }
            Self::Fsst { codec, wide } => codec.decode_points(*wide, first, num_values, points, out, scratch),
            Self::Rle(width) => rle::decode_points(*width, buffers, num_values, points, out),
            Self::Runs(codec) => {
                runs::decode_points(codec, buffers, num_values, points, max_bytes, out, scratch)
            }
            Self::Detached(codec) => codec.decode_points(buffers, num_values, points, max_bytes, out),
            Self::ByteStreamSplit(width) => {
                byte_stream_split::decode_points(*width, first, num_values, points, out)
            }
            Self::General { scheme, values, .. } => {
                with_first(buffers, *scheme, max_bytes, scratch, |buffers, scratch| {
                    values.decode_points(buffers, num_values, points, max_bytes, out, scratch)
                })
            }
            Self::List(codec) => {
                for &point in points {
                    let point = point as usize;
                    codec.decode(buffers, num_values, point..point + 1, out)?;
                }
                Ok(points.len())
            }
            Self::Struct(codec) => codec.decode_points(first, num_values, points, out),
        }
    }

    /// How many values a whole-chunk decode passes in the time of one point.
    fn point_cost(&self) -> usize {
        match self {
            Self::Bits | Self::Flat(_) | Self::List(_) | Self::Struct(_) => 2,
            Self::Variable { .. } | Self::ByteStreamSplit(_) => 4,
            Self::Fsst { .. } => 3,
            Self::InlineBitpacking(_) => 24,
            Self::Rle(_) | Self::Runs(_) => 64,
            Self::Detached(_) => 8,
            // The chunk must be decompressed whole, so its values are nearly free.
            Self::General { .. } => usize::MAX,
        }
    }

    /// What the first buffer of a chunk of `count` values holds.
    fn content(&self, count: usize) -> Content {
        match self {
            Self::ByteStreamSplit(width) => Content::Streams(*width),
            Self::Variable { wide } | Self::Fsst { wide, .. } => {
                let width = usize::from(offset_bits_of(*wide)) / 8;
                Content::Strings { bytes: (count + 1) * width, width }
            }
            _ => Content::Bytes,
        }
    }

    fn encode(&self, values: &Values, range: Range<usize>, scratch: &mut Scratch) -> Result<Vec<Vec<u8>>> {
        Ok(match self {
            Self::Bits => vec![flat::encode_bits(values, range)?],
            Self::Flat(width) => vec![flat::encode(*width, values, range)?],
            Self::Variable { wide } => vec![variable::encode(*wide, values, range)?],
            Self::InlineBitpacking(width) => vec![bitpacking::encode_inline(*width, values, range)?],
            Self::Fsst { codec, wide } => vec![codec.encode(*wide, values, range, scratch)?],
            Self::Rle(width) => {
                let bytes = &values.fixed_bytes(*width)?[range.start * width..range.end * width];
                rle::encode(*width, bytes)?.into()
            }
            Self::Runs(_) | Self::Detached(_) => {
                return Err(Error::unsupported("writing encodings of format version 2.3"));
            }
            Self::ByteStreamSplit(width) => vec![byte_stream_split::encode(*width, values, range)?],
            Self::General { scheme, level, values: inner } => {
                let count = range.len();
                let mut buffers = inner.encode(values, range, scratch)?;
                let mut compressed = Vec::new();
                let content = inner.content(count);
                general::compress_chunk(*scheme, *level, &buffers[0], content, &mut compressed, scratch)?;
                buffers[0] = compressed;
                buffers
            }
            Self::List(codec) => codec.encode(values, range)?,
            Self::Struct(codec) => vec![codec.encode(values, range)?],
        })
    }
}

/// Offsets of Arrow's wide and narrow variable types.
pub(super) fn offset_bits_of(wide: bool) -> u8 {
    if wide { 64 } else { 32 }
}

/// Calls `then` with the first buffer decompressed.
fn with_first<T>(
    buffers: &[&[u8]],
    scheme: Scheme,
    max_bytes: u64,
    scratch: &mut Scratch,
    then: impl FnOnce(&[&[u8]], &mut Scratch) -> Result<T>,
) -> Result<T> {
    let first = general::decompress(scheme, buffers[0], max_bytes, scratch)?;
    let done = match buffers {
        [_] => then(&[&first], scratch),
        [_, second] => then(&[&first, second], scratch),
        [_, rest @ ..] => {
            let mut all: Vec<&[u8]> = vec![&first];
            all.extend_from_slice(rest);
            then(&all, scratch)
        }
        [] => unreachable!("every codec has at least one buffer, checked on entry"),
    };
    scratch.give(first);
    done
}

/// Decodes the chunks of a page.
pub(crate) struct ChunkReader {
    codec: ChunkCodec,
    max_bytes: u64,
}

impl std::fmt::Debug for ChunkReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ChunkReader").field("num_buffers", &self.num_buffers()).finish_non_exhaustive()
    }
}

impl ChunkReader {
    /// Prepares for values of `shape`; a description that does not suit them is corrupt.
    pub(crate) fn new(encoding: &Encoding, shape: &ValueType, limits: &Limits) -> Result<Self> {
        let codec = ChunkCodec::new(encoding, shape, Purpose::Read)?;
        Ok(Self { codec, max_bytes: limits.buffer_bytes })
    }

    /// Value buffers of every chunk.
    pub(crate) fn num_buffers(&self) -> usize {
        self.codec.num_buffers()
    }

    fn check(&self, buffers: &[&[u8]], num_values: usize, end: usize) -> Result<()> {
        if buffers.len() != self.num_buffers() {
            corrupt!("{} value buffers in a chunk where {} are expected", buffers.len(), self.num_buffers());
        }
        if end > num_values {
            return Err(Error::invalid(format!("value {end} of a chunk of {num_values}")));
        }
        Ok(())
    }

    /// Appends values `range` of a chunk of `num_values`; says how many went in, which is fewer only when
    /// the byte limit of `out` was met. After an error `out` may hold part of the range.
    pub(crate) fn decode(
        &self,
        buffers: &[&[u8]],
        num_values: usize,
        range: Range<usize>,
        out: &mut Values,
        scratch: &mut Scratch,
    ) -> Result<usize> {
        self.check(buffers, num_values, range.end)?;
        if range.start >= range.end {
            return Ok(0);
        }
        self.codec.decode(buffers, num_values, range, self.max_bytes, out, scratch)
    }

    /// Appends the values at `points`, which must not fall, of a chunk of `num_values`.
    pub(crate) fn decode_points(
        &self,
        buffers: &[&[u8]],
        num_values: usize,
        points: &[u32],
        out: &mut Values,
        scratch: &mut Scratch,
    ) -> Result<usize> {
        let Some(last) = points.last() else { return Ok(0) };
        debug_assert!(points.is_sorted(), "points in ascending order");
        self.check(buffers, num_values, *last as usize + 1)?;
        self.codec.decode_points(buffers, num_values, points, self.max_bytes, out, scratch)
    }

    /// Starts to load what the first value of each of `parts` is found by, see [`prefetch`].
    pub(crate) fn prefetch(&self, buffers: &[&[u8]], num_values: usize, parts: &[Range<u32>]) {
        let Some(first) = buffers.first() else { return };
        let each = |width: usize| {
            parts.iter().for_each(|part| prefetch(first, (part.start as usize).saturating_mul(width)));
        };
        match &self.codec {
            ChunkCodec::InlineBitpacking(width) => {
                bitpacking::prefetch_inline(*width, first, num_values, parts)
            }
            ChunkCodec::Flat(width) => each(*width),
            ChunkCodec::Variable { wide } | ChunkCodec::Fsst { wide, .. } => each(if *wide { 8 } else { 4 }),
            ChunkCodec::Rle(_) => buffers.iter().for_each(|buffer| prefetch(buffer, 0)),
            _ => {}
        }
    }

    /// Starts to load where the bytes of strings are, once [`Self::prefetch`] had time for their offsets.
    pub(crate) fn prefetch_bytes(&self, buffers: &[&[u8]], parts: &[Range<u32>]) {
        let (ChunkCodec::Variable { wide: false } | ChunkCodec::Fsst { wide: false, .. }, Some(first)) =
            (&self.codec, buffers.first())
        else {
            return;
        };
        for part in parts {
            let Some(offset) =
                first.get((part.start as usize).saturating_mul(4)..).and_then(|b| b.first_chunk::<4>())
            else {
                return;
            };
            prefetch(first, u32::from_le_bytes(*offset) as usize);
        }
    }

    /// Whether [`Self::decode_points`] is the cheaper way to `num_points` values of a chunk.
    pub(crate) fn prefers_points(&self, num_points: usize, num_values: usize) -> bool {
        num_points.saturating_mul(self.codec.point_cost()) <= num_values
    }
}

/// Encodes the chunks of a page.
pub(crate) struct ChunkWriter {
    codec: ChunkCodec,
    scratch: Lent,
}

impl ChunkWriter {
    /// Prepares for values of `shape`.
    pub(crate) fn new(encoding: &Encoding, shape: &ValueType) -> Result<Self> {
        let codec = ChunkCodec::new(encoding, shape, Purpose::Write)?;
        Ok(Self { codec, scratch: Lent::take() })
    }

    /// Buffers of every chunk.
    pub(crate) fn num_buffers(&self) -> usize {
        self.codec.num_buffers()
    }

    /// The buffers of a chunk of values `range`.
    pub(crate) fn encode(&mut self, values: &Values, range: Range<usize>) -> Result<Vec<Vec<u8>>> {
        if range.start > range.end || range.end > values.len() {
            return Err(Error::invalid(format!("values {range:?} of {}", values.len())));
        }
        self.codec.encode(values, range, &mut self.scratch)
    }
}

impl std::fmt::Debug for ChunkWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ChunkWriter").field("num_buffers", &self.num_buffers()).finish_non_exhaustive()
    }
}

/// One chunk alone; a [`ChunkWriter`] serves many.
#[cfg(test)]
pub(crate) fn encode_chunk(e: &Encoding, values: &Values, range: Range<usize>) -> Result<Vec<Vec<u8>>> {
    ChunkWriter::new(e, &values.shape())?.encode(values, range)
}
