//! Statistics: what is known of columns in stretches of rows, so that a search passes over what cannot match.

mod facts;
mod value;

pub(crate) use facts::{Bound, Facts};
pub(crate) use value::Value;
