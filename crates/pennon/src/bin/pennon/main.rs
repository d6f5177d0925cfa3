//! The `pennon` program: one module per verb.
//!
//! Exit codes: 0 done, 1 failed (one line on standard error says why), 2 wrong usage.

#![allow(missing_docs)]

mod args;
mod convert;
mod count;
mod demo;
mod diff;
mod head;
mod inspect;
mod memory;
mod output;
mod progress;
mod rows;
mod scan;
mod schema;
mod stats;
mod summary;
mod table;
mod take;
mod verify;
mod why;

use std::io::{self, Write as _};
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind as Usage};
use clap::{Parser, Subcommand};
use pennon::{Error, ErrorKind};

/// What a verb ends with.
enum Outcome {
    Done,
    /// Faults or differences were found and printed.
    Found,
    /// The arguments do not go together, in words.
    WrongUse(String),
}

/// Columnar files for AI data: read, write, convert and inspect.
///
/// Formats are found by content when reading and by extension when writing. `-` is standard input or output.
#[derive(Parser)]
#[command(name = "pennon", version, arg_required_else_help = true, max_term_width = 100)]
#[command(
    after_help = "Examples:\n  pennon demo\n  pennon convert flights.parquet flights.lance\n  pennon head flights.lance\n  pennon take flights.lance --rows 3,1,3 --columns origin,dest\n\nExit codes: 0 done, 1 failed, 2 wrong usage."
)]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    Demo(demo::Args),
    Convert(convert::Args),
    Schema(schema::Args),
    Head(head::Args),
    Scan(scan::Args),
    Take(take::Args),
    Count(count::Args),
    Inspect(inspect::Args),
    Stats(stats::Args),
    Verify(verify::Args),
    Diff(diff::Args),
}

fn main() -> ExitCode {
    memory::return_large_blocks();
    // A panic of a foreign decoder becomes an error; nothing is to be printed for it.
    let print = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if !pennon::convert::panic_is_expected() {
            print(info);
        }
    }));
    tidy_on_signals();
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(e) => return usage(&e),
    };
    let outcome = match cli.verb {
        Verb::Demo(args) => demo::run(&args),
        Verb::Convert(args) => convert::run(&args),
        Verb::Schema(args) => schema::run(&args),
        Verb::Head(args) => head::run(&args),
        Verb::Scan(args) => scan::run(&args),
        Verb::Take(args) => take::run(&args),
        Verb::Count(args) => count::run(&args),
        Verb::Inspect(args) => inspect::run(&args),
        Verb::Stats(args) => stats::run(&args),
        Verb::Verify(args) => verify::run(&args),
        Verb::Diff(args) => diff::run(&args),
    };
    match outcome {
        Ok(Outcome::Done) => ExitCode::SUCCESS,
        Ok(Outcome::Found) => ExitCode::from(1),
        Ok(Outcome::WrongUse(what)) => wrong_use(&what),
        // Whoever read our output has seen enough.
        Err(e) if is_broken_pipe(&e) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("pennon: {}", one_line(&e.to_string()));
            ExitCode::from(1)
        }
    }
}

/// An interrupted program takes its temporary files with it, and a file-size limit is an error like a full disk.
fn tidy_on_signals() {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGXCPU, SIGXFSZ};
    // Who started the program with a signal ignored, as `nohup` does, wants it to go on.
    let ignored = ignored_signals();
    let ends =
        [SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGXCPU].into_iter().filter(|s| ignored >> (s - 1) & 1 == 0);
    let Ok(mut signals) = signal_hook::iterator::Signals::new(ends.chain([SIGXFSZ])) else { return };
    std::thread::spawn(move || {
        for signal in signals.forever().filter(|s| *s != SIGXFSZ) {
            pennon::convert::remove_temporaries();
            let _ = signal_hook::low_level::emulate_default_handler(signal);
        }
    });
}

/// The signals that were ignored when the program started, signal 1 in the lowest bit; none where that cannot be told.
fn ignored_signals() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|l| l.strip_prefix("SigIgn:"));
    mask.and_then(|m| u64::from_str_radix(m.trim(), 16).ok()).unwrap_or(0)
}

fn is_broken_pipe(e: &Error) -> bool {
    e.kind() == ErrorKind::Io && e.io_source().is_some_and(|s| s.kind() == io::ErrorKind::BrokenPipe)
}

/// Characters quoted of a wrong value.
const MAX_VALUE: usize = 80;

/// Help and version go out as they are; a wrong use becomes one line.
fn usage(e: &clap::Error) -> ExitCode {
    if matches!(
        e.kind(),
        Usage::DisplayHelp | Usage::DisplayVersion | Usage::DisplayHelpOnMissingArgumentOrSubcommand
    ) {
        if e.use_stderr() {
            let _ = e.print();
            return ExitCode::from(2);
        }
        return match e.print().and_then(|()| io::stdout().flush()) {
            Err(e) if e.kind() != io::ErrorKind::BrokenPipe => {
                eprintln!("pennon: {}", Error::io("cannot write standard output", e));
                ExitCode::from(1)
            }
            _ => ExitCode::SUCCESS,
        };
    }
    let mut text = e.to_string();
    if let Some(ContextValue::String(value)) = e.get(ContextKind::InvalidValue)
        && let Some((end, _)) = value.char_indices().nth(MAX_VALUE)
    {
        text = text.replacen(value.as_str(), &format!("{}…", &value[..end]), 1);
    }
    let mut parts = Vec::new();
    for line in text.lines().map(str::trim) {
        if line.starts_with("Usage:") || line.starts_with("For more information") {
            break;
        }
        if !line.is_empty() {
            let line = line.strip_prefix("error: ").unwrap_or(line);
            parts.push(line.strip_prefix("tip: ").map_or_else(|| line.to_owned(), |tip| format!("({tip})")));
        }
    }
    wrong_use(&parts.join(" "))
}

/// Says what is wrong with the arguments, and where help is.
fn wrong_use(what: &str) -> ExitCode {
    let verb = std::env::args().nth(1).filter(|v| {
        !v.starts_with('-') && <Cli as clap::CommandFactory>::command().find_subcommand(v).is_some()
    });
    let help = verb.map_or_else(|| "pennon --help".to_owned(), |v| format!("pennon {v} --help"));
    eprintln!("pennon: {}; see {help}", one_line(what));
    ExitCode::from(2)
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
