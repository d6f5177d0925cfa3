//! Byte-level kernels.
