//! The cheapest way to store a page, by the preset's weights.
//!
//! ```text
//! page ─▶ candidates ─▶ estimates ─▶ costs ─▶ the cheapest that goes into a page
//!         direct: light, general; a dictionary with each way of numbers; rows side by side
//! ```

use arrow_buffer::BooleanBuffer;

use super::candidates::{self, Candidate};
use super::dictionary::{self, Arranged, Dictionary, No, Order};
use super::floor::Known;
use super::measure;
use super::preset::Weights;
use super::repetition::Repetition;
use super::report::Considered;
use super::sample::{Estimate, Frame};
use super::tuning::Tuning;
use super::values;
use crate::Result;
use crate::encoding::{Encoding, Scheme, Values};
use crate::page::LeafPage;
use crate::page::mini_block::StoredEntries;

/// Bytes of one more page: its description and tables.
const PAGE_BYTES: usize = 300;
/// Values of a page that is parted, at the least.
const MIN_PART_VALUES: usize = 8192;
/// Values for each different one, from which on nothing beats a dictionary of strings.
const FEW: usize = 64;
/// Values for each byte of entries, from which on their order does not matter.
const TINY: usize = 100;
/// Buffers start at multiples of this.
pub(super) const BUFFER_ALIGN: usize = 64;
/// Strings of this many bytes are compressed alone in every preset, as the official writer does.
const LONG_BYTES: usize = 2 << 10;
/// Bytes of narrow values that may stand side by side without chunks.
const MAX_UNCHUNKED: usize = 64 << 10;

/// A way to store a page.
#[derive(Debug)]
pub(super) enum Way {
    Direct(Candidate),
    Dictionary {
        candidate: Candidate,
        dictionary: usize,
    },
    FullZip(Encoding),
    /// As so many pages, each with a dictionary in this order.
    Parts(usize, Order),
}

/// What a page is of what was handed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// All of it, which may become several.
    Whole,
    /// As small as it gets.
    Last,
    /// One of several that were found to be worth a dictionary each, with entries in this order.
    Of(Order),
}

impl Part {
    /// The same where rows cannot be parted.
    pub(super) fn last(self) -> Self {
        if self == Self::Whole { Self::Last } else { self }
    }
}

/// What was found of a page, the cheapest first.
#[derive(Debug)]
pub(super) struct Picked {
    pub(super) ways: Vec<Way>,
    pub(super) considered: Vec<Considered>,
    pub(super) dictionaries: Vec<(Dictionary, StoredEntries)>,
}

/// Ways and their costs as they are found.
struct Options<'a> {
    page: &'a LeafPage,
    tuning: &'a Tuning,
    weights: &'static Weights,
    frame: Frame,
    found: Vec<(f64, Way, Considered)>,
    dictionaries: Vec<(Dictionary, StoredEntries)>,
    /// Of the page's own values.
    known: Known,
}

/// Looks at all ways to store a page that is not constant and has values of their own.
pub(super) fn pick(page: &LeafPage, tuning: &Tuning, whole: Option<Encoding>, part: Part) -> Result<Picked> {
    let frame = Frame {
        levels: usize::from(page.has_rep()) + usize::from(page.has_def()),
        large: tuning.version.has_large_chunks(),
        whole: tuning.thorough,
    };
    let weights = tuning.preset.weights();
    let mut options = Options {
        page,
        tuning,
        weights,
        frame,
        found: Vec::new(),
        dictionaries: Vec::new(),
        known: Known::default(),
    };
    let values = &page.values;
    if let Some(entries) = &page.dictionary {
        let stored = dictionary::stored(entries, None, tuning)?;
        let given = Dictionary { indices: copy(values)?, entries: copy(entries)? };
        options.dictionary(given, stored, false, true)?;
        return Ok(options.sorted());
    }
    let may_part = part == Part::Whole;
    if let Part::Of(order) = part {
        // Numbers of one part may suit run lengths; what else there is was found wanting for all of them.
        if matches!(values, Values::Fixed(_)) {
            for candidate in candidates::light(values, tuning) {
                options.direct(candidate)?;
            }
        }
        if options.part(order)? {
            return Ok(options.sorted());
        }
        options.found.clear();
    }
    let valid = page.value_validity();
    let look = Repetition::of(values, valid.as_ref(), weights.general);
    let is_text = matches!(values, Values::Variable(_) | Values::LargeVariable(_));
    if let Some(encoding) = whole {
        let is_long = weights.general || measure::mean_bytes(values) >= LONG_BYTES;
        if is_text && is_long && measure::may_compress(values, tuning.thorough)? {
            // Rows that are long enough compress alone.
            let level = weights.string_levels.last().copied().or(Some(1));
            let values = Box::new(values::plain(values));
            options.full_zip(Encoding::General { scheme: Scheme::Zstd, level, values });
        }
        options.full_zip(encoding);
    }
    let is_wide = !options.found.is_empty() && measure::mean_bytes(values) > values::CHUNKED_BYTES;
    if is_wide && !weights.wide {
        options.repeated(valid.as_ref(), look, may_part)?;
        return Ok(options.sorted());
    }
    let light = candidates::light(values, tuning);
    for candidate in &light {
        options.direct(candidate.clone())?;
    }
    if let Values::Fixed(v) = values
        && !page.has_rep()
        && !page.has_def()
        && v.bytes().len() <= MAX_UNCHUNKED
        && options.found.iter().all(|(_, way, _)| !matches!(way, Way::FullZip(_)))
    {
        options.full_zip(light[0].encoding.clone());
    }
    // Few different strings leave nothing else to look at; what numbers take otherwise says whether they are worth numbering.
    let first = is_text && look.is_none_or(|look| look.distinct * FEW as f64 <= values.len() as f64);
    if first && options.repeated(valid.as_ref(), look, may_part)? {
        return Ok(options.sorted());
    }
    if weights.general && measure::may_compress(values, tuning.thorough)? {
        let repeats = look.is_none_or(|look| look.distinct * 2.0 < values.len() as f64);
        for candidate in candidates::general(values, &light, tuning, weights, false) {
            // Of whole words zstd finds only those that come again.
            let whole_words = matches!(&candidate.encoding, Encoding::General { values, .. }
                if matches!(**values, Encoding::Flat { bits: 32 | 64 }));
            if whole_words && !repeats && !tuning.thorough {
                continue;
            }
            options.direct(candidate)?;
        }
    }
    if !first {
        options.repeated(valid.as_ref(), look, may_part)?;
    }
    Ok(options.sorted())
}

/// What tells candidates of one encoding apart.
fn settings(candidate: &Candidate) -> String {
    let Encoding::General { level, values, .. } = &candidate.encoding else { return String::new() };
    let level = level.map(|level| format!("level {level}, ")).unwrap_or_default();
    match **values {
        Encoding::Variable { .. } | Encoding::Fsst { .. } => {
            format!("{level}chunks of {} KiB", candidate.rule.target_bytes.div_ceil(1 << 10))
        }
        _ => format!("{level}chunks of {} values", candidate.rule.max_values),
    }
}

fn copy(values: &Values) -> Result<Values> {
    let mut out = Values::new(&values.shape(), values.len());
    out.extend(values, 0..values.len())?;
    Ok(out)
}

impl Options<'_> {
    fn least_cost(&self) -> f64 {
        self.found.iter().map(|(cost, ..)| *cost).fold(f64::MAX, f64::min)
    }

    fn add(&mut self, way: Way, name: String, estimate: Estimate) {
        let settings = match &way {
            Way::Direct(candidate) | Way::Dictionary { candidate, .. } => settings(candidate),
            Way::FullZip(_) | Way::Parts(..) => String::new(),
        };
        let mut cost = estimate.cost(self.page.values.len(), self.weights);
        let is_general = match &way {
            Way::Direct(candidate) | Way::Dictionary { candidate, .. } => {
                matches!(candidate.encoding, Encoding::General { .. })
            }
            Way::FullZip(_) | Way::Parts(..) => false,
        };
        if is_general {
            cost /= self.weights.general_share;
        }
        let considered = Considered {
            encoding: name,
            settings,
            estimated_bytes: estimate.bytes as u64,
            decode_ns: estimate.decode.value,
            point_ns: estimate.decode.point,
            cost,
        };
        self.found.push((cost, way, considered));
    }

    fn direct(&mut self, candidate: Candidate) -> Result<()> {
        let values = &self.page.values;
        let floor = self.known.floor(values, &candidate, self.frame, self.weights);
        if !self.tuning.thorough && floor >= self.least_cost() {
            return Ok(());
        }
        if let Some(estimate) = self.frame.estimate(values, &candidate)? {
            self.known.note(&candidate, estimate.bytes);
            let name = candidate.encoding.describe();
            self.add(Way::Direct(candidate), name, estimate);
        }
        Ok(())
    }

    /// Rows side by side.
    fn full_zip(&mut self, encoding: Encoding) {
        let values = &self.page.values;
        let Some(bytes) = measure::zipped_bytes(values, &encoding) else { return };
        let words = if self.page.has_rep() || self.page.has_def() { self.page.num_events } else { 0 };
        let bytes = (bytes + words).next_multiple_of(BUFFER_ALIGN) as f64;
        let name = format!("full-zip {}", encoding.describe());
        let mut decode = super::cost::of(&encoding, 1.0, measure::mean_bytes(values) as f64);
        if !matches!(encoding, Encoding::General { .. }) {
            decode.extra_value = 0.0;
            decode.extra_point = 0.0;
        }
        self.add(Way::FullZip(encoding), name, Estimate { bytes, decode });
    }

    /// Looks at dictionaries; true if there are so few entries that nothing else is worth a look.
    fn repeated(
        &mut self,
        valid: Option<&BooleanBuffer>,
        look: Option<Repetition>,
        may_part: bool,
    ) -> Result<bool> {
        let values = &self.page.values;
        let look = look.filter(|_| !self.tuning.thorough);
        let direct = self.least_cost().min(values.byte_size() as f64);
        match dictionary::worthwhile(values, valid, look, self.tuning, direct) {
            Err(No::Never) => Ok(false),
            Err(No::TooLarge { values: some }) => {
                if may_part {
                    self.parts(valid, direct, values.len() / some.max(1))?;
                }
                Ok(false)
            }
            Ok(found) => {
                let few = found.entries.len() * FEW < values.len() && !matches!(values, Values::Fixed(_));
                // Entries that take next to nothing need no order.
                let tiny = found.entries.byte_size() * TINY < values.len() && !self.tuning.thorough;
                let room = self.weights.entries_bytes;
                let moved = match tiny {
                    true => Arranged::AsFound,
                    false => dictionary::ordered(&found, None, room, self.tuning)?,
                };
                // In the order of the values numbers of neighbours are alike; worth a look where entries are few beside them.
                let mut as_found = found.entries.len() * 4 < found.indices.len();
                match moved {
                    Arranged::By(_, moved) => {
                        let (moved, stored) = *moved;
                        self.dictionary(moved, stored, true, !as_found)?;
                    }
                    Arranged::AsFound => as_found = true,
                    Arranged::TooLarge { bytes } => {
                        if may_part {
                            self.parts(valid, direct, bytes / room)?;
                        }
                        return Ok(false);
                    }
                }
                if as_found {
                    let stored = dictionary::stored_as_found(&found.entries, self.tuning)?;
                    if stored.bytes.len() <= room {
                        self.dictionary(found, stored, false, true)?;
                    }
                }
                Ok(few)
            }
        }
    }

    /// Ways of numbers over a dictionary, those under a general compressor only where the order of entries may help them.
    fn dictionary(
        &mut self,
        found: Dictionary,
        stored: StoredEntries,
        sorted: bool,
        general: bool,
    ) -> Result<()> {
        let at = self.dictionaries.len();
        let light = candidates::light(&found.indices, self.tuning);
        let mut ways = light.clone();
        if general {
            ways.extend(candidates::general(&found.indices, &light, self.tuning, self.weights, true));
        }
        let extra = stored.bytes.len().next_multiple_of(BUFFER_ALIGN) as f64;
        let looked_up = if matches!(found.entries, Values::Fixed(_)) { 0.5 } else { 2.0 };
        let mut known = Known::default();
        for candidate in ways {
            let floor = known.floor(&found.indices, &candidate, self.frame, self.weights);
            if !self.tuning.thorough && floor > 0.0 && floor + extra >= self.least_cost() {
                continue;
            }
            let Some(mut estimate) = self.frame.estimate(&found.indices, &candidate)? else { continue };
            known.note(&candidate, estimate.bytes);
            estimate.bytes += extra;
            estimate.decode.value += looked_up;
            estimate.decode.point += 20.0;
            let name =
                format!("dictionary({}, {})", stored.encoding.describe(), candidate.encoding.describe());
            self.add(Way::Dictionary { candidate, dictionary: at }, name, estimate);
            if sorted && let Some((.., considered)) = self.found.last_mut() {
                let comma = if considered.settings.is_empty() { "" } else { ", " };
                considered.settings = format!("{}{comma}entries in order", considered.settings);
            }
        }
        self.dictionaries.push((found, stored));
        Ok(())
    }

    /// A dictionary in a given order for one of several pages; false if it does not fit after all.
    fn part(&mut self, order: Order) -> Result<bool> {
        let before = self.found.len();
        let values = &self.page.values;
        let valid = self.page.value_validity();
        let all = values.byte_size() as f64;
        let Ok(found) = dictionary::worthwhile(values, valid.as_ref(), None, self.tuning, all) else {
            return Ok(false);
        };
        let room = self.weights.entries_bytes;
        match dictionary::ordered(&found, Some(order), room, self.tuning)? {
            Arranged::By(_, moved) => {
                let (moved, stored) = *moved;
                self.dictionary(moved, stored, true, true)?;
            }
            Arranged::AsFound => {
                let stored = dictionary::stored(&found.entries, None, self.tuning)?;
                if stored.bytes.len() > room {
                    return Ok(false);
                }
                self.dictionary(found, stored, false, true)?;
            }
            Arranged::TooLarge { .. } => return Ok(false),
        }
        Ok(self.found.len() > before)
    }

    /// Several pages, of which each has a dictionary that is small enough; at least so many.
    fn parts(&mut self, valid: Option<&BooleanBuffer>, direct: f64, least: usize) -> Result<()> {
        let page = self.page;
        let count = page.values.len();
        // 2, 3, 4, 6, 8, 12, …
        let steps = (1..usize::BITS).flat_map(|log| [1usize << log, 3 << (log - 1)]);
        let mut least_parts = least.max(2);
        for parts in steps.take_while(|parts| count / parts >= MIN_PART_VALUES) {
            if parts < least_parts {
                continue;
            }
            let range = count / 2..count / 2 + count / parts;
            let mut some = Values::new(&page.values.shape(), range.len());
            some.extend(&page.values, range.clone())?;
            let valid = valid.map(|v| v.slice(range.start, range.len()));
            match dictionary::worthwhile(&some, valid.as_ref(), None, self.tuning, direct / parts as f64) {
                Err(No::Never) => return Ok(()),
                Err(No::TooLarge { values }) => least_parts = count / values.max(1),
                Ok(found) => {
                    let room = self.weights.entries_bytes;
                    let (numbers, stored, order) = match dictionary::ordered(&found, None, room, self.tuning)?
                    {
                        Arranged::By(order, moved) => {
                            let (moved, stored) = *moved;
                            (moved.indices, stored, order)
                        }
                        Arranged::AsFound => {
                            let stored = dictionary::stored(&found.entries, None, self.tuning)?;
                            (found.indices, stored, Order::Found)
                        }
                        Arranged::TooLarge { bytes } => {
                            // Half of the rows have more than half of the entries.
                            least_parts = parts * bytes / room;
                            continue;
                        }
                    };
                    let (name, bytes) = (&stored.encoding, stored.bytes.len());
                    least_parts = parts * bytes / room;
                    if bytes <= room {
                        let light = candidates::light(&numbers, self.tuning);
                        let mut best: Option<(Estimate, String)> = None;
                        for candidate in &light {
                            let Some(e) = self.frame.estimate(&numbers, candidate)? else { continue };
                            if best.as_ref().is_none_or(|(b, _)| e.bytes < b.bytes) {
                                best = Some((e, candidate.encoding.describe()));
                            }
                        }
                        let Some((mut estimate, numbers)) = best else { return Ok(()) };
                        estimate.bytes = (estimate.bytes + (bytes + PAGE_BYTES) as f64) * parts as f64;
                        let name = format!("{parts} pages of dictionary({}, {numbers})", name.describe());
                        self.add(Way::Parts(parts, order), name, estimate);
                        return Ok(());
                    }
                }
            }
        }
        Ok(())
    }

    fn sorted(self) -> Picked {
        let mut found = self.found;
        found.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut picked = Picked { ways: Vec::new(), considered: Vec::new(), dictionaries: self.dictionaries };
        for (_, way, considered) in found {
            picked.ways.push(way);
            picked.considered.push(considered);
        }
        picked
    }
}
