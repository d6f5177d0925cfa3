//! The block form: one opaque buffer whose count is known from outside.
//!
//! ```text
//! flat, bitpacking, RLE   words
//! variable                header | offsets | bytes
//! fixed-size list         rows of the per-value form
//! general(x)              x, compressed
//! ```
//!
//! Dictionaries of pages are stored so, and levels (see [`super::levels`]).

use super::fixed_size_list::ListCodec;
use super::mini_block::offset_bits_of;
use super::runs::RunsCodec;
use super::{Encoding, Lent, Scratch, ValueType, Values, bitpacking, flat, general, rle, variable};
use crate::error::corrupt;
use crate::{Error, Limits, Result};

/// Decodes the `num_values` values of a block.
pub(crate) fn decode_block(
    encoding: &Encoding,
    data: &[u8],
    num_values: usize,
    shape: &ValueType,
    limits: &Limits,
) -> Result<Values> {
    let mut out = Values::new(shape, 0);
    decode(encoding, data, num_values, shape, limits, &mut out, &mut Lent::take())?;
    debug_assert_eq!(out.len(), num_values);
    Ok(out)
}

pub(super) fn decode(
    encoding: &Encoding,
    data: &[u8],
    num_values: usize,
    shape: &ValueType,
    limits: &Limits,
    out: &mut Values,
    scratch: &mut Scratch,
) -> Result<()> {
    let fits = |bits: u64, width: usize| bits == width as u64 * 8;
    match (encoding, shape) {
        (Encoding::Flat { bits: 1 }, ValueType::Bits) => {
            flat::decode_bits(data, num_values, 0..num_values, out)?;
        }
        (Encoding::Flat { bits }, ValueType::Fixed(width)) if fits(*bits, *width) => {
            flat::decode(*width, data, num_values, 0..num_values, out)?;
        }
        (Encoding::Variable { offset_bits }, ValueType::Variable { wide })
            if *offset_bits == offset_bits_of(*wide) =>
        {
            variable::decode_block(*wide, data, num_values, out)?;
        }
        (Encoding::OutOfLineBitpacking { bits, packed_bits }, ValueType::Fixed(width))
            if fits(u64::from(*bits), *width) =>
        {
            // Values of no bits take no bytes: their count alone must not ask for memory.
            admit(num_values, *width, limits)?;
            bitpacking::decode_out_of_line(*width, usize::from(*packed_bits), data, num_values, out)?;
        }
        (Encoding::InlineBitpacking { bits }, ValueType::Fixed(width)) if fits(u64::from(*bits), *width) => {
            bitpacking::decode_inline(*width, data, num_values, 0..num_values, out)?;
        }
        (Encoding::Rle { bits }, ValueType::Fixed(width)) if fits(u64::from(*bits), *width) => {
            admit(num_values, *width, limits)?;
            rle::decode_block(*width, data, num_values, out)?;
        }
        (Encoding::Runs { values, lengths }, ValueType::Fixed(width)) => {
            admit(num_values, *width, limits)?;
            let runs = RunsCodec::new(values, lengths, *width)?.open(&rle::split(data)?, limits, scratch)?;
            runs.check(num_values, true)?;
            let out = out.fixed_mut(*width)?;
            runs.fill(0, out.grow(num_values))?;
        }
        (Encoding::General { scheme, values, .. }, shape) => {
            if let (Encoding::Flat { bits }, ValueType::Fixed(width)) = (&**values, shape)
                && fits(*bits, *width)
            {
                // Bytes as they are in memory go there at once.
                let compressed = general::Compressed::parse(*scheme, data, limits.buffer_bytes)?;
                if compressed.size.is_some() && compressed.size == num_values.checked_mul(*width) {
                    return compressed.read_into(out.fixed_mut(*width)?.grow_unset(num_values), scratch);
                }
            }
            let bytes = general::decompress(*scheme, data, limits.buffer_bytes, scratch)?;
            let done = decode(values, &bytes, num_values, shape, limits, out, scratch);
            scratch.give(bytes);
            done?;
        }
        (Encoding::FixedSizeList { .. }, ValueType::List { .. }) => {
            let codec = ListCodec::new(encoding, shape, true)?;
            let stride = codec.block_stride(data.len(), num_values);
            flat::check(stride, data, num_values)?;
            // Rows of nothing but null items are small beside what they become.
            admit(num_values, shape.fixed_bytes().unwrap_or(0), limits)?;
            codec.decode_strided(data, stride, 0, num_values, out)?;
        }
        _ => corrupt!("block encoding {} for values of {shape:?}", encoding.describe()),
    }
    Ok(())
}

/// That `num_values` of `width` bytes may be made.
pub(super) fn admit(num_values: usize, width: usize, limits: &Limits) -> Result<()> {
    admit_bytes(num_values, width, limits.buffer_bytes)
}

/// That `num_values` of `width` bytes are at most `max_bytes`.
pub(super) fn admit_bytes(num_values: usize, width: usize, max_bytes: u64) -> Result<()> {
    let bytes = (num_values as u128) * (width as u128);
    if bytes > u128::from(max_bytes) {
        return Err(Error::limit(format!(
            "{num_values} values of {width} bytes at once, above the limit of {max_bytes} bytes"
        )));
    }
    Ok(())
}

/// Encodes all of `values` as a block.
pub(crate) fn encode_block(encoding: &Encoding, values: &Values) -> Result<Vec<u8>> {
    encode(encoding, values, &mut Lent::take())
}

fn encode(encoding: &Encoding, values: &Values, scratch: &mut Scratch) -> Result<Vec<u8>> {
    let all = 0..values.len();
    Ok(match (encoding, values) {
        (Encoding::Flat { bits: 1 }, Values::Bits(_)) => flat::encode_bits(values, all)?,
        (Encoding::Flat { bits }, Values::Fixed(v)) if *bits == v.width as u64 * 8 => v.bytes().to_vec(),
        (Encoding::Variable { offset_bits: 32 }, Values::Variable(_)) => {
            variable::encode_block(false, values)?
        }
        (Encoding::Variable { offset_bits: 64 }, Values::LargeVariable(_)) => {
            variable::encode_block(true, values)?
        }
        (Encoding::OutOfLineBitpacking { bits, packed_bits }, Values::Fixed(v))
            if usize::from(*bits) == v.width * 8 =>
        {
            bitpacking::encode_out_of_line(v.width, usize::from(*packed_bits), v.bytes())?
        }
        (Encoding::InlineBitpacking { bits }, Values::Fixed(v)) if usize::from(*bits) == v.width * 8 => {
            bitpacking::encode_inline(v.width, values, all)?
        }
        (Encoding::Rle { bits }, Values::Fixed(v)) if usize::from(*bits) == v.width * 8 => {
            rle::encode_block(v.width, v.bytes())?
        }
        (Encoding::General { scheme, level, values: inner }, values) => {
            let bytes = encode(inner, values, scratch)?;
            let mut out = Vec::new();
            general::compress(*scheme, *level, &bytes, &mut out, scratch)?;
            out
        }
        (Encoding::FixedSizeList { .. }, Values::List(_)) => {
            let codec = ListCodec::new(encoding, &values.shape(), true)?;
            let mut out = Vec::with_capacity(values.len() * codec.row_bytes());
            for index in all {
                codec.encode_row(values, index, &mut out)?;
            }
            out
        }
        _ => {
            let (encoding, shape) = (encoding.describe(), values.shape());
            return Err(Error::invalid(format!("block encoding {encoding} for values of {shape:?}")));
        }
    })
}
