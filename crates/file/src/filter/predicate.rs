//! The tree of a predicate: names and literals.

use std::ops::{BitAnd, BitOr, Not};

use super::column::Column;
use super::lex::ParseError;
use super::literal::Literal;

/// Which rows are wanted, said by what their columns hold.
///
/// Built by [`parse`](Self::parse) or with [`col`](super::col), and put together with `&`, `|` and `!`; printed as text
/// that parses to it again.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Predicate {
    /// All of these; TRUE if there are none.
    And(Vec<Predicate>),
    /// Any of these; FALSE if there are none.
    Or(Vec<Predicate>),
    /// The opposite; NULL stays NULL.
    Not(Box<Predicate>),
    /// A column beside a value, or two columns of one type.
    Compare {
        /// How they are compared.
        op: Comparison,
        /// What stands on the left.
        left: Operand,
        /// What stands on the right.
        right: Operand,
    },
    /// A column of any type is null.
    IsNull {
        /// The column.
        column: Column,
        /// It is not null.
        negated: bool,
    },
    /// A column equals one of the values.
    In {
        /// The column.
        column: Column,
        /// The values.
        list: Vec<Literal>,
        /// It equals none of them.
        negated: bool,
    },
    /// A column is at least `low` and at most `high`.
    Between {
        /// The column.
        column: Column,
        /// The least value.
        low: Operand,
        /// The greatest value.
        high: Operand,
        /// It is outside.
        negated: bool,
    },
    /// A column of text matches a pattern of `%` (any text) and `_` (one character).
    Like {
        /// The column.
        column: Column,
        /// The pattern.
        pattern: String,
        /// The character after which `%`, `_` and itself stand for themselves.
        escape: Option<char>,
        /// It does not match.
        negated: bool,
    },
    /// A column of text or bytes begins like this.
    StartsWith {
        /// The column.
        column: Column,
        /// Text or bytes.
        prefix: Literal,
    },
    /// A column of floating-point numbers is NaN.
    IsNan(Column),
    /// A boolean column.
    Column(Column),
    /// Every row, or none.
    Constant(bool),
}

/// What a comparison stands between.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Operand {
    /// What the row has in a column.
    Column(Column),
    /// A value.
    Literal(Literal),
}

/// How two values are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Comparison {
    /// `=`
    Equal,
    /// `<>`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
}

impl Comparison {
    /// The same with its sides exchanged: `3 < x` is `x > 3`.
    #[must_use]
    pub fn flipped(self) -> Self {
        match self {
            Self::Less => Self::Greater,
            Self::LessOrEqual => Self::GreaterOrEqual,
            Self::Greater => Self::Less,
            Self::GreaterOrEqual => Self::LessOrEqual,
            same => same,
        }
    }

    /// The sign that is printed.
    pub fn sign(self) -> &'static str {
        match self {
            Self::Equal => "=",
            Self::NotEqual => "<>",
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Greater => ">",
            Self::GreaterOrEqual => ">=",
        }
    }
}

impl Predicate {
    /// Reads a predicate from text, as in `a.b > 3 AND name LIKE 'x%'`.
    ///
    /// ```
    /// use pennon_file::filter::Predicate;
    ///
    /// let wrong = Predicate::parse("dep_delay > AND origin = 'JFK'").unwrap_err();
    /// assert_eq!(
    ///     wrong.to_string(),
    ///     "expected a column or a value after >, found AND at character 13\n  dep_delay > AND origin = 'JFK'\n              ^"
    /// );
    /// ```
    ///
    /// # Errors
    /// The text is no predicate; the error says where it stops being one, and what was expected there.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        super::parse::parse(text)
    }

    /// Both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let mut parts = match self {
            Self::And(parts) => parts,
            single => vec![single],
        };
        match other {
            Self::And(more) => parts.extend(more),
            single => parts.push(single),
        }
        Self::And(parts)
    }

    /// Either.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        let mut parts = match self {
            Self::Or(parts) => parts,
            single => vec![single],
        };
        match other {
            Self::Or(more) => parts.extend(more),
            single => parts.push(single),
        }
        Self::Or(parts)
    }

    /// Every column that is named, once each, in the order of the text.
    pub fn columns(&self) -> Vec<&Column> {
        let mut columns = Vec::new();
        self.visit(&mut |column| {
            if !columns.contains(&column) {
                columns.push(column);
            }
        });
        columns
    }

    fn visit<'a>(&'a self, found: &mut dyn FnMut(&'a Column)) {
        let operand = |operand: &'a Operand, found: &mut dyn FnMut(&'a Column)| {
            if let Operand::Column(column) = operand {
                found(column);
            }
        };
        match self {
            Self::And(parts) | Self::Or(parts) => parts.iter().for_each(|p| p.visit(found)),
            Self::Not(inner) => inner.visit(found),
            Self::Compare { left, right, .. } => {
                operand(left, found);
                operand(right, found);
            }
            Self::Between { column, low, high, .. } => {
                found(column);
                operand(low, found);
                operand(high, found);
            }
            Self::IsNull { column, .. }
            | Self::In { column, .. }
            | Self::Like { column, .. }
            | Self::StartsWith { column, .. }
            | Self::IsNan(column)
            | Self::Column(column) => found(column),
            Self::Constant(_) => {}
        }
    }
}

impl BitAnd for Predicate {
    type Output = Self;

    fn bitand(self, other: Self) -> Self {
        self.and(other)
    }
}

impl BitOr for Predicate {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        self.or(other)
    }
}

impl Not for Predicate {
    type Output = Self;

    fn not(self) -> Self {
        Self::Not(Box::new(self))
    }
}

impl std::str::FromStr for Predicate {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        Self::parse(text)
    }
}

impl From<Column> for Operand {
    fn from(column: Column) -> Self {
        Self::Column(column)
    }
}

impl<L: Into<Literal>> From<L> for Operand {
    fn from(literal: L) -> Self {
        Self::Literal(literal.into())
    }
}
