//! A local file mapped into memory: the one place of this crate where reading needs `unsafe`.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::time::SystemTime;

use bytes::Bytes;

/// Maps a whole regular file. The mapping lives as long as any slice of the returned bytes.
///
/// Anything that is not a regular file is refused: pipes and devices have no fixed bytes.
pub(crate) fn map(file: &File) -> io::Result<Bytes> {
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "only regular files are mapped"));
    }
    if metadata.len() == 0 {
        return Ok(Bytes::new());
    }
    // SAFETY: the bytes of a mapping are the file's, so they change under a `&[u8]` if somebody writes
    // to the file, and reading past its end after a truncation kills the process. No check of ours can
    // rule that out. What is done about it: mapping can be refused (`MappingPolicy::Never`), size and
    // modification time are compared before each call that reads (`Source::check_unchanged`), and no
    // code of this crate relies on two reads of the same byte agreeing for memory safety.
    let map = unsafe { memmap2::Mmap::map(file)? };
    Ok(Bytes::from_owner(map))
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
