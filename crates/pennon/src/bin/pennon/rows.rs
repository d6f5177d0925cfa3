//! Row numbers: `3,1,3`, `10..20`, `10..=20`, or read from a file.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::ops::Range;
use std::path::Path;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, UInt64Type};
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;
use pennon::convert::{Batches, Input, ReadOptions, Reader, Selection, type_name};
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
        .map(|part| {
            let Some((from, to)) = part.split_once("..") else { return number(part, part).map(Rows::One) };
            let (first, end) = (number(part, from)?, number(part, to.strip_prefix('=').unwrap_or(to))?);
            if end < first {
                return Err(format!("{part:?} ends before it begins"));
            }
            Ok(Rows::Run(first, if to.starts_with('=') { end + 1 } else { end }))
        })
        .collect()
}

/// Reads numbers from a file: one a line, or a table with a single integer column.
pub(crate) fn from_file(path: &str) -> Result<Vec<Rows>> {
    let wrong = |what: String| {
        Error::invalid(format!("{path}: expected one row number a line or a single integer column, {what}"))
    };
    if path.is_empty() {
        return Err(crate::args::no_name());
    }
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
    let mut options = ReadOptions::default();
    options.allow_unstable = true;
    let reader = Reader::open(&Input::path(path), &options)?;
    crate::args::note_unstable(&reader);
    let schema = reader.schema()?;
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
    if rows.is_empty() {
        return Err(wrong("found nothing".into()));
    }
    Ok(rows)
}

/// Rows fetched by number at a time; a run of as many is read in order instead.
const PART_ROWS: u64 = 1 << 16;

/// Most rows out of a stream: it is read once, so all of them are held until their order is known.
const STREAM_ROWS: u64 = 1 << 22;

/// The runs in order, duplicates kept, and their rows in sum. A row that is out of range is named with the row
/// count; a source that does not know its rows is counted first.
fn resolve(rows: &[Rows], name: &str, num_rows: u64) -> Result<(Vec<Range<u64>>, u64)> {
    let end = i128::from(num_rows);
    let mut runs: Vec<Range<u64>> = Vec::new();
    let mut total = 0u64;
    for given in rows {
        let (from, to) = match *given {
            Rows::One(row) => (row, row.saturating_add(1)),
            Rows::Run(from, to) => (from, to),
        };
        if from >= to {
            continue;
        }
        if from < 0 || to > end {
            let row = if from < 0 { from } else { from.max(end) };
            let range = match num_rows {
                0 => "there are no rows to take".to_owned(),
                n => format!("rows go from 0 to {}", n - 1),
            };
            return Err(Error::invalid(format!(
                "{name}: row {row} is out of range: the file has {num_rows} rows, {range}"
            )));
        }
        let run = from as u64..to as u64;
        total = total.saturating_add(run.end - run.start);
        match runs.last_mut() {
            Some(last) if last.end == run.start => last.end = run.end,
            _ => runs.push(run),
        }
    }
    Ok((runs, total))
}

/// The rows in the order given, and how many they are. They are fetched as they are asked for, a part at a time, so
/// that a long list takes no more memory than a short one.
pub(crate) fn take(reader: Reader, rows: &[Rows], selection: &Selection) -> Result<(Batches, u64)> {
    let stream = reader.num_rows().is_none() && !reader.path().is_some_and(Path::is_file);
    if stream {
        // It can be read once: either to take the rows, or to say what is wrong with them.
        let Ok((runs, total @ ..=STREAM_ROWS)) = resolve(rows, reader.name(), u64::MAX) else {
            let (_, total) = resolve(rows, reader.name(), reader.count()?)?;
            return Err(Error::invalid(format!(
                "{}: a stream gives at most {STREAM_ROWS} rows by number, {total} were asked for; save it to a file first",
                reader.name()
            )));
        };
        let rows: Vec<u64> = runs.into_iter().flatten().collect();
        return Ok((reader.take(&rows, selection)?, total));
    }
    let (runs, total) = resolve(rows, reader.name(), reader.count()?)?;
    let selection = selection.clone();
    let mut parts = Parts { runs: runs.into_iter(), left: 0..0 };
    let mut current: Option<Batches> = None;
    let batches = std::iter::from_fn(move || {
        loop {
            if let Some(batch) = current.as_mut().and_then(Iterator::next) {
                return Some(batch);
            }
            let next = match parts.next()? {
                Part::Run(run) => reader.batches(&selection.clone().with_rows(run)),
                Part::List(rows) => reader.take(&rows, &selection),
            };
            match next {
                Ok(batches) => current = Some(batches),
                Err(e) => return Some(Err(e)),
            }
        }
    });
    // After an error there is nothing more to be had.
    let mut failed = false;
    let batches = batches.take_while(move |b| !std::mem::replace(&mut failed, b.is_err()));
    Ok((Box::new(batches), total))
}

/// What is fetched at a time.
#[derive(Debug, PartialEq, Eq)]
enum Part {
    Run(Range<u64>),
    List(Vec<u64>),
}

/// Cuts runs into parts: a long run is a part of its own, short ones are gathered.
struct Parts {
    runs: std::vec::IntoIter<Range<u64>>,
    left: Range<u64>,
}

impl Iterator for Parts {
    type Item = Part;

    fn next(&mut self) -> Option<Part> {
        let mut list = Vec::new();
        loop {
            if self.left.is_empty() {
                match self.runs.next() {
                    Some(run) => self.left = run,
                    None => return (!list.is_empty()).then_some(Part::List(list)),
                }
            }
            if self.left.end - self.left.start >= PART_ROWS {
                // What was gathered comes before it.
                return Some(if list.is_empty() {
                    Part::Run(std::mem::take(&mut self.left))
                } else {
                    Part::List(list)
                });
            }
            let room = PART_ROWS - list.len() as u64;
            let end = self.left.start + room.min(self.left.end - self.left.start);
            list.extend(self.left.start..end);
            self.left.start = end;
            if list.len() as u64 == PART_ROWS {
                return Some(Part::List(list));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_stay_runs_and_are_cut_into_bounded_parts() {
        let (runs, total) =
            resolve(&[Rows::Run(0, 1 << 40), Rows::One(7), Rows::One(8)], "f", 1 << 41).unwrap();
        assert_eq!((runs.clone(), total), (vec![0..1 << 40, 7..9], (1 << 40) + 2));
        let parts: Vec<_> = Parts { runs: runs.into_iter(), left: 0..0 }.collect();
        assert_eq!(parts, [Part::Run(0..1 << 40), Part::List(vec![7, 8])]);
        let runs = vec![1..2, 0..40_000, 0..40_000, 0..65_536, 5..6];
        let parts: Vec<_> = Parts { runs: runs.into_iter(), left: 0..0 }.collect();
        let lengths = parts.iter().map(|p| match p {
            Part::Run(r) => (true, r.end - r.start),
            Part::List(l) => (false, l.len() as u64),
        });
        assert_eq!(
            lengths.collect::<Vec<_>>(),
            [(false, 65_536), (false, 14_465), (true, 65_536), (false, 1)]
        );
    }

    #[test]
    fn numbers_and_runs_keep_their_order() {
        assert_eq!(parse("3,1,3").unwrap(), [Rows::One(3), Rows::One(1), Rows::One(3)]);
        assert_eq!(parse("5..7, 2..=2").unwrap(), [Rows::Run(5, 7), Rows::Run(2, 3)]);
        assert_eq!(parse("-1").unwrap(), [Rows::One(-1)]);
        assert_eq!(parse("5..5").unwrap(), [Rows::Run(5, 5)]);
        assert_eq!(parse("1,5..3").unwrap_err(), "\"5..3\" ends before it begins");
        assert_eq!(parse("5..=4").unwrap_err(), "\"5..=4\" ends before it begins");
        assert_eq!(parse("1,x").unwrap_err(), "expected N, A..B or A..=B, found \"x\"");
        assert!(
            parse("").is_err() && parse("1..").is_err() && parse("..2").is_err() && parse("1-2").is_err()
        );
    }
}
