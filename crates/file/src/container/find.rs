//! Looking fields up in the directory of a wide file.
//!
//! ```text
//! round 1   the bucket of each name, 4 KiB
//! round 2   the fields' messages, the schema's metadata, the metadata of the fields' columns
//! ```
//!
//! See docs/format/extras.md, "Kind 2". The descriptor as a whole is not looked at.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use super::Metadata;
use super::checksums::mismatch;
use super::column::ColumnPlace;
use super::directory::{Directory, Ends, Entry, name_hash};
use super::metadata::{check_metadata_bytes, data_end};
use crate::error::corrupt;
use crate::io::{Decode, Segments, Step};
use crate::schema::{Field, FieldPart};
use crate::{FormatVersion, Limits, Result};

/// Fields of one hash before the descriptor is the better place to look.
const MAX_ENTRIES_OF_A_NAME: usize = 16;
/// Columns of a field whose metadata is fetched along with its messages. A field with more of them may be wanted in
/// part.
const FETCHED_COLUMNS: usize = 8;

/// A top-level field, found by its name.
#[derive(Debug)]
pub(crate) struct FoundField {
    pub(crate) field: Field,
    /// Where its messages stand in the descriptor: fields come in this order.
    pub(crate) position: u64,
    /// Its stored columns, with their metadata where that was fetched too.
    columns: Vec<ColumnPlace>,
}

impl FoundField {
    /// The number of each of its columns, and where that is.
    pub(crate) fn places(&self) -> impl Iterator<Item = (u32, ColumnPlace)> + '_ {
        self.field.columns.clone().zip(self.columns.iter().cloned())
    }
}

/// What a look-up found.
#[derive(Debug)]
pub(crate) struct Found {
    /// For each name all fields of that name, in the file's order.
    pub(crate) fields: Vec<Vec<FoundField>>,
    /// The schema's metadata: entries of a `Schema` message.
    pub(crate) metadata: Bytes,
}

/// Reads the fields of some names: two rounds. `None` where the directory is no help, as with many fields of one name.
#[derive(Debug)]
pub(crate) struct FindFields {
    names: Vec<String>,
    directory: Arc<Directory>,
    descriptor: Range<u64>,
    data_end: u64,
    version: FormatVersion,
    limits: Limits,
    held: Arc<Segments>,
}

impl FindFields {
    /// `None` for a file without a directory.
    pub(crate) fn new(metadata: &Metadata, names: Vec<String>) -> Option<Self> {
        Some(Self {
            names,
            directory: metadata.directory.clone()?,
            descriptor: metadata.global_buffers.first()?.clone(),
            data_end: data_end(metadata.file_bytes),
            version: metadata.version(),
            limits: metadata.limits.clone(),
            held: metadata.held.clone(),
        })
    }

    fn ends(&self) -> Ends {
        Ends { descriptor_bytes: self.descriptor.end - self.descriptor.start, data_end: self.data_end }
    }

    /// A range of the descriptor as one of the file.
    fn in_file(&self, part: &Range<u64>) -> Range<u64> {
        self.descriptor.start + part.start..self.descriptor.start + part.end
    }

    fn parse_field(
        &self,
        entry: &Entry,
        messages: Bytes,
        find: &dyn Fn(&Range<u64>) -> Option<Bytes>,
    ) -> Result<FoundField> {
        check("the messages of a field", entry.messages_crc, &messages)?;
        let part = FieldPart { messages, columns: entry.column_range() };
        let field = part.parse(self.version, &self.limits)?;
        if name_hash(field.name()) != entry.hash {
            corrupt!("the field directory leads to field {:?}, whose hash is another", field.name());
        }
        let columns = entry.column_range().zip(&entry.columns);
        let columns = columns.map(|(at, known)| ColumnPlace::known(at, known, find(&known.message)));
        Ok(FoundField { position: entry.messages.start, columns: columns.collect(), field })
    }
}

fn check(what: &str, expected: u32, bytes: &[u8]) -> Result<()> {
    match crc32c::crc32c(bytes) {
        found if found == expected => Ok(()),
        found => Err(mismatch(what, expected, found)),
    }
}

impl Decode for FindFields {
    type Output = Option<Found>;

    fn step(&mut self, segments: &Segments) -> Result<Step<Self::Output>> {
        let find = |range: &Range<u64>| segments.bytes(range).or_else(|| self.held.bytes(range));
        let directory = &self.directory;
        let hashes: Vec<u64> = self.names.iter().map(|name| name_hash(name)).collect();
        let mut buckets = BTreeMap::new();
        for hash in &hashes {
            let Some(of_name) = directory.buckets_of(*hash) else { return Ok(Step::Done(None)) };
            buckets.extend(of_name.map(|bucket| (bucket, directory.bucket_range(bucket))));
        }
        let bytes = buckets.values().fold(0u64, |sum, b| sum.saturating_add(b.end - b.start));
        check_metadata_bytes(bytes, "buckets of the field directory", &self.limits)?;
        let mut need: Vec<_> = buckets.values().filter(|range| find(range).is_none()).cloned().collect();
        if !need.is_empty() {
            return Ok(Step::Need(need));
        }

        let ends = self.ends();
        let mut entries: BTreeMap<u64, Vec<Entry>> = hashes.iter().map(|hash| (*hash, Vec::new())).collect();
        for (bucket, range) in &buckets {
            let bytes = find(range).unwrap_or_default();
            let parsed =
                directory.parse_bucket(*bucket, &bytes, &ends).map_err(|e| e.at_offset(range.start))?;
            for entry in parsed {
                if let Some(of_hash) = entries.get_mut(&entry.hash) {
                    of_hash.push(entry);
                }
            }
        }
        if entries.values().any(|of_hash| of_hash.len() > MAX_ENTRIES_OF_A_NAME) {
            return Ok(Step::Done(None));
        }

        let metadata_range = self.in_file(&directory.summary.metadata);
        need.extend(find(&metadata_range).is_none().then(|| metadata_range.clone()));
        let mut bytes = metadata_range.end - metadata_range.start;
        for entry in entries.values().flatten() {
            let messages = self.in_file(&entry.messages);
            bytes = bytes.saturating_add(messages.end - messages.start);
            need.extend(find(&messages).is_none().then_some(messages));
            if entry.columns.len() <= FETCHED_COLUMNS {
                for column in &entry.columns {
                    bytes = bytes.saturating_add(column.message.end - column.message.start);
                    need.extend(find(&column.message).is_none().then(|| column.message.clone()));
                }
            }
        }
        check_metadata_bytes(bytes, "fields and columns", &self.limits)?;
        if !need.is_empty() {
            return Ok(Step::Need(need));
        }

        let metadata = find(&metadata_range).unwrap_or_default();
        check("the schema's metadata", directory.summary.metadata_crc, &metadata)
            .map_err(|e| e.at_offset(metadata_range.start))?;
        let mut fields = Vec::with_capacity(self.names.len());
        for (name, hash) in self.names.iter().zip(&hashes) {
            let mut of_name = Vec::new();
            for entry in &entries[hash] {
                let range = self.in_file(&entry.messages);
                let messages = find(&range).unwrap_or_default();
                let found = self.parse_field(entry, messages, &find).map_err(|e| e.at_offset(range.start))?;
                if found.field.name() == name {
                    of_name.push(found);
                }
            }
            fields.push(of_name);
        }
        Ok(Step::Done(Some(Found { fields, metadata })))
    }
}
