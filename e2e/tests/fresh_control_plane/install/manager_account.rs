//! What the manager's account may do, tried by an attacker with its token.

use lab::CommandOutput;
use serde_json::{Value, json};

use testkit::Shared;

use super::fixture::{
    ATTACKED, MANAGER, Nodes, RightToGet, User, allowed, apply, eventually, get, installed,
    kubectl, must, rejected, schedext,
};

const NOT_ITS_OWN: &str = "only DaemonSets that a SchedExt controls";

/// A node, two SchedExts, the policies in force, and an attacker with the manager's token.
struct Fixture {
    attacker: User,
    _right: RightToGet,
    _nodes: Nodes,
    _cluster: Shared,
}

fn fixture() -> Fixture {
    let cluster = installed();
    let right = RightToGet::grant(MANAGER, "sked-system");
    let nodes = Nodes::new(&["pawn"], &json!({"pool": "a", "zone": "b"}));
    apply(&[
        schedext(ATTACKED, "mine", json!({})),
        schedext(ATTACKED, "yours", json!({})),
    ]);
    let attacker = User::holding_token_of(MANAGER, "sked-system");
    eventually("the policies for the manager are in force", || {
        let node = node(&attacker, &json!({"metadata": {"labels": {"pool": null}}}));
        let created = attacker.sends("create", &daemonset("probe", None));
        let rejected = |output: &CommandOutput| output.stderr.contains("ValidatingAdmissionPolicy");
        must(&["label", "node", "pawn", "pool=a", "--overwrite"]);
        must(&["delete", "daemonsets", "--all", "-n", ATTACKED]);
        (rejected(&node) && rejected(&created)).then_some(())
    });
    Fixture {
        attacker,
        _right: right,
        _nodes: nodes,
        _cluster: cluster,
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        let kinds = "schedexts,daemonsets";
        kubectl(&["delete", kinds, "--all", "-n", ATTACKED]);
        let pods = ["delete", "pods", "--all", "-n", ATTACKED];
        kubectl(&[&pods[..], &["--force", "--grace-period=0"]].concat());
    }
}

fn node(attacker: &User, patch: &Value) -> CommandOutput {
    let patch = patch.to_string();
    attacker.runs(&["patch", "node", "pawn", "--type=merge", "-p", &patch])
}

#[test]
fn the_account_of_the_manager_is_limited_to_what_it_uses() {
    let fixture = fixture();
    let attacker = &fixture.attacker;
    of_nodes_the_manager_writes_only_our_labels(attacker);
    of_nodes_the_manager_writes_nothing_else(attacker);
    the_manager_writes_daemonsets_of_schedexts(attacker);
    the_manager_does_not_write_daemonsets_without_a_schedext(attacker);
    no_daemonset_changes_its_owner(attacker);
    no_daemonset_outlives_its_schedext(attacker);
    the_manager_writes_the_status_and_not_the_spec(attacker);
    rbac_allows_what_is_used_and_no_more(attacker);
}

/// With config/verified/images: what a stolen token, or an older manager, would bring back.
#[test]
fn daemonsets_of_sked_name_digests() {
    let fixture = fixture();
    let attacker = &fixture.attacker;
    let tag = daemonset("tagged", Some("mine"));
    let mut digest = daemonset("pinned", Some("mine"));
    let pinned = format!("registry.example/scx_lab@sha256:{}", "1".repeat(64));
    digest["spec"]["template"]["spec"]["containers"][0]["image"] = json!(pinned);
    allowed(&attacker.sends("create", &tag));
    must(&["apply", "-k", "config/verified/images"]);
    let refused = "name images by digest";
    let mut other = daemonset("other", Some("mine"));
    eventually("the policy is in force", || {
        let created = attacker.sends("create", &other);
        kubectl(&["delete", "daemonset", "other", "-n", ATTACKED]);
        created.stderr.contains(refused).then_some(())
    });
    allowed(&attacker.sends("create", &digest));
    let to = |image: &str| {
        let container = json!({"name": "scx", "image": image});
        json!({"spec": {"template": {"spec": {"containers": [container]}}}})
    };
    let tag_again = "registry.example/scx_lab:2";
    rejected(&change(attacker, "pinned", &to(tag_again)), refused);
    // A digest of another length, and one after a space.
    for image in ["registry.example/x@sha256:11", &format!("x:1 {pinned}")] {
        rejected(&change(attacker, "pinned", &to(image)), refused);
    }
    other["spec"]["template"]["spec"]["initContainers"] =
        json!([{"name": "first", "image": tag_again}]);
    rejected(&attacker.sends("create", &other), refused);
    // What was there keeps its template, and can be touched.
    let touched = json!({"metadata": {"annotations": {"sked.schedkit.io/touched-at": "now"}}});
    allowed(&change(attacker, "tagged", &touched));
    must(&["delete", "-k", "config/verified/images"]);
}

/// With config/verified/pull-secrets: the Secrets of the namespaces that it was applied for, by name.
#[test]
fn pull_secrets_are_read_by_name_in_named_namespaces() {
    let fixture = fixture();
    let attacker = &fixture.attacker;
    let can = |verb: &str, namespace: &str| {
        let args = ["auth", "can-i", "-q", verb, "secrets", "-n", namespace];
        attacker.runs(&args).status == 0
    };
    assert!(!can("get", ATTACKED));
    let path = testkit::program::tree().join("config/verified/pull-secrets/namespace.yaml");
    let text = std::fs::read_to_string(path).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("namespace.yaml");
    std::fs::write(&file, text.replace("NAMESPACE", ATTACKED)).unwrap();
    let file = file.to_str().unwrap();
    must(&["apply", "-f", file]);
    eventually("the Role is in force", || {
        can("get", ATTACKED).then_some(())
    });
    for verb in ["list", "watch", "create", "update", "patch", "delete"] {
        assert!(!can(verb, ATTACKED), "{verb}");
    }
    for other in ["sked-system", "kube-system", "default"] {
        assert!(!can("get", other), "{other}");
    }
    must(&["delete", "-f", file]);
}

#[test]
fn of_pods_the_manager_writes_only_the_gate_of_schedulers() {
    let fixture = fixture_with_pods();
    of_pods_the_manager_writes_nothing_else(&fixture.attacker);
    of_a_schedulers_pod_the_manager_writes_the_gate(&fixture.attacker);
}

fn of_nodes_the_manager_writes_only_our_labels(attacker: &User) {
    let label = |key: &str, value: Value| json!({"metadata": {"labels": {key: value}}});
    let ours = "sked.schedkit.io/owner";
    allowed(&node(attacker, &label(ours, json!("abc"))));
    allowed(&node(attacker, &label(ours, json!("def"))));
    allowed(&node(attacker, &label(ours, Value::Null)));

    let refusal = "only those labels of a Node that begin with \"sked.schedkit.io/\"";
    for (key, value) in [
        ("new", json!("x")),
        ("pool", json!("x")),
        ("pool", Value::Null),
        ("sked.schedkit.io", json!("x")),
        ("node-role.kubernetes.io/control-plane", json!("")),
    ] {
        rejected(&node(attacker, &label(key, value)), refusal);
    }
    let both = json!({"metadata": {"labels": {ours: "abc", "pool": "x"}}});
    rejected(&node(attacker, &both), refusal);
    assert_eq!(
        get(&["node", "pawn"])["metadata"]["labels"][ours],
        Value::Null
    );
}

fn of_nodes_the_manager_writes_nothing_else(attacker: &User) {
    let spec = "may not change the spec of a Node";
    rejected(
        &node(attacker, &json!({"spec": {"unschedulable": true}})),
        spec,
    );
    let taint = json!({"key": "a", "value": "b", "effect": "NoExecute"});
    rejected(&node(attacker, &json!({"spec": {"taints": [taint]}})), spec);
    let rest = "may not change annotations, finalizers or owners";
    let owner = json!({"apiVersion": "v1", "kind": "Namespace", "name": "default", "uid": "0"});
    for metadata in [
        json!({"annotations": {"a": "b"}}),
        json!({"finalizers": ["example.com/held"]}),
        json!({"ownerReferences": [owner]}),
    ] {
        rejected(&node(attacker, &json!({"metadata": metadata})), rest);
    }
    rejected(&attacker.runs(&["delete", "node", "pawn"]), "cannot delete");
    let ready = r#"{"status":{"conditions":[{"type":"Ready","status":"True"}]}}"#;
    let status = ["patch", "node", "pawn", "--subresource=status", "-p", ready];
    rejected(&attacker.runs(&status), "nodes/status");
}

/// A DaemonSet as the manager creates it for the SchedExt of this name, or without an owner.
fn daemonset(name: &str, owner: Option<&str>) -> Value {
    let owners: Vec<_> = owner.map(reference).into_iter().collect();
    json!({
        "apiVersion": "apps/v1", "kind": "DaemonSet",
        "metadata": {"name": name, "namespace": ATTACKED, "ownerReferences": owners},
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
    let uid = get(&["schedext", owner, "-n", ATTACKED])["metadata"]["uid"].clone();
    json!({"apiVersion": "sked.schedkit.io/v1", "kind": "SchedExt", "name": owner, "uid": uid, "controller": true, "blockOwnerDeletion": true})
}

/// As the manager does it: reads the object, merges the patch and replaces it.
fn change(attacker: &User, name: &str, patch: &Value) -> CommandOutput {
    let mut object = get(&["daemonset", name, "-n", ATTACKED]);
    merge_into(&mut object, patch);
    attacker.sends("replace", &object)
}

fn merge_into(object: &mut Value, patch: &Value) {
    match patch.as_object() {
        Some(fields) => {
            for (name, value) in fields {
                merge_into(&mut object[name], value);
            }
        }
        None => *object = patch.clone(),
    }
}

fn the_manager_writes_daemonsets_of_schedexts(attacker: &User) {
    allowed(&attacker.sends("create", &daemonset("mine", Some("mine"))));
    allowed(&change(
        attacker,
        "mine",
        &json!({"metadata": {"labels": {"a": "b"}}}),
    ));
    allowed(&change(
        attacker,
        "mine",
        &json!({"spec": {"minReadySeconds": 3}}),
    ));
    allowed(&attacker.runs(&["delete", "daemonset", "mine", "-n", ATTACKED]));
}

fn the_manager_does_not_write_daemonsets_without_a_schedext(attacker: &User) {
    let written = "only DaemonSets whose controlling owner is a SchedExt";
    rejected(
        &attacker.sends("create", &daemonset("foreign", None)),
        written,
    );
    let mut lax = daemonset("foreign", Some("mine"));
    lax["metadata"]["ownerReferences"][0]["controller"] = json!(false);
    rejected(&attacker.sends("create", &lax), written);
    let mut alike = daemonset("foreign", Some("mine"));
    alike["metadata"]["ownerReferences"][0]["apiVersion"] = json!("sked.example.com/v1");
    rejected(&attacker.sends("create", &alike), written);

    apply(&[daemonset("foreign", None)]);
    rejected(
        &change(
            attacker,
            "foreign",
            &json!({"spec": {"minReadySeconds": 3}}),
        ),
        NOT_ITS_OWN,
    );
    let adopt = json!({"metadata": {"ownerReferences": [reference("mine")]}});
    rejected(&change(attacker, "foreign", &adopt), NOT_ITS_OWN);
    rejected(
        &attacker.runs(&["delete", "daemonset", "foreign", "-n", ATTACKED]),
        NOT_ITS_OWN,
    );
    // Other users are not limited.
    must(&["delete", "daemonset", "foreign", "-n", ATTACKED]);
}

fn no_daemonset_changes_its_owner(attacker: &User) {
    allowed(&attacker.sends("create", &daemonset("mine", Some("mine"))));
    let other = json!({"metadata": {"ownerReferences": [reference("yours")]}});
    rejected(
        &change(attacker, "mine", &other),
        "may not give a DaemonSet to another SchedExt",
    );
    let none = json!({"metadata": {"ownerReferences": null}});
    rejected(
        &change(attacker, "mine", &none),
        "whose controlling owner is a SchedExt",
    );
}

/// The garbage collector deletes a DaemonSet whose SchedExt does not exist, unless something keeps it.
fn no_daemonset_outlives_its_schedext(attacker: &User) {
    let kept = json!({"apiVersion": "v1", "kind": "Namespace", "name": ATTACKED, "uid": "0"});
    let mut lasting = daemonset("lasting", Some("mine"));
    lasting["metadata"]["ownerReferences"][0]["uid"] = json!("made-up");
    let owners = lasting["metadata"]["ownerReferences"].as_array_mut();
    owners.unwrap().push(kept.clone());
    rejected(
        &attacker.sends("create", &lasting),
        "whose one owner is a SchedExt",
    );
    let mut lasting = daemonset("lasting", Some("mine"));
    lasting["metadata"]["finalizers"] = json!(["example.com/keep"]);
    rejected(
        &attacker.sends("create", &lasting),
        "may not add finalizers",
    );

    // One that exists by now: see no_daemonset_changes_its_owner.
    let two = json!([reference("mine"), kept]);
    let owners = json!({"metadata": {"ownerReferences": two}});
    rejected(&change(attacker, "mine", &owners), "may not add owners");
    let finalizers = json!({"metadata": {"finalizers": ["example.com/keep"]}});
    rejected(
        &change(attacker, "mine", &finalizers),
        "may not add finalizers",
    );
    // What others added stays, and does not stop the manager.
    let mut shared = get(&["daemonset", "mine", "-n", ATTACKED]);
    merge_into(&mut shared, &finalizers);
    apply(&[shared]);
    allowed(&change(
        attacker,
        "mine",
        &json!({"spec": {"minReadySeconds": 4}}),
    ));
    let none = r#"[{"op": "remove", "path": "/metadata/finalizers"}]"#;
    must(&[
        "patch",
        "daemonset",
        "mine",
        "-n",
        ATTACKED,
        "--type=json",
        "-p",
        none,
    ]);
}

fn the_manager_writes_the_status_and_not_the_spec(attacker: &User) {
    let status = r#"{"status": {"observedGeneration": 1}}"#;
    let args = [
        "patch",
        "schedext",
        "mine",
        "-n",
        ATTACKED,
        "--type=merge",
        "-p",
    ];
    allowed(&attacker.runs(&[&args[..], &[status, "--subresource=status"]].concat()));
    let spec = r#"{"spec": {"args": ["-v"]}}"#;
    rejected(
        &attacker.runs(&[&args[..], &[spec]].concat()),
        "cannot patch",
    );
}

/// Creates a pod with these labels and a status as kubelet writes it.
fn pod(name: &str, labels: &Value) {
    apply(&[json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": ATTACKED, "labels": labels},
        // A pod without a node would be gone as soon as it is deleted.
        "spec": {"nodeName": "pawn", "containers": [{"name": "scx", "image": "registry.example/scx_lab:1"}]},
    })]);
    let status = json!({"status": {"phase": "Running", "podIP": "10.0.0.1", "podIPs": [{"ip": "10.0.0.1"}], "conditions": [
        {"type": "ContainersReady", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"},
        {"type": "Ready", "status": "False", "lastTransitionTime": "2026-01-01T00:00:00Z"},
    ]}});
    let status = status.to_string();
    let args = ["patch", "pod", name, "-n", ATTACKED, "--subresource=status"];
    must(&[&args[..], &["--type=merge", "-p", &status]].concat());
}

fn pod_status(attacker: &User, name: &str, kind: &str, patch: &Value) -> CommandOutput {
    let (kind, patch) = (format!("--type={kind}"), patch.to_string());
    let args = ["patch", "pod", name, "-n", ATTACKED, "--subresource=status"];
    attacker.runs(&[&args[..], &[&kind, "-p", &patch]].concat())
}

fn condition(kind: &str, status: &str) -> Value {
    json!({"status": {"conditions": [{"type": kind, "status": status}]}})
}

/// With pods of a scheduler, of the manager but no scheduler, and of somebody else.
fn fixture_with_pods() -> Fixture {
    let fixture = fixture();
    let ours = json!({"managed-by": "sked-controller", "sked.schedkit.io/root-scheduler": "true"});
    pod("scheduler", &ours);
    pod("half", &json!({"managed-by": "sked-controller"}));
    pod("foreign", &json!({"app": "shop"}));
    eventually("the policy for pods is in force", || {
        let written = pod_status(
            &fixture.attacker,
            "foreign",
            "strategic",
            &condition(GATE, "True"),
        );
        written
            .stderr
            .contains("ValidatingAdmissionPolicy")
            .then_some(())
    });
    fixture
}

const GATE: &str = "sked.schedkit.io/Attached";

fn of_a_schedulers_pod_the_manager_writes_the_gate(attacker: &User) {
    for status in ["True", "False", "Unknown"] {
        let patch = condition(GATE, status);
        allowed(&pod_status(attacker, "scheduler", "strategic", &patch));
    }
    let pod = get(&["pod", "scheduler", "-n", ATTACKED]);
    let conditions = pod["status"]["conditions"].as_array().unwrap();
    let gate = conditions.iter().find(|one| one["type"] == GATE).unwrap();
    assert_eq!(gate["status"], "Unknown");
    assert_eq!(conditions.len(), 3);
    // Also of a pod that is being deleted.
    let grace = "--grace-period=300";
    must(&[
        "delete",
        "pod",
        "scheduler",
        "-n",
        ATTACKED,
        "--wait=false",
        grace,
    ]);
    allowed(&pod_status(
        attacker,
        "scheduler",
        "strategic",
        &condition(GATE, "False"),
    ));
    must(&[
        "delete",
        "pod",
        "scheduler",
        "-n",
        ATTACKED,
        "--grace-period=0",
        "--force",
    ]);
}

fn of_pods_the_manager_writes_nothing_else(attacker: &User) {
    for name in ["half", "foreign"] {
        let written = pod_status(attacker, name, "strategic", &condition(GATE, "True"));
        rejected(&written, "is not one of them");
    }
    let other = "no condition of a pod but \"sked.schedkit.io/Attached\"";
    for kind in ["Ready", "ContainersReady", "example.com/Mine"] {
        let written = pod_status(
            attacker,
            "scheduler",
            "strategic",
            &condition(kind, "Unknown"),
        );
        rejected(&written, other);
    }
    let replaced = json!({"status": {"conditions": [{"type": GATE, "status": "True"}]}});
    rejected(
        &pod_status(attacker, "scheduler", "merge", &replaced),
        other,
    );
    let rest = "nothing of a pod's status but one condition";
    for status in [
        json!({"phase": "Failed"}),
        json!({"message": "evicted"}),
        json!({"podIP": "10.6.6.6", "podIPs": [{"ip": "10.6.6.6"}]}),
        json!({"podIP": null, "podIPs": null}),
        json!({"containerStatuses": [{"name": "scx", "image": "a", "imageID": "b", "ready": true, "restartCount": 0}]}),
    ] {
        let written = pod_status(attacker, "scheduler", "merge", &json!({"status": status}));
        rejected(&written, rest);
    }
    let metadata = "labels, annotations or other metadata of a pod";
    for change in [
        json!({"annotations": {"a": "b"}}),
        json!({"labels": {"name": "other"}}),
        json!({"finalizers": ["example.com/held"]}),
    ] {
        let written = pod_status(attacker, "scheduler", "merge", &json!({"metadata": change}));
        if written.status == 0 {
            // The API server itself leaves some of it unchanged.
            let pod = get(&["pod", "scheduler", "-n", ATTACKED]);
            assert!(pod["metadata"]["finalizers"].is_null(), "{pod:#}");
        } else {
            rejected(&written, metadata);
        }
    }
    let spec = r#"{"spec": {"containers": [{"name": "scx", "image": "evil"}]}}"#;
    let args = ["patch", "pod", "scheduler", "-n", ATTACKED, "-p", spec];
    rejected(&attacker.runs(&args), "cannot patch");
}

fn rbac_allows_what_is_used_and_no_more(attacker: &User) {
    let can = |args: &[&str]| {
        attacker
            .runs(&[&["auth", "can-i", "-q"], args].concat())
            .status
            == 0
    };
    for args in [
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
        assert!(can(&args.split(' ').collect::<Vec<_>>()), "{args}");
    }
    for args in [
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
        assert!(!can(&args.split(' ').collect::<Vec<_>>()), "{args}");
    }
}
