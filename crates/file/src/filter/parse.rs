//! Text to a predicate.
//!
//! ```text
//! predicate = and ( OR and )*
//! and       = not ( AND not )*
//! not       = NOT not | test
//! test      = "(" predicate ")" | TRUE | FALSE | column
//!           | is_nan "(" column ")" | starts_with "(" column "," text ")"
//!           | operand ( = | == | != | <> | < | <= | > | >= ) operand
//!           | column IS [ NOT ] NULL
//!           | column [ NOT ] IN "(" [ literal ( "," literal )* ] ")"
//!           | column [ NOT ] BETWEEN operand AND operand
//!           | column [ NOT ] LIKE text [ ESCAPE text ]
//! operand   = column | literal
//! literal   = number | 'text' | TRUE | FALSE | DATE 'd' | TIME 't' | TIMESTAMP 't' | X'00ff' | FLOAT 'Infinity'
//! ```
//!
//! Only the reserved words need quotes as names; `date`, `time`, `is_nan` and the like mean something only before what
//! belongs to them.

use super::column::Column;
use super::lex::{MAX_QUOTED, ParseError, Token, shortened, tokens};
use super::literal::Literal;
use super::predicate::{Comparison, Operand, Predicate};

/// How deep parentheses and NOTs may nest.
const MAX_DEPTH: usize = 64;

type Parsed<T> = Result<T, ParseError>;

pub(super) fn parse(text: &str) -> Parsed<Predicate> {
    let mut parser = Parser { text, tokens: tokens(text)?, at: 0, depth: 0 };
    if *parser.peek() == Token::End {
        return Err(parser.wrong("the predicate is empty; expected one as in x > 3"));
    }
    let predicate = parser.any()?;
    match parser.peek() {
        Token::End => Ok(predicate),
        Token::Sign(")") => Err(parser.wrong("a ) without its (")),
        Token::Sign(sign) if comparison(sign).is_some() => {
            Err(parser.wrong("comparisons do not chain: write a < b AND b < c; found another"))
        }
        _ => Err(parser.wrong(format!("expected AND, OR or the end, found {}", parser.found()))),
    }
}

struct Parser<'a> {
    text: &'a str,
    tokens: Vec<(Token, usize)>,
    at: usize,
    depth: usize,
}

fn comparison(sign: &str) -> Option<Comparison> {
    Some(match sign {
        "=" | "==" => Comparison::Equal,
        "<>" | "!=" => Comparison::NotEqual,
        "<" => Comparison::Less,
        "<=" => Comparison::LessOrEqual,
        ">" => Comparison::Greater,
        ">=" => Comparison::GreaterOrEqual,
        _ => return None,
    })
}

impl Parser<'_> {
    fn peek(&self) -> &Token {
        &self.tokens[self.at].0
    }

    fn after(&self) -> &Token {
        self.tokens.get(self.at + 1).map_or(&Token::End, |(token, _)| token)
    }

    /// The next token; the end is never passed.
    fn next(&mut self) -> Token {
        let token = self.tokens[self.at].0.clone();
        self.at = (self.at + 1).min(self.tokens.len() - 1);
        token
    }

    fn eat(&mut self, token: &Token) -> bool {
        let is = self.peek() == token;
        if is {
            self.next();
        }
        is
    }

    fn word(&mut self, word: &'static str) -> bool {
        self.eat(&Token::Word(word))
    }

    fn sign(&mut self, sign: &'static str, whole: &str) -> Parsed<()> {
        if self.eat(&Token::Sign(sign)) {
            return Ok(());
        }
        Err(self.wrong(format!("expected {sign} in {whole}, found {}", self.found())))
    }

    fn wrong(&self, message: impl Into<String>) -> ParseError {
        self.wrong_at(self.at, message)
    }

    fn wrong_at(&self, token: usize, message: impl Into<String>) -> ParseError {
        ParseError::new(self.text, self.tokens[token].1, message)
    }

    /// The next token in words.
    fn found(&self) -> String {
        match self.peek() {
            Token::Word(word) => (*word).to_owned(),
            Token::Path(path) => shortened(path, MAX_QUOTED),
            Token::Literal(literal) => shortened(&literal.to_string(), MAX_QUOTED),
            Token::Text(text) => shortened(&Literal::String(text.clone()).to_string(), MAX_QUOTED),
            Token::Sign(sign) => (*sign).to_owned(),
            Token::End => "nothing".to_owned(),
        }
    }

    /// What stands before the next token, in words.
    fn before(&self) -> String {
        let Some((_, start)) = self.at.checked_sub(1).map(|at| &self.tokens[at]) else {
            return String::new();
        };
        let before = self.text[*start..self.tokens[self.at].1].trim_end();
        if before.chars().count() <= 20 { format!(" after {before}") } else { String::new() }
    }

    fn nested<T>(&mut self, inner: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth == MAX_DEPTH {
            return Err(self.wrong(format!("more than {MAX_DEPTH} forms in one another")));
        }
        self.depth += 1;
        let result = inner(self);
        self.depth -= 1;
        result
    }

    fn any(&mut self) -> Parsed<Predicate> {
        let first = self.all()?;
        if *self.peek() != Token::Word("OR") {
            return Ok(first);
        }
        let mut parts = vec![first];
        while self.word("OR") {
            parts.push(self.all()?);
        }
        Ok(Predicate::Or(parts))
    }

    fn all(&mut self) -> Parsed<Predicate> {
        let first = self.not()?;
        if *self.peek() != Token::Word("AND") {
            return Ok(first);
        }
        let mut parts = vec![first];
        while self.word("AND") {
            parts.push(self.not()?);
        }
        Ok(Predicate::And(parts))
    }

    fn not(&mut self) -> Parsed<Predicate> {
        if self.word("NOT") {
            return Ok(Predicate::Not(Box::new(self.nested(Self::not)?)));
        }
        self.test()
    }

    fn test(&mut self) -> Parsed<Predicate> {
        let start = self.at;
        if self.eat(&Token::Sign("(")) {
            let inner = self.nested(Self::any)?;
            if !self.eat(&Token::Sign(")")) {
                return Err(self.wrong(format!("expected ), AND or OR, found {}", self.found())));
            }
            return match inner {
                // A column in parentheses is still a column.
                Predicate::Column(column) => self.rest(Operand::Column(column), start),
                inner => Ok(inner),
            };
        }
        if let Token::Path(name) = self.peek().clone()
            && *self.after() == Token::Sign("(")
        {
            return self.function(&name);
        }
        let left = self.operand()?;
        self.rest(left, start)
    }

    /// What follows the operand that began at token `start`.
    fn rest(&mut self, left: Operand, start: usize) -> Parsed<Predicate> {
        if let Token::Sign(sign) = *self.peek()
            && let Some(op) = comparison(sign)
        {
            self.next();
            let right = self.operand()?;
            if matches!((&left, &right), (Operand::Literal(_), Operand::Literal(_))) {
                return Err(
                    self.wrong_at(start, "a comparison needs a column on one of its sides; found two values")
                );
            }
            return Ok(Predicate::Compare { op, left, right });
        }
        let column = match left {
            Operand::Column(column) => column,
            Operand::Literal(Literal::Bool(value)) if self.ends_test() => {
                return Ok(Predicate::Constant(value));
            }
            Operand::Literal(literal) => {
                let literal = shortened(&literal.to_string(), MAX_QUOTED);
                let message = format!("expected a comparison after {literal}, found {}", self.found());
                return Err(self.wrong(message));
            }
        };
        if self.word("IS") {
            let negated = self.word("NOT");
            if self.word("NULL") {
                return Ok(Predicate::IsNull { column, negated });
            }
            return Err(self.wrong(format!("expected NULL or NOT NULL after IS, found {}", self.found())));
        }
        let negated = self.word("NOT");
        if self.word("IN") {
            return self.list(column, negated);
        }
        if self.word("BETWEEN") {
            let low = self.operand()?;
            if !self.word("AND") {
                return Err(self.wrong(format!("expected AND and a greatest value, found {}", self.found())));
            }
            let high = self.operand()?;
            return Ok(Predicate::Between { column, low, high, negated });
        }
        if self.word("LIKE") {
            return self.like(column, negated);
        }
        if negated {
            return Err(self.wrong(format!("expected IN, BETWEEN or LIKE after NOT, found {}", self.found())));
        }
        if self.ends_test() {
            return Ok(Predicate::Column(column));
        }
        Err(self.wrong(format!(
            "expected a comparison, IS, IN, BETWEEN, LIKE, AND, OR or the end after {}, found {}",
            shortened(column.path(), MAX_QUOTED),
            self.found()
        )))
    }

    /// Whether a test may end here.
    fn ends_test(&self) -> bool {
        matches!(self.peek(), Token::End | Token::Word("AND" | "OR") | Token::Sign(")"))
    }

    fn operand(&mut self) -> Parsed<Operand> {
        if let Token::Path(path) = self.peek()
            && !matches!(self.after(), Token::Text(_))
        {
            let column = Column::of_path(path);
            self.next();
            return Ok(Operand::Column(column));
        }
        self.literal("a column or a value").map(Operand::Literal)
    }

    fn literal(&mut self, expected: &str) -> Parsed<Literal> {
        match self.peek().clone() {
            Token::Literal(literal) => {
                self.next();
                Ok(literal)
            }
            Token::Text(text) => {
                self.next();
                Ok(Literal::String(text))
            }
            Token::Word(word @ ("TRUE" | "FALSE")) => {
                self.next();
                Ok(Literal::Bool(word == "TRUE"))
            }
            Token::Word("NULL") => {
                Err(self.wrong("no value equals NULL: write x IS NULL or x IS NOT NULL; found NULL"))
            }
            Token::Path(word) if matches!(self.after(), Token::Text(_)) => {
                self.next();
                self.typed(&word)
            }
            _ => Err(self.wrong(format!("expected {expected}{}, found {}", self.before(), self.found()))),
        }
    }

    /// `DATE '…'` and its like; the word has been passed.
    fn typed(&mut self, word: &str) -> Parsed<Literal> {
        let Token::Text(text) = self.peek().clone() else {
            return Err(self.wrong("expected a text"));
        };
        let literal = match word.to_ascii_uppercase().as_str() {
            "DATE" => Literal::date(&text),
            "TIME" => Literal::time(&text),
            "TIMESTAMP" => Literal::timestamp(&text),
            "FLOAT" => text.parse().map(Literal::Float).map_err(|_| {
                crate::Error::invalid(format!("expected a number, Infinity or NaN, found {text:?}"))
            }),
            _ => {
                return Err(self.wrong_at(
                    self.at - 1,
                    format!("expected DATE, TIME, TIMESTAMP, FLOAT or X before a text, or a comparison after a column; found {}", shortened(word, MAX_QUOTED)),
                ));
            }
        };
        let literal = literal.map_err(|e| self.wrong(e.message()))?;
        self.next();
        Ok(literal)
    }

    fn column(&mut self, whole: &str) -> Parsed<Column> {
        let Token::Path(path) = self.peek() else {
            return Err(self.wrong(format!("expected a column in {whole}, found {}", self.found())));
        };
        let column = Column::of_path(path);
        self.next();
        Ok(column)
    }

    /// `name(…)`; both are ahead.
    fn function(&mut self, name: &str) -> Parsed<Predicate> {
        let known = name.to_ascii_lowercase();
        if !["is_nan", "starts_with"].contains(&known.as_str()) {
            return Err(self.wrong(format!(
                "there are is_nan(x) and starts_with(x, 'a'), found {}",
                shortened(name, MAX_QUOTED)
            )));
        }
        self.next();
        self.next();
        if known == "is_nan" {
            let column = self.column("is_nan(x)")?;
            self.sign(")", "is_nan(x)")?;
            return Ok(Predicate::IsNan(column));
        }
        let whole = "starts_with(x, 'a')";
        let column = self.column(whole)?;
        self.sign(",", whole)?;
        let prefix = match self.peek().clone() {
            Token::Text(text) => Literal::String(text),
            Token::Literal(bytes @ Literal::Bytes(_)) => bytes,
            _ => return Err(self.wrong(format!("expected a text in {whole}, found {}", self.found()))),
        };
        self.next();
        self.sign(")", whole)?;
        Ok(Predicate::StartsWith { column, prefix })
    }

    fn list(&mut self, column: Column, negated: bool) -> Parsed<Predicate> {
        let mut list = Vec::new();
        self.sign("(", "x IN (1, 2)")?;
        if !self.eat(&Token::Sign(")")) {
            loop {
                list.push(self.literal("a value")?);
                if self.eat(&Token::Sign(")")) {
                    break;
                }
                if !self.eat(&Token::Sign(",")) {
                    return Err(self.wrong(format!("expected , or ) in a list, found {}", self.found())));
                }
            }
        }
        Ok(Predicate::In { column, list, negated })
    }

    fn like(&mut self, column: Column, negated: bool) -> Parsed<Predicate> {
        let pattern = self.text("a pattern as in 'a%' after LIKE")?;
        let mut escape = None;
        if self.word("ESCAPE") {
            let at = self.at;
            let text = self.text("one character as in '!' after ESCAPE")?;
            let mut chars = text.chars();
            escape = chars.next();
            if escape.is_none() || chars.next().is_some() {
                return Err(
                    self.wrong_at(at, "expected one character after ESCAPE, found another number of them")
                );
            }
            if super::like::Pattern::new(&pattern, escape).is_none() {
                return Err(self.wrong_at(
                    at - 2,
                    "after the escape character of a pattern comes %, _ or the character itself; found another",
                ));
            }
        }
        Ok(Predicate::Like { column, pattern, escape, negated })
    }

    fn text(&mut self, expected: &str) -> Parsed<String> {
        let Token::Text(text) = self.peek().clone() else {
            return Err(self.wrong(format!("expected {expected}, found {}", self.found())));
        };
        self.next();
        Ok(text)
    }
}
