//! What the caller and the schema ask of a column: write options, then `lance-encoding:*` keys of field
//! metadata, which win.

use arrow_schema::{DataType, Field, FieldRef};

use super::preset::Preset;
use super::spec::Spec;
use crate::encoding::Scheme;
use crate::{Error, FormatVersion, Result};

/// General compression of values.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Compression {
    /// What pays: bit packing, run lengths, dictionaries, FSST; no general compressor on values.
    #[default]
    Auto,
    /// Plain values.
    None,
    /// LZ4 where it makes chunks smaller.
    Lz4,
    /// zstd where it makes chunks smaller, at a level.
    Zstd(Option<i32>),
}

/// What is asked of all columns.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asked {
    pub(crate) version: FormatVersion,
    pub(crate) compression: Compression,
    pub(crate) preset: Preset,
    /// Count every candidate over the whole page, not over a sample.
    pub(crate) thorough: bool,
    pub(crate) max_chunk_values: Option<usize>,
    pub(crate) max_chunk_bytes: usize,
}

/// What is asked of one column.
#[derive(Debug, Clone)]
pub(crate) struct Tuning {
    pub(crate) version: FormatVersion,
    /// Strings, not binary.
    pub(crate) is_text: bool,
    /// A struct without children.
    pub(crate) is_empty_struct: bool,
    pub(crate) compression: Compression,
    /// Field metadata says `none`, which to the official writer is no word against dictionaries.
    pub(crate) is_plain_by_metadata: bool,
    pub(crate) preset: Preset,
    pub(crate) thorough: bool,
    /// FSST was asked for by name.
    pub(crate) fsst: bool,
    /// Run lengths only if there are fewer runs than this times the values.
    pub(crate) rle_threshold: Option<f64>,
    pub(crate) byte_stream_split: Switch,
    /// Bytes that chunks of strings aim at.
    pub(crate) chunk_bytes: Option<usize>,
    pub(crate) dictionary: DictionaryTuning,
    pub(crate) layout: Option<LayoutKind>,
    pub(crate) spec: Spec,
    /// What was asked for each field of a packed struct.
    pub(crate) fields: Vec<Self>,
    /// Values in a chunk at most, for tests.
    pub(crate) max_chunk_values: Option<usize>,
    /// Bytes that a chunk aims at, at most, for tests.
    pub(crate) max_chunk_bytes: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Switch {
    Off,
    On,
    Auto,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LayoutKind {
    MiniBlock,
    FullZip,
}

/// Bounds of automatic dictionaries, and how their entries are stored.
#[derive(Debug, Clone)]
pub(crate) struct DictionaryTuning {
    /// At most one entry per this many values.
    pub(crate) divisor: usize,
    /// Encoded size over raw size that still pays.
    pub(crate) size_ratio: f64,
    pub(crate) max_bytes: usize,
    /// General compression of the entries, from 2.2.
    pub(crate) scheme: Option<(Scheme, Option<i32>)>,
}

impl Tuning {
    /// Reads the keys of `field`, and of the top-level field it is part of.
    pub(crate) fn new(asked: &Asked, spec: Spec, field: &Field, top: &Field) -> Result<Self> {
        let mut tuning = Self {
            version: asked.version,
            is_text: matches!(field.data_type(), DataType::Utf8 | DataType::LargeUtf8),
            is_empty_struct: matches!(field.data_type(), DataType::Struct(children) if children.is_empty()),
            compression: asked.compression,
            is_plain_by_metadata: false,
            preset: asked.preset,
            thorough: asked.thorough,
            fsst: false,
            rle_threshold: None,
            byte_stream_split: Switch::Auto,
            chunk_bytes: None,
            dictionary: DictionaryTuning {
                divisor: 1,
                size_ratio: 1.0,
                max_bytes: 16 << 20,
                scheme: Some((Scheme::Lz4, None)),
            },
            layout: None,
            spec,
            fields: Vec::new(),
            max_chunk_values: asked.max_chunk_values,
            max_chunk_bytes: asked.max_chunk_bytes,
        };
        tuning.read_keys(field, top)?;
        if let DataType::Struct(children) = field.data_type() {
            let of_child = |child: &FieldRef| Self::new(asked, Spec::default(), child, top);
            tuning.fields = children.iter().map(of_child).collect::<Result<_>>()?;
        }
        Ok(tuning)
    }

    fn read_keys(&mut self, field: &Field, top: &Field) -> Result<()> {
        let keys = Keys(field);
        let level: Option<i32> = keys.number("compression-level")?;
        match keys.text("compression").as_deref() {
            None => {}
            Some("none") => {
                self.compression = Compression::None;
                self.is_plain_by_metadata = true;
            }
            Some("lz4") => self.compression = Compression::Lz4,
            Some("zstd") => self.compression = Compression::Zstd(level),
            Some("fsst") => self.fsst = true,
            Some(other) => return Err(keys.bad("compression", other, "none, lz4, zstd or fsst")),
        }
        if let Some(name) = keys.text("preset") {
            self.preset = name.parse().map_err(|e: Error| e.in_column(field.name()))?;
        }
        self.rle_threshold = keys.number("rle-threshold")?;
        self.byte_stream_split = match keys.text("bss").as_deref() {
            None | Some("auto") => Switch::Auto,
            Some("on") => Switch::On,
            Some("off") => Switch::Off,
            Some(other) => return Err(keys.bad("bss", other, "off, on or auto")),
        };
        let chunk_bytes: Option<usize> = keys.number("minichunk-size")?;
        let small = self.version >= FormatVersion::V2_2;
        self.chunk_bytes = chunk_bytes.filter(|bytes| *bytes > 0 && (small || *bytes < 32768));
        if let Some(divisor) = keys.number::<usize>("dict-divisor")? {
            self.dictionary.divisor = divisor.max(1);
        }
        if let Some(ratio) = keys.number::<f64>("dict-size-ratio")? {
            if !(ratio > 0.0 && ratio <= 1.0) {
                return Err(keys.bad(
                    "dict-size-ratio",
                    &ratio.to_string(),
                    "a number above 0 and at most 1",
                ));
            }
            self.dictionary.size_ratio = ratio;
        }
        if let Some(bytes) = keys.number("dict-max-size")? {
            self.dictionary.max_bytes = bytes;
        }
        let level = keys.number("dict-values-compression-level")?;
        match keys.text("dict-values-compression").as_deref() {
            None => {}
            Some("none") => self.dictionary.scheme = None,
            Some("lz4") => self.dictionary.scheme = Some((Scheme::Lz4, None)),
            Some("zstd") => self.dictionary.scheme = Some((Scheme::Zstd, level)),
            Some(other) => return Err(keys.bad("dict-values-compression", other, "none, lz4 or zstd")),
        }
        let keys = Keys(top);
        self.layout = match keys.text("structural-encoding").as_deref() {
            // Sparse pages are of 2.3: a table read from there is written in a layout of its own version.
            None | Some("sparse") => None,
            Some("miniblock") => Some(LayoutKind::MiniBlock),
            Some("fullzip") => Some(LayoutKind::FullZip),
            Some(other) => return Err(keys.bad("structural-encoding", other, "miniblock or fullzip")),
        };
        Ok(())
    }

    /// General compression asked for values.
    pub(crate) fn scheme(&self) -> Option<(Scheme, Option<i32>)> {
        match self.compression {
            Compression::Auto | Compression::None => None,
            Compression::Lz4 => Some((Scheme::Lz4, None)),
            Compression::Zstd(level) => Some((Scheme::Zstd, level)),
        }
    }

    /// Whether the preset decides, and not somebody's word.
    pub(crate) fn chooses(&self) -> bool {
        self.compression == Compression::Auto && !self.fsst
    }

    /// Values in a chunk, of at most `values`: a power of two.
    pub(crate) fn at_most_values(&self, values: usize) -> usize {
        match self.max_chunk_values {
            Some(max) => values.min(1 << max.max(2).ilog2()),
            None => values,
        }
    }

    pub(crate) fn is_plain(&self) -> bool {
        self.compression == Compression::None
    }
}

/// The `lance-encoding:*` keys of a field.
struct Keys<'a>(&'a Field);

impl Keys<'_> {
    fn text(&self, key: &str) -> Option<String> {
        self.0.metadata().get(&format!("lance-encoding:{key}")).map(|v| v.trim().to_ascii_lowercase())
    }

    fn number<T: std::str::FromStr>(&self, key: &str) -> Result<Option<T>> {
        let Some(text) = self.text(key) else { return Ok(None) };
        text.parse().map(Some).map_err(|_| self.bad(key, &text, "a number"))
    }

    fn bad(&self, key: &str, value: &str, expected: &str) -> Error {
        Error::invalid(format!("field metadata lance-encoding:{key} is {value:?}: expected {expected}"))
            .in_column(self.0.name())
    }
}
