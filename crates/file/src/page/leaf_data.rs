//! What decoding a stretch of rows of one leaf column yields: values, and the structure around them.
//!
//! ```text
//! flat     values  v v v v          validity 1 0 1 1
//! levels   values  v v v            rep 1 0 1 1 1     def 0 0 2 1 0     (one entry per event)
//! ```
//!
//! Pages append to it; the array layer turns it into Arrow arrays. Decoding stops at a row border
//! when the byte budget is used up, so a batch never outgrows it by more than one row and one chunk.

use std::sync::Arc;

use arrow_buffer::{BooleanBuffer, BooleanBufferBuilder};

use super::levels::LevelScheme;
use crate::encoding::{Arena, ValueType, Values};
use crate::{Error, Result};

/// What a page must know of its leaf.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LeafShape<'a> {
    /// Of the values; for a dictionary column those of the dictionary.
    pub(crate) shape: &'a ValueType,
    /// Bytes of a key, for a column of Arrow's dictionary type.
    pub(crate) keys: Option<usize>,
    pub(crate) scheme: &'a LevelScheme,
    /// A column of offsets in 2.0: its pages say where lists end.
    pub(crate) is_offsets: bool,
}

/// Values and structure of some rows of one leaf.
#[derive(Debug)]
pub(crate) struct LeafData {
    pub(crate) values: Values,
    pub(crate) structure: Structure,
    /// For columns of Arrow's dictionary type, whose `values` are keys into it.
    pub(crate) dictionary: Option<Dictionary>,
    /// Rows that are whole, in slots: rows times the dimensions of fixed-size lists above the leaf.
    pub(crate) num_rows: usize,
    /// Bytes at which decoders stop at the next row border.
    pub(crate) budget: usize,
    mark: Mark,
}

/// Where the last whole row ends.
#[derive(Debug, Clone, Copy, Default)]
struct Mark {
    values: usize,
    events: usize,
}

/// Nullness and nesting.
#[derive(Debug)]
pub(crate) enum Structure {
    /// One item layer: validity bits say all.
    Flat(Validity),
    /// Levels by the column's scheme; `rep` is empty where there are no lists.
    Levels { rep: Vec<u16>, def: Vec<u16> },
}

impl Structure {
    /// Appends `count` values that are there, at the lowest level.
    pub(crate) fn append_valid(&mut self, count: usize) {
        match self {
            Self::Flat(validity) => validity.append_n(count, true),
            Self::Levels { def, .. } => def.resize(def.len() + count, 0),
        }
    }
}

/// A validity bitmap that does not exist until there is a null.
#[derive(Debug, Default)]
pub(crate) struct Validity {
    bits: Option<BooleanBufferBuilder>,
    len: usize,
}

impl Validity {
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// A bit for every slot, set where there is a value; `None` where all have one.
    pub(crate) fn to_buffer(&self) -> Option<BooleanBuffer> {
        self.bits.as_ref().map(BooleanBufferBuilder::finish_cloned)
    }

    pub(crate) fn append_n(&mut self, count: usize, valid: bool) {
        if self.bits.is_some() || !valid {
            self.bits_mut(count).append_n(count, valid);
        }
        self.len += count;
    }

    /// Appends a level for each slot: 0 is a value, anything else null; 64 at a time.
    pub(crate) fn append_levels(&mut self, levels: &[u16]) {
        if levels.iter().all(|l| *l == 0) {
            self.append_n(levels.len(), true);
            return;
        }
        let mut words = [0u8; 512];
        for block in levels.chunks(4096) {
            for (word, levels) in words.as_chunks_mut::<8>().0.iter_mut().zip(block.chunks(64)) {
                let mut bits = 0u64;
                for (i, level) in levels.iter().enumerate() {
                    bits |= u64::from(*level == 0) << i;
                }
                *word = bits.to_le_bytes();
            }
            self.append_bits(&words, 0, block.len());
        }
    }

    /// Appends `count` bits starting at bit `start` of `bytes`.
    pub(crate) fn append_bits(&mut self, bytes: &[u8], start: usize, count: usize) {
        self.bits_mut(count).append_packed_range(start..start + count, bytes);
        self.len += count;
    }

    /// Lets `append` add `count` bits and say how many of them are set.
    pub(crate) fn append_with(
        &mut self,
        count: usize,
        append: impl FnOnce(&mut BooleanBufferBuilder) -> Result<usize>,
    ) -> Result<()> {
        append(self.bits_mut(count))?;
        self.len += count;
        Ok(())
    }

    /// The bitmap, made if need be, with room for `more`; the caller appends and counts.
    fn bits_mut(&mut self, more: usize) -> &mut BooleanBufferBuilder {
        let len = self.len;
        self.bits.get_or_insert_with(|| {
            let mut bits = BooleanBufferBuilder::new(len + more);
            bits.append_n(len, true);
            bits
        })
    }

    fn truncate(&mut self, len: usize) {
        if let Some(bits) = &mut self.bits {
            bits.truncate(len);
        }
        self.len = self.len.min(len);
    }

    fn gather(&self, rows: &[u32]) -> Self {
        let bits = self.bits.as_ref().map(|from| {
            let mut bits = BooleanBufferBuilder::new(rows.len());
            for &row in rows {
                bits.append(from.get_bit(row as usize));
            }
            bits
        });
        Self { bits, len: rows.len() }
    }

    pub(crate) fn into_buffer(self) -> Option<BooleanBuffer> {
        self.bits.map(BooleanBufferBuilder::build)
    }
}

/// The values that keys of a dictionary column point into, over all pages appended.
#[derive(Debug)]
pub(crate) struct Dictionary {
    pub(crate) values: Arc<Values>,
    /// Position of each entry of the page that appended last; `None` means as they are.
    remap: Option<Vec<u32>>,
    /// The page dictionary that appended last, to recognise it.
    last: Arc<Values>,
}

#[cfg(test)]
impl Dictionary {
    /// The dictionary of a single page.
    pub(crate) fn of(values: Arc<Values>) -> Self {
        Self { last: values.clone(), values, remap: None }
    }
}

impl LeafData {
    /// Empty data of a leaf; `shape` is that of the keys where the leaf is of dictionary type.
    pub(crate) fn new(
        shape: &ValueType,
        scheme: &LevelScheme,
        capacity: usize,
        budget: usize,
        arena: &Arena,
    ) -> Self {
        let mut values = Values::new_in(shape, capacity, arena);
        values.set_byte_limit(budget);
        let structure = if scheme.is_flat() {
            Structure::Flat(Validity::default())
        } else {
            Structure::Levels { rep: Vec::new(), def: Vec::with_capacity(capacity) }
        };
        Self { values, structure, dictionary: None, num_rows: 0, budget, mark: Mark::default() }
    }

    /// The first `num_values` values, with levels in place of what structure there was: `num_rows` rows.
    pub(crate) fn with_levels(
        mut self,
        rep: Vec<u16>,
        def: Vec<u16>,
        num_rows: usize,
        num_values: usize,
    ) -> Self {
        self.values.truncate(num_values);
        self.structure = Structure::Levels { rep, def };
        self.num_rows = 0;
        self.finish_rows(num_rows);
        self
    }

    /// Entries of the level streams.
    pub(crate) fn num_events(&self) -> usize {
        match &self.structure {
            Structure::Flat(validity) => validity.len(),
            Structure::Levels { def, .. } => def.len(),
        }
    }

    /// Bytes held, values and levels.
    pub(crate) fn byte_size(&self) -> usize {
        let levels = match &self.structure {
            Structure::Flat(validity) => validity.len() / 8,
            Structure::Levels { rep, def } => 2 * (rep.len() + def.len()),
        };
        self.values.byte_size() + levels
    }

    /// Notes that `rows` more rows are whole with what has been appended so far.
    pub(crate) fn finish_rows(&mut self, rows: usize) {
        self.num_rows += rows;
        self.mark = Mark { values: self.values.len(), events: self.num_events() };
    }

    /// Notes that `rows` more rows are whole, the last of them ending `events` and `values` before the end.
    pub(crate) fn finish_rows_before(&mut self, rows: usize, values: usize, events: usize) {
        self.num_rows += rows;
        self.mark = Mark { values: self.values.len() - values, events: self.num_events() - events };
    }

    /// Lets `append` append to the values as to those of a flat column, each a row, up to `budget` bytes; what
    /// it says of validity is dropped. Says how many values went in.
    pub(crate) fn append_flat(
        &mut self,
        budget: usize,
        append: impl FnOnce(&mut Self) -> Result<()>,
    ) -> Result<usize> {
        let before = self.values.len();
        let mut flat = Self {
            values: std::mem::replace(&mut self.values, Values::Null(0)),
            structure: Structure::Flat(Validity::default()),
            dictionary: self.dictionary.take(),
            num_rows: self.num_rows,
            budget,
            mark: Mark { values: before, events: 0 },
        };
        let done = append(&mut flat);
        self.values = flat.values;
        self.dictionary = flat.dictionary;
        done.map(|()| self.values.len() - before)
    }

    /// Whether the budget is used up; true only when at least one row is whole.
    pub(crate) fn is_full(&self) -> bool {
        self.num_rows > 0 && self.byte_size() >= self.budget
    }

    /// Bytes left of the budget.
    pub(crate) fn room(&self) -> usize {
        self.budget.saturating_sub(self.byte_size())
    }

    /// Whether another page may append: the budget is not used up.
    pub(crate) fn has_room(&self) -> bool {
        !self.is_full()
    }

    /// Drops what belongs to a row that is not whole.
    pub(crate) fn rewind(&mut self) {
        self.values.truncate(self.mark.values);
        match &mut self.structure {
            Structure::Flat(validity) => validity.truncate(self.mark.events),
            Structure::Levels { rep, def } => {
                rep.truncate(self.mark.events);
                def.truncate(self.mark.events);
            }
        }
    }

    /// Keeps the first `rows` rows, given in slots.
    pub(crate) fn truncate_rows(&mut self, rows: usize, scheme: &LevelScheme) {
        if rows >= self.num_rows {
            return;
        }
        let (events, values) = match &self.structure {
            Structure::Levels { rep, def } if scheme.has_lists() => {
                let mut starts =
                    rep.iter().enumerate().filter(|(_, r)| **r == scheme.max_rep()).map(|(i, _)| i);
                let events = starts.nth(rows).unwrap_or(rep.len());
                (events, def[..events].iter().filter(|d| **d <= scheme.max_visible()).count())
            }
            _ => (rows, rows),
        };
        self.mark = Mark { values, events };
        self.num_rows = rows;
        self.rewind();
    }

    /// The rows at `rows` (indices of whole rows, any order, repeats allowed), `scale` slots each,
    /// until `budget` bytes are used up; at least one.
    pub(crate) fn gather(
        &self,
        rows: &[u32],
        scale: usize,
        scheme: &LevelScheme,
        budget: usize,
        arena: &Arena,
    ) -> Result<Self> {
        let mut out = Self {
            values: Values::new_in(&self.values.shape(), rows.len().saturating_mul(scale), arena),
            structure: Structure::Flat(Validity::default()),
            dictionary: None,
            num_rows: 0,
            budget,
            mark: Mark::default(),
        };
        out.values.set_byte_limit(budget);
        match &self.structure {
            Structure::Flat(validity) => {
                let done = out.values.gather(&self.values, rows)?;
                let done =
                    out.one_at_least(done, rows.len(), |out| out.values.gather(&self.values, &rows[..1]))?;
                out.structure = Structure::Flat(validity.gather(&rows[..done]));
                out.finish_rows(done);
            }
            Structure::Levels { rep, def } => {
                out.structure = Structure::Levels { rep: Vec::new(), def: Vec::new() };
                let starts = RowStarts::new(rep, def, scheme, self.values.len(), scale);
                starts.check(self.num_rows / scale.max(1))?;
                for &row in rows {
                    let (events, values) = starts.row(row as usize);
                    let count = values.len();
                    let done = out.values.extend(&self.values, values.clone())?;
                    if done < count {
                        if out.num_rows > 0 {
                            out.rewind();
                            break;
                        }
                        out.values.set_byte_limit(usize::MAX);
                        let more = out.values.extend(&self.values, values.start + done..values.end)?;
                        if more < count - done {
                            return Err(too_large_for_offsets());
                        }
                    }
                    if let Structure::Levels { rep: out_rep, def: out_def } = &mut out.structure {
                        if scheme.has_lists() {
                            out_rep.extend_from_slice(&rep[events.clone()]);
                        }
                        out_def.extend_from_slice(&def[events]);
                    }
                    out.finish_rows(scale);
                    if out.is_full() {
                        break;
                    }
                }
            }
        }
        Ok(out)
    }

    /// Where nothing went in for lack of budget, lets a single row in whatever its size.
    fn one_at_least(
        &mut self,
        done: usize,
        asked: usize,
        first: impl FnOnce(&mut Self) -> Result<usize>,
    ) -> Result<usize> {
        if done > 0 || asked == 0 {
            return Ok(done);
        }
        self.values.set_byte_limit(usize::MAX);
        match first(self)? {
            0 => Err(too_large_for_offsets()),
            n => Ok(n),
        }
    }

    /// Makes `page` the dictionary that the next keys point into. Says false when its entries do not
    /// fit beside those already there within `max_entries`: the batch must end before this page.
    pub(crate) fn use_dictionary(&mut self, page: &Arc<Values>, max_entries: usize) -> Result<bool> {
        match &mut self.dictionary {
            None => {
                self.dictionary = Some(Dictionary { values: page.clone(), remap: None, last: page.clone() });
                Ok(true)
            }
            Some(d) if Arc::ptr_eq(&d.last, page) => Ok(true),
            Some(d) => {
                let (merged, remap) = merge_dictionaries(&d.values, page)?;
                if merged.len() > max_entries {
                    return Ok(false);
                }
                *d = Dictionary { values: Arc::new(merged), remap: Some(remap), last: page.clone() };
                Ok(true)
            }
        }
    }

    /// Rewrites the last `count` keys, of the current page, to point into the merged dictionary.
    pub(crate) fn remap_keys(&mut self, count: usize) {
        let (Some(Dictionary { remap: Some(remap), .. }), Values::Fixed(keys)) =
            (&self.dictionary, &mut self.values)
        else {
            return;
        };
        let width = keys.width;
        let bytes = keys.bytes_mut();
        let start = bytes.len() - count * width;
        for key in bytes[start..].chunks_exact_mut(width) {
            let mut word = [0; 8];
            word[..width].copy_from_slice(key);
            // Keys were checked against the page's dictionary, except under nulls.
            let new = remap.get(u64::from_le_bytes(word) as usize).copied().unwrap_or(0);
            key.copy_from_slice(&u64::from(new).to_le_bytes()[..width]);
        }
    }
}

/// For a single row that no batch can hold.
pub(super) fn too_large_for_offsets() -> Error {
    Error::limit(
        "one row holds more than 2,147,483,647 bytes in a column with 32-bit offsets; its type must be the large (64-bit) one",
    )
}

/// Entries of `a`, then those of `b` that `a` lacks; and where each entry of `b` is.
fn merge_dictionaries(a: &Values, b: &Values) -> Result<(Values, Vec<u32>)> {
    let mut merged = Values::new(&a.shape(), a.len() + b.len());
    merged.extend(a, 0..a.len())?;
    let mut places = std::collections::HashMap::with_capacity(a.len() + b.len());
    for i in 0..a.len() {
        places.entry(entry(a, i)).or_insert(i as u32);
    }
    let mut remap = Vec::with_capacity(b.len());
    for i in 0..b.len() {
        let place = match places.get(&entry(b, i)) {
            Some(place) => *place,
            None => {
                let place = merged.len() as u32;
                if merged.extend(b, i..i + 1)? == 0 {
                    return Err(too_large_for_offsets());
                }
                places.insert(entry(b, i), place);
                place
            }
        };
        remap.push(place);
    }
    Ok((merged, remap))
}

/// The bytes that tell one dictionary entry from another.
fn entry(values: &Values, i: usize) -> &[u8] {
    match values {
        Values::Variable(v) => v.value(i),
        Values::LargeVariable(v) => v.value(i),
        Values::Fixed(v) => &v.bytes()[i * v.width..(i + 1) * v.width],
        Values::Bits(v) => {
            if v.get_bit(i) {
                b"1"
            } else {
                b"0"
            }
        }
        Values::Null(_) | Values::List(_) | Values::Struct { .. } => &[],
    }
}

/// Where rows begin in the event and value streams.
struct RowStarts {
    /// Event and value index of each row's start, and the ends; `None` where both are the row times scale.
    starts: Option<Vec<(u32, u32)>>,
    scale: usize,
}

impl RowStarts {
    fn new(rep: &[u16], def: &[u16], scheme: &LevelScheme, num_values: usize, scale: usize) -> Self {
        let starts = scheme.has_lists().then(|| {
            let mut starts = Vec::new();
            let mut values = 0;
            for (event, (r, d)) in rep.iter().zip(def).enumerate() {
                if *r == scheme.max_rep() {
                    starts.push((event as u32, values));
                }
                values += u32::from(*d <= scheme.max_visible());
            }
            starts.push((rep.len() as u32, num_values as u32));
            starts
        });
        Self { starts, scale }
    }

    /// Every row that pages announced must have a start of its own among the levels.
    fn check(&self, num_rows: usize) -> Result<()> {
        match &self.starts {
            Some(starts) if starts.len() != num_rows + 1 => Err(Error::corrupt(format!(
                "levels begin {} rows, {num_rows} are expected",
                starts.len() - 1
            ))),
            _ => Ok(()),
        }
    }

    fn row(&self, row: usize) -> (std::ops::Range<usize>, std::ops::Range<usize>) {
        match &self.starts {
            None => {
                let slots = row * self.scale..(row + 1) * self.scale;
                (slots.clone(), slots)
            }
            Some(starts) => {
                let ((e0, v0), (e1, v1)) = (starts[row], starts[row + 1]);
                (e0 as usize..e1 as usize, v0 as usize..v1 as usize)
            }
        }
    }
}
