//! Column metadata: the pages of a column, where their buffers are, and how they are described.
//!
//! ```text
//! ColumnMetadata { 1: Encoding, 2: Page*, 3: buffer offsets, 4: buffer sizes }
//! Page           { 1: buffer offsets, 2: buffer sizes, 3: length, 4: Encoding, 5: priority }
//! Encoding       { 2: { 1: Any { 1: "/lance.encodings21.PageLayout", 2: message } } }
//! ```
//!
//! An `Encoding` may also say where in the file the `Any` is: those are read in one more round. See
//! docs/format/container.md, "Column metadata". Pages are checked one by one as they are met, so that a hostile message cannot
//! make more of itself in memory than it is.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use prost::Message;

use super::checksums::{mismatch, num_units, page_range};
use super::directory::KnownColumn;
use super::metadata::data_end;
use super::{FileChecks, Metadata, Tables, range_within};
use crate::error::corrupt;
use crate::io::{Decode, Segments, Step};
use crate::proto::{file_v2 as pb, skim};
use crate::{Error, Limits, Result};

/// What a column says about itself.
#[derive(Debug, Clone)]
pub(crate) struct ColumnRecord {
    /// Index of the column in the file.
    pub(crate) index: u32,
    pub(crate) pages: Vec<PageRecord>,
    /// Buffers of the column as a whole, absolute, inside the file and before its footer. Nobody writes any; pages of 2.0
    /// may refer to them.
    pub(crate) buffers: Vec<Range<u64>>,
    /// A `lance.encodings.ColumnEncoding` message; only blobs of 2.0 say anything with it.
    #[allow(dead_code)]
    pub(crate) encoding: Bytes,
}

/// Where a page is and how it is described.
#[derive(Debug, Clone)]
pub(crate) struct PageRecord {
    /// Absolute, inside the file and before its footer.
    pub(crate) buffers: Vec<Range<u64>>,
    /// Rows, times the dimensions of fixed-size lists of structs above the leaf.
    pub(crate) length: u64,
    /// Top-level row of the first value, as written; 2.0 writes 0 always. Rows are
    /// counted from the lengths instead.
    #[allow(dead_code)]
    pub(crate) priority: u64,
    pub(crate) message: PageMessage,
    /// The message itself.
    pub(crate) encoding: Bytes,
    /// Where the page's checksums are: a CRC per unit, buffer after buffer.
    pub(crate) crcs: Option<Range<u64>>,
}

/// Kind of a page's description.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PageMessage {
    /// `lance.encodings.ArrayEncoding`: 2.0.
    ArrayEncoding,
    /// `lance.encodings21.PageLayout`: 2.1 and 2.2.
    PageLayout,
    /// `lance.encodings23.PlanarLayout`: 2.3.
    PlanarLayout,
}

impl PageMessage {
    /// The type as a page's description names it.
    pub(crate) fn type_url(self) -> &'static str {
        match self {
            Self::ArrayEncoding => "/lance.encodings.ArrayEncoding",
            Self::PageLayout => "/lance.encodings21.PageLayout",
            Self::PlanarLayout => "/lance.encodings23.PlanarLayout",
        }
    }

    /// By what follows the last slash.
    fn of(type_url: &str) -> Result<Self> {
        match type_url.rsplit_once('/').map(|(_, name)| name) {
            Some("lance.encodings21.PageLayout") => Ok(Self::PageLayout),
            Some("lance.encodings.ArrayEncoding") => Ok(Self::ArrayEncoding),
            Some("lance.encodings23.PlanarLayout") => Ok(Self::PlanarLayout),
            Some(_) => Err(Error::unsupported(format!("a page described by {type_url:?}"))),
            None => Err(Error::corrupt(format!("a page described by {type_url:?}, which has no slash"))),
        }
    }
}

/// Type of a column's own description.
pub(super) const COLUMN_ENCODING: &str = "lance.encodings.ColumnEncoding";

/// A column whose metadata is to be read: where that is, and what a directory knows of it.
#[derive(Debug, Clone)]
pub(crate) struct ColumnPlace {
    column: u32,
    message: Range<u64>,
    known: Option<KnownColumn>,
    /// The message, if it was fetched with the column's field.
    bytes: Option<Bytes>,
}

impl ColumnPlace {
    /// By the offset table.
    pub(crate) fn listed(tables: &Tables, column: u32) -> Result<Self> {
        Ok(Self { column, message: tables.column_range(column)?, known: None, bytes: None })
    }

    /// By the field directory.
    pub(super) fn known(column: u32, known: &KnownColumn, bytes: Option<Bytes>) -> Self {
        Self { column, message: known.message.clone(), known: Some(known.clone()), bytes }
    }
}

/// Descriptions that stand elsewhere may take this much for each byte of the messages that refer to them. Pages may
/// share one, so that a short message could ask for any amount.
const DEFERRED_PER_BYTE: u64 = 16;
/// This much of them is read in any case.
const DEFERRED_BYTES: u64 = 4 << 20;

/// Reads the metadata of some columns: one round, or none where opening brought them already, and one more where
/// descriptions stand elsewhere.
#[derive(Debug)]
pub(crate) struct ReadColumns {
    columns: Vec<ColumnPlace>,
    file_bytes: u64,
    limits: Limits,
    checks: Option<Arc<FileChecks>>,
    /// Where CRCs of page units are at the most.
    crcs: Option<Range<u64>>,
    held: Arc<Segments>,
}

impl ReadColumns {
    pub(crate) fn new(metadata: &Metadata, columns: Vec<ColumnPlace>) -> Self {
        let checks = metadata.tables().and_then(|tables| tables.checks.clone());
        Self {
            columns,
            file_bytes: metadata.file_bytes,
            limits: metadata.limits.clone(),
            crcs: checks.as_ref().map(|c| c.page_crcs()).or_else(|| metadata.checksums_range()),
            checks,
            held: metadata.held.clone(),
        }
    }

    /// Checks a column's message; gives the CRCs of its pages' units and of all that follow.
    fn verify(&self, place: &ColumnPlace, entry: &[u8], message: &[u8]) -> Result<Option<Range<u64>>> {
        let first = match (&place.known, &self.checks) {
            (Some(known), _) => match crc32c::crc32c(message) {
                found if found == known.crc => known.first_unit,
                found => {
                    return Err(mismatch(
                        &format!("the metadata of column {}", place.column),
                        known.crc,
                        found,
                    ));
                }
            },
            (None, Some(checks)) => checks.verify_column(place.column, entry, message)?,
            (None, None) => return Ok(None),
        };
        let Some(crcs) = &self.crcs else { return Ok(None) };
        Ok(Some(page_range(crcs, first, 0)?.start..crcs.end))
    }
}

impl Decode for ReadColumns {
    type Output = Vec<ColumnRecord>;

    fn step(&mut self, segments: &Segments) -> Result<Step<Self::Output>> {
        let held = self.held.clone();
        let find = |range: &Range<u64>| segments.bytes(range).or_else(|| held.bytes(range));
        let mut parts = Vec::with_capacity(self.columns.len());
        let mut need = Vec::new();
        let mut total = 0u64;
        for place in &self.columns {
            let message = place.message.clone();
            total = total.saturating_add(message.end - message.start);
            if total > self.limits.metadata_bytes {
                return Err(Error::limit(format!(
                    "column metadata has {total} bytes and more; at most {} are read",
                    self.limits.metadata_bytes
                )));
            }
            let entry = match (&place.known, &self.checks) {
                (None, Some(checks)) => checks.column_range(place.column),
                _ => 0..0,
            };
            match (place.bytes.clone().or_else(|| find(&message)), find(&entry)) {
                (Some(bytes), Some(entry)) => parts.push((place, bytes, entry)),
                (bytes, found) => {
                    need.extend(bytes.is_none().then_some(message));
                    need.extend(found.is_none().then_some(entry));
                }
            }
        }
        if !need.is_empty() {
            return Ok(Step::Need(need));
        }
        let mut deferred = Deferred {
            find: &find,
            end: data_end(self.file_bytes),
            left: total.saturating_mul(DEFERRED_PER_BYTE).saturating_add(DEFERRED_BYTES),
            need: Vec::new(),
        };
        let mut records = Vec::with_capacity(parts.len());
        for (place, message, entry) in parts {
            let crcs = self.verify(place, &entry, &message)?;
            let record = parse_column(place.column, &message, self.file_bytes, crcs, &mut deferred)
                .map_err(|e| e.in_column(&format!("#{}", place.column)).at_offset(place.message.start))?;
            records.push(record);
        }
        if !deferred.need.is_empty() {
            return Ok(Step::Need(deferred.need));
        }
        Ok(Step::Done(records))
    }
}

/// Descriptions outside the messages.
struct Deferred<'a> {
    find: &'a dyn Fn(&Range<u64>) -> Option<Bytes>,
    /// Where the file's data ends.
    end: u64,
    /// Bytes they may still take.
    left: u64,
    need: Vec<Range<u64>>,
}

/// `crcs` has the CRCs of the units of the column's pages, and whatever follows them.
fn parse_column(
    index: u32,
    message: &Bytes,
    file_bytes: u64,
    crcs: Option<Range<u64>>,
    deferred: &mut Deferred<'_>,
) -> Result<ColumnRecord> {
    let mut pages: Vec<PageRecord> = Vec::new();
    let mut encoding = None;
    let (mut offsets, mut sizes) = (Vec::new(), Vec::new());
    let mut next_unit = 0;
    let mut parts = skim::Fields::new(message);
    while let Some((number, payload)) = parts.next()? {
        match number {
            1 => {
                let bytes = message.slice(payload.bytes("the column's description")?);
                let decoded = pb::Encoding::decode(bytes)
                    .map_err(|e| Error::corrupt(format!("the column's description: {e}")))?;
                let Some(any) = description(Some(decoded), "the column", deferred)? else {
                    encoding = Some(Bytes::new());
                    continue;
                };
                if any.type_url.rsplit_once('/').is_none_or(|(_, name)| name != COLUMN_ENCODING) {
                    corrupt!("the column is described by {:?}, not {COLUMN_ENCODING}", any.type_url);
                }
                encoding = Some(any.value);
            }
            2 => {
                let at = pages.len() as u64;
                let bytes = message.slice(payload.bytes("a page")?);
                let page = parse_page(bytes, file_bytes, deferred).map_err(|e| e.in_page(at))?;
                // One that is to be fetched: all are parsed again then.
                let Some(mut page) = page else { continue };
                if let Some(crcs) = &crcs {
                    let units = page.buffers.iter().map(|r| num_units(r.end - r.start));
                    let units = units.fold(0, u64::saturating_add);
                    page.crcs = Some(page_range(crcs, next_unit, units).map_err(|e| e.in_page(at))?);
                    next_unit += units;
                }
                pages.push(page);
            }
            3 => read_numbers(message, payload, "an offset of a column buffer", &mut offsets)?,
            4 => read_numbers(message, payload, "the size of a column buffer", &mut sizes)?,
            _ => {}
        }
    }
    let Some(encoding) = encoding else { corrupt!("the column has no description") };
    if offsets.len() != sizes.len() {
        corrupt!("a column with {} buffer offsets and {} sizes", offsets.len(), sizes.len());
    }
    let end = data_end(file_bytes);
    let buffers = offsets.iter().zip(&sizes);
    let buffers = buffers.map(|(at, bytes)| range_within(*at, *bytes, end, || "a column buffer".to_owned()));
    Ok(ColumnRecord { index, pages, buffers: buffers.collect::<Result<_>>()?, encoding })
}

/// A repeated number, packed or by itself.
fn read_numbers(message: &[u8], payload: skim::Payload, what: &str, out: &mut Vec<u64>) -> Result<()> {
    match payload {
        skim::Payload::Varint(number) => out.push(number),
        packed => {
            let packed = packed.bytes(what)?;
            let mut numbers = skim::Numbers::new(&message[packed]);
            while let Some(number) = numbers.next()? {
                out.push(number);
            }
        }
    }
    Ok(())
}

fn parse_page(bytes: Bytes, file_bytes: u64, deferred: &mut Deferred<'_>) -> Result<Option<PageRecord>> {
    let page = pb::column_metadata::Page::decode(bytes)
        .map_err(|e| Error::corrupt(format!("the page's metadata: {e}")))?;
    if page.buffer_offsets.len() != page.buffer_sizes.len() {
        corrupt!(
            "a page with {} buffer offsets and {} sizes",
            page.buffer_offsets.len(),
            page.buffer_sizes.len()
        );
    }
    let end = data_end(file_bytes);
    let buffers = page.buffer_offsets.iter().zip(&page.buffer_sizes).enumerate();
    let buffers = buffers.map(|(at, (offset, bytes))| {
        range_within(*offset, *bytes, end, || "a page buffer".to_owned()).map_err(|e| e.in_buffer(at))
    });
    let buffers = buffers.collect::<Result<Vec<_>>>()?;
    let Some(any) = description(page.encoding, "the page", deferred)? else { return Ok(None) };
    Ok(Some(PageRecord {
        buffers,
        length: page.length,
        priority: page.priority,
        message: PageMessage::of(&any.type_url)?,
        encoding: any.value,
        crcs: None,
    }))
}

/// The description inside an `Encoding`, or where that says; `None` after noting what has to be fetched.
fn description(
    encoding: Option<pb::Encoding>,
    whose: &str,
    deferred: &mut Deferred<'_>,
) -> Result<Option<pb::Any>> {
    use pb::encoding::Location;
    let bytes = match encoding.and_then(|e| e.location) {
        Some(Location::Direct(direct)) => direct.encoding,
        Some(Location::Indirect(at)) => {
            let what = || format!("the description of {whose}");
            let range = range_within(at.buffer_location, at.buffer_length, deferred.end, what)?;
            deferred.left = deferred.left.checked_sub(at.buffer_length).ok_or_else(|| {
                Error::limit(format!("{} of {} bytes, and others as large", what(), at.buffer_length))
            })?;
            match (deferred.find)(&range) {
                Some(bytes) => bytes,
                None => {
                    deferred.need.push(range);
                    return Ok(None);
                }
            }
        }
        Some(Location::None(_)) | None => corrupt!("{whose} has no description"),
    };
    let any =
        pb::Any::decode(bytes).map_err(|e| Error::corrupt(format!("the description of {whose}: {e}")))?;
    Ok(Some(any))
}
