//! Container images made from a few files, and their way into a registry.
//!
//! Images are put together in memory from cached programs: they are a few MB, and the same
//! input gives the same digest. Layers are not compressed, because an emulated processor
//! unpacks slower than it reads.

pub mod artifact;
pub mod attach;
pub mod image;
pub mod push;

pub use artifact::{Artifact, SignatureLayer, Subject};
pub use attach::Fetched;
pub use image::{Blob, File, Image, Index, shared_libraries};
pub use push::{PushError, Registry};
