//! Errors that say their class, what was expected, what was found, and where.

use std::fmt;
use std::sync::Arc;

/// Result of everything in this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The class of an [`Error`]: what a caller may want to decide on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The bytes contradict the format, a checksum, or each other.
    Corrupt,
    /// Legal, but not something this build reads or writes.
    Unsupported,
    /// The caller asked for something that cannot be: a wrong name, row, option or type.
    Invalid,
    /// A bound of [`Limits`](crate::Limits) would have been passed.
    Limit,
    /// The medium failed.
    Io,
}

/// Where in a file an error was met. Every part is optional; layers add what they know.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Place {
    /// Path or other name of the file.
    pub file: Option<String>,
    /// Path of the column, as in `a.b.item`.
    pub column: Option<String>,
    /// Index of the page within its column.
    pub page: Option<u64>,
    /// Index of the buffer within its page.
    pub buffer: Option<usize>,
    /// Absolute offset in the file, bytes.
    pub offset: Option<u64>,
}

/// An error of reading or writing a file.
#[derive(Clone)]
pub struct Error(Box<Inner>);

#[derive(Debug, Clone)]
struct Inner {
    kind: ErrorKind,
    message: String,
    place: Place,
    source: Option<Arc<std::io::Error>>,
}

impl Error {
    fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self(Box::new(Inner { kind, message: message.into(), place: Place::default(), source: None }))
    }

    /// The bytes contradict the format.
    #[cold]
    pub fn corrupt(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Corrupt, message)
    }

    /// Legal, but not read or written by this build.
    #[cold]
    pub fn unsupported(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Unsupported, message)
    }

    /// The caller asked for something that cannot be.
    #[cold]
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Invalid, message)
    }

    /// A bound of [`Limits`](crate::Limits) would have been passed.
    #[cold]
    pub fn limit(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Limit, message)
    }

    /// The medium failed while doing `what`.
    #[cold]
    pub fn io(what: impl Into<String>, source: std::io::Error) -> Self {
        let mut e = Self::new(ErrorKind::Io, what);
        e.0.source = Some(Arc::new(source));
        e
    }

    /// The class of the error.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The fact alone, without class and place.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Where it was met.
    pub fn place(&self) -> &Place {
        &self.0.place
    }

    /// The medium's own error, for [`ErrorKind::Io`].
    pub fn io_source(&self) -> Option<&std::io::Error> {
        self.0.source.as_deref()
    }

    /// Adds the file's name, unless one is known already.
    #[must_use]
    pub fn in_file(mut self, file: &str) -> Self {
        self.0.place.file.get_or_insert_with(|| file.to_owned());
        self
    }

    /// Adds the column's path, unless one is known already.
    #[must_use]
    pub fn in_column(mut self, column: &str) -> Self {
        self.0.place.column.get_or_insert_with(|| column.to_owned());
        self
    }

    /// Adds the page's index, unless one is known already.
    #[must_use]
    pub fn in_page(mut self, page: u64) -> Self {
        self.0.place.page.get_or_insert(page);
        self
    }

    /// Adds the buffer's index within its page, unless one is known already.
    #[must_use]
    pub fn in_buffer(mut self, buffer: usize) -> Self {
        self.0.place.buffer.get_or_insert(buffer);
        self
    }

    /// Adds the absolute offset, unless one is known already.
    #[must_use]
    pub fn at_offset(mut self, offset: u64) -> Self {
        self.0.place.offset.get_or_insert(offset);
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { kind, message, place, source } = &*self.0;
        let class = match kind {
            ErrorKind::Corrupt => "corrupt file: ",
            ErrorKind::Unsupported => "unsupported: ",
            ErrorKind::Limit => "limit: ",
            ErrorKind::Invalid | ErrorKind::Io => "",
        };
        write!(f, "{class}{message}")?;
        if let Some(source) = source {
            write!(f, ": {source}")?;
        }
        let mut sep = " (";
        let mut part = |f: &mut fmt::Formatter<'_>, text: String| {
            let r = write!(f, "{sep}{text}");
            sep = ", ";
            r
        };
        let mut any = false;
        if let Some(file) = &place.file {
            part(f, format!("file {file}"))?;
            any = true;
        }
        if let Some(column) = &place.column {
            part(f, format!("column {column}"))?;
            any = true;
        }
        if let Some(page) = place.page {
            part(f, format!("page {page}"))?;
            any = true;
        }
        if let Some(buffer) = place.buffer {
            part(f, format!("buffer {buffer}"))?;
            any = true;
        }
        if let Some(offset) = place.offset {
            part(f, format!("offset {offset}"))?;
            any = true;
        }
        if any { write!(f, ")") } else { Ok(()) }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, f)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source.as_deref().map(|e| e as _)
    }
}

/// `return Err(Error::corrupt(format!(…)))` in one word.
macro_rules! corrupt {
    ($($arg:tt)*) => { return Err($crate::Error::corrupt(format!($($arg)*))) };
}
pub(crate) use corrupt;
