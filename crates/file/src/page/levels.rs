//! One numbering of definition levels for all pages of a column.
//!
//! ```text
//! page 0  [AllValidItem, NullAndEmptyList]   0 = value               1 = null list  2 = empty list
//! page 1  [NullableItem, EmptyableList]      0 = value  1 = null                    2 = empty list
//! column  [item, list]                       0 = value  1 = null     2 = null list  3 = empty list
//! ```
//!
//! A page numbers only the levels that its data needs, so the numbers of two pages of one
//! column differ. A [`LevelScheme`] gives every layer all the levels it can have; pages are translated
//! to it through a small table, and what is built from levels never looks at a page again.

use super::{Layer, Translation};
use crate::schema::Nesting;
use crate::{Error, Result};

/// The column-wide numbering of levels of one leaf.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LevelScheme {
    /// Innermost first.
    nestings: Vec<Nesting>,
    max_rep: u16,
    max_def: u16,
    max_visible: u16,
}

impl LevelScheme {
    /// The scheme of a leaf whose nestings are given innermost first.
    pub(crate) fn new(nestings: &[Nesting]) -> Self {
        let levels = |n: &Nesting| if *n == Nesting::List { 2 } else { 1 };
        Self {
            max_rep: nestings.iter().filter(|n| **n == Nesting::List).count() as u16,
            max_def: nestings.iter().map(levels).sum(),
            max_visible: nestings.iter().take_while(|n| **n != Nesting::List).count() as u16,
            nestings: nestings.to_vec(),
        }
    }

    /// Innermost first.
    pub(crate) fn nestings(&self) -> &[Nesting] {
        &self.nestings
    }

    /// Whether validity bits alone describe the column: no lists, no structs above.
    pub(crate) fn is_flat(&self) -> bool {
        self.nestings.len() == 1
    }

    pub(crate) fn has_lists(&self) -> bool {
        self.max_rep > 0
    }

    /// Highest repetition level: the number of list layers.
    pub(crate) fn max_rep(&self) -> u16 {
        self.max_rep
    }

    /// Highest level of an event that owns a value slot.
    pub(crate) fn max_visible(&self) -> u16 {
        self.max_visible
    }

    /// For each definition level of a page with these layers, the level of this scheme.
    pub(crate) fn translation(&self, layers: &[Layer]) -> Result<Translation> {
        if layers.len() != self.nestings.len() {
            return Err(Error::corrupt(format!(
                "a page describes {} layers of nesting where the schema has {}",
                layers.len(),
                self.nestings.len()
            )));
        }
        let mut table = Vec::with_capacity(self.max_def as usize + 1);
        table.push(0);
        let mut level = 0;
        for (layer, nesting) in layers.iter().zip(&self.nestings) {
            if layer.is_list() != (*nesting == Nesting::List) {
                return Err(Error::corrupt(format!(
                    "layer {layer:?} of a page where the schema has {nesting:?}"
                )));
            }
            let (null, empty) = (level + 1, level + 2);
            match layer {
                Layer::AllValidItem | Layer::AllValidList => {}
                Layer::NullableItem | Layer::NullableList => table.push(null),
                Layer::EmptyableList => table.push(empty),
                Layer::NullAndEmptyList => table.extend([null, empty]),
            }
            level += if layer.is_list() { 2 } else { 1 };
        }
        Ok(Translation::new(table))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_module_example_is_translated_as_drawn() {
        let scheme = LevelScheme::new(&[Nesting::Item, Nesting::List]);
        assert_eq!(
            scheme.translation(&[Layer::AllValidItem, Layer::NullAndEmptyList]).unwrap()[..],
            [0, 2, 3]
        );
        assert_eq!(scheme.translation(&[Layer::NullableItem, Layer::EmptyableList]).unwrap()[..], [0, 1, 3]);
        assert_eq!((scheme.max_rep(), scheme.max_visible()), (1, 1));
    }

    #[test]
    fn layers_that_contradict_the_schema_are_corrupt() {
        let scheme = LevelScheme::new(&[Nesting::Item, Nesting::List]);
        assert!(scheme.translation(&[Layer::AllValidItem]).is_err());
        assert!(scheme.translation(&[Layer::AllValidItem, Layer::NullableItem]).is_err());
    }
}
