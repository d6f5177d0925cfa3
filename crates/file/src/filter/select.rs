//! Rows kept of arrays of any type.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{
    Array, ArrayRef, ArrowPrimitiveType, BooleanArray, DictionaryArray, PrimitiveArray, StructArray,
    downcast_dictionary_array, downcast_run_array, make_array, new_null_array,
};
use arrow_buffer::{BooleanBuffer, BooleanBufferBuilder, NullBuffer};
use arrow_data::transform::MutableArrayData;
use arrow_schema::{DataType, TimeUnit};

use super::evaluate::for_primitive;
use crate::{Error, Result};

/// Runs of rows whose bit is set, ascending.
pub(crate) fn ranges_of(bits: &BooleanBuffer) -> Vec<Range<usize>> {
    bits.set_slices().map(|(start, end)| start..end).collect()
}

/// The rows of `ranges` one after the other; every range lies in the array, in any order.
pub(crate) fn select(array: &ArrayRef, ranges: &[Range<usize>]) -> Result<ArrayRef> {
    if let [range] = ranges {
        return Ok(array.slice(range.start, range.end - range.start));
    }
    let count: usize = ranges.iter().map(|r| r.end - r.start).sum();
    let nulls = || select_nulls(array, ranges, count);
    let wrong = |e: arrow_schema::ArrowError| Error::invalid(format!("rows of a column: {e}"));
    Ok(match array.data_type() {
        DataType::Boolean => {
            let values = select_bits(array.as_boolean().values(), ranges, count);
            Arc::new(BooleanArray::new(values, nulls()))
        }
        DataType::Struct(fields) => {
            let from = array.as_struct();
            let columns = from.columns().iter().map(|c| select(c, ranges)).collect::<Result<_>>()?;
            let length = StructArray::try_new_with_length(fields.clone(), columns, nulls(), count);
            Arc::new(length.map_err(wrong)?)
        }
        DataType::Dictionary(..) => downcast_dictionary_array!(
            array => Arc::new(select_keys(array, ranges, count).map_err(wrong)?),
            other => return Err(Error::unsupported(format!("rows of a column of type {other}")))
        ),
        data_type => for_primitive!(
            data_type,
            T => Arc::new(select_values(array.as_primitive::<T>(), ranges, count)),
            _ => {
                let data = array.to_data();
                let mut out = MutableArrayData::new(vec![&data], false, count);
                for range in ranges {
                    out.try_extend(0, range.start, range.end).map_err(wrong)?;
                }
                make_array(out.freeze())
            }
        ),
    })
}

fn select_values<T: ArrowPrimitiveType>(
    from: &PrimitiveArray<T>,
    ranges: &[Range<usize>],
    count: usize,
) -> PrimitiveArray<T> {
    let mut values = Vec::with_capacity(count);
    ranges.iter().for_each(|r| values.extend_from_slice(&from.values()[r.clone()]));
    let to = PrimitiveArray::<T>::new(values.into(), select_nulls(from, ranges, count));
    to.with_data_type(from.data_type().clone())
}

fn select_keys<K: ArrowDictionaryKeyType>(
    from: &DictionaryArray<K>,
    ranges: &[Range<usize>],
    count: usize,
) -> std::result::Result<DictionaryArray<K>, arrow_schema::ArrowError> {
    DictionaryArray::try_new(select_values(from.keys(), ranges, count), from.values().clone())
}

fn select_nulls(array: &dyn Array, ranges: &[Range<usize>], count: usize) -> Option<NullBuffer> {
    array.nulls().map(|n| NullBuffer::new(select_bits(n.inner(), ranges, count)))
}

fn select_bits(bits: &BooleanBuffer, ranges: &[Range<usize>], count: usize) -> BooleanBuffer {
    let mut out = BooleanBufferBuilder::new(count);
    for range in ranges {
        let (start, end) = (bits.offset() + range.start, bits.offset() + range.end);
        out.append_packed_range(start..end, bits.values());
    }
    out.build()
}

/// Arrays of one type one after the other; `None` where their dictionaries would have to be merged.
pub(crate) fn concat(arrays: &[ArrayRef]) -> Result<Option<ArrayRef>> {
    let [first, rest @ ..] = arrays else { return Ok(None) };
    if rest.is_empty() {
        return Ok(Some(first.clone()));
    }
    if has_dictionary(first.data_type()) {
        return Ok(None);
    }
    let wrong = |e: arrow_schema::ArrowError| Error::invalid(format!("batches of a column: {e}"));
    let data: Vec<_> = arrays.iter().map(|a| a.to_data()).collect();
    let count = arrays.iter().map(|a| a.len()).sum();
    let mut out = MutableArrayData::try_new(data.iter().collect(), false, count).map_err(wrong)?;
    for (i, array) in arrays.iter().enumerate().filter(|(_, a)| !a.is_empty()) {
        out.try_extend(i, 0, array.len()).map_err(wrong)?;
    }
    Ok(Some(make_array(out.freeze())))
}

fn has_dictionary(data_type: &DataType) -> bool {
    use DataType::*;
    match data_type {
        Dictionary(..) | RunEndEncoded(..) | Union(..) => true,
        List(f) | LargeList(f) | ListView(f) | LargeListView(f) | FixedSizeList(f, _) | Map(f, _) => {
            has_dictionary(f.data_type())
        }
        Struct(fields) => fields.iter().any(|f| has_dictionary(f.data_type())),
        _ => false,
    }
}

/// The values of a dictionary or of runs in each row; other arrays as they are.
pub(super) fn decoded(array: &ArrayRef) -> Result<ArrayRef> {
    let (values, rows): (&ArrayRef, Vec<Option<usize>>) = match array.data_type() {
        DataType::Dictionary(..) => downcast_dictionary_array!(
            array => (array.values(), array.keys_iter().collect()),
            _ => return Ok(array.clone())
        ),
        DataType::RunEndEncoded(..) => downcast_run_array!(
            array => {
                let row = |i| Some(array.get_physical_index(i));
                (array.values(), (0..array.len()).map(row).collect())
            },
            _ => return Ok(array.clone())
        ),
        _ => return Ok(array.clone()),
    };
    if values.is_empty() {
        return Ok(new_null_array(values.data_type(), rows.len()));
    }
    // Where the key is null any value will do: it is covered below.
    let ranges: Vec<Range<usize>> = rows.iter().map(|row| row.map_or(0..1, |r| r..r + 1)).collect();
    let found = select(&decoded(values)?, &ranges)?;
    let keyed: NullBuffer = rows.iter().map(Option::is_some).collect();
    let nulls = NullBuffer::union(Some(&keyed), found.nulls());
    if *found.data_type() == DataType::Null {
        return Ok(found);
    }
    let data = found.to_data().into_builder().nulls(nulls).build();
    data.map(make_array).map_err(|e| Error::invalid(format!("values of a dictionary: {e}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{Int32Array, ListArray, StringArray, StringViewArray};

    #[test]
    fn ranges_of_every_kind_of_array_are_what_slices_hold() {
        let numbers: Int32Array = (0..50).map(|i| (i % 7 != 3).then_some(i)).collect();
        let words: DictionaryArray<Int8Type> =
            (0..50).map(|i| (i % 5 != 0).then_some(["a", "bb"][i % 2])).collect();
        let lists = ListArray::from_iter_primitive::<Int32Type, _, _>(
            (0..50).map(|i| (i % 6 != 0).then(|| vec![Some(i); i as usize % 3])),
        );
        let texts: StringArray = (0..50).map(|i| (i % 4 != 0).then(|| "x".repeat(i))).collect();
        let views: StringViewArray = (0..50).map(|i| (i % 4 != 0).then(|| "y".repeat(i))).collect();
        let bools: BooleanArray = (0..50).map(|i| (i % 9 != 0).then_some(i % 2 == 0)).collect();
        let fields = vec![(
            Arc::new(arrow_schema::Field::new("n", DataType::Int32, true)),
            Arc::new(numbers.clone()) as ArrayRef,
        )];
        let arrays: Vec<ArrayRef> = vec![
            Arc::new(numbers),
            Arc::new(words),
            Arc::new(lists),
            Arc::new(texts),
            Arc::new(views),
            Arc::new(bools),
            Arc::new(StructArray::from(fields)),
            new_null_array(&DataType::Null, 50),
        ];
        for array in &arrays {
            let array = array.slice(3, 45);
            let kept = select(&array, &[1..4, 9..10, 20..45]).unwrap();
            let mut at = 0;
            for range in [1..4, 9..10, 20..45] {
                let len = range.end - range.start;
                assert_eq!(kept.slice(at, len).as_ref(), array.slice(range.start, len).as_ref());
                at += len;
            }
            assert_eq!(kept.len(), at);
            assert_eq!(select(&array, &[]).unwrap().len(), 0);
            if let Some(joined) = concat(&[array.slice(0, 20), array.slice(20, 25)]).unwrap() {
                assert_eq!(&joined, &array);
            } else {
                assert!(has_dictionary(array.data_type()));
            }
        }
    }
}
