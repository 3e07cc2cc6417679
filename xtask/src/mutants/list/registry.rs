//! Checks of what a registry sends.

use crate::mutants::Mutant;

pub(super) const MUTANTS: &[Mutant] = &[
    Mutant {
        without: "the digest of a manifest",
        file: "crates/schedkit-image/src/registry/client.rs",
        changes: &[(
            "Self::Digest(expected) if **expected != found =>",
            "Self::Digest(expected) if **expected != found && false =>",
        )],
    },
    Mutant {
        without: "the digest in the header of a manifest",
        file: "crates/schedkit-image/src/registry/client.rs",
        changes: &[(
            "digest.map(|found| version.check(found, &reply)).transpose()",
            "Ok(digest)",
        )],
    },
    Mutant {
        without: "the digest of a blob",
        file: "crates/schedkit-image/src/registry/blob.rs",
        changes: &[(
            "if found == blob.digest {",
            "if found == blob.digest || true {",
        )],
    },
    Mutant {
        without: "the length of a blob",
        file: "crates/schedkit-image/src/registry/blob.rs",
        changes: &[("if received != total {", "if false {")],
    },
    Mutant {
        without: "that a document is one thing only",
        file: "crates/schedkit-image/src/registry/content.rs",
        changes: &[(
            "if is_index && (outline.config.is_some() || outline.layers.is_some()) {",
            "if false {",
        )],
    },
    Mutant {
        without: "that a document is what it says",
        file: "crates/schedkit-image/src/registry/content.rs",
        changes: &[("if says_index != is_index {", "if false {")],
    },
    Mutant {
        without: "the number of parts of a document",
        file: "crates/schedkit-image/src/registry/content.rs",
        changes: &[("if parts > MOST_DESCRIPTORS {", "if false {")],
    },
    Mutant {
        without: "that trouble with the referrers API is not its absence",
        file: "crates/schedkit-image/src/registry/referrers.rs",
        changes: &[(
            "        _ => false,
",
            "        _ => true,
",
        )],
    },
    Mutant {
        without: "that trouble with the referrers tag is not its absence",
        file: "crates/schedkit-image/src/registry/referrers.rs",
        changes: &[(
            "            Err(error) => Err(error),
",
            "            Err(_) => Ok(Vec::new()),
",
        )],
    },
    Mutant {
        without: "the number of referrers on all pages",
        file: "crates/schedkit-image/src/registry/referrers.rs",
        changes: &[("if self.entries.len() > MOST_REFERRERS {", "if false {")],
    },
];
