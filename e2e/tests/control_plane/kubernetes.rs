//! The control plane itself: the lab's API server, controllers and kwok do what these tests rely on.

use serde_json::{Value, json};
use testkit::wait::TIMEOUT;
use testkit::{KwokNodes, eventually};

#[test]
fn the_api_server_is_verified_and_the_controllers_work() {
    let cluster = testkit::control_plane();
    let version = cluster.kubectl(&["version", "-o", "json"]);
    let version: Value = serde_json::from_str(&version).unwrap();
    assert_eq!(
        version["clientVersion"]["gitVersion"],
        version["serverVersion"]["gitVersion"]
    );
    cluster.namespace("controllers");
    eventually("the namespace has a service account", TIMEOUT, || {
        cluster.get("controllers", "serviceaccount/default")
    });
    let config = std::fs::read_to_string(cluster.admin_kubeconfig()).unwrap();
    assert!(
        !config.contains("insecure"),
        "the API server's certificate is checked"
    );
}

#[test]
fn kwok_nodes_run_pods_and_delete_them() {
    let cluster = testkit::control_plane();
    let _nodes = KwokNodes::new(&cluster, "kwok", 1);
    cluster.namespace("kwok");
    cluster.create(&json!({
        "apiVersion": "apps/v1", "kind": "DaemonSet",
        "metadata": {"name": "everywhere", "namespace": "kwok"},
        "spec": {
            "selector": {"matchLabels": {"name": "everywhere"}},
            "template": {
                "metadata": {"labels": {"name": "everywhere"}},
                "spec": {"containers": [{"name": "nothing", "image": "nothing"}]},
            },
        },
    }));
    let phases = || {
        let pods = cluster.list(&["pods", "-n", "kwok"]);
        let phases = pods.iter().map(|pod| pod["status"]["phase"].clone());
        phases.collect::<Vec<_>>()
    };
    eventually("the pod runs", TIMEOUT, || {
        (phases() == ["Running"]).then_some(())
    });
    cluster.kubectl(&["delete", "-n", "kwok", "daemonset", "everywhere"]);
    eventually("the pod is gone", TIMEOUT, || {
        phases().is_empty().then_some(())
    });
}
