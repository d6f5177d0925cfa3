//! Values of varying length inside a plain page.
//!
//! ```text
//! "x", null, "yz"     indices 1 | 1 + 4 | 3     bytes x y z     adjustment 4: nulls are what is not below it
//! ```
//!
//! Bound on reads: where the values end (one index more than there are rows, to know where the first begins), then
//! exactly their bytes; compressed bytes whole. See docs/format/plain.md, "Binary".

use std::ops::Range;

use arrow_buffer::{BooleanBuffer, BooleanBufferBuilder};

use super::super::leaf_data::Validity;
use super::PlainEncoding;
use super::arrays::{Access, FixedArray};
use super::ends::Ends;
use crate::Result;
use crate::encoding::{FsstCodec, Values, VariableValues};
use crate::error::corrupt;

/// Values of any length.
pub(super) struct BinaryArray {
    ends: Ends,
    bytes: FixedArray,
}

/// Where the values of some rows are.
struct Bounds {
    /// Among the bytes of the page.
    bytes: Range<u64>,
    /// Counted from the first of those bytes: 0, and where each value ends.
    ends: Vec<i64>,
    /// Set where there is a value; `None` if there is one everywhere.
    valid: Option<BooleanBuffer>,
    /// A null has bytes.
    hides: bool,
}

impl BinaryArray {
    pub(super) fn new(encoding: &PlainEncoding) -> Result<Self> {
        let PlainEncoding::Binary { indices, bytes, null_adjustment } = encoding else {
            corrupt!("{} where strings are expected", encoding.describe());
        };
        Ok(Self { ends: Ends::new(indices, *null_adjustment)?, bytes: FixedArray::new(bytes, 1)? })
    }

    pub(super) fn want(
        &self,
        rows: &Range<u64>,
        access: &Access<'_>,
        needs: &mut Vec<Range<u64>>,
    ) -> Result<()> {
        let before = needs.len();
        self.ends.want(rows, access, needs)?;
        if self.bytes.is_compressed() {
            // All of them whatever the ends say.
            return self.bytes.want(&(0..1), access, needs);
        }
        if needs.len() > before {
            return Ok(());
        }
        let (start, end) = (self.ends.before(rows.start, access)?, self.ends.before(rows.end, access)?);
        if start > end {
            corrupt!("the ends of values fall from {start} to {end}");
        }
        self.bytes.want(&(start..end), access, needs)
    }

    fn bounds(&self, rows: &Range<u64>, access: &Access<'_>) -> Result<Bounds> {
        let count = (rows.end - rows.start) as usize;
        let mut ends = Vec::with_capacity(count + 1);
        let mut valid: Option<BooleanBufferBuilder> = None;
        let mut hides = false;
        let mut sum = 0;
        ends.push(0);
        let first = self.ends.each(rows, access, |value, is_null| {
            if is_null || valid.is_some() {
                let bits = valid.get_or_insert_with(|| {
                    let mut bits = BooleanBufferBuilder::new(count);
                    bits.append_n(ends.len() - 1, true);
                    bits
                });
                bits.append(!is_null);
            }
            hides |= is_null && value.start < value.end;
            sum += value.end - value.start;
            // What passes a buffer is found out when the bytes are read.
            ends.push(sum as i64);
        })?;
        Ok(Bounds { bytes: first..first + sum, ends, valid: valid.map(|bits| bits.build()), hides })
    }

    pub(super) fn append(
        &self,
        rows: &Range<u64>,
        access: &Access<'_>,
        codec: Option<&FsstCodec>,
        out: &mut Values,
        valid: &mut Validity,
    ) -> Result<usize> {
        let Bounds { bytes, ends, valid: not_null, hides } = self.bounds(rows, access)?;
        let data = self.bytes.read(&bytes, access)?;
        // What a null hides is no text, perhaps.
        let done = if codec.is_some() || hides {
            let is_valid = |i: usize| not_null.as_ref().is_none_or(|v| v.value(i));
            let ranges = ends.windows(2).enumerate().map(|(i, end)| {
                let (start, end) = (end[0] as usize, end[1] as usize);
                if is_valid(i) { start..end } else { start..start }
            });
            let ranges: Vec<Range<usize>> = ranges.collect();
            match codec {
                Some(codec) => codec.decode_ranges(&data, &ranges, out, &mut access.scratch.borrow_mut())?,
                None => push_ranges(out, &data, &ranges)?,
            }
        } else {
            extend(out, &ends, &data)?
        };
        match not_null {
            Some(bits) => valid.append_bits(bits.values(), bits.offset(), done),
            None => valid.append_n(done, true),
        }
        Ok(done)
    }
}

/// Appends the values that `ends` cut out of `data`; says how many fit.
pub(super) fn extend(out: &mut Values, ends: &[i64], data: &[u8]) -> Result<usize> {
    match out {
        Values::Variable(v) => Ok(v.extend_offsets(ends, data)),
        Values::LargeVariable(v) => Ok(v.extend_offsets(ends, data)),
        other => corrupt!("strings in a column of {:?}", other.shape()),
    }
}

/// Appends values one by one; says how many fit.
fn push_ranges(out: &mut Values, data: &[u8], ranges: &[Range<usize>]) -> Result<usize> {
    fn push<O: crate::encoding::Offset>(
        out: &mut VariableValues<O>,
        data: &[u8],
        ranges: &[Range<usize>],
    ) -> usize {
        ranges.iter().take_while(|range| out.push(&data[(*range).clone()])).count()
    }
    match out {
        Values::Variable(v) => Ok(push(v, data, ranges)),
        Values::LargeVariable(v) => Ok(push(v, data, ranges)),
        other => corrupt!("strings in a column of {:?}", other.shape()),
    }
}
