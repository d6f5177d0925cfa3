//! A filter on a sorted column of a real table reads the few bytes that its zones take, and the counts say how many.
//!
//! Runs where `PENNON_LINEITEM` names a Lance file of the benchmark's table (bench/README.md says how); tests/zones.rs shows the same
//! of a made-up table anywhere.

mod common;

use arrow_array::RecordBatch;
use common::counted::{Counted, total};
use common::engine::reading;
use pennon_file::File;
use pennon_file::filter::Predicate;

#[test]
fn a_filter_on_the_order_key_of_lineitem_reads_less_than_a_twentieth_of_the_file() {
    let Some(path) = std::env::var_os("PENNON_LINEITEM") else {
        println!("lineitem: PENNON_LINEITEM names no file: skipped");
        return;
    };
    let open = || {
        let counted =
            Counted::local(std::fs::File::open(&path).expect("the file that PENNON_LINEITEM names"));
        (File::from_read_at(counted.clone(), &reading(4096)).expect("open"), counted)
    };
    let (file, _) = open();
    let file_bytes = file.file_bytes();
    for text in ["l_orderkey = 500001", "l_orderkey BETWEEN 500000 AND 500999", "l_orderkey >= 1019000"] {
        let filter = Predicate::parse(text).expect("a predicate");
        let expected = file.scan().filter(filter.clone()).use_statistics(false).count().expect("count");
        assert!(expected > 0, "{text}: no rows");
        // A fresh handle: opening is counted too.
        let (file, counted) = open();
        let batches = file.scan().filter(filter).threads(1).batches().expect("a filter");
        let rows: usize = batches.map(|batch: Result<RecordBatch, _>| batch.expect("rows").num_rows()).sum();
        let reads = counted.drain();
        let share = total(&reads) as f64 / file_bytes as f64;
        println!(
            "lineitem: {text}: {rows} rows, {} of {file_bytes} bytes in {} reads, {:.2} %",
            total(&reads),
            reads.len(),
            100.0 * share
        );
        assert_eq!(rows as u64, expected, "{text}");
        assert!(share < 0.05, "{text}: {share} of the file");
    }
}
