//! Namespaces that are being deleted and do not get there, because something in them may not go: the
//! SchedExt itself, or something else.

use std::time::Duration;

use serde_json::{Value, json};

use crate::ground::{CLUSTER, Nodes, condition, requests, says, versions};

/// Nobody deletes SchedExts in the namespace `doomed`, not even the controller of namespaces.
fn keep_schedexts() {
    let admission = "admissionregistration.k8s.io/v1";
    let rule = json!({
        "apiGroups": ["sked.schedkit.io"], "apiVersions": ["v1"], "resources": ["schedexts"],
        "operations": ["DELETE"],
    });
    let only_here = json!({"matchLabels": {"kubernetes.io/metadata.name": "doomed"}});
    CLUSTER.apply(&json!({
        "apiVersion": admission, "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": "keep"},
        "spec": {
            "matchConstraints": {"resourceRules": [rule], "namespaceSelector": only_here},
            "validations": [{"expression": "false", "message": "they are kept"}],
        },
    }));
    CLUSTER.apply(&json!({
        "apiVersion": admission, "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": "keep"},
        "spec": {"policyName": "keep", "validationActions": ["Deny"]},
    }));
}

#[test]
fn it_is_said_tried_ever_more_rarely_and_the_namespace_can_go() {
    let nodes = Nodes::new("doomed", 1);
    let others = Nodes::new("safe", 1);
    let held = Nodes::new("held", 1);
    for namespace in ["doomed", "held", "safe"] {
        CLUSTER.namespace(namespace);
    }
    CLUSTER.apply(&json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"namespace": "held", "name": "stays", "finalizers": ["lab.schedkit.io/stays"]},
    }));
    let manager = CLUSTER.ready_manager(&["--watch-namespaces=doomed,held,safe"]);
    CLUSTER.schedext("doomed", "a", &nodes.wanted());
    CLUSTER.schedext("held", "a", &held.wanted());
    CLUSTER.schedext("safe", "a", &others.wanted());
    manager.eventually("all are made", || {
        ["doomed", "held", "safe"].map(|namespace| CLUSTER.get(namespace, "daemonset/a").is_some())
            == [true; 3]
    });
    keep_schedexts();
    manager.eventually("SchedExts are kept", || {
        let probe = json!({"sched": "registry.example/a:1", "nodeSelector": {"in": "nowhere"}});
        CLUSTER.schedext("doomed", "probe", &probe);
        let words = [
            "delete",
            "schedexts",
            "probe",
            "-n",
            "doomed",
            "--ignore-not-found",
        ];
        !CLUSTER.try_kubectl(&words)
    });
    CLUSTER.kubectl(&["delete", "namespace", "doomed", "held", "--wait=false"]);
    manager.eventually("it is said", || {
        says("doomed", "a", "Degraded", "NamespaceTerminating")
    });
    let message = condition("doomed", "a", "Degraded")["message"].to_string();
    assert!(message.contains("wait until it is gone"), "{message}");

    manager.eventually("where something else holds it up, all of ours goes", || {
        let left = CLUSTER.kubectl(&["get", "schedexts,daemonsets", "-n", "held", "-o", "name"]);
        left.is_empty()
    });

    let refused = || requests("POST", "daemonsets", Some(403));
    let (before, said) = (refused(), versions("doomed", &["schedext/a"]));
    std::thread::sleep(Duration::from_secs(5));
    let tried = refused() - before;
    assert!(
        tried < 10,
        "{tried} times in five seconds\n{}",
        manager.log()
    );
    assert_eq!(versions("doomed", &["schedext/a"]), said);
    let mut other = others.wanted();
    other["sched"] = json!("registry.example/a:2");
    CLUSTER.schedext("safe", "a", &other);
    manager.eventually("the other one goes on", || {
        let image = "/spec/template/spec/containers/0/image";
        CLUSTER.look("safe", "daemonset/a", image) == "registry.example/a:2"
    });

    CLUSTER.kubectl(&["delete", "validatingadmissionpolicybinding", "keep"]);
    CLUSTER.patch(
        "held",
        "configmap/stays",
        r#"[{"op": "remove", "path": "/metadata/finalizers"}]"#,
    );
    for namespace in ["doomed", "held"] {
        let namespace = format!("namespace/{namespace}");
        manager.eventually("the namespace goes", || {
            CLUSTER.look("", &namespace, "/metadata/name") == Value::Null
        });
    }
    let before = refused();
    std::thread::sleep(Duration::from_secs(2));
    assert_eq!(refused(), before, "{}", manager.log());
    manager.stop();
}
