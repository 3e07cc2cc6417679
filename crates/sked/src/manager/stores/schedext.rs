//! SchedExts: whole, but for what is large and of no use. One that cannot be read (made under
//! another CRD, or past its rules) is kept as such: it must not blind us to the others.

use std::sync::Arc;

use kube::api::ObjectMeta;
use serde::Deserialize;
use serde_json::Value;
use sked_api::{SchedExt, SchedExtSpec};
use sked_plan::{ObjectKey, Uid};

use super::store::Kept;
use super::wire::{Unread, Watched};

/// kubectl keeps a copy of all that was applied; we have no use for it.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// A SchedExt as far as it can be read.
#[derive(Clone, Debug)]
pub(crate) enum SchedExtSeen {
    /// It can.
    Read {
        /// This life of it.
        uid: Uid,
        /// All of it.
        schedext: Arc<SchedExt>,
    },
    /// It cannot.
    Unreadable(Unreadable),
}

/// A SchedExt that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unreadable {
    /// Namespace and name.
    pub(crate) key: ObjectKey,
    /// This life of it.
    pub(crate) uid: Uid,
    /// The spec's generation.
    pub(crate) generation: i64,
    /// Its version.
    pub(crate) resource_version: String,
    /// Why not.
    pub(crate) sentence: String,
    /// What is said about it already.
    pub(crate) status: Value,
}

impl SchedExtSeen {
    /// The SchedExt, if it can be read.
    pub(crate) fn schedext(&self) -> Option<&Arc<SchedExt>> {
        match self {
            Self::Read { schedext, .. } => Some(schedext),
            Self::Unreadable(_) => None,
        }
    }

    /// What is left of a whole object.
    pub(crate) fn new(mut object: Value) -> Self {
        let metadata = ObjectMeta::deserialize(&object["metadata"]).unwrap_or_default();
        let metadata = trimmed(metadata);
        let uid = Uid(metadata.uid.clone().unwrap_or_default());
        match SchedExtSpec::deserialize(&object["spec"]) {
            Ok(spec) => Self::Read {
                uid,
                schedext: Arc::new(SchedExt {
                    metadata,
                    spec,
                    // What somebody else wrote there is written over.
                    status: Deserialize::deserialize(&object["status"]).unwrap_or_default(),
                }),
            },
            Err(error) => Self::Unreadable(Unreadable {
                key: ObjectKey {
                    namespace: metadata.namespace.unwrap_or_default(),
                    name: metadata.name.unwrap_or_default(),
                },
                uid,
                generation: metadata.generation.unwrap_or_default(),
                resource_version: metadata.resource_version.unwrap_or_default(),
                sentence: error.to_string(),
                status: object["status"].take(),
            }),
        }
    }
}

fn trimmed(mut metadata: ObjectMeta) -> ObjectMeta {
    metadata.managed_fields = None;
    if let Some(annotations) = &mut metadata.annotations {
        annotations.remove(LAST_APPLIED);
    }
    metadata
}

impl Kept for SchedExtSeen {
    fn key(&self) -> ObjectKey {
        match self {
            Self::Read { schedext, .. } => sked_plan::part::key(schedext),
            Self::Unreadable(unreadable) => unreadable.key.clone(),
        }
    }

    /// Itself: others name it by its uid.
    fn groups(&self) -> [Option<&Uid>; 2] {
        let uid = match self {
            Self::Read { uid, .. } => uid,
            Self::Unreadable(unreadable) => &unreadable.uid,
        };
        [Some(uid), None]
    }

    /// What we look at: spec, status and whether it is being deleted.
    fn same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Read { schedext: one, .. }, Self::Read { schedext: two, .. }) => {
                let lives = |schedext: &SchedExt| {
                    let meta = &schedext.metadata;
                    (
                        meta.uid.clone(),
                        meta.generation,
                        meta.deletion_timestamp.is_some(),
                    )
                };
                lives(one) == lives(two) && one.status == two.status
            }
            (Self::Unreadable(one), Self::Unreadable(two)) => {
                let version = one.resource_version.clone();
                let two = Unreadable {
                    resource_version: version,
                    ..two.clone()
                };
                *one == two
            }
            _ => false,
        }
    }
}

impl Watched for SchedExtSeen {
    type Kind = SchedExt;
    type Wire = Unread;

    fn meta(unread: &Unread) -> ObjectMeta {
        unread.meta()
    }

    fn read(unread: Unread) -> Option<Self> {
        unread.whole().map(Self::new)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn one_that_cannot_be_read_is_kept_with_the_reason() {
        let meta = json!({"name": "a", "namespace": "here", "uid": "u", "generation": 2, "resourceVersion": "7",
            "annotations": {LAST_APPLIED: "{}", "mine": "1"}});
        let good = SchedExtSeen::new(json!({"metadata": meta, "spec": {"sched": "x"}}));
        let annotations = good
            .schedext()
            .unwrap()
            .metadata
            .annotations
            .clone()
            .unwrap();
        assert_eq!(annotations.keys().collect::<Vec<_>>(), ["mine"]);
        for spec in [
            json!({}),
            json!({"sched": 5}),
            json!({"sched": "x", "priority": 1e300}),
            json!(null),
        ] {
            let bad = SchedExtSeen::new(json!({"metadata": meta, "spec": spec}));
            let SchedExtSeen::Unreadable(bad) = bad else {
                panic!("{bad:?}");
            };
            assert_eq!((bad.key.name.as_str(), bad.generation), ("a", 2));
            assert!(!bad.sentence.is_empty());
        }
    }
}
