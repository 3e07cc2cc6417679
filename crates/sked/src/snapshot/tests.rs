//! What a snapshot plans, without a cluster.

use sked_api::RolloutPhase;
use sked_plan::plan::PlanStep;
use sked_plan::{Node, Uid};

use super::simulate::{Settled, SimulatedWrite};
use super::*;

/// Three nodes, and nothing else.
fn snapshot() -> Snapshot {
    let stores = Stores::default();
    for name in ["node1", "node2", "node3"] {
        let node = Node {
            name: name.into(),
            uid: Uid(format!("uid-of-{name}")),
            boot_id: "boot".to_owned(),
            labels: [("zone".to_owned(), name.to_owned())].into(),
            taints: Vec::new(),
        };
        stores
            .nodes
            .put(crate::manager::stores::Source::Watch, "1", node);
    }
    Snapshot::new(stores, true, Vec::new())
}

fn schedext(spec: &serde_json::Value) -> SchedExt {
    let object = serde_json::json!({
        "apiVersion": "sked.schedkit.io/v1", "kind": "SchedExt",
        "metadata": {"namespace": "default", "name": "a"}, "spec": spec,
    });
    serde_json::from_value(object).unwrap()
}

fn key() -> ObjectKey {
    ObjectKey {
        namespace: "default".to_owned(),
        name: "a".to_owned(),
    }
}

/// Labelled nodes, and DaemonSets that are written.
fn written(settled: &Settled) -> (Vec<String>, Vec<String>) {
    let mut labels = Vec::new();
    let mut daemonsets = Vec::new();
    for write in &settled.writes {
        match write {
            SimulatedWrite::Label(write) => labels.push(write.node.to_string()),
            SimulatedWrite::DaemonSet(PlanStep::Create(desired)) => {
                daemonsets.push(desired.metadata.name.clone().unwrap());
            }
            SimulatedWrite::DaemonSet(other) => panic!("{other:?}"),
        }
    }
    (labels, daemonsets)
}

#[test]
fn a_first_version_is_created_at_once_and_a_second_look_writes_nothing() {
    let mut snapshot = snapshot();
    assert!(snapshot.put(schedext(&serde_json::json!({"sched": "x:1"}))));
    let settled = snapshot.settle(&[key()]);
    assert_eq!(written(&settled), (vec![], vec!["a".to_owned()]));
    assert!(settled.violations.is_empty());
    let observed = snapshot.observe(&key()).unwrap();
    assert_eq!(observed.assignment.nodes(), 3);
    assert!(!snapshot.put(schedext(&serde_json::json!({"sched": "x:1"}))));
    assert!(snapshot.settle(&[key()]).writes.is_empty());
}

#[test]
fn a_canary_is_labelled_and_created_and_then_it_waits() {
    let mut snapshot = snapshot();
    let spec = serde_json::json!({"sched": "x:1", "rollout": {"canary": {"nodes": 1}}});
    snapshot.put(schedext(&spec));
    let settled = snapshot.settle(&[key()]);
    assert_eq!(
        written(&settled),
        (vec!["node1".to_owned()], vec!["a-canary".to_owned()])
    );
    let rollout = settled.ends[0].status.rollout.as_ref().unwrap();
    assert_eq!(rollout.phase, RolloutPhase::Canary);
}

#[test]
fn a_contested_node_is_labelled_before_the_rival_is_created() {
    let mut snapshot = snapshot();
    snapshot.put(schedext(&serde_json::json!({"sched": "x:1"})));
    snapshot.settle(&[key()]);
    let mut rival = schedext(
        &serde_json::json!({"sched": "y:1", "priority": 1, "nodeSelector": {"zone": "node2"}}),
    );
    rival.metadata.name = Some("b".to_owned());
    let key = sked_plan::part::key(&rival);
    snapshot.put(rival);
    let settled = snapshot.settle(&[key]);
    assert_eq!(
        written(&settled),
        (vec!["node2".to_owned()], vec!["b".to_owned()])
    );
    assert!(matches!(settled.writes[0], SimulatedWrite::Label(_)));
}

/// Stores a SchedExt whose image a manager has verified.
fn store_verified(snapshot: &Snapshot) -> String {
    let digest = format!("r.example/x@sha256:{}", "1".repeat(64));
    let image = serde_json::json!({"image": "r.example/x:1", "resolved": digest, "signer": "somebody",
        "policy": "p", "verifiedAt": "2026-01-01T00:00:00Z"});
    let mut verified = schedext(&serde_json::json!({"sched": "r.example/x:1"}));
    verified.metadata.uid = Some("uid".to_owned());
    verified.metadata.generation = Some(1);
    let status = serde_json::json!({"verification": "verified",
        "accepted": {"spec": {"sched": "r.example/x:1"}, "images": [image]}});
    verified.status = serde_json::from_value(status).unwrap();
    let entry = SchedExtEntry::Read {
        uid: Uid("uid".to_owned()),
        schedext: Arc::new(verified),
    };
    let source = crate::manager::stores::Source::Watch;
    snapshot.stores.schedexts.put(source, "1", entry);
    digest
}

#[test]
fn other_arguments_of_a_verified_image_are_planned() {
    let mut snapshot = snapshot();
    let digest = store_verified(&snapshot);
    let spec = serde_json::json!({"sched": "r.example/x:1", "args": ["--two"]});
    assert!(snapshot.put(schedext(&spec)));
    let settled = snapshot.settle(&[key()]);
    let [SimulatedWrite::DaemonSet(PlanStep::Create(desired))] = &*settled.writes else {
        panic!("{settled:?}");
    };
    let pod = desired
        .spec
        .as_ref()
        .unwrap()
        .template
        .spec
        .clone()
        .unwrap();
    assert_eq!(pod.containers[0].image.as_deref(), Some(&*digest));
    assert_eq!(pod.containers[0].args, Some(vec!["--two".to_owned()]));
}
