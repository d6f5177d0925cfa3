//! Arrow types that the format cannot name, stored as types that it can, and found again.
//!
//! ```text
//! v: utf8_view                       v: string                         pennon:arrow-type = utf8_view
//! e: list<item: union<a, b>>   ⇄     e: list<item: struct<type_id, a, b>>
//!                                            └ pennon:arrow-type = union:sparse:0:1
//! ```
//!
//! A tag is about its own field; children carry theirs. Only what has no field of its own in the file (the
//! values of dictionaries and runs, the items of fixed-size lists) is described in the tag of what is around it.
//! See docs/format/types.md.

use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef, Fields, IntervalUnit, Metadata, UnionFields};

use super::leaves::shape_of;
use super::logical_type::{BFLOAT16, has_extension};
use super::tag::{self, OWN, Part, Step, TAG, short};
use super::{FieldKind, kind_of};
use crate::encoding::ValueType;
use crate::error::corrupt;
use crate::{Error, FormatVersion, Result};

/// Where a field stands, as far as the choice of its stored type depends on it.
#[derive(Debug, Clone, Copy)]
struct Place {
    version: FormatVersion,
    /// Below a list, a map, or a fixed-size list of structs.
    in_list: bool,
    /// The last column, and nothing around it.
    last: bool,
    /// Nesting still allowed.
    depth: usize,
}

impl Place {
    fn inside(self) -> Result<Self> {
        match self.depth.checked_sub(1) {
            Some(depth) => Ok(Self { depth, last: false, ..self }),
            None => Err(Error::limit("types nested too deep")),
        }
    }

    fn in_list(self) -> Self {
        Self { in_list: true, ..self }
    }
}

/// The schema as it is stored: types that the format has names for, tagged where they stand for others.
pub(super) fn stored_schema(
    schema: &arrow_schema::Schema,
    version: FormatVersion,
    depth: usize,
) -> Result<arrow_schema::Schema> {
    let place = Place { version, in_list: false, last: false, depth };
    let num_fields = schema.fields().len();
    let fields = schema
        .fields()
        .iter()
        .enumerate()
        .map(|(at, field)| {
            let place = Place { last: at + 1 == num_fields, ..place };
            stored_field(field, place).map_err(|e| e.in_column(field.name()))
        })
        .collect::<Result<Vec<_>>>()?;
    Ok(arrow_schema::Schema::new_with_metadata(fields, schema.metadata().clone()))
}

fn stored_field(field: &FieldRef, place: Place) -> Result<FieldRef> {
    // What a blob column holds is not values of its type.
    if kind_of(field) == FieldKind::Blob {
        return Ok(field.clone());
    }
    let mut steps = Vec::new();
    let ordered = field.dict_is_ordered() == Some(true);
    let (data_type, has_nulls) = stored_type(field.data_type(), ordered, place, &mut steps)?;
    let nullable = field.is_nullable() || has_nulls;
    if nullable != field.is_nullable() {
        steps.insert(0, Step::Required);
    }
    let own = field.metadata().keys().any(|key| key.starts_with(OWN));
    if steps.is_empty() && !own && data_type == *field.data_type() {
        return Ok(field.clone());
    }
    let mut metadata = without_own(field.metadata());
    if !steps.is_empty() {
        metadata.insert(TAG.to_owned(), tag::emit(&steps));
    }
    Ok(Arc::new(Field::new(field.name(), data_type, nullable).with_metadata(metadata)))
}

fn without_own(metadata: &Metadata) -> Metadata {
    let entries = metadata.iter().filter(|(key, _)| !key.starts_with(OWN));
    entries.map(|(key, value)| (key.clone(), value.clone())).collect()
}

/// The type that stands for `user`, with the way back added to `steps`; and whether values are null where
/// `user` itself counts as without nulls (runs).
fn stored_type(
    user: &DataType,
    ordered: bool,
    place: Place,
    steps: &mut Vec<Step>,
) -> Result<(DataType, bool)> {
    let inside = place.inside()?;
    let stored = match user {
        DataType::Utf8View => {
            steps.push(Step::Utf8View);
            DataType::Utf8
        }
        DataType::BinaryView => {
            steps.push(Step::BinaryView);
            DataType::Binary
        }
        DataType::Decimal32(precision, scale) => {
            steps.push(Step::Decimal32);
            DataType::Decimal128(*precision, *scale)
        }
        DataType::Decimal64(precision, scale) => {
            steps.push(Step::Decimal64);
            DataType::Decimal128(*precision, *scale)
        }
        DataType::Interval(unit) => {
            steps.push(Step::Interval(*unit));
            match unit {
                IntervalUnit::YearMonth => DataType::Int32,
                // The bytes of Arrow: days and milliseconds; months, days and nanoseconds.
                IntervalUnit::DayTime => DataType::FixedSizeBinary(8),
                IntervalUnit::MonthDayNano => DataType::FixedSizeBinary(16),
            }
        }
        DataType::FixedSizeBinary(0) if place.version < FormatVersion::V2_2 => {
            steps.push(Step::EmptyBinary);
            DataType::Binary
        }
        DataType::Struct(fields) if fields.is_empty() => {
            // The official readers take the column of a struct without fields for that of the next field, and
            // have no place for its nulls anywhere but at the top.
            if place.last {
                return Ok((user.clone(), false));
            }
            steps.push(Step::EmptyStruct);
            DataType::Boolean
        }
        DataType::Struct(fields) => DataType::Struct(
            fields.iter().map(|field| stored_field(field, inside)).collect::<Result<Fields>>()?,
        ),
        DataType::List(item) => DataType::List(stored_field(item, inside.in_list())?),
        DataType::LargeList(item) => DataType::LargeList(stored_field(item, inside.in_list())?),
        DataType::ListView(item) => {
            steps.push(Step::ListView);
            DataType::List(stored_field(item, inside.in_list())?)
        }
        DataType::LargeListView(item) => {
            steps.push(Step::LargeListView);
            DataType::LargeList(stored_field(item, inside.in_list())?)
        }
        DataType::FixedSizeList(item, size) => fixed_size_list(item, *size, inside, steps)?,
        DataType::Map(entries, sorted) => {
            let native = place.version >= FormatVersion::V2_2 && is_plain_map(entries);
            if *sorted || !native {
                steps.push(Step::Map { sorted: *sorted });
            }
            let entries = stored_field(entries, inside.in_list())?;
            if native { DataType::Map(entries, false) } else { DataType::List(entries) }
        }
        DataType::Union(fields, mode) => {
            if fields.is_empty() {
                return Err(Error::unsupported(
                    "a union without fields: give it one, or leave the column out",
                ));
            }
            let mut children = vec![Arc::new(Field::new(TYPE_ID, DataType::Int8, false))];
            let (mut ids, mut required) = (Vec::new(), Vec::new());
            for (id, field) in fields.iter() {
                ids.push(id);
                required.push(!field.is_nullable());
                // Rows of the other fields have nothing here.
                let open = Arc::new(field.as_ref().clone().with_nullable(true));
                children.push(stored_field(&open, inside)?);
            }
            steps.push(Step::Union { mode: *mode, ids, required });
            DataType::Struct(children.into())
        }
        DataType::Dictionary(key, value) => {
            if ordered {
                steps.push(Step::Ordered);
            }
            let mut more = Vec::new();
            let (stored, _) = stored_type(value, false, inside, &mut more)?;
            if is_plain_dictionary(value, &stored) {
                if !more.is_empty() {
                    steps.push(Step::Values);
                    steps.extend(more);
                }
                DataType::Dictionary(key.clone(), Box::new(stored))
            } else {
                null_structs(&stored, place.version)?;
                steps.push(Step::Dictionary(key.as_ref().clone()));
                steps.extend(more);
                stored
            }
        }
        DataType::RunEndEncoded(ends, values) => {
            steps.push(Step::RunEndEncoded {
                ends: Part::of(ends),
                end_type: ends.data_type().clone(),
                values: Part::of(values),
            });
            let ordered = values.dict_is_ordered() == Some(true);
            let (stored, has_nulls) = stored_type(values.data_type(), ordered, inside, steps)?;
            if values.is_nullable() {
                null_structs(&stored, place.version)?;
            }
            return Ok((stored, has_nulls || values.is_nullable()));
        }
        other => other.clone(),
    };
    Ok((stored, false))
}

/// Fails where values would be null structs and the format has no place for those.
fn null_structs(stored: &DataType, version: FormatVersion) -> Result<()> {
    if matches!(stored, DataType::Struct(_)) && version < FormatVersion::V2_1 {
        return Err(Error::unsupported(format!(
            "nulls in dictionaries or runs of structs: format version {version} cannot store them, 2.1 and 2.2 can"
        )));
    }
    Ok(())
}

/// Name of the first child of the struct that a union is stored as.
const TYPE_ID: &str = "type_id";

fn fixed_size_list(item: &FieldRef, size: i32, inside: Place, steps: &mut Vec<Step>) -> Result<DataType> {
    if size < 0 {
        return Err(Error::invalid(format!("a fixed-size list of {size} items")));
    }
    if size > 0 && is_flat(item.data_type()) {
        let mut more = Vec::new();
        let (stored, _) = stored_type(item.data_type(), false, inside, &mut more)?;
        let mut plain = Field::new("item", stored, true);
        if has_extension(item, BFLOAT16) && *plain.data_type() == DataType::FixedSizeBinary(2) {
            let name = (super::EXTENSION_NAME.to_owned(), BFLOAT16.to_owned());
            plain.set_metadata(std::iter::once(name).collect::<Metadata>());
        }
        let mut part = Part::of(item);
        if has_extension(&plain, BFLOAT16) {
            // No parameters, in other words.
            part.metadata.retain(|(key, value)| key != "ARROW:extension:metadata" || !value.is_empty());
        }
        if part != Part::of(&plain) || !more.is_empty() {
            steps.push(Step::Item(part));
            steps.extend(more);
        }
        return Ok(DataType::FixedSizeList(Arc::new(plain), size));
    }
    let stored = stored_field(item, inside.in_list())?;
    let is_struct = kind_of(item) == FieldKind::Struct && size > 0;
    let fits = inside.version >= FormatVersion::V2_2 && !inside.in_list && !has_lists(stored.data_type());
    if is_struct && fits {
        return Ok(DataType::FixedSizeList(stored, size));
    }
    steps.push(Step::FixedSizeList(size));
    Ok(DataType::List(stored))
}

/// Whether fixed-size lists of these items are one column of values.
fn is_flat(user: &DataType) -> bool {
    match user {
        DataType::FixedSizeList(item, size) => *size > 0 && is_flat(item.data_type()),
        DataType::Boolean => true,
        DataType::FixedSizeBinary(bytes) => *bytes > 0,
        other => other.primitive_width().is_some(),
    }
}

/// Whether anything in a stored type is a list, however it is nested.
fn has_lists(data_type: &DataType) -> bool {
    match data_type {
        DataType::List(_) | DataType::LargeList(_) | DataType::Map(..) => true,
        DataType::FixedSizeList(item, _) => matches!(item.data_type(), DataType::Struct(_)),
        DataType::Struct(fields) => fields.iter().any(|f| has_lists(f.data_type())),
        _ => false,
    }
}

/// Whether a map is one that the format has a name for.
fn is_plain_map(entries: &Field) -> bool {
    let has_required_keys = match entries.data_type() {
        DataType::Struct(pair) => pair.len() == 2 && !pair[0].is_nullable(),
        _ => false,
    };
    has_required_keys && !entries.is_nullable()
}

/// Whether the format has a name for a dictionary of these values.
fn is_plain_dictionary(value: &DataType, stored: &DataType) -> bool {
    let name = super::logical_type::emit(&Field::new("values", stored.clone(), true));
    let is_leaf = !matches!(value, DataType::Dictionary(..) | DataType::RunEndEncoded(..));
    is_leaf
        && name.is_ok_and(|name| !name.contains(':'))
        && matches!(shape_of(stored), Ok(ValueType::Bits | ValueType::Fixed(_) | ValueType::Variable { .. }))
}

/// The schema that a stored one stands for.
pub(super) fn user_schema(stored: &arrow_schema::SchemaRef) -> Result<arrow_schema::SchemaRef> {
    let mut changed = false;
    let mut fields = Vec::with_capacity(stored.fields().len());
    for field in stored.fields() {
        let user = user_field(field).map_err(|e| e.in_column(field.name()))?;
        changed |= !Arc::ptr_eq(&user, field);
        fields.push(user);
    }
    if !changed {
        return Ok(stored.clone());
    }
    Ok(Arc::new(arrow_schema::Schema::new_with_metadata(fields, stored.metadata().clone())))
}

/// The field that a stored one stands for; itself if that is the same.
pub(super) fn user_field(stored: &FieldRef) -> Result<FieldRef> {
    let steps = steps_of(stored)?;
    let mut ordered = false;
    let data_type = user_type(stored.data_type(), &steps, &mut ordered)?;
    let own = stored.metadata().keys().any(|key| key.starts_with(OWN));
    if !own && data_type == *stored.data_type() {
        return Ok(stored.clone());
    }
    let nullable = stored.is_nullable() && steps.first() != Some(&Step::Required);
    let field = Field::new(stored.name(), data_type, nullable);
    Ok(Arc::new(field.with_metadata(without_own(stored.metadata())).with_dict_is_ordered(ordered)))
}

/// The steps of a field's tag; none where this release does not know it.
fn steps_of(stored: &Field) -> Result<Vec<Step>> {
    let Some(text) = stored.metadata().get(TAG) else { return Ok(Vec::new()) };
    Ok(tag::parse(text)?.unwrap_or_default())
}

/// Whether a stored list stands for a map.
pub(super) fn is_listed_map(stored: &Field) -> bool {
    matches!(stored.data_type(), DataType::List(_))
        && steps_of(stored).is_ok_and(|steps| steps.iter().any(|s| matches!(s, Step::Map { .. })))
}

/// A field of which children were left out, without a tag that needs them all.
pub(super) fn cut(stored: Field) -> Field {
    let is_union = |steps: Vec<Step>| steps.iter().any(|step| matches!(step, Step::Union { .. }));
    if !steps_of(&stored).is_ok_and(is_union) {
        return stored;
    }
    let metadata = without_own(stored.metadata());
    stored.with_metadata(metadata)
}

fn user_type(stored: &DataType, steps: &[Step], ordered: &mut bool) -> Result<DataType> {
    let misfit = || {
        let text = short(&tag::emit(steps));
        Err(Error::corrupt(format!("the type tag {text:?} does not fit the stored type {stored}")))
    };
    let Some((step, rest)) = steps.split_first() else { return with_user_children(stored) };
    let goes_on = matches!(
        step,
        Step::Dictionary(_)
            | Step::RunEndEncoded { .. }
            | Step::Values
            | Step::Item(_)
            | Step::Ordered
            | Step::Required
    );
    if !goes_on && !rest.is_empty() {
        return misfit();
    }
    Ok(match (step, stored) {
        (Step::Required, stored) => user_type(stored, rest, ordered)?,
        (Step::Ordered, stored) => {
            *ordered = true;
            match user_type(stored, rest, &mut false)? {
                dictionary @ DataType::Dictionary(..) => dictionary,
                _ => return misfit(),
            }
        }
        (Step::Utf8View, DataType::Utf8) => DataType::Utf8View,
        (Step::BinaryView, DataType::Binary) => DataType::BinaryView,
        (Step::Decimal32, DataType::Decimal128(precision @ ..=9, scale)) => {
            DataType::Decimal32(*precision, *scale)
        }
        (Step::Decimal64, DataType::Decimal128(precision @ ..=18, scale)) => {
            DataType::Decimal64(*precision, *scale)
        }
        (Step::Interval(unit @ IntervalUnit::YearMonth), DataType::Int32)
        | (Step::Interval(unit @ IntervalUnit::DayTime), DataType::FixedSizeBinary(8))
        | (Step::Interval(unit @ IntervalUnit::MonthDayNano), DataType::FixedSizeBinary(16)) => {
            DataType::Interval(*unit)
        }
        (Step::EmptyBinary, DataType::Binary) => DataType::FixedSizeBinary(0),
        (Step::EmptyStruct, DataType::Boolean) => DataType::Struct(Fields::empty()),
        (Step::ListView, DataType::List(item)) => DataType::ListView(user_field(item)?),
        (Step::LargeListView, DataType::LargeList(item)) => DataType::LargeListView(user_field(item)?),
        (Step::FixedSizeList(size), DataType::List(item)) => {
            DataType::FixedSizeList(user_field(item)?, *size)
        }
        (Step::Map { sorted }, DataType::Map(entries, _) | DataType::List(entries)) => {
            let entries = user_field(entries)?;
            match entries.data_type() {
                DataType::Struct(pair) if pair.len() == 2 => DataType::Map(entries, *sorted),
                _ => return misfit(),
            }
        }
        (Step::Union { mode, ids, required }, DataType::Struct(children)) => {
            let Some((type_id, children)) = children.split_first() else { return misfit() };
            if *type_id.data_type() != DataType::Int8 || children.len() != ids.len() {
                return misfit();
            }
            let mut fields = Vec::with_capacity(ids.len());
            for ((id, child), required) in ids.iter().zip(children).zip(required) {
                let child = user_field(child)?;
                let nullable = child.is_nullable() && !required;
                fields.push((*id, Arc::new(child.as_ref().clone().with_nullable(nullable))));
            }
            let (ids, fields): (Vec<i8>, Vec<FieldRef>) = fields.into_iter().unzip();
            match UnionFields::try_new(ids, fields) {
                Ok(fields) => DataType::Union(fields, *mode),
                Err(e) => corrupt!("the type tag {:?}: {e}", short(&tag::emit(steps))),
            }
        }
        (Step::Dictionary(key), stored) => {
            DataType::Dictionary(Box::new(key.clone()), Box::new(user_type(stored, rest, &mut false)?))
        }
        (Step::RunEndEncoded { ends, end_type, values }, stored) => {
            let mut ordered = false;
            let value_type = user_type(stored, rest, &mut ordered)?;
            DataType::RunEndEncoded(
                Arc::new(ends.to_field(end_type.clone(), false)),
                Arc::new(values.to_field(value_type, ordered)),
            )
        }
        (Step::Values, DataType::Dictionary(key, value)) => {
            let value = user_type(value, rest, &mut false)?;
            if matches!(value, DataType::Dictionary(..) | DataType::RunEndEncoded(..)) {
                return misfit();
            }
            DataType::Dictionary(key.clone(), Box::new(value))
        }
        (Step::Item(part), DataType::FixedSizeList(item, size))
            if !matches!(item.data_type(), DataType::Struct(_)) =>
        {
            let item_type = user_type(item.data_type(), rest, &mut false)?;
            DataType::FixedSizeList(Arc::new(part.to_field(item_type, false)), *size)
        }
        _ => return misfit(),
    })
}

/// An untagged type around children that may have tags.
fn with_user_children(stored: &DataType) -> Result<DataType> {
    Ok(match stored {
        DataType::Struct(fields) => {
            DataType::Struct(fields.iter().map(user_field).collect::<Result<Fields>>()?)
        }
        DataType::List(item) => DataType::List(user_field(item)?),
        DataType::LargeList(item) => DataType::LargeList(user_field(item)?),
        DataType::Map(entries, sorted) => DataType::Map(user_field(entries)?, *sorted),
        DataType::FixedSizeList(item, size) => DataType::FixedSizeList(user_field(item)?, *size),
        other => other.clone(),
    })
}
