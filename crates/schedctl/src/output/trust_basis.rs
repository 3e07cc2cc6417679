//! Why an image was allowed to run, as JSON documents and texts show it.

use std::fmt;

use schedkit_image::signature::Trusted;
use schedkit_runtime::Trust;
use serde::Serialize;

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(super) struct TrustBasis {
    pub(super) signer: Option<String>,
    /// Fingerprint of the trust policy that accepted the signature.
    policy: Option<String>,
    /// What allowed an unsigned image.
    pub(super) waiver: Option<String>,
}

impl From<&Trusted> for TrustBasis {
    fn from(trusted: &Trusted) -> Self {
        match trusted {
            Trusted::Verified(verified) => Self {
                signer: Some(verified.signer().to_string()),
                policy: Some(verified.policy().to_string()),
                waiver: None,
            },
            Trusted::Kept(kept) => Self {
                signer: Some(kept.signer().to_owned()),
                policy: Some(kept.policy().to_string()),
                waiver: None,
            },
            Trusted::Waived(waived) => Self {
                waiver: Some(waived.reason().to_owned()),
                ..Self::default()
            },
        }
    }
}

/// From a container's labels.
impl From<Option<&Trust>> for TrustBasis {
    fn from(recorded: Option<&Trust>) -> Self {
        match recorded.cloned() {
            None => Self::default(),
            Some(Trust::Verified { signer, policy }) => Self {
                signer: Some(signer),
                policy: Some(policy),
                waiver: None,
            },
            Some(Trust::Waived(reason)) => Self {
                waiver: Some(reason),
                ..Self::default()
            },
        }
    }
}

impl fmt::Display for TrustBasis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.signer, &self.waiver) {
            (Some(signer), _) => write!(f, "signed by {signer}"),
            (None, Some(waiver)) => write!(f, "not verified ({waiver})"),
            (None, None) => f.write_str("of unknown origin"),
        }
    }
}
