//! Patches that remove one condition each.

use crate::mutants::Patch;

/// Conditions. cargo-mutants inverts them, which every good signature notices; only a patch removes
/// the check and so needs a test with a bad signature.
pub(super) const CONDITIONS: &[Patch] = &[
    Patch {
        removed: "the media type of a trusted root",
        file: "crates/schedkit-image/src/trust/root.rs",
        changes: &[(
            "if !parsed.media_type.starts_with(MEDIA_TYPE) {",
            "if false {",
        )],
    },
    Patch {
        removed: "the start of a log's validity",
        file: "crates/schedkit-image/src/trust/root.rs",
        changes: &[(
            "if key.valid_for.is_none() {",
            "if key.valid_for.is_none() && false {",
        )],
    },
    Patch {
        removed: "the digest in a statement",
        file: "crates/schedkit-image/src/signature/payload.rs",
        changes: &[(
            "if first == wanted || named.any(|other| other == wanted) {",
            "if first == wanted || named.any(|other| other == wanted) || true {",
        )],
    },
    Patch {
        removed: "the digest in a simple payload",
        file: "crates/schedkit-image/src/signature/payload.rs",
        changes: &[("if image.digest != digest.to_string() {", "if false {")],
    },
    Patch {
        removed: "the predicate type of a statement",
        file: "crates/schedkit-image/src/signature/payload.rs",
        changes: &[(
            "if statement.predicate_type != SIGNATURE_PREDICATE {",
            "if false {",
        )],
    },
    Patch {
        removed: "the type of a statement",
        file: "crates/schedkit-image/src/signature/payload.rs",
        changes: &[("if statement.kind != STATEMENT {", "if false {")],
    },
    Patch {
        removed: "the type of a simple payload",
        file: "crates/schedkit-image/src/signature/payload.rs",
        changes: &[("if kind != SIMPLE_SIGNATURE {", "if false {")],
    },
    Patch {
        removed: "the version of a bundle",
        file: "crates/schedkit-image/src/signature/bundle.rs",
        changes: &[(
            "if !VERSIONS.contains(&self.media_type.as_str()) {",
            "if false {",
        )],
    },
    Patch {
        removed: "the type of the payload of a bundle",
        file: "crates/schedkit-image/src/signature/bundle.rs",
        changes: &[("if envelope.payload_type != IN_TOTO {", "if false {")],
    },
    Patch {
        removed: "that a bundle has no certificate chain",
        file: "crates/schedkit-image/src/signature/bundle.rs",
        changes: &[("if material.chain.is_some() {", "if false {")],
    },
    Patch {
        removed: "that a bundle has a key or a certificate",
        file: "crates/schedkit-image/src/signature/bundle.rs",
        changes: &[(
            "if material.public_key.is_some() == material.certificate.is_some() {",
            "if false {",
        )],
    },
    Patch {
        removed: "repeated names in a payload",
        file: "crates/schedkit-image/src/signature/payload/unique_names.rs",
        changes: &[(
            "if !seen.insert(name) {",
            "if !seen.insert(name) && false {",
        )],
    },
    Patch {
        removed: "that a Rekor v2 entry has no promise",
        file: "crates/schedkit-image/src/signature/log_entry.rs",
        changes: &[("if self.version == RekorVersion::V2 {", "if false {")],
    },
    Patch {
        removed: "that a promise has a time",
        file: "crates/schedkit-image/src/signature/log_entry.rs",
        changes: &[("if self.entry.integrated_time.is_none() {", "if false {")],
    },
    Patch {
        removed: "the kind of key that signs promises",
        file: "crates/schedkit-image/src/signature/log_entry.rs",
        changes: &[(
            "if !self
            .log
            .public_key",
            "if false && !self
            .log
            .public_key",
        )],
    },
    Patch {
        removed: "that an entry has a proof",
        file: "crates/schedkit-image/src/signature/bundle.rs",
        changes: &[(
            "if entries.any(|entry| entry.inclusion_proof.is_none()) {",
            "if false {",
        )],
    },
    Patch {
        removed: "the parts of a checkpoint",
        file: "crates/schedkit-image/src/signature/log_entry.rs",
        changes: &[(
            r#"if proof.checkpoint.envelope().matches("\n\n").count() != 1 {"#,
            "if false {",
        )],
    },
    Patch {
        removed: "the log of a Rekor v2 checkpoint",
        file: "crates/schedkit-image/src/signature/log_entry.rs",
        changes: &[(
            "if host.is_empty() || checkpoint.origin() != host || !signed {",
            "if false {",
        )],
    },
    Patch {
        removed: "the kind of entry of a .sig layer",
        file: "crates/schedkit-image/src/signature/simple_signing.rs",
        changes: &[(
            r#"if (kind.kind.as_str(), kind.version.as_str()) != ("hashedrekord", "0.0.1") {"#,
            "if false {",
        )],
    },
    Patch {
        removed: "the hash in the entry of a .sig layer",
        file: "crates/schedkit-image/src/signature/simple_signing.rs",
        changes: &[(
            r#"if kind.spec.data.hash.algorithm != "sha256" {"#,
            "if false {",
        )],
    },
    Patch {
        removed: "requireTransparencyLog",
        file: "crates/schedkit-image/src/signature/by_key.rs",
        changes: &[(
            "LogForKeys::Required => read_log(),",
            "LogForKeys::Required => Ok(without_log),",
        )],
    },
    Patch {
        removed: "the time of a log entry that is not required",
        file: "crates/schedkit-image/src/signature/by_key.rs",
        changes: &[(
            "LogForKeys::ForTime => Ok(read_log().unwrap_or(without_log)),",
            "LogForKeys::ForTime => Ok(without_log),",
        )],
    },
    Patch {
        removed: "the name constraints of a chain",
        file: "crates/schedkit-image/src/trust/root/chain.rs",
        changes: &[("if extension.extn_id == NAME_CONSTRAINTS {", "if false {")],
    },
    Patch {
        removed: "that names in a policy with rules have values",
        file: "crates/schedkit-image/src/trust/policy_file/with_rules.rs",
        changes: &[(
            "from_yaml::<WithValues>(text, DuplicateKeyPolicy::Error)?;",
            "let _ = from_yaml::<WithValues>(text, DuplicateKeyPolicy::Error);",
        )],
    },
    Patch {
        removed: "the other variants of a platform",
        file: "crates/schedkit-image/src/signature/labels.rs",
        changes: &[(
            "false => fitting,",
            "false => fitting.into_iter().take(1).collect(),",
        )],
    },
    Patch {
        removed: "that a policy names a key or an identity",
        file: "crates/schedkit-image/src/trust/policy_file.rs",
        changes: &[(
            "if keys.is_empty() && identities.is_empty() {",
            "if false {",
        )],
    },
    Patch {
        removed: "that rekorURL restricts the root",
        file: "crates/schedkit-image/src/trust/root.rs",
        changes: &[(
            "self.parsed.tlogs.retain(is_named);",
            "self.parsed.tlogs.retain(|log| is_named(log) || true);",
        )],
    },
    Patch {
        removed: "unknown names in a trusted root",
        file: "crates/schedkit-image/src/trust/root.rs",
        changes: &[(
            "outline::check(text).map_err(|error| malformed(error.to_string()))?;",
            "",
        )],
    },
    Patch {
        removed: "the chains of a trusted root",
        file: "crates/schedkit-image/src/trust/root.rs",
        changes: &[("check_chains(&parsed)?;", "")],
    },
    Patch {
        removed: "the key that an envelope names, with a key",
        file: "crates/schedkit-image/src/signature/by_key.rs",
        changes: &[("bundle.check_key_id(named.key.der())?;", "")],
    },
    Patch {
        removed: "the key that an envelope names, with a certificate",
        file: "crates/schedkit-image/src/signature/by_certificate.rs",
        changes: &[("bundle.check_key_id(&leaf.public_key)?;", "")],
    },
    Patch {
        removed: "the end of a log",
        file: "crates/schedkit-image/src/signature/by_certificate.rs",
        changes: &[("entry.check_not_after_end(times)?;", "")],
    },
    Patch {
        removed: "that no .sig layer has an Ed25519 certificate",
        file: "crates/schedkit-image/src/signature/by_certificate.rs",
        changes: &[("if leaf.is_ed25519 {", "if false {")],
    },
    Patch {
        removed: "that a failed mirror is no missing content",
        file: "crates/schedkit-image/src/registry/error.rs",
        changes: &[(
            "is_missing && self.failed_mirrors.iter().all(Self::is_not_found)",
            "is_missing",
        )],
    },
    Patch {
        removed: "that another rekorURL needs a trusted root",
        file: "crates/schedkit-image/src/trust/policy_file.rs",
        changes: &[(
            "if root.is_none() && !same_url(&url.value, PUBLIC_REKOR) {",
            "if false {",
        )],
    },
    Patch {
        removed: "that a trusted root can verify identities",
        file: "crates/schedkit-image/src/trust/policy_file.rs",
        changes: &[(
            "if !self.identities.is_empty() && !root.serves_identities() {",
            "if false {",
        )],
    },
    Patch {
        removed: "that a trusted root has logs",
        file: "crates/schedkit-image/src/trust/policy_file.rs",
        changes: &[(
            "if self.log_for_keys == LogForKeys::Required && !root.serves_logs() {",
            "if false {",
        )],
    },
    Patch {
        removed: "that the most specific rule applies",
        file: "crates/schedkit-image/src/trust/policy.rs",
        changes: &[(
            "covering.max_by_key(|rule| rule.scope.depth())",
            "covering.min_by_key(|rule| rule.scope.depth())",
        )],
    },
    Patch {
        removed: "the claims of a certificate",
        file: "crates/schedkit-image/src/trust/policy/signer.rs",
        changes: &[(
            ".find(|required| !required.is_met(claims))",
            ".find(|required| !required.is_met(claims) && false)",
        )],
    },
    Patch {
        removed: "the end of a signer's validity",
        file: "crates/schedkit-image/src/trust/policy/signer.rs",
        changes: &[("time <= end", "time <= end || true")],
    },
    Patch {
        removed: "that a key counts once",
        file: "crates/schedkit-image/src/trust/policy_file.rs",
        changes: &[(
            "if earlier.any(|one| one.key.fingerprint() == named.key.fingerprint()) {",
            "if false {",
        )],
    },
    Patch {
        removed: "the comparison of titles",
        file: "crates/schedkit-image/src/signature/conformity.rs",
        changes: &[(
            "titles.iter().find(|title| *title != name)",
            "None::<&String>",
        )],
    },
    Patch {
        removed: "that every version is high enough",
        file: "crates/schedkit-image/src/signature/conformity.rs",
        changes: &[("if version < *minimum {", "if false {")],
    },
    Patch {
        removed: "that the published catalog is pinned",
        file: "crates/schedkit-image/src/catalog/pinned.rs",
        changes: &[("if image != expected {", "if false {")],
    },
    Patch {
        removed: "the size of an RSA key",
        file: "crates/schedkit-image/src/trust/key.rs",
        changes: &[(
            "if !(MIN_RSA_BITS..=MAX_RSA_BITS).contains(&size) {",
            "if false {",
        )],
    },
    Patch {
        removed: "that a key file holds no private key",
        file: "crates/schedkit-image/src/trust/key.rs",
        changes: &[(r#"if text.contains("PRIVATE KEY-----") {"#, "if false {")],
    },
    Patch {
        removed: "that a key file holds no certificate",
        file: "crates/schedkit-image/src/trust/key.rs",
        changes: &[(
            r#"if text.contains("-----BEGIN CERTIFICATE-----") {"#,
            "if false {",
        )],
    },
    Patch {
        removed: "the digest of a blob",
        file: "crates/schedkit-image/src/registry/blob.rs",
        changes: &[("if found != blob.digest {", "if false {")],
    },
    Patch {
        removed: "the length of a blob",
        file: "crates/schedkit-image/src/registry/blob.rs",
        changes: &[("if received != total {", "if false {")],
    },
    Patch {
        removed: "that a document is not both manifest and index",
        file: "crates/schedkit-image/src/registry/content.rs",
        changes: &[(
            "if is_index && (outline.config.is_some() || outline.layers.is_some()) {",
            "if false {",
        )],
    },
    Patch {
        removed: "the media type of a document",
        file: "crates/schedkit-image/src/registry/content.rs",
        changes: &[("if is_index_type != is_index {", "if false {")],
    },
    Patch {
        removed: "that a referrer holds a bundle",
        file: "crates/schedkit-image/src/signature/find.rs",
        changes: &[("if !manifest.layers.iter().any(is_bundle) {", "if false {")],
    },
    Patch {
        removed: "that a failed request is no verdict",
        file: "crates/schedkit-image/src/signature/search.rs",
        changes: &[(
            "if let Some(source) = self.first_failure {",
            "if let Some(source) = self.first_failure.filter(|_| false) {",
        )],
    },
    Patch {
        removed: "that names are printable ASCII",
        file: "crates/schedkit-image/src/trust/pattern.rs",
        changes: &[(
            "text.bytes().all(is_printable)",
            "(text.bytes().all(is_printable) || true)",
        )],
    },
    Patch {
        removed: "repeated extensions of a certificate",
        file: "crates/schedkit-image/src/signature/certificate.rs",
        changes: &[("if matching.next().is_some() {", "if false {")],
    },
    Patch {
        removed: "the kind of key of a certificate",
        file: "crates/schedkit-image/src/signature/certificate.rs",
        changes: &[(
            "if !KEY_ALGORITHMS.contains(&body.subject_public_key_info.algorithm.oid) {",
            "if false {",
        )],
    },
    Patch {
        removed: "that a .sig layer has one certificate",
        file: "crates/schedkit-image/src/signature/simple_signing.rs",
        changes: &[(
            r#"if text.matches("-----BEGIN ").count() != 1 {"#,
            "if false {",
        )],
    },
    Patch {
        removed: "the older issuer extension for a .sig layer",
        file: "crates/schedkit-image/src/signature/by_certificate.rs",
        changes: &[("if leaf.old_issuer.is_none() {", "if false {")],
    },
    Patch {
        removed: "that the policy has keys",
        file: "crates/schedkit-image/src/signature/by_key.rs",
        changes: &[("if policy.keys().is_empty() {", "if false {")],
    },
    Patch {
        removed: "that the policy has identities for a bundle",
        file: "crates/schedkit-image/src/signature/by_certificate.rs",
        changes: &[(
            "if policy.identities().is_empty() {
        return Err(Refusal::NoIdentityTrusted);
    }
    let der = bundle",
            "let der = bundle",
        )],
    },
    Patch {
        removed: "that the policy has identities for a .sig layer",
        file: "crates/schedkit-image/src/signature/by_certificate.rs",
        changes: &[(
            "if policy.identities().is_empty() {
        return Err(Refusal::NoIdentityTrusted);
    }
    let der = signature",
            "let der = signature",
        )],
    },
];
