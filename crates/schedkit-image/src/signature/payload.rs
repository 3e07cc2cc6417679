//! Checks the payload that was signed: it must say that the image with this digest is signed, and
//! nothing else.
//!
//! An attestation (an SBOM, a build record) is signed by the same people in the same way and means
//! something else; it never counts as a signature. Unknown and repeated names are refused: another
//! parser could give them a meaning.

mod unique_names;

use schedkit_core::Digest;
use serde::Deserialize;

pub(super) use self::unique_names::UniqueNames;
use super::refusal::Refusal;
use crate::untrusted::brief;

const STATEMENT: &str = "https://in-toto.io/Statement/v1";
/// What a statement that signs an image states.
pub(super) const SIGNATURE_PREDICATE: &str = "https://sigstore.dev/cosign/sign/v1";
const SIMPLE_SIGNATURE: &str = "cosign container image signature";
/// cosign's limit.
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

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Subject {
    #[serde(rename = "name")]
    _name: Option<String>,
    digest: SubjectDigest,
    #[serde(rename = "annotations")]
    _annotations: Option<UniqueNames>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SubjectDigest {
    sha256: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SimplePayload {
    critical: Critical,
    #[serde(rename = "optional")]
    _optional: Option<UniqueNames>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Critical {
    #[serde(rename = "identity")]
    _identity: SimpleIdentity,
    image: SimpleImage,
    #[serde(rename = "type")]
    kind: String,
}

/// The name that the signer gave the image. cosign ignores it, and so do we: the digest
/// identifies the image.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SimpleIdentity {
    #[serde(rename = "docker-reference")]
    _reference: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SimpleImage {
    #[serde(rename = "docker-manifest-digest")]
    digest: String,
}

/// Checks that a statement (cosign v3) signs this digest.
pub(super) fn check_statement(payload: &[u8], digest: &Digest) -> Result<(), Refusal> {
    let statement: Statement = parse(payload)?;
    if statement.kind != STATEMENT {
        return Err(Refusal::OtherStatement(brief(&statement.kind)));
    }
    if statement.predicate_type != SIGNATURE_PREDICATE {
        return Err(Refusal::OtherPredicate(brief(&statement.predicate_type)));
    }
    if statement.subject.len() > MAX_SUBJECTS {
        return Err(Refusal::Payload(format!(
            "it names more than {MAX_SUBJECTS} subjects"
        )));
    }
    let mut named = statement
        .subject
        .iter()
        .map(|one| format!("sha256:{}", one.digest.sha256));
    let Some(first) = named.next() else {
        return Err(Refusal::Payload("it names no subject".to_owned()));
    };
    let wanted = digest.to_string();
    if first == wanted || named.any(|other| other == wanted) {
        return Ok(());
    }
    Err(Refusal::OtherDigest(brief(&first)))
}

/// Checks that a simple-signing payload (cosign v2) signs this digest.
pub(super) fn check_simple(payload: &[u8], digest: &Digest) -> Result<(), Refusal> {
    let Critical { kind, image, .. } = parse::<SimplePayload>(payload)?.critical;
    if kind != SIMPLE_SIGNATURE {
        return Err(Refusal::OtherPayload(brief(&kind)));
    }
    if image.digest != digest.to_string() {
        return Err(Refusal::OtherDigest(brief(&image.digest)));
    }
    Ok(())
}

fn parse<'a, T: Deserialize<'a>>(payload: &'a [u8]) -> Result<T, Refusal> {
    serde_json::from_slice(payload).map_err(|error| Refusal::Payload(brief(&error.to_string())))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::hash::sha256;

    fn statement(edit: impl Fn(String) -> String) -> Result<(), Refusal> {
        let digest = sha256(b"image");
        let text = format!(
            r#"{{"_type":"{STATEMENT}","subject":[{{"digest":{{"sha256":"{}"}}}}],"predicateType":"{SIGNATURE_PREDICATE}","predicate":{{}}}}"#,
            digest.hex()
        );
        check_statement(edit(text).as_bytes(), &digest)
    }

    #[test]
    fn only_a_signature_of_this_digest_is_accepted() {
        let hex = sha256(b"image").hex();
        let other = "ab".repeat(32);
        assert_eq!(statement(|text| text), Ok(()));
        assert_eq!(
            statement(|text| text.replace("cosign/sign/v1", "cosign/custom/v1")),
            Err(Refusal::OtherPredicate(
                "https://sigstore.dev/cosign/custom/v1".to_owned()
            ))
        );
        assert_eq!(
            statement(|text| text.replace("Statement/v1", "Statement/v0.1")),
            Err(Refusal::OtherStatement(
                "https://in-toto.io/Statement/v0.1".to_owned()
            ))
        );
        assert_eq!(
            statement(|text| text.replace(&hex, &other)),
            Err(Refusal::OtherDigest(format!("sha256:{other}")))
        );
        assert_eq!(
            statement(|text| text.replace(&hex, &hex.to_uppercase())),
            Err(Refusal::OtherDigest(format!(
                "sha256:{}",
                hex.to_uppercase()
            )))
        );
        let second = |text: String| {
            text.replace("[{", &format!(r#"[{{"digest":{{"sha256":"{other}"}}}},{{"#))
        };
        assert_eq!(statement(second), Ok(()));
    }

    #[test]
    fn ambiguous_statements_are_refused() {
        let hex = sha256(b"image").hex();
        let edits: [(&str, &str); 6] = [
            (r#""predicate":{}"#, r#""predicate":{},"predicate":{}"#),
            (r#""predicate":{}"#, r#""predicate":{},"subjects":[]"#),
            (r#""predicate":{}"#, r#""predicate":"text""#),
            (r#""sha256":"#, r#""sha512":"00","sha256":"#),
            (r#""sha256":"#, r#""sha256":"00","sha256":"#),
            (r#""digest":"#, r#""Digest":"#),
        ];
        for (from, to) in edits {
            let result = statement(|text| text.replacen(from, to, 1));
            assert!(
                matches!(result, Err(Refusal::Payload(_))),
                "{to}: {result:?}"
            );
        }
        let none =
            statement(|text| text.replace(&format!(r#"{{"digest":{{"sha256":"{hex}"}}}}"#), ""));
        assert_eq!(
            none,
            Err(Refusal::Payload("it names no subject".to_owned()))
        );
        let one = format!(r#"{{"digest":{{"sha256":"{hex}"}}}}"#);
        let many = vec![one.clone(); MAX_SUBJECTS + 1].join(",");
        assert!(matches!(
            statement(|text| text.replace(&one, &many)),
            Err(Refusal::Payload(_))
        ));
    }

    #[test]
    fn names_are_unique_at_every_depth() {
        let carried = |json: &str| {
            let predicate = statement(|text| {
                text.replace(r#""predicate":{}"#, &format!(r#""predicate":{json}"#))
            });
            let annotations =
                statement(|text| text.replace("[{", &format!(r#"[{{"annotations":{json},"#)));
            assert_eq!(predicate.is_ok(), annotations.is_ok(), "{json}");
            predicate
        };
        let plain = r#"{"a":[1,-2,3.5,"b",true,null,{"c":{}}],"b":{"a":{"a":[]}}}"#;
        assert_eq!(carried(plain), Ok(()));
        assert_eq!(carried("null"), Ok(()));
        for twice in [
            r#"{"a":1,"a":1}"#,
            r#"{"a":1,"\u0061":1}"#,
            r#"{"a":{"b":1,"c":2,"b":3}}"#,
            r#"{"a":[[{"b":null,"b":null}]]}"#,
        ] {
            let result = carried(twice);
            assert!(
                matches!(&result, Err(Refusal::Payload(why)) if why.starts_with("a name is repeated")),
                "{twice}: {result:?}"
            );
        }
    }

    #[test]
    fn simple_signing_payloads_follow_the_same_rules() {
        let digest = sha256(b"image");
        let good = format!(
            r#"{{"critical":{{"identity":{{"docker-reference":"r.example/a"}},"image":{{"docker-manifest-digest":"{digest}"}},"type":"{SIMPLE_SIGNATURE}"}},"optional":null}}"#
        );
        let check = |text: &str| check_simple(text.as_bytes(), &digest);
        assert_eq!(check(&good), Ok(()));
        assert_eq!(
            check(&good.replace("r.example/a", "other.example/b")),
            Ok(())
        );
        assert_eq!(check(&good.replace("null", r#"{"by":"me"}"#)), Ok(()));
        let other = format!("sha256:{}", "ab".repeat(32));
        assert_eq!(
            check(&good.replace(&digest.to_string(), &other)),
            Err(Refusal::OtherDigest(other))
        );
        assert_eq!(
            check(&good.replace(SIMPLE_SIGNATURE, "atomic container signature")),
            Err(Refusal::OtherPayload(
                "atomic container signature".to_owned()
            ))
        );
        let twice = good.replacen(r#""optional""#, r#""Critical":{},"optional""#, 1);
        let deep = good.replace("null", r#"{"a":{"b":1,"b":2}}"#);
        for text in [twice.as_str(), deep.as_str(), "", "{}", "[]", "null"] {
            assert!(matches!(check(text), Err(Refusal::Payload(_))), "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes: Vec<u8>) {
            let digest = sha256(b"image");
            prop_assert!(check_statement(&bytes, &digest).is_err());
            prop_assert!(check_simple(&bytes, &digest).is_err());
        }
    }
}
