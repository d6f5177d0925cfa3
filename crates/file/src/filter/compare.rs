//! Kernels: one test over all values of an array, a loop for each type.
//!
//! They look at values only; what lies under a null is tested like the rest and covered by the caller.

use std::cmp::Ordering;

use arrow_array::{ArrayAccessor, ArrowPrimitiveType, PrimitiveArray};
use arrow_buffer::{ArrowNativeType, BooleanBuffer, i256};
use half::f16;

use super::bind::Test;
use super::like::Pattern;
use super::mask::{pack, pack_pairs};
use super::predicate::Comparison;
use crate::stats::Value;

/// A native type and the value that a predicate has for it.
pub(super) trait Native: ArrowNativeType + PartialOrd {
    fn of(value: &Value) -> Option<Self>;

    /// Differs from itself.
    fn is_nan(self) -> bool {
        false
    }
}

macro_rules! native_ints {
    ($($int:ty),*) => { $(
        impl Native for $int {
            fn of(value: &Value) -> Option<Self> {
                match value {
                    Value::Int(value) => Self::try_from(*value).ok(),
                    _ => None,
                }
            }
        }
    )* };
}
native_ints!(i8, i16, i32, i64, i128, u8, u16, u32, u64);

impl Native for i256 {
    fn of(value: &Value) -> Option<Self> {
        match value {
            Value::Wide(value) => Some(*value),
            _ => None,
        }
    }
}

macro_rules! native_floats {
    ($($float:ty: $from:expr),*) => { $(
        impl Native for $float {
            fn of(value: &Value) -> Option<Self> {
                match value {
                    Value::Float(value) => Some($from(*value)),
                    _ => None,
                }
            }

            fn is_nan(self) -> bool {
                self.is_nan()
            }
        }
    )* };
}
// Exact: the value was read as one of this type.
native_floats!(f16: f16::from_f64, f32: |v| v as f32, f64: |v| v);

/// The rows of numbers that pass a test; `None` if it is none for numbers.
pub(super) fn test_primitive<T: ArrowPrimitiveType>(
    array: &PrimitiveArray<T>,
    test: &Test,
) -> Option<BooleanBuffer>
where
    T::Native: Native,
{
    let values: &[T::Native] = array.values();
    Some(match test {
        Test::Compare(op, value) => compare_values(values, *op, Native::of(value)?),
        Test::In(list) => is_in(values, list)?,
        Test::IsNan => pack(values, Native::is_nan),
        _ => return None,
    })
}

#[expect(clippy::double_comparisons, reason = "NaN is neither less nor greater, and not equal")]
fn compare_values<N: Native>(values: &[N], op: Comparison, with: N) -> BooleanBuffer {
    match op {
        Comparison::Equal => pack(values, |v| v == with),
        // NaN compares false with everything, also here.
        Comparison::NotEqual => pack(values, |v| v < with || v > with),
        Comparison::Less => pack(values, |v| v < with),
        Comparison::LessOrEqual => pack(values, |v| v <= with),
        Comparison::Greater => pack(values, |v| v > with),
        Comparison::GreaterOrEqual => pack(values, |v| v >= with),
    }
}

/// Values in a list that are looked at one by one; more are searched.
const FEW: usize = 8;

fn is_in<N: Native>(values: &[N], list: &[Value]) -> Option<BooleanBuffer> {
    let mut list = list.iter().map(N::of).collect::<Option<Vec<N>>>()?;
    list.retain(|v| !v.is_nan());
    if list.len() <= FEW {
        return Some(pack(values, |v| list.contains(&v)));
    }
    list.sort_by(|a, b| a.partial_cmp(b).unwrap_or(Ordering::Equal));
    Some(pack(values, |v| list.binary_search_by(|l| l.partial_cmp(&v).unwrap_or(Ordering::Less)).is_ok()))
}

/// Two arrays of one type, row by row.
#[expect(clippy::double_comparisons, reason = "NaN is neither less nor greater, and not equal")]
pub(super) fn compare_primitives<T: ArrowPrimitiveType>(
    op: Comparison,
    left: &PrimitiveArray<T>,
    right: &PrimitiveArray<T>,
) -> BooleanBuffer
where
    T::Native: Native,
{
    let (left, right): (&[T::Native], &[T::Native]) = (left.values(), right.values());
    match op {
        Comparison::Equal => pack_pairs(left, right, |a, b| a == b),
        Comparison::NotEqual => pack_pairs(left, right, |a, b| a < b || a > b),
        Comparison::Less => pack_pairs(left, right, |a, b| a < b),
        Comparison::LessOrEqual => pack_pairs(left, right, |a, b| a <= b),
        Comparison::Greater => pack_pairs(left, right, |a, b| a > b),
        Comparison::GreaterOrEqual => pack_pairs(left, right, |a, b| a >= b),
    }
}

/// Whether two values that have an order compare like this.
fn holds(op: Comparison, order: Ordering) -> bool {
    match op {
        Comparison::Equal => order.is_eq(),
        Comparison::NotEqual => order.is_ne(),
        Comparison::Less => order.is_lt(),
        Comparison::LessOrEqual => order.is_le(),
        Comparison::Greater => order.is_gt(),
        Comparison::GreaterOrEqual => order.is_ge(),
    }
}

/// The rows of bytes or text that pass a test. Text is ordered by its bytes, which is the order of its characters.
pub(super) fn test_bytes<A>(array: A, test: &Test) -> Option<BooleanBuffer>
where
    A: ArrayAccessor,
    A::Item: AsRef<[u8]>,
{
    Some(match test {
        Test::Compare(op, Value::Bytes(with)) => {
            let with = with.as_slice();
            match op {
                Comparison::Equal => over(&array, |v| v == with),
                Comparison::NotEqual => over(&array, |v| v != with),
                op => over(&array, |v| holds(*op, v.cmp(with))),
            }
        }
        Test::In(list) => {
            let bytes = list.iter().map(|value| match value {
                Value::Bytes(bytes) => Some(bytes.as_slice()),
                _ => None,
            });
            let mut list = bytes.collect::<Option<Vec<_>>>()?;
            list.sort_unstable();
            over(&array, |v| list.binary_search(&v).is_ok())
        }
        Test::StartsWith(prefix) => over(&array, |v| v.starts_with(prefix)),
        _ => return None,
    })
}

fn over<A>(array: &A, f: impl Fn(&[u8]) -> bool) -> BooleanBuffer
where
    A: ArrayAccessor,
    A::Item: AsRef<[u8]>,
{
    BooleanBuffer::collect_bool(array.len(), |i| f(array.value(i).as_ref()))
}

/// The rows of text that pass a test.
pub(super) fn test_text<'a, A>(array: A, test: &Test) -> Option<BooleanBuffer>
where
    A: ArrayAccessor<Item = &'a str>,
{
    let Test::Like(pattern) = test else { return test_bytes(array, test) };
    Some(match pattern {
        Pattern::Exact(text) => over(&array, |v| v == text.as_bytes()),
        Pattern::Prefix(text) => over(&array, |v| v.starts_with(text.as_bytes())),
        Pattern::Suffix(text) => over(&array, |v| v.ends_with(text.as_bytes())),
        Pattern::Inside(text) => {
            BooleanBuffer::collect_bool(array.len(), |i| array.value(i).contains(text.as_str()))
        }
        Pattern::Steps(steps) => {
            let mut state = Vec::new();
            BooleanBuffer::collect_bool(array.len(), |i| steps.matches(array.value(i), &mut state))
        }
    })
}

/// Two arrays of bytes or text, row by row.
pub(super) fn compare_bytes<A>(op: Comparison, left: A, right: A) -> BooleanBuffer
where
    A: ArrayAccessor,
    A::Item: AsRef<[u8]>,
{
    let len = left.len().min(right.len());
    BooleanBuffer::collect_bool(len, |i| holds(op, left.value(i).as_ref().cmp(right.value(i).as_ref())))
}

/// The rows of booleans that pass a test; FALSE is less than TRUE.
pub(super) fn test_bools(values: &BooleanBuffer, test: &Test) -> Option<BooleanBuffer> {
    let passes = |value: bool| {
        Some(match test {
            Test::Compare(op, Value::Bool(with)) => holds(*op, value.cmp(with)),
            Test::In(list) => list.contains(&Value::Bool(value)),
            Test::IsTrue => value,
            _ => return None,
        })
    };
    Some(match (passes(true)?, passes(false)?) {
        (true, true) => BooleanBuffer::new_set(values.len()),
        (true, false) => values.clone(),
        (false, true) => !values,
        (false, false) => BooleanBuffer::new_unset(values.len()),
    })
}

/// Two arrays of booleans, row by row.
pub(super) fn compare_bools(op: Comparison, left: &BooleanBuffer, right: &BooleanBuffer) -> BooleanBuffer {
    let len = left.len().min(right.len());
    BooleanBuffer::collect_bool(len, |i| holds(op, left.value(i).cmp(&right.value(i))))
}
