//! The examples of docs/format/encodings.md and more, byte by byte, and rules that a file may break.

use prost::Message;

use super::sample::{Cell, cells, column};
use crate::encoding::{
    ChunkReader, Encoding, PackedField, PackedWidth, Scheme, Scratch, ValueReader, ValueType, Values,
    count_rle_levels, decode_block, decode_levels, encode_block, encode_chunk, encode_levels, encode_value,
};
use crate::proto::encodings21::CompressiveEncoding;
use crate::{ErrorKind, Limits};

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
    digits
        .chunks(2)
        .map(|d| u8::from_str_radix(std::str::from_utf8(d).expect("ascii"), 16).expect("hex"))
        .collect()
}

fn described(text: &str) -> Encoding {
    let message = CompressiveEncoding::decode(&hex(text)[..]).expect("a message");
    let e = Encoding::parse(&message, &Limits::default()).expect("a description");
    assert_eq!(e.emit().encode_to_vec(), hex(text), "descriptions are stored as they were read");
    e
}

fn variable() -> Encoding {
    Encoding::Variable { offset_bits: 32 }
}

const TEXT: ValueType = ValueType::Variable { wide: false };

fn text(values: &[&str]) -> Vec<Cell> {
    values.iter().map(|v| Cell::Bytes(v.as_bytes().to_vec())).collect()
}

fn words<const N: usize>(values: &[[u8; N]]) -> Vec<Cell> {
    values.iter().map(|v| Cell::Bytes(v.to_vec())).collect()
}

/// That a chunk has these buffers, both ways.
fn chunk(e: &Encoding, shape: &ValueType, values: &[Cell], buffers: &[&str]) {
    let bytes: Vec<Vec<u8>> = buffers.iter().map(|b| hex(b)).collect();
    assert_eq!(encode_chunk(e, &column(shape, values), 0..values.len()).unwrap(), bytes);
    let slices: Vec<&[u8]> = bytes.iter().map(Vec::as_slice).collect();
    assert_eq!(decode(e, shape, values.len(), &slices).unwrap(), values);
}

fn decode(e: &Encoding, shape: &ValueType, n: usize, buffers: &[&[u8]]) -> crate::Result<Vec<Cell>> {
    let mut out = Values::new(shape, 0);
    let reader = ChunkReader::new(e, shape, &Limits::default())?;
    let done = reader.decode(buffers, n, 0..n, &mut out, &mut Scratch::default())?;
    assert_eq!(done, n);
    Ok(cells(&out))
}

#[test]
fn flat() {
    let e = described("0a02 0820");
    assert_eq!((e.describe().as_str(), &e), ("flat(32)", &Encoding::Flat { bits: 32 }));
    let values = words(&[1i32, 2, 3, 0].map(i32::to_le_bytes));
    chunk(&e, &ValueType::Fixed(4), &values, &["01000000 02000000 03000000 00000000"]);
    assert!(decode(&e, &ValueType::Fixed(4), 4, &[&[0; 17]]).is_err());
    assert!(decode(&e, &ValueType::Fixed(8), 2, &[&[0; 16]]).is_err(), "the type rules the width");
}

#[test]
fn variable_in_a_chunk() {
    let e = described("1206 0a04 0a02 0820");
    let buffer = "10000000 13000000 13000000 18000000 6162636465666768";
    chunk(&e, &TEXT, &text(&["abc", "", "defgh"]), &[buffer]);
    chunk(&e, &TEXT, &text(&["abc"]), &["08000000 0b000000 61626348"]);
    chunk(&e, &TEXT, &[], &["04000000"]);
    assert!(ChunkReader::new(&e, &ValueType::Variable { wide: true }, &Limits::default()).is_err());
    let broken = [
        ("0c000000 13000000 13000000 18000000 6162636465666768", "first offset inside the offsets"),
        ("10000000 13000000 12000000 18000000 6162636465666768", "offsets fall"),
        ("10000000 13000000 13000000 19000000 6162636465666768", "last past the end"),
        ("10000000 13000000 13000000 18000000 616263646566676848", "not whole words"),
        ("10000000 13000000 13000000", "too short"),
    ];
    for (bytes, why) in broken {
        let e = decode(&e, &TEXT, 3, &[&hex(bytes)]).expect_err(why);
        assert_eq!(e.kind(), ErrorKind::Corrupt, "{why}");
    }
}

#[test]
fn variable_in_a_block_with_either_header() {
    let values = text(&["aa", "bbb", "c"]);
    let bytes = hex("20000000 18000000 00000000 02000000 05000000 06000000 616162626263");
    assert_eq!(encode_block(&variable(), &column(&TEXT, &values)).unwrap(), bytes);
    let limits = Limits::default();
    assert_eq!(cells(&decode_block(&variable(), &bytes, 3, &TEXT, &limits).unwrap()), values);
    let old = hex("20 03000000 19000000 00000000 02000000 05000000 06000000 616162626263");
    assert_eq!(cells(&decode_block(&variable(), &old, 3, &TEXT, &limits).unwrap()), values);
    assert!(decode_block(&variable(), &old, 4, &TEXT, &limits).is_err());
    assert!(decode_block(&variable(), &bytes[..bytes.len() - 1], 3, &TEXT, &limits).is_err());
}

#[test]
fn out_of_line_bitpacked_levels() {
    let e = described("2208 0810 1a04 0a02 0801");
    assert_eq!(e.describe(), "bitpacked(1 of 16)");
    let levels: Vec<u16> = (0..1024).map(|i| i % 2).collect();
    let bytes = [0, 0, 0xff, 0xff].repeat(32);
    assert_eq!(encode_levels(&e, &levels).unwrap(), bytes);
    // A tail of 64 words would be as long as a group: it stays words.
    let levels: Vec<u16> = (0..1088).map(|i| i % 2).collect();
    let bytes = encode_levels(&e, &levels).unwrap();
    assert_eq!(bytes[128..], [0, 0, 1, 0].repeat(32));
    let mut out = Vec::new();
    decode_levels(&e, &bytes, 1088, &mut out, &Limits::default()).unwrap();
    assert_eq!(out, levels);
    assert_eq!(encode_levels(&e, &[1; 65]).unwrap().len(), 128, "a longer tail is packed");
}

#[test]
fn inline_bitpacking() {
    let e = Encoding::InlineBitpacking { bits: 32 };
    let values: Vec<Cell> = words(&std::array::from_fn::<_, 1024, _>(|i| (i as u32).to_le_bytes()));
    let buffers = encode_chunk(&e, &column(&ValueType::Fixed(4), &values), 0..1024).unwrap();
    assert_eq!(buffers[0].len(), 1284);
    assert_eq!(buffers[0][..20], hex("0a000000 00000210 01041250 02082290 030c32d0"));
    let e = Encoding::InlineBitpacking { bits: 8 };
    let values: Vec<Cell> = words(&std::array::from_fn::<_, 1024, _>(|i| [(i % 4) as u8]));
    let buffers = encode_chunk(&e, &column(&ValueType::Fixed(1), &values), 0..1024).unwrap();
    assert_eq!(buffers[0][..7], hex("02 0055aaff0055"));
    let shape = ValueType::Fixed(1);
    assert!(decode(&e, &shape, 1025, &[&buffers[0]]).is_err(), "more than a group");
    assert!(decode(&e, &shape, 5, &[&[9; 1 + 9 * 128]]).is_err(), "width above the word");
    assert!(decode(&e, &shape, 5, &[&[2; 256]]).is_err(), "one byte short");
    assert!(decode(&e, &shape, 5, &[&[]]).is_err());
}

#[test]
fn run_lengths() {
    let e = described("420c 0a04 0a02 0820 1204 0a02 0808");
    let values = words(&[1u32, 0, 0].map(u32::to_le_bytes));
    chunk(&e, &ValueType::Fixed(4), &values, &["01000000 00000000", "01 02"]);
    let shape = ValueType::Fixed(4);
    let overshot = decode(&e, &shape, 3, &[&hex("01000000 00000000"), &[1, 200]]).unwrap();
    assert_eq!(overshot, values, "excess of the last run is dropped");
    assert!(decode(&e, &shape, 3, &[&hex("01000000 00000000"), &[1, 1]]).is_err());
    assert!(decode(&e, &shape, 3, &[&hex("01000000 00000000"), &[0, 3]]).is_err());
    assert!(decode(&e, &shape, 3, &[&hex("01000000"), &[1, 2]]).is_err());

    let e = described("420c 0a04 0a02 0810 1204 0a02 0808");
    let bytes = hex("0400000000000000 01000100 ff2d");
    assert_eq!(encode_levels(&e, &[1; 300]).unwrap(), bytes);
    let mut out = Vec::new();
    decode_levels(&e, &bytes, 300, &mut out, &Limits::default()).unwrap();
    assert_eq!(out, [1; 300]);
    assert!(decode_levels(&e, &bytes, 299, &mut out, &Limits::default()).is_err());
    assert_eq!(count_rle_levels(&e, &bytes).unwrap(), Some(300));
}

#[test]
fn byte_stream_split() {
    let e = described("4a06 0a04 0a02 0820");
    let values = words(&[0f32, 1.0, 2.0, 3.0].map(f32::to_le_bytes));
    chunk(&e, &ValueType::Fixed(4), &values, &["00000000 00000000 00800040 003f4040"]);
    assert!(decode(&e, &ValueType::Fixed(4), 3, &[&[0; 16]]).is_err());
}

#[test]
fn a_dictionary_under_lz4() {
    let e = described("520e 0a02 0801 1a08 1206 0a04 0a02 0820");
    assert_eq!(e.describe(), "lz4(variable(32))");
    let bytes = hex("1e000000 6220000000 1800 0100 f003 02000000 05000000 06000000 616162626263");
    let out = decode_block(&e, &bytes, 3, &TEXT, &Limits::default()).unwrap();
    assert_eq!(cells(&out), text(&["aa", "bbb", "c"]));
    for declared in [0x1d, 0x1f, 0] {
        let mut bytes = bytes.clone();
        bytes[0] = declared;
        assert!(decode_block(&e, &bytes, 3, &TEXT, &Limits::default()).is_err(), "declared {declared}");
    }
    let mut bytes = bytes;
    bytes[3] = 0x7f;
    let e = decode_block(&e, &bytes, 3, &TEXT, &Limits::default()).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Corrupt, "no 41 bytes make two gigabytes: {e}");
}

#[test]
fn zstd_with_its_size_or_bare() {
    let flat = Box::new(Encoding::Flat { bits: 8 });
    let e = Encoding::General { scheme: Scheme::Zstd, level: Some(0), values: flat };
    assert_eq!(e.describe(), "zstd(flat(8))");
    let values = vec![Cell::Bytes(vec![7]); 3000];
    let shape = ValueType::Fixed(1);
    let framed = encode_chunk(&e, &column(&shape, &values), 0..3000).unwrap();
    assert_eq!(framed[0][..8], 3000u64.to_le_bytes());
    assert_eq!(decode(&e, &shape, 3000, &[&framed[0]]).unwrap(), values);
    let bare = &framed[0][8..];
    assert_eq!(decode(&e, &shape, 3000, &[bare]).unwrap(), values);
    // A frame that does not know its size.
    let unsized_frame = zstd::stream::encode_all(&[7u8; 3000][..], 0).unwrap();
    assert_eq!(decode(&e, &shape, 3000, &[&unsized_frame]).unwrap(), values);

    let mut wrong = framed[0].clone();
    wrong[0] += 1;
    assert!(decode(&e, &shape, 3000, &[&wrong]).is_err());
    assert!(decode(&e, &shape, 3000, &[&framed[0][..20]]).is_err());
    assert_eq!(decode(&e, &shape, 0, &[&[]]).unwrap(), [], "empty is empty");
    let limits = Limits { buffer_bytes: 2999, ..Limits::default() };
    let reader = ChunkReader::new(&e, &shape, &limits).unwrap();
    for buffer in [&framed[0][..], bare, &unsized_frame] {
        let mut out = Values::new(&shape, 0);
        let e = reader.decode(&[buffer], 3000, 0..3000, &mut out, &mut Scratch::default()).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::Limit);
    }
    let mut enormous = framed[0].clone();
    enormous[5] = 1;
    let e = decode(&e, &shape, 3000, &[&enormous]).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Corrupt, "{e}");
}

fn short_lists() -> (ValueType, Vec<Cell>) {
    let shape = ValueType::List { dimension: 3, items: Box::new(ValueType::Fixed(2)) };
    let item = |v: i16| Some(Cell::Bytes(v.to_le_bytes().to_vec()));
    let rows = vec![Cell::List(vec![item(1), None, item(3)]), Cell::List(vec![item(4), item(5), item(6)])];
    (shape, rows)
}

#[test]
fn fixed_size_lists() {
    let e = described("5a0a 0803 1204 0a02 0810 1801");
    assert_eq!(e.describe(), "fixed_size_list(3, nullable, flat(16))");
    let (shape, rows) = short_lists();
    chunk(&e, &shape, &rows, &["3d", "0100 0000 0300 0400 0500 0600"]);
    // By themselves; the unused bits of a row's bitmap may belong to the next row.
    let reader = ValueReader::new(&e, &shape, &Limits::default()).unwrap();
    assert_eq!(reader.fixed_bytes(), Some(7));
    let mut out = Values::new(&shape, 0);
    reader.decode_strided(&hex("3d010000000300 07040005000600"), 7, 0, 2, &mut out).unwrap();
    assert_eq!(cells(&out), rows);
    let mut bytes = Vec::new();
    encode_value(&e, &column(&shape, &rows), 0, &mut bytes).unwrap();
    assert_eq!(bytes, hex("05 0100 0000 0300"));
}

#[test]
fn lists_of_nothing_but_null_items() {
    let e = Encoding::FixedSizeList {
        dimension: 3,
        has_validity: true,
        items: Box::new(Encoding::Constant { value: None }),
    };
    let (shape, _) = short_lists();
    let reader = ValueReader::new(&e, &shape, &Limits::default()).unwrap();
    assert_eq!(reader.fixed_bytes(), Some(1));
    let mut out = Values::new(&shape, 0);
    reader.decode_strided(&[0, 0], 1, 0, 2, &mut out).unwrap();
    let rows = vec![Cell::List(vec![None; 3]); 2];
    assert_eq!(cells(&out), rows);
    let mut bytes = Vec::new();
    encode_value(&e, &column(&shape, &rows), 0, &mut bytes).unwrap();
    assert_eq!(bytes, [0]);
    assert!(ChunkReader::new(&e, &shape, &Limits::default()).is_err(), "not in chunks");
}

#[test]
fn packed_structs() {
    let e = described("620a 0a02 1020 1204 0a02 0830");
    let shape = ValueType::Struct(vec![ValueType::Fixed(2), ValueType::Fixed(4)]);
    let row = |a: i16, b: i32| {
        Cell::Struct(vec![Cell::Bytes(a.to_le_bytes().to_vec()), Cell::Bytes(b.to_le_bytes().to_vec())])
    };
    chunk(&e, &shape, &[row(1, 2), row(3, 4)], &["0100 02000000 0300 04000000"]);
}

#[test]
#[allow(clippy::single_range_in_vec_init)] // One range is what is meant.
fn packed_structs_of_varying_width() {
    let e = described("6a18 0a08 0a040a020810 1010 0a0c 0a0812060a040a020820 1820");
    let flat = PackedField { encoding: Encoding::Flat { bits: 16 }, width: PackedWidth::Bits(16) };
    let text = PackedField { encoding: variable(), width: PackedWidth::LengthBits(32) };
    assert_eq!(e, Encoding::VariablePackedStruct { fields: vec![flat, text] });
    let shape = ValueType::Struct(vec![ValueType::Fixed(2), TEXT]);
    let row = |a: i16, b: &str| {
        Cell::Struct(vec![Cell::Bytes(a.to_le_bytes().to_vec()), Cell::Bytes(b.as_bytes().to_vec())])
    };
    let rows = [row(1, "xy"), row(0, ""), row(2, "")];
    let data = hex("0100 02000000 7879 0200 00000000");
    let reader = ValueReader::new(&e, &shape, &Limits::default()).unwrap();
    let read = |data: &[u8], ranges: &[std::ops::Range<usize>]| {
        let mut out = Values::new(&shape, 0);
        reader.decode_variable(data, ranges, &mut out, &mut Scratch::default()).map(|_| cells(&out))
    };
    assert_eq!(read(&data, &[0..8, 8..8, 8..14]).unwrap(), rows, "a row of no bytes is a placeholder");
    let mut bytes = Vec::new();
    encode_value(&e, &column(&shape, &rows), 0, &mut bytes).unwrap();
    assert_eq!(bytes, data[..8]);
    assert!(read(&data, &[0..9]).is_err(), "bytes behind the fields");
    assert!(read(&data, &[0..7]).is_err(), "a field cut short");
    assert!(ChunkReader::new(&e, &shape, &Limits::default()).is_err(), "not in chunks");
}

#[test]
fn a_symbol_table_that_breaks_the_rules_is_refused_when_the_page_is_opened() {
    let mut table = vec![0; 2312];
    table[..8].copy_from_slice(&[1, 0, 0, 1, 0x54, 0x53, 0x53, 0x46]);
    table[16] = 9;
    let e = Encoding::Fsst { table: table.into(), values: Box::new(variable()) };
    let e = ChunkReader::new(&e, &TEXT, &Limits::default()).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Corrupt);
}

#[test]
fn encodings_nested_deeper_than_the_limit_are_refused() {
    let mut e = Encoding::Flat { bits: 8 };
    for _ in 0..9 {
        e = Encoding::General { scheme: Scheme::Lz4, level: None, values: Box::new(e) };
    }
    let limits = Limits { nesting: 10, ..Limits::default() };
    assert!(Encoding::parse(&e.emit(), &limits).is_ok());
    let limits = Limits { nesting: 9, ..Limits::default() };
    assert_eq!(Encoding::parse(&e.emit(), &limits).unwrap_err().kind(), ErrorKind::Limit);
}
