//! Patterns of LIKE: `%` is any text, `_` is one character (a Unicode scalar value).

/// A pattern ready to be matched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Pattern {
    /// The text itself.
    Exact(String),
    /// `abc%`
    Prefix(String),
    /// `%abc`
    Suffix(String),
    /// `%abc%`
    Inside(String),
    /// Anything else.
    Parts(Vec<Part>),
}

/// A step of a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    One(char),
    AnyOne,
    Any,
}

impl Pattern {
    /// `None` if the escape character stands before something that needs none.
    pub(crate) fn new(pattern: &str, escape: Option<char>) -> Option<Self> {
        let mut parts = Vec::new();
        let mut chars = pattern.chars();
        while let Some(c) = chars.next() {
            if Some(c) == escape {
                let next = chars.next().filter(|n| *n == '%' || *n == '_' || Some(*n) == escape)?;
                parts.push(Part::One(next));
                continue;
            }
            match c {
                '%' if parts.last() == Some(&Part::Any) => {}
                '%' => parts.push(Part::Any),
                '_' => parts.push(Part::AnyOne),
                c => parts.push(Part::One(c)),
            }
        }
        let starts = parts.first() == Some(&Part::Any);
        let ends = parts.last() == Some(&Part::Any);
        let inner = parts.get(usize::from(starts)..parts.len() - usize::from(ends)).unwrap_or_default();
        let text: Option<String> = inner
            .iter()
            .map(|p| match p {
                Part::One(c) => Some(*c),
                _ => None,
            })
            .collect();
        Some(match (text, starts, ends) {
            (Some(text), false, false) => Self::Exact(text),
            (Some(text), false, true) => Self::Prefix(text),
            // `%` alone begins and ends with the same part.
            (Some(_), true, true) if parts.len() == 1 => Self::Prefix(String::new()),
            (Some(text), true, false) => Self::Suffix(text),
            (Some(text), true, true) => Self::Inside(text),
            (None, ..) => Self::Parts(parts),
        })
    }
}

/// Whether a whole text is what the parts say. A failed attempt goes back to the last `%` only: whatever the
/// earlier ones took, it can take more.
pub(super) fn matches(parts: &[Part], text: &str) -> bool {
    let mut rest = text.chars();
    let mut at = 0;
    let mut again: Option<(usize, std::str::Chars<'_>)> = None;
    loop {
        match parts.get(at) {
            Some(Part::Any) => {
                at += 1;
                if at == parts.len() {
                    return true;
                }
                again = Some((at, rest.clone()));
                continue;
            }
            Some(part) => {
                let mut ahead = rest.clone();
                let Some(c) = ahead.next() else { return false };
                if *part == Part::AnyOne || *part == Part::One(c) {
                    rest = ahead;
                    at += 1;
                    continue;
                }
            }
            None if rest.as_str().is_empty() => return true,
            None => {}
        }
        let Some((after, from)) = &mut again else { return false };
        if from.next().is_none() {
            return false;
        }
        at = *after;
        rest = from.clone();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The definition, as a recursion.
    fn oracle(parts: &[Part], text: &[char]) -> bool {
        match parts {
            [] => text.is_empty(),
            [Part::Any, rest @ ..] => (0..=text.len()).any(|n| oracle(rest, &text[n..])),
            [Part::AnyOne, rest @ ..] => !text.is_empty() && oracle(rest, &text[1..]),
            [Part::One(c), rest @ ..] => text.first() == Some(c) && oracle(rest, &text[1..]),
        }
    }

    #[test]
    fn every_short_pattern_matches_what_its_definition_says() {
        let all = |alphabet: &[char], most: usize| {
            let mut texts = vec![String::new()];
            let mut last = texts.clone();
            for _ in 0..most {
                last = last.iter().flat_map(|t| alphabet.iter().map(move |c| format!("{t}{c}"))).collect();
                texts.extend(last.iter().cloned());
            }
            texts
        };
        for pattern in all(&['ä', 'b', '%', '_'], 4) {
            let parts: Vec<Part> = pattern
                .chars()
                .map(|c| match c {
                    '%' => Part::Any,
                    '_' => Part::AnyOne,
                    c => Part::One(c),
                })
                .collect();
            let compiled = Pattern::new(&pattern, None).expect("no escape");
            for text in all(&['ä', 'b'], 5) {
                let expected = oracle(&parts, &text.chars().collect::<Vec<_>>());
                assert_eq!(matches(&parts, &text), expected, "{text} LIKE {pattern}");
                let fast = match &compiled {
                    Pattern::Exact(t) => text == *t,
                    Pattern::Prefix(t) => text.starts_with(t.as_str()),
                    Pattern::Suffix(t) => text.ends_with(t.as_str()),
                    Pattern::Inside(t) => text.contains(t.as_str()),
                    Pattern::Parts(parts) => matches(parts, &text),
                };
                assert_eq!(fast, expected, "{text} LIKE {pattern}");
            }
        }
    }

    #[test]
    fn an_escaped_sign_stands_for_itself() {
        assert_eq!(Pattern::new("100!%", Some('!')), Some(Pattern::Exact("100%".into())));
        assert_eq!(Pattern::new("!!%", Some('!')), Some(Pattern::Prefix("!".into())));
        assert_eq!((Pattern::new("!a", Some('!')), Pattern::new("a!", Some('!'))), (None, None));
    }
}
