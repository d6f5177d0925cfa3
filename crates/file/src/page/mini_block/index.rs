//! Where chunks, values and rows are: what a handle keeps of a mini-block page.

use std::ops::Range;
use std::sync::Arc;

use super::super::leaf_data::LeafShape;
use super::super::{MiniBlockLayout, PageBuffers, Translation, max_def, max_rep, max_visible};
use crate::encoding::{ChunkReader, Encoding, ValueType, Values, decode_block};
use crate::error::corrupt;
use crate::held::HeldBytes;
use crate::io::Segments;
use crate::{Error, Limits, Result};

/// Buffer with the chunk table.
const CHUNK_TABLE: usize = 0;
/// Buffer with the chunks.
pub(super) const CHUNKS: usize = 1;
/// Buffer with the dictionary, where there is one.
const DICTIONARY: usize = 2;

/// The search structures of one page: about 5 bytes per chunk, and the dictionary.
#[derive(Debug)]
pub(crate) struct MiniBlockIndex {
    /// Start of each chunk and the end of the last, in units of 8 bytes.
    chunk_starts: Vec<u32>,
    values: ValueStarts,
    /// Where there is repetition.
    rows: Option<RowIndex>,
    pub(super) reader: ChunkReader,
    pub(super) dictionary: Option<Arc<Values>>,
    /// Whether `values` of the leaf are keys of an Arrow dictionary.
    pub(super) keeps_keys: bool,
    /// Shape of what chunks hold: values, or indices into the dictionary.
    pub(super) stored: ValueType,
    /// Definition level of this page to level of the column.
    pub(super) translation: Translation,
    pub(super) max_rep: u16,
    pub(super) max_def: u16,
    pub(super) max_visible: u16,
}

/// First value of each chunk.
#[derive(Debug)]
struct ValueStarts {
    num_values: u64,
    num_chunks: usize,
    /// All chunks but the last have `1 << shift` values; the last may have more than that.
    shift: Option<u32>,
    /// Otherwise the start of each chunk.
    starts: Vec<u64>,
}

/// The repetition index: rows that have ended after each chunk, and whether one goes on.
#[derive(Debug)]
pub(super) struct RowIndex {
    ends: Vec<u64>,
    goes_on: Vec<bool>,
}

impl RowIndex {
    /// Rows that end in chunks up to and including `chunk`.
    pub(super) fn end(&self, chunk: usize) -> u64 {
        self.ends[chunk]
    }

    /// Whether a row of `chunk` goes on in the next one.
    pub(super) fn goes_on(&self, chunk: usize) -> bool {
        self.goes_on[chunk]
    }

    /// The first row that starts in `chunk` or later.
    pub(super) fn first_start(&self, chunk: usize) -> u64 {
        if chunk == 0 { 0 } else { self.ends[chunk - 1] + u64::from(self.goes_on[chunk - 1]) }
    }

    /// Whether `chunk` begins with the rest of a row.
    pub(super) fn has_preamble(&self, chunk: usize) -> bool {
        chunk > 0 && self.goes_on[chunk - 1]
    }

    /// The chunk in which a row of the page begins.
    fn first_chunk(&self, row: u64) -> usize {
        self.first_chunk_from(0, row)
    }

    /// The same where it is not before chunk `hint`, and found the faster the nearer it is.
    pub(super) fn first_chunk_from(&self, hint: usize, row: u64) -> usize {
        let is_before = |chunk: usize| self.ends[chunk] + u64::from(self.goes_on[chunk]) <= row;
        let (mut low, mut step) = (hint, 1);
        while low + step <= self.ends.len() && is_before(low + step - 1) {
            low += step;
            step *= 2;
        }
        let high = (low + step - 1).min(self.ends.len());
        low + partition(high - low, |chunk| is_before(low + chunk))
    }

    /// Chunks that hold rows `rows`, which must lie in the page and not be empty.
    pub(super) fn chunks(&self, rows: &Range<u64>) -> Range<usize> {
        let first = self.first_chunk(rows.start);
        let last = self.ends.partition_point(|end| *end < rows.end);
        first..last + 1
    }
}

/// First of `0..len` for which `before` is false.
fn partition(len: usize, before: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (0, len);
    while low < high {
        let middle = low + (high - low) / 2;
        if before(middle) { low = middle + 1 } else { high = middle }
    }
    low
}

impl MiniBlockIndex {
    /// What must be in memory to make the index.
    pub(crate) fn want(
        layout: &MiniBlockLayout,
        buffers: &PageBuffers,
        segments: &Segments,
        needs: &mut Vec<Range<u64>>,
    ) -> Result<()> {
        buffers.want(CHUNK_TABLE, 0..buffers.len(CHUNK_TABLE)?, segments, needs)?;
        if layout.dictionary.is_some() {
            buffers.want(DICTIONARY, 0..buffers.len(DICTIONARY)?, segments, needs)?;
        }
        if layout.has_repetition_index {
            let last = Self::repetition_buffer(layout, buffers)?;
            buffers.want(last, 0..buffers.len(last)?, segments, needs)?;
        }
        Ok(())
    }

    fn repetition_buffer(layout: &MiniBlockLayout, buffers: &PageBuffers) -> Result<usize> {
        let least = if layout.dictionary.is_some() { 4 } else { 3 };
        if buffers.count() < least {
            corrupt!("a page with repetition has {} buffers, at least {least} expected", buffers.count());
        }
        Ok(buffers.count() - 1)
    }

    /// Reads the index; `num_rows` is the page's length, `shape` the leaf's and `keys` the width of its
    /// keys in bytes if it is of dictionary type.
    pub(crate) fn read(
        layout: &MiniBlockLayout,
        buffers: &PageBuffers,
        segments: &Segments,
        leaf: &LeafShape<'_>,
        num_rows: u64,
        limits: &Limits,
    ) -> Result<Self> {
        let translation = leaf.scheme.translation(&layout.layers)?;
        let data_bytes = buffers.len(CHUNKS)?;
        let (chunk_starts, values) =
            read_chunk_table(buffers.whole(segments, CHUNK_TABLE)?, layout, data_bytes)?;
        let has_lists = max_rep(&layout.layers) > 0;
        let rows = if has_lists {
            if !layout.has_repetition_index || layout.rep.is_none() {
                corrupt!("a page of lists has no repetition levels or no repetition index");
            }
            let last = Self::repetition_buffer(layout, buffers)?;
            Some(read_repetition_index(buffers.whole(segments, last)?, values.num_chunks, num_rows)?)
        } else {
            if layout.num_items != num_rows {
                corrupt!("a page of {num_rows} rows without lists says it holds {} values", layout.num_items);
            }
            None
        };
        let (stored, dictionary) = match &layout.dictionary {
            None if leaf.keys.is_some() => corrupt!("a page of a dictionary column has no dictionary"),
            None => (leaf.shape.clone(), None),
            Some(dictionary) => {
                let width = index_bytes(&layout.values)?;
                if leaf.keys.is_some_and(|keys| keys != width) {
                    corrupt!(
                        "dictionary indices of {width} bytes where the column's keys have {:?}",
                        leaf.keys
                    );
                }
                let data = buffers.whole(segments, DICTIONARY)?;
                let num_items = usize::try_from(dictionary.num_items).unwrap_or(usize::MAX);
                let entries = decode_block(&dictionary.encoding, data, num_items, leaf.shape, limits)
                    .map_err(|e| e.in_buffer(DICTIONARY))?;
                if entries.len() != num_items {
                    corrupt!("a dictionary holds {} entries, {num_items} announced", entries.len());
                }
                (ValueType::Fixed(width), Some(Arc::new(entries)))
            }
        };
        let reader = ChunkReader::new(&layout.values, &stored, limits)?;
        if reader.num_buffers() as u64 != layout.num_buffers {
            corrupt!(
                "a page says {} value buffers per chunk, its encoding makes {}",
                layout.num_buffers,
                reader.num_buffers()
            );
        }
        Ok(Self {
            chunk_starts,
            values,
            rows,
            reader,
            dictionary,
            keeps_keys: leaf.keys.is_some(),
            stored,
            translation,
            max_rep: max_rep(&layout.layers),
            max_def: max_def(&layout.layers),
            max_visible: max_visible(&layout.layers),
        })
    }

    /// Adds what the index takes.
    pub(crate) fn add_held(&self, held: &mut HeldBytes) {
        let rows = self.rows.as_ref().map_or(0, |rows| rows.ends.len() * 8 + rows.goes_on.len());
        held.chunk_tables += (self.chunk_starts.len() * 4 + self.values.starts.len() * 8 + rows) as u64;
        held.dictionaries += self.dictionary.as_ref().map_or(0, |entries| entries.byte_size()) as u64;
    }

    /// Bytes of `chunk` within the buffer of chunks.
    pub(super) fn chunk_bytes(&self, chunk: usize) -> Range<u64> {
        u64::from(self.chunk_starts[chunk]) * 8..u64::from(self.chunk_starts[chunk + 1]) * 8
    }

    /// First value of `chunk`.
    pub(super) fn first_value(&self, chunk: usize) -> u64 {
        match self.values.shift {
            Some(shift) => (chunk as u64) << shift,
            None => self.values.starts[chunk],
        }
    }

    /// Number of values of `chunk`.
    pub(super) fn num_values(&self, chunk: usize) -> usize {
        let end = if chunk + 1 == self.values.num_chunks {
            self.values.num_values
        } else {
            self.first_value(chunk + 1)
        };
        (end - self.first_value(chunk)) as usize
    }

    /// The chunk with value `value`, which must be below the page's number of values.
    pub(super) fn chunk_of(&self, value: u64) -> usize {
        match self.values.shift {
            Some(shift) => ((value >> shift) as usize).min(self.values.num_chunks - 1),
            None => self.values.starts.partition_point(|start| *start <= value) - 1,
        }
    }

    pub(super) fn row_index(&self) -> Option<&RowIndex> {
        self.rows.as_ref()
    }

    pub(super) fn num_chunks(&self) -> usize {
        self.values.num_chunks
    }

    /// Adds the chunks that hold `rows` (ascending, not empty) to `needs`.
    pub(crate) fn want_chunks(
        &self,
        buffers: &PageBuffers,
        rows: &[Range<u64>],
        segments: &Segments,
        needs: &mut Vec<Range<u64>>,
    ) -> Result<()> {
        let mut next = 0;
        for range in rows {
            let chunks = match &self.rows {
                Some(index) => index.chunks(range),
                None => self.chunk_of(range.start)..self.chunk_of(range.end - 1) + 1,
            };
            let chunks = chunks.start.max(next)..chunks.end.min(self.num_chunks());
            next = next.max(chunks.end);
            if !chunks.is_empty() {
                let bytes = self.chunk_bytes(chunks.start).start..self.chunk_bytes(chunks.end - 1).end;
                buffers.want(CHUNKS, bytes, segments, needs)?;
            }
        }
        Ok(())
    }
}

/// Bytes of the dictionary indices that `encoding` stores.
fn index_bytes(encoding: &Encoding) -> Result<usize> {
    let bits = match encoding {
        Encoding::Flat { bits } => *bits,
        Encoding::InlineBitpacking { bits }
        | Encoding::OutOfLineBitpacking { bits, .. }
        | Encoding::Rle { bits }
        | Encoding::ByteStreamSplit { bits } => u64::from(*bits),
        Encoding::General { values, .. } | Encoding::Runs { values, .. } => return index_bytes(values),
        other => corrupt!("dictionary indices stored as {}", other.describe()),
    };
    match bits {
        8 | 16 | 32 | 64 => Ok(bits as usize / 8),
        _ => corrupt!("dictionary indices of {bits} bits: 8, 16, 32 or 64 expected"),
    }
}

fn read_chunk_table(
    table: &[u8],
    layout: &MiniBlockLayout,
    data_bytes: u64,
) -> Result<(Vec<u32>, ValueStarts)> {
    let width = if layout.large_chunks { 4 } else { 2 };
    if table.is_empty() || !table.len().is_multiple_of(width) {
        corrupt!("a chunk table of {} bytes, a multiple of {width} expected", table.len());
    }
    let num_chunks = table.len() / width;
    let word = |i: usize| -> u32 {
        match table[i * width..(i + 1) * width] {
            [a, b] => u32::from(u16::from_le_bytes([a, b])),
            [a, b, c, d] => u32::from_le_bytes([a, b, c, d]),
            _ => unreachable!("the width is 2 or 4"),
        }
    };
    let mut chunk_starts = Vec::with_capacity(num_chunks + 1);
    let mut values = 0u64;
    let mut bytes = 0u64;
    let first_log = word(0) & 15;
    let mut uniform = true;
    for i in 0..num_chunks {
        let word = word(i);
        chunk_starts.push((bytes / 8) as u32);
        bytes += (u64::from(word >> 4) + 1) * 8;
        let log = word & 15;
        if i + 1 < num_chunks {
            if log == 0 {
                corrupt!("chunk {i} of {num_chunks} says it holds one value; only the last may say so");
            }
            uniform &= log == first_log;
            values += 1 << log;
        } else {
            let Some(last) = layout.num_items.checked_sub(values) else {
                corrupt!("chunks hold {values} values before the last, the page {} in all", layout.num_items);
            };
            if log != 0 && last != 1 << log {
                corrupt!("the last chunk says it holds {} values, {last} remain", 1u64 << log);
            }
            // Positions within a chunk are 32-bit numbers.
            if last > u64::from(u32::MAX) {
                return Err(Error::limit(format!("{last} values in one chunk")));
            }
        }
        if bytes > data_bytes {
            break;
        }
    }
    if bytes != data_bytes || bytes / 8 > u64::from(u32::MAX) {
        corrupt!("chunks of {bytes} bytes in a buffer of {data_bytes}");
    }
    chunk_starts.push((bytes / 8) as u32);
    let mut starts = Vec::new();
    if !uniform {
        starts.reserve_exact(num_chunks);
        let mut start = 0u64;
        for i in 0..num_chunks {
            starts.push(start);
            start += 1 << (word(i) & 15);
        }
    }
    let shift = uniform.then_some(if num_chunks == 1 { 63 } else { first_log });
    Ok((chunk_starts, ValueStarts { num_values: layout.num_items, num_chunks, shift, starts }))
}

fn read_repetition_index(index: &[u8], num_chunks: usize, num_rows: u64) -> Result<RowIndex> {
    let (words, rest) = index.as_chunks::<8>();
    if !rest.is_empty() || words.len() != num_chunks * 2 {
        corrupt!(
            "a repetition index of {} bytes for {num_chunks} chunks, {} expected",
            index.len(),
            num_chunks * 16
        );
    }
    let mut ends = Vec::with_capacity(num_chunks);
    let mut goes_on = Vec::with_capacity(num_chunks);
    let mut rows = 0u64;
    for pair in words.chunks_exact(2) {
        let (ended, left_over) = (u64::from_le_bytes(pair[0]), u64::from_le_bytes(pair[1]) != 0);
        if goes_on.last() == Some(&true) && ended == 0 && !left_over {
            corrupt!("a row goes on into chunk {}, which neither ends it nor goes on", ends.len());
        }
        rows = match rows.checked_add(ended) {
            Some(rows) if rows < u64::MAX => rows,
            _ => corrupt!("a repetition index that ends 2^64 rows and more in a page of {num_rows}"),
        };
        ends.push(rows);
        goes_on.push(left_over);
    }
    if rows != num_rows || goes_on.last() == Some(&true) {
        corrupt!("a repetition index that ends {rows} rows in a page of {num_rows}");
    }
    Ok(RowIndex { ends, goes_on })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::Layer;

    fn layout(num_items: u64) -> MiniBlockLayout {
        MiniBlockLayout {
            layers: vec![Layer::AllValidItem],
            rep: None,
            def: None,
            values: Encoding::Flat { bits: 32 },
            dictionary: None,
            num_buffers: 1,
            has_repetition_index: false,
            num_items,
            large_chunks: true,
        }
    }

    #[test]
    fn a_chunk_holds_no_more_values_than_32_bits_count() {
        let table = [0; 4];
        assert!(read_chunk_table(&table, &layout(u64::from(u32::MAX)), 8).is_ok());
        let error = read_chunk_table(&table, &layout(1 << 32), 8).unwrap_err();
        assert_eq!(error.kind(), crate::ErrorKind::Limit);
    }

    #[test]
    fn a_row_is_found_from_any_chunk_that_is_not_behind_it() {
        for (ends, goes_on) in [
            (vec![1], vec![false]),
            (vec![3, 3, 4, 9, 9, 12], vec![true, true, false, true, true, false]),
            ((1..40).map(|i| i * i).collect(), (1..40).map(|i| i % 3 == 0 && i < 39).collect()),
        ] {
            let rows = RowIndex { ends, goes_on };
            let starts = |chunk: usize| rows.first_start(chunk + 1);
            for row in 0..rows.ends[rows.ends.len() - 1] {
                let found = (0..rows.ends.len())
                    .find(|chunk| starts(*chunk) > row)
                    .expect("every row begins somewhere");
                assert_eq!(rows.first_chunk(row), found);
                for hint in 0..=found {
                    assert_eq!(rows.first_chunk_from(hint, row), found, "row {row} from chunk {hint}");
                }
            }
        }
    }

    #[test]
    fn a_repetition_index_that_counts_past_64_bits_is_corrupt() {
        let words = |words: [u64; 4]| words.iter().flat_map(|w| w.to_le_bytes()).collect::<Vec<u8>>();
        assert!(read_repetition_index(&words([3, 1, 2, 0]), 2, 5).is_ok());
        assert!(read_repetition_index(&words([u64::MAX, 1, 1, 0]), 2, u64::MAX).is_err());
        assert!(read_repetition_index(&words([u64::MAX - 1, 1, 2, 0]), 2, u64::MAX).is_err());
    }
}
