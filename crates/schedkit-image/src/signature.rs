//! Verifies that an image was signed by someone whom the policy trusts.
//!
//! ```text
//!  PinnedRef ──find──▶ FoundSignature ──by_key / by_certificate──▶ progress ──▶ conformity ──▶ Verified
//!              │                                │                       │             │
//!         the registry                    trust::Policy ────── rule for the image     what was asked for
//!                                     otherwise a Refusal per signature
//! ```
//!
//! Everything is verified offline, from what the registry holds and the policy says; no log and no
//! identity provider is contacted. The rule: **never accept what cosign refuses**. Where we are
//! stricter, `docs/trust.md` has the case and its reason.

mod asked;
mod attestation;
mod bundle;
mod by_certificate;
mod by_key;
mod certificate;
mod claims;
mod concurrency;
mod conformity;
mod find;
mod found;
mod judge;
mod key_id;
mod labels;
mod log_entry;
mod payload;
mod progress;
mod refusal;
mod search;
mod simple_signing;
mod verdict;
mod verdict_store;
mod verify;
mod verify_error;

pub use asked::AskedImage;
pub use conformity::{Nonconformity, TitleCheck};
pub use found::{SignatureId, SignatureSource};
pub use progress::Unmet;
pub use refusal::Refusal;
pub use verdict::{
    AcceptedAttestation, Evidence, Format, FurtherSignature, Kept, LogEvidence, Signer, Trusted,
    Verified, Waived, waive,
};
pub use verdict_store::{VerdictStore, VerdictStoreError};
pub use verify::verify;
pub use verify_error::{Denial, RefusedSignature, VerifyError};
