//! From the name of a scheduler to a verified image.
//!
//! ```text
//! name ──catalog──▶ ImageRef ──registry::resolve──▶ PinnedRef ──signature::verify──▶ Verified
//!                                                      ▲              │
//!                                                   trust::Policy ────┘
//! ```
//!
//! All input (catalogs, registries, policies, signatures) is hostile until it is parsed: every body
//! has a size limit, every request a timeout, and text from outside is cut and made printable
//! before it is shown. Nothing here depends on Kubernetes or on the kernel.

pub mod catalog;
pub mod hash;
pub mod info;
mod private_folder;
pub mod registry;
pub mod secret;
pub mod signature;
pub mod trust;
pub mod untrusted;
pub mod versions;
