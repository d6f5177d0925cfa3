//! Which Arrow type a column of Python values has.
//!
//! ```text
//! None        any type, null            datetime    timestamp[us], with the zone if all have the same, else in UTC
//! bool        bool                      date        date32
//! int         int64, or uint64          time        time64[us]
//! int, float  float64                   timedelta   duration[us]
//! str         utf8                      Decimal     decimal128 or 256 with the digits that all need; int may be among them
//! bytes       binary                    list tuple  list of what the items have in common
//!                                       dict        struct with all keys there are
//! ```

use arrow_schema::{DataType, Field, Fields, TimeUnit};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{
    PyBool, PyByteArray, PyBytes, PyDate, PyDateTime, PyDelta, PyDict, PyFloat, PyInt, PyList, PyString,
    PyTime, PyTuple, PyType,
};

use crate::error::invalid;

/// Lists and dicts inside each other, at most.
const MOST_DEPTH: usize = 60;

/// A value and the row that it is in, counted in the data given.
pub(crate) struct Cell<'py> {
    pub(crate) row: usize,
    pub(crate) value: Bound<'py, PyAny>,
}

impl<'py> Cell<'py> {
    /// Values of NumPy and pandas become Python's.
    pub(crate) fn new(row: usize, value: Bound<'py, PyAny>) -> PyResult<Self> {
        let py = value.py();
        let kind = value.get_type();
        if value.is_none()
            || kind.is(py.get_type::<PyInt>())
            || kind.is(py.get_type::<PyFloat>())
            || kind.is(py.get_type::<PyString>())
            || kind.is(py.get_type::<PyDict>())
            || kind.is(py.get_type::<PyList>())
        {
            return Ok(Self { row, value });
        }
        let name = kind.name()?;
        if name == "NAType" || name == "NaTType" {
            return Ok(Self { row, value: py.None().into_bound(py) });
        }
        if value.hasattr(intern!(py, "tolist"))? && !is_builtin(&value) {
            return Ok(Self { row, value: value.call_method0(intern!(py, "tolist"))? });
        }
        Ok(Self { row, value })
    }
}

fn is_builtin(value: &Bound<'_, PyAny>) -> bool {
    value.is_instance_of::<PyFloat>()
        || value.is_instance_of::<PyString>()
        || value.is_instance_of::<PyBytes>()
        || value.is_instance_of::<PyDateTime>()
}

pub(crate) fn decimal_class(py: Python<'_>) -> PyResult<&Bound<'_, PyType>> {
    static DECIMAL: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    DECIMAL.import(py, "decimal", "Decimal")
}

/// What is known of the type of a column.
#[derive(Debug, Clone, PartialEq)]
enum Kind {
    Null,
    Bool,
    /// Whether there are negative ones, and ones of 2⁶³ and more.
    Int {
        negative: bool,
        large: bool,
    },
    Float,
    Str,
    Bytes,
    Date,
    Time,
    Duration,
    /// The zone, by its name; `None` for a clock without one.
    DateTime(Option<String>),
    /// Digits in front of the point and behind it.
    Decimal {
        whole: i64,
        fraction: i64,
    },
    List(Box<Kind>),
    Struct(Vec<(String, Kind)>),
}

impl Kind {
    fn name(&self) -> &'static str {
        match self {
            Self::Null => "None",
            Self::Bool => "bool",
            Self::Int { .. } => "int",
            Self::Float => "float",
            Self::Str => "str",
            Self::Bytes => "bytes",
            Self::Date => "date",
            Self::Time => "time",
            Self::Duration => "timedelta",
            Self::DateTime(None) => "datetime without zone",
            Self::DateTime(Some(_)) => "datetime with zone",
            Self::Decimal { .. } => "Decimal",
            Self::List(_) => "list",
            Self::Struct(_) => "dict",
        }
    }
}

/// The type of a column called `path` with these values.
pub(crate) fn data_type(py: Python<'_>, path: &str, cells: &[Cell<'_>]) -> PyResult<DataType> {
    let mut kind = Kind::Null;
    for cell in cells {
        add(py, path, cell.row, &mut kind, &cell.value, 0)?;
    }
    arrow(py, path, &kind)
}

/// Makes `kind` wide enough for one more value.
fn add(
    py: Python<'_>,
    path: &str,
    row: usize,
    kind: &mut Kind,
    value: &Bound<'_, PyAny>,
    depth: usize,
) -> PyResult<()> {
    if value.is_none() {
        return Ok(());
    }
    // A list may have itself as an item.
    if depth > MOST_DEPTH {
        return Err(invalid(py, format!("row {row}: values are nested more than {MOST_DEPTH} deep")));
    }
    let new = if let Ok(dict) = value.cast::<PyDict>() {
        if matches!(kind, Kind::Null) {
            *kind = Kind::Struct(Vec::new());
        }
        if let Kind::Struct(fields) = kind {
            return add_fields(py, path, row, fields, dict, depth);
        }
        Kind::Struct(Vec::new())
    } else if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
        if matches!(kind, Kind::Null) {
            *kind = Kind::List(Box::new(Kind::Null));
        }
        if let Kind::List(item) = kind {
            for value in value.try_iter()? {
                let cell = Cell::new(row, value?)?;
                add(py, &format!("{path}.item"), row, item, &cell.value, depth + 1)?;
            }
            return Ok(());
        }
        Kind::List(Box::new(Kind::Null))
    } else {
        of(py, path, row, value)?
    };
    let met = kind.clone();
    match merged(met, &new) {
        Some(wider) => {
            *kind = wider;
            Ok(())
        }
        None => Err(invalid(
            py,
            format!(
                "row {row}, column {path:?}: a {} where the rows before have {}",
                new.name(),
                kind.name()
            ),
        )),
    }
}

fn add_fields(
    py: Python<'_>,
    path: &str,
    row: usize,
    fields: &mut Vec<(String, Kind)>,
    dict: &Bound<'_, PyDict>,
    depth: usize,
) -> PyResult<()> {
    for (position, (key, value)) in dict.iter().enumerate() {
        let key = key.cast::<PyString>().map_err(|_| {
            invalid(py, format!("row {row}, column {path:?}: a key that is not a str: {key}"))
        })?;
        let key = key.to_cow()?;
        // Rows usually have their keys in the same order.
        let known = match fields.get(position) {
            Some((name, _)) if *name == key => Some(position),
            _ => fields.iter().position(|(name, _)| *name == key),
        };
        let at = known.unwrap_or_else(|| {
            fields.push((key.to_string(), Kind::Null));
            fields.len() - 1
        });
        let cell = Cell::new(row, value)?;
        let inner = if path.is_empty() { key.to_string() } else { format!("{path}.{key}") };
        add(py, &inner, row, &mut fields[at].1, &cell.value, depth + 1)?;
    }
    Ok(())
}

/// The kind of one value that has no values inside.
fn of(py: Python<'_>, path: &str, row: usize, value: &Bound<'_, PyAny>) -> PyResult<Kind> {
    let wrong = |what: String| invalid(py, format!("row {row}, column {path:?}: {what}"));
    Ok(if value.is_instance_of::<PyBool>() {
        Kind::Bool
    } else if value.is_instance_of::<PyInt>() {
        match (value.extract::<i64>(), value.extract::<u64>()) {
            (Ok(n), _) => Kind::Int { negative: n < 0, large: false },
            (_, Ok(_)) => Kind::Int { negative: false, large: true },
            _ => return Err(wrong(format!("{value} does not fit into 64 bits"))),
        }
    } else if value.is_instance_of::<PyFloat>() {
        Kind::Float
    } else if value.is_instance_of::<PyString>() {
        Kind::Str
    } else if value.is_instance_of::<PyBytes>() || value.is_instance_of::<PyByteArray>() {
        Kind::Bytes
    } else if value.is_instance_of::<PyDateTime>() {
        let zone = value.getattr(intern!(py, "tzinfo"))?;
        Kind::DateTime(if zone.is_none() { None } else { Some(zone_name(&zone)?) })
    } else if value.is_instance_of::<PyDate>() {
        Kind::Date
    } else if value.is_instance_of::<PyTime>() {
        Kind::Time
    } else if value.is_instance_of::<PyDelta>() {
        Kind::Duration
    } else if value.is_instance(decimal_class(py)?)? {
        let parts = value.call_method0(intern!(py, "as_tuple"))?;
        let Ok(exponent) = parts.getattr(intern!(py, "exponent"))?.extract::<i64>() else {
            return Err(wrong(format!("Decimal({value}) is not a number")));
        };
        let digits = parts.getattr(intern!(py, "digits"))?.len()? as i64;
        Kind::Decimal { whole: (digits + exponent).max(0), fraction: (-exponent).max(0) }
    } else {
        return Err(wrong(format!("a value of type {} has no Arrow type", value.get_type().name()?)));
    })
}

/// The name of a zone as Arrow has it: that of the zone database, an offset, or UTC.
fn zone_name(zone: &Bound<'_, PyAny>) -> PyResult<String> {
    let py = zone.py();
    for attribute in ["key", "zone"] {
        if let Ok(name) = zone.getattr(attribute).and_then(|n| n.extract::<String>()) {
            return Ok(name);
        }
    }
    let name: String =
        zone.call_method1(intern!(py, "tzname"), (py.None(),)).and_then(|n| n.extract()).unwrap_or_default();
    // Fixed offsets call themselves UTC+02:00.
    match name.strip_prefix("UTC") {
        Some(offset) if offset.starts_with(['+', '-']) => Ok(offset.to_owned()),
        _ => Ok("UTC".to_owned()),
    }
}

fn merged(a: Kind, b: &Kind) -> Option<Kind> {
    use Kind as K;
    Some(match (a, b) {
        (K::Null, b) => b.clone(),
        (K::Int { negative, large }, K::Int { negative: n, large: l }) => {
            K::Int { negative: negative || *n, large: large || *l }
        }
        (K::Int { .. } | K::Float, K::Int { .. } | K::Float) => K::Float,
        (K::Decimal { whole, fraction }, K::Decimal { whole: w, fraction: f }) => {
            K::Decimal { whole: whole.max(*w), fraction: fraction.max(*f) }
        }
        // Twenty digits hold any integer that is taken.
        (K::Decimal { whole, fraction }, K::Int { .. }) => K::Decimal { whole: whole.max(20), fraction },
        (K::Int { .. }, K::Decimal { whole, fraction }) => {
            K::Decimal { whole: (*whole).max(20), fraction: *fraction }
        }
        (K::DateTime(Some(x)), K::DateTime(Some(y))) => {
            K::DateTime(Some(if x == *y { x } else { "UTC".into() }))
        }
        (a, b) if a == *b => a,
        _ => return None,
    })
}

fn arrow(py: Python<'_>, path: &str, kind: &Kind) -> PyResult<DataType> {
    Ok(match kind {
        Kind::Null => DataType::Null,
        Kind::Bool => DataType::Boolean,
        Kind::Int { negative: true, large: true } => {
            return Err(invalid(
                py,
                format!(
                    "column {path:?}: has both negative integers and some of 2**63 and more; no 64 bits hold both"
                ),
            ));
        }
        Kind::Int { large: true, .. } => DataType::UInt64,
        Kind::Int { .. } => DataType::Int64,
        Kind::Float => DataType::Float64,
        Kind::Str => DataType::Utf8,
        Kind::Bytes => DataType::Binary,
        Kind::Date => DataType::Date32,
        Kind::Time => DataType::Time64(TimeUnit::Microsecond),
        Kind::Duration => DataType::Duration(TimeUnit::Microsecond),
        Kind::DateTime(zone) => DataType::Timestamp(TimeUnit::Microsecond, zone.as_deref().map(Into::into)),
        Kind::Decimal { whole, fraction } => {
            let digits = (whole + fraction).max(1);
            match (digits, *fraction) {
                (1..=38, fraction) => DataType::Decimal128(digits as u8, fraction as i8),
                (39..=76, fraction) => DataType::Decimal256(digits as u8, fraction as i8),
                _ => {
                    return Err(invalid(
                        py,
                        format!("column {path:?}: needs decimals of {digits} digits, at most 76 there are"),
                    ));
                }
            }
        }
        Kind::List(item) => {
            DataType::List(Field::new("item", arrow(py, &format!("{path}.item"), item)?, true).into())
        }
        Kind::Struct(fields) => {
            let fields = fields
                .iter()
                .map(|(name, kind)| Ok(Field::new(name, arrow(py, &format!("{path}.{name}"), kind)?, true)));
            DataType::Struct(fields.collect::<PyResult<Fields>>()?)
        }
    })
}
