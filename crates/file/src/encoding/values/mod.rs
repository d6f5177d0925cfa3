//! Values in memory: what decoders append to and encoders read from.
//!
//! The shape is physical, not logical: a timestamp and an `int64` are both eight bytes. Nulls are
//! not known here (levels carry them); a null slot holds some value nobody looks at.

mod fixed;
mod text;
mod variable;

use arrow_buffer::BooleanBufferBuilder;

pub(crate) use fixed::FixedValues;
pub(super) use fixed::gather_fixed;
pub(crate) use variable::{Offset, VariableValues};

use super::arena::Arena;
use crate::error::corrupt;
use crate::{Error, Result};
use variable::gather_variable;

/// Bytes that are reserved before there are values, at most.
const MAX_RESERVED: usize = 64 << 20;

/// The physical shape of a leaf's values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ValueType {
    /// No payload at all (Arrow's null type).
    Null,
    /// One bit each.
    Bits,
    /// This many bytes each, at least 1.
    Fixed(usize),
    /// Bytes of any length; `wide` values have 64-bit offsets in Arrow.
    Variable { wide: bool },
    /// `dimension` items each, which may be null themselves.
    List { dimension: usize, items: Box<ValueType> },
    /// A packed struct: the fields side by side.
    Struct(Vec<ValueType>),
}

impl ValueType {
    /// Bytes of one value in Arrow memory, `None` if they vary. Bits count as zero.
    pub(crate) fn fixed_bytes(&self) -> Option<usize> {
        match self {
            Self::Null | Self::Bits => Some(0),
            Self::Fixed(bytes) => Some(*bytes),
            Self::Variable { .. } => None,
            Self::List { dimension, items } => items.fixed_bytes()?.checked_mul(*dimension),
            Self::Struct(fields) => fields.iter().map(Self::fixed_bytes).sum(),
        }
    }

    /// Bits of one value where it has a fixed number of bits and no validity of its own.
    pub(crate) fn fixed_bits(&self) -> Option<u64> {
        match self {
            Self::Bits => Some(1),
            Self::Fixed(bytes) => Some(*bytes as u64 * 8),
            Self::List { dimension, items } => items.fixed_bits()?.checked_mul(*dimension as u64),
            Self::Struct(fields) => fields.iter().map(Self::fixed_bits).sum(),
            Self::Null | Self::Variable { .. } => None,
        }
    }
}

/// A growing column of values.
#[derive(Debug)]
pub(crate) enum Values {
    Null(usize),
    Bits(BooleanBufferBuilder),
    Fixed(FixedValues),
    Variable(VariableValues<i32>),
    LargeVariable(VariableValues<i64>),
    List(ListValues),
    Struct { fields: Vec<Values>, len: usize },
}

/// Values of `dimension` items each.
#[derive(Debug)]
pub(crate) struct ListValues {
    pub(crate) dimension: usize,
    pub(crate) len: usize,
    /// Of the items, not of the rows; `None` while all are valid.
    pub(crate) item_validity: Option<BooleanBufferBuilder>,
    pub(crate) items: Box<Values>,
}

impl ListValues {
    /// Notes the validity of `count` items that are about to be appended: `None` is all valid.
    ///
    /// `bits` holds at least `start + count` bits, lowest first.
    pub(crate) fn extend_validity(&mut self, bits: Option<(&[u8], usize)>, count: usize) {
        match (&mut self.item_validity, bits) {
            (None, None) => {}
            (Some(v), None) => v.append_n(count, true),
            (v, Some((bytes, start))) => {
                let v = v.get_or_insert_with(|| {
                    let mut v = BooleanBufferBuilder::new(self.items.len() + count);
                    v.append_n(self.items.len(), true);
                    v
                });
                v.append_packed_range(start..start + count, bytes);
            }
        }
    }
}

impl Values {
    /// Empty values of a shape, with room for `capacity`.
    pub(crate) fn new(shape: &ValueType, capacity: usize) -> Self {
        Self::new_in(shape, capacity, &Arena::default())
    }

    /// Empty values of a shape, with room for `capacity`; those of fixed width in the arena's memory as far
    /// as it has room.
    pub(crate) fn new_in(shape: &ValueType, capacity: usize, arena: &Arena) -> Self {
        // A type may say that a value is enormous; memory for it waits until there is one.
        let capacity = capacity.min(MAX_RESERVED / shape.fixed_bytes().unwrap_or(8).max(1));
        match shape {
            ValueType::Null => Self::Null(0),
            ValueType::Bits => Self::Bits(BooleanBufferBuilder::new(capacity)),
            ValueType::Fixed(width) => Self::Fixed(FixedValues::new_in(*width, capacity, arena)),
            ValueType::Variable { wide: false } => {
                Self::Variable(VariableValues::with_vector(capacity, arena.vector()))
            }
            ValueType::Variable { wide: true } => {
                Self::LargeVariable(VariableValues::with_vector(capacity, arena.vector()))
            }
            ValueType::List { dimension, items } => Self::List(ListValues {
                dimension: *dimension,
                len: 0,
                item_validity: None,
                items: Box::new(Self::new_in(items, capacity * dimension, arena)),
            }),
            ValueType::Struct(fields) => Self::Struct {
                fields: fields.iter().map(|f| Self::new_in(f, capacity, arena)).collect(),
                len: 0,
            },
        }
    }

    /// Says that values of any length will be about `bytes` in all: where that is much they are put where the batch has them.
    pub(crate) fn expect_bytes(&mut self, bytes: usize, arena: &Arena) {
        match self {
            Self::Variable(v) => v.data.expect(bytes, arena),
            Self::LargeVariable(v) => v.data.expect(bytes, arena),
            _ => {}
        }
    }

    /// The items side by side, of values of fixed width and lists of these that have no nulls of their own.
    pub(crate) fn raw(&self) -> Option<&FixedValues> {
        match self {
            Self::Fixed(values) => Some(values),
            Self::List(list) if list.item_validity.is_none() => list.items.raw(),
            _ => None,
        }
    }

    /// The shape these values have.
    pub(crate) fn shape(&self) -> ValueType {
        match self {
            Self::Null(_) => ValueType::Null,
            Self::Bits(_) => ValueType::Bits,
            Self::Fixed(v) => ValueType::Fixed(v.width),
            Self::Variable(_) => ValueType::Variable { wide: false },
            Self::LargeVariable(_) => ValueType::Variable { wide: true },
            Self::List(v) => ValueType::List { dimension: v.dimension, items: Box::new(v.items.shape()) },
            Self::Struct { fields, .. } => ValueType::Struct(fields.iter().map(Self::shape).collect()),
        }
    }

    /// Number of values.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Null(len) | Self::Struct { len, .. } => *len,
            Self::Bits(v) => v.len(),
            Self::Fixed(v) => v.len(),
            Self::Variable(v) => v.len(),
            Self::LargeVariable(v) => v.len(),
            Self::List(v) => v.len,
        }
    }

    /// Value `index`, which must be below `len`, as bytes; a bit as a byte. `None` for nested shapes.
    pub(crate) fn bytes_at(&self, index: usize) -> Option<&[u8]> {
        match self {
            Self::Fixed(v) => Some(&v.bytes()[index * v.width..(index + 1) * v.width]),
            Self::Variable(v) => Some(v.value(index)),
            Self::LargeVariable(v) => Some(v.value(index)),
            Self::Bits(v) => Some(if v.get_bit(index) { &[1] } else { &[0] }),
            Self::Null(_) | Self::List(_) | Self::Struct { .. } => None,
        }
    }

    /// Bytes held.
    pub(crate) fn byte_size(&self) -> usize {
        match self {
            Self::Null(_) => 0,
            Self::Bits(v) => v.len().div_ceil(8),
            Self::Fixed(v) => v.bytes().len(),
            Self::Variable(v) => v.data.len() + v.offsets.len() * 4,
            Self::LargeVariable(v) => v.data.len() + v.offsets.len() * 8,
            Self::List(v) => {
                v.items.byte_size() + v.item_validity.as_ref().map_or(0, |v| v.len().div_ceil(8))
            }
            Self::Struct { fields, .. } => fields.iter().map(Self::byte_size).sum(),
        }
    }

    /// Sets where appending of variable data stops; offsets that are 32-bit bound it too.
    pub(crate) fn set_byte_limit(&mut self, limit: usize) {
        match self {
            Self::Variable(v) => v.limit = limit.min(i32::MAX as usize),
            Self::LargeVariable(v) => v.limit = limit,
            Self::List(v) => v.items.set_byte_limit(limit),
            Self::Struct { fields, .. } => fields.iter_mut().for_each(|f| f.set_byte_limit(limit)),
            Self::Null(_) | Self::Bits(_) | Self::Fixed(_) => {}
        }
    }

    /// Keeps the first `len` values.
    pub(crate) fn truncate(&mut self, len: usize) {
        if len >= self.len() {
            return;
        }
        match self {
            Self::Null(n) => *n = len,
            Self::Bits(v) => v.truncate(len),
            Self::Fixed(v) => v.truncate(len),
            Self::Variable(v) => v.truncate(len),
            Self::LargeVariable(v) => v.truncate(len),
            Self::List(v) => {
                v.items.truncate(len * v.dimension);
                if let Some(validity) = &mut v.item_validity {
                    validity.truncate(len * v.dimension);
                }
                v.len = len;
            }
            Self::Struct { fields, len: n } => {
                fields.iter_mut().for_each(|f| f.truncate(len));
                *n = len;
            }
        }
    }

    /// Appends `count` placeholder values: zeros, empty strings.
    pub(crate) fn push_defaults(&mut self, count: usize) {
        match self {
            Self::Null(n) => *n += count,
            Self::Bits(v) => v.append_n(count, false),
            Self::Fixed(v) => {
                v.grow(count);
            }
            Self::Variable(v) => {
                let end = *v.offsets.last().unwrap_or(&0);
                v.offsets.resize(v.offsets.len() + count, end);
            }
            Self::LargeVariable(v) => {
                let end = *v.offsets.last().unwrap_or(&0);
                v.offsets.resize(v.offsets.len() + count, end);
            }
            Self::List(v) => {
                v.extend_validity(None, count * v.dimension);
                v.items.push_defaults(count * v.dimension);
                v.len += count;
            }
            Self::Struct { fields, len } => {
                fields.iter_mut().for_each(|f| f.push_defaults(count));
                *len += count;
            }
        }
    }

    /// Appends values `range` of `other`, which has the same shape (offset widths may differ);
    /// says how many went in before a byte limit was met.
    pub(crate) fn extend(&mut self, other: &Self, range: std::ops::Range<usize>) -> Result<usize> {
        let count = range.len();
        match (self, other) {
            (Self::Null(n), Self::Null(_)) => *n += count,
            (Self::Bits(a), Self::Bits(b)) => a.append_packed_range(range, b.as_slice()),
            (Self::Fixed(a), Self::Fixed(b)) if a.width == b.width => {
                a.extend(&b.bytes()[range.start * b.width..range.end * b.width]);
            }
            (Self::Variable(a), Self::Variable(b)) => return Ok(a.extend(b, range)),
            (Self::LargeVariable(a), Self::LargeVariable(b)) => return Ok(a.extend(b, range)),
            (Self::Variable(a), Self::LargeVariable(b)) => return Ok(a.extend(b, range)),
            (Self::LargeVariable(a), Self::Variable(b)) => return Ok(a.extend(b, range)),
            (Self::List(a), Self::List(b)) if a.dimension == b.dimension => {
                let items = range.start * a.dimension..range.end * a.dimension;
                let bits = b.item_validity.as_ref().map(|v| (v.as_slice(), items.start));
                a.extend_validity(bits, items.len());
                let done = a.items.extend(&b.items, items.clone())?;
                debug_assert_eq!(done, items.len(), "items of fixed-size lists have fixed widths");
                a.len += count;
            }
            (Self::Struct { fields: a, len }, Self::Struct { fields: b, .. }) if a.len() == b.len() => {
                // The shortest field decides; the others give back what they took too much.
                let mut done = count;
                let before = *len;
                for (a, b) in a.iter_mut().zip(b) {
                    done = done.min(a.extend(b, range.clone())?);
                }
                a.iter_mut().for_each(|f| f.truncate(before + done));
                *len += done;
                return Ok(done);
            }
            (a, b) => {
                return Err(Error::corrupt(format!(
                    "values of shape {:?} where {:?} are expected",
                    b.shape(),
                    a.shape()
                )));
            }
        }
        Ok(count)
    }

    /// Appends `count` values that are all of `data`, sharing its memory if they are the first; says false,
    /// with nothing done, where the shape does not allow it.
    pub(crate) fn extend_shared(&mut self, data: &bytes::Bytes, count: usize) -> bool {
        match self {
            Self::Fixed(v) if data.len() == count * v.width => {
                v.extend_shared(data);
                true
            }
            Self::List(v) if v.item_validity.is_none() => {
                let done = v.items.extend_shared(data, count * v.dimension);
                v.len += if done { count } else { 0 };
                done
            }
            _ => false,
        }
    }

    /// Appends the values of `other` at `indices`; all must be below its length. Says how many went
    /// in before a byte limit was met.
    pub(crate) fn gather(&mut self, other: &Self, indices: &[u32]) -> Result<usize> {
        match (&mut *self, other) {
            (Self::Fixed(a), Self::Fixed(b)) if a.width == b.width => {
                gather_fixed(a, b.bytes(), indices);
                Ok(indices.len())
            }
            (Self::Variable(a), Self::Variable(b)) => gather_variable(a, b, indices),
            (Self::LargeVariable(a), Self::LargeVariable(b)) => gather_variable(a, b, indices),
            (Self::Variable(a), Self::LargeVariable(b)) => gather_variable(a, b, indices),
            (Self::LargeVariable(a), Self::Variable(b)) => gather_variable(a, b, indices),
            _ => {
                for (done, &i) in indices.iter().enumerate() {
                    if self.extend(other, i as usize..i as usize + 1)? == 0 {
                        return Ok(done);
                    }
                }
                Ok(indices.len())
            }
        }
    }
}

/// Access by shape. A wrong shape is a description that contradicts the column's type.
impl Values {
    /// As values of `width` bytes.
    pub(crate) fn fixed_mut(&mut self, width: usize) -> Result<&mut FixedValues> {
        match self {
            Self::Fixed(v) => {
                if v.width == width {
                    return Ok(v);
                }
                corrupt!("{width}-byte values where the column has {} bytes", v.width);
            }
            other => mismatch(&format!("{width}-byte"), &other.shape()),
        }
    }

    /// As values of `width` bytes: their bytes.
    pub(crate) fn fixed_bytes(&self, width: usize) -> Result<&[u8]> {
        match self {
            Self::Fixed(v) if v.width == width => Ok(v.bytes()),
            other => mismatch(&format!("{width}-byte"), &other.shape()),
        }
    }

    /// As bits.
    pub(crate) fn bits_mut(&mut self) -> Result<&mut BooleanBufferBuilder> {
        match self {
            Self::Bits(v) => Ok(v),
            other => mismatch("1-bit", &other.shape()),
        }
    }

    /// As bits.
    pub(crate) fn bits(&self) -> Result<&BooleanBufferBuilder> {
        match self {
            Self::Bits(v) => Ok(v),
            other => mismatch("1-bit", &other.shape()),
        }
    }

    /// As lists of `dimension` items.
    pub(crate) fn list_mut(&mut self, dimension: usize) -> Result<&mut ListValues> {
        match self {
            Self::List(v) => {
                if v.dimension == dimension {
                    return Ok(v);
                }
                corrupt!("lists of {dimension} items where the column has {}", v.dimension);
            }
            other => mismatch(&format!("{dimension}-item list"), &other.shape()),
        }
    }

    /// As lists of `dimension` items.
    pub(crate) fn list(&self, dimension: usize) -> Result<&ListValues> {
        match self {
            Self::List(v) if v.dimension == dimension => Ok(v),
            other => mismatch(&format!("{dimension}-item list"), &other.shape()),
        }
    }

    /// As structs of `num_fields` fields: the fields and the length.
    pub(crate) fn struct_mut(&mut self, num_fields: usize) -> Result<(&mut [Self], &mut usize)> {
        match self {
            Self::Struct { fields, len } => {
                if fields.len() == num_fields {
                    return Ok((fields, len));
                }
                corrupt!("structs of {num_fields} fields where the column has {}", fields.len());
            }
            other => mismatch(&format!("{num_fields}-field struct"), &other.shape()),
        }
    }

    /// As structs of `num_fields` fields.
    pub(crate) fn struct_fields(&self, num_fields: usize) -> Result<&[Self]> {
        match self {
            Self::Struct { fields, .. } if fields.len() == num_fields => Ok(fields),
            other => mismatch(&format!("{num_fields}-field struct"), &other.shape()),
        }
    }

    /// The bytes of variable-width value `index`, which must be below the length.
    pub(crate) fn variable_value(&self, index: usize) -> Result<&[u8]> {
        match self {
            Self::Variable(v) => Ok(v.value(index)),
            Self::LargeVariable(v) => Ok(v.value(index)),
            other => mismatch("variable-width", &other.shape()),
        }
    }
}

#[cold]
fn mismatch<T>(expected: &str, found: &ValueType) -> Result<T> {
    Err(Error::corrupt(format!("{expected} values where the column has {found:?}")))
}

/// Runs `$body` with `$v` as the [`VariableValues`] in `$values`, of either offset width.
macro_rules! with_variable {
    ($values:expr, $v:ident => $body:expr) => {
        match $values {
            $crate::encoding::Values::Variable($v) => $body,
            $crate::encoding::Values::LargeVariable($v) => $body,
            other => Err($crate::Error::corrupt(format!(
                "variable-width values where the column has {:?}",
                other.shape()
            ))),
        }
    };
}
pub(crate) use with_variable;
