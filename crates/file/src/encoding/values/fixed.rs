//! Values of fixed width: owned, in a batch's arena, or a slice of somebody else's bytes.

use arrow_buffer::{Buffer, MutableBuffer};
use bytes::Bytes;

use super::super::arena::{Arena, Piece};

/// Values of `width` bytes each. Starts as a slice of the file where that is possible.
#[derive(Debug)]
pub(crate) struct FixedValues {
    pub(crate) width: usize,
    data: FixedData,
}

#[derive(Debug)]
enum FixedData {
    Owned(MutableBuffer),
    /// Of the batch's arena, until it is full.
    Piece(Piece),
    Shared(Buffer),
}

impl FixedValues {
    pub(crate) fn new(width: usize, capacity: usize) -> Self {
        debug_assert!(width > 0);
        Self { width, data: FixedData::Owned(MutableBuffer::with_capacity(capacity * width)) }
    }

    /// Values in an arena's memory, if it has room for `capacity` of them.
    pub(crate) fn new_in(width: usize, capacity: usize, arena: &Arena) -> Self {
        match capacity.checked_mul(width).and_then(|bytes| arena.piece(bytes)) {
            Some(piece) => Self { width, data: FixedData::Piece(piece) },
            None => Self::new(width, capacity),
        }
    }

    /// Values that are somebody else's bytes; `data` must hold whole values.
    pub(crate) fn shared(width: usize, data: Buffer) -> Self {
        debug_assert!(width > 0 && data.len().is_multiple_of(width));
        Self { width, data: FixedData::Shared(data) }
    }

    pub(crate) fn len(&self) -> usize {
        self.bytes().len() / self.width
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        match &self.data {
            FixedData::Owned(data) => data.as_slice(),
            FixedData::Piece(data) => data,
            FixedData::Shared(data) => data.as_slice(),
        }
    }

    /// Whether they are a slice of somebody else's bytes.
    pub(crate) fn is_shared(&self) -> bool {
        matches!(self.data, FixedData::Shared(_))
    }

    /// The bytes to be kept: no copy of them where they are a slice already.
    pub(crate) fn to_bytes(&self) -> Bytes {
        match &self.data {
            FixedData::Shared(data) => Bytes::from_owner(data.clone()),
            FixedData::Owned(_) | FixedData::Piece(_) => Bytes::copy_from_slice(self.bytes()),
        }
    }

    /// The bytes of the values that are there, to change them; copies them first if they were shared.
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        match self.data {
            FixedData::Piece(ref mut data) => data,
            _ => self.owned().as_slice_mut(),
        }
    }

    /// The bytes to append to where they are not an arena's, copied first if they were shared or outgrew it.
    fn owned(&mut self) -> &mut MutableBuffer {
        if !matches!(self.data, FixedData::Owned(_)) {
            let mut data = MutableBuffer::with_capacity(self.bytes().len() * 2);
            data.extend_from_slice(self.bytes());
            self.data = FixedData::Owned(data);
        }
        match &mut self.data {
            FixedData::Owned(data) => data,
            FixedData::Piece(_) | FixedData::Shared(_) => unreachable!("made owned above"),
        }
    }

    fn piece(&mut self) -> Option<&mut Piece> {
        match &mut self.data {
            FixedData::Piece(piece) => Some(piece),
            FixedData::Owned(_) | FixedData::Shared(_) => None,
        }
    }

    /// Room for `count` more values, zeroed, as bytes to write into.
    pub(crate) fn grow(&mut self, count: usize) -> &mut [u8] {
        let start = self.bytes().len();
        let end = start + count * self.width;
        let in_piece = self.piece().is_some_and(|piece| piece.resize(end));
        if !in_piece {
            self.owned().resize(end, 0);
        }
        &mut self.bytes_mut()[start..]
    }

    /// The same for who writes every byte of it: until then the bytes are anything.
    pub(crate) fn grow_unset(&mut self, count: usize) -> &mut [u8] {
        let start = self.bytes().len();
        let end = start + count * self.width;
        let in_piece = self.piece().is_some_and(|piece| piece.resize_unset(end));
        if !in_piece {
            self.owned().resize(end, 0);
        }
        &mut self.bytes_mut()[start..]
    }

    /// Appends whole values.
    pub(crate) fn extend(&mut self, bytes: &[u8]) {
        debug_assert!(bytes.len().is_multiple_of(self.width));
        let in_piece = self.piece().is_some_and(|piece| piece.extend(bytes));
        if !in_piece {
            self.owned().extend_from_slice(bytes);
        }
    }

    /// Appends whole values, keeping a reference instead of a copy when these are the first.
    pub(crate) fn extend_shared(&mut self, bytes: &Bytes) {
        if self.bytes().is_empty() && bytes.len() >= 4096 {
            self.data = FixedData::Shared(Buffer::from(bytes.clone()));
        } else {
            self.extend(bytes);
        }
    }

    pub(crate) fn truncate(&mut self, len: usize) {
        let bytes = len * self.width;
        match &mut self.data {
            FixedData::Owned(data) => data.truncate(bytes),
            FixedData::Piece(data) => {
                data.resize(bytes.min(data.len()));
            }
            FixedData::Shared(data) => *data = data.slice_with_length(0, bytes.min(data.len())),
        }
    }

    pub(crate) fn into_buffer(self) -> Buffer {
        match self.data {
            FixedData::Owned(data) => data.into(),
            FixedData::Piece(data) => Buffer::from(Bytes::from_owner(data)),
            FixedData::Shared(data) => data,
        }
    }
}

/// Appends the values of `bytes` at `indices`, all of which must be whole values of it.
pub(crate) fn gather_fixed(out: &mut FixedValues, bytes: &[u8], indices: &[u32]) {
    fn words<const N: usize>(out: &mut [u8], bytes: &[u8], indices: &[u32]) {
        let (words, _) = bytes.as_chunks::<N>();
        let (out, _) = out.as_chunks_mut::<N>();
        for (slot, &i) in out.iter_mut().zip(indices) {
            *slot = words[i as usize];
        }
    }
    let width = out.width;
    let slots = out.grow_unset(indices.len());
    match width {
        1 => words::<1>(slots, bytes, indices),
        2 => words::<2>(slots, bytes, indices),
        4 => words::<4>(slots, bytes, indices),
        8 => words::<8>(slots, bytes, indices),
        16 => words::<16>(slots, bytes, indices),
        32 => words::<32>(slots, bytes, indices),
        _ => {
            for (slot, &i) in slots.chunks_exact_mut(width).zip(indices) {
                slot.copy_from_slice(&bytes[i as usize * width..][..width]);
            }
        }
    }
}
