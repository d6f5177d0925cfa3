//! The cheapest way to store a page, by the preset's weights.
//!
//! ```text
//! page ─▶ candidates ─▶ estimates ─▶ costs ─▶ the cheapest that goes into a page
//!         direct: light, general; a dictionary with each way of numbers; rows side by side
//! ```

use super::candidates::{self, Candidate};
use super::dictionary::{self, Dictionary, No};
use super::measure;
use super::preset::Weights;
use super::report::Considered;
use super::sample::{Estimate, Frame};
use super::tuning::Tuning;
use super::values;
use crate::Result;
use crate::encoding::{Encoding, Scheme, Values};
use crate::page::LeafPage;

/// Bytes of one more page: its description and tables.
const PAGE_BYTES: usize = 300;
/// Values of a page that is parted, at the least.
const MIN_PART_VALUES: usize = 8192;
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
    /// As so many pages, each of which has its own choice.
    Parts(usize),
}

/// What was found of a page, the cheapest first.
#[derive(Debug)]
pub(super) struct Picked {
    pub(super) ways: Vec<Way>,
    pub(super) considered: Vec<Considered>,
    pub(super) dictionaries: Vec<(Dictionary, Encoding)>,
}

/// Ways and their costs as they are found.
struct Options<'a> {
    page: &'a LeafPage,
    tuning: &'a Tuning,
    weights: &'static Weights,
    frame: Frame,
    found: Vec<(f64, Way, Considered)>,
    dictionaries: Vec<(Dictionary, Encoding)>,
}

/// Looks at all ways to store a page that is not constant and has values of their own. `may_part`: into several pages.
pub(super) fn pick(
    page: &LeafPage,
    tuning: &Tuning,
    whole: Option<Encoding>,
    may_part: bool,
) -> Result<Picked> {
    let frame = Frame {
        levels: usize::from(page.has_rep()) + usize::from(page.has_def()),
        large: tuning.version.has_large_chunks(),
        whole: tuning.thorough,
    };
    let weights = tuning.preset.weights();
    let mut options = Options { page, tuning, weights, frame, found: Vec::new(), dictionaries: Vec::new() };
    let values = &page.values;
    if let Some(entries) = &page.dictionary {
        let (encoding, bytes) = dictionary::entries_encoding(entries, None, tuning)?;
        options.dictionary(
            Dictionary { indices: copy(values)?, entries: copy(entries)? },
            encoding,
            bytes,
            false,
            true,
        )?;
        return Ok(options.sorted());
    }
    if let Some(encoding) = whole {
        let is_text = matches!(values, Values::Variable(_) | Values::LargeVariable(_));
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
        options.repeated(may_part)?;
        return Ok(options.sorted());
    }
    let light = candidates::light(values, tuning);
    for candidate in &light {
        options.direct(candidate.clone(), 0)?;
    }
    if let Values::Fixed(v) = values
        && !page.has_rep()
        && !page.has_def()
        && v.bytes().len() <= MAX_UNCHUNKED
        && options.found.iter().all(|(_, way, _)| !matches!(way, Way::FullZip(_)))
    {
        options.full_zip(light[0].encoding.clone());
    }
    let few = options.repeated(may_part)?;
    if !few {
        let compressible = weights.general && measure::may_compress(values, tuning.thorough)?;
        if compressible {
            for candidate in candidates::general(values, &light, tuning, weights, false) {
                options.direct(candidate, 0)?;
            }
        }
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
    fn least_bytes(&self) -> usize {
        self.found.iter().map(|(_, _, c)| c.estimated_bytes as usize).min().unwrap_or(usize::MAX)
    }

    fn add(&mut self, way: Way, name: String, estimate: Estimate) {
        let settings = match &way {
            Way::Direct(candidate) | Way::Dictionary { candidate, .. } => settings(candidate),
            Way::FullZip(_) | Way::Parts(_) => String::new(),
        };
        let cost = estimate.cost(self.page.values.len(), self.weights);
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

    fn direct(&mut self, candidate: Candidate, extra: usize) -> Result<()> {
        if let Some(mut estimate) = self.frame.estimate(&self.page.values, &candidate)? {
            estimate.bytes += extra as f64;
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
    fn repeated(&mut self, may_part: bool) -> Result<bool> {
        let valid = self.page.value_validity();
        let values = &self.page.values;
        let direct = self.least_bytes().min(values.byte_size());
        match dictionary::worthwhile(values, valid.as_ref(), self.tuning, direct) {
            Err(No::Never) => Ok(false),
            Err(No::TooLarge { values: some }) => {
                if may_part {
                    self.parts(direct, values.len() / some.max(1))?;
                }
                Ok(false)
            }
            Ok(found) => {
                let few = found.entries.len() * 64 < values.len() && !matches!(values, Values::Fixed(_));
                let moved = dictionary::ordered(&found, self.tuning)?;
                let fits = |bytes: usize| bytes <= self.weights.entries_bytes;
                if let Some((.., bytes)) = &moved
                    && !fits(*bytes)
                {
                    if may_part {
                        self.parts(direct, bytes / self.weights.entries_bytes)?;
                    }
                    return Ok(false);
                }
                // In the order of the values numbers of neighbours are alike; worth a look where entries are few beside them.
                let as_found = moved.is_none() || found.entries.len() * 4 < found.indices.len();
                if let Some((moved, encoding, bytes)) = moved {
                    self.dictionary(moved, encoding, bytes, true, !as_found)?;
                }
                if as_found {
                    let (encoding, bytes) = dictionary::entries_encoding(&found.entries, None, self.tuning)?;
                    if bytes <= self.weights.entries_bytes {
                        self.dictionary(found, encoding, bytes, false, true)?;
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
        entries: Encoding,
        bytes: usize,
        sorted: bool,
        general: bool,
    ) -> Result<()> {
        let at = self.dictionaries.len();
        let light = candidates::light(&found.indices, self.tuning);
        let mut ways = light.clone();
        if general {
            ways.extend(candidates::general(&found.indices, &light, self.tuning, self.weights, true));
        }
        let extra = (bytes.next_multiple_of(BUFFER_ALIGN)) as f64;
        let looked_up = if matches!(found.entries, Values::Fixed(_)) { 0.5 } else { 2.0 };
        for candidate in ways {
            let Some(mut estimate) = self.frame.estimate(&found.indices, &candidate)? else { continue };
            estimate.bytes += extra;
            estimate.decode.value += looked_up;
            estimate.decode.point += 20.0;
            let name = format!("dictionary({}, {})", entries.describe(), candidate.encoding.describe());
            self.add(Way::Dictionary { candidate, dictionary: at }, name, estimate);
            if sorted && let Some((.., considered)) = self.found.last_mut() {
                considered.settings.push_str("entries in order");
            }
        }
        self.dictionaries.push((found, entries));
        Ok(())
    }

    /// Several pages, of which each has a dictionary that is small enough; at least so many.
    fn parts(&mut self, direct: usize, least: usize) -> Result<()> {
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
            let valid = page.value_validity().map(|v| v.slice(range.start, range.len()));
            match dictionary::worthwhile(&some, valid.as_ref(), self.tuning, direct / parts) {
                Err(No::Never) => return Ok(()),
                Err(No::TooLarge { values }) => least_parts = count / values.max(1),
                Ok(found) => {
                    let (name, bytes) = match dictionary::ordered(&found, self.tuning)? {
                        Some((_, encoding, bytes)) => (encoding, bytes),
                        None => dictionary::entries_encoding(&found.entries, None, self.tuning)?,
                    };
                    // Half of the rows have more than half of the entries.
                    least_parts = parts * bytes / self.weights.entries_bytes;
                    if bytes <= self.weights.entries_bytes {
                        let light = candidates::light(&found.indices, self.tuning);
                        let mut best: Option<(Estimate, String)> = None;
                        for candidate in &light {
                            let Some(e) = self.frame.estimate(&found.indices, candidate)? else { continue };
                            if best.as_ref().is_none_or(|(b, _)| e.bytes < b.bytes) {
                                best = Some((e, candidate.encoding.describe()));
                            }
                        }
                        let Some((mut estimate, numbers)) = best else { return Ok(()) };
                        estimate.bytes = (estimate.bytes + (bytes + PAGE_BYTES) as f64) * parts as f64;
                        let name = format!("{parts} pages of dictionary({}, {numbers})", name.describe());
                        self.add(Way::Parts(parts), name, estimate);
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
