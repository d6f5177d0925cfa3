//! Byte stream split: floats whose bytes compress better apart.
//!
//! ```text
//! mini-block   n bytes number 0 | n bytes number 1 | …      exactly n × 4 or n × 8 bytes
//! ```

use std::ops::Range;

use pennon_codec::byte_stream_split as kernel;

use super::{Values, flat};
use crate::Result;

pub(super) fn decode(
    width: usize,
    data: &[u8],
    num_values: usize,
    range: Range<usize>,
    out: &mut Values,
) -> Result<usize> {
    flat::check(width, data, num_values)?;
    let slots = out.fixed_mut(width)?.grow_unset(range.len());
    if width == 4 {
        kernel::join::<4>(data, num_values, range.start, slots.as_chunks_mut().0)?;
    } else {
        kernel::join::<8>(data, num_values, range.start, slots.as_chunks_mut().0)?;
    }
    Ok(range.len())
}

pub(super) fn decode_points(
    width: usize,
    data: &[u8],
    num_values: usize,
    points: &[u32],
    out: &mut Values,
) -> Result<usize> {
    flat::check(width, data, num_values)?;
    let slots = out.fixed_mut(width)?.grow_unset(points.len());
    for (slot, &point) in slots.chunks_exact_mut(width).zip(points) {
        if width == 4 {
            slot.copy_from_slice(&kernel::join_one::<4>(data, num_values, point as usize)?);
        } else {
            slot.copy_from_slice(&kernel::join_one::<8>(data, num_values, point as usize)?);
        }
    }
    Ok(points.len())
}

pub(super) fn encode(width: usize, values: &Values, range: Range<usize>) -> Result<Vec<u8>> {
    let bytes = &values.fixed_bytes(width)?[range.start * width..range.end * width];
    let mut out = Vec::new();
    if width == 4 {
        kernel::split::<4>(bytes.as_chunks().0, &mut out);
    } else {
        kernel::split::<8>(bytes.as_chunks().0, &mut out);
    }
    Ok(out)
}
