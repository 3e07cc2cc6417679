//! What counts and what does not.

use serde_json::{Value, json};

use super::*;

fn daemonset() -> Value {
    json!({
        "metadata": {
            "name": "one",
            "labels": {"managed-by": "sked-controller"},
            "ownerReferences": [{"kind": "SchedExt", "uid": "1", "controller": true}],
        },
        "spec": {
            "selector": {"matchLabels": {"name": "one"}},
            "template": {
                "metadata": {"labels": {"name": "one"}},
                "spec": {
                    "nodeSelector": {"gpu": ""},
                    "affinity": {"podAntiAffinity": {"term": {"namespaceSelector": {}}}},
                    "containers": [{
                        "name": "scx",
                        "image": "example.com:5000/one",
                        "args": ["--quiet", ""],
                        "resources": {"limits": {"cpu": "2"}},
                    }],
                },
            },
        },
    })
}

/// The DaemonSet with one value changed; `null` removes it.
fn with(pointer: &str, value: Value) -> Value {
    let mut changed = daemonset();
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    let parent = changed.pointer_mut(parent).unwrap();
    match parent {
        Value::Array(list) => list.push(value),
        parent => parent[key] = value,
    }
    changed
}

#[test]
fn fields_of_others_do_not_count() {
    let pod = "/spec/template/spec";
    let container = "/spec/template/spec/containers/0";
    for (pointer, value) in [
        ("/metadata/annotations", json!({"a": "b"})),
        ("/metadata/resourceVersion", json!("5")),
        ("/metadata/labels/team", json!("x")),
        ("/status", json!({"numberReady": 1})),
        ("/spec/revisionHistoryLimit", json!(10)),
        (
            "/spec/updateStrategy",
            json!({"type": "RollingUpdate", "rollingUpdate":
            {"maxSurge": 0, "maxUnavailable": 1}}),
        ),
        ("/spec/template/metadata/creationTimestamp", Value::Null),
        (
            "/spec/template/metadata/annotations",
            json!({"kubectl.kubernetes.io/restartedAt": "now"}),
        ),
        (&format!("{pod}/securityContext"), json!({})),
        (&format!("{pod}/volumes"), json!([])),
        (&format!("{pod}/dnsPolicy"), json!("ClusterFirst")),
        (&format!("{container}/imagePullPolicy"), json!("Always")),
        (&format!("{container}/resources/limits/cpu"), json!("2000m")),
        (
            &format!("{container}/terminationMessagePath"),
            json!("/dev/termination-log"),
        ),
    ] {
        let changed = with(pointer, value);
        assert_eq!(
            differences(&changed, &daemonset()),
            Vec::<String>::new(),
            "{pointer}"
        );
        assert_eq!(
            fingerprint(&changed),
            fingerprint(&daemonset()),
            "{pointer}"
        );
    }
}

#[test]
fn fields_added_or_removed_by_others_count() {
    let pod = "spec.template.spec";
    for (pointer, value, path) in [
        (
            "/metadata/labels/managed-by",
            json!("me"),
            "label".to_owned(),
        ),
        (
            "/metadata/ownerReferences",
            json!([]),
            "controller".to_owned(),
        ),
        (
            "/spec/minReadySeconds",
            json!(5),
            "spec.minReadySeconds".to_owned(),
        ),
        (
            "/spec/template/metadata/annotations",
            json!({"inject": "yes"}),
            "spec.template.metadata.annotations".to_owned(),
        ),
        (
            "/spec/template/spec/hostNetwork",
            json!(true),
            format!("{pod}.hostNetwork"),
        ),
        (
            "/spec/template/spec/nodeSelector/gpu",
            Value::Null,
            format!("{pod}.nodeSelector.gpu"),
        ),
        (
            "/spec/template/spec/nodeSelector",
            json!({}),
            format!("{pod}.nodeSelector"),
        ),
        (
            "/spec/template/spec/affinity/podAntiAffinity/term/namespaceSelector",
            Value::Null,
            format!("{pod}.affinity.podAntiAffinity.term.namespaceSelector"),
        ),
        (
            "/spec/template/spec/containers/1",
            json!({"name": "spy"}),
            format!("{pod}.containers[1]"),
        ),
        (
            "/spec/template/spec/containers/0/imagePullPolicy",
            json!("Never"),
            format!("{pod}.containers[0].imagePullPolicy"),
        ),
        (
            "/spec/template/spec/containers/0/args",
            json!(["--quiet"]),
            format!("{pod}.containers[0].args[1]"),
        ),
        (
            "/spec/template/spec/containers/0/resources/limits/cpu",
            json!("3"),
            format!("{pod}.containers[0].resources.limits.cpu"),
        ),
    ] {
        let changed = with(pointer, value);
        assert_eq!(differences(&changed, &daemonset()), vec![path], "{pointer}");
        assert_ne!(
            fingerprint(&changed),
            fingerprint(&daemonset()),
            "{pointer}"
        );
    }
}

#[test]
fn the_default_pull_policy_depends_on_the_image() {
    for (image, policy) in [
        ("one", "Always"),
        ("one:latest", "Always"),
        ("host:5000/one", "Always"),
        ("one:1", "IfNotPresent"),
        ("host:5000/one:1", "IfNotPresent"),
        ("one@sha256:00", "IfNotPresent"),
        ("one:latest@sha256:00", "Always"),
    ] {
        let is = |policy| defaults::is_pull_policy_of(Some(&json!(image)), &json!(policy));
        assert!(is(policy) && !is("Never"), "{image}");
    }
}
