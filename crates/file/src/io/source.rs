//! A file to read from, and what is known about its medium.
//!
//! Needs are sorted and near ones joined into one read; a read call costs about as much as 4 KB, so
//! that is the gap worth reading over on a local disk. All reads of a round are begun before the first is
//! waited for: a device answers several at once, and what the page cache has is there after one call.
//! Files on a local disk are mapped once reading them piecewise has cost more than a mapping would, or where a take wants large
//! values; only reads that the page cache answers count, as faults of a mapping come one at a time.

use std::fs::File;
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use bytes::Bytes;

use super::coalesce::coalesce;
use super::mmap::{self, Mapping, Stamp};
use super::passing::Passing;
use super::{ReadAt, Segments};
use crate::{Error, Result};

/// First touch of a mapping brings in this much.
const WINDOW_BYTES: u64 = 64 * 1024;
/// Touches of a window from which a mapping is cheaper than read calls.
const TOUCHES_PER_WINDOW: u64 = 8;
/// Ranges looked at to see whether the page cache has a file.
const PROBES: usize = 8;
/// What a round of a take copies at most where it might be mapped.
const MOST_COPIED_BYTES: u64 = 256 << 20;
/// Answers smaller than this share one block of memory per round.
const ARENA_BYTES: u64 = 64 * 1024;
/// Blocks are placed at the file's offset modulo this, so that words stay aligned.
const BLOCK_ALIGN: usize = 64;
/// From this size on, running out of memory is an error instead of an abort.
const LARGE_BYTES: usize = 64 << 20;

/// When a local file is mapped into memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum MappingPolicy {
    /// When scans, many small reads or a take of large values make it worth its cost.
    #[default]
    Auto,
    /// Never. A mapping cannot be made safe against another process that truncates the file.
    Never,
    /// At the first read.
    Always,
}

/// How a [`Source`] reads.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct SourceOptions {
    /// Whether a local file may be mapped.
    pub mapping: MappingPolicy,
    /// Two needs at most this many bytes apart become one read. 4 KiB suits local files; a store that
    /// answers after milliseconds wants 64 KiB and more.
    pub coalesce_gap: u64,
}

impl Default for SourceOptions {
    fn default() -> Self {
        Self { mapping: MappingPolicy::Auto, coalesce_gap: 4096 }
    }
}

/// A file to read from: memory, a local file, or anything with positioned reads.
pub struct Source {
    pub(super) reader: Arc<dyn ReadAt>,
    local: Option<Arc<(File, Stamp)>>,
    bytes: u64,
    options: SourceOptions,
    name: Option<String>,
    /// Set once: the whole file in memory, or `None` after mapping failed.
    whole: OnceLock<Option<Bytes>>,
    /// Windows touched by reads since one of them had to wait for the device.
    touches: AtomicU64,
    /// Whether reads were found to be waited for one by one, here or on this file system.
    reads_wait: AtomicBool,
    /// Of a reader that passes over the file once.
    passing: Option<Passing>,
}

impl Source {
    /// Opens a local file.
    pub fn open(path: &Path, options: SourceOptions) -> Result<Self> {
        let name = path.display().to_string();
        let fail = |what: &str, e| Error::io(format!("cannot {what} the file"), e).in_file(&name);
        let file = File::open(path).map_err(|e| fail("open", e))?;
        let metadata = file.metadata().map_err(|e| fail("inspect", e))?;
        if metadata.is_dir() {
            return Err(Error::invalid("a directory, not a file").in_file(&name));
        }
        if !metadata.is_file() {
            return Err(Error::invalid("not a regular file: reading needs random access").in_file(&name));
        }
        let stamp = Stamp::of(&file).map_err(|e| fail("inspect", e))?;
        let reader = Arc::new(file.try_clone().map_err(|e| fail("open", e))?);
        let mut source = Self::new(reader, stamp.bytes, options);
        source.local = Some(Arc::new((file, stamp)));
        source.name = Some(name);
        Ok(source)
    }

    /// A file that is in memory.
    pub fn from_bytes(bytes: Bytes) -> Self {
        let len = bytes.len() as u64;
        let source = Self::new(Arc::new(bytes.clone()), len, SourceOptions::default());
        source.whole.get_or_init(|| Some(bytes));
        source
    }

    /// Anything with positioned reads.
    pub fn from_read_at(reader: Arc<dyn ReadAt>, options: SourceOptions) -> Result<Self> {
        let bytes = reader.len().map_err(|e| Error::io("cannot tell the length of the file", e))?;
        let whole = reader.whole();
        let bytes = whole.as_ref().map_or(bytes, |whole| whole.len() as u64);
        let source = Self::new(reader, bytes, options);
        if whole.is_some() {
            source.whole.get_or_init(|| whole);
        }
        Ok(source)
    }

    fn new(reader: Arc<dyn ReadAt>, bytes: u64, options: SourceOptions) -> Self {
        Self {
            reader,
            local: None,
            bytes,
            options,
            name: None,
            whole: OnceLock::new(),
            touches: AtomicU64::new(0),
            reads_wait: AtomicBool::new(false),
            passing: None,
        }
    }

    /// The same file for a reader that passes over it once, through a mapping of its own that keeps few pages in memory. `None` where
    /// the file is in memory or mapped already, or cannot be.
    pub(crate) fn passing(&self) -> Option<Self> {
        let local = self.local.as_ref()?;
        if self.options.mapping != MappingPolicy::Auto || self.whole.get().is_some() {
            return None;
        }
        let mapping = map(local)?;
        let mut source = Self::new(self.reader.clone(), self.bytes, self.options.clone());
        source.local = Some(local.clone());
        source.name.clone_from(&self.name);
        source.whole.get_or_init(|| Some(mapping.bytes()));
        source.passing = Some(Passing::new(mapping));
        Some(source)
    }

    /// Says that a batch of so many bytes was made, to a reader that passes.
    pub(crate) fn passed(&self, bytes: u64) {
        if let Some(passing) = &self.passing {
            passing.passed(bytes);
        }
    }

    /// Length of the file.
    pub fn file_bytes(&self) -> u64 {
        self.bytes
    }

    /// The path, where there is one.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// The whole file, if it is in memory or mapped by now.
    pub fn whole(&self) -> Option<Bytes> {
        if self.options.mapping == MappingPolicy::Always {
            self.prefer_mapping();
        }
        self.whole.get().and_then(Clone::clone)
    }

    /// Says that much of the file will be read, as by a scan: maps a local file now, if that is allowed.
    pub fn prefer_mapping(&self) {
        if self.options.mapping == MappingPolicy::Never {
            return;
        }
        let Some(local) = &self.local else { return };
        self.whole.get_or_init(|| map(local).map(|mapping| mapping.bytes()));
    }

    /// Fails if a local file was written to since it was opened. Replacing it by a rename is no change:
    /// the opened file stays what it was.
    pub fn check_unchanged(&self) -> Result<()> {
        let Some((file, opened)) = self.local.as_deref() else { return Ok(()) };
        let now = Stamp::of(file).map_err(|e| self.named(Error::io("cannot inspect the file", e)))?;
        if now == *opened {
            return Ok(());
        }
        let what = if now.bytes == opened.bytes {
            "its modification time is another".to_owned()
        } else {
            format!("it had {} bytes and has {}", opened.bytes, now.bytes)
        };
        Err(self.named(Error::corrupt(format!("the file was changed while open: {what}"))))
    }

    /// What a decoder starts with: the whole file if it is in memory, else nothing.
    pub fn segments(&self) -> Segments {
        self.whole().map_or_else(Segments::new, Segments::whole)
    }

    /// The same for what may lie `scattered` over the file, as the rows of a take. Faults of a mapping read much around them
    /// and come one after the other, which costs nothing where the page cache has the file.
    pub(crate) fn segments_for(&self, scattered: bool) -> Segments {
        let is_warm = self.touches.load(Ordering::Relaxed) >= self.touches_of_mapping();
        let reads_wait = self.reads_wait.load(Ordering::Relaxed);
        if !scattered
            || self.local.is_none()
            || is_warm
            || reads_wait
            || self.options.mapping == MappingPolicy::Always
        {
            return self.segments();
        }
        Segments::scattered()
    }

    /// Fetches ranges into `segments`; all must be inside the file.
    pub fn fetch(&self, ranges: &[Range<u64>], segments: &mut Segments) -> Result<()> {
        for range in ranges {
            if range.start > range.end || range.end > self.bytes {
                return Err(self.named(Error::corrupt(format!(
                    "asked range {}..{} passes the end of the file at {}",
                    range.start, range.end, self.bytes
                ))));
            }
        }
        let bytes = ranges.iter().fold(0, |sum: u64, r| sum.saturating_add(r.end - r.start));
        // Of rows that fill windows a mapping brings in what is wanted.
        let is_coarse = segments.is_scattered() && bytes / WINDOW_BYTES >= ranges.len() as u64;
        let is_warm = self.note_touches(ranges, is_coarse) && self.looks_cached(ranges);
        // Copies of very many chunks would take memory that nobody has promised.
        let is_large = bytes > MOST_COPIED_BYTES;
        if is_warm || is_large {
            self.prefer_mapping();
        }
        let may_fault = is_warm || is_large || !segments.is_scattered();
        if let Some(whole) = self.whole().filter(|_| may_fault) {
            segments.set_whole(whole);
            return Ok(());
        }
        let reads = coalesce(ranges, self.options.coalesce_gap);
        segments.insert_all(self.read_all(&reads)?);
        Ok(())
    }

    /// Counts windows touched; says whether a mapping would be cheaper from here on, which it is at once where ranges are `coarse`.
    fn note_touches(&self, ranges: &[Range<u64>], coarse: bool) -> bool {
        let touched: u64 = ranges.iter().map(|r| 1 + (r.end - r.start) / WINDOW_BYTES).sum();
        let before = self.touches.fetch_add(touched, Ordering::Relaxed);
        let failed = matches!(self.whole.get(), Some(None));
        let may_map = self.local.is_some() && self.options.mapping != MappingPolicy::Never && !failed;
        may_map && (coarse || before.saturating_add(touched) >= self.touches_of_mapping())
    }

    /// From how many touches on a mapping is cheaper.
    fn touches_of_mapping(&self) -> u64 {
        self.bytes.div_ceil(WINDOW_BYTES).saturating_mul(TOUCHES_PER_WINDOW)
    }

    /// Whether the page cache has the beginnings of some of these ranges; the count of touches begins anew if not.
    fn looks_cached(&self, ranges: &[Range<u64>]) -> bool {
        let some = ranges.iter().step_by(ranges.len().div_ceil(PROBES).max(1));
        let is_cached =
            !some.filter(|r| !r.is_empty()).any(|r| self.reader.begin_read(r.start, &mut [0]) == Some(0));
        if !is_cached {
            self.touches.store(0, Ordering::Relaxed);
        }
        is_cached
    }

    fn read_all(&self, reads: &[Range<u64>]) -> Result<Vec<(u64, Bytes)>> {
        let small = |r: &&Range<u64>| r.end - r.start < ARENA_BYTES;
        // Small answers side by side in one block, each at its file offset modulo 64.
        let mut places = Vec::new();
        let mut len = 0;
        for read in reads.iter().filter(small) {
            len += pad_to(len, read.start);
            places.push(len);
            len += (read.end - read.start) as usize;
        }
        let (mut shared, base) = if len > 0 { self.block(len, 0)? } else { (Vec::new(), 0) };
        let mut own = Vec::new();
        for read in reads.iter().filter(|r| !small(r)) {
            let len = usize::try_from(read.end - read.start)
                .map_err(|_| Error::limit(format!("a read of {} bytes", read.end - read.start)))?;
            let (block, at) = self.block(len, read.start)?;
            own.push((block, at..at + len));
        }

        let mut wanted = Vec::with_capacity(reads.len());
        let (mut rest, mut passed) = (&mut shared[base..], 0);
        for (read, place) in reads.iter().filter(small).zip(&places) {
            let (buf, after) = rest[place - passed..].split_at_mut((read.end - read.start) as usize);
            (rest, passed) = (after, place + buf.len());
            wanted.push((read.start, buf));
        }
        for (read, (block, at)) in reads.iter().filter(|r| !small(r)).zip(&mut own) {
            wanted.push((read.start, &mut block[at.clone()]));
        }
        self.read_into(wanted)?;

        let shared = Bytes::from(shared);
        let small_pieces = reads.iter().filter(small).zip(&places).map(|(read, place)| {
            let place = base + place;
            (read.start, shared.slice(place..place + (read.end - read.start) as usize))
        });
        let large = reads.iter().filter(|r| !small(r)).zip(own);
        let large_pieces = large.map(|(read, (block, at))| (read.start, Bytes::from(block).slice(at)));
        Ok(small_pieces.chain(large_pieces).collect())
    }

    /// Zeroed memory with room for `len` bytes from the returned index on, which stands at `offset`
    /// modulo 64.
    fn block(&self, len: usize, offset: u64) -> Result<(Vec<u8>, usize)> {
        let no_memory = || self.named(Error::limit(format!("no memory for a read of {len} bytes")));
        let size = len.checked_add(BLOCK_ALIGN).ok_or_else(no_memory)?;
        let block = if size < LARGE_BYTES {
            vec![0; size]
        } else {
            let mut block = Vec::new();
            block.try_reserve_exact(size).map_err(|_| no_memory())?;
            block.resize(size, 0);
            block
        };
        let at = pad_to(block.as_ptr().addr(), offset);
        Ok((block, at))
    }

    /// Fills buffers with the bytes at their offsets.
    fn read_into(&self, mut wanted: Vec<(u64, &mut [u8])>) -> Result<()> {
        let mut begun = Vec::with_capacity(wanted.len());
        for (offset, buf) in &mut wanted {
            let Some(len) = self.reader.begin_read(*offset, buf) else {
                self.reads_wait.store(true, Ordering::Relaxed);
                break;
            };
            begun.push(len.min(buf.len()));
        }
        if begun.iter().zip(&wanted).any(|(len, (_, buf))| *len < buf.len()) {
            self.touches.store(0, Ordering::Relaxed);
        }
        begun.resize(wanted.len(), 0);
        for ((offset, buf), len) in wanted.into_iter().zip(begun) {
            if len == buf.len() {
                continue;
            }
            self.reader.read_at(offset + len as u64, &mut buf[len..]).map_err(|e| {
                let what = format!("cannot read {} bytes", buf.len());
                self.named(Error::io(what, e).at_offset(offset))
            })?;
        }
        Ok(())
    }

    pub(super) fn named(&self, error: Error) -> Error {
        match &self.name {
            Some(name) => error.in_file(name),
            None => error,
        }
    }
}

impl std::fmt::Debug for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Source")
            .field("name", &self.name)
            .field("bytes", &self.bytes)
            .field("options", &self.options)
            .field("in_memory", &self.whole.get().is_some_and(Option::is_some))
            .finish_non_exhaustive()
    }
}

/// Maps a local file. Read calls go on working where a file system does not; a file of another length than at opening is left to
/// `check_unchanged`.
fn map((file, stamp): &(File, Stamp)) -> Option<Mapping> {
    mmap::map(file).ok().filter(|mapping| mapping.as_ref().len() as u64 == stamp.bytes)
}

/// Bytes to skip from `at` until it equals `offset` modulo 64.
fn pad_to(at: usize, offset: u64) -> usize {
    (offset as usize).wrapping_sub(at) % BLOCK_ALIGN
}
