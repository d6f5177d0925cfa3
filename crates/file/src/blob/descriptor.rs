//! Descriptors: where the bytes of a blob are.
//!
//! ```text
//! kind              position        size                 blob_id        blob_uri
//! 0 inline          in this file    bytes                0              ""
//! 1 packed          in the sidecar  bytes                the sidecar    ""
//! 2 dedicated       0               all of the sidecar   the sidecar    ""
//! 3 external        in the object   bytes, 0 = all       0              an absolute URI
//!                                                        a base         a path in that base
//! 4 managed         in the object   bytes                0              a path in the table
//! 5 managed, base   in the object   bytes                a base         a path in that base
//! ```
//!
//! The first kind of blob column has position and size alone: its values are inline.

use std::ops::Range;

use super::place::BlobPlace;
use crate::encoding::Values;
use crate::error::corrupt;
use crate::{Error, Result};

/// Where the bytes of a blob lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum BlobKind {
    /// In the file itself.
    Inline,
    /// In a file beside it that several values share.
    Packed,
    /// In a file beside it that is this value.
    Dedicated,
    /// In a file that is not the table's own.
    External,
    /// In an object of the table.
    Managed,
    /// In an object of another base of the table.
    ManagedWithBase,
}

/// What a file says of one blob.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct BlobDescriptor {
    /// Which of the places below counts.
    pub kind: BlobKind,
    /// First byte, counted from the start of the file that holds it.
    pub position: u64,
    /// Bytes; 0 of an external blob means all from `position` on.
    pub size: u64,
    /// Number of a sidecar file or of a base; 0 for none.
    pub blob_id: u32,
    /// Absolute URI or relative path; empty where the bytes are in this file or a sidecar.
    pub uri: String,
}

/// The file that holds a blob, and the bytes there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Extent {
    /// In the file with the column; inside it.
    Own(Range<u64>),
    /// In another file; not checked yet.
    Other(BlobPlace, Range<u64>),
    /// From here to the end of another file.
    Rest(BlobPlace, u64),
}

impl BlobDescriptor {
    /// The descriptor at `index` of a column's values, below their length.
    pub(super) fn at(values: &Values, index: usize) -> Result<Self> {
        let Values::Struct { fields, .. } = values else {
            return Err(Error::invalid("internal: descriptors that are no structs"));
        };
        let [kind, position, size, blob_id, uri] = match fields.as_slice() {
            [position, size] => {
                return Ok(Self {
                    kind: BlobKind::Inline,
                    position: number(position, index)?,
                    size: number(size, index)?,
                    blob_id: 0,
                    uri: String::new(),
                });
            }
            [kind, position, size, blob_id, uri] => [kind, position, size, blob_id, uri],
            _ => return Err(Error::invalid("internal: descriptors of other fields")),
        };
        let kind = match number(kind, index)? {
            0 => BlobKind::Inline,
            1 => BlobKind::Packed,
            2 => BlobKind::Dedicated,
            3 => BlobKind::External,
            4 => BlobKind::Managed,
            5 => BlobKind::ManagedWithBase,
            other => return Err(Error::unsupported(format!("a blob of kind {other}; known are 0 to 5"))),
        };
        let uri = std::str::from_utf8(uri.variable_value(index)?)
            .map_err(|e| Error::corrupt(format!("the URI of a blob is not UTF-8: {e}")))?;
        Ok(Self {
            kind,
            position: number(position, index)?,
            size: number(size, index)?,
            blob_id: number(blob_id, index)? as u32,
            uri: uri.to_owned(),
        })
    }

    /// Where the bytes are; `file_bytes` is the length of the file with the column.
    pub(super) fn extent(&self, file_bytes: u64) -> Result<Extent> {
        let (position, size) = (self.position, self.size);
        let Some(end) = position.checked_add(size) else {
            corrupt!("a blob of {size} bytes at {position}: its end passes 2^64");
        };
        let sidecar = || match self.blob_id {
            0 => Err(Error::corrupt("a blob in the sidecar file of number 0; they count from 1")),
            id => Ok(BlobPlace::sidecar(id)),
        };
        Ok(match self.kind {
            // The position of no bytes means nothing.
            BlobKind::Inline if size == 0 => Extent::Own(0..0),
            BlobKind::Inline if end > file_bytes => {
                corrupt!("a blob of {size} bytes at {position} in a file of {file_bytes}")
            }
            BlobKind::Inline => Extent::Own(position..end),
            BlobKind::Packed => Extent::Other(sidecar()?, position..end),
            BlobKind::Dedicated if position != 0 => {
                corrupt!("a blob at {position} of a sidecar file that is all its own")
            }
            BlobKind::Dedicated => Extent::Other(sidecar()?, 0..size),
            BlobKind::External => {
                let place = match self.blob_id {
                    0 => BlobPlace::Uri(self.uri.clone()),
                    base => BlobPlace::in_base(base, &self.uri)?,
                };
                if size == 0 { Extent::Rest(place, position) } else { Extent::Other(place, position..end) }
            }
            BlobKind::Managed => Extent::Other(BlobPlace::in_table(&self.uri)?, position..end),
            BlobKind::ManagedWithBase => {
                Extent::Other(BlobPlace::in_base(self.blob_id, &self.uri)?, position..end)
            }
        })
    }
}

/// The unsigned number at `index`.
fn number(values: &Values, index: usize) -> Result<u64> {
    let bytes = match values {
        Values::Fixed(v) if v.width <= 8 => &v.bytes()[index * v.width..(index + 1) * v.width],
        other => corrupt!("numbers of a descriptor as {:?}", other.shape()),
    };
    let mut word = [0; 8];
    word[..bytes.len()].copy_from_slice(bytes);
    Ok(u64::from_le_bytes(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn descriptor(kind: BlobKind, position: u64, size: u64, blob_id: u32, uri: &str) -> BlobDescriptor {
        BlobDescriptor { kind, position, size, blob_id, uri: uri.to_owned() }
    }

    #[test]
    fn every_kind_has_its_place() {
        use BlobKind::*;
        let extent = |d: BlobDescriptor| d.extent(100).unwrap();
        let sidecar = |id| BlobPlace::sidecar(id);
        assert_eq!(extent(descriptor(Inline, 64, 36, 0, "")), Extent::Own(64..100));
        assert_eq!(extent(descriptor(Inline, 5000, 0, 0, "")), Extent::Own(0..0));
        assert_eq!(extent(descriptor(Packed, 7, 500, 3, "")), Extent::Other(sidecar(3), 7..507));
        assert_eq!(extent(descriptor(Dedicated, 0, 500, 1, "")), Extent::Other(sidecar(1), 0..500));
        let uri = BlobPlace::Uri("file:///x".into());
        assert_eq!(extent(descriptor(External, 0, 0, 0, "file:///x")), Extent::Rest(uri.clone(), 0));
        assert_eq!(extent(descriptor(External, 4, 2, 0, "file:///x")), Extent::Other(uri, 4..6));
        let base = BlobPlace::in_base(9, "a/b").unwrap();
        assert_eq!(extent(descriptor(External, 4, 2, 9, "a/b")), Extent::Other(base.clone(), 4..6));
        assert_eq!(extent(descriptor(ManagedWithBase, 4, 0, 9, "a/b")), Extent::Other(base, 4..4));
        let table = BlobPlace::in_table("_blobs/1.blob").unwrap();
        assert_eq!(extent(descriptor(Managed, 0, 8, 0, "_blobs/1.blob")), Extent::Other(table, 0..8));
    }

    #[test]
    fn bytes_outside_of_the_file_and_sidecars_without_a_number_are_corrupt() {
        use BlobKind::*;
        for (d, text) in [
            (descriptor(Inline, 64, 37, 0, ""), "37 bytes at 64 in a file of 100"),
            (descriptor(Inline, u64::MAX, 2, 0, ""), "passes 2^64"),
            (descriptor(Packed, 0, 1, 0, ""), "number 0"),
            (descriptor(Dedicated, 1, 1, 1, ""), "at 1 of a sidecar"),
        ] {
            let error = d.extent(100).unwrap_err();
            assert_eq!(error.kind(), crate::ErrorKind::Corrupt);
            assert!(error.message().contains(text), "{error}");
        }
        assert!(descriptor(Managed, 0, 1, 0, "../x").extent(100).is_err());
    }
}
