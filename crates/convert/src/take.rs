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
const PART_ROWS: usize = 1 << 18;

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

/// Takes in parts of the asked rows. `selected` reads rows given in ascending order without duplicates.
pub(crate) fn in_parts(
    rows: &[u64],
    schema: SchemaRef,
    selected: impl Fn(&[u64]) -> Result<Batches>,
) -> Result<Batches> {
    let mut out = Vec::new();
    for part in rows.chunks(PART_ROWS) {
        let unique = unique(part);
        let found = selected(&unique)?.collect::<Result<Vec<_>>>()?;
        out.push(Ok(reorder(part, &unique, &schema, &found)?));
    }
    if out.is_empty() {
        out.push(Ok(RecordBatch::new_empty(schema)));
    }
    Ok(Box::new(out.into_iter()))
}

/// Takes from batches of all rows, reading no further than the last row asked.
pub(crate) fn by_scan(name: &str, rows: &[u64], schema: SchemaRef, batches: Batches) -> Result<Batches> {
    let unique = unique(rows);
    let mut found = Vec::new();
    let (mut first, mut next) = (0u64, 0usize);
    for batch in batches {
        if next == unique.len() {
            break;
        }
        let batch = batch?;
        let end = first + batch.num_rows() as u64;
        let count = unique[next..].partition_point(|r| *r < end);
        if count > 0 {
            let indices: UInt64Array = unique[next..next + count].iter().map(|r| r - first).collect();
            found.push(take_record_batch(&batch, &indices).map_err(|e| Error::invalid(e.to_string()))?);
            next += count;
        }
        first = end;
    }
    if next < unique.len() {
        check(name, rows, first)?;
    }
    let all = reorder(rows, &unique, &schema, &found)?;
    Ok(Box::new(std::iter::once(Ok(all))))
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
