//! Verifies signatures made with a key that the policy names. The log entry is verified only when
//! the policy requires one.

use jiff::Timestamp;
use schedkit_core::Digest;
use sigstore_verify::types::{Artifact, Bundle as Parsed, DerPublicKey, Sha256Hash};
use sigstore_verify::{Error, PublicKeyVerificationPolicy, TransparencyLogError, Verifier};

use super::bundle::Bundle;
use super::by_certificate;
use super::log_entry::{Entry, LoggedSigner, RekorVersion};
use super::refusal::Refusal;
use super::simple_signing::SimpleSignature;
use super::verdict::{Accepted, Evidence, Format, LogEvidence, Signer};
use crate::trust::{LogForKeys, NamedKey, Rule, SignerPolicy};
use crate::untrusted::brief;

/// A signature with its log entry.
struct Logged<'a> {
    bundle: &'a Parsed,
    entry: Entry<'a>,
    artifact: Artifact<'a>,
}

/// Verifies a bundle without a certificate.
pub(super) fn verify_bundle(
    policy: &SignerPolicy,
    bundle: &Bundle,
    digest: &Digest,
    now: Timestamp,
) -> Result<Accepted, Refusal> {
    let (rule, named) = find_key(policy, bundle.message(), bundle.signature())?;
    bundle.check_key_id(named.key.der())?;
    let mut evidence = without_log(Format::Bundle);
    if policy.log_for_keys() == LogForKeys::Required {
        let logged = bundle.without_timestamps();
        let entry = Entry::read(&logged, policy.root())?;
        // Only a timestamp proves that an entry without a promise is older than its log's end.
        let needs_timestamps = entry.has_ended(now) && entry.entry.inclusion_promise.is_none();
        if entry.version == RekorVersion::V2 {
            let signer = LoggedSigner::Key(named.key.der());
            entry.check_v2_body(bundle.message(), bundle.signature(), &signer)?;
        }
        let logged = Logged {
            bundle: match needs_timestamps {
                true => bundle.parsed(),
                false => &logged,
            },
            entry,
            artifact: Artifact::from(Sha256Hash::new(*digest.as_bytes())),
        };
        let (log, time) = check_log(policy, named, logged, now)?;
        evidence.log = Some(log);
        evidence.integrated_time = time;
    }
    Ok(accept(rule, named, evidence))
}

/// Verifies a `.sig` layer without a certificate.
pub(super) fn verify_simple(
    policy: &SignerPolicy,
    signature: &SimpleSignature<'_>,
    now: Timestamp,
) -> Result<Accepted, Refusal> {
    let (rule, named) = find_key(policy, signature.payload(), signature.signature())?;
    let mut evidence = without_log(Format::SimpleSigning);
    if policy.log_for_keys() == LogForKeys::Required {
        let logged = signature.to_bundle()?;
        let entry = Entry::read(&logged, policy.root())?;
        let logged = Logged {
            bundle: &logged,
            entry,
            artifact: Artifact::from(signature.payload()),
        };
        let (log, time) = check_log(policy, named, logged, now)?;
        evidence.log = Some(log);
        evidence.integrated_time = time;
    }
    Ok(accept(rule, named, evidence))
}

fn find_key<'a>(
    policy: &'a SignerPolicy,
    message: &[u8],
    signature: &[u8],
) -> Result<(Rule, &'a NamedKey), Refusal> {
    if policy.keys().is_empty() {
        return Err(Refusal::NoKeyTrusted);
    }
    policy.key_of(message, signature).ok_or(Refusal::WrongKey)
}

/// Verifies the log entry of a signature by key. Returns when the log recorded it.
fn check_log(
    policy: &SignerPolicy,
    named: &NamedKey,
    logged: Logged<'_>,
    now: Timestamp,
) -> Result<(LogEvidence, Option<Timestamp>), Refusal> {
    let Logged {
        bundle,
        entry,
        artifact,
    } = logged;
    // The library checks this with its own clock and returns the same error for other reasons.
    let time = entry.entry.integrated_time;
    if let Some(made) = time.filter(|&time| time > now) {
        return Err(Refusal::Future { made, now });
    }
    let root = policy.root().for_key(&entry.entry.log_id.key_id);
    let root = root.map_err(|_| Refusal::UnknownLog)?;
    let key = PublicKeyVerificationPolicy::new(DerPublicKey::new(named.key.der().to_vec()));
    let result = Verifier::new(&root)
        .and_then(|verifier| verifier.verify(artifact, bundle, &key))
        .map_err(refusal)?;
    if !result.tlog_verified() {
        return Err(Refusal::NoLogEntry);
    }
    if entry.has_ended(now) {
        let times = result.verified_timestamps();
        if times.is_empty() {
            return Err(Refusal::NoTime(
                "its log has ended, and no timestamp shows that the entry is older".to_owned(),
            ));
        }
        entry.check_not_after_end(times)?;
    }
    Ok((entry.evidence(), result.integrated_time()))
}

/// Maps the library's errors to refusals, none of which mentions certificates.
fn refusal(error: Error) -> Refusal {
    let text = brief(&error.to_string());
    match error {
        Error::TransparencyLog(TransparencyLogError::IntegratedTime(_)) => Refusal::NoTime(text),
        Error::TransparencyLog(_) | Error::ArtifactMismatch(_) => by_certificate::refusal(error),
        // The key made this signature: `find_key` checked it before.
        Error::SignatureInvalid(_) | Error::Crypto(_) | Error::UnsupportedArtifact(_) => {
            Refusal::LogKey(text)
        }
        Error::Timestamp(_) => by_certificate::refusal(error),
        _ => Refusal::Bundle(text),
    }
}

fn without_log(format: Format) -> Evidence {
    Evidence {
        format,
        log: None,
        integrated_time: None,
        timestamps: Vec::new(),
    }
}

fn accept(rule: Rule, named: &NamedKey, evidence: Evidence) -> Accepted {
    let signer = Signer::Key {
        fingerprint: named.key.fingerprint().clone(),
        path: named.path().display().to_string(),
    };
    Accepted {
        signer,
        rule,
        evidence,
    }
}
