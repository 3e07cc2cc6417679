//! A cluster node, trimmed to what the planner reads.

use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};

use k8s_openapi::api::core::v1::Taint;

use crate::name::{NodeName, Uid};

/// A node. Its readiness and deletion are left out on purpose: the DaemonSet controller keeps pods
/// on nodes that are not ready or being deleted, so claims count them like any other.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    pub name: NodeName,
    pub uid: Uid,
    /// Changes with every boot of the machine.
    pub boot_id: String,
    /// All labels, including the owner label.
    pub labels: BTreeMap<String, String>,
    pub taints: Vec<Taint>,
}

/// No field is a floating-point number.
impl Eq for Node {}

impl Hash for Node {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let Self {
            name,
            uid,
            boot_id,
            labels,
            taints,
        } = self;
        (name, uid, boot_id, labels).hash(state);
        for taint in taints {
            let Taint {
                effect,
                key,
                time_added,
                value,
            } = taint;
            let time_added = time_added.as_ref().map(|time| time.0);
            (effect, key, time_added, value).hash(state);
        }
    }
}
