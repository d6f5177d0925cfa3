//! What a format version can hold, refused before anything is written (spec 3, container.md §4.2).

use arrow_schema::{DataType, Field, Schema as ArrowSchema};

use super::leaves::{is_leaf, is_packed};
use crate::{Error, FormatVersion, Limits, Result};

/// Fails with the field's path if `schema` has a type that `version` cannot hold.
pub(crate) fn check_writable(schema: &ArrowSchema, version: FormatVersion) -> Result<()> {
    if version != FormatVersion::V2_1 && version != FormatVersion::V2_2 {
        return Err(Error::unsupported(format!("writing format version {version}: this release writes 2.1 and 2.2")));
    }
    schema.fields().iter().try_for_each(|f| check(f, f.name(), Above::default(), version))
}

/// What is above a field.
#[derive(Clone, Copy, Default)]
struct Above {
    depth: usize,
    list: bool,
    fixed_size_list: bool,
}

fn check(field: &Field, path: &str, above: Above, version: FormatVersion) -> Result<()> {
    let refuse = |what: String| Err(Error::unsupported(what).in_column(path));
    if above.depth >= Limits::default().nesting {
        return refuse(format!("fields nested deeper than {}", Limits::default().nesting));
    }
    let below = Above { depth: above.depth + 1, ..above };
    let child = |child: &Field, name: &str, above| check(child, &format!("{path}.{name}"), above, version);
    match field.data_type() {
        DataType::Struct(_) if is_packed(field) => check_packed(field, path, version),
        DataType::Struct(fields) if fields.is_empty() => {
            if field.is_nullable() && above.depth > 0 && above.list {
                return refuse("a struct without fields inside a list cannot be stored".to_owned());
            }
            Ok(())
        }
        DataType::Struct(fields) => fields.iter().try_for_each(|f| child(f, f.name(), below)),
        DataType::List(item) | DataType::LargeList(item) => {
            if above.fixed_size_list {
                return refuse("a list inside a fixed-size list of structs cannot be stored".to_owned());
            }
            child(item, "item", Above { list: true, ..below })
        }
        DataType::Map(entries, sorted) => {
            if version < FormatVersion::V2_2 {
                return refuse(format!("a map needs format version 2.2, {version} is written"));
            }
            if *sorted {
                return refuse("a map with sorted keys cannot be stored: the format has no place for the flag".to_owned());
            }
            if above.fixed_size_list {
                return refuse("a map inside a fixed-size list of structs cannot be stored".to_owned());
            }
            let DataType::Struct(fields) = entries.data_type() else {
                return refuse(format!("a map whose entries are {}", entries.data_type()));
            };
            let inner = Above { list: true, depth: below.depth + 1, ..below };
            fields.iter().zip(["key", "value"]).try_for_each(|(f, name)| child(f, name, inner))
        }
        DataType::FixedSizeList(item, dimension) => {
            if *dimension <= 0 {
                return refuse(format!("a fixed-size list of {dimension} items cannot be stored"));
            }
            if matches!(item.data_type(), DataType::Struct(_)) {
                if version < FormatVersion::V2_2 {
                    return refuse(format!("a fixed-size list of structs needs format version 2.2, {version} is written"));
                }
                if above.list {
                    return refuse("a fixed-size list of structs inside a list cannot be stored".to_owned());
                }
                return child(item, "item", Above { fixed_size_list: true, ..below });
            }
            check_fixed_items(item, path)
        }
        DataType::Dictionary(_, value) => {
            let simple = match value.as_ref() {
                DataType::Utf8 | DataType::LargeUtf8 | DataType::Binary | DataType::LargeBinary => true,
                other => other.primitive_width().is_some(),
            };
            let named = super::logical_type::emit(field.data_type()).map_err(|e| e.in_column(path));
            if !simple {
                return refuse(format!("a dictionary of {value} cannot be stored"));
            }
            named.map(|_| ())
        }
        other => super::logical_type::emit(other).map(|_| ()).map_err(|e| e.in_column(path)),
    }
}

/// Items of a fixed-size list that is one column: fixed width all the way down.
fn check_fixed_items(item: &Field, path: &str) -> Result<()> {
    match item.data_type() {
        DataType::FixedSizeList(inner, dimension) if *dimension > 0 => check_fixed_items(inner, path),
        DataType::Boolean => Ok(()),
        DataType::FixedSizeBinary(bytes) if *bytes > 0 => Ok(()),
        other if other.primitive_width().is_some() && !matches!(other, DataType::Dictionary(..)) => {
            super::logical_type::emit(other).map(|_| ()).map_err(|e| e.in_column(path))
        }
        other => Err(Error::unsupported(format!("a fixed-size list of {other} cannot be stored")).in_column(path)),
    }
}

/// Children of a packed struct: fixed width in whole bytes, or (2.2) strings, binaries and fixed-size lists.
fn check_packed(field: &Field, path: &str, version: FormatVersion) -> Result<()> {
    let DataType::Struct(fields) = field.data_type() else { return Ok(()) };
    for child in fields {
        let place = |e: Error| e.in_column(&format!("{path}.{}", child.name()));
        let refuse = |what: String| Err(place(Error::unsupported(what)));
        let varies = match child.data_type() {
            DataType::Boolean | DataType::Null | DataType::Dictionary(..) => {
                return refuse(format!("a packed struct cannot hold {}", child.data_type()));
            }
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Binary | DataType::LargeBinary => true,
            DataType::FixedSizeList(item, dimension) if *dimension > 0 => {
                if item.data_type() == &DataType::Boolean {
                    return refuse("a packed struct cannot hold a fixed-size list of booleans".to_owned());
                }
                check_fixed_items(item, path)?;
                true
            }
            DataType::FixedSizeBinary(bytes) if *bytes > 0 => false,
            other if other.primitive_width().is_some() => {
                super::logical_type::emit(other).map_err(place)?;
                false
            }
            other => return refuse(format!("a packed struct cannot hold {other}")),
        };
        if varies && version < FormatVersion::V2_2 {
            return refuse(format!(
                "a packed struct with {} needs format version 2.2, {version} is written",
                child.data_type()
            ));
        }
    }
    debug_assert!(is_leaf(field));
    Ok(())
}
