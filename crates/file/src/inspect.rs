//! What a file is made of: pages, layouts, encodings and where the bytes are.

use std::ops::Range;

use arrow_schema::Field;

use crate::Result;
use crate::blob::total_bytes;
use crate::column::Column;
use crate::container::{KIND_BLOOMS, KIND_CHECKSUMS, KIND_DIRECTORY, KIND_STATISTICS, Metadata};
use crate::page::{Layer, Layout, Page};
use crate::read::File;
use crate::schema::{BlobView, LeafKind};

/// The make-up of a file. See [`File::inspect`].
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Inspection {
    /// Global buffers, in order; the first is the schema.
    pub global_buffers: Vec<GlobalBufferInspection>,
    /// Bytes that are neither page buffers nor global buffers nor padding between them.
    pub metadata_bytes: u64,
    /// Stored columns, one for each leaf of the schema; in 2.0 one for each struct and list too.
    pub columns: Vec<ColumnInspection>,
}

/// One global buffer.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct GlobalBufferInspection {
    /// Absolute offset in the file, bytes.
    pub offset: u64,
    /// Size in bytes.
    pub bytes: u64,
    /// What it holds: `schema`, `checksums`, `field directory`, `statistics`, `bloom filters`, `extra` (a kind this release does not know) or `user`.
    pub kind: &'static str,
}

/// One stored column.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ColumnInspection {
    /// Path of the field, as in `a.b.item`.
    pub path: String,
    /// Arrow type of the field.
    pub data_type: String,
    /// Bytes of all page buffers.
    pub bytes: u64,
    /// Bytes that the descriptors of a blob column refer to, in this file or others; `None` for other columns, and where
    /// the descriptors cannot be read.
    pub blob_bytes: Option<u64>,
    /// Values stored, nulls that own a slot included.
    pub num_values: u64,
    /// Pages, in row order.
    pub pages: Vec<PageInspection>,
}

impl ColumnInspection {
    /// The different encodings of the column's pages, in order of appearance, with their layouts.
    pub fn encodings(&self) -> Vec<String> {
        let mut all: Vec<String> = Vec::new();
        for page in &self.pages {
            let text = if page.encoding.is_empty() {
                page.layout.to_owned()
            } else {
                format!("{} {}", page.layout, page.encoding)
            };
            if !all.contains(&text) {
                all.push(text);
            }
        }
        all
    }
}

/// One page of a column.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct PageInspection {
    /// First row, counted in the file; in 2.0, below lists, items counted in the column.
    pub first_row: u64,
    /// Rows of the page, or items.
    pub num_rows: u64,
    /// Values stored.
    pub num_values: u64,
    /// `mini-block`, `full-zip`, `constant` or `blob`; `plain` in files of 2.0; in files of 2.3 also `sparse mini-block`,
    /// `sparse full-zip`, `sparse indexed`, `sparse constant` and `sparse null`.
    pub layout: &'static str,
    /// Encoding of the values, as in `fsst(variable(32))`; empty for constant pages.
    pub encoding: String,
    /// Layers of nesting and the encodings of levels, as in `nullable-item, null-and-empty-list; rep rle(16, 8)`.
    pub levels: String,
    /// Offset and bytes of each buffer.
    pub buffers: Vec<(u64, u64)>,
}

impl File {
    /// Reads the descriptions of all pages, and the descriptors of blobs.
    ///
    /// # Errors
    /// Metadata that cannot be read or contradicts itself.
    pub fn inspect(&self) -> Result<Inspection> {
        let metadata = self.metadata();
        let global_buffers: Vec<_> = metadata
            .global_buffers
            .iter()
            .enumerate()
            .map(|(i, range)| GlobalBufferInspection {
                offset: range.start,
                bytes: range.end - range.start,
                kind: kind_of_buffer(metadata, i),
            })
            .collect();
        let projected = self.project(None)?;
        let columns = projected.columns.iter().map(|column| {
            let mut found = inspect_leaf(column);
            found.blob_bytes = self.blob_bytes(column);
            (column.leaf.column, found)
        });
        let mut columns: Vec<(u32, ColumnInspection)> = columns.collect();
        let tables = self.tables()?;
        for parent in tables.schema.parents()? {
            let inspect = |page: &Page| inspect_page(page, page.first_row..page.first_row + page.num_rows);
            let pages = match parent.is_list {
                true => self.list_column(parent.column)?.pages.iter().map(inspect).collect(),
                false => self.struct_column(parent.column)?.pages.iter().map(inspect).collect(),
            };
            columns.push((parent.column, inspect_column(&parent.path, &parent.arrow, pages)));
        }
        columns.sort_by_key(|(column, _)| *column);
        Ok(Inspection {
            global_buffers,
            metadata_bytes: metadata.metadata_bytes(tables),
            columns: columns.into_iter().map(|(_, column)| column).collect(),
        })
    }
}

impl File {
    fn blob_bytes(&self, column: &Column) -> Option<u64> {
        if !matches!(column.leaf.kind, LeafKind::Blob | LeafKind::BlobDescriptor) {
            return None;
        }
        let path = std::slice::from_ref(&column.leaf.path);
        let projected = self.project_as(Some(path), BlobView::Descriptors).ok()?;
        total_bytes(&projected).ok().flatten()
    }
}

/// A leaf's column, without the bytes of blobs.
pub(crate) fn inspect_leaf(column: &Column) -> ColumnInspection {
    let pages = column.pages.iter().enumerate();
    let pages = pages.map(|(i, page)| inspect_page(page, column.page_rows(i))).collect();
    inspect_column(&column.leaf.path, &column.leaf.arrow, pages)
}

fn inspect_column(path: &str, field: &Field, pages: Vec<PageInspection>) -> ColumnInspection {
    let stored = pages.iter().flat_map(|p| &p.buffers).map(|(_, bytes)| *bytes);
    ColumnInspection {
        path: path.to_owned(),
        data_type: field.data_type().to_string(),
        bytes: stored.fold(0, u64::saturating_add),
        blob_bytes: None,
        // What pages say of themselves is not checked before they are read.
        num_values: pages.iter().fold(0, |sum, p| p.num_values.saturating_add(sum)),
        pages,
    }
}

fn inspect_page(page: &Page, rows: Range<u64>) -> PageInspection {
    let (layout, encoding, num_values) = describe(&page.layout, page.num_rows);
    PageInspection {
        first_row: rows.start,
        num_rows: rows.end - rows.start,
        num_values,
        layout,
        encoding,
        levels: describe_levels(&page.layout),
        buffers: page.buffers.ranges().iter().map(|r| (r.start, r.end - r.start)).collect(),
    }
}

fn kind_of_buffer(metadata: &Metadata, index: usize) -> &'static str {
    match metadata.extras.iter().find(|e| e.global_buffer as usize == index) {
        Some(extra) if extra.kind == KIND_CHECKSUMS => "checksums",
        Some(extra) if extra.kind == KIND_DIRECTORY => "field directory",
        Some(extra) if extra.kind == KIND_STATISTICS => "statistics",
        Some(extra) if extra.kind == KIND_BLOOMS => "bloom filters",
        Some(_) => "extra",
        None if index == 0 => "schema",
        // The buckets; the extra itself is their index.
        None if metadata.buckets_buffer() == Some(index) => "field directory",
        None => "user",
    }
}

fn describe(layout: &Layout, num_rows: u64) -> (&'static str, String, u64) {
    match layout {
        Layout::MiniBlock(m) => ("mini-block", m.describe_values(), m.num_items),
        Layout::FullZip(z) => ("full-zip", z.describe_values(), z.num_visible_items),
        Layout::Sparse(s) => {
            let (layout, encoding) = s.describe_values();
            (layout, encoding, s.num_slots(num_rows))
        }
        Layout::Plain(p) => ("plain", p.encoding.describe(), num_rows),
        Layout::Constant(c) => {
            let values = c.num_def_values.max(num_rows);
            ("constant", String::new(), values)
        }
        Layout::Blob(b) => {
            let (inner, encoding, values) = describe(&b.inner, num_rows);
            ("blob", format!("{inner} {encoding}").trim_end().to_owned(), values)
        }
    }
}

fn describe_levels(layout: &Layout) -> String {
    let name = |layer: &Layer| match layer {
        Layer::AllValidItem => "all-valid-item",
        Layer::AllValidList => "all-valid-list",
        Layer::NullableItem => "nullable-item",
        Layer::NullableList => "nullable-list",
        Layer::EmptyableList => "emptyable-list",
        Layer::NullAndEmptyList => "null-and-empty-list",
    };
    let (layers, mut parts) = match layout {
        Layout::MiniBlock(m) => (&m.layers, [("rep", &m.rep), ("def", &m.def)].to_vec()),
        Layout::FullZip(z) => (&z.layers, Vec::new()),
        Layout::Plain(_) => return String::new(),
        Layout::Constant(c) => (&c.layers, [("rep", &c.rep), ("def", &c.def)].to_vec()),
        Layout::Sparse(s) => return s.describe_layers(),
        Layout::Blob(b) => (&b.layers, Vec::new()),
    };
    let mut text = layers.iter().map(name).collect::<Vec<_>>().join(", ");
    for (what, encoding) in parts.drain(..) {
        if let Some(encoding) = encoding {
            text += &format!("; {what} {}", encoding.describe());
        }
    }
    if let Layout::FullZip(z) = layout
        && z.bits_rep + z.bits_def > 0
    {
        text += &format!("; control words of {} and {} bits", z.bits_rep, z.bits_def);
    }
    text
}
