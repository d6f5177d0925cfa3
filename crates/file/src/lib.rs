//! The Lance v2 file format: read, write, take, scan.

mod container;
mod encoding;
mod error;
pub mod io;
mod limits;
mod page;
mod proto;
mod schema;
mod version;

pub use error::{Error, ErrorKind, Place, Result};
pub use limits::Limits;
pub use version::FormatVersion;
