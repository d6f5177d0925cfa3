//! Levels and values ⇄ Arrow arrays.

mod assemble;
mod build;
pub(crate) mod convert;
mod levels;
pub(crate) mod shred;

pub(crate) use assemble::assemble;
