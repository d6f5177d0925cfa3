//! Byte ranges that are near each other become one read.
//!
//! ```text
//! asked   ├──┤ ├─┤      ├───┤├──┤         gaps of at most `gap` bytes are read over
//! reads   ├──────┤      ├───────┤
//! ```

use std::ops::Range;

/// Reads are joined up to this size; only ranges that touch grow further.
const MAX_JOINED_BYTES: u64 = 16 << 20;

/// Sorts ranges and joins those at most `gap` apart.
pub(super) fn coalesce(ranges: &[Range<u64>], gap: u64) -> Vec<Range<u64>> {
    let mut sorted: Vec<Range<u64>> = ranges.iter().filter(|r| !r.is_empty()).cloned().collect();
    sorted.sort_by_key(|r| r.start);
    let mut reads: Vec<Range<u64>> = Vec::with_capacity(sorted.len());
    for range in sorted {
        if let Some(last) = reads.last_mut() {
            let touches = range.start <= last.end;
            let near = range.start.saturating_sub(last.end) <= gap
                && range.end.saturating_sub(last.start) <= MAX_JOINED_BYTES;
            if touches || near {
                last.end = last.end.max(range.end);
                continue;
            }
        }
        reads.push(range);
    }
    reads
}
