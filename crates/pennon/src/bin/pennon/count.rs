//! `pennon count`: the number of rows.

use pennon::Result;

use crate::Outcome;
use crate::args::Source;
use crate::output::line;

/// Print the number of rows
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  pennon count flights.lance\n  cat data.csv | pennon count -")]
pub(crate) struct Args {
    /// File to read, - for standard input
    file: String,
    #[command(flatten)]
    source: Source,
}

pub(crate) fn run(args: &Args) -> Result<Outcome> {
    line(args.source.open(&args.file)?.count()?)?;
    Ok(Outcome::Done)
}
