//! What an open file keeps in memory for later reads.

/// Bytes that a handle keeps, as far as they grow with the file: see [`File::held`](crate::File::held).
///
/// Chunks are decoded anew by every call: of the values themselves only the entries of page dictionaries stay, and in format version
/// 2.0 what a scan has decompressed of a page that it is not done with.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct HeldBytes {
    /// What opening has read: descriptor, tables of positions.
    pub metadata: u64,
    /// Where the chunks of the pages that were read are, and which rows end in them.
    pub chunk_tables: u64,
    /// Entries of the dictionaries of the pages that were read.
    pub dictionaries: u64,
    /// Checksums of the pages that were read, and which of them were found right.
    pub checksums: u64,
}

impl HeldBytes {
    /// All of it.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.metadata + self.chunk_tables + self.dictionaries + self.checksums
    }
}
