//! A mapping that is read from front to back once and keeps few of its pages in memory.
//!
//! ```text
//! file     ├─ let go ─┤─ touched since ─┤┄┄┄┄┄┄ not yet ┄┄┄┄┄┄┤
//! memory              └── at most about PASSED_BYTES of batches
//! ```

use std::sync::atomic::{AtomicU64, Ordering};

use super::mmap::Mapping;

/// Bytes of batches after which pages are let go, at least.
const PASSED_BYTES: u64 = 8 << 20;
/// How often that happens at most in the bytes of a file: older kernels walk over all that was ever touched.
const PASSED_TIMES: u64 = 256;

/// The mapping, and how far its reader has come.
#[derive(Debug)]
pub(super) struct Passing {
    mapping: Mapping,
    /// Bytes of batches made so far.
    passed: AtomicU64,
}

impl Passing {
    pub(super) fn new(mapping: Mapping) -> Self {
        Self { mapping, passed: AtomicU64::new(0) }
    }

    /// Notes a batch of so many bytes; lets go of the pages behind it once they are many.
    pub(super) fn passed(&self, bytes: u64) {
        let step = PASSED_BYTES.max(self.mapping.as_ref().len() as u64 / PASSED_TIMES);
        let before = self.passed.fetch_add(bytes, Ordering::Relaxed);
        if before / step != before.wrapping_add(bytes) / step {
            self.mapping.let_go();
        }
    }
}
