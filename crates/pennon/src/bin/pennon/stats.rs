//! `pennon stats`: what a file says of its columns' values.

use pennon::convert::{bound_to_text, statistics_to_json, statistics_type};
use pennon::{BloomFilters, ColumnStatistics, Error, File, Result, RowsStatistics, ValueBound};

use crate::Outcome;
use crate::args::Source;
use crate::output::line;
use crate::table::{count, cut, plain, size};

/// Show the statistics of a Lance file: nulls, least and greatest values, different values, per column or zone
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  pennon stats flights.lance\n  pennon stats flights.lance --zones\n  pennon stats flights.lance --json | jq '.columns[] | {path, min, max}'\n\nA bound with ~ in front is none of the values: long texts are cut. Numbers of different values are estimates."
)]
pub(crate) struct Args {
    /// Lance file
    file: String,
    /// Print JSON: {num_rows, has_statistics, columns: [{path, type, value_count, null_count, nan_count, min, max, min_exact, max_exact, distinct, bytes, zone_rows, num_zones}], bloom_filters: [{path, zone_rows, num_zones, bytes}]}
    #[arg(long)]
    json: bool,
    /// List every zone: the rows that a filter may pass over together
    #[arg(long)]
    zones: bool,
}

pub(crate) fn run(args: &Args) -> Result<Outcome> {
    let source = Source { from: None, schema: None };
    let reader = source.open(&args.file)?;
    let Some(file) = reader.as_lance() else {
        return Err(Error::unsupported(format!(
            "{}: stats shows Lance files that have statistics, this is {}; convert it to Lance",
            args.file,
            reader.format().title()
        )));
    };
    let statistics = file.statistics()?;
    let blooms = file.bloom_filters()?;
    if args.json {
        let json = statistics_to_json(file, &statistics, &blooms, args.zones);
        line(serde_json::to_string_pretty(&json).unwrap_or_default())?;
    } else if statistics.is_empty() {
        line(format!("{} rows; {}", count(file.num_rows()), why_none(file)))?;
    } else {
        let bytes = statistics.iter().map(|column| column.bytes).sum();
        line(format!(
            "{} rows; statistics of {} columns, {}\n",
            count(file.num_rows()),
            count(statistics.len() as u64),
            size(bytes)
        ))?;
        line(columns(file, &statistics))?;
        if args.zones {
            line(String::new())?;
            line(zones(&statistics))?;
        }
    }
    if !args.json {
        blooms.iter().try_for_each(|filters| line(bloom(filters)))?;
    }
    Ok(Outcome::Done)
}

/// A line for the bloom filters of a column.
fn bloom(filters: &BloomFilters) -> String {
    format!(
        "bloom filters of {}: {} zones of {} rows, {}",
        cut(&filters.path),
        count(filters.num_zones),
        count(filters.zone_rows),
        size(filters.bytes)
    )
}

/// Why there is nothing to show.
fn why_none(file: &File) -> &'static str {
    match file.has_statistics() {
        true => "no statistics that this release knows",
        false => "the file has no statistics; pennon writes them, other writers do not",
    }
}

/// A line for each column.
fn columns(file: &File, statistics: &[ColumnStatistics]) -> String {
    let header = ["column", "type", "values", "nulls", "NaN", "distinct", "min", "max", "zones"];
    let mut table = plain(&header, &[false, false, true, true, true, true, true, true, true]);
    for column in statistics {
        table.add_row(vec![
            cut(&column.path),
            cut(&statistics_type(file, column)),
            count(column.file.values),
            count(column.file.nulls),
            count(column.file.nans),
            column.distinct.map_or_else(String::new, |n| format!("~{}", count(n))),
            bound(&column.file.min),
            bound(&column.file.max),
            match column.zones.len() as u64 {
                0 => "-".to_owned(),
                zones => format!("{} of {} rows", count(zones), count(column.zone_rows)),
            },
        ]);
    }
    trimmed(&table.to_string())
}

/// A line for each zone of each column.
fn zones(statistics: &[ColumnStatistics]) -> String {
    let header = ["column", "first row", "rows", "values", "nulls", "NaN", "min", "max"];
    let mut table = plain(&header, &[false, true, true, true, true, true, true, true]);
    for column in statistics {
        for zone in &column.zones {
            let RowsStatistics { first_row, num_rows, values, nulls, nans, .. } = zone;
            let numbers = [first_row, num_rows, values, nulls, nans].map(|n| count(*n));
            let mut row = vec![cut(&column.path)];
            row.extend(numbers);
            row.extend([bound(&zone.min), bound(&zone.max)]);
            table.add_row(row);
        }
    }
    trimmed(&table.to_string())
}

fn bound(bound: &Option<ValueBound>) -> String {
    match bound {
        None => "-".to_owned(),
        Some(bound) if bound.exact => cut(&bound_to_text(bound)),
        Some(bound) => cut(&format!("~{}", bound_to_text(bound))),
    }
}

fn trimmed(table: &str) -> String {
    table.lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
}
