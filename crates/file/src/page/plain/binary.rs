//! Values of varying length inside a plain page.
//!
//! ```text
//! "x", null, "yz"     indices 1 | 1 + 4 | 3     bytes x y z     adjustment 4: nulls are what is not below it
//! ```
//!
//! Bound on reads: where the values end (one index more than there are rows, to know where the first begins), then
//! exactly their bytes; compressed bytes whole. See docs/format/plain.md, "Binary".

use std::ops::Range;

use arrow_buffer::BooleanBuffer;

use super::super::leaf_data::Validity;
use super::PlainEncoding;
use super::arrays::{Access, FixedArray};
use crate::Result;
use crate::encoding::{FsstCodec, Values, VariableValues};
use crate::error::corrupt;

/// Values of any length.
pub(super) struct BinaryArray {
    indices: FixedArray,
    bytes: FixedArray,
    null_adjustment: u64,
}

/// Where the values of some rows are.
struct Bounds {
    /// Among the bytes of the page, one more than there are rows.
    ends: Vec<u64>,
    /// Set where there is a value; `None` if there is one everywhere.
    valid: Option<BooleanBuffer>,
}

impl BinaryArray {
    pub(super) fn new(encoding: &PlainEncoding) -> Result<Self> {
        let PlainEncoding::Binary { indices, bytes, null_adjustment } = encoding else {
            corrupt!("{} where strings are expected", encoding.describe());
        };
        Ok(Self {
            indices: FixedArray::new(indices, 8)?,
            bytes: FixedArray::new(bytes, 1)?,
            null_adjustment: *null_adjustment,
        })
    }

    /// Rows whose indices tell where `rows` are.
    fn index_rows(rows: &Range<u64>) -> Range<u64> {
        rows.start.saturating_sub(1)..rows.end
    }

    pub(super) fn want(
        &self,
        rows: &Range<u64>,
        access: &Access<'_>,
        needs: &mut Vec<Range<u64>>,
    ) -> Result<()> {
        let before = needs.len();
        self.indices.want(&Self::index_rows(rows), access, needs)?;
        if self.bytes.is_compressed() {
            // All of them whatever the indices say.
            return self.bytes.want(&(0..1), access, needs);
        }
        if needs.len() > before {
            return Ok(());
        }
        let end = |row: u64| -> Result<u64> {
            let index = self.indices.words(&(row..row + 1), access)?;
            Ok(index.first().map_or(0, |v| self.end_of(*v)))
        };
        let start = if rows.start == 0 { 0 } else { end(rows.start - 1)? };
        let end = if rows.end == 0 { 0 } else { end(rows.end - 1)? };
        if start > end {
            corrupt!("the ends of values fall from {start} to {end}");
        }
        self.bytes.want(&(start..end), access, needs)
    }

    fn is_null(&self, index: u64) -> bool {
        index >= self.null_adjustment
    }

    fn end_of(&self, index: u64) -> u64 {
        if self.is_null(index) { index - self.null_adjustment } else { index }
    }

    fn bounds(&self, rows: &Range<u64>, access: &Access<'_>) -> Result<Bounds> {
        let indices = self.indices.words(&Self::index_rows(rows), access)?;
        let (first, indices) = match (rows.start, indices.split_first()) {
            (0, _) => (0, indices.as_slice()),
            (_, Some((before, indices))) => (self.end_of(*before), indices),
            (_, None) => corrupt!("no indices where some are expected"),
        };
        let mut ends = Vec::with_capacity(indices.len() + 1);
        ends.push(first);
        let mut any_null = false;
        let mut last = first;
        for index in indices {
            any_null |= self.is_null(*index);
            let end = self.end_of(*index);
            if end < last {
                corrupt!("the ends of values fall from {last} to {end}");
            }
            ends.push(end);
            last = end;
        }
        let valid =
            any_null.then(|| BooleanBuffer::collect_bool(indices.len(), |i| !self.is_null(indices[i])));
        Ok(Bounds { ends, valid })
    }

    pub(super) fn append(
        &self,
        rows: &Range<u64>,
        access: &Access<'_>,
        codec: Option<&FsstCodec>,
        out: &mut Values,
        valid: &mut Validity,
    ) -> Result<usize> {
        let Bounds { ends, valid: not_null } = self.bounds(rows, access)?;
        let (first, last) = (ends[0], ends[ends.len() - 1]);
        let data = self.bytes.read(&(first..last), access)?;
        // What a null hides is no text, perhaps.
        let hides = not_null
            .as_ref()
            .is_some_and(|v| ends.windows(2).enumerate().any(|(i, end)| end[0] < end[1] && !v.value(i)));
        let done = if codec.is_some() || hides {
            let is_valid = |i: usize| not_null.as_ref().is_none_or(|v| v.value(i));
            let ranges = ends.windows(2).enumerate().map(|(i, end)| {
                let start = (end[0] - first) as usize;
                if is_valid(i) { start..(end[1] - first) as usize } else { start..start }
            });
            let ranges: Vec<Range<usize>> = ranges.collect();
            match codec {
                Some(codec) => codec.decode_ranges(&data, &ranges, out, &mut access.scratch.borrow_mut())?,
                None => push_ranges(out, &data, &ranges)?,
            }
        } else {
            let ends: Vec<i64> = ends.iter().map(|end| (end - first) as i64).collect();
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
