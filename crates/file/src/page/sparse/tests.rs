//! The worked example of the format's text, and pages that announce more than anybody can hold.

use std::ops::Range;

use bytes::Bytes;

use super::{SparseLayer, SparseLayout, SparseList, SparseValues, ValiditySet};
use crate::encoding::{Arena, Encoding, ValueType, Values};
use crate::io::Segments;
use crate::page::{
    Layer, Layout, LeafData, LeafShape, LevelScheme, MiniBlockLayout, Page, PageBuffers, PageRead,
    PageScratch, Structure,
};
use crate::schema::Nesting;
use crate::{ErrorKind, Limits, Result};

fn constant(value: u64) -> Encoding {
    Encoding::Constant { value: Some(value.to_le_bytes().to_vec()) }
}

fn range(start: u64, step: u64) -> Encoding {
    Encoding::Range { bits: 64, start, step }
}

fn set(lists_valid: bool, positions: Encoding, num_positions: u64) -> ValiditySet {
    ValiditySet { lists_valid, positions, num_positions }
}

fn full() -> ValiditySet {
    set(false, Encoding::Constant { value: None }, 0)
}

fn item(validity: ValiditySet) -> SparseLayer {
    SparseLayer::Item { validity }
}

fn read(
    layout: SparseLayout,
    nestings: &[Nesting],
    num_rows: u64,
    buffers: &[&[u8]],
    rows: Range<u64>,
    budget: usize,
) -> Result<LeafData> {
    let file: Vec<u8> = buffers.concat();
    let mut at = 0;
    let ranges = buffers.iter().map(|b| {
        at += b.len() as u64;
        at - b.len() as u64..at
    });
    let buffers = PageBuffers::new(ranges.collect(), None);
    let page = Page::new(0, num_rows, Layout::Sparse(layout), buffers);
    let scheme = LevelScheme::new(nestings);
    let shape = ValueType::Fixed(4);
    let leaf = LeafShape { shape: &shape, keys: None, scheme: &scheme, is_offsets: false };
    let mut out = LeafData::new(&shape, &scheme, 0, budget, &Arena::default());
    let segments = Segments::whole(Bytes::from(file));
    let parts = vec![rows];
    PageRead::new(&page, parts).decode(
        &leaf,
        &segments,
        &Limits::default(),
        &mut out,
        &mut PageScratch::default(),
    )?;
    Ok(out)
}

fn levels(data: &LeafData) -> (&[u16], &[u16]) {
    match &data.structure {
        Structure::Levels { rep, def } => (rep, def),
        Structure::Flat(_) => panic!("no levels"),
    }
}

fn chunked() -> SparseValues {
    SparseValues::Chunked(MiniBlockLayout {
        layers: vec![Layer::AllValidItem],
        rep: None,
        def: None,
        values: Encoding::Flat { bits: 32 },
        dictionary: None,
        num_buffers: 1,
        has_repetition_index: false,
        num_items: 0,
        large_chunks: true,
    })
}

/// `[[1, 2], null, [], [3, null]]`.
fn example() -> SparseLayout {
    let list = SparseList {
        num_items: 4,
        positions: range(0, 3),
        num_positions: 2,
        counts: constant(2),
        validity: set(false, constant(1), 1),
    };
    SparseLayout { layers: vec![SparseLayer::List(list), item(set(true, range(0, 1), 3))], values: chunked() }
}

const TABLE: &[u8] = &[0x20, 0, 0, 0];
const CHUNK: &[u8] = &[0, 0, 16, 0, 0, 0, 0xfe, 0xfe, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0];
const LIST: [Nesting; 2] = [Nesting::Item, Nesting::List];

#[test]
fn the_worked_example_has_the_levels_of_the_dense_one() {
    let all = read(example(), &LIST, 4, &[TABLE, CHUNK], 0..4, 1 << 20).unwrap();
    assert_eq!(levels(&all), (&[1, 0, 1, 1, 1, 0][..], &[0, 0, 2, 3, 0, 1][..]));
    let Values::Fixed(values) = &all.values else { panic!("words") };
    assert_eq!(values.bytes(), &CHUNK[8..]);
    let last = read(example(), &LIST, 4, &[TABLE, CHUNK], 3..4, 1 << 20).unwrap();
    assert_eq!(levels(&last), (&[1, 0][..], &[0, 1][..]));
    assert_eq!((last.num_rows, last.values.len()), (1, 2));
}

#[test]
fn structure_that_contradicts_itself_is_corrupt() {
    let broken = |change: fn(&mut SparseList)| {
        let mut layout = example();
        let SparseLayer::List(list) = &mut layout.layers[0] else { panic!("a list") };
        change(list);
        read(layout, &LIST, 4, &[TABLE, CHUNK], 0..4, 1 << 20).unwrap_err().kind()
    };
    // Counts that add up to something else; positions outside, or not rising; a null list with items.
    assert_eq!(broken(|list| list.num_items = 5), ErrorKind::Corrupt);
    assert_eq!(broken(|list| list.positions = range(1, 3)), ErrorKind::Corrupt);
    assert_eq!(broken(|list| list.positions = constant(1)), ErrorKind::Corrupt);
    assert_eq!(broken(|list| list.validity = set(false, constant(3), 1)), ErrorKind::Corrupt);
    let mut shallow = example();
    shallow.layers.remove(0);
    assert_eq!(
        read(shallow, &LIST, 4, &[TABLE, CHUNK], 0..4, 1 << 20).unwrap_err().kind(),
        ErrorKind::Corrupt
    );
    // A buffer too many.
    assert!(read(example(), &LIST, 4, &[TABLE, CHUNK, &[]], 0..4, 1 << 20).is_err());
}

#[test]
fn a_page_of_2_to_the_60_rows_gives_any_of_them() {
    let num_rows = 1 << 60;
    let layout = || SparseLayout {
        layers: vec![item(set(false, range(1, 2), 1 << 59))],
        values: SparseValues::Constant(Bytes::from_static(&[7, 0, 0, 0])),
    };
    let rows = num_rows - 3..num_rows;
    let some = read(layout(), &[Nesting::Item], num_rows, &[], rows, 1 << 20).unwrap();
    assert_eq!(some.num_rows, 3);
    let Structure::Flat(validity) = some.structure else { panic!("flat") };
    let bits = validity.into_buffer().expect("there are nulls");
    assert_eq!(bits.iter().collect::<Vec<_>>(), [false, true, false]);
    // Of all rows, those that the budget holds.
    let first = read(layout(), &[Nesting::Item], num_rows, &[], 0..num_rows, 1 << 12).unwrap();
    assert!((1000..20_000).contains(&first.num_rows), "{} rows", first.num_rows);
}

#[test]
fn a_list_of_2_to_the_60_items_is_an_error_and_not_its_neighbours() {
    let list = |positions| SparseList {
        num_items: 1 << 60,
        positions,
        num_positions: 1,
        counts: constant(1 << 60),
        validity: full(),
    };
    let layout = |positions| SparseLayout {
        layers: vec![
            SparseLayer::List(list(positions)),
            item(set(true, Encoding::Constant { value: None }, 0)),
        ],
        values: SparseValues::None,
    };
    let before = read(layout(constant(5)), &LIST, 6, &[], 0..6, 1 << 16).unwrap();
    assert_eq!((before.num_rows, before.values.len()), (5, 0));
    assert_eq!(levels(&before), (&[1; 5][..], &[3; 5][..]));
    let error = read(layout(constant(0)), &LIST, 6, &[], 0..6, 1 << 16).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit);
}

#[test]
fn fixed_size_lists_hide_their_items_where_they_are_null() {
    let nestings = [Nesting::Item, Nesting::FixedSizeList(2)];
    let layout = SparseLayout {
        layers: vec![
            SparseLayer::FixedSizeList { dimension: 2, validity: set(false, constant(1), 1) },
            item(set(false, constant(0), 1)),
        ],
        values: SparseValues::Constant(Bytes::from_static(&[9, 0, 0, 0])),
    };
    let all = read(layout.clone(), &nestings, 6, &[], 0..6, 1 << 20).unwrap();
    assert_eq!(levels(&all), (&[][..], &[1, 0, 2, 2, 0, 0][..]));
    assert_eq!(all.num_rows, 6);
    let last = read(layout, &nestings, 6, &[], 4..6, 1 << 20).unwrap();
    assert_eq!(levels(&last), (&[][..], &[0, 0][..]));
}
