//! Why a candidate does not count: one variant a check, one sentence a variant.
//!
//! Texts from outside are cut and made printable when a refusal is made, never later.

use jiff::Timestamp;

/// Why one signature is not accepted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The registry lists it and does not have it.
    #[error("the registry lists it and does not have it")]
    Gone,
    /// Its manifest cannot be read.
    #[error("its manifest cannot be read: {0}")]
    Manifest(String),
    /// It is larger than any signature.
    #[error("it has {size} bytes, and no signature needs more than {limit}")]
    TooBig {
        /// What the manifest says.
        size: u64,
        /// What is taken.
        limit: usize,
    },
    /// It was made for another image, or moved here from one.
    #[error("it refers to another image, {0}")]
    OtherSubject(String),
    /// cosign puts one bundle into one manifest; another count could be read in two ways.
    #[error("its manifest has {0} layers where a signature has one")]
    Layers(usize),
    /// The bundle is not what it should be.
    #[error("its bundle cannot be read: {0}")]
    Bundle(String),
    /// Older bundles prove less.
    #[error("its bundle is of another version than 0.3: {0}")]
    BundleVersion(String),
    /// A bundle around a bare signature says nothing about what it means.
    #[error("its bundle holds a bare signature instead of a signed statement")]
    NoStatement,
    /// A chain would bring certificates of its own to the trusted ones.
    #[error("its bundle brings a certificate chain of its own")]
    CertificateChain,
    /// One of the `.sig` format's annotations is missing or unreadable.
    #[error("its annotation {name} {fault}")]
    Annotation {
        /// Which one.
        name: &'static str,
        /// `is missing`, `cannot be read`.
        fault: String,
    },
    /// The payload is no statement about an image.
    #[error("its payload cannot be read: {0}")]
    Payload(String),
    /// Signed, but something that is not a signature of an image.
    #[error("it is an attestation and no signature: {0}")]
    OtherPredicate(String),
    /// A statement of another version could mean something else.
    #[error("its statement is of another type, {0}")]
    OtherStatement(String),
    /// A payload for something else than images.
    #[error("its payload is of another type, {0}")]
    OtherPayload(String),
    /// The signature is one of another image.
    #[error("it signs another digest, {0}")]
    OtherDigest(String),
    /// The policy has no keys.
    #[error("it was made with a key, and the policy trusts no keys")]
    NoKeyTrusted,
    /// The policy has no identities.
    #[error("it was made with a certificate, and the policy trusts no identities")]
    NoIdentityTrusted,
    /// None of the keys made it, or its content was changed afterwards.
    #[error("none of the policy's keys made this signature of this content")]
    WrongKey,
    /// The certificate's key did not make it, or its content was changed afterwards.
    #[error("its certificate's key did not make this signature of this content: {0}")]
    WrongSignature(String),
    /// The certificate cannot be read, or not in one way only.
    #[error("its certificate is not taken: {0}")]
    Certificate(String),
    /// Nobody we trust issued the certificate.
    #[error("its certificate does not come from a trusted authority: {0}")]
    Untrusted(String),
    /// The certificate is not in a certificate log that we trust.
    #[error("its certificate has no valid proof of publication (SCT): {0}")]
    Sct(String),
    /// It was made when the certificate was not valid.
    #[error("its certificate was not valid when it was made: {0}")]
    NotValidThen(String),
    /// Nothing proves when it was made.
    #[error("nothing proves when it was made: {0}")]
    NoTime(String),
    /// A timestamp that no trusted authority made.
    #[error("its timestamp is not taken: {0}")]
    Timestamp(String),
    /// It is said to have been made later than now.
    #[error(
        "it says that it was made at {made}, which has not come yet (the clock says {now}): check this machine's clock"
    )]
    Future {
        /// What it says.
        made: Timestamp,
        /// What the clock says.
        now: Timestamp,
    },
    /// The transparency log does not know it.
    #[error("it has no entry in a transparency log")]
    NoLogEntry,
    /// One entry is what cosign makes; several could contradict each other.
    #[error("it has {0} log entries where one is expected")]
    LogEntries(usize),
    /// An entry in a log that the trusted root does not have.
    #[error(
        "its entry is in a transparency log that is not trusted; a newer trusted root may know it (`trustedRoot`)"
    )]
    UnknownLog,
    /// The log did not promise, or not this.
    #[error("the log's promise (SET) does not hold: {0}")]
    LogPromise(String),
    /// The entry is not proven to be in the log.
    #[error("the log's proof does not hold: {0}")]
    LogProof(String),
    /// The entry is about something else.
    #[error("its log entry belongs to something else: {0}")]
    OtherLogEntry(String),
    /// One of the policy's keys made it, and the library that verifies the log does not know it.
    #[error("its log entry is not verified with a key of this kind: {0}")]
    LogKey(String),
    /// The second generation's entries are known to us in one form.
    #[error(
        "an entry of the newer log (Rekor v2) made with another key than P-256 is not verified"
    )]
    SecondLogKey,
    /// Somebody signed it, and not whom we trust.
    #[error("it was made by {subject}, vouched for by {issuer}: no identity of the policy fits")]
    OtherIdentity {
        /// The certificate's subject.
        subject: String,
        /// The certificate's issuer of identities.
        issuer: String,
    },
}
