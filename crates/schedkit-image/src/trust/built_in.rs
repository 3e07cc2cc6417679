//! The policies inside the program. They are used by name, wherever a policy's file can be named.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use crate::untrusted::brief;

/// What a name begins with; no file of a policy does.
const PREFIX: &str = "builtin:";

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BuiltIn {
    /// The default: the one workflow of the schedkit project that publishes images, on its main branch.
    #[default]
    Schedkit,
    /// Every workflow of the schedkit organisation, on every branch and tag: the default of earlier versions.
    SchedkitOrganisation,
}

/// Why a text is no name of a built-in policy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no built-in policy {0}, only {first} and {second}", first = BuiltIn::ALL[0], second = BuiltIn::ALL[1])]
pub struct BuiltInError(String);

impl BuiltIn {
    pub const ALL: [Self; 2] = [Self::Schedkit, Self::SchedkitOrganisation];

    pub fn name(self) -> &'static str {
        match self {
            Self::Schedkit => "builtin:schedkit",
            Self::SchedkitOrganisation => "builtin:schedkit-organisation",
        }
    }

    /// Whether a path is the name of a built-in policy, and of which; `None` if it is a file.
    pub fn named(path: &Path) -> Option<Result<Self, BuiltInError>> {
        let text = path.to_str()?;
        text.starts_with(PREFIX).then(|| text.parse())
    }

    /// As in a file.
    pub(super) fn text(self) -> &'static str {
        match self {
            Self::Schedkit => SCHEDKIT,
            Self::SchedkitOrganisation => SCHEDKIT_ORGANISATION,
        }
    }
}

impl FromStr for BuiltIn {
    type Err = BuiltInError;

    fn from_str(text: &str) -> Result<Self, BuiltInError> {
        let mut all = Self::ALL.into_iter();
        let found = all.find(|one| one.name() == text);
        found.ok_or_else(|| BuiltInError(brief(text)))
    }
}

impl fmt::Display for BuiltIn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// For every repository, because a signature names a digest: a copy in a mirror is as good.
const SCHEDKIT: &str = r#"
version: 2
signers:
  schedkit:
    issuer: https://token.actions.githubusercontent.com
    subject: https://github.com/schedkit/plumbing/.github/workflows/oci-build-publish.yml@refs/heads/main
rules:
  - scope: "*"
    signers: [schedkit]
"#;

const SCHEDKIT_ORGANISATION: &str = r"
identities:
  - issuer: https://token.actions.githubusercontent.com
    subjectRegExp: ^https://github\.com/schedkit/
";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trust::policy::{CertificateClaims, ProvenIdentity, ProvenSigner};
    use crate::trust::{Policy, PolicyFormat};
    use crate::untrusted::Reader;

    const ISSUER: &str = "https://token.actions.githubusercontent.com";
    const WORKFLOW: &str = "https://github.com/schedkit/plumbing/.github/workflows/oci-build-publish.yml@refs/heads/main";

    fn accepts(built_in: BuiltIn, issuer: &str, subject: &str) -> bool {
        let policy = built_in.policy().unwrap();
        let repository = "ghcr.io/schedkit/scx_lavd".parse().unwrap();
        let rule = policy.rule_for(&repository).unwrap();
        let proven = ProvenSigner {
            who: ProvenIdentity::Certificate {
                issuer,
                subject,
                claims: &CertificateClaims::default(),
            },
            time: jiff::Timestamp::UNIX_EPOCH,
        };
        let accepted = &rule.requirements().unwrap().signers;
        policy.counts_for(accepted, &proven).is_ok()
    }

    #[test]
    fn the_default_trusts_one_workflow_on_one_branch() {
        assert!(accepts(BuiltIn::Schedkit, ISSUER, WORKFLOW));
        for other in [
            WORKFLOW.replace("refs/heads/main", "refs/heads/main2"),
            WORKFLOW.replace("refs/heads/main", "refs/heads/fix"),
            WORKFLOW.replace("refs/heads/main", "refs/pull/7/merge"),
            WORKFLOW.replace("oci-build-publish", "test"),
            WORKFLOW.replace("plumbing", "sked"),
            WORKFLOW.replace("schedkit", "schedkit-evil"),
            format!("https://evil.example/{WORKFLOW}"),
        ] {
            assert!(!accepts(BuiltIn::Schedkit, ISSUER, &other), "{other}");
        }
        assert!(!accepts(
            BuiltIn::Schedkit,
            "https://accounts.google.com",
            WORKFLOW
        ));
    }

    #[test]
    fn the_organisation_is_trusted_by_name_only() {
        let organisation = BuiltIn::SchedkitOrganisation;
        assert!(accepts(organisation, ISSUER, WORKFLOW));
        let other = "https://github.com/schedkit/sked/.github/workflows/a.yml@refs/heads/x";
        assert!(accepts(organisation, ISSUER, other));
        for other in [
            "https://github.com/schedkit-evil/plumbing",
            "https://githubXcom/schedkit/plumbing",
            "https://evil.example/https://github.com/schedkit/plumbing",
        ] {
            assert!(!accepts(organisation, ISSUER, other), "{other}");
        }
        assert!(!accepts(organisation, &format!("{ISSUER}/x"), WORKFLOW));
    }

    #[test]
    fn they_are_found_by_their_names() {
        for built_in in BuiltIn::ALL {
            assert_eq!(built_in.name().parse(), Ok(built_in));
            assert_eq!(
                BuiltIn::named(Path::new(built_in.name())),
                Some(Ok(built_in))
            );
            assert_eq!(built_in.policy().unwrap().warnings(), []);
            let read = Policy::read(Path::new(built_in.name()), Reader::Root).unwrap();
            assert_eq!(read.fingerprint(), built_in.policy().unwrap().fingerprint());
        }
        assert_eq!(BuiltIn::named(Path::new("schedkit")), None);
        let error = Policy::read(Path::new("builtin:x"), Reader::User).unwrap_err();
        assert_eq!(
            error.to_string(),
            "there is no built-in policy builtin:x, only builtin:schedkit and builtin:schedkit-organisation"
        );
        let policy = Policy::built_in().unwrap();
        assert_eq!(policy.format(), PolicyFormat::Rules);
        assert!(policy.keys().is_empty());
    }
}
