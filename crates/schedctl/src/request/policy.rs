//! Which trust policy counts.

use std::path::PathBuf;

/// Which trust policy counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PolicySource {
    /// The project's own.
    BuiltIn,
    /// This file's.
    File(PathBuf),
}
