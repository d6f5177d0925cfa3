//! The column of a struct in 2.0: a single page that says how many structs there are, and nothing of them.
//!
//! Nobody needs it to read a file: the members tell as much. It is looked at where a file is inspected or verified.

use super::{FileFacts, parse_pages};
use crate::Result;
use crate::container::ColumnRecord;
use crate::error::corrupt;
use crate::page::plain::PlainEncoding;
use crate::page::{Layout, Page};

/// The column that a struct has beside those of its members.
#[derive(Debug)]
pub(crate) struct StructColumn {
    pub(crate) pages: Vec<Page>,
    pub(crate) num_rows: u64,
}

impl StructColumn {
    /// Parses the pages' descriptions.
    pub(crate) fn new(record: ColumnRecord, facts: &FileFacts<'_>) -> Result<Self> {
        let (pages, num_rows) = parse_pages(record, 1, facts, |layout| match layout {
            Layout::Plain(p) if p.encoding == PlainEncoding::Struct => Ok(()),
            _ => corrupt!("a column of structs whose pages hold something else"),
        })?;
        Ok(Self { pages, num_rows })
    }
}
