//! What tells of all columns: descriptor, CMO table, and the end of the checksums that both are checked against.
//!
//! One round. Files with a field directory (`directory.rs`) are opened without it.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use super::directory::Directory;
use super::footer::Footer;
use super::{FileChecks, range_within, table_entry};
use crate::error::corrupt;
use crate::io::{Decode, Segments, Step};
use crate::schema::Schema;
use crate::{Error, Limits, Result};

use super::metadata::data_end;

/// The schema, and where every column is.
#[derive(Debug)]
pub(crate) struct Tables {
    pub(crate) schema: Schema,
    /// Rows, as the descriptor says; pages have to agree.
    pub(super) num_rows: u64,
    pub(crate) checks: Option<Arc<FileChecks>>,
    /// The descriptor's bytes, kept by files that have a directory to be compared with them.
    pub(super) descriptor: Option<Bytes>,
    /// Positions and lengths of the columns' metadata.
    cmo_table: Bytes,
    data_end: u64,
}

impl Tables {
    /// Where the metadata of a column is.
    pub(crate) fn column_range(&self, column: u32) -> Result<Range<u64>> {
        let columns = self.cmo_table.len() / 16;
        if columns <= column as usize {
            return Err(Error::corrupt(format!("the schema needs column {column}; the file has {columns}")));
        }
        let (start, len) = table_entry(&self.cmo_table, column as usize);
        range_within(start, len, self.data_end, || format!("metadata of column {column}"))
    }

    /// Bytes of all columns' metadata.
    pub(super) fn column_bytes(&self) -> u64 {
        let columns = (0..self.cmo_table.len() / 16).map(|at| table_entry(&self.cmo_table, at).1);
        columns.fold(0, u64::saturating_add)
    }
}

/// Reads the tables of a file: one round.
#[derive(Debug)]
pub(crate) struct ReadTables {
    pub(super) footer: Footer,
    pub(super) file_bytes: u64,
    pub(super) global_buffers: Vec<Range<u64>>,
    /// The checksums' global buffer.
    pub(super) checksums: Option<usize>,
    pub(super) directory: Option<Arc<Directory>>,
    pub(super) limits: Limits,
    pub(super) held: Arc<Segments>,
}

impl Decode for ReadTables {
    type Output = Tables;

    fn step(&mut self, segments: &Segments) -> Result<Step<Tables>> {
        let find = |range: &Range<u64>| segments.bytes(range).or_else(|| self.held.bytes(range));
        let Some(descriptor_range) = self.global_buffers.first().cloned() else {
            corrupt!("the file has no global buffers, so no schema");
        };
        let cmo_range = self.footer.cmo_range();
        let checks_range = match self.checksums {
            Some(index) => FileChecks::tail_range(&self.global_buffers[index], self.footer.num_columns)?,
            None => 0..0,
        };
        let (Some(descriptor), Some(cmo_table), Some(checks_tail)) =
            (find(&descriptor_range), find(&cmo_range), find(&checks_range))
        else {
            let mut need = vec![descriptor_range, cmo_range, checks_range];
            need.retain(|range| find(range).is_none());
            return Ok(Step::Need(need));
        };
        let checks = match self.checksums {
            Some(index) => {
                FileChecks::parse(checks_tail, index, &self.global_buffers, self.footer.num_columns)?
            }
            None => None,
        };
        if let Some(checks) = &checks {
            checks.verify_descriptor(&descriptor).map_err(|e| e.at_offset(descriptor_range.start))?;
            checks.verify_cmo(&cmo_table).map_err(|e| e.at_offset(cmo_range.start))?;
        }
        let (schema, num_rows) = Schema::parse(&descriptor, self.footer.version, &self.limits)?;
        if let Some(directory) = &self.directory {
            let told = (directory.summary.num_rows, u64::from(directory.summary.num_fields));
            let found = (num_rows, schema.fields.len() as u64);
            if told != found {
                corrupt!(
                    "the field directory says {} rows and {} fields, the descriptor {} and {}",
                    told.0,
                    told.1,
                    found.0,
                    found.1
                );
            }
        }
        let descriptor = self.directory.is_some().then_some(descriptor);
        let data_end = data_end(self.file_bytes);
        let checks = checks.map(Arc::new);
        Ok(Step::Done(Tables { schema, num_rows, checks, descriptor, cmo_table, data_end }))
    }
}
