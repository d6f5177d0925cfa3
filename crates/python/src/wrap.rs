//! What readers return: pyarrow's types where pyarrow can be imported, else those of [`table`](crate::table).
//!
//! ```text
//! schema   through a capsule, once for all batches of a stream and for a handle's next take of the same columns
//! batch    its C array, with the schema that pyarrow has already
//! ```
//!
//! To describe a schema costs more than to take a hundred rows: a field is some ten allocations on either side.

use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::{Array, RecordBatch, StructArray};
use arrow_schema::SchemaRef;
use pyo3::exceptions::PyImportError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyModule;

use crate::capsule;
use crate::table::{PyRecordBatch, PySchema, PyTable};

/// pyarrow, if it is installed. It is looked for when a result first has to be wrapped.
pub(crate) fn pyarrow(py: Python<'_>) -> PyResult<Option<&Bound<'_, PyModule>>> {
    static PYARROW: PyOnceLock<Option<Py<PyModule>>> = PyOnceLock::new();
    installed(py, "pyarrow", &PYARROW)
}

/// A module that may be missing. What else goes wrong with its import, a Ctrl-C for one, is not that.
pub(crate) fn installed<'py>(
    py: Python<'py>,
    name: &str,
    found: &'static PyOnceLock<Option<Py<PyModule>>>,
) -> PyResult<Option<&'py Bound<'py, PyModule>>> {
    let import = || match py.import(name) {
        Ok(module) => Ok(Some(module.unbind())),
        Err(e) if e.is_instance_of::<PyImportError>(py) => Ok(None),
        Err(e) => Err(e),
    };
    Ok(found.get_or_try_init(py, import)?.as_ref().map(|m| m.bind(py)))
}

/// The schema that was wrapped last, and what it became.
#[derive(Default)]
pub(crate) struct Wrapped {
    last: Mutex<Option<(SchemaRef, Py<PyAny>)>>,
}

impl Wrapped {
    fn schema<'py>(&self, py: Python<'py>, schema: &SchemaRef) -> PyResult<Bound<'py, PyAny>> {
        // Nothing of Python happens while the lock is held.
        let known = |last: &Option<(SchemaRef, Py<PyAny>)>| match last {
            Some((known, wrapped)) if is_same(known, schema) => Some(wrapped.clone_ref(py)),
            _ => None,
        };
        if let Some(wrapped) = known(&self.last.lock().unwrap_or_else(PoisonError::into_inner)) {
            return Ok(wrapped.into_bound(py));
        }
        let wrapped = wrap_schema(py, schema.clone())?;
        let next = Some((schema.clone(), wrapped.clone().unbind()));
        let before = std::mem::replace(&mut *self.last.lock().unwrap_or_else(PoisonError::into_inner), next);
        drop(before);
        Ok(wrapped)
    }

    pub(crate) fn table<'py>(
        &self,
        py: Python<'py>,
        schema: SchemaRef,
        batches: Vec<RecordBatch>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let Some(pyarrow) = pyarrow(py)? else {
            return Ok(Bound::new(py, PyTable { schema, batches })?.into_any());
        };
        // Batch by batch: reading from a stream, pyarrow would have its own say about signals.
        let batches =
            batches.into_iter().map(|batch| self.batch(py, &schema, batch)).collect::<PyResult<Vec<_>>>()?;
        let schema = self.schema(py, &schema)?;
        pyarrow.getattr(intern!(py, "Table"))?.call_method1(intern!(py, "from_batches"), (batches, schema))
    }

    /// A batch of a stream of this schema.
    pub(crate) fn batch<'py>(
        &self,
        py: Python<'py>,
        schema: &SchemaRef,
        batch: RecordBatch,
    ) -> PyResult<Bound<'py, PyAny>> {
        let Some(pyarrow) = pyarrow(py)? else {
            return Ok(Bound::new(py, PyRecordBatch { batch })?.into_any());
        };
        let class = pyarrow.getattr(intern!(py, "RecordBatch"))?;
        // Not every release need have the method, which is not of pyarrow's public ones.
        let import = class.getattr_opt(intern!(py, "_import_from_c"))?;
        match import.filter(|_| is_same(schema, &batch.schema())) {
            Some(import) => {
                capsule::hand_over(&import, &StructArray::from(batch).into_data(), &self.schema(py, schema)?)
            }
            None => {
                let batch = Bound::new(py, PyRecordBatch { batch })?;
                pyarrow.call_method1(intern!(py, "record_batch"), (batch,))
            }
        }
    }
}

fn is_same(a: &SchemaRef, b: &SchemaRef) -> bool {
    Arc::ptr_eq(a, b) || a == b
}

pub(crate) fn wrap_schema(py: Python<'_>, schema: SchemaRef) -> PyResult<Bound<'_, PyAny>> {
    let schema = Bound::new(py, PySchema { schema })?.into_any();
    match pyarrow(py)? {
        Some(pyarrow) => pyarrow.call_method1(intern!(py, "schema"), (schema,)),
        None => Ok(schema),
    }
}
