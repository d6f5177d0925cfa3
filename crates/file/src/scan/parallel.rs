//! Tasks of a scan on threads, their results in order.
//!
//! A worker takes the next task only while it is within a window of the one the consumer waits for, so
//! batches that nobody has taken yet are bounded by the number of threads. Threads start with the scan and
//! end with it: a handle has none of its own.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use arrow_array::RecordBatch;

use super::batch::Projected;
use super::batches::Plan;
use crate::{Error, Result};

type TaskResult = Result<(RecordBatch, u64)>;

/// Threads that read ahead of a consumer.
#[derive(Debug)]
pub(super) struct Workers {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    projected: Arc<Projected>,
    state: Mutex<State>,
    /// Signals workers that the window moved, and the consumer that a result came.
    changed: Condvar,
    window: usize,
}

#[derive(Debug)]
struct State {
    plan: Plan,
    /// Number of the next task to hand out, and of the one the consumer waits for.
    next: usize,
    wanted: usize,
    results: HashMap<usize, (TaskResult, Range<u64>)>,
    exhausted: bool,
    stopped: bool,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // A worker that panicked has left the state between two whole steps.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn work(&self) {
        loop {
            let (number, task, budget) = {
                let mut state = self.lock();
                loop {
                    if state.stopped || state.exhausted {
                        return;
                    }
                    if state.next < state.wanted + self.window {
                        break;
                    }
                    state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                }
                let Some(task) = state.plan.next(&self.projected) else {
                    state.exhausted = true;
                    self.changed.notify_all();
                    return;
                };
                let number = state.next;
                state.next += 1;
                (number, task, state.plan.batch_bytes)
            };
            let read = || self.projected.read_batch(task.clone(), budget);
            let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(read))
                .unwrap_or_else(|_| Err(Error::invalid("internal: a scan's worker panicked")));
            let mut state = self.lock();
            state.results.insert(number, (result, task));
            self.changed.notify_all();
        }
    }
}

impl Workers {
    pub(super) fn start(projected: Arc<Projected>, plan: Plan, threads: usize) -> Self {
        let state =
            State { plan, next: 0, wanted: 0, results: HashMap::new(), exhausted: false, stopped: false };
        let shared = Arc::new(Shared {
            projected,
            state: Mutex::new(state),
            changed: Condvar::new(),
            window: threads + 1,
        });
        let threads = (0..threads)
            .filter_map(|i| {
                let shared = shared.clone();
                std::thread::Builder::new().name(format!("pennon-scan-{i}")).spawn(move || shared.work()).ok()
            })
            .collect();
        Self { shared, threads }
    }

    /// The result of the next task in order, with its rows; `None` when all tasks are done.
    pub(super) fn next(&mut self) -> Option<(TaskResult, Range<u64>)> {
        if self.threads.is_empty() {
            // No thread could be had: the consumer does the work.
            let mut state = self.shared.lock();
            let task = state.plan.next(&self.shared.projected)?;
            let budget = state.plan.batch_bytes;
            drop(state);
            return Some((self.shared.projected.read_batch(task.clone(), budget), task));
        }
        let mut state = self.shared.lock();
        loop {
            let wanted = state.wanted;
            if let Some(result) = state.results.remove(&wanted) {
                state.wanted += 1;
                self.shared.changed.notify_all();
                return Some(result);
            }
            if state.exhausted && wanted >= state.next {
                return None;
            }
            state = self.shared.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        self.shared.lock().stopped = true;
        self.shared.changed.notify_all();
        for thread in self.threads.drain(..) {
            // Its panic was turned into a result already.
            let _ = thread.join();
        }
    }
}
