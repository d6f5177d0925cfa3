//! Columnar files for AI data.
