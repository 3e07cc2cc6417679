//! Reads the minimum kernel of images from their registries, without credentials, and only with
//! `--read-images`: the manager then connects to the hosts that SchedExts name, and to hosts that those
//! registries redirect to, as far as `--registries` allows.
//!
//! ```text
//! SchedExts ─▶ named images ─due▶ registry ─▶ MinKernels ─changed▶ queue: the SchedExts that name it
//! ```
//!
//! Nothing follows from an image that cannot be read; what was read of it before stays valid. Of an
//! image for several platforms the one for the manager's platform counts for all.
//!
//! Images are read one after the other, each with a timeout and a client of its own, so that the
//! memory for one response is needed once. Images that failed before come last, so that an
//! unreachable registry does not delay other images.

mod min_kernels;

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use schedkit_core::ImageRef;
use schedkit_host::preflight::MinKernel;
use schedkit_image::info::info;
use schedkit_image::registry::{Credentials, Platform};
use sked_api::SchedExt;
use sked_plan::part::parts;
use sked_plan::verification::runnable;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::error_chain::chain;
use crate::manager::queue::Queue;
use crate::manager::registries::Registries;
use crate::manager::stores::{Stored, Stores};
use crate::manager::verification::Verifying;
use crate::stop::Stop;

use min_kernels::{ImageInfo, NextRead};

pub(crate) use min_kernels::MinKernels;

/// For one image.
const TIMEOUT: Duration = Duration::from_secs(30);

#[derive(Debug, thiserror::Error)]
#[error("its registry did not respond within {0:?}")]
struct Timeout(Duration);

/// Reads the images that SchedExts name.
pub(crate) struct ImageReader {
    pub(crate) registries: Registries,
    /// With a trust policy what runs is read, by its digest, instead of what the spec names.
    pub(crate) verifying: Verifying,
    pub(crate) stores: Arc<Stores>,
    pub(crate) queue: Arc<Queue>,
    pub(crate) min_kernels: Arc<MinKernels>,
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
            self.min_kernels.keep_only(&named);
            match self.min_kernels.next(&named, Instant::now()) {
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
        schedexts
            .flat_map(|schedext| self.images(schedext))
            .collect()
    }

    /// What the nodes run of a SchedExt, or will.
    fn images(&self, schedext: &SchedExt) -> Vec<String> {
        let images = |of: &SchedExt| parts(of).map(|part| part.sched().to_owned()).collect();
        match self.verifying.is_on(schedext) {
            true => runnable(schedext).as_ref().map(images).unwrap_or_default(),
            false => images(schedext),
        }
    }

    /// Only the first of several failures in a row is logged.
    async fn read(&self, image: String) {
        let read = tokio::time::timeout(TIMEOUT, self.fetch(&image)).await;
        let info = match read.unwrap_or_else(|_| Err(Timeout(TIMEOUT).into())) {
            Ok(info) => Some(info),
            Err(error) => {
                if !self.min_kernels.has_failed(&image) {
                    tracing::info!(
                        image,
                        "the image cannot be read, so its minimum kernel is unknown: {}",
                        chain(&*error)
                    );
                }
                None
            }
        };
        if self.min_kernels.record(&image, info, Instant::now()) {
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
        let info = info(&registry, &parsed, &Platform::this_machine()).await?;
        let label = info.labels.kernel_min_version.unwrap_or_default();
        let min_kernel = match MinKernel::parse(&label) {
            MinKernel::Release(release) => Some(release),
            MinKernel::Unspecified => None,
            MinKernel::Malformed(text) => {
                tracing::info!(image, "the minimum kernel {text:?} is no kernel release");
                None
            }
        };
        Ok(ImageInfo {
            min_kernel,
            is_immutable: parsed.digest().is_some(),
        })
    }

    fn queue_users_of(&self, image: &str) {
        for seen in self.stores.schedexts.all() {
            let names = |schedext: &Arc<SchedExt>| {
                let images = self.images(schedext);
                images.iter().any(|one| one == image)
            };
            if seen.schedext().is_some_and(names) {
                self.queue.now(&seen.key());
            }
        }
    }
}
