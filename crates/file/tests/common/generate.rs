//! Random nested schemas, and batches for them, within what a format version can hold.
//!
//! Everything that Arrow allows and a writer has to cope with occurs: slices with offsets at any
//! level, data hidden under null parents, null list slots that span items, first offsets other than
//! 0, keys out of range under nulls, null dictionary values, several batches.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, BooleanArray, DictionaryArray, FixedSizeListArray, GenericBinaryArray, GenericListArray,
    GenericStringArray, MapArray, NullArray, OffsetSizeTrait, PrimitiveArray, RecordBatch,
    RecordBatchOptions, StructArray, make_array, types::*,
};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_data::ArrayData;
use arrow_schema::{DataType, Field, FieldRef, Fields, IntervalUnit, Schema, SchemaRef, TimeUnit};
use pennon_file::FormatVersion;

use super::mapped::is_mapped;
use super::rng::Rng;

/// Field metadata key that makes a struct one column.
pub const PACKED: &str = "lance-encoding:packed";
/// Field metadata key of an extension type's name.
pub const EXTENSION: &str = "ARROW:extension:name";

/// What to generate.
#[derive(Debug, Clone)]
pub struct Wanted {
    pub version: FormatVersion,
    pub max_columns: usize,
    pub max_depth: usize,
    /// Values of up to some thousand bytes.
    pub long_values: bool,
    /// Only what the official reader takes, too.
    pub official: bool,
}

impl Wanted {
    pub fn new(version: FormatVersion) -> Self {
        Self { version, max_columns: 4, max_depth: 4, long_values: true, official: false }
    }
}

/// What stands above a field, as far as it forbids something.
#[derive(Debug, Clone, Copy)]
struct Above {
    depth: usize,
    list: bool,
    fixed_list: bool,
}

/// Random schemas and data from one seed.
#[derive(Debug)]
pub struct Generator {
    pub rng: Rng,
    pub wanted: Wanted,
    /// Only this distribution of words: an arm of [`Generator::words`].
    pub only: Option<usize>,
    /// Every leaf is null.
    pub null_leaves: bool,
    /// Every item of a primitive fixed-size list is null.
    pub null_items: bool,
    /// Batches of the data being made: dictionaries of all of them together must fit their keys.
    parts: usize,
    names: usize,
}

impl Generator {
    pub fn new(seed: u64, wanted: Wanted) -> Self {
        Self {
            rng: Rng::new(seed),
            wanted,
            only: None,
            null_leaves: false,
            null_items: false,
            parts: 1,
            names: 0,
        }
    }

    // ---- schemas

    pub fn schema(&mut self) -> SchemaRef {
        let columns = self.rng.within(1, self.wanted.max_columns);
        let fields: Vec<Field> = (0..columns).map(|_| self.field()).collect();
        let mut metadata = HashMap::new();
        if self.rng.chance(1, 4) {
            metadata.insert("made by".to_owned(), "ünï".to_owned());
            metadata.insert("empty".to_owned(), String::new());
        }
        Arc::new(Schema::new_with_metadata(fields, metadata))
    }

    /// A top-level field.
    pub fn field(&mut self) -> Field {
        let mut field = self.any_field();
        if self.rng.chance(1, 6) && !field.metadata().contains_key(PACKED) {
            // Read from the top-level field of a column, whatever lies below.
            let mut metadata = field.metadata().clone();
            let layout = self.rng.pick(&["miniblock", "fullzip", "fullzip"]);
            metadata.insert("lance-encoding:structural-encoding".to_owned(), (*layout).to_owned());
            field = field.with_metadata(metadata);
        }
        field
    }

    fn any_field(&mut self) -> Field {
        let name = self.name();
        if self.rng.chance(1, 60) && !self.wanted.official {
            return Field::new(name, DataType::Struct(Fields::empty()), false);
        }
        let depth = self.rng.below(self.wanted.max_depth + 1);
        self.field_named(&name, Above { depth, list: false, fixed_list: false })
    }

    fn name(&mut self) -> String {
        self.names += 1;
        let n = self.names;
        match self.rng.below(20) {
            0 => format!("ünï {n}"),
            1 if !self.wanted.official => format!("a.{n}"),
            2 if !self.wanted.official => format!("x`y\"{n}"),
            _ => format!("c{n}"),
        }
    }

    fn field_named(&mut self, name: &str, above: Above) -> Field {
        let nullable = self.rng.chance(4, 5);
        let v22 = self.wanted.version >= FormatVersion::V2_2;
        let below = Above { depth: above.depth.saturating_sub(1), ..above };
        let in_list = Above { list: true, ..below };
        let lists = !above.fixed_list;
        let choice = if above.depth == 0 { 0 } else { self.rng.below(100) };
        match choice {
            25..50 => {
                let n = self.rng.within(1, 3);
                let children: Vec<Field> = (0..n)
                    .map(|_| {
                        let name = self.name();
                        self.field_named(&name, below)
                    })
                    .collect();
                self.decorated(Field::new_struct(name, children, nullable))
            }
            50..70 if lists => {
                let item = self.item(in_list);
                self.decorated(Field::new_list(name, item, nullable))
            }
            70..80 if lists => {
                let item = self.item(in_list);
                self.decorated(Field::new_large_list(name, item, nullable))
            }
            80..92 if lists && v22 => {
                let key = self.map_key();
                let value = self.field_named("value", Above { depth: below.depth.min(2), ..in_list });
                Field::new_map(name, "entries", key, value, false, nullable)
            }
            92..100 if v22 && !above.list && !above.fixed_list => {
                let n = self.rng.within(1, 2);
                let inside = Above { fixed_list: true, ..below };
                let children: Vec<Field> = (0..n)
                    .map(|_| {
                        let name = self.name();
                        self.field_named(&name, Above { depth: inside.depth.min(2), ..inside })
                    })
                    .collect();
                let item = Field::new_struct("item", children, self.rng.chance(1, 2));
                let dimension = self.rng.within(1, 4) as i32;
                Field::new_fixed_size_list(name, item, dimension, nullable)
            }
            _ => self.leaf(name, nullable, above),
        }
    }

    fn item(&mut self, above: Above) -> Field {
        let name = if self.rng.chance(1, 5) { "element" } else { "item" };
        self.field_named(name, above)
    }

    fn map_key(&mut self) -> Field {
        let types = [
            DataType::Utf8,
            DataType::Int32,
            DataType::UInt64,
            DataType::LargeBinary,
            DataType::FixedSizeBinary(3),
        ];
        Field::new("key", self.rng.pick(&types).clone(), false)
    }

    /// A field without structural children.
    fn leaf(&mut self, name: &str, nullable: bool, above: Above) -> Field {
        let v22 = self.wanted.version >= FormatVersion::V2_2;
        match self.rng.below(40) {
            0..2 if !above.fixed_list => {
                let mut packed = HashMap::new();
                packed.insert(PACKED.to_owned(), "true".to_owned());
                let variable = v22 && self.rng.chance(1, 2);
                let n = self.rng.within(1, 4);
                let children: Vec<Field> = (0..n)
                    .map(|i| {
                        let data_type = match self.rng.below(6) {
                            0 | 1 if variable => self.variable_type(),
                            2 if variable => DataType::FixedSizeList(
                                Arc::new(Field::new("item", DataType::Float32, true)),
                                self.rng.within(1, 4) as i32,
                            ),
                            _ => self.whole_byte_type(),
                        };
                        Field::new(format!("p{i}"), data_type, self.rng.chance(1, 2))
                    })
                    .collect();
                Field::new_struct(name, children, nullable).with_metadata(packed)
            }
            2..6 => {
                let keys = [
                    DataType::Int8,
                    DataType::Int16,
                    DataType::Int32,
                    DataType::Int64,
                    DataType::UInt8,
                    DataType::UInt16,
                    DataType::UInt32,
                    DataType::UInt64,
                ];
                let values = [
                    DataType::Utf8,
                    DataType::LargeUtf8,
                    DataType::Binary,
                    DataType::LargeBinary,
                    DataType::Int8,
                    DataType::UInt16,
                    DataType::Int32,
                    DataType::UInt64,
                    DataType::Float32,
                    DataType::Float64,
                    DataType::Float16,
                ];
                let key = self.rng.pick(&keys).clone();
                let value = self.rng.pick(&values).clone();
                Field::new(name, DataType::Dictionary(Box::new(key), Box::new(value)), nullable)
            }
            6..10 => {
                let mut data_type =
                    if self.rng.chance(1, 6) { DataType::Boolean } else { self.whole_byte_type() };
                for _ in 0..self.rng.within(1, 2) {
                    let dimension = if self.rng.chance(1, 12) { 70 } else { self.rng.within(1, 5) };
                    data_type = DataType::FixedSizeList(
                        Arc::new(Field::new("item", data_type, true)),
                        dimension as i32,
                    );
                }
                self.decorated(Field::new(name, data_type, nullable))
            }
            10 => Field::new(name, DataType::Null, true),
            11..13 => Field::new(name, DataType::Boolean, nullable),
            13..24 => {
                let data_type = self.variable_type();
                let field = self.decorated(Field::new(name, data_type, nullable));
                self.with_knobs(field)
            }
            24 => self.extension(name, nullable),
            _ => {
                let data_type = self.whole_byte_type();
                let field = self.decorated(Field::new(name, data_type, nullable));
                self.with_knobs(field)
            }
        }
    }

    fn extension(&mut self, name: &str, nullable: bool) -> Field {
        let (data_type, extension) = match self.rng.below(5) {
            0 => (DataType::FixedSizeBinary(16), "arrow.uuid"),
            1 => (DataType::Int8, "arrow.bool8"),
            2 => (DataType::Binary, "example.opaque"),
            3 => (
                DataType::FixedSizeList(Arc::new(Field::new("item", DataType::Float32, true)), 6),
                "arrow.fixed_shape_tensor",
            ),
            _ => (DataType::Int32, "example.unknown"),
        };
        let mut metadata = HashMap::new();
        metadata.insert(EXTENSION.to_owned(), extension.to_owned());
        if extension.starts_with("arrow.") {
            metadata.insert("ARROW:extension:metadata".to_owned(), String::new());
        }
        if extension == "arrow.fixed_shape_tensor" {
            metadata.insert("ARROW:extension:metadata".to_owned(), r#"{"shape":[2,3]}"#.to_owned());
        }
        Field::new(name, data_type, nullable).with_metadata(metadata)
    }

    /// Some fields carry metadata.
    fn decorated(&mut self, field: Field) -> Field {
        if !self.rng.chance(1, 12) {
            return field;
        }
        let mut metadata = HashMap::new();
        metadata.insert("note".to_owned(), format!("number {}", self.rng.below(100)));
        metadata.insert("ünï".to_owned(), String::new());
        field.with_metadata(metadata)
    }

    fn variable_type(&mut self) -> DataType {
        self.rng
            .pick(&[
                DataType::Utf8,
                DataType::LargeUtf8,
                DataType::Binary,
                DataType::LargeBinary,
                DataType::Utf8,
            ])
            .clone()
    }

    /// Every type whose values are a fixed number of whole bytes.
    pub fn whole_byte_type(&mut self) -> DataType {
        let units = [TimeUnit::Second, TimeUnit::Millisecond, TimeUnit::Microsecond, TimeUnit::Nanosecond];
        match self.rng.below(27) {
            0 => DataType::Int8,
            1 => DataType::Int16,
            2 | 3 => DataType::Int32,
            4 | 5 => DataType::Int64,
            6 => DataType::UInt8,
            7 => DataType::UInt16,
            8 => DataType::UInt32,
            9 => DataType::UInt64,
            10 => DataType::Float16,
            11 | 12 => DataType::Float32,
            13 => DataType::Float64,
            14 => DataType::Decimal128(self.rng.within(1, 38) as u8, 2),
            15 => DataType::Decimal256(self.rng.within(39, 76) as u8, 5),
            16 => DataType::Date32,
            17 => DataType::Date64,
            18 => DataType::Time32(*self.rng.pick(&units[..2])),
            19 => DataType::Time64(*self.rng.pick(&units[2..])),
            20..23 => {
                let zones = [None, Some("UTC"), Some("America/New_York"), Some("+05:30")];
                DataType::Timestamp(*self.rng.pick(&units), self.rng.pick(&zones).map(Arc::from))
            }
            23 => DataType::Duration(*self.rng.pick(&units)),
            24 => DataType::FixedSizeBinary(*self.rng.pick(&[1, 2, 3, 8, 16, 33])),
            25 if self.wanted.long_values => DataType::FixedSizeBinary(300),
            _ => DataType::Int32,
        }
    }

    /// Some leaves ask for an encoding through their metadata.
    fn with_knobs(&mut self, field: Field) -> Field {
        if !self.rng.chance(1, 4) {
            return field;
        }
        let mut metadata = field.metadata().clone();
        let mut knob =
            |name: &str, value: &str| metadata.insert(format!("lance-encoding:{name}"), value.to_owned());
        match self.rng.below(8) {
            0 => knob("compression", "none"),
            1 => knob("compression", "lz4"),
            2 => knob("compression", "zstd"),
            3 => knob("compression", "fsst"),
            4 => {
                knob("compression", "zstd");
                knob("bss", "on")
            }
            5 => knob("rle-threshold", "1.0"),
            6 => knob("dict-divisor", "1"),
            _ => knob("minichunk-size", "512"),
        };
        field.with_metadata(metadata)
    }

    // ---- data

    /// Several batches of one schema; some may be empty.
    pub fn batches(&mut self, schema: &SchemaRef, rows: usize) -> Vec<RecordBatch> {
        let parts = *self.rng.pick(&[1, 1, 2, 3]);
        let mut left = rows;
        self.parts = parts;
        let mut out = Vec::new();
        for part in 0..parts {
            let n = if part + 1 == parts { left } else { self.rng.below(left + 1) };
            left -= n;
            out.push(self.batch(schema, n));
        }
        out
    }

    pub fn batch(&mut self, schema: &SchemaRef, rows: usize) -> RecordBatch {
        let columns = schema.fields().iter().map(|f| self.array(f, rows)).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(schema.clone(), columns, &options)
            .expect("generated columns fit their schema")
    }

    /// `len` values for `field`, often a slice of more.
    pub fn array(&mut self, field: &Field, len: usize) -> ArrayRef {
        if self.rng.chance(1, 4) {
            let (before, after) = (self.rng.below(11), self.rng.below(4));
            return self.unsliced(field, before + len + after, true).slice(before, len);
        }
        self.unsliced(field, len, true)
    }

    pub fn unsliced(&mut self, field: &Field, len: usize, may_be_null: bool) -> ArrayRef {
        // 2.0 has no place for nulls of structs.
        let holds_nulls =
            self.wanted.version > FormatVersion::V2_0 || !matches!(field.data_type(), DataType::Struct(_));
        let may_be_null = may_be_null && holds_nulls;
        let mut nulls = if field.is_nullable() && may_be_null { self.nulls(len) } else { None };
        let is_leaf =
            !field.data_type().is_nested() || matches!(field.data_type(), DataType::FixedSizeList(..));
        if is_leaf && self.null_leaves && field.is_nullable() {
            nulls = Some(NullBuffer::new_null(len));
        }
        let packed = field.metadata().contains_key(PACKED);
        match field.data_type() {
            DataType::Null => Arc::new(NullArray::new(len)),
            DataType::Boolean => {
                let words = self.words(len);
                Arc::new(BooleanArray::new(BooleanBuffer::collect_bool(len, |i| words[i] & 1 == 1), nulls))
            }
            DataType::Utf8 => self.strings::<i32>(len, nulls),
            DataType::LargeUtf8 => self.strings::<i64>(len, nulls),
            DataType::Binary => self.binaries::<i32>(len, nulls),
            DataType::LargeBinary => self.binaries::<i64>(len, nulls),
            DataType::Struct(fields) if fields.is_empty() => {
                Arc::new(StructArray::new_empty_fields(len, nulls))
            }
            DataType::Struct(fields) => {
                let children = fields
                    .iter()
                    .map(|f| if packed { self.unsliced(f, len, false) } else { self.array(f, len) })
                    .collect();
                Arc::new(StructArray::new(fields.clone(), children, nulls))
            }
            DataType::List(item) => self.list::<i32>(item, len, nulls),
            DataType::LargeList(item) => self.list::<i64>(item, len, nulls),
            DataType::Map(entries, sorted) => {
                let (offsets, items) = self.offsets::<i32>(len);
                let DataType::Struct(fields) = entries.data_type() else {
                    unreachable!("map entries are a struct")
                };
                let children = fields.iter().map(|f| self.array(f, items)).collect();
                let values = StructArray::new(fields.clone(), children, None);
                Arc::new(MapArray::new(entries.clone(), offsets, values, nulls, *sorted))
            }
            DataType::FixedSizeList(item, dimension) => {
                let n = len * *dimension as usize;
                let values = if self.null_items && !matches!(item.data_type(), DataType::FixedSizeList(..)) {
                    arrow_array::new_null_array(item.data_type(), n)
                } else if may_be_null && !self.null_items {
                    self.array(item, n)
                } else {
                    self.unsliced(item, n, false)
                };
                let lists =
                    FixedSizeListArray::try_new_with_length(item.clone(), *dimension, values, nulls, len);
                Arc::new(lists.expect("items of every list"))
            }
            DataType::Dictionary(key, value) => self.dictionary(key, value, len, nulls, field.is_nullable()),
            other if is_mapped(other) => self.mapped(other, len, nulls),
            other => self.fixed(other, len, nulls),
        }
    }

    /// Null buffers of every density, also in runs; `None` is none.
    pub fn nulls(&mut self, len: usize) -> Option<NullBuffer> {
        let valid: BooleanBuffer = match self.rng.below(8) {
            0..2 => return None,
            2 => BooleanBuffer::new_set(len),
            3 => BooleanBuffer::new_unset(len),
            4 => BooleanBuffer::collect_bool(len, |_| !self.rng.chance(1, 50)),
            5 => BooleanBuffer::collect_bool(len, |_| self.rng.chance(1, 30)),
            6 => {
                let mut left = 0;
                let mut valid = false;
                BooleanBuffer::collect_bool(len, |_| {
                    if left == 0 {
                        left = self.rng.within(1, 90);
                        valid = !valid;
                    }
                    left -= 1;
                    valid
                })
            }
            _ => BooleanBuffer::collect_bool(len, |_| self.rng.chance(1, 2)),
        };
        Some(NullBuffer::new(valid))
    }

    /// Offsets of `len` lists and the items they may reach.
    fn offsets<O: OffsetSizeTrait>(&mut self, len: usize) -> (OffsetBuffer<O>, usize) {
        let mut at = if self.rng.chance(1, 3) { self.rng.below(6) } else { 0 };
        let mode = self.rng.below(6);
        let long = self.rng.below(len.max(1));
        let mut offsets = vec![O::usize_as(at)];
        for i in 0..len {
            at += match mode {
                0 => 0,
                1 => usize::from(self.rng.chance(1, 20)),
                2 => 1,
                3 if i == long => self.rng.within(10, 1500),
                4 => self.rng.within(1, 3),
                _ => self.rng.below(4),
            };
            offsets.push(O::usize_as(at));
        }
        (OffsetBuffer::new(offsets.into()), at + self.rng.below(4))
    }

    fn list<O: OffsetSizeTrait>(
        &mut self,
        item: &FieldRef,
        len: usize,
        nulls: Option<NullBuffer>,
    ) -> ArrayRef {
        let (offsets, items) = self.offsets::<O>(len);
        let values = self.array(item, items);
        Arc::new(GenericListArray::<O>::new(item.clone(), offsets, values, nulls))
    }

    fn dictionary(
        &mut self,
        key: &DataType,
        value: &DataType,
        len: usize,
        nulls: Option<NullBuffer>,
        null_values: bool,
    ) -> ArrayRef {
        let room = match key {
            DataType::Int8 if self.parts == 1 => 128,
            DataType::UInt8 if self.parts == 1 => 256,
            DataType::Int8 | DataType::UInt8 => 40,
            _ => 700,
        };
        let mut num_values = (*self.rng.pick(&[1, 2, 3, 10, 100, room])).min(room);
        let all_null = nulls.as_ref().is_some_and(|n| n.null_count() == len);
        if (all_null || len == 0) && self.rng.chance(1, 2) {
            num_values = 0;
        }
        let field = Field::new("values", value.clone(), null_values && self.rng.chance(1, 4));
        let values = self.unsliced(&field, num_values.min(room), true);
        let words = self.words(len);
        // Under a null the key may be anything.
        let keys: Vec<u64> = (0..len)
            .map(|i| {
                let valid = nulls.as_ref().is_none_or(|n| n.is_valid(i));
                if valid { words[i] % num_values.max(1) as u64 } else { words[i] % room.min(120) as u64 }
            })
            .collect();
        macro_rules! dictionary {
            ($t:ty) => {{
                let keys: ScalarBuffer<<$t as ArrowPrimitiveType>::Native> =
                    keys.iter().map(|k| *k as _).collect();
                Arc::new(DictionaryArray::<$t>::new(PrimitiveArray::new(keys, nulls), values))
            }};
        }
        match key {
            DataType::Int8 => dictionary!(Int8Type),
            DataType::Int16 => dictionary!(Int16Type),
            DataType::Int32 => dictionary!(Int32Type),
            DataType::Int64 => dictionary!(Int64Type),
            DataType::UInt8 => dictionary!(UInt8Type),
            DataType::UInt16 => dictionary!(UInt16Type),
            DataType::UInt32 => dictionary!(UInt32Type),
            _ => dictionary!(UInt64Type),
        }
    }

    /// Any type whose values are a fixed number of bytes, built from raw bytes.
    fn fixed(&mut self, data_type: &DataType, len: usize, nulls: Option<NullBuffer>) -> ArrayRef {
        let width = width_of(data_type);
        let words = self.words(len);
        let plain_floats = self.rng.chance(1, 2);
        let mut bytes = Vec::with_capacity(width * len);
        for word in words {
            let start = bytes.len();
            match data_type {
                DataType::Float16 if plain_floats => {
                    bytes.extend_from_slice(&half_bits((word % 512) as u16).to_le_bytes());
                }
                DataType::Float32 if plain_floats => {
                    bytes.extend_from_slice(&((word % 100_000) as f32 / 8.0).to_le_bytes())
                }
                DataType::Float64 if plain_floats => {
                    bytes.extend_from_slice(&((word % 10_000_000) as f64 / 8.0).to_le_bytes())
                }
                DataType::Float64 if word % 5 == 0 => {
                    let odd = [f64::NAN, -0.0, 0.0, f64::INFINITY, 5e-324, f64::MIN];
                    bytes.extend_from_slice(&odd[(word / 5 % 6) as usize].to_le_bytes());
                }
                DataType::Float32 if word % 5 == 0 => {
                    let odd = [f32::NAN, -0.0, 0.0, f32::INFINITY, 1e-45, f32::MIN];
                    bytes.extend_from_slice(&odd[(word / 5 % 6) as usize].to_le_bytes());
                }
                DataType::Decimal128(precision, _) => {
                    let bound = 10_i128.pow(u32::from(*precision));
                    let value = (i128::from(word as i64) << (word % 60)) % bound;
                    bytes.extend_from_slice(&value.to_le_bytes());
                }
                _ => {
                    // Sign extension: wide values (decimals) stay small numbers of either sign.
                    let fill = if (word as i64) < 0 { 0xff } else { 0 };
                    bytes.extend_from_slice(&word.to_le_bytes()[..width.min(8)]);
                    bytes.resize(start + width, fill);
                    if width > 32 {
                        // Binary: not only zeros.
                        bytes[start + 8..].iter_mut().step_by(5).for_each(|b| *b = word as u8);
                    }
                }
            }
        }
        let data = ArrayData::builder(data_type.clone())
            .len(len)
            .nulls(nulls)
            .add_buffer(Buffer::from_slice_ref(&bytes))
            .build()
            .expect("raw bytes of the right length");
        make_array(data)
    }

    fn strings<O: OffsetSizeTrait>(&mut self, len: usize, nulls: Option<NullBuffer>) -> ArrayRef {
        let words = self.words(len);
        let mode = self.text_mode(len);
        let values = words.iter().map(|w| text(mode, *w));
        let plain = GenericStringArray::<O>::from_iter_values(values);
        let (offsets, values, _) = plain.into_parts();
        Arc::new(GenericStringArray::<O>::new(offsets, values, nulls))
    }

    fn binaries<O: OffsetSizeTrait>(&mut self, len: usize, nulls: Option<NullBuffer>) -> ArrayRef {
        let words = self.words(len);
        let mode = self.text_mode(len);
        let raw = self.rng.chance(1, 2);
        let values = words.iter().map(|w| {
            let mut bytes = text(mode, *w).into_bytes();
            if raw {
                let mut rng = Rng::new(*w);
                bytes.iter_mut().for_each(|b| *b = rng.word() as u8);
            }
            bytes
        });
        let plain = GenericBinaryArray::<O>::from_iter_values(values);
        let (offsets, values, _) = plain.into_parts();
        Arc::new(GenericBinaryArray::<O>::new(offsets, values, nulls))
    }

    fn text_mode(&mut self, len: usize) -> usize {
        let long = self.wanted.long_values && len <= 200;
        self.rng.below(if long { 7 } else { 6 })
    }

    /// `len` words of one of the distributions that codecs care about.
    pub fn words(&mut self, len: usize) -> Vec<u64> {
        let rng = &mut self.rng;
        match self.only.unwrap_or_else(|| rng.below(9)) {
            0 => vec![rng.word(); len],
            1 => {
                let longest = *rng.pick(&[3, 40, 700]);
                let mut out = Vec::with_capacity(len);
                while out.len() < len {
                    let word = if longest == 3 { rng.word() } else { rng.word() % 50 };
                    let run = rng.within(1, longest).min(len - out.len());
                    out.resize(out.len() + run, word);
                }
                out
            }
            2 => {
                let bits = rng.within(0, 20);
                (0..len).map(|_| rng.word() & ((1 << bits) - 1)).collect()
            }
            3 => {
                let mut out: Vec<u64> = (0..len).map(|_| rng.word() % 100_000).collect();
                out.sort_unstable();
                out
            }
            4 => {
                let distinct: Vec<u64> = (0..rng.within(2, 20)).map(|_| rng.word()).collect();
                (0..len).map(|_| *rng.pick(&distinct)).collect()
            }
            5 => {
                let odd =
                    [0, 1, u64::MAX, i64::MAX as u64, i64::MIN as u64, 0x7fff_ffff, 0x8000_0000, 255, 256];
                (0..len).map(|_| *rng.pick(&odd)).collect()
            }
            6 => {
                let (start, step) = (rng.below(1000) as u64, rng.below(3) as u64);
                (0..len as u64).map(|i| start + i * step).collect()
            }
            9 => (0..len as u64).map(|i| (i / 7) % 23).collect(),
            _ => (0..len).map(|_| rng.word()).collect(),
        }
    }
}

/// The text of `word` in one of seven manners: a function of its arguments.
fn text(mode: usize, word: u64) -> String {
    let mut rng = Rng::new(word);
    match mode {
        0 => word.to_string(),
        1 => format!("value-{}", word % 7),
        2 | 3 => {
            let words = [
                "the", "quick", "columnar", "file", "reads", "a", "page", "of", "values", "and", "levels",
                "https://", ".org/",
            ];
            (0..rng.within(1, 16)).map(|_| *rng.pick(&words)).collect::<Vec<_>>().join(" ")
        }
        4 => {
            let letters = ['a', 'é', '漢', '🦀', '\0', ' '];
            (0..rng.below(12)).map(|_| *rng.pick(&letters)).collect()
        }
        5 if word.is_multiple_of(3) => String::new(),
        6 => {
            let bytes = rng.within(200, 3000);
            (0..bytes).map(|_| (b'a' + (rng.word() % 13) as u8) as char).collect()
        }
        _ => format!("{:x}", word % 100_000),
    }
}

/// Bits of the half-precision number n/4 for small n.
fn half_bits(n: u16) -> u16 {
    if n == 0 {
        return 0;
    }
    let exponent = 15 - n.leading_zeros() as u16;
    ((exponent + 15 - 2) << 10) | ((n << (10 - exponent.min(10))) & 0x3ff)
}

/// Bytes of one value of a type made of whole bytes.
pub fn width_of(data_type: &DataType) -> usize {
    match data_type {
        DataType::FixedSizeBinary(n) => *n as usize,
        DataType::Interval(IntervalUnit::MonthDayNano) => 16,
        other => other.primitive_width().unwrap_or_else(|| panic!("{other} has no fixed width")),
    }
}
