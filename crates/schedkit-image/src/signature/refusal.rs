//! Why a signature is refused: one variant per check.
//!
//! Text from outside is cut and made printable when a refusal is created.

use jiff::Timestamp;

use crate::trust::SignerMismatch;

/// Why one signature is not accepted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("the registry lists it and does not have it")]
    Missing,
    #[error("its manifest cannot be read: {0}")]
    Manifest(String),
    #[error("it has {size} bytes, and no signature needs more than {limit}")]
    TooBig {
        /// In the descriptor.
        size: u64,
        limit: usize,
    },
    /// It was made for another image or copied from one.
    #[error("it refers to another image, {0}")]
    OtherSubject(String),
    /// cosign stores one bundle per manifest; several would be ambiguous.
    #[error("its manifest has {0} layers where a signature has one")]
    Layers(usize),
    #[error("its bundle cannot be read: {0}")]
    Bundle(String),
    /// Older versions prove less.
    #[error("its bundle is of another version than 0.3: {0}")]
    BundleVersion(String),
    /// Without a statement, nothing says what the signature means.
    #[error("its bundle holds a bare signature instead of a signed statement")]
    NoStatement,
    /// It would add certificates to the trusted ones.
    #[error("its bundle brings a certificate chain of its own")]
    CertificateChain,
    /// The name is not signed; cosign passes over a signature that names another key.
    #[error("its envelope names another key (`keyid`) than the one that made it: {0}")]
    OtherKeyId(String),
    #[error("its annotation {name} {fault}")]
    Annotation {
        name: &'static str,
        /// A predicate: "is missing", "cannot be read".
        fault: String,
    },
    #[error("its payload cannot be read: {0}")]
    Payload(String),
    #[error("it is an attestation and no signature: {0}")]
    OtherPredicate(String),
    /// Another version could mean something else.
    #[error("its statement is of another type, {0}")]
    OtherStatement(String),
    #[error("its payload is of another type, {0}")]
    OtherPayload(String),
    #[error("it signs another digest, {0}")]
    OtherDigest(String),
    #[error("it was made with a key, and the policy trusts no keys")]
    NoKeyTrusted,
    #[error("it was made with a certificate, and the policy trusts no identities")]
    NoIdentityTrusted,
    /// It is proven whose signature it is, and the policy's rule for this image does not accept it.
    #[error(transparent)]
    Signer(SignerMismatch),
    #[error("none of the policy's keys made this signature of this content")]
    WrongKey,
    #[error("its certificate's key did not make this signature of this content: {0}")]
    WrongSignature(String),
    /// The certificate cannot be read or is ambiguous.
    #[error("its certificate is not accepted: {0}")]
    Certificate(String),
    #[error("its certificate does not come from a trusted authority: {0}")]
    Untrusted(String),
    #[error("its certificate has no valid proof of publication (SCT): {0}")]
    Sct(String),
    #[error("its certificate was not valid when it was made: {0}")]
    NotValidThen(String),
    #[error("nothing proves when it was made: {0}")]
    NoTime(String),
    #[error("its timestamp is not taken: {0}")]
    Timestamp(String),
    #[error(
        "it was made at {made}, in the future (the clock says {now}): check this machine's clock"
    )]
    Future { made: Timestamp, now: Timestamp },
    #[error("it has no entry in a transparency log")]
    NoLogEntry,
    /// cosign makes one; several could contradict each other.
    #[error("it has {0} log entries where one is expected")]
    LogEntries(usize),
    #[error(
        "its entry is in a transparency log that is not trusted; a newer trusted root may know it (`trustedRoot`), or the policy's `rekorURL` names another"
    )]
    UnknownLog,
    /// Whoever has the key of a log that has ended could add to it.
    #[error("its entry was made at {made}, after the end of its transparency log ({end})")]
    LogEnded { made: Timestamp, end: Timestamp },
    #[error("the log's promise (SET) does not hold: {0}")]
    LogPromise(String),
    #[error("the log's proof does not hold: {0}")]
    LogProof(String),
    #[error("its log entry belongs to something else: {0}")]
    OtherLogEntry(String),
    /// A key of the policy made it, and the library that verifies the log does not support the key.
    #[error("its log entry cannot be verified with a key of this kind: {0}")]
    LogKey(String),
    #[error("its entry in a Rekor v2 log was made with another kind of key than P-256")]
    RekorV2Key,
    #[error("it was made by {subject}, with the issuer {issuer}: no identity of the policy fits")]
    OtherIdentity { subject: String, issuer: String },
}
