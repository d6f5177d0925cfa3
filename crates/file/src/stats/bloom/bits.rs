//! The bits of one filter: a split block bloom filter, as Parquet has it.
//!
//! ```text
//! hash   32 bits: which block                  32 bits: times eight odd numbers, 5 bits of each
//! block  ├── u32 ──┼── u32 ──┼ … eight words, in each of them one bit
//! ```
//!
//! Filters have 2^n blocks. One of half as many is made by joining neighbours, one of twice as many by repeating each: a hash's block
//! among half as many is half its number.

use twox_hash::XxHash64;

use crate::stats::Value;

/// Bytes of a block.
pub(super) const BLOCK_BYTES: usize = 32;
/// Filters of more blocks than two to this are not made.
pub(super) const MAX_LOG2: u32 = 12;
/// Different values for each block, on which filters are sized: ten bits for each value, which is wrong once in a hundred times.
const VALUES_PER_BLOCK: f64 = 25.6;

const ODD: [u32; 8] =
    [0x47b6_137b, 0x4497_4d91, 0x8824_ad5b, 0xa2b7_289d, 0x7054_95c7, 0x2df1_424b, 0x9efc_4947, 0x5c6b_fb31];

/// What stands for a value in filters; `None` for values that no filter is asked for.
pub(crate) fn hash_of(value: &Value) -> Option<u64> {
    Some(match value {
        Value::Bool(_) => return None,
        Value::Int(value) => hash_of_int(*value),
        Value::Wide(value) => hash_of_bytes(&value.to_le_bytes()),
        Value::Float(value) => return hash_of_float(*value),
        Value::Bytes(bytes) => hash_of_bytes(bytes),
    })
}

pub(super) fn hash_of_int(value: i128) -> u64 {
    hash_of_bytes(&value.to_le_bytes())
}

/// Zeros of either sign are the same value; NaN is equal to nothing.
pub(super) fn hash_of_float(value: f64) -> Option<u64> {
    (!value.is_nan()).then(|| hash_of_bytes(&(value + 0.0).to_le_bytes()))
}

pub(super) fn hash_of_bytes(bytes: &[u8]) -> u64 {
    XxHash64::oneshot(0, bytes)
}

/// The block of a hash among two to the power of `log2`.
pub(super) fn block_of(hash: u64, log2: u32) -> u32 {
    (u64::from((hash >> 32) as u32) << log2 >> 32) as u32
}

/// The bits of a hash in its block.
fn mask(hash: u64) -> [u32; 8] {
    ODD.map(|odd| 1 << ((hash as u32).wrapping_mul(odd) >> 27))
}

/// Whether a block has all bits of a hash.
pub(super) fn has(block: &[u8; BLOCK_BYTES], hash: u64) -> bool {
    let words = block.as_chunks::<4>().0;
    words.iter().zip(mask(hash)).all(|(word, bit)| u32::from_le_bytes(*word) & bit != 0)
}

/// A filter on its way.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Bits {
    pub(super) log2: u32,
    /// Two to the power of `log2`.
    blocks: Vec<[u32; 8]>,
}

impl Bits {
    pub(super) fn new(log2: u32) -> Self {
        Self { log2, blocks: vec![[0; 8]; 1 << log2] }
    }

    /// Sized for so many hashes, of which none is there twice.
    pub(super) fn of(hashes: &[u64]) -> Self {
        let blocks = hashes.len() as f64 / VALUES_PER_BLOCK;
        let mut bits = Self::new((blocks.max(1.0).log2().round() as u32).min(MAX_LOG2));
        hashes.iter().for_each(|hash| bits.insert(*hash));
        bits
    }

    pub(super) fn insert(&mut self, hash: u64) {
        let block = &mut self.blocks[block_of(hash, self.log2) as usize];
        block.iter_mut().zip(mask(hash)).for_each(|(word, bit)| *word |= bit);
    }

    pub(super) fn byte_size(&self) -> usize {
        self.blocks.len() * BLOCK_BYTES
    }

    /// What a filter of two to the power of `log2` blocks has in one of them.
    pub(super) fn block(&self, block: usize, log2: u32) -> [u32; 8] {
        if log2 >= self.log2 {
            return self.blocks[block >> (log2 - self.log2)];
        }
        let joined = 1 << (self.log2 - log2);
        let mut all = [0; 8];
        for one in &self.blocks[block * joined..(block + 1) * joined] {
            all.iter_mut().zip(one).for_each(|(word, bits)| *word |= bits);
        }
        all
    }

    /// The same in another number of blocks.
    pub(super) fn resized(&self, log2: u32) -> Self {
        Self { log2, blocks: (0..1 << log2).map(|block| self.block(block, log2)).collect() }
    }

    /// Has what either has.
    pub(super) fn united(&self, other: &Self) -> Self {
        let log2 = self.log2.max(other.log2);
        let mut bits = self.resized(log2);
        for (at, block) in bits.blocks.iter_mut().enumerate() {
            block.iter_mut().zip(other.block(at, log2)).for_each(|(word, more)| *word |= more);
        }
        bits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn has_hash(bits: &Bits, hash: u64) -> bool {
        let mut block = [0; BLOCK_BYTES];
        for (bytes, word) in block
            .as_chunks_mut::<4>()
            .0
            .iter_mut()
            .zip(bits.block(block_of(hash, bits.log2) as usize, bits.log2))
        {
            *bytes = word.to_le_bytes();
        }
        has(&block, hash)
    }

    fn hashes(values: std::ops::Range<i128>) -> Vec<u64> {
        values.map(hash_of_int).collect()
    }

    #[test]
    fn hashes_and_bits_are_those_of_the_documentation() {
        assert_eq!(hash_of_bytes(b""), 0xEF46_DB37_51D8_E999);
        assert_eq!(hash_of(&Value::Float(-0.0)), hash_of(&Value::Float(0.0)));
        assert_eq!((hash_of(&Value::Float(f64::NAN)), hash_of(&Value::Bool(true))), (None, None));
        assert_eq!(block_of(u64::MAX, 3), 7);
        assert_eq!((block_of(1 << 63, 0), block_of(1 << 63, 1), block_of(1 << 61, 3)), (0, 1, 1));
        assert_eq!(mask(1), ODD.map(|odd| 1u32 << (odd >> 27)));
    }

    #[test]
    fn filters_of_any_size_have_what_was_put_in_and_little_else() {
        for count in [0, 1, 25, 26, 1000, 8192] {
            let inside = hashes(0..count);
            let bits = Bits::of(&inside);
            for log2 in 0..=bits.log2 + 2 {
                let resized = bits.resized(log2);
                assert!(inside.iter().all(|hash| has_hash(&resized, *hash)), "{count} values in 2^{log2}");
            }
            let other = hashes(100_000..120_000);
            let wrong = other.iter().filter(|hash| has_hash(&bits, **hash)).count() as f64 / 20_000.0;
            println!("bloom: {count} values, {} bytes, {wrong:.4} wrong", bits.byte_size());
            assert!(wrong < 0.04, "{count} values: {wrong}");
        }
    }

    #[test]
    fn united_filters_have_what_either_has() {
        let (few, many) = (hashes(0..10), hashes(1000..2000));
        let united = Bits::of(&few).united(&Bits::of(&many));
        assert_eq!(united, Bits::of(&many).united(&Bits::of(&few)));
        assert!(few.iter().chain(&many).all(|hash| has_hash(&united, *hash)));
    }
}
