//! Checks of what was signed, and of the bundle around it.

use crate::mutants::Mutant;

pub(super) const MUTANTS: &[Mutant] = &[
    Mutant {
        without: "what the payload of a bundle says",
        file: "crates/schedkit-image/src/signature/bundle.rs",
        changes: &[(
            "claim::check_statement(&self.payload, digest)",
            "claim::check_statement(&self.payload, digest).or(Ok(()))",
        )],
    },
    Mutant {
        without: "the digest in a statement",
        file: "crates/schedkit-image/src/signature/claim.rs",
        changes: &[(
            "if first == wanted || named.any(|other| other == wanted) {",
            "if first == wanted || named.any(|other| other == wanted) || true {",
        )],
    },
    Mutant {
        without: "the digest in a simple payload",
        file: "crates/schedkit-image/src/signature/claim.rs",
        changes: &[("if image.digest != digest.to_string() {", "if false {")],
    },
    Mutant {
        without: "that a statement is no attestation",
        file: "crates/schedkit-image/src/signature/claim.rs",
        changes: &[(
            "if statement.predicate_type != SIGNATURE_PREDICATE {",
            "if false {",
        )],
    },
    Mutant {
        without: "the type of a statement",
        file: "crates/schedkit-image/src/signature/claim.rs",
        changes: &[("if statement.kind != STATEMENT {", "if false {")],
    },
    Mutant {
        without: "the kind of a simple payload",
        file: "crates/schedkit-image/src/signature/claim.rs",
        changes: &[("if kind != SIMPLE_SIGNATURE {", "if false {")],
    },
    Mutant {
        without: "the number of subjects of a statement",
        file: "crates/schedkit-image/src/signature/claim.rs",
        changes: &[("if statement.subject.len() > MOST_SUBJECTS {", "if false {")],
    },
    Mutant {
        without: "unknown names in a statement",
        file: "crates/schedkit-image/src/signature/claim.rs",
        changes: &[(
            r#"#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Statement"#,
            r#"#[serde(rename_all = "camelCase")]
struct Statement"#,
        )],
    },
    Mutant {
        without: "digests of other kinds in a statement",
        file: "crates/schedkit-image/src/signature/claim.rs",
        changes: &[(
            "#[serde(deny_unknown_fields)]
struct SubjectDigest",
            "struct SubjectDigest",
        )],
    },
    Mutant {
        without: "unknown names in a simple payload",
        file: "crates/schedkit-image/src/signature/claim.rs",
        changes: &[(
            "#[serde(deny_unknown_fields)]
struct Simple {",
            "struct Simple {",
        )],
    },
    Mutant {
        without: "the version of a bundle",
        file: "crates/schedkit-image/src/signature/bundle.rs",
        changes: &[(
            "if !VERSIONS.contains(&self.media_type.as_str()) {",
            "if false {",
        )],
    },
    Mutant {
        without: "the type of the payload of a bundle",
        file: "crates/schedkit-image/src/signature/bundle.rs",
        changes: &[("if envelope.payload_type != IN_TOTO {", "if false {")],
    },
    Mutant {
        without: "that a bundle has one content",
        file: "crates/schedkit-image/src/signature/bundle.rs",
        changes: &[(
            "(Some(envelope), None) => envelope,",
            "(Some(envelope), _) => envelope,",
        )],
    },
    Mutant {
        without: "that a bundle brings no chain",
        file: "crates/schedkit-image/src/signature/bundle.rs",
        changes: &[("if material.chain.is_some() {", "if false {")],
    },
    Mutant {
        without: "that a bundle has a key or a certificate",
        file: "crates/schedkit-image/src/signature/bundle.rs",
        changes: &[(
            "if material.public_key.is_some() == material.certificate.is_some() {",
            "if false {",
        )],
    },
    Mutant {
        without: "unknown names in a bundle",
        file: "crates/schedkit-image/src/signature/bundle.rs",
        changes: &[(
            r#"#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Outline"#,
            r#"#[serde(rename_all = "camelCase")]
struct Outline"#,
        )],
    },
    Mutant {
        without: "unknown names in the material of a bundle",
        file: "crates/schedkit-image/src/signature/bundle.rs",
        changes: &[(
            r#"#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Material"#,
            r#"#[serde(rename_all = "camelCase")]
struct Material"#,
        )],
    },
    Mutant {
        without: "the number of timestamps of a bundle",
        file: "crates/schedkit-image/src/signature/bundle.rs",
        changes: &[("if count > MOST_TIMESTAMPS {", "if false {")],
    },
    Mutant {
        without: "names that stand twice deep in a payload",
        file: "crates/schedkit-image/src/signature/claim/members.rs",
        changes: &[(
            "if !seen.insert(name) {",
            "if !seen.insert(name) && false {",
        )],
    },
];
