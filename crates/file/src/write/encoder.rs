//! Batches become the bytes of a file, in order, without I/O.
//!
//! ```text
//! batch ──▶ column 0 ─ page full? ─▶ encode ─┐
//!           column 1 ─ page full? ─▶ encode ─┼─▶ container ─▶ bytes to append
//!           …           (in parallel)        ┘
//!           all together above the budget? ──▶ the fullest become pages
//! ```

use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::SchemaRef;
use bytes::Bytes;
use rayon::prelude::*;

use super::blob;
use super::blooms;
use super::column::{ColumnPage, ColumnWriter, PageBounds};
use super::mapping::Mapping;
use super::matching;
use super::options::WriteOptions;
use super::presets;
use crate::array::shred::{LeafPath, check_structs, leaf_bytes, leaf_paths};
use crate::choose::{Asked, Choice, Spec, Tuning};
use crate::container::{ContainerEncoder, KIND_BLOOMS, KIND_STATISTICS};
use crate::schema::blob::view;
use crate::schema::{BlobView, LeafKind, Order, Schema};
use crate::stats::{BloomCollector, Collector, LEAST_USE, bloom_buffer, statistics_buffer};
use crate::{Error, FormatVersion, Result};

/// Arrow bytes from which on columns are worth spreading over threads.
const PARALLEL_BYTES: usize = 1 << 20;

/// Turns record batches into a file, handing over bytes to append and never looking back.
///
/// ```
/// # use std::sync::Arc;
/// # use arrow_array::{ArrayRef, Int32Array, RecordBatch};
/// # fn main() -> Result<(), pennon_file::Error> {
/// let a: ArrayRef = Arc::new(Int32Array::from(vec![1, 2, 3]));
/// let batch = RecordBatch::try_from_iter([("a", a)]).unwrap();
/// let mut encoder = pennon_file::FileEncoder::new(&batch.schema(), Default::default())?;
/// encoder.write(&batch)?;
/// let mut bytes = encoder.take_output();
/// bytes.extend(encoder.finish()?);
/// let file = bytes.concat();
/// assert_eq!(&file[file.len() - 4..], b"LANC");
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct FileEncoder {
    schema: Schema,
    /// As the caller sees it: batches have these types.
    input: SchemaRef,
    /// How its types become those of the file.
    mapping: Mapping,
    options: WriteOptions,
    container: ContainerEncoder,
    columns: Vec<ColumnWriter>,
    /// The leaves of what callers hand over: blobs are not descriptors there.
    inputs: Vec<LeafPath>,
    /// The schema with descriptors in the place of blobs.
    arrow: SchemaRef,
    num_rows: u64,
    /// A write failed half way: columns may disagree.
    failed: bool,
}

impl FileEncoder {
    /// A file for batches of `schema`. Fails for types that the format version cannot hold.
    pub fn new(schema: &arrow_schema::Schema, options: WriteOptions) -> Result<Self> {
        options.check()?;
        let version = options.format_version;
        let stored = Schema::from_arrow(schema, version)?;
        let leaves = stored.leaves()?;
        let given = stored.stored_arrow();
        let mapping = Mapping::new(schema, &given, version);
        // Descriptors are what pages hold of blobs.
        let arrow = view(&given, BlobView::Descriptors);
        let paths = leaf_paths(arrow.fields())?;
        let mut inputs = leaf_paths(given.fields())?;
        inputs.iter_mut().zip(&leaves).for_each(|(path, leaf)| path.path.clone_from(&leaf.path));
        if paths.len() != leaves.len() {
            return Err(Error::invalid(format!(
                "internal: {} leaves where {} columns are stored",
                paths.len(),
                leaves.len()
            )));
        }
        if version == FormatVersion::V2_0
            && let Some((path, text)) = options.encodings.first()
        {
            return Err(Error::invalid(format!(
                "encoding {text:?}: pages of 2.0 have no layouts to choose from"
            ))
            .in_column(path));
        }
        for (path, _) in &options.encodings {
            if !leaves.iter().any(|leaf| leaf.path == *path) {
                return Err(Error::invalid(format!(
                    "an encoding for column {path:?}, which the schema has not"
                )));
            }
        }
        let top = |path: &LeafPath| arrow.field(path.top).name();
        let names: Vec<(&str, &str)> =
            paths.iter().zip(&leaves).map(|(path, leaf)| (top(path).as_str(), leaf.path.as_str())).collect();
        presets::check(&options.column_presets, &names)?;
        blooms::check(&options.blooms, &leaves)?;
        let bounds = PageBounds {
            bytes: usize::try_from(options.max_page_bytes).unwrap_or(usize::MAX),
            rows: options.max_page_rows.unwrap_or(u64::MAX),
        };
        let asked = Asked {
            version,
            compression: options.compression,
            preset: options.preset,
            thorough: options.thorough,
            max_chunk_values: options.max_chunk_values,
            max_chunk_bytes: options.max_chunk_bytes,
        };
        let mut container = ContainerEncoder::new(version, options.alignment, options.checksums)?
            .with_directory_above(options.directory_columns);
        let mut columns = Vec::with_capacity(paths.len());
        let in_unions = stored.in_unions(&leaves);
        for ((mut path, leaf), in_union) in paths.into_iter().zip(leaves).zip(&in_unions) {
            let forced = options.encodings.iter().find(|(p, _)| *p == leaf.path);
            let spec = match forced {
                Some(_) if leaf.kind == LeafKind::Blob => {
                    return Err(Error::invalid("an encoding for a blob, whose pages are all alike")
                        .in_column(&leaf.path));
                }
                None if leaf.kind == LeafKind::Blob && version > FormatVersion::V2_0 => {
                    Spec::parse("miniblock:packed")?
                }
                Some((_, text)) => Spec::parse(text).map_err(|e| e.in_column(&leaf.path))?,
                None => Spec::default(),
            };
            let top = arrow.field(path.top);
            let preset = presets::preset_of(&options.column_presets, top.name(), &leaf.path);
            let asked = Asked { preset: preset.unwrap_or(asked.preset), ..asked };
            let tuning = Tuning::new(&asked, spec, &path.field, top)?;
            path.path.clone_from(&leaf.path);
            if let Some(keys) = &mut path.dictionary {
                keys.null_is_entry = version == FormatVersion::V2_0;
            }
            if version == FormatVersion::V2_0 && leaf.kind == LeafKind::Blob {
                container.describe_as_blobs(leaf.column);
            }
            let mut column = ColumnWriter::new(path, &leaf, tuning, bounds);
            let order = Order::of(&leaf).filter(|_| options.statistics && !*in_union);
            let zone_rows = options.zone_rows.into();
            column.collect(order.map(|order| Collector::new(order, zone_rows, in_unions.len())));
            if options.blooms.contains(&leaf.path)
                && let Some(order) = Order::of(&leaf)
            {
                column.collect_blooms(BloomCollector::new(order, zone_rows, options.blooms.len()));
            }
            columns.push(column);
        }
        Ok(Self {
            container,
            schema: stored,
            input: std::sync::Arc::new(schema.clone()),
            mapping,
            options,
            columns,
            inputs,
            arrow,
            num_rows: 0,
            failed: false,
        })
    }

    /// Rows written so far.
    pub fn num_rows(&self) -> u64 {
        self.num_rows
    }

    /// For every stored column its path and, page by page so far, what was considered and chosen. Format version 2.0 has no
    /// choice to speak of: no pages there.
    pub fn choices(&self) -> impl Iterator<Item = (&str, &[Choice])> {
        self.columns.iter().map(|column| (column.path.path.as_str(), column.choices()))
    }

    /// Bytes of the file so far, whether taken or not; what is buffered is not in yet.
    pub fn position(&self) -> u64 {
        self.container.position()
    }

    /// Adds rows. Columns are found by name.
    ///
    /// After an error from the data itself (a null where the schema has none, an illegal forced
    /// encoding) the file cannot be finished.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        self.check()?;
        let found = matching::columns(&self.input, batch)?;
        if batch.num_rows() == 0 {
            return Ok(());
        }
        let arrays: Vec<&ArrayRef> = found.iter().map(|column| batch.column(*column)).collect();
        if self.mapping.is_identity() {
            self.check_structs(&arrays)?;
            self.failed = true;
            self.push(&arrays, batch.num_rows())?;
        } else {
            self.failed = true;
            let mut rows = 0..batch.num_rows();
            while !rows.is_empty() {
                let stored = self.mapping.store_some(&arrays, &mut rows)?;
                let count = stored.first().map_or(0, |array| array.len());
                let stored: Vec<&ArrayRef> = stored.iter().collect();
                self.check_structs(&stored)?;
                self.push(&stored, count)?;
            }
        }
        self.failed = false;
        Ok(())
    }

    /// Fails for null structs where the format version has none.
    fn check_structs(&self, arrays: &[&ArrayRef]) -> Result<()> {
        if self.options.format_version > FormatVersion::V2_0 {
            return Ok(());
        }
        // Descriptors of blobs are structs in pages only.
        self.inputs.iter().try_for_each(|path| check_structs(path, arrays[path.top]))
    }

    /// Adds rows of arrays as they are stored.
    fn push(&mut self, arrays: &[&ArrayRef], num_rows: usize) -> Result<()> {
        let arrays = self.without_blobs(arrays)?;
        let bytes = |sum: usize, c: &ColumnWriter| {
            let array = &arrays[c.path.top];
            leaf_bytes(&c.path, array, 0..array.len()).map(|bytes| sum.saturating_add(bytes))
        };
        let parallel = self.columns.len() > 1 && self.columns.iter().try_fold(0, bytes)? >= PARALLEL_BYTES;
        let push = |column: &mut ColumnWriter| column.push(&arrays[column.path.top]);
        let pages: Vec<Vec<ColumnPage>> = if parallel {
            self.columns.par_iter_mut().map(push).collect::<Result<_>>()?
        } else {
            self.columns.iter_mut().map(push).collect::<Result<_>>()?
        };
        self.add_pages(pages)?;
        self.num_rows += num_rows as u64;
        self.keep_budget()
    }

    /// The arrays with descriptors in the place of blobs, whose bytes are in the file by then.
    fn without_blobs(&mut self, arrays: &[&ArrayRef]) -> Result<Vec<ArrayRef>> {
        let arrays = self.arrow.fields().iter().zip(arrays).map(|(field, &array)| {
            if !blob::has_blobs(field) {
                return Ok(array.clone());
            }
            blob::move_out(&mut self.container, field, array).map_err(|e| e.in_column(field.name()))
        });
        arrays.collect()
    }

    /// Adds bytes of the caller's own; the first get index 1.
    pub fn add_global_buffer(&mut self, bytes: Bytes) -> u32 {
        self.container.add_global_buffer(bytes)
    }

    /// Bytes to append to the file now.
    pub fn take_output(&mut self) -> Vec<Bytes> {
        self.container.take_output()
    }

    /// Encodes what is buffered and ends the file; gives the rest of its bytes.
    pub fn finish(mut self) -> Result<Vec<Bytes>> {
        self.check()?;
        self.flush(&vec![true; self.columns.len()])?;
        let pages = self.columns.iter_mut().map(ColumnWriter::finish).collect::<Result<_>>()?;
        self.add_pages(pages)?;
        self.add_blooms()?;
        self.add_statistics()?;
        Ok(self.container.finish(&self.schema, self.num_rows)?.output)
    }

    /// Encodes what is buffered and drops the file: for every stored column its path and why its pages are as they are.
    pub(crate) fn into_choices(mut self) -> Result<Vec<(String, Vec<Choice>)>> {
        self.check()?;
        self.flush(&vec![true; self.columns.len()])?;
        Ok(self.columns.into_iter().map(ColumnWriter::into_choices).collect())
    }

    /// Appends the statistics of all columns, as far as there is room for them.
    fn add_statistics(&mut self) -> Result<()> {
        let collected: Vec<_> = self.columns.iter_mut().filter_map(ColumnWriter::collected).collect();
        if self.num_rows == 0 || collected.is_empty() {
            return Ok(());
        }
        let num_columns = self.schema.num_columns;
        // Who says how many bytes there are wants them used.
        let (max_bytes, least_use) = match self.options.statistics_bytes {
            Some(bytes) => (bytes, f64::MIN_POSITIVE),
            None => (self.container.room_for_extra(num_columns.into()), LEAST_USE),
        };
        let zone_rows = self.options.zone_rows;
        let buffer = statistics_buffer(
            collected,
            self.num_rows,
            num_columns as usize,
            zone_rows,
            max_bytes,
            least_use,
        );
        if let Some(buffer) = buffer {
            self.container.add_extra(KIND_STATISTICS, buffer.into())?;
        }
        Ok(())
    }

    /// Appends an extra of the test's own.
    #[cfg(test)]
    pub(crate) fn add_extra(&mut self, kind: u32, bytes: Bytes) -> Result<u32> {
        self.container.add_extra(kind, bytes)
    }

    /// Appends the bloom filters that were asked for.
    fn add_blooms(&mut self) -> Result<()> {
        let collected: Vec<_> = self.columns.iter_mut().filter_map(ColumnWriter::collected_blooms).collect();
        let max_bytes = self.options.bloom_bytes.unwrap_or(u64::MAX);
        if let Some(buffer) = bloom_buffer(collected, self.options.zone_rows, self.num_rows, max_bytes) {
            self.container.add_extra(KIND_BLOOMS, buffer.into())?;
        }
        Ok(())
    }

    /// Arrow bytes of a batch as far as its columns are stored.
    pub(super) fn arrow_bytes(&self, batch: &RecordBatch) -> Result<usize> {
        let found = matching::columns(&self.input, batch)?;
        let mapped = self.mapping.bytes_of(|top| batch.column(found[top]));
        let bytes = |sum: usize, path: &LeafPath| {
            if self.mapping.is_mapped(path.top) {
                return Ok(sum);
            }
            let array = batch.column(found[path.top]);
            leaf_bytes(path, array, 0..array.len()).map(|bytes| sum.saturating_add(bytes))
        };
        self.inputs.iter().try_fold(mapped, bytes)
    }

    fn check(&self) -> Result<()> {
        if self.failed {
            return Err(Error::invalid("an earlier write of this file failed; it cannot go on"));
        }
        Ok(())
    }

    fn add_pages(&mut self, pages: Vec<Vec<ColumnPage>>) -> Result<()> {
        for (column, page) in pages.into_iter().flatten() {
            self.container.add_page(column, page)?;
        }
        Ok(())
    }

    /// Flushes the fullest columns while all together hold more than the budget.
    fn keep_budget(&mut self) -> Result<()> {
        let sizes = self.sizes();
        let total: usize = sizes.iter().sum();
        if total <= self.options.memory_bytes {
            return Ok(());
        }
        let mut fullest: Vec<usize> = (0..sizes.len()).collect();
        fullest.sort_by_key(|i| std::cmp::Reverse(sizes[*i]));
        // Down to half, so that the next batch does not meet the budget again at once.
        self.flush_first(&fullest, &sizes, total - self.options.memory_bytes / 2)
    }

    /// Encodes columns, the first first, until about `bytes` of what is buffered are gone; says whether any were. Who takes the output
    /// after each such step has few pages in memory at once.
    pub(super) fn flush_step(&mut self, bytes: usize) -> Result<bool> {
        self.check()?;
        let sizes = self.sizes();
        // What holds rows may be of no bytes, and what holds none of some.
        let held: Vec<usize> = (0..sizes.len()).filter(|i| !self.columns[*i].is_empty()).collect();
        self.flush_first(&held, &sizes, bytes)?;
        Ok(!held.is_empty())
    }

    /// Bytes buffered of each column.
    fn sizes(&self) -> Vec<usize> {
        self.columns.iter().map(ColumnWriter::byte_size).collect()
    }

    /// Flushes the first columns of `order` that hold `bytes` together.
    fn flush_first(&mut self, order: &[usize], sizes: &[usize], bytes: usize) -> Result<()> {
        let mut chosen = vec![false; sizes.len()];
        let mut gone = 0;
        for i in order {
            if gone >= bytes {
                break;
            }
            gone += sizes[*i];
            chosen[*i] = true;
        }
        self.flush(&chosen)
    }

    /// Flushes the columns that are chosen.
    fn flush(&mut self, chosen: &[bool]) -> Result<()> {
        let flush = |(column, chosen): (&mut ColumnWriter, &bool)| {
            let mut pages = Vec::new();
            if *chosen {
                column.flush(&mut pages)?;
            }
            Ok(pages)
        };
        let total: usize = self.columns.iter().map(ColumnWriter::byte_size).sum();
        let pages: Vec<Vec<ColumnPage>> = if total >= PARALLEL_BYTES {
            self.columns.par_iter_mut().zip(chosen).map(flush).collect::<Result<_>>()?
        } else {
            self.columns.iter_mut().zip(chosen).map(flush).collect::<Result<_>>()?
        };
        self.add_pages(pages)
    }
}
