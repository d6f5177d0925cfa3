//! Which of TRUE, FALSE and NULL can occur.
//!
//! ```text
//! a set of three bits: TRUE 1, FALSE 2, NULL 4
//!
//! {T, N} AND {F} = {T AND F, N AND F} = {F}
//! ```
//!
//! Sets are put together as if any outcome of the one could stand beside any of the other. That two tests look at the same
//! rows can only make fewer of them occur, so nothing that occurs is left out.

/// A set of outcomes; see the module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Outcomes(u8);

impl Outcomes {
    pub(crate) const NONE: Self = Self(0);
    pub(crate) const TRUE: Self = Self(1);
    pub(crate) const FALSE: Self = Self(2);
    pub(crate) const NULL: Self = Self(4);
    /// Any value, but not NULL.
    pub(crate) const KNOWN: Self = Self(1 | 2);
    pub(crate) const ANY: Self = Self(1 | 2 | 4);

    pub(super) fn of(value: bool) -> Self {
        if value { Self::TRUE } else { Self::FALSE }
    }

    /// `self` if `condition`, else nothing.
    pub(super) fn when(self, condition: bool) -> Self {
        if condition { self } else { Self::NONE }
    }

    /// No row is TRUE.
    pub(crate) fn excludes_true(self) -> bool {
        !self.has(Self::TRUE)
    }

    /// Every row is TRUE.
    pub(crate) fn is_only_true(self) -> bool {
        self == Self::TRUE
    }

    pub(super) fn has(self, one: Self) -> bool {
        self.0 & one.0 != 0
    }

    /// What can occur where either set is right.
    pub(super) fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(super) fn and(self, other: Self) -> Self {
        // Nothing stands beside the outcomes of no rows.
        if self == Self::NONE || other == Self::NONE {
            return Self::NONE;
        }
        let with_null = |a: Self, b: Self| a.has(Self::NULL) && b != Self::FALSE;
        let both = self.0 & other.0 & Self::TRUE.0;
        let either = (self.0 | other.0) & Self::FALSE.0;
        Self(both | either).union(Self::NULL.when(with_null(self, other) || with_null(other, self)))
    }

    pub(super) fn or(self, other: Self) -> Self {
        self.not().and(other.not()).not()
    }

    pub(super) fn not(self) -> Self {
        Self((self.0 & Self::TRUE.0) << 1 | (self.0 & Self::FALSE.0) >> 1 | self.0 & Self::NULL.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_join_to_what_their_members_join_to() {
        const VALUES: [Option<bool>; 3] = [Some(true), Some(false), None];
        let set = |values: &[Option<bool>]| {
            values.iter().fold(Outcomes::NONE, |set, v| set.union(v.map_or(Outcomes::NULL, Outcomes::of)))
        };
        let members = |bits: u8| -> Vec<Option<bool>> {
            (0..3).filter(|i| bits >> i & 1 == 1).map(|i| VALUES[i]).collect()
        };
        let and = |a: Option<bool>, b: Option<bool>| match (a, b) {
            (Some(false), _) | (_, Some(false)) => Some(false),
            (Some(true), Some(true)) => Some(true),
            _ => None,
        };
        let not = |a: Option<bool>| a.map(|a| !a);
        for a in 0..8 {
            let (left, of_left) = (set(&members(a)), members(a));
            assert_eq!(left.not(), set(&of_left.iter().map(|a| not(*a)).collect::<Vec<_>>()));
            for b in 0..8 {
                let (right, of_right) = (set(&members(b)), members(b));
                let pairs = || of_left.iter().flat_map(|a| of_right.iter().map(move |b| (*a, *b)));
                let all: Vec<_> = pairs().map(|(a, b)| and(a, b)).collect();
                assert_eq!(left.and(right), set(&all), "{left:?} AND {right:?}");
                let all: Vec<_> = pairs().map(|(a, b)| not(and(not(a), not(b)))).collect();
                assert_eq!(left.or(right), set(&all), "{left:?} OR {right:?}");
            }
        }
    }
}
