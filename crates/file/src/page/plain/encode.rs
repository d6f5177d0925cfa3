//! Pages of format version 2.0 from the levels and values of a leaf: its own page, and those of the lists above it.
//!
//! ```text
//! leaf page of list<int32>   rep 1 0 1 1 1   def 0 0 2 3 0   values 1 2 3        [[1, 2], null, [], [3]]
//!   ├▶ offsets page          2 | 2 + 4 | 2 | 3
//!   └▶ item page             1 | 2 | 3
//! ```
//!
//! Buffers are numbered in the order in which the tree names them, and stored in that order. What lists say about
//! nulls is in their offsets; structs cannot be null, so nothing else of the levels is left to store.

use arrow_buffer::BooleanBuffer;
use bytes::Bytes;
use pennon_codec::bits;

use super::super::{Layer, LeafPage};
use super::{PlainCompression, PlainEncoding, PlainLayout};
use crate::encoding::{FsstCodec, Lent, Offset, Purpose, Scheme, Values, VariableValues, compress};
use crate::{Error, Result};

/// How values of varying length are stored.
#[derive(Debug, Clone, Default)]
pub(crate) struct PlainChoice {
    /// General compression of the bytes of strings, where it makes them fewer.
    pub(crate) scheme: Option<(Scheme, Option<i32>)>,
    /// Compression of each string with this symbol table.
    pub(crate) fsst: Option<Bytes>,
    /// Each different string once.
    pub(crate) dictionary: Option<StringDictionary>,
}

/// Strings as numbers of different ones.
#[derive(Debug, Clone, Default)]
pub(crate) struct StringDictionary {
    /// 0 is null, k is item k - 1.
    pub(crate) positions: Vec<u8>,
    /// The first place of each different string among the values.
    pub(crate) firsts: Vec<usize>,
}

/// A page of 2.0 as it goes into a file.
#[derive(Debug)]
pub(crate) struct PlainPageParts {
    pub(crate) layout: PlainLayout,
    pub(crate) buffers: Vec<Vec<u8>>,
    /// Rows of the column: items, where it stands below lists.
    pub(crate) length: u64,
}

impl PlainPageParts {
    /// Items of the lists of a page of offsets.
    pub(crate) fn num_items(&self) -> u64 {
        match &self.layout.encoding {
            PlainEncoding::List { num_items, .. } => *num_items,
            _ => 0,
        }
    }
}

/// The page of the leaf's own column.
pub(crate) fn encode(page: &LeafPage, choice: &PlainChoice) -> Result<PlainPageParts> {
    let valid = page.value_validity();
    let no_value = valid.as_ref().is_some_and(|v| !v.has_true());
    let mut encoder = Encoder { buffers: Vec::new(), scratch: Lent::take() };
    let encoding = match &page.dictionary {
        Some(entries) => encoder.keys(&page.values, valid.as_ref(), entries)?,
        None if no_value && !matches!(page.values, Values::Struct { .. }) => PlainEncoding::AllNull,
        None => encoder.values(&page.values, valid.as_ref(), choice)?,
    };
    let length = page.values.len() as u64;
    Ok(PlainPageParts { layout: PlainLayout { encoding }, buffers: encoder.buffers, length })
}

/// The page of a column that says nothing but how many structs there are.
pub(crate) fn header(length: u64) -> PlainPageParts {
    PlainPageParts { layout: PlainLayout { encoding: PlainEncoding::Struct }, buffers: Vec::new(), length }
}

struct Encoder {
    buffers: Vec<Vec<u8>>,
    scratch: Lent,
}

impl Encoder {
    fn buffer(&mut self, bytes: Vec<u8>) -> usize {
        self.buffers.push(bytes);
        self.buffers.len() - 1
    }

    fn bitmap(&mut self, bitmap: &[u8], start: usize, len: usize) -> PlainEncoding {
        let mut bytes = Vec::with_capacity(len.div_ceil(8));
        bits::copy(bitmap, start, len, &mut bytes);
        PlainEncoding::flat(1, self.buffer(bytes))
    }

    /// Values with nulls where `valid` is not set.
    fn values(
        &mut self,
        values: &Values,
        valid: Option<&BooleanBuffer>,
        choice: &PlainChoice,
    ) -> Result<PlainEncoding> {
        match values {
            Values::Null(_) => return Ok(PlainEncoding::AllNull),
            Values::Variable(v) => return self.strings(v, valid, choice),
            Values::LargeVariable(v) => return self.strings(v, valid, choice),
            Values::Struct { .. } => return self.rows(values),
            Values::Bits(_) | Values::Fixed(_) | Values::List(_) => {}
        }
        if valid.is_some_and(|v| !v.has_true()) {
            return Ok(PlainEncoding::AllNull);
        }
        let validity = valid.map(|v| self.bitmap(v.values(), v.offset(), v.len()));
        let values = match values {
            Values::Bits(bits) => self.bitmap(bits.as_slice(), 0, bits.len()),
            Values::Fixed(v) => PlainEncoding::flat(v.width as u64 * 8, self.buffer(v.bytes().to_vec())),
            Values::List(list) => {
                let Ok(dimension) = u32::try_from(list.dimension) else {
                    return Err(Error::unsupported(format!("lists of {} items", list.dimension)));
                };
                let valid = list
                    .item_validity
                    .as_ref()
                    .map(|v| BooleanBuffer::new(arrow_buffer::Buffer::from(v.as_slice()), 0, v.len()));
                let valid = valid.filter(BooleanBuffer::has_false);
                let items = Box::new(self.values(&list.items, valid.as_ref(), choice)?);
                PlainEncoding::FixedSizeList { dimension, items }
            }
            other => return Err(Error::invalid(format!("internal: flat values of {:?}", other.shape()))),
        };
        Ok(match validity {
            None => PlainEncoding::no_null(values),
            Some(validity) => {
                PlainEncoding::SomeNull { validity: Box::new(validity), values: Box::new(values) }
            }
        })
    }

    fn strings<O: Offset>(
        &mut self,
        values: &VariableValues<O>,
        valid: Option<&BooleanBuffer>,
        choice: &PlainChoice,
    ) -> Result<PlainEncoding> {
        if let Some(dictionary) = &choice.dictionary {
            let indices =
                PlainEncoding::no_null(PlainEncoding::flat(8, self.buffer(dictionary.positions.clone())));
            let items: Vec<&[u8]> = dictionary.firsts.iter().map(|at| values.value(*at)).collect();
            let mut ends = Vec::with_capacity(items.len());
            let mut end = 0;
            ends.extend(items.iter().map(|item| {
                end += item.len() as u64;
                end
            }));
            let num_items = items.len() as u32;
            let items = Box::new(self.binary(&ends, None, items.concat(), choice)?);
            return Ok(PlainEncoding::Dictionary { indices: Box::new(indices), items, num_items });
        }
        if let Some(table) = &choice.fsst {
            let codec = FsstCodec::new(table, Purpose::Write)?;
            let mut codes = Vec::new();
            let mut ends = Vec::with_capacity(values.len());
            for i in 0..values.len() {
                codec.compress(values.value(i), &mut codes)?;
                ends.push(codes.len() as u64);
            }
            let values = Box::new(self.binary(&ends, valid, codes, &PlainChoice::default())?);
            return Ok(PlainEncoding::Fsst { table: table.clone(), values });
        }
        let ends: Vec<u64> = values.offsets[1..].iter().map(|end| end.to_usize() as u64).collect();
        self.binary(&ends, valid, values.data.to_vec(), choice)
    }

    /// Values that end at `ends` among `bytes`; a null has none of them.
    fn binary(
        &mut self,
        ends: &[u64],
        valid: Option<&BooleanBuffer>,
        bytes: Vec<u8>,
        choice: &PlainChoice,
    ) -> Result<PlainEncoding> {
        let (indices, null_adjustment) = adjusted(ends, |i| valid.is_some_and(|v| !v.value(i)));
        let indices = PlainEncoding::no_null(PlainEncoding::flat(64, self.buffer(indices)));
        let mut compression = None;
        let mut stored = bytes;
        if let Some((scheme, level)) = choice.scheme.filter(|_| !stored.is_empty()) {
            let mut smaller = Vec::new();
            compress(scheme, level, &stored, &mut smaller, &mut self.scratch)?;
            if smaller.len() < stored.len() {
                stored = smaller;
                compression = Some(PlainCompression { scheme: Some(scheme), level });
            }
        }
        let bytes = PlainEncoding::Flat { bits: 8, buffer: self.buffer(stored), compression };
        Ok(PlainEncoding::Binary { indices: Box::new(indices), bytes: Box::new(bytes), null_adjustment })
    }

    /// Keys of a column of dictionary type. Nulls become keys of a null item, which stands behind the others.
    fn keys(
        &mut self,
        keys: &Values,
        valid: Option<&BooleanBuffer>,
        entries: &Values,
    ) -> Result<PlainEncoding> {
        let Values::Fixed(keys) = keys else {
            return Err(Error::invalid("internal: dictionary keys of no fixed width"));
        };
        let mut bytes = keys.bytes().to_vec();
        // Where all is null, the entries that nothing points at are left out.
        let num_entries = if valid.is_some_and(|v| !v.has_true()) { 0 } else { entries.len() };
        let mut items = Values::new(&entries.shape(), num_entries + 1);
        items.extend(entries, 0..num_entries)?;
        let mut items_valid = None;
        if let Some(valid) = valid {
            let null = (num_entries as u64).to_le_bytes();
            for (i, key) in bytes.chunks_exact_mut(keys.width).enumerate() {
                if !valid.value(i) {
                    key.copy_from_slice(&null[..keys.width]);
                }
            }
            items.push_defaults(1);
            items_valid = Some(BooleanBuffer::collect_bool(num_entries + 1, |i| i < num_entries));
        }
        let bits = keys.width as u64 * 8;
        let indices = Box::new(PlainEncoding::no_null(PlainEncoding::flat(bits, self.buffer(bytes))));
        let Ok(num_items) = u32::try_from(items.len()) else {
            return Err(Error::limit(format!("a dictionary of {} items", items.len())));
        };
        let items = Box::new(self.values(&items, items_valid.as_ref(), &PlainChoice::default())?);
        Ok(PlainEncoding::Dictionary { indices, items, num_items })
    }

    /// Packed structs, row by row.
    fn rows(&mut self, values: &Values) -> Result<PlainEncoding> {
        let Values::Struct { fields, len } = values else {
            return Err(Error::invalid("internal: rows of something else than structs"));
        };
        let mut parts = Vec::with_capacity(fields.len());
        for field in fields {
            parts.push((field_bytes(field)?, field.shape().fixed_bytes().unwrap_or(0)));
        }
        let mut rows = Vec::with_capacity(parts.iter().map(|(bytes, _)| bytes.len()).sum());
        for row in 0..*len {
            for (bytes, width) in &parts {
                rows.extend_from_slice(&bytes[row * width..(row + 1) * width]);
            }
        }
        let field_bits = parts.iter().map(|(_, width)| *width as u64 * 8).collect();
        Ok(PlainEncoding::PackedStruct { field_bits, buffer: self.buffer(rows) })
    }
}

/// The bytes of a field of packed structs.
fn field_bytes(field: &Values) -> Result<&[u8]> {
    match field {
        Values::Fixed(v) => Ok(v.bytes()),
        Values::List(list)
            if list.item_validity.as_ref().is_none_or(|v| (0..v.len()).all(|i| v.get_bit(i))) =>
        {
            field_bytes(&list.items)
        }
        Values::List(_) => Err(Error::invalid("a packed struct has a fixed-size list with null items")),
        other => {
            Err(Error::unsupported(format!("a packed struct with values of {:?} in 2.0", other.shape())))
        }
    }
}

/// Ends as they are stored, and what is added to those of nulls.
fn adjusted(ends: &[u64], is_null: impl Fn(usize) -> bool) -> (Vec<u8>, u64) {
    let adjustment = ends.last().copied().unwrap_or(0) + 1;
    let mut bytes = Vec::with_capacity(ends.len() * 8);
    for (i, end) in ends.iter().enumerate() {
        let stored = if is_null(i) { end + adjustment } else { *end };
        bytes.extend_from_slice(&stored.to_le_bytes());
    }
    (bytes, adjustment)
}

/// The page of offsets of the list layer `layer` of a leaf's page; what the layers count from is innermost. `None`
/// where there are no such lists on the page.
pub(crate) fn offsets(page: &LeafPage, layer: usize) -> Option<PlainPageParts> {
    let depth = page.layers[..=layer].iter().filter(|l| l.is_list()).count() as u16;
    let owners = owners(&page.layers);
    let mut def = Vec::new();
    page.def_levels(0..page.num_events, &mut def);
    let mut ends: Vec<u64> = Vec::new();
    let mut nulls: Vec<bool> = Vec::new();
    let mut num_items = 0u64;
    for (rep, def) in page.rep.iter().zip(&def) {
        // A value, an empty or null list inside of here, or one around it that hides all.
        let owner = owners[usize::from(*def)];
        let (is_here, is_item) = match owner {
            None => (true, true),
            Some((at, _)) => (at <= layer, at < layer),
        };
        if *rep >= depth && is_here {
            ends.push(num_items);
            nulls.push(owner == Some((layer, true)));
        }
        if *rep + 1 >= depth && is_item {
            num_items += 1;
            if let Some(end) = ends.last_mut() {
                *end = num_items;
            }
        }
    }
    let length = ends.len() as u64;
    let (bytes, null_adjustment) = adjusted(&ends, |i| nulls[i]);
    let offsets = Box::new(PlainEncoding::no_null(PlainEncoding::flat(64, 0)));
    let encoding = PlainEncoding::List { offsets, null_adjustment, num_items };
    (length > 0).then(|| PlainPageParts { layout: PlainLayout { encoding }, buffers: vec![bytes], length })
}

/// For each definition level the layer that it belongs to, and whether it is that layer's null.
fn owners(layers: &[Layer]) -> Vec<Option<(usize, bool)>> {
    let mut owners = vec![None];
    for (i, layer) in layers.iter().enumerate() {
        match layer {
            Layer::AllValidItem | Layer::AllValidList => {}
            Layer::NullableItem | Layer::NullableList => owners.push(Some((i, true))),
            Layer::EmptyableList => owners.push(Some((i, false))),
            Layer::NullAndEmptyList => owners.extend([Some((i, true)), Some((i, false))]),
        }
    }
    owners
}
