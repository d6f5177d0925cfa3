//! A bound predicate over a batch.

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, ArrayRef, RecordBatch, downcast_dictionary_array, downcast_run_array};
use arrow_buffer::{ArrowNativeType, BooleanBuffer, BooleanBufferBuilder, NullBuffer};
use arrow_schema::{DataType, TimeUnit};

use super::bind::{Bound, BoundColumn, Node, Test};
use super::compare::{
    compare_bools, compare_bytes, compare_primitives, test_bools, test_bytes, test_primitive, test_text,
};
use super::fit::value_type;
use super::mask::{Mask, pack};
use super::predicate::Comparison;
use super::select::decoded;
use crate::schema::type_name;
use crate::{Error, Result};

pub(super) fn evaluate(bound: &Bound, batch: &RecordBatch) -> Result<BooleanBuffer> {
    let columns =
        bound.columns.iter().map(|column| reached(column, batch)).collect::<Result<Vec<Reached>>>()?;
    Ok(node(&bound.root, &columns, batch.num_rows())?.into_truth())
}

/// A column of a batch, and where a struct around it is null.
struct Reached {
    array: ArrayRef,
    above: Option<NullBuffer>,
}

fn reached(column: &BoundColumn, batch: &RecordBatch) -> Result<Reached> {
    let wrong = |found: String| {
        Error::invalid(format!(
            "the predicate is bound to another schema: column {} is {}, found {found}",
            column.path,
            type_name(&column.data_type)
        ))
    };
    let mut array: Option<ArrayRef> = None;
    let mut above: Option<NullBuffer> = None;
    for step in &column.steps {
        let next = match &array {
            None => batch.columns().get(*step),
            Some(outer) => {
                let outer = outer.as_struct_opt().ok_or_else(|| wrong(type_name(outer.data_type())))?;
                above = NullBuffer::union(above.as_ref(), outer.nulls());
                outer.columns().get(*step)
            }
        };
        array = Some(next.ok_or_else(|| wrong("none".to_owned()))?.clone());
    }
    match array {
        Some(array) if *array.data_type() == column.data_type => Ok(Reached { array, above }),
        other => Err(wrong(other.map_or("none".to_owned(), |a| type_name(a.data_type())))),
    }
}

fn node(node: &Node, columns: &[Reached], len: usize) -> Result<Mask> {
    let inner = |n: &Node| self::node(n, columns, len);
    Ok(match node {
        Node::Constant(value) => Mask::constant(*value, len),
        Node::And(parts) => folded(parts.iter().map(inner), Mask::and, true, len)?,
        Node::Or(parts) => folded(parts.iter().map(inner), Mask::or, false, len)?,
        Node::Not(part) => inner(part)?.not(),
        Node::Test { column, test: Test::IsNull } => {
            let Reached { array, above } = &columns[*column];
            let nulls = NullBuffer::union(array.logical_nulls().as_ref(), above.as_ref());
            match nulls {
                Some(nulls) => Mask::new(!nulls.inner(), None),
                None => Mask::constant(false, len),
            }
        }
        Node::Test { column, test } => {
            let Reached { array, above } = &columns[*column];
            covered(test_array(array, test)?, above.as_ref())
        }
        Node::Columns { op, left, right } => {
            let (left, right) = (&columns[*left], &columns[*right]);
            let above = NullBuffer::union(left.above.as_ref(), right.above.as_ref());
            covered(compare_arrays(*op, &left.array, &right.array)?, above.as_ref())
        }
    })
}

/// What some masks are together; `none` without any.
fn folded(
    masks: impl Iterator<Item = Result<Mask>>,
    join: impl Fn(Mask, Mask) -> Mask,
    none: bool,
    len: usize,
) -> Result<Mask> {
    let mut joined = None;
    for mask in masks {
        let mask = mask?;
        joined = Some(match joined {
            Some(first) => join(first, mask),
            None => mask,
        });
    }
    Ok(joined.unwrap_or_else(|| Mask::constant(none, len)))
}

/// NULL where a struct above is null.
fn covered(mask: Mask, above: Option<&NullBuffer>) -> Mask {
    let Some(above) = above.filter(|n| n.null_count() > 0) else { return mask };
    let known = match mask.known() {
        Some(known) => known & above.inner(),
        None => above.inner().clone(),
    };
    Mask::of_bits(mask.into_truth(), known)
}

/// Calls `$body` with `$T` as the primitive type of a data type, or `$other`.
macro_rules! for_primitive {
    ($data_type:expr, $T:ident => $body:expr, _ => $other:expr) => {
        for_primitive!(@arms $data_type, $T, $body, $other,
            DataType::Int8 => Int8Type, DataType::Int16 => Int16Type, DataType::Int32 => Int32Type,
            DataType::Int64 => Int64Type, DataType::UInt8 => UInt8Type, DataType::UInt16 => UInt16Type,
            DataType::UInt32 => UInt32Type, DataType::UInt64 => UInt64Type, DataType::Float16 => Float16Type,
            DataType::Float32 => Float32Type, DataType::Float64 => Float64Type,
            DataType::Decimal32(..) => Decimal32Type, DataType::Decimal64(..) => Decimal64Type,
            DataType::Decimal128(..) => Decimal128Type, DataType::Decimal256(..) => Decimal256Type,
            DataType::Date32 => Date32Type, DataType::Date64 => Date64Type,
            DataType::Time32(TimeUnit::Second) => Time32SecondType,
            DataType::Time32(TimeUnit::Millisecond) => Time32MillisecondType,
            DataType::Time64(TimeUnit::Microsecond) => Time64MicrosecondType,
            DataType::Time64(TimeUnit::Nanosecond) => Time64NanosecondType,
            DataType::Timestamp(TimeUnit::Second, _) => TimestampSecondType,
            DataType::Timestamp(TimeUnit::Millisecond, _) => TimestampMillisecondType,
            DataType::Timestamp(TimeUnit::Microsecond, _) => TimestampMicrosecondType,
            DataType::Timestamp(TimeUnit::Nanosecond, _) => TimestampNanosecondType,
            DataType::Duration(TimeUnit::Second) => DurationSecondType,
            DataType::Duration(TimeUnit::Millisecond) => DurationMillisecondType,
            DataType::Duration(TimeUnit::Microsecond) => DurationMicrosecondType,
            DataType::Duration(TimeUnit::Nanosecond) => DurationNanosecondType
        )
    };
    (@arms $data_type:expr, $T:ident, $body:expr, $other:expr, $($pattern:pat => $type:ty),*) => {
        match $data_type {
            $($pattern => {
                type $T = $type;
                $body
            })*
            _ => $other,
        }
    };
}
pub(super) use for_primitive;

fn test_array(array: &ArrayRef, test: &Test) -> Result<Mask> {
    use DataType::*;
    if matches!(test, Test::In(list) if list.is_empty()) {
        // Whatever the type: no value is looked at.
        let nulls = array.logical_nulls();
        return Ok(Mask::new(BooleanBuffer::new_unset(array.len()), nulls.as_ref()));
    }
    let bits = match array.data_type() {
        Null => return Ok(Mask::null(array.len())),
        Dictionary(..) => return test_dictionary(array, test),
        RunEndEncoded(..) => return test_runs(array, test),
        Boolean => test_bools(array.as_boolean().values(), test),
        Utf8 => test_text(array.as_string::<i32>(), test),
        LargeUtf8 => test_text(array.as_string::<i64>(), test),
        Utf8View => test_text(array.as_string_view(), test),
        Binary => test_bytes(array.as_binary::<i32>(), test),
        LargeBinary => test_bytes(array.as_binary::<i64>(), test),
        BinaryView => test_bytes(array.as_binary_view(), test),
        FixedSizeBinary(_) => test_bytes(array.as_fixed_size_binary(), test),
        data_type => {
            for_primitive!(data_type, T => test_primitive(array.as_primitive::<T>(), test), _ => None)
        }
    };
    bits.map(|bits| Mask::new(bits, array.nulls())).ok_or_else(|| unknown(array.data_type()))
}

#[cold]
fn unknown(data_type: &DataType) -> Error {
    Error::unsupported(format!("this test of values of type {}", type_name(data_type)))
}

/// Tests every value of the dictionary once, and looks the keys up.
fn test_dictionary(array: &ArrayRef, test: &Test) -> Result<Mask> {
    downcast_dictionary_array!(
        array => {
            let values = test_array(array.values(), test)?;
            let num_values = array.values().len();
            let keys = array.keys();
            // Keys under nulls may be anything.
            let look_up = |bits: &BooleanBuffer| {
                pack(keys.values(), |key| {
                    let key = key.as_usize();
                    key < num_values && bits.value(key)
                })
            };
            let truth = look_up(values.truth());
            Ok(match values.known() {
                None => Mask::new(truth, keys.nulls()),
                Some(known) => covered(Mask::of_bits(truth, look_up(known)), keys.nulls()),
            })
        }
        other => Err(unknown(other))
    )
}

/// Tests every run once.
fn test_runs(array: &ArrayRef, test: &Test) -> Result<Mask> {
    downcast_run_array!(
        array => {
            let values = test_array(array.values(), test)?;
            let ends = array.run_ends();
            let spread = |bits: &BooleanBuffer| {
                let mut out = BooleanBufferBuilder::new(ends.len());
                let (offset, stop) = (ends.offset(), ends.offset() + ends.len());
                let mut at = offset;
                for (run, end) in ends.values().iter().enumerate() {
                    let end = end.as_usize().min(stop);
                    if end > at && run < bits.len() {
                        out.append_n(end - at, bits.value(run));
                        at = end;
                    }
                }
                out.append_n(stop - at, false);
                out.build()
            };
            let truth = spread(values.truth());
            Ok(match values.known() {
                None => Mask::new(truth, None),
                Some(known) => Mask::of_bits(truth, spread(known)),
            })
        }
        other => Err(unknown(other))
    )
}

fn compare_arrays(op: Comparison, left: &ArrayRef, right: &ArrayRef) -> Result<Mask> {
    use DataType::*;
    let (left, right) = (decoded(left)?, decoded(right)?);
    if *left.data_type() == Null || *right.data_type() == Null {
        return Ok(Mask::null(left.len()));
    }
    let nulls = NullBuffer::union(left.nulls(), right.nulls());
    let bits = match value_type(left.data_type()) {
        Boolean => compare_bools(op, left.as_boolean().values(), right.as_boolean().values()),
        Utf8 => compare_bytes(op, left.as_string::<i32>(), right.as_string::<i32>()),
        LargeUtf8 => compare_bytes(op, left.as_string::<i64>(), right.as_string::<i64>()),
        Utf8View => compare_bytes(op, left.as_string_view(), right.as_string_view()),
        Binary => compare_bytes(op, left.as_binary::<i32>(), right.as_binary::<i32>()),
        LargeBinary => compare_bytes(op, left.as_binary::<i64>(), right.as_binary::<i64>()),
        BinaryView => compare_bytes(op, left.as_binary_view(), right.as_binary_view()),
        FixedSizeBinary(_) => compare_bytes(op, left.as_fixed_size_binary(), right.as_fixed_size_binary()),
        data_type => for_primitive!(
            data_type,
            T => compare_primitives(op, left.as_primitive::<T>(), right.as_primitive::<T>()),
            _ => return Err(unknown(data_type))
        ),
    };
    Ok(Mask::new(bits, nulls.as_ref()))
}
