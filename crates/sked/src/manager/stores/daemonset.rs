//! DaemonSets: their shape is worked out while they are read, and the rest forgotten.

use k8s_openapi::api::apps::v1::DaemonSet;
use kube::api::ObjectMeta;
use sked_plan::{LiveDaemonSet, ObjectKey, Uid};

use super::store::Kept;
use super::wire::{Unread, Watched};

impl Kept for LiveDaemonSet {
    fn key(&self) -> ObjectKey {
        self.key.clone()
    }

    /// The SchedExt that controls it, and its own uid, by which pods and events name it.
    fn groups(&self) -> [Option<&Uid>; 2] {
        [self.controller.as_ref(), Some(&self.uid)]
    }

    /// A new version alone says nothing: what we look at may be the same.
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
    type Wire = Unread;

    fn meta(unread: &Unread) -> ObjectMeta {
        unread.meta()
    }

    fn read(unread: Unread) -> Option<Self> {
        Self::read(&unread.whole()?).ok()
    }
}
