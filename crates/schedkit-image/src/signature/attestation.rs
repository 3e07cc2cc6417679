//! The payload of an attestation: a statement about this image that is not a signature, such as where
//! it was built (SLSA provenance) or what it contains (SBOM).
//!
//! Only its type and its subject are read; the predicate is not, beyond that no name in it is
//! repeated. Whether it counts is decided by the policy's rule.

use std::collections::BTreeMap;

use schedkit_core::Digest;
use serde::Deserialize;

use super::payload::UniqueNames;

/// Tools still write the older one.
const STATEMENTS: [&str; 2] = [
    "https://in-toto.io/Statement/v1",
    "https://in-toto.io/Statement/v0.1",
];
const MAX_SUBJECTS: usize = 1024;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Statement {
    #[serde(rename = "_type")]
    kind: String,
    subject: Vec<Subject>,
    predicate_type: String,
    #[serde(rename = "predicate")]
    _predicate: Option<UniqueNames>,
}

/// Other fields describe the subject, and its digest identifies it.
#[derive(Deserialize)]
struct Subject {
    digest: BTreeMap<String, String>,
}

/// The predicate type of a statement about this digest, which may be the one of signatures. `None` if
/// it is no such statement.
pub(super) fn predicate_type(payload: &[u8], digest: &Digest) -> Option<String> {
    serde_json::from_slice::<UniqueNames>(payload).ok()?;
    let statement: Statement = serde_json::from_slice(payload).ok()?;
    let is_about_it = |subject: &Subject| {
        let sha256 = subject.digest.get("sha256");
        sha256.is_some_and(|hex| *hex == digest.hex())
    };
    let counts = STATEMENTS.contains(&statement.kind.as_str())
        && statement.subject.len() <= MAX_SUBJECTS
        && statement.subject.iter().any(is_about_it);
    counts.then_some(statement.predicate_type)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::hash::sha256;

    fn statement() -> String {
        format!(
            r#"{{"_type":"https://in-toto.io/Statement/v1","subject":[{{"name":"a","digest":{{"sha256":"{}","sha1":"00"}}}}],"predicateType":"https://slsa.dev/provenance/v1","predicate":{{"a":{{"b":[1]}}}}}}"#,
            sha256(b"image").hex()
        )
    }

    fn predicate(text: &str) -> Option<String> {
        predicate_type(text.as_bytes(), &sha256(b"image"))
    }

    #[test]
    fn a_statement_about_this_image_has_a_predicate_type() {
        let slsa = Some("https://slsa.dev/provenance/v1".to_owned());
        assert_eq!(predicate(&statement()), slsa);
        let older = statement().replace("Statement/v1", "Statement/v0.1");
        assert_eq!(predicate(&older), slsa);
    }

    #[test]
    fn anything_else_has_none() {
        let hex = sha256(b"image").hex();
        let other = sha256(b"other").hex();
        for (from, to) in [
            (hex.as_str(), other.as_str()),
            ("Statement/v1", "Statement/v2"),
            (r#""sha256""#, r#""sha512""#),
            (r#"{"b":[1]}"#, r#"{"b":1,"b":2}"#),
            (r#""sha1":"00""#, r#""sha256":"00""#),
            (r#""predicate":"#, r#""more":1,"predicate":"#),
            (r#""predicateType":"#, r#""type":"#),
        ] {
            let text = statement().replacen(from, to, 1);
            assert_ne!(text, statement());
            assert_eq!(predicate(&text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes: Vec<u8>) {
            prop_assert_eq!(predicate_type(&bytes, &sha256(b"image")), None);
        }
    }
}
