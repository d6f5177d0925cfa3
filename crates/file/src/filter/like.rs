//! Patterns of LIKE: `%` is any text, `_` is one character (a Unicode scalar value).
//!
//! ```text
//! ab_%_c_d%ef__%_g     start  a b _      what the text begins with
//!                      steps  Skip 1     between two %, each as early as it can be
//!                             Holes c_d
//!                             Text ef
//!                             Skip 2
//!                      end    _ g        what the rest ends with
//! ```
//!
//! A step that is done as early as can be leaves the most for those after it, so none is tried twice.

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
    Steps(Steps),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    One(char),
    AnyOne,
    Any,
}

impl Part {
    fn takes(self, c: char) -> bool {
        self == Self::AnyOne || self == Self::One(c)
    }
}

impl Pattern {
    /// `None` if the escape character stands before something that needs none.
    pub(crate) fn new(pattern: &str, escape: Option<char>) -> Option<Self> {
        let parts = parts(pattern, escape)?;
        let starts = parts.first() == Some(&Part::Any);
        let ends = parts.last() == Some(&Part::Any);
        let inner = parts.get(usize::from(starts)..parts.len() - usize::from(ends)).unwrap_or_default();
        Some(match (text_of(inner), starts, ends) {
            (Some(text), false, false) => Self::Exact(text),
            (Some(text), false, true) => Self::Prefix(text),
            // `%` alone begins and ends with the same part.
            (Some(_), true, true) if parts.len() == 1 => Self::Prefix(String::new()),
            (Some(text), true, false) => Self::Suffix(text),
            (Some(text), true, true) => Self::Inside(text),
            (None, ..) => Self::Steps(Steps::new(&parts)),
        })
    }

    /// Whether one text is what the pattern says.
    pub(super) fn matches(&self, text: &str) -> bool {
        match self {
            Self::Exact(t) => text == t,
            Self::Prefix(t) => text.starts_with(t.as_str()),
            Self::Suffix(t) => text.ends_with(t.as_str()),
            Self::Inside(t) => text.contains(t.as_str()),
            Self::Steps(steps) => steps.matches(text, &mut Vec::new()),
        }
    }
}

/// A pattern in parts, with no two `%` side by side.
fn parts(pattern: &str, escape: Option<char>) -> Option<Vec<Part>> {
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
    Some(parts)
}

/// The text that the parts are; `None` if it can be another.
fn text_of(parts: &[Part]) -> Option<String> {
    let one = |part: &Part| match part {
        Part::One(c) => Some(*c),
        _ => None,
    };
    parts.iter().map(one).collect()
}

/// A pattern cut at each `%`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Steps {
    start: Vec<Part>,
    steps: Vec<Step>,
    /// `None` if there is no `%`, and the start is all.
    end: Option<Vec<Part>>,
}

/// What is passed over between two `%`.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    /// So many characters.
    Skip(usize),
    /// All up to the end of a text.
    Text(String),
    /// All up to the end of characters some of which may be any.
    Holes(Holes),
}

impl Steps {
    fn new(parts: &[Part]) -> Self {
        let mut pieces = parts.split(|part| *part == Part::Any);
        let start = pieces.next().unwrap_or_default().to_vec();
        let end = pieces.next_back().map(<[Part]>::to_vec);
        let mut steps = Vec::new();
        for piece in pieces {
            // Beside a `%` it makes no difference where a `_` takes its character.
            let is_one = |part: &Part| *part != Part::AnyOne;
            let first = piece.iter().position(is_one).unwrap_or(piece.len());
            let last = piece.iter().rposition(is_one).map_or(first, |at| at + 1);
            let found = &piece[first..last];
            steps.push(Step::Skip(first));
            steps.push(text_of(found).map_or_else(|| Step::Holes(Holes::new(found)), Step::Text));
            steps.push(Step::Skip(piece.len() - last));
        }
        Self { start, steps, end }
    }

    /// What every text begins with that the pattern says.
    pub(super) fn prefix(&self) -> String {
        let one = |part: &Part| match part {
            Part::One(c) => Some(*c),
            _ => None,
        };
        self.start.iter().map_while(one).collect()
    }

    /// Whether a whole text is what the pattern says. `state` is memory, whatever is in it.
    pub(super) fn matches(&self, text: &str, state: &mut Vec<u64>) -> bool {
        self.rest(text, state).is_some()
    }

    /// What the last `%` stands for.
    fn rest<'t>(&self, text: &'t str, state: &mut Vec<u64>) -> Option<&'t str> {
        let mut rest = text.chars();
        for part in &self.start {
            rest.next().filter(|c| part.takes(*c))?;
        }
        let Some(end) = &self.end else { return rest.as_str().is_empty().then_some("") };
        for part in end.iter().rev() {
            rest.next_back().filter(|c| part.takes(*c))?;
        }
        let mut rest = rest.as_str();
        for step in &self.steps {
            rest = match step {
                Step::Skip(0) => rest,
                Step::Skip(count) => {
                    let (at, last) = rest.char_indices().nth(count - 1)?;
                    &rest[at + last.len_utf8()..]
                }
                Step::Text(text) => &rest[rest.find(text.as_str())? + text.len()..],
                Step::Holes(holes) => holes.after(rest, state)?,
            };
        }
        Some(rest)
    }
}

/// Characters some of which may be any, looked for in all places at once: bit `i` of the state is set if the text read so
/// far ends with the first `i + 1` of them. A text costs its length times the number of blocks at most.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Holes {
    blocks: Vec<Block>,
    /// The bit of the last character, in the last block.
    last: u64,
}

/// Which of 64 characters a character can be, a bit for each.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Block {
    ascii: [u64; 128],
    /// Those beyond, ascending.
    others: Vec<(char, u64)>,
    any: u64,
}

impl Holes {
    fn new(parts: &[Part]) -> Self {
        let blocks = parts.chunks(64).map(Block::new).collect();
        Self { blocks, last: 1 << ((parts.len().max(1) - 1) % 64) }
    }

    /// What follows the first place that fits.
    fn after<'t>(&self, text: &'t str, state: &mut Vec<u64>) -> Option<&'t str> {
        state.clear();
        state.resize(self.blocks.len(), 0);
        for (at, c) in text.char_indices() {
            let mut carry = 1;
            for (block, word) in self.blocks.iter().zip(state.iter_mut()) {
                let next = *word << 1 | carry;
                carry = *word >> 63;
                *word = if next == 0 { 0 } else { next & block.of(c) };
            }
            if state.last().is_some_and(|word| word & self.last != 0) {
                return Some(&text[at + c.len_utf8()..]);
            }
        }
        None
    }
}

impl Block {
    fn new(parts: &[Part]) -> Self {
        let bits = |wanted: Part| {
            parts.iter().enumerate().filter(|(_, p)| **p == wanted).fold(0, |bits, (i, _)| bits | 1 << i)
        };
        let any = bits(Part::AnyOne);
        let mut block = Self { ascii: [any; 128], others: Vec::new(), any };
        for part in parts {
            let Part::One(c) = *part else { continue };
            match block.ascii.get_mut(c as usize) {
                Some(ascii) => *ascii = any | bits(*part),
                None => block.others.push((c, any | bits(*part))),
            }
        }
        block.others.sort_unstable();
        block.others.dedup();
        block
    }

    fn of(&self, c: char) -> u64 {
        match self.ascii.get(c as usize) {
            Some(bits) => *bits,
            None => match self.others.binary_search_by_key(&c, |(other, _)| *other) {
                Ok(at) => self.others[at].1,
                Err(_) => self.any,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The definition: the places of the text up to which the parts so far can reach.
    fn oracle(pattern: &str, text: &str) -> bool {
        let text: Vec<char> = text.chars().collect();
        let mut reached = vec![false; text.len() + 1];
        reached[0] = true;
        for part in pattern.chars() {
            reached = (0..=text.len())
                .map(|at| match part {
                    '%' => reached[..=at].contains(&true),
                    _ => at > 0 && reached[at - 1] && (part == '_' || part == text[at - 1]),
                })
                .collect();
        }
        reached[text.len()]
    }

    fn check(pattern: &str, text: &str, state: &mut Vec<u64>) {
        let expected = oracle(pattern, text);
        let found = Pattern::new(pattern, None).expect("no escape").matches(text);
        assert_eq!(found, expected, "{text} LIKE {pattern}");
        let steps = Steps::new(&parts(pattern, None).expect("no escape"));
        assert_eq!(steps.matches(text, state), expected, "{text} LIKE {pattern} in steps");
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
        let mut state = Vec::new();
        for pattern in all(&['ä', 'b', '%', '_'], 5) {
            for text in all(&['ä', 'b'], 5) {
                check(&pattern, &text, &mut state);
            }
        }
    }

    /// Characters of every length, most of them alike; from such the text may be made that a pattern wants.
    fn long_pattern() -> impl Strategy<Value = Vec<String>> {
        let part = prop_oneof![
            6 => prop::sample::select(vec!["a", "a_", "_a", "ab", "é", "🦉_", "_"]),
            1 => Just("%"),
        ];
        let run = (part, 1usize..90).prop_map(|(part, count)| part.repeat(count));
        prop::collection::vec(run, 1..6)
    }

    proptest! {
        #[test]
        fn long_patterns_match_what_their_definition_says(
            pattern in long_pattern(),
            filler in prop::sample::select(vec!["", "a", "b", "aa", "🦉é", "aab"]),
            hole in prop::sample::select(vec!["a", "b", "é", "🦉"]),
            changed in prop::option::of((any::<prop::sample::Index>(), prop::sample::select(vec!['a', 'b', '🦉']))),
        ) {
            let pattern = pattern.concat();
            // A text that matches, and one that differs from it in a character.
            let text = pattern.replace('%', filler).replace('_', hole);
            let mut state = vec![7; 3];
            check(&pattern, &text, &mut state);
            if let Some((at, c)) = changed && !text.is_empty() {
                let mut chars: Vec<char> = text.chars().collect();
                let at = at.index(chars.len());
                chars[at] = c;
                check(&pattern, &chars.into_iter().collect::<String>(), &mut state);
            }
        }
    }

    #[test]
    fn a_long_pattern_of_holes_is_not_tried_anew_at_every_place() {
        let pattern = format!("%{}c%", "a_".repeat(5000));
        let text = "a".repeat(1 << 20);
        let Some(Pattern::Steps(steps)) = Pattern::new(&pattern, None) else { panic!("{pattern}") };
        // Each of the characters is looked at once for each of the blocks.
        let [_, Step::Holes(holes), _] = &steps.steps[..] else { panic!("{:?}", steps.steps) };
        assert_eq!(holes.blocks.len(), 10_001_usize.div_ceil(64));
        let mut state = Vec::new();
        assert!(!steps.matches(&text, &mut state));
        assert!(steps.matches(&format!("{text}c"), &mut state));
    }

    #[test]
    fn an_escaped_sign_stands_for_itself() {
        assert_eq!(Pattern::new("100!%", Some('!')), Some(Pattern::Exact("100%".into())));
        assert_eq!(Pattern::new("!!%", Some('!')), Some(Pattern::Prefix("!".into())));
        assert_eq!((Pattern::new("!a", Some('!')), Pattern::new("a!", Some('!'))), (None, None));
    }
}
