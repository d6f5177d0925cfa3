//! `pennon inspect`: what a file is made of.

use pennon::convert::{inspected_type, inspection_to_json};
use pennon::{ColumnInspection, Error, File, Inspection, Result};

use crate::Outcome;
use crate::args::Source;
use crate::output::line;
use crate::table::{count, cut, plain, size, trimmed};
use crate::why::{self, Why};

/// Show the make-up of a Lance file: pages, layouts, encodings, bytes per column
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  pennon inspect flights.lance\n  pennon inspect flights.lance --pages\n  pennon inspect flights.lance --why --preset small --columns tailnum,dep_delay\n  pennon inspect flights.lance --json | jq '.columns[] | {path, bytes}'"
)]
pub(crate) struct Args {
    /// Lance file
    file: String,
    /// Print JSON: {format, format_version, file_bytes, num_rows, metadata_bytes, global_buffers, columns}; with --why
    /// {format_version, preset, columns}
    #[arg(long)]
    json: bool,
    /// List every page
    #[arg(long)]
    pages: bool,
    #[command(flatten)]
    why: Why,
}

pub(crate) fn run(args: &Args) -> Result<Outcome> {
    let source = Source { from: None, schema: None };
    let reader = source.open(&args.file)?;
    let Some(file) = reader.as_lance() else {
        return Err(Error::unsupported(format!(
            "{}: inspect shows Lance files, this is {}; `pennon schema` and `pennon verify` read it",
            args.file,
            reader.format().title()
        )));
    };
    if args.why.why {
        why::run(&args.why, file, args.json).map_err(|e| e.in_file(&args.file))?;
        return Ok(Outcome::Done);
    }
    let inspection = file.inspect()?;
    if args.json {
        line(
            serde_json::to_string_pretty(&inspection_to_json(file, &inspection, args.pages))
                .unwrap_or_default(),
        )?;
    } else {
        line(summary(file, &inspection))?;
        line(columns(file, &inspection))?;
        if args.pages {
            line(pages(&inspection))?;
        }
    }
    Ok(Outcome::Done)
}

/// A paragraph about the file as a whole.
fn summary(file: &File, inspection: &Inspection) -> String {
    let extras: u64 = inspection.global_buffers.iter().map(|b| b.bytes).sum();
    format!(
        "Lance {}, {}, {} rows, {} columns; metadata {}, global buffers {} ({})\n",
        file.format_version(),
        size(file.file_bytes()),
        count(file.num_rows()),
        count(inspection.columns.len() as u64),
        size(inspection.metadata_bytes),
        size(extras),
        inspection.global_buffers.iter().map(|b| b.kind).collect::<Vec<_>>().join(", "),
    )
}

/// A line for each column.
pub(crate) fn columns(file: &File, inspection: &Inspection) -> String {
    let header = ["column", "type", "pages", "values", "bytes", "B/value", "share", "layout and encoding"];
    let mut table = plain(&header, &[false, false, true, true, true, true, true, false]);
    for column in &inspection.columns {
        table.add_row(vec![
            cut(&column.path),
            cut(&inspected_type(file, column)),
            count(column.pages.len() as u64),
            count(column.num_values),
            size(column.bytes),
            format!("{:.2}", per_value(column)),
            format!("{:.1} %", 100.0 * share(file, column)),
            encodings(column),
        ]);
    }
    trimmed(&table.to_string())
}

fn pages(inspection: &Inspection) -> String {
    let header = ["column", "page", "first row", "rows", "bytes", "offset", "layout", "encoding", "levels"];
    let mut table = plain(&header, &[false, true, true, true, true, true, false, false, false]);
    for column in &inspection.columns {
        for (i, page) in column.pages.iter().enumerate() {
            table.add_row(vec![
                cut(&column.path),
                count(i as u64),
                count(page.first_row),
                count(page.num_rows),
                size(page.buffers.iter().map(|(_, bytes)| bytes).sum()),
                page.buffers.first().map(|(offset, _)| offset.to_string()).unwrap_or_default(),
                page.layout.to_owned(),
                page.encoding.clone(),
                page.levels.clone(),
            ]);
        }
    }
    trimmed(&table.to_string())
}

fn encodings(column: &ColumnInspection) -> String {
    let mut text = column.encodings().join("; ");
    if let Some(bytes) = column.blob_bytes {
        text += &format!("; {} of blobs", size(bytes));
    }
    text
}

fn per_value(column: &ColumnInspection) -> f64 {
    if column.num_values == 0 { 0.0 } else { column.bytes as f64 / column.num_values as f64 }
}

fn share(file: &File, column: &ColumnInspection) -> f64 {
    column.bytes as f64 / file.file_bytes().max(1) as f64
}
