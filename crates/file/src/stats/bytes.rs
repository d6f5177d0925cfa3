//! Numbers and values of a statistics message as bytes.
//!
//! ```text
//! number      7 bits a byte, lowest first, the highest bit set on all but the last      at most 19 bytes: 128 bits
//! difference  0, -1, 1, -2 … as numbers 0, 1, 2, 3 …
//!
//! value of       bytes, beside another value of the column that the reader knows
//! Bool           1: 0 or 1
//! Int            difference to the other, modulo 2^128
//! Wide           32, little-endian
//! Float          8 for 64 bits, else 4, little-endian
//! Bytes          number of bytes at the start that are as in the other, number of further bytes, these
//! ```
//!
//! See docs/format/extras.md, "Kind 3".

use arrow_buffer::i256;

use super::Value;
use super::cut::MAX_BYTES;
use crate::Result;
use crate::error::corrupt;
use crate::schema::Order;

/// Appends a number.
pub(super) fn push_number(out: &mut Vec<u8>, mut number: u128) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Appends a value; `other` is known to who reads it.
pub(super) fn push_value(out: &mut Vec<u8>, value: &Value, order: Order, other: Option<&Value>) {
    match value {
        Value::Bool(bit) => out.push(u8::from(*bit)),
        Value::Int(value) => {
            let difference = value.wrapping_sub(int(other));
            push_number(out, (difference << 1 ^ difference >> 127) as u128);
        }
        Value::Wide(value) => out.extend_from_slice(&value.to_le_bytes()),
        Value::Float(value) => match order {
            Order::Float { bytes: 8 } => out.extend_from_slice(&value.to_le_bytes()),
            _ => out.extend_from_slice(&(*value as f32).to_le_bytes()),
        },
        Value::Bytes(bytes) => {
            let shared = bytes.iter().zip(text(other)).take_while(|(a, b)| a == b).count();
            push_number(out, shared as u128);
            push_number(out, (bytes.len() - shared) as u128);
            out.extend_from_slice(&bytes[shared..]);
        }
    }
}

fn int(value: Option<&Value>) -> i128 {
    match value {
        Some(Value::Int(value)) => *value,
        _ => 0,
    }
}

fn text(value: Option<&Value>) -> &[u8] {
    match value {
        Some(Value::Bytes(bytes)) => bytes,
        _ => &[],
    }
}

/// What is left of a message to be read.
#[derive(Debug)]
pub(super) struct Cursor<'a> {
    rest: &'a [u8],
}

impl<'a> Cursor<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    pub(super) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    pub(super) fn take(&mut self, count: usize) -> Result<&'a [u8]> {
        match self.rest.split_at_checked(count) {
            Some((taken, rest)) => {
                self.rest = rest;
                Ok(taken)
            }
            None => corrupt!("statistics end {} bytes before {count} are read", self.rest.len()),
        }
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    pub(super) fn byte(&mut self) -> Result<u8> {
        Ok(self.array::<1>()?[0])
    }

    pub(super) fn number(&mut self) -> Result<u128> {
        let mut number = 0u128;
        for shift in (0..128).step_by(7) {
            let byte = self.byte()?;
            let bits = u128::from(byte & 0x7F);
            if bits << shift >> shift != bits {
                corrupt!("a number of more than 128 bits in statistics");
            }
            number |= bits << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        corrupt!("a number of more than 19 bytes in statistics")
    }

    pub(super) fn count(&mut self) -> Result<u64> {
        match u64::try_from(self.number()?) {
            Ok(count) => Ok(count),
            Err(_) => corrupt!("a count of more than 64 bits in statistics"),
        }
    }

    /// A value that the order's type can hold.
    pub(super) fn value(&mut self, order: Order, other: Option<&Value>) -> Result<Value> {
        Ok(match order {
            Order::Bool => match self.byte()? {
                bit @ 0..=1 => Value::Bool(bit == 1),
                byte => corrupt!("a boolean bound of {byte}"),
            },
            Order::Int { bytes, signed } => {
                let number = self.number()?;
                let difference = (number >> 1) as i128 ^ -((number & 1) as i128);
                let value = int(other).wrapping_add(difference);
                let bits = u32::from(bytes) * 8;
                let (least, most) = match (bits, signed) {
                    (128.., _) => (i128::MIN, i128::MAX),
                    (_, true) => (-1 << (bits - 1), (1 << (bits - 1)) - 1),
                    (_, false) => (0, (1 << bits) - 1),
                };
                if value < least || value > most {
                    corrupt!("a bound of {value} for values from {least} to {most}");
                }
                Value::Int(value)
            }
            Order::Wide => Value::Wide(i256::from_le_bytes(self.array()?)),
            Order::Float { bytes } => {
                let value = match bytes {
                    8 => f64::from_le_bytes(self.array()?),
                    _ => f32::from_le_bytes(self.array()?).into(),
                };
                if value.is_nan() {
                    corrupt!("a bound that is NaN");
                }
                Value::Float(value)
            }
            Order::Bytes { text: is_text } => {
                let (shared, further) = (self.number()?, self.number()?);
                let other = text(other);
                if shared > other.len() as u128 || further > MAX_BYTES as u128 - shared {
                    corrupt!(
                        "a bound of {further} bytes after {shared} of {}; at most {MAX_BYTES} are possible",
                        other.len()
                    );
                }
                let mut bytes = other[..shared as usize].to_vec();
                bytes.extend_from_slice(self.take(further as usize)?);
                if is_text && std::str::from_utf8(&bytes).is_err() {
                    corrupt!("a bound of text that is not UTF-8");
                }
                Value::Bytes(bytes)
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_differences_have_the_stated_bytes() {
        let mut out = Vec::new();
        push_number(&mut out, 300);
        assert_eq!(out, [0xAC, 0x02]);
        out.clear();
        let order = Order::Int { bytes: 8, signed: true };
        push_value(&mut out, &Value::Int(97), order, Some(&Value::Int(100)));
        assert_eq!(out, [5]);
        out.clear();
        push_value(
            &mut out,
            &Value::Bytes(b"abxy".into()),
            Order::Bytes { text: true },
            Some(&Value::Bytes(b"abc".into())),
        );
        assert_eq!(out, [2, 2, b'x', b'y']);
    }

    #[test]
    fn every_value_comes_back_beside_every_other() {
        let int = |bytes, signed| Order::Int { bytes, signed };
        let wide = Value::Wide(i256::from_i128(-7));
        let cases: [(Order, Vec<Value>); 7] = [
            (Order::Bool, vec![Value::Bool(false), Value::Bool(true)]),
            (int(8, true), [i64::MIN, -1, 0, i64::MAX].map(|v| Value::Int(v.into())).into()),
            (int(8, false), [0, 1, u64::MAX].map(|v| Value::Int(v.into())).into()),
            (int(16, true), [i128::MIN, -1, 0, 1, i128::MAX].map(Value::Int).into()),
            (Order::Wide, vec![wide, Value::Wide(i256::MAX)]),
            (Order::Float { bytes: 4 }, [f64::NEG_INFINITY, 0.0, 0.5].map(Value::Float).into()),
            (Order::Bytes { text: true }, ["", "a", "äh", "ähnlich"].map(|v| Value::Bytes(v.into())).into()),
        ];
        for (order, values) in &cases {
            for value in values {
                for other in values.iter().map(Some).chain([None]) {
                    let mut out = Vec::new();
                    push_value(&mut out, value, *order, other);
                    let mut cursor = Cursor::new(&out);
                    assert_eq!(cursor.value(*order, other).unwrap(), *value, "{order:?} beside {other:?}");
                    assert!(cursor.rest().is_empty());
                    for len in 0..out.len() {
                        assert!(Cursor::new(&out[..len]).value(*order, other).is_err());
                    }
                }
            }
        }
    }

    #[test]
    fn values_that_the_type_has_not_are_corrupt() {
        let read = |order, bytes: &[u8]| Cursor::new(bytes).value(order, None).unwrap_err().to_string();
        assert!(read(Order::Bool, &[2]).contains("of 2"));
        let byte = Order::Int { bytes: 1, signed: false };
        assert!(read(byte, &[1]).contains("-1 for values from 0 to 255"));
        assert!(read(byte, &[0x80, 4]).contains("256 for values from 0 to 255"));
        assert!(read(byte, &[0xFF; 20]).contains("128 bits"));
        assert!(read(Order::Float { bytes: 4 }, &f32::NAN.to_le_bytes()).contains("NaN"));
        assert!(read(Order::Bytes { text: true }, &[0, 1, 0xFF]).contains("UTF-8"));
        assert!(read(Order::Bytes { text: false }, &[1, 0]).contains("after 1 of 0"));
        assert!(read(Order::Bytes { text: false }, &[0, 65]).contains("65 bytes"));
    }
}
