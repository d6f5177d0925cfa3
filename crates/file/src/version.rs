//! Format versions and what each allows.
//!
//! Readers dispatch on the descriptions found in a file, and ask for its version where no description tells: which
//! fields have columns (`schema/leaves.rs`), and how wide chunk sizes are. Writers ask what they may write.

use std::fmt;
use std::str::FromStr;

use crate::{Error, Result};

/// A version of the Lance file format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum FormatVersion {
    /// 2.0: footer (0, 3), or (2, 0) from other writers.
    V2_0,
    /// 2.1.
    V2_1,
    /// 2.2, the default for writing.
    V2_2,
    /// 2.3, marked unstable by its authors: reading only.
    V2_3,
}

impl FormatVersion {
    /// The version of a footer's (major, minor) pair.
    ///
    /// # Errors
    /// A version that is not known, or one before 2.0: unsupported.
    pub fn from_footer(major: u16, minor: u16) -> Result<Self> {
        match (major, minor) {
            (0, 3) | (2, 0) => Ok(Self::V2_0),
            (2, 1) => Ok(Self::V2_1),
            (2, 2) => Ok(Self::V2_2),
            (2, 3) => Ok(Self::V2_3),
            (0, 0..=2) => Err(Error::unsupported(format!(
                "this is a file of the pre-2.0 Lance format (footer version {major}.{minor}); rewrite it with a current writer"
            ))),
            _ => Err(Error::unsupported(format!(
                "footer says format version {major}.{minor}; known are 2.0 to 2.3"
            ))),
        }
    }

    /// The (major, minor) pair that the footer carries.
    pub fn to_footer(self) -> (u16, u16) {
        match self {
            Self::V2_0 => (0, 3),
            Self::V2_1 => (2, 1),
            Self::V2_2 => (2, 2),
            Self::V2_3 => (2, 3),
        }
    }

    /// Whether the format's authors mark the version unstable: files of it may not be readable by later releases.
    pub fn is_unstable(self) -> bool {
        self >= Self::V2_3
    }

    /// Whether mini-block chunks carry 32-bit sizes.
    pub fn has_large_chunks(self) -> bool {
        self >= Self::V2_2
    }
}

impl fmt::Display for FormatVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::V2_0 => "2.0",
            Self::V2_1 => "2.1",
            Self::V2_2 => "2.2",
            Self::V2_3 => "2.3",
        })
    }
}

impl FromStr for FormatVersion {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "2.0" => Ok(Self::V2_0),
            "2.1" => Ok(Self::V2_1),
            "2.2" => Ok(Self::V2_2),
            "2.3" => Ok(Self::V2_3),
            _ => Err(Error::invalid(format!("format version {text:?}: expected 2.0, 2.1, 2.2 or 2.3"))),
        }
    }
}
