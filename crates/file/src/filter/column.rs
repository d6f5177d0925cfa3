//! Columns by path in a predicate.

use std::fmt;

use super::literal::Literal;
use super::predicate::{Comparison, Operand, Predicate};
use crate::schema::path_part;

/// Words that stand for themselves in a predicate; a column of such a name is quoted.
pub(super) const RESERVED: [&str; 11] =
    ["and", "or", "not", "in", "is", "null", "like", "between", "true", "false", "escape"];

/// Fields of one name side by side that are looked for.
const MAX_NAMESAKES: usize = 1000;

/// A column by its path. See [`col`].
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Column(String);

/// A column by its path, to build predicates with.
///
/// `a.b` walks structs; names with anything but letters, digits and `_` are quoted with backquotes. A text that is no
/// path by this rule is taken as the whole name of a top-level column.
///
/// ```
/// use pennon_file::filter::col;
///
/// assert_eq!(col("a.b").gt(3).to_string(), "a.b > 3");
/// assert_eq!(col("price (net)").le(9.5).to_string(), "`price (net)` <= 9.5");
/// assert_eq!(col("s.`odd name`").is_null().to_string(), "s.`odd name` IS NULL");
/// assert_eq!(col("a").lt(col("b")).to_string(), "a < b");
/// ```
pub fn col(path: impl AsRef<str>) -> Column {
    let path = path.as_ref();
    let is_path = path_len(path) == Some(path.len()) && !is_reserved(first_word(path));
    Column(if is_path { path.to_owned() } else { format!("`{}`", path.replace('`', "``")) })
}

fn first_word(path: &str) -> &str {
    path.split(['.', '#']).next().unwrap_or(path)
}

pub(super) fn is_reserved(word: &str) -> bool {
    RESERVED.iter().any(|r| r.eq_ignore_ascii_case(word))
}

/// Bytes of the path at the beginning of a text, if there is one. A backquote that is not closed ends nothing.
pub(super) fn path_len(text: &str) -> Option<usize> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    if text.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let mut at = 0;
    loop {
        let rest = &text[at..];
        let mut len = if rest.starts_with('`') {
            let mut end = 1;
            loop {
                end += rest[end..].find('`')? + 1;
                match rest[end..].starts_with('`') {
                    true => end += 1,
                    false => break end,
                }
            }
        } else {
            rest.find(|c| !is_word(c)).unwrap_or(rest.len())
        };
        if len == 0 {
            return None;
        }
        if let Some(nth) = rest[len..].strip_prefix('#') {
            let digits = nth.bytes().take_while(u8::is_ascii_digit).count();
            if digits > 0 {
                len += 1 + digits;
            }
        }
        at += len;
        match text[at..].strip_prefix('.') {
            Some(more) if more.starts_with(|c| is_word(c) || c == '`') => at += 1,
            _ => return Some(at),
        }
    }
}

impl Column {
    /// A path that the lexer has found.
    pub(super) fn of_path(path: &str) -> Self {
        Self(path.to_owned())
    }

    /// The path.
    pub fn path(&self) -> &str {
        &self.0
    }

    /// The path, after those of fields of the same names before it: `x`, `x#2`, `x#3` for the third.
    pub(crate) fn paths_with_namesakes(&self) -> Vec<String> {
        let mut paths = Vec::new();
        let mut above = String::new();
        for part in crate::schema::parse_path(&self.0).unwrap_or_default() {
            let dot = if above.is_empty() { "" } else { "." };
            let nth = |n| format!("{above}{dot}{}", path_part(&part.name, n));
            paths.extend((1..part.nth.min(MAX_NAMESAKES)).map(nth));
            above = nth(part.nth);
        }
        paths.push(self.0.clone());
        paths
    }

    fn compare(self, op: Comparison, right: impl Into<Operand>) -> Predicate {
        Predicate::Compare { op, left: Operand::Column(self), right: right.into() }
    }

    /// Equal to a value or another column.
    pub fn eq(self, other: impl Into<Operand>) -> Predicate {
        self.compare(Comparison::Equal, other)
    }

    /// Different from a value or another column.
    pub fn ne(self, other: impl Into<Operand>) -> Predicate {
        self.compare(Comparison::NotEqual, other)
    }

    /// Less than a value or another column.
    pub fn lt(self, other: impl Into<Operand>) -> Predicate {
        self.compare(Comparison::Less, other)
    }

    /// Less than or equal to a value or another column.
    pub fn le(self, other: impl Into<Operand>) -> Predicate {
        self.compare(Comparison::LessOrEqual, other)
    }

    /// Greater than a value or another column.
    pub fn gt(self, other: impl Into<Operand>) -> Predicate {
        self.compare(Comparison::Greater, other)
    }

    /// Greater than or equal to a value or another column.
    pub fn ge(self, other: impl Into<Operand>) -> Predicate {
        self.compare(Comparison::GreaterOrEqual, other)
    }

    /// Null. Never NULL itself.
    pub fn is_null(self) -> Predicate {
        Predicate::IsNull { column: self, negated: false }
    }

    /// Not null. Never NULL itself.
    pub fn is_not_null(self) -> Predicate {
        Predicate::IsNull { column: self, negated: true }
    }

    /// Equal to one of the values.
    pub fn is_in<L: Into<Literal>>(self, list: impl IntoIterator<Item = L>) -> Predicate {
        let list = list.into_iter().map(Into::into).collect();
        Predicate::In { column: self, list, negated: false }
    }

    /// Equal to none of the values.
    pub fn is_not_in<L: Into<Literal>>(self, list: impl IntoIterator<Item = L>) -> Predicate {
        let list = list.into_iter().map(Into::into).collect();
        Predicate::In { column: self, list, negated: true }
    }

    /// From `low` to `high`, both included.
    pub fn between(self, low: impl Into<Operand>, high: impl Into<Operand>) -> Predicate {
        Predicate::Between { column: self, low: low.into(), high: high.into(), negated: false }
    }

    /// Text of a pattern: `%` stands for any text, `_` for one character.
    pub fn like(self, pattern: impl Into<String>) -> Predicate {
        Predicate::Like { column: self, pattern: pattern.into(), escape: None, negated: false }
    }

    /// Text or bytes that begin like this.
    pub fn starts_with(self, prefix: impl Into<Literal>) -> Predicate {
        Predicate::StartsWith { column: self, prefix: prefix.into() }
    }

    /// Not a number, in a column of floating-point numbers.
    pub fn is_nan(self) -> Predicate {
        Predicate::IsNan(self)
    }

    /// True, in a boolean column.
    pub fn is_true(self) -> Predicate {
        Predicate::Column(self)
    }
}

impl fmt::Display for Column {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
