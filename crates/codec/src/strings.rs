//! Gathering short byte strings, as dictionaries of them need it.
//!
//! ```text
//! data      h o r s e | a | s t a p l e …       bounds of value i: from offset i to offset i + 1
//! indices   2 | 0 | 2 | 1
//! out       s t a p l e | h o r s e | s t a p l e | a
//! ```
//!
//! Most strings are short, and a copy of 16 bytes whatever the length is several times faster than one of
//! just the length: what it writes too much is overwritten by the next value.

#![allow(unsafe_code)] // Sixteen-byte copies into reserved memory.

use crate::CodecError;

/// Bytes that are copied at once.
const WIDE: usize = 16;
/// Bytes of strings that are so few.
const FEW: usize = 240;

/// Appends values of `data` and hands where each ends in `out` to `note`. `bounds` tells start and end of
/// the values in order, `total` the sum of their lengths.
pub fn gather(
    data: &[u8],
    bounds: impl Iterator<Item = (usize, usize)>,
    total: usize,
    out: &mut Vec<u8>,
    mut note: impl FnMut(usize),
) -> Result<(), CodecError> {
    // A handful of short strings, as flags are, gets room behind it: none is too near to the end for a wide copy then.
    let mut padded = [0; FEW + WIDE];
    let bytes = match padded.get_mut(..data.len()).filter(|_| data.len() <= FEW) {
        Some(room) => {
            room.copy_from_slice(data);
            &padded[..]
        }
        None => data,
    };
    out.reserve(total + WIDE);
    let base = out.len();
    let mut at = 0;
    for (start, end) in bounds {
        // Both subtractions wrap into numbers that the comparisons refuse.
        let len = end.wrapping_sub(start);
        if end > data.len() || start > end || len > total - at {
            return Err(CodecError::new(format!(
                "value at {start}..{end} of {} bytes, {} of {total} bytes left",
                data.len(),
                total - at
            )));
        }
        if len <= WIDE && bytes.len() - start >= WIDE {
            // SAFETY: `bytes`, which begin with `data`, have 16 bytes from `start` on, and `out` has `total + 16` bytes reserved behind
            // `base`, of which at most `total` were advanced over.
            unsafe {
                let from = bytes.as_ptr().add(start).cast::<[u8; WIDE]>();
                let to = out.as_mut_ptr().add(base + at).cast::<[u8; WIDE]>();
                to.write_unaligned(from.read_unaligned());
            }
        } else {
            // SAFETY: `start..end` was checked to lie in `data`, and `at + len` not to pass `total`, which
            // was reserved behind `base`. `data` is not `out`: one is borrowed shared, the other not.
            unsafe {
                let to = out.as_mut_ptr().add(base + at);
                std::ptr::copy_nonoverlapping(data.as_ptr().add(start), to, len);
            }
        }
        at += len;
        note(base + at);
    }
    // SAFETY: the first `at` bytes behind `base` were written above.
    unsafe { out.set_len(base + at) };
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn bounds_outside_the_data_or_above_the_total_are_errors() {
        let mut out = vec![1];
        for (bounds, total) in [((0, 5), 5), ((3, 2), 5), ((usize::MAX, 0), 5), ((0, 4), 3)] {
            assert!(gather(b"abcd", [bounds].into_iter(), total, &mut out, |_| ()).is_err());
            assert_eq!(out, [1]);
        }
        gather(b"abcd", [(1, 3), (4, 4), (0, 4)].into_iter(), 6, &mut out, |_| ()).unwrap();
        assert_eq!(out, b"\x01bcabcd");
    }

    proptest! {
        #[test]
        fn gathered_values_stand_in_the_order_of_their_indices(
            values in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 1..20),
            picks in prop::collection::vec(any::<prop::sample::Index>(), 0..50),
        ) {
            let data = values.concat();
            let ends: Vec<usize> = values.iter().scan(0, |at, v| { *at += v.len(); Some(*at) }).collect();
            let picks: Vec<usize> = picks.iter().map(|p| p.index(values.len())).collect();
            let want: Vec<u8> = picks.iter().flat_map(|p| values[*p].clone()).collect();
            let (mut out, mut noted) = (Vec::new(), Vec::new());
            let bounds = picks.iter().map(|p| (ends[*p] - values[*p].len(), ends[*p]));
            gather(&data, bounds, want.len(), &mut out, |end| noted.push(end)).unwrap();
            prop_assert_eq!(out, want);
            let mut at = 0;
            for (p, end) in picks.iter().zip(noted) {
                at += values[*p].len();
                prop_assert_eq!(at, end);
            }
        }
    }
}
