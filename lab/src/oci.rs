//! Container images, built in memory from a few files and pushed to a registry.
//!
//! The same input gives the same digest. Layers are not compressed, because an emulated processor
//! decompresses slower than it reads.

pub mod artifact;
pub mod attach;
pub mod image;
pub mod push;

pub use artifact::{Artifact, SignatureLayer, Subject};
pub use attach::Fetched;
pub use image::{Blob, File, Image, Index, shared_libraries};
pub use push::{PushError, Registry};
