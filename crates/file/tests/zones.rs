//! Filters pass over zones that statistics rule out, and hand out what they would without statistics.
//!
//! A failure prints its seed; `PENNON_SEED=<seed>` runs that case first.

mod common;

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::*;
use arrow_buffer::{NullBuffer, i256};
use arrow_schema::{DataType, Field, TimeUnit};
use bytes::Bytes;
use common::compare::difference;
use common::counted::{Counted, inside, total};
use common::engine::{Part, VERSIONS, open, options, reading, scan, whole, write};
use common::rng::{Rng, seeds};
use common::work::{each, no_failures};
use half::f16;
use pennon_file::filter::{Literal, Predicate, col};
use pennon_file::{File, FileWriter, FormatVersion, Scan, WriteOptions};

// ---- what is read

const ROWS: usize = 250_000;
/// Rows of a zone.
const ZONE: u64 = 8192;

/// A number that ascends slowly, and fifteen columns that are in no order.
fn sorted() -> RecordBatch {
    let mut rng = Rng::new(3);
    let key: ArrayRef = Arc::new(Int64Array::from_iter_values((0..ROWS as i64).map(|i| i / 4)));
    let mut columns = vec![("key".to_owned(), key)];
    for i in 0..15 {
        let array: ArrayRef = match i % 3 {
            0 => Arc::new(Int64Array::from_iter_values((0..ROWS).map(|_| rng.word() as i64 >> 20))),
            1 => Arc::new(Int32Array::from_iter(
                (0..ROWS).map(|_| rng.chance(9, 10).then(|| rng.word() as i32)),
            )),
            _ => Arc::new(StringArray::from_iter_values(
                (0..ROWS).map(|_| format!("{:012x}", rng.word() >> 16)),
            )),
        };
        columns.push((format!("c{i}"), array));
    }
    RecordBatch::try_from_iter(columns).expect("columns of one length")
}

fn written(options: WriteOptions) -> Bytes {
    write(&sorted().schema(), &[sorted()], options).expect("write")
}

fn rows(batches: &[RecordBatch]) -> usize {
    batches.iter().map(RecordBatch::num_rows).sum()
}

fn read(scan: Scan) -> Vec<RecordBatch> {
    scan.batches().expect("a filter").collect::<Result<_, _>>().expect("rows")
}

/// Disjoint ranges of all that was read.
fn united(mut reads: Vec<Range<u64>>) -> Vec<Range<u64>> {
    reads.sort_unstable_by_key(|r| r.start);
    reads.dedup_by(|next, last| {
        let touches = next.start <= last.end;
        if touches {
            last.end = last.end.max(next.end);
        }
        touches
    });
    reads
}

#[test]
fn a_filter_on_a_sorted_column_reads_the_zones_that_have_its_rows_and_little_else() {
    for version in VERSIONS {
        let bytes = written(options(version));
        let table = sorted();
        let counted = Counted::new(bytes.clone());
        for threads in [1, 3] {
            // A fresh handle, which knows nothing of the pages.
            let open = || File::from_read_at(counted.clone(), &reading(0)).expect("open");
            let (filtered, plain) = (open(), open());
            counted.drain();
            let filter = col("key").between(30_000, 30_099);
            let found = read(filtered.scan().filter(filter.clone()).threads(threads));
            assert_eq!(difference(&[table.slice(120_000, 400)], &found), None, "{version}");
            let reads = united(counted.drain());
            let share = total(&reads) as f64 / bytes.len() as f64;
            println!("zones: {version}: {:.2} % of {} bytes read", 100.0 * share, bytes.len());
            assert!(share < 0.05, "{version}: {share} of the bytes");

            // A scan of the one zone reads at least as much, statistics aside.
            let zone = 120_000 / ZONE * ZONE;
            assert_eq!(rows(&read(plain.scan().rows(zone..zone + ZONE).threads(1))), ZONE as usize);
            let allowed = united(counted.drain());
            let within: u64 = reads.iter().map(|r| r.end - r.start - inside(&allowed, r)).sum();
            let statistics =
                filtered.scan().filter(filter.clone()).explain().expect("a filter").statistics_bytes;
            assert!(
                statistics > 0 && within <= statistics + 1000,
                "{version}: {within} bytes of other zones"
            );

            // What the handle has is not read again.
            assert_eq!(filtered.count_rows(Some(&filter)).expect("count"), 400);
            let key_only = united(counted.drain());
            assert!(total(&key_only) < ZONE * 8 + 10_000, "{version}: {key_only:?}");
            assert_eq!(filtered.count_rows(Some(&filter)).expect("count"), 400);
        }
    }
}

#[test]
fn rows_that_statistics_tell_of_are_counted_without_reading_them() {
    let bytes = written(WriteOptions::default());
    let counted = Counted::new(bytes);
    let file = File::from_read_at(counted.clone(), &reading(0)).expect("open");
    // What is known of the column is read once.
    assert_eq!(file.count_rows(Some(&col("key").ge(0))).expect("count"), ROWS as u64);
    counted.drain();
    // Zones begin at every 2048th number.
    for (filter, expected) in [
        (col("key").lt(0), 0),
        (col("key").ge(2048), ROWS as u64 - ZONE),
        (col("key").lt(4096) | col("key").ge(8192), ROWS as u64 - 2 * ZONE),
        (!col("key").between(0, 2047) & !col("key").is_null(), ROWS as u64 - ZONE),
        (Predicate::Constant(false), 0),
        (Predicate::Constant(true), ROWS as u64),
    ] {
        assert_eq!(file.count_rows(Some(&filter)).expect("count"), expected, "{filter}");
        assert_eq!(counted.drain(), [], "{filter}");
        let plan = file.scan().columns(&["c0"]).filter(filter.clone()).explain().expect("a filter");
        assert_eq!((plan.rows, plan.passing_rows, plan.filter_bytes), (expected, expected, 0), "{filter}");
    }
    // One zone is looked at, for the rest is known.
    assert_eq!(file.count_rows(Some(&col("key").lt(100_000 / 4))).expect("count"), 100_000);
    let all = file.scan().columns(&["key"]);
    assert!(total(&counted.drain()) < ZONE * 8 + 10_000);
    // The filter's own column is not read where it is not handed out and every row passes.
    let others = file.scan().columns(&["c1"]).filter(col("key").ge(2048)).explain().expect("a filter");
    assert_eq!((others.columns.as_slice(), others.filter_bytes), (&["c1".to_owned()][..], 0));
    assert_eq!(rows(&read(all.filter(col("key").ge(2048)).limit(10))), 10);
}

#[test]
fn statistics_change_no_batch_of_a_limit_or_an_order() {
    let file = open(&written(WriteOptions::default())).expect("open");
    let table = sorted();
    // Zones ruled out, looked at and passing, each more than once.
    let filter = (col("key").ge(1000) & col("key").lt(9000)) | col("key").gt(50_001) | col("key").eq(33_333);
    let expected = [(4000, 32_000), (133_332, 4), (200_008, ROWS - 200_008)];
    let expected = expected.map(|(start, len)| table.slice(start, len));
    let expected = arrow_select::concat::concat_batches(&table.schema(), &expected).expect("one schema");
    for (limit, threads, batch_rows) in
        [(u64::MAX, 2, 65_536), (u64::MAX, 1, 1000), (10, 3, 65_536), (20_000, 2, 3000), (40_000, 1, 65_536)]
    {
        let scan = file.scan().filter(filter.clone()).limit(limit).threads(threads).batch_rows(batch_rows);
        let found = read(scan.clone());
        let expected = expected.slice(0, expected.num_rows().min(limit.min(1 << 30) as usize));
        assert_eq!(difference(std::slice::from_ref(&expected), &found), None, "{limit} {threads}");
        assert_eq!(scan.count().expect("count"), expected.num_rows() as u64);
    }
}

// ---- tables whose values stay near each other for some rows, so that zones differ

/// Numbers of which columns are made; null for stretches, or here and there.
fn numbers(rng: &mut Rng, rows: usize) -> Vec<Option<i64>> {
    let (width, noise) = (rng.within(1, 40), rng.within(1, 6));
    let (nulls, shape) = (rng.below(4), rng.below(4));
    let mut level = 0;
    let mut all_null = false;
    (0..rows)
        .map(|row| {
            if row % width == 0 {
                level = match shape {
                    0 => row / width,
                    1 => rng.below(12),
                    2 => 7,
                    _ => 40 - (row / width).min(40),
                };
                all_null = nulls == 1 && rng.chance(1, 3);
            }
            let here = nulls == 2 && rng.chance(1, 4);
            (!all_null && !here).then(|| (level * 3 + rng.below(noise)) as i64 - 9)
        })
        .collect()
}

const NUM_TYPES: usize = 24;

fn primitive<T: ArrowPrimitiveType>(
    numbers: &[Option<i64>],
    of: impl Fn(i64) -> T::Native,
) -> PrimitiveArray<T> {
    numbers.iter().map(|v| v.map(&of)).collect()
}

/// NaN, zeros of either sign and halves.
fn float(v: i64) -> f64 {
    match v.rem_euclid(8) {
        3 => f64::NAN,
        4 => 0.0,
        5 => -0.0,
        6 if v > 40 => f64::INFINITY,
        _ => v as f64 / 2.0,
    }
}

fn text(v: i64) -> String {
    match v.rem_euclid(5) {
        0 => format!("{v:03}"),
        // Cut after the part that all share.
        1 | 2 => format!("{}{v:03}", "p".repeat(64)),
        3 => format!("{}{}", "\u{10ffff}".repeat(16), v),
        _ => format!("é{v}"),
    }
}

fn binary(v: i64) -> Vec<u8> {
    let mut bytes = vec![0xff; if v % 2 == 0 { 64 } else { 1 }];
    bytes.extend((v as u16).to_be_bytes());
    bytes
}

fn column(rng: &mut Rng, of_type: usize, rows: usize) -> ArrayRef {
    let base = numbers(rng, rows);
    let base = base.as_slice();
    let bytes = || base.iter().map(|v| v.map(binary));
    let texts = || base.iter().map(|v| v.map(text));
    match of_type {
        0 => Arc::new(primitive::<Int64Type>(base, |v| v)),
        1 => Arc::new(primitive::<Int8Type>(base, |v| v as i8)),
        2 => Arc::new(primitive::<UInt64Type>(base, |v| (1u64 << 63).wrapping_add_signed(v))),
        3 | 4 => Arc::new(primitive::<Float64Type>(base, float)),
        5 => Arc::new(primitive::<Float32Type>(base, |v| float(v) as f32)),
        6 => Arc::new(primitive::<Float16Type>(base, |v| f16::from_f64(float(v)))),
        7 => Arc::new(
            primitive::<Decimal128Type>(base, i128::from).with_precision_and_scale(20, 2).expect("fits"),
        ),
        8 => {
            let wide =
                primitive::<Decimal256Type>(base, |v| i256::from(v) * i256::from_i128(i128::from(i64::MAX)));
            Arc::new(wide.with_precision_and_scale(50, 3).expect("fits"))
        }
        9 => Arc::new(
            primitive::<Decimal32Type>(base, |v| v as i32).with_precision_and_scale(9, 2).expect("fits"),
        ),
        10 => Arc::new(primitive::<Date32Type>(base, |v| v as i32)),
        11 => Arc::new(primitive::<Date64Type>(base, |v| v * 86_400_000)),
        12 => Arc::new(primitive::<TimestampMillisecondType>(base, |v| v * 1001).with_timezone("UTC")),
        13 => Arc::new(primitive::<TimestampNanosecondType>(base, |v| v * 1_000_000_001)),
        14 => Arc::new(primitive::<Time32SecondType>(base, |v| v.rem_euclid(86_400) as i32)),
        15 => Arc::new(primitive::<DurationMicrosecondType>(base, |v| v)),
        16 => Arc::new(base.iter().map(|v| v.map(|v| v % 11 > 2)).collect::<BooleanArray>()),
        17 => Arc::new(texts().collect::<StringArray>()),
        18 => Arc::new(texts().collect::<StringViewArray>()),
        19 => Arc::new(bytes().collect::<BinaryArray>()),
        20 => {
            let three = base.iter().map(|v| v.map(|v| [1, v as u8, 2]));
            Arc::new(FixedSizeBinaryArray::try_from_sparse_iter_with_size(three, 3).expect("of three bytes"))
        }
        21 => {
            // A null among the values, and keys that nobody uses.
            let values: StringArray = (0..20).map(|v| (v != 4).then(|| text(v))).collect();
            let keys: Int8Array = base.iter().map(|v| v.map(|v| (v.rem_euclid(18)) as i8)).collect();
            Arc::new(DictionaryArray::new(keys, Arc::new(values)))
        }
        22 => {
            let values: Float64Array = (0..20).map(|v| (v != 4).then(|| float(v))).collect();
            let keys: UInt16Array = base.iter().map(|v| v.map(|v| (v.rem_euclid(18)) as u16)).collect();
            Arc::new(DictionaryArray::new(keys, Arc::new(values)))
        }
        _ => {
            let ends =
                Int32Array::from_iter_values((1..=rows.div_ceil(3)).map(|end| (3 * end).min(rows) as i32));
            let values = primitive::<Int64Type>(&base[..rows.div_ceil(3)], |v| v);
            Arc::new(RunArray::try_new(&ends, &values).expect("ends that ascend"))
        }
    }
}

/// Leaves by themselves, and below structs some of which are null.
fn table(rng: &mut Rng, rows: usize, null_structs: bool) -> RecordBatch {
    let mut columns: Vec<(String, ArrayRef)> = Vec::new();
    let any = |rng: &mut Rng| {
        let of_type = rng.below(NUM_TYPES);
        column(rng, of_type, rows)
    };
    for i in 0..rng.within(1, 4) {
        columns.push((format!("c{i}"), any(rng)));
    }
    // Two of one type, to be compared.
    let of_type = rng.below(NUM_TYPES);
    columns.push(("left".into(), column(rng, of_type, rows)));
    columns.push(("right".into(), column(rng, of_type, rows)));
    let nested = |rng: &mut Rng, name: &str, inner: ArrayRef| -> ArrayRef {
        let width = rng.within(1, 20);
        let valid: NullBuffer = (0..rows).map(|row| row / width % 3 != 1 || rng.chance(1, 5)).collect();
        let field = Field::new(name, inner.data_type().clone(), true);
        Arc::new(StructArray::new(vec![field].into(), vec![inner], Some(valid).filter(|_| null_structs)))
    };
    let inner = any(rng);
    let inner = nested(rng, "b", inner);
    columns.push(("s".into(), nested(rng, "a.x", inner)));
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, c)| (name, c, true)))
        .expect("columns of one length")
}

/// Paths of leaves as a predicate names them, with their values.
fn leaves(batch: &RecordBatch) -> Vec<(String, ArrayRef)> {
    let mut found: Vec<(String, ArrayRef)> = Vec::new();
    for (field, array) in batch.schema().fields().iter().zip(batch.columns()) {
        match array.as_struct_opt() {
            Some(outer) => {
                let middle = outer.column(0).as_struct();
                found.push((format!("{}.`a.x`.b", field.name()), middle.column(0).clone()));
            }
            None => found.push((field.name().clone(), array.clone())),
        }
    }
    found
}

// ---- predicates of every kind

/// The type of the values below dictionaries and runs.
fn value_type(data_type: &DataType) -> DataType {
    match data_type {
        DataType::Dictionary(_, values) => (**values).clone(),
        DataType::RunEndEncoded(_, values) => values.data_type().clone(),
        other => other.clone(),
    }
}

/// Some value of a column as it is written in a predicate.
fn literal(rng: &mut Rng, array: &dyn Array) -> Option<String> {
    use DataType::*;
    let row = rng.below(array.len());
    if array.is_empty() || array.is_null(row) {
        return None;
    }
    let number = |v: f64, text: String| match v.is_finite() {
        true => text,
        false => Literal::Float(v).to_string(),
    };
    macro_rules! value {
        ($t:ty) => {
            array.as_primitive::<$t>().value(row)
        };
    }
    Some(match array.data_type() {
        Int64 => value!(Int64Type).to_string(),
        Int8 => value!(Int8Type).to_string(),
        UInt64 => value!(UInt64Type).to_string(),
        Float64 => number(value!(Float64Type), format!("{:e}", value!(Float64Type))),
        Float32 => number(value!(Float32Type).into(), format!("{:e}", value!(Float32Type))),
        Float16 => number(value!(Float16Type).into(), format!("{:e}", value!(Float16Type).to_f64())),
        Decimal128(..) => array.as_primitive::<Decimal128Type>().value_as_string(row),
        Decimal256(..) => array.as_primitive::<Decimal256Type>().value_as_string(row),
        Decimal32(..) => array.as_primitive::<Decimal32Type>().value_as_string(row),
        Date32 => format!("DATE '{}'", array.as_primitive::<Date32Type>().value_as_date(row)?),
        Date64 => format!("DATE '{}'", array.as_primitive::<Date64Type>().value_as_date(row)?),
        Timestamp(TimeUnit::Millisecond, _) => {
            format!(
                "TIMESTAMP '{}Z'",
                array.as_primitive::<TimestampMillisecondType>().value_as_datetime(row)?
            )
        }
        Timestamp(..) => {
            format!("TIMESTAMP '{}'", array.as_primitive::<TimestampNanosecondType>().value_as_datetime(row)?)
        }
        Time32(_) => format!("TIME '{}'", array.as_primitive::<Time32SecondType>().value_as_time(row)?),
        Duration(_) => value!(DurationMicrosecondType).to_string(),
        Boolean => array.as_boolean().value(row).to_string(),
        Utf8 => Literal::from(array.as_string::<i32>().value(row)).to_string(),
        Utf8View => Literal::from(array.as_string_view().value(row)).to_string(),
        Binary => Literal::from(array.as_binary::<i32>().value(row)).to_string(),
        FixedSizeBinary(_) => Literal::from(array.as_fixed_size_binary().value(row)).to_string(),
        Dictionary(..) => {
            let keys = array.as_any_dictionary();
            let key = keys.normalized_keys()[row];
            return literal(rng, &keys.values().slice(key, 1));
        }
        RunEndEncoded(..) => {
            let runs = array.as_run::<Int32Type>();
            return literal(rng, runs.values());
        }
        other => panic!("no literal of {other}"),
    })
}

const KINDS: [&str; 23] = [
    "=",
    "<>",
    "<",
    "<=",
    ">",
    ">=",
    "IN",
    "NOT IN",
    "BETWEEN",
    "IN ()",
    "IS NULL",
    "IS NOT NULL",
    "is_nan",
    "not is_nan",
    "bool",
    "starts_with",
    "LIKE text",
    "LIKE prefix",
    "LIKE suffix",
    "LIKE inside",
    "LIKE steps",
    "NOT LIKE",
    "columns",
];

/// A text without quotes that a literal begins with.
fn some_prefix(rng: &mut Rng, literal: &str) -> String {
    let inside = literal.trim_start_matches('\'').trim_end_matches('\'');
    let chars: Vec<char> = inside.chars().collect();
    let len = if rng.chance(1, 2) { chars.len() } else { rng.below(chars.len() + 1) };
    chars[..len].iter().collect()
}

fn predicate(rng: &mut Rng, kind: &str, leaves: &[(String, ArrayRef)]) -> Option<String> {
    let is_text = |t: &DataType| matches!(t, DataType::Utf8 | DataType::Utf8View);
    let is_bytes = |t: &DataType| matches!(t, DataType::Binary | DataType::FixedSizeBinary(_));
    let wanted = |t: &DataType| match kind {
        "is_nan" | "not is_nan" => t.is_floating(),
        "bool" => *t == DataType::Boolean,
        "starts_with" => is_text(t) || is_bytes(t),
        _ if kind.contains("LIKE") => is_text(t),
        _ => true,
    };
    let fit: Vec<_> = leaves.iter().filter(|(_, a)| wanted(&value_type(a.data_type()))).collect();
    if fit.is_empty() {
        return None;
    }
    let (path, array) = *rng.pick(&fit);
    let mut value = || literal(rng, array);
    Some(match kind {
        "IN" | "NOT IN" => {
            let list: Vec<String> = (0..4).filter_map(|_| value()).collect();
            format!("{path} {kind} ({})", list.join(", "))
        }
        "BETWEEN" => format!("{path} BETWEEN {} AND {}", value()?, value()?),
        "IN ()" => format!("{path} NOT IN ()"),
        "IS NULL" | "IS NOT NULL" => format!("{path} {kind}"),
        "is_nan" => format!("is_nan({path})"),
        "not is_nan" => format!("NOT is_nan({path})"),
        "bool" => path.clone(),
        "starts_with" if is_bytes(&value_type(array.data_type())) => {
            let bytes = value()?;
            let len = 2 * rng.below((bytes.len() - 3) / 2 + 1);
            format!("starts_with({path}, {}')", &bytes[..2 + len])
        }
        "starts_with" => {
            let text = value()?;
            format!("starts_with({path}, '{}')", some_prefix(rng, &text))
        }
        "columns" => {
            let op = *rng.pick(&["=", "<>", "<", "<=", ">", ">="]);
            format!("left {op} right")
        }
        _ if kind.contains("LIKE") => {
            let text = value()?;
            let text = some_prefix(rng, &text);
            match kind {
                "LIKE text" => format!("{path} LIKE '{text}'"),
                "LIKE prefix" => format!("{path} LIKE '{text}%'"),
                "LIKE suffix" => format!("{path} LIKE '%{}'", text.chars().last()?),
                "LIKE inside" => format!("{path} LIKE '%{}%'", text.chars().next()?),
                "LIKE steps" => format!("{path} LIKE '{text}_%'"),
                _ => format!("{path} NOT LIKE '{text}%'"),
            }
        }
        op => format!("{path} {op} {}", value()?),
    })
}

/// How often of how many times rows were ruled out, and known to pass, with a kind of predicate.
type Seen = BTreeMap<&'static str, [u64; 3]>;

fn filtered(batch: &RecordBatch, bits: &BooleanArray) -> RecordBatch {
    arrow_select::filter::filter_record_batch(batch, bits).expect("bits of the batch")
}

#[test]
fn with_statistics_the_same_rows_are_found_and_counted_as_without() {
    let seeds: Vec<u64> = seeds("zones", 600).collect();
    let seen = std::sync::Mutex::new(Seen::new());
    let failures = each(&seeds, |seed| {
        let mut rng = Rng::new(*seed);
        let rows = *rng.pick(&[1, 30, 100, 300]);
        let version = *rng.pick(&VERSIONS);
        let batch = table(&mut rng, rows, version != FormatVersion::V2_0);
        let mut options = options(version);
        options.zone_rows = *rng.pick(&[1, 4, 4, 7, 64]);
        options.statistics_bytes = *rng.pick(&[Some(1 << 20), Some(1 << 20), Some(300)]);
        options.max_page_rows = *rng.pick(&[None, Some(10), Some(64)]);
        // Bloom filters of some leaves; of some types there are none.
        for (path, _) in leaves(&batch) {
            let mut asked = options.clone();
            asked.blooms.push(path);
            if rng.chance(1, 2) && FileWriter::new(Vec::new(), &batch.schema(), asked.clone()).is_ok() {
                options = asked;
            }
        }
        options.bloom_bytes = *rng.pick(&[None, None, Some(300)]);
        options.statistics = rng.chance(7, 8);
        let bytes = write(&batch.schema(), std::slice::from_ref(&batch), options)
            .map_err(|e| format!("write: {e}"))?;
        let file = open(&bytes).map_err(|e| e.to_string())?;
        let report = file.verify(|_| {}).map_err(|e| e.to_string())?;
        if let Some(fault) = report.faults.first() {
            return Err(format!("verify: {fault}"));
        }
        let read = scan(&file, &Part::default()).map_err(|e| e.to_string())?;
        let batch = whole(&read[0].schema(), &read);
        let leaves = leaves(&batch);
        for _ in 0..30 {
            let kind = *rng.pick(&KINDS);
            let Some(mut text) = predicate(&mut rng, kind, &leaves) else { continue };
            let is_single = rng.chance(1, 2);
            if !is_single {
                let other = *rng.pick(&KINDS);
                let Some(other) = predicate(&mut rng, other, &leaves) else { continue };
                text = match rng.below(4) {
                    0 => format!("{text} AND {other}"),
                    1 => format!("{text} OR {other}"),
                    2 => format!("NOT ({text} OR NOT {other})"),
                    _ => format!("NOT ({text})"),
                };
            }
            let described = |what: &str| format!("{what}: {text} over {}", batch.schema());
            let predicate = Predicate::parse(&text).map_err(|e| described(&e.to_string()))?;
            let bound = predicate.bind(&batch.schema()).map_err(|e| described(&e.to_string()))?;
            let start = rng.below(rows + 1);
            let part = if rng.chance(1, 2) { 0..rows } else { start..rng.within(start, rows) };
            let slice = batch.slice(part.start, part.end - part.start);
            let bits = BooleanArray::new(bound.evaluate(&slice).map_err(|e| e.to_string())?, None);
            let limit = if rng.chance(1, 3) { rng.below(30) } else { usize::MAX };
            let found = filtered(&slice, &bits);
            let expected = found.slice(0, found.num_rows().min(limit));

            let with = file
                .scan()
                .rows(part.start as u64..part.end as u64)
                .limit(limit as u64)
                .filter(predicate)
                .batch_rows(*rng.pick(&[1, 7, 50, 65_536]))
                .threads(rng.within(1, 2));
            let without = with.clone().use_statistics(false);
            for (scan, name) in [(&with, "with statistics"), (&without, "without statistics")] {
                let counted = scan.clone().count().map_err(|e| described(&e.to_string()))?;
                if counted != expected.num_rows() as u64 {
                    return Err(described(&format!(
                        "{counted} rows counted {name}, {} expected",
                        expected.num_rows()
                    )));
                }
                let batches = scan.clone().batches().map_err(|e| described(&e.to_string()))?;
                let schema = batches.schema();
                let mut batches =
                    batches.collect::<Result<Vec<_>, _>>().map_err(|e| described(&e.to_string()))?;
                if batches.iter().any(|b| b.num_rows() == 0) {
                    return Err(described("a batch without rows"));
                }
                batches.push(RecordBatch::new_empty(schema));
                if let Some(difference) = difference(std::slice::from_ref(&expected), &batches) {
                    return Err(described(&format!("{name}: {difference}")));
                }
            }
            let plan = with.explain().map_err(|e| described(&e.to_string()))?;
            if without.explain().map_err(|e| described(&e.to_string()))?.rows
                != (part.end - part.start) as u64
            {
                return Err(described("rows are ruled out without statistics"));
            }
            let kind = if is_single { kind } else { "several" };
            let mut seen = seen.lock().expect("no panic while held");
            let counts = seen.entry(kind).or_default();
            counts[0] += 1;
            counts[1] += u64::from(plan.rows < (part.end - part.start) as u64);
            counts[2] += u64::from(plan.passing_rows > 0);
        }
        Ok(())
    });
    no_failures("zones", &failures, |i| format!("seed {}", seeds[i]));
    let seen = seen.into_inner().expect("no panic while held");
    for (kind, [asked, ruled_out, passing]) in &seen {
        println!(
            "zones: {kind}: of {asked}, {ruled_out} with rows ruled out, {passing} with rows known to pass"
        );
    }
    for kind in KINDS.iter().chain(&["several"]) {
        let [asked, ruled_out, passing] = seen[kind];
        assert!(asked > 0 && ruled_out > 0 && passing > 0, "{kind} rules nothing out, or lets nothing pass");
    }
}
