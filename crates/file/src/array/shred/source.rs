//! Leaf values of Arrow arrays, appended to [`Values`] by ranges of slots.
//!
//! Slots under nulls are written as zeros or empty values, never with what the array happens to hold
//! there: hidden data stays out of files, and equal tables give equal files.

use std::ops::Range;

use arrow_array::cast::AsArray;
use arrow_array::{
    Array, ArrayRef, BinaryArray, BinaryViewArray, LargeBinaryArray, LargeStringArray, StringArray,
    StringViewArray,
};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer, OffsetBuffer};
use arrow_schema::DataType;

use crate::encoding::{FixedValues, ListValues, ValueType, Values};
use crate::{Error, Result};

/// The values of one array, taken apart once so that appending a range is cheap.
pub(crate) enum Source {
    Null,
    Bits(BooleanBuffer),
    Fixed {
        width: usize,
        bytes: Buffer,
    },
    Variable {
        offsets: OffsetBuffer<i32>,
        data: Buffer,
    },
    LargeVariable {
        offsets: OffsetBuffer<i64>,
        data: Buffer,
    },
    /// Views are stored as plain values.
    StringView(StringViewArray),
    BinaryView(BinaryViewArray),
    List {
        dimension: usize,
        items: Box<Nullable>,
    },
    Struct(Vec<Nullable>),
}

/// Values together with their own validity.
pub(crate) struct Nullable {
    source: Source,
    nulls: Option<NullBuffer>,
}

impl Nullable {
    fn new(array: &ArrayRef, shape: &ValueType) -> Result<Self> {
        let nulls = array.nulls().filter(|n| n.null_count() > 0).cloned();
        Ok(Self { source: Source::new(array, shape)?, nulls })
    }
}

impl Source {
    pub(crate) fn new(array: &ArrayRef, shape: &ValueType) -> Result<Self> {
        Ok(match (shape, array.data_type()) {
            (ValueType::Null, _) => Self::Null,
            (ValueType::Bits, DataType::Boolean) => Self::Bits(array.as_boolean().values().clone()),
            (ValueType::Variable { .. }, DataType::Utf8) => {
                let array: &StringArray = array.as_string();
                Self::Variable { offsets: array.offsets().clone(), data: array.values().clone() }
            }
            (ValueType::Variable { .. }, DataType::Binary) => {
                let array: &BinaryArray = array.as_binary();
                Self::Variable { offsets: array.offsets().clone(), data: array.values().clone() }
            }
            (ValueType::Variable { .. }, DataType::LargeUtf8) => {
                let array: &LargeStringArray = array.as_string();
                Self::LargeVariable { offsets: array.offsets().clone(), data: array.values().clone() }
            }
            (ValueType::Variable { .. }, DataType::LargeBinary) => {
                let array: &LargeBinaryArray = array.as_binary();
                Self::LargeVariable { offsets: array.offsets().clone(), data: array.values().clone() }
            }
            (ValueType::Variable { .. }, DataType::Utf8View) => {
                Self::StringView(array.as_string_view().clone())
            }
            (ValueType::Variable { .. }, DataType::BinaryView) => {
                Self::BinaryView(array.as_binary_view().clone())
            }
            (ValueType::List { dimension, items }, DataType::FixedSizeList(..)) => Self::List {
                dimension: *dimension,
                items: Box::new(Nullable::new(array.as_fixed_size_list().values(), items)?),
            },
            (ValueType::Struct(shapes), DataType::Struct(_)) => {
                let columns = array.as_struct().columns();
                Self::Struct(
                    columns.iter().zip(shapes).map(|(c, s)| Nullable::new(c, s)).collect::<Result<_>>()?,
                )
            }
            (ValueType::Fixed(width), _) => {
                let data = array.to_data();
                let bytes = data.buffers().first().and_then(|b| {
                    let (start, len) = (data.offset().checked_mul(*width)?, data.len().checked_mul(*width)?);
                    (start.checked_add(len)? <= b.len()).then(|| b.slice_with_length(start, len))
                });
                let Some(bytes) = bytes else {
                    return Err(Error::invalid(format!(
                        "an array of type {} has no buffer of {} values of {width} bytes",
                        array.data_type(),
                        array.len()
                    )));
                };
                Self::Fixed { width: *width, bytes }
            }
            (shape, other) => {
                return Err(Error::invalid(format!(
                    "an array of type {other} for values of shape {shape:?}"
                )));
            }
        })
    }

    /// The value of a variable or fixed-width slot as bytes.
    pub(crate) fn value(&self, slot: usize) -> Option<&[u8]> {
        match self {
            Self::Fixed { width, bytes } => Some(&bytes[slot * width..(slot + 1) * width]),
            Self::Variable { offsets, data } => {
                Some(&data[offsets[slot] as usize..offsets[slot + 1] as usize])
            }
            Self::LargeVariable { offsets, data } => {
                Some(&data[offsets[slot] as usize..offsets[slot + 1] as usize])
            }
            Self::StringView(array) => Some(array.value(slot).as_bytes()),
            Self::BinaryView(array) => Some(array.value(slot)),
            Self::Bits(bits) => Some(if bits.value(slot) { &[1] } else { &[0] }),
            Self::Null | Self::List { .. } | Self::Struct(_) => None,
        }
    }

    /// Appends the slots of `ranges`; where `valid` has a zero (one bit per slot of the ranges, in
    /// order) a placeholder is appended instead.
    pub(crate) fn append(
        &self,
        out: &mut Values,
        ranges: &[Range<usize>],
        valid: Option<&BooleanBuffer>,
    ) -> Result<()> {
        let Some(valid) = valid else {
            return ranges.iter().try_for_each(|r| self.append_range(out, r.clone()));
        };
        let mut at = 0;
        for range in ranges {
            self.append_masked(out, range.clone(), &valid.slice(at, range.len()))?;
            at += range.len();
        }
        Ok(())
    }

    fn append_masked(&self, out: &mut Values, range: Range<usize>, valid: &BooleanBuffer) -> Result<()> {
        // Narrow values: copy all, then blank the null ones; cheaper than many short runs.
        if let (Self::Fixed { width, .. }, Values::Fixed(out)) = (self, &mut *out)
            && *width <= 32
        {
            let base = out.bytes().len();
            out.extend(self.fixed_bytes(range));
            let bytes = &mut out.bytes_mut()[base..];
            for slot in (!valid).set_indices() {
                bytes[slot * width..(slot + 1) * width].fill(0);
            }
            return Ok(());
        }
        let mut next = 0;
        for (start, end) in valid.set_slices() {
            out.push_defaults(start - next);
            self.append_range(out, range.start + start..range.start + end)?;
            next = end;
        }
        out.push_defaults(range.len() - next);
        Ok(())
    }

    fn fixed_bytes(&self, range: Range<usize>) -> &[u8] {
        match self {
            Self::Fixed { width, bytes } => &bytes[range.start * width..range.end * width],
            _ => &[],
        }
    }

    fn append_range(&self, out: &mut Values, range: Range<usize>) -> Result<()> {
        let count = range.len();
        match (self, out) {
            (Self::Null, Values::Null(len)) => *len += count,
            (Self::Bits(bits), Values::Bits(out)) => {
                let start = bits.offset() + range.start;
                out.append_packed_range(start..start + count, bits.values());
            }
            (Self::Fixed { .. }, Values::Fixed(out)) => out.extend(self.fixed_bytes(range)),
            (Self::Variable { offsets, data }, Values::Variable(out)) => {
                let done = out.extend_offsets(&offsets[range.start..=range.end], data);
                return all_fit(done, count);
            }
            (Self::LargeVariable { offsets, data }, Values::LargeVariable(out)) => {
                let done = out.extend_offsets(&offsets[range.start..=range.end], data);
                return all_fit(done, count);
            }
            (Self::StringView(_) | Self::BinaryView(_), Values::Variable(out)) => {
                let mut pushed = |slot: &usize| self.value(*slot).is_some_and(|bytes| out.push(bytes));
                let done = range.take_while(|slot| pushed(slot)).count();
                return all_fit(done, count);
            }
            (Self::List { dimension, items }, Values::List(out)) => {
                let slots = range.start * dimension..range.end * dimension;
                items.append_items(out, slots)?;
                out.len += count;
            }
            (Self::Struct(columns), Values::Struct { fields, len }) => {
                for (column, field) in columns.iter().zip(fields) {
                    if let Some(nulls) = &column.nulls
                        && nulls.slice(range.start, count).null_count() > 0
                    {
                        return Err(Error::invalid("a packed struct has a child with nulls"));
                    }
                    column.source.append_range(field, range.clone())?;
                }
                *len += count;
            }
            (_, out) => {
                return Err(Error::invalid(format!("these values cannot be kept as {:?}", out.shape())));
            }
        }
        Ok(())
    }

    /// All of the slots without a copy, where the values have a fixed width and no item is null.
    pub(crate) fn share(&self, range: &Range<usize>) -> Option<Values> {
        match self {
            Self::Fixed { width, bytes } => {
                let bytes = bytes.slice_with_length(range.start * width, range.len() * width);
                Some(Values::Fixed(FixedValues::shared(*width, bytes)))
            }
            Self::List { dimension, items } if items.nulls.is_none() => {
                let slots = range.start * dimension..range.end * dimension;
                Some(Values::List(ListValues {
                    dimension: *dimension,
                    len: range.len(),
                    item_validity: None,
                    items: Box::new(items.source.share(&slots)?),
                }))
            }
            _ => None,
        }
    }

    /// Arrow bytes of the slots in `range`.
    pub(crate) fn byte_size(&self, range: &Range<usize>) -> usize {
        match self {
            Self::Null => 0,
            Self::Bits(_) => range.len().div_ceil(8),
            Self::Fixed { width, .. } => range.len().saturating_mul(*width),
            Self::Variable { offsets, .. } => {
                (offsets[range.end] - offsets[range.start]) as usize + 4 * range.len()
            }
            Self::LargeVariable { offsets, .. } => {
                (offsets[range.end] - offsets[range.start]) as usize + 8 * range.len()
            }
            Self::StringView(array) => {
                let lengths = array.views()[range.clone()].iter().map(|view| *view as u32 as usize);
                lengths.sum::<usize>() + 4 * range.len()
            }
            Self::BinaryView(array) => {
                let lengths = array.views()[range.clone()].iter().map(|view| *view as u32 as usize);
                lengths.sum::<usize>() + 4 * range.len()
            }
            Self::List { dimension, items } => {
                items.source.byte_size(&(range.start * dimension..range.end * dimension))
            }
            Self::Struct(columns) => columns.iter().map(|c| c.source.byte_size(range)).sum(),
        }
    }
}

impl Nullable {
    /// Appends items of fixed-size lists: their validity and their values.
    fn append_items(&self, out: &mut ListValues, slots: Range<usize>) -> Result<()> {
        let nulls = self.nulls.as_ref().map(|n| n.inner().slice(slots.start, slots.len()));
        let nulls = nulls.filter(|n| n.has_false());
        out.extend_validity(nulls.as_ref().map(|n| (n.values(), n.offset())), slots.len());
        self.source.append(&mut out.items, std::slice::from_ref(&slots), nulls.as_ref())
    }
}

fn all_fit(done: usize, count: usize) -> Result<()> {
    if done == count {
        return Ok(());
    }
    Err(Error::limit(format!(
        "a page's strings pass {} bytes, more than 32-bit offsets can count; use a large type",
        i32::MAX
    )))
}

/// Values of a whole array, nothing left out.
pub(crate) fn whole(array: &ArrayRef, shape: &ValueType) -> Result<Values> {
    let mut out = Values::new(shape, array.len());
    Source::new(array, shape)?.append(&mut out, std::slice::from_ref(&(0..array.len())), None)?;
    Ok(out)
}
