//! Byte stream split: n values of N bytes as N streams of n bytes.
//!
//! ```text
//! values   a0 a1 a2 a3 | b0 b1 b2 b3 | c0 c1 c2 c3
//! streams  a0 b0 c0 | a1 b1 c1 | a2 b2 c2 | a3 b3 c3
//! ```

use crate::CodecError;

/// That `streams` holds `num_values` values of `N` bytes.
fn check<const N: usize>(streams: &[u8], num_values: usize) -> Result<(), CodecError> {
    if Some(streams.len()) != num_values.checked_mul(N) {
        return Err(CodecError::new(format!(
            "{} bytes of byte streams where {num_values} values of {N} bytes are expected",
            streams.len()
        )));
    }
    Ok(())
}

/// Puts values together again: `out` receives those from `start` on.
///
/// # Panics
/// If `start + out.len()` is above `num_values`.
pub fn join<const N: usize>(
    streams: &[u8],
    num_values: usize,
    start: usize,
    out: &mut [[u8; N]],
) -> Result<(), CodecError> {
    check::<N>(streams, num_values)?;
    let parts: [&[u8]; N] = std::array::from_fn(|j| &streams[j * num_values + start..][..out.len()]);
    for (i, value) in out.iter_mut().enumerate() {
        *value = std::array::from_fn(|j| parts[j][i]);
    }
    Ok(())
}

/// One value.
///
/// # Panics
/// If `index` is not below `num_values`.
pub fn join_one<const N: usize>(
    streams: &[u8],
    num_values: usize,
    index: usize,
) -> Result<[u8; N], CodecError> {
    check::<N>(streams, num_values)?;
    assert!(index < num_values, "value {index} of {num_values}");
    Ok(std::array::from_fn(|j| streams[j * num_values + index]))
}

/// Appends the streams of `values`.
pub fn split<const N: usize>(values: &[[u8; N]], out: &mut Vec<u8>) {
    out.reserve(values.len() * N);
    for j in 0..N {
        out.extend(values.iter().map(|v| v[j]));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_example_of_the_format_splits_byte_by_byte() {
        let values = [0f32, 1.0, 2.0, 3.0].map(f32::to_le_bytes);
        let mut streams = Vec::new();
        split(&values, &mut streams);
        assert_eq!(streams, [0, 0, 0, 0, 0, 0, 0, 0, 0, 0x80, 0, 0x40, 0, 0x3f, 0x40, 0x40]);
    }

    #[test]
    fn a_length_that_is_not_values_times_width_is_an_error() {
        let mut out = [[0u8; 8]; 2];
        assert!(join::<8>(&[0; 15], 2, 0, &mut out).is_err());
        assert!(join::<8>(&[0; 16], usize::MAX, 0, &mut out).is_err());
        assert!(join_one::<4>(&[0; 9], 2, 0).is_err());
    }

    proptest! {
        #[test]
        fn joining_undoes_splitting(values in prop::collection::vec(any::<[u8; 8]>(), 0..100), cut in any::<prop::sample::Index>()) {
            let mut streams = Vec::new();
            split(&values, &mut streams);
            let start = cut.index(values.len() + 1);
            let mut out = vec![[0; 8]; values.len() - start];
            join(&streams, values.len(), start, &mut out).unwrap();
            prop_assert_eq!(&out, &values[start..]);
            for (i, v) in values.iter().enumerate() {
                prop_assert_eq!(join_one::<8>(&streams, values.len(), i).unwrap(), *v);
            }
        }
    }
}
