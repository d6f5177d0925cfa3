//! Sources and the loop that drives decoders, over files in memory that count what is asked of them.

use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use bytes::Bytes;

use super::{Decode, MappingPolicy, ReadAt, Segments, Source, SourceOptions, Step, drive, drive_with};
use crate::{Error, Result};

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
        let found: Option<Vec<_>> = self.0.iter().map(|r| segments.slice(r).map(<[u8]>::to_vec)).collect();
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
        let out = drive_with(&source, Fixed(ranges.clone()), &mut source.segments_for(true)).unwrap();
        assert!(out.iter().zip(&ranges).all(|(b, r)| *b == file()[r.start as usize..r.end as usize]));
        source.segments_for(true).is_whole()
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

#[test]
fn where_reads_cannot_be_begun_a_take_uses_the_mapping_of_a_scan() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("f");
    std::fs::write(&path, file()).unwrap();
    let mut source = Source::open(&path, SourceOptions::default()).unwrap();
    source.reader = Arc::new(Counting { file: file(), reads: Mutex::default() });
    source.prefer_mapping();
    assert!(!source.segments_for(true).is_whole());
    let mut segments = Segments::scattered();
    source.fetch(&[5..9], &mut segments).unwrap();
    assert_eq!(segments.slice(&(5..9)).unwrap(), &file()[5..9]);
    assert!(source.segments_for(true).is_whole());
}

/// What the page cache has is known where reads can be begun ahead.
#[cfg(target_os = "linux")]
#[test]
fn a_take_of_large_values_maps_what_the_page_cache_has_and_a_look_at_the_end_does_not() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("f");
    std::fs::write(&path, file()).unwrap();
    let large = [0..70_000, 80_000..160_000];
    let take = |policy, ranges: &[Range<u64>]| {
        let source =
            Source::open(&path, SourceOptions { mapping: policy, ..SourceOptions::default() }).unwrap();
        let mut end = source.segments();
        source.fetch(&[134_464..200_000], &mut end).unwrap();
        assert_eq!(end.slice(&(134_464..200_000)).unwrap(), &file()[134_464..]);
        assert!(source.whole().is_none());
        let mut segments = source.segments_for(true);
        source.fetch(ranges, &mut segments).unwrap();
        for range in ranges {
            assert_eq!(segments.slice(range).unwrap(), &file()[range.start as usize..range.end as usize]);
        }
        source.whole().is_some()
    };
    assert!(take(MappingPolicy::Auto, &large));
    assert!(!take(MappingPolicy::Never, &large));
    assert!(!take(MappingPolicy::Auto, &[0..100, 5_000..9_000]));
}

#[cfg(target_os = "linux")]
#[test]
fn a_reader_that_passes_over_a_file_leaves_its_pages_and_may_look_at_them_again() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("passed");
    std::fs::write(&path, file()).unwrap();
    // Bytes of the mapping that are this process's now.
    let resident = || {
        let maps = std::fs::read_to_string("/proc/self/smaps").unwrap();
        let mut lines = maps.lines().skip_while(|line| !line.ends_with(path.to_str().unwrap()));
        let line = lines.find(|line| line.starts_with("Rss:")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() << 10
    };
    let source = Source::open(&path, SourceOptions::default()).unwrap();
    let passing = source.passing().unwrap();
    let read = || assert_eq!(*drive(&passing, Fixed(vec![0..200_000])).unwrap()[0], file());
    read();
    passing.passed(1 << 20);
    assert!(resident() >= 200_000);
    let kept = passing.whole().unwrap().slice(100_000..150_000);
    passing.passed(8 << 20);
    assert_eq!(resident(), 0);
    assert_eq!(kept, file()[100_000..150_000]);
    read();
    assert!(resident() >= 200_000);
    // The handle's own mapping is another one, and serves all once it is there.
    assert!(source.whole().is_none());
    source.prefer_mapping();
    assert!(source.passing().is_none());
    source.passed(u64::MAX);
    let never = SourceOptions { mapping: MappingPolicy::Never, ..Default::default() };
    assert!(Source::open(&path, never).unwrap().passing().is_none());
    assert!(Source::from_bytes(file().into()).passing().is_none());
    std::fs::write(&path, []).unwrap();
    let empty = Source::open(&path, SourceOptions::default()).unwrap();
    assert!(empty.passing().unwrap().whole().unwrap().is_empty());
}
