//! Strings and binary values as views, from whatever source.

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::SchemaRef;
use pennon_file::{Error, Result, string_views};

use crate::reader::Batches;

/// The batches with [views](string_views) in place of strings, which share the bytes of these.
pub(crate) fn viewed(batches: Batches) -> Batches {
    let mut schema: Option<SchemaRef> = None;
    Box::new(batches.map(move |batch| {
        let batch = batch?;
        let schema = schema.get_or_insert_with(|| string_views(&batch.schema()));
        to_views(&batch, schema)
    }))
}

fn to_views(batch: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch> {
    let cast = |e| Error::invalid(format!("cannot hand out strings as views: {e}"));
    let columns = batch.columns().iter().zip(schema.fields()).map(|(column, field)| {
        if column.data_type() == field.data_type() {
            Ok(column.clone())
        } else {
            arrow_cast::cast(column, field.data_type())
        }
    });
    let columns = columns.collect::<std::result::Result<_, _>>().map_err(cast)?;
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(schema.clone(), columns, &options).map_err(cast)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::builder::{ListBuilder, StringBuilder};
    use arrow_array::cast::AsArray;
    use arrow_array::{ArrayRef, BinaryArray, Int32Array, StringArray};
    use arrow_schema::DataType;

    use super::*;

    #[test]
    fn strings_are_views_of_the_same_bytes_at_the_top_and_in_lists() {
        let long = "more than the twelve bytes that a view holds itself";
        let strings = StringArray::from(vec![Some("short"), None, Some(long)]);
        let bytes = strings.values().clone();
        let mut lists = ListBuilder::new(StringBuilder::new());
        lists.append_value([Some(long), None]);
        lists.append_null();
        lists.append_value([Some("x")]);
        let numbers: ArrayRef = Arc::new(Int32Array::from(vec![1, 2, 3]));
        let columns: Vec<(&str, ArrayRef)> = vec![
            ("s", Arc::new(strings.clone())),
            ("b", Arc::new(BinaryArray::from_iter_values([b"a", b"b", b"c"]))),
            ("l", Arc::new(lists.finish())),
            ("n", numbers.clone()),
        ];
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        let found = viewed(Box::new(std::iter::once(Ok(batch.clone())))).next().unwrap().unwrap();

        assert_eq!(found.schema(), string_views(&batch.schema()));
        assert_eq!(
            found.column(0).as_string_view().iter().collect::<Vec<_>>(),
            strings.iter().collect::<Vec<_>>()
        );
        assert_eq!(found.column(0).as_string_view().data_buffers()[0].as_ptr(), bytes.as_ptr());
        assert_eq!(found.column(1).data_type(), &DataType::BinaryView);
        let items = found.column(2).as_list::<i32>().values();
        assert_eq!(items.as_string_view().iter().collect::<Vec<_>>(), [Some(long), None, Some("x")]);
        assert_eq!(found.column(3), &numbers);
    }
}
