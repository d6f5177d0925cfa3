//! Buffers that decoding reuses from chunk to chunk, so that none is allocated per chunk.

use super::mini_block::EventIndex;
use crate::encoding::{Lent, Values};

/// Working memory of one decoder.
#[derive(Debug, Default)]
pub(crate) struct PageScratch {
    pub(crate) encoding: Lent,
    /// Indices into a page dictionary.
    pub(crate) indices: Option<Values>,
    /// A whole chunk, where only parts of it are wanted.
    pub(crate) whole: Option<Values>,
    pub(crate) rep: Vec<u16>,
    pub(crate) def: Vec<u16>,
    pub(crate) points: Vec<u32>,
    /// Events of a page without chunks that start a row.
    pub(crate) starts: Vec<u32>,
    /// For each row of a full-zip page, the values before its end.
    pub(crate) visible: Vec<u32>,
    /// Where rows and values stand among the levels of a chunk.
    pub(crate) events: EventIndex,
}
