//! The entry in a transparency log that a signature brings along: which log, which generation of
//! logs, and what the library that verifies it takes more lightly than cosign does.
//!
//! The first generation (Rekor v1) promises with a time and a signature of its own (SET); the
//! second (Rekor v2) only proves, and the time comes from a timestamp authority. Which is which is
//! said in several places of an entry, and all of them must agree.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sigstore_verify::trust_root::TransparencyLog;
use sigstore_verify::types::bundle::{InclusionProof, TransparencyLogEntry};
use sigstore_verify::types::{Bundle, KindVersion};

use super::refusal::Refusal;
use super::verdict::LogEvidence;
use crate::foreign::brief;
use crate::hash::sha256;
use crate::trust::TrustRoot;

/// A log's generation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Generation {
    /// Rekor v1.
    First,
    /// Rekor v2.
    Second,
}

/// The one entry of a signature, in a log that is trusted.
#[derive(Debug)]
pub(super) struct Entry<'a> {
    pub(super) entry: &'a TransparencyLogEntry,
    pub(super) log: &'a TransparencyLog,
    pub(super) generation: Generation,
}

/// Who an entry of the second generation says has signed.
pub(super) enum LoggedSigner<'a> {
    Certificate(&'a [u8]),
    Key(&'a [u8]),
}

impl<'a> Entry<'a> {
    /// Finds the entry and its log. Proofs and promises are not verified here, only that they can
    /// be understood in one way.
    pub(super) fn read(bundle: &'a Bundle, root: &'a TrustRoot) -> Result<Self, Refusal> {
        let entry = match bundle.verification_material.tlog_entries.as_slice() {
            [] => return Err(Refusal::NoLogEntry),
            [entry] => entry,
            several => return Err(Refusal::LogEntries(several.len())),
        };
        let log = root.log(&entry.log_id.key_id).ok_or(Refusal::UnknownLog)?;
        let generation = match entry.kind_version {
            KindVersion::HashedRekordV002 => Generation::Second,
            _ => Generation::First,
        };
        let read = Self {
            entry,
            log,
            generation,
        };
        read.check_promise()?;
        if let Some(proof) = &entry.inclusion_proof {
            read.check_checkpoint(proof)?;
        }
        Ok(read)
    }

    /// What is said of it once it is verified.
    pub(super) fn evidence(&self) -> LogEvidence {
        LogEvidence {
            log: brief(&self.log.base_url),
            index: self.entry.log_index.get(),
        }
    }

    fn check_promise(&self) -> Result<(), Refusal> {
        let broken = |why: &str| Err(Refusal::LogPromise(why.to_owned()));
        if self.entry.inclusion_promise.is_none() {
            return Ok(());
        }
        if self.generation == Generation::Second {
            return broken("logs of this kind do not promise");
        }
        if self.entry.integrated_time.is_none() {
            return broken("it has no time");
        }
        if !self
            .log
            .public_key
            .key_details
            .as_str()
            .starts_with("PKIX_ECDSA_P256")
        {
            return broken("the log's key is not of the kind that promises are made with");
        }
        Ok(())
    }

    fn check_checkpoint(&self, proof: &InclusionProof) -> Result<(), Refusal> {
        let broken = |why: &str| Err(Refusal::LogProof(why.to_owned()));
        let Some(checkpoint) = proof.checkpoint.checkpoint() else {
            return broken("it has no checkpoint");
        };
        if proof.checkpoint.envelope().matches("\n\n").count() != 1 {
            return broken("its checkpoint has more than two parts");
        }
        match self.generation {
            Generation::First if !has_tree_number(checkpoint.origin()) => {
                broken("its checkpoint is of another kind than its entry")
            }
            Generation::Second => {
                let host = host(&self.log.base_url);
                let signed = checkpoint.signatures().iter().any(|one| one.name == host);
                if host.is_empty() || checkpoint.origin() != host || !signed {
                    return broken("its checkpoint is one of another log");
                }
                Ok(())
            }
            Generation::First => Ok(()),
        }
    }

    /// The second generation keeps nothing but what the signature itself holds, in one fixed form:
    /// writing that form and comparing is all there is to understand. It is written for P-256.
    pub(super) fn check_second_body(
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
        if is_of_another_key(self.entry.canonicalized_body.as_bytes()) {
            return Err(Refusal::SecondLogKey);
        }
        Err(Refusal::OtherLogEntry(
            "its body is not that of this signature".to_owned(),
        ))
    }
}

/// Whether a body says that another kind of key made it. Decides nothing but the reason.
fn is_of_another_key(body: &[u8]) -> bool {
    let text = String::from_utf8_lossy(body);
    let details = text.split_once(r#""keyDetails":""#);
    details.is_some_and(|(_, kind)| !kind.starts_with(r#"PKIX_ECDSA_P256_SHA_256""#))
}

/// `rekor.example - 1193050959916656506`: the first generation numbers its trees.
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
    fn logs_are_told_apart_by_their_names() {
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
