//! Statistics of one leaf, gathered page by page while a file is written.
//!
//! ```text
//! pages   │      page 0       │  page 1  │           page 2            │
//! zones   │ zone 0 │ zone 1 │ zone 2 │ zone 3 │ zone 4 │ zone 5 │ zone 6 …     8,192 rows each
//! ```
//!
//! Zones are counted in top-level rows from the file's first row on, whatever the pages: a zone is put together from what
//! pages have of it. More zones than are kept become half as many, of twice as many rows.

use std::ops::Range;

use arrow_buffer::{BooleanBuffer, BooleanBufferBuilder};

use super::Facts;
use super::distinct::Distinct;
use super::extent::{Long, Slots, facts_of};
use crate::encoding::Values;
use crate::page::{DefLevels, LeafPage};
use crate::schema::Order;

/// Zones of all columns together that a writer keeps; about 200 bytes each.
const MAX_ZONES: usize = 1 << 17;
/// Zones of one column.
const MAX_COLUMN_ZONES: usize = 1 << 13;

/// Statistics of a leaf on their way.
#[derive(Debug)]
pub(crate) struct Collector {
    order: Order,
    /// Rows of a zone now.
    zone_rows: u64,
    /// How often zones were put together.
    shift: u32,
    /// An even number.
    max_zones: usize,
    zones: Vec<Facts>,
    open: Facts,
    open_rows: u64,
    num_rows: u64,
    distinct: Distinct,
}

/// What was gathered.
#[derive(Debug, Clone)]
pub(crate) struct Collected {
    pub(crate) order: Order,
    /// Of the column.
    pub(crate) num_rows: u64,
    /// Zones have the writer's zone rows times two to this.
    pub(crate) shift: u32,
    /// Zones in order of their rows; the last one may be short.
    pub(crate) zones: Vec<Facts>,
    /// About how many different values there are, where they were counted.
    pub(crate) distinct: Option<u64>,
}

impl Collector {
    /// For a leaf of a file with `num_columns`.
    pub(crate) fn new(order: Order, zone_rows: u64, num_columns: usize) -> Self {
        let most = (MAX_ZONES / num_columns.max(1)).clamp(8, MAX_COLUMN_ZONES);
        Self {
            order,
            zone_rows: zone_rows.max(1),
            shift: 0,
            max_zones: most & !1,
            zones: Vec::new(),
            open: Facts::default(),
            open_rows: 0,
            num_rows: 0,
            distinct: Distinct::new(),
        }
    }

    /// Adds the rows of the next page.
    pub(crate) fn add(&mut self, page: &LeafPage) {
        let valid = page.value_validity();
        let source = match &page.dictionary {
            Some(entries) => PageValues::keyed(&page.values, entries, self.order),
            None => PageValues::Plain(&page.values),
        };
        let mut cursor = Cursor::new(page);
        let mut left = page.num_rows as u64;
        while left > 0 {
            let rows = left.min(self.zone_rows - self.open_rows);
            let range = cursor.advance(rows as usize);
            let slots = Slots { range, valid: valid.as_ref() };
            self.open.merge(&source.facts(self.order, &slots, Long::Cut));
            left -= rows;
            self.open_rows += rows;
            self.num_rows += rows;
            if self.open_rows == self.zone_rows {
                self.close();
            }
        }
        let all = Slots { range: 0..page.values.len(), valid: valid.as_ref() };
        match &source {
            PageValues::Plain(values) => self.distinct.add(values, &all),
            PageValues::Keyed(keyed) => {
                let used = keyed.used_in(&all);
                self.distinct
                    .add(keyed.entries, &Slots { range: 0..keyed.entries.len(), valid: Some(&used) });
            }
        }
    }

    fn close(&mut self) {
        self.zones.push(std::mem::take(&mut self.open));
        self.open_rows = 0;
        if self.zones.len() == self.max_zones {
            self.zones = halved(&self.zones);
            self.zone_rows = self.zone_rows.saturating_mul(2);
            self.shift += 1;
        }
    }

    /// What there is once all rows are in.
    pub(crate) fn finish(mut self) -> Collected {
        if self.open_rows > 0 {
            self.zones.push(self.open);
        }
        let distinct = (!matches!(self.order, Order::Bool)).then(|| self.distinct.count());
        Collected {
            order: self.order,
            num_rows: self.num_rows,
            shift: self.shift,
            zones: self.zones,
            distinct,
        }
    }
}

/// Half as many zones, each of two.
pub(super) fn halved(zones: &[Facts]) -> Vec<Facts> {
    let merged = zones.chunks(2).map(|pair| {
        let mut facts = pair[0].clone();
        pair[1..].iter().for_each(|other| facts.merge(other));
        facts
    });
    merged.collect()
}

/// The slots of a page, some rows at a time.
pub(super) struct Cursor<'a> {
    page: &'a LeafPage,
    /// Events of a row where all have as many.
    per_row: usize,
    event: usize,
    slot: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(page: &'a LeafPage) -> Self {
        Self { page, per_row: page.num_events.checked_div(page.num_rows).unwrap_or(0), event: 0, slot: 0 }
    }

    /// The slots of the next `rows`.
    pub(super) fn advance(&mut self, rows: usize) -> Range<usize> {
        let (page, start) = (self.page, self.slot);
        if !page.has_rep() {
            // Without lists every event has a slot.
            self.slot = (start + rows * self.per_row).min(page.values.len());
            return start..self.slot;
        }
        let (top, visible) = (page.max_rep(), page.max_visible());
        let mut begun = 0;
        while let Some(rep) = page.rep.get(self.event) {
            if *rep == top {
                if begun == rows {
                    break;
                }
                begun += 1;
            }
            let has_slot = match &page.def {
                DefLevels::Levels(levels) => levels[self.event] <= visible,
                DefLevels::Zero | DefLevels::Validity(_) => true,
            };
            self.slot += usize::from(has_slot);
            self.event += 1;
        }
        start..self.slot.min(page.values.len())
    }
}

/// The values of a page.
pub(super) enum PageValues<'a> {
    Plain(&'a Values),
    Keyed(Keyed<'a>),
}

/// Values that are numbers of entries.
pub(super) struct Keyed<'a> {
    keys: &'a [u8],
    key_bytes: usize,
    entries: &'a Values,
    /// Entries that are NaN, where there are such.
    nans: Option<BooleanBuffer>,
}

impl<'a> PageValues<'a> {
    pub(super) fn keyed(keys: &'a Values, entries: &'a Values, order: Order) -> Self {
        let Values::Fixed(keys) = keys else { return Self::Plain(keys) };
        let count = entries.len();
        let is_nan = |i: usize| {
            let one = Slots { range: i..i + 1, valid: None };
            facts_of(entries, order, &one, Long::Cut).nans > 0
        };
        let nans = matches!(order, Order::Float { .. }).then(|| BooleanBuffer::collect_bool(count, is_nan));
        let nans = nans.filter(BooleanBuffer::has_true);
        Self::Keyed(Keyed { keys: keys.bytes(), key_bytes: keys.width, entries, nans })
    }

    pub(super) fn facts(&self, order: Order, slots: &Slots<'_>, long: Long) -> Facts {
        match self {
            Self::Plain(values) => facts_of(values, order, slots, long),
            Self::Keyed(keyed) => keyed.facts(order, slots, long),
        }
    }
}

impl Keyed<'_> {
    fn facts(&self, order: Order, slots: &Slots<'_>, long: Long) -> Facts {
        let used = self.used_in(slots);
        let entries = Slots { range: 0..self.entries.len(), valid: Some(&used) };
        let of_entries = facts_of(self.entries, order, &entries, long);
        let mut nans = 0;
        if let Some(is_nan) = &self.nans {
            self.for_each_key(slots, |key| nans += u64::from(key < is_nan.len() && is_nan.value(key)));
        }
        let values = slots.range.len() as u64;
        let nulls = values - slots.num_valid() as u64;
        Facts { values, nulls, nans, min: of_entries.min, max: of_entries.max }
    }

    /// The entries that some slots have.
    fn used_in(&self, slots: &Slots<'_>) -> BooleanBuffer {
        let count = self.entries.len();
        let mut used = BooleanBufferBuilder::new(count);
        used.append_n(count, false);
        self.for_each_key(slots, |key| {
            if key < count {
                used.set_bit(key, true);
            }
        });
        used.finish()
    }

    fn for_each_key(&self, slots: &Slots<'_>, f: impl FnMut(usize)) {
        match self.key_bytes {
            1 => self.keys_of(slots, |b: [u8; 1]| usize::from(b[0]), f),
            2 => self.keys_of(slots, |b| usize::from(u16::from_le_bytes(b)), f),
            4 => self.keys_of(slots, |b| u32::from_le_bytes(b) as usize, f),
            _ => self.keys_of(slots, |b| u64::from_le_bytes(b) as usize, f),
        }
    }

    fn keys_of<const N: usize>(
        &self,
        slots: &Slots<'_>,
        read: impl Fn([u8; N]) -> usize,
        mut f: impl FnMut(usize),
    ) {
        let keys = self.keys.as_chunks::<N>().0;
        slots.for_each_run(|run| keys[run].iter().for_each(|key| f(read(*key))));
    }
}
