//! FSST: each string compressed with the symbols of its page.
//!
//! ```text
//! mini-block   a Variable buffer (offsets | codes) whose values are codes
//! per-value    the codes of one string
//! ```
//!
//! The symbol table itself, 2,312 bytes, stands in the page's description.

use std::ops::Range;

use bytes::Bytes;
use pennon_codec::fsst::{Compressor, SymbolTable};

use super::values::with_variable;
use super::{Encoding, Purpose, Scratch, Values, variable};
use crate::{Error, Result};

/// Compressed bytes that are decompressed between two looks at the byte limit.
const PIECE_BYTES: usize = 1 << 20;

/// A symbol table, ready for use.
pub(crate) struct FsstCodec {
    table: SymbolTable,
    /// Only of writers: a quarter of a megabyte.
    compressor: Option<Box<Compressor>>,
}

impl FsstCodec {
    pub(crate) fn new(table: &[u8], purpose: Purpose) -> Result<Self> {
        let table = SymbolTable::parse(table)?;
        let compressor = match purpose {
            Purpose::Read => None,
            Purpose::Write => Some(Box::new(Compressor::from_table(&table)?)),
        };
        Ok(Self { table, compressor })
    }

    fn compressor(&self) -> Result<&Compressor> {
        self.compressor.as_deref().ok_or_else(|| Error::invalid("symbol table prepared for reading only"))
    }

    pub(super) fn decode(
        &self,
        wide: bool,
        data: &[u8],
        num_values: usize,
        range: Range<usize>,
        out: &mut Values,
        scratch: &mut Scratch,
    ) -> Result<usize> {
        let mut done = 0;
        let mut start = range.start;
        while start < range.end {
            // Usually the whole range; only chunks of many megabytes take several pieces.
            let mut end = range.end;
            if data.len() > PIECE_BYTES {
                end = end.min(start + 1024);
            }
            variable::read_bounds(wide, data, num_values, start..end, &mut scratch.bounds)?;
            let count = variable::append_filled(out, scratch, |bytes, ends, bounds| {
                Ok(self.table.decompress_run(data, bounds, bytes, ends)?)
            })?;
            done += count;
            if count < end - start {
                break;
            }
            start = end;
        }
        Ok(done)
    }

    pub(super) fn decode_points(
        &self,
        wide: bool,
        data: &[u8],
        num_values: usize,
        points: &[u32],
        out: &mut Values,
        scratch: &mut Scratch,
    ) -> Result<usize> {
        /// Strings from which on a run costs less than each by itself.
        const MANY: usize = 8;
        let codes = |point: u32| variable::value(wide, data, num_values, point as usize);
        if points.len() >= MANY {
            return self.decode_gathered(points.len(), |i| codes(points[i]), out, scratch);
        }
        for (done, &point) in points.iter().enumerate() {
            if !self.decompress(codes(point)?, out)? {
                return Ok(done);
            }
        }
        Ok(points.len())
    }

    /// Appends one string, or says that it does not fit.
    pub(super) fn decompress(&self, codes: &[u8], out: &mut Values) -> Result<bool> {
        with_variable!(out, v => {
            self.table.decompress(codes, v.data.vector())?;
            Ok(v.end_value())
        })
    }

    /// Per-value form of several strings.
    pub(crate) fn decode_ranges(
        &self,
        data: &[u8],
        ranges: &[Range<usize>],
        out: &mut Values,
        scratch: &mut Scratch,
    ) -> Result<usize> {
        self.decode_gathered(ranges.len(), |i| variable::slice(data, &ranges[i]), out, scratch)
    }

    /// `count` strings whose codes `codes(i)` lie anywhere: side by side they are decompressed as one run, which costs a string less than
    /// a run of its own.
    fn decode_gathered<'d>(
        &self,
        count: usize,
        codes: impl Fn(usize) -> Result<&'d [u8]>,
        out: &mut Values,
        scratch: &mut Scratch,
    ) -> Result<usize> {
        /// Codes gathered before they are decompressed as one run.
        const GATHER_BYTES: usize = 8 << 10;
        let mut done = 0;
        while done < count {
            let mut gathered = scratch.take();
            scratch.bounds.clear();
            scratch.bounds.push(0);
            for i in done..count {
                let codes = codes(i)?;
                gathered.extend_from_slice(codes);
                // A single string may be longer than 32 bits can say; it is refused.
                let Ok(end) = u32::try_from(gathered.len()) else {
                    return Err(Error::unsupported(format!("a compressed string of {} bytes", codes.len())));
                };
                scratch.bounds.push(end);
                if gathered.len() >= GATHER_BYTES {
                    break;
                }
            }
            let some = scratch.bounds.len() - 1;
            let fitting = variable::append_filled(out, scratch, |bytes, ends, bounds| {
                Ok(self.table.decompress_run(&gathered, bounds, bytes, ends)?)
            });
            scratch.give(gathered);
            let fitting = fitting?;
            done += fitting;
            if fitting < some {
                break;
            }
        }
        Ok(done)
    }

    /// The mini-block buffer of `range`.
    pub(super) fn encode(
        &self,
        wide: bool,
        values: &Values,
        range: Range<usize>,
        scratch: &mut Scratch,
    ) -> Result<Vec<u8>> {
        let compressor = self.compressor()?;
        let values: Vec<&[u8]> = range.map(|i| values.variable_value(i)).collect::<Result<_>>()?;
        let mut codes = scratch.take();
        scratch.wide_ends.clear();
        scratch.wide_ends.push(0);
        compressor.compress_run(&values, &mut codes, &mut scratch.wide_ends);
        let buffer = variable::emit(wide, scratch.wide_ends.iter().map(|e| *e as usize), &codes);
        scratch.give(codes);
        buffer
    }

    /// Appends the codes of one string.
    pub(crate) fn compress(&self, value: &[u8], out: &mut Vec<u8>) -> Result<()> {
        self.compressor()?.compress(value, out);
        Ok(())
    }
}

/// Finds symbols for strings `range`; nothing where none would help, or where these are no strings.
pub(crate) fn train_fsst(values: &Values, range: Range<usize>) -> Option<Encoding> {
    /// Strings looked at; of these the library samples some kilobytes.
    const SAMPLES: usize = 1 << 14;
    let offset_bits = match values {
        Values::Variable(_) => 32,
        Values::LargeVariable(_) => 64,
        _ => return None,
    };
    let step = range.len().div_ceil(SAMPLES).max(1);
    let samples: Vec<&[u8]> =
        range.step_by(step).map(|i| values.variable_value(i)).collect::<Result<_>>().ok()?;
    let compressor = Compressor::train(&samples);
    let table = compressor.table();
    if table.num_symbols() == 0 || Compressor::from_table(table).is_err() {
        return None;
    }
    let table = Bytes::copy_from_slice(&table.emit());
    Some(Encoding::Fsst { table, values: Box::new(Encoding::Variable { offset_bits }) })
}
