//! Writing a container: bytes to append, in order, and never back.
//!
//! ```text
//! pages, global buffers 1 …    as they come, each at a multiple of the alignment
//! directory's buckets          where there are more columns than `directory_columns`
//! checksums
//! descriptor                   global buffer 0
//! column metadata              packed; aligned each where the alignment is 4096
//! CMO table, GBO table         adjacent, not aligned: other readers find the one by the other
//! directory's index            the last global buffer, so near the end that the first read of a file has it
//! extras record, footer
//! ```
//!
//! Rules that are not visible in a picture, for other readers' sake (docs/format/container.md, "What others demand"): the CMO table
//! ends where the GBO table starts; the descriptor stands before the column metadata; page buffers and
//! global buffers start at multiples of 64; there is at least one global buffer.

use std::ops::Range;

use bytes::Bytes;
use prost::Message;

use super::checksums::{Checksums, num_units, unit_crcs};
use super::column::PageMessage;
use super::directory::{self, Entry, KnownColumn, Plan, Summary, name_hash};
use super::extras::{self, Extra, KIND_CHECKSUMS, KIND_DIRECTORY, MAX_EXTRAS};
use super::footer::{ENTRY_BYTES, FOOTER_BYTES, Footer};
use crate::proto::{encodings, file_v2 as pb};
use crate::schema::{DescriptorParts, Schema};
use crate::{Error, FormatVersion, Limits, Result};

/// What stands between buffers.
pub(crate) const PADDING_BYTE: u8 = 0x48;
/// Up to 4,095 of it at once.
static PADDING: [u8; 4096] = [PADDING_BYTE; 4096];

/// Bytes of a field directory for each column, about.
const DIRECTORY_BYTES: u64 = 61;
/// A file of more columns gets a field directory.
pub(crate) const DIRECTORY_COLUMNS: usize = 1000;

/// Appends pages and global buffers, then the metadata. Does no I/O: what is to be written next is taken
/// with [`take_output`](Self::take_output).
#[derive(Debug)]
pub(crate) struct ContainerEncoder {
    version: FormatVersion,
    alignment: u64,
    checksums: bool,
    /// Columns beyond which the file gets a field directory.
    directory_columns: usize,
    /// Bytes appended so far.
    position: u64,
    output: Vec<Bytes>,
    columns: Vec<ColumnState>,
    /// From index 1 on.
    global_buffers: Vec<Range<u64>>,
    global_crcs: Vec<u32>,
    extras: Vec<Extra>,
}

/// A column's metadata message as far as it goes, and the checksums of its pages.
#[derive(Debug)]
struct ColumnState {
    message: Vec<u8>,
    crcs: Vec<u32>,
}

impl ColumnState {
    fn new() -> Self {
        Self::described(encodings::column_encoding::ColumnEncoding::Values(encodings::Empty {}))
    }

    /// A blob column of 2.0.
    fn of_blobs() -> Self {
        use encodings::column_encoding::ColumnEncoding;
        let values =
            encodings::ColumnEncoding { column_encoding: Some(ColumnEncoding::Values(encodings::Empty {})) };
        let blob = encodings::Blob { inner: Some(Box::new(values)) };
        Self::described(ColumnEncoding::Blob(Box::new(blob)))
    }

    fn described(encoding: encodings::column_encoding::ColumnEncoding) -> Self {
        let encoding = encodings::ColumnEncoding { column_encoding: Some(encoding) };
        let url = format!("/{}", super::column::COLUMN_ENCODING);
        let encoding = pb::ColumnMetadata {
            encoding: Some(describe(url, encoding.encode_to_vec().into())),
            ..Default::default()
        };
        Self { message: encoding.encode_to_vec(), crcs: Vec::new() }
    }
}

/// A page to append.
#[derive(Debug, Clone)]
pub(crate) struct NewPage {
    pub(crate) buffers: Vec<Bytes>,
    /// Rows, times the dimensions of fixed-size lists of structs above the leaf; in 2.0 rows of the column.
    pub(crate) length: u64,
    /// Top-level row of the first value; 0 in 2.0.
    pub(crate) priority: u64,
    pub(crate) message: PageMessage,
    /// The message.
    pub(crate) layout: Bytes,
}

/// The end of a file.
#[derive(Debug)]
pub(crate) struct Finished {
    /// What is left to append.
    pub(crate) output: Vec<Bytes>,
    /// Length of the whole file.
    #[allow(dead_code)]
    pub(crate) file_bytes: u64,
}

impl ContainerEncoder {
    /// A file with nothing in it. `alignment` is 64 or 4096.
    pub(crate) fn new(version: FormatVersion, alignment: u64, checksums: bool) -> Result<Self> {
        if alignment != 64 && alignment != 4096 {
            return Err(Error::invalid(format!("an alignment of {alignment}; it can be 64 or 4096")));
        }
        Ok(Self {
            version,
            alignment,
            checksums,
            directory_columns: DIRECTORY_COLUMNS,
            position: 0,
            output: Vec::new(),
            columns: Vec::new(),
            global_buffers: Vec::new(),
            global_crcs: Vec::new(),
            extras: Vec::new(),
        })
    }

    /// The same with another number of columns beyond which there is a field directory.
    pub(crate) fn with_directory_above(mut self, columns: usize) -> Self {
        self.directory_columns = columns;
        self
    }

    /// Bytes appended so far, whether taken or not.
    pub(crate) fn position(&self) -> u64 {
        self.position
    }

    /// Appends bytes that only values refer to; says where they are.
    pub(crate) fn append_buffer(&mut self, bytes: Bytes) -> Range<u64> {
        let range = self.append(bytes);
        // The next one is aligned because every one before it was filled up.
        let padding = (self.position.next_multiple_of(self.alignment) - self.position) as usize;
        self.append(Bytes::from_static(&PADDING[..padding]));
        range
    }

    fn append(&mut self, bytes: Bytes) -> Range<u64> {
        let start = self.position;
        self.position += bytes.len() as u64;
        if !bytes.is_empty() {
            self.output.push(bytes);
        }
        start..self.position
    }

    /// Describes a column as one of blobs, as 2.0 does; before any page of it.
    pub(crate) fn describe_as_blobs(&mut self, column: u32) {
        let column = column as usize;
        if self.columns.len() <= column {
            self.columns.resize_with(column + 1, ColumnState::new);
        }
        self.columns[column] = ColumnState::of_blobs();
    }

    /// Appends the buffers of a page and notes it as the next of its column.
    pub(crate) fn add_page(&mut self, column: u32, page: NewPage) -> Result<()> {
        let column = column as usize;
        if column >= Limits::default().columns {
            return Err(Error::limit(format!(
                "column {column}: a file has at most {}",
                Limits::default().columns
            )));
        }
        while self.columns.len() <= column {
            self.columns.push(ColumnState::new());
        }
        let mut record = pb::column_metadata::Page {
            length: page.length,
            priority: page.priority,
            encoding: Some(describe(page.message.type_url().to_owned(), page.layout)),
            ..Default::default()
        };
        for buffer in page.buffers {
            if self.checksums {
                unit_crcs(&buffer, &mut self.columns[column].crcs);
            }
            let range = self.append_buffer(buffer);
            record.buffer_offsets.push(range.start);
            record.buffer_sizes.push(range.end - range.start);
        }
        prost::encoding::message::encode(2, &record, &mut self.columns[column].message);
        Ok(())
    }

    /// Appends a global buffer; the first gets index 1.
    pub(crate) fn add_global_buffer(&mut self, bytes: Bytes) -> u32 {
        if self.checksums {
            unit_crcs(&bytes, &mut self.global_crcs);
        }
        let range = self.append_buffer(bytes);
        self.global_buffers.push(range);
        self.global_buffers.len() as u32
    }

    /// Appends a global buffer that the extras record names; checksums need no call.
    pub(crate) fn add_extra(&mut self, kind: u32, bytes: Bytes) -> Result<u32> {
        // Two places are kept, for the checksums and the directory.
        if self.extras.len() + 2 >= MAX_EXTRAS {
            return Err(Error::limit(format!("more than {MAX_EXTRAS} extras")));
        }
        let global_buffer = self.add_global_buffer(bytes);
        self.extras.push(Extra { kind, global_buffer });
        Ok(global_buffer)
    }

    /// Bytes that one more extra may have before extras make the file larger than they shall: by 0.15 % and 1 KiB.
    /// The checksums and the directory are counted in; nothing is left where they take it all.
    pub(crate) fn room_for_extra(&self, num_columns: u64) -> u64 {
        // A global buffer is aligned and has an entry in the GBO table and one in the record.
        let per_buffer = self.alignment + ENTRY_BYTES + 8;
        let mut taken = per_buffer + 16;
        if self.checksums {
            let page_units = self.columns.iter().map(|c| c.crcs.len() as u64).sum();
            let globals = self.global_crcs.len() as u64;
            taken += per_buffer + Checksums::buffer_bytes(page_units, globals, num_columns);
        }
        if num_columns > self.directory_columns as u64 {
            taken += 2 * per_buffer + num_columns * DIRECTORY_BYTES;
        }
        let room = (self.position * 15 / 10_000 + 1024).saturating_sub(taken);
        // It has checksums too.
        room.saturating_sub(if self.checksums { num_units(room) * 4 } else { 0 })
    }

    /// What is to be appended to the file now.
    pub(crate) fn take_output(&mut self) -> Vec<Bytes> {
        std::mem::take(&mut self.output)
    }

    /// Appends the metadata. `schema` decides how many columns there are.
    pub(crate) fn finish(mut self, schema: &Schema, num_rows: u64) -> Result<Finished> {
        let num_columns = schema.num_columns as usize;
        if self.columns.len() > num_columns {
            return Err(Error::invalid(format!(
                "internal: pages of column {}; the schema has {num_columns} columns",
                self.columns.len() - 1
            )));
        }
        self.columns.resize_with(num_columns, ColumnState::new);
        let columns = std::mem::take(&mut self.columns);
        let descriptor = schema.to_descriptor(num_rows);
        let directory = self.plan_directory(schema, &columns, &descriptor);
        let places = self.place(&columns, directory.as_ref(), descriptor.len() as u64);

        let mut cmo_table = Vec::with_capacity(num_columns * ENTRY_BYTES as usize);
        for range in &places.columns {
            push_entry(&mut cmo_table, range);
        }
        let mut index = None;
        if let Some(directory) = directory {
            let num_fields = schema.fields.len() as u32;
            let (num_columns, buckets_buffer) = (schema.num_columns, self.global_buffers.len() as u32 + 1);
            let metadata = &directory.parts.metadata;
            let summary = Summary {
                num_rows,
                metadata: metadata.start as u64..metadata.end as u64,
                metadata_crc: crc32c::crc32c(&descriptor[metadata.clone()]),
                num_fields,
                num_columns,
                buckets_buffer,
                has_units: self.checksums,
            };
            let entries = directory.entries(schema, &columns, &places, &descriptor);
            let (buckets, bytes) = directory::emit(&directory.plan, &entries, &summary);
            self.add_global_buffer(buckets.into());
            index = Some(bytes);
        }
        if self.checksums {
            if let Some(index) = &index {
                unit_crcs(index, &mut self.global_crcs);
            }
            let others = 2 + u32::from(index.is_some());
            let checksums = Checksums {
                columns: columns.iter().map(|c| (c.crcs.as_slice(), c.message.as_slice())).collect(),
                globals: &self.global_crcs,
                cmo_table: &cmo_table,
                descriptor: &descriptor,
                num_global_buffers: self.global_buffers.len() as u32 + others,
            };
            let range = self.append_buffer(checksums.emit().into());
            debug_assert_eq!(range.start, places.checksums);
            self.global_buffers.push(range);
            let global_buffer = self.global_buffers.len() as u32;
            self.extras.push(Extra { kind: KIND_CHECKSUMS, global_buffer });
        }
        let descriptor = self.append(descriptor.into());
        debug_assert_eq!(descriptor.start, places.descriptor);
        for (range, column) in places.columns.iter().zip(columns) {
            self.pad_to(range.start);
            self.append(column.message.into());
        }
        let cmo_start = self.append(cmo_table.into()).start;
        if let Some(index) = &index {
            self.global_buffers.push(places.index..places.index + index.len() as u64);
            let global_buffer = self.global_buffers.len() as u32;
            self.extras.push(Extra { kind: KIND_DIRECTORY, global_buffer });
        }
        let mut gbo_table = Vec::new();
        push_entry(&mut gbo_table, &descriptor);
        self.global_buffers.iter().for_each(|range| push_entry(&mut gbo_table, range));
        let gbo_table = Bytes::from(gbo_table);
        let gbo_start = self.append(gbo_table.clone()).start;
        if let Some(index) = index {
            self.pad_to(places.index);
            self.append(index.into());
        }
        let footer = Footer {
            column_meta_start: places.columns.first().map_or(cmo_start, |range| range.start),
            cmo_start,
            gbo_start,
            num_global_buffers: self.global_buffers.len() as u32 + 1,
            num_columns: schema.num_columns,
            version: self.version,
            raw_version: self.version.to_footer(),
        };
        let footer: [u8; FOOTER_BYTES] = footer.emit();
        if !self.extras.is_empty() {
            self.append(extras::emit(&self.extras, &gbo_table, &footer).into());
        }
        self.append(Bytes::copy_from_slice(&footer));
        Ok(Finished { output: self.output, file_bytes: self.position })
    }

    /// The directory of a wide file. None where a length passes what its entries hold: such a file does without.
    fn plan_directory(
        &self,
        schema: &Schema,
        columns: &[ColumnState],
        descriptor: &[u8],
    ) -> Option<DirectoryPlan> {
        let small = |bytes: usize| u32::try_from(bytes).is_ok();
        let messages = columns.iter().map(|c| c.message.len()).sum();
        if columns.len() <= self.directory_columns || !small(descriptor.len()) || !small(messages) {
            return None;
        }
        let parts = DescriptorParts::find(descriptor).ok()?;
        debug_assert_eq!(parts.fields.len(), schema.fields.len());
        let hashes = schema.fields.iter().enumerate().map(|(at, field)| (name_hash(field.name()), at));
        let mut order: Vec<(u64, usize)> = hashes.collect();
        order.sort_unstable();
        let columns = order.iter().map(|(_, at)| schema.fields[*at].columns.len() as u32);
        Some(DirectoryPlan { plan: Plan::new(columns), parts, order })
    }

    /// Works out where everything will be, since the checksums and the directory stand before what they cover.
    fn place(
        &self,
        columns: &[ColumnState],
        directory: Option<&DirectoryPlan>,
        descriptor_bytes: u64,
    ) -> Places {
        let aligned = |at: u64| at.next_multiple_of(self.alignment);
        let plan = directory.map(|directory| &directory.plan);
        let checksums = aligned(self.position + plan.map_or(0, |plan| plan.bytes));
        let mut at = checksums;
        if self.checksums {
            let page_units = columns.iter().map(|c| c.crcs.len() as u64).sum();
            let more = plan.map_or(0, |plan| num_units(plan.bytes) + num_units(plan.index_bytes()));
            let globals = self.global_crcs.len() as u64 + more;
            at = aligned(at + Checksums::buffer_bytes(page_units, globals, columns.len() as u64));
        }
        let descriptor = at;
        at += descriptor_bytes;
        let mut ranges = Vec::with_capacity(columns.len());
        for column in columns {
            if self.alignment > 64 {
                at = aligned(at);
            }
            let end = at + column.message.len() as u64;
            ranges.push(at..end);
            at = end;
        }
        let global_buffers = self.global_buffers.len() + 3 + usize::from(self.checksums);
        let tables = (columns.len() + global_buffers) as u64 * ENTRY_BYTES;
        Places { checksums, descriptor, columns: ranges, index: aligned(at + tables) }
    }

    fn pad_to(&mut self, position: u64) {
        let padding = (position - self.position) as usize;
        self.append(Bytes::from_static(&PADDING[..padding]));
    }
}

/// Offsets of what [`ContainerEncoder::finish`] appends.
struct Places {
    checksums: u64,
    descriptor: u64,
    columns: Vec<Range<u64>>,
    /// Of the directory, where there is one.
    index: u64,
}

/// What is known of a directory before places are.
struct DirectoryPlan {
    plan: Plan,
    parts: DescriptorParts,
    /// Hash and number of each top-level field, in the directory's order.
    order: Vec<(u64, usize)>,
}

impl DirectoryPlan {
    fn entries(
        &self,
        schema: &Schema,
        columns: &[ColumnState],
        places: &Places,
        descriptor: &[u8],
    ) -> Vec<Entry> {
        let mut next_unit = 0;
        let known: Vec<KnownColumn> = columns
            .iter()
            .zip(&places.columns)
            .map(|(column, message)| {
                let first_unit = next_unit;
                next_unit += column.crcs.len() as u64;
                let crc = crc32c::crc32c(&column.message);
                KnownColumn { message: message.clone(), crc, first_unit }
            })
            .collect();
        let entry = |(hash, at): &(u64, usize)| {
            let (messages, columns) = (&self.parts.fields[*at], &schema.fields[*at].columns);
            Entry {
                hash: *hash,
                messages: messages.start as u64..messages.end as u64,
                messages_crc: crc32c::crc32c(&descriptor[messages.clone()]),
                first_column: columns.start,
                columns: known[columns.start as usize..columns.end as usize].to_vec(),
            }
        };
        self.order.iter().map(entry).collect()
    }
}

fn push_entry(table: &mut Vec<u8>, range: &Range<u64>) {
    table.extend_from_slice(&range.start.to_le_bytes());
    table.extend_from_slice(&(range.end - range.start).to_le_bytes());
}

/// A description embedded where it is needed.
fn describe(type_url: String, message: Bytes) -> pb::Encoding {
    let any = pb::Any { type_url, value: message };
    let direct = pb::DirectEncoding { encoding: any.encode_to_vec().into() };
    pb::Encoding { location: Some(pb::encoding::Location::Direct(direct)) }
}
