//! A single value, in the terms of its column's type.

use std::cmp::Ordering;

use arrow_buffer::i256;

/// A value in a column's own terms. Which variant it is follows from the column's type.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    Bool(bool),
    /// Integers, dates, times, durations; decimals of up to 128 bits, unscaled.
    Int(i128),
    /// Decimals of 256 bits, unscaled.
    Wide(i256),
    /// Floats of any width.
    Float(f64),
    /// Text and bytes.
    Bytes(Vec<u8>),
}

impl Value {
    /// How two values of one column compare; `None` with NaN, and where they are of two kinds.
    pub(crate) fn order(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Bool(a), Self::Bool(b)) => Some(a.cmp(b)),
            (Self::Int(a), Self::Int(b)) => Some(a.cmp(b)),
            (Self::Wide(a), Self::Wide(b)) => Some(a.cmp(b)),
            (Self::Float(a), Self::Float(b)) => a.partial_cmp(b),
            (Self::Bytes(a), Self::Bytes(b)) => Some(a.cmp(b)),
            _ => None,
        }
    }
}
