//! A 128-bit hash of each value of an array, by what the value means and not by how it is stored.
//!
//! Equal values hash alike whether they stand in a dictionary, a view, a run or a plain array, and whatever
//! lies hidden under nulls. Floats go by their bits, except that every NaN is the same. The hash is not keyed:
//! it tells tables apart, it does not withstand somebody who builds collisions on purpose.

use arrow_array::array::AnyDictionaryArray;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, ArrowNativeTypeOp, OffsetSizeTrait};
use arrow_schema::{DataType, UnionMode};
use pennon_file::{Error, Result};

const NULL: u128 = 0x9ae1_6a3b_2f90_404f_c3a5_c85c_97cb_3127;

fn finish(mut x: u64) -> u64 {
    x ^= x >> 32;
    x = x.wrapping_mul(0xd6e8_feb8_6659_fd93);
    x ^= x >> 32;
    x = x.wrapping_mul(0xd6e8_feb8_6659_fd93);
    x ^ (x >> 32)
}

/// Mixes `value` into `state`.
pub(crate) fn mix(state: u128, value: u128) -> u128 {
    let (s0, s1) = (state as u64, (state >> 64) as u64);
    let (v0, v1) = (value as u64, (value >> 64) as u64);
    let a = finish((s0 ^ v0).wrapping_add(0x9e37_79b9_7f4a_7c15).wrapping_add(s1.rotate_left(29)));
    let b = finish(s1.wrapping_add(v1).wrapping_mul(0xa076_1d64_78bd_642f) ^ a.rotate_left(17));
    u128::from(finish(a ^ b.rotate_left(41))) | u128::from(b) << 64
}

fn bytes(value: &[u8]) -> u128 {
    let mut state = mix(1, value.len() as u128);
    let mut words = value.chunks_exact(16);
    for word in &mut words {
        let mut fixed = [0; 16];
        fixed.copy_from_slice(word);
        state = mix(state, u128::from_le_bytes(fixed));
    }
    let rest = words.remainder();
    let mut last = [0; 16];
    last[..rest.len()].copy_from_slice(rest);
    mix(state, u128::from_le_bytes(last))
}

/// The hash of every value.
pub(crate) fn hash_values(array: &ArrayRef) -> Result<Vec<u128>> {
    use DataType as T;
    let mut out = match array.data_type() {
        T::Null => vec![NULL; array.len()],
        T::Boolean => array.as_boolean().values().iter().map(|b| mix(2, u128::from(b))).collect(),
        T::Utf8 => array.as_string::<i32>().iter().map(|v| bytes(v.unwrap_or("").as_bytes())).collect(),
        T::LargeUtf8 => array.as_string::<i64>().iter().map(|v| bytes(v.unwrap_or("").as_bytes())).collect(),
        T::Utf8View => array.as_string_view().iter().map(|v| bytes(v.unwrap_or("").as_bytes())).collect(),
        T::Binary => array.as_binary::<i32>().iter().map(|v| bytes(v.unwrap_or(b""))).collect(),
        T::LargeBinary => array.as_binary::<i64>().iter().map(|v| bytes(v.unwrap_or(b""))).collect(),
        T::BinaryView => array.as_binary_view().iter().map(|v| bytes(v.unwrap_or(b""))).collect(),
        T::FixedSizeBinary(_) => {
            array.as_fixed_size_binary().iter().map(|v| bytes(v.unwrap_or(b""))).collect()
        }
        T::Float16 => floats(array.as_primitive::<arrow_array::types::Float16Type>().values(), |v| {
            (v.is_nan(), u64::from(v.to_bits()))
        }),
        T::Float32 => floats(array.as_primitive::<arrow_array::types::Float32Type>().values(), |v| {
            (v.is_nan(), u64::from(v.to_bits()))
        }),
        T::Float64 => floats(array.as_primitive::<arrow_array::types::Float64Type>().values(), |v| {
            (v.is_nan(), v.to_bits())
        }),
        T::List(_) => {
            let array = array.as_list::<i32>();
            lists(array.value_offsets(), array.values())?
        }
        T::LargeList(_) => {
            let array = array.as_list::<i64>();
            lists(array.value_offsets(), array.values())?
        }
        T::Map(_, _) => {
            let array = array.as_map();
            let entries: ArrayRef = std::sync::Arc::new(array.entries().clone());
            lists(array.value_offsets(), &entries)?
        }
        T::ListView(_) => {
            let array = array.as_list_view::<i32>();
            views(array.offsets(), array.sizes(), array.values())?
        }
        T::LargeListView(_) => {
            let array = array.as_list_view::<i64>();
            views(array.offsets(), array.sizes(), array.values())?
        }
        T::FixedSizeList(_, n) => {
            let array = array.as_fixed_size_list();
            let n = *n as usize;
            let items = hash_values(&array.values().slice(0, n * array.len()))?;
            (0..array.len())
                .map(|i| items[i * n..(i + 1) * n].iter().fold(mix(3, n as u128), |s, v| mix(s, *v)))
                .collect()
        }
        T::Struct(_) => {
            let array = array.as_struct();
            let mut out = vec![mix(4, array.num_columns() as u128); array.len()];
            for child in array.columns() {
                for (state, value) in out.iter_mut().zip(hash_values(child)?) {
                    *state = mix(*state, value);
                }
            }
            out
        }
        T::Dictionary(_, _) => {
            let array = array.as_any_dictionary();
            let values = hash_values(array.values())?;
            dictionary_keys(array).into_iter().map(|k| values.get(k).copied().unwrap_or(NULL)).collect()
        }
        T::RunEndEncoded(_, values) => {
            let options = arrow_cast::CastOptions { safe: false, ..Default::default() };
            let plain = arrow_cast::cast_with_options(array, values.data_type(), &options);
            return hash_values(
                &plain.map_err(|e| Error::unsupported(format!("run-end encoded values: {e}")))?,
            );
        }
        T::Union(fields, mode) => {
            let array = array.as_union();
            let mut children = std::collections::HashMap::new();
            for (id, _) in fields.iter() {
                children.insert(id, hash_values(array.child(id))?);
            }
            (0..array.len())
                .map(|i| {
                    let id = array.type_id(i);
                    let at = if *mode == UnionMode::Dense { array.value_offset(i) } else { i };
                    mix(
                        id as u8 as u128 + 16,
                        children.get(&id).and_then(|c| c.get(at)).copied().unwrap_or(NULL),
                    )
                })
                .collect()
        }
        _ => fixed(array)?,
    };
    if let Some(nulls) = array.nulls() {
        for (i, state) in out.iter_mut().enumerate() {
            if nulls.is_null(i) {
                *state = NULL;
            }
        }
    }
    Ok(out)
}

/// The keys as positions, those under nulls brought into range where there is one.
pub(crate) fn dictionary_keys(array: &dyn AnyDictionaryArray) -> Vec<usize> {
    if array.values().is_empty() { vec![0; array.len()] } else { array.normalized_keys() }
}

/// Primitive values by their bytes.
fn fixed(array: &ArrayRef) -> Result<Vec<u128>> {
    let width = array.data_type().primitive_width().ok_or_else(|| {
        Error::unsupported(format!("comparing values of type {}", crate::types::type_name(array.data_type())))
    })?;
    let data = array.to_data();
    let all = data.buffers()[0].as_slice();
    let (from, to) = (data.offset() * width, (data.offset() + data.len()) * width);
    Ok(all[from..to]
        .chunks_exact(width)
        .map(|value| {
            if width > 16 {
                return bytes(value);
            }
            let mut word = [0; 16];
            word[..width].copy_from_slice(value);
            mix(width as u128 + 32, u128::from_le_bytes(word))
        })
        .collect())
}

fn floats<T: ArrowNativeTypeOp>(values: &[T], bits: impl Fn(T) -> (bool, u64)) -> Vec<u128> {
    values
        .iter()
        .map(|v| match bits(*v) {
            (true, _) => mix(5, 1 << 64),
            (false, bits) => mix(5, u128::from(bits)),
        })
        .collect()
}

fn lists<O: OffsetSizeTrait>(offsets: &[O], values: &ArrayRef) -> Result<Vec<u128>> {
    let first = offsets[0].as_usize();
    let last = offsets[offsets.len() - 1].as_usize();
    let items = hash_values(&values.slice(first, last - first))?;
    let each = offsets.windows(2).map(|w| {
        let items = &items[w[0].as_usize() - first..w[1].as_usize() - first];
        items.iter().fold(mix(3, items.len() as u128), |s, v| mix(s, *v))
    });
    Ok(each.collect())
}

fn views<O: OffsetSizeTrait>(offsets: &[O], sizes: &[O], values: &ArrayRef) -> Result<Vec<u128>> {
    let items = hash_values(values)?;
    let each = offsets.iter().zip(sizes).map(|(offset, size)| {
        // A null slot may point anywhere.
        let items =
            items.get(offset.as_usize()..offset.as_usize().saturating_add(size.as_usize())).unwrap_or(&[]);
        items.iter().fold(mix(3, items.len() as u128), |s, v| mix(s, *v))
    });
    Ok(each.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::types::{Int8Type, Int32Type};
    use arrow_array::{
        DictionaryArray, Float64Array, Int64Array, LargeStringArray, ListArray, StringArray, StringViewArray,
        StructArray,
    };
    use arrow_schema::{Field, Fields};
    use std::sync::Arc;

    fn hash(array: impl Array + 'static) -> Vec<u128> {
        hash_values(&(Arc::new(array) as ArrayRef)).unwrap()
    }

    #[test]
    fn the_same_values_hash_alike_however_they_are_stored() {
        let values = [Some("a"), None, Some(""), Some("a longer text than sixteen bytes")];
        let plain = hash(StringArray::from_iter(values));
        assert_eq!(plain, hash(LargeStringArray::from_iter(values)));
        assert_eq!(plain, hash(StringViewArray::from_iter(values)));
        assert_eq!(plain, hash(values.into_iter().collect::<DictionaryArray<Int8Type>>()));
        assert_eq!(plain.iter().collect::<std::collections::HashSet<_>>().len(), 4);
        assert_eq!(plain[1..], hash(StringArray::from_iter(values).slice(1, 3)));
    }

    #[test]
    fn what_lies_under_a_null_does_not_count() {
        let make = |hidden| {
            let child: ArrayRef = Arc::new(Int64Array::from(vec![1, hidden]));
            StructArray::new(
                Fields::from(vec![Field::new("x", DataType::Int64, true)]),
                vec![child],
                Some(vec![true, false].into()),
            )
        };
        assert_eq!(hash(make(2)), hash(make(3)));
    }

    #[test]
    fn lists_that_join_to_the_same_items_differ() {
        let a = ListArray::from_iter_primitive::<Int32Type, _, _>([
            Some(vec![Some(1), Some(2)]),
            Some(vec![]),
            None,
        ]);
        let b = ListArray::from_iter_primitive::<Int32Type, _, _>([
            Some(vec![Some(1)]),
            Some(vec![Some(2)]),
            None,
        ]);
        let (a, b) = (hash(a), hash(b));
        assert!(a[0] != b[0] && a[1] != b[1] && a[1] != a[2] && a[2] == b[2]);
    }

    #[test]
    fn zeros_differ_by_sign_and_nans_do_not_differ() {
        let h = hash(Float64Array::from(vec![0.0, -0.0, f64::NAN, f64::from_bits(0x7ff8_0000_0000_0001)]));
        assert!(h[0] != h[1] && h[2] == h[3]);
    }
}
