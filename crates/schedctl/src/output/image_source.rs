//! How an image's reference was found.

use schedkit_image::catalog::Resolution;
use serde::Serialize;

#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum ImageSource {
    /// By its name in the catalog.
    Catalog,
    /// It was given on the command line.
    Reference,
}

impl From<&Resolution> for ImageSource {
    fn from(found: &Resolution) -> Self {
        match found {
            Resolution::Named { .. } => Self::Catalog,
            Resolution::Reference(_) => Self::Reference,
        }
    }
}
