//! Which image a document is about, and how its name led there: the same words in each of them.

use schedkit_image::catalog::Resolution;
use serde::Serialize;

/// Where a reference was found.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum FoundIn {
    /// The word was a name.
    Catalog,
    /// The word was the reference.
    Reference,
}

impl From<&Resolution> for FoundIn {
    fn from(found: &Resolution) -> Self {
        match found {
            Resolution::Named { .. } => Self::Catalog,
            Resolution::Reference(_) => Self::Reference,
        }
    }
}
