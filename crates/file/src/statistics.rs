//! What a file's statistics say of its columns, for callers.

use arrow_array::{Array, ArrayRef, make_array};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer};
use arrow_data::ArrayData;
use arrow_schema::{ArrowError, DataType};

use crate::read::File;
use crate::schema::Leaf;
use crate::stats::{ColumnFacts, Facts, Value, half_bytes};
use crate::{Error, Result};

/// Statistics of one leaf: a column whose values have an order. See [`File::statistics`].
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ColumnStatistics {
    /// Path of the field, as in `a.b.item`.
    pub path: String,
    /// Arrow type of the values as they are stored; dictionaries are looked through.
    pub data_type: DataType,
    /// Of all rows.
    pub file: RowsStatistics,
    /// About how many different values there are, nulls and NaNs aside; within 5 % in two of three cases.
    pub distinct: Option<u64>,
    /// Rows of a zone; the last one may have fewer.
    pub zone_rows: u64,
    /// Of stretches of `zone_rows` rows; empty where the file has no more than its own.
    pub zones: Vec<RowsStatistics>,
    /// Bytes that the statistics of the column take in the file.
    pub bytes: u64,
}

/// Statistics of some rows of a column. Values in lists count one by one.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct RowsStatistics {
    /// First row.
    pub first_row: u64,
    /// Rows.
    pub num_rows: u64,
    /// Values, nulls and NaNs among them.
    pub values: u64,
    /// Nulls, those under null structs among them.
    pub nulls: u64,
    /// Floats that are NaN.
    pub nans: u64,
    /// No value is less. `None` where there are none that have an order, or nothing is known.
    pub min: Option<ValueBound>,
    /// No value is greater. `None` where there are none that have an order, or nothing is known.
    pub max: Option<ValueBound>,
}

/// A bound of values.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ValueBound {
    /// An array of the bound alone, of the column's type; of type binary where values have a fixed number of bytes.
    pub value: ArrayRef,
    /// A value is equal to it. Texts and bytes longer than 64 bytes have bounds that are no values.
    pub exact: bool,
}

/// Bloom filters of one leaf. See [`File::bloom_filters`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct BloomFilters {
    /// Path of the field, as in `a.b`.
    pub path: String,
    /// Rows of a zone; the last one may have fewer. Each has a filter.
    pub zone_rows: u64,
    /// Zones.
    pub num_zones: u64,
    /// Bytes that the filters take in the file.
    pub bytes: u64,
}

impl File {
    /// Whether the file has bloom filters of some columns. pennon writes them on request.
    pub fn has_bloom_filters(&self) -> bool {
        self.metadata().blooms.is_some()
    }

    /// Which columns have bloom filters, in the order of columns.
    ///
    /// # Errors
    /// What says so cannot be read, or is damaged.
    pub fn bloom_filters(&self) -> Result<Vec<BloomFilters>> {
        let Some(table) = self.bloom_table()? else { return Ok(Vec::new()) };
        let leaves = self.tables()?.schema.leaves()?;
        let filters = leaves.iter().filter_map(|leaf| {
            let entry = table.entry(leaf.column)?;
            Some(BloomFilters {
                path: leaf.path.clone(),
                zone_rows: entry.zone_rows,
                num_zones: entry.num_zones,
                bytes: entry.bytes(),
            })
        });
        Ok(filters.collect())
    }

    /// Whether the file has statistics. Only those that pennon writes have.
    pub fn has_statistics(&self) -> bool {
        self.metadata().statistics.is_some()
    }

    /// The file's statistics of all columns that it has some of, in the order of columns. Empty for a file without statistics.
    ///
    /// # Errors
    /// They cannot be read, or are damaged.
    pub fn statistics(&self) -> Result<Vec<ColumnStatistics>> {
        if !self.has_statistics() {
            return Ok(Vec::new());
        }
        let leaves = self.tables()?.schema.leaves()?;
        let facts = self.column_facts(&leaves)?;
        let known = leaves.iter().zip(facts).filter_map(|(leaf, facts)| Some((leaf, facts?)));
        known.map(|(leaf, facts)| self.column_statistics(leaf, &facts)).collect()
    }

    fn column_statistics(&self, leaf: &Leaf, facts: &ColumnFacts) -> Result<ColumnStatistics> {
        let num_rows = self.num_rows();
        let data_type = bound_type(leaf.arrow.data_type());
        let all: Vec<&Facts> = std::iter::once(&facts.file).chain(&facts.zones).collect();
        let build = |bound: fn(&Facts) -> Option<&Value>| {
            array_of(&data_type, &all.iter().map(|f| bound(f)).collect::<Vec<_>>())
                .map_err(|e| Error::corrupt(format!("bounds of statistics: {e}")).in_column(&leaf.path))
        };
        let mins = build(|facts| facts.min.as_ref().map(|bound| &bound.value))?;
        let maxs = build(|facts| facts.max.as_ref().map(|bound| &bound.value))?;
        let rows = |at: usize, first_row: u64, count: u64| {
            let facts = all[at];
            let bound = |exact: Option<bool>, array: &ArrayRef| {
                exact.map(|exact| ValueBound { value: array.slice(at, 1), exact })
            };
            RowsStatistics {
                first_row,
                num_rows: count,
                values: facts.values,
                nulls: facts.nulls,
                nans: facts.nans,
                min: bound(facts.min.as_ref().map(|b| b.exact), &mins),
                max: bound(facts.max.as_ref().map(|b| b.exact), &maxs),
            }
        };
        let zone = |at: usize| {
            let first = at as u64 * facts.zone_rows;
            rows(at + 1, first, facts.zone_rows.min(num_rows - first))
        };
        Ok(ColumnStatistics {
            path: leaf.path.clone(),
            file: rows(0, 0, num_rows),
            distinct: facts.distinct,
            zone_rows: facts.zone_rows,
            zones: (0..facts.zones.len()).map(zone).collect(),
            bytes: facts.bytes,
            data_type,
        })
    }
}

/// The type of bounds of values: that of the values, except that they may be cut.
fn bound_type(data_type: &DataType) -> DataType {
    match data_type {
        DataType::Dictionary(_, values) => bound_type(values),
        DataType::FixedSizeBinary(_) => DataType::Binary,
        other => other.clone(),
    }
}

/// An array of values of a type that has an order.
fn array_of(data_type: &DataType, values: &[Option<&Value>]) -> std::result::Result<ArrayRef, ArrowError> {
    let len = values.len();
    let nulls = BooleanBuffer::collect_bool(len, |i| values[i].is_some());
    let builder = ArrayData::builder(data_type.clone()).len(len).nulls(Some(NullBuffer::new(nulls)));
    if *data_type == DataType::Boolean {
        let bits = BooleanBuffer::collect_bool(len, |i| values[i] == Some(&Value::Bool(true)));
        return Ok(make_array(builder.add_buffer(bits.into_inner()).build()?));
    }
    if let Some(width) = data_type.primitive_width() {
        let mut bytes = vec![0u8; len * width];
        for (slot, value) in bytes.chunks_exact_mut(width).zip(values) {
            match value {
                Some(Value::Int(value)) => slot.copy_from_slice(&value.to_le_bytes()[..width]),
                Some(Value::Wide(value)) => slot.copy_from_slice(&value.to_le_bytes()),
                Some(Value::Float(value)) => match width {
                    2 => slot.copy_from_slice(&half_bytes(*value)),
                    4 => slot.copy_from_slice(&(*value as f32).to_le_bytes()),
                    _ => slot.copy_from_slice(&value.to_le_bytes()),
                },
                _ => {}
            }
        }
        return Ok(make_array(builder.add_buffer(Buffer::from_vec(bytes)).align_buffers(true).build()?));
    }
    let mut data = Vec::new();
    let mut ends = vec![0usize];
    for value in values {
        if let Some(Value::Bytes(bytes)) = value {
            data.extend_from_slice(bytes);
        }
        ends.push(data.len());
    }
    let offsets = match data_type {
        DataType::LargeUtf8 | DataType::LargeBinary => {
            Buffer::from_vec(ends.iter().map(|end| *end as i64).collect::<Vec<i64>>())
        }
        _ => Buffer::from_vec(ends.iter().map(|end| *end as i32).collect::<Vec<i32>>()),
    };
    Ok(make_array(builder.add_buffer(offsets).add_buffer(Buffer::from_vec(data)).build()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::cast::AsArray;
    use arrow_array::types::{Decimal128Type, Float16Type, TimestampMillisecondType};
    use arrow_schema::TimeUnit;

    #[test]
    fn bounds_are_arrays_of_the_columns_type() {
        let zoned = DataType::Timestamp(TimeUnit::Millisecond, Some("+01:00".into()));
        let array = array_of(&zoned, &[Some(&Value::Int(-5)), None]).unwrap();
        assert_eq!((array.as_primitive::<TimestampMillisecondType>().value(0), array.is_null(1)), (-5, true));
        let array = array_of(&DataType::Decimal128(10, 2), &[Some(&Value::Int(-123))]).unwrap();
        assert_eq!(array.as_primitive::<Decimal128Type>().value_as_string(0), "-1.23");
        let array = array_of(&DataType::Float16, &[Some(&Value::Float(1.5))]).unwrap();
        assert_eq!(array.as_primitive::<Float16Type>().value(0).to_f64(), 1.5);
        let text = Value::Bytes("é".into());
        assert_eq!(
            array_of(&DataType::LargeUtf8, &[None, Some(&text)]).unwrap().as_string::<i64>().value(1),
            "é"
        );
        let bits =
            array_of(&DataType::Boolean, &[Some(&Value::Bool(false)), Some(&Value::Bool(true))]).unwrap();
        assert_eq!(bits.as_boolean().true_count(), 1);
    }
}
