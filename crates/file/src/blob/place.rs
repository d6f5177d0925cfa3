//! Names of the files that hold blobs.
//!
//! ```text
//! data/5f3a.lance                                        the file with the column
//! data/5f3a/10000000000000000000000000000000.blob        sidecar 1: its number as 32 bits, lowest first
//! data/5f3a/01000000000000000000000000000000.blob        sidecar 2
//! ```

use std::path::{Component, Path, PathBuf};

use crate::{Error, Result};

/// A file that holds blobs of another.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum BlobPlace {
    /// A file in the folder of the data file's name.
    #[non_exhaustive]
    Sidecar {
        /// Number of the sidecar, from 1.
        blob_id: u32,
        /// Its name in that folder.
        name: String,
    },
    /// An absolute URI, as it was written.
    Uri(String),
    /// A file in a registered base.
    #[non_exhaustive]
    InBase {
        /// Number of the base.
        base_id: u32,
        /// Path there: relative, without steps upwards.
        path: String,
    },
    /// A file of the table.
    #[non_exhaustive]
    InTable {
        /// Path below the table's folder: relative, without steps upwards.
        path: String,
    },
}

impl BlobPlace {
    pub(super) fn sidecar(blob_id: u32) -> Self {
        Self::Sidecar { blob_id, name: format!("{:032b}.blob", blob_id.reverse_bits()) }
    }

    pub(super) fn in_base(base_id: u32, path: &str) -> Result<Self> {
        Ok(Self::InBase { base_id, path: relative(path)? })
    }

    pub(super) fn in_table(path: &str) -> Result<Self> {
        Ok(Self::InTable { path: relative(path)? })
    }
}

impl std::fmt::Display for BlobPlace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Sidecar { blob_id, name } => write!(f, "sidecar file {blob_id} ({name})"),
            Self::Uri(uri) => write!(f, "{uri:?}"),
            Self::InBase { base_id, path } => write!(f, "{path:?} in base {base_id}"),
            Self::InTable { path } => write!(f, "{path:?} in the table"),
        }
    }
}

/// A path that leads nowhere but down.
fn relative(path: &str) -> Result<String> {
    let plain = |part: &str| !matches!(part, "" | "." | "..");
    let odd = path.contains(['\\', '\0']) || path.contains("://");
    let normal = Path::new(path).components().all(|c| matches!(c, Component::Normal(_)));
    if odd || !normal || !path.split('/').all(plain) {
        return Err(Error::corrupt(format!(
            "a blob in {path:?}, which is no relative path without empty parts and steps upwards"
        )));
    }
    Ok(path.to_owned())
}

/// The local file of a URI: `file:` URLs of this machine and absolute paths.
pub(super) fn local_path(uri: &str) -> Result<PathBuf> {
    let unsupported =
        |what: &str| Error::unsupported(format!("a blob at {uri:?}: {what}; local files are read"));
    let path = match uri.split_once(':') {
        Some((scheme, rest)) if scheme.eq_ignore_ascii_case("file") => {
            let rest = rest.strip_prefix("//").unwrap_or(rest);
            let path = rest.strip_prefix("localhost").filter(|p| p.starts_with('/')).unwrap_or(rest);
            percent_decoded(path).ok_or_else(|| unsupported("its path is not well formed"))?
        }
        Some((scheme, _)) if is_scheme(scheme) && uri.contains("://") => {
            return Err(unsupported("a scheme that is not read"));
        }
        _ => uri.to_owned(),
    };
    let path = PathBuf::from(path);
    if !path.is_absolute() {
        return Err(unsupported("not an absolute path"));
    }
    Ok(path)
}

fn is_scheme(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b)) && !text.is_empty()
}

/// Text with `%41` for `A` and so on; `None` where that is no text.
fn percent_decoded(text: &str) -> Option<String> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte != b'%' {
            out.push(byte);
            continue;
        }
        let digit = |at: usize| after.get(at).and_then(|b| (*b as char).to_digit(16));
        out.push((digit(0)? * 16 + digit(1)?) as u8);
        rest = &after[2..];
    }
    String::from_utf8(out).ok().filter(|text| !text.contains('\0'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sidecars_are_named_by_their_number_lowest_bit_first() {
        let name = |id| match BlobPlace::sidecar(id) {
            BlobPlace::Sidecar { name, .. } => name,
            other => panic!("{other:?}"),
        };
        assert_eq!(name(1), "10000000000000000000000000000000.blob");
        assert_eq!(name(2), "01000000000000000000000000000000.blob");
        assert_eq!(name(3), "11000000000000000000000000000000.blob");
    }

    #[test]
    fn relative_paths_lead_down() {
        assert!(BlobPlace::in_table("_blobs/a.blob").is_ok());
        for path in ["", "/a", "a/", "a//b", "./a", "../a", "a/../b", "s3://x", "a\\b", "a/\0"] {
            let error = BlobPlace::in_base(1, path).unwrap_err();
            assert_eq!(error.kind(), crate::ErrorKind::Corrupt, "{path:?}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn local_files_are_named_by_url_or_path() {
        assert_eq!(local_path("file:///a%20b/c").unwrap(), Path::new("/a b/c"));
        assert_eq!(local_path("FILE://localhost/x").unwrap(), Path::new("/x"));
        assert_eq!(local_path("/a b").unwrap(), Path::new("/a b"));
        for uri in ["s3://bucket/x", "https://a/b", "a/b", "file://host/x", "file:///%zz", "file:///%00"] {
            assert_eq!(local_path(uri).unwrap_err().kind(), crate::ErrorKind::Unsupported, "{uri}");
        }
    }
}
