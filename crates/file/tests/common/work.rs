//! Many cases on all cores, panics caught and counted as failures of their case.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Runs `check` on every item; returns the failures as (item index, text) in order.
pub fn each<T: Sync>(items: &[T], check: impl Fn(&T) -> Result<(), String> + Sync) -> Vec<(usize, String)> {
    let next = AtomicUsize::new(0);
    let failures = Mutex::new(Vec::new());
    let threads = std::thread::available_parallelism().map_or(2, usize::from).min(8);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let i = next.fetch_add(1, Ordering::Relaxed);
                    let Some(item) = items.get(i) else { return };
                    if let Err(text) = caught(|| check(item)) {
                        failures.lock().expect("no panic while held").push((i, text));
                    }
                }
            });
        }
    });
    let mut failures = failures.into_inner().expect("no panic while held");
    failures.sort();
    failures
}

/// A panic becomes an error text.
pub fn caught<T>(f: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(f)).unwrap_or_else(|panic| Err(format!("PANIC: {}", text_of(&*panic))))
}

fn text_of(panic: &(dyn Any + Send)) -> String {
    panic
        .downcast_ref::<String>()
        .cloned()
        .or_else(|| panic.downcast_ref::<&str>().map(|s| (*s).to_owned()))
        .unwrap_or_else(|| "?".to_owned())
}

/// Fails the test with the first failures, if there are any.
pub fn no_failures(what: &str, failures: &[(usize, String)], name: impl Fn(usize) -> String) {
    if failures.is_empty() {
        return;
    }
    let shown: Vec<String> =
        failures.iter().take(60).map(|(i, text)| format!("  {}: {text}", name(*i))).collect();
    panic!("{what}: {} failed\n{}", failures.len(), shown.join("\n"));
}
