//! Encodings on the wire: `lance.encodings21.CompressiveEncoding`.
//!
//! ```text
//! 0a 02 08 20                      flat { 32 }
//! 12 06 | 0a 04 | 0a 02 08 20      variable { offsets: flat { 32 } }
//! ```
//!
//! Every message is checked for what holds whatever the form and the type: widths, counts, and the children
//! that an encoding must have.

use bytes::Bytes;

use super::sequence::sequence_bits;
use super::{Encoding, PackedField, PackedWidth, Scheme};
use crate::error::corrupt;
use crate::proto::encodings21 as wire;
use crate::proto::encodings21::compressive_encoding::Compression;
use crate::proto::encodings21::variable_packed_struct::{FieldEncoding, field_encoding};
use crate::{Error, Limits, Result};

/// What descriptions may say: 2.3 puts encodings where 2.1 and 2.2 have only flat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Dialect {
    /// Under `PageLayout`.
    Paged,
    /// Under `PlanarLayout`.
    Planar,
}

impl Encoding {
    /// Reads a description of 2.1 or 2.2.
    pub(crate) fn parse(message: &wire::CompressiveEncoding, limits: &Limits) -> Result<Self> {
        parse(message, limits.nesting, Dialect::Paged)
    }

    /// Reads a description of 2.3.
    pub(crate) fn parse_planar(message: &wire::CompressiveEncoding, limits: &Limits) -> Result<Self> {
        parse(message, limits.nesting, Dialect::Planar)
    }

    /// The description as it is stored.
    pub(crate) fn emit(&self) -> wire::CompressiveEncoding {
        let boxed = |e: &Self| Some(Box::new(e.emit()));
        let flat = |bits: u64| Some(Box::new(Self::Flat { bits }.emit()));
        let compression = match self {
            Self::Flat { bits } => Compression::Flat(wire::Flat { bits_per_value: *bits, data: None }),
            Self::Variable { offset_bits } => Compression::Variable(Box::new(wire::Variable {
                offsets: flat(u64::from(*offset_bits)),
                values: None,
            })),
            Self::DetachedVariable { offsets, .. } => {
                Compression::Variable(Box::new(wire::Variable { offsets: boxed(offsets), values: None }))
            }
            Self::Constant { value } => {
                Compression::Constant(wire::Constant { value: value.clone().map(Bytes::from) })
            }
            Self::OutOfLineBitpacking { bits, packed_bits } => {
                Compression::OutOfLineBitpacking(Box::new(wire::OutOfLineBitpacking {
                    uncompressed_bits_per_value: u64::from(*bits),
                    values: flat(u64::from(*packed_bits)),
                }))
            }
            Self::InlineBitpacking { bits } => Compression::InlineBitpacking(wire::InlineBitpacking {
                uncompressed_bits_per_value: u64::from(*bits),
                values: None,
            }),
            Self::Fsst { table, values } => {
                Compression::Fsst(Box::new(wire::Fsst { symbol_table: table.clone(), values: boxed(values) }))
            }
            Self::Rle { bits } => {
                Compression::Rle(Box::new(wire::Rle { values: flat(u64::from(*bits)), run_lengths: flat(8) }))
            }
            Self::Runs { values, lengths } => {
                Compression::Rle(Box::new(wire::Rle { values: boxed(values), run_lengths: boxed(lengths) }))
            }
            Self::ByteStreamSplit { bits } => Compression::ByteStreamSplit(Box::new(wire::ByteStreamSplit {
                values: flat(u64::from(*bits)),
            })),
            Self::General { scheme, level, values } => {
                let scheme = match scheme {
                    Scheme::Lz4 => wire::CompressionScheme::Lz4,
                    Scheme::Zstd => wire::CompressionScheme::Zstd,
                };
                Compression::General(Box::new(wire::General {
                    compression: Some(wire::BufferCompression { scheme: scheme.into(), level: *level }),
                    values: boxed(values),
                }))
            }
            Self::FixedSizeList { dimension, has_validity, items } => {
                Compression::FixedSizeList(Box::new(wire::FixedSizeList {
                    items_per_value: *dimension,
                    values: boxed(items),
                    has_validity: *has_validity,
                }))
            }
            Self::PackedStruct { field_bits } => Compression::PackedStruct(Box::new(wire::PackedStruct {
                bits_per_value: field_bits.clone(),
                values: flat(field_bits.iter().fold(0, |sum: u64, b| sum.saturating_add(*b))),
            })),
            Self::VariablePackedStruct { fields } => {
                let field = |f: &PackedField| FieldEncoding {
                    value: Some(f.encoding.emit()),
                    layout: Some(match f.width {
                        PackedWidth::Bits(bits) => field_encoding::Layout::BitsPerValue(bits),
                        PackedWidth::LengthBits(bits) => field_encoding::Layout::BitsPerLength(bits),
                    }),
                };
                Compression::VariablePackedStruct(wire::VariablePackedStruct {
                    fields: fields.iter().map(field).collect(),
                })
            }
            Self::Range { bits, start, step } => Compression::Range(wire::Range {
                uncompressed_bits_per_value: u64::from(*bits),
                start: *start,
                step: *step,
            }),
            Self::Delta { bits, base, deltas } => Compression::Delta(Box::new(wire::Delta {
                uncompressed_bits_per_value: u64::from(*bits),
                base: *base,
                deltas: boxed(deltas),
            })),
            Self::Dictionary { indices, items, num_items } => {
                Compression::Dictionary(Box::new(wire::Dictionary {
                    indices: boxed(indices),
                    items: boxed(items),
                    num_dictionary_items: *num_items,
                }))
            }
        };
        wire::CompressiveEncoding { compression: Some(compression) }
    }

    /// Whether stored bytes are fewer than those of the values, as a rule.
    pub(crate) fn compresses(&self) -> bool {
        !matches!(
            self,
            Self::Flat { .. }
                | Self::Variable { .. }
                | Self::DetachedVariable { .. }
                | Self::FixedSizeList { .. }
                | Self::PackedStruct { .. }
        )
    }

    /// One line for people: `flat(32)`, `fsst(variable(32))`, `lz4(flat(64))`.
    pub(crate) fn describe(&self) -> String {
        match self {
            Self::Flat { bits } => format!("flat({bits})"),
            Self::Variable { offset_bits } => format!("variable({offset_bits})"),
            Self::DetachedVariable { offsets, .. } => format!("variable({})", offsets.describe()),
            Self::Constant { value: None } => "constant(null)".to_owned(),
            Self::Constant { value: Some(value) } => format!("constant({} bytes)", value.len()),
            Self::OutOfLineBitpacking { bits, packed_bits } => format!("bitpacked({packed_bits} of {bits})"),
            Self::InlineBitpacking { bits } => format!("inline_bitpacked({bits})"),
            Self::Fsst { values, .. } => format!("fsst({})", values.describe()),
            Self::Rle { bits } => format!("rle({bits})"),
            Self::Runs { values, lengths } => format!("rle({}, {})", values.describe(), lengths.describe()),
            Self::ByteStreamSplit { bits } => format!("byte_stream_split({bits})"),
            Self::General { scheme: Scheme::Lz4, values, .. } => format!("lz4({})", values.describe()),
            Self::General { scheme: Scheme::Zstd, values, .. } => format!("zstd({})", values.describe()),
            Self::FixedSizeList { dimension, has_validity, items } => {
                let nullable = if *has_validity { ", nullable" } else { "" };
                format!("fixed_size_list({dimension}{nullable}, {})", items.describe())
            }
            Self::PackedStruct { field_bits } => {
                let fields: Vec<String> = field_bits.iter().map(u64::to_string).collect();
                format!("packed_struct({})", fields.join(", "))
            }
            Self::VariablePackedStruct { fields } => {
                let fields: Vec<String> = fields.iter().map(|f| f.encoding.describe()).collect();
                format!("variable_packed_struct({})", fields.join(", "))
            }
            Self::Range { start, step, .. } => format!("range({start}, {step})"),
            Self::Delta { base, deltas, .. } => format!("delta({base}, {})", deltas.describe()),
            Self::Dictionary { indices, items, num_items } => {
                format!("dictionary({num_items} {}, {})", items.describe(), indices.describe())
            }
        }
    }
}

fn parse(message: &wire::CompressiveEncoding, depth: usize, dialect: Dialect) -> Result<Encoding> {
    let Some(depth) = depth.checked_sub(1) else {
        return Err(Error::limit("encodings nested deeper than the limit"));
    };
    let Some(compression) = &message.compression else {
        corrupt!("an encoding without a kind that is known");
    };
    Ok(match compression {
        Compression::Flat(_) => Encoding::Flat { bits: flat(message)? },
        Compression::Variable(m) => {
            none(m.values.as_ref(), "variable values")?;
            let offsets = child(&m.offsets, "offsets")?;
            if dialect == Dialect::Planar && !matches!(offsets.compression, Some(Compression::Flat(_))) {
                let offsets = Box::new(parse(offsets, depth, dialect)?);
                return match sequence_bits(&offsets) {
                    Some(offset_bits @ (32 | 64)) => Ok(Encoding::DetachedVariable { offset_bits, offsets }),
                    _ => corrupt!("offsets described as {}", offsets.describe()),
                };
            }
            match flat(offsets)? {
                bits @ (32 | 64) => Encoding::Variable { offset_bits: bits as u8 },
                bits => corrupt!("offsets of {bits} bits, not 32 or 64"),
            }
        }
        Compression::Constant(m) => Encoding::Constant { value: m.value.as_ref().map(|v| v.to_vec()) },
        Compression::OutOfLineBitpacking(m) => {
            let bits = word(m.uncompressed_bits_per_value)?;
            // Unlike elsewhere, no bits at all are legal: every value is 0.
            let packed = child(&m.values, "bit-packed values")?;
            let packed_bits = match &packed.compression {
                Some(Compression::Flat(wire::Flat { bits_per_value, data: None })) => *bits_per_value,
                _ => corrupt!("bit-packed values that are not flat"),
            };
            if packed_bits >= u64::from(bits) {
                corrupt!("values of {packed_bits} bits packed out of words of {bits}");
            }
            Encoding::OutOfLineBitpacking { bits, packed_bits: packed_bits as u8 }
        }
        Compression::InlineBitpacking(m) => {
            none(m.values.as_ref(), "bit-packed values")?;
            Encoding::InlineBitpacking { bits: word(m.uncompressed_bits_per_value)? }
        }
        Compression::Fsst(m) => {
            let values = parse(child(&m.values, "compressed strings")?, depth, dialect)?;
            if !matches!(values, Encoding::Variable { .. }) {
                corrupt!("compressed strings stored as {}", values.describe());
            }
            Encoding::Fsst { table: m.symbol_table.clone(), values: Box::new(values) }
        }
        Compression::Dictionary(m) if dialect == Dialect::Planar => Encoding::Dictionary {
            indices: Box::new(parse(child(&m.indices, "indices")?, depth, dialect)?),
            items: Box::new(parse(child(&m.items, "items")?, depth, dialect)?),
            num_items: m.num_dictionary_items,
        },
        Compression::Range(m) if dialect == Dialect::Planar => {
            if m.step == 0 {
                corrupt!("a range from {} on that does not rise", m.start);
            }
            Encoding::Range { bits: number(m.uncompressed_bits_per_value)?, start: m.start, step: m.step }
        }
        Compression::Delta(m) if dialect == Dialect::Planar => Encoding::Delta {
            bits: number(m.uncompressed_bits_per_value)?,
            base: m.base,
            deltas: Box::new(parse(child(&m.deltas, "differences")?, depth, dialect)?),
        },
        Compression::Range(_) | Compression::Delta(_) => {
            corrupt!("an encoding of format version 2.3 in a page that is not of it")
        }
        Compression::Dictionary(_) => {
            return Err(Error::unsupported(
                "a dictionary encoding inside a page, which no format version has",
            ));
        }
        Compression::Rle(m) if dialect == Dialect::Planar => {
            let values = parse(child(&m.values, "run values")?, depth, dialect)?;
            let lengths = parse(child(&m.run_lengths, "run lengths")?, depth, dialect)?;
            match (&values, &lengths) {
                (Encoding::Flat { bits }, Encoding::Flat { bits: 8 }) => Encoding::Rle { bits: word(*bits)? },
                _ => Encoding::Runs { values: Box::new(values), lengths: Box::new(lengths) },
            }
        }
        Compression::Rle(m) => {
            let lengths = flat(child(&m.run_lengths, "run lengths")?)?;
            if lengths != 8 {
                return Err(Error::unsupported(format!("run lengths of {lengths} bits, not 8")));
            }
            Encoding::Rle { bits: word(flat(child(&m.values, "run values")?)?)? }
        }
        Compression::ByteStreamSplit(m) => match flat(child(&m.values, "byte streams")?)? {
            bits @ (32 | 64) => Encoding::ByteStreamSplit { bits: bits as u8 },
            bits => corrupt!("byte streams of {bits}-bit values, not 32 or 64"),
        },
        Compression::General(m) => {
            let Some(compression) = &m.compression else { corrupt!("a general encoding without its scheme") };
            let scheme = match wire::CompressionScheme::try_from(compression.scheme) {
                Ok(wire::CompressionScheme::Lz4) => Scheme::Lz4,
                Ok(wire::CompressionScheme::Zstd) => Scheme::Zstd,
                _ => {
                    let scheme = compression.scheme;
                    return Err(Error::unsupported(format!("general compression scheme {scheme}")));
                }
            };
            let values = Box::new(parse(child(&m.values, "compressed values")?, depth, dialect)?);
            Encoding::General { scheme, level: compression.level, values }
        }
        Compression::FixedSizeList(m) => Encoding::FixedSizeList {
            dimension: m.items_per_value,
            has_validity: m.has_validity,
            items: Box::new(parse(child(&m.values, "list items")?, depth, dialect)?),
        },
        Compression::PackedStruct(m) => {
            let row = flat(child(&m.values, "packed rows")?)?;
            let sum = m.bits_per_value.iter().try_fold(0u64, |sum, bits| sum.checked_add(*bits));
            let whole = m.bits_per_value.iter().all(|bits| *bits > 0 && bits.is_multiple_of(8));
            if !whole || sum != Some(row) {
                corrupt!("packed fields of {:?} bits in rows of {row}", m.bits_per_value);
            }
            Encoding::PackedStruct { field_bits: m.bits_per_value.clone() }
        }
        Compression::VariablePackedStruct(m) => {
            let fields = m.fields.iter().map(|f| {
                let Some(value) = &f.value else { corrupt!("a packed field without its encoding") };
                let width = match f.layout {
                    Some(field_encoding::Layout::BitsPerValue(bits))
                        if bits > 0 && bits.is_multiple_of(8) =>
                    {
                        PackedWidth::Bits(bits)
                    }
                    Some(field_encoding::Layout::BitsPerLength(bits @ (32 | 64))) => {
                        PackedWidth::LengthBits(bits)
                    }
                    other => corrupt!("a packed field with layout {other:?}"),
                };
                Ok(PackedField { encoding: parse(value, depth, dialect)?, width })
            });
            Encoding::VariablePackedStruct { fields: fields.collect::<Result<_>>()? }
        }
    })
}

fn child<'a>(
    message: &'a Option<Box<wire::CompressiveEncoding>>,
    what: &str,
) -> Result<&'a wire::CompressiveEncoding> {
    match message {
        Some(message) => Ok(message),
        None => corrupt!("an encoding without that of its {what}"),
    }
}

/// Bits of a flat encoding, which is what `message` must be: one, or whole bytes.
fn flat(message: &wire::CompressiveEncoding) -> Result<u64> {
    match &message.compression {
        Some(Compression::Flat(m)) => {
            none(m.data.as_ref(), "flat values")?;
            let bits = m.bits_per_value;
            if bits != 1 && (bits == 0 || !bits.is_multiple_of(8) || usize::try_from(bits).is_err()) {
                corrupt!("flat values of {bits} bits");
            }
            Ok(bits)
        }
        _ => Err(Error::unsupported("an encoding other than flat where the format has only that")),
    }
}

/// Buffers are not compressed by themselves in any format version.
fn none(compression: Option<&wire::BufferCompression>, what: &str) -> Result<()> {
    match compression {
        None => Ok(()),
        Some(c) => corrupt!("{what} whose buffer is compressed by scheme {}", c.scheme),
    }
}

/// Bits of the numbers of a sequence.
fn number(bits: u64) -> Result<u8> {
    match bits {
        32 | 64 => Ok(bits as u8),
        _ => corrupt!("numbers of {bits} bits, not 32 or 64"),
    }
}

/// Bits of a word.
fn word(bits: u64) -> Result<u8> {
    match bits {
        8 | 16 | 32 | 64 => Ok(bits as u8),
        _ => corrupt!("words of {bits} bits, not 8, 16, 32 or 64"),
    }
}
