//! Memory asked for before it is needed, so that what many values wait for is waited for once.

#![allow(unsafe_code)] // The instruction takes an address.

/// Starts to load the cache line of byte `at`, where there is such a byte; returns at once.
///
/// A caller who will look at many places of a large slice names all of them first: then their loads overlap.
#[inline]
pub fn prefetch(bytes: &[u8], at: usize) {
    let Some(byte) = bytes.get(at) else { return };
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: every x86-64 has the instruction; it reads nothing, and the address is one of the slice.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(byte).cast()) }
    }
    #[cfg(not(target_arch = "x86_64"))]
    std::hint::black_box(*byte);
}

#[cfg(test)]
mod tests {
    #[test]
    fn any_place_may_be_named() {
        let bytes = [1, 2, 3];
        [0, 2, 3, usize::MAX].iter().for_each(|at| super::prefetch(&bytes, *at));
        super::prefetch(&[], 0);
    }
}
