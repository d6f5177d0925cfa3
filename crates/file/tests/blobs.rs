//! Blob columns: values, descriptors and handles, from our own files and those of the official writer.
//!
//! Guards against: bytes of a blob that are wrong, that are read without being asked for, or that are taken for rows.

mod common;

use std::collections::BTreeMap;
use std::io::{Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, UInt64Type};
use arrow_array::{Array, ArrayRef, Int64Array, LargeBinaryArray, RecordBatch, StructArray};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, Field, Fields, Schema, SchemaRef};
use bytes::Bytes;
use common::compare::{Flags, difference, schema_difference};
use common::counted::{Counted, total};
use common::engine::{Part, expected_take, open, scan, take, write};
use common::official::{Job, ask, python};
use common::rng::{Rng, seeds};
use common::shared::{in_ci, read_ipc, shared};
use common::work::{each, no_failures};
use pennon_file::io::{MappingPolicy, ReadAt};
use pennon_file::{
    Blob, BlobKind, BlobPlace, BlobView, ErrorKind, File, FileWriter, OpenOptions, Result, WriteOptions,
};

const VERSIONS: [&str; 3] = ["2.0", "2.1", "2.2"];

fn blob_field(name: &str, nullable: bool) -> Field {
    Field::new(name, DataType::LargeBinary, nullable)
        .with_metadata([("lance-encoding:blob".to_owned(), "true".to_owned())])
}

fn options(version: &str) -> WriteOptions {
    let mut options = WriteOptions::default();
    options.format_version = version.parse().expect("a version");
    options
}

/// One column `b` of these blobs.
fn batch_of(values: &[Option<&[u8]>]) -> RecordBatch {
    let schema = Arc::new(Schema::new(vec![blob_field("b", true)]));
    let array: LargeBinaryArray = values.iter().copied().collect();
    RecordBatch::try_new(schema, vec![Arc::new(array)]).expect("one column")
}

fn file_of(batch: &RecordBatch, options: WriteOptions) -> Bytes {
    write(&batch.schema(), std::slice::from_ref(batch), options).expect("blobs are written")
}

// ---- writing and reading

#[test]
fn the_example_of_the_docs_is_stored_as_drawn() {
    let (thirty, thousand) = ([1u8; 30], [2u8; 1000]);
    let values: [Option<&[u8]>; 6] = [None, Some(b""), Some(&thirty), Some(&thousand), None, Some(b"z")];
    let bytes = file_of(&batch_of(&values), options("2.2"));
    assert_eq!(bytes[..30], thirty);
    assert_eq!(bytes[64..1064], thousand);
    assert_eq!(bytes[1088], b'z');
    let file = open(&bytes).unwrap();
    let inspection = file.inspect().unwrap();
    let page = &inspection.columns[0].pages[0];
    assert_eq!((page.layout, page.encoding.as_str()), ("blob", "mini-block packed_struct(64, 64)"));
    assert_eq!(page.levels, "nullable-item");
    // After the chunk's header: position and size of every row, null at definition level 1.
    let (start, len) = page.buffers[1];
    let chunk = &bytes[start as usize..(start + len) as usize];
    let pairs: Vec<(u64, u64)> = chunk[8..8 + 96]
        .chunks_exact(16)
        .map(|p| {
            (u64::from_le_bytes(p[..8].try_into().unwrap()), u64::from_le_bytes(p[8..].try_into().unwrap()))
        })
        .collect();
    assert_eq!(pairs, [(0x10000, 0), (0, 0), (0, 30), (64, 1000), (0x10000, 0), (1088, 1)]);
    let batches: Vec<RecordBatch> =
        file.scan().blobs(BlobView::Descriptors).batches().unwrap().collect::<Result<_>>().unwrap();
    let descriptors = batches[0].column(0).as_struct();
    assert_eq!(
        descriptors.fields().iter().map(|f| f.name().as_str()).collect::<Vec<_>>(),
        ["position", "size"]
    );
    let valid: Vec<bool> = (0..6).map(|i| descriptors.is_valid(i)).collect();
    assert_eq!(valid, [false, true, true, true, false, true]);
    assert_eq!(descriptors.column(0).as_primitive::<UInt64Type>().value(5), 1088);
    assert_eq!(difference(&[batch_of(&values)], &scan(&file, &Part::default()).unwrap()), None);
}

/// Blobs of random sizes, some null and some empty; a few are large.
fn random_blobs(rng: &mut Rng, rows: usize, nulls: bool) -> LargeBinaryArray {
    let values: Vec<Option<Vec<u8>>> = (0..rows)
        .map(|_| match rng.below(10) {
            0 | 1 if nulls => None,
            2 => Some(Vec::new()),
            3 => Some(vec![rng.below(256) as u8; 60 + rng.below(9)]),
            4 if rng.below(4) == 0 => Some((0..70_000 + rng.below(9)).map(|i| i as u8).collect()),
            _ => Some((0..rng.below(300)).map(|_| rng.below(256) as u8).collect()),
        })
        .collect();
    values.iter().map(|v| v.as_deref()).collect()
}

/// Lists of blobs, some null and some empty.
fn random_lists(rng: &mut Rng, item: Arc<Field>, rows: usize, nulls: bool) -> arrow_array::ListArray {
    let valid: Vec<bool> = (0..rows).map(|_| !nulls || rng.below(5) > 0).collect();
    // A null list may hide items.
    let lengths: Vec<usize> = (0..rows).map(|_| rng.below(4)).collect();
    let items = random_blobs(rng, lengths.iter().sum(), nulls);
    let offsets = arrow_buffer::OffsetBuffer::from_lengths(lengths);
    let nulls = nulls.then(|| NullBuffer::from(valid));
    arrow_array::ListArray::try_new(item, offsets, Arc::new(items), nulls).unwrap()
}

/// A table with a blob at the top, one under two structs, and another column; in 2.0 without null structs, and with
/// blobs in a list.
fn random_table(rng: &mut Rng, version: &str) -> (SchemaRef, Vec<RecordBatch>) {
    let is_2_0 = version == "2.0";
    let nulls = rng.below(4) > 0;
    let inner = Fields::from(vec![Field::new("k", DataType::Int64, true), blob_field("deep", nulls)]);
    let middle = Fields::from(vec![Field::new("in", DataType::Struct(inner.clone()), true)]);
    let item = Arc::new(blob_field("item", nulls));
    let mut fields = vec![
        Field::new("id", DataType::Int64, false),
        blob_field("top", nulls),
        Field::new("s", DataType::Struct(middle.clone()), true),
    ];
    if is_2_0 {
        fields.push(Field::new("l", DataType::List(item.clone()), nulls));
    }
    let schema: SchemaRef = Arc::new(Schema::new(fields));
    let mut batches = Vec::new();
    let mut id = 0;
    for _ in 0..rng.within(1, 4) {
        let rows = rng.below(120);
        let mut valid =
            || (nulls && !is_2_0 && rng.below(3) > 0).then(|| (0..rows).map(|_| rng.below(8) > 0).collect());
        let (outer_nulls, inner_nulls): (Option<NullBuffer>, Option<NullBuffer>) = (valid(), valid());
        let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(id..id + rows as i64));
        id += rows as i64;
        let top: ArrayRef = Arc::new(random_blobs(rng, rows, nulls));
        let deep: ArrayRef = Arc::new(random_blobs(rng, rows, nulls));
        let deepest = StructArray::try_new(inner.clone(), vec![numbers.clone(), deep], inner_nulls).unwrap();
        let outer = StructArray::try_new(middle.clone(), vec![Arc::new(deepest)], outer_nulls).unwrap();
        let mut columns: Vec<ArrayRef> = vec![numbers, top, Arc::new(outer)];
        if is_2_0 {
            columns.push(Arc::new(random_lists(rng, item.clone(), rows, nulls)));
        }
        batches.push(RecordBatch::try_new(schema.clone(), columns).unwrap());
    }
    (schema, batches)
}

fn random_options(rng: &mut Rng, version: &str) -> WriteOptions {
    let mut options = options(version);
    if rng.below(2) == 0 {
        options.max_page_rows = Some(rng.within(1, 40) as u64);
    }
    options.checksums = rng.below(2) == 0;
    options.alignment = if rng.below(4) == 0 { 4096 } else { 64 };
    options
}

#[test]
fn random_blob_tables_are_read_as_they_were_written() {
    let seeds: Vec<u64> = seeds("blobs", 60).collect();
    let failures = each(&seeds, |seed| {
        let mut rng = Rng::new(*seed);
        let version = VERSIONS[rng.below(3)];
        let (schema, batches) = random_table(&mut rng, version);
        let options = random_options(&mut rng, version);
        let bytes = write(&schema, &batches, options).map_err(|e| format!("write: {e}"))?;
        let file = open(&bytes).map_err(|e| format!("open: {e}"))?;
        if let Some(text) = schema_difference(&schema, &file.schema().expect("schema"), Flags::Same) {
            return Err(text);
        }
        let expected = common::engine::whole(&schema, &batches);
        let same = |expected: &RecordBatch, found: Result<Vec<RecordBatch>>, what: &str| match found {
            Ok(found) => difference(std::slice::from_ref(expected), &found)
                .map_or(Ok(()), |text| Err(format!("{what}: {text}"))),
            Err(e) => Err(format!("{what}: {e}")),
        };
        same(&expected, scan(&file, &Part::default()), "whole")?;
        let small = Part { batch_bytes: Some(1000), threads: Some(2), ..Part::default() };
        same(&expected, scan(&file, &small), "small batches")?;
        // Piece by piece, so that every byte must have been asked for.
        let counted = Counted::new(bytes.clone());
        let piecewise = File::from_read_at(counted, &OpenOptions::default()).map_err(|e| e.to_string())?;
        same(&expected, scan(&piecewise, &Part::default()), "piecewise")?;
        let rows = expected.num_rows();
        let asked: Vec<u64> = (0..20).filter(|_| rows > 0).map(|_| rng.below(rows) as u64).collect();
        same(&expected_take(&expected, &asked), take(&piecewise, &asked, None), &format!("take {asked:?}"))?;
        let deep =
            file.blobs("s.`in`.deep").or_else(|_| file.blobs("s.in.deep")).map_err(|e| e.to_string())?;
        let handles = deep.get(&asked).map_err(|e| e.to_string())?;
        let taken = expected_take(&expected, &asked);
        let outer = taken.column(2).as_struct();
        let inner = outer.column(0).as_struct();
        let values = inner.column(1).as_binary::<i64>();
        for (i, handle) in handles.iter().enumerate() {
            let valid = outer.is_valid(i) && inner.is_valid(i) && values.is_valid(i);
            match handle {
                None if !valid => {}
                Some(blob) if valid => {
                    let bytes = blob.read().map_err(|e| e.to_string())?;
                    if bytes != values.value(i) || blob.len() != bytes.len() as u64 {
                        return Err(format!("the handle of row {} has other bytes", asked[i]));
                    }
                }
                _ => return Err(format!("row {}: a handle is {}", asked[i], handle.is_some())),
            }
        }
        if version == "2.0" {
            let lists = taken.column(3).as_list::<i32>();
            let found = file.blobs("l.item").and_then(|c| c.items(&asked)).map_err(|e| e.to_string())?;
            for (i, row) in found.iter().enumerate() {
                let expected = if lists.is_valid(i) { lists.value(i) } else { lists.values().slice(0, 0) };
                let read = row.iter().map(|b| b.as_ref().map(|b| b.read().unwrap().to_vec()));
                let expected = expected.as_binary::<i64>().iter().map(|v| v.map(<[u8]>::to_vec));
                if !read.eq(expected) {
                    return Err(format!("the handles of row {} have other bytes", asked[i]));
                }
            }
        }
        let report = file.verify(|_| {}).map_err(|e| e.to_string())?;
        if let Some(fault) = report.faults.first() {
            return Err(format!("verify: {fault}"));
        }
        Ok(())
    });
    no_failures("blobs", &failures, |i| format!("seed {}", seeds[i]));
}

#[test]
fn blob_tables_written_by_us_are_read_by_the_official_library() {
    let Some(python) = python("blobs") else { return };
    let folder = tempfile::tempdir().unwrap();
    let mut jobs = Vec::new();
    for seed in seeds("official blobs", 40) {
        let mut rng = Rng::new(seed);
        for version in VERSIONS {
            let (schema, batches) = random_table(&mut rng, version);
            let expected = common::engine::whole(&schema, &batches);
            let options = random_options(&mut rng, version);
            let path = folder.path().join(format!("{}.lance", jobs.len()));
            std::fs::write(&path, write(&schema, &batches, options).unwrap()).unwrap();
            jobs.push(Job::new(format!("seed {seed} as {version}"), path, expected, seed));
        }
    }
    let results = ask(&python, &jobs);
    let failures: Vec<(usize, String)> =
        results.into_iter().enumerate().filter_map(|(i, r)| r.err().map(|e| (i, e))).collect();
    println!(
        "blobs: {} of {} files read equal by the official library",
        jobs.len() - failures.len(),
        jobs.len()
    );
    no_failures("blobs", &failures, |i| jobs[i].name.clone());
}

#[test]
fn pages_of_2_0_are_pairs_with_a_pair_for_null() {
    let (thirty, thousand) = ([1u8; 30], [2u8; 1000]);
    let values: [Option<&[u8]>; 6] = [None, Some(b""), Some(&thirty), Some(&thousand), None, Some(b"z")];
    let mut options = options("2.0");
    options.checksums = false;
    let bytes = file_of(&batch_of(&values), options);
    let file = open(&bytes).unwrap();
    let page = &file.inspect().unwrap().columns[0].pages[0];
    let (start, len) = page.buffers[0];
    let pairs: Vec<(u64, u64)> = bytes[start as usize..(start + len) as usize]
        .chunks_exact(16)
        .map(|p| {
            (u64::from_le_bytes(p[..8].try_into().unwrap()), u64::from_le_bytes(p[8..].try_into().unwrap()))
        })
        .collect();
    assert_eq!(pairs, [(1, 0), (0, 0), (0, 30), (64, 1000), (1, 0), (1088, 1)]);
    let description = [0x1a, 4, 0x0a, 2, 0x0a, 0];
    assert!(bytes.windows(6).any(|w| w == description), "the column is not described as one of blobs");
    let batches: Vec<RecordBatch> =
        file.scan().blobs(BlobView::Descriptors).batches().unwrap().collect::<Result<_>>().unwrap();
    let descriptors = batches[0].column(0);
    assert_eq!(
        (0..6).map(|i| descriptors.is_valid(i)).collect::<Vec<_>>(),
        [false, true, true, true, false, true]
    );
}

#[test]
fn what_is_no_large_binary_or_stands_in_a_list_is_refused_before_anything_is_written() {
    let mark = |data_type: DataType| {
        Field::new("x", data_type, true).with_metadata([("lance-encoding:blob".to_owned(), String::new())])
    };
    let list = DataType::List(Arc::new(blob_field("item", true)));
    let of_2_0 = Schema::new(vec![Field::new("x", list.clone(), true)]);
    assert!(FileWriter::new(Vec::new(), &of_2_0, options("2.0")).is_ok());
    for (field, text) in [
        (mark(DataType::Binary), "cast it to large binary"),
        (mark(DataType::Utf8), "cast it to large binary"),
        (Field::new("x", list, true), "a blob inside a list"),
    ] {
        let error = FileWriter::new(Vec::new(), &Schema::new(vec![field]), options("2.2")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert!(error.to_string().contains(text), "{error}");
    }
    let mut forced = options("2.2");
    forced.encodings.push(("b".into(), "fullzip".into()));
    let error = FileWriter::new(Vec::new(), &batch_of(&[]).schema(), forced).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
}

// ---- how much is read

/// Takes a file without keeping its large pieces, and reads it back with made up bytes in their place: byte `i`
/// of a piece is `i % 251`.
#[derive(Default)]
struct Synthetic {
    pieces: Vec<(u64, Piece)>,
    bytes: u64,
    reads: Mutex<Vec<Range<u64>>>,
}

enum Piece {
    Kept(Vec<u8>),
    MadeUp(u64),
}

impl Piece {
    fn len(&self) -> u64 {
        match self {
            Self::Kept(bytes) => bytes.len() as u64,
            Self::MadeUp(len) => *len,
        }
    }
}

impl std::io::Write for Synthetic {
    fn write(&mut self, buf: &[u8]) -> std::io::Result<usize> {
        let large = buf.len() > 16 << 20;
        let piece = if large { Piece::MadeUp(buf.len() as u64) } else { Piece::Kept(buf.to_vec()) };
        self.pieces.push((self.bytes, piece));
        self.bytes += buf.len() as u64;
        Ok(buf.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn made_up(range: Range<u64>) -> impl Iterator<Item = u8> {
    range.map(|i| (i % 251) as u8)
}

impl ReadAt for Synthetic {
    fn len(&self) -> std::io::Result<u64> {
        Ok(self.bytes)
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> std::io::Result<()> {
        self.reads.lock().unwrap().push(offset..offset + buf.len() as u64);
        let (mut at, mut left) = (offset, buf);
        while !left.is_empty() {
            let (start, piece) = self
                .pieces
                .iter()
                .find(|(start, piece)| (*start..start + piece.len()).contains(&at))
                .ok_or(std::io::ErrorKind::UnexpectedEof)?;
            let skip = at - start;
            let count = left.len().min((piece.len() - skip) as usize);
            let (now, later) = left.split_at_mut(count);
            match piece {
                Piece::Kept(bytes) => now.copy_from_slice(&bytes[skip as usize..][..count]),
                Piece::MadeUp(_) => {
                    now.iter_mut().zip(made_up(skip..skip + count as u64)).for_each(|(b, m)| *b = m);
                }
            }
            (at, left) = (at + count as u64, later);
        }
        Ok(())
    }
}

impl Synthetic {
    fn drain(&self) -> Vec<Range<u64>> {
        std::mem::take(&mut self.reads.lock().unwrap())
    }
}

const GIB: u64 = 1 << 30;
const MIB: u64 = 1 << 20;

/// Three rows: a small blob, one of 1 GiB, a small one.
fn with_a_gibibyte(version: &str) -> Arc<Synthetic> {
    // Zeroed memory that nobody touches is not there.
    let mut data = vec![0u8; GIB as usize + 6];
    data[..3].copy_from_slice(b"abc");
    data[GIB as usize + 3..].copy_from_slice(b"xyz");
    let offsets = arrow_buffer::OffsetBuffer::new(vec![0, 3, 3 + GIB as i64, 6 + GIB as i64].into());
    let array = LargeBinaryArray::new(offsets, data.into(), None);
    let schema = Arc::new(Schema::new(vec![blob_field("b", true)]));
    let batch = RecordBatch::try_new(schema.clone(), vec![Arc::new(array)]).unwrap();
    let mut writer = FileWriter::new(Synthetic::default(), &schema, options(version)).unwrap();
    writer.write(&batch).unwrap();
    Arc::new(writer.finish().unwrap())
}

#[test]
fn a_mebibyte_of_a_gibibyte_costs_a_mebibyte() {
    if !common::memory::is_child() {
        return common::memory::in_child("a_mebibyte_of_a_gibibyte_costs_a_mebibyte");
    }
    for version in VERSIONS {
        let synthetic = with_a_gibibyte(version);
        let file = File::from_read_at(synthetic.clone(), &OpenOptions::default()).unwrap();
        let blobs = file.blobs("b").unwrap().get(&[1]).unwrap();
        let blob = blobs[0].as_ref().unwrap();
        assert_eq!(blob.len(), GIB);
        let opening = total(&synthetic.drain());
        assert!(opening < 80 << 10, "{opening} bytes read before any blob");
        for offset in [0, 1, MIB + 17, 511 * MIB + 3, GIB - MIB] {
            let part = blob.read_range(offset..offset + MIB).unwrap();
            assert!(part.iter().copied().eq(made_up(offset..offset + MIB)), "at {offset}");
            assert_eq!(total(&synthetic.drain()), MIB);
        }
        assert_eq!(blob.read_range(7..7).unwrap().len(), 0);
        let past = blob.read_range(GIB - 1..GIB + 1).unwrap_err();
        assert_eq!(past.kind(), ErrorKind::Invalid);
        assert!(past.message().contains("of a blob of 1073741824"), "{past}");
        // The rows beside it are read without it.
        let around = file.take(&[0, 2]).read().unwrap();
        let values: Vec<&[u8]> =
            around.iter().flat_map(|b| b.column(0).as_binary::<i64>().iter().flatten()).collect();
        assert_eq!(values, [b"abc", b"xyz"]);
        assert!(total(&synthetic.drain()) < 80 << 10);
        // Too much for a value by the default limit only if there is a byte more.
        let mut small = OpenOptions::default();
        small.limits.buffer_bytes = GIB - 1;
        let file = File::from_read_at(synthetic.clone(), &small).unwrap();
        let error = file.take(&[1]).read().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Limit);
        assert!(total(&synthetic.drain()) < 160 << 10);
        assert_eq!(file.blobs("b").unwrap().get(&[1]).unwrap()[0].as_ref().unwrap().len(), GIB);
    }
    let peak = common::memory::peak();
    assert!(peak < 96 << 20, "{} MiB of memory at most", peak >> 20);
}

#[test]
fn handles_and_readers_of_one_blob_share_no_position() {
    let value: Vec<u8> = (0..100_000u32).map(|i| (i % 253) as u8).collect();
    let bytes = file_of(&batch_of(&[Some(&value), None, Some(b"")]), options("2.2"));
    let file = File::from_read_at(Counted::new(bytes), &OpenOptions::default()).unwrap();
    let column = file.blobs("b").unwrap();
    let mut blobs = column.get(&[0, 1, 2, 0]).unwrap();
    assert!(blobs[1].is_none());
    assert!(blobs[2].as_ref().unwrap().is_empty() && blobs[2].as_ref().unwrap().read().unwrap().is_empty());
    let (last, first) = (blobs.pop().unwrap().unwrap(), blobs.swap_remove(0).unwrap());
    let (mut a, mut b) = (first.reader(), last.reader());
    let mut other = a.clone();
    a.seek(SeekFrom::Start(50_000)).unwrap();
    let mut part = [0; 10];
    b.read_exact(&mut part).unwrap();
    assert_eq!(part, value[..10]);
    a.read_exact(&mut part).unwrap();
    assert_eq!(part, value[50_000..50_010]);
    other.read_exact(&mut part).unwrap();
    assert_eq!(part, value[..10]);
    let mut rest = Vec::new();
    b.read_to_end(&mut rest).unwrap();
    assert_eq!(rest, value[10..]);
    assert_eq!(a.stream_position().unwrap(), 50_010);
    assert_eq!(a.seek(SeekFrom::End(-1)).unwrap(), 99_999);
    assert_eq!(a.read(&mut part).unwrap(), 1);
    assert_eq!(a.read(&mut part).unwrap(), 0);
    a.seek(SeekFrom::Start(1 << 40)).unwrap();
    assert_eq!(a.read(&mut part).unwrap(), 0);
    assert_eq!(a.stream_position().unwrap(), 1 << 40);
    assert!(a.seek(SeekFrom::Current(-(1 << 41))).is_err());
    // Two threads at once.
    std::thread::scope(|scope| {
        for part in 0..4u64 {
            let (first, value) = (&first, &value);
            scope.spawn(move || {
                let range = part * 25_000..(part + 1) * 25_000;
                let bytes = first.read_range(range.clone()).unwrap();
                assert_eq!(bytes, value[range.start as usize..range.end as usize]);
            });
        }
    });
}

#[test]
fn a_batch_ends_before_blobs_pass_its_budget_and_fetches_no_others() {
    let value = vec![7u8; 10_000];
    let values: Vec<Option<&[u8]>> = (0..200).map(|i| (i % 5 > 0).then_some(value.as_slice())).collect();
    let batch = batch_of(&values);
    let counted = Counted::new(file_of(&batch, options("2.2")));
    let file = File::from_read_at(counted.clone(), &OpenOptions::default()).unwrap();
    let mut batches = file.scan().batch_bytes(50_000).threads(1).batches().unwrap();
    let first = batches.next().unwrap().unwrap();
    assert!((5..=7).contains(&first.num_rows()), "{} rows", first.num_rows());
    let blobs = |reads: &[Range<u64>]| total(reads) as usize;
    let read = blobs(&counted.drain());
    assert!(read < 50_000 + (70 << 10), "{read} bytes for a batch of 50,000");
    let mut found = vec![first];
    for batch in batches {
        let batch = batch.unwrap();
        let bytes: usize = batch.column(0).as_binary::<i64>().iter().flatten().map(<[u8]>::len).sum();
        assert!(bytes <= 50_000 || batch.num_rows() == 1);
        found.push(batch);
    }
    assert_eq!(difference(&[batch], &found), None);
    // A budget below a single value still gives one row at a time.
    let scan = file.scan().batch_bytes(1).threads(1).batches().unwrap();
    assert!(scan.map(|b| b.unwrap().num_rows()).all(|rows| rows <= 2));
}

#[test]
fn descriptors_are_read_without_the_values() {
    let value = vec![7u8; 10_000];
    let values: Vec<Option<&[u8]>> = (0..500).map(|_| Some(value.as_slice())).collect();
    let counted = Counted::new(file_of(&batch_of(&values), options("2.1")));
    let file = File::from_read_at(counted.clone(), &OpenOptions::default()).unwrap();
    let rows: usize =
        file.scan().blobs(BlobView::Descriptors).batches().unwrap().map(|b| b.unwrap().num_rows()).sum();
    assert_eq!(rows, 500);
    let read = total(&counted.drain());
    assert!(read < 100 << 10, "{read} bytes for 500 descriptors");
}

#[test]
fn blobs_in_sidecars_do_not_have_other_columns_read_again_and_again() {
    // Nothing in the file tells how large its blobs are: 2,000 rows of 100 kB, and 1 kB of text beside each.
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("f")).unwrap();
    let sidecar = folder.path().join("f").join(SIDECAR_1);
    std::fs::write(&sidecar, vec![7u8; 100_000]).unwrap();
    let rows: Vec<Option<Row<'_>>> = vec![Some((1, 0, 100_000, 1, "")); 2_000];
    let (field, array) = descriptors(&rows);
    let texts: Vec<String> = (0..rows.len() as u64)
        .map(|i| format!("{i:04}").repeat(250) + &i.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_string())
        .collect();
    let text: ArrayRef = Arc::new(arrow_array::StringArray::from_iter_values(&texts));
    let fields = Fields::from(vec![field, Field::new("t", DataType::Utf8, false)]);
    let both = StructArray::try_new(fields.clone(), vec![array, text], None).unwrap();
    let bytes = marked(Field::new("s", DataType::Struct(fields), false), Arc::new(both));
    let counted = Counted::new(bytes.clone().into());
    let mut options = OpenOptions::default();
    options.blobs.resolver = Some(Arc::new(move |_: &BlobPlace| {
        Ok(Arc::new(std::fs::File::open(&sidecar).unwrap()) as Arc<dyn ReadAt>)
    }));
    let file = File::from_read_at(counted.clone(), &options).unwrap();
    let mut rows = 0;
    for batch in file.scan().blobs(BlobView::Values).batch_bytes(2_000_000).threads(1).batches().unwrap() {
        rows += batch.unwrap().num_rows();
    }
    assert_eq!(rows, 2_000);
    let read = total(&counted.drain());
    assert!(read < 4 * bytes.len() as u64, "{read} bytes read of a file of {}", bytes.len());
    let order: Vec<u64> = (0..2_000).rev().collect();
    let taken = file.take(&order).blobs(BlobView::Values).batch_bytes(2_000_000).read().unwrap();
    assert_eq!(taken.iter().map(RecordBatch::num_rows).sum::<usize>(), 2_000);
    let read = total(&counted.drain());
    assert!(read < 8 * bytes.len() as u64, "{read} bytes taken of a file of {}", bytes.len());
}

// ---- tables of the official writer

/// A table's data files, what they hold, and the blobs of one version by `id`.
struct Table {
    folder: PathBuf,
    files: Vec<PathBuf>,
    blobs: BTreeMap<i64, Option<Vec<u8>>>,
}

fn table(name: &str) -> Option<Table> {
    let Some(shared) = shared() else {
        assert!(!in_ci(), "CI=true, but there is no golden data");
        println!("blobs: {name} not read, there is no shared data");
        return None;
    };
    let folder = shared.join("golden/tables").join(name);
    let batches = read_ipc(&shared.join(format!("golden/tables/{name}.expected/b.blobs.arrow")));
    let mut blobs = BTreeMap::new();
    for batch in &batches {
        let (ids, values) = (batch.column(0).as_primitive::<Int64Type>(), batch.column(1).as_binary::<i64>());
        blobs.extend(ids.values().iter().copied().zip(values.iter().map(|v| v.map(<[u8]>::to_vec))));
    }
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder.join("data"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "lance"))
        .collect();
    files.sort();
    Some(Table { folder, files, blobs })
}

fn options_in(folder: &Path) -> OpenOptions {
    let mut options = OpenOptions::default();
    options.allow_unstable = true;
    options.blobs.table_base = Some(folder.to_path_buf());
    options
}

/// All rows of `id` and `b` in a data file whose blobs are known, in the given view.
fn check_values(table: &Table, view: BlobView) -> usize {
    let mut checked = 0;
    for path in &table.files {
        let file = File::open_with(path, &options_in(&table.folder)).unwrap();
        for batch in file.scan().columns(&["id", "b"]).blobs(view).batches().unwrap() {
            let batch = batch.unwrap();
            let ids = batch.column(0).as_primitive::<Int64Type>();
            let values = batch.column(1).as_binary::<i64>();
            for (id, value) in ids.values().iter().zip(values.iter()) {
                // Rows deleted later have no entry.
                if let Some(expected) = table.blobs.get(id) {
                    assert_eq!(value, expected.as_deref(), "row with id {id}");
                    checked += 1;
                }
            }
        }
        check_handles(table, &file);
    }
    checked
}

fn check_handles(table: &Table, file: &File) {
    let ids: Vec<i64> = file
        .scan()
        .columns(&["id"])
        .batches()
        .unwrap()
        .flat_map(|b| b.unwrap().column(0).as_primitive::<Int64Type>().values().to_vec())
        .collect();
    let rows: Vec<u64> = (0..file.num_rows()).rev().collect();
    let handles = file.blobs("b").unwrap().get(&rows).unwrap();
    for (row, handle) in rows.iter().zip(handles) {
        let Some(expected) = table.blobs.get(&ids[*row as usize]) else { continue };
        let Some(expected) = expected else {
            assert!(handle.is_none());
            continue;
        };
        let blob: Blob = handle.expect("a value");
        assert_eq!(blob.read().unwrap(), expected);
        let middle = blob.len() / 2;
        assert_eq!(blob.read_range(middle..blob.len()).unwrap(), expected[middle as usize..]);
    }
}

#[test]
fn blobs_of_the_first_kind_in_a_table_are_the_recorded_bytes() {
    for name in ["blob_v1_v2_0", "blob_v1_v2_1"] {
        let Some(table) = table(name) else { return };
        assert_eq!(check_values(&table, BlobView::Auto), table.blobs.len());
    }
}

#[test]
fn blobs_of_the_second_kind_in_a_table_are_the_recorded_bytes() {
    for name in ["blob_v2_v2_2", "blob_v2_v2_3"] {
        let Some(table) = table(name) else { return };
        assert_eq!(check_values(&table, BlobView::Values), table.blobs.len(), "{name}");
    }
    let Some(table) = table("blob_v2_v2_2") else { return };
    // By default they are descriptors.
    let mut kinds = std::collections::BTreeSet::new();
    for path in &table.files {
        let file = File::open(path).unwrap();
        assert_eq!(file.schema().expect("schema").field(1).data_type().to_string(), {
            let batches: Vec<_> = file.scan().batches().unwrap().map(|b| b.unwrap()).collect();
            let found = batches[0].column(1).as_struct();
            kinds.extend(found.column(0).as_primitive::<arrow_array::types::UInt8Type>().values().to_vec());
            found.data_type().to_string()
        });
    }
    assert!(kinds.contains(&0) && kinds.len() > 1, "kinds {kinds:?}");
    let expected = read_ipc(&table.folder.with_extension("expected").join("v1.arrow"));
    let ids = expected[0].column(0).as_primitive::<Int64Type>().values().to_vec();
    let file = table.files.iter().find_map(|path| {
        let file = File::open(path).unwrap();
        (file.num_rows() == ids.len() as u64).then_some(file)
    });
    let found = scan(&file.expect("version 1 is one file"), &Part::default()).unwrap();
    let column = |batch: &RecordBatch, name: &str| batch.column_by_name(name).unwrap().clone();
    let found = RecordBatch::try_from_iter([("b", column(&found[0], "b"))]).unwrap();
    let expected = RecordBatch::try_from_iter([("b", column(&expected[0], "b"))]).unwrap();
    assert_eq!(difference(&[expected], &[found]), None);
}

#[test]
fn files_in_memory_have_sidecars_through_a_resolver_only() {
    let Some(table) = table("blob_v2_v2_2") else { return };
    let path = table.files.iter().find(|p| p.with_extension("").is_dir()).expect("one has sidecars");
    let bytes = Bytes::from(std::fs::read(path).unwrap());
    let file = File::from_bytes(bytes.clone(), &OpenOptions::default()).unwrap();
    let error = file.scan().blobs(BlobView::Values).batches().unwrap().find_map(Result::err).unwrap();
    assert!(error.message().contains("no resolver was given"), "{error}");
    let folder = path.with_extension("");
    let asked = Arc::new(Mutex::new(Vec::new()));
    let mut options = OpenOptions::default();
    options.blobs.resolver = Some({
        let asked = asked.clone();
        Arc::new(move |place: &BlobPlace| {
            asked.lock().unwrap().push(place.to_string());
            let BlobPlace::Sidecar { name, .. } = place else { panic!("only sidecars: {place}") };
            Ok(Counted::local(std::fs::File::open(folder.join(name)).unwrap()) as Arc<dyn ReadAt>)
        })
    });
    let file = File::from_bytes(bytes, &options).unwrap();
    let rows: usize =
        file.scan().blobs(BlobView::Values).batches().unwrap().map(|b| b.unwrap().num_rows()).sum();
    assert_eq!(rows as u64, file.num_rows());
    let mut asked = asked.lock().unwrap().clone();
    assert!(!asked.is_empty());
    asked.sort();
    asked.dedup();
    check_handles(&table, &file);
    let packed = file.blobs("b").unwrap().get(&(0..file.num_rows()).collect::<Vec<_>>()).unwrap();
    assert!(packed.iter().flatten().any(|blob| blob.descriptor().kind != BlobKind::Inline));
}

// ---- damage

#[test]
fn flipped_bits_of_a_blob_file_give_values_or_errors() {
    let (thirty, thousand) = ([1u8; 30], [2u8; 1000]);
    let batch = batch_of(&[None, Some(b""), Some(&thirty), Some(&thousand), None, Some(b"z")]);
    for version in VERSIONS {
        let mut options = options(version);
        options.checksums = false;
        let bytes = file_of(&batch, options).to_vec();
        // The bytes of the blobs themselves are not covered by anything.
        let places: Vec<usize> = (1089..bytes.len()).collect();
        let failures = each(&places, |at| {
            for bit in 0..8 {
                let mut damaged = bytes.clone();
                damaged[*at] ^= 1 << bit;
                let Ok(file) = File::from_bytes(damaged, &OpenOptions::default()) else { continue };
                for view in [BlobView::Auto, BlobView::Values, BlobView::Descriptors] {
                    let Ok(batches) = file.scan().blobs(view).threads(1).batches() else { continue };
                    for batch in batches.take(4) {
                        if let Err(e) = batch
                            && e.message().contains("internal")
                        {
                            return Err(e.to_string());
                        }
                    }
                }
                let _ = file.take(&[5, 0, 5]).read();
                if let Ok(column) = file.blobs("b") {
                    let blobs = column.get(&[0, 3]).unwrap_or_default();
                    let _ = blobs.iter().flatten().map(Blob::read).count();
                }
                let _ = file.inspect();
            }
            Ok(())
        });
        no_failures("flips", &failures, |i| format!("byte {}", places[i]));
    }
}

#[test]
fn mapping_or_not_the_bytes_are_the_same() {
    let value: Vec<u8> = (0..300_000u32).map(|i| (i % 253) as u8).collect();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.lance");
    std::fs::write(&path, file_of(&batch_of(&[Some(&value)]), options("2.2"))).unwrap();
    for mapping in [MappingPolicy::Always, MappingPolicy::Never, MappingPolicy::Auto] {
        let mut options = OpenOptions::default();
        options.source.mapping = mapping;
        let file = File::open_with(&path, &options).unwrap();
        let blob = file.blobs("b").unwrap().get(&[0]).unwrap().remove(0).unwrap();
        assert_eq!(blob.read().unwrap(), value);
        assert_eq!(blob.read_range(1000..2000).unwrap(), value[1000..2000]);
    }
}

// ---- the second kind, in all its places

/// A descriptor: kind, position, size, number, URI.
type Row<'a> = (u8, u64, u64, u32, &'a str);

/// A struct array of descriptors, and its field with the mark misspelled: as a packed struct it can be written.
fn descriptors(rows: &[Option<Row<'_>>]) -> (Field, ArrayRef) {
    use arrow_array::{StringArray, UInt8Array, UInt32Array, UInt64Array};
    let of = |i: usize| rows[i].unwrap_or_default();
    let all = 0..rows.len();
    let columns: Vec<ArrayRef> = vec![
        Arc::new(UInt8Array::from_iter_values(all.clone().map(|i| of(i).0))),
        Arc::new(UInt64Array::from_iter_values(all.clone().map(|i| of(i).1))),
        Arc::new(UInt64Array::from_iter_values(all.clone().map(|i| of(i).2))),
        Arc::new(UInt32Array::from_iter_values(all.clone().map(|i| of(i).3))),
        Arc::new(StringArray::from_iter_values(all.map(|i| of(i).4))),
    ];
    let types = [DataType::UInt8, DataType::UInt64, DataType::UInt64, DataType::UInt32, DataType::Utf8];
    let names = ["kind", "position", "size", "blob_id", "blob_uri"];
    let fields: Fields = names.iter().zip(types).map(|(n, t)| Field::new(*n, t, false)).collect();
    let nulls = NullBuffer::from(rows.iter().map(Option::is_some).collect::<Vec<_>>());
    let array = StructArray::try_new(fields.clone(), columns, Some(nulls)).unwrap();
    let metadata = [("lance-encoding:blub", "true"), ("lance-encoding:packed", "true")];
    let metadata = metadata.map(|(k, v)| (k.to_owned(), v.to_owned()));
    (Field::new("b", DataType::Struct(fields), true).with_metadata(metadata), Arc::new(array))
}

/// The bytes of a file with one column, the mark spelled right.
fn marked(field: Field, array: ArrayRef) -> Vec<u8> {
    let schema = Arc::new(Schema::new(vec![field]));
    let batch = RecordBatch::try_new(schema, vec![array]).unwrap();
    let mut options = options("2.2");
    options.checksums = false;
    let mut bytes = file_of(&batch, options).to_vec();
    let (wrong, right) = (b"lance-encoding:blub", b"lance-encoding:blob");
    let places: Vec<usize> = (0..bytes.len()).filter(|i| bytes[*i..].starts_with(wrong)).collect();
    assert!(!places.is_empty());
    places.iter().for_each(|at| bytes[*at..at + right.len()].copy_from_slice(right));
    bytes
}

const SIDECAR_1: &str = "10000000000000000000000000000000.blob";

#[test]
fn every_kind_of_place_is_read_where_the_options_say() {
    let folder = tempfile::tempdir().unwrap();
    let at = |path: &str| folder.path().join(path);
    for (path, bytes) in [
        (format!("data/f/{SIDECAR_1}"), "0123456789"),
        ("data/near.bin".into(), "near by"),
        ("table/_blobs/1.blob".into(), "managed"),
        ("base7/dir/o".into(), "in base seven"),
        ("out.bin".into(), "outside"),
    ] {
        std::fs::create_dir_all(at(&path).parent().unwrap()).unwrap();
        std::fs::write(at(&path), bytes).unwrap();
    }
    let near = at("data/near.bin").display().to_string();
    let outside = format!("file://{}", at("out.bin").display());
    let climbing = format!("{}/../out.bin", at("data").display());
    let rows: Vec<Option<Row<'_>>> = vec![
        Some((0, 12345, 0, 0, "")),
        None,
        Some((1, 2, 3, 1, "")),
        Some((2, 0, 10, 1, "")),
        Some((3, 0, 0, 0, &near)),
        Some((3, 5, 2, 0, &near)),
        Some((3, 3, 4, 7, "dir/o")),
        Some((4, 1, 3, 0, "_blobs/1.blob")),
        Some((4, 0, 0, 0, "_blobs/1.blob")),
        Some((5, 8, 5, 7, "dir/o")),
        Some((3, 3, 4, 0, &outside)),
        Some((3, 3, 4, 0, &climbing)),
        Some((3, 0, 0, 0, "s3://bucket/x")),
        Some((1, 8, 3, 1, "")),
        Some((1, 0, 1, 2, "")),
        Some((6, 0, 1, 0, "")),
        Some((4, 0, 1, 0, "../out.bin")),
        Some((0, 1 << 40, 1, 0, "")),
        Some((3, 0, 1, 8, "dir/o")),
    ];
    let (field, array) = descriptors(&rows);
    std::fs::write(at("data/f.lance"), marked(field, array)).unwrap();
    let mut options = OpenOptions::default();
    options.blobs.table_base = Some(at("table"));
    options.blobs.base_paths.insert(7, at("base7"));
    let file = File::open_with(at("data/f.lance"), &options).unwrap();
    let value = |file: &File, row: u64| -> Result<Option<Vec<u8>>> {
        let taken = file.take(&[row]).blobs(BlobView::Values).read()?;
        let values = taken[0].column(0).as_binary::<i64>();
        let value = values.is_valid(0).then(|| values.value(0).to_vec());
        // The handle agrees.
        let handle = file.blobs("b")?.get(&[row])?.remove(0);
        assert_eq!(handle.map(|blob| blob.read().unwrap().to_vec()), value, "row {row}");
        Ok(value)
    };
    let expected: [Option<&str>; 10] = [
        Some(""),
        None,
        Some("234"),
        Some("0123456789"),
        Some("near by"),
        Some("by"),
        Some("base"),
        Some("ana"),
        Some(""),
        Some("seven"),
    ];
    for (row, expected) in expected.iter().enumerate() {
        assert_eq!(value(&file, row as u64).unwrap().as_deref(), expected.map(str::as_bytes), "row {row}");
    }
    for (row, kind, text) in [
        (10, ErrorKind::Invalid, "outside of the file's folder"),
        (11, ErrorKind::Invalid, "outside of the file's folder"),
        (12, ErrorKind::Unsupported, "a scheme that is not read"),
        (13, ErrorKind::Corrupt, "a blob of 3 bytes at 8 in sidecar file 1"),
        (14, ErrorKind::Io, "sidecar file 2 (0100000000"),
        (15, ErrorKind::Unsupported, "a blob of kind 6"),
        (16, ErrorKind::Corrupt, "\"../out.bin\""),
        (17, ErrorKind::Corrupt, "1 bytes at 1099511627776 in a file of"),
        (18, ErrorKind::Invalid, "the options name no such base"),
    ] {
        let error = file.take(&[row]).blobs(BlobView::Values).read().unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.message().contains(text), "row {row}: {error}");
        let handle = file.blobs("b").unwrap().get(&[row]).and_then(|mut b| b.remove(0).unwrap().read());
        assert_eq!(handle.unwrap_err().kind(), kind);
    }
    options.blobs.allow_external = true;
    let file = File::open_with(at("data/f.lance"), &options).unwrap();
    assert_eq!(value(&file, 10).unwrap().unwrap(), b"side");
    // Descriptors are read whatever they say.
    let all = scan(&file, &Part::default()).unwrap();
    assert_eq!(all.iter().map(RecordBatch::num_rows).sum::<usize>(), rows.len());
}

#[test]
fn descriptors_in_structs_and_lists_become_values_there() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("f")).unwrap();
    std::fs::write(folder.path().join("f").join(SIDECAR_1), "0123456789").unwrap();
    let rows: Vec<Option<Row<'_>>> = vec![
        Some((1, 0, 1, 1, "")),
        None,
        Some((1, 2, 3, 1, "")),
        Some((0, 0, 0, 0, "")),
        Some((1, 9, 1, 1, "")),
    ];
    let (field, array) = descriptors(&rows);
    // struct<b>, lists of it: [[0, null], null, [], [2..5, ""], [9]]
    let inner = StructArray::try_new(Fields::from(vec![field]), vec![array], None).unwrap();
    let item = Arc::new(Field::new("item", inner.data_type().clone(), true));
    let offsets = arrow_buffer::OffsetBuffer::new(vec![0, 2, 2, 2, 4, 5].into());
    let nulls = NullBuffer::from(vec![true, false, true, true, true]);
    let list = arrow_array::ListArray::try_new(item, offsets, Arc::new(inner), Some(nulls)).unwrap();
    let field = Field::new("l", list.data_type().clone(), true);
    let path = folder.path().join("f.lance");
    std::fs::write(&path, marked(field, Arc::new(list))).unwrap();
    let file = File::open(&path).unwrap();
    let text = |rows: &[RecordBatch]| -> Vec<Option<Vec<Option<String>>>> {
        let mut out = Vec::new();
        for batch in rows {
            let list = batch.column(0).as_list::<i32>();
            out.extend((0..list.len()).map(|i| {
                list.is_valid(i).then(|| {
                    let items = list.value(i);
                    let values = items.as_struct().column(0).as_binary::<i64>().clone();
                    values.iter().map(|v| v.map(|v| String::from_utf8(v.to_vec()).unwrap())).collect()
                })
            }));
        }
        out
    };
    let some = |s: &str| Some(s.to_owned());
    let expected = [
        Some(vec![some("0"), None]),
        None,
        Some(vec![]),
        Some(vec![some("234"), some("")]),
        Some(vec![some("9")]),
    ];
    for bytes in [1, 4, 1 << 20] {
        let scan = file.scan().blobs(BlobView::Values).batch_bytes(bytes);
        let batches: Vec<_> = scan.batches().unwrap().collect::<Result<_>>().unwrap();
        assert_eq!(text(&batches), expected, "{bytes} bytes");
    }
    let order = [4, 0, 1, 4, 3];
    let taken = file.take(&order).blobs(BlobView::Values).read().unwrap();
    assert_eq!(text(&taken), order.map(|i| expected[i as usize].clone()));
    let column = file.blobs("l.item.b").unwrap();
    assert_eq!(column.get(&[0]).unwrap_err().kind(), ErrorKind::Invalid);
    let items = column.items(&order).unwrap();
    let read =
        |blob: &Option<Blob>| blob.as_ref().map(|b| String::from_utf8(b.read().unwrap().to_vec()).unwrap());
    let items: Vec<Vec<_>> = items.iter().map(|row| row.iter().map(read).collect()).collect();
    assert_eq!(items, order.map(|i| expected[i as usize].clone().unwrap_or_default()));
    assert_eq!(file.blobs("l").unwrap().items(&[3]).unwrap()[0].len(), 2);
}

#[test]
fn verify_counts_the_bytes_of_blobs_once_and_names_descriptors_that_lead_nowhere() {
    let value = vec![7u8; 3_000_000];
    let bytes = file_of(&batch_of(&[Some(&value), None, Some(b"abc")]), options("2.2"));
    let file = open(&bytes).unwrap();
    let report = file.verify(|_| {}).unwrap();
    assert!(report.faults.is_empty());
    assert_eq!(report.unchecked_bytes, 3_000_003);
    assert_eq!(file.inspect().unwrap().columns[0].blob_bytes, Some(3_000_003));
    // Read piece by piece: all of it, never much at once.
    let counted = Counted::new(bytes);
    File::from_read_at(counted.clone(), &OpenOptions::default()).unwrap().verify(|_| {}).unwrap();
    let reads = counted.drain();
    assert!(total(&reads) > 3_000_003 && reads.iter().all(|r| r.end - r.start <= MIB));
    let same: Row<'_> = (0, 0, 20, 0, "");
    let (field, array) = descriptors(&[Some(same), Some(same), Some((0, 10, 20, 0, ""))]);
    let file = open(&marked(field, array).into()).unwrap();
    let report = file.verify(|_| {}).unwrap();
    assert!(report.faults.is_empty());
    let stored: u64 = file.inspect().unwrap().columns[0].bytes;
    let globals: u64 = file.inspect().unwrap().global_buffers.iter().map(|b| b.bytes).sum();
    assert_eq!(report.bytes, stored + globals + 30);
    assert_eq!(file.inspect().unwrap().columns[0].blob_bytes, Some(60));
    let (field, array) = descriptors(&[Some(same), Some((0, 10, 1 << 50, 0, ""))]);
    let report = open(&marked(field, array).into()).unwrap().verify(|_| {}).unwrap();
    assert_eq!(report.faults.len(), 1);
    let fault = &report.faults[0];
    assert!(fault.message().contains("1125899906842624 bytes at 10"), "{fault}");
    assert_eq!((fault.place().column.as_deref(), fault.place().page), (Some("b"), Some(0)));
}
