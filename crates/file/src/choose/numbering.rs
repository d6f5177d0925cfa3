//! Numbers for different values, in the order in which they are first seen.
//!
//! ```text
//! words in a narrow range   a table with a place for every word of the range
//! other words               a hash table of words
//! strings                   a hash table of hashes; the first value of a number tells whether it is the same string
//! ```

use crate::encoding::hash::{head, of_bytes, of_pair, of_short, of_word};

/// A number for every value.
pub(super) struct Numbered {
    pub(super) numbers: Vec<u32>,
    /// Of every number the first value that has it.
    pub(super) firsts: Vec<usize>,
}

/// A place that no number has.
const NONE: u32 = u32::MAX;
/// Places of a table over a range at most, and as many for each value.
const RANGE: u64 = 1 << 20;
const RANGE_PER_VALUE: u64 = 2;
/// Places of a hash table to begin with.
const PLACES: usize = 1 << 10;

/// Words that numbers are looked up by.
pub(super) trait Word: Copy + Eq + Default {
    fn hash(self) -> u64;
    /// As an integer, if it goes into 64 bits.
    fn small(self) -> Option<u64>;
}

impl Word for u64 {
    fn hash(self) -> u64 {
        of_word(self)
    }

    fn small(self) -> Option<u64> {
        Some(self)
    }
}

impl Word for u128 {
    fn hash(self) -> u64 {
        of_pair(self as u64, (self >> 64) as u64)
    }

    fn small(self) -> Option<u64> {
        u64::try_from(self).ok()
    }
}

/// Numbers the words `word(i)` of those `i` below `len` that are valid, while `goes_on(i, numbers so far)` agrees whenever there is a new
/// one. What is not valid has the number of the value before.
pub(super) fn of_words<W: Word>(
    len: usize,
    is_valid: impl Fn(usize) -> bool,
    word: impl Fn(usize) -> W,
    goes_on: impl FnMut(usize, usize) -> bool,
) -> Option<Numbered> {
    let (mut least, mut most) = (u64::MAX, 0);
    let mut small = true;
    for i in 0..len {
        match word(i).small() {
            Some(word) => {
                least = least.min(word);
                most = most.max(word);
            }
            None => small = false,
        }
    }
    if small && most >= least && most - least < RANGE.min(RANGE_PER_VALUE * len as u64) {
        let mut table = vec![NONE; (most - least) as usize + 1];
        let place = |i: usize| word(i).small().map_or(0, |word| (word - least) as usize);
        return number(len, is_valid, goes_on, |i, next| {
            // Under nulls stand words of the same range.
            let slot = &mut table[place(i)];
            if *slot == NONE {
                *slot = next;
            }
            *slot
        });
    }
    if small {
        let mut table = Words::new(len / 8);
        let word = |i: usize| word(i).small().unwrap_or_default();
        return number(len, is_valid, goes_on, |i, next| table.find_or_add(word(i), next));
    }
    let mut table = Words::new(len / 8);
    number(len, is_valid, goes_on, |i, next| table.find_or_add(word(i), next))
}

/// The same for strings, which lie at `place(i)` of `data`; `goes_on(i, numbers so far)`.
pub(super) fn of_strings(
    len: usize,
    is_valid: impl Fn(usize) -> bool,
    data: &[u8],
    place: impl Fn(usize) -> (usize, usize),
    mut goes_on: impl FnMut(usize, usize) -> bool,
) -> Option<Numbered> {
    let mut table = Strings { places: vec![(0, NONE); PLACES], used: 0 };
    // The beginning of each, which is all of short ones.
    let mut strings: Vec<(u64, &[u8])> = Vec::new();
    let (mut before, mut current): ((u64, &[u8]), u32) = ((0, &[]), NONE);
    number(len, is_valid, &mut goes_on, |i, next| {
        let (start, end) = place(i);
        let value = (head(data, start, end), &data[start..end]);
        let is = |other: &(u64, &[u8])| {
            other.0 == value.0 && other.1.len() == value.1.len() && (value.1.len() <= 8 || other.1 == value.1)
        };
        if current != NONE && is(&before) {
            return current;
        }
        let hash = if value.1.len() <= 8 { of_short(value.0, value.1.len()) } else { of_bytes(value.1) };
        let found = table.find_or_add(hash, next, |number| is(&strings[number as usize]));
        if found == next {
            strings.push(value);
        }
        (before, current) = (value, found);
        found
    })
}

/// `find(i, next)` gives the number of value `i`, `next` if it is new.
fn number(
    len: usize,
    is_valid: impl Fn(usize) -> bool,
    mut goes_on: impl FnMut(usize, usize) -> bool,
    mut find: impl FnMut(usize, u32) -> u32,
) -> Option<Numbered> {
    let mut numbers = Vec::with_capacity(len);
    let mut firsts = Vec::new();
    let mut current = 0;
    for i in 0..len {
        if is_valid(i) {
            let next = firsts.len() as u32;
            current = find(i, next);
            if current == next {
                firsts.push(i);
                if !goes_on(i, firsts.len()) {
                    return None;
                }
            }
        }
        numbers.push(current);
    }
    Some(Numbered { numbers, firsts })
}

/// Open addressing; at most half of the places are taken.
struct Words<W> {
    /// Words and their numbers; `NONE` where a place is free.
    places: Vec<(W, u32)>,
    used: usize,
}

impl<W: Word> Words<W> {
    /// With room for about `some`.
    fn new(some: usize) -> Self {
        Self { places: vec![(W::default(), NONE); PLACES.max(some).next_power_of_two()], used: 0 }
    }

    #[inline]
    fn find_or_add(&mut self, word: W, next: u32) -> u32 {
        let mask = self.places.len() - 1;
        let mut at = word.hash() as usize & mask;
        loop {
            let (found, number) = self.places[at & mask];
            if number == NONE {
                break;
            }
            if found == word {
                return number;
            }
            at = (at + 1) & mask;
        }
        self.places[at] = (word, next);
        self.used += 1;
        if self.used * 2 > self.places.len() {
            self.grow();
        }
        next
    }

    fn grow(&mut self) {
        let size = self.places.len() * 4;
        let old = std::mem::replace(&mut self.places, vec![(W::default(), NONE); size]);
        for (word, number) in old.into_iter().filter(|(_, number)| *number != NONE) {
            let mut at = word.hash() as usize & (size - 1);
            while self.places[at].1 != NONE {
                at = (at + 1) & (size - 1);
            }
            self.places[at] = (word, number);
        }
    }
}

/// The same with hashes in the place of what is looked up.
struct Strings {
    places: Vec<(u64, u32)>,
    used: usize,
}

impl Strings {
    fn find_or_add(&mut self, hash: u64, next: u32, is: impl Fn(u32) -> bool) -> u32 {
        let mask = self.places.len() - 1;
        let mut at = hash as usize & mask;
        loop {
            match self.places[at] {
                (_, NONE) => break,
                (found, number) if found == hash && is(number) => return number,
                _ => at = (at + 1) & mask,
            }
        }
        self.places[at] = (hash, next);
        self.used += 1;
        if self.used * 2 > self.places.len() {
            let size = self.places.len() * 4;
            let old = std::mem::replace(&mut self.places, vec![(0, NONE); size]);
            for (hash, number) in old.into_iter().filter(|(_, number)| *number != NONE) {
                let mut at = hash as usize & (size - 1);
                while self.places[at].1 != NONE {
                    at = (at + 1) & (size - 1);
                }
                self.places[at] = (hash, number);
            }
        }
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    fn check<T: std::hash::Hash + Eq + Copy>(values: &[T], valid: &[bool], found: &Numbered) {
        let mut seen: HashMap<T, u32> = HashMap::new();
        let mut firsts = Vec::new();
        let mut current = 0;
        for (i, value) in values.iter().enumerate() {
            if valid[i] {
                let next = firsts.len() as u32;
                current = *seen.entry(*value).or_insert(next);
                if current == next {
                    firsts.push(i);
                }
            }
            assert_eq!(found.numbers[i], current, "value {i}");
        }
        assert_eq!(found.firsts, firsts);
    }

    #[test]
    fn words_and_strings_are_numbered_as_a_map_numbers_them() {
        let mut seed = 1u64;
        let mut next = |below: u64| {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (seed >> 33) % below
        };
        for (len, range, step) in
            [(0, 1, 1), (1, 1, 9), (5000, 7, 1 << 40), (5000, 100_000, 1), (5000, 4000, 3), (9, 2, 1)]
        {
            let words: Vec<u64> = (0..len).map(|_| next(range) * step).collect();
            let valid: Vec<bool> = (0..len).map(|_| next(4) > 0).collect();
            check(&words, &valid, &of_words(len, |i| valid[i], |i| words[i], |_, _| true).unwrap());
            let wide: Vec<u128> = words.iter().map(|w| u128::from(*w) << 60).collect();
            check(&wide, &valid, &of_words(len, |i| valid[i], |i| wide[i], |_, _| true).unwrap());
            let texts: Vec<String> = words.iter().map(|w| w.to_string().repeat((w % 5) as usize)).collect();
            let data = texts.concat().into_bytes();
            let ends: Vec<usize> = texts
                .iter()
                .scan(0, |end, text| {
                    *end += text.len();
                    Some(*end)
                })
                .collect();
            let place = |i: usize| (ends[i] - texts[i].len(), ends[i]);
            let texts: Vec<&[u8]> = texts.iter().map(|t| t.as_bytes()).collect();
            check(&texts, &valid, &of_strings(len, |i| valid[i], &data, place, |_, _| true).unwrap());
        }
    }

    #[test]
    fn it_stops_when_told_to() {
        let words: Vec<u64> = (0..100).map(|i| i / 2 * 1_000_003).collect();
        let mut told = Vec::new();
        let found = of_words(
            100,
            |_| true,
            |i| words[i],
            |i, numbers| {
                told.push((i, numbers));
                numbers < 3
            },
        );
        assert!(found.is_none());
        assert_eq!(told, [(0, 1), (2, 2), (4, 3)]);
    }
}
