//! The manager on a real API server with real controllers: from a SchedExt to a DaemonSet and a
//! status, and back again after whatever others do to them.
//!
//! Green does not prove that a scheduler runs anywhere: there is no kubelet here.

#![cfg(test)]

mod support;

use std::sync::LazyLock;

use serde_json::{Value, json};
use support::Cluster;

static CLUSTER: LazyLock<Cluster> = LazyLock::new(|| Cluster::up("test-sked"));

const TEMPLATE: &str = "/spec/template/spec";

fn condition(namespace: &str, name: &str, kind: &str) -> Value {
    let conditions = CLUSTER.look(namespace, &format!("schedext/{name}"), "/status/conditions");
    let conditions = conditions.as_array().cloned().unwrap_or_default();
    let found = conditions
        .into_iter()
        .find(|condition| condition["type"] == kind);
    found.unwrap_or_default()
}

#[test]
fn a_schedext_becomes_a_daemonset_and_goes_with_it() {
    CLUSTER.namespace("shape");
    let manager = CLUSTER.ready_manager(&["--watch-namespaces=shape"]);
    CLUSTER.schedext(
        "shape",
        "rusty",
        &json!({"sched": "registry.example/scx_rusty:1"}),
    );
    manager.eventually("the status is there", || {
        CLUSTER.look("shape", "schedext/rusty", "/status/observedGeneration") == 1
    });
    let ready = condition("shape", "rusty", "Ready");
    assert_ne!(ready["status"], "True", "no kernel has said so: {ready}");
    let made = CLUSTER.get("shape", "daemonset/rusty").unwrap();
    assert_eq!(made["metadata"]["labels"]["managed-by"], "sked-controller");
    let owner = &made["metadata"]["ownerReferences"][0];
    assert_eq!(
        (&owner["kind"], &owner["controller"]),
        (&json!("SchedExt"), &json!(true))
    );
    assert_eq!(
        made["spec"]["selector"],
        json!({"matchLabels": {"name": "rusty"}})
    );
    let pod = &made["spec"]["template"];
    assert_eq!(pod["metadata"]["labels"]["name"], "rusty");
    assert_eq!(pod["metadata"]["labels"]["managed-by"], "sked-controller");
    let containers = pod["spec"]["containers"].as_array().unwrap();
    assert_eq!(containers.len(), 1);
    assert_eq!(containers[0]["name"], "scx");
    assert_eq!(containers[0]["image"], "registry.example/scx_rusty:1");
    assert_eq!(containers[0]["securityContext"]["privileged"], true);
    assert!(pod["spec"]["initContainers"].is_null());

    CLUSTER.schedext(
        "shape",
        "rusty",
        &json!({"sched": "registry.example/scx_rusty:2"}),
    );
    manager.eventually("the image follows", || {
        let image = format!("{TEMPLATE}/containers/0/image");
        CLUSTER.look("shape", "daemonset/rusty", &image) == "registry.example/scx_rusty:2"
    });
    CLUSTER.kubectl(&["delete", "-n", "shape", "schedext/rusty"]);
    manager.eventually("the garbage collector takes it", || {
        CLUSTER.get("shape", "daemonset/rusty").is_none()
    });
    manager.stop();
}

#[test]
fn whatever_others_do_is_put_right_and_a_restart_by_kubectl_stays() {
    CLUSTER.namespace("drift");
    let manager = CLUSTER.ready_manager(&["--watch-namespaces=drift"]);
    CLUSTER.schedext("drift", "a", &json!({"sched": "registry.example/a:1"}));
    let path = |path: &str| CLUSTER.look("drift", "daemonset/a", path);
    manager.eventually("it is made", || !path("/spec").is_null());
    let uid = path("/metadata/uid");
    for (patch, put_right) in [
        (
            r#"[{"op":"replace","path":"/spec/template/spec/containers/0/image","value":"evil"}]"#,
            (
                "/spec/template/spec/containers/0/image",
                json!("registry.example/a:1"),
            ),
        ),
        (
            r#"[{"op":"add","path":"/spec/template/spec/containers/1","value":{"name":"b","image":"b"}}]"#,
            ("/spec/template/spec/containers/1", Value::Null),
        ),
        (
            r#"[{"op":"add","path":"/spec/template/spec/hostNetwork","value":true}]"#,
            ("/spec/template/spec/hostNetwork", Value::Null),
        ),
        (
            r#"[{"op":"remove","path":"/metadata/labels/managed-by"}]"#,
            ("/metadata/labels/managed-by", json!("sked-controller")),
        ),
    ] {
        CLUSTER.patch("drift", "daemonset/a", patch);
        manager.eventually(patch, || path(put_right.0) == put_right.1);
    }
    assert_eq!(
        path("/metadata/uid"),
        uid,
        "it was never replaced by another"
    );

    CLUSTER.kubectl(&["annotate", "-n", "drift", "daemonset/a", "theirs=stays"]);
    CLUSTER.kubectl(&["rollout", "restart", "-n", "drift", "daemonset/a"]);
    let restarted = "/spec/template/metadata/annotations/kubectl.kubernetes.io~1restartedAt";
    let at = path(restarted);
    assert!(at.is_string());
    CLUSTER.schedext("drift", "a", &json!({"sched": "registry.example/a:2"}));
    let image = "/spec/template/spec/containers/0/image";
    manager.eventually("the image follows", || {
        path(image) == "registry.example/a:2"
    });
    assert_eq!(path(restarted), at);
    assert_eq!(path("/metadata/annotations/theirs"), "stays");

    CLUSTER.kubectl(&["delete", "-n", "drift", "daemonset/a"]);
    manager.eventually("it is made again", || {
        let now = path("/metadata/uid");
        now.is_string() && now != uid
    });
}

#[test]
fn a_name_that_somebody_else_has_is_left_alone() {
    CLUSTER.namespace("taken");
    let theirs = json!({
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"namespace": "taken", "name": "a"},
        "spec": {
            "selector": {"matchLabels": {"app": "theirs"}},
            "template": {
                "metadata": {"labels": {"app": "theirs"}},
                "spec": {"containers": [{"name": "c", "image": "theirs"}]},
            },
        },
    });
    CLUSTER.apply(&theirs);
    let before = CLUSTER.look("taken", "daemonset/a", "/spec");
    let manager = CLUSTER.ready_manager(&["--watch-namespaces=taken"]);
    CLUSTER.schedext("taken", "a", &json!({"sched": "registry.example/a:1"}));
    manager.eventually("the conflict is said", || {
        condition("taken", "a", "Degraded")["reason"] == "NameConflict"
    });
    assert_eq!(CLUSTER.look("taken", "daemonset/a", "/spec"), before);
    let events = CLUSTER.kubectl(&["get", "events", "-n", "taken", "-o", "json"]);
    assert!(events.contains("NameConflict"), "{events}");
    CLUSTER.kubectl(&["delete", "-n", "taken", "daemonset/a"]);
    manager.eventually("the name is free and used", || {
        CLUSTER.look("taken", "daemonset/a", "/metadata/labels/managed-by") == "sked-controller"
    });
    manager.eventually("the status says so", || {
        condition("taken", "a", "Degraded")["status"] == "False"
    });
}

#[test]
fn a_pool_that_is_gone_takes_its_daemonset_with_it() {
    CLUSTER.namespace("pools");
    let manager = CLUSTER.ready_manager(&["--watch-namespaces=pools"]);
    let pool = json!([{"name": "batch", "nodeSelector": {"pool": "batch"}, "args": ["--fast"]}]);
    CLUSTER.schedext(
        "pools",
        "a",
        &json!({"sched": "registry.example/a:1", "pools": pool}),
    );
    manager.eventually("both are made", || {
        CLUSTER.get("pools", "daemonset/a").is_some()
            && CLUSTER.get("pools", "daemonset/a-batch").is_some()
    });
    let base = CLUSTER.look("pools", "daemonset/a", "/metadata/generation");
    CLUSTER.schedext("pools", "a", &json!({"sched": "registry.example/a:1"}));
    manager.eventually("the pool's is gone", || {
        CLUSTER.get("pools", "daemonset/a-batch").is_none()
    });
    assert_eq!(
        CLUSTER.look("pools", "daemonset/a", "/metadata/generation"),
        base
    );
}

#[test]
fn a_restart_over_an_unchanged_cluster_writes_nothing() {
    CLUSTER.namespace("restart");
    CLUSTER.node(
        "restart-1",
        &json!({"kubernetes.io/hostname": "restart-1", "in": "restart"}),
    );
    let manager = CLUSTER.ready_manager(&["--watch-namespaces=restart"]);
    for name in ["a", "b"] {
        let spec = json!({"sched": "registry.example/a:1", "nodeSelector": {"in": "restart"}});
        CLUSTER.schedext("restart", name, &spec);
    }
    manager.eventually("one of the two has lost the node", || {
        ["a", "b"]
            .iter()
            .any(|name| condition("restart", name, "Conflicted")["status"] == "True")
    });
    let versions = || {
        let mut versions = Vec::new();
        for what in ["schedexts", "daemonsets", "events"] {
            let words = [
                "get",
                what,
                "-n",
                "restart",
                "-o",
                "jsonpath={.items[*].metadata.resourceVersion}",
            ];
            versions.push(CLUSTER.kubectl(&words));
        }
        let label = "/metadata/labels/sked.schedkit.io~1owner";
        versions.push(CLUSTER.look("restart", "node/restart-1", label).to_string());
        versions
    };
    // The last writes have settled when nothing changes for a while.
    let mut before = versions();
    manager.eventually("it settles", || {
        std::thread::sleep(std::time::Duration::from_secs(3));
        std::mem::replace(&mut before, versions()) == before
    });
    manager.stop();
    let before = versions();
    let again = CLUSTER.ready_manager(&["--watch-namespaces=restart"]);
    std::thread::sleep(std::time::Duration::from_secs(3));
    assert_eq!(versions(), before, "{}", again.log());
    again.stop();
}

#[test]
fn one_that_cannot_be_read_is_told_and_disturbs_nobody() {
    CLUSTER.namespace("bad");
    let crd = serde_json::to_value(sked_api::crd::schedext().unwrap()).unwrap();
    // The CRD of somebody who trusts everybody.
    let mut lax = crd.clone();
    lax["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = json!({
        "type": "object",
        "x-kubernetes-preserve-unknown-fields": true,
    });
    CLUSTER.apply(&lax);
    let manager = CLUSTER.ready_manager(&["--watch-namespaces=bad"]);
    manager.eventually("the API server takes anything", || {
        CLUSTER.schedext("bad", "bad", &json!({"sched": 5, "priority": "high"}));
        true
    });
    CLUSTER.schedext("bad", "good", &json!({"sched": "registry.example/a:1"}));
    manager.eventually("the good one is made", || {
        CLUSTER.get("bad", "daemonset/good").is_some()
    });
    manager.eventually("the bad one is told", || {
        condition("bad", "bad", "Degraded")["reason"] == "InvalidSpec"
    });
    assert!(CLUSTER.get("bad", "daemonset/bad").is_none());
    CLUSTER.kubectl(&["delete", "-n", "bad", "schedext", "bad", "good"]);
    CLUSTER.apply(&crd);
}

#[test]
fn what_a_policy_makes_of_our_daemonset_is_no_reason_to_fight() {
    CLUSTER.namespace("mutated");
    let expression = r#"[JSONPatch{op: "add", path: "/spec/template/spec/hostIPC", value: true}]"#;
    let rule = json!({
        "apiGroups": ["apps"], "apiVersions": ["v1"], "resources": ["daemonsets"],
        "operations": ["CREATE", "UPDATE"],
    });
    let only_here = json!({"matchLabels": {"kubernetes.io/metadata.name": "mutated"}});
    CLUSTER.apply(&json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "MutatingAdmissionPolicy",
        "metadata": {"name": "meddler"},
        "spec": {
            "matchConstraints": {"resourceRules": [rule], "namespaceSelector": only_here},
            "mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression": expression}}],
            "reinvocationPolicy": "Never",
            "failurePolicy": "Fail",
        },
    }));
    CLUSTER.apply(&json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "MutatingAdmissionPolicyBinding",
        "metadata": {"name": "meddler"},
        "spec": {"policyName": "meddler"},
    }));
    let manager = CLUSTER.ready_manager(&["--watch-namespaces=mutated"]);
    let mut round = 0;
    manager.eventually("the policy is at work", || {
        round += 1;
        let name = format!("a{round}");
        CLUSTER.schedext("mutated", &name, &json!({"sched": "registry.example/a:1"}));
        let meddled = format!("{TEMPLATE}/hostIPC");
        let daemonset = format!("daemonset/{name}");
        manager.eventually("it is made", || {
            CLUSTER.get("mutated", &daemonset).is_some()
        });
        CLUSTER.look("mutated", &daemonset, &meddled) == true
    });
    let daemonset = format!("daemonset/a{round}");
    std::thread::sleep(std::time::Duration::from_secs(2));
    let version = CLUSTER.look("mutated", &daemonset, "/metadata/generation");
    let said = manager.log().matches("it is not replaced again").count();
    assert_eq!(said, 1, "{}", manager.log());
    std::thread::sleep(std::time::Duration::from_secs(2));
    assert_eq!(
        CLUSTER.look("mutated", &daemonset, "/metadata/generation"),
        version
    );
    CLUSTER.kubectl(&["delete", "mutatingadmissionpolicybinding", "meddler"]);
}

#[test]
fn other_namespaces_than_those_watched_are_as_if_they_were_not_there() {
    for namespace in ["one", "two", "elsewhere"] {
        CLUSTER.namespace(namespace);
    }
    CLUSTER.node(
        "shared-1",
        &json!({"kubernetes.io/hostname": "shared-1", "in": "shared"}),
    );
    let manager = CLUSTER.ready_manager(&["--watch-namespaces=one,two"]);
    let wanted = json!({"sched": "registry.example/a:1", "nodeSelector": {"in": "shared"}});
    let mut better = wanted.clone();
    better["priority"] = json!(9);
    CLUSTER.schedext("elsewhere", "a", &better);
    CLUSTER.schedext("one", "a", &wanted);
    manager.eventually("it has the node", || {
        CLUSTER.look("one", "schedext/a", "/status/counts/desired") == 1
    });
    assert_eq!(condition("one", "a", "Conflicted")["status"], "False");
    let label = "/metadata/labels/sked.schedkit.io~1owner";
    assert_eq!(CLUSTER.look("", "node/shared-1", label), Value::Null);
    // By now one that was looked after would have been made, too.
    assert!(CLUSTER.get("elsewhere", "daemonset/a").is_none());
    assert_eq!(
        CLUSTER.look("elsewhere", "schedext/a", "/status"),
        Value::Null
    );
    // Among those that are watched it is settled as ever.
    CLUSTER.schedext("two", "a", &better);
    manager.eventually("the better one gets it", || {
        condition("one", "a", "Conflicted")["reason"] == "OwnedByOther"
    });
    manager.eventually("which the node says", || {
        CLUSTER.look("", "node/shared-1", label).is_string()
    });
    manager.stop();
}
