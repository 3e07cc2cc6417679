//! What containerd has in its content store, and which of it belongs to an image. Called by
//! `pull` and `create`; never writes more than labels.

use std::collections::BTreeMap;

use bytes::{Bytes, BytesMut};
use schedkit_core::{Digest, PinnedRef};

use super::api::content::{Info, InfoRequest, ReadContentRequest, UpdateRequest};
use super::api::images::GetImageRequest;
use super::api::snapshots::StatSnapshotRequest;
use super::chain::chain_ids;
use super::fault::{Absence, Fault};
use super::parts::{self, Parts, Wanted};
use super::session::Session;
use crate::driver::DriverError;

/// No index, manifest or configuration is larger.
pub(super) const BIGGEST_DOCUMENT: usize = 4 << 20;

/// An image that is all here: documents, layers, unpacked. Nothing, when anything is missing.
pub(super) async fn find(
    session: &Session,
    image: &PinnedRef,
    snapshotter: &str,
) -> Result<Option<Parts>, DriverError> {
    if !is_recorded(session, image).await? {
        return Ok(None);
    }
    let fetch = async |wanted: Wanted<'_>| match wanted {
        Wanted::Document(digest) => read(session, digest).await,
        Wanted::Blob(blob) => read(session, &blob.digest).await,
    };
    let Some(parts) = parts::gather(image, fetch).await? else {
        return Ok(None);
    };
    for layer in &parts.layers {
        if !is_kept(session, &layer.digest).await? {
            return Ok(None);
        }
    }
    let unpacked = match chain_ids(parts.config.diff_ids()).last() {
        Some(top) => is_unpacked(session, snapshotter, top).await?,
        None => true,
    };
    Ok(unpacked.then_some(parts))
}

/// Whether the name stands for that digest: others may write into this namespace.
async fn is_recorded(session: &Session, image: &PinnedRef) -> Result<bool, DriverError> {
    let name = image.to_string();
    let mut images = session.images();
    let answer = session.ask(images.get(GetImageRequest { name })).await;
    let record = answer.if_there()?.and_then(|answer| answer.image);
    let target = record.and_then(|record| record.target);
    Ok(target.is_some_and(|target| target.digest == image.digest().to_string()))
}

async fn is_kept(session: &Session, digest: &Digest) -> Result<bool, DriverError> {
    let digest = digest.to_string();
    let mut content = session.content();
    let answer = session.ask(content.info(InfoRequest { digest })).await;
    Ok(answer.if_there()?.is_some())
}

/// Whether there is a snapshot of a layer and all below it; it would not be there without them.
pub(super) async fn is_unpacked(
    session: &Session,
    snapshotter: &str,
    chain_id: &Digest,
) -> Result<bool, DriverError> {
    let request = StatSnapshotRequest {
        snapshotter: snapshotter.to_owned(),
        key: chain_id.to_string(),
    };
    let mut snapshots = session.snapshots();
    let answer = session.ask(snapshots.stat(request)).await;
    Ok(answer.if_there()?.is_some())
}

/// A small blob. Nothing, when it is not there.
async fn read(session: &Session, digest: &Digest) -> Result<Option<Bytes>, DriverError> {
    let request = ReadContentRequest {
        digest: digest.to_string(),
        ..ReadContentRequest::default()
    };
    let mut content = session.content();
    let Some(mut pieces) = session.ask(content.read(request)).await.if_there()? else {
        return Ok(None);
    };
    let mut bytes = BytesMut::new();
    loop {
        let piece = async { pieces.message().await.map(tonic::Response::new) };
        // That the blob is missing can also be the first piece of the answer.
        let Some(piece) = session.ask(piece).await.if_there()? else {
            return Ok(None);
        };
        let Some(piece) = piece else {
            return Ok(Some(bytes.freeze()));
        };
        bytes.extend_from_slice(&piece.data);
        if bytes.len() > BIGGEST_DOCUMENT {
            return Err(session.refused(format!("{digest} is larger than any document")));
        }
    }
}

/// Adds labels to a blob that is there; those that it has stay.
pub(super) async fn label(
    session: &Session,
    digest: &Digest,
    labels: BTreeMap<String, String>,
) -> Result<(), Fault> {
    let paths = labels.keys().map(|key| format!("labels.{key}")).collect();
    let info = Info {
        digest: digest.to_string(),
        labels: labels.into_iter().collect(),
        ..Info::default()
    };
    let request = UpdateRequest {
        info: Some(info),
        update_mask: Some(prost_types::FieldMask { paths }),
    };
    let mut content = session.content();
    session.ask(content.update(request)).await.map(drop)
}
