//! The images in a runtime's store: what is there, what is in use, and removing one.
//!
//! Beside [`Driver`](crate::Driver), because running containers needs none of this.

use jiff::Timestamp;

use crate::driver::DriverError;

/// An image in the store of a runtime. All texts are untrusted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageEntry {
    /// Names it for the runtime.
    pub id: String,
    /// Such as `repository@digest`; empty if it has lost its names.
    pub names: Vec<String>,
    /// The digests that the names have.
    pub digests: Vec<String>,
    /// As the runtime counts: Podman the unpacked layers, containerd the compressed ones.
    pub size: Option<u64>,
    /// When it was built (Podman), or when it was pulled (containerd).
    pub created: Option<Timestamp>,
    /// How many containers use it, of schedctl or not.
    pub containers: usize,
    pub owner: ImageOwner,
}

/// Who may have pulled an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImageOwner {
    /// It is in a namespace that only schedctl uses.
    Schedctl,
    /// It has only names with a digest, as schedctl pulls them, but others may have done so.
    Unknown,
    /// Somebody gave it a tag.
    Other,
}

#[expect(async_fn_in_trait, reason = "used with static dispatch in one task")]
pub trait ImageStore {
    async fn images(&self) -> Result<Vec<ImageEntry>, DriverError>;

    /// Removes an image that no container uses. One that does not exist is no error.
    async fn remove(&self, image: &ImageEntry) -> Result<(), DriverError>;
}
