//! Arguments that several verbs share, and how they are read.

use std::path::Path;
use std::sync::Arc;

use pennon::convert::{Format, Input, ReadOptions, Reader, Selection, schema_from_json};
use pennon::scan::Predicate;
use pennon::{Error, ErrorKind, Preset, Result};

/// How a source is opened.
#[derive(clap::Args)]
pub(crate) struct Source {
    /// Format of the source, instead of looking at its content
    #[arg(long, value_name = "FORMAT", value_parser = format)]
    pub(crate) from: Option<Format>,
    /// Types of the columns of a CSV or JSON lines source, as `pennon schema --json` prints them
    #[arg(long, value_name = "F.json")]
    pub(crate) schema: Option<String>,
}

impl Source {
    /// Opens a source to look at some of it.
    pub(crate) fn open(&self, argument: &str) -> Result<Reader> {
        self.open_with(argument, true)
    }

    /// Opens a source to go through all of it, with no more memory than the batches take.
    pub(crate) fn open_to_stream(&self, argument: &str) -> Result<Reader> {
        self.open_with(argument, false)
    }

    fn open_with(&self, argument: &str, mapping: bool) -> Result<Reader> {
        if argument.is_empty() {
            return Err(no_name());
        }
        let mut options = ReadOptions::default();
        options.mapping = mapping;
        options.allow_unstable = true;
        options.format = self.from;
        if let Some(path) = &self.schema {
            let text =
                std::fs::read_to_string(path).map_err(|e| Error::io(format!("cannot read {path}"), e))?;
            options.schema = Some(Arc::new(schema_from_json(path, &text)?));
        }
        let reader = Reader::open(&Input::from_argument(argument), &options)?;
        note_unstable(&reader);
        Ok(reader)
    }
}

/// Warns of a file that a later release may not read.
pub(crate) fn note_unstable(reader: &Reader) {
    if let Some(file) = reader.as_lance()
        && file.format_version().is_unstable()
    {
        eprintln!(
            "note: {} has format version {}, which its authors mark unstable: it may not be readable by later releases",
            reader.name(),
            file.format_version()
        );
    }
}

/// Which columns are read, and within what memory.
#[derive(clap::Args)]
pub(crate) struct Columns {
    /// Columns by path, in the order wanted: a,b.c (b.c is a field of a struct; quote other names with backquotes)
    #[arg(long, value_name = "PATHS", value_parser = distinct_paths)]
    pub(crate) columns: Option<String>,
    /// Bytes of Arrow data to work with, as in 32MiB, which it is unless given; then batches of hundreds of columns may be larger
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    pub(crate) memory: Option<u64>,
}

impl Columns {
    pub(crate) fn paths(&self) -> Option<Vec<String>> {
        self.columns.as_deref().map(split_paths)
    }

    /// All rows of the columns, in batches that leave room for what is in flight.
    pub(crate) fn selection(&self) -> Selection {
        let all = Selection::default().with_columns(self.paths());
        match self.memory {
            Some(bytes) => {
                all.with_batch_bytes(usize::try_from(bytes / 8).unwrap_or(usize::MAX).max(1 << 16))
            }
            None => all,
        }
    }
}

/// Which rows are kept.
#[derive(clap::Args)]
pub(crate) struct Filter {
    /// Keep the rows for which EXPR is true, as in "delay > 60 AND origin IN ('JFK', 'EWR')"; other forms are
    /// x IS NULL, BETWEEN a AND b, LIKE 'a%', starts_with(x, 'a'), is_nan(x), NOT, OR, a.b for a field of a struct,
    /// DATE '2026-01-31', TIMESTAMP '2026-01-31T10:00:00Z', X'00ff'
    #[arg(long = "where", value_name = "EXPR", value_parser = predicate, allow_hyphen_values = true)]
    pub(crate) predicate: Option<Predicate>,
}

fn predicate(text: &str) -> Result<Predicate, String> {
    Predicate::parse(text).map_err(|e| e.summary())
}

/// Cuts at commas outside of backquotes.
pub(crate) fn split_paths(text: &str) -> Vec<String> {
    let mut paths = vec![String::new()];
    let mut quoted = false;
    for c in text.chars() {
        quoted ^= c == '`';
        match c {
            ',' if !quoted => paths.push(String::new()),
            c => paths.last_mut().expect("never empty").push(c),
        }
    }
    paths.iter().map(|p| if p.contains('`') { p.clone() } else { p.trim().to_owned() }).collect()
}

/// The empty name, which no file has.
pub(crate) fn no_name() -> Error {
    Error::invalid("\"\": no such file; the name is empty")
}

/// Column paths of which each is asked once.
pub(crate) fn distinct_paths(text: &str) -> Result<String, String> {
    let paths = split_paths(text);
    match paths.iter().enumerate().find(|(i, path)| paths[..*i].contains(path)) {
        Some((_, twin)) => Err(format!("{twin} stands there twice")),
        None => Ok(text.to_owned()),
    }
}

/// Two arguments that both are `-`.
pub(crate) const STDIN_TWICE: &str = "standard input can be read only once; name a file for one of the two";

/// The format that the extension of a target names, or that it names none.
pub(crate) fn format_of(target: &str) -> Result<Result<Format, String>> {
    match Format::for_writing(Path::new(target)) {
        Err(e) if e.kind() == ErrorKind::Invalid => Ok(Err(e.message().to_owned())),
        found => found.map(Ok),
    }
}

pub(crate) fn format(text: &str) -> Result<Format, String> {
    text.parse().map_err(|e: Error| e.message().to_owned())
}

pub(crate) fn preset(text: &str) -> Result<Preset, String> {
    text.parse().map_err(|_| format!("expected balanced, fast or small, found {text:?}"))
}

/// A number of bytes: `4096`, `64KiB`, `8M`, `1.5GB`. Without an `i` the unit is decimal, a bare letter is binary.
pub(crate) fn bytes(text: &str) -> Result<u64, String> {
    let wrong = || format!("expected a number of bytes, as in 65536, 64KiB or 8M, found {text:?}");
    let at = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(at);
    let number: f64 = number.parse().map_err(|_| wrong())?;
    let factor = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1u64,
        "k" | "kib" => 1 << 10,
        "m" | "mib" => 1 << 20,
        "g" | "gib" => 1 << 30,
        "t" | "tib" => 1 << 40,
        "kb" => 1_000,
        "mb" => 1_000_000,
        "gb" => 1_000_000_000,
        _ => return Err(wrong()),
    };
    let bytes = number * factor as f64;
    if bytes.is_finite() && (1.0..1e15).contains(&bytes) { Ok(bytes as u64) } else { Err(wrong()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        assert_eq!(bytes("4096"), Ok(4096));
        assert_eq!(bytes("64KiB"), Ok(65536));
        assert_eq!(bytes("1.5MB"), Ok(1_500_000));
        assert_eq!(bytes("8m"), Ok(8 << 20));
        assert!(bytes("x").is_err() && bytes("0").is_err() && bytes("-1").is_err() && bytes("1e99").is_err());
    }

    #[test]
    fn a_path_stands_there_once() {
        assert_eq!(distinct_paths("a,b.c"), Ok("a,b.c".to_owned()));
        assert_eq!(distinct_paths("a,b.c, a"), Err("a stands there twice".to_owned()));
    }

    #[test]
    fn paths_are_cut_at_commas_outside_of_quotes() {
        assert_eq!(split_paths("a, b.c,`x,y`.z"), ["a", "b.c", "`x,y`.z"]);
    }
}
