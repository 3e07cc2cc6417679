//! An image and its name in the registry.

use crate::oci::{Image, Index};

pub enum RegistryImage {
    /// For one platform.
    Single {
        repository: String,
        tag: String,
        image: Image,
    },
    /// For several platforms.
    Multi {
        repository: String,
        tag: String,
        index: Index,
    },
}
