//! Variable values whose offsets are a sequence beside them (2.3).
//!
//! ```text
//! mini-block   offsets, if they have a payload | bytes        n + 1 offsets, from 0 to the number of bytes
//! ```
//!
//! The values wanted are put together as the ordinary form has them, in memory, and read from there. See
//! docs/format/planar.md, "Detached offsets".

use std::ops::Range;

use super::sequence::{Sequence, has_payload};
use super::{Encoding, Values, block, runs::limits, variable};
use crate::Result;
use crate::error::corrupt;

/// Where offsets come from.
#[derive(Debug)]
pub(super) struct DetachedCodec {
    offsets: Encoding,
    wide: bool,
}

/// The offsets and the bytes of a chunk.
struct Parts<'a> {
    offsets: Sequence,
    bytes: &'a [u8],
}

impl DetachedCodec {
    pub(super) fn new(offsets: &Encoding, wide: bool) -> Self {
        Self { offsets: offsets.clone(), wide }
    }

    pub(super) fn num_buffers(&self) -> usize {
        1 + usize::from(has_payload(&self.offsets))
    }

    fn parts<'a>(&self, buffers: &[&'a [u8]], num_values: usize, max_bytes: u64) -> Result<Parts<'a>> {
        let (payload, bytes): (&[u8], &[u8]) = match (buffers, has_payload(&self.offsets)) {
            ([payload, bytes], true) => (payload, bytes),
            ([bytes], false) => (&[], bytes),
            _ => corrupt!("{} buffers of values and offsets", buffers.len()),
        };
        let len = num_values as u64 + 1;
        let bits = if self.wide { 64 } else { 32 };
        let offsets = Sequence::decode(&self.offsets, payload, len, bits, &limits(max_bytes))?;
        let (first, last) = (offsets.get(0), offsets.get(num_values as u64));
        if first != 0 || last != bytes.len() as u64 {
            corrupt!("offsets from {first} to {last} over {} bytes", bytes.len());
        }
        Ok(Parts { offsets, bytes })
    }

    pub(super) fn decode(
        &self,
        buffers: &[&[u8]],
        num_values: usize,
        range: Range<usize>,
        max_bytes: u64,
        out: &mut Values,
    ) -> Result<usize> {
        let Parts { offsets, bytes } = self.parts(buffers, num_values, max_bytes)?;
        // Offsets may follow a rule: the number of values alone must not ask for memory.
        block::admit_bytes(range.len(), 16, max_bytes)?;
        let (start, end) = (offsets.get(range.start as u64), offsets.get(range.end as u64));
        let Some(part) = bytes.get(start as usize..end as usize) else {
            corrupt!("values at {start}..{end} of {} bytes", bytes.len());
        };
        let mut bounds = Vec::with_capacity(range.len() + 1);
        let mut before = start;
        for i in range.start..=range.end {
            let offset = offsets.get(i as u64);
            if offset < before || offset > end {
                corrupt!("offset {i} is {offset}, between {before} and {end}");
            }
            bounds.push((offset - start) as usize);
            before = offset;
        }
        let count = range.len();
        let joined = variable::emit(self.wide, bounds.into_iter(), part)?;
        variable::decode(self.wide, &joined, count, 0..count, out)
    }

    pub(super) fn decode_points(
        &self,
        buffers: &[&[u8]],
        num_values: usize,
        points: &[u32],
        max_bytes: u64,
        out: &mut Values,
    ) -> Result<usize> {
        let Parts { offsets, bytes } = self.parts(buffers, num_values, max_bytes)?;
        for (done, point) in points.iter().enumerate() {
            let at = u64::from(*point);
            let (start, end) = (offsets.get(at), offsets.get(at + 1));
            let Some(value) = bytes.get(start as usize..end as usize) else {
                corrupt!("value {at} at {start}..{end} of {} bytes", bytes.len());
            };
            if !variable::push(value, out)? {
                return Ok(done);
            }
        }
        Ok(points.len())
    }
}
