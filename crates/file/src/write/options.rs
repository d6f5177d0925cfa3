//! What can be asked of a writer.

use crate::choose::{Compression, Preset};
use crate::{Error, FormatVersion, Result};

/// Options of writing; start from the default and change what matters.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct WriteOptions {
    /// 2.0, 2.1 or 2.2.
    pub format_version: FormatVersion,
    /// Buffers start at multiples of this: 64, or 4096 for direct I/O.
    pub alignment: u64,
    /// Whether checksums of everything are written; other readers do not look at them.
    pub checksums: bool,
    /// Whether statistics of columns and their zones are written, by which filters pass over rows; other readers do not look at them.
    pub statistics: bool,
    /// Rows of a zone, at least 1. Zones of a column may be put together.
    pub zone_rows: u32,
    /// Bytes that statistics may have, zones of little use among them. By default they take what checksums leave of 0.15 % of the
    /// file and 1 KiB.
    pub statistics_bytes: Option<u64>,
    /// Columns, by path, that get bloom filters: for each zone, which values it may have, so that a filter which asks for single values
    /// passes over zones without them. For values that differ much and are in no order; ten bits for each different value of a zone.
    /// Not for booleans, lists and what has no order.
    pub blooms: Vec<String>,
    /// Bytes that bloom filters may have; without, as many as they need. Fewer make them wrong more often.
    pub bloom_bytes: Option<u64>,
    /// Arrow bytes buffered over all columns; beyond it the fullest columns become pages.
    pub memory_bytes: usize,
    /// Arrow bytes after which a column becomes a page; of wide values that can be slices of the caller's half as many.
    pub max_page_bytes: u64,
    /// Rows after which a column becomes a page.
    pub max_page_rows: Option<u64>,
    /// General compression of values, unless field metadata says otherwise. Anything but `Auto` takes the choice away from the preset.
    pub compression: Compression,
    /// What the file is to be good at, unless field metadata (`lance-encoding:preset`) says otherwise for a column.
    pub preset: Preset,
    /// Presets of single columns, by path; one for a struct, list or map is for all that is inside.
    pub column_presets: Vec<(String, Preset)>,
    /// Looks at whole pages instead of samples before encodings are chosen: slower, and hardly smaller.
    pub thorough: bool,
    /// Values in a chunk at most, rounded down to a power of two; at least 2.
    pub max_chunk_values: Option<usize>,
    /// Bytes of values that a chunk aims at, at most; two values may pass it.
    pub max_chunk_bytes: usize,
    /// Encodings forced on columns: path, and what to use there. Writing fails where that is not legal.
    ///
    /// ```text
    /// "constant"                                  one value, or none, for a page
    /// "miniblock:rle"                             flat variable bitpack rle bss fsst fixedsizelist packed
    /// "miniblock:general(zstd=3,bss)"             lz4 or zstd over any of these
    /// "miniblock:dictionary(bitpack,general(lz4))"  encodings of indices and of items
    /// "fullzip:fsst"                              flat variable fsst general(zstd) fixedsizelist packed
    /// "miniblock:flat;levels:rle"                 levels (or rep, def): flat bitpack outofline rle general(lz4,rle)
    /// ```
    pub encodings: Vec<(String, String)>,
    /// Stored columns beyond which a file gets a field directory; for tests of small ones.
    #[doc(hidden)]
    pub directory_columns: usize,
}

impl Default for WriteOptions {
    fn default() -> Self {
        Self {
            format_version: FormatVersion::V2_2,
            alignment: 64,
            checksums: true,
            statistics: true,
            zone_rows: 8192,
            statistics_bytes: None,
            blooms: Vec::new(),
            bloom_bytes: None,
            memory_bytes: 32 << 20,
            max_page_bytes: 8 << 20,
            max_page_rows: None,
            compression: Compression::Auto,
            preset: Preset::Balanced,
            column_presets: Vec::new(),
            thorough: false,
            max_chunk_values: None,
            max_chunk_bytes: usize::MAX,
            encodings: Vec::new(),
            directory_columns: crate::container::DIRECTORY_COLUMNS,
        }
    }
}

impl WriteOptions {
    /// Refuses what cannot be.
    pub(crate) fn check(&self) -> Result<()> {
        match self.format_version {
            FormatVersion::V2_0 | FormatVersion::V2_1 | FormatVersion::V2_2 => {}
            FormatVersion::V2_3 => {
                return Err(Error::unsupported(
                    "format version 2.3 is marked unstable by its authors: it is read, not written",
                ));
            }
        }
        if self.max_page_bytes == 0 || self.max_page_rows == Some(0) || self.memory_bytes == 0 {
            return Err(Error::invalid("page bytes, page rows and memory must be more than 0"));
        }
        if self.zone_rows == 0 {
            return Err(Error::invalid("zones of no rows; they have at least 1"));
        }
        if self.max_chunk_values.is_some_and(|n| n < 2) {
            return Err(Error::invalid("a chunk holds at least 2 values"));
        }
        Ok(())
    }
}
