//! Rows that pass a predicate, for formats without a filter of their own.
//!
//! ```text
//! columns asked + the predicate's ──read──▶ batch ──project───▶ columns asked ──▶ their rows that pass
//!                                             └─────evaluate──▶ a bit per row ────▲
//! ```

use arrow_array::{BooleanArray, RecordBatch};
use arrow_schema::Schema;
use arrow_select::filter::filter_record_batch;
use pennon_file::filter::{Bound, Predicate};
use pennon_file::{Error, Result};

use crate::projection::Projection;
use crate::reader::Batches;

/// What is read for a filtered selection, and what becomes of it.
pub(crate) struct Filter {
    /// `None` reads all columns.
    pub(crate) read: Option<Projection>,
    bound: Bound,
    /// From the columns read to those asked; `None` keeps them.
    output: Option<Projection>,
}

impl Filter {
    /// `name` is the file's, for messages.
    pub(crate) fn new(
        name: &str,
        schema: &Schema,
        columns: Option<&[String]>,
        predicate: &Predicate,
    ) -> Result<Self> {
        let used: Vec<String> = predicate.columns().iter().map(|c| c.path().to_owned()).collect();
        // The names that are wrong are told whatever else is read.
        Projection::new(name, schema, &used)?;
        let Some(columns) = columns else {
            return Ok(Self { read: None, bound: predicate.bind(schema)?, output: None });
        };
        // The second of a name is the second only beside the first; and something has to be read to count rows.
        let numbered = columns.iter().chain(&used).any(|path| path.contains('#'));
        let read = if used.is_empty() || numbered {
            None
        } else {
            Some(Projection::new(name, schema, &[columns, &used].concat())?)
        };
        let schema = read.as_ref().map_or(schema, |p| p.schema().as_ref());
        let output = Projection::new(name, schema, columns)?;
        Ok(Self { bound: predicate.bind(schema)?, output: Some(output), read })
    }

    /// The rows of `batches`, which hold the columns read, that pass, in the columns asked.
    pub(crate) fn apply(self, batches: Batches) -> Batches {
        let kept = batches.map(move |batch| self.keep(&batch?));
        Box::new(kept.filter(|batch| batch.as_ref().map_or(true, |b| b.num_rows() > 0)))
    }

    fn keep(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let bits = self.bound.evaluate(batch)?;
        // First the columns: the predicate's own may not be wanted, and then their rows need not be copied.
        let asked = match &self.output {
            Some(output) => output.apply(batch)?,
            None => batch.clone(),
        };
        if bits.count_set_bits() == asked.num_rows() {
            return Ok(asked);
        }
        filter_record_batch(&asked, &BooleanArray::new(bits, None))
            .map_err(|e| Error::invalid(format!("keeping rows of a batch: {e}")))
    }
}
