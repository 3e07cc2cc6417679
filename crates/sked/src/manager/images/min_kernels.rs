//! What is known of images, and which of them is to be read next. Talks to nobody.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use schedkit_core::KernelRelease;
use sked_api::SchedExt;
use sked_plan::part::parts;
use tokio::time::Instant;

/// A tag can move. Registries count reads as pulls, and the nodes pull too.
const READ_AGAIN: Duration = Duration::from_secs(6 * 3600);
const FIRST_RETRY: Duration = Duration::from_secs(10);
/// How often the pause before a retry doubles: up to a bit less than three hours.
const MOST_DOUBLINGS: u32 = 10;

/// The oldest kernel that each image asks for, as far as it is known.
#[derive(Debug, Default)]
pub(crate) struct Floors(Mutex<HashMap<String, Known>>);

/// What is known of an image.
#[derive(Clone, Debug)]
struct Known {
    /// What it asks for, if it was read and asks for anything.
    floor: Option<KernelRelease>,
    /// When to read it again; never, when it cannot change.
    due: Option<Instant>,
    /// How often in a row it could not be read.
    failures: u32,
}

/// What an image said.
#[derive(Debug)]
pub(super) struct Read {
    pub(super) floor: Option<KernelRelease>,
    /// It is named by its digest, so it will say the same for ever.
    pub(super) is_fixed: bool,
}

/// What there is to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// Read this one.
    Read(String),
    /// Nothing before then.
    At(Instant),
    /// Nothing until somebody names another.
    Rest,
}

impl Floors {
    /// Those of the images that a SchedExt names.
    pub(crate) fn of(&self, schedext: &SchedExt) -> BTreeMap<String, KernelRelease> {
        let known = self.known();
        let named = parts(schedext).map(|part| part.sched());
        named
            .filter_map(|image| Some((image.to_owned(), known.get(image)?.floor.clone()?)))
            .collect()
    }

    fn known(&self) -> MutexGuard<'_, HashMap<String, Known>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Forgets images that nobody names any more.
    pub(super) fn keep_only(&self, named: &HashSet<String>) {
        self.known().retain(|image, _| named.contains(image));
    }

    /// Which of these is to be read next, and when if not now.
    pub(super) fn next(&self, named: &HashSet<String>, now: Instant) -> Next {
        let known = self.known();
        let due = |image: &String| known.get(image).map_or(Some(now), |known| known.due);
        let failures = |image: &String| known.get(image).map_or(0, |known| known.failures);
        let is_due = |image: &&String| due(image).is_some_and(|due| due <= now);
        let first = named.iter().filter(is_due);
        match first.min_by_key(|image| (failures(image), *image)) {
            Some(image) => Next::Read(image.clone()),
            None => named
                .iter()
                .filter_map(due)
                .min()
                .map_or(Next::Rest, Next::At),
        }
    }

    /// Remembers what was read, or that nothing could be; whether anything changed.
    pub(super) fn remember(&self, image: &str, read: Option<Read>, now: Instant) -> bool {
        let mut all = self.known();
        let before = all.get(image);
        let floor = before.and_then(|before| before.floor.clone());
        let known = match read {
            Some(read) => Known {
                floor: read.floor,
                due: (!read.is_fixed).then(|| now + READ_AGAIN),
                failures: 0,
            },
            None => {
                let failures = before.map_or(0, |before| before.failures);
                let pause = FIRST_RETRY * (1 << failures.min(MOST_DOUBLINGS));
                Known {
                    floor: floor.clone(),
                    due: Some(now + pause),
                    failures: failures.saturating_add(1),
                }
            }
        };
        let changed = known.floor != floor;
        all.insert(image.to_owned(), known);
        changed
    }

    pub(super) fn has_failed(&self, image: &str) -> bool {
        let known = self.known();
        known.get(image).is_some_and(|known| known.failures > 0)
    }
}

#[cfg(test)]
mod tests;
