//! The trusted root of a Sigstore instance, kept up to date by TUF (The Update Framework).
//!
//! ```text
//! Anchor ─▶ roots, each signed by the one before ─▶ timestamp ─▶ snapshot ─▶ targets ─▶ trusted_root.json
//!                                                                                          │
//! RootStore ◀─save── KeptRoot ◀──────────── refresh: from a Mirror, never below what was kept ◀┘
//!     └──load: verified again, without a network, as of the time of the refresh──▶ KeptRoot
//! ```
//!
//! `sigstore-tuf` verifies; what is here decides what it may ask for, keeps what it verified, and
//! refuses a trusted root that we would not accept as a file (design/0019). Nothing else in this crate
//! asks a mirror, and only `refresh` does.

mod anchor;
mod fault;
mod files;
mod kept;
mod mirror;
mod store;
mod walk;

use std::time::Duration;

use jiff::Timestamp;
use tokio::time::timeout;

pub use anchor::{Anchor, AnchorError};
pub use fault::TufFault;
pub use kept::{KeptRoot, KeptRootError};
pub use mirror::{Mirror, MirrorError, MirrorUrl, MirrorUrlError};
pub use store::{FailedRefresh, RootStore, RootStoreError, UpdateLock};
pub use walk::RoleState;

use crate::registry::FileClient;
use mirror::MirrorRepository;

/// For a whole refresh. A mirror that answers slowly costs no more.
const TIMEOUT: Duration = Duration::from_secs(120);

/// Why the trusted root was not updated. The one before stays.
#[derive(Debug, thiserror::Error)]
#[error("the trusted root cannot be updated from {mirror}")]
pub struct TufError {
    mirror: String,
    #[source]
    fault: TufFault,
}

impl TufError {
    pub fn fault(&self) -> &TufFault {
        &self.fault
    }
}

/// Asks the mirror for the newest trusted root. What was kept is the lowest that is accepted, even if
/// it has expired.
///
/// # Errors
/// When the mirror does not answer, or has nothing that can be accepted.
pub async fn refresh(
    mirror: &Mirror,
    client: &FileClient,
    anchor: &Anchor,
    kept: Option<&KeptRoot>,
    now: Timestamp,
) -> Result<KeptRoot, TufError> {
    let refreshed = async {
        let repository = MirrorRepository::new(mirror.clone(), client.clone());
        let known = kept.filter(|kept| kept.is_of(anchor));
        let walking = walk::walk(repository, known.map(KeptRoot::files), anchor, now);
        let walked = timeout(TIMEOUT, walking).await;
        let walked = walked.map_err(|_| TufFault::Timeout(TIMEOUT))??;
        KeptRoot::new(walked, anchor, mirror.to_string(), now)
    };
    refreshed.await.map_err(|fault| TufError {
        mirror: mirror.to_string(),
        fault,
    })
}
