//! A cluster node, trimmed to what the planner reads.

use std::collections::BTreeMap;

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
