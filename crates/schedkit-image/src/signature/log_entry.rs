//! The transparency log entry of a signature: which log, which version of Rekor, and checks that
//! cosign makes and the library does not.
//!
//! Rekor v1 signs a promise with a time (SET); Rekor v2 only proves inclusion, and the time comes
//! from a timestamp authority. Several fields of an entry depend on the version, and all of them
//! must agree.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use sigstore_verify::trust_root::TransparencyLog;
use sigstore_verify::types::bundle::{InclusionProof, TransparencyLogEntry};
use sigstore_verify::types::{Bundle, KindVersion};

use super::refusal::Refusal;
use super::verdict::LogEvidence;
use crate::hash::sha256;
use crate::trust::TrustRoot;
use crate::untrusted::brief;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RekorVersion {
    V1,
    V2,
}

/// The only entry of a signature, in a trusted log.
#[derive(Debug)]
pub(super) struct Entry<'a> {
    pub(super) entry: &'a TransparencyLogEntry,
    pub(super) log: &'a TransparencyLog,
    pub(super) version: RekorVersion,
}

/// The signer in an entry of Rekor v2, in DER form.
pub(super) enum LoggedSigner<'a> {
    Certificate(&'a [u8]),
    Key(&'a [u8]),
}

impl<'a> Entry<'a> {
    /// Finds the entry and its log. Checks that proof and promise are unambiguous; the library
    /// verifies them.
    pub(super) fn read(bundle: &'a Bundle, root: &'a TrustRoot) -> Result<Self, Refusal> {
        let entry = match bundle.verification_material.tlog_entries.as_slice() {
            [] => return Err(Refusal::NoLogEntry),
            [entry] => entry,
            several => return Err(Refusal::LogEntries(several.len())),
        };
        let log = root.log(&entry.log_id.key_id).ok_or(Refusal::UnknownLog)?;
        let version = match entry.kind_version {
            KindVersion::HashedRekordV002 => RekorVersion::V2,
            _ => RekorVersion::V1,
        };
        let read = Self {
            entry,
            log,
            version,
        };
        read.check_promise()?;
        if let Some(proof) = &entry.inclusion_proof {
            read.check_checkpoint(proof)?;
        }
        Ok(read)
    }

    /// For the report, once the entry is verified.
    pub(super) fn evidence(&self) -> LogEvidence {
        LogEvidence {
            log: brief(&self.log.base_url),
            index: self.entry.log_index.get(),
        }
    }

    /// Whether the log accepts no further entries. What is entered nevertheless proves nothing.
    pub(super) fn has_ended(&self, now: Timestamp) -> bool {
        self.end().is_some_and(|end| end < now)
    }

    /// Checks the proven times of an entry against the end of its log. The library does it for
    /// promises only, which Rekor v2 does not make.
    pub(super) fn check_not_after_end(&self, times: &[Timestamp]) -> Result<(), Refusal> {
        let Some(end) = self.end() else { return Ok(()) };
        match times.iter().find(|&&time| time > end) {
            Some(&made) => Err(Refusal::LogEnded { made, end }),
            None => Ok(()),
        }
    }

    fn end(&self) -> Option<Timestamp> {
        self.log.public_key.valid_for.and_then(|window| window.end)
    }

    fn check_promise(&self) -> Result<(), Refusal> {
        let refused = |why: &str| Err(Refusal::LogPromise(why.to_owned()));
        if self.entry.inclusion_promise.is_none() {
            return Ok(());
        }
        if self.version == RekorVersion::V2 {
            return refused("Rekor v2 makes no promises");
        }
        if self.entry.integrated_time.is_none() {
            return refused("it has no time");
        }
        if !self
            .log
            .public_key
            .key_details
            .as_str()
            .starts_with("PKIX_ECDSA_P256")
        {
            return refused("the log's key is no P-256 key");
        }
        Ok(())
    }

    fn check_checkpoint(&self, proof: &InclusionProof) -> Result<(), Refusal> {
        let refused = |why: &str| Err(Refusal::LogProof(why.to_owned()));
        let Some(checkpoint) = proof.checkpoint.checkpoint() else {
            return refused("it has no checkpoint");
        };
        if proof.checkpoint.envelope().matches("\n\n").count() != 1 {
            return refused("its checkpoint has more than two parts");
        }
        match self.version {
            RekorVersion::V1 if !has_tree_number(checkpoint.origin()) => {
                refused("its checkpoint is of another kind than its entry")
            }
            RekorVersion::V2 => {
                let host = host(&self.log.base_url);
                let signed = checkpoint.signatures().iter().any(|one| one.name == host);
                if host.is_empty() || checkpoint.origin() != host || !signed {
                    return refused("its checkpoint is one of another log");
                }
                Ok(())
            }
            RekorVersion::V1 => Ok(()),
        }
    }

    /// An entry of Rekor v2 holds only what the signature itself holds, in one fixed form: this
    /// writes that form, for P-256, and compares.
    pub(super) fn check_v2_body(
        &self,
        message: &[u8],
        signature: &[u8],
        signer: &LoggedSigner<'_>,
    ) -> Result<(), Refusal> {
        let (field, der) = match signer {
            LoggedSigner::Certificate(der) => ("x509Certificate", der),
            LoggedSigner::Key(der) => ("publicKey", der),
        };
        let expected = format!(
            r#"{{"apiVersion":"0.0.2","kind":"hashedrekord","spec":{{"hashedRekordV002":{{"data":{{"algorithm":"SHA2_256","digest":"{}"}},"signature":{{"content":"{}","verifier":{{"keyDetails":"PKIX_ECDSA_P256_SHA_256","{field}":{{"rawBytes":"{}"}}}}}}}}}}}}"#,
            STANDARD.encode(sha256(message).as_bytes()),
            STANDARD.encode(signature),
            STANDARD.encode(der),
        );
        if self.entry.canonicalized_body.as_bytes() == expected.as_bytes() {
            return Ok(());
        }
        if has_other_key_kind(self.entry.canonicalized_body.as_bytes()) {
            return Err(Refusal::RekorV2Key);
        }
        Err(Refusal::OtherLogEntry(
            "its body is not that of this signature".to_owned(),
        ))
    }
}

/// Whether the body names another kind of key. Decides only the reason of the refusal.
fn has_other_key_kind(body: &[u8]) -> bool {
    let text = String::from_utf8_lossy(body);
    let details = text.split_once(r#""keyDetails":""#);
    details.is_some_and(|(_, kind)| !kind.starts_with(r#"PKIX_ECDSA_P256_SHA_256""#))
}

/// `rekor.example - 1193050959916656506`: Rekor v1 numbers its trees.
fn has_tree_number(origin: &str) -> bool {
    origin.rsplit_once(" - ").is_some_and(|(_, number)| {
        !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
    })
}

fn host(url: &str) -> &str {
    let rest = url.split_once("://").map_or("", |(_, rest)| rest);
    rest.split(['/', ':', '?', '#']).next().unwrap_or("")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_rekor_are_told_apart_by_the_origin() {
        assert!(has_tree_number("rekor.sigstore.dev - 1193050959916656506"));
        for other in ["rekor.sigstore.dev", "rekor - ", "rekor - 1a", "rekor-1"] {
            assert!(!has_tree_number(other), "{other}");
        }
        assert_eq!(
            host("https://log2025-1.rekor.sigstore.dev"),
            "log2025-1.rekor.sigstore.dev"
        );
        assert_eq!(host("https://log.example:8443/a"), "log.example");
        assert_eq!(host("log.example"), "");
    }
}
