//! Lance, through pennon-file.

use std::io::BufWriter;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use pennon_file::filter::Predicate;
use pennon_file::io::MappingPolicy;
use pennon_file::{BlobView, Error, Explanation, File, FileWriter, OpenOptions, Result, Scan, WriteOptions};

use crate::input::Bytes;
use crate::output::{Buffered, Output, Staged, unbuffer};
use crate::projection::Projection;
use crate::reader::{Batches, ReadOptions};
use crate::selection::Selection;
use crate::writer::{BatchWriter, WriterOptions};

/// A Lance file.
#[derive(Debug)]
pub(crate) struct Source {
    file: File,
}

impl Source {
    pub(crate) fn open(name: &str, bytes: Bytes, read: &ReadOptions) -> Result<Self> {
        let mut options = OpenOptions::default();
        options.allow_unstable = read.allow_unstable;
        if !read.mapping {
            options.source.mapping = MappingPolicy::Never;
        }
        let file = match bytes {
            Bytes::File { path: Some(path), .. } => File::open_with(path, &options)?,
            Bytes::File { at, .. } => File::from_read_at(at.reader, &options)?,
            Bytes::Stream(_) => return Err(Error::invalid(format!("{name}: Lance needs a file"))),
        };
        Ok(Self { file })
    }

    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    /// The projection to `columns` out of what the file says of these alone: wide files are not asked for their whole
    /// schema then. `None` where that does not do: numbers count fields of one name, and a wrong name is answered
    /// with the others.
    pub(crate) fn projection(&self, name: &str, columns: &[String]) -> Option<Projection> {
        if columns.iter().any(|column| column.contains('#')) {
            return None;
        }
        let schema = self.file.schema_as(Some(columns), BlobView::Values).ok()?;
        Projection::new(name, &schema, columns).ok()
    }

    /// The schema with blobs as bytes, which is how they are converted.
    pub(crate) fn schema(&self) -> Result<SchemaRef> {
        self.file.schema_as(None, BlobView::Values)
    }

    fn scan(&self, selection: &Selection, projection: Option<&Projection>) -> Scan {
        let scan = self.file.scan().blobs(BlobView::Values);
        let scan = if selection.for_table { scan.for_table() } else { scan };
        let mut scan = scan.batch_rows(selection.batch_rows);
        if let Some(bytes) = selection.batch_bytes {
            scan = scan.batch_bytes(bytes);
        }
        if selection.threads > 0 {
            scan = scan.threads(selection.threads);
        }
        if let Some(projection) = projection {
            scan = scan.columns(projection.paths_in_file_order());
        }
        scan
    }

    pub(crate) fn explain(&self, selection: &Selection) -> Result<Explanation> {
        let mut scan = self.file.scan().blobs(BlobView::Values);
        if let Some(columns) = &selection.columns {
            scan = scan.columns(columns);
        }
        if let Some(predicate) = &selection.filter {
            return scan.filter(predicate.clone()).explain();
        }
        let rows = self.file.num_rows();
        scan.rows(selection.rows.start.min(rows)..selection.rows.end.min(rows)).explain()
    }

    /// The rows that pass a predicate, as many as `selection` may want, from the first.
    pub(crate) fn filtered(
        &self,
        selection: &Selection,
        projection: Option<&Projection>,
        predicate: &Predicate,
    ) -> Result<Batches> {
        let scan = self.scan(selection, projection).filter(predicate.clone()).limit(selection.rows.end);
        Ok(in_order(Box::new(scan.batches()?), projection))
    }

    /// Counts the rows that pass a predicate.
    pub(crate) fn count_where(&self, predicate: &Predicate) -> Result<u64> {
        // Bound to the schema that is shown, in which all blobs are bytes.
        self.file.scan().blobs(BlobView::Values).filter(predicate.clone()).count()
    }

    pub(crate) fn batches(&self, selection: &Selection, projection: Option<&Projection>) -> Result<Batches> {
        let mut scan = self.scan(selection, projection);
        let rows =
            selection.rows.start.min(self.file.num_rows())..selection.rows.end.min(self.file.num_rows());
        if rows != (0..self.file.num_rows()) {
            scan = scan.rows(rows);
        }
        Ok(in_order(Box::new(scan.batches()?), projection))
    }

    pub(crate) fn take(
        &self,
        rows: &[u64],
        selection: &Selection,
        projection: Option<&Projection>,
    ) -> Result<Batches> {
        let mut take = self.file.take(rows).blobs(BlobView::Values);
        if let Some(bytes) = selection.batch_bytes {
            take = take.batch_bytes(bytes);
        }
        if let Some(projection) = projection {
            take = take.columns(projection.paths_in_file_order());
        }
        Ok(in_order(Box::new(take.batches()?), projection))
    }
}

/// The file was asked for columns in its own order; they are wanted in another perhaps.
fn in_order(batches: Batches, projection: Option<&Projection>) -> Batches {
    match projection.cloned() {
        None => batches,
        Some(p) => Box::new(batches.map(move |b| b.and_then(|b| p.apply_pruned(&b)))),
    }
}

/// Writes Lance.
pub(crate) struct Writer {
    inner: FileWriter<Buffered>,
}

impl Writer {
    pub(crate) fn create(output: Output, schema: &SchemaRef, options: &WriterOptions) -> Result<Self> {
        let mut write = WriteOptions::default();
        if let Some(version) = options.format_version {
            write.format_version = version;
        }
        write.compression = options.compression;
        write.preset = options.preset;
        write.column_presets.clone_from(&options.column_presets);
        write.thorough = options.thorough;
        if let Some(alignment) = options.alignment {
            write.alignment = alignment;
        }
        if let Some(bytes) = options.max_page_bytes {
            write.max_page_bytes = bytes;
        }
        if let Some(bytes) = options.memory_bytes {
            write.memory_bytes = bytes;
        }
        write.checksums = options.checksums;
        write.statistics = options.statistics;
        write.blooms.clone_from(&options.blooms);
        // Page buffers are large; the buffer gathers the small pieces between them.
        let inner = FileWriter::new(BufWriter::with_capacity(1 << 16, output), schema, write)?;
        Ok(Self { inner })
    }
}

impl BatchWriter for Writer {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        self.inner.write(batch)
    }

    fn finish(self: Box<Self>) -> Result<Staged> {
        unbuffer(self.inner.finish()?)?.stage()
    }
}
