//! Words: the unsigned integers that kernels work on, and views of bytes as words.
//!
//! ```text
//! bytes   0a 00 00 00 | 0b 00 00 00 | …       little-endian
//! words   10u32       | 11u32       | …       the same memory, where it is aligned
//! ```

#![allow(unsafe_code)] // Typed views of byte slices; each checks alignment and length.

use fastlanes::BitPacking;

mod sealed {
    pub trait Sealed {}
    impl Sealed for u8 {}
    impl Sealed for u16 {}
    impl Sealed for u32 {}
    impl Sealed for u64 {}
}

/// An unsigned integer of 1, 2, 4 or 8 bytes.
pub trait Word: sealed::Sealed + BitPacking + Copy + Ord + Default + std::fmt::Debug + 'static {
    /// Bytes of one word.
    const BYTES: usize;
    /// Bits of one word.
    const BITS: usize = Self::BYTES * 8;
    /// The word in the first bytes of `bytes`, of which there must be enough.
    fn read(bytes: &[u8]) -> Self;
    /// Widened.
    fn widen(self) -> u64;
    /// The low bits of `value`.
    fn narrow(value: u64) -> Self;
}

macro_rules! word {
    ($($t:ty),*) => {$(
        impl Word for $t {
            const BYTES: usize = size_of::<$t>();
            #[inline]
            fn read(bytes: &[u8]) -> Self {
                let mut word = [0; size_of::<$t>()];
                word.copy_from_slice(&bytes[..size_of::<$t>()]);
                Self::from_le_bytes(word)
            }
            #[inline]
            fn widen(self) -> u64 {
                u64::from(self)
            }
            #[inline]
            fn narrow(value: u64) -> Self {
                value as Self
            }
        }
    )*};
}
word!(u8, u16, u32, u64);

/// `bytes` as whole words, or nothing if they are not aligned or not whole.
#[inline]
pub fn words<T: Word>(bytes: &[u8]) -> Option<&[T]> {
    // SAFETY: every bit pattern is a `Word`, and `align_to` yields only aligned, whole words.
    let (before, words, after) = unsafe { bytes.align_to::<T>() };
    (before.is_empty() && after.is_empty()).then_some(words)
}

/// `bytes` as whole words to write, or nothing if they are not aligned or not whole.
#[inline]
pub fn words_mut<T: Word>(bytes: &mut [u8]) -> Option<&mut [T]> {
    // SAFETY: every bit pattern is a `Word` and a `Word` has no padding, so writing through the
    // view leaves initialised bytes; `align_to_mut` yields only aligned, whole words.
    let (before, words, after) = unsafe { bytes.align_to_mut::<T>() };
    (before.is_empty() && after.is_empty()).then_some(words)
}

/// The bytes of words.
#[inline]
pub fn bytes_of<T: Word>(words: &[T]) -> &[u8] {
    // SAFETY: words have no padding, and bytes need no alignment.
    unsafe { std::slice::from_raw_parts(words.as_ptr().cast(), size_of_val(words)) }
}

/// The bytes of words, to write.
#[inline]
pub fn bytes_of_mut<T: Word>(words: &mut [T]) -> &mut [u8] {
    // SAFETY: words have no padding and take any bit pattern; bytes need no alignment.
    unsafe { std::slice::from_raw_parts_mut(words.as_mut_ptr().cast(), size_of_val(words)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn views_exist_only_of_aligned_whole_words() {
        let store = [0x0403_0201u32, 0x0807_0605];
        let bytes = bytes_of(&store);
        assert_eq!(bytes, [1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(words::<u32>(bytes), Some(&store[..]));
        assert_eq!(words::<u32>(&bytes[1..5]), None);
        assert_eq!(words::<u32>(&bytes[..6]), None);
        assert_eq!(words::<u8>(&bytes[1..5]), Some(&[2u8, 3, 4, 5][..]));
        assert_eq!(words::<u64>(&bytes[..0]).map(<[u64]>::len), Some(0));
    }

    #[test]
    fn words_are_written_through_their_bytes() {
        let mut store = [0u16; 2];
        bytes_of_mut(&mut store).copy_from_slice(&[1, 2, 3, 4]);
        assert_eq!(store, [0x0201, 0x0403]);
        words_mut::<u16>(bytes_of_mut(&mut store)).expect("aligned")[1] = 7;
        assert_eq!(store, [0x0201, 7]);
        assert_eq!(<u16 as Word>::read(&[5, 1, 9]), 0x0105);
    }
}
