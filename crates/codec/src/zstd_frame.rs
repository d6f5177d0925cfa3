//! zstd frames whose block borders stand where the data changes its nature.
//!
//! ```text
//! byte streams   stream 0 ║ stream 1 ║ …         each block has a Huffman table of its own
//! strings        offsets ║ bytes                 ║ ends a block
//!
//! offsets   04 10 00 00 │ 0b 10 00 00 │ 0f 10 00 00 │ …
//!           ─literals─┬──   └────────┘ match of 3 at distance 4: one low byte, one match, all alike
//! ```
//!
//! Every frame is a standard one with the size of its content in the header; any decoder reads it. The ordinary search for matches
//! wants four equal bytes and so finds nothing in ascending offsets; for those blocks the matches are given by hand, through the
//! sequence producer of the zstd library, which searches all other blocks itself.

#![allow(unsafe_code)] // Calls of the zstd library that have no safe form: sequences given by hand.

use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;
use std::ptr::NonNull;

use zstd_sys as sys;

use crate::CodecError;

/// Answer of a sequence producer that leaves a block to the library.
const LEAVE_IT: usize = usize::MAX;

/// A compressor; it keeps its memory from one frame to the next.
pub struct FrameCompressor {
    context: NonNull<sys::ZSTD_CCtx>,
    /// From a box, whose address the library keeps.
    ahead: NonNull<OffsetsAhead>,
    level: Option<i32>,
}

// SAFETY: a context is used by one thread at a time, which `&mut self` guarantees, and is not bound to the one that made it.
unsafe impl Send for FrameCompressor {}

/// Offsets that are still to come in the current frame.
#[derive(Default)]
struct OffsetsAhead {
    bytes: usize,
    /// Bytes of an offset: 4 or 8.
    width: usize,
}

impl FrameCompressor {
    /// A compressor, or an error where there is no memory for it.
    pub fn new() -> Result<Self, CodecError> {
        // SAFETY: no conditions; null means that there is no memory.
        let context = NonNull::new(unsafe { sys::ZSTD_createCCtx() });
        let context = context.ok_or_else(|| CodecError::new("no memory for a zstd context".to_owned()))?;
        let ahead = NonNull::from(Box::leak(Box::default()));
        Ok(Self { context, ahead, level: None })
    }

    /// Appends a frame of `data` whose blocks end at `borders` (ascending, inside of `data`) and wherever the format wants it.
    pub fn with_borders(
        &mut self,
        level: i32,
        data: &[u8],
        borders: &[usize],
        out: &mut Vec<u8>,
    ) -> Result<(), CodecError> {
        self.expect(OffsetsAhead::default());
        self.frame(level, data, borders, out)
    }

    /// Appends a frame of strings: `offsets` bytes of offsets of `width` bytes each, then whatever they lead to.
    pub fn strings(
        &mut self,
        level: i32,
        data: &[u8],
        offsets: usize,
        width: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), CodecError> {
        self.expect(OffsetsAhead { bytes: offsets.min(data.len()), width });
        self.frame(level, data, &[offsets], out)
    }

    fn expect(&mut self, offsets: OffsetsAhead) {
        // SAFETY: made from a box, freed only with `self`; the library looks at it while a frame is written, which is not now.
        unsafe { *self.ahead.as_ptr() = offsets };
    }

    fn frame(
        &mut self,
        level: i32,
        data: &[u8],
        borders: &[usize],
        out: &mut Vec<u8>,
    ) -> Result<(), CodecError> {
        let start = out.len();
        let done = self.set_level(level).and_then(|()| self.write(data, borders, out));
        if done.is_err() {
            out.truncate(start);
            self.level = None;
        }
        done
    }

    fn set_level(&mut self, level: i32) -> Result<(), CodecError> {
        use sys::ZSTD_cParameter as P;
        let context = self.context.as_ptr();
        if self.level != Some(level) {
            let state = self.ahead.as_ptr();
            // SAFETY: the context is valid; the state lives as long as it does, at the same address, and the callback keeps to the
            // contract of sequence producers.
            unsafe {
                check(sys::ZSTD_CCtx_reset(
                    context,
                    sys::ZSTD_ResetDirective::ZSTD_reset_session_and_parameters,
                ))?;
                let parameters = [
                    (P::ZSTD_c_compressionLevel, level),
                    // Fall back to the library's own search, and code repeated distances as such.
                    (P::ZSTD_c_experimentalParam17, 1),
                    (P::ZSTD_c_experimentalParam19, 1),
                ];
                for (parameter, value) in parameters {
                    check(sys::ZSTD_CCtx_setParameter(context, parameter, value))?;
                }
                sys::ZSTD_registerSequenceProducer(context, state.cast(), Some(sequences_of_offsets));
            }
            self.level = Some(level);
        }
        Ok(())
    }

    fn write(&mut self, data: &[u8], borders: &[usize], out: &mut Vec<u8>) -> Result<(), CodecError> {
        use sys::ZSTD_EndDirective as End;
        let context = self.context.as_ptr();
        // SAFETY: the context is valid.
        unsafe {
            check(sys::ZSTD_CCtx_reset(context, sys::ZSTD_ResetDirective::ZSTD_reset_session_only))?;
            check(sys::ZSTD_CCtx_setPledgedSrcSize(context, data.len() as u64))?;
        }
        let inside = borders.iter().copied().filter(|border| (1..data.len()).contains(border));
        let mut from = 0;
        for to in inside.chain([data.len()]) {
            let mut input =
                sys::ZSTD_inBuffer_s { src: data[from..to].as_ptr().cast(), size: to - from, pos: 0 };
            let end = if to == data.len() { End::ZSTD_e_end } else { End::ZSTD_e_flush };
            loop {
                // SAFETY: no conditions.
                let room = unsafe { sys::ZSTD_compressBound(to - from) } + 64;
                out.reserve(room);
                let spare = out.spare_capacity_mut();
                let mut output =
                    sys::ZSTD_outBuffer_s { dst: spare.as_mut_ptr().cast(), size: spare.len(), pos: 0 };
                // SAFETY: input and output are memory of the sizes given.
                let left = unsafe {
                    check(sys::ZSTD_compressStream2(context, &raw mut output, &raw mut input, end))?
                };
                let written = out.len() + output.pos;
                // SAFETY: the library has written so many bytes of the spare capacity.
                unsafe { out.set_len(written) };
                if left == 0 && input.pos == input.size {
                    break;
                }
            }
            from = to;
        }
        Ok(())
    }
}

impl Drop for FrameCompressor {
    fn drop(&mut self) {
        // SAFETY: made by ZSTD_createCCtx and from a box, each freed once.
        unsafe {
            sys::ZSTD_freeCCtx(self.context.as_ptr());
            drop(Box::from_raw(self.ahead.as_ptr()));
        }
    }
}

impl std::fmt::Debug for FrameCompressor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FrameCompressor").field("level", &self.level).finish_non_exhaustive()
    }
}

fn check(code: usize) -> Result<usize, CodecError> {
    // SAFETY: no conditions.
    if unsafe { sys::ZSTD_isError(code) } == 0 {
        return Ok(code);
    }
    // SAFETY: a static string for every code.
    let name = unsafe { std::ffi::CStr::from_ptr(sys::ZSTD_getErrorName(code)) };
    Err(CodecError::new(format!("compressing with zstd: {}", name.to_string_lossy())))
}

/// Called by the library for every block: gives the matches of blocks of offsets and leaves all others to it.
unsafe extern "C" fn sequences_of_offsets(
    state: *mut c_void,
    out: *mut sys::ZSTD_Sequence,
    capacity: usize,
    source: *const c_void,
    source_bytes: usize,
    _dictionary: *const c_void,
    _dictionary_bytes: usize,
    _level: c_int,
    _window: usize,
) -> usize {
    if state.is_null() || out.is_null() || source.is_null() {
        return LEAVE_IT;
    }
    // SAFETY: registered with the state of the compressor that is running, which nobody else uses meanwhile.
    let ahead = unsafe { &mut *state.cast::<OffsetsAhead>() };
    if ahead.bytes < source_bytes || source_bytes == 0 {
        ahead.bytes = 0;
        return LEAVE_IT;
    }
    ahead.bytes -= source_bytes;
    // SAFETY: the library hands over a block of so many bytes, and room for `capacity` sequences, which are four integers each.
    let (block, sequences) = unsafe {
        (
            std::slice::from_raw_parts(source.cast::<u8>(), source_bytes),
            std::slice::from_raw_parts_mut(out.cast::<MaybeUninit<sys::ZSTD_Sequence>>(), capacity),
        )
    };
    let found = match ahead.width {
        8 => offset_matches::<8>(block, sequences),
        _ => offset_matches::<4>(block, sequences),
    };
    found.unwrap_or(LEAVE_IT)
}

/// Literals and matches of a block of offsets of W bytes: all of an offset but its lowest byte is a copy of the one before,
/// where it is equal. How many there are; `None` if they have no room.
fn offset_matches<const W: usize>(
    block: &[u8],
    out: &mut [MaybeUninit<sys::ZSTD_Sequence>],
) -> Option<usize> {
    let (words, _) = block.as_chunks::<W>();
    let mut count = 0;
    let mut literals = words.first().map_or(block.len(), |_| W);
    let mut covered = literals;
    for pair in words.windows(2) {
        if pair[0][1..] == pair[1][1..] {
            out.get_mut(count)?.write(sys::ZSTD_Sequence {
                offset: W as u32,
                litLength: literals as u32 + 1,
                matchLength: W as u32 - 1,
                rep: 0,
            });
            count += 1;
            literals = 0;
        } else {
            literals += W;
        }
        covered += W;
    }
    literals += block.len() - covered;
    // The block's end.
    let end = sys::ZSTD_Sequence { offset: 0, litLength: literals as u32, matchLength: 0, rep: 0 };
    out.get_mut(count)?.write(end);
    Some(count + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decompress(frame: &[u8], size: usize) -> Vec<u8> {
        let mut out = vec![0; size + 1];
        // SAFETY: both are memory of the sizes given.
        let found = unsafe {
            sys::ZSTD_decompress(out.as_mut_ptr().cast(), out.len(), frame.as_ptr().cast(), frame.len())
        };
        out.truncate(check(found).unwrap());
        out
    }

    fn content_size(frame: &[u8]) -> u64 {
        // SAFETY: memory of the size given.
        unsafe { sys::ZSTD_getFrameContentSize(frame.as_ptr().cast(), frame.len()) }
    }

    /// A small generator of numbers, the same every time.
    fn numbers(mut seed: u64) -> impl FnMut(u64) -> u64 {
        move |below| {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (seed >> 33) % below
        }
    }

    fn strings(
        count: usize,
        wide: bool,
        next: &mut impl FnMut(u64) -> u64,
        longest: u64,
    ) -> (Vec<u8>, usize) {
        let width = if wide { 8 } else { 4 };
        let base = (count + 1) * width;
        let (mut offsets, mut bytes) = (Vec::new(), Vec::new());
        for i in 0..=count {
            let offset = (base + bytes.len()) as u64;
            offsets.extend_from_slice(&offset.to_le_bytes()[..width]);
            if i < count {
                let len = if longest == 0 { 0 } else { next(longest) };
                bytes.extend((0..len).map(|_| b'a' + next(12) as u8));
            }
        }
        let at = offsets.len();
        offsets.extend(bytes);
        (offsets, at)
    }

    #[test]
    fn frames_of_strings_come_back_at_every_level_and_size() {
        let mut compressor = FrameCompressor::new().unwrap();
        let mut next = numbers(7);
        for level in [1, 3, 9, 15, 19] {
            for wide in [false, true] {
                for (count, longest) in [(0, 5), (1, 0), (1, 300), (2, 9), (700, 0), (4096, 12), (40_000, 3)]
                {
                    if level > 9 && count > 4096 {
                        continue;
                    }
                    let (data, offsets) = strings(count, wide, &mut next, longest);
                    let mut frame = vec![1, 2, 3];
                    let width = if wide { 8 } else { 4 };
                    compressor.strings(level, &data, offsets, width, &mut frame).unwrap();
                    assert_eq!(frame[..3], [1, 2, 3]);
                    assert_eq!(content_size(&frame[3..]), data.len() as u64);
                    assert_eq!(decompress(&frame[3..], data.len()), data, "{level} {wide} {count} {longest}");
                }
            }
        }
    }

    #[test]
    fn bytes_that_are_no_offsets_come_back_too() {
        let mut compressor = FrameCompressor::new().unwrap();
        let mut next = numbers(11);
        for size in [0usize, 1, 3, 4, 5, 100, (128 << 10) - 1, 128 << 10, (128 << 10) + 1, 300_001] {
            for alphabet in [1u64, 3, 256] {
                let data: Vec<u8> = (0..size).map(|_| next(alphabet) as u8).collect();
                for offsets in [0, 1, size / 3, size / 2 / 4 * 4, size, size + 10] {
                    for width in [4, 8] {
                        let mut frame = Vec::new();
                        compressor.strings(3, &data, offsets, width, &mut frame).unwrap();
                        assert_eq!(decompress(&frame, size), data, "{size} {alphabet} {offsets} {width}");
                    }
                }
            }
        }
    }

    #[test]
    fn borders_stand_anywhere() {
        let mut compressor = FrameCompressor::new().unwrap();
        let mut next = numbers(13);
        for size in [0usize, 1, 64, 5000, 140_000, 262_144] {
            let data: Vec<u8> = (0..size).map(|i| if i < size / 2 { 7 } else { next(90) as u8 }).collect();
            for borders in [vec![], vec![0], vec![size / 4, size / 2], vec![1, 2, 3], vec![size, size + 1]] {
                let mut frame = Vec::new();
                compressor.with_borders(1, &data, &borders, &mut frame).unwrap();
                assert_eq!(content_size(&frame), size as u64);
                assert_eq!(decompress(&frame, size), data, "{size} {borders:?}");
            }
        }
    }

    #[test]
    fn ascending_offsets_take_about_a_byte_each() {
        let mut compressor = FrameCompressor::new().unwrap();
        let (data, offsets) = strings(4096, false, &mut numbers(5), 20);
        let mut frame = Vec::new();
        compressor.strings(3, &data[..offsets], offsets, 4, &mut frame).unwrap();
        assert!(frame.len() < 4097 * 5 / 4, "{} bytes for 4097 offsets", frame.len());
    }
}
