//! Tasks of a scan on threads, their results in order.
//!
//! A worker takes the next task only while it is within a window of the one the consumer waits for, so
//! batches that nobody has taken yet are bounded by the number of threads. Threads start with the scan and
//! end with it: a handle has none of its own.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use crate::{Error, Result};

/// Threads that read ahead of a consumer: tasks `T` to results `R`.
pub(super) struct Workers<T, R> {
    shared: Arc<Shared<T, R>>,
    threads: Vec<JoinHandle<()>>,
}

/// Does one task.
type Run<T, R> = dyn Fn(&T) -> Result<R> + Send + Sync;

struct Shared<T, R> {
    run: Box<Run<T, R>>,
    state: Mutex<State<T, R>>,
    /// Signals workers that the window moved, and the consumer that a result came.
    changed: Condvar,
    window: usize,
}

struct State<T, R> {
    plan: Box<dyn FnMut() -> Option<T> + Send>,
    /// Number of the next task to hand out, and of the one the consumer waits for.
    next: usize,
    wanted: usize,
    results: HashMap<usize, (Result<R>, T)>,
    exhausted: bool,
    stopped: bool,
}

impl<T, R> Shared<T, R> {
    fn lock(&self) -> MutexGuard<'_, State<T, R>> {
        // A worker that panicked has left the state between two whole steps.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn work(&self) {
        loop {
            let (number, task) = {
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
                let Some(task) = (state.plan)() else {
                    state.exhausted = true;
                    self.changed.notify_all();
                    return;
                };
                let number = state.next;
                state.next += 1;
                (number, task)
            };
            let read = || (self.run)(&task);
            let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(read))
                .unwrap_or_else(|_| Err(Error::invalid("internal: a scan's worker panicked")));
            let mut state = self.lock();
            state.results.insert(number, (result, task));
            self.changed.notify_all();
        }
    }
}

impl<T: Send + 'static, R: Send + 'static> Workers<T, R> {
    /// `plan` tells the tasks one after the other, `run` does one.
    pub(super) fn start(
        plan: impl FnMut() -> Option<T> + Send + 'static,
        run: impl Fn(&T) -> Result<R> + Send + Sync + 'static,
        threads: usize,
    ) -> Self {
        let state = State {
            plan: Box::new(plan),
            next: 0,
            wanted: 0,
            results: HashMap::new(),
            exhausted: false,
            stopped: false,
        };
        let shared = Arc::new(Shared {
            run: Box::new(run),
            state: Mutex::new(state),
            changed: Condvar::new(),
            window: threads.saturating_add(1),
        });
        let threads = (0..threads)
            .filter_map(|i| {
                let shared = shared.clone();
                std::thread::Builder::new().name(format!("pennon-scan-{i}")).spawn(move || shared.work()).ok()
            })
            .collect();
        Self { shared, threads }
    }

    /// The result of the next task in order, with the task; `None` when all tasks are done.
    pub(super) fn next(&mut self) -> Option<(Result<R>, T)> {
        if self.threads.is_empty() {
            // No thread could be had: the consumer does the work.
            let task = (self.shared.lock().plan)()?;
            return Some(((self.shared.run)(&task), task));
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

impl<T, R> fmt::Debug for Workers<T, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Workers").field("threads", &self.threads.len()).finish_non_exhaustive()
    }
}

impl<T, R> Drop for Workers<T, R> {
    fn drop(&mut self) {
        self.shared.lock().stopped = true;
        self.shared.changed.notify_all();
        for thread in self.threads.drain(..) {
            // Its panic was turned into a result already.
            let _ = thread.join();
        }
    }
}
