//! `pennon inspect`: what a file is made of.

use pennon::convert::{Format, field_at, type_name};
use pennon::{ColumnInspection, Error, File, Inspection, PageInspection, Result};
use serde_json::{Value, json};

use crate::Outcome;
use crate::args::Source;
use crate::output::line;
use crate::table::{count, cut, plain, size};

/// Show the make-up of a Lance file: pages, layouts, encodings, bytes per column
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  pennon inspect flights.lance\n  pennon inspect flights.lance --pages\n  pennon inspect flights.lance --json | jq '.columns[] | {path, bytes}'"
)]
pub(crate) struct Args {
    /// Lance file
    file: String,
    /// Print JSON: {format, format_version, file_bytes, num_rows, metadata_bytes, global_buffers, columns}
    #[arg(long)]
    json: bool,
    /// List every page
    #[arg(long)]
    pages: bool,
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
    let inspection = file.inspect()?;
    if args.json {
        line(serde_json::to_string_pretty(&to_json(file, &inspection, args.pages)).unwrap_or_default())?;
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
            cut(&type_of(file, column)),
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

fn trimmed(table: &str) -> String {
    table.lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
}

/// The type by the name that `schema` shows.
fn type_of(file: &File, column: &ColumnInspection) -> String {
    let schema = file.schema().ok();
    schema
        .and_then(|schema| field_at(&schema, &column.path))
        .map_or_else(|| column.data_type.clone(), |f| type_name(f.data_type()))
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

/// The shape is a contract: it only grows.
fn to_json(file: &File, inspection: &Inspection, with_pages: bool) -> Value {
    let rounded = |x: f64| (x * 1e6).round() / 1e6;
    let global =
        inspection.global_buffers.iter().enumerate().map(
            |(index, b)| json!({ "index": index, "offset": b.offset, "bytes": b.bytes, "kind": b.kind }),
        );
    let columns = inspection.columns.iter().enumerate().map(|(index, c)| {
        let mut column = json!({
            "index": index,
            "path": c.path,
            "type": type_of(file, c),
            "num_pages": c.pages.len(),
            "bytes": c.bytes,
            "num_values": c.num_values,
            "bytes_per_value": rounded(per_value(c)),
            "share": rounded(share(file, c)),
            "encodings": c.encodings(),
        });
        if let Some(bytes) = c.blob_bytes {
            column["blob_bytes"] = bytes.into();
        }
        if with_pages {
            column["pages"] = c.pages.iter().map(page_to_json).collect();
        }
        column
    });
    json!({
        "format": Format::Lance.name(),
        "format_version": file.format_version().to_string(),
        "file_bytes": file.file_bytes(),
        "num_rows": file.num_rows(),
        "metadata_bytes": inspection.metadata_bytes,
        "global_buffers": global.collect::<Vec<_>>(),
        "columns": columns.collect::<Vec<_>>(),
    })
}

fn page_to_json(page: &PageInspection) -> Value {
    let buffers: Vec<_> =
        page.buffers.iter().map(|(offset, bytes)| json!({ "offset": offset, "bytes": bytes })).collect();
    json!({
        "first_row": page.first_row,
        "num_rows": page.num_rows,
        "num_values": page.num_values,
        "layout": page.layout,
        "encoding": page.encoding,
        "levels": page.levels,
        "buffers": buffers,
    })
}
