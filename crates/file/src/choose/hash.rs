//! A fast hash for counting distinct values; it decides sizes, never what is stored, so nobody gains
//! from making it collide except a slower writer.

const ODD: u64 = 0x9E37_79B9_7F4A_7C15;

/// Folds a word in by multiplication.
pub(super) fn mix(state: u64, word: u64) -> u64 {
    let wide = u128::from(state ^ word ^ ODD) * u128::from(ODD);
    (wide as u64) ^ (wide >> 64) as u64
}

/// The hash of some bytes and their length, eight bytes at a time.
pub(super) fn of_bytes(bytes: &[u8]) -> u64 {
    let (words, tail) = bytes.as_chunks::<8>();
    let mut state = mix(0, bytes.len() as u64);
    for word in words {
        state = mix(state, u64::from_le_bytes(*word));
    }
    if tail.is_empty() {
        return state;
    }
    // The last word over again, or the few bytes there are.
    let last = match bytes.last_chunk::<8>() {
        Some(word) => u64::from_le_bytes(*word),
        None => tail.iter().fold(0, |word, byte| word << 8 | u64::from(*byte)),
    };
    mix(state, last)
}
