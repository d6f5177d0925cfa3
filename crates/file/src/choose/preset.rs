//! What a preset weighs: bytes against the time of those who read them.
//!
//! ```text
//! cost of a page = bytes + λ · ns to decode all of its values + μ · ns to reach one value · values
//! ```
//!
//! The figures are measured; `bench/LOG.md` says how.

use std::str::FromStr;

use crate::Error;

/// What a file is to be good at.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Preset {
    /// Small, where that costs those who read single rows little.
    #[default]
    Balanced,
    /// Light encodings and dictionaries only: what decodes at the speed of memory.
    Fast,
    /// The smallest that still gives single rows in little time.
    Small,
}

impl Preset {
    /// All of them, by their names.
    pub const ALL: [(&'static str, Self); 3] =
        [("balanced", Self::Balanced), ("fast", Self::Fast), ("small", Self::Small)];

    /// Its name.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, p)| *p == self).map_or("balanced", |(name, _)| name)
    }

    pub(super) fn weights(self) -> &'static Weights {
        match self {
            Self::Balanced => &BALANCED,
            Self::Fast => &FAST,
            Self::Small => &SMALL,
        }
    }
}

impl FromStr for Preset {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let found = Self::ALL.iter().find(|(name, _)| name.eq_ignore_ascii_case(text.trim()));
        found
            .map(|(_, preset)| *preset)
            .ok_or_else(|| Error::invalid(format!("preset {text:?}: expected balanced, fast or small")))
    }
}

/// The constants of a preset.
#[derive(Debug)]
pub(super) struct Weights {
    /// λ: bytes that a nanosecond of decoding is worth.
    pub(super) decode: f64,
    /// μ: bytes that a nanosecond on the way to one value is worth, for every value.
    pub(super) point: f64,
    /// General compressors are considered.
    pub(super) general: bool,
    /// What they must come down to of the cost of anything else.
    pub(super) general_share: f64,
    /// LZ4 is one of them.
    pub(super) lz4: bool,
    /// zstd levels tried on numbers, and on strings.
    pub(super) number_levels: &'static [i32],
    pub(super) string_levels: &'static [i32],
    /// What another zstd level takes of the bytes of the first, at the least: of any bytes, and of byte streams. Below that it is not
    /// tried.
    pub(super) level_gain: [f64; 2],
    /// zstd is tried over FSST too, which gains some percent and costs twice the time.
    pub(super) zstd_over_fsst: bool,
    /// zstd level of the entries of dictionaries.
    pub(super) entries_level: i32,
    /// Bytes that a nanosecond of decoding the entries of a dictionary is worth, for whoever opens the file for a few rows.
    pub(super) entries_decode: f64,
    /// Bytes that chunks under a general compressor decode to, each tried.
    pub(super) chunk_bytes: &'static [usize],
    /// Values in a chunk of dictionary indices or small numbers under a general compressor.
    pub(super) chunk_values: usize,
    /// Stored bytes that the entries of a dictionary may take: whoever wants one row reads them all.
    pub(super) entries_bytes: usize,
    /// Values of this many bytes and more are compressed in general too, though each is then decompressed alone
    /// or with a few others.
    pub(super) wide: bool,
}

const BALANCED: Weights = Weights {
    decode: 0.04,
    point: 4e-5,
    general: true,
    general_share: 0.97,
    lz4: true,
    number_levels: &[1, 3],
    string_levels: &[3],
    level_gain: [0.9, 0.98],
    zstd_over_fsst: false,
    entries_level: 8,
    entries_decode: 0.0,
    chunk_bytes: &[4 << 10, 10 << 10],
    chunk_values: 1024,
    // With a chunk of indices, 64 KiB to read for one row.
    entries_bytes: 58 << 10,
    wide: false,
};

const FAST: Weights = Weights {
    decode: 0.0,
    point: 0.0,
    general: false,
    general_share: 1.0,
    lz4: false,
    number_levels: &[],
    string_levels: &[],
    level_gain: [1.0, 1.0],
    zstd_over_fsst: false,
    entries_level: 9,
    // Below that prices keep zstd, which makes opening lineitem for 100 rows twice as dear, and coordinates a dictionary.
    entries_decode: 0.2,
    chunk_bytes: &[],
    chunk_values: 4096,
    // One dictionary for many rows: whoever wants rows of several pages decodes each page's entries, most of them the same.
    entries_bytes: 1280 << 10,
    wide: false,
};

const SMALL: Weights = Weights {
    decode: 0.001,
    point: 5e-8,
    general: true,
    general_share: 1.0,
    lz4: false,
    number_levels: &[1, 9],
    string_levels: &[9],
    level_gain: [0.85, 0.95],
    zstd_over_fsst: true,
    entries_level: 12,
    entries_decode: 0.0,
    chunk_bytes: &[32 << 10, 128 << 10],
    chunk_values: 32 << 10,
    entries_bytes: 400 << 10,
    wide: true,
};
