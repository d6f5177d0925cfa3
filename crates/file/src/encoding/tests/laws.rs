//! Laws over every encoding, form and shape.

use std::ops::Range;

use proptest::prelude::*;

use super::sample::{Cell, Random, block, cells, column, mini_block, per_value, shapes};
use crate::encoding::{
    ChunkReader, ChunkWriter, Encoding, Scratch, ValueReader, ValueType, ValueWriter, Values,
    append_dictionary, append_validity, decode_block, decode_levels, encode_block, encode_levels, levels_at,
};
use crate::{ErrorKind, Limits};

fn limits() -> Limits {
    Limits { buffer_bytes: 1 << 24, ..Limits::default() }
}

/// A column that holds something already, as decoders usually find it.
fn begun(shape: &ValueType, first: &[Cell]) -> Values {
    column(shape, &first[..first.len().min(1)])
}

fn slices(buffers: &[Vec<u8>]) -> Vec<&[u8]> {
    buffers.iter().map(Vec::as_slice).collect()
}

fn sizes() -> impl Strategy<Value = usize> {
    prop_oneof![Just(0usize), 1usize..40, 1020usize..1028, 2040usize..2200]
}

/// Damages bytes somewhere, or their number.
fn damage(bytes: &mut Vec<u8>, random: &mut Random) {
    match random.below(4) {
        0 if !bytes.is_empty() => {
            let at = random.below(bytes.len());
            bytes.truncate(at);
        }
        1 => bytes.extend((0..random.below(20)).map(|_| random.next() as u8)),
        _ if !bytes.is_empty() => {
            // Headers and offsets stand in front, so that is where damage tells most.
            for _ in 0..=random.below(3) {
                let reach = if random.below(2) == 0 { bytes.len().min(24) } else { bytes.len() };
                let at = random.below(reach);
                bytes[at] = random.next() as u8;
            }
        }
        _ => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn chunks_come_back_whole_by_range_and_by_point(seed in 1u64.., len in sizes(), nulls: bool) {
        let mut random = Random(seed);
        let mut scratch = Scratch::default();
        for shape in shapes() {
            let want = random.column(&shape, len, nulls);
            let values = column(&shape, &want);
            for e in mini_block(&values) {
                // One value in front of the chunk and none behind it.
                let mut writer = ChunkWriter::new(&e, &shape).unwrap();
                let cut = random.below(len / 2 + 1).min(len);
                let buffers = writer.encode(&values, cut..len).unwrap();
                let want = &want[cut..];
                let len = want.len();
                prop_assert_eq!(buffers.len(), writer.num_buffers());
                let buffers = slices(&buffers);
                let reader = ChunkReader::new(&e, &shape, &limits()).unwrap();
                prop_assert_eq!(buffers.len(), reader.num_buffers());

                let mut out = begun(&shape, want);
                let base = out.len();
                prop_assert_eq!(reader.decode(&buffers, len, 0..len, &mut out, &mut scratch).unwrap(), len);
                prop_assert_eq!(&cells(&out)[base..], want, "{}", e.describe());

                let (a, b) = (random.below(len + 1), random.below(len + 1));
                let range = a.min(b)..a.max(b);
                let n = reader.decode(&buffers, len, range.clone(), &mut out, &mut scratch).unwrap();
                prop_assert_eq!(n, range.len());
                prop_assert_eq!(&cells(&out)[base + len..], &want[range], "{}", e.describe());

                if len > 0 {
                    let mut points: Vec<u32> = (0..5).map(|_| random.below(len) as u32).collect();
                    points.sort_unstable();
                    let mut out = begun(&shape, want);
                    prop_assert_eq!(reader.decode_points(&buffers, len, &points, &mut out, &mut scratch).unwrap(), 5);
                    let picked: Vec<Cell> = points.iter().map(|p| want[*p as usize].clone()).collect();
                    prop_assert_eq!(&cells(&out)[1..], &picked[..], "{}", e.describe());
                }
            }
        }
    }

    #[test]
    fn damaged_chunks_are_values_or_errors(seed in 1u64.., len in sizes(), nulls: bool) {
        let mut random = Random(seed);
        let mut scratch = Scratch::default();
        for shape in shapes() {
            let want = random.column(&shape, len, nulls);
            let values = column(&shape, &want);
            for e in mini_block(&values) {
                let mut buffers = ChunkWriter::new(&e, &shape).unwrap().encode(&values, 0..len).unwrap();
                let which = random.below(buffers.len());
                damage(&mut buffers[which], &mut random);
                let claimed = [len, len + 1, random.below(5000), usize::MAX, 0][random.below(5)];
                let buffers = slices(&buffers);
                let reader = ChunkReader::new(&e, &shape, &limits()).unwrap();
                let (a, b) = (random.below(claimed.min(1 << 40)), random.below(claimed.min(1 << 40)));
                for range in [a.min(b)..a.max(b), 0..claimed.min(1 << 20), claimed.saturating_sub(1)..claimed] {
                    let mut out = Values::new(&shape, 0);
                    let _ = reader.decode(&buffers, claimed, range, &mut out, &mut scratch);
                }
                let mut points = [random.below(len + 1) as u32, random.next() as u32];
                points.sort_unstable();
                let _ = reader.decode_points(&buffers, claimed, &points, &mut Values::new(&shape, 0), &mut scratch);
            }
        }
    }

    #[test]
    fn blocks_come_back_and_damaged_ones_fail(seed in 1u64.., len in sizes(), nulls: bool) {
        let mut random = Random(seed);
        for shape in shapes() {
            let want = random.column(&shape, len, nulls);
            let values = column(&shape, &want);
            for e in block(&values) {
                let mut data = encode_block(&e, &values).unwrap();
                let out = decode_block(&e, &data, len, &shape, &limits()).unwrap();
                prop_assert_eq!(cells(&out), &want[..], "{}", e.describe());
                damage(&mut data, &mut random);
                let claimed = [len, len + 1, random.below(5000), usize::MAX][random.below(4)];
                let _ = decode_block(&e, &data, claimed, &shape, &limits());
            }
        }
    }

    #[test]
    fn values_by_themselves_come_back(seed in 1u64.., len in 0usize..60, nulls: bool) {
        let mut random = Random(seed);
        let mut scratch = Scratch::default();
        for shape in shapes() {
            let want = random.column(&shape, len, nulls);
            let values = column(&shape, &want);
            for e in per_value(&values) {
                let mut writer = ValueWriter::new(&e, &shape).unwrap();
                let reader = ValueReader::new(&e, &shape, &limits()).unwrap();
                prop_assert_eq!(writer.fixed_bytes(), reader.fixed_bytes());
                // Three bytes of something else in front of every value, as full-zip pages have it.
                let mut data = Vec::new();
                let mut ranges: Vec<Range<usize>> = Vec::new();
                for i in 0..len {
                    data.extend([0xAA; 3]);
                    let start = data.len();
                    writer.encode(&values, i, &mut data).unwrap();
                    ranges.push(start..data.len());
                }
                let mut out = begun(&shape, &want);
                let base = out.len();
                if let Some(bytes) = reader.fixed_bytes() {
                    prop_assert!(ranges.iter().all(|r| r.len() == bytes));
                    reader.decode_strided(&data, bytes + 3, 3, len, &mut out).unwrap();
                } else {
                    let n = reader.decode_variable(&data, &ranges, &mut out, &mut scratch).unwrap();
                    prop_assert_eq!(n, len);
                }
                prop_assert_eq!(&cells(&out)[base..], &want[..], "{}", e.describe());

                damage(&mut data, &mut random);
                for _ in 0..4 {
                    let mut out = Values::new(&shape, 0);
                    let (at, count) = (random.below(9), random.below(len + 2));
                    let stride = reader.fixed_bytes().unwrap_or(1) + random.below(6) - random.below(2);
                    let _ = reader.decode_strided(&data, stride, at, count, &mut out);
                    let mut out = Values::new(&shape, 0);
                    if let Some(r) = ranges.first_mut() {
                        r.end = r.start + random.below(data.len() + 3);
                    }
                    let _ = reader.decode_variable(&data, &ranges, &mut out, &mut scratch);
                }
            }
        }
    }

    #[test]
    fn a_byte_limit_stops_every_variable_decoder_but_never_the_first_value(seed in 1u64.., len in 1usize..300, limit in 0usize..3000) {
        let mut random = Random(seed);
        let mut scratch = Scratch::default();
        for shape in shapes() {
            if shape.fixed_bytes().is_some() {
                continue;
            }
            let want = random.column(&shape, len, false);
            let values = column(&shape, &want);
            let longest = |cells: &[Cell]| -> usize {
                fn bytes(c: &Cell, field: usize) -> usize {
                    match c {
                        Cell::Bytes(b) => b.len(),
                        Cell::Struct(f) => bytes(&f[field], 0),
                        _ => 0,
                    }
                }
                let fields = match &cells[0] { Cell::Struct(f) => f.len(), _ => 1 };
                // Fixed fields have no limit, and never more bytes than the variable ones are allowed here.
                (0..fields).filter(|f| match &shape { ValueType::Struct(t) => matches!(t[*f], ValueType::Variable { .. }), _ => true })
                    .map(|f| cells.iter().map(|c| bytes(c, f)).sum()).max().unwrap_or(0)
            };
            let fit = (0..=len).rev().find(|n| *n <= 1 || longest(&want[..*n]) <= limit).unwrap_or(1);
            for e in mini_block(&values) {
                let buffers = ChunkWriter::new(&e, &shape).unwrap().encode(&values, 0..len).unwrap();
                let buffers = slices(&buffers);
                let reader = ChunkReader::new(&e, &shape, &limits()).unwrap();
                let mut out = Values::new(&shape, 0);
                out.set_byte_limit(limit);
                let n = reader.decode(&buffers, len, 0..len, &mut out, &mut scratch).unwrap();
                prop_assert_eq!((n, out.len()), (fit, fit), "{}", e.describe());
                prop_assert_eq!(cells(&out), &want[..n]);
                let points: Vec<u32> = (0..len as u32).collect();
                let mut out = Values::new(&shape, 0);
                out.set_byte_limit(limit);
                let n = reader.decode_points(&buffers, len, &points, &mut out, &mut scratch).unwrap();
                prop_assert_eq!((n, out.len()), (fit, fit), "{}", e.describe());
                prop_assert_eq!(cells(&out), &want[..n]);
            }
            for e in per_value(&values) {
                let reader = ValueReader::new(&e, &shape, &limits()).unwrap();
                let mut writer = ValueWriter::new(&e, &shape).unwrap();
                let (mut data, mut ranges) = (Vec::new(), Vec::new());
                for i in 0..len {
                    let start = data.len();
                    writer.encode(&values, i, &mut data).unwrap();
                    ranges.push(start..data.len());
                }
                let mut out = Values::new(&shape, 0);
                out.set_byte_limit(limit);
                let n = reader.decode_variable(&data, &ranges, &mut out, &mut scratch).unwrap();
                prop_assert_eq!((n, out.len()), (fit, fit), "{}", e.describe());
                prop_assert_eq!(cells(&out), &want[..n]);
            }
        }
    }

    #[test]
    fn levels_come_back_whole_one_by_one_and_as_validity(
        runs in prop::collection::vec((0u16..4, 1usize..400), 0..12), max in 0u16..4, threshold in 0u16..3, damages in any::<u64>(),
    ) {
        let levels: Vec<u16> = runs.iter().flat_map(|(l, n)| std::iter::repeat_n(*l.min(&max), *n)).collect();
        let mut all = vec![Encoding::Flat { bits: 16 }, Encoding::Rle { bits: 16 }];
        if levels.len() <= 1024 {
            all.push(Encoding::InlineBitpacking { bits: 16 });
        }
        let width = 16 - levels.iter().max().copied().unwrap_or(0).leading_zeros() as u8;
        all.push(Encoding::OutOfLineBitpacking { bits: 16, packed_bits: width });
        all.push(Encoding::OutOfLineBitpacking { bits: 16, packed_bits: 9 });
        let general: Vec<Encoding> = all.iter().map(|e| Encoding::General {
            scheme: crate::encoding::Scheme::Zstd, level: None, values: Box::new(e.clone()),
        }).collect();
        all.extend(general);
        let mut random = Random(damages | 1);
        let mut scratch = Scratch::default();
        for e in all {
            let mut data = encode_levels(&e, &levels).unwrap();
            let mut out = vec![7];
            decode_levels(&e, &data, levels.len(), &mut out, &limits()).unwrap();
            prop_assert_eq!(&out[1..], &levels[..], "{}", e.describe());
            let mut points: Vec<u32> = (0..levels.len().min(5)).map(|_| random.below(levels.len()) as u32).collect();
            points.sort_unstable();
            let mut got = Vec::new();
            levels_at(&e, &data, levels.len(), points.iter().copied(), &limits(), |l| got.push(l)).unwrap();
            prop_assert_eq!(got, points.iter().map(|i| levels[*i as usize]).collect::<Vec<_>>());
            let mut bits = arrow_buffer::BooleanBufferBuilder::new(0);
            bits.append_n(3, true);
            let valid = append_validity(&e, &data, levels.len(), threshold, 4, &mut bits, &limits(), &mut scratch).unwrap();
            prop_assert_eq!(bits.len(), 3 + levels.len());
            for (i, l) in levels.iter().enumerate() {
                prop_assert_eq!(bits.get_bit(3 + i), *l <= threshold, "{} {}", e.describe(), i);
            }
            prop_assert_eq!(valid, levels.iter().filter(|l| **l <= threshold).count());

            damage(&mut data, &mut random);
            let claimed = [levels.len(), levels.len() + 1, usize::MAX, random.below(4000)][random.below(4)];
            let _ = decode_levels(&e, &data, claimed, &mut out, &limits());
            let point = random.below(claimed.min(1 << 32)) as u32;
            let _ = levels_at(&e, &data, claimed, [point].into_iter(), &limits(), |_| ());
            let _ = append_validity(&e, &data, claimed, threshold, 4, &mut bits, &limits(), &mut scratch);
        }
    }

    #[test]
    fn dictionaries_are_looked_up(seed in 1u64.., entries in 1usize..200, len in 0usize..2500, width in prop::sample::select(vec![1usize, 2, 4, 8])) {
        let mut random = Random(seed);
        let entries = if width == 1 { entries.min(255) } else { entries };
        for shape in shapes() {
            let want: Vec<Cell> = (0..entries).map(|_| random.cell(&shape, true)).collect();
            let dictionary = column(&shape, &want);
            let picks: Vec<usize> = (0..len).map(|_| random.below(entries)).collect();
            let index = |i: usize| Cell::Bytes((i as u64).to_le_bytes()[..width].to_vec());
            let mut indices: Vec<Cell> = picks.iter().map(|i| index(*i)).collect();
            let mut out = Values::new(&shape, 0);
            let n = append_dictionary(&column(&ValueType::Fixed(width), &indices), 0..len, &dictionary, &mut out).unwrap();
            prop_assert_eq!(n, len);
            let picked: Vec<Cell> = picks.iter().map(|i| want[*i].clone()).collect();
            prop_assert_eq!(cells(&out), picked);
            if len > 0 {
                let at = random.below(len);
                indices[at] = index(entries);
                let e = append_dictionary(&column(&ValueType::Fixed(width), &indices), 0..len, &dictionary, &mut out).unwrap_err();
                prop_assert_eq!(e.kind(), ErrorKind::Corrupt);
                if width == 8 {
                    indices[at] = index(1 << 32);
                    prop_assert!(append_dictionary(&column(&ValueType::Fixed(width), &indices), 0..len, &dictionary, &mut out).is_err());
                }
            }
        }
    }

    #[test]
    fn descriptions_come_back_from_the_wire(seed in 1u64..) {
        let mut random = Random(seed);
        for shape in shapes() {
            let values = column(&shape, &random.column(&shape, 30, false));
            for e in mini_block(&values).into_iter().chain(block(&values)).chain(per_value(&values)) {
                prop_assert_eq!(Encoding::parse(&e.emit(), &limits()).unwrap(), e);
            }
        }
    }

    #[test]
    fn any_description_is_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..80), seed in 1u64..) {
        use prost::Message;
        use crate::proto::encodings21::CompressiveEncoding;
        let mut random = Random(seed);
        let mut messages = vec![bytes];
        for shape in shapes() {
            let values = column(&shape, &random.column(&shape, 30, false));
            for e in mini_block(&values).into_iter().chain(per_value(&values)) {
                let mut bytes = e.emit().encode_to_vec();
                damage(&mut bytes, &mut random);
                messages.push(bytes);
            }
        }
        for bytes in messages {
            let Ok(message) = CompressiveEncoding::decode(&bytes[..]) else { continue };
            let Ok(e) = Encoding::parse(&message, &limits()) else { continue };
            e.describe();
            for shape in shapes() {
                let _ = ChunkReader::new(&e, &shape, &limits());
                let _ = ValueReader::new(&e, &shape, &limits());
                let _ = decode_block(&e, &[0; 40], random.below(10), &shape, &limits());
            }
        }
    }
}
