//! Levels and values ⇄ Arrow arrays.

mod assemble;
mod build;
pub(crate) mod convert;
pub(crate) mod shred;

pub(crate) use assemble::assemble;
