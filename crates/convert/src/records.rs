//! Where records of text end, and how long they may be.
//!
//! ```text
//! a,b"c,"d,""e"⏎     a quote opens only at the start of a field; inside, two quotes are one
//!     │  └─────┴ quoted: a line end in here belongs to the field
//!     └ a character like others
//! ```

use std::io::{self, Read};

use pennon_file::{Error, Result};

/// Most bytes of one record: it is held whole.
const MOST: usize = 256 << 20;

/// Follows text and knows at each byte whether a record ends there.
#[derive(Debug, Clone)]
pub(crate) struct Records {
    /// Whether there are a header and quotes, as in CSV; otherwise each line is a record.
    csv: bool,
    state: State,
    /// Records that ended, the header among them. Empty lines are none.
    ended: u64,
    /// Bytes of the record that has not ended.
    bytes: usize,
    most: usize,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum State {
    /// At the start of a field.
    Start,
    /// In a field without quotes.
    Plain,
    Quoted,
    /// After a quote inside quotes: the end of the field, or the first half of a quote.
    Closed,
}

impl Records {
    pub(crate) fn csv() -> Self {
        Self { csv: true, state: State::Start, ended: 0, bytes: 0, most: MOST }
    }

    pub(crate) fn lines() -> Self {
        Self { csv: false, ..Self::csv() }
    }

    /// Goes over the next bytes.
    pub(crate) fn follow(&mut self, text: &[u8]) -> Result<()> {
        for &byte in text {
            self.state = match (self.state, byte) {
                (State::Quoted, b'"') => State::Closed,
                (State::Quoted, _) | (State::Closed, b'"') => State::Quoted,
                (_, b'\n' | b'\r') => {
                    self.ended += u64::from(self.bytes > 0);
                    self.bytes = 0;
                    self.state = State::Start;
                    continue;
                }
                (State::Start, b'"') if self.csv => State::Quoted,
                (_, b',') => State::Start,
                (_, 0) => {
                    return Err(Error::invalid(format!("{}: expected text, found a NUL byte", self.place())));
                }
                _ => State::Plain,
            };
            self.bytes += 1;
        }
        if self.state == State::Quoted && text.contains(&0) {
            return Err(Error::invalid(format!("{}: expected text, found a NUL byte", self.place())));
        }
        self.check(self.bytes)
    }

    /// Refuses a record of so many bytes, if they are too many.
    pub(crate) fn check(&self, bytes: usize) -> Result<()> {
        if bytes > self.most {
            let what = if self.state == State::Quoted { "a quote that opened there" } else { "the record" };
            return Err(Error::limit(format!(
                "{}: {what} does not end within {} bytes",
                self.place(),
                self.most
            )));
        }
        Ok(())
    }

    /// Whether the bytes so far end with a record.
    pub(crate) fn between(&self) -> bool {
        self.bytes == 0
    }

    /// Refuses an end of the text inside quotes.
    pub(crate) fn finish(&self) -> Result<()> {
        match self.state {
            State::Quoted => {
                Err(Error::corrupt(format!("{}: a quote opened there does not close", self.place())))
            }
            _ => Ok(()),
        }
    }

    fn place(&self) -> String {
        match self.ended.checked_sub(u64::from(self.csv)) {
            Some(row) => format!("row {row}"),
            None => "the header line".to_owned(),
        }
    }
}

/// Gives text on as long as its records are bounded.
pub(crate) struct Checked<R> {
    inner: R,
    records: Records,
    failure: Option<Error>,
}

impl<R: Read> Checked<R> {
    /// Lets `look` read the text. What was wrong with the text comes before what `look` makes of that.
    pub(crate) fn look<T>(
        inner: R,
        records: Records,
        look: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        let mut checked = Self { inner, records, failure: None };
        let found = look(&mut checked);
        checked.failure.map_or(found, Err)
    }
}

impl<R: Read> Read for Checked<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let n = self.inner.read(buf)?;
        self.records.follow(&buf[..n]).map_err(|e| {
            let text = e.to_string();
            self.failure = Some(e);
            io::Error::new(io::ErrorKind::InvalidData, text)
        })?;
        Ok(n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(text: &str) -> Records {
        let mut records = Records::csv();
        records.follow(text.as_bytes()).unwrap();
        records
    }

    #[test]
    fn a_quote_opens_only_at_the_start_of_a_field() {
        assert!(after("a\nx\"y\n").between());
        assert!(after("a\n\"x\"\"\n\"\n").between());
        assert!(after("a\n\"x\"y\"\n").between());
        for (text, place) in
            [("a,\"b\n", "the header line"), ("a\r\n\r\n\"x\n\n", "row 0"), ("a\n1\nb\"c,\"\n\n", "row 1")]
        {
            let e = after(text).finish().unwrap_err().to_string();
            assert_eq!(e, format!("corrupt file: {place}: a quote opened there does not close"));
        }
    }

    #[test]
    fn a_record_is_bounded_and_has_no_nul_byte() {
        for mut records in [Records::csv(), Records::lines()] {
            records.most = 100;
            let long = "x".repeat(99) + "\n";
            assert!((0..5).all(|_| records.follow(long.as_bytes()).is_ok()));
            let e = records.follow("x".repeat(101).as_bytes()).unwrap_err();
            assert_eq!(e.kind(), pennon_file::ErrorKind::Limit);
            assert!(records.clone().follow(b"\n\0").is_err());
        }
        let mut records = after("a\n\"x\n");
        records.most = 20;
        assert!(records.follow(&[b'\n'; 30]).unwrap_err().to_string().contains("a quote that opened there"));
        assert!(after("a\n\"").follow(b"\0").is_err());
    }
}
