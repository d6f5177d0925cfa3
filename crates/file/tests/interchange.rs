//! The golden tables written by us and read by the official library, in a Python named by `PENNON_PYTHON`.
//!
//! Guards against: files that only we can read, and files that only others can.

mod common;

use arrow_array::RecordBatch;
use arrow_schema::{DataType, Field, Schema};
use common::compare::difference;
use common::counted::Counted;
use common::engine::{
    Part, expected_projection, expected_take, force_encoding, leaf_paths, open, random_column_presets,
    random_encoding, random_options, random_preset, reading_exactly, scan, take, whole, write,
};
use common::generate::{Generator, PACKED, Wanted};
use common::official::{Job, ask, one, python, write_all};
use common::rng::{Rng, seeds};
use common::shared::goldens;
use common::work::{caught, no_failures};
use pennon_file::{File, FormatVersion, WriteOptions};

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
    let mut rng = Rng::new(0x9_e5e7);
    let only = std::env::var("PENNON_ONLY").unwrap_or_default();
    // A table that the official writer refused in one version is tried all the same.
    let mut tables: Vec<_> = all
        .files
        .iter()
        .filter(|g| VERSIONS.contains(&g.version.as_str()) && g.case.contains(&only))
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
                let mut name = format!("{} as {version} {kind}", golden.case);
                let mut options = WriteOptions::default();
                options.format_version = version.parse::<FormatVersion>().expect("a version");
                options.preset = random_preset(&mut rng);
                options.thorough = rng.chance(1, 3);
                name += &format!(" for {}", options.preset.name());
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
        let paths = leaf_paths(&bytes).expect("a file of ours");
        random_column_presets(&mut rng, &mut options, &paths);
        for path in paths {
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

#[test]
fn pages_of_2_0_full_of_nulls_or_keys_are_read_by_the_official_library() {
    use arrow_array::types::{Float32Type, Int8Type, Int32Type, UInt8Type};
    use arrow_array::{
        ArrayRef, BooleanArray, DictionaryArray, FixedSizeListArray, Int64Array, LargeBinaryArray, ListArray,
        StringArray, StructArray,
    };
    use std::sync::Arc;
    let Some(python) = python("nulls and keys of 2.0") else { return };
    let folder = tempfile::tempdir().expect("a temporary folder");
    const ROWS: usize = 100_000;
    // Nulls at the front, in the middle and at the end.
    let at = |i: usize| {
        (!i.is_multiple_of(3) && matches!(i, 20_000..20_400 | 50_000..50_007 | 70_000)).then_some(i)
    };
    let rows = || (0..ROWS).map(at);
    let keys = |count: usize| (0..count).map(|i| format!("value {i}")).collect::<Vec<_>>();
    let text: ArrayRef = Arc::new(rows().map(|i| i.map(|i| format!("row {i}"))).collect::<StringArray>());
    // Repeats, so that pages with dictionaries stand between those of nulls.
    let few: ArrayRef = Arc::new(rows().map(|i| i.map(|i| format!("{}", i % 5))).collect::<StringArray>());
    let few_keys: DictionaryArray<Int32Type> = rows().map(|i| i.map(|i| ["a", "b", "c"][i % 3])).collect();
    let int: ArrayRef = Arc::new(rows().map(|i| i.map(|i| i as i64)).collect::<Int64Array>());
    let vector = rows().map(|i| i.map(|i| [Some(i as f32), None, Some(0.5)]));
    let none: ArrayRef = Arc::new(Int64Array::new_null(ROWS));
    let member = |name: &str, array: &ArrayRef| {
        (Arc::new(Field::new(name, array.data_type().clone(), true)), array.clone())
    };
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("text", text.clone()),
        ("few", few.clone()),
        ("int", int.clone()),
        ("bool", Arc::new(rows().map(|i| i.map(|i| i % 2 == 0)).collect::<BooleanArray>())),
        ("bytes", Arc::new(rows().map(|i| i.map(|i| i.to_le_bytes())).collect::<LargeBinaryArray>())),
        ("vector", Arc::new(FixedSizeListArray::from_iter_primitive::<Float32Type, _, _>(vector, 3))),
        ("key", Arc::new(few_keys)),
        ("none", none.clone()),
        ("no text", Arc::new(StringArray::new_null(ROWS))),
        (
            "list",
            Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>(
                rows().map(|i| i.map(|i| vec![None; i % 4])),
            )),
        ),
        (
            "struct",
            Arc::new(StructArray::from(vec![member("a", &int), member("b", &text), member("c", &none)])),
        ),
        ("empty struct", Arc::new(StructArray::from(vec![member("c", &none)]))),
    ];
    let signed = keys(128);
    let signed = signed.iter().map(|v| Some(v.as_str())).cycle().take(1000);
    let unsigned = keys(256);
    let unsigned = unsigned.iter().map(|v| Some(v.as_str())).cycle().take(1000);
    let dictionaries: Vec<(&str, ArrayRef)> = vec![
        ("int8", Arc::new(signed.collect::<DictionaryArray<Int8Type>>())),
        ("uint8", Arc::new(unsigned.collect::<DictionaryArray<UInt8Type>>())),
    ];
    let mut jobs = Vec::new();
    for columns in [columns, dictionaries] {
        let batch = RecordBatch::try_from_iter_with_nullable(
            columns.into_iter().map(|(name, array)| (name, array, true)),
        )
        .expect("columns of one length");
        for (kind, batches) in [("whole", vec![batch.clone()]), ("in batches", in_batches(&batch))] {
            let mut options = WriteOptions::default();
            options.format_version = FormatVersion::V2_0;
            let bytes = write(&batch.schema(), &batches, options).expect("write");
            read_in_parts(&bytes, &batch, 5).expect("it is read by us");
            let path = folder.path().join(format!("{}.lance", jobs.len()));
            std::fs::write(&path, bytes).expect("the temporary folder takes files");
            let seed = jobs.len() as u64;
            jobs.push(Job::new(format!("{} {kind}", batch.num_columns()), path, batch.clone(), seed));
        }
    }
    let results = ask(&python, &jobs);
    let failures = results.into_iter().enumerate().filter_map(|(i, r)| Some((i, r.err()?)));
    no_failures("nulls and keys of 2.0", &failures.collect::<Vec<_>>(), |i| jobs[i].name.clone());
}

#[test]
fn random_tables_written_by_the_official_library_as_2_3_are_read_by_us() {
    let Some(python) = python("unstable interchange") else { return };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let seeds: Vec<u64> = seeds("unstable interchange", 400).collect();
    let mut jobs = Vec::new();
    for (i, seed) in seeds.iter().enumerate() {
        let mut rng = Rng::new(*seed);
        let wanted = Wanted { official: true, ..Wanted::new(FormatVersion::V2_2) };
        let mut g = Generator::new(rng.word(), wanted);
        let schema = g.schema();
        let most = *rng.pick(&[4, 20, 300, 3000]);
        let rows = 1 + rng.below(most);
        g.null_leaves = rng.chance(1, 12);
        let batch = whole(&schema, &g.batches(&schema, rows));
        // Half of the columns are asked to be sparse; the writer makes others so by itself.
        let fields = schema.fields().iter().map(|field| {
            let mut metadata = field.metadata().clone();
            if !metadata.contains_key(PACKED) && rng.chance(1, 2) {
                metadata.insert("lance-encoding:structural-encoding".to_owned(), "sparse".to_owned());
            }
            field.as_ref().clone().with_metadata(metadata)
        });
        let schema = Schema::new_with_metadata(fields.collect::<Vec<_>>(), schema.metadata().clone());
        let batch =
            RecordBatch::try_new(schema.into(), batch.columns().to_vec()).expect("only metadata differs");
        jobs.push((batch, folder.path().join(format!("{i}.lance"))));
    }
    let written = write_all(&python, &jobs, "2.3", None);
    let mut refused = std::collections::BTreeMap::new();
    let mut layouts = std::collections::BTreeMap::new();
    let mut failures = Vec::new();
    for (i, ((batch, path), written)) in jobs.iter().zip(written).enumerate() {
        if let Err(text) = written {
            *refused.entry(text).or_insert(0) += 1;
            continue;
        }
        let bytes = bytes::Bytes::from(std::fs::read(path).expect("it was written"));
        match caught(|| read_in_parts(&bytes, batch, seeds[i])) {
            Ok(found) => found.into_iter().for_each(|layout| *layouts.entry(layout).or_insert(0) += 1),
            Err(text) => {
                if let Some(kept) = std::env::var_os("PENNON_KEEP") {
                    let _ = std::fs::copy(path, std::path::Path::new(&kept).join(format!("{i}.lance")));
                }
                failures.push((i, text));
            }
        }
    }
    let refusals: usize = refused.values().sum();
    println!(
        "interchange: {} of {} random tables written as 2.3 by the official library are read equal; layouts {layouts:?}",
        jobs.len() - refusals - failures.len(),
        jobs.len() - refusals
    );
    println!("interchange: {refusals} tables refused by the official writer: {refused:?}");
    no_failures("unstable interchange", &failures, |i| format!("PENNON_SEED={}", seeds[i]));
    assert!(refusals * 4 < jobs.len(), "{refusals} tables of {} were not tried", jobs.len());
}

/// Reads a file whole, in ranges and by takes; says which layouts its pages have.
fn read_in_parts(bytes: &bytes::Bytes, batch: &RecordBatch, seed: u64) -> Result<Vec<&'static str>, String> {
    let file = open(bytes).map_err(|e| format!("open: {e}"))?;
    // The same bytes, fetched piece by piece.
    let apart = File::from_read_at(Counted::new(bytes.clone()), &reading_exactly())
        .map_err(|e| format!("open, by ranges: {e}"))?;
    let same = |expected: &RecordBatch, found: pennon_file::Result<Vec<RecordBatch>>, what: String| {
        let found = found.map_err(|e| format!("{what}: {e}"))?;
        difference(std::slice::from_ref(expected), &found)
            .map_or(Ok(()), |text| Err(format!("{what}: {text}; {}", batch.schema())))
    };
    same(batch, scan(&file, &Part::default()), "whole".into())?;
    let small = Part { batch_rows: Some(7), batch_bytes: Some(512), ..Part::default() };
    same(batch, scan(&file, &small), "small batches".into())?;
    let mut rng = Rng::new(seed);
    let rows = batch.num_rows();
    for _ in 0..4 {
        let start = rng.below(rows);
        let n = 1 + rng.below(rows - start);
        let part = Part { rows: Some(start as u64..(start + n) as u64), ..Part::default() };
        same(&batch.slice(start, n), scan(&file, &part), format!("rows {start}+{n}"))?;
        let asked: Vec<u64> = (0..rng.within(1, 40)).map(|_| rng.below(rows) as u64).collect();
        same(&expected_take(batch, &asked), take(&file, &asked, None), format!("take {asked:?}"))?;
        same(
            &expected_take(batch, &asked),
            take(&apart, &asked, None),
            format!("take {asked:?}, by ranges"),
        )?;
    }
    same(batch, scan(&apart, &Part::default()), "whole, by ranges".into())?;
    let inspection = file.inspect().map_err(|e| format!("inspect: {e}"))?;
    Ok(inspection.columns.iter().flat_map(|c| c.pages.iter().map(|p| p.layout)).collect())
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
