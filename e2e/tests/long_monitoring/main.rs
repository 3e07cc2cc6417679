//! The alerts and the dashboard on a real Prometheus that scrapes a real cluster: every query of
//! the dashboard has a result, and every alert about the nodes' kernels fires when the kernels
//! report the fault. The alerts' `for` is cut short here; that it is long enough is tested with
//! `promtool`.
//!
//! Proves nothing about Grafana, which does not run here: its variables are filled in by hand.

#![cfg(test)]

mod dashboard;
mod prometheus;

use lab::spec::DEFAULT_KERNEL;
use prometheus::Prometheus;
use serde_json::json;
use testkit::node_cluster::{SCX_LAB, SKED_NAMESPACE, SYSRQ, spec};
use testkit::{NodeCluster, program};

/// A series of Debian's whose kernels have no sched_ext.
const WITHOUT_SCHED_EXT: &str = "6.12";
/// The kernel ejects it five seconds after it was attached, because it runs nothing any more.
const STALLS: [&str; 8] = [
    "--name",
    "stall",
    "--fault",
    "stall",
    "--timeout",
    "2s",
    "--after",
    "5s",
];
/// The labels of alerts about the SchedExt of these tests.
const LAB: &str = r#"namespace="default",schedext="lab""#;

#[test]
fn every_query_has_a_result_and_every_fault_its_alert() {
    let cluster = NodeCluster::up("long-monitoring", DEFAULT_KERNEL, 2, &program::sked());
    cluster.deploy();
    cluster.apply_schedext("lab", &spec(&[]));
    cluster.await_attached("lab", 2);
    let prometheus = Prometheus::start(&cluster);
    assert_eq!(
        prometheus.firing(),
        Vec::<String>::new(),
        "nothing is wrong"
    );

    ejected_once(&cluster, &prometheus);
    // After the manager had work: a histogram without a sample has no quantile.
    for query in dashboard::queries() {
        cluster.until(&format!("{query} has a result"), || {
            prometheus.has(&query).then_some(())
        });
    }
    ejected_again_and_again(&cluster, &prometheus);
    not_attached(&cluster, &prometheus);
    rolled_back(&cluster, &prometheus);
    quarantined(&cluster, &prometheus);
    foreign(&cluster, &prometheus);
    unknown(&cluster, &prometheus);
}

#[test]
fn a_kernel_without_sched_ext_has_its_alert() {
    let name = "long-monitoring-old";
    let cluster = NodeCluster::up(name, WITHOUT_SCHED_EXT, 1, &program::sked());
    cluster.deploy();
    cluster.apply_schedext("lab", &spec(&[]));
    let prometheus = Prometheus::start(&cluster);
    fires(&cluster, &prometheus, "SkedUnsupportedKernel", LAB);
    let firing = prometheus.firing();
    assert_eq!(firing, ["SkedUnsupportedKernel"], "and no other");
}

#[track_caller]
fn fires(cluster: &NodeCluster, prometheus: &Prometheus, alert: &str, labels: &str) {
    cluster.until(&format!("{alert} fires"), || {
        prometheus.fires(alert, labels).then_some(())
    });
}

#[track_caller]
fn stops(cluster: &NodeCluster, prometheus: &Prometheus, alert: &str) {
    cluster.until(&format!("{alert} does not fire any more"), || {
        (!prometheus.fires(alert, LAB)).then_some(())
    });
}

/// The kernel ejects the scheduler once: it is back in seconds, and the alert fires.
fn ejected_once(cluster: &NodeCluster, prometheus: &Prometheus) {
    cluster.node("node1").must(SYSRQ).unwrap();
    fires(cluster, prometheus, "SkedEjected", LAB);
    assert!(prometheus.has(r#"max_over_time(sked_ejections_total{schedext="lab"}[5m]) > 0"#));
    cluster.await_attached("lab", 2);
}

fn ejected_again_and_again(cluster: &NodeCluster, prometheus: &Prometheus) {
    let [flapping, steady] = [r#"node="node1""#, r#"node="node2""#];
    assert!(!prometheus.fires("SkedFlapping", flapping));
    for _ in 0..3 {
        cluster.node("node1").must(SYSRQ).unwrap();
        cluster.until("a kernel does not run it", || {
            (!cluster.is_attached("lab", 2)?).then_some(())
        });
        cluster.await_attached("lab", 2);
    }
    fires(cluster, prometheus, "SkedFlapping", flapping);
    assert!(!prometheus.fires("SkedFlapping", steady));
}

/// A version that starts and does not attach: the roll-out stops at it, and does not go back.
fn not_attached(cluster: &NodeCluster, prometheus: &Prometheus) {
    let mut slow = spec(&["--fault", "slow-attach", "--after", "1h"]);
    slow["onFailure"] = json!({"action": "Restart"});
    cluster.apply_schedext("lab", &slow);
    fires(cluster, prometheus, "SkedNotAttached", LAB);
    cluster.apply_schedext("lab", &spec(&[]));
    cluster.await_attached("lab", 2);
    stops(cluster, prometheus, "SkedNotAttached");
}

/// A version that stalls on the first node: the nodes go back.
fn rolled_back(cluster: &NodeCluster, prometheus: &Prometheus) {
    cluster.apply_schedext("lab", &spec(&STALLS));
    fires(cluster, prometheus, "SkedRolledBack", LAB);
    cluster.apply_schedext("lab", &spec(&[]));
    cluster.await_attached("lab", 2);
    stops(cluster, prometheus, "SkedRolledBack");
}

/// The same, and the nodes where it stalls run the kernel's own scheduler.
fn quarantined(cluster: &NodeCluster, prometheus: &Prometheus) {
    let mut stalls = spec(&STALLS);
    stalls["onFailure"] = json!({"action": "Detach"});
    cluster.apply_schedext("lab", &stalls);
    fires(cluster, prometheus, "SkedQuarantined", LAB);
    cluster.apply_schedext("lab", &spec(&[]));
    cluster.await_attached("lab", 2);
    stops(cluster, prometheus, "SkedQuarantined");
}

/// Somebody starts a scheduler by hand.
fn foreign(cluster: &NodeCluster, prometheus: &Prometheus) {
    cluster.kubectl(&["delete", "schedext", "lab"]);
    cluster.await_kernel_state("node2", "disabled");
    let node = cluster.node("node2");
    node.must(&format!(
        "podman run --detach --name stranger --privileged --pid=host --network=none \
         --volume /boot:/boot:ro {SCX_LAB} --name stranger"
    ))
    .unwrap();
    cluster.until("the report names the foreign scheduler", || {
        let report = cluster.read(&["sxn", "node2"]);
        let ops = report["status"]["ops"].as_str()?;
        ops.starts_with("stranger").then_some(())
    });
    cluster.apply_schedext("lab", &spec(&[]));
    fires(cluster, prometheus, "SkedForeignScheduler", LAB);
    node.must("podman rm --force --time 30 stranger").unwrap();
    stops(cluster, prometheus, "SkedForeignScheduler");
    cluster.await_attached("lab", 2);
}

/// Without agents nothing is known of any kernel.
fn unknown(cluster: &NodeCluster, prometheus: &Prometheus) {
    let nowhere = r#"{"spec":{"template":{"spec":{"nodeSelector":{"is":"nowhere"}}}}}"#;
    let agents = [
        "patch",
        "daemonset",
        "sked-node-agent",
        "-n",
        SKED_NAMESPACE,
    ];
    cluster.kubectl(&[&agents[..], &["-p", nowhere]].concat());
    fires(cluster, prometheus, "SkedKernelUnknown", LAB);
    cluster.until("no count of attached kernels is reported", || {
        let known = prometheus.has(r#"sked_schedext_nodes{state="attached"}"#);
        (!known).then_some(())
    });
}
