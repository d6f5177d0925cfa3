//! What a read costs: bytes and read calls, counted.
//!
//! Guards against: takes that read whole pages, projections that touch other columns. Every layout has
//! a bound: the chunks that overlap the rows, the rows' bytes by their index, nothing for a constant.

mod common;

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{
    ArrayRef, Date32Array, Decimal128Array, FixedSizeListArray, Float32Array, Int64Array, LargeBinaryArray,
    RecordBatch, StringArray, StructArray,
};
use arrow_schema::{DataType, Field, Fields, Schema};
use bytes::Bytes;
use common::counted::{Counted, inside, total};
use common::engine::{
    Part, expected_projection, expected_take, path_text, paths, reading, reading_exactly, scan, take, whole,
    write,
};
use common::rng::Rng;
use common::shared::{Golden, goldens};
use common::work::{each, no_failures};
use pennon_file::{File, FormatVersion, PageInspection, WriteOptions};

fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    let fields: Vec<Field> =
        columns.iter().map(|(n, a)| Field::new(*n, a.data_type().clone(), true)).collect();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns.into_iter().map(|c| c.1).collect())
        .expect("columns of one length")
}

fn written(batches: &[RecordBatch]) -> Bytes {
    write(&batches[0].schema(), batches, WriteOptions::default()).expect("write")
}

fn opened(bytes: &Bytes, gap: u64) -> (Arc<Counted>, File) {
    let counted = Counted::new(bytes.clone());
    let file = File::from_read_at(counted.clone(), &reading(gap)).expect("open");
    (counted, file)
}

/// All bytes of a column's page buffers, as ranges of the file.
fn buffers_of(file: &File, path: &str) -> Vec<Range<u64>> {
    let inspection = file.inspect().expect("inspect");
    let columns =
        inspection.columns.iter().filter(|c| c.path == path || c.path.starts_with(&format!("{path}.")));
    columns
        .flat_map(|c| &c.pages)
        .flat_map(|p| &p.buffers)
        .map(|(offset, bytes)| *offset..offset + bytes)
        .collect()
}

fn bytes_in(reads: &[Range<u64>], buffers: &[Range<u64>]) -> u64 {
    buffers.iter().map(|b| inside(reads, b)).sum()
}

#[test]
fn a_take_of_100_rows_of_a_wide_table_never_reads_a_whole_page() {
    const ROWS: usize = 1_700_000;
    const PART: usize = 100_000;
    let mut rng = Rng::new(16);
    let batches: Vec<RecordBatch> = (0..ROWS / PART)
        .map(|part| {
            let first = (part * PART) as i64;
            let mut number = |n: u64| rng.word() % n;
            let prices = (0..PART).map(|_| i128::from(90_000 + number(10_000_000)));
            batch(vec![
                (
                    "orderkey",
                    Arc::new(Int64Array::from_iter_values((0..PART as i64).map(|i| (first + i) / 4))),
                ),
                (
                    "price",
                    Arc::new(
                        Decimal128Array::from_iter_values(prices)
                            .with_precision_and_scale(15, 2)
                            .expect("15, 2"),
                    ),
                ),
                (
                    "partkey",
                    Arc::new(Int64Array::from_iter_values((0..PART).map(|_| number(200_000) as i64))),
                ),
                (
                    "flag",
                    Arc::new(StringArray::from_iter_values(
                        (0..PART).map(|_| ["A", "N", "R"][number(3) as usize]),
                    )),
                ),
                (
                    "shipdate",
                    Arc::new(Date32Array::from_iter_values((0..PART).map(|_| 8000 + number(2500) as i32))),
                ),
                (
                    "mode",
                    Arc::new(StringArray::from_iter_values(
                        (0..PART).map(|_| ["MAIL", "AIR", "TRUCK", "SHIP", "RAIL"][number(5) as usize]),
                    )),
                ),
            ])
        })
        .collect();
    let bytes = written(&batches);
    let asked: Vec<u64> = (0..100).map(|_| rng.below(ROWS) as u64).collect();
    for gap in [0, 4096] {
        let (counted, file) = opened(&bytes, gap);
        let opening = counted.drain();
        let found = take(&file, &asked, None).expect("take");
        let reads = counted.drain();
        assert_eq!(found.iter().map(RecordBatch::num_rows).sum::<usize>(), 100);
        let mut worst = 0.0_f64;
        for column in &file.inspect().expect("inspect").columns {
            for page in column.pages.iter().filter(|p| p.layout != "constant") {
                let buffers: Vec<_> = page.buffers.iter().map(|(o, n)| *o..o + n).collect();
                let size: u64 = buffers.iter().map(|b| b.end - b.start).sum();
                let read = bytes_in(&reads, &buffers);
                worst = worst.max(read as f64 / size as f64);
                // Reads joined over small gaps may cover a page of few bytes; exact ones never do.
                assert!(
                    gap > 0 || read < size,
                    "{}: {read} of {size} bytes of a page of {} rows",
                    column.path,
                    page.num_rows
                );
            }
        }
        println!(
            "reads: take of 100 rows of {ROWS}, gap {gap}: opening {} reads, then {} reads of {} bytes; file {} bytes; worst page {:.0} %",
            opening.len(),
            reads.len(),
            total(&reads),
            bytes.len(),
            worst * 100.0
        );
    }
    let expected = expected_take(&whole(&batches[0].schema(), &batches), &asked);
    let (_, file) = opened(&bytes, 0);
    assert_eq!(common::compare::difference(&[expected], &take(&file, &asked, None).expect("take")), None);
}

#[test]
fn one_row_of_a_3_kib_vector_column_reads_at_most_8_kib() {
    const DIMENSION: usize = 768;
    let values = Float32Array::from_iter_values((0..2000 * DIMENSION).map(|i| i as f32));
    let item = Arc::new(Field::new("item", DataType::Float32, true));
    let vectors = FixedSizeListArray::new(item, DIMENSION as i32, Arc::new(values), None);
    let batch =
        batch(vec![("id", Arc::new(Int64Array::from_iter_values(0..2000))), ("vector", Arc::new(vectors))]);
    for checksums in [false, true] {
        let mut options = WriteOptions::default();
        options.checksums = checksums;
        let bytes = write(&batch.schema(), std::slice::from_ref(&batch), options).expect("write");
        // The checksums of a page are read once, with its index: 4 bytes for each 4 KiB of the page.
        let page_checksums = if checksums { (2000 * 4 * DIMENSION as u64).div_ceil(4096) * 4 } else { 0 };
        for row in [0, 777, 1999] {
            let (counted, file) = opened(&bytes, 4096);
            counted.drain();
            let found = take(&file, &[row], Some(&["vector"])).expect("take");
            let reads = counted.drain();
            take(&file, &[row / 2 + 1], Some(&["vector"])).expect("take");
            let warm = total(&counted.drain());
            println!(
                "reads: one vector, checksums {checksums}: {} reads of {} bytes; the next {warm}",
                reads.len(),
                total(&reads)
            );
            assert!(total(&reads) <= 8192 + page_checksums, "row {row}: {reads:?}");
            assert!(bytes_in(&reads, &buffers_of(&file, "vector")) <= 8192, "row {row}: {reads:?}");
            assert!(warm <= 8192, "row {}: {warm} bytes", row / 2 + 1);
            let expected = expected_take(&batch, &[row]).project(&[1]).expect("column 1");
            assert_eq!(common::compare::difference(&[expected], &found), None);
        }
    }
}

#[test]
fn the_ids_alone_of_a_table_of_images_read_no_image_byte() {
    let mut rng = Rng::new(20);
    let images: Vec<Vec<u8>> = (0..200).map(|_| (0..20_000).map(|_| rng.word() as u8).collect()).collect();
    let batch = batch(vec![
        ("id", Arc::new(Int64Array::from_iter_values(0..200))),
        ("image", Arc::new(LargeBinaryArray::from_iter_values(images.iter()))),
    ]);
    let bytes = written(&[batch]);
    let (counted, file) = opened(&bytes, 4096);
    let images = buffers_of(&file, "image");
    assert!(images.iter().map(|b| b.end - b.start).sum::<u64>() >= 4_000_000);
    let (counted_fresh, fresh) = opened(&bytes, 4096);
    counted.drain();
    // Opening may read the tail of the file, whatever lies there; only what follows counts.
    counted_fresh.drain();
    scan(&fresh, &Part { columns: Some(&["id"]), ..Part::default() }).expect("scan");
    take(&fresh, &[3, 199, 7], Some(&["id"])).expect("take");
    let reads = counted_fresh.drain();
    assert_eq!(bytes_in(&reads, &images), 0, "{reads:?}");
    println!("reads: ids of {} bytes of images: {} bytes", bytes.len(), total(&reads));
}

#[test]
fn one_child_of_a_struct_reads_only_the_columns_of_that_child() {
    let n = 50_000;
    let mut rng = Rng::new(4);
    let children: Vec<(&str, ArrayRef)> = vec![
        ("a", Arc::new(Int64Array::from_iter_values((0..n).map(|_| rng.word() as i64)))),
        ("b", Arc::new(StringArray::from_iter_values((0..n).map(|i| format!("number {i}"))))),
        ("c", Arc::new(Float32Array::from_iter_values((0..n).map(|i| i as f32 * 0.3)))),
    ];
    let fields: Fields = children.iter().map(|(n, a)| Field::new(*n, a.data_type().clone(), true)).collect();
    let array = StructArray::new(fields, children.into_iter().map(|c| c.1).collect(), None);
    let bytes = written(&[batch(vec![("s", Arc::new(array))])]);
    for (child, others) in [("s.a", ["s.b", "s.c"]), ("s.b", ["s.a", "s.c"]), ("s.c", ["s.a", "s.b"])] {
        let (counted, file) = opened(&bytes, 0);
        let (own, others) = (buffers_of(&file, child), others.map(|o| buffers_of(&file, o)).concat());
        let (counted, fresh) = {
            drop(counted);
            opened(&bytes, 0)
        };
        counted.drain();
        scan(&fresh, &Part { columns: Some(&[child]), ..Part::default() }).expect("scan");
        let reads = counted.drain();
        assert_eq!(bytes_in(&reads, &others), 0, "{child}");
        assert!(bytes_in(&reads, &own) > 0, "{child}");
    }
}

#[test]
fn three_rows_of_lists_in_2_0_read_their_offsets_and_their_items_alone() {
    use arrow_array::builder::{Int64Builder, ListBuilder, StringBuilder};
    const ROWS: usize = 20_000;
    let mut numbers = ListBuilder::new(ListBuilder::new(Int64Builder::new()));
    let mut texts = ListBuilder::new(StringBuilder::new());
    for row in 0..ROWS {
        for k in 0..row % 3 {
            (0..k + 1).for_each(|i| numbers.values().values().append_value((row * i) as i64));
            numbers.values().append(true);
            texts.values().append_value(format!("text {k} of row {row}"));
        }
        numbers.append(row % 7 != 0);
        texts.append(true);
    }
    let batch = batch(vec![("n", Arc::new(numbers.finish())), ("t", Arc::new(texts.finish()))]);
    let mut options = WriteOptions::default();
    options.format_version = FormatVersion::V2_0;
    options.checksums = false;
    let bytes = write(&batch.schema(), std::slice::from_ref(&batch), options).expect("write");
    let asked = [5, 10_001, 19_999];
    // Per row of n: two offsets of lists, three of the lists in them, and three numbers. Of t: two offsets, three indices
    // and some forty letters.
    for (path, most, rounds) in [("n", 3 * (16 + 24 + 24), 3), ("t", 3 * (16 + 24 + 48), 3)] {
        let (counted, file) = opened(&bytes, 0);
        counted.drain();
        let found = take(&file, &asked, Some(&[path])).expect("take");
        let reads = counted.drain();
        let read = bytes_in(&reads, &buffers_of(&file, path));
        println!("reads: three rows of lists, {path}: {} reads, {read} bytes of pages", reads.len());
        assert!(read <= most, "{path}: {read} bytes: {reads:?}");
        assert!(reads.len() <= 1 + 3 * rounds, "{path}: {reads:?}");
        let expected = expected_projection(&batch, &[path.to_owned()]);
        assert_eq!(common::compare::difference(&[expected_take(&expected, &asked)], &found), None);
    }
}

// ---- golden files

#[test]
fn three_rows_of_each_column_of_each_golden_file_read_no_more_than_its_layout_needs() {
    let all = goldens();
    let files: Vec<&Golden> = all
        .files
        .iter()
        .filter(|g| ["2.0", "2.1", "2.2"].contains(&g.version.as_str()) && !g.is_blob())
        .collect();
    let sums = std::sync::Mutex::new([0_u64; 4]);
    let failures = each(&files, |golden| {
        let found = three_rows(golden)?;
        let mut sums = sums.lock().expect("no panic while held");
        sums.iter_mut().zip(found).for_each(|(s, f)| *s += f);
        Ok(())
    });
    let [columns, reads, read_bytes, bound] = sums.into_inner().expect("no panic while held");
    println!(
        "reads: three rows of {columns} columns of {} golden files: {reads} reads, {read_bytes} bytes; bounds {bound}",
        files.len()
    );
    no_failures("reads", &failures, |i| files[i].name());
}

/// Columns, reads, bytes read of page buffers, and what the layouts allow.
fn three_rows(golden: &Golden) -> Result<[u64; 4], String> {
    let bytes = Bytes::from(std::fs::read(&golden.file).map_err(|e| e.to_string())?);
    let rows = golden.rows;
    let mut sums = [0; 4];
    if rows == 0 {
        return Ok(sums);
    }
    let mut rng = Rng::new(golden.rows);
    let version = golden.version.parse::<FormatVersion>().map_err(|e| e.to_string())?;
    let inspected = File::from_bytes(bytes.clone(), &reading_exactly()).map_err(|e| e.to_string())?;
    let inspection = inspected.inspect().map_err(|e| e.to_string())?;
    let schema = inspected.schema().map_err(|e| e.to_string())?;
    let mut asked: Vec<u64> = (0..3).map(|_| rng.word() % rows).collect();
    asked.sort_unstable();
    asked.dedup();
    for path in paths(&schema).iter().take(30) {
        if schema.fields().iter().filter(|f| *f.name() == path[0]).count() > 1 {
            continue;
        }
        let text = path_text(path);
        let below = |p: &str| p == text || p.strip_prefix(&text).is_some_and(|rest| rest.starts_with('.'));
        let columns: Vec<_> = inspection.columns.iter().filter(|c| below(&c.path)).collect();
        // Below the lists of 2.0 a page has items, which only other columns tell the rows of.
        let is_list =
            |c: &pennon_file::ColumnInspection| c.pages.iter().any(|p| p.encoding.starts_with("list("));
        let below_list =
            inspection.columns.iter().any(|c| is_list(c) && text.starts_with(&format!("{}.", c.path)));
        if columns.len() != 1 || below_list {
            continue;
        }
        let (counted, file) = opened(&bytes, 0);
        counted.drain();
        take(&file, &asked, Some(&[&text])).map_err(|e| format!("{text}: {e}"))?;
        let reads = counted.drain();
        let (mut read, mut bound) = (0, 0);
        for page in &columns[0].pages {
            let buffers: Vec<_> = page.buffers.iter().map(|(o, n)| *o..o + n).collect();
            let page_read = bytes_in(&reads, &buffers);
            let rows: Vec<u64> = asked
                .iter()
                .filter(|r| (page.first_row..page.first_row + page.num_rows).contains(r))
                .map(|r| r - page.first_row)
                .collect();
            let page_bound = if rows.is_empty() { 0 } else { needed(&bytes, page, &rows, version)? };
            if page_read > page_bound {
                return Err(format!(
                    "{text}: rows {asked:?}: {page_read} bytes of the page of rows {}+{} ({} {}), whose layout needs {page_bound}; reads {reads:?}, buffers {buffers:?}",
                    page.first_row, page.num_rows, page.layout, page.encoding
                ));
            }
            read += page_read;
            bound += page_bound;
        }
        let most = 4 + 12 * asked.len() * columns[0].pages.len().min(3);
        if reads.len() > most {
            return Err(format!("{text}: {} reads for {} rows", reads.len(), asked.len()));
        }
        sums = [sums[0] + 1, sums[1] + reads.len() as u64, sums[2] + read, sums[3] + bound];
    }
    Ok(sums)
}

/// Bytes of a page that its layout makes necessary for these rows (of the page, ascending).
fn needed(file: &Bytes, page: &PageInspection, rows: &[u64], version: FormatVersion) -> Result<u64, String> {
    let buffer =
        |i: usize| &file[page.buffers[i].0 as usize..(page.buffers[i].0 + page.buffers[i].1) as usize];
    let size = |i: usize| page.buffers[i].1;
    let all: u64 = page.buffers.iter().map(|b| b.1).sum();
    match page.layout {
        "constant" => Ok(all),
        // Dictionaries are read whole, and what is compressed as one.
        "plain" if ["dictionary", "zstd", "lz4"].iter().any(|c| page.encoding.contains(c)) => Ok(all),
        "plain" if page.encoding.contains("binary") => {
            // Two indices and the bytes between; a null's index is beyond those of all bytes.
            let total = size(1);
            let end = |row: u64| match row {
                0 => 0,
                _ => {
                    let at = (row - 1) as usize * 8;
                    let index = u64::from_le_bytes(buffer(0)[at..at + 8].try_into().expect("8 bytes"));
                    if index > total { index - total - 1 } else { index }
                }
            };
            Ok(rows.iter().map(|r| 16 + end(r + 1) - end(*r)).sum())
        }
        "plain" => {
            // A bit stands in a byte with others, a row of bits in two.
            let row = (0..page.buffers.len()).map(|i| size(i) / page.num_rows + 2).sum::<u64>();
            Ok(row * rows.len() as u64)
        }
        "full-zip" if page.buffers.len() < 2 => Ok(size(0) / page.num_rows * rows.len() as u64),
        "full-zip" => {
            let index = buffer(1);
            // Rows below fixed-size lists of structs have several entries each: the index tells how many.
            let widths = [1, 2, 4, 8];
            let width = widths.iter().copied().find(|w| {
                (index.len() as u64).is_multiple_of(page.num_rows + 1)
                    && index.len() as u64 / (page.num_rows + 1) == *w
            });
            let Some(width) = width else { return Ok(all) };
            let entry = |i: u64| {
                let mut word = [0; 8];
                word[..width as usize]
                    .copy_from_slice(&index[(i * width) as usize..((i + 1) * width) as usize]);
                u64::from_le_bytes(word)
            };
            Ok(rows.iter().map(|r| 2 * width + entry(r + 1) - entry(*r)).sum())
        }
        // A page this small comes whole with its chunk table, in one round.
        _ if all <= 8192 => Ok(all),
        _ => {
            let word_bytes = if version.has_large_chunks() { 4 } else { 2 };
            let words: Vec<u64> = buffer(0)
                .chunks(word_bytes)
                .map(|c| c.iter().rev().fold(0, |w, b| w << 8 | u64::from(*b)))
                .collect();
            let sizes: Vec<u64> = words.iter().map(|w| ((w >> 4) + 1) * 8).collect();
            let has_lists = page.levels.contains("rep ");
            let chunks: Vec<Range<usize>> = if has_lists {
                let index: Vec<u64> = buffer(page.buffers.len() - 1)
                    .chunks(8)
                    .map(|c| u64::from_le_bytes(c.try_into().expect("8 bytes")))
                    .collect();
                let (mut ends, mut starts, mut sum) = (Vec::new(), Vec::new(), 0);
                for pair in index.chunks(2) {
                    sum += pair[0];
                    ends.push(sum);
                    starts.push(sum + u64::from(pair[1] != 0));
                }
                rows.iter()
                    .map(|r| {
                        let first = starts.iter().position(|s| s > r).unwrap_or(0);
                        let last = ends.iter().position(|e| e > r).unwrap_or(ends.len() - 1);
                        first..last + 1
                    })
                    .collect()
            } else {
                let scale = (page.num_values / page.num_rows).max(1);
                let mut ends = Vec::new();
                let mut sum = 0;
                for (i, word) in words.iter().enumerate() {
                    sum += if i + 1 == words.len() { page.num_values - sum } else { 1 << (word & 15) };
                    ends.push(sum);
                }
                let chunk_of = |value: u64| ends.iter().position(|e| *e > value).unwrap_or(ends.len() - 1);
                rows.iter().map(|r| chunk_of(r * scale)..chunk_of((r + 1) * scale - 1) + 1).collect()
            };
            let mut hit = vec![false; sizes.len()];
            chunks.into_iter().flatten().for_each(|c| hit[c] = true);
            let chunks: u64 = sizes.iter().zip(hit).filter(|(_, h)| *h).map(|(s, _)| s).sum();
            Ok(all - size(1) + chunks)
        }
    }
}

#[test]
fn a_handle_keeps_what_finds_values_and_no_values() {
    let rows = 200_000;
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values((0..rows).map(|i| i * 7919 % 1_000_003)));
    let table = batch(vec![("n", numbers)]);
    let bytes = written(std::slice::from_ref(&table));
    let (_, file) = opened(&bytes, 0);
    let opened = file.held();
    assert!(opened.metadata > 0 && opened.metadata < 70_000, "{opened:?}");
    assert_eq!(opened.total(), opened.metadata);
    let scanned = scan(&file, &Part::default()).expect("scan");
    assert_eq!(scanned.iter().map(RecordBatch::num_rows).sum::<usize>(), rows as usize);
    let held = file.held();
    // 5 bytes for a chunk of 1,024 values, 4 for 4,096 bytes.
    assert!(held.chunk_tables > 0 && held.chunk_tables <= 5 * (rows as u64 / 1024 + 64), "{held:?}");
    assert!(held.checksums > 0 && held.checksums <= 8 * (bytes.len() as u64 / 4096 + 16), "{held:?}");
    assert!(held.total() < table.get_array_memory_size() as u64 / 10, "{held:?}");
    take(&file, &[5, 150_000], None).expect("take");
    assert_eq!(file.held(), held);
}
