//! Pulls an image into containerd: check the store, fetch, unpack, create the image record.
//! containerd itself uses no registry: our client fetches everything and checks each digest.

use std::collections::BTreeMap;

use bytes::Bytes;
use jiff::SignedDuration;
use schedkit_core::PinnedRef;
use schedkit_image::registry::{Client, Descriptor, Problem, Registry, RegistryError};

use super::api::images::{CreateImageRequest, Image, UpdateImageRequest};
use super::api::types;
use super::call_error::CallResult;
use super::chain::chain_ids;
use super::lease::Lease;
use super::parts::{self, Document, PartRef, Parts};
use super::session::Session;
use super::upload::{BlobState, Upload};
use super::{snapshotter, store, unpack};
use crate::driver::{DriverError, PullProgress, Pulled};

/// The lease must outlast the slowest pull that the registry client allows.
const MIN_LEASE: SignedDuration = SignedDuration::from_hours(1);
const MIN_BYTES_PER_SECOND: u64 = 64 * 1024;

#[derive(Debug)]
pub(super) struct Pull<'a> {
    pub(super) session: &'a Session,
    pub(super) registry: &'a Client,
    pub(super) image: &'a PinnedRef,
    /// For the bytes of all layers together.
    pub(super) limit: u64,
}

impl Pull<'_> {
    pub(super) async fn run(
        &self,
        progress: &mut dyn FnMut(PullProgress),
    ) -> Result<Pulled, DriverError> {
        let snapshotter = snapshotter::choose(self.session).await?;
        let stored = store::find(self.session, self.image, snapshotter).await?;
        if stored.is_some() {
            return Ok(Pulled::Cached);
        }
        let parts = self.fetch_parts().await?;
        let seconds = i64::try_from(parts.size() / MIN_BYTES_PER_SECOND).unwrap_or(i64::MAX);
        let duration = MIN_LEASE.saturating_add(SignedDuration::from_secs(seconds));
        let (lease, leased) = Lease::take(self.session, duration).await?;
        match self.store(&leased, &parts, snapshotter, progress).await {
            Ok(()) => {
                lease.release(self.session).await?;
                Ok(Pulled::Fetched)
            }
            Err(error) => {
                lease.discard(self.session).await;
                Err(error)
            }
        }
    }

    /// Fetches everything but the layers, before anything is written to containerd.
    async fn fetch_parts(&self) -> Result<Parts, DriverError> {
        let repository = self.image.repository();
        let fetch = async |part: PartRef<'_>| {
            let response: Result<Bytes, RegistryError> = match part {
                PartRef::Document(digest) => {
                    let document = PinnedRef::new(repository.clone(), digest.clone());
                    let response = self.registry.manifest(&document).await;
                    response.map(|document| document.bytes)
                }
                PartRef::Blob(blob) => {
                    let limit = store::MAX_DOCUMENT;
                    self.registry.blob(repository, blob, limit).await
                }
            };
            response
                .map(Some)
                .map_err(|source| self.registry_error(source))
        };
        let parts = parts::gather(self.image, fetch).await?;
        let nothing = || parts::invalid(self.image, "the registry returned nothing");
        let parts = parts.ok_or_else(nothing)?;
        if parts.size() > self.limit {
            return Err(self.registry_error(RegistryError::new(
                self.image.to_string(),
                repository.host().as_str(),
                Problem::TooBig { limit: self.limit },
            )));
        }
        Ok(parts)
    }

    /// The image record is written last: an image that has one is complete.
    async fn store(
        &self,
        leased: &Session,
        parts: &Parts,
        snapshotter: &str,
        progress: &mut dyn FnMut(PullProgress),
    ) -> Result<(), DriverError> {
        let manifest_labels = parts.manifest_labels();
        match &parts.chosen {
            Some(chosen) => {
                put(leased, &parts.root, parts.index_labels()).await?;
                put(leased, chosen, manifest_labels).await?;
            }
            None => put(leased, &parts.root, manifest_labels).await?,
        }
        let chain = chain_ids(parts.config.diff_ids());
        let snapshot = chain.last().map(|top| {
            let key = format!("containerd.io/gc.ref.snapshot.{snapshotter}");
            (key, top.to_string())
        });
        put(leased, &parts.config_blob, snapshot.into_iter().collect()).await?;
        self.layers(leased, parts, progress).await?;
        unpack::unpack(leased, self.image, parts, snapshotter).await?;
        self.record(leased, parts).await
    }

    async fn layers(
        &self,
        leased: &Session,
        parts: &Parts,
        progress: &mut dyn FnMut(PullProgress),
    ) -> Result<(), DriverError> {
        let total = parts.size();
        let mut done = 0;
        progress(PullProgress::Bytes { received: 0, total });
        for (layer, diff_id) in parts.layers.iter().zip(parts.config.diff_ids()) {
            let uncompressed = "containerd.io/uncompressed".to_owned();
            let labels = BTreeMap::from([(uncompressed, diff_id.to_string())]);
            self.layer(leased, layer, labels, &mut |received| {
                let received = done + received;
                progress(PullProgress::Bytes { received, total });
            })
            .await?;
            done += layer.size;
        }
        progress(PullProgress::Bytes {
            received: total,
            total,
        });
        Ok(())
    }

    async fn layer(
        &self,
        leased: &Session,
        layer: &Descriptor,
        labels: BTreeMap<String, String>,
        progress: &mut dyn FnMut(u64),
    ) -> Result<(), DriverError> {
        let begun = Upload::begin(leased, &layer.digest, layer.size, labels).await?;
        let mut upload = match begun {
            (_, BlobState::Present) => return Ok(()),
            (upload, BlobState::Missing) => upload,
        };
        let repository = self.image.repository();
        let report = |now: schedkit_image::registry::Progress| progress(now.received);
        let fetched = self
            .registry
            .fetch(repository, layer, layer.size, &mut upload, report);
        match fetched.await {
            Ok(()) => Ok(()),
            Err(source) => {
                let failure = upload.discard().await;
                Err(failure.unwrap_or_else(|| self.registry_error(source)))
            }
        }
    }

    async fn record(&self, leased: &Session, parts: &Parts) -> Result<(), DriverError> {
        let target = types::Descriptor {
            media_type: parts.root.media_type.clone(),
            digest: parts.root.digest.to_string(),
            size: i64::try_from(parts.root.bytes.len()).unwrap_or(i64::MAX),
        };
        let image = Some(Image {
            name: self.image.to_string(),
            target: Some(target),
            ..Image::default()
        });
        let create = CreateImageRequest {
            image: image.clone(),
        };
        let mut images = leased.images();
        if leased
            .call(images.create(create))
            .await
            .unless_exists()?
            .is_some()
        {
            return Ok(());
        }
        let paths = vec!["target".to_owned()];
        let update = UpdateImageRequest {
            image,
            update_mask: Some(prost_types::FieldMask { paths }),
        };
        leased.call(images.update(update)).await?;
        Ok(())
    }

    fn registry_error(&self, source: RegistryError) -> DriverError {
        DriverError::Registry {
            image: self.image.to_string(),
            source: Box::new(source),
        }
    }
}

/// Stores a document. If it exists already, it gets the labels that keep its parts.
async fn put(
    leased: &Session,
    document: &Document,
    labels: BTreeMap<String, String>,
) -> Result<(), DriverError> {
    let Document { digest, bytes, .. } = document;
    let size = bytes.len() as u64;
    match Upload::begin(leased, digest, size, labels.clone()).await? {
        (_, BlobState::Present) if labels.is_empty() => Ok(()),
        (_, BlobState::Present) => Ok(store::label(leased, digest, labels).await?),
        (upload, BlobState::Missing) => upload.put(bytes).await,
    }
}
