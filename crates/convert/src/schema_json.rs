//! Schemas as JSON: what `schema --json` prints and `--schema` reads.
//!
//! ```text
//! {"fields": [{"name": "a", "type": "list", "nullable": true, "id": 0, "metadata": {}, "children": […]}], "metadata": {}}
//! ```
//!
//! `type` is a name of [`types`](crate::types); only `name` and `type` are needed when reading.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_schema::{Field, FieldRef, Fields, Metadata, Schema};
use pennon_file::{Error, Result};
use serde_json::{Map, Value, json};

use crate::guard::short;
use crate::types;

/// The schema as JSON. `ids` gives a field's number in the file's own count (depth first) where it has one.
pub fn schema_to_json(schema: &Schema, ids: bool) -> Value {
    let mut next = if ids { Some(0) } else { None };
    let fields: Vec<_> = schema.fields().iter().map(|f| field_to_json(f, &mut next)).collect();
    json!({ "fields": fields, "metadata": metadata_to_json(schema.metadata()) })
}

fn field_to_json(field: &Field, next: &mut Option<u32>) -> Value {
    let id = *next;
    *next = next.map(|n| n + 1);
    let children: Vec<_> =
        types::children(field.data_type()).iter().map(|c| field_to_json(c, next)).collect();
    json!({
        "name": field.name(),
        "type": types::head(field.data_type()),
        "nullable": field.is_nullable(),
        "id": id,
        "metadata": metadata_to_json(field.metadata()),
        "children": children,
    })
}

fn metadata_to_json(metadata: &Metadata) -> Value {
    let mut pairs: Vec<_> = metadata.iter().collect();
    pairs.sort();
    Value::Object(pairs.into_iter().map(|(k, v)| (k.clone(), Value::String(v.clone()))).collect())
}

/// Reads a schema from the text of a JSON file called `name`.
pub fn schema_from_json(name: &str, text: &str) -> Result<Schema> {
    let bad = |why: String| Error::invalid(format!("{name}: not a schema: {why}"));
    let value: Value = serde_json::from_str(text).map_err(|e| bad(e.to_string()))?;
    let Some(Value::Array(fields)) = value.get("fields") else {
        return Err(bad("expected {\"fields\": [{\"name\": …, \"type\": …}, …]}".into()));
    };
    let fields = fields
        .iter()
        .map(|f| field_from_json(f, 0))
        .collect::<Result<Vec<_>>>()
        .map_err(|e| bad(e.to_string()))?;
    let metadata = metadata_from_json(value.get("metadata")).map_err(|e| bad(e.to_string()))?;
    Ok(Schema::new(Fields::from(fields)).with_metadata(metadata))
}

fn field_from_json(value: &Value, depth: usize) -> Result<FieldRef> {
    if depth > 64 {
        return Err(Error::limit("fields are nested more than 64 deep"));
    }
    let Value::Object(object) = value else {
        return Err(Error::invalid(format!(
            "expected an object for a field, found {}",
            short(&value.to_string())
        )));
    };
    let text = |key: &str| -> Result<&str> {
        object.get(key).and_then(Value::as_str).ok_or_else(|| {
            Error::invalid(format!("a field needs a text {key:?}; found {}", short(&value.to_string())))
        })
    };
    let (name, type_name) = (text("name")?, text("type")?);
    let nullable = match object.get("nullable") {
        None | Some(Value::Null) => true,
        Some(Value::Bool(b)) => *b,
        Some(other) => {
            return Err(Error::invalid(format!(
                "field {name:?}: \"nullable\" is {other}, expected true or false"
            )));
        }
    };
    let children = match object.get("children") {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(children)) => {
            children.iter().map(|c| field_from_json(c, depth + 1)).collect::<Result<_>>()?
        }
        Some(_) => return Err(Error::invalid(format!("field {name:?}: \"children\" is not a list"))),
    };
    let data_type = types::parse(type_name, children)
        .map_err(|e| Error::invalid(format!("field {name:?}: {}", e.message())))?;
    Ok(Arc::new(
        Field::new(name, data_type, nullable).with_metadata(metadata_from_json(object.get("metadata"))?),
    ))
}

fn metadata_from_json(value: Option<&Value>) -> Result<HashMap<String, String>> {
    let empty = Map::new();
    let object = match value {
        None | Some(Value::Null) => &empty,
        Some(Value::Object(object)) => object,
        Some(other) => return Err(Error::invalid(format!("\"metadata\" is {other}, expected an object"))),
    };
    object
        .iter()
        .map(|(k, v)| match v {
            Value::String(text) => Ok((k.clone(), text.clone())),
            other => Err(Error::invalid(format!("metadata {k:?} is {other}, expected text"))),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_schema::DataType;

    #[test]
    fn a_schema_comes_back_from_its_json() {
        let item = Field::new(
            "item",
            DataType::Timestamp(arrow_schema::TimeUnit::Millisecond, Some("UTC".into())),
            false,
        );
        let schema = Schema::new(vec![
            Field::new("a", DataType::List(Arc::new(item)), true).with_metadata([("k", "v")]),
            Field::new("", DataType::Dictionary(Box::new(DataType::Int8), Box::new(DataType::Utf8)), false),
        ])
        .with_metadata([("m", "n")]);
        let json = schema_to_json(&schema, true);
        assert_eq!(json["fields"][0]["children"][0]["id"], 1);
        assert_eq!(json["fields"][1]["type"], "dictionary[int8]");
        assert_eq!(schema_from_json("s.json", &json.to_string()).unwrap(), schema);
    }

    #[test]
    fn a_wrong_schema_file_is_told_what_is_wrong() {
        let message = |text: &str| schema_from_json("s.json", text).unwrap_err().to_string();
        assert_eq!(
            message("{}"),
            "s.json: not a schema: expected {\"fields\": [{\"name\": …, \"type\": …}, …]}"
        );
        assert!(
            message("{\"fields\":[{\"name\":\"a\",\"type\":\"int\"}]}")
                .contains("field \"a\": type \"int\": no such type")
        );
    }
}
