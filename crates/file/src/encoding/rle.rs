//! Run lengths: run values of `width` bytes, run lengths of one.
//!
//! ```text
//! mini-block   buffer 0: run values          buffer 1: run lengths
//! block        u64: bytes of the run values | run values | run lengths
//! ```
//!
//! Runs never cross chunks. Old writers let the last runs of a chunk overshoot: the excess is dropped.

use std::ops::Range;

use pennon_codec::{Word, bytes_of, rle, words, words_mut};

use super::{Values, with_word};
use crate::Result;
use crate::error::corrupt;

/// That the runs make at least `num_values` values, so that room may be made for them.
fn check(lengths: &[u8], num_values: usize) -> Result<()> {
    let found = rle::num_values(lengths)?;
    if found < num_values {
        corrupt!("runs of {found} values where {num_values} are expected");
    }
    Ok(())
}

pub(super) fn decode(
    width: usize,
    buffers: &[&[u8]],
    num_values: usize,
    range: Range<usize>,
    out: &mut Values,
) -> Result<usize> {
    let [values, lengths] = buffers else {
        corrupt!("{} buffers of runs where 2 are expected", buffers.len())
    };
    check(lengths, num_values)?;
    let out = out.fixed_mut(width)?;
    with_word!(width, T => {
        let slots = out.grow_unset(range.len());
        match words_mut::<T>(slots) {
            Some(slots) => rle::expand(values, lengths, range.start, slots)?,
            None => {
                // Memory of Arrow is aligned; a copy serves if it ever is not.
                let mut copy = vec![T::default(); range.len()];
                rle::expand(values, lengths, range.start, &mut copy)?;
                slots.copy_from_slice(bytes_of(&copy));
            }
        }
        Ok(range.len())
    })
}

pub(super) fn decode_points(
    width: usize,
    buffers: &[&[u8]],
    num_values: usize,
    points: &[u32],
    out: &mut Values,
) -> Result<usize> {
    let [values, lengths] = buffers else {
        corrupt!("{} buffers of runs where 2 are expected", buffers.len())
    };
    check(lengths, num_values)?;
    let out = out.fixed_mut(width)?;
    with_word!(width, T => {
        let mut slots = out.grow(points.len()).chunks_exact_mut(width);
        rle::expand_points::<T>(values, lengths, points.iter().copied(), |v| {
            if let Some(slot) = slots.next() {
                slot.copy_from_slice(bytes_of(&[v]));
            }
        })?;
        Ok(points.len())
    })
}

/// Run values and run lengths of `bytes`, whole words.
pub(super) fn encode(width: usize, bytes: &[u8]) -> Result<[Vec<u8>; 2]> {
    fn typed<T: Word>(bytes: &[u8]) -> [Vec<u8>; 2] {
        let (mut values, mut lengths) = (Vec::new(), Vec::new());
        match words::<T>(bytes) {
            Some(words) => rle::encode(words, &mut values, &mut lengths),
            None => {
                let copy: Vec<T> = bytes.chunks_exact(T::BYTES).map(T::read).collect();
                rle::encode(&copy, &mut values, &mut lengths);
            }
        }
        [values, lengths]
    }
    with_word!(width, T => Ok(typed::<T>(bytes)))
}

/// Run values and run lengths in the block form.
pub(super) fn split_block(width: usize, data: &[u8]) -> Result<[&[u8]; 2]> {
    let [values, lengths] = split(data)?;
    if Some(values.len()) != lengths.len().checked_mul(width) {
        corrupt!("{} bytes of {width}-byte run values in a block of {} bytes", values.len(), data.len());
    }
    Ok([values, lengths])
}

/// Two payloads behind the size of the first.
pub(super) fn split(data: &[u8]) -> Result<[&[u8]; 2]> {
    let Some((size, rest)) = data.split_first_chunk::<8>() else {
        corrupt!("{} bytes of runs, whose size takes 8", data.len());
    };
    let size = u64::from_le_bytes(*size);
    match usize::try_from(size).ok().and_then(|size| rest.split_at_checked(size)) {
        Some((values, lengths)) => Ok([values, lengths]),
        None => corrupt!("{size} bytes of run values in a block of {} bytes", data.len()),
    }
}

/// That a block's runs make exactly `num_values`.
pub(super) fn check_exact(lengths: &[u8], num_values: usize) -> Result<()> {
    let found = rle::num_values(lengths)?;
    if found != num_values {
        corrupt!("runs of {found} values where {num_values} are expected");
    }
    Ok(())
}

pub(super) fn decode_block(width: usize, data: &[u8], num_values: usize, out: &mut Values) -> Result<()> {
    let buffers = split_block(width, data)?;
    check_exact(buffers[1], num_values)?;
    decode(width, &buffers, num_values, 0..num_values, out)?;
    Ok(())
}

pub(super) fn encode_block(width: usize, bytes: &[u8]) -> Result<Vec<u8>> {
    let [values, lengths] = encode(width, bytes)?;
    Ok([&(values.len() as u64).to_le_bytes()[..], &values, &lengths].concat())
}
