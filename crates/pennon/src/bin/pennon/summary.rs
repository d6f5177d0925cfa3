//! What a conversion came to: sizes before and after, and what the columns of a Lance file take.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use pennon::File;
use pennon::convert::{Format, Reader};

use crate::table::{count, cut, plain, size, trimmed};

/// Columns that have a line of their own.
const LISTED: usize = 8;

/// Bytes of all sources together; `None` where one is a stream.
pub(crate) fn source_bytes(readers: &[Reader]) -> Option<u64> {
    let bytes = |reader: &Reader| {
        Some(std::fs::metadata(reader.path()?).ok()?).filter(|m| m.is_file()).map(|m| m.len())
    };
    readers.iter().map(bytes).sum()
}

/// The table, after the target has its name.
pub(crate) fn text(
    format: Format,
    target: &str,
    sources: Option<u64>,
    written: u64,
    rows: u64,
    time: Duration,
) -> String {
    let mut text =
        format!("{target}: {} rows in {:.1} s, {}", count(rows), time.as_secs_f64(), size(written));
    if let Some(sources) = sources {
        let _ = write!(text, " of {}", size(sources));
        if sources > 0 {
            let _ = write!(text, ", ratio {:.2}", written as f64 / sources as f64);
        }
    }
    if format == Format::Lance
        && let Some(columns) = columns(Path::new(target), written)
    {
        text += "\n";
        text += &columns;
    }
    text
}

/// The largest columns of a Lance file. What cannot be read again, as a pipe, has no table.
fn columns(path: &Path, written: u64) -> Option<String> {
    if !path.is_file() {
        return None;
    }
    let inspection = File::open(path).ok()?.inspect().ok()?;
    let mut columns: Vec<_> =
        inspection.columns.iter().map(|c| (c.bytes.saturating_add(c.blob_bytes.unwrap_or(0)), c)).collect();
    columns.sort_by_key(|(bytes, _)| std::cmp::Reverse(*bytes));
    let mut table = plain(&["column", "bytes", "share", "encoding"], &[false, true, true, false]);
    let mut row = |name: String, bytes: u64, encoding: String| {
        let share = 100.0 * bytes as f64 / written.max(1) as f64;
        table.add_row(vec![name, size(bytes), format!("{share:.1} %"), encoding]);
    };
    // One more is no longer than "others".
    let listed = if columns.len() == LISTED + 1 { LISTED + 1 } else { LISTED };
    for (bytes, column) in columns.iter().take(listed) {
        row(cut(&column.path), *bytes, column.encodings().join("; "));
    }
    if let Some(others) = columns.get(listed..).filter(|others| !others.is_empty()) {
        let name = format!("{} others", count(others.len() as u64));
        row(name, others.iter().map(|(bytes, _)| bytes).sum(), String::new());
    }
    let pages: u64 = columns.iter().map(|(bytes, _)| bytes).sum();
    row("metadata, padding, extras".to_owned(), written.saturating_sub(pages), String::new());
    Some(trimmed(&table.to_string()))
}
