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

/// Arrow bytes that a batch of a scan may hold, unless told otherwise; of more than 128 columns 32 KiB for each, up to
/// [`TABLE_BATCH_BYTES`], so that few chunks are decoded for more than one batch. Some four batches are in memory at once, and those of 4 MiB
/// stay in the cache that cores share; half as much costs a tenth more.
pub const DEFAULT_BATCH_BYTES: usize = 4 << 20;
/// The same where all batches are kept, as a table ([`Scan::for_table`]) and by takes: more bytes in fewer pieces.
pub const TABLE_BATCH_BYTES: usize = 32 << 20;
/// Rows of a batch of a scan, unless told otherwise: enough to amortise its cost, few enough that narrow
/// batches stay in cache.
pub const DEFAULT_BATCH_ROWS: usize = 65_536;
