//! Tables for people.

use std::fmt::Write as _;

use arrow_array::{Array, RecordBatch};
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_schema::DataType;
use comfy_table::{CellAlignment, Table, presets};
use pennon::convert::{readable, type_name};
use pennon::{Error, Result};

/// Characters of a value that are shown.
const VALUE_CHARS: usize = 40;
/// Stands around a null until the table is laid out: it takes no room.
const NULL_MARK: &str = "\u{2060}null\u{2060}";

/// A table of texts with a header; columns marked in `right` are numbers.
pub(crate) fn plain(header: &[&str], right: &[bool]) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING);
    table.set_header(header.iter().map(|h| (*h).to_owned()).collect::<Vec<_>>());
    for (i, right) in right.iter().enumerate() {
        if let Some(column) = table.column_mut(i) {
            column.set_padding((0, 2));
            if *right {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
    }
    table
}

/// A table without blanks at the ends of its lines.
pub(crate) fn trimmed(table: &str) -> String {
    table.lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
}

/// The rows of a batch as a table. Within `width` characters, if there is a bound, as many columns as fit are shown and the
/// others are named below.
pub(crate) fn batch(batch: &RecordBatch, width: Option<usize>, color: bool) -> Result<String> {
    let schema = batch.schema();
    let mut columns: Vec<(Vec<String>, bool)> = Vec::new();
    let mut used = 0;
    for (field, column) in schema.fields().iter().zip(readable(batch)) {
        let mut cells = vec![format!("{}\n{}", cut(field.name()), cut(&type_name(field.data_type())))];
        let options = FormatOptions::new().with_display_error(true).with_null("null");
        let formatter = ArrayFormatter::try_new(column.as_ref(), &options)
            .map_err(|e| Error::unsupported(format!("showing column {:?}: {e}", field.name())))?;
        let nulls = column.logical_nulls();
        for row in 0..column.len() {
            if nulls.as_ref().is_some_and(|n| n.is_null(row)) {
                cells.push(NULL_MARK.into());
            } else {
                let mut text = String::new();
                write!(text, "{}", formatter.value(row)).map_err(|e| Error::unsupported(e.to_string()))?;
                cells.push(cut(&text));
            }
        }
        let widest = cells.iter().flat_map(|c| c.lines()).map(|l| l.chars().count()).max().unwrap_or(0) + 3;
        if width.is_some_and(|w| used + widest > w) && !columns.is_empty() {
            break;
        }
        used += widest;
        columns.push((
            cells,
            field.data_type().is_numeric() || matches!(field.data_type(), DataType::Decimal128(_, _)),
        ));
    }
    let mut table = Table::new();
    table.load_preset(presets::UTF8_FULL_CONDENSED);
    table.set_header(columns.iter().map(|(c, _)| c[0].clone()).collect::<Vec<_>>());
    for row in 0..batch.num_rows() {
        table.add_row(columns.iter().map(|(c, _)| c[row + 1].clone()).collect::<Vec<_>>());
    }
    for (i, (_, right)) in columns.iter().enumerate() {
        if let Some(column) = table.column_mut(i).filter(|_| *right) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let shown = columns.len();
    let mut text =
        if shown == 0 { format!("{} rows without columns", batch.num_rows()) } else { table.to_string() };
    text = if color {
        text.replace(NULL_MARK, "\u{1b}[2mnull\u{1b}[0m")
    } else {
        text.replace(NULL_MARK, "null")
    };
    if shown < schema.fields().len() {
        let rest: Vec<_> = schema.fields()[shown..].iter().take(20).map(|f| cut(f.name())).collect();
        let more = schema.fields().len() - shown;
        let dots = if more > rest.len() { ", …" } else { "" };
        let _ = write!(text, "\n{more} more columns (choose with --columns): {}{dots}", rest.join(", "));
    }
    Ok(text)
}

/// The text without characters that move the cursor, cut at [`VALUE_CHARS`] characters.
pub(crate) fn cut(text: &str) -> String {
    let mut out = String::new();
    for (i, c) in text.chars().enumerate() {
        if i == VALUE_CHARS {
            out.pop();
            out.push('…');
            break;
        }
        match c {
            '\n' => out.push('⏎'),
            '\t' => out.push(' '),
            // A mark of ours is not taken for one in the data.
            c if c.is_control() || c == '\u{2060}' => out.push('·'),
            c => out.push(c),
        }
    }
    out
}

/// A size for people: `1.4 MB`.
pub(crate) fn size(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{:.1} kB", bytes as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.2} MB", bytes as f64 / 1e6),
        _ => format!("{:.2} GB", bytes as f64 / 1e9),
    }
}

/// A number with its thousands set apart: `336,776`.
pub(crate) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{ArrayRef, Int32Array, StringArray};
    use std::sync::Arc;

    #[test]
    fn values_are_cut_and_nulls_dimmed_and_columns_that_do_not_fit_are_named() {
        let x: ArrayRef = Arc::new(Int32Array::from(vec![Some(1), None]));
        let s: ArrayRef = Arc::new(StringArray::from(vec!["a\nb".to_owned(), "y".repeat(50)]));
        let b = RecordBatch::try_from_iter_with_nullable([("x", x, true), ("s", s, true)]).unwrap();
        let text = batch(&b, None, true).unwrap();
        assert!(text.contains("a⏎b") && text.contains(&format!("{}…", "y".repeat(39))), "{text}");
        assert!(text.contains("\u{1b}[2mnull\u{1b}[0m") && text.contains("int32"), "{text}");
        let text = batch(&b, Some(20), false).unwrap();
        assert!(text.ends_with("1 more columns (choose with --columns): s") && !text.contains('y'), "{text}");
    }

    #[test]
    fn numbers_are_set_apart() {
        assert_eq!((count(0), count(999), count(336776)), ("0".into(), "999".into(), "336,776".into()));
        assert_eq!(size(1_447_000), "1.45 MB");
    }
}
