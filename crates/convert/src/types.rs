//! Names of types, as `schema`, `inspect` and messages show them and as `--schema` reads them.
//!
//! ```text
//! null bool int8 … uint64 float16 float32 float64 utf8 large_utf8 utf8_view binary large_binary binary_view
//! fixed_size_binary[16] date32 date64 time32[s|ms] time64[us|ns] timestamp[us] timestamp[us, Europe/Berlin]
//! duration[ns] interval[year_month|day_time|month_day_nano] decimal32(9,2) … decimal256(76,2)
//! list large_list list_view large_list_view fixed_size_list[3] struct map map[sorted]
//! dictionary[int8] run_end_encoded[int32] union[dense, 0, 1] union[sparse, 0, 1]
//! ```
//!
//! The last two lines take their children from the field; [`type_name`] writes them in full, as in `list<int32>`.

use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef, Fields, IntervalUnit, TimeUnit, UnionFields, UnionMode};
use pennon_file::{Error, Result};

/// The type in full, children included: `struct<a: int32, b: list<utf8>>`.
pub fn type_name(data_type: &DataType) -> String {
    let children = children(data_type);
    let head = head(data_type);
    let inner = match data_type {
        DataType::Struct(_) | DataType::Union(_, _) => {
            let each = children.iter().map(|c| format!("{}: {}", c.name(), type_name(c.data_type())));
            each.collect::<Vec<_>>().join(", ")
        }
        DataType::Map(_, _) => match children.first().map(|e| e.data_type()) {
            Some(DataType::Struct(kv)) => {
                kv.iter().map(|f| type_name(f.data_type())).collect::<Vec<_>>().join(", ")
            }
            _ => String::new(),
        },
        DataType::Dictionary(key, value) => {
            return format!("dictionary<{}, {}>", type_name(key), type_name(value));
        }
        DataType::RunEndEncoded(ends, values) => {
            return format!(
                "run_end_encoded<{}, {}>",
                type_name(ends.data_type()),
                type_name(values.data_type())
            );
        }
        _ if children.is_empty() => return head,
        _ => children.iter().map(|c| type_name(c.data_type())).collect::<Vec<_>>().join(", "),
    };
    format!("{head}<{inner}>")
}

/// The type without its children.
pub(crate) fn head(data_type: &DataType) -> String {
    use DataType as T;
    match data_type {
        T::Null => "null".into(),
        T::Boolean => "bool".into(),
        T::Int8 => "int8".into(),
        T::Int16 => "int16".into(),
        T::Int32 => "int32".into(),
        T::Int64 => "int64".into(),
        T::UInt8 => "uint8".into(),
        T::UInt16 => "uint16".into(),
        T::UInt32 => "uint32".into(),
        T::UInt64 => "uint64".into(),
        T::Float16 => "float16".into(),
        T::Float32 => "float32".into(),
        T::Float64 => "float64".into(),
        T::Utf8 => "utf8".into(),
        T::LargeUtf8 => "large_utf8".into(),
        T::Utf8View => "utf8_view".into(),
        T::Binary => "binary".into(),
        T::LargeBinary => "large_binary".into(),
        T::BinaryView => "binary_view".into(),
        T::FixedSizeBinary(n) => format!("fixed_size_binary[{n}]"),
        T::Date32 => "date32".into(),
        T::Date64 => "date64".into(),
        T::Time32(u) => format!("time32[{}]", unit(*u)),
        T::Time64(u) => format!("time64[{}]", unit(*u)),
        T::Timestamp(u, None) => format!("timestamp[{}]", unit(*u)),
        T::Timestamp(u, Some(zone)) => format!("timestamp[{}, {zone}]", unit(*u)),
        T::Duration(u) => format!("duration[{}]", unit(*u)),
        T::Interval(IntervalUnit::YearMonth) => "interval[year_month]".into(),
        T::Interval(IntervalUnit::DayTime) => "interval[day_time]".into(),
        T::Interval(IntervalUnit::MonthDayNano) => "interval[month_day_nano]".into(),
        T::Decimal32(p, s) => format!("decimal32({p},{s})"),
        T::Decimal64(p, s) => format!("decimal64({p},{s})"),
        T::Decimal128(p, s) => format!("decimal128({p},{s})"),
        T::Decimal256(p, s) => format!("decimal256({p},{s})"),
        T::List(_) => "list".into(),
        T::LargeList(_) => "large_list".into(),
        T::ListView(_) => "list_view".into(),
        T::LargeListView(_) => "large_list_view".into(),
        T::FixedSizeList(_, n) => format!("fixed_size_list[{n}]"),
        T::Struct(_) => "struct".into(),
        T::Map(_, false) => "map".into(),
        T::Map(_, true) => "map[sorted]".into(),
        T::Dictionary(key, _) => format!("dictionary[{}]", head(key)),
        T::RunEndEncoded(ends, _) => format!("run_end_encoded[{}]", head(ends.data_type())),
        T::Union(fields, mode) => {
            let mode = if *mode == UnionMode::Dense { "dense" } else { "sparse" };
            let ids = fields.iter().map(|(id, _)| format!(", {id}")).collect::<String>();
            format!("union[{mode}{ids}]")
        }
    }
}

/// The fields below a type. A dictionary's or a run's values count as a child named `values`.
pub(crate) fn children(data_type: &DataType) -> Vec<FieldRef> {
    use DataType as T;
    match data_type {
        T::List(f)
        | T::LargeList(f)
        | T::ListView(f)
        | T::LargeListView(f)
        | T::FixedSizeList(f, _)
        | T::Map(f, _) => {
            vec![f.clone()]
        }
        T::Struct(fields) => fields.to_vec(),
        T::Union(fields, _) => fields.iter().map(|(_, f)| f.clone()).collect(),
        T::Dictionary(_, value) => vec![Arc::new(Field::new("values", (**value).clone(), true))],
        T::RunEndEncoded(_, values) => vec![values.clone()],
        _ => Vec::new(),
    }
}

/// The inverse of [`head`] and [`children`].
pub(crate) fn parse(name: &str, children: Vec<FieldRef>) -> Result<DataType> {
    let bad = |why: &str| Error::invalid(format!("type {name:?}: {why}"));
    let (word, arguments) = match name.find(['[', '(']) {
        Some(at) => {
            let close = if name.as_bytes()[at] == b'[' { ']' } else { ')' };
            let inner = name[at + 1..]
                .strip_suffix(close)
                .ok_or_else(|| bad(&format!("expected {close:?} at the end")))?;
            (&name[..at], inner.split(',').map(str::trim).collect::<Vec<_>>())
        }
        None => (name, Vec::new()),
    };
    let count = children.len();
    let one = |what: &str| -> Result<FieldRef> {
        match children.as_slice() {
            [child] => Ok(child.clone()),
            _ => Err(bad(&format!("expected one child ({what}), found {count}"))),
        }
    };
    let number = |i: usize| -> Result<i32> {
        let text = arguments.get(i).ok_or_else(|| bad("expected a number in brackets"))?;
        text.parse()
            .ok()
            .filter(|n| *n >= 0)
            .ok_or_else(|| bad(&format!("expected a number, found {text:?}")))
    };
    let time = |i: usize| -> Result<TimeUnit> {
        match arguments.get(i).copied() {
            Some("s") => Ok(TimeUnit::Second),
            Some("ms") => Ok(TimeUnit::Millisecond),
            Some("us") => Ok(TimeUnit::Microsecond),
            Some("ns") => Ok(TimeUnit::Nanosecond),
            other => {
                Err(bad(&format!("expected a unit s, ms, us or ns, found {:?}", other.unwrap_or("nothing"))))
            }
        }
    };
    let decimal = |most: u8, make: fn(u8, i8) -> DataType| -> Result<DataType> {
        let precision = arguments.first().and_then(|p| p.parse::<u8>().ok());
        let scale = arguments.get(1).and_then(|s| s.parse::<i8>().ok());
        match (precision, scale) {
            (Some(p), Some(s)) if (1..=most).contains(&p) && i16::from(s) <= i16::from(p) => Ok(make(p, s)),
            _ => Err(bad(&format!("expected (precision, scale) with a precision from 1 to {most}"))),
        }
    };
    use DataType as T;
    let parsed = match word {
        "null" => T::Null,
        "bool" => T::Boolean,
        "int8" => T::Int8,
        "int16" => T::Int16,
        "int32" => T::Int32,
        "int64" => T::Int64,
        "uint8" => T::UInt8,
        "uint16" => T::UInt16,
        "uint32" => T::UInt32,
        "uint64" => T::UInt64,
        "float16" => T::Float16,
        "float32" => T::Float32,
        "float64" => T::Float64,
        "utf8" => T::Utf8,
        "large_utf8" => T::LargeUtf8,
        "utf8_view" => T::Utf8View,
        "binary" => T::Binary,
        "large_binary" => T::LargeBinary,
        "binary_view" => T::BinaryView,
        "fixed_size_binary" => T::FixedSizeBinary(number(0)?),
        "date32" => T::Date32,
        "date64" => T::Date64,
        "time32" => match time(0)? {
            u @ (TimeUnit::Second | TimeUnit::Millisecond) => T::Time32(u),
            _ => return Err(bad("expected unit s or ms")),
        },
        "time64" => match time(0)? {
            u @ (TimeUnit::Microsecond | TimeUnit::Nanosecond) => T::Time64(u),
            _ => return Err(bad("expected unit us or ns")),
        },
        "timestamp" => T::Timestamp(time(0)?, arguments.get(1).map(|z| (*z).into())),
        "duration" => T::Duration(time(0)?),
        "interval" => T::Interval(match arguments.first().copied() {
            Some("year_month") => IntervalUnit::YearMonth,
            Some("day_time") => IntervalUnit::DayTime,
            Some("month_day_nano") => IntervalUnit::MonthDayNano,
            _ => return Err(bad("expected year_month, day_time or month_day_nano")),
        }),
        "decimal32" => decimal(9, T::Decimal32)?,
        "decimal64" => decimal(18, T::Decimal64)?,
        "decimal128" => decimal(38, T::Decimal128)?,
        "decimal256" => decimal(76, T::Decimal256)?,
        "list" => T::List(one("the items")?),
        "large_list" => T::LargeList(one("the items")?),
        "list_view" => T::ListView(one("the items")?),
        "large_list_view" => T::LargeListView(one("the items")?),
        "fixed_size_list" => T::FixedSizeList(one("the items")?, number(0)?),
        "struct" => return Ok(T::Struct(Fields::from(children))),
        "map" => {
            let entries = one("the entries")?;
            match entries.data_type() {
                T::Struct(kv) if kv.len() == 2 => T::Map(entries, arguments.first() == Some(&"sorted")),
                _ => return Err(bad("expected a child of type struct with two children, key and value")),
            }
        }
        "dictionary" => {
            let key = parse(arguments.first().copied().unwrap_or("int32"), Vec::new())?;
            if !key.is_dictionary_key_type() {
                return Err(bad("expected an integer type for the keys"));
            }
            T::Dictionary(Box::new(key), Box::new(one("the values")?.data_type().clone()))
        }
        "run_end_encoded" => {
            let ends = parse(arguments.first().copied().unwrap_or("int32"), Vec::new())?;
            if !ends.is_run_ends_type() {
                return Err(bad("expected int16, int32 or int64 for the run ends"));
            }
            T::RunEndEncoded(Arc::new(Field::new("run_ends", ends, false)), one("the values")?)
        }
        "union" => {
            let mode = match arguments.first().copied() {
                Some("dense") => UnionMode::Dense,
                Some("sparse") => UnionMode::Sparse,
                _ => return Err(bad("expected dense or sparse")),
            };
            let ids = arguments[1..]
                .iter()
                .map(|id| id.parse::<i8>().map_err(|_| bad("expected type ids")))
                .collect::<Result<Vec<_>>>()?;
            return UnionFields::try_new(ids, children)
                .map(|f| T::Union(f, mode))
                .map_err(|e| bad(&e.to_string()));
        }
        _ => return Err(bad("no such type; `pennon schema FILE --json` shows names of types")),
    };
    if count > 0 && self::children(&parsed).is_empty() {
        return Err(bad(&format!("expected no children, found {count}")));
    }
    Ok(parsed)
}

fn unit(unit: TimeUnit) -> &'static str {
    match unit {
        TimeUnit::Second => "s",
        TimeUnit::Millisecond => "ms",
        TimeUnit::Microsecond => "us",
        TimeUnit::Nanosecond => "ns",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_is_read_back_from_its_name_and_children() {
        let item = || Arc::new(Field::new("item", DataType::Int32, true));
        let kv = Fields::from(vec![
            Field::new("key", DataType::Utf8, false),
            Field::new("value", DataType::Decimal128(38, -2), true),
        ]);
        let union = UnionFields::try_new(
            [3, 7],
            [Field::new("a", DataType::Int8, true), Field::new("b", DataType::Utf8, true)],
        );
        let types = [
            DataType::Null,
            DataType::FixedSizeBinary(16),
            DataType::Timestamp(TimeUnit::Microsecond, None),
            DataType::Timestamp(TimeUnit::Second, Some("America/New_York".into())),
            DataType::Duration(TimeUnit::Nanosecond),
            DataType::Interval(IntervalUnit::MonthDayNano),
            DataType::Decimal256(76, 2),
            DataType::FixedSizeList(item(), 3),
            DataType::LargeListView(item()),
            DataType::Struct(kv.clone()),
            DataType::Map(Arc::new(Field::new("entries", DataType::Struct(kv), false)), true),
            DataType::Dictionary(Box::new(DataType::UInt16), Box::new(DataType::LargeUtf8)),
            DataType::RunEndEncoded(Arc::new(Field::new("run_ends", DataType::Int16, false)), item()),
            DataType::Union(union.unwrap(), UnionMode::Dense),
        ];
        for t in types {
            assert_eq!(parse(&head(&t), children(&t)).unwrap(), t, "{}", type_name(&t));
        }
    }

    #[test]
    fn names_show_what_is_inside() {
        let list = DataType::List(Arc::new(Field::new("item", DataType::Utf8, true)));
        let t =
            DataType::Struct(vec![Field::new("a", DataType::Int8, true), Field::new("b", list, true)].into());
        assert_eq!(type_name(&t), "struct<a: int8, b: list<utf8>>");
        let e = parse("decimal128(40,2)", vec![]).unwrap_err().to_string();
        assert_eq!(e, "type \"decimal128(40,2)\": expected (precision, scale) with a precision from 1 to 38");
        assert!(
            parse("int33", vec![]).is_err()
                && parse("list", vec![]).is_err()
                && parse("time32[ns]", vec![]).is_err()
        );
    }
}
