//! Variable: offsets and bytes. w is 4 or 8, the width of Arrow's offsets.
//!
//! ```text
//! mini-block   n + 1 offsets of w bytes, from the buffer's start | bytes | 0x48 up to a multiple of w
//! block        w: bits per offset | w: where the bytes begin | n + 1 offsets from 0 | bytes
//!   old        u8: bits per offset | w: n | w: where the bytes begin | n + 1 offsets from 0 | bytes
//! per-value    the bytes; the page says how many
//! ```

use std::ops::Range;

use super::values::{Offset, with_variable};
use super::{Scratch, Values, VariableValues};
use crate::error::corrupt;
use crate::{Error, Result};

/// Fills a mini-block buffer up to whole offsets.
const PADDING: u8 = 0x48;

fn width(wide: bool) -> usize {
    if wide { 8 } else { 4 }
}

/// An offset as it is stored.
fn number<const W: usize>(offset: &[u8; W]) -> u64 {
    let mut word = [0; 8];
    word[..W].copy_from_slice(offset);
    u64::from_le_bytes(word)
}

/// The stored offsets of a mini-block buffer, all `num_values + 1`, with only their place checked.
fn table<const W: usize>(data: &[u8], num_values: usize) -> Result<&[[u8; W]]> {
    let bytes = num_values.checked_add(1).and_then(|n| n.checked_mul(W));
    let Some(table) = bytes.and_then(|b| data.get(..b)) else {
        corrupt!("{} bytes where offsets of {num_values} values of any length are expected", data.len());
    };
    if !data.len().is_multiple_of(W) {
        corrupt!("{} bytes of offsets and values, not a multiple of {W}", data.len());
    }
    let table = table.as_chunks::<W>().0;
    let first = number(&table[0]);
    if first < bytes.unwrap_or(usize::MAX) as u64 {
        corrupt!("first offset {first} inside the offsets, which take {} bytes", table.len() * W);
    }
    Ok(table)
}

/// That `offsets` do not fall and end within `data`.
fn check<const W: usize>(offsets: &[[u8; W]], data: &[u8]) -> Result<()> {
    // Folding instead of leaving early lets the comparison run on vectors.
    let falls = offsets.iter().zip(&offsets[1..]).fold(false, |f, (a, b)| f | (number(a) > number(b)));
    let end = offsets.last().map_or(0, number);
    if falls || end > data.len() as u64 {
        let fall = offsets.windows(2).position(|w| number(&w[0]) > number(&w[1]));
        match fall {
            Some(i) => {
                corrupt!("offset {} falls from {} to {}", i + 1, number(&offsets[i]), number(&offsets[i + 1]))
            }
            None => corrupt!("offset {end} past the end at {}", data.len()),
        }
    }
    Ok(())
}

/// Appends the values between `offsets` until they no longer fit.
fn append<const W: usize, O: Offset>(
    offsets: &[[u8; W]],
    data: &[u8],
    out: &mut VariableValues<O>,
) -> Result<usize> {
    let Some((first, rest)) = offsets.split_first() else { return Ok(0) };
    check(offsets, data)?;
    // After `check` every offset is inside `data` and so fits `usize`.
    let start = number(first) as usize;
    let total = rest.last().map_or(0, |end| number(end) as usize - start);
    let base = out.data.len();
    let count = if base.saturating_add(total) <= out.limit {
        rest.len()
    } else {
        let room = out.limit.saturating_sub(base);
        let fit = rest.partition_point(|o| number(o) as usize - start <= room);
        if fit == 0 && out.fits(number(&rest[0]) as usize - start) { 1 } else { fit }
    };
    if count > 0 {
        out.data.extend_from_slice(&data[start..number(&rest[count - 1]) as usize]);
        out.offsets.extend(rest[..count].iter().map(|o| O::from_usize(base + (number(o) as usize - start))));
    }
    Ok(count)
}

pub(super) fn decode(
    wide: bool,
    data: &[u8],
    num_values: usize,
    range: Range<usize>,
    out: &mut Values,
) -> Result<usize> {
    fn typed<const W: usize>(data: &[u8], n: usize, range: Range<usize>, out: &mut Values) -> Result<usize> {
        let table = table::<W>(data, n)?;
        with_variable!(out, v => append(&table[range.start..=range.end], data, v))
    }
    if wide { typed::<8>(data, num_values, range, out) } else { typed::<4>(data, num_values, range, out) }
}

pub(super) fn decode_points(
    wide: bool,
    data: &[u8],
    num_values: usize,
    points: &[u32],
    out: &mut Values,
) -> Result<usize> {
    fn typed<const W: usize, O: Offset>(
        data: &[u8],
        n: usize,
        points: &[u32],
        out: &mut VariableValues<O>,
    ) -> Result<usize> {
        let table = table::<W>(data, n)?;
        out.offsets.reserve(points.len());
        for (done, &point) in points.iter().enumerate() {
            if !out.push(value_at(table, data, point as usize)?) {
                return Ok(done);
            }
        }
        Ok(points.len())
    }
    with_variable!(out, v => {
        if wide { typed::<8, _>(data, num_values, points, v) } else { typed::<4, _>(data, num_values, points, v) }
    })
}

/// The bytes of one value.
fn value_at<'a, const W: usize>(table: &[[u8; W]], data: &'a [u8], index: usize) -> Result<&'a [u8]> {
    let (start, end) = (number(&table[index]), number(&table[index + 1]));
    let least = (table.len() * W) as u64;
    match data.get(start as usize..end as usize) {
        Some(value) if start >= least => Ok(value),
        _ => corrupt!("value {index} at {start}..{end}, not within {least}..{}", data.len()),
    }
}

/// The bytes of one value of a mini-block buffer.
pub(super) fn value(wide: bool, data: &[u8], num_values: usize, index: usize) -> Result<&[u8]> {
    if wide {
        value_at(table::<8>(data, num_values)?, data, index)
    } else {
        value_at(table::<4>(data, num_values)?, data, index)
    }
}

/// Checks the offsets of `range` and leaves them, as they are stored, in `bounds`.
pub(super) fn read_bounds(
    wide: bool,
    data: &[u8],
    num_values: usize,
    range: Range<usize>,
    bounds: &mut Vec<u32>,
) -> Result<()> {
    fn typed<const W: usize>(
        data: &[u8],
        n: usize,
        range: Range<usize>,
        bounds: &mut Vec<u32>,
    ) -> Result<()> {
        let offsets = &table::<W>(data, n)?[range.start..=range.end];
        check(offsets, data)?;
        bounds.clear();
        bounds.extend(offsets.iter().map(|o| number(o) as u32));
        Ok(())
    }
    if u32::try_from(data.len()).is_err() {
        return Err(Error::unsupported(format!("a chunk of {} bytes of compressed strings", data.len())));
    }
    if wide {
        typed::<8>(data, num_values, range, bounds)
    } else {
        typed::<4>(data, num_values, range, bounds)
    }
}

/// The mini-block buffer of `range`.
pub(super) fn encode(wide: bool, values: &Values, range: Range<usize>) -> Result<Vec<u8>> {
    fn typed<O: Offset>(wide: bool, v: &VariableValues<O>, range: Range<usize>) -> Result<Vec<u8>> {
        let offsets = &v.offsets[range.start..=range.end];
        let (start, end) = (offsets[0].to_usize(), offsets[range.len()].to_usize());
        emit(wide, offsets.iter().map(|o| o.to_usize() - start), &v.data[start..end])
    }
    with_variable!(values, v => typed(wide, v, range))
}

/// A mini-block buffer of `bytes` cut by `offsets`, the first of which is 0.
pub(super) fn emit(
    wide: bool,
    offsets: impl ExactSizeIterator<Item = usize>,
    bytes: &[u8],
) -> Result<Vec<u8>> {
    let w = width(wide);
    let base = offsets.len() * w;
    let total = (base + bytes.len()).next_multiple_of(w);
    let mut out = Vec::with_capacity(total);
    put_offsets(wide, offsets.map(|o| base + o), base + bytes.len(), &mut out)?;
    out.extend_from_slice(bytes);
    out.resize(total, PADDING);
    Ok(out)
}

fn put_offsets(
    wide: bool,
    offsets: impl Iterator<Item = usize>,
    last: usize,
    out: &mut Vec<u8>,
) -> Result<()> {
    if wide {
        offsets.for_each(|o| out.extend_from_slice(&(o as u64).to_le_bytes()));
    } else if u32::try_from(last).is_ok() {
        offsets.for_each(|o| out.extend_from_slice(&(o as u32).to_le_bytes()));
    } else {
        return Err(Error::invalid(format!("{last} bytes of values do not fit 32-bit offsets")));
    }
    Ok(())
}

/// Decodes the block form.
pub(super) fn decode_block(wide: bool, data: &[u8], num_values: usize, out: &mut Values) -> Result<()> {
    fn typed<const W: usize>(data: &[u8], num_values: usize, out: &mut Values) -> Result<()> {
        let short = || Error::corrupt(format!("{} bytes of a block of {num_values} values", data.len()));
        let field =
            |at: usize| data.get(at..).and_then(|d| d.first_chunk::<W>()).map(number).ok_or_else(short);
        // The older header begins with one byte where the newer has zeros behind it.
        let old = data.get(1..4).ok_or_else(short)?.iter().any(|b| *b != 0);
        let (bits, header, bytes_at) = if old {
            let n = field(1)?;
            if n != num_values as u64 {
                corrupt!("block of {n} values where {num_values} are expected");
            }
            (u64::from(data[0]), 1 + 2 * W, field(1 + W)?)
        } else {
            (field(0)?, 2 * W, field(W)?)
        };
        if bits != W as u64 * 8 {
            corrupt!("offsets of {bits} bits where {} are expected", W * 8);
        }
        let expected =
            num_values.checked_add(1).and_then(|n| n.checked_mul(W)).and_then(|n| n.checked_add(header));
        let expected = expected.ok_or_else(short)?;
        if bytes_at != expected as u64 {
            corrupt!("values at {bytes_at} of a block where {expected} is expected");
        }
        let table = data.get(header..expected).ok_or_else(short)?.as_chunks::<W>().0;
        let bytes = &data[expected..];
        let (first, last) = (number(&table[0]), number(&table[num_values]));
        if first != 0 || last != bytes.len() as u64 {
            corrupt!("offsets from {first} to {last} over {} bytes", bytes.len());
        }
        let done = with_variable!(out, v => append(table, bytes, v))?;
        if done != num_values {
            return Err(Error::limit(format!("{} bytes of values in one block", bytes.len())));
        }
        Ok(())
    }
    if wide { typed::<8>(data, num_values, out) } else { typed::<4>(data, num_values, out) }
}

/// Encodes the block form.
pub(super) fn encode_block(wide: bool, values: &Values) -> Result<Vec<u8>> {
    fn typed<O: Offset>(wide: bool, v: &VariableValues<O>) -> Result<Vec<u8>> {
        let w = width(wide);
        let bytes_at = (2 + v.offsets.len()) * w;
        let mut out = Vec::with_capacity(bytes_at + v.data.len());
        put_offsets(wide, [w * 8, bytes_at].into_iter(), bytes_at, &mut out)?;
        put_offsets(wide, v.offsets.iter().map(|o| o.to_usize()), v.data.len(), &mut out)?;
        out.extend_from_slice(&v.data);
        Ok(out)
    }
    with_variable!(values, v => typed(wide, v))
}

/// Per-value form: appends `data[r]` for each range.
pub(super) fn append_ranges(data: &[u8], ranges: &[Range<usize>], out: &mut Values) -> Result<usize> {
    fn typed<O: Offset>(data: &[u8], ranges: &[Range<usize>], out: &mut VariableValues<O>) -> Result<usize> {
        out.offsets.reserve(ranges.len());
        for (done, range) in ranges.iter().enumerate() {
            if !out.push(slice(data, range)?) {
                return Ok(done);
            }
        }
        Ok(ranges.len())
    }
    with_variable!(out, v => typed(data, ranges, v))
}

/// `data[range]`, or an error.
pub(super) fn slice<'a>(data: &'a [u8], range: &Range<usize>) -> Result<&'a [u8]> {
    match data.get(range.clone()) {
        Some(value) => Ok(value),
        None => corrupt!("value at {}..{} of {} bytes", range.start, range.end, data.len()),
    }
}

/// Appends one value to `out`, or says that it does not fit.
pub(super) fn push(value: &[u8], out: &mut Values) -> Result<bool> {
    with_variable!(out, v => Ok(v.push(value)))
}

/// Appends the decompressed strings that `fill` leaves in the data of `out`, as far as the byte limit
/// admits. `fill` notes in `ends` where each ends.
pub(super) fn append_filled(
    out: &mut Values,
    scratch: &mut Scratch,
    fill: impl FnOnce(&mut Vec<u8>, &mut Vec<usize>, &[u32]) -> Result<()>,
) -> Result<usize> {
    fn typed<O: Offset>(
        out: &mut VariableValues<O>,
        scratch: &mut Scratch,
        fill: impl FnOnce(&mut Vec<u8>, &mut Vec<usize>, &[u32]) -> Result<()>,
    ) -> Result<usize> {
        let base = out.data.len();
        scratch.ends.clear();
        let filled = fill(out.data.vector(), &mut scratch.ends, &scratch.bounds);
        if filled.is_err() {
            out.data.truncate(base);
        }
        filled?;
        let ends = &scratch.ends;
        let mut count = match ends.last() {
            Some(last) if *last > out.limit => ends.partition_point(|e| *e <= out.limit),
            _ => ends.len(),
        };
        if count == 0 && out.offsets.len() == 1 && ends.first().is_some_and(|e| *e <= O::MAX) {
            count = 1;
        }
        out.data.truncate(if count == 0 { base } else { ends[count - 1] });
        out.offsets.extend(ends[..count].iter().map(|e| O::from_usize(*e)));
        Ok(count)
    }
    with_variable!(out, v => typed(v, scratch, fill))
}
