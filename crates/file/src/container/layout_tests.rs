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
