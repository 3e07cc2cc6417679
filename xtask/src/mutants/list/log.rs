//! Checks of the entry in a transparency log, and of time.

use crate::mutants::Mutant;

pub(super) const MUTANTS: &[Mutant] = &[
    Mutant {
        without: "that a log has a signature once",
        file: "crates/schedkit-image/src/signature/log_entry.rs",
        changes: &[(
            "several => return Err(Refusal::LogEntries(several.len())),",
            "[entry, ..] => entry,",
        )],
    },
    Mutant {
        without: "that only the log of the entry speaks",
        file: "crates/schedkit-image/src/trust/root.rs",
        changes: &[(
            "root.tlogs.retain(|known| &known.log_id.key_id == log);",
            "",
        )],
    },
    // Held in three places; the case that gets through all of them is made in the lab.
    Mutant {
        without: "the promise of the log",
        file: "crates/schedkit-image/src/signature/keyless.rs",
        changes: &[
            ("if entry.entry.inclusion_promise.is_none() {", "if false {"),
            (
                "&bundle.without_timestamps())?",
                "&if signing.entry.entry.inclusion_promise.is_some() { bundle.without_timestamps() } else { bundle.parsed().clone() })?",
            ),
            (
                "if entry.generation == Generation::First && integrated_time.is_none() {",
                "if false {",
            ),
        ],
    },
    Mutant {
        without: "that the log is one of the root",
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
    Mutant {
        without: "that a newer log says no time",
        file: "crates/schedkit-image/src/signature/keyless.rs",
        changes: &[("if entry.entry.integrated_time.is_some() {", "if false {")],
    },
    Mutant {
        without: "that a newer log promises nothing",
        file: "crates/schedkit-image/src/signature/log_entry.rs",
        changes: &[("if self.generation == Generation::Second {", "if false {")],
    },
    Mutant {
        without: "that a promise has a time",
        file: "crates/schedkit-image/src/signature/log_entry.rs",
        changes: &[("if self.entry.integrated_time.is_none() {", "if false {")],
    },
    Mutant {
        without: "the kind of key that promises",
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
    Mutant {
        without: "that an entry has a proof",
        file: "crates/schedkit-image/src/signature/bundle.rs",
        changes: &[(
            "if entries.any(|entry| entry.inclusion_proof.is_none()) {",
            "if false {",
        )],
    },
    Mutant {
        without: "the parts of a checkpoint",
        file: "crates/schedkit-image/src/signature/log_entry.rs",
        changes: &[(
            r#"if proof.checkpoint.envelope().matches("\n\n").count() != 1 {"#,
            "if false {",
        )],
    },
    Mutant {
        without: "the kind of checkpoint of an older log",
        file: "crates/schedkit-image/src/signature/log_entry.rs",
        changes: &[(
            "Generation::First if !has_tree_number(checkpoint.origin()) => {",
            "Generation::First if !has_tree_number(checkpoint.origin()) && false => {",
        )],
    },
    Mutant {
        without: "the log of the checkpoint of a newer log",
        file: "crates/schedkit-image/src/signature/log_entry.rs",
        changes: &[(
            "if host.is_empty() || checkpoint.origin() != host || !signed {",
            "if false {",
        )],
    },
    Mutant {
        without: "the body of an entry in a newer log",
        file: "crates/schedkit-image/src/signature/log_entry.rs",
        changes: &[(
            "if self.entry.canonicalized_body.as_bytes() == expected.as_bytes() {",
            "if self.entry.canonicalized_body.as_bytes() == expected.as_bytes() || true {",
        )],
    },
    Mutant {
        without: "the body of a key in a newer log",
        file: "crates/schedkit-image/src/signature/keyed.rs",
        changes: &[(
            "entry.check_second_body(bundle.message(), bundle.signature(), &signer)?;",
            "let _ = entry.check_second_body(bundle.message(), bundle.signature(), &signer);",
        )],
    },
    Mutant {
        without: "the kind of entry of a .sig layer",
        file: "crates/schedkit-image/src/signature/simple.rs",
        changes: &[(
            r#"if (kind.kind.as_str(), kind.version.as_str()) != ("hashedrekord", "0.0.1") {"#,
            "if false {",
        )],
    },
    Mutant {
        without: "the hash in the entry of a .sig layer",
        file: "crates/schedkit-image/src/signature/simple.rs",
        changes: &[(
            r#"if kind.spec.data.hash.algorithm != "sha256" {"#,
            "if false {",
        )],
    },
    Mutant {
        without: "requireTransparencyLog for a bundle",
        file: "crates/schedkit-image/src/signature/keyed.rs",
        changes: &[(
            "if policy.log_for_keys() == LogForKeys::Required {
        let logged = bundle",
            "if false {
        let logged = bundle",
        )],
    },
    Mutant {
        without: "requireTransparencyLog for a .sig layer",
        file: "crates/schedkit-image/src/signature/keyed.rs",
        changes: &[(
            "if policy.log_for_keys() == LogForKeys::Required {
        let logged = signature",
            "if false {
        let logged = signature",
        )],
    },
    Mutant {
        without: "that a key did not sign in the future",
        file: "crates/schedkit-image/src/signature/keyed.rs",
        changes: &[(
            "time.filter(|&time| time > now)",
            "time.filter(|&time| time > now && false)",
        )],
    },
    Mutant {
        without: "that nobody signed in the future",
        file: "crates/schedkit-image/src/signature/keyless.rs",
        changes: &[(
            "times.iter().find(|&&time| time > now)",
            "times.iter().find(|&&time| time > now && false)",
        )],
    },
];
