//! Parquet, through the `parquet` crate. The Arrow schema is kept in the file's metadata.

use std::io::{BufReader, BufWriter};
use std::sync::{Arc, OnceLock};

use arrow_array::{RecordBatch, UInt64Array};
use arrow_schema::{Schema, SchemaRef};
use arrow_select::take::take_record_batch;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder,
    RowSelection, RowSelector,
};
use parquet::arrow::{ProjectionMask, parquet_to_arrow_schema_by_columns};
use parquet::basic::ZstdLevel;
use parquet::errors::ParquetError;
use parquet::file::metadata::PageIndexPolicy;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{ChunkReader, Length};
use pennon_file::{Compression, Error, Explanation, Result};

use crate::dictionary::Unifier;
use crate::guard::{arrow_error, guard, one_line};
use crate::input::{At, Bytes, Cursor64};
use crate::output::{Buffered, Output, Staged, unbuffer};
use crate::projection::Projection;
use crate::reader::Batches;
use crate::selection::Selection;
use crate::widen;
use crate::writer::{BatchWriter, WriterOptions};

/// Rows of a batch before anything is known about their size.
const FIRST_ROWS: usize = 1024;
/// Zstandard level unless asked otherwise.
const ZSTD_LEVEL: i32 = 3;

/// A Parquet file.
#[derive(Debug, Clone)]
pub(crate) struct Source {
    file: At,
    /// As the file says.
    schema: SchemaRef,
    /// The same with the keys that are read, if those are others.
    wide: Option<SchemaRef>,
    metadata: ArrowReaderMetadata,
    /// The metadata with the page index, read when rows are first picked out.
    indexed: OnceLock<ArrowReaderMetadata>,
}

impl Length for At {
    fn len(&self) -> u64 {
        self.len
    }
}

impl ChunkReader for At {
    type T = BufReader<Cursor64>;

    fn get_read(&self, start: u64) -> parquet::errors::Result<Self::T> {
        Ok(BufReader::new(Cursor64::new(self.clone()).at(start)))
    }

    fn get_bytes(&self, start: u64, length: usize) -> parquet::errors::Result<::bytes::Bytes> {
        // Lengths come from the file: checked before memory is asked for.
        if start.checked_add(length as u64).is_none_or(|end| end > self.len) {
            return Err(ParquetError::EOF(format!(
                "expected {length} bytes at offset {start}, the file has {} bytes",
                self.len
            )));
        }
        let mut buffer = vec![0; length];
        self.read_exact_at(&mut buffer, start)?;
        Ok(buffer.into())
    }
}

fn parquet_error(what: &str, error: ParquetError) -> Error {
    match error {
        ParquetError::NYI(text) => Error::unsupported(format!("{what}: {}", one_line(&text))),
        ParquetError::General(text) | ParquetError::EOF(text) | ParquetError::ArrowError(text) => {
            match text.contains("Disabled feature") {
                true => Error::unsupported(format!(
                    "{what}: a compression method that this build does not read ({})",
                    one_line(&text)
                )),
                false => Error::corrupt(format!("{what}: {}", one_line(&text))),
            }
        }
        ParquetError::External(e) => match e.downcast::<std::io::Error>() {
            Ok(e) => Error::io(what, *e),
            Err(e) => Error::corrupt(format!("{what}: {}", one_line(&e.to_string()))),
        },
        other => Error::corrupt(format!("{what}: {}", one_line(&other.to_string()))),
    }
}

fn reader_options(wide: Option<&SchemaRef>) -> ArrowReaderOptions {
    match wide {
        None => ArrowReaderOptions::new(),
        Some(schema) => ArrowReaderOptions::new().with_schema(schema.clone()),
    }
}

impl Source {
    pub(crate) fn open(name: &str, bytes: Bytes) -> Result<Self> {
        let Bytes::File { at: file, .. } = bytes else {
            return Err(Error::invalid(format!("{name}: Parquet needs a file")));
        };
        let metadata = guard("reading the Parquet footer", || {
            ArrowReaderMetadata::load(&file, ArrowReaderOptions::new())
                .map_err(|e| parquet_error("reading the Parquet footer", e))
        })?;
        let schema = metadata.schema().clone();
        let wide = widen::wide(&schema);
        let metadata = match &wide {
            None => metadata,
            Some(_) => guard("reading the Parquet footer", || {
                ArrowReaderMetadata::try_new(metadata.metadata().clone(), reader_options(wide.as_ref()))
                    .map_err(|e| parquet_error("reading the Parquet footer", e))
            })?,
        };
        Ok(Self { file, schema, wide, metadata, indexed: OnceLock::new() })
    }

    pub(crate) fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    /// The schema of batches of these columns, where it is not that of what is read.
    fn narrow_schema(&self, projection: Option<&Projection>) -> Result<Option<SchemaRef>> {
        if self.wide.is_none() {
            return Ok(None);
        }
        let keys = self.metadata.metadata().file_metadata().key_value_metadata();
        let mask = self.mask(projection);
        let schema = parquet_to_arrow_schema_by_columns(self.metadata.parquet_schema(), mask, keys)
            .map_err(|e| parquet_error("reading the Parquet footer", e))?;
        // As the reader has it: without the file's metadata.
        Ok(Some(Arc::new(Schema::new(schema.fields))))
    }

    pub(crate) fn num_rows(&self) -> u64 {
        let rows =
            self.metadata.metadata().row_groups().iter().map(|g| u64::try_from(g.num_rows()).unwrap_or(0));
        rows.fold(0, u64::saturating_add)
    }

    /// Refuses columns in a compression method that is not read.
    fn check_compression(&self, projection: Option<&Projection>) -> Result<()> {
        use parquet::basic::Compression as C;
        let mask = self.mask(projection);
        for group in self.metadata.metadata().row_groups() {
            for (i, column) in group.columns().iter().enumerate() {
                let method = match column.compression() {
                    C::GZIP(_) => "gzip",
                    C::BROTLI(_) => "Brotli",
                    C::LZO => "LZO",
                    _ => continue,
                };
                if mask.leaf_included(i) {
                    return Err(Error::unsupported(format!(
                        "column {} is compressed with {method}, which is not read; rewrite the file with zstd",
                        column.column_path().string()
                    )));
                }
            }
        }
        Ok(())
    }

    fn mask(&self, projection: Option<&Projection>) -> ProjectionMask {
        match projection {
            None => ProjectionMask::all(),
            Some(p) => {
                ProjectionMask::leaves(self.metadata.parquet_schema(), p.leaves(self.metadata.schema()))
            }
        }
    }

    pub(crate) fn batches(&self, selection: &Selection, projection: Option<&Projection>) -> Result<Batches> {
        self.check_compression(projection)?;
        let mut groups = Vec::new();
        let mut first = 0u64;
        for (index, group) in self.metadata.metadata().row_groups().iter().enumerate() {
            let end = first.saturating_add(u64::try_from(group.num_rows()).unwrap_or(0));
            let (from, to) = (selection.rows.start.max(first), selection.rows.end.min(end));
            if from < to {
                let bytes = u64::try_from(group.total_byte_size()).unwrap_or(0) / (end - first);
                let (skip, rows) = ((from - first) as usize, (to - from) as usize);
                // Rows before are read and dropped where skipping is not safe.
                let (skip, drop) = if self.can_skip(projection) { (skip, 0) } else { (0, skip) };
                groups.push(Group { index, skip, drop, rows: drop + rows, row_bytes: bytes });
            }
            first = end;
        }
        Ok(Box::new(self.read_groups(groups, selection, projection)?))
    }

    /// Column chunks with some of `rows`.
    pub(crate) fn explain(&self, rows: std::ops::Range<u64>, projection: Option<&Projection>) -> Explanation {
        let mask = self.mask(projection);
        let mut found = Explanation::default();
        for (i, column) in self.metadata.parquet_schema().columns().iter().enumerate() {
            if mask.leaf_included(i) {
                found.columns.push(column.path().string());
            }
        }
        let mut first = 0u64;
        for group in self.metadata.metadata().row_groups() {
            let end = first.saturating_add(u64::try_from(group.num_rows()).unwrap_or(0));
            let touched = rows.end.min(end).saturating_sub(rows.start.max(first));
            first = end;
            if touched == 0 {
                continue;
            }
            found.rows += touched;
            for (i, column) in group.columns().iter().enumerate() {
                if mask.leaf_included(i) {
                    found.pages += 1;
                    let bytes = u64::try_from(column.compressed_size()).unwrap_or(0);
                    found.bytes = found.bytes.saturating_add(bytes);
                }
            }
        }
        found
    }

    /// Whether rows may be skipped inside a row group: in a damaged column with lists the library's skipping may never end.
    fn can_skip(&self, projection: Option<&Projection>) -> bool {
        let mask = self.mask(projection);
        let columns = self.metadata.parquet_schema().columns();
        columns.iter().enumerate().all(|(i, c)| c.max_rep_level() == 0 || !mask.leaf_included(i))
    }

    fn read_groups(
        &self,
        groups: Vec<Group>,
        selection: &Selection,
        projection: Option<&Projection>,
    ) -> Result<Groups> {
        Ok(Groups {
            file: self.file.clone(),
            narrow: self.narrow_schema(projection)?,
            metadata: self.metadata.clone(),
            mask: self.mask(projection),
            projection: projection.cloned(),
            groups: groups.into_iter(),
            current: None,
            drop: 0,
            row_bytes: 0,
            batch_rows: selection.batch_rows.max(1),
            batch_bytes: selection.bytes_of_batch(),
        })
    }

    /// Like [`selected`](Self::selected), reading the touched row groups whole.
    fn picked(&self, rows: &[u64], projection: Option<&Projection>) -> Result<Batches> {
        let mut found = Vec::new();
        let (mut first, mut next) = (0u64, 0usize);
        for (index, group) in self.metadata.metadata().row_groups().iter().enumerate() {
            let count = u64::try_from(group.num_rows()).unwrap_or(0);
            let end = first.saturating_add(count);
            if next < rows.len() && rows[next] < end {
                let row_bytes = u64::try_from(group.total_byte_size()).unwrap_or(0) / count.max(1);
                let group = Group { index, skip: 0, drop: 0, rows: count as usize, row_bytes };
                let mut at = first;
                for batch in self.read_groups(vec![group], &Selection::default(), projection)? {
                    let batch = batch?;
                    let end = at + batch.num_rows() as u64;
                    let wanted = rows[next..].partition_point(|r| *r < end);
                    if wanted > 0 {
                        let indices: UInt64Array = rows[next..next + wanted].iter().map(|r| r - at).collect();
                        found.push(
                            take_record_batch(&batch, &indices)
                                .map_err(|e| arrow_error("reading rows of Parquet", e))?,
                        );
                        next += wanted;
                    }
                    at = end;
                }
            }
            first = end;
        }
        Ok(Box::new(found.into_iter().map(Ok)))
    }

    /// The rows numbered `rows`, which ascend without duplicates.
    pub(crate) fn selected(&self, rows: &[u64], projection: Option<&Projection>) -> Result<Batches> {
        const WHAT: &str = "reading rows of Parquet";
        if rows.is_empty() {
            return Ok(Box::new(std::iter::empty()));
        }
        self.check_compression(projection)?;
        if !self.can_skip(projection) {
            return self.picked(rows, projection);
        }
        let indexed = match self.indexed.get() {
            Some(metadata) => metadata.clone(),
            None => {
                let options = reader_options(self.wide.as_ref());
                let options = options.with_page_index_policy(PageIndexPolicy::Optional);
                let loaded = guard(WHAT, || {
                    ArrowReaderMetadata::load(&self.file, options).map_err(|e| parquet_error(WHAT, e))
                })?;
                self.indexed.get_or_init(|| loaded).clone()
            }
        };
        let mut selectors = Vec::new();
        let mut at = 0u64;
        for run in rows.chunk_by(|a, b| *b == *a + 1) {
            if run[0] > at {
                selectors.push(RowSelector::skip((run[0] - at) as usize));
            }
            selectors.push(RowSelector::select(run.len()));
            at = run[0] + run.len() as u64;
        }
        let reader = guard(WHAT, || {
            ParquetRecordBatchReaderBuilder::new_with_metadata(self.file.clone(), indexed)
                .with_projection(self.mask(projection))
                .with_row_selection(RowSelection::from(selectors))
                .with_batch_size(rows.len().min(8192))
                .build()
                .map_err(|e| parquet_error(WHAT, e))
        })?;
        let narrow = self.narrow_schema(projection)?;
        let projection = projection.cloned();
        Ok(Box::new(Guarded { reader: Some(reader), narrow }.map(move |batch| {
            batch.and_then(|b| projection.as_ref().map_or(Ok(b.clone()), |p| p.apply_pruned(&b)))
        })))
    }
}

/// A reader whose calls are guarded and that ends with its first error.
struct Guarded {
    reader: Option<ParquetRecordBatchReader>,
    /// Schema of the batches given out, if it is not that of those read.
    narrow: Option<SchemaRef>,
}

impl Iterator for Guarded {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        let reader = self.reader.as_mut()?;
        let next = guard("decoding Parquet", || {
            reader.next().transpose().map_err(|e| arrow_error("decoding Parquet", e))
        });
        if !matches!(next, Ok(Some(_))) {
            self.reader = None;
        }
        let next = next.and_then(|batch| match (batch, &self.narrow) {
            (Some(batch), Some(schema)) => widen::narrow(&batch, schema).map(Some),
            (batch, _) => Ok(batch),
        });
        if next.is_err() {
            self.reader = None;
        }
        next.transpose()
    }
}

/// Rows of one row group.
struct Group {
    index: usize,
    skip: usize,
    /// Rows to read and not give out.
    drop: usize,
    /// Rows to read.
    rows: usize,
    /// What the file says that a row takes, all columns.
    row_bytes: u64,
}

/// Reads row groups one after the other, with batches sized by what rows turned out to take so far.
struct Groups {
    file: At,
    narrow: Option<SchemaRef>,
    metadata: ArrowReaderMetadata,
    mask: ProjectionMask,
    projection: Option<Projection>,
    groups: std::vec::IntoIter<Group>,
    current: Option<Guarded>,
    /// Rows of the current group still to be dropped.
    drop: usize,
    row_bytes: usize,
    batch_rows: usize,
    batch_bytes: usize,
}

impl Groups {
    fn open(&self, group: &Group) -> Result<Guarded> {
        let row_bytes = if self.row_bytes > 0 { self.row_bytes } else { group.row_bytes as usize };
        let most = if self.row_bytes > 0 { self.batch_rows } else { self.batch_rows.min(FIRST_ROWS) };
        let rows = (self.batch_bytes / row_bytes.max(1)).clamp(1, most);
        let reader = guard("reading Parquet", || {
            ParquetRecordBatchReaderBuilder::new_with_metadata(self.file.clone(), self.metadata.clone())
                .with_row_groups(vec![group.index])
                .with_projection(self.mask.clone())
                .with_offset(group.skip)
                .with_limit(group.rows)
                .with_batch_size(rows)
                .build()
                .map_err(|e| parquet_error("reading Parquet", e))
        })?;
        Ok(Guarded { reader: Some(reader), narrow: self.narrow.clone() })
    }
}

impl Iterator for Groups {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(current) = &mut self.current {
                match current.next() {
                    Some(Ok(batch)) => {
                        let bytes = batch.get_array_memory_size() / batch.num_rows().max(1);
                        self.row_bytes = self.row_bytes.max(bytes).max(1);
                        let dropped = self.drop.min(batch.num_rows());
                        self.drop -= dropped;
                        let batch = batch.slice(dropped, batch.num_rows() - dropped);
                        if dropped > 0 && batch.num_rows() == 0 {
                            continue;
                        }
                        let projected =
                            self.projection.as_ref().map_or(Ok(batch.clone()), |p| p.apply_pruned(&batch));
                        return Some(projected);
                    }
                    Some(Err(e)) => {
                        self.groups = Vec::new().into_iter();
                        self.current = None;
                        return Some(Err(e));
                    }
                    None => self.current = None,
                }
            }
            let group = self.groups.next()?;
            match self.open(&group) {
                Ok(reader) => {
                    self.drop = group.drop;
                    self.current = Some(reader);
                }
                Err(e) => {
                    self.groups = Vec::new().into_iter();
                    return Some(Err(e));
                }
            }
        }
    }
}

/// Writes Parquet with memory bounded by the size of a row group.
pub(crate) struct Writer {
    inner: ArrowWriter<Buffered>,
    /// Counts the values of dictionaries with narrow keys: a reader makes one dictionary of many.
    dictionaries: Option<Unifier>,
}

impl Writer {
    pub(crate) fn create(output: Output, schema: &SchemaRef, options: &WriterOptions) -> Result<Self> {
        let compression = match options.compression {
            Compression::None => parquet::basic::Compression::UNCOMPRESSED,
            Compression::Lz4 => parquet::basic::Compression::LZ4_RAW,
            Compression::Zstd(level) => {
                parquet::basic::Compression::ZSTD(zstd_level(level.unwrap_or(ZSTD_LEVEL))?)
            }
            _ => parquet::basic::Compression::ZSTD(zstd_level(ZSTD_LEVEL)?),
        };
        let budget = options.memory_bytes.unwrap_or(32 << 20);
        let properties = WriterProperties::builder()
            .set_created_by(format!("pennon {}", env!("CARGO_PKG_VERSION")))
            .set_compression(compression)
            .set_max_row_group_bytes(Some(budget.max(1 << 20)))
            .build();
        let inner = guard("writing Parquet", || {
            ArrowWriter::try_new(BufWriter::with_capacity(1 << 16, output), schema.clone(), Some(properties))
                .map_err(|e| unwritable(parquet_error("writing Parquet", e)))
        })?;
        Ok(Self { inner, dictionaries: Unifier::narrow(schema) })
    }
}

/// What the writer refuses is not corrupt.
fn unwritable(e: Error) -> Error {
    if e.kind() == pennon_file::ErrorKind::Corrupt { Error::unsupported(e.message()) } else { e }
}

fn zstd_level(level: i32) -> Result<ZstdLevel> {
    ZstdLevel::try_new(level)
        .map_err(|_| Error::invalid(format!("zstd level {level}: Parquet takes 1 to 22")))
}

impl BatchWriter for Writer {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        if let Some(dictionaries) = &mut self.dictionaries {
            dictionaries.unify(batch)?;
        }
        guard("writing Parquet", || {
            self.inner.write(batch).map_err(|e| unwritable(parquet_error("writing Parquet", e)))
        })
    }

    fn finish(self: Box<Self>) -> Result<Staged> {
        let inner = self.inner.into_inner().map_err(|e| unwritable(parquet_error("writing Parquet", e)))?;
        unbuffer(inner)?.stage()
    }
}
