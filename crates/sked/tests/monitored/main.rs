//! The alerts and the dashboard on a real Prometheus that scrapes a real cluster: every query of
//! the dashboard has an answer, and every alert about the nodes' kernels fires in a fault that the
//! kernels themselves tell of. How long an alert waits is cut short here; that it waits long enough
//! is in `alerts.rs`.
//!
//! Proves nothing about Grafana, which nobody starts here: its variables are filled in by hand.

#![cfg(test)]

mod dashboard;
mod ground;
mod prometheus;
#[path = "../rules.rs"]
mod rules;
#[path = "../site.rs"]
mod site;

use std::path::PathBuf;

use lab::spec::DEFAULT_KERNEL;
use lab::static_program::{self, Profile};
use prometheus::Prometheus;
use serde_json::{Value, json};
use site::{IMAGE, Site};

/// A series of Debian's whose kernels have no sched_ext.
const WITHOUT_SCHED_EXT: &str = "6.12";
/// What an alert says that it is about.
const LAB: &str = r#"namespace="default",schedext="lab""#;
const SYSRQ: &str = "echo S > /proc/sysrq-trigger";

#[test]
fn every_query_has_an_answer_and_every_fault_its_alert() {
    let site = Site::up("test-monitored", DEFAULT_KERNEL, 2, &sked());
    site.deploy();
    site.schedext("lab", &spec(&[]));
    site.await_attached(2);
    let prometheus = Prometheus::watching(&site);
    assert_eq!(prometheus.firing(), Vec::<String>::new(), "all is well");

    thrown_out(&site, &prometheus);
    // Now that there was something to do: how long nothing takes, nobody knows.
    for query in dashboard::queries() {
        site.until(&format!("{query} has an answer"), || {
            prometheus.has(&query).then_some(())
        });
    }
    again_and_again(&site, &prometheus);
    not_attached(&site, &prometheus);
    foreign(&site, &prometheus);
    unknown(&site, &prometheus);
}

#[test]
fn a_kernel_without_sched_ext_is_told() {
    let site = Site::up("test-monitored-old", WITHOUT_SCHED_EXT, 1, &sked());
    site.deploy();
    site.schedext("lab", &spec(&[]));
    let prometheus = Prometheus::watching(&site);
    fires(&site, &prometheus, "SkedUnsupportedKernel", LAB);
    let firing = prometheus.firing();
    assert_eq!(firing, ["SkedUnsupportedKernel"], "and nothing else");
}

fn sked() -> PathBuf {
    static_program::build("sked", Profile::Debug).unwrap()
}

fn spec(args: &[&str]) -> Value {
    json!({"sched": IMAGE, "args": args})
}

#[track_caller]
fn fires(site: &Site, prometheus: &Prometheus, alert: &str, about: &str) {
    site.until(&format!("{alert} fires"), || {
        prometheus.fires(alert, about).then_some(())
    });
}

#[track_caller]
fn rests(site: &Site, prometheus: &Prometheus, alert: &str) {
    site.until(&format!("{alert} does not fire any more"), || {
        (!prometheus.fires(alert, LAB)).then_some(())
    });
}

/// The kernel throws the scheduler out, once: it is back in seconds, and somebody is told.
fn thrown_out(site: &Site, prometheus: &Prometheus) {
    site.node("node1").must(SYSRQ).unwrap();
    fires(site, prometheus, "SkedEjected", LAB);
    assert!(prometheus.has(r#"max_over_time(sked_ejections_total{schedext="lab"}[5m]) > 0"#));
    site.await_attached(2);
}

/// It does so again and again.
fn again_and_again(site: &Site, prometheus: &Prometheus) {
    let [busy, quiet] = [r#"node="node1""#, r#"node="node2""#];
    assert!(!prometheus.fires("SkedFlapping", busy));
    for _ in 0..3 {
        site.node("node1").must(SYSRQ).unwrap();
        site.await_attached_again();
    }
    fires(site, prometheus, "SkedFlapping", busy);
    assert!(!prometheus.fires("SkedFlapping", quiet));
}

/// A version that starts and does not attach: the roll-out stops at it.
fn not_attached(site: &Site, prometheus: &Prometheus) {
    site.schedext("lab", &spec(&["--fault", "slow-attach", "--after", "1h"]));
    fires(site, prometheus, "SkedNotAttached", LAB);
    site.schedext("lab", &spec(&[]));
    site.await_attached(2);
    rests(site, prometheus, "SkedNotAttached");
}

/// Somebody starts a scheduler by hand.
fn foreign(site: &Site, prometheus: &Prometheus) {
    site.kubectl(&["delete", "schedext", "lab"]);
    let node = site.node("node2");
    site.until("node2's kernel runs nothing", || {
        let state = node.must("cat /sys/kernel/sched_ext/state").unwrap();
        (state == "disabled").then_some(())
    });
    node.must(&format!(
        "podman run --detach --name stranger --privileged --pid=host --network=none \
         --volume /boot:/boot:ro {IMAGE} --name stranger"
    ))
    .unwrap();
    site.until("the report names the stranger", || {
        let ops = site.get(&["sxn", "node2"])["status"]["ops"].clone();
        ops.as_str()?.starts_with("stranger").then_some(())
    });
    site.schedext("lab", &spec(&[]));
    fires(site, prometheus, "SkedForeignScheduler", LAB);
    node.must("podman rm --force --time 30 stranger").unwrap();
    rests(site, prometheus, "SkedForeignScheduler");
    site.await_attached(2);
}

/// The agents go, and with them all knowledge.
fn unknown(site: &Site, prometheus: &Prometheus) {
    let nowhere = r#"{"spec":{"template":{"spec":{"nodeSelector":{"is":"nowhere"}}}}}"#;
    let agents = ["patch", "daemonset", "sked-node-agent", "-n", "sked-system"];
    site.kubectl(&[&agents[..], &["-p", nowhere]].concat());
    fires(site, prometheus, "SkedKernelUnknown", LAB);
    site.until("nobody claims to know", || {
        let known = prometheus.has(r#"sked_schedext_nodes{state="attached"}"#);
        (!known).then_some(())
    });
}
