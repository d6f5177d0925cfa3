//! Values of any length: offsets and bytes, with a limit at which appending stops.
//!
//! ```text
//! offsets  0 | 3 | 3 | 8         one more than there are values
//! data     a b c d e f g h       values "abc", "", "defgh"
//! ```

use pennon_codec::strings;

use super::text::TextBytes;
use crate::Result;

/// An offset as Arrow has it: `i32` or `i64`.
pub(crate) trait Offset: Copy + Ord + Default + std::fmt::Debug + Send + Sync + 'static {
    /// The largest total of bytes.
    const MAX: usize;
    /// `value` must not pass `MAX`.
    fn from_usize(value: usize) -> Self;
    fn to_usize(self) -> usize;
}

impl Offset for i32 {
    const MAX: usize = i32::MAX as usize;
    fn from_usize(value: usize) -> Self {
        debug_assert!(value <= <Self as Offset>::MAX);
        value as i32
    }
    fn to_usize(self) -> usize {
        self as usize
    }
}

impl Offset for i64 {
    const MAX: usize = i64::MAX as usize;
    fn from_usize(value: usize) -> Self {
        value as i64
    }
    fn to_usize(self) -> usize {
        self as usize
    }
}

/// Values of any length: `offsets` has one more entry than there are values.
///
/// Decoders stop appending when `data` would pass `limit`; the caller then ends the batch.
#[derive(Debug)]
pub(crate) struct VariableValues<O> {
    pub(crate) offsets: Vec<O>,
    pub(crate) data: TextBytes,
    /// Bytes that `data` may reach before appending stops.
    pub(crate) limit: usize,
}

impl<O: Offset> VariableValues<O> {
    /// Values whose bytes go into `data`, which is empty.
    pub(super) fn with_vector(capacity: usize, data: Vec<u8>) -> Self {
        let mut offsets = Vec::with_capacity(capacity + 1);
        offsets.push(O::default());
        Self { offsets, data: TextBytes::Vector(data), limit: O::MAX }
    }

    pub(crate) fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Value `index`, which must be below `len`.
    pub(crate) fn value(&self, index: usize) -> &[u8] {
        &self.data[self.offsets[index].to_usize()..self.offsets[index + 1].to_usize()]
    }

    /// Where value `index`, which must be below `len`, begins and ends in `data`.
    pub(crate) fn bounds(&self, index: usize) -> (usize, usize) {
        (self.offsets[index].to_usize(), self.offsets[index + 1].to_usize())
    }

    /// Whether `more` bytes still fit; a first value always does, as far as offsets can count.
    pub(crate) fn fits(&self, more: usize) -> bool {
        let total = self.data.len().saturating_add(more);
        total <= self.limit || (self.offsets.len() == 1 && total <= O::MAX)
    }

    /// Appends one value and says true, or leaves all as it was and says false when it does not fit.
    pub(crate) fn push(&mut self, value: &[u8]) -> bool {
        if !self.fits(value.len()) {
            return false;
        }
        self.data.extend_from_slice(value);
        self.offsets.push(O::from_usize(self.data.len()));
        true
    }

    /// Makes a value of the bytes that were appended to `data` behind the last one, or removes them and
    /// says false when they do not fit.
    pub(crate) fn end_value(&mut self) -> bool {
        let total = self.data.len();
        if total > self.limit && !(self.offsets.len() == 1 && total <= O::MAX) {
            self.data.truncate(self.offsets.last().map_or(0, |o| o.to_usize()));
            return false;
        }
        self.offsets.push(O::from_usize(total));
        true
    }

    /// Appends values of `other` in `range` until they no longer fit; says how many went in.
    pub(crate) fn extend<P: Offset>(
        &mut self,
        other: &VariableValues<P>,
        range: std::ops::Range<usize>,
    ) -> usize {
        self.extend_offsets(&other.offsets[range.start..=range.end], &other.data)
    }

    /// Appends the values that `offsets` cut out of `data` until they no longer fit.
    ///
    /// `offsets` must not fall and must lie inside `data`.
    pub(crate) fn extend_offsets<P: Offset>(&mut self, offsets: &[P], data: &[u8]) -> usize {
        let Some((first, rest)) = offsets.split_first() else { return 0 };
        let start = first.to_usize();
        let room = self.limit.saturating_sub(self.data.len());
        let mut count = rest.partition_point(|o| o.to_usize() - start <= room);
        if count == 0 && !rest.is_empty() && self.fits(rest[0].to_usize() - start) {
            count = 1;
        }
        let Some(end) = offsets[..=count].last().map(|o| o.to_usize()) else { return 0 };
        let base = self.data.len();
        self.data.extend_from_slice(&data[start..end]);
        self.offsets.extend(rest[..count].iter().map(|o| O::from_usize(base + (o.to_usize() - start))));
        count
    }

    pub(crate) fn truncate(&mut self, len: usize) {
        if len < self.len() {
            self.offsets.truncate(len + 1);
            let end = self.offsets.last().map_or(0, |o| o.to_usize());
            self.data.truncate(end);
        }
    }
}

/// Appends the values of `from` at `indices` until they no longer fit; says how many went in.
pub(super) fn gather_variable<O: Offset, P: Offset>(
    out: &mut VariableValues<O>,
    from: &VariableValues<P>,
    indices: &[u32],
) -> Result<usize> {
    let bounds = |i: &u32| {
        let i = *i as usize;
        (from.offsets[i].to_usize(), from.offsets[i + 1].to_usize())
    };
    let total: usize = indices.iter().map(bounds).map(|(start, end)| end - start).sum();
    if out.data.len() + total <= out.limit {
        let count = out.offsets.len();
        out.offsets.resize(count + indices.len(), O::default());
        let mut slots = out.offsets[count..].iter_mut();
        let note = |end| {
            if let Some(slot) = slots.next() {
                *slot = O::from_usize(end);
            }
        };
        strings::gather(&from.data, indices.iter().map(bounds), total, out.data.vector(), note)?;
        return Ok(indices.len());
    }
    for (done, &i) in indices.iter().enumerate() {
        if !out.push(from.value(i as usize)) {
            return Ok(done);
        }
    }
    Ok(indices.len())
}
