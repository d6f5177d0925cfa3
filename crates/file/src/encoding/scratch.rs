//! Memory that decoders and encoders reuse from chunk to chunk.

use std::cell::RefCell;

use pennon_codec::zstd_frame::FrameCompressor;

use super::general::{BorderHabit, ZstdCompressor, ZstdDecompressor};

/// Reused by all codecs of one thread. Holds nothing between calls that a caller could see.
#[derive(Default)]
pub(crate) struct Scratch {
    /// Byte buffers not in use; nested compressors take one each.
    buffers: Vec<Vec<u8>>,
    /// Offsets of strings in their chunk.
    pub(super) bounds: Vec<u32>,
    /// Ends of decompressed strings.
    pub(super) ends: Vec<usize>,
    /// Ends of compressed strings.
    pub(super) wide_ends: Vec<u64>,
    /// Decoded levels.
    pub(super) levels: Vec<u16>,
    /// Bitmaps of levels.
    pub(super) words: Vec<u64>,
    pub(super) decompressor: Option<ZstdDecompressor>,
    pub(super) compressor: Option<ZstdCompressor>,
    pub(super) frames: Option<FrameCompressor>,
    pub(super) borders: BorderHabit,
}

impl Scratch {
    /// An empty buffer; give it back with [`Self::give`].
    pub(super) fn take(&mut self) -> Vec<u8> {
        self.buffers.pop().unwrap_or_default()
    }

    /// Takes a buffer back for later use.
    pub(super) fn give(&mut self, mut buffer: Vec<u8>) {
        // One enormous value must not stay for the life of the reader.
        const KEEP_BYTES: usize = 16 << 20;
        if buffer.capacity() <= KEEP_BYTES {
            buffer.clear();
            self.buffers.push(buffer);
        }
    }
}

impl std::fmt::Debug for Scratch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Scratch").field("buffers", &self.buffers.len()).finish_non_exhaustive()
    }
}

/// A [`Scratch`] of this thread's, given back when dropped: compression contexts are dear to make, and pages of a few thousand values
/// need them, to be read and for every way to store them that is tried.
#[derive(Debug)]
pub(crate) struct Lent(Scratch);

thread_local! {
    static IDLE: RefCell<Vec<Scratch>> = const { RefCell::new(Vec::new()) };
}

impl Lent {
    pub(crate) fn take() -> Self {
        let mut scratch = IDLE.try_with(|idle| idle.borrow_mut().pop()).ok().flatten().unwrap_or_default();
        // What one page has taught says nothing of the next.
        scratch.borders = BorderHabit::default();
        Self(scratch)
    }
}

impl Default for Lent {
    fn default() -> Self {
        Self::take()
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        /// Kept by a thread at most.
        const KEEP: usize = 2;
        /// The largest buffer that outlives a page.
        const KEEP_BYTES: usize = 1 << 20;
        /// Buffers that outlive it.
        const KEEP_BUFFERS: usize = 4;
        fn trim<T>(vector: &mut Vec<T>) {
            if vector.capacity() * size_of::<T>() > KEEP_BYTES {
                *vector = Vec::new();
            }
        }
        let mut scratch = std::mem::take(&mut self.0);
        scratch.buffers.retain(|buffer| buffer.capacity() <= KEEP_BYTES);
        scratch.buffers.truncate(KEEP_BUFFERS);
        trim(&mut scratch.bounds);
        trim(&mut scratch.ends);
        trim(&mut scratch.wide_ends);
        trim(&mut scratch.levels);
        trim(&mut scratch.words);
        // A thread that ends has no place for it any more.
        let _ = IDLE.try_with(|idle| {
            let mut idle = idle.borrow_mut();
            if idle.len() < KEEP {
                idle.push(scratch);
            }
        });
    }
}

impl std::ops::Deref for Lent {
    type Target = Scratch;

    fn deref(&self) -> &Scratch {
        &self.0
    }
}

impl std::ops::DerefMut for Lent {
    fn deref_mut(&mut self) -> &mut Scratch {
        &mut self.0
    }
}
