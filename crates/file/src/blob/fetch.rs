//! Descriptors to values: the bytes of the blobs that a batch returns, and of no others.
//!
//! ```text
//! descriptors of all columns ──▶ as many rows as the budget allows ──▶ their bytes, one round
//! ```

use std::ops::Range;
use std::sync::Arc;

use super::descriptor::{BlobDescriptor, Extent};
use super::store::BlobStore;
use crate::column::Column;
use crate::encoding::{Arena, ValueType, Values};
use crate::io::{Decode, ReadAt, Segments, Source, Step, drive_with};
use crate::page::{LeafData, RowSlots};
use crate::{Error, Limits, Result};

/// One column whose descriptors become values.
struct Fetching<'a> {
    column: &'a Column,
    leaf: usize,
    slots: RowSlots,
    /// Of the slots of the rows looked at so far.
    extents: Vec<Option<Found>>,
}

/// Bytes to fetch.
enum Found {
    Own(Range<u64>),
    Other(Arc<dyn ReadAt>, Range<u64>),
}

impl Found {
    fn bytes(&self) -> u64 {
        let (Self::Own(range) | Self::Other(_, range)) = self;
        range.end - range.start
    }
}

/// Where blobs of a file are read from.
pub(crate) struct Media<'a> {
    pub(crate) source: &'a Source,
    pub(crate) store: &'a BlobStore,
    pub(crate) limits: &'a Limits,
    /// Whether they lie scattered over the file.
    pub(crate) scattered: bool,
}

/// Turns the descriptors in the leaves numbered by `which` into values, of at most `rows` rows: as many as `budget`
/// bytes hold over all of them, at least one. Says how many; the leaves have exactly those afterwards.
pub(crate) fn fetch_values(
    media: &Media<'_>,
    columns: &[Arc<Column>],
    leaves: &mut [LeafData],
    which: &[usize],
    rows: usize,
    budget: usize,
    arena: &Arena,
) -> Result<usize> {
    let fetching = which.iter().map(|&leaf| {
        let column = &*columns[leaf];
        let slots = RowSlots::of(&leaves[leaf], &column.scheme, column.leaf.rows_scale as usize, rows)
            .map_err(|e| in_column(e, column))?;
        Ok(Fetching { column, leaf, slots, extents: Vec::new() })
    });
    let mut fetching: Vec<Fetching<'_>> = fetching.collect::<Result<_>>()?;
    let kept = count_rows(media, &mut fetching, leaves, rows, budget)?;
    let source = media.source;
    let mut segments = source.segments_for(media.scattered);
    if !segments.is_whole() {
        let wanted = fetching.iter().flat_map(|f| &f.extents[..f.slots.count(kept)]);
        let wanted = wanted.filter_map(|found| match found {
            Some(Found::Own(range)) if !range.is_empty() => Some(range.clone()),
            _ => None,
        });
        drive_with(media.source, Fetch(united(wanted.collect())), &mut segments)?;
    }
    for f in &fetching {
        let column = f.column;
        let leaf = &mut leaves[f.leaf];
        leaf.truncate_rows(kept * column.leaf.rows_scale as usize, &column.scheme);
        leaf.values =
            values(&f.extents[..f.slots.count(kept)], &segments, arena).map_err(|e| in_column(e, column))?;
    }
    Ok(kept)
}

fn in_column(e: Error, column: &Column) -> Error {
    e.in_column(&column.leaf.path)
}

/// How many rows the budget holds; finds the extents of their blobs.
fn count_rows(
    media: &Media<'_>,
    fetching: &mut [Fetching<'_>],
    leaves: &[LeafData],
    rows: usize,
    budget: usize,
) -> Result<usize> {
    let mut total = 0u64;
    for row in 0..rows {
        let mut row_bytes = 0u64;
        for f in &mut *fetching {
            let values = &leaves[f.leaf].values;
            for slot in f.slots.row(row) {
                let found = if f.slots.is_valid(slot) {
                    let found = find(media, values, slot).map_err(|e| in_column(e, f.column))?;
                    row_bytes = row_bytes.saturating_add(found.bytes());
                    Some(found)
                } else {
                    None
                };
                f.extents.push(found);
            }
            if row_bytes > media.limits.buffer_bytes && row == 0 {
                return Err(in_column(
                    Error::limit(format!(
                        "the blobs of one row take {row_bytes} bytes, at most {} are read at once; a handle reads them in parts",
                        media.limits.buffer_bytes
                    )),
                    f.column,
                ));
            }
        }
        total = total.saturating_add(row_bytes);
        if row > 0 && (total > budget as u64 || row_bytes > media.limits.buffer_bytes) {
            return Ok(row);
        }
    }
    Ok(rows)
}

fn find(media: &Media<'_>, values: &Values, slot: usize) -> Result<Found> {
    match BlobDescriptor::at(values, slot)?.extent(media.source.file_bytes())? {
        Extent::Own(range) => Ok(Found::Own(range)),
        Extent::Other(place, range) => {
            let reader = media.store.open(&place)?;
            super::store::check_range(&place, &*reader, &range)?;
            Ok(Found::Other(reader, range))
        }
        Extent::Rest(place, start) => {
            let reader = media.store.open(&place)?;
            let range = super::store::rest(&place, &*reader, start)?;
            Ok(Found::Other(reader, range))
        }
    }
}

/// The values of some extents.
fn values(extents: &[Option<Found>], segments: &Segments, arena: &Arena) -> Result<Values> {
    let mut values = Values::new_in(&ValueType::Variable { wide: true }, extents.len(), arena);
    let total: u64 = extents.iter().flatten().map(Found::bytes).sum();
    let no_memory = |_| Error::limit(format!("no memory for {total} bytes of blobs"));
    let len = usize::try_from(total).unwrap_or(usize::MAX);
    values.expect_bytes(len, arena);
    let Values::LargeVariable(out) = &mut values else {
        return Err(Error::invalid("internal: values of another shape"));
    };
    out.data.try_reserve(len).map_err(no_memory)?;
    for found in extents {
        match found {
            None => {}
            Some(Found::Own(range)) => match segments.slice(range) {
                Some(bytes) => out.data.extend_from_slice(bytes),
                None => return Err(Error::invalid("internal: bytes of a blob were not fetched")),
            },
            Some(Found::Other(reader, range)) => {
                let room = out.data.grow((range.end - range.start) as usize);
                super::store::read(&**reader, range.start, room)?;
            }
        }
        out.offsets.push(out.data.len() as i64);
    }
    Ok(values)
}

/// Asks for ranges: sorted, disjoint.
struct Fetch(Vec<Range<u64>>);

impl Decode for Fetch {
    type Output = ();

    fn step(&mut self, segments: &Segments) -> Result<Step<()>> {
        let missing: Vec<_> = self.0.iter().filter(|r| segments.slice(r).is_none()).cloned().collect();
        Ok(if missing.is_empty() { Step::Done(()) } else { Step::Need(missing) })
    }
}

/// Ranges in file order, those that touch or overlap as one.
pub(super) fn united(mut ranges: Vec<Range<u64>>) -> Vec<Range<u64>> {
    ranges.sort_by_key(|range| range.start);
    ranges.dedup_by(|next, last| {
        let joins = next.start <= last.end;
        if joins {
            last.end = last.end.max(next.end);
        }
        joins
    });
    ranges
}
