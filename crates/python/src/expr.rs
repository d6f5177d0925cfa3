//! Predicates: `pennon.col("x") > 3`, text, and expressions of other libraries, which become the same thing.

use pennon_file::filter::{Column, Literal, Operand, Predicate, col as column_at};
use pyo3::basic::CompareOp;
use pyo3::exceptions::PyTypeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDate, PyDateTime, PyFloat, PyInt, PyString, PyTime, PyType};

use crate::error::{Raise, invalid, no_column, raised};
use crate::file::Shared;
use crate::infer::decimal_class;

#[derive(Clone)]
enum Kind {
    Column(Column),
    Predicate(Predicate),
}

/// A column, or a condition on columns. Conditions are joined with ``&``, ``|`` and ``~``.
///
/// A condition is true, false or (where it looks at a null) neither; a filter keeps the rows for which it is true.
///
/// >>> from pennon import col
/// >>> (col("wings") > 0) & ~col("name").like("o%")
/// wings > 0 AND NOT name LIKE 'o%'
/// >>> col("place")["city"].is_in(["Ulm", "Bern"]) | col("place").is_null()
/// place.city IN ('Ulm', 'Bern') OR place IS NULL
#[pyclass(frozen, module = "pennon", name = "Expression")]
#[derive(Clone)]
pub(crate) struct Expression(Kind);

/// The column at a path: ``col("a")``, ``col("a.b")`` for a field of a struct; names with other characters in backquotes.
///
/// >>> import pennon
/// >>> pennon.open("birds.lance").count_rows(pennon.col("wings") > 0)
/// 2
#[pyfunction]
pub(crate) fn col(path: &str) -> Expression {
    Expression(Kind::Column(column_at(path)))
}

/// The condition that a text says, in the language of ``pennon scan --where``.
///
/// >>> import pennon
/// >>> pennon.expr("wings BETWEEN 1 AND 2 and name is not null")
/// wings BETWEEN 1 AND 2 AND name IS NOT NULL
#[pyfunction]
pub(crate) fn expr(py: Python<'_>, text: &str) -> PyResult<Expression> {
    Ok(Expression(Kind::Predicate(parsed(py, text)?)))
}

fn parsed(py: Python<'_>, text: &str) -> PyResult<Predicate> {
    Predicate::parse(text).map_err(|e| invalid(py, e.to_string()))
}

impl Expression {
    fn column(&self, method: &str) -> PyResult<Column> {
        match &self.0 {
            Kind::Column(column) => Ok(column.clone()),
            Kind::Predicate(_) => Err(PyTypeError::new_err(format!(
                "{method} is asked of a column, this is a condition: {self}"
            ))),
        }
    }

    fn predicate(&self) -> Predicate {
        match &self.0 {
            Kind::Column(column) => column.clone().is_true(),
            Kind::Predicate(predicate) => predicate.clone(),
        }
    }
}

impl std::fmt::Display for Expression {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.0 {
            Kind::Column(column) => write!(f, "{column}"),
            Kind::Predicate(predicate) => write!(f, "{predicate}"),
        }
    }
}

fn made(predicate: Predicate) -> Expression {
    Expression(Kind::Predicate(predicate))
}

#[pymethods]
impl Expression {
    fn __richcmp__(&self, other: &Bound<'_, PyAny>, op: CompareOp) -> PyResult<Self> {
        let left = self.column("a comparison")?;
        let right = operand(other)?;
        Ok(made(match op {
            CompareOp::Eq => left.eq(right),
            CompareOp::Ne => left.ne(right),
            CompareOp::Lt => left.lt(right),
            CompareOp::Le => left.le(right),
            CompareOp::Gt => left.gt(right),
            CompareOp::Ge => left.ge(right),
        }))
    }

    fn __and__(&self, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(made(self.predicate().and(condition(other)?)))
    }

    fn __rand__(&self, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(made(condition(other)?.and(self.predicate())))
    }

    fn __or__(&self, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(made(self.predicate().or(condition(other)?)))
    }

    fn __ror__(&self, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(made(condition(other)?.or(self.predicate())))
    }

    fn __invert__(&self) -> Self {
        made(!self.predicate())
    }

    fn __bool__(&self) -> PyResult<bool> {
        Err(PyTypeError::new_err(
            "a condition has no truth value of its own: join conditions with & | ~ instead of and, or, not, and write comparisons in parentheses",
        ))
    }

    /// The field of a struct.
    fn __getitem__(&self, name: &str) -> PyResult<Self> {
        let path = format!("{}.{}", self.column("a field")?, pennon_convert::quote_name(name));
        Ok(Self(Kind::Column(column_at(path))))
    }

    /// Equal to one of the values.
    fn is_in(&self, values: &Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(made(self.column("is_in")?.is_in(literals(values)?)))
    }

    /// Equal to none of the values.
    fn is_not_in(&self, values: &Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(made(self.column("is_not_in")?.is_not_in(literals(values)?)))
    }

    /// Null.
    fn is_null(&self) -> PyResult<Self> {
        Ok(made(self.column("is_null")?.is_null()))
    }

    /// Not null.
    fn is_valid(&self) -> PyResult<Self> {
        Ok(made(self.column("is_valid")?.is_not_null()))
    }

    /// Not null.
    fn is_not_null(&self) -> PyResult<Self> {
        self.is_valid()
    }

    /// Not a number, in a column of floating-point numbers.
    fn is_nan(&self) -> PyResult<Self> {
        Ok(made(self.column("is_nan")?.is_nan()))
    }

    /// From ``low`` to ``high``, both included.
    fn between(&self, low: &Bound<'_, PyAny>, high: &Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(made(self.column("between")?.between(operand(low)?, operand(high)?)))
    }

    /// Text of a pattern: ``%`` stands for any text, ``_`` for one character.
    fn like(&self, pattern: &str) -> PyResult<Self> {
        Ok(made(self.column("like")?.like(pattern)))
    }

    /// Text or bytes that begin like this.
    fn starts_with(&self, prefix: &Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(made(self.column("starts_with")?.starts_with(literal(prefix)?)))
    }

    fn __repr__(&self) -> String {
        self.to_string()
    }

    fn __hash__(&self) -> PyResult<isize> {
        Err(PyTypeError::new_err("unhashable type: 'pennon.Expression'"))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (String,))> {
        let name = if matches!(self.0, Kind::Column(_)) { "col" } else { "expr" };
        Ok((py.import("pennon")?.getattr(name)?, (self.to_string(),)))
    }
}

fn condition(value: &Bound<'_, PyAny>) -> PyResult<Predicate> {
    if let Ok(expression) = value.cast::<Expression>() {
        return Ok(expression.get().predicate());
    }
    if let Ok(value) = value.cast::<PyBool>() {
        return Ok(Predicate::Constant(value.is_true()));
    }
    Err(PyTypeError::new_err(format!("expected a condition, found {}", value.get_type().name()?)))
}

fn operand(value: &Bound<'_, PyAny>) -> PyResult<Operand> {
    match value.cast::<Expression>() {
        Ok(expression) => Ok(Operand::Column(expression.get().column("a comparison")?)),
        Err(_) => literal(value).map(Operand::Literal),
    }
}

fn literals(values: &Bound<'_, PyAny>) -> PyResult<Vec<Literal>> {
    if values.is_instance_of::<PyString>() || values.is_instance_of::<PyBytes>() {
        return Err(PyTypeError::new_err("expected a list of values, found a single one"));
    }
    let values = match values.hasattr(intern!(values.py(), "to_pylist"))? {
        true => values.call_method0(intern!(values.py(), "to_pylist"))?,
        false => values.clone(),
    };
    values.try_iter()?.map(|value| literal(&value?)).collect()
}

/// A value of Python, NumPy, pandas or pyarrow as a literal.
fn literal(value: &Bound<'_, PyAny>) -> PyResult<Literal> {
    let py = value.py();
    let text = |method: &str| -> PyResult<String> { value.call_method0(method)?.extract() };
    if let Ok(value) = value.cast::<PyBool>() {
        return Ok(Literal::from(value.is_true()));
    }
    if value.is_instance_of::<PyInt>() {
        return Literal::number(&value.str()?.to_cow()?).raise(py);
    }
    if let Ok(value) = value.cast::<PyFloat>() {
        return Ok(Literal::from(value.value()));
    }
    if let Ok(text) = value.cast::<PyString>() {
        return Ok(Literal::from(&*text.to_cow()?));
    }
    if let Ok(bytes) = value.cast::<PyBytes>() {
        return Ok(Literal::Bytes(bytes.as_bytes().to_vec()));
    }
    if value.is_instance_of::<PyDateTime>() {
        if value.getattr(intern!(py, "tzinfo"))?.is_none() {
            return Literal::timestamp(&text("isoformat")?).raise(py);
        }
        let utc = py.import("datetime")?.getattr("timezone")?.getattr("utc")?;
        let in_utc: String =
            value.call_method1("astimezone", (utc,))?.call_method0("isoformat")?.extract()?;
        let in_utc = in_utc.strip_suffix("+00:00").unwrap_or(&in_utc);
        return Literal::timestamp(&format!("{in_utc}Z")).raise(py);
    }
    if value.is_instance_of::<PyDate>() {
        return Literal::date(&text("isoformat")?).raise(py);
    }
    if value.is_instance_of::<PyTime>() {
        return Literal::time(&text("isoformat")?).raise(py);
    }
    if value.is_instance(decimal_class(py)?)? {
        return Literal::number(&value.str()?.to_cow()?).raise(py);
    }
    if value.is_none() {
        return Err(invalid(py, "nothing equals null: ask with is_null() or is_valid()"));
    }
    // Scalars of pyarrow, then of NumPy: times of NumPy have a text that says more than their Python value.
    if value.hasattr(intern!(py, "as_py"))? {
        return literal(&value.call_method0(intern!(py, "as_py"))?);
    }
    if value.hasattr(intern!(py, "tolist"))? {
        if value.get_type().name()? == "datetime64" {
            return Literal::timestamp(&value.str()?.to_cow()?).raise(py);
        }
        let plain = value.call_method0(intern!(py, "tolist"))?;
        if !plain.hasattr(intern!(py, "tolist"))? && !plain.is_instance_of::<pyo3::types::PyList>() {
            return literal(&plain);
        }
    }
    Err(PyTypeError::new_err(format!(
        "a value of type {} cannot be compared with a column",
        value.get_type().name()?
    )))
}

/// The predicate in an argument called `filter`, checked against the columns of the file.
pub(crate) fn predicate(
    py: Python<'_>,
    shared: &Shared,
    filter: Option<&Bound<'_, PyAny>>,
) -> PyResult<Option<Predicate>> {
    let Some(filter) = filter.filter(|f| !f.is_none()) else { return Ok(None) };
    let predicate = if let Ok(text) = filter.cast::<PyString>() {
        parsed(py, &text.to_cow()?)?
    } else if is_pyarrow(filter)? {
        let module = py.import("pennon._translate")?;
        let floats = floating(py, shared)?;
        condition(&module.call_method1("from_pyarrow", (filter, floats))?)?
    } else {
        condition(filter).map_err(|_| {
            let kind = filter.get_type().name().map(|n| n.to_string()).unwrap_or_default();
            PyTypeError::new_err(format!(
                "filter: expected pennon.col(…) conditions, text, or a pyarrow.compute.Expression, found {kind}"
            ))
        })?
    };
    check(py, shared, &predicate)?;
    Ok(Some(predicate))
}

/// Names that are not there and literals of wrong types are told before anything is read.
fn check(py: Python<'_>, shared: &Shared, predicate: &Predicate) -> PyResult<()> {
    let paths: Vec<String> = predicate.columns().iter().map(|c| c.path().to_owned()).collect();
    let schema = match py.detach(|| shared.reader.projected_schema(Some(&paths))) {
        Err(e) if e.kind() == pennon_file::ErrorKind::Invalid => return Err(no_column(py, &e)),
        other => other.raise(py)?,
    };
    // The second of a name is found only beside the first; such a predicate is checked when it is used.
    if paths.iter().any(|path| path.contains('#')) {
        return Ok(());
    }
    predicate.bind(&schema).map(drop).map_err(|e| raised(py, &e))
}

fn is_pyarrow(filter: &Bound<'_, PyAny>) -> PyResult<bool> {
    let kind: Bound<'_, PyType> = filter.get_type();
    Ok(kind.name()? == "Expression" && kind.module()?.to_cow()?.starts_with("pyarrow"))
}

/// Paths of columns of floating-point numbers: NaN is where libraries disagree.
fn floating(py: Python<'_>, shared: &Shared) -> PyResult<Vec<String>> {
    let schema = shared.schema(py)?;
    let paths = pennon_convert::leaf_paths(&schema);
    Ok(paths
        .into_iter()
        .filter(|path| pennon_convert::field_at(&schema, path).is_some_and(|f| f.data_type().is_floating()))
        .collect())
}
