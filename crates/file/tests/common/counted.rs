//! A file in memory that tells what was read of it.

use std::io;
use std::ops::Range;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use pennon_file::io::ReadAt;

/// Bytes or a local file behind `ReadAt`, with a list of the ranges read. Never handed over whole.
#[derive(Debug)]
pub struct Counted {
    from: From,
    reads: Mutex<Vec<Range<u64>>>,
}

#[derive(Debug)]
enum From {
    Memory(Bytes),
    Local(std::fs::File),
}

impl Counted {
    pub fn new(bytes: Bytes) -> Arc<Self> {
        Arc::new(Self { from: From::Memory(bytes), reads: Mutex::new(Vec::new()) })
    }

    pub fn local(file: std::fs::File) -> Arc<Self> {
        Arc::new(Self { from: From::Local(file), reads: Mutex::new(Vec::new()) })
    }

    /// The ranges read since the last call.
    pub fn drain(&self) -> Vec<Range<u64>> {
        std::mem::take(&mut self.reads.lock().expect("no panic while held"))
    }
}

impl ReadAt for Counted {
    fn len(&self) -> io::Result<u64> {
        match &self.from {
            From::Memory(bytes) => Ok(bytes.len() as u64),
            From::Local(file) => Ok(file.metadata()?.len()),
        }
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<()> {
        let end = offset.saturating_add(buf.len() as u64);
        match &self.from {
            From::Memory(bytes) if end <= bytes.len() as u64 => {
                buf.copy_from_slice(&bytes[offset as usize..end as usize]);
            }
            From::Memory(_) => {
                let what = format!("read of {} bytes at {offset}", buf.len());
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, what));
            }
            From::Local(file) => {
                let mut file = file;
                io::Seek::seek(&mut file, io::SeekFrom::Start(offset))?;
                io::Read::read_exact(&mut file, buf)?;
            }
        }
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
