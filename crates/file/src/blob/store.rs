//! Opening the other files that hold blobs of a file.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::place::{BlobPlace, local_path};
use crate::io::ReadAt;
use crate::{Error, Result};

/// Opens the files that hold blobs, instead of the local file system.
pub type BlobResolver = Arc<dyn Fn(&BlobPlace) -> Result<Arc<dyn ReadAt>> + Send + Sync>;

/// Where blobs that are not in the file itself are looked for.
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct BlobOptions {
    /// Folders of registered bases, by number.
    pub base_paths: BTreeMap<u32, PathBuf>,
    /// Folder of the table that the file belongs to.
    pub table_base: Option<PathBuf>,
    /// Whether files named by an absolute URI are read that lie outside of the file's own folder.
    pub allow_external: bool,
    /// Opens every other file when it is there; without it only files opened by path have others.
    pub resolver: Option<BlobResolver>,
}

impl std::fmt::Debug for BlobOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BlobOptions")
            .field("base_paths", &self.base_paths)
            .field("table_base", &self.table_base)
            .field("allow_external", &self.allow_external)
            .field("resolver", &self.resolver.is_some())
            .finish()
    }
}

/// Files held open at most; the one opened first goes first.
const MAX_OPEN: usize = 32;

/// The other files of one file, some of them open.
pub(crate) struct BlobStore {
    options: BlobOptions,
    /// Path of the file with the columns, if it has one.
    file: Option<PathBuf>,
    open: Mutex<Vec<(BlobPlace, Arc<dyn ReadAt>)>>,
}

impl std::fmt::Debug for BlobStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BlobStore")
            .field("options", &self.options)
            .field("file", &self.file)
            .finish_non_exhaustive()
    }
}

impl BlobStore {
    pub(crate) fn new(options: BlobOptions, file: Option<PathBuf>) -> Self {
        Self { options, file, open: Mutex::default() }
    }

    /// The file at a place.
    pub(super) fn open(&self, place: &BlobPlace) -> Result<Arc<dyn ReadAt>> {
        let open = || self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, reader)) = open().iter().find(|(p, _)| p == place) {
            return Ok(reader.clone());
        }
        let reader = match &self.options.resolver {
            Some(resolver) => resolver(place)?,
            None => open_file(&self.path(place)?, place)?,
        };
        let mut open = open();
        if open.len() >= MAX_OPEN {
            open.remove(0);
        }
        open.push((place.clone(), reader.clone()));
        Ok(reader)
    }

    fn path(&self, place: &BlobPlace) -> Result<PathBuf> {
        match place {
            BlobPlace::Sidecar { name, .. } => {
                let file = self.own_path(place)?;
                let stem = file.file_name().map(Path::new).unwrap_or(file);
                let stem = if stem.extension().is_some_and(|e| e == "lance") {
                    stem.with_extension("")
                } else {
                    // A file of another name would be its own folder.
                    return Err(Error::invalid(format!(
                        "{place}: the name of the file with the column does not end in .lance"
                    )));
                };
                Ok(file.with_file_name(stem).join(name))
            }
            BlobPlace::Uri(uri) => {
                let path = local_path(uri)?;
                if self.options.allow_external {
                    return Ok(path);
                }
                self.admit(place, path)
            }
            BlobPlace::InBase { base_id, path } => match self.options.base_paths.get(base_id) {
                Some(base) => Ok(base.join(path)),
                None => Err(Error::invalid(format!("a blob at {place}: the options name no such base"))),
            },
            BlobPlace::InTable { path } => match &self.options.table_base {
                Some(base) => Ok(base.join(path)),
                None => Err(Error::invalid(format!("a blob at {place}: the options name no table folder"))),
            },
        }
    }

    fn own_path(&self, place: &BlobPlace) -> Result<&PathBuf> {
        self.file.as_ref().ok_or_else(|| {
            Error::invalid(format!(
                "a blob in {place}: the file was not opened by a path, and no resolver was given"
            ))
        })
    }

    /// The true path of a file in the folder of the own one, or below; others are refused.
    fn admit(&self, place: &BlobPlace, path: PathBuf) -> Result<PathBuf> {
        let refused = || {
            Error::invalid(format!(
                "a blob at {place} lies outside of the file's folder: allow_external would read it"
            ))
        };
        let own = self.file.as_ref().ok_or_else(refused)?;
        let real = |path: &Path| std::fs::canonicalize(path).ok();
        // Whether a file outside exists is not told either.
        let folder = real(own).and_then(|own| own.parent().map(Path::to_path_buf)).ok_or_else(refused)?;
        real(&path).filter(|path| path.starts_with(&folder)).ok_or_else(refused)
    }
}

fn open_file(path: &Path, place: &BlobPlace) -> Result<Arc<dyn ReadAt>> {
    let name = path.display().to_string();
    let fail = |e| Error::io(format!("cannot open the file of a blob, {place}"), e).in_file(&name);
    // Opening a pipe would wait for its writer.
    if !std::fs::metadata(path).map_err(fail)?.is_file() {
        return Err(Error::invalid(format!("a blob in {place}, which is not a regular file")).in_file(&name));
    }
    Ok(Arc::new(std::fs::File::open(path).map_err(fail)?))
}

/// Fails unless a range lies in a file.
pub(super) fn check_range(
    place: &BlobPlace,
    reader: &dyn ReadAt,
    range: &std::ops::Range<u64>,
) -> Result<()> {
    let bytes = reader_bytes(place, reader)?;
    if range.end > bytes {
        return Err(Error::corrupt(format!(
            "a blob of {} bytes at {} in {place}, which has {bytes}",
            range.end - range.start,
            range.start
        )));
    }
    Ok(())
}

/// What of a file is from `start` on.
pub(super) fn rest(place: &BlobPlace, reader: &dyn ReadAt, start: u64) -> Result<std::ops::Range<u64>> {
    let bytes = reader_bytes(place, reader)?;
    if start > bytes {
        return Err(Error::corrupt(format!("a blob from {start} on in {place}, which has {bytes} bytes")));
    }
    Ok(start..bytes)
}

fn reader_bytes(place: &BlobPlace, reader: &dyn ReadAt) -> Result<u64> {
    reader.len().map_err(|e| Error::io(format!("cannot tell the length of {place}"), e))
}

/// Fills `out` with the bytes from `start` on.
pub(super) fn read(reader: &dyn ReadAt, start: u64, out: &mut [u8]) -> Result<()> {
    let what = format!("cannot read {} bytes of a blob", out.len());
    reader.read_at(start, out).map_err(|e| Error::io(what, e).at_offset(start))
}
