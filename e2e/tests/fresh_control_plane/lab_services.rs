//! The lab's own services: stopped, started, ended by themselves; and a second lab beside the first.

use std::sync::OnceLock;

use lab::{Event, Lab, LabSpec, StopSignal, Topology};
use rustix::process::{Pid, Signal, kill_process};
use testkit::program::labs;
use testkit::wait::TIMEOUT;
use testkit::{Cluster, eventually};

/// The control plane whose services these tests stop; each starts again what it stopped.
fn cluster() -> &'static Cluster {
    static CLUSTER: OnceLock<Cluster> = OnceLock::new();
    CLUSTER.get_or_init(|| Cluster::bare("e2e-services"))
}

#[test]
fn a_second_lab_prepares_nothing_and_is_another_cluster() {
    let one = cluster();
    let spec = LabSpec::new("e2e-second", Topology::ControlPlane, &labs());
    let mut steps = Vec::new();
    let two = Lab::up(&spec, |event| {
        if let Event::Started { what, .. } = event {
            steps.push(what.clone());
        }
    });
    let two = two.unwrap_or_else(|error| panic!("{}", lab::error_chain(&error)));
    assert_eq!(
        steps,
        ["filling the registry", "starting the control plane"]
    );
    one.kubectl(&["create", "namespace", "only-here"]);
    let there = two.kubectl().unwrap();
    let in_two = |mut kubectl: std::process::Command| {
        let asked = kubectl.args(["get", "namespaces", "-o", "name"]).output();
        String::from_utf8(asked.unwrap().stdout).unwrap()
    };
    let namespaces = in_two(there);
    assert!(namespaces.contains("namespace/default"), "{namespaces}");
    assert!(!namespaces.contains("namespace/only-here"), "{namespaces}");
    assert_ne!(one.registry(), two.running().registry);
    one.kubectl(&["delete", "namespace", "only-here", "--wait=false"]);
}

/// Only kube-scheduler gets SIGTERM here: an API server waits a minute for its watches then, which
/// the suite long_faults does.
#[test]
fn an_api_server_that_was_stopped_comes_back_with_all_it_knew() {
    let cluster = cluster();
    let lab = cluster.lab();
    let log = supervisor_log(lab);
    await_service_account(cluster, "default");
    cluster.kubectl(&["create", "namespace", "before"]);
    lab.stop_service("kube-scheduler", StopSignal::Term)
        .unwrap();
    lab.stop_service("kube-apiserver", StopSignal::Kill)
        .unwrap();
    let get = ["--request-timeout=20s", "get", "namespace", "before"];
    assert!(!cluster.try_kubectl(&get), "it is gone");
    lab.start_service("kube-apiserver").unwrap();
    lab.start_service("kube-scheduler").unwrap();
    cluster.kubectl(&get);
    // The controllers are the same processes and go on. Their watches reconnect after a backoff of
    // up to a minute.
    cluster.kubectl(&["create", "namespace", "after"]);
    await_service_account(cluster, "after");
    assert_eq!(log(), "", "nothing ended by itself");

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
    cluster.kubectl(&["delete", "namespace", "before", "after", "--wait=false"]);
}

/// The controller manager makes one for every namespace.
fn await_service_account(cluster: &Cluster, namespace: &str) {
    eventually("a service account is made", TIMEOUT, || {
        cluster.get(namespace, "serviceaccount/default")
    });
}

#[test]
fn a_service_that_ends_by_itself_is_logged_and_can_be_started() {
    let lab = cluster().lab();
    let log = supervisor_log(lab);
    let config = lab.state().path("scheduler.kubeconfig");
    let pids = || -> Vec<i32> {
        let all = std::fs::read_dir("/proc").unwrap().flatten();
        let numbers = all.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let is_scheduler = |pid: &i32| {
            let argv = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            let argv = String::from_utf8_lossy(&argv).into_owned();
            argv.contains("kube-scheduler") && argv.contains(config.to_str().unwrap())
        };
        numbers.filter(is_scheduler).collect()
    };
    let [pid] = pids()[..] else {
        panic!("{:?}", pids());
    };
    kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
    eventually("its end is logged", TIMEOUT, || {
        log()
            .contains("kube-scheduler ended with signal: 9")
            .then_some(())
    });
    assert_eq!(pids(), Vec::<i32>::new(), "the lab does not start it again");
    lab.start_service("kube-scheduler").unwrap();
    assert_eq!(pids().len(), 1);
}

/// What the supervisor logs from now on: the file may have lines of earlier labs.
fn supervisor_log(lab: &Lab) -> impl Fn() -> String {
    let path = lab.state().path("supervisor.log");
    let read = move || std::fs::read_to_string(&path).unwrap();
    let old = read().len();
    move || read()[old..].to_owned()
}
