//! Checks of who signed: keys, names, certificates.

use crate::mutants::Mutant;

pub(super) const MUTANTS: &[Mutant] = &[
    Mutant {
        without: "the key that made a signature",
        file: "crates/schedkit-image/src/trust/policy.rs",
        changes: &[(
            "named.key.verify(message, signature).is_ok()",
            "named.key.verify(message, signature).is_ok() || true",
        )],
    },
    Mutant {
        without: "the content that a key signed",
        file: "crates/schedkit-image/src/trust/key.rs",
        changes: &[(
            "verifier.verify_sig(message, signature).is_ok()",
            "verifier.verify_sig(message, signature).is_ok() || true",
        )],
    },
    Mutant {
        without: "whom the policy names as subject",
        file: "crates/schedkit-image/src/trust/policy.rs",
        changes: &[(
            "one.issuer.matches(issuer) && one.subject.matches(subject)",
            "one.issuer.matches(issuer)",
        )],
    },
    Mutant {
        without: "whom the policy names as issuer",
        file: "crates/schedkit-image/src/trust/policy.rs",
        changes: &[(
            "one.issuer.matches(issuer) && one.subject.matches(subject)",
            "one.subject.matches(subject)",
        )],
    },
    Mutant {
        without: "the anchor of a pattern",
        file: "crates/schedkit-image/src/trust/pattern.rs",
        changes: &[(
            "RegexBuilder::new(text)",
            "RegexBuilder::new(text.trim_start_matches('^'))",
        )],
    },
    Mutant {
        without: "the end of an exact name",
        file: "crates/schedkit-image/src/trust/pattern.rs",
        changes: &[(
            "Kind::Exact(wanted) => wanted == text",
            "Kind::Exact(wanted) => text.starts_with(wanted)",
        )],
    },
    Mutant {
        without: "that names are plain ASCII",
        file: "crates/schedkit-image/src/trust/pattern.rs",
        changes: &[(
            "text.bytes().all(plain)",
            "(text.bytes().all(plain) || true)",
        )],
    },
    Mutant {
        without: "that a pattern is not empty",
        file: "crates/schedkit-image/src/trust/pattern.rs",
        changes: &[("if text.is_empty() {", "if false {")],
    },
    Mutant {
        without: "that Go reads a pattern alike",
        file: "crates/schedkit-image/src/trust/go_syntax.rs",
        changes: &[("ast::visit(&ast, Differences { repeats: vec![1] })?;", "")],
    },
    Mutant {
        without: "that an unanchored pattern is noticed",
        file: "crates/schedkit-image/src/trust/go_syntax.rs",
        changes: &[(
            "if begins_at_start(&ast) {",
            "if begins_at_start(&ast) || true {",
        )],
    },
    Mutant {
        without: "that a certificate names one subject",
        file: "crates/schedkit-image/src/signature/certificate.rs",
        changes: &[(
            "[GeneralName::UniformResourceIdentifier(name) | GeneralName::Rfc822Name(name)] => {",
            "[GeneralName::UniformResourceIdentifier(name) | GeneralName::Rfc822Name(name), ..] => {",
        )],
    },
    Mutant {
        without: "the form of the name of a subject",
        file: "crates/schedkit-image/src/signature/certificate.rs",
        changes: &[(
            "GeneralName::UniformResourceIdentifier(name) | GeneralName::Rfc822Name(name)",
            "GeneralName::UniformResourceIdentifier(name) | GeneralName::Rfc822Name(name) | GeneralName::DnsName(name)",
        )],
    },
    Mutant {
        without: "that a certificate names one issuer",
        file: "crates/schedkit-image/src/signature/certificate.rs",
        changes: &[(
            "(Some(new), Some(old)) if new != old =>",
            "(Some(new), Some(old)) if new != old && false =>",
        )],
    },
    Mutant {
        without: "that a certificate says nothing twice",
        file: "crates/schedkit-image/src/signature/certificate.rs",
        changes: &[("if found.next().is_some() {", "if false {")],
    },
    Mutant {
        without: "the kind of key of a certificate",
        file: "crates/schedkit-image/src/signature/certificate.rs",
        changes: &[(
            "if !KEYS.contains(&body.subject_public_key_info.algorithm.oid) {",
            "if false {",
        )],
    },
    Mutant {
        without: "that a .sig layer has one certificate",
        file: "crates/schedkit-image/src/signature/simple.rs",
        changes: &[(
            r#"if text.matches("-----BEGIN ").count() != 1 {"#,
            "if false {",
        )],
    },
    Mutant {
        without: "the older form of the issuer in a .sig layer",
        file: "crates/schedkit-image/src/signature/keyless.rs",
        changes: &[("if leaf.old_issuer.is_none() {", "if false {")],
    },
    Mutant {
        without: "that the policy has keys",
        file: "crates/schedkit-image/src/signature/keyed.rs",
        changes: &[("if policy.keys().is_empty() {", "if false {")],
    },
    Mutant {
        without: "that the policy has identities for a bundle",
        file: "crates/schedkit-image/src/signature/keyless.rs",
        changes: &[(
            "if policy.identities().is_empty() {
        return Err(Refusal::NoIdentityTrusted);
    }
    let der = bundle",
            "let der = bundle",
        )],
    },
    Mutant {
        without: "that the policy has identities for a .sig layer",
        file: "crates/schedkit-image/src/signature/keyless.rs",
        changes: &[(
            "if policy.identities().is_empty() {
        return Err(Refusal::NoIdentityTrusted);
    }
    let der = signature",
            "let der = signature",
        )],
    },
];
