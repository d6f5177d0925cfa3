//! The laws of the sans-I/O contract, for the decoders of columns.
//!
//! Guards against a decoder that asks again for what it has, asks for more the more finely it is served, or
//! decodes something else when bytes come in other pieces.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::builder::{BinaryBuilder, ListBuilder};
use arrow_array::types::Int32Type;
use arrow_array::{
    ArrayRef, DictionaryArray, FixedSizeListArray, Float32Array, Int64Array, ListArray, RecordBatch,
    StringArray, StructArray,
};
use arrow_schema::{DataType, Field, FieldRef};
use bytes::Bytes;
use proptest::prelude::*;

use crate::array::assemble;
use crate::column::Column;
use crate::encoding::Arena;
use crate::io::{Decode, Segments, Step};
use crate::{File, FileEncoder, FormatVersion, Limits, OpenOptions, WriteOptions};

const ROWS: usize = 3000;

/// One column for each way in which pages are read.
fn table() -> RecordBatch {
    let some = |i: usize| !i.is_multiple_of(7);
    let ints: Int64Array = (0..ROWS).map(|i| some(i).then_some(i as i64 * 37 % 1000)).collect();
    let texts: StringArray = (0..ROWS).map(|i| some(i).then(|| "text ".repeat(i % 9))).collect();
    let lists = ListArray::from_iter_primitive::<Int32Type, _, _>(
        (0..ROWS)
            .map(|i| some(i).then(|| (0..i % 5).map(|k| (k != 2).then_some(k as i32)).collect::<Vec<_>>())),
    );
    let floats = Float32Array::from_iter_values((0..ROWS * 96).map(|i| i as f32));
    let item = Arc::new(Field::new("item", DataType::Float32, true));
    let vectors = FixedSizeListArray::new(item, 96, Arc::new(floats), None);
    let mut blobs = ListBuilder::new(BinaryBuilder::new());
    for i in 0..ROWS {
        (0..i % 3).for_each(|k| blobs.values().append_value(vec![i as u8; 300 + k]));
        blobs.append(some(i));
    }
    let words: DictionaryArray<Int32Type> =
        (0..ROWS).map(|i| some(i).then_some(["a", "bb", "ccc"][i % 3])).collect();
    let constant = Int64Array::from_iter_values((0..ROWS).map(|_| 5));
    let inner = Arc::new(Field::new("x", DataType::Int64, true));
    let structs = StructArray::from(vec![(inner, Arc::new(ints.clone()) as ArrayRef)]);
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("ints", Arc::new(ints)),
        ("texts", Arc::new(texts)),
        ("lists", Arc::new(lists)),
        ("vectors", Arc::new(vectors)),
        ("blobs", Arc::new(blobs.finish())),
        ("words", Arc::new(words)),
        ("constant", Arc::new(constant)),
        ("structs", Arc::new(structs)),
    ];
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, true)))
        .expect("columns of one length")
}

fn written(version: FormatVersion, checksums: bool) -> Bytes {
    let options = WriteOptions {
        format_version: version,
        checksums,
        max_page_rows: Some(1100),
        max_chunk_values: Some(128),
        ..WriteOptions::default()
    };
    let batch = table();
    let mut encoder = FileEncoder::new(&batch.schema(), options).expect("types that can be written");
    encoder.write(&batch).expect("a batch of the schema");
    let mut pieces = encoder.take_output();
    pieces.extend(encoder.finish().expect("a file"));
    pieces.concat().into()
}

/// What a decoder made of the bytes as an array, and the rounds it took.
fn decoded(field: &FieldRef, column: &Column, rows: &[Range<u64>], segments: Serve<'_>) -> (ArrayRef, usize) {
    let limits = Limits::default();
    let mut decoder = column.read(rows, usize::MAX, &Arena::default(), &limits);
    let mut have = match segments {
        Serve::Whole(file) => Segments::whole(file.clone()),
        Serve::Pieces(..) => Segments::new(),
    };
    let mut asked: Vec<Range<u64>> = Vec::new();
    let mut rounds = 0;
    loop {
        match decoder.step(&have).expect("a sound file") {
            Step::Done(data) => {
                let array =
                    assemble(field, &mut vec![data].into_iter(), &Arena::default()).expect("an array");
                return (array, rounds);
            }
            Step::Need(needs) => {
                rounds += 1;
                assert!(!needs.is_empty(), "a need of nothing");
                let Serve::Pieces(file, cut) = segments else { panic!("{needs:?} asked of a whole file") };
                for need in needs {
                    assert!(
                        need.start < need.end && need.end <= file.len() as u64,
                        "{need:?} of {}",
                        file.len()
                    );
                    assert!(!asked.contains(&need), "{need:?} is asked again");
                    asked.push(need.clone());
                    // Served in pieces of some size, the last first.
                    let mut end = need.end;
                    while end > need.start {
                        let start = end.saturating_sub(cut).max(need.start);
                        have.insert(start, file.slice(start as usize..end as usize));
                        end = start;
                    }
                }
            }
        }
    }
}

#[derive(Clone, Copy)]
enum Serve<'a> {
    Whole(&'a Bytes),
    Pieces(&'a Bytes, u64),
}

/// Ascending, disjoint, not empty.
fn rows() -> impl Strategy<Value = Vec<Range<u64>>> {
    prop::collection::vec((1u64..200, 1u64..60), 1..20).prop_map(|steps| {
        let mut at = 0;
        let ranges = steps.into_iter().map(|(gap, len)| {
            let start = at + gap;
            at = start + len;
            start..at
        });
        ranges.filter(|r| r.end <= ROWS as u64).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn columns_ask_once_in_few_rounds_and_decode_the_same_however_bytes_are_cut(
        rows in rows().prop_filter("some rows", |r| !r.is_empty()),
        cut in 1u64..5000,
        version in prop::sample::select(vec![FormatVersion::V2_0, FormatVersion::V2_1, FormatVersion::V2_2]),
        checksums in any::<bool>(),
    ) {
        let file = written(version, checksums);
        let columns = |bytes: &Bytes| {
            let file = File::from_bytes(bytes.clone(), &OpenOptions::default()).expect("a file of ours");
            file.project(None).expect("all of it")
        };
        let whole = columns(&file);
        // Every field of the table is one column.
        for ((field, whole), pieces) in whole.schema.fields().iter().zip(&whole.columns).zip(columns(&file).columns) {
            let (expected, _) = decoded(field, whole, &rows, Serve::Whole(&file));
            let (array, rounds) = decoded(field, &pieces, &rows, Serve::Pieces(&file, cut));
            prop_assert_eq!(&array, &expected, "{}", whole.leaf.path);
            // Index, row offsets, rows: three rounds for a handle that knows nothing of the page.
            prop_assert!(rounds <= 3, "{} takes {rounds} rounds", whole.leaf.path);
            // Once the handle has the index, one round fewer.
            let (again, warm) = decoded(field, &pieces, &rows, Serve::Pieces(&file, cut));
            prop_assert_eq!(&again, &expected);
            // In 2.0 the offsets of lists come before, in columns of their own.
            let most = 2 + whole.lists.len();
            prop_assert!(warm <= most && warm <= rounds, "{} takes {warm} rounds warm", whole.leaf.path);
        }
    }
}
