//! Definition levels of a page to those of its column.
//!
//! ```text
//! table    0 2 3             level 1 of the page is level 2 of the column
//! steps      2 1             a level is the sum of the steps up to it: additions, which run on vectors, and no look-up
//! ```

use std::ops::Deref;

/// Steps that are added on vectors.
const STEPS: usize = 7;

/// For each definition level of a page the level of its column, ascending.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Translation {
    table: Vec<u16>,
    /// From each level to the next, where there are so few.
    steps: Option<[u16; STEPS]>,
    is_identity: bool,
}

impl Translation {
    /// `table` begins with 0 and ascends.
    pub(super) fn new(table: Vec<u16>) -> Self {
        debug_assert!(table.first() == Some(&0) && table.is_sorted());
        let steps = (table.len() <= STEPS + 1).then(|| {
            let mut steps = [0; STEPS];
            for (step, pair) in steps.iter_mut().zip(table.windows(2)) {
                *step = pair[1] - pair[0];
            }
            steps
        });
        let is_identity = table.iter().enumerate().all(|(i, level)| usize::from(*level) == i);
        Self { table, steps, is_identity }
    }

    /// Appends levels of the page, none above its highest, to `out` as levels of the column.
    pub(crate) fn append(&self, levels: &[u16], out: &mut Vec<u16>) {
        debug_assert!(levels.iter().all(|level| usize::from(*level) < self.table.len()));
        if self.is_identity {
            out.extend_from_slice(levels);
            return;
        }
        match self.steps {
            Some(steps) => out.extend(levels.iter().map(|level| {
                let reached = |(i, step): (usize, &u16)| if usize::from(*level) > i { *step } else { 0 };
                steps.iter().enumerate().map(reached).sum::<u16>()
            })),
            None => out.extend(levels.iter().map(|level| self.table[usize::from(*level)])),
        }
    }
}

impl Deref for Translation {
    type Target = [u16];

    fn deref(&self) -> &[u16] {
        &self.table
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_translated_as_the_table_says() {
        for table in
            [vec![0], vec![0, 1, 2], vec![0, 2, 3], vec![0, 1, 3, 4, 9], (0..20).map(|i| i * 2).collect()]
        {
            let translation = Translation::new(table.clone());
            let levels: Vec<u16> = (0..100).map(|i| i * 7 % table.len() as u16).collect();
            let mut out = vec![5];
            translation.append(&levels, &mut out);
            let expected: Vec<u16> = levels.iter().map(|level| table[usize::from(*level)]).collect();
            assert_eq!((out[0], &out[1..]), (5, &expected[..]));
        }
    }
}
