//! DaemonSets: stored with the fingerprint of their fields instead of the fields.

use k8s_openapi::api::apps::v1::DaemonSet;
use kube::api::ObjectMeta;
use sked_plan::{LiveDaemonSet, ObjectKey, Uid};

use super::decode::{RawObject, Watched};
use super::store::Stored;

impl Stored for LiveDaemonSet {
    fn key(&self) -> ObjectKey {
        self.key.clone()
    }

    /// The controlling SchedExt's uid, and its own, by which pods and events refer to it.
    fn groups(&self) -> [Option<&Uid>; 2] {
        [self.controller.as_ref(), Some(&self.uid)]
    }

    /// A new resource version alone is no change.
    fn same(&self, other: &Self) -> bool {
        let other = Self {
            resource_version: self.resource_version.clone(),
            ..other.clone()
        };
        *self == other
    }
}

impl Watched for LiveDaemonSet {
    type Kind = DaemonSet;
    type Raw = RawObject;

    fn meta(raw: &RawObject) -> ObjectMeta {
        raw.meta()
    }

    fn read(raw: RawObject) -> Option<Self> {
        Self::read(&raw.parse()?).ok()
    }
}
