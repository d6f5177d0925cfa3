//! Where `head`, `scan` and `take` put their rows: a table on a terminal, JSON lines in a pipe, any format in a file.

use std::io::{IsTerminal, Write as _};

use arrow_schema::SchemaRef;
use pennon::convert::{Batches, Format, Output, WriterOptions, create_writer};
use pennon::{Error, Result};

use crate::Outcome;
use crate::args;
use crate::progress::Progress;
use crate::table;

/// Rows of one table on a terminal; a longer result becomes several.
const TABLE_ROWS: usize = 200;

/// Where the rows go.
#[derive(clap::Args)]
pub(crate) struct Target {
    /// Form of the output: table, or a format [default: by OUT, else table on a terminal and jsonl in a pipe]
    #[arg(long, value_name = "FORM", value_parser = form)]
    pub(crate) to: Option<Form>,
    /// File to write, replaced when finished; - is standard output
    #[arg(short, value_name = "OUT")]
    pub(crate) out: Option<String>,
}

/// A table for people, or a format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Table,
    Format(Format),
}

pub(crate) fn form(text: &str) -> Result<Form, String> {
    if text == "table" {
        return Ok(Form::Table);
    }
    text.parse()
        .map(Form::Format)
        .map_err(|_| "expected table, csv, jsonl, arrow, arrows, parquet or lance".to_owned())
}

impl Target {
    /// Writes all batches. `total` is their number of rows, if known.
    pub(crate) fn write(&self, schema: &SchemaRef, batches: Batches, total: Option<u64>) -> Result<Outcome> {
        let to_file = self.out.as_deref().filter(|o| *o != "-");
        let terminal = to_file.is_none() && std::io::stdout().is_terminal();
        let form = match (self.to, to_file) {
            (_, Some("")) => return Ok(Outcome::WrongUse("the name after -o is empty".to_owned())),
            (Some(form), _) => form,
            (None, Some(path)) => match args::format_of(path)? {
                Ok(format) => Form::Format(format),
                Err(wrong) => return Ok(Outcome::WrongUse(wrong)),
            },
            (None, None) if terminal => Form::Table,
            (None, None) => Form::Format(Format::Jsonl),
        };
        match form {
            Form::Table => self.write_table(schema, batches, to_file, terminal)?,
            Form::Format(format) => {
                // On a pipe nothing can be sought, and a stream can be read while it is written.
                let format =
                    if format == Format::Arrow && to_file.is_none() { Format::ArrowStream } else { format };
                if terminal && !matches!(format, Format::Csv | Format::Jsonl) {
                    return Ok(Outcome::WrongUse(format!(
                        "{format} is not text for a terminal; say -o OUT or pipe it into something"
                    )));
                }
                let output = Output::create(to_file.unwrap_or("-"), true)?;
                let progress = (!terminal).then(|| Progress::rows(total));
                let mut writer = create_writer(format, output, schema, &WriterOptions::default())?;
                for batch in batches {
                    let batch = batch?;
                    writer.write(&batch)?;
                    if let Some(progress) = &progress {
                        progress.add(batch.num_rows() as u64);
                    }
                }
                writer.finish()?.commit()?;
            }
        }
        Ok(Outcome::Done)
    }

    fn write_table(
        &self,
        schema: &SchemaRef,
        batches: Batches,
        to_file: Option<&str>,
        terminal: bool,
    ) -> Result<()> {
        let width = terminal.then(|| usize::from(console::Term::stdout().size().1));
        let mut output = Output::create(to_file.unwrap_or("-"), true)?;
        let name = output.name().to_owned();
        let failed = |e| Error::io(format!("cannot write {name}"), e);
        let mut any = false;
        for batch in batches {
            let batch = batch?;
            for first in (0..batch.num_rows()).step_by(TABLE_ROWS) {
                let part = batch.slice(first, TABLE_ROWS.min(batch.num_rows() - first));
                writeln!(output, "{}", table::batch(&part, width, terminal)?).map_err(failed)?;
                any = true;
            }
        }
        if !any {
            let empty = arrow_array::RecordBatch::new_empty(schema.clone());
            writeln!(output, "{}", table::batch(&empty, width, terminal)?).map_err(failed)?;
        }
        output.stage()?.commit()?;
        Ok(())
    }
}

/// Prints a line to standard output; a reader that went away ends the program without a word.
pub(crate) fn line(text: impl std::fmt::Display) -> Result<()> {
    writeln!(std::io::stdout().lock(), "{text}").map_err(|e| Error::io("cannot write standard output", e))
}
