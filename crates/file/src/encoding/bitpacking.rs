//! Bit packing: 1024 values at a time, each keeping its low W bits.
//!
//! ```text
//! inline        T bits: W | 1024 × W bits, packed                 at most 1024 values, fewer are filled up
//! out of line   full groups of 1024 × W bits | tail of r values   W stands in the description
//!   tail        r words of T bits, or one more packed group: the length of the buffer tells
//! ```
//!
//! The order of bits within a group is [`pennon_codec::bitpack`]'s.

use std::ops::Range;

use pennon_codec::bitpack::{self, GROUP, packed_bytes};
use pennon_codec::{Word, bytes_of, words_mut};

use super::values::FixedValues;
use super::{Values, with_word};
use crate::error::corrupt;
use crate::{Error, Result};

/// Header and packed values of an inline group; nothing where there are no values.
pub(super) struct Inline<'a> {
    pub(super) width: usize,
    pub(super) packed: &'a [u8],
}

impl<'a> Inline<'a> {
    pub(super) fn parse<T: Word>(data: &'a [u8], num_values: usize) -> Result<Self> {
        if num_values > GROUP {
            corrupt!("{num_values} bit-packed values in a group of at most {GROUP}");
        }
        if data.is_empty() && num_values == 0 {
            return Ok(Self { width: 0, packed: data });
        }
        let Some((header, packed)) = data.split_at_checked(T::BYTES) else {
            corrupt!("{} bytes where the bit width takes {}", data.len(), T::BYTES);
        };
        let width = T::read(header).widen();
        if width > T::BITS as u64 {
            corrupt!("bit width {width} above the {} bits of a word", T::BITS);
        }
        let width = width as usize;
        if packed.len() != packed_bytes(width) {
            let expected = packed_bytes(width);
            corrupt!("{} bytes of values of {width} bits where {expected} are expected", packed.len());
        }
        Ok(Self { width, packed })
    }
}

/// Appends values `range` of a packed group.
fn append_group<T: Word>(
    width: usize,
    packed: &[u8],
    range: Range<usize>,
    out: &mut FixedValues,
) -> Result<()> {
    if range == (0..GROUP)
        && let Some(words) = words_mut::<T>(out.grow_unset(GROUP))
        && let Ok(words) = words.try_into()
    {
        return Ok(bitpack::unpack(width, packed, words)?);
    } else if range == (0..GROUP) {
        // Memory of Arrow is aligned; if it ever is not, the room asked for is given back.
        out.truncate(out.len() - GROUP);
    }
    let mut group = [T::default(); GROUP];
    bitpack::unpack(width, packed, &mut group)?;
    out.extend(bytes_of(&group[range]));
    Ok(())
}

/// Values of a group that are unpacked one by one in the time of the whole group.
const SINGLY: usize = 32;

pub(super) fn decode_inline(
    width_bytes: usize,
    data: &[u8],
    num_values: usize,
    range: Range<usize>,
    out: &mut Values,
) -> Result<usize> {
    let out = out.fixed_mut(width_bytes)?;
    with_word!(width_bytes, T => {
        let Inline { width, packed } = Inline::parse::<T>(data, num_values)?;
        if range.len() <= SINGLY {
            let slots = out.grow_unset(range.len());
            for (slot, index) in slots.chunks_exact_mut(width_bytes).zip(range.clone()) {
                slot.copy_from_slice(bytes_of(&[bitpack::unpack_one::<T>(width, packed, index)?]));
            }
        } else {
            append_group::<T>(width, packed, range.clone(), out)?;
        }
        Ok(range.len())
    })
}

pub(super) fn decode_inline_points(
    width_bytes: usize,
    data: &[u8],
    num_values: usize,
    points: &[u32],
    out: &mut Values,
) -> Result<usize> {
    let out = out.fixed_mut(width_bytes)?;
    with_word!(width_bytes, T => {
        let Inline { width, packed } = Inline::parse::<T>(data, num_values)?;
        let slots = out.grow_unset(points.len());
        for (slot, &point) in slots.chunks_exact_mut(width_bytes).zip(points) {
            slot.copy_from_slice(bytes_of(&[bitpack::unpack_one::<T>(width, packed, point as usize)?]));
        }
        Ok(points.len())
    })
}

/// Starts to load the words that values of an inline group are in.
pub(super) fn prefetch_inline(width_bytes: usize, data: &[u8], num_values: usize, points: &[Range<u32>]) {
    let prefetch = || {
        with_word!(width_bytes, T => {
            let Inline { width, packed } = Inline::parse::<T>(data, num_values)?;
            points.iter().for_each(|p| bitpack::prefetch_one::<T>(width, packed, p.start as usize));
            Ok(())
        })
    };
    // What is wrong with the chunk is said by whoever decodes it.
    let _: Result<()> = prefetch();
}

pub(super) fn encode_inline(width_bytes: usize, values: &Values, range: Range<usize>) -> Result<Vec<u8>> {
    let bytes = &values.fixed_bytes(width_bytes)?[range.start * width_bytes..range.end * width_bytes];
    with_word!(width_bytes, T => encode_inline_words::<T>(bytes))
}

/// One group of the words that `bytes` are.
pub(super) fn encode_inline_words<T: Word>(bytes: &[u8]) -> Result<Vec<u8>> {
    if bytes.is_empty() {
        return Ok(Vec::new());
    }
    let Some(group) = read_group::<T>(bytes) else {
        let n = bytes.len() / T::BYTES;
        return Err(Error::invalid(format!("{n} values in a bit-packed group of at most {GROUP}")));
    };
    let width = bitpack::width_of(&group);
    let mut out = Vec::with_capacity(T::BYTES + packed_bytes(width));
    out.extend_from_slice(bytes_of(&[T::narrow(width as u64)]));
    bitpack::pack(width, &group, &mut out);
    Ok(out)
}

/// Up to 1024 words, filled up with zeros.
fn read_group<T: Word>(bytes: &[u8]) -> Option<[T; GROUP]> {
    let mut group = [T::default(); GROUP];
    pennon_codec::bytes_of_mut(&mut group).get_mut(..bytes.len())?.copy_from_slice(bytes);
    Some(group)
}

/// A buffer of out-of-line groups.
pub(super) struct OutOfLine<'a> {
    /// Full groups, packed, and behind them the tail if that is packed too.
    groups: &'a [u8],
    /// The tail if its values are whole words.
    raw_tail: &'a [u8],
    width: usize,
}

impl<'a> OutOfLine<'a> {
    pub(super) fn parse<T: Word>(width: usize, data: &'a [u8], num_values: usize) -> Result<Self> {
        let (full, tail) = (num_values / GROUP, num_values % GROUP);
        let group = packed_bytes(width);
        let groups = full.checked_mul(group);
        let raw = groups.and_then(|g| g.checked_add(tail * T::BYTES));
        let packed = groups.and_then(|g| g.checked_add(if tail == 0 { 0 } else { group }));
        if width >= T::BITS {
            corrupt!("values of {width} bits packed out of words of {}", T::BITS);
        }
        // Where both forms of the tail would be as long, writers leave the words as they are.
        if let Some(groups) = groups
            && Some(data.len()) == raw
        {
            let (groups, raw_tail) = data.split_at(groups);
            Ok(Self { groups, raw_tail, width })
        } else if Some(data.len()) == packed {
            Ok(Self { groups: data, raw_tail: &[], width })
        } else {
            corrupt!("{} bytes where {num_values} values of {width} bits are expected", data.len())
        }
    }

    /// The tail, where its values are words.
    pub(super) fn raw_tail(&self) -> &'a [u8] {
        self.raw_tail
    }

    /// Packed group `index`, if it is packed.
    pub(super) fn group(&self, index: usize) -> Option<&'a [u8]> {
        let bytes = packed_bytes(self.width);
        self.groups.get(index * bytes..(index + 1) * bytes)
    }

    /// Appends all values.
    fn append<T: Word>(&self, num_values: usize, out: &mut FixedValues) -> Result<()> {
        let full = num_values / GROUP;
        for i in 0..full {
            let group = &self.groups[i * packed_bytes(self.width)..][..packed_bytes(self.width)];
            append_group::<T>(self.width, group, 0..GROUP, out)?;
        }
        let tail = num_values % GROUP;
        if self.raw_tail.is_empty() && tail > 0 {
            let group = &self.groups[full * packed_bytes(self.width)..];
            append_group::<T>(self.width, group, 0..tail, out)?;
        } else {
            out.extend(self.raw_tail);
        }
        Ok(())
    }

    pub(super) fn value_at<T: Word>(&self, num_values: usize, index: usize) -> Result<T> {
        if !self.raw_tail.is_empty() && index >= num_values / GROUP * GROUP {
            return Ok(T::read(&self.raw_tail[index % GROUP * T::BYTES..]));
        }
        let group = &self.groups[index / GROUP * packed_bytes(self.width)..][..packed_bytes(self.width)];
        Ok(bitpack::unpack_one(self.width, group, index % GROUP)?)
    }
}

pub(super) fn decode_out_of_line(
    width_bytes: usize,
    width: usize,
    data: &[u8],
    num_values: usize,
    out: &mut Values,
) -> Result<()> {
    let out = out.fixed_mut(width_bytes)?;
    with_word!(width_bytes, T => OutOfLine::parse::<T>(width, data, num_values)?.append::<T>(num_values, out))
}

/// Appends `num_levels` levels.
pub(super) fn decode_out_of_line_levels(
    width: usize,
    data: &[u8],
    num_levels: usize,
    out: &mut Vec<u16>,
) -> Result<()> {
    let packed = OutOfLine::parse::<u16>(width, data, num_levels)?;
    let start = out.len();
    out.resize(start + num_levels, 0);
    let (groups, tail) = out[start..].as_chunks_mut::<GROUP>();
    let bytes = packed_bytes(width);
    for (i, group) in groups.iter_mut().enumerate() {
        bitpack::unpack(width, &packed.groups[i * bytes..][..bytes], group)?;
    }
    if !packed.raw_tail.is_empty() {
        pennon_codec::bytes_of_mut(tail).copy_from_slice(packed.raw_tail);
    } else if !tail.is_empty() {
        let mut group = [0; GROUP];
        bitpack::unpack(width, &packed.groups[num_levels / GROUP * bytes..], &mut group)?;
        tail.copy_from_slice(&group[..tail.len()]);
    }
    Ok(())
}

pub(super) fn encode_out_of_line(width_bytes: usize, width: usize, bytes: &[u8]) -> Result<Vec<u8>> {
    with_word!(width_bytes, T => encode_out_of_line_words::<T>(width, bytes))
}

fn encode_out_of_line_words<T: Word>(width: usize, bytes: &[u8]) -> Result<Vec<u8>> {
    if width >= T::BITS {
        return Err(Error::invalid(format!("values of {width} bits packed out of words of {}", T::BITS)));
    }
    let mut out = Vec::with_capacity(bytes.len() / T::BYTES / GROUP * packed_bytes(width));
    for group in bytes.chunks(GROUP * T::BYTES) {
        let tail = group.len() / T::BYTES;
        if tail < GROUP && group.len() <= packed_bytes(width) {
            out.extend_from_slice(group);
            continue;
        }
        let Some(words) = read_group::<T>(group) else { unreachable!("chunks are of at most one group") };
        let needed = bitpack::width_of(&words);
        if needed > width {
            return Err(Error::invalid(format!("a value of {needed} bits where {width} are kept")));
        }
        bitpack::pack(width, &words, &mut out);
    }
    Ok(out)
}
