//! Whether an image was signed by someone whom the policy trusts.
//!
//! ```text
//!  PinnedRef ──find──▶ Candidate ──keyed / keyless──▶ Verified
//!              │                        │
//!         the registry             trust::Policy      otherwise a Refusal for each candidate
//! ```
//!
//! Everything is verified here, offline, from what the registry holds and the policy says; no log
//! and no identity provider is asked. The rule that all of it serves: **never accept what cosign
//! would refuse**. Where we are stricter, `docs/trust.md` has the case and its reason.

mod bundle;
mod candidate;
mod certificate;
mod claim;
mod crowd;
mod find;
mod keyed;
mod keyless;
mod log_entry;
mod refusal;
mod simple;
mod verdict;
mod verify;

pub use candidate::{CandidateName, Source};
pub use refusal::Refusal;
pub use verdict::{Evidence, Format, LogEvidence, Signer, Trusted, Verified, Waived, waive};
pub use verify::{RefusedCandidate, VerifyError, verify};
