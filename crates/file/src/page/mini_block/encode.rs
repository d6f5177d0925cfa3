//! Levels and values of a page become chunks.
//!
//! ```text
//! chunk   u16 num_levels | u16 rep bytes? | u16 def bytes? | u16 or u32 bytes of each value buffer
//!         0xFE to 8 | rep, 0xFE to 8 | def, 0xFE to 8 | value buffers, each 0xFE to 8
//! ```
//!
//! See docs/format/pages.md, "Mini-block".

use bytes::Bytes;

use super::plan::{ChunkPlan, ChunkRule, plan};
use crate::encoding::{ChunkWriter, Encoding, Values, encode_levels};
use crate::page::encode::{EncodedPage, LevelChoice, LevelStats};
use crate::page::{Layout, LeafPage, MiniBlockLayout, PageDictionary};
use crate::{Error, Result};

/// How a page is to be stored.
#[derive(Debug)]
pub(crate) struct MiniBlockChoice {
    /// Of the values, or of the indices where there is a dictionary.
    pub(crate) values: Encoding,
    pub(crate) rule: ChunkRule,
    pub(crate) rep: LevelChoice,
    pub(crate) def: LevelChoice,
    /// 32-bit sizes (2.2).
    pub(crate) large_chunks: bool,
}

/// Fill between the parts of a chunk.
const FILL: u8 = 0xFE;
/// Parts of a chunk start at multiples of this.
const ALIGN: usize = 8;
/// Levels of a chunk: its header counts them with 16 bits, and their bytes too.
const MAX_LEVELS: usize = u16::MAX as usize;
/// A chunk table word of 16 bits has 12 for the size.
const MAX_SMALL_CHUNK: usize = 32 * 1024;
/// Of 32 bits, 28; the official writer stops at 2 GiB.
const MAX_LARGE_CHUNK: usize = 1 << 31;

/// The entries of a page's dictionary as they are stored.
#[derive(Debug, Clone)]
pub(crate) struct StoredEntries {
    pub(crate) encoding: Encoding,
    pub(crate) num_items: usize,
    pub(crate) bytes: Vec<u8>,
}

/// Encodes `values` (the page's own, or indices into `dictionary`); `None` when they do not go into
/// chunks: too many levels around two values, or values too large. Fewer rows may fit.
pub(crate) fn encode(
    page: &LeafPage,
    values: &Values,
    dictionary: Option<&StoredEntries>,
    choice: &MiniBlockChoice,
) -> Result<Option<EncodedPage>> {
    let mut rule = choice.rule.clone();
    rule.max_events = rule.max_events.min(MAX_LEVELS);
    loop {
        let Some(chunks) = plan(page, values, &rule) else { return Ok(None) };
        if let Some(encoded) = encode_chunks(page, values, dictionary, choice, &chunks)? {
            return Ok(Some(encoded));
        }
        // A chunk was too large: smaller ones may do.
        if rule.max_values <= 2 {
            return Ok(None);
        }
        rule.max_values = (rule.max_values / 2).max(2);
        rule.target_bytes /= 2;
    }
}

/// `None` if a chunk or the levels in it pass their bounds.
fn encode_chunks(
    page: &LeafPage,
    values: &Values,
    dictionary: Option<&StoredEntries>,
    choice: &MiniBlockChoice,
    chunks: &[ChunkPlan],
) -> Result<Option<EncodedPage>> {
    let Some(rep) = level_encoding(page.has_rep(), chunks, &choice.rep, |c, out| {
        out.clear();
        out.extend_from_slice(&page.rep[c.events.clone()]);
    }) else {
        return Ok(None);
    };
    let def_levels = |c: &ChunkPlan, out: &mut Vec<u16>| page.def_levels(c.events.clone(), out);
    let Some(def) = level_encoding(page.has_def(), chunks, &choice.def, def_levels) else { return Ok(None) };

    let mut table = Vec::new();
    let mut data = Vec::new();
    let mut levels = Vec::new();
    let mut writer = ChunkWriter::new(&choice.values, &values.shape())?;
    for (i, chunk) in chunks.iter().enumerate() {
        let rep_bytes = match &rep {
            Some(encoding) => Some(encode_levels(encoding, &page.rep[chunk.events.clone()])?),
            None => None,
        };
        let def_bytes = match &def {
            Some(encoding) => {
                page.def_levels(chunk.events.clone(), &mut levels);
                Some(encode_levels(encoding, &levels)?)
            }
            None => None,
        };
        let buffers = writer.encode(values, chunk.values.clone())?;
        let start = data.len();
        if !append_chunk(&mut data, chunk, rep_bytes, def_bytes, &buffers, choice.large_chunks) {
            return Ok(None);
        }
        let size = data.len() - start;
        let log = if i + 1 == chunks.len() { 0 } else { chunk.values.len().ilog2() as usize };
        let word = ((size / ALIGN - 1) << 4) | log;
        if choice.large_chunks {
            if size > MAX_LARGE_CHUNK {
                return Ok(None);
            }
            table.extend_from_slice(&(word as u32).to_le_bytes());
        } else {
            if size > MAX_SMALL_CHUNK {
                return Ok(None);
            }
            table.extend_from_slice(&(word as u16).to_le_bytes());
        }
    }

    let mut buffers: Vec<Bytes> = vec![table.into(), data.into()];
    let mut page_dictionary = None;
    if let Some(entries) = dictionary {
        buffers.push(entries.bytes.clone().into());
        page_dictionary =
            Some(PageDictionary { encoding: entries.encoding.clone(), num_items: entries.num_items as u64 });
    }
    if rep.is_some() {
        buffers.push(repetition_index(page, chunks)?.into());
    }
    let layout = Layout::MiniBlock(MiniBlockLayout {
        layers: page.layers.clone(),
        has_repetition_index: rep.is_some(),
        rep,
        def,
        values: choice.values.clone(),
        dictionary: page_dictionary,
        num_buffers: writer.num_buffers() as u64,
        num_items: values.len() as u64,
        large_chunks: choice.large_chunks,
    });
    Ok(Some(EncodedPage { layout, buffers, num_rows: page.num_rows }))
}

/// The encoding of one kind of level for all chunks: `Some(None)` where the page has none, `None` where
/// no encoding keeps every chunk within its bounds.
fn level_encoding(
    present: bool,
    chunks: &[ChunkPlan],
    choice: &LevelChoice,
    levels: impl Fn(&ChunkPlan, &mut Vec<u16>),
) -> Option<Option<Encoding>> {
    if !present {
        return Some(None);
    }
    let mut stats = LevelStats::default();
    let mut scratch = Vec::new();
    for chunk in chunks {
        levels(chunk, &mut scratch);
        stats.add(&scratch);
    }
    stats.choose(choice, MAX_LEVELS).map(Some)
}

/// Appends one chunk; false if a size does not fit its field.
fn append_chunk(
    data: &mut Vec<u8>,
    chunk: &ChunkPlan,
    rep: Option<Vec<u8>>,
    def: Option<Vec<u8>>,
    buffers: &[Vec<u8>],
    large: bool,
) -> bool {
    let Ok(num_levels) = u16::try_from(chunk.events.len()) else { return false };
    let levels: Vec<Vec<u8>> = [rep, def].into_iter().flatten().collect();
    data.extend_from_slice(&num_levels.to_le_bytes());
    for bytes in &levels {
        let Ok(size) = u16::try_from(bytes.len()) else { return false };
        data.extend_from_slice(&size.to_le_bytes());
    }
    for buffer in buffers {
        if large {
            let Ok(size) = u32::try_from(buffer.len()) else { return false };
            data.extend_from_slice(&size.to_le_bytes());
        } else {
            let Ok(size) = u16::try_from(buffer.len()) else { return false };
            data.extend_from_slice(&size.to_le_bytes());
        }
    }
    // Chunks start at multiples of 8, so the buffer's length says where this one is.
    fill(data);
    for bytes in levels.iter().chain(buffers) {
        data.extend_from_slice(bytes);
        fill(data);
    }
    true
}

fn fill(data: &mut Vec<u8>) {
    data.resize(data.len().next_multiple_of(ALIGN), FILL);
}

/// Per chunk: rows that end in it, levels left over for the next.
fn repetition_index(page: &LeafPage, chunks: &[ChunkPlan]) -> Result<Vec<u8>> {
    let top = page.max_rep();
    let mut index = Vec::with_capacity(chunks.len() * 16);
    let mut total = 0;
    for (i, chunk) in chunks.iter().enumerate() {
        let rep = &page.rep[chunk.events.clone()];
        let starts_after_first = rep.iter().skip(1).filter(|r| **r == top).count();
        let row_ends_here = match chunks.get(i + 1) {
            None => true,
            Some(next) => page.rep[next.events.start] == top,
        };
        let rows = starts_after_first + usize::from(row_ends_here);
        let leftover =
            if row_ends_here { 0 } else { rep.len() - rep.iter().rposition(|r| *r == top).unwrap_or(0) };
        total += rows;
        index.extend_from_slice(&(rows as u64).to_le_bytes());
        index.extend_from_slice(&(leftover as u64).to_le_bytes());
    }
    if total != page.num_rows {
        return Err(Error::invalid(format!("repetition levels make {total} rows of {}", page.num_rows)));
    }
    Ok(index)
}
