//! Columns of large values, which are decoded where their batch has them.
//!
//! Guards against: values that outgrow the place they were promised, budgets met between them, two such columns that share the memory
//! of a batch.

mod common;

use std::sync::Arc;

use arrow_array::{ArrayRef, LargeBinaryArray, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};
use arrow_select::concat::concat_batches;
use common::engine::write;
use common::rng::Rng;
use pennon_file::{File, OpenOptions, Preset, WriteOptions};

/// Texts of a KiB, the last of them ten times as long, beside bytes of 0 to 20 KB: more than any page of them promises.
fn table(rows: usize) -> RecordBatch {
    let mut rng = Rng::new(7);
    let mut random = |len: usize| (0..len).map(|_| b'a' + rng.below(26) as u8).collect::<Vec<u8>>();
    let texts: Vec<Option<String>> = (0..rows)
        .map(|i| {
            (i % 11 != 3)
                .then(|| String::from_utf8(random(if i > rows * 9 / 10 { 12_000 } else { 1_200 })).unwrap())
        })
        .collect();
    let bytes: Vec<Option<Vec<u8>>> =
        (0..rows).map(|i| (i % 7 != 2).then(|| random(i * 37 % 20_000))).collect();
    let texts: ArrayRef = Arc::new(StringArray::from(texts));
    let bytes: ArrayRef = Arc::new(LargeBinaryArray::from_iter(bytes));
    let schema = Schema::new(vec![
        Field::new("text", DataType::Utf8, true),
        Field::new("bytes", DataType::LargeBinary, true),
    ]);
    RecordBatch::try_new(Arc::new(schema), vec![texts, bytes]).unwrap()
}

#[test]
fn large_values_come_back_whatever_the_budget_of_a_batch() {
    let table = table(3_000);
    for preset in [Preset::Fast, Preset::Balanced] {
        let mut options = WriteOptions::default();
        options.preset = preset;
        options.max_page_bytes = 4 << 20;
        let file = write(&table.schema(), std::slice::from_ref(&table), options).expect("write");
        let file = File::from_bytes(file, &OpenOptions::default()).expect("open");
        for budget in [100, 300 << 10, 5 << 20, 9 << 20, 64 << 20] {
            let batches = file.scan().batch_bytes(budget).batches().expect("scan");
            let batches: Vec<RecordBatch> = batches.collect::<Result<_, _>>().expect("read");
            assert_eq!(concat_batches(&table.schema(), &batches).unwrap(), table, "{preset:?}, {budget}");
        }
        let rows: Vec<u64> = (0..3_000).filter(|row| row % 3 != 1).collect();
        let taken = file.take(&rows).read().expect("take");
        let wanted = arrow_array::UInt64Array::from(rows);
        let wanted = arrow_select::take::take_record_batch(&table, &wanted).unwrap();
        assert_eq!(concat_batches(&table.schema(), &taken).unwrap(), wanted, "{preset:?}");
    }
}
