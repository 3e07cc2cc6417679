//! Signs and verifies with the programs that users have, cosign 2 and 3, and with a private
//! Sigstore whose signatures can have one flaw at a time.
//!
//! ```text
//!   Cosign ── cosign 3, cosign 2 ──▶ sign and verify images in a registry, by key or keyless
//!   Sigstore ─┬─▶ Authority ─▶ Material: good and flawed bundles and signatures
//!             └─▶ KeyPair, signatures by key, what Go's regexp package matches
//! ```
//!
//! For end-to-end tests: start a lab with `signing` in its [`LabSpec`](crate::LabSpec) and call
//! [`Lab::sigstore`](crate::Lab::sigstore) or [`Lab::cosign`](crate::Lab::cosign). Whether a signature is good is decided by cosign, not here.

pub mod authority;
pub mod cosign;
pub mod key;
mod request;
mod signer;
mod sigstore;
mod tools;

pub use authority::{Authority, Material};
pub use cosign::{Cosign, Verdict, verdict_of};
pub use key::{Algorithm, Hash, KeyPair, Scheme, Signed, simple_payload, statement};
pub use request::SigningError;
pub use signer::{IDENTITY, ISSUER, Match, Signer};
pub use sigstore::{RegexpResult, Sigstore};
pub use tools::{CosignPrograms, Edition, Form, Tools};
