//! Where the rows of a full-zip page are, and how its values are framed.

use std::ops::Range;

use super::super::leaf_data::LeafShape;
use super::super::{FullZipLayout, PageBuffers, Translation, ZipWidth, max_def, max_rep, max_visible};
use crate::encoding::ValueReader;
use crate::error::corrupt;
use crate::io::Segments;
use crate::{Limits, Result};

/// Buffer with the rows.
pub(super) const DATA: usize = 0;
/// Buffer with the offsets of rows that vary in size.
const ROW_OFFSETS: usize = 1;

/// What a handle keeps of a full-zip page.
#[derive(Debug)]
pub(crate) struct FullZipIndex {
    pub(super) reader: ValueReader,
    pub(super) translation: Translation,
    pub(super) control_bytes: usize,
    /// Bytes of a stored value, `None` if a length precedes it.
    pub(super) value_bytes: Option<usize>,
    pub(super) length_bytes: usize,
    /// Bytes of a row offset; `None` if rows are of one size.
    pub(super) offset_bytes: Option<u64>,
    pub(super) max_rep: u16,
    pub(super) max_def: u16,
    pub(super) max_visible: u16,
    pub(super) has_lists: bool,
}

impl FullZipIndex {
    /// Checks the layout against its buffers; reads nothing.
    pub(crate) fn read(
        layout: &FullZipLayout,
        buffers: &PageBuffers,
        leaf: &LeafShape<'_>,
        num_rows: u64,
        limits: &Limits,
    ) -> Result<Self> {
        if leaf.keys.is_some() {
            corrupt!("a full-zip page in a dictionary column, which needs a page dictionary");
        }
        let translation = leaf.scheme.translation(&layout.layers)?;
        let control_bits = u64::from(layout.bits_rep) + u64::from(layout.bits_def);
        let control_bytes = match control_bits {
            0 => 0,
            1..=8 => 1,
            9..=16 => 2,
            17..=32 if layout.bits_rep <= 16 && layout.bits_def <= 16 => 4,
            _ => corrupt!("control words of {} and {} bits", layout.bits_rep, layout.bits_def),
        };
        let reader = ValueReader::new(&layout.values, leaf.shape, limits)?;
        let (value_bytes, length_bytes) = match layout.width {
            ZipWidth::Value(bits) => {
                let stored = reader.fixed_bytes();
                if !bits.is_multiple_of(8) || stored.map(|b| b as u64 * 8) != Some(bits) {
                    corrupt!("full-zip values of {bits} bits whose encoding makes {stored:?} bytes");
                }
                (stored, 0)
            }
            ZipWidth::Length(bits) => {
                if bits != 32 && bits != 64 {
                    corrupt!("full-zip lengths of {bits} bits, 32 or 64 expected");
                }
                if let Some(stored) = reader.fixed_bytes() {
                    corrupt!("full-zip lengths before values that all have {stored} bytes");
                }
                (None, bits as usize / 8)
            }
        };
        let has_lists = max_rep(&layout.layers) > 0;
        if has_lists && layout.bits_rep == 0 {
            corrupt!("a full-zip page of lists stores no repetition levels");
        }
        let varies = layout.bits_rep > 0 || value_bytes.is_none();
        let offset_bytes = if varies {
            let bytes = buffers.len(ROW_OFFSETS)?;
            let entries = num_rows.saturating_add(1);
            match bytes / entries {
                width @ (1 | 2 | 4 | 8) if width * entries == bytes => Some(width),
                _ => corrupt!("row offsets of {bytes} bytes for {num_rows} rows"),
            }
        } else {
            let row = (control_bytes + value_bytes.unwrap_or(0)) as u64;
            if row.checked_mul(num_rows) != Some(buffers.len(DATA)?) || layout.num_items != num_rows {
                corrupt!(
                    "{num_rows} rows of {row} bytes and {} items in a buffer of {}",
                    layout.num_items,
                    buffers.len(DATA)?
                );
            }
            None
        };
        Ok(Self {
            reader,
            translation,
            control_bytes,
            value_bytes,
            length_bytes,
            offset_bytes,
            max_rep: max_rep(&layout.layers),
            max_def: max_def(&layout.layers),
            max_visible: max_visible(&layout.layers),
            has_lists,
        })
    }

    /// Bytes of a row where all have as many.
    pub(super) fn row_bytes(&self) -> u64 {
        (self.control_bytes + self.value_bytes.unwrap_or(0)) as u64
    }

    /// Adds what `rows` need: their offsets, where rows vary in size, and once those are there their bytes.
    pub(crate) fn want(
        &self,
        buffers: &PageBuffers,
        rows: &[Range<u64>],
        segments: &Segments,
        needs: &mut Vec<Range<u64>>,
    ) -> Result<()> {
        let before = needs.len();
        self.want_offsets(buffers, rows, segments, needs)?;
        if needs.len() == before {
            self.want_rows(buffers, rows, segments, needs)?;
        }
        Ok(())
    }

    /// Adds the row offsets that `rows` need.
    fn want_offsets(
        &self,
        buffers: &PageBuffers,
        rows: &[Range<u64>],
        segments: &Segments,
        needs: &mut Vec<Range<u64>>,
    ) -> Result<()> {
        if let Some(width) = self.offset_bytes {
            for range in rows {
                buffers.want(ROW_OFFSETS, range.start * width..(range.end + 1) * width, segments, needs)?;
            }
        }
        Ok(())
    }

    /// Adds the bytes of `rows`; the offsets they need must be there.
    fn want_rows(
        &self,
        buffers: &PageBuffers,
        rows: &[Range<u64>],
        segments: &Segments,
        needs: &mut Vec<Range<u64>>,
    ) -> Result<()> {
        for range in rows {
            let bytes = match self.offset_bytes {
                Some(_) => {
                    let offsets = self.offsets(buffers, segments, range)?;
                    let (start, end) = (offsets.at(0), offsets.at(range.end - range.start));
                    if start > end {
                        corrupt!("row offsets fall from {start} to {end}");
                    }
                    start..end
                }
                None => range.start * self.row_bytes()..range.end * self.row_bytes(),
            };
            buffers.want(DATA, bytes, segments, needs)?;
        }
        Ok(())
    }

    /// Where `rows` begin, and the last of them ends; what they need of it must be there.
    pub(super) fn offsets<'s>(
        &self,
        buffers: &PageBuffers,
        segments: &'s Segments,
        rows: &Range<u64>,
    ) -> Result<Offsets<'s>> {
        let width = self.offset_bytes.unwrap_or(1);
        let bytes = buffers.slice(segments, ROW_OFFSETS, rows.start * width..(rows.end + 1) * width)?;
        Ok(Offsets { bytes, width: width as usize })
    }
}

/// Row offsets of some width.
pub(super) struct Offsets<'a> {
    bytes: &'a [u8],
    width: usize,
}

impl Offsets<'_> {
    pub(super) fn at(&self, row: u64) -> u64 {
        let mut word = [0; 8];
        word[..self.width].copy_from_slice(&self.bytes[row as usize * self.width..][..self.width]);
        u64::from_le_bytes(word)
    }
}
