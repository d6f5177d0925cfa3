//! A file's statistics as Python values.

use arrow_schema::Field;
use pennon_file::{RowsStatistics, ValueBound};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::error::{Raise, unsupported};
use crate::file::Shared;
use crate::rows;

pub(crate) fn statistics<'py>(py: Python<'py>, shared: &Shared) -> PyResult<Bound<'py, PyAny>> {
    let Some(file) = shared.reader.as_lance() else {
        let format = shared.reader.format().title();
        return Err(unsupported(
            py,
            format!("{}: statistics are those of Lance files, this is {format}", shared.name()),
        ));
    };
    let columns = py.detach(|| file.statistics()).raise(py)?;
    let all = PyList::empty(py);
    for column in &columns {
        let dict = PyDict::new(py);
        dict.set_item("path", &column.path)?;
        dict.set_item("type", pennon_convert::statistics_type(file, column))?;
        rows_into(py, &column.file, &dict)?;
        dict.set_item("distinct", column.distinct)?;
        dict.set_item("bytes", column.bytes)?;
        dict.set_item("zone_rows", column.zone_rows)?;
        let zones = PyList::empty(py);
        for zone in &column.zones {
            let of_zone = PyDict::new(py);
            of_zone.set_item("first_row", zone.first_row)?;
            of_zone.set_item("num_rows", zone.num_rows)?;
            rows_into(py, zone, &of_zone)?;
            zones.append(of_zone)?;
        }
        dict.set_item("zones", zones)?;
        all.append(dict)?;
    }
    Ok(all.into_any())
}

fn rows_into(py: Python<'_>, rows: &RowsStatistics, dict: &Bound<'_, PyDict>) -> PyResult<()> {
    dict.set_item("value_count", rows.values)?;
    dict.set_item("null_count", rows.nulls)?;
    dict.set_item("nan_count", rows.nans)?;
    for (name, bound) in [("min", &rows.min), ("max", &rows.max)] {
        dict.set_item(name, bound.as_ref().map(|bound| value(py, bound)).transpose()?)?;
        dict.set_item(format!("{name}_exact"), bound.as_ref().map(|bound| bound.exact))?;
    }
    Ok(())
}

fn value<'py>(py: Python<'py>, bound: &ValueBound) -> PyResult<Bound<'py, PyAny>> {
    rows::one(py, &bound.value, &Field::new("bound", bound.value.data_type().clone(), true))
}
