//! Verifies signatures made with a short-lived certificate ("keyless"): somebody proved an identity,
//! got a certificate for ten minutes, signed, and the signature was entered in a log.
//!
//! sigstore-verify does the cryptography (chain, SCT, log, timestamps, signature, and that the log
//! entry is about this signature). What it accepts and cosign does not is checked here first; that
//! subject and issuer match the policy is checked last, on a verified certificate.

use jiff::Timestamp;
use schedkit_core::Digest;
use sigstore_verify::types::{Artifact, Bundle as Parsed, Sha256Hash};
use sigstore_verify::{
    CertificateError, Error, TimestampError, TransparencyLogError, VerificationPolicy,
    VerificationResult, Verifier,
};

use super::bundle::Bundle;
use super::certificate::{self, Leaf};
use super::log_entry::{Entry, LoggedSigner, RekorVersion};
use super::refusal::Refusal;
use super::simple_signing::SimpleSignature;
use super::verdict::{Accepted, Evidence, Format, Signer};
use crate::trust::{NarrowError, SignerPolicy};
use crate::untrusted::brief;

/// A certificate and the log entry of what it signed.
struct Signing<'a> {
    leaf: Leaf,
    entry: Entry<'a>,
}

/// Verifies a bundle with a certificate.
pub(super) fn verify_bundle(
    policy: &SignerPolicy,
    bundle: &Bundle,
    digest: &Digest,
    now: Timestamp,
) -> Result<Accepted, Refusal> {
    if policy.identities().is_empty() {
        return Err(Refusal::NoIdentityTrusted);
    }
    let der = bundle
        .certificate()
        .ok_or(Refusal::NoIdentityTrusted)?
        .as_bytes();
    let leaf = certificate::read(der)?;
    bundle.check_key_id(&leaf.public_key)?;
    let entry = Entry::read(bundle.parsed(), policy.root())?;
    let signing = Signing { leaf, entry };
    let artifact = Artifact::from(Sha256Hash::new(*digest.as_bytes()));
    let result = match signing.entry.version {
        RekorVersion::V1 => {
            check_has_promise(&signing.entry)?;
            check_not_in_future(signing.entry.entry.integrated_time.as_slice(), now)?;
            verify_cryptography(policy, &signing, artifact, &bundle.without_timestamps())?
        }
        RekorVersion::V2 => {
            check_has_no_log_time(&signing.entry)?;
            let signer = LoggedSigner::Certificate(der);
            let (message, signature) = (bundle.message(), bundle.signature());
            signing.entry.check_v2_body(message, signature, &signer)?;
            verify_cryptography(policy, &signing, artifact, bundle.parsed())?
        }
    };
    accept(policy, signing, &result, Format::Bundle, now)
}

/// Verifies a `.sig` layer with a certificate.
pub(super) fn verify_simple(
    policy: &SignerPolicy,
    signature: &SimpleSignature<'_>,
    now: Timestamp,
) -> Result<Accepted, Refusal> {
    if policy.identities().is_empty() {
        return Err(Refusal::NoIdentityTrusted);
    }
    let der = signature.certificate().ok_or(Refusal::NoIdentityTrusted)?;
    let leaf = certificate::read(der.as_bytes())?;
    if leaf.old_issuer.is_none() {
        return Err(Refusal::Certificate(
            "it names its issuer only in the newer extension, which this format does not use"
                .to_owned(),
        ));
    }
    if leaf.is_ed25519 {
        return Err(Refusal::Certificate(
            "its key is an Ed25519 key, with which cosign verifies nothing in this format"
                .to_owned(),
        ));
    }
    let bundle = signature.to_bundle()?;
    let entry = Entry::read(&bundle, policy.root())?;
    let signing = Signing { leaf, entry };
    check_has_promise(&signing.entry)?;
    check_not_in_future(signing.entry.entry.integrated_time.as_slice(), now)?;
    let artifact = Artifact::from(signature.payload());
    let result = verify_cryptography(policy, &signing, artifact, &bundle)?;
    accept(policy, signing, &result, Format::SimpleSigning, now)
}

/// Rekor v1: the log states the time, and its promise (SET) signs it. The library would accept a
/// timestamp beside an entry without promise; cosign does not.
fn check_has_promise(entry: &Entry<'_>) -> Result<(), Refusal> {
    if entry.entry.inclusion_promise.is_none() {
        return Err(Refusal::NoTime(
            "the log entry has no promise (SET)".to_owned(),
        ));
    }
    Ok(())
}

/// Rekor v2: a timestamp authority states the time, and the log states none.
fn check_has_no_log_time(entry: &Entry<'_>) -> Result<(), Refusal> {
    if entry.entry.integrated_time.is_some() {
        return Err(Refusal::NoTime(
            "the log entry states a time without a promise".to_owned(),
        ));
    }
    Ok(())
}

fn verify_cryptography(
    policy: &SignerPolicy,
    signing: &Signing<'_>,
    artifact: Artifact<'_>,
    bundle: &Parsed,
) -> Result<VerificationResult, Refusal> {
    let Signing { leaf, entry } = signing;
    let log = &entry.entry.log_id.key_id;
    let root = policy
        .root()
        .for_certificate(log, leaf.not_before, leaf.not_after);
    let root = root.map_err(|error| match error {
        NarrowError::UnknownLog => Refusal::UnknownLog,
        NarrowError::NoAuthority => {
            Refusal::Untrusted("none was valid during the certificate's life".to_owned())
        }
    })?;
    let verifier = Verifier::new(&root).map_err(refusal)?;
    let result = verifier.verify(artifact, bundle, &VerificationPolicy::any_identity());
    result.map_err(refusal)
}

fn accept(
    policy: &SignerPolicy,
    signing: Signing<'_>,
    result: &VerificationResult,
    format: Format,
    now: Timestamp,
) -> Result<Accepted, Refusal> {
    let Signing { leaf, entry } = signing;
    // Always true with the verification policy above; checked again because everything depends on
    // it.
    let complete = result.certificate_verified() && result.sct_verified() && result.tlog_verified();
    if !complete {
        return Err(Refusal::WrongSignature(
            "not everything was verified".to_owned(),
        ));
    }
    let integrated_time = result.integrated_time();
    if entry.version == RekorVersion::V1 && integrated_time.is_none() {
        return Err(Refusal::NoTime(
            "the log's time was not verified".to_owned(),
        ));
    }
    let times = result.verified_timestamps();
    check_not_in_future(times, now)?;
    entry.check_not_after_end(times)?;
    let Leaf {
        subject, issuer, ..
    } = leaf;
    let Some(rule) = policy.identity_of(&issuer, &subject) else {
        let (subject, issuer) = (brief(&subject), brief(&issuer));
        return Err(Refusal::OtherIdentity { subject, issuer });
    };
    let timestamps = match entry.version {
        RekorVersion::V1 => Vec::new(),
        RekorVersion::V2 => times.to_vec(),
    };
    let log = Some(entry.evidence());
    Ok(Accepted {
        signer: Signer::Identity { subject, issuer },
        rule,
        evidence: Evidence {
            format,
            log,
            integrated_time,
            timestamps,
        },
    })
}

/// Also called before the library, which uses its own clock and returns the same error for a
/// certificate that was not valid.
pub(super) fn check_not_in_future(times: &[Timestamp], now: Timestamp) -> Result<(), Refusal> {
    if let Some(&made) = times.iter().find(|&&time| time > now) {
        return Err(Refusal::Future { made, now });
    }
    Ok(())
}

/// Maps the library's errors to refusals.
pub(super) fn refusal(error: Error) -> Refusal {
    let text = brief(&error.to_string());
    match error {
        Error::SignatureInvalid(_) => Refusal::WrongSignature(text),
        Error::Certificate(error) => match error {
            CertificateError::Malformed(_) => Refusal::Certificate(text),
            CertificateError::Sct(_) => Refusal::Sct(text),
            CertificateError::NotYetValid { .. } | CertificateError::Expired { .. } => {
                Refusal::NotValidThen(text)
            }
            CertificateError::ChainInvalid(why)
                if why.contains("CertExpired") || why.contains("CertNotValidYet") =>
            {
                Refusal::NotValidThen(text)
            }
            _ => Refusal::Untrusted(text),
        },
        Error::TransparencyLog(error) => match error {
            TransparencyLogError::UnknownLog { .. } => Refusal::UnknownLog,
            TransparencyLogError::InclusionPromise(_) => Refusal::LogPromise(text),
            TransparencyLogError::IntegratedTime(_) => Refusal::NotValidThen(text),
            TransparencyLogError::InclusionProof(_) | TransparencyLogError::Checkpoint(_) => {
                Refusal::LogProof(text)
            }
            _ => Refusal::OtherLogEntry(text),
        },
        Error::Timestamp(TimestampError::NoVerifiedTimestamp(_)) => Refusal::NoTime(text),
        Error::Timestamp(_) => Refusal::Timestamp(text),
        Error::ArtifactMismatch(_) => Refusal::OtherLogEntry(text),
        Error::InvalidTrustRoot(_) => Refusal::Sct(text),
        _ => Refusal::Bundle(text),
    }
}
