//! The minimum kernels that are known, and which image to read next. No I/O.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use schedkit_core::KernelRelease;
use sked_api::SchedExt;
use sked_plan::part::parts;
use tokio::time::Instant;

use crate::backoff::Backoff;

/// A tag can move. Registries count reads as pulls, so this must not be too often.
const READ_AGAIN: Duration = Duration::from_secs(6 * 3600);
/// Up to a bit less than three hours.
const BACKOFF: Backoff = Backoff::new(Duration::from_secs(10), Duration::from_secs(10 << 10));

/// The minimum kernel of each image, as far as it is known.
#[derive(Debug, Default)]
pub(crate) struct MinKernels(Mutex<HashMap<String, Known>>);

#[derive(Clone, Debug)]
struct Known {
    /// `None` if the image was not read, or has no minimum kernel.
    min_kernel: Option<KernelRelease>,
    /// When to read it again; `None` for an image that cannot change.
    due: Option<Instant>,
    backoff: Backoff,
}

/// What was read of an image.
#[derive(Debug)]
pub(super) struct ImageInfo {
    pub(super) min_kernel: Option<KernelRelease>,
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

impl MinKernels {
    /// Of the images that a SchedExt names.
    pub(crate) fn of(&self, schedext: &SchedExt) -> BTreeMap<String, KernelRelease> {
        let known = self.known();
        let named = parts(schedext).map(|part| part.sched());
        named
            .filter_map(|image| Some((image.to_owned(), known.get(image)?.min_kernel.clone()?)))
            .collect()
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

    /// Records the result of a read, `None` for a failure. Returns whether the minimum kernel changed.
    pub(super) fn record(&self, image: &str, info: Option<ImageInfo>, now: Instant) -> bool {
        let mut all = self.known();
        let before = all.get(image);
        let min_kernel = before.and_then(|before| before.min_kernel.clone());
        let known = match info {
            Some(info) => Known {
                min_kernel: info.min_kernel,
                due: (!info.is_immutable).then(|| now + READ_AGAIN),
                backoff: BACKOFF,
            },
            None => {
                let mut backoff = before.map_or(BACKOFF, |before| before.backoff);
                Known {
                    min_kernel: min_kernel.clone(),
                    due: Some(now + backoff.failed()),
                    backoff,
                }
            }
        };
        let changed = known.min_kernel != min_kernel;
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
