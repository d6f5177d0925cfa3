//! A page's tree of encodings checked against the schema's type, and ranges of it read into values.
//!
//! Bound on reads: of bitmaps and flat values the bytes under the rows asked for; `binary.rs` and `dictionary.rs` say
//! theirs.

use std::ops::Range;

use arrow_buffer::{BooleanBuffer, BooleanBufferBuilder};

use super::super::leaf_data::Validity;
use super::PlainEncoding;
use super::arrays::{Access, BitArray, FixedArray, scaled};
use super::binary::{BinaryArray, extend};
use super::dictionary::{DictionaryArray, Items};
use crate::encoding::{FsstCodec, ListValues, Purpose, ValueType, Values};
use crate::error::corrupt;
use crate::{Error, Result};

/// An array of a page, of the shape that the schema gives it.
pub(super) enum Array {
    Fixed(FixedArray),
    Bits(BitArray),
    /// Values under a bitmap.
    SomeNull {
        validity: BitArray,
        values: Box<Array>,
    },
    AllNull,
    List {
        dimension: u64,
        items: Box<Array>,
    },
    Binary(BinaryArray),
    /// Strings of one length.
    FixedBinary {
        bytes: FixedArray,
        byte_width: u64,
    },
    Fsst {
        codec: FsstCodec,
        strings: BinaryArray,
    },
    Rows {
        fields: Vec<ValueType>,
        row: FixedArray,
    },
    Dictionary(DictionaryArray),
}

impl Array {
    /// Checks an encoding against the shape of the values; `keys` is the width of keys in bytes where the column is of
    /// dictionary type.
    pub(super) fn new(encoding: &PlainEncoding, shape: &ValueType, keys: Option<usize>) -> Result<Self> {
        Ok(match (encoding, shape) {
            (PlainEncoding::NoNull { values }, _) => return Self::new(values, shape, keys),
            (PlainEncoding::SomeNull { validity, values }, _) => Self::SomeNull {
                validity: BitArray::new(validity)?,
                values: Box::new(Self::new(values, shape, keys)?),
            },
            (PlainEncoding::AllNull, _) => Self::AllNull,
            (PlainEncoding::Dictionary { indices, items, num_items }, _) => {
                let (validity, indices) = match &**indices {
                    PlainEncoding::SomeNull { validity, values } => (Some(BitArray::new(validity)?), values),
                    _ => (None, indices),
                };
                if keys.is_none() && !matches!(shape, ValueType::Variable { .. }) {
                    corrupt!("a dictionary for values of {shape:?}");
                }
                Self::Dictionary(DictionaryArray {
                    validity,
                    indices: FixedArray::new(indices, keys.unwrap_or(1))?,
                    items: Box::new(Self::new(items, shape, None)?),
                    num_items: (*num_items).into(),
                    keeps_keys: keys.is_some(),
                })
            }
            (other, _) if keys.is_some() => {
                corrupt!("{} in a column of dictionary type", other.describe())
            }
            (
                PlainEncoding::FixedSizeList { dimension, items },
                ValueType::List { dimension: expected, items: shape },
            ) => {
                if *dimension as usize != *expected {
                    corrupt!("lists of {dimension} items where the column has {expected}");
                }
                if shape.fixed_bits().is_none() {
                    return Err(Error::unsupported("fixed-size lists of values that vary in length in 2.0"));
                }
                Self::List { dimension: (*dimension).into(), items: Box::new(Self::new(items, shape, None)?) }
            }
            // A struct without fields: what is there reads as null, as it does in later versions.
            (PlainEncoding::Struct, ValueType::Null) => Self::AllNull,
            (PlainEncoding::Binary { .. }, ValueType::Variable { .. }) => {
                Self::Binary(BinaryArray::new(encoding)?)
            }
            (PlainEncoding::Fsst { table, values }, ValueType::Variable { .. }) => Self::Fsst {
                codec: FsstCodec::new(table, Purpose::Read)?,
                strings: BinaryArray::new(values)?,
            },
            (PlainEncoding::FixedSizeBinary { bytes, byte_width }, ValueType::Variable { .. }) => {
                Self::FixedBinary { bytes: FixedArray::of_bytes(bytes)?, byte_width: (*byte_width).into() }
            }
            (PlainEncoding::PackedStruct { buffer, .. }, ValueType::Struct(fields)) => {
                let Some(width) = shape.fixed_bytes().filter(|bytes| *bytes > 0) else {
                    corrupt!("a packed struct with fields {fields:?}");
                };
                if fields.iter().any(|f| !is_whole_bytes(f)) {
                    corrupt!("a packed struct with fields {fields:?}");
                }
                let rows = PlainEncoding::flat(width as u64 * 8, *buffer);
                Self::Rows { fields: fields.clone(), row: FixedArray::new(&rows, width)? }
            }
            (PlainEncoding::List { .. }, ValueType::Variable { .. }) => {
                return Err(Error::unsupported(
                    "strings stored as lists of bytes in two columns, as very old releases did",
                ));
            }
            (_, ValueType::Fixed(width)) => Self::Fixed(FixedArray::new(encoding, *width)?),
            (_, ValueType::Bits) => Self::Bits(BitArray::new(encoding)?),
            (other, shape) => corrupt!("{} for values of {shape:?}", other.describe()),
        })
    }

    /// The dictionary in here.
    pub(super) fn dictionary(&self) -> Option<&DictionaryArray> {
        match self {
            Self::Dictionary(dictionary) => Some(dictionary),
            Self::SomeNull { values, .. } => values.dictionary(),
            _ => None,
        }
    }

    /// Adds what `rows` need; what is behind an index only once that is there.
    pub(super) fn want(
        &self,
        rows: &Range<u64>,
        access: &Access<'_>,
        needs: &mut Vec<Range<u64>>,
    ) -> Result<()> {
        match self {
            Self::Fixed(values) | Self::Rows { row: values, .. } => values.want(rows, access, needs),
            Self::Bits(values) => values.want(rows, access, needs),
            Self::SomeNull { validity, values } => {
                validity.want(rows, access, needs)?;
                values.want(rows, access, needs)
            }
            Self::AllNull => Ok(()),
            Self::List { dimension, items } => items.want(&scaled(rows, *dimension)?, access, needs),
            Self::Binary(strings) | Self::Fsst { strings, .. } => strings.want(rows, access, needs),
            Self::FixedBinary { bytes, byte_width } => bytes.want(&scaled(rows, *byte_width)?, access, needs),
            Self::Dictionary(dictionary) => {
                if let Some(validity) = &dictionary.validity {
                    validity.want(rows, access, needs)?;
                }
                dictionary.indices.want(rows, access, needs)
            }
        }
    }

    /// Appends `rows` and their validity; says how many went in before the byte limit of `out` was met.
    pub(super) fn append(
        &self,
        rows: &Range<u64>,
        access: &Access<'_>,
        items: Option<&Items>,
        out: &mut Values,
        valid: &mut Validity,
    ) -> Result<usize> {
        let count = (rows.end - rows.start) as usize;
        match self {
            Self::Fixed(values) => {
                out.fixed_mut(values.width)?.extend_shared(&values.read(rows, access)?);
            }
            Self::Bits(values) => {
                let (bytes, start) = values.read(rows, access)?;
                out.bits_mut()?.append_packed_range(start..start + count, &bytes);
            }
            Self::SomeNull { validity, values } => {
                let mut inner = Validity::default();
                let done = values.append(rows, access, items, out, &mut inner)?;
                let (bytes, start) = validity.read(rows, access)?;
                match inner.into_buffer() {
                    None => valid.append_bits(&bytes, start, done),
                    Some(inner) => {
                        let bit = |i: usize| bytes[(start + i) / 8] >> ((start + i) % 8) & 1 == 1;
                        let both = BooleanBuffer::collect_bool(done, |i| inner.value(i) && bit(i));
                        valid.append_bits(both.values(), both.offset(), done);
                    }
                }
                return Ok(done);
            }
            Self::AllNull => {
                out.push_defaults(count);
                valid.append_n(count, false);
                return Ok(count);
            }
            Self::List { dimension, items: inner } => {
                let list = out.list_mut(*dimension as usize)?;
                let before = list.items.len();
                let mut item_validity = Validity::default();
                let slots = scaled(rows, *dimension)?;
                inner.append(&slots, access, items, &mut list.items, &mut item_validity)?;
                note_items(list, before, item_validity.into_buffer());
                list.len += count;
            }
            Self::Binary(strings) => return strings.append(rows, access, None, out, valid),
            Self::Fsst { codec, strings } => return strings.append(rows, access, Some(codec), out, valid),
            Self::FixedBinary { bytes, byte_width } => {
                let data = bytes.read(&scaled(rows, *byte_width)?, access)?;
                let ends: Vec<i64> = (0..=count).map(|i| (i as u64 * byte_width) as i64).collect();
                let done = extend(out, &ends, &data)?;
                valid.append_n(done, true);
                return Ok(done);
            }
            Self::Rows { fields, row } => {
                let data = row.read(rows, access)?;
                let (values, len) = out.struct_mut(fields.len())?;
                let mut at = 0;
                for (field, values) in fields.iter().zip(values) {
                    let width = field.fixed_bytes().unwrap_or(0);
                    append_strided(values, &data, row.width, at, width)?;
                    at += width;
                }
                *len += count;
            }
            Self::Dictionary(dictionary) => {
                let Some(items) = items else { corrupt!("a dictionary inside of something else") };
                return dictionary.append(rows, access, items, out, valid);
            }
        }
        valid.append_n(count, true);
        Ok(count)
    }
}

/// Whether values are whole bytes at every level, so that they can stand in packed rows.
fn is_whole_bytes(shape: &ValueType) -> bool {
    match shape {
        ValueType::Fixed(_) => true,
        ValueType::List { items, .. } => is_whole_bytes(items),
        _ => false,
    }
}

/// Adds the validity of the items behind the first `before` of a list's.
fn note_items(list: &mut ListValues, before: usize, valid: Option<BooleanBuffer>) {
    let count = list.items.len() - before;
    match (&mut list.item_validity, valid) {
        (None, None) => {}
        (Some(bits), None) => bits.append_n(count, true),
        (bits, Some(valid)) => {
            let bits = bits.get_or_insert_with(|| {
                let mut bits = BooleanBufferBuilder::new(before + count);
                bits.append_n(before, true);
                bits
            });
            bits.append_buffer(&valid);
        }
    }
}

/// Appends the field of `width` bytes at byte `at` of every row.
fn append_strided(out: &mut Values, rows: &[u8], stride: usize, at: usize, width: usize) -> Result<()> {
    match out {
        Values::Fixed(values) => {
            let count = rows.len() / stride;
            let slots = values.grow(count * (width / values.width));
            for (slot, row) in slots.chunks_exact_mut(width).zip(rows.chunks_exact(stride)) {
                slot.copy_from_slice(&row[at..at + width]);
            }
            Ok(())
        }
        Values::List(list) => {
            let before = list.items.len();
            append_strided(&mut list.items, rows, stride, at, width)?;
            note_items(list, before, None);
            list.len += rows.len() / stride;
            Ok(())
        }
        other => corrupt!("a packed field of {width} bytes for values of {:?}", other.shape()),
    }
}
