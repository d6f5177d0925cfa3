//! One page's worth of a leaf column: levels numbered as this page needs, and values.

use arrow_buffer::BooleanBuffer;
use std::ops::Range;
use std::sync::Arc;

use super::{Layer, max_def, max_rep, max_visible};
use crate::encoding::Values;

/// Definition levels of a page.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum DefLevels {
    /// None is stored: everything is valid.
    Zero,
    /// A set bit is level 0, the others are level 1.
    Validity(BooleanBuffer),
    Levels(Vec<u16>),
}

/// Rows of a leaf, ready to become a page.
#[derive(Debug)]
pub(crate) struct LeafPage {
    /// Innermost first.
    pub(crate) layers: Vec<Layer>,
    /// Layers that stay nullable whatever the data is.
    kept: Arc<[bool]>,
    /// Top-level rows.
    pub(crate) num_rows: usize,
    pub(crate) num_events: usize,
    /// Empty where there are no lists.
    pub(crate) rep: Vec<u16>,
    pub(crate) def: DefLevels,
    /// One per event that owns a slot.
    pub(crate) values: Values,
    /// Entries that `values` number, for a dictionary-typed leaf.
    pub(crate) dictionary: Option<Values>,
    /// Values under which there is something: events of definition level 0.
    pub(crate) num_valid: usize,
}

impl LeafPage {
    /// Gives every layer the narrowest meaning that the levels need, and renumbers them.
    ///
    /// `def` is numbered for `layers`; items marked in `kept` stay nullable.
    #[expect(clippy::too_many_arguments, reason = "the parts of a page, each once")]
    pub(crate) fn narrowed(
        layers: &[Layer],
        kept: Arc<[bool]>,
        num_rows: usize,
        num_events: usize,
        rep: Vec<u16>,
        def: DefLevels,
        values: Values,
        dictionary: Option<Values>,
    ) -> Self {
        let mut counts = vec![0usize; max_def(layers) as usize + 1];
        match &def {
            DefLevels::Zero => counts[0] = num_events,
            DefLevels::Validity(bits) => {
                counts[0] = bits.count_set_bits();
                counts[1] = num_events - counts[0];
            }
            DefLevels::Levels(levels) => levels.iter().for_each(|&d| counts[d as usize] += 1),
        }
        let num_valid = counts[0];
        let (layers, renumber) = narrow(layers, &kept, &counts);
        let def = if max_def(&layers) == 0 {
            DefLevels::Zero
        } else {
            match def {
                // A layer was widened on a page without nulls.
                DefLevels::Zero => DefLevels::Levels(vec![0; num_events]),
                DefLevels::Validity(bits) => DefLevels::Validity(bits),
                DefLevels::Levels(mut levels) => {
                    levels.iter_mut().for_each(|d| *d = renumber[*d as usize]);
                    DefLevels::Levels(levels)
                }
            }
        };
        Self { layers, kept, num_rows, num_events, rep, def, values, dictionary, num_valid }
    }

    /// A page of blob descriptors as its inner layout stores it, levels inside of positions, and its layers.
    /// Only for pages without lists.
    pub(crate) fn into_descriptors(mut self) -> crate::Result<(Self, Vec<Layer>)> {
        let mut levels = Vec::new();
        self.def_levels(0..self.num_events, &mut levels);
        let has_rep = self.has_rep();
        let (positions, _) = super::blob::fields(&mut self.values)?;
        if has_rep || positions.len() != levels.len() {
            return Err(crate::Error::invalid("internal: descriptors inside lists"));
        }
        for (position, level) in positions.iter_mut().zip(&levels) {
            if *level > 0 {
                *position = super::blob::position_of(*level).to_le_bytes();
            }
        }
        let layers = std::mem::replace(&mut self.layers, vec![Layer::AllValidItem]);
        Ok((
            Self { def: DefLevels::Zero, kept: Arc::new([false]), num_valid: self.num_events, ..self },
            layers,
        ))
    }

    /// Turns the descriptors under nulls into those that stand for nulls in 2.0.
    pub(crate) fn mark_null_descriptors(&mut self) -> crate::Result<()> {
        let Some(valid) = self.value_validity() else { return Ok(()) };
        let (positions, _) = super::blob::fields(&mut self.values)?;
        for (position, valid) in positions.iter_mut().zip(&valid) {
            if !valid {
                *position = super::blob::NULL_POSITION.to_le_bytes();
            }
        }
        Ok(())
    }

    /// Gives slots of fixed width under nulls the value before them, or the next, of the same 1,024: runs go on, deltas stay
    /// small, and bit packing, which takes so many together, needs no more bits. Nobody looks at them.
    pub(crate) fn fill_null_slots(&mut self) {
        const GROUP: usize = 1024;
        if !matches!(self.values, Values::Fixed(_)) || self.num_valid == 0 {
            return;
        }
        let Some(valid) = self.value_validity() else { return };
        let Values::Fixed(values) = &mut self.values else { return };
        let width = values.width;
        let bytes = values.bytes_mut();
        for (start, group) in (0..).step_by(GROUP).zip(bytes.chunks_mut(GROUP * width)) {
            let count = group.len() / width;
            let is_valid = |i: &usize| valid.value(start + i);
            let Some(first) = (0..count).find(is_valid) else { continue };
            let mut last = first;
            for i in 0..count {
                if valid.value(start + i) {
                    last = i;
                } else {
                    group.copy_within(last * width..(last + 1) * width, i * width);
                }
            }
        }
    }

    pub(crate) fn max_rep(&self) -> u16 {
        max_rep(&self.layers)
    }

    /// Highest definition level of an event that owns a slot.
    pub(crate) fn max_visible(&self) -> u16 {
        max_visible(&self.layers)
    }

    pub(crate) fn has_rep(&self) -> bool {
        !self.rep.is_empty()
    }

    pub(crate) fn has_def(&self) -> bool {
        self.def != DefLevels::Zero
    }

    /// Whether every event owns a slot.
    pub(crate) fn all_visible(&self) -> bool {
        self.num_events == self.values.len()
    }

    /// Definition levels of some events, as numbers, into `out` (cleared first).
    pub(crate) fn def_levels(&self, events: Range<usize>, out: &mut Vec<u16>) {
        out.clear();
        match &self.def {
            DefLevels::Zero => out.resize(events.len(), 0),
            DefLevels::Validity(bits) => {
                out.extend(bits.slice(events.start, events.len()).iter().map(|valid| u16::from(!valid)));
            }
            DefLevels::Levels(levels) => out.extend_from_slice(&levels[events]),
        }
    }

    /// Which values are not placeholders; `None` if all are real.
    pub(crate) fn value_validity(&self) -> Option<BooleanBuffer> {
        match &self.def {
            DefLevels::Zero => None,
            DefLevels::Validity(bits) => bits.has_false().then(|| bits.clone()),
            DefLevels::Levels(levels) => {
                let visible = self.max_visible();
                let mut levels = levels.iter().filter(|d| **d <= visible);
                let bits = BooleanBuffer::collect_bool(self.values.len(), |_| levels.next() == Some(&0));
                bits.has_false().then_some(bits)
            }
        }
    }

    /// Two pages that hold the first and the other rows, about half of the events each; `None` for
    /// a single row. Only for pages with lists.
    pub(crate) fn halves(&self) -> crate::Result<Option<(Self, Self)>> {
        let top = self.max_rep();
        if self.num_rows < 2 || top == 0 {
            return Ok(None);
        }
        let middle = self.num_events / 2;
        let starts = |e: &usize| self.rep[*e] == top;
        // The row start nearest to the middle that leaves both sides something.
        let after = (middle.max(1)..self.num_events).find(starts);
        let before = (1..middle.max(1)).rev().find(starts);
        let Some(cut) = (match (before, after) {
            (Some(b), Some(a)) => Some(if middle - b <= a - middle { b } else { a }),
            (b, a) => b.or(a),
        }) else {
            return Ok(None);
        };
        let rows = (0..cut).filter(starts).count();
        Ok(Some((self.part(0..cut, rows)?, self.part(cut..self.num_events, self.num_rows - rows)?)))
    }

    /// The rows cut where long stretches of at least `min` rows without any value begin and end; `None` if
    /// there are none, or nothing else. Only for pages whose rows are single events.
    pub(crate) fn without_null_stretches(&self, min: usize) -> crate::Result<Option<Vec<Self>>> {
        if self.has_rep() || self.num_events != self.num_rows || self.num_rows - self.num_valid < min {
            return Ok(None);
        }
        let Some(valid) = self.value_validity() else { return Ok(None) };
        let mut cuts = vec![0];
        let mut last = 0;
        for (start, end) in valid.set_slices().chain([(self.num_rows, self.num_rows)]) {
            if start - last >= min {
                cuts.extend([last, start]);
            }
            last = end;
        }
        cuts.push(self.num_rows);
        cuts.dedup();
        if cuts.len() <= 2 {
            return Ok(None);
        }
        cuts.windows(2).map(|w| self.part(w[0]..w[1], w[1] - w[0])).collect::<crate::Result<_>>().map(Some)
    }

    /// About `count` pages of equally many events, cut where rows begin.
    pub(crate) fn parts(&self, count: usize) -> crate::Result<Vec<Self>> {
        let top = self.max_rep();
        let starts_row = |e: usize| self.rep.get(e).is_none_or(|rep| *rep == top);
        if self.rep.is_empty() && self.num_events != self.num_rows {
            return Err(crate::Error::invalid("internal: rows of several events parted"));
        }
        let mut cuts: Vec<usize> = (0..count)
            .filter_map(|i| (self.num_events * i / count..self.num_events).find(|e| starts_row(*e)))
            .chain([self.num_events])
            .collect();
        cuts.dedup();
        let parts = cuts.windows(2).map(|w| {
            let rows = if self.rep.is_empty() {
                w[1] - w[0]
            } else {
                (w[0]..w[1]).filter(|e| starts_row(*e)).count()
            };
            self.part(w[0]..w[1], rows)
        });
        parts.collect()
    }

    /// Whether [`Self::parts`] is for this page: every row is an event, or rows are told by repetition levels.
    pub(crate) fn can_part(&self) -> bool {
        self.has_rep() || self.num_events == self.num_rows
    }

    fn part(&self, events: Range<usize>, num_rows: usize) -> crate::Result<Self> {
        let visible = self.max_visible();
        let owns = |range: Range<usize>| match &self.def {
            DefLevels::Levels(levels) => levels[range].iter().filter(|d| **d <= visible).count(),
            DefLevels::Zero | DefLevels::Validity(_) => range.len(),
        };
        let first = owns(0..events.start);
        let count = owns(events.clone());
        let mut values = Values::new(&self.values.shape(), count);
        values.extend(&self.values, first..first + count)?;
        let dictionary = match &self.dictionary {
            None => None,
            Some(d) => {
                let mut copy = Values::new(&d.shape(), d.len());
                copy.extend(d, 0..d.len())?;
                Some(copy)
            }
        };
        let def = match &self.def {
            DefLevels::Zero => DefLevels::Zero,
            DefLevels::Validity(bits) => DefLevels::Validity(bits.slice(events.start, events.len())),
            DefLevels::Levels(levels) => DefLevels::Levels(levels[events.clone()].to_vec()),
        };
        let rep = self.rep.get(events.clone()).map_or_else(Vec::new, <[u16]>::to_vec);
        Ok(Self::narrowed(
            &self.layers,
            self.kept.clone(),
            num_rows,
            events.len(),
            rep,
            def,
            values,
            dictionary,
        ))
    }
}

/// The meanings that the levels met ask for, and the new number of each old level.
fn narrow(layers: &[Layer], kept: &[bool], counts: &[usize]) -> (Vec<Layer>, Vec<u16>) {
    let mut narrow = Vec::with_capacity(layers.len());
    let mut level = 1;
    // For every level: the layer that owns it and whether it is its empty level.
    let mut owners = vec![(0, false); counts.len()];
    for (i, layer) in layers.iter().enumerate() {
        let (null, empty) = match layer {
            Layer::AllValidItem | Layer::AllValidList => (None, None),
            Layer::NullableItem | Layer::NullableList => (Some(level), None),
            Layer::EmptyableList => (None, Some(level)),
            Layer::NullAndEmptyList => (Some(level), Some(level + 1)),
        };
        level += layer.num_def_levels() as usize;
        null.iter().for_each(|&l| owners[l] = (i, false));
        empty.iter().for_each(|&l| owners[l] = (i, true));
        let met = |l: Option<usize>| l.is_some_and(|l| counts[l] > 0);
        narrow.push(match (layer.is_list(), met(null), met(empty)) {
            (false, false, _) => Layer::AllValidItem,
            (false, true, _) => Layer::NullableItem,
            (true, false, false) => Layer::AllValidList,
            (true, true, false) => Layer::NullableList,
            (true, false, true) => Layer::EmptyableList,
            (true, true, true) => Layer::NullAndEmptyList,
        });
    }
    widen_for_official_reader(&mut narrow, kept);
    let mut first = Vec::with_capacity(narrow.len());
    let mut next = 1;
    for layer in &narrow {
        first.push(next);
        next += layer.num_def_levels();
    }
    let mut renumber = vec![0; counts.len()];
    for (old, &(layer, is_empty)) in owners.iter().enumerate().skip(1) {
        let both = narrow[layer] == Layer::NullAndEmptyList;
        renumber[old] = first[layer] + u16::from(is_empty && both);
    }
    (narrow, renumber)
}

/// The official reader fails where layers are declared as narrowly as the data allows:
///
/// A nullable struct around a list is declared nullable on every page (`kept`). If pages of a column
/// disagree, that reader takes every item of an all-valid page for a struct.
///
/// A list inside a nullable struct is declared nullable. Its null level may never occur, since events end
/// at the struct's; without it that reader counts null structs wrongly.
///
/// Structs and the leaf inside a nullable struct, lists between them aside, are declared nullable: they are
/// null under its nulls, and fields that must not be null are checked against their own parent only.
fn widen_for_official_reader(layers: &mut [Layer], kept: &[bool]) {
    let mut in_null_item = false;
    let mut in_nullable_struct = false;
    for (layer, kept) in layers.iter_mut().zip(kept).rev() {
        *layer = match *layer {
            Layer::AllValidItem if *kept || in_null_item => Layer::NullableItem,
            Layer::AllValidList if in_nullable_struct => Layer::NullableList,
            Layer::EmptyableList if in_nullable_struct => Layer::NullAndEmptyList,
            other => other,
        };
        in_null_item = *layer == Layer::NullableItem;
        in_nullable_struct |= in_null_item;
    }
}
