//! JSON lines: one object a line, nulls written out, so that every line has every column.
//!
//! Integers are numbers, floats are numbers except `"NaN"`, `"Infinity"` and `"-Infinity"`, times are RFC 3339;
//! [`text`](crate::text) has the rest. Types are guessed from the first 1,000 rows unless a schema says them.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::io::{BufRead, BufReader, BufWriter, Read, Write as _};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowPrimitiveType, Float16Type, Float32Type, Float64Type};
use arrow_array::{Array, ArrayRef, PrimitiveArray, RecordBatch};
use arrow_json::reader::{Decoder, ReaderBuilder};
use arrow_json::writer::{LineDelimited, NullableEncoder, WriterBuilder};
use arrow_json::{Encoder, EncoderFactory, EncoderOptions};
use arrow_schema::{ArrowError, DataType, FieldRef, Schema, SchemaRef};
use pennon_file::{Error, Result};
use serde::de::{Deserialize, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::csv::{CHUNK, GUESS_ROWS, HINT, override_types, value_bytes};
use crate::guard::{arrow_error, cut, guard, one_line, short};
use crate::guess;
use crate::input::{Bytes, FromStart};
use crate::output::{Buffered, Output, Staged, unbuffer};
use crate::reader::Batches;
use crate::records::{Checked, Records};
use crate::selection::Selection;
use crate::text::{batch_from_text, batch_to_text, reading_schema, text_schema};
use crate::writer::BatchWriter;

const READING: &str = "reading JSON lines";
const WRITING: &str = "writing JSON lines";

/// A file or stream of JSON lines.
#[derive(Debug)]
pub(crate) struct Source {
    bytes: FromStart,
    schema: SchemaRef,
}

impl Source {
    pub(crate) fn open(name: &str, bytes: Bytes, given: Option<&Schema>) -> Result<Self> {
        let bytes = FromStart::new(bytes);
        let ((guessed, rows), _) = bytes.peek(|start: &mut dyn Read| {
            Checked::look(start, Records::lines(), |start| guess::schema(BufReader::new(start), GUESS_ROWS))
        })?;
        // What was given comes first; it may well be absent from the first rows, or from all.
        let mut fields: Vec<FieldRef> = given.map(|g| g.fields().to_vec()).unwrap_or_default();
        for field in guessed.fields() {
            if !fields.iter().any(|f| f.name() == field.name()) {
                fields.push(field.clone());
            }
        }
        let guessed = Schema::new(fields);
        // Without rows there are the columns that were given, or none.
        if guessed.fields().is_empty() && rows > 0 {
            return Err(Error::invalid(format!(
                "{name}: expected objects with at least one member, found none; --schema F.json gives columns"
            )));
        }
        Ok(Self { bytes, schema: override_types(name, &guessed, given)? })
    }

    pub(crate) fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    pub(crate) fn batches(&self, selection: &Selection) -> Result<Batches> {
        let reading = reading_schema(&self.schema, true);
        // A null in a list of fixed size is four bytes here and the size of the list there.
        let row_bytes = self.schema.fields().iter().map(|f| value_bytes(f.data_type()));
        let row_bytes = row_bytes.fold(1, u64::saturating_add);
        let most = usize::try_from(selection.bytes_of_batch() as u64 / row_bytes).unwrap_or(usize::MAX);
        let batch_rows = selection.batch_rows.min(most).clamp(1, 65_536);
        let decoder = guard(READING, || {
            ReaderBuilder::new(reading.clone())
                .with_batch_size(batch_rows)
                // A member that no column stands for would be lost.
                .with_strict_mode(true)
                // A column of texts and numbers was guessed to be text; nothing is lost by that.
                .with_coerce_primitive(true)
                .build_decoder()
                .map_err(|e| arrow_error(READING, e))
        })?;
        Ok(Box::new(Lines {
            lines: BufReader::with_capacity(1 << 16, self.bytes.open(true)?),
            decoder,
            schema: self.schema.clone(),
            reading,
            fed: Vec::new(),
            batch_rows,
            batch_bytes: selection.bytes_of_batch(),
            line: Vec::new(),
            at: 0,
            records: Records::lines(),
            partial: 0,
            pending: 0,
            rows: 0,
            done: false,
        }))
    }
}

/// Feeds lines to the decoder and takes a batch out when enough rows or bytes went in.
struct Lines {
    lines: BufReader<Box<dyn Read + Send>>,
    decoder: Decoder,
    schema: SchemaRef,
    /// What the decoder makes.
    reading: SchemaRef,
    /// The bytes of the rows that are in the decoder.
    fed: Vec<u8>,
    batch_rows: usize,
    batch_bytes: usize,
    line: Vec<u8>,
    at: usize,
    records: Records,
    /// Bytes of the object that has not ended.
    partial: usize,
    pending: usize,
    /// Rows of all batches so far, for messages.
    rows: u64,
    done: bool,
}

impl Lines {
    fn batch(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            let full = self.decoder.len() >= self.batch_rows || self.pending >= self.batch_bytes;
            if full && !self.decoder.is_empty() && !self.decoder.has_partial_record() {
                return self.flush();
            }
            if self.at == self.line.len() {
                self.line.clear();
                self.at = 0;
                let mut lines = (&mut self.lines).take(CHUNK);
                lines.read_until(b'\n', &mut self.line).map_err(|e| Error::io(READING, e))?;
                self.records.follow(&self.line)?;
                if self.line.is_empty() {
                    self.done = true;
                    return self.flush();
                }
            }
            let rest = &self.line[self.at..];
            let decoder = &mut self.decoder;
            let taken = guard(READING, || decoder.decode(rest).map_err(|e| arrow_error(READING, e)))
                .map_err(|e| self.placed(e))?;
            if taken == 0 && self.decoder.is_empty() {
                return Err(self.placed(Error::corrupt(format!("{READING}: no value was found"))));
            }
            if taken == 0 && self.decoder.len() < self.batch_rows {
                return self.flush();
            }
            self.fed.extend_from_slice(&self.line[self.at..self.at + taken]);
            self.at += taken;
            self.pending += taken;
            // An object may go over many lines.
            self.partial = if self.decoder.has_partial_record() { self.partial + taken } else { 0 };
            self.records.check(self.partial)?;
        }
    }

    fn flush(&mut self) -> Result<Option<RecordBatch>> {
        self.pending = 0;
        let decoder = &mut self.decoder;
        let batch = guard(READING, || decoder.flush().map_err(|e| arrow_error(READING, e)));
        let hinted = |e: Error| Error::invalid(format!("{}; {HINT}", e.message()));
        let batch = batch.map_err(|e| hinted(self.placed(e)))?;
        let shape = DataType::Struct(self.reading.fields().clone());
        let mut texts = serde_json::Deserializer::from_slice(&self.fed);
        for row in (self.rows..).take(batch.as_ref().map_or(0, RecordBatch::num_rows)) {
            Members(&shape)
                .deserialize(&mut texts)
                .map_err(|e| Error::invalid(format!("row {row}: {}", one_line(&e.to_string()))))?;
        }
        self.fed.clear();
        let batch = batch.map(|b| batch_from_text(&b, &self.schema, self.rows, true));
        let batch = batch.transpose().map_err(hinted)?;
        self.rows += batch.as_ref().map_or(0, |b| b.num_rows() as u64);
        Ok(batch)
    }

    /// The decoder speaks of no place.
    fn placed(&self, e: Error) -> Error {
        Error::invalid(format!("{} (after row {})", cut(e.message()), self.rows + self.decoder.len() as u64))
    }
}

impl Iterator for Lines {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.done {
            return None;
        }
        let next = self.batch();
        if next.is_err() {
            self.done = true;
        }
        next.transpose()
    }
}

/// Writes JSON lines.
pub(crate) struct Writer {
    inner: arrow_json::Writer<Buffered, LineDelimited>,
    schema: SchemaRef,
}

impl Writer {
    pub(crate) fn create(output: Output, schema: &SchemaRef) -> Result<Self> {
        let text = text_schema(schema);
        let names = distinct(text.fields().iter().map(|f| f.name().as_str()));
        let fields = text.fields().iter().zip(names);
        let fields = fields.map(|(f, name)| Arc::new(f.as_ref().clone().with_name(name)));
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let inner = WriterBuilder::new()
            .with_explicit_nulls(true)
            .with_encoder_factory(Arc::new(Floats))
            .build::<_, LineDelimited>(BufWriter::with_capacity(1 << 16, output));
        Ok(Self { inner, schema })
    }
}

/// The value of an array of one, as JSON lines have it; a count of its unit where text has no time for it.
pub(crate) fn value_to_json(value: &ArrayRef) -> serde_json::Value {
    let as_text = |value: &ArrayRef| -> Option<serde_json::Value> {
        let batch = RecordBatch::try_from_iter([("value", value.clone())]).ok()?;
        let text = batch_to_text(&batch, &text_schema(&batch.schema())).ok()?;
        let mut writer = WriterBuilder::new()
            .with_explicit_nulls(true)
            .with_encoder_factory(Arc::new(Floats))
            .build::<_, LineDelimited>(Vec::new());
        writer.write(&text).ok()?;
        let mut object: serde_json::Value = serde_json::from_slice(&writer.into_inner()).ok()?;
        Some(object["value"].take())
    };
    let count = || arrow_cast::cast(value, &DataType::Int64).ok().as_ref().and_then(as_text);
    as_text(value).or_else(count).unwrap_or_default()
}

/// An object has one member of a name: the second column of a name is called `name#2`, or the next number that no
/// column has.
fn distinct<'a>(names: impl Iterator<Item = &'a str> + Clone) -> Vec<String> {
    let all: HashSet<&str> = names.clone().collect();
    let mut used = HashMap::<&str, usize>::new();
    let next = |name: &'a str| {
        let count = used.entry(name).or_default();
        loop {
            *count += 1;
            if *count == 1 {
                return name.to_owned();
            }
            // Made names differ among themselves: before the last `#` is what each was made of.
            let made = format!("{name}#{count}");
            if !all.contains(made.as_str()) {
                return made;
            }
        }
    };
    names.map(next).collect()
}

/// Finds an object with two members of one name, of which the decoder would keep the last. A map may have them.
struct Members<'a>(&'a DataType);

impl<'de> DeserializeSeed<'de> for Members<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        match self.0 {
            t if t.is_nested() => deserializer.deserialize_any(self),
            _ => IgnoredAny::deserialize(deserializer).map(drop),
        }
    }
}

impl<'de> Visitor<'de> for Members<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&short(&crate::types::type_name(self.0)))
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let children = crate::types::children(self.0);
        let item = children.first().map_or(&DataType::Null, |f| f.data_type());
        while items.next_element_seed(Members(item))?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        if let DataType::Map(entries, _) = self.0 {
            let pair = crate::types::children(entries.data_type());
            let value = pair.get(1).map_or(&DataType::Null, |f| f.data_type());
            while members.next_key::<IgnoredAny>()?.is_some() {
                members.next_value_seed(Members(value))?;
            }
            return Ok(());
        }
        let DataType::Struct(fields) = self.0 else {
            while members.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
            return Ok(());
        };
        let (mut seen, mut at) = (vec![false; fields.len()], 0);
        while let Some(name) = members.next_key::<Cow<'de, str>>()? {
            // Members usually come in the order of the columns.
            let place = match fields.get(at) {
                Some(f) if *f.name() == name => Some(at),
                _ => fields.iter().position(|f| *f.name() == name),
            };
            let Some(place) = place else {
                members.next_value::<IgnoredAny>()?;
                continue;
            };
            at = place + 1;
            if std::mem::replace(&mut seen[place], true) {
                return Err(serde::de::Error::custom(format!("two members called {}", short(&name))));
            }
            members.next_value_seed(Members(fields[place].data_type()))?;
        }
        Ok(())
    }
}

impl BatchWriter for Writer {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let text = batch_to_text(batch, &self.schema)?;
        guard(WRITING, || {
            self.inner.write(&text).map_err(|e| arrow_error(WRITING, e))?;
            // A reader at the other end of a pipe sees each batch at once.
            self.inner.get_mut().flush().map_err(|e| Error::io(WRITING, e))
        })
    }

    fn finish(mut self: Box<Self>) -> Result<Staged> {
        self.inner.finish().map_err(|e| arrow_error(WRITING, e))?;
        unbuffer(self.inner.into_inner())?.stage()
    }
}

/// Writes floats: the values that JSON has no number for become strings.
#[derive(Debug)]
struct Floats;

impl EncoderFactory for Floats {
    fn make_default_encoder<'a>(
        &self,
        _field: &'a FieldRef,
        array: &'a dyn Array,
        _options: &'a EncoderOptions,
    ) -> Result<Option<NullableEncoder<'a>>, ArrowError> {
        let nulls = array.nulls().cloned();
        let encoder: Box<dyn Encoder + 'a> = match array.data_type() {
            DataType::Float16 => Box::new(Float(array.as_primitive::<Float16Type>())),
            DataType::Float32 => Box::new(Float(array.as_primitive::<Float32Type>())),
            DataType::Float64 => Box::new(Float(array.as_primitive::<Float64Type>())),
            _ => return Ok(None),
        };
        Ok(Some(NullableEncoder::new(encoder, nulls)))
    }
}

struct Float<'a, T: ArrowPrimitiveType>(&'a PrimitiveArray<T>);

impl<T: ArrowPrimitiveType> Encoder for Float<'_, T>
where
    T::Native: fmt::Debug,
{
    fn encode(&mut self, idx: usize, out: &mut Vec<u8>) {
        let at = out.len();
        // The debug form is the shortest that reads back the same, as in 0.1, 1.0 and 1e300. Writing to a vector cannot fail.
        let _ = write!(out, "{:?}", self.0.value(idx));
        let special: &[u8] = match &out[at..] {
            b"NaN" => b"\"NaN\"",
            b"inf" => b"\"Infinity\"",
            b"-inf" => b"\"-Infinity\"",
            _ => return,
        };
        out.truncate(at);
        out.extend_from_slice(special);
    }
}
