//! One reader for all formats.

use std::path::PathBuf;

use arrow_array::RecordBatch;
use arrow_schema::{Schema, SchemaRef};
use pennon_file::filter::Predicate;
use pennon_file::{Error, Result};

use crate::filter::Filter;
use crate::format::Format;
use crate::guard::in_file;
use crate::input::Input;
use crate::projection::Projection;
use crate::rebatch::{Bounded, RowRange};
use crate::selection::Selection;
use crate::views::viewed;
use crate::{csv, ipc, json, lance, parquet, take};

/// Batches one after the other.
pub type Batches = Box<dyn Iterator<Item = Result<RecordBatch>> + Send>;

/// How a source is opened.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ReadOptions {
    /// The format, instead of looking at the content.
    pub format: Option<Format>,
    /// Types for columns of a text format, instead of guessing them; columns it does not name are guessed.
    pub schema: Option<SchemaRef>,
    /// Whether a local file may be mapped into memory. What is read of a mapped file counts as memory of the process, unless it is a Lance file
    /// that batches pass over without a filter; without a mapping, the batches in flight are all there is.
    pub mapping: bool,
    /// Whether a Lance file may have a format version that its authors mark unstable.
    pub allow_unstable: bool,
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self { format: None, schema: None, mapping: true, allow_unstable: false }
    }
}

/// An open source of record batches.
#[derive(Debug)]
pub struct Reader {
    name: String,
    format: Format,
    path: Option<PathBuf>,
    pub(crate) source: Source,
}

#[derive(Debug)]
pub(crate) enum Source {
    Lance(lance::Source),
    Parquet(parquet::Source),
    Arrow(ipc::FileSource),
    ArrowStream(ipc::StreamSource),
    Csv(csv::Source),
    Jsonl(json::Source),
}

impl Reader {
    /// Opens `input` and reads its schema.
    pub fn open(input: &Input, options: &ReadOptions) -> Result<Self> {
        let name = input.name();
        let (format, bytes) = input.open(options.format)?;
        if options.schema.is_some() && !matches!(format, Format::Csv | Format::Jsonl) {
            return Err(Error::invalid(format!(
                "{name}: --schema gives types to csv and jsonl; a {} file brings its own",
                format.title()
            )));
        }
        let source = match format {
            Format::Lance => lance::Source::open(&name, bytes, options).map(Source::Lance),
            Format::Parquet => parquet::Source::open(&name, bytes).map(Source::Parquet),
            Format::Arrow => ipc::FileSource::open(&name, bytes).map(Source::Arrow),
            Format::ArrowStream => ipc::StreamSource::open(&name, bytes).map(Source::ArrowStream),
            Format::Csv => csv::Source::open(&name, bytes, options.schema.as_deref()).map(Source::Csv),
            Format::Jsonl => json::Source::open(&name, bytes, options.schema.as_deref()).map(Source::Jsonl),
        };
        let source = source.map_err(|e| in_file(e, &name))?;
        Ok(Self { name, format, path: input.as_path().map(Into::into), source })
    }

    /// The name for messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The format that was found.
    pub fn format(&self) -> Format {
        self.format
    }

    /// The path, unless the source is a stream.
    pub fn path(&self) -> Option<&std::path::Path> {
        self.path.as_deref()
    }

    /// The schema of all columns. Of a wide Lance file it is read when this is first called.
    pub fn schema(&self) -> Result<SchemaRef> {
        Ok(match &self.source {
            Source::Lance(s) => s.schema()?,
            Source::Parquet(s) => s.schema(),
            Source::Arrow(s) => s.schema(),
            Source::ArrowStream(s) => s.schema(),
            Source::Csv(s) => s.schema(),
            Source::Jsonl(s) => s.schema(),
        })
    }

    /// The schema of the selected columns.
    pub fn projected_schema(&self, columns: Option<&[String]>) -> Result<SchemaRef> {
        Ok(match self.projection(columns)? {
            None => self.schema()?,
            Some(p) => p.schema().clone(),
        })
    }

    pub(crate) fn projection(&self, columns: Option<&[String]>) -> Result<Option<Projection>> {
        let Some(columns) = columns else { return Ok(None) };
        if let Source::Lance(s) = &self.source
            && let Some(projection) = s.projection(&self.name, columns)
        {
            return Ok(Some(projection));
        }
        Projection::new(&self.name, self.schema()?.as_ref(), columns).map(Some)
    }

    /// The number of rows, when the format says it without a full read.
    pub fn num_rows(&self) -> Option<u64> {
        match &self.source {
            Source::Lance(s) => Some(s.file().num_rows()),
            Source::Parquet(s) => Some(s.num_rows()),
            Source::Arrow(s) => Some(s.num_rows()),
            Source::ArrowStream(_) | Source::Csv(_) | Source::Jsonl(_) => None,
        }
    }

    /// The open Lance file, if it is one.
    pub fn as_lance(&self) -> Option<&pennon_file::File> {
        match &self.source {
            Source::Lance(s) => Some(s.file()),
            _ => None,
        }
    }

    /// The selected rows and columns in order.
    pub fn batches(&self, selection: &Selection) -> Result<Batches> {
        let batches = match &selection.filter {
            None => {
                let projection = self.projection(selection.columns.as_deref())?;
                self.source_batches(selection, projection.as_ref())
            }
            Some(predicate) => self.filtered(selection, predicate),
        };
        self.handed_out(batches, selection)
    }

    /// Batches as they leave, with the name of the file in what goes wrong.
    fn handed_out(&self, batches: Result<Batches>, selection: &Selection) -> Result<Batches> {
        let batches = batches.map_err(|e| in_file(e, &self.name))?;
        // The scans of Lance files keep their bounds themselves.
        let bytes = if self.as_lance().is_some() { usize::MAX } else { selection.bytes_of_batch() };
        let batches: Batches = Box::new(Bounded::new(batches, selection.batch_rows, bytes));
        // Views after that: they count for all of the bytes that they share.
        let batches = if selection.string_views { viewed(batches) } else { batches };
        let name = self.name.clone();
        Ok(Box::new(batches.map(move |b| b.map_err(|e| in_file(e, &name)))))
    }

    /// The rows that pass a predicate; of them those that are asked.
    fn filtered(&self, selection: &Selection, predicate: &Predicate) -> Result<Batches> {
        let batches = match &self.source {
            Source::Lance(s) => {
                let projection = self.projection(selection.columns.as_deref())?;
                s.filtered(selection, projection.as_ref(), predicate)?
            }
            _ => {
                let columns = selection.columns.as_deref();
                let filter = Filter::new(&self.name, self.schema()?.as_ref(), columns, predicate)?;
                let all = Selection { rows: 0..u64::MAX, filter: None, ..selection.clone() };
                let batches = self.source_batches(&all, filter.read.as_ref())?;
                filter.apply(batches)
            }
        };
        if selection.rows == (0..u64::MAX) {
            return Ok(batches);
        }
        Ok(Box::new(RowRange::new(batches, selection.rows.clone())))
    }

    fn source_batches(&self, selection: &Selection, projection: Option<&Projection>) -> Result<Batches> {
        let ranged = |batches: Batches| -> Batches {
            if selection.rows == (0..u64::MAX) {
                batches
            } else {
                Box::new(RowRange::new(batches, selection.rows.clone()))
            }
        };
        let projected = |batches: Batches| -> Batches {
            match projection.cloned() {
                None => batches,
                Some(p) => Box::new(batches.map(move |b| b.and_then(|b| p.apply(&b)))),
            }
        };
        Ok(match &self.source {
            Source::Lance(s) => s.batches(selection, projection)?,
            Source::Parquet(s) => s.batches(selection, projection)?,
            Source::Arrow(s) => s.batches(selection, projection)?,
            Source::ArrowStream(s) => projected(ranged(s.batches()?)),
            Source::Csv(s) => projected(ranged(s.batches(selection)?)),
            Source::Jsonl(s) => projected(ranged(s.batches(selection)?)),
        })
    }

    /// The rows numbered `rows` in that order, duplicates kept. A number out of range is found before the first batch.
    pub fn take(&self, rows: &[u64], selection: &Selection) -> Result<Batches> {
        let projection = self.projection(selection.columns.as_deref())?;
        if let Some(num_rows) = self.num_rows() {
            take::check(&self.name, rows, num_rows)?;
        }
        let batches = match &self.source {
            Source::Lance(s) => s.take(rows, selection, projection.as_ref()),
            Source::Parquet(s) => {
                let schema = projection.as_ref().map_or_else(|| s.schema(), |p| p.schema().clone());
                let source = s.clone();
                Ok(take::in_parts(rows, schema, move |part| source.selected(part, projection.as_ref())))
            }
            Source::Arrow(s) => {
                let schema = projection.as_ref().map_or_else(|| s.schema(), |p| p.schema().clone());
                let (source, selection) = (s.clone(), selection.clone());
                Ok(take::in_parts(rows, schema, move |part| {
                    let (Some(first), Some(last)) = (part.first(), part.last()) else {
                        return Ok(Box::new(std::iter::empty()));
                    };
                    let selection = Selection { rows: *first..*last + 1, ..selection.clone() };
                    let batches = source.batches(&selection, projection.as_ref())?;
                    let (found, _) = take::pick(part, *first, batches)?;
                    Ok(Box::new(found.into_iter().map(Ok)))
                }))
            }
            _ => {
                let schema = match &projection {
                    None => self.schema()?,
                    Some(p) => p.schema().clone(),
                };
                let all =
                    Selection { rows: 0..u64::MAX, filter: None, string_views: false, ..selection.clone() };
                take::by_scan(&self.name, rows, schema, self.batches(&all)?)
            }
        };
        self.handed_out(batches, selection)
    }

    /// Counts the rows for which a predicate is TRUE, reading its columns.
    pub fn count_where(&self, predicate: &Predicate) -> Result<u64> {
        if let Source::Lance(s) = &self.source {
            return s.count_where(predicate).map_err(|e| in_file(e, &self.name));
        }
        let selection =
            Selection::default().with_columns(Some(Vec::new())).with_filter(Some(predicate.clone()));
        self.batches(&selection)?.try_fold(0, |rows, batch| Ok(rows + batch?.num_rows() as u64))
    }

    /// Counts the rows, by reading them if need be.
    pub fn count(&self) -> Result<u64> {
        match self.num_rows() {
            Some(rows) => Ok(rows),
            None => {
                let mut rows = 0;
                for batch in self.batches(&Selection::default())? {
                    rows += batch?.num_rows() as u64;
                }
                Ok(rows)
            }
        }
    }
}

/// The first difference between two schemas, in words, or `None`. Field and schema metadata count when `metadata` is set.
pub fn schema_difference(a: &Schema, b: &Schema, metadata: bool) -> Option<String> {
    use crate::types::type_name;
    for (i, (x, y)) in a.fields().iter().zip(b.fields()).enumerate() {
        if x.name() != y.name() {
            return Some(format!(
                "column {i} is called {:?} in the one and {:?} in the other",
                x.name(),
                y.name()
            ));
        }
        if x.data_type() != y.data_type() {
            let (tx, ty) = (type_name(x.data_type()), type_name(y.data_type()));
            if tx != ty || !x.data_type().equals_datatype(y.data_type()) {
                let more = if tx == ty { " (names, nullability or metadata inside differ)" } else { "" };
                return Some(format!("column {:?} is {tx} in the one and {ty} in the other{more}", x.name()));
            }
            if metadata {
                return Some(format!("column {:?} ({tx}): names or metadata inside differ", x.name()));
            }
        }
        if x.is_nullable() != y.is_nullable() {
            let word = |f: &arrow_schema::Field| if f.is_nullable() { "nullable" } else { "not nullable" };
            return Some(format!(
                "column {:?} is {} in the one and {} in the other",
                x.name(),
                word(x),
                word(y)
            ));
        }
        if metadata && x.metadata() != y.metadata() {
            return Some(format!(
                "column {:?}: metadata differs: {:?} and {:?}",
                x.name(),
                sorted(x.metadata()),
                sorted(y.metadata())
            ));
        }
    }
    if a.fields().len() != b.fields().len() {
        return Some(format!(
            "{} columns in the one and {} in the other",
            a.fields().len(),
            b.fields().len()
        ));
    }
    if metadata && a.metadata() != b.metadata() {
        return Some(format!(
            "schema metadata differs: {:?} and {:?}",
            sorted(a.metadata()),
            sorted(b.metadata())
        ));
    }
    None
}

fn sorted(metadata: &arrow_schema::Metadata) -> std::collections::BTreeMap<&str, &str> {
    metadata.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect()
}
