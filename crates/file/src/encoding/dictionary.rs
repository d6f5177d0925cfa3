//! The dictionary of a page: indices into values that stand once.
//!
//! ```text
//! dictionary   d0 | d1 | d2        decoded from its block
//! indices      1 | 1 | 0 | 2 …      unsigned, 1, 2, 4 or 8 bytes, decoded from the chunk
//! values       d1 | d1 | d0 | d2 …
//! ```

use std::ops::Range;

use pennon_codec::{Word, words};

use super::{Values, with_word};
use crate::error::corrupt;
use crate::{Error, Result};

/// Indices that are checked and looked up at once.
const BLOCK: usize = 1024;
/// As many indices are looked up without the cost of a whole block.
const FEW: usize = 16;

/// Appends the values of `dictionary` at `indices[range]`; says how many went in before a byte limit was
/// met.
pub(crate) fn append_dictionary(
    indices: &Values,
    range: Range<usize>,
    dictionary: &Values,
    out: &mut Values,
) -> Result<usize> {
    let Values::Fixed(fixed) = indices else {
        corrupt!("dictionary indices of shape {:?}", indices.shape());
    };
    if range.start > range.end || range.end > fixed.len() {
        return Err(Error::invalid(format!("indices {range:?} of {}", fixed.len())));
    }
    let bytes = &fixed.bytes()[range.start * fixed.width..range.end * fixed.width];
    if fixed.width == 4
        && let Some(words) = words::<u32>(bytes)
    {
        // The usual width needs no copy, neither of many nor of few.
        let largest = words.iter().fold(0, |a, b| a.max(*b));
        if !words.is_empty() && largest as usize >= dictionary.len() {
            corrupt!("index {largest} into a dictionary of {} values", dictionary.len());
        }
        out.gather(dictionary, words)
    } else if range.len() <= FEW {
        with_word!(fixed.width, T => look_up::<T, FEW>(bytes, dictionary, out))
    } else {
        with_word!(fixed.width, T => look_up::<T, BLOCK>(bytes, dictionary, out))
    }
}

/// Looks indices up `N` at a time: `N` is small where a take wants a value or two of each chunk.
fn look_up<T: Word, const N: usize>(bytes: &[u8], dictionary: &Values, out: &mut Values) -> Result<usize> {
    let mut done = 0;
    let mut block = [0u32; N];
    for words in bytes.chunks(N * T::BYTES) {
        let count = words.len() / T::BYTES;
        let block = &mut block[..count];
        let mut high = 0;
        for (slot, word) in block.iter_mut().zip(words.chunks_exact(T::BYTES)) {
            let index = T::read(word).widen();
            high |= index >> 32;
            *slot = index as u32;
        }
        let largest = block.iter().fold(0, |a, b| a.max(*b));
        if high != 0 || largest as usize >= dictionary.len() {
            corrupt!(
                "index {} into a dictionary of {} values",
                high << 32 | u64::from(largest),
                dictionary.len()
            );
        }
        let taken = out.gather(dictionary, block)?;
        done += taken;
        if taken < count {
            break;
        }
    }
    Ok(done)
}
