//! Bytes of a file that are in memory.
//!
//! ```text
//! file      ├────────────────────────────────────────────────┤
//! segments       ├────────┤        ├───┤   ├──────────┤          sorted, never touching
//! ```

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::{Bytes, BytesMut};

/// The parts of a file that were fetched, or all of it.
///
/// Pieces that touch or overlap are merged, so a range that is covered is always one slice.
#[derive(Debug, Default)]
pub struct Segments {
    whole: Option<Bytes>,
    /// What is wanted lies scattered over the file, see [`scattered`](Self::scattered).
    scattered: bool,
    /// Sorted by offset; between two pieces there is at least one missing byte.
    pieces: Vec<(u64, Bytes)>,
    /// The piece looked at last. Decoders walk forward, so it is nearly always this one or the next.
    last: AtomicUsize,
}

impl Segments {
    /// No bytes yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The whole file as one segment: every step is then `Done` at once.
    pub fn whole(file: Bytes) -> Self {
        Self { whole: Some(file), ..Self::default() }
    }

    /// No bytes yet of those that a take wants: a mapping is used for them only once the page cache has
    /// shown to have the file.
    pub(crate) fn scattered() -> Self {
        Self { scattered: true, ..Self::default() }
    }

    pub(crate) fn is_scattered(&self) -> bool {
        self.scattered
    }

    /// Whether the whole file is here, so that needs never arise.
    pub fn is_whole(&self) -> bool {
        self.whole.is_some()
    }

    /// Makes the whole file available; pieces are let go.
    pub(crate) fn set_whole(&mut self, file: Bytes) {
        *self = Self::whole(file);
    }

    /// Bytes in pieces; of a file that is here whole, none.
    pub(crate) fn bytes_of_pieces(&self) -> u64 {
        self.pieces.iter().map(|(_, bytes)| bytes.len() as u64).sum()
    }

    /// Adds bytes that stand at `offset` of the file.
    pub fn insert(&mut self, offset: u64, bytes: Bytes) {
        self.insert_all(vec![(offset, bytes)]);
    }

    /// Adds several pieces, in any order, with one pass of merging.
    pub(crate) fn insert_all(&mut self, pieces: Vec<(u64, Bytes)>) {
        if self.whole.is_some() {
            return;
        }
        let old = self.pieces.len();
        self.pieces.extend(pieces.into_iter().filter(|(_, bytes)| !bytes.is_empty()));
        if self.pieces.len() == old {
            return;
        }
        // Runs that are sorted already are found by the stable sort.
        self.pieces.sort_by_key(|(offset, _)| *offset);
        if self.pieces.windows(2).any(|w| end_of(&w[0]) >= w[1].0) {
            self.merge();
        }
    }

    fn merge(&mut self) {
        let mut merged: Vec<(u64, Bytes)> = Vec::with_capacity(self.pieces.len());
        let mut group: Vec<(u64, Bytes)> = Vec::new();
        let mut group_end = 0;
        for piece in self.pieces.drain(..) {
            if !group.is_empty() && piece.0 > group_end {
                merged.push(unite(&mut group));
            }
            group_end = if group.is_empty() { end_of(&piece) } else { group_end.max(end_of(&piece)) };
            group.push(piece);
        }
        if !group.is_empty() {
            merged.push(unite(&mut group));
        }
        self.pieces = merged;
    }

    /// The bytes of a range, if all of them are here. An empty range always is.
    pub fn slice(&self, range: &Range<u64>) -> Option<&[u8]> {
        if range.is_empty() {
            return Some(&[]);
        }
        let (offset, bytes) = self.piece(range)?;
        let (start, end) = within(offset, bytes, range)?;
        Some(&bytes[start..end])
    }

    /// The same as a reference-counted piece: keeps its segment alive, copies nothing.
    pub fn bytes(&self, range: &Range<u64>) -> Option<Bytes> {
        if range.is_empty() {
            return Some(Bytes::new());
        }
        let (offset, bytes) = self.piece(range)?;
        let (start, end) = within(offset, bytes, range)?;
        Some(bytes.slice(start..end))
    }

    #[inline]
    fn piece(&self, range: &Range<u64>) -> Option<(u64, &Bytes)> {
        if let Some(whole) = &self.whole {
            return Some((0, whole));
        }
        let last = self.last.load(Ordering::Relaxed);
        for index in last..(last + 2).min(self.pieces.len()) {
            let piece = &self.pieces[index];
            if piece.0 <= range.start && range.end <= end_of(piece) {
                self.last.store(index, Ordering::Relaxed);
                return Some((piece.0, &piece.1));
            }
        }
        let index = self.pieces.partition_point(|(offset, _)| *offset <= range.start).checked_sub(1)?;
        self.last.store(index, Ordering::Relaxed);
        let (offset, bytes) = &self.pieces[index];
        Some((*offset, bytes))
    }
}

fn end_of((offset, bytes): &(u64, Bytes)) -> u64 {
    offset.saturating_add(bytes.len() as u64)
}

/// Where `range` is inside a piece.
#[inline]
fn within(offset: u64, bytes: &Bytes, range: &Range<u64>) -> Option<(usize, usize)> {
    let start = usize::try_from(range.start.checked_sub(offset)?).ok()?;
    let end = usize::try_from(range.end.checked_sub(offset)?).ok()?;
    (end <= bytes.len()).then_some((start, end))
}

/// One piece out of pieces, sorted by offset, that touch or overlap; `group` is left empty.
fn unite(group: &mut Vec<(u64, Bytes)>) -> (u64, Bytes) {
    let offset = group[0].0;
    let end = group.iter().map(end_of).max().unwrap_or(offset);
    // One that covers all others is kept as it is.
    if let Some(at) = group.iter().position(|p| p.0 == offset && end_of(p) == end) {
        let piece = group.swap_remove(at);
        group.clear();
        return piece;
    }
    let mut bytes = BytesMut::with_capacity((end - offset) as usize);
    for (start, piece) in group.drain(..) {
        let have = bytes.len() as u64;
        let skip = offset + have - start;
        if skip < piece.len() as u64 {
            bytes.extend_from_slice(&piece[skip as usize..]);
        }
    }
    (offset, bytes.freeze())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn touching_pieces_become_one_slice_and_gaps_stay_gaps() {
        let mut s = Segments::new();
        s.insert(10, Bytes::from_static(b"abc"));
        s.insert(20, Bytes::from_static(b"xyz"));
        assert_eq!(s.slice(&(10..13)), Some(&b"abc"[..]));
        assert_eq!(s.slice(&(12..21)), None);
        s.insert(13, Bytes::from_static(b"defghij"));
        assert_eq!(s.slice(&(10..23)), Some(&b"abcdefghijxyz"[..]));
        assert_eq!(s.slice(&(9..11)), None);
        assert_eq!(s.slice(&(22..24)), None);
        assert_eq!(s.slice(&(500..500)), Some(&[][..]));
    }

    #[test]
    fn a_whole_file_answers_every_range_inside_it_and_none_outside() {
        let s = Segments::whole(Bytes::from_static(b"0123456789"));
        assert_eq!(s.bytes(&(3..5)).unwrap(), "34");
        assert_eq!(s.slice(&(9..11)), None);
        assert_eq!(s.slice(&(u64::MAX - 1..u64::MAX)), None);
    }

    proptest! {
        #[test]
        fn pieces_in_any_order_answer_exactly_what_they_cover(
            pieces in prop::collection::vec((0usize..90, 0usize..20), 0..12),
            asks in prop::collection::vec((0usize..110, 0usize..30), 1..20),
        ) {
            let file: Vec<u8> = (0..120).collect();
            let mut have = [false; 120];
            let mut s = Segments::new();
            for (start, len) in pieces {
                s.insert(start as u64, Bytes::copy_from_slice(&file[start..start + len]));
                have[start..start + len].fill(true);
            }
            for (start, len) in asks {
                let end = (start + len).min(120);
                let start = start.min(end);
                let expected = have[start..end].iter().all(|h| *h).then(|| &file[start..end]);
                prop_assert_eq!(s.slice(&(start as u64..end as u64)), expected);
            }
        }
    }
}
