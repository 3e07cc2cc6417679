//! One way from the anchor to the trusted root, with every check of TUF: the same over the network and
//! through what was kept.

use std::sync::Arc;

use jiff::Timestamp;
use sigstore_tuf::{MemoryStore, Repository, TrustedMetadataSet, Updater, UpdaterConfig};

use super::anchor::{Anchor, MAX_ROOT_BYTES};
use super::fault::{MAX_ROOTS, TufFault};
use super::files::{TARGET, TufFiles};

const MAX_TIMESTAMP_BYTES: u64 = 16 << 10;
const MAX_SNAPSHOT_BYTES: u64 = 256 << 10;
const MAX_TARGETS_BYTES: u64 = 1 << 20;
/// As for a root in a file.
const MAX_TARGET_BYTES: u64 = 1 << 20;

/// A part of a TUF repository with signers of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoleState {
    pub name: &'static str,
    pub version: u64,
    pub expires: Timestamp,
}

pub(super) struct Walked {
    pub(super) files: TufFiles,
    /// `root`, `timestamp`, `snapshot`, `targets`.
    pub(super) roles: Vec<RoleState>,
}

/// What is known is the lowest that is accepted.
pub(super) async fn walk(
    repository: impl Repository + 'static,
    known: Option<&TufFiles>,
    anchor: &Anchor,
    now: Timestamp,
) -> Result<Walked, TufFault> {
    let store = known.map(|files| files.store(anchor)).transpose()?;
    let store = Arc::new(store.unwrap_or_else(MemoryStore::new));
    let updater = Updater::new(repository, anchor.bytes())?;
    let updater = updater.with_config(limits());
    let mut updater = updater.with_store(Arc::clone(&store));
    updater.refresh(now).await?;
    let trusted_root = updater.get_target(TARGET, now).await?;
    let newest_root = updater.trusted().root().version;
    Ok(Walked {
        files: TufFiles::verified(&store, anchor, newest_root, trusted_root)?,
        roles: roles(updater.trusted()),
    })
}

fn limits() -> UpdaterConfig {
    let mut limits = UpdaterConfig::default();
    limits.root_max_length = MAX_ROOT_BYTES as u64;
    limits.timestamp_max_length = MAX_TIMESTAMP_BYTES;
    limits.snapshot_max_length = MAX_SNAPSHOT_BYTES;
    limits.targets_max_length = MAX_TARGETS_BYTES;
    limits.target_max_length = MAX_TARGET_BYTES;
    // One more, for the answer that there is none.
    limits.max_root_rotations = MAX_ROOTS as u32 + 1;
    // The trusted root is listed at the top; nobody else may be given the right to list it.
    limits.max_delegations = 1;
    limits
}

fn roles(trusted: &TrustedMetadataSet) -> Vec<RoleState> {
    let root = trusted.root();
    let timestamp = trusted.timestamp();
    let snapshot = trusted.snapshot();
    let targets = trusted.targets_role("targets");
    let states = [
        Some(("root", root.version, root.expires)),
        timestamp.map(|one| ("timestamp", one.version, one.expires)),
        snapshot.map(|one| ("snapshot", one.version, one.expires)),
        targets.map(|one| ("targets", one.version, one.expires)),
    ];
    let states = states.into_iter().flatten();
    let states = states.map(|(name, version, expires)| RoleState {
        name,
        version,
        expires,
    });
    states.collect()
}
