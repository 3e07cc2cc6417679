//! The objects of one kind: what the API server has, and what the manager's store has of it.
//!
//! A store is as the API server is, until its watch stalls. A stalled watch delivers in two parts:
//! the first change since, then all others. Meanwhile the responses to the manager's own writes are
//! stored; [`is_taken`] decides what of the watch is too old then.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use sked_plan::version::{Heard, Version, is_taken};

use super::times::Dated;

pub(super) type Objects<K, T> = BTreeMap<K, Entry<T>>;

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Entry<T> {
    version: Version,
    pub(super) object: Arc<T>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Table<K: Ord, T> {
    latest: u64,
    api: Arc<Objects<K, T>>,
    lag: Option<Lag<K, T>>,
}

#[derive(Clone, Debug, PartialEq)]
struct Lag<K: Ord, T> {
    store: Objects<K, T>,
    /// The objects that the watch has delivered.
    told: BTreeSet<K>,
    /// The API server's objects after the first change that the watch has not delivered.
    first: Option<Arc<Objects<K, T>>>,
}

impl<K: Ord, T> Default for Table<K, T> {
    fn default() -> Self {
        Self {
            latest: 0,
            api: Arc::default(),
            lag: None,
        }
    }
}

impl<K: Ord + Clone, T: Clone + PartialEq> Table<K, T> {
    pub(super) fn get(&self, key: &K) -> Option<&T> {
        self.api.get(key).map(|entry| &*entry.object)
    }

    pub(super) fn all(&self) -> impl DoubleEndedIterator<Item = (&K, &T)> {
        self.api.iter().map(|(key, entry)| (key, &*entry.object))
    }

    /// What the manager knows.
    pub(super) fn seen(&self) -> &Objects<K, T> {
        self.lag.as_ref().map_or(&self.api, |lag| &lag.store)
    }

    pub(super) fn seen_object(&self, key: &K) -> Option<&T> {
        self.seen().get(key).map(|entry| &*entry.object)
    }

    /// Whether the manager knows this object as the API server has it.
    pub(super) fn is_known(&self, key: &K) -> bool {
        let version = |all: &Objects<K, T>| all.get(key).map(|entry| entry.version);
        version(&self.api) == version(self.seen())
    }

    /// Somebody else than the manager writes an object.
    pub(super) fn put(&mut self, key: K, object: T) {
        if self.get(&key) == Some(&object) {
            return;
        }
        self.latest += 1;
        let entry = Entry {
            version: Version(self.latest),
            object: Arc::new(object),
        };
        Arc::make_mut(&mut self.api).insert(key, entry);
        self.note();
    }

    /// The manager writes an object and stores the response.
    pub(super) fn own_put(&mut self, heard: Heard, key: &K, object: T) {
        self.put(key.clone(), object);
        if let Some(lag) = &mut self.lag
            && let Some(entry) = self.api.get(key)
        {
            lag.hear(heard, key, entry);
        }
    }

    pub(super) fn remove(&mut self, key: &K) {
        if self.get(key).is_some() {
            Arc::make_mut(&mut self.api).remove(key);
            self.note();
        }
    }

    pub(super) fn own_remove(&mut self, key: &K) {
        self.remove(key);
        if let Some(lag) = &mut self.lag {
            lag.store.remove(key);
        }
    }

    fn note(&mut self) {
        if let Some(lag) = &mut self.lag {
            lag.first.get_or_insert_with(|| Arc::clone(&self.api));
        }
    }

    pub(super) fn is_late(&self) -> bool {
        self.lag.is_some()
    }

    pub(super) fn stall(&mut self) {
        self.lag.get_or_insert_with(|| Lag {
            store: Objects::clone(&self.api),
            told: self.api.keys().cloned().collect(),
            first: None,
        });
    }

    /// The watch delivers what is next. When it has delivered everything, the store must be as the
    /// API server is; if not, it says so.
    pub(super) fn deliver(&mut self) -> Result<(), &'static str> {
        let Some(lag) = &mut self.lag else {
            return Ok(());
        };
        if let Some(first) = lag.first.take()
            && first != self.api
        {
            lag.hear_all(&first);
            return Ok(());
        }
        lag.hear_all(&self.api);
        let is_same = lag.store == *self.api;
        self.lag = None;
        match is_same {
            true => Ok(()),
            false => Err("a store has heard everything and is not as the API server is"),
        }
    }

    /// A manager that starts lists everything.
    pub(super) fn list(&mut self) {
        self.lag = None;
    }
}

impl<K: Ord + Clone, T> Lag<K, T> {
    fn hear(&mut self, heard: Heard, key: &K, entry: &Entry<T>) {
        let stored = self.store.get(key).map(|stored| stored.version);
        if is_taken(stored, heard, entry.version) {
            let entry = Entry {
                version: entry.version,
                object: Arc::clone(&entry.object),
            };
            self.store.insert(key.clone(), entry);
        }
    }

    fn hear_all(&mut self, next: &Arc<Objects<K, T>>) {
        let told = std::mem::replace(&mut self.told, next.keys().cloned().collect());
        for key in told.iter().filter(|key| !next.contains_key(key)) {
            self.store.remove(key);
        }
        for (key, entry) in next.iter() {
            self.hear(Heard::New, key, entry);
        }
    }
}

/// Of versions only their order counts.
impl<K: Ord + Clone + Hash, T: Hash> Hash for Table<K, T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let Self {
            latest: _,
            api,
            lag,
        } = self;
        let content = |all: &Objects<K, T>, state: &mut H| {
            all.len().hash(state);
            all.iter()
                .for_each(|(key, entry)| (key, &entry.object).hash(state));
        };
        content(api, state);
        let Some(Lag { store, told, first }) = lag else {
            return;
        };
        let order = |one: &Objects<K, T>, other: &Objects<K, T>, state: &mut H| {
            let known = |key: &K| other.get(key).map(|entry| entry.version);
            one.iter()
                .for_each(|(key, entry)| known(key).cmp(&Some(entry.version)).hash(state));
        };
        content(store, state);
        order(store, api, state);
        told.hash(state);
        if let Some(first) = first {
            content(first, state);
            order(first, store, state);
        }
    }
}

impl<K: Ord + Clone, T: Clone + Dated> Dated for Table<K, T> {
    fn each_time(&mut self, visit: &mut dyn FnMut(&mut i64)) {
        each_time_of(Arc::make_mut(&mut self.api), visit);
        if let Some(lag) = &mut self.lag {
            each_time_of(&mut lag.store, visit);
            if let Some(first) = &mut lag.first {
                each_time_of(Arc::make_mut(first), visit);
            }
        }
    }
}

fn each_time_of<K: Ord, T: Clone + Dated>(
    all: &mut Objects<K, T>,
    visit: &mut dyn FnMut(&mut i64),
) {
    for entry in all.values_mut() {
        Arc::make_mut(&mut entry.object).each_time(visit);
    }
}
