//! Tags: what a stored field says of the Arrow type that it stands for.
//!
//! ```text
//! pennon:arrow-type = step ( "/" step )*        outermost first: "dictionary:int8/utf8_view"
//! step              = word ( ":" word )* [ "[" key "=" text ( ";" key "=" text )* "]" ]
//! text, key         = letters, digits and _ - . as they are; every other byte as %XX
//!
//! utf8_view  binary_view  decimal32  decimal64  interval:UNIT  list_view  large_list_view
//! fixed_size_binary:0  struct  fixed_size_list:N  map[:sorted]  union:MODE:ID:ID…
//! dictionary:KEY  run_end_encoded:ENDS  values  item  ordered  required        the rest of the tag is about …
//! ```
//!
//! See docs/format/types.md, "Tags".

use arrow_schema::{DataType, Field, IntervalUnit, Metadata, UnionMode};

use crate::error::corrupt;
use crate::{Error, Result};

/// Metadata key of a tag.
pub(super) const TAG: &str = "pennon:arrow-type";
/// Metadata keys that begin like this are never a user's.
pub(super) const OWN: &str = "pennon:";

/// Steps of one tag, at most.
const MAX_STEPS: usize = 64;

/// One step from a stored type to the Arrow type that it stands for.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Step {
    Utf8View,
    BinaryView,
    Decimal32,
    Decimal64,
    Interval(IntervalUnit),
    ListView,
    LargeListView,
    /// Binary that is a fixed-size binary of no bytes.
    EmptyBinary,
    /// Booleans that are a struct without fields.
    EmptyStruct,
    /// A list that is a fixed-size list.
    FixedSizeList(i32),
    /// A map, or a list of its entries.
    Map {
        sorted: bool,
    },
    /// A struct of a type id and one child for each field.
    Union {
        mode: UnionMode,
        ids: Vec<i8>,
        required: Vec<bool>,
    },
    /// Values that are a dictionary; the rest is about them.
    Dictionary(DataType),
    /// Values that are run-end encoded; the rest is about them.
    RunEndEncoded {
        ends: Part,
        end_type: DataType,
        values: Part,
    },
    /// The rest is about the values of a dictionary.
    Values,
    /// The item of a fixed-size list is this; the rest is about its type.
    Item(Part),
    /// The dictionary is ordered; the rest is about the same field.
    Ordered,
    /// The field itself has no nulls; the rest is about the same field.
    Required,
}

/// A field that has no field of its own in the file.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Part {
    pub(super) name: String,
    pub(super) nullable: bool,
    pub(super) metadata: Vec<(String, String)>,
}

impl Part {
    pub(super) fn named(name: &str, nullable: bool) -> Self {
        Self { name: name.to_owned(), nullable, metadata: Vec::new() }
    }

    pub(super) fn of(field: &Field) -> Self {
        let own = |key: &str| key.starts_with(OWN);
        let mut metadata: Vec<_> = field
            .metadata()
            .iter()
            .filter(|(key, _)| !own(key))
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
        metadata.sort();
        Self { name: field.name().clone(), nullable: field.is_nullable(), metadata }
    }

    pub(super) fn to_field(&self, data_type: DataType, ordered: bool) -> Field {
        let metadata: Metadata = self.metadata.iter().cloned().collect();
        Field::new(&self.name, data_type, self.nullable).with_metadata(metadata).with_dict_is_ordered(ordered)
    }

    /// Attributes in which this differs from `usual`.
    fn emit(&self, prefix: &str, usual: &Self, out: &mut Vec<String>) {
        if self.name != usual.name {
            out.push(format!("{prefix}name={}", escape(&self.name)));
        }
        if self.nullable != usual.nullable {
            out.push(format!("{prefix}nullable={}", self.nullable));
        }
        for (key, value) in &self.metadata {
            out.push(format!("{prefix}metadata.{}={}", escape(key), escape(value)));
        }
    }

    /// Takes an attribute of this part; says whether it was one.
    fn take(&mut self, prefix: &str, key: &str, value: &str) -> Option<()> {
        let key = key.strip_prefix(prefix)?;
        match key {
            "name" => self.name = unescape(value)?,
            "nullable" => self.nullable = value.parse().ok()?,
            _ => self.metadata.push((unescape(key.strip_prefix("metadata.")?)?, unescape(value)?)),
        }
        Some(())
    }
}

fn usual_item() -> Part {
    Part::named("item", true)
}

fn usual_ends() -> Part {
    Part::named(Field::REE_RUN_ENDS_FIELD_DEFAULT_NAME, false)
}

fn usual_values() -> Part {
    Part::named(Field::REE_VALUES_FIELD_DEFAULT_NAME, true)
}

/// The text of a tag.
pub(super) fn emit(steps: &[Step]) -> String {
    steps.iter().map(emit_step).collect::<Vec<_>>().join("/")
}

fn emit_step(step: &Step) -> String {
    let mut attributes = Vec::new();
    let head = match step {
        Step::Utf8View => "utf8_view".into(),
        Step::BinaryView => "binary_view".into(),
        Step::Decimal32 => "decimal32".into(),
        Step::Decimal64 => "decimal64".into(),
        Step::Interval(IntervalUnit::YearMonth) => "interval:year_month".into(),
        Step::Interval(IntervalUnit::DayTime) => "interval:day_time".into(),
        Step::Interval(IntervalUnit::MonthDayNano) => "interval:month_day_nano".into(),
        Step::ListView => "list_view".into(),
        Step::LargeListView => "large_list_view".into(),
        Step::EmptyBinary => "fixed_size_binary:0".into(),
        Step::EmptyStruct => "struct".into(),
        Step::FixedSizeList(size) => format!("fixed_size_list:{size}"),
        Step::Map { sorted: false } => "map".into(),
        Step::Map { sorted: true } => "map:sorted".into(),
        Step::Union { mode, ids, required } => {
            let places: Vec<String> =
                required.iter().enumerate().filter(|(_, r)| **r).map(|(at, _)| at.to_string()).collect();
            if !places.is_empty() {
                attributes.push(format!("required={}", places.join(".")));
            }
            let mode = if *mode == UnionMode::Sparse { "sparse" } else { "dense" };
            ids.iter().fold(format!("union:{mode}"), |text, id| format!("{text}:{id}"))
        }
        Step::Dictionary(key) => format!("dictionary:{}", integer_name(key)),
        Step::RunEndEncoded { ends, end_type, values } => {
            ends.emit("ends.", &usual_ends(), &mut attributes);
            values.emit("values.", &usual_values(), &mut attributes);
            format!("run_end_encoded:{}", integer_name(end_type))
        }
        Step::Values => "values".into(),
        Step::Item(part) => {
            part.emit("", &usual_item(), &mut attributes);
            "item".into()
        }
        Step::Ordered => "ordered".into(),
        Step::Required => "required".into(),
    };
    if attributes.is_empty() { head } else { format!("{head}[{}]", attributes.join(";")) }
}

/// The steps of a tag; `None` for a tag that this release does not know.
pub(super) fn parse(text: &str) -> Result<Option<Vec<Step>>> {
    if text.split('/').nth(MAX_STEPS).is_some() {
        return Err(Error::limit(format!("a tag of more than {MAX_STEPS} steps")));
    }
    let mut steps = Vec::new();
    for part in text.split('/') {
        match parse_step(part)? {
            Some(step) => steps.push(step),
            None => return Ok(None),
        }
    }
    Ok(Some(steps))
}

fn parse_step(text: &str) -> Result<Option<Step>> {
    let bad = || Error::corrupt(format!("the type tag {:?} is malformed", short(text)));
    let (head, attributes) = match text.split_once('[') {
        Some((head, rest)) => (head, rest.strip_suffix(']').ok_or_else(bad)?),
        None => (text, ""),
    };
    let mut attributes =
        attributes.split(';').filter(|a| !a.is_empty()).map(|a| a.split_once('=').ok_or_else(bad));
    let (word, arguments) = head.split_once(':').unwrap_or((head, ""));
    let step = match (word, arguments) {
        ("utf8_view", "") => Step::Utf8View,
        ("binary_view", "") => Step::BinaryView,
        ("decimal32", "") => Step::Decimal32,
        ("decimal64", "") => Step::Decimal64,
        ("interval", "year_month") => Step::Interval(IntervalUnit::YearMonth),
        ("interval", "day_time") => Step::Interval(IntervalUnit::DayTime),
        ("interval", "month_day_nano") => Step::Interval(IntervalUnit::MonthDayNano),
        ("list_view", "") => Step::ListView,
        ("large_list_view", "") => Step::LargeListView,
        ("fixed_size_binary", "0") => Step::EmptyBinary,
        ("struct", "") => Step::EmptyStruct,
        ("fixed_size_list", size) => {
            Step::FixedSizeList(size.parse().ok().filter(|n| *n >= 0).ok_or_else(bad)?)
        }
        ("map", "") => Step::Map { sorted: false },
        ("map", "sorted") => Step::Map { sorted: true },
        ("union", rest) => {
            let (mode, ids) = rest.split_once(':').ok_or_else(bad)?;
            let mode = match mode {
                "sparse" => UnionMode::Sparse,
                "dense" => UnionMode::Dense,
                _ => return Err(bad()),
            };
            let ids: Vec<i8> =
                ids.split(':').map(|id| id.parse().map_err(|_| bad())).collect::<Result<_>>()?;
            let mut required = vec![false; ids.len()];
            for attribute in attributes.by_ref() {
                let ("required", places) = attribute? else { return Err(bad()) };
                for place in places.split('.') {
                    let place: usize = place.parse().map_err(|_| bad())?;
                    *required.get_mut(place).ok_or_else(bad)? = true;
                }
            }
            Step::Union { mode, ids, required }
        }
        ("dictionary", key) => match integer_named(key) {
            Some(key) => Step::Dictionary(key),
            None => return Err(bad()),
        },
        ("run_end_encoded", ends) => {
            let end_type = integer_named(ends).filter(DataType::is_run_ends_type).ok_or_else(bad)?;
            let (mut ends, mut values) = (usual_ends(), usual_values());
            for attribute in attributes.by_ref() {
                let (key, value) = attribute?;
                ends.take("ends.", key, value)
                    .or_else(|| values.take("values.", key, value))
                    .ok_or_else(bad)?;
            }
            Step::RunEndEncoded { ends, end_type, values }
        }
        ("values", "") => Step::Values,
        ("item", "") => {
            let mut item = usual_item();
            for attribute in attributes.by_ref() {
                let (key, value) = attribute?;
                item.take("", key, value).ok_or_else(bad)?;
            }
            Step::Item(item)
        }
        ("ordered", "") => Step::Ordered,
        ("required", "") => Step::Required,
        _ => return Ok(None),
    };
    if attributes.next().is_some() {
        corrupt!("the type tag {:?} has attributes, which {word} has not", short(text));
    }
    Ok(Some(step))
}

/// The start of a text that a file may have made as long as it likes.
pub(super) fn short(text: &str) -> String {
    text.chars().take(60).collect()
}

const INTEGERS: [(&str, DataType); 8] = [
    ("int8", DataType::Int8),
    ("int16", DataType::Int16),
    ("int32", DataType::Int32),
    ("int64", DataType::Int64),
    ("uint8", DataType::UInt8),
    ("uint16", DataType::UInt16),
    ("uint32", DataType::UInt32),
    ("uint64", DataType::UInt64),
];

fn integer_named(name: &str) -> Option<DataType> {
    INTEGERS.into_iter().find(|(n, _)| *n == name).map(|(_, t)| t)
}

fn integer_name(data_type: &DataType) -> &'static str {
    INTEGERS.iter().find(|(_, t)| t == data_type).map_or("int64", |(name, _)| name)
}

fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | b'-' | b'.' => out.push(byte as char),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

fn unescape(text: &str) -> Option<String> {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        out.push(match byte {
            b'%' => {
                let digit = |b: u8| (b as char).to_digit(16);
                (digit(bytes.next()?)? * 16 + digit(bytes.next()?)?) as u8
            }
            byte => byte,
        });
    }
    String::from_utf8(out).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_says_what_was_said() {
        let part = Part {
            name: "a/b[c];d=ü".to_owned(),
            nullable: false,
            metadata: vec![("key=1".to_owned(), "%/;".to_owned()), ("x".to_owned(), String::new())],
        };
        let all = [
            Step::Required,
            Step::Ordered,
            Step::Utf8View,
            Step::Interval(IntervalUnit::MonthDayNano),
            Step::FixedSizeList(0),
            Step::Map { sorted: true },
            Step::Union { mode: UnionMode::Dense, ids: vec![0, 5, 127], required: vec![true, false, true] },
            Step::Dictionary(DataType::UInt16),
            Step::RunEndEncoded {
                ends: Part::named("ends", true),
                end_type: DataType::Int16,
                values: part.clone(),
            },
            Step::Values,
            Step::Item(part),
            Step::Item(usual_item()),
        ];
        assert_eq!(parse(&emit(&all)).unwrap().unwrap(), all);
        assert_eq!(emit(&all[..3]), "required/ordered/utf8_view");
        assert_eq!(emit(&all[11..]), "item");
    }

    #[test]
    fn a_tag_of_a_later_release_is_unknown_and_a_broken_one_is_corrupt() {
        assert_eq!(parse("variant").unwrap(), None);
        assert_eq!(parse("dictionary:int8/utf9_view").unwrap(), None);
        assert_eq!(parse("").unwrap(), None);
        for text in [
            "fixed_size_list:-1",
            "fixed_size_list:x",
            "union:sparse",
            "union:round:1",
            "union:dense:200",
            "union:dense:1[required=7]",
            "dictionary:float",
            "run_end_encoded:uint8",
            "item[name=x",
            "item[name=%4]",
            "item[size=3]",
            "utf8_view[name=x]",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
        assert_eq!(parse(&"item/".repeat(100)).unwrap_err().kind(), crate::ErrorKind::Limit);
    }
}
