//! Eight codes in a row, none of them an escape: where most of the time of decompressing goes.
//!
//! ```text
//! one by one   a store of 8 bytes for each code, which the next one overwrites beyond the symbol
//! in pairs     a b . . . . . .  c d e . . . . .     both symbols in a register of 16 bytes
//!              a b c d e . . .  . . . . . . . .     moved together, and stored at once
//! ```
//!
//! Stores that overlap are slow; pairs take half of them, and 0.7 ns a code in place of 1.7 (Zen 3).

use super::Codes;

/// A way to decompress eight codes.
pub(super) trait Eight {
    /// Writes what the eight `codes`, first the lowest byte, stand for to `start + position` and on, and notes where each begins.
    /// Returns where the last ends.
    ///
    /// # Safety
    /// There must be room for 64 bytes at `start + position`, and the processor must have what this way needs.
    unsafe fn put(codes: u64, table: &Codes, start: *mut u8, position: usize, noted: &mut [u16; 8]) -> usize;
}

/// On any processor.
pub(super) struct OneByOne;

impl Eight for OneByOne {
    #[inline(always)]
    unsafe fn put(codes: u64, table: &Codes, start: *mut u8, position: usize, noted: &mut [u16; 8]) -> usize {
        // Codes are shifted out of one register: as bytes of memory they take eight.
        let (mut rest, mut position) = (codes, position);
        for noted in noted {
            let code = usize::from(rest as u8);
            rest >>= 8;
            *noted = position as u16;
            // SAFETY: of eight symbols of at most 8 bytes each one begins at least 8 bytes before the end of the room.
            unsafe { start.add(position).cast::<u64>().write_unaligned(table.symbols[code]) };
            position += usize::from(table.lengths[code]);
        }
        position
    }
}

/// On processors with SSSE3.
#[cfg(target_arch = "x86_64")]
pub(super) struct Pairs;

/// For each length of a first symbol where the bytes of both come from; the second stands at byte 8.
#[cfg(target_arch = "x86_64")]
const TOGETHER: [[u8; 16]; 9] = {
    let mut all = [[0x80; 16]; 9];
    let mut len = 0;
    while len <= 8 {
        let mut at = 0;
        while at < len + 8 {
            all[len][at] = if at < len { at } else { at - len + 8 } as u8;
            at += 1;
        }
        len += 1;
    }
    all
};

#[cfg(target_arch = "x86_64")]
impl Eight for Pairs {
    #[inline(always)]
    unsafe fn put(codes: u64, table: &Codes, start: *mut u8, position: usize, noted: &mut [u16; 8]) -> usize {
        use std::arch::x86_64::{_mm_loadu_si128, _mm_set_epi64x, _mm_shuffle_epi8, _mm_storeu_si128};
        let (mut rest, mut position) = (codes, position);
        for noted in noted.as_chunks_mut::<2>().0 {
            let (first, second) = (usize::from(rest as u8), usize::from((rest >> 8) as u8));
            rest >>= 16;
            let len = usize::from(table.lengths[first]);
            *noted = [position as u16, (position + len) as u16];
            // SAFETY: the caller says that there is SSSE3. Of eight symbols of at most 8 bytes each the first of a pair begins at least 16
            // bytes before the end of the room; a row of `TOGETHER` has 16 bytes.
            unsafe {
                let both = _mm_set_epi64x(table.symbols[second] as i64, table.symbols[first] as i64);
                let together = _mm_shuffle_epi8(both, _mm_loadu_si128(TOGETHER[len].as_ptr().cast()));
                _mm_storeu_si128(start.add(position).cast(), together);
            }
            position += len + usize::from(table.lengths[second]);
        }
        position
    }
}

#[cfg(test)]
mod tests {
    #[cfg(target_arch = "x86_64")]
    #[test]
    fn pairs_are_what_one_by_one_makes() {
        use super::*;
        if !is_x86_feature_detected!("ssse3") {
            return;
        }
        let mut table = Codes::none();
        for code in 0..256 {
            table.symbols[code] = (code as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            table.lengths[code] = (code % 8 + 1) as u8;
        }
        let mut codes = 1u64;
        for _ in 0..10_000 {
            codes = codes.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(99);
            let (mut a, mut b) = ([0u8; 80], [0u8; 80]);
            let (mut noted_a, mut noted_b) = ([0; 8], [0; 8]);
            // SAFETY: there are 64 bytes behind byte 9, and SSSE3.
            let (end_a, end_b) = unsafe {
                (
                    OneByOne::put(codes, &table, a.as_mut_ptr(), 9, &mut noted_a),
                    Pairs::put(codes, &table, b.as_mut_ptr(), 9, &mut noted_b),
                )
            };
            assert_eq!((end_a, noted_a, &a[..end_a]), (end_b, noted_b, &b[..end_b]));
        }
    }
}
