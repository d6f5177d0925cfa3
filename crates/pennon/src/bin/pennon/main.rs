//! The pennon command.
fn main() {}
