//! Constant pages: one value, or none, for all rows. See docs/format/pages.md.
//!
//! ```text
//! all null, no levels    no buffers
//! all null, levels       rep | def                         u16s, or block-compressed (2.2)
//! scalar inline          nothing, or rep | def as u16s     value in the description, 1..32 bytes
//! scalar in a buffer     value, or value | rep | def       u32 n | n × u32 bytes | Arrow buffers
//! ```

mod decode;
mod encode;

pub(crate) use decode::{ConstantIndex, ConstantPage, decode, inline_scalar, repeat_value};
pub(crate) use encode::{encode_empty_struct, encode_null, encode_scalar};
