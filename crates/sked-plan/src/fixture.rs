//! Test fixtures: a SchedExt, its DaemonSet as the API server stores it, a pod, a node.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};
use sked_api::SchedExt;

use crate::assignment::{Assignment, PartAssignment};
use crate::daemonset::daemonset;
use crate::live_daemonset::LiveDaemonSet;
use crate::live_pod::{LivePod, PodState};
use crate::name::{ObjectKey, Uid};
use crate::node::Node;
use crate::observed::Observed;
use crate::part::parts;
use crate::rollout::record_key;

#[expect(
    clippy::needless_pass_by_value,
    reason = "every caller makes its spec up on the spot"
)]
pub(crate) fn schedext(name: &str, spec: Value) -> SchedExt {
    let metadata = json!({
        "name": name,
        "namespace": "default",
        "uid": format!("uid-of-{name}"),
        "generation": 1,
        "creationTimestamp": "2026-01-01T00:00:00Z",
    });
    let kind = json!({
        "apiVersion": "sked.schedkit.io/v1",
        "kind": "SchedExt",
        "metadata": metadata,
        "spec": spec,
    });
    serde_json::from_value(kind).unwrap()
}

pub(crate) fn key(name: &str) -> ObjectKey {
    ObjectKey {
        namespace: "default".to_owned(),
        name: name.to_owned(),
    }
}

/// The DaemonSets of a SchedExt as the API server stores them, fully rolled out.
pub(crate) fn live(schedext: &SchedExt) -> Vec<Value> {
    let rendered = parts(schedext).map(|part| serde_json::to_value(daemonset(&part)).unwrap());
    let born = rendered.map(|mut one| {
        let name = one["metadata"]["name"].as_str().unwrap().to_owned();
        one["metadata"]["uid"] = json!(format!("ds-{name}"));
        one["metadata"]["resourceVersion"] = json!("1");
        one["metadata"]["generation"] = json!(1);
        one["status"] = json!({
            "observedGeneration": 1,
            "desiredNumberScheduled": 2,
            "updatedNumberScheduled": 2,
            "numberReady": 2,
        });
        one
    });
    born.collect()
}

/// A SchedExt with these DaemonSets, two nodes for each part, and no labels to wait for.
pub(crate) fn observed(schedext: &SchedExt, daemonsets: &[Value]) -> Observed {
    let part = PartAssignment {
        nodes: vec!["node1".into(), "node2".into()],
        waits_for: Vec::new(),
    };
    let ids = parts(schedext).map(|part| part.id());
    let read = |one: &Value| Arc::new(LiveDaemonSet::read(one).unwrap());
    Observed {
        assignment: Arc::new(Assignment {
            generation: schedext.metadata.generation.unwrap(),
            record: record_key(schedext),
            parts: ids.map(|id| (id, part.clone())).collect(),
            ..Assignment::default()
        }),
        schedext: Arc::new(schedext.clone()),
        daemonsets: daemonsets.iter().map(read).collect(),
        pods: Vec::new(),
        kernels: Default::default(),
        facts: Default::default(),
        owner_labels: std::collections::BTreeMap::new(),
        unreachable: Default::default(),
        unenforced_policies: Vec::new(),
        kernel_gaps: std::collections::BTreeMap::new(),
        port_holders: std::collections::BTreeMap::new(),
        architectures: Default::default(),
        releases: Default::default(),
        verification: Default::default(),
        futile: Default::default(),
        failed_creates: Vec::new(),
        now: "2026-02-01T00:00:00Z".parse().unwrap(),
    }
}

/// A pod of that DaemonSet.
pub(crate) fn pod(daemonset: &str, node: &str, state: PodState) -> Arc<LivePod> {
    Arc::new(LivePod {
        key: key(&format!("{daemonset}-{node}")),
        daemonset: Uid(format!("ds-{daemonset}")),
        node: Some(node.into()),
        deleting: false,
        uid: Uid(format!("pod-{daemonset}-{node}")),
        state,
        started: None,
        last_exit: None,
        restarts: 0,
        gate: None,
        template: "first".to_owned(),
        revision: String::new(),
        created: Timestamp::UNIX_EPOCH,
    })
}

/// A node without labels and taints.
pub(crate) fn node(name: &str) -> Node {
    Node {
        name: name.into(),
        uid: Uid("node-uid".to_owned()),
        boot_id: "boot-1".to_owned(),
        labels: Default::default(),
        taints: Vec::new(),
    }
}
