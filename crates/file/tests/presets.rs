//! What holds of every preset: nothing comes out larger than plain values, and wrong use is answered with what is expected.
//!
//! Guards against: a chooser whose estimate is wrong, and presets that are silently ignored.

mod common;

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray, StructArray};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use common::compare::difference;
use common::engine::{Part, open, options, random_options, scan, write};
use common::generate::{Generator, Wanted};
use common::rng::{Rng, seeds};
use common::work::{each, no_failures};
use pennon_file::{Compression, ErrorKind, FormatVersion, Preset, WriteOptions};

/// Bytes of the page buffers of every column.
fn column_bytes(
    schema: &SchemaRef,
    batches: &[RecordBatch],
    options: WriteOptions,
) -> Result<Vec<(String, u64, Vec<String>)>, String> {
    let described = format!("{options:?}");
    let file = write(schema, batches, options).and_then(|bytes| open(&bytes)?.inspect());
    let columns = file.map_err(|e| format!("{e}; {described}"))?.columns.into_iter();
    Ok(columns.map(|c| (c.path.clone(), c.bytes, c.encodings())).collect())
}

#[test]
fn no_column_comes_out_larger_than_plain_values() {
    let seeds: Vec<u64> = seeds("never larger", 600).collect();
    let failures = each(&seeds, |seed| {
        let mut rng = Rng::new(*seed);
        let version = *rng.pick(&[FormatVersion::V2_1, FormatVersion::V2_2]);
        let mut g = Generator::new(rng.word(), Wanted { max_columns: 4, ..Wanted::new(version) });
        let schema = g.schema();
        let most = *rng.pick(&[1, 20, 300, 3000]);
        let rows = 1 + rng.below(most);
        let batches = g.batches(&schema, rows);
        let mut plain = options(version);
        if rng.chance(1, 2) {
            plain.max_page_rows = random_options(&mut rng, version).max_page_rows;
        }
        plain.compression = Compression::None;
        let expected = column_bytes(&schema, &batches, plain.clone())?;
        for (name, preset) in Preset::ALL {
            let mut options = plain.clone();
            options.compression = Compression::Auto;
            options.preset = preset;
            options.thorough = rng.chance(1, 2);
            let found = column_bytes(&schema, &batches, options)?;
            for ((path, plain, was), (_, bytes, is)) in expected.iter().zip(&found) {
                if bytes > plain {
                    return Err(format!(
                        "{name}, {version}, {rows} rows: {path} has {bytes} bytes as {is:?}, plain {plain} as {was:?}; {schema}"
                    ));
                }
            }
        }
        Ok(())
    });
    println!("presets: {} of {} tables hold", seeds.len() - failures.len(), seeds.len());
    no_failures("never larger", &failures, |i| format!("PENNON_SEED={}", seeds[i]));
}

fn numbers(metadata: &[(&str, &str)]) -> (SchemaRef, RecordBatch) {
    let metadata: HashMap<String, String> =
        metadata.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    let schema = Arc::new(Schema::new(vec![Field::new("n", DataType::Int64, true).with_metadata(metadata)]));
    let column: ArrayRef = Arc::new(Int64Array::from_iter_values((0..50_000).map(|i| i * 7)));
    let batch = RecordBatch::try_new(schema.clone(), vec![column]).expect("one column");
    (schema, batch)
}

#[test]
fn wrong_presets_and_columns_are_answered_with_what_is_expected() {
    let (schema, batch) = numbers(&[]);
    let mut options = WriteOptions::default();
    options.column_presets = vec![("n".into(), Preset::Small), ("m".into(), Preset::Fast)];
    let e = write(&schema, std::slice::from_ref(&batch), options).expect_err("no such column");
    assert_eq!(e.kind(), ErrorKind::Invalid);
    assert!(e.message().contains("\"m\"") && e.message().ends_with("expected one of n"), "{e}");

    let (schema, batch) = numbers(&[("lance-encoding:preset", "tiny")]);
    let e = write(&schema, &[batch], WriteOptions::default()).expect_err("no such preset");
    assert_eq!((e.kind(), e.place().column.as_deref()), (ErrorKind::Invalid, Some("n")));
    assert!(e.message().contains("\"tiny\": expected balanced, fast or small"), "{e}");
    assert_eq!("Tiny".parse::<Preset>().expect_err("no such preset").kind(), ErrorKind::Invalid);
}

#[test]
fn metadata_wins_over_the_column_preset_and_that_over_the_preset_of_the_file() {
    let bytes = |metadata: &[(&str, &str)], change: fn(&mut WriteOptions)| {
        let (schema, batch) = numbers(metadata);
        let mut options = WriteOptions::default();
        change(&mut options);
        column_bytes(&schema, &[batch], options).expect("it is written")[0].1
    };
    let fast = bytes(&[], |o| o.preset = Preset::Fast);
    let small = bytes(&[], |o| o.preset = Preset::Small);
    assert!(small * 3 < fast, "{small} and {fast} bytes");
    let column = |o: &mut WriteOptions| {
        o.preset = Preset::Fast;
        o.column_presets = vec![("n".into(), Preset::Small)];
    };
    assert_eq!(bytes(&[], column), small);
    assert_eq!(bytes(&[("lance-encoding:preset", "fast")], column), fast);
}

#[test]
fn strings_in_packed_structs_are_compressed_where_their_metadata_asks_for_it_and_that_helps() {
    let asked = |name: &str, method: Option<&str>| {
        let metadata = method.map(|m| ("lance-encoding:compression".to_owned(), m.to_owned()));
        Field::new(name, DataType::Utf8, false).with_metadata(metadata.into_iter().collect::<HashMap<_, _>>())
    };
    let text =
        |i: usize| format!("the number {i}, which is the number {i}, {}", "and so on ".repeat(1 + i % 9));
    let long: ArrayRef = Arc::new(StringArray::from_iter_values((0..2000).map(text)));
    let short: ArrayRef =
        Arc::new(StringArray::from_iter_values((0..2000).map(|i| format!("{:02x}", i * 37 % 251))));
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..2000));
    let encoding = |values: &ArrayRef, methods: [Option<&str>; 2]| {
        let fields =
            vec![asked("s", methods[0]), Field::new("i", DataType::Int64, false), asked("u", methods[1])];
        let columns = vec![values.clone(), numbers.clone(), values.clone()];
        let array: ArrayRef = Arc::new(StructArray::new(fields.into(), columns, None));
        let field = Field::new("p", array.data_type().clone(), true)
            .with_metadata(HashMap::from([("lance-encoding:packed".to_owned(), "true".to_owned())]));
        let batch = RecordBatch::try_new(Arc::new(Schema::new(vec![field])), vec![array]).expect("a column");
        let bytes = write(&batch.schema(), std::slice::from_ref(&batch), options(FormatVersion::V2_2))
            .expect("write");
        let file = open(&bytes).expect("open");
        let found = scan(&file, &Part::default()).expect("scan");
        assert_eq!(difference(std::slice::from_ref(&batch), &found), None);
        file.inspect().expect("inspect").columns[0].encodings().join("; ")
    };
    let plain = encoding(&long, [None, None]);
    assert!(plain.contains("variable_packed_struct(variable(32), flat(64), variable(32))"), "{plain}");
    let both = encoding(&long, [Some("zstd"), Some("fsst")]);
    assert!(
        both.contains("variable_packed_struct(zstd(variable(32)), flat(64), fsst(variable(32)))"),
        "{both}"
    );
    // Single values of two bytes do not get smaller.
    let none = encoding(&short, [Some("zstd"), Some("zstd")]);
    assert!(none.contains("variable_packed_struct(variable(32), flat(64), variable(32))"), "{none}");
}

#[test]
fn entries_of_a_dictionary_are_stored_as_asked_and_else_as_the_preset_weighs_them() {
    let encodings = |asked: Option<&str>, preset| {
        let field = Field::new("price", DataType::Decimal128(15, 2), true);
        let key = "lance-encoding:dict-values-compression".to_owned();
        let metadata: HashMap<String, String> =
            asked.map(|scheme| (key, scheme.to_owned())).into_iter().collect();
        let schema = Arc::new(Schema::new(vec![field.with_metadata(metadata)]));
        // 20,000 prices, ten of each, none near the last.
        let prices = (0..200_000i128).map(|i| 90_000 + i * 7919 % 20_000 * 5);
        let column = arrow_array::Decimal128Array::from_iter_values(prices).with_precision_and_scale(15, 2);
        let column: ArrayRef = Arc::new(column.expect("a decimal"));
        let batch = RecordBatch::try_new(schema.clone(), vec![column]).expect("one column");
        let mut options = WriteOptions::default();
        options.preset = preset;
        column_bytes(&schema, &[batch], options).expect("written").remove(0).2
    };
    let all = |found: Vec<String>, scheme: &str| {
        let wanted = format!("dictionary({scheme}(flat(128))");
        assert!(!found.is_empty() && found.iter().all(|e| e.contains(&wanted)), "{found:?}, not {wanted}");
    };
    // LZ4 decodes in a fraction of the time, which is what counts there.
    all(encodings(None, Preset::Fast), "lz4");
    all(encodings(None, Preset::Balanced), "zstd");
    all(encodings(Some("zstd"), Preset::Fast), "zstd");
}
