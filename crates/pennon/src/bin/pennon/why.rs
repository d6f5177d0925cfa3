//! `pennon inspect --why`: what the chooser of encodings considers for each column, and what it takes.

use pennon::convert::{explained_to_json, explained_type};
use pennon::{
    ExplainOptions, ExplainedCandidate, ExplainedColumn, ExplainedEncodings, File, FormatVersion, Preset,
    Result,
};

use crate::args::{self, split_paths};
use crate::output::line;
use crate::progress::Progress;
use crate::table::{count, cut, plain, size, trimmed};

/// Candidates of a column that are listed.
const LISTED: usize = 6;

/// What is to be explained.
#[derive(clap::Args)]
pub(crate) struct Why {
    /// Run the chooser of encodings over the data: for each column what it considers, what it takes and why, beside what the file
    /// has. Reads all of it, writes nothing
    #[arg(long, conflicts_with = "pages")]
    pub(crate) why: bool,
    /// The preset to choose by: balanced, fast or small
    #[arg(long, value_name = "PRESET", value_parser = args::preset, requires = "why")]
    preset: Option<Preset>,
    /// The format version to choose for, instead of the file's
    #[arg(long, value_name = "VERSION", value_parser = ["2.1", "2.2"], requires = "why")]
    format_version: Option<String>,
    /// Look at all of the data instead of samples
    #[arg(long, requires = "why")]
    thorough: bool,
    /// Columns by path: a,b.c (b.c is a field of a struct; quote other names with backquotes)
    #[arg(long, value_name = "PATHS", value_parser = args::distinct_paths, requires = "why")]
    columns: Option<String>,
}

pub(crate) fn run(args: &Why, file: &File, json: bool) -> Result<()> {
    let mut options = ExplainOptions::default();
    options.columns = args.columns.as_deref().map(split_paths);
    options.preset = args.preset.unwrap_or_default();
    options.format_version = args.format_version.as_deref().map(str::parse::<FormatVersion>).transpose()?;
    options.thorough = args.thorough;
    let progress = Progress::share();
    let explained = file.explain_encodings(&options, |share| {
        progress.at_share(share);
        Ok(())
    })?;
    drop(progress);
    if json {
        let text = serde_json::to_string_pretty(&explained_to_json(file, &explained));
        return line(text.unwrap_or_default());
    }
    line(summary(file, &explained))?;
    line(table(file, &explained))
}

/// A line about all columns together.
fn summary(file: &File, explained: &ExplainedEncodings) -> String {
    let sum = |of: fn(&ExplainedColumn) -> u64| explained.columns.iter().map(of).sum::<u64>();
    let (plain, now, then) = (sum(|c| c.plain_bytes), sum(|c| c.file_bytes), sum(|c| c.bytes));
    format!(
        "{} rows, {} columns: plain values {}, pages of the file {} ({}), pages under {} for format version {} {} ({})\n",
        count(file.num_rows()),
        count(explained.columns.len() as u64),
        size(plain),
        size(now),
        ratio(now, plain),
        explained.preset.name(),
        explained.format_version,
        size(then),
        ratio(then, plain),
    )
}

/// For each column some lines: plain values, what the file has, what was considered, why.
fn table(file: &File, explained: &ExplainedEncodings) -> String {
    let header = ["column", "", "estimated", "bytes", "of plain", "ns a value", "ns a row", "cost"];
    let mut table = plain(&header, &[false, false, true, true, true, true, true, true]);
    for column in &explained.columns {
        let mut row = |name: String, cells: [String; 7]| {
            table.add_row(std::iter::once(name).chain(cells).collect::<Vec<_>>());
        };
        let short = |what: String, bytes: Option<u64>| {
            let cell = |text: Option<String>| text.unwrap_or_default();
            let of_plain = bytes.map(|bytes| ratio(bytes, column.plain_bytes));
            [
                what,
                String::new(),
                cell(bytes.map(size)),
                cell(of_plain),
                String::new(),
                String::new(),
                String::new(),
            ]
        };
        row(cut(&column.path), short("plain".to_owned(), Some(column.plain_bytes)));
        let stored = format!("file: {}", column.file_encodings.join("; "));
        row(cut(&explained_type(file, column)), short(stored, Some(column.file_bytes)));
        if column.candidates.iter().all(|c| c.chosen_pages == 0) {
            let names: Vec<&str> = column.encodings.iter().map(|(encoding, _)| encoding.as_str()).collect();
            let taken = if names.is_empty() { "the same".to_owned() } else { names.join("; ") };
            row(String::new(), short(format!("* {taken}"), Some(column.bytes)));
        }
        for candidate in column.candidates.iter().take(LISTED) {
            row(String::new(), candidate_cells(column, candidate));
        }
        if column.candidates.len() > LISTED {
            let more = column.candidates.len() - LISTED;
            row(String::new(), short(format!("  and {more} more"), None));
        }
        row(String::new(), short(why(column), None));
        row(String::new(), short(String::new(), None));
    }
    trimmed(&table.to_string()).trim_end().to_owned()
}

fn candidate_cells(column: &ExplainedColumn, candidate: &ExplainedCandidate) -> [String; 7] {
    let mark = if candidate.chosen_pages > 0 { "*" } else { " " };
    let mut name = format!("{mark} {}", candidate.encoding);
    if !candidate.settings.is_empty() {
        name += &format!(", {}", candidate.settings);
    }
    match (candidate.pages, candidate.chosen_pages) {
        (_, taken) if taken > 0 && taken < column.pages => {
            name += &format!(" ({} of {} pages)", count(taken), count(column.pages));
        }
        (pages, 0) if pages < column.pages => {
            name += &format!(" (tried on {} of {} pages)", count(pages), count(column.pages));
        }
        _ => {}
    }
    let real = if candidate.chosen_pages > 0 { size(candidate.chosen_bytes) } else { String::new() };
    [
        name,
        size(candidate.estimated_bytes),
        real,
        ratio(candidate.estimated_bytes, candidate.plain_bytes),
        format!("{:.1}", candidate.decode_ns),
        format!("{:.0}", candidate.point_ns),
        count(candidate.cost.max(0.0) as u64),
    ]
}

fn why(column: &ExplainedColumn) -> String {
    let total = column.pages;
    let reason = |(reason, pages): &(&'static str, u64)| match *pages == total {
        true => (*reason).to_owned(),
        false => format!("{reason} ({} of {} pages)", count(*pages), count(total)),
    };
    let mut text = column.reasons.iter().map(reason).collect::<Vec<_>>().join("; ");
    if text.is_empty() {
        "no rows".clone_into(&mut text);
    }
    for (key, value) in &column.metadata {
        text += &format!("; {key} is {}", cut(value));
    }
    format!("why: {text}")
}

fn ratio(bytes: u64, plain: u64) -> String {
    if plain == 0 { "-".to_owned() } else { format!("{:.3}", bytes as f64 / plain as f64) }
}
