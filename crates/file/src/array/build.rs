//! Values of one leaf to an Arrow array.
//!
//! The only site of `unsafe` in this part of the crate: Arrow's checked constructors of strings cost a
//! quarter of a scan when it was measured, so strings are checked here, whole buffers at a time, and built
//! unchecked.
#![allow(unsafe_code)]

use std::sync::Arc;

use arrow_array::types::{ByteArrayType, GenericBinaryType, GenericStringType};
use arrow_array::{
    ArrayRef, BooleanArray, FixedSizeListArray, GenericByteArray, NullArray, OffsetSizeTrait, StructArray,
    make_array,
};
use arrow_buffer::{Buffer, NullBuffer, OffsetBuffer, ScalarBuffer, ToByteSlice};
use arrow_data::ArrayData;
use arrow_schema::{ArrowError, DataType};

use crate::encoding::{Arena, FixedValues, Values, VariableValues};
use crate::error::corrupt;
use crate::page::Dictionary;
use crate::{Error, Result};

/// The array of a leaf of type `data_type`; `dictionary` goes with keys.
pub(super) fn build_leaf(
    data_type: &DataType,
    values: Values,
    nulls: Option<NullBuffer>,
    dictionary: Option<Dictionary>,
    arena: &Arena,
) -> Result<ArrayRef> {
    match (data_type, values) {
        (DataType::Null, values) => Ok(Arc::new(NullArray::new(values.len()))),
        (DataType::Struct(fields), values) if fields.is_empty() => {
            // A struct that is there is stored as a null, see `encode_empty_struct`.
            let len = values.len();
            let nulls = match nulls {
                Some(nulls) => Some(NullBuffer::new(!nulls.inner())).filter(|n| n.null_count() > 0),
                None => (len > 0).then(|| NullBuffer::new_null(len)),
            };
            Ok(Arc::new(StructArray::new_empty_fields(len, nulls)))
        }
        (DataType::FixedSizeBinary(0), Values::Null(len)) => {
            let empty =
                ArrayData::builder(data_type.clone()).len(len).add_buffer(Buffer::from_vec(Vec::<u8>::new()));
            Ok(make_array(empty.nulls(nulls).build().map_err(wrong)?))
        }
        (DataType::Dictionary(key_type, value_type), Values::Fixed(keys)) => {
            let dictionary = match dictionary {
                Some(Dictionary { values, .. }) => build_shared(value_type, &values)?,
                None => arrow_array::new_empty_array(value_type),
            };
            let len = keys.len();
            check_keys(key_type, &keys, nulls.as_ref(), dictionary.len())?;
            // SAFETY: the keys are as wide as their type, and those that are not null were just checked to
            // number an entry; nulls are as long as the keys by the check of `build_item`; the entries are
            // an array of their own.
            let data = unsafe {
                ArrayData::builder(data_type.clone())
                    .len(len)
                    .add_buffer(keys.into_buffer())
                    .nulls(nulls)
                    .add_child_data(dictionary.to_data())
                    .align_buffers(true)
                    .build_unchecked()
            };
            Ok(make_array(data))
        }
        (DataType::Boolean, Values::Bits(bits)) => Ok(Arc::new(BooleanArray::new(bits.build(), nulls))),
        (DataType::Utf8, Values::Variable(v)) => build_strings(v, nulls, arena),
        (DataType::LargeUtf8, Values::LargeVariable(v)) => build_strings(v, nulls, arena),
        (DataType::Binary, Values::Variable(v)) => build_bytes::<GenericBinaryType<i32>, _>(v, nulls, arena),
        (DataType::LargeBinary, Values::LargeVariable(v)) => {
            build_bytes::<GenericBinaryType<i64>, _>(v, nulls, arena)
        }
        (DataType::FixedSizeList(item, dimension), Values::List(list)) => {
            let items_nulls =
                list.item_validity.map(|v| NullBuffer::new(v.build())).filter(|n| n.null_count() > 0);
            let items = build_leaf(item.data_type(), *list.items, items_nulls, None, arena)?;
            let array = FixedSizeListArray::try_new(item.clone(), *dimension, items, nulls).map_err(wrong)?;
            Ok(Arc::new(array))
        }
        (DataType::Struct(fields), Values::Struct { fields: values, len })
            if fields.len() == values.len() =>
        {
            let arrays = fields
                .iter()
                .zip(values)
                .map(|(field, values)| build_leaf(field.data_type(), values, None, None, arena))
                .collect::<Result<Vec<_>>>()?;
            let array =
                StructArray::try_new_with_length(fields.clone(), arrays, nulls, len).map_err(wrong)?;
            Ok(Arc::new(array))
        }
        (data_type, Values::Fixed(values)) => build_fixed(data_type, values, nulls),
        (data_type, values) => {
            corrupt!("values of shape {:?} in a column of type {data_type}", values.shape())
        }
    }
}

/// That keys are of their type's width, and that each that is not null numbers one of the entries.
fn check_keys(
    key_type: &DataType,
    keys: &FixedValues,
    nulls: Option<&NullBuffer>,
    num_entries: usize,
) -> Result<()> {
    fn number<const N: usize>(key: &[u8; N]) -> u64 {
        let mut word = [0; 8];
        word[..N].copy_from_slice(key);
        u64::from_le_bytes(word)
    }
    fn check<const N: usize>(keys: &[u8], nulls: Option<&NullBuffer>, bound: u64) -> Result<()> {
        let keys = keys.as_chunks::<N>().0;
        let highest = keys.iter().fold(0, |highest, key| number(key).max(highest));
        if highest < bound {
            return Ok(());
        }
        // What stands under a null may be anything.
        let is_valid = |i: usize| nulls.is_none_or(|nulls| nulls.is_valid(i));
        match keys.iter().enumerate().find(|(i, key)| number(key) >= bound && is_valid(*i)) {
            Some((_, key)) => {
                corrupt!("dictionary key {} where keys below {bound} are expected", number(key))
            }
            None => Ok(()),
        }
    }
    if key_type.primitive_width() != Some(keys.width) {
        corrupt!("dictionary keys of {} bytes in a column of {key_type} keys", keys.width);
    }
    // A signed key with its highest bit set is negative.
    let most = if key_type.is_signed_integer() { 1 << (keys.width * 8 - 1) } else { u64::MAX };
    let bound = most.min(num_entries as u64);
    match keys.width {
        1 => check::<1>(keys.bytes(), nulls, bound),
        2 => check::<2>(keys.bytes(), nulls, bound),
        4 => check::<4>(keys.bytes(), nulls, bound),
        8 => check::<8>(keys.bytes(), nulls, bound),
        width => corrupt!("dictionary keys of {width} bytes"),
    }
}

/// The array of dictionary entries that several batches may share.
fn build_shared(data_type: &DataType, values: &Values) -> Result<ArrayRef> {
    let mut copy = Values::new(&values.shape(), values.len());
    if copy.extend(values, 0..values.len())? != values.len() {
        return Err(Error::limit("a dictionary holds more bytes than 32-bit offsets can count"));
    }
    build_leaf(data_type, copy, None, None, &Arena::default())
}

fn build_fixed(data_type: &DataType, values: FixedValues, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
    let len = values.len();
    let width = match data_type {
        DataType::FixedSizeBinary(width) => Some(*width as usize),
        other => other.primitive_width(),
    };
    if width != Some(values.width) {
        corrupt!("values of {} bytes in a column of type {data_type}", values.width);
    }
    let data = ArrayData::builder(data_type.clone())
        .len(len)
        .add_buffer(values.into_buffer())
        .nulls(nulls)
        .align_buffers(true)
        .build()
        .map_err(wrong)?;
    Ok(make_array(data))
}

/// Strings: valid UTF-8 as a whole, and cut at character borders.
fn build_strings<O: OffsetSizeTrait>(
    values: VariableValues<O>,
    nulls: Option<NullBuffer>,
    arena: &Arena,
) -> Result<ArrayRef> {
    if !values.data.is_ascii() {
        let text = match std::str::from_utf8(&values.data) {
            Ok(text) => text,
            Err(e) => corrupt!(
                "a string column holds bytes that are not UTF-8, at byte {} of a batch",
                e.valid_up_to()
            ),
        };
        if let Some(cut) = values.offsets.iter().find(|o| !text.is_char_boundary(o.as_usize())) {
            corrupt!("a string ends within a character, at byte {} of a batch", cut.as_usize());
        }
    }
    build_bytes::<GenericStringType<O>, O>(values, nulls, arena)
}

fn build_bytes<T, O>(values: VariableValues<O>, nulls: Option<NullBuffer>, arena: &Arena) -> Result<ArrayRef>
where
    T: ByteArrayType<Offset = O>,
    O: OffsetSizeTrait,
{
    let VariableValues { offsets, data, .. } = values;
    debug_assert!(offsets.is_sorted());
    debug_assert_eq!(offsets.last().map(|o| o.as_usize()), Some(data.len()));
    // First what may give back room that it did not need.
    let data = data.into_buffer(arena);
    let offsets = match arena.copy(offsets.to_byte_slice()) {
        Some(copy) => ScalarBuffer::new(copy, 0, offsets.len()),
        None => ScalarBuffer::from(offsets),
    };
    // SAFETY: decoders append offsets that do not fall and end at the bytes' end; strings were checked
    // by `build_strings` to be UTF-8 and to be cut at character borders; nulls are as long as the values
    // by the check of `build_item`.
    let array =
        unsafe { GenericByteArray::<T>::new_unchecked(OffsetBuffer::new_unchecked(offsets), data, nulls) };
    Ok(Arc::new(array))
}

fn wrong(e: ArrowError) -> Error {
    Error::corrupt(format!("values that the schema does not allow: {e}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dictionary(key_type: DataType, keys: &[u8], valid: &[bool], num_entries: usize) -> Result<ArrayRef> {
        let shape = crate::encoding::ValueType::Variable { wide: false };
        let mut entries = Values::new(&shape, num_entries);
        entries.push_defaults(num_entries);
        let mut values = FixedValues::new(1, keys.len());
        values.extend(keys);
        let data_type = DataType::Dictionary(Box::new(key_type), Box::new(DataType::Utf8));
        let dictionary = Dictionary::of(Arc::new(entries));
        let nulls = Some(NullBuffer::from(valid.to_vec()));
        build_leaf(&data_type, Values::Fixed(values), nulls, Some(dictionary), &Arena::default())
    }

    #[test]
    fn a_valid_key_without_an_entry_is_corrupt_and_one_under_a_null_is_not() {
        assert!(dictionary(DataType::UInt8, &[0, 1], &[true, true], 2).is_ok());
        assert!(dictionary(DataType::UInt8, &[0, 2], &[true, true], 2).is_err());
        assert!(dictionary(DataType::UInt8, &[0, 2], &[true, false], 2).is_ok());
        // A dictionary without entries has only nulls.
        assert!(dictionary(DataType::UInt8, &[0], &[true], 0).is_err());
        assert!(dictionary(DataType::UInt8, &[7], &[false], 0).is_ok());
    }

    #[test]
    fn keys_that_are_negative_in_their_type_are_corrupt_however_many_entries_there_are() {
        assert!(dictionary(DataType::UInt8, &[200], &[true], 250).is_ok());
        assert!(dictionary(DataType::Int8, &[200], &[true], 250).is_err());
        assert!(dictionary(DataType::Int8, &[127], &[true], 250).is_ok());
    }
}
