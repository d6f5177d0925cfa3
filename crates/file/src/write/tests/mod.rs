//! Guards what is written: the format's worked examples byte by byte, and the writers around it.

mod examples;
mod writers;
