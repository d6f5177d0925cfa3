//! Other formats to and from record batches.
