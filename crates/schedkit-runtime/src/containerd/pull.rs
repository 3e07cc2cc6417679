//! An image's way into containerd, from top to bottom: look, fetch, unpack, record. containerd
//! itself asks no registry; what comes in has passed our own client, digest by digest.

use std::collections::BTreeMap;

use bytes::Bytes;
use jiff::SignedDuration;
use schedkit_core::PinnedRef;
use schedkit_image::registry::{Client, Descriptor, Problem, Registry, RegistryError};

use super::api::images::{CreateImageRequest, Image, UpdateImageRequest};
use super::api::types;
use super::chain::chain_ids;
use super::fault::Absence;
use super::lease::Lease;
use super::parts::{self, Document, Parts, Wanted};
use super::session::Session;
use super::upload::{Standing, Upload};
use super::{snapshotter, store, unpack};
use crate::driver::{DriverError, Progress, Pulled};

/// A lease outlasts the slowest pull that the registry client has patience for.
const SHORTEST_LEASE: SignedDuration = SignedDuration::from_hours(1);
const SLOWEST: u64 = 64 * 1024;

/// Where an image comes from and goes to.
#[derive(Debug)]
pub(super) struct Pull<'a> {
    pub(super) session: &'a Session,
    pub(super) registry: &'a Client,
    pub(super) image: &'a PinnedRef,
    /// Bytes that all layers may have together.
    pub(super) limit: u64,
}

impl Pull<'_> {
    pub(super) async fn run(
        &self,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Pulled, DriverError> {
        let snapshotter = snapshotter::choose(self.session).await?;
        let there = store::find(self.session, self.image, snapshotter).await?;
        if there.is_some() {
            return Ok(Pulled::Cached);
        }
        let parts = self.ask_for_parts().await?;
        let seconds = i64::try_from(parts.size() / SLOWEST).unwrap_or(i64::MAX);
        let lasts = SHORTEST_LEASE.saturating_add(SignedDuration::from_secs(seconds));
        let (lease, under) = Lease::take(self.session, lasts).await?;
        match self.bring(&under, &parts, snapshotter, progress).await {
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

    /// All that is small, from the registry, before anything is made.
    async fn ask_for_parts(&self) -> Result<Parts, DriverError> {
        let repository = self.image.repository();
        let fetch = async |wanted: Wanted<'_>| {
            let answer: Result<Bytes, RegistryError> = match wanted {
                Wanted::Document(digest) => {
                    let document = PinnedRef::new(repository.clone(), digest.clone());
                    let answer = self.registry.manifest(&document).await;
                    answer.map(|document| document.bytes)
                }
                Wanted::Blob(blob) => {
                    let limit = store::BIGGEST_DOCUMENT;
                    self.registry.blob(repository, blob, limit).await
                }
            };
            answer.map(Some).map_err(|source| self.no_answer(source))
        };
        let parts = parts::gather(self.image, fetch).await?;
        let nothing = || parts::broken(self.image, "the registry gave nothing");
        let parts = parts.ok_or_else(nothing)?;
        if parts.size() > self.limit {
            return Err(self.no_answer(RegistryError::new(
                self.image.to_string(),
                repository.host().as_str(),
                Problem::TooBig { limit: self.limit },
            )));
        }
        Ok(parts)
    }

    /// The image's record is last: whoever finds one finds all of it.
    async fn bring(
        &self,
        under: &Session,
        parts: &Parts,
        snapshotter: &str,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<(), DriverError> {
        let manifest_labels = parts.manifest_labels();
        match &parts.chosen {
            Some(chosen) => {
                put(under, &parts.root, parts.index_labels()).await?;
                put(under, chosen, manifest_labels).await?;
            }
            None => put(under, &parts.root, manifest_labels).await?,
        }
        let chain = chain_ids(parts.config.diff_ids());
        let snapshot = chain.last().map(|top| {
            let key = format!("containerd.io/gc.ref.snapshot.{snapshotter}");
            (key, top.to_string())
        });
        put(under, &parts.config_blob, snapshot.into_iter().collect()).await?;
        self.layers(under, parts, progress).await?;
        unpack::unpack(under, self.image, parts, snapshotter).await?;
        self.record(under, parts).await
    }

    async fn layers(
        &self,
        under: &Session,
        parts: &Parts,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<(), DriverError> {
        let total = parts.size();
        let mut done = 0;
        progress(Progress::Bytes { received: 0, total });
        for (layer, diff_id) in parts.layers.iter().zip(parts.config.diff_ids()) {
            let uncompressed = "containerd.io/uncompressed".to_owned();
            let labels = BTreeMap::from([(uncompressed, diff_id.to_string())]);
            self.layer(under, layer, labels, &mut |received| {
                let received = done + received;
                progress(Progress::Bytes { received, total });
            })
            .await?;
            done += layer.size;
        }
        progress(Progress::Bytes {
            received: total,
            total,
        });
        Ok(())
    }

    async fn layer(
        &self,
        under: &Session,
        layer: &Descriptor,
        labels: BTreeMap<String, String>,
        progress: &mut dyn FnMut(u64),
    ) -> Result<(), DriverError> {
        let begun = Upload::begin(under, &layer.digest, layer.size, labels).await?;
        let mut upload = match begun {
            (_, Standing::Kept) => return Ok(()),
            (upload, Standing::Wanted) => upload,
        };
        let repository = self.image.repository();
        let told = |now: schedkit_image::registry::Progress| progress(now.received);
        let fetched = self
            .registry
            .fetch(repository, layer, layer.size, &mut upload, told);
        match fetched.await {
            Ok(()) => Ok(()),
            Err(source) => {
                let failure = upload.give_up().await;
                Err(failure.unwrap_or_else(|| self.no_answer(source)))
            }
        }
    }

    async fn record(&self, under: &Session, parts: &Parts) -> Result<(), DriverError> {
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
        let mut images = under.images();
        if under
            .ask(images.create(create))
            .await
            .unless_there()?
            .is_some()
        {
            return Ok(());
        }
        let paths = vec!["target".to_owned()];
        let update = UpdateImageRequest {
            image,
            update_mask: Some(prost_types::FieldMask { paths }),
        };
        under.ask(images.update(update)).await?;
        Ok(())
    }

    fn no_answer(&self, source: RegistryError) -> DriverError {
        DriverError::Registry {
            image: self.image.to_string(),
            source: Box::new(source),
        }
    }
}

/// A small part. What is there already may lack the labels that keep the rest.
async fn put(
    under: &Session,
    document: &Document,
    labels: BTreeMap<String, String>,
) -> Result<(), DriverError> {
    let Document { digest, bytes, .. } = document;
    let size = bytes.len() as u64;
    match Upload::begin(under, digest, size, labels.clone()).await? {
        (_, Standing::Kept) if labels.is_empty() => Ok(()),
        (_, Standing::Kept) => Ok(store::label(under, digest, labels).await?),
        (upload, Standing::Wanted) => upload.put(bytes).await,
    }
}
