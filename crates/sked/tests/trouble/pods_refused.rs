//! The cluster takes the DaemonSet and refuses its pods: by a quota, by Pod Security.

use serde_json::{Value, json};

use crate::ground::{CLUSTER, Nodes, condition, says, versions};

/// How often the DaemonSet controller has said that it cannot make a pod.
fn refusals(namespace: &str) -> u64 {
    events(namespace, "reason=FailedCreate")
        .iter()
        .map(|event| event["count"].as_u64().unwrap_or(1))
        .sum()
}

fn events(namespace: &str, selector: &str) -> Vec<Value> {
    let selector = format!("--field-selector={selector}");
    let events = CLUSTER.kubectl(&["get", "events", "-n", namespace, &selector, "-o", "json"]);
    let events: Value = serde_json::from_str(&events).unwrap();
    events["items"].as_array().cloned().unwrap()
}

#[test]
fn it_is_said_why_once_and_until_it_is_over() {
    let nodes = Nodes::new("refused", 2);
    let others = Nodes::new("welcome", 1);
    for namespace in ["quota", "restricted", "welcome"] {
        CLUSTER.namespace(namespace);
    }
    CLUSTER.apply(&json!({
        "apiVersion": "v1", "kind": "ResourceQuota",
        "metadata": {"namespace": "quota", "name": "no-pods"},
        "spec": {"hard": {"pods": "0"}},
    }));
    let enforce = "pod-security.kubernetes.io/enforce";
    let restricted = format!("{enforce}=restricted");
    CLUSTER.kubectl(&["label", "namespace", "restricted", &restricted]);
    let manager = CLUSTER.ready_manager(&["--watch-namespaces=quota,restricted,welcome"]);
    manager.eventually("the quota is in force", || {
        CLUSTER.look("quota", "resourcequota/no-pods", "/status/hard/pods") == "0"
    });
    // Contested nodes would go to one of the two only, so each has one of its own.
    for (namespace, node) in [("quota", "refused-0"), ("restricted", "refused-1")] {
        let mut spec = nodes.wanted();
        spec["nodeSelector"] = json!({"kubernetes.io/hostname": node});
        CLUSTER.schedext(namespace, "a", &spec);
    }
    CLUSTER.schedext("welcome", "a", &others.wanted());

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
        let degraded = || condition(namespace, "a", "Degraded");
        manager.eventually("it is said", || degraded()["reason"] == "PodsRefused");
        manager.eventually("with cause and remedy", || {
            let message = degraded()["message"].to_string();
            message.contains(cause) && message.contains(remedy)
        });
        let problem = CLUSTER.look(namespace, "schedext/a", "/status/problems/0/reason");
        assert_eq!(problem, "PodsRefused");
        assert_eq!(condition(namespace, "a", "Ready")["status"], "False");
    }
    manager.eventually("the other one has its pod", || {
        CLUSTER.look("welcome", "daemonset/a", "/status/currentNumberScheduled") == 1
    });
    assert_eq!(condition("welcome", "a", "Degraded")["status"], "False");

    // Each attempt of the DaemonSet controller is for a pod of another name.
    let said = || ["quota", "restricted"].map(|namespace| versions(namespace, &["schedext/a"]));
    let before = said();
    let attempts = ["quota", "restricted"].map(refusals);
    manager.eventually("it is tried again and again", || {
        ["quota", "restricted"].map(refusals)[0] > attempts[0] + 1
            && ["quota", "restricted"].map(refusals)[1] > attempts[1] + 1
    });
    std::thread::sleep(std::time::Duration::from_secs(1));
    assert_eq!(said(), before, "nothing new is said");
    for namespace in ["quota", "restricted"] {
        let told = events(namespace, "reason=PodsRefused,involvedObject.kind=SchedExt");
        assert_eq!(told.len(), 1, "{told:?}");
    }

    CLUSTER.kubectl(&["delete", "-n", "quota", "resourcequota/no-pods"]);
    CLUSTER.kubectl(&["label", "namespace", "restricted", &format!("{enforce}-")]);
    for namespace in ["quota", "restricted"] {
        manager.eventually("it is over", || {
            says(namespace, "a", "Degraded", "AsExpected")
        });
        let problems = CLUSTER.look(namespace, "schedext/a", "/status/problems");
        assert_eq!(problems, Value::Null);
    }
    manager.stop();
}

#[test]
fn a_quota_on_daemonsets_is_told_and_what_others_have_goes_on() {
    let nodes = Nodes::new("few", 1);
    CLUSTER.namespace("few");
    let manager = CLUSTER.ready_manager(&["--watch-namespaces=few"]);
    CLUSTER.schedext("few", "first", &nodes.wanted());
    manager.eventually("the first is made", || {
        CLUSTER.get("few", "daemonset/first").is_some()
    });
    CLUSTER.apply(&json!({
        "apiVersion": "v1", "kind": "ResourceQuota",
        "metadata": {"namespace": "few", "name": "one"},
        "spec": {"hard": {"count/daemonsets.apps": "1"}},
    }));
    manager.eventually("the quota is in force", || {
        let used = CLUSTER.look("few", "resourcequota/one", "/status/used");
        used["count/daemonsets.apps"] == "1"
    });
    let second = json!({"sched": "registry.example/a:1", "nodeSelector": {"in": "nowhere"}});
    CLUSTER.schedext("few", "second", &second);
    manager.eventually("it is said", || {
        says("few", "second", "Degraded", "QuotaExceeded")
    });
    let message = condition("few", "second", "Degraded")["message"].to_string();
    assert!(
        message.contains("raise the quota of DaemonSets"),
        "{message}"
    );
    assert_eq!(condition("few", "first", "Degraded")["status"], "False");
    CLUSTER.kubectl(&["delete", "-n", "few", "resourcequota/one"]);
    manager.eventually("it is made", || {
        CLUSTER.get("few", "daemonset/second").is_some()
    });
    manager.eventually("it is over", || {
        says("few", "second", "Degraded", "AsExpected")
    });
    manager.stop();
}
