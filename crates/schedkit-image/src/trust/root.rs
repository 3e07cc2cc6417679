//! The trusted root: certificate authorities, logs and timestamp authorities of a Sigstore instance,
//! from a `trusted_root.json`.
//!
//! The public instance's file is embedded, so that verification needs no network. `docs/trust.md`
//! says how to renew it. For each signature the root is narrowed to the one log and to the
//! authorities that were valid then, because the library would otherwise accept one log's proof for
//! another and an authority at a time when its certificates were not valid.

mod chain;
mod outline;

use std::path::PathBuf;

pub use chain::ChainFault;
use chain::Purpose;

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use schedkit_core::Digest;
use sigstore_verify::Verifier;
use sigstore_verify::trust_root::{CertificateAuthority, TransparencyLog, TrustedRoot};
use sigstore_verify::types::{HashAlgorithm, LogKeyId, TimeRange};
use x509_cert::Certificate;
use x509_cert::der::Decode;
use x509_cert::time::Time;

use crate::hash::sha256;
use crate::untrusted::brief;

const PUBLIC_GOOD: &str = include_str!("public_good_root.json");
/// When the embedded file was taken from the public instance.
const PUBLIC_GOOD_TAKEN: &str = "2026-10-23";
/// Without the version.
const MEDIA_TYPE: &str = "application/vnd.dev.sigstore.trustedroot";
const MAX_ENTRIES: usize = 64;

#[derive(Debug, Clone)]
pub struct TrustRoot {
    parsed: TrustedRoot,
    authorities: Vec<(CertificateAuthority, TimeRange)>,
    digest: Digest,
    origin: RootOrigin,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RootOrigin {
    /// The public instance, embedded in this program.
    PublicGood {
        /// The date on which it was taken.
        taken: &'static str,
    },
    /// Fetched by TUF.
    Tuf {
        checked_at: Timestamp,
        mirror: String,
    },
    /// Named by the policy.
    File(PathBuf),
}

/// Why text is no trusted root.
#[derive(Debug, thiserror::Error)]
pub enum RootError {
    #[error("is not a trusted root: {0}")]
    Malformed(String),
    #[error("has the media type {0:?}; a trusted root has `{MEDIA_TYPE}…`")]
    MediaType(String),
    #[error("lists more than {MAX_ENTRIES} logs or authorities of one kind")]
    TooMany,
    /// What a log has signed counts only while its key is valid.
    #[error("has a log ({0}) without the start of its key's validity (`validFor`)")]
    NoValidity(String),
    #[error("has a log ({0}) with another hash algorithm than SHA2_256")]
    HashAlgorithm(String),
    #[error("has an authority ({authority}) with a chain that {fault}")]
    Chain {
        /// Its URI.
        authority: String,
        fault: ChainFault,
    },
}

/// Why a root cannot verify one signature.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NarrowError {
    UnknownLog,
    /// No authority was valid during the certificate's whole validity.
    NoAuthority,
}

impl RootOrigin {
    /// When it was last known to be the newest; `None` for a file, of which nobody knows.
    pub fn as_of(&self) -> Option<Timestamp> {
        match self {
            Self::PublicGood { .. } => public_good_taken(),
            Self::Tuf { checked_at, .. } => Some(*checked_at),
            Self::File(_) => None,
        }
    }
}

/// When the embedded root was the newest. Never `None`, which a test checks.
pub(super) fn public_good_taken() -> Option<Timestamp> {
    let date: Date = PUBLIC_GOOD_TAKEN.parse().ok()?;
    Some(date.to_zoned(TimeZone::UTC).ok()?.timestamp())
}

impl TrustRoot {
    /// The embedded root of the public instance.
    ///
    /// # Errors
    /// Never with the embedded file, which a test checks.
    pub fn public_good() -> Result<Self, RootError> {
        let taken = PUBLIC_GOOD_TAKEN;
        Self::parse(PUBLIC_GOOD, RootOrigin::PublicGood { taken })
    }

    /// Parses a `trusted_root.json`.
    ///
    /// # Errors
    /// When it is none, or lacks something that verification needs.
    pub fn parse(text: &str, origin: RootOrigin) -> Result<Self, RootError> {
        let malformed = |text: String| RootError::Malformed(brief(&text));
        outline::check(text).map_err(|error| malformed(error.to_string()))?;
        let parsed = TrustedRoot::from_json(text).map_err(|error| malformed(error.to_string()))?;
        if !parsed.media_type.starts_with(MEDIA_TYPE) {
            return Err(RootError::MediaType(brief(&parsed.media_type)));
        }
        check_sizes(&parsed)?;
        check_logs(&parsed)?;
        check_chains(&parsed)?;
        // Parses every key and certificate, so that an invalid one is an error here.
        Verifier::new(&parsed).map_err(|error| malformed(error.to_string()))?;
        let authorities = parsed
            .certificate_authorities
            .iter()
            .map(|authority| Some((authority.clone(), shared_validity(authority)?)))
            .collect::<Option<_>>()
            .ok_or_else(|| {
                malformed("the certificates of an authority cannot be read".to_owned())
            })?;
        let digest = sha256(text.as_bytes());
        Ok(Self {
            parsed,
            authorities,
            digest,
            origin,
        })
    }

    /// The same root with this transparency log only; `None` if it has none at this URL.
    pub(super) fn restricted_to(mut self, url: &str) -> Option<Self> {
        let url = url.trim_end_matches('/');
        let is_named = |log: &TransparencyLog| log.base_url.trim_end_matches('/') == url;
        self.parsed.tlogs.retain(is_named);
        if self.parsed.tlogs.is_empty() {
            return None;
        }
        self.digest = sha256(format!("{} {url}", self.digest).as_bytes());
        Some(self)
    }

    pub fn origin(&self) -> &RootOrigin {
        &self.origin
    }

    /// Of the file, and of the log if it is restricted to one.
    pub fn digest(&self) -> &Digest {
        &self.digest
    }

    /// The URLs of its transparency logs.
    pub fn log_urls(&self) -> impl Iterator<Item = &str> {
        self.parsed.tlogs.iter().map(|log| log.base_url.as_str())
    }

    /// Whether it can verify signatures by identity.
    pub fn serves_identities(&self) -> bool {
        let root = &self.parsed;
        !root.certificate_authorities.is_empty() && !root.ctlogs.is_empty() && self.serves_logs()
    }

    /// Whether it can verify log entries.
    pub fn serves_logs(&self) -> bool {
        !self.parsed.tlogs.is_empty()
    }

    pub(crate) fn log(&self, id: &LogKeyId) -> Option<&TransparencyLog> {
        self.parsed
            .tlogs
            .iter()
            .find(|log| &log.log_id.key_id == id)
    }

    /// The root for a signature in this log, made with a key.
    pub(crate) fn for_key(&self, log: &LogKeyId) -> Result<TrustedRoot, NarrowError> {
        let mut root = self.parsed.clone();
        root.tlogs.retain(|known| &known.log_id.key_id == log);
        root.certificate_authorities.clear();
        if root.tlogs.is_empty() {
            return Err(NarrowError::UnknownLog);
        }
        Ok(root)
    }

    /// The root for a signature in this log, made with a certificate of this validity.
    pub(crate) fn for_certificate(
        &self,
        log: &LogKeyId,
        not_before: Timestamp,
        not_after: Timestamp,
    ) -> Result<TrustedRoot, NarrowError> {
        let mut root = self.for_key(log)?;
        root.certificate_authorities = self
            .authorities
            .iter()
            .filter(|(authority, validity)| {
                validity.contains(not_before)
                    && validity.contains(not_after)
                    && authority
                        .valid_for
                        .is_none_or(|window| window.contains(not_before))
            })
            .map(|(authority, _)| authority.clone())
            .collect();
        if root.certificate_authorities.is_empty() {
            return Err(NarrowError::NoAuthority);
        }
        Ok(root)
    }
}

fn check_sizes(root: &TrustedRoot) -> Result<(), RootError> {
    let sizes = [
        root.tlogs.len(),
        root.ctlogs.len(),
        root.certificate_authorities.len(),
        root.timestamp_authorities.len(),
    ];
    let chains = root
        .certificate_authorities
        .iter()
        .map(|authority| &authority.cert_chain);
    let chains = chains.chain(root.timestamp_authorities.iter().map(|tsa| &tsa.cert_chain));
    let mut sizes = sizes
        .into_iter()
        .chain(chains.map(|chain| chain.certificates.len()));
    if sizes.any(|size| size > MAX_ENTRIES) {
        return Err(RootError::TooMany);
    }
    Ok(())
}

/// cosign refuses a root with such a log, too.
fn check_logs(root: &TrustedRoot) -> Result<(), RootError> {
    let tlogs = root
        .tlogs
        .iter()
        .map(|log| (&log.base_url, &log.public_key, log.hash_algorithm));
    let ctlogs = root
        .ctlogs
        .iter()
        .map(|log| (&log.base_url, &log.public_key, log.hash_algorithm));
    for (url, key, hash) in tlogs.chain(ctlogs) {
        if key.valid_for.is_none() {
            return Err(RootError::NoValidity(brief(url)));
        }
        if hash != HashAlgorithm::Sha2256 {
            return Err(RootError::HashAlgorithm(brief(url)));
        }
    }
    Ok(())
}

fn check_chains(root: &TrustedRoot) -> Result<(), RootError> {
    let issuers = root.certificate_authorities.iter().map(|one| {
        (
            one.uri.as_str(),
            &one.cert_chain.certificates,
            Purpose::CodeSigning,
        )
    });
    let stampers = root.timestamp_authorities.iter().map(|one| {
        let uri = one.uri.as_deref().unwrap_or_default();
        (uri, &one.cert_chain.certificates, Purpose::TimeStamping)
    });
    for (uri, certificates, purpose) in issuers.chain(stampers) {
        let ders: Vec<&[u8]> = certificates
            .iter()
            .map(|one| one.raw_bytes.as_bytes())
            .collect();
        chain::check(&ders, purpose).map_err(|fault| RootError::Chain {
            authority: brief(uri),
            fault,
        })?;
    }
    Ok(())
}

/// The time during which all certificates of an authority are valid.
fn shared_validity(authority: &CertificateAuthority) -> Option<TimeRange> {
    let mut start = Timestamp::MIN;
    let mut end = Timestamp::MAX;
    for entry in &authority.cert_chain.certificates {
        let certificate = Certificate::from_der(entry.raw_bytes.as_bytes()).ok()?;
        let validity = certificate.tbs_certificate.validity;
        start = start.max(certificate_time(&validity.not_before)?);
        end = end.min(certificate_time(&validity.not_after)?);
    }
    Some(TimeRange::new(start, Some(end)))
}

pub(crate) fn certificate_time(time: &Time) -> Option<Timestamp> {
    let seconds = i64::try_from(time.to_unix_duration().as_secs()).ok()?;
    Timestamp::from_second(seconds).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<TrustRoot, RootError> {
        TrustRoot::parse(text, RootOrigin::File(PathBuf::new()))
    }

    #[test]
    fn the_embedded_root_is_complete() {
        let root = TrustRoot::public_good().unwrap();
        assert!(root.serves_identities());
        assert!(
            root.log_urls()
                .any(|url| url == "https://rekor.sigstore.dev")
        );
        assert_eq!(
            root.authorities.len(),
            root.parsed.certificate_authorities.len()
        );
        assert!(matches!(root.origin(), RootOrigin::PublicGood { .. }));
        assert!(root.origin().as_of().is_some());
    }

    #[test]
    fn an_authority_counts_only_while_all_its_certificates_are_valid() {
        let root = TrustRoot::public_good().unwrap();
        let log = root.parsed.tlogs[0].log_id.key_id.clone();
        let at = |text: &str| text.parse::<Timestamp>().unwrap();
        let then =
            root.for_certificate(&log, at("2024-01-01T00:00:00Z"), at("2024-01-01T00:10:00Z"));
        let then = then.unwrap();
        assert_eq!(
            (then.tlogs.len(), then.certificate_authorities.len()),
            (1, 1)
        );
        let never =
            root.for_certificate(&log, at("2019-01-01T00:00:00Z"), at("2019-01-01T00:10:00Z"));
        assert_eq!(never.unwrap_err(), NarrowError::NoAuthority);
        let later =
            root.for_certificate(&log, at("2031-10-05T13:50:00Z"), at("2032-01-01T00:00:00Z"));
        assert_eq!(later.unwrap_err(), NarrowError::NoAuthority);
        let other = LogKeyId::from_bytes(&[7; 32]);
        assert_eq!(root.for_key(&other).unwrap_err(), NarrowError::UnknownLog);
    }

    #[test]
    fn invalid_roots_are_refused() {
        assert!(matches!(parse("{}"), Err(RootError::Malformed(_))));
        assert!(matches!(
            parse(r#"{"mediaType": "application/json"}"#),
            Err(RootError::MediaType(_))
        ));
        let empty =
            parse(r#"{"mediaType": "application/vnd.dev.sigstore.trustedroot+json;version=0.1"}"#);
        assert!(!empty.unwrap().serves_identities());
        let mut document: serde_json::Value = serde_json::from_str(PUBLIC_GOOD).unwrap();
        document["tlogs"][0]["publicKey"]["validFor"] = serde_json::Value::Null;
        assert!(matches!(
            parse(&document.to_string()),
            Err(RootError::NoValidity(_))
        ));
        let mut document: serde_json::Value = serde_json::from_str(PUBLIC_GOOD).unwrap();
        document["tlogs"][0]["publicKey"]["rawBytes"] = "AAAA".into();
        assert!(matches!(
            parse(&document.to_string()),
            Err(RootError::Malformed(_))
        ));
        let mut document: serde_json::Value = serde_json::from_str(PUBLIC_GOOD).unwrap();
        let one = document["ctlogs"][0].clone();
        document["ctlogs"] = vec![one; MAX_ENTRIES + 1].into();
        assert!(matches!(
            parse(&document.to_string()),
            Err(RootError::TooMany)
        ));
    }
}
