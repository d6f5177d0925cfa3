//! The laws that every reader and writer of columns obeys, over random nested data.
//!
//! * inverse: what was written is what is read, whole, in batches, by ranges, by rows, by leaves;
//! * segmentation: how the bytes are fetched does not change the answer;
//! * totality: any bytes give values or a typed error, in bounded time and memory.
//!
//! A failure prints its seed; `PENNON_SEED=<seed>` runs that case first. `PENNON_CASES=1000` runs ten
//! times as many.

mod common;

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use bytes::Bytes;
use common::compare::{Flags, difference, schema_difference};
use common::counted::Counted;
use common::engine::{
    Part, expected_projection, expected_take, force_encoding, leaf_paths, open, path_text, paths,
    random_column_presets, random_encoding, random_options, reading, scan, take, whole, write,
};
use common::generate::{Generator, Wanted};
use common::memory;
use common::rng::{Rng, seeds};
use common::work::{each, no_failures};
use pennon_file::{ErrorKind, File, FormatVersion, OpenOptions};

/// Data of one seed, and a file that holds it.
struct Case {
    rng: Rng,
    schema: SchemaRef,
    expected: RecordBatch,
    bytes: Bytes,
}

fn case(seed: u64, max_rows: usize) -> Result<Case, String> {
    let mut rng = Rng::new(seed);
    let version = *rng.pick(&[FormatVersion::V2_0, FormatVersion::V2_1, FormatVersion::V2_2]);
    let mut wanted = Wanted::new(version);
    wanted.max_columns = rng.within(1, 5);
    let mut g = Generator::new(rng.word(), wanted);
    let schema = g.schema();
    let rows = match rng.below(8) {
        0 => rng.below(3),
        1 => max_rows,
        2..4 => rng.below(max_rows),
        _ => rng.below(60),
    };
    let batches = g.batches(&schema, rows);
    let options = random_options(&mut rng, version);
    let described = format!("{options:?}");
    let mut bytes = write(&schema, &batches, options.clone())
        .map_err(|e| format!("write: {e}; {schema}; {described}"))?;
    if rng.chance(1, 2) {
        // Now that the leaves are known, some get an encoding forced on them. Not all are legal: those
        // must be refused as such.
        let mut forced = options;
        let paths = leaf_paths(&bytes).map_err(|e| format!("paths: {e}; {schema}"))?;
        random_column_presets(&mut rng, &mut forced, &paths);
        for path in paths {
            if rng.chance(2, 3) {
                force_encoding(&mut forced, &path, &random_encoding(&mut rng));
            }
            match write(&schema, &batches, forced.clone()) {
                Ok(written) => bytes = written,
                Err(e) if matches!(e.kind(), ErrorKind::Invalid | ErrorKind::Unsupported) => {
                    forced.encodings.pop();
                }
                Err(e) => return Err(format!("write: {e}; {schema}; {forced:?}")),
            }
        }
    }
    Ok(Case { rng, expected: whole(&schema, &batches), schema, bytes })
}

fn same(
    expected: &RecordBatch,
    actual: pennon_file::Result<Vec<RecordBatch>>,
    what: impl Fn() -> String,
) -> Result<(), String> {
    let actual = actual.map_err(|e| format!("{}: {e}", what()))?;
    difference(std::slice::from_ref(expected), &actual)
        .map_or(Ok(()), |text| Err(format!("{}: {text}", what())))
}

fn random_rows(rng: &mut Rng, rows: usize, count: usize) -> Vec<u64> {
    if rows == 0 { Vec::new() } else { (0..count).map(|_| rng.below(rows) as u64).collect() }
}

#[test]
fn what_is_written_is_read_again_whole_in_parts_by_rows_and_by_leaves() {
    let seeds: Vec<u64> = seeds("inverse", 2500).collect();
    let coverage = Coverage::default();
    let start = Instant::now();
    let failures = each(&seeds, |seed| inverse(*seed, &coverage));
    println!(
        "inverse: {} of {} cases hold, {:.1?}",
        seeds.len() - failures.len(),
        seeds.len(),
        start.elapsed()
    );
    let missing = coverage.print();
    no_failures("inverse", &failures, |i| format!("PENNON_SEED={}", seeds[i]));
    assert!(missing.is_empty(), "no page of {missing:?}");
}

fn inverse(seed: u64, coverage: &Coverage) -> Result<(), String> {
    let Case { mut rng, schema, expected, bytes } = case(seed, 2500)?;
    let in_words = |text: String| format!("{text}; {schema}");
    let file = open(&bytes).map_err(|e| in_words(format!("open: {e}")))?;
    let found = file.schema().map_err(|e| format!("schema: {e}"))?;
    if let Some(text) = schema_difference(&schema, &found, Flags::Same) {
        return Err(text);
    }
    let rows = expected.num_rows();
    if file.num_rows() != rows as u64 {
        return Err(format!("{} rows, expected {rows}", file.num_rows()));
    }
    coverage.add(&file)?;
    same(&expected, scan(&file, &Part::default()), || "whole".into()).map_err(in_words)?;

    let n = *rng.pick(&[1, 3, 7, 64, 1000]);
    let n = n.max(rows / 100);
    let part = Part {
        batch_rows: Some(n),
        threads: Some(1 + rng.below(2)),
        batch_bytes: Some(*rng.pick(&[1, 300, 1 << 20])),
        ..Part::default()
    };
    let part = if part.batch_bytes == Some(1) && rows > 300 {
        Part { batch_bytes: Some(5000), ..part }
    } else {
        part
    };
    same(&expected, scan(&file, &part), || format!("{part:?}")).map_err(in_words)?;

    let from = rng.below(rows + 1);
    let to = from + rng.below(rows - from + 1);
    let part = Part { rows: Some(from as u64..to as u64), batch_rows: Some(n), ..Part::default() };
    same(&expected.slice(from, to - from), scan(&file, &part), || format!("{part:?}")).map_err(in_words)?;

    // Take is scan and select; on a fresh handle, too, which has no chunk tables yet.
    for count in [0, 1, 3, 50] {
        let asked = random_rows(&mut rng, rows, count);
        let file = if rng.chance(1, 2) { open(&bytes).map_err(|e| e.to_string())? } else { file.clone() };
        same(&expected_take(&expected, &asked), take(&file, &asked, None), || format!("take of {asked:?}"))
            .map_err(in_words)?;
    }

    // Every leaf and every parent, alone; then two at once.
    let all = paths(&schema);
    for path in &all {
        let text = path_text(path);
        let projected = expected_projection(&expected, path);
        let part = Part { columns: Some(&[&text]), ..Part::default() };
        same(&projected, scan(&file, &part), || format!("column {text}")).map_err(in_words)?;
        let asked = random_rows(&mut rng, rows, 3);
        same(&expected_take(&projected, &asked), take(&file, &asked, Some(&[&text])), || {
            format!("take of {asked:?}, column {text}")
        })
        .map_err(in_words)?;
    }

    // Segmentation: byte ranges fetched one by one, joined, or all together.
    for gap in [0, 100, 1 << 20] {
        let counted = Counted::new(bytes.clone());
        let file =
            File::from_read_at(counted, &reading(gap)).map_err(|e| format!("open with gap {gap}: {e}"))?;
        let asked = random_rows(&mut rng, rows, 4);
        same(&expected_take(&expected, &asked), take(&file, &asked, None), || {
            format!("take of {asked:?} with gap {gap}")
        })
        .map_err(in_words)?;
        let part = Part { rows: Some(from as u64..to as u64), ..Part::default() };
        same(&expected.slice(from, to - from), scan(&file, &part), || format!("{part:?} with gap {gap}"))
            .map_err(in_words)?;
        same(&expected, scan(&file, &Part::default()), || format!("whole with gap {gap}"))
            .map_err(in_words)?;
    }
    Ok(())
}

#[test]
fn a_file_of_ours_has_no_faults_and_every_checksum_is_looked_at() {
    let seeds: Vec<u64> = seeds("verify", 300).collect();
    let failures = each(&seeds, |seed| {
        let case = case(*seed, 400)?;
        let file = open(&case.bytes).map_err(|e| e.to_string())?;
        let report = file.verify(|_| {}).map_err(|e| format!("verify: {e}"))?;
        match report.faults.first() {
            Some(fault) => Err(format!("{} faults, first {fault}; {}", report.faults.len(), case.schema)),
            None => Ok(()),
        }
    });
    no_failures("verify", &failures, |i| format!("PENNON_SEED={}", seeds[i]));
}

// ---- coverage

/// How many pages of which layout and encoding the cases wrote.
#[derive(Default)]
struct Coverage(Mutex<BTreeMap<(&'static str, String), usize>>);

impl Coverage {
    fn add(&self, file: &File) -> Result<(), String> {
        let inspection = file.inspect().map_err(|e| format!("inspect: {e}"))?;
        let mut counts = self.0.lock().expect("no panic while held");
        for page in inspection.columns.iter().flat_map(|c| &c.pages) {
            let mut add = |name: String| *counts.entry((page.layout, name)).or_default() += 1;
            if page.layout == "constant" {
                let buffers = match page.buffers.len() {
                    0 => "no buffers",
                    n if n % 2 == 1 => "value in a buffer",
                    _ => "levels",
                };
                add(buffers.to_owned());
            }
            names_in(&page.encoding).into_iter().for_each(&mut add);
            for levels in page.levels.split("; ").skip(1) {
                // As in `def rle(16)`; the control words of full-zip pages are numbers.
                add(levels.split(['(', ' ']).take(2).collect::<Vec<_>>().join(" "));
            }
        }
        Ok(())
    }

    /// Prints the table; says what is missing from it in a full run.
    fn print(&self) -> Vec<(&'static str, &'static str)> {
        let counts = self.0.lock().expect("no panic while held");
        println!("pages by layout and encoding:");
        for ((layout, name), count) in counts.iter() {
            println!("  {layout:<11} {name:<28} {count:>8}");
        }
        if std::env::var_os("PENNON_SEED").is_some() || std::env::var_os("PENNON_CASES").is_some() {
            return Vec::new();
        }
        EXPECTED.iter().copied().filter(|(l, n)| !counts.contains_key(&(*l, (*n).to_owned()))).collect()
    }
}

/// Every encoding's name in a description as `fsst(variable(32))`.
fn names_in(description: &str) -> Vec<String> {
    let mut names: Vec<String> = description
        .split(|c: char| !(c.is_ascii_alphanumeric() || c == '-' || c == '_'))
        .filter(|w| w.starts_with(|c: char| c.is_ascii_alphabetic()))
        .map(str::to_owned)
        .collect();
    names.retain(|n| !["with", "bit", "lengths", "nullable", "null"].contains(&n.as_str()));
    names.sort();
    names.dedup();
    names
}

const EXPECTED: &[(&str, &str)] = &[
    ("mini-block", "byte_stream_split"),
    ("mini-block", "def bitpacked"),
    ("mini-block", "def flat"),
    ("mini-block", "def inline_bitpacked"),
    ("mini-block", "def lz4"),
    ("mini-block", "def rle"),
    ("mini-block", "def zstd"),
    ("mini-block", "dictionary"),
    ("mini-block", "fixed_size_list"),
    ("mini-block", "flat"),
    ("mini-block", "fsst"),
    ("mini-block", "inline_bitpacked"),
    ("mini-block", "lz4"),
    ("mini-block", "packed_struct"),
    ("mini-block", "rep bitpacked"),
    ("mini-block", "rep flat"),
    ("mini-block", "rep inline_bitpacked"),
    ("mini-block", "rep lz4"),
    ("mini-block", "rep rle"),
    ("mini-block", "rep zstd"),
    ("mini-block", "rle"),
    ("mini-block", "variable"),
    ("mini-block", "zstd"),
    ("plain", "binary"),
    ("plain", "dictionary"),
    ("plain", "fixed_size_list"),
    ("plain", "flat"),
    ("plain", "fsst"),
    ("plain", "list"),
    ("plain", "lz4"),
    ("plain", "packed_struct"),
    ("plain", "struct"),
    ("plain", "zstd"),
    ("full-zip", "constant"),
    ("full-zip", "fixed_size_list"),
    ("full-zip", "flat"),
    ("full-zip", "fsst"),
    ("full-zip", "packed_struct"),
    ("full-zip", "variable"),
    ("full-zip", "variable_packed_struct"),
    ("full-zip", "zstd"),
    ("constant", "no buffers"),
    ("constant", "levels"),
    ("constant", "value in a buffer"),
    ("constant", "def bitpacked"),
    ("constant", "def flat"),
    ("constant", "def rle"),
    ("constant", "rep bitpacked"),
    ("constant", "rep flat"),
    ("constant", "rep rle"),
];

// ---- totality

/// Time that one damaged file may take.
const LONGEST: Duration = Duration::from_secs(5);
/// Memory that all damaged files together may take above what the test started with.
const MOST_MEMORY: u64 = 512 << 20;

#[test]
fn any_bytes_give_values_or_a_typed_error_in_bounded_time_and_memory() {
    if !memory::is_child() {
        return memory::in_child("any_bytes_give_values_or_a_typed_error_in_bounded_time_and_memory");
    }
    // Panics are expected to be none, and many would be caught: no need for their texts.
    let mut sources: Vec<Bytes> =
        seeds("damage", 150).filter_map(|s| case(s, 300).ok()).map(|c| c.bytes).collect();
    for golden in common::shared::goldens().files {
        let small = ["2.0", "2.1", "2.2"].contains(&golden.version.as_str())
            && std::fs::metadata(&golden.file).is_ok_and(|m| m.len() < 30_000);
        if small {
            sources.push(std::fs::read(&golden.file).expect("golden file").into());
        }
    }
    let base = memory::resident();
    let seeds: Vec<u64> = seeds("totality", 12_000).collect();
    let kinds: Mutex<BTreeMap<String, usize>> = Mutex::default();
    let failures = each(&seeds, |seed| {
        let mut rng = Rng::new(*seed);
        let bytes = damaged(&mut rng, &sources);
        let start = Instant::now();
        let outcome = read_everything(&bytes, &mut rng);
        let took = start.elapsed();
        *kinds.lock().expect("no panic while held").entry(outcome).or_default() += 1;
        if took > LONGEST { Err(format!("took {took:.1?}")) } else { Ok(()) }
    });
    let grown = memory::peak().saturating_sub(base);
    let kinds = kinds.into_inner().expect("no panic while held");
    println!("totality: {} damaged files: {kinds:?}; peak {} MiB above the start", seeds.len(), grown >> 20);
    no_failures("totality", &failures, |i| format!("PENNON_SEED={}", seeds[i]));
    assert!(grown < MOST_MEMORY, "{} MiB", grown >> 20);
}

/// One of several kinds of damage to one of the files, or plain noise with the right last bytes.
fn damaged(rng: &mut Rng, sources: &[Bytes]) -> Bytes {
    if rng.chance(1, 30) {
        let mut noise: Vec<u8> = (0..rng.within(40, 3000)).map(|_| rng.word() as u8).collect();
        let n = noise.len();
        let minor = 1 + rng.below(2) as u8;
        noise[n - 8..].copy_from_slice(&[2, 0, minor, 0, b'L', b'A', b'N', b'C']);
        if rng.chance(1, 2) {
            // Small numbers where the footer has positions.
            for at in (n - 40..n - 8).step_by(4) {
                let small = (rng.below(n) as u32).to_le_bytes();
                noise[at..at + 4].copy_from_slice(if (n - at).is_multiple_of(8) || at >= n - 16 {
                    &small
                } else {
                    &[0; 4]
                });
            }
        }
        return noise.into();
    }
    let mut bytes = rng.pick(sources).to_vec();
    let n = bytes.len();
    // The last third is descriptions; page buffers come first.
    let place = |rng: &mut Rng| match rng.below(4) {
        0 => n - 1 - rng.below(n.min(400)),
        1 => n - 1 - rng.below(n / 3 + 1),
        _ => rng.below(n),
    };
    match rng.below(8) {
        0 => bytes.truncate(rng.below(n)),
        1 => {
            let at = place(rng);
            bytes.iter_mut().skip(at).take(4).for_each(|b| *b = 0xff);
        }
        2 => {
            let at = place(rng);
            bytes.iter_mut().skip(at).take(8).for_each(|b| *b = 0);
        }
        3 => {
            let (from, to) = (place(rng), place(rng));
            let len = rng.within(1, 64).min(n - from.max(to));
            bytes.copy_within(from..from + len, to);
        }
        4 => {
            for _ in 0..rng.within(2, 20) {
                let at = place(rng);
                bytes[at] = rng.word() as u8;
            }
        }
        5 => {
            let at = place(rng);
            bytes[at] = bytes[at].wrapping_add(*rng.pick(&[1, 255, 127, 128]));
        }
        _ => {
            let at = place(rng);
            bytes[at] ^= 1 << rng.below(8);
        }
    }
    bytes.into()
}

/// Everything a caller may ask of a file; what came of it in a word. A panic fails the case.
fn read_everything(bytes: &Bytes, rng: &mut Rng) -> String {
    let file = match open(bytes) {
        Ok(file) => file,
        Err(e) => return format!("open {:?}", e.kind()),
    };
    let mut worst = "values".to_owned();
    let mut note = |what: &str, error: Option<pennon_file::Error>| {
        if let Some(e) = error {
            worst = format!("{what} {:?}", e.kind());
        }
    };
    note("inspect", file.inspect().err());
    note(
        "take",
        take(&file, &random_rows(rng, usize::try_from(file.num_rows()).unwrap_or(usize::MAX), 3), None).err(),
    );
    // A row count is one number of the file: read on only while the batches stay few.
    let mut scanned = 0;
    match file.scan().threads(1).batches() {
        Err(e) => note("scan", Some(e)),
        Ok(batches) => {
            for batch in batches {
                match batch {
                    Ok(batch) => scanned += batch.num_rows(),
                    Err(e) => {
                        note("scan", Some(e));
                        break;
                    }
                }
                if scanned > 1 << 22 {
                    break;
                }
            }
        }
    }
    if rng.chance(1, 4) && file.num_rows() < 1 << 22 {
        note("verify", file.verify(|_| {}).err());
    }
    worst
}

#[test]
fn a_wrong_value_is_never_read_from_a_file_with_checksums() {
    let seeds: Vec<u64> = seeds("checksums", 1500).collect();
    let failures = each(&seeds, |seed| {
        let mut rng = Rng::new(*seed);
        let version = *rng.pick(&[FormatVersion::V2_0, FormatVersion::V2_1, FormatVersion::V2_2]);
        let mut g = Generator::new(rng.word(), Wanted { max_columns: 3, ..Wanted::new(version) });
        let schema = g.schema();
        let batches = g.batches(&schema, 80);
        let mut options = random_options(&mut rng, version);
        options.checksums = true;
        let bytes = write(&schema, &batches, options).map_err(|e| e.to_string())?;
        let expected = whole(&schema, &batches);
        let mut flipped = bytes.to_vec();
        let at = rng.below(flipped.len());
        flipped[at] ^= 1 << rng.below(8);
        let Ok(file) = File::from_bytes(Bytes::from(flipped), &OpenOptions::default()) else { return Ok(()) };
        let right = |expected: &RecordBatch, found: pennon_file::Result<Vec<RecordBatch>>| match found {
            Err(_) => Ok(()),
            found => same(expected, found, || format!("byte {at} flipped of {}", bytes.len())),
        };
        let asked = random_rows(&mut rng, 80, 3);
        right(&expected_take(&expected, &asked), take(&file, &asked, None))?;
        right(&expected, scan(&file, &Part::default()))
    });
    no_failures("checksums", &failures, |i| format!("PENNON_SEED={}", seeds[i]));
}
