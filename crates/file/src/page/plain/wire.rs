//! Array encodings ⇄ their protobuf messages.
//!
//! ```text
//! ArrayEncoding = 1: flat | 2: nullable | 3: fixed-size list | 4: list | 5: struct | 6: binary | 7: dictionary
//!               | 8: fsst | 9: packed struct | 10: bit stream | 11: fixed-size binary | 12: bit packing
//!               | 13 … 21: of versions that were never released             proto/encodings.proto
//! Buffer        = { 1: index, 2: of the page (0), the column (1) or the file (2) }
//! ```

use std::ops::Range;

use prost::Message;

use super::{PlainCompression, PlainEncoding, PlainLayout};
use crate::encoding::Scheme;
use crate::error::corrupt;
use crate::proto::encodings as pb;
use crate::{Error, Limits, Result};

/// The buffers that a page can name besides its own.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Borrowable<'a> {
    /// How many the page itself has.
    pub(crate) own: usize,
    pub(crate) column: &'a [Range<u64>],
    pub(crate) file: &'a [Range<u64>],
}

struct Parser<'a> {
    from: Borrowable<'a>,
    borrowed: Vec<Range<u64>>,
}

impl PlainLayout {
    /// The layout of a serialized `ArrayEncoding` message, and the buffers that it borrows: they are numbered
    /// from [`Borrowable::own`] on.
    pub(crate) fn parse(
        message: &[u8],
        from: Borrowable<'_>,
        limits: &Limits,
    ) -> Result<(Self, Vec<Range<u64>>)> {
        let message = pb::ArrayEncoding::decode(message)
            .map_err(|e| Error::corrupt(format!("a page description that is not protobuf: {e}")))?;
        let mut parser = Parser { from, borrowed: Vec::new() };
        let encoding = parser.parse(&message, limits.nesting)?;
        Ok((Self { encoding }, parser.borrowed))
    }

    /// The serialized `ArrayEncoding` message.
    pub(crate) fn emit(&self) -> Vec<u8> {
        emit(&self.encoding).encode_to_vec()
    }
}

impl Parser<'_> {
    fn parse(&mut self, message: &pb::ArrayEncoding, depth: usize) -> Result<PlainEncoding> {
        use pb::array_encoding::ArrayEncoding as Wire;
        let Some(depth) = depth.checked_sub(1) else {
            return Err(Error::limit("array encodings nested too deeply"));
        };
        let Some(encoding) = &message.array_encoding else {
            return Err(Error::unsupported("an array encoding that is absent, or of a kind not known"));
        };
        let unreleased = |name: &str| {
            Err(Error::unsupported(format!("array encoding {name}, of a version that was never released")))
        };
        Ok(match encoding {
            Wire::Flat(m) => PlainEncoding::Flat {
                bits: m.bits_per_value,
                buffer: self.buffer(&m.buffer, "flat values")?,
                compression: m.compression.as_ref().map(compression).transpose()?,
            },
            Wire::Nullable(m) => self.nullable(m, depth)?,
            Wire::FixedSizeList(m) => PlainEncoding::FixedSizeList {
                dimension: m.dimension,
                items: self.child(&m.items, "the items of fixed-size lists", depth)?,
            },
            Wire::List(m) => PlainEncoding::List {
                offsets: self.child(&m.offsets, "the offsets of lists", depth)?,
                null_adjustment: m.null_offset_adjustment,
                num_items: m.num_items,
            },
            Wire::Struct(_) => PlainEncoding::Struct,
            Wire::Binary(m) => PlainEncoding::Binary {
                indices: self.child(&m.indices, "the indices of binary values", depth)?,
                bytes: self.child(&m.bytes, "the bytes of binary values", depth)?,
                null_adjustment: m.null_adjustment,
            },
            Wire::Dictionary(m) => PlainEncoding::Dictionary {
                indices: self.child(&m.indices, "the indices into a dictionary", depth)?,
                items: self.child(&m.items, "the items of a dictionary", depth)?,
                num_items: m.num_dictionary_items,
            },
            Wire::Fsst(m) => PlainEncoding::Fsst {
                table: m.symbol_table.clone(),
                values: self.child(&m.binary, "compressed strings", depth)?,
            },
            Wire::PackedStruct(m) => PlainEncoding::PackedStruct {
                field_bits: m.inner.iter().map(field_bits).collect(),
                buffer: self.buffer(&m.buffer, "packed structs")?,
            },
            Wire::Bitpacked(m) => {
                let (bits, packed_bits) = widths(m.uncompressed_bits_per_value, m.compressed_bits_per_value)?;
                let buffer = self.buffer(&m.buffer, "a stream of bits")?;
                PlainEncoding::Bitpacked { bits, packed_bits, signed: m.signed, buffer }
            }
            Wire::BitpackedForNonNeg(m) => {
                let (bits, packed_bits) = widths(m.uncompressed_bits_per_value, m.compressed_bits_per_value)?;
                let buffer = self.buffer(&m.buffer, "packed values")?;
                PlainEncoding::BitpackedGroups { bits, packed_bits, buffer }
            }
            Wire::FixedSizeBinary(m) => PlainEncoding::FixedSizeBinary {
                bytes: self.child(&m.bytes, "the bytes of strings of one length", depth)?,
                byte_width: m.byte_width,
            },
            Wire::Constant(_) => return unreleased("constant"),
            Wire::InlineBitpacking(_) => return unreleased("inline bit packing"),
            Wire::OutOfLineBitpacking(_) => return unreleased("out-of-line bit packing"),
            Wire::Variable(_) => return unreleased("variable"),
            Wire::PackedStructFixedWidthMiniBlock(_) => return unreleased("packed struct in mini-blocks"),
            Wire::Block(_) => return unreleased("block"),
            Wire::Rle(_) => return unreleased("run lengths"),
            Wire::GeneralMiniBlock(_) => return unreleased("general compression of mini-blocks"),
            Wire::ByteStreamSplit(_) => return unreleased("byte stream split"),
        })
    }

    fn nullable(&mut self, message: &pb::Nullable, depth: usize) -> Result<PlainEncoding> {
        use pb::nullable::Nullability;
        Ok(match &message.nullability {
            Some(Nullability::NoNulls(m)) => {
                PlainEncoding::NoNull { values: self.child(&m.values, "values without nulls", depth)? }
            }
            Some(Nullability::SomeNulls(m)) => PlainEncoding::SomeNull {
                validity: self.child(&m.validity, "validity", depth)?,
                values: self.child(&m.values, "values with nulls", depth)?,
            },
            Some(Nullability::AllNulls(_)) => PlainEncoding::AllNull,
            None => corrupt!("a nullable array that does not say which of its values are null"),
        })
    }

    fn child<E: AsRef<pb::ArrayEncoding>>(
        &mut self,
        message: &Option<E>,
        what: &str,
        depth: usize,
    ) -> Result<Box<PlainEncoding>> {
        match message {
            Some(message) => self.parse(message.as_ref(), depth).map(Box::new),
            None => corrupt!("a page does not say how {what} are encoded"),
        }
    }

    /// The number of a buffer, which is borrowed if it is not the page's own.
    fn buffer(&mut self, buffer: &Option<pb::Buffer>, what: &str) -> Result<usize> {
        // The first buffer of the page is an empty message, which some leave out.
        let buffer = buffer.unwrap_or_default();
        let index = buffer.buffer_index as usize;
        let (whose, from) = match pb::buffer::BufferType::try_from(buffer.buffer_type) {
            Ok(pb::buffer::BufferType::Page) if index < self.from.own => return Ok(index),
            Ok(pb::buffer::BufferType::Page) => {
                corrupt!("{what} in buffer {index} of a page that has {}", self.from.own)
            }
            Ok(pb::buffer::BufferType::Column) => ("column", self.from.column),
            Ok(pb::buffer::BufferType::File) => ("file", self.from.file),
            Err(_) => corrupt!("{what} in a buffer of unknown kind {}", buffer.buffer_type),
        };
        let Some(range) = from.get(index) else {
            corrupt!("{what} in buffer {index} of the {whose}, which has {}", from.len())
        };
        self.borrowed.push(range.clone());
        Ok(self.from.own + self.borrowed.len() - 1)
    }
}

fn compression(message: &pb::Compression) -> Result<PlainCompression> {
    let scheme = match message.scheme.as_str() {
        "none" | "" => None,
        "zstd" => Some(Scheme::Zstd),
        "lz4" => Some(Scheme::Lz4),
        other => {
            return Err(Error::unsupported(format!("compression {other:?}; known are none, zstd and lz4")));
        }
    };
    Ok(PlainCompression { scheme, level: message.level })
}

/// Widths of a value before and after packing.
fn widths(bits: u64, packed_bits: u64) -> Result<(u8, u8)> {
    if !matches!(bits, 8 | 16 | 32 | 64) || packed_bits == 0 || packed_bits > bits {
        corrupt!("values of {bits} bits packed into {packed_bits}");
    }
    Ok((bits as u8, packed_bits as u8))
}

/// The width that a packed field claims; 0 where it is not told simply.
fn field_bits(message: &pb::ArrayEncoding) -> u64 {
    use pb::array_encoding::ArrayEncoding as Wire;
    match &message.array_encoding {
        Some(Wire::Flat(m)) => m.bits_per_value,
        Some(Wire::Nullable(m)) => match &m.nullability {
            Some(pb::nullable::Nullability::NoNulls(m)) => m.values.as_ref().map_or(0, |v| field_bits(v)),
            _ => 0,
        },
        Some(Wire::FixedSizeList(m)) => {
            m.items.as_ref().map_or(0, |v| field_bits(v).saturating_mul(m.dimension.into()))
        }
        _ => 0,
    }
}

fn emit(encoding: &PlainEncoding) -> pb::ArrayEncoding {
    use pb::array_encoding::ArrayEncoding as Wire;
    // Writers have buffers of the page only.
    let buffer = |index: usize| Some(pb::Buffer { buffer_index: index as u32, buffer_type: 0 });
    let child = |encoding: &PlainEncoding| Some(Box::new(emit(encoding)));
    let nullable = |nullability| Wire::Nullable(Box::new(pb::Nullable { nullability: Some(nullability) }));
    let flat =
        |bits: u64, index: usize| pb::Flat { bits_per_value: bits, buffer: buffer(index), compression: None };
    let encoding = match encoding {
        PlainEncoding::Flat { bits, buffer, compression } => {
            let compression = compression.map(|c| pb::Compression {
                scheme: match c.scheme {
                    None => "none",
                    Some(Scheme::Zstd) => "zstd",
                    Some(Scheme::Lz4) => "lz4",
                }
                .to_owned(),
                level: c.level,
            });
            Wire::Flat(pb::Flat { compression, ..flat(*bits, *buffer) })
        }
        PlainEncoding::NoNull { values } => {
            let values = pb::nullable::NoNull { values: child(values) };
            nullable(pb::nullable::Nullability::NoNulls(Box::new(values)))
        }
        PlainEncoding::SomeNull { validity, values } => {
            let both = pb::nullable::SomeNull { validity: child(validity), values: child(values) };
            nullable(pb::nullable::Nullability::SomeNulls(Box::new(both)))
        }
        PlainEncoding::AllNull => nullable(pb::nullable::Nullability::AllNulls(pb::nullable::AllNull {})),
        PlainEncoding::FixedSizeList { dimension, items } => {
            Wire::FixedSizeList(Box::new(pb::FixedSizeList {
                dimension: *dimension,
                items: child(items),
                has_validity: false,
            }))
        }
        PlainEncoding::List { offsets, null_adjustment, num_items } => Wire::List(Box::new(pb::List {
            offsets: child(offsets),
            null_offset_adjustment: *null_adjustment,
            num_items: *num_items,
        })),
        PlainEncoding::Struct => Wire::Struct(pb::SimpleStruct {}),
        PlainEncoding::Binary { indices, bytes, null_adjustment } => Wire::Binary(Box::new(pb::Binary {
            indices: child(indices),
            bytes: child(bytes),
            null_adjustment: *null_adjustment,
        })),
        PlainEncoding::Dictionary { indices, items, num_items } => {
            Wire::Dictionary(Box::new(pb::Dictionary {
                indices: child(indices),
                items: child(items),
                num_dictionary_items: *num_items,
            }))
        }
        PlainEncoding::Fsst { table, values } => {
            Wire::Fsst(Box::new(pb::Fsst { binary: child(values), symbol_table: table.clone() }))
        }
        PlainEncoding::PackedStruct { field_bits, buffer: index } => {
            let inner =
                field_bits.iter().map(|bits| emit(&PlainEncoding::no_null(PlainEncoding::flat(*bits, 0))));
            Wire::PackedStruct(pb::PackedStruct { inner: inner.collect(), buffer: buffer(*index) })
        }
        PlainEncoding::Bitpacked { bits, packed_bits, signed, buffer: index } => {
            Wire::Bitpacked(pb::Bitpacked {
                compressed_bits_per_value: (*packed_bits).into(),
                uncompressed_bits_per_value: (*bits).into(),
                buffer: buffer(*index),
                signed: *signed,
            })
        }
        PlainEncoding::BitpackedGroups { bits, packed_bits, buffer: index } => {
            Wire::BitpackedForNonNeg(pb::BitpackedForNonNeg {
                compressed_bits_per_value: (*packed_bits).into(),
                uncompressed_bits_per_value: (*bits).into(),
                buffer: buffer(*index),
            })
        }
        PlainEncoding::FixedSizeBinary { bytes, byte_width } => {
            Wire::FixedSizeBinary(Box::new(pb::FixedSizeBinary {
                bytes: child(bytes),
                byte_width: *byte_width,
            }))
        }
    };
    pb::ArrayEncoding { array_encoding: Some(encoding) }
}
