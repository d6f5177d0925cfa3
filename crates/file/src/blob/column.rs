//! The blobs of a column as handles.

use std::sync::Arc;

use super::descriptor::BlobDescriptor;
use super::handle::Blob;
use super::store::BlobStore;
use crate::page::RowSlots;
use crate::read::File;
use crate::scan::{Take, TakeBatches};
use crate::schema::{BlobView, LeafKind};
use crate::{Error, Result};

/// A blob column, for reading its values in parts. See [`File::blobs`].
#[derive(Debug, Clone)]
pub struct BlobColumn {
    file: File,
    path: String,
    store: Arc<BlobStore>,
    /// Whether a row has one value, or any number of them.
    one_per_row: bool,
}

impl BlobColumn {
    pub(crate) fn new(file: File, path: &str, store: Arc<BlobStore>) -> Result<Self> {
        let projected = file.project_as(Some(&[path.to_owned()]), BlobView::Descriptors)?;
        let [column] = projected.columns.as_slice() else {
            return Err(Error::invalid(format!("{path:?} has several columns, not the one of a blob")));
        };
        if !matches!(column.leaf.kind, LeafKind::Blob | LeafKind::BlobDescriptor) {
            let data_type = column.leaf.arrow.data_type();
            return Err(Error::invalid(format!("column {path:?} is {data_type}, not a blob")));
        }
        let one_per_row = !column.scheme.has_lists() && column.leaf.rows_scale == 1;
        Ok(Self { file, path: path.to_owned(), store, one_per_row })
    }

    /// Handles of the values of these rows, in this order, repeats allowed; `None` where a row has no value.
    /// Descriptors are read, values are not.
    ///
    /// # Errors
    /// A row number out of range, a column inside lists, and what reading descriptors meets.
    pub fn get(&self, rows: &[u64]) -> Result<Vec<Option<Blob>>> {
        if !self.one_per_row {
            return Err(Error::invalid(format!(
                "column {:?} is inside lists: a row has any number of blobs, see items",
                self.path
            )));
        }
        let mut blobs = Vec::with_capacity(rows.len());
        self.each_row(rows, |mut row| {
            blobs.push(row.pop().flatten());
        })?;
        Ok(blobs)
    }

    /// Handles of all items in these rows, for a column inside lists: those of nested lists one after the other, none
    /// for lists that are empty or null.
    ///
    /// # Errors
    /// Those of [`get`](Self::get), lists aside.
    pub fn items(&self, rows: &[u64]) -> Result<Vec<Vec<Option<Blob>>>> {
        let mut items = Vec::with_capacity(rows.len());
        self.each_row(rows, |row| items.push(row))?;
        Ok(items)
    }

    fn each_row(&self, rows: &[u64], mut row_of: impl FnMut(Vec<Option<Blob>>)) -> Result<()> {
        let take = Take::new(self.file.clone(), rows.to_vec());
        let mut batches: TakeBatches = take.columns(&[&self.path]).blobs(BlobView::Descriptors).batches()?;
        while let Some((leaves, num_rows)) = batches.next_leaves()? {
            let (Some(leaf), Some(column)) = (leaves.first(), batches.columns().first()) else {
                return Err(Error::invalid("internal: a column without data"));
            };
            let place = |e: Error| {
                let e = e.in_column(&self.path);
                self.file.source().name().map(|name| e.clone().in_file(name)).unwrap_or(e)
            };
            let slots = RowSlots::of(leaf, &column.scheme, column.leaf.rows_scale as usize, num_rows)
                .map_err(place)?;
            for row in 0..num_rows {
                let blob = |slot| {
                    if !slots.is_valid(slot) {
                        return Ok(None);
                    }
                    let descriptor = BlobDescriptor::at(&leaf.values, slot)?;
                    Blob::new(self.file.source().clone(), self.store.clone(), descriptor).map(Some)
                };
                row_of(slots.row(row).map(blob).collect::<Result<_>>().map_err(place)?);
            }
        }
        Ok(())
    }
}
