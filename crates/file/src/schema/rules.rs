//! What each format version can hold: checked before a byte is written.
//!
//! What packed structs may hold is in docs/format/encodings.md, where fixed-size lists of structs may stand
//! in docs/format/levels.md; maps and fixed-size lists of structs came with 2.2. What 2.0 has no column for is in
//! docs/format/plain.md.

use arrow_schema::{DataType, Field, Schema};

use super::leaves::shape_of;
use super::{FieldKind, kind_of};
use crate::encoding::ValueType;
use crate::{Error, FormatVersion, Result};

/// Where in a type a field stands.
#[derive(Debug, Clone, Copy, Default)]
struct Above {
    list: bool,
    fixed_size_list: bool,
}

/// Fails for a schema that `version` cannot hold, naming the field.
pub(super) fn check(schema: &Schema, version: FormatVersion) -> Result<()> {
    match version {
        FormatVersion::V2_0 | FormatVersion::V2_1 | FormatVersion::V2_2 => {}
        FormatVersion::V2_3 => {
            return Err(Error::unsupported(format!(
                "writing format version {version}; written are 2.0, 2.1 and 2.2"
            )));
        }
    }
    // Any names will do, two of one name and names with dots too: others read such files as well, though
    // their table format does not take them.
    for field in schema.fields() {
        let name = field.name();
        check_field(field, version, Above::default()).map_err(|e| e.in_column(name))?;
    }
    Ok(())
}

fn check_field(field: &Field, version: FormatVersion, above: Above) -> Result<()> {
    let needs_2_2 = |what: &str| match version >= FormatVersion::V2_2 {
        true => Ok(()),
        false => Err(Error::unsupported(format!("{what} needs format version 2.2, this is {version}"))),
    };
    let refuse = |what: String| Err(Error::unsupported(format!("field {:?}: {what}", field.name())));
    match (kind_of(field), field.data_type()) {
        (FieldKind::Blob, data_type) => {
            match super::blob::refusal(data_type, version, above.list, above.fixed_size_list) {
                Some(what) => refuse(what),
                None => Ok(()),
            }
        }
        (FieldKind::Struct, DataType::Struct(children)) => {
            children.iter().try_for_each(|child| check_field(child, version, above))
        }
        (FieldKind::List, DataType::List(item) | DataType::LargeList(item)) => {
            if above.fixed_size_list {
                return refuse("a list inside a fixed-size list of structs".into());
            }
            check_field(item, version, Above { list: true, ..above })
        }
        (FieldKind::Map, DataType::Map(entries, sorted)) => {
            needs_2_2("a map")?;
            if *sorted {
                return refuse("a map with sorted keys: the format cannot say that they are".into());
            }
            if above.fixed_size_list {
                return refuse("a map inside a fixed-size list of structs".into());
            }
            let DataType::Struct(pair) = entries.data_type() else {
                return refuse(format!("map entries of type {}", entries.data_type()));
            };
            if pair.len() != 2 {
                return refuse(format!("map entries of {} fields", pair.len()));
            }
            if entries.is_nullable() || pair[0].is_nullable() {
                return refuse("map entries and keys must not be nullable".into());
            }
            pair.iter().try_for_each(|child| check_field(child, version, Above { list: true, ..above }))
        }
        (FieldKind::FixedSizeList(dimension), DataType::FixedSizeList(item, _)) => {
            needs_2_2("a fixed-size list of structs")?;
            if dimension == 0 {
                return refuse("a fixed-size list of 0 items".into());
            }
            if above.list || above.fixed_size_list {
                return refuse("a fixed-size list of structs inside another list".into());
            }
            if kind_of(item) != FieldKind::Struct {
                return refuse("a fixed-size list of packed or empty structs".into());
            }
            check_field(item, version, Above { fixed_size_list: true, ..above })
        }
        (FieldKind::EmptyStruct, _) => Ok(()),
        (FieldKind::PackedStruct, DataType::Struct(children)) => check_packed(field, children, version),
        (_, DataType::FixedSizeBinary(0)) => needs_2_2("a fixed-size binary of 0 bytes"),
        (_, data_type) => {
            super::logical_type::emit(field)?;
            match shape_of(data_type) {
                Ok(_) => Ok(()),
                Err(e) => refuse(e.message().to_owned()),
            }
        }
    }
}

fn check_packed(field: &Field, children: &arrow_schema::Fields, version: FormatVersion) -> Result<()> {
    for child in children {
        let refuse = |what: String| {
            let name = field.name();
            Err(Error::unsupported(format!("packed struct {name:?}: child {:?} {what}", child.name())))
        };
        super::logical_type::emit(child)?;
        let shape = match shape_of(child.data_type()) {
            Ok(shape) => shape,
            Err(e) => return refuse(format!("has {}", e.message())),
        };
        let packs = match &shape {
            ValueType::Fixed(_) => true,
            ValueType::Variable { .. } => version >= FormatVersion::V2_2,
            ValueType::List { items, .. } => {
                version != FormatVersion::V2_1
                    && matches!(**items, ValueType::Fixed(_) | ValueType::List { .. })
            }
            ValueType::Null | ValueType::Bits | ValueType::Struct(_) => false,
        };
        let nested = matches!(child.data_type(), DataType::Struct(_) | DataType::Dictionary(..));
        if !packs || nested {
            return refuse(format!("is {}, which cannot be packed in {version}", child.data_type()));
        }
    }
    Ok(())
}
