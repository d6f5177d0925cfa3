//! Opening a file: from its length to its metadata.
//!
//! ```text
//! round 1   the last 64 KiB, or the whole file: footer, extras record, and mostly all of the rest
//! round 2   the GBO table, where it is not in there
//! round 3   descriptor, CMO table, end of the checksums: those that are not in there
//! ```
//!
//! A file with a field directory is open with the index of that in round 3's place, which the tail read has as well
//! (two rounds where it has not); its descriptor is read when somebody asks for the whole schema. The messages
//! of the columns are not looked at: see `column.rs`.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use super::directory::Directory;
use super::extras::{
    self, Extra, KIND_BLOOMS, KIND_CHECKSUMS, KIND_DIRECTORY, KIND_STATISTICS, MAX_RECORD_BYTES,
};
use super::footer::{FOOTER_BYTES, Footer, not_lance};
use super::tables::{ReadTables, Tables};
use super::{range_within, table_entry};
use crate::error::corrupt;
use crate::io::{Decode, Segments, Step};
use crate::{Error, FormatVersion, Limits, Result};

/// Bytes of the first read.
pub(crate) const TAIL_BYTES: u64 = 64 * 1024;

/// What a file says about itself, columns aside.
#[derive(Debug)]
pub(crate) struct Metadata {
    pub(crate) footer: Footer,
    pub(crate) file_bytes: u64,
    /// Rows, as the descriptor says, or the directory where the file has one.
    pub(crate) num_rows: u64,
    /// Where the global buffers are; the first is the descriptor.
    pub(crate) global_buffers: Vec<Range<u64>>,
    pub(crate) extras: Vec<Extra>,
    /// The global buffer with the checksums.
    pub(super) checksums: Option<usize>,
    pub(crate) directory: Option<Arc<Directory>>,
    /// The global buffer with the statistics.
    pub(crate) statistics: Option<usize>,
    /// The global buffer with the bloom filters.
    pub(crate) blooms: Option<usize>,
    pub(crate) limits: Limits,
    /// What the first read brought.
    pub(crate) held: Arc<Segments>,
    /// Set at opening, except where there is a directory.
    tables: OnceLock<Tables>,
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

    /// Schema, offsets and checksums of all columns, if they are loaded.
    pub(crate) fn tables(&self) -> Option<&Tables> {
        self.tables.get()
    }

    /// Keeps what [`read_tables`](Self::read_tables) became.
    pub(crate) fn keep_tables(&self, tables: Tables) -> &Tables {
        // A lost race stored the same.
        self.tables.get_or_init(|| tables)
    }

    /// A decoder of what [`tables`](Self::tables) gives.
    pub(crate) fn read_tables(&self) -> ReadTables {
        ReadTables {
            footer: self.footer.clone(),
            file_bytes: self.file_bytes,
            global_buffers: self.global_buffers.clone(),
            checksums: self.checksums,
            directory: self.directory.clone(),
            limits: self.limits.clone(),
            held: self.held.clone(),
        }
    }

    /// The global buffer that the directory's index refers to.
    pub(crate) fn buckets_buffer(&self) -> Option<usize> {
        self.directory.as_ref().map(|directory| directory.summary.buckets_buffer as usize)
    }

    /// Where the checksums are, if the file has them.
    pub(super) fn checksums_range(&self) -> Option<Range<u64>> {
        self.checksums.map(|index| self.global_buffers[index].clone())
    }

    /// Bytes of descriptor, column metadata, tables and footer: everything that is not data.
    pub(crate) fn metadata_bytes(&self, tables: &Tables) -> u64 {
        let len = |r: &Range<u64>| r.end - r.start;
        let descriptor = self.global_buffers.first().map_or(0, len);
        let rest = len(&self.footer.cmo_range()) + len(&self.footer.gbo_range()) + FOOTER_BYTES as u64;
        tables.column_bytes().saturating_add(rest + descriptor)
    }
}

/// Where the end of a file's data is: no buffer reaches into the footer.
pub(super) fn data_end(file_bytes: u64) -> u64 {
    file_bytes.saturating_sub(FOOTER_BYTES as u64)
}

/// Opens a file of a known length. At most three rounds, usually one; four where a directory stands far from the end.
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
        let statistics = find_extra(&extras, KIND_STATISTICS, &global_buffers)?;
        let blooms = find_extra(&extras, KIND_BLOOMS, &global_buffers)?;
        let mut directory = None;
        if let Some(at) = find_extra(&extras, KIND_DIRECTORY, &global_buffers)? {
            let index = &global_buffers[at];
            check_metadata_bytes(index.end - index.start, "the field directory", &self.limits)?;
            let range = Directory::trailer_range(index)?;
            let Some(trailer) = lookup(&range) else { return Ok(Step::Need(vec![range])) };
            let place = |e: Error| e.at_offset(range.start);
            if let Some(table) = Directory::table_range(index, &trailer).map_err(place)? {
                let Some(table) = lookup(&table) else { return Ok(Step::Need(vec![table])) };
                let (columns, checked) = (footer.num_columns, checksums.is_some());
                let parsed = Directory::parse(&trailer, table, &global_buffers, columns, checked);
                directory = Some(Arc::new(parsed.map_err(place)?));
            }
        }
        let mut held = Segments::new();
        held.insert(tail_range.start, tail.clone());
        let mut metadata = Metadata {
            file_bytes: self.file_bytes,
            num_rows: directory.as_ref().map_or(0, |d| d.summary.num_rows),
            global_buffers,
            extras,
            checksums,
            directory,
            statistics,
            blooms,
            limits: self.limits.clone(),
            held: Arc::new(held),
            tables: OnceLock::new(),
            footer,
        };
        if metadata.directory.is_none() {
            match metadata.read_tables().step(segments)? {
                Step::Need(need) => return Ok(Step::Need(need)),
                Step::Done(tables) => {
                    metadata.num_rows = tables.num_rows;
                    metadata.keep_tables(tables);
                }
            }
        }
        Ok(Step::Done(metadata))
    }
}

pub(super) fn check_metadata_bytes(bytes: u64, what: &str, limits: &Limits) -> Result<()> {
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
