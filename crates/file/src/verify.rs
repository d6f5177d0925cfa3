//! Walking a whole file and listing everything that is wrong with it: checksums, pages, and statistics that are not true of
//! what the pages hold.

use std::ops::Range;

use crate::blob::Walk;
use crate::container::{DirectoryFaults, ReadGlobalBuffer};
use crate::error::corrupt;
use crate::io::drive;
use crate::page::{LeafData, LevelScheme, Page, RowSlots, is_all_but_empty};
use crate::read::File;
use crate::scan::Projected;
use crate::schema::{BlobView, Leaf, Order, ParentField};
use crate::stats::{Audit, Blocks, BloomAudit};
use crate::{Error, Result};

/// What a walk over a file found. See [`File::verify`].
#[derive(Debug)]
#[non_exhaustive]
pub struct VerifyReport {
    /// Every fault, with its place.
    pub faults: Vec<Error>,
    /// Columns looked at.
    pub columns: u64,
    /// Pages decoded.
    pub pages: u64,
    /// Bytes of page and global buffers looked at, and of blobs in the file itself.
    pub bytes: u64,
    /// Those of them that no checksum covers.
    pub unchecked_bytes: u64,
}

/// Arrow bytes decoded at a time.
const BATCH_BYTES: usize = 8 << 20;

/// The rows to look at after a batch of `count` of them. Where a page announces far more rows than its bytes can tell
/// apart, only its last row follows, so that the work is bounded by what is stored and not by what is announced.
fn after(rows: &Range<u64>, count: u64, page_rows: u64, stored_bytes: u64) -> Range<u64> {
    let next = rows.start.saturating_add(count).min(rows.end);
    if next < rows.end && is_all_but_empty(page_rows, stored_bytes) {
        rows.end - 1..rows.end
    } else {
        next..rows.end
    }
}

/// What is held beside the values of a column.
#[derive(Default)]
struct Audits<'a> {
    /// Slots of a row, where there are no lists.
    scale: usize,
    facts: Option<Audit<'a>>,
    blooms: Option<BloomAudit>,
}

impl Audits<'_> {
    /// Looks at the first `count` of `rows`; without a count at one that all are like.
    fn look(
        &mut self,
        rows: &Range<u64>,
        count: Option<usize>,
        leaf: &LeafData,
        scheme: &LevelScheme,
    ) -> Result<()> {
        if self.facts.is_none() && self.blooms.is_none() {
            return Ok(());
        }
        let slots = RowSlots::of(leaf, scheme, self.scale, count.unwrap_or(1))?;
        if let Some(audit) = &mut self.facts {
            match count {
                Some(count) => audit.look(rows.start, count, leaf, &slots),
                None => audit.look_alike(rows.clone(), leaf, &slots),
            }
        }
        if let Some(audit) = &mut self.blooms {
            match count {
                Some(count) => audit.look(rows.start, count, leaf, &slots),
                None => audit.look_alike(rows.clone(), leaf, &slots),
            }
        }
        Ok(())
    }

    fn finish(self) -> Vec<String> {
        let mut faults = self.facts.map(Audit::finish).unwrap_or_default();
        faults.extend(self.blooms.map(BloomAudit::finish).unwrap_or_default());
        faults
    }
}

impl File {
    /// Checks every checksum, decodes every page and holds statistics and bloom filters beside its values; `progress` is told the share done, 0 to 1.
    ///
    /// # Errors
    /// Only what keeps the walk from going on: metadata that cannot be read, a medium that fails.
    pub fn verify(&self, mut progress: impl FnMut(f64)) -> Result<VerifyReport> {
        let metadata = self.metadata();
        let tables = self.tables()?;
        let mut report =
            VerifyReport { faults: Vec::new(), columns: 0, pages: 0, bytes: 0, unchecked_bytes: 0 };
        for (i, range) in metadata.global_buffers.iter().enumerate() {
            report.bytes += range.end - range.start;
            let read = ReadGlobalBuffer::new(metadata, tables, i, self.limits())
                .and_then(|d| drive(self.source(), d));
            report.faults.extend(read.err());
            if tables.checks.is_none() {
                report.unchecked_bytes += range.end - range.start;
            }
        }
        if let Some(directory) = DirectoryFaults::new(metadata, tables) {
            match drive(self.source(), directory) {
                Ok(faults) => report.faults.extend(faults),
                Err(e) => report.faults.push(e),
            }
        }
        let leaves = tables.schema.leaves()?;
        let count = leaves.len();
        let mut walk = Walk::default();
        for (i, (leaf, steps)) in leaves.into_iter().zip(tables.schema.leaf_steps()).enumerate() {
            report.columns += 1;
            self.source().check_unchanged()?;
            let facts = self.fresh_facts(&leaf).unwrap_or_else(|e| {
                // What is wrong with the whole buffer is found once for every column.
                if report.faults.last().is_none_or(|last| last.message() != e.message()) {
                    report.faults.push(e);
                }
                None
            });
            let scale = usize::try_from(leaf.rows_scale).unwrap_or(usize::MAX);
            let audits = Audits {
                scale,
                facts: facts.as_ref().map(|(order, f)| Audit::new(f, *order, self.num_rows())),
                blooms: self.bloom_audit(&leaf).unwrap_or_else(|e| {
                    if report.faults.last().is_none_or(|last| last.message() != e.message()) {
                        report.faults.push(e);
                    }
                    None
                }),
            };
            match tables.schema.project_steps(&[steps]).and_then(|p| self.projected(p, BlobView::Descriptors))
            {
                Ok(projected) => self.verify_column(leaf.column, &projected, audits, &mut walk, &mut report),
                Err(e) => report.faults.push(e.in_column(&leaf.path)),
            }
            progress((i + 1) as f64 / count as f64);
        }
        for parent in tables.schema.parents()? {
            report.columns += 1;
            let fault = self.verify_parent(&parent, &mut report).err();
            report.faults.extend(fault.map(|e| e.in_column(&parent.path)));
        }
        // Nothing covers the bytes of blobs.
        report.bytes += walk.bytes;
        report.unchecked_bytes += walk.bytes;
        Ok(report)
    }

    /// What looks at the bloom filters of a leaf, if it has any.
    fn bloom_audit(&self, leaf: &Leaf) -> Result<Option<BloomAudit>> {
        let Some(order) = Order::of(leaf) else { return Ok(None) };
        let blooms = self.column_blooms(vec![(leaf.column, Blocks::All)])?.pop().flatten();
        let scale = usize::try_from(leaf.rows_scale).unwrap_or(usize::MAX);
        Ok(blooms.map(|blooms| BloomAudit::new(blooms, order, self.num_rows(), scale)))
    }

    /// The column of a struct or list. Where lists end is looked at with their leaves.
    fn verify_parent(&self, parent: &ParentField, report: &mut VerifyReport) -> Result<()> {
        let mut walk = |pages: &[Page]| {
            for (i, page) in pages.iter().enumerate() {
                self.verify_checksums(page, report, |e| e.in_page(i as u64).in_column(&parent.path));
            }
        };
        let found = if parent.is_list {
            let list = self.list_column(parent.column)?;
            walk(&list.pages);
            list.num_rows()
        } else {
            let column = self.struct_column(parent.column)?;
            walk(&column.pages);
            column.num_rows
        };
        let expected = match parent.list {
            Some(list) => self.list_column(list)?.num_items(),
            None => self.num_rows(),
        };
        if found != expected {
            corrupt!("a column of {found} structs or lists where {expected} are expected");
        }
        Ok(())
    }

    /// Whether all checksums of a page are right, or there are none; counts the page.
    fn verify_checksums(
        &self,
        page: &Page,
        report: &mut VerifyReport,
        place: impl Fn(Error) -> Error,
    ) -> bool {
        report.pages += 1;
        report.bytes += page.stored_bytes();
        if !page.buffers.has_checksums() {
            report.unchecked_bytes += page.stored_bytes();
        }
        let before = report.faults.len();
        match drive(self.source(), page.buffers.read_faults()) {
            Ok(faults) => report.faults.extend(faults.into_iter().map(place)),
            Err(e) => report.faults.push(place(e)),
        }
        report.faults.len() == before
    }

    /// Looks at stored column `wanted`; the projection may hold others, as the values of a map never come without its keys.
    fn verify_column(
        &self,
        wanted: u32,
        projected: &Projected,
        mut audits: Audits<'_>,
        walk: &mut Walk,
        report: &mut VerifyReport,
    ) {
        for (place, column) in projected.columns.iter().enumerate() {
            if column.leaf.column != wanted {
                continue;
            }
            // Reads the first of some rows; where one row stands for all of them, it is looked at as often.
            let mut read = |rows: &Range<u64>, alike: bool| {
                walk.read(projected, rows.clone(), BATCH_BYTES, |leaves, count| {
                    let Some(leaf) = leaves.get(place) else { return Ok(()) };
                    audits.look(rows, if alike { None } else { Some(count) }, leaf, &column.scheme)
                })
            };
            let mut is_sound = true;
            for (i, page) in column.pages.iter().enumerate() {
                let place = |e: Error| projected.in_file(e.in_page(i as u64).in_column(&column.leaf.path));
                let sound = self.verify_checksums(page, report, place);
                is_sound &= sound;
                if !sound || !column.lists.is_empty() {
                    continue;
                }
                let mut rows = column.page_rows(i);
                // A page that stores nothing per row may announce any number of them, all alike.
                let alike = page.repeats_one_row();
                while rows.start < rows.end {
                    match read(&rows, alike) {
                        Ok(_) if alike => break,
                        Ok(count) => rows = after(&rows, count, page.num_rows, page.stored_bytes()),
                        Err(e) => {
                            report.faults.push(place(e));
                            break;
                        }
                    }
                }
            }
            if is_sound && !column.lists.is_empty() {
                // Which rows a page of items belongs to is told by other columns: all of them.
                let mut rows = 0..self.num_rows();
                while rows.start < rows.end {
                    match read(&rows, false) {
                        Ok(count) => rows.start += count,
                        Err(e) => {
                            report.faults.push(projected.in_file(e.in_column(&column.leaf.path)));
                            break;
                        }
                    }
                }
            }
            let faults = std::mem::take(&mut audits).finish();
            let place = |text| projected.in_file(Error::corrupt(text).in_column(&column.leaf.path));
            report.faults.extend(faults.into_iter().map(place));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_of_few_bytes_is_looked_at_where_it_begins_and_ends() {
        let all = u64::MAX;
        assert_eq!(after(&(0..all), 8192, all, 300), all - 1..all);
        assert!(after(&(all - 1..all), 1, all, 300).is_empty());
        // A byte for every 65,536 rows is enough to be looked at in full.
        assert_eq!(after(&(0..1 << 26), 8192, 1 << 26, 1 << 10), 8192..1 << 26);
        assert_eq!(after(&(0..1000), 1000, 1000, 0), 1000..1000);
        assert_eq!(after(&(0..1000), 10, 1000, 0), 10..1000);
    }
}
