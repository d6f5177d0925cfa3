//! Data files of tables, opened as single files.
//!
//! Guards against: reliance on field ids that count from 0, on columns that a table has but a file has not, and on
//! what the file writer does and the table writer does not. The tables' manifests say how many rows each file has.

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use arrow_schema::DataType;
use common::compare::difference;
use common::engine::{Part, scan, whole};
use common::shared::{in_ci, read_ipc, shared};
use common::work::no_failures;
use pennon_file::{ErrorKind, File, OpenOptions};
use serde_json::Value;

/// What a manifest says of one data file.
#[derive(Debug, Clone)]
struct DataFile {
    rows: u64,
    /// Ids of its fields; negative ones are dead.
    fields: Vec<i32>,
    path: PathBuf,
}

/// Some rows of a table.
#[derive(Debug)]
struct Fragment {
    rows: u64,
    deleted: u64,
    files: Vec<DataFile>,
}

/// One version of a table.
#[derive(Debug)]
struct Manifest {
    version: u64,
    /// Ids of the top-level fields, by name.
    names: Vec<String>,
    ids: BTreeSet<i32>,
    fragments: Vec<Fragment>,
}

/// The fields of a protobuf message: number, and a number or bytes.
fn message(mut bytes: &[u8]) -> Vec<(u64, u64, &[u8])> {
    fn varint(bytes: &mut &[u8]) -> u64 {
        let mut value = 0;
        for shift in (0..).step_by(7) {
            let (byte, rest) = bytes.split_first().expect("a manifest is whole");
            *bytes = rest;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                break;
            }
        }
        value
    }
    let mut fields = Vec::new();
    while !bytes.is_empty() {
        let key = varint(&mut bytes);
        let (value, len) = match key & 7 {
            0 => (varint(&mut bytes), 0),
            1 => (0, 8),
            5 => (0, 4),
            2 => (0, varint(&mut bytes) as usize),
            wire => panic!("wire type {wire} in a manifest"),
        };
        let (payload, rest) = bytes.split_at(len);
        bytes = rest;
        fields.push((key >> 3, value, payload));
    }
    fields
}

/// Numbers of a repeated field, packed or not.
fn numbers(fields: &[(u64, u64, &[u8])], number: u64) -> Vec<i32> {
    let mut found = Vec::new();
    for (_, value, packed) in fields.iter().filter(|f| f.0 == number) {
        if packed.is_empty() {
            found.push(*value as i32);
            continue;
        }
        // As a message's field of number 0 would be: one varint after another.
        let mut value = 0u64;
        let mut shift = 0;
        for byte in *packed {
            value |= u64::from(byte & 0x7f) << shift;
            shift += 7;
            if byte & 0x80 == 0 {
                found.push(value as i32);
                (value, shift) = (0, 0);
            }
        }
    }
    found
}

/// The manifest in a file of `_versions/`.
fn read_manifest(path: &Path) -> Option<Manifest> {
    let bytes = std::fs::read(path).expect("a manifest is readable");
    let (_, footer) = bytes.split_last_chunk::<16>()?;
    let start = u64::from_le_bytes(footer[..8].try_into().ok()?) as usize;
    let len = u32::from_le_bytes(bytes[start..start + 4].try_into().ok()?) as usize;
    let fields = message(&bytes[start + 4..start + 4 + len]);
    let number = |fields: &[(u64, u64, &[u8])], n| fields.iter().find(|f| f.0 == n).map_or(0, |f| f.1);
    let root = path.parent()?.parent()?;
    let mut manifest = Manifest {
        version: number(&fields, 3),
        names: Vec::new(),
        ids: BTreeSet::new(),
        fragments: Vec::new(),
    };
    for (_, _, field) in fields.iter().filter(|f| f.0 == 1) {
        let field = message(field);
        manifest.ids.insert(number(&field, 3) as i32);
        if number(&field, 4) as i32 == -1 {
            let name = field.iter().find(|f| f.0 == 2).map_or(&b""[..], |f| f.2);
            manifest.names.push(String::from_utf8_lossy(name).into_owned());
        }
    }
    for (_, _, fragment) in fields.iter().filter(|f| f.0 == 2) {
        let fragment = message(fragment);
        let files = fragment.iter().filter(|f| f.0 == 2).map(|f| message(f.2));
        // Those with a base stand in another table's folder.
        let files = files.filter(|file| file.iter().all(|f| f.0 != 7));
        let rows = number(&fragment, 4);
        let files = files.map(|file| {
            let name = file.iter().find(|f| f.0 == 1).map_or(&b""[..], |f| f.2);
            DataFile {
                rows,
                fields: numbers(&file, 2),
                path: root.join("data").join(String::from_utf8_lossy(name).as_ref()),
            }
        });
        let files = files.collect();
        let deleted = fragment.iter().find(|f| f.0 == 3).map_or(0, |f| number(&message(f.2), 4));
        manifest.fragments.push(Fragment { rows, deleted, files });
    }
    Some(manifest)
}

/// Files below a folder whose names end in `end`, sorted.
fn walk(folder: &Path, end: &str, out: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> =
        std::fs::read_dir(folder).expect("a folder").map(|e| e.expect("an entry").path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            walk(&path, end, out);
        } else if path.to_string_lossy().ends_with(end) {
            out.push(path);
        }
    }
}

fn roots() -> Vec<PathBuf> {
    let Some(shared) = shared() else {
        assert!(!in_ci(), "CI=true, but there are no golden tables");
        println!("tables: not run, 0 checked: no golden tables beside the repository");
        return Vec::new();
    };
    vec![shared.join("golden/tables"), shared.join("golden/peers/lance")]
}

fn open(path: &Path) -> pennon_file::Result<File> {
    let mut options = OpenOptions::default();
    options.allow_unstable = true;
    File::open_with(path, &options)
}

/// Whether the footer is one of before 2.0.
fn is_old(path: &Path) -> bool {
    let bytes = std::fs::read(path).expect("a data file");
    let version = &bytes[bytes.len() - 8..bytes.len() - 4];
    version[..2] == [0, 0] && version[2] < 3
}

#[test]
fn data_files_open_as_single_files_with_the_rows_of_their_fragment() {
    let mut failures = Vec::new();
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let (mut with_rows, mut unlisted, mut refused) = (0, 0, 0);
    for root in roots() {
        let mut rows: BTreeMap<PathBuf, u64> = BTreeMap::new();
        let mut manifests = Vec::new();
        walk(&root, ".manifest", &mut manifests);
        for path in manifests.iter().filter(|p| p.parent().is_some_and(|p| p.ends_with("_versions"))) {
            let Some(manifest) = read_manifest(path) else { continue };
            let files = manifest.fragments.into_iter().flat_map(|f| f.files);
            rows.extend(files.map(|f| (f.path, f.rows)));
        }
        let mut files = Vec::new();
        walk(&root, ".lance", &mut files);
        for path in files.iter().filter(|p| p.parent().is_some_and(|p| p.ends_with("data"))) {
            let name = path.strip_prefix(&root).unwrap_or(path).display().to_string();
            let mut fail = |text: String| failures.push((failures.len(), format!("{name}: {text}")));
            if is_old(path) {
                match open(path) {
                    Err(e) if e.kind() == ErrorKind::Unsupported && e.message().contains("pre-2.0") => {
                        refused += 1
                    }
                    other => fail(format!("of the format before 2.0: {:?}", other.map(|f| f.num_rows()))),
                }
                continue;
            }
            let all = open(path).and_then(|file| {
                let batches = scan(&file, &Part::default())?;
                Ok((file, batches.iter().map(|b| b.num_rows() as u64).sum::<u64>()))
            });
            match all {
                Err(e) => fail(e.to_string()),
                Ok((file, scanned)) => {
                    *counts.entry(file.format_version().to_string()).or_default() += 1;
                    match rows.get(path) {
                        Some(rows) if *rows == file.num_rows() && *rows == scanned => with_rows += 1,
                        Some(rows) => fail(format!(
                            "{} rows, {scanned} scanned, {rows} in the manifest",
                            file.num_rows()
                        )),
                        None => unlisted += 1,
                    }
                }
            }
        }
    }
    println!(
        "tables: {with_rows} data files opened with the rows of their fragment, {unlisted} that no manifest lists; \
         by format {counts:?}; {refused} of before 2.0 refused; {} fail",
        failures.len()
    );
    no_failures("tables", &failures, |_| "data file".to_owned());
}

#[test]
fn a_file_with_all_columns_of_a_fragment_has_the_rows_of_the_table() {
    let Some(root) = roots().into_iter().next() else { return };
    let lines = std::fs::read_to_string(root.join("manifest.jsonl")).expect("the tables' manifest");
    let mut failures = Vec::new();
    let (mut compared, mut others) = (0, 0);
    for line in lines.lines() {
        let table: Value = serde_json::from_str(line).expect("a line is JSON");
        let name = table["table"].as_str().expect("a table");
        if table["data_storage_version"] == "legacy" {
            continue;
        }
        let folder = root.join(name);
        let mut manifests = Vec::new();
        walk(&folder.join("_versions"), ".manifest", &mut manifests);
        let manifests: Vec<Manifest> = manifests.iter().filter_map(|p| read_manifest(p)).collect();
        for version in
            table["versions"].as_array().expect("versions").iter().filter(|v| v["branch"].is_null())
        {
            let number = version["version"].as_u64().expect("a number");
            let Some(manifest) = manifests.iter().find(|m| m.version == number) else { continue };
            let expected = read_ipc(&root.join(version["expected"].as_str().expect("a path")));
            let expected = whole(&expected[0].schema(), &expected);
            let mut first = 0;
            for fragment in &manifest.fragments {
                let rows = fragment.rows - fragment.deleted;
                let expected = expected.slice(first as usize, rows as usize);
                first += rows;
                let [file] = fragment.files.as_slice() else {
                    others += 1;
                    continue;
                };
                if fragment.deleted > 0 {
                    others += 1;
                    continue;
                }
                match same_rows(manifest, file, &expected) {
                    Ok(true) => compared += 1,
                    Ok(false) => others += 1,
                    Err(text) => failures.push((failures.len(), format!("{name} version {number}: {text}"))),
                }
            }
        }
    }
    println!(
        "tables: {compared} fragments of table versions that are one whole file read equal, {others} are not that; {} fail",
        failures.len()
    );
    assert!(compared > 0, "no fragment is one file");
    no_failures("tables", &failures, |_| "version".to_owned());
}

/// Compares, if the file has all columns under the names that the table gives them. What the table says of itself may be
/// younger than the file.
fn same_rows(manifest: &Manifest, file: &DataFile, expected: &RecordBatch) -> Result<bool, String> {
    let opened = open(&file.path).map_err(|e| e.to_string())?;
    let schema = opened.schema().map_err(|e| e.to_string())?;
    let known = |name: &String| schema.fields().iter().filter(|f| f.name() == name).count() == 1;
    let live: Vec<_> = file.fields.iter().filter(|id| **id >= 0).collect();
    if !manifest.names.iter().all(known) || !live.iter().all(|id| manifest.ids.contains(id)) {
        return Ok(false);
    }
    let found = scan(&opened, &Part::default()).map_err(|e| e.to_string())?;
    let found = whole(&found[0].schema(), &found);
    let mut both = (Vec::new(), Vec::new());
    for (i, name) in manifest.names.iter().enumerate() {
        let column = found.schema().index_of(name).map_err(|e| e.to_string())?;
        // The official library gives positions and sizes of blobs where we give the bytes.
        if matches!(expected.column(i).data_type(), DataType::Struct(_))
            && !matches!(found.column(column).data_type(), DataType::Struct(_))
        {
            continue;
        }
        both.0.push((name, expected.column(i).clone(), true));
        both.1.push((name, found.column(column).clone(), true));
    }
    let batch = |columns| RecordBatch::try_from_iter_with_nullable(columns).map_err(|e| e.to_string());
    difference(&[batch(both.0)?], &[batch(both.1)?]).map_or(Ok(true), Err)
}
