//! Random data of the types that the format has no names for, and random nestings of all types.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, BinaryViewArray, GenericListViewArray, OffsetSizeTrait, StringViewArray, UnionArray,
    cast::AsArray, make_array,
};
use arrow_buffer::{Buffer, NullBuffer, ScalarBuffer};
use arrow_data::ArrayData;
use arrow_schema::{DataType, Field, FieldRef, Fields, IntervalUnit, TimeUnit, UnionFields, UnionMode};

use super::generate::Generator;

/// Whether [`Generator::mapped`] makes values of a type.
pub fn is_mapped(data_type: &DataType) -> bool {
    matches!(
        data_type,
        DataType::Utf8View
            | DataType::BinaryView
            | DataType::FixedSizeBinary(0)
            | DataType::ListView(_)
            | DataType::LargeListView(_)
            | DataType::Union(..)
            | DataType::RunEndEncoded(..)
    )
}

impl Generator {
    pub fn mapped(&mut self, data_type: &DataType, len: usize, nulls: Option<NullBuffer>) -> ArrayRef {
        match data_type {
            DataType::Utf8View => {
                let plain = self.unsliced(&Field::new("f", DataType::Utf8, false), len, false);
                let views = StringViewArray::from(plain.as_string::<i32>());
                let (views, buffers, _) = views.into_parts();
                Arc::new(StringViewArray::new(views, buffers, nulls))
            }
            DataType::BinaryView => {
                let plain = self.unsliced(&Field::new("f", DataType::Binary, false), len, false);
                let (views, buffers, _) = BinaryViewArray::from(plain.as_binary::<i32>()).into_parts();
                Arc::new(BinaryViewArray::new(views, buffers, nulls))
            }
            DataType::FixedSizeBinary(_) => {
                let data = ArrayData::builder(data_type.clone()).len(len).nulls(nulls);
                make_array(data.add_buffer(Buffer::from_vec(Vec::<u8>::new())).build().expect("no bytes"))
            }
            DataType::ListView(item) => self.list_view::<i32>(item, len, nulls),
            DataType::LargeListView(item) => self.list_view::<i64>(item, len, nulls),
            DataType::Union(fields, mode) => self.union(fields, *mode, len),
            DataType::RunEndEncoded(ends, values) => self.runs(data_type, ends, values, len),
            other => panic!("{other} is not mapped"),
        }
    }

    /// In order, or anywhere, overlapping.
    fn list_view<O: OffsetSizeTrait>(
        &mut self,
        item: &FieldRef,
        len: usize,
        nulls: Option<NullBuffer>,
    ) -> ArrayRef {
        let in_order = self.rng.chance(1, 2);
        let num_items = if in_order { 2 * len } else { 1 + self.rng.below(2 * len + 1) };
        let (mut offsets, mut sizes) = (Vec::new(), Vec::new());
        let mut at = 0;
        for _ in 0..len {
            let size = self.rng.below(3).min(num_items - at);
            offsets.push(O::usize_as(at));
            sizes.push(O::usize_as(size));
            at = if in_order { at + size } else { self.rng.below(num_items) };
        }
        let items = self.array(item, num_items);
        let view = GenericListViewArray::<O>::new(item.clone(), offsets.into(), sizes.into(), items, nulls);
        Arc::new(view)
    }

    fn union(&mut self, fields: &UnionFields, mode: UnionMode, len: usize) -> ArrayRef {
        let ids: Vec<i8> = fields.iter().map(|(id, _)| id).collect();
        let type_ids: Vec<i8> = (0..len).map(|_| *self.rng.pick(&ids)).collect();
        let mut children = Vec::new();
        let mut offsets = None;
        match mode {
            UnionMode::Sparse => {
                children.extend(fields.iter().map(|(_, field)| self.array(field, len)));
            }
            UnionMode::Dense => {
                let mut counts = [0; 128];
                let of = type_ids.iter().map(|id| {
                    // Now and then a value is used twice.
                    counts[*id as usize] += i32::from(counts[*id as usize] == 0 || self.rng.chance(7, 8));
                    counts[*id as usize] - 1
                });
                offsets = Some(ScalarBuffer::from(of.collect::<Vec<i32>>()));
                for (id, field) in fields.iter() {
                    children.push(self.array(field, counts[id as usize] as usize));
                }
            }
        }
        let union = UnionArray::try_new(fields.clone(), type_ids.into(), offsets, children);
        Arc::new(union.expect("children of a union"))
    }

    fn runs(&mut self, data_type: &DataType, ends: &FieldRef, values: &FieldRef, len: usize) -> ArrayRef {
        let (mut all, mut at) = (Vec::new(), 0);
        while at < len {
            at = len.min(at + self.rng.within(1, 12));
            all.push(at);
        }
        let buffer = match ends.data_type() {
            DataType::Int16 => Buffer::from_vec(all.iter().map(|e| *e as i16).collect::<Vec<_>>()),
            DataType::Int32 => Buffer::from_vec(all.iter().map(|e| *e as i32).collect::<Vec<_>>()),
            _ => Buffer::from_vec(all.iter().map(|e| *e as i64).collect::<Vec<_>>()),
        };
        let run_ends = ArrayData::builder(ends.data_type().clone()).len(all.len()).add_buffer(buffer);
        let values = self.array(values, all.len());
        let data = ArrayData::builder(data_type.clone())
            .len(len)
            .add_child_data(run_ends.build().expect("run ends"))
            .add_child_data(values.to_data());
        make_array(data.build().expect("runs"))
    }

    /// A field of any type that Arrow has, nested up to `depth` deep.
    pub fn field_of_any_type(&mut self, name: &str, depth: usize) -> Field {
        let data_type = self.any_type(depth);
        // Runs and unions are null where their values are, which fields around them take for their own nulls.
        let nullable = has_virtual_nulls(&data_type) || self.rng.chance(4, 5);
        let is_dictionary = matches!(data_type, DataType::Dictionary(..));
        let field = Field::new(name, data_type, nullable);
        if is_dictionary && self.rng.chance(1, 3) {
            return field.with_dict_is_ordered(true);
        }
        field
    }

    fn child(&mut self, name: &str, depth: usize) -> FieldRef {
        let name = if self.rng.chance(1, 5) { "ö [x]/y" } else { name };
        let mut field = self.field_of_any_type(name, depth);
        if self.rng.chance(1, 8) {
            field = field.with_metadata(HashMap::from([("k;=".to_owned(), "v%/]".to_owned())]));
        }
        Arc::new(field)
    }

    fn any_type(&mut self, depth: usize) -> DataType {
        use DataType::*;
        let Some(depth) = depth.checked_sub(1) else { return self.any_flat_type() };
        match self.rng.below(14) {
            0 => List(self.child("item", depth)),
            1 => LargeList(self.child("element", depth)),
            2 => ListView(self.child("item", depth)),
            3 => LargeListView(self.child("item", depth)),
            4..=6 => {
                let size = *self.rng.pick(&[0, 1, 2, 2, 3]);
                FixedSizeList(self.child("item", depth), size)
            }
            7 | 8 => {
                let fields = 1 + self.rng.below(3);
                Struct((0..fields).map(|i| self.child(&format!("f{i}"), depth)).collect::<Fields>())
            }
            9 => {
                let key = Field::new("key", self.any_flat_type(), false);
                let pair = Fields::from(vec![Arc::new(key), self.child("value", depth)]);
                let sorted = self.rng.chance(1, 2);
                Map(Arc::new(Field::new("entries", Struct(pair), false)), sorted)
            }
            10 | 11 => {
                let mode = *self.rng.pick(&[UnionMode::Sparse, UnionMode::Dense]);
                let count = 1 + self.rng.below(3);
                let ids = [5i8, 0, 127];
                let fields = (0..count).map(|i| (ids[i], self.child(&format!("u{i}"), depth)));
                let (ids, fields): (Vec<i8>, Vec<FieldRef>) = fields.unzip();
                Union(UnionFields::try_new(ids, fields).expect("ids differ"), mode)
            }
            12 => {
                let ends = self.rng.pick(&[Int16, Int32, Int64]).clone();
                let values = self.child("values", depth);
                RunEndEncoded(Arc::new(Field::new("run_ends", ends, false)), values)
            }
            _ => {
                let key = self.rng.pick(&[Int16, Int32, UInt16, Int64]).clone();
                // Arrow's own checks do not look through runs and unions under a dictionary.
                let value = loop {
                    let value = self.any_type(depth.min(1));
                    if !has_virtual_nulls(&value) {
                        break value;
                    }
                };
                Dictionary(Box::new(key), Box::new(value))
            }
        }
    }

    fn any_flat_type(&mut self) -> DataType {
        use DataType::*;
        let all = [
            Boolean,
            Int8,
            UInt16,
            Int32,
            Int64,
            Float16,
            Float64,
            Utf8,
            LargeUtf8,
            Binary,
            Utf8View,
            BinaryView,
            FixedSizeBinary(0),
            FixedSizeBinary(5),
            Decimal32(9, 2),
            Decimal64(18, -3),
            Decimal128(38, 2),
            Decimal256(76, 2),
            Interval(IntervalUnit::YearMonth),
            Interval(IntervalUnit::DayTime),
            Interval(IntervalUnit::MonthDayNano),
            Timestamp(TimeUnit::Second, Some("America/New_York".into())),
            Date32,
            Duration(TimeUnit::Nanosecond),
        ];
        self.rng.pick(&all).clone()
    }
}

/// Whether an array of this type may be null without a bit that says so.
fn has_virtual_nulls(data_type: &DataType) -> bool {
    match data_type {
        DataType::Union(..) | DataType::RunEndEncoded(..) => true,
        DataType::Struct(fields) => fields.iter().any(|f| has_virtual_nulls(f.data_type())),
        DataType::List(f)
        | DataType::LargeList(f)
        | DataType::ListView(f)
        | DataType::LargeListView(f)
        | DataType::Map(f, _)
        | DataType::FixedSizeList(f, _) => has_virtual_nulls(f.data_type()),
        DataType::Dictionary(_, value) => has_virtual_nulls(value),
        _ => false,
    }
}
