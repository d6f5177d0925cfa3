//! Row numbers, however they are given.

use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;
use pyo3::buffer::{Element, ElementType, PyUntypedBuffer};
use pyo3::exceptions::PyTypeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyByteArray, PyBytes, PyRange, PySlice, PyString};

use crate::capsule;
use crate::error::{invalid, no_row};

/// A file as far as row numbers are concerned.
pub(crate) struct Rows<'a> {
    pub(crate) name: &'a str,
    pub(crate) count: u64,
}

impl Rows<'_> {
    fn missing(&self, py: Python<'_>, row: impl std::fmt::Display) -> PyErr {
        no_row(py, format!("row {row} is out of range: {} has {} rows", self.name, self.count))
    }

    fn admit<T: TryInto<u64> + Copy + std::fmt::Display>(&self, py: Python<'_>, row: T) -> PyResult<u64> {
        row.try_into().ok().filter(|row| *row < self.count).ok_or_else(|| self.missing(py, row))
    }

    /// One row as a list would take it: from the end if negative.
    pub(crate) fn one(&self, row: &Bound<'_, PyAny>) -> PyResult<u64> {
        let py = row.py();
        let number = row.call_method0(intern!(py, "__index__"))?;
        let from = |n: i64| if n < 0 { i128::from(n) + i128::from(self.count) } else { i128::from(n) };
        let found = number.extract().ok().map(from).and_then(|n| u64::try_from(n).ok());
        found.filter(|n| *n < self.count).ok_or_else(|| self.missing(py, number))
    }

    /// The rows of a slice as a list would take it: first, step, how many.
    pub(crate) fn slice(&self, slice: &Bound<'_, PySlice>) -> PyResult<(u64, isize, usize)> {
        let count = isize::try_from(self.count).unwrap_or(isize::MAX);
        let i = slice.indices(count)?;
        Ok((i.start.max(0) as u64, i.step, i.slicelength))
    }

    /// Rows in the order given, repeats kept. All must be there; none counts from the end.
    pub(crate) fn all(&self, rows: &Bound<'_, PyAny>) -> PyResult<Vec<u64>> {
        let py = rows.py();
        if let Ok(slice) = rows.cast::<PySlice>() {
            let (start, step, len) = self.slice(slice)?;
            return Ok((0..len as i64).map(|i| (start as i64 + i * step as i64) as u64).collect());
        }
        if rows.is_instance_of::<PyString>()
            || rows.is_instance_of::<PyBytes>()
            || rows.is_instance_of::<PyByteArray>()
        {
            return Err(wanted(rows));
        }
        if rows.is_instance_of::<PyRange>() {
            return self.iterated(rows);
        }
        if let Ok(view) = PyUntypedBuffer::get(rows) {
            return self.view(py, view, rows);
        }
        if rows.hasattr(intern!(py, "__arrow_c_array__"))? {
            return self.array(py, &capsule::import_array(rows)?.1);
        }
        if rows.hasattr(intern!(py, "__arrow_c_stream__"))? {
            let mut all = Vec::new();
            for array in capsule::import_stream(rows)? {
                all.extend(self.array(py, &array.map_err(|e| invalid(py, e.to_string()))?)?);
            }
            return Ok(all);
        }
        self.iterated(rows)
    }

    fn iterated(&self, rows: &Bound<'_, PyAny>) -> PyResult<Vec<u64>> {
        let py = rows.py();
        let mut all = Vec::with_capacity(rows.len().unwrap_or(0));
        for row in rows.try_iter().map_err(|_| wanted(rows))? {
            let row = row?;
            match row.extract::<u64>() {
                Ok(n) if n < self.count && !row.is_instance_of::<PyBool>() => all.push(n),
                _ if row.is_instance_of::<PyBool>() || !row.hasattr(intern!(py, "__index__"))? => {
                    return Err(PyTypeError::new_err(format!(
                        "a row number is an integer, found {} at position {}",
                        row.get_type().name()?,
                        all.len()
                    )));
                }
                _ => return Err(self.missing(py, row)),
            }
        }
        Ok(all)
    }

    /// Row numbers in memory, as of a NumPy array.
    fn view(&self, py: Python<'_>, view: PyUntypedBuffer, rows: &Bound<'_, PyAny>) -> PyResult<Vec<u64>> {
        if view.dimensions() != 1 {
            return Err(PyTypeError::new_err(format!(
                "row numbers come in one dimension, found {}",
                view.dimensions()
            )));
        }
        if view.item_count() == 0 {
            return Ok(Vec::new());
        }
        match ElementType::from_format(view.format()) {
            ElementType::SignedInteger { bytes: 1 } => self.typed::<i8>(py, view),
            ElementType::SignedInteger { bytes: 2 } => self.typed::<i16>(py, view),
            ElementType::SignedInteger { bytes: 4 } => self.typed::<i32>(py, view),
            ElementType::SignedInteger { bytes: 8 } => self.typed::<i64>(py, view),
            ElementType::UnsignedInteger { bytes: 1 } => self.typed::<u8>(py, view),
            ElementType::UnsignedInteger { bytes: 2 } => self.typed::<u16>(py, view),
            ElementType::UnsignedInteger { bytes: 4 } => self.typed::<u32>(py, view),
            ElementType::UnsignedInteger { bytes: 8 } => self.typed::<u64>(py, view),
            _ => self.iterated(rows),
        }
    }

    fn typed<T>(&self, py: Python<'_>, view: PyUntypedBuffer) -> PyResult<Vec<u64>>
    where
        T: Element + TryInto<u64> + std::fmt::Display,
    {
        let numbers = view.into_typed::<T>()?.to_vec(py)?;
        numbers.into_iter().map(|n| self.admit(py, n)).collect()
    }

    fn array(&self, py: Python<'_>, array: &ArrayRef) -> PyResult<Vec<u64>> {
        if !array.data_type().is_integer() {
            return Err(PyTypeError::new_err(format!(
                "row numbers are integers, found an array of {}",
                pennon_convert::type_name(array.data_type())
            )));
        }
        if array.null_count() > 0 {
            return Err(invalid(py, format!("{} of the row numbers are null", array.null_count())));
        }
        // A signed type is looked at as such, so that the message names what was asked.
        if array.data_type().is_signed_integer() {
            let wide = arrow_cast::cast(array, &DataType::Int64).map_err(|e| invalid(py, e.to_string()))?;
            let wide = wide.as_primitive::<arrow_array::types::Int64Type>();
            return wide.values().iter().map(|n| self.admit(py, *n)).collect();
        }
        let wide = arrow_cast::cast(array, &DataType::UInt64).map_err(|e| invalid(py, e.to_string()))?;
        wide.as_primitive::<UInt64Type>().values().iter().map(|n| self.admit(py, *n)).collect()
    }
}

fn wanted(rows: &Bound<'_, PyAny>) -> PyErr {
    PyTypeError::new_err(format!(
        "expected row numbers as a list, range, slice, NumPy or Arrow array, found {}",
        rows.get_type()
    ))
}
