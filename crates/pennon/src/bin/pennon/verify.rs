//! `pennon verify`: walk and decode everything, list every fault.

use pennon::convert::{Format, Selection};
use pennon::{Error, ErrorKind, Result};
use serde_json::json;

use crate::Outcome;
use crate::args::Source;
use crate::output::line;
use crate::progress::Progress;
use crate::table::{count, size};

/// Check checksums and decode everything, listing every fault with its place
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  pennon verify flights.lance\n  pennon verify flights.lance --json | jq .faults\n\nExit code 1 when there is a fault."
)]
pub(crate) struct Args {
    /// File to check
    file: String,
    /// Print JSON: {file, faults: [{class, message, column, page, buffer, offset}], columns, pages, bytes, unchecked_bytes}
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    source: Source,
}

/// What was looked at.
#[derive(Default)]
struct Looked {
    columns: u64,
    pages: Option<u64>,
    bytes: u64,
    unchecked: u64,
    rows: u64,
}

pub(crate) fn run(args: &Args) -> Result<Outcome> {
    let (looked, faults, format) = match args.source.open_to_stream(&args.file) {
        Ok(reader) => {
            let (looked, faults) = walk(&reader)?;
            (looked, faults, Some(reader.format()))
        }
        // Damage that keeps a file from being opened is a fault like others; a missing file is not.
        Err(e) if e.kind() == ErrorKind::Corrupt => (Looked::default(), vec![e], None),
        Err(e) => return Err(e),
    };
    if args.json {
        let each = faults.iter().map(|f| {
            let place = f.place();
            json!({
                "class": class(f), "message": f.message(), "column": place.column, "page": place.page,
                "buffer": place.buffer, "offset": place.offset,
            })
        });
        let report = json!({
            "file": args.file, "format": format.map(Format::name), "faults": each.collect::<Vec<_>>(), "columns": looked.columns, "pages": looked.pages,
            "bytes": looked.bytes, "unchecked_bytes": looked.unchecked,
        });
        line(report)?;
    } else {
        for fault in &faults {
            line(crate::one_line(&describe(fault)))?;
        }
        let pages = looked.pages.map(|p| format!(", {} pages", count(p))).unwrap_or_default();
        let unchecked = match looked.unchecked {
            _ if format.is_none() => "no data was read".to_owned(),
            _ if looked.pages.is_none() => "no checksums".to_owned(),
            // Padding between buffers is not data; what a fault kept from being looked at may have no checksum.
            0 if faults.is_empty() => "every byte of data has a checksum".to_owned(),
            0 => "all of it has checksums".to_owned(),
            bytes if bytes == looked.bytes => "no checksums".to_owned(),
            bytes => format!("{} without a checksum", size(bytes)),
        };
        let found = match faults.len() {
            0 => "no faults".to_owned(),
            1 => "1 fault".to_owned(),
            n => format!("{n} faults"),
        };
        // The size of a stream is not known.
        let bytes = match looked.bytes {
            0 if format.is_some() => String::new(),
            bytes => format!(", {}", size(bytes)),
        };
        let (rows, columns) = (count(looked.rows), count(looked.columns));
        line(format!("{found}: {rows} rows, {columns} columns{pages}{bytes} checked; {unchecked}"))?;
    }
    Ok(if faults.is_empty() { Outcome::Done } else { Outcome::Found })
}

fn walk(reader: &pennon::convert::Reader) -> Result<(Looked, Vec<Error>)> {
    if let Some(file) = reader.as_lance() {
        let progress = Progress::share();
        let report = file.verify(|share| progress.at_share(share))?;
        let looked = Looked {
            columns: report.columns,
            pages: Some(report.pages),
            bytes: report.bytes,
            unchecked: report.unchecked_bytes,
            rows: file.num_rows(),
        };
        return Ok((looked, report.faults));
    }
    // Of other formats it can be said that they decode.
    let mut looked = Looked { columns: reader.schema()?.fields().len() as u64, ..Looked::default() };
    looked.bytes = reader.path().and_then(|p| p.metadata().ok()).map_or(0, |m| m.len());
    looked.unchecked = looked.bytes;
    let mut faults = Vec::new();
    let progress = Progress::rows(reader.num_rows());
    for batch in reader.batches(&Selection::default())? {
        match batch {
            Ok(batch) => {
                looked.rows += batch.num_rows() as u64;
                progress.at(looked.rows);
            }
            Err(e) => faults.push(e),
        }
    }
    Ok((looked, faults))
}

fn class(fault: &Error) -> &'static str {
    match fault.kind() {
        ErrorKind::Corrupt => "corrupt",
        ErrorKind::Unsupported => "unsupported",
        ErrorKind::Invalid => "invalid",
        ErrorKind::Limit => "limit",
        ErrorKind::Io => "io",
        _ => "other",
    }
}

/// Class, place, then the fact with what was expected and found.
fn describe(fault: &Error) -> String {
    let place = fault.place();
    let mut parts = Vec::new();
    parts.extend(place.column.as_ref().map(|c| format!("column {c}")));
    parts.extend(place.page.map(|p| format!("page {p}")));
    parts.extend(place.buffer.map(|b| format!("buffer {b}")));
    parts.extend(place.offset.map(|o| format!("offset {o}")));
    let place = if parts.is_empty() { "file".to_owned() } else { parts.join(", ") };
    format!("{}: {place}: {}", class(fault), fault.message())
}
