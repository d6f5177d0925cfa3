//! Repetition and definition levels: blocks of 16-bit values. See docs/format/levels.md.
//!
//! ```text
//! flat 16 | inline bitpacking 16 | out-of-line bitpacking 16 | RLE 16 | runs 16 | general over these
//! ```
//!
//! Levels of one bit, the usual form of nulls, have a way to a validity bitmap that never makes them words.

use arrow_buffer::BooleanBufferBuilder;
use pennon_codec::{bitpack, bits, bytes_of, bytes_of_mut, rle as runs};

use super::bitpacking::{Inline, OutOfLine};
use super::runs::RunsCodec;
use super::{Encoding, Lent, Scratch, bitpacking, block, flat, general, rle};
use crate::error::corrupt;
use crate::{Error, Limits, Result};

/// Appends the `num_levels` levels of a block.
pub(crate) fn decode_levels(
    encoding: &Encoding,
    data: &[u8],
    num_levels: usize,
    out: &mut Vec<u16>,
    limits: &Limits,
) -> Result<()> {
    decode(encoding, data, num_levels, out, limits, &mut None)
}

/// `scratch` is made only when something is compressed.
fn decode(
    encoding: &Encoding,
    data: &[u8],
    num_levels: usize,
    out: &mut Vec<u16>,
    limits: &Limits,
    scratch: &mut Option<Lent>,
) -> Result<()> {
    let start = out.len();
    match encoding {
        Encoding::Flat { bits: 16 } => {
            flat::check(2, data, num_levels)?;
            out.resize(start + num_levels, 0);
            bytes_of_mut(&mut out[start..]).copy_from_slice(data);
        }
        Encoding::InlineBitpacking { bits: 16 } => {
            let Inline { width, packed } = Inline::parse::<u16>(data, num_levels)?;
            if num_levels == bitpack::GROUP {
                out.resize(start + num_levels, 0);
                let group = out[start..].first_chunk_mut().expect("just made so long");
                bitpack::unpack(width, packed, group)?;
            } else if num_levels > 0 {
                let mut group = [0; bitpack::GROUP];
                bitpack::unpack(width, packed, &mut group)?;
                out.extend_from_slice(&group[..num_levels]);
            }
        }
        Encoding::OutOfLineBitpacking { bits: 16, packed_bits } => {
            block::admit(num_levels, 2, limits)?;
            bitpacking::decode_out_of_line_levels(usize::from(*packed_bits), data, num_levels, out)?;
        }
        Encoding::Rle { bits: 16 } => {
            block::admit(num_levels, 2, limits)?;
            let [values, lengths] = rle::split_block(2, data)?;
            rle::check_exact(lengths, num_levels)?;
            out.resize(start + num_levels, 0);
            runs::expand(values, lengths, 0, &mut out[start..])?;
        }
        Encoding::Runs { values, lengths } => {
            block::admit(num_levels, 2, limits)?;
            let codec = RunsCodec::new(values, lengths, 2)?;
            let runs = codec.open(&rle::split(data)?, limits, scratch.get_or_insert_default())?;
            runs.check(num_levels, true)?;
            out.resize(start + num_levels, 0);
            // Little-endian words are what levels are in memory.
            runs.fill(0, bytes_of_mut(&mut out[start..]))?;
        }
        Encoding::General { scheme, values, .. } => {
            let scratch = scratch.get_or_insert_default();
            let bytes = general::decompress(*scheme, data, limits.buffer_bytes, scratch)?;
            return decode(values, &bytes, num_levels, out, limits, &mut None);
        }
        other => corrupt!("levels described as {}", other.describe()),
    }
    Ok(())
}

/// Hands the levels at `points`, which must not fall, of the `num_levels` of a block to `take`.
pub(crate) fn levels_at(
    encoding: &Encoding,
    data: &[u8],
    num_levels: usize,
    points: impl Iterator<Item = u32> + Clone,
    limits: &Limits,
    mut take: impl FnMut(u16),
) -> Result<()> {
    if let Some(point) = points.clone().find(|point| *point as usize >= num_levels) {
        return Err(Error::invalid(format!("level {point} of {num_levels}")));
    }
    match encoding {
        Encoding::Flat { bits: 16 } => {
            flat::check(2, data, num_levels)?;
            let words = data.as_chunks::<2>().0;
            points.for_each(|point| take(u16::from_le_bytes(words[point as usize])));
        }
        Encoding::InlineBitpacking { bits: 16 } => {
            let Inline { width, packed } = Inline::parse::<u16>(data, num_levels)?;
            for point in points {
                take(bitpack::unpack_one(width, packed, point as usize)?);
            }
        }
        Encoding::OutOfLineBitpacking { bits: 16, packed_bits } => {
            let packed = OutOfLine::parse::<u16>(usize::from(*packed_bits), data, num_levels)?;
            for point in points {
                take(packed.value_at(num_levels, point as usize)?);
            }
        }
        Encoding::Rle { bits: 16 } => {
            let [values, lengths] = rle::split_block(2, data)?;
            rle::check_exact(lengths, num_levels)?;
            runs::expand_points(values, lengths, points, take)?;
        }
        Encoding::Runs { values, lengths } => {
            let codec = RunsCodec::new(values, lengths, 2)?;
            let runs = codec.open(&rle::split(data)?, limits, &mut Lent::take())?;
            runs.check(num_levels, true)?;
            let points: Vec<u32> = points.collect();
            runs.points(&points, |l| take(u16::from_le_bytes([l[0], l[1]])))?;
        }
        Encoding::General { scheme, values, .. } => {
            let bytes = general::decompress(*scheme, data, limits.buffer_bytes, &mut Lent::take())?;
            let mut levels = Vec::new();
            decode(values, &bytes, num_levels, &mut levels, limits, &mut None)?;
            for point in points {
                let Some(level) = levels.get(point as usize) else {
                    corrupt!("{} levels decoded in a block of {num_levels}", levels.len())
                };
                take(*level);
            }
        }
        other => corrupt!("levels described as {}", other.describe()),
    }
    Ok(())
}

/// Appends the validity of `num_levels` levels, a value being there when its level is at most
/// `threshold`, for pages whose levels and values are the same in number; none may pass `max`, which is
/// at least 1. Says how many are there.
#[expect(clippy::too_many_arguments, reason = "what a chunk says of its levels, and where they go")]
pub(crate) fn append_validity(
    encoding: &Encoding,
    data: &[u8],
    num_levels: usize,
    threshold: u16,
    max: u16,
    out: &mut BooleanBufferBuilder,
    limits: &Limits,
    scratch: &mut Scratch,
) -> Result<usize> {
    scratch.words.clear();
    let one_bit = threshold == 0 && one_bit_groups(encoding, data, num_levels, &mut scratch.words)?;
    let valid = if one_bit {
        // The bits say null so far, and the last word may have bits of a filled-up group.
        let words = &mut scratch.words;
        words.truncate(num_levels.div_ceil(64));
        words.iter_mut().for_each(|w| *w = !*w);
        if !num_levels.is_multiple_of(64)
            && let Some(last) = words.last_mut()
        {
            *last &= u64::MAX >> (64 - num_levels % 64);
        }
        words.iter().map(|w| w.count_ones() as usize).sum()
    } else {
        scratch.levels.clear();
        decode_levels(encoding, data, num_levels, &mut scratch.levels, limits)?;
        let highest = scratch.levels.iter().fold(0, |a, b| a.max(*b));
        if highest > max {
            corrupt!("level {highest} on a page whose highest is {max}");
        }
        bits::at_most(&scratch.levels, threshold, &mut scratch.words)
    };
    out.append_packed_range(0..num_levels, bytes_of(&scratch.words));
    Ok(valid)
}

/// Unpacks levels of one bit each as bitmaps, if that is what they all are.
fn one_bit_groups(encoding: &Encoding, data: &[u8], num_levels: usize, out: &mut Vec<u64>) -> Result<bool> {
    let mut bitmap = [0; bitpack::GROUP / 64];
    match encoding {
        Encoding::InlineBitpacking { bits: 16 } => {
            let Inline { width, packed } = Inline::parse::<u16>(data, num_levels)?;
            if width != 1 {
                return Ok(false);
            }
            bits::unpack_bits(packed, &mut bitmap)?;
            out.extend_from_slice(&bitmap);
        }
        Encoding::OutOfLineBitpacking { bits: 16, packed_bits: 1 } => {
            let packed = OutOfLine::parse::<u16>(1, data, num_levels)?;
            for group in 0..num_levels.div_ceil(bitpack::GROUP) {
                if let Some(group) = packed.group(group) {
                    bits::unpack_bits(group, &mut bitmap)?;
                    out.extend_from_slice(&bitmap);
                } else {
                    // The tail is words. They are turned into the same bits: one where the level is not 0.
                    let tail: Vec<u16> =
                        packed.raw_tail().as_chunks().0.iter().map(|l| u16::from_le_bytes(*l)).collect();
                    if let Some(level) = tail.iter().find(|l| **l > 1) {
                        corrupt!("level {level} among levels of one bit");
                    }
                    let start = out.len();
                    bits::at_most(&tail, 0, out);
                    out[start..].iter_mut().for_each(|w| *w = !*w);
                }
            }
        }
        _ => return Ok(false),
    }
    Ok(true)
}

/// Levels in a run-length block, for chunks whose own count wrapped at 65,536.
pub(crate) fn count_rle_levels(encoding: &Encoding, data: &[u8]) -> Result<Option<usize>> {
    match encoding {
        Encoding::Rle { bits: 16 } => {
            let [_, lengths] = rle::split_block(2, data)?;
            Ok(Some(runs::num_values(lengths)?))
        }
        _ => Ok(None),
    }
}

/// Encodes levels as a block.
pub(crate) fn encode_levels(encoding: &Encoding, levels: &[u16]) -> Result<Vec<u8>> {
    let bytes = bytes_of(levels);
    match encoding {
        Encoding::Flat { bits: 16 } => Ok(bytes.to_vec()),
        Encoding::InlineBitpacking { bits: 16 } => bitpacking::encode_inline_words::<u16>(bytes),
        Encoding::OutOfLineBitpacking { bits: 16, packed_bits } => {
            bitpacking::encode_out_of_line(2, usize::from(*packed_bits), bytes)
        }
        Encoding::Rle { bits: 16 } => rle::encode_block(2, bytes),
        Encoding::General { scheme, level, values } => {
            let inner = encode_levels(values, levels)?;
            let mut out = Vec::new();
            general::compress(*scheme, *level, &inner, &mut out, &mut Lent::take())?;
            Ok(out)
        }
        other => Err(Error::invalid(format!("levels described as {}", other.describe()))),
    }
}
