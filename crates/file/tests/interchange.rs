//! The golden tables written by us and read by the official library, in a Python named by `PENNON_PYTHON`.
//!
//! Guards against: files that only we can read.

mod common;

use arrow_array::RecordBatch;
use arrow_schema::{DataType, Field};
use common::engine::{
    expected_projection, force_encoding, leaf_paths, random_encoding, random_options, whole, write,
};
use common::generate::{Generator, PACKED, Wanted};
use common::official::{Job, ask, one, python};
use common::rng::{Rng, seeds};
use common::shared::goldens;
use common::work::no_failures;
use pennon_file::{FormatVersion, WriteOptions};

/// Versions that are written.
const VERSIONS: [&str; 3] = ["2.0", "2.1", "2.2"];

#[test]
fn golden_tables_written_by_us_are_read_by_the_official_library() {
    let Some(python) = python("interchange") else { return };
    let all = goldens();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut jobs = Vec::new();
    let mut refused = Vec::new();
    let mut by_column = Vec::new();
    let mut beyond = std::collections::BTreeSet::new();
    let only = std::env::var("PENNON_ONLY").unwrap_or_default();
    // A table that the official writer refused in one version is tried all the same.
    let mut tables: Vec<_> = all
        .files
        .iter()
        .filter(|g| VERSIONS.contains(&g.version.as_str()) && !g.is_blob() && g.case.contains(&only))
        .collect();
    tables.sort_by_key(|g| (&g.case, &g.expected, &g.version));
    for golden in &tables {
        let batch = one(&golden.read_expected());
        let mut versions = vec![golden.version.clone()];
        let others =
            VERSIONS.iter().filter(|v| !tables.iter().any(|g| g.case == golden.case && g.version == **v));
        versions.extend(others.map(|v| (*v).to_owned()));
        for version in versions {
            let official_wrote_it = version == golden.version;
            for (kind, batches) in [("whole", vec![batch.clone()]), ("in batches", in_batches(&batch))] {
                let name = format!("{} as {version} {kind}", golden.case);
                let mut options = WriteOptions::default();
                options.format_version = version.parse::<FormatVersion>().expect("a version");
                let bytes = match write(&batch.schema(), &batches, options) {
                    Ok(bytes) => bytes,
                    Err(e) if official_wrote_it => {
                        refused.push((refused.len(), format!("{name}: write: {e}")));
                        continue;
                    }
                    Err(_) => continue,
                };
                let path = folder.path().join(format!("{}.lance", jobs.len()));
                std::fs::write(&path, bytes).expect("the temporary folder takes files");
                if !official_wrote_it {
                    beyond.insert(format!("{} as {version}", golden.case));
                }
                let names: Vec<String> = batch.schema().fields().iter().map(|f| f.name().clone()).collect();
                // The official file reader refuses a fixed-size list of structs beside other columns.
                if batch.num_columns() > 1
                    && batch.schema().fields().iter().any(|f| has_struct_lists(f.data_type()))
                {
                    by_column.push(name.clone());
                    for column in names {
                        let expected = expected_projection(&batch, std::slice::from_ref(&column));
                        let mut job = Job::new(
                            format!("{name}, column {column}"),
                            path.clone(),
                            expected,
                            jobs.len() as u64,
                        );
                        job.columns = Some(vec![column]);
                        jobs.push((job, official_wrote_it));
                    }
                } else {
                    jobs.push((Job::new(name, path, batch.clone(), jobs.len() as u64), official_wrote_it));
                }
            }
        }
    }
    let (jobs, must): (Vec<Job>, Vec<bool>) = jobs.into_iter().unzip();
    let results = ask(&python, &jobs);
    let mut failures = refused;
    let (mut of, mut read) = (0, 0);
    let mut cannot = Vec::new();
    for (i, (result, must)) in results.into_iter().zip(must).enumerate() {
        of += usize::from(must);
        match result {
            Ok(()) => read += usize::from(must),
            Err(text) if must => failures.push((i, format!("{}: {text}", jobs[i].name))),
            Err(text) => cannot.push(format!("{}: {text}", jobs[i].name)),
        }
    }
    println!("interchange: {read} of {of} tables of ours read equal by the official library");
    println!("interchange: column by column, for their fixed-size lists of structs: {by_column:?}");
    println!(
        "interchange: {} tables that the official writer refuses were written: {beyond:?}",
        beyond.len()
    );
    println!("interchange: of these the official reader does not read {}:", cannot.len());
    cannot.iter().for_each(|c| println!("  {c}"));
    no_failures("interchange", &failures, |_| "table".to_owned());
}

#[test]
fn random_tables_written_by_us_in_any_way_are_read_by_the_official_library() {
    let Some(python) = python("random interchange") else { return };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let seeds: Vec<u64> = seeds("interchange", 400).collect();
    let mut jobs = Vec::new();
    let mut failures = Vec::new();
    for (i, seed) in seeds.iter().enumerate() {
        let mut rng = Rng::new(*seed);
        let version = *rng.pick(&[FormatVersion::V2_0, FormatVersion::V2_1, FormatVersion::V2_2]);
        let mut g = Generator::new(rng.word(), Wanted { official: true, ..Wanted::new(version) });
        let schema = g.schema();
        // A fixed-size list of structs beside anything else needs a read for each column.
        if schema.fields().iter().any(|f| has_struct_lists(f.data_type())) {
            continue;
        }
        let most = *rng.pick(&[20, 300, 2000]);
        let rows = 1 + rng.below(most);
        let batches = g.batches(&schema, rows);
        let mut options = random_options(&mut rng, version);
        let mut bytes = match write(&schema, &batches, options.clone()) {
            Ok(bytes) => bytes,
            Err(e) => {
                failures.push((i, format!("write: {e}")));
                continue;
            }
        };
        for path in leaf_paths(&bytes).expect("a file of ours") {
            if rng.chance(1, 3) {
                force_encoding(&mut options, &path, &random_encoding(&mut rng));
                match write(&schema, &batches, options.clone()) {
                    Ok(written) => bytes = written,
                    Err(_) => drop(options.encodings.pop()),
                }
            }
        }
        let path = folder.path().join(format!("{i}.lance"));
        std::fs::write(&path, &bytes).expect("the temporary folder takes files");
        let job =
            Job::new(format!("{version}; {schema}; {options:?}"), path, whole(&schema, &batches), *seed);
        // The official reader ends its process at a row without items in a column of packed structs.
        let in_parts = !schema.fields().iter().any(|f| has_packed_in_list(f, false));
        jobs.push((i, if in_parts { job } else { job.whole_only() }));
    }
    let (of_seed, jobs): (Vec<usize>, Vec<Job>) = jobs.into_iter().unzip();
    for (k, result) in ask(&python, &jobs).into_iter().enumerate() {
        if let Err(text) = result {
            failures.push((of_seed[k], format!("{text}; {}", jobs[k].name)));
        }
    }
    println!("interchange: {} random tables, {} failed", jobs.len(), failures.len());
    no_failures("random interchange", &failures, |i| format!("PENNON_SEED={}", seeds[i]));
}

fn has_packed_in_list(field: &Field, in_list: bool) -> bool {
    match field.data_type() {
        DataType::Struct(_) if field.metadata().contains_key(PACKED) => in_list,
        DataType::Struct(fields) => fields.iter().any(|f| has_packed_in_list(f, in_list)),
        DataType::List(item) | DataType::LargeList(item) | DataType::Map(item, _) => {
            has_packed_in_list(item, true)
        }
        _ => false,
    }
}

/// Four uneven batches, one of them empty.
fn in_batches(batch: &RecordBatch) -> Vec<RecordBatch> {
    let n = batch.num_rows();
    let cuts = [0, n / 7, n / 7, n / 2, n];
    cuts.windows(2).map(|w| batch.slice(w[0], w[1] - w[0])).collect()
}

fn has_struct_lists(data_type: &DataType) -> bool {
    match data_type {
        DataType::FixedSizeList(item, _) => matches!(item.data_type(), DataType::Struct(_)),
        DataType::List(item) | DataType::LargeList(item) | DataType::Map(item, _) => {
            has_struct_lists(item.data_type())
        }
        DataType::Struct(fields) => fields.iter().any(|f| has_struct_lists(f.data_type())),
        _ => false,
    }
}
