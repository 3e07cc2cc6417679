//! Reads what images say about themselves from their registries, without credentials, and only with
//! `--read-images` and without a trust policy, whose verifier reads the same of what it accepts. The
//! manager connects to the hosts that SchedExts name, and to hosts that those registries redirect to, as
//! far as `--registries` allows.
//!
//! ```text
//! SchedExts ─▶ named images ─due▶ registry ─▶ KnownImages ─changed▶ queue: the SchedExts that name it
//! ```
//!
//! Nothing follows from an image that cannot be read; what was read of it before stays valid.
//!
//! Images are read one after the other, each with a timeout and a client of its own, so that the
//! memory for one response is needed once. Images that failed before come last, so that an
//! unreachable registry does not delay other images.

mod facts;
mod known_images;

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use schedkit_core::ImageRef;
use schedkit_image::registry::Credentials;
use sked_api::SchedExt;
use sked_plan::verification::images;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::error_chain::chain;
use crate::manager::queue::Queue;
use crate::manager::registries::Registries;
use crate::manager::stores::{Stored, Stores};
use crate::stop::Stop;

use known_images::{ImageInfo, NextRead};

pub(crate) use facts::read_facts;
pub(crate) use known_images::KnownImages;

/// For one image.
const TIMEOUT: Duration = Duration::from_secs(30);

#[derive(Debug, thiserror::Error)]
#[error("its registry did not respond within {0:?}")]
struct Timeout(Duration);

/// Reads the images that SchedExts name.
pub(crate) struct ImageReader {
    pub(crate) registries: Registries,
    pub(crate) stores: Arc<Stores>,
    pub(crate) queue: Arc<Queue>,
    pub(crate) known: Arc<KnownImages>,
    /// Notified when a SchedExt may name another image.
    pub(crate) changed: Arc<Notify>,
}

impl ImageReader {
    /// Runs until a stop is requested. A read in progress is dropped: nothing depends on it.
    pub(crate) async fn run(&self, mut stop: Stop) {
        tokio::select! {
            () = self.read_forever() => {}
            () = stop.requested() => {}
        }
    }

    async fn read_forever(&self) {
        loop {
            let changed = self.changed.notified();
            let named = self.named();
            self.known.keep_only(&named);
            match self.known.next(&named, Instant::now()) {
                NextRead::Now(image) => self.read(image).await,
                NextRead::At(due) => {
                    let _ = tokio::time::timeout_at(due, changed).await;
                }
                NextRead::OnChange => changed.await,
            }
        }
    }

    fn named(&self) -> HashSet<String> {
        let all = self.stores.schedexts.all();
        let schedexts = all.iter().filter_map(|seen| seen.schedext());
        let named = schedexts.flat_map(|schedext| images(schedext));
        named.map(str::to_owned).collect()
    }

    /// Only the first of several failures in a row is logged.
    async fn read(&self, image: String) {
        let read = tokio::time::timeout(TIMEOUT, self.fetch(&image)).await;
        let info = match read.unwrap_or_else(|_| Err(Timeout(TIMEOUT).into())) {
            Ok(info) => Some(info),
            Err(error) => {
                if !self.known.has_failed(&image) {
                    tracing::info!(
                        image,
                        "the image cannot be read, so its minimum kernel and its platforms are unknown: {}",
                        chain(&*error)
                    );
                }
                None
            }
        };
        if self.known.record(&image, info, Instant::now()) {
            self.queue_users_of(&image);
        }
    }

    async fn fetch(
        &self,
        image: &str,
    ) -> Result<ImageInfo, Box<dyn std::error::Error + Send + Sync>> {
        let parsed: ImageRef = image.parse()?;
        self.registries.check(&parsed)?;
        let registry = self.registries.client(Credentials::none());
        Ok(ImageInfo {
            facts: read_facts(&registry, &parsed).await?,
            is_immutable: parsed.digest().is_some(),
        })
    }

    fn queue_users_of(&self, image: &str) {
        for seen in self.stores.schedexts.all() {
            let names = |schedext: &Arc<SchedExt>| images(schedext).contains(image);
            if seen.schedext().is_some_and(names) {
                self.queue.now(&seen.key());
            }
        }
    }
}
