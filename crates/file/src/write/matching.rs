//! Which column of a batch is which field of the file.

use arrow_array::RecordBatch;
use arrow_schema::{DataType, Field, Fields, Schema};

use crate::{Error, Result};

/// For every field of the file the index of its column in a batch. Fails naming the first difference.
pub(super) fn columns(file: &Schema, batch: &RecordBatch) -> Result<Vec<usize>> {
    let found = batch.schema_ref().fields();
    let wanted = file.fields();
    let same_order =
        found.len() == wanted.len() && found.iter().zip(wanted).all(|(f, w)| f.name() == w.name());
    let mut columns = Vec::with_capacity(wanted.len());
    for (i, field) in wanted.iter().enumerate() {
        let column = if same_order { Some(i) } else { position(found, field.name())? };
        let Some(column) = column else {
            return Err(Error::invalid(format!("a batch has no column {:?}", field.name())));
        };
        difference(field, found[column].data_type(), batch.column(column).data_type())?;
        columns.push(column);
    }
    if found.len() > wanted.len() {
        let extra = found.iter().find(|f| !wanted.iter().any(|w| w.name() == f.name()));
        let name = extra.map_or("", |f| f.name().as_str());
        return Err(Error::invalid(format!("a batch has a column {name:?} that the file has not")));
    }
    Ok(columns)
}

fn position(fields: &Fields, name: &str) -> Result<Option<usize>> {
    let mut positions = (0..fields.len()).filter(|i| fields[*i].name() == name);
    let first = positions.next();
    if positions.next().is_some() {
        return Err(Error::invalid(format!(
            "a batch has two columns {name:?}, in another order than the file"
        )));
    }
    Ok(first)
}

fn difference(field: &Field, declared: &DataType, actual: &DataType) -> Result<()> {
    for found in [declared, actual] {
        if !same_type(field.data_type(), found) {
            return Err(Error::invalid(format!(
                "a batch has column {:?} as {found}, the file as {}",
                field.name(),
                field.data_type()
            )));
        }
    }
    Ok(())
}

/// Equal up to nullability, metadata and the names of list items and map entries: none changes the data.
fn same_type(a: &DataType, b: &DataType) -> bool {
    match (a, b) {
        (DataType::List(a), DataType::List(b))
        | (DataType::LargeList(a), DataType::LargeList(b))
        | (DataType::ListView(a), DataType::ListView(b))
        | (DataType::LargeListView(a), DataType::LargeListView(b)) => same_type(a.data_type(), b.data_type()),
        (DataType::RunEndEncoded(ends, a), DataType::RunEndEncoded(other_ends, b)) => {
            ends.data_type() == other_ends.data_type() && same_type(a.data_type(), b.data_type())
        }
        (DataType::FixedSizeList(a, n), DataType::FixedSizeList(b, m)) => {
            n == m && same_type(a.data_type(), b.data_type())
        }
        (DataType::Map(a, sorted), DataType::Map(b, found)) => match (a.data_type(), b.data_type()) {
            // Sorted keys do where any order does, but not the other way round.
            (DataType::Struct(a), DataType::Struct(b)) => {
                (*found || !sorted)
                    && a.len() == b.len()
                    && a.iter().zip(b).all(|(a, b)| same_type(a.data_type(), b.data_type()))
            }
            _ => false,
        },
        (DataType::Struct(a), DataType::Struct(b)) => {
            a.len() == b.len()
                && a.iter()
                    .zip(b)
                    .all(|(a, b)| a.name() == b.name() && same_type(a.data_type(), b.data_type()))
        }
        (DataType::Dictionary(ka, va), DataType::Dictionary(kb, vb)) => ka == kb && same_type(va, vb),
        (a, b) => a == b,
    }
}
