//! Guards the container as a whole: worked examples byte by byte, files of the official writer, the
//! laws of decoders, and every byte of metadata wrong in turn.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_schema::{DataType, Field, TimeUnit};
use bytes::Bytes;
use proptest::prelude::*;

use super::column::PageMessage;
use super::encoder::Finished;
use super::extras::Extra;
use super::footer::Footer;
use super::*;
use crate::io::{Decode, Segments, Source, Step, drive};
use crate::schema::Schema;
use crate::{ErrorKind, FormatVersion, Limits};

fn open(file: &Bytes) -> Result<Metadata> {
    let source = Source::from_bytes(file.clone());
    drive(&source, OpenFile::new(file.len() as u64, Limits::default()))
}

/// The tables of a file that was opened with them.
fn tables(metadata: &Metadata) -> &Tables {
    metadata.tables().expect("a file without a directory")
}

fn read_columns(metadata: &Metadata, columns: impl IntoIterator<Item = u32>) -> Result<ReadColumns> {
    let places = columns.into_iter().map(|column| ColumnPlace::listed(tables(metadata), column));
    Ok(ReadColumns::new(metadata, places.collect::<Result<_>>()?))
}

fn columns(file: &Bytes, metadata: &Metadata) -> Result<Vec<ColumnRecord>> {
    drive(&Source::from_bytes(file.clone()), read_columns(metadata, 0..metadata.num_columns())?)
}

fn schema(fields: Vec<Field>) -> Schema {
    Schema::from_arrow(&arrow_schema::Schema::new(fields), FormatVersion::V2_1).unwrap()
}

fn join(output: Vec<Bytes>) -> Bytes {
    output.concat().into()
}

/// A `PageLayout` of flat values: what it says does not matter here.
fn layout() -> Bytes {
    Bytes::from_static(&[
        0x0a, 0x0d, 0x1a, 0x04, 0x0a, 0x02, 0x08, 0x40, 0x32, 0x01, 0x01, 0x38, 0x01, 0x48, 0x64,
    ])
}

/// Three columns, pages of one, two and no buffers, two global buffers.
fn small_file(alignment: u64, checksums: bool) -> Bytes {
    let mut encoder = ContainerEncoder::new(FormatVersion::V2_1, alignment, checksums).unwrap();
    let page = |buffers: Vec<Bytes>, length, priority| NewPage {
        buffers,
        length,
        priority,
        message: PageMessage::PageLayout,
        layout: layout(),
    };
    let long: Vec<u8> = (0..9_000u32).map(|i| (i % 253) as u8).collect();
    encoder.add_page(0, page(vec![Bytes::from(long)], 10, 0)).unwrap();
    encoder.add_page(2, page(vec![], 20, 0)).unwrap();
    assert_eq!(encoder.add_global_buffer(Bytes::from_static(b"a global buffer")), 1);
    encoder
        .add_page(0, page(vec![Bytes::from_static(b"abc"), Bytes::new(), Bytes::from_static(b"de")], 10, 10))
        .unwrap();
    encoder.add_extra(4711, Bytes::from_static(b"of another kind")).unwrap();
    let schema = schema(vec![
        Field::new("a", DataType::Int64, true),
        Field::new("b", DataType::Utf8, false),
        Field::new("c", DataType::Timestamp(TimeUnit::Microsecond, Some("+08:00".into())), true)
            .with_metadata(
                [("k".to_owned(), "v".to_owned())].into_iter().collect::<std::collections::HashMap<_, _>>(),
            ),
    ]);
    let mut output = encoder.take_output();
    let Finished { output: rest, file_bytes } = encoder.finish(&schema, 20).unwrap();
    output.extend(rest);
    let file = join(output);
    assert_eq!(file.len() as u64, file_bytes);
    file
}

/// A complete file of 2.0 with two columns, put together from a listing of its bytes.
fn worked_example() -> Bytes {
    let mut file = Vec::new();
    let pad = |file: &mut Vec<u8>| file.resize(file.len().next_multiple_of(64), 0x48);
    file.extend_from_slice(&[1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0]);
    pad(&mut file);
    for offset in [1u64, 5, 3] {
        file.extend_from_slice(&offset.to_le_bytes());
    }
    pad(&mut file);
    file.extend_from_slice(b"xyz");
    pad(&mut file);
    assert_eq!(file.len(), 0xc0);
    let minus_one = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01];
    file.extend_from_slice(&[0x0a, 0x39, 0x0a, 0x19, 0x12, 0x01, b'a', 0x20]);
    file.extend_from_slice(&minus_one);
    file.extend_from_slice(b"\x2a\x05int32\x30\x01\x38\x01");
    file.extend_from_slice(&[0x0a, 0x1c, 0x12, 0x01, b's', 0x18, 0x01, 0x20]);
    file.extend_from_slice(&minus_one);
    file.extend_from_slice(b"\x2a\x06string\x30\x01\x38\x02\x10\x03");
    assert_eq!(file.len(), 0xfd);
    let column = b"\x0a\x29\x12\x27\x0a\x25\x0a\x1f/lance.encodings.ColumnEncoding\x12\x02\x0a\x00";
    file.extend_from_slice(column);
    file.extend_from_slice(b"\x12\x3c\x0a\x01\x00\x12\x01\x0c\x18\x03\x22\x32\x12\x30\x0a\x2e");
    file.extend_from_slice(
        b"\x0a\x1e/lance.encodings.ArrayEncoding\x12\x0c\x0a\x0a\x0a\x08\x0a\x06\x0a\x04\x08\x20\x12\x00",
    );
    assert_eq!(file.len(), 0x166);
    // The second column's array encoding is not spelt out there; its length is.
    file.extend_from_slice(column);
    let url = b"\x0a\x1e/lance.encodings.ArrayEncoding\x12";
    let encoding = [0u8; 28];
    let any_bytes = url.len() + 1 + encoding.len();
    file.extend_from_slice(&[0x12, 0x4f, 0x0a, 0x03, 0x40, 0x80, 0x01, 0x12, 0x02, 0x18, 0x03, 0x18, 0x03]);
    file.extend_from_slice(&[0x22, any_bytes as u8 + 4, 0x12, any_bytes as u8 + 2, 0x0a, any_bytes as u8]);
    file.extend_from_slice(url);
    file.push(encoding.len() as u8);
    file.extend_from_slice(&encoding);
    file.resize(0x1e2, 0);
    for word in [0xfdu64, 0x69, 0x166, 0x7c, 0xc0, 0x3d, 0xfd, 0x1e2, 0x202] {
        file.extend_from_slice(&word.to_le_bytes());
    }
    file.extend_from_slice(&[1, 0, 0, 0, 2, 0, 0, 0, 0, 0, 3, 0]);
    file.extend_from_slice(b"LANC");
    assert_eq!(file.len(), 570);
    file.into()
}

#[test]
fn the_complete_worked_example_of_2_0_opens() {
    let file = worked_example();
    let metadata = open(&file).unwrap();
    assert_eq!((metadata.version(), metadata.num_rows, metadata.num_columns()), (FormatVersion::V2_0, 3, 2));
    assert_eq!(metadata.global_buffers, [192..253]);
    let arrow = tables(&metadata).schema.to_arrow();
    assert_eq!(*arrow.field(0), Field::new("a", DataType::Int32, true));
    assert_eq!(*arrow.field(1), Field::new("s", DataType::Utf8, true));
    let columns = columns(&file, &metadata).unwrap();
    assert_eq!(columns[0].pages[0].buffers, [0..12]);
    assert_eq!(columns[0].pages[0].length, 3);
    assert_eq!(columns[1].pages[0].buffers, [64..88, 128..131]);
    assert_eq!(columns[0].encoding, [0x0a, 0x00][..]);
    assert_eq!(columns[0].pages[0].message, PageMessage::ArrayEncoding);
    assert_eq!(tables(&metadata).schema.to_descriptor(3), file[192..253]);
}

#[test]
fn the_worked_4096_aligned_file_comes_out_byte_for_byte() {
    let fields = ["a", "b"].map(|name| Field::new(name, DataType::Int64, true));
    let mut encoder = ContainerEncoder::new(FormatVersion::V2_1, 4096, false).unwrap();
    let mut written = Vec::new();
    for column in 0..2 {
        let mut chunk = vec![0, 0, 0x20, 3, 0xfe, 0xfe, 0xfe, 0xfe];
        (0..100u64).for_each(|i| chunk.extend_from_slice(&(7 * i + u64::from(column)).to_le_bytes()));
        let buffers = vec![Bytes::from_static(&[0x40, 0x06]), Bytes::from(chunk)];
        encoder
            .add_page(
                column,
                NewPage {
                    buffers,
                    length: 100,
                    priority: 0,
                    message: PageMessage::PageLayout,
                    layout: layout(),
                },
            )
            .unwrap();
        written.extend(encoder.take_output());
    }
    written.extend(encoder.finish(&schema(fields.to_vec()), 100).unwrap().output);
    let file = join(written);
    assert_eq!(file[0..2], [0x40, 0x06]);
    assert_eq!(file[2..4096], vec![0x48; 4094]);
    assert_eq!(file[4096..4104], [0, 0, 0x20, 3, 0xfe, 0xfe, 0xfe, 0xfe]);
    let words: Vec<u64> = (0..6).map(|at| u64_at(&file[24_688..], at)).collect();
    assert_eq!(words, [20_480, 111, 24_576, 112, 16_384, 60]);
    let mut footer = Vec::new();
    [20_480u64, 24_688, 24_720].iter().for_each(|word| footer.extend_from_slice(&word.to_le_bytes()));
    footer.extend_from_slice(&[1, 0, 0, 0, 2, 0, 0, 0, 2, 0, 1, 0]);
    footer.extend_from_slice(b"LANC");
    assert_eq!(file[24_736..], footer);
    let metadata = open(&file).unwrap();
    let columns = columns(&file, &metadata).unwrap();
    assert_eq!(columns[1].pages[0].buffers, [8_192..8_194, 12_288..13_096]);
    assert_eq!(columns[1].pages[0].encoding, layout());
}

#[test]
fn what_was_written_is_read_back() {
    for alignment in [64, 4096] {
        for checksums in [false, true] {
            let file = small_file(alignment, checksums);
            let metadata = open(&file).unwrap();
            assert_eq!(metadata.num_rows, 20);
            assert_eq!(tables(&metadata).checks.is_some(), checksums);
            assert_eq!(metadata.extras.len(), 1 + usize::from(checksums));
            assert_eq!(metadata.extras[0], Extra { kind: 4711, global_buffer: 2 });
            let arrow = tables(&metadata).schema.to_arrow();
            assert_eq!(arrow.field(2).metadata()["k"], "v");
            let columns = columns(&file, &metadata).unwrap();
            let lengths: Vec<Vec<u64>> =
                columns.iter().map(|c| c.pages.iter().map(|p| p.length).collect()).collect();
            assert_eq!(lengths, [vec![10, 10], vec![], vec![20]]);
            let pages = &columns[0].pages;
            assert_eq!(pages[1].buffers.iter().map(|r| r.end - r.start).collect::<Vec<_>>(), [3, 0, 2]);
            assert_eq!(pages[1].priority, 10);
            for range in metadata.global_buffers.iter().chain(pages.iter().flat_map(|p| &p.buffers)) {
                assert_eq!(range.start % alignment, 0, "{range:?}");
            }
            for (index, text) in [(1, "a global buffer"), (2, "of another kind")] {
                let read =
                    ReadGlobalBuffer::new(&metadata, tables(&metadata), index, &Limits::default()).unwrap();
                assert_eq!(drive(&Source::from_bytes(file.clone()), read).unwrap(), text);
            }
            // What other readers rely on: docs/format/container.md, "What others demand".
            let footer = &metadata.footer;
            assert_eq!(footer.cmo_range().end, footer.gbo_start);
            assert!(metadata.global_buffers[0].start <= footer.column_meta_start);
        }
    }
}

/// Everything that can be read of a file, checked against its checksums; buffers of pages by unit.
fn read_all(file: &Bytes) -> Result<Vec<Vec<u8>>> {
    let source = Source::from_bytes(file.clone());
    let metadata = open(file)?;
    let mut out = vec![tables(&metadata).schema.to_descriptor(metadata.num_rows)];
    for index in 1..metadata.global_buffers.len() {
        out.push(
            drive(&source, ReadGlobalBuffer::new(&metadata, tables(&metadata), index, &Limits::default())?)?
                .to_vec(),
        );
    }
    for column in columns(file, &metadata)? {
        for page in column.pages {
            out.push(format!("{} {} {:?}", page.length, page.priority, page.encoding).into_bytes());
            let sizes = page.buffers.iter().map(|r| r.end - r.start).collect();
            let crcs = page.crcs.as_ref().map(|r| file.slice(r.start as usize..r.end as usize));
            let checks = crcs.map(|crcs| PageChecks::new(crcs, sizes)).transpose()?;
            for (at, range) in page.buffers.iter().enumerate() {
                let bytes = &file[range.start as usize..range.end as usize];
                if let Some(checks) = &checks {
                    checks.verify(at, 0, bytes)?;
                }
                out.push(bytes.to_vec());
            }
        }
    }
    Ok(out)
}

#[test]
fn every_wrong_byte_of_a_file_with_checksums_is_an_error_or_padding() {
    let file = small_file(64, true);
    let expected = read_all(&file).unwrap();
    let mut padding = 0;
    for at in 0..file.len() {
        for flip in [0x01, 0x80, 0xff] {
            let mut bad = file.to_vec();
            bad[at] ^= flip;
            match read_all(&bad.into()) {
                Err(error) => assert_ne!(error.kind(), ErrorKind::Invalid, "byte {at}: {error}"),
                Ok(found) => {
                    assert_eq!(found, expected, "byte {at} ^ {flip:02x} went unnoticed");
                    assert_eq!(file[at], 0x48, "byte {at}");
                    padding += 1;
                }
            }
        }
    }
    assert!(padding < 3 * 64 * 8, "{padding}");
}

#[test]
fn every_wrong_byte_of_a_file_without_checksums_gives_something_or_an_error() {
    let file = small_file(64, false);
    for at in 9_000..file.len() {
        for flip in [0x01, 0x10, 0x80, 0xff] {
            let mut bad = file.to_vec();
            bad[at] ^= flip;
            let _ = read_all(&bad.into());
        }
    }
    for len in 0..file.len() {
        assert!(read_all(&file.slice(..len)).is_err(), "cut at {len}");
    }
}

#[test]
fn files_that_are_something_else_are_named() {
    let text = |bytes: &'static [u8]| open(&Bytes::from_static(bytes)).unwrap_err().to_string();
    assert!(text(b"").contains("it is empty"));
    assert!(text(b"a,b\n1,2\n").contains("not a Lance file: the last four bytes are"));
    assert!(text(b"LANC").contains("a Lance file of 4 bytes"));
    assert!(text(&[b'x'; 100]).contains("(\"xxxx\"), not LANC"));
}

/// Steps a decoder by hand; counts rounds and checks that needs once met are not asked again.
fn run<D: Decode>(
    file: &[u8],
    mut decoder: D,
    mut cut: impl FnMut(u64) -> u64,
) -> (Result<D::Output>, usize) {
    let mut segments = Segments::new();
    for round in 0.. {
        match decoder.step(&segments) {
            Err(error) => return (Err(error), round),
            Ok(Step::Done(value)) => return (Ok(value), round),
            Ok(Step::Need(ranges)) => {
                assert!(!ranges.is_empty(), "a need of nothing");
                assert!(round < 4, "too many rounds");
                for range in ranges {
                    assert!(range.start < range.end && range.end <= file.len() as u64, "{range:?}");
                    assert!(segments.slice(&range).is_none(), "{range:?} asked again");
                    let mut at = range.start;
                    while at < range.end {
                        let end = (at + cut(range.end - at).max(1)).min(range.end);
                        segments.insert(at, Bytes::copy_from_slice(&file[at as usize..end as usize]));
                        at = end;
                    }
                }
            }
        }
    }
    unreachable!("the loop ends by returning")
}

fn open_and_read(file: &[u8], cut: impl FnMut(u64) -> u64 + Copy) -> (Result<String>, usize) {
    let (metadata, rounds) = run(file, OpenFile::new(file.len() as u64, Limits::default()), cut);
    let metadata = match metadata {
        Ok(metadata) => metadata,
        Err(error) => return (Err(error), rounds),
    };
    let columns = match read_columns(&metadata, 0..metadata.num_columns()) {
        Ok(columns) => columns,
        Err(error) => return (Err(error), rounds),
    };
    let (columns, more) = run(file, columns, cut);
    assert!(more <= 1, "columns took {more} rounds");
    let text =
        columns.map(|columns| format!("{:?} {} {columns:?}", tables(&metadata).schema, metadata.num_rows));
    (text, rounds + more)
}

#[test]
fn a_small_file_opens_in_one_round_and_a_wide_one_in_at_most_three() {
    let file = small_file(64, true);
    assert_eq!(open_and_read(&file, |left| left).1, 1);
    let fields: Vec<Field> =
        (0..10_000).map(|i| Field::new(format!("c{i}"), DataType::Float32, true)).collect();
    let encoder = ContainerEncoder::new(FormatVersion::V2_1, 64, true).unwrap();
    let mut encoder = encoder.with_directory_above(usize::MAX);
    for column in 0..10_000 {
        let buffers = vec![Bytes::from(vec![column as u8; 100])];
        encoder
            .add_page(
                column,
                NewPage {
                    buffers,
                    length: 25,
                    priority: 0,
                    message: PageMessage::PageLayout,
                    layout: layout(),
                },
            )
            .unwrap();
    }
    let mut output = encoder.take_output();
    output.extend(encoder.finish(&schema(fields), 25).unwrap().output);
    let file = join(output);
    let mut asked = 0;
    let (metadata, rounds) = run(&file, OpenFile::new(file.len() as u64, Limits::default()), |left| {
        asked += left;
        left
    });
    let metadata = metadata.unwrap();
    assert!(rounds <= 3 && asked < 1 << 20, "{rounds} rounds, {asked} bytes");
    let (columns, rounds) = run(&file, read_columns(&metadata, [5_000]).unwrap(), |left| left);
    assert_eq!(rounds, 1);
    assert_eq!(columns.unwrap()[0].pages[0].buffers[0].end % 64, 36);
}

proptest! {
    #[test]
    fn how_the_bytes_are_cut_does_not_change_what_is_read(size in 1u64..5_000, checksums: bool) {
        let file = small_file(64, checksums);
        let (whole, _) = open_and_read(&file, |left| left);
        let (cut, _) = open_and_read(&file, |_| size);
        prop_assert_eq!(whole.unwrap(), cut.unwrap());
    }

    #[test]
    fn any_bytes_before_a_footer_give_a_value_or_an_error(
        mut bytes in prop::collection::vec(any::<u8>(), 0..600),
        counts in (0u32..4, 0u32..40),
        starts in (0u64..700, 0u64..700, 0u64..700),
    ) {
        for start in [starts.0, starts.1, starts.2] {
            bytes.extend_from_slice(&start.to_le_bytes());
        }
        bytes.extend_from_slice(&counts.0.to_le_bytes());
        bytes.extend_from_slice(&counts.1.to_le_bytes());
        bytes.extend_from_slice(&[2, 0, 1, 0]);
        bytes.extend_from_slice(b"LANC");
        let _ = open_and_read(&bytes, |left| left);
    }

    #[test]
    fn wrong_bytes_in_a_good_file_give_a_value_or_an_error(
        wrong in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
    ) {
        let mut file = small_file(64, false).to_vec();
        for (at, value) in wrong {
            // The data itself is not looked at.
            let at = 9_000 + at.index(file.len() - 9_000);
            file[at] = value;
        }
        let _ = open_and_read(&file, |left| left);
    }
}

/// The golden files, where they are there: beside the project, or in the folder that `PENNON_SHARED` names.
fn golden() -> Option<PathBuf> {
    let shared = std::env::var_os("PENNON_SHARED").map(PathBuf::from);
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let folder = shared.unwrap_or(beside).join("golden/lance");
    if folder.is_dir() {
        return Some(folder);
    }
    assert!(!std::env::var("CI").is_ok_and(|v| v == "true"), "CI=true, but there are no golden files");
    println!("skipped: there are no golden files beside the project");
    None
}

/// Equal as far as the golden files' rules go: names of list items and nullability may differ.
fn same_type(a: &DataType, b: &DataType) -> bool {
    use DataType::*;
    match (a, b) {
        (List(a), List(b)) | (LargeList(a), LargeList(b)) | (Map(a, _), Map(b, _)) => {
            same_type(a.data_type(), b.data_type())
        }
        (FixedSizeList(a, n), FixedSizeList(b, m)) => n == m && same_type(a.data_type(), b.data_type()),
        (Struct(a), Struct(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same_field(a, b)),
        _ => a == b,
    }
}

fn same_field(a: &Field, b: &Field) -> bool {
    a.name() == b.name() && a.metadata() == b.metadata() && same_type(a.data_type(), b.data_type())
}

#[test]
fn golden_files_open_with_the_schema_their_writer_meant() {
    let Some(folder) = golden() else { return };
    let manifest = std::fs::read_to_string(folder.join("manifest.jsonl")).unwrap();
    let (mut opened, mut wrong) = (0, Vec::new());
    for line in manifest.lines() {
        let case: serde_json::Value = serde_json::from_str(line).unwrap();
        let name = case["file"].as_str().unwrap();
        let file = Bytes::from(std::fs::read(folder.join(name)).unwrap());
        let metadata = open(&file).unwrap_or_else(|e| panic!("{name}: {e}"));
        opened += 1;
        let columns = columns(&file, &metadata).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!(columns.len() as u64, case["notes"]["columns"].as_u64().unwrap(), "{name}");
        assert_eq!(
            u64::from(tables(&metadata).schema.num_columns),
            columns.len() as u64,
            "{name}: columns of the schema"
        );
        let pages: usize = columns.iter().map(|c| c.pages.len()).sum();
        assert_eq!(pages as u64, case["notes"]["pages"].as_u64().unwrap(), "{name}: pages");
        let expected = std::fs::File::open(folder.join(case["expected"].as_str().unwrap())).unwrap();
        let expected = arrow_ipc::reader::FileReader::try_new(expected, None).unwrap().schema();
        let found = tables(&metadata).schema.to_arrow();
        let same = expected.fields().len() == found.fields().len()
            && expected.fields().iter().zip(found.fields()).all(|(a, b)| same_field(a, b))
            && expected.metadata() == found.metadata();
        if !same {
            wrong.push(format!("{name}\n  expected {expected:?}\n  found    {found:?}"));
        }
        if metadata.version() == FormatVersion::V2_1 || metadata.version() == FormatVersion::V2_2 {
            let leaves = tables(&metadata).schema.leaves().unwrap_or_else(|e| panic!("{name}: {e}"));
            for (leaf, column) in leaves.iter().zip(&columns) {
                assert_eq!(leaf.column, column.index);
                let rows: u64 = column.pages.iter().map(|p| p.length).sum();
                assert_eq!(rows, metadata.num_rows * leaf.rows_scale, "{name} {}", leaf.path);
            }
        }
        // What we would write for this schema is what was written, map entries in another order.
        let again = Schema::parse(
            &tables(&metadata).schema.to_descriptor(7).into(),
            metadata.version(),
            &Limits::default(),
        );
        let (again, rows) = again.unwrap();
        assert_eq!((again.to_arrow(), rows), (found, 7), "{name}");
    }
    assert!(
        wrong.is_empty(),
        "{} of {opened} schemas differ:\n{}",
        wrong.len(),
        wrong[..wrong.len().min(8)].join("\n")
    );
    println!("golden files: {opened} of {opened} opened with the expected schema");
}

#[test]
fn a_column_beyond_the_table_and_a_missing_global_buffer_are_errors() {
    let file = small_file(64, true);
    let metadata = open(&file).unwrap();
    let error = read_columns(&metadata, [3]).unwrap_err();
    assert!(error.message().contains("needs column 3; the file has 3"), "{error}");
    assert!(ReadGlobalBuffer::new(&metadata, tables(&metadata), 9, &Limits::default()).is_err());
    let none = Arc::new(Segments::new());
    assert!(none.slice(&(0..1)).is_none());
}

#[test]
fn tables_in_any_place_and_order_are_read() {
    let file = small_file(64, false);
    let metadata = open(&file).unwrap();
    let expected = format!("{:?}", columns(&file, &metadata).unwrap());
    let table = |range: Range<u64>| file[range.start as usize..range.end as usize].to_vec();
    let footer = &metadata.footer;
    let mut moved = file[..file.len() - FOOTER_BYTES].to_vec();
    let place = |moved: &mut Vec<u8>, bytes: Vec<u8>| {
        moved.resize(moved.len().next_multiple_of(4096), 0);
        let at = moved.len() as u64;
        moved.extend(bytes);
        at
    };
    let gbo_start = place(&mut moved, table(footer.gbo_range()));
    let cmo_start = place(&mut moved, table(footer.cmo_range()));
    moved.resize(moved.len() + 200_000, 0x48);
    moved.extend(Footer { gbo_start, cmo_start, ..footer.clone() }.emit());
    let (text, rounds) = open_and_read(&moved, |left| left);
    assert!(text.unwrap().ends_with(&expected));
    assert_eq!(rounds, 4, "tail, GBO table, descriptor and CMO table, columns");
}

#[test]
fn limits_are_met_before_memory_is_asked_for() {
    let file = small_file(64, true);
    let opened = |limits: Limits| {
        let source = Source::from_bytes(file.clone());
        drive(&source, OpenFile::new(file.len() as u64, limits)).map(|_| ()).map_err(|e| e.kind())
    };
    let limits = |change: &dyn Fn(&mut Limits)| {
        let mut limits = Limits::default();
        change(&mut limits);
        limits
    };
    assert_eq!(opened(limits(&|l| l.columns = 2)), Err(ErrorKind::Limit));
    assert_eq!(opened(limits(&|l| l.metadata_bytes = 100)), Err(ErrorKind::Limit));
    assert_eq!(opened(limits(&|l| l.nesting = 0)), Err(ErrorKind::Limit));
    assert_eq!(opened(limits(&|l| l.columns = 3)), Ok(()));
    let metadata = open(&file).unwrap();
    let small = limits(&|l| l.buffer_bytes = 10);
    assert_eq!(
        ReadGlobalBuffer::new(&metadata, tables(&metadata), 1, &small).unwrap_err().kind(),
        ErrorKind::Limit
    );
}

/// Measures opening a wide file: `cargo test --release … -- --ignored --nocapture`.
#[test]
#[ignore = "a measurement"]
fn opening_twenty_thousand_columns_takes() {
    let fields: Vec<Field> =
        (0..20_000).map(|i| Field::new(format!("c{i:05}"), DataType::Float32, true)).collect();
    let encoder = ContainerEncoder::new(FormatVersion::V2_1, 64, true).unwrap();
    let mut encoder = encoder.with_directory_above(usize::MAX);
    for column in 0..20_000 {
        let buffers = vec![Bytes::from(vec![column as u8; 100])];
        encoder
            .add_page(
                column,
                NewPage {
                    buffers,
                    length: 25,
                    priority: 0,
                    message: PageMessage::PageLayout,
                    layout: layout(),
                },
            )
            .unwrap();
    }
    let mut output = encoder.take_output();
    output.extend(encoder.finish(&schema(fields), 25).unwrap().output);
    let file = join(output);
    for _ in 0..5 {
        let start = std::time::Instant::now();
        let metadata = open(&file).unwrap();
        let opened = start.elapsed();
        let projection = tables(&metadata).schema.project(&["c12345"]).unwrap();
        let column = read_columns(&metadata, [projection.leaves[0].column]).unwrap();
        drive(&Source::from_bytes(file.clone()), column).unwrap();
        let one = start.elapsed();
        columns(&file, &metadata).unwrap();
        println!("open {opened:?}, and one column {one:?}, and all {:?}", start.elapsed());
    }
}
