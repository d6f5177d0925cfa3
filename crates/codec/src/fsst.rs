//! FSST: strings as one-byte codes for symbols of 1 to 8 bytes.
//!
//! ```text
//! table, 2,312 bytes
//!   0  n          number of symbols, 0..=255
//!   1  u8 u8      of no use to a decoder
//!   3  u8         bit 0: 1 = data is compressed, 0 = data is stored as it is
//!   4  "TSSF"
//!   8  n × 8      symbols, first byte first, filled up with zeros
//!      n × 1      their lengths, 1..=8, directly behind the symbols
//!      zeros
//!
//! data  code c < n: the symbol; 255: the next byte itself, which must belong to the same string
//! ```
//!
//! Training and compressing are `fsst-rs`'s. Decompressing is a loop of our own, because time goes into
//! the boundaries between strings: a whole run is decompressed without looking at them, noting the output
//! position of every code, and the boundaries are looked up there afterwards.

#![allow(unsafe_code)] // Eight-byte stores into reserved memory.

mod eight;

use eight::{Eight, OneByOne};

use crate::CodecError;

/// Bytes of a stored table.
pub const TABLE_BYTES: usize = 2312;

const MAGIC: [u8; 4] = *b"TSSF";
const SYMBOLS: usize = 8;
const MAX_SYMBOL_BYTES: usize = 8;
const ESCAPE: u8 = 255;

/// Codes decompressed between two looks at the string boundaries. The positions of a block fit 16 bits.
const BLOCK: usize = 1024;
const _: () = assert!(BLOCK * MAX_SYMBOL_BYTES <= u16::MAX as usize);

/// The symbols of a page.
#[derive(Clone)]
pub struct SymbolTable {
    codes: Box<Codes>,
    num_symbols: usize,
    compressed: bool,
}

/// What codes stand for; side by side, so that one register finds both.
#[derive(Clone)]
struct Codes {
    symbols: [u64; 256],
    /// 1..=8 also where there is no symbol.
    lengths: [u8; 256],
}

impl Codes {
    fn none() -> Box<Self> {
        Box::new(Self { symbols: [0; 256], lengths: [1; 256] })
    }
}

impl std::fmt::Debug for SymbolTable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SymbolTable")
            .field("num_symbols", &self.num_symbols)
            .field("compressed", &self.compressed)
            .finish()
    }
}

impl SymbolTable {
    /// Reads a stored table.
    pub fn parse(table: &[u8]) -> Result<Self, CodecError> {
        if table.len() != TABLE_BYTES {
            return Err(CodecError::new(format!(
                "symbol table of {} bytes where {TABLE_BYTES} are expected",
                table.len()
            )));
        }
        if table[4..SYMBOLS] != MAGIC {
            return Err(CodecError::new(format!(
                "symbol table with mark {:02x?} where {MAGIC:02x?} is expected",
                &table[4..SYMBOLS]
            )));
        }
        let num_symbols = usize::from(table[0]);
        let lengths_at = SYMBOLS + num_symbols * 8;
        let mut parsed = Self { codes: Codes::none(), num_symbols, compressed: table[3] & 1 == 1 };
        let symbols = table[SYMBOLS..lengths_at].as_chunks::<8>().0;
        for (code, (symbol, length)) in symbols.iter().zip(&table[lengths_at..]).enumerate() {
            if !(1..=MAX_SYMBOL_BYTES).contains(&usize::from(*length)) {
                return Err(CodecError::new(format!("symbol {code} has length {length}, not 1 to 8")));
            }
            parsed.codes.symbols[code] = u64::from_le_bytes(*symbol);
            parsed.codes.lengths[code] = *length;
        }
        Ok(parsed)
    }

    /// The table as it is stored.
    #[must_use]
    pub fn emit(&self) -> [u8; TABLE_BYTES] {
        let mut table = [0; TABLE_BYTES];
        table[0] = self.num_symbols as u8;
        table[3] = u8::from(self.compressed);
        table[4..SYMBOLS].copy_from_slice(&MAGIC);
        let lengths_at = SYMBOLS + self.num_symbols * 8;
        for code in 0..self.num_symbols {
            table[SYMBOLS + code * 8..][..8].copy_from_slice(&self.codes.symbols[code].to_le_bytes());
            table[lengths_at + code] = self.codes.lengths[code];
        }
        table
    }

    /// Symbols in the table.
    #[must_use]
    pub fn num_symbols(&self) -> usize {
        self.num_symbols
    }

    /// Appends one value.
    pub fn decompress(&self, value: &[u8], out: &mut Vec<u8>) -> Result<(), CodecError> {
        if !self.compressed {
            out.extend_from_slice(value);
            return Ok(());
        }
        let start = out.len();
        for codes in Pieces(value) {
            // Positions are of no interest: a string by itself has no boundaries inside.
            if let Err(e) = self.decompress_block(codes, out, &mut Unnoted::default()) {
                out.truncate(start);
                return Err(e);
            }
        }
        Ok(())
    }

    /// Appends a run of values: value i is `data[bounds[i]..bounds[i + 1]]`. Where each ends in `out` is
    /// appended to `ends`. The bounds must not fall and must lie inside `data`. On an error `out` and
    /// `ends` hold part of the run.
    pub fn decompress_run(
        &self,
        data: &[u8],
        bounds: &[u32],
        out: &mut Vec<u8>,
        ends: &mut Vec<usize>,
    ) -> Result<(), CodecError> {
        let Some((&first, bounds)) = bounds.split_first() else { return Ok(()) };
        // Folding instead of leaving early lets the comparison run on vectors.
        let falls = bounds.iter().zip(bounds.iter().skip(1)).fold(false, |f, (a, b)| f | (a > b))
            || bounds.first().is_some_and(|second| *second < first);
        let (start, end) = (first as usize, *bounds.last().unwrap_or(&first) as usize);
        if falls || end > data.len() {
            return Err(CodecError::new(format!(
                "string ends that fall, or pass the end: {first} to {end} of {} bytes",
                data.len()
            )));
        }
        let noted = ends.len();
        ends.resize(noted + bounds.len(), 0);
        let mut slots = ends[noted..].iter_mut().zip(bounds).peekable();
        if !self.compressed {
            let base = out.len();
            out.extend_from_slice(&data[start..end]);
            slots.for_each(|(slot, bound)| *slot = base + (*bound as usize - start));
            return Ok(());
        }
        let mut begins = Begins([0; BLOCK + 1]);
        let mut at = start;
        for codes in Pieces(&data[start..end]) {
            let base = out.len();
            self.decompress_block(codes, out, &mut begins)?;
            // A string that ends with the block is the block's: the next one begins at position 0.
            let mut cut = false;
            while let Some((slot, bound)) = slots.next_if(|(_, bound)| **bound as usize - at <= codes.len()) {
                let position = begins.0[*bound as usize - at];
                cut |= position == INSIDE;
                *slot = base + usize::from(position);
            }
            if cut {
                return Err(CodecError::new(format!(
                    "a string between {at} and {} begins between an escape and its byte",
                    at + codes.len()
                )));
            }
            at += codes.len();
        }
        // A run of no codes has no piece; its strings are all empty.
        slots.for_each(|(slot, _)| *slot = out.len());
        Ok(())
    }

    /// Decompresses up to [`BLOCK`] codes, noting where the output of each begins.
    fn decompress_block(
        &self,
        codes: &[u8],
        out: &mut Vec<u8>,
        positions: &mut impl Positions,
    ) -> Result<(), CodecError> {
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("ssse3") {
            // SAFETY: the processor has it.
            return unsafe { self.decompress_in_pairs(codes, out, positions) };
        }
        // SAFETY: it needs nothing.
        unsafe { self.decompress_by::<OneByOne>(codes, out, positions) }
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "ssse3")]
    fn decompress_in_pairs(
        &self,
        codes: &[u8],
        out: &mut Vec<u8>,
        positions: &mut impl Positions,
    ) -> Result<(), CodecError> {
        // SAFETY: SSSE3 is what it needs.
        unsafe { self.decompress_by::<eight::Pairs>(codes, out, positions) }
    }

    /// # Safety
    /// The processor must have what `E` needs.
    #[inline(always)]
    unsafe fn decompress_by<E: Eight>(
        &self,
        codes: &[u8],
        out: &mut Vec<u8>,
        positions: &mut impl Positions,
    ) -> Result<(), CodecError> {
        assert!(codes.len() <= BLOCK, "pieces are at most a block");
        // Codes without a symbol are rare and literals may look like them: a slower look decides. One more than a code, so that the
        // escape becomes 0, lets the comparison run on vectors.
        let largest = codes.iter().fold(0u8, |max, code| max.max(code.wrapping_add(1)));
        let check_codes = usize::from(largest) > self.num_symbols;
        // Local: stores to `out` might as well be to `self` for all the compiler knows.
        let table: &Codes = &self.codes;
        out.reserve(codes.len() * MAX_SYMBOL_BYTES + MAX_SYMBOL_BYTES);
        let base = out.len();
        // SAFETY: `reserve` made room behind the `base` bytes of `out`.
        let start = unsafe { out.as_mut_ptr().add(base) };
        let put = |position: usize, code: u8| {
            // SAFETY: every code advances the position by at most 8 (`parse` and `new` admit no longer
            // symbol), there are at most `codes.len()` of them, and 8 bytes more were reserved.
            unsafe { start.add(position).cast::<u64>().write_unaligned(table.symbols[code as usize]) };
            position + usize::from(table.lengths[code as usize])
        };
        let mut at = 0;
        let mut position = 0usize;
        while at < codes.len() {
            if !check_codes && let Some(eight) = codes[at..].first_chunk::<8>() {
                let inverted = !u64::from_le_bytes(*eight);
                let any_escape =
                    inverted.wrapping_sub(0x0101_0101_0101_0101) & !inverted & 0x8080_8080_8080_8080;
                if any_escape == 0 {
                    let codes = u64::from_le_bytes(*eight);
                    // SAFETY: eight codes more take at most 64 bytes, which were reserved as those of every code; the processor is the
                    // caller's promise.
                    position = unsafe { E::put(codes, table, start, position, positions.eight(at)) };
                    at += 8;
                    continue;
                }
                // Up to the first escape, one by one.
                for &code in &eight[..any_escape.trailing_zeros() as usize / 8] {
                    positions.note(at, position);
                    position = put(position, code);
                    at += 1;
                }
            }
            let code = codes[at];
            positions.note(at, position);
            if code == ESCAPE {
                let Some(&literal) = codes.get(at + 1) else {
                    return Err(CodecError::new("an escape at the end, without its byte".to_owned()));
                };
                // SAFETY: as above, an escape and its byte advance by one.
                unsafe { start.add(position).write(literal) };
                positions.note(at + 1, usize::from(INSIDE));
                position += 1;
                at += 2;
            } else {
                if usize::from(code) >= self.num_symbols {
                    return Err(CodecError::new(format!(
                        "code {code} where there are {} symbols",
                        self.num_symbols
                    )));
                }
                position = put(position, code);
                at += 1;
            }
        }
        positions.note(codes.len(), position);
        // SAFETY: the first `position` bytes behind `base` were written, within what was reserved.
        unsafe { out.set_len(base + position) };
        Ok(())
    }
}

/// Cuts codes into blocks, never between an escape and its byte.
struct Pieces<'a>(&'a [u8]);

impl<'a> Iterator for Pieces<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        if self.0.is_empty() {
            return None;
        }
        let mut len = self.0.len().min(BLOCK);
        if len < self.0.len() {
            // Of a run of escape marks at the end, every second is an escaped one; an odd one is cut off.
            let marks = self.0[..len].iter().rev().take_while(|c| **c == ESCAPE).count();
            if marks % 2 == 1 {
                len -= 1;
            }
        }
        let (piece, rest) = self.0.split_at(len);
        self.0 = rest;
        Some(piece)
    }
}

/// Where the output of codes begins: wanted for runs of strings, not for one.
trait Positions {
    fn note(&mut self, code: usize, position: usize);

    /// Where to note those of eight codes of which `code` is the first.
    fn eight(&mut self, code: usize) -> &mut [u16; 8];
}

/// Where the output of each code of a block begins, and where that of the last ends. The byte of an escape has none.
struct Begins([u16; BLOCK + 1]);

/// No output begins here.
const INSIDE: u16 = u16::MAX;

impl Positions for Begins {
    #[inline]
    fn note(&mut self, code: usize, position: usize) {
        if let Some(begin) = self.0.get_mut(code) {
            *begin = position as u16;
        }
    }

    #[inline]
    fn eight(&mut self, code: usize) -> &mut [u16; 8] {
        let Some(eight) = self.0[code..].first_chunk_mut() else {
            unreachable!("a block has eight codes more")
        };
        eight
    }
}

#[derive(Default)]
struct Unnoted([u16; 8]);

impl Positions for Unnoted {
    #[inline]
    fn note(&mut self, _: usize, _: usize) {}

    #[inline]
    fn eight(&mut self, _: usize) -> &mut [u16; 8] {
        &mut self.0
    }
}

/// Compresses values with a symbol table.
pub struct Compressor {
    table: SymbolTable,
    inner: fsst::Compressor,
}

impl std::fmt::Debug for Compressor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Compressor").field(&self.table).finish()
    }
}

impl Compressor {
    /// Finds symbols that suit `samples`; a few ten kilobytes of them are enough.
    #[must_use]
    pub fn train(samples: &[&[u8]]) -> Self {
        Self::new(fsst::Compressor::train(&samples.to_vec()))
    }

    fn new(inner: fsst::Compressor) -> Self {
        let mut table =
            SymbolTable { codes: Codes::none(), num_symbols: inner.n_symbols(), compressed: true };
        for (code, symbol) in inner.symbol_table().iter().enumerate() {
            table.codes.symbols[code] = symbol.to_u64();
            table.codes.lengths[code] = symbol.len() as u8;
        }
        Self { table, inner }
    }

    /// A compressor for a table that was stored. Not every table can be compressed with: the symbols must
    /// stand in the order that training gives them (lengths 2 to 8, then 1), and must not displace each
    /// other in the library's hash table.
    pub fn from_table(table: &SymbolTable) -> Result<Self, CodecError> {
        let unfit = || CodecError::new("symbol table that cannot be compressed with".to_owned());
        let symbols: Vec<fsst::Symbol> = table.codes.symbols[..table.num_symbols]
            .iter()
            .map(|s| fsst::Symbol::from_slice(&s.to_le_bytes()))
            .collect();
        let lengths = &table.codes.lengths[..table.num_symbols];
        if !table.compressed || !lengths.is_sorted_by_key(|n| if *n == 1 { 9 } else { *n }) {
            return Err(unfit());
        }
        // The library rebuilds a compressor without asking; a trial run with its builder, which does
        // ask, finds symbols that would collide.
        let mut trial = fsst::CompressorBuilder::new();
        let mut seen = std::collections::HashSet::new();
        for (symbol, length) in symbols.iter().zip(lengths) {
            let length = usize::from(*length);
            if symbol.len() != length || !seen.insert(*symbol) || !trial.insert(*symbol, length) {
                return Err(unfit());
            }
        }
        Ok(Self::new(fsst::Compressor::rebuild_from(&symbols, lengths)))
    }

    /// The table to store.
    #[must_use]
    pub fn table(&self) -> &SymbolTable {
        &self.table
    }

    /// Appends the codes of one value.
    pub fn compress(&self, value: &[u8], out: &mut Vec<u8>) {
        let at = out.len();
        out.reserve(value.len() * 2);
        let spare = &mut out.spare_capacity_mut()[..value.len() * 2];
        // SAFETY: a value of nothing but escapes takes two bytes for each of its own, which `spare` has.
        let written = unsafe { self.inner.compress_into(value, spare) };
        // SAFETY: `written` bytes of the spare capacity were initialised.
        unsafe { out.set_len(at + written) };
    }

    /// Appends the codes of many values, and to `ends` where each ends in `out`.
    pub fn compress_run(&self, values: &[&[u8]], out: &mut Vec<u8>, ends: &mut Vec<u64>) {
        self.inner.compress_bulk_into::<{ fsst::Compressor::DEFAULT_BULK_LANES }>(values, out, ends);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A table of the given symbols, as bytes.
    fn table(symbols: &[&str], compressed: bool) -> Vec<u8> {
        let mut t = vec![0; TABLE_BYTES];
        t[0] = symbols.len() as u8;
        t[1] = 0x77;
        t[3] = u8::from(compressed);
        t[4..8].copy_from_slice(&[0x54, 0x53, 0x53, 0x46]);
        for (i, s) in symbols.iter().enumerate() {
            t[8 + i * 8..][..s.len()].copy_from_slice(s.as_bytes());
            t[8 + symbols.len() * 8 + i] = s.len() as u8;
        }
        t
    }

    fn run(t: &SymbolTable, data: &[u8], bounds: &[u32]) -> Result<(Vec<u8>, Vec<usize>), CodecError> {
        let (mut out, mut ends) = (b">".to_vec(), Vec::new());
        t.decompress_run(data, bounds, &mut out, &mut ends)?;
        Ok((out, ends))
    }

    #[test]
    fn codes_stand_for_symbols_and_escapes_for_bytes() {
        let t = SymbolTable::parse(&table(&["hello", " ", "w"], true)).unwrap();
        let data = [0, 1, 255, 0, 2, 255, 255, 0];
        let (out, ends) = run(&t, &data, &[0, 2, 2, 5, 7, 8]).unwrap();
        assert_eq!(out, b">hello \0w\xffhello");
        assert_eq!(ends, [7, 7, 9, 10, 15]);
        let mut one = Vec::new();
        t.decompress(&data[..2], &mut one).unwrap();
        assert_eq!(one, b"hello ");
        assert_eq!(t.emit()[8..], table(&["hello", " ", "w"], true)[8..]);
    }

    #[test]
    fn a_table_without_the_flag_leaves_values_as_they_are() {
        let t = SymbolTable::parse(&table(&[], false)).unwrap();
        assert_eq!(run(&t, b"ab\xffcd", &[1, 3, 5]).unwrap(), (b">b\xffcd".to_vec(), vec![3, 5]));
        assert!(run(&t, b"abcd", &[0, 3, 2, 4]).is_err());
    }

    #[test]
    fn escapes_cut_by_a_boundary_or_the_end_are_errors() {
        let t = SymbolTable::parse(&table(&["a"], true)).unwrap();
        assert!(run(&t, &[0, 255, 0], &[0, 2, 3]).is_err(), "between escape and byte");
        assert!(run(&t, &[0, 255], &[0, 2]).is_err(), "at the end");
        assert!(run(&t, &[255; 3], &[0, 3]).is_err());
        assert!(t.decompress(&[255], &mut Vec::new()).is_err());
        assert!(run(&t, &[0, 1], &[0, 2]).is_err(), "code without symbol");
        // The same around the border of a block.
        for shift in BLOCK - 3..BLOCK + 3 {
            let mut data = vec![0; shift];
            data.extend([255, 7, 0]);
            let end = data.len() as u32;
            let (out, ends) = run(&t, &data, &[0, shift as u32, end]).unwrap();
            assert_eq!((out.len(), &out[shift + 1..]), (shift + 3, &[7, b'a'][..]));
            assert_eq!(ends, [shift + 1, shift + 3]);
            assert!(run(&t, &data, &[0, shift as u32 + 1, end]).is_err());
            assert!(run(&t, &data[..shift + 1], &[0, shift as u32 + 1]).is_err());
        }
    }

    #[test]
    fn tables_that_break_the_rules_are_errors() {
        let good = table(&["abc", "d"], true);
        assert!(SymbolTable::parse(&good[1..]).is_err());
        let mut bad = good.clone();
        bad[7] = 0;
        assert!(SymbolTable::parse(&bad).is_err());
        for length in [0, 9, 200] {
            let mut bad = good.clone();
            bad[8 + 16 + 1] = length;
            assert!(SymbolTable::parse(&bad).is_err());
        }
    }

    #[test]
    fn training_shortens_repetitive_text() {
        let lines: Vec<String> = (0..500).map(|i| format!("http://example.test/page/{i}")).collect();
        let lines: Vec<&[u8]> = lines.iter().map(|l| l.as_bytes()).collect();
        let compressor = Compressor::train(&lines);
        let (mut data, mut ends) = (Vec::new(), Vec::new());
        compressor.compress_run(&lines, &mut data, &mut ends);
        assert!(data.len() * 2 < lines.iter().map(|l| l.len()).sum());
        let stored = SymbolTable::parse(&compressor.table().emit()).unwrap();
        let again = Compressor::from_table(&stored).expect("trained tables can be compressed with");
        let mut bounds = vec![0u32];
        bounds.extend(ends.iter().map(|e| *e as u32));
        let (out, out_ends) = run(&stored, &data, &bounds).unwrap();
        assert_eq!(out[1..], lines.concat());
        for (i, line) in lines.iter().enumerate() {
            let mut codes = Vec::new();
            again.compress(line, &mut codes);
            assert_eq!(codes, &data[bounds[i] as usize..bounds[i + 1] as usize]);
            assert_eq!(out_ends[i] - if i == 0 { 1 } else { out_ends[i - 1] }, line.len());
        }
    }

    proptest! {
        #[test]
        fn decompressing_undoes_compressing(
            words in prop::collection::vec("[a-c]{0,9}|.{0,20}", 1..20),
            picks in prop::collection::vec(any::<prop::sample::Index>(), 0..600),
            zeros in prop::collection::vec(prop::collection::vec(0u8..2, 0..12), 0..20),
        ) {
            let mut values: Vec<&[u8]> = picks.iter().map(|p| words[p.index(words.len())].as_bytes()).collect();
            values.extend(zeros.iter().map(Vec::as_slice));
            let compressor = Compressor::train(&values);
            let stored = SymbolTable::parse(&compressor.table().emit()).unwrap();
            let again = Compressor::from_table(&stored).unwrap();
            let (mut data, mut bounds) = (Vec::new(), vec![0]);
            for v in &values {
                again.compress(v, &mut data);
                bounds.push(data.len() as u32);
            }
            let (out, ends) = run(&stored, &data, &bounds).unwrap();
            let mut at = 1;
            for (i, v) in values.iter().enumerate() {
                prop_assert_eq!(&out[at..ends[i]], *v);
                at = ends[i];
                let mut one = Vec::new();
                stored.decompress(&data[bounds[i] as usize..bounds[i + 1] as usize], &mut one).unwrap();
                prop_assert_eq!(&one, v);
            }
        }

        #[test]
        fn any_table_and_any_bytes_decompress_or_fail(
            n in any::<u8>(), flag in any::<u8>(),
            symbols in prop::collection::vec(any::<u64>(), 255),
            lengths in prop::collection::vec(1u8..9, 255),
            data in prop::collection::vec(prop_oneof![any::<u8>(), Just(255), 0u8..4], 0..5000),
            bounds in prop::collection::vec(0u32..5100, 0..10), sorted in any::<bool>(),
        ) {
            let mut t = vec![n, 0, 0, flag];
            t.extend(MAGIC);
            t.extend(symbols[..n as usize].iter().flat_map(|s| s.to_le_bytes()));
            t.extend(&lengths[..n as usize]);
            t.resize(TABLE_BYTES, 0);
            let t = SymbolTable::parse(&t).unwrap();
            let _ = Compressor::from_table(&t);
            let mut bounds = bounds;
            if sorted {
                bounds.sort_unstable();
            }
            if let Ok((out, ends)) = run(&t, &data, &bounds) {
                let mut at = 1;
                for (i, pair) in bounds.windows(2).enumerate() {
                    let mut one = Vec::new();
                    t.decompress(&data[pair[0] as usize..pair[1] as usize], &mut one).unwrap();
                    prop_assert_eq!(&one[..], &out[at..ends[i]]);
                    let mut portable = Vec::new();
                    for codes in Pieces(&data[pair[0] as usize..pair[1] as usize]).filter(|_| t.compressed) {
                        // SAFETY: it needs nothing of the processor.
                        unsafe { t.decompress_by::<OneByOne>(codes, &mut portable, &mut Unnoted::default()) }.unwrap();
                    }
                    prop_assert!(!t.compressed || portable == one);
                    at = ends[i];
                }
            }
            let _ = t.decompress(&data, &mut Vec::new());
        }
    }
}
