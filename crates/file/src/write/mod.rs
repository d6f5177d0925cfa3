//! Writing files.
//!
//! ```text
//! RecordBatch ──▶ FileEncoder ──▶ bytes to append, in order        (no I/O)
//!                 FileWriter<W: io::Write>                         writes them
//!                 PathWriter                                       beside the target, renamed when finished
//! ```

mod blob;
mod blooms;
mod column;
mod encoder;
mod mapping;
mod matching;
mod options;
mod path;
mod presets;
mod writer;

#[cfg(test)]
mod tests;

pub use encoder::FileEncoder;
pub use options::WriteOptions;
pub use path::PathWriter;
pub use writer::FileWriter;
