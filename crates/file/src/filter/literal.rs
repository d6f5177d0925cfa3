//! Values as they are written in a predicate, before they have the type of a column.

use std::fmt;
use std::str::FromStr;

use super::calendar;
use crate::{Error, Result};

/// A value in a predicate. It gets its exact type from the column it is compared with, when the predicate is
/// [bound](super::Predicate::bind).
///
/// ```
/// use pennon_file::filter::Literal;
///
/// assert_eq!(Literal::from(2.5).to_string(), "2.5");
/// assert_eq!(Literal::from("it's").to_string(), "'it''s'");
/// assert_eq!(Literal::number("1e3")?, Literal::from(1000));
/// assert_eq!(Literal::date("2026-01-31")?.to_string(), "DATE '2026-01-31'");
/// # Ok::<(), pennon_file::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Literal {
    /// TRUE or FALSE.
    Bool(bool),
    /// A whole number.
    Int(i128),
    /// Any other number, exactly as written.
    Decimal(Decimal),
    /// A floating-point number that digits do not name: an infinity, or NaN. `Literal::from(f64)` makes digits of all others.
    Float(f64),
    /// Text.
    String(String),
    /// Bytes.
    Bytes(Vec<u8>),
    /// Days since 1970-01-01.
    Date(i32),
    /// Nanoseconds since midnight.
    Time(i64),
    /// A point in time, or a date with a time of day.
    Timestamp(Timestamp),
}

/// A decimal number of any size: digits and a power of ten.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decimal {
    pub(super) negative: bool,
    /// Without zeros at either end; never empty.
    pub(super) digits: String,
    /// The power of ten of the last digit.
    pub(super) exponent: i32,
}

/// Seconds and nanoseconds since 1970-01-01T00:00:00.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Timestamp {
    pub(super) seconds: i64,
    pub(super) nanos: u32,
    /// In UTC; otherwise the time that a clock shows somewhere.
    pub(super) zoned: bool,
}

/// Digits of a number, and its power of ten, at most.
const MAX_DIGITS: usize = 1000;
const MAX_EXPONENT: i32 = 10_000;

impl Literal {
    /// A number of any size: `12`, `-1.5`, `1.5e-3`.
    ///
    /// # Errors
    /// The text is not a number.
    pub fn number(text: &str) -> Result<Self> {
        let wrong = || Error::invalid(format!("expected a number, as in -1.5e3, found {text:?}"));
        let (negative, unsigned) = match text.as_bytes().first() {
            Some(b'-') => (true, &text[1..]),
            Some(b'+') => (false, &text[1..]),
            _ => (false, text),
        };
        let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, i32::from_str(exponent).map_err(|_| wrong())?),
            None => (unsigned, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let mut digits = format!("{whole}{fraction}");
        if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
            return Err(wrong());
        }
        if digits.len() > MAX_DIGITS || !(-MAX_EXPONENT..=MAX_EXPONENT).contains(&exponent) {
            return Err(Error::invalid(format!(
                "a number of more than {MAX_DIGITS} digits, or with an exponent beyond {MAX_EXPONENT}"
            )));
        }
        let mut exponent = exponent - fraction.len() as i32;
        let kept = digits.trim_end_matches('0').len();
        exponent += (digits.len() - kept) as i32;
        digits.truncate(kept);
        let digits = digits.trim_start_matches('0');
        if digits.is_empty() {
            return Ok(Self::Int(0));
        }
        let decimal = Decimal { negative, digits: digits.to_owned(), exponent };
        Ok(decimal.as_int().map_or_else(|| Self::Decimal(decimal.clone()), Self::Int))
    }

    /// A date as in `2026-01-31`.
    ///
    /// # Errors
    /// The text is not a date.
    pub fn date(text: &str) -> Result<Self> {
        let days = calendar::parse_date(text);
        days.map(Self::Date)
            .ok_or_else(|| Error::invalid(format!("expected a date, as in 2026-01-31, found {text:?}")))
    }

    /// A time of day as in `10:00:00.5`.
    ///
    /// # Errors
    /// The text is not a time.
    pub fn time(text: &str) -> Result<Self> {
        let nanos = calendar::parse_time(text);
        nanos
            .map(Self::Time)
            .ok_or_else(|| Error::invalid(format!("expected a time, as in 10:00:00.5, found {text:?}")))
    }

    /// A timestamp as in `2026-01-31T10:00:00Z`, or without a zone.
    ///
    /// # Errors
    /// The text is not a timestamp.
    pub fn timestamp(text: &str) -> Result<Self> {
        Timestamp::parse(text).map(Self::Timestamp).ok_or_else(|| {
            Error::invalid(format!("expected a timestamp, as in 2026-01-31T10:00:00Z, found {text:?}"))
        })
    }
}

impl Decimal {
    /// The value, if it is a whole number in range.
    pub(super) fn as_int(&self) -> Option<i128> {
        let exponent = u32::try_from(self.exponent).ok().filter(|e| *e <= 38)?;
        // The digits of the least i128 do not fit without their sign.
        let text = format!("{}{}", if self.negative { "-" } else { "" }, self.digits);
        i128::from_str(&text).ok()?.checked_mul(10i128.pow(exponent))
    }

    /// Digits and power of ten of a whole number.
    pub(super) fn of_int(value: i128) -> Self {
        let digits = value.unsigned_abs().to_string();
        let kept = digits.trim_end_matches('0');
        let exponent = if kept.is_empty() { 0 } else { (digits.len() - kept.len()) as i32 };
        let digits = if kept.is_empty() { "0".to_owned() } else { kept.to_owned() };
        Self { negative: value < 0, digits, exponent }
    }
}

impl Timestamp {
    /// Seconds and nanoseconds since 1970-01-01T00:00:00, in UTC if `zoned`. `None` if there are 10⁹ nanoseconds or
    /// more, or the year has more than six digits.
    pub fn new(seconds: i64, nanos: u32, zoned: bool) -> Option<Self> {
        let range = 1i64 << 44;
        let fits = i64::from(nanos) < calendar::NANOS_PER_SECOND && (-range..range).contains(&seconds);
        fits.then_some(Self { seconds, nanos, zoned })
    }

    fn parse(text: &str) -> Option<Self> {
        let (seconds, nanos, zoned) = calendar::parse_timestamp(text)?;
        Self::new(seconds, nanos, zoned)
    }
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.negative { "-" } else { "" };
        let (digits, len) = (&self.digits, self.digits.len() as i32);
        let point = len + self.exponent;
        match self.exponent {
            0..=6 if point <= 40 => write!(f, "{sign}{digits}{}", "0".repeat(self.exponent as usize)),
            e if e >= 0 => write!(f, "{sign}{digits}e{e}"),
            _ if point > 0 => {
                write!(f, "{sign}{}.{}", &digits[..point as usize], &digits[point as usize..])
            }
            _ if point > -6 => write!(f, "{sign}0.{}{digits}", "0".repeat(-point as usize)),
            e => write!(f, "{sign}{digits}e{e}"),
        }
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        calendar::write_date(f, self.seconds.div_euclid(calendar::SECONDS_PER_DAY))?;
        f.write_str("T")?;
        let second = self.seconds.rem_euclid(calendar::SECONDS_PER_DAY);
        calendar::write_time(f, second * calendar::NANOS_PER_SECOND + i64::from(self.nanos))?;
        if self.zoned { f.write_str("Z") } else { Ok(()) }
    }
}

/// A text between single quotes, those inside it doubled.
pub(super) fn write_quoted(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    write!(f, "'{}'", text.replace('\'', "''"))
}

impl fmt::Display for Literal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool(true) => f.write_str("TRUE"),
            Self::Bool(false) => f.write_str("FALSE"),
            Self::Int(value) => write!(f, "{value}"),
            Self::Decimal(value) => write!(f, "{value}"),
            Self::Float(value) => write!(f, "FLOAT '{value:?}'"),
            Self::String(text) => write_quoted(f, text),
            Self::Bytes(bytes) => {
                f.write_str("X'")?;
                bytes.iter().try_for_each(|b| write!(f, "{b:02x}"))?;
                f.write_str("'")
            }
            Self::Date(days) => {
                f.write_str("DATE '")?;
                calendar::write_date(f, i64::from(*days))?;
                f.write_str("'")
            }
            Self::Time(nanos) => {
                f.write_str("TIME '")?;
                let day = calendar::SECONDS_PER_DAY * calendar::NANOS_PER_SECOND;
                calendar::write_time(f, nanos.rem_euclid(day))?;
                f.write_str("'")
            }
            Self::Timestamp(value) => write!(f, "TIMESTAMP '{value}'"),
        }
    }
}

macro_rules! from_ints {
    ($($int:ty),*) => { $(
        impl From<$int> for Literal {
            fn from(value: $int) -> Self {
                Self::Int(i128::from(value))
            }
        }
    )* };
}
from_ints!(i8, i16, i32, i64, i128, u8, u16, u32, u64);

impl From<f64> for Literal {
    /// The shortest digits that name the number.
    fn from(value: f64) -> Self {
        if value.is_finite() {
            Self::number(&format!("{value:e}")).unwrap_or(Self::Float(value))
        } else {
            Self::Float(value)
        }
    }
}

impl From<f32> for Literal {
    fn from(value: f32) -> Self {
        if value.is_finite() {
            Self::number(&format!("{value:e}")).unwrap_or(Self::Float(value.into()))
        } else {
            Self::Float(value.into())
        }
    }
}

impl From<bool> for Literal {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<&str> for Literal {
    fn from(value: &str) -> Self {
        Self::String(value.to_owned())
    }
}

impl From<String> for Literal {
    fn from(value: String) -> Self {
        Self::String(value)
    }
}

impl From<&[u8]> for Literal {
    fn from(value: &[u8]) -> Self {
        Self::Bytes(value.to_vec())
    }
}

impl From<Vec<u8>> for Literal {
    fn from(value: Vec<u8>) -> Self {
        Self::Bytes(value)
    }
}

impl From<Timestamp> for Literal {
    fn from(value: Timestamp) -> Self {
        Self::Timestamp(value)
    }
}
