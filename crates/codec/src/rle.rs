//! Run lengths: values that stand once, and how often each is meant.
//!
//! ```text
//! values    v0 | v1 | v2        one word per run
//! lengths   n0 | n1 | n2        one byte per run, 1..=255; longer runs are split
//! ```
//!
//! Old writers let the last runs overshoot the value count: the excess is dropped.

use crate::CodecError;
use crate::word::Word;

/// Longest run.
pub const MAX_RUN: usize = 255;

/// That there is a value for every length. Zero lengths are found while walking.
fn check<T: Word>(values: &[u8], lengths: &[u8]) -> Result<(), CodecError> {
    if Some(values.len()) != lengths.len().checked_mul(T::BYTES) {
        return Err(CodecError::new(format!(
            "{} bytes of run values where {} runs of {}-byte values are expected",
            values.len(),
            lengths.len(),
            T::BYTES
        )));
    }
    Ok(())
}

fn too_few(expected: usize, found: usize) -> CodecError {
    CodecError::new(format!("runs of {found} values where {expected} are expected"))
}

fn zero_run(run: usize) -> CodecError {
    CodecError::new(format!("run {run} has length 0"))
}

/// Sum of run lengths; an error where one is zero.
pub fn num_values(lengths: &[u8]) -> Result<usize, CodecError> {
    // To see that there is none takes a vector; which it is takes a look at each.
    match lengths.contains(&0) {
        true => Err(zero_run(lengths.iter().position(|n| *n == 0).unwrap_or_default())),
        false => Ok(sum(lengths)),
    }
}

fn sum(lengths: &[u8]) -> usize {
    // Blocks of 32 keep the inner sum in 16 bits, which vectorises.
    let (blocks, rest) = lengths.as_chunks::<32>();
    let blocks: usize = blocks.iter().map(|b| usize::from(block_sum(b))).sum();
    blocks + rest.iter().map(|n| usize::from(*n)).sum::<usize>()
}

fn block_sum(block: &[u8; 32]) -> u16 {
    block.iter().map(|n| u16::from(*n)).sum()
}

/// Expands runs; `out` receives the values from `start` on, `values` are the words of the runs.
pub fn expand<T: Word>(values: &[u8], lengths: &[u8], start: usize, out: &mut [T]) -> Result<(), CodecError> {
    /// Values written at once, past the end of a short run where there is room.
    const STRIDE: usize = 16;
    check::<T>(values, lengths)?;
    let (mut run, mut skip) = if start == 0 { (0, 0) } else { find(lengths, 0, 0, start)? };
    let mut at = 0;
    while at < out.len() {
        let Some(&length) = lengths.get(run) else { return Err(too_few(start + out.len(), start + at)) };
        if length == 0 {
            return Err(zero_run(run));
        }
        let value = T::read(&values[run * T::BYTES..]);
        let end = at + usize::from(length) - skip;
        if end + STRIDE <= out.len() {
            let mut i = at;
            while i < end {
                out[i..i + STRIDE].copy_from_slice(&[value; STRIDE]);
                i += STRIDE;
            }
            at = end;
        } else {
            let end = end.min(out.len());
            out[at..end].fill(value);
            at = end;
        }
        skip = 0;
        run += 1;
    }
    // The rest is only looked at: a zero length is wrong wherever it stands.
    match lengths[run.min(lengths.len())..].iter().position(|n| *n == 0) {
        Some(zero) => Err(zero_run(run + zero)),
        None => Ok(()),
    }
}

/// From run `run`, which begins at value `at`: the run that holds value `index`, and how far in it is.
fn find(lengths: &[u8], mut run: usize, mut at: usize, index: usize) -> Result<(usize, usize), CodecError> {
    for block in lengths[run..].as_chunks::<32>().0 {
        let next = at + usize::from(block_sum(block));
        if next > index {
            break;
        }
        (run, at) = (run + 32, next);
    }
    for &length in &lengths[run..] {
        let next = at + usize::from(length);
        if next > index {
            return Ok((run, index - at));
        }
        (run, at) = (run + 1, next);
    }
    Err(too_few(index + 1, at))
}

/// Hands the values at `points`, which must not fall, to `take`.
pub fn expand_points<T: Word>(
    values: &[u8],
    lengths: &[u8],
    points: impl Iterator<Item = u32>,
    mut take: impl FnMut(T),
) -> Result<(), CodecError> {
    check::<T>(values, lengths)?;
    let (mut run, mut at) = (0, 0);
    for point in points {
        let point = point as usize;
        if point < at {
            return Err(CodecError::new(format!("point {point} after point {at}")));
        }
        let (found, within) = find(lengths, run, at, point)?;
        (run, at) = (found, point - within);
        take(T::read(&values[run * T::BYTES..]));
    }
    Ok(())
}

/// Number of runs that [`encode`] would write.
#[must_use]
pub fn count_runs<T: Word>(values: &[T]) -> usize {
    let mut runs = 0;
    let mut rest = values;
    while let Some((first, _)) = rest.split_first() {
        let run = rest.iter().take_while(|v| *v == first).count();
        runs += run.div_ceil(MAX_RUN);
        rest = &rest[run..];
    }
    runs
}

/// Appends run values and run lengths of `values`.
pub fn encode<T: Word>(values: &[T], out_values: &mut Vec<u8>, out_lengths: &mut Vec<u8>) {
    let mut rest = values;
    while let Some((first, _)) = rest.split_first() {
        let run = rest.iter().take_while(|v| *v == first).count().min(MAX_RUN);
        out_values.extend_from_slice(crate::bytes_of(std::slice::from_ref(first)));
        out_lengths.push(run as u8);
        rest = &rest[run..];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_examples_of_the_format_encode_byte_by_byte() {
        let (mut values, mut lengths) = (Vec::new(), Vec::new());
        encode(&[1u32, 0, 0], &mut values, &mut lengths);
        assert_eq!((values, lengths), (vec![1, 0, 0, 0, 0, 0, 0, 0], vec![1, 2]));
        let (mut values, mut lengths) = (Vec::new(), Vec::new());
        encode(&[1u16; 300], &mut values, &mut lengths);
        assert_eq!((values, lengths), (vec![1, 0, 1, 0], vec![0xff, 0x2d]));
        assert_eq!(count_runs(&[1u16; 300]), 2);
    }

    #[test]
    fn excess_of_the_last_runs_is_dropped() {
        let mut out = [0u8; 4];
        expand::<u8>(&[7, 8, 9], &[3, 200, 1], 0, &mut out).unwrap();
        assert_eq!(out, [7, 7, 7, 8]);
    }

    #[test]
    fn too_few_values_zero_lengths_and_missing_values_are_errors() {
        let mut out = [0u16; 4];
        assert!(expand::<u16>(&[1, 0], &[3], 0, &mut out).is_err());
        assert!(expand::<u16>(&[1, 0, 2, 0], &[0, 4], 0, &mut out).is_err());
        assert!(expand::<u16>(&[1, 0, 2, 0], &[4, 0], 0, &mut out).is_err());
        assert!(expand::<u16>(&[1, 0], &[4, 4], 0, &mut out).is_err());
        assert!(expand::<u16>(&[1, 0, 2, 0], &[3, 4], 9, &mut out).is_err());
        assert!(expand_points::<u16>(&[1, 0], &[3], [3].into_iter(), |_| ()).is_err());
        assert!(num_values(&[1, 0]).is_err());
        assert_eq!(num_values(&[255; 100]), Ok(25_500));
    }

    proptest! {
        #[test]
        fn expanding_undoes_encoding(
            runs in prop::collection::vec((0u32..3, 1usize..600), 0..80),
            cut in any::<prop::sample::Index>(),
            picks in prop::collection::vec(any::<prop::sample::Index>(), 0..20),
        ) {
            let all: Vec<u32> = runs.iter().flat_map(|(v, n)| std::iter::repeat_n(*v, *n)).collect();
            let (mut values, mut lengths) = (Vec::new(), Vec::new());
            encode(&all, &mut values, &mut lengths);
            prop_assert_eq!(lengths.len(), count_runs(&all));
            prop_assert_eq!(num_values(&lengths), Ok(all.len()));
            let start = cut.index(all.len() + 1);
            let mut out = vec![0u32; all.len() - start];
            if start < all.len() || start == 0 {
                expand(&values, &lengths, start, &mut out).unwrap();
                prop_assert_eq!(&out, &all[start..]);
            }
            if !all.is_empty() {
                let mut points: Vec<u32> = picks.iter().map(|p| p.index(all.len()) as u32).collect();
                points.sort_unstable();
                let mut got = Vec::new();
                expand_points::<u32>(&values, &lengths, points.iter().copied(), |v| got.push(v)).unwrap();
                let want: Vec<u32> = points.iter().map(|p| all[*p as usize]).collect();
                prop_assert_eq!(got, want);
            }
        }

        #[test]
        fn any_bytes_expand_or_fail(values in prop::collection::vec(any::<u8>(), 0..60), lengths in prop::collection::vec(any::<u8>(), 0..60), start in 0usize..3000, len in 0usize..3000) {
            let mut out = vec![0u8; len];
            let _ = expand(&values, &lengths, start, &mut out);
            let _ = expand_points::<u8>(&values, &lengths, [start as u32, len as u32].into_iter(), |_| ());
        }
    }
}
