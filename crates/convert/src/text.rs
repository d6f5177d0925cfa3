//! Types that text cannot hold as they are, and what stands for them in CSV and JSON lines.
//!
//! ```text
//! type                       text                               type                       text
//! binary, fixed-size binary  base64                             dictionary, run-end        their values
//! decimal                    digits as a string                 map, keys not text         list of {key, value}
//! timestamp with a zone      RFC 3339 in UTC ("…Z")             interval                   "1 mons 2 days …"
//! duration                   its count as a number              union                      its value, one way
//! ```
//!
//! Everything else goes through unchanged. [`to_text`] maps an array to its text type, [`from_text`] maps
//! what a text reader made of [`text_type`] back.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{
    Array, ArrayRef, LargeStringArray, RecordBatch, RecordBatchOptions, UInt64Array, make_array,
};
use arrow_cast::base64::{BASE64_STANDARD, b64_encode};
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Fields, Schema, SchemaRef, TimeUnit};
use pennon_file::{Error, Result};

use crate::exact;
use crate::nested::rebuild;

/// The type under which text holds values of `data_type`.
pub(crate) fn text_type(data_type: &DataType) -> DataType {
    use DataType as T;
    let field = |f: &FieldRef| text_field(f);
    match data_type {
        T::Binary | T::LargeBinary | T::BinaryView | T::FixedSizeBinary(_) => T::LargeUtf8,
        T::Decimal32(_, _) | T::Decimal64(_, _) | T::Decimal128(_, _) | T::Decimal256(_, _) => T::LargeUtf8,
        T::Interval(_) | T::Union(_, _) => T::LargeUtf8,
        T::Timestamp(unit, Some(_)) => T::Timestamp(*unit, Some("+00:00".into())),
        T::Duration(_) => T::Int64,
        T::Dictionary(_, value) => text_type(value),
        T::RunEndEncoded(_, values) => text_type(values.data_type()),
        T::List(f) => T::List(field(f)),
        T::LargeList(f) => T::LargeList(field(f)),
        T::ListView(f) => T::ListView(field(f)),
        T::LargeListView(f) => T::LargeListView(field(f)),
        T::FixedSizeList(f, n) => T::FixedSizeList(field(f), *n),
        T::Struct(fields) => T::Struct(fields.iter().map(field).collect()),
        T::Map(entries, sorted) => {
            let T::Struct(kv) = entries.data_type() else { return data_type.clone() };
            let textual = kv.first().is_some_and(|k| k.data_type() == &T::Utf8);
            let kv = T::Struct(kv.iter().map(field).collect());
            let entries = Arc::new(entries.as_ref().clone().with_data_type(kv));
            if textual { T::Map(entries, *sorted) } else { T::List(entries) }
        }
        other => other.clone(),
    }
}

fn text_field(field: &FieldRef) -> FieldRef {
    let data_type = text_type(field.data_type());
    // A union's value may be null without its slot being so.
    let nullable = field.is_nullable()
        || matches!(field.data_type(), DataType::Union(_, _) | DataType::RunEndEncoded(_, _));
    Arc::new(Field::new(field.name(), data_type, nullable))
}

/// The schema under which text holds `schema`.
pub(crate) fn text_schema(schema: &Schema) -> SchemaRef {
    Arc::new(Schema::new(schema.fields().iter().map(text_field).collect::<Fields>()))
}

/// The schema that a text reader is asked for: text where the reader would round or cut what does not fit a type of
/// [`text_schema`]. `numbers` says whether that is so of whole numbers, too.
pub(crate) fn reading_schema(schema: &Schema, numbers: bool) -> SchemaRef {
    let fields = text_schema(schema);
    Arc::new(Schema::new(fields.fields().iter().map(|f| reading_field(f, numbers)).collect::<Fields>()))
}

fn reading_field(field: &FieldRef, numbers: bool) -> FieldRef {
    use DataType as T;
    let of = |f: &FieldRef| reading_field(f, numbers);
    let data_type = match field.data_type() {
        T::List(f) => T::List(of(f)),
        T::LargeList(f) => T::LargeList(of(f)),
        T::ListView(f) => T::ListView(of(f)),
        T::LargeListView(f) => T::LargeListView(of(f)),
        T::FixedSizeList(f, n) => T::FixedSizeList(of(f), *n),
        T::Struct(fields) => T::Struct(fields.iter().map(of).collect()),
        T::Map(entries, sorted) => T::Map(of(entries), *sorted),
        t if exact::is_parsed(t) && (numbers || !t.is_integer()) => T::LargeUtf8,
        other => other.clone(),
    };
    Arc::new(field.as_ref().clone().with_data_type(data_type))
}

/// The batch as text holds it. `schema` is [`text_schema`] of the batch's.
pub(crate) fn batch_to_text(batch: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch> {
    let source = batch.schema();
    let columns = batch
        .columns()
        .iter()
        .zip(source.fields())
        .map(|(c, f)| to_text(c).map_err(|e| e.in_column(f.name())));
    with_columns(batch, schema, columns.collect::<Result<_>>()?)
}

/// What a text reader made of [`reading_schema`] as `schema`. `first` is the number of the first row, for messages;
/// `counts` says whether a whole number stands for a time.
pub(crate) fn batch_from_text(
    batch: &RecordBatch,
    schema: &SchemaRef,
    first: u64,
    counts: bool,
) -> Result<RecordBatch> {
    let columns = batch.columns().iter().zip(schema.fields()).map(|(column, field)| {
        from_text(column, field.data_type(), counts).map_err(|e| {
            // A value inside a list does not know its row.
            let row = (0..column.len()).find(|row| {
                let only = UInt64Array::from(vec![*row as u64]);
                arrow_select::take::take(column, &only, None)
                    .is_ok_and(|one| from_text(&one, field.data_type(), counts).is_err())
            });
            let name = crate::projection::quote_name(field.name());
            match row {
                Some(row) => {
                    Error::invalid(format!("row {}, column {name}: {}", first + row as u64, e.message()))
                }
                None => Error::invalid(format!("column {name}: {}", e.message())),
            }
        })
    });
    with_columns(batch, schema, columns.collect::<Result<_>>()?)
}

/// The batch with columns that print: as text has them, except those that text cannot hold.
pub fn readable(batch: &RecordBatch) -> Vec<ArrayRef> {
    batch.columns().iter().map(|c| to_text(c).unwrap_or_else(|_| c.clone())).collect()
}

fn with_columns(batch: &RecordBatch, schema: &SchemaRef, columns: Vec<ArrayRef>) -> Result<RecordBatch> {
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(schema.clone(), columns, &options)
        .map_err(|e| Error::invalid(e.to_string()))
}

/// Says what is wrong with a value of a column in the caller's words.
fn wrong(e: ArrowError) -> Error {
    let text = e.to_string();
    Error::invalid(text.split_once("error: ").map_or(text.as_str(), |(_, rest)| rest).to_owned())
}

/// `array` as its [`text_type`].
pub(crate) fn to_text(array: &ArrayRef) -> Result<ArrayRef> {
    use DataType as T;
    let target = text_type(array.data_type());
    check_range(array)?;
    if target == *array.data_type() && !array.data_type().is_nested() {
        return Ok(array.clone());
    }
    Ok(match array.data_type() {
        T::Binary => base64(array, array.as_binary::<i32>().iter()),
        T::LargeBinary => base64(array, array.as_binary::<i64>().iter()),
        T::BinaryView => base64(array, array.as_binary_view().iter()),
        T::FixedSizeBinary(_) => base64(array, array.as_fixed_size_binary().iter()),
        T::Timestamp(_, _) => retyped(array, &target)?,
        T::Interval(_) | T::Union(_, _) => {
            let formatter = ArrayFormatter::try_new(array.as_ref(), &FormatOptions::new()).map_err(wrong)?;
            let nulls = array.logical_nulls();
            let values = (0..array.len()).map(|i| {
                (!nulls.as_ref().is_some_and(|n| n.is_null(i)))
                    .then(|| formatter.value(i).try_to_string())
                    .transpose()
            });
            Arc::new(values.collect::<Result<LargeStringArray, _>>().map_err(wrong)?)
        }
        T::Dictionary(_, _) => {
            let dictionary = array.as_any_dictionary();
            let values = to_text(dictionary.values())?;
            arrow_select::take::take(&values, dictionary.keys(), None).map_err(wrong)?
        }
        T::RunEndEncoded(_, values) => to_text(&cast(array, values.data_type())?)?,
        t if t.is_nested() => rebuild(array, &target, &mut |_, child, _| to_text(child))?,
        _ => cast(array, &target)?,
    })
}

/// What a text reader made of [`reading_schema`]'s type for `target`, as `target`.
pub(crate) fn from_text(array: &ArrayRef, target: &DataType, counts: bool) -> Result<ArrayRef> {
    use DataType as T;
    if array.data_type() == target {
        return Ok(array.clone());
    }
    if exact::is_parsed(target) && array.data_type().is_string() {
        let text = cast(array, &T::LargeUtf8)?;
        return match target {
            T::Timestamp(unit, Some(_)) => {
                let utc = T::Timestamp(*unit, Some("+00:00".into()));
                retyped(&exact::parse(text.as_string::<i64>(), &utc, counts)?, target)
            }
            _ => exact::parse(text.as_string::<i64>(), target, counts),
        };
    }
    Ok(match target {
        T::Binary | T::LargeBinary | T::BinaryView | T::FixedSizeBinary(_) => {
            let text = cast(array, &T::LargeUtf8)?;
            let mut builder = arrow_array::builder::LargeBinaryBuilder::new();
            let mut bytes = Vec::new();
            for value in text.as_string::<i64>() {
                match value {
                    None => builder.append_null(),
                    Some(text) => {
                        bytes.clear();
                        decode_base64(text, &mut bytes)?;
                        builder.append_value(&bytes);
                    }
                }
            }
            let binary: ArrayRef = Arc::new(builder.finish());
            if let T::FixedSizeBinary(n) = target {
                let wrong_size = binary.as_binary::<i64>().iter().flatten().find(|v| v.len() != *n as usize);
                if let Some(value) = wrong_size {
                    return Err(Error::invalid(format!(
                        "expected {n} bytes in each value, found {}",
                        value.len()
                    )));
                }
            }
            cast(&binary, target)?
        }
        T::Timestamp(_, _) if matches!(array.data_type(), T::Timestamp(_, _)) => retyped(array, target)?,
        T::Duration(_) => retyped(&from_text(array, &T::Int64, counts)?, target)?,
        T::Dictionary(_, value) => cast(&from_text(array, value, counts)?, target)?,
        T::RunEndEncoded(_, values) => cast(&from_text(array, values.data_type(), counts)?, target)?,
        T::Union(_, _) => return Err(Error::unsupported("a union cannot be read from text")),
        t if t.is_nested() => {
            rebuild(array, target, &mut |_, child, field| from_text(child, field.data_type(), counts))?
        }
        _ => cast(array, target)?,
    })
}

fn cast(array: &ArrayRef, target: &DataType) -> Result<ArrayRef> {
    // A value that does not fit is an error, not a null.
    let options = CastOptions { safe: false, ..Default::default() };
    cast_with_options(array, target, &options).map_err(wrong)
}

/// The same values under another type of the same physical form.
fn retyped(array: &ArrayRef, target: &DataType) -> Result<ArrayRef> {
    let data = array.to_data().into_builder().data_type(target.clone()).build().map_err(wrong)?;
    Ok(make_array(data))
}

fn base64<'a>(array: &ArrayRef, values: impl Iterator<Item = Option<&'a [u8]>>) -> ArrayRef {
    let mut builder = arrow_array::builder::LargeStringBuilder::with_capacity(array.len(), 0);
    let one = |value: &[u8]| {
        let array = arrow_array::LargeBinaryArray::from_iter_values([value]);
        b64_encode(&BASE64_STANDARD, &array).value(0).to_owned()
    };
    for value in values {
        match value {
            Some(value) => builder.append_value(one(value)),
            None => builder.append_null(),
        }
    }
    Arc::new(builder.finish())
}

/// Standard base64, with or without padding.
fn decode_base64(text: &str, out: &mut Vec<u8>) -> Result<()> {
    let bad = |why: String| Error::invalid(format!("not base64: {why}"));
    let digits = text.trim_end_matches('=');
    let (mut bits, mut count) = (0u32, 0u32);
    for c in digits.bytes() {
        let value = match c {
            b'A'..=b'Z' => c - b'A',
            b'a'..=b'z' => c - b'a' + 26,
            b'0'..=b'9' => c - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => {
                return Err(bad(format!(
                    "found {:?} in {:?}",
                    char::from(c),
                    text.chars().take(40).collect::<String>()
                )));
            }
        };
        bits = bits << 6 | u32::from(value);
        count += 6;
        if count >= 8 {
            count -= 8;
            out.push((bits >> count) as u8);
            bits &= (1 << count) - 1;
        }
    }
    if count >= 6 || bits != 0 {
        return Err(bad(format!("{} characters end in the middle of a byte", text.len())));
    }
    Ok(())
}

/// Text shows the years 0000 to 9999 and times within a day; what is beyond would not be read back.
fn check_range(array: &ArrayRef) -> Result<()> {
    use DataType as T;
    let per_second = |unit: &TimeUnit| match unit {
        TimeUnit::Second => 1i64,
        TimeUnit::Millisecond => 1_000,
        TimeUnit::Microsecond => 1_000_000,
        TimeUnit::Nanosecond => 1_000_000_000,
    };
    // From the first second of 0000 to the last of 9999.
    let calendar = |per: i64| {
        (-62_167_219_200i64).saturating_mul(per)
            ..=253_402_300_799i64.saturating_mul(per).saturating_add(per - 1)
    };
    let (range, what) = match array.data_type() {
        T::Timestamp(unit, _) => (calendar(per_second(unit)), "the years 0000 to 9999"),
        T::Date64 => (calendar(1000), "the years 0000 to 9999"),
        T::Date32 => (-719_528..=2_932_896, "the years 0000 to 9999"),
        T::Time32(unit) | T::Time64(unit) => (0..=86_400 * per_second(unit) - 1, "one day"),
        _ => return Ok(()),
    };
    let data = array.to_data();
    let offset = data.offset();
    let value = |i: usize| match array.data_type() {
        T::Date32 | T::Time32(_) => i64::from(data.buffers()[0].typed_data::<i32>()[offset + i]),
        _ => data.buffers()[0].typed_data::<i64>()[offset + i],
    };
    for i in 0..array.len() {
        if !array.is_null(i) && !range.contains(&value(i)) {
            return Err(Error::invalid(format!(
                "the value {} of type {} is outside {what}, which is what text can show; choose a binary format",
                value(i),
                crate::types::type_name(array.data_type())
            )));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::types::Int8Type;
    use arrow_array::{
        BinaryArray, Date32Array, Date64Array, Decimal128Array, DictionaryArray, DurationSecondArray,
        FixedSizeBinaryArray, Time32SecondArray, Time64NanosecondArray, TimestampMicrosecondArray,
        TimestampNanosecondArray, TimestampSecondArray,
    };

    fn round(array: ArrayRef) {
        let text = to_text(&array).unwrap();
        assert_eq!(text.data_type(), &text_type(array.data_type()));
        assert_eq!(&from_text(&text, array.data_type(), true).unwrap(), &array, "{}", array.data_type());
    }

    #[test]
    fn values_come_back_from_their_text_types() {
        round(Arc::new(BinaryArray::from(vec![
            Some(&b"\x00\xff"[..]),
            None,
            Some(b""),
            Some(b"abc"),
            Some(b"abcd"),
        ])));
        round(Arc::new(
            FixedSizeBinaryArray::try_from_sparse_iter_with_size([Some([1u8, 2]), None].into_iter(), 2)
                .unwrap(),
        ));
        round(Arc::new(
            Decimal128Array::from(vec![Some(-1234), None, Some(5)]).with_precision_and_scale(10, 2).unwrap(),
        ));
        round(Arc::new(TimestampSecondArray::from(vec![Some(0), None]).with_timezone("America/New_York")));
        round(Arc::new(DurationSecondArray::from(vec![Some(-5), None])));
        round(Arc::new(DictionaryArray::<Int8Type>::from_iter([Some("a"), None, Some("b"), Some("a")])));
    }

    #[test]
    fn base64_that_is_none_is_refused() {
        let text: ArrayRef = Arc::new(LargeStringArray::from(vec!["a?"]));
        assert_eq!(
            from_text(&text, &DataType::Binary, true).unwrap_err().to_string(),
            "not base64: found '?' in \"a?\""
        );
        let text: ArrayRef = Arc::new(LargeStringArray::from(vec!["A"]));
        assert!(from_text(&text, &DataType::Binary, true).is_err());
        let text: ArrayRef = Arc::new(LargeStringArray::from(vec!["AAA="]));
        assert_eq!(
            from_text(&text, &DataType::FixedSizeBinary(3), true).unwrap_err().to_string(),
            "expected 3 bytes in each value, found 2"
        );
    }

    #[test]
    fn a_time_beyond_the_calendar_or_the_day_is_an_error_and_not_a_text() {
        let beyond: [ArrayRef; 8] = [
            Arc::new(TimestampSecondArray::from(vec![i64::MAX])),
            Arc::new(TimestampSecondArray::from(vec![253_402_300_800])),
            Arc::new(TimestampMicrosecondArray::from(vec![i64::MAX])),
            Arc::new(Date32Array::from(vec![2_932_897])),
            Arc::new(Date64Array::from(vec![i64::MIN])),
            Arc::new(Time32SecondArray::from(vec![86_400])),
            Arc::new(Time32SecondArray::from(vec![-1])),
            Arc::new(Time64NanosecondArray::from(vec![86_400_000_000_000])),
        ];
        for array in beyond {
            let e = to_text(&array).unwrap_err().to_string();
            assert!(e.contains("which is what text can show"), "{e}");
        }
        let within: [ArrayRef; 3] = [
            Arc::new(TimestampSecondArray::from(vec![253_402_300_799])),
            Arc::new(TimestampNanosecondArray::from(vec![i64::MAX, i64::MIN])),
            Arc::new(Time32SecondArray::from(vec![86_399])),
        ];
        assert!(within.iter().all(|a| to_text(a).is_ok()));
    }
}
