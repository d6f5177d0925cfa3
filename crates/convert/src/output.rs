//! Where bytes go: a path, or the standard output.
//!
//! ```text
//!   DIR/.NAME.pennon-PID-RANDOM.tmp   written, fsynced ──rename──▶ DIR/NAME, then fsync of DIR
//! ```
//!
//! Until the rename the target keeps its old content; an error removes the temporary file. A kill may leave
//! the temporary name behind and nothing else.

use std::fs::{self, File};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use pennon_file::{Error, Result};

/// Temporary files of this process, for whoever ends it before its time.
static TEMPORARIES: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Removes the temporary files of all unfinished outputs. For a program that is about to end on a signal.
pub fn remove_temporaries() {
    for path in TEMPORARIES.lock().unwrap_or_else(|e| e.into_inner()).drain(..) {
        let _ = fs::remove_file(path);
    }
}

/// Something that a table is written to.
#[derive(Debug)]
pub struct Output {
    name: String,
    target: Target,
    written: Arc<AtomicU64>,
    /// What the medium said when it first failed; libraries in between may lose it.
    failure: Failure,
}

/// What a medium said when it failed, shared with whoever writes through a library.
#[derive(Debug, Clone, Default)]
pub(crate) struct Failure(Arc<Mutex<Option<Noted>>>);

/// The kind of a failure, and the system's own code for it.
type Noted = (io::ErrorKind, Option<i32>);

impl Failure {
    fn note(&self, e: &io::Error) {
        if e.kind() != io::ErrorKind::Interrupted {
            self.0.lock().unwrap_or_else(|e| e.into_inner()).get_or_insert((e.kind(), e.raw_os_error()));
        }
    }

    /// The failure as an error of the system again.
    pub(crate) fn get(&self) -> Option<io::Error> {
        let noted = *self.0.lock().unwrap_or_else(|e| e.into_inner());
        noted.map(|(kind, code)| code.map_or_else(|| kind.into(), io::Error::from_raw_os_error))
    }
}

#[derive(Debug)]
enum Target {
    /// A regular file, made beside its final name.
    Staged { file: File, temporary: PathBuf, path: PathBuf, replace: bool, done: bool },
    /// A device, a pipe or the standard output: written as it comes.
    Direct(DirectTarget),
}

#[derive(Debug)]
enum DirectTarget {
    File(File),
    Stdout,
}

/// A finished output whose name still has to change: [`commit`](Staged::commit) does it, dropping undoes everything.
#[derive(Debug)]
pub struct Staged(Output);

impl Output {
    /// As on the command line: `-` is standard output, everything else a path. `replace` says whether an existing
    /// file may be replaced.
    pub fn create(argument: &str, replace: bool) -> Result<Self> {
        if argument == "-" { Ok(Self::stdout()) } else { Self::path(Path::new(argument), replace) }
    }

    /// The standard output.
    pub fn stdout() -> Self {
        Self {
            name: "standard output".into(),
            target: Target::Direct(DirectTarget::Stdout),
            written: Arc::default(),
            failure: Failure::default(),
        }
    }

    /// A file.
    pub fn path(path: &Path, replace: bool) -> Result<Self> {
        let name = path.display().to_string();
        let fail = |e| Error::io(format!("cannot write {name}"), e);
        // A link is followed, so that the file it points to is what gets replaced.
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        match fs::metadata(&path) {
            Ok(meta) if meta.is_dir() => {
                return Err(Error::invalid(format!(
                    "{name} is a directory; expected a file name to write to"
                )));
            }
            Ok(meta) if !meta.is_file() => {
                let file = File::options().write(true).open(&path).map_err(fail)?;
                let target = Target::Direct(DirectTarget::File(file));
                return Ok(Self { name, target, written: Arc::default(), failure: Failure::default() });
            }
            Ok(_) if !replace => return Err(exists(&name)),
            Ok(_) => {}
            Err(e) if e.kind() == io::ErrorKind::NotFound => {}
            Err(e) => return Err(fail(e)),
        }
        let Some(file_name) = path.file_name() else {
            return Err(Error::invalid(format!("{name}: expected a file name to write to")));
        };
        let parent = parent_of(&path);
        if !parent.is_dir() {
            return Err(Error::invalid(format!(
                "{name}: there is no directory {}; make it first",
                parent.display()
            )));
        }
        // Names are bytes with a limit (255 on common systems); the tail of a long name is left out.
        let short: String = file_name.to_string_lossy().chars().take(60).collect();
        for _ in 0..16 {
            let temporary =
                parent.join(format!(".{short}.pennon-{}-{:016x}.tmp", std::process::id(), random()));
            match File::options().read(true).write(true).create_new(true).open(&temporary) {
                Ok(file) => {
                    TEMPORARIES.lock().unwrap_or_else(|e| e.into_inner()).push(temporary.clone());
                    if let Ok(meta) = fs::metadata(&path) {
                        // Who could read the old content can read the new one; a refusal costs nothing.
                        let _ = file.set_permissions(meta.permissions());
                    }
                    let target = Target::Staged { file, temporary, path, replace, done: false };
                    return Ok(Self { name, target, written: Arc::default(), failure: Failure::default() });
                }
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
                Err(e) => return Err(fail(e)),
            }
        }
        Err(Error::invalid(format!("{name}: found no free temporary name in {}", parent.display())))
    }

    /// The name for messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Counts the bytes written so far; stays readable while a writer owns the output.
    pub fn counter(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.written)
    }

    pub(crate) fn failure(&self) -> Failure {
        self.failure.clone()
    }

    /// Where the content lies before [`Staged::commit`].
    pub fn temporary(&self) -> Option<&Path> {
        match &self.target {
            Target::Staged { temporary, .. } => Some(temporary),
            Target::Direct(_) => None,
        }
    }

    /// Everything has been written: brings it to the disk.
    pub fn stage(mut self) -> Result<Staged> {
        self.flush().map_err(|e| self.failed(e))?;
        if let Target::Staged { file, .. } = &self.target {
            file.sync_all().map_err(|e| self.failed(e))?;
        }
        Ok(Staged(self))
    }

    fn failed(&self, e: io::Error) -> Error {
        Error::io(format!("cannot write {}", self.name), e)
    }
}

impl Staged {
    /// Where the content lies until then.
    pub fn temporary(&self) -> Option<&Path> {
        self.0.temporary()
    }

    /// Bytes written.
    pub fn bytes(&self) -> u64 {
        self.0.written.load(Ordering::Relaxed)
    }

    /// Gives the file its final name.
    pub fn commit(mut self) -> Result<u64> {
        let bytes = self.bytes();
        let name = self.0.name.clone();
        let Target::Staged { temporary, path, replace, done, .. } = &mut self.0.target else {
            return Ok(bytes);
        };
        let fail = |e| Error::io(format!("cannot write {name}"), e);
        if *replace {
            fs::rename(&*temporary, &*path).map_err(fail)?;
            *done = true;
        } else {
            // Unlike a rename, a link refuses a target that came into being meanwhile.
            match fs::hard_link(&*temporary, &*path) {
                Ok(()) => {}
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => return Err(exists(&name)),
                Err(_) if !path.exists() => {
                    fs::rename(&*temporary, &*path).map_err(fail)?;
                    *done = true;
                }
                Err(_) => return Err(exists(&name)),
            }
        }
        // Some file systems do not sync directories; the file itself is safe by now.
        if let Ok(dir) = File::open(parent_of(path)) {
            let _ = dir.sync_all();
        }
        Ok(bytes)
    }
}

fn exists(name: &str) -> Error {
    Error::invalid(format!("{name} exists; it is kept because of --no-clobber"))
}

fn parent_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

impl Write for Output {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        let written = match &mut self.target {
            Target::Staged { file, .. } | Target::Direct(DirectTarget::File(file)) => file.write(buf),
            Target::Direct(DirectTarget::Stdout) => io::stdout().lock().write(buf),
        };
        let n = written.inspect_err(|e| self.failure.note(e))?;
        self.written.fetch_add(n as u64, Ordering::Relaxed);
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        let flushed = match &mut self.target {
            Target::Staged { file, .. } | Target::Direct(DirectTarget::File(file)) => file.flush(),
            Target::Direct(DirectTarget::Stdout) => io::stdout().lock().flush(),
        };
        flushed.inspect_err(|e| self.failure.note(e))
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        if let Target::Staged { temporary, done, .. } = &self.target {
            if !done {
                let _ = fs::remove_file(temporary);
            }
            TEMPORARIES.lock().unwrap_or_else(|e| e.into_inner()).retain(|t| t != temporary);
        }
    }
}

/// The output behind a writer of small pieces.
pub(crate) type Buffered = BufWriter<Output>;

/// The output under a buffer, with everything in it.
pub(crate) fn unbuffer(buffered: Buffered) -> Result<Output> {
    buffered.into_inner().map_err(|e| {
        let (error, buffered) = e.into_parts();
        let output = buffered.into_parts().0;
        output.failed(error)
    })
}

/// A number that other processes do not hit on.
pub(crate) fn random() -> u64 {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    // The standard library seeds each state from the system's random source.
    let mut hasher = RandomState::new().build_hasher();
    hasher.write_u64(COUNT.fetch_add(1, Ordering::Relaxed));
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(dir: &Path) -> Vec<String> {
        let mut names: Vec<_> =
            fs::read_dir(dir).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn the_target_appears_only_when_committed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.lance");
        fs::write(&path, "old").unwrap();
        let mut out = Output::path(&path, true).unwrap();
        out.write_all(b"new").unwrap();
        let staged = out.stage().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"old");
        let temporary = staged.temporary().unwrap().file_name().unwrap().to_str().unwrap().to_owned();
        assert!(
            temporary.starts_with(&format!(".a.lance.pennon-{}-", std::process::id()))
                && temporary.ends_with(".tmp")
        );
        assert_eq!(staged.commit().unwrap(), 3);
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(names(dir.path()), ["a.lance"]);
    }

    #[test]
    fn a_dropped_output_leaves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let mut out = Output::path(&dir.path().join("a.lance"), true).unwrap();
        out.write_all(b"half").unwrap();
        drop(out);
        assert!(names(dir.path()).is_empty());
    }

    #[test]
    fn an_existing_file_is_kept_on_request_even_if_it_came_meanwhile() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.csv");
        let staged = Output::path(&path, false).unwrap().stage().unwrap();
        fs::write(&path, "theirs").unwrap();
        assert!(
            staged
                .commit()
                .unwrap_err()
                .to_string()
                .ends_with("a.csv exists; it is kept because of --no-clobber")
        );
        assert_eq!(fs::read(&path).unwrap(), b"theirs");
        assert_eq!(names(dir.path()), ["a.csv"]);
        assert!(Output::path(&path, false).is_err());
    }

    #[test]
    fn a_link_keeps_pointing_to_what_is_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let (file, link) = (dir.path().join("file"), dir.path().join("link"));
        fs::write(&file, "old").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        let mut out = Output::path(&link, true).unwrap();
        out.write_all(b"new").unwrap();
        out.stage().unwrap().commit().unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"new");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    }

    #[test]
    fn directories_and_missing_parents_are_named() {
        let dir = tempfile::tempdir().unwrap();
        let e = Output::path(dir.path(), true).unwrap_err().to_string();
        assert!(e.ends_with("is a directory; expected a file name to write to"), "{e}");
        let e = Output::path(&dir.path().join("no/x.csv"), true).unwrap_err().to_string();
        assert!(e.contains("there is no directory") && e.ends_with("make it first"), "{e}");
    }
}
