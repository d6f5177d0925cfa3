//! Bounds on what a file may make a reader do.

/// Bounds that hold whatever the bytes of a file say. Passing one is an error of
/// kind [`Limit`](crate::ErrorKind::Limit), raised before the memory is asked for.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Limits {
    /// Depth of nested types and of nested encodings.
    pub nesting: usize,
    /// Columns in one file.
    pub columns: usize,
    /// Bytes of metadata: descriptor, column metadata and offset tables together.
    pub metadata_bytes: u64,
    /// Bytes of one decompressed buffer, and those that one row of the columns read takes whatever is in it.
    pub buffer_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { nesting: 64, columns: 1_000_000, metadata_bytes: 1 << 30, buffer_bytes: 1 << 30 }
    }
}
