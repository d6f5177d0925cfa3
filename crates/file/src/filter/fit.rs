//! Literals to values of a column's type, exactly.
//!
//! A value fits if the type keeps all of it: no fraction in an integer column, no digits below a decimal's scale or a
//! time's unit, no time of day in a date, no whole number that a float would read as another. Fractions against
//! floats are the nearest float, as in any program.

use arrow_buffer::i256;
use arrow_schema::{DataType, TimeUnit};
use half::f16;

use super::calendar::{self, NANOS_PER_SECOND, SECONDS_PER_DAY};
use super::lex::{MAX_QUOTED, shortened};
use super::literal::{Decimal, Literal};
use crate::schema::type_name;
use crate::stats::Value;
use crate::{Error, Result};

/// The type of the values, with dictionaries and runs looked through.
pub(super) fn value_type(data_type: &DataType) -> &DataType {
    match data_type {
        DataType::Dictionary(_, values) => value_type(values),
        DataType::RunEndEncoded(_, values) => value_type(values.data_type()),
        other => other,
    }
}

/// The value that `literal` is in a column of this type; `path` names it in errors.
pub(super) fn fit(literal: &Literal, data_type: &DataType, path: &str) -> Result<Value> {
    let inner = value_type(data_type);
    let reason = match of_type(literal, inner) {
        Ok(value) => return Ok(value),
        Err(reason) => reason,
    };
    let (name, why) = (type_name(inner), if reason.is_empty() { reason } else { format!(": {reason}") });
    let literal = shortened(&literal.to_string(), MAX_QUOTED);
    Err(Error::invalid(format!("{literal} does not fit {name} column {path}{why}")))
}

/// Why a literal does not fit; empty where the type says it all.
type Fit = std::result::Result<Value, String>;

fn of_type(literal: &Literal, data_type: &DataType) -> Fit {
    use DataType::*;
    match data_type {
        Boolean => match literal {
            Literal::Bool(value) => Ok(Value::Bool(*value)),
            _ => Err("expected TRUE or FALSE".into()),
        },
        Int8 => int(literal, i8::MIN.into(), i8::MAX.into()),
        Int16 => int(literal, i16::MIN.into(), i16::MAX.into()),
        Int32 => int(literal, i32::MIN.into(), i32::MAX.into()),
        Int64 => int(literal, i64::MIN.into(), i64::MAX.into()),
        UInt8 => int(literal, 0, u8::MAX.into()),
        UInt16 => int(literal, 0, u16::MAX.into()),
        UInt32 => int(literal, 0, u32::MAX.into()),
        UInt64 => int(literal, 0, u64::MAX.into()),
        Float16 => float(literal, |text| {
            let value = text.parse::<f64>().ok()?;
            Some(f16::from_f64(value).to_f64())
        }),
        Float32 => float(literal, |text| Some(text.parse::<f32>().ok()?.into())),
        Float64 => float(literal, |text| text.parse().ok()),
        Decimal32(precision, scale)
        | Decimal64(precision, scale)
        | Decimal128(precision, scale)
        | Decimal256(precision, scale) => {
            let text = unscaled(literal, *precision, *scale)?;
            match data_type {
                Decimal256(..) => i256::from_string(&text).map(Value::Wide),
                _ => text.parse().ok().map(Value::Int),
            }
            .ok_or_else(String::new)
        }
        Utf8 | LargeUtf8 | Utf8View => match literal {
            Literal::String(text) => Ok(Value::Bytes(text.as_bytes().to_vec())),
            _ => Err("expected a text in single quotes".into()),
        },
        Binary | LargeBinary | BinaryView | FixedSizeBinary(_) => match (literal, data_type) {
            (Literal::Bytes(bytes), FixedSizeBinary(n)) if usize::try_from(*n) != Ok(bytes.len()) => {
                Err(format!("it has {} bytes", bytes.len()))
            }
            (Literal::Bytes(bytes), _) => Ok(Value::Bytes(bytes.clone())),
            _ => Err("expected bytes, as in X'00ff'".into()),
        },
        Date32 => date(literal).map(|days| Value::Int(days.into())),
        Date64 => date(literal).map(|days| Value::Int(i128::from(days) * 86_400_000)),
        Time32(unit) | Time64(unit) => {
            let nanos = match literal {
                Literal::Time(nanos) => Some(*nanos),
                Literal::String(text) => calendar::parse_time(text),
                _ => None,
            };
            let nanos = nanos.ok_or("expected a time, as in TIME '10:00:00'")?;
            in_unit(nanos.into(), *unit)
        }
        Timestamp(unit, zone) => timestamp(literal, *unit, zone.is_some()),
        Duration(unit) => match literal {
            // As text formats show them: a number of the unit.
            Literal::Int(count) => in_range(*count),
            Literal::String(text) => {
                let nanos = calendar::parse_duration(text).ok_or("expected a duration, as in '1h 30m'")?;
                in_unit(nanos, *unit)
            }
            _ => Err("expected a duration, as in '1h 30m', or a number of the column's unit".into()),
        },
        // Every comparison with null is NULL, whatever the value.
        Null => Ok(Value::Bool(false)),
        _ => Err("values of this type are not compared, only IS NULL is known".into()),
    }
}

fn int(literal: &Literal, least: i128, most: i128) -> Fit {
    match literal {
        Literal::Int(value) if (least..=most).contains(value) => Ok(Value::Int(*value)),
        Literal::Int(_) => Err(format!("its values are from {least} to {most}")),
        Literal::Decimal(value) if value.exponent >= 0 => {
            Err(format!("its values are from {least} to {most}"))
        }
        Literal::Decimal(_) => Err("its values are whole numbers".into()),
        _ => Err("expected a whole number".into()),
    }
}

fn in_range(value: i128) -> Fit {
    match i64::try_from(value) {
        Ok(_) => Ok(Value::Int(value)),
        Err(_) => Err("it is out of range".into()),
    }
}

fn float(literal: &Literal, nearest: impl Fn(&str) -> Option<f64>) -> Fit {
    let decimal = match literal {
        Literal::Int(value) => Decimal::of_int(*value),
        Literal::Decimal(decimal) => decimal.clone(),
        Literal::Float(value) if !value.is_finite() => return Ok(Value::Float(*value)),
        Literal::Float(value) => return float(&Literal::from(*value), nearest),
        _ => return Err("expected a number".into()),
    };
    let sign = if decimal.negative { "-" } else { "" };
    let text = format!("{sign}{}e{}", decimal.digits, decimal.exponent);
    let value = nearest(&text).ok_or_else(String::new)?;
    if !value.is_finite() {
        return Err("it is out of range".into());
    }
    if decimal.exponent >= 0 {
        // 16777217 is another number in 32 bits; 1e23 is no number of 64 bits, but the shortest name of one.
        let names = |text: String| Literal::number(&text).is_ok_and(|number| number == normal(literal));
        let single = format!("{:e}", value as f32);
        let is_single = nearest(&single) == Some(value);
        let is_named = names(format!("{value:e}")) || is_single && names(single);
        if !is_named {
            return Err(format!("the nearest value is {value}"));
        }
    }
    Ok(Value::Float(value))
}

/// Whole numbers in one form.
fn normal(literal: &Literal) -> Literal {
    match literal {
        Literal::Decimal(decimal) => decimal.as_int().map_or_else(|| literal.clone(), Literal::Int),
        other => other.clone(),
    }
}

/// The digits of a decimal without its point.
fn unscaled(literal: &Literal, precision: u8, scale: i8) -> std::result::Result<String, String> {
    let decimal = match literal {
        Literal::Int(value) => Decimal::of_int(*value),
        Literal::Decimal(decimal) => decimal.clone(),
        _ => return Err("expected a number".into()),
    };
    if decimal.digits == "0" {
        return Ok("0".to_owned());
    }
    let zeros = decimal.exponent + i32::from(scale);
    let Ok(zeros) = usize::try_from(zeros) else {
        return Err(match scale {
            0.. => format!("it has {scale} digits after the point"),
            _ => format!("its values are multiples of 10^{}", -i32::from(scale)),
        });
    };
    if decimal.digits.len() + zeros > usize::from(precision) {
        return Err(format!("it has {precision} digits"));
    }
    let sign = if decimal.negative { "-" } else { "" };
    Ok(format!("{sign}{}{}", decimal.digits, "0".repeat(zeros)))
}

fn date(literal: &Literal) -> std::result::Result<i32, String> {
    match literal {
        Literal::Date(days) => Ok(*days),
        Literal::String(text) => {
            calendar::parse_date(text).ok_or_else(|| "expected a date, as in DATE '2026-01-31'".into())
        }
        Literal::Timestamp(t) if t.zoned => Err("a date has no zone".into()),
        Literal::Timestamp(t) => match (t.seconds % SECONDS_PER_DAY, t.nanos) {
            (0, 0) => i32::try_from(t.seconds / SECONDS_PER_DAY).map_err(|_| "it is out of range".into()),
            _ => Err("a date has no time of day".into()),
        },
        _ => Err("expected a date, as in DATE '2026-01-31'".into()),
    }
}

fn timestamp(literal: &Literal, unit: TimeUnit, zoned: bool) -> Fit {
    let example = if zoned { "2026-01-31T10:00:00Z" } else { "2026-01-31T10:00:00" };
    let expected = || format!("expected TIMESTAMP '{example}'");
    let (seconds, nanos, has_zone) = match literal {
        Literal::Timestamp(t) => (t.seconds, t.nanos, t.zoned),
        Literal::Date(days) => (i64::from(*days) * SECONDS_PER_DAY, 0, false),
        Literal::String(text) => calendar::parse_timestamp(text).ok_or_else(expected)?,
        _ => return Err(expected()),
    };
    match (has_zone, zoned) {
        (false, true) => return Err(format!("the column's times have a zone; {}", expected())),
        (true, false) => return Err(format!("the column's times have no zone; {}", expected())),
        _ => {}
    }
    in_unit(i128::from(seconds) * i128::from(NANOS_PER_SECOND) + i128::from(nanos), unit)
}

fn in_unit(nanos: i128, unit: TimeUnit) -> Fit {
    let (divisor, name) = match unit {
        TimeUnit::Second => (1_000_000_000, "seconds"),
        TimeUnit::Millisecond => (1_000_000, "milliseconds"),
        TimeUnit::Microsecond => (1_000, "microseconds"),
        TimeUnit::Nanosecond => (1, "nanoseconds"),
    };
    if nanos % divisor != 0 {
        return Err(format!("its values are whole {name}"));
    }
    in_range(nanos / divisor)
}
