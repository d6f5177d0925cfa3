//! Blob columns on their way into a file: the bytes go ahead of the pages, descriptors take their place.
//!
//! ```text
//! batch   x: null  ""  30 bytes  1000 bytes
//! file    | 30 bytes | padding | 1000 bytes | padding |        each at a multiple of 64
//! column  null  (0, 0)  (0, 30)  (64, 1000)                    position and size, rows until there is a page
//! page    (0x10000, 0)  (0, 0)  (0, 30)  (64, 1000)            no nulls: they are levels inside of positions
//! ```
//!
//! See docs/format/blobs.md. What is held of a batch is its descriptors; its bytes are handed over at once.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{
    Array, ArrayRef, LargeBinaryArray, LargeListArray, ListArray, OffsetSizeTrait, StructArray, UInt64Array,
};
use arrow_buffer::{BooleanBuffer, BooleanBufferBuilder, NullBuffer, OffsetBuffer};
use arrow_schema::{DataType, FieldRef};
use bytes::Bytes;

use crate::array::shred::LeafPath;
use crate::choose::{self, Encoded, Tuning};
use crate::container::{ContainerEncoder, PADDING_BYTE};
use crate::page::{BlobLayout, Layout, LeafPage};
use crate::schema::{FieldKind, kind_of};
use crate::{Error, Result};

/// Blobs start at multiples of this.
const ALIGN: usize = 64;
/// Blobs up to this size are gathered, which costs a copy; larger ones are handed over as they are.
const GATHERED: usize = 64 << 10;
/// Bytes gathered before they are handed over.
const GATHER_BYTES: usize = 1 << 20;

/// Whether a leaf's pages hold descriptors.
pub(super) fn is_blob(path: &LeafPath) -> bool {
    kind_of(&path.field) == FieldKind::Blob
}

/// Whether a field is a blob or has one inside.
pub(super) fn has_blobs(field: &arrow_schema::Field) -> bool {
    if kind_of(field) == FieldKind::Blob {
        return true;
    }
    match field.data_type() {
        DataType::Struct(children) => children.iter().any(|child| has_blobs(child)),
        DataType::List(item) | DataType::LargeList(item) => has_blobs(item),
        _ => false,
    }
}

/// The pages of a leaf's rows: for a blob, of its descriptors.
pub(super) fn encode(page: LeafPage, path: &LeafPath, tuning: &Tuning) -> Result<Encoded> {
    if !is_blob(path) {
        return choose::encode(page, tuning);
    }
    let (descriptors, layers) = page.into_descriptors()?;
    let mut encoded = choose::encode(descriptors, tuning)?;
    for page in &mut encoded.pages {
        let inner = Box::new(page.layout.clone());
        page.layout = Layout::Blob(BlobLayout { inner, layers: layers.clone() });
    }
    Ok(encoded)
}

/// Appends the bytes of all blobs in `array` to the file; the array with descriptors in their place. `field` is the
/// field of the result.
pub(super) fn move_out(
    container: &mut ContainerEncoder,
    field: &FieldRef,
    array: &ArrayRef,
) -> Result<ArrayRef> {
    let mut mover = Mover { container, gathered: Vec::new(), pending: Vec::new(), ranges: Vec::new() };
    let mut moved = Vec::new();
    mover.collect(field, array, None, &mut moved)?;
    mover.hand_over();
    let mut ranges = mover.ranges.into_iter();
    put_back(field, array, &mut moved.into_iter(), &mut ranges)
}

struct Mover<'a> {
    container: &'a mut ContainerEncoder,
    /// Small blobs, each at a multiple of 64.
    gathered: Vec<u8>,
    /// For each of them, where its range goes, and where it is among the gathered.
    pending: Vec<(usize, usize)>,
    /// Position and size of every blob met, in order.
    ranges: Vec<(u64, u64)>,
}

impl Mover<'_> {
    /// Appends the blobs at or below a field, in the order of its leaves; `visible` are the slots that have a place in
    /// the file, all if `None`. Notes how many each leaf has.
    fn collect(
        &mut self,
        field: &FieldRef,
        array: &ArrayRef,
        visible: Option<&NullBuffer>,
        moved: &mut Vec<usize>,
    ) -> Result<()> {
        if !has_blobs(field) {
            return Ok(());
        }
        let visible = NullBuffer::union(visible, array.nulls());
        if kind_of(field) == FieldKind::Blob {
            let Some(values) = array.as_binary_opt::<i64>() else {
                return Err(Error::invalid(format!("blobs in an array of type {}", array.data_type())));
            };
            self.append(values, visible.as_ref());
            moved.push(values.len());
            return Ok(());
        }
        match (field.data_type(), array.data_type()) {
            (DataType::Struct(children), DataType::Struct(_)) => {
                let columns = array.as_struct().columns();
                children
                    .iter()
                    .zip(columns)
                    .try_for_each(|(child, column)| self.collect(child, column, visible.as_ref(), moved))
            }
            (DataType::List(item), DataType::List(_)) => {
                let list = array.as_list::<i32>();
                let items = items_of(list.offsets(), list.values().len(), visible.as_ref());
                self.collect(item, list.values(), Some(&items), moved)
            }
            (DataType::LargeList(item), DataType::LargeList(_)) => {
                let list = array.as_list::<i64>();
                let items = items_of(list.offsets(), list.values().len(), visible.as_ref());
                self.collect(item, list.values(), Some(&items), moved)
            }
            (_, found) => Err(Error::unsupported(format!("blobs inside of {found}"))),
        }
    }

    fn append(&mut self, values: &LargeBinaryArray, visible: Option<&NullBuffer>) {
        let data = values.values();
        for (slot, ends) in values.offsets().windows(2).enumerate() {
            let (start, end) = (ends[0] as usize, ends[1] as usize);
            let bytes = &data.as_slice()[start..end];
            if bytes.is_empty() || visible.is_some_and(|v| v.is_null(slot)) {
                self.ranges.push((0, 0));
            } else if bytes.len() <= GATHERED {
                self.pending.push((self.ranges.len(), self.gathered.len()));
                self.ranges.push((0, bytes.len() as u64));
                self.gathered.extend_from_slice(bytes);
                self.gathered.resize(self.gathered.len().next_multiple_of(ALIGN), PADDING_BYTE);
                if self.gathered.len() >= GATHER_BYTES {
                    self.hand_over();
                }
            } else {
                // Blobs stand in the order of their rows.
                self.hand_over();
                let shared = Bytes::from_owner(Shared(data.slice_with_length(start, end - start)));
                let range = self.container.append_buffer(shared);
                self.ranges.push((range.start, range.end - range.start));
            }
        }
    }

    fn hand_over(&mut self) {
        if self.gathered.is_empty() {
            return;
        }
        let start = self.container.append_buffer(std::mem::take(&mut self.gathered).into()).start;
        for (index, at) in self.pending.drain(..) {
            self.ranges[index].0 = start + at as u64;
        }
    }
}

/// A part of an array's buffer.
struct Shared(arrow_buffer::Buffer);

impl AsRef<[u8]> for Shared {
    fn as_ref(&self) -> &[u8] {
        self.0.as_slice()
    }
}

/// The items that visible lists have.
fn items_of<O: OffsetSizeTrait>(
    offsets: &OffsetBuffer<O>,
    num_items: usize,
    visible: Option<&NullBuffer>,
) -> NullBuffer {
    let mut items = BooleanBufferBuilder::new(num_items);
    for (list, ends) in offsets.windows(2).enumerate() {
        let (start, end) = (ends[0].as_usize(), ends[1].as_usize());
        items.append_n(start.saturating_sub(items.len()), false);
        items.append_n(end - start, visible.is_none_or(|v| v.is_valid(list)));
    }
    items.append_n(num_items - items.len(), false);
    let items: BooleanBuffer = items.build();
    NullBuffer::new(items)
}

/// The array with descriptors where blobs were.
fn put_back(
    field: &FieldRef,
    array: &ArrayRef,
    moved: &mut std::vec::IntoIter<usize>,
    ranges: &mut std::vec::IntoIter<(u64, u64)>,
) -> Result<ArrayRef> {
    if !has_blobs(field) {
        return Ok(array.clone());
    }
    let nulls = array.nulls().cloned();
    match field.data_type() {
        _ if kind_of(field) == FieldKind::Blob => {
            let count = moved.next().unwrap_or(0);
            let (positions, sizes): (Vec<u64>, Vec<u64>) = ranges.by_ref().take(count).unzip();
            let DataType::Struct(fields) = crate::schema::blob::range_type() else {
                unreachable!("a position and a size are a struct")
            };
            let columns: Vec<ArrayRef> =
                vec![Arc::new(UInt64Array::from(positions)), Arc::new(UInt64Array::from(sizes))];
            Ok(Arc::new(StructArray::try_new(fields, columns, nulls).map_err(wrong)?))
        }
        DataType::Struct(children) => {
            let columns = children.iter().zip(array.as_struct().columns());
            let columns = columns.map(|(child, column)| put_back(child, column, moved, ranges));
            let columns = columns.collect::<Result<Vec<_>>>()?;
            // The children's types as they are: names of list items may differ from the schema's.
            let fields = children.iter().zip(&columns).map(|(child, column)| {
                let field = child.as_ref().clone().with_data_type(column.data_type().clone());
                Arc::new(field.with_nullable(true))
            });
            let array = StructArray::try_new_with_length(fields.collect(), columns, nulls, array.len());
            Ok(Arc::new(array.map_err(wrong)?))
        }
        DataType::List(item) => {
            let list = array.as_list::<i32>();
            let items = put_back(item, list.values(), moved, ranges)?;
            let item =
                Arc::new(item.as_ref().clone().with_data_type(items.data_type().clone()).with_nullable(true));
            let array = ListArray::try_new(item, list.offsets().clone(), items, nulls);
            Ok(Arc::new(array.map_err(wrong)?))
        }
        DataType::LargeList(item) => {
            let list = array.as_list::<i64>();
            let items = put_back(item, list.values(), moved, ranges)?;
            let item =
                Arc::new(item.as_ref().clone().with_data_type(items.data_type().clone()).with_nullable(true));
            let array = LargeListArray::try_new(item, list.offsets().clone(), items, nulls);
            Ok(Arc::new(array.map_err(wrong)?))
        }
        other => Err(Error::unsupported(format!("blobs inside of {other}"))),
    }
}

fn wrong(e: arrow_schema::ArrowError) -> Error {
    Error::invalid(format!("an array that contradicts itself: {e}"))
}
