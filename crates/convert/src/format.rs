//! The formats, told apart by content when reading and by extension when writing.
//!
//! ```text
//! lance        … "LANC"                      last 4 bytes
//! parquet      "PAR1" … "PAR1"               first and last 4 bytes
//! arrow        "ARROW1\0\0" …                first 8 bytes (IPC file, also Feather 2)
//! arrows       FF FF FF FF  u32 length …     first message of an IPC stream
//! orc          "ORC" …                       first 3 bytes
//! jsonl        "{" after white space
//! csv          text without any of the above; believed only when name or option says so
//! ```

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use pennon_file::{Error, Result};

/// A format that tables are read from and written to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// The Lance v2 file format.
    Lance,
    /// Apache Parquet.
    Parquet,
    /// Arrow IPC, file form: record batches with an index at the end.
    Arrow,
    /// Arrow IPC, stream form: record batches one after the other.
    ArrowStream,
    /// Comma-separated values with a header line.
    Csv,
    /// One JSON object a line.
    Jsonl,
}

/// What the first bytes and the last bytes of a file say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Content {
    Known(Format),
    /// A format with a magic number that is not read: its name.
    Foreign(&'static str),
    /// Text that does not begin like JSON.
    Text,
    /// A JSON array or another JSON value that is not an object.
    JsonArray,
    Empty,
    Unknown,
}

/// Bytes looked at from the start.
pub(crate) const HEAD_BYTES: usize = 4096;

impl Format {
    /// All formats, in the order in which messages name them.
    pub const ALL: [Format; 6] =
        [Self::Lance, Self::Parquet, Self::Arrow, Self::ArrowStream, Self::Csv, Self::Jsonl];

    /// The name used on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Lance => "lance",
            Self::Parquet => "parquet",
            Self::Arrow => "arrow",
            Self::ArrowStream => "arrows",
            Self::Csv => "csv",
            Self::Jsonl => "jsonl",
        }
    }

    /// How the format is called in a sentence.
    pub fn title(self) -> &'static str {
        match self {
            Self::Lance => "Lance",
            Self::Parquet => "Parquet",
            Self::Arrow => "Arrow IPC",
            Self::ArrowStream => "Arrow IPC stream",
            Self::Csv => "CSV",
            Self::Jsonl => "JSON lines",
        }
    }

    /// The format that the extension of `path` stands for.
    pub fn from_extension(path: &Path) -> Option<Self> {
        let extension = path.extension()?.to_str()?.to_ascii_lowercase();
        Some(match extension.as_str() {
            "lance" => Self::Lance,
            "parquet" | "pq" => Self::Parquet,
            "arrow" | "ipc" | "feather" => Self::Arrow,
            "arrows" => Self::ArrowStream,
            "csv" => Self::Csv,
            "jsonl" | "ndjson" | "json" => Self::Jsonl,
            _ => return None,
        })
    }

    /// The format to write to `path`, by its extension.
    pub fn for_writing(path: &Path) -> Result<Self> {
        if path.extension().is_some_and(|e| e.eq_ignore_ascii_case("orc")) {
            return Err(Error::unsupported(format!(
                "{}: ORC is not written yet; name the target .lance, .parquet, .arrow, .csv or .jsonl",
                path.display()
            )));
        }
        Self::from_extension(path).ok_or_else(|| {
            Error::invalid(format!(
                "{}: the extension names no format; expected .lance, .parquet, .arrow, .arrows, .csv or .jsonl, or say --to FORMAT",
                path.display()
            ))
        })
    }

    /// Whether the decoder needs the whole file at hand, as opposed to reading it once from the start.
    pub(crate) fn needs_seek(self) -> bool {
        matches!(self, Self::Lance | Self::Parquet | Self::Arrow)
    }

    /// The format of a file of which `head` are the first bytes (up to [`HEAD_BYTES`]) and `tail` the last
    /// eight, or an error that says what was expected and found. `name` is used for messages and its
    /// extension decides about text.
    pub(crate) fn detect(name: &str, path: Option<&Path>, head: &[u8], tail: Option<&[u8]>) -> Result<Self> {
        let named = path.and_then(Self::from_extension);
        let found = match look(head, tail) {
            Content::Known(Self::Jsonl) => match named {
                // A CSV header may begin with a brace.
                Some(Self::Csv) => return Ok(Self::Csv),
                None | Some(Self::Jsonl) => return Ok(Self::Jsonl),
                Some(_) => "JSON text".to_owned(),
            },
            Content::Known(format) => return Ok(format),
            Content::Foreign("ORC") => {
                return Err(Error::unsupported(format!("{name}: this is an ORC file; ORC is not read yet")));
            }
            Content::Foreign(what) => {
                return Err(Error::unsupported(format!(
                    "{name}: this is {what}; formats read are lance, parquet, arrow, arrows, csv and jsonl"
                )));
            }
            Content::Text => match (named, path) {
                (Some(Self::Csv), _) | (None, None) => return Ok(Self::Csv),
                (None, Some(_)) => {
                    return Err(Error::invalid(format!(
                        "{name}: text without a format that can be told by content; say --from csv or --from jsonl"
                    )));
                }
                (Some(_), _) => format!("text beginning {}", quoted(head)),
            },
            Content::JsonArray => match named {
                Some(Self::Csv) => return Ok(Self::Csv),
                _ => {
                    return Err(Error::invalid(format!(
                        "{name}: a JSON array; expected JSON lines, one object a line (jq -c '.[]' makes them)"
                    )));
                }
            },
            // A table without rows.
            Content::Empty if named == Some(Self::Jsonl) => return Ok(Self::Jsonl),
            Content::Empty => {
                return Err(Error::invalid(format!(
                    "{name}: the file is empty (0 bytes), so it has no format"
                )));
            }
            Content::Unknown => format!("bytes beginning {}", quoted(head)),
        };
        Err(match named {
            Some(format) => Error::invalid(format!(
                "{name}: not {} file: expected {}, found {found}",
                format.article(),
                format.mark()
            )),
            None => Error::invalid(format!(
                "{name}: no known format: expected lance, parquet, arrow, arrows, csv or jsonl, found {found}"
            )),
        })
    }

    fn article(self) -> &'static str {
        match self {
            Self::Lance => "a Lance",
            Self::Parquet => "a Parquet",
            Self::Arrow => "an Arrow IPC",
            Self::ArrowStream => "an Arrow IPC stream",
            Self::Csv => "a CSV",
            Self::Jsonl => "a JSON lines",
        }
    }

    fn mark(self) -> &'static str {
        match self {
            Self::Lance => "\"LANC\" as the last four bytes",
            Self::Parquet => "\"PAR1\" at both ends",
            Self::Arrow => "\"ARROW1\" at the start",
            Self::ArrowStream => "a message beginning FF FF FF FF",
            Self::Csv => "text",
            Self::Jsonl => "\"{\" at the start",
        }
    }
}

fn look(head: &[u8], tail: Option<&[u8]>) -> Content {
    if head.is_empty() {
        return Content::Empty;
    }
    let ends_with = |magic: &[u8]| tail.is_some_and(|t| t.ends_with(magic));
    if ends_with(b"LANC") {
        return Content::Known(Format::Lance);
    }
    if head.starts_with(b"PAR1") {
        // A cut file still says what it was; the Parquet reader explains what is missing.
        return Content::Known(Format::Parquet);
    }
    if head.starts_with(b"PARE") {
        return Content::Foreign("an encrypted Parquet file");
    }
    if head.starts_with(b"ARROW1") {
        return Content::Known(Format::Arrow);
    }
    if head.len() >= 8
        && head[..4] == [0xFF; 4]
        && u32::from_le_bytes([head[4], head[5], head[6], head[7]]) < 1 << 28
    {
        return Content::Known(Format::ArrowStream);
    }
    if head.starts_with(b"ORC") {
        return Content::Foreign("ORC");
    }
    for (magic, what) in [
        (&b"FEA1"[..], "a Feather 1 file"),
        (b"\x1f\x8b", "gzip-compressed data (unpack it first)"),
        (b"\x28\xb5\x2f\xfd", "zstd-compressed data (unpack it first)"),
        (b"PK\x03\x04", "a zip archive (unpack it first)"),
        (b"\x89HDF", "an HDF5 file"),
        (b"Obj\x01", "an Avro file"),
        (b"SQLite format 3", "an SQLite database"),
        (b"\x93NUMPY", "a NumPy array"),
        (b"VTXF", "a Vortex file"),
    ] {
        if head.starts_with(magic) {
            return Content::Foreign(what);
        }
    }
    if !is_text(head) {
        return Content::Unknown;
    }
    match head.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(head).iter().find(|b| !b.is_ascii_whitespace()) {
        Some(b'{') => Content::Known(Format::Jsonl),
        Some(b'[') => Content::JsonArray,
        _ => Content::Text,
    }
}

/// UTF-8 (the last character may be cut) without control characters that text does not have.
fn is_text(head: &[u8]) -> bool {
    let valid = match std::str::from_utf8(head) {
        Ok(_) => true,
        Err(e) => e.error_len().is_none() && head.len() >= HEAD_BYTES - 4,
    };
    valid && !head.iter().any(|&b| b < 0x20 && !matches!(b, b'\n' | b'\r' | b'\t' | 0x0C | 0x1B))
}

/// The first bytes for a message: as text where they are text, else as hexadecimal.
fn quoted(head: &[u8]) -> String {
    let cut = &head[..head.len().min(16)];
    match std::str::from_utf8(cut) {
        Ok(s) if !s.chars().any(char::is_control) => format!("{s:?}"),
        Ok(s) if is_text(cut) => format!("{s:?}"),
        _ => cut[..cut.len().min(8)].iter().map(|b| format!("{b:02X}")).collect::<Vec<_>>().join(" "),
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Format {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Self::ALL.into_iter().find(|f| f.name() == text).ok_or_else(|| {
            Error::invalid(format!("format {text:?}: expected lance, parquet, arrow, arrows, csv or jsonl"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn detect(name: &str, bytes: &[u8]) -> Result<Format> {
        let tail = &bytes[bytes.len().saturating_sub(8)..];
        Format::detect(name, Some(Path::new(name)), &bytes[..bytes.len().min(HEAD_BYTES)], Some(tail))
    }

    #[test]
    fn content_wins_over_the_name() {
        assert_eq!(detect("x.csv", b"PAR1....PAR1").unwrap(), Format::Parquet);
        assert_eq!(detect("x", b"....LANC").unwrap(), Format::Lance);
        assert_eq!(detect("x.bin", b"ARROW1\0\0").unwrap(), Format::Arrow);
        assert_eq!(detect("x", b"\xff\xff\xff\xff\x10\0\0\0").unwrap(), Format::ArrowStream);
        assert_eq!(detect("x", b" {\"a\":1}\n").unwrap(), Format::Jsonl);
        assert_eq!(detect("x.csv", b"{a},b\n").unwrap(), Format::Csv);
    }

    #[test]
    fn a_file_that_is_not_what_its_name_says_is_told_what_it_is() {
        let message = |name: &str, bytes: &[u8]| detect(name, bytes).unwrap_err().to_string();
        assert_eq!(
            message("t.lance", b"a,b\n1,2\n"),
            "t.lance: not a Lance file: expected \"LANC\" as the last four bytes, found text beginning \"a,b\\n1,2\\n\""
        );
        assert_eq!(
            message("t.parquet", b"\x00\x01\x02\x03"),
            "t.parquet: not a Parquet file: expected \"PAR1\" at both ends, found bytes beginning 00 01 02 03"
        );
        assert_eq!(
            message("t.orc", b"ORC\x01\x02"),
            "unsupported: t.orc: this is an ORC file; ORC is not read yet"
        );
        assert!(message("t.csv", b"").contains("empty (0 bytes)"));
        assert!(message("t.jsonl", b"[{}]").contains("JSON lines, one object a line"));
        assert!(message("notes.txt", b"hello\n").contains("say --from csv"));
        assert!(message("t.gz", b"\x1f\x8b\x08").contains("gzip"));
    }
}
