//! Where a trust policy comes from.

use std::path::{Path, PathBuf};

use schedkit_image::trust::BuiltIn;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PolicySource {
    /// A policy inside the program.
    BuiltIn(BuiltIn),
    File(PathBuf),
}

impl PolicySource {
    /// How it is named on a command line and in the environment.
    pub(crate) fn as_path(&self) -> &Path {
        match self {
            Self::BuiltIn(built_in) => Path::new(built_in.name()),
            Self::File(path) => path,
        }
    }
}

impl Default for PolicySource {
    fn default() -> Self {
        Self::BuiltIn(BuiltIn::default())
    }
}

/// A wrong name of a built-in policy is an error when the policy is read.
impl From<PathBuf> for PolicySource {
    fn from(path: PathBuf) -> Self {
        match BuiltIn::named(&path) {
            Some(Ok(built_in)) => Self::BuiltIn(built_in),
            Some(Err(_)) | None => Self::File(path),
        }
    }
}
