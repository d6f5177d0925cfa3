//! Byte-level kernels of the Lance v2 encodings: slices in, slices out.
//!
//! Nothing here knows of files, pages or Arrow. Kernels write into the caller's memory, take any bytes,
//! and answer with a value or a [`CodecError`]; what a stored number says is checked before it is used.
//!
//! ```text
//! bitpack             1024 values, each keeping its low W bits, in transposed order
//! fsst                strings as codes for symbols of 1 to 8 bytes
//! rle                 run values and run lengths
//! byte_stream_split   all first bytes, all second bytes, …
//! bits                levels and bitmaps, 64 at a time
//! strings             short strings looked up by index
//! prefetch            memory asked for before it is needed
//! zstd_frame          zstd with block borders where the data changes its nature
//! ```
//!
//! ```
//! use pennon_codec::bitpack;
//!
//! let values: [u32; 1024] = std::array::from_fn(|i| i as u32 % 7);
//! let width = bitpack::width_of(&values);
//! let mut packed = Vec::new();
//! bitpack::pack(width, &values, &mut packed);
//! assert_eq!((width, packed.len()), (3, 3 * 128));
//! assert_eq!(bitpack::unpack_one::<u32>(width, &packed, 1000)?, 1000 % 7);
//! # Ok::<(), pennon_codec::CodecError>(())
//! ```

#[cfg(target_endian = "big")]
compile_error!("pennon views little-endian bytes as words and needs a little-endian host");

pub mod bitpack;
pub mod bits;
pub mod byte_stream_split;
pub mod fsst;
mod prefetch;
pub mod rle;
pub mod strings;
mod word;
pub mod zstd_frame;

pub use prefetch::prefetch;
pub use word::{Word, bytes_of, bytes_of_mut, words, words_mut};

/// Bytes that contradict their encoding: what was expected and what was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodecError(pub String);

impl std::fmt::Display for CodecError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for CodecError {}

impl CodecError {
    #[cold]
    pub(crate) fn new(message: String) -> Self {
        Self(message)
    }
}
