//! The examples of docs/format/pages.md and others read off official files, byte for byte.

use std::sync::Arc;

use arrow_array::builder::{Int32Builder, ListBuilder};
use arrow_array::{Array, ArrayRef, Int16Array, Int32Array, StringArray, StructArray};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, Field, Fields};

use crate::array::shred::{LeafBuffer, leaf_paths};
use crate::choose::{self, Asked, Compression, Preset, Spec, Tuning};
use crate::page::encode::EncodedPage;
use crate::{FormatVersion, Limits, Result};

fn encode_field(field: Field, array: &ArrayRef, version: FormatVersion, spec: &str) -> Result<EncodedPage> {
    let path = Arc::new(leaf_paths(&Fields::from(vec![field.clone()]))?.remove(0));
    let asked = Asked {
        version,
        compression: Compression::Auto,
        preset: Preset::Fast,
        thorough: false,
        max_chunk_values: None,
        max_chunk_bytes: usize::MAX,
    };
    let spec = if spec.is_empty() { Spec::default() } else { Spec::parse(spec)? };
    let tuning = Tuning::new(&asked, spec, &path.field, &field)?;
    let mut buffer = LeafBuffer::new(path);
    buffer.push(array, 0..array.len(), false)?;
    let mut pages = choose::encode(buffer.take(), &tuning)?.pages;
    assert_eq!(pages.len(), 1);
    let page = pages.remove(0);
    // What was described is what a reader understands.
    let message = page.layout.emit();
    assert_eq!(crate::page::Layout::parse(&message, &Limits::default())?, page.layout);
    Ok(page)
}

fn encode(array: ArrayRef, version: FormatVersion, spec: &str) -> EncodedPage {
    encode_field(Field::new("x", array.data_type().clone(), true), &array, version, spec).unwrap()
}

/// Bytes of hex digits; all else is for the eye.
fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    digits.chunks(2).map(byte).collect()
}

fn check(page: &EncodedPage, layout: &str, buffers: &[&str]) {
    let shown: Vec<String> = page.layout.emit().iter().map(|b| format!("{b:02x}")).collect();
    assert_eq!(page.layout.emit(), hex(layout), "layout is {}", shown.join(" "));
    let expected: Vec<Vec<u8>> = buffers.iter().map(|b| hex(b)).collect();
    assert_eq!(page.buffers, expected);
}

fn lists(rows: &[Option<&[Option<i32>]>]) -> ArrayRef {
    let mut b = ListBuilder::new(Int32Builder::new());
    for row in rows {
        match row {
            Some(items) => b.append_value(items.iter().copied()),
            None => b.append_null(),
        }
    }
    Arc::new(b.finish())
}

fn list_of_the_spec() -> ArrayRef {
    lists(&[Some(&[Some(1), Some(2)]), None, Some(&[]), Some(&[Some(3), None])])
}

const REP: &str = "01 00 00 00 01 00 01 00 01 00 00 00  fe fe fe fe";
const DEF: &str = "00 00 00 00 02 00 03 00 00 00 01 00  fe fe fe fe";
const VALUES: &str = "01 00 00 00 02 00 00 00 03 00 00 00 00 00 00 00";
const INDEX: &str = "04 00 00 00 00 00 00 00  00 00 00 00 00 00 00 00";

#[test]
fn mini_block_page_of_lists_in_2_1_is_that_of_the_spec() {
    let page = encode(list_of_the_spec(), FormatVersion::V2_1, "miniblock:flat;levels:flat");
    let chunk = format!("06 00  0c 00 0c 00  10 00 {REP} {DEF} {VALUES}");
    check(
        &page,
        "0a 1c | 0a 04 0a 02 08 10 | 12 04 0a 02 08 10 | 1a 04 0a 02 08 20 | 32 02 03 06 | 38 01 | 40 01 | 48 04",
        &["60 00", &chunk, INDEX],
    );
}

#[test]
fn mini_block_page_of_lists_in_2_2_is_that_of_the_spec() {
    let page = encode(list_of_the_spec(), FormatVersion::V2_2, "miniblock:flat;levels:flat");
    let chunk = format!("06 00 0c 00 0c 00 10 00 00 00 fe fe fe fe fe fe {REP} {DEF} {VALUES}");
    check(
        &page,
        "0a 1e | 0a 04 0a 02 08 10 | 12 04 0a 02 08 10 | 1a 04 0a 02 08 20 | 32 02 03 06 | 38 01 | 40 01 | 48 04 | 50 01",
        &["70 00 00 00", &chunk, INDEX],
    );
}

#[test]
fn mini_block_page_of_nullable_integers_is_that_of_the_spec() {
    let array = Arc::new(Int32Array::from(vec![Some(1), Some(2), Some(3), None]));
    let page = encode(array, FormatVersion::V2_1, "miniblock:flat;levels:flat");
    check(
        &page,
        "0a 13 | 12 04 0a 02 08 10 | 1a 04 0a 02 08 20 | 32 01 03 | 38 01 | 48 04",
        &["30 00", &format!("04 00 08 00 10 00 fe fe | 00 00 00 00 00 00 01 00 | {VALUES}")],
    );
}

#[test]
fn full_zip_page_of_strings_is_that_of_the_spec() {
    let array = Arc::new(StringArray::from(vec![Some("abc"), None, Some(""), Some("defgh")]));
    let page = encode(array, FormatVersion::V2_1, "fullzip:variable");
    check(
        &page,
        "1a 15 | 10 01 | 20 20 | 28 04 | 30 04 | 3a 08 12 06 0a 04 0a 02 08 20 | 42 01 03",
        &["00 03 00 00 00 61 62 63 | 01 | 00 00 00 00 00 | 00 05 00 00 00 64 65 66 67 68", "00 08 09 0e 18"],
    );
}

#[test]
fn full_zip_page_of_lists_is_that_of_the_spec() {
    let page = encode(list_of_the_spec(), FormatVersion::V2_2, "fullzip:flat");
    check(
        &page,
        "1a 14 | 08 01 | 10 02 | 18 20 | 28 06 | 30 04 | 3a 04 0a 02 08 20 | 42 02 03 06",
        &["04 01000000 | 00 02000000 | 06 | 07 | 04 03000000 | 01 00000000", "00 0a 0b 0c 16"],
    );
}

#[test]
fn pages_of_lists_without_values_are_those_of_the_spec() {
    let array = lists(&[Some(&[]), None, Some(&[])]);
    let buffers = ["01 00 01 00 01 00", "02 00 01 00 02 00"];
    check(&encode(array.clone(), FormatVersion::V2_1, ""), "12 04 2a 02 01 06", &buffers);
    check(
        &encode(array, FormatVersion::V2_2, ""),
        "12 14 | 2a 02 01 06 | 3a 04 0a 02 08 10 | 42 04 0a 02 08 10 | 48 03 | 50 03",
        &buffers,
    );
}

#[test]
fn pages_of_nulls_have_no_buffers() {
    let array = Arc::new(Int32Array::from(vec![None, None]));
    check(&encode(array, FormatVersion::V2_1, ""), "12 03 2a 01 03", &[]);
}

#[test]
fn scalar_page_of_lists_is_that_of_the_spec() {
    let array = lists(&[Some(&[Some(9), Some(9)]), None, Some(&[])]);
    check(
        &encode(array, FormatVersion::V2_2, ""),
        "12 0a | 2a 02 01 06 | 32 04 09 00 00 00",
        &["01 00 00 00 01 00 01 00", "00 00 00 00 01 00 02 00"],
    );
}

#[test]
fn scalar_pages_of_strings_are_those_of_the_spec() {
    let value = "02 00 00 00 08 00 00 00 02 00 00 00 | 00 00 00 00 02 00 00 00 | 68 69";
    let array = Arc::new(StringArray::from(vec!["hi"; 3]));
    check(&encode(array, FormatVersion::V2_2, ""), "12 03 2a 01 01", &[value]);
    let array = Arc::new(StringArray::from(vec![Some("hi"), None]));
    check(&encode(array, FormatVersion::V2_2, ""), "12 03 2a 01 03", &[value, "", "00 00 01 00"]);
}

#[test]
fn pages_without_lists_hold_validity_and_fixed_size_lists_as_the_spec_says() {
    let rows = vec![Some(vec![Some(1i16), None, Some(3)]), Some(vec![Some(4), Some(5), Some(6)])];
    let array = Arc::new(arrow_array::FixedSizeListArray::from_iter_primitive::<
        arrow_array::types::Int16Type,
        _,
        _,
    >(rows, 3));
    let page = encode(array.clone(), FormatVersion::V2_1, "");
    // Header of 6 bytes, the bitmap of the items, then the items.
    let chunk =
        "00 00 01 00 0c 00 fe fe | 3d fe fe fe fe fe fe fe | 01 00 00 00 03 00 04 00 05 00 06 00 fe fe fe fe";
    assert_eq!(page.buffers[1], hex(chunk));
    let page = encode(array, FormatVersion::V2_1, "fullzip");
    let [row] = page.buffers.as_slice() else { panic!("{page:?}") };
    assert_eq!(row.len(), 14);
    assert_eq!((row[0] & 7, row[7] & 7), (0b101, 0b111), "a row begins with the validity of its items");
    assert_eq!((&row[1..7], &row[8..]), (&hex("0100 0000 0300")[..], &hex("0400 0500 0600")[..]));
}

#[test]
fn packed_structs_with_strings_are_those_of_the_spec() {
    let fields =
        Fields::from(vec![Field::new("a", DataType::Int16, false), Field::new("b", DataType::Utf8, false)]);
    let columns: Vec<ArrayRef> = vec![
        Arc::new(Int16Array::from(vec![1, 7, 2])),
        Arc::new(StringArray::from(vec!["xy", "hidden", ""])),
    ];
    let nulls = NullBuffer::from(vec![true, false, true]);
    let array: ArrayRef = Arc::new(StructArray::new(fields.clone(), columns, Some(nulls)));
    let metadata: std::collections::HashMap<String, String> =
        [("lance-encoding:packed".to_owned(), "true".to_owned())].into();
    let field = Field::new("x", DataType::Struct(fields), true).with_metadata(metadata);
    let page = encode_field(field.clone(), &array, FormatVersion::V2_2, "").unwrap();
    assert_eq!(
        page.buffers[0],
        hex("00 | 08000000 | 0100 02000000 7879 || 01 || 00 | 06000000 | 0200 00000000")
    );
    let message = page.layout.emit();
    let encoding = hex("6a 18 0a 08 0a 04 0a 02 08 10 10 10 0a 0c 0a 08 12 06 0a 04 0a 02 08 20 18 20");
    assert!(message.windows(encoding.len()).any(|w| w == encoding), "{message:02x?}");
}
