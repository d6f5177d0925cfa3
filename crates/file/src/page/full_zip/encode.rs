//! Levels and values of a page become rows of control word, length and value.
//!
//! ```text
//! buffer 0  per event: control word (0, 1, 2, 4 bytes) | length (u32, u64)? | value bytes
//! buffer 1  start of every row in buffer 0, and its end: 1, 2, 4 or 8 bytes each
//! ```
//!
//! See docs/format/pages.md, "Full-zip".

use bytes::Bytes;

use crate::encoding::{Encoding, FixedValues, ValueWriter, Values};
use crate::page::encode::EncodedPage;
use crate::page::{FullZipLayout, Layout, LeafPage, ZipWidth};
use crate::{Error, Result};

/// Encodes a page. `width` says how the encoded values are framed.
pub(crate) fn encode(page: &LeafPage, encoding: &Encoding, width: ZipWidth) -> Result<EncodedPage> {
    let num_items = u32::try_from(page.num_events).map_err(|_| {
        Error::invalid(format!("a page of {} levels, more than 32 bits count", page.num_events))
    })?;
    let widened;
    let values = match &page.values {
        Values::Bits(bits) => {
            let mut bytes = FixedValues::new(1, bits.len());
            (0..bits.len()).for_each(|i| bytes.extend(&[u8::from(bits.get_bit(i))]));
            widened = Values::Fixed(bytes);
            &widened
        }
        values => values,
    };
    let mut def = Vec::new();
    page.def_levels(0..page.num_events, &mut def);
    let bits = |levels: &[u16]| u16::BITS - levels.iter().copied().max().unwrap_or(0).leading_zeros();
    let bits_rep = bits(&page.rep);
    let bits_def = match super::super::max_def(&page.layers) {
        // Below lists the official reader takes every item of a page without definition levels for a valid
        // struct, so they are stored wherever the layers have any.
        most if bits_rep > 0 => bits(&[most]),
        _ => bits(&def),
    };
    let word_bytes = match bits_rep + bits_def {
        0 => 0,
        1..=8 => 1,
        9..=16 => 2,
        _ => 4,
    };
    let is_variable = matches!(width, ZipWidth::Length(_));
    let is_indexed = bits_rep > 0 || is_variable;
    let (top, visible) = (page.max_rep(), page.max_visible());

    let mut writer = ValueWriter::new(encoding, &values.shape())?;
    // Pages of wide values are large: no growing by copies.
    let value_bytes = match width {
        ZipWidth::Value(bits) => values.len() * (bits / 8) as usize,
        ZipWidth::Length(bits) => values.byte_size() + values.len() * bits as usize / 8,
    };
    let is_bare = word_bytes == 0 && !is_indexed && page.num_events == values.len();
    // Values without anything between them are as they are, no copies where they are somebody's slice.
    let bare = match width {
        ZipWidth::Value(bits) if is_bare && !encoding.compresses() => {
            values.raw().filter(|raw| raw.bytes().len() as u64 * 8 == bits * values.len() as u64)
        }
        _ => None,
    };
    let is_done = bare.is_some();
    let mut data = Vec::with_capacity(if is_done { 0 } else { page.num_events * word_bytes + value_bytes });
    let mut starts: Vec<usize> = Vec::new();
    let mut value = 0;
    let mut scratch = Vec::new();
    for event in if is_done { 0..0 } else { 0..page.num_events } {
        let (rep, def) = (page.rep.get(event).copied().unwrap_or(0), def[event]);
        if is_indexed && (bits_rep == 0 || rep == top) {
            starts.push(data.len());
        }
        let word = if bits_rep == 0 { u32::from(def) } else { u32::from(rep) << bits_def | u32::from(def) };
        data.extend_from_slice(&word.to_le_bytes()[..word_bytes]);
        if def > visible {
            continue;
        }
        match width {
            ZipWidth::Value(bits) => {
                let before = data.len();
                writer.encode(values, value, &mut data)?;
                if (data.len() - before) as u64 * 8 != bits {
                    return Err(Error::invalid(format!(
                        "a full-zip value of {} bytes where {bits} bits are declared",
                        data.len() - before
                    )));
                }
            }
            ZipWidth::Length(bits) => {
                if def == 0 {
                    scratch.clear();
                    writer.encode(values, value, &mut scratch)?;
                    if bits == 32 {
                        let len = u32::try_from(scratch.len())
                            .map_err(|_| Error::invalid("a value longer than 4 GiB under 32-bit lengths"))?;
                        data.extend_from_slice(&len.to_le_bytes());
                    } else {
                        data.extend_from_slice(&(scratch.len() as u64).to_le_bytes());
                    }
                    data.extend_from_slice(&scratch);
                }
            }
        }
        value += 1;
    }
    data.shrink_to_fit();
    let mut buffers = Vec::with_capacity(2);
    let index = is_indexed.then(|| {
        starts.push(data.len());
        offsets(&starts, data.len())
    });
    buffers.push(bare.map_or_else(|| Bytes::from(data), FixedValues::to_bytes));
    buffers.extend(index.map(Bytes::from));
    let layout = Layout::FullZip(FullZipLayout {
        layers: page.layers.clone(),
        bits_rep,
        bits_def,
        width,
        values: encoding.clone(),
        num_items: num_items.into(),
        num_visible_items: page.values.len() as u64,
    });
    Ok(EncodedPage { layout, buffers, num_rows: page.num_rows })
}

/// Offsets in the narrowest width that holds `max`.
fn offsets(starts: &[usize], max: usize) -> Vec<u8> {
    let bytes = match max {
        0..=0xFF => 1,
        0x100..=0xFFFF => 2,
        0x1_0000..=0xFFFF_FFFF => 4,
        _ => 8,
    };
    starts.iter().flat_map(|s| (*s as u64).to_le_bytes().into_iter().take(bytes)).collect()
}
