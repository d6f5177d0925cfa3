//! Pages by rule: what was asked for by name, by field metadata or by a compression for all, and what leaves no choice.
//!
//! ```text
//! a layout or encoding by name   that, or an error where it is not legal
//! a general compressor           over what suits the values, if that is smaller; or a dictionary, if that is
//! no compression                 plain values
//! packed structs                 rows side by side, or chunks where all fields have a fixed width
//! ```

use super::candidates::Candidate;
use super::spec::{LayoutSpec, ValueSpec};
use super::tuning::{LayoutKind, Tuning};
use super::{SCALAR_LEVELS, WIDE, dictionary, measure, page_bytes, values};
use crate::encoding::{Encoding, Scheme, Values};
use crate::page::encode::{EncodedPage, LevelChoice};
use crate::page::mini_block::MiniBlockChoice;
use crate::page::{LeafPage, constant, full_zip, mini_block};
use crate::{Error, FormatVersion, Result};

/// A buffer of values below this is not compressed in general.
const GENERAL_MIN_BYTES: usize = 4096;

/// By rule. `None` where fewer rows might do.
pub(super) fn encode_one(page: &LeafPage, tuning: &Tuning) -> Result<Option<EncodedPage>> {
    let layout = &tuning.spec.layout;
    if tuning.is_empty_struct {
        return Ok(Some(constant::encode_empty_struct(page)));
    }
    let nothing = page.num_valid == 0;
    // A page dictionary without entries is not read by others, so not even a forced layout makes one.
    let no_entries = nothing && page.dictionary.is_some();
    if page.values.len() == 0
        || no_entries
        || (nothing && matches!(layout, None | Some(LayoutSpec::Constant)))
    {
        return constant::encode_null(page, level_choices(tuning).as_ref()).map(Some);
    }
    let is_dictionary = page.dictionary.is_some();
    match layout {
        Some(LayoutSpec::Constant) => {
            let scalar =
                if tuning.version >= FormatVersion::V2_2 && !is_dictionary { scalar(page) } else { None };
            match scalar {
                Some(encoded) => return Ok(Some(encoded)),
                None => {
                    return Err(Error::invalid(
                        "constant: the values of a page differ, or their type or format version has no such page",
                    ));
                }
            }
        }
        Some(LayoutSpec::FullZip(values)) => {
            return forced_full_zip(page, values.as_ref(), tuning).map(Some);
        }
        Some(LayoutSpec::MiniBlock(values)) => return as_mini_block(page, values.as_ref(), tuning),
        None => {}
    }
    if let Values::Null(_) = page.values {
        // Fixed-size binary of no bytes.
        return match constant::encode_scalar(page, 0) {
            Some(encoded) if tuning.version >= FormatVersion::V2_2 => Ok(Some(encoded)),
            _ => Err(Error::unsupported("values of no bytes need format version 2.2")),
        };
    }
    let levels = if page.has_rep() || page.has_def() { page.num_events } else { 0 };
    if !is_dictionary
        && tuning.version >= FormatVersion::V2_2
        && levels <= SCALAR_LEVELS
        && let Some(encoded) = scalar(page)
    {
        return Ok(Some(encoded));
    }
    let packs_strings = matches!(values::plain(&page.values), Encoding::VariablePackedStruct { .. });
    if packs_strings {
        let zipped = as_full_zip(page, tuning)?;
        if tuning.fields.iter().all(Tuning::chooses) {
            return Ok(Some(zipped));
        }
        // What was asked for may not help.
        let encoding = values::plain(&page.values);
        let plain = full_zip::encode(page, &encoding, values::zip_width(&page.values)?)?;
        return Ok(Some(if page_bytes(&zipped) < page_bytes(&plain) { zipped } else { plain }));
    }
    if is_dictionary || values::has_bit_items(&page.values) {
        return as_mini_block(page, None, tuning);
    }
    let wide = match tuning.layout {
        Some(LayoutKind::MiniBlock) => false,
        Some(LayoutKind::FullZip) => true,
        None => measure::largest_value(&page.values) >= WIDE,
    };
    if wide && tuning.layout == Some(LayoutKind::FullZip) {
        // Dictionaries come first, as in the official writer.
        let zipped = as_full_zip(page, tuning)?;
        let bytes = page_bytes(&zipped);
        return Ok(match dictionary_page(page, tuning, bytes)? {
            Some(dictionary) if page_bytes(&dictionary) < bytes => Some(dictionary),
            _ => Some(zipped),
        });
    }
    if wide {
        // Few large values that repeat are better stored once.
        return match dictionary_page(page, tuning, measure::string_bytes(&page.values))? {
            Some(encoded) => Ok(Some(encoded)),
            None => as_full_zip(page, tuning).map(Some),
        };
    }
    as_mini_block(page, None, tuning)
}

/// A row that no mini-block page can hold.
pub(super) fn single_row(page: &LeafPage, tuning: &Tuning) -> Result<EncodedPage> {
    if page.dictionary.is_some() || matches!(tuning.spec.layout, Some(LayoutSpec::MiniBlock(_))) {
        return Err(Error::limit(format!(
            "a row of {} levels and {} values does not fit into the chunks of a mini-block page",
            page.num_events,
            page.values.len()
        )));
    }
    as_full_zip(page, tuning)
}

/// How levels are stored; `None` for raw, all that constant pages of 2.1 may have.
fn level_choices(tuning: &Tuning) -> Option<[LevelChoice; 2]> {
    (tuning.version >= FormatVersion::V2_2).then(|| mini_block_levels(tuning))
}

fn mini_block_levels(tuning: &Tuning) -> [LevelChoice; 2] {
    let run_lengths = tuning.version >= FormatVersion::V2_2;
    [tuning.spec.rep, tuning.spec.def]
        .map(|kind| kind.map_or(LevelChoice::Smallest { run_lengths }, LevelChoice::Forced))
}

/// The page as one value, if all valid values are equal.
pub(super) fn scalar(page: &LeafPage) -> Option<EncodedPage> {
    let valid = page.value_validity();
    let first = match &valid {
        Some(valid) => valid.set_indices().next()?,
        None => 0,
    };
    let value = page.values.bytes_at(first)?;
    let equal = |i: usize| page.values.bytes_at(i) == Some(value);
    let all = match &valid {
        Some(valid) => valid.set_indices().all(equal),
        None => (1..page.values.len()).all(equal),
    };
    if all { constant::encode_scalar(page, first) } else { None }
}

fn as_full_zip(page: &LeafPage, tuning: &Tuning) -> Result<EncodedPage> {
    let (encoding, width) = values::full_zip(&page.values, tuning, tuning.is_text)?;
    let encoding = values::without_null_items(encoding, page);
    full_zip::encode(page, &encoding, values::width_of(&encoding, width))
}

fn forced_full_zip(page: &LeafPage, spec: Option<&ValueSpec>, tuning: &Tuning) -> Result<EncodedPage> {
    if page.dictionary.is_some() {
        return Err(Error::invalid("fullzip: dictionary types are stored in mini-block pages only"));
    }
    let Some(spec) = spec else { return as_full_zip(page, tuning) };
    let encoding = values::forced(spec, &page.values)?;
    let legal = match &encoding {
        // A null has no bytes, which the official reader takes for a damaged LZ4 frame.
        Encoding::General { scheme: Scheme::Lz4, .. } if page.num_valid < page.values.len() => false,
        Encoding::General { values, .. } => matches!(**values, Encoding::Variable { .. }),
        Encoding::VariablePackedStruct { .. } => tuning.version >= FormatVersion::V2_2,
        other => matches!(
            other,
            Encoding::Flat { .. }
                | Encoding::Variable { .. }
                | Encoding::Fsst { .. }
                | Encoding::FixedSizeList { .. }
                | Encoding::PackedStruct { .. }
        ),
    };
    if !legal {
        return Err(Error::invalid(format!("fullzip: {spec:?} has no form for single values of this page")));
    }
    let width = values::zip_width(&page.values)?;
    let encoding = match encoding {
        Encoding::Flat { bits: 1 } => Encoding::Flat { bits: 8 },
        encoding => values::without_null_items(encoding, page),
    };
    full_zip::encode(page, &encoding, values::width_of(&encoding, width))
}

pub(super) fn choice_of(encoding: Encoding, tuning: &Tuning) -> MiniBlockChoice {
    let rule = values::rule(&encoding, tuning);
    choice_with(&Candidate { encoding, rule }, tuning)
}

pub(super) fn choice_with(candidate: &Candidate, tuning: &Tuning) -> MiniBlockChoice {
    let [rep, def] = mini_block_levels(tuning);
    let large_chunks = tuning.version.has_large_chunks();
    let Candidate { encoding, rule } = candidate.clone();
    MiniBlockChoice { values: encoding, rule, rep, def, large_chunks }
}

fn as_mini_block(page: &LeafPage, spec: Option<&ValueSpec>, tuning: &Tuning) -> Result<Option<EncodedPage>> {
    let none = None;
    let (indices_spec, items_spec) = match spec {
        Some(ValueSpec::Dictionary { indices, items }) => (indices, items),
        _ => (&none, &none),
    };
    if let Some(entries) = &page.dictionary {
        if spec.is_some() && !matches!(spec, Some(ValueSpec::Dictionary { .. })) {
            return Err(Error::invalid("dictionary types are stored with dictionaries only"));
        }
        let encoding = match indices_spec {
            Some(spec) => mini_block_forced(spec, &page.values)?,
            None => values::mini_block(&page.values, tuning, false).0,
        };
        let items = dictionary::stored(entries, items_spec.as_deref(), tuning)?;
        return mini_block::encode(page, &page.values, Some(&items), &choice_of(encoding, tuning));
    }
    match spec {
        Some(ValueSpec::Dictionary { .. }) => {
            let Some(found) = dictionary::any(&page.values, page.value_validity().as_ref()) else {
                return Err(Error::invalid(format!(
                    "dictionary: not for values of {:?}",
                    page.values.shape()
                )));
            };
            let encoding = match indices_spec {
                Some(spec) => mini_block_forced(spec, &found.indices)?,
                None => values::mini_block(&found.indices, tuning, false).0,
            };
            let items = dictionary::stored(&found.entries, items_spec.as_deref(), tuning)?;
            mini_block::encode(page, &found.indices, Some(&items), &choice_of(encoding, tuning))
        }
        Some(spec) => {
            let encoding = mini_block_forced(spec, &page.values)?;
            mini_block::encode(page, &page.values, None, &choice_of(encoding, tuning))
        }
        None => {
            if matches!(page.values, Values::Struct { .. })
                && !matches!(values::plain(&page.values), Encoding::PackedStruct { .. })
            {
                return Err(Error::invalid(
                    "miniblock: packed structs with strings or lists are full-zip only",
                ));
            }
            let (encoding, _) = values::mini_block(&page.values, tuning, tuning.is_text);
            let direct = mini_block::encode(page, &page.values, None, &choice_of(encoding.clone(), tuning))?;
            let direct = match (direct, tuning.scheme()) {
                (Some(direct), Some((scheme, level))) => {
                    let general = Encoding::General { scheme, level, values: Box::new(encoding) };
                    smaller_of(direct, page, general, tuning)?
                }
                (direct, _) => direct,
            };
            if tuning.spec.layout.is_some() {
                return Ok(direct);
            }
            let bytes = direct.as_ref().map_or(usize::MAX, page_bytes);
            Ok(match dictionary_page(page, tuning, bytes)? {
                Some(dictionary) if page_bytes(&dictionary) < bytes => Some(dictionary),
                _ => direct,
            })
        }
    }
}

/// The page under a general compressor, if that is smaller than as it is.
fn smaller_of(
    plain: EncodedPage,
    page: &LeafPage,
    encoding: Encoding,
    tuning: &Tuning,
) -> Result<Option<EncodedPage>> {
    if page.values.byte_size() < GENERAL_MIN_BYTES {
        return Ok(Some(plain));
    }
    let general = mini_block::encode(page, &page.values, None, &choice_of(encoding, tuning))?;
    Ok(Some(match general {
        Some(general) if page_bytes(&general) < page_bytes(&plain) => general,
        _ => plain,
    }))
}

fn dictionary_page(page: &LeafPage, tuning: &Tuning, direct_bytes: usize) -> Result<Option<EncodedPage>> {
    if tuning.is_plain() && !tuning.is_plain_by_metadata {
        return Ok(None);
    }
    let valid = page.value_validity();
    let Ok(found) = dictionary::worthwhile(&page.values, valid.as_ref(), None, tuning, direct_bytes as f64)
    else {
        return Ok(None);
    };
    let items = dictionary::stored(&found.entries, None, tuning)?;
    let mut best: Option<EncodedPage> = None;
    for encoding in values::of_numbers(&found.indices, tuning) {
        let encoded = mini_block::encode(page, &found.indices, Some(&items), &choice_of(encoding, tuning))?;
        let Some(encoded) = encoded else { continue };
        if best.as_ref().is_none_or(|b| page_bytes(&encoded) < page_bytes(b)) {
            best = Some(encoded);
        }
    }
    Ok(best)
}

fn mini_block_forced(spec: &ValueSpec, values: &Values) -> Result<Encoding> {
    let encoding = values::forced(spec, values)?;
    if !has_mini_block_form(&encoding) {
        return Err(Error::invalid(format!("miniblock: {spec:?} has no form for chunks")));
    }
    Ok(encoding)
}

fn has_mini_block_form(encoding: &Encoding) -> bool {
    match encoding {
        Encoding::General { values, .. } => has_mini_block_form(values),
        Encoding::OutOfLineBitpacking { .. }
        | Encoding::VariablePackedStruct { .. }
        | Encoding::Constant { .. } => false,
        _ => true,
    }
}
