//! Counting the rows that pass a predicate: its columns are read, and no others.

use std::ops::Range;

use super::batches::Scan;
use super::filtered::{bound, prefer_mapping};
use super::parallel::Workers;
use crate::Result;
use crate::filter::Predicate;
use crate::read::File;

impl Scan {
    /// Counts the rows that the scan would hand out. With a filter its columns are read, without one nothing is.
    ///
    /// # Errors
    /// Those of [`batches`](Self::batches), and what reading meets.
    pub fn count(mut self) -> Result<u64> {
        self.check_rows()?;
        let Some(predicate) = self.filter.take() else {
            return Ok((self.rows.end - self.rows.start).min(self.limit));
        };
        let (tests, bound) = bound(&self, &predicate)?;
        prefer_mapping(&self);
        let step = (self.batch_rows as u64).min(tests.rows_for(self.rows.start, self.batch_bytes));
        let mut left = self.rows.clone();
        let mut plan = move || {
            let task = left.start..left.end.min(left.start.saturating_add(step.saturating_mul(4)));
            left.start = task.end;
            (!task.is_empty()).then_some(task)
        };
        let budget = self.batch_bytes;
        let run = move |task: &Range<u64>| {
            let (mut at, mut count) = (task.start, 0);
            while at < task.end {
                let (batch, rows) = tests.read_batch(at..task.end.min(at.saturating_add(step)), budget)?;
                count += bound.evaluate(&batch)?.count_set_bits() as u64;
                at += rows;
            }
            Ok(count)
        };
        let mut total = 0u64;
        if self.threads > 1 && self.rows.end - self.rows.start > step {
            let mut workers = Workers::start(plan, run, self.threads);
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
