//! Peak memory of this process, and tests that run in a process of their own.

use std::process::Command;

/// Peak resident bytes of this process so far; 0 where the system does not tell.
pub fn peak() -> u64 {
    field("VmHWM:")
}

/// Resident bytes of this process now; 0 where the system does not tell.
pub fn resident() -> u64 {
    field("VmRSS:")
}

fn field(name: &str) -> u64 {
    let Ok(text) = std::fs::read_to_string("/proc/self/status") else { return 0 };
    let line = text.lines().find_map(|l| l.strip_prefix(name));
    line.and_then(|l| l.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok()).map_or(0, |kib| kib * 1024)
}

/// Whether this process was started to run one test by itself.
pub fn is_child() -> bool {
    std::env::var_os("PENNON_CHILD").is_some()
}

/// Runs the test `name` again, alone in a process of its own, with its output shown; it must pass.
pub fn in_child(name: &str) {
    let exe = std::env::current_exe().expect("the test binary");
    let out = Command::new(exe)
        .args(["--exact", name, "--nocapture", "--test-threads=1"])
        .env("PENNON_CHILD", "1")
        .output()
        .expect("the test binary starts");
    let text = String::from_utf8_lossy(&out.stdout);
    // The first line that a test prints stands behind its name.
    let lines = text.lines().map(|l| l.split_once(" ... ").map_or(l, |(_, rest)| rest));
    lines.filter(|l| l.contains(": ") && !l.starts_with("test result")).for_each(|l| println!("{l}"));
    assert!(
        out.status.success(),
        "{name} failed in its own process:\n{text}\n{}",
        String::from_utf8_lossy(&out.stderr)
    );
}
