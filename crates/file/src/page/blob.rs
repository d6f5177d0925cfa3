//! Blob pages: descriptors of values that lie elsewhere in the file, nulls among them.
//!
//! ```text
//! descriptor   u64 position | u64 size            a packed struct, laid out as the inner layout says
//!
//! size > 0                      the bytes position..position + size of the file
//! size 0, position 0            a value of no bytes
//! size 0, position p != 0       no value: repetition level p & 0xffff, definition level p >> 16 & 0xffff
//! ```
//!
//! The inner layout has no nulls; the page's own layers say what the levels mean. A value that has bytes says
//! nothing of its repetition level, so that lists of blobs cannot be told apart: [[a, b], [c]] is stored
//! as [[a], [b, c]] is. See docs/format/blobs.md.

use std::sync::LazyLock;

use super::leaf_data::{LeafData, LeafShape, Structure, Validity};
use super::{BlobLayout, LevelScheme};
use crate::encoding::{Arena, Values};
use crate::error::corrupt;
use crate::schema::{Nesting, blob::range_shape};
use crate::{Error, Result};

/// The structure of descriptors: one after the other.
static FLAT: LazyLock<LevelScheme> = LazyLock::new(|| LevelScheme::new(&[Nesting::Item]));

/// Bits of a level inside a position.
const LEVEL_BITS: u32 = 16;

impl BlobLayout {
    /// The descriptors of `leaf` as a leaf of their own.
    pub(super) fn stored_leaf<'a>(&self, leaf: &LeafShape<'a>) -> Result<LeafShape<'a>> {
        if *leaf.shape != range_shape() || leaf.keys.is_some() {
            corrupt!("a blob page in a column of {:?}, which is no blob", leaf.shape);
        }
        if leaf.scheme.has_lists() {
            return Err(Error::unsupported(
                "blobs in lists from format version 2.1 on: their pages do not say where a list begins",
            ));
        }
        Ok(LeafShape { scheme: &FLAT, ..*leaf })
    }

    /// Appends the descriptors that `decode` gives, with the levels hidden in them. Says whether all went in.
    pub(super) fn decode(
        &self,
        leaf: &LeafShape<'_>,
        out: &mut LeafData,
        decode: impl FnOnce(&LeafShape<'_>, &mut LeafData) -> Result<bool>,
    ) -> Result<bool> {
        let stored = self.stored_leaf(leaf)?;
        let room = out.budget.saturating_sub(out.byte_size());
        let mut descriptors = LeafData::new(stored.shape, stored.scheme, 0, room, &Arena::default());
        let complete = decode(&stored, &mut descriptors)?;
        self.append(leaf, descriptors, out)?;
        Ok(complete)
    }

    fn append(&self, leaf: &LeafShape<'_>, mut descriptors: LeafData, out: &mut LeafData) -> Result<()> {
        let table = leaf.scheme.translation(&self.layers)?;
        let num_rows = descriptors.num_rows;
        let mut levels = vec![0u16; num_rows];
        let (positions, sizes) = fields(&mut descriptors.values)?;
        for (level, (position, size)) in levels.iter_mut().zip(positions.iter_mut().zip(sizes)) {
            if *size != [0; 8] || *position == [0; 8] {
                continue;
            }
            *level = level_in(u64::from_le_bytes(*position), &table)?;
            *position = [0; 8];
        }
        let done = out.values.extend(&descriptors.values, 0..num_rows)?;
        debug_assert_eq!(done, num_rows, "numbers have no byte limit");
        match &mut out.structure {
            Structure::Flat(validity) => validity.append_levels(&levels),
            Structure::Levels { def, .. } => def.extend_from_slice(&levels),
        }
        out.finish_rows(num_rows);
        Ok(())
    }
}

/// Position of a descriptor that stands for null in 2.0, where pages have no levels.
pub(super) const NULL_POSITION: u64 = 1;

/// Turns descriptors of 2.0 that stand for nulls into nulls.
pub(crate) fn find_nulls(data: &mut LeafData, scheme: &LevelScheme) -> Result<()> {
    let (positions, sizes) = fields(&mut data.values)?;
    let mut levels = vec![0u16; positions.len()];
    for (level, (position, size)) in levels.iter_mut().zip(positions.iter_mut().zip(sizes)) {
        if *size == [0; 8] && *position == NULL_POSITION.to_le_bytes() {
            // The leaf is the first layer, its null the first level.
            *level = 1;
            *position = [0; 8];
        }
    }
    match &mut data.structure {
        Structure::Flat(validity) => {
            *validity = Validity::default();
            validity.append_levels(&levels);
        }
        Structure::Levels { def, .. } => {
            let mut levels = levels.into_iter();
            for def in def.iter_mut().filter(|def| **def <= scheme.max_visible()) {
                let level = levels.next().unwrap_or(0);
                *def = (*def).max(level);
            }
        }
    }
    Ok(())
}

/// A number of a descriptor as it is stored.
type Number = [u8; 8];

/// Positions and sizes of descriptors.
pub(super) fn fields(values: &mut Values) -> Result<(&mut [Number], &[Number])> {
    let Values::Struct { fields, .. } = values else {
        return Err(Error::invalid("internal: descriptors that are no structs"));
    };
    let [Values::Fixed(positions), Values::Fixed(sizes)] = fields.as_mut_slice() else {
        return Err(Error::invalid("internal: descriptors of other fields"));
    };
    Ok((positions.bytes_mut().as_chunks_mut().0, sizes.bytes().as_chunks().0))
}

/// The column's definition level that the position of a missing value stands for.
fn level_in(position: u64, table: &[u16]) -> Result<u16> {
    let rep = position & ((1 << LEVEL_BITS) - 1);
    if rep != 0 {
        corrupt!("a blob without bytes at position {position}: repetition level {rep} outside of lists");
    }
    let def = position >> LEVEL_BITS;
    let level = usize::try_from(def).ok().and_then(|def| table.get(def));
    level.copied().ok_or_else(|| {
        Error::corrupt(format!(
            "a blob without bytes at position {position}: definition level {def}, the highest of its page is {}",
            table.len() - 1
        ))
    })
}

/// The position that stands for a value missing at a definition level of its page.
pub(crate) fn position_of(level: u16) -> u64 {
    u64::from(level) << LEVEL_BITS
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::Layer;

    #[test]
    fn positions_of_missing_values_are_levels_of_the_page() {
        let table = [0, 2, 5];
        assert_eq!(level_in(position_of(1), &table).unwrap(), 2);
        assert_eq!(level_in(0x20000, &table).unwrap(), 5);
        for (position, text) in [
            (0x30000, "definition level 3, the highest of its page is 2"),
            (1, "repetition level 1 outside of lists"),
            (1 << 40, "definition level 16777216"),
        ] {
            let error = level_in(position, &table).unwrap_err();
            assert!(error.message().contains(text), "{error}");
        }
    }

    #[test]
    fn lists_and_columns_that_are_no_blobs_are_refused() {
        let inner = crate::page::ConstantLayout {
            layers: vec![Layer::AllValidItem],
            inline_value: None,
            rep: None,
            def: None,
            num_rep_values: 0,
            num_def_values: 0,
        };
        let layout = BlobLayout {
            inner: Box::new(crate::page::Layout::Constant(inner)),
            layers: vec![Layer::NullableItem, Layer::NullAndEmptyList],
        };
        let lists = LevelScheme::new(&[Nesting::Item, Nesting::List]);
        let shape = range_shape();
        let leaf = LeafShape { shape: &shape, keys: None, scheme: &lists, is_offsets: false };
        let error = layout.stored_leaf(&leaf).unwrap_err();
        assert_eq!(error.kind(), crate::ErrorKind::Unsupported);
        let text = crate::encoding::ValueType::Variable { wide: true };
        let leaf = LeafShape { shape: &text, keys: None, scheme: &FLAT, is_offsets: false };
        assert_eq!(layout.stored_leaf(&leaf).unwrap_err().kind(), crate::ErrorKind::Corrupt);
    }
}
