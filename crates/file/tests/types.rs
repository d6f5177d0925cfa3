//! Every Arrow type, alone and inside others, in every format version: it comes back as it was, or is refused
//! before anything is written. Writes the table of docs/format/types.md from what it sees.
//!
//! Guards against: types that change on the way, and a table that says something else than what happens.

mod common;

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Fields, Schema, SchemaRef};
use common::all_types::{Group, groups};
use common::compare::difference;
use common::descriptor::stored_fields;
use common::engine::{Part, VERSIONS, open, options, scan, take, write};
use common::generate::{Generator, Wanted};
use common::official::{Job, ask, python};
use common::shared::repository;
use pennon_file::{ErrorKind, FileWriter, FormatVersion};

const ROWS: usize = 900;

/// A field of a type as it stands inside others: how that is called, and the column.
fn forms(field: &Field, version: FormatVersion) -> Vec<(&'static str, Field)> {
    let inner = Arc::new(field.clone().with_name("x"));
    // 2.0 has no null structs.
    let nullable = version > FormatVersion::V2_0;
    let pair = Fields::from(vec![Arc::new(Field::new("key", DataType::Utf8, false)), inner.clone()]);
    let entries = Arc::new(Field::new("entries", DataType::Struct(pair), false));
    let of = |data_type| Field::new("f", data_type, true);
    vec![
        ("alone", field.clone()),
        ("in structs", of(DataType::Struct(vec![inner.clone()].into())).with_nullable(nullable)),
        ("in lists", of(DataType::List(inner.clone()))),
        ("in fixed-size lists", of(DataType::FixedSizeList(inner, 2))),
        ("in maps", of(DataType::Map(entries, false))),
    ]
}

fn column(field: &Field, rows: usize, seed: u64, version: FormatVersion) -> ArrayRef {
    let wanted = Wanted { long_values: false, ..Wanted::new(version) };
    Generator::new(seed, wanted).array(field, rows)
}

/// The column and another after it.
fn batch(field: &Field, rows: usize, seed: u64, version: FormatVersion) -> RecordBatch {
    let after = Field::new("after", DataType::Int32, true);
    let columns = vec![column(field, rows, seed, version), column(&after, rows, seed, version)];
    let schema = Schema::new(vec![field.clone(), after]);
    RecordBatch::try_new(Arc::new(schema), columns).expect("columns of their types")
}

fn is_ordered(schema: &Schema) -> Vec<Option<bool>> {
    schema.fields().iter().map(|f| f.dict_is_ordered()).collect()
}

/// `None` where the version refuses the type, with a typed error and before there is any output.
fn round_trip(batch: &RecordBatch, version: FormatVersion) -> Option<bytes::Bytes> {
    let schema = batch.schema();
    let name = format!("{version} {}", schema.field(0));
    let mut output = Vec::new();
    match FileWriter::new(&mut output, &schema, options(version)) {
        Ok(writer) => drop(writer),
        Err(e) => {
            assert_eq!(e.kind(), ErrorKind::Unsupported, "{name}: {e}");
            assert!(output.is_empty(), "{name}: {} bytes were written", output.len());
            return None;
        }
    }
    let halves = [
        batch.slice(0, batch.num_rows() / 3),
        batch.slice(batch.num_rows() / 3, batch.num_rows() - batch.num_rows() / 3),
    ];
    let bytes = write(&schema, &halves, options(version)).unwrap_or_else(|e| panic!("{name}: {e}"));
    let file = open(&bytes).unwrap_or_else(|e| panic!("{name}: {e}"));
    assert_eq!(file.schema().expect("schema"), schema, "{name}");
    assert_eq!(is_ordered(&file.schema().expect("schema")), is_ordered(&schema), "{name}");
    let found = scan(&file, &Part::default()).unwrap_or_else(|e| panic!("{name}: {e}"));
    assert_eq!(difference(std::slice::from_ref(batch), &found), None, "{name}");
    for small in
        [Part { batch_rows: Some(7), ..Part::default() }, Part { batch_bytes: Some(100), ..Part::default() }]
    {
        let found = scan(&file, &small).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!(difference(std::slice::from_ref(batch), &found), None, "{name} in small batches");
    }
    if batch.num_rows() > 0 {
        let last = batch.num_rows() as u64 - 1;
        let rows = [1, 0, 2, last, 2];
        let found = take(&file, &rows, None).unwrap_or_else(|e| panic!("{name}: {e}"));
        let expected: Vec<RecordBatch> = rows.iter().map(|row| batch.slice(*row as usize, 1)).collect();
        assert_eq!(difference(&expected, &found), None, "{name} taken");
    }
    Some(bytes)
}

/// Type and tag of the column, as other readers find them in the file.
fn stored_as(file: &[u8]) -> (String, Option<String>) {
    let fields = stored_fields(file);
    (fields[0].logical_type.clone(), fields[0].tag().map(str::to_owned))
}

/// A type's name without its parameters, so that a line of the table is about all of them.
fn in_general(logical_type: &str) -> String {
    let (head, rest) = logical_type.split_once(':').unwrap_or((logical_type, ""));
    match head {
        "decimal" => format!("decimal:{}:P:S", rest.split(':').next().unwrap_or_default()),
        "timestamp" => "timestamp:UNIT:ZONE".into(),
        "duration" | "time32" | "time64" => format!("{head}:UNIT"),
        "fixed_size_list" if rest.starts_with("struct:") => "fixed_size_list:struct:N".into(),
        "fixed_size_list" => "fixed_size_list:ITEM:N".into(),
        "dict" => "dict:VALUE:KEY:false".into(),
        "list.struct" => "list".into(),
        "large_list.struct" => "large_list".into(),
        _ => logical_type.to_owned(),
    }
}

fn general_tag(tag: &str) -> String {
    let first = tag.split(['/', '[']).next().unwrap_or_default();
    match first.split(':').next().unwrap_or_default() {
        "fixed_size_list" => "fixed_size_list:N".into(),
        "dictionary" => "dictionary:KEY".into(),
        "run_end_encoded" => "run_end_encoded:ENDS".into(),
        "union" => first.split(':').take(2).collect::<Vec<_>>().join(":") + ":IDS",
        _ => first.to_owned(),
    }
}

/// What a version stores the types of a line as.
fn storage(stored: &[(String, Option<String>)]) -> String {
    let unique = |mut texts: Vec<String>| {
        let mut seen = BTreeSet::new();
        texts.retain(|text| seen.insert(text.clone()));
        texts.iter().map(|text| format!("`{text}`")).collect::<Vec<_>>().join(", ")
    };
    let types = unique(stored.iter().map(|(logical_type, _)| in_general(logical_type)).collect());
    let tags = unique(stored.iter().filter_map(|(_, tag)| tag.as_deref().map(general_tag)).collect());
    if tags.is_empty() { types } else { format!("{types} with tag {tags}") }
}

/// One line of the table.
fn line(group: &Group, seed: u64) -> String {
    let mut cells = Vec::new();
    // Newest first: what most files have.
    let mut stored: Vec<(String, Vec<String>)> = Vec::new();
    let mut tagged = false;
    for version in VERSIONS.into_iter().rev() {
        let mut refused = BTreeSet::new();
        let mut found = Vec::new();
        for (i, field) in group.fields.iter().enumerate() {
            for (k, (form, field)) in forms(field, version).into_iter().enumerate() {
                let bytes = round_trip(&batch(&field, ROWS, seed + i as u64, version), version);
                let none = round_trip(&batch(&field, 0, seed, version), version);
                assert_eq!(bytes.is_some(), none.is_some(), "no rows of {field} are treated otherwise");
                match bytes {
                    Some(bytes) if k == 0 => found.push(stored_as(&bytes)),
                    Some(_) => {}
                    None => drop(refused.insert(form)),
                }
            }
        }
        tagged |= found.iter().any(|(_, tag)| tag.is_some());
        cells.push(match (found.is_empty(), refused.len()) {
            (true, _) => "refused".to_owned(),
            (_, 0) => "as written".to_owned(),
            _ => format!("as written, but refused {}", refused.into_iter().collect::<Vec<_>>().join(", ")),
        });
        if !found.is_empty() {
            let text = storage(&found);
            match stored.iter_mut().find(|(known, _)| *known == text) {
                Some((_, versions)) => versions.push(version.to_string()),
                None => stored.push((text, vec![version.to_string()])),
            }
        }
    }
    cells.reverse();
    let stored: Vec<String> = match stored.as_slice() {
        [(text, _)] => vec![text.clone()],
        several => {
            several.iter().map(|(text, versions)| format!("{}: {text}", versions.join(", "))).collect()
        }
    };
    let others = group.others.unwrap_or(if tagged { "what it is stored as" } else { "the same" });
    format!("| {} | {} | {} | {others} |", group.label, stored.join("; "), cells.join(" | "))
}

#[test]
fn every_type_comes_back_as_it_was_or_is_refused_and_the_table_says_so() {
    let mut table = vec![
        "| Arrow type | stored as | 2.0 | 2.1 | 2.2 | other readers see |".to_owned(),
        "|---|---|---|---|---|---|".to_owned(),
    ];
    table.extend(groups().iter().enumerate().map(|(i, group)| line(group, 1000 * i as u64)));
    let table = table.join("\n");
    let path = repository().join("docs/format/types.md");
    let text = std::fs::read_to_string(&path).expect("docs/format/types.md");
    let (begin, end) = ("<!-- table: begin -->\n", "\n<!-- table: end -->");
    let (before, rest) = text.split_once(begin).expect("the mark before the table");
    let (found, after) = rest.split_once(end).expect("the mark after the table");
    if std::env::var_os("PENNON_UPDATE_DOCS").is_some() {
        std::fs::write(&path, format!("{before}{begin}{table}{end}{after}")).expect("the page is written");
    } else {
        assert_eq!(found, table, "docs/format/types.md is not current; PENNON_UPDATE_DOCS=1 writes it anew");
    }
}

/// Stored types as the official reader sees them: Arrow types in the words of a column read without tags.
#[test]
fn the_official_reader_sees_the_stored_type_of_every_type() {
    let Some(python) = python("types") else { return };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut jobs = Vec::new();
    for version in VERSIONS {
        for (i, group) in groups().iter().enumerate() {
            for field in &group.fields {
                for (form, field) in forms(field, version) {
                    let batch = batch(&field, 200, 7 + i as u64, version);
                    let mut unchecked = options(version);
                    unchecked.checksums = false;
                    let Ok(bytes) = write(&batch.schema(), std::slice::from_ref(&batch), unchecked) else {
                        continue;
                    };
                    let bytes = without_tags(&bytes);
                    let plain = open(&bytes).expect("a file without tags");
                    let all = scan(&plain, &Part::default()).expect("its rows");
                    let expected = whole(&plain.schema().expect("schema"), &all);
                    let path = folder.path().join(format!("{}.lance", jobs.len()));
                    std::fs::write(&path, &bytes).expect("the temporary folder takes files");
                    let name = format!("{version} {} {form}: {}", group.label, field.data_type());
                    let mut job = Job::new(name, path, expected.clone(), 5);
                    if has_struct_lists(expected.schema().field(0).data_type()) {
                        // The official reader wants such a column alone.
                        job = Job::new(job.name, job.file, expected.project(&[0]).expect("column 0"), 5);
                        job.columns = Some(vec![field.name().clone()]);
                    }
                    jobs.push(job);
                }
            }
        }
    }
    let results = ask(&python, &jobs);
    let mut failed = 0;
    for (job, result) in jobs.iter().zip(&results) {
        if let Err(text) = result {
            failed += 1;
            println!("types: {}: {text}", job.name);
        }
    }
    println!("types: the official reader reads {} of {} columns equal", jobs.len() - failed, jobs.len());
    assert_eq!(failed, 0);
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

fn whole(schema: &SchemaRef, batches: &[RecordBatch]) -> RecordBatch {
    common::engine::whole(schema, batches)
}

/// The file with another key of the same length in place of its tags: what a reader sees that does not know them.
fn without_tags(bytes: &[u8]) -> bytes::Bytes {
    let (tag, other) = (b"pennon:arrow-type", b"pelikan:arrowtype");
    let mut bytes = bytes.to_vec();
    let mut at = 0;
    while at + tag.len() <= bytes.len() {
        if bytes[at..].starts_with(tag) {
            bytes[at..at + tag.len()].copy_from_slice(other);
        }
        at += 1;
    }
    bytes::Bytes::from(bytes)
}

/// Names that the official table format does not take, and its file reader does.
#[test]
fn the_official_reader_reads_odd_names() {
    let Some(python) = python("odd names") else { return };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut jobs = Vec::new();
    for version in VERSIONS {
        for names in [["twice", "twice"], ["a.b", "a"], ["", "x"], ["ünï`cødé", "x y\"z"], ["_rowid", "item"]]
        {
            let fields =
                [Field::new(names[0], DataType::Int32, true), Field::new(names[1], DataType::Utf8, true)];
            let columns = fields.iter().map(|f| column(f, 100, 3, version)).collect();
            let batch =
                RecordBatch::try_new(Arc::new(Schema::new(fields.to_vec())), columns).expect("two columns");
            let bytes =
                write(&batch.schema(), std::slice::from_ref(&batch), options(version)).expect("any names");
            let path = folder.path().join(format!("{}.lance", jobs.len()));
            std::fs::write(&path, bytes).expect("the temporary folder takes files");
            jobs.push(Job::new(format!("{version} {names:?}"), path, batch, 1));
        }
    }
    let results = ask(&python, &jobs);
    let failed: Vec<String> = jobs
        .iter()
        .zip(&results)
        .filter_map(|(j, r)| Some(format!("{}: {}", j.name, r.as_ref().err()?)))
        .collect();
    failed.iter().for_each(|text| println!("odd names: {text}"));
    assert!(failed.is_empty());
}
