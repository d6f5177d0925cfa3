//! Scans and takes: which rows and columns, in which pieces.
//!
//! ```text
//! scan   row range ──▶ tasks of about one batch each ──▶ workers ──▶ batches in order
//! take   row numbers ──▶ distinct rows, ascending ──▶ leaf data ──▶ rows in the order asked
//! filter row range ──▶ zones of which rows may pass ──▶ the predicate's columns ──▶ rows that pass ──▶ the other columns of these
//! ```
//!
//! A byte budget bounds every batch: tasks are sized by what the pages' descriptions promise, and where
//! that was too little, a task ends early and the rest of its rows is read next.

mod batch;
mod batches;
#[cfg(feature = "filter")]
mod count;
mod explain;
#[cfg(feature = "filter")]
mod filtered;
#[cfg(feature = "filter")]
mod gaps;
#[cfg(test)]
mod laws;
mod parallel;
mod take;
#[cfg(feature = "filter")]
mod zones;

pub(crate) use batch::Projected;
pub use batches::{Batches, Scan};
pub use explain::Explanation;
pub use take::{Take, TakeBatches};

/// Arrow bytes that a batch may hold, unless told otherwise.
pub const DEFAULT_BATCH_BYTES: usize = 32 << 20;
/// Rows of a batch of a scan, unless told otherwise: enough to amortise its cost, few enough that narrow
/// batches stay in cache.
pub const DEFAULT_BATCH_ROWS: usize = 65_536;
