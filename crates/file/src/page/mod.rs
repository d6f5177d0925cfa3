//! Page layouts: how levels and values are arranged in a page's buffers.
//!
//! ```text
//! mini-block   chunk table | chunks (header, levels, value buffers) | dictionary? | repetition index?
//! full-zip     rows (control word, length, value)                   | row offsets?
//! constant     nothing, or a value, or levels
//! plain        a tree of arrays, without levels: format version 2.0
//! sparse       values | positions and counts of what is null or not empty (2.3)
//! blob         those of the layout of its descriptors
//! ```
//!
//! See docs/format/pages.md and plain.md, and docs/format/levels.md for layers and levels.

pub(crate) mod blob;
mod buffers;
pub(crate) mod constant;
pub(crate) mod encode;
pub(crate) mod full_zip;
mod leaf_data;
mod leaf_page;
pub(crate) mod levels;
pub(crate) mod mini_block;
pub(crate) mod plain;
mod reader;
mod row_slots;
mod scratch;
pub(crate) mod sparse;
mod translation;
mod wire;
mod wire23;

pub(crate) use buffers::PageBuffers;
pub(crate) use leaf_data::{Dictionary, LeafData, LeafShape, Structure};
pub(crate) use leaf_page::{DefLevels, LeafPage};
pub(crate) use levels::LevelScheme;
pub(crate) use reader::{Page, PageRead, is_all_but_empty};
pub(crate) use row_slots::RowSlots;
pub(crate) use scratch::PageScratch;
pub(crate) use sparse::SparseLayout;
pub(crate) use translation::Translation;

use crate::encoding::Encoding;

/// What one step of nesting means on one page, innermost first in a page's list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Layer {
    /// No nulls in this item layer.
    AllValidItem,
    /// No null and no empty lists.
    AllValidList,
    /// Items may be null: one definition level.
    NullableItem,
    /// Lists may be null, never empty: one definition level.
    NullableList,
    /// Lists may be empty, never null: one definition level.
    EmptyableList,
    /// Lists may be null (lower level) or empty (higher level).
    NullAndEmptyList,
}

impl Layer {
    pub(crate) fn is_list(self) -> bool {
        !matches!(self, Self::AllValidItem | Self::NullableItem)
    }

    /// Definition levels that this layer takes.
    pub(crate) fn num_def_levels(self) -> u16 {
        match self {
            Self::AllValidItem | Self::AllValidList => 0,
            Self::NullableItem | Self::NullableList | Self::EmptyableList => 1,
            Self::NullAndEmptyList => 2,
        }
    }
}

/// Highest repetition level of a page: its list layers.
pub(crate) fn max_rep(layers: &[Layer]) -> u16 {
    layers.iter().filter(|l| l.is_list()).count() as u16
}

/// Highest definition level of a page.
pub(crate) fn max_def(layers: &[Layer]) -> u16 {
    layers.iter().map(|l| l.num_def_levels()).sum()
}

/// Highest definition level of an event that owns a value slot: a visible one.
pub(crate) fn max_visible(layers: &[Layer]) -> u16 {
    layers.iter().take_while(|l| !l.is_list()).map(|l| l.num_def_levels()).sum()
}

/// A page's own description of its buffers.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Layout {
    MiniBlock(MiniBlockLayout),
    FullZip(FullZipLayout),
    Constant(ConstantLayout),
    Plain(plain::PlainLayout),
    Sparse(SparseLayout),
    Blob(BlobLayout),
}

impl Layout {
    /// How what the page stores is laid out: itself, except for blobs.
    pub(crate) fn storage(&self) -> &Self {
        match self {
            Self::Blob(blob) => &blob.inner,
            other => other,
        }
    }
}

/// Descriptors of values that lie elsewhere in the file.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct BlobLayout {
    /// Of the descriptors, all of which are valid there.
    pub(crate) inner: Box<Layout>,
    /// Of the values.
    pub(crate) layers: Vec<Layer>,
}

/// Values in independently decodable chunks.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct MiniBlockLayout {
    pub(crate) layers: Vec<Layer>,
    /// Block form; `None` where no repetition levels are stored.
    pub(crate) rep: Option<Encoding>,
    /// Block form; `None` where no definition levels are stored.
    pub(crate) def: Option<Encoding>,
    /// Mini-block form; of the indices where there is a dictionary.
    pub(crate) values: Encoding,
    pub(crate) dictionary: Option<PageDictionary>,
    /// Value buffers per chunk.
    pub(crate) num_buffers: u64,
    /// Whether the last buffer is a repetition index.
    pub(crate) has_repetition_index: bool,
    /// Stored values: the visible events.
    pub(crate) num_items: u64,
    /// 32-bit sizes in the chunk table and chunk headers.
    pub(crate) large_chunks: bool,
}

/// The dictionary of a mini-block page, in block form.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PageDictionary {
    pub(crate) encoding: Encoding,
    pub(crate) num_items: u64,
}

/// Control word, length and value of each event side by side.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FullZipLayout {
    pub(crate) layers: Vec<Layer>,
    pub(crate) bits_rep: u32,
    pub(crate) bits_def: u32,
    pub(crate) width: ZipWidth,
    /// Per-value form.
    pub(crate) values: Encoding,
    /// Events.
    pub(crate) num_items: u64,
    /// Events that own a value slot.
    pub(crate) num_visible_items: u64,
}

/// Width of a full-zip value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ZipWidth {
    /// This many bits each, a multiple of 8.
    Value(u64),
    /// A length of this many bits (32 or 64) precedes each.
    Length(u64),
}

/// One value, or none, for the whole page.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ConstantLayout {
    pub(crate) layers: Vec<Layer>,
    pub(crate) inline_value: Option<bytes::Bytes>,
    /// Block form; `None` is raw `u16`s.
    pub(crate) rep: Option<Encoding>,
    /// Block form; `None` is raw `u16`s.
    pub(crate) def: Option<Encoding>,
    pub(crate) num_rep_values: u64,
    pub(crate) num_def_values: u64,
}

impl Layout {
    /// Layout and encoding of the values, for people.
    pub(crate) fn describe(&self) -> String {
        match self {
            Self::MiniBlock(m) => m.describe_values(),
            Self::FullZip(z) => format!("full-zip {}", z.values.describe()),
            Self::Constant(_) => "constant".to_owned(),
            Self::Plain(p) => p.encoding.describe(),
            Self::Sparse(s) => s.describe_values().1,
            Self::Blob(b) => format!("blob {}", b.inner.describe()),
        }
    }
}

impl MiniBlockLayout {
    /// The encoding of the values, for people.
    pub(crate) fn describe_values(&self) -> String {
        match &self.dictionary {
            None => self.values.describe(),
            Some(d) => format!("dictionary({}, {})", d.encoding.describe(), self.values.describe()),
        }
    }
}

impl FullZipLayout {
    /// The encoding of the values, for people.
    pub(crate) fn describe_values(&self) -> String {
        match self.width {
            ZipWidth::Value(_) => self.values.describe(),
            ZipWidth::Length(bits) => format!("{} with {bits}-bit lengths", self.values.describe()),
        }
    }
}
