//! Levels and values ⇄ Arrow arrays.

mod assemble;
mod build;

pub(crate) use assemble::assemble;
