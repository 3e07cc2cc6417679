//! Schedulers' pods.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{ContainerStatus, Pod, PodStatus};
use kube::api::ObjectMeta;
use schedkit_core::SchedulerExit;
use serde::Deserialize;
use sked_api::label;
use sked_plan::live_pod::{ContainerExit, Gate, PodState};
use sked_plan::{LivePod, NodeName, ObjectKey, Uid};

use super::decode::{MetaFields, Watched};
use super::store::Stored;

/// The DaemonSet controller's hash of the template that a pod was created from.
const TEMPLATE: &str = "controller-revision-hash";

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct RawPod {
    metadata: MetaFields,
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

impl Stored for LivePod {
    fn key(&self) -> ObjectKey {
        self.key.clone()
    }

    /// The controlling DaemonSet.
    fn groups(&self) -> [Option<&Uid>; 2] {
        [Some(&self.daemonset), None]
    }

    fn node(&self) -> Option<&NodeName> {
        self.node.as_ref()
    }

    fn same(&self, other: &Self) -> bool {
        self == other
    }
}

impl Watched for LivePod {
    type Kind = Pod;
    type Raw = RawPod;

    fn meta(raw: &RawPod) -> ObjectMeta {
        raw.metadata.object_meta()
    }

    fn read(raw: RawPod) -> Option<Self> {
        let RawPod {
            metadata,
            spec,
            status,
        } = raw;
        live(metadata, &spec, &status)
    }
}

/// `None` if no DaemonSet controls the pod.
fn live(mut metadata: MetaFields, spec: &Spec, status: &PodStatus) -> Option<LivePod> {
    let key = metadata.key();
    let template = metadata.labels.remove(TEMPLATE).unwrap_or_default();
    let revision = metadata.labels.remove(label::REVISION).unwrap_or_default();
    let mut owners = metadata.owner_references.into_iter();
    let owner = owners.find(|owner| owner.controller == Some(true))?;
    let container = scheduler_container(status);
    (owner.kind == "DaemonSet").then(|| LivePod {
        key,
        daemonset: Uid(owner.uid),
        node: node(spec),
        deleting: metadata.deletion_timestamp.is_some(),
        uid: Uid(metadata.uid),
        state: state(spec, status),
        started: container.and_then(started),
        last_exit: container.and_then(last_exit),
        gate: gate(status),
        template,
        revision,
        restarts: container.map_or(0, |container| container.restart_count),
        created: metadata
            .creation_timestamp
            .map(|time| time.0)
            .unwrap_or_default(),
    })
}

/// Where it runs, or which node the DaemonSet controller created it for.
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
    let Some(container) = scheduler_container(status) else {
        return PodState::Starting;
    };
    let now = container.state.as_ref();
    if now.is_some_and(|state| state.running.is_some()) {
        return PodState::Running;
    }
    // A container that waits for its restart has exited before.
    if last_exit(container).is_some() {
        return PodState::Ended;
    }
    match now.and_then(|state| state.waiting.as_ref()) {
        Some(waiting) if !is_starting(waiting.reason.as_deref()) => PodState::Waiting {
            reason: text(&waiting.reason),
            message: text(&waiting.message),
        },
        _ => PodState::Starting,
    }
}

/// Others may have added containers to the pod.
fn scheduler_container(status: &PodStatus) -> Option<&ContainerStatus> {
    let mut containers = status.container_statuses.iter().flatten();
    containers.find(|container| container.name == label::CONTAINER)
}

/// Whether this is kubelet's reason for an ordinary start.
fn is_starting(reason: Option<&str>) -> bool {
    matches!(
        reason,
        None | Some("" | "ContainerCreating" | "PodInitializing")
    )
}

fn started(container: &ContainerStatus) -> Option<Timestamp> {
    let running = container.state.as_ref()?.running.as_ref()?;
    running.started_at.as_ref().map(|time| time.0)
}

/// How the container exited: now, or before its last restart.
fn last_exit(container: &ContainerStatus) -> Option<ContainerExit> {
    let states = [container.state.as_ref(), container.last_state.as_ref()];
    let mut ended = states.into_iter().flatten();
    let ended = ended.find_map(|state| state.terminated.as_ref())?;
    Some(ContainerExit {
        code: ended.exit_code,
        reason: ended.reason.clone().unwrap_or_default(),
        exit_message: SchedulerExit::parse(ended.message.as_deref().unwrap_or_default()),
        at: ended.finished_at.as_ref().map(|time| time.0),
    })
}

fn gate(status: &PodStatus) -> Option<Gate> {
    let mut conditions = status.conditions.iter().flatten();
    let gate = conditions.find(|condition| condition.type_ == label::ATTACHED_GATE)?;
    Some(Gate {
        attached: gate.status == "True",
        reason: gate.reason.clone().unwrap_or_default(),
        since: gate.last_transition_time.as_ref()?.0,
    })
}

#[cfg(test)]
mod tests {
    use schedkit_core::ExitReason;
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
    fn an_unscheduled_pod_counts_on_the_node_that_it_was_created_for() {
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
    fn the_gate_is_read_from_its_condition() {
        let gate = |status: &str| {
            let condition = json!({"type": "sked.schedkit.io/Attached", "status": status, "reason": "Attached", "lastTransitionTime": "2026-01-01T00:00:09Z"});
            let conditions = json!([{"type": "Ready", "status": "True"}, condition]);
            pod(
                &json!({"nodeName": "n"}),
                &json!({"conditions": conditions}),
            )
            .gate
        };
        let open = gate("True").unwrap();
        assert!(open.attached && open.reason == "Attached");
        assert!(!gate("False").unwrap().attached);
        assert_eq!(pod(&json!({}), &json!({})).gate, None);
    }

    #[test]
    fn a_containers_state_is_read_from_kubelets_status() {
        let with = |state, last| {
            let sidecar = json!({"name": "a-sidecar", "image": "i", "imageID": "", "ready": true, "restartCount": 9,
                "state": {"running": {}}});
            let containers = json!([sidecar, {"name": "scx", "image": "i", "imageID": "", "ready": false, "restartCount": 3, "state": state, "lastState": last}]);
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
        let last = json!({"terminated": {"exitCode": 1, "message": "EXIT: disabled by sysrq-S"}});
        let crashing = with(
            json!({"waiting": {"reason": "CrashLoopBackOff"}}),
            last.clone(),
        );
        assert_eq!(crashing.state, PodState::Ended);
        let again = with(
            json!({"running": {"startedAt": "2026-01-01T00:00:09Z"}}),
            last,
        );
        assert_eq!(again.state, PodState::Running);
        assert_eq!(again.started, Some("2026-01-01T00:00:09Z".parse().unwrap()));
        for pod in [crashing, again] {
            let last_exit = pod.last_exit.unwrap();
            let reason = last_exit.exit_message.unwrap().reason;
            assert_eq!((last_exit.code, reason), (1, ExitReason::SysRq));
        }
    }
}
