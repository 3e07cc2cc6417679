//! A store of one kind: objects by key, by group and by node. It notifies its listener of every
//! change.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use litemap::LiteMap;
use sked_plan::version::{Heard, Version, is_taken};
use sked_plan::{NodeName, ObjectKey, Uid};

/// An object that a store can keep.
pub(crate) trait Stored: Send + Sync + 'static {
    /// The namespace is empty for cluster-scoped objects.
    fn key(&self) -> ObjectKey;
    /// Further lookup keys: uids, its own or that of another object.
    fn groups(&self) -> [Option<&Uid>; 2];
    /// The node that it is on or about, if it is looked up by node.
    fn node(&self) -> Option<&NodeName> {
        None
    }
    /// Whether the difference between two versions concerns no listener.
    fn same(&self, other: &Self) -> bool;
}

/// Who changed a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// A watch reported an object.
    Watch,
    /// This manager wrote the object and stored the API server's response. The watch's event for
    /// the same version is no change any more.
    OwnWrite,
}

/// A change of one object.
#[derive(Debug)]
pub(crate) struct Change<T> {
    pub(crate) key: ObjectKey,
    pub(crate) source: Source,
    pub(crate) old: Option<Arc<T>>,
    pub(crate) new: Option<Arc<T>>,
}

type Listener<T> = Box<dyn Fn(&Change<T>) + Send + Sync>;

/// Objects by key, by group and by node.
pub(crate) struct Store<T> {
    inner: RwLock<Inner<T>>,
    listener: OnceLock<Listener<T>>,
    absent: AtomicBool,
}

struct Inner<T> {
    objects: HashMap<Arc<ObjectKey>, Entry<T>>,
    groups: HashMap<Uid, Members>,
    nodes: HashMap<NodeName, Members>,
}

/// Most have one element, and a `BTreeSet` reserves space for eleven.
type Members = LiteMap<Arc<ObjectKey>, ()>;

struct Entry<T> {
    version: Version,
    object: Arc<T>,
}

impl<T> Default for Store<T> {
    fn default() -> Self {
        let inner = Inner {
            objects: HashMap::new(),
            groups: HashMap::new(),
            nodes: HashMap::new(),
        };
        Self {
            inner: RwLock::new(inner),
            listener: OnceLock::new(),
            absent: AtomicBool::new(false),
        }
    }
}

impl<T: Stored> Store<T> {
    /// Sets the listener. Only the first call has an effect.
    pub(crate) fn listen(&self, listener: impl Fn(&Change<T>) + Send + Sync + 'static) {
        let _ = self.listener.set(Box::new(listener));
    }

    pub(crate) fn get(&self, key: &ObjectKey) -> Option<Arc<T>> {
        let inner = self.read();
        inner
            .objects
            .get(key)
            .map(|entry| Arc::clone(&entry.object))
    }

    /// The objects of a group, by key.
    pub(crate) fn group(&self, group: &Uid) -> Vec<Arc<T>> {
        let inner = self.read();
        let keys = inner.groups.get(group).into_iter().flat_map(Members::keys);
        let entries = keys.filter_map(|key| inner.objects.get(key));
        entries.map(|entry| Arc::clone(&entry.object)).collect()
    }

    /// The objects on a node, by key.
    pub(crate) fn on(&self, node: &NodeName) -> Vec<Arc<T>> {
        let inner = self.read();
        let keys = inner.nodes.get(node).into_iter().flat_map(Members::keys);
        let entries = keys.filter_map(|key| inner.objects.get(key));
        entries.map(|entry| Arc::clone(&entry.object)).collect()
    }

    /// In no particular order.
    pub(crate) fn all(&self) -> Vec<Arc<T>> {
        let inner = self.read();
        let entries = inner.objects.values();
        entries.map(|entry| Arc::clone(&entry.object)).collect()
    }

    /// Stores an object, unless the same or a later version is there: a watch may lag behind an own
    /// write.
    pub(crate) fn put(&self, source: Source, version: &str, object: T) {
        self.hear(source, Heard::New, version, object);
    }

    /// Stores the response to an own write of an existing object, if it is still here.
    pub(crate) fn update(&self, version: &str, object: T) {
        self.hear(Source::OwnWrite, Heard::Update, version, object);
    }

    /// Stores what [`is_taken`] lets it.
    fn hear(&self, source: Source, heard: Heard, version: &str, object: T) {
        let key = object.key();
        let version = Version::read(version);
        let object = Arc::new(object);
        let mut inner = self.write();
        let stored = inner.objects.get(&key).map(|entry| entry.version);
        if !is_taken(stored, heard, version) {
            return;
        }
        let entry = Entry {
            version,
            object: Arc::clone(&object),
        };
        let old = inner.insert(key.clone(), entry);
        drop(inner);
        if old.as_ref().is_some_and(|old| old.same(&object)) {
            return;
        }
        self.notify(&Change {
            key,
            source,
            old,
            new: Some(object),
        });
    }

    /// Whether this version of an object, or a later one, is stored.
    pub(crate) fn knows(&self, key: &ObjectKey, version: &str) -> bool {
        let inner = self.read();
        let before = inner.objects.get(key);
        before.is_some_and(|before| before.version.knows(Version::read(version)))
    }

    /// Whether the API server does not know the kind.
    pub(crate) fn is_absent(&self) -> bool {
        self.absent.load(Ordering::Relaxed)
    }

    pub(crate) fn set_absent(&self, absent: bool) {
        self.absent.store(absent, Ordering::Relaxed);
    }

    /// The API server's data was restored from a backup: whatever it lists is newer than what is
    /// stored here.
    pub(crate) fn forget_versions(&self) {
        let mut inner = self.write();
        inner
            .objects
            .values_mut()
            .for_each(|entry| entry.version = Version::default());
    }

    pub(crate) fn remove(&self, source: Source, key: &ObjectKey) {
        let old = self.write().take(key);
        if old.is_some() {
            self.notify(&Change {
                key: key.clone(),
                source,
                old,
                new: None,
            });
        }
    }

    /// Removes what a complete list of one namespace, or of all, does not contain.
    pub(crate) fn keep_only(&self, listed: &HashSet<ObjectKey>, namespace: Option<&str>) {
        let inner = self.read();
        let within = |key: &&Arc<ObjectKey>| namespace.is_none_or(|name| key.namespace == name);
        let keys = inner.objects.keys().filter(within);
        let gone: Vec<_> = keys
            .filter(|key| !listed.contains(&***key))
            .cloned()
            .collect();
        drop(inner);
        for key in gone {
            self.remove(Source::Watch, &key);
        }
    }

    /// The only place that calls the listener. No lock is held: the listener reads stores.
    fn notify(&self, change: &Change<T>) {
        if let Some(listener) = self.listener.get() {
            listener(change);
        }
    }

    fn read(&self) -> RwLockReadGuard<'_, Inner<T>> {
        self.inner.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Inner<T>> {
        self.inner.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: Stored> Inner<T> {
    fn insert(&mut self, key: ObjectKey, entry: Entry<T>) -> Option<Arc<T>> {
        let old = self.take(&key);
        let key = Arc::new(key);
        for group in entry.object.groups().into_iter().flatten() {
            let members = self.groups.entry(group.clone()).or_default();
            members.insert(Arc::clone(&key), ());
        }
        if let Some(node) = entry.object.node() {
            let members = self.nodes.entry(node.clone()).or_default();
            members.insert(Arc::clone(&key), ());
        }
        self.objects.insert(key, entry);
        old
    }

    fn take(&mut self, key: &ObjectKey) -> Option<Arc<T>> {
        let old = self.objects.remove(key)?.object;
        for group in old.groups().into_iter().flatten() {
            if let Some(members) = self.groups.get_mut(group) {
                members.remove(key);
                if members.is_empty() {
                    self.groups.remove(group);
                }
            }
        }
        if let Some(node) = old.node()
            && let Some(members) = self.nodes.get_mut(node)
        {
            members.remove(key);
            if members.is_empty() {
                self.nodes.remove(node);
            }
        }
        Some(old)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;

    #[derive(Debug, PartialEq)]
    struct Thing(&'static str, Uid);

    impl Stored for Thing {
        fn key(&self) -> ObjectKey {
            key(self.0)
        }
        fn groups(&self) -> [Option<&Uid>; 2] {
            [Some(&self.1), None]
        }
        fn same(&self, other: &Self) -> bool {
            self == other
        }
    }

    fn key(name: &str) -> ObjectKey {
        ObjectKey {
            namespace: "here".to_owned(),
            name: name.to_owned(),
        }
    }

    fn uid(uid: &str) -> Uid {
        Uid(uid.to_owned())
    }

    /// A store, and how many changes its listener received from each source.
    fn observed() -> (Store<Thing>, Arc<[AtomicUsize; 2]>) {
        let store = Store::default();
        let counts: Arc<[AtomicUsize; 2]> = Arc::default();
        let counted = Arc::clone(&counts);
        store.listen(move |change: &Change<Thing>| {
            let at = usize::from(change.source == Source::OwnWrite);
            counted[at].fetch_add(1, Ordering::Relaxed);
        });
        (store, counts)
    }

    fn counted(counts: &[AtomicUsize; 2]) -> [usize; 2] {
        [0, 1].map(|at| counts[at].load(Ordering::Relaxed))
    }

    #[test]
    fn the_response_to_a_write_does_not_bring_back_a_deleted_object() {
        let (store, counts) = observed();
        store.put(Source::Watch, "9", Thing("a", uid("one")));
        store.remove(Source::Watch, &key("a"));
        store.update("10", Thing("a", uid("one")));
        assert!(store.get(&key("a")).is_none());
        assert_eq!(counted(&counts), [2, 0]);
        store.put(Source::Watch, "12", Thing("a", uid("two")));
        store.update("13", Thing("a", uid("three")));
        assert_eq!(counted(&counts), [3, 1]);
    }

    #[test]
    fn a_lagging_watch_does_not_undo_an_own_write() {
        let (store, counts) = observed();
        store.put(Source::Watch, "9", Thing("a", uid("one")));
        store.put(Source::OwnWrite, "10", Thing("a", uid("two")));
        store.put(Source::Watch, "9", Thing("a", uid("one")));
        store.put(Source::Watch, "10", Thing("a", uid("two")));
        assert_eq!(counted(&counts), [1, 1]);
        assert_eq!(store.get(&key("a")).unwrap().1, uid("two"));
        assert!(store.group(&uid("one")).is_empty());
        assert_eq!(store.group(&uid("two")).len(), 1);
    }

    #[test]
    fn the_listener_receives_every_change_and_nothing_else() {
        let (store, counts) = observed();
        store.put(Source::Watch, "1", Thing("a", uid("one")));
        store.put(Source::Watch, "2", Thing("a", uid("one")));
        assert_eq!(counted(&counts), [1, 0]);
        store.remove(Source::OwnWrite, &key("a"));
        store.remove(Source::Watch, &key("a"));
        assert_eq!(counted(&counts), [1, 1]);
    }

    #[test]
    fn after_a_restored_backup_older_versions_are_stored() {
        let (store, counts) = observed();
        store.put(Source::Watch, "90", Thing("a", uid("one")));
        store.put(Source::Watch, "7", Thing("a", uid("two")));
        assert_eq!(store.get(&key("a")).unwrap().1, uid("one"));
        store.forget_versions();
        assert!(!store.knows(&key("a"), "90"), "it may be another object");
        store.put(Source::Watch, "7", Thing("a", uid("two")));
        store.put(Source::Watch, "8", Thing("a", uid("three")));
        assert_eq!(store.get(&key("a")).unwrap().1, uid("three"));
        assert_eq!(counted(&counts), [3, 0]);
    }

    #[test]
    fn a_list_removes_only_objects_of_its_namespace() {
        let (store, counts) = observed();
        store.put(Source::Watch, "1", Thing("a", uid("one")));
        store.put(Source::Watch, "1", Thing("b", uid("one")));
        let listed = HashSet::from([key("a")]);
        store.keep_only(&listed, Some("there"));
        assert_eq!(counted(&counts), [2, 0]);
        store.keep_only(&listed, Some("here"));
        assert_eq!(counted(&counts), [3, 0]);
        assert_eq!(store.group(&uid("one")).len(), 1);
    }
}
