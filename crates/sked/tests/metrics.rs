//! Who gets the metrics: the cluster's own users, roles and tokens decide.

#![cfg(test)]

mod support;

use serde_json::json;
use support::Cluster;

async fn ask(port: &str, token: Option<&str>) -> (u16, String) {
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
    let cluster = Cluster::up("test-sked-metrics");
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
    let manager = cluster.ready_manager(&["--metrics-bind-address=127.0.0.1:18443"]);
    cluster.schedext("default", "a", json!({"sched": "a:1"}));
    manager.eventually("it is made", || {
        cluster.get("default", "daemonset/a").is_some()
    });

    assert_eq!(ask("18443", None).await.0, 401);
    assert_eq!(ask("18443", Some("made-up")).await.0, 401);
    assert_eq!(ask("18443", Some(&token("other"))).await.0, 403);
    let (status, text) = ask("18443", Some(&token("reader"))).await;
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
    assert_eq!(manager.probe("healthz"), Some(200));
    manager.stop();
}
