//! Patches of attributes, patterns, statements, and of checks in several places.

use crate::mutants::Patch;

/// Attributes of types. cargo-mutants changes no attributes.
pub(super) const ATTRIBUTES: &[Patch] = &[
    Patch {
        removed: "unknown names in a statement",
        file: "crates/schedkit-image/src/signature/payload.rs",
        changes: &[(
            r#"#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Statement"#,
            r#"#[serde(rename_all = "camelCase")]
struct Statement"#,
        )],
    },
    Patch {
        removed: "other digests in a statement",
        file: "crates/schedkit-image/src/signature/payload.rs",
        changes: &[(
            "#[serde(deny_unknown_fields)]
struct SubjectDigest",
            "struct SubjectDigest",
        )],
    },
    Patch {
        removed: "unknown names in a simple payload",
        file: "crates/schedkit-image/src/signature/payload.rs",
        changes: &[(
            "#[serde(deny_unknown_fields)]
struct SimplePayload {",
            "struct SimplePayload {",
        )],
    },
    Patch {
        removed: "unknown names in a bundle",
        file: "crates/schedkit-image/src/signature/bundle.rs",
        changes: &[(
            r#"#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Outline"#,
            r#"#[serde(rename_all = "camelCase")]
struct Outline"#,
        )],
    },
    Patch {
        removed: "unknown names in the material of a bundle",
        file: "crates/schedkit-image/src/signature/bundle.rs",
        changes: &[(
            r#"#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Material"#,
            r#"#[serde(rename_all = "camelCase")]
struct Material"#,
        )],
    },
    Patch {
        removed: "unknown names in a policy",
        file: "crates/schedkit-image/src/trust/policy_file.rs",
        changes: &[(
            r#"#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct YamlPolicy"#,
            r#"#[serde(rename_all = "camelCase")]
struct YamlPolicy"#,
        )],
    },
];

/// Patterns and match arms. cargo-mutants deletes whole arms where a `_` follows; it does not widen
/// a pattern and does not change the value of an arm.
pub(super) const PATTERNS: &[Patch] = &[
    Patch {
        removed: "that a signature has one log entry",
        file: "crates/schedkit-image/src/signature/log_entry.rs",
        changes: &[(
            "several => return Err(Refusal::LogEntries(several.len())),",
            "[entry, ..] => entry,",
        )],
    },
    Patch {
        removed: "that a bundle has one content",
        file: "crates/schedkit-image/src/signature/bundle.rs",
        changes: &[(
            "(Some(envelope), None) => envelope,",
            "(Some(envelope), _) => envelope,",
        )],
    },
    Patch {
        removed: "that an identity has an exact text or a pattern, not both",
        file: "crates/schedkit-image/src/trust/policy_file.rs",
        changes: &[(
            "(Some(text), None) => (plain, text, Pattern::exact(&text.value)),",
            "(Some(text), _) => (plain, text, Pattern::exact(&text.value)),",
        )],
    },
    Patch {
        removed: "that a key file has one key",
        file: "crates/schedkit-image/src/trust/key.rs",
        changes: &[("_ => return Err(KeyError::Several),", "_ => {}")],
    },
    Patch {
        removed: "that a referrer has a subject",
        file: "crates/schedkit-image/src/signature/find.rs",
        changes: &[(
            r#"None => Err(Refusal::OtherSubject("none".to_owned())),"#,
            "None => Ok(()),",
        )],
    },
    Patch {
        removed: "that a referrer has one layer",
        file: "crates/schedkit-image/src/signature/find.rs",
        changes: &[(
            "let [layer] = manifest.layers.as_slice() else {",
            "let [layer, ..] = manifest.layers.as_slice() else {",
        )],
    },
    Patch {
        removed: "that a certificate names one subject",
        file: "crates/schedkit-image/src/signature/certificate.rs",
        changes: &[(
            "[GeneralName::UniformResourceIdentifier(name) | GeneralName::Rfc822Name(name)] => {",
            "[GeneralName::UniformResourceIdentifier(name) | GeneralName::Rfc822Name(name), ..] => {",
        )],
    },
    Patch {
        removed: "the kind of subject of a certificate",
        file: "crates/schedkit-image/src/signature/certificate.rs",
        changes: &[(
            "GeneralName::UniformResourceIdentifier(name) | GeneralName::Rfc822Name(name)",
            "GeneralName::UniformResourceIdentifier(name) | GeneralName::Rfc822Name(name) | GeneralName::DnsName(name)",
        )],
    },
];

/// Single statements, calls and values. cargo-mutants replaces whole functions only.
pub(super) const STATEMENTS: &[Patch] = &[
    Patch {
        removed: "that only the log of the entry is trusted",
        file: "crates/schedkit-image/src/trust/root.rs",
        changes: &[(
            "root.tlogs.retain(|known| &known.log_id.key_id == log);",
            "",
        )],
    },
    Patch {
        removed: "that the keys of a root can be read",
        file: "crates/schedkit-image/src/trust/root.rs",
        changes: &[(
            "Verifier::new(&parsed).map_err(|error| malformed(error.to_string()))?;",
            "",
        )],
    },
    Patch {
        removed: "the body of a Rekor v2 entry by key",
        file: "crates/schedkit-image/src/signature/by_key.rs",
        changes: &[(
            "entry.check_v2_body(bundle.message(), bundle.signature(), &signer)?;",
            "let _ = entry.check_v2_body(bundle.message(), bundle.signature(), &signer);",
        )],
    },
    Patch {
        removed: "the digest in the header of a manifest",
        file: "crates/schedkit-image/src/registry/manifest.rs",
        changes: &[(
            "digest.map(|found| manifest.check(found))",
            "digest.map(Ok)",
        )],
    },
    Patch {
        removed: "the type of a .sig layer",
        file: "crates/schedkit-image/src/signature/find.rs",
        changes: &[(
            "layers.retain(|layer| layer.media_type == SIMPLE_TYPE);",
            "",
        )],
    },
    Patch {
        removed: "the number of referrers",
        file: "crates/schedkit-image/src/signature/find.rs",
        changes: &[("let total = list.len();", "let total = 0;")],
    },
    Patch {
        removed: "the number of .sig layers",
        file: "crates/schedkit-image/src/signature/find.rs",
        changes: &[("let total = layers.len();", "let total = 0;")],
    },
    Patch {
        removed: "the timeout of a search",
        file: "crates/schedkit-image/src/signature/verify.rs",
        changes: &[(
            "match tokio::time::timeout(TIMEOUT, verifying).await {",
            "match Ok::<_, tokio::time::error::Elapsed>(verifying.await) {",
        )],
    },
    Patch {
        removed: "the anchor of a pattern",
        file: "crates/schedkit-image/src/trust/pattern.rs",
        changes: &[(
            "RegexBuilder::new(text)",
            "RegexBuilder::new(text.trim_start_matches('^'))",
        )],
    },
    Patch {
        removed: "the end of an exact text",
        file: "crates/schedkit-image/src/trust/pattern.rs",
        changes: &[(
            "PatternKind::Exact(expected) => expected == text",
            "PatternKind::Exact(expected) => text.starts_with(expected)",
        )],
    },
];

/// Checks that are made in several places. cargo-mutants changes one place at a time.
pub(super) const SEVERAL_PLACES: &[Patch] = &[
    Patch {
        removed: "the chain of a certificate",
        file: "crates/schedkit-image/src/signature/by_certificate.rs",
        changes: &[
            (
                "VerificationPolicy::any_identity()",
                "VerificationPolicy::any_identity().skip_certificate_chain().skip_sct()",
            ),
            (
                "let complete = result.certificate_verified() && result.sct_verified() && result.tlog_verified();",
                "let complete = true;",
            ),
        ],
    },
    Patch {
        removed: "the SCT of a certificate",
        file: "crates/schedkit-image/src/signature/by_certificate.rs",
        changes: &[
            (
                "VerificationPolicy::any_identity()",
                "VerificationPolicy::any_identity().skip_sct()",
            ),
            (
                "let complete = result.certificate_verified() && result.sct_verified() && result.tlog_verified();",
                "let complete = true;",
            ),
        ],
    },
    Patch {
        removed: "the log entry of a signature by certificate",
        file: "crates/schedkit-image/src/signature/by_certificate.rs",
        changes: &[
            (
                "VerificationPolicy::any_identity()",
                "VerificationPolicy::any_identity().skip_tlog_unsafe()",
            ),
            (
                "let complete = result.certificate_verified() && result.sct_verified() && result.tlog_verified();",
                "let complete = true;",
            ),
            (
                "let integrated_time = result.integrated_time();",
                "let integrated_time = result.verified_timestamps().first().copied();",
            ),
        ],
    },
    // Only the lab makes the case that all three places refuse.
    Patch {
        removed: "the promise of the log",
        file: "crates/schedkit-image/src/signature/by_certificate.rs",
        changes: &[
            ("if entry.entry.inclusion_promise.is_none() {", "if false {"),
            (
                "&bundle.without_timestamps())?",
                "&if signing.entry.entry.inclusion_promise.is_some() { bundle.without_timestamps() } else { bundle.parsed().clone() })?",
            ),
            (
                "if entry.version == RekorVersion::V1 && integrated_time.is_none() {",
                "if false {",
            ),
        ],
    },
    Patch {
        removed: "that the log is in the trusted root",
        file: "crates/schedkit-image/src/trust/root.rs",
        changes: &[
            (
                ".find(|log| &log.log_id.key_id == id)",
                ".find(|log| &log.log_id.key_id == id).or(self.parsed.tlogs.first())",
            ),
            (
                "root.tlogs.retain(|known| &known.log_id.key_id == log);",
                "",
            ),
        ],
    },
];
