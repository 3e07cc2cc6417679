//! What was asked for: an image by its digest, and the name that led to it.

use schedkit_core::PinnedRef;

use crate::registry::Platform;

/// Without a name it was asked for by its reference, whose last part is its name.
#[derive(Debug, Clone, Copy)]
pub struct AskedImage<'a> {
    pub(super) image: &'a PinnedRef,
    pub(super) catalog_name: Option<&'a str>,
    pub(super) machine: Option<&'a Platform>,
}

impl<'a> AskedImage<'a> {
    pub fn new(image: &'a PinnedRef) -> Self {
        Self {
            image,
            catalog_name: None,
            machine: None,
        }
    }

    /// With the name that the catalog has for it, if it was asked for by that name.
    #[must_use]
    pub fn named(self, catalog_name: Option<&'a str>) -> Self {
        Self {
            catalog_name,
            ..self
        }
    }

    /// To run on this platform only, so that the labels of images for other systems and architectures are
    /// not read. Without it the images for all platforms of Linux must be what was asked for.
    #[must_use]
    pub fn on(self, machine: &'a Platform) -> Self {
        Self {
            machine: Some(machine),
            ..self
        }
    }
}

impl<'a> From<&'a PinnedRef> for AskedImage<'a> {
    fn from(image: &'a PinnedRef) -> Self {
        Self::new(image)
    }
}
