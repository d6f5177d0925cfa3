//! The make-up of a Lance file as JSON: what `inspect --json` prints.
//!
//! ```text
//! {format, format_version, file_bytes, num_rows, metadata_bytes, global_buffers: [{index, offset, bytes, kind}],
//!  columns: [{index, path, type, num_pages, bytes, num_values, bytes_per_value, share, encodings: […], pages: […]}]}
//! ```

use pennon_file::{ColumnInspection, File, Inspection, PageInspection};
use serde_json::{Value, json};

use crate::format::Format;
use crate::projection::field_at;
use crate::types::type_name;

/// The shape is a contract: it only grows.
pub fn inspection_to_json(file: &File, inspection: &Inspection, with_pages: bool) -> Value {
    let rounded = |x: f64| (x * 1e6).round() / 1e6;
    let ratio = |a: u64, b: u64| rounded(if b == 0 { 0.0 } else { a as f64 / b as f64 });
    let global =
        inspection.global_buffers.iter().enumerate().map(
            |(index, b)| json!({ "index": index, "offset": b.offset, "bytes": b.bytes, "kind": b.kind }),
        );
    let columns = inspection.columns.iter().enumerate().map(|(index, c)| {
        let mut column = json!({
            "index": index,
            "path": c.path,
            "type": inspected_type(file, c),
            "num_pages": c.pages.len(),
            "bytes": c.bytes,
            "num_values": c.num_values,
            "bytes_per_value": ratio(c.bytes, c.num_values),
            "share": ratio(c.bytes, file.file_bytes().max(1)),
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

/// The type of a stored column by the name that `schema` shows.
pub fn inspected_type(file: &File, column: &ColumnInspection) -> String {
    let schema = file.schema().ok();
    schema
        .and_then(|schema| field_at(&schema, &column.path))
        .map_or_else(|| column.data_type.clone(), |f| type_name(f.data_type()))
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
