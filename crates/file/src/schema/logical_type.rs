//! Logical types: the strings by which the format names types.
//!
//! ```text
//! int32   timestamp:us:Europe/Rome   decimal:128:10:-2   dict:string:int8:false   struct   list.struct
//! fixed_size_list:fixed_size_list:float:3:2      a 2-list of 3-lists: the size is the last part
//! ```
//!
//! A string names a type together with the children of its field. See docs/format/container.md,
//! "Logical types".

use std::collections::HashMap;
use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef, Fields, TimeUnit};

use super::{BLOB, EXTENSION_NAME};
use crate::error::corrupt;
use crate::{Error, Result};

/// Extension name of 16-bit brain floats, stored as two bytes.
pub(super) const BFLOAT16: &str = "lance.bfloat16";
/// Extension name of binary JSON, stored as large binary.
pub(super) const JSON: &str = "lance.json";

/// The Arrow type of a field with this logical type and these children.
///
/// `depth` is how many more types may be nested inside.
pub(super) fn parse(text: &str, children: &[FieldRef], depth: usize) -> Result<DataType> {
    let child = || {
        children
            .first()
            .cloned()
            .ok_or_else(|| Error::corrupt(format!("a field of type {text:?} has no child field")))
    };
    match text {
        "struct" => Ok(DataType::Struct(Fields::from(children.to_vec()))),
        "list" | "list.struct" => Ok(DataType::List(child()?)),
        "large_list" | "large_list.struct" => Ok(DataType::LargeList(child()?)),
        "map" => {
            let entries = child()?;
            match entries.data_type() {
                DataType::Struct(fields) if fields.len() == 2 => Ok(DataType::Map(entries, false)),
                other => corrupt!("the entries of a map are {other}, not a struct of key and value"),
            }
        }
        _ => match text.strip_prefix("fixed_size_list:") {
            Some(rest) => {
                let (item, dimension) = rest.rsplit_once(':').ok_or_else(|| unknown(text))?;
                let dimension: i32 = number(text, dimension)?;
                if dimension <= 0 {
                    return Err(Error::unsupported(format!(
                        "{text:?}: a fixed-size list of {dimension} items"
                    )));
                }
                let item = match item {
                    "struct" => child()?,
                    BFLOAT16 => {
                        let metadata = HashMap::from([(EXTENSION_NAME.to_owned(), BFLOAT16.to_owned())]);
                        let item = Field::new("item", DataType::FixedSizeBinary(2), true);
                        Arc::new(item.with_metadata(metadata))
                    }
                    _ => {
                        let depth = depth
                            .checked_sub(1)
                            .ok_or_else(|| Error::limit("fixed-size lists nested too deep"))?;
                        Arc::new(Field::new("item", parse(item, &[], depth)?, true))
                    }
                };
                Ok(DataType::FixedSizeList(item, dimension))
            }
            None => parse_leaf(text),
        },
    }
}

/// A type without children.
fn parse_leaf(text: &str) -> Result<DataType> {
    use DataType::*;
    let (head, rest) = text.split_once(':').unwrap_or((text, ""));
    if rest.is_empty() && head != text {
        return Err(unknown(text));
    }
    Ok(match (head, rest) {
        ("null", "") => Null,
        ("bool", "") => Boolean,
        ("int8", "") => Int8,
        ("int16", "") => Int16,
        ("int32", "") => Int32,
        ("int64", "") => Int64,
        ("uint8", "") => UInt8,
        ("uint16", "") => UInt16,
        ("uint32", "") => UInt32,
        ("uint64", "") => UInt64,
        ("halffloat", "") => Float16,
        ("float", "") => Float32,
        ("double", "") => Float64,
        ("string", "") => Utf8,
        ("large_string", "") => LargeUtf8,
        ("binary", "") => Binary,
        ("large_binary" | "blob" | "json", "") => LargeBinary,
        ("date32", "day") => Date32,
        ("date64", "ms") => Date64,
        ("time32", "s") => Time32(TimeUnit::Second),
        ("time32", "ms") => Time32(TimeUnit::Millisecond),
        ("time64", "us") => Time64(TimeUnit::Microsecond),
        ("time64", "ns") => Time64(TimeUnit::Nanosecond),
        ("duration", unit) => Duration(parse_unit(text, unit)?),
        ("timestamp", rest) => {
            // Everything after the second colon is the zone, which may have colons itself.
            let (unit, zone) = rest.split_once(':').ok_or_else(|| unknown(text))?;
            let zone = (zone != "-").then(|| zone.into());
            Timestamp(parse_unit(text, unit)?, zone)
        }
        ("fixed_size_binary", bytes) => {
            let bytes: i32 = number(text, bytes)?;
            if bytes < 0 {
                return Err(unknown(text));
            }
            FixedSizeBinary(bytes)
        }
        ("decimal", rest) => {
            let mut parts = rest.split(':');
            let (Some(bits), Some(precision), Some(scale), None) =
                (parts.next(), parts.next(), parts.next(), parts.next())
            else {
                return Err(unknown(text));
            };
            let (precision, scale) = (number::<u8>(text, precision)?, number::<i8>(text, scale)?);
            let max = match bits {
                "128" => 38,
                "256" => 76,
                _ => return Err(unknown(text)),
            };
            // A scale above the precision is odd, but others write and read it.
            if precision == 0 || precision > max {
                corrupt!("{text:?}: precision must be 1 to {max}");
            }
            if max == 38 { Decimal128(precision, scale) } else { Decimal256(precision, scale) }
        }
        ("dict", rest) => {
            let mut parts = rest.split(':');
            let (Some(value), Some(key), Some(_ordered), None) =
                (parts.next(), parts.next(), parts.next(), parts.next())
            else {
                return Err(unknown(text));
            };
            let (value, key) = (parse_leaf(value)?, parse_leaf(key)?);
            if !key.is_dictionary_key_type() {
                corrupt!("{text:?}: dictionary keys are integers");
            }
            Dictionary(Box::new(key), Box::new(value))
        }
        _ => return Err(unknown(text)),
    })
}

fn unknown(text: &str) -> Error {
    Error::unsupported(format!("logical type {text:?} is not known"))
}

fn number<T: std::str::FromStr>(text: &str, part: &str) -> Result<T> {
    part.parse()
        .map_err(|_| Error::corrupt(format!("logical type {text:?}: {part:?} is not a number in range")))
}

fn parse_unit(text: &str, unit: &str) -> Result<TimeUnit> {
    match unit {
        "s" => Ok(TimeUnit::Second),
        "ms" => Ok(TimeUnit::Millisecond),
        "us" => Ok(TimeUnit::Microsecond),
        "ns" => Ok(TimeUnit::Nanosecond),
        _ => Err(unknown(text)),
    }
}

fn emit_unit(unit: TimeUnit) -> &'static str {
    match unit {
        TimeUnit::Second => "s",
        TimeUnit::Millisecond => "ms",
        TimeUnit::Microsecond => "us",
        TimeUnit::Nanosecond => "ns",
    }
}

/// Metadata that a logical type stands for beyond the Arrow type.
pub(super) fn implied_metadata(text: &str) -> Option<(&'static str, &'static str)> {
    match text {
        "blob" => Some((BLOB, "true")),
        "json" => Some((EXTENSION_NAME, JSON)),
        _ => None,
    }
}

pub(super) fn has_extension(field: &Field, name: &str) -> bool {
    field.metadata().get(EXTENSION_NAME).is_some_and(|n| n == name)
}

/// The logical type of a field.
pub(super) fn emit(field: &Field) -> Result<String> {
    use DataType::*;
    let is_struct = |item: &FieldRef| matches!(item.data_type(), Struct(_));
    Ok(match field.data_type() {
        Struct(_) => "struct".into(),
        List(item) => if is_struct(item) { "list.struct" } else { "list" }.into(),
        LargeList(item) => if is_struct(item) { "large_list.struct" } else { "large_list" }.into(),
        Map(_, false) => "map".into(),
        LargeBinary if has_extension(field, JSON) => "json".into(),
        FixedSizeList(item, dimension) => {
            let item = match item.data_type() {
                FixedSizeBinary(2) if has_extension(item, BFLOAT16) => BFLOAT16.to_owned(),
                List(_) | LargeList(_) | Map(..) | ListView(_) | LargeListView(_) => {
                    return Err(Error::unsupported(format!(
                        "a fixed-size list of {}; its items must have a fixed width",
                        item.data_type()
                    )));
                }
                _ => emit(item)?,
            };
            format!("fixed_size_list:{item}:{dimension}")
        }
        Dictionary(key, value) => {
            let (key, value) = (emit_leaf(key)?, emit_leaf(value)?);
            if value.contains(':') || value.starts_with("dict") {
                return Err(Error::unsupported(format!(
                    "a dictionary of {value}: the format has no name for it; store the values themselves"
                )));
            }
            format!("dict:{value}:{key}:false")
        }
        other => emit_leaf(other)?,
    })
}

fn emit_leaf(data_type: &DataType) -> Result<String> {
    use DataType::*;
    let fixed = match data_type {
        Null => "null",
        Boolean => "bool",
        Int8 => "int8",
        Int16 => "int16",
        Int32 => "int32",
        Int64 => "int64",
        UInt8 => "uint8",
        UInt16 => "uint16",
        UInt32 => "uint32",
        UInt64 => "uint64",
        Float16 => "halffloat",
        Float32 => "float",
        Float64 => "double",
        Utf8 => "string",
        LargeUtf8 => "large_string",
        Binary => "binary",
        LargeBinary => "large_binary",
        Date32 => "date32:day",
        Date64 => "date64:ms",
        Time32(unit @ (TimeUnit::Second | TimeUnit::Millisecond)) => {
            return Ok(format!("time32:{}", emit_unit(*unit)));
        }
        Time64(unit @ (TimeUnit::Microsecond | TimeUnit::Nanosecond)) => {
            return Ok(format!("time64:{}", emit_unit(*unit)));
        }
        Timestamp(_, Some(zone)) if &**zone == "-" => {
            return Err(Error::unsupported(
                "a time zone called \"-\", which is how the format spells that there is none; give the zone its name",
            ));
        }
        Timestamp(unit, zone) => {
            return Ok(format!("timestamp:{}:{}", emit_unit(*unit), zone.as_deref().unwrap_or("-")));
        }
        Duration(unit) => return Ok(format!("duration:{}", emit_unit(*unit))),
        FixedSizeBinary(bytes) => return Ok(format!("fixed_size_binary:{bytes}")),
        Decimal128(precision, scale) => return Ok(format!("decimal:128:{precision}:{scale}")),
        Decimal256(precision, scale) => return Ok(format!("decimal:256:{precision}:{scale}")),
        other => return Err(Error::unsupported(format!("the format has no type for Arrow's {other}"))),
    };
    Ok(fixed.into())
}

/// The informational `encoding` number of a field.
pub(super) fn legacy_encoding(data_type: &DataType) -> i32 {
    use DataType::*;
    match data_type {
        Null | Struct(_) => 0,
        Utf8 | LargeUtf8 | Binary | LargeBinary => 2,
        Dictionary(..) => 3,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use DataType::*;

    fn leaf(data_type: DataType, text: &str) {
        let field = Field::new("f", data_type.clone(), true);
        assert_eq!(emit(&field).unwrap(), text);
        assert_eq!(parse(text, &[], 8).unwrap(), data_type, "{text}");
    }

    fn item(data_type: DataType) -> FieldRef {
        Arc::new(Field::new("item", data_type, true))
    }

    #[test]
    fn every_type_without_children_has_its_string() {
        for (data_type, text) in [
            (Null, "null"),
            (Boolean, "bool"),
            (Int8, "int8"),
            (Int64, "int64"),
            (UInt16, "uint16"),
            (UInt64, "uint64"),
            (Float16, "halffloat"),
            (Float32, "float"),
            (Float64, "double"),
            (Decimal128(10, -2), "decimal:128:10:-2"),
            (Decimal256(76, 20), "decimal:256:76:20"),
            (Utf8, "string"),
            (LargeUtf8, "large_string"),
            (Binary, "binary"),
            (LargeBinary, "large_binary"),
            (FixedSizeBinary(16), "fixed_size_binary:16"),
            (Date32, "date32:day"),
            (Date64, "date64:ms"),
            (Time32(TimeUnit::Second), "time32:s"),
            (Time64(TimeUnit::Nanosecond), "time64:ns"),
            (Timestamp(TimeUnit::Microsecond, None), "timestamp:us:-"),
            (Timestamp(TimeUnit::Microsecond, Some("+08:00".into())), "timestamp:us:+08:00"),
            (Duration(TimeUnit::Millisecond), "duration:ms"),
            (Dictionary(Box::new(Int8), Box::new(Utf8)), "dict:string:int8:false"),
            (FixedSizeList(item(Int32), 3), "fixed_size_list:int32:3"),
            (
                FixedSizeList(item(FixedSizeList(item(Int32), 2)), 4),
                "fixed_size_list:fixed_size_list:int32:2:4",
            ),
            (
                FixedSizeList(item(Timestamp(TimeUnit::Microsecond, Some("UTC".into()))), 2),
                "fixed_size_list:timestamp:us:UTC:2",
            ),
        ] {
            leaf(data_type, text);
        }
    }

    #[test]
    fn types_with_children_take_them_from_the_fields() {
        let pair = Fields::from(vec![Field::new("key", Utf8, false), Field::new("value", Int32, true)]);
        let entries = Arc::new(Field::new("entries", Struct(pair), false));
        let struct_item = item(entries.data_type().clone());
        for (data_type, text, child) in [
            (Map(entries.clone(), false), "map", &entries),
            (List(struct_item.clone()), "list.struct", &struct_item),
            (LargeList(struct_item.clone()), "large_list.struct", &struct_item),
            (FixedSizeList(struct_item.clone(), 2), "fixed_size_list:struct:2", &struct_item),
        ] {
            assert_eq!(emit(&Field::new("f", data_type.clone(), true)).unwrap(), text);
            assert_eq!(parse(text, std::slice::from_ref(child), 8).unwrap(), data_type);
            assert!(parse(text, &[], 8).is_err(), "{text} needs a child");
        }
    }

    #[test]
    fn brain_floats_and_json_keep_their_extension_names() {
        let text = "fixed_size_list:lance.bfloat16:4";
        let data_type = parse(text, &[], 8).unwrap();
        assert_eq!(emit(&Field::new("f", data_type.clone(), true)).unwrap(), text);
        let FixedSizeList(item, 4) = data_type else { panic!("{data_type}") };
        assert_eq!(item.metadata()[EXTENSION_NAME], "lance.bfloat16");
        let json = Field::new("j", LargeBinary, true)
            .with_metadata(HashMap::from([(EXTENSION_NAME.to_owned(), JSON.to_owned())]));
        assert_eq!(emit(&json).unwrap(), "json");
        let text = Field::new("j", Utf8, true)
            .with_metadata(HashMap::from([(EXTENSION_NAME.to_owned(), "arrow.json".to_owned())]));
        assert_eq!(emit(&text).unwrap(), "string");
    }

    #[test]
    fn strings_that_name_no_type_are_errors() {
        for text in [
            "",
            "int33",
            "int32:",
            "int32:4",
            "decimal:128:0:0",
            "decimal:128:39:0",
            "decimal:64:3:1",
            "decimal:128:5",
            "timestamp:us",
            "timestamp:x:-",
            "fixed_size_binary:-1",
            "fixed_size_list:int32",
            "fixed_size_list:int32:0",
            "dict:string:float:false",
            "dict:string:int8",
            "time32:us",
            "date32:s",
        ] {
            assert!(parse(text, &[], 8).is_err(), "{text:?}");
        }
        let deep = format!("{}int8{}", "fixed_size_list:".repeat(1000), ":1".repeat(1000));
        assert_eq!(parse(&deep, &[], 64).unwrap_err().kind(), crate::ErrorKind::Limit);
    }

    #[test]
    fn types_without_a_name_are_refused() {
        for data_type in [
            Interval(arrow_schema::IntervalUnit::DayTime),
            ListView(item(Int32)),
            Decimal32(9, 2),
            Time32(TimeUnit::Nanosecond),
            Dictionary(Box::new(Int8), Box::new(FixedSizeBinary(3))),
            FixedSizeList(item(List(item(Int32))), 2),
        ] {
            let error = emit(&Field::new("f", data_type.clone(), true)).unwrap_err();
            assert_eq!(error.kind(), crate::ErrorKind::Unsupported, "{data_type}");
        }
    }
}
