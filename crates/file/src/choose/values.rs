//! Which encoding the values of a mini-block or full-zip page get, and how large its chunks are.
//!
//! The order is that of the official writer, with chunks under a
//! general compressor large enough for it to find something.

use arrow_buffer::BooleanBuffer;

use super::measure::{byte_entropy, largest_value, packed_bytes, string_bytes, widest_bits};
use super::spec::ValueSpec;
use super::tuning::{Switch, Tuning};
use crate::encoding::{Encoding, PackedField, PackedWidth, Scheme, ValueWriter, Values, train_fsst};
use crate::page::mini_block::{ChunkRule, Count, runs};
use crate::page::{LeafPage, ZipWidth};
use crate::{Error, Result};

/// Values of a bit-packed chunk.
pub(super) const GROUP: usize = 1024;
/// Values of any other chunk.
const MAX_VALUES: usize = 4096;
/// Bytes that a chunk of plain values stays below.
const PLAIN_BYTES: usize = 8185;
/// Bytes that a chunk of strings aims at.
const STRING_BYTES: usize = 4096;
/// Bytes that a chunk under a general compressor decodes to, about.
const GENERAL_BYTES: usize = 32 * 1024;
/// Bytes of strings that are compressed to see whether FSST makes them smaller.
const FSST_LOOK_BYTES: usize = 256 << 10;
/// Strings of a page below which training a symbol table does not pay.
const FSST_MIN_BYTES: usize = 32 * 1024;

/// Values of more bytes than this on average stand alone, not in chunks.
pub(crate) const CHUNKED_BYTES: usize = 512;

/// Bytes of a symbol table.
pub(super) const FSST_TABLE_BYTES: usize = 2312;

/// The encoding that stores values of a shape as they are.
pub(super) fn plain(values: &Values) -> Encoding {
    match values {
        // Pages of nulls are constant; this is never stored.
        Values::Null(_) => Encoding::Constant { value: None },
        Values::Bits(_) => Encoding::Flat { bits: 1 },
        Values::Fixed(v) => Encoding::Flat { bits: v.width as u64 * 8 },
        Values::Variable(_) => Encoding::Variable { offset_bits: 32 },
        Values::LargeVariable(_) => Encoding::Variable { offset_bits: 64 },
        Values::List(v) => Encoding::FixedSizeList {
            dimension: v.dimension as u64,
            has_validity: v.item_validity.is_some(),
            items: Box::new(plain(&v.items)),
        },
        Values::Struct { fields, .. } => match fields.iter().map(width_bits).collect::<Option<Vec<_>>>() {
            Some(field_bits) => Encoding::PackedStruct { field_bits },
            None => packed_struct(fields, |_, field| plain(field)),
        },
    }
}

/// A packed struct with fields of which some vary in width, each in an encoding of its own.
fn packed_struct(fields: &[Values], encoding: impl Fn(usize, &Values) -> Encoding) -> Encoding {
    let field = |(at, field): (usize, &Values)| PackedField {
        encoding: encoding(at, field),
        width: packed_width(field),
    };
    Encoding::VariablePackedStruct { fields: fields.iter().enumerate().map(field).collect() }
}

/// Bits of plain fixed-width values.
fn width_bits(values: &Values) -> Option<u64> {
    match values {
        Values::Fixed(v) => Some(v.width as u64 * 8),
        _ => None,
    }
}

fn packed_width(values: &Values) -> PackedWidth {
    match values {
        Values::LargeVariable(_) => PackedWidth::LengthBits(64),
        Values::Variable(_) => PackedWidth::LengthBits(32),
        other => PackedWidth::Bits(row_bits(other).unwrap_or(0)),
    }
}

/// Bits of one row in per-value form, `None` where rows differ: bitmaps of fixed-size lists included.
pub(super) fn row_bits(values: &Values) -> Option<u64> {
    fn list_bits(values: &Values, rows: u64) -> Option<u64> {
        match values {
            Values::Bits(_) => Some(rows.div_ceil(8) * 8),
            Values::Fixed(v) => Some(rows * v.width as u64 * 8),
            Values::List(v) => {
                let items = rows * v.dimension as u64;
                let bitmap = v.item_validity.as_ref().map_or(0, |_| items.div_ceil(8) * 8);
                Some(bitmap + list_bits(&v.items, items)?)
            }
            _ => None,
        }
    }
    match values {
        Values::Struct { fields, .. } => fields.iter().map(width_bits).sum(),
        other => list_bits(other, 1),
    }
}

/// Whether a list has bits at its bottom: those go into chunks only.
pub(super) fn has_bit_items(values: &Values) -> bool {
    match values {
        Values::List(v) => matches!(*v.items, Values::Bits(_)) || has_bit_items(&v.items),
        _ => false,
    }
}

/// The mini-block encoding of values without a dictionary, general compression aside; and about how many
/// bytes it takes.
pub(super) fn mini_block(values: &Values, tuning: &Tuning, is_text: bool) -> (Encoding, usize) {
    let raw = values.byte_size();
    if tuning.is_plain() {
        return (plain(values), raw);
    }
    match values {
        Values::Fixed(v) if matches!(v.width, 1 | 2 | 4 | 8) => {
            let bits = v.width as u8 * 8;
            let scheme = tuning.scheme();
            let split = match tuning.byte_stream_split {
                Switch::Off => false,
                Switch::On => true,
                Switch::Auto => scheme.is_some() && byte_entropy(v.bytes(), v.width).planes < 4.0,
            };
            if scheme.is_some() && split && bits >= 32 {
                return (Encoding::ByteStreamSplit { bits }, raw);
            }
            let packed = packed_bytes(v.bytes(), v.width);
            let runs = runs(v.bytes(), v.width);
            let run_bytes = runs * (v.width + 1);
            let few = tuning.rle_threshold.is_none_or(|t| (runs as f64) < t * v.len() as f64);
            if few && run_bytes < raw && run_bytes <= packed {
                (Encoding::Rle { bits }, run_bytes)
            } else if packed < raw {
                (Encoding::InlineBitpacking { bits }, packed)
            } else {
                (plain(values), raw)
            }
        }
        Values::Variable(_) | Values::LargeVariable(_) => match fsst(values, fsst_use(tuning, is_text)) {
            Some((encoding, bytes)) => (encoding, bytes),
            None => (plain(values), raw),
        },
        _ => (plain(values), raw),
    }
}

/// When strings get a symbol table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FsstUse {
    Never,
    /// Where it makes them smaller.
    IfSmaller,
    Forced,
}

/// Ways to store the numbers of dictionary entries where the compression was asked for.
pub(super) fn of_numbers(indices: &Values, tuning: &Tuning) -> Vec<Encoding> {
    let (light, _) = mini_block(indices, &Tuning { byte_stream_split: Switch::Off, ..tuning.clone() }, false);
    let mut ways = Vec::with_capacity(3);
    if let Some((scheme, level)) = tuning.scheme() {
        let general = |inner: Encoding| Encoding::General { scheme, level, values: Box::new(inner) };
        ways.push(general(plain(indices)));
        ways.push(general(light.clone()));
    }
    ways.push(light);
    ways
}

/// FSST, when asked for or when it makes strings smaller; with the bytes it takes.
pub(super) fn fsst(values: &Values, wanted: FsstUse) -> Option<(Encoding, usize)> {
    let total = string_bytes(values);
    let forced = wanted == FsstUse::Forced;
    let is_small = total < FSST_MIN_BYTES || largest_value(values) < 5;
    if wanted == FsstUse::Never || (!forced && is_small) {
        return None;
    }
    let encoding = train_fsst(values, 0..values.len())?;
    // What some values become says what all do.
    let step = (values.len() / 1024).max(1);
    let mut writer = ValueWriter::new(&encoding, &values.shape()).ok()?;
    let (mut before, mut after) = (0usize, Vec::new());
    for index in (0..values.len()).step_by(step) {
        // A few images or documents are as telling as all of them.
        if before > FSST_LOOK_BYTES {
            break;
        }
        before += values.bytes_at(index).map_or(0, <[u8]>::len);
        writer.encode(values, index, &mut after).ok()?;
    }
    let bytes = (total as u128 * after.len() as u128 / before.max(1) as u128) as usize;
    let raw = values.byte_size();
    let offsets = raw - total;
    let table = FSST_TABLE_BYTES;
    (forced || bytes + table < total).then_some((encoding, bytes + table + offsets))
}

/// What was asked for; otherwise text, and whatever shrinks where the chooser is free.
fn fsst_use(tuning: &Tuning, is_text: bool) -> FsstUse {
    match tuning.fsst {
        true => FsstUse::Forced,
        false if tuning.chooses() || (tuning.scheme().is_none() && is_text) => FsstUse::IfSmaller,
        false => FsstUse::Never,
    }
}

/// A symbol table of one symbol of two letters.
fn smallest_table() -> bytes::Bytes {
    let mut table = vec![0; FSST_TABLE_BYTES];
    table[..4].copy_from_slice(&[1, 0, 0, 1]);
    table[4..8].copy_from_slice(b"TSSF");
    table[8..10].copy_from_slice(b"ab");
    table[16] = 2;
    table.into()
}

/// How chunks of an encoding are cut.
pub(super) fn rule(encoding: &Encoding, tuning: &Tuning) -> ChunkRule {
    let mut rule = match encoding {
        Encoding::InlineBitpacking { .. } => ChunkRule {
            max_values: GROUP,
            target_bytes: usize::MAX,
            max_events: usize::MAX,
            count: Count::Plain,
        },
        Encoding::Rle { .. } => plain_rule(PLAIN_BYTES, Count::Runs),
        Encoding::ByteStreamSplit { .. } => plain_rule(GENERAL_BYTES, Count::Plain),
        Encoding::Variable { .. } => plain_rule(tuning.chunk_bytes.unwrap_or(STRING_BYTES), Count::Plain),
        // Counted before compression, which about halves it.
        Encoding::Fsst { .. } => plain_rule(tuning.chunk_bytes.unwrap_or(2 * STRING_BYTES), Count::Plain),
        Encoding::General { values, .. } => {
            let mut below = rule(values, tuning);
            let strings = matches!(**values, Encoding::Variable { .. } | Encoding::Fsst { .. });
            if below.target_bytes < GENERAL_BYTES && !(strings && tuning.chunk_bytes.is_some()) {
                below.target_bytes = GENERAL_BYTES;
            }
            below
        }
        _ => plain_rule(PLAIN_BYTES, Count::Plain),
    };
    rule.target_bytes = rule.target_bytes.min(tuning.max_chunk_bytes);
    rule.max_values = tuning.at_most_values(rule.max_values);
    rule
}

fn plain_rule(target_bytes: usize, count: Count) -> ChunkRule {
    ChunkRule { max_values: MAX_VALUES, target_bytes, max_events: usize::MAX, count }
}

/// The per-value encoding of a page's values and how they are framed.
pub(super) fn full_zip(values: &Values, tuning: &Tuning, is_text: bool) -> Result<(Encoding, ZipWidth)> {
    let total = string_bytes(values);
    let encoding = match values {
        Values::Variable(_) | Values::LargeVariable(_) if !tuning.is_plain() => match tuning.scheme() {
            // Per value it is always zstd: LZ4 fails on nulls, which have no bytes.
            Some((scheme, level)) if total >= FSST_MIN_BYTES => Encoding::General {
                scheme: Scheme::Zstd,
                level: if scheme == Scheme::Zstd { level.or(Some(0)) } else { Some(0) },
                values: Box::new(plain(values)),
            },
            scheme => {
                let wanted =
                    if scheme.is_some() && !tuning.fsst { FsstUse::Never } else { fsst_use(tuning, is_text) };
                fsst(values, wanted).map_or_else(|| plain(values), |(encoding, _)| encoding)
            }
        },
        // Strings in there are compressed where somebody asked for it.
        Values::Struct { fields, .. } if row_bits(values).is_none() => packed_struct(fields, |at, field| {
            let asked = tuning.fields.get(at).filter(|asked| !asked.chooses());
            let encoding = asked.and_then(|asked| full_zip(field, asked, asked.is_text).ok());
            encoding.map_or_else(|| plain(field), |(encoding, _)| encoding)
        }),
        _ => plain(values),
    };
    let width = zip_width(values)?;
    Ok((if matches!(values, Values::Bits(_)) { Encoding::Flat { bits: 8 } } else { encoding }, width))
}

/// How per-value rows of these values are framed.
pub(super) fn zip_width(values: &Values) -> Result<ZipWidth> {
    if has_bit_items(values) {
        return Err(Error::unsupported("full-zip pages of fixed-size lists of booleans"));
    }
    Ok(match values {
        Values::Variable(_) => ZipWidth::Length(32),
        Values::LargeVariable(_) => ZipWidth::Length(64),
        Values::Struct { .. } => match row_bits(values) {
            Some(bits) => ZipWidth::Value(bits),
            None if values.byte_size() >> 32 > 0 => ZipWidth::Length(64),
            None => ZipWidth::Length(32),
        },
        other => match row_bits(other) {
            Some(bits) => ZipWidth::Value(bits),
            None => return Err(Error::unsupported(format!("full-zip pages of {:?}", other.shape()))),
        },
    })
}

/// A fixed-size list of which every item is null stores the items' validity alone. Lists whose items are never null come back
/// without a look at them.
pub(super) fn without_null_items(encoding: Encoding, page: &LeafPage) -> Encoding {
    // `valid` has a bit for each of the list's rows; one is null if anything outside is.
    fn replaced(encoding: Encoding, values: &Values, valid: Option<&BooleanBuffer>) -> Encoding {
        let (dimension, has_validity, items, list) = match (encoding, values) {
            (Encoding::FixedSizeList { dimension, has_validity, items }, Values::List(list))
                if has_validity || !matches!(*items, Encoding::Flat { .. }) =>
            {
                (dimension, has_validity, items, list)
            }
            (encoding, _) => return encoding,
        };
        let item_is_valid = |item: usize| {
            valid.is_none_or(|v| v.value(item / list.dimension))
                && list.item_validity.as_ref().is_none_or(|v| v.get_bit(item))
        };
        let valid_items = BooleanBuffer::collect_bool(list.items.len(), item_is_valid);
        let items = match *items {
            Encoding::Flat { .. } if has_validity && !valid_items.has_true() => {
                Encoding::Constant { value: None }
            }
            items => replaced(items, &list.items, Some(&valid_items)),
        };
        Encoding::FixedSizeList { dimension, has_validity, items: Box::new(items) }
    }
    replaced(encoding, &page.values, page.value_validity().as_ref())
}

/// `width`, less the items that an encoding leaves out.
pub(super) fn width_of(encoding: &Encoding, width: ZipWidth) -> ZipWidth {
    fn bits(encoding: &Encoding, rows: u64) -> Option<u64> {
        match encoding {
            Encoding::FixedSizeList { dimension, has_validity, items } => {
                let count = rows * dimension;
                let bitmap = if *has_validity { count.div_ceil(8) * 8 } else { 0 };
                Some(bitmap + bits(items, count)?)
            }
            Encoding::Flat { bits } => Some(rows * bits),
            Encoding::Constant { value: None } => Some(0),
            _ => None,
        }
    }
    match (width, encoding) {
        (ZipWidth::Value(_), Encoding::FixedSizeList { .. }) => {
            bits(encoding, 1).map_or(width, ZipWidth::Value)
        }
        _ => width,
    }
}

/// The encoding that a caller forced on values, checked against their shape.
pub(super) fn forced(spec: &ValueSpec, values: &Values) -> Result<Encoding> {
    let refuse =
        |what: &str| Err(Error::invalid(format!("{what} cannot store values of {:?}", values.shape())));
    let plain = plain(values);
    let word_bits = match values {
        Values::Fixed(v) if matches!(v.width, 1 | 2 | 4 | 8) => Some(v.width as u8 * 8),
        _ => None,
    };
    match (spec, word_bits) {
        (ValueSpec::Plain, _) => Ok(plain),
        (ValueSpec::Flat, _) if matches!(plain, Encoding::Flat { .. }) => Ok(plain),
        (ValueSpec::Variable, _) if matches!(plain, Encoding::Variable { .. }) => Ok(plain),
        (ValueSpec::FixedSizeList, _) if matches!(plain, Encoding::FixedSizeList { .. }) => Ok(plain),
        (ValueSpec::Packed, _)
            if matches!(plain, Encoding::PackedStruct { .. } | Encoding::VariablePackedStruct { .. }) =>
        {
            Ok(plain)
        }
        (ValueSpec::Bitpack, Some(bits)) => Ok(Encoding::InlineBitpacking { bits }),
        (ValueSpec::OutOfLine, Some(bits)) => {
            let Values::Fixed(v) = values else { return refuse("outofline") };
            let packed_bits = widest_bits(v.bytes(), v.width);
            if packed_bits >= bits {
                return Err(Error::invalid(format!("outofline: values need all of their {bits} bits")));
            }
            Ok(Encoding::OutOfLineBitpacking { bits, packed_bits })
        }
        (ValueSpec::Rle, Some(bits)) => Ok(Encoding::Rle { bits }),
        (ValueSpec::ByteStreamSplit, Some(bits)) if bits >= 32 => Ok(Encoding::ByteStreamSplit { bits }),
        (ValueSpec::Fsst, _) if matches!(plain, Encoding::Variable { .. }) => {
            Ok(match fsst(values, FsstUse::Forced) {
                Some((encoding, _)) => encoding,
                // Nothing to learn from.
                None => Encoding::Fsst { table: smallest_table(), values: Box::new(plain) },
            })
        }
        (ValueSpec::General { scheme, level, values: below }, _) => {
            Ok(Encoding::General { scheme: *scheme, level: *level, values: Box::new(forced(below, values)?) })
        }
        (ValueSpec::Dictionary { .. }, _) => Err(Error::invalid("a dictionary inside another encoding")),
        (other, _) => refuse(&format!("{other:?}")),
    }
}
