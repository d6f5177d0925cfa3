//! Least and greatest of a page's values: one tight loop for each type.
//!
//! Values come as they are stored, a range of slots at a time; what is under nulls is not looked at.

use std::ops::Range;

use arrow_array::types::{ArrowPrimitiveType, Float16Type};
use arrow_buffer::{BooleanBuffer, i256};

use super::{Bound, Facts, Value, cut};
use crate::encoding::hash::head;
use crate::encoding::{Offset, Values, VariableValues};
use crate::schema::Order;

type F16 = <Float16Type as ArrowPrimitiveType>::Native;

/// A float of 16 bits.
pub(crate) fn half_bytes(value: f64) -> [u8; 2] {
    F16::from_f64(value).to_le_bytes()
}

/// The value of one.
pub(super) fn half(bytes: [u8; 2]) -> f64 {
    F16::from_le_bytes(bytes).to_f64()
}

/// Slots to look at, and which of them are not null.
#[derive(Debug, Clone)]
pub(super) struct Slots<'a> {
    pub(super) range: Range<usize>,
    /// Of all slots of the page; `None` where all are valid.
    pub(super) valid: Option<&'a BooleanBuffer>,
}

impl Slots<'_> {
    /// Calls `f` with every run of valid slots.
    pub(super) fn for_each_run(&self, mut f: impl FnMut(Range<usize>)) {
        match self.valid {
            None if self.range.is_empty() => {}
            None => f(self.range.clone()),
            Some(valid) => {
                let valid = valid.slice(self.range.start, self.range.len());
                for (start, end) in valid.set_slices() {
                    f(self.range.start + start..self.range.start + end);
                }
            }
        }
    }

    pub(super) fn num_valid(&self) -> usize {
        match self.valid {
            None => self.range.len(),
            Some(valid) => valid.slice(self.range.start, self.range.len()).count_set_bits(),
        }
    }
}

/// What becomes of long texts and bytes that are bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Long {
    Cut,
    Whole,
}

/// What the values of some slots are between. Values of another shape than the order's have no bounds.
pub(super) fn facts_of(values: &Values, order: Order, slots: &Slots<'_>, long: Long) -> Facts {
    let num_valid = slots.num_valid();
    let (mut min, mut max, mut nans) = (None, None, 0);
    let mut set = |extent: Option<(Value, Value)>| {
        let exact = |value| Bound { value, exact: true };
        (min, max) = extent.map(|(low, high)| (exact(low), exact(high))).unzip();
    };
    match (order, values) {
        (Order::Bool, Values::Bits(bits)) => {
            let (mut any_true, mut any_false) = (false, false);
            slots.for_each_run(|run| {
                let set = arrow_buffer::bit_chunk_iterator::UnalignedBitChunk::new(
                    bits.as_slice(),
                    run.start,
                    run.len(),
                );
                let count = set.count_ones();
                any_true |= count > 0;
                any_false |= count < run.len();
            });
            set((any_true || any_false).then_some((Value::Bool(!any_false), Value::Bool(any_true))));
        }
        (Order::Int { bytes, signed }, Values::Fixed(fixed)) if fixed.width == usize::from(bytes) => {
            let data = fixed.bytes();
            let extent = match (bytes, signed) {
                (1, true) => ints(data, slots, i8::from_le_bytes),
                (1, false) => ints(data, slots, u8::from_le_bytes),
                (2, true) => ints(data, slots, i16::from_le_bytes),
                (2, false) => ints(data, slots, u16::from_le_bytes),
                (4, true) => ints(data, slots, i32::from_le_bytes),
                (4, false) => ints(data, slots, u32::from_le_bytes),
                (8, true) => ints(data, slots, i64::from_le_bytes),
                (8, false) => ints(data, slots, u64::from_le_bytes),
                _ => ints(data, slots, i128::from_le_bytes),
            };
            set(extent.map(|(low, high)| (Value::Int(low), Value::Int(high))));
        }
        (Order::Wide, Values::Fixed(fixed)) if fixed.width == 32 => {
            let extent = words(fixed.bytes(), slots, i256::from_le_bytes);
            set(extent.map(|(low, high)| (Value::Wide(low), Value::Wide(high))));
        }
        (Order::Float { bytes }, Values::Fixed(fixed)) if fixed.width == usize::from(bytes) => {
            let data = fixed.bytes();
            let (count, low, high) = match bytes {
                2 => floats(data, slots, (f32::INFINITY, f32::NEG_INFINITY), |b| {
                    F16::from_le_bytes(b).to_f32()
                }),
                4 => floats(data, slots, (f32::INFINITY, f32::NEG_INFINITY), f32::from_le_bytes),
                _ => floats(data, slots, (f64::INFINITY, f64::NEG_INFINITY), f64::from_le_bytes),
            };
            nans = count;
            // Zero of either sign becomes the positive one.
            let value = |v: f64| Value::Float(v + 0.0);
            set((num_valid > count).then(|| (value(low), value(high))));
        }
        (Order::Bytes { text }, values) => {
            let extent = match values {
                Values::Variable(v) => variable(v, slots),
                Values::LargeVariable(v) => variable(v, slots),
                Values::Fixed(v) => strings(slots, v.bytes(), |i| (i * v.width, (i + 1) * v.width)),
                _ => None,
            };
            match (extent, long) {
                (Some((low, high)), Long::Cut) => {
                    min = Some(cut::lower(low, text));
                    max = cut::upper(high, text);
                }
                (extent, _) => {
                    set(extent.map(|(low, high)| (Value::Bytes(low.to_vec()), Value::Bytes(high.to_vec()))));
                }
            }
        }
        _ => {}
    }
    let count = slots.range.len();
    Facts { values: count as u64, nulls: (count - num_valid) as u64, nans: nans as u64, min, max }
}

fn ints<const N: usize, T: Copy + Ord + Into<i128>>(
    data: &[u8],
    slots: &Slots<'_>,
    read: impl Fn([u8; N]) -> T,
) -> Option<(i128, i128)> {
    words(data, slots, read).map(|(low, high)| (low.into(), high.into()))
}

fn words<const N: usize, T: Copy + Ord>(
    data: &[u8],
    slots: &Slots<'_>,
    read: impl Fn([u8; N]) -> T,
) -> Option<(T, T)> {
    let words = data.as_chunks::<N>().0;
    let mut extent: Option<(T, T)> = None;
    slots.for_each_run(|run| {
        let first = read(words[run.start]);
        let (mut low, mut high) = extent.unwrap_or((first, first));
        for word in &words[run] {
            let value = read(*word);
            low = low.min(value);
            high = high.max(value);
        }
        extent = Some((low, high));
    });
    extent
}

/// NaNs, and the least and greatest of the others.
fn floats<const N: usize, T: Copy + PartialOrd + Into<f64>>(
    data: &[u8],
    slots: &Slots<'_>,
    (mut low, mut high): (T, T),
    read: impl Fn([u8; N]) -> T,
) -> (usize, f64, f64) {
    let words = data.as_chunks::<N>().0;
    let mut nans = 0;
    slots.for_each_run(|run| {
        for word in &words[run] {
            let value = read(*word);
            // NaN is neither less nor greater than anything.
            low = if value < low { value } else { low };
            high = if value > high { value } else { high };
            #[expect(clippy::eq_op, reason = "NaN alone differs from itself")]
            let is_nan = value != value;
            nans += usize::from(is_nan);
        }
    });
    (nans, low.into(), high.into())
}

fn variable<'a, O: Offset>(values: &'a VariableValues<O>, slots: &Slots<'_>) -> Option<(&'a [u8], &'a [u8])> {
    strings(slots, &values.data, |i| values.bounds(i))
}

fn strings<'a>(
    slots: &Slots<'_>,
    data: &'a [u8],
    bounds: impl Fn(usize) -> (usize, usize),
) -> Option<(&'a [u8], &'a [u8])> {
    let value = |i: usize| {
        let (start, end) = bounds(i);
        &data[start..end]
    };
    // The first eight bytes decide most comparisons, and with the length all of short values.
    let less = |a: usize, b: usize| {
        let len = |i: usize| bounds(i).1 - bounds(i).0;
        if len(a) <= 8 && len(b) <= 8 { len(a) < len(b) } else { value(a) < value(b) }
    };
    let mut extent: Option<((u64, usize), (u64, usize))> = None;
    slots.for_each_run(|run| {
        for i in run {
            let (start, end) = bounds(i);
            let key = head(data, start, end).swap_bytes();
            let Some((low, high)) = &mut extent else {
                extent = Some(((key, i), (key, i)));
                continue;
            };
            if key <= low.0 && (key < low.0 || less(i, low.1)) {
                *low = (key, i);
            }
            if key >= high.0 && (key > high.0 || less(high.1, i)) {
                *high = (key, i);
            }
        }
    });
    extent.map(|(low, high)| (value(low.1), value(high.1)))
}

/// Eight bytes that are in the order of the bytes as far as they go.
pub(super) fn key_of(bytes: &[u8]) -> u64 {
    match bytes.first_chunk::<8>() {
        Some(first) => u64::from_be_bytes(*first),
        None => {
            let mut first = [0; 8];
            first[..bytes.len()].copy_from_slice(bytes);
            u64::from_be_bytes(first)
        }
    }
}
