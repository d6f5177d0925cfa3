//! Filters of the zones of one leaf, gathered page by page while a file is written.
//!
//! Zones are those of statistics: rows of the file, whatever its pages. The hashes of a zone are held until it is full; of zones
//! that are done there are the bits.

use super::bits::{Bits, MAX_LOG2, hash_of_bytes, hash_of_float, hash_of_int};
use crate::encoding::Values;
use crate::page::LeafPage;
use crate::schema::Order;
use crate::stats::collect::Cursor;
use crate::stats::extent::{Slots, half};

/// Zones of one column at most; an even number.
const MAX_ZONES: usize = 1 << 13;
/// Bytes of bits of all columns together that a writer keeps.
const MAX_BYTES: usize = 64 << 20;
/// Hashes of the open zone that are held before those there twice are dropped.
const HASHES: usize = 1 << 16;

/// Filters of a leaf on their way.
#[derive(Debug)]
pub(crate) struct BloomCollector {
    order: Order,
    /// Rows of a zone now.
    zone_rows: u64,
    /// How often zones were put together.
    shift: u32,
    zones: Vec<Bits>,
    /// Bytes of all zones, and at most.
    bytes: usize,
    max_bytes: usize,
    /// Filters have at most two to this blocks.
    max_log2: u32,
    open: Open,
    open_rows: u64,
}

/// What the open zone has.
#[derive(Debug)]
struct Open {
    hashes: Vec<u64>,
    /// Drop what is there twice at so many.
    tidy_at: usize,
    /// Values that were too many to be held.
    bits: Option<Bits>,
}

impl Default for Open {
    fn default() -> Self {
        Self { hashes: Vec::new(), tidy_at: HASHES, bits: None }
    }
}

/// What was gathered.
#[derive(Debug)]
pub(crate) struct BloomCollected {
    pub(super) shift: u32,
    pub(super) zones: Vec<Bits>,
}

impl Open {
    fn push(&mut self, hash: u64) {
        // Values that are alike often stand together.
        if self.hashes.last() == Some(&hash) {
            return;
        }
        self.hashes.push(hash);
        if self.hashes.len() >= self.tidy_at {
            self.tidy();
        }
    }

    fn tidy(&mut self) {
        self.hashes.sort_unstable();
        self.hashes.dedup();
        self.tidy_at = (2 * self.hashes.len()).max(HASHES);
        if self.hashes.len() >= 4 * HASHES {
            let bits = self.bits.get_or_insert_with(|| Bits::new(MAX_LOG2));
            self.hashes.drain(..).for_each(|hash| bits.insert(hash));
            self.tidy_at = HASHES;
        }
    }

    fn finish(mut self) -> Bits {
        self.tidy();
        let bits = Bits::of(&self.hashes);
        self.bits.map_or(bits.clone(), |more| more.united(&bits))
    }
}

impl BloomCollector {
    /// For one of `num_columns` leaves with filters, which lies in no list.
    pub(crate) fn new(order: Order, zone_rows: u64, num_columns: usize) -> Self {
        Self {
            order,
            zone_rows: zone_rows.max(1),
            shift: 0,
            zones: Vec::new(),
            bytes: 0,
            max_bytes: MAX_BYTES / num_columns.max(1),
            max_log2: MAX_LOG2,
            open: Open::default(),
            open_rows: 0,
        }
    }

    /// Adds the rows of the next page.
    pub(crate) fn add(&mut self, page: &LeafPage) {
        let valid = page.value_validity();
        let hashes = Hashes::new(&page.values, page.dictionary.as_ref(), self.order);
        let mut cursor = Cursor::new(page);
        let mut left = page.num_rows as u64;
        while left > 0 {
            let rows = left.min(self.zone_rows - self.open_rows);
            self.add_slots(&hashes, &Slots { range: cursor.advance(rows as usize), valid: valid.as_ref() });
            left -= rows;
            self.open_rows += rows;
            if self.open_rows == self.zone_rows {
                self.close();
            }
        }
    }

    fn add_slots(&mut self, hashes: &Hashes<'_>, slots: &Slots<'_>) {
        slots.for_each_run(|run| run.filter_map(|at| hashes.at(at)).for_each(|hash| self.open.push(hash)));
    }

    fn close(&mut self) {
        let mut bits = std::mem::take(&mut self.open).finish();
        self.open_rows = 0;
        if bits.log2 > self.max_log2 {
            bits = bits.resized(self.max_log2);
        }
        self.bytes += bits.byte_size();
        self.zones.push(bits);
        while self.bytes > self.max_bytes && self.max_log2 > 0 {
            self.max_log2 -= 1;
            for zone in self.zones.iter_mut().filter(|zone| zone.log2 > self.max_log2) {
                *zone = zone.resized(self.max_log2);
            }
            self.count_bytes();
        }
        if self.zones.len() == MAX_ZONES {
            self.zones = self.zones.chunks(2).map(|pair| pair[0].united(&pair[pair.len() - 1])).collect();
            self.zone_rows = self.zone_rows.saturating_mul(2);
            self.shift += 1;
            self.count_bytes();
        }
    }

    fn count_bytes(&mut self) {
        self.bytes = self.zones.iter().map(Bits::byte_size).sum();
    }

    /// What there is once all rows are in.
    pub(crate) fn finish(mut self) -> BloomCollected {
        if self.open_rows > 0 {
            self.zones.push(self.open.finish());
        }
        BloomCollected { shift: self.shift, zones: self.zones }
    }
}

/// What stands for the values of a page or a batch, one by one.
pub(super) enum Hashes<'a> {
    /// Values that are numbers of entries, and what stands for these.
    Keyed(&'a Values, Vec<Option<u64>>),
    Plain(&'a Values, Order),
}

impl<'a> Hashes<'a> {
    /// Of values, or of entries that the values number.
    pub(super) fn new(values: &'a Values, entries: Option<&Values>, order: Order) -> Self {
        match entries {
            None => Self::Plain(values, order),
            Some(entries) => {
                Self::Keyed(values, (0..entries.len()).map(|at| hash_at(entries, order, at)).collect())
            }
        }
    }

    /// Of one slot that is not null; `None` for what no filter is asked for.
    pub(super) fn at(&self, at: usize) -> Option<u64> {
        match self {
            Self::Keyed(keys, entries) => {
                let Values::Fixed(keys) = keys else { return None };
                let mut key = [0; 8];
                let bytes = &keys.bytes()[at * keys.width..(at + 1) * keys.width];
                key.get_mut(..bytes.len())?.copy_from_slice(bytes);
                *entries.get(usize::try_from(u64::from_le_bytes(key)).ok()?)?
            }
            Self::Plain(values, order) => hash_at(values, *order, at),
        }
    }
}

fn hash_at(values: &Values, order: Order, at: usize) -> Option<u64> {
    let bytes = match values {
        Values::Fixed(fixed) => &fixed.bytes()[at * fixed.width..(at + 1) * fixed.width],
        Values::Variable(variable) => variable.value(at),
        Values::LargeVariable(variable) => variable.value(at),
        _ => return None,
    };
    Some(match order {
        Order::Bytes { .. } => hash_of_bytes(bytes),
        Order::Int { signed, .. } => {
            let negative = signed && bytes.last().is_some_and(|last| *last > 0x7f);
            let mut wide = [if negative { 0xff } else { 0 }; 16];
            wide.get_mut(..bytes.len())?.copy_from_slice(bytes);
            hash_of_int(i128::from_le_bytes(wide))
        }
        Order::Wide => hash_of_bytes(bytes),
        Order::Float { bytes: 2 } => return hash_of_float(half(*bytes.first_chunk()?)),
        Order::Float { bytes: 4 } => return hash_of_float(f32::from_le_bytes(*bytes.first_chunk()?).into()),
        Order::Float { .. } => return hash_of_float(f64::from_le_bytes(*bytes.first_chunk()?)),
        Order::Bool => return None,
    })
}
