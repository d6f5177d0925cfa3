//! Predicates as text that parses to them again.

use std::fmt;

use super::literal::write_quoted;
use super::predicate::{Operand, Predicate};

/// How tightly a form binds: an inner form that binds less is put in parentheses.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Strength {
    Or,
    And,
    Not,
    Test,
}

fn strength(predicate: &Predicate) -> Strength {
    match predicate {
        Predicate::Or(parts) if !parts.is_empty() => Strength::Or,
        Predicate::And(parts) if !parts.is_empty() => Strength::And,
        Predicate::Not(_) => Strength::Not,
        _ => Strength::Test,
    }
}

fn inner(f: &mut fmt::Formatter<'_>, predicate: &Predicate, least: Strength) -> fmt::Result {
    if strength(predicate) < least { write!(f, "({predicate})") } else { write!(f, "{predicate}") }
}

fn joined(f: &mut fmt::Formatter<'_>, parts: &[Predicate], word: &str, least: Strength) -> fmt::Result {
    for (i, part) in parts.iter().enumerate() {
        if i > 0 {
            f.write_str(word)?;
        }
        inner(f, part, least)?;
    }
    Ok(())
}

impl fmt::Display for Operand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Column(column) => write!(f, "{column}"),
            Self::Literal(literal) => write!(f, "{literal}"),
        }
    }
}

impl fmt::Display for Predicate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let not = |negated: &bool| if *negated { "NOT " } else { "" };
        match self {
            Self::And(parts) if parts.is_empty() => f.write_str("TRUE"),
            Self::Or(parts) if parts.is_empty() => f.write_str("FALSE"),
            // A list in a list of its own kind keeps its parentheses, as the tree has them.
            Self::And(parts) => joined(f, parts, " AND ", Strength::Not),
            Self::Or(parts) => joined(f, parts, " OR ", Strength::And),
            Self::Not(part) => {
                f.write_str("NOT ")?;
                inner(f, part, Strength::Not)
            }
            Self::Compare { op, left, right } => write!(f, "{left} {} {right}", op.sign()),
            Self::IsNull { column, negated } => write!(f, "{column} IS {}NULL", not(negated)),
            Self::In { column, list, negated } => {
                write!(f, "{column} {}IN (", not(negated))?;
                for (i, literal) in list.iter().enumerate() {
                    write!(f, "{}{literal}", if i > 0 { ", " } else { "" })?;
                }
                f.write_str(")")
            }
            Self::Between { column, low, high, negated } => {
                write!(f, "{column} {}BETWEEN {low} AND {high}", not(negated))
            }
            Self::Like { column, pattern, escape, negated } => {
                write!(f, "{column} {}LIKE ", not(negated))?;
                write_quoted(f, pattern)?;
                match escape {
                    Some(c) => {
                        f.write_str(" ESCAPE ")?;
                        write_quoted(f, c.encode_utf8(&mut [0; 4]))
                    }
                    None => Ok(()),
                }
            }
            Self::StartsWith { column, prefix } => write!(f, "starts_with({column}, {prefix})"),
            Self::IsNan(column) => write!(f, "is_nan({column})"),
            Self::Column(column) => write!(f, "{column}"),
            Self::Constant(true) => f.write_str("TRUE"),
            Self::Constant(false) => f.write_str("FALSE"),
        }
    }
}
