//! The field directory byte by byte, and directories that lie with every checksum right.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema as ArrowSchema};
use bytes::Bytes;

use super::directory::{Ends, Entry, Plan, Summary, emit, name_hash};
use super::metadata::data_end;
use super::*;
use crate::io::{Source, drive};
use crate::{ErrorKind, File, FileEncoder, Limits, OpenOptions, WriteOptions};

fn batch() -> RecordBatch {
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("a", Arc::new(Int64Array::from(vec![1, 2, 3]))),
        ("s", Arc::new(StringArray::from(vec!["x", "y", "z"]))),
        ("b", Arc::new(Int64Array::from(vec![7, 8, 9]))),
    ];
    let fields: Vec<Field> =
        columns.iter().map(|(n, a)| Field::new(*n, a.data_type().clone(), true)).collect();
    RecordBatch::try_new(Arc::new(ArrowSchema::new(fields)), columns.into_iter().map(|c| c.1).collect())
        .unwrap()
}

fn file() -> Bytes {
    let options = WriteOptions { directory_columns: 0, statistics: false, ..WriteOptions::default() };
    let mut encoder = FileEncoder::new(&batch().schema(), options).unwrap();
    encoder.write(&batch()).unwrap();
    let mut output = encoder.take_output();
    output.extend(encoder.finish().unwrap());
    output.concat().into()
}

fn metadata(file: &Bytes) -> Metadata {
    let open = OpenFile::new(file.len() as u64, Limits::default());
    drive(&Source::from_bytes(file.clone()), open).unwrap()
}

/// Where buckets and index are, and what they say.
fn parts(file: &Bytes) -> (Range<usize>, Range<usize>, Vec<Entry>, Summary) {
    let metadata = metadata(file);
    let directory = metadata.directory.clone().unwrap();
    let descriptor = &metadata.global_buffers[0];
    let ends =
        Ends { descriptor_bytes: descriptor.end - descriptor.start, data_end: data_end(metadata.file_bytes) };
    assert_eq!(directory.num_buckets(), 1);
    let small = |r: &Range<u64>| r.start as usize..r.end as usize;
    let buckets = small(&directory.bucket_range(0));
    let entries = directory.parse_bucket(0, &file[buckets.clone()], &ends).unwrap();
    let extra = metadata.extras.iter().find(|e| e.kind == KIND_DIRECTORY).unwrap();
    let index = small(&metadata.global_buffers[extra.global_buffer as usize]);
    (buckets, index, entries, directory.summary.clone())
}

/// The file with another directory of the same size, all checksums right.
fn with(file: &Bytes, change: impl Fn(&mut Vec<Entry>, &mut Summary)) -> Bytes {
    let (buckets, index, mut entries, mut summary) = parts(file);
    change(&mut entries, &mut summary);
    let plan = Plan::new(entries.iter().map(|e| e.columns.len() as u32));
    let (new_buckets, new_index) = emit(&plan, &entries, &summary);
    let mut changed = file.to_vec();
    changed[buckets].copy_from_slice(&new_buckets);
    changed[index].copy_from_slice(&new_index);
    changed.into()
}

fn read(file: &Bytes, columns: &[&str]) -> Result<RecordBatch> {
    let file = File::from_bytes(file.clone(), &OpenOptions::default())?;
    let mut batches = file.scan().columns(columns).batches()?;
    batches.next().unwrap_or_else(corrupt_none)
}

fn corrupt_none() -> Result<RecordBatch> {
    Err(Error::corrupt("no batch"))
}

#[test]
fn names_hash_as_stated() {
    for (name, hash) in
        [("", 0xcbf2_9ce4_8422_2325), ("a", 0xaf63_dc4c_8601_ec8c), ("foobar", 0x8594_4171_f739_67e8)]
    {
        assert_eq!(name_hash(name), hash, "{name:?}");
    }
}

#[test]
fn a_directory_has_the_stated_layout() {
    let file = file();
    let (buckets, index, entries, summary) = parts(&file);
    let (buckets, index) = (&file[buckets], &file[index]);
    // FNV-1a of one letter: "a" af63dc4c8601ec8c, "b" af63df4c8601f1a5, "s" af63ee4c86020b22.
    assert_eq!(entries.iter().map(|e| e.first_column).collect::<Vec<_>>(), [0, 2, 1]);
    assert_eq!(buckets.len(), 3 * 56);
    let metadata = metadata(&file);
    let descriptor = metadata.global_buffers[0].start as usize;
    let b = &buckets[56..112];
    assert_eq!(u64_at(b, 0), 0xaf63_df4c_8601_f1a5);
    let (at, len) = (u64_at(b, 1) as usize, b[16] as usize);
    let messages = &file[descriptor + at..descriptor + at + len];
    assert_eq!(messages[..5], [0x0a, len as u8 - 2, 0x12, 1, b'b']);
    assert_eq!(b[20..24], crc32c::crc32c(messages).to_le_bytes());
    assert_eq!(b[24..32], [2, 0, 0, 0, 1, 0, 0, 0]);
    let (at, len) = (u64_at(b, 4) as usize, b[40] as usize);
    assert_eq!(b[44..48], crc32c::crc32c(&file[at..at + len]).to_le_bytes());
    let cmo = metadata.footer.cmo_start as usize + 2 * 16;
    assert_eq!((u64_at(&file[cmo..], 0), u64_at(&file[cmo..], 1)), (at as u64, len as u64));

    assert_eq!(index.len(), 16 + 60);
    assert_eq!(u64_at(index, 0), 0xaf63_dc4c_8601_ec8c);
    assert_eq!(index[8..12], 168u32.to_le_bytes());
    assert_eq!(index[12..16], crc32c::crc32c(buckets).to_le_bytes());
    let trailer = &index[16..];
    assert_eq!((u64_at(trailer, 0), summary.metadata.start, trailer[16]), (3, u64_at(trailer, 1), 0));
    let words = trailer.as_chunks::<4>().0.iter().map(|w| u32::from_le_bytes(*w)).collect::<Vec<_>>();
    assert_eq!(words[6..10], [3, 3, 1, 1], "fields, columns, buckets, the buckets' buffer");
    assert_eq!(words[10], crc32c::crc32c(&index[..16]));
    assert_eq!(words[11..14], [1, 0, 1]);
    assert_eq!(words[14], crc32c::crc32c(&trailer[..56]));
    // The index is right before the extras record, which is 3 numbers and two entries before the footer.
    let end = metadata.global_buffers.last().unwrap().end;
    assert_eq!(end + 2 * 8 + 16 + 40, file.len() as u64);
}

#[test]
fn directories_that_lie_are_found_out_or_lead_to_the_right_column() {
    let file = file();
    let right = |columns: &[usize]| batch().project(columns).unwrap();
    assert_eq!(read(&with(&file, |_, _| {}), &["b", "a"]).unwrap(), right(&[2, 0]));
    type Lie = (&'static str, fn(&mut Vec<Entry>, &mut Summary));
    let lies: [Lie; 15] = [
        ("messages of another field", |e, _| e[0].messages = e[1].messages.clone()),
        ("messages of another field and their CRC", |e, _| {
            let other = e[1].clone();
            (e[0].messages, e[0].messages_crc) = (other.messages, other.messages_crc);
        }),
        ("messages past the descriptor", |e, _| e[0].messages = 1 << 40..(1 << 40) + 9),
        ("messages of two fields", |e, _| e[0].messages.end += 9),
        ("no messages", |e, _| (e[0].messages, e[0].messages_crc) = (5..5, 0)),
        ("a column that is not there", |e, _| e[0].first_column = 3),
        ("a column past all numbers", |e, _| e[0].first_column = u32::MAX),
        ("metadata past the file", |e, _| e[0].columns[0].message = u64::MAX - 9..u64::MAX),
        ("metadata of another column", |e, _| e[0].columns[0].message = e[1].columns[0].message.clone()),
        ("another CRC of the metadata", |e, _| e[0].columns[0].crc ^= 1),
        ("other page units", |e, _| e[0].columns[0].first_unit = 1),
        ("page units past all numbers", |e, _| e[0].columns[0].first_unit = u64::MAX / 2),
        ("entries out of order", |e, _| e.swap(1, 2)),
        ("other rows", |_, s| s.num_rows = 4),
        ("metadata of the schema that is none", |_, s| (s.metadata, s.metadata_crc) = (0..3, 0)),
    ];
    for (what, lie) in lies {
        let lying = with(&file, lie);
        let error = read(&lying, &["a"]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{what}: {error}");
        let whole = File::from_bytes(lying, &OpenOptions::default()).and_then(|f| f.verify(|_| {}));
        assert!(whole.is_err() || whole.is_ok_and(|r| !r.faults.is_empty()), "{what}: verify finds nothing");
    }
    // What no reader of one column can notice: verify does, and so does a reader of both.
    let lying = with(&file, |e, _| {
        let other = e[1].clone();
        (e[0].first_column, e[0].columns) = (other.first_column, other.columns);
    });
    assert_eq!(read(&lying, &["a", "b"]).unwrap_err().kind(), ErrorKind::Corrupt);
    let report = File::from_bytes(lying, &OpenOptions::default()).unwrap().verify(|_| {}).unwrap();
    assert!(report.faults.iter().any(|f| f.message().contains("contradicts")), "{:?}", report.faults);
}

#[test]
fn an_index_that_does_not_fit_the_file_is_an_error_and_one_of_the_future_is_left_alone() {
    let file = file();
    for change in [
        (|s: &mut Summary| s.num_columns = 4) as fn(&mut Summary),
        |s| s.buckets_buffer = 9,
        |s| s.buckets_buffer = 0,
        |s| s.has_units = false,
        |s| s.metadata = 1 << 50..(1 << 50) + 1,
    ] {
        let error = read(&with(&file, |_, summary| change(summary)), &["a"]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
    }
    let (_, index, _, _) = parts(&file);
    let mut future = file.to_vec();
    future[index.end - 8] = 2;
    let crc = crc32c::crc32c(&future[index.end - 60..index.end - 4]);
    future[index.end - 4..index.end].copy_from_slice(&crc.to_le_bytes());
    let future = Bytes::from(future);
    assert!(metadata(&future).directory.is_none());
    assert_eq!(read(&future, &["b"]).unwrap(), batch().project(&[2]).unwrap());
}

#[test]
fn many_fields_of_one_name_are_left_to_the_descriptor() {
    let columns: Vec<ArrayRef> = (0..300).map(|i| Arc::new(Int64Array::from(vec![i])) as ArrayRef).collect();
    let fields: Vec<Field> =
        (0..300).map(|i| Field::new(if i % 2 == 0 { "even" } else { "x" }, DataType::Int64, true)).collect();
    let batch = RecordBatch::try_new(Arc::new(ArrowSchema::new(fields)), columns).unwrap();
    let options = WriteOptions { directory_columns: 0, ..WriteOptions::default() };
    let mut encoder = FileEncoder::new(&batch.schema(), options).unwrap();
    encoder.write(&batch).unwrap();
    let mut output = encoder.take_output();
    output.extend(encoder.finish().unwrap());
    let file: Bytes = output.concat().into();
    for (path, column) in [("even", 0), ("x", 1), ("even#150", 298), ("x#77", 153)] {
        assert_eq!(read(&file, &[path]).unwrap(), batch.project(&[column]).unwrap(), "{path}");
    }
}
