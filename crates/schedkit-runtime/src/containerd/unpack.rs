//! Layers become snapshots, one on top of the other. Called by `pull`, under its lease.

use std::time::Duration;

use schedkit_core::{Digest, PinnedRef};
use schedkit_image::registry::Descriptor;

use super::api::diff::ApplyRequest;
use super::api::snapshots::{CommitSnapshotRequest, PrepareSnapshotRequest, RemoveSnapshotRequest};
use super::api::types;
use super::chain::chain_ids;
use super::fault::Absence;
use super::parts::{Parts, broken};
use super::random;
use super::session::Session;
use super::store;
use crate::driver::DriverError;

/// For a layer of no size, and what each byte adds to it: slow disks exist.
const APPLY: Duration = Duration::from_secs(300);
const SLOWEST: u64 = 256 * 1024;

/// Where a layer goes.
#[derive(Clone, Copy, Debug)]
struct Place<'a> {
    snapshotter: &'a str,
    parent: Option<&'a Digest>,
    chain_id: &'a Digest,
    diff_id: &'a Digest,
}

/// Unpacks what is not unpacked yet.
pub(super) async fn unpack(
    session: &Session,
    image: &PinnedRef,
    parts: &Parts,
    snapshotter: &str,
) -> Result<(), DriverError> {
    let diff_ids = parts.config.diff_ids();
    let chain = chain_ids(diff_ids);
    for (index, layer) in parts.layers.iter().enumerate() {
        let place = Place {
            snapshotter,
            parent: index.checked_sub(1).map(|below| &chain[below]),
            chain_id: &chain[index],
            diff_id: &diff_ids[index],
        };
        if !store::is_unpacked(session, snapshotter, place.chain_id).await? {
            add(session, image, layer, place).await?;
        }
    }
    Ok(())
}

async fn add(
    session: &Session,
    image: &PinnedRef,
    layer: &Descriptor,
    place: Place<'_>,
) -> Result<(), DriverError> {
    let key = format!("schedkit-{}-{}", random::letters(), place.chain_id.hex());
    let made = fill(session, image, layer, place, &key).await;
    if !matches!(made, Ok(Made::Committed)) {
        // It is worth nothing now; the lease has it, should this fail.
        let _ = remove(session, place.snapshotter, &key).await;
    }
    made.map(drop)
}

/// What became of a snapshot.
enum Made {
    Committed,
    /// Somebody else was quicker.
    Spare,
}

async fn fill(
    session: &Session,
    image: &PinnedRef,
    layer: &Descriptor,
    place: Place<'_>,
    key: &str,
) -> Result<Made, DriverError> {
    let request = PrepareSnapshotRequest {
        snapshotter: place.snapshotter.to_owned(),
        key: key.to_owned(),
        parent: place.parent.map(Digest::to_string).unwrap_or_default(),
        ..PrepareSnapshotRequest::default()
    };
    let mut snapshots = session.snapshots();
    let prepared = session.ask(snapshots.prepare(request)).await?;
    let request = ApplyRequest {
        diff: Some(types::Descriptor {
            media_type: layer.media_type.clone(),
            digest: layer.digest.to_string(),
            size: i64::try_from(layer.size).unwrap_or(i64::MAX),
        }),
        mounts: prepared.mounts,
    };
    let limit = APPLY + Duration::from_secs(layer.size / SLOWEST);
    let mut diff = session.diff();
    let answer = session.ask_for(limit, diff.apply(request)).await?;
    let applied = answer.applied.unwrap_or_default().digest;
    if applied != place.diff_id.to_string() {
        let reason = format!("layer {} is not what its configuration says", layer.digest);
        return Err(broken(image, &reason));
    }
    let request = CommitSnapshotRequest {
        snapshotter: place.snapshotter.to_owned(),
        name: place.chain_id.to_string(),
        key: key.to_owned(),
        ..CommitSnapshotRequest::default()
    };
    let committed = session
        .ask(snapshots.commit(request))
        .await
        .unless_there()?;
    Ok(committed.map_or(Made::Spare, |()| Made::Committed))
}

/// Removes a snapshot; that there is none is fine.
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
        .ask(snapshots.remove(request))
        .await
        .if_there()
        .map(drop)
}
