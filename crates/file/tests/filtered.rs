//! Filtered scans hand out what a scan and an evaluation of its rows give, and read no more than they need.
//!
//! A failure prints its seed; `PENNON_SEED=<seed>` runs that case first.

mod common;

use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Int64Array, LargeBinaryArray, RecordBatch, StringArray,
};
use arrow_buffer::IntervalMonthDayNano;
use arrow_schema::{DataType, Field, Schema};
use bytes::Bytes;
use common::compare::difference;
use common::counted::{Counted, inside, total};
use common::engine::{Part, open, path_text, paths, random_options, reading, scan, whole, write};
use common::generate::{Generator, Wanted};
use common::rng::{Rng, seeds};
use common::work::{each, no_failures};
use pennon_file::filter::{Column, Comparison, Literal, Operand, Predicate, col};
use pennon_file::{BlobView, File, FormatVersion, WriteOptions};

/// Some value of a column, as a literal.
fn literal(rng: &mut Rng, array: &dyn Array) -> Option<Literal> {
    let row = rng.below(array.len());
    if array.is_empty() || array.is_null(row) {
        return None;
    }
    Some(match array.data_type() {
        DataType::Int8 => array.as_primitive::<Int8Type>().value(row).into(),
        DataType::Int16 => array.as_primitive::<Int16Type>().value(row).into(),
        DataType::Int32 => array.as_primitive::<Int32Type>().value(row).into(),
        DataType::Int64 => array.as_primitive::<Int64Type>().value(row).into(),
        DataType::UInt8 => array.as_primitive::<UInt8Type>().value(row).into(),
        DataType::UInt16 => array.as_primitive::<UInt16Type>().value(row).into(),
        DataType::UInt32 => array.as_primitive::<UInt32Type>().value(row).into(),
        DataType::UInt64 => array.as_primitive::<UInt64Type>().value(row).into(),
        DataType::Float32 => array.as_primitive::<Float32Type>().value(row).into(),
        DataType::Float64 => array.as_primitive::<Float64Type>().value(row).into(),
        DataType::Boolean => array.as_boolean().value(row).into(),
        DataType::Utf8 => array.as_string::<i32>().value(row).into(),
        DataType::LargeUtf8 => array.as_string::<i64>().value(row).into(),
        DataType::Binary => array.as_binary::<i32>().value(row).into(),
        DataType::LargeBinary => array.as_binary::<i64>().value(row).into(),
        DataType::Date32 => Literal::Date(array.as_primitive::<Date32Type>().value(row)),
        DataType::Dictionary(..) => {
            let keys = array.as_any_dictionary();
            let key = keys.normalized_keys().get(row).copied()?;
            return literal(rng, &keys.values().slice(key, 1));
        }
        _ => return None,
    })
}

/// The array at the end of names that walk structs, if they do.
fn reached(batch: &RecordBatch, path: &[String]) -> Option<ArrayRef> {
    let mut array = batch.column_by_name(&path[0])?.clone();
    for name in &path[1..] {
        array = array.as_struct_opt()?.column_by_name(name)?.clone();
    }
    Some(array)
}

/// A predicate about columns of a batch.
fn predicate(rng: &mut Rng, batch: &RecordBatch, depth: usize) -> Predicate {
    if depth > 0 && rng.chance(1, 2) {
        let (a, b) = (predicate(rng, batch, depth - 1), predicate(rng, batch, depth - 1));
        return match rng.below(5) {
            0 | 1 => a & b,
            2 | 3 => a | b,
            _ => !a,
        };
    }
    let all: Vec<_> = paths(&batch.schema());
    for _ in 0..20 {
        let path = match all.is_empty() {
            true => break,
            false => rng.pick(&all).clone(),
        };
        let Some(array) = reached(batch, &path) else { continue };
        let column = || -> Column { col(path_text(&path)) };
        let value = literal(rng, &array).filter(|_| rng.chance(4, 5));
        let built = match value {
            Some(value) => {
                let op = *rng.pick(&[
                    Comparison::Equal,
                    Comparison::NotEqual,
                    Comparison::Less,
                    Comparison::GreaterOrEqual,
                ]);
                Predicate::Compare { op, left: Operand::Column(column()), right: value.into() }
            }
            None => Predicate::IsNull { column: column(), negated: rng.chance(1, 2) },
        };
        if built.bind(&batch.schema()).is_ok() {
            return built;
        }
    }
    Predicate::Constant(rng.chance(1, 2))
}

fn filtered(batch: &RecordBatch, bits: &BooleanArray) -> RecordBatch {
    if batch.num_columns() == 0 {
        return batch.slice(0, bits.true_count());
    }
    arrow_select::filter::filter_record_batch(batch, bits).expect("bits of the batch")
}

#[test]
fn a_filtered_scan_is_a_scan_and_then_an_evaluation() {
    let seeds: Vec<u64> = seeds("filtered", 800).collect();
    let failures = each(&seeds, |seed| {
        let mut rng = Rng::new(*seed);
        let version = *rng.pick(&[FormatVersion::V2_0, FormatVersion::V2_1, FormatVersion::V2_2]);
        let mut wanted = Wanted::new(version);
        wanted.max_columns = rng.within(1, 5);
        let mut g = Generator::new(rng.word(), wanted);
        let schema = g.schema();
        let rows = *rng.pick(&[20, 700, 3000, 3000]);
        let rows = rng.below(rows + 1);
        let batches = g.batches(&schema, rows);
        let mut options = random_options(&mut rng, version);
        options.zone_rows = *rng.pick(&[1, 10, 300, 8192]);
        options.statistics_bytes = *rng.pick(&[None, Some(1 << 20)]);
        let bytes = write(&schema, &batches, options).map_err(|e| format!("write: {e}"))?;
        let (_, file) = if rng.chance(1, 2) {
            (None, open(&bytes).map_err(|e| e.to_string())?)
        } else {
            let counted = Counted::new(bytes.clone());
            let file = File::from_read_at(counted.clone(), &reading(*rng.pick(&[0, 4096])))
                .map_err(|e| e.to_string())?;
            (Some(counted), file)
        };
        let read = scan(&file, &Part::default()).map_err(|e| e.to_string())?;
        let table = whole(&read[0].schema(), &read);
        let predicate = predicate(&mut rng, &table, 3);
        let described = |what: &str| format!("{what}: {predicate} over {}", table.schema());

        let bound = predicate.bind(&table.schema()).map_err(|e| described(&e.to_string()))?;
        let start = rng.below(rows + 1);
        let part = if rng.chance(1, 2) { 0..rows } else { start..rng.within(start, rows) };
        let table_part = table.slice(part.start, part.end - part.start);
        let bits = BooleanArray::new(bound.evaluate(&table_part).map_err(|e| e.to_string())?, None);
        let count = bits.true_count() as u64;

        let all = paths(&table.schema());
        let columns: Option<Vec<String>> = rng.chance(2, 3).then(|| {
            let mut chosen: Vec<String> = Vec::new();
            for _ in 0..rng.below(4) {
                if !all.is_empty() {
                    chosen.push(path_text(&all[rng.below(all.len())]));
                }
            }
            chosen
        });
        let names: Option<Vec<&str>> = columns.as_ref().map(|c| c.iter().map(String::as_str).collect());
        let projected =
            scan(&file, &Part { columns: names.as_deref(), ..Part::default() }).map_err(|e| e.to_string())?;
        let projected = whole(&projected[0].schema(), &projected).slice(part.start, part.end - part.start);
        let limit = if rng.chance(1, 3) { rng.below(30) as u64 } else { u64::MAX };
        let expected = filtered(&projected, &bits);
        let expected = expected.slice(0, expected.num_rows().min(limit.min(1 << 40) as usize));

        let batch_rows = *rng.pick(&[1, 7, 100, 65_536]);
        let mut filter = file
            .scan()
            .rows(part.start as u64..part.end as u64)
            .filter(predicate.clone())
            .limit(limit)
            .batch_rows(batch_rows)
            .batch_bytes(*rng.pick(&[1, 1000, 32 << 20]))
            .threads(rng.within(1, 3));
        if let Some(names) = &names {
            filter = filter.columns(names);
        }
        let counted = filter.clone().count().map_err(|e| described(&e.to_string()))?;
        if counted != count.min(limit) {
            return Err(described(&format!("{counted} rows counted, {count} expected")));
        }
        let found = filter.batches().map_err(|e| described(&e.to_string()))?;
        let schema = found.schema();
        let mut found = found.collect::<Result<Vec<_>, _>>().map_err(|e| described(&e.to_string()))?;
        if found.iter().any(|b| b.num_rows() == 0 || b.num_rows() > batch_rows || b.schema() != schema) {
            return Err(described("a batch without rows, of too many, or of another schema"));
        }
        found.push(RecordBatch::new_empty(schema));
        match difference(&[expected], &found) {
            Some(difference) => Err(described(&difference)),
            None => Ok(()),
        }
    });
    no_failures("filtered", &failures, |i| format!("seed {}", seeds[i]));
}

const ROWS: usize = 200_000;

/// A number, a text of 30 bytes and 2,000 bytes that do not compress.
fn table() -> RecordBatch {
    let mut rng = Rng::new(5);
    let numbers = Int64Array::from_iter_values(0..ROWS as i64);
    let texts = StringArray::from_iter_values((0..ROWS).map(|i| format!("a text of the row {i:011}")));
    let payload: Vec<u8> = (0..1 << 16).map(|_| rng.word() as u8).collect();
    let bytes = BinaryArray::from_iter_values((0..ROWS).map(|i| {
        let at = i * 37 % ((1 << 16) - 400);
        &payload[at..at + 400]
    }));
    let columns: [(&str, ArrayRef); 3] =
        [("number", Arc::new(numbers)), ("text", Arc::new(texts)), ("payload", Arc::new(bytes))];
    RecordBatch::try_from_iter(columns).expect("columns of one length")
}

fn written() -> Bytes {
    write(&table().schema(), &[table()], WriteOptions::default()).expect("write")
}

fn buffers_of(file: &File, path: &str) -> Vec<Range<u64>> {
    let columns = file.inspect().expect("inspect").columns;
    let pages = columns.iter().filter(|c| c.path == path).flat_map(|c| &c.pages);
    pages.flat_map(|p| &p.buffers).map(|(offset, bytes)| *offset..offset + bytes).collect()
}

#[test]
fn the_other_columns_of_rows_that_do_not_pass_are_not_read() {
    let bytes = written();
    let counted = Counted::new(bytes);
    let file = File::from_read_at(counted.clone(), &reading(0)).expect("open");
    let buffers: Vec<_> = ["number", "text", "payload"].iter().map(|c| buffers_of(&file, c)).collect();
    let read_of = |reads: &[Range<u64>], buffers: &[Range<u64>]| -> u64 {
        buffers.iter().map(|b| inside(reads, b)).sum()
    };
    for threads in [1, 3] {
        // A fresh handle, which knows nothing of the pages.
        let file = File::from_read_at(counted.clone(), &reading(0)).expect("open");
        counted.drain();
        let wanted = [11i64, 70_000, 70_001, 199_999];
        let found: Vec<RecordBatch> = file
            .scan()
            .filter(col("number").is_in(wanted))
            .threads(threads)
            .batches()
            .expect("a predicate of the file")
            .collect::<Result<_, _>>()
            .expect("rows");
        let rows: Vec<i64> =
            found.iter().flat_map(|b| b.column(0).as_primitive::<Int64Type>().values().to_vec()).collect();
        assert_eq!(rows, wanted);
        let reads = counted.drain();
        // The same rows by number.
        let taken = File::from_read_at(counted.clone(), &reading(0)).expect("open");
        counted.drain();
        taken.take(&[11, 70_000, 70_001, 199_999]).read().expect("rows");
        let takes = counted.drain();
        for (name, buffers) in ["text", "payload"].iter().zip(&buffers[1..]) {
            let (read, least) = (read_of(&reads, buffers), read_of(&takes, buffers));
            let size: u64 = buffers.iter().map(|b| b.end - b.start).sum();
            println!("filtered: {name}: {read} of {size} bytes read, {least} by a take");
            assert!(read <= least && read < size / 4, "{name}: {read} of {size} bytes, {least} by a take");
        }
        // The predicate's own column is read once.
        let size: u64 = buffers[0].iter().map(|b| b.end - b.start).sum();
        let read = read_of(&reads, &buffers[0]);
        assert!(read <= size + size / 4 + 8192, "number: {read} of {size} bytes");
    }
    counted.drain();
    assert_eq!(file.count_rows(Some(&col("number").lt(1000))).expect("count"), 1000);
    let reads = counted.drain();
    assert_eq!(read_of(&reads, &buffers[1]) + read_of(&reads, &buffers[2]), 0);
}

#[test]
fn wide_rows_that_pass_come_in_batches_of_the_bytes_asked() {
    let file = open(&written()).expect("open");
    // Nothing passes for a long time, then everything does.
    let late = file.scan().filter(col("number").ge(100_000)).batch_bytes(1 << 20).threads(2);
    let mut rows = 0;
    for batch in late.batches().expect("a predicate of the file") {
        let batch = batch.expect("rows");
        rows += batch.num_rows();
        let bytes: usize =
            batch.columns().iter().map(|c| c.to_data().get_slice_memory_size().unwrap_or(0)).sum();
        assert!(bytes < 2 << 20, "{bytes} bytes in a batch of {} rows", batch.num_rows());
    }
    assert_eq!(rows, ROWS / 2);
}

#[test]
fn batches_of_any_rows_and_bytes_are_batches_of_all_from_any_row() {
    let file = open(&written()).expect("open");
    // Without a column there is no bound to the rows of a batch but this.
    let all = || file.scan().rows(1..ROWS as u64).batch_rows(usize::MAX).filter(Predicate::Constant(true));
    for threads in [1, 2] {
        for scan in [all(), all().batch_bytes(usize::MAX)] {
            let scan = scan.threads(threads);
            assert_eq!(scan.clone().count().expect("count"), ROWS as u64 - 1);
            let batches = scan.columns(&["number"]).batches().expect("a predicate of the file");
            assert_eq!(batches.map(|b| b.expect("rows").num_rows()).sum::<usize>(), ROWS - 1);
        }
    }
}

#[test]
fn a_predicate_that_does_not_fit_the_file_is_an_error_before_any_batch() {
    let file = open(&written()).expect("open");
    let message = |p: &str| {
        let predicate = Predicate::parse(p).expect("syntax");
        file.scan().filter(predicate).batches().map(|_| ()).expect_err(p).to_string()
    };
    assert!(message("nmber > 3").contains("close names are number"), "{}", message("nmber > 3"));
    assert_eq!(message("number > 'a'"), "'a' does not fit int64 column number: expected a whole number");
    let empty = file.scan().columns(&["text"]).filter(col("number").lt(0)).batches().expect("a filter");
    assert_eq!(empty.schema().fields().len(), 1);
    assert_eq!(empty.count(), 0);
    let both = file.scan().filter(col("number").lt(10)).filter(col("number").ge(8)).limit(1);
    assert_eq!(both.count().expect("count"), 1);
}

#[test]
fn blobs_are_fetched_for_the_rows_that_pass_and_not_to_see_whether_they_are_null() {
    const BLOB: usize = 50_000;
    let values = |i: usize| (!i.is_multiple_of(5)).then(|| vec![i as u8; BLOB]);
    let blobs: LargeBinaryArray = (0..200).map(values).collect();
    let blob = Field::new("blob", DataType::LargeBinary, true)
        .with_metadata([("lance-encoding:blob".to_owned(), "true".to_owned())]);
    let schema = Arc::new(Schema::new(vec![Field::new("id", DataType::Int64, false), blob]));
    let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(0..200));
    let batch = RecordBatch::try_new(schema.clone(), vec![ids, Arc::new(blobs)]).expect("two columns");
    for version in [FormatVersion::V2_0, FormatVersion::V2_1, FormatVersion::V2_2] {
        let mut options = WriteOptions::default();
        options.format_version = version;
        let bytes = write(&schema, std::slice::from_ref(&batch), options).expect("write");
        let counted = Counted::new(bytes);
        let file = File::from_read_at(counted.clone(), &reading(0)).expect("open");
        counted.drain();
        for view in [BlobView::Auto, BlobView::Values, BlobView::Descriptors] {
            let nulls = file.scan().blobs(view).filter(col("blob").is_null());
            assert_eq!(nulls.clone().count().expect("count"), 40, "{version}");
            let ids = nulls.columns(&["id"]).batches().expect("ids").map(|b| b.expect("rows").num_rows());
            assert_eq!(ids.sum::<usize>(), 40);
        }
        assert!(total(&counted.drain()) < BLOB as u64, "{version}");
        let two = file.scan().filter(col("id").is_in([7, 11]) & !col("blob").is_null()).threads(1);
        let found: Vec<RecordBatch> =
            two.batches().expect("a filter").collect::<Result<_, _>>().expect("rows");
        assert_eq!(difference(&[batch.slice(7, 1), batch.slice(11, 1)], &found), None, "{version}");
        let read = total(&counted.drain());
        assert!((2 * BLOB as u64..3 * BLOB as u64).contains(&read), "{version}: {read} bytes");
        // Asked about their bytes they are read.
        let begin = file.scan().filter(col("blob").starts_with(vec![7u8; 9])).count();
        assert_eq!(begin.expect("count"), 1, "{version}");
        let descriptors =
            file.scan().blobs(BlobView::Descriptors).filter(col("id").eq(7)).batches().expect("a filter");
        let found: Vec<RecordBatch> = descriptors.collect::<Result<_, _>>().expect("rows");
        assert!(found[0].column(1).as_struct_opt().is_some(), "{version}");
    }
}

/// Types that are stored as others, some of them with dictionaries or runs, in many pages.
#[test]
fn columns_of_every_restored_type_are_kept_from_the_predicate_or_read_for_the_rows_that_pass() {
    const ROWS: usize = 20_000;
    let mut g = Generator::new(11, Wanted::new(FormatVersion::V2_2));
    let mut types = vec![
        DataType::Utf8View,
        DataType::BinaryView,
        DataType::Decimal32(9, 2),
        DataType::Interval(arrow_schema::IntervalUnit::MonthDayNano),
        DataType::Dictionary(Box::new(DataType::Int8), Box::new(DataType::Utf8)),
    ];
    types.extend([DataType::Float16, DataType::Boolean, DataType::Null, DataType::FixedSizeBinary(3)]);
    let mut fields = vec![Field::new("id", DataType::Int64, false)];
    let mut columns: Vec<ArrayRef> = vec![Arc::new(Int64Array::from_iter_values(0..ROWS as i64))];
    for (i, data_type) in types.into_iter().enumerate() {
        let field = Field::new(format!("c{i}"), data_type, true);
        let array: ArrayRef = match field.data_type() {
            DataType::Utf8View => Arc::new(
                (0..ROWS)
                    .map(|i| (i % 3 > 0).then(|| "v".repeat(i % 20)))
                    .collect::<arrow_array::StringViewArray>(),
            ),
            DataType::BinaryView => Arc::new(
                (0..ROWS)
                    .map(|i| (i % 3 > 0).then(|| vec![1u8; i % 20]))
                    .collect::<arrow_array::BinaryViewArray>(),
            ),
            DataType::Decimal32(..) => Arc::new(
                (0..ROWS as i32)
                    .collect::<arrow_array::Decimal32Array>()
                    .with_precision_and_scale(9, 2)
                    .expect("9, 2"),
            ),
            DataType::Interval(_) => Arc::new(
                (0..ROWS)
                    .map(|i| Some(IntervalMonthDayNano::new(i as i32, 1, 2)))
                    .collect::<arrow_array::IntervalMonthDayNanoArray>(),
            ),
            _ => g.array(&field, ROWS),
        };
        fields.push(field);
        columns.push(array);
    }
    let schema = Arc::new(Schema::new(fields));
    let batch = RecordBatch::try_new(schema.clone(), columns).expect("columns of one length");
    let bytes = match write(&schema, std::slice::from_ref(&batch), WriteOptions::default()) {
        Ok(bytes) => bytes,
        Err(e) => panic!("{e}"),
    };
    let file = open(&bytes).expect("open");
    let read = scan(&file, &Part::default()).expect("scan");
    let table = whole(&read[0].schema(), &read);
    let any =
        table.schema().fields().iter().skip(1).fold(col("id").lt(0), |any, f| any | col(f.name()).is_null());
    for predicate in [
        col("id").lt(100),
        col("id").ge(100) & !any.clone(),
        any.clone() & col("id").gt(5),
        any & col("id").is_in((0..ROWS as i64).step_by(997)),
    ] {
        let bits = BooleanArray::new(
            predicate.bind(&table.schema()).expect("bind").evaluate(&table).expect("bits"),
            None,
        );
        for batch_rows in [50, 3000] {
            let found = file.scan().filter(predicate.clone()).batch_rows(batch_rows).threads(2).batches();
            let found: Vec<RecordBatch> = found.expect("a filter").collect::<Result<_, _>>().expect("rows");
            assert_eq!(difference(&[filtered(&table, &bits)], &found), None, "{predicate}");
        }
    }
}

#[test]
fn strings_are_handed_out_as_views_when_asked() {
    let text =
        |i: usize| (i % 7 != 3).then(|| "a string that is no longer inline ".repeat(i % 3) + &i.to_string());
    let names: StringArray = (0..2000).map(text).collect();
    let blobs: BinaryArray = (0..2000).map(|i| text(i).map(String::into_bytes)).collect();
    let inner = arrow_array::StructArray::from(vec![(
        Arc::new(Field::new("name", DataType::Utf8, true)),
        Arc::new(names.clone()) as ArrayRef,
    )]);
    let columns: Vec<(&str, ArrayRef)> =
        vec![("name", Arc::new(names)), ("blob", Arc::new(blobs)), ("inner", Arc::new(inner))];
    let table = RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(n, c)| (n, c, true)))
        .expect("a batch");
    let bytes = write(&table.schema(), std::slice::from_ref(&table), WriteOptions::default()).expect("write");
    let file = open(&bytes).expect("open");

    let compared = |found: &[RecordBatch], expected: &RecordBatch| {
        let schema = found[0].schema();
        let kinds: Vec<&DataType> = schema.fields().iter().map(|f| f.data_type()).collect();
        assert_eq!(kinds[..2], [&DataType::Utf8View, &DataType::BinaryView]);
        let DataType::Struct(fields) = kinds[2] else { panic!("{:?}", kinds[2]) };
        assert_eq!(fields[0].data_type(), &DataType::Utf8View);
        let plain: Vec<RecordBatch> = found
            .iter()
            .map(|batch| {
                let cast =
                    |(c, f): (&ArrayRef, &Arc<Field>)| arrow_cast::cast(c, f.data_type()).expect("a cast");
                let columns = batch.columns().iter().zip(table.schema().fields()).map(cast).collect();
                RecordBatch::try_new(table.schema(), columns).expect("a batch")
            })
            .collect();
        assert_eq!(difference(std::slice::from_ref(expected), &plain), None);
    };
    let read = |scan: pennon_file::Scan| -> Vec<RecordBatch> {
        scan.string_views(true).batches().expect("a scan").collect::<Result<_, _>>().expect("rows")
    };
    compared(&read(file.scan().batch_rows(300)), &table);
    let taken = file.take(&[5, 1999, 5]).string_views(true).read().expect("rows");
    let rows = arrow_array::UInt64Array::from(vec![5, 1999, 5]);
    compared(&taken, &arrow_select::take::take_record_batch(&table, &rows).expect("rows"));
    // The column that is tested is one of those handed out.
    let predicate = col("name").eq(text(100).expect("not null"));
    compared(&read(file.scan().filter(predicate)), &table.slice(100, 1));
}
