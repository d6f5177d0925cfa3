//! Logical equality of batches, by the rules of the golden files' README: types as given, validity
//! at every level, nothing that lies under a null, floats by bits or both NaN, batches split anywhere.

use arrow_array::{
    Array, ArrayRef, LargeListViewArray, ListViewArray, RecordBatch, RunArray, cast::AsArray, types::*,
};
use arrow_schema::{DataType, Field, Schema};

use super::generate::width_of;

/// How strict the schemas are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flags {
    /// Nullability, and the names of list items and map entries, need not match.
    Free,
    /// They must (a primitive fixed-size list's item is always rebuilt, so it is free).
    Same,
}

/// The first difference of two row sets, `None` if they are equal.
pub fn difference(expected: &[RecordBatch], actual: &[RecordBatch]) -> Option<String> {
    let rows = |batches: &[RecordBatch]| batches.iter().map(RecordBatch::num_rows).sum::<usize>();
    if rows(expected) != rows(actual) {
        return Some(format!("{} rows expected, found {}", rows(expected), rows(actual)));
    }
    if let (Some(e), Some(a)) = (expected.first(), actual.first())
        && let Some(text) = schema_difference(&e.schema(), &a.schema(), Flags::Free)
    {
        return Some(text);
    }
    // Walks both sides in pieces that lie within one batch of each.
    let (mut e, mut a) = ((0, 0), (0, 0));
    let mut row = 0;
    loop {
        while e.0 < expected.len() && e.1 == expected[e.0].num_rows() {
            e = (e.0 + 1, 0);
        }
        while a.0 < actual.len() && a.1 == actual[a.0].num_rows() {
            a = (a.0 + 1, 0);
        }
        if e.0 == expected.len() || a.0 == actual.len() {
            return None;
        }
        let (x, y) = (&expected[e.0], &actual[a.0]);
        let n = (x.num_rows() - e.1).min(y.num_rows() - a.1);
        for (i, field) in x.schema().fields().iter().enumerate() {
            let left = x.column(i).slice(e.1, n);
            let right = y.column(i).slice(a.1, n);
            if let Some(text) = arrays_from(&left, &right, field.name(), row) {
                return Some(text);
            }
        }
        e.1 += n;
        a.1 += n;
        row += n;
    }
}

/// The first difference of two arrays.
pub fn array_difference(expected: &ArrayRef, actual: &ArrayRef) -> Option<String> {
    if expected.len() != actual.len() {
        return Some(format!("{} values expected, found {}", expected.len(), actual.len()));
    }
    arrays_from(expected, actual, "$", 0)
}

fn arrays_from(expected: &ArrayRef, actual: &ArrayRef, path: &str, first_row: usize) -> Option<String> {
    if let Some(text) = type_difference(expected.data_type(), actual.data_type(), path, Flags::Free) {
        return Some(text);
    }
    let same: Vec<Pair> =
        (0..expected.len()).map(|i| Pair { left: i, right: i, row: first_row + i }).collect();
    values(expected.as_ref(), actual.as_ref(), same, path)
}

// ---- schemas

pub fn schema_difference(expected: &Schema, actual: &Schema, flags: Flags) -> Option<String> {
    if expected.fields().len() != actual.fields().len() {
        return Some(format!(
            "{} columns expected, found {}",
            expected.fields().len(),
            actual.fields().len()
        ));
    }
    if expected.metadata() != actual.metadata() {
        return Some(format!(
            "schema metadata {:?} expected, found {:?}",
            expected.metadata(),
            actual.metadata()
        ));
    }
    expected
        .fields()
        .iter()
        .zip(actual.fields())
        .find_map(|(e, a)| field_difference(e, a, e.name(), flags, true))
}

fn field_difference(
    expected: &Field,
    actual: &Field,
    path: &str,
    flags: Flags,
    named: bool,
) -> Option<String> {
    if (named || flags == Flags::Same) && expected.name() != actual.name() {
        return Some(format!("{path}: name {:?} expected, found {:?}", expected.name(), actual.name()));
    }
    if flags == Flags::Same && expected.is_nullable() != actual.is_nullable() {
        return Some(format!(
            "{path}: nullable {} expected, found {}",
            expected.is_nullable(),
            actual.is_nullable()
        ));
    }
    if expected.metadata() != actual.metadata() {
        return Some(format!(
            "{path}: metadata {:?} expected, found {:?}",
            expected.metadata(),
            actual.metadata()
        ));
    }
    type_difference(expected.data_type(), actual.data_type(), path, flags)
}

fn type_difference(expected: &DataType, actual: &DataType, path: &str, flags: Flags) -> Option<String> {
    use DataType::*;
    match (expected, actual) {
        (Struct(e), Struct(a)) => {
            if e.len() != a.len() {
                return Some(format!("{path}: {} fields expected, found {}", e.len(), a.len()));
            }
            e.iter()
                .zip(a)
                .find_map(|(e, a)| field_difference(e, a, &format!("{path}.{}", e.name()), flags, true))
        }
        (List(e), List(a)) | (LargeList(e), LargeList(a)) => {
            field_difference(e, a, &format!("{path}.item"), flags, false)
        }
        (FixedSizeList(e, n), FixedSizeList(a, m)) if n == m => match e.data_type() {
            Struct(_) => field_difference(e, a, &format!("{path}.item"), flags, false),
            _ => type_difference(e.data_type(), a.data_type(), &format!("{path}.item"), flags),
        },
        (Map(e, s), Map(a, t)) if s == t => match (e.data_type(), a.data_type()) {
            (Struct(e), Struct(a)) if e.len() == 2 && a.len() == 2 => {
                field_difference(&e[0], &a[0], &format!("{path}.key"), flags, false)
                    .or_else(|| field_difference(&e[1], &a[1], &format!("{path}.value"), flags, false))
            }
            _ => Some(format!("{path}: map entries {e} and {a}")),
        },
        (Dictionary(k, v), Dictionary(l, w)) if k == l => type_difference(v, w, path, flags),
        (e, a) if e == a => None,
        (e, a) => Some(format!("{path}: type {e} expected, found {a}")),
    }
}

// ---- values

/// A slot on either side, and the top-level row it belongs to.
#[derive(Debug, Clone, Copy)]
struct Pair {
    left: usize,
    right: usize,
    row: usize,
}

/// Compares the slots of `pairs`; both types are known to match.
fn values(left: &dyn Array, right: &dyn Array, mut pairs: Vec<Pair>, path: &str) -> Option<String> {
    let (ln, rn) = (left.logical_nulls(), right.logical_nulls());
    if ln.is_some() || rn.is_some() {
        let valid =
            |nulls: &Option<arrow_buffer::NullBuffer>, i| nulls.as_ref().is_none_or(|n| n.is_valid(i));
        for p in &pairs {
            let (l, r) = (valid(&ln, p.left), valid(&rn, p.right));
            if l != r {
                let word = |v| if v { "a value" } else { "null" };
                return Some(format!("{path}, row {}: {} expected, found {}", p.row, word(l), word(r)));
            }
        }
        pairs.retain(|p| valid(&ln, p.left));
    }
    match left.data_type() {
        DataType::Null => None,
        DataType::Struct(fields) => {
            let (l, r) = (left.as_struct(), right.as_struct());
            fields.iter().enumerate().find_map(|(i, f)| {
                values(
                    l.column(i).as_ref(),
                    r.column(i).as_ref(),
                    pairs.clone(),
                    &format!("{path}.{}", f.name()),
                )
            })
        }
        DataType::List(_) => {
            let (l, r) = (left.as_list::<i32>(), right.as_list::<i32>());
            let (lo, ro) = (l.value_offsets(), r.value_offsets());
            let items = items(
                &pairs,
                |i| (lo[i] as usize, lo[i + 1] as usize),
                |i| (ro[i] as usize, ro[i + 1] as usize),
                path,
            );
            items.and_then_values(l.values().as_ref(), r.values().as_ref(), &format!("{path}.item"))
        }
        DataType::LargeList(_) => {
            let (l, r) = (left.as_list::<i64>(), right.as_list::<i64>());
            let (lo, ro) = (l.value_offsets(), r.value_offsets());
            let items = items(
                &pairs,
                |i| (lo[i] as usize, lo[i + 1] as usize),
                |i| (ro[i] as usize, ro[i + 1] as usize),
                path,
            );
            items.and_then_values(l.values().as_ref(), r.values().as_ref(), &format!("{path}.item"))
        }
        DataType::Map(..) => {
            let (l, r) = (left.as_map(), right.as_map());
            let (lo, ro) = (l.value_offsets(), r.value_offsets());
            match items(
                &pairs,
                |i| (lo[i] as usize, lo[i + 1] as usize),
                |i| (ro[i] as usize, ro[i + 1] as usize),
                path,
            ) {
                Items::Differ(text) => Some(text),
                Items::Pairs(items) => {
                    values(l.keys().as_ref(), r.keys().as_ref(), items.clone(), &format!("{path}.key"))
                        .or_else(|| {
                            values(l.values().as_ref(), r.values().as_ref(), items, &format!("{path}.value"))
                        })
                }
            }
        }
        DataType::FixedSizeList(_, n) => {
            let n = *n as usize;
            let (l, r) = (left.as_fixed_size_list(), right.as_fixed_size_list());
            let items = items(&pairs, |i| (i * n, (i + 1) * n), |i| (i * n, (i + 1) * n), path);
            items.and_then_values(l.values().as_ref(), r.values().as_ref(), &format!("{path}.item"))
        }
        DataType::Dictionary(..) => {
            let (l, r) = (left.as_any_dictionary(), right.as_any_dictionary());
            // Keys under nulls may be out of range, which the checked conversion would refuse.
            let (lk, rk) = (keys(l.keys()), keys(r.keys()));
            let mapped =
                pairs.iter().map(|p| Pair { left: lk[p.left], right: rk[p.right], row: p.row }).collect();
            values(l.values().as_ref(), r.values().as_ref(), mapped, path)
        }
        DataType::ListView(_) => {
            let (l, r) = (left.as_list_view::<i32>(), right.as_list_view::<i32>());
            let bounds = |a: &ListViewArray, i: usize| {
                (a.value_offset(i) as usize, (a.value_offset(i) + a.value_size(i)) as usize)
            };
            let items = items(&pairs, |i| bounds(l, i), |i| bounds(r, i), path);
            items.and_then_values(l.values().as_ref(), r.values().as_ref(), &format!("{path}.item"))
        }
        DataType::LargeListView(_) => {
            let (l, r) = (left.as_list_view::<i64>(), right.as_list_view::<i64>());
            let bounds = |a: &LargeListViewArray, i: usize| {
                (a.value_offset(i) as usize, (a.value_offset(i) + a.value_size(i)) as usize)
            };
            let items = items(&pairs, |i| bounds(l, i), |i| bounds(r, i), path);
            items.and_then_values(l.values().as_ref(), r.values().as_ref(), &format!("{path}.item"))
        }
        DataType::RunEndEncoded(..) => {
            let ((lp, l), (rp, r)) = (runs(left), runs(right));
            let mapped =
                pairs.iter().map(|p| Pair { left: lp[p.left], right: rp[p.right], row: p.row }).collect();
            values(l.as_ref(), r.as_ref(), mapped, path)
        }
        DataType::Union(fields, _) => {
            let (l, r) = (left.as_union(), right.as_union());
            let other = pairs.iter().find(|p| l.type_id(p.left) != r.type_id(p.right));
            if let Some(p) = other {
                let (e, a) = (l.type_id(p.left), r.type_id(p.right));
                return Some(format!("{path}, row {}: type id {e} expected, found {a}", p.row));
            }
            fields.iter().find_map(|(id, f)| {
                let of_field = pairs.iter().filter(|p| l.type_id(p.left) == id);
                let slots = of_field.map(|p| Pair {
                    left: l.value_offset(p.left),
                    right: r.value_offset(p.right),
                    row: p.row,
                });
                let (e, a) = (l.child(id), r.child(id));
                values(e.as_ref(), a.as_ref(), slots.collect(), &format!("{path}.{}", f.name()))
            })
        }
        DataType::FixedSizeBinary(0) => None,
        DataType::Utf8View => variable(
            &pairs,
            path,
            |i| left.as_string_view().value(i).as_bytes(),
            |i| right.as_string_view().value(i).as_bytes(),
        ),
        DataType::BinaryView => {
            variable(&pairs, path, |i| left.as_binary_view().value(i), |i| right.as_binary_view().value(i))
        }
        DataType::Boolean => {
            let (l, r) = (left.as_boolean(), right.as_boolean());
            leaf(
                &pairs,
                path,
                |p| l.value(p.left) == r.value(p.right),
                |p| (l.value(p.left).to_string(), r.value(p.right).to_string()),
            )
        }
        DataType::Utf8 => variable(
            &pairs,
            path,
            |i| left.as_string::<i32>().value(i).as_bytes(),
            |i| right.as_string::<i32>().value(i).as_bytes(),
        ),
        DataType::LargeUtf8 => variable(
            &pairs,
            path,
            |i| left.as_string::<i64>().value(i).as_bytes(),
            |i| right.as_string::<i64>().value(i).as_bytes(),
        ),
        DataType::Binary => variable(
            &pairs,
            path,
            |i| left.as_binary::<i32>().value(i),
            |i| right.as_binary::<i32>().value(i),
        ),
        DataType::LargeBinary => variable(
            &pairs,
            path,
            |i| left.as_binary::<i64>().value(i),
            |i| right.as_binary::<i64>().value(i),
        ),
        data_type => {
            let width = width_of(data_type);
            let (ld, rd) = (left.to_data(), right.to_data());
            let slot = |data: &arrow_data::ArrayData, i: usize| {
                let at = (data.offset() + i) * width;
                data.buffers()[0].as_slice()[at..at + width].to_vec()
            };
            let (lb, rb) = (
                &ld.buffers()[0].as_slice()[ld.offset() * width..],
                &rd.buffers()[0].as_slice()[rd.offset() * width..],
            );
            let nan = |bytes: &[u8]| match data_type {
                DataType::Float16 => bytes[1] & 0x7c == 0x7c && (bytes[1] & 3 != 0 || bytes[0] != 0),
                DataType::Float32 => f32::from_le_bytes(bytes.try_into().expect("4 bytes")).is_nan(),
                DataType::Float64 => f64::from_le_bytes(bytes.try_into().expect("8 bytes")).is_nan(),
                _ => false,
            };
            leaf(
                &pairs,
                path,
                |p| {
                    let (l, r) = (&lb[p.left * width..][..width], &rb[p.right * width..][..width]);
                    l == r || (nan(l) && nan(r))
                },
                |p| (format!("{:02x?}", slot(&ld, p.left)), format!("{:02x?}", slot(&rd, p.right))),
            )
        }
    }
}

fn keys(array: &dyn Array) -> Vec<usize> {
    macro_rules! keys {
        ($t:ty) => {
            array.as_primitive::<$t>().values().iter().map(|k| *k as usize).collect()
        };
    }
    match array.data_type() {
        DataType::Int8 => keys!(Int8Type),
        DataType::Int16 => keys!(Int16Type),
        DataType::Int32 => keys!(Int32Type),
        DataType::Int64 => keys!(Int64Type),
        DataType::UInt8 => keys!(UInt8Type),
        DataType::UInt16 => keys!(UInt16Type),
        DataType::UInt32 => keys!(UInt32Type),
        _ => keys!(UInt64Type),
    }
}

/// For every slot of a run-end encoded array its place among the values, and those.
fn runs(array: &dyn Array) -> (Vec<usize>, ArrayRef) {
    macro_rules! runs {
        ($t:ty) => {{
            let runs = array.as_any().downcast_ref::<RunArray<$t>>().expect("runs");
            let places = (0..runs.len()).map(|i| runs.get_physical_index(i)).collect();
            (places, runs.values().clone())
        }};
    }
    match array.data_type() {
        DataType::RunEndEncoded(ends, _) if *ends.data_type() == DataType::Int16 => runs!(Int16Type),
        DataType::RunEndEncoded(ends, _) if *ends.data_type() == DataType::Int32 => runs!(Int32Type),
        _ => runs!(Int64Type),
    }
}

enum Items {
    Pairs(Vec<Pair>),
    Differ(String),
}

impl Items {
    fn and_then_values(self, left: &dyn Array, right: &dyn Array, path: &str) -> Option<String> {
        match self {
            Self::Differ(text) => Some(text),
            Self::Pairs(pairs) => values(left, right, pairs, path),
        }
    }
}

/// The items of the lists at `pairs`, whose lengths must agree.
fn items(
    pairs: &[Pair],
    left: impl Fn(usize) -> (usize, usize),
    right: impl Fn(usize) -> (usize, usize),
    path: &str,
) -> Items {
    let mut out = Vec::new();
    for p in pairs {
        let ((ls, le), (rs, re)) = (left(p.left), right(p.right));
        if le - ls != re - rs {
            return Items::Differ(format!(
                "{path}, row {}: {} items expected, found {}",
                p.row,
                le - ls,
                re - rs
            ));
        }
        out.extend((0..le - ls).map(|i| Pair { left: ls + i, right: rs + i, row: p.row }));
    }
    Items::Pairs(out)
}

fn leaf(
    pairs: &[Pair],
    path: &str,
    equal: impl Fn(&Pair) -> bool,
    show: impl Fn(&Pair) -> (String, String),
) -> Option<String> {
    pairs.iter().find(|p| !equal(p)).map(|p| {
        let (l, r) = show(p);
        let cut = |s: String| {
            if s.len() > 200 {
                format!("{}… ({} letters)", s.chars().take(150).collect::<String>(), s.len())
            } else {
                s
            }
        };
        format!("{path}, row {}: {} expected, found {}", p.row, cut(l), cut(r))
    })
}

fn variable<'a>(
    pairs: &[Pair],
    path: &str,
    left: impl Fn(usize) -> &'a [u8],
    right: impl Fn(usize) -> &'a [u8],
) -> Option<String> {
    leaf(
        pairs,
        path,
        |p| left(p.left) == right(p.right),
        |p| {
            (
                String::from_utf8_lossy(left(p.left)).into_owned(),
                String::from_utf8_lossy(right(p.right)).into_owned(),
            )
        },
    )
}
