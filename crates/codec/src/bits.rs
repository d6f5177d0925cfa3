//! Levels and bitmaps, 64 at a time.
//!
//! ```text
//! bitmap   bit i is bit i % 8 of byte i / 8, lowest first; words are little-endian u64s
//! levels   u16 each; a value is there when its definition level is at most a threshold
//! ```

use crate::CodecError;
use crate::bitpack::GROUP;

/// Bit i says whether level i is at most `threshold`.
#[inline]
#[must_use]
pub fn at_most_word(levels: &[u16; 64], threshold: u16) -> u64 {
    // Bytes of 0 or 1 first, which vectorises; eight of them fold into a byte by one multiplication.
    let flags: [u8; 64] = std::array::from_fn(|i| u8::from(levels[i] <= threshold));
    let mut word = 0;
    for (i, eight) in flags.as_chunks::<8>().0.iter().enumerate() {
        let folded = u64::from_le_bytes(*eight).wrapping_mul(0x0102_0408_1020_4080) >> 56;
        word |= folded << (i * 8);
    }
    word
}

/// Appends words whose bit i says whether level i is at most `threshold`; says how many are.
///
/// The last word is filled up with zeros.
pub fn at_most(levels: &[u16], threshold: u16, out: &mut Vec<u64>) -> usize {
    out.reserve(levels.len().div_ceil(64));
    let mut count = 0;
    let (blocks, rest) = levels.as_chunks::<64>();
    for block in blocks {
        let word = at_most_word(block, threshold);
        count += word.count_ones() as usize;
        out.push(word);
    }
    if !rest.is_empty() {
        let mut block = [u16::MAX; 64];
        block[..rest.len()].copy_from_slice(rest);
        let word = at_most_word(&block, threshold) & (u64::MAX >> (64 - rest.len()));
        count += word.count_ones() as usize;
        out.push(word);
    }
    count
}

/// Number of levels that are at most `threshold`.
#[must_use]
pub fn count_at_most(levels: &[u16], threshold: u16) -> usize {
    levels.iter().map(|l| usize::from(*l <= threshold)).sum()
}

/// Turns 1024 one-bit levels, bit-packed as 16-bit words (see [`bitpack`](crate::bitpack)), into a
/// bitmap in value order. Bit i is level i: for definition levels a *null*.
pub fn unpack_bits(packed: &[u8], out: &mut [u64; GROUP / 64]) -> Result<(), CodecError> {
    let Ok(packed) = <&[u8; GROUP / 8]>::try_from(packed) else {
        return Err(CodecError::new(format!(
            "{} bytes of one-bit levels where {} are expected",
            packed.len(),
            GROUP / 8
        )));
    };
    // Bit r of word j is value (r % 8) * 128 + r / 8 * 64 + j: row r of the 64 lanes is one output word.
    // Eight lanes at a time are two 8 x 8 bit matrices, rows 0..8 and 8..16, to transpose.
    *out = [0; GROUP / 64];
    let (lanes, _) = packed.as_chunks::<16>();
    for (g, eight) in lanes.iter().enumerate() {
        for half in 0..2 {
            let columns: [u8; 8] = std::array::from_fn(|lane| eight[lane * 2 + half]);
            let rows = transpose(u64::from_le_bytes(columns)).to_le_bytes();
            for (r, row) in rows.into_iter().enumerate() {
                out[r * 2 + half] |= u64::from(row) << (g * 8);
            }
        }
    }
    Ok(())
}

/// Transposes an 8 x 8 bit matrix whose row r is byte r.
fn transpose(mut x: u64) -> u64 {
    let mut swap = |shift: u32, mask: u64| {
        let t = (x ^ (x >> shift)) & mask;
        x ^= t ^ (t << shift);
    };
    swap(7, 0x00AA_00AA_00AA_00AA);
    swap(14, 0x0000_CCCC_0000_CCCC);
    swap(28, 0x0000_0000_F0F0_F0F0);
    x
}

/// Bit `index` of a bitmap that must have it.
#[inline]
#[must_use]
pub fn get(bitmap: &[u8], index: usize) -> bool {
    bitmap[index / 8] >> (index % 8) & 1 == 1
}

/// Appends `len` bits of `bitmap` from `start` on as a bitmap that begins at bit 0, the last byte filled
/// up with zeros.
///
/// # Panics
/// If `bitmap` has fewer than `start + len` bits.
pub fn copy(bitmap: &[u8], start: usize, len: usize, out: &mut Vec<u8>) {
    if len == 0 {
        return;
    }
    let bytes = &bitmap[start / 8..(start + len).div_ceil(8)];
    let shift = start % 8;
    let first = out.len();
    if shift == 0 {
        out.extend_from_slice(bytes);
    } else {
        let next = bytes.iter().skip(1).chain(std::iter::once(&0));
        out.extend(bytes.iter().zip(next).map(|(a, b)| a >> shift | b << (8 - shift)));
    }
    out.truncate(first + len.div_ceil(8));
    if !len.is_multiple_of(8)
        && let Some(last) = out.last_mut()
    {
        *last &= 0xFF >> (8 - len % 8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn one_bit_levels_come_out_in_value_order() {
        let mut state = 12_345u32;
        let levels: [u16; GROUP] = std::array::from_fn(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 31) as u16
        });
        let mut packed = Vec::new();
        crate::bitpack::pack(1, &levels, &mut packed);
        let mut bits = [0; 16];
        unpack_bits(&packed, &mut bits).unwrap();
        for (i, level) in levels.iter().enumerate() {
            assert_eq!(bits[i / 64] >> (i % 64) & 1, u64::from(*level), "value {i}");
        }
        assert!(unpack_bits(&packed[1..], &mut bits).is_err());
    }

    proptest! {
        #[test]
        fn bits_of_levels_are_their_comparisons(levels in prop::collection::vec(0u16..5, 0..300), threshold in 0u16..5) {
            let mut words = Vec::new();
            let count = at_most(&levels, threshold, &mut words);
            prop_assert_eq!(words.len(), levels.len().div_ceil(64));
            prop_assert_eq!(count, count_at_most(&levels, threshold));
            for i in 0..words.len() * 64 {
                let want = levels.get(i).is_some_and(|l| *l <= threshold);
                prop_assert_eq!(words[i / 64] >> (i % 64) & 1 == 1, want);
            }
        }

        #[test]
        fn copied_bits_begin_at_bit_zero(bytes in prop::collection::vec(any::<u8>(), 0..20), a in any::<prop::sample::Index>(), b in any::<prop::sample::Index>()) {
            let bits = bytes.len() * 8;
            let (a, b) = (a.index(bits + 1), b.index(bits + 1));
            let (start, end) = (a.min(b), a.max(b));
            let mut out = vec![0xAB];
            copy(&bytes, start, end - start, &mut out);
            prop_assert_eq!(out.len(), 1 + (end - start).div_ceil(8));
            for i in 0..(out.len() - 1) * 8 {
                prop_assert_eq!(get(&out[1..], i), start + i < end && get(&bytes, start + i));
            }
        }
    }
}
