//! Which rows a filter has to look at, by statistics of its columns.
//!
//! ```text
//! rows            0        8192      16384      24576      32768
//! zones of a      ├─────────┼──────────┼──────────┼──────────┤
//! zones of b      ├────────────────────┼─────────────────────┤     put together in twos
//! verdict           no row   some rows   every row  no row
//! stretches                 ├──────────┼──────────┤
//!                            looked at   passes
//! ```
//!
//! What a predicate can be in a zone is told by `filter/prune.rs`. Rows of which none can pass belong to no stretch.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use arrow_schema::{DataType, Fields};

use super::batch::Projected;
use super::batches::Scan;
use crate::Result;
use crate::filter::{Bound, Known};
use crate::schema::path_part;
use crate::stats::{Blocks, ColumnBlooms, ColumnFacts, hash_of};

/// Rows side by side of which the same is known; never empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Stretch {
    pub(super) rows: Range<u64>,
    /// The predicate is TRUE for each of them.
    pub(super) passes: bool,
}

/// The rows of a scan that may pass its predicate.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Outlook {
    /// Ascending; two that touch differ in whether they pass.
    pub(super) stretches: Vec<Stretch>,
    /// Bytes of the statistics that say so.
    pub(super) statistics_bytes: u64,
}

impl Outlook {
    /// Reads the statistics of a predicate's columns, if the scan is to use them and the handle has not got them yet.
    pub(super) fn of(scan: &Scan, tests: &Projected, bound: &Bound) -> Result<Self> {
        let mut outlook = Self::default();
        if !scan.statistics {
            outlook.push(scan.rows.clone(), false);
            return Ok(outlook);
        }
        let known = facts_of(scan, tests, bound)?;
        let mut counted: Vec<*const ColumnFacts> = Vec::new();
        for column in known.iter().flatten() {
            if !counted.contains(&Arc::as_ptr(column)) {
                counted.push(Arc::as_ptr(column));
                outlook.statistics_bytes = outlook.statistics_bytes.saturating_add(column.bytes);
            }
        }
        let known: Vec<Option<&ColumnFacts>> = known.iter().map(Option::as_deref).collect();
        outlook.look(scan.rows.clone(), bound, &known, &[]);
        // What facts leave open bloom filters may tell.
        if outlook.stretches.iter().any(|stretch| !stretch.passes) {
            let blooms = blooms_of(scan, tests, bound)?;
            if blooms.iter().any(Option::is_some) {
                let bytes = blooms.iter().flatten().map(|column| column.bytes);
                outlook.statistics_bytes = bytes.fold(outlook.statistics_bytes, u64::saturating_add);
                for stretch in std::mem::take(&mut outlook.stretches) {
                    match stretch.passes {
                        true => outlook.push(stretch.rows, true),
                        false => outlook.look(stretch.rows, bound, &known, &blooms),
                    }
                }
            }
        }
        Ok(outlook)
    }

    fn look(
        &mut self,
        rows: Range<u64>,
        bound: &Bound,
        facts: &[Option<&ColumnFacts>],
        blooms: &[Option<ColumnBlooms>],
    ) {
        let mut known: Vec<Known<'_>> =
            facts.iter().map(|column| Known { facts: column.map(|c| &c.file), filter: None }).collect();
        let mut judge = |rows: Range<u64>, known: &[Known<'_>]| {
            let verdict = bound.verdict(known);
            if !verdict.excludes_true() {
                self.push(rows, verdict.is_only_true());
            }
            verdict.excludes_true() || verdict.is_only_true()
        };
        // What is known of all rows may tell already.
        let all = bound.verdict(&known);
        let no_zones =
            facts.iter().flatten().all(|c| c.zones.is_empty()) && blooms.iter().all(Option::is_none);
        if all.excludes_true() || all.is_only_true() || no_zones {
            judge(rows, &known);
            return;
        }
        let mut at = rows.start;
        while at < rows.end {
            let mut end = rows.end;
            for (known, column) in known.iter_mut().zip(facts) {
                if let Some(column) = column.filter(|c| !c.zones.is_empty() && c.zone_rows > 0) {
                    let zone = at / column.zone_rows;
                    end = end.min((zone + 1).saturating_mul(column.zone_rows));
                    known.facts = usize::try_from(zone).ok().and_then(|zone| column.zones.get(zone));
                }
            }
            for (known, column) in known.iter_mut().zip(blooms) {
                let Some(column) = column else { continue };
                let zone = at / column.zone_rows.max(1);
                end = end.min((zone + 1).saturating_mul(column.zone_rows.max(1)));
                known.filter = Some(column.zone(zone));
            }
            judge(at..end, &known);
            at = end;
        }
    }

    fn push(&mut self, rows: Range<u64>, passes: bool) {
        match self.stretches.last_mut() {
            _ if rows.is_empty() => {}
            Some(last) if last.rows.end == rows.start && last.passes == passes => last.rows.end = rows.end,
            _ => self.stretches.push(Stretch { rows, passes }),
        }
    }

    /// Rows of all stretches.
    pub(super) fn num_rows(&self) -> u64 {
        num_rows(self.stretches.iter().map(|s| &s.rows))
    }

    /// Rows that pass, whatever the others do.
    pub(super) fn num_passing(&self) -> u64 {
        num_rows(self.stretches.iter().filter(|s| s.passes).map(|s| &s.rows))
    }

    /// The rows of stretches that are to be looked at.
    pub(super) fn looked_at(&self) -> Vec<Range<u64>> {
        self.stretches.iter().filter(|s| !s.passes).map(|s| s.rows.clone()).collect()
    }

    /// The rows of all stretches; those of two that touch are one range.
    pub(super) fn rows(&self) -> Vec<Range<u64>> {
        let mut rows: Vec<Range<u64>> = Vec::new();
        for stretch in &self.stretches {
            match rows.last_mut() {
                Some(last) if last.end == stretch.rows.start => last.end = stretch.rows.end,
                _ => rows.push(stretch.rows.clone()),
            }
        }
        rows
    }
}

/// Stretches that are handed out in pieces.
#[derive(Debug)]
pub(super) struct Pieces(VecDeque<Stretch>);

/// Rows that belong together, of one or several stretches of which the same is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Piece {
    /// Ascending, disjoint; none is empty.
    pub(super) rows: Vec<Range<u64>>,
    pub(super) passes: bool,
}

impl Pieces {
    pub(super) fn new(stretches: impl IntoIterator<Item = Stretch>) -> Self {
        Self(stretches.into_iter().collect())
    }

    /// The first of the rows that are left.
    pub(super) fn first(&self) -> Option<(u64, bool)> {
        self.0.front().map(|stretch| (stretch.rows.start, stretch.passes))
    }

    /// The next rows, at most so many.
    pub(super) fn next(&mut self, mut most: u64) -> Option<Piece> {
        let passes = self.0.front()?.passes;
        let mut piece = Piece { rows: Vec::new(), passes };
        while most > 0
            && let Some(stretch) = self.0.front_mut().filter(|s| s.passes == passes)
        {
            let rows = stretch.rows.start..stretch.rows.end.min(stretch.rows.start.saturating_add(most));
            most -= rows.end - rows.start;
            stretch.rows.start = rows.end;
            if stretch.rows.is_empty() {
                self.0.pop_front();
            }
            piece.rows.push(rows);
        }
        Some(piece)
    }

    /// Puts back rows from the end of the last piece.
    pub(super) fn put_back(&mut self, rows: Range<u64>, passes: bool) {
        match self.0.front_mut() {
            _ if rows.is_empty() => {}
            Some(next) if next.rows.start == rows.end && next.passes == passes => {
                next.rows.start = rows.start
            }
            _ => self.0.push_front(Stretch { rows, passes }),
        }
    }
}

/// Rows of ranges that are disjoint.
pub(super) fn num_rows<'a>(ranges: impl IntoIterator<Item = &'a Range<u64>>) -> u64 {
    ranges.into_iter().map(|r| r.end - r.start).sum()
}

/// For each column of the predicate which leaf it is.
fn places_of(tests: &Projected, bound: &Bound) -> Vec<Option<usize>> {
    let leaf = |steps: &[usize]| {
        let path = path_of(tests.schema.fields(), steps)?;
        tests.columns.iter().position(|column| column.leaf.path == path)
    };
    bound.columns().map(leaf).collect()
}

/// Values of a column that filters are asked for at most; more of them are hardly all missing.
const MAX_VALUES: usize = 1000;

/// For each column of the predicate what its bloom filters say of the values asked for.
fn blooms_of(scan: &Scan, tests: &Projected, bound: &Bound) -> Result<Vec<Option<ColumnBlooms>>> {
    if !scan.file.has_bloom_filters() {
        return Ok(Vec::new());
    }
    let (places, values) = (places_of(tests, bound), bound.values());
    let blocks = |(place, values): (&Option<usize>, &Vec<_>)| {
        let column = tests.columns.get((*place)?)?.leaf.column;
        let hashes: Vec<u64> = values.iter().filter_map(hash_of).collect();
        (!hashes.is_empty() && hashes.len() <= MAX_VALUES).then_some((column, Blocks::Of(hashes)))
    };
    let wanted: Vec<_> = places.iter().zip(&values).map(blocks).collect();
    let mut read = scan.file.column_blooms(wanted.iter().flatten().cloned().collect())?.into_iter();
    Ok(wanted.iter().map(|wanted| wanted.as_ref().and_then(|_| read.next().flatten())).collect())
}

/// For each column of the predicate what the file says of it.
fn facts_of(scan: &Scan, tests: &Projected, bound: &Bound) -> Result<Vec<Option<Arc<ColumnFacts>>>> {
    let places = places_of(tests, bound);
    let leaves: Vec<_> = places.iter().flatten().map(|i| tests.columns[*i].leaf.clone()).collect();
    let mut facts = scan.file.column_facts(&leaves)?.into_iter();
    Ok(places.iter().map(|place| place.and_then(|_| facts.next().flatten())).collect())
}

/// The path of the leaf at the end of positions that walk structs, as leaves are named. It is no leaf's where the last step is to
/// something else.
fn path_of(mut fields: &Fields, steps: &[usize]) -> Option<String> {
    let mut path = String::new();
    for (depth, step) in steps.iter().enumerate() {
        let field = fields.get(*step)?;
        let nth = 1 + fields[..*step].iter().filter(|f| f.name() == field.name()).count();
        if depth > 0 {
            path.push('.');
        }
        path.push_str(&path_part(field.name(), nth));
        if let DataType::Struct(children) = field.data_type() {
            fields = children;
        }
    }
    Some(path)
}
