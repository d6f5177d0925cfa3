//! Type strings of the wire ⇄ Arrow types (container.md §4.1).

use std::collections::HashMap;
use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef, Fields, TimeUnit};

use crate::error::corrupt;
use crate::{Error, Result};

/// Metadata key of an extension type's name.
pub(super) const EXTENSION_NAME: &str = "ARROW:extension:name";
const BFLOAT16: &str = "lance.bfloat16";

fn unit_name(unit: TimeUnit) -> &'static str {
    match unit {
        TimeUnit::Second => "s",
        TimeUnit::Millisecond => "ms",
        TimeUnit::Microsecond => "us",
        TimeUnit::Nanosecond => "ns",
    }
}

fn parse_unit(text: &str) -> Option<TimeUnit> {
    Some(match text {
        "s" => TimeUnit::Second,
        "ms" => TimeUnit::Millisecond,
        "us" => TimeUnit::Microsecond,
        "ns" => TimeUnit::Nanosecond,
        _ => return None,
    })
}

/// Types whose string takes no parameter.
const SIMPLE: &[(&str, DataType)] = &[
    ("null", DataType::Null),
    ("bool", DataType::Boolean),
    ("int8", DataType::Int8),
    ("int16", DataType::Int16),
    ("int32", DataType::Int32),
    ("int64", DataType::Int64),
    ("uint8", DataType::UInt8),
    ("uint16", DataType::UInt16),
    ("uint32", DataType::UInt32),
    ("uint64", DataType::UInt64),
    ("halffloat", DataType::Float16),
    ("float", DataType::Float32),
    ("double", DataType::Float64),
    ("string", DataType::Utf8),
    ("large_string", DataType::LargeUtf8),
    ("binary", DataType::Binary),
    ("large_binary", DataType::LargeBinary),
    ("date32:day", DataType::Date32),
    ("date64:ms", DataType::Date64),
    ("time32:s", DataType::Time32(TimeUnit::Second)),
    ("time32:ms", DataType::Time32(TimeUnit::Millisecond)),
    ("time64:us", DataType::Time64(TimeUnit::Microsecond)),
    ("time64:ns", DataType::Time64(TimeUnit::Nanosecond)),
];

/// The wire's name of a type; children of nested types are fields of their own.
///
/// # Errors
/// `Unsupported` for a type that the wire cannot name.
pub(super) fn emit(data_type: &DataType) -> Result<String> {
    if let Some((name, _)) = SIMPLE.iter().find(|(_, t)| t == data_type) {
        return Ok((*name).to_owned());
    }
    Ok(match data_type {
        DataType::Decimal128(precision, scale) => format!("decimal:128:{precision}:{scale}"),
        DataType::Decimal256(precision, scale) => format!("decimal:256:{precision}:{scale}"),
        DataType::FixedSizeBinary(bytes) => format!("fixed_size_binary:{bytes}"),
        DataType::Timestamp(unit, zone) => {
            format!("timestamp:{}:{}", unit_name(*unit), zone.as_deref().unwrap_or("-"))
        }
        DataType::Duration(unit) => format!("duration:{}", unit_name(*unit)),
        DataType::Struct(_) => "struct".to_owned(),
        DataType::List(item) => list_name("list", item),
        DataType::LargeList(item) => list_name("large_list", item),
        DataType::Map(_, false) => "map".to_owned(),
        DataType::FixedSizeList(item, dimension) => {
            let bfloat16 = item.metadata().get(EXTENSION_NAME).is_some_and(|n| n == BFLOAT16);
            let inner = if bfloat16 { BFLOAT16.to_owned() } else { emit(item.data_type())? };
            format!("fixed_size_list:{inner}:{dimension}")
        }
        DataType::Dictionary(key, value) => {
            let (key, value) = (emit(key)?, emit(value)?);
            if value.contains(':') {
                return Err(Error::unsupported(format!("the format cannot name a dictionary of {value}")));
            }
            format!("dict:{value}:{key}:false")
        }
        other => return Err(Error::unsupported(format!("the format cannot name the type {other}"))),
    })
}

fn list_name(base: &str, item: &Field) -> String {
    let suffix = if matches!(item.data_type(), DataType::Struct(_)) { ".struct" } else { "" };
    format!("{base}{suffix}")
}

/// The Arrow type of a wire name and the fields below it.
pub(super) fn parse(name: &str, children: Vec<FieldRef>) -> Result<DataType> {
    let only = |mut children: Vec<FieldRef>| -> Result<FieldRef> {
        match children.len() {
            1 => Ok(children.remove(0)),
            n => corrupt!("a field of type {name} has {n} child fields, 1 expected"),
        }
    };
    match name {
        "struct" => return Ok(DataType::Struct(Fields::from(children))),
        "list" | "list.struct" => return Ok(DataType::List(only(children)?)),
        "large_list" | "large_list.struct" => return Ok(DataType::LargeList(only(children)?)),
        "map" => {
            let entries = only(children)?;
            match entries.data_type() {
                DataType::Struct(fields) if fields.len() == 2 => return Ok(DataType::Map(entries, false)),
                other => corrupt!("the entries of a map are {other}, a struct of key and value expected"),
            }
        }
        // The official writer's name of blob columns in older files; stored as large binary.
        "json" | "blob" => return Ok(DataType::LargeBinary),
        _ => {}
    }
    if let Some(rest) = name.strip_prefix("fixed_size_list:struct:") {
        return Ok(DataType::FixedSizeList(only(children)?, dimension(rest)?));
    }
    if !children.is_empty() {
        corrupt!("a field of type {name} has {} child fields, none expected", children.len());
    }
    parse_simple(name, 0)
}

fn dimension(text: &str) -> Result<i32> {
    match text.parse::<i32>() {
        Ok(n) if n > 0 => Ok(n),
        _ => corrupt!("a fixed size of {text:?}"),
    }
}

/// Types without child fields.
fn parse_simple(name: &str, depth: usize) -> Result<DataType> {
    if depth > 64 {
        return Err(Error::limit("a type name nested deeper than 64"));
    }
    if let Some((_, data_type)) = SIMPLE.iter().find(|(n, _)| *n == name) {
        return Ok(data_type.clone());
    }
    let unknown = || Error::unsupported(format!("a field has the type {name:?}, which this release does not know"));
    let (head, rest) = name.split_once(':').ok_or_else(unknown)?;
    match head {
        "decimal" => {
            let mut parts = rest.split(':');
            let (width, precision, scale) = (parts.next(), parts.next(), parts.next());
            let precision: u8 = precision.and_then(|p| p.parse().ok()).ok_or_else(unknown)?;
            let scale: i8 = scale.and_then(|s| s.parse().ok()).ok_or_else(unknown)?;
            let (data_type, most) = match width {
                Some("128") => (DataType::Decimal128(precision, scale), 38),
                Some("256") => (DataType::Decimal256(precision, scale), 76),
                _ => return Err(unknown()),
            };
            if precision == 0 || precision > most || scale > precision as i8 {
                corrupt!("a decimal of precision {precision} and scale {scale}");
            }
            Ok(data_type)
        }
        "fixed_size_binary" => match rest.parse::<i32>() {
            Ok(bytes) if bytes >= 0 => Ok(DataType::FixedSizeBinary(bytes)),
            _ => Err(unknown()),
        },
        "timestamp" => {
            let (unit, zone) = rest.split_once(':').ok_or_else(unknown)?;
            let unit = parse_unit(unit).ok_or_else(unknown)?;
            Ok(DataType::Timestamp(unit, (zone != "-").then(|| Arc::from(zone))))
        }
        "duration" => Ok(DataType::Duration(parse_unit(rest).ok_or_else(unknown)?)),
        "fixed_size_list" => {
            let (item, size) = rest.rsplit_once(':').ok_or_else(unknown)?;
            let size = dimension(size)?;
            let item = if item == BFLOAT16 {
                let metadata = HashMap::from([(EXTENSION_NAME.to_owned(), BFLOAT16.to_owned())]);
                Field::new("item", DataType::FixedSizeBinary(2), true).with_metadata(metadata)
            } else {
                Field::new("item", parse_simple(item, depth + 1)?, true)
            };
            Ok(DataType::FixedSizeList(Arc::new(item), size))
        }
        "dict" => {
            let mut parts = rest.rsplitn(3, ':');
            let (_ordered, key, value) = (parts.next(), parts.next(), parts.next());
            let (Some(key), Some(value)) = (key, value) else { return Err(unknown()) };
            let (key, value) = (parse_simple(key, depth + 1)?, parse_simple(value, depth + 1)?);
            if !key.is_dictionary_key_type() {
                corrupt!("a dictionary with keys of type {key}");
            }
            Ok(DataType::Dictionary(Box::new(key), Box::new(value)))
        }
        _ => Err(unknown()),
    }
}

/// The informational `encoding` that official writers give each field (container.md §4.3).
pub(super) fn legacy_encoding(data_type: &DataType) -> i32 {
    match data_type {
        DataType::Struct(_) | DataType::Null => 0,
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Binary | DataType::LargeBinary => 2,
        DataType::Dictionary(..) => 3,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_of_the_table_survives_the_way_there_and_back() {
        for name in [
            "null", "bool", "int8", "uint64", "halffloat", "float", "double", "decimal:128:10:-2", "decimal:256:76:2",
            "string", "large_binary", "fixed_size_binary:16", "date32:day", "date64:ms", "time32:s", "time64:ns",
            "timestamp:us:-", "timestamp:us:+08:00", "timestamp:s:America/New_York", "duration:ms",
            "dict:string:int32:false", "dict:int64:uint8:false", "fixed_size_list:float:768",
            "fixed_size_list:fixed_size_list:int32:2:2", "fixed_size_list:timestamp:us:UTC:2",
            "fixed_size_list:lance.bfloat16:4",
        ] {
            let data_type = parse(name, vec![]).unwrap();
            assert_eq!(emit(&data_type).unwrap(), name);
        }
    }

    #[test]
    fn nested_names_take_their_child_fields() {
        let item = || Arc::new(Field::new("item", DataType::Int32, true));
        assert_eq!(emit(&parse("list", vec![item()]).unwrap()).unwrap(), "list");
        let inner = Arc::new(Field::new("item", parse("struct", vec![item()]).unwrap(), true));
        let list = parse("large_list.struct", vec![inner.clone()]).unwrap();
        assert_eq!(emit(&list).unwrap(), "large_list.struct");
        let fixed = parse("fixed_size_list:struct:3", vec![inner]).unwrap();
        assert_eq!(emit(&fixed).unwrap(), "fixed_size_list:struct:3");
    }

    #[test]
    fn wrong_names_are_errors() {
        for name in ["", "int", "list", "decimal:128:50:2", "timestamp:us", "fixed_size_list:float:0", "dict:string"] {
            assert!(parse(name, vec![]).is_err(), "{name}");
        }
        assert!(emit(&DataType::Utf8View).is_err());
    }
}
