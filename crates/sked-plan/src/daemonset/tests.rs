//! Rendered DaemonSets against golden files. `UPDATE_GOLDEN=1` writes them: review the changes, because
//! a changed template restarts every scheduler in every cluster.

use serde_json::{Value, json};
use sked_api::SchedExt;

use super::*;
use crate::fingerprint::fingerprint;
use crate::fixture::schedext;
use crate::part::parts;

fn rendered(schedext: &SchedExt) -> Vec<Value> {
    let daemonsets = parts(schedext).map(|part| daemonset(&part));
    daemonsets
        .map(|one| serde_json::to_value(one).unwrap())
        .collect()
}

fn golden(name: &str, value: &Value) {
    let path = format!("{}/tests/golden/{name}", env!("CARGO_MANIFEST_DIR"));
    let text = format!("{value:#}\n");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    assert_eq!(text, std::fs::read_to_string(&path).unwrap(), "{path}");
}

fn full() -> SchedExt {
    schedext(
        "full",
        json!({
            "sched": "ghcr.io/schedkit/scx_rusty:1.1.4",
            "args": ["--slice-us", "5000"],
            "env": [{"name": "RUST_LOG", "value": "info"}, {"name": "EMPTY"}],
            "nodeSelector": {"kubernetes.io/arch": "amd64"},
            "affinity": {"nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
                    {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]},
                    {},
                    {"matchFields": [
                        {"key": "metadata.name", "operator": "In", "values": ["node1"]},
                    ]},
                ]},
                "preferredDuringSchedulingIgnoredDuringExecution": [
                    {"weight": 1, "preference": {"matchExpressions": [
                        {"key": "fast", "operator": "Exists"},
                    ]}},
                ],
            }},
            "tolerations": [{"key": "dedicated", "operator": "Exists"}],
            "priority": 5,
            "priorityClassName": "system-node-critical",
            "imagePullPolicy": "Always",
            "imagePullSecrets": [{"name": "pull"}],
            "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}},
            "watchdogTimeout": "1500ms",
            "pools": [{
                "name": "batch",
                "nodeSelector": {"pool": "batch"},
                "sched": "ghcr.io/schedkit/scx_lavd:1.0.0",
                "args": [],
                "env": [{"name": "SCX_TIMEOUT_MS", "value": "1"}],
            }],
            "rollout": {"maxUnavailable": "10%"},
        }),
    )
}

#[test]
fn a_schedext_with_nothing_but_an_image() {
    let minimal = schedext(
        "minimal",
        json!({"sched": "ghcr.io/schedkit/scx_rusty:latest"}),
    );
    let daemonsets = rendered(&minimal);
    assert_eq!(daemonsets.len(), 1);
    golden("minimal.json", &daemonsets[0]);
}

#[test]
fn a_schedext_with_everything() {
    let daemonsets = rendered(&full());
    assert_eq!(daemonsets.len(), 2);
    golden("full.json", &daemonsets[0]);
    golden("full-pool.json", &daemonsets[1]);
}

/// Together with one of our rules an empty term would let nodes in.
#[test]
fn a_term_that_matches_no_node_stays_so() {
    let affinity = json!({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution":
        {"nodeSelectorTerms": [{}]}}});
    let none = schedext(
        "none",
        json!({"sched": "example/one:1", "affinity": affinity}),
    );
    let pointer = "/spec/template/spec/affinity/nodeAffinity\
                   /requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms";
    assert_eq!(rendered(&none)[0].pointer(pointer), Some(&json!([{}])));
}

#[test]
fn neither_other_schedexts_nor_pools_nor_priority_change_a_template() {
    let before = full();
    let mut after = before.clone();
    after.spec.priority = 7;
    after.spec.pools.clear();
    after.metadata.generation = Some(2);
    assert_eq!(rendered(&before)[0], rendered(&after)[0]);
}

#[test]
fn a_replace_keeps_the_fields_of_others() {
    let full = full();
    let desired = daemonset(&parts(&full).next().unwrap());
    let mut live = serde_json::to_value(&desired).unwrap();
    live["metadata"]["resourceVersion"] = json!("7");
    live["metadata"]["labels"] = json!({"team": "kernel"});
    live["metadata"]["annotations"] = json!({"note": "theirs"});
    let owner = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": "1"});
    live["metadata"]["ownerReferences"] = json!([owner]);
    live["spec"]["template"]["metadata"]["annotations"] =
        json!({"kubectl.kubernetes.io/restartedAt": "2026-01-01T00:00:00Z", "sidecar": "inject"});
    live["spec"]["template"]["spec"]["hostIPC"] = json!(true);
    let written = overlay(serde_json::from_value(live).unwrap(), &desired);
    let written = serde_json::to_value(written).unwrap();
    assert_eq!(
        fingerprint(&written),
        fingerprint(&serde_json::to_value(&desired).unwrap())
    );
    let metadata = &written["metadata"];
    assert_eq!(metadata["resourceVersion"], "7");
    assert_eq!(
        metadata["labels"],
        json!({"team": "kernel", "managed-by": "sked-controller"})
    );
    assert_eq!(metadata["annotations"], json!({"note": "theirs"}));
    assert_eq!(metadata["ownerReferences"][1], owner);
    assert_eq!(
        written["spec"]["template"]["metadata"]["annotations"],
        json!({"kubectl.kubernetes.io/restartedAt": "2026-01-01T00:00:00Z"})
    );
    assert_eq!(written["spec"]["template"]["spec"]["hostIPC"], Value::Null);
}
