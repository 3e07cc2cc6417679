//! Unpacks layers into snapshots, each on top of the one below. Called by `pull`, under its lease.

use std::time::Duration;

use schedkit_core::{Digest, PinnedRef};
use schedkit_image::registry::Descriptor;

use super::api::diff::ApplyRequest;
use super::api::snapshots::{CommitSnapshotRequest, PrepareSnapshotRequest, RemoveSnapshotRequest};
use super::api::types;
use super::call_error::CallResult;
use super::chain::chain_ids;
use super::parts::{Parts, invalid};
use super::random;
use super::session::Session;
use super::store;
use crate::driver::DriverError;

/// For an empty layer; slow disks need more for each byte.
const APPLY: Duration = Duration::from_secs(300);
const MIN_BYTES_PER_SECOND: u64 = 256 * 1024;

/// The snapshot of a layer.
#[derive(Clone, Copy, Debug)]
struct LayerSnapshot<'a> {
    snapshotter: &'a str,
    parent: Option<&'a Digest>,
    chain_id: &'a Digest,
    diff_id: &'a Digest,
}

/// Unpacks the layers that are not unpacked yet.
pub(super) async fn unpack(
    session: &Session,
    image: &PinnedRef,
    parts: &Parts,
    snapshotter: &str,
) -> Result<(), DriverError> {
    let diff_ids = parts.config.diff_ids();
    let chain = chain_ids(diff_ids);
    for (index, layer) in parts.layers.iter().enumerate() {
        let snapshot = LayerSnapshot {
            snapshotter,
            parent: index.checked_sub(1).map(|below| &chain[below]),
            chain_id: &chain[index],
            diff_id: &diff_ids[index],
        };
        if !store::is_unpacked(session, snapshotter, snapshot.chain_id).await? {
            add(session, image, layer, snapshot).await?;
        }
    }
    Ok(())
}

async fn add(
    session: &Session,
    image: &PinnedRef,
    layer: &Descriptor,
    snapshot: LayerSnapshot<'_>,
) -> Result<(), DriverError> {
    let key = format!(
        "schedkit-{}-{}",
        random::hex_suffix(),
        snapshot.chain_id.hex()
    );
    let filled = fill(session, image, layer, snapshot, &key).await;
    if !matches!(filled, Ok(Commit::Committed)) {
        // If this fails, the snapshot is collected when the lease expires.
        let _ = remove(session, snapshot.snapshotter, &key).await;
    }
    filled.map(drop)
}

enum Commit {
    Committed,
    /// Another client has committed the same snapshot.
    AlreadyExists,
}

async fn fill(
    session: &Session,
    image: &PinnedRef,
    layer: &Descriptor,
    snapshot: LayerSnapshot<'_>,
    key: &str,
) -> Result<Commit, DriverError> {
    let request = PrepareSnapshotRequest {
        snapshotter: snapshot.snapshotter.to_owned(),
        key: key.to_owned(),
        parent: snapshot.parent.map(Digest::to_string).unwrap_or_default(),
        ..PrepareSnapshotRequest::default()
    };
    let mut snapshots = session.snapshots();
    let prepared = session.call(snapshots.prepare(request)).await?;
    let request = ApplyRequest {
        diff: Some(types::Descriptor {
            media_type: layer.media_type.clone(),
            digest: layer.digest.to_string(),
            size: i64::try_from(layer.size).unwrap_or(i64::MAX),
        }),
        mounts: prepared.mounts,
    };
    let limit = APPLY + Duration::from_secs(layer.size / MIN_BYTES_PER_SECOND);
    let mut diff = session.diff();
    let response = session.call_within(limit, diff.apply(request)).await?;
    let applied = response.applied.unwrap_or_default().digest;
    if applied != snapshot.diff_id.to_string() {
        let reason = format!("layer {} does not match its configuration", layer.digest);
        return Err(invalid(image, &reason));
    }
    let request = CommitSnapshotRequest {
        snapshotter: snapshot.snapshotter.to_owned(),
        name: snapshot.chain_id.to_string(),
        key: key.to_owned(),
        ..CommitSnapshotRequest::default()
    };
    let committed = session
        .call(snapshots.commit(request))
        .await
        .unless_exists()?;
    Ok(committed.map_or(Commit::AlreadyExists, |()| Commit::Committed))
}

/// A missing snapshot is no error.
pub(super) async fn remove(
    session: &Session,
    snapshotter: &str,
    key: &str,
) -> Result<(), DriverError> {
    let request = RemoveSnapshotRequest {
        snapshotter: snapshotter.to_owned(),
        key: key.to_owned(),
    };
    let mut snapshots = session.snapshots();
    session
        .call(snapshots.remove(request))
        .await
        .if_found()
        .map(drop)
}
