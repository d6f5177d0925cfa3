//! What a reader would read of a file, before it does.

use pennon_file::{Explanation, Result};

use crate::guard::in_file;
use crate::reader::{Reader, Source};
use crate::selection::Selection;

impl Reader {
    /// What the selected rows and columns would take to read: of Lance in pages, of Parquet in column chunks, of other formats
    /// the rows and columns alone.
    pub fn explain(&self, selection: &Selection) -> Result<Explanation> {
        let found = match &self.source {
            Source::Lance(s) => s.explain(selection),
            Source::Parquet(s) => {
                let columns = self.read_columns(selection)?;
                let projection = self.projection(columns.as_deref())?;
                let filtered = selection.filter.is_some();
                let rows = if filtered { 0..u64::MAX } else { selection.rows.clone() };
                Ok(s.explain(rows, projection.as_ref()))
            }
            _ => {
                let mut found = Explanation::default();
                found.columns = match self.read_columns(selection)? {
                    Some(columns) => columns,
                    None => crate::projection::leaf_paths(self.schema()?.as_ref()),
                };
                Ok(found)
            }
        };
        found.map_err(|e| in_file(e, self.name()))
    }

    /// What taking the rows would read.
    pub fn explain_take(&self, rows: &[u64], selection: &Selection) -> Result<Explanation> {
        match &self.source {
            Source::Lance(s) => {
                let mut take = s.file().take(rows);
                if let Some(columns) = &selection.columns {
                    take = take.columns(columns);
                }
                take.explain().map_err(|e| in_file(e, self.name()))
            }
            _ => self.explain(selection),
        }
    }

    /// The columns asked and those of the filter.
    fn read_columns(&self, selection: &Selection) -> Result<Option<Vec<String>>> {
        let Some(columns) = &selection.columns else { return Ok(None) };
        let mut all = columns.clone();
        for column in selection.filter.iter().flat_map(|f| f.columns()) {
            if !all.iter().any(|c| c == column.path()) {
                all.push(column.path().to_owned());
            }
        }
        Ok(Some(all))
    }
}
