//! Whether bloom filters are true of the data they are about, for `verify`: every value has to be in the filter of its zone.

use std::ops::Range;

use super::collect::Hashes;
use super::read::ColumnBlooms;
use crate::page::{LeafData, RowSlots};
use crate::schema::Order;
use crate::stats::extent::Slots;

/// Zones of one column with faults that are told apart.
const MAX_FAULTS: usize = 16;

/// All filters of one leaf beside its values.
#[derive(Debug)]
pub(crate) struct BloomAudit {
    blooms: ColumnBlooms,
    order: Order,
    num_rows: u64,
    /// Slots of a row.
    scale: usize,
    /// Zones with a value that their filter does not have, and the row of one; once for each zone.
    missing: Vec<(u64, u64)>,
}

impl BloomAudit {
    /// For a leaf of a file of `num_rows` rows with `scale` slots each.
    pub(crate) fn new(blooms: ColumnBlooms, order: Order, num_rows: u64, scale: usize) -> Self {
        Self { blooms, order, num_rows, scale, missing: Vec::new() }
    }

    /// Looks at the first `num_rows` rows of `leaf`, of which the first is number `first_row` of the file.
    pub(crate) fn look(&mut self, first_row: u64, num_rows: usize, leaf: &LeafData, slots: &RowSlots) {
        let hashes = hashes_of(leaf, self.order);
        let zone_rows = self.blooms.zone_rows.max(1);
        let end = first_row.saturating_add(num_rows as u64);
        let mut at = first_row;
        while at < end {
            let zone = at / zone_rows;
            let stop = end.min((zone + 1).saturating_mul(zone_rows));
            let rows = (at - first_row) as usize..(stop - first_row) as usize;
            let slots = Slots { range: slots.rows(rows), valid: slots.validity() };
            let mut found = None;
            slots.for_each_run(|mut run| {
                found = found.or_else(|| run.find(|slot| self.lacks(zone, hashes.at(*slot))));
            });
            if let Some(slot) = found {
                let row = at + (slot - slots.range.start) as u64 / self.scale.max(1) as u64;
                self.add(zone, row);
            }
            at = stop;
        }
    }

    /// Looks at the first row of `leaf`, which every one of `rows` is like.
    pub(crate) fn look_alike(&mut self, rows: Range<u64>, leaf: &LeafData, slots: &RowSlots) {
        let hashes = hashes_of(leaf, self.order);
        let zone_rows = self.blooms.zone_rows.max(1);
        let end = rows.end.min(self.num_rows).div_ceil(zone_rows).min(self.blooms.num_zones);
        let zones = rows.start / zone_rows..end;
        for slot in slots.row(0).filter(|slot| slots.is_valid(*slot)) {
            let hash = hashes.at(slot);
            for zone in zones.clone() {
                if self.lacks(zone, hash) {
                    self.add(zone, rows.start.max(zone * zone_rows));
                }
            }
        }
    }

    fn lacks(&self, zone: u64, hash: Option<u64>) -> bool {
        hash.is_some_and(|hash| !self.blooms.may_have(zone, hash))
    }

    fn add(&mut self, zone: u64, row: u64) {
        if self.missing.len() <= MAX_FAULTS && self.missing.iter().all(|(other, _)| *other != zone) {
            self.missing.push((zone, row));
        }
    }

    /// Every fault found, each with its zone.
    pub(crate) fn finish(self) -> Vec<String> {
        let fault = |(zone, row): &(u64, u64)| {
            format!(
                "bloom filters: the value of row {row} expected in the filter of zone {zone}, not found there"
            )
        };
        let mut faults: Vec<String> = self.missing.iter().take(MAX_FAULTS).map(fault).collect();
        if self.missing.len() > MAX_FAULTS {
            faults.push("bloom filters: values are missing in more zones".to_owned());
        }
        faults
    }
}

fn hashes_of(leaf: &LeafData, order: Order) -> Hashes<'_> {
    Hashes::new(&leaf.values, leaf.dictionary.as_ref().map(|dictionary| &*dictionary.values), order)
}
