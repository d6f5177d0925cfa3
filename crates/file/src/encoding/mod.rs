//! Compressive encodings: how a block of values becomes buffers, and back.
//!
//! A page describes its values by a tree of [`Encoding`]s (docs/format/encodings.md). Each has up to
//! three forms: *block* (one opaque buffer, count known from outside), *mini-block* (per chunk a fixed
//! number of buffers) and *per-value* (every value addressable by itself).
//!
//! ```text
//!                      block            mini-block       per-value
//! flat                 yes              yes              yes
//! variable             yes              yes              yes
//! detached_variable                     yes
//! bitpacking           out of line,     inline
//!                      inline
//! rle                  yes              yes
//! runs                 yes              yes
//! byte_stream_split                     yes
//! fsst                                  yes              yes
//! general              over any         over any         over variable
//! fixed_size_list      yes              yes              yes
//! packed_struct                         yes              yes, also with variable fields
//! ```
//!
//! Numbers that say where something is (2.3) have a form of their own, see [`sequence`].
//!
//! `block`, `mini_block` and `per_value` choose by description and shape; the file of an encoding has its
//! forms side by side, decode beside encode. Which width a value has is ruled by its type: a description
//! that says otherwise is corrupt.

mod arena;
mod bitpacking;
mod block;
mod byte_stream_split;
mod detached;
mod dictionary;
mod fixed_size_list;
mod flat;
mod fsst;
mod general;
pub(crate) mod hash;
mod levels;
mod mini_block;
mod packed_struct;
mod per_value;
mod rle;
mod runs;
mod scratch;
mod sequence;
#[cfg(test)]
mod tests;
mod values;
mod variable;
mod wire;

pub(crate) use arena::Arena;
pub(crate) use block::{decode_block, encode_block};
pub(crate) use dictionary::append_dictionary;
pub(crate) use fsst::{FsstCodec, train_fsst};
pub(crate) use general::{compress, decompress};
pub(crate) use levels::{append_validity, count_rle_levels, decode_levels, encode_levels, levels_at};
#[cfg(test)]
pub(crate) use mini_block::encode_chunk;
pub(crate) use mini_block::{ChunkReader, ChunkWriter};
#[cfg(test)]
pub(crate) use per_value::encode_value;
pub(crate) use per_value::{ValueReader, ValueWriter};
pub(crate) use scratch::{Lent, Scratch};
pub(crate) use sequence::{Sequence, has_payload};
pub(crate) use values::{FixedValues, ListValues, Offset, ValueType, Values, VariableValues};

use crate::Error;

impl From<pennon_codec::CodecError> for Error {
    fn from(e: pennon_codec::CodecError) -> Self {
        Self::corrupt(e.0)
    }
}

/// Runs `$body` with `$T` as the word of `$width` bytes, which the codecs' constructors admitted.
macro_rules! with_word {
    ($width:expr, $T:ident => $body:expr) => {
        match $width {
            1 => {
                type $T = u8;
                $body
            }
            2 => {
                type $T = u16;
                $body
            }
            4 => {
                type $T = u32;
                $body
            }
            8 => {
                type $T = u64;
                $body
            }
            width => Err($crate::Error::corrupt(format!("words of {width} bytes, not 1, 2, 4 or 8"))),
        }
    };
}
pub(crate) use with_word;

/// Whether a codec is prepared to read or to write: only writers need, say, a trained compressor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    Read,
    Write,
}

/// A tree that says how values are stored. The wire form stops at `wire.rs`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Encoding {
    /// Values back to back, `bits` each; 1 bit is a bitmap, anything else whole bytes.
    Flat { bits: u64 },
    /// Offsets of `offset_bits` (32 or 64) and the bytes of the values.
    Variable { offset_bits: u8 },
    /// The bytes of the values, and their offsets from 0 as a sequence of `offset_bits` beside them (2.3).
    DetachedVariable { offset_bits: u8, offsets: Box<Encoding> },
    /// No payload: every item is `value`, or null where there is none.
    Constant { value: Option<Vec<u8>> },
    /// Groups of 1024 values of `bits`, each keeping its low `packed_bits`.
    OutOfLineBitpacking { bits: u8, packed_bits: u8 },
    /// One group of at most 1024 values of `bits` behind a header word that holds the width.
    InlineBitpacking { bits: u8 },
    /// Each value compressed with a symbol table of the page (2,312 bytes).
    Fsst { table: bytes::Bytes, values: Box<Encoding> },
    /// Run values of `bits` and run lengths of one byte.
    Rle { bits: u8 },
    /// Run values and run lengths (8, 16 or 32 bits) that are encoded themselves (2.3).
    Runs { values: Box<Encoding>, lengths: Box<Encoding> },
    /// Stream j holds byte j of every value of `bits` (32 or 64).
    ByteStreamSplit { bits: u8 },
    /// The first buffer of `values` under a general compressor.
    General { scheme: Scheme, level: Option<i32>, values: Box<Encoding> },
    /// Rows of `dimension` items, whose own validity precedes them if `has_validity`.
    FixedSizeList { dimension: u64, has_validity: bool, items: Box<Encoding> },
    /// Rows of fixed-width fields without padding.
    PackedStruct { field_bits: Vec<u64> },
    /// Rows whose fields may vary in length (full-zip only).
    VariablePackedStruct { fields: Vec<PackedField> },
    /// Numbers of `bits` from `start` on, `step` apart (2.3, in sequences).
    Range { bits: u8, start: u64, step: u64 },
    /// `base`, and what every further number of `bits` adds to the one before (2.3, in sequences).
    Delta { bits: u8, base: u64, deltas: Box<Encoding> },
    /// Positions in a list of numbers (2.3, in sequences).
    Dictionary { indices: Box<Encoding>, items: Box<Encoding>, num_items: u32 },
}

/// One field of a [`Encoding::VariablePackedStruct`].
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PackedField {
    pub(crate) encoding: Encoding,
    pub(crate) width: PackedWidth,
}

/// How wide a packed field is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PackedWidth {
    /// Every value has this many bits, a multiple of 8.
    Bits(u64),
    /// A length prefix of this many bits (32 or 64) precedes each value.
    LengthBits(u64),
}

/// A general compressor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Scheme {
    /// `u32` uncompressed size, then an LZ4 block.
    Lz4,
    /// `u64` uncompressed size, then a zstd frame.
    Zstd,
}
