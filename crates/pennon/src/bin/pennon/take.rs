//! `pennon take`: rows by number.

use pennon::Result;

use crate::Outcome;
use crate::args::{Columns, STDIN_TWICE, Source};
use crate::output::Target;
use crate::rows::{self, Rows};

/// A parsed `--rows`; a type of its own so that it counts as one value.
#[derive(Clone)]
struct RowList(Vec<Rows>);

/// Fetch rows by number, in the order asked, duplicates kept
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  pennon take flights.lance --rows 3,1,3\n  pennon take flights.lance --rows 100..110,5..=7 --columns origin,dest\n  pennon take flights.lance --rows-from numbers.txt -o picked.parquet"
)]
#[command(group(clap::ArgGroup::new("which").required(true).args(["rows", "rows_from"])))]
pub(crate) struct Args {
    /// File to read, - for standard input
    file: String,
    /// Row numbers from 0: a comma list of N, A..B (without B) and A..=B
    #[arg(long, value_name = "ROWS", value_parser = row_list, allow_hyphen_values = true)]
    rows: Option<RowList>,
    /// File with one row number a line, or with a single integer column in any format
    #[arg(long, value_name = "F")]
    rows_from: Option<String>,
    #[command(flatten)]
    target: Target,
    #[command(flatten)]
    columns: Columns,
    #[command(flatten)]
    source: Source,
}

fn row_list(text: &str) -> Result<RowList, String> {
    rows::parse(text).map(RowList)
}

pub(crate) fn run(args: &Args) -> Result<Outcome> {
    if args.file == "-" && args.rows_from.as_deref() == Some("-") {
        return Ok(Outcome::WrongUse(STDIN_TWICE.to_owned()));
    }
    let reader = args.source.open(&args.file)?;
    let schema = reader.projected_schema(args.columns.paths().as_deref())?;
    let given = match (&args.rows, &args.rows_from) {
        (Some(rows), _) => rows.0.clone(),
        (None, Some(path)) => rows::from_file(path)?,
        (None, None) => Vec::new(),
    };
    let (batches, total) = rows::take(reader, &given, &args.columns.selection())?;
    args.target.write(&schema, batches, Some(total))
}
