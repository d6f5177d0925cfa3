//! Long texts and bytes as bounds: cut, and the upper one rounded up.
//!
//! ```text
//! value   "zebras and …"  70 bytes     min  its first 64 bytes              below it
//!                                      max  the same, the last byte + 1     above it
//! ```
//!
//! Bounds of text are text: they end between characters, and the last character is rounded up instead of the last byte. What
//! cannot be rounded up (64 bytes of `ff`, or of U+10FFFF) has no upper bound.

use super::{Bound, Value};

/// Bytes of a bound at most.
pub(super) const MAX_BYTES: usize = 64;

/// A lower bound of `value`.
pub(super) fn lower(value: &[u8], text: bool) -> Bound {
    let kept = kept(value, text);
    Bound { value: Value::Bytes(kept.to_vec()), exact: kept.len() == value.len() }
}

/// An upper bound of `value`.
pub(super) fn upper(value: &[u8], text: bool) -> Option<Bound> {
    let kept = kept(value, text);
    if kept.len() == value.len() {
        return Some(Bound { value: Value::Bytes(kept.to_vec()), exact: true });
    }
    let above = if text { text_above(kept) } else { bytes_above(kept) };
    above.map(|bytes| Bound { value: Value::Bytes(bytes), exact: false })
}

fn kept(value: &[u8], text: bool) -> &[u8] {
    if value.len() <= MAX_BYTES {
        return value;
    }
    let mut len = MAX_BYTES;
    // The first byte that is cut off begins a character. Four bytes back there is one, if this is text.
    while text && len > MAX_BYTES - 4 && value[len] & 0xC0 == 0x80 {
        len -= 1;
    }
    &value[..len]
}

/// The least bytes of this length or less that are above everything that begins like this.
fn bytes_above(prefix: &[u8]) -> Option<Vec<u8>> {
    let last = prefix.iter().rposition(|b| *b < u8::MAX)?;
    let mut above = prefix[..=last].to_vec();
    above[last] += 1;
    Some(above)
}

/// The same as text. Code points and their UTF-8 have one order.
fn text_above(prefix: &[u8]) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(prefix).ok()?;
    for (at, c) in text.char_indices().rev() {
        let next = match c {
            '\u{D7FF}' => Some('\u{E000}'),
            _ => char::from_u32(u32::from(c) + 1),
        };
        if let Some(next) = next {
            let mut above = text[..at].to_owned();
            above.push(next);
            // U+007F becomes a character of two bytes, and so on: then the one before is rounded up.
            if above.len() <= MAX_BYTES {
                return Some(above.into_bytes());
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(bound: Option<Bound>) -> Option<Vec<u8>> {
        bound.map(|bound| match bound.value {
            Value::Bytes(bytes) => bytes,
            other => panic!("{other:?}"),
        })
    }

    #[test]
    fn short_values_are_their_own_bounds() {
        let value = [0xFF; 64];
        let own = Bound { value: Value::Bytes(value.to_vec()), exact: true };
        assert_eq!((lower(&value, false), upper(&value, false)), (own.clone(), Some(own)));
    }

    #[test]
    fn long_bytes_are_cut_and_the_last_byte_below_ff_is_rounded_up() {
        let mut value = vec![7; 100];
        value[63] = 0xFF;
        let low = lower(&value, false);
        assert_eq!((bytes(Some(low.clone())).unwrap(), low.exact), (value[..64].to_vec(), false));
        let mut above = vec![7; 63];
        above[62] = 8;
        assert_eq!(bytes(upper(&value, false)), Some(above));
        assert_eq!(upper(&[0xFF; 65], false), None);
    }

    #[test]
    fn long_text_is_cut_and_rounded_up_between_characters() {
        // 63 bytes, then a character of two.
        let value = format!("{}é and more", "a".repeat(63));
        let low = bytes(Some(lower(value.as_bytes(), true))).unwrap();
        assert_eq!(low, "a".repeat(63).into_bytes());
        assert_eq!(
            bytes(upper(value.as_bytes(), true)).unwrap(),
            format!("{}b", "a".repeat(62)).into_bytes()
        );
        // No room for the character after U+007F, none after U+10FFFF, surrogates are passed over.
        let value = format!("{}b\u{7F}x", "a".repeat(62));
        assert_eq!(
            bytes(upper(value.as_bytes(), true)).unwrap(),
            format!("{}c", "a".repeat(62)).into_bytes()
        );
        assert_eq!(upper("\u{10FFFF}".repeat(17).as_bytes(), true), None);
        let value = format!("{}\u{D7FF}x", "a".repeat(61));
        let above = bytes(upper(value.as_bytes(), true)).unwrap();
        assert_eq!(above, format!("{}\u{E000}", "a".repeat(61)).into_bytes());
    }

    #[test]
    fn bounds_of_cut_text_are_text_on_either_side() {
        for c in ['a', '\u{7F}', 'é', '\u{7FF}', '\u{FFFF}', '😀', '\u{10FFFF}'] {
            for lead in 56..=64 {
                let value = format!("{}{c}{c}{c}{c}{}", "m".repeat(lead), "tail".repeat(20));
                let low = bytes(Some(lower(value.as_bytes(), true))).unwrap();
                let high = bytes(upper(value.as_bytes(), true)).unwrap();
                assert!(std::str::from_utf8(&low).is_ok() && std::str::from_utf8(&high).is_ok());
                assert!(low.len() <= 64 && high.len() <= 64);
                assert!(*low < *value.as_bytes() && *high > *value.as_bytes(), "{c:?} after {lead}");
            }
        }
    }
}
