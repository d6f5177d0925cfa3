//! Rows by number for formats without random access: the wanted rows are read once, in the order of the file,
//! and then put into the order that was asked for.

use std::collections::HashMap;

use arrow_array::{RecordBatch, UInt64Array};
use arrow_schema::SchemaRef;
use arrow_select::concat::concat_batches;
use arrow_select::take::take_record_batch;
use pennon_file::{Error, Result};

use crate::reader::Batches;

/// Rows asked that are collected at a time, when a source can be read again.
const PART_ROWS: usize = 1 << 16;

/// Every number must be below `num_rows`.
pub(crate) fn check(name: &str, rows: &[u64], num_rows: u64) -> Result<()> {
    match rows.iter().find(|r| **r >= num_rows) {
        None => Ok(()),
        Some(row) => {
            let range = match num_rows {
                0 => "there are no rows to take".to_owned(),
                n => format!("rows go from 0 to {}", n - 1),
            };
            Err(Error::invalid(format!(
                "{name}: row {row} is out of range: the file has {num_rows} rows, {range}"
            )))
        }
    }
}

/// Takes in parts of the asked rows, each when it is asked for. `selected` reads rows given in ascending order without
/// duplicates.
pub(crate) fn in_parts(
    rows: &[u64],
    schema: SchemaRef,
    selected: impl Fn(&[u64]) -> Result<Batches> + Send + 'static,
) -> Batches {
    if rows.is_empty() {
        return Box::new(std::iter::once(Ok(RecordBatch::new_empty(schema))));
    }
    let rows = rows.to_vec();
    let mut at = 0;
    Box::new(std::iter::from_fn(move || {
        let part = &rows[at..rows.len().min(at + PART_ROWS)];
        if part.is_empty() {
            return None;
        }
        at += part.len();
        let unique = unique(part);
        let taken = selected(&unique)
            .and_then(Iterator::collect::<Result<Vec<_>>>)
            .and_then(|found| reorder(part, &unique, &schema, &found));
        if taken.is_err() {
            at = rows.len();
        }
        Some(taken)
    }))
}

/// Takes from batches of all rows, reading no further than the last row asked.
pub(crate) fn by_scan(name: &str, rows: &[u64], schema: SchemaRef, batches: Batches) -> Result<Batches> {
    let unique = unique(rows);
    let (found, read) = pick(&unique, 0, batches)?;
    if found.iter().map(RecordBatch::num_rows).sum::<usize>() < unique.len() {
        check(name, rows, read)?;
    }
    let all = reorder(rows, &unique, &schema, &found)?;
    Ok(Box::new(std::iter::once(Ok(all))))
}

/// The rows numbered `rows`, ascending without duplicates, of batches that begin with row `first`; and the number of the
/// row after the last that was read.
pub(crate) fn pick(rows: &[u64], mut first: u64, batches: Batches) -> Result<(Vec<RecordBatch>, u64)> {
    let mut found = Vec::new();
    let mut next = 0usize;
    for batch in batches {
        if next == rows.len() {
            break;
        }
        let batch = batch?;
        let end = first + batch.num_rows() as u64;
        let count = rows[next..].partition_point(|r| *r < end);
        if count > 0 {
            let indices: UInt64Array = rows[next..next + count].iter().map(|r| r - first).collect();
            found.push(take_record_batch(&batch, &indices).map_err(|e| Error::invalid(e.to_string()))?);
            next += count;
        }
        first = end;
    }
    Ok((found, first))
}

fn unique(rows: &[u64]) -> Vec<u64> {
    let mut unique = rows.to_vec();
    unique.sort_unstable();
    unique.dedup();
    unique
}

fn reorder(rows: &[u64], unique: &[u64], schema: &SchemaRef, found: &[RecordBatch]) -> Result<RecordBatch> {
    let wrong = |e: arrow_schema::ArrowError| Error::invalid(e.to_string());
    let all = concat_batches(schema, found).map_err(wrong)?;
    if all.num_rows() != unique.len() {
        return Err(Error::corrupt(format!(
            "{} rows were selected, but {} were read",
            unique.len(),
            all.num_rows()
        )));
    }
    if rows == unique {
        return Ok(all);
    }
    let place: HashMap<u64, u64> = unique.iter().zip(0u64..).map(|(r, i)| (*r, i)).collect();
    let indices: UInt64Array = rows.iter().map(|r| place[r]).collect();
    take_record_batch(&all, &indices).map_err(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn parts_are_read_when_they_are_asked_for() {
        let schema = RecordBatch::try_from_iter([("r", numbers(&[]))]).unwrap().schema();
        let rows: Vec<u64> = (0..PART_ROWS as u64 * 3).rev().collect();
        let calls = Arc::new(AtomicUsize::new(0));
        let seen = calls.clone();
        let mut parts = in_parts(&rows, schema, move |part| {
            seen.fetch_add(1, Ordering::SeqCst);
            let batch = RecordBatch::try_from_iter([("r", numbers(part))]).unwrap();
            Ok(Box::new(std::iter::once(Ok(batch))))
        });
        assert_eq!(calls.load(Ordering::SeqCst), 0);
        let first = parts.next().unwrap().unwrap();
        assert_eq!((calls.load(Ordering::SeqCst), first.num_rows()), (1, PART_ROWS));
        assert_eq!(first.column(0), &numbers(&rows[..PART_ROWS]));
        assert_eq!(parts.count(), 2);
    }

    fn numbers(rows: &[u64]) -> arrow_array::ArrayRef {
        Arc::new(UInt64Array::from(rows.to_vec()))
    }
}
