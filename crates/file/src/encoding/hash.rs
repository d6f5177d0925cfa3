//! Fast hashes for counting different values. They decide sizes and estimates, never what is stored, so nobody gains
//! from making them collide except a slower writer.

const ODD: u64 = 0x9E37_79B9_7F4A_7C15;

/// The hash of a word; different words have different ones, and every bit of a word moves all bits of its hash.
#[inline]
pub(crate) fn of_word(mut word: u64) -> u64 {
    word ^= word >> 33;
    word = word.wrapping_mul(0xFF51_AFD7_ED55_8CCD);
    word ^= word >> 33;
    word = word.wrapping_mul(0xC4CE_B9FE_1A85_EC53);
    word ^ word >> 33
}

/// The hash of two words.
#[inline]
pub(crate) fn of_pair(low: u64, high: u64) -> u64 {
    of_word(low ^ fold(high))
}

/// The hash of some bytes and their number.
#[inline]
pub(crate) fn of_bytes(bytes: &[u8]) -> u64 {
    if bytes.len() <= 8 {
        return of_short(head(bytes, 0, bytes.len()), bytes.len());
    }
    let (words, tail) = bytes.as_chunks::<8>();
    let mut state = bytes.len() as u64;
    for word in words {
        state = fold(state ^ u64::from_le_bytes(*word));
    }
    // The last eight bytes, some of them again.
    if !tail.is_empty()
        && let Some(last) = bytes.last_chunk::<8>()
    {
        state = fold(state ^ u64::from_le_bytes(*last));
    }
    of_word(state)
}

/// The hash of up to eight bytes, of which `head` is made.
#[inline]
pub(crate) fn of_short(head: u64, len: usize) -> u64 {
    of_word(head ^ (len as u64).wrapping_mul(ODD))
}

#[inline]
fn fold(word: u64) -> u64 {
    let wide = u128::from(word ^ ODD) * u128::from(ODD);
    (wide as u64) ^ (wide >> 64) as u64
}

/// The first eight bytes of `data[start..end]` as a little-endian word, zeros where there are fewer.
#[inline]
pub(crate) fn head(data: &[u8], start: usize, end: usize) -> u64 {
    let len = end.saturating_sub(start).min(8);
    if len == 0 {
        return 0;
    }
    match data.get(start..start + 8).and_then(|bytes| bytes.first_chunk::<8>()) {
        // What stands behind the bytes goes out at the top.
        Some(word) => u64::from_le_bytes(*word) & (u64::MAX >> (64 - 8 * len)),
        None => data[start..start + len].iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_hold_the_bytes_there_are() {
        let data: Vec<u8> = (1..=20).collect();
        for start in 0..=20usize {
            for end in start..=20 {
                let mut word = [0; 8];
                let len = (end - start).min(8);
                word[..len].copy_from_slice(&data[start..start + len]);
                assert_eq!(head(&data, start, end), u64::from_le_bytes(word), "{start}..{end}");
            }
        }
    }

    #[test]
    fn bytes_of_every_length_differ() {
        let zeros = [0u8; 40];
        let hashes: std::collections::BTreeSet<u64> = (0..=40).map(|len| of_bytes(&zeros[..len])).collect();
        assert_eq!(hashes.len(), 41);
        let mut one = zeros;
        for place in 0..40 {
            one[place] = 1;
            assert_ne!(of_bytes(&one), of_bytes(&zeros), "a byte at {place}");
            one[place] = 0;
        }
    }
}
