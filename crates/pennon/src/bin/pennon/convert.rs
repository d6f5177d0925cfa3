//! `pennon convert`: any readable format to any writable one.

use std::io::IsTerminal;
use std::sync::mpsc::sync_channel;
use std::time::Instant;

use pennon::convert::{
    BatchWriter, Batches, Format, Input, Output, ReadOptions, Reader, Staged, WriterOptions, compare_ordered,
    create_writer, schema_difference,
};
use pennon::{Compression, Error, FormatVersion, Preset, Result};

use crate::Outcome;
use crate::args::{self, Columns, Filter, Source};
use crate::progress::Progress;
use crate::summary;

/// Convert files between lance, parquet, arrow, csv and jsonl
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  pennon convert flights.parquet flights.lance\n  pennon convert a.csv b.csv both.lance --columns id,name\n  pennon convert flights.lance flights.parquet --compression zstd:9\n  pennon convert flights.parquet flights.lance --preset small --column-preset tailnum=fast --summary\n  pennon convert flights.lance late.parquet --where \"dep_delay > 60\"\n  cat rows.jsonl | pennon convert - rows.arrow\n\nSeveral sources must have equal schemas and are joined. The target is replaced when the new file is complete."
)]
pub(crate) struct Args {
    /// Sources, then the target; - is standard input or output
    #[arg(num_args = 2.., required = true, value_names = ["SRC", "DST"])]
    files: Vec<String>,
    /// Format of the target, instead of the one its extension names
    #[arg(long, value_name = "FORMAT", value_parser = args::format)]
    to: Option<Format>,
    /// Format version of a Lance target
    #[arg(long, value_name = "VERSION", value_parser = ["2.0", "2.1", "2.2"])]
    format_version: Option<String>,
    /// Compression: auto, none, lz4, zstd or zstd:LEVEL
    #[arg(long, value_name = "METHOD", value_parser = compression, default_value = "auto")]
    compression: Compression,
    /// What a Lance target is to be good at: balanced (small, and quick to single rows), fast (light encodings only) or small
    #[arg(long, value_name = "PRESET", value_parser = args::preset)]
    preset: Option<Preset>,
    /// Another preset for one column of a Lance target; may be repeated
    #[arg(long, value_name = "COLUMN=PRESET", value_parser = column_preset)]
    column_preset: Vec<(String, Preset)>,
    /// Choose the encodings of a Lance target from all of the data instead of samples: slower, and hardly smaller
    #[arg(long)]
    thorough: bool,
    /// Alignment of buffers in a Lance target
    #[arg(long, value_name = "BYTES", value_parser = ["64", "4096"])]
    align: Option<String>,
    /// Bound on the Arrow bytes of a page of a Lance target
    #[arg(long, value_name = "BYTES", value_parser = args::bytes)]
    max_page_bytes: Option<u64>,
    /// Write a Lance target without checksums
    #[arg(long)]
    no_checksums: bool,
    /// Write a Lance target without statistics of its columns
    #[arg(long)]
    no_stats: bool,
    /// Write bloom filters of a column of a Lance target, by which filters for single values pass over rows; may be repeated
    #[arg(long, value_name = "COLUMN")]
    bloom: Vec<String>,
    /// Say at the end what it came to: sizes, and of a Lance target the bytes of its columns [default: on a terminal]
    #[arg(long)]
    summary: bool,
    /// Read the new file back and compare it with the sources before it gets its name
    #[arg(long)]
    check: bool,
    /// Keep an existing target and fail
    #[arg(long)]
    no_clobber: bool,
    #[command(flatten)]
    filter: Filter,
    #[command(flatten)]
    columns: Columns,
    #[command(flatten)]
    source: Source,
}

fn compression(text: &str) -> Result<Compression, String> {
    let wrong = || format!("expected auto, none, lz4, zstd or zstd:LEVEL, found {text:?}");
    Ok(match text {
        "auto" => Compression::Auto,
        "none" => Compression::None,
        "lz4" => Compression::Lz4,
        "zstd" => Compression::Zstd(None),
        _ => {
            let level = text
                .strip_prefix("zstd:")
                .and_then(|l| l.parse::<i32>().ok())
                .filter(|l| (1..=22).contains(l));
            Compression::Zstd(Some(level.ok_or_else(wrong)?))
        }
    })
}

fn column_preset(text: &str) -> Result<(String, Preset), String> {
    let (column, name) = text.rsplit_once('=').ok_or("expected COLUMN=PRESET, as in comment=small")?;
    Ok((column.to_owned(), args::preset(name)?))
}

pub(crate) fn run(args: &Args) -> Result<Outcome> {
    let Some((target, sources)) = args.files.split_last() else { return Ok(Outcome::Done) };
    let format = match target_format(args, target)? {
        Ok(format) => format,
        Err(wrong) => return Ok(Outcome::WrongUse(wrong)),
    };
    if let Some(wrong) = unfit(args, format, target, sources) {
        return Ok(Outcome::WrongUse(wrong));
    }
    let start = Instant::now();
    let readers = open_all(args, sources)?;
    // A source may be its own target.
    let source_bytes = summary::source_bytes(&readers);
    let schema = readers[0].projected_schema(args.columns.paths().as_deref())?;
    let output = Output::create(target, !args.no_clobber)?;
    let mut writer = create_writer(format, output, &schema, &writer_options(args)?)?;

    let filtered = args.filter.predicate.is_some();
    let total = readers.iter().map(|r| r.num_rows().filter(|_| !filtered)).sum::<Option<u64>>();
    let progress = Progress::rows(total);
    let mut rows = 0;
    ahead(batches(args, &readers)?, |batch| {
        rows += batch.num_rows() as u64;
        writer.write(&batch)?;
        progress.at(rows);
        Ok(())
    })?;
    let staged = BatchWriter::finish(writer)?;
    drop(progress);
    if args.check {
        let empty = create_writer(format, Output::create(target, true)?, &schema, &writer_options(args)?)?;
        check(args, format, &readers, &staged, &empty.finish()?, target)?;
    }
    let written = staged.commit()?;
    if target != "-" && (args.summary || std::io::stderr().is_terminal()) {
        eprintln!("{}", summary::text(format, target, source_bytes, written, rows, start.elapsed()));
    }
    Ok(Outcome::Done)
}

/// The format to write, or what is missing to tell it.
fn target_format(args: &Args, target: &str) -> Result<Result<Format, String>> {
    Ok(match (args.to, target) {
        (_, "") => Err("the name of the target is empty".to_owned()),
        (Some(format), _) => Ok(format),
        (None, "-") => {
            Err("standard output has no extension that names a format; say --to FORMAT".to_owned())
        }
        (None, path) => return args::format_of(path),
    })
}

/// What does not go together in the arguments, if something does not.
fn unfit(args: &Args, format: Format, target: &str, sources: &[String]) -> Option<String> {
    let from_stdin = sources.iter().filter(|s| *s == "-").count();
    if from_stdin > 1 {
        return Some(args::STDIN_TWICE.to_owned());
    }
    if target == "-" && format != Format::Csv && format != Format::Jsonl && std::io::stdout().is_terminal() {
        return Some(format!("{format} is not text for a terminal; name a file or pipe it into something"));
    }
    // Options that say something about Lance files are no use for others.
    let given = [
        ("--format-version", args.format_version.is_some()),
        ("--preset", args.preset.is_some()),
        ("--column-preset", !args.column_preset.is_empty()),
        ("--thorough", args.thorough),
        ("--align", args.align.is_some()),
        ("--max-page-bytes", args.max_page_bytes.is_some()),
        ("--no-checksums", args.no_checksums),
        ("--no-stats", args.no_stats),
        ("--bloom", !args.bloom.is_empty()),
    ];
    if let Some((option, _)) = given.iter().find(|(_, given)| *given).filter(|_| format != Format::Lance) {
        return Some(format!("{option} is about Lance files; the target is {format}"));
    }
    if matches!(format, Format::Csv | Format::Jsonl)
        && !matches!(args.compression, Compression::Auto | Compression::None)
    {
        return Some(format!("--compression: a {format} file is plain text; compress it afterwards"));
    }
    if args.summary && target == "-" {
        return Some("--summary is about a file; the target is standard output".to_owned());
    }
    if args.check && (target == "-" || from_stdin > 0) {
        return Some(
            "--check reads everything twice, which standard input and output do not allow; name files".into(),
        );
    }
    None
}

fn writer_options(args: &Args) -> Result<WriterOptions> {
    let mut options = WriterOptions::default();
    options.format_version = args.format_version.as_deref().map(str::parse::<FormatVersion>).transpose()?;
    options.compression = args.compression;
    options.preset = args.preset.unwrap_or_default();
    options.column_presets.clone_from(&args.column_preset);
    options.thorough = args.thorough;
    options.alignment = args.align.as_deref().and_then(|a| a.parse().ok());
    options.max_page_bytes = args.max_page_bytes;
    options.memory_bytes = args.columns.memory.and_then(|bytes| usize::try_from(bytes).ok());
    options.checksums = !args.no_checksums;
    options.statistics = !args.no_stats;
    options.blooms.clone_from(&args.bloom);
    Ok(options)
}

/// Opens all sources; their schemas must be equal.
fn open_all(args: &Args, sources: &[String]) -> Result<Vec<Reader>> {
    let mut readers: Vec<Reader> = Vec::new();
    for source in sources {
        let reader = args.source.open_to_stream(source)?;
        if let Some(first) = readers.first()
            && let Some(difference) =
                schema_difference(first.schema()?.as_ref(), reader.schema()?.as_ref(), true)
        {
            return Err(Error::invalid(format!(
                "{} and {} cannot be joined: {difference}",
                first.name(),
                reader.name()
            )));
        }
        readers.push(reader);
    }
    Ok(readers)
}

/// The batches of all sources one after the other. They are opened as they are reached.
fn batches(args: &Args, readers: &[Reader]) -> Result<Batches> {
    let selection = args.columns.selection().with_filter(args.filter.predicate.clone());
    let each = readers.iter().map(|r| r.batches(&selection)).collect::<Result<Vec<_>>>()?;
    Ok(Box::new(each.into_iter().flatten()))
}

/// Reads one batch ahead in a thread of its own.
fn ahead(batches: Batches, mut each: impl FnMut(arrow_array::RecordBatch) -> Result<()>) -> Result<()> {
    std::thread::scope(|scope| {
        let (send, receive) = sync_channel(1);
        scope.spawn(move || {
            for batch in batches {
                let failed = batch.is_err();
                if send.send(batch).is_err() || failed {
                    break;
                }
            }
        });
        for batch in receive {
            each(batch?)?;
        }
        Ok(())
    })
}

/// Compares what was written with the sources, before anything is replaced. A format stores some types as others:
/// `empty` is what the same writer makes of the schema alone.
fn check(
    args: &Args,
    format: Format,
    readers: &[Reader],
    staged: &Staged,
    empty: &Staged,
    target: &str,
) -> Result<()> {
    let (Some(temporary), Some(empty)) = (staged.temporary(), empty.temporary()) else {
        return Err(Error::invalid(format!("{target}: --check needs a regular file as the target")));
    };
    let mut options = ReadOptions::default();
    options.format = Some(format);
    options.mapping = false;
    let schema = readers[0].projected_schema(args.columns.paths().as_deref())?;
    if matches!(format, Format::Csv | Format::Jsonl) {
        options.schema = Some(schema.clone());
    }
    let written = Reader::open(&Input::path(temporary), &options)?;
    let failed =
        |what: String| Error::invalid(format!("{target}: --check failed, nothing was replaced: {what}"));
    if !matches!(format, Format::Csv | Format::Jsonl)
        && let stored = Reader::open(&Input::path(empty), &options)?.schema()?
        && let Some(difference) = schema_difference(&stored, written.schema()?.as_ref(), true)
    {
        return Err(failed(difference));
    }
    let pairs: Vec<_> = (0..schema.fields().len()).map(|i| (i, i)).collect();
    let progress = Progress::rows(written.num_rows());
    let selection = args.columns.selection().with_columns(None);
    let found = compare_ordered(batches(args, readers)?, written.batches(&selection)?, &pairs, 1, |rows| {
        progress.at(rows)
    })?;
    if found.rows_a != found.rows_b {
        return Err(failed(format!(
            "{} rows were read from the sources and {} from the new file",
            found.rows_a, found.rows_b
        )));
    }
    match found.cells.first() {
        None => Ok(()),
        Some(cell) => Err(failed(format!(
            "row {}, {}: {} in the source, {} in the new file; {} cells differ",
            cell.row,
            cell.path,
            cell.a.as_deref().unwrap_or("null"),
            cell.b.as_deref().unwrap_or("null"),
            found.differing
        ))),
    }
}
