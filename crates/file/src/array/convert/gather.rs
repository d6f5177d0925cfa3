//! Slots of an array by number, into a new one.

use arrow_array::{Array, ArrayRef, make_array};
use arrow_data::ArrayData;
use arrow_data::transform::MutableArrayData;
use arrow_schema::ArrowError;

use crate::{Error, Result};

/// A slot that is null whatever the array holds.
pub(super) const NULL: u32 = u32::MAX;

/// The slots of `array` that `picks` number, in their order, nulls for [`NULL`].
///
/// Only for types that are stored as they are, and views: their nulls are bits of their own.
pub(super) fn gather(array: &ArrayRef, picks: &[u32]) -> Result<ArrayRef> {
    let data = array.to_data();
    let mut out = Gathering::new(&data, picks.contains(&NULL), picks.len())?;
    let mut rest = picks;
    while let Some(first) = rest.first() {
        let run = if *first == NULL {
            let run = rest.iter().take_while(|pick| **pick == NULL).count();
            out.nulls(run)?;
            run
        } else {
            let follows =
                |(i, pick): &(usize, &u32)| **pick != NULL && **pick as usize == *first as usize + i;
            let run = rest.iter().enumerate().take_while(follows).count();
            out.slots(*first as usize, run)?;
            run
        };
        rest = &rest[run..];
    }
    Ok(out.finish())
}

/// An array put together from runs of another one.
pub(super) struct Gathering<'a>(MutableArrayData<'a>);

impl<'a> Gathering<'a> {
    pub(super) fn new(from: &'a ArrayData, nulls: bool, capacity: usize) -> Result<Self> {
        MutableArrayData::try_new(vec![from], nulls, capacity).map(Self).map_err(too_large)
    }

    /// Appends `count` slots from `start` on.
    pub(super) fn slots(&mut self, start: usize, count: usize) -> Result<()> {
        if count == 0 {
            return Ok(());
        }
        self.0.try_extend(0, start, start + count).map_err(too_large)
    }

    pub(super) fn nulls(&mut self, count: usize) -> Result<()> {
        if count == 0 {
            return Ok(());
        }
        self.0.try_extend_nulls(count).map_err(too_large)
    }

    pub(super) fn finish(self) -> ArrayRef {
        make_array(self.0.freeze())
    }
}

/// What can go wrong while arrays are put together is that offsets pass their type.
fn too_large(e: ArrowError) -> Error {
    Error::limit(format!("a batch that is too large for its types: {e}; use fewer rows at once"))
}
