//! Arrow arrays from Python values, of a type that is known by now.

use std::sync::Arc;

use arrow_array::builder::{
    BinaryBuilder, FixedSizeBinaryBuilder, LargeBinaryBuilder, LargeStringBuilder, StringBuilder,
};
use arrow_array::types::*;
use arrow_array::{
    ArrayRef, ArrowPrimitiveType, BooleanArray, FixedSizeListArray, LargeListArray, ListArray, MapArray,
    NullArray, OffsetSizeTrait, PrimitiveArray, StructArray,
};
use arrow_buffer::{NullBuffer, OffsetBuffer, i256};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{DataType, Fields, TimeUnit};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::pybacked::{PyBackedBytes, PyBackedStr};
use pyo3::types::{PyBool, PyDateTime, PyDelta, PyDict, PyFloat, PyInt, PyMapping};

use crate::error::invalid;
use crate::infer::{Cell, data_type as inferred};

/// The array of `cells`, which are the column `path`.
pub(crate) fn array(py: Python<'_>, path: &str, kind: &DataType, cells: &[Cell<'_>]) -> PyResult<ArrayRef> {
    use DataType as T;
    let b = Builder { py, path, kind, cells };
    Ok(match kind {
        T::Null => {
            if let Some(cell) = cells.iter().find(|c| !c.value.is_none()) {
                return Err(b.unfit(cell));
            }
            Arc::new(NullArray::new(cells.len()))
        }
        T::Boolean => Arc::new(BooleanArray::from(b.each(|cell| match cell.value.cast::<PyBool>() {
            Ok(value) => Ok(value.is_true()),
            Err(_) => Err(b.unfit(cell)),
        })?)),
        T::Int8 => b.ints::<Int8Type>()?,
        T::Int16 => b.ints::<Int16Type>()?,
        T::Int32 => b.ints::<Int32Type>()?,
        T::Int64 => b.ints::<Int64Type>()?,
        T::UInt8 => b.ints::<UInt8Type>()?,
        T::UInt16 => b.ints::<UInt16Type>()?,
        T::UInt32 => b.ints::<UInt32Type>()?,
        T::UInt64 => b.ints::<UInt64Type>()?,
        T::Float64 => b.primitive::<Float64Type>(|cell| b.float(cell))?,
        T::Float32 => b.primitive::<Float32Type>(|cell| Ok(b.float(cell)? as f32))?,
        T::Utf8 => {
            let values = b.each(|cell| b.text(cell))?;
            b.fits_32(values.iter().flatten().map(|v| v.len()))?;
            let mut out = StringBuilder::with_capacity(values.len(), 0);
            values.iter().for_each(|v| out.append_option(v.as_deref()));
            Arc::new(out.finish())
        }
        T::LargeUtf8 => {
            let mut out = LargeStringBuilder::new();
            b.each(|cell| b.text(cell))?.iter().for_each(|v| out.append_option(v.as_deref()));
            Arc::new(out.finish())
        }
        T::Binary => {
            let values = b.each(|cell| b.bytes(cell))?;
            b.fits_32(values.iter().flatten().map(|v| v.len()))?;
            let mut out = BinaryBuilder::with_capacity(values.len(), 0);
            values.iter().for_each(|v| out.append_option(v.as_deref()));
            Arc::new(out.finish())
        }
        T::LargeBinary => {
            let mut out = LargeBinaryBuilder::new();
            b.each(|cell| b.bytes(cell))?.iter().for_each(|v| out.append_option(v.as_deref()));
            Arc::new(out.finish())
        }
        T::FixedSizeBinary(size) => {
            let mut out = FixedSizeBinaryBuilder::with_capacity(cells.len(), *size);
            for (value, cell) in b.each(|cell| b.bytes(cell))?.iter().zip(cells) {
                match value {
                    Some(value) => out.append_value(value).map_err(|_| b.unfit(cell))?,
                    None => out.append_null(),
                }
            }
            Arc::new(out.finish())
        }
        T::Date32 => b.primitive::<Date32Type>(|cell| b.days(cell))?,
        T::Time64(TimeUnit::Microsecond) => b.primitive::<Time64MicrosecondType>(|cell| b.time(cell))?,
        T::Timestamp(TimeUnit::Microsecond, zone) => {
            let times = b.each(|cell| b.timestamp(cell, zone.is_some()))?;
            Arc::new(
                PrimitiveArray::<TimestampMicrosecondType>::from_iter(times).with_data_type(kind.clone()),
            )
        }
        T::Duration(TimeUnit::Microsecond) => {
            b.primitive::<DurationMicrosecondType>(|cell| match cell.value.cast::<PyDelta>() {
                Ok(delta) => micros(delta).map_err(|_| b.unfit(cell)),
                Err(_) => Err(b.unfit(cell)),
            })?
        }
        T::Decimal128(precision, scale) => {
            let parse =
                |cell: &Cell<'_>| b.unscaled(cell, *precision, *scale)?.parse().map_err(|_| b.unfit(cell));
            let values: Vec<Option<i128>> = b.each(parse)?;
            Arc::new(PrimitiveArray::<Decimal128Type>::from_iter(values).with_data_type(kind.clone()))
        }
        T::Decimal256(precision, scale) => {
            let parse = |cell: &Cell<'_>| {
                i256::from_string(&b.unscaled(cell, *precision, *scale)?).ok_or_else(|| b.unfit(cell))
            };
            let values: Vec<Option<i256>> = b.each(parse)?;
            Arc::new(PrimitiveArray::<Decimal256Type>::from_iter(values).with_data_type(kind.clone()))
        }
        T::List(item) => {
            let (items, offsets, nulls) = b.lists::<i32>(item.data_type())?;
            Arc::new(ListArray::try_new(item.clone(), offsets, items, nulls).map_err(|e| b.arrow(&e))?)
        }
        T::LargeList(item) => {
            let (items, offsets, nulls) = b.lists::<i64>(item.data_type())?;
            Arc::new(LargeListArray::try_new(item.clone(), offsets, items, nulls).map_err(|e| b.arrow(&e))?)
        }
        T::FixedSizeList(item, size) => {
            let mut all = Vec::new();
            for cell in cells {
                let before = all.len();
                if cell.value.is_none() {
                    all.extend((0..*size).map(|_| b.null(cell.row)));
                } else {
                    b.items(cell, &mut all)?;
                }
                if all.len() - before != *size as usize {
                    return Err(b.unfit(cell));
                }
            }
            let items = array(py, &format!("{path}.item"), item.data_type(), &all)?;
            let made =
                FixedSizeListArray::try_new_with_length(item.clone(), *size, items, b.nulls(), cells.len());
            Arc::new(made.map_err(|e| b.arrow(&e))?)
        }
        T::Map(entries, sorted) => {
            let (items, offsets, nulls) = b.maps(entries.data_type())?;
            Arc::new(
                MapArray::try_new(entries.clone(), offsets, items, nulls, *sorted)
                    .map_err(|e| b.arrow(&e))?,
            )
        }
        T::Struct(fields) => {
            if let Some(cell) = cells.iter().find(|c| !c.value.is_none() && c.value.cast::<PyDict>().is_err())
            {
                return Err(b.unfit(cell));
            }
            Arc::new(structs(py, path, fields, cells, b.nulls())?)
        }
        // What Python has no type for is built as what its values are, and then cast.
        other => {
            let natural = match other {
                T::Float16 => T::Float64,
                T::Timestamp(_, zone) => T::Timestamp(TimeUnit::Microsecond, zone.clone()),
                T::Date64 => T::Date32,
                T::Time32(_) | T::Time64(_) => T::Time64(TimeUnit::Microsecond),
                T::Duration(_) => T::Duration(TimeUnit::Microsecond),
                T::Decimal32(p, s) | T::Decimal64(p, s) => T::Decimal128(*p, *s),
                T::Utf8View => T::LargeUtf8,
                T::BinaryView => T::LargeBinary,
                T::Dictionary(_, value) => value.as_ref().clone(),
                _ => inferred(py, path, cells)?,
            };
            let plain = array(py, path, &natural, cells)?;
            let options = CastOptions { safe: false, ..CastOptions::default() };
            cast_with_options(&plain, other, &options).map_err(|e| b.arrow(&e))?
        }
    })
}

/// A struct of the fields, from dicts that have them as keys; keys that are not there are nulls.
pub(crate) fn structs(
    py: Python<'_>,
    path: &str,
    fields: &Fields,
    cells: &[Cell<'_>],
    nulls: Option<NullBuffer>,
) -> PyResult<StructArray> {
    for cell in cells {
        let Ok(dict) = cell.value.cast::<PyDict>() else { continue };
        let known = |key: &Bound<'_, PyAny>| fields.iter().any(|f| key.eq(f.name()).unwrap_or(false));
        if dict.len() > fields.len()
            && let Some(key) = dict.keys().iter().find(|key| !known(key))
        {
            return Err(invalid(py, format!("row {}: there is no column for the key {key:?}", cell.row)));
        }
    }
    let mut columns = Vec::with_capacity(fields.len());
    for field in fields {
        let inner = if path.is_empty() { field.name().clone() } else { format!("{path}.{}", field.name()) };
        let name = pyo3::types::PyString::new(py, field.name());
        let mut found = Vec::with_capacity(cells.len());
        let mut seen = 0;
        for cell in cells {
            let value = match cell.value.cast::<PyDict>() {
                Ok(dict) => dict.get_item(&name)?,
                Err(_) => None,
            };
            seen += usize::from(value.is_some());
            found.push(Cell::new(cell.row, value.unwrap_or_else(|| py.None().into_bound(py)))?);
        }
        if seen == 0 && !cells.is_empty() && !field.is_nullable() {
            return Err(invalid(py, format!("no row has the key {inner:?}")));
        }
        columns.push(array(py, &inner, field.data_type(), &found)?);
    }
    // Every key belongs to a column, unless some row has one in place of another.
    for cell in cells {
        let Ok(dict) = cell.value.cast::<PyDict>() else { continue };
        for key in dict.keys() {
            if !fields.iter().any(|f| key.eq(f.name()).unwrap_or(false)) {
                return Err(invalid(py, format!("row {}: there is no column for the key {key:?}", cell.row)));
            }
        }
    }
    StructArray::try_new_with_length(fields.clone(), columns, nulls, cells.len()).map_err(|e| {
        invalid(py, if path.is_empty() { e.to_string() } else { format!("column {path:?}: {e}") })
    })
}

struct Builder<'a, 'py> {
    py: Python<'py>,
    path: &'a str,
    kind: &'a DataType,
    cells: &'a [Cell<'py>],
}

impl<'py> Builder<'_, 'py> {
    fn unfit(&self, cell: &Cell<'_>) -> PyErr {
        let kind = cell.value.get_type().name().map(|n| n.to_string()).unwrap_or_default();
        let shown = cell.value.repr().map(|r| r.to_string()).unwrap_or_default();
        let shown: String =
            if shown.chars().count() > 40 { shown.chars().take(40).chain(['…']).collect() } else { shown };
        invalid(
            self.py,
            format!(
                "row {}, column {:?}: {shown} ({kind}) does not fit into {}",
                cell.row,
                self.path,
                pennon_convert::type_name(self.kind)
            ),
        )
    }

    fn arrow(&self, e: &arrow_schema::ArrowError) -> PyErr {
        invalid(self.py, format!("column {:?}: {e}", self.path))
    }

    fn null(&self, row: usize) -> Cell<'py> {
        Cell { row, value: self.py.None().into_bound(self.py) }
    }

    fn each<T>(&self, mut value: impl FnMut(&Cell<'py>) -> PyResult<T>) -> PyResult<Vec<Option<T>>> {
        self.cells.iter().map(|c| if c.value.is_none() { Ok(None) } else { value(c).map(Some) }).collect()
    }

    fn nulls(&self) -> Option<NullBuffer> {
        let valid = NullBuffer::from_iter(self.cells.iter().map(|c| !c.value.is_none()));
        (valid.null_count() > 0).then_some(valid)
    }

    fn primitive<T: ArrowPrimitiveType>(
        &self,
        value: impl FnMut(&Cell<'py>) -> PyResult<T::Native>,
    ) -> PyResult<ArrayRef> {
        Ok(Arc::new(PrimitiveArray::<T>::from_iter(self.each(value)?)))
    }

    fn ints<T: ArrowPrimitiveType>(&self) -> PyResult<ArrayRef>
    where
        T::Native: for<'a> FromPyObject<'a, 'py>,
    {
        self.primitive::<T>(|cell| {
            if cell.value.is_instance_of::<PyBool>() || !cell.value.is_instance_of::<PyInt>() {
                return Err(self.unfit(cell));
            }
            cell.value.extract::<T::Native>().map_err(|_| self.unfit(cell))
        })
    }

    /// A float, or an integer that a float holds exactly.
    fn float(&self, cell: &Cell<'_>) -> PyResult<f64> {
        if let Ok(value) = cell.value.cast::<PyFloat>() {
            return Ok(value.value());
        }
        if !cell.value.is_instance_of::<PyInt>() || cell.value.is_instance_of::<PyBool>() {
            return Err(self.unfit(cell));
        }
        let whole: i128 = cell.value.extract().map_err(|_| self.unfit(cell))?;
        if (whole as f64) as i128 == whole { Ok(whole as f64) } else { Err(self.unfit(cell)) }
    }

    fn text(&self, cell: &Cell<'_>) -> PyResult<PyBackedStr> {
        cell.value.extract().map_err(|_| self.unfit(cell))
    }

    fn bytes(&self, cell: &Cell<'_>) -> PyResult<PyBackedBytes> {
        cell.value.extract().map_err(|_| self.unfit(cell))
    }

    fn fits_32(&self, lens: impl Iterator<Item = usize>) -> PyResult<()> {
        let bytes: usize = lens.sum();
        if i32::try_from(bytes).is_ok() {
            return Ok(());
        }
        Err(invalid(
            self.py,
            format!(
                "column {:?}: {bytes} bytes in one batch of {}, whose offsets have 32 bits; write in smaller batches or give the column the type large_utf8 or large_binary",
                self.path,
                pennon_convert::type_name(self.kind)
            ),
        ))
    }

    fn days(&self, cell: &Cell<'_>) -> PyResult<i32> {
        if cell.value.is_instance_of::<PyDateTime>() {
            return Err(self.unfit(cell));
        }
        let ordinal = cell.value.call_method0(intern!(self.py, "toordinal")).map_err(|_| self.unfit(cell))?;
        Ok(ordinal.extract::<i32>()? - 719_163)
    }

    fn time(&self, cell: &Cell<'_>) -> PyResult<i64> {
        let part = |name: &str| {
            cell.value.getattr(name).and_then(|v| v.extract::<i64>()).map_err(|_| self.unfit(cell))
        };
        if cell.value.is_instance_of::<PyDateTime>() || part("microsecond").is_err() {
            return Err(self.unfit(cell));
        }
        let seconds = part("hour")? * 3600 + part("minute")? * 60 + part("second")?;
        Ok(seconds * 1_000_000 + part("microsecond")?)
    }

    fn timestamp(&self, cell: &Cell<'_>, zoned: bool) -> PyResult<i64> {
        let py = self.py;
        let value = &cell.value;
        let time = value.cast::<PyDateTime>().map_err(|_| self.unfit(cell))?;
        if !time.get_type().is(py.get_type::<PyDateTime>())
            && time.getattr("nanosecond").and_then(|n| n.extract::<i64>()).unwrap_or(0) != 0
        {
            return Err(invalid(
                py,
                format!(
                    "row {}, column {:?}: {value} has nanoseconds; give the column as an Arrow or NumPy array",
                    cell.row, self.path
                ),
            ));
        }
        if time.getattr(intern!(py, "tzinfo"))?.is_none() == zoned {
            return Err(self.unfit(cell));
        }
        let epoch = py.import("pennon._values")?.getattr(if zoned { "EPOCH_UTC" } else { "EPOCH" })?;
        let since = time.sub(epoch)?;
        micros(since.cast::<PyDelta>()?).map_err(|_| self.unfit(cell))
    }

    /// A decimal as its digits with the point moved `scale` places to the right.
    fn unscaled(&self, cell: &Cell<'_>, precision: u8, scale: i8) -> PyResult<String> {
        let py = self.py;
        let value = match cell.value.is_instance_of::<PyInt>() && !cell.value.is_instance_of::<PyBool>() {
            true => crate::infer::decimal_class(py)?.call1((&cell.value,))?,
            false => cell.value.clone(),
        };
        let parts = value.call_method0(intern!(py, "as_tuple")).map_err(|_| self.unfit(cell))?;
        let exponent: i64 = parts.getattr("exponent")?.extract().map_err(|_| self.unfit(cell))?;
        let digits: Vec<u8> = parts.getattr("digits")?.extract()?;
        let negative: u8 = parts.getattr("sign")?.extract()?;
        let mut text: String = digits.iter().map(|d| char::from(b'0' + d)).collect();
        let shift = exponent + i64::from(scale);
        if text.trim_start_matches('0').is_empty() {
            return Ok("0".into());
        }
        if shift >= 0 {
            if shift > 76 {
                return Err(self.unfit(cell));
            }
            text.extend(std::iter::repeat_n('0', shift as usize));
        } else {
            // What would be cut off must be zeros.
            let cut = usize::try_from(-shift).unwrap_or(usize::MAX).min(text.len());
            let tail = text.split_off(text.len() - cut);
            if tail.bytes().any(|d| d != b'0') {
                return Err(self.unfit(cell));
            }
        }
        let text = text.trim_start_matches('0');
        if text.len() > usize::from(precision) {
            return Err(self.unfit(cell));
        }
        let text = if text.is_empty() { "0" } else { text };
        Ok(if negative == 1 { format!("-{text}") } else { text.to_owned() })
    }

    /// Adds the items of a list.
    fn items(&self, cell: &Cell<'py>, into: &mut Vec<Cell<'py>>) -> PyResult<()> {
        let text = cell.value.is_instance_of::<pyo3::types::PyString>()
            || cell.value.is_instance_of::<pyo3::types::PyBytes>()
            || cell.value.is_instance_of::<PyDict>();
        if text {
            return Err(self.unfit(cell));
        }
        for item in cell.value.try_iter().map_err(|_| self.unfit(cell))? {
            into.push(Cell::new(cell.row, item?)?);
        }
        Ok(())
    }

    fn lists<O: OffsetSizeTrait>(
        &self,
        item: &DataType,
    ) -> PyResult<(ArrayRef, OffsetBuffer<O>, Option<NullBuffer>)> {
        let mut all = Vec::new();
        let mut lengths = Vec::with_capacity(self.cells.len());
        for cell in self.cells {
            let before = all.len();
            if !cell.value.is_none() {
                self.items(cell, &mut all)?;
            }
            lengths.push(all.len() - before);
        }
        self.count_items::<O>(all.len())?;
        let items = array(self.py, &format!("{}.item", self.path), item, &all)?;
        Ok((items, OffsetBuffer::from_lengths(lengths), self.nulls()))
    }

    fn count_items<O: OffsetSizeTrait>(&self, items: usize) -> PyResult<()> {
        match O::from_usize(items) {
            Some(_) => Ok(()),
            None => Err(invalid(self.py, format!("column {:?}: {items} items in one batch", self.path))),
        }
    }

    /// Maps from dicts, or from lists of pairs.
    fn maps(&self, entries: &DataType) -> PyResult<(StructArray, OffsetBuffer<i32>, Option<NullBuffer>)> {
        let DataType::Struct(fields) = entries else {
            return Err(invalid(self.py, "a map without entries"));
        };
        let (mut keys, mut values, mut lengths) = (Vec::new(), Vec::new(), Vec::new());
        for cell in self.cells {
            let before = keys.len();
            if !cell.value.is_none() {
                let pairs = match cell.value.cast::<PyMapping>() {
                    Ok(mapping) => mapping.items()?.into_any(),
                    Err(_) => cell.value.clone(),
                };
                for pair in pairs.try_iter().map_err(|_| self.unfit(cell))? {
                    let (key, value): (Bound<'py, PyAny>, Bound<'py, PyAny>) =
                        pair?.extract().map_err(|_| self.unfit(cell))?;
                    keys.push(Cell::new(cell.row, key)?);
                    values.push(Cell::new(cell.row, value)?);
                }
            }
            lengths.push(keys.len() - before);
        }
        self.count_items::<i32>(keys.len())?;
        let columns = vec![
            array(self.py, &format!("{}.key", self.path), fields[0].data_type(), &keys)?,
            array(self.py, &format!("{}.value", self.path), fields[1].data_type(), &values)?,
        ];
        let items = StructArray::try_new(fields.clone(), columns, None).map_err(|e| self.arrow(&e))?;
        Ok((items, OffsetBuffer::from_lengths(lengths), self.nulls()))
    }
}

fn micros(delta: &Bound<'_, PyDelta>) -> PyResult<i64> {
    let py = delta.py();
    let part = |name| delta.getattr(name).and_then(|v| v.extract::<i64>());
    let days = part(intern!(py, "days"))?;
    let seconds = part(intern!(py, "seconds"))?;
    let rest = seconds * 1_000_000 + part(intern!(py, "microseconds"))?;
    let whole = days.checked_mul(86_400_000_000).and_then(|d| d.checked_add(rest));
    whole.ok_or_else(|| invalid(py, "a timedelta beyond 64 bits of microseconds"))
}
