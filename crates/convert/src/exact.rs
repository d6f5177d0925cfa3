//! Values from text, exactly: what the type would round, cut or drop is an error that shows the value.
//!
//! ```text
//! int      digits, and zeros after a point      time, timestamp  no fraction finer than the unit, no second 60
//! float    finite unless it says infinity;      date             no time of day but midnight
//!          a whole number must be kept whole    decimal          no digits below the scale
//! ```

use std::fmt::Display;
use std::str::FromStr;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type,
    UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, BooleanArray, Int64Array, LargeStringArray, NullArray, PrimitiveArray};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{ArrowError, DataType, TimeUnit};
use pennon_file::{Error, Result};

use crate::guard::short;
use crate::types::type_name;

/// Whether [`parse`] makes values of this type.
pub(crate) fn is_parsed(data_type: &DataType) -> bool {
    use DataType as T;
    data_type.is_integer()
        || data_type.is_floating()
        || data_type.is_decimal()
        || matches!(
            data_type,
            T::Null | T::Date32 | T::Date64 | T::Time32(_) | T::Time64(_) | T::Timestamp(_, _)
        )
}

/// The texts as values of `target`. With `counts`, a whole number stands for a time as a number of its unit.
pub(crate) fn parse(text: &LargeStringArray, target: &DataType, counts: bool) -> Result<ArrayRef> {
    use DataType as T;
    match target {
        T::Null => match text.iter().flatten().next() {
            Some(value) => Err(misfit(value, target)),
            None => Ok(Arc::new(NullArray::new(text.len()))),
        },
        T::Int8 => integers::<Int8Type>(text),
        T::Int16 => integers::<Int16Type>(text),
        T::Int32 => integers::<Int32Type>(text),
        T::Int64 => integers::<Int64Type>(text),
        T::UInt8 => integers::<UInt8Type>(text),
        T::UInt16 => integers::<UInt16Type>(text),
        T::UInt32 => integers::<UInt32Type>(text),
        T::UInt64 => integers::<UInt64Type>(text),
        T::Float64 => floats::<Float64Type>(text),
        T::Float32 => floats::<Float32Type>(text),
        T::Float16 => {
            let wide = floats::<Float32Type>(text)?;
            let made = cast(&wide, target)?;
            let back = cast(&made, &T::Float32)?;
            let (wide, back) = (wide.as_primitive::<Float32Type>(), back.as_primitive::<Float32Type>());
            match (0..text.len()).find(|i| back.value(*i).is_infinite() && wide.value(*i).is_finite()) {
                Some(i) => Err(misfit(text.value(i), target)),
                None => Ok(made),
            }
        }
        T::Decimal32(_, s) | T::Decimal64(_, s) | T::Decimal128(_, s) | T::Decimal256(_, s) => {
            match text.iter().flatten().find(|v| fraction_digits(v).is_none_or(|n| n > i64::from(*s))) {
                Some(value) => Err(misfit(value, target)),
                None => each(text, target),
            }
        }
        _ => times(text, target, counts),
    }
}

fn misfit(value: &str, target: &DataType) -> Error {
    Error::invalid(format!("expected {}, found {}", type_name(target), short(value)))
}

fn cast(array: &dyn Array, target: &DataType) -> Result<ArrayRef> {
    let options = CastOptions { safe: false, ..Default::default() };
    cast_with_options(array, target, &options).map_err(|e: ArrowError| Error::invalid(e.to_string()))
}

/// The library's reading of texts, with the first that it refuses in the message.
fn each(text: &LargeStringArray, target: &DataType) -> Result<ArrayRef> {
    cast(text, target).map_err(|e| {
        let refused = |i: &usize| !text.is_null(*i) && cast(&text.slice(*i, 1), target).is_err();
        (0..text.len()).find(refused).map_or(e, |i| misfit(text.value(i), target))
    })
}

fn integers<T: ArrowPrimitiveType>(text: &LargeStringArray) -> Result<ArrayRef>
where
    T::Native: FromStr,
{
    let one = |value: &str| {
        let whole = match value.split_once('.') {
            Some((whole, fraction)) if !fraction.is_empty() && fraction.bytes().all(|b| b == b'0') => whole,
            _ => value,
        };
        whole.trim().parse::<T::Native>().map_err(|_| misfit(value, &T::DATA_TYPE))
    };
    let values = text.iter().map(|v| v.map(one).transpose());
    Ok(Arc::new(values.collect::<Result<PrimitiveArray<T>>>()?))
}

fn floats<T: ArrowPrimitiveType>(text: &LargeStringArray) -> Result<ArrayRef>
where
    T::Native: FromStr + Display + Into<f64>,
{
    let one = |value: &str| {
        let trimmed = value.trim();
        let number = trimmed.parse::<T::Native>().map_err(|_| misfit(value, &T::DATA_TYPE))?;
        let wide: f64 = number.into();
        let digits = trimmed.strip_prefix('-').unwrap_or(trimmed);
        let numeric = digits.starts_with(|c: char| c.is_ascii_digit() || c == '.');
        // The shortest digits that stand for a float may be other ones than the exact digits of it.
        let kept = !digits.bytes().all(|b| b.is_ascii_digit())
            || wide.abs() < 16_777_216.0
            || number.to_string() == trimmed
            || trimmed.parse::<i128>().is_ok_and(|whole| whole as f64 == wide && wide as i128 == whole);
        if (numeric && wide.is_infinite()) || !kept { Err(misfit(value, &T::DATA_TYPE)) } else { Ok(number) }
    };
    let values = text.iter().map(|v| v.map(one).transpose());
    Ok(Arc::new(values.collect::<Result<PrimitiveArray<T>>>()?))
}

/// Digits after the point that count: 2 for `0.250`, -1 for `30`, 3 for `1e-3`.
fn fraction_digits(value: &str) -> Option<i64> {
    let value = value.trim();
    let (mantissa, exponent) = match value.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
        None => (value, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let kept = fraction.trim_end_matches('0');
    let digits = if kept.is_empty() {
        let whole = whole.trim_start_matches(['+', '-']);
        let kept = whole.trim_end_matches('0');
        // Zero has no digits that count.
        if kept.is_empty() {
            return Some(i64::MIN);
        }
        -((whole.len() - kept.len()) as i64)
    } else {
        kept.len() as i64
    };
    Some(digits - i64::from(exponent))
}

fn times(text: &LargeStringArray, target: &DataType, counts: bool) -> Result<ArrayRef> {
    let is_count = |v: &str| {
        let digits = v.strip_prefix('-').unwrap_or(v);
        counts && !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())
    };
    if let Some(value) = text.iter().flatten().find(|v| !is_count(v) && !is_exact_time(v, target)) {
        return Err(misfit(value, target));
    }
    if !text.iter().flatten().any(is_count) {
        return each(text, target);
    }
    let texts: LargeStringArray = text.iter().map(|v| v.filter(|v| !is_count(v))).collect();
    let numbers = text.iter().map(|v| {
        let count = v.filter(|v| is_count(v));
        count.map(|v| v.parse::<i64>().map_err(|_| misfit(v, target))).transpose()
    });
    let numbers: ArrayRef = Arc::new(numbers.collect::<Result<Int64Array>>()?);
    let numbers = match target {
        DataType::Date32 | DataType::Time32(_) => cast(&cast(&numbers, &DataType::Int32)?, target)?,
        _ => cast(&numbers, target)?,
    };
    let mask: BooleanArray = text.iter().map(|v| Some(v.is_some_and(is_count))).collect();
    arrow_select::zip::zip(&mask, &numbers, &each(&texts, target)?).map_err(|e| Error::invalid(e.to_string()))
}

/// Whether the unit of `target` holds all that the text says. Whether it is a time at all is seen later.
fn is_exact_time(value: &str, target: &DataType) -> bool {
    use DataType as T;
    let digits = match target {
        T::Date32 => {
            let time = value.trim().split_once(['T', 't', ' ']).map_or("", |(_, time)| time);
            return !time.bytes().any(|b| matches!(b, b'1'..=b'9'));
        }
        T::Time32(TimeUnit::Second) | T::Timestamp(TimeUnit::Second, _) => 0,
        T::Time32(_) | T::Timestamp(TimeUnit::Millisecond, _) | T::Date64 => 3,
        T::Time64(TimeUnit::Microsecond) | T::Timestamp(TimeUnit::Microsecond, _) => 6,
        _ => 9,
    };
    let fraction = value.split_once('.').map_or("", |(_, rest)| rest);
    let mut fraction = fraction.bytes().take_while(u8::is_ascii_digit).skip(digits);
    // The second 60 would become another second.
    fraction.all(|b| b == b'0') && !value.contains(":60")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(value: &str, target: &DataType) -> Result<ArrayRef> {
        parse(&LargeStringArray::from(vec![Some(value), None]), target, true)
    }

    #[test]
    fn what_a_type_would_cut_or_round_is_refused_and_what_it_holds_is_kept() {
        use DataType as T;
        let (s, ms) = (T::Timestamp(TimeUnit::Second, None), T::Timestamp(TimeUnit::Millisecond, None));
        let clock = T::Time32(TimeUnit::Second);
        let money = T::Decimal128(5, 2);
        for (value, target) in [
            ("1.5", &T::Int64),
            ("1.9", &T::Int8),
            ("128", &T::Int8),
            ("9007199254740993", &T::Float64),
            ("16777217", &T::Float32),
            ("1e39", &T::Float32),
            ("1e400", &T::Float64),
            ("70000", &T::Float16),
            ("x", &T::Null),
            ("1.239", &money),
            ("1239e-3", &money),
            ("1000", &money),
            ("2020-01-01T10:00:00", &T::Date32),
            ("2020-01-01T10:00:00.5", &s),
            ("2020-01-01T10:00:00.0005", &ms),
            ("2020-01-01T23:59:60", &s),
            ("12:00:00.9", &clock),
            ("23:59:60", &clock),
            ("1.5", &s),
        ] {
            let e = found(value, target).unwrap_err().to_string();
            assert_eq!(e, format!("expected {}, found {value:?}", type_name(target)));
        }
        for (value, target) in [
            ("1.0", &T::Int64),
            ("9007199254740993.0", &T::Int64),
            ("9007199254740992", &T::Float64),
            ("12345678901234567000", &T::Float64),
            ("16777216", &T::Float32),
            ("Infinity", &T::Float32),
            ("NaN", &T::Float64),
            ("-1.230", &money),
            ("123e-2", &money),
            ("2020-01-01", &T::Date32),
            ("2020-01-01T00:00:00", &T::Date32),
            ("2020-01-01T10:00:00.000", &s),
            ("2020-01-01 10:00:00.5", &ms),
            ("12:00:00", &clock),
            ("1600000000", &s),
        ] {
            let made = found(value, target);
            assert!(made.is_ok_and(|a| a.data_type() == target && a.null_count() == 1), "{value} {target}");
        }
    }
}
