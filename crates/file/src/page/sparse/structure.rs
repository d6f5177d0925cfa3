//! Layers that have been read: from slots to the slots inside them.
//!
//! ```text
//! [[1, 2], null, [], [3, null]]
//!   list   slots 0 1 2 3     not empty at 0 3     counts 2 2     null at 1
//!   item   slots 0 1 2 3                                         valid at 0 1 2
//! ```

use super::super::levels::LevelScheme;
use super::{SparseLayer, SparseLayout, ValiditySet};
use crate::encoding::Sequence;
use crate::error::corrupt;
use crate::schema::Nesting;
use crate::{Error, Limits, Result};

/// All layers of a page, outermost first.
#[derive(Debug)]
pub(super) struct Structure {
    pub(super) layers: Vec<SlotLayer>,
    /// Slots of the page's length for a row: the product of the dimensions of all fixed-size lists.
    pub(super) scale: u64,
    pub(super) num_leaf_slots: u64,
    pub(super) has_lists: bool,
    /// Which leaf slots are valid with all that is above them, from the last list down.
    valid: Ranks,
}

/// One layer, and the levels that its nulls and empty lists have in the column's scheme.
#[derive(Debug)]
pub(super) struct SlotLayer {
    pub(super) validity: SlotSet,
    pub(super) kind: LayerKind,
    /// Definition level of a null.
    pub(super) null: u16,
}

#[derive(Debug)]
pub(super) enum LayerKind {
    Item,
    FixedSizeList {
        dimension: u64,
    },
    List {
        positions: Sequence,
        /// First item of each list in `positions`, and the number of all.
        starts: Sequence,
        /// Repetition level.
        rep: u16,
        /// Definition level of an empty list.
        empty: u16,
    },
}

/// Which slots of a layer are valid.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct SlotSet {
    pub(super) lists_valid: bool,
    pub(super) positions: Sequence,
}

impl SlotSet {
    fn is_full(&self) -> bool {
        !self.lists_valid && self.positions.len() == 0
    }

    fn is_valid(&self, slot: u64) -> bool {
        let at = self.positions.below(slot);
        let listed = at < self.positions.len() && self.positions.get(at) == slot;
        listed == self.lists_valid
    }

    /// Valid slots before `slot`.
    fn rank(&self, slot: u64) -> u64 {
        let listed = self.positions.below(slot);
        if self.lists_valid { listed } else { slot - listed }
    }
}

/// A sequence of a layer: what it is, how it is described, how long it must be.
pub(super) type ReadSequence<'a> = dyn FnMut(&crate::encoding::Encoding, u64) -> Result<Sequence> + 'a;

fn read_set(set: &ValiditySet, num_slots: u64, read: &mut ReadSequence<'_>) -> Result<SlotSet> {
    let positions = read(&set.positions, set.num_positions)?;
    check_positions(&positions, num_slots, "null or valid slots")?;
    Ok(SlotSet { lists_valid: set.lists_valid, positions })
}

fn check_positions(positions: &Sequence, num_slots: u64, what: &str) -> Result<()> {
    if !positions.rises() {
        corrupt!("positions of {what} that do not rise");
    }
    match positions.last() {
        Some(last) if last >= num_slots => {
            corrupt!("position {last} of {what} in a layer of {num_slots}")
        }
        _ => Ok(()),
    }
}

impl Structure {
    /// Reads the layers; `read` gives the sequences in the order of their buffers.
    pub(super) fn read(
        layout: &SparseLayout,
        scheme: &LevelScheme,
        num_rows: u64,
        needs_ranks: bool,
        limits: &Limits,
        read: &mut ReadSequence<'_>,
    ) -> Result<Self> {
        let nestings = scheme.nestings();
        if layout.layers.len() != nestings.len() {
            corrupt!(
                "a page describes {} layers of nesting where the schema has {}",
                layout.layers.len(),
                nestings.len()
            );
        }
        let mut scale = 1u64;
        for nesting in nestings {
            if let Nesting::FixedSizeList(dimension) = nesting {
                scale = scale.checked_mul(*dimension).unwrap_or(0);
            }
        }
        if scale == 0 || !num_rows.is_multiple_of(scale) {
            corrupt!("a page of {num_rows} slots where every row has {scale}");
        }
        let mut num_slots = num_rows / scale;
        let mut layers = Vec::with_capacity(nestings.len());
        for (i, layer) in layout.layers.iter().enumerate() {
            // The schema's nestings are innermost first.
            let inner = &nestings[..nestings.len() - 1 - i];
            let nesting = nestings[inner.len()];
            let lists = inner.iter().filter(|n| **n == Nesting::List).count() as u16;
            let null = inner.len() as u16 + lists + 1;
            let (validity, kind) = match (layer, nesting) {
                (SparseLayer::Item { validity }, Nesting::Item) => {
                    (read_set(validity, num_slots, read)?, LayerKind::Item)
                }
                (SparseLayer::FixedSizeList { dimension, validity }, Nesting::FixedSizeList(expected))
                    if *dimension == expected =>
                {
                    let validity = read_set(validity, num_slots, read)?;
                    num_slots = match num_slots.checked_mul(*dimension) {
                        Some(slots) => slots,
                        None => corrupt!("{num_slots} fixed-size lists of {dimension} items"),
                    };
                    (validity, LayerKind::FixedSizeList { dimension: *dimension })
                }
                (SparseLayer::List(list), Nesting::List) => {
                    let positions = read(&list.positions, list.num_positions)?;
                    check_positions(&positions, num_slots, "lists with items")?;
                    let counts = read(&list.counts, list.num_positions)?;
                    if !counts.is_positive() {
                        corrupt!("a list that is not empty has no items");
                    }
                    let starts = counts.sums(list.num_items, limits)?;
                    let validity = read_set(&list.validity, num_slots, read)?;
                    num_slots = list.num_items;
                    (validity, LayerKind::List { positions, starts, rep: lists + 1, empty: null + 1 })
                }
                (layer, nesting) => {
                    let layer = match layer {
                        SparseLayer::Item { .. } => "an item layer".to_owned(),
                        SparseLayer::List(_) => "a list layer".to_owned(),
                        SparseLayer::FixedSizeList { dimension, .. } => {
                            format!("fixed-size lists of {dimension}")
                        }
                    };
                    corrupt!("layer {i} of a page is {layer} where the schema has {nesting:?}");
                }
            };
            layers.push(SlotLayer { validity, kind, null });
        }
        if nestings.first() != Some(&Nesting::Item) {
            return Err(Error::invalid("a leaf that is not an item"));
        }
        let valid =
            if needs_ranks { Ranks::new(&layers, num_slots, limits)? } else { Ranks::All { num_slots } };
        Ok(Self { layers, scale, num_leaf_slots: num_slots, has_lists: scheme.has_lists(), valid })
    }

    /// The first leaf slot of row `row` or, where it has none, of what follows it.
    pub(super) fn leaf_start(&self, row: u64) -> u64 {
        self.layers.iter().fold(row, |slot, layer| match &layer.kind {
            LayerKind::Item => slot,
            // Cannot overflow: the last slot was multiplied when the layers were read.
            LayerKind::FixedSizeList { dimension } => slot * dimension,
            LayerKind::List { positions, starts, .. } => starts.get(positions.below(slot)),
        })
    }

    /// Leaf slots before `slot` that are valid and below nothing that is null.
    pub(super) fn rank(&self, slot: u64) -> u64 {
        self.valid.rank(slot)
    }
}

/// Counts valid leaf slots.
#[derive(Debug)]
enum Ranks {
    All {
        num_slots: u64,
    },
    /// One layer has nulls; `repeat` leaf slots belong to a slot of it.
    One {
        set: SlotSet,
        repeat: u64,
    },
    /// Stretches of valid slots: start, end, and valid slots before.
    Listed(Vec<(u64, u64, u64)>),
}

/// Stretches that may be made of sequences that take no bytes.
const MAX_RULED: u64 = 1 << 22;

impl Ranks {
    fn new(layers: &[SlotLayer], num_slots: u64, limits: &Limits) -> Result<Self> {
        // A list has no items where it is null, or under one that is: what is above the last list is settled.
        let mut sets: Vec<(&SlotSet, u64)> = Vec::new();
        let mut repeat = 1u64;
        for layer in layers.iter().rev() {
            match &layer.kind {
                LayerKind::List { .. } => break,
                LayerKind::FixedSizeList { dimension } => {
                    repeat = repeat.saturating_mul(*dimension);
                    sets.push((&layer.validity, repeat));
                }
                LayerKind::Item => sets.push((&layer.validity, repeat)),
            }
        }
        sets.retain(|(set, _)| !set.is_full());
        sets.dedup();
        if sets.is_empty() {
            return Ok(Self::All { num_slots });
        }
        if let [(set, repeat)] = sets[..] {
            return Ok(Self::One { set: set.clone(), repeat });
        }
        let mut stretches = vec![(0, num_slots)];
        for (set, repeat) in sets {
            let listed = match &set.positions {
                Sequence::Listed(_) => limits.buffer_bytes / 64,
                _ => MAX_RULED,
            };
            if set.positions.len() > listed {
                return Err(Error::limit(format!(
                    "{} positions of nulls in one of several layers, at most {listed} are read",
                    set.positions.len()
                )));
            }
            stretches = intersect(&stretches, &valid_stretches(set, repeat, num_slots));
        }
        let mut before = 0;
        let listed = stretches.into_iter().map(|(start, end)| {
            let at = before;
            before += end - start;
            (start, end, at)
        });
        Ok(Self::Listed(listed.collect()))
    }

    fn rank(&self, slot: u64) -> u64 {
        match self {
            Self::All { num_slots } => slot.min(*num_slots),
            Self::One { set, repeat } => {
                let (outer, rest) = (slot / repeat, slot % repeat);
                let rest = if rest > 0 && set.is_valid(outer) { rest } else { 0 };
                set.rank(outer) * repeat + rest
            }
            Self::Listed(stretches) => match stretches.partition_point(|(start, _, _)| *start < slot) {
                0 => 0,
                at => {
                    let (start, end, before) = stretches[at - 1];
                    before + slot.min(end) - start
                }
            },
        }
    }
}

/// Stretches of leaf slots that `set` leaves valid.
fn valid_stretches(set: &SlotSet, repeat: u64, num_slots: u64) -> Vec<(u64, u64)> {
    let mut out: Vec<(u64, u64)> = Vec::new();
    let mut push = |start: u64, end: u64| match out.last_mut() {
        Some(last) if last.1 == start => last.1 = end,
        _ if start < end => out.push((start, end)),
        _ => {}
    };
    let mut at = 0;
    for i in 0..set.positions.len() {
        let start = set.positions.get(i) * repeat;
        if set.lists_valid {
            push(start, start + repeat);
        } else {
            push(at, start);
            at = start + repeat;
        }
    }
    if !set.lists_valid {
        push(at, num_slots);
    }
    out
}

fn intersect(a: &[(u64, u64)], b: &[(u64, u64)]) -> Vec<(u64, u64)> {
    let mut out = Vec::new();
    let (mut i, mut j) = (0, 0);
    while let (Some(x), Some(y)) = (a.get(i), b.get(j)) {
        let (start, end) = (x.0.max(y.0), x.1.min(y.1));
        if start < end {
            out.push((start, end));
        }
        if x.1 <= y.1 { i += 1 } else { j += 1 }
    }
    out
}
