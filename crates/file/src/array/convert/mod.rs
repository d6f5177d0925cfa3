//! Arrays of types that the format cannot name ⇄ arrays of the types that they are stored as.
//!
//! ```text
//! caller's array ──store──▶ stored array ──shred──▶ levels and values ──▶ file
//!                ◀─restore─              ◀─assemble─
//! ```
//!
//! Both directions are told the type to make and look at the type that is there: which types stand for which is
//! settled in `schema/stored.rs`. Columns whose two types are the same are not touched.
//! See docs/format/types.md.

mod gather;
mod keyed;
mod restore;
mod size;
mod store;
#[cfg(test)]
mod tests;

pub(crate) use restore::restore;
pub(crate) use size::{bytes_of, stored_bytes};
pub(crate) use store::{is_stored_as, store};
