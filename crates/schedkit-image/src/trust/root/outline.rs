//! The names that a trusted root may have, no other and none twice.
//!
//! The library ignores what it does not know: a misspelt `validFor` would open a window that has
//! ended. cosign's parser refuses unknown names as well.

use serde::Deserialize;
use serde::de::IgnoredAny;

/// Checks the names only; the library parses the values.
///
/// # Errors
/// When a name is unknown or repeated, or a value has another shape.
pub(super) fn check(text: &str) -> Result<(), serde_json::Error> {
    let Outline { .. } = serde_json::from_str(text)?;
    Ok(())
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[expect(dead_code, reason = "only the names are checked")]
struct Outline {
    media_type: Option<IgnoredAny>,
    tlogs: Option<Vec<Log>>,
    certificate_authorities: Option<Vec<Authority>>,
    ctlogs: Option<Vec<Log>>,
    timestamp_authorities: Option<Vec<Authority>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[expect(dead_code, reason = "only the names are checked")]
struct Log {
    base_url: Option<IgnoredAny>,
    hash_algorithm: Option<IgnoredAny>,
    public_key: Option<PublicKey>,
    log_id: Option<LogId>,
    checkpoint_key_id: Option<LogId>,
    operator: Option<IgnoredAny>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[expect(dead_code, reason = "only the names are checked")]
struct PublicKey {
    raw_bytes: Option<IgnoredAny>,
    key_details: Option<IgnoredAny>,
    valid_for: Option<Window>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[expect(dead_code, reason = "only the names are checked")]
struct LogId {
    key_id: Option<IgnoredAny>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[expect(dead_code, reason = "only the names are checked")]
struct Authority {
    subject: Option<Subject>,
    uri: Option<IgnoredAny>,
    cert_chain: Option<Chain>,
    valid_for: Option<Window>,
    operator: Option<IgnoredAny>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[expect(dead_code, reason = "only the names are checked")]
struct Subject {
    organization: Option<IgnoredAny>,
    common_name: Option<IgnoredAny>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "only the names are checked")]
struct Chain {
    certificates: Option<Vec<Certificate>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[expect(dead_code, reason = "only the names are checked")]
struct Certificate {
    raw_bytes: Option<IgnoredAny>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "only the names are checked")]
struct Window {
    start: Option<IgnoredAny>,
    end: Option<IgnoredAny>,
}
