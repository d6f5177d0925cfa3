//! Values of every shape, and the encodings each admits.

use arrow_buffer::BooleanBufferBuilder;

use crate::encoding::{Encoding, PackedField, PackedWidth, Scheme, ValueType, Values, train_fsst};

/// A value apart from its column.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Cell {
    Nothing,
    Bit(bool),
    Bytes(Vec<u8>),
    /// Null items are nothing, whatever bytes they have.
    List(Vec<Option<Cell>>),
    Struct(Vec<Cell>),
}

pub(super) fn push(values: &mut Values, cell: &Cell) {
    match (values, cell) {
        (Values::Null(n), Cell::Nothing) => *n += 1,
        (Values::Bits(v), Cell::Bit(b)) => v.append(*b),
        (Values::Fixed(v), Cell::Bytes(b)) => v.extend(b),
        (Values::Variable(v), Cell::Bytes(b)) => assert!(v.push(b)),
        (Values::LargeVariable(v), Cell::Bytes(b)) => assert!(v.push(b)),
        (Values::List(v), Cell::List(items)) => {
            if items.iter().any(Option::is_none) {
                let mut bits = BooleanBufferBuilder::new(items.len());
                items.iter().for_each(|i| bits.append(i.is_some()));
                v.extend_validity(Some((bits.as_slice(), 0)), items.len());
            } else {
                v.extend_validity(None, items.len());
            }
            for item in items {
                match item {
                    Some(item) => push(&mut v.items, item),
                    None => v.items.push_defaults(1),
                }
            }
            v.len += 1;
        }
        (Values::Struct { fields, len }, Cell::Struct(cells)) => {
            fields.iter_mut().zip(cells).for_each(|(f, c)| push(f, c));
            *len += 1;
        }
        (values, cell) => panic!("{cell:?} into {:?}", values.shape()),
    }
}

pub(super) fn cell(values: &Values, index: usize) -> Cell {
    match values {
        Values::Null(_) => Cell::Nothing,
        Values::Bits(v) => Cell::Bit(v.get_bit(index)),
        Values::Fixed(v) => Cell::Bytes(v.bytes()[index * v.width..(index + 1) * v.width].to_vec()),
        Values::Variable(v) => Cell::Bytes(v.value(index).to_vec()),
        Values::LargeVariable(v) => Cell::Bytes(v.value(index).to_vec()),
        Values::List(v) => Cell::List(
            (index * v.dimension..(index + 1) * v.dimension)
                .map(|i| {
                    let valid = v.item_validity.as_ref().is_none_or(|b| b.get_bit(i));
                    valid.then(|| cell(&v.items, i))
                })
                .collect(),
        ),
        Values::Struct { fields, .. } => Cell::Struct(fields.iter().map(|f| cell(f, index)).collect()),
    }
}

pub(super) fn cells(values: &Values) -> Vec<Cell> {
    (0..values.len()).map(|i| cell(values, i)).collect()
}

pub(super) fn column(shape: &ValueType, cells: &[Cell]) -> Values {
    let mut values = Values::new(shape, cells.len());
    cells.iter().for_each(|c| push(&mut values, c));
    values
}

/// A generator that a seed rules wholly.
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    pub(super) fn below(&mut self, n: usize) -> usize {
        (self.next() >> 11) as usize % n.max(1)
    }

    /// A value that comes in runs and is sometimes small, so that every encoding finds something to do.
    pub(super) fn cell(&mut self, shape: &ValueType, nulls: bool) -> Cell {
        match shape {
            ValueType::Null => Cell::Nothing,
            ValueType::Bits => Cell::Bit(self.next() >> 63 == 1),
            ValueType::Fixed(width) => {
                let mut bytes = vec![0; *width];
                let used = if self.below(8) == 0 { *width } else { 1 };
                bytes[..used].iter_mut().for_each(|b| *b = (self.next() >> 59) as u8 % 5);
                if self.below(40) == 0 {
                    bytes.fill(0xFF);
                }
                Cell::Bytes(bytes)
            }
            ValueType::Variable { .. } => {
                const WORDS: [&str; 6] = ["", "a", "horse", "staple", "battery battery", "\u{e9}\0"];
                let count = self.below(5);
                Cell::Bytes((0..count).flat_map(|_| WORDS[self.below(6)].bytes()).collect())
            }
            ValueType::List { dimension, items } => Cell::List(
                (0..*dimension)
                    .map(|_| (!nulls || self.below(4) > 0).then(|| self.cell(items, nulls)))
                    .collect(),
            ),
            ValueType::Struct(fields) => Cell::Struct(fields.iter().map(|f| self.cell(f, nulls)).collect()),
        }
    }

    pub(super) fn column(&mut self, shape: &ValueType, len: usize, nulls: bool) -> Vec<Cell> {
        let mut cells: Vec<Cell> = Vec::with_capacity(len);
        for _ in 0..len {
            let next = match cells.last() {
                Some(last) if self.below(3) > 0 => last.clone(),
                _ => self.cell(shape, nulls),
            };
            cells.push(next);
        }
        cells
    }
}

fn list(dimension: usize, items: ValueType) -> ValueType {
    ValueType::List { dimension, items: Box::new(items) }
}

pub(super) fn shapes() -> Vec<ValueType> {
    let mut shapes: Vec<ValueType> = [1, 2, 3, 4, 8, 16, 32, 40].map(ValueType::Fixed).into();
    shapes.extend([
        ValueType::Bits,
        ValueType::Variable { wide: false },
        ValueType::Variable { wide: true },
        list(3, ValueType::Fixed(2)),
        list(9, ValueType::Bits),
        list(2, list(5, ValueType::Fixed(4))),
        ValueType::Struct(vec![ValueType::Fixed(2), ValueType::Fixed(4), ValueType::Fixed(3)]),
        ValueType::Struct(vec![
            ValueType::Fixed(2),
            ValueType::Variable { wide: false },
            list(3, ValueType::Fixed(2)),
            ValueType::Variable { wide: true },
        ]),
    ]);
    shapes
}

/// Encodings that no other encoding contains, for the mini-block (`Some(false)`), per-value
/// (`Some(true)`) or block (`None`) form.
fn simple(values: &Values, per_value: Option<bool>) -> Vec<Encoding> {
    let shape = values.shape();
    let mut all = Vec::new();
    match &shape {
        ValueType::Bits => all.push(Encoding::Flat { bits: if per_value == Some(true) { 8 } else { 1 } }),
        ValueType::Fixed(width) => {
            all.push(Encoding::Flat { bits: *width as u64 * 8 });
            if matches!(width, 1 | 2 | 4 | 8) && per_value != Some(true) {
                let bits = *width as u8 * 8;
                all.push(Encoding::Rle { bits });
                if values.len() <= 1024 {
                    all.push(Encoding::InlineBitpacking { bits });
                }
                if per_value.is_none() {
                    let Values::Fixed(v) = values else { unreachable!("by its shape") };
                    let needed = v.bytes().chunks(*width).map(|b| {
                        let zeros = b.iter().rev().take_while(|b| **b == 0).count();
                        let top = b.iter().rev().nth(zeros).map_or(0, |b| 8 - b.leading_zeros() as usize);
                        (width - zeros).saturating_sub(1) * 8 + top
                    });
                    let packed_bits = needed.max().unwrap_or(0) as u8;
                    if packed_bits < bits {
                        all.push(Encoding::OutOfLineBitpacking { bits, packed_bits });
                    }
                } else if matches!(width, 4 | 8) {
                    all.push(Encoding::ByteStreamSplit { bits });
                }
            }
        }
        ValueType::Variable { wide } => {
            all.push(Encoding::Variable { offset_bits: if *wide { 64 } else { 32 } });
            if per_value.is_some() {
                all.extend(train_fsst(values, 0..values.len()));
            }
        }
        ValueType::List { .. } => all.extend(lists(&shape, true)),
        ValueType::Struct(fields) if fields.iter().all(|f| matches!(f, ValueType::Fixed(_))) => {
            if per_value.is_some() {
                let field_bits = fields.iter().map(|f| f.fixed_bits().unwrap_or(0)).collect();
                all.push(Encoding::PackedStruct { field_bits });
            }
        }
        ValueType::Struct(_) | ValueType::Null => {}
    }
    all
}

fn lists(shape: &ValueType, has_validity: bool) -> Option<Encoding> {
    match shape {
        ValueType::List { dimension, items } => Some(Encoding::FixedSizeList {
            dimension: *dimension as u64,
            has_validity,
            items: Box::new(lists(items, has_validity)?),
        }),
        shape => Some(Encoding::Flat { bits: shape.fixed_bits()? }),
    }
}

fn general(scheme: Scheme, values: &Encoding) -> Encoding {
    Encoding::General {
        scheme,
        level: (scheme == Scheme::Zstd).then_some(0),
        values: Box::new(values.clone()),
    }
}

pub(super) fn mini_block(values: &Values) -> Vec<Encoding> {
    let simple = simple(values, Some(false));
    let lz4 = simple.iter().map(|e| general(Scheme::Lz4, e));
    let zstd = simple.iter().map(|e| general(Scheme::Zstd, &general(Scheme::Lz4, e)));
    simple.iter().cloned().chain(lz4).chain(zstd).collect()
}

pub(super) fn block(values: &Values) -> Vec<Encoding> {
    let simple: Vec<Encoding> = simple(values, None)
        .into_iter()
        .filter(|_| !matches!(values.shape(), ValueType::List { items, .. } if *items == ValueType::Bits))
        .collect();
    let lz4 = simple.iter().map(|e| general(Scheme::Lz4, e));
    let zstd = simple.iter().map(|e| general(Scheme::Zstd, e));
    simple.iter().cloned().chain(lz4).chain(zstd).collect()
}

pub(super) fn per_value(values: &Values) -> Vec<Encoding> {
    let mut all = simple(values, Some(true));
    match values.shape() {
        ValueType::List { items, .. } if *items == ValueType::Bits => all.clear(),
        ValueType::Variable { .. } => {
            let more: Vec<Encoding> =
                all.iter().flat_map(|e| [general(Scheme::Zstd, e), general(Scheme::Lz4, e)]).collect();
            all.extend(more);
        }
        ValueType::Struct(_) => {
            let Values::Struct { fields, .. } = values else { unreachable!("by its shape") };
            // The last encoding of each field is the most involved one.
            let fields = fields.iter().map(|f| {
                let encoding = per_value(f).pop().expect("fields have encodings");
                let width = match f {
                    Values::Variable(_) => PackedWidth::LengthBits(32),
                    Values::LargeVariable(_) => PackedWidth::LengthBits(64),
                    Values::List(_) => PackedWidth::Bits(56),
                    f => PackedWidth::Bits(f.shape().fixed_bits().expect("fixed")),
                };
                PackedField { encoding, width }
            });
            all.push(Encoding::VariablePackedStruct { fields: fields.collect() });
        }
        _ => {}
    }
    all
}
