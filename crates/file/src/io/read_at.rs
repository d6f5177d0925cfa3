//! Positioned reads.

use std::io;
use std::sync::Arc;

use bytes::Bytes;

/// Something with a fixed length that can be read at any offset, by several threads at once.
pub trait ReadAt: Send + Sync {
    /// Length in bytes.
    fn len(&self) -> io::Result<u64>;

    /// Whether there is nothing to read.
    fn is_empty(&self) -> io::Result<bool> {
        Ok(self.len()? == 0)
    }

    /// Fills `buf` with the bytes at `offset`, or fails.
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<()>;

    /// Does as much of `read_at` as needs no waiting and sets the rest going: how many bytes at the front
    /// of `buf` are there, `None` where this cannot be done. Several reads are begun before the first is
    /// waited for, so that a device has all of them to work on.
    fn begin_read(&self, _offset: u64, _buf: &mut [u8]) -> Option<usize> {
        None
    }

    /// All bytes, if they are in memory anyway; then nothing is ever read.
    fn whole(&self) -> Option<Bytes> {
        None
    }
}

impl ReadAt for std::fs::File {
    fn len(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }

    #[cfg(unix)]
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<()> {
        std::os::unix::fs::FileExt::read_exact_at(self, buf, offset)
    }

    /// What the page cache has is copied; for the rest Linux begins to read and does not wait. Not every
    /// file system can.
    #[cfg(target_os = "linux")]
    fn begin_read(&self, offset: u64, buf: &mut [u8]) -> Option<usize> {
        use rustix::io::{Errno, ReadWriteFlags};
        let mut parts = [io::IoSliceMut::new(buf)];
        match rustix::io::preadv2(self, &mut parts, offset, ReadWriteFlags::NOWAIT) {
            Err(Errno::AGAIN) => Some(0),
            answer => answer.ok(),
        }
    }

    #[cfg(windows)]
    fn read_at(&self, mut offset: u64, mut buf: &mut [u8]) -> io::Result<()> {
        while !buf.is_empty() {
            match std::os::windows::fs::FileExt::seek_read(self, buf, offset) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(n) => {
                    buf = &mut buf[n..];
                    offset += n as u64;
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }
}

impl ReadAt for Bytes {
    fn len(&self) -> io::Result<u64> {
        Ok(self.as_ref().len() as u64)
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<()> {
        let part = usize::try_from(offset).ok().and_then(|at| self.get(at..at.checked_add(buf.len())?));
        buf.copy_from_slice(part.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn whole(&self) -> Option<Bytes> {
        Some(self.clone())
    }
}

impl<R: ReadAt + ?Sized> ReadAt for Arc<R> {
    fn len(&self) -> io::Result<u64> {
        (**self).len()
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<()> {
        (**self).read_at(offset, buf)
    }

    fn begin_read(&self, offset: u64, buf: &mut [u8]) -> Option<usize> {
        (**self).begin_read(offset, buf)
    }

    fn whole(&self) -> Option<Bytes> {
        (**self).whole()
    }
}
