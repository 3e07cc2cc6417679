//! SchedExts, without large metadata that nobody reads. A SchedExt that cannot be parsed (created
//! under another CRD, or without its rules) is stored as such, so that it does not stop the watch.

use std::sync::Arc;

use kube::api::ObjectMeta;
use serde::Deserialize;
use serde_json::Value;
use sked_api::{SchedExt, SchedExtSpec};
use sked_plan::{ObjectKey, Uid};

use super::decode::{RawObject, Watched};
use super::store::Stored;

/// kubectl's copy of the applied object, which sked does not need.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

#[derive(Clone, Debug)]
pub(crate) enum SchedExtEntry {
    Read { uid: Uid, schedext: Arc<SchedExt> },
    Unreadable(Unreadable),
}

/// A SchedExt whose spec cannot be parsed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unreadable {
    pub(crate) key: ObjectKey,
    pub(crate) uid: Uid,
    pub(crate) generation: i64,
    pub(crate) resource_version: String,
    /// Why not.
    pub(crate) message: String,
    /// Its current status.
    pub(crate) status: Value,
}

impl SchedExtEntry {
    pub(crate) fn uid(&self) -> &Uid {
        match self {
            Self::Read { uid, .. } => uid,
            Self::Unreadable(unreadable) => &unreadable.uid,
        }
    }

    pub(crate) fn schedext(&self) -> Option<&Arc<SchedExt>> {
        match self {
            Self::Read { schedext, .. } => Some(schedext),
            Self::Unreadable(_) => None,
        }
    }

    /// Trims a whole object.
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
                    // A status that cannot be parsed is overwritten.
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
                message: error.to_string(),
                status: object["status"].take(),
            }),
        }
    }
}

/// What a person asks of the roll-out.
pub(crate) fn request(schedext: &SchedExt) -> Option<&String> {
    let annotations = schedext.metadata.annotations.as_ref()?;
    annotations.get(sked_api::label::REQUEST)
}

fn trimmed(mut metadata: ObjectMeta) -> ObjectMeta {
    metadata.managed_fields = None;
    if let Some(annotations) = &mut metadata.annotations {
        annotations.remove(LAST_APPLIED);
    }
    metadata
}

impl Stored for SchedExtEntry {
    fn key(&self) -> ObjectKey {
        match self {
            Self::Read { schedext, .. } => sked_plan::part::key(schedext),
            Self::Unreadable(unreadable) => unreadable.key.clone(),
        }
    }

    /// Its own uid, by which others refer to it.
    fn groups(&self) -> [Option<&Uid>; 2] {
        [Some(self.uid()), None]
    }

    /// Compares spec, status, deletion and what a person asks for.
    fn same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Read { schedext: one, .. }, Self::Read { schedext: two, .. }) => {
                let lives = |schedext: &SchedExt| {
                    let meta = &schedext.metadata;
                    (
                        meta.uid.clone(),
                        meta.generation,
                        meta.deletion_timestamp.is_some(),
                        request(schedext).cloned(),
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

impl Watched for SchedExtEntry {
    type Kind = SchedExt;
    type Raw = RawObject;

    fn meta(raw: &RawObject) -> ObjectMeta {
        raw.meta()
    }

    fn read(raw: RawObject) -> Option<Self> {
        raw.parse().map(Self::new)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_schedext_that_cannot_be_parsed_is_stored_with_the_reason() {
        let meta = json!({"name": "a", "namespace": "here", "uid": "u", "generation": 2, "resourceVersion": "7",
            "annotations": {LAST_APPLIED: "{}", "mine": "1"}});
        let good = SchedExtEntry::new(json!({"metadata": meta, "spec": {"sched": "x"}}));
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
            let bad = SchedExtEntry::new(json!({"metadata": meta, "spec": spec}));
            let SchedExtEntry::Unreadable(bad) = bad else {
                panic!("{bad:?}");
            };
            assert_eq!((bad.key.name.as_str(), bad.generation), ("a", 2));
            assert!(!bad.message.is_empty());
        }
    }
}
