//! The bytes of values of any length: a vector, or where values are large a piece of the batch's arena.
//!
//! ```text
//! short values   vector, copied into the arena once the batch is done     what it leaves behind serves the next column
//! large values   piece of the arena                                       copied once, from the file into the batch
//! ```

use std::collections::TryReserveError;
use std::ops::Deref;

use arrow_buffer::Buffer;

use super::super::arena::{Arena, Piece};

/// Bytes of a column from which it is decoded into the batch's memory at once.
const LEAST_PIECE: usize = 256 << 10;

/// Bytes that grow.
#[derive(Debug)]
pub(crate) enum TextBytes {
    Vector(Vec<u8>),
    Piece(Piece),
}

impl TextBytes {
    /// Takes a piece of about `expected` bytes, if that is much, nothing is there yet and the arena has room.
    pub(super) fn expect(&mut self, expected: usize, arena: &Arena) {
        if expected >= LEAST_PIECE
            && self.is_empty()
            && let Some(piece) = arena.piece_up_to(expected)
        {
            arena.give_vector(std::mem::take(self.vector()));
            *self = Self::Piece(piece);
        }
    }

    pub(crate) fn extend_from_slice(&mut self, bytes: &[u8]) {
        let in_piece = match self {
            Self::Piece(piece) => piece.extend(bytes),
            Self::Vector(_) => false,
        };
        if !in_piece {
            self.vector().extend_from_slice(bytes);
        }
    }

    /// Room for `more` bytes, zeroed.
    pub(crate) fn grow(&mut self, more: usize) -> &mut [u8] {
        let (start, end) = (self.len(), self.len() + more);
        let in_piece = match self {
            Self::Piece(piece) => piece.resize(end),
            Self::Vector(_) => false,
        };
        if !in_piece {
            self.vector().resize(end, 0);
        }
        match self {
            Self::Vector(vector) => &mut vector[start..],
            Self::Piece(piece) => &mut piece[start..],
        }
    }

    /// Makes room for `more` bytes.
    pub(crate) fn try_reserve(&mut self, more: usize) -> Result<(), TryReserveError> {
        match self {
            Self::Piece(piece) if piece.room() >= more => Ok(()),
            _ => self.vector().try_reserve(more),
        }
    }

    pub(crate) fn truncate(&mut self, len: usize) {
        match self {
            Self::Vector(vector) => vector.truncate(len),
            Self::Piece(piece) => {
                piece.resize(len.min(piece.len()));
            }
        }
    }

    /// The bytes as a vector to append to; out of a piece they are copied.
    pub(crate) fn vector(&mut self) -> &mut Vec<u8> {
        if let Self::Piece(piece) = self {
            let mut vector = Vec::with_capacity(piece.len() * 2);
            vector.extend_from_slice(piece);
            *self = Self::Vector(vector);
        }
        match self {
            Self::Vector(vector) => vector,
            Self::Piece(_) => unreachable!("made a vector above"),
        }
    }

    /// The bytes of a column that is done, in the memory of its batch as far as there is room.
    pub(crate) fn into_buffer(self, arena: &Arena) -> Buffer {
        match self {
            // What the vectors leave behind is reused by the next column: a copy is cheaper than fresh pages.
            Self::Vector(vector) => match arena.copy(&vector) {
                Some(copy) => {
                    arena.give_vector(vector);
                    copy
                }
                None => Buffer::from_vec(vector),
            },
            Self::Piece(piece) => arena.keep(piece),
        }
    }
}

impl Deref for TextBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Vector(vector) => vector,
            Self::Piece(piece) => piece,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_outgrows_its_piece_goes_on_in_a_vector() {
        let arena = Arena::new(8 << 20);
        let mut bytes = TextBytes::Vector(Vec::new());
        bytes.expect(LEAST_PIECE - 1, &arena);
        assert!(matches!(bytes, TextBytes::Vector(_)));
        bytes.expect(LEAST_PIECE, &arena);
        assert!(matches!(bytes, TextBytes::Piece(_)));
        bytes.extend_from_slice(&vec![7; LEAST_PIECE - 1]);
        bytes.truncate(LEAST_PIECE - 3);
        bytes.extend_from_slice(&[1]);
        bytes.grow(2).copy_from_slice(&[2, 3]);
        assert!(matches!(bytes, TextBytes::Piece(_)));
        bytes.grow(1).fill(4);
        assert!(matches!(bytes, TextBytes::Vector(_)));
        assert_eq!(bytes[LEAST_PIECE - 4..], [7, 1, 2, 3, 4]);
        assert_eq!(bytes.into_buffer(&arena).len(), LEAST_PIECE + 1);
    }

    #[test]
    fn a_piece_that_is_kept_gives_back_what_it_did_not_use() {
        let arena = Arena::new(8 << 20);
        for i in 0..64 {
            let mut bytes = TextBytes::Vector(Vec::new());
            bytes.expect(4 << 20, &arena);
            assert!(matches!(bytes, TextBytes::Piece(_)), "piece {i}");
            bytes.extend_from_slice(&[i; 100]);
            assert_eq!(bytes.into_buffer(&arena).as_slice(), [i; 100]);
        }
    }
}
