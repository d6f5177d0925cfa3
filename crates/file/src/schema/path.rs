//! Paths of fields: `a.b`, `list.item`, `map.key`, `` `odd name`.c ``, `twice#2`.

use std::collections::HashMap;

use arrow_schema::DataType;

use crate::{Error, Result};

/// Counts fields of one name among siblings, to tell the second from the first.
#[derive(Debug, Default)]
pub(super) struct Siblings(HashMap<String, usize>);

impl Siblings {
    /// The path segment of the next sibling of this name.
    pub(super) fn segment(&mut self, name: &str) -> String {
        let count = self.0.entry(name.to_owned()).or_insert(0);
        *count += 1;
        if *count == 1 { quoted(name) } else { format!("{}#{count}", quoted(name)) }
    }
}

/// A name as a path segment: in backquotes unless it is of letters, digits and underscores.
pub(super) fn quoted(name: &str) -> String {
    if !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
        name.to_owned()
    } else {
        format!("`{}`", name.replace('`', "``"))
    }
}

/// The segment of child `index` of a list or map, whatever its field is called.
pub(super) fn child_segment(parent: &DataType, index: usize) -> &'static str {
    match (parent, index) {
        (DataType::Map(..), 0) => "key",
        (DataType::Map(..), _) => "value",
        _ => "item",
    }
}

/// One step of a path: the `nth` sibling of a name, counted from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Segment {
    pub(super) name: String,
    pub(super) nth: usize,
}

/// Splits a path into its steps.
pub(super) fn parse(path: &str) -> Result<Vec<Segment>> {
    let wrong = |why: &str| Error::invalid(format!("column path {path:?}: {why}"));
    let mut segments = Vec::new();
    let mut rest = path;
    loop {
        let (name, after) = if let Some(quoted) = rest.strip_prefix('`') {
            let mut name = String::new();
            let mut tail = quoted;
            loop {
                let Some(end) = tail.find('`') else { return Err(wrong("a backquote is not closed")) };
                name.push_str(&tail[..end]);
                tail = &tail[end + 1..];
                let Some(more) = tail.strip_prefix('`') else { break };
                name.push('`');
                tail = more;
            }
            (name, tail)
        } else {
            let end = rest.find(['.', '#']).unwrap_or(rest.len());
            if end == 0 {
                return Err(wrong("a name is missing"));
            }
            (rest[..end].to_owned(), &rest[end..])
        };
        let (nth, after) = match after.strip_prefix('#') {
            None => (1, after),
            Some(tail) => {
                let end = tail.find('.').unwrap_or(tail.len());
                match tail[..end].parse::<usize>() {
                    Ok(nth) if nth > 0 => (nth, &tail[end..]),
                    _ => return Err(wrong("after # a number from 1 on is expected")),
                }
            }
        };
        segments.push(Segment { name, nth });
        match after.strip_prefix('.') {
            Some(next) => rest = next,
            None if after.is_empty() => return Ok(segments),
            None => return Err(wrong("after a closing backquote a dot is expected")),
        }
    }
}

/// Names near to a wrong one, nearest first, at most three.
pub(super) fn similar<'a>(wrong: &str, names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let wrong = wrong.to_lowercase();
    let allowed = (wrong.chars().count() / 3).max(1);
    let mut near: Vec<_> = names
        .map(|name| (distance(&wrong, &name.to_lowercase(), allowed), name))
        .filter(|(distance, _)| *distance <= allowed)
        .collect();
    near.sort();
    near.truncate(3);
    near.into_iter().map(|(_, name)| name).collect()
}

/// Edits between two words, or more than `most` where that is certain.
fn distance(a: &str, b: &str, most: usize) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    if a.len().abs_diff(b.len()) > most {
        return most + 1;
    }
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let change = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = change.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(path: &str) -> Vec<(String, usize)> {
        parse(path).unwrap().into_iter().map(|s| (s.name, s.nth)).collect()
    }

    #[test]
    fn paths_split_at_dots_outside_backquotes() {
        assert_eq!(names("a.b"), [("a".into(), 1), ("b".into(), 1)]);
        assert_eq!(names("`a.b`.c"), [("a.b".into(), 1), ("c".into(), 1)]);
        assert_eq!(names("`x``y`#2"), [("x`y".into(), 2)]);
        assert_eq!(names("``"), [(String::new(), 1)]);
        for wrong in ["", "a.", ".a", "`a", "a#0", "`a`b"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn segments_are_quoted_only_where_needed_and_read_back() {
        for name in ["a", "a.b", "", "ünï`cødé", "x y\"z"] {
            assert_eq!(names(&quoted(name)), [(name.to_owned(), 1)]);
        }
        let mut siblings = Siblings::default();
        assert_eq!((siblings.segment("a"), siblings.segment("a")), ("a".into(), "a#2".into()));
    }

    #[test]
    fn near_names_are_found() {
        assert_eq!(similar("carier", ["carrier", "origin"].into_iter()), ["carrier"]);
        assert!(similar("zzz", ["carrier"].into_iter()).is_empty());
    }
}
