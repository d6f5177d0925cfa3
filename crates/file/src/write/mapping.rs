//! Batches of the caller's types to arrays of the types that are stored.
//!
//! Runs, dictionaries and unions grow on the way, so a batch is converted in pieces of bounded size. Columns
//! that are stored as they are pass untouched.

use std::ops::Range;

use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, Schema};

use crate::array::convert::{bytes_of, is_stored_as, store, stored_bytes};
use crate::{ErrorKind, FormatVersion, Result};

/// Rows converted at once, at most.
const MAX_ROWS: usize = 1 << 16;
/// Bytes of converted arrays at once, unless one row has more.
const MAX_BYTES: usize = 32 << 20;

/// What has to be done with the top-level columns of every batch.
#[derive(Debug)]
pub(super) struct Mapping {
    /// Name and stored type of every column that is not stored as it is.
    columns: Vec<Option<(String, DataType)>>,
    struct_nulls: bool,
}

impl Mapping {
    pub(super) fn new(user: &Schema, stored: &Schema, version: FormatVersion) -> Self {
        let columns = user.fields().iter().zip(stored.fields()).map(|(user, stored)| {
            let same = is_stored_as(user.data_type(), stored.data_type());
            (!same).then(|| (user.name().clone(), stored.data_type().clone()))
        });
        Self { columns: columns.collect(), struct_nulls: version > FormatVersion::V2_0 }
    }

    pub(super) fn is_identity(&self) -> bool {
        self.columns.iter().all(Option::is_none)
    }

    /// Whether a top-level column is converted.
    pub(super) fn is_mapped(&self, top: usize) -> bool {
        self.columns[top].is_some()
    }

    /// Arrow bytes of the columns that are converted, as they are given.
    pub(super) fn bytes_of<'a>(&self, array: impl Fn(usize) -> &'a ArrayRef) -> usize {
        let mapped = (0..self.columns.len()).filter(|top| self.is_mapped(*top)).map(array);
        mapped.fold(0, |sum, array| sum.saturating_add(bytes_of(array, 0..array.len())))
    }

    /// The first of `rows` as they are stored, as many as fit; `rows` are what is left.
    pub(super) fn store_some(&self, arrays: &[&ArrayRef], rows: &mut Range<usize>) -> Result<Vec<ArrayRef>> {
        let mut count = rows.len().min(MAX_ROWS);
        loop {
            let part: Vec<ArrayRef> = arrays.iter().map(|a| a.slice(rows.start, count)).collect();
            let mapped = || part.iter().zip(&self.columns).filter_map(|(a, to)| Some((a, to.as_ref()?)));
            let bytes = mapped().fold(0usize, |sum, (a, (_, to))| sum.saturating_add(stored_bytes(a, to)));
            if bytes > MAX_BYTES && count > 1 {
                count /= 2;
                continue;
            }
            let stored = part.iter().zip(&self.columns).map(|(array, to)| match to {
                None => Ok(array.clone()),
                Some((name, to)) => store(to, array, self.struct_nulls).map_err(|e| e.in_column(name)),
            });
            match stored.collect() {
                Ok(stored) => {
                    rows.start += count;
                    return Ok(stored);
                }
                Err(e) if e.kind() == ErrorKind::Limit && count > 1 => count /= 2,
                Err(e) => return Err(e),
            }
        }
    }
}
