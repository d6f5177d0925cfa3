//! Where bytes come from: a path, the standard input, or anything that reads at a position.
//!
//! Formats that are read from the start get a stream; its first bytes are kept while the format or a
//! schema is being guessed, and replayed. Formats with an index at their end need a seekable file; standard
//! input is spooled to a nameless temporary file for them.

use std::fs::File;
use std::io::{self, Cursor, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use pennon_file::io::ReadAt;
use pennon_file::{Error, Result};

use crate::format::{Format, HEAD_BYTES};

/// A source of bytes.
#[derive(Debug)]
pub struct Input {
    kind: Kind,
}

enum Kind {
    Path(PathBuf),
    /// Memory, or a file that is not on a local disk.
    At {
        name: String,
        reader: Arc<dyn ReadAt>,
    },
    /// Standard input or a pipe: what was read ahead, and the rest. Gone once it was taken.
    Stream {
        name: String,
        stream: Mutex<Option<Stream>>,
    },
}

struct Stream {
    ahead: Vec<u8>,
    rest: Box<dyn Read + Send>,
}

impl std::fmt::Debug for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Path(path) => f.debug_tuple("Path").field(path).finish(),
            Self::At { name, .. } => f.debug_tuple("At").field(name).finish(),
            Self::Stream { name, .. } => f.debug_tuple("Stream").field(name).finish(),
        }
    }
}

impl Input {
    /// A file.
    pub fn path(path: impl Into<PathBuf>) -> Self {
        Self { kind: Kind::Path(path.into()) }
    }

    /// Standard input.
    pub fn stdin() -> Self {
        Self::stream("standard input", Box::new(io::stdin()))
    }

    /// Anything that reads at a position: bytes in memory, an object in a store. The extension of `name` says what text is.
    pub fn read_at(name: &str, reader: Arc<dyn ReadAt>) -> Self {
        Self { kind: Kind::At { name: name.to_owned(), reader } }
    }

    /// Anything that can be read once.
    pub fn stream(name: &str, stream: Box<dyn Read + Send>) -> Self {
        let stream = Mutex::new(Some(Stream { ahead: Vec::new(), rest: stream }));
        Self { kind: Kind::Stream { name: name.to_owned(), stream } }
    }

    /// As on the command line: `-` is standard input, everything else a path.
    pub fn from_argument(argument: &str) -> Self {
        if argument == "-" { Self::stdin() } else { Self::path(argument) }
    }

    /// The name for messages.
    pub fn name(&self) -> String {
        match &self.kind {
            Kind::Path(path) => path.display().to_string(),
            Kind::At { name, .. } | Kind::Stream { name, .. } => name.clone(),
        }
    }

    /// The path, if there is one.
    pub fn as_path(&self) -> Option<&Path> {
        match &self.kind {
            Kind::Path(path) => Some(path),
            Kind::At { .. } | Kind::Stream { .. } => None,
        }
    }

    /// Opens, finds the format (unless `format` says it) and gives the bytes in the form that the format needs.
    pub(crate) fn open(&self, format: Option<Format>) -> Result<(Format, Bytes)> {
        match &self.kind {
            Kind::Path(path) => self.open_path(path, format),
            Kind::At { name, reader } => {
                let at = At::new(reader.clone()).map_err(|e| Error::io(format!("cannot read {name}"), e))?;
                let path = Path::new(name);
                at.open(name, path.extension().is_some().then_some(path), format)
            }
            Kind::Stream { name, stream } => {
                let mut lock = stream.lock().unwrap_or_else(|e| e.into_inner());
                let Some(mut stream) = lock.take() else {
                    return Err(Error::invalid(format!("{name} can be read only once")));
                };
                let read = read_up_to(&mut *stream.rest, HEAD_BYTES, &mut stream.ahead);
                read.map_err(|e| Error::io(format!("cannot read {name}"), e))?;
                Self::open_stream(name, stream, format)
            }
        }
    }

    fn open_path(&self, path: &Path, format: Option<Format>) -> Result<(Format, Bytes)> {
        let name = self.name();
        let fail = |e| Error::io(format!("cannot read {name}"), e);
        let file = File::open(path).map_err(|e| match e.kind() {
            io::ErrorKind::NotFound => Error::invalid(format!("{name}: no such file")),
            io::ErrorKind::PermissionDenied => {
                Error::invalid(format!("{name}: permission denied; the file must be readable"))
            }
            _ => fail(e),
        })?;
        let meta = file.metadata().map_err(fail)?;
        if meta.is_dir() {
            return Err(Error::invalid(format!("{name} is a directory; expected a file")));
        }
        if !meta.is_file() {
            let mut stream = Stream { ahead: Vec::new(), rest: Box::new(file) };
            read_up_to(&mut *stream.rest, HEAD_BYTES, &mut stream.ahead).map_err(fail)?;
            return Self::open_stream(&name, stream, format);
        }
        let at = At { reader: Arc::new(file), len: meta.len() };
        let (format, _) = at.clone().open(&name, Some(path), format)?;
        Ok((format, Bytes::File { at, path: Some(path.to_owned()) }))
    }

    fn open_stream(name: &str, stream: Stream, format: Option<Format>) -> Result<(Format, Bytes)> {
        let Stream { ahead, rest } = stream;
        // Lance says its name at the end only: bytes that begin like nothing else may be Lance.
        let format = match format {
            Some(format) => Ok(format),
            None => Format::detect(name, None, &ahead, None),
        };
        let replay: Box<dyn Read + Send> = Box::new(Cursor::new(ahead.clone()).chain(rest));
        match format {
            Ok(format) if !format.needs_seek() => Ok((format, Bytes::Stream(replay))),
            Ok(format) => Ok((format, spool(name, replay)?)),
            Err(e) => {
                let Bytes::File { at, .. } = spool(name, replay)? else { return Err(e) };
                at.open(name, None, None)
            }
        }
    }
}

/// An opened input.
pub(crate) enum Bytes {
    /// Something with a length, and its path if it is a file with a name.
    File {
        at: At,
        path: Option<PathBuf>,
    },
    Stream(Box<dyn Read + Send>),
}

/// A file or what serves as one, with the length it had when it was opened.
#[derive(Clone)]
pub(crate) struct At {
    pub(crate) reader: Arc<dyn ReadAt>,
    pub(crate) len: u64,
}

impl std::fmt::Debug for At {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("At").field("len", &self.len).finish_non_exhaustive()
    }
}

impl At {
    fn new(reader: Arc<dyn ReadAt>) -> io::Result<Self> {
        let len = reader.len()?;
        Ok(Self { reader, len })
    }

    /// Finds the format from both ends, unless `format` says it.
    fn open(self, name: &str, path: Option<&Path>, format: Option<Format>) -> Result<(Format, Bytes)> {
        let format = match format {
            Some(format) => format,
            None => {
                let ends = |from: u64, bytes: u64| {
                    let mut end = vec![0; bytes as usize];
                    self.read_exact_at(&mut end, from).map(|()| end)
                };
                let (head, tail) = (self.len.min(HEAD_BYTES as u64), self.len.min(8));
                let ends = ends(0, head).and_then(|h| Ok((h, ends(self.len - tail, tail)?)));
                let (head, tail) = ends.map_err(|e| Error::io(format!("cannot read {name}"), e))?;
                Format::detect(name, path, &head, Some(&tail))?
            }
        };
        Ok((format, Bytes::File { at: self, path: None }))
    }

    /// Fills `buffer` with the bytes at `offset`.
    pub(crate) fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.reader.read_at(offset, buffer)
    }
}

fn read_up_to(from: &mut dyn Read, bytes: usize, into: &mut Vec<u8>) -> io::Result<()> {
    let missing = bytes.saturating_sub(into.len()) as u64;
    from.take(missing).read_to_end(into).map(drop)
}

/// Copies a stream to a temporary file that has no name, so that nothing is left whatever happens.
fn spool(name: &str, mut stream: Box<dyn Read + Send>) -> Result<Bytes> {
    let dir = std::env::temp_dir();
    let fail = |e| Error::io(format!("cannot keep {name} in {}", dir.display()), e);
    let path = dir.join(format!("pennon-{}-{:016x}.spool", std::process::id(), crate::output::random()));
    let mut file = File::options().read(true).write(true).create_new(true).open(&path).map_err(fail)?;
    std::fs::remove_file(&path).map_err(fail)?;
    let len = io::copy(&mut stream, &mut file).map_err(fail)?;
    Ok(Bytes::File { at: At { reader: Arc::new(file), len }, path: None })
}

/// Keeps a copy of everything read through it.
pub(crate) struct Tee<R> {
    pub(crate) inner: R,
    pub(crate) seen: Vec<u8>,
}

impl<R: Read> Read for Tee<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let n = self.inner.read(buf)?;
        self.seen.extend_from_slice(&buf[..n]);
        Ok(n)
    }
}

/// Reads a file by position, without the position that clones of a handle share.
#[derive(Debug, Clone)]
pub(crate) struct Cursor64 {
    file: At,
    at: u64,
}

impl Cursor64 {
    pub(crate) fn new(file: At) -> Self {
        Self { file, at: 0 }
    }

    pub(crate) fn at(mut self, at: u64) -> Self {
        self.at = at;
        self
    }
}

impl Read for Cursor64 {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let n = self.file.len.saturating_sub(self.at).min(buf.len() as u64) as usize;
        self.file.read_exact_at(&mut buf[..n], self.at)?;
        self.at += n as u64;
        Ok(n)
    }
}

impl Seek for Cursor64 {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let target = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::End(by) => self.file.len.checked_add_signed(by),
            SeekFrom::Current(by) => self.at.checked_add_signed(by),
        };
        self.at =
            target.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "seek before the start"))?;
        Ok(self.at)
    }
}

/// A source that is read from its start: again and again if it is a file, once if it is a stream.
pub(crate) enum FromStart {
    File(Cursor64),
    Stream(Mutex<Option<Box<dyn Read + Send>>>),
}

impl std::fmt::Debug for FromStart {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if matches!(self, Self::File(_)) { "FromStart::File" } else { "FromStart::Stream" })
    }
}

impl FromStart {
    pub(crate) fn new(bytes: Bytes) -> Self {
        match bytes {
            Bytes::File { at, .. } => Self::File(Cursor64::new(at)),
            Bytes::Stream(stream) => Self::Stream(Mutex::new(Some(stream))),
        }
    }

    /// The bytes from the start. A byte order mark of UTF-8 is left out if `text`.
    pub(crate) fn open(&self, text: bool) -> Result<Box<dyn Read + Send>> {
        let mut stream: Box<dyn Read + Send> = match self {
            Self::File(cursor) => Box::new(cursor.clone()),
            Self::Stream(stream) => {
                let taken = stream.lock().unwrap_or_else(|e| e.into_inner()).take();
                taken.ok_or_else(|| {
                    Error::invalid("a stream can be read only once; save it to a file first")
                })?
            }
        };
        if text {
            let mut first = Vec::new();
            read_up_to(&mut *stream, 3, &mut first).map_err(|e| Error::io("cannot read", e))?;
            if first == b"\xEF\xBB\xBF" {
                first.clear();
            }
            stream = Box::new(Cursor::new(first).chain(stream));
        }
        Ok(stream)
    }

    /// Shows the start of the bytes to `look`, which reads as much as it needs, and keeps them readable.
    pub(crate) fn peek<T>(&self, look: impl FnOnce(&mut dyn Read) -> Result<T>) -> Result<(T, usize)> {
        let mut tee = Tee { inner: self.open(true)?, seen: Vec::new() };
        let found = look(&mut tee)?;
        let len = tee.seen.len();
        if let Self::Stream(stream) = self {
            *stream.lock().unwrap_or_else(|e| e.into_inner()) =
                Some(Box::new(Cursor::new(tee.seen).chain(tee.inner)));
        }
        Ok((found, len))
    }
}
