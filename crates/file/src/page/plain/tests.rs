//! Pages of 2.0 byte by byte: those of the official writer, and those that it reads and does not write.

use std::ops::Range;
use std::sync::Arc;

use arrow_buffer::BooleanBuffer;
use bytes::Bytes;

use super::*;
use crate::encoding::{Arena, ValueType, Values};
use crate::io::Segments;
use crate::page::{
    DefLevels, Layer, Layout, LeafData, LeafPage, LeafShape, LevelScheme, Page, PageBuffers, PageRead,
    PageScratch, Structure,
};
use crate::schema::Nesting;
use crate::{ErrorKind, Limits, Result};

const TEXT: ValueType = ValueType::Variable { wide: false };

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    digits.chunks(2).map(byte).collect()
}

fn words(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|w| w.to_le_bytes()).collect()
}

fn ints(values: &[i32]) -> Vec<u8> {
    values.iter().flat_map(|w| w.to_le_bytes()).collect()
}

/// A page whose buffers are all there is of its file.
struct Stored {
    file: Bytes,
    page: Page,
}

fn stored(message: &[u8], buffers: &[&[u8]], num_rows: u64, column: &[Range<u64>]) -> Result<Stored> {
    let mut ranges = Vec::new();
    let mut at = 0;
    for buffer in buffers {
        ranges.push(at..at + buffer.len() as u64);
        at += buffer.len() as u64;
    }
    let from = Borrowable { own: ranges.len() - column.len(), column, file: &[] };
    ranges.truncate(from.own);
    let (layout, borrowed) = PlainLayout::parse(message, from, &Limits::default())?;
    let buffers_of_page = PageBuffers::new(ranges, None).with_borrowed(borrowed);
    let page = Page::new(0, num_rows, Layout::Plain(layout), buffers_of_page);
    Ok(Stored { file: buffers.concat().into(), page })
}

fn read_with(stored: &Stored, shape: &ValueType, keys: Option<usize>, rows: Range<u64>) -> Result<LeafData> {
    let scheme = LevelScheme::new(&[Nesting::Item]);
    let leaf = LeafShape { shape, keys, scheme: &scheme, is_offsets: false };
    let kept = keys.map_or_else(|| shape.clone(), ValueType::Fixed);
    let mut out = LeafData::new(&kept, &scheme, 0, usize::MAX, &Arena::default());
    let segments = Segments::whole(stored.file.clone());
    let read = PageRead::new(&stored.page, vec![rows]);
    read.decode(&leaf, &segments, &Limits::default(), &mut out, &mut PageScratch::default())?;
    Ok(out)
}

/// The values of some rows as bytes, `None` for null.
fn cells(data: LeafData) -> Vec<Option<Vec<u8>>> {
    let Structure::Flat(validity) = data.structure else { panic!("levels") };
    let valid = validity.into_buffer();
    let is_valid = |i: usize| valid.as_ref().is_none_or(|v| v.value(i));
    (0..data.values.len())
        .map(|i| is_valid(i).then(|| data.values.bytes_at(i).expect("a flat shape").to_vec()))
        .collect()
}

fn read(
    message: &str,
    buffers: &[&[u8]],
    num_rows: u64,
    shape: &ValueType,
    rows: Range<u64>,
) -> Result<Vec<Option<Vec<u8>>>> {
    read_with(&stored(&hex(message), buffers, num_rows, &[])?, shape, None, rows).map(cells)
}

fn some(values: &[&[u8]]) -> Vec<Option<Vec<u8>>> {
    values.iter().map(|v| Some(v.to_vec())).collect()
}

/// Values of one item layer, as a writer has them.
fn leaf_page(values: Values, valid: Option<&[bool]>, dictionary: Option<Values>) -> LeafPage {
    let len = values.len();
    let def = valid.map_or(DefLevels::Zero, |v| DefLevels::Validity(BooleanBuffer::from(v)));
    let kept = Arc::from([false]);
    LeafPage::narrowed(&[Layer::NullableItem], kept, len, len, Vec::new(), def, values, dictionary)
}

fn texts(values: &[&str]) -> Values {
    let mut out = Values::new(&TEXT, values.len());
    if let Values::Variable(v) = &mut out {
        values.iter().for_each(|value| assert!(v.push(value.as_bytes())));
    }
    out
}

fn fixed(width: usize, bytes: &[u8]) -> Values {
    let mut out = Values::new(&ValueType::Fixed(width), bytes.len() / width);
    out.fixed_mut(width).unwrap().extend(bytes);
    out
}

#[test]
fn integers_are_written_as_the_official_writer_does_and_read_in_any_range() {
    let message = "12 0a 0a 08 0a 06 0a 04 08 20 12 00";
    let bytes = ints(&[1, 2, 3]);
    let parts = encode(&leaf_page(fixed(4, &bytes), None, None), &PlainChoice::default()).unwrap();
    assert_eq!((parts.layout.emit(), parts.buffers, parts.length), (hex(message), vec![bytes.clone()], 3));
    let all = read(message, &[&bytes], 3, &ValueType::Fixed(4), 0..3).unwrap();
    assert_eq!(all, some(&[&bytes[..4], &bytes[4..8], &bytes[8..]]));
    let one = read(message, &[&bytes], 3, &ValueType::Fixed(4), 1..2).unwrap();
    assert_eq!(one, some(&[&bytes[4..8]]));
}

#[test]
fn nullable_bits_have_two_bitmaps() {
    let message = "12 14 12 12 0a 06 0a 04 08 01 12 00 12 08 0a 06 08 01 12 02 08 01";
    let mut values = Values::new(&ValueType::Bits, 3);
    [true, false, false].iter().for_each(|bit| values.bits_mut().unwrap().append(*bit));
    let page = leaf_page(values, Some(&[true, false, true]), None);
    let parts = encode(&page, &PlainChoice::default()).unwrap();
    assert_eq!((parts.layout.emit(), parts.buffers), (hex(message), vec![vec![5], vec![1]]));
    let found = read(message, &[&[5], &[1]], 3, &ValueType::Bits, 0..3).unwrap();
    assert_eq!(found, [Some(vec![1]), None, Some(vec![0])]);
    assert_eq!(read(message, &[&[5], &[1]], 3, &ValueType::Bits, 2..3).unwrap(), [Some(vec![0])]);
}

#[test]
fn strings_are_their_ends_and_their_bytes_and_nulls_are_ends_beyond_all() {
    let message = "32 1a 0a 0c 12 0a 0a 08 0a 06 0a 04 08 40 12 00 12 08 0a 06 08 08 12 02 08 01 18 04";
    let indices = words(&[1, 5, 3]);
    let page = leaf_page(texts(&["x", "", "yz"]), Some(&[true, false, true]), None);
    let parts = encode(&page, &PlainChoice::default()).unwrap();
    assert_eq!((parts.layout.emit(), parts.buffers), (hex(message), vec![indices.clone(), b"xyz".to_vec()]));
    let read = |rows| read(message, &[&indices, b"xyz"], 3, &TEXT, rows).unwrap();
    assert_eq!(read(0..3), [Some(b"x".to_vec()), None, Some(b"yz".to_vec())]);
    assert_eq!(read(1..3), [None, Some(b"yz".to_vec())]);
    assert_eq!(read(2..3), some(&[b"yz"]));
}

#[test]
fn strings_whose_ends_fall_or_pass_the_bytes_are_corrupt() {
    let message = "32 1a 0a 0c 12 0a 0a 08 0a 06 0a 04 08 40 12 00 12 08 0a 06 08 08 12 02 08 01 18 04";
    for indices in [[2, 1, 3], [1, 2, 9], [1, u64::MAX, 3], [u64::MAX, 2, 3]] {
        let error = read(message, &[&words(&indices), b"xyz"], 3, &TEXT, 0..3).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{indices:?}: {error}");
    }
    let short = read(message, &[&words(&[1, 5]), b"xyz"], 3, &TEXT, 0..3).unwrap_err();
    assert_eq!(short.kind(), ErrorKind::Corrupt);
    // Bytes that a null hides are no text; nobody sees them.
    let hidden = read(message, &[&words(&[1, 6, 3]), &[b'x', 0xff, b'z']], 3, &TEXT, 0..3).unwrap();
    assert_eq!(hidden, [Some(b"x".to_vec()), None, Some(b"z".to_vec())]);
}

#[test]
fn a_column_of_dictionary_type_has_its_nulls_in_the_dictionary() {
    let message = "3a 30 0a0c 120a0a080a060a0408201200 12 1e 32 1c 0a0e 120c0a0a0a080a06084012020801
                   12 08 0a0608081202 0802 18 03 18 03";
    let keys = ints(&[0, 1, 0, 0]);
    let page = leaf_page(fixed(4, &keys), Some(&[true, true, false, true]), Some(texts(&["a", "b"])));
    let parts = encode(&page, &PlainChoice::default()).unwrap();
    let buffers = [ints(&[0, 1, 2, 0]), words(&[1, 2, 5]), b"ab".to_vec()];
    assert_eq!((parts.layout.emit(), parts.buffers.as_slice()), (hex(message), &buffers[..]));

    let borrowed: Vec<&[u8]> = buffers.iter().map(Vec::as_slice).collect();
    let page = stored(&hex(message), &borrowed, 4, &[]).unwrap();
    let data = read_with(&page, &TEXT, Some(4), 0..4).unwrap();
    let dictionary = data.dictionary.as_ref().map(|d| d.values.len());
    assert_eq!(dictionary, Some(2), "the null at the end is no entry");
    let cells = cells(data);
    assert_eq!(cells[2], None);
    assert_eq!((&cells[0], &cells[1]), (&Some(ints(&[0])), &Some(ints(&[1]))));
    // A key beyond the dictionary.
    let wrong = [ints(&[0, 1, 3, 0]), words(&[1, 2, 5]), b"ab".to_vec()];
    let borrowed: Vec<&[u8]> = wrong.iter().map(Vec::as_slice).collect();
    let error = read_with(&stored(&hex(message), &borrowed, 4, &[]).unwrap(), &TEXT, Some(4), 0..4);
    assert_eq!(error.unwrap_err().kind(), ErrorKind::Corrupt);
}

#[test]
fn integers_in_a_dictionary_have_a_bitmap_of_their_own() {
    let message =
        "3a2a 0a0c120a0a080a060a0408201200 1218 1216 1214 0a080a0608011202 0801 12080a0608401202 0802 1803";
    let page = leaf_page(
        fixed(4, &ints(&[0, 1, 0, 0])),
        Some(&[true, true, false, true]),
        Some(fixed(8, &words(&[5, 6]))),
    );
    let parts = encode(&page, &PlainChoice::default()).unwrap();
    assert_eq!(parts.layout.emit(), hex(message));
    assert_eq!(parts.buffers, [ints(&[0, 1, 2, 0]), vec![3], words(&[5, 6, 0])]);
}

#[test]
fn text_that_repeats_is_a_byte_per_value_and_position_0_is_null() {
    let encoding = PlainEncoding::Dictionary {
        indices: Box::new(PlainEncoding::no_null(PlainEncoding::flat(8, 0))),
        items: Box::new(PlainEncoding::Binary {
            indices: Box::new(PlainEncoding::flat(64, 1)),
            bytes: Box::new(PlainEncoding::flat(8, 2)),
            null_adjustment: 4,
        }),
        num_items: 2,
    };
    let message = PlainLayout { encoding }.emit();
    let page = stored(&message, &[&[2, 0, 1, 2], &words(&[1, 3]), b"xyz"], 4, &[]).unwrap();
    let found = read_with(&page, &TEXT, None, 0..4).map(cells).unwrap();
    assert_eq!(found, [Some(b"yz".to_vec()), None, Some(b"x".to_vec()), Some(b"yz".to_vec())]);
    let page = stored(&message, &[&[2, 0, 3, 2], &words(&[1, 3]), b"xyz"], 4, &[]).unwrap();
    assert_eq!(read_with(&page, &TEXT, None, 0..4).unwrap_err().kind(), ErrorKind::Corrupt);
    // A byte per value is for strings alone.
    let page = stored(&message, &[&[2, 0, 1, 2], &words(&[1, 3]), b"xyz"], 4, &[]).unwrap();
    assert!(read_with(&page, &ValueType::Fixed(4), None, 0..4).is_err());
}

#[test]
fn lists_become_offsets_that_have_nulls_beyond_all() {
    // [[1, 2], null, [], [3]]
    let page = LeafPage::narrowed(
        &[Layer::NullableItem, Layer::NullAndEmptyList],
        Arc::from([false, false]),
        4,
        5,
        vec![1, 0, 1, 1, 1],
        DefLevels::Levels(vec![0, 0, 2, 3, 0]),
        fixed(4, &ints(&[1, 2, 3])),
        None,
    );
    let parts = offsets(&page, 1).unwrap();
    assert_eq!(parts.layout.emit(), hex("22 12 0a 0c 120a0a080a060a0408401200 10 04 18 03"));
    assert_eq!(
        (parts.buffers.as_slice(), parts.length, parts.num_items()),
        (&[words(&[2, 6, 2, 3])][..], 4, 3)
    );
    let items = encode(&page, &PlainChoice::default()).unwrap();
    assert_eq!((items.length, items.buffers), (3, vec![ints(&[1, 2, 3])]));

    let stored = stored(&parts.layout.emit(), &[&parts.buffers[0]], 4, &[]).unwrap();
    let list = |start, len, is_null| StoredList { start, len, is_null };
    let all = [list(0, 2, false), list(2, 0, true), list(2, 0, false), list(2, 1, false)];
    assert_eq!(lists_of(&stored, 0..4).unwrap(), all);
    assert_eq!(lists_of(&stored, 2..4).unwrap(), all[2..]);
}

fn lists_of(stored: &Stored, rows: Range<u64>) -> Result<Vec<StoredList>> {
    let scheme = LevelScheme::new(&[Nesting::Item]);
    let leaf = LeafShape { shape: &ValueType::Fixed(8), keys: None, scheme: &scheme, is_offsets: true };
    let mut out = Vec::new();
    let segments = Segments::whole(stored.file.clone());
    PageRead::new(&stored.page, vec![rows]).decode_lists(&leaf, &segments, &Limits::default(), &mut out)?;
    Ok(out)
}

#[test]
fn lists_of_lists_have_offsets_at_every_depth() {
    // [[[1], [2, 3]], null, [null, []]]
    let list = Layer::NullAndEmptyList;
    let page = LeafPage::narrowed(
        &[Layer::NullableItem, list, list],
        Arc::from([false, false, false]),
        3,
        6,
        vec![2, 1, 0, 2, 2, 1],
        DefLevels::Levels(vec![0, 0, 0, 4, 2, 3]),
        fixed(4, &ints(&[1, 2, 3])),
        None,
    );
    let (outer, inner) = (offsets(&page, 2).unwrap(), offsets(&page, 1).unwrap());
    assert_eq!((outer.buffers.as_slice(), outer.num_items()), (&[words(&[2, 7, 4])][..], 4));
    assert_eq!((inner.buffers.as_slice(), inner.num_items()), (&[words(&[1, 3, 7, 3])][..], 3));
}

#[test]
fn offsets_that_fall_or_pass_the_items_are_corrupt() {
    let message = hex("22 12 0a 0c 120a0a080a060a0408401200 10 04 18 03");
    for wrong in [[2, 1, 2, 3], [2, 6, 2, 9], [u64::MAX, 6, 2, 3]] {
        let stored = stored(&message, &[&words(&wrong)], 4, &[]).unwrap();
        assert_eq!(lists_of(&stored, 0..4).unwrap_err().kind(), ErrorKind::Corrupt, "{wrong:?}");
    }
}

#[test]
fn fixed_size_lists_have_nulls_of_their_own_and_of_their_items() {
    let message =
        "122a1228 0a060a0408011200 121e1a1c0802 12181216 12140a080a0608011202 0801 12080a0608201202 0802";
    let shape = ValueType::List { dimension: 2, items: Box::new(ValueType::Fixed(4)) };
    let encoding = PlainEncoding::SomeNull {
        validity: Box::new(PlainEncoding::flat(1, 0)),
        values: Box::new(PlainEncoding::FixedSizeList {
            dimension: 2,
            items: Box::new(PlainEncoding::SomeNull {
                validity: Box::new(PlainEncoding::flat(1, 1)),
                values: Box::new(PlainEncoding::flat(32, 2)),
            }),
        }),
    };
    let emitted = PlainLayout { encoding }.emit();
    assert_eq!(emitted, hex(message));
    let items = ints(&[1, 0, 0, 0, 3, 4]);
    let page = stored(&emitted, &[&[5], &[0x31], &items], 3, &[]).unwrap();
    let data = read_with(&page, &shape, None, 0..3).unwrap();
    let Values::List(list) = &data.values else { panic!("{:?}", data.values) };
    assert_eq!((list.len, list.items.fixed_bytes(4).unwrap()), (3, items.as_slice()));
    let item_validity = list.item_validity.as_ref().expect("items with nulls");
    let bits: Vec<bool> = (0..6).map(|i| item_validity.get_bit(i)).collect();
    assert_eq!(bits, [true, false, false, false, true, true]);
    let Structure::Flat(validity) = data.structure else { panic!("levels") };
    let valid: Vec<bool> = validity.into_buffer().expect("a null").iter().collect();
    assert_eq!(valid, [true, false, true]);
    // Another dimension than the schema's is corrupt.
    let wider = ValueType::List { dimension: 3, items: Box::new(ValueType::Fixed(4)) };
    assert_eq!(
        read_with(&stored(&emitted, &[&[5], &[0x31], &items], 3, &[]).unwrap(), &wider, None, 0..3)
            .unwrap_err()
            .kind(),
        ErrorKind::Corrupt
    );
}

#[test]
fn packed_structs_are_rows_without_padding() {
    let fields = ValueType::Struct(vec![ValueType::Fixed(4), ValueType::Fixed(1)]);
    let encoding = PlainEncoding::PackedStruct { field_bits: vec![32, 8], buffer: 0 };
    let rows = hex("01000000 02 03000000 04");
    let page = stored(&PlainLayout { encoding }.emit(), &[&rows], 2, &[]).unwrap();
    let data = read_with(&page, &fields, None, 0..2).unwrap();
    let columns = data.values.struct_fields(2).unwrap();
    assert_eq!(columns[0].fixed_bytes(4).unwrap(), ints(&[1, 3]));
    assert_eq!(columns[1].fixed_bytes(1).unwrap(), [2, 4]);
}

#[test]
fn descriptors_of_blobs_are_packed_structs_of_two_words() {
    let message = "4A 1E 0A 0C 120A0A080A060A0408401200 0A 0C 120A0A080A060A0408401200 12 00";
    let shape = ValueType::Struct(vec![ValueType::Fixed(8), ValueType::Fixed(8)]);
    let rows = words(&[1, 0, 0, 0, 64, 1000]);
    let page = stored(&hex(message), &[&rows], 3, &[]).unwrap();
    let data = read_with(&page, &shape, None, 1..3).unwrap();
    let fields = data.values.struct_fields(2).unwrap();
    assert_eq!(fields[0].fixed_bytes(8).unwrap(), words(&[0, 64]));
    assert_eq!(fields[1].fixed_bytes(8).unwrap(), words(&[0, 1000]));
    let encoding = PlainEncoding::PackedStruct { field_bits: vec![64, 64], buffer: 0 };
    assert_eq!(PlainLayout { encoding }.emit(), hex(message));
}

#[test]
fn nulls_and_structs_without_members_have_no_buffers() {
    assert_eq!(PlainLayout { encoding: PlainEncoding::AllNull }.emit(), hex("12 02 1a 00"));
    assert_eq!(header(7).layout.emit(), hex("2a 00"));
    assert_eq!(read("12 02 1a 00", &[], 3, &TEXT, 0..3).unwrap(), [None, None, None]);
    assert_eq!(read("12 02 1a 00", &[], 3, &ValueType::Fixed(4), 1..3).unwrap(), [None, None]);
    let page = stored(&hex("2a 00"), &[], 3, &[]).unwrap();
    assert_eq!(read_with(&page, &ValueType::Null, None, 0..3).unwrap().num_rows, 3);
}

#[test]
fn a_stream_of_bits_is_sign_extended_where_it_says_so() {
    let message = |signed| {
        let encoding = PlainEncoding::Bitpacked { bits: 16, packed_bits: 4, signed, buffer: 0 };
        PlainLayout { encoding }.emit()
    };
    let short =
        |values: &[i16]| -> Vec<_> { values.iter().map(|v| Some(v.to_le_bytes().to_vec())).collect() };
    let read = |signed, rows| {
        let page = stored(&message(signed), &[&hex("5d 0f")], 3, &[]).unwrap();
        read_with(&page, &ValueType::Fixed(2), None, rows).map(cells).unwrap()
    };
    assert_eq!(read(true, 0..3), short(&[-3, 5, -1]));
    assert_eq!(read(true, 1..3), short(&[5, -1]));
    assert_eq!(read(false, 0..3), short(&[13, 5, 15]));
    // Every width, from every place.
    for packed_bits in 1..=64u8 {
        let mask = u64::MAX >> (64 - packed_bits);
        let values: Vec<u64> = (0..50u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) & mask).collect();
        let mut bytes = vec![0u8; (50 * usize::from(packed_bits)).div_ceil(8)];
        for (i, value) in values.iter().enumerate() {
            for bit in 0..usize::from(packed_bits) {
                let at = i * usize::from(packed_bits) + bit;
                bytes[at / 8] |= ((value >> bit & 1) as u8) << (at % 8);
            }
        }
        let encoding = PlainEncoding::Bitpacked { bits: 64, packed_bits, signed: false, buffer: 0 };
        let page = stored(&PlainLayout { encoding }.emit(), &[&bytes], 50, &[]).unwrap();
        for start in [0, 1, 7, 49] {
            let found = read_with(&page, &ValueType::Fixed(8), None, start..50).map(cells).unwrap();
            let expected: Vec<_> =
                values[start as usize..].iter().map(|v| Some(v.to_le_bytes().to_vec())).collect();
            assert_eq!(found, expected, "{packed_bits} bits from {start}");
        }
    }
}

/// Where row `row` of lane `lane` stands in a group.
fn place(row: usize, lane: usize) -> usize {
    [0, 4, 2, 6, 1, 5, 3, 7][row / 8] * 16 + row % 8 * 128 + lane
}

#[test]
fn packed_groups_are_transposed_and_single_values_are_found() {
    for (bits, packed_bits) in [(8u8, 3u8), (16, 11), (32, 9), (64, 33), (32, 32)] {
        let (width, lanes) = (usize::from(bits) / 8, 1024 / usize::from(bits));
        let mask = u64::MAX >> (64 - packed_bits);
        let value = |i: usize| (i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 7 & mask;
        let mut bytes = Vec::new();
        for group in 0..2 {
            // Words of all lanes side by side; a lane is a little-endian string of bits.
            let mut packed = vec![0u8; 128 * usize::from(packed_bits)];
            for lane in 0..lanes {
                for row in 0..usize::from(bits) {
                    let value = value(group * 1024 + place(row, lane));
                    for bit in 0..usize::from(packed_bits) {
                        let at = row * usize::from(packed_bits) + bit;
                        let (word, within) = (at / usize::from(bits), at % usize::from(bits));
                        let byte = (word * lanes + lane) * width + within / 8;
                        packed[byte] |= ((value >> bit & 1) as u8) << (within % 8);
                    }
                }
            }
            bytes.extend(packed);
        }
        let encoding = PlainEncoding::BitpackedGroups { bits, packed_bits, buffer: 0 };
        let page = stored(&PlainLayout { encoding }.emit(), &[&bytes], 1500, &[]).unwrap();
        let shape = ValueType::Fixed(width);
        for rows in [0..1500, 1023..1025, 700..701, 1024..1500] {
            let found = read_with(&page, &shape, None, rows.clone()).map(cells).unwrap();
            let expected: Vec<_> =
                rows.clone().map(|i| Some(value(i as usize).to_le_bytes()[..width].to_vec())).collect();
            assert_eq!(found, expected, "{packed_bits} of {bits} bits, rows {rows:?}");
        }
    }
}

#[test]
fn strings_of_one_length_need_no_indices() {
    let bytes = |bits| {
        let encoding = PlainEncoding::FixedSizeBinary {
            bytes: Box::new(PlainEncoding::no_null(PlainEncoding::flat(bits, 0))),
            byte_width: 3,
        };
        PlainLayout { encoding }.emit()
    };
    // Some releases describe the bytes as values of the whole length.
    for bits in [8, 24] {
        let page = stored(&bytes(bits), &[b"abcdefghi"], 3, &[]).unwrap();
        assert_eq!(read_with(&page, &TEXT, None, 1..3).map(cells).unwrap(), some(&[b"def", b"ghi"]));
    }
}

#[test]
fn a_page_may_name_a_buffer_of_its_column() {
    // Flat, 32 bits, buffer 0 of kind 1.
    let message = hex("0a 06 08 20 12 02 10 01");
    let bytes = ints(&[1, 2, 3]);
    let page = stored(&message, &[&bytes], 3, std::slice::from_ref(&(0..12))).unwrap();
    let found = read_with(&page, &ValueType::Fixed(4), None, 1..3).map(cells).unwrap();
    assert_eq!(found, some(&[&bytes[4..8], &bytes[8..]]));
    // Of the file, which has none; and of the page, which has none either.
    for message in ["0a 06 08 20 12 02 10 02", "0a 04 08 20 12 00", "0a 06 08 20 12 02 10 07"] {
        let error = stored(&hex(message), &[], 3, &[]).map(|_| ()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{message}: {error}");
    }
}

#[test]
fn compressed_buffers_are_read_whole_whatever_they_hold() {
    let bytes = ints(&(0..1000).map(|i| i % 7).collect::<Vec<_>>());
    for scheme in [Scheme::Zstd, Scheme::Lz4] {
        let mut packed = Vec::new();
        crate::encoding::compress(scheme, None, &bytes, &mut packed, &mut Default::default()).unwrap();
        let compression = Some(PlainCompression { scheme: Some(scheme), level: None });
        let encoding = PlainEncoding::Flat { bits: 32, buffer: 0, compression };
        let message = PlainLayout { encoding }.emit();
        let page = stored(&message, &[&packed], 1000, &[]).unwrap();
        let found = read_with(&page, &ValueType::Fixed(4), None, 600..602).map(cells).unwrap();
        assert_eq!(found, some(&[&bytes[2400..2404], &bytes[2404..2408]]));
        // More rows than it holds.
        let page = stored(&message, &[&packed], 2000, &[]).unwrap();
        let error = read_with(&page, &ValueType::Fixed(4), None, 990..1010).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt);
    }
    // A zstd frame without the length before it.
    let frame = zstd::bulk::compress(&bytes, 1).unwrap();
    let compression = Some(PlainCompression { scheme: Some(Scheme::Zstd), level: None });
    let encoding = PlainEncoding::Flat { bits: 32, buffer: 0, compression };
    let page = stored(&PlainLayout { encoding }.emit(), &[&frame], 1000, &[]).unwrap();
    assert!(read_with(&page, &ValueType::Fixed(4), None, 0..1000).is_ok());
}

#[test]
fn kinds_of_encodings_that_were_never_released_are_named() {
    for (field, name) in [(13, "constant"), (16, "variable"), (19, "run lengths"), (21, "byte stream split")]
    {
        let mut message = Vec::new();
        prost::encoding::encode_varint(field << 3 | 2, &mut message);
        message.push(0);
        let error = stored(&message, &[], 1, &[]).map(|_| ()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert!(error.message().contains(name), "{error}");
    }
    let absent = stored(&[], &[], 1, &[]).map(|_| ()).unwrap_err();
    assert_eq!(absent.kind(), ErrorKind::Unsupported);
    // A compression that nobody knows, and nesting without end.
    let error = stored(&hex("0a 09 08 08 1a 05 0a 03 6c 7a 6f"), &[b"x"], 1, &[]).map(|_| ()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    let mut encoding = PlainEncoding::flat(32, 0);
    (0..45).for_each(|_| {
        encoding = PlainEncoding::FixedSizeList { dimension: 1, items: Box::new(encoding.clone()) }
    });
    let limits = Limits { nesting: 30, ..Limits::default() };
    let from = Borrowable { own: 1, column: &[], file: &[] };
    let error = PlainLayout::parse(&PlainLayout { encoding }.emit(), from, &limits).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit);
}

#[test]
fn encodings_come_back_from_the_wire() {
    let flat = |bits, buffer| Box::new(PlainEncoding::flat(bits, buffer));
    let compression = Some(PlainCompression { scheme: None, level: Some(3) });
    let all = [
        PlainEncoding::Flat { bits: 8, buffer: 3, compression },
        PlainEncoding::AllNull,
        PlainEncoding::Struct,
        PlainEncoding::SomeNull { validity: flat(1, 0), values: flat(16, 1) },
        PlainEncoding::List { offsets: flat(64, 0), null_adjustment: 9, num_items: 8 },
        PlainEncoding::Fsst { table: Bytes::from_static(b"table"), values: flat(8, 2) },
        PlainEncoding::PackedStruct { field_bits: vec![8, 32], buffer: 1 },
        PlainEncoding::Bitpacked { bits: 8, packed_bits: 3, signed: true, buffer: 1 },
        PlainEncoding::BitpackedGroups { bits: 64, packed_bits: 64, buffer: 0 },
        PlainEncoding::FixedSizeBinary { bytes: flat(8, 0), byte_width: 5 },
    ];
    let from = Borrowable { own: 4, column: &[], file: &[] };
    for encoding in all {
        let layout = PlainLayout { encoding };
        let (parsed, borrowed) = PlainLayout::parse(&layout.emit(), from, &Limits::default()).unwrap();
        assert_eq!((parsed, borrowed), (layout, Vec::new()));
    }
}
