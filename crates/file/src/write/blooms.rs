//! Which columns can have bloom filters.

use crate::schema::{Leaf, Nesting, Order};
use crate::{Error, Result};

/// Fails for a path that leads to none of the `leaves`, and for one that filters are no use for.
pub(super) fn check(paths: &[String], leaves: &[Leaf]) -> Result<()> {
    for path in paths {
        let Some(leaf) = leaves.iter().find(|leaf| leaf.path == *path) else {
            return Err(Error::invalid(format!(
                "a bloom filter for column {path:?}, which the schema has not; inside of structs columns are named as in a.b"
            )));
        };
        let why = match Order::of(leaf) {
            _ if leaf.layers.contains(&Nesting::List) => "no filter asks for values in lists",
            None => "its values are not compared",
            Some(Order::Bool) => "of two values there is nothing to look for",
            Some(_) => continue,
        };
        return Err(Error::invalid(format!("a bloom filter for column {path:?}: {why}")));
    }
    Ok(())
}
