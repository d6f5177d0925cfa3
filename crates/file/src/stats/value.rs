//! A single value, in the terms of its column's type.

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
