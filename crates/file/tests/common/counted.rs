//! A file in memory that tells what was read of it.

use std::io;
use std::ops::Range;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use pennon_file::io::ReadAt;

/// Bytes behind `ReadAt`, with a list of the ranges read. Never handed over whole.
#[derive(Debug)]
pub struct Counted {
    bytes: Bytes,
    reads: Mutex<Vec<Range<u64>>>,
}

impl Counted {
    pub fn new(bytes: Bytes) -> Arc<Self> {
        Arc::new(Self { bytes, reads: Mutex::new(Vec::new()) })
    }

    /// The ranges read since the last call.
    pub fn drain(&self) -> Vec<Range<u64>> {
        std::mem::take(&mut self.reads.lock().expect("no panic while held"))
    }
}

impl ReadAt for Counted {
    fn len(&self) -> io::Result<u64> {
        Ok(self.bytes.len() as u64)
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<()> {
        let end = offset.checked_add(buf.len() as u64).filter(|e| *e <= self.bytes.len() as u64);
        let Some(end) = end else {
            return Err(io::Error::new(
                io::ErrorKind::UnexpectedEof,
                format!("read of {} bytes at {offset}", buf.len()),
            ));
        };
        buf.copy_from_slice(&self.bytes[offset as usize..end as usize]);
        self.reads.lock().expect("no panic while held").push(offset..end);
        Ok(())
    }
}

/// Bytes in ranges, each read counted as often as it was made.
pub fn total(reads: &[Range<u64>]) -> u64 {
    reads.iter().map(|r| r.end - r.start).sum()
}

/// Bytes of `reads` that lie in `range`.
pub fn inside(reads: &[Range<u64>], range: &Range<u64>) -> u64 {
    reads.iter().map(|r| r.end.min(range.end).saturating_sub(r.start.max(range.start))).sum()
}
