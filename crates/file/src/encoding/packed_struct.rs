//! Packed structs: the fields of a row side by side.
//!
//! ```text
//! fixed      row: field 0 | field 1 | …           whole bytes each, no padding
//! variable   row: per field: its bytes, or u32/u64: length | bytes, encoded as the field says
//!            a row of no bytes is a null struct; its fields become placeholders
//! ```
//!
//! The fixed form is a mini-block buffer of such rows, or a value by itself; the variable form is always a
//! value by itself.

use std::ops::Range;

use super::per_value::ValueCodec;
use super::{Encoding, PackedField, PackedWidth, Purpose, Scratch, ValueType, Values, flat};
use crate::error::corrupt;
use crate::{Error, Result};

/// A struct of fixed-width fields.
#[derive(Debug)]
pub(super) struct StructCodec {
    /// Bytes of each field.
    widths: Vec<usize>,
    row_bytes: usize,
}

impl StructCodec {
    pub(super) fn new(field_bits: &[u64], shape: &ValueType) -> Result<Self> {
        let ValueType::Struct(fields) = shape else { corrupt!("a packed struct for values of {shape:?}") };
        if fields.len() != field_bits.len() || fields.is_empty() {
            corrupt!("{} packed fields where the type has {}", field_bits.len(), fields.len());
        }
        let mut widths = Vec::with_capacity(fields.len());
        for (bits, field) in field_bits.iter().zip(fields) {
            match field {
                ValueType::Fixed(width) if *bits == *width as u64 * 8 => widths.push(*width),
                other => corrupt!("a packed field of {bits} bits for values of {other:?}"),
            }
        }
        let Some(row_bytes) = widths.iter().try_fold(0usize, |sum, w| sum.checked_add(*w)) else {
            corrupt!("packed fields whose widths pass the address space");
        };
        Ok(Self { widths, row_bytes })
    }

    pub(super) fn row_bytes(&self) -> usize {
        self.row_bytes
    }

    pub(super) fn decode(
        &self,
        data: &[u8],
        num_values: usize,
        range: Range<usize>,
        out: &mut Values,
    ) -> Result<usize> {
        flat::check(self.row_bytes, data, num_values)?;
        let rows = &data[range.start * self.row_bytes..range.end * self.row_bytes];
        self.decode_strided(rows, self.row_bytes, 0, range.len(), out)?;
        Ok(range.len())
    }

    pub(super) fn decode_points(
        &self,
        data: &[u8],
        num_values: usize,
        points: &[u32],
        out: &mut Values,
    ) -> Result<usize> {
        flat::check(self.row_bytes, data, num_values)?;
        for &point in points {
            let row = &data[point as usize * self.row_bytes..][..self.row_bytes];
            self.decode_strided(row, self.row_bytes, 0, 1, out)?;
        }
        Ok(points.len())
    }

    /// Appends `count` rows, row i at `rows[i * stride + at..]`.
    pub(super) fn decode_strided(
        &self,
        rows: &[u8],
        stride: usize,
        at: usize,
        count: usize,
        out: &mut Values,
    ) -> Result<()> {
        if !flat::strided_fits(rows, stride, at, count, self.row_bytes) {
            corrupt!("{} bytes where {count} rows of {stride} bytes are expected", rows.len());
        }
        let (fields, len) = out.struct_mut(self.widths.len())?;
        let mut at = at;
        for (field, width) in fields.iter_mut().zip(&self.widths) {
            flat::decode_strided(rows, stride, at, count, *width, field.fixed_mut(*width)?)?;
            at += width;
        }
        *len += count;
        Ok(())
    }

    pub(super) fn encode(&self, values: &Values, range: Range<usize>) -> Result<Vec<u8>> {
        let mut out = Vec::with_capacity(range.len() * self.row_bytes);
        for index in range {
            self.encode_row(values, index, &mut out)?;
        }
        Ok(out)
    }

    pub(super) fn encode_row(&self, values: &Values, index: usize, out: &mut Vec<u8>) -> Result<()> {
        for (field, width) in values.struct_fields(self.widths.len())?.iter().zip(&self.widths) {
            out.extend_from_slice(&field.fixed_bytes(*width)?[index * width..(index + 1) * width]);
        }
        Ok(())
    }
}

/// A struct of which some fields vary in width.
pub(super) struct VariableStructCodec {
    fields: Vec<FieldCodec>,
}

struct FieldCodec {
    codec: ValueCodec,
    width: FieldWidth,
}

/// Bytes of a field, or of its length prefix.
#[derive(Clone, Copy)]
enum FieldWidth {
    Bytes(usize),
    Prefix(usize),
}

impl VariableStructCodec {
    pub(super) fn new(fields: &[PackedField], shape: &ValueType, purpose: Purpose) -> Result<Self> {
        let ValueType::Struct(types) = shape else { corrupt!("a packed struct for values of {shape:?}") };
        if types.len() != fields.len() || fields.is_empty() {
            corrupt!("{} packed fields where the type has {}", fields.len(), types.len());
        }
        let fields = fields.iter().zip(types).map(|(field, shape)| {
            let whole =
                matches!(shape, ValueType::Fixed(_) | ValueType::Variable { .. } | ValueType::List { .. });
            if !whole || matches!(field.encoding, Encoding::VariablePackedStruct { .. }) {
                corrupt!("a packed field {} for values of {shape:?}", field.encoding.describe());
            }
            let codec = ValueCodec::new(&field.encoding, shape, purpose)?;
            let width = match (field.width, codec.fixed_bytes()) {
                (PackedWidth::Bits(bits), Some(bytes)) if Some(bits) == (bytes as u64).checked_mul(8) => {
                    FieldWidth::Bytes(bytes)
                }
                (PackedWidth::LengthBits(bits @ (32 | 64)), None) => FieldWidth::Prefix(bits as usize / 8),
                (width, _) => corrupt!("{width:?} of a packed field {}", field.encoding.describe()),
            };
            Ok(FieldCodec { codec, width })
        });
        Ok(Self { fields: fields.collect::<Result<_>>()? })
    }

    /// Appends the rows `data[r]`.
    pub(super) fn decode_ranges(
        &self,
        data: &[u8],
        ranges: &[Range<usize>],
        max_bytes: u64,
        out: &mut Values,
        scratch: &mut Scratch,
    ) -> Result<usize> {
        for (done, range) in ranges.iter().enumerate() {
            let row = super::variable::slice(data, range)?;
            if !self.decode_row(row, max_bytes, out, scratch)? {
                return Ok(done);
            }
        }
        Ok(ranges.len())
    }

    /// Appends one row, or nothing if a field does not fit.
    fn decode_row(
        &self,
        row: &[u8],
        max_bytes: u64,
        out: &mut Values,
        scratch: &mut Scratch,
    ) -> Result<bool> {
        if row.is_empty() {
            out.push_defaults(1);
            return Ok(true);
        }
        let (fields, len) = out.struct_mut(self.fields.len())?;
        let mut rest = row;
        for (i, field) in self.fields.iter().enumerate() {
            let short = || Error::corrupt(format!("packed row of {} bytes ends in field {i}", row.len()));
            let bytes = match field.width {
                FieldWidth::Bytes(bytes) => bytes,
                FieldWidth::Prefix(prefix) => {
                    let (length, behind) = rest.split_at_checked(prefix).ok_or_else(short)?;
                    rest = behind;
                    let mut word = [0; 8];
                    word[..prefix].copy_from_slice(length);
                    usize::try_from(u64::from_le_bytes(word)).map_err(|_| short())?
                }
            };
            let (value, behind) = rest.split_at_checked(bytes).ok_or_else(short)?;
            rest = behind;
            let fits = match field.width {
                FieldWidth::Bytes(stride) => {
                    field.codec.decode_strided(value, stride, 0, 1, &mut fields[i])?;
                    true
                }
                FieldWidth::Prefix(_) => {
                    let whole = 0..value.len();
                    let whole = std::slice::from_ref(&whole);
                    field.codec.decode_ranges(value, whole, max_bytes, &mut fields[i], scratch)? == 1
                }
            };
            if !fits {
                // The fields before this one give back what they took.
                fields.iter_mut().for_each(|f| f.truncate(*len));
                return Ok(false);
            }
        }
        if !rest.is_empty() {
            corrupt!("{} bytes behind the fields of a packed row of {}", rest.len(), row.len());
        }
        *len += 1;
        Ok(true)
    }

    pub(super) fn encode_row(
        &self,
        values: &Values,
        index: usize,
        out: &mut Vec<u8>,
        scratch: &mut Scratch,
    ) -> Result<()> {
        for (field, values) in self.fields.iter().zip(values.struct_fields(self.fields.len())?) {
            let FieldWidth::Prefix(prefix) = field.width else {
                field.codec.encode(values, index, out, scratch)?;
                continue;
            };
            let at = out.len();
            out.resize(at + prefix, 0);
            field.codec.encode(values, index, out, scratch)?;
            let length = (out.len() - at - prefix) as u64;
            if prefix == 4 && u32::try_from(length).is_err() {
                return Err(Error::invalid(format!("a packed field of {length} bytes")));
            }
            out[at..at + prefix].copy_from_slice(&length.to_le_bytes()[..prefix]);
        }
        Ok(())
    }
}
