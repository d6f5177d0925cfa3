//! Arrow arrays taken apart: the levels and values of one leaf column.
//!
//! ```text
//! batches ──▶ LeafBuffer ──▶ LeafPage { layers, rep, def, values }  ──▶ page encoders
//!             (levels numbered    (levels numbered as
//!              for the widest      this page needs)
//!              meaning)
//! ```
//!
//! See docs/format/levels.md. Values are only those that own a slot: nothing hidden behind a null
//! list or struct gets here.

mod dictionary;
pub(super) mod path;
pub(super) mod source;
mod walk;

#[cfg(test)]
mod tests;

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef};
use arrow_buffer::BooleanBufferBuilder;
use arrow_schema::DataType;

use crate::encoding::{FixedValues, ValueType, Values};
use crate::page::{DefLevels, LeafPage};
use crate::{Error, Result};

pub(crate) use path::{LeafPath, leaf_paths};

use dictionary::{Keys, PageEntries};
use source::Source;

/// Rows of one leaf column, gathered until they become a page.
#[derive(Debug)]
pub(crate) struct LeafBuffer {
    path: Arc<LeafPath>,
    num_rows: usize,
    num_events: usize,
    /// Empty where no list is above the leaf.
    rep: Vec<u16>,
    def: Gathered,
    /// One per event that owns a slot; keys where the leaf is dictionary-typed.
    values: Values,
    entries: Option<PageEntries>,
}

/// Definition levels so far, numbered for the widest meaning of every layer.
#[derive(Debug)]
enum Gathered {
    /// All zero.
    Zero,
    /// Only the leaf itself can be null: a bit per event, set where valid.
    Validity(BooleanBufferBuilder),
    Levels(Vec<u16>),
}

/// What became of rows that were pushed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pushed {
    All,
    /// The page's dictionary has no room for them: take the page, then push again; fewer, if it was empty.
    DictionaryFull,
}

impl LeafBuffer {
    pub(crate) fn new(path: Arc<LeafPath>) -> Self {
        let shape = match path.dictionary {
            Some(keys) => ValueType::Fixed(keys.bytes),
            None => path.shape.clone(),
        };
        Self {
            num_rows: 0,
            num_events: 0,
            rep: Vec::new(),
            def: Gathered::Zero,
            values: Values::new(&shape, 0),
            entries: path.dictionary.map(|keys| PageEntries::new(keys, path.shape.clone())),
            path,
        }
    }

    pub(crate) fn num_rows(&self) -> usize {
        self.num_rows
    }

    /// Bytes held.
    pub(crate) fn byte_size(&self) -> usize {
        let def = match &self.def {
            Gathered::Zero => 0,
            Gathered::Validity(bits) => bits.len().div_ceil(8),
            Gathered::Levels(levels) => levels.len() * 2,
        };
        self.values.byte_size()
            + self.rep.len() * 2
            + def
            + self.entries.as_ref().map_or(0, PageEntries::byte_size)
    }

    /// Whether the values are a slice of a caller's array.
    pub(crate) fn is_shared(&self) -> bool {
        self.values.raw().is_some_and(FixedValues::is_shared)
    }

    /// Adds `rows` of a top-level array of the leaf's column. `share` allows keeping a reference to
    /// the array's own buffer instead of a copy, which keeps that buffer alive until the page is taken.
    pub(crate) fn push(&mut self, top: &ArrayRef, rows: Range<usize>, share: bool) -> Result<Pushed> {
        let path = self.path.clone();
        let num_rows = rows.len();
        if num_rows == 0 {
            return Ok(Pushed::All);
        }
        let in_column = |e: Error| e.in_column(&path.path);
        let flat = path.steps.is_empty();
        let walk::Descent { mut events, leaf } = walk::descend(&path, top, rows.clone())?;
        let nulls = match (&path.dictionary, path.is_empty_struct) {
            (_, true) => leaf.nulls().cloned(),
            (Some(_), _) => dictionary::logical_nulls(&leaf),
            (None, _) => leaf.logical_nulls(),
        };
        let may_be_null = path.field.is_nullable() || *path.field.data_type() == DataType::Null;
        let valid = if flat {
            let nulls = nulls.map(|n| n.inner().slice(rows.start, num_rows)).filter(|n| n.has_false());
            if nulls.is_some() && !may_be_null {
                return Err(in_column(Error::invalid("a null in a field that the schema says has none")));
            }
            nulls
        } else {
            events.apply_nulls(nulls.as_ref(), 1, may_be_null).map_err(in_column)?;
            events.valid_slots()
        };
        self.push_values(&leaf, &events.slots, valid.as_ref(), share).map_err(in_column).and_then(|pushed| {
            if pushed == Pushed::DictionaryFull && self.num_rows == 0 && num_rows == 1 {
                return Err(in_column(Error::invalid("more dictionary entries in use than keys can number")));
            }
            if pushed == Pushed::All {
                if flat {
                    self.push_validity(valid.as_ref(), num_rows);
                } else {
                    self.push_levels(events);
                }
                self.num_rows += num_rows;
            }
            Ok(pushed)
        })
    }

    fn push_values(
        &mut self,
        leaf: &ArrayRef,
        slots: &[Range<usize>],
        valid: Option<&arrow_buffer::BooleanBuffer>,
        share: bool,
    ) -> Result<Pushed> {
        if let Some(entries) = &mut self.entries {
            return match entries.map(leaf, slots, valid)? {
                Keys::Full => Ok(Pushed::DictionaryFull),
                Keys::Mapped(keys) => {
                    self.values.extend(&keys, 0..keys.len())?;
                    Ok(Pushed::All)
                }
            };
        }
        let source = Source::new(leaf, &self.path.shape)?;
        if share
            && self.values.len() == 0
            && valid.is_none()
            && let [range] = slots
            && let Some(shared) = source.share(range)
        {
            self.values = shared;
            return Ok(Pushed::All);
        }
        source.append(&mut self.values, slots, valid)?;
        Ok(Pushed::All)
    }

    fn push_validity(&mut self, valid: Option<&arrow_buffer::BooleanBuffer>, count: usize) {
        match (&mut self.def, valid) {
            (Gathered::Validity(bits), None) => bits.append_n(count, true),
            (Gathered::Validity(bits), Some(valid)) => bits.append_buffer(valid),
            (def, Some(valid)) => {
                let mut bits = BooleanBufferBuilder::new(self.num_events + count);
                bits.append_n(self.num_events, true);
                bits.append_buffer(valid);
                *def = Gathered::Validity(bits);
            }
            (_, None) => {}
        }
        self.num_events += count;
    }

    fn push_levels(&mut self, events: walk::Events) {
        if let Some(rep) = events.rep {
            append_or_take(&mut self.rep, rep);
        }
        match (&mut self.def, events.def) {
            (Gathered::Levels(levels), Some(more)) => append_or_take(levels, more),
            (Gathered::Levels(levels), None) => levels.resize(levels.len() + events.len, 0),
            (def, Some(more)) => {
                let mut levels = vec![0; self.num_events];
                append_or_take(&mut levels, more);
                *def = Gathered::Levels(levels);
            }
            (_, None) => {}
        }
        self.num_events += events.len;
    }

    /// Everything gathered so far, with levels numbered as it needs; the buffer is empty afterwards.
    pub(crate) fn take(&mut self) -> LeafPage {
        let fresh = Self::new(self.path.clone());
        let Self { path, num_rows, num_events, rep, def, values, entries } = std::mem::replace(self, fresh);
        let def = match def {
            Gathered::Zero => DefLevels::Zero,
            Gathered::Validity(bits) => DefLevels::Validity(bits.build()),
            Gathered::Levels(levels) => DefLevels::Levels(levels),
        };
        let dictionary = entries.map(|mut e| e.take());
        LeafPage::narrowed(
            &path.widest_layers(),
            path.kept_layers(),
            num_rows,
            num_events,
            rep,
            def,
            values,
            dictionary,
        )
    }
}

fn append_or_take(to: &mut Vec<u16>, from: Vec<u16>) {
    if to.is_empty() {
        *to = from;
    } else {
        to.extend_from_slice(&from);
    }
}

/// Fails if a struct above the leaf, or a packed struct that is the leaf, is null where it can be seen. Format version 2.0
/// stores no validity of structs.
pub(crate) fn check_structs(path: &LeafPath, top: &ArrayRef) -> Result<()> {
    // Structs that own a column: packed ones, and those without fields.
    let owns_column = matches!(path.shape, ValueType::Struct(_)) || path.is_empty_struct;
    walk::check_structs(path, top, owns_column)
}

/// Arrow bytes that `rows` of a top-level array hold below the leaf, levels included.
pub(crate) fn leaf_bytes(path: &LeafPath, top: &ArrayRef, rows: Range<usize>) -> Result<usize> {
    let num_rows = rows.len();
    let (leaf, slots) = walk::slots_below(path, top, rows);
    let values = match path.dictionary {
        Some(keys) => slots.len() * keys.bytes,
        None => Source::new(&leaf, &path.shape)?.byte_size(&slots),
    };
    let levels = if path.has_lists() { 4 * slots.len().max(num_rows) } else { 0 };
    Ok(values + levels)
}
