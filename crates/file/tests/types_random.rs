//! Random nestings of every type that Arrow has go through files unchanged.
//!
//! Guards against: a type that survives alone and not inside another.

mod common;

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{DataType, Field, Schema};
use common::compare::difference;
use common::engine::{Part, open, scan, take, write};
use common::generate::{Generator, Wanted};
use common::rng::{Rng, seeds};
use common::work::{each, no_failures};
use pennon_file::{ErrorKind, FormatVersion, WriteOptions};

/// What equality of Arrow's fields leaves out.
fn ordered_flags(field: &Field, out: &mut Vec<bool>) {
    out.extend(field.dict_is_ordered());
    match field.data_type() {
        DataType::Struct(fields) => fields.iter().for_each(|f| ordered_flags(f, out)),
        DataType::List(f)
        | DataType::LargeList(f)
        | DataType::ListView(f)
        | DataType::LargeListView(f)
        | DataType::FixedSizeList(f, _)
        | DataType::RunEndEncoded(_, f)
        | DataType::Map(f, _) => ordered_flags(f, out),
        DataType::Union(fields, _) => fields.iter().for_each(|(_, f)| ordered_flags(f, out)),
        _ => {}
    }
}

fn all_flags(schema: &Schema) -> Vec<bool> {
    let mut flags = Vec::new();
    schema.fields().iter().for_each(|f| ordered_flags(f, &mut flags));
    flags
}

/// One row of several batches.
fn row(batches: &[RecordBatch], mut at: usize) -> RecordBatch {
    for batch in batches {
        if at < batch.num_rows() {
            return batch.slice(at, 1);
        }
        at -= batch.num_rows();
    }
    panic!("row {at} past the end");
}

fn check(seed: u64) -> Result<bool, String> {
    let mut rng = Rng::new(seed);
    let version = *rng.pick(&[FormatVersion::V2_0, FormatVersion::V2_1, FormatVersion::V2_2]);
    let mut g = Generator::new(rng.word(), Wanted { long_values: false, ..Wanted::new(version) });
    let depth = 1 + rng.below(3);
    let schema = Arc::new(Schema::new(vec![g.field_of_any_type("x", depth), g.field_of_any_type("y", 1)]));
    let most = *rng.pick(&[1, 20, 200]);
    let rows = rng.below(most + 1);
    let batches = g.batches(&schema, rows);
    let mut options = WriteOptions::default();
    options.format_version = version;
    if rng.chance(1, 3) {
        options.max_page_rows = Some(1 + rng.below(50) as u64);
    }
    let text = |e: pennon_file::Error| format!("{version} {schema:?}: {e}");
    let bytes = match write(&schema, &batches, options) {
        Ok(bytes) => bytes,
        Err(e) if e.kind() == ErrorKind::Unsupported => return Ok(false),
        Err(e) => return Err(text(e)),
    };
    let file = open(&bytes).map_err(text)?;
    let read = file.schema().expect("schema");
    if read != schema || all_flags(&read) != all_flags(&schema) {
        return Err(format!("{version}: schema {schema:#?} comes back as {read:#?}"));
    }
    let batches: Vec<RecordBatch> =
        if batches.is_empty() { vec![RecordBatch::new_empty(schema.clone())] } else { batches };
    let differ =
        |expected: &[RecordBatch], actual: &[RecordBatch], what: &str| match difference(expected, actual) {
            Some(text) => Err(format!("{version} {what}: {text}; {schema:?}")),
            None => Ok(()),
        };
    differ(&batches, &scan(&file, &Part::default()).map_err(text)?, "scan")?;
    let part = Part { batch_bytes: Some(1 + rng.below(2000)), ..Part::default() };
    differ(&batches, &scan(&file, &part).map_err(text)?, "scan in small batches")?;
    if rows > 0 {
        let asked: Vec<u64> = (0..rng.within(1, 9)).map(|_| rng.below(rows) as u64).collect();
        let expected: Vec<RecordBatch> = asked.iter().map(|r| row(&batches, *r as usize)).collect();
        differ(&expected, &take(&file, &asked, None).map_err(text)?, "take")?;
    }
    Ok(true)
}

#[test]
fn random_nestings_of_every_type_come_back_as_they_were() {
    let seeds: Vec<u64> = seeds("types", 3000).collect();
    let written = std::sync::atomic::AtomicUsize::new(0);
    let failures = each(&seeds, |seed| {
        if check(*seed)? {
            written.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        }
        Ok(())
    });
    let written = written.into_inner();
    println!("types: {written} of {} random schemas written and read equal", seeds.len());
    no_failures("random types", &failures, |i| format!("PENNON_SEED={}", seeds[i]));
    assert!(written * 10 > seeds.len() * 9, "only {written} of {} schemas could be written", seeds.len());
}
