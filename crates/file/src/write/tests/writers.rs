//! The writers around the encoder: budgets, errors, and files that appear whole or not at all.

use std::fs;
use std::io::Write;
use std::sync::Arc;

use arrow_array::types::Int8Type;
use arrow_array::{
    ArrayRef, DictionaryArray, FixedSizeListArray, Float32Array, Float64Array, Int32Array, Int64Array,
    NullArray, RecordBatch, StringArray,
};
use arrow_schema::{DataType, Field, Schema};

use crate::{ErrorKind, File, FileEncoder, FileWriter, FormatVersion, OpenOptions, PathWriter, WriteOptions};

fn batch(rows: std::ops::Range<i64>) -> RecordBatch {
    let a: ArrayRef = Arc::new(Int64Array::from_iter_values(rows.clone()));
    let s: ArrayRef =
        Arc::new(rows.map(|i| (i % 3 != 0).then(|| format!("row {i}"))).collect::<StringArray>());
    RecordBatch::try_from_iter_with_nullable([("a", a, false), ("s", s, true)]).unwrap()
}

fn options(change: impl FnOnce(&mut WriteOptions)) -> WriteOptions {
    let mut options = WriteOptions::default();
    change(&mut options);
    options
}

fn write(batches: &[RecordBatch], options: WriteOptions) -> Vec<u8> {
    let mut writer = FileWriter::new(Vec::new(), &batches[0].schema(), options).unwrap();
    batches.iter().for_each(|b| writer.write(b).unwrap());
    writer.finish().unwrap()
}

fn read(bytes: Vec<u8>) -> Vec<RecordBatch> {
    let file = File::from_bytes(bytes, &OpenOptions::default()).unwrap();
    file.scan().batches().unwrap().map(|b| b.unwrap()).collect()
}

fn pages(bytes: Vec<u8>) -> Vec<Vec<u64>> {
    let file = File::from_bytes(bytes, &OpenOptions::default()).unwrap();
    let inspection = file.inspect().unwrap();
    inspection.columns.iter().map(|c| c.pages.iter().map(|p| p.num_rows).collect()).collect()
}

fn names(folder: &std::path::Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|e| e.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

#[test]
fn how_rows_are_cut_into_batches_does_not_change_what_is_read() {
    for version in [FormatVersion::V2_1, FormatVersion::V2_2] {
        let whole = write(&[batch(0..5000)], options(|o| o.format_version = version));
        let pieces: Vec<RecordBatch> = (0..5000).step_by(7).map(|i| batch(i..(i + 7).min(5000))).collect();
        let cut = write(&pieces, options(|o| o.format_version = version));
        assert_eq!(whole, cut, "one page either way");
        let read = read(whole);
        let rows: usize = read.iter().map(RecordBatch::num_rows).sum();
        assert_eq!(rows, 5000);
        assert_eq!(read[0], batch(0..5000).slice(0, read[0].num_rows()));
    }
}

#[test]
fn pages_end_at_their_rows_and_bytes() {
    let bytes = write(&[batch(0..100)], options(|o| o.max_page_rows = Some(30)));
    assert_eq!(pages(bytes), [[30, 30, 30, 10], [30, 30, 30, 10]]);
    let bytes = write(&[batch(0..100)], options(|o| o.max_page_bytes = 80));
    assert_eq!(pages(bytes)[0], [10; 10]);
}

#[test]
fn the_fullest_columns_become_pages_when_all_together_pass_the_budget() {
    let small: ArrayRef = Arc::new(Int32Array::from(vec![1; 1000]));
    let large: ArrayRef = Arc::new(Float64Array::from_iter_values((0..1000).map(|i| f64::from(i) * 0.37)));
    let batch = RecordBatch::try_from_iter([("small", small), ("large", large)]).unwrap();
    let batches: Vec<RecordBatch> = std::iter::repeat_n(batch, 4).collect();
    let bytes = write(&batches, options(|o| o.memory_bytes = 20_000));
    let pages = pages(bytes);
    assert_eq!(pages[1], [2000, 2000]);
    assert_eq!(pages[0].iter().sum::<u64>(), 4000);
    assert!(pages[0].len() < 3);
}

#[test]
fn columns_are_found_by_name_and_the_first_difference_is_named() {
    let schema = batch(0..1).schema();
    let mut writer = FileWriter::new(Vec::new(), &schema, WriteOptions::default()).unwrap();
    writer.write(&batch(0..10).project(&[1, 0]).unwrap()).unwrap();
    let e = writer.write(&batch(0..10).project(&[1]).unwrap()).unwrap_err();
    assert_eq!((e.kind(), e.message()), (ErrorKind::Invalid, "a batch has no column \"a\""));
    let other: ArrayRef = Arc::new(Int32Array::from(vec![1]));
    let s: ArrayRef = Arc::new(StringArray::from(vec!["x"]));
    let wrong = RecordBatch::try_from_iter([("a", other.clone()), ("s", s.clone())]).unwrap();
    let e = writer.write(&wrong).unwrap_err();
    assert_eq!(e.message(), "a batch has column \"a\" as Int32, the file as Int64");
    let a: ArrayRef = Arc::new(Int64Array::from(vec![1]));
    let more = RecordBatch::try_from_iter([("a", a), ("s", s), ("t", other)]).unwrap();
    let e = writer.write(&more).unwrap_err();
    assert_eq!(e.message(), "a batch has a column \"t\" that the file has not");
    // None of these spoiled the file.
    let read = read(writer.finish().unwrap());
    assert_eq!(read, [batch(0..10)]);
}

#[test]
fn a_file_is_not_finished_after_its_columns_disagree() {
    let schema =
        Schema::new(vec![Field::new("a", DataType::Int64, false), Field::new("b", DataType::Int64, false)]);
    let a: ArrayRef = Arc::new(Int64Array::from(vec![1]));
    let b: ArrayRef = Arc::new(Int64Array::from(vec![None]));
    let bad = RecordBatch::try_from_iter([("a", a), ("b", b)]).unwrap();
    let mut encoder = FileEncoder::new(&schema, WriteOptions::default()).unwrap();
    let e = encoder.write(&bad).unwrap_err();
    assert_eq!((e.kind(), e.place().column.as_deref()), (ErrorKind::Invalid, Some("b")));
    assert_eq!(encoder.finish().unwrap_err().kind(), ErrorKind::Invalid);
}

#[test]
fn an_illegal_forced_encoding_is_a_typed_error() {
    let force = |path: &str, spec: &str| {
        let options = options(|o| o.encodings = vec![(path.to_owned(), spec.to_owned())]);
        let mut writer = FileWriter::new(Vec::new(), &batch(0..1).schema(), options)?;
        writer.write(&batch(0..10))?;
        writer.finish()
    };
    assert!(force("a", "miniblock:bitpack").is_ok());
    for (path, spec) in [
        ("nowhere", "miniblock:flat"),
        ("a", "nonsense"),
        ("a", "miniblock:fsst"),
        ("a", "fullzip:rle"),
        ("a", "constant"),
        ("a", "miniblock:outofline"),
        ("s", "miniblock:bitpack"),
        ("s", "fullzip:general(lz4)"),
    ] {
        assert_eq!(force(path, spec).unwrap_err().kind(), ErrorKind::Invalid, "{path} {spec}");
    }
}

#[test]
fn a_file_appears_under_its_name_when_it_is_finished_and_not_before() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.lance");
    fs::write(&path, "old").unwrap();
    let mut writer = PathWriter::create(&path, &batch(0..1).schema(), WriteOptions::default()).unwrap();
    writer.write(&batch(0..10)).unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"old");
    let found = names(folder.path());
    assert_eq!(found.len(), 2);
    assert!(found[0].starts_with(".x.lance.pennon-") && found[0].ends_with(".tmp"), "{found:?}");
    writer.finish().unwrap();
    assert_eq!(names(folder.path()), ["x.lance"]);
    assert_eq!(File::open(&path).unwrap().num_rows(), 10);
}

#[test]
fn a_dropped_writer_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.lance");
    let mut writer = PathWriter::create(&path, &batch(0..1).schema(), WriteOptions::default()).unwrap();
    writer.write(&batch(0..10)).unwrap();
    drop(writer);
    assert_eq!(names(folder.path()), [""; 0]);
}

#[test]
fn targets_that_cannot_be_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let schema = batch(0..1).schema();
    let e = PathWriter::create(folder.path(), &schema, WriteOptions::default()).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Invalid);
    assert!(e.to_string().contains("this is a directory"), "{e}");
    let e = PathWriter::create(folder.path().join("no/x"), &schema, WriteOptions::default()).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Io);
    // A schema that cannot be written leaves nothing behind either.
    let union = DataType::Union(arrow_schema::UnionFields::empty(), arrow_schema::UnionMode::Dense);
    let schema = Schema::new(vec![Field::new("i", union, true)]);
    assert!(PathWriter::create(folder.path().join("x"), &schema, WriteOptions::default()).is_err());
    assert_eq!(names(folder.path()), [""; 0]);
}

#[test]
fn a_medium_that_fails_gives_an_error_of_its_kind() {
    struct Full(usize);
    impl Write for Full {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 = self.0.checked_sub(bytes.len()).ok_or(std::io::ErrorKind::StorageFull)?;
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut writer = FileWriter::new(Full(100), &batch(0..1).schema(), WriteOptions::default()).unwrap();
    let result = writer.write(&batch(0..1000)).and_then(|()| writer.finish().map(drop));
    assert_eq!(result.unwrap_err().kind(), ErrorKind::Io);
}

#[test]
fn a_file_without_rows_has_its_schema() {
    let schema = batch(0..1).schema();
    let bytes = FileWriter::new(Vec::new(), &schema, WriteOptions::default()).unwrap().finish().unwrap();
    let file = File::from_bytes(bytes, &OpenOptions::default()).unwrap();
    assert_eq!((file.num_rows(), file.schema().unwrap().fields().len()), (0, 2));
}

#[test]
fn a_null_struct_is_refused_in_2_0_before_anything_of_its_batch_is_written() {
    use arrow_array::{Array, ListArray, StructArray};
    use arrow_buffer::{NullBuffer, OffsetBuffer};
    let options = || WriteOptions { format_version: FormatVersion::V2_0, ..WriteOptions::default() };
    let structs = |valid: [bool; 3]| {
        let field = Arc::new(Field::new("a", DataType::Int32, true));
        let a: ArrayRef = Arc::new(Int32Array::from(vec![1, 2, 3]));
        StructArray::new(vec![field].into(), vec![a], Some(NullBuffer::from(valid.to_vec())))
    };
    let batch = |array: ArrayRef| {
        let other: ArrayRef = Arc::new(Int32Array::from_iter_values(0..array.len() as i32));
        RecordBatch::try_from_iter_with_nullable([("other", other, true), ("s", array, true)]).unwrap()
    };
    let good = batch(Arc::new(structs([true; 3])));
    let mut encoder = FileEncoder::new(&good.schema(), options()).unwrap();
    let error = encoder.write(&batch(Arc::new(structs([true, false, true])))).unwrap_err();
    assert_eq!((error.kind(), error.place().column.as_deref()), (ErrorKind::Unsupported, Some("s")));
    assert!(error.message().contains("2.1 and 2.2"), "{error}");
    // Nothing happened: the file goes on.
    encoder.write(&good).unwrap();
    let bytes =
        encoder.take_output().into_iter().chain(encoder.finish().unwrap()).collect::<Vec<_>>().concat();
    let file = File::from_bytes(bytes, &OpenOptions::default()).unwrap();
    let read: Vec<_> = file.scan().batches().unwrap().collect::<Result<_, _>>().unwrap();
    assert_eq!((read[0].num_rows(), read[0].column(0)), (3, good.column(0)));

    // Under a null list nobody sees it; under a list that is there, one does.
    let lists = |list_valid: [bool; 2]| {
        let items = structs([true, true, false]);
        let item = Arc::new(Field::new("item", items.data_type().clone(), true));
        let offsets = OffsetBuffer::new(vec![0, 2, 3].into());
        let nulls = Some(NullBuffer::from(list_valid.to_vec()));
        batch(Arc::new(ListArray::new(item, offsets, Arc::new(items), nulls)))
    };
    let mut encoder = FileEncoder::new(&lists([true, false]).schema(), options()).unwrap();
    encoder.write(&lists([true, false])).unwrap();
    let error = encoder.write(&lists([true, true])).unwrap_err();
    assert_eq!(error.place().column.as_deref(), Some("s.item"));
}

#[test]
fn a_null_struct_without_fields_is_refused_in_2_0_where_nothing_would_keep_it() {
    use arrow_array::StructArray;
    use arrow_buffer::NullBuffer;
    let array: ArrayRef =
        Arc::new(StructArray::new_empty_fields(2, Some(NullBuffer::from(vec![true, false]))));
    let batch = RecordBatch::try_from_iter_with_nullable([("s", array, true)]).unwrap();
    let options = WriteOptions { format_version: FormatVersion::V2_0, ..WriteOptions::default() };
    let error = FileEncoder::new(&batch.schema(), options).unwrap().write(&batch).unwrap_err();
    assert_eq!((error.kind(), error.place().column.as_deref()), (ErrorKind::Unsupported, Some("s")));
}

#[test]
fn a_time_zone_that_is_spelled_like_none_is_refused() {
    let zone = DataType::Timestamp(arrow_schema::TimeUnit::Second, Some("-".into()));
    let schema = Schema::new(vec![Field::new("t", zone, true)]);
    let error = FileEncoder::new(&schema, WriteOptions::default()).unwrap_err();
    assert_eq!((error.kind(), error.place().column.as_deref()), (ErrorKind::Unsupported, Some("t")));
}

#[test]
fn runs_with_nulls_in_lists_whose_items_have_none_are_refused() {
    use arrow_array::{ListArray, RunArray, types::Int32Type};
    let ends = arrow_array::PrimitiveArray::<Int32Type>::from(vec![1, 2]);
    let runs = RunArray::try_new(&ends, &Int32Array::from(vec![Some(1), None])).unwrap();
    let lists = |nullable: bool| -> ArrayRef {
        let item = Arc::new(Field::new("item", arrow_array::Array::data_type(&runs).clone(), true));
        let offsets = arrow_buffer::OffsetBuffer::new(vec![0, 2].into());
        let array = ListArray::new(item.clone(), offsets, Arc::new(runs.clone()), None);
        let field = Arc::new(item.as_ref().clone().with_nullable(nullable));
        let data = arrow_array::Array::to_data(&array).into_builder().data_type(DataType::List(field));
        arrow_array::make_array(data.build().unwrap())
    };
    for nullable in [true, false] {
        let array = lists(nullable);
        let field = Field::new("l", array.data_type().clone(), true);
        let schema = Arc::new(Schema::new(vec![field]));
        let batch = RecordBatch::try_new(schema.clone(), vec![array]).unwrap();
        let written = FileEncoder::new(&schema, WriteOptions::default()).unwrap().write(&batch);
        assert_eq!(written.is_ok(), nullable, "{written:?}");
    }
}

#[test]
fn a_page_of_2_0_uses_every_key_of_a_dictionary_unless_it_has_a_null() {
    use arrow_array::cast::AsArray;
    use arrow_array::types::{Int8Type, UInt8Type};
    use arrow_array::{Array, DictionaryArray};
    let text = |count: usize| (0..count).map(|i| format!("value {i}")).collect::<Vec<_>>();
    let check = |column: ArrayRef, num_pages: usize| {
        let batch = RecordBatch::try_from_iter_with_nullable([("d", column.clone(), true)]).unwrap();
        let bytes = write(&[batch], options(|o| o.format_version = FormatVersion::V2_0));
        let file = File::from_bytes(bytes, &OpenOptions::default()).unwrap();
        assert_eq!(file.inspect().unwrap().columns[0].pages.len(), num_pages);
        let strings = |array: &ArrayRef| {
            let dictionary = array.as_any_dictionary();
            let values = dictionary.values().as_string::<i32>();
            let keys = dictionary.normalized_keys();
            (0..array.len())
                .map(|i| array.is_valid(i).then(|| values.value(keys[i]).to_owned()))
                .collect::<Vec<_>>()
        };
        let found = file.scan().batches().unwrap().map(|b| b.unwrap().column(0).clone());
        assert_eq!(found.flat_map(|a| strings(&a)).collect::<Vec<_>>(), strings(&column));
    };
    let signed = |values: &[Option<&str>]| -> ArrayRef {
        Arc::new(values.iter().copied().collect::<DictionaryArray<Int8Type>>())
    };
    let all = text(128);
    let full: Vec<_> = all.iter().map(|v| Some(v.as_str())).collect();
    check(signed(&full), 1);
    // A null ends the page that has no key for it, and takes one of the next.
    check(signed(&[&full[..], &[None], &full[..127]].concat()), 2);
    check(signed(&[&[None], &full[..]].concat()), 2);
    check(signed(&[&[None], &full[..127]].concat()), 1);
    let all = text(256);
    check(Arc::new(all.iter().map(|v| Some(v.as_str())).collect::<DictionaryArray<UInt8Type>>()), 1);
}

#[test]
fn a_file_that_is_ended_in_steps_is_the_same_file() {
    let columns = (0..40).map(|i| {
        let values = Int64Array::from_iter((0..500).map(|row| (row % 7 != i % 5).then_some(row * i)));
        (format!("c{i}"), Arc::new(values) as ArrayRef)
    });
    // A column of no bytes, and one that holds some before it has rows.
    let nulls: ArrayRef = Arc::new(NullArray::new(500));
    let words = DictionaryArray::<Int8Type>::from_iter((0..500).map(|row| Some(["a", "b"][row % 2])));
    let more = [("nulls".to_owned(), nulls), ("words".to_owned(), Arc::new(words) as ArrayRef)];
    let batch = RecordBatch::try_from_iter(columns.chain(more)).unwrap();
    let whole = write(std::slice::from_ref(&batch), WriteOptions::default());
    for bytes in [1, 4500, usize::MAX] {
        let mut encoder = FileEncoder::new(&batch.schema(), WriteOptions::default()).unwrap();
        encoder.write(&batch).unwrap();
        let (mut file, mut steps) = (Vec::new(), 0);
        while encoder.flush_step(bytes).unwrap() {
            file.extend(encoder.take_output());
            steps += 1;
        }
        file.extend(encoder.finish().unwrap());
        assert_eq!(file.concat(), whole);
        assert!(if bytes == 1 { steps > 30 } else { steps < 42 }, "{steps} steps of {bytes} bytes");
    }
}

#[test]
fn values_of_large_batches_go_into_the_file_as_they_are() {
    // Rows that do not divide a page evenly.
    let items = Float32Array::from_iter_values(
        (0..5_000_000u32).map(|i| f32::from_bits(i.wrapping_mul(0x9E37_79B9) | 1)),
    );
    let field = Arc::new(Field::new("item", DataType::Float32, false));
    let vectors: ArrayRef = Arc::new(FixedSizeListArray::new(field, 1000, Arc::new(items), None));
    let batch = RecordBatch::try_from_iter([("v", vectors)]).unwrap();
    let sizes = pages(write(&[batch.clone(), batch.slice(100, 3000)], WriteOptions::default()));
    assert_eq!(sizes, [[2097, 2097, 2097, 1709]]);
    // More rows would be a copy.
    let sizes = pages(write(&[batch.slice(0, 1500), batch.slice(1500, 1200)], WriteOptions::default()));
    assert_eq!(sizes, [[1500, 1200]]);
    for version in [FormatVersion::V2_1, FormatVersion::V2_2] {
        let file = write(&[batch.clone(), batch.slice(100, 3000)], options(|o| o.format_version = version));
        let found = arrow_select::concat::concat_batches(&batch.schema(), &read(file)).unwrap();
        assert_eq!(found.slice(0, 5000), batch);
        assert_eq!(found.slice(5000, 3000), batch.slice(100, 3000));
    }
}
