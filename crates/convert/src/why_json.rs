//! Why columns are stored as they are, as JSON: what `inspect --why --json` prints.
//!
//! ```text
//! {format_version, preset, columns: [{path, type, bytes, pages, plain_bytes, file: {bytes, pages, encodings}, encodings: [{encoding, pages}],
//!  reasons: [{reason, pages}], metadata: {key: value}, candidates: [{encoding, settings, pages, chosen_pages, estimated_bytes, plain_bytes,
//!  chosen_bytes, decode_ns, point_ns, cost}]}]}
//! ```

use pennon_file::{ExplainedCandidate, ExplainedColumn, ExplainedEncodings, File};
use serde_json::{Map, Value, json};

use crate::projection::field_at;
use crate::types::type_name;

/// The shape is a contract: it only grows.
pub fn explained_to_json(file: &File, explained: &ExplainedEncodings) -> Value {
    let columns: Vec<Value> = explained.columns.iter().map(|column| column_to_json(file, column)).collect();
    json!({
        "format_version": explained.format_version.to_string(),
        "preset": explained.preset.name(),
        "columns": columns,
    })
}

/// The type of an explained column by the name that `schema` shows.
pub fn explained_type(file: &File, column: &ExplainedColumn) -> String {
    let schema = file.schema().ok();
    let field = schema.as_ref().and_then(|schema| field_at(schema, &column.path));
    field.map_or_else(|| column.data_type.clone(), |field| type_name(field.data_type()))
}

fn column_to_json(file: &File, column: &ExplainedColumn) -> Value {
    let encodings = column.encodings.iter();
    let encodings: Vec<_> =
        encodings.map(|(encoding, pages)| json!({ "encoding": encoding, "pages": pages })).collect();
    let reasons = column.reasons.iter();
    let reasons: Vec<_> =
        reasons.map(|(reason, pages)| json!({ "reason": reason, "pages": pages })).collect();
    let metadata: Map<String, Value> =
        column.metadata.iter().map(|(key, value)| (key.clone(), value.clone().into())).collect();
    json!({
        "path": column.path,
        "type": explained_type(file, column),
        "bytes": column.bytes,
        "pages": column.pages,
        "plain_bytes": column.plain_bytes,
        "file": {
            "bytes": column.file_bytes, "pages": column.file_pages, "encodings": column.file_encodings,
        },
        "encodings": encodings,
        "reasons": reasons,
        "metadata": metadata,
        "candidates": column.candidates.iter().map(candidate_to_json).collect::<Vec<_>>(),
    })
}

fn candidate_to_json(candidate: &ExplainedCandidate) -> Value {
    let rounded = |x: f64| (x * 1e3).round() / 1e3;
    json!({
        "encoding": candidate.encoding,
        "settings": candidate.settings,
        "pages": candidate.pages,
        "chosen_pages": candidate.chosen_pages,
        "estimated_bytes": candidate.estimated_bytes,
        "plain_bytes": candidate.plain_bytes,
        "chosen_bytes": candidate.chosen_bytes,
        "decode_ns": rounded(candidate.decode_ns),
        "point_ns": rounded(candidate.point_ns),
        "cost": rounded(candidate.cost),
    })
}
