//! Checks on the way to a signature, and of what no answer is.

use crate::mutants::Mutant;

pub(super) const MUTANTS: &[Mutant] = &[
    Mutant {
        without: "the image that a referrer belongs to",
        file: "crates/schedkit-image/src/signature/find.rs",
        changes: &[(
            "Some(subject) if &subject.digest == image.digest() => Ok(()),",
            "Some(_) => Ok(()),",
        )],
    },
    Mutant {
        without: "that a referrer belongs to an image",
        file: "crates/schedkit-image/src/signature/find.rs",
        changes: &[(
            r#"None => Err(Refusal::OtherSubject("none that it names".to_owned())),"#,
            "None => Ok(()),",
        )],
    },
    Mutant {
        without: "that a referrer has one layer",
        file: "crates/schedkit-image/src/signature/find.rs",
        changes: &[(
            "let [layer] = manifest.layers.as_slice() else {",
            "let [layer, ..] = manifest.layers.as_slice() else {",
        )],
    },
    Mutant {
        without: "that a referrer holds a bundle",
        file: "crates/schedkit-image/src/signature/find.rs",
        changes: &[("if !manifest.layers.iter().any(is_bundle) {", "if false {")],
    },
    Mutant {
        without: "the type of a .sig layer",
        file: "crates/schedkit-image/src/signature/find.rs",
        changes: &[(
            "layers.retain(|layer| layer.media_type == SIMPLE_TYPE);",
            "",
        )],
    },
    Mutant {
        without: "the size of a signature",
        file: "crates/schedkit-image/src/signature/find.rs",
        changes: &[("if size > limit as u64 {", "if false {")],
    },
    Mutant {
        without: "that trouble is no absence",
        file: "crates/schedkit-image/src/signature/find.rs",
        changes: &[("Err(trouble) => Err(trouble),", "Err(_) => Ok(None),")],
    },
    Mutant {
        without: "that trouble is no answer",
        file: "crates/schedkit-image/src/signature/verify.rs",
        changes: &[(
            "if let Some(source) = self.trouble {",
            "if let Some(source) = self.trouble.filter(|_| false) {",
        )],
    },
    Mutant {
        without: "that trouble is no refusal",
        file: "crates/schedkit-image/src/signature/verify.rs",
        changes: &[(
            "Self::Trouble { .. } | Self::TooMany { .. } | Self::TooSlow { .. } => false",
            "Self::Trouble { .. } | Self::TooMany { .. } | Self::TooSlow { .. } => true",
        )],
    },
    Mutant {
        without: "that too many are no answer",
        file: "crates/schedkit-image/src/signature/verify.rs",
        changes: &[("if self.most > MOST_CANDIDATES {", "if false {")],
    },
    Mutant {
        without: "the number of referrers",
        file: "crates/schedkit-image/src/signature/find.rs",
        changes: &[("let total = list.len();", "let total = 0;")],
    },
    Mutant {
        without: "the number of .sig layers",
        file: "crates/schedkit-image/src/signature/find.rs",
        changes: &[("let total = layers.len();", "let total = 0;")],
    },
    Mutant {
        without: "how long a search takes",
        file: "crates/schedkit-image/src/signature/verify.rs",
        changes: &[(
            "match tokio::time::timeout(LONGEST, search).await {",
            "match Ok::<_, tokio::time::error::Elapsed>(search.await) {",
        )],
    },
];
