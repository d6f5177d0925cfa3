//! A blob that is read when asked, in parts.

use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use super::descriptor::{BlobDescriptor, Extent};
use super::place::BlobPlace;
use super::store::{self, BlobStore};
use crate::io::{Segments, Source};
use crate::{Error, Result};

/// One value of a blob column, not read yet. Cheap to clone.
///
/// Nothing of it is in memory: every read fetches what it returns. A handle has no position; each
/// [`reader`](Self::reader) has its own.
#[derive(Debug, Clone)]
pub struct Blob {
    file: Arc<Source>,
    store: Arc<BlobStore>,
    /// `None` where the bytes are in the file with the column.
    place: Option<BlobPlace>,
    range: Range<u64>,
    descriptor: BlobDescriptor,
}

impl Blob {
    pub(super) fn new(file: Arc<Source>, store: Arc<BlobStore>, descriptor: BlobDescriptor) -> Result<Self> {
        let (place, range) = match descriptor.extent(file.file_bytes())? {
            Extent::Own(range) => (None, range),
            Extent::Other(place, range) => (Some(place), range),
            Extent::Rest(place, start) => {
                let range = store::rest(&place, &*store.open(&place)?, start)?;
                (Some(place), range)
            }
        };
        Ok(Self { file, store, place, range, descriptor })
    }

    /// Bytes of the value.
    pub fn len(&self) -> u64 {
        self.range.end - self.range.start
    }

    /// Whether the value has no bytes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What the file says of the value.
    pub fn descriptor(&self) -> &BlobDescriptor {
        &self.descriptor
    }

    /// All of it.
    ///
    /// # Errors
    /// The file that holds it cannot be read, or ends before it; or there is no memory for it.
    pub fn read(&self) -> Result<Bytes> {
        self.read_range(0..self.len())
    }

    /// A part of it, counted from its own start.
    ///
    /// # Errors
    /// A range past its end, and those of [`read`](Self::read).
    pub fn read_range(&self, range: Range<u64>) -> Result<Bytes> {
        if range.start > range.end || range.end > self.len() {
            return Err(Error::invalid(format!(
                "bytes {}..{} are asked of a blob of {}",
                range.start,
                range.end,
                self.len()
            )));
        }
        if range.is_empty() {
            return Ok(Bytes::new());
        }
        let range = self.range.start + range.start..self.range.start + range.end;
        let Some(place) = &self.place else { return self.read_own(range) };
        let mut out = Vec::new();
        let wanted = range.end - range.start;
        let reader = self.store.open(place)?;
        // Before there is memory for bytes that are not there.
        store::check_range(place, &*reader, &self.range)?;
        let no_memory = || Error::limit(format!("no memory for {wanted} bytes of a blob"));
        let len = usize::try_from(wanted).map_err(|_| no_memory())?;
        out.try_reserve_exact(len).map_err(|_| no_memory())?;
        out.resize(len, 0);
        store::read(&*reader, range.start, &mut out)?;
        Ok(out.into())
    }

    fn read_own(&self, range: Range<u64>) -> Result<Bytes> {
        let mut segments: Segments = self.file.segments();
        if !segments.is_whole() {
            self.file.fetch(std::slice::from_ref(&range), &mut segments)?;
        }
        segments.bytes(&range).ok_or_else(|| Error::invalid("internal: bytes of a blob were not fetched"))
    }

    /// A reader from its start.
    pub fn reader(&self) -> BlobReader {
        BlobReader { blob: self.clone(), position: 0 }
    }
}

/// Reads a blob from front to back, or from anywhere. Every call is a read of the file: small ones want a
/// [`BufReader`](std::io::BufReader) around it.
#[derive(Debug, Clone)]
pub struct BlobReader {
    blob: Blob,
    position: u64,
}

impl Read for BlobReader {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let len = self.blob.len();
        let start = self.position.min(len);
        let end = start.saturating_add(buf.len() as u64).min(len);
        let bytes = self.blob.read_range(start..end).map_err(io::Error::other)?;
        buf[..bytes.len()].copy_from_slice(&bytes);
        self.position = self.position.max(end);
        Ok(bytes.len())
    }
}

impl Seek for BlobReader {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let (base, by) = match to {
            SeekFrom::Start(at) => (at, 0),
            SeekFrom::End(by) => (self.blob.len(), by),
            SeekFrom::Current(by) => (self.position, by),
        };
        match base.checked_add_signed(by) {
            Some(position) => {
                self.position = position;
                Ok(position)
            }
            None => Err(io::Error::new(io::ErrorKind::InvalidInput, "a position before the start of a blob")),
        }
    }
}
