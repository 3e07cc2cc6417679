//! Verifies that an image was signed by someone whom the policy trusts.
//!
//! ```text
//!  PinnedRef ──find──▶ FoundSignature ──by_key / by_certificate──▶ Verified
//!              │                                │
//!         the registry                    trust::Policy      otherwise a Refusal per signature
//! ```
//!
//! Everything is verified offline, from what the registry holds and the policy says; no log and no
//! identity provider is contacted. The rule: **never accept what cosign refuses**. Where we are
//! stricter, `docs/trust.md` has the case and its reason.

mod bundle;
mod by_certificate;
mod by_key;
mod certificate;
mod concurrency;
mod find;
mod found;
mod log_entry;
mod payload;
mod refusal;
mod simple_signing;
mod verdict;
mod verdict_store;
mod verify;

pub use found::{SignatureId, SignatureSource};
pub use refusal::Refusal;
pub use verdict::{Evidence, Format, Kept, LogEvidence, Signer, Trusted, Verified, Waived, waive};
pub use verdict_store::{VerdictStore, VerdictStoreError};
pub use verify::{RefusedSignature, VerifyError, verify};
