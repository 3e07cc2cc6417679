//! What is known of images, and which one to read next. No I/O.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sked_plan::image_facts::ImageFacts;
use tokio::time::Instant;

use crate::backoff::Backoff;

/// A tag can move. Registries count reads as pulls, so this must not be too often.
const READ_AGAIN: Duration = Duration::from_secs(6 * 3600);
/// Up to a bit less than three hours.
const BACKOFF: Backoff = Backoff::new(Duration::from_secs(10), Duration::from_secs(10 << 10));

/// What is known of each image, without a trust policy.
#[derive(Debug, Default)]
pub(crate) struct KnownImages(Mutex<HashMap<String, Known>>);

#[derive(Clone, Debug)]
struct Known {
    /// `None` if the image was not read.
    facts: Option<Arc<ImageFacts>>,
    /// When to read it again; `None` for an image that cannot change.
    due: Option<Instant>,
    backoff: Backoff,
}

/// What was read of an image.
#[derive(Debug)]
pub(super) struct ImageInfo {
    pub(super) facts: ImageFacts,
    /// The image is named by its digest, so it never changes.
    pub(super) is_immutable: bool,
}

/// Which image to read next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum NextRead {
    Now(String),
    /// None before this time.
    At(Instant),
    /// None until a SchedExt names another image.
    OnChange,
}

impl KnownImages {
    pub(crate) fn facts(&self, image: &str) -> Option<Arc<ImageFacts>> {
        self.known().get(image)?.facts.clone()
    }

    fn known(&self) -> MutexGuard<'_, HashMap<String, Known>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Drops images that no SchedExt names any more.
    pub(super) fn keep_only(&self, named: &HashSet<String>) {
        self.known().retain(|image, _| named.contains(image));
    }

    pub(super) fn next(&self, named: &HashSet<String>, now: Instant) -> NextRead {
        let known = self.known();
        let due = |image: &String| known.get(image).map_or(Some(now), |known| known.due);
        let failures =
            |image: &String| known.get(image).map_or(0, |known| known.backoff.failures());
        let is_due = |image: &&String| due(image).is_some_and(|due| due <= now);
        let first = named.iter().filter(is_due);
        match first.min_by_key(|image| (failures(image), *image)) {
            Some(image) => NextRead::Now(image.clone()),
            None => named
                .iter()
                .filter_map(due)
                .min()
                .map_or(NextRead::OnChange, NextRead::At),
        }
    }

    /// Records the result of a read, `None` for a failure. Returns whether what is known changed.
    pub(super) fn record(&self, image: &str, info: Option<ImageInfo>, now: Instant) -> bool {
        let mut all = self.known();
        let before = all.get(image);
        let facts = before.and_then(|before| before.facts.clone());
        let known = match info {
            Some(info) => Known {
                facts: Some(Arc::new(info.facts)),
                due: (!info.is_immutable).then(|| now + READ_AGAIN),
                backoff: BACKOFF,
            },
            None => {
                let mut backoff = before.map_or(BACKOFF, |before| before.backoff);
                Known {
                    facts: facts.clone(),
                    due: Some(now + backoff.failed()),
                    backoff,
                }
            }
        };
        let changed = known.facts != facts;
        all.insert(image.to_owned(), known);
        changed
    }

    pub(super) fn has_failed(&self, image: &str) -> bool {
        let known = self.known();
        known
            .get(image)
            .is_some_and(|known| known.backoff.failures() > 0)
    }
}

#[cfg(test)]
mod tests;
