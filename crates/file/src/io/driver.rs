//! The loop between a decoder and a file.

use super::{Decode, Segments, Source, Step};
use crate::{Error, Result};

/// Rounds after which a decoder counts as broken. Every decoder here needs at most four.
const MAX_ROUNDS: usize = 16;

/// Steps a decoder until it is done, fetching what it asks for.
pub fn drive<D: Decode>(source: &Source, decoder: D) -> Result<D::Output> {
    let mut segments = source.segments();
    drive_with(source, decoder, &mut segments)
}

/// The same from bytes that are there already; what was fetched stays in `segments`.
pub(crate) fn drive_with<D: Decode>(
    source: &Source,
    mut decoder: D,
    segments: &mut Segments,
) -> Result<D::Output> {
    for _ in 0..MAX_ROUNDS {
        let need = match decoder.step(segments).map_err(|e| source.named(e))? {
            Step::Done(value) => return Ok(value),
            Step::Need(need) => need,
        };
        if need.iter().all(|range| segments.slice(range).is_some()) {
            return Err(
                source.named(Error::invalid("internal: a decoder asked again for bytes it was given"))
            );
        }
        source.fetch(&need, segments)?;
    }
    Err(source.named(Error::invalid(format!("internal: a decoder is not done after {MAX_ROUNDS} rounds"))))
}
