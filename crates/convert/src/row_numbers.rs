//! Which rows pass a predicate, as their numbers.

use pennon_file::Result;
use pennon_file::filter::Predicate;

use crate::reader::Reader;
use crate::selection::Selection;

/// Numbers of rows, a batch of rows at a time.
pub type RowNumbers = Box<dyn Iterator<Item = Result<Vec<u64>>> + Send>;

impl Reader {
    /// The numbers of the rows for which a predicate is TRUE, ascending. Of the file its columns are read, and no others.
    pub fn row_numbers(&self, predicate: &Predicate, threads: usize) -> Result<RowNumbers> {
        let paths: Vec<String> = predicate.columns().iter().map(|c| c.path().to_owned()).collect();
        // The second of a name is the second only beside the first.
        let columns = if paths.iter().any(|path| path.contains('#')) { None } else { Some(paths) };
        let bound = predicate.bind(self.projected_schema(columns.as_deref())?.as_ref())?;
        let mut selection = Selection::default().with_columns(columns);
        selection.threads = threads;
        let mut first = 0;
        Ok(Box::new(self.batches(&selection)?.map(move |batch| {
            let batch = batch?;
            let start = first;
            first += batch.num_rows() as u64;
            Ok(bound.evaluate(&batch)?.set_indices().map(|i| start + i as u64).collect())
        })))
    }
}
