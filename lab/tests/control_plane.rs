//! A control plane without nodes: the ground for tests of the operator.

#![cfg(test)]

mod support;

use std::time::Duration;

use lab::{Event, Lab, StopSignal, Topology};
use rustix::process::{Pid, Signal, kill_process};
use support::{eventually, kubectl, order, up};

#[test]
fn two_labs_side_by_side_are_two_clusters() {
    let one = up(&order("test-control-one", Topology::ControlPlane, 0));
    let two = up(&order("test-control-two", Topology::ControlPlane, 0));
    let created = kubectl(&one, &["create", "namespace", "only-here"]);
    assert_eq!(created.status, 0, "{}", created.stderr);
    assert_eq!(kubectl(&one, &["get", "namespace", "only-here"]).status, 0);
    assert_ne!(kubectl(&two, &["get", "namespace", "only-here"]).status, 0);
    assert_ne!(one.running().registry, two.running().registry);
}

#[test]
fn the_controllers_and_the_verified_api_server_work() {
    let lab = up(&order("test-control", Topology::ControlPlane, 0));
    let version = kubectl(&lab, &["version", "-o", "json"]);
    let version: serde_json::Value = serde_json::from_str(&version.stdout).unwrap();
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
    let order = order("test-control-again", Topology::ControlPlane, 0);
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
    let mut order = order("test-crowd", Topology::ControlPlane, 0);
    order.kwok = true;
    let lab = up(&order);
    let (label, value) = lab::kwok::LABEL;
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
    assert_eq!(applied.status, 0, "{}", applied.stderr);
    let minute = Duration::from_secs(60);
    let pods = || kubectl(&lab, &["get", "pods", "--no-headers"]).stdout;
    eventually("the pod runs", minute, || {
        pods().contains("Running").then_some(())
    });
    kubectl(&lab, &["delete", "daemonset", "everywhere"]);
    eventually("the pod is gone", minute, || {
        pods().is_empty().then_some(())
    });
}

#[test]
fn an_api_server_that_was_stopped_comes_back_with_all_it_knew() {
    let lab = up(&order("test-control-stop", Topology::ControlPlane, 0));
    let log = log_of(&lab);
    let asked = |words: &[&str]| kubectl(&lab, &[&["--request-timeout=20s"], words].concat());
    let minute = Duration::from_secs(60);
    let account = |namespace: &str| {
        // A controller manager gives up when nobody answers at its start; later it does not.
        eventually("a service account is made", minute, || {
            let words = ["get", "serviceaccount", "-n", namespace, "default"];
            (asked(&words).status == 0).then_some(())
        });
    };
    account("default");
    for (name, ending) in [("asked", StopSignal::Term), ("killed", StopSignal::Kill)] {
        assert_eq!(asked(&["create", "namespace", name]).status, 0);
        lab.stop_service("kube-apiserver", ending).unwrap();
        assert_ne!(asked(&["get", "namespace", name]).status, 0, "it is gone");
        lab.start_service("kube-apiserver").unwrap();
        let there = asked(&["get", "namespace", name]);
        assert_eq!(there.status, 0, "{}", there.stderr);
    }
    // The controllers are the same ones and go on.
    assert_eq!(asked(&["create", "namespace", "after"]).status, 0);
    account("after");
    assert_eq!(log(), "", "nothing ended unasked");

    let error = lab.start_service("kube-apiserver").unwrap_err().to_string();
    assert_eq!(error, "cannot start kube-apiserver: it runs");
    let error = lab.stop_service("kubelet", StopSignal::Term).unwrap_err();
    let error = error.to_string();
    assert!(
        error.contains("no service \"kubelet\": it has registry, etcd"),
        "{error}"
    );

    let found = Lab::find(lab.state().clone()).unwrap();
    let error = found.start_service("etcd").unwrap_err().to_string();
    assert!(error.contains("brought up by somebody else"), "{error}");
}

#[test]
fn a_service_that_ends_by_itself_is_noted_and_can_be_started() {
    let lab = up(&order("test-control-ends", Topology::ControlPlane, 0));
    let log = log_of(&lab);
    let config = lab.state().path("scheduler.kubeconfig");
    let pids = || -> Vec<i32> {
        let all = std::fs::read_dir("/proc").unwrap().flatten();
        let numbers = all.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let ours = |pid: &i32| {
            let words = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            let words = String::from_utf8_lossy(&words).into_owned();
            words.contains("kube-scheduler") && words.contains(config.to_str().unwrap())
        };
        numbers.filter(ours).collect()
    };
    let [pid] = pids()[..] else {
        panic!("{:?}", pids());
    };
    kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
    eventually("it is noted", Duration::from_secs(60), || {
        log()
            .contains("kube-scheduler ended with signal: 9")
            .then_some(())
    });
    assert_eq!(pids(), Vec::<i32>::new(), "nobody mends it unasked");
    lab.start_service("kube-scheduler").unwrap();
    assert_eq!(pids().len(), 1);
}

/// What the keeper says from now on: its log may hold the words of earlier ones.
fn log_of(lab: &Lab) -> impl Fn() -> String {
    let path = lab.state().path("supervisor.log");
    let read = move || std::fs::read_to_string(&path).unwrap();
    let old = read().len();
    move || read()[old..].to_owned()
}
