//! A page's tree of encodings checked against the schema's type, and ranges of it read into values.
//!
//! Bound on reads: bitmaps and flat values, the bytes under the rows asked for; binary values, first where they end
//! (one index more than there are rows, to know where the first begins), then exactly their bytes; dictionaries
//! whole, once for a handle.

use std::ops::Range;
use std::sync::Arc;

use arrow_buffer::{BooleanBuffer, BooleanBufferBuilder};

use super::super::leaf_data::Validity;
use super::PlainEncoding;
use super::arrays::{Access, BitArray, FixedArray, scaled};
use crate::encoding::{FsstCodec, ListValues, Purpose, ValueType, Values, VariableValues};
use crate::error::corrupt;
use crate::{Error, Limits, Result};

/// An array of a page, of the shape that the schema gives it.
pub(super) enum Array {
    Fixed(FixedArray),
    Bits(BitArray),
    /// Values under a bitmap.
    SomeNull {
        validity: BitArray,
        values: Box<Array>,
    },
    AllNull,
    List {
        dimension: u64,
        items: Box<Array>,
    },
    Binary(BinaryArray),
    /// Strings of one length.
    FixedBinary {
        bytes: FixedArray,
        byte_width: u64,
    },
    Fsst {
        codec: FsstCodec,
        strings: BinaryArray,
    },
    Rows {
        fields: Vec<ValueType>,
        row: FixedArray,
    },
    Dictionary(DictionaryArray),
}

/// Values of any length.
pub(super) struct BinaryArray {
    indices: FixedArray,
    bytes: FixedArray,
    null_adjustment: u64,
}

/// Positions in the page's dictionary.
pub(super) struct DictionaryArray {
    validity: Option<BitArray>,
    indices: FixedArray,
    pub(super) items: Box<Array>,
    pub(super) num_items: u64,
    /// The column is of Arrow's dictionary type: positions are its keys. Otherwise position 0 is null and position
    /// k is item k - 1.
    pub(super) keeps_keys: bool,
}

/// The items of a dictionary, once read; with a null in front where position 0 is one.
#[derive(Debug)]
pub(super) struct Items {
    pub(super) values: Arc<Values>,
    /// How many positions there are; nulls at the end have no value.
    len: u64,
    valid: Option<BooleanBuffer>,
}

impl Array {
    /// Checks an encoding against the shape of the values; `keys` is the width of keys in bytes where the column is of
    /// dictionary type.
    pub(super) fn new(encoding: &PlainEncoding, shape: &ValueType, keys: Option<usize>) -> Result<Self> {
        Ok(match (encoding, shape) {
            (PlainEncoding::NoNull { values }, _) => return Self::new(values, shape, keys),
            (PlainEncoding::SomeNull { validity, values }, _) => Self::SomeNull {
                validity: BitArray::new(validity)?,
                values: Box::new(Self::new(values, shape, keys)?),
            },
            (PlainEncoding::AllNull, _) => Self::AllNull,
            (PlainEncoding::Dictionary { indices, items, num_items }, _) => {
                let (validity, indices) = match &**indices {
                    PlainEncoding::SomeNull { validity, values } => (Some(BitArray::new(validity)?), values),
                    _ => (None, indices),
                };
                if keys.is_none() && !matches!(shape, ValueType::Variable { .. }) {
                    corrupt!("a dictionary for values of {shape:?}");
                }
                Self::Dictionary(DictionaryArray {
                    validity,
                    indices: FixedArray::new(indices, keys.unwrap_or(1))?,
                    items: Box::new(Self::new(items, shape, None)?),
                    num_items: (*num_items).into(),
                    keeps_keys: keys.is_some(),
                })
            }
            (other, _) if keys.is_some() => {
                corrupt!("{} in a column of dictionary type", other.describe())
            }
            (
                PlainEncoding::FixedSizeList { dimension, items },
                ValueType::List { dimension: expected, items: shape },
            ) => {
                if *dimension as usize != *expected {
                    corrupt!("lists of {dimension} items where the column has {expected}");
                }
                if shape.fixed_bits().is_none() {
                    return Err(Error::unsupported("fixed-size lists of values that vary in length in 2.0"));
                }
                Self::List { dimension: (*dimension).into(), items: Box::new(Self::new(items, shape, None)?) }
            }
            // A struct without fields: what is there reads as null, as it does in later versions.
            (PlainEncoding::Struct, ValueType::Null) => Self::AllNull,
            (PlainEncoding::Binary { .. }, ValueType::Variable { .. }) => {
                Self::Binary(BinaryArray::new(encoding)?)
            }
            (PlainEncoding::Fsst { table, values }, ValueType::Variable { .. }) => Self::Fsst {
                codec: FsstCodec::new(table, Purpose::Read)?,
                strings: BinaryArray::new(values)?,
            },
            (PlainEncoding::FixedSizeBinary { bytes, byte_width }, ValueType::Variable { .. }) => {
                Self::FixedBinary { bytes: FixedArray::of_bytes(bytes)?, byte_width: (*byte_width).into() }
            }
            (PlainEncoding::PackedStruct { buffer, .. }, ValueType::Struct(fields)) => {
                let Some(width) = shape.fixed_bytes().filter(|bytes| *bytes > 0) else {
                    corrupt!("a packed struct with fields {fields:?}");
                };
                if fields.iter().any(|f| !is_whole_bytes(f)) {
                    corrupt!("a packed struct with fields {fields:?}");
                }
                let rows = PlainEncoding::flat(width as u64 * 8, *buffer);
                Self::Rows { fields: fields.clone(), row: FixedArray::new(&rows, width)? }
            }
            (PlainEncoding::List { .. }, ValueType::Variable { .. }) => {
                return Err(Error::unsupported(
                    "strings stored as lists of bytes in two columns, as very old releases did",
                ));
            }
            (_, ValueType::Fixed(width)) => Self::Fixed(FixedArray::new(encoding, *width)?),
            (_, ValueType::Bits) => Self::Bits(BitArray::new(encoding)?),
            (other, shape) => corrupt!("{} for values of {shape:?}", other.describe()),
        })
    }

    /// The dictionary in here.
    pub(super) fn dictionary(&self) -> Option<&DictionaryArray> {
        match self {
            Self::Dictionary(dictionary) => Some(dictionary),
            Self::SomeNull { values, .. } => values.dictionary(),
            _ => None,
        }
    }

    /// Adds what `rows` need; what is behind an index only once that is there.
    pub(super) fn want(
        &self,
        rows: &Range<u64>,
        access: &Access<'_>,
        needs: &mut Vec<Range<u64>>,
    ) -> Result<()> {
        match self {
            Self::Fixed(values) | Self::Rows { row: values, .. } => values.want(rows, access, needs),
            Self::Bits(values) => values.want(rows, access, needs),
            Self::SomeNull { validity, values } => {
                validity.want(rows, access, needs)?;
                values.want(rows, access, needs)
            }
            Self::AllNull => Ok(()),
            Self::List { dimension, items } => items.want(&scaled(rows, *dimension)?, access, needs),
            Self::Binary(strings) | Self::Fsst { strings, .. } => strings.want(rows, access, needs),
            Self::FixedBinary { bytes, byte_width } => bytes.want(&scaled(rows, *byte_width)?, access, needs),
            Self::Dictionary(dictionary) => {
                if let Some(validity) = &dictionary.validity {
                    validity.want(rows, access, needs)?;
                }
                dictionary.indices.want(rows, access, needs)
            }
        }
    }

    /// Appends `rows` and their validity; says how many went in before the byte limit of `out` was met.
    pub(super) fn append(
        &self,
        rows: &Range<u64>,
        access: &Access<'_>,
        items: Option<&Items>,
        out: &mut Values,
        valid: &mut Validity,
    ) -> Result<usize> {
        let count = (rows.end - rows.start) as usize;
        match self {
            Self::Fixed(values) => {
                out.fixed_mut(values.width)?.extend_shared(&values.read(rows, access)?);
            }
            Self::Bits(values) => {
                let (bytes, start) = values.read(rows, access)?;
                out.bits_mut()?.append_packed_range(start..start + count, &bytes);
            }
            Self::SomeNull { validity, values } => {
                let mut inner = Validity::default();
                let done = values.append(rows, access, items, out, &mut inner)?;
                let (bytes, start) = validity.read(rows, access)?;
                match inner.into_buffer() {
                    None => valid.append_bits(&bytes, start, done),
                    Some(inner) => {
                        let bit = |i: usize| bytes[(start + i) / 8] >> ((start + i) % 8) & 1 == 1;
                        let both = BooleanBuffer::collect_bool(done, |i| inner.value(i) && bit(i));
                        valid.append_bits(both.values(), both.offset(), done);
                    }
                }
                return Ok(done);
            }
            Self::AllNull => {
                out.push_defaults(count);
                valid.append_n(count, false);
                return Ok(count);
            }
            Self::List { dimension, items: inner } => {
                let list = out.list_mut(*dimension as usize)?;
                let before = list.items.len();
                let mut item_validity = Validity::default();
                let slots = scaled(rows, *dimension)?;
                inner.append(&slots, access, items, &mut list.items, &mut item_validity)?;
                note_items(list, before, item_validity.into_buffer());
                list.len += count;
            }
            Self::Binary(strings) => return strings.append(rows, access, None, out, valid),
            Self::Fsst { codec, strings } => return strings.append(rows, access, Some(codec), out, valid),
            Self::FixedBinary { bytes, byte_width } => {
                let data = bytes.read(&scaled(rows, *byte_width)?, access)?;
                let ends: Vec<i64> = (0..=count).map(|i| (i as u64 * byte_width) as i64).collect();
                let done = extend(out, &ends, &data)?;
                valid.append_n(done, true);
                return Ok(done);
            }
            Self::Rows { fields, row } => {
                let data = row.read(rows, access)?;
                let (values, len) = out.struct_mut(fields.len())?;
                let mut at = 0;
                for (field, values) in fields.iter().zip(values) {
                    let width = field.fixed_bytes().unwrap_or(0);
                    append_strided(values, &data, row.width, at, width)?;
                    at += width;
                }
                *len += count;
            }
            Self::Dictionary(dictionary) => {
                let Some(items) = items else { corrupt!("a dictionary inside of something else") };
                return dictionary.append(rows, access, items, out, valid);
            }
        }
        valid.append_n(count, true);
        Ok(count)
    }
}

/// Whether values are whole bytes at every level, so that they can stand in packed rows.
fn is_whole_bytes(shape: &ValueType) -> bool {
    match shape {
        ValueType::Fixed(_) => true,
        ValueType::List { items, .. } => is_whole_bytes(items),
        _ => false,
    }
}

/// Adds the validity of the items behind the first `before` of a list's.
fn note_items(list: &mut ListValues, before: usize, valid: Option<BooleanBuffer>) {
    let count = list.items.len() - before;
    match (&mut list.item_validity, valid) {
        (None, None) => {}
        (Some(bits), None) => bits.append_n(count, true),
        (bits, Some(valid)) => {
            let bits = bits.get_or_insert_with(|| {
                let mut bits = BooleanBufferBuilder::new(before + count);
                bits.append_n(before, true);
                bits
            });
            bits.append_buffer(&valid);
        }
    }
}

/// Appends the field of `width` bytes at byte `at` of every row.
fn append_strided(out: &mut Values, rows: &[u8], stride: usize, at: usize, width: usize) -> Result<()> {
    match out {
        Values::Fixed(values) => {
            let count = rows.len() / stride;
            let slots = values.grow(count * (width / values.width));
            for (slot, row) in slots.chunks_exact_mut(width).zip(rows.chunks_exact(stride)) {
                slot.copy_from_slice(&row[at..at + width]);
            }
            Ok(())
        }
        Values::List(list) => {
            let before = list.items.len();
            append_strided(&mut list.items, rows, stride, at, width)?;
            note_items(list, before, None);
            list.len += rows.len() / stride;
            Ok(())
        }
        other => corrupt!("a packed field of {width} bytes for values of {:?}", other.shape()),
    }
}

/// Appends the values that `ends` cut out of `data`; says how many fit.
fn extend(out: &mut Values, ends: &[i64], data: &[u8]) -> Result<usize> {
    match out {
        Values::Variable(v) => Ok(v.extend_offsets(ends, data)),
        Values::LargeVariable(v) => Ok(v.extend_offsets(ends, data)),
        other => corrupt!("strings in a column of {:?}", other.shape()),
    }
}

/// Where the values of some rows are.
struct Bounds {
    /// Among the bytes of the page, one more than there are rows.
    ends: Vec<u64>,
    /// Set where there is a value; `None` if there is one everywhere.
    valid: Option<BooleanBuffer>,
}

impl BinaryArray {
    fn new(encoding: &PlainEncoding) -> Result<Self> {
        let PlainEncoding::Binary { indices, bytes, null_adjustment } = encoding else {
            corrupt!("{} where strings are expected", encoding.describe());
        };
        Ok(Self {
            indices: FixedArray::new(indices, 8)?,
            bytes: FixedArray::new(bytes, 1)?,
            null_adjustment: *null_adjustment,
        })
    }

    /// Rows whose indices tell where `rows` are.
    fn index_rows(rows: &Range<u64>) -> Range<u64> {
        rows.start.saturating_sub(1)..rows.end
    }

    fn want(&self, rows: &Range<u64>, access: &Access<'_>, needs: &mut Vec<Range<u64>>) -> Result<()> {
        let before = needs.len();
        self.indices.want(&Self::index_rows(rows), access, needs)?;
        if self.bytes.is_compressed() {
            // All of them whatever the indices say.
            return self.bytes.want(&(0..1), access, needs);
        }
        if needs.len() > before {
            return Ok(());
        }
        let end = |row: u64| -> Result<u64> {
            let index = self.indices.words(&(row..row + 1), access)?;
            Ok(index.first().map_or(0, |v| self.end_of(*v)))
        };
        let start = if rows.start == 0 { 0 } else { end(rows.start - 1)? };
        let end = if rows.end == 0 { 0 } else { end(rows.end - 1)? };
        if start > end {
            corrupt!("the ends of values fall from {start} to {end}");
        }
        self.bytes.want(&(start..end), access, needs)
    }

    fn is_null(&self, index: u64) -> bool {
        index >= self.null_adjustment
    }

    fn end_of(&self, index: u64) -> u64 {
        if self.is_null(index) { index - self.null_adjustment } else { index }
    }

    fn bounds(&self, rows: &Range<u64>, access: &Access<'_>) -> Result<Bounds> {
        let indices = self.indices.words(&Self::index_rows(rows), access)?;
        let (first, indices) = match (rows.start, indices.split_first()) {
            (0, _) => (0, indices.as_slice()),
            (_, Some((before, indices))) => (self.end_of(*before), indices),
            (_, None) => corrupt!("no indices where some are expected"),
        };
        let mut ends = Vec::with_capacity(indices.len() + 1);
        ends.push(first);
        let mut any_null = false;
        let mut last = first;
        for index in indices {
            any_null |= self.is_null(*index);
            let end = self.end_of(*index);
            if end < last {
                corrupt!("the ends of values fall from {last} to {end}");
            }
            ends.push(end);
            last = end;
        }
        let valid =
            any_null.then(|| BooleanBuffer::collect_bool(indices.len(), |i| !self.is_null(indices[i])));
        Ok(Bounds { ends, valid })
    }

    fn append(
        &self,
        rows: &Range<u64>,
        access: &Access<'_>,
        codec: Option<&FsstCodec>,
        out: &mut Values,
        valid: &mut Validity,
    ) -> Result<usize> {
        let Bounds { ends, valid: not_null } = self.bounds(rows, access)?;
        let (first, last) = (ends[0], ends[ends.len() - 1]);
        let data = self.bytes.read(&(first..last), access)?;
        // What a null hides is no text, perhaps.
        let hides = not_null
            .as_ref()
            .is_some_and(|v| ends.windows(2).enumerate().any(|(i, end)| end[0] < end[1] && !v.value(i)));
        let done = if codec.is_some() || hides {
            let is_valid = |i: usize| not_null.as_ref().is_none_or(|v| v.value(i));
            let ranges = ends.windows(2).enumerate().map(|(i, end)| {
                let start = (end[0] - first) as usize;
                if is_valid(i) { start..(end[1] - first) as usize } else { start..start }
            });
            let ranges: Vec<Range<usize>> = ranges.collect();
            match codec {
                Some(codec) => codec.decode_ranges(&data, &ranges, out, &mut access.scratch.borrow_mut())?,
                None => push_ranges(out, &data, &ranges)?,
            }
        } else {
            let ends: Vec<i64> = ends.iter().map(|end| (end - first) as i64).collect();
            extend(out, &ends, &data)?
        };
        match not_null {
            Some(bits) => valid.append_bits(bits.values(), bits.offset(), done),
            None => valid.append_n(done, true),
        }
        Ok(done)
    }
}

/// Appends values one by one; says how many fit.
fn push_ranges(out: &mut Values, data: &[u8], ranges: &[Range<usize>]) -> Result<usize> {
    fn push<O: crate::encoding::Offset>(
        out: &mut VariableValues<O>,
        data: &[u8],
        ranges: &[Range<usize>],
    ) -> usize {
        ranges.iter().take_while(|range| out.push(&data[(*range).clone()])).count()
    }
    match out {
        Values::Variable(v) => Ok(push(v, data, ranges)),
        Values::LargeVariable(v) => Ok(push(v, data, ranges)),
        other => corrupt!("strings in a column of {:?}", other.shape()),
    }
}

impl Items {
    /// `position` must be below the length.
    fn is_null(&self, position: u64) -> bool {
        self.valid.as_ref().is_some_and(|valid| !valid.value(position as usize))
    }
}

impl DictionaryArray {
    /// Reads the items; what they need must be there.
    pub(super) fn load(&self, shape: &ValueType, access: &Access<'_>, limits: &Limits) -> Result<Items> {
        // Besides the items themselves: where they are and whether they are null.
        let item_bytes = shape.fixed_bytes().unwrap_or(0).saturating_add(32) as u64;
        let bytes = self.num_items.saturating_mul(item_bytes);
        if bytes > limits.buffer_bytes {
            return Err(Error::limit(format!(
                "a dictionary of {} items, at most {} bytes of them are read",
                self.num_items, limits.buffer_bytes
            )));
        }
        let mut values = Values::new(shape, self.num_items as usize + 1);
        let mut valid = Validity::default();
        if !self.keeps_keys {
            values.push_defaults(1);
            valid.append_n(1, false);
        }
        let done = self.items.append(&(0..self.num_items), access, None, &mut values, &mut valid)?;
        if (done as u64) < self.num_items {
            return Err(Error::limit("a dictionary holds more bytes than 32-bit offsets can count"));
        }
        let len = values.len() as u64;
        let valid = valid.into_buffer();
        if let Some(valid) = &valid {
            // Nulls at the end stand there to be pointed at; they are no entries.
            let kept = valid.set_slices().last().map_or(0, |(_, end)| end);
            values.truncate(kept);
        }
        Ok(Items { values: Arc::new(values), len, valid })
    }

    fn append(
        &self,
        rows: &Range<u64>,
        access: &Access<'_>,
        items: &Items,
        out: &mut Values,
        valid: &mut Validity,
    ) -> Result<usize> {
        let count = (rows.end - rows.start) as usize;
        let mut positions = self.indices.words(rows, access)?;
        let own = match &self.validity {
            Some(validity) => {
                let (bytes, start) = validity.read(rows, access)?;
                let bit = |i: usize| bytes[(start + i) / 8] >> ((start + i) % 8) & 1 == 1;
                Some(BooleanBuffer::collect_bool(count, bit))
            }
            None => None,
        };
        let is_valid = |i: usize| own.as_ref().is_none_or(|own| own.value(i));
        for (i, position) in positions.iter_mut().enumerate() {
            if *position >= items.len {
                if is_valid(i) {
                    corrupt!("position {position} in a dictionary of {} items", items.len);
                }
                *position = 0;
            }
        }
        let done = if self.keeps_keys {
            out.fixed_mut(self.indices.width)?.extend(&self.indices.read(rows, access)?);
            count
        } else {
            // A null is looked up where the one in front is, which is empty.
            let positions: Vec<u32> =
                positions.iter().map(|p| if items.is_null(*p) { 0 } else { *p as u32 }).collect();
            if items.values.len() == 0 {
                out.push_defaults(count);
                count
            } else {
                out.gather(&items.values, &positions)?
            }
        };
        match (&items.valid, &own) {
            (None, None) => valid.append_n(done, true),
            (entries, _) => {
                debug_assert!(entries.as_ref().is_none_or(|e| e.len() as u64 == items.len));
                let bits = BooleanBuffer::collect_bool(done, |i| is_valid(i) && !items.is_null(positions[i]));
                match bits.has_false() {
                    true => valid.append_bits(bits.values(), bits.offset(), done),
                    false => valid.append_n(done, true),
                }
            }
        }
        Ok(done)
    }
}
