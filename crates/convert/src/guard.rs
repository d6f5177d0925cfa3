//! Turns a panic of a foreign decoder into an error.
//!
//! The decoders of the other formats come from libraries that index into damaged input here and there. A
//! damaged file must give an error, so every call into them passes through [`guard`].

use std::cell::Cell;
use std::cmp::Ordering;
use std::panic::{AssertUnwindSafe, catch_unwind};

use arrow_schema::ArrowError;
use pennon_file::{Error, Result};

thread_local! {
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread is inside a guarded call: a panic hook stays silent then, because the panic is
/// about to become an error.
pub fn panic_is_expected() -> bool {
    INSIDE.with(Cell::get)
}

/// Runs `f`, which calls into the library that decodes `what`.
pub(crate) fn guard<T>(what: &str, f: impl FnOnce() -> Result<T>) -> Result<T> {
    let before = INSIDE.with(|i| i.replace(true));
    // What `f` had in its hands is dropped by the caller after an error and never used again.
    let outcome = catch_unwind(AssertUnwindSafe(f));
    INSIDE.with(|i| i.set(before));
    outcome.unwrap_or_else(|panic| {
        let text = panic
            .downcast_ref::<String>()
            .cloned()
            .or_else(|| panic.downcast_ref::<&str>().map(|s| (*s).to_owned()))
            .unwrap_or_default();
        let text = one_line(&text);
        Err(match what.starts_with("writing") {
            true => Error::unsupported(format!("{what}: the encoder gave up: {text}")),
            false => Error::corrupt(format!("{what}: the decoder gave up: {text}")),
        })
    })
}

/// An error of an Arrow library, with what was being done.
pub(crate) fn arrow_error(what: &str, error: ArrowError) -> Error {
    match error {
        ArrowError::IoError(text, e) => io_error(what, &text, e),
        ArrowError::NotYetImplemented(text) => Error::unsupported(format!("{what}: {}", one_line(&text))),
        ArrowError::CsvError(text)
        | ArrowError::JsonError(text)
        | ArrowError::IpcError(text)
        | ArrowError::ParseError(text)
        | ArrowError::CastError(text)
        | ArrowError::SchemaError(text)
        | ArrowError::InvalidArgumentError(text) => Error::corrupt(format!("{what}: {}", one_line(&text))),
        ArrowError::ExternalError(e) => match e.downcast::<std::io::Error>() {
            Ok(e) => Error::io(what, *e),
            Err(e) => Error::corrupt(format!("{what}: {}", one_line(&e.to_string()))),
        },
        other => Error::corrupt(format!("{what}: {}", one_line(&other.to_string()))),
    }
}

fn io_error(what: &str, text: &str, e: std::io::Error) -> Error {
    // Some libraries wrap with a text of their own and an error without an OS code.
    if e.raw_os_error().is_some() || text.is_empty() || e.kind() != std::io::ErrorKind::Other {
        Error::io(what, e)
    } else {
        Error::corrupt(format!("{what}: {}", one_line(text)))
    }
}

/// Adds the file's name, unless the message has it already.
pub(crate) fn in_file(e: Error, name: &str) -> Error {
    if e.message().contains(name) { e } else { e.in_file(name) }
}

/// `text` on one line, so that an error stays one line.
pub(crate) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A value for a message: quoted, and no more than 60 characters of it.
pub(crate) fn short(value: &str) -> String {
    match value.char_indices().nth(60) {
        None => format!("{value:?}"),
        Some((end, _)) => format!("{:?}…", &value[..end]),
    }
}

/// A library's message with quotations and words of 60 characters at most.
pub(crate) fn cut(message: &str) -> String {
    const MOST: usize = 60;
    let (mut out, mut quote, mut run) = (String::new(), None, 0usize);
    for c in message.chars().take(400) {
        match quote {
            None if matches!(c, '\'' | '"') => (quote, run) = (Some(c), 0),
            None if c == ' ' => run = 0,
            Some(q) if q == c => (quote, run) = (None, 0),
            _ => run += 1,
        }
        match run.cmp(&(MOST + 1)) {
            Ordering::Less => out.push(c),
            Ordering::Equal => out.push('…'),
            Ordering::Greater => {}
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_inside_becomes_an_error_and_outside_stays_one() {
        std::panic::set_hook(Box::new(|_| {}));
        let e = guard("decoding x", || -> Result<()> { panic!("index 5\nof 3") }).unwrap_err();
        let _ = std::panic::take_hook();
        assert_eq!(e.to_string(), "corrupt file: decoding x: the decoder gave up: index 5 of 3");
        assert!(!panic_is_expected());
    }

    #[test]
    fn a_message_quotes_sixty_characters_of_a_value() {
        let long = "x".repeat(1000);
        assert_eq!(short(&long), format!("\"{}\"…", "x".repeat(60)));
        let kept = "x".repeat(60);
        assert_eq!(cut(&format!("value '{}' as Int64", &long[..100])), format!("value '{kept}…' as Int64"));
        assert!(cut(&format!("value \"{long}")).ends_with(&format!("{kept}…")));
        assert!(cut(&format!("value {long}")).ends_with(&format!("{kept}…")));
        assert_eq!(cut("expected 'a' here"), "expected 'a' here");
    }
}
