//! Arrow values as Python values, without pyarrow and equal to what its `to_pylist()` gives.
//!
//! ```text
//! date32 date64      datetime.date              list, large_list, view, fixed_size_list   list
//! time32 time64      datetime.time              map                                       list of (key, value)
//! timestamp          datetime.datetime          struct                                    dict
//! duration           datetime.timedelta         dictionary, run_end_encoded               the value
//! decimal            decimal.Decimal            interval[month_day_nano]                  pennon.MonthDayNano
//! ```
//!
//! What Python's type cannot hold comes as the integer that is stored, in the unit of its type: points in time and dates outside
//! of the years 1 to 9999, and timestamps and durations finer than a microsecond; these come as pandas' types where pandas is
//! installed, as pyarrow has it. Times of day lose what is finer than a microsecond, with pyarrow too. Extension types come as
//! what they are stored as, except `arrow.uuid` and `arrow.bool8`.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, ArrayRef, OffsetSizeTrait, RecordBatch, UnionArray};
use arrow_schema::{DataType, Field, IntervalUnit, Schema, TimeUnit};
use pyo3::exceptions::PyOverflowError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{
    PyBool, PyBytes, PyDate, PyDelta, PyDict, PyFloat, PyInt, PyList, PyModule, PyNone, PyString, PyTime,
    PyTuple, PyType,
};

use crate::error::unsupported;

type Values<'py> = Vec<Bound<'py, PyAny>>;

/// Names of columns as keys: the second of a name is `name#2`.
pub(crate) fn names(schema: &Schema) -> Vec<String> {
    keys(schema.fields().iter().map(|f| f.name().as_str()))
}

fn keys<'a>(names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut seen = HashMap::<&str, usize>::new();
    let mut keys = Vec::new();
    for name in names {
        let count = seen.entry(name).or_default();
        *count += 1;
        keys.push(if *count == 1 { name.to_owned() } else { format!("{name}#{count}") });
    }
    keys
}

/// The rows of a batch.
pub(crate) fn dicts<'py>(py: Python<'py>, batch: &RecordBatch) -> PyResult<Vec<Bound<'py, PyDict>>> {
    let rows: Vec<_> = (0..batch.num_rows()).map(|_| PyDict::new(py)).collect();
    let schema = batch.schema();
    for ((name, field), column) in names(&schema).into_iter().zip(schema.fields()).zip(batch.columns()) {
        let name = PyString::new(py, &name);
        for (row, value) in rows.iter().zip(values(py, column, field)?) {
            row.set_item(&name, value)?;
        }
    }
    Ok(rows)
}

/// The value of an array of one.
pub(crate) fn one<'py>(py: Python<'py>, array: &ArrayRef, field: &Field) -> PyResult<Bound<'py, PyAny>> {
    let found = values(py, array, field)?.into_iter().next();
    found.ok_or_else(|| unsupported(py, "an array without a value"))
}

fn none(py: Python<'_>) -> Bound<'_, PyAny> {
    PyNone::get(py).to_owned().into_any()
}

/// Values of an array one by one, nulls aside.
fn each<'py>(
    py: Python<'py>,
    array: &dyn Array,
    mut value: impl FnMut(usize) -> PyResult<Bound<'py, PyAny>>,
) -> PyResult<Values<'py>> {
    let nulls = array.nulls();
    (0..array.len())
        .map(|i| if nulls.is_some_and(|n| n.is_null(i)) { Ok(none(py)) } else { value(i) })
        .collect()
}

/// All values of an array.
pub(crate) fn values<'py>(py: Python<'py>, array: &ArrayRef, field: &Field) -> PyResult<Values<'py>> {
    use DataType as T;
    macro_rules! ints {
        ($kind:ty) => {{
            let a = array.as_primitive::<$kind>();
            each(py, a, |i| Ok(PyInt::new(py, a.value(i)).into_any()))
        }};
    }
    macro_rules! decimals {
        ($kind:ty) => {{
            let a = array.as_primitive::<$kind>();
            let class = decimal(py)?;
            each(py, a, |i| class.call1((a.value_as_string(i),)))
        }};
    }
    macro_rules! clock {
        ($kind:ty, $as:expr) => {{
            let a = array.as_primitive::<$kind>();
            let to = $as;
            each(py, a, |i| to(i64::from(a.value(i))))
        }};
    }
    let extension = field.metadata().get("ARROW:extension:name").map(String::as_str);
    match array.data_type() {
        T::Null => Ok((0..array.len()).map(|_| none(py)).collect()),
        T::Boolean => {
            let a = array.as_boolean();
            each(py, a, |i| Ok(PyBool::new(py, a.value(i)).to_owned().into_any()))
        }
        T::Int8 if extension == Some("arrow.bool8") => {
            let a = array.as_primitive::<Int8Type>();
            each(py, a, |i| Ok(PyBool::new(py, a.value(i) != 0).to_owned().into_any()))
        }
        T::Int8 => ints!(Int8Type),
        T::Int16 => ints!(Int16Type),
        T::Int32 => ints!(Int32Type),
        T::Int64 => ints!(Int64Type),
        T::UInt8 => ints!(UInt8Type),
        T::UInt16 => ints!(UInt16Type),
        T::UInt32 => ints!(UInt32Type),
        T::UInt64 => ints!(UInt64Type),
        T::Float16 => {
            let a = array.as_primitive::<Float16Type>();
            each(py, a, |i| Ok(PyFloat::new(py, a.value(i).to_f64()).into_any()))
        }
        T::Float32 => {
            let a = array.as_primitive::<Float32Type>();
            each(py, a, |i| Ok(PyFloat::new(py, f64::from(a.value(i))).into_any()))
        }
        T::Float64 => {
            let a = array.as_primitive::<Float64Type>();
            each(py, a, |i| Ok(PyFloat::new(py, a.value(i)).into_any()))
        }
        T::Decimal32(_, _) => decimals!(Decimal32Type),
        T::Decimal64(_, _) => decimals!(Decimal64Type),
        T::Decimal128(_, _) => decimals!(Decimal128Type),
        T::Decimal256(_, _) => decimals!(Decimal256Type),
        T::Utf8 => {
            let a = array.as_string::<i32>();
            each(py, a, |i| Ok(PyString::new(py, a.value(i)).into_any()))
        }
        T::LargeUtf8 => {
            let a = array.as_string::<i64>();
            each(py, a, |i| Ok(PyString::new(py, a.value(i)).into_any()))
        }
        T::Utf8View => {
            let a = array.as_string_view();
            each(py, a, |i| Ok(PyString::new(py, a.value(i)).into_any()))
        }
        T::Binary => {
            let a = array.as_binary::<i32>();
            each(py, a, |i| Ok(PyBytes::new(py, a.value(i)).into_any()))
        }
        T::LargeBinary => {
            let a = array.as_binary::<i64>();
            each(py, a, |i| Ok(PyBytes::new(py, a.value(i)).into_any()))
        }
        T::BinaryView => {
            let a = array.as_binary_view();
            each(py, a, |i| Ok(PyBytes::new(py, a.value(i)).into_any()))
        }
        T::FixedSizeBinary(16) if extension == Some("arrow.uuid") => {
            static UUID: PyOnceLock<Py<PyType>> = PyOnceLock::new();
            let class = UUID.import(py, "uuid", "UUID")?;
            let a = array.as_fixed_size_binary();
            each(py, a, |i| class.call1((py.None(), PyBytes::new(py, a.value(i)))))
        }
        T::FixedSizeBinary(_) => {
            let a = array.as_fixed_size_binary();
            each(py, a, |i| Ok(PyBytes::new(py, a.value(i)).into_any()))
        }
        T::Date32 => clock!(Date32Type, |days| date(py, days, days)),
        T::Date64 => clock!(Date64Type, |ms: i64| date(py, ms.div_euclid(86_400_000), ms)),
        T::Time32(TimeUnit::Second) => clock!(Time32SecondType, |v| time(py, v, 1_000_000_000)),
        T::Time32(_) => clock!(Time32MillisecondType, |v| time(py, v, 1_000_000)),
        T::Time64(TimeUnit::Microsecond) => clock!(Time64MicrosecondType, |v| time(py, v, 1000)),
        T::Time64(_) => clock!(Time64NanosecondType, |v| time(py, v, 1)),
        T::Timestamp(unit, zone) => {
            let to = Timestamps::new(py, *unit, zone.as_deref())?;
            match unit {
                TimeUnit::Second => clock!(TimestampSecondType, |v| to.value(v)),
                TimeUnit::Millisecond => clock!(TimestampMillisecondType, |v| to.value(v)),
                TimeUnit::Microsecond => clock!(TimestampMicrosecondType, |v| to.value(v)),
                TimeUnit::Nanosecond => clock!(TimestampNanosecondType, |v| to.value(v)),
            }
        }
        T::Duration(unit) => match unit {
            TimeUnit::Second => clock!(DurationSecondType, |v| duration(py, v, *unit)),
            TimeUnit::Millisecond => clock!(DurationMillisecondType, |v| duration(py, v, *unit)),
            TimeUnit::Microsecond => clock!(DurationMicrosecondType, |v| duration(py, v, *unit)),
            TimeUnit::Nanosecond => clock!(DurationNanosecondType, |v| duration(py, v, *unit)),
        },
        T::Interval(IntervalUnit::YearMonth) => ints!(IntervalYearMonthType),
        T::Interval(IntervalUnit::DayTime) => {
            let a = array.as_primitive::<IntervalDayTimeType>();
            each(py, a, |i| {
                let v = a.value(i);
                Ok(PyTuple::new(py, [v.days, v.milliseconds])?.into_any())
            })
        }
        T::Interval(IntervalUnit::MonthDayNano) => {
            static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
            let class = CLASS.import(py, "pennon._values", "MonthDayNano")?;
            let a = array.as_primitive::<IntervalMonthDayNanoType>();
            each(py, a, |i| {
                let v = a.value(i);
                class.call1((v.months, v.days, v.nanoseconds))
            })
        }
        T::List(item) => list::<i32>(py, array, item),
        T::LargeList(item) => list::<i64>(py, array, item),
        T::ListView(item) => {
            let a = array.as_list_view::<i32>();
            each(py, a, |i| Ok(PyList::new(py, values(py, &a.value(i), item)?)?.into_any()))
        }
        T::LargeListView(item) => {
            let a = array.as_list_view::<i64>();
            each(py, a, |i| Ok(PyList::new(py, values(py, &a.value(i), item)?)?.into_any()))
        }
        T::FixedSizeList(item, size) => {
            let a = array.as_fixed_size_list();
            let size = usize::try_from(*size).unwrap_or(0);
            let items = values(py, a.values(), item)?;
            each(py, a, |i| Ok(PyList::new(py, &items[i * size..(i + 1) * size])?.into_any()))
        }
        T::Map(_, _) => {
            let a = array.as_map();
            let (first, last) = (a.offsets()[0] as usize, a.offsets()[a.len()] as usize);
            let entries = a.entries().slice(first, last - first);
            let DataType::Struct(fields) = entries.data_type() else {
                return Err(unsupported(py, "a map without entries"));
            };
            let pairs = values(py, entries.column(0), &fields[0])?.into_iter();
            let pairs = pairs.zip(values(py, entries.column(1), &fields[1])?);
            let pairs = pairs.map(|(k, v)| PyTuple::new(py, [k, v])).collect::<PyResult<Vec<_>>>()?;
            let at = |i: usize| a.offsets()[i] as usize - first;
            each(py, a, |i| Ok(PyList::new(py, &pairs[at(i)..at(i + 1)])?.into_any()))
        }
        T::Struct(fields) => {
            let a = array.as_struct();
            let names = keys(fields.iter().map(|f| f.name().as_str()));
            let names: Vec<_> = names.iter().map(|n| PyString::new(py, n)).collect();
            let columns = fields.iter().zip(a.columns()).map(|(f, c)| values(py, c, f));
            let columns = columns.collect::<PyResult<Vec<_>>>()?;
            each(py, a, |i| {
                let dict = PyDict::new(py);
                for (name, column) in names.iter().zip(&columns) {
                    dict.set_item(name, &column[i])?;
                }
                Ok(dict.into_any())
            })
        }
        T::Dictionary(_, kind) => {
            let a = array.as_any_dictionary();
            let items = values(py, a.values(), &Field::new("", kind.as_ref().clone(), true))?;
            let keys =
                arrow_cast::cast(a.keys(), &DataType::Int64).map_err(|e| unsupported(py, e.to_string()))?;
            let keys = keys.as_primitive::<Int64Type>();
            // A key under a null means nothing and may be anything.
            each(py, a.keys(), |i| {
                let item = usize::try_from(keys.value(i)).ok().and_then(|key| items.get(key));
                Ok(item.cloned().unwrap_or_else(|| none(py)))
            })
        }
        T::RunEndEncoded(_, item) => {
            let plain =
                arrow_cast::cast(array, item.data_type()).map_err(|e| unsupported(py, e.to_string()))?;
            values(py, &plain, item)
        }
        T::Union(fields, _) => {
            let a: &UnionArray = array.as_union();
            let of = |i: usize| fields.iter().find(|(id, _)| *id == a.type_id(i)).map(|(_, f)| f.clone());
            (0..a.len())
                .map(|i| of(i).map_or_else(|| Ok(none(py)), |field| one(py, &a.value(i), &field)))
                .collect()
        }
    }
}

fn list<'py, O: OffsetSizeTrait>(
    py: Python<'py>,
    array: &ArrayRef,
    item: &Arc<Field>,
) -> PyResult<Values<'py>> {
    let a = array.as_list::<O>();
    let first = a.offsets()[0].as_usize();
    let last = a.offsets()[a.len()].as_usize();
    let items = values(py, &a.values().slice(first, last - first), item)?;
    let at = |i: usize| a.offsets()[i].as_usize() - first;
    each(py, a, |i| Ok(PyList::new(py, &items[at(i)..at(i + 1)])?.into_any()))
}

fn decimal(py: Python<'_>) -> PyResult<&Bound<'_, PyType>> {
    static DECIMAL: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    DECIMAL.import(py, "decimal", "Decimal")
}

/// pandas, if it is installed: its types hold nanoseconds.
fn pandas(py: Python<'_>) -> PyResult<Option<&Bound<'_, PyModule>>> {
    static PANDAS: PyOnceLock<Option<Py<PyModule>>> = PyOnceLock::new();
    crate::wrap::installed(py, "pandas", &PANDAS)
}

/// `value`, or the integer that is stored where Python's type does not reach.
fn or_stored<'py>(
    py: Python<'py>,
    value: PyResult<Bound<'py, PyAny>>,
    stored: i64,
) -> PyResult<Bound<'py, PyAny>> {
    match value {
        Err(e) if e.is_instance_of::<PyOverflowError>(py) => Ok(PyInt::new(py, stored).into_any()),
        other => other,
    }
}

/// A span of time as days, seconds and microseconds; an `OverflowError` where `timedelta` ends.
fn delta(py: Python<'_>, micros: i64) -> PyResult<Bound<'_, PyDelta>> {
    let days = micros.div_euclid(86_400_000_000);
    let rest = micros.rem_euclid(86_400_000_000);
    let days = i32::try_from(days).map_err(|_| PyOverflowError::new_err("days"))?;
    PyDelta::new(py, days, (rest / 1_000_000) as i32, (rest % 1_000_000) as i32, false)
}

fn date(py: Python<'_>, days: i64, stored: i64) -> PyResult<Bound<'_, PyAny>> {
    // 1970-01-01 is day 719,163 counted from 0001-01-01 as day 1.
    let value = match days.checked_add(719_163).filter(|n| (1..=3_652_059).contains(n)) {
        Some(ordinal) => py.get_type::<PyDate>().call_method1("fromordinal", (ordinal,)),
        None => Err(PyOverflowError::new_err("date")),
    };
    or_stored(py, value, stored)
}

/// A time of day. What is finer than a microsecond is cut off, as pyarrow does.
fn time(py: Python<'_>, value: i64, nanos_per_unit: i64) -> PyResult<Bound<'_, PyAny>> {
    let nanos = value.checked_mul(nanos_per_unit).filter(|n| (0..86_400_000_000_000).contains(n));
    let Some(nanos) = nanos else { return Ok(PyInt::new(py, value).into_any()) };
    let (seconds, micros) = (nanos / 1_000_000_000, nanos % 1_000_000_000 / 1000);
    let (hour, minute, second) = ((seconds / 3600) as u8, (seconds / 60 % 60) as u8, (seconds % 60) as u8);
    Ok(PyTime::new(py, hour, minute, second, micros as u32, None)?.into_any())
}

/// Microseconds of a value in `unit`: `None` if there are too many, or a finer part.
fn micros(value: i64, unit: TimeUnit) -> Option<i64> {
    match unit {
        TimeUnit::Second => value.checked_mul(1_000_000),
        TimeUnit::Millisecond => value.checked_mul(1000),
        TimeUnit::Microsecond => Some(value),
        TimeUnit::Nanosecond => (value % 1000 == 0).then_some(value / 1000),
    }
}

fn duration(py: Python<'_>, value: i64, unit: TimeUnit) -> PyResult<Bound<'_, PyAny>> {
    match micros(value, unit) {
        Some(micros) => or_stored(py, delta(py, micros).map(Bound::into_any), value),
        None => match pandas(py)? {
            Some(pandas) if unit == TimeUnit::Nanosecond => pandas.call_method1("Timedelta", (value, "ns")),
            _ => Ok(PyInt::new(py, value).into_any()),
        },
    }
}

/// Points in time of one type.
struct Timestamps<'py> {
    py: Python<'py>,
    unit: TimeUnit,
    /// 1970-01-01T00:00:00, in UTC if there is a zone.
    epoch: Bound<'py, PyAny>,
    zone: Option<Bound<'py, PyAny>>,
}

impl<'py> Timestamps<'py> {
    fn new(py: Python<'py>, unit: TimeUnit, zone: Option<&str>) -> PyResult<Self> {
        let values = py.import("pennon._values")?;
        let zone = zone.map(|name| values.call_method1("zone", (name,))).transpose()?;
        let epoch = values.getattr(if zone.is_some() { "EPOCH_UTC" } else { "EPOCH" })?;
        Ok(Self { py, unit, epoch, zone })
    }

    fn value(&self, value: i64) -> PyResult<Bound<'py, PyAny>> {
        let py = self.py;
        let Some(micros) = micros(value, self.unit) else {
            return match pandas(py)? {
                Some(pandas) if self.unit == TimeUnit::Nanosecond => {
                    let options = PyDict::new(py);
                    options.set_item("unit", "ns")?;
                    options.set_item("tz", &self.zone)?;
                    pandas.getattr("Timestamp")?.call((value,), Some(&options))
                }
                _ => Ok(PyInt::new(py, value).into_any()),
            };
        };
        let at = delta(py, micros).and_then(|delta| self.epoch.add(delta));
        let at = match &self.zone {
            None => at,
            Some(zone) => at.and_then(|at| at.call_method1("astimezone", (zone,))),
        };
        or_stored(py, at, value)
    }
}
