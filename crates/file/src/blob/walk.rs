//! Walking the blobs of a column without holding them.

use std::ops::Range;
use std::sync::Arc;

use super::descriptor::{BlobDescriptor, Extent};
use super::fetch::united;
use crate::column::Column;
use crate::io::{Segments, Source};
use crate::page::{LeafData, RowSlots, is_all_but_empty};
use crate::scan::Projected;
use crate::schema::LeafKind;
use crate::{Error, Result};

/// Arrow bytes of descriptors looked at together.
const DESCRIPTOR_BYTES: usize = 8 << 20;
/// Bytes of blobs read at a time.
const READ_BYTES: u64 = 1 << 20;
/// Bytes of blobs in a file that have been read so far: no byte is read twice, whoever refers to it.
#[derive(Debug, Default)]
pub(crate) struct Walk {
    /// Sorted, disjoint.
    seen: Vec<Range<u64>>,
    /// Bytes in them.
    pub(crate) bytes: u64,
}

impl Walk {
    /// Decodes a batch of `budget` bytes of the first of `rows`, for a projection of one column in the view of descriptors;
    /// if that is a blob column, its blobs in the file itself are read too. Says how many rows that were; `look` is shown at
    /// least as many.
    pub(crate) fn read(
        &mut self,
        projected: &Projected,
        rows: Range<u64>,
        budget: usize,
        look: impl FnOnce(&[LeafData], usize) -> Result<()>,
    ) -> Result<u64> {
        let (_, count) = projected.read_batch_looking(rows.clone(), budget, look)?;
        let is_blob = |c: &Arc<Column>| matches!(c.leaf.kind, LeafKind::Blob | LeafKind::BlobDescriptor);
        if projected.columns.iter().any(is_blob) {
            return self.rows(projected, rows.start..rows.start + count);
        }
        Ok(count)
    }

    /// Reads the blobs that the first rows of `rows` refer to; says how many rows that were.
    fn rows(&mut self, projected: &Projected, rows: Range<u64>) -> Result<u64> {
        let (leaf, count) = descriptors(projected, rows)?;
        let mut ranges = Vec::new();
        each(projected, &leaf, count, |descriptor| {
            if let Extent::Own(range) = descriptor.extent(projected.source.file_bytes())?
                && !range.is_empty()
            {
                ranges.push(range);
            }
            Ok(())
        })?;
        let ranges = united(ranges);
        let fresh = without(&ranges, &self.seen);
        self.bytes += fresh.iter().map(|r| r.end - r.start).sum::<u64>();
        self.seen = united(self.seen.drain(..).chain(ranges).collect());
        fresh.iter().try_for_each(|range| touch(&projected.source, range))?;
        Ok(count as u64)
    }
}

/// Bytes of all blobs of a projection of one blob column, wherever they are; `None` where that would be a walk over rows
/// that the file does not store.
pub(crate) fn total_bytes(projected: &Projected) -> Result<Option<u64>> {
    let [column] = projected.columns.as_slice() else { return Ok(None) };
    let mut total = 0u64;
    if !column.lists.is_empty() {
        // Which rows a page of items belongs to is told by other columns: all of them.
        let num_rows = column.lists[0].num_rows();
        let stored: u64 = column.lists[0].pages.iter().fold(0, |sum, p| sum.saturating_add(p.stored_bytes()));
        if is_all_but_empty(num_rows, stored) {
            return Ok(None);
        }
        return sum_of(projected, 0..num_rows).map(Some);
    }
    for (i, page) in column.pages.iter().enumerate() {
        let mut rows = column.page_rows(i);
        if page.repeats_one_row() {
            let num_rows = rows.end - rows.start;
            rows.end = rows.end.min(rows.start + 1);
            total = total.saturating_add(sum_of(projected, rows)?.saturating_mul(num_rows));
            continue;
        }
        if page.is_all_but_empty() {
            return Ok(None);
        }
        total = total.saturating_add(sum_of(projected, rows)?);
    }
    Ok(Some(total))
}

/// Bytes of the blobs of some rows.
fn sum_of(projected: &Projected, mut rows: Range<u64>) -> Result<u64> {
    let mut total = 0u64;
    while rows.start < rows.end {
        let (leaf, count) = descriptors(projected, rows.clone())?;
        each(projected, &leaf, count, |d| {
            total = total.saturating_add(d.size);
            Ok(())
        })?;
        rows.start += count as u64;
    }
    Ok(total)
}

/// What the column stores of the first of some rows, and of how many.
fn descriptors(projected: &Projected, rows: Range<u64>) -> Result<(LeafData, usize)> {
    let asked = (rows.end - rows.start).min(DESCRIPTOR_BYTES as u64 / 16);
    let rows = rows.start..rows.start + asked;
    let mut leaves = projected.read(&[rows], DESCRIPTOR_BYTES, &Default::default())?;
    let count = projected.common_rows(&leaves, asked as usize).min(asked as usize);
    match leaves.pop() {
        Some(leaf) if leaves.is_empty() && count > 0 => Ok((leaf, count)),
        _ => Err(Error::corrupt("pages that yield no rows")),
    }
}

fn each(
    projected: &Projected,
    leaf: &LeafData,
    rows: usize,
    mut look: impl FnMut(BlobDescriptor) -> Result<()>,
) -> Result<()> {
    let Some(column) = projected.columns.first() else { return Ok(()) };
    let place = |e: Error| e.in_column(&column.leaf.path);
    let slots = RowSlots::of(leaf, &column.scheme, column.leaf.rows_scale as usize, rows).map_err(place)?;
    for slot in 0..slots.count(rows) {
        if slots.is_valid(slot) {
            BlobDescriptor::at(&leaf.values, slot).and_then(&mut look).map_err(place)?;
        }
    }
    Ok(())
}

/// The parts of `ranges` that none of `others` has; both sorted and disjoint.
fn without(ranges: &[Range<u64>], others: &[Range<u64>]) -> Vec<Range<u64>> {
    let mut left = Vec::new();
    let mut others = others.iter().peekable();
    for range in ranges {
        let mut at = range.start;
        while let Some(other) = others.peek() {
            if other.end <= at {
                others.next();
                continue;
            }
            if other.start >= range.end {
                break;
            }
            if other.start > at {
                left.push(at..other.start);
            }
            at = other.end;
            if at >= range.end {
                break;
            }
        }
        if at < range.end {
            left.push(at..range.end);
        }
    }
    left
}

/// Reads bytes and lets them go.
fn touch(source: &Source, range: &Range<u64>) -> Result<()> {
    let mut at = range.start;
    while at < range.end {
        let end = range.end.min(at + READ_BYTES);
        let mut segments: Segments = source.segments();
        if segments.is_whole() {
            return Ok(());
        }
        source.fetch(std::slice::from_ref(&(at..end)), &mut segments)?;
        at = end;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_seen_before_are_left_out() {
        let ranges = [0..10, 20..30, 40..50];
        assert_eq!(without(&ranges, &[]), ranges);
        assert_eq!(without(&ranges, &[5..22, 24..26, 28..100]), [0..5, 22..24, 26..28]);
        assert_eq!(without(&ranges, &[0..50]), []);
        assert_eq!(without(&[0..10, 12..20], &[2..3, 9..14]), [0..2, 3..9, 14..20]);
    }
}
