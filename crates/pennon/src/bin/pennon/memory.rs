//! Keeps the memory of long conversions at what they use.
//!
//! The GNU allocator learns from large blocks that are freed and from then on serves such blocks from its
//! heap, which it can only shorten at the end: converting a table of 170 MB held 200 MB where 110 were in
//! use. With a fixed threshold blocks of a megabyte and more go back to the system when they are freed.
#![allow(unsafe_code)]

/// Blocks of this size and larger are mapped one by one.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const MAPPED_BYTES: libc::c_int = 1 << 20;

/// Fixes the threshold; other allocators are left as they are.
pub fn return_large_blocks() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: called before any thread is started; sets a parameter and touches no memory of ours.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, MAPPED_BYTES);
    }
}
