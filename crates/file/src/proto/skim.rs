//! Walks the fields of a protobuf message without building it.
//!
//! ```text
//! message = field*      field = varint (number << 3 | wire type) , payload
//! wire type 0 varint | 1 eight bytes | 2 varint length, bytes | 5 four bytes
//! ```
//!
//! Generated code turns a message of two bytes into a struct of hundreds. Messages that repeat without
//! bound (fields of a schema, pages of a column) are therefore walked with this, and each part is
//! checked before the next is looked at.

use std::ops::Range;

use crate::error::corrupt;
use crate::{Error, Result};

/// One field's payload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Payload {
    Varint(u64),
    Fixed64(u64),
    /// Where in the message the bytes are.
    Bytes(Range<usize>),
    Fixed32(u32),
}

impl Payload {
    /// The range of a nested message, string or packed list.
    pub(crate) fn bytes(self, what: &str) -> Result<Range<usize>> {
        match self {
            Self::Bytes(range) => Ok(range),
            other => Err(Error::corrupt(format!("{what} is {other:?} where bytes are expected"))),
        }
    }

    /// An integer.
    pub(crate) fn varint(self, what: &str) -> Result<u64> {
        match self {
            Self::Varint(value) => Ok(value),
            other => Err(Error::corrupt(format!("{what} is {other:?} where an integer is expected"))),
        }
    }
}

/// The fields of a message in order.
#[derive(Debug)]
pub(crate) struct Fields<'a> {
    message: &'a [u8],
    at: usize,
}

impl<'a> Fields<'a> {
    pub(crate) fn new(message: &'a [u8]) -> Self {
        Self { message, at: 0 }
    }

    /// Where in the message the next field starts.
    pub(crate) fn position(&self) -> usize {
        self.at
    }

    /// The next field's number and payload.
    pub(crate) fn next(&mut self) -> Result<Option<(u64, Payload)>> {
        if self.at == self.message.len() {
            return Ok(None);
        }
        let key = self.varint()?;
        let payload = match key & 7 {
            0 => Payload::Varint(self.varint()?),
            1 => Payload::Fixed64(u64::from_le_bytes(self.array()?)),
            2 => {
                let len = self.varint()?;
                let start = self.at;
                match usize::try_from(len).ok().and_then(|len| start.checked_add(len)) {
                    Some(end) if end <= self.message.len() => {
                        self.at = end;
                        Payload::Bytes(start..end)
                    }
                    _ => corrupt!(
                        "protobuf field {} of {len} bytes at byte {start} of a message of {} bytes",
                        key >> 3,
                        self.message.len()
                    ),
                }
            }
            5 => Payload::Fixed32(u32::from_le_bytes(self.array()?)),
            wire => corrupt!("protobuf wire type {wire} before byte {}", self.at),
        };
        Ok(Some((key >> 3, payload)))
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let Some(array) = self.message[self.at..].first_chunk::<N>() else {
            corrupt!(
                "protobuf message of {} bytes ends inside a number at byte {}",
                self.message.len(),
                self.at
            )
        };
        self.at += N;
        Ok(*array)
    }

    fn varint(&mut self) -> Result<u64> {
        let start = self.at;
        let mut value = 0u64;
        for shift in (0..70).step_by(7) {
            let Some(&byte) = self.message.get(self.at) else {
                corrupt!(
                    "protobuf message of {} bytes ends inside a number at byte {start}",
                    self.message.len()
                )
            };
            self.at += 1;
            if shift == 63 && byte > 1 {
                break;
            }
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        corrupt!("protobuf number at byte {start} has more than 64 bits")
    }
}

/// The numbers of a packed list in order.
#[derive(Debug)]
pub(crate) struct Numbers<'a>(Fields<'a>);

impl<'a> Numbers<'a> {
    pub(crate) fn new(list: &'a [u8]) -> Self {
        Self(Fields::new(list))
    }

    /// The next number.
    pub(crate) fn next(&mut self) -> Result<Option<u64>> {
        if self.0.at == self.0.message.len() { Ok(None) } else { self.0.varint().map(Some) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_every_wire_type_are_found_in_order() {
        let message = [
            0x08, 0x96, 0x01, 0x12, 0x02, b'h', b'i', 0x1d, 1, 0, 0, 0, 0x21, 2, 0, 0, 0, 0, 0, 0, 0, 0x28,
            0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01,
        ];
        let mut fields = Fields::new(&message);
        assert_eq!(fields.next().unwrap(), Some((1, Payload::Varint(150))));
        assert_eq!(fields.next().unwrap(), Some((2, Payload::Bytes(5..7))));
        assert_eq!(fields.next().unwrap(), Some((3, Payload::Fixed32(1))));
        assert_eq!(fields.next().unwrap(), Some((4, Payload::Fixed64(2))));
        assert_eq!(fields.next().unwrap(), Some((5, Payload::Varint(u64::MAX))));
        assert_eq!(fields.next().unwrap(), None);
    }

    #[test]
    fn lengths_past_the_end_and_endless_numbers_are_errors() {
        for bad in [
            &[0x12, 0x03, b'h', b'i'][..],
            &[0x12, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01],
            &[0x08, 0x80],
            &[0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02],
            &[0x1d, 1, 2],
            &[0x0b],
        ] {
            assert!(Fields::new(bad).next().is_err(), "{bad:?}");
        }
    }
}
