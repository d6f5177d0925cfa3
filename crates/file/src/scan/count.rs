//! Counting the rows that pass a predicate: its columns are read where statistics do not tell, and no others.

use std::ops::Range;

use super::batches::Scan;
use super::filtered::bound;
use super::parallel::Workers;
use super::zones::{Outlook, Pieces};
use crate::Result;
use crate::filter::Predicate;
use crate::read::File;

impl Scan {
    /// Counts the rows that the scan would hand out. With a filter its columns are read where statistics do not tell,
    /// without one nothing is.
    ///
    /// # Errors
    /// Those of [`batches`](Self::batches), and what reading meets.
    pub fn count(mut self) -> Result<u64> {
        self.check_rows()?;
        let Some(predicate) = self.filter.take() else {
            return Ok((self.rows.end - self.rows.start).min(self.limit));
        };
        let (mut tests, bound) = bound(&self, &predicate)?;
        let outlook = Outlook::of(&self, &tests, &bound)?;
        let mut total = outlook.num_passing();
        let num_left = outlook.num_rows() - total;
        let mut left = Pieces::new(outlook.stretches.into_iter().filter(|s| !s.passes));
        let Some((first, _)) = left.first() else { return Ok(total.min(self.limit)) };
        tests.prefer_mapping(first, num_left, true);
        let budget = self.budget(&tests);
        let step = (self.batch_rows as u64).min(tests.rows_for(first, budget));
        let mut plan = move || left.next(step.saturating_mul(4)).map(|piece| piece.rows);
        let run = move |task: &Vec<Range<u64>>| {
            let mut count = 0;
            for range in task {
                let mut at = range.start;
                while at < range.end {
                    let (batch, rows) =
                        tests.read_batch(at..range.end.min(at.saturating_add(step)), budget)?;
                    count += bound.evaluate(&batch)?.count_set_bits() as u64;
                    at += rows;
                }
            }
            Ok(count)
        };
        let threads = self.most_threads();
        if threads > 1 && num_left > step && total < self.limit {
            let mut workers = Workers::start(plan, run, threads);
            while total < self.limit
                && let Some((count, _)) = workers.next()
            {
                total += count?;
            }
        } else {
            while total < self.limit
                && let Some(task) = plan()
            {
                total += run(&task)?;
            }
        }
        Ok(total.min(self.limit))
    }
}

impl File {
    /// Counts the rows for which a predicate is TRUE, all without one.
    ///
    /// # Errors
    /// A predicate that does not fit the file, and what reading meets.
    pub fn count_rows(&self, filter: Option<&Predicate>) -> Result<u64> {
        match filter {
            Some(predicate) => self.scan().filter(predicate.clone()).count(),
            None => Ok(self.num_rows()),
        }
    }
}
