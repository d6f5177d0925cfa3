//! Opening a file, and what can be asked of it.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use arrow_schema::SchemaRef;
use bytes::Bytes;

use crate::blob::{BlobColumn, BlobOptions, BlobStore};
use crate::column::{Column, FileFacts, ListColumn, StructColumn};
use crate::container::{ColumnPlace, ColumnRecord, Metadata, OpenFile, ReadColumns, Tables};
use crate::held::HeldBytes;
use crate::io::{ReadAt, Source, SourceOptions, drive};
use crate::lookup::FoundFields;
use crate::scan::{Projected, Scan, Take};
use crate::schema::{self, BlobView, Leaf, LeafKind, Nesting, Order, Projection, parents_have_columns};
use crate::stats::{Blocks, BloomTable, ColumnBlooms, ColumnFacts, ReadBlooms, ReadFacts, ReadTable, Wanted};
use crate::{FormatVersion, Limits, Result};

/// How a file is opened.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct OpenOptions {
    /// Whether a local file may be mapped, and how far apart reads are joined.
    pub source: SourceOptions,
    /// Bounds that hold whatever the bytes say.
    pub limits: Limits,
    /// Reads format version 2.3 too, which its authors mark unstable: they promise no later release that reads it.
    pub allow_unstable: bool,
    /// Where blobs that are not in the file itself are looked for.
    pub blobs: BlobOptions,
}

/// An open Lance file. Cheap to clone; clones share what has been read of its metadata.
///
/// A handle keeps metadata, chunk tables, page dictionaries and which checksums have been verified. It has
/// no thread and no position of its own.
#[derive(Debug, Clone)]
pub struct File {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    source: Arc<Source>,
    metadata: Metadata,
    /// Fields found through the directory so far.
    found: FoundFields,
    columns: Vec<OnceLock<Arc<Column>>>,
    /// The columns among them that say where lists end, which leaves share; only in 2.0.
    lists: Vec<OnceLock<Arc<ListColumn>>>,
    /// Statistics of columns read so far; `None` where the file has none.
    facts: Mutex<HashMap<u32, Option<Arc<ColumnFacts>>>>,
    /// Which columns have bloom filters.
    blooms: OnceLock<BloomTable>,
    limits: Limits,
    store: Arc<BlobStore>,
}

impl File {
    /// Opens a local file.
    ///
    /// # Errors
    /// The file cannot be read, is not a Lance file, has a format version that is not read, or is damaged.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_with(path, &OpenOptions::default())
    }

    /// Opens a local file with options.
    ///
    /// # Errors
    /// Those of [`open`](Self::open).
    pub fn open_with(path: impl AsRef<Path>, options: &OpenOptions) -> Result<Self> {
        let path = path.as_ref();
        Self::from_source(Source::open(path, options.source.clone())?, Some(path), options)
    }

    /// Opens a file that is in memory.
    ///
    /// # Errors
    /// Those of [`open`](Self::open), except that reading does not fail.
    pub fn from_bytes(bytes: impl Into<Bytes>, options: &OpenOptions) -> Result<Self> {
        Self::from_source(Source::from_bytes(bytes.into()), None, options)
    }

    /// Opens anything that reads at a position.
    ///
    /// # Errors
    /// Those of [`open`](Self::open).
    pub fn from_read_at(reader: Arc<dyn ReadAt>, options: &OpenOptions) -> Result<Self> {
        Self::from_source(Source::from_read_at(reader, options.source.clone())?, None, options)
    }

    fn from_source(source: Source, path: Option<&Path>, options: &OpenOptions) -> Result<Self> {
        let metadata = drive(&source, OpenFile::new(source.file_bytes(), options.limits.clone()))?;
        let name = |e: crate::Error| match source.name() {
            Some(name) => e.in_file(name),
            None => e,
        };
        let version = metadata.version();
        if version.is_unstable() && !options.allow_unstable {
            return Err(name(crate::Error::unsupported(format!(
                "format version {version} is marked unstable by its authors; it is read with OpenOptions::allow_unstable"
            ))));
        }
        let columns = (0..metadata.num_columns()).map(|_| OnceLock::new()).collect();
        let num_lists = if parents_have_columns(version) { metadata.num_columns() } else { 0 };
        let lists = (0..num_lists).map(|_| OnceLock::new()).collect();
        let source = Arc::new(source);
        let limits = options.limits.clone();
        let store = Arc::new(BlobStore::new(options.blobs.clone(), path.map(Path::to_path_buf)));
        let found = FoundFields::default();
        let (facts, blooms) = Default::default();
        Ok(Self {
            inner: Arc::new(Inner { source, metadata, found, columns, lists, facts, blooms, limits, store }),
        })
    }

    /// The Arrow schema, as it was written. A wide file is opened without it: the first call reads it then.
    ///
    /// # Errors
    /// It cannot be read, or is damaged.
    pub fn schema(&self) -> Result<SchemaRef> {
        Ok(self.tables()?.schema.to_arrow())
    }

    /// The schema of some columns. Of a wide file only these are read.
    ///
    /// # Errors
    /// A name that is not there; metadata that cannot be read, or is damaged.
    pub fn schema_of(&self, columns: &[String]) -> Result<SchemaRef> {
        Ok(self.projection(Some(columns))?.schema.to_arrow())
    }

    /// The schema of batches of all or some columns that show blobs in this way.
    ///
    /// # Errors
    /// Those of [`schema`](Self::schema) and [`schema_of`](Self::schema_of).
    pub fn schema_as(&self, columns: Option<&[String]>, view: BlobView) -> Result<SchemaRef> {
        let schema = match columns {
            Some(_) => self.projection(columns)?.schema.to_arrow(),
            None => self.tables()?.schema.to_arrow(),
        };
        Ok(schema::blob::view(&schema, view))
    }

    /// Rows of the file.
    pub fn num_rows(&self) -> u64 {
        self.inner.metadata.num_rows
    }

    /// The format version in the footer.
    pub fn format_version(&self) -> FormatVersion {
        self.inner.metadata.version()
    }

    /// Bytes of the file.
    pub fn file_bytes(&self) -> u64 {
        self.inner.source.file_bytes()
    }

    /// A scan of all rows and columns, to be narrowed.
    pub fn scan(&self) -> Scan {
        Scan::new(self.clone())
    }

    /// A take of rows by number, in this order, repeats allowed.
    pub fn take(&self, rows: &[u64]) -> Take {
        Take::new(self.clone(), rows.to_vec())
    }

    /// The blob column at `path`, as in `a.b`, for reading its values in parts.
    ///
    /// # Errors
    /// No such column, one that is no blob, or metadata that cannot be read.
    pub fn blobs(&self, path: &str) -> Result<BlobColumn> {
        BlobColumn::new(self.clone(), path, self.inner.store.clone())
    }

    pub(crate) fn source(&self) -> &Arc<Source> {
        &self.inner.source
    }

    pub(crate) fn metadata(&self) -> &Metadata {
        &self.inner.metadata
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.inner.limits
    }

    /// Schema, offsets and checksums of all columns; of a file with a directory they are read at the first call.
    pub(crate) fn tables(&self) -> Result<&Tables> {
        let metadata = &self.inner.metadata;
        match metadata.tables() {
            Some(tables) => Ok(tables),
            None => Ok(metadata.keep_tables(drive(&self.inner.source, metadata.read_tables())?)),
        }
    }

    /// Where the metadata of a column is.
    fn place(&self, column: u32) -> Result<ColumnPlace> {
        if self.inner.metadata.tables().is_none()
            && let Some(place) = self.inner.found.place(column)
        {
            return Ok(place);
        }
        ColumnPlace::listed(self.tables()?, column).map_err(|e| self.in_file(e))
    }

    /// The columns that paths name, all without paths, with their pages' descriptions.
    pub(crate) fn project(&self, paths: Option<&[String]>) -> Result<Projected> {
        self.project_as(paths, BlobView::Auto)
    }

    /// The same with a view of blobs.
    pub(crate) fn project_as(&self, paths: Option<&[String]>, view: BlobView) -> Result<Projected> {
        self.projected(self.projection(paths)?, view)
    }

    fn projection(&self, paths: Option<&[String]>) -> Result<Projection> {
        let inner = &*self.inner;
        inner.source.check_unchanged()?;
        match paths {
            Some(paths) => match inner.found.project(&inner.source, &inner.metadata, paths)? {
                Some(projection) => Ok(projection),
                None => self.tables()?.schema.project(paths),
            },
            None => self.tables()?.schema.project_all(),
        }
    }

    /// The columns of a projection of this file's schema, with their pages' descriptions.
    pub(crate) fn projected(&self, projection: Projection, view: BlobView) -> Result<Projected> {
        let inner = &*self.inner;
        let schema = schema::blob::view(&projection.schema.to_arrow(), view);
        let stored = schema::blob::view(&projection.schema.stored_arrow(), view);
        let columns = self.columns(projection.leaves)?;
        for column in &columns {
            column.check_rows(self.num_rows()).map_err(|e| self.in_file(e))?;
        }
        let as_bytes = |column: &Column| match column.leaf.kind {
            LeafKind::Blob => view != BlobView::Descriptors,
            LeafKind::BlobDescriptor => view == BlobView::Values,
            _ => false,
        };
        let blobs = (0..columns.len()).filter(|i| as_bytes(&columns[*i])).collect();
        Ok(Projected {
            source: inner.source.clone(),
            schema,
            stored,
            columns,
            limits: inner.limits.clone(),
            store: inner.store.clone(),
            blobs,
            scattered: false,
        })
    }

    /// Bytes that this handle, and its clones, keep of what was read so far. Descriptions of pages (some hundred bytes each, symbol
    /// tables among them), columns of lists in 2.0, pages of 2.3 and statistics are not counted.
    #[must_use]
    pub fn held(&self) -> HeldBytes {
        let mut held =
            HeldBytes { metadata: self.inner.metadata.held.bytes_of_pieces(), ..HeldBytes::default() };
        let columns = self.inner.columns.iter().filter_map(OnceLock::get);
        columns.flat_map(|column| &column.pages).for_each(|page| page.add_held(&mut held));
        held
    }

    /// Columns of leaves, read together where the handle does not have them yet.
    pub(crate) fn columns(&self, leaves: Vec<Leaf>) -> Result<Vec<Arc<Column>>> {
        let inner = &*self.inner;
        let slot = |leaf: &Leaf| {
            inner.columns.get(leaf.column as usize).ok_or_else(|| {
                self.in_file(crate::Error::corrupt(format!(
                    "the schema needs column {}, the file has {}",
                    leaf.column,
                    inner.columns.len()
                )))
            })
        };
        let mut missing = Vec::new();
        for leaf in &leaves {
            if slot(leaf)?.get().is_none() {
                missing.push(leaf.clone());
            }
        }
        if !missing.is_empty() {
            self.read_columns(missing).map_err(|e| self.in_file(e))?;
        }
        leaves
            .iter()
            .map(|leaf| {
                let column = slot(leaf)?.get();
                column.cloned().ok_or_else(|| crate::Error::invalid("a column was not read"))
            })
            .collect()
    }

    /// Reads the metadata of leaves' columns, and of the lists above them, in one round.
    fn read_columns(&self, leaves: Vec<Leaf>) -> Result<()> {
        let inner = &*self.inner;
        let mut numbers: Vec<u32> = leaves.iter().map(|l| l.column).collect();
        let unknown = |column: &u32| inner.lists.get(*column as usize).is_some_and(|l| l.get().is_none());
        let mut lists: Vec<u32> = leaves.iter().flat_map(Leaf::lists).filter(unknown).collect();
        lists.sort_unstable();
        lists.dedup();
        numbers.extend_from_slice(&lists);
        let places = numbers.into_iter().map(|column| self.place(column)).collect::<Result<_>>()?;
        let mut records = drive(&inner.source, ReadColumns::new(&inner.metadata, places))?;
        let facts = self.facts();
        for record in records.split_off(leaves.len()) {
            let number = record.index;
            let list = ListColumn::new(record, &facts).map_err(|e| {
                let below = leaves.iter().find(|l| l.lists().any(|c| c == number));
                e.in_column(below.map_or("", |l| &l.path))
            })?;
            if let Some(place) = inner.lists.get(number as usize) {
                // A lost race stored the same column.
                let _ = place.set(Arc::new(list));
            }
        }
        for (leaf, record) in leaves.into_iter().zip(records) {
            let number = leaf.column as usize;
            let find = |c: u32| inner.lists.get(c as usize).and_then(|l| l.get().cloned());
            let Some(lists) = leaf.lists().map(find).collect::<Option<Vec<_>>>() else {
                return Err(crate::Error::invalid("a column of lists was not read").in_column(&leaf.path));
            };
            let column = Column::new(leaf, record, lists, &facts)?;
            if let Some(place) = inner.columns.get(number) {
                let _ = place.set(Arc::new(column));
            }
        }
        Ok(())
    }

    fn facts(&self) -> FileFacts<'_> {
        FileFacts {
            large_chunks: self.format_version().has_large_chunks(),
            global_buffers: &self.inner.metadata.global_buffers,
            limits: &self.inner.limits,
        }
    }

    /// The column of a list; only in 2.0.
    pub(crate) fn list_column(&self, column: u32) -> Result<Arc<ListColumn>> {
        let place = self.inner.lists.get(column as usize);
        if let Some(known) = place.and_then(OnceLock::get) {
            return Ok(known.clone());
        }
        let list =
            Arc::new(ListColumn::new(self.record(column)?, &self.facts()).map_err(|e| self.in_file(e))?);
        if let Some(place) = place {
            let _ = place.set(list.clone());
        }
        Ok(list)
    }

    /// The column of a struct; only in 2.0. It is not kept: reading needs none.
    pub(crate) fn struct_column(&self, column: u32) -> Result<StructColumn> {
        StructColumn::new(self.record(column)?, &self.facts()).map_err(|e| self.in_file(e))
    }

    fn record(&self, column: u32) -> Result<ColumnRecord> {
        let records =
            drive(&self.inner.source, ReadColumns::new(&self.inner.metadata, vec![self.place(column)?]))?;
        match records.into_iter().next() {
            Some(record) => Ok(record),
            None => Err(crate::Error::invalid("a column was not read")),
        }
    }

    /// What the file's statistics say of leaves; `None` for those of which it says nothing. What was read is kept.
    pub(crate) fn column_facts(&self, leaves: &[Leaf]) -> Result<Vec<Option<Arc<ColumnFacts>>>> {
        let inner = &*self.inner;
        let Some(buffer) = inner.metadata.statistics else { return Ok(vec![None; leaves.len()]) };
        let known = || inner.facts.lock().unwrap_or_else(PoisonError::into_inner);
        let unknown = {
            let known = known();
            leaves.iter().filter(|leaf| !known.contains_key(&leaf.column)).cloned().collect::<Vec<_>>()
        };
        let wanted: Vec<Wanted> = unknown.iter().filter_map(wanted_facts).collect();
        if !wanted.is_empty() {
            let facts = self.read_facts(buffer, wanted.clone())?;
            let found = wanted.iter().map(|w| w.column).zip(facts.into_iter().map(|f| f.map(Arc::new)));
            known().extend(found);
        }
        let known = known();
        Ok(leaves.iter().map(|leaf| known.get(&leaf.column).cloned().flatten()).collect())
    }

    /// Which columns have bloom filters; read at the first call.
    pub(crate) fn bloom_table(&self) -> Result<Option<&BloomTable>> {
        let inner = &*self.inner;
        let Some(buffer) = inner.metadata.blooms else { return Ok(None) };
        if let Some(table) = inner.blooms.get() {
            return Ok(Some(table));
        }
        let read = ReadTable {
            buffer: inner.metadata.global_buffers[buffer].clone(),
            num_rows: self.num_rows(),
            limits: inner.limits.clone(),
            held: inner.metadata.held.clone(),
        };
        let table = drive(&inner.source, read).map_err(|e| self.in_file(e))?;
        Ok(Some(inner.blooms.get_or_init(|| table)))
    }

    /// Blocks of the bloom filters of columns, in their order; `None` for those without.
    pub(crate) fn column_blooms(&self, columns: Vec<(u32, Blocks)>) -> Result<Vec<Option<ColumnBlooms>>> {
        let inner = &*self.inner;
        let Some(table) = self.bloom_table()? else { return Ok(columns.iter().map(|_| None).collect()) };
        let entries: Vec<_> = columns.iter().map(|(column, _)| table.entry(*column)).collect();
        let wanted = entries.iter().zip(columns).filter_map(|(e, (_, blocks))| Some(((*e)?, blocks)));
        let read = ReadBlooms {
            table,
            wanted: wanted.collect(),
            limits: inner.limits.clone(),
            held: inner.metadata.held.clone(),
        };
        let mut read = drive(&inner.source, read).map_err(|e| self.in_file(e))?.into_iter();
        Ok(entries.iter().map(|entry| entry.and_then(|_| read.next())).collect())
    }

    /// The same of one leaf, with the order of its values, read anew and not kept.
    pub(crate) fn fresh_facts(&self, leaf: &Leaf) -> Result<Option<(Order, ColumnFacts)>> {
        let (Some(buffer), Some(wanted)) = (self.inner.metadata.statistics, wanted_facts(leaf)) else {
            return Ok(None);
        };
        let facts = self.read_facts(buffer, vec![wanted])?.pop().flatten();
        Ok(facts.map(|facts| (wanted.order, facts)))
    }

    fn read_facts(&self, buffer: usize, wanted: Vec<Wanted>) -> Result<Vec<Option<ColumnFacts>>> {
        let inner = &*self.inner;
        let read = ReadFacts {
            buffer: inner.metadata.global_buffers[buffer].clone(),
            num_rows: self.num_rows(),
            num_columns: inner.metadata.num_columns(),
            wanted,
            limits: inner.limits.clone(),
            held: inner.metadata.held.clone(),
        };
        drive(&inner.source, read).map_err(|e| self.in_file(e))
    }

    fn in_file(&self, e: crate::Error) -> crate::Error {
        match self.inner.source.name() {
            Some(name) => e.in_file(name),
            None => e,
        }
    }
}

/// What statistics of a leaf have to agree with; `None` if its type has no order.
fn wanted_facts(leaf: &Leaf) -> Option<Wanted> {
    let in_list = leaf.layers.contains(&Nesting::List);
    let per_row = (!in_list).then_some(leaf.rows_scale);
    Some(Wanted { column: leaf.column, order: Order::of(leaf)?, per_row })
}
