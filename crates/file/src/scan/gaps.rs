//! Reading many short ranges of rows: where that is cheaper, with the gaps between them.

use std::ops::Range;

use arrow_array::RecordBatch;

use super::batch::{Projected, no_progress};
use crate::Result;
use crate::column::Column;
use crate::encoding::Arena;
use crate::io::{drive, join};
use crate::page::LeafData;

/// In columns with lists every range is found again through the levels. So rows that did not pass are read and dropped
/// where they are up to so many side by side, unless the rows around them come in long runs. Of four million rows of short
/// lists half are had in half the time; columns without lists gain nothing.
const GAP_ROWS: u64 = 8;
const LONG_RUN: usize = 8;

/// Bytes of a row of a column up to which that is done.
const NARROW_BYTES: f64 = 64.0;

/// The rows of `ranges` of every field, or the first of them.
pub(super) fn rows_of(
    from: &Projected,
    ranges: &[Range<u64>],
    count: usize,
    budget: usize,
) -> Result<RecordBatch> {
    from.admit_row()?;
    let arena = from.row_bytes(ranges[0].start).arena(count, budget);
    let joined = Joined::of(ranges, count);
    let is_joined =
        |column: &Column| column.scheme.has_lists() && column.bytes_per_row(ranges[0].start) <= NARROW_BYTES;
    let reads = from.columns.iter().map(|column| match &joined {
        // What is dropped afterwards needs no place in the batch.
        Some(joined) if is_joined(column) => {
            column.read(&joined.ranges, budget, &Arena::default(), &from.limits)
        }
        _ => column.read(ranges, budget, &arena, &from.limits),
    });
    let leaves = drive(&from.source, join(reads.collect())).map_err(|e| from.in_file(e))?;
    let mut have = count;
    let mut kept: Vec<LeafData> = Vec::with_capacity(leaves.len());
    for (mut leaf, column) in leaves.into_iter().zip(&from.columns) {
        let scale = column.leaf.rows_scale as usize;
        if let Some(joined) = joined.as_ref().filter(|_| is_joined(column)) {
            let whole = leaf.num_rows / scale;
            let wanted = &joined.positions[..joined.positions.partition_point(|p| (*p as usize) < whole)];
            let mut gathered = leaf
                .gather(wanted, scale, &column.scheme, budget, &arena)
                .map_err(|e| from.in_file(e.in_column(&column.leaf.path)))?;
            gathered.dictionary = leaf.dictionary.take();
            leaf = gathered;
        }
        have = have.min(leaf.num_rows / scale);
        kept.push(leaf);
    }
    let have = from.fetch_blobs(&mut kept, have, budget, &arena)?;
    if have == 0 {
        return Err(from.in_file(no_progress()));
    }
    from.build(kept, have, budget, &arena)
}

/// Ranges with the small gaps between them read as well.
struct Joined {
    ranges: Vec<Range<u64>>,
    /// Where the rows wanted are among those read.
    positions: Vec<u32>,
}

impl Joined {
    /// `None` where little would be gained.
    fn of(ranges: &[Range<u64>], count: usize) -> Option<Self> {
        let mut joined: Vec<Range<u64>> = Vec::new();
        for range in ranges {
            match joined.last_mut() {
                Some(last) if range.start - last.end <= GAP_ROWS => last.end = range.end,
                _ => joined.push(range.clone()),
            }
        }
        if joined.len() > ranges.len() / 2 || count > LONG_RUN * ranges.len() {
            return None;
        }
        let mut positions = Vec::with_capacity(count);
        let (mut at, mut before) = (0, 0u64);
        for range in ranges {
            while joined[at].end <= range.start {
                before += joined[at].end - joined[at].start;
                at += 1;
            }
            let first = before + (range.start - joined[at].start);
            positions.extend((first..first + (range.end - range.start)).map(|p| p as u32));
        }
        Some(Self { ranges: joined, positions })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_join_over_small_gaps() {
        let joined = Joined::of(&[2..3, 5..7, 9..10, 100..101], 5).unwrap();
        assert_eq!(joined.ranges, [2..10, 100..101]);
        assert_eq!(joined.positions, [0, 3, 4, 7, 8]);
        assert!(Joined::of(&[2..3, 50..51], 2).is_none());
    }
}
