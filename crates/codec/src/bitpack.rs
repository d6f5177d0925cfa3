//! Bit packing of 1024 values in transposed ("FastLanes") order.
//!
//! With words of T bits there are `L = 1024 / T` lanes of T rows. The words of a lane, `L` apart, are one
//! little-endian bit string, in which row r takes bits `r*W .. (r+1)*W`:
//!
//! ```text
//! word k*L + j      word k of lane j, 0 <= k < W
//! row r of lane j   value ORDER[r / 8] * 16 + (r % 8) * 128 + j
//! ```
//!
//! so 1024 values take `1024*W/T` words, that is `128*W` bytes whatever T is.

#![allow(unsafe_code)] // Calls of kernels that trust their lengths.

use crate::CodecError;
use crate::word::{Word, bytes_of, bytes_of_mut, words};

/// Values in a group.
pub const GROUP: usize = 1024;

/// Which sixteenth of 128 a group of eight rows begins at; its own inverse.
const ORDER: [u8; 8] = [0, 4, 2, 6, 1, 5, 3, 7];

/// Bytes of a packed group.
#[must_use]
pub const fn packed_bytes(width: usize) -> usize {
    GROUP / 8 * width
}

/// That `packed` is a group of values of `width` bits, `T` being wide enough.
fn check<T: Word>(width: usize, packed: &[u8]) -> Result<(), CodecError> {
    if width > T::BITS {
        return Err(CodecError::new(format!("bit width {width} above the {} bits of a word", T::BITS)));
    }
    if packed.len() != packed_bytes(width) {
        return Err(CodecError::new(format!(
            "{} bytes of bit-packed values where {} are expected for width {width}",
            packed.len(),
            packed_bytes(width)
        )));
    }
    Ok(())
}

/// Unpacks a group; `packed` may have any alignment and must hold exactly [`packed_bytes`].
pub fn unpack<T: Word>(width: usize, packed: &[u8], out: &mut [T; GROUP]) -> Result<(), CodecError> {
    check::<T>(width, packed)?;
    let mut copy;
    let packed = match words::<T>(packed) {
        Some(words) => words,
        None => {
            copy = [T::default(); GROUP];
            let len = packed.len() / T::BYTES;
            bytes_of_mut(&mut copy[..len]).copy_from_slice(packed);
            &copy[..len]
        }
    };
    // SAFETY: `check` proved width <= T::BITS and `packed` to hold 1024 * width / T::BITS words; `out`
    // has 1024.
    unsafe { T::unchecked_unpack(width, packed, out) };
    Ok(())
}

/// One value of a group.
#[inline]
pub fn unpack_one<T: Word>(width: usize, packed: &[u8], index: usize) -> Result<T, CodecError> {
    check::<T>(width, packed)?;
    if index >= GROUP {
        return Err(CodecError::new(format!("value {index} of a group of {GROUP}")));
    }
    if width == 0 {
        return Ok(T::default());
    }
    let Place { lanes, lane, word, shift } = Place::of::<T>(width, index);
    let word_at = |word: usize| T::read(&packed[(word * lanes + lane) * T::BYTES..]).widen();
    let mut value = word_at(word) >> shift;
    if shift + width > T::BITS {
        value |= word_at(word + 1) << (T::BITS - shift);
    }
    Ok(T::narrow(value & (u64::MAX >> (64 - width))))
}

/// Starts to load the words that a value is in, see [`prefetch`](crate::prefetch).
#[inline]
pub fn prefetch_one<T: Word>(width: usize, packed: &[u8], index: usize) {
    let Place { lanes, lane, word, shift } = Place::of::<T>(width, index % GROUP);
    crate::prefetch(packed, (word * lanes + lane) * T::BYTES);
    if shift + width > T::BITS {
        crate::prefetch(packed, ((word + 1) * lanes + lane) * T::BYTES);
    }
}

/// Where a value is in its packed group.
struct Place {
    lanes: usize,
    lane: usize,
    /// Word of the lane that holds its lowest bit, and which bit of it that is.
    word: usize,
    shift: usize,
}

impl Place {
    /// `index` is below 1024.
    fn of<T: Word>(width: usize, index: usize) -> Self {
        let lanes = GROUP / T::BITS;
        let lane = index % lanes;
        let eight = ORDER[index % 128 / lanes * (lanes / 16)] as usize;
        let bit = (eight * 8 + index / 128) * width;
        Self { lanes, lane, word: bit / T::BITS, shift: bit % T::BITS }
    }
}

/// Appends the low `width` bits of each value, packed.
///
/// # Panics
/// If `width` is above the bits of a word.
pub fn pack<T: Word>(width: usize, values: &[T; GROUP], out: &mut Vec<u8>) {
    assert!(width <= T::BITS, "bit width {width} above the {} bits of a word", T::BITS);
    let mut packed = [T::default(); GROUP];
    let packed = &mut packed[..packed_bytes(width) / T::BYTES];
    // SAFETY: width <= T::BITS was asserted, and `packed` was cut to 1024 * width / T::BITS words.
    unsafe { T::unchecked_pack(width, values, packed) };
    out.extend_from_slice(bytes_of(packed));
}

/// Bits of the largest value.
#[must_use]
pub fn width_of<T: Word>(values: &[T]) -> usize {
    let all = values.iter().fold(0, |all, v| all | v.widen());
    64 - all.leading_zeros() as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_example_of_the_format_packs_byte_by_byte() {
        let values: [u32; GROUP] = std::array::from_fn(|i| i as u32);
        assert_eq!(width_of(&values), 10);
        let mut packed = Vec::new();
        pack(10, &values, &mut packed);
        assert_eq!(packed.len(), 1280);
        let words = [0x1002_0000u32, 0x5012_0401, 0x9022_0802, 0xd032_0c03];
        assert_eq!(packed[..16], words.map(u32::to_le_bytes).concat());

        let values: [u8; GROUP] = std::array::from_fn(|i| (i % 4) as u8);
        let mut packed = Vec::new();
        pack(2, &values, &mut packed);
        assert_eq!(packed[..6], [0x00, 0x55, 0xaa, 0xff, 0x00, 0x55]);
    }

    #[test]
    fn every_second_level_null_packs_to_one_bit_lanes() {
        let levels: [u16; GROUP] = std::array::from_fn(|i| (i % 2) as u16);
        let mut packed = Vec::new();
        pack(1, &levels, &mut packed);
        assert_eq!(packed, [0, 0, 0xff, 0xff].repeat(32));
    }

    fn every_width<T: Word>(seed: u64) {
        let mut state = seed | 1;
        for width in 0..=T::BITS {
            let values: [T; GROUP] = std::array::from_fn(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let bits = state.rotate_left(23) ^ state >> 31;
                T::narrow(if width == 0 { 0 } else { bits & (u64::MAX >> (64 - width)) })
            });
            // One byte in front makes the packed words unaligned.
            let mut packed = vec![0xEE];
            pack(width, &values, &mut packed);
            let mut out = [T::default(); GROUP];
            unpack(width, &packed[1..], &mut out).expect("just packed");
            assert_eq!(out, values, "width {width}");
            let aligned = packed[1..].to_vec();
            unpack(width, &aligned, &mut out).expect("just packed");
            assert_eq!(out, values, "width {width}");
            for (i, v) in values.iter().enumerate() {
                assert_eq!(unpack_one::<T>(width, &packed[1..], i), Ok(*v));
            }
            assert!(width_of(&values) <= width);
        }
    }

    #[test]
    fn every_width_of_every_word_comes_back_whole_and_one_by_one() {
        every_width::<u8>(1);
        every_width::<u16>(2);
        every_width::<u32>(3);
        every_width::<u64>(4);
    }

    #[test]
    fn wrong_widths_lengths_and_places_are_errors() {
        let mut out = [0u16; GROUP];
        assert!(unpack(17, &[0; 17 * 128], &mut out).is_err());
        assert!(unpack(usize::MAX, &[], &mut out).is_err());
        assert!(unpack(3, &[0; 3 * 128 - 1], &mut out).is_err());
        assert!(unpack_one::<u16>(3, &[0; 3 * 128 + 1], 0).is_err());
        assert!(unpack_one::<u16>(3, &[0; 3 * 128], GROUP).is_err());
        assert_eq!(unpack_one::<u64>(0, &[], 5), Ok(0));
    }

    proptest! {
        #[test]
        fn any_bytes_unpack_or_fail(width in 0usize..70, bytes in prop::collection::vec(any::<u8>(), 0..1200), i in 0usize..1030) {
            let mut out = [0u32; GROUP];
            let whole = unpack(width, &bytes, &mut out);
            let one = unpack_one::<u32>(width, &bytes, i);
            prop_assert_eq!(whole.is_ok() && i < GROUP, one.is_ok());
            if let Ok(one) = one {
                prop_assert_eq!(one, out[i]);
            }
        }
    }
}
