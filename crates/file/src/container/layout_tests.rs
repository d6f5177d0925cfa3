//! Files whose parts stand elsewhere than we would put them, read like the files they were made of.
//!
//! Guards against: reliance on order, alignment, neighbourhood or padding of anything that an offset leads to.
//!
//! ```text
//! a file of ours ──take apart──▶ buffers, messages, descriptor ──lay out by a plan──▶ another file, same values
//! ```

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, LargeBinaryArray, ListArray, RecordBatch, StringArray};
use arrow_schema::{Field, Schema as ArrowSchema};
use bytes::Bytes;
use prost::Message;

use super::footer::Footer;
use super::*;
use crate::io::{Source, drive};
use crate::proto::file_v2 as pb;
use crate::{File, FileEncoder, FormatVersion, Limits, OpenOptions, WriteOptions};

/// How to lay out a file again.
#[derive(Debug, Clone)]
struct Plan {
    alignment: u64,
    /// What stands in gaps.
    padding: u8,
    /// Page buffers from the last to the first.
    reversed: bool,
    /// Page buffers dealt out over the columns in turn instead of one column after the other.
    interleaved: bool,
    /// The descriptor before everything.
    descriptor_first: bool,
    /// Column metadata from the last to the first.
    columns_reversed: bool,
    /// Bytes between the CMO and the GBO table.
    gap: usize,
    /// Descriptions of pages and columns apart from their messages.
    deferred: bool,
    footer_version: Option<(u16, u16)>,
}

const PLAIN: Plan = Plan {
    alignment: 64,
    padding: 0x48,
    reversed: false,
    interleaved: false,
    descriptor_first: false,
    columns_reversed: false,
    gap: 0,
    deferred: false,
    footer_version: None,
};

fn plans() -> Vec<Plan> {
    vec![
        PLAIN,
        Plan { alignment: 4096, padding: 0, ..PLAIN },
        Plan { alignment: 1, ..PLAIN },
        Plan { alignment: 8, reversed: true, padding: 0xff, ..PLAIN },
        Plan { interleaved: true, columns_reversed: true, padding: 0xa5, ..PLAIN },
        Plan { alignment: 4096, interleaved: true, reversed: true, descriptor_first: true, ..PLAIN },
        Plan { gap: 4053, ..PLAIN },
        Plan { deferred: true, ..PLAIN },
        Plan { deferred: true, alignment: 1, reversed: true, descriptor_first: true, gap: 7, ..PLAIN },
    ]
}

/// A file being laid out.
struct Sink {
    bytes: Vec<u8>,
    padding: u8,
}

impl Sink {
    fn put(&mut self, bytes: &[u8], alignment: u64) -> Range<u64> {
        let start = (self.bytes.len() as u64).next_multiple_of(alignment);
        self.bytes.resize(start as usize, self.padding);
        self.bytes.extend_from_slice(bytes);
        start..self.bytes.len() as u64
    }
}

/// Takes a file without extras apart and lays it out by the plan.
fn lay_out(file: &Bytes, plan: &Plan) -> Bytes {
    let source = Source::from_bytes(file.clone());
    let metadata = drive(&source, OpenFile::new(file.len() as u64, Limits::default())).unwrap();
    let tables = metadata.tables().unwrap();
    let slice = |range: &Range<u64>| file.slice(range.start as usize..range.end as usize);
    let mut columns: Vec<pb::ColumnMetadata> = (0..metadata.num_columns())
        .map(|at| pb::ColumnMetadata::decode(slice(&tables.column_range(at).unwrap())).unwrap())
        .collect();
    let mut sink = Sink { bytes: Vec::new(), padding: plan.padding };
    let mut descriptor = 0..0;
    if plan.descriptor_first {
        descriptor = sink.put(&slice(&metadata.global_buffers[0]), plan.alignment);
    }

    // Column, page, buffer of every page buffer, in the order in which they will stand.
    let mut order: Vec<(usize, usize, usize)> = Vec::new();
    for (c, column) in columns.iter().enumerate() {
        for (p, page) in column.pages.iter().enumerate() {
            order.extend((0..page.buffer_offsets.len()).map(|b| (c, p, b)));
        }
    }
    if plan.interleaved {
        order.sort_by_key(|(c, p, b)| (*b, *p, *c));
    }
    if plan.reversed {
        order.reverse();
    }
    for (c, p, b) in order {
        let page = &mut columns[c].pages[p];
        let range = page.buffer_offsets[b]..page.buffer_offsets[b] + page.buffer_sizes[b];
        page.buffer_offsets[b] = sink.put(&slice(&range), plan.alignment).start;
    }
    if plan.deferred {
        let mut defer = |encoding: &mut Option<pb::Encoding>| {
            let Some(pb::encoding::Location::Direct(direct)) =
                encoding.as_ref().and_then(|e| e.location.clone())
            else {
                panic!("a description that is not in its message");
            };
            let at = sink.put(&direct.encoding, 1);
            let (buffer_location, buffer_length) = (at.start, at.end - at.start);
            let indirect = pb::DeferredEncoding { buffer_location, buffer_length };
            *encoding = Some(pb::Encoding { location: Some(pb::encoding::Location::Indirect(indirect)) });
        };
        for column in &mut columns {
            defer(&mut column.encoding);
            column.pages.iter_mut().for_each(|page| defer(&mut page.encoding));
        }
    }
    if !plan.descriptor_first {
        descriptor = sink.put(&slice(&metadata.global_buffers[0]), plan.alignment);
    }
    let mut places = vec![0..0; columns.len()];
    let mut order: Vec<usize> = (0..columns.len()).collect();
    if plan.columns_reversed {
        order.reverse();
    }
    for at in order {
        places[at] = sink.put(&columns[at].encode_to_vec(), plan.alignment);
    }
    let table = |ranges: &[Range<u64>]| -> Vec<u8> {
        ranges.iter().flat_map(|r| [r.start, r.end - r.start]).flat_map(u64::to_le_bytes).collect()
    };
    let cmo_start = sink.put(&table(&places), 1).start;
    sink.bytes.resize(sink.bytes.len() + plan.gap, plan.padding);
    let gbo_start = sink.put(&table(&[descriptor]), 1).start;
    let footer = Footer {
        column_meta_start: places.iter().map(|r| r.start).min().unwrap_or(cmo_start),
        cmo_start,
        gbo_start,
        num_global_buffers: 1,
        raw_version: plan.footer_version.unwrap_or(metadata.footer.raw_version),
        ..metadata.footer.clone()
    };
    sink.bytes.extend(footer.emit());
    sink.bytes.into()
}

/// Numbers, text in a dictionary or not, lists and values wide enough for rows of their own.
fn batch() -> RecordBatch {
    let lists = (0..700).map(|i| (i % 5 != 2).then(|| vec![Some(i); i as usize % 4]));
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("n", Arc::new(Int64Array::from_iter((0..700).map(|i| (i % 7 != 3).then_some(i * i))))),
        ("s", Arc::new(StringArray::from_iter_values((0..700).map(|i| format!("text number {i}"))))),
        ("l", Arc::new(ListArray::from_iter_primitive::<arrow_array::types::Int64Type, _, _>(lists))),
        ("b", Arc::new(LargeBinaryArray::from_iter_values((0..700u32).map(|i| vec![i as u8; 600])))),
        ("z", Arc::new(Int64Array::from(vec![None; 700]))),
    ];
    let fields: Vec<Field> =
        columns.iter().map(|(n, a)| Field::new(*n, a.data_type().clone(), true)).collect();
    RecordBatch::try_new(Arc::new(ArrowSchema::new(fields)), columns.into_iter().map(|c| c.1).collect())
        .unwrap()
}

fn written(batch: &RecordBatch, change: impl Fn(&mut WriteOptions)) -> Bytes {
    let mut options = WriteOptions { checksums: false, max_page_rows: Some(300), ..WriteOptions::default() };
    change(&mut options);
    let mut encoder = FileEncoder::new(&batch.schema(), options).unwrap();
    encoder.write(batch).unwrap();
    let mut output = encoder.take_output();
    output.extend(encoder.finish().unwrap());
    output.concat().into()
}

fn same_values(file: &Bytes, batch: &RecordBatch, what: &dyn std::fmt::Debug) {
    let file =
        File::from_bytes(file.clone(), &OpenOptions::default()).unwrap_or_else(|e| panic!("{what:?}: {e}"));
    let found = file.scan().batch_rows(1000).batches().and_then(Iterator::collect::<Result<Vec<_>>>);
    let found = found.unwrap_or_else(|e| panic!("{what:?}: {e}"));
    let found = arrow_select::concat::concat_batches(&batch.schema(), &found).unwrap();
    assert!(found == *batch, "{what:?}: other values");
    let found = file.take(&[699, 0, 350]).columns(&["l", "s"]).read();
    let found = found.unwrap_or_else(|e| panic!("{what:?}: {e}"));
    assert_eq!(found[0].column_by_name("s").unwrap().slice(2, 1).as_ref(), &batch["s"].slice(350, 1));
    let report = file.verify(|_| {}).unwrap();
    assert!(report.faults.is_empty(), "{what:?}: {:?}", report.faults);
}

/// The columns `a` and `b` of the worked example: 7 i and 7 i + 1.
fn worked_batch() -> RecordBatch {
    let column =
        |plus| -> ArrayRef { Arc::new(Int64Array::from_iter_values((0..100i64).map(|i| 7 * i + plus))) };
    RecordBatch::try_from_iter_with_nullable([("a", column(0), true), ("b", column(1), true)]).unwrap()
}

/// The worked example of a file on 4096, put together from its table: docs/format/container.md, "What others demand".
fn worked_file() -> Bytes {
    let mut file = vec![0; 24_736];
    let put = |file: &mut Vec<u8>, at: usize, bytes: &[u8]| file[at..at + bytes.len()].copy_from_slice(bytes);
    for column in 0..2u64 {
        let at = column as usize * 8192;
        put(&mut file, at, &[0x40, 0x06]);
        put(&mut file, at + 4096, &[0, 0, 0x20, 3, 0xfe, 0xfe, 0xfe, 0xfe]);
        for i in 0..100 {
            put(&mut file, at + 4104 + 8 * i, &(7 * i as u64 + column).to_le_bytes());
        }
    }
    let minus_one = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01];
    let a = [&b"\x0a\x19\x12\x01a\x20"[..], &minus_one, b"\x2a\x05int64\x30\x01\x38\x01"].concat();
    let b = [&b"\x0a\x1b\x12\x01b\x18\x01\x20"[..], &minus_one, b"\x2a\x05int64\x30\x01\x38\x01"].concat();
    let descriptor = [&b"\x0a\x38"[..], &a, &b, b"\x10\x64"].concat();
    assert_eq!(descriptor.len(), 60);
    put(&mut file, 16_384, &descriptor);
    let column = b"\x0a\x29\x12\x27\x0a\x25\x0a\x1f/lance.encodings.ColumnEncoding\x12\x02\x0a\x00";
    let layout = b"\x0a\x0d\x1a\x04\x0a\x02\x08\x40\x32\x01\x01\x38\x01\x48\x64";
    let any = [&b"\x0a\x1d/lance.encodings21.PageLayout\x12\x0f"[..], layout].concat();
    let encoding =
        [&[0x22, any.len() as u8 + 4, 0x12, any.len() as u8 + 2, 0x0a, any.len() as u8][..], &any].concat();
    let places: [&[u8]; 2] = [&[0x0a, 3, 0, 0x80, 0x20], &[0x0a, 4, 0x80, 0x40, 0x80, 0x60]];
    for ((places, at), bytes) in places.iter().zip([20_480, 24_576]).zip([111, 112]) {
        let page = [places, &[0x12, 3, 2, 0xa8, 6, 0x18, 100][..], &encoding].concat();
        let message = [&column[..], &[0x12, page.len() as u8], &page].concat();
        assert_eq!(message.len(), bytes);
        put(&mut file, at, &message);
    }
    for (word, at) in [20_480u64, 111, 24_576, 112, 16_384, 60].into_iter().zip((24_688..).step_by(8)) {
        put(&mut file, at, &word.to_le_bytes());
    }
    // Anything may stand before the footer.
    file.extend([0x77; 48]);
    for word in [20_480u64, 24_688, 24_720] {
        file.extend(word.to_le_bytes());
    }
    file.extend(b"\x01\0\0\0\x02\0\0\0\x02\0\x01\0LANC");
    file.into()
}

#[test]
fn the_worked_file_on_4096_is_read() {
    let file = File::from_bytes(worked_file(), &OpenOptions::default()).unwrap();
    let found = file.scan().batches().and_then(Iterator::collect::<Result<Vec<_>>>).unwrap();
    assert!(found == [worked_batch()]);
    let taken = file.take(&[99, 0]).read().unwrap();
    assert_eq!(taken[0]["b"].as_ref(), &Int64Array::from(vec![694, 1]) as &dyn arrow_array::Array);
}

#[test]
fn the_worked_file_on_4096_is_what_we_write() {
    let options = WriteOptions {
        format_version: FormatVersion::V2_1,
        alignment: 4096,
        checksums: false,
        encodings: ["a", "b"].map(|c| (c.to_owned(), "miniblock:flat".to_owned())).to_vec(),
        ..WriteOptions::default()
    };
    let mut encoder = FileEncoder::new(&worked_batch().schema(), options).unwrap();
    encoder.write(&worked_batch()).unwrap();
    let mut output = encoder.take_output();
    output.extend(encoder.finish().unwrap());
    let (file, example) = (output.concat(), worked_file());
    assert_eq!(file.len(), 24_736 + 40);
    assert_eq!(file[24_736..], example[24_736 + 48..], "footer");
    // Equal but for the padding, chunk by chunk of the table.
    for part in [0..2, 4096..4904, 8192..8194, 12_288..13_096, 16_384..16_444, 20_480..20_591, 24_576..24_736]
    {
        assert_eq!(file[part.clone()], example[part.clone()], "{part:?}");
    }
}

/// A third party's description of the layout: regions on 4096, footer version 2.0, padding before the CMO table.
#[test]
fn a_file_with_every_region_on_4096_and_footer_version_2_0_opens() {
    let minus_one = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01];
    let mut file = vec![0; 0x6030];
    let mut put = |at: usize, bytes: &[u8]| file[at..at + bytes.len()].copy_from_slice(bytes);
    // The descriptor has 2,000 bytes: two fields, and metadata for the rest.
    let field = |name: u8, id: &[u8]| {
        let field = [&[0x12, 1, name][..], id, b"\x20", &minus_one, b"\x2a\x05int32"].concat();
        [&[0x0a, field.len() as u8][..], &field].concat()
    };
    let fields = [field(b'x', b""), field(b'y', b"\x18\x01")].concat();
    let rest = 2000 - 3 - 2 - fields.len();
    let value = rest - 3 - 3 - 3;
    let number = |n: usize| [(n & 0x7f) as u8 | 0x80, (n >> 7) as u8];
    let entry = [&[0x0a, 1, b'k', 0x12][..], &number(value), &vec![b'v'; value]].concat();
    let entry = [&[0x2a][..], &number(entry.len()), &entry].concat();
    let schema = [fields, entry].concat();
    let descriptor = [&[0x0a][..], &number(schema.len()), &schema, &[0x10, 7]].concat();
    assert_eq!(descriptor.len(), 2000);
    put(0x3000, &descriptor);
    let column = b"\x0a\x29\x12\x27\x0a\x25\x0a\x1f/lance.encodings.ColumnEncoding\x12\x02\x0a\x00";
    let any = b"\x0a\x1e/lance.encodings.ArrayEncoding\x12\x00";
    let encoding =
        [&[0x22, any.len() as u8 + 4, 0x12, any.len() as u8 + 2, 0x0a, any.len() as u8][..], any].concat();
    let buffers: [(&[u8], usize, usize); 2] = [
        (b"\x0a\x03\x00\x80\x20\x12\x04\xe8\x07\xf4\x03", 0x4000, 500),
        (b"\x0a\x02\x80\x40\x12\x02\xa0\x06", 0x5000, 600),
    ];
    for (buffers, at, bytes) in buffers {
        let page = [buffers, &[0x18, 7], &encoding].concat();
        let mut message = [&column[..], &[0x12, page.len() as u8], &page].concat();
        // A field that nobody knows fills the message up.
        let rest = bytes - message.len() - 3;
        message.extend([&[0x7a][..], &number(rest), &vec![0; rest]].concat());
        assert_eq!(message.len(), bytes);
        put(at, &message);
    }
    for (word, at) in [0x4000u64, 500, 0x5000, 600, 0x3000, 2000].into_iter().zip((0x6000..).step_by(8)) {
        put(at, &word.to_le_bytes());
    }
    for word in [0x4000u64, 0x6000, 0x6020] {
        file.extend(word.to_le_bytes());
    }
    file.extend(b"\x01\0\0\0\x02\0\0\0\x02\0\0\0LANC");
    let file = Bytes::from(file);
    let source = Source::from_bytes(file.clone());
    let metadata = drive(&source, OpenFile::new(file.len() as u64, Limits::default())).unwrap();
    assert_eq!((metadata.version(), metadata.num_rows), (FormatVersion::V2_0, 7));
    assert_eq!(metadata.global_buffers, [0x3000..0x37d0]);
    let tables = metadata.tables().unwrap();
    let places = (0..2).map(|column| ColumnPlace::listed(tables, column)).collect::<Result<_>>().unwrap();
    let columns = drive(&source, ReadColumns::new(&metadata, places)).unwrap();
    assert_eq!(columns[0].pages[0].buffers, [0..1000, 0x1000..0x11f4]);
    assert_eq!(columns[1].pages[0].buffers, [0x2000..0x2320]);
}

/// A message of one page whose description stands elsewhere.
#[test]
fn descriptions_elsewhere_are_bounded_and_inside_the_file() {
    let file = written(&batch(), |_| {});
    let deferred = lay_out(&file, &Plan { deferred: true, ..PLAIN });
    let source = Source::from_bytes(deferred.clone());
    let metadata = drive(&source, OpenFile::new(deferred.len() as u64, Limits::default())).unwrap();
    let at = metadata.tables().unwrap().column_range(0).unwrap();
    let message = deferred.slice(at.start as usize..at.end as usize);
    let change = |buffer_location, buffer_length| {
        let mut column = pb::ColumnMetadata::decode(message.clone()).unwrap();
        let elsewhere = pb::DeferredEncoding { buffer_location, buffer_length };
        let location = Some(pb::encoding::Location::Indirect(elsewhere));
        column.pages[0].encoding = Some(pb::Encoding { location });
        let column = column.encode_to_vec();
        let mut changed = deferred.to_vec();
        let cmo = metadata.footer.cmo_start as usize;
        // The message moves to the front, over a page buffer that is not read.
        changed[..column.len()].copy_from_slice(&column);
        changed[cmo..cmo + 8].fill(0);
        changed[cmo + 8..cmo + 16].copy_from_slice(&(column.len() as u64).to_le_bytes());
        let file = File::from_bytes(changed, &OpenOptions::default()).unwrap();
        file.scan().columns(&["n"]).batches().map(|_| ()).unwrap_err()
    };
    let len = deferred.len() as u64;
    assert_eq!(change(len, 1).kind(), crate::ErrorKind::Corrupt);
    assert_eq!(change(u64::MAX, 2).kind(), crate::ErrorKind::Corrupt);
    assert_eq!(change(0, 0).kind(), crate::ErrorKind::Corrupt);
    assert_eq!(change(64, len - 200).kind(), crate::ErrorKind::Corrupt);
}

#[test]
fn a_file_laid_out_in_any_way_reads_the_same() {
    let batch = batch();
    for version in [FormatVersion::V2_0, FormatVersion::V2_1, FormatVersion::V2_2] {
        let file = written(&batch, |options| options.format_version = version);
        for plan in plans() {
            let other = lay_out(&file, &plan);
            same_values(&other, &batch, &(version, &plan));
        }
        if version == FormatVersion::V2_0 {
            let plan = Plan { footer_version: Some((2, 0)), alignment: 4096, ..PLAIN };
            same_values(&lay_out(&file, &plan), &batch, &plan);
        }
    }
}
