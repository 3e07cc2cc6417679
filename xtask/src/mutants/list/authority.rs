//! Checks of what a certificate rests on.

use crate::mutants::Mutant;

pub(super) const MUTANTS: &[Mutant] = &[
    Mutant {
        without: "the chain of a certificate",
        file: "crates/schedkit-image/src/signature/keyless.rs",
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
    Mutant {
        without: "the proof of publication of a certificate",
        file: "crates/schedkit-image/src/signature/keyless.rs",
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
    Mutant {
        without: "the log of a certificate",
        file: "crates/schedkit-image/src/signature/keyless.rs",
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
    Mutant {
        without: "the beginning of an authority",
        file: "crates/schedkit-image/src/trust/root.rs",
        changes: &[(
            "life.contains(not_before)
",
            "(life.contains(not_before) || true)
",
        )],
    },
    Mutant {
        without: "the end of an authority",
        file: "crates/schedkit-image/src/trust/root.rs",
        changes: &[(
            "&& life.contains(not_after)
",
            "",
        )],
    },
    Mutant {
        without: "when the root trusts an authority",
        file: "crates/schedkit-image/src/trust/root.rs",
        changes: &[(
            ".is_none_or(|window| window.contains(not_before))",
            ".is_none_or(|window| window.contains(not_before) || true)",
        )],
    },
    Mutant {
        without: "that a root says it is one",
        file: "crates/schedkit-image/src/trust/root.rs",
        changes: &[(
            "if !parsed.media_type.starts_with(MEDIA_TYPE) {",
            "if false {",
        )],
    },
    Mutant {
        without: "the size of a root",
        file: "crates/schedkit-image/src/trust/root.rs",
        changes: &[("if sizes.any(|size| size > MOST_ENTRIES) {", "if false {")],
    },
    Mutant {
        without: "since when a log is valid",
        file: "crates/schedkit-image/src/trust/root.rs",
        changes: &[(
            ".find(|log| log.public_key.valid_for.is_none())",
            ".find(|log| log.public_key.valid_for.is_none() && false)",
        )],
    },
    Mutant {
        without: "that the keys of a root can be read",
        file: "crates/schedkit-image/src/trust/root.rs",
        changes: &[(
            "Verifier::new(&parsed).map_err(|error| malformed(error.to_string()))?;",
            "",
        )],
    },
];
