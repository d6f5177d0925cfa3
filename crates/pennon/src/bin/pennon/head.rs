//! `pennon head`: the first rows.

use pennon::Result;

use crate::Outcome;
use crate::args::{Columns, Source};
use crate::output::{Form, Target};

/// Show the first rows
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  pennon head flights.lance\n  pennon head flights.parquet -n 3 --columns origin,dest\n  pennon head data.csv | jq ."
)]
pub(crate) struct Args {
    /// File to read, - for standard input
    file: String,
    /// Rows to show
    #[arg(short, value_name = "N", default_value_t = 10)]
    n: u64,
    /// Form of the output: table, csv, jsonl, arrow … [default: table on a terminal, jsonl in a pipe]
    #[arg(long, value_name = "FORM", value_parser = crate::output::form)]
    to: Option<Form>,
    #[command(flatten)]
    columns: Columns,
    #[command(flatten)]
    source: Source,
}

pub(crate) fn run(args: &Args) -> Result<Outcome> {
    let reader = args.source.open(&args.file)?;
    let schema = reader.projected_schema(args.columns.paths().as_deref())?;
    let mut selection =
        args.columns.selection().with_rows(0..args.n).with_batch_rows(args.n.clamp(1, 65_536) as usize);
    selection.threads = 1;
    let target = Target { to: args.to, out: None };
    target.write(&schema, reader.batches(&selection)?, Some(args.n))
}
