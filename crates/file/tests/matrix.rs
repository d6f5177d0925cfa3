//! Every encoding in every place where the format allows it: written on request over random data with
//! nulls, found again by `inspect`, and read by us and by the official library.
//!
//! Guards against: an encoding that only our reader understands, or that is never exercised.

mod common;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch, UInt64Array, cast::AsArray};
use arrow_schema::{DataType, Field, Fields, Schema, TimeUnit};
use common::compare::difference;
use common::engine::{Part, expected_take, force_encoding, open, scan, take, write};
use common::generate::{Generator, PACKED, Wanted};
use common::official::{Job, ask, python};
use common::work::{caught, no_failures};
use pennon_file::{FormatVersion, WriteOptions};

/// What the values of a cell must be like.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Data {
    Any,
    NoNulls,
    /// The same value everywhere, and nulls.
    OneValue,
    AllNull,
    /// Fixed-size lists with only null items.
    NullItems,
    /// A few different values in runs.
    FewRuns,
}

/// A cell of the matrix: an encoding in a place, and how to get it.
struct Cell {
    place: &'static str,
    encoding: &'static str,
    /// What to ask of the leaf.
    ask: &'static str,
    /// What `inspect` must show, in the page's layout, encoding or levels.
    shows: &'static str,
    types: Vec<DataType>,
    data: Data,
    only_2_2: bool,
}

fn fixed_types() -> Vec<DataType> {
    vec![
        DataType::Int8,
        DataType::UInt16,
        DataType::Int32,
        DataType::UInt64,
        DataType::Float16,
        DataType::Float64,
        DataType::Date32,
        DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
        DataType::Duration(TimeUnit::Second),
    ]
}

fn wide_types() -> Vec<DataType> {
    vec![
        DataType::Decimal128(20, 2),
        DataType::Decimal256(60, 5),
        DataType::FixedSizeBinary(5),
        DataType::FixedSizeBinary(16),
    ]
}

fn variable_types() -> Vec<DataType> {
    vec![DataType::Utf8, DataType::LargeUtf8, DataType::Binary, DataType::LargeBinary]
}

fn vector_types() -> Vec<DataType> {
    let list = |t, n| DataType::FixedSizeList(Arc::new(Field::new("item", t, true)), n);
    vec![list(DataType::Float32, 3), list(list(DataType::Int16, 2), 2), list(DataType::Decimal128(9, 1), 2)]
}

fn packed(children: &[DataType]) -> Vec<DataType> {
    let fields: Fields =
        children.iter().enumerate().map(|(i, t)| Field::new(format!("p{i}"), t.clone(), false)).collect();
    vec![DataType::Struct(fields)]
}

fn cells() -> Vec<Cell> {
    let cell = |place, encoding, ask, shows, types: Vec<DataType>| Cell {
        place,
        encoding,
        ask,
        shows,
        types,
        data: Data::Any,
        only_2_2: false,
    };
    let ints = || vec![DataType::Int8, DataType::UInt16, DataType::Int32, DataType::UInt64, DataType::Date64];
    let mini = "mini-block";
    let zip = "full-zip";
    let levels = "block, levels";
    let items = "block, dictionary";
    let mut all = vec![
        cell(
            mini,
            "Flat",
            "miniblock:flat",
            "flat(",
            [fixed_types(), wide_types(), vec![DataType::Boolean]].concat(),
        ),
        cell(mini, "Variable", "miniblock:variable", "variable(", variable_types()),
        cell(mini, "InlineBitpacking", "miniblock:bitpack", "inline_bitpacked(", ints()),
        cell(mini, "Fsst", "miniblock:fsst", "fsst(", variable_types()),
        cell(mini, "Rle", "miniblock:rle", "rle(", [ints(), vec![DataType::Float32]].concat()),
        cell(
            mini,
            "ByteStreamSplit",
            "miniblock:bss",
            "byte_stream_split(",
            vec![DataType::Float32, DataType::Float64, DataType::Int32],
        ),
        cell(mini, "General(lz4) over Flat", "miniblock:general(lz4,flat)", "lz4(flat", fixed_types()),
        cell(mini, "General(zstd) over Flat", "miniblock:general(zstd=3,flat)", "zstd(flat", wide_types()),
        cell(
            mini,
            "General over Variable",
            "miniblock:general(zstd,variable)",
            "zstd(variable",
            variable_types(),
        ),
        cell(
            mini,
            "General over InlineBitpacking",
            "miniblock:general(lz4,bitpack)",
            "lz4(inline_bitpacked",
            ints(),
        ),
        cell(mini, "General over Rle", "miniblock:general(zstd,rle)", "zstd(rle", ints()),
        cell(
            mini,
            "General over ByteStreamSplit",
            "miniblock:general(lz4,bss)",
            "lz4(byte_stream_split",
            vec![DataType::Float32, DataType::Float64],
        ),
        cell(mini, "General over Fsst", "miniblock:general(zstd,fsst)", "zstd(fsst", variable_types()),
        cell(mini, "FixedSizeList", "miniblock:fixedsizelist", "fixed_size_list(", vector_types()),
        cell(
            mini,
            "PackedStruct",
            "miniblock:packed",
            "packed_struct(",
            packed(&[DataType::Int16, DataType::Float64, DataType::FixedSizeBinary(3)]),
        ),
        cell(mini, "dictionary indices", "miniblock:dictionary", "dictionary(", variable_types()),
        cell(
            zip,
            "Flat",
            "fullzip:flat",
            "flat(",
            [fixed_types(), wide_types(), vec![DataType::FixedSizeBinary(300)]].concat(),
        ),
        cell(zip, "Variable", "fullzip:variable", "variable(", variable_types()),
        cell(zip, "Fsst", "fullzip:fsst", "fsst(", variable_types()),
        cell(
            zip,
            "General(zstd) over Variable",
            "fullzip:general(zstd,variable)",
            "zstd(variable",
            variable_types(),
        ),
        Cell {
            data: Data::NoNulls,
            ..cell(
                zip,
                "General(lz4) over Variable",
                "fullzip:general(lz4,variable)",
                "lz4(variable",
                variable_types(),
            )
        },
        cell(zip, "FixedSizeList", "fullzip:fixedsizelist", "fixed_size_list(", vector_types()),
        Cell {
            data: Data::NullItems,
            ..cell(
                zip,
                "Constant in FixedSizeList",
                "fullzip:fixedsizelist",
                "constant(null)",
                vector_types(),
            )
        },
        Cell {
            only_2_2: true,
            ..cell(
                zip,
                "VariablePackedStruct",
                "fullzip:packed",
                "variable_packed_struct(",
                packed(&[DataType::Int16, DataType::Utf8, DataType::LargeBinary]),
            )
        },
        Cell {
            data: Data::AllNull,
            ..cell(
                "constant",
                "all null",
                "constant",
                "constant",
                [fixed_types(), variable_types(), vec![DataType::Null]].concat(),
            )
        },
        Cell {
            data: Data::OneValue,
            only_2_2: true,
            ..cell(
                "constant",
                "scalar, inline",
                "constant",
                "constant",
                [fixed_types(), vec![DataType::Boolean, DataType::Decimal128(20, 2)]].concat(),
            )
        },
        Cell {
            data: Data::OneValue,
            only_2_2: true,
            ..cell("constant", "scalar in a buffer", "constant", "constant", variable_types())
        },
    ];
    let ints = [DataType::Int32, DataType::Utf8];
    for (encoding, ask, shows) in [
        ("Flat", "miniblock;levels:flat", "def flat(16)"),
        ("InlineBitpacking", "miniblock;levels:bitpack", "def inline_bitpacked(16)"),
        ("OutOfLineBitpacking", "miniblock;levels:outofline", "def bitpacked("),
        ("Rle", "miniblock;levels:rle", "def rle(16)"),
        ("General(lz4) over Flat", "miniblock;levels:general(lz4)", "def lz4(flat(16))"),
        ("General(zstd) over Flat", "miniblock;levels:general(zstd)", "def zstd(flat(16))"),
        ("General over Rle", "miniblock;levels:general(zstd,rle)", "def zstd(rle(16))"),
    ] {
        all.push(cell(levels, encoding, ask, shows, ints.to_vec()));
    }
    let words = vec![DataType::UInt64, DataType::Int64];
    for (encoding, ask, shows, types, only_2_2) in [
        (
            "Flat",
            "miniblock:dictionary(flat,flat)",
            "dictionary(flat(",
            [words.clone(), vec![DataType::Decimal128(20, 2)]].concat(),
            false,
        ),
        ("Variable", "miniblock:dictionary(flat,variable)", "dictionary(variable(", variable_types(), false),
        (
            "InlineBitpacking",
            "miniblock:dictionary(bitpack,bitpack)",
            "dictionary(inline_bitpacked(",
            words.clone(),
            false,
        ),
        (
            "OutOfLineBitpacking",
            "miniblock:dictionary(flat,outofline)",
            "dictionary(bitpacked(",
            words.clone(),
            false,
        ),
        ("Rle", "miniblock:dictionary(rle,rle)", "dictionary(rle(", words.clone(), false),
        (
            "General over Flat",
            "miniblock:dictionary(bitpack,general(lz4,flat))",
            "dictionary(lz4(flat",
            words,
            false,
        ),
        (
            "General over Variable",
            "miniblock:dictionary(bitpack,general(zstd,variable))",
            "dictionary(zstd(variable",
            variable_types(),
            false,
        ),
    ] {
        all.push(Cell { data: Data::FewRuns, only_2_2, ..cell(items, encoding, ask, shows, types) });
    }
    all
}

/// How a leaf of some type is nested: the column, and the path of the leaf.
fn nested(data_type: &DataType, nesting: usize, nullable: bool) -> (Field, String) {
    let metadata: HashMap<String, String> = match data_type {
        DataType::Struct(_) => HashMap::from([(PACKED.to_owned(), "true".to_owned())]),
        _ => HashMap::new(),
    };
    let leaf = |name: &str| Field::new(name, data_type.clone(), nullable).with_metadata(metadata.clone());
    match nesting {
        0 => (leaf("x"), "x".to_owned()),
        1 => (Field::new_list("x", leaf("item"), nullable), "x.item".to_owned()),
        2 => (Field::new_struct("x", vec![leaf("y")], nullable), "x.y".to_owned()),
        _ => {
            // A name that has to be quoted, too.
            let item = Field::new_struct("item", vec![leaf("y")], nullable);
            (Field::new_large_list("x y", item, nullable), "`x y`.item.y".to_owned())
        }
    }
}

const NESTINGS: [&str; 4] = ["plain", "list", "struct", "large list of struct"];

#[test]
fn every_encoding_is_written_where_it_is_legal_and_read_by_the_official_library() {
    let cells = cells();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut jobs = Vec::new();
    let mut of_job = Vec::new();
    let mut failures = Vec::new();
    // Per cell and version: tried, of ours equal, by the official library equal.
    let mut table: BTreeMap<(usize, FormatVersion), [usize; 3]> = BTreeMap::new();
    for (c, cell) in cells.iter().enumerate() {
        for version in [FormatVersion::V2_1, FormatVersion::V2_2] {
            if version == FormatVersion::V2_1 && cell.only_2_2 {
                continue;
            }
            for (t, data_type) in cell.types.iter().enumerate() {
                for (nesting, nested) in NESTINGS.iter().enumerate() {
                    let name = format!("{} {} {version} {data_type} {nested}", cell.place, cell.encoding);
                    let counts = table.entry((c, version)).or_default();
                    counts[0] += 1;
                    let seed = (c * 1000 + t * 10 + nesting) as u64;
                    match caught(|| ours(cell, data_type, nesting, version, seed)) {
                        Ok((batch, bytes)) => {
                            counts[1] += 1;
                            let path = folder.path().join(format!("{}.lance", jobs.len()));
                            std::fs::write(&path, bytes).expect("the temporary folder takes files");
                            let job = Job::new(name, path, batch, seed);
                            // The official reader ends its process at a row without items in such a column.
                            let in_parts =
                                cell.encoding != "VariablePackedStruct" || !nested.contains("list");
                            jobs.push(if in_parts { job } else { job.whole_only() });
                            of_job.push((c, version));
                        }
                        Err(text) => failures.push((failures.len(), format!("{name}: {text}"))),
                    }
                }
            }
        }
    }
    let python = python("matrix");
    if let Some(python) = &python {
        for (i, result) in ask(python, &jobs).into_iter().enumerate() {
            match result {
                Ok(()) => table.get_mut(&of_job[i]).expect("a cell of the table")[2] += 1,
                Err(text) => failures.push((failures.len(), format!("{}: {text}", jobs[i].name))),
            }
        }
    }
    println!("matrix: files written with each encoding, read equal by us, by the official library");
    println!("  {:<18} {:<32} {:>14} {:>14}", "place", "encoding", "2.1", "2.2");
    let mut empty = Vec::new();
    for (c, cell) in cells.iter().enumerate() {
        let text = |version| match table.get(&(c, version)) {
            None => "2.2 only".to_owned(),
            Some([tried, ours, official]) => format!("{tried} {ours} {official}"),
        };
        println!(
            "  {:<18} {:<32} {:>14} {:>14}",
            cell.place,
            cell.encoding,
            text(FormatVersion::V2_1),
            text(FormatVersion::V2_2)
        );
        for version in [FormatVersion::V2_1, FormatVersion::V2_2] {
            let filled = |counts: &[usize; 3]| counts[1] > 0 && (python.is_none() || counts[2] > 0);
            if table.get(&(c, version)).is_some_and(|counts| !filled(counts)) {
                empty.push(format!("{} {} {version}", cell.place, cell.encoding));
            }
        }
    }
    println!("matrix: {} files, {} failed, empty cells: {empty:?}", jobs.len(), failures.len());
    no_failures("matrix", &failures, |_| "file".to_owned());
    assert!(empty.is_empty(), "empty cells: {empty:?}");
}

/// Writes random data with the cell's encoding, checks that it was used, and reads it back ourselves.
fn ours(
    cell: &Cell,
    data_type: &DataType,
    nesting: usize,
    version: FormatVersion,
    seed: u64,
) -> Result<(RecordBatch, Vec<u8>), String> {
    let nullable = cell.data != Data::NoNulls;
    let (field, path) = nested(data_type, nesting, nullable);
    let schema = Arc::new(Schema::new(vec![field]));
    let mut g = Generator::new(seed, Wanted { long_values: false, ..Wanted::new(version) });
    g.only = match cell.data {
        Data::OneValue => Some(0),
        Data::FewRuns => Some(9),
        _ => None,
    };
    g.null_leaves = cell.data == Data::AllNull;
    g.null_items = cell.data == Data::NullItems;
    // Levels in block form exist where there are nulls; data without any leaf is a constant page.
    let wants_nulls = cell.place == "block, levels" || cell.data == Data::Any;
    let batch = (0..200)
        .map(|_| g.batch(&schema, 700))
        .find(|b| suits(b, &path, wants_nulls, cell.data))
        .ok_or("no random data suits")?;
    let mut options = WriteOptions::default();
    options.format_version = version;
    force_encoding(&mut options, &path, cell.ask);
    let bytes = write(&schema, std::slice::from_ref(&batch), options).map_err(|e| format!("write: {e}"))?;
    let file = open(&bytes).map_err(|e| format!("open: {e}"))?;
    let inspection = file.inspect().map_err(|e| format!("inspect: {e}"))?;
    for page in &inspection.columns[0].pages {
        let place = if cell.place.starts_with("block") { "mini-block" } else { cell.place };
        let shown = format!("{} {}; {}", page.layout, page.encoding, page.levels);
        if page.layout != place || !shown.contains(cell.shows) {
            return Err(format!("asked {:?}, written as {shown}", cell.ask));
        }
        let in_buffer = page.layout == "constant" && !page.buffers.is_empty() && page.buffers.len() % 2 == 1;
        if (cell.encoding == "scalar in a buffer") != in_buffer {
            return Err(format!("a constant page with buffers {:?}", page.buffers));
        }
    }
    let rows = batch.num_rows() as u64;
    let found = scan(&file, &Part::default()).map_err(|e| format!("scan: {e}"))?;
    if let Some(text) = difference(std::slice::from_ref(&batch), &found) {
        return Err(format!("scan: {text}"));
    }
    let asked = [rows - 1, 0, rows / 2, 5, 5];
    let found = take(&file, &asked, None).map_err(|e| format!("take: {e}"))?;
    if let Some(text) = difference(&[expected_take(&batch, &asked)], &found) {
        return Err(format!("take: {text}"));
    }
    Ok((batch, bytes.to_vec()))
}

/// Whether a column has what its cell needs: nulls and values at its leaf.
fn suits(batch: &RecordBatch, path: &str, wants_nulls: bool, data: Data) -> bool {
    let top = batch.column(0);
    let leaf = leaf_of(top, path.split('.').count() - 1);
    let (len, nulls, top_nulls) = (leaf.len(), leaf.logical_null_count(), top.logical_null_count());
    let enough = len > 100 && top_nulls * 2 < top.len();
    match data {
        Data::AllNull => len > 100,
        Data::NoNulls => enough && top_nulls == 0,
        _ => enough && len - nulls > 60 && (!wants_nulls || nulls > 5),
    }
}

/// The values `depth` levels down that no null list hides.
fn leaf_of(array: &ArrayRef, depth: usize) -> ArrayRef {
    if depth == 0 {
        return array.clone();
    }
    let valid =
        UInt64Array::from_iter_values((0..array.len()).filter(|i| array.is_valid(*i)).map(|i| i as u64));
    // Taking rows of a list leaves out the items of all others.
    let rows = arrow_select::take::take(array, &valid, None).expect("rows in range");
    let below = match rows.data_type() {
        DataType::List(_) => rows.as_list::<i32>().values().clone(),
        DataType::LargeList(_) => rows.as_list::<i64>().values().clone(),
        _ => rows.as_struct().column(0).clone(),
    };
    leaf_of(&below, depth - 1)
}
