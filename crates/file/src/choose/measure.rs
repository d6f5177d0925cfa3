//! Figures of a page's values that decide how they are stored.
//!
//! Counted exactly in one pass where that is cheap (bits of packed groups, runs, lengths), from samples where it is not (whether
//! bytes compress, what rows side by side take).

use super::tuning::Tuning;
use super::values::{FSST_TABLE_BYTES, GROUP, width_of, zip_width};
use crate::Result;
use crate::encoding::{ChunkWriter, Encoding, FixedValues, Scheme, ValueWriter, Values};
use crate::page::ZipWidth;
use crate::page::mini_block::runs;

/// Values encoded to see what all take in full-zip pages.
const ZIP_SAMPLES: usize = 512;
/// Pieces of a page's bytes, and bytes of each, that tell whether they compress.
const COMPRESS_PIECES: usize = 4;
const COMPRESS_PIECE: usize = 16 << 10;

/// Bytes of the largest value.
pub(super) fn largest_value(values: &Values) -> usize {
    match values {
        Values::Null(_) => 0,
        Values::Bits(_) => 1,
        Values::Fixed(v) => v.width,
        Values::Variable(v) => v.offsets.windows(2).map(|w| (w[1] - w[0]) as usize).max().unwrap_or(0),
        Values::LargeVariable(v) => v.offsets.windows(2).map(|w| (w[1] - w[0]) as usize).max().unwrap_or(0),
        Values::List(v) => match &*v.items {
            Values::Bits(_) => v.dimension.div_ceil(8),
            items => largest_value(items).saturating_mul(v.dimension),
        },
        Values::Struct { fields, .. } => fields.iter().map(largest_value).sum(),
    }
}

/// Bytes of all strings.
pub(super) fn string_bytes(values: &Values) -> usize {
    match values {
        Values::Variable(v) => v.data.len(),
        Values::LargeVariable(v) => v.data.len(),
        _ => 0,
    }
}

/// Bytes of an encoding's description beyond a few: a symbol table.
pub(super) fn description_bytes(encoding: &Encoding) -> usize {
    match encoding {
        Encoding::Fsst { .. } => FSST_TABLE_BYTES,
        Encoding::General { values, .. } => description_bytes(values),
        _ => 0,
    }
}

/// Bytes of all values in chunks, where they follow from a count; padding and headers aside.
pub(super) fn exact_bytes(values: &Values, encoding: &Encoding) -> Option<usize> {
    match (values, encoding) {
        (Values::Fixed(v), Encoding::Flat { .. }) => Some(v.bytes().len()),
        (Values::Fixed(v), Encoding::InlineBitpacking { .. }) => Some(packed_bytes(v.bytes(), v.width)),
        (Values::Fixed(v), Encoding::Rle { .. }) => Some(runs(v.bytes(), v.width) * (v.width + 1)),
        (Values::Bits(v), Encoding::Flat { .. }) => Some(v.len().div_ceil(8)),
        _ => None,
    }
}

/// Mean bytes of a value.
pub(super) fn mean_bytes(values: &Values) -> usize {
    values.byte_size() / values.len().max(1)
}

/// Bytes of a full-zip page, its control words aside; `None` where its rows have no such form.
pub(super) fn zipped_bytes(values: &Values, encoding: &Encoding) -> Option<usize> {
    let width = match width_of(encoding, zip_width(values).ok()?) {
        ZipWidth::Value(bits) => return Some(values.len() * (bits / 8) as usize),
        ZipWidth::Length(bits) => bits as usize / 8,
    };
    let total = string_bytes(values);
    let step = (values.len() / ZIP_SAMPLES).max(1);
    let mut writer = ValueWriter::new(encoding, &values.shape()).ok()?;
    let (mut before, mut after) = (0usize, Vec::new());
    for index in (0..values.len()).step_by(step) {
        before += values.bytes_at(index)?.len();
        writer.encode(values, index, &mut after).ok()?;
    }
    let bytes = (total as u128 * after.len() as u128 / before.max(1) as u128) as usize;
    let offset = match bytes + values.len() * width {
        0..=0xFF => 1,
        0x100..=0xFFFF => 2,
        0x1_0000..=0xFFFF_FFFF => 4,
        _ => 8,
    };
    let table = if matches!(encoding, Encoding::Fsst { .. }) { FSST_TABLE_BYTES } else { 0 };
    Some(bytes + table + values.len() * (width + offset))
}

/// Whether zstd finds anything in some of the bytes: media and random numbers are not worth more looks.
pub(super) fn may_compress(values: &Values, always: bool) -> Result<bool> {
    let bytes = match values {
        Values::Fixed(v) => v.bytes(),
        Values::Variable(v) => &v.data,
        Values::LargeVariable(v) => &v.data,
        Values::List(v) => return may_compress(&v.items, always),
        _ => return Ok(true),
    };
    if always || bytes.len() < COMPRESS_PIECES * COMPRESS_PIECE {
        return Ok(true);
    }
    let mut some = FixedValues::new(1, COMPRESS_PIECES * COMPRESS_PIECE);
    for i in 0..COMPRESS_PIECES {
        let at = (bytes.len() - COMPRESS_PIECE) / (COMPRESS_PIECES - 1) * i / 8 * 8;
        some.extend(&bytes[at..at + COMPRESS_PIECE]);
    }
    let mut some = Values::Fixed(some);
    if let (Values::Fixed(v), Values::Fixed(pieces)) = (values, &some)
        && matches!(v.width, 4 | 8)
    {
        // Numbers compress a byte at a time.
        let mut words = FixedValues::new(v.width, 0);
        words.extend(pieces.bytes());
        let split = Encoding::ByteStreamSplit { bits: v.width as u8 * 8 };
        let words = Values::Fixed(words);
        let mut split = ChunkWriter::new(&split, &words.shape())?.encode(&words, 0..words.len())?;
        let mut streams = FixedValues::new(1, 0);
        streams.extend(&split.swap_remove(0));
        some = Values::Fixed(streams);
    }
    let zstd = Encoding::General {
        scheme: Scheme::Zstd,
        level: Some(1),
        values: Box::new(Encoding::Flat { bits: 8 }),
    };
    let compressed = crate::encoding::encode_block(&zstd, &some)?.len();
    Ok(compressed < some.byte_size() / 100 * 95)
}

/// Bytes of words under inline bit packing.
pub(super) fn packed_bytes(bytes: &[u8], width: usize) -> usize {
    fn sum<const N: usize>(bytes: &[u8], bits: impl Fn(&[[u8; N]]) -> u32) -> usize {
        let groups = bytes.as_chunks::<N>().0.chunks(GROUP);
        groups.map(|group| N + GROUP / 8 * bits(group) as usize).sum()
    }
    macro_rules! bits {
        ($T:ty) => {
            |group| {
                let all = group.iter().fold(0, |all, word| all | <$T>::from_le_bytes(*word));
                <$T>::BITS - all.leading_zeros()
            }
        };
    }
    match width {
        1 => sum::<1>(bytes, bits!(u8)),
        2 => sum::<2>(bytes, bits!(u16)),
        4 => sum::<4>(bytes, bits!(u32)),
        _ => sum::<8>(bytes, bits!(u64)),
    }
}

/// Bits of a byte, over a sample.
#[derive(Debug, Clone, Copy)]
pub(super) struct ByteEntropy {
    /// In the mean over the places of a word, each by itself.
    pub(super) planes: f64,
    /// Of all bytes together, as one table of codes for them has it.
    pub(super) together: f64,
}

/// Entropy of the bytes of words.
pub(super) fn byte_entropy(bytes: &[u8], width: usize) -> ByteEntropy {
    let values = bytes.len() / width;
    let step = (values / 4096).max(1);
    let mut counts = vec![[0u32; 256]; width];
    let mut seen = 0u32;
    for value in (0..values).step_by(step) {
        for (plane, byte) in counts.iter_mut().zip(&bytes[value * width..]) {
            plane[*byte as usize] += 1;
        }
        seen += 1;
    }
    let entropy = |plane: &[u32; 256], of: u32| -> f64 {
        let shares = plane.iter().filter(|c| **c > 0).map(|c| f64::from(*c) / f64::from(of));
        shares.map(|share| -share * share.log2()).sum()
    };
    let mut all = [0u32; 256];
    counts.iter().flat_map(|plane| plane.iter().enumerate()).for_each(|(byte, count)| all[byte] += count);
    ByteEntropy {
        planes: counts.iter().map(|plane| entropy(plane, seen)).sum::<f64>() / width.max(1) as f64,
        together: entropy(&all, seen * width as u32),
    }
}

/// Whether run lengths are allowed and take fewer bytes than the values.
pub(super) fn may_have_run_lengths(values: &FixedValues, tuning: &Tuning) -> bool {
    let runs = runs(values.bytes(), values.width);
    let few = tuning.rle_threshold.is_none_or(|t| (runs as f64) < t * values.len() as f64);
    few && runs * (values.width + 1) < values.bytes().len()
}

pub(super) fn widest_bits(bytes: &[u8], width: usize) -> u8 {
    let mut word = [0u8; 8];
    for value in bytes.chunks_exact(width) {
        value.iter().zip(&mut word).for_each(|(b, w)| *w |= b);
    }
    (u64::BITS - u64::from_le_bytes(word).leading_zeros()) as u8
}
