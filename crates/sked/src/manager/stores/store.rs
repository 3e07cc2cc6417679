//! One store: objects by key, by the group that they belong to, and by node.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use sked_plan::{NodeName, ObjectKey, Uid};

/// Something that a store can keep.
pub(crate) trait Kept: Send + Sync + 'static {
    /// Its namespace (empty for what has none) and name.
    fn key(&self) -> ObjectKey;
    /// What it is looked up by besides its key: uids, its own or another's.
    fn groups(&self) -> [Option<&Uid>; 2];
    /// The node that it is on or about, if it is looked up by that.
    fn node(&self) -> Option<&NodeName> {
        None
    }
    /// Whether nobody needs to hear that one became the other.
    fn same(&self, other: &Self) -> bool;
}

/// What happened to an object.
#[derive(Debug)]
pub(crate) struct Change<T> {
    /// Which.
    pub(crate) key: ObjectKey,
    /// What it was.
    pub(crate) old: Option<Arc<T>>,
    /// What it is.
    pub(crate) new: Option<Arc<T>>,
}

/// Objects by key and by group.
#[derive(Debug)]
pub(crate) struct Store<T> {
    inner: RwLock<Inner<T>>,
}

#[derive(Debug)]
struct Inner<T> {
    objects: HashMap<ObjectKey, Entry<T>>,
    groups: HashMap<Uid, BTreeSet<ObjectKey>>,
    nodes: HashMap<NodeName, BTreeSet<ObjectKey>>,
}

#[derive(Debug)]
struct Entry<T> {
    version: u64,
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
        }
    }
}

impl<T: Kept> Store<T> {
    /// One of them.
    pub(crate) fn get(&self, key: &ObjectKey) -> Option<Arc<T>> {
        let inner = self.read();
        inner
            .objects
            .get(key)
            .map(|entry| Arc::clone(&entry.object))
    }

    /// Those of a group, by key.
    pub(crate) fn group(&self, group: &Uid) -> Vec<Arc<T>> {
        let inner = self.read();
        let keys = inner.groups.get(group).into_iter().flatten();
        let entries = keys.filter_map(|key| inner.objects.get(key));
        entries.map(|entry| Arc::clone(&entry.object)).collect()
    }

    /// Those of a node, by key.
    pub(crate) fn on(&self, node: &NodeName) -> Vec<Arc<T>> {
        let inner = self.read();
        let keys = inner.nodes.get(node).into_iter().flatten();
        let entries = keys.filter_map(|key| inner.objects.get(key));
        entries.map(|entry| Arc::clone(&entry.object)).collect()
    }

    /// All of them, in no order.
    pub(crate) fn all(&self) -> Vec<Arc<T>> {
        let inner = self.read();
        let entries = inner.objects.values();
        entries.map(|entry| Arc::clone(&entry.object)).collect()
    }

    /// Puts an object in, unless a later version of it is there already: a watch may lag behind
    /// what was written here a moment ago.
    pub(crate) fn put(&self, version: &str, object: T) -> Option<Change<T>> {
        let key = object.key();
        if self.knows(&key, version) {
            return None;
        }
        let version = number(version);
        let mut inner = self.write();
        let before = inner.objects.get(&key);
        let object = Arc::new(object);
        let same = before.is_some_and(|before| before.object.same(&object));
        let entry = Entry {
            version,
            object: Arc::clone(&object),
        };
        let old = inner.insert(key.clone(), entry);
        (!same).then_some(Change {
            key,
            old,
            new: Some(object),
        })
    }

    /// Whether this version of an object, or a later one, is there.
    pub(crate) fn knows(&self, key: &ObjectKey, version: &str) -> bool {
        let version = number(version);
        let inner = self.read();
        let before = inner.objects.get(key);
        before.is_some_and(|before| version != 0 && version <= before.version)
    }

    /// Takes an object out.
    pub(crate) fn remove(&self, key: &ObjectKey) -> Option<Change<T>> {
        let old = self.write().take(key)?;
        Some(Change {
            key: key.clone(),
            old: Some(old),
            new: None,
        })
    }

    /// Takes out what a fresh list does not have, of one namespace or of all.
    pub(crate) fn keep_only(
        &self,
        listed: &HashSet<ObjectKey>,
        namespace: Option<&str>,
    ) -> Vec<Change<T>> {
        let inner = self.read();
        let within = |key: &&ObjectKey| namespace.is_none_or(|name| key.namespace == name);
        let keys = inner.objects.keys().filter(within);
        let gone: Vec<_> = keys.filter(|key| !listed.contains(key)).cloned().collect();
        drop(inner);
        gone.iter().filter_map(|key| self.remove(key)).collect()
    }

    fn read(&self) -> RwLockReadGuard<'_, Inner<T>> {
        self.inner.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Inner<T>> {
        self.inner.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Versions of one kind are ordered numbers since Kubernetes 1.35, and were before.
fn number(version: &str) -> u64 {
    version.parse().unwrap_or_default()
}

impl<T: Kept> Inner<T> {
    fn insert(&mut self, key: ObjectKey, entry: Entry<T>) -> Option<Arc<T>> {
        let old = self.take(&key);
        for group in entry.object.groups().into_iter().flatten() {
            let members = self.groups.entry(group.clone()).or_default();
            members.insert(key.clone());
        }
        if let Some(node) = entry.object.node() {
            let members = self.nodes.entry(node.clone()).or_default();
            members.insert(key.clone());
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
    use super::*;

    #[derive(Debug, PartialEq)]
    struct Thing(&'static str, Uid);

    impl Kept for Thing {
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

    #[test]
    fn what_was_written_here_is_not_undone_by_a_watch_that_lags() {
        let store = Store::default();
        assert!(store.put("9", Thing("a", uid("one"))).is_some());
        assert!(store.put("10", Thing("a", uid("two"))).is_some());
        assert!(store.put("9", Thing("a", uid("one"))).is_none());
        assert_eq!(store.get(&key("a")).unwrap().1, uid("two"));
        assert!(store.group(&uid("one")).is_empty());
        assert_eq!(store.group(&uid("two")).len(), 1);
    }

    #[test]
    fn nobody_hears_of_what_did_not_change() {
        let store = Store::default();
        assert!(store.put("1", Thing("a", uid("one"))).is_some());
        assert!(store.put("2", Thing("a", uid("one"))).is_none());
        assert!(store.remove(&key("a")).is_some());
        assert!(store.remove(&key("a")).is_none());
    }

    #[test]
    fn a_fresh_list_takes_out_only_what_is_in_its_namespace() {
        let store = Store::default();
        store.put("1", Thing("a", uid("one")));
        store.put("1", Thing("b", uid("one")));
        let listed = HashSet::from([key("a")]);
        assert!(store.keep_only(&listed, Some("there")).is_empty());
        assert_eq!(store.keep_only(&listed, Some("here")).len(), 1);
        assert_eq!(store.group(&uid("one")).len(), 1);
    }
}
