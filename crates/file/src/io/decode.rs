//! The sans-I/O contract: a decoder asks for byte ranges until it is done.

use std::ops::Range;

use crate::{Result, io::Segments};

/// What a decoder answers to the bytes it was given so far.
#[derive(Debug)]
pub enum Step<T> {
    /// These ranges of the file are missing: absolute, half-open, never empty, inside the file.
    Need(Vec<Range<u64>>),
    /// The value; the decoder is spent.
    Done(T),
}

/// A value that knows what it wants to become, and which bytes that takes.
///
/// Inside a decoder there is no clock, thread, callback or file. The laws: what it asked for and was
/// given it does not ask for again; the number of rounds is bounded; how the bytes are cut into
/// segments does not change the result; any bytes lead to `Done`, `Need` or an error.
pub trait Decode {
    /// What the decoder becomes.
    type Output;

    /// Goes as far as `segments` allow. Must not be called after `Done` or an error.
    fn step(&mut self, segments: &Segments) -> Result<Step<Self::Output>>;
}

impl<D: Decode + ?Sized> Decode for Box<D> {
    type Output = D::Output;

    fn step(&mut self, segments: &Segments) -> Result<Step<Self::Output>> {
        (**self).step(segments)
    }
}

/// Several decoders side by side: as many rounds as the deepest of them. See [`join`].
pub struct Join<D: Decode> {
    children: Vec<Child<D>>,
}

enum Child<D: Decode> {
    Running(D),
    Done(D::Output),
    Taken,
}

/// Runs decoders side by side and unites what they need; the output keeps their order.
pub fn join<D: Decode>(decoders: Vec<D>) -> Join<D> {
    Join { children: decoders.into_iter().map(Child::Running).collect() }
}

impl<D: Decode> std::fmt::Debug for Join<D> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Join").field("children", &self.children.len()).finish()
    }
}

impl<D: Decode> Decode for Join<D> {
    type Output = Vec<D::Output>;

    fn step(&mut self, segments: &Segments) -> Result<Step<Self::Output>> {
        let mut need = Vec::new();
        for child in &mut self.children {
            if let Child::Running(decoder) = child {
                match decoder.step(segments)? {
                    Step::Need(ranges) => need.extend(ranges),
                    Step::Done(value) => *child = Child::Done(value),
                }
            }
        }
        if !need.is_empty() || self.children.iter().any(|c| matches!(c, Child::Running(_))) {
            return Ok(Step::Need(need));
        }
        let taken = self.children.iter_mut().filter_map(|c| match std::mem::replace(c, Child::Taken) {
            Child::Done(value) => Some(value),
            Child::Running(_) | Child::Taken => None,
        });
        Ok(Step::Done(taken.collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;

    /// Follows `hops` pointers of one byte each.
    struct Chase {
        at: u64,
        hops: usize,
    }

    impl Decode for Chase {
        type Output = u64;

        fn step(&mut self, segments: &Segments) -> Result<Step<u64>> {
            while self.hops > 0 {
                let range = self.at..self.at + 1;
                let Some(byte) = segments.slice(&range) else { return Ok(Step::Need(vec![range])) };
                self.at = u64::from(byte[0]);
                self.hops -= 1;
            }
            Ok(Step::Done(self.at))
        }
    }

    #[test]
    fn a_join_takes_as_many_rounds_as_its_deepest_child() {
        let file: Vec<u8> = vec![3, 4, 0, 5, 6, 7, 8, 9, 0, 1];
        let mut decoder =
            join(vec![Chase { at: 0, hops: 2 }, Chase { at: 1, hops: 3 }, Chase { at: 9, hops: 0 }]);
        let mut segments = Segments::new();
        let mut rounds = 0;
        let out = loop {
            match decoder.step(&segments).unwrap() {
                Step::Done(out) => break out,
                Step::Need(ranges) => {
                    rounds += 1;
                    for r in ranges {
                        let bytes = Bytes::copy_from_slice(&file[r.start as usize..r.end as usize]);
                        segments.insert(r.start, bytes);
                    }
                }
            }
        };
        assert_eq!((out, rounds), (vec![5, 8, 9], 3));
    }
}
