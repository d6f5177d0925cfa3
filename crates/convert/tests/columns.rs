//! Guards that columns come in the order asked, whatever order the file has.

use std::path::Path;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use pennon_convert::{Format, Input, Output, ReadOptions, Reader, Selection, WriterOptions, create_writer};
use pennon_file::Result;

fn write(path: &Path, format: Format) {
    let columns: [(&str, ArrayRef); 3] = [
        ("a", Arc::new(Int64Array::from(vec![1, 2, 3]))),
        ("b", Arc::new(StringArray::from(vec!["x", "y", "z"]))),
        ("c", Arc::new(Int64Array::from(vec![7, 8, 9]))),
    ];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let output = Output::path(path, true).unwrap();
    let mut writer = create_writer(format, output, &batch.schema(), &WriterOptions::default()).unwrap();
    writer.write(&batch).unwrap();
    writer.finish().unwrap().commit().unwrap();
}

#[test]
fn columns_come_in_the_order_asked_from_every_format() {
    let folder = tempfile::tempdir().unwrap();
    for format in [Format::Lance, Format::Parquet, Format::Arrow, Format::Csv, Format::Jsonl] {
        let path = folder.path().join(format!("t.{}", format.name()));
        write(&path, format);
        let reader = Reader::open(&Input::path(&path), &ReadOptions::default()).unwrap();
        let selection = Selection::default().with_columns(Some(vec!["c".to_owned(), "b".to_owned()]));
        for batches in [reader.batches(&selection).unwrap(), reader.take(&[0, 2], &selection).unwrap()] {
            for batch in batches.collect::<Result<Vec<_>>>().unwrap() {
                let names: Vec<_> = batch.schema().fields().iter().map(|f| f.name().clone()).collect();
                assert_eq!(names, ["c", "b"], "{}", format.name());
            }
        }
    }
}
