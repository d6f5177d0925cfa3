//! Which layout and encodings a page gets.
//!
//! ```text
//! no value at all, or all null             constant
//! all values equal (2.2)                   constant, scalar
//! a compression was asked for              by rule (`rules.rs`)
//! the rest                                 what costs least by the preset (`pick.rs`): candidates.rs lists the ways to store
//!                                          chunks, sample.rs estimates their bytes, cost.rs their time, preset.rs weighs
//! ```
//!
//! Pages of 2.0 have no layouts: see `plain`. This module and the column writer alone ask for the format version.

mod candidates;
mod cost;
mod dictionary;
mod floor;
mod measure;
mod numbering;
mod pick;
mod plain;
mod preset;
mod repetition;
mod report;
mod rules;
mod sample;
mod spec;
mod tuning;
mod values;

use bytes::Bytes;

use crate::encoding::{Encoding, Values};
use crate::page::encode::EncodedPage;
use crate::page::{LeafPage, full_zip, mini_block};
use crate::{FormatVersion, Result};

pub(crate) use plain::encode_plain;
pub use preset::Preset;
pub use report::{Choice, Considered};
pub(crate) use spec::Spec;
pub use tuning::Compression;
pub(crate) use tuning::{Asked, Tuning};
pub(crate) use values::CHUNKED_BYTES;

use dictionary::Order;
use pick::{Part, Way};
use rules::{choice_of, choice_with, encode_one, scalar};
use tuning::LayoutKind;

/// Values of this many bytes lie beside their levels.
const WIDE: usize = 256;
/// Raw levels beside a scalar that are worth the scalar.
const SCALAR_LEVELS: usize = 2048;
/// Rows without a value that are worth a page of their own, which has no buffers.
const NULL_STRETCH: usize = 16 * 1024;
/// Pages as they go into a file, and why they are as they are.
#[derive(Debug, Default)]
pub(crate) struct Encoded {
    pub(crate) pages: Vec<EncodedPage>,
    /// One for each page.
    pub(crate) choices: Vec<Choice>,
}

impl Encoded {
    fn push(
        &mut self,
        page: EncodedPage,
        plain_bytes: usize,
        reason: &'static str,
        considered: Vec<Considered>,
        chosen: Option<usize>,
    ) {
        self.choices.push(Choice {
            num_rows: page.num_rows as u64,
            encoding: page.layout.describe(),
            bytes: page_bytes(&page) as u64,
            plain_bytes: plain_bytes as u64,
            reason,
            considered,
            chosen,
        });
        self.pages.push(page);
    }
}

/// Encodes rows of a leaf: one page, or several where one cannot hold their levels.
pub(crate) fn encode(page: LeafPage, tuning: &Tuning) -> Result<Encoded> {
    let mut done = Encoded::default();
    let mut left = vec![(page, Part::Whole)];
    if tuning.spec.layout.is_none()
        && let Some(parts) = left[0].0.without_null_stretches(NULL_STRETCH)?
    {
        left = parts.into_iter().rev().map(|part| (part, Part::Whole)).collect();
    }
    while let Some((mut page, part)) = left.pop() {
        let plain = page.values.byte_size();
        if tuning.spec.layout.is_none() {
            page.fill_null_slots();
        }
        let made = match encode_fixed(&page, tuning)? {
            Some((Some(encoded), reason)) => Made::Page(Box::new(encoded), reason, Vec::new(), None),
            Some((None, _)) => Made::None,
            None => {
                let part = if page.can_part() { part } else { part.last() };
                encode_cheapest(&page, tuning, part)?
            }
        };
        match made {
            Made::Page(encoded, reason, considered, chosen) => {
                done.push(*encoded, plain, reason, considered, chosen);
            }
            Made::Parts(count, order) => {
                left.extend(page.parts(count)?.into_iter().rev().map(|page| (page, Part::Of(order))));
            }
            Made::None => match page.halves()? {
                Some((first, second)) => left.extend([(second, part), (first, part)]),
                None => {
                    let encoded = rules::single_row(&page, tuning)?;
                    done.push(encoded, plain, "a row that no chunk can hold", Vec::new(), None);
                }
            },
        }
    }
    Ok(done)
}

/// What storing a page came to.
enum Made {
    /// With what was looked at, and which of it this is.
    Page(Box<EncodedPage>, &'static str, Vec<Considered>, Option<usize>),
    /// So many pages, and the order of their entries.
    Parts(usize, Order),
    /// Too many levels in it for any way.
    None,
}

/// How the rows of a page would be stored side by side, where that is worth a look: values are wide, or lists have no item that is
/// not null, which only such pages leave out.
fn rows_side_by_side(page: &LeafPage, tuning: &Tuning) -> Result<Option<Encoding>> {
    let values = &page.values;
    if tuning.layout == Some(LayoutKind::MiniBlock)
        || page.dictionary.is_some()
        || values::has_bit_items(values)
    {
        return Ok(None);
    }
    if measure::largest_value(values) >= WIDE {
        let encoding = values::full_zip(values, tuning, tuning.is_text)?.0;
        return Ok(Some(values::without_null_items(encoding, page)));
    }
    if !matches!(values, Values::List(_)) {
        return Ok(None);
    }
    let plain = values::plain(values);
    let reduced = values::without_null_items(plain.clone(), page);
    Ok((reduced != plain).then_some(reduced))
}

fn encode_cheapest(page: &LeafPage, tuning: &Tuning, part: Part) -> Result<Made> {
    let zipped = rows_side_by_side(page, tuning)?;
    let may_zip = zipped.is_some();
    let mut picked = pick::pick(page, tuning, zipped, part)?;
    let considered = std::mem::take(&mut picked.considered);
    for (place, way) in picked.ways.iter().enumerate() {
        let encoded = match way {
            Way::Parts(count, order) => return Ok(Made::Parts(*count, *order)),
            Way::FullZip(encoding) => {
                let width = values::width_of(encoding, values::zip_width(&page.values)?);
                Some(full_zip::encode(page, encoding, width)?)
            }
            Way::Direct(candidate) => {
                mini_block::encode(page, &page.values, None, &choice_with(candidate, tuning))?
            }
            Way::Dictionary { candidate, dictionary } => {
                let (found, entries) = &picked.dictionaries[*dictionary];
                mini_block::encode(page, &found.indices, Some(entries), &choice_with(candidate, tuning))?
            }
        };
        let Some(encoded) = encoded else { continue };
        // What was estimated may have been wrong; a page never comes out larger than plain.
        let bytes = page_bytes(&encoded);
        if bytes > page.values.byte_size()
            && let Some(plain) = plain_page(page, tuning, may_zip)?
            && page_bytes(&plain) < bytes
        {
            return Ok(Made::Page(Box::new(plain), "nothing is smaller than plain values", considered, None));
        }
        let reason = if place == 0 { "costs least" } else { "what costs least does not go into a page" };
        return Ok(Made::Page(Box::new(encoded), reason, considered, Some(place)));
    }
    Ok(Made::None)
}

/// Values as they are, in chunks or, where they may, side by side: what is smaller.
fn plain_page(page: &LeafPage, tuning: &Tuning, may_zip: bool) -> Result<Option<EncodedPage>> {
    if page.dictionary.is_some() || matches!(page.values, Values::Struct { .. }) {
        return Ok(None);
    }
    let plain = values::plain(&page.values);
    let chunks = mini_block::encode(page, &page.values, None, &choice_of(plain.clone(), tuning))?;
    if !may_zip {
        return Ok(chunks);
    }
    let plain = values::without_null_items(plain, page);
    let width = values::width_of(&plain, values::zip_width(&page.values)?);
    let rows = full_zip::encode(page, &plain, width)?;
    Ok(Some(chunks.filter(|chunks| page_bytes(chunks) <= page_bytes(&rows)).unwrap_or(rows)))
}

/// Bytes of a page's buffers.
fn page_bytes(page: &EncodedPage) -> usize {
    page.buffers.iter().map(Bytes::len).sum()
}

/// What one of the rules below gives; `None` where the preset chooses; `Some(None)` where fewer rows might do.
fn encode_fixed(page: &LeafPage, tuning: &Tuning) -> Result<Option<(Option<EncodedPage>, &'static str)>> {
    let forced = tuning.spec.layout.is_some();
    let is_packed = matches!(page.values, Values::Struct { .. });
    let by_rule = forced || !tuning.chooses() || is_packed || tuning.layout == Some(LayoutKind::FullZip);
    if !by_rule && page.num_valid > 0 && page.values.len() > 0 && !tuning.is_empty_struct {
        let levels = if page.has_rep() || page.has_def() { page.num_events } else { 0 };
        if page.dictionary.is_none()
            && tuning.version >= FormatVersion::V2_2
            && levels <= SCALAR_LEVELS
            && let Some(encoded) = scalar(page)
        {
            return Ok(Some((Some(encoded), "all values are equal")));
        }
        if !matches!(page.values, Values::Null(_)) {
            return Ok(None);
        }
    }
    let reason = match forced {
        true => "asked for by name",
        false if page.num_valid == 0 => "no value",
        false if tuning.is_plain() => "no compression was asked for",
        false => "by rule",
    };
    encode_one(page, tuning).map(|encoded| Some((encoded, reason)))
}
