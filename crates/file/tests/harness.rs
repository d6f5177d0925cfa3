//! The test harness itself: generated data is what it claims to be, and comparison sees every difference.

mod common;

use std::sync::Arc;

use arrow_array::{ArrayRef, Int32Array, ListArray, RecordBatch, StringArray, StructArray, types::Int32Type};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, Field, Fields};
use common::compare::{array_difference, difference};
use common::generate::{Generator, Wanted};
use common::rng::{Rng, seeds};
use pennon_file::FormatVersion;

#[test]
fn a_seed_gives_the_same_data_again() {
    for seed in seeds("replay", 50) {
        let make = || {
            let mut g = Generator::new(seed, Wanted::new(FormatVersion::V2_2));
            let schema = g.schema();
            g.batches(&schema, 40)
        };
        assert_eq!(difference(&make(), &make()), None, "seed {seed}");
    }
}

#[test]
fn data_equals_itself_in_other_pieces_and_taken_in_order() {
    for seed in seeds("pieces", 300) {
        let mut g = Generator::new(seed, Wanted::new(FormatVersion::V2_2));
        let schema = g.schema();
        let rows = g.rng.below(80);
        let whole = g.batch(&schema, rows);
        let cut = g.rng.below(rows + 1);
        let pieces = [whole.slice(0, cut), whole.slice(cut, rows - cut)];
        assert_eq!(difference(std::slice::from_ref(&whole), &pieces), None, "seed {seed}");
        let all = arrow_array::UInt64Array::from_iter_values(0..rows as u64);
        let taken = arrow_select::take::take_record_batch(&whole, &all).expect("take of generated data");
        assert_eq!(difference(&[whole], &[taken]), None, "seed {seed}");
    }
}

#[test]
fn two_random_batches_of_a_schema_differ_and_the_text_says_where() {
    let mut differ = 0;
    for seed in seeds("differ", 200) {
        let mut g = Generator::new(seed, Wanted::new(FormatVersion::V2_2));
        let schema = g.schema();
        let (a, b) = (g.batch(&schema, 50), g.batch(&schema, 50));
        if let Some(text) = difference(&[a], &[b]) {
            assert!(text.contains("row"), "{text}");
            differ += 1;
        }
    }
    assert!(differ > 150 || common::rng::scaled(200) != 200, "{differ} of 200");
}

#[test]
fn what_lies_under_a_null_does_not_count() {
    let fields = Fields::from(vec![Field::new("a", DataType::Int32, true)]);
    let nulls = || Some(NullBuffer::from(vec![true, false]));
    let make = |values: Vec<i32>| -> ArrayRef {
        Arc::new(StructArray::new(fields.clone(), vec![Arc::new(Int32Array::from(values))], nulls()))
    };
    assert_eq!(array_difference(&make(vec![1, 2]), &make(vec![1, 3])), None);
    let text = array_difference(&make(vec![1, 2]), &make(vec![4, 2])).expect("row 0 differs");
    assert_eq!(text, "$.a, row 0: [01, 00, 00, 00] expected, found [04, 00, 00, 00]");
}

#[test]
fn null_and_empty_lists_differ_and_so_do_lengths_and_signs_of_zero() {
    let list = |rows: Vec<Option<Vec<Option<i32>>>>| -> ArrayRef {
        Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>(rows))
    };
    assert!(array_difference(&list(vec![None]), &list(vec![Some(vec![])])).is_some());
    assert!(array_difference(&list(vec![Some(vec![None])]), &list(vec![Some(vec![])])).is_some());
    assert_eq!(
        array_difference(&list(vec![None, Some(vec![Some(1)])]), &list(vec![None, Some(vec![Some(1)])])),
        None
    );
    let float = |v: f64| -> ArrayRef { Arc::new(arrow_array::Float64Array::from(vec![v])) };
    assert!(array_difference(&float(0.0), &float(-0.0)).is_some());
    assert_eq!(array_difference(&float(f64::NAN), &float(-f64::NAN)), None);
    let text: ArrayRef = Arc::new(StringArray::from(vec!["a"]));
    assert!(array_difference(&float(0.0), &text).is_some_and(|t| t.contains("type")));
}

#[test]
fn the_generator_reaches_every_type_and_every_oddity() {
    let mut seen = std::collections::BTreeSet::new();
    fn visit(data_type: &DataType, seen: &mut std::collections::BTreeSet<String>) {
        match data_type {
            DataType::Struct(fields) => {
                seen.insert("struct".into());
                fields.iter().for_each(|f| visit(f.data_type(), seen));
            }
            DataType::List(f)
            | DataType::LargeList(f)
            | DataType::Map(f, _)
            | DataType::FixedSizeList(f, _) => {
                let text = data_type.to_string();
                seen.insert(text.split('(').next().unwrap_or_default().to_owned());
                visit(f.data_type(), seen);
            }
            other => {
                seen.insert(other.to_string());
            }
        }
    }
    for seed in seeds("types", 3000) {
        let mut g = Generator::new(seed, Wanted::new(FormatVersion::V2_2));
        g.schema().fields().iter().for_each(|f| visit(f.data_type(), &mut seen));
    }
    if common::rng::scaled(100) == 100 {
        for name in [
            "Null",
            "Boolean",
            "Float16",
            "Utf8",
            "LargeUtf8",
            "Binary",
            "LargeBinary",
            "Date32",
            "Date64",
            "Map",
            "struct",
            "List",
            "LargeList",
            "FixedSizeList",
            "Dictionary(Int8, Utf8)",
            "Dictionary(UInt64, Float64)",
            "Duration(s)",
            "Timestamp(ns, \"+05:30\")",
            "FixedSizeBinary(300)",
            "Time32(s)",
            "Time64(ns)",
            "Decimal256(76, 5)",
        ] {
            assert!(seen.contains(name), "{name} not in {seen:?}");
        }
    }
    let mut rng = Rng::new(1);
    assert!((0..1000).all(|_| rng.within(3, 5) >= 3 && rng.below(1) == 0));
}

#[test]
fn golden_values_are_found_and_equal_themselves() {
    let goldens = common::shared::goldens();
    for golden in goldens.files.iter().take(40) {
        let expected: Vec<RecordBatch> = golden.read_expected();
        assert_eq!(
            expected.iter().map(|b| b.num_rows() as u64).sum::<u64>(),
            golden.rows,
            "{}",
            golden.name()
        );
        assert_eq!(difference(&expected, &expected), None, "{}", golden.name());
    }
}

#[test]
fn the_official_library_is_asked_and_its_answers_are_compared() {
    let Some(python) = common::official::python("harness") else { return };
    let goldens = common::shared::goldens();
    let wanted =
        |g: &&common::shared::Golden| !g.is_blob() && ["2.0", "2.1", "2.2"].contains(&g.version.as_str());
    let step = goldens.files.len() / 40 + 1;
    let mut jobs: Vec<_> = goldens
        .files
        .iter()
        .filter(wanted)
        .step_by(step)
        .map(|g| {
            common::official::Job::new(g.name(), g.file.clone(), common::official::one(&g.read_expected()), 1)
        })
        .collect();
    // One file that is not what is expected, to see that it is noticed; one that cannot be read.
    let wrong = common::official::Job::new(
        "wrong".into(),
        jobs[0].file.clone(),
        jobs[0].expected.slice(1, jobs[0].expected.num_rows() - 1),
        1,
    );
    jobs.push(wrong);
    let unreadable = common::official::Job::new(
        "unreadable".into(),
        goldens.files[0].expected.clone(),
        jobs[0].expected.clone(),
        1,
    );
    jobs.push(unreadable);
    let mut results = common::official::ask(&python, &jobs);
    assert!(results.pop().is_some_and(|r| r.is_err()));
    assert!(results.pop().is_some_and(|r| r.is_err_and(|e| e.contains("rows expected"))));
    for (result, job) in results.iter().zip(&jobs) {
        assert_eq!(*result, Ok(()), "{}", job.name);
    }
    println!("harness: the official library read {} golden files equal", results.len());
}
