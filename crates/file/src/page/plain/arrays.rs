//! Arrays without nulls inside a plain page: values of fixed width, and bits.
//!
//! ```text
//! flat      v0 | v1 | v2 …                               width bytes each; or all of it under zstd or lz4
//! stream    C bits each, lowest first, without gaps       value i is bits i × C .. (i + 1) × C
//! groups    1024 values take 128 × C bytes                the order inside a group is that of bit packing in 2.1
//! bits      8 to a byte, lowest first
//! ```
//!
//! Bound on reads: the bytes under the values asked for, whole groups where packed in groups, and the whole buffer
//! where compressed. See docs/format/plain.md, "Flat" and "Bit packing".

use std::cell::RefCell;
use std::ops::Range;

use bytes::Bytes;
use pennon_codec::bitpack::{self, GROUP, packed_bytes};
use pennon_codec::{Word, bytes_of};

use super::super::PageBuffers;
use super::PlainEncoding;
use crate::encoding::{Scheme, Scratch, decompress, with_word};
use crate::error::corrupt;
use crate::io::Segments;
use crate::{Error, Limits, Result};

/// Buffers by number, decompressed.
pub(super) type Inflated = Vec<(usize, Bytes)>;

/// The bytes of a page as its arrays see them.
pub(super) struct Access<'a> {
    pub(super) buffers: &'a PageBuffers,
    pub(super) segments: &'a Segments,
    pub(super) limits: &'a Limits,
    /// Buffers decompressed so far.
    inflated: RefCell<Inflated>,
    pub(super) scratch: RefCell<Scratch>,
}

impl<'a> Access<'a> {
    pub(super) fn new(buffers: &'a PageBuffers, segments: &'a Segments, limits: &'a Limits) -> Self {
        Self { buffers, segments, limits, inflated: RefCell::default(), scratch: RefCell::default() }
    }

    /// With buffers that were decompressed before.
    pub(super) fn with_inflated(self, inflated: Inflated) -> Self {
        *self.inflated.borrow_mut() = inflated;
        self
    }

    /// What was decompressed.
    pub(super) fn into_inflated(self) -> Inflated {
        self.inflated.into_inner()
    }

    /// Adds what `bytes` of a buffer need.
    fn want(
        &self,
        buffer: usize,
        scheme: Option<Scheme>,
        bytes: Range<u64>,
        needs: &mut Vec<Range<u64>>,
    ) -> Result<()> {
        match scheme {
            None => self.buffers.want(buffer, bytes, self.segments, needs),
            Some(_) => self.buffers.want(buffer, 0..self.buffers.len(buffer)?, self.segments, needs),
        }
    }

    /// Bytes `range` of a buffer, counted when it is not compressed any more.
    fn read(&self, buffer: usize, scheme: Option<Scheme>, range: Range<u64>) -> Result<Bytes> {
        let Some(scheme) = scheme else { return self.buffers.bytes(self.segments, buffer, range) };
        let mut inflated = self.inflated.borrow_mut();
        let at = match inflated.iter().position(|(b, _)| *b == buffer) {
            Some(at) => at,
            None => {
                let stored = self.buffers.whole(self.segments, buffer)?;
                let bytes = if stored.is_empty() {
                    Vec::new()
                } else {
                    let most = self.limits.buffer_bytes;
                    decompress(scheme, stored, most, &mut self.scratch.borrow_mut())
                        .map_err(|e| e.in_buffer(buffer))?
                };
                inflated.push((buffer, bytes.into()));
                inflated.len() - 1
            }
        };
        let bytes = &inflated[at].1;
        if range.start > range.end || range.end > bytes.len() as u64 {
            return Err(Error::corrupt(format!(
                "bytes {}..{} are asked of a buffer that decompresses to {}",
                range.start,
                range.end,
                bytes.len()
            ))
            .in_buffer(buffer));
        }
        Ok(bytes.slice(range.start as usize..range.end as usize))
    }
}

/// `values × unit`, for positions that a file announces.
pub(super) fn scaled(values: &Range<u64>, unit: u64) -> Result<Range<u64>> {
    match (values.start.checked_mul(unit), values.end.checked_mul(unit)) {
        (Some(start), Some(end)) => Ok(start..end),
        _ => corrupt!("{} values of {unit} bytes or items", values.end),
    }
}

/// Values of a fixed number of bytes.
#[derive(Debug)]
pub(super) struct FixedArray {
    pub(super) width: usize,
    buffer: usize,
    stored: Stored,
}

#[derive(Debug, Clone, Copy)]
enum Stored {
    Flat(Option<Scheme>),
    Stream { packed_bits: usize, signed: bool },
    Groups { packed_bits: usize },
}

impl FixedArray {
    /// An array of `width` bytes each; a description of anything else is corrupt.
    pub(super) fn new(encoding: &PlainEncoding, width: usize) -> Result<Self> {
        let check = |bits: u64| match (width as u64).checked_mul(8) == Some(bits) {
            true => Ok(()),
            false => Err(Error::corrupt(format!("values of {bits} bits where {width} bytes are expected"))),
        };
        let (buffer, stored) = match encoding {
            PlainEncoding::NoNull { values } => return Self::new(values, width),
            PlainEncoding::Flat { bits, buffer, compression } => {
                check(*bits)?;
                (*buffer, Stored::Flat(compression.and_then(|c| c.scheme)))
            }
            PlainEncoding::Bitpacked { bits, packed_bits, signed, buffer } => {
                check((*bits).into())?;
                (*buffer, Stored::Stream { packed_bits: (*packed_bits).into(), signed: *signed })
            }
            PlainEncoding::BitpackedGroups { bits, packed_bits, buffer } => {
                check((*bits).into())?;
                (*buffer, Stored::Groups { packed_bits: (*packed_bits).into() })
            }
            other => corrupt!("{} where plain values of {width} bytes are expected", other.describe()),
        };
        Ok(Self { width, buffer, stored })
    }

    /// Bytes, whatever width a flat description claims: that is how strings of one length are described.
    pub(super) fn of_bytes(encoding: &PlainEncoding) -> Result<Self> {
        match encoding {
            PlainEncoding::NoNull { values } => Self::of_bytes(values),
            PlainEncoding::Flat { buffer, compression, .. } => Ok(Self {
                width: 1,
                buffer: *buffer,
                stored: Stored::Flat(compression.and_then(|c| c.scheme)),
            }),
            other => Self::new(other, 1),
        }
    }

    /// Whether all of the buffer is read whatever is asked for.
    pub(super) fn is_compressed(&self) -> bool {
        matches!(self.stored, Stored::Flat(Some(_)))
    }

    /// The buffer's bytes under some values.
    fn bytes_of(&self, values: &Range<u64>) -> Result<Range<u64>> {
        match self.stored {
            Stored::Flat(_) => scaled(values, self.width as u64),
            Stored::Stream { packed_bits, .. } => {
                let bits = scaled(values, packed_bits as u64)?;
                Ok(bits.start / 8..bits.end.div_ceil(8))
            }
            Stored::Groups { packed_bits } => {
                let groups = values.start / GROUP as u64..values.end.div_ceil(GROUP as u64);
                scaled(&groups, packed_bytes(packed_bits) as u64)
            }
        }
    }

    /// Adds what `values` need.
    pub(super) fn want(
        &self,
        values: &Range<u64>,
        access: &Access<'_>,
        needs: &mut Vec<Range<u64>>,
    ) -> Result<()> {
        if values.start >= values.end {
            return Ok(());
        }
        let scheme = match self.stored {
            Stored::Flat(scheme) => scheme,
            _ => None,
        };
        access.want(self.buffer, scheme, self.bytes_of(values)?, needs)
    }

    /// The bytes of `values`, little-endian words where the width is one of a word.
    pub(super) fn read(&self, values: &Range<u64>, access: &Access<'_>) -> Result<Bytes> {
        if values.start >= values.end {
            return Ok(Bytes::new());
        }
        let stored = self.bytes_of(values)?;
        match self.stored {
            Stored::Flat(scheme) => access.read(self.buffer, scheme, stored),
            Stored::Stream { packed_bits, signed } => {
                let bytes = access.read(self.buffer, None, stored)?;
                let skip = (values.start * packed_bits as u64 % 8) as usize;
                let count = (values.end - values.start) as usize;
                Ok(unpack_stream(&bytes, skip, packed_bits, signed, self.width, count).into())
            }
            Stored::Groups { packed_bits } => {
                let bytes = access.read(self.buffer, None, stored)?;
                let skip = (values.start % GROUP as u64) as usize;
                let count = (values.end - values.start) as usize;
                with_word!(self.width, T => unpack_groups::<T>(&bytes, skip, packed_bits, count))
                    .map(Into::into)
            }
        }
    }

    /// `values` as numbers; the width must be one of a word.
    pub(super) fn words(&self, values: &Range<u64>, access: &Access<'_>) -> Result<Vec<u64>> {
        let bytes = self.read(values, access)?;
        with_word!(self.width, T => Ok(bytes.chunks_exact(T::BYTES).map(|word| T::read(word).widen()).collect()))
    }
}

/// `count` values of `packed_bits` from bit `skip` on, as words of `width` bytes.
fn unpack_stream(
    bytes: &[u8],
    skip: usize,
    packed_bits: usize,
    signed: bool,
    width: usize,
    count: usize,
) -> Vec<u8> {
    let mut out = Vec::with_capacity(count * width);
    let mask = if packed_bits == 64 { u64::MAX } else { (1 << packed_bits) - 1 };
    let unused = 64 - packed_bits as u32;
    for i in 0..count {
        let bit = skip + i * packed_bits;
        let mut word = [0; 16];
        let from = &bytes[bit / 8..bytes.len().min(bit / 8 + 9)];
        word[..from.len()].copy_from_slice(from);
        let mut value = (u128::from_le_bytes(word) >> (bit % 8)) as u64 & mask;
        if signed {
            value = ((value << unused) as i64 >> unused) as u64;
        }
        out.extend_from_slice(&value.to_le_bytes()[..width]);
    }
    out
}

fn unpack_groups<T: Word>(bytes: &[u8], skip: usize, packed_bits: usize, count: usize) -> Result<Vec<u8>> {
    let mut out = Vec::with_capacity(count * T::BYTES);
    let mut words = [T::default(); GROUP];
    let mut skip = skip;
    let mut left = count;
    for group in bytes.chunks_exact(packed_bytes(packed_bits)) {
        bitpack::unpack(packed_bits, group, &mut words)?;
        let take = left.min(GROUP - skip);
        out.extend_from_slice(bytes_of(&words[skip..skip + take]));
        left -= take;
        skip = 0;
    }
    Ok(out)
}

/// A bitmap.
#[derive(Debug)]
pub(super) struct BitArray {
    buffer: usize,
    scheme: Option<Scheme>,
}

impl BitArray {
    pub(super) fn new(encoding: &PlainEncoding) -> Result<Self> {
        match encoding {
            PlainEncoding::NoNull { values } => Self::new(values),
            PlainEncoding::Flat { bits: 1, buffer, compression } => {
                Ok(Self { buffer: *buffer, scheme: compression.and_then(|c| c.scheme) })
            }
            other => corrupt!("{} where a bitmap is expected", other.describe()),
        }
    }

    pub(super) fn want(
        &self,
        bits: &Range<u64>,
        access: &Access<'_>,
        needs: &mut Vec<Range<u64>>,
    ) -> Result<()> {
        if bits.start >= bits.end {
            return Ok(());
        }
        access.want(self.buffer, self.scheme, bits.start / 8..bits.end.div_ceil(8), needs)
    }

    /// Bytes with the bits asked for, and the position of the first of them.
    pub(super) fn read(&self, bits: &Range<u64>, access: &Access<'_>) -> Result<(Bytes, usize)> {
        let bytes = access.read(self.buffer, self.scheme, bits.start / 8..bits.end.div_ceil(8))?;
        Ok((bytes, (bits.start % 8) as usize))
    }
}
