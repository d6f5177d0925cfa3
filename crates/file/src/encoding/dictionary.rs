//! The dictionary of a page: indices into values that stand once, encodings-2.1-2.2.md §6.4.
//!
//! ```text
//! dictionary   d0 | d1 | d2        decoded from its block
//! indices      1 | 1 | 0 | 2 …      unsigned, 1, 2, 4 or 8 bytes, decoded from the chunk
//! values       d1 | d1 | d0 | d2 …
//! ```

use std::ops::Range;

use pennon_codec::Word;

use super::{Values, with_word};
use crate::error::corrupt;
use crate::{Error, Result};

/// Indices that are checked and looked up at once.
const BLOCK: usize = 1024;

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
    with_word!(fixed.width, T => look_up::<T>(bytes, dictionary, out))
}

fn look_up<T: Word>(bytes: &[u8], dictionary: &Values, out: &mut Values) -> Result<usize> {
    let mut done = 0;
    let mut block = [0u32; BLOCK];
    for words in bytes.chunks(BLOCK * T::BYTES) {
        let count = words.len() / T::BYTES;
        let mut largest = 0;
        for (slot, word) in block.iter_mut().zip(words.chunks_exact(T::BYTES)) {
            let index = T::read(word).widen();
            largest = largest.max(index);
            *slot = index as u32;
        }
        // An index that `u32` cut off is above the length of any dictionary, too.
        if largest >= dictionary.len() as u64 || largest > u64::from(u32::MAX) {
            corrupt!("index {largest} into a dictionary of {} values", dictionary.len());
        }
        let taken = out.gather(dictionary, &block[..count])?;
        done += taken;
        if taken < count {
            break;
        }
    }
    Ok(done)
}
