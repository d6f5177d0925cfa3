//! The statistics of a Lance file as JSON: what `stats --json` prints.
//!
//! ```text
//! {num_rows, has_statistics,
//!  columns: [{path, type, value_count, null_count, nan_count, min, max, min_exact, max_exact, distinct, bytes, zone_rows, num_zones,
//!             zones: [{first_row, num_rows, value_count, null_count, nan_count, min, max, min_exact, max_exact}]}],
//!  bloom_filters: [{path, zone_rows, num_zones, bytes}]}
//! ```

use pennon_file::{BloomFilters, ColumnStatistics, File, RowsStatistics, ValueBound};
use serde_json::{Value, json};

use crate::json::value_to_json;
use crate::projection::field_at;
use crate::types::type_name;

/// The shape is a contract: it only grows. `zones` only where they are asked for.
pub fn statistics_to_json(
    file: &File,
    statistics: &[ColumnStatistics],
    blooms: &[BloomFilters],
    with_zones: bool,
) -> Value {
    let columns = statistics.iter().map(|column| column_to_json(file, column, with_zones));
    json!({
        "num_rows": file.num_rows(),
        "has_statistics": file.has_statistics(),
        "columns": columns.collect::<Vec<_>>(),
        "bloom_filters": blooms.iter().map(blooms_to_json).collect::<Vec<_>>(),
    })
}

/// The type of a column of statistics by the name that `schema` shows.
pub fn statistics_type(file: &File, column: &ColumnStatistics) -> String {
    let schema = file.schema().ok();
    schema
        .and_then(|schema| field_at(&schema, &column.path))
        .map_or_else(|| type_name(&column.data_type), |f| type_name(f.data_type()))
}

/// A bound as JSON lines have a value.
pub fn bound_to_json(bound: &ValueBound) -> Value {
    value_to_json(&bound.value)
}

/// A bound as text, for people.
pub fn bound_to_text(bound: &ValueBound) -> String {
    match bound_to_json(bound) {
        Value::String(text) => text,
        other => other.to_string(),
    }
}

fn column_to_json(file: &File, column: &ColumnStatistics, with_zones: bool) -> Value {
    let mut json = rows_to_json(&column.file);
    json["path"] = column.path.clone().into();
    json["type"] = statistics_type(file, column).into();
    json["distinct"] = column.distinct.into();
    json["bytes"] = column.bytes.into();
    json["zone_rows"] = column.zone_rows.into();
    json["num_zones"] = column.zones.len().into();
    if with_zones {
        let zone = |zone: &RowsStatistics| {
            let mut json = rows_to_json(zone);
            json["first_row"] = zone.first_row.into();
            json["num_rows"] = zone.num_rows.into();
            json
        };
        json["zones"] = column.zones.iter().map(zone).collect();
    }
    json
}

fn blooms_to_json(filters: &BloomFilters) -> Value {
    let BloomFilters { path, zone_rows, num_zones, bytes, .. } = filters;
    json!({ "path": path, "zone_rows": zone_rows, "num_zones": num_zones, "bytes": bytes })
}

fn rows_to_json(rows: &RowsStatistics) -> Value {
    let bound = |bound: &Option<ValueBound>| bound.as_ref().map_or(Value::Null, bound_to_json);
    let exact = |bound: &Option<ValueBound>| bound.as_ref().map(|bound| bound.exact);
    json!({
        "value_count": rows.values,
        "null_count": rows.nulls,
        "nan_count": rows.nans,
        "min": bound(&rows.min),
        "max": bound(&rows.max),
        "min_exact": exact(&rows.min),
        "max_exact": exact(&rows.max),
    })
}
