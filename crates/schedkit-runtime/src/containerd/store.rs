//! Finds an image in containerd's content store. Called by `pull` and `create`; writes only labels.

use std::collections::BTreeMap;

use bytes::{Bytes, BytesMut};
use schedkit_core::{Digest, PinnedRef};

use super::api::content::{Info, InfoRequest, ReadContentRequest, UpdateRequest};
use super::api::images::GetImageRequest;
use super::api::snapshots::StatSnapshotRequest;
use super::call_error::{CallError, CallResult};
use super::chain::chain_ids;
use super::parts::{self, PartRef, Parts};
use super::session::Session;
use crate::driver::DriverError;

/// No index, manifest or configuration is larger.
pub(super) const MAX_DOCUMENT: usize = 4 << 20;

/// An image that is complete and unpacked; `None` when anything is missing.
pub(super) async fn find(
    session: &Session,
    image: &PinnedRef,
    snapshotter: &str,
) -> Result<Option<Parts>, DriverError> {
    if !is_recorded(session, image).await? {
        return Ok(None);
    }
    let fetch = async |part: PartRef<'_>| match part {
        PartRef::Document(digest) => read(session, digest).await,
        PartRef::Blob(blob) => read(session, &blob.digest).await,
    };
    let Some(parts) = parts::gather(image, fetch).await? else {
        return Ok(None);
    };
    for layer in &parts.layers {
        if !is_stored(session, &layer.digest).await? {
            return Ok(None);
        }
    }
    let unpacked = match chain_ids(parts.config.diff_ids()).last() {
        Some(top) => is_unpacked(session, snapshotter, top).await?,
        None => true,
    };
    Ok(unpacked.then_some(parts))
}

/// The bytes of the compressed layers; `None` when a document is missing or not for this machine.
pub(super) async fn size(session: &Session, image: &PinnedRef) -> Result<Option<u64>, DriverError> {
    let fetch = async |part: PartRef<'_>| match part {
        PartRef::Document(digest) => read(session, digest).await,
        PartRef::Blob(blob) => read(session, &blob.digest).await,
    };
    match parts::gather(image, fetch).await {
        Ok(parts) => Ok(parts.map(|parts| parts.size())),
        Err(DriverError::Architecture { .. } | DriverError::InvalidImage { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Whether the image record has that digest: other clients may write into this namespace.
async fn is_recorded(session: &Session, image: &PinnedRef) -> Result<bool, DriverError> {
    let name = image.to_string();
    let mut images = session.images();
    let response = session.call(images.get(GetImageRequest { name })).await;
    let record = response.if_found()?.and_then(|response| response.image);
    let target = record.and_then(|record| record.target);
    Ok(target.is_some_and(|target| target.digest == image.digest().to_string()))
}

async fn is_stored(session: &Session, digest: &Digest) -> Result<bool, DriverError> {
    let digest = digest.to_string();
    let mut content = session.content();
    let response = session.call(content.info(InfoRequest { digest })).await;
    Ok(response.if_found()?.is_some())
}

/// Whether there is a snapshot of this chain id; it implies those of all layers below.
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
    let response = session.call(snapshots.stat(request)).await;
    Ok(response.if_found()?.is_some())
}

/// Reads a document; `None` when it does not exist.
async fn read(session: &Session, digest: &Digest) -> Result<Option<Bytes>, DriverError> {
    let request = ReadContentRequest {
        digest: digest.to_string(),
        ..ReadContentRequest::default()
    };
    let mut content = session.content();
    let Some(mut chunks) = session.call(content.read(request)).await.if_found()? else {
        return Ok(None);
    };
    let mut bytes = BytesMut::new();
    loop {
        let chunk = async { chunks.message().await.map(tonic::Response::new) };
        // A missing blob may be reported only with the first message.
        let Some(chunk) = session.call(chunk).await.if_found()? else {
            return Ok(None);
        };
        let Some(chunk) = chunk else {
            return Ok(Some(bytes.freeze()));
        };
        bytes.extend_from_slice(&chunk.data);
        if bytes.len() > MAX_DOCUMENT {
            return Err(session.refused(format!("{digest} is larger than any document")));
        }
    }
}

/// Adds labels to a blob; the existing ones stay.
pub(super) async fn label(
    session: &Session,
    digest: &Digest,
    labels: BTreeMap<String, String>,
) -> Result<(), CallError> {
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
    session.call(content.update(request)).await.map(drop)
}
