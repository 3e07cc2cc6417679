//! Verifies signatures made with a key that the policy names. The log entry is verified only if the
//! policy requires one, or if it limits the time in which a key is accepted: then a valid entry proves
//! the time of the signature.

use jiff::Timestamp;
use schedkit_core::Digest;
use sigstore_verify::trust_root::TrustedRoot;
use sigstore_verify::types::{Artifact, Bundle as Parsed, DerPublicKey, Sha256Hash};
use sigstore_verify::{
    Error, PublicKeyVerificationPolicy, TransparencyLogError, VerificationResult, Verifier,
};

use super::bundle::Bundle;
use super::by_certificate;
use super::log_entry::{Entry, LoggedSigner, RekorVersion};
use super::refusal::Refusal;
use super::simple_signing::SimpleSignature;
use super::verdict::{Accepted, Evidence, Format, Signer};
use crate::trust::{LogForKeys, NamedKey, Rule, SignerPolicy};
use crate::untrusted::brief;

/// A signature with its log entry.
struct Logged<'a> {
    bundle: &'a Parsed,
    /// The same without its timestamps.
    unstamped: &'a Parsed,
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
    let read_log = || {
        let unstamped = bundle.without_timestamps();
        let entry = Entry::read(&unstamped, policy.root())?;
        if entry.version == RekorVersion::V2 {
            let signer = LoggedSigner::Key(named.key.der());
            entry.check_v2_body(bundle.message(), bundle.signature(), &signer)?;
        }
        let logged = Logged {
            bundle: bundle.parsed(),
            unstamped: &unstamped,
            entry,
            artifact: Artifact::from(Sha256Hash::new(*digest.as_bytes())),
        };
        check_log(policy, named, &logged, now, Format::Bundle)
    };
    let evidence = evidence(policy, Format::Bundle, read_log)?;
    Ok(accept(rule, named, evidence))
}

/// Verifies a `.sig` layer without a certificate.
pub(super) fn verify_simple(
    policy: &SignerPolicy,
    signature: &SimpleSignature<'_>,
    now: Timestamp,
) -> Result<Accepted, Refusal> {
    let (rule, named) = find_key(policy, signature.payload(), signature.signature())?;
    let read_log = || {
        let bundle = signature.to_bundle()?;
        let logged = Logged {
            entry: Entry::read(&bundle, policy.root())?,
            bundle: &bundle,
            unstamped: &bundle,
            artifact: Artifact::from(signature.payload()),
        };
        check_log(policy, named, &logged, now, Format::SimpleSigning)
    };
    let evidence = evidence(policy, Format::SimpleSigning, read_log)?;
    Ok(accept(rule, named, evidence))
}

/// What is proven beside the signature, as far as the policy asks. Where it needs no log entry, one
/// that proves nothing is ignored.
fn evidence(
    policy: &SignerPolicy,
    format: Format,
    read_log: impl FnOnce() -> Result<Evidence, Refusal>,
) -> Result<Evidence, Refusal> {
    let without_log = Evidence {
        format,
        log: None,
        integrated_time: None,
        timestamps: Vec::new(),
    };
    match policy.log_for_keys() {
        LogForKeys::Required => read_log(),
        LogForKeys::ForTime => Ok(read_log().unwrap_or(without_log)),
        LogForKeys::Optional => Ok(without_log),
    }
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

/// Verifies the log entry of a signature by key.
fn check_log(
    policy: &SignerPolicy,
    named: &NamedKey,
    logged: &Logged<'_>,
    now: Timestamp,
    format: Format,
) -> Result<Evidence, Refusal> {
    let entry = &logged.entry;
    // The library checks this with its own clock and returns the same error for other reasons.
    let time = entry.entry.integrated_time;
    if let Some(made) = time.filter(|&time| time > now) {
        return Err(Refusal::Future { made, now });
    }
    let root = policy.root().for_key(&entry.entry.log_id.key_id);
    let root = root.map_err(|_| Refusal::UnknownLog)?;
    let result = logged.verify(&root, named, now).map_err(refusal)?;
    if !result.tlog_verified() {
        return Err(Refusal::NoLogEntry);
    }
    let times = result.verified_timestamps();
    by_certificate::check_not_in_future(times, now)?;
    if entry.has_ended(now) {
        if times.is_empty() {
            return Err(Refusal::NoTime(
                "its log has ended, and no timestamp shows that the entry is older".to_owned(),
            ));
        }
        entry.check_not_after_end(times)?;
    }
    let integrated_time = result.integrated_time();
    Ok(Evidence {
        format,
        log: Some(entry.evidence()),
        integrated_time,
        timestamps: match integrated_time {
            Some(_) => Vec::new(),
            None => times.to_vec(),
        },
    })
}

impl Logged<'_> {
    /// A promise is a time: the timestamps beside it are ignored, as cosign ignores them. Otherwise
    /// they are the only proof of time, and invalid ones are ignored where none is needed.
    fn verify(
        &self,
        root: &TrustedRoot,
        named: &NamedKey,
        now: Timestamp,
    ) -> Result<VerificationResult, Error> {
        let key = PublicKeyVerificationPolicy::new(DerPublicKey::new(named.key.der().to_vec()));
        let verifier = Verifier::new(root)?;
        let verify = |bundle: &Parsed| verifier.verify(self.artifact.clone(), bundle, &key);
        if self.entry.entry.inclusion_promise.is_some() {
            return verify(self.unstamped);
        }
        match verify(self.bundle) {
            Err(Error::Timestamp(_)) if !self.entry.has_ended(now) => verify(self.unstamped),
            result => result,
        }
    }
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
