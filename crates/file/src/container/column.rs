//! Column metadata: the pages of a column, where their buffers are, and how they are described.
//!
//! ```text
//! ColumnMetadata { 1: Encoding, 2: Page*, 3: buffer offsets, 4: buffer sizes }
//! Page           { 1: buffer offsets, 2: buffer sizes, 3: length, 4: Encoding, 5: priority }
//! Encoding       { 2: { 1: Any { 1: "/lance.encodings21.PageLayout", 2: message } } }
//! ```
//!
//! See docs/format/container.md, "Column metadata". Pages are checked one by one as they are met, so that a hostile message cannot
//! make more of itself in memory than it is.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use prost::Message;

use super::checksums::num_units;
use super::metadata::{column_metadata_range, data_end};
use super::{FileChecks, Metadata, range_within};
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

/// Reads the metadata of some columns: one round, or none where opening brought them already.
#[derive(Debug)]
pub(crate) struct ReadColumns {
    columns: Vec<u32>,
    cmo_table: Bytes,
    file_bytes: u64,
    limits: Limits,
    checks: Option<Arc<FileChecks>>,
    held: Arc<Segments>,
}

impl ReadColumns {
    pub(crate) fn new(metadata: &Metadata, columns: Vec<u32>) -> Self {
        Self {
            columns,
            cmo_table: metadata.cmo_table.clone(),
            file_bytes: metadata.file_bytes,
            limits: metadata.limits.clone(),
            checks: metadata.checks.clone(),
            held: metadata.held.clone(),
        }
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
        for &column in &self.columns {
            let message = column_metadata_range(&self.cmo_table, column, self.file_bytes)?;
            total = total.saturating_add(message.end - message.start);
            if total > self.limits.metadata_bytes {
                return Err(Error::limit(format!(
                    "column metadata has {total} bytes and more; at most {} are read",
                    self.limits.metadata_bytes
                )));
            }
            let entry = self.checks.as_ref().map_or(0..0, |checks| checks.column_range(column));
            match (find(&message), find(&entry)) {
                (Some(bytes), Some(entry)) => parts.push((column, message.start, bytes, entry)),
                (bytes, found) => {
                    need.extend(bytes.is_none().then_some(message));
                    need.extend(found.is_none().then_some(entry));
                }
            }
        }
        if !need.is_empty() {
            return Ok(Step::Need(need));
        }
        let parse = |(column, offset, message, entry): (u32, u64, Bytes, Bytes)| {
            let checks = match &self.checks {
                Some(checks) => Some((&**checks, checks.verify_column(column, &entry, &message)?)),
                None => None,
            };
            parse_column(column, &message, self.file_bytes, checks)
                .map_err(|e| e.in_column(&format!("#{column}")).at_offset(offset))
        };
        Ok(Step::Done(parts.into_iter().map(parse).collect::<Result<_>>()?))
    }
}

/// `checks` come with the column's first page unit.
fn parse_column(
    index: u32,
    message: &Bytes,
    file_bytes: u64,
    checks: Option<(&FileChecks, u64)>,
) -> Result<ColumnRecord> {
    let mut pages: Vec<PageRecord> = Vec::new();
    let mut encoding = None;
    let (mut offsets, mut sizes) = (Vec::new(), Vec::new());
    let mut next_unit = checks.map_or(0, |(_, first)| first);
    let mut parts = skim::Fields::new(message);
    while let Some((number, payload)) = parts.next()? {
        match number {
            1 => {
                let bytes = message.slice(payload.bytes("the column's description")?);
                let decoded = pb::Encoding::decode(bytes)
                    .map_err(|e| Error::corrupt(format!("the column's description: {e}")))?;
                let any = direct(Some(decoded), "the column")?;
                if any.type_url.rsplit_once('/').is_none_or(|(_, name)| name != COLUMN_ENCODING) {
                    corrupt!("the column is described by {:?}, not {COLUMN_ENCODING}", any.type_url);
                }
                encoding = Some(any.value);
            }
            2 => {
                let at = pages.len() as u64;
                let bytes = message.slice(payload.bytes("a page")?);
                let mut page = parse_page(bytes, file_bytes).map_err(|e| e.in_page(at))?;
                if let Some((checks, _)) = checks {
                    let units = page.buffers.iter().map(|r| num_units(r.end - r.start));
                    let units = units.fold(0, u64::saturating_add);
                    page.crcs = Some(checks.page_range(next_unit, units).map_err(|e| e.in_page(at))?);
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

fn parse_page(bytes: Bytes, file_bytes: u64) -> Result<PageRecord> {
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
    let any = direct(page.encoding, "the page")?;
    Ok(PageRecord {
        buffers,
        length: page.length,
        priority: page.priority,
        message: PageMessage::of(&any.type_url)?,
        encoding: any.value,
        crcs: None,
    })
}

/// The description inside an `Encoding`, which must be embedded there.
fn direct(encoding: Option<pb::Encoding>, whose: &str) -> Result<pb::Any> {
    use pb::encoding::Location;
    match encoding.and_then(|e| e.location) {
        Some(Location::Direct(direct)) => pb::Any::decode(direct.encoding)
            .map_err(|e| Error::corrupt(format!("the description of {whose}: {e}"))),
        Some(Location::Indirect(at)) => Err(Error::unsupported(format!(
            "the description of {whose} stands elsewhere, at {} in {} bytes; no known writer does that",
            at.buffer_location, at.buffer_length
        ))),
        Some(Location::None(_)) | None => corrupt!("{whose} has no description"),
    }
}
