//! A local file mapped into memory: the one place of this crate where reading needs `unsafe`.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::sync::Arc;
use std::time::SystemTime;

use bytes::Bytes;
use memmap2::Mmap;

/// A whole regular file in memory. The memory lives as long as this or any slice of its bytes.
#[derive(Debug, Clone)]
pub(crate) struct Mapping(Arc<Mmap>);

impl AsRef<[u8]> for Mapping {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl Mapping {
    /// The bytes of the file.
    pub(crate) fn bytes(&self) -> Bytes {
        Bytes::from_owner(self.clone())
    }

    /// Takes the pages touched so far off the process; whoever looks at one of them again gets it back from the page cache.
    pub(crate) fn let_go(&self) {
        // SAFETY: the mapping is shared and read-only, so its pages are the file's: dropped ones are read from there again, with the
        // bytes that the file then has, which is what `map` says of every page.
        // Advice that is not taken leaves the pages where they are.
        #[cfg(unix)]
        let _ = unsafe { self.0.unchecked_advise(memmap2::UncheckedAdvice::DontNeed) };
    }
}

/// Maps a whole regular file.
///
/// Anything that is not a regular file is refused: pipes and devices have no fixed bytes.
pub(crate) fn map(file: &File) -> io::Result<Mapping> {
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "only regular files are mapped"));
    }
    // SAFETY: the bytes of a mapping are the file's, so they change under a `&[u8]` if somebody writes
    // to the file, and reading past its end after a truncation kills the process. No check of ours can
    // rule that out. What is done about it: mapping can be refused (`MappingPolicy::Never`), size and
    // modification time are compared before each call that reads (`Source::check_unchanged`), and no
    // code of this crate relies on two reads of the same byte agreeing for memory safety.
    let map = unsafe { Mmap::map(file)? };
    Ok(Mapping(Arc::new(map)))
}

/// Size and modification time: what tells that a file was written to since it was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stamp {
    pub(crate) bytes: u64,
    pub(crate) modified: Option<SystemTime>,
}

impl Stamp {
    pub(crate) fn of(file: &File) -> io::Result<Self> {
        let metadata = file.metadata()?;
        Ok(Self { bytes: metadata.len(), modified: metadata.modified().ok() })
    }
}
