//! What a scan or a take would read, told from the pages' descriptions before any page is touched.
//!
//! Pages are counted whole: a scan of some rows reads the chunks that hold them, a take the chunks or rows that it wants, so
//! `bytes` is what is read at most. With a filter, its columns are read where statistics leave it open whether rows pass, and the
//! others where rows pass.

use std::ops::Range;
use std::sync::Arc;

use super::{Scan, Take};
use crate::Result;
use crate::column::Column;
use crate::page::Page;

/// What a scan or a take would read. See [`Scan::explain`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Explanation {
    /// Paths of the stored columns whose pages would be read, in alphabetical order.
    pub columns: Vec<String>,
    /// Those among them that a filter looks at; none where statistics tell all.
    pub filter_columns: Vec<String>,
    /// Rows that are looked at, or known to pass; with a filter those are left out that statistics rule out.
    pub rows: u64,
    /// Those among them that statistics tell to pass the filter.
    pub passing_rows: u64,
    /// Pages that hold them.
    pub pages: u64,
    /// Bytes of these pages.
    pub bytes: u64,
    /// Bytes of those of the filter's columns, which are read whatever passes.
    pub filter_bytes: u64,
    /// Bytes of the filter's columns' statistics, which are read once in the life of a handle and not among `bytes`; and of bloom
    /// filters.
    pub statistics_bytes: u64,
}

impl Scan {
    /// Says what the scan would read. Reads metadata, statistics of the filter's columns, and no page.
    ///
    /// ```no_run
    /// let file = pennon_file::File::open("flights.lance")?;
    /// let plan = file.scan().columns(&["dep_delay"]).explain()?;
    /// println!("{} of {} bytes", plan.bytes, file.file_bytes());
    /// # Ok::<(), pennon_file::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`batches`](Self::batches).
    pub fn explain(&self) -> Result<Explanation> {
        self.check_rows()?;
        let projected = self.file.project_as(self.columns.as_deref(), self.blobs)?;
        #[cfg(feature = "filter")]
        if let Some(predicate) = &self.filter {
            return self.explain_filter(projected, predicate);
        }
        let mut found = Explanation::default();
        let rows = self.unfiltered_rows();
        found.rows = rows.end - rows.start;
        found.add(projected.columns, &Vec::from_iter((!rows.is_empty()).then_some(rows)));
        Ok(found)
    }

    #[cfg(feature = "filter")]
    fn explain_filter(
        &self,
        projected: super::Projected,
        predicate: &crate::filter::Predicate,
    ) -> Result<Explanation> {
        let (tests, bound) = super::filtered::bound(self, predicate)?;
        let outlook = super::zones::Outlook::of(self, &tests, &bound)?;
        let looked_at = outlook.looked_at();
        // Where statistics tell all, the predicate's columns are not read.
        let tests = if looked_at.is_empty() { Vec::new() } else { tests.columns };
        let mut filter = Explanation::default();
        filter.add(tests.clone(), &looked_at);
        let mut found = Explanation {
            filter_columns: tests.iter().map(|c| c.leaf.path.clone()).collect(),
            rows: outlook.num_rows(),
            passing_rows: outlook.num_passing(),
            filter_bytes: filter.bytes,
            statistics_bytes: outlook.statistics_bytes,
            ..Explanation::default()
        };
        found.add(projected.columns, &outlook.rows());
        // Those that are not handed out are read where the filter looks.
        found.add(tests, &looked_at);
        Ok(found)
    }

    fn unfiltered_rows(&self) -> Range<u64> {
        self.rows.start..self.rows.end.min(self.rows.start.saturating_add(self.limit))
    }
}

impl Take {
    /// Says what the take would read. Reads metadata and no page.
    ///
    /// # Errors
    /// Those of [`batches`](Self::batches).
    pub fn explain(&self) -> Result<Explanation> {
        let (projected, rows) = self.planned()?;
        let mut found =
            Explanation { rows: rows.iter().map(|r| r.end - r.start).sum(), ..Explanation::default() };
        found.add(projected.columns, &rows);
        Ok(found)
    }
}

impl Explanation {
    /// Adds columns that are not there yet. `rows` ascend.
    fn add(&mut self, columns: Vec<Arc<Column>>, rows: &[Range<u64>]) {
        // A projection has no column twice, and those of the one before are in order.
        let before = self.columns.len();
        for column in columns {
            if self.columns[..before].binary_search(&column.leaf.path).is_ok() {
                continue;
            }
            self.columns.push(column.leaf.path.clone());
            if column.lists.is_empty() {
                let touched = |i: &usize| touches(&column.page_rows(*i), rows);
                self.pages((0..column.pages.len()).filter(touched).map(|i| &column.pages[i]));
            } else if !rows.is_empty() {
                // Which items the rows have is in the pages.
                let lists = column.lists.iter().flat_map(|list| &list.pages);
                self.pages(column.pages.iter().chain(lists));
            }
        }
        self.columns.sort_unstable();
    }

    fn pages<'a>(&mut self, pages: impl Iterator<Item = &'a Page>) {
        for page in pages {
            self.pages += 1;
            self.bytes = self.bytes.saturating_add(page.stored_bytes());
        }
    }
}

/// Whether ranges that ascend have a row of `page`.
fn touches(page: &Range<u64>, rows: &[Range<u64>]) -> bool {
    let next = rows.partition_point(|r| r.end <= page.start);
    rows.get(next).is_some_and(|r| r.start < page.end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_touched_by_a_row_inside_and_not_by_its_neighbours() {
        let rows = [3..5, 9..10];
        let touched: Vec<u64> = (0..12).filter(|at| touches(&(*at..*at + 1), &rows)).collect();
        assert_eq!(touched, [3, 4, 9]);
        assert!(touches(&(0..100), &rows) && !touches(&(5..9), &rows) && !touches(&(0..3), &[]));
    }
}
