//! From a name to trusted bytes.
//!
//! ```text
//! name ──catalog──▶ ImageRef ──registry::resolve──▶ PinnedRef ──signature::verify──▶ Verified
//!                                                      ▲              │
//!                                                   trust::Policy ────┘
//! ```
//!
//! Everything that comes in here (catalogs, registries, policies, signatures) is hostile until it
//! is parsed: every body has a size cap, every wait an end, and what is said about it is cut and
//! made printable before a person sees it. Nothing here knows of Kubernetes or of the kernel.

pub mod catalog;
pub mod foreign;
pub mod hash;
pub mod info;
pub mod registry;
pub mod secret;
pub mod signature;
pub mod trust;
pub mod versions;
