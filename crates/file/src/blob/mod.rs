//! Blobs: values that lie outside the pages of their column, read whole or in parts.
//!
//! ```text
//! column   descriptors ──▶ this file            bytes position..position + size
//!                     ├──▶ NAME/0100….blob      beside the file, shared by values or one value each
//!                     └──▶ other files          by URI, or by a path in a base
//! ```
//!
//! A scan or take shows blobs as a [`BlobView`](crate::BlobView) says. [`File::blobs`](crate::File::blobs) gives handles instead
//! that read what is asked for and nothing else. See docs/format/blobs.md.

mod column;
mod descriptor;
mod fetch;
mod handle;
mod place;
mod store;
mod walk;

pub use column::BlobColumn;
pub use descriptor::{BlobDescriptor, BlobKind};
pub(crate) use fetch::{Media, fetch_values};
pub use handle::{Blob, BlobReader};
pub use place::BlobPlace;
pub(crate) use store::BlobStore;
pub use store::{BlobOptions, BlobResolver};
pub(crate) use walk::{Walk, total_bytes};
