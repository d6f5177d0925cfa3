//! The per-value form: every value by itself, as full-zip pages store them.
//!
//! ```text
//! fixed      flat, fixed-size list, packed struct     value i at a stride
//! variable   variable, FSST, general over these,      value i at a range
//!            packed struct with variable fields
//! ```

use std::ops::Range;

use super::fixed_size_list::ListCodec;
use super::fsst::FsstCodec;
use super::mini_block::offset_bits_of;
use super::packed_struct::{StructCodec, VariableStructCodec};
use super::{Encoding, Lent, Purpose, Scheme, Scratch, ValueType, Values, flat, general, variable};
use crate::error::corrupt;
use crate::{Error, Limits, Result};

/// An encoding that was checked against a shape.
pub(super) enum ValueCodec {
    /// A boolean as one byte.
    Bits,
    Flat(usize),
    List(ListCodec),
    Struct(StructCodec),
    Variable,
    Fsst(Box<FsstCodec>),
    General {
        scheme: Scheme,
        level: Option<i32>,
        values: Box<ValueCodec>,
    },
    VariableStruct(VariableStructCodec),
}

impl ValueCodec {
    pub(super) fn new(encoding: &Encoding, shape: &ValueType, purpose: Purpose) -> Result<Self> {
        Ok(match (encoding, shape) {
            (Encoding::Flat { bits: 8 }, ValueType::Bits) => Self::Bits,
            (Encoding::Flat { bits }, ValueType::Fixed(width)) if *bits == *width as u64 * 8 => {
                Self::Flat(*width)
            }
            (Encoding::FixedSizeList { .. }, ValueType::List { .. }) => {
                Self::List(ListCodec::new(encoding, shape, true)?)
            }
            (Encoding::PackedStruct { field_bits }, ValueType::Struct(_)) => {
                Self::Struct(StructCodec::new(field_bits, shape)?)
            }
            (Encoding::Variable { offset_bits }, ValueType::Variable { wide })
                if *offset_bits == offset_bits_of(*wide) =>
            {
                Self::Variable
            }
            (Encoding::Fsst { table, values }, ValueType::Variable { wide })
                if **values == (Encoding::Variable { offset_bits: offset_bits_of(*wide) }) =>
            {
                Self::Fsst(Box::new(FsstCodec::new(table, purpose)?))
            }
            (Encoding::General { scheme, level, values }, ValueType::Variable { .. }) => Self::General {
                scheme: *scheme,
                level: *level,
                values: Box::new(Self::new(values, shape, purpose)?),
            },
            (Encoding::VariablePackedStruct { fields }, ValueType::Struct(_)) => {
                Self::VariableStruct(VariableStructCodec::new(fields, shape, purpose)?)
            }
            _ => corrupt!("per-value encoding {} for values of {shape:?}", encoding.describe()),
        })
    }

    pub(super) fn fixed_bytes(&self) -> Option<usize> {
        match self {
            Self::Bits => Some(1),
            Self::Flat(width) => Some(*width),
            Self::List(codec) => Some(codec.row_bytes()),
            Self::Struct(codec) => Some(codec.row_bytes()),
            Self::Variable | Self::Fsst(_) | Self::General { .. } | Self::VariableStruct(_) => None,
        }
    }

    pub(super) fn decode_strided(
        &self,
        rows: &[u8],
        stride: usize,
        at: usize,
        count: usize,
        out: &mut Values,
    ) -> Result<()> {
        match self {
            Self::Bits => flat::decode_strided_bits(rows, stride, at, count, out.bits_mut()?),
            Self::Flat(width) => {
                flat::decode_strided(rows, stride, at, count, *width, out.fixed_mut(*width)?)
            }
            Self::List(codec) => codec.decode_strided(rows, stride, at, count, out),
            Self::Struct(codec) => codec.decode_strided(rows, stride, at, count, out),
            _ => Err(Error::invalid("values of varying width read at a stride")),
        }
    }

    pub(super) fn decode_ranges(
        &self,
        data: &[u8],
        ranges: &[Range<usize>],
        max_bytes: u64,
        out: &mut Values,
        scratch: &mut Scratch,
    ) -> Result<usize> {
        match self {
            Self::Variable => variable::append_ranges(data, ranges, out),
            Self::Fsst(codec) => codec.decode_ranges(data, ranges, out, scratch),
            Self::General { scheme, values, .. } => {
                for (done, range) in ranges.iter().enumerate() {
                    let value = variable::slice(data, range)?;
                    // A null has no bytes, not even those of a size.
                    let fits = if value.is_empty() {
                        variable::push(&[], out)?
                    } else {
                        let bytes = general::decompress(*scheme, value, max_bytes, scratch)?;
                        let fits = match &**values {
                            Self::Variable => variable::push(&bytes, out),
                            inner => {
                                let whole = 0..bytes.len();
                                let whole = std::slice::from_ref(&whole);
                                inner.decode_ranges(&bytes, whole, max_bytes, out, scratch).map(|n| n == 1)
                            }
                        };
                        scratch.give(bytes);
                        fits?
                    };
                    if !fits {
                        return Ok(done);
                    }
                }
                Ok(ranges.len())
            }
            Self::VariableStruct(codec) => codec.decode_ranges(data, ranges, max_bytes, out, scratch),
            _ => Err(Error::invalid("values of fixed width read at ranges")),
        }
    }

    pub(super) fn encode(
        &self,
        values: &Values,
        index: usize,
        out: &mut Vec<u8>,
        scratch: &mut Scratch,
    ) -> Result<()> {
        match self {
            Self::Bits => out.push(u8::from(values.bits()?.get_bit(index))),
            Self::Flat(width) => {
                out.extend_from_slice(&values.fixed_bytes(*width)?[index * width..(index + 1) * width]);
            }
            Self::List(codec) => codec.encode_row(values, index, out)?,
            Self::Struct(codec) => codec.encode_row(values, index, out)?,
            Self::Variable => out.extend_from_slice(values.variable_value(index)?),
            Self::Fsst(codec) => codec.compress(values.variable_value(index)?, out)?,
            Self::General { scheme, level, values: inner } => match &**inner {
                Self::Variable => {
                    general::compress(*scheme, *level, values.variable_value(index)?, out, scratch)?;
                }
                inner => {
                    let mut bytes = scratch.take();
                    inner.encode(values, index, &mut bytes, scratch)?;
                    general::compress(*scheme, *level, &bytes, out, scratch)?;
                    scratch.give(bytes);
                }
            },
            Self::VariableStruct(codec) => codec.encode_row(values, index, out, scratch)?,
        }
        Ok(())
    }
}

/// Decodes the values of a page one by one or in runs.
pub(crate) struct ValueReader {
    codec: ValueCodec,
    max_bytes: u64,
}

impl std::fmt::Debug for ValueReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ValueReader").field("fixed_bytes", &self.fixed_bytes()).finish_non_exhaustive()
    }
}

impl ValueReader {
    /// Prepares for values of `shape`; a description that does not suit them is corrupt.
    pub(crate) fn new(encoding: &Encoding, shape: &ValueType, limits: &Limits) -> Result<Self> {
        let codec = ValueCodec::new(encoding, shape, Purpose::Read)?;
        Ok(Self { codec, max_bytes: limits.buffer_bytes })
    }

    /// Stored bytes of every value, with the validity of list items; nothing if they vary.
    pub(crate) fn fixed_bytes(&self) -> Option<usize> {
        self.codec.fixed_bytes()
    }

    /// Appends `count` values of fixed width, value i at `rows[i * stride + at..]`.
    pub(crate) fn decode_strided(
        &self,
        rows: &[u8],
        stride: usize,
        at: usize,
        count: usize,
        out: &mut Values,
    ) -> Result<()> {
        self.codec.decode_strided(rows, stride, at, count, out)
    }

    /// Appends `count` values of fixed width that are all of `data`, sharing its memory where they are
    /// stored as Arrow has them and are the first.
    pub(crate) fn decode_shared(&self, data: &bytes::Bytes, count: usize, out: &mut Values) -> Result<()> {
        let plain = match &self.codec {
            ValueCodec::Flat(_) => true,
            ValueCodec::List(codec) => codec.is_plain(),
            _ => false,
        };
        if plain
            && self.fixed_bytes().and_then(|b| b.checked_mul(count)) == Some(data.len())
            && out.extend_shared(data, count)
        {
            return Ok(());
        }
        self.decode_strided(data, self.fixed_bytes().unwrap_or(0), 0, count, out)
    }

    /// Appends values of varying width, value i in `data[values[i]]`; says how many went in before a byte
    /// limit was met. An empty range is a null or an empty value.
    pub(crate) fn decode_variable(
        &self,
        data: &[u8],
        values: &[Range<usize>],
        out: &mut Values,
        scratch: &mut Scratch,
    ) -> Result<usize> {
        self.codec.decode_ranges(data, values, self.max_bytes, out, scratch)
    }
}

/// Encodes the values of a page.
pub(crate) struct ValueWriter {
    codec: ValueCodec,
    scratch: Lent,
}

impl std::fmt::Debug for ValueWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ValueWriter").field("fixed_bytes", &self.fixed_bytes()).finish_non_exhaustive()
    }
}

impl ValueWriter {
    /// Prepares for values of `shape`.
    pub(crate) fn new(encoding: &Encoding, shape: &ValueType) -> Result<Self> {
        let codec = ValueCodec::new(encoding, shape, Purpose::Write)?;
        Ok(Self { codec, scratch: Lent::take() })
    }

    /// Stored bytes of every value; nothing if they vary.
    pub(crate) fn fixed_bytes(&self) -> Option<usize> {
        self.codec.fixed_bytes()
    }

    /// Appends value `index`, without its length.
    pub(crate) fn encode(&mut self, values: &Values, index: usize, out: &mut Vec<u8>) -> Result<()> {
        if index >= values.len() {
            return Err(Error::invalid(format!("value {index} of {}", values.len())));
        }
        self.codec.encode(values, index, out, &mut self.scratch)
    }
}

/// One value alone; a [`ValueWriter`] serves many.
#[cfg(test)]
pub(crate) fn encode_value(e: &Encoding, values: &Values, index: usize, out: &mut Vec<u8>) -> Result<()> {
    ValueWriter::new(e, &values.shape())?.encode(values, index, out)
}
