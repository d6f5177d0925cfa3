//! The loop between a decoder and a file, and what it knows about the medium.
//!
//! Needs are sorted and near ones joined into one read; a read call costs about as much as 4 KB, so
//! that is the gap worth reading over on a local disk. All reads of a round are begun before the first is
//! waited for: a device answers several at once, and what the page cache has is there after one call.
//! Files on a local disk are mapped once reading them piecewise has cost more than a mapping would; only
//! reads that the page cache answers count, as faults of a mapping come one at a time.

use std::fs::File;
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use bytes::Bytes;

use super::mmap::{self, Stamp};
use super::{Decode, ReadAt, Segments, Step};
use crate::{Error, Result};

/// Rounds after which a decoder counts as broken. Every decoder here needs at most four.
const MAX_ROUNDS: usize = 16;
/// First touch of a mapping brings in this much.
const WINDOW_BYTES: u64 = 64 * 1024;
/// Touches of a window from which a mapping is cheaper than read calls.
const TOUCHES_PER_WINDOW: u64 = 8;
/// Ranges looked at to see whether the page cache has a file.
const PROBES: usize = 8;
/// Reads are joined up to this size; only ranges that touch grow further.
const MAX_JOINED_BYTES: u64 = 16 << 20;
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
    /// When scans or many small reads make it worth its cost.
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
    reader: Arc<dyn ReadAt>,
    local: Option<(File, Stamp)>,
    bytes: u64,
    options: SourceOptions,
    name: Option<String>,
    /// Set once: the whole file in memory, or `None` after mapping failed.
    whole: OnceLock<Option<Bytes>>,
    /// Windows touched by reads since one of them had to wait for the device.
    touches: AtomicU64,
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
        source.local = Some((file, stamp));
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
        let Some((file, stamp)) = &self.local else { return };
        // Read calls go on working where a file system does not map; a file of another length than
        // at opening is left to `check_unchanged`.
        self.whole.get_or_init(|| mmap::map(file).ok().filter(|whole| whole.len() as u64 == stamp.bytes));
    }

    /// Fails if a local file was written to since it was opened. Replacing it by a rename is no change:
    /// the opened file stays what it was.
    pub fn check_unchanged(&self) -> Result<()> {
        let Some((file, opened)) = &self.local else { return Ok(()) };
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

    /// The same where what is wanted lies scattered over the file. Faults of a mapping read much around them
    /// and come one after the other, which costs nothing where the page cache has the file.
    pub(crate) fn scattered_segments(&self) -> Segments {
        let is_warm = self.touches.load(Ordering::Relaxed) >= self.touches_of_mapping();
        if self.local.is_none() || is_warm || self.options.mapping == MappingPolicy::Always {
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
        let is_warm = self.note_touches(ranges) && self.looks_cached(ranges);
        if is_warm {
            self.prefer_mapping();
        }
        if is_warm || !segments.is_scattered() {
            if let Some(whole) = self.whole() {
                segments.set_whole(whole);
                return Ok(());
            }
        }
        let reads = coalesce(ranges, self.options.coalesce_gap);
        segments.insert_all(self.read_all(&reads)?);
        Ok(())
    }

    /// Counts windows touched; says whether a mapping would be cheaper from here on.
    fn note_touches(&self, ranges: &[Range<u64>]) -> bool {
        let touched: u64 = ranges.iter().map(|r| 1 + (r.end - r.start) / WINDOW_BYTES).sum();
        let before = self.touches.fetch_add(touched, Ordering::Relaxed);
        let may_map = self.local.is_some() && self.options.mapping != MappingPolicy::Never;
        may_map && before.saturating_add(touched) >= self.touches_of_mapping()
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
            let Some(len) = self.reader.begin_read(*offset, buf) else { break };
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

    fn named(&self, error: Error) -> Error {
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

/// Bytes to skip from `at` until it equals `offset` modulo 64.
fn pad_to(at: usize, offset: u64) -> usize {
    (offset as usize).wrapping_sub(at) % BLOCK_ALIGN
}

/// Sorts ranges and joins those at most `gap` apart.
fn coalesce(ranges: &[Range<u64>], gap: u64) -> Vec<Range<u64>> {
    let mut sorted: Vec<Range<u64>> = ranges.iter().filter(|r| !r.is_empty()).cloned().collect();
    sorted.sort_by_key(|r| r.start);
    let mut reads: Vec<Range<u64>> = Vec::with_capacity(sorted.len());
    for range in sorted {
        if let Some(last) = reads.last_mut() {
            let touches = range.start <= last.end;
            let near = range.start.saturating_sub(last.end) <= gap
                && range.end.saturating_sub(last.start) <= MAX_JOINED_BYTES;
            if touches || near {
                last.end = last.end.max(range.end);
                continue;
            }
        }
        reads.push(range);
    }
    reads
}

/// Steps a decoder until it is done, fetching what it asks for.
pub fn drive<D: Decode>(source: &Source, decoder: D) -> Result<D::Output> {
    let mut segments = source.segments();
    drive_with(source, decoder, &mut segments)
}

/// The same for a decoder that wants what lies scattered over the file.
pub(crate) fn drive_scattered<D: Decode>(source: &Source, decoder: D) -> Result<D::Output> {
    let mut segments = source.scattered_segments();
    drive_with(source, decoder, &mut segments)
}

/// The same from bytes that are there already; what was fetched stays in `segments`.
pub(crate) fn drive_with<D: Decode>(
    source: &Source,
    mut decoder: D,
    segments: &mut Segments,
) -> Result<D::Output> {
    for _ in 0..MAX_ROUNDS {
        let need = match decoder.step(segments).map_err(|e| source.named(e))? {
            Step::Done(value) => return Ok(value),
            Step::Need(need) => need,
        };
        if need.iter().all(|range| segments.slice(range).is_some()) {
            return Err(
                source.named(Error::invalid("internal: a decoder asked again for bytes it was given"))
            );
        }
        source.fetch(&need, segments)?;
    }
    Err(source.named(Error::invalid(format!("internal: a decoder is not done after {MAX_ROUNDS} rounds"))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;
    use std::sync::Mutex;
    use std::sync::atomic::AtomicBool;

    struct Counting {
        file: Vec<u8>,
        reads: Mutex<Vec<Range<u64>>>,
    }

    impl ReadAt for Counting {
        fn len(&self) -> io::Result<u64> {
            Ok(self.file.len() as u64)
        }

        fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<()> {
            self.reads.lock().unwrap().push(offset..offset + buf.len() as u64);
            buf.copy_from_slice(&self.file[offset as usize..offset as usize + buf.len()]);
            Ok(())
        }
    }

    /// Asks for all its ranges at once and gives their bytes.
    struct Fixed(Vec<Range<u64>>);

    impl Decode for Fixed {
        type Output = Vec<Vec<u8>>;

        fn step(&mut self, segments: &Segments) -> Result<Step<Self::Output>> {
            let found: Option<Vec<_>> =
                self.0.iter().map(|r| segments.slice(r).map(<[u8]>::to_vec)).collect();
            Ok(found.map_or_else(|| Step::Need(self.0.clone()), Step::Done))
        }
    }

    fn file() -> Vec<u8> {
        (0..200_000u32).map(|i| (i * 7 % 251) as u8).collect()
    }

    #[test]
    fn near_ranges_become_one_read_and_far_ones_do_not() {
        let counting = Arc::new(Counting { file: file(), reads: Mutex::default() });
        let source = Source::from_read_at(counting.clone(), SourceOptions::default()).unwrap();
        let asked = vec![100_000..170_000, 5_000..5_010, 10..20, 9_000..9_001, 170_000..170_001];
        let out = drive(&source, Fixed(asked.clone())).unwrap();
        for (range, bytes) in asked.iter().zip(out) {
            assert_eq!(bytes, file()[range.start as usize..range.end as usize]);
        }
        let mut reads = counting.reads.lock().unwrap().clone();
        reads.sort_by_key(|r| r.start);
        assert_eq!(reads, [10..20, 5_000..9_001, 100_000..170_001]);
    }

    #[test]
    fn answers_stand_at_their_file_offset_modulo_64() {
        let counting = Arc::new(Counting { file: file(), reads: Mutex::default() });
        let source = Source::from_read_at(counting, SourceOptions::default()).unwrap();
        let ranges = [3..40, 70_001..70_010, 100_010..190_000];
        let mut segments = Segments::new();
        source.fetch(&ranges, &mut segments).unwrap();
        for range in ranges {
            let slice = segments.slice(&range).unwrap();
            assert_eq!(slice.as_ptr().addr() % 64, range.start as usize % 64);
            assert_eq!(slice, &file()[range.start as usize..range.end as usize]);
        }
    }

    #[test]
    fn a_range_past_the_end_is_an_error_and_no_read() {
        let source = Source::from_bytes(Bytes::from(file()));
        let error = drive(&source, Fixed(vec![199_999..200_001])).unwrap_err();
        assert_eq!(error.kind(), crate::ErrorKind::Corrupt);
        assert!(error.message().contains("199999..200001 passes the end of the file at 200000"), "{error}");
    }

    #[test]
    fn a_decoder_that_never_ends_is_stopped() {
        /// Wants one more byte every time.
        struct Greedy(u64);
        impl Decode for Greedy {
            type Output = ();
            fn step(&mut self, _: &Segments) -> Result<Step<()>> {
                self.0 += 1;
                Ok(Step::Need(vec![self.0..self.0 + 1]))
            }
        }
        let counting = Arc::new(Counting { file: file(), reads: Mutex::default() });
        let piecewise = Source::from_read_at(counting, SourceOptions::default()).unwrap();
        let text = |error: Error| error.message().to_owned();
        assert!(text(drive(&piecewise, Greedy(4)).unwrap_err()).contains("not done after 16 rounds"));
        let whole = Source::from_bytes(Bytes::from(file()));
        assert!(text(drive(&whole, Greedy(4)).unwrap_err()).contains("asked again for bytes it was given"));
        assert!(drive(&piecewise, Fixed(vec![])).unwrap().is_empty());
    }

    #[test]
    fn a_local_file_is_mapped_when_asked_or_after_many_reads_and_never_when_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        std::fs::write(&path, file()).unwrap();
        let read = |source: &Source, n: usize| {
            for i in 0..n as u64 {
                let range = i * 100 % 190_000..i * 100 % 190_000 + 7;
                let out = drive(source, Fixed(vec![range.clone()])).unwrap();
                assert_eq!(out[0], file()[range.start as usize..range.end as usize]);
            }
        };
        let auto = Source::open(&path, SourceOptions::default()).unwrap();
        read(&auto, 10);
        assert!(auto.whole().is_none());
        read(&auto, 40);
        assert!(auto.whole().is_some());
        let never = SourceOptions { mapping: MappingPolicy::Never, ..Default::default() };
        let never = Source::open(&path, never).unwrap();
        never.prefer_mapping();
        read(&never, 100);
        assert!(never.whole().is_none());
        let asked = Source::open(&path, SourceOptions::default()).unwrap();
        asked.prefer_mapping();
        assert!(asked.segments().is_whole());
    }

    /// A file of which the page cache has nothing, or all; one byte of each read is always there.
    struct Slow {
        file: Vec<u8>,
        is_cached: AtomicBool,
        calls: Mutex<Vec<(&'static str, u64)>>,
    }

    impl ReadAt for Slow {
        fn len(&self) -> io::Result<u64> {
            Ok(self.file.len() as u64)
        }

        fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<()> {
            self.calls.lock().unwrap().push(("read", offset));
            buf.copy_from_slice(&self.file[offset as usize..offset as usize + buf.len()]);
            Ok(())
        }

        fn begin_read(&self, offset: u64, buf: &mut [u8]) -> Option<usize> {
            self.calls.lock().unwrap().push(("begin", offset));
            let len = if self.is_cached.load(Ordering::Relaxed) { buf.len() } else { buf.len() / 2 };
            buf[..len].copy_from_slice(&self.file[offset as usize..offset as usize + len]);
            Some(len)
        }
    }

    #[test]
    fn all_reads_are_begun_before_one_is_waited_for_and_what_came_at_once_is_not_read_again() {
        let slow = Arc::new(Slow { file: file(), is_cached: false.into(), calls: Mutex::default() });
        let source = Source::from_read_at(slow.clone(), SourceOptions::default()).unwrap();
        let asked = vec![10..20, 50_000..50_100, 100_000..180_000];
        let out = drive(&source, Fixed(asked.clone())).unwrap();
        for (range, bytes) in asked.iter().zip(out) {
            assert_eq!(bytes, file()[range.start as usize..range.end as usize]);
        }
        let calls = std::mem::take(&mut *slow.calls.lock().unwrap());
        let expected = [
            ("begin", 10),
            ("begin", 50_000),
            ("begin", 100_000),
            ("read", 15),
            ("read", 50_050),
            ("read", 140_000),
        ];
        assert_eq!(calls, expected);
        slow.is_cached.store(true, Ordering::Relaxed);
        assert_eq!(drive(&source, Fixed(vec![7..9])).unwrap()[0], file()[7..9]);
        assert_eq!(*slow.calls.lock().unwrap(), [("begin", 7)]);
    }

    #[test]
    fn a_take_uses_a_mapping_only_once_the_page_cache_has_shown_to_have_the_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        std::fs::write(&path, file()).unwrap();
        let mut source = Source::open(&path, SourceOptions::default()).unwrap();
        let slow = Arc::new(Slow { file: file(), is_cached: false.into(), calls: Mutex::default() });
        source.reader = slow.clone();
        let ranges: Vec<_> = (0..40).map(|i| i * 4900..i * 4900 + 5).collect();
        let take = || {
            let out = drive_scattered(&source, Fixed(ranges.clone())).unwrap();
            assert!(out.iter().zip(&ranges).all(|(b, r)| *b == file()[r.start as usize..r.end as usize]));
            source.scattered_segments().is_whole()
        };
        // More than enough touches, but each of them waits.
        assert!(!take() && !take());
        assert!(source.whole().is_none());
        // What a scan maps a take leaves alone.
        source.prefer_mapping();
        assert!(source.segments().is_whole() && !take());
        slow.is_cached.store(true, Ordering::Relaxed);
        assert!(take());
        slow.calls.lock().unwrap().clear();
        assert!(take());
        assert!(slow.calls.lock().unwrap().is_empty());
    }

    #[test]
    fn a_file_written_to_while_open_is_noticed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        std::fs::write(&path, file()).unwrap();
        let source = Source::open(&path, SourceOptions::default()).unwrap();
        source.check_unchanged().unwrap();
        std::fs::OpenOptions::new().append(true).open(&path).unwrap();
        source.check_unchanged().unwrap();
        std::fs::write(&path, b"short").unwrap();
        let text = source.check_unchanged().unwrap_err().to_string();
        assert!(text.contains("it had 200000 bytes and has 5"), "{text}");
        assert!(Source::open(dir.path(), SourceOptions::default()).is_err());
    }
}
