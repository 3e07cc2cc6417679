//! What keyless signatures rest on: certificate authorities, logs and timestamp authorities of a
//! Sigstore instance, in Sigstore's own `trusted_root.json`.
//!
//! The public instance's file is embedded, so that verifying needs no network. `docs/trust.md` says
//! how it is renewed. A root is trusted as a whole; for one signature it is narrowed to the one log
//! and to the authorities that can matter, because the verifier below would otherwise let one log
//! speak for another and take an authority at a time when its certificates were not valid.

use std::path::PathBuf;

use jiff::Timestamp;
use schedkit_core::Digest;
use sigstore_verify::Verifier;
use sigstore_verify::trust_root::{CertificateAuthority, TransparencyLog, TrustedRoot};
use sigstore_verify::types::{LogKeyId, TimeRange};
use x509_cert::Certificate;
use x509_cert::der::Decode;
use x509_cert::time::Time;

use crate::foreign::brief;
use crate::hash::sha256;

const PUBLIC_GOOD: &str = include_str!("public_good_root.json");
/// When the embedded file was taken from the public instance.
const PUBLIC_GOOD_TAKEN: &str = "2026-10-23";
/// What such a file calls itself, before its version.
const MEDIA_TYPE: &str = "application/vnd.dev.sigstore.trustedroot";
const MOST_ENTRIES: usize = 64;

/// A Sigstore instance that is believed.
#[derive(Debug)]
pub struct TrustRoot {
    parsed: TrustedRoot,
    authorities: Vec<(CertificateAuthority, TimeRange)>,
    digest: Digest,
    origin: RootOrigin,
}

/// Where a root comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RootOrigin {
    /// The public instance, embedded in this program.
    PublicGood {
        /// The day on which it was taken.
        taken: &'static str,
    },
    /// A file that the policy names.
    File(PathBuf),
}

/// Why text is no trusted root.
#[derive(Debug, thiserror::Error)]
pub enum RootError {
    /// Not the JSON of a trusted root.
    #[error("is no trusted root: {0}")]
    Malformed(String),
    /// JSON of something else.
    #[error("says it is {0:?}; a trusted root says `{MEDIA_TYPE}…`")]
    MediaType(String),
    /// More than any instance has.
    #[error("lists more than {MOST_ENTRIES} logs or authorities of one kind")]
    TooMany,
    /// A log's promises are only good for a known time.
    #[error("has a transparency log ({0}) that does not say since when its key is valid")]
    NoValidity(String),
}

/// Why nothing of a root fits one signature.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NarrowError {
    /// It was entered into a log that nobody here knows.
    UnknownLog,
    /// No authority was valid through the certificate's whole life.
    NoAuthority,
}

impl TrustRoot {
    /// The public instance's root, as it was when this program was made.
    ///
    /// # Errors
    /// Never with the file that is embedded; a test holds it to that.
    pub fn public_good() -> Result<Self, RootError> {
        let taken = PUBLIC_GOOD_TAKEN;
        Self::parse(PUBLIC_GOOD, RootOrigin::PublicGood { taken })
    }

    /// Reads a `trusted_root.json`.
    ///
    /// # Errors
    /// When it is none, or one that cannot be relied upon.
    pub fn parse(text: &str, origin: RootOrigin) -> Result<Self, RootError> {
        let malformed = |text: String| RootError::Malformed(brief(&text));
        let parsed = TrustedRoot::from_json(text).map_err(|error| malformed(error.to_string()))?;
        if !parsed.media_type.starts_with(MEDIA_TYPE) {
            return Err(RootError::MediaType(brief(&parsed.media_type)));
        }
        check_sizes(&parsed)?;
        if let Some(log) = parsed
            .tlogs
            .iter()
            .find(|log| log.public_key.valid_for.is_none())
        {
            return Err(RootError::NoValidity(brief(&log.base_url)));
        }
        // Reads every key and certificate, which is the point: a bad one is found here.
        Verifier::new(&parsed).map_err(|error| malformed(error.to_string()))?;
        let authorities = parsed
            .certificate_authorities
            .iter()
            .map(|authority| Some((authority.clone(), shared_life(authority)?)))
            .collect::<Option<_>>()
            .ok_or_else(|| malformed("an authority's certificates cannot be read".to_owned()))?;
        let digest = sha256(text.as_bytes());
        Ok(Self {
            parsed,
            authorities,
            digest,
            origin,
        })
    }

    /// Where it comes from.
    pub fn origin(&self) -> &RootOrigin {
        &self.origin
    }

    /// The digest of the file.
    pub fn digest(&self) -> &Digest {
        &self.digest
    }

    /// The addresses of its transparency logs.
    pub fn log_urls(&self) -> impl Iterator<Item = &str> {
        self.parsed.tlogs.iter().map(|log| log.base_url.as_str())
    }

    /// Whether it has everything that a keyless signature is held against.
    pub fn serves_identities(&self) -> bool {
        let root = &self.parsed;
        !root.certificate_authorities.is_empty() && !root.ctlogs.is_empty() && self.serves_logs()
    }

    /// Whether it knows a transparency log.
    pub fn serves_logs(&self) -> bool {
        !self.parsed.tlogs.is_empty()
    }

    pub(crate) fn log(&self, id: &LogKeyId) -> Option<&TransparencyLog> {
        self.parsed
            .tlogs
            .iter()
            .find(|log| &log.log_id.key_id == id)
    }

    /// What is left for a signature in this log, made with no certificate.
    pub(crate) fn for_key(&self, log: &LogKeyId) -> Result<TrustedRoot, NarrowError> {
        let mut root = self.parsed.clone();
        root.tlogs.retain(|known| &known.log_id.key_id == log);
        root.certificate_authorities.clear();
        if root.tlogs.is_empty() {
            return Err(NarrowError::UnknownLog);
        }
        Ok(root)
    }

    /// What is left for a signature in this log, made with a certificate of this life.
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
            .filter(|(authority, life)| {
                life.contains(not_before)
                    && life.contains(not_after)
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
    if sizes.any(|size| size > MOST_ENTRIES) {
        return Err(RootError::TooMany);
    }
    Ok(())
}

/// The time during which all certificates of an authority are valid.
fn shared_life(authority: &CertificateAuthority) -> Option<TimeRange> {
    let mut start = Timestamp::MIN;
    let mut end = Timestamp::MAX;
    for entry in &authority.cert_chain.certificates {
        let certificate = Certificate::from_der(entry.raw_bytes.as_bytes()).ok()?;
        let validity = certificate.tbs_certificate.validity;
        start = start.max(moment(&validity.not_before)?);
        end = end.min(moment(&validity.not_after)?);
    }
    Some(TimeRange::new(start, Some(end)))
}

/// A certificate's time.
pub(crate) fn moment(time: &Time) -> Option<Timestamp> {
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
    fn the_embedded_root_is_whole() {
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
        let RootOrigin::PublicGood { taken } = root.origin() else {
            panic!("embedded");
        };
        assert!(taken.parse::<jiff::civil::Date>().is_ok());
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
    fn what_is_no_root_says_why() {
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
        document["ctlogs"] = vec![one; MOST_ENTRIES + 1].into();
        assert!(matches!(
            parse(&document.to_string()),
            Err(RootError::TooMany)
        ));
    }
}
