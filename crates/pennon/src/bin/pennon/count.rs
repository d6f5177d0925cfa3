//! `pennon count`: the number of rows.

use pennon::Result;

use crate::Outcome;
use crate::args::{Filter, Source};
use crate::output::line;

/// Print the number of rows, of all or of those that --where keeps
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  pennon count flights.lance\n  pennon count flights.lance --where \"dep_delay > 60\"\n  cat data.csv | pennon count -"
)]
pub(crate) struct Args {
    /// File to read, - for standard input
    file: String,
    #[command(flatten)]
    filter: Filter,
    #[command(flatten)]
    source: Source,
}

pub(crate) fn run(args: &Args) -> Result<Outcome> {
    let rows = match &args.filter.predicate {
        Some(predicate) => args.source.open_to_stream(&args.file)?.count_where(predicate)?,
        None => args.source.open(&args.file)?.count()?,
    };
    line(rows)?;
    Ok(Outcome::Done)
}
