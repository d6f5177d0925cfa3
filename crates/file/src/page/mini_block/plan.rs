//! Where the chunks of a mini-block page begin and end.
//!
//! ```text
//! values   v0 v1 v2 v3 | v4 v5 | v6          every chunk but the last holds 2, 4, 8, … values
//! events   0  0  1  0  0 | 2 3 0  0 | 0 3    and the events up to the one of its last value;
//!                                            the last takes all that remain
//! ```
//!
//! See docs/format/pages.md, "Mini-block"; what bounds a chunk of which encoding says `choose/values.rs`.

use std::ops::Range;

use crate::encoding::Values;
use crate::page::{DefLevels, LeafPage};

/// What bounds a chunk.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ChunkRule {
    /// Values in a chunk, a power of two of at least 2.
    pub(crate) max_values: usize,
    /// Bytes of its values that a chunk should stay within; two values may pass it.
    pub(crate) target_bytes: usize,
    /// Levels in a chunk.
    pub(crate) max_events: usize,
    pub(crate) count: Count,
}

/// How the bytes of a chunk's values are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Count {
    /// As they are in memory.
    Plain,
    /// As run lengths.
    Runs,
}

/// One chunk.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ChunkPlan {
    pub(crate) values: Range<usize>,
    /// Empty where the page has no levels.
    pub(crate) events: Range<usize>,
}

/// Highest power of two of values that a non-final chunk may hold.
pub(crate) const MAX_LOG_VALUES: u32 = 15;

/// Cuts a page into chunks; `None` where the events around two values are too many for one chunk.
pub(crate) fn plan(page: &LeafPage, values: &Values, rule: &ChunkRule) -> Option<Vec<ChunkPlan>> {
    let ends = EventEnds::new(page);
    let num_values = values.len();
    let max_log = rule.max_values.max(2).ilog2().min(MAX_LOG_VALUES);
    let mut chunks = Vec::new();
    let mut start = 0;
    let mut event = 0;
    while start < num_values {
        let left = num_values - start;
        let mut found = None;
        for log in (1..=max_log).rev() {
            let count = 1usize << log;
            if count >= 2 * left.next_power_of_two().max(2) {
                continue;
            }
            // The rest of the page, or a power of two of values.
            let (count, end) =
                if count >= left { (left, page.num_events) } else { (count, ends.after(start + count)) };
            let fits = bytes_of(values, start..start + count, rule.count) <= rule.target_bytes;
            if end - event <= rule.max_events && (fits || count <= 2) {
                found = Some((count, end));
                break;
            }
        }
        let (count, end) = found?;
        let events = if page.has_rep() || page.has_def() { event..end } else { 0..0 };
        chunks.push(ChunkPlan { values: start..start + count, events });
        start += count;
        event = end;
    }
    Some(chunks)
}

/// For each value, the event after the one that owns it.
enum EventEnds {
    /// Every event owns a value.
    Same,
    Listed(Vec<u32>),
}

impl EventEnds {
    fn new(page: &LeafPage) -> Self {
        match &page.def {
            DefLevels::Levels(levels) if !page.all_visible() => {
                let visible = page.max_visible();
                let owners = levels.iter().enumerate().filter(|(_, d)| **d <= visible);
                Self::Listed(owners.map(|(event, _)| event as u32 + 1).collect())
            }
            _ => Self::Same,
        }
    }

    /// The event after the one that owns value `count - 1`.
    fn after(&self, count: usize) -> usize {
        match self {
            Self::Same => count,
            Self::Listed(ends) => ends[count - 1] as usize,
        }
    }
}

/// Values of the chunk that begins with value `start`, as far as levels leave it to the values.
pub(crate) fn chunk_len(values: &Values, start: usize, rule: &ChunkRule) -> usize {
    let left = values.len() - start;
    let mut count = 1usize << rule.max_values.max(2).ilog2().min(MAX_LOG_VALUES);
    loop {
        let taken = count.min(left);
        if taken <= 2 || bytes_of(values, start..start + taken, rule.count) <= rule.target_bytes {
            return taken;
        }
        count /= 2;
    }
}

/// Bytes of some values as a chunk holds them, about.
pub(crate) fn bytes_of(values: &Values, range: Range<usize>, count: Count) -> usize {
    match values {
        Values::Null(_) => 0,
        Values::Bits(_) => range.len().div_ceil(8),
        Values::Fixed(v) if count == Count::Runs => {
            let bytes = &v.bytes()[range.start * v.width..range.end * v.width];
            runs(bytes, v.width) * (v.width + 1)
        }
        Values::Fixed(v) => range.len() * v.width,
        Values::Variable(v) => {
            (v.offsets[range.end] - v.offsets[range.start]) as usize + 4 * (range.len() + 1)
        }
        Values::LargeVariable(v) => {
            (v.offsets[range.end] - v.offsets[range.start]) as usize + 8 * (range.len() + 1)
        }
        Values::List(v) => {
            let items = range.start * v.dimension..range.end * v.dimension;
            let validity = v.item_validity.as_ref().map_or(0, |_| items.len().div_ceil(8));
            validity + bytes_of(&v.items, items, Count::Plain)
        }
        Values::Struct { fields, .. } => fields.iter().map(|f| bytes_of(f, range.clone(), count)).sum(),
    }
}

/// Runs of equal values of `width` bytes, none longer than a length byte can say.
pub(crate) fn runs(bytes: &[u8], width: usize) -> usize {
    fn count<const N: usize>(bytes: &[u8]) -> usize {
        /// Values among which a change rules out a longest run.
        const BLOCK: usize = 127;
        let values = bytes.as_chunks::<N>().0;
        let Some((first, rest)) = values.split_first() else { return 0 };
        // Counting changes block by block runs on vectors.
        let (mut changes, mut before, mut may_be_long) = (0, first, false);
        for block in rest.chunks(BLOCK) {
            let inside = block.windows(2).map(|pair| u8::from(pair[0] != pair[1])).sum::<u8>();
            let found = usize::from(inside) + usize::from(block[0] != *before);
            may_be_long |= found == 0 && block.len() == BLOCK;
            changes += found;
            before = &block[block.len() - 1];
        }
        if !may_be_long {
            return changes + 1;
        }
        values.chunk_by(|a, b| a == b).map(|run| run.len().div_ceil(u8::MAX as usize)).sum()
    }
    match width {
        1 => count::<1>(bytes),
        2 => count::<2>(bytes),
        4 => count::<4>(bytes),
        8 => count::<8>(bytes),
        _ => bytes.len() / width.max(1),
    }
}
