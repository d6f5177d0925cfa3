//! Which leaves hold values that have an order, and what kind of order it is.
//!
//! Types that are stored as others keep theirs as long as the values do: a decimal of 32 bits in one of 128 is the same number,
//! but an interval of days and milliseconds in eight bytes is no text of eight bytes.

use arrow_schema::{DataType, Field as ArrowField};

use super::leaves::{Leaf, LeafKind};
use super::logical_type::{BFLOAT16, has_extension};
use super::tag::{self, Step, TAG};
use super::{Field, FieldKind, Schema};

/// How the values of a leaf are ordered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    Bool,
    /// Numbers of 1, 2, 4, 8 or 16 bytes: integers, dates, times, durations, unscaled decimals.
    Int {
        bytes: u8,
        signed: bool,
    },
    /// Unscaled decimals of 32 bytes.
    Wide,
    /// Of 2, 4 or 8 bytes.
    Float {
        bytes: u8,
    },
    /// Byte by byte.
    Bytes {
        text: bool,
    },
}

impl Order {
    /// The order of a leaf's values, if they have one.
    pub(crate) fn of(leaf: &Leaf) -> Option<Self> {
        if leaf.kind == LeafKind::Values { Self::of_field(&leaf.arrow) } else { None }
    }

    fn of_field(field: &ArrowField) -> Option<Self> {
        if has_step(field, |step| matches!(step, Step::Interval(_) | Step::EmptyStruct | Step::Union { .. }))
        {
            return None;
        }
        // Bytes of numbers, whose order is not that of the bytes.
        if has_extension(field, BFLOAT16) {
            return None;
        }
        Self::of_type(field.data_type())
    }

    fn of_type(data_type: &DataType) -> Option<Self> {
        use DataType::*;
        let int = |bytes: u8, signed: bool| Self::Int { bytes, signed };
        Some(match data_type {
            Boolean => Self::Bool,
            Int8 => int(1, true),
            Int16 => int(2, true),
            Int32 | Date32 | Time32(_) => int(4, true),
            Int64 | Date64 | Time64(_) | Timestamp(..) | Duration(_) => int(8, true),
            UInt8 => int(1, false),
            UInt16 => int(2, false),
            UInt32 => int(4, false),
            UInt64 => int(8, false),
            Decimal128(..) => int(16, true),
            Decimal256(..) => Self::Wide,
            Float16 => Self::Float { bytes: 2 },
            Float32 => Self::Float { bytes: 4 },
            Float64 => Self::Float { bytes: 8 },
            Utf8 | LargeUtf8 | Utf8View => Self::Bytes { text: true },
            Binary | LargeBinary | BinaryView => Self::Bytes { text: false },
            FixedSizeBinary(bytes) if *bytes > 0 => Self::Bytes { text: false },
            Dictionary(_, values) => return Self::of_type(values),
            _ => return None,
        })
    }
}

fn has_step(field: &ArrowField, wanted: impl Fn(&Step) -> bool) -> bool {
    let steps = field.metadata().get(TAG).and_then(|text| tag::parse(text).ok().flatten());
    steps.is_some_and(|steps| steps.iter().any(wanted))
}

impl Schema {
    /// Whether each of `leaves`, which are all of this schema's, lies in a union: a value there is one of several fields', so that no
    /// path of the caller's leads to it.
    pub(crate) fn in_unions(&self, leaves: &[Leaf]) -> Vec<bool> {
        let mut columns = Vec::new();
        self.fields.iter().for_each(|field| collect_unions(field, &mut columns));
        let inside = |leaf: &Leaf| columns.iter().any(|c: &std::ops::Range<u32>| c.contains(&leaf.column));
        leaves.iter().map(inside).collect()
    }
}

fn collect_unions(field: &Field, columns: &mut Vec<std::ops::Range<u32>>) {
    if field.kind() == FieldKind::Struct && has_step(&field.arrow, |s| matches!(s, Step::Union { .. })) {
        columns.push(field.columns.clone());
    } else {
        field.children.iter().for_each(|child| collect_unions(child, columns));
    }
}
