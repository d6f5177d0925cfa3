//! Text of a predicate cut into tokens, and errors that point into it.

use std::fmt;

use super::column::{is_reserved, path_len};
use super::literal::Literal;

/// What is wrong with the text of a predicate, and where.
///
/// Printed, it shows the line around the place with a caret below; [`summary`](Self::summary) is the same in one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseError {
    text: String,
    /// Offset in bytes.
    at: usize,
    message: String,
}

impl ParseError {
    pub(super) fn new(text: &str, at: usize, message: impl Into<String>) -> Self {
        let mut at = at.min(text.len());
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        Self { text: text.to_owned(), at, message: message.into() }
    }

    /// Where in the text, in characters from 1.
    pub fn position(&self) -> usize {
        self.text[..self.at].chars().count() + 1
    }

    /// What was expected and what was found, without the place.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The error in one line.
    pub fn summary(&self) -> String {
        let rest = shortened(&self.text[self.at..], MAX_AFTER);
        if rest.is_empty() {
            format!("{} at the end of {:?}", self.message, last(&self.text, MAX_AFTER))
        } else {
            format!("{} at character {}: {rest:?}", self.message, self.position())
        }
    }
}

/// Characters quoted of a text: of what is named, before a place and after it.
pub(super) const MAX_QUOTED: usize = 80;
const MAX_BEFORE: usize = 48;
const MAX_AFTER: usize = 30;

/// The first characters of a text.
pub(super) fn shortened(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// The last characters of a text.
fn last(text: &str, most: usize) -> String {
    match text.char_indices().nth_back(most) {
        Some((at, c)) => format!("…{}", &text[at + c.len_utf8()..]),
        None => text.to_owned(),
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let start = self.text[..self.at].rfind('\n').map_or(0, |n| n + 1);
        let end = self.text[self.at..].find('\n').map_or(self.text.len(), |n| self.at + n);
        let before = last(&self.text[start..self.at], MAX_BEFORE);
        let line = format!("{before}{}", shortened(&self.text[self.at..end], MAX_AFTER));
        let line: String = line.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        let (message, position) = (&self.message, self.position());
        let width = before.chars().count();
        write!(f, "{message} at character {position}\n  {line}\n  {:width$}^", "")
    }
}

impl std::error::Error for ParseError {}

impl From<ParseError> for crate::Error {
    fn from(e: ParseError) -> Self {
        Self::invalid(e.to_string())
    }
}

/// A piece of a predicate.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Token {
    /// A reserved word, in capitals.
    Word(&'static str),
    /// A path, or a name that has a meaning before a parenthesis or a text.
    Path(String),
    Literal(Literal),
    /// Text in single quotes: a literal, unless a word before it says otherwise.
    Text(String),
    Sign(&'static str),
    End,
}

/// Signs, the longer of those that begin alike first.
const SIGNS: [&str; 11] = ["<=", ">=", "<>", "!=", "==", "=", "<", ">", "(", ")", ","];

/// What people write who know other languages, and what it is called here.
const FOREIGN: [(&str, &str); 7] = [
    ("&&", "write AND"),
    ("&", "write AND"),
    ("||", "write OR"),
    ("|", "write OR"),
    ("!", "write NOT"),
    ("~", "write NOT"),
    (";", "there is one predicate, without a semicolon"),
];

/// Cuts a text into tokens with their offsets; the last is the end.
pub(super) fn tokens(text: &str) -> Result<Vec<(Token, usize)>, ParseError> {
    let mut tokens = Vec::new();
    let mut at = 0;
    loop {
        at += text[at..].len() - text[at..].trim_start().len();
        let rest = &text[at..];
        if rest.is_empty() {
            tokens.push((Token::End, at));
            return Ok(tokens);
        }
        let wrong = |offset: usize, message: String| ParseError::new(text, at + offset, message);
        let (token, len) = if rest.starts_with('\'') {
            let (content, len) = quoted(rest).ok_or_else(|| wrong(0, "a text has no closing '".into()))?;
            (Token::Text(content), len)
        } else if rest.starts_with("x'") || rest.starts_with("X'") {
            let (content, len) =
                quoted(&rest[1..]).ok_or_else(|| wrong(0, "bytes have no closing '".into()))?;
            let bytes = bytes_of(&content)
                .ok_or_else(|| wrong(0, "expected pairs of hexadecimal digits, as in X'00ff',".into()))?;
            (Token::Literal(Literal::Bytes(bytes)), len + 1)
        } else if let Some(len) = number_len(rest) {
            let number = Literal::number(&rest[..len]).map_err(|e| wrong(0, e.message().to_owned()))?;
            if rest[len..].starts_with(|c: char| c.is_alphanumeric() || c == '_') {
                let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
                let name = &rest[..end.max(len)];
                return Err(wrong(
                    len,
                    format!(
                        "a number goes on with letters; a column is quoted: `{}`",
                        shortened(name, MAX_QUOTED)
                    ),
                ));
            }
            (Token::Literal(number), len)
        } else if let Some(sign) = SIGNS.iter().find(|s| rest.starts_with(**s)) {
            (Token::Sign(sign), sign.len())
        } else if let Some(len) = path_len(rest) {
            let path = &rest[..len];
            // `is.x` would be a path if its first word were not a word of the language.
            match is_reserved(path) {
                true => (Token::Word(capitals(path)), len),
                false => (Token::Path(path.to_owned()), len),
            }
        } else if rest.starts_with('`') {
            return Err(wrong(0, "a name has no closing `".into()));
        } else if rest.starts_with('"') {
            return Err(wrong(
                0,
                "texts stand in single quotes, as in 'a', and names in backquotes, as in `a`; found \""
                    .into(),
            ));
        } else if let Some((found, hint)) = FOREIGN.iter().find(|(found, _)| rest.starts_with(found)) {
            return Err(wrong(0, format!("found {found}: {hint};")));
        } else {
            let c = rest.chars().next().unwrap_or(' ');
            return Err(wrong(0, format!("{c:?} has no meaning in a predicate,")));
        };
        tokens.push((token, at));
        at += len;
    }
}

fn capitals(word: &str) -> &'static str {
    const WORDS: [&str; 11] =
        ["AND", "OR", "NOT", "IN", "IS", "NULL", "LIKE", "BETWEEN", "TRUE", "FALSE", "ESCAPE"];
    WORDS.iter().find(|w| w.eq_ignore_ascii_case(word)).unwrap_or(&"")
}

/// What is between the quote at the start and the one that closes it, and the bytes up to there.
fn quoted(text: &str) -> Option<(String, usize)> {
    let mut content = String::new();
    let mut at = 1;
    loop {
        let len = text[at..].find('\'')?;
        content.push_str(&text[at..at + len]);
        at += len + 1;
        if !text[at..].starts_with('\'') {
            return Some((content, at));
        }
        content.push('\'');
        at += 1;
    }
}

fn bytes_of(hex: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u8>> =
        hex.chars().map(|c| c.to_digit(16).and_then(|d| u8::try_from(d).ok())).collect();
    let digits = digits.filter(|d| d.len().is_multiple_of(2))?;
    Some(digits.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect())
}

/// Bytes of the number at the start: `12`, `-1.5`, `.5`, `1e-3`.
fn number_len(text: &str) -> Option<usize> {
    let digits = |from: usize| text[from..].bytes().take_while(u8::is_ascii_digit).count();
    let mut len = usize::from(text.starts_with(['-', '+']));
    let whole = digits(len);
    len += whole;
    let mut fraction = 0;
    if text[len..].starts_with('.') {
        fraction = digits(len + 1);
        if whole + fraction > 0 {
            len += 1 + fraction;
        }
    }
    if whole + fraction == 0 {
        return None;
    }
    if text[len..].starts_with(['e', 'E']) {
        let sign = usize::from(text[len + 1..].starts_with(['-', '+']));
        let exponent = digits(len + 1 + sign);
        if exponent > 0 {
            len += 1 + sign + exponent;
        }
    }
    Some(len)
}
