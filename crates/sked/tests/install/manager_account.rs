//! What the manager's account may do, as whoever stole its token would find out.

use lab::CommandOutput;
use serde_json::{Value, json};

use crate::ground::{
    MANAGER, Person, allowed, alone, apply, eventually, get, install, let_kubectl_look, must,
    namespace, refused, schedext,
};

const THIEVES: &str = "thieves";
const NOT_ITS_OWN: &str = "only DaemonSets that a SchedExt controls";

fn thief() -> Person {
    Person::holding_token_of(MANAGER, "sked-system")
}

fn ground() -> Person {
    install();
    let_kubectl_look(MANAGER, "sked-system");
    apply(&[
        namespace(THIEVES),
        json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "pawn", "labels": {"pool": "a", "zone": "b"}}}),
        schedext(THIEVES, "mine", json!({})),
        schedext(THIEVES, "yours", json!({})),
    ]);
    let thief = thief();
    eventually("the policies for the manager are in force", || {
        let node = node(&thief, &json!({"metadata": {"labels": {"pool": null}}}));
        let made = thief.hands("create", &daemonset("probe", None));
        let refused = |said: &CommandOutput| said.stderr.contains("ValidatingAdmissionPolicy");
        must(&["label", "node", "pawn", "pool=a", "--overwrite"]);
        must(&["delete", "daemonsets", "--all", "-n", THIEVES]);
        (refused(&node) && refused(&made)).then_some(())
    });
    thief
}

fn node(thief: &Person, patch: &Value) -> CommandOutput {
    let patch = patch.to_string();
    thief.says(&["patch", "node", "pawn", "--type=merge", "-p", &patch])
}

#[test]
fn on_nodes_only_our_labels() {
    let _alone = alone();
    let thief = ground();
    let label = |key: &str, value: Value| json!({"metadata": {"labels": {key: value}}});
    let ours = "sked.schedkit.io/owner";
    allowed(&node(&thief, &label(ours, json!("abc"))));
    allowed(&node(&thief, &label(ours, json!("def"))));
    allowed(&node(&thief, &label(ours, Value::Null)));

    let refusal = "only those labels of a Node that begin with \"sked.schedkit.io/\"";
    for (key, value) in [
        ("new", json!("x")),
        ("pool", json!("x")),
        ("pool", Value::Null),
        ("sked.schedkit.io", json!("x")),
        ("node-role.kubernetes.io/control-plane", json!("")),
    ] {
        refused(&node(&thief, &label(key, value)), refusal);
    }
    let both = json!({"metadata": {"labels": {ours: "abc", "pool": "x"}}});
    refused(&node(&thief, &both), refusal);
    assert_eq!(
        get(&["node", "pawn"])["metadata"]["labels"][ours],
        Value::Null
    );
}

#[test]
fn on_nodes_nothing_else() {
    let _alone = alone();
    let thief = ground();
    let spec = "may not change the spec of a Node";
    refused(
        &node(&thief, &json!({"spec": {"unschedulable": true}})),
        spec,
    );
    let taint = json!({"key": "a", "value": "b", "effect": "NoExecute"});
    refused(&node(&thief, &json!({"spec": {"taints": [taint]}})), spec);
    let rest = "may not change annotations, finalizers or owners";
    let owner = json!({"apiVersion": "v1", "kind": "Namespace", "name": "default", "uid": "0"});
    for metadata in [
        json!({"annotations": {"a": "b"}}),
        json!({"finalizers": ["example.com/held"]}),
        json!({"ownerReferences": [owner]}),
    ] {
        refused(&node(&thief, &json!({"metadata": metadata})), rest);
    }
    refused(&thief.says(&["delete", "node", "pawn"]), "cannot delete");
    let ready = r#"{"status":{"conditions":[{"type":"Ready","status":"True"}]}}"#;
    let status = ["patch", "node", "pawn", "--subresource=status", "-p", ready];
    refused(&thief.says(&status), "nodes/status");
}

/// A DaemonSet as the manager would make it for the SchedExt of that name, or for nobody.
fn daemonset(name: &str, owner: Option<&str>) -> Value {
    let owners: Vec<_> = owner.map(reference).into_iter().collect();
    json!({
        "apiVersion": "apps/v1", "kind": "DaemonSet",
        "metadata": {"name": name, "namespace": THIEVES, "ownerReferences": owners},
        "spec": {
            "selector": {"matchLabels": {"name": name}},
            "template": {
                "metadata": {"labels": {"name": name}},
                "spec": {"containers": [{"name": "scx", "image": "registry.example/scx_lab:1"}]},
            },
        },
    })
}

fn reference(owner: &str) -> Value {
    let uid = get(&["schedext", owner, "-n", THIEVES])["metadata"]["uid"].clone();
    json!({"apiVersion": "sked.schedkit.io/v1", "kind": "SchedExt", "name": owner, "uid": uid, "controller": true, "blockOwnerDeletion": true})
}

/// As the manager does it: what there is, laid over and put back.
fn change(thief: &Person, name: &str, patch: &Value) -> CommandOutput {
    let mut object = get(&["daemonset", name, "-n", THIEVES]);
    lay_over(&mut object, patch);
    thief.hands("replace", &object)
}

fn lay_over(object: &mut Value, patch: &Value) {
    match patch.as_object() {
        Some(fields) => {
            for (name, value) in fields {
                lay_over(&mut object[name], value);
            }
        }
        None => *object = patch.clone(),
    }
}

#[test]
fn daemonsets_of_schedexts_are_the_managers_to_write() {
    let _alone = alone();
    let thief = ground();
    allowed(&thief.hands("create", &daemonset("mine", Some("mine"))));
    allowed(&change(
        &thief,
        "mine",
        &json!({"metadata": {"labels": {"a": "b"}}}),
    ));
    allowed(&change(
        &thief,
        "mine",
        &json!({"spec": {"minReadySeconds": 3}}),
    ));
    allowed(&thief.says(&["delete", "daemonset", "mine", "-n", THIEVES]));
}

#[test]
fn daemonsets_without_a_schedext_are_not() {
    let _alone = alone();
    let thief = ground();
    let written = "only DaemonSets whose controlling owner is a SchedExt";
    refused(&thief.hands("create", &daemonset("foreign", None)), written);
    let mut lax = daemonset("foreign", Some("mine"));
    lax["metadata"]["ownerReferences"][0]["controller"] = json!(false);
    refused(&thief.hands("create", &lax), written);
    let mut alike = daemonset("foreign", Some("mine"));
    alike["metadata"]["ownerReferences"][0]["apiVersion"] = json!("sked.example.com/v1");
    refused(&thief.hands("create", &alike), written);

    apply(&[daemonset("foreign", None)]);
    refused(
        &change(&thief, "foreign", &json!({"spec": {"minReadySeconds": 3}})),
        NOT_ITS_OWN,
    );
    let adopt = json!({"metadata": {"ownerReferences": [reference("mine")]}});
    refused(&change(&thief, "foreign", &adopt), NOT_ITS_OWN);
    refused(
        &thief.says(&["delete", "daemonset", "foreign", "-n", THIEVES]),
        NOT_ITS_OWN,
    );
    // Everybody else does as ever.
    must(&["delete", "daemonset", "foreign", "-n", THIEVES]);
}

#[test]
fn no_daemonset_changes_hands() {
    let _alone = alone();
    let thief = ground();
    allowed(&thief.hands("create", &daemonset("mine", Some("mine"))));
    let give = json!({"metadata": {"ownerReferences": [reference("yours")]}});
    refused(
        &change(&thief, "mine", &give),
        "may not give a DaemonSet to another SchedExt",
    );
    let free = json!({"metadata": {"ownerReferences": null}});
    refused(
        &change(&thief, "mine", &free),
        "whose controlling owner is a SchedExt",
    );
}

#[test]
fn the_status_is_the_managers_and_the_spec_is_not() {
    let _alone = alone();
    let thief = ground();
    let status = r#"{"status": {"observedGeneration": 1}}"#;
    let words = [
        "patch",
        "schedext",
        "mine",
        "-n",
        THIEVES,
        "--type=merge",
        "-p",
    ];
    allowed(&thief.says(&[&words[..], &[status, "--subresource=status"]].concat()));
    let spec = r#"{"spec": {"args": ["-v"]}}"#;
    refused(&thief.says(&[&words[..], &[spec]].concat()), "cannot patch");
}

/// A pod with these labels and a status as kubelet writes it.
fn pod(name: &str, labels: &Value) {
    apply(&[json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": THIEVES, "labels": labels},
        // A pod of no node would be gone as soon as it is deleted.
        "spec": {"nodeName": "pawn", "containers": [{"name": "scx", "image": "registry.example/scx_lab:1"}]},
    })]);
    let status = json!({"status": {"phase": "Running", "podIP": "10.0.0.1", "podIPs": [{"ip": "10.0.0.1"}], "conditions": [
        {"type": "ContainersReady", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"},
        {"type": "Ready", "status": "False", "lastTransitionTime": "2026-01-01T00:00:00Z"},
    ]}});
    let status = status.to_string();
    let words = ["patch", "pod", name, "-n", THIEVES, "--subresource=status"];
    must(&[&words[..], &["--type=merge", "-p", &status]].concat());
}

fn pod_status(thief: &Person, name: &str, kind: &str, patch: &Value) -> CommandOutput {
    let (kind, patch) = (format!("--type={kind}"), patch.to_string());
    let words = ["patch", "pod", name, "-n", THIEVES, "--subresource=status"];
    thief.says(&[&words[..], &[&kind, "-p", &patch]].concat())
}

fn condition(kind: &str, status: &str) -> Value {
    json!({"status": {"conditions": [{"type": kind, "status": status}]}})
}

/// The thief, and pods of a scheduler, of the same manager but no scheduler, and of somebody else.
fn ground_with_pods() -> Person {
    let thief = ground();
    let ours = json!({"managed-by": "sked-controller", "sked.schedkit.io/root-scheduler": "true"});
    pod("scheduler", &ours);
    pod("half", &json!({"managed-by": "sked-controller"}));
    pod("foreign", &json!({"app": "shop"}));
    eventually("the policy for pods is in force", || {
        let said = pod_status(&thief, "foreign", "strategic", &condition(GATE, "True"));
        said.stderr
            .contains("ValidatingAdmissionPolicy")
            .then_some(())
    });
    thief
}

const GATE: &str = "sked.schedkit.io/Attached";

#[test]
fn of_a_schedulers_pod_the_gate_is_the_managers() {
    let _alone = alone();
    let thief = ground_with_pods();
    for status in ["True", "False", "Unknown"] {
        let patch = condition(GATE, status);
        allowed(&pod_status(&thief, "scheduler", "strategic", &patch));
    }
    let pod = get(&["pod", "scheduler", "-n", THIEVES]);
    let conditions = pod["status"]["conditions"].as_array().unwrap();
    let gate = conditions.iter().find(|one| one["type"] == GATE).unwrap();
    assert_eq!(gate["status"], "Unknown");
    assert_eq!(conditions.len(), 3);
    // Also of one that is on its way out.
    let patience = "--grace-period=300";
    must(&[
        "delete",
        "pod",
        "scheduler",
        "-n",
        THIEVES,
        "--wait=false",
        patience,
    ]);
    allowed(&pod_status(
        &thief,
        "scheduler",
        "strategic",
        &condition(GATE, "False"),
    ));
    must(&[
        "delete",
        "pod",
        "scheduler",
        "-n",
        THIEVES,
        "--grace-period=0",
        "--force",
    ]);
}

#[test]
fn of_pods_nothing_else_is() {
    let _alone = alone();
    let thief = ground_with_pods();
    for name in ["half", "foreign"] {
        let said = pod_status(&thief, name, "strategic", &condition(GATE, "True"));
        refused(&said, "is not one of them");
    }
    let other = "no condition of a pod but \"sked.schedkit.io/Attached\"";
    for kind in ["Ready", "ContainersReady", "example.com/Mine"] {
        let said = pod_status(
            &thief,
            "scheduler",
            "strategic",
            &condition(kind, "Unknown"),
        );
        refused(&said, other);
    }
    let replaced = json!({"status": {"conditions": [{"type": GATE, "status": "True"}]}});
    refused(&pod_status(&thief, "scheduler", "merge", &replaced), other);
    let rest = "nothing of a pod's status but one condition";
    for status in [
        json!({"phase": "Failed"}),
        json!({"message": "evicted"}),
        json!({"podIP": "10.6.6.6", "podIPs": [{"ip": "10.6.6.6"}]}),
        json!({"podIP": null, "podIPs": null}),
        json!({"containerStatuses": [{"name": "scx", "image": "a", "imageID": "b", "ready": true, "restartCount": 0}]}),
    ] {
        let said = pod_status(&thief, "scheduler", "merge", &json!({"status": status}));
        refused(&said, rest);
    }
    let metadata = "labels, annotations or other metadata of a pod";
    for change in [
        json!({"annotations": {"a": "b"}}),
        json!({"labels": {"name": "other"}}),
        json!({"finalizers": ["example.com/held"]}),
    ] {
        let said = pod_status(&thief, "scheduler", "merge", &json!({"metadata": change}));
        if said.status == 0 {
            // The API server itself keeps some of it as it was.
            let pod = get(&["pod", "scheduler", "-n", THIEVES]);
            assert!(pod["metadata"]["finalizers"].is_null(), "{pod:#}");
        } else {
            refused(&said, metadata);
        }
    }
    let spec = r#"{"spec": {"containers": [{"name": "scx", "image": "evil"}]}}"#;
    let words = ["patch", "pod", "scheduler", "-n", THIEVES, "-p", spec];
    refused(&thief.says(&words), "cannot patch");
}

#[test]
fn rbac_gives_what_is_used_and_no_more() {
    let _alone = alone();
    let thief = ground();
    let can = |words: &[&str]| {
        thief
            .says(&[&["auth", "can-i", "-q"], words].concat())
            .status
            == 0
    };
    for words in [
        "list schedexts -A",
        "patch schedexts --subresource=status -A",
        "update schedexts --subresource=finalizers -A",
        "watch nodes",
        "watch pods -A",
        "patch pods --subresource=status -A",
        "watch schedextnodes",
        "create events.events.k8s.io -A",
        "create subjectaccessreviews.authorization.k8s.io",
        "create tokenreviews.authentication.k8s.io",
        "update leases.coordination.k8s.io/b4c95cb3.schedkit.io -n sked-system",
    ] {
        assert!(can(&words.split(' ').collect::<Vec<_>>()), "{words}");
    }
    for words in [
        "get secrets -A",
        "get configmaps -n sked-system",
        "create pods -A",
        "create pods --subresource=exec -A",
        "delete pods -A",
        "patch pods -A",
        "update pods --subresource=status -A",
        "get schedextnodes",
        "create schedextnodes",
        "patch schedextnodes --subresource=status",
        "create serviceaccounts --subresource=token -n sked-system",
        "update leases.coordination.k8s.io -n sked-system",
        "get leases.coordination.k8s.io -n kube-system",
        "create clusterrolebindings",
        "impersonate users",
        "prioritize schedexts",
        "create schedexts -A",
        "deletecollection daemonsets.apps -A",
        "delete nodes",
        "patch daemonsets.apps -A",
        "update nodes",
    ] {
        assert!(!can(&words.split(' ').collect::<Vec<_>>()), "{words}");
    }
}
