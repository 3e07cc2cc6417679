//! Who gets the metrics, and what probes say: a manager as the cluster around it sees it.

#![cfg(test)]

mod support;

use serde_json::json;
use support::{Cluster, free_port};

async fn ask(port: u16, token: Option<&str>) -> (u16, String) {
    let client = reqwest::Client::builder().danger_accept_invalid_certs(true);
    let client = client.build().unwrap();
    let mut request = client.get(format!("https://127.0.0.1:{port}/metrics"));
    if let Some(token) = token {
        request = request.bearer_auth(token);
    }
    let answer = request.send().await.unwrap();
    (answer.status().as_u16(), answer.text().await.unwrap())
}

#[tokio::test]
async fn a_reader_sees_the_metrics_and_nobody_else_does() {
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    let cluster = Cluster::bare("test-sked-metrics");
    cluster.apply(&json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": "reader"},
        "rules": [{"nonResourceURLs": ["/metrics"], "verbs": ["get"]}],
    }));
    for account in ["reader", "other"] {
        cluster.kubectl(&["create", "serviceaccount", account]);
    }
    cluster.kubectl(&[
        "create",
        "clusterrolebinding",
        "reader",
        "--clusterrole=reader",
        "--serviceaccount=default:reader",
    ]);
    let token = |account: &str| {
        cluster
            .kubectl(&["create", "token", account])
            .trim()
            .to_owned()
    };
    let port = free_port();
    let manager = cluster.manager(&[&format!("--metrics-bind-address=127.0.0.1:{port}")]);
    manager.eventually("it says what is missing", || {
        manager.log().contains("install the CRD")
    });
    assert_eq!(manager.probe("readyz"), Some(503));
    assert_eq!(manager.probe("healthz"), Some(200));
    assert_eq!(manager.log().matches("install the CRD").count(), 1, "once");
    cluster.install();
    manager.eventually("it is ready", || manager.probe("readyz") == Some(200));
    cluster.schedext("default", "a", &json!({"sched": "a:1"}));
    manager.eventually("it is made", || {
        cluster.get("default", "daemonset/a").is_some()
    });

    assert_eq!(ask(port, None).await.0, 401);
    assert_eq!(ask(port, Some("made-up")).await.0, 401);
    assert_eq!(ask(port, Some(&token("other"))).await.0, 403);
    let (status, text) = ask(port, Some(&token("reader"))).await;
    assert_eq!(status, 200);
    for name in [
        "controller_runtime_reconcile_total{controller=\"schedext\",result=\"success\"}",
        "controller_runtime_reconcile_time_seconds_bucket",
        "workqueue_depth{name=\"schedext\"",
        "sked_schedexts{state=",
        "sked_nodes{state=",
    ] {
        assert!(text.contains(name), "{name} in\n{text}");
    }
    manager.stop();
}
