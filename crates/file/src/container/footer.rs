//! The footer: the last 40 bytes of a file.
//!
//! ```text
//!  0  u64  start of the column metadata
//!  8  u64  start of the CMO table    (column metadata offsets, 16 bytes each)
//! 16  u64  start of the GBO table    (global buffer offsets, 16 bytes each)
//! 24  u32  number of global buffers
//! 28  u32  number of columns
//! 32  u16  major version
//! 34  u16  minor version
//! 36  "LANC"
//! ```
//!
//! See docs/format/container.md, "Footer".

use std::ops::Range;

use super::range_within;
use crate::error::corrupt;
use crate::{Error, FormatVersion, Limits, Result};

/// Bytes of a footer.
pub(crate) const FOOTER_BYTES: usize = 40;
/// The last four bytes of a file.
pub(crate) const MAGIC: [u8; 4] = *b"LANC";
/// Bytes of one entry of the CMO and GBO tables.
pub(crate) const ENTRY_BYTES: u64 = 16;

/// The fixed end of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Footer {
    pub(crate) column_meta_start: u64,
    pub(crate) cmo_start: u64,
    pub(crate) gbo_start: u64,
    pub(crate) num_global_buffers: u32,
    pub(crate) num_columns: u32,
    pub(crate) version: FormatVersion,
    /// As found; 2.0 has two spellings.
    pub(crate) raw_version: (u16, u16),
}

impl Footer {
    /// Parses the last 40 bytes of a file of `file_bytes`; both tables lie inside the file.
    pub(crate) fn parse(bytes: &[u8; FOOTER_BYTES], file_bytes: u64, limits: &Limits) -> Result<Self> {
        check_magic(bytes)?;
        let u64_at = |at: usize| super::u64_at(bytes, at / 8);
        let u32_at = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let u16_at = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
        let raw_version = (u16_at(32), u16_at(34));
        let footer = Self {
            column_meta_start: u64_at(0),
            cmo_start: u64_at(8),
            gbo_start: u64_at(16),
            num_global_buffers: u32_at(24),
            num_columns: u32_at(28),
            version: FormatVersion::from_footer(raw_version.0, raw_version.1)?,
            raw_version,
        };
        let end = file_bytes - FOOTER_BYTES as u64;
        let tables = [
            ("CMO", footer.cmo_start, footer.num_columns, "columns"),
            ("GBO", footer.gbo_start, footer.num_global_buffers, "global buffers"),
        ];
        for (table, start, count, of) in tables {
            let bytes = u64::from(count) * ENTRY_BYTES;
            range_within(start, bytes, end, || format!("the {table} table of {count} {of}"))?;
        }
        if footer.column_meta_start > end {
            corrupt!("the column metadata starts at {}, past the footer at {end}", footer.column_meta_start);
        }
        if footer.num_columns as usize > limits.columns {
            return Err(Error::limit(format!(
                "{} columns; at most {} are allowed",
                footer.num_columns, limits.columns
            )));
        }
        Ok(footer)
    }

    pub(crate) fn emit(&self) -> [u8; FOOTER_BYTES] {
        let mut bytes = [0; FOOTER_BYTES];
        let (major, minor) = self.raw_version;
        bytes[0..8].copy_from_slice(&self.column_meta_start.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.cmo_start.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.gbo_start.to_le_bytes());
        bytes[24..28].copy_from_slice(&self.num_global_buffers.to_le_bytes());
        bytes[28..32].copy_from_slice(&self.num_columns.to_le_bytes());
        bytes[32..34].copy_from_slice(&major.to_le_bytes());
        bytes[34..36].copy_from_slice(&minor.to_le_bytes());
        bytes[36..40].copy_from_slice(&MAGIC);
        bytes
    }

    /// Where the CMO table is.
    pub(crate) fn cmo_range(&self) -> Range<u64> {
        self.cmo_start..self.cmo_start + u64::from(self.num_columns) * ENTRY_BYTES
    }

    /// Where the GBO table is.
    pub(crate) fn gbo_range(&self) -> Range<u64> {
        self.gbo_start..self.gbo_start + u64::from(self.num_global_buffers) * ENTRY_BYTES
    }
}

/// Says what a file without the magic number is, as far as its end tells.
fn check_magic(bytes: &[u8; FOOTER_BYTES]) -> Result<()> {
    let found = &bytes[FOOTER_BYTES - 4..];
    if *found == MAGIC {
        return Ok(());
    }
    Err(not_lance(found))
}

/// The error for a file that ends in other bytes.
#[cold]
pub(super) fn not_lance(end: &[u8]) -> Error {
    let known = match end {
        b"PAR1" => "; this looks like Parquet",
        _ if end.ends_with(b"ORC") || end.ends_with(b"ORC\x17") => "; this looks like ORC",
        _ => "",
    };
    let text = String::from_utf8_lossy(end);
    Error::corrupt(format!(
        "not a Lance file: the last four bytes are {end:02x?} ({text:?}), not LANC{known}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The footer of a file of 2.0 with two columns.
    const EXAMPLE: [u8; 40] = [
        0xfd, 0, 0, 0, 0, 0, 0, 0, 0xe2, 1, 0, 0, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0,
        0, 0, 3, 0, 0x4c, 0x41, 0x4e, 0x43,
    ];

    #[test]
    fn the_worked_example_parses_and_comes_back() {
        let footer = Footer::parse(&EXAMPLE, 570, &Limits::default()).unwrap();
        assert_eq!(
            (footer.column_meta_start, footer.cmo_range(), footer.gbo_range(), footer.version),
            (253, 482..514, 514..530, FormatVersion::V2_0)
        );
        assert_eq!(footer.emit(), EXAMPLE);
    }

    #[test]
    fn the_example_of_2_1_parses() {
        let mut bytes = [0; 40];
        bytes[0] = 0x9f;
        bytes[8..10].copy_from_slice(&[0x12, 1]);
        bytes[16..18].copy_from_slice(&[0x22, 1]);
        bytes[24..40].copy_from_slice(&[1, 0, 0, 0, 1, 0, 0, 0, 2, 0, 1, 0, 0x4c, 0x41, 0x4e, 0x43]);
        let footer = Footer::parse(&bytes, 346, &Limits::default()).unwrap();
        assert_eq!(
            (footer.column_meta_start, footer.cmo_range(), footer.gbo_range()),
            (159, 274..290, 290..306)
        );
        assert_eq!(footer.version, FormatVersion::V2_1);
    }

    #[test]
    fn tables_outside_the_file_are_corrupt() {
        let limits = Limits::default();
        for (at, value) in [(8, 0xff), (15, 0xff), (16, 0x30), (23, 0xff), (27, 0xff), (30, 1), (7, 1)] {
            let mut bytes = EXAMPLE;
            bytes[at] = value;
            let error = Footer::parse(&bytes, 570, &limits).unwrap_err();
            assert_eq!(error.kind(), crate::ErrorKind::Corrupt, "byte {at}: {error}");
        }
    }

    #[test]
    fn files_of_other_kinds_are_named() {
        let mut bytes = EXAMPLE;
        bytes[36..].copy_from_slice(b"PAR1");
        let text = Footer::parse(&bytes, 570, &Limits::default()).unwrap_err().to_string();
        assert!(
            text.contains("not a Lance file") && text.contains("not LANC; this looks like Parquet"),
            "{text}"
        );
        bytes = EXAMPLE;
        bytes[34] = 2;
        let text = Footer::parse(&bytes, 570, &Limits::default()).unwrap_err().to_string();
        assert!(text.contains("pre-2.0"), "{text}");
        bytes[32] = 7;
        assert!(Footer::parse(&bytes, 570, &Limits::default()).is_err());
    }
}
