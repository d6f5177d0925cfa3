//! Pages of format version 2.0: a tree of array encodings whose leaves name buffers.
//!
//! ```text
//! nullable     validity bitmap | the values' buffers                    n slots, null ones included
//! flat         n × width bytes, or n bits                               zstd and lz4 over all of it
//! binary       n × u64: where each value ends (+ adjustment if null) | bytes of all values
//! dictionary   indices' buffers | items' buffers
//! list         n × u64: where each list ends (+ adjustment if null)     a column of its own: items are in the next
//! struct       nothing                                                  a column of its own: members are in the next
//! ```
//!
//! There are no levels: lists and structs have columns of their own, and structs no validity at all. A page says nothing
//! about types either; the schema does. See docs/format/plain.md.

mod arrays;
mod binary;
mod decode;
mod dictionary;
mod encode;
mod ends;
mod lists;
mod reader;
#[cfg(test)]
mod tests;
mod wire;

pub(crate) use decode::{PlainIndex, PlainPage, decode};
pub(crate) use encode::{PlainChoice, PlainPageParts, StringDictionary, encode, header, offsets};
pub(crate) use lists::{StoredList, read_lists};
pub(crate) use wire::Borrowable;

use bytes::Bytes;

use crate::encoding::Scheme;

/// The tree that describes a page.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PlainLayout {
    pub(crate) encoding: PlainEncoding,
}

/// How an array becomes buffers. Buffers are numbered as [`super::PageBuffers`] has them: those of the page, then
/// what it borrows from its column or file.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum PlainEncoding {
    /// Values of `bits` back to back; 1 bit is a bitmap, anything else whole bytes.
    Flat { bits: u64, buffer: usize, compression: Option<PlainCompression> },
    /// No nulls.
    NoNull { values: Box<PlainEncoding> },
    /// A bitmap, set where valid, beside values for all slots.
    SomeNull { validity: Box<PlainEncoding>, values: Box<PlainEncoding> },
    /// Nulls, as many as the page has rows.
    AllNull,
    /// `dimension` items for each row.
    FixedSizeList { dimension: u32, items: Box<PlainEncoding> },
    /// Where each list ends; the items have columns of their own.
    List { offsets: Box<PlainEncoding>, null_adjustment: u64, num_items: u64 },
    /// That there are structs; the members have columns of their own.
    Struct,
    /// Where each value ends, and the bytes of all.
    Binary { indices: Box<PlainEncoding>, bytes: Box<PlainEncoding>, null_adjustment: u64 },
    /// Positions in an array of different values.
    Dictionary { indices: Box<PlainEncoding>, items: Box<PlainEncoding>, num_items: u32 },
    /// Each value compressed with a symbol table (2,312 bytes).
    Fsst { table: Bytes, values: Box<PlainEncoding> },
    /// Rows of fixed-width fields without padding. `field_bits` tells nothing to a reader: the schema does.
    PackedStruct { field_bits: Vec<u64>, buffer: usize },
    /// A stream of bits, `packed_bits` for each value of `bits`.
    Bitpacked { bits: u8, packed_bits: u8, signed: bool, buffer: usize },
    /// Groups of 1024 values of `bits`, each keeping its low `packed_bits`.
    BitpackedGroups { bits: u8, packed_bits: u8, buffer: usize },
    /// Strings of one length.
    FixedSizeBinary { bytes: Box<PlainEncoding>, byte_width: u32 },
}

/// General compression of a whole flat buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PlainCompression {
    /// `None` where the description says that there is no compression, in so many words.
    pub(crate) scheme: Option<Scheme>,
    /// Informational.
    pub(crate) level: Option<i32>,
}

impl PlainEncoding {
    /// As in `nullable(flat(32))`.
    pub(crate) fn describe(&self) -> String {
        let compressed = |c: &Option<PlainCompression>, text: String| match c.and_then(|c| c.scheme) {
            Some(Scheme::Lz4) => format!("lz4({text})"),
            Some(Scheme::Zstd) => format!("zstd({text})"),
            None => text,
        };
        match self {
            Self::Flat { bits, compression, .. } => compressed(compression, format!("flat({bits})")),
            // What all pages have says nothing about this one.
            Self::NoNull { values } => values.describe(),
            Self::SomeNull { values, .. } => format!("nullable({})", values.describe()),
            Self::AllNull => "null".to_owned(),
            Self::FixedSizeList { dimension, items } => {
                format!("fixed_size_list({dimension}, {})", items.describe())
            }
            Self::List { offsets, .. } => format!("list({})", offsets.describe()),
            Self::Struct => "struct".to_owned(),
            Self::Binary { bytes, .. } => format!("binary({})", bytes.describe()),
            Self::Dictionary { indices, items, num_items } => {
                format!("dictionary({num_items} × {}, {})", items.describe(), indices.describe())
            }
            Self::Fsst { values, .. } => format!("fsst({})", values.describe()),
            Self::PackedStruct { field_bits, .. } => {
                let fields: Vec<String> = field_bits.iter().map(u64::to_string).collect();
                format!("packed_struct({})", fields.join(", "))
            }
            Self::Bitpacked { bits, packed_bits, .. } => format!("bit_stream({packed_bits} of {bits})"),
            Self::BitpackedGroups { bits, packed_bits, .. } => format!("bitpacked({packed_bits} of {bits})"),
            Self::FixedSizeBinary { bytes, byte_width } => {
                format!("fixed_size_binary({byte_width}, {})", bytes.describe())
            }
        }
    }

    /// Whether stored bytes are fewer than those of the values, as a rule.
    pub(crate) fn compresses(&self) -> bool {
        match self {
            Self::Flat { compression, .. } => compression.is_some_and(|c| c.scheme.is_some()),
            Self::NoNull { values } | Self::SomeNull { values, .. } => values.compresses(),
            Self::FixedSizeList { items, .. } => items.compresses(),
            Self::Binary { bytes, .. } | Self::FixedSizeBinary { bytes, .. } => bytes.compresses(),
            Self::Dictionary { .. } | Self::Fsst { .. } => true,
            Self::Bitpacked { .. } | Self::BitpackedGroups { .. } => true,
            Self::AllNull | Self::List { .. } | Self::Struct | Self::PackedStruct { .. } => false,
        }
    }

    /// Whether values are handed out as they are in the file.
    pub(crate) fn is_sliced(&self) -> bool {
        match self {
            Self::Flat { bits, compression, .. } => {
                *bits >= 8 && compression.is_none_or(|c| c.scheme.is_none())
            }
            Self::NoNull { values } | Self::SomeNull { values, .. } => values.is_sliced(),
            Self::FixedSizeList { items, .. } => items.is_sliced(),
            _ => false,
        }
    }

    /// Flat values without compression.
    pub(crate) fn flat(bits: u64, buffer: usize) -> Self {
        Self::Flat { bits, buffer, compression: None }
    }

    /// Values that are said to have no nulls.
    pub(crate) fn no_null(values: Self) -> Self {
        Self::NoNull { values: Box::new(values) }
    }
}
