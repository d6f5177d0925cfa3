//! Columns from arrays in memory: NumPy arrays and whatever else has the buffer protocol.
//!
//! Numbers are taken as they lie in memory, without a copy where they are contiguous; two and more dimensions become fixed-size
//! lists. NumPy itself is never imported: an array brings its methods along.

use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, FixedSizeListArray, make_array};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer};
use arrow_data::ArrayData;
use arrow_schema::{DataType, Field, TimeUnit};
use pyo3::buffer::PyUntypedBuffer;
use pyo3::intern;
use pyo3::prelude::*;

use crate::capsule;
use crate::error::{invalid, unsupported};

/// The column in `object`, if its memory says what it is; `None` for objects that have to be looked at value by value.
pub(crate) fn column(py: Python<'_>, name: &str, object: &Bound<'_, PyAny>) -> PyResult<Option<ArrayRef>> {
    let kind: String = match object.getattr(intern!(py, "dtype")) {
        Ok(dtype) => dtype.getattr(intern!(py, "str")).and_then(|s| s.extract()).unwrap_or_default(),
        Err(_) => String::new(),
    };
    // Masked arrays hide values that their memory still has; objects and texts are no plain memory.
    if object.hasattr(intern!(py, "mask"))? || kind.contains(['O', 'U', 'S', 'V', 'c']) {
        return Ok(None);
    }
    if let Some(time) = kind.strip_prefix(['<', '>', '=', '|']).filter(|k| k.starts_with(['M', 'm'])) {
        return times(py, name, object, time).map(Some);
    }
    if kind.starts_with('>') {
        let native = object.getattr("dtype")?.call_method1("newbyteorder", ("=",))?;
        return column(py, name, &object.call_method1("astype", (native,))?);
    }
    let Ok(view) = PyUntypedBuffer::get(object) else { return Ok(None) };
    if !view.is_c_contiguous() {
        let copied = match object.hasattr(intern!(py, "copy"))? {
            true => object.call_method0(intern!(py, "copy"))?,
            false => return Ok(None),
        };
        return match PyUntypedBuffer::get(&copied)?.is_c_contiguous() {
            true => column(py, name, &copied),
            false => Err(unsupported(py, format!("column {name:?}: an array that is not contiguous"))),
        };
    }
    let shape: Vec<usize> = view.shape().to_vec();
    if shape.is_empty() {
        return Err(invalid(py, format!("column {name:?}: a single value; expected one for each row")));
    }
    let Some(data_type) = number_type(&view) else { return Ok(None) };
    let count: usize = shape.iter().product();
    let memory = capsule::share(view).unwrap_or_else(|| Buffer::from(Vec::<u8>::new()));
    let mut values: ArrayRef = if data_type == DataType::Boolean {
        Arc::new(BooleanArray::from(BooleanBuffer::collect_bool(count, |i| memory[i] != 0)))
    } else {
        let data = ArrayData::builder(data_type).len(count).add_buffer(memory).align_buffers(true).build();
        make_array(data.map_err(|e| invalid(py, format!("column {name:?}: {e}")))?)
    };
    // From the innermost dimension out.
    for at in (1..shape.len()).rev() {
        let width = i32::try_from(shape[at])
            .map_err(|_| invalid(py, format!("column {name:?}: {} values a row", shape[at])))?;
        let lists = shape[..at].iter().product();
        let item = Arc::new(Field::new("item", values.data_type().clone(), true));
        let made = FixedSizeListArray::try_new_with_length(item, width, values, None, lists);
        values = Arc::new(made.map_err(|e| invalid(py, format!("column {name:?}: {e}")))?);
    }
    Ok(Some(values))
}

fn number_type(view: &PyUntypedBuffer) -> Option<DataType> {
    let format = view.format().to_bytes();
    let code = format
        .strip_prefix(b"@")
        .or(format.strip_prefix(b"="))
        .or(format.strip_prefix(b"<"))
        .unwrap_or(format);
    Some(match (code, view.item_size()) {
        (b"?", 1) => DataType::Boolean,
        (b"e", 2) => DataType::Float16,
        (b"f", 4) => DataType::Float32,
        (b"d", 8) => DataType::Float64,
        (b"b" | b"h" | b"i" | b"l" | b"q", 1) => DataType::Int8,
        (b"b" | b"h" | b"i" | b"l" | b"q", 2) => DataType::Int16,
        (b"b" | b"h" | b"i" | b"l" | b"q", 4) => DataType::Int32,
        (b"b" | b"h" | b"i" | b"l" | b"q", 8) => DataType::Int64,
        (b"B" | b"H" | b"I" | b"L" | b"Q", 1) => DataType::UInt8,
        (b"B" | b"H" | b"I" | b"L" | b"Q", 2) => DataType::UInt16,
        (b"B" | b"H" | b"I" | b"L" | b"Q", 4) => DataType::UInt32,
        (b"B" | b"H" | b"I" | b"L" | b"Q", 8) => DataType::UInt64,
        _ => return None,
    })
}

/// `datetime64` and `timedelta64`: integers of which one means "not a time".
fn times(py: Python<'_>, name: &str, object: &Bound<'_, PyAny>, kind: &str) -> PyResult<ArrayRef> {
    let is_time = kind.starts_with('M');
    let unit = match kind.trim_start_matches(['M', 'm', '8']) {
        "[ms]" => TimeUnit::Millisecond,
        "[us]" => TimeUnit::Microsecond,
        "[ns]" => TimeUnit::Nanosecond,
        _ => TimeUnit::Second,
    };
    let days = kind == "M8[D]";
    // Other units (hours, weeks) are turned into seconds by the array itself.
    let object = match unit == TimeUnit::Second && !days && !kind.ends_with("[s]") {
        true => object.call_method1("astype", (if is_time { "<M8[s]" } else { "<m8[s]" },))?,
        false => object.clone(),
    };
    let numbers = object.call_method1("astype", ("<i8",))?;
    let Some(numbers) = column(py, name, &numbers)? else {
        return Err(unsupported(py, format!("column {name:?}: an array of {kind}")));
    };
    let data = numbers.to_data();
    if !matches!(data.data_type(), DataType::Int64) {
        return Err(unsupported(py, format!("column {name:?}: times in more than one dimension")));
    }
    let values: &[i64] = data.buffer::<i64>(0);
    let valid = NullBuffer::from_iter(values.iter().map(|v| *v != i64::MIN));
    let nulls = (valid.null_count() > 0).then_some(valid);
    if days {
        let days = values.iter().map(|v| i32::try_from(*v).unwrap_or(0)).collect::<Vec<_>>();
        let fits = values.iter().all(|v| *v == i64::MIN || i32::try_from(*v).is_ok());
        if !fits {
            return Err(invalid(py, format!("column {name:?}: days that do not fit into date32")));
        }
        return Ok(Arc::new(arrow_array::Date32Array::new(days.into(), nulls)));
    }
    let data_type = if is_time { DataType::Timestamp(unit, None) } else { DataType::Duration(unit) };
    let made = data.into_builder().data_type(data_type).nulls(nulls).build();
    Ok(make_array(made.map_err(|e| invalid(py, format!("column {name:?}: {e}")))?))
}
