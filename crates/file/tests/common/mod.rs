//! What the integration tests share: random data, comparison, golden files, counted reads.
//!
//! ```text
//! rng       seeds that print and replay          generate  random nested schemas and batches
//! compare   logical equality, first difference   shared    where the golden files are
//! engine    the public interface, in one place   reads     a counting ReadAt
//! mapped    types that the format has no names for
//! ```
#![allow(dead_code, reason = "each test binary uses its own part")]
#![allow(missing_docs, reason = "tests")]

pub mod all_types;
pub mod compare;
pub mod counted;
pub mod descriptor;
pub mod engine;
pub mod generate;
pub mod mapped;
pub mod memory;
pub mod official;
pub mod rng;
pub mod shared;
pub mod work;
