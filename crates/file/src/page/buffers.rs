//! The buffers of one page, and the checks that stand between their bytes and a decoder.
//!
//! A page's checksums lie together elsewhere in the file (docs/format/extras.md); they are fetched in the same
//! round as the page's index and kept. Until a unit has been verified, ranges are widened to whole
//! units, so nothing unverified is ever decoded.

use std::ops::Range;
use std::sync::OnceLock;

use bytes::Bytes;

use crate::container::{PageChecks, UNIT_BYTES};
use crate::held::HeldBytes;
use crate::io::{Decode, Segments, Step};
use crate::{Error, Result};

/// Positions of a page's buffers, and what is known of their checksums.
#[derive(Debug)]
pub(crate) struct PageBuffers {
    /// Of the page, then what it borrows from its column or file.
    ranges: Vec<Range<u64>>,
    /// Buffers of the page itself: no checksum covers the others.
    own: usize,
    /// Absolute range of the page's checksums, for files that have them.
    checksums: Option<Range<u64>>,
    checks: OnceLock<PageChecks>,
}

impl PageBuffers {
    pub(crate) fn new(ranges: Vec<Range<u64>>, checksums: Option<Range<u64>>) -> Self {
        Self { own: ranges.len(), ranges, checksums, checks: OnceLock::new() }
    }

    /// The same with buffers behind its own that belong to the column or the file.
    pub(crate) fn with_borrowed(mut self, borrowed: Vec<Range<u64>>) -> Self {
        self.ranges.extend(borrowed);
        self
    }

    fn checks(&self, index: usize) -> Option<&PageChecks> {
        self.checks.get().filter(|_| index < self.own)
    }

    /// Adds what is kept of the checksums.
    pub(crate) fn add_held(&self, held: &mut HeldBytes) {
        if let Some(checks) = self.checks.get() {
            held.checksums += checks.held_bytes();
        }
    }

    pub(crate) fn count(&self) -> usize {
        self.ranges.len()
    }

    pub(crate) fn ranges(&self) -> &[Range<u64>] {
        &self.ranges
    }

    pub(crate) fn has_checksums(&self) -> bool {
        self.checksums.is_some()
    }

    /// Bytes of buffer `index`; an error that the page has no such buffer.
    pub(crate) fn len(&self, index: usize) -> Result<u64> {
        self.range(index).map(|r| r.end - r.start)
    }

    fn range(&self, index: usize) -> Result<&Range<u64>> {
        self.ranges.get(index).ok_or_else(|| {
            Error::corrupt(format!(
                "a page has {} buffers where its layout needs buffer {index}",
                self.ranges.len()
            ))
        })
    }

    /// Loads the checksums if `segments` has them; otherwise adds their range to `needs`.
    pub(crate) fn load_checks(&self, segments: &Segments, needs: &mut Vec<Range<u64>>) -> Result<()> {
        let Some(range) = &self.checksums else { return Ok(()) };
        if self.checks.get().is_some() {
            return Ok(());
        }
        match segments.bytes(range) {
            Some(crcs) => {
                let sizes: Vec<u64> = self.ranges[..self.own].iter().map(|r| r.end - r.start).collect();
                // A lost race stored the same checks.
                let _ = self.checks.set(PageChecks::new(crcs, sizes)?);
            }
            None => needs.push(range.clone()),
        }
        Ok(())
    }

    /// Adds what must be fetched for bytes `part` of buffer `index`, unless `segments` has it.
    pub(crate) fn want(
        &self,
        index: usize,
        part: Range<u64>,
        segments: &Segments,
        needs: &mut Vec<Range<u64>>,
    ) -> Result<()> {
        let range = self.absolute(index, &self.widen(index, part)?)?;
        if range.start < range.end && segments.slice(&range).is_none() {
            needs.push(range);
        }
        Ok(())
    }

    /// Adds every buffer that `segments` lacks, whole.
    pub(crate) fn want_all(&self, segments: &Segments, needs: &mut Vec<Range<u64>>) {
        let ranges = self.ranges.iter();
        needs.extend(ranges.filter(|r| r.start < r.end && segments.slice(r).is_none()).cloned());
    }

    fn widen(&self, index: usize, part: Range<u64>) -> Result<Range<u64>> {
        if part.start >= part.end || self.checksums.is_none() || index >= self.own {
            return Ok(part);
        }
        Ok(match self.checks.get() {
            Some(checks) => checks.widen(index, part),
            None => {
                let end = part.end.div_ceil(UNIT_BYTES).saturating_mul(UNIT_BYTES);
                part.start / UNIT_BYTES * UNIT_BYTES..end.min(self.len(index)?).max(part.end)
            }
        })
    }

    fn absolute(&self, index: usize, part: &Range<u64>) -> Result<Range<u64>> {
        let range = self.range(index)?;
        match (range.start.checked_add(part.start), range.start.checked_add(part.end)) {
            (Some(start), Some(end)) if end <= range.end => Ok(start..end),
            _ => Err(Error::corrupt(format!(
                "bytes {}..{} are asked of a buffer of {}",
                part.start,
                part.end,
                range.end - range.start
            ))
            .in_buffer(index)
            .at_offset(range.start)),
        }
    }

    /// Bytes `part` of buffer `index`, verified. They must have been wanted and fetched.
    #[inline]
    pub(crate) fn slice<'s>(
        &self,
        segments: &'s Segments,
        index: usize,
        part: Range<u64>,
    ) -> Result<&'s [u8]> {
        if part.start >= part.end {
            return Ok(&[]);
        }
        let wide = match self.checks(index) {
            Some(checks) => checks.widen(index, part.clone()),
            None => part.clone(),
        };
        let range = self.absolute(index, &wide)?;
        let bytes = segments.slice(&range).ok_or_else(|| not_fetched(&range))?;
        if let Some(checks) = self.checks(index) {
            checks.verify(index, wide.start, bytes).map_err(|e| e.in_buffer(index).at_offset(range.start))?;
        }
        Ok(&bytes[(part.start - wide.start) as usize..(part.end - wide.start) as usize])
    }

    /// All of buffer `index`, where it is in memory and nothing of it is left to verify.
    pub(crate) fn verified<'s>(&self, segments: &'s Segments, index: usize) -> Option<&'s [u8]> {
        let range = self.ranges.get(index)?;
        let all = 0..range.end.checked_sub(range.start)?;
        let checked = match self.checks(index) {
            Some(checks) => checks.is_verified(index, &all),
            None => self.checksums.is_none() || index >= self.own,
        };
        if checked { segments.slice(range) } else { None }
    }

    /// As [`slice`](Self::slice), sharing the memory instead of borrowing it.
    pub(crate) fn bytes(&self, segments: &Segments, index: usize, part: Range<u64>) -> Result<Bytes> {
        self.slice(segments, index, part.clone())?;
        let range = self.absolute(index, &part)?;
        if range.start == range.end {
            return Ok(Bytes::new());
        }
        segments.bytes(&range).ok_or_else(|| not_fetched(&range))
    }

    /// A decoder of every checksum fault of the page.
    pub(crate) fn read_faults(&self) -> ReadFaults<'_> {
        ReadFaults { buffers: self }
    }

    /// All of buffer `index`, verified.
    pub(crate) fn whole<'s>(&self, segments: &'s Segments, index: usize) -> Result<&'s [u8]> {
        self.slice(segments, index, 0..self.len(index)?)
    }
}

/// Reads a page whole and lists the units whose checksum is wrong.
#[derive(Debug)]
pub(crate) struct ReadFaults<'p> {
    buffers: &'p PageBuffers,
}

impl Decode for ReadFaults<'_> {
    type Output = Vec<Error>;

    fn step(&mut self, segments: &Segments) -> Result<Step<Vec<Error>>> {
        let mut needs = Vec::new();
        self.buffers.load_checks(segments, &mut needs)?;
        self.buffers.want_all(segments, &mut needs);
        if !needs.is_empty() {
            return Ok(Step::Need(needs));
        }
        let mut faults = Vec::new();
        if let Some(checks) = self.buffers.checks.get() {
            for (i, range) in self.buffers.ranges[..self.buffers.own].iter().enumerate() {
                let bytes = segments.slice(range).ok_or_else(|| not_fetched(range))?;
                for (unit, bytes) in bytes.chunks(UNIT_BYTES as usize).enumerate() {
                    let start = unit as u64 * UNIT_BYTES;
                    let fault = checks.verify(i, start, bytes).err();
                    faults.extend(fault.map(|e| e.in_buffer(i).at_offset(range.start + start)));
                }
            }
        }
        Ok(Step::Done(faults))
    }
}

#[cold]
fn not_fetched(range: &Range<u64>) -> Error {
    Error::invalid(format!("bytes {}..{} were decoded before they were fetched", range.start, range.end))
}
