//! Checks of the policy and of the files that it names.

use crate::mutants::Mutant;

pub(super) const MUTANTS: &[Mutant] = &[
    Mutant {
        without: "that a policy names somebody",
        file: "crates/schedkit-image/src/trust/policy_file.rs",
        changes: &[(
            "if keys.is_empty() && identities.is_empty() {",
            "if false {",
        )],
    },
    Mutant {
        without: "the number of rules of a policy",
        file: "crates/schedkit-image/src/trust/policy_file.rs",
        changes: &[("if size > MOST_RULES {", "if false {")],
    },
    Mutant {
        without: "unknown names in a policy",
        file: "crates/schedkit-image/src/trust/policy_file.rs",
        changes: &[(
            r#"#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Wire"#,
            r#"#[serde(rename_all = "camelCase")]
struct Wire"#,
        )],
    },
    Mutant {
        without: "that identities always need a log",
        file: "crates/schedkit-image/src/trust/policy_file.rs",
        changes: &[(
            "Some(asked) if no_keys =>",
            "Some(asked) if no_keys && false =>",
        )],
    },
    Mutant {
        without: "that rekorURL is a log of the root",
        file: "crates/schedkit-image/src/trust/policy_file.rs",
        changes: &[(
            "&& !root.log_urls().any(|known| same_url(known, &url.value))",
            "&& !root.log_urls().any(|known| same_url(known, &url.value) || true)",
        )],
    },
    Mutant {
        without: "that another rekorURL has a root",
        file: "crates/schedkit-image/src/trust/policy_file.rs",
        changes: &[(
            "if root.is_none() && !same_url(&url.value, PUBLIC_REKOR) {",
            "if false {",
        )],
    },
    Mutant {
        without: "that a root serves identities",
        file: "crates/schedkit-image/src/trust/policy_file.rs",
        changes: &[(
            "if !self.identities.is_empty() && !root.serves_identities() {",
            "if false {",
        )],
    },
    Mutant {
        without: "that a root serves logs",
        file: "crates/schedkit-image/src/trust/policy_file.rs",
        changes: &[(
            "if self.log_for_keys == LogForKeys::Required && !root.serves_logs() {",
            "if false {",
        )],
    },
    Mutant {
        without: "that a name is exact or a pattern",
        file: "crates/schedkit-image/src/trust/policy_file.rs",
        changes: &[(
            "(Some(text), None) => (plain, text, Pattern::exact(&text.value)),",
            "(Some(text), _) => (plain, text, Pattern::exact(&text.value)),",
        )],
    },
    Mutant {
        without: "the size of an RSA key",
        file: "crates/schedkit-image/src/trust/key.rs",
        changes: &[(
            "if !(FEWEST_RSA_BITS..=MOST_RSA_BITS).contains(&size) {",
            "if false {",
        )],
    },
    Mutant {
        without: "that a key file has one key",
        file: "crates/schedkit-image/src/trust/key.rs",
        changes: &[("_ => return Err(KeyError::Several),", "_ => {}")],
    },
    Mutant {
        without: "that a key file holds no private key",
        file: "crates/schedkit-image/src/trust/key.rs",
        changes: &[(r#"if text.contains("PRIVATE KEY-----") {"#, "if false {")],
    },
    Mutant {
        without: "that a key file holds no certificate",
        file: "crates/schedkit-image/src/trust/key.rs",
        changes: &[(
            r#"if text.contains("-----BEGIN CERTIFICATE-----") {"#,
            "if false {",
        )],
    },
];
