//! `pennon schema`: columns and types.

use arrow_schema::{DataType, Field, Schema};
use pennon::Result;
use pennon::convert::{Format, schema_to_json, type_name};

use crate::Outcome;
use crate::args::Source;
use crate::output::line;

/// Print columns and types
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  pennon schema flights.lance\n  pennon schema data.csv --json > types.json   # edit, then: pennon convert data.csv out.lance --schema types.json"
)]
pub(crate) struct Args {
    /// File to read, - for standard input
    file: String,
    /// Print JSON: {"fields": [{name, type, nullable, id, metadata, children}], "metadata"}
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    source: Source,
}

pub(crate) fn run(args: &Args) -> Result<Outcome> {
    let reader = args.source.open(&args.file)?;
    let schema = reader.schema()?;
    if args.json {
        line(
            serde_json::to_string_pretty(&schema_to_json(&schema, reader.format() == Format::Lance))
                .unwrap_or_default(),
        )?;
    } else {
        for text in lines(&schema) {
            line(text)?;
        }
    }
    Ok(Outcome::Done)
}

fn lines(schema: &Schema) -> Vec<String> {
    let mut out = Vec::new();
    for field in schema.fields() {
        describe(field, 0, &mut out);
    }
    let mut pairs: Vec<_> = schema.metadata().iter().collect();
    pairs.sort();
    out.extend(pairs.into_iter().map(|(k, v)| format!("# {k} = {}", crate::table::cut(v))));
    out
}

fn describe(field: &Field, depth: usize, out: &mut Vec<String>) {
    let nullable = if field.is_nullable() { "" } else { " not null" };
    let mut pairs: Vec<_> = field.metadata().iter().collect();
    pairs.sort();
    let metadata: String =
        pairs.into_iter().map(|(k, v)| format!("  # {k} = {}", crate::table::cut(v))).collect();
    out.push(format!(
        "{}{}: {}{nullable}{metadata}",
        "  ".repeat(depth),
        field.name(),
        type_name(field.data_type())
    ));
    let children = match field.data_type() {
        // A list of plain values is told by its type.
        DataType::Struct(fields) => fields.to_vec(),
        DataType::List(f) | DataType::LargeList(f) | DataType::FixedSizeList(f, _)
            if f.data_type().is_nested() =>
        {
            vec![f.clone()]
        }
        DataType::Map(f, _) => vec![f.clone()],
        _ => Vec::new(),
    };
    if depth < 64 {
        children.iter().for_each(|c| describe(c, depth + 1, out));
    }
}
