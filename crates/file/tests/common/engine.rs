//! The public interface as the tests use it, and the answers they expect from it.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, FixedSizeListArray, GenericListArray, OffsetSizeTrait, RecordBatch, RecordBatchOptions,
    StructArray, UInt64Array, cast::AsArray,
};
use arrow_schema::{DataType, Field, FieldRef, Schema, SchemaRef};
use bytes::Bytes;
use pennon_file::io::MappingPolicy;
use pennon_file::{Compression, File, FileWriter, FormatVersion, OpenOptions, Preset, Result, WriteOptions};

use super::generate::PACKED;
use super::rng::Rng;

/// The format versions that are written.
pub const VERSIONS: [FormatVersion; 3] = [FormatVersion::V2_0, FormatVersion::V2_1, FormatVersion::V2_2];

/// What is usual, in a format version.
pub fn options(version: FormatVersion) -> WriteOptions {
    let mut options = WriteOptions::default();
    options.format_version = version;
    options
}

/// Writes `batches` into memory.
pub fn write(schema: &SchemaRef, batches: &[RecordBatch], options: WriteOptions) -> Result<Bytes> {
    let mut writer = FileWriter::new(Vec::new(), schema, options)?;
    for batch in batches {
        writer.write(batch)?;
    }
    Ok(Bytes::from(writer.finish()?))
}

/// Opens a file in memory.
pub fn open(bytes: &Bytes) -> Result<File> {
    let mut options = OpenOptions::default();
    options.allow_unstable = true;
    File::from_bytes(bytes.clone(), &options)
}

/// What to scan.
#[derive(Debug, Clone, Default)]
pub struct Part<'a> {
    pub columns: Option<&'a [&'a str]>,
    pub rows: Option<Range<u64>>,
    pub batch_rows: Option<usize>,
    pub batch_bytes: Option<usize>,
    pub threads: Option<usize>,
}

pub fn scan(file: &File, part: &Part<'_>) -> Result<Vec<RecordBatch>> {
    let mut scan = file.scan();
    if let Some(columns) = part.columns {
        scan = scan.columns(columns);
    }
    if let Some(rows) = &part.rows {
        scan = scan.rows(rows.clone());
    }
    if let Some(n) = part.batch_rows {
        scan = scan.batch_rows(n);
    }
    if let Some(n) = part.batch_bytes {
        scan = scan.batch_bytes(n);
    }
    if let Some(n) = part.threads {
        scan = scan.threads(n);
    }
    let batches = scan.batches()?;
    let schema = batches.schema();
    let batches: Vec<RecordBatch> = batches.collect::<Result<_>>()?;
    for batch in &batches {
        assert_eq!(batch.schema(), schema, "a batch has another schema than its scan");
        assert!(
            part.batch_rows.is_none_or(|n| batch.num_rows() <= n),
            "{} rows in a batch of at most {:?}",
            batch.num_rows(),
            part.batch_rows
        );
    }
    Ok(at_least_one(batches, &schema))
}

pub fn take(file: &File, rows: &[u64], columns: Option<&[&str]>) -> Result<Vec<RecordBatch>> {
    let mut take = file.take(rows);
    if let Some(columns) = columns {
        take = take.columns(columns);
    }
    let batches = take.batches()?;
    let schema = batches.schema();
    let batches: Vec<RecordBatch> = batches.collect::<Result<_>>()?;
    for batch in &batches {
        assert_eq!(batch.schema(), schema, "a batch has another schema than its take");
    }
    Ok(at_least_one(batches, &schema))
}

/// An empty batch in place of none, so that schemas are compared in any case.
fn at_least_one(mut batches: Vec<RecordBatch>, schema: &SchemaRef) -> Vec<RecordBatch> {
    if batches.is_empty() {
        batches.push(RecordBatch::new_empty(schema.clone()));
    }
    batches
}

// ---- expected answers

/// All rows in one batch.
pub fn whole(schema: &SchemaRef, batches: &[RecordBatch]) -> RecordBatch {
    if let [one] = batches {
        return one.clone();
    }
    if schema.fields().is_empty() {
        let rows = batches.iter().map(RecordBatch::num_rows).sum();
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        return RecordBatch::try_new_with_options(schema.clone(), vec![], &options).expect("no columns");
    }
    arrow_select::concat::concat_batches(schema, batches).expect("batches of one schema")
}

pub fn expected_take(whole: &RecordBatch, rows: &[u64]) -> RecordBatch {
    if rows.is_empty() {
        return whole.slice(0, 0);
    }
    arrow_select::take::take_record_batch(whole, &UInt64Array::from(rows.to_vec())).expect("rows in range")
}

/// Every path that can be asked for by itself: fields at any depth, as steps.
pub fn paths(schema: &Schema) -> Vec<Vec<String>> {
    fn walk(field: &Field, above: &[String], out: &mut Vec<Vec<String>>) {
        let mut path = above.to_vec();
        path.push(field.name().clone());
        out.push(path.clone());
        children(field, &path, out);
    }
    fn children(field: &Field, path: &[String], out: &mut Vec<Vec<String>>) {
        match field.data_type() {
            DataType::Struct(fields)
                if ![PACKED, "packed"].iter().any(|key| field.metadata().contains_key(key)) =>
            {
                // Of two fields with one name the second has another spelling; not needed here.
                fields.iter().for_each(|f| walk(f, path, out));
            }
            DataType::List(item) | DataType::LargeList(item) => inner(item, path, out),
            DataType::FixedSizeList(item, _) if matches!(item.data_type(), DataType::Struct(_)) => {
                inner(item, path, out)
            }
            _ => {}
        }
    }
    fn inner(item: &Field, path: &[String], out: &mut Vec<Vec<String>>) {
        if matches!(item.data_type(), DataType::Struct(_) | DataType::List(_) | DataType::LargeList(_)) {
            let mut path = path.to_vec();
            path.push("item".to_owned());
            children(item, &path, out);
        }
    }
    let mut out = Vec::new();
    schema.fields().iter().for_each(|f| walk(f, &[], &mut out));
    out
}

/// The text of a path: names with other than letters, digits and `_` in backquotes.
pub fn path_text(path: &[String]) -> String {
    let quote = |name: &String| {
        let plain = !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
        if plain { name.clone() } else { format!("`{}`", name.replace('`', "``")) }
    };
    path.iter().map(quote).collect::<Vec<_>>().join(".")
}

/// One path of `batch`: the fields beside it at every level are left out.
pub fn expected_projection(batch: &RecordBatch, path: &[String]) -> RecordBatch {
    let schema = batch.schema();
    let index = schema.index_of(&path[0]).expect("a top-level name");
    let (field, array) = pruned(&schema.fields()[index], batch.column(index), &path[1..]);
    let schema = Schema::new_with_metadata(vec![field], schema.metadata().clone());
    RecordBatch::try_new(Arc::new(schema), vec![array]).expect("a pruned column")
}

fn pruned(field: &FieldRef, array: &ArrayRef, path: &[String]) -> (FieldRef, ArrayRef) {
    let Some((name, rest)) = path.split_first() else {
        return (field.clone(), array.clone());
    };
    let (array, data_type): (ArrayRef, DataType) = match field.data_type() {
        DataType::Struct(fields) => {
            let (i, child) = fields.find(name).expect("a child's name");
            let a = array.as_struct();
            let (child, values) = pruned(child, a.column(i), rest);
            let new = StructArray::new(vec![child].into(), vec![values], a.nulls().cloned());
            let data_type = new.data_type().clone();
            (Arc::new(new), data_type)
        }
        DataType::List(item) => pruned_list::<i32>(item, array, rest),
        DataType::LargeList(item) => pruned_list::<i64>(item, array, rest),
        DataType::FixedSizeList(item, n) => {
            let a = array.as_fixed_size_list();
            let (item, values) = pruned(item, a.values(), rest);
            let new = FixedSizeListArray::new(item, *n, values, a.nulls().cloned());
            let data_type = new.data_type().clone();
            (Arc::new(new), data_type)
        }
        other => panic!("{other} has no children to project"),
    };
    (Arc::new(field.as_ref().clone().with_data_type(data_type)), array)
}

fn pruned_list<O: OffsetSizeTrait>(
    item: &FieldRef,
    array: &ArrayRef,
    rest: &[String],
) -> (ArrayRef, DataType) {
    let a = array.as_list::<O>();
    let (item, values) = pruned(item, a.values(), rest);
    let new = GenericListArray::<O>::new(item, a.offsets().clone(), values, a.nulls().cloned());
    let data_type = new.data_type().clone();
    (Arc::new(new), data_type)
}

// ---- options

/// Pages and chunks so small that borders fall everywhere.
pub fn force_small(options: &mut WriteOptions, chunk_bytes: usize, page_bytes: usize) {
    options.max_chunk_bytes = chunk_bytes;
    options.max_page_bytes = page_bytes as u64;
}

/// Reads exactly what is asked for: no mapping, nothing read to join two ranges.
pub fn reading_exactly() -> OpenOptions {
    reading(0)
}

/// No mapping; ranges closer than `gap` are read together.
pub fn reading(gap: u64) -> OpenOptions {
    let mut options = OpenOptions::default();
    options.allow_unstable = true;
    options.source.mapping = MappingPolicy::Never;
    options.source.coalesce_gap = gap;
    options
}

/// Any options that change the file and not its values.
pub fn random_options(rng: &mut Rng, version: FormatVersion) -> WriteOptions {
    let mut options = WriteOptions::default();
    options.format_version = version;
    if rng.chance(1, 6) {
        options.alignment = 4096;
    }
    options.checksums = rng.chance(1, 2);
    if rng.chance(1, 2) {
        let (chunk, page) = (*rng.pick(&[64, 200, 1024]), *rng.pick(&[256, 2000, 20_000]));
        force_small(&mut options, chunk, page);
    }
    if rng.chance(1, 4) {
        options.max_chunk_values = Some(*rng.pick(&[2, 4, 64, 1024]));
    }
    if rng.chance(1, 4) {
        options.max_page_rows = Some(*rng.pick(&[1, 3, 100, 1000]));
    }
    if rng.chance(1, 4) {
        options.memory_bytes = *rng.pick(&[1, 1000, 100_000]);
    }
    if rng.chance(1, 4) {
        options.compression = *rng.pick(&[Compression::None, Compression::Lz4, Compression::Zstd(Some(1))]);
    }
    options.preset = random_preset(rng);
    options.thorough = rng.chance(1, 3);
    options
}

/// Any of them; `small`, whose compressor takes its time, less often.
pub fn random_preset(rng: &mut Rng) -> Preset {
    *rng.pick(&[
        Preset::Balanced,
        Preset::Balanced,
        Preset::Balanced,
        Preset::Fast,
        Preset::Fast,
        Preset::Small,
    ])
}

/// Presets for some leaves, or for what they are inside of. Not for paths of 2.0, where structs and lists have columns of their own.
pub fn random_column_presets(rng: &mut Rng, options: &mut WriteOptions, paths: &[String]) {
    if options.format_version == FormatVersion::V2_0 {
        return;
    }
    for path in paths {
        if rng.chance(1, 3) {
            options.column_presets.push((path.clone(), random_preset(rng)));
        }
    }
}

/// An encoding for any leaf, legal for its type or not.
pub fn random_encoding(rng: &mut Rng) -> String {
    let values = [
        "flat",
        "variable",
        "bitpack",
        "rle",
        "bss",
        "fsst",
        "fixedsizelist",
        "packed",
        "plain",
        "dictionary",
        "dictionary(bitpack,general(zstd))",
        "dictionary(rle,plain)",
        "general(lz4)",
        "general(zstd=1,fsst)",
        "general(lz4,rle)",
        "general(zstd,bss)",
        "general(lz4,bitpack)",
    ];
    let levels = ["flat", "bitpack", "outofline", "rle", "general(lz4)", "general(zstd,rle)"];
    match rng.below(3) {
        0 => format!(
            "fullzip:{}",
            rng.pick(&["flat", "variable", "fsst", "general(zstd)", "fixedsizelist", "packed", "plain"])
        ),
        1 => format!("miniblock:{};levels:{}", rng.pick(&values), rng.pick(&levels)),
        _ => format!("miniblock:{}", rng.pick(&values)),
    }
}

/// Paths of all leaves, as they are named when encodings are forced.
pub fn leaf_paths(bytes: &Bytes) -> Result<Vec<String>> {
    Ok(open(bytes)?.inspect()?.columns.into_iter().map(|c| c.path).collect())
}

/// Forces the encoding of one leaf.
pub fn force_encoding(options: &mut WriteOptions, path: &str, encoding: &str) {
    options.encodings.push((path.to_owned(), encoding.to_owned()));
}
