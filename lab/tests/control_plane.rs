//! A control plane without nodes: the ground for tests of the operator.

#![cfg(test)]

mod support;

use std::time::Duration;

use lab::{Event, Ground, Lab};
use support::{eventually, kubectl, order, up};

#[test]
fn two_labs_side_by_side_are_two_clusters() {
    let one = up(&order("test-control-one", Ground::ControlPlane, 0));
    let two = up(&order("test-control-two", Ground::ControlPlane, 0));
    let created = kubectl(&one, &["create", "namespace", "only-here"]);
    assert_eq!(created.status, 0, "{}", created.err);
    assert_eq!(kubectl(&one, &["get", "namespace", "only-here"]).status, 0);
    assert_ne!(kubectl(&two, &["get", "namespace", "only-here"]).status, 0);
    assert_ne!(one.running().registry, two.running().registry);
}

#[test]
fn the_controllers_and_the_verified_api_server_work() {
    let lab = up(&order("test-control", Ground::ControlPlane, 0));
    let version = kubectl(&lab, &["version", "-o", "json"]);
    let version: serde_json::Value = serde_json::from_str(&version.out).unwrap();
    assert_eq!(
        version["clientVersion"]["gitVersion"],
        version["serverVersion"]["gitVersion"]
    );
    eventually(
        "the controller manager makes a service account",
        Duration::from_secs(60),
        || (kubectl(&lab, &["get", "serviceaccount", "default"]).status == 0).then_some(()),
    );
    let config = std::fs::read_to_string(lab.running().kubeconfig.as_ref().unwrap()).unwrap();
    assert!(
        !config.contains("insecure"),
        "the API server's certificate is checked"
    );
}

#[test]
fn a_second_lab_prepares_nothing() {
    let order = order("test-control-again", Ground::ControlPlane, 0);
    drop(up(&order));
    let mut steps = Vec::new();
    let again = Lab::up(&order, |event| {
        if let Event::Started { what, .. } = event {
            steps.push(what.clone());
        }
    });
    again.unwrap();
    assert_eq!(
        steps,
        ["filling the registry", "starting the control plane"]
    );
}

#[test]
fn a_crowd_of_nodes_runs_pods_and_lets_go_of_them() {
    let mut order = order("test-crowd", Ground::ControlPlane, 0);
    order.crowd = true;
    let lab = up(&order);
    let (label, value) = lab::crowd::LABEL;
    let objects = serde_json::json!({"apiVersion": "v1", "kind": "List", "items": [
        {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "one", "labels": {label: value}}},
        {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "everywhere"}, "spec": {
            "selector": {"matchLabels": {"name": "everywhere"}},
            "template": {
                "metadata": {"labels": {"name": "everywhere"}},
                "spec": {"containers": [{"name": "nothing", "image": "nothing"}]},
            },
        }},
    ]});
    let file = lab.state().path("objects.json");
    std::fs::write(&file, objects.to_string()).unwrap();
    let applied = kubectl(&lab, &["apply", "-f", file.to_str().unwrap()]);
    assert_eq!(applied.status, 0, "{}", applied.err);
    let minute = Duration::from_secs(60);
    let pods = || kubectl(&lab, &["get", "pods", "--no-headers"]).out;
    eventually("the pod runs", minute, || {
        pods().contains("Running").then_some(())
    });
    kubectl(&lab, &["delete", "daemonset", "everywhere"]);
    eventually("the pod is gone", minute, || {
        pods().is_empty().then_some(())
    });
}
