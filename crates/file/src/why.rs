//! Why the columns of a file are stored as they are, or would be under another preset.
//!
//! ```text
//! for each top-level field:   scan ──▶ batches ──▶ FileEncoder ──▶ choices        bytes are dropped
//!                                                                    │ sums over pages
//!                             inspect ──▶ what the file has ─────────┴──▶ ExplainedColumn
//! ```
//!
//! The writer's own chooser runs over the file's values, so this works for files of any writer. One field is in memory at a
//! time, and of it what a writer buffers.

use std::collections::HashMap;

use crate::choose::{Choice, Considered, Preset};
use crate::column::Column;
use crate::inspect::inspect_leaf;
use crate::read::File;
use crate::schema::{BlobView, LeafKind, path_part};
use crate::write::{FileEncoder, WriteOptions};
use crate::{Error, FormatVersion, Result};

/// Arrow bytes read at once.
const BATCH_BYTES: usize = 8 << 20;
/// Field metadata keys that have a say in how a column is stored.
const KEYS: &str = "lance-encoding:";

/// What is to be explained. See [`File::explain_encodings`].
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct ExplainOptions {
    /// Columns by path; all if `None`.
    pub columns: Option<Vec<String>>,
    /// The preset to choose by, unless field metadata has another for a column.
    pub preset: Preset,
    /// The format version to choose for: 2.1 or 2.2. That of the file if `None`, and 2.2 for a file of 2.3.
    pub format_version: Option<FormatVersion>,
    /// Looks at whole pages instead of samples.
    pub thorough: bool,
}

/// The choices for a file's columns.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ExplainedEncodings {
    /// The format version that was chosen for.
    pub format_version: FormatVersion,
    /// The preset that was chosen by.
    pub preset: Preset,
    /// Stored columns, in the order asked.
    pub columns: Vec<ExplainedColumn>,
}

/// How one stored column would be written, how it is stored in the file, and what else was considered.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ExplainedColumn {
    /// Path of the field, as in `a.b.item`.
    pub path: String,
    /// Arrow type of the field.
    pub data_type: String,
    /// Bytes of all page buffers in the file at hand.
    pub file_bytes: u64,
    /// Pages in the file at hand.
    pub file_pages: u64,
    /// The different encodings there, with their layouts.
    pub file_encodings: Vec<String>,
    /// Bytes of all page buffers under the choices.
    pub bytes: u64,
    /// Pages under the choices.
    pub pages: u64,
    /// Bytes of the values as they are, with their offsets.
    pub plain_bytes: u64,
    /// The encodings chosen, and on how many pages each, the most frequent first.
    pub encodings: Vec<(String, u64)>,
    /// Why, and on how many pages for this reason, the most frequent first.
    pub reasons: Vec<(&'static str, u64)>,
    /// Metadata of the field that has a say: `lance-encoding:*` keys and their values, sorted.
    pub metadata: Vec<(String, String)>,
    /// What was considered: first what was chosen on the most pages, then the cheapest. Empty where there was nothing to choose.
    pub candidates: Vec<ExplainedCandidate>,
}

/// One way to store a column, over the pages that it was considered on.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ExplainedCandidate {
    /// The encodings, outermost first.
    pub encoding: String,
    /// What the encodings do not say of it, as in `level 3, chunks of 32 KiB`.
    pub settings: String,
    /// Pages that it was considered on.
    pub pages: u64,
    /// Pages that it was chosen on.
    pub chosen_pages: u64,
    /// Bytes that it was estimated at, over these pages.
    pub estimated_bytes: u64,
    /// Bytes of the plain values of these pages.
    pub plain_bytes: u64,
    /// Bytes that the pages came to where it was chosen.
    pub chosen_bytes: u64,
    /// Nanoseconds to decode a value in a scan, by rule; the mean over pages by their rows.
    pub decode_ns: f64,
    /// Nanoseconds to reach a single value, by rule; the mean over pages by their rows.
    pub point_ns: f64,
    /// What the preset's weights make of these, over these pages.
    pub cost: f64,
}

impl File {
    /// Runs the writer's chooser over the values of the file and tells what it considered, what it chose, and what that comes
    /// to beside what the file has. Reads all values of the columns, and writes nothing. `progress` is told a share from 0 to 1;
    /// an error of it ends the work.
    ///
    /// ```no_run
    /// let file = pennon_file::File::open("flights.lance")?;
    /// for column in file.explain_encodings(&Default::default(), |_| Ok(()))?.columns {
    ///     println!("{}: {} bytes, now {}: {:?}", column.path, column.bytes, column.file_bytes, column.encodings);
    /// }
    /// # Ok::<(), pennon_file::Error>(())
    /// ```
    ///
    /// # Errors
    /// Pages of format version 2.0, which have nothing to choose; no such column; values that cannot be read.
    pub fn explain_encodings(
        &self,
        options: &ExplainOptions,
        mut progress: impl FnMut(f64) -> Result<()>,
    ) -> Result<ExplainedEncodings> {
        let format_version = match options.format_version.unwrap_or(self.format_version()) {
            FormatVersion::V2_0 => {
                return Err(Error::unsupported(
                    "pages of format version 2.0 are stored by fixed rules, there is no choice to explain; ask for 2.1 or 2.2",
                ));
            }
            FormatVersion::V2_3 if options.format_version.is_none() => FormatVersion::V2_2,
            version => version,
        };
        let parts = self.parts(options.columns.as_deref())?;
        let mut columns = Vec::new();
        let count = parts.len().max(1) as f64;
        for (i, part) in parts.iter().enumerate() {
            let rows = self.num_rows().max(1) as f64;
            let at = |row: u64| progress((i as f64 + row as f64 / rows) / count);
            columns.extend(self.explain_part(part, format_version, options, at)?);
        }
        Ok(ExplainedEncodings { format_version, preset: options.preset, columns })
    }

    /// What is looked at one after the other: fields, and the leaves of those that have blobs inside.
    fn parts(&self, columns: Option<&[String]>) -> Result<Vec<String>> {
        let paths = match columns {
            Some(columns) => columns.to_vec(),
            None => {
                let mut seen: HashMap<String, usize> = HashMap::new();
                let schema = self.schema()?;
                let path = |name: &String| {
                    let nth = seen.entry(name.clone()).or_default();
                    *nth += 1;
                    path_part(name, *nth)
                };
                schema.fields().iter().map(|field| field.name()).map(path).collect()
            }
        };
        let mut parts = Vec::with_capacity(paths.len());
        for path in paths {
            let columns = self.project(Some(std::slice::from_ref(&path)))?.columns;
            if columns.len() < 2 || !columns.iter().any(|column| is_blob(column)) {
                parts.push(path);
            } else if path.contains('#') {
                return Err(Error::unsupported(format!(
                    "column {path:?} has blobs inside and shares its name with another: name what is inside it"
                )));
            } else {
                parts.extend(columns.iter().map(|column| column.leaf.path.clone()));
            }
        }
        Ok(parts)
    }

    fn explain_part(
        &self,
        path: &String,
        format_version: FormatVersion,
        options: &ExplainOptions,
        mut at: impl FnMut(u64) -> Result<()>,
    ) -> Result<Vec<ExplainedColumn>> {
        let paths = std::slice::from_ref(path);
        let columns = self.project(Some(paths))?.columns;
        let mut explained: Vec<ExplainedColumn> = columns.iter().map(|column| as_it_is(column)).collect();
        if columns.iter().any(|column| is_blob(column)) {
            for column in &mut explained {
                // Their descriptors are stored in one way; their bytes are never touched.
                (column.bytes, column.pages) = (column.file_bytes, column.file_pages);
                column.reasons = vec![("positions and sizes of blobs are stored in one way", column.pages)];
            }
            return Ok(explained);
        }
        let write = WriteOptions {
            format_version,
            preset: options.preset,
            thorough: options.thorough,
            checksums: false,
            statistics: false,
            ..WriteOptions::default()
        };
        let scan = self.scan().columns(paths).blobs(BlobView::Descriptors).batch_bytes(BATCH_BYTES);
        let batches = scan.batches()?;
        let mut encoder = FileEncoder::new(&batches.schema(), write)?;
        for batch in batches {
            encoder.write(&batch?)?;
            drop(encoder.take_output());
            at(encoder.num_rows())?;
        }
        let choices = encoder.into_choices()?;
        if choices.len() != explained.len() {
            return Err(Error::unsupported(format!(
                "{path:?} is stored in {} columns in the file and in {} under format version {format_version}",
                explained.len(),
                choices.len()
            )));
        }
        for (column, (_, choices)) in explained.iter_mut().zip(choices) {
            add_choices(column, &choices);
        }
        Ok(explained)
    }
}

fn is_blob(column: &Column) -> bool {
    matches!(column.leaf.kind, LeafKind::Blob | LeafKind::BlobDescriptor)
}

/// What the file has of a column.
fn as_it_is(column: &Column) -> ExplainedColumn {
    let found = inspect_leaf(column);
    let field = &column.leaf.arrow;
    let keys = field.metadata().iter().filter(|(key, _)| key.starts_with(KEYS));
    let mut metadata: Vec<_> = keys.map(|(key, value)| (key.to_string(), value.to_string())).collect();
    metadata.sort();
    ExplainedColumn {
        file_encodings: found.encodings(),
        path: found.path,
        data_type: found.data_type,
        file_bytes: found.bytes,
        file_pages: found.pages.len() as u64,
        bytes: 0,
        pages: 0,
        plain_bytes: 0,
        encodings: Vec::new(),
        reasons: Vec::new(),
        metadata,
        candidates: Vec::new(),
    }
}

/// Sums over pages.
fn add_choices(column: &mut ExplainedColumn, choices: &[Choice]) {
    let mut places: HashMap<(&str, &str), usize> = HashMap::new();
    // With the rows of the pages, and one more than the number of the last page that counts.
    let mut sums: Vec<(ExplainedCandidate, u64, usize)> = Vec::new();
    for (page, choice) in choices.iter().enumerate() {
        column.pages += 1;
        column.bytes += choice.bytes;
        column.plain_bytes += choice.plain_bytes;
        count(&mut column.encodings, &choice.encoding, String::clone);
        count(&mut column.reasons, &choice.reason, |reason| reason);
        for (i, considered) in choice.considered.iter().enumerate() {
            let place = *places.entry((&considered.encoding, &considered.settings)).or_insert_with(|| {
                sums.push((nothing_of(considered), 0, 0));
                sums.len() - 1
            });
            let (sum, rows, last) = &mut sums[place];
            if choice.chosen == Some(i) {
                sum.chosen_pages += 1;
                sum.chosen_bytes += choice.bytes;
            }
            // Of two of one name, the cheaper.
            if *last == page + 1 {
                continue;
            }
            *last = page + 1;
            sum.pages += 1;
            sum.estimated_bytes += considered.estimated_bytes;
            sum.plain_bytes += choice.plain_bytes;
            sum.cost += considered.cost;
            sum.decode_ns += considered.decode_ns * choice.num_rows as f64;
            sum.point_ns += considered.point_ns * choice.num_rows as f64;
            *rows += choice.num_rows;
        }
    }
    let mean = |(mut sum, rows, _): (ExplainedCandidate, u64, usize)| {
        let rows = rows.max(1) as f64;
        sum.decode_ns /= rows;
        sum.point_ns /= rows;
        sum
    };
    column.candidates = sums.into_iter().map(mean).collect();
    // Not all were considered on the same pages.
    let relative = |c: &ExplainedCandidate| c.cost / c.plain_bytes.max(1) as f64;
    column.candidates.sort_by(|a, b| {
        b.chosen_pages.cmp(&a.chosen_pages).then_with(|| relative(a).total_cmp(&relative(b)))
    });
    column.encodings.sort_by_key(|(_, pages)| std::cmp::Reverse(*pages));
    column.reasons.sort_by_key(|(_, pages)| std::cmp::Reverse(*pages));
}

/// One more page of something.
fn count<T: PartialEq>(counts: &mut Vec<(T, u64)>, what: &T, copy: impl FnOnce(&T) -> T) {
    match counts.iter_mut().find(|(known, _)| known == what) {
        Some((_, pages)) => *pages += 1,
        None => counts.push((copy(what), 1)),
    }
}

fn nothing_of(considered: &Considered) -> ExplainedCandidate {
    ExplainedCandidate {
        encoding: considered.encoding.clone(),
        settings: considered.settings.clone(),
        pages: 0,
        chosen_pages: 0,
        estimated_bytes: 0,
        plain_bytes: 0,
        chosen_bytes: 0,
        decode_ns: 0.0,
        point_ns: 0.0,
        cost: 0.0,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::sync::Arc;

    use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray, StructArray};
    use arrow_schema::{DataType, Field, Schema};

    use super::*;
    use crate::{ErrorKind, FileWriter, OpenOptions};

    fn written(batch: &RecordBatch, change: impl FnOnce(&mut WriteOptions)) -> File {
        let mut options = WriteOptions::default();
        change(&mut options);
        let mut writer = FileWriter::new(Vec::new(), &batch.schema(), options).unwrap();
        writer.write(batch).unwrap();
        File::from_bytes(writer.finish().unwrap(), &OpenOptions::default()).unwrap()
    }

    fn batch() -> RecordBatch {
        let n: ArrayRef = Arc::new(Int64Array::from_iter_values((0..40_000).map(|i| 1_000_000 + i * 3)));
        let few = (0..40_000).map(|i| Some(["red", "green", "blue"][i * i % 7 % 3]));
        let few: ArrayRef = Arc::new(few.collect::<StringArray>());
        let one: ArrayRef = Arc::new(Int64Array::from(vec![7; 40_000]));
        let inner: Vec<(Arc<Field>, ArrayRef)> = vec![
            (Arc::new(Field::new("few", DataType::Utf8, true)), few),
            (Arc::new(Field::new("one", DataType::Int64, false)), one),
        ];
        let columns: [(&str, ArrayRef); 2] = [("n", n), ("s", Arc::new(StructArray::from(inner)))];
        RecordBatch::try_from_iter(columns).unwrap()
    }

    fn explain(file: &File, change: impl FnOnce(&mut ExplainOptions)) -> ExplainedEncodings {
        let mut options = ExplainOptions::default();
        change(&mut options);
        file.explain_encodings(&options, |_| Ok(())).unwrap()
    }

    #[test]
    fn what_is_explained_is_what_a_writer_of_the_preset_writes() {
        for preset in Preset::ALL.map(|(_, preset)| preset) {
            let file = written(&batch(), |o| o.preset = preset);
            let found = explain(&file, |o| o.preset = preset);
            assert_eq!((found.preset, found.format_version), (preset, FormatVersion::V2_2));
            let paths: Vec<&str> = found.columns.iter().map(|c| c.path.as_str()).collect();
            assert_eq!(paths, ["n", "s.few", "s.one"]);
            for column in &found.columns {
                assert_eq!(
                    (column.bytes, column.pages),
                    (column.file_bytes, column.file_pages),
                    "{column:?}"
                );
                assert!(column.bytes <= column.plain_bytes, "{column:?}");
            }
        }
    }

    #[test]
    fn candidates_are_summed_over_pages_and_the_chosen_come_first() {
        let plain = written(&batch(), |o| o.compression = crate::Compression::None);
        let cut = written(&batch(), |o| o.max_page_rows = Some(10_000));
        let found = explain(&plain, |_| {}).columns;
        let n = &found[0];
        assert!(n.bytes * 4 < n.file_bytes && n.file_encodings == ["mini-block flat(64)"], "{n:?}");
        assert_eq!(n.reasons, [("costs least", 1)]);
        let best = &n.candidates[0];
        assert_eq!((best.pages, best.chosen_pages, best.chosen_bytes), (1, 1, n.bytes));
        assert!(n.candidates.len() > 2 && n.candidates[1..].iter().all(|c| c.cost >= best.cost), "{n:?}");
        let flat = n.candidates.iter().find(|c| c.encoding == "flat(64)").unwrap();
        assert!(flat.estimated_bytes >= flat.plain_bytes && flat.plain_bytes == 320_000, "{flat:?}");
        let one = &found[2];
        assert_eq!((one.encodings[0].0.as_str(), one.reasons[0].0), ("constant", "all values are equal"));
        assert!(one.candidates.is_empty());
        // The pages of the file at hand are no bounds for those that would be written.
        let again = explain(&cut, |_| {}).columns;
        assert_eq!((again[0].pages, again[0].file_pages, again[0].bytes), (1, 4, n.bytes));

        let page = |rows: u64, bytes: u64, chosen: usize, costs: [f64; 2]| Choice {
            num_rows: rows,
            encoding: "x".into(),
            bytes,
            plain_bytes: 100,
            reason: "costs least",
            chosen: Some(chosen),
            considered: ["a", "b"]
                .into_iter()
                .zip(costs)
                .map(|(name, cost)| Considered {
                    encoding: name.into(),
                    settings: String::new(),
                    estimated_bytes: 10,
                    decode_ns: rows as f64,
                    point_ns: 1.0,
                    cost,
                })
                .collect(),
        };
        let mut column = one.clone();
        (column.bytes, column.pages, column.plain_bytes) = (0, 0, 0);
        (column.encodings, column.reasons) = (Vec::new(), Vec::new());
        add_choices(
            &mut column,
            &[page(1, 5, 1, [2.0, 1.0]), page(3, 6, 1, [2.0, 1.5]), page(0, 7, 0, [1.0, 9.0])],
        );
        assert_eq!((column.bytes, column.pages, column.plain_bytes), (18, 3, 300));
        let [b, a] = &column.candidates[..] else { panic!("{column:?}") };
        assert_eq!((b.encoding.as_str(), b.pages, b.chosen_pages, b.chosen_bytes), ("b", 3, 2, 11));
        assert_eq!((b.estimated_bytes, b.cost, b.decode_ns), (30, 11.5, 2.5));
        assert_eq!((a.chosen_pages, a.chosen_bytes, a.cost), (1, 7, 5.0));
    }

    #[test]
    fn metadata_of_a_field_that_has_a_say_is_told() {
        let key = |value: &str| HashMap::from([("lance-encoding:preset".to_owned(), value.to_owned())]);
        let field = Field::new("n", DataType::Int64, false).with_metadata(key("fast"));
        let schema = Arc::new(Schema::new(vec![field]));
        let batch = RecordBatch::try_new(schema, vec![batch().column(0).clone()]).unwrap();
        let file = written(&batch, |_| {});
        let found = explain(&file, |o| o.preset = Preset::Small);
        let column = &found.columns[0];
        assert_eq!(column.metadata, [("lance-encoding:preset".to_owned(), "fast".to_owned())]);
        assert!(
            column.candidates.iter().all(|c| !c.settings.contains("chunks")),
            "no general compressor: {column:?}"
        );
    }

    #[test]
    fn columns_are_chosen_by_path_and_pages_of_2_0_are_refused() {
        let file = written(&batch(), |o| o.format_version = FormatVersion::V2_1);
        let found = explain(&file, |o| o.columns = Some(vec!["s.one".into(), "n".into()]));
        assert_eq!(found.format_version, FormatVersion::V2_1);
        assert_eq!(found.columns.iter().map(|c| c.path.as_str()).collect::<Vec<_>>(), ["s.one", "n"]);
        let mut shares = Vec::new();
        file.explain_encodings(&ExplainOptions::default(), |share| {
            shares.push(share);
            Ok(())
        })
        .unwrap();
        assert!(shares.is_sorted() && shares.last() == Some(&1.0), "{shares:?}");
        let stopped = file.explain_encodings(&ExplainOptions::default(), |_| Err(Error::invalid("enough")));
        assert_eq!(stopped.unwrap_err().message(), "enough");
        let old = written(&batch(), |o| o.format_version = FormatVersion::V2_0);
        let e = old.explain_encodings(&ExplainOptions::default(), |_| Ok(())).unwrap_err();
        assert!(e.kind() == ErrorKind::Unsupported && e.message().contains("no choice to explain"), "{e}");
        let new = explain(&old, |o| o.format_version = Some(FormatVersion::V2_2));
        assert_eq!(new.columns.len(), 3);
        let options = ExplainOptions { columns: Some(vec!["m".into()]), ..ExplainOptions::default() };
        assert_eq!(file.explain_encodings(&options, |_| Ok(())).unwrap_err().kind(), ErrorKind::Invalid);
    }
}
