//! A fast hash for counting distinct values; it decides sizes, never what is stored, so nobody gains
//! from making it collide except a slower writer.

use std::hash::{BuildHasher, Hasher};

/// Folds eight bytes at a time by multiplication.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Fold(u64);

const ODD: u64 = 0x9E37_79B9_7F4A_7C15;

impl Fold {
    fn mix(&mut self, word: u64) {
        let wide = u128::from(self.0 ^ word) * u128::from(ODD);
        self.0 = (wide as u64) ^ (wide >> 64) as u64;
    }
}

impl Hasher for Fold {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        let (words, tail) = bytes.as_chunks::<8>();
        words.iter().for_each(|w| self.mix(u64::from_le_bytes(*w).wrapping_add(ODD)));
        if !tail.is_empty() {
            let mut word = [0; 8];
            word[..tail.len()].copy_from_slice(tail);
            self.mix(u64::from_le_bytes(word) ^ ODD);
        }
        self.mix(bytes.len() as u64);
    }

    fn write_usize(&mut self, _: usize) {
        // The length of a slice; `write` mixes it in.
    }
}

impl BuildHasher for Fold {
    type Hasher = Self;

    fn build_hasher(&self) -> Self {
        Self(0x51_7C_C1_B7_27_22_0A_95)
    }
}
