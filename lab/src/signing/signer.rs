//! The identities of keyless signatures.

/// The default identity: a GitHub workflow, as for the project's own images.
pub const IDENTITY: &str =
    "https://github.com/schedkit/plumbing/.github/workflows/oci-build-publish.yml@refs/heads/main";
/// The OIDC issuer of [`IDENTITY`].
pub const ISSUER: &str = "https://token.actions.githubusercontent.com";

/// What an identity or issuer must be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Match {
    Exact(String),
    /// Matches anywhere in the text unless anchored.
    Regexp(String),
}

/// The signer that cosign must find to accept a keyless signature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signer {
    /// The certificate's subject.
    pub identity: Match,
    /// The OIDC issuer that the certificate names.
    pub issuer: Match,
}

impl Default for Signer {
    fn default() -> Self {
        Self {
            identity: Match::Exact(IDENTITY.to_owned()),
            issuer: Match::Exact(ISSUER.to_owned()),
        }
    }
}
