//! Whether a field directory says what the descriptor, the offset tables and the columns' metadata say.
//!
//! Readers take either way to a column, so both must lead to the same. `verify` asks; opening does not.

use std::ops::Range;
use std::sync::Arc;

use super::directory::{Directory, Ends, Entry, KnownColumn, name_hash};
use super::metadata::{check_metadata_bytes, data_end};
use super::{Metadata, Tables, u64_at};
use crate::error::corrupt;
use crate::io::{Decode, Segments, Step};
use crate::schema::DescriptorParts;
use crate::{Error, Limits, Result};

/// Reads the whole directory and what it is about: one round.
#[derive(Debug)]
pub(crate) struct DirectoryFaults<'t> {
    tables: &'t Tables,
    directory: Arc<Directory>,
    ends: Ends,
    limits: Limits,
    held: Arc<Segments>,
}

impl<'t> DirectoryFaults<'t> {
    /// `None` for a file without a directory.
    pub(crate) fn new(metadata: &Metadata, tables: &'t Tables) -> Option<Self> {
        let descriptor = metadata.global_buffers.first()?;
        let ends = Ends {
            descriptor_bytes: descriptor.end - descriptor.start,
            data_end: data_end(metadata.file_bytes),
        };
        Some(Self {
            tables,
            directory: metadata.directory.clone()?,
            ends,
            limits: metadata.limits.clone(),
            held: metadata.held.clone(),
        })
    }
}

impl Decode for DirectoryFaults<'_> {
    type Output = Vec<Error>;

    fn step(&mut self, segments: &Segments) -> Result<Step<Vec<Error>>> {
        let find = |range: &Range<u64>| segments.bytes(range).or_else(|| self.held.bytes(range));
        let (tables, directory) = (self.tables, &self.directory);
        let buckets: Vec<_> = (0..directory.num_buckets()).map(|b| directory.bucket_range(b)).collect();
        let columns = (0..directory.summary.num_columns).map(|column| tables.column_range(column));
        let columns = columns.collect::<Result<Vec<_>>>()?;
        let sums = |column: u32| tables.checks.as_ref().map_or(0..0, |checks| checks.column_range(column));
        let all = buckets.iter().chain(&columns).cloned();
        let all: Vec<_> = all.chain((0..directory.summary.num_columns).map(sums)).collect();
        let bytes = all.iter().fold(0u64, |sum, range| sum.saturating_add(range.end - range.start));
        check_metadata_bytes(bytes, "column metadata and the field directory", &self.limits)?;
        let need: Vec<_> = all.into_iter().filter(|range| find(range).is_none()).collect();
        if !need.is_empty() {
            return Ok(Step::Need(need));
        }

        let mut faults = Vec::new();
        let mut found: Vec<Entry> = Vec::new();
        for (bucket, range) in buckets.iter().enumerate() {
            let bytes = find(range).unwrap_or_default();
            match directory.parse_bucket(bucket, &bytes, &self.ends) {
                Ok(entries) => found.extend(entries),
                Err(e) => faults.push(e.at_offset(range.start)),
            }
        }
        // What a bucket that cannot be read would have said is not known.
        if !faults.is_empty() {
            return Ok(Step::Done(faults));
        }
        let known: Vec<KnownColumn> = (0u32..)
            .zip(&columns)
            .map(|(at, message)| KnownColumn {
                message: message.clone(),
                crc: crc32c::crc32c(&find(message).unwrap_or_default()),
                first_unit: u64_at(&find(&sums(at)).unwrap_or_default(), 0),
            })
            .collect();
        let Some(descriptor) = &tables.descriptor else { return Ok(Step::Done(faults)) };
        let parts = DescriptorParts::find(descriptor)?;
        let metadata = parts.metadata.start as u64..parts.metadata.end as u64;
        if metadata != directory.summary.metadata {
            faults.push(Error::corrupt(format!(
                "the field directory has the schema's metadata at {:?} of the descriptor, not {metadata:?}",
                directory.summary.metadata
            )));
        } else if crc32c::crc32c(&descriptor[parts.metadata.clone()]) != directory.summary.metadata_crc {
            faults.push(Error::corrupt("the field directory has another checksum of the schema's metadata"));
        }
        let expected = expected(tables, descriptor, &parts, &known)?;
        if expected.len() != found.len() {
            faults.push(Error::corrupt(format!(
                "the field directory has {} entries for {} fields",
                found.len(),
                expected.len()
            )));
        }
        for (found, (name, expected)) in found.iter().zip(&expected) {
            if found != expected {
                let what = "the field directory contradicts the descriptor, the offsets or the checksums";
                faults.push(Error::corrupt(format!("{what}: {found:?}, not {expected:?}")).in_column(name));
            }
        }
        Ok(Step::Done(faults))
    }
}

/// The entries that a directory should have, with the fields' names.
fn expected(
    tables: &Tables,
    descriptor: &[u8],
    parts: &DescriptorParts,
    known: &[KnownColumn],
) -> Result<Vec<(String, Entry)>> {
    let mut entries = Vec::with_capacity(parts.fields.len());
    for (field, messages) in tables.schema.fields.iter().zip(&parts.fields) {
        let columns = field.columns.start as usize..field.columns.end as usize;
        let Some(columns) = known.get(columns) else {
            corrupt!(
                "field {:?} has columns {:?}; the file has {}",
                field.name(),
                field.columns,
                known.len()
            );
        };
        let entry = Entry {
            hash: name_hash(field.name()),
            messages: messages.start as u64..messages.end as u64,
            messages_crc: crc32c::crc32c(&descriptor[messages.clone()]),
            first_column: field.columns.start,
            columns: columns.to_vec(),
        };
        entries.push((field.name().to_owned(), entry));
    }
    entries.sort_by_key(|(_, entry)| (entry.hash, entry.messages.start));
    Ok(entries)
}
