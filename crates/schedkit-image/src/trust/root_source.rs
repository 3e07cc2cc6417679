//! The trusted root of policies that name none: what was kept by TUF, or what is embedded. And how
//! old it is.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

use super::policy::Policy;
use super::root::{RootError, TrustRoot, public_good_taken};
use super::signer_policy::LogForKeys;
use super::tuf::{Anchor, KeptRoot, RootStoreError};

const HOUR: u64 = 3600;
const DAY: u64 = 24 * HOUR;

#[derive(Debug, Clone)]
pub enum RootSource {
    /// The one inside the program.
    Embedded,
    Kept(Arc<KeptRoot>),
    /// There is none, and the embedded one is of another instance.
    Nothing(Arc<NoRootError>),
}

/// Why another root is used than one would think.
#[derive(Debug, thiserror::Error)]
pub enum RootWarning {
    #[error("using the trusted root inside this program")]
    Unusable(#[source] RootStoreError),
    /// It is used nevertheless: the embedded one may still trust what was revoked.
    #[error(
        "the trusted root was last checked at {0:.0}, in the future: is this machine's clock right?"
    )]
    Future(Timestamp),
}

/// Why a policy has no root to verify with.
#[derive(Debug, thiserror::Error)]
pub enum NoRootError {
    #[error(
        "there is no trusted root yet for the TUF root {}: `schedctl trust update` fetches it",
        .0.display()
    )]
    NotFetched(PathBuf),
    /// Whoever refreshes it by itself does so again: why it has failed.
    #[error("no trusted root was fetched yet: {0}")]
    NotRefreshed(String),
    #[error(transparent)]
    Unusable(RootStoreError),
    #[error("the trusted root inside this program cannot be used")]
    Embedded(#[source] RootError),
}

/// Why the root of a policy is too old.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RootAgeError {
    #[error("the trusted root was last checked at {as_of:.0}, and that may be {} ago at most", Age(*max))]
    TooOld { as_of: Timestamp, max: Duration },
    #[error(
        "the trusted root was last checked at {0:.0}, in the future, so that its age is unknown"
    )]
    Unknown(Timestamp),
}

/// In days or hours.
struct Age(Duration);

impl RootSource {
    /// What was loaded for an anchor, or the embedded one if that is newer or the only one of the same
    /// instance. The warning is for policies that verify with it.
    pub fn choose(
        anchor: &Anchor,
        loaded: Result<Option<KeptRoot>, RootStoreError>,
        now: Timestamp,
    ) -> (Self, Option<RootWarning>) {
        match (loaded, anchor.path()) {
            (Ok(Some(kept)), None) if public_good_taken() > Some(kept.checked_at()) => {
                (Self::Embedded, None)
            }
            (Ok(Some(kept)), _) => {
                let at = kept.checked_at();
                let warning = (at > now).then_some(RootWarning::Future(at));
                (Self::Kept(Arc::new(kept)), warning)
            }
            (Ok(None), None) => (Self::Embedded, None),
            (Err(error), None) => (Self::Embedded, Some(RootWarning::Unusable(error))),
            (Ok(None), Some(path)) => {
                let error = NoRootError::NotFetched(path.to_owned());
                (Self::Nothing(Arc::new(error)), None)
            }
            (Err(error), Some(_)) => {
                let error = NoRootError::Unusable(error);
                (Self::Nothing(Arc::new(error)), None)
            }
        }
    }

    /// # Errors
    /// When there is none.
    pub fn root(&self) -> Result<TrustRoot, Arc<NoRootError>> {
        match self {
            Self::Embedded => {
                TrustRoot::public_good().map_err(|error| Arc::new(NoRootError::Embedded(error)))
            }
            Self::Kept(kept) => Ok(kept.root().clone()),
            Self::Nothing(error) => Err(Arc::clone(error)),
        }
    }
}

impl Policy {
    /// When the root that it verifies with was last known to be the newest. `None` if it needs no
    /// root, or names its own, which whoever wrote the policy looks after.
    pub fn root_as_of(&self) -> Option<Timestamp> {
        let uses_log = self.log_for_keys() != LogForKeys::Optional;
        let uses_root = uses_log || !self.identities().is_empty();
        self.root().origin().as_of().filter(|_| uses_root)
    }

    /// # Errors
    /// When the root that it verifies with is older.
    pub fn check_root_age(&self, max: Duration, now: Timestamp) -> Result<(), RootAgeError> {
        let Some(as_of) = self.root_as_of() else {
            return Ok(());
        };
        match Duration::try_from(now.duration_since(as_of)) {
            Ok(age) if age <= max => Ok(()),
            Ok(_) => Err(RootAgeError::TooOld { as_of, max }),
            Err(_) => Err(RootAgeError::Unknown(as_of)),
        }
    }
}

impl fmt::Display for Age {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0.as_secs();
        match seconds.is_multiple_of(DAY) {
            true => write!(f, "{} days", seconds / DAY),
            false => write!(f, "{} hours", seconds.div_ceil(HOUR)),
        }
    }
}
