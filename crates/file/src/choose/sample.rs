//! What a way to store values will take, from some of its chunks.
//!
//! Bit packing, run lengths and plain values are counted exactly over the whole page. Everything else is encoded: all
//! chunks of a page of up to four; of larger pages one chunk in 16, three to sixteen of them, spread evenly from the first to the last.
//! Whole chunks, so that what repeats among neighbours is seen as it will be stored. Against counting everything, sizes of whole files differ
//! by less than 3 % (`bench/size.py --regret`).

use super::candidates::Candidate;
use super::cost::{self, DecodeCost};
use super::measure;
use super::pick::BUFFER_ALIGN;
use super::preset::Weights;
use crate::Result;
use crate::encoding::{ChunkWriter, Encoding, Values};
use crate::page::mini_block::{chunk_len, values_bytes};

/// One chunk in this many is encoded.
const ONE_IN: usize = 16;
/// Chunks encoded at least.
const MIN_CHUNKS: usize = 3;
/// And at most.
const MAX_CHUNKS: usize = 16;
/// Pages of up to this many chunks are encoded whole.
const SMALL_PAGE: usize = 4;
/// Parts of chunks start at multiples of this.
const ALIGN: usize = 8;
/// Bytes of a chunk where its size has 12 bits.
const MAX_SMALL_CHUNK: usize = 32 << 10;

/// What the chunks of a page are like, whatever encodes them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Frame {
    /// Kinds of levels in a chunk.
    pub(super) levels: usize,
    /// 32-bit sizes.
    pub(super) large: bool,
    /// Encode everything.
    pub(super) whole: bool,
}

/// What a candidate will take, about.
#[derive(Debug, Clone, Copy)]
pub(super) struct Estimate {
    /// Bytes of all chunks and their table.
    pub(super) bytes: f64,
    pub(super) decode: DecodeCost,
}

impl Estimate {
    /// What the weights make of it.
    pub(super) fn cost(&self, num_values: usize, weights: &Weights) -> f64 {
        self.bytes + self.decode.weighed(num_values, weights)
    }
}

impl Frame {
    /// Bytes around the value buffers of a chunk.
    fn overhead(self, buffers: usize) -> usize {
        let size = if self.large { 4 } else { 2 };
        (2 + 2 * self.levels + size * buffers).next_multiple_of(ALIGN)
    }

    /// Bytes of the two buffers of a page, each padded as it is in a file.
    fn page_bytes(self, chunks: usize, bytes: f64) -> f64 {
        let word = if self.large { 4 } else { 2 };
        let pad = |bytes: f64| (bytes / BUFFER_ALIGN as f64).ceil() * BUFFER_ALIGN as f64;
        pad((chunks * word) as f64) + pad(bytes)
    }

    /// What decoding costs.
    pub(super) fn decode_cost(self, values: &Values, candidate: &Candidate) -> DecodeCost {
        let (encoding, rule) = (&candidate.encoding, &candidate.rule);
        let count = values.len();
        let first = chunk_len(values, 0, rule);
        let chunks = count.div_ceil(first.max(1)).max(1) as f64;
        let raw = values_bytes(values, 0..count, rule.count) as f64;
        cost::of(encoding, count as f64 / chunks, raw / chunks)
    }

    /// `None` where chunks of the format version cannot be like that.
    pub(super) fn estimate(self, values: &Values, candidate: &Candidate) -> Result<Option<Estimate>> {
        let (encoding, rule) = (&candidate.encoding, &candidate.rule);
        let count = values.len();
        let first = chunk_len(values, 0, rule);
        let chunks = count.div_ceil(first.max(1)).max(1);
        let decode = self.decode_cost(values, candidate);
        if let Some(bytes) = measure::exact_bytes(values, encoding) {
            let buffers = if matches!(encoding, Encoding::Rle { .. }) { 2 } else { 1 };
            let padding = if matches!(encoding, Encoding::Rle { .. }) { ALIGN * chunks } else { 0 };
            let bytes = bytes + chunks * self.overhead(buffers) + padding;
            return Ok(Some(Estimate { bytes: self.page_bytes(chunks, bytes as f64), decode }));
        }
        let mut writer = ChunkWriter::new(encoding, &values.shape())?;
        let wanted = match chunks {
            _ if self.whole => chunks,
            0..=SMALL_PAGE => chunks,
            _ => (chunks / ONE_IN).clamp(MIN_CHUNKS, MAX_CHUNKS),
        };
        let (mut seen, mut bytes, mut taken, mut next) = (0, 0, 0, 0);
        while next < count && taken < wanted.max(1) * 4 {
            let len = chunk_len(values, next, rule);
            let buffers = writer.encode(values, next..next + len)?;
            let stored: usize = buffers.iter().map(|b| b.len().next_multiple_of(ALIGN)).sum();
            if !self.large && stored + self.overhead(buffers.len()) > MAX_SMALL_CHUNK {
                return Ok(None);
            }
            bytes += stored + self.overhead(buffers.len());
            seen += len;
            taken += 1;
            next += len;
            if wanted < chunks {
                // To the next of the places that are spread over the page.
                let place = (count - len.min(count)) / (wanted - 1).max(1) * taken;
                if taken >= wanted {
                    break;
                }
                next = next.max(place);
            }
        }
        let bytes = bytes as f64 * count as f64 / seen.max(1) as f64;
        let table = measure::description_bytes(encoding) as f64;
        Ok(Some(Estimate { bytes: self.page_bytes(chunks, bytes) + table, decode }))
    }
}
