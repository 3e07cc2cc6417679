//! The API server accepts the DaemonSet and rejects its pods: by a quota, by Pod Security.

use serde_json::{Value, json};
use testkit::{Cluster, KwokNodes};

/// How often the DaemonSet controller failed to create a pod.
fn refusals(cluster: &Cluster, namespace: &str) -> u64 {
    events(cluster, namespace, "reason=FailedCreate")
        .iter()
        .map(|event| event["count"].as_u64().unwrap_or(1))
        .sum()
}

fn events(cluster: &Cluster, namespace: &str, selector: &str) -> Vec<Value> {
    let selector = format!("--field-selector={selector}");
    cluster.list(&["events", "-n", namespace, &selector])
}

#[test]
fn the_reason_is_reported_once_and_until_it_is_over() {
    let cluster = testkit::control_plane();
    let nodes = KwokNodes::new(&cluster, "refused", 2);
    let others = KwokNodes::new(&cluster, "welcome", 1);
    for namespace in ["quota", "restricted", "welcome"] {
        cluster.namespace(namespace);
    }
    cluster.apply(&json!({
        "apiVersion": "v1", "kind": "ResourceQuota",
        "metadata": {"namespace": "quota", "name": "no-pods"},
        "spec": {"hard": {"pods": "0"}},
    }));
    let enforce = "pod-security.kubernetes.io/enforce";
    let restricted = format!("{enforce}=restricted");
    cluster.kubectl(&["label", "namespace", "restricted", &restricted]);
    let manager = cluster.ready_manager(&["--watch-namespaces=quota,restricted,welcome"]);
    manager.eventually("the quota is in force", || {
        cluster.field("quota", "resourcequota/no-pods", "/status/hard/pods") == "0"
    });
    // Only one SchedExt gets a contested node, so each selects one of its own.
    for (namespace, node) in [("quota", "refused-0"), ("restricted", "refused-1")] {
        let mut spec = nodes.selecting_spec();
        spec["nodeSelector"] = json!({"kubernetes.io/hostname": node});
        cluster.schedext(namespace, "a", &spec);
    }
    cluster.schedext("welcome", "a", &others.selecting_spec());

    for (namespace, cause, remedy) in [
        (
            "quota",
            "exceeded quota: no-pods",
            "raise the quota of the namespace quota",
        ),
        (
            "restricted",
            "violates PodSecurity",
            "label the namespace restricted pod-security.kubernetes.io/enforce=privileged",
        ),
    ] {
        let degraded = || cluster.condition(namespace, "a", "Degraded");
        manager.eventually("the condition is written", || {
            degraded()["reason"] == "PodsRefused"
        });
        manager.eventually("with cause and remedy", || {
            let message = degraded()["message"].to_string();
            message.contains(cause) && message.contains(remedy)
        });
        let problem = cluster.field(namespace, "schedext/a", "/status/problems/0/reason");
        assert_eq!(problem, "PodsRefused");
        assert_eq!(
            cluster.condition(namespace, "a", "Ready")["status"],
            "False"
        );
    }
    manager.eventually("the other one has its pod", || {
        cluster.field("welcome", "daemonset/a", "/status/currentNumberScheduled") == 1
    });
    manager.eventually("the other one is as expected", || {
        cluster.has_reason("welcome", "a", "Degraded", "AsExpected")
    });

    // Each attempt of the DaemonSet controller is for a pod of another name.
    let both = ["quota", "restricted"];
    let statuses = || both.map(|namespace| cluster.versions(namespace, &["schedext/a"]));
    let before = statuses();
    let attempts = both.map(|namespace| refusals(&cluster, namespace));
    manager.eventually("the DaemonSet controller tries again", || {
        let now = both.map(|namespace| refusals(&cluster, namespace));
        now[0] > attempts[0] && now[1] > attempts[1]
    });
    std::thread::sleep(std::time::Duration::from_secs(1));
    assert_eq!(statuses(), before, "nothing new is written");
    for namespace in both {
        let ours = "reason=PodsRefused,involvedObject.kind=SchedExt";
        let ours = events(&cluster, namespace, ours);
        assert_eq!(ours.len(), 1, "{ours:?}");
    }

    cluster.kubectl(&["delete", "-n", "quota", "resourcequota/no-pods"]);
    cluster.kubectl(&["label", "namespace", "restricted", &format!("{enforce}-")]);
    for namespace in both {
        manager.eventually("the condition is over", || {
            cluster.has_reason(namespace, "a", "Degraded", "AsExpected")
        });
        let problems = cluster.field(namespace, "schedext/a", "/status/problems");
        assert_eq!(problems, Value::Null);
    }
    manager.stop();
}

#[test]
fn a_quota_on_daemonsets_is_reported_and_existing_ones_go_on() {
    let cluster = testkit::control_plane();
    let nodes = KwokNodes::new(&cluster, "few", 1);
    cluster.namespace("few");
    let manager = cluster.ready_manager(&["--watch-namespaces=few"]);
    cluster.schedext("few", "first", &nodes.selecting_spec());
    manager.eventually("the first is created", || {
        cluster.get("few", "daemonset/first").is_some()
    });
    cluster.apply(&json!({
        "apiVersion": "v1", "kind": "ResourceQuota",
        "metadata": {"namespace": "few", "name": "one"},
        "spec": {"hard": {"count/daemonsets.apps": "1"}},
    }));
    manager.eventually("the quota is in force", || {
        let used = cluster.field("few", "resourcequota/one", "/status/used");
        used["count/daemonsets.apps"] == "1"
    });
    let second = json!({"sched": "registry.example/a:1", "nodeSelector": {"in": "nowhere"}});
    cluster.schedext("few", "second", &second);
    manager.eventually("the condition is written", || {
        cluster.has_reason("few", "second", "Degraded", "QuotaExceeded")
    });
    let message = cluster.condition("few", "second", "Degraded")["message"].to_string();
    assert!(
        message.contains("raise the quota of DaemonSets"),
        "{message}"
    );
    manager.eventually("the first is as expected", || {
        cluster.has_reason("few", "first", "Degraded", "AsExpected")
    });
    cluster.kubectl(&["delete", "-n", "few", "resourcequota/one"]);
    manager.eventually("the second is created", || {
        cluster.get("few", "daemonset/second").is_some()
    });
    manager.eventually("the condition is over", || {
        cluster.has_reason("few", "second", "Degraded", "AsExpected")
    });
    manager.stop();
}
