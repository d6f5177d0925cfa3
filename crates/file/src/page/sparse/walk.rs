//! Rows to levels: every slot of a row visited, outermost layer first.

use super::structure::{LayerKind, SlotSet, Structure};
use crate::Result;
use crate::encoding::Sequence;
use crate::error::corrupt;

/// Where in a sequence of positions the next slot is looked for. Slots mostly come in order.
#[derive(Debug, Clone, Copy, Default)]
struct Cursor {
    /// The slot that comes next.
    slot: u64,
    /// Positions below it.
    at: u64,
}

impl Cursor {
    /// Whether `slot` is listed, and how many positions are below it.
    fn find(&mut self, positions: &Sequence, slot: u64) -> (bool, u64) {
        if self.slot != slot {
            self.at = positions.below(slot);
        }
        let at = self.at;
        let listed = at < positions.len() && positions.get(at) == slot;
        *self = Self { slot: slot + 1, at: at + u64::from(listed) };
        (listed, at)
    }

    fn is_valid(&mut self, set: &SlotSet, slot: u64) -> bool {
        self.find(&set.positions, slot).0 == set.lists_valid
    }
}

/// Walks the rows of a page and gathers their levels, in the column's scheme.
pub(super) struct Walker<'a> {
    structure: &'a Structure,
    /// Of each layer: in its validity, and in its positions.
    cursors: Vec<[Cursor; 2]>,
    pub(super) rep: Vec<u16>,
    pub(super) def: Vec<u16>,
    /// The leaf slot after the last one visited.
    pub(super) next_leaf: u64,
    /// Levels at which a row is given up.
    pub(super) room: usize,
}

impl<'a> Walker<'a> {
    pub(super) fn new(structure: &'a Structure) -> Self {
        let cursors = vec![[Cursor::default(); 2]; structure.layers.len()];
        Self { structure, cursors, rep: Vec::new(), def: Vec::new(), next_leaf: 0, room: 0 }
    }

    /// Appends the levels of row `row`. Says false, with part of the row appended, when there is no room.
    pub(super) fn row(&mut self, row: u64) -> Result<bool> {
        self.next_leaf = self.structure.leaf_start(row);
        self.visit(0, row, 0, 0)
    }

    fn push(&mut self, rep: u16, def: u16) -> bool {
        if self.def.len() >= self.room {
            return false;
        }
        if self.structure.has_lists {
            self.rep.push(rep);
        }
        self.def.push(def);
        true
    }

    /// `slot` of the layers from `layer` on, with the levels it has from the layers above.
    fn visit(&mut self, mut layer: usize, slot: u64, rep: u16, mut def: u16) -> Result<bool> {
        let structure = self.structure;
        while let Some(this) = structure.layers.get(layer) {
            let [validity, listed] = &mut self.cursors[layer];
            let valid = validity.is_valid(&this.validity, slot);
            if def == 0 && !valid {
                def = this.null;
            }
            match &this.kind {
                LayerKind::Item => layer += 1,
                LayerKind::FixedSizeList { dimension } => {
                    for item in slot * dimension..(slot + 1) * dimension {
                        if !self.visit(layer + 1, item, rep, def)? {
                            return Ok(false);
                        }
                    }
                    return Ok(true);
                }
                LayerKind::List { positions, starts, rep: own, empty } => {
                    let (has_items, at) = listed.find(positions, slot);
                    let mut rep = if rep == 0 { *own } else { rep };
                    if !has_items {
                        return Ok(self.push(rep, if def == 0 { *empty } else { def }));
                    }
                    if def != 0 {
                        corrupt!("slot {slot} of a list layer has items and is null");
                    }
                    for item in starts.get(at)..starts.get(at + 1) {
                        if !self.visit(layer + 1, item, rep, 0)? {
                            return Ok(false);
                        }
                        rep = 0;
                    }
                    return Ok(true);
                }
            }
        }
        debug_assert_eq!(slot, self.next_leaf, "leaf slots follow one another");
        self.next_leaf = slot + 1;
        Ok(self.push(rep, def))
    }
}
