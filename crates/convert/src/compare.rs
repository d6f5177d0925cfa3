//! Whether two tables hold the same.
//!
//! *Unordered*: for each column the sum of its values' hashes, and for whole rows the sum of the rows' hashes, modulo
//! 2^128. Sums do not depend on order and take no memory. Equal columns with unequal rows mean that values moved
//! between rows. *Ordered*: both sides stream and rows of the same number are compared.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_schema::{DataType, Schema};
use pennon_file::{Error, Result};

use crate::hash::{hash_values, mix};
use crate::projection::quote_name;
use crate::reader::Batches;
use crate::types::type_name;

/// Every difference between two schemas, in words: columns, types, nullability, metadata.
pub fn schema_differences(a: &Schema, b: &Schema) -> Vec<String> {
    let mut out = Vec::new();
    let names = |s: &Schema| s.fields().iter().map(|f| f.name().clone()).collect::<Vec<_>>();
    let (in_a, in_b) = (names(a), names(b));
    if in_a != in_b {
        let only = |x: &[String], y: &[String]| {
            x.iter().filter(|n| !y.contains(n)).map(|n| quote_name(n)).collect::<Vec<_>>()
        };
        let (only_a, only_b) = (only(&in_a, &in_b), only(&in_b, &in_a));
        if !only_a.is_empty() {
            out.push(format!("only A has {}", only_a.join(", ")));
        }
        if !only_b.is_empty() {
            out.push(format!("only B has {}", only_b.join(", ")));
        }
        if only_a.is_empty() && only_b.is_empty() {
            out.push("the columns come in another order".into());
        }
    }
    for (x, y) in pairs(a, b).into_iter().map(|(i, j)| (a.field(i), b.field(j))) {
        let name = quote_name(x.name());
        let (tx, ty) = (type_name(x.data_type()), type_name(y.data_type()));
        if tx != ty {
            out.push(format!("{name}: type {tx} in A, {ty} in B"));
        } else if x.data_type() != y.data_type() {
            out.push(format!("{name}: names, nullability or metadata of fields inside {tx} differ"));
        }
        if x.is_nullable() != y.is_nullable() {
            let word = |f: &arrow_schema::Field| if f.is_nullable() { "nullable" } else { "not nullable" };
            out.push(format!("{name}: {} in A, {} in B", word(x), word(y)));
        }
        if x.metadata() != y.metadata() {
            out.push(format!("{name}: metadata {:?} in A, {:?} in B", x.metadata(), y.metadata()));
        }
    }
    if a.metadata() != b.metadata() {
        out.push(format!("schema metadata {:?} in A, {:?} in B", a.metadata(), b.metadata()));
    }
    out
}

/// Columns of both that have the same name, the second of a name with the second.
pub fn pairs(a: &Schema, b: &Schema) -> Vec<(usize, usize)> {
    let mut taken = vec![false; b.fields().len()];
    let mut out = Vec::new();
    for (i, x) in a.fields().iter().enumerate() {
        if let Some(j) = b.fields().iter().enumerate().position(|(j, y)| !taken[j] && y.name() == x.name()) {
            taken[j] = true;
            out.push((i, j));
        }
    }
    out
}

/// Sums over the rows of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sums {
    /// Rows.
    pub rows: u64,
    /// Of each column: the sum of its values' hashes.
    pub columns: Vec<u128>,
    /// Of each column: its nulls.
    pub nulls: Vec<u64>,
    /// The sum of the rows' hashes.
    pub whole: u128,
}

impl Sums {
    /// No rows of `columns` columns.
    pub fn new(columns: usize) -> Self {
        Self { rows: 0, columns: vec![0; columns], nulls: vec![0; columns], whole: 0 }
    }

    /// Adds the rows of a batch, taking its columns in the order `order`.
    pub fn add(&mut self, batch: &RecordBatch, order: &[usize]) -> Result<()> {
        let mut whole = vec![0; batch.num_rows()];
        for (at, column) in order.iter().enumerate() {
            let column = batch.column(*column);
            let hashes = hash_values(column)?;
            for (row, hash) in whole.iter_mut().zip(&hashes) {
                *row = mix(*row, *hash);
                self.columns[at] = self.columns[at].wrapping_add(*hash);
            }
            self.nulls[at] += column.logical_null_count() as u64;
        }
        self.rows += batch.num_rows() as u64;
        self.whole = whole.iter().fold(self.whole, |sum, row| sum.wrapping_add(*row));
        Ok(())
    }
}

/// A cell in which two tables differ.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Cell {
    /// Row number.
    pub row: u64,
    /// Path of the column or of the field inside it.
    pub path: String,
    /// The value in A as text, `None` for null.
    pub a: Option<String>,
    /// The value in B as text, `None` for null.
    pub b: Option<String>,
}

/// What an ordered comparison found.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct OrderedDifference {
    /// Rows of A.
    pub rows_a: u64,
    /// Rows of B.
    pub rows_b: u64,
    /// Cells that differ, in rows that both have.
    pub differing: u64,
    /// Of each compared column, the cells that differ.
    pub by_column: Vec<u64>,
    /// The first of them.
    pub cells: Vec<Cell>,
}

impl OrderedDifference {
    /// Whether no difference was found.
    pub fn is_equal(&self) -> bool {
        self.rows_a == self.rows_b && self.differing == 0
    }
}

/// Compares two tables row by row; `pairs` are the columns to compare. `most` cells are kept. `progress` is told rows done.
pub fn compare_ordered(
    mut a: Batches,
    mut b: Batches,
    pairs: &[(usize, usize)],
    most: usize,
    mut progress: impl FnMut(u64),
) -> Result<OrderedDifference> {
    let mut found = OrderedDifference { by_column: vec![0; pairs.len()], ..Default::default() };
    let mut side_a = Side::default();
    let mut side_b = Side::default();
    loop {
        let left = side_a.fill(&mut a)?;
        let right = side_b.fill(&mut b)?;
        let rows = left.min(right);
        if rows == 0 {
            break;
        }
        let (x, y) = (side_a.take(rows), side_b.take(rows));
        compare_batches(&x, &y, pairs, found.rows_a, most, &mut found)?;
        found.rows_a += rows as u64;
        found.rows_b += rows as u64;
        progress(found.rows_a);
    }
    found.rows_a += side_a.drain(&mut a)?;
    found.rows_b += side_b.drain(&mut b)?;
    Ok(found)
}

/// The batch in hand of one side, and how many of its rows are done.
#[derive(Default)]
struct Side {
    batch: Option<RecordBatch>,
    at: usize,
}

impl Side {
    /// Rows in hand; 0 at the end.
    fn fill(&mut self, from: &mut Batches) -> Result<usize> {
        loop {
            match &self.batch {
                Some(batch) if self.at < batch.num_rows() => return Ok(batch.num_rows() - self.at),
                _ => {
                    self.at = 0;
                    self.batch = from.next().transpose()?;
                    if self.batch.is_none() {
                        return Ok(0);
                    }
                }
            }
        }
    }

    fn take(&mut self, rows: usize) -> RecordBatch {
        let batch = self.batch.as_ref().expect("rows were in hand");
        let slice = batch.slice(self.at, rows);
        self.at += rows;
        slice
    }

    fn drain(&mut self, from: &mut Batches) -> Result<u64> {
        let mut rows = self.batch.take().map_or(0, |b| (b.num_rows() - self.at) as u64);
        for batch in from {
            rows += batch?.num_rows() as u64;
        }
        Ok(rows)
    }
}

fn compare_batches(
    a: &RecordBatch,
    b: &RecordBatch,
    pairs: &[(usize, usize)],
    first_row: u64,
    most: usize,
    found: &mut OrderedDifference,
) -> Result<()> {
    let mut cells: Vec<(usize, usize, Cell)> = Vec::new();
    for (at, (i, j)) in pairs.iter().enumerate() {
        let (x, y) = (a.column(*i), b.column(*j));
        let (hx, hy) = (hash_values(x)?, hash_values(y)?);
        if hx == hy {
            continue;
        }
        let rows: Vec<usize> = (0..hx.len()).filter(|r| hx[*r] != hy[*r]).collect();
        found.differing += rows.len() as u64;
        found.by_column[at] += rows.len() as u64;
        let wanted = most.saturating_sub(found.cells.len());
        let path = quote_name(a.schema().field(*i).name());
        for row in rows.into_iter().take(wanted) {
            let mut inside = Vec::new();
            descend(&x.slice(row, 1), &y.slice(row, 1), &path, &mut inside)?;
            for (path, a, b) in inside {
                cells.push((row, at, Cell { row: first_row + row as u64, path, a, b }));
            }
        }
    }
    cells.sort_by_key(|(row, at, _)| (*row, *at));
    let room = most.saturating_sub(found.cells.len());
    found.cells.extend(cells.into_iter().take(room).map(|(_, _, c)| c));
    Ok(())
}

/// Lists where one value differs from another, going into structs that both have.
fn descend(
    a: &ArrayRef,
    b: &ArrayRef,
    path: &str,
    out: &mut Vec<(String, Option<String>, Option<String>)>,
) -> Result<()> {
    if let (DataType::Struct(fa), DataType::Struct(fb)) = (a.data_type(), b.data_type()) {
        let same_names = fa.len() == fb.len() && fa.iter().zip(fb).all(|(x, y)| x.name() == y.name());
        if same_names && !a.is_null(0) && !b.is_null(0) {
            let (sa, sb) = (a.as_struct(), b.as_struct());
            for (field, (x, y)) in fa.iter().zip(sa.columns().iter().zip(sb.columns())) {
                if hash_values(x)? != hash_values(y)? {
                    descend(x, y, &format!("{path}.{}", quote_name(field.name())), out)?;
                }
            }
            return Ok(());
        }
    }
    out.push((path.to_owned(), show(a)?, show(b)?));
    Ok(())
}

fn show(array: &ArrayRef) -> Result<Option<String>> {
    if array.logical_nulls().is_some_and(|n| n.is_null(0)) {
        return Ok(None);
    }
    // Types that text cannot show are shown as they are stored.
    let text = crate::text::to_text(array).unwrap_or_else(|_| Arc::clone(array));
    let options = FormatOptions::new().with_display_error(true).with_null("null");
    let formatter =
        ArrayFormatter::try_new(text.as_ref(), &options).map_err(|e| Error::unsupported(e.to_string()))?;
    Ok(Some(formatter.value(0).to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{Int32Array, StringArray};

    fn batch(x: &[i32], s: &[Option<&str>]) -> RecordBatch {
        let x: ArrayRef = Arc::new(Int32Array::from(x.to_vec()));
        let s: ArrayRef = Arc::new(StringArray::from(s.to_vec()));
        RecordBatch::try_from_iter_with_nullable([("x", x, true), ("s", s, true)]).unwrap()
    }

    fn sums(batches: &[RecordBatch]) -> Sums {
        let mut sums = Sums::new(2);
        batches.iter().for_each(|b| sums.add(b, &[0, 1]).unwrap());
        sums
    }

    #[test]
    fn sums_do_not_depend_on_order_or_batches_but_see_moved_values() {
        let a = batch(&[1, 2, 3], &[Some("a"), None, Some("c")]);
        let turned = [batch(&[3], &[Some("c")]), batch(&[2, 1], &[None, Some("a")])];
        assert_eq!(sums(std::slice::from_ref(&a)), sums(&turned));
        let moved = sums(&[batch(&[1, 2, 3], &[Some("c"), None, Some("a")])]);
        assert_eq!(moved.columns, sums(std::slice::from_ref(&a)).columns);
        assert_ne!(moved.whole, sums(&[a]).whole);
    }

    #[test]
    fn ordered_comparison_names_row_path_and_both_values() {
        let a: Batches =
            Box::new([Ok(batch(&[1, 2], &[Some("a"), None])), Ok(batch(&[3], &[Some("c")]))].into_iter());
        let b: Batches = Box::new(
            [Ok(batch(&[1], &[Some("a")])), Ok(batch(&[5, 3, 4], &[Some("b"), Some("c"), None]))].into_iter(),
        );
        let d = compare_ordered(a, b, &[(0, 0), (1, 1)], 20, |_| ()).unwrap();
        assert_eq!((d.rows_a, d.rows_b, d.differing), (3, 4, 2));
        assert_eq!(d.by_column, [1, 1]);
        let cell = |path: &str, a: Option<&str>, b: &str| Cell {
            row: 1,
            path: path.into(),
            a: a.map(Into::into),
            b: Some(b.into()),
        };
        assert_eq!(d.cells, [cell("x", Some("2"), "5"), cell("s", None, "b")]);
    }
}
