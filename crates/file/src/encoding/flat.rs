//! Flat: values back to back.
//!
//! ```text
//! width bytes   v0 | v1 | v2 …                 exactly n × width bytes
//! 1 bit         lowest bit of byte 0 first      exactly ceil(n / 8) bytes
//! full-zip bit  one byte each, 0 or 1           (booleans cannot be addressed otherwise)
//! ```

use std::ops::Range;

use arrow_buffer::BooleanBufferBuilder;

use super::Values;
use super::values::{FixedValues, gather_fixed};
use crate::Result;
use crate::error::corrupt;

/// That `data` holds exactly `num_values` values of `width` bytes.
pub(super) fn check(width: usize, data: &[u8], num_values: usize) -> Result<()> {
    if Some(data.len()) != num_values.checked_mul(width) {
        corrupt!("{} bytes where {num_values} values of {width} bytes are expected", data.len());
    }
    Ok(())
}

/// That `data` holds exactly `num_values` bits.
pub(super) fn check_bits(data: &[u8], num_values: usize) -> Result<()> {
    if data.len() != num_values.div_ceil(8) {
        corrupt!("{} bytes where {num_values} bits are expected", data.len());
    }
    Ok(())
}

pub(super) fn decode(
    width: usize,
    data: &[u8],
    num_values: usize,
    range: Range<usize>,
    out: &mut Values,
) -> Result<usize> {
    check(width, data, num_values)?;
    out.fixed_mut(width)?.extend(&data[range.start * width..range.end * width]);
    Ok(range.len())
}

pub(super) fn decode_points(
    width: usize,
    data: &[u8],
    num_values: usize,
    points: &[u32],
    out: &mut Values,
) -> Result<usize> {
    check(width, data, num_values)?;
    gather_fixed(out.fixed_mut(width)?, data, points);
    Ok(points.len())
}

pub(super) fn decode_bits(
    data: &[u8],
    num_values: usize,
    range: Range<usize>,
    out: &mut Values,
) -> Result<usize> {
    check_bits(data, num_values)?;
    out.bits_mut()?.append_packed_range(range.clone(), data);
    Ok(range.len())
}

pub(super) fn decode_bit_points(
    data: &[u8],
    num_values: usize,
    points: &[u32],
    out: &mut Values,
) -> Result<usize> {
    check_bits(data, num_values)?;
    let out = out.bits_mut()?;
    for &point in points {
        out.append(pennon_codec::bits::get(data, point as usize));
    }
    Ok(points.len())
}

/// Appends `count` values of `width` bytes, value i at `rows[i * stride + at..]`.
pub(super) fn decode_strided(
    rows: &[u8],
    stride: usize,
    at: usize,
    count: usize,
    width: usize,
    out: &mut FixedValues,
) -> Result<()> {
    debug_assert_eq!(width % out.width, 0, "whole values");
    if !strided_fits(rows, stride, at, count, width) {
        corrupt!("{} bytes where {count} rows of {stride} bytes are expected", rows.len());
    }
    if count == 0 {
        return Ok(());
    }
    if stride == width {
        out.extend(&rows[at..at + count * width]);
        return Ok(());
    }
    fn words<const N: usize>(slots: &mut [u8], rows: &[u8], stride: usize) {
        for (slot, row) in slots.as_chunks_mut::<N>().0.iter_mut().zip(rows.chunks(stride)) {
            *slot = *row.first_chunk().expect("checked to fit");
        }
    }
    let rows = &rows[at..];
    let slots = out.grow_unset(count * (width / out.width));
    match width {
        1 => words::<1>(slots, rows, stride),
        2 => words::<2>(slots, rows, stride),
        4 => words::<4>(slots, rows, stride),
        8 => words::<8>(slots, rows, stride),
        16 => words::<16>(slots, rows, stride),
        _ => {
            for (slot, row) in slots.chunks_exact_mut(width).zip(rows.chunks(stride)) {
                slot.copy_from_slice(&row[..width]);
            }
        }
    }
    Ok(())
}

/// Appends `count` bits, bit i being whether byte `rows[i * stride + at]` is not 0.
pub(super) fn decode_strided_bits(
    rows: &[u8],
    stride: usize,
    at: usize,
    count: usize,
    out: &mut BooleanBufferBuilder,
) -> Result<()> {
    if !strided_fits(rows, stride, at, count, 1) {
        corrupt!("{} bytes where {count} rows of {stride} bytes are expected", rows.len());
    }
    for i in 0..count {
        out.append(rows[i * stride + at] != 0);
    }
    Ok(())
}

/// Whether `count` values of `width` bytes, `stride` apart from `at` on, lie inside `rows`.
pub(super) fn strided_fits(rows: &[u8], stride: usize, at: usize, count: usize, width: usize) -> bool {
    let Some(last) = count.checked_sub(1) else { return true };
    let end = last.checked_mul(stride).and_then(|o| o.checked_add(at)).and_then(|o| o.checked_add(width));
    stride >= width && end.is_some_and(|end| end <= rows.len())
}

pub(super) fn encode(width: usize, values: &Values, range: Range<usize>) -> Result<Vec<u8>> {
    Ok(values.fixed_bytes(width)?[range.start * width..range.end * width].to_vec())
}

pub(super) fn encode_bits(values: &Values, range: Range<usize>) -> Result<Vec<u8>> {
    let mut out = Vec::with_capacity(range.len().div_ceil(8));
    pennon_codec::bits::copy(values.bits()?.as_slice(), range.start, range.len(), &mut out);
    Ok(out)
}
