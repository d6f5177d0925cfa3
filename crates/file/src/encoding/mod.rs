//! Compressive encodings: how a block of values becomes buffers, and back.
//!
//! A page describes its values by a tree of [`Encoding`]s (encodings-2.1-2.2.md §10). Each has up to
//! three forms: *block* (one opaque buffer, count known from outside), *mini-block* (per chunk a fixed
//! number of buffers) and *per-value* (every value addressable by itself).

mod values;

pub(crate) use values::{FixedValues, ListValues, Offset, ValueType, Values, VariableValues};

/// A tree that says how values are stored. The wire form stops at `wire.rs`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Encoding {
    /// Values back to back, `bits` each; 1 bit is a bitmap, anything else whole bytes.
    Flat { bits: u64 },
    /// Offsets of `offset_bits` (32 or 64) and the bytes of the values.
    Variable { offset_bits: u8 },
    /// No payload: every item is `value`, or null where there is none.
    Constant { value: Option<Vec<u8>> },
    /// Groups of 1024 values of `bits`, each keeping its low `packed_bits`.
    OutOfLineBitpacking { bits: u8, packed_bits: u8 },
    /// One group of at most 1024 values of `bits` behind a header word that holds the width.
    InlineBitpacking { bits: u8 },
    /// Each value compressed with a symbol table of the page (2,312 bytes, spec 10.6).
    Fsst { table: bytes::Bytes, values: Box<Encoding> },
    /// Run values of `bits` and run lengths of one byte.
    Rle { bits: u8 },
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
