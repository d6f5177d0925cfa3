//! Fixed-size lists of primitives, nested ones flattened.
//!
//! With dimensions d1, d2, … from outermost in, D_i = d1 × … × d_i:
//!
//! ```text
//! mini-block   per layer with validity: ceil(rows × D_i / 8) bytes of bitmap | items of all rows
//!              (each a buffer of its own)
//! per-value    row: per layer with validity: ceil(D_i / 8) bytes of bitmap | items of the row
//! block        rows of the per-value form, back to back
//! ```
//!
//! The bitmap of layer i is the validity of the layer's items. The validity of rows themselves is a
//! definition level.

use std::ops::Range;

use super::{Encoding, ValueType, Values, flat};
use crate::error::corrupt;
use crate::{Error, Result};

/// Layers and innermost items of a list column.
#[derive(Debug)]
pub(super) struct ListCodec {
    layers: Vec<ListLayer>,
    items: Items,
}

#[derive(Debug)]
struct ListLayer {
    dimension: usize,
    has_validity: bool,
    /// Items of this layer in one row: the product of the dimensions down to it.
    per_row: usize,
}

/// What the innermost layer holds.
#[derive(Debug, Clone, Copy)]
enum Items {
    Bits,
    Bytes(usize),
    /// Nothing is stored: all items are null (only in the per-value form).
    AllNull,
}

impl ListCodec {
    /// Whether rows are nothing but their items, in the bytes that Arrow has.
    pub(super) fn is_plain(&self) -> bool {
        matches!(self.items, Items::Bytes(_)) && self.layers.iter().all(|l| !l.has_validity)
    }

    /// `per_value` admits what only that form may hold, and refuses what it cannot.
    pub(super) fn new(encoding: &Encoding, shape: &ValueType, per_value: bool) -> Result<Self> {
        let mut layers = Vec::new();
        let (mut encoding, mut shape) = (encoding, shape);
        let mut per_row = 1usize;
        while let Encoding::FixedSizeList { dimension, has_validity, items } = encoding {
            let ValueType::List { dimension: expected, items: inner } = shape else {
                corrupt!("{} for values of {shape:?}", encoding.describe());
            };
            if *dimension != *expected as u64 || *dimension == 0 {
                corrupt!("lists of {dimension} items where the type has {expected}");
            }
            let Some(total) = per_row.checked_mul(*expected) else {
                return Err(Error::unsupported(format!("rows of {per_row} × {expected} items")));
            };
            per_row = total;
            layers.push(ListLayer { dimension: *expected, has_validity: *has_validity, per_row });
            (encoding, shape) = (items, inner);
        }
        let items = match (encoding, shape) {
            (Encoding::Flat { bits: 1 }, ValueType::Bits) if !per_value => Items::Bits,
            (Encoding::Flat { bits }, ValueType::Fixed(width)) if *bits == *width as u64 * 8 => {
                Items::Bytes(*width)
            }
            // Items of any shape: lists of 2.3 whose items are all null say so at the layer where it holds.
            (Encoding::Constant { value: None }, _)
                if per_value && layers.last().is_some_and(|l| l.has_validity) =>
            {
                Items::AllNull
            }
            _ => corrupt!("{} for values of {shape:?}", encoding.describe()),
        };
        if let Items::Bytes(width) = items
            && per_row.checked_mul(width).and_then(|b| b.checked_mul(2)).is_none()
        {
            return Err(Error::unsupported(format!("rows of {per_row} items of {width} bytes")));
        }
        Ok(Self { layers, items })
    }

    /// Buffers of a chunk.
    pub(super) fn num_buffers(&self) -> usize {
        self.layers.iter().filter(|l| l.has_validity).count() + 1
    }

    /// Items of one row.
    fn per_row(&self) -> usize {
        self.layers.last().map_or(1, |l| l.per_row)
    }

    /// Bytes of a row in the per-value form.
    pub(super) fn row_bytes(&self) -> usize {
        let validity: usize =
            self.layers.iter().filter(|l| l.has_validity).map(|l| l.per_row.div_ceil(8)).sum();
        validity + self.item_bytes()
    }

    /// Bytes from row to row in a block of `bytes`. The official writer of 2.3 (14.0.2) repeats the validity of
    /// lists that have only null items, which its own reader then refuses; what is repeated says nothing new.
    pub(super) fn block_stride(&self, bytes: usize, num_values: usize) -> usize {
        let row = self.row_bytes();
        let repeated = row + self.per_row().div_ceil(8);
        let all_null = matches!(self.items, Items::AllNull);
        if all_null && Some(bytes) == num_values.checked_mul(repeated) { repeated } else { row }
    }

    /// Bytes of the items of a row.
    fn item_bytes(&self) -> usize {
        match self.items {
            Items::Bytes(width) => self.per_row() * width,
            Items::Bits | Items::AllNull => 0,
        }
    }

    /// Walks down the layers of `out`, appending the validity that `bits` gives for each, and then the
    /// items.
    fn append(
        &self,
        out: &mut Values,
        count: usize,
        mut validity: impl FnMut(usize, &ListLayer, &mut super::ListValues) -> Result<()>,
        items: impl FnOnce(&mut Values) -> Result<()>,
    ) -> Result<()> {
        let mut values = out;
        let mut rows = count;
        for (i, layer) in self.layers.iter().enumerate() {
            let list = values.list_mut(layer.dimension)?;
            validity(i, layer, list)?;
            list.len += rows;
            rows *= layer.dimension;
            values = &mut list.items;
        }
        items(values)
    }

    pub(super) fn decode(
        &self,
        buffers: &[&[u8]],
        num_values: usize,
        range: Range<usize>,
        out: &mut Values,
    ) -> Result<usize> {
        let Some((items, bitmaps)) = buffers.split_last() else { corrupt!("no buffers of lists") };
        let total = |per_row: usize| {
            num_values
                .checked_mul(per_row)
                .ok_or_else(|| Error::corrupt(format!("{num_values} rows of {per_row} items in one chunk")))
        };
        // Everything is checked before anything is appended.
        let mut bitmap = bitmaps.iter();
        for layer in self.layers.iter().filter(|l| l.has_validity) {
            let Some(bitmap) = bitmap.next() else { corrupt!("{} buffers of lists", buffers.len()) };
            flat::check_bits(bitmap, total(layer.per_row)?)?;
        }
        let num_items = total(self.per_row())?;
        match self.items {
            Items::Bits => flat::check_bits(items, num_items)?,
            Items::Bytes(width) => flat::check(width, items, num_items)?,
            Items::AllNull => corrupt!("constant items in a chunk of lists"),
        }
        let mut bitmap = bitmaps.iter();
        let item_range = range.start * self.per_row()..range.end * self.per_row();
        self.append(
            out,
            range.len(),
            |_, layer, list| {
                let bits = if layer.has_validity { bitmap.next() } else { None };
                let bits = bits.map(|b| (*b, range.start * layer.per_row));
                list.extend_validity(bits, range.len() * layer.per_row);
                Ok(())
            },
            |values| {
                match self.items {
                    Items::Bytes(width) => flat::decode(width, items, num_items, item_range, values)?,
                    _ => flat::decode_bits(items, num_items, item_range, values)?,
                };
                Ok(())
            },
        )?;
        Ok(range.len())
    }

    /// Per-value form: row i at `rows[i * stride + at..]`.
    pub(super) fn decode_strided(
        &self,
        rows: &[u8],
        stride: usize,
        at: usize,
        count: usize,
        out: &mut Values,
    ) -> Result<()> {
        if !flat::strided_fits(rows, stride, at, count, self.row_bytes()) {
            corrupt!("{} bytes where {count} rows of {stride} bytes are expected", rows.len());
        }
        let mut place = at;
        let items_at = at + self.row_bytes() - self.item_bytes();
        self.append(
            out,
            count,
            |_, layer, list| {
                if !layer.has_validity {
                    list.extend_validity(None, count * layer.per_row);
                    return Ok(());
                }
                let bytes = layer.per_row.div_ceil(8);
                for row in 0..count {
                    // The bits of a row's last byte that are not its own may hold anything.
                    let start = row * stride + place;
                    list.extend_validity(Some((&rows[start..start + bytes], 0)), layer.per_row);
                }
                place += bytes;
                Ok(())
            },
            |values| match self.items {
                Items::Bytes(width) => flat::decode_strided(
                    rows,
                    stride,
                    items_at,
                    count,
                    self.item_bytes(),
                    values.fixed_mut(width)?,
                ),
                Items::AllNull | Items::Bits => {
                    values.push_defaults(count * self.per_row());
                    Ok(())
                }
            },
        )
    }

    /// The layers of `values` from outermost in, and the items.
    fn walk<'a>(&self, values: &'a Values) -> Result<(Vec<&'a super::ListValues>, &'a Values)> {
        let mut lists = Vec::with_capacity(self.layers.len());
        let mut values = values;
        for layer in &self.layers {
            let list = values.list(layer.dimension)?;
            lists.push(list);
            values = &list.items;
        }
        Ok((lists, values))
    }

    /// Bits of a layer's items, all ones where every item is valid.
    fn validity(
        list: &super::ListValues,
        has_validity: bool,
        range: Range<usize>,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        match (&list.item_validity, has_validity) {
            (Some(bits), true) => {
                pennon_codec::bits::copy(bits.as_slice(), range.start, range.len(), out);
            }
            (None, true) => {
                out.resize(out.len() + range.len() / 8, 0xFF);
                if !range.len().is_multiple_of(8) {
                    out.push(0xFF >> (8 - range.len() % 8));
                }
            }
            (None, false) => {}
            (Some(bits), false) => {
                let mut copy = Vec::new();
                pennon_codec::bits::copy(bits.as_slice(), range.start, range.len(), &mut copy);
                let valid: usize = copy.iter().map(|b| b.count_ones() as usize).sum();
                if valid != range.len() {
                    return Err(Error::invalid("null items of lists that are described without validity"));
                }
            }
        }
        Ok(())
    }

    pub(super) fn encode(&self, values: &Values, range: Range<usize>) -> Result<Vec<Vec<u8>>> {
        let (lists, items) = self.walk(values)?;
        let mut buffers = Vec::with_capacity(self.num_buffers());
        for (layer, list) in self.layers.iter().zip(lists) {
            let mut bits = Vec::new();
            let range = range.start * layer.per_row..range.end * layer.per_row;
            Self::validity(list, layer.has_validity, range, &mut bits)?;
            if layer.has_validity {
                buffers.push(bits);
            }
        }
        let range = range.start * self.per_row()..range.end * self.per_row();
        buffers.push(match self.items {
            Items::Bits => flat::encode_bits(items, range)?,
            Items::Bytes(width) => flat::encode(width, items, range)?,
            Items::AllNull => return Err(Error::invalid("constant items in a chunk of lists")),
        });
        Ok(buffers)
    }

    /// Appends one row in the per-value form.
    pub(super) fn encode_row(&self, values: &Values, index: usize, out: &mut Vec<u8>) -> Result<()> {
        let (lists, items) = self.walk(values)?;
        for (layer, list) in self.layers.iter().zip(lists) {
            let range = index * layer.per_row..(index + 1) * layer.per_row;
            Self::validity(list, layer.has_validity, range, out)?;
        }
        match self.items {
            Items::Bytes(width) => {
                let bytes = self.per_row() * width;
                out.extend_from_slice(&items.fixed_bytes(width)?[index * bytes..(index + 1) * bytes]);
            }
            Items::AllNull | Items::Bits => {}
        }
        Ok(())
    }
}
