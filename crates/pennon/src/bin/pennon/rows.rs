//! Row numbers: `3,1,3`, `10..20`, `10..=20`, or read from a file.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};

use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, UInt64Type};
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;
use pennon::convert::{Input, ReadOptions, Reader, Selection, type_name};
use pennon::{Error, Result};

/// A number or a run of numbers, as given; it may be out of range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rows {
    One(i128),
    /// Half open.
    Run(i128, i128),
}

/// Reads a comma list of `N`, `A..B` and `A..=B`.
pub(crate) fn parse(text: &str) -> Result<Vec<Rows>, String> {
    let number = |part: &str, digits: &str| -> Result<i128, String> {
        let digits = digits.trim();
        let fine = !digits.is_empty()
            && digits.len() < 30
            && digits.trim_start_matches('-').bytes().all(|b| b.is_ascii_digit());
        fine.then(|| digits.parse().ok())
            .flatten()
            .ok_or_else(|| format!("expected N, A..B or A..=B, found {part:?}"))
    };
    text.split(',')
        .map(|part| match part.split_once("..") {
            None => number(part, part).map(Rows::One),
            Some((from, to)) => match to.strip_prefix('=') {
                Some(to) => Ok(Rows::Run(number(part, from)?, number(part, to)? + 1)),
                None => Ok(Rows::Run(number(part, from)?, number(part, to)?)),
            },
        })
        .collect()
}

/// Reads numbers from a file: one a line, or a table with a single integer column.
pub(crate) fn from_file(path: &str) -> Result<Vec<Rows>> {
    let wrong = |what: String| {
        Error::invalid(format!("{path}: expected one row number a line or a single integer column, {what}"))
    };
    if path == "-" {
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text).map_err(|e| Error::io("cannot read standard input", e))?;
        return lines(text.as_bytes(), &wrong);
    }
    let mut start = Vec::new();
    if let Ok(file) = File::open(path) {
        // What opens and does not begin like a number is left to the readers of tables, and their messages.
        let _ = file.take(64).read_to_end(&mut start);
    }
    let first = start.split(|b| *b == b'\n').next().unwrap_or_default().trim_ascii();
    let numeric = !first.is_empty() && first.iter().all(|b| b.is_ascii_digit() || *b == b'-');
    let blank =
        start.iter().all(u8::is_ascii_whitespace) && std::fs::metadata(path).is_ok_and(|m| m.is_file());
    if numeric || blank {
        let file = File::open(path).map_err(|e| Error::io(format!("cannot read {path}"), e))?;
        return lines(BufReader::new(file), &wrong);
    }
    let reader = Reader::open(&Input::path(path), &ReadOptions::default())?;
    let schema = reader.schema();
    let [field] = schema.fields().as_ref() else {
        return Err(wrong(format!("found {} columns", schema.fields().len())));
    };
    if !field.data_type().is_integer() {
        return Err(wrong(format!("found a column of type {}", type_name(field.data_type()))));
    }
    let mut rows = Vec::new();
    for batch in reader.batches(&Selection::default())? {
        let batch = batch?;
        let column = batch.column(0);
        if column.null_count() > 0 {
            return Err(wrong("found a null".into()));
        }
        let cast = |t: &DataType| -> Result<ArrayRef> {
            arrow_cast::cast(column, t).map_err(|e| wrong(e.to_string()))
        };
        if field.data_type().is_signed_integer() {
            rows.extend(
                cast(&DataType::Int64)?
                    .as_primitive::<Int64Type>()
                    .values()
                    .iter()
                    .map(|v| Rows::One((*v).into())),
            );
        } else {
            rows.extend(
                cast(&DataType::UInt64)?
                    .as_primitive::<UInt64Type>()
                    .values()
                    .iter()
                    .map(|v| Rows::One((*v).into())),
            );
        }
    }
    Ok(rows)
}

fn lines(from: impl BufRead, wrong: &dyn Fn(String) -> Error) -> Result<Vec<Rows>> {
    let mut rows = Vec::new();
    for (i, line) in from.lines().enumerate() {
        let line = line.map_err(|e| wrong(format!("line {}: {e}", i + 1)))?;
        let line = line.trim();
        if !line.is_empty() {
            rows.push(Rows::One(
                line.parse().map_err(|_| wrong(format!("found {line:?} in line {}", i + 1)))?,
            ));
        }
    }
    Ok(rows)
}

/// The numbers in order, duplicates kept. One that is out of range is named with the row count.
pub(crate) fn resolve(rows: &[Rows], reader: &Reader) -> Result<Vec<u64>> {
    let bad = |row: i128| -> Result<u64> {
        let n = reader.count()?;
        let range = if n == 0 {
            "there are no rows to take".to_owned()
        } else {
            format!("rows go from 0 to {}", n - 1)
        };
        Err(Error::invalid(format!(
            "{}: row {row} is out of range: the file has {n} rows, {range}",
            reader.name()
        )))
    };
    let num_rows = reader.num_rows().map(i128::from);
    // A reader that does not know its rows finds out while it reads.
    let end = num_rows.unwrap_or(i128::from(u64::MAX));
    let mut out = Vec::new();
    for given in rows {
        match *given {
            Rows::One(row) if (0..end).contains(&row) => out.push(row as u64),
            Rows::One(row) => out.push(bad(row)?),
            Rows::Run(from, to) if from >= to => {}
            Rows::Run(from, to) => {
                if from < 0 {
                    bad(from)?;
                }
                if to > end {
                    bad(from.max(end))?;
                }
                if num_rows.is_none() && to - from > 1 << 32 {
                    bad(to - 1)?;
                }
                out.extend((from..to).map(|r| r as u64));
            }
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_runs_keep_their_order() {
        assert_eq!(parse("3,1,3").unwrap(), [Rows::One(3), Rows::One(1), Rows::One(3)]);
        assert_eq!(parse("5..7, 2..=2").unwrap(), [Rows::Run(5, 7), Rows::Run(2, 3)]);
        assert_eq!(parse("-1").unwrap(), [Rows::One(-1)]);
        assert_eq!(parse("1,x").unwrap_err(), "expected N, A..B or A..=B, found \"x\"");
        assert!(
            parse("").is_err() && parse("1..").is_err() && parse("..2").is_err() && parse("1-2").is_err()
        );
    }
}
