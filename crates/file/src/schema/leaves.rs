//! Leaves: the fields that own a stored column, in the order of the columns.
//!
//! ```text
//! x: int32                   column 0   x          layers [Item]
//! y: struct
//!   a: int32                 column 1   y.a        layers [Item, Item]
//!   b: list
//!     item: struct
//!       c: string            column 2   y.b.item.c layers [Item, Item, List, Item]   innermost first
//! ```
//!
//! Structure has no column of its own: each leaf carries the levels of everything above it. In 2.0 structs and lists
//! have one, before those of their children: above, y is column 1, y.a 2, y.b 3, its item 4 and y.b.item.c 5.
//! See docs/format/container.md, "From fields to columns".

use arrow_schema::{DataType, FieldRef};

use super::{Field, FieldKind, Schema, blob};
use crate::encoding::ValueType;
use crate::{Error, FormatVersion, Result};

/// One step of nesting, as a page's layers list them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Nesting {
    /// A value or a struct: may be null.
    Item,
    /// A list or map: may be null or empty.
    List,
    /// A fixed-size list of structs with this dimension: may be null.
    FixedSizeList(u64),
}

/// What the column of a leaf holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LeafKind {
    /// Values.
    Values,
    /// Rows of a packed struct.
    PackedStruct,
    /// Positions and sizes of bytes elsewhere in the file.
    Blob,
    /// Descriptors of bytes in the file or in others.
    BlobDescriptor,
    /// Nothing: a struct without children.
    EmptyStruct,
}

/// A field that owns a stored column.
#[derive(Debug, Clone)]
pub(crate) struct Leaf {
    /// Index of the stored column.
    pub(crate) column: u32,
    /// Where the field is, as in `y.b.item.c`.
    pub(crate) path: String,
    /// Innermost first; the first is the leaf itself.
    pub(crate) layers: Vec<Nesting>,
    pub(crate) kind: LeafKind,
    /// Shape of the values; of the items where the type is a dictionary, of the descriptors where it is a blob.
    pub(crate) shape: ValueType,
    pub(crate) arrow: FieldRef,
    /// What a page's length counts per top-level row: the product of the dimensions of fixed-size lists
    /// of structs above.
    pub(crate) rows_scale: u64,
    /// Structs and lists above that have columns of their own, outermost first; only in 2.0.
    pub(crate) parents: Vec<Parent>,
}

/// A struct or list with a column of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Parent {
    pub(crate) column: u32,
    /// Its column says where lists end; otherwise it is a struct and says only how many there are.
    pub(crate) is_list: bool,
    /// The leaf is the first one below it.
    pub(crate) is_first: bool,
}

/// A struct or list with a column of its own, by itself.
#[derive(Debug, Clone)]
pub(crate) struct ParentField {
    pub(crate) column: u32,
    pub(crate) is_list: bool,
    pub(crate) path: String,
    pub(crate) arrow: FieldRef,
    /// Column of the innermost list around it.
    pub(crate) list: Option<u32>,
}

impl Leaf {
    /// Columns of the lists above, outermost first; only in 2.0.
    pub(crate) fn lists(&self) -> impl Iterator<Item = u32> {
        self.parents.iter().filter(|p| p.is_list).map(|p| p.column)
    }
}

/// The way down to a field, outermost first.
#[derive(Debug, Default)]
struct Above {
    nestings: Vec<Nesting>,
    parents: Vec<Parent>,
    /// Whether parents have columns at all.
    parents_have_columns: bool,
}

impl Above {
    fn push(&mut self, field: &Field, nestings: &[Nesting]) {
        self.nestings.extend_from_slice(nestings);
        if self.parents_have_columns {
            let is_list = field.kind() != FieldKind::Struct;
            self.parents.push(Parent { column: field.columns.start, is_list, is_first: false });
        }
    }
}

/// Bytes of the paths of all leaves together.
const MAX_PATH_BYTES: usize = 512 << 20;

/// Called for each leaf with its path and what is above it.
type Visit<'a> = dyn FnMut(&Field, &str, &Above) -> Result<()> + 'a;

/// Whether structs and lists have columns of their own.
pub(crate) fn parents_have_columns(version: FormatVersion) -> bool {
    version == FormatVersion::V2_0
}

/// Gives every field its range of stored columns, the first from `first` on; says where they end.
pub(super) fn number_columns(fields: &mut [Field], first: u32, version: FormatVersion) -> u32 {
    let mut next = first;
    for field in fields {
        number_field(field, version, &mut next);
    }
    next
}

fn number_field(field: &mut Field, version: FormatVersion, next: &mut u32) {
    let start = *next;
    match field.kind() {
        FieldKind::Leaf | FieldKind::PackedStruct | FieldKind::Blob | FieldKind::EmptyStruct => *next += 1,
        FieldKind::Struct | FieldKind::List | FieldKind::Map | FieldKind::FixedSizeList(_) => {
            if parents_have_columns(version) {
                *next += 1;
            }
            for child in &mut field.children {
                number_field(child, version, next);
            }
        }
    }
    field.columns = start..*next;
}

impl Schema {
    /// The leaves of all fields in the order of their columns.
    pub(crate) fn leaves(&self) -> Result<Vec<Leaf>> {
        let mut leaves = Vec::new();
        let mut path_bytes = 0usize;
        self.walk(&mut |field, path, above| {
            // Every leaf repeats the names above it: a long name over many leaves is small in the file only.
            path_bytes = path_bytes.saturating_add(path.len());
            if path_bytes > MAX_PATH_BYTES {
                return Err(Error::limit(format!("column paths of more than {MAX_PATH_BYTES} bytes in all")));
            }
            leaves.push(leaf_of(field, path, above)?);
            Ok(())
        })?;
        Ok(leaves)
    }

    /// The structs and lists that have columns of their own, in the order of those; only in 2.0.
    pub(crate) fn parents(&self) -> Result<Vec<ParentField>> {
        fn collect(
            field: &Field,
            path: String,
            lists: &[u32],
            out: &mut Vec<ParentField>,
            path_bytes: &mut usize,
        ) -> Result<()> {
            let kind = field.kind();
            let is_list = match kind {
                FieldKind::Struct => false,
                FieldKind::List | FieldKind::Map | FieldKind::FixedSizeList(_) => true,
                _ => return Ok(()),
            };
            *path_bytes = path_bytes.saturating_add(path.len());
            if *path_bytes > MAX_PATH_BYTES {
                return Err(Error::limit(format!("column paths of more than {MAX_PATH_BYTES} bytes in all")));
            }
            let column = field.columns.start;
            out.push(ParentField {
                column,
                is_list,
                path: path.clone(),
                arrow: field.arrow.clone(),
                list: lists.last().copied(),
            });
            let mut inner = lists.to_vec();
            inner.extend(is_list.then_some(column));
            let mut seen = std::collections::HashMap::new();
            for child in &field.children {
                let nth = seen.entry(child.name()).or_insert(0usize);
                *nth += 1;
                let part = match kind {
                    FieldKind::Struct => path_part(child.name(), *nth),
                    _ => "item".to_owned(),
                };
                collect(child, join_path(&path, &part), &inner, out, path_bytes)?;
            }
            Ok(())
        }
        let mut out = Vec::new();
        if !self.parents_have_columns {
            return Ok(out);
        }
        let (mut seen, mut path_bytes) = (std::collections::HashMap::new(), 0);
        for field in &self.fields {
            let nth = seen.entry(field.name()).or_insert(0usize);
            *nth += 1;
            collect(field, path_part(field.name(), *nth), &[], &mut out, &mut path_bytes)?;
        }
        Ok(out)
    }

    /// Column index, path and field of every leaf, also of those this build cannot read.
    #[cfg(test)]
    pub(crate) fn leaf_paths(&self) -> Vec<(u32, String, FieldRef)> {
        let mut leaves = Vec::new();
        let walked = self.walk(&mut |field, path, _| {
            leaves.push((field.columns.start, path.to_owned(), field.arrow.clone()));
            Ok(())
        });
        debug_assert!(walked.is_ok(), "the visitor does not fail");
        leaves
    }

    fn walk(&self, visit: &mut Visit<'_>) -> Result<()> {
        let mut above = Above { parents_have_columns: self.parents_have_columns, ..Above::default() };
        walk_children(&self.fields, "", &mut above, visit)
    }
}

fn walk_children(fields: &[Field], prefix: &str, above: &mut Above, visit: &mut Visit<'_>) -> Result<()> {
    let mut seen = std::collections::HashMap::new();
    for field in fields {
        let nth = seen.entry(field.name()).or_insert(0usize);
        *nth += 1;
        let path = join_path(prefix, &path_part(field.name(), *nth));
        walk_field(field, &path, above, visit)?;
    }
    Ok(())
}

fn walk_field(field: &Field, path: &str, above: &mut Above, visit: &mut Visit<'_>) -> Result<()> {
    let (depth, num_parents) = (above.nestings.len(), above.parents.len());
    match (field.kind(), field.children.as_slice()) {
        (FieldKind::Struct, children) => {
            above.push(field, &[Nesting::Item]);
            walk_children(children, path, above, visit)?;
        }
        (FieldKind::List, [item, ..]) => {
            above.push(field, &[Nesting::List]);
            walk_field(item, &join_path(path, "item"), above, visit)?;
        }
        (FieldKind::FixedSizeList(dimension), [item, ..]) => {
            above.push(field, &[Nesting::FixedSizeList(dimension)]);
            walk_field(item, &join_path(path, "item"), above, visit)?;
        }
        (FieldKind::Map, [entries, ..]) => {
            above.push(field, &[Nesting::List]);
            above.push(entries, &[Nesting::Item]);
            for (name, child) in ["key", "value"].iter().zip(&entries.children) {
                walk_field(child, &join_path(path, name), above, visit)?;
            }
        }
        _ => {
            above.nestings.push(Nesting::Item);
            visit(field, path, above)?;
        }
    }
    above.nestings.truncate(depth);
    above.parents.truncate(num_parents);
    Ok(())
}

fn leaf_of(field: &Field, path: &str, above: &Above) -> Result<Leaf> {
    let kind = match field.kind() {
        FieldKind::PackedStruct => LeafKind::PackedStruct,
        FieldKind::Blob => match blob::stored(&field.arrow).map_err(|e| e.in_column(path))? {
            blob::Stored::Ranges => LeafKind::Blob,
            blob::Stored::Descriptors => LeafKind::BlobDescriptor,
        },
        FieldKind::EmptyStruct => LeafKind::EmptyStruct,
        _ => LeafKind::Values,
    };
    let shape = match kind {
        LeafKind::Blob => blob::range_shape(),
        LeafKind::EmptyStruct => ValueType::Null,
        LeafKind::Values | LeafKind::PackedStruct | LeafKind::BlobDescriptor => {
            shape_of(field.arrow.data_type()).map_err(|e| e.in_column(path))?
        }
    };
    let mut rows_scale = 1u64;
    for layer in &above.nestings {
        if let Nesting::FixedSizeList(dimension) = layer {
            rows_scale = rows_scale
                .checked_mul(*dimension)
                .ok_or_else(|| Error::limit("a row of more than 2^64 items").in_column(path))?;
        }
    }
    Ok(Leaf {
        column: field.columns.start,
        path: path.to_owned(),
        layers: above.nestings.iter().rev().copied().collect(),
        kind,
        shape,
        arrow: field.arrow.clone(),
        rows_scale,
        parents: parents_of(field, above),
    })
}

/// The columns above a leaf. It is the first below one of them if only others of them stand in between.
fn parents_of(leaf: &Field, above: &Above) -> Vec<Parent> {
    let count = above.parents.len() as u32;
    let parents = above.parents.iter().zip(0..);
    let is_first = |p: &Parent, i: u32| p.column + (count - i) == leaf.columns.start;
    parents.map(|(p, i)| Parent { is_first: is_first(p, i), ..*p }).collect()
}

/// Most bytes of one fixed-width value: what an offset of Arrow can still tell.
const MAX_VALUE_BYTES: usize = i32::MAX as usize;

/// The physical shape of a type's values.
pub(crate) fn shape_of(data_type: &DataType) -> Result<ValueType> {
    use DataType::*;
    let unsupported = || Err(Error::unsupported(format!("values of type {data_type}")));
    Ok(match data_type {
        Null => ValueType::Null,
        Boolean => ValueType::Bits,
        Utf8 | Binary | Utf8View | BinaryView => ValueType::Variable { wide: false },
        LargeUtf8 | LargeBinary => ValueType::Variable { wide: true },
        // Values of no bytes have no payload.
        FixedSizeBinary(0) => ValueType::Null,
        FixedSizeBinary(bytes) => match usize::try_from(*bytes) {
            Ok(bytes) => ValueType::Fixed(bytes),
            Err(_) => return unsupported(),
        },
        Dictionary(_, value) => match shape_of(value)? {
            shape @ (ValueType::Bits | ValueType::Fixed(_) | ValueType::Variable { .. }) => shape,
            _ => return unsupported(),
        },
        FixedSizeList(item, _) if matches!(item.data_type(), Dictionary(..)) => return unsupported(),
        FixedSizeList(item, dimension) => {
            let items = shape_of(item.data_type())?;
            let dimension = usize::try_from(*dimension).unwrap_or(0);
            let bits = items.fixed_bits().unwrap_or(0).checked_mul(dimension as u64);
            match (&items, bits) {
                (ValueType::Bits | ValueType::Fixed(_) | ValueType::List { .. }, Some(bits))
                    if bits > 0 && bits / 8 <= MAX_VALUE_BYTES as u64 => {}
                _ => return unsupported(),
            }
            ValueType::List { dimension, items: Box::new(items) }
        }
        Struct(fields) => {
            // Only packed structs get here, and those hold no structure of their own.
            let shapes = fields.iter().map(|f| match f.data_type() {
                Struct(_) | Boolean | Null | Dictionary(..) => Err(Error::unsupported(format!(
                    "a packed struct with a child {:?} of type {}",
                    f.name(),
                    f.data_type()
                ))),
                other => shape_of(other),
            });
            ValueType::Struct(shapes.collect::<Result<_>>()?)
        }
        other => match other.primitive_width() {
            Some(bytes) => ValueType::Fixed(bytes),
            None => return unsupported(),
        },
    })
}

/// A path with one more part.
pub(super) fn join_path(prefix: &str, part: &str) -> String {
    if prefix.is_empty() { part.to_owned() } else { format!("{prefix}.{part}") }
}

/// A name as a part of a path: quoted where it needs to be, with `#n` from the second of a name on.
pub(crate) fn path_part(name: &str, nth: usize) -> String {
    let plain = !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    let mut part = if plain { name.to_owned() } else { format!("`{}`", name.replace('`', "``")) };
    if nth > 1 {
        part.push_str(&format!("#{nth}"));
    }
    part
}
