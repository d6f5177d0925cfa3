//! `pennon scan`: rows in order, into any form.

use pennon::Result;

use crate::Outcome;
use crate::args::{Columns, Filter, Source};
use crate::output::Target;

/// Read rows in order, to a table or any format
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  pennon scan flights.lance --columns origin,dep_delay --limit 100\n  pennon scan flights.lance --offset 1000 --limit 50 --to csv\n  pennon scan flights.lance --where \"dep_delay > 60 AND origin = 'JFK'\" --limit 10\n  pennon scan flights.lance --to arrow -o flights.arrow"
)]
pub(crate) struct Args {
    /// File to read, - for standard input
    file: String,
    /// Rows to skip, of those that --where keeps
    #[arg(long, value_name = "N", default_value_t = 0)]
    offset: u64,
    /// Most rows to hand out, after --where and --offset
    #[arg(long, value_name = "N")]
    limit: Option<u64>,
    #[command(flatten)]
    filter: Filter,
    #[command(flatten)]
    target: Target,
    #[command(flatten)]
    columns: Columns,
    #[command(flatten)]
    source: Source,
}

pub(crate) fn run(args: &Args) -> Result<Outcome> {
    let reader = args.source.open_to_stream(&args.file)?;
    let schema = reader.projected_schema(args.columns.paths().as_deref())?;
    let end = args.limit.map_or(u64::MAX, |limit| args.offset.saturating_add(limit));
    let filter = args.filter.predicate.clone();
    // How many rows pass is known when they have.
    let num_rows = if filter.is_some() { None } else { reader.num_rows() };
    let total = num_rows.map(|n| end.min(n).saturating_sub(args.offset));
    let selection = args.columns.selection().with_filter(filter).with_rows(args.offset..end);
    args.target.write(&schema, reader.batches(&selection)?, total)
}
