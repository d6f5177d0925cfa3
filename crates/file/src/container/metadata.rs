//! Opening a file: from its length to its metadata.
//!
//! ```text
//! round 1   the last 64 KiB, or the whole file: footer, extras record, and mostly all of the rest
//! round 2   the GBO table, where it is not in there
//! round 3   descriptor, CMO table, end of the checksums: those that are not in there
//! ```
//!
//! The messages of the columns are not looked at: see `column.rs`.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use super::extras::{self, Extra, KIND_CHECKSUMS, MAX_RECORD_BYTES};
use super::footer::{FOOTER_BYTES, Footer, not_lance};
use super::{FileChecks, range_within, table_entry};
use crate::error::corrupt;
use crate::io::{Decode, Segments, Step};
use crate::schema::Schema;
use crate::{Error, FormatVersion, Limits, Result};

/// Bytes of the first read.
pub(crate) const TAIL_BYTES: u64 = 64 * 1024;

/// What a file says about itself, columns aside.
#[derive(Debug)]
pub(crate) struct Metadata {
    pub(crate) footer: Footer,
    pub(crate) file_bytes: u64,
    pub(crate) schema: Schema,
    /// Rows, as the descriptor says; pages have to agree.
    pub(crate) num_rows: u64,
    /// Where the global buffers are; the first is the descriptor.
    pub(crate) global_buffers: Vec<Range<u64>>,
    pub(crate) extras: Vec<Extra>,
    pub(crate) checks: Option<Arc<FileChecks>>,
    pub(crate) limits: Limits,
    /// Positions and lengths of the columns' metadata.
    pub(super) cmo_table: Bytes,
    /// What the first read brought.
    pub(super) held: Arc<Segments>,
}

impl Metadata {
    /// The format version.
    pub(crate) fn version(&self) -> FormatVersion {
        self.footer.version
    }

    /// Columns stored in the file.
    pub(crate) fn num_columns(&self) -> u32 {
        self.footer.num_columns
    }

    /// Bytes of descriptor, column metadata, tables and footer: everything that is not data.
    pub(crate) fn metadata_bytes(&self) -> u64 {
        let len = |r: &Range<u64>| r.end - r.start;
        let columns = (0..self.num_columns() as usize).map(|at| table_entry(&self.cmo_table, at).1);
        let tables = len(&self.footer.cmo_range()) + len(&self.footer.gbo_range());
        let descriptor = self.global_buffers.first().map_or(0, len);
        columns.fold(tables + descriptor + FOOTER_BYTES as u64, u64::saturating_add)
    }
}

/// Where the end of a file's data is: no buffer reaches into the footer.
pub(super) fn data_end(file_bytes: u64) -> u64 {
    file_bytes.saturating_sub(FOOTER_BYTES as u64)
}

pub(super) fn column_metadata_range(cmo_table: &[u8], column: u32, file_bytes: u64) -> Result<Range<u64>> {
    if cmo_table.len() / 16 <= column as usize {
        return Err(Error::corrupt(format!(
            "the schema needs column {column}; the file has {}",
            cmo_table.len() / 16
        )));
    }
    let (start, len) = table_entry(cmo_table, column as usize);
    range_within(start, len, data_end(file_bytes), || format!("metadata of column {column}"))
}

/// Opens a file of a known length. At most three rounds, usually one.
#[derive(Debug)]
pub(crate) struct OpenFile {
    file_bytes: u64,
    limits: Limits,
}

impl OpenFile {
    pub(crate) fn new(file_bytes: u64, limits: Limits) -> Self {
        Self { file_bytes, limits }
    }

    fn tail_range(&self) -> Range<u64> {
        self.file_bytes.saturating_sub(TAIL_BYTES)..self.file_bytes
    }
}

impl Decode for OpenFile {
    type Output = Metadata;

    fn step(&mut self, segments: &Segments) -> Result<Step<Metadata>> {
        if self.file_bytes == 0 {
            corrupt!("not a Lance file: it is empty");
        }
        let tail_range = self.tail_range();
        let Some(tail) = segments.bytes(&tail_range) else { return Ok(Step::Need(vec![tail_range])) };
        let Some((before, footer_bytes)) = tail.split_last_chunk::<FOOTER_BYTES>() else {
            return Err(if tail.ends_with(&super::footer::MAGIC) {
                Error::corrupt(format!(
                    "a Lance file of {} bytes; the footer alone has {FOOTER_BYTES}",
                    tail.len()
                ))
            } else {
                not_lance(&tail[tail.len().saturating_sub(4)..])
            });
        };
        let footer = Footer::parse(footer_bytes, self.file_bytes, &self.limits)?;

        // The first read may hold a table whole, in part or not at all.
        let lookup = |range: &Range<u64>| match segments.bytes(range) {
            Some(bytes) => Some(bytes),
            None if range.start >= tail_range.start => {
                let start = (range.start - tail_range.start) as usize;
                Some(tail.slice(start..start + (range.end - range.start) as usize))
            }
            None => None,
        };
        let tables = footer.cmo_range().end - footer.cmo_start + footer.gbo_range().end - footer.gbo_start;
        check_metadata_bytes(tables, "the offset tables", &self.limits)?;
        let gbo_range = footer.gbo_range();
        let Some(gbo_table) = lookup(&gbo_range) else { return Ok(Step::Need(vec![gbo_range])) };

        // First of all: the record's checksum covers the footer and the table just used.
        let before = &before[before.len().saturating_sub(MAX_RECORD_BYTES)..];
        let extras = extras::parse(before, &gbo_table, footer_bytes)?;
        let global_buffers = parse_global_buffers(&gbo_table, self.file_bytes)?;
        let Some(descriptor_range) = global_buffers.first().cloned() else {
            corrupt!("the file has no global buffers, so no schema");
        };
        let descriptor_bytes = descriptor_range.end - descriptor_range.start;
        check_metadata_bytes(descriptor_bytes.saturating_add(tables), "descriptor and tables", &self.limits)?;
        let checksums = find_extra(&extras, KIND_CHECKSUMS, &global_buffers)?;
        let checks_range = match checksums {
            Some(index) => FileChecks::tail_range(&global_buffers[index], footer.num_columns)?,
            None => 0..0,
        };

        let cmo_range = footer.cmo_range();
        let (descriptor, cmo_table, checks_tail) =
            match (lookup(&descriptor_range), lookup(&cmo_range), lookup(&checks_range)) {
                (Some(descriptor), Some(cmo_table), Some(checks)) => (descriptor, cmo_table, checks),
                _ => {
                    let mut need = vec![descriptor_range, cmo_range, checks_range];
                    need.retain(|range| lookup(range).is_none());
                    return Ok(Step::Need(need));
                }
            };

        let checks = match checksums {
            Some(index) => FileChecks::parse(checks_tail, index, &global_buffers, footer.num_columns)?,
            None => None,
        };
        if let Some(checks) = &checks {
            checks.verify_descriptor(&descriptor).map_err(|e| e.at_offset(descriptor_range.start))?;
            checks.verify_cmo(&cmo_table).map_err(|e| e.at_offset(cmo_range.start))?;
        }
        let (schema, num_rows) = Schema::parse(&descriptor, footer.version, &self.limits)?;
        let mut held = Segments::new();
        held.insert(tail_range.start, tail);
        Ok(Step::Done(Metadata {
            file_bytes: self.file_bytes,
            schema,
            num_rows,
            global_buffers,
            extras,
            checks: checks.map(Arc::new),
            limits: self.limits.clone(),
            cmo_table,
            held: Arc::new(held),
            footer,
        }))
    }
}

fn check_metadata_bytes(bytes: u64, what: &str, limits: &Limits) -> Result<()> {
    if bytes > limits.metadata_bytes {
        return Err(Error::limit(format!(
            "{what} have {bytes} bytes; at most {} are read",
            limits.metadata_bytes
        )));
    }
    Ok(())
}

fn parse_global_buffers(gbo_table: &[u8], file_bytes: u64) -> Result<Vec<Range<u64>>> {
    let end = data_end(file_bytes);
    (0..gbo_table.len() / 16)
        .map(|index| {
            let (start, len) = table_entry(gbo_table, index);
            range_within(start, len, end, || format!("global buffer {index}"))
        })
        .collect()
}

/// The global buffer with a kind of extra.
fn find_extra(extras: &[Extra], kind: u32, global_buffers: &[Range<u64>]) -> Result<Option<usize>> {
    let Some(extra) = extras.iter().find(|extra| extra.kind == kind) else { return Ok(None) };
    let index = extra.global_buffer as usize;
    if index == 0 || index >= global_buffers.len() {
        corrupt!("extra of kind {kind} in global buffer {index}; there are {}", global_buffers.len());
    }
    Ok(Some(index))
}
