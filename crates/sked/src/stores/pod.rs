//! Schedulers' pods: where they are and how they fare.

use k8s_openapi::api::core::v1::{ContainerState, Pod, PodStatus};
use kube::api::ObjectMeta;
use serde::Deserialize;
use sked_plan::observed::PodState;
use sked_plan::{LivePod, NodeName, ObjectKey, Uid};

use super::store::Kept;
use super::wire::{Watched, WireMeta};

/// A pod on the wire.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Wire {
    metadata: WireMeta,
    #[serde(default)]
    spec: Spec,
    #[serde(default)]
    status: PodStatus,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Spec {
    node_name: Option<String>,
    affinity: serde_json::Value,
}

impl Kept for LivePod {
    fn key(&self) -> ObjectKey {
        self.key.clone()
    }

    /// The DaemonSet that controls it.
    fn groups(&self) -> [Option<&Uid>; 2] {
        [Some(&self.daemonset), None]
    }

    fn same(&self, other: &Self) -> bool {
        self == other
    }
}

impl Watched for LivePod {
    type Kind = Pod;
    type Wire = Wire;

    fn meta(wire: &Wire) -> ObjectMeta {
        wire.metadata.seen()
    }

    fn read(wire: Wire) -> Option<Self> {
        let Wire {
            metadata,
            spec,
            status,
        } = wire;
        live(metadata, &spec, &status)
    }
}

/// The pod, if a DaemonSet controls it; else it is of no concern.
fn live(metadata: WireMeta, spec: &Spec, status: &PodStatus) -> Option<LivePod> {
    let key = metadata.key();
    let mut owners = metadata.owner_references.into_iter();
    let owner = owners.find(|owner| owner.controller == Some(true))?;
    let container = status.container_statuses.iter().flatten().next();
    (owner.kind == "DaemonSet").then(|| LivePod {
        key,
        daemonset: Uid(owner.uid),
        node: node(spec),
        deleting: metadata.deletion_timestamp.is_some(),
        state: state(spec, status),
        restarts: container.map_or(0, |container| container.restart_count),
        created: metadata
            .creation_timestamp
            .map(|time| time.0)
            .unwrap_or_default(),
    })
}

/// Where it runs, or which node the DaemonSet controller made it for.
fn node(spec: &Spec) -> Option<NodeName> {
    if let Some(name) = &spec.node_name {
        return Some(NodeName::from(name.as_str()));
    }
    let terms = spec.affinity.pointer(
        "/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms",
    )?;
    let fields = terms
        .as_array()?
        .iter()
        .filter_map(|term| term["matchFields"].as_array());
    let name = fields
        .flatten()
        .find(|field| field["key"] == "metadata.name")?;
    name.pointer("/values/0")?.as_str().map(NodeName::from)
}

fn state(spec: &Spec, status: &PodStatus) -> PodState {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    if status.phase.as_deref() == Some("Failed") {
        return PodState::Failed {
            reason: text(&status.reason),
            message: text(&status.message),
        };
    }
    if spec.node_name.is_none() {
        let mut conditions = status.conditions.iter().flatten();
        let scheduled = conditions.find(|condition| condition.type_ == "PodScheduled");
        return PodState::Unscheduled(scheduled.and_then(|condition| condition.message.clone()));
    }
    let Some(container) = status.container_statuses.iter().flatten().next() else {
        return PodState::Starting;
    };
    let now = container.state.as_ref();
    let before = container.last_state.as_ref();
    if now.is_some_and(|state| state.running.is_some()) {
        return PodState::Running;
    }
    // A container that waits to be started again says why it ended before.
    if let Some(ended) = now.and_then(ended).or_else(|| before.and_then(ended)) {
        return ended;
    }
    match now.and_then(|state| state.waiting.as_ref()) {
        Some(waiting) if !begins(waiting.reason.as_deref()) => PodState::Waiting {
            reason: text(&waiting.reason),
            message: text(&waiting.message),
        },
        _ => PodState::Starting,
    }
}

/// Whether kubelet is still at the ordinary beginning.
fn begins(reason: Option<&str>) -> bool {
    matches!(
        reason,
        None | Some("" | "ContainerCreating" | "PodInitializing")
    )
}

fn ended(state: &ContainerState) -> Option<PodState> {
    let ended = state.terminated.as_ref()?;
    Some(PodState::Ended {
        code: ended.exit_code,
        reason: ended.reason.clone().unwrap_or_default(),
        message: ended.message.clone().unwrap_or_default(),
        at: ended.finished_at.as_ref().map(|time| time.0),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pod(spec: &serde_json::Value, status: &serde_json::Value) -> LivePod {
        let pod = json!({
            "metadata": {
                "name": "a-x", "namespace": "here", "resourceVersion": "5",
                "creationTimestamp": "2026-01-01T00:00:00Z",
                "managedFields": [{"manager": "kubelet"}],
                "ownerReferences": [{"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "a", "uid": "u", "controller": true}],
            },
            "spec": spec,
            "status": status,
        });
        LivePod::read(serde_json::from_value(pod).unwrap()).unwrap()
    }

    #[test]
    fn a_pod_that_is_meant_for_a_node_is_counted_there() {
        let affinity = json!({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
            {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["node7"]}]}
        ]}}});
        let conditions = json!([{"type": "PodScheduled", "status": "False", "message": "no room"}]);
        let pod = pod(
            &json!({"affinity": affinity}),
            &json!({"phase": "Pending", "conditions": conditions}),
        );
        assert_eq!(pod.node, Some("node7".into()));
        assert_eq!(pod.state, PodState::Unscheduled(Some("no room".to_owned())));
    }

    #[test]
    fn a_container_is_what_kubelet_says_it_is() {
        let with = |state, last| {
            let containers = json!([{"name": "scx", "image": "i", "imageID": "", "ready": false, "restartCount": 3, "state": state, "lastState": last}]);
            pod(
                &json!({"nodeName": "n"}),
                &json!({"phase": "Pending", "containerStatuses": containers}),
            )
        };
        let running = with(json!({"running": {}}), json!({}));
        assert_eq!((running.state, running.restarts), (PodState::Running, 3));
        let creating = with(
            json!({"waiting": {"reason": "ContainerCreating"}}),
            json!({}),
        );
        assert_eq!(creating.state, PodState::Starting);
        let image = with(
            json!({"waiting": {"reason": "ImagePullBackOff", "message": "m"}}),
            json!({}),
        );
        assert!(
            matches!(image.state, PodState::Waiting { reason, .. } if reason == "ImagePullBackOff")
        );
        let last = json!({"terminated": {"exitCode": 1, "message": "EXIT: stall"}});
        let crashing = with(json!({"waiting": {"reason": "CrashLoopBackOff"}}), last);
        assert!(
            matches!(crashing.state, PodState::Ended { code: 1, message, .. } if message == "EXIT: stall")
        );
    }
}
