//! From Arrow's nesting to repetition and definition levels, outermost layer to innermost.
//!
//! ```text
//! list<int32>  [[1,2], null, [], [3,null]]
//! rows          e0      e1    e2  e3            one event each
//! list layer    0 0     2     3   0 0    def    lists become their items; null and empty ones stay
//!               1 0     1     1   1 0    rep    one event, which owns no slot below
//! leaf layer    0 0     2     3   0 1    def
//! ```
//!
//! See docs/format/levels.md, "Building". Levels are numbered for the widest meaning of every layer (null and
//! empty lists told apart, everything nullable); a page narrows them to what its data needs.

use std::ops::Range;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_buffer::{ArrowNativeType, BooleanBuffer, NullBuffer};
use arrow_schema::DataType;

use super::path::{LeafPath, StepKind};
use crate::{Error, Result};

/// The events of some rows at one layer.
#[derive(Debug)]
pub(super) struct Events {
    pub(super) len: usize,
    /// `None` until a list was passed: all zero.
    pub(super) rep: Option<Vec<u16>>,
    /// `None` while all are zero.
    pub(super) def: Option<Vec<u16>>,
    /// Events of this definition level or above ended at an outer list; they own no slot.
    ends_from: u16,
    /// Slots of the current array that the other events own, in order.
    pub(super) slots: Vec<Range<usize>>,
}

/// Where rows arrive after all layers above the leaf's own.
pub(super) struct Descent {
    pub(super) events: Events,
    pub(super) leaf: ArrayRef,
}

/// Definition levels of every step, widest meaning: for an item its null, for a list its null, the
/// empty list one higher. The leaf's own is 1.
pub(super) fn def_levels(path: &LeafPath) -> Vec<u16> {
    let mut next = 2;
    let mut levels: Vec<u16> = path
        .steps
        .iter()
        .rev()
        .map(|step| {
            let level = next;
            next += if step.kind.is_list() { 2 } else { 1 };
            level
        })
        .collect();
    levels.reverse();
    levels
}

/// Walks `rows` of a top-level array down to the leaf's array, the leaf's own nulls not yet applied.
pub(super) fn descend(path: &LeafPath, top: &ArrayRef, rows: Range<usize>) -> Result<Descent> {
    let levels = def_levels(path);
    let mut rep_level = path.steps.iter().filter(|s| s.kind.is_list()).count() as u16;
    let mut events = Events::new(rows);
    let mut array = top.clone();
    for (step, &level) in path.steps.iter().zip(&levels) {
        events.apply_nulls(array.nulls(), level, step.nullable).map_err(|e| e.in_column(&step.path))?;
        array = match step.kind {
            StepKind::Struct(child) => array.as_struct().column(child).clone(),
            StepKind::FixedSizeList(dimension) => {
                events.repeat(dimension);
                array.as_fixed_size_list().values().clone()
            }
            StepKind::Map => {
                let map = array.as_map();
                events.enter_lists(map.offsets(), rep_level, level);
                rep_level -= 1;
                std::sync::Arc::new(map.entries().clone())
            }
            StepKind::List => {
                let items = match array.data_type() {
                    DataType::LargeList(_) => {
                        let list = array.as_list::<i64>();
                        events.enter_lists(list.offsets(), rep_level, level);
                        list.values().clone()
                    }
                    _ => {
                        let list = array.as_list::<i32>();
                        events.enter_lists(list.offsets(), rep_level, level);
                        list.values().clone()
                    }
                };
                rep_level -= 1;
                items
            }
        };
    }
    Ok(Descent { events, leaf: array })
}

/// Fails at the first struct on the way to the leaf that is null and not hidden by a null list, and with `leaf_too` at
/// the leaf's own nulls.
pub(super) fn check_structs(path: &LeafPath, top: &ArrayRef, leaf_too: bool) -> Result<()> {
    let is_struct = |kind: StepKind| matches!(kind, StepKind::Struct(_));
    let mut array = top.clone();
    let mut any = false;
    for step in &path.steps {
        any |= is_struct(step.kind) && array.null_count() > 0;
        array = inner(&array, step.kind);
    }
    any |= leaf_too && array.null_count() > 0;
    if !any {
        return Ok(());
    }
    let null = |path: &str| {
        Error::unsupported("a null struct: format version 2.0 cannot store it, 2.1 and 2.2 can")
            .in_column(path)
    };
    let levels = def_levels(path);
    let Descent { mut events, leaf } = descend(path, top, 0..top.len())?;
    if leaf_too {
        events.apply_nulls(leaf.nulls(), 1, true)?;
        if events.def.as_ref().is_some_and(|def| def.contains(&1)) {
            return Err(null(&path.path));
        }
    }
    let def = events.def.unwrap_or_default();
    match path.steps.iter().zip(&levels).find(|(s, level)| is_struct(s.kind) && def.contains(level)) {
        Some((step, _)) => Err(null(&step.path)),
        None => Ok(()),
    }
}

/// What a step leads to.
fn inner(array: &ArrayRef, kind: StepKind) -> ArrayRef {
    match kind {
        StepKind::Struct(child) => array.as_struct().column(child).clone(),
        StepKind::FixedSizeList(_) => array.as_fixed_size_list().values().clone(),
        StepKind::Map => std::sync::Arc::new(array.as_map().entries().clone()),
        StepKind::List => match array.data_type() {
            DataType::LargeList(_) => array.as_list::<i64>().values().clone(),
            _ => array.as_list::<i32>().values().clone(),
        },
    }
}

/// Slots of the leaf's array that `rows` lead to, and how many events there are at least; without
/// building levels. Slots hidden behind nulls are counted too.
pub(super) fn slots_below(path: &LeafPath, top: &ArrayRef, rows: Range<usize>) -> (ArrayRef, Range<usize>) {
    let mut array = top.clone();
    let mut range = rows;
    for step in &path.steps {
        array = match step.kind {
            StepKind::Struct(child) => array.as_struct().column(child).clone(),
            StepKind::FixedSizeList(dimension) => {
                range = range.start * dimension..range.end * dimension;
                array.as_fixed_size_list().values().clone()
            }
            StepKind::Map => {
                let map = array.as_map();
                range = map.offsets()[range.start] as usize..map.offsets()[range.end] as usize;
                std::sync::Arc::new(map.entries().clone())
            }
            StepKind::List => match array.data_type() {
                DataType::LargeList(_) => {
                    let list = array.as_list::<i64>();
                    range = list.offsets()[range.start] as usize..list.offsets()[range.end] as usize;
                    list.values().clone()
                }
                _ => {
                    let list = array.as_list::<i32>();
                    range = list.offsets()[range.start] as usize..list.offsets()[range.end] as usize;
                    list.values().clone()
                }
            },
        };
    }
    (array, range)
}

impl Events {
    /// One event per row.
    fn new(rows: Range<usize>) -> Self {
        Self { len: rows.len(), rep: None, def: None, ends_from: u16::MAX, slots: vec![rows] }
    }

    /// Number of events that own a slot.
    pub(super) fn num_slots(&self) -> usize {
        self.slots.iter().map(ExactSizeIterator::len).sum()
    }

    /// Item step: an event whose slot is null gets `level`, unless something outside is null already.
    pub(super) fn apply_nulls(
        &mut self,
        nulls: Option<&NullBuffer>,
        level: u16,
        nullable: bool,
    ) -> Result<()> {
        let Some(nulls) = nulls.filter(|n| n.null_count() > 0) else { return Ok(()) };
        // A slice of a column with nulls somewhere may have none.
        if self.slots.iter().all(|r| nulls.inner().slice(r.start, r.len()).count_set_bits() == r.len()) {
            return Ok(());
        }
        let mut found = false;
        let ends_from = self.ends_from;
        let def = self.def.get_or_insert_with(|| vec![0; self.len]);
        if ends_from == u16::MAX {
            // No list yet: events and slots run side by side.
            let mut at = 0;
            for range in &self.slots {
                for (d, slot) in def[at..].iter_mut().zip(range.clone()) {
                    if *d == 0 && nulls.is_null(slot) {
                        *d = level;
                        found = true;
                    }
                }
                at += range.len();
            }
        } else {
            let mut slots = self.slots.iter().cloned().flatten();
            for d in def.iter_mut().filter(|d| **d < ends_from) {
                let Some(slot) = slots.next() else { break };
                if *d == 0 && nulls.is_null(slot) {
                    *d = level;
                    found = true;
                }
            }
        }
        if found && !nullable {
            return Err(Error::invalid("a null in a field that the schema says has none"));
        }
        Ok(())
    }

    /// Structural fixed-size lists: every event becomes `dimension` events.
    fn repeat(&mut self, dimension: usize) {
        self.len *= dimension;
        if let Some(def) = &mut self.def {
            *def = def.iter().flat_map(|&d| std::iter::repeat_n(d, dimension)).collect();
        }
        for range in &mut self.slots {
            *range = range.start * dimension..range.end * dimension;
        }
    }

    /// List step, nulls applied before: lists become their items.
    fn enter_lists<O: ArrowNativeType>(&mut self, offsets: &[O], rep_level: u16, null_level: u16) {
        let empty_level = null_level + 1;
        let (old_rep, old_def) = (self.rep.take(), self.def.take());
        let items: usize =
            self.slots.iter().map(|r| offsets[r.end].as_usize() - offsets[r.start].as_usize()).sum();
        let capacity = items + (self.len - self.num_slots());
        let mut rep = Vec::with_capacity(capacity);
        let mut def: Vec<u16> = Vec::with_capacity(capacity);
        let mut slots: Vec<Range<usize>> = Vec::new();
        let mut any = false;
        let mut lists = self.slots.iter().cloned().flatten();
        for event in 0..self.len {
            let own_rep = old_rep.as_ref().map_or(0, |r| r[event]);
            let own_def = old_def.as_ref().map_or(0, |d| d[event]);
            if own_def >= self.ends_from {
                rep.push(own_rep);
                def.push(own_def);
                continue;
            }
            let start_rep = if own_rep != 0 { own_rep } else { rep_level };
            let Some(list) = lists.next() else { break };
            let items = offsets[list].as_usize()..offsets[list + 1].as_usize();
            rep.push(start_rep);
            if own_def != 0 {
                def.push(own_def);
                any = true;
            } else if items.is_empty() {
                def.push(empty_level);
                any = true;
            } else {
                rep.resize(rep.len() + items.len() - 1, 0);
                def.resize(def.len() + items.len(), 0);
                match slots.last_mut() {
                    Some(last) if last.end == items.start => last.end = items.end,
                    _ => slots.push(items),
                }
            }
        }
        any |= old_def.is_some();
        self.len = rep.len();
        self.rep = Some(rep);
        self.def = any.then_some(def);
        self.ends_from = null_level;
        self.slots = slots;
    }

    /// One bit per slot, set where the slot's value is to be kept; `None` if all are.
    pub(super) fn valid_slots(&self) -> Option<BooleanBuffer> {
        let def = self.def.as_ref()?;
        let valid = if self.ends_from == u16::MAX {
            BooleanBuffer::collect_bool(def.len(), |i| def[i] == 0)
        } else {
            let mut visible = def.iter().filter(|d| **d < self.ends_from);
            BooleanBuffer::collect_bool(self.num_slots(), |_| visible.next() == Some(&0))
        };
        valid.has_false().then_some(valid)
    }
}
