//! What images say of themselves: the oldest kernel that each asks for. Read from their registries,
//! without credentials, and only with `--read-images`: the manager then connects to whatever host
//! a SchedExt names, and to those that its registry names in turn.
//!
//! ```text
//! SchedExts ─▶ images that are named ─due▶ registry ─▶ Floors ─changed▶ queue: those that name it
//! ```
//!
//! An image that cannot be read is not known, and nothing follows from that. What this manager knew
//! of it before stays: a registry's trouble is not the image's. Of an image for several platforms
//! the one for the manager's own speaks for all.
//!
//! One after the other, each with an end and a client of its own: whatever a registry sends is held
//! once, and nothing of it is kept. Those that could not be read before come last, so that nobody's
//! dead registry keeps another's image waiting.

mod floors;
mod registries;

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use schedkit_core::ImageRef;
use schedkit_host::preflight::KernelFloor;
use schedkit_image::info::info;
use schedkit_image::registry::{Client, Platform, Settings};
use sked_api::SchedExt;
use sked_plan::part::parts;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::queue::Queue;
use crate::retry::chain;
use crate::stop::Stop;
use crate::stores::{Kept, Stores};

use floors::{Next, Read};

pub(crate) use floors::Floors;
pub(crate) use registries::{RegistriesError, registries};

/// For one image.
const LONGEST_READ: Duration = Duration::from_secs(30);

/// A registry that does not come to an end.
#[derive(Debug, thiserror::Error)]
#[error("its registry took longer than {0:?}")]
struct Slow(Duration);

/// Reads images that SchedExts name.
pub(crate) struct Reader {
    pub(crate) registry: Settings,
    pub(crate) stores: Arc<Stores>,
    pub(crate) queue: Arc<Queue>,
    pub(crate) floors: Arc<Floors>,
    /// Somebody may name another image.
    pub(crate) news: Arc<Notify>,
}

impl Reader {
    /// Works until asked to stop. What is being read then is dropped: nothing depends on it.
    pub(crate) async fn run(&self, mut stop: Stop) {
        tokio::select! {
            () = self.read_for_ever() => {}
            () = stop.asked() => {}
        }
    }

    async fn read_for_ever(&self) {
        loop {
            let news = self.news.notified();
            let named = self.named();
            self.floors.keep_only(&named);
            match self.floors.next(&named, Instant::now()) {
                Next::Read(image) => self.read(image).await,
                Next::At(due) => {
                    let _ = tokio::time::timeout_at(due, news).await;
                }
                Next::Rest => news.await,
            }
        }
    }

    fn named(&self) -> HashSet<String> {
        let all = self.stores.schedexts.all();
        let schedexts = all.iter().filter_map(|seen| seen.schedext());
        schedexts
            .flat_map(|schedext| parts(schedext).map(|part| part.sched().to_owned()))
            .collect()
    }

    /// One image, once. Said once for all attempts in a row: the next ones fail alike.
    async fn read(&self, image: String) {
        let asked = tokio::time::timeout(LONGEST_READ, self.ask(&image)).await;
        let read = match asked.unwrap_or_else(|_| Err(Slow(LONGEST_READ).into())) {
            Ok(read) => Some(read),
            Err(error) => {
                if !self.floors.has_failed(&image) {
                    tracing::info!(
                        image,
                        "cannot be read, so which kernels it asks for is not known: {}",
                        chain(&*error)
                    );
                }
                None
            }
        };
        if self.floors.remember(&image, read, Instant::now()) {
            self.wake(&image);
        }
    }

    async fn ask(&self, image: &str) -> Result<Read, Box<dyn std::error::Error + Send + Sync>> {
        let parsed: ImageRef = image.parse()?;
        let registry = Client::new(self.registry.clone());
        let info = info(&registry, &parsed, &Platform::this_machine()).await?;
        let label = info.labels.kernel_min_version.unwrap_or_default();
        let floor = match KernelFloor::parse(&label) {
            KernelFloor::Release(release) => Some(release),
            KernelFloor::Unstated => None,
            KernelFloor::Strange(text) => {
                tracing::info!(image, "asks for the kernel {text:?}, which is none");
                None
            }
        };
        Ok(Read {
            floor,
            is_fixed: parsed.digest().is_some(),
        })
    }

    fn wake(&self, image: &str) {
        for seen in self.stores.schedexts.all() {
            let names =
                |schedext: &Arc<SchedExt>| parts(schedext).any(|part| part.sched() == image);
            if seen.schedext().is_some_and(names) {
                self.queue.now(&seen.key());
            }
        }
    }
}
