//! Threads of writers. A thread pool does not survive a fork: the child has the pool's memory and none of its threads, and
//! would wait for them for ever. So writers use a pool of this module, which is made anew in each process.

use std::sync::{Arc, Mutex, PoisonError};

use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

struct Owned {
    process: u32,
    pool: Arc<ThreadPool>,
}

static POOL: Mutex<Option<Owned>> = Mutex::new(None);

/// The pool of this process, made at the first call; `None` if no thread can be had. The interpreter lock is held while the
/// mutex is, so that no fork falls between its lock and its unlock.
pub(crate) fn pool(_py: Python<'_>) -> Option<Arc<ThreadPool>> {
    let mut owned = POOL.lock().unwrap_or_else(PoisonError::into_inner);
    let process = std::process::id();
    match owned.take() {
        Some(found) if found.process == process => *owned = Some(found),
        // The threads that it would end are not in this process.
        Some(foreign) => std::mem::forget(foreign),
        None => {}
    }
    if owned.is_none() {
        let made = ThreadPoolBuilder::new().thread_name(|i| format!("pennon-write-{i}")).build().ok()?;
        *owned = Some(Owned { process, pool: Arc::new(made) });
    }
    owned.as_ref().map(|o| o.pool.clone())
}

/// Runs `work` on threads of the pool.
pub(crate) fn within<T: Send>(pool: Option<&ThreadPool>, work: impl FnOnce() -> T + Send) -> T {
    match pool {
        Some(pool) => pool.install(work),
        None => work(),
    }
}
