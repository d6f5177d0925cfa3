//! Which statistics are worth their bytes.
//!
//! ```text
//! every column        zones as they were collected, if they say more than the file's facts
//! too many bytes?     the step that loses least use for each byte saved: half the zones of a column, or none;
//!                     then the columns with the longest messages go
//! ```
//!
//! The use of a column's zones is the share of the file's range that a zone leaves out, in the mean over zones; of zones that
//! tell nulls apart it is the share that has no nulls, or nothing else, where the file has both. Below 1/64 zones are not
//! written, as they hardly rule anything out, unless a caller says how many bytes there are for them.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::rc::Rc;

use super::buffer::{self, ENTRY_BYTES, HEADER_BYTES};
use super::collect::{Collected, halved};
use super::extent::key_of;
use super::message::{self, Subject};
use super::{Bound, Facts, Value};

/// Zones of less use are not written.
pub(crate) const LEAST_USE: f64 = 1.0 / 64.0;
/// Bytes at most, whatever a caller allows: positions have 32 bits.
const MAX_BYTES: u64 = 1 << 30;

/// What does not change with the zones of a column.
struct Base {
    column: u32,
    subject: Subject,
    distinct: Option<u64>,
    file: Facts,
    /// What zones have to be of use to be written.
    least_use: f64,
}

/// A column's statistics as they would be written now.
struct Plan {
    base: Rc<Base>,
    zones: Vec<Facts>,
    shift: u32,
    usefulness: f64,
    message: Vec<u8>,
}

impl Plan {
    fn new(column: u32, collected: Collected, zone_rows: u64, least_use: f64) -> Self {
        let mut file = Facts::default();
        collected.zones.iter().for_each(|zone| file.merge(zone));
        let subject = Subject { order: collected.order, num_rows: collected.num_rows, base_rows: zone_rows };
        let zones = if collected.zones.len() > 1 { collected.zones } else { Vec::new() };
        let distinct = collected.distinct.map(|count| count.min(file.ordered()));
        Self::with(Rc::new(Base { column, subject, distinct, file, least_use }), zones, collected.shift)
    }

    /// Zones of too little use are left out.
    fn with(base: Rc<Base>, mut zones: Vec<Facts>, shift: u32) -> Self {
        let mut usefulness = usefulness(&base.file, &zones);
        if usefulness < base.least_use {
            (zones, usefulness) = (Vec::new(), 0.0);
        }
        let message = message::emit(&base.subject, base.distinct, &base.file, shift, &zones);
        Self { base, zones, shift, usefulness, message }
    }

    /// The same with half as many zones.
    fn coarser(&self) -> Self {
        let zones = if self.zones.len() > 2 { halved(&self.zones) } else { Vec::new() };
        Self::with(self.base.clone(), zones, self.shift + 1)
    }
}

/// A step to fewer zones, and what it costs; those that cost least come first.
struct Step {
    loss: f64,
    /// Index of the plan.
    plan: usize,
    to: Plan,
}

impl Step {
    fn from(plan: usize, from: &Plan) -> Option<Self> {
        if from.zones.is_empty() {
            return None;
        }
        let mut to = from.coarser();
        // Fewer zones can take more bytes where they compressed well.
        while to.message.len() >= from.message.len() && !to.zones.is_empty() {
            to = to.coarser();
        }
        let saved = from.message.len().saturating_sub(to.message.len()).max(1);
        let loss = (from.usefulness - to.usefulness).max(0.0) / saved as f64;
        Some(Self { loss, plan, to })
    }
}

impl Ord for Step {
    fn cmp(&self, other: &Self) -> Ordering {
        other.loss.total_cmp(&self.loss).then(self.plan.cmp(&other.plan))
    }
}

impl PartialOrd for Step {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Step {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Step {}

/// The buffer for what was collected of each column, in the order of columns; `None` if nothing fits into `max_bytes`. Zones
/// that are of less use than `least_use` are left out, and those of none.
pub(crate) fn buffer(
    collected: Vec<(u32, Collected)>,
    num_rows: u64,
    num_columns: usize,
    zone_rows: u32,
    max_bytes: u64,
    least_use: f64,
) -> Option<Vec<u8>> {
    let max_bytes = max_bytes.min(MAX_BYTES);
    let plans =
        collected.into_iter().map(|(column, one)| Plan::new(column, one, zone_rows.into(), least_use));
    let mut plans: Vec<Plan> = plans.collect();
    let fixed = |plans: usize| HEADER_BYTES + buffer::num_entries(plans, num_columns) as u64 * ENTRY_BYTES;
    let mut bytes: u64 = plans.iter().map(|plan| plan.message.len() as u64).sum();
    if bytes + fixed(plans.len()) > max_bytes {
        let steps = plans.iter().enumerate().filter_map(|(at, plan)| Step::from(at, plan));
        let mut steps: BinaryHeap<Step> = steps.collect();
        while bytes + fixed(plans.len()) > max_bytes
            && let Some(step) = steps.pop()
        {
            let plan = &mut plans[step.plan];
            bytes -= plan.message.len() as u64;
            bytes += step.to.message.len() as u64;
            *plan = step.to;
            steps.extend(Step::from(step.plan, plan));
        }
    }
    // Without zones it is still too much: the longest go, of equals the last.
    if bytes + fixed(plans.len()) > max_bytes {
        plans.sort_by_key(|plan| (plan.message.len(), plan.base.column));
        while bytes + fixed(plans.len()) > max_bytes {
            bytes -= plans.pop()?.message.len() as u64;
        }
        plans.sort_by_key(|plan| plan.base.column);
    }
    if plans.is_empty() {
        return None;
    }
    let messages: Vec<_> = plans.into_iter().map(|plan| (plan.base.column, plan.message)).collect();
    Some(buffer::emit(zone_rows, num_rows, num_columns, &messages))
}

/// What zones rule out beside the file's facts, 0 to 1.
fn usefulness(file: &Facts, zones: &[Facts]) -> f64 {
    if zones.is_empty() {
        return 0.0;
    }
    let count = zones.len() as f64;
    let of_range = match (&file.min, &file.max) {
        (Some(low), Some(high)) => {
            let left_out = |zone: &Facts| match (&zone.min, &zone.max) {
                (Some(min), Some(max)) => {
                    1.0 - (place(max, low, high) - place(min, low, high)).clamp(0.0, 1.0)
                }
                _ if zone.ordered() == 0 => 1.0,
                _ => 0.0,
            };
            zones.iter().map(left_out).sum::<f64>() / count
        }
        _ => 0.0,
    };
    let told_apart = |zone: &&Facts| zone.nulls == 0 || zone.nulls == zone.values;
    let of_nulls = match file.nulls > 0 && file.nulls < file.values {
        true => zones.iter().filter(told_apart).count() as f64 / count,
        false => 0.0,
    };
    of_range.max(of_nulls)
}

/// Where a bound lies between two others, 0 to 1.
fn place(bound: &Bound, low: &Bound, high: &Bound) -> f64 {
    let number = |value: &Value| match value {
        Value::Bool(bit) => f64::from(u8::from(*bit)),
        Value::Int(value) => *value as f64,
        Value::Wide(value) => {
            let (small, large) = value.to_parts();
            large as f64 * 2f64.powi(128) + small as f64
        }
        Value::Float(value) => value.clamp(f64::MIN, f64::MAX) / 4.0,
        Value::Bytes(_) => 0.0,
    };
    let (at, from, to) = match (&bound.value, &low.value, &high.value) {
        (Value::Bytes(at), Value::Bytes(from), Value::Bytes(to)) => {
            // What the ends share tells nothing.
            let shared = from.iter().zip(to).take_while(|(a, b)| a == b).count();
            let key = |bytes: &[u8]| key_of(bytes.get(shared..).unwrap_or_default()) as f64;
            (key(at), key(from), key(to))
        }
        (at, from, to) => (number(at), number(from), number(to)),
    };
    if to > from { ((at - from) / (to - from)).clamp(0.0, 1.0) } else { 0.0 }
}
