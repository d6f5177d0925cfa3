//! Sparse pages of format version 2.3: where something is null or not empty is listed. See docs/format/planar.md.
//!
//! ```text
//! rows ──▶ validity ──▶ list ──▶ validity ──▶ leaf slots ──▶ values        layers, outermost first
//!          same slots   its items
//!
//! buffers  those of the values | per layer, what has a payload of: positions, counts, positions of the validity
//!   chunked    chunk table, chunks, dictionary?       a value for each leaf slot
//!   zipped     values, offsets?                       a value for each leaf slot that is not null
//!   indexed    indices, items, their offsets          an index for each leaf slot
//!   constant, none                                    nothing
//! ```
//!
//! A layer may be of 2^60 slots and take a few bytes. Sequences stay what they are described as; rows are walked
//! when they are asked for, a block at a time.

mod decode;
mod index;
mod structure;
#[cfg(test)]
mod tests;
mod walk;

use bytes::Bytes;

use super::{FullZipLayout, MiniBlockLayout};
use crate::encoding::Encoding;

pub(crate) use decode::{SparsePage, decode};
pub(crate) use index::SparseIndex;

/// A page whose structure is listed.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SparseLayout {
    /// Outermost first; the last is the leaf.
    pub(crate) layers: Vec<SparseLayer>,
    pub(crate) values: SparseValues,
}

/// One step of nesting.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum SparseLayer {
    Item { validity: ValiditySet },
    List(SparseList),
    FixedSizeList { dimension: u64, validity: ValiditySet },
}

/// Lists: which are not empty, and how many items those have.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SparseList {
    /// Items of all lists together.
    pub(crate) num_items: u64,
    pub(crate) positions: Encoding,
    pub(crate) num_positions: u64,
    pub(crate) counts: Encoding,
    pub(crate) validity: ValiditySet,
}

/// Slots that are null, or those that are not.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ValiditySet {
    /// Whether the slots listed are the valid ones.
    pub(crate) lists_valid: bool,
    pub(crate) positions: Encoding,
    pub(crate) num_positions: u64,
}

/// How the values of the leaf slots are stored.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum SparseValues {
    Chunked(MiniBlockLayout),
    Zipped(FullZipLayout),
    Indexed { indices: Encoding, items: FullZipLayout },
    Constant(Bytes),
    None,
}

impl SparseLayout {
    /// Leaf slots of a page of `num_rows`, as far as the description is right.
    pub(crate) fn num_slots(&self, num_rows: u64) -> u64 {
        let last_list = self.layers.iter().rposition(|layer| matches!(layer, SparseLayer::List(_)));
        let Some(last_list) = last_list else { return num_rows };
        self.layers[last_list..].iter().fold(0, |slots: u64, layer| match layer {
            SparseLayer::List(list) => list.num_items,
            SparseLayer::FixedSizeList { dimension, .. } => slots.saturating_mul(*dimension),
            SparseLayer::Item { .. } => slots,
        })
    }

    /// The encoding of the values, for people.
    pub(crate) fn describe_values(&self) -> (&'static str, String) {
        match &self.values {
            SparseValues::Chunked(m) => ("sparse mini-block", m.describe_values()),
            SparseValues::Zipped(z) => ("sparse full-zip", z.describe_values()),
            SparseValues::Indexed { indices, items } => {
                let text = format!("indexed({}, {})", items.describe_values(), indices.describe());
                ("sparse indexed", text)
            }
            SparseValues::Constant(_) => ("sparse constant", String::new()),
            SparseValues::None => ("sparse null", String::new()),
        }
    }

    /// The layers, innermost first, for people.
    pub(crate) fn describe_layers(&self) -> String {
        let layers = self.layers.iter().rev().map(|layer| match layer {
            SparseLayer::Item { validity } => format!("item {}", validity.describe()),
            SparseLayer::FixedSizeList { dimension, validity } => {
                format!("fixed-size list of {dimension} {}", validity.describe())
            }
            SparseLayer::List(list) => format!(
                "list {}, {} not empty at {} with {} items",
                list.validity.describe(),
                list.num_positions,
                list.positions.describe(),
                list.counts.describe()
            ),
        });
        layers.collect::<Vec<_>>().join("; ")
    }
}

impl ValiditySet {
    fn describe(&self) -> String {
        match (self.lists_valid, self.num_positions) {
            (false, 0) => "without nulls".to_owned(),
            (true, 0) => "all null".to_owned(),
            (false, n) => format!("null at {n} {}", self.positions.describe()),
            (true, n) => format!("valid at {n} {}", self.positions.describe()),
        }
    }
}
