//! Predicates: which rows are wanted, said by what their columns hold.
//!
//! ```text
//! text ──parse──▶ Predicate ──bind to a schema──▶ Bound ──evaluate a batch──▶ one bit per row
//! col("x").gt(3) ────▲ tree of names and literals     tree of columns and values of their types
//! ```
//!
//! A [`Predicate`] is built from text or by functions, which give the same tree; printing it gives text that parses to it
//! again. [Binding](Predicate::bind) finds the columns and brings every literal to the type of its column exactly, or
//! fails naming both. [Evaluation](Bound::evaluate) has three values, TRUE, FALSE and NULL, and keeps rows on TRUE alone.
//! The grammar and the rules for each type are in `docs/filters.md` of the repository.
//!
//! ```
//! use std::sync::Arc;
//! use arrow_array::{ArrayRef, Int32Array, RecordBatch, StringArray};
//! use pennon_file::filter::{Predicate, col};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let names: ArrayRef = Arc::new(StringArray::from(vec!["auk", "owl", "emu"]));
//! let wings: ArrayRef = Arc::new(Int32Array::from(vec![Some(2), None, Some(0)]));
//! let batch = RecordBatch::try_from_iter([("name", names), ("wings", wings)])?;
//!
//! let parsed = Predicate::parse("wings > 0 AND NOT name LIKE 'o%'")?;
//! let built = col("wings").gt(0) & !col("name").like("o%");
//! assert_eq!(parsed, built);
//! assert_eq!(built.to_string(), "wings > 0 AND NOT name LIKE 'o%'");
//!
//! let kept = parsed.bind(&batch.schema())?.evaluate(&batch)?;
//! assert_eq!(kept.set_indices().collect::<Vec<_>>(), [0]);
//! # Ok(())
//! # }
//! ```

mod bind;
mod calendar;
mod column;
mod compare;
mod display;
mod evaluate;
mod fit;
mod lex;
mod like;
mod literal;
mod mask;
mod outcomes;
mod parse;
mod predicate;
mod prune;
mod select;
#[cfg(test)]
mod tests;

pub use bind::Bound;
pub(crate) use bind::Known;
pub use column::{Column, col};
pub use lex::ParseError;
pub use literal::{Decimal, Literal, Timestamp};
pub use predicate::{Comparison, Operand, Predicate};
pub(crate) use select::{concat, ranges_of, select};
