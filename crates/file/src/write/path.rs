//! A file written beside its target and renamed when it is whole.
//!
//! ```text
//! create   dir/.NAME.pennon-PID-RANDOM.tmp
//! finish   fsync the file, rename to dir/NAME, fsync dir
//! drop     remove the temporary file
//! ```
//!
//! Whatever fails, the target holds its old content, or the new whole.

use std::fs::{self, File, OpenOptions};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;

use super::options::WriteOptions;
use super::writer::FileWriter;
use crate::{Error, Result};

/// Names tried before giving up.
const ATTEMPTS: usize = 16;

/// Writes record batches to a path. Nothing is there under its name until [`finish`](Self::finish).
#[derive(Debug)]
pub struct PathWriter {
    /// `None` only while finishing.
    writer: Option<FileWriter<File>>,
    temporary: Temporary,
    target: PathBuf,
}

/// A file that goes away unless it was renamed.
#[derive(Debug)]
struct Temporary {
    path: PathBuf,
    renamed: bool,
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.renamed {
            // Nobody is left to tell.
            let _ = fs::remove_file(&self.path);
        }
    }
}

impl PathWriter {
    /// Starts a file that will be at `path`, replacing what is there.
    pub fn create(
        path: impl AsRef<Path>,
        schema: &arrow_schema::Schema,
        options: WriteOptions,
    ) -> Result<Self> {
        let target = path.as_ref().to_owned();
        let shown = target.display().to_string();
        let in_file = |e: Error| e.in_file(&shown);
        let Some(name) = target.file_name().map(|n| n.to_string_lossy().into_owned()) else {
            return Err(in_file(Error::invalid("this is not the name of a file")));
        };
        if target.is_dir() {
            return Err(in_file(Error::invalid("this is a directory; a file is to be written")));
        }
        let (file, temporary) = create_beside(&target, &name).map_err(in_file)?;
        let writer = FileWriter::new(file, schema, options).map_err(in_file)?;
        Ok(Self { writer: Some(writer), temporary, target })
    }

    /// Rows written so far.
    pub fn num_rows(&self) -> u64 {
        self.writer.as_ref().map_or(0, FileWriter::num_rows)
    }

    /// Bytes of the file so far; what is buffered is not in yet.
    pub fn position(&self) -> u64 {
        self.writer.as_ref().map_or(0, FileWriter::position)
    }

    /// Adds rows. Columns are found by name.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let Some(writer) = &mut self.writer else { return Err(Error::invalid("the file is finished")) };
        writer.write(batch).map_err(|e| e.in_file(&self.target.display().to_string()))
    }

    /// Ends the file and puts it in place.
    pub fn finish(mut self) -> Result<()> {
        let shown = self.target.display().to_string();
        let in_file = |e: Error| e.in_file(&shown);
        let Some(writer) = self.writer.take() else { return Err(Error::invalid("the file is finished")) };
        let file = writer.finish().map_err(in_file)?;
        file.sync_all().map_err(|e| in_file(Error::io("cannot write", e)))?;
        drop(file);
        fs::rename(&self.temporary.path, &self.target)
            .map_err(|e| in_file(Error::io("cannot rename the finished file", e)))?;
        self.temporary.renamed = true;
        sync_folder(&self.target).map_err(|e| in_file(Error::io("cannot write its directory", e)))
    }
}

fn create_beside(target: &Path, name: &str) -> Result<(File, Temporary)> {
    let mut attempt = 0;
    loop {
        let random = RandomState::new().build_hasher().finish() as u32;
        let path = target.with_file_name(format!(".{name}.pennon-{}-{random:08x}.tmp", std::process::id()));
        match OpenOptions::new().write(true).create_new(true).open(&path) {
            Ok(file) => return Ok((file, Temporary { path, renamed: false })),
            Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists && attempt < ATTEMPTS => attempt += 1,
            Err(e) => return Err(Error::io("cannot create a file beside it", e)),
        }
    }
}

/// Makes a rename last.
fn sync_folder(target: &Path) -> std::io::Result<()> {
    if cfg!(unix) {
        let folder = match target.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        File::open(folder)?.sync_all()?;
    }
    Ok(())
}
