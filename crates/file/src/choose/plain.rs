//! How a page of format version 2.0 is stored.
//!
//! ```text
//! text that repeats        dictionary: a byte per value, at most 255 different ones
//! strings, fsst asked      a symbol table for the page
//! strings, lz4 or zstd     their bytes compressed, where that makes them fewer
//! all else                 plain
//! ```
//!
//! Long stretches of nulls are pages of their own, which have no buffers.
//!
//! As in the official writer, whose reader takes a dictionary for text with 32-bit offsets only.

use std::collections::HashMap;

use arrow_buffer::BooleanBuffer;

use super::NULL_STRETCH;
use super::tuning::Tuning;
use crate::Result;
use crate::encoding::{Encoding, Values, train_fsst};
use crate::page::LeafPage;
use crate::page::plain::{self, PlainChoice, PlainPageParts, StringDictionary};

/// Different strings that a byte numbers beside null.
const MAX_ITEMS: usize = 255;
/// Values below which nothing is gained.
const MIN_VALUES: usize = 100;
/// Bytes that stand beside each item of a dictionary, or beside each value without one.
const INDEX_BYTES: usize = 8;

/// Encodes the leaf's own values of a page: as one, or as several where there are long stretches of nulls.
pub(crate) fn encode_plain(page: &LeafPage, tuning: &Tuning) -> Result<Vec<PlainPageParts>> {
    let encode = |page: &LeafPage| plain::encode(page, &choose(page, tuning));
    // Pages of dictionary type say what is null in their items, packed structs not at all.
    let may_part = page.dictionary.is_none() && !matches!(page.values, Values::Struct { .. });
    match may_part.then(|| page.without_null_stretches(NULL_STRETCH)).transpose()?.flatten() {
        Some(parts) => parts.iter().map(encode).collect(),
        None => Ok(vec![encode(page)?]),
    }
}

fn choose(page: &LeafPage, tuning: &Tuning) -> PlainChoice {
    let mut choice = PlainChoice { scheme: tuning.scheme(), ..PlainChoice::default() };
    if page.dictionary.is_some() {
        return choice;
    }
    if let Values::Variable(_) = &page.values {
        if tuning.is_text && !tuning.is_plain() {
            choice.dictionary = dictionary(&page.values, page.value_validity().as_ref());
        }
        if tuning.fsst
            && choice.dictionary.is_none()
            && let Some(Encoding::Fsst { table, .. }) = train_fsst(&page.values, 0..page.values.len())
        {
            choice.fsst = Some(table);
        }
    }
    choice
}

/// The different strings of a page, if they are few enough to be stored once each for less.
fn dictionary(values: &Values, valid: Option<&BooleanBuffer>) -> Option<StringDictionary> {
    if values.len() < MIN_VALUES {
        return None;
    }
    let mut places: HashMap<&[u8], u8> = HashMap::with_capacity(MAX_ITEMS);
    let mut dictionary = StringDictionary { positions: Vec::with_capacity(values.len()), firsts: Vec::new() };
    let (mut item_bytes, mut all_bytes) = (0, 0);
    for i in 0..values.len() {
        if valid.is_some_and(|v| !v.value(i)) {
            dictionary.positions.push(0);
            continue;
        }
        let value = values.bytes_at(i)?;
        all_bytes += value.len();
        let position = match places.get(value) {
            Some(position) => *position,
            None => {
                if dictionary.firsts.len() == MAX_ITEMS {
                    return None;
                }
                item_bytes += value.len();
                dictionary.firsts.push(i);
                let position = dictionary.firsts.len() as u8;
                places.insert(value, position);
                position
            }
        };
        dictionary.positions.push(position);
    }
    let stored = values.len() + item_bytes + dictionary.firsts.len() * INDEX_BYTES;
    // Where all is null, there is nothing to point at.
    let pays = !dictionary.firsts.is_empty() && stored < all_bytes + values.len() * INDEX_BYTES;
    pays.then_some(dictionary)
}
