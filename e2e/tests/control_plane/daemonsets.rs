//! From a SchedExt to a DaemonSet and a status, and back again after whatever others do to them.

use std::time::Duration;

use serde_json::{Value, json};
use testkit::cluster::schedext;
use testkit::wait::TIMEOUT;
use testkit::{Cluster, KwokNodes, eventually};

const TEMPLATE: &str = "/spec/template/spec";

#[test]
fn a_schedext_becomes_a_daemonset_and_goes_with_it() {
    let cluster = testkit::control_plane();
    cluster.namespace("fingerprint");
    let manager = cluster.ready_manager(&["--watch-namespaces=fingerprint"]);
    cluster.schedext(
        "fingerprint",
        "rusty",
        &json!({"sched": "registry.example/scx_rusty:1"}),
    );
    manager.eventually("the status is written", || {
        cluster.field(
            "fingerprint",
            "schedext/rusty",
            "/status/observedGeneration",
        ) == 1
    });
    let ready = cluster.condition("fingerprint", "rusty", "Ready");
    assert_ne!(ready["status"], "True", "no kernel has reported: {ready}");
    let made = cluster.get("fingerprint", "daemonset/rusty").unwrap();
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

    cluster.schedext(
        "fingerprint",
        "rusty",
        &json!({"sched": "registry.example/scx_rusty:2"}),
    );
    manager.eventually("the image follows", || {
        let image = format!("{TEMPLATE}/containers/0/image");
        cluster.field("fingerprint", "daemonset/rusty", &image) == "registry.example/scx_rusty:2"
    });
    cluster.kubectl(&["delete", "-n", "fingerprint", "schedext/rusty"]);
    manager.eventually("the garbage collector deletes it", || {
        cluster.get("fingerprint", "daemonset/rusty").is_none()
    });
    manager.stop();
}

#[test]
fn changes_by_others_are_undone_and_a_restart_by_kubectl_stays() {
    let cluster = testkit::control_plane();
    cluster.namespace("drift");
    let manager = cluster.ready_manager(&["--watch-namespaces=drift"]);
    cluster.schedext("drift", "a", &json!({"sched": "registry.example/a:1"}));
    let path = |path: &str| cluster.field("drift", "daemonset/a", path);
    manager.eventually("the DaemonSet is created", || !path("/spec").is_null());
    let uid = path("/metadata/uid");
    for (patch, (pointer, expected)) in [
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
            r#"[{"op":"add","path":"/spec/template/spec/hostIPC","value":true}]"#,
            ("/spec/template/spec/hostIPC", Value::Null),
        ),
        (
            r#"[{"op":"remove","path":"/metadata/labels/managed-by"}]"#,
            ("/metadata/labels/managed-by", json!("sked-controller")),
        ),
    ] {
        cluster.patch("drift", "daemonset/a", patch);
        manager.eventually(patch, || path(pointer) == expected);
    }
    assert_eq!(
        path("/metadata/uid"),
        uid,
        "it was never deleted and created again"
    );

    cluster.kubectl(&["annotate", "-n", "drift", "daemonset/a", "other=stays"]);
    cluster.kubectl(&["rollout", "restart", "-n", "drift", "daemonset/a"]);
    let restarted = "/spec/template/metadata/annotations/kubectl.kubernetes.io~1restartedAt";
    let at = path(restarted);
    assert!(at.is_string());
    cluster.schedext("drift", "a", &json!({"sched": "registry.example/a:2"}));
    let image = "/spec/template/spec/containers/0/image";
    manager.eventually("the image follows", || {
        path(image) == "registry.example/a:2"
    });
    assert_eq!(path(restarted), at);
    assert_eq!(path("/metadata/annotations/other"), "stays");

    cluster.kubectl(&["delete", "-n", "drift", "daemonset/a"]);
    manager.eventually("it is created again", || {
        let now = path("/metadata/uid");
        now.is_string() && now != uid
    });
}

#[test]
fn a_daemonset_of_somebody_else_with_the_same_name_is_left_alone() {
    let cluster = testkit::control_plane();
    cluster.namespace("conflict");
    let foreign = json!({
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"namespace": "conflict", "name": "a"},
        "spec": {
            "selector": {"matchLabels": {"app": "foreign"}},
            "template": {
                "metadata": {"labels": {"app": "foreign"}},
                "spec": {"containers": [{"name": "c", "image": "foreign"}]},
            },
        },
    });
    cluster.apply(&foreign);
    let before = cluster.field("conflict", "daemonset/a", "/spec");
    let manager = cluster.ready_manager(&["--watch-namespaces=conflict"]);
    cluster.schedext("conflict", "a", &json!({"sched": "registry.example/a:1"}));
    manager.eventually("the conflict is reported", || {
        cluster.condition("conflict", "a", "Degraded")["reason"] == "NameConflict"
    });
    assert_eq!(cluster.field("conflict", "daemonset/a", "/spec"), before);
    let events = cluster.kubectl(&["get", "events", "-n", "conflict", "-o", "json"]);
    assert!(events.contains("NameConflict"), "{events}");
    cluster.kubectl(&["delete", "-n", "conflict", "daemonset/a"]);
    manager.eventually("the free name is used", || {
        cluster.field("conflict", "daemonset/a", "/metadata/labels/managed-by") == "sked-controller"
    });
    manager.eventually("the condition is over", || {
        cluster.condition("conflict", "a", "Degraded")["status"] == "False"
    });
}

#[test]
fn a_removed_pool_takes_its_daemonset_with_it() {
    let cluster = testkit::control_plane();
    cluster.namespace("pools");
    let manager = cluster.ready_manager(&["--watch-namespaces=pools"]);
    let pool = json!([{"name": "batch", "nodeSelector": {"pool": "batch"}, "args": ["--fast"]}]);
    cluster.schedext(
        "pools",
        "a",
        &json!({"sched": "registry.example/a:1", "pools": pool}),
    );
    manager.eventually("both are created", || {
        cluster.get("pools", "daemonset/a").is_some()
            && cluster.get("pools", "daemonset/a-batch").is_some()
    });
    let base = cluster.field("pools", "daemonset/a", "/metadata/generation");
    cluster.schedext("pools", "a", &json!({"sched": "registry.example/a:1"}));
    manager.eventually("the pool's is deleted", || {
        cluster.get("pools", "daemonset/a-batch").is_none()
    });
    assert_eq!(
        cluster.field("pools", "daemonset/a", "/metadata/generation"),
        base
    );
}

#[test]
fn a_restart_over_an_unchanged_cluster_writes_nothing() {
    let cluster = testkit::control_plane();
    cluster.namespace("restart");
    let nodes = KwokNodes::new(&cluster, "restart", 1);
    let manager = cluster.ready_manager(&["--watch-namespaces=restart"]);
    for name in ["a", "b"] {
        cluster.schedext("restart", name, &nodes.selecting_spec());
    }
    manager.eventually("one of the two has lost the node", || {
        ["a", "b"]
            .iter()
            .any(|name| cluster.condition("restart", name, "Conflicted")["status"] == "True")
    });
    let versions = || {
        let mut versions = Vec::new();
        for what in ["schedexts", "daemonsets", "events"] {
            let version = "jsonpath={.items[*].metadata.resourceVersion}";
            versions.push(cluster.kubectl(&["get", what, "-n", "restart", "-o", version]));
        }
        versions.push(format!("{:?}", nodes.owners()));
        versions
    };
    // The last writes are done when nothing changes for a while.
    let mut before = versions();
    manager.eventually("nothing changes any more", || {
        std::thread::sleep(Duration::from_secs(2));
        std::mem::replace(&mut before, versions()) == before
    });
    manager.stop();
    let before = versions();
    let again = cluster.ready_manager(&["--watch-namespaces=restart"]);
    std::thread::sleep(Duration::from_secs(2));
    assert_eq!(versions(), before, "{}", again.log());
    again.stop();
}

#[test]
fn a_schedext_that_cannot_be_parsed_is_reported_and_disturbs_no_other() {
    let cluster = testkit::control_plane();
    cluster.namespace("bad");
    let _schema = NoSchema::apply(&cluster);
    let manager = cluster.ready_manager(&["--watch-namespaces=bad"]);
    let bad = schedext("bad", "bad", &json!({"sched": 5, "args": "high"}));
    manager.eventually("the API server accepts anything", || {
        cluster.send(&["create", "-f", "-"], &bad).status.success()
    });
    cluster.schedext("bad", "good", &json!({"sched": "registry.example/a:1"}));
    manager.eventually("the good one gets its DaemonSet", || {
        cluster.get("bad", "daemonset/good").is_some()
    });
    manager.eventually("the bad one is reported", || {
        cluster.condition("bad", "bad", "Degraded")["reason"] == "InvalidSpec"
    });
    assert!(cluster.get("bad", "daemonset/bad").is_none());
    cluster.kubectl(&["delete", "-n", "bad", "schedext", "bad", "good"]);
}

/// The CRD without any schema, until it is dropped.
pub(crate) struct NoSchema<'a>(&'a Cluster);

impl<'a> NoSchema<'a> {
    pub(crate) fn apply(cluster: &'a Cluster) -> Self {
        let mut crd = serde_json::to_value(sked_api::crd::schedext().unwrap()).unwrap();
        crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = json!({
            "type": "object",
            "x-kubernetes-preserve-unknown-fields": true,
        });
        cluster.apply(&crd);
        Self(cluster)
    }
}

impl Drop for NoSchema<'_> {
    fn drop(&mut self) {
        self.0.install_crds();
        if std::thread::panicking() {
            return;
        }
        let bad = schedext("default", "bad", &json!({"sched": 5}));
        eventually("the schema is in force again", TIMEOUT, || {
            let create = ["create", "--dry-run=server", "-f", "-"];
            let rejected = !self.0.send(&create, &bad).status.success();
            rejected.then_some(())
        });
    }
}

#[test]
fn what_an_admission_policy_changes_in_our_daemonset_is_left_as_it_is() {
    let cluster = testkit::control_plane();
    cluster.namespace("mutated");
    let expression = r#"[JSONPatch{op: "add", path: "/spec/template/spec/hostIPC", value: true}]"#;
    let rule = json!({
        "apiGroups": ["apps"], "apiVersions": ["v1"], "resources": ["daemonsets"],
        "operations": ["CREATE", "UPDATE"],
    });
    let only_here = json!({"matchLabels": {"kubernetes.io/metadata.name": "mutated"}});
    cluster.apply(&json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "MutatingAdmissionPolicy",
        "metadata": {"name": "mutator"},
        "spec": {
            "matchConstraints": {"resourceRules": [rule], "namespaceSelector": only_here},
            "mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression": expression}}],
            "reinvocationPolicy": "Never",
            "failurePolicy": "Fail",
        },
    }));
    cluster.apply(&json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "MutatingAdmissionPolicyBinding",
        "metadata": {"name": "mutator"},
        "spec": {"policyName": "mutator"},
    }));
    let manager = cluster.ready_manager(&["--watch-namespaces=mutated"]);
    let mut round = 0;
    manager.eventually("the policy is in force", || {
        round += 1;
        let name = format!("a{round}");
        cluster.schedext("mutated", &name, &json!({"sched": "registry.example/a:1"}));
        let mutated = format!("{TEMPLATE}/hostIPC");
        let daemonset = format!("daemonset/{name}");
        manager.eventually("the DaemonSet is created", || {
            cluster.get("mutated", &daemonset).is_some()
        });
        cluster.field("mutated", &daemonset, &mutated) == true
    });
    let daemonset = format!("daemonset/a{round}");
    let logged = || manager.log().matches("it is not replaced again").count();
    manager.eventually("the manager gives up", || logged() > 0);
    let version = cluster.field("mutated", &daemonset, "/metadata/generation");
    std::thread::sleep(Duration::from_secs(2));
    assert_eq!(logged(), 1, "{}", manager.log());
    assert_eq!(
        cluster.field("mutated", &daemonset, "/metadata/generation"),
        version
    );
    let policy = "mutatingadmissionpolicybinding,mutatingadmissionpolicy";
    cluster.kubectl(&["delete", policy, "mutator"]);
}

/// A port of the host keeps a second scheduler off a node. Somebody else's pod may have it.
#[test]
fn a_pod_that_has_the_port_is_named() {
    let cluster = testkit::control_plane();
    cluster.namespace("port");
    let nodes = KwokNodes::new(&cluster, "port", 1);
    let manager = cluster.ready_manager(&["--watch-namespaces=port"]);
    let port = json!({"containerPort": 16180, "hostPort": 16180, "protocol": "UDP"});
    cluster.create(&json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"namespace": "port", "name": "holder"},
        "spec": {
            "nodeName": "port-0", "hostNetwork": true,
            "containers": [{"name": "c", "image": "registry.example/c:1", "ports": [port]}],
        },
    }));
    cluster.schedext("port", "a", &nodes.selecting_spec());
    let problem = || cluster.field("port", "schedext/a", "/status/problems/0");
    manager.eventually("the pod is named", || {
        let problem = problem();
        let message = problem["message"].as_str().unwrap_or_default();
        problem["reason"] == "PodPending" && message.contains("port/holder")
    });
    cluster.kubectl(&[
        "delete",
        "-n",
        "port",
        "pod/holder",
        "--force",
        "--grace-period=0",
    ]);
    manager.eventually("the node has its scheduler", || {
        cluster.field("port", "schedext/a", "/status/counts/unknown") == 1
    });
    manager.eventually("the problem is over", || problem().is_null());
    manager.stop();
}

#[test]
fn schedexts_in_namespaces_that_are_not_watched_are_ignored() {
    let cluster = testkit::control_plane();
    for namespace in ["one", "two", "elsewhere"] {
        cluster.namespace(namespace);
    }
    let nodes = KwokNodes::new(&cluster, "shared", 1);
    let manager = cluster.ready_manager(&["--watch-namespaces=one,two"]);
    let spec = nodes.selecting_spec();
    let mut better = spec.clone();
    better["priority"] = json!(9);
    cluster.schedext("elsewhere", "a", &better);
    cluster.schedext("one", "a", &spec);
    manager.eventually("the node is its own", || {
        cluster.field("one", "schedext/a", "/status/counts/desired") == 1
    });
    assert_eq!(
        cluster.condition("one", "a", "Conflicted")["status"],
        "False"
    );
    assert_eq!(nodes.owners(), [Value::Null]);
    // By now a watched one would have its DaemonSet, too.
    assert!(cluster.get("elsewhere", "daemonset/a").is_none());
    assert_eq!(
        cluster.field("elsewhere", "schedext/a", "/status"),
        Value::Null
    );
    // Among the watched ones priority decides.
    cluster.schedext("two", "a", &better);
    manager.eventually("the better one gets it", || {
        cluster.condition("one", "a", "Conflicted")["reason"] == "OwnedByOther"
    });
    manager.eventually("the node carries its label", || {
        nodes.owners()[0].is_string()
    });
    manager.stop();
}
