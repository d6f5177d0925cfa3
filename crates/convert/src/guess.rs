//! The types of JSON lines, guessed from the first rows, with columns in the order in which they first appear.
//!
//! ```text
//! seen                                becomes          seen                         becomes
//! true, false                         bool             text                         utf8
//! whole numbers that fit              int64, uint64    list                         list of what is in it
//! other numbers, "NaN", "Infinity"    float64          object                       struct of what is in it
//! numbers and text, booleans …        utf8             only null, or nothing        utf8
//! whole numbers beyond 2^53, others   utf8
//! ```

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;
use std::io::Read;
use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef, Schema};
use pennon_file::{Error, Result};
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

use crate::guard::one_line;

/// What has been seen in a place.
#[derive(Debug, PartialEq)]
enum Shape {
    Nothing,
    Bool,
    /// Whole numbers that a float keeps.
    Int,
    /// Whole numbers of which one is too large for a float to keep.
    Long,
    /// Whole numbers of which one is too large for 64 bits with a sign.
    UInt,
    Float,
    /// Only texts that stand for floats without a number.
    NotANumber,
    Text,
    List(Box<Shape>),
    Object(Vec<(String, Shape)>),
}

/// Guesses the schema of the objects at the start of `from`, of which so many are looked at, and counts these.
pub(crate) fn schema(from: impl Read, rows: usize) -> Result<(Schema, usize)> {
    let mut count = 0;
    let mut all = Shape::Object(Vec::new());
    let values = serde_json::Deserializer::from_reader(from).into_iter::<Shape>();
    for (row, value) in values.take(rows).enumerate() {
        let value = value.map_err(|e| match e.io_error_kind() {
            Some(kind) => Error::io("reading JSON lines", kind.into()),
            None => Error::invalid(format!("row {row}: not JSON: {}", one_line(&e.to_string()))),
        })?;
        if !matches!(value, Shape::Object(_)) {
            return Err(Error::invalid(format!("row {row}: expected an object, found {}", value.name())));
        }
        count += 1;
        all = all
            .merge(value, "")
            .map_err(|what| Error::invalid(format!("row {row}: {what}; --schema F.json sets types")))?;
    }
    let members = match all {
        Shape::Object(members) => members,
        _ => Vec::new(),
    };
    Ok((Schema::new(members.into_iter().map(|(n, s)| s.field(&n)).collect::<Vec<_>>()), count))
}

impl Shape {
    fn name(&self) -> &'static str {
        match self {
            Self::Nothing => "null",
            Self::Bool => "a boolean",
            Self::Int | Self::Long | Self::UInt | Self::Float => "a number",
            Self::NotANumber | Self::Text => "text",
            Self::List(_) => "a list",
            Self::Object(_) => "an object",
        }
    }

    fn merge(self, other: Self, path: &str) -> Result<Self, String> {
        use Shape as S;
        Ok(match (self, other) {
            (S::Nothing, x) | (x, S::Nothing) => x,
            (S::List(a), S::List(b)) => S::List(Box::new(a.merge(*b, &format!("{path}.item"))?)),
            (S::Object(mut a), S::Object(b)) => {
                // Members usually come in the same order.
                for (at, (name, shape)) in b.into_iter().enumerate() {
                    let place = if a.get(at).is_some_and(|(n, _)| *n == name) {
                        Some(at)
                    } else {
                        a.iter().position(|(n, _)| *n == name)
                    };
                    match place {
                        Some(at) => {
                            let before = std::mem::replace(&mut a[at].1, S::Nothing);
                            a[at].1 = before.merge(shape, &format!("{path}.{name}"))?;
                        }
                        None => a.push((name, shape)),
                    }
                }
                S::Object(a)
            }
            (a @ (S::List(_) | S::Object(_)), b) | (a, b @ (S::List(_) | S::Object(_))) => {
                let path = path.strip_prefix('.').unwrap_or(path);
                return Err(format!("{path} is {} here and {} before", b.name(), a.name()));
            }
            (a, b) if a == b => a,
            (S::Int, S::Long) | (S::Long, S::Int) => S::Long,
            (S::Int | S::Float | S::NotANumber, S::Int | S::Float | S::NotANumber) => S::Float,
            // No type of numbers holds all of both.
            _ => S::Text,
        })
    }

    fn field(self, name: &str) -> FieldRef {
        let data_type = match self {
            Self::Nothing | Self::NotANumber | Self::Text => DataType::Utf8,
            Self::Bool => DataType::Boolean,
            Self::Int | Self::Long => DataType::Int64,
            Self::UInt => DataType::UInt64,
            Self::Float => DataType::Float64,
            Self::List(items) => DataType::List(items.field("item")),
            Self::Object(members) => {
                DataType::Struct(members.into_iter().map(|(n, s)| s.field(&n)).collect())
            }
        };
        Arc::new(Field::new(name, data_type, true))
    }
}

impl<'de> Deserialize<'de> for Shape {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Look)
    }
}

struct Look;

impl<'de> Visitor<'de> for Look {
    type Value = Shape;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, _: bool) -> Result<Shape, E> {
        Ok(Shape::Bool)
    }

    fn visit_i64<E>(self, v: i64) -> Result<Shape, E> {
        Ok(if v.unsigned_abs() <= 1 << f64::MANTISSA_DIGITS { Shape::Int } else { Shape::Long })
    }

    fn visit_u64<E>(self, v: u64) -> Result<Shape, E> {
        match i64::try_from(v) {
            Ok(v) if v <= 1 << f64::MANTISSA_DIGITS => Ok(Shape::Int),
            Ok(_) => Ok(Shape::Long),
            Err(_) => Ok(Shape::UInt),
        }
    }

    fn visit_f64<E>(self, _: f64) -> Result<Shape, E> {
        Ok(Shape::Float)
    }

    fn visit_str<E>(self, v: &str) -> Result<Shape, E> {
        Ok(if matches!(v, "NaN" | "Infinity" | "-Infinity") { Shape::NotANumber } else { Shape::Text })
    }

    fn visit_unit<E>(self) -> Result<Shape, E> {
        Ok(Shape::Nothing)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Shape, A::Error> {
        let mut all = Shape::Nothing;
        while let Some(item) = items.next_element::<Shape>()? {
            all = all.merge(item, "item").map_err(serde::de::Error::custom)?;
        }
        Ok(Shape::List(Box::new(all)))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Shape, A::Error> {
        let mut all = Vec::<(String, Shape)>::new();
        let mut places = HashMap::<String, usize>::new();
        while let Some((name, shape)) = members.next_entry::<String, Shape>()? {
            // Two members of one name are refused where rows are read, unless they are entries of a map.
            match places.entry(name.clone()) {
                Entry::Occupied(place) => {
                    let before = &mut all[*place.get()].1;
                    let both = std::mem::replace(before, Shape::Nothing).merge(shape, &name);
                    *before = both.map_err(serde::de::Error::custom)?;
                }
                Entry::Vacant(place) => {
                    place.insert(all.len());
                    all.push((name, shape));
                }
            }
        }
        Ok(Shape::Object(all))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guess(text: &str) -> String {
        let each = schema(text.as_bytes(), 1000).map(|(s, _)| {
            s.fields()
                .iter()
                .map(|f| format!("{}: {}", f.name(), crate::types::type_name(f.data_type())))
                .collect::<Vec<_>>()
                .join(", ")
        });
        each.unwrap_or_else(|e| e.to_string())
    }

    #[test]
    fn types_are_the_least_that_hold_what_was_seen() {
        assert_eq!(guess(r#"{"z":1,"a":null} {"z":2.5,"b":true}"#), "z: float64, a: utf8, b: bool");
        assert_eq!(guess(r#"{"x":"NaN"} {"x":1}"#), "x: float64");
        assert_eq!(guess(r#"{"x":"NaN"} {"x":"n"}"#), "x: utf8");
        assert_eq!(guess(r#"{"x":18446744073709551615}"#), "x: uint64");
        assert_eq!(guess(r#"{"x":1} {"x":"1"}"#), "x: utf8");
        assert_eq!(guess(r#"{"x":9007199254740993} {"x":-1}"#), "x: int64");
        assert_eq!(guess(r#"{"x":9007199254740993} {"x":0.5}"#), "x: utf8");
        assert_eq!(guess(r#"{"x":-1} {"x":18446744073709551615}"#), "x: utf8");
        assert_eq!(
            guess(r#"{"l":[]} {"l":[{"b":1},{"a":"x","b":null}]}"#),
            "l: list<struct<b: int64, a: utf8>>"
        );
    }

    #[test]
    fn what_cannot_be_one_column_is_named() {
        assert_eq!(
            guess("{\"a\":{\"b\":1}}\n{\"a\":{\"b\":[1]}}"),
            "row 1: a.b is a list here and a number before; --schema F.json sets types"
        );
        assert_eq!(guess("{\"a\":1}\n7"), "row 1: expected an object, found a number");
        assert!(guess("{\"a\":").starts_with("row 0: not JSON: EOF"));
    }
}
