//! What a handle keeps of a sparse page: its structure, and the index of its values.
//!
//! Bound on reads: all buffers of the structure, and of the values what their own layout keeps: chunk table and
//! dictionary, or the indices of indexed values.

use std::ops::Range;

use super::super::full_zip::FullZipIndex;
use super::super::leaf_data::LeafShape;
use super::super::mini_block::MiniBlockIndex;
use super::super::{FullZipLayout, LevelScheme, MiniBlockLayout, PageBuffers, ZipWidth};
use super::structure::Structure;
use super::{SparseLayer, SparseLayout, SparseValues};
use crate::encoding::{Encoding, Sequence, Values, has_payload};
use crate::error::corrupt;
use crate::held::HeldBytes;
use crate::io::Segments;
use crate::page::constant::inline_scalar;
use crate::schema::Nesting;
use crate::{Error, Limits, Result, ranges};

/// Structure and value index of one page.
#[derive(Debug)]
pub(crate) struct SparseIndex {
    pub(super) structure: Structure,
    pub(super) values: ValuesIndex,
    /// Highest level of an event that owns a leaf slot.
    pub(super) max_visible: u16,
}

impl SparseIndex {
    /// Adds what is kept of chunks and dictionaries.
    pub(crate) fn add_held(&self, held: &mut HeldBytes) {
        if let ValuesIndex::Chunked { index, .. } = &self.values {
            index.add_held(held);
        }
    }
}

/// What is kept of the values.
#[derive(Debug)]
pub(super) enum ValuesIndex {
    Chunked {
        layout: MiniBlockLayout,
        index: MiniBlockIndex,
    },
    Zipped {
        index: FullZipIndex,
    },
    /// An index for each leaf slot, and the items, whose `buffers` are the page's without the first.
    Indexed {
        indices: Sequence,
        items: FullZipIndex,
        num_items: u64,
        buffers: PageBuffers,
    },
    Constant(Values),
    None,
}

/// Buffers of the values.
fn num_value_buffers(values: &SparseValues) -> usize {
    let zipped = |layout: &FullZipLayout| match layout.width {
        ZipWidth::Value(_) => 1,
        ZipWidth::Length(_) => 2,
    };
    match values {
        SparseValues::Chunked(layout) => 2 + usize::from(layout.dictionary.is_some()),
        SparseValues::Zipped(layout) => zipped(layout),
        SparseValues::Indexed { items, .. } => 1 + zipped(items),
        SparseValues::Constant(_) | SparseValues::None => 0,
    }
}

/// The sequences of the structure in the order of their buffers.
fn sequences(layout: &SparseLayout) -> impl Iterator<Item = &Encoding> {
    layout
        .layers
        .iter()
        .flat_map(|layer| match layer {
            SparseLayer::Item { validity } | SparseLayer::FixedSizeList { validity, .. } => {
                [None, None, Some(&validity.positions)]
            }
            SparseLayer::List(list) => {
                [Some(&list.positions), Some(&list.counts), Some(&list.validity.positions)]
            }
        })
        .flatten()
}

impl SparseIndex {
    /// What must be in memory to make the index.
    pub(crate) fn want(
        layout: &SparseLayout,
        buffers: &PageBuffers,
        segments: &Segments,
        needs: &mut Vec<Range<u64>>,
    ) -> Result<()> {
        let first = num_value_buffers(&layout.values);
        let expected = first + sequences(layout).filter(|s| has_payload(s)).count();
        if buffers.count() != expected {
            corrupt!("a sparse page of {} buffers, its description needs {expected}", buffers.count());
        }
        let mut whole = |index: usize| buffers.want(index, 0..buffers.len(index)?, segments, needs);
        match &layout.values {
            SparseValues::Indexed { .. } => whole(0)?,
            SparseValues::Chunked(layout) => MiniBlockIndex::want(layout, buffers, segments, needs)?,
            SparseValues::Zipped(_) | SparseValues::Constant(_) | SparseValues::None => {}
        }
        let mut whole = |index: usize| buffers.want(index, 0..buffers.len(index)?, segments, needs);
        (first..expected).try_for_each(&mut whole)
    }

    pub(crate) fn read(
        layout: &SparseLayout,
        buffers: &PageBuffers,
        segments: &Segments,
        leaf: &LeafShape<'_>,
        num_rows: u64,
        limits: &Limits,
    ) -> Result<Self> {
        let mut next = num_value_buffers(&layout.values);
        let mut read = |encoding: &Encoding, len: u64| {
            let data = if has_payload(encoding) {
                next += 1;
                buffers.whole(segments, next - 1)?
            } else {
                &[]
            };
            Sequence::decode(encoding, data, len, 64, limits)
                .map_err(|e| if data.is_empty() { e } else { e.in_buffer(next - 1) })
        };
        let zipped = matches!(layout.values, SparseValues::Zipped(_));
        let structure = Structure::read(layout, leaf.scheme, num_rows, zipped, limits, &mut read)?;
        // Values know nothing of the structure: to them every slot is a row.
        let scheme = LevelScheme::new(&[Nesting::Item]);
        let flat = LeafShape { scheme: &scheme, ..*leaf };
        let num_slots = structure.num_leaf_slots;
        let values = match &layout.values {
            SparseValues::Chunked(chunked) => {
                let layout = MiniBlockLayout { num_items: num_slots, ..chunked.clone() };
                let index = MiniBlockIndex::read(&layout, buffers, segments, &flat, num_slots, limits)?;
                ValuesIndex::Chunked { layout, index }
            }
            SparseValues::Zipped(layout) => {
                let num_values = structure.rank(num_slots);
                if layout.num_items != num_values {
                    corrupt!("{} values for {num_values} slots that are not null", layout.num_items);
                }
                let index = FullZipIndex::read(layout, buffers, &flat, num_values, limits)?;
                ValuesIndex::Zipped { index }
            }
            SparseValues::Indexed { indices, items } => {
                read_indexed(indices, items, buffers, segments, &flat, num_slots, limits)?
            }
            SparseValues::Constant(bytes) => {
                if leaf.keys.is_some() {
                    corrupt!("a constant value in a dictionary column");
                }
                ValuesIndex::Constant(inline_scalar(bytes, leaf.shape)?)
            }
            SparseValues::None => ValuesIndex::None,
        };
        Ok(Self { structure, values, max_visible: leaf.scheme.max_visible() })
    }

    /// Adds the values of `rows` to `needs`.
    pub(crate) fn want_rows(
        &self,
        buffers: &PageBuffers,
        rows: &[Range<u64>],
        segments: &Segments,
        needs: &mut Vec<Range<u64>>,
    ) -> Result<()> {
        let scale = self.structure.scale;
        let leaf = |row: u64| self.structure.leaf_start(row / scale);
        let slots = rows.iter().map(|rows| leaf(rows.start)..leaf(rows.end));
        match &self.values {
            ValuesIndex::Chunked { index, .. } => {
                let slots: Vec<_> = slots.filter(|slots| slots.start < slots.end).collect();
                index.want_chunks(buffers, &slots, segments, needs)
            }
            ValuesIndex::Zipped { index } => {
                let values = slots.map(|s| self.structure.rank(s.start)..self.structure.rank(s.end));
                let values: Vec<_> = values.filter(|values| values.start < values.end).collect();
                index.want(buffers, &values, segments, needs)
            }
            ValuesIndex::Indexed { indices, items, num_items, buffers } => {
                let mut wanted: Vec<u64> = slots.flat_map(|s| indices.different(&s, *num_items)).collect();
                wanted.sort_unstable();
                wanted.dedup();
                items.want(buffers, &ranges::of_numbers(wanted), segments, needs)
            }
            ValuesIndex::Constant(_) | ValuesIndex::None => Ok(()),
        }
    }
}

fn read_indexed(
    indices: &Encoding,
    layout: &FullZipLayout,
    buffers: &PageBuffers,
    segments: &Segments,
    leaf: &LeafShape<'_>,
    num_slots: u64,
    limits: &Limits,
) -> Result<ValuesIndex> {
    if !matches!(layout.width, ZipWidth::Length(_)) {
        corrupt!("indexed values of fixed width");
    }
    if buffers.has_checksums() {
        return Err(Error::unsupported("indexed values in a file with checksums"));
    }
    let data = buffers.whole(segments, 0)?;
    let indices = Sequence::decode(indices, data, num_slots, 32, limits).map_err(|e| e.in_buffer(0))?;
    // The items' own buffers are behind that of the indices.
    let own = PageBuffers::new(buffers.ranges()[1..3].to_vec(), None);
    let items = FullZipIndex::read(layout, &own, leaf, layout.num_items, limits)?;
    Ok(ValuesIndex::Indexed { indices, items, num_items: layout.num_items, buffers: own })
}
