//! Run lengths whose parts are encoded themselves (2.3).
//!
//! ```text
//! mini-block   buffer 0: run values                buffer 1: run lengths of 8, 16 or 32 bits
//! block        u64: bytes of the run values | run values | run lengths
//! ```
//!
//! Either part is a block: flat, bit-packed, or flat under a general compressor. Nothing says how many runs there
//! are: a flat part tells it, and a bit-packed one has as many as the other. See docs/format/planar.md, "Runs".

use std::borrow::Cow;
use std::ops::Range;

use super::sequence::word_bits;
use super::{Encoding, Scratch, ValueType, Values, block, general};
use crate::error::corrupt;
use crate::{Limits, Result};

/// A description that was checked against the width of the values.
#[derive(Debug)]
pub(super) struct RunsCodec {
    values: Encoding,
    lengths: Encoding,
    width: usize,
    length_width: usize,
}

impl RunsCodec {
    pub(super) fn new(values: &Encoding, lengths: &Encoding, width: usize) -> Result<Self> {
        let legal = |e: &Encoding| match e {
            Encoding::Flat { .. }
            | Encoding::InlineBitpacking { .. }
            | Encoding::OutOfLineBitpacking { .. } => true,
            Encoding::General { values, .. } => matches!(**values, Encoding::Flat { .. }),
            _ => false,
        };
        if !legal(values) || !legal(lengths) {
            corrupt!("runs of {} and {}", values.describe(), lengths.describe());
        }
        let length_width = match word_bits(lengths) {
            Some(bits @ (8 | 16 | 32)) => usize::from(bits) / 8,
            _ => corrupt!("run lengths described as {}", lengths.describe()),
        };
        if word_bits(values).map(usize::from) != Some(width * 8) || !matches!(width, 1 | 2 | 4 | 8) {
            corrupt!("run values {} of a column of {width}-byte values", values.describe());
        }
        Ok(Self { values: values.clone(), lengths: lengths.clone(), width, length_width })
    }

    /// Decodes both parts.
    pub(super) fn open<'a>(
        &self,
        buffers: &[&'a [u8]],
        limits: &Limits,
        scratch: &mut Scratch,
    ) -> Result<Runs<'a>> {
        let [values, lengths] = *buffers else {
            corrupt!("{} buffers of runs where 2 are expected", buffers.len())
        };
        let values = Part::new(&self.values, values, self.width, limits, scratch)?;
        let lengths = Part::new(&self.lengths, lengths, self.length_width, limits, scratch)?;
        let Some(count) = values.count().or(lengths.count()) else {
            corrupt!(
                "runs of {} and {}: nothing tells how many",
                self.values.describe(),
                self.lengths.describe()
            );
        };
        let (values, lengths) =
            (values.words(count, limits, scratch)?, lengths.words(count, limits, scratch)?);
        Ok(Runs { values, lengths, width: self.width, length_width: self.length_width })
    }
}

/// Run values or run lengths.
enum Part<'a> {
    Words { bytes: Cow<'a, [u8]>, width: usize },
    Packed { encoding: Encoding, data: &'a [u8], width: usize },
}

impl<'a> Part<'a> {
    fn new(
        encoding: &Encoding,
        data: &'a [u8],
        width: usize,
        limits: &Limits,
        scratch: &mut Scratch,
    ) -> Result<Self> {
        Ok(match encoding {
            Encoding::Flat { .. } => Self::Words { bytes: Cow::Borrowed(data), width },
            Encoding::General { scheme, .. } => {
                let bytes = general::decompress(*scheme, data, limits.buffer_bytes, scratch)?;
                Self::Words { bytes: Cow::Owned(bytes), width }
            }
            packed => Self::Packed { encoding: packed.clone(), data, width },
        })
    }

    /// How many words there are, if these tell.
    fn count(&self) -> Option<usize> {
        match self {
            Self::Words { bytes, width } => Some(bytes.len() / width),
            Self::Packed { .. } => None,
        }
    }

    /// The bytes of `count` words.
    fn words(self, count: usize, limits: &Limits, scratch: &mut Scratch) -> Result<Cow<'a, [u8]>> {
        match self {
            Self::Words { bytes, width } => {
                if Some(bytes.len()) != count.checked_mul(width) {
                    corrupt!("{} bytes where {count} runs have {width} each", bytes.len());
                }
                Ok(bytes)
            }
            Self::Packed { encoding, data, width } => {
                let shape = ValueType::Fixed(width);
                let mut out = Values::new(&shape, 0);
                block::decode(&encoding, data, count, &shape, limits, &mut out, scratch)?;
                Ok(Cow::Owned(out.fixed_bytes(width)?.to_vec()))
            }
        }
    }
}

/// Decoded run values and run lengths, as many of each.
pub(super) struct Runs<'a> {
    values: Cow<'a, [u8]>,
    lengths: Cow<'a, [u8]>,
    width: usize,
    length_width: usize,
}

impl Runs<'_> {
    fn iter(&self) -> impl Iterator<Item = (&[u8], u64)> {
        let lengths = self.lengths.chunks_exact(self.length_width).map(|length| {
            let mut word = [0; 4];
            word[..length.len()].copy_from_slice(length);
            u64::from(u32::from_le_bytes(word))
        });
        self.values.chunks_exact(self.width).zip(lengths)
    }

    /// That the runs make at least `num_values` values, or exactly those.
    pub(super) fn check(&self, num_values: usize, exact: bool) -> Result<()> {
        if self.iter().any(|(_, length)| length == 0) {
            corrupt!("a run of no values");
        }
        // Fewer runs than bytes in memory, of 32 bits each: no overflow.
        let found: u64 = self.iter().map(|(_, length)| length).sum();
        if found < num_values as u64 || (exact && found > num_values as u64) {
            corrupt!("runs of {found} values where {num_values} are expected");
        }
        Ok(())
    }

    /// Writes the values from `start` on into all of `slots`.
    pub(super) fn fill(&self, start: usize, slots: &mut [u8]) -> Result<()> {
        match self.width {
            1 => self.fill_words::<1>(start, slots),
            2 => self.fill_words::<2>(start, slots),
            4 => self.fill_words::<4>(start, slots),
            _ => self.fill_words::<8>(start, slots),
        }
    }

    fn fill_words<const N: usize>(&self, start: usize, slots: &mut [u8]) -> Result<()> {
        let slots = slots.as_chunks_mut::<N>().0;
        let wanted = start as u64..start as u64 + slots.len() as u64;
        let mut at = 0;
        for (value, length) in self.iter() {
            if at >= wanted.end {
                break;
            }
            let run = at.max(wanted.start)..(at + length).min(wanted.end);
            if run.start < run.end
                && let Some(value) = value.first_chunk::<N>()
            {
                slots[(run.start - wanted.start) as usize..(run.end - wanted.start) as usize].fill(*value);
            }
            at += length;
        }
        if at < wanted.end {
            corrupt!("runs of {at} values where {} are expected", wanted.end);
        }
        Ok(())
    }

    /// Calls `each` with the bytes of the values at `points`, which do not fall.
    pub(super) fn points(&self, points: &[u32], mut each: impl FnMut(&[u8])) -> Result<()> {
        let mut runs = self.iter();
        let (mut value, mut end): (&[u8], u64) = (&[], 0);
        for point in points {
            while end <= u64::from(*point) {
                let Some((next, length)) = runs.next() else {
                    corrupt!("runs of {end} values, of which number {point} is wanted");
                };
                (value, end) = (next, end + length);
            }
            each(value);
        }
        Ok(())
    }
}

/// Mini-block form: appends values `range` of a chunk.
pub(super) fn decode(
    codec: &RunsCodec,
    buffers: &[&[u8]],
    num_values: usize,
    range: Range<usize>,
    max_bytes: u64,
    out: &mut Values,
    scratch: &mut Scratch,
) -> Result<usize> {
    let out = out.fixed_mut(codec.width)?;
    let runs = codec.open(buffers, &limits(max_bytes), scratch)?;
    runs.check(num_values, false)?;
    runs.fill(range.start, out.grow(range.len()))?;
    Ok(range.len())
}

/// Mini-block form: appends the values at `points`.
pub(super) fn decode_points(
    codec: &RunsCodec,
    buffers: &[&[u8]],
    num_values: usize,
    points: &[u32],
    max_bytes: u64,
    out: &mut Values,
    scratch: &mut Scratch,
) -> Result<usize> {
    let out = out.fixed_mut(codec.width)?;
    let runs = codec.open(buffers, &limits(max_bytes), scratch)?;
    runs.check(num_values, false)?;
    let width = codec.width;
    let mut slots = out.grow(points.len()).chunks_exact_mut(width);
    runs.points(points, |value| {
        if let Some(slot) = slots.next() {
            slot.copy_from_slice(value);
        }
    })?;
    Ok(points.len())
}

/// What chunk readers keep of the limits.
pub(super) fn limits(max_bytes: u64) -> Limits {
    Limits { buffer_bytes: max_bytes, ..Limits::default() }
}
