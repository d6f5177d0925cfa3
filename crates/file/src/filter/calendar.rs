//! Dates and times as text: `2026-01-31`, `10:00:00.5`, `2026-01-31T10:00:00Z`.
//!
//! The calendar is the Gregorian one in both directions. Years beyond four digits carry a sign.

use std::fmt;

pub(super) const SECONDS_PER_DAY: i64 = 86_400;
pub(super) const NANOS_PER_SECOND: i64 = 1_000_000_000;

/// Days since 1970-01-01 of a date that exists.
fn days_of(year: i64, month: i64, day: i64) -> Option<i64> {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let length = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 => 28 + i64::from(leap),
        _ => return None,
    };
    if !(1..=length).contains(&day) {
        return None;
    }
    // Years that begin in March have their leap day at the end; 400 of them are 146,097 days.
    let shifted = if month > 2 { year } else { year - 1 };
    let (era, of_era) = (shifted.div_euclid(400), shifted.rem_euclid(400));
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = of_era * 365 + of_era / 4 - of_era / 100 + day_of_year;
    Some(era * 146_097 + day_of_era - 719_468)
}

/// Year, month and day of a number of days since 1970-01-01.
fn date_of(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * of_era + of_era / 4 - of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    (era * 400 + of_era + i64::from(month <= 2), month, day)
}

/// Reads digits from the front of a text.
struct Cursor<'a>(&'a str);

impl Cursor<'_> {
    fn eat(&mut self, c: char) -> Option<()> {
        self.0 = self.0.strip_prefix(c)?;
        Some(())
    }

    fn digits(&mut self, least: usize, most: usize) -> Option<(i64, usize)> {
        let count = self.0.bytes().take(most).take_while(u8::is_ascii_digit).count();
        if count < least {
            return None;
        }
        let (digits, rest) = self.0.split_at(count);
        self.0 = rest;
        Some((digits.parse().ok()?, count))
    }

    /// A date: days since 1970-01-01.
    fn date(&mut self) -> Option<i64> {
        let sign = match self.0.chars().next()? {
            '-' => -1,
            '+' => 1,
            _ => 0,
        };
        if sign != 0 {
            self.0 = &self.0[1..];
        }
        let (year, _) = self.digits(4, if sign == 0 { 4 } else { 7 })?;
        self.eat('-')?;
        let (month, _) = self.digits(2, 2)?;
        self.eat('-')?;
        let (day, _) = self.digits(2, 2)?;
        days_of(if sign < 0 { -year } else { year }, month, day)
    }

    /// A time: nanoseconds since midnight.
    fn time(&mut self) -> Option<i64> {
        let (hour, _) = self.digits(2, 2)?;
        self.eat(':')?;
        let (minute, _) = self.digits(2, 2)?;
        let (mut second, mut nanos) = (0, 0);
        if self.eat(':').is_some() {
            second = self.digits(2, 2)?.0;
            if self.eat('.').is_some() {
                let (digits, count) = self.digits(1, 9)?;
                nanos = digits * 10i64.pow(9 - count as u32);
            }
        }
        let fits = hour < 24 && minute < 60 && second < 60;
        fits.then_some((hour * 3600 + minute * 60 + second) * NANOS_PER_SECOND + nanos)
    }

    /// `Z` or `+02:00`: seconds east of UTC.
    fn zone(&mut self) -> Option<i64> {
        if self.eat('Z').is_some() || self.eat('z').is_some() {
            return Some(0);
        }
        let sign = if self.eat('+').is_some() { 1 } else { self.eat('-').map(|()| -1)? };
        let (hours, _) = self.digits(2, 2)?;
        let _ = self.eat(':');
        let (minutes, _) = self.digits(2, 2)?;
        (hours < 24 && minutes < 60).then_some(sign * (hours * 3600 + minutes * 60))
    }
}

/// Days since 1970-01-01.
pub(super) fn parse_date(text: &str) -> Option<i32> {
    let mut cursor = Cursor(text);
    let days = cursor.date()?;
    if cursor.0.is_empty() { i32::try_from(days).ok() } else { None }
}

/// Nanoseconds since midnight.
pub(super) fn parse_time(text: &str) -> Option<i64> {
    let mut cursor = Cursor(text);
    let nanos = cursor.time()?;
    cursor.0.is_empty().then_some(nanos)
}

/// Seconds since 1970-01-01T00:00:00, in UTC where there is a zone; nanoseconds; whether there is a zone.
pub(super) fn parse_timestamp(text: &str) -> Option<(i64, u32, bool)> {
    let mut cursor = Cursor(text);
    let days = cursor.date()?;
    let mut nanos = 0;
    if !cursor.0.is_empty() {
        ['T', 't', ' '].iter().find_map(|c| cursor.eat(*c))?;
        nanos = cursor.time()?;
    }
    let east = if cursor.0.is_empty() { None } else { Some(cursor.zone()?) };
    if !cursor.0.is_empty() {
        return None;
    }
    let seconds = days * SECONDS_PER_DAY + nanos / NANOS_PER_SECOND - east.unwrap_or(0);
    Some((seconds, (nanos % NANOS_PER_SECOND) as u32, east.is_some()))
}

/// Nanoseconds in a text of numbers with units, the largest first as usual: `1h 30m`, `90s`, `-1.5ms`.
pub(super) fn parse_duration(text: &str) -> Option<i128> {
    let (negative, mut rest) = match text.trim().strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.trim()),
    };
    let mut total = 0i128;
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let mut cursor = Cursor(rest);
        let (whole, _) = cursor.digits(1, 18)?;
        let (fraction, places) = if cursor.eat('.').is_some() { cursor.digits(1, 9)? } else { (0, 0) };
        rest = cursor.0.trim_start();
        let end = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
        let unit: i128 = match &rest[..end] {
            "d" => i128::from(SECONDS_PER_DAY * NANOS_PER_SECOND),
            "h" => i128::from(3600 * NANOS_PER_SECOND),
            "m" | "min" => i128::from(60 * NANOS_PER_SECOND),
            "s" => i128::from(NANOS_PER_SECOND),
            "ms" => 1_000_000,
            "us" => 1_000,
            "ns" => 1,
            _ => return None,
        };
        let part = i128::from(fraction) * unit;
        let divisor = 10i128.pow(places as u32);
        if part % divisor != 0 {
            return None;
        }
        total = total.checked_add(i128::from(whole) * unit + part / divisor)?;
        rest = rest[end..].trim_start();
    }
    Some(if negative { -total } else { total })
}

pub(super) fn write_date(f: &mut fmt::Formatter<'_>, days: i64) -> fmt::Result {
    let (year, month, day) = date_of(days);
    match year {
        0..=9999 => write!(f, "{year:04}-{month:02}-{day:02}"),
        _ => write!(f, "{year:+05}-{month:02}-{day:02}"),
    }
}

pub(super) fn write_time(f: &mut fmt::Formatter<'_>, nanos: i64) -> fmt::Result {
    let seconds = nanos / NANOS_PER_SECOND;
    write!(f, "{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)?;
    match nanos % NANOS_PER_SECOND {
        0 => Ok(()),
        rest => {
            let digits = format!("{rest:09}");
            write!(f, ".{}", digits.trim_end_matches('0'))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_day_of_four_centuries_is_the_day_after_the_one_before() {
        let mut last = date_of(-200_000);
        for days in -199_999..200_000 {
            let (year, month, day) = date_of(days);
            assert_eq!(days_of(year, month, day), Some(days));
            assert!((year, month, day) > last);
            last = (year, month, day);
        }
        assert_eq!(date_of(0), (1970, 1, 1));
        assert_eq!(parse_date("2000-02-29"), Some(11_016));
        assert_eq!((parse_date("1900-02-29"), parse_date("2026-13-01")), (None, None));
    }

    #[test]
    fn zones_are_taken_off_and_fractions_kept() {
        assert_eq!(parse_timestamp("1970-01-01T00:00:01Z"), Some((1, 0, true)));
        assert_eq!(parse_timestamp("1970-01-01 02:00:00.25+02:00"), Some((0, 250_000_000, true)));
        assert_eq!(parse_timestamp("1970-01-02"), Some((86_400, 0, false)));
        assert_eq!(parse_timestamp("1969-12-31T23:59"), Some((-60, 0, false)));
        assert_eq!(parse_timestamp("1970-01-01T24:00"), None);
    }

    #[test]
    fn durations_are_sums_of_units() {
        assert_eq!(parse_duration("1h 30m"), Some(5_400_000_000_000));
        assert_eq!(parse_duration("-1.5ms"), Some(-1_500_000));
        // As many of the longest as no number holds.
        assert_eq!(parse_duration(&"999999999999999999d".repeat(2_000_000)), None);
        assert_eq!((parse_duration("0.5ns"), parse_duration("5"), parse_duration("")), (None, None, None));
    }
}
