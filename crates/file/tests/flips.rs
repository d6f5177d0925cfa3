//! Every byte of small files flipped in turn: right values or a typed error.
//!
//! Guards against: a byte that no checksum covers, and decoders that panic on what they are given.

mod common;

use arrow_array::RecordBatch;
use arrow_schema::{DataType, Field, Fields, Schema};
use bytes::Bytes;
use common::compare::difference;
use common::engine::{Part, expected_take, open, scan, take, write};
use common::generate::{Generator, PACKED, Wanted};
use common::work::{each, no_failures};
use pennon_file::{FormatVersion, WriteOptions};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A column type and the encoding to force on its leaf.
struct Small {
    name: &'static str,
    field: Field,
    path: &'static str,
    /// Nothing in 2.0, where there is nothing to choose.
    encoding: &'static str,
    rows: usize,
}

/// Columns of 2.0, whose pages are described otherwise.
fn plain_files() -> Vec<Small> {
    let mut all: Vec<Small> = files()
        .into_iter()
        .filter(|s| !["packed struct", "variable packed struct"].contains(&s.name))
        .collect();
    let list = |item| DataType::List(Arc::new(Field::new("item", item, true)));
    let fields = Fields::from(vec![
        Field::new("a", DataType::Int16, true),
        Field::new("b", list(DataType::Utf8), true),
    ]);
    let dictionary = DataType::Dictionary(Box::new(DataType::Int8), Box::new(DataType::Utf8));
    for (name, data_type) in [
        ("list of structs", list(DataType::Struct(fields))),
        ("list of lists", list(list(DataType::Boolean))),
        ("dictionary type", dictionary),
    ] {
        all.push(Small { name, field: Field::new("x", data_type, true), path: "x", encoding: "", rows: 30 });
    }
    all.iter_mut().for_each(|s| s.encoding = if s.encoding == "constant" { "constant" } else { "" });
    all
}

fn of_version(version: FormatVersion) -> Vec<Small> {
    if version == FormatVersion::V2_0 { plain_files() } else { files() }
}

fn files() -> Vec<Small> {
    let small = |name, data_type, path, encoding, rows| Small {
        name,
        field: Field::new("x", data_type, true),
        path,
        encoding,
        rows,
    };
    let list = |item| DataType::List(Arc::new(Field::new("item", item, true)));
    let vector = DataType::FixedSizeList(Arc::new(Field::new("item", DataType::Float32, true)), 3);
    let fixed =
        Fields::from(vec![Field::new("a", DataType::Int16, false), Field::new("b", DataType::Int32, false)]);
    let variable =
        Fields::from(vec![Field::new("a", DataType::Int16, false), Field::new("b", DataType::Utf8, false)]);
    let packed = |fields| {
        Field::new("x", DataType::Struct(fields), true)
            .with_metadata(std::collections::HashMap::from([(PACKED.to_owned(), "true".to_owned())]))
    };
    vec![
        small("flat", DataType::Int32, "x", "miniblock:flat", 40),
        small("variable", DataType::Utf8, "x", "miniblock:variable", 30),
        small("bitpack", list(DataType::Int64), "x.item", "miniblock:bitpack", 30),
        small("fsst", DataType::Utf8, "x", "miniblock:fsst", 30),
        small("rle", DataType::Int32, "x", "miniblock:rle;levels:flat", 60),
        small("dictionary", DataType::Utf8, "x", "miniblock:dictionary", 40),
        small("byte stream split under zstd", DataType::Float64, "x", "miniblock:general(zstd,bss)", 40),
        small("full-zip variable in lists", list(DataType::Utf8), "x.item", "fullzip:variable", 25),
        small("full-zip fixed-size list", vector.clone(), "x", "fullzip:fixedsizelist", 25),
        small("fixed-size list", vector, "x", "miniblock:fixedsizelist", 25),
        Small {
            name: "packed struct",
            field: packed(fixed),
            path: "x",
            encoding: "miniblock:packed",
            rows: 25,
        },
        Small {
            name: "variable packed struct",
            field: packed(variable),
            path: "x",
            encoding: "fullzip:packed",
            rows: 25,
        },
        small("full-zip under zstd", DataType::LargeBinary, "x", "fullzip:general(zstd,variable)", 20),
        Small {
            name: "constant",
            field: Field::new("x", DataType::Int32, true),
            path: "x",
            encoding: "constant",
            rows: 30,
        },
    ]
}

#[test]
fn every_flipped_byte_gives_right_values_or_a_typed_error() {
    let mut cases = Vec::new();
    let mut written = Vec::new();
    for version in [FormatVersion::V2_2, FormatVersion::V2_1, FormatVersion::V2_0] {
        for small in of_version(version) {
            if version == FormatVersion::V2_1
                && (small.encoding == "fullzip:packed" || small.encoding == "constant")
            {
                continue;
            }
            let batch = data(&small, version);
            let mut options = WriteOptions::default();
            options.format_version = version;
            if version > FormatVersion::V2_0 {
                common::engine::force_encoding(&mut options, small.path, small.encoding);
            }
            let bytes = write(&batch.schema(), std::slice::from_ref(&batch), options)
                .unwrap_or_else(|e| panic!("{} {version}: {e}", small.name));
            let pages = open(&bytes).and_then(|f| f.inspect()).expect("inspect");
            let name = format!(
                "{} {version}: {} {}",
                small.name, pages.columns[0].pages[0].layout, pages.columns[0].pages[0].encoding
            );
            written.push((name, batch, bytes));
        }
    }
    for (i, (_, _, bytes)) in written.iter().enumerate() {
        cases.extend((0..bytes.len()).map(|at| (i, at)));
    }
    let failures = each(&cases, |(i, at)| {
        let (_, batch, bytes) = &written[*i];
        // Another bit of each byte, and all bits: both kinds of damage over the file's length.
        for flip in [1 << (at % 8), 0xff] {
            let start = Instant::now();
            flipped(batch, bytes, *at, flip).map_err(|e| format!("flip {flip:#x}: {e}"))?;
            if start.elapsed() > Duration::from_secs(5) {
                return Err(format!("flip {flip:#x}: took {:.1?}", start.elapsed()));
            }
        }
        Ok(())
    });
    for (i, (name, _, bytes)) in written.iter().enumerate() {
        let bad = failures.iter().filter(|(c, _)| cases[*c].0 == i).count();
        println!("flips: {name}: {} of {} bytes hold", bytes.len() - bad, bytes.len());
    }
    no_failures("flips", &failures, |c| {
        format!("{} of {} bytes, byte {}", written[cases[c].0].0, written[cases[c].0].2.len(), cases[c].1)
    });
}

#[test]
fn every_flipped_bit_of_files_without_checksums_gives_values_or_a_typed_error() {
    let mut written = Vec::new();
    for version in [FormatVersion::V2_2, FormatVersion::V2_1, FormatVersion::V2_0] {
        for small in of_version(version) {
            let batch = data(&small, version);
            let mut options = WriteOptions::default();
            options.format_version = version;
            options.checksums = false;
            if version > FormatVersion::V2_0 {
                common::engine::force_encoding(&mut options, small.path, small.encoding);
            }
            if let Ok(bytes) = write(&batch.schema(), std::slice::from_ref(&batch), options) {
                written.push((format!("{} {version}", small.name), bytes));
            }
        }
    }
    let cases: Vec<(usize, usize)> = written
        .iter()
        .enumerate()
        .flat_map(|(i, (_, bytes))| (0..bytes.len()).map(move |at| (i, at)))
        .collect();
    let failures = each(&cases, |(i, at)| {
        for bit in 0..8 {
            let mut damaged = written[*i].1.to_vec();
            damaged[*at] ^= 1 << bit;
            let Ok(file) = open(&Bytes::from(damaged)) else { continue };
            let rows = file.num_rows();
            if (1..1 << 20).contains(&rows) {
                // Orders that gather rows, and one that does not; any values will do.
                let _ = take(&file, &[rows - 1, 0, rows / 2, 0], None);
                let _ = take(&file, &[0, rows / 2, rows - 1], None);
                let _ = scan(&file, &Part { batch_rows: Some(7), ..Part::default() });
            }
        }
        Ok(())
    });
    println!("flips: {} bytes of {} files without checksums, 8 bits each", cases.len(), written.len());
    no_failures("flips", &failures, |c| format!("{}, byte {}", written[cases[c].0].0, cases[c].1));
}

fn data(small: &Small, version: FormatVersion) -> RecordBatch {
    let schema = Arc::new(Schema::new(vec![small.field.clone()]));
    if small.encoding == "constant" {
        let values = (0..small.rows).map(|i| (i % 4 != 1).then_some(7));
        let array = arrow_array::Int32Array::from_iter(values);
        return RecordBatch::try_new(schema, vec![Arc::new(array)]).expect("one column");
    }
    // The first seed whose data has both nulls and values.
    (0..)
        .find_map(|seed| {
            let mut g = Generator::new(seed, Wanted { long_values: false, ..Wanted::new(version) });
            let batch = g.batch(&schema, small.rows);
            let nulls = batch.column(0).null_count();
            (nulls > small.rows / 8
                && nulls < small.rows / 2
                && batch.column(0).get_array_memory_size() < 4000)
                .then_some(batch)
        })
        .expect("some seed fits")
}

fn flipped(batch: &RecordBatch, bytes: &Bytes, at: usize, flip: u8) -> Result<(), String> {
    let mut damaged = bytes.to_vec();
    damaged[at] ^= flip;
    let damaged = Bytes::from(damaged);
    let Ok(file) = open(&damaged) else { return Ok(()) };
    let rows = batch.num_rows() as u64;
    let asked = [rows - 1, 0, rows / 2];
    if let Ok(found) = take(&file, &asked, None)
        && let Some(text) = difference(&[expected_take(batch, &asked)], &found)
    {
        return Err(format!("take: {text}"));
    }
    // A handle of its own: a take may have verified what the scan should find.
    if let Ok(found) = open(&damaged).and_then(|f| scan(&f, &Part::default()))
        && let Some(text) = difference(std::slice::from_ref(batch), &found)
    {
        return Err(format!("scan: {text}"));
    }
    Ok(())
}
