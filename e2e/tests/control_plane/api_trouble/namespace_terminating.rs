//! Namespaces whose deletion does not finish because something in them may not be deleted: the
//! SchedExt itself, or something else.

use std::time::Duration;

use serde_json::{Value, json};
use testkit::{Cluster, KwokNodes};

/// Nobody may delete SchedExts in the namespace `doomed`, not even the namespace controller.
fn forbid_deletion(cluster: &Cluster) {
    let admission = "admissionregistration.k8s.io/v1";
    let rule = json!({
        "apiGroups": ["sked.schedkit.io"], "apiVersions": ["v1"], "resources": ["schedexts"],
        "operations": ["DELETE"],
    });
    let only_here = json!({"matchLabels": {"kubernetes.io/metadata.name": "doomed"}});
    cluster.apply(&json!({
        "apiVersion": admission, "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": "keep"},
        "spec": {
            "matchConstraints": {"resourceRules": [rule], "namespaceSelector": only_here},
            "validations": [{"expression": "false", "message": "SchedExts are kept"}],
        },
    }));
    cluster.apply(&json!({
        "apiVersion": admission, "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": "keep"},
        "spec": {"policyName": "keep", "validationActions": ["Deny"]},
    }));
}

#[test]
fn it_is_reported_the_manager_backs_off_and_the_namespace_can_go() {
    let cluster = testkit::control_plane();
    let nodes = KwokNodes::new(&cluster, "doomed", 1);
    let others = KwokNodes::new(&cluster, "safe", 1);
    let held = KwokNodes::new(&cluster, "held", 1);
    for namespace in ["doomed", "held", "safe"] {
        cluster.namespace(namespace);
    }
    cluster.apply(&json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"namespace": "held", "name": "stays", "finalizers": ["lab.schedkit.io/stays"]},
    }));
    let manager = cluster.ready_manager(&["--watch-namespaces=doomed,held,safe"]);
    cluster.schedext("doomed", "a", &nodes.selecting_spec());
    cluster.schedext("held", "a", &held.selecting_spec());
    cluster.schedext("safe", "a", &others.selecting_spec());
    manager.eventually("all DaemonSets are created", || {
        ["doomed", "held", "safe"].map(|namespace| cluster.get(namespace, "daemonset/a").is_some())
            == [true; 3]
    });
    forbid_deletion(&cluster);
    manager.eventually("the policy is in force", || {
        let probe = json!({"sched": "registry.example/a:1", "nodeSelector": {"in": "nowhere"}});
        cluster.schedext("doomed", "probe", &probe);
        let delete = ["delete", "schedexts", "probe", "--ignore-not-found"];
        !cluster.try_kubectl(&[&delete[..], &["-n", "doomed"]].concat())
    });
    cluster.kubectl(&["delete", "namespace", "doomed", "held", "--wait=false"]);
    manager.eventually("the condition is written", || {
        cluster.has_reason("doomed", "a", "Degraded", "NamespaceTerminating")
    });
    let message = cluster.condition("doomed", "a", "Degraded")["message"].to_string();
    assert!(message.contains("wait until it is gone"), "{message}");

    manager.eventually("where something else is kept, all of sked goes", || {
        let left = cluster.kubectl(&["get", "schedexts,daemonsets", "-n", "held", "-o", "name"]);
        left.is_empty()
    });

    let refused = || cluster.requests("POST", "daemonsets", Some(403));
    let status = || cluster.versions("doomed", &["schedext/a"]);
    let (refused_before, status_before) = (refused(), status());
    std::thread::sleep(Duration::from_secs(3));
    // Two SchedExts. Retried every 200 ms they would be refused 30 times; with a back-off, ten
    // times each takes minutes.
    let tried = refused() - refused_before;
    assert!(tried < 20, "{tried} times\n{}", manager.log());
    assert_eq!(status(), status_before);
    let mut other = others.selecting_spec();
    other["sched"] = json!("registry.example/a:2");
    cluster.schedext("safe", "a", &other);
    manager.eventually("the other one goes on", || {
        let image = "/spec/template/spec/containers/0/image";
        cluster.field("safe", "daemonset/a", image) == "registry.example/a:2"
    });

    let policy = "validatingadmissionpolicybinding,validatingadmissionpolicy";
    cluster.kubectl(&["delete", policy, "keep"]);
    let remove = r#"[{"op": "remove", "path": "/metadata/finalizers"}]"#;
    cluster.patch("held", "configmap/stays", remove);
    // The namespace controller tries again soon when a namespace changes.
    let retry = ["annotate", "namespace", "doomed", "held", "retry=now"];
    cluster.kubectl(&retry);
    for namespace in ["doomed", "held"] {
        let namespace = format!("namespace/{namespace}");
        manager.eventually("the namespace is gone", || {
            cluster.field("", &namespace, "/metadata/name") == Value::Null
        });
    }
    let before = refused();
    std::thread::sleep(Duration::from_secs(1));
    assert_eq!(refused(), before, "{}", manager.log());
    manager.stop();
}
