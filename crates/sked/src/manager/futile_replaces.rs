//! Replaces of DaemonSets that had no effect: a mutating webhook changed what was sent, or the API
//! server has a default that sked does not know. They are not repeated.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

use sked_plan::observed::FutileReplace;
use sked_plan::{LiveDaemonSet, Uid};

#[derive(Debug, Default)]
pub(crate) struct FutileReplaces(Mutex<HashMap<Uid, FutileReplace>>);

impl FutileReplaces {
    /// Those of these DaemonSets.
    pub(crate) fn of<'a>(
        &self,
        daemonsets: impl Iterator<Item = &'a LiveDaemonSet>,
    ) -> BTreeMap<Uid, FutileReplace> {
        let futile = self.lock();
        daemonsets
            .filter_map(|live| Some((live.uid.clone(), *futile.get(&live.uid)?)))
            .collect()
    }

    /// Adds one, and forgets those of DaemonSets that do not exist any more.
    pub(crate) fn add(&self, uid: Uid, futile: FutileReplace, exists: impl Fn(&Uid) -> bool) {
        let mut all = self.lock();
        all.retain(|uid, _| exists(uid));
        all.insert(uid, futile);
    }

    pub(crate) fn remove(&self, uid: &Uid) {
        self.lock().remove(uid);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Uid, FutileReplace>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
