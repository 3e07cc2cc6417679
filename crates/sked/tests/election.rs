//! Several managers and one lease: who works when one dies, stops, or is frozen and thawed.

#![cfg(test)]

mod support;

use std::sync::LazyLock;
use std::time::Duration;

use serde_json::json;
use support::{Cluster, Manager};

static CLUSTER: LazyLock<Cluster> = LazyLock::new(|| Cluster::up("test-sked-election"));

const ELECT: [&str; 2] = ["--leader-elect", "--leader-election-namespace=default"];

fn candidate() -> Manager {
    CLUSTER.ready_manager(&ELECT)
}

fn holder() -> String {
    let lease = "lease/b4c95cb3.schedkit.io";
    let holder = CLUSTER.look("default", lease, "/spec/holderIdentity");
    holder.as_str().unwrap_or_default().to_owned()
}

fn leads(manager: &Manager) -> bool {
    manager.log().contains("\"this manager is the leader\"")
}

fn image(name: &str) -> serde_json::Value {
    let path = "/spec/template/spec/containers/0/image";
    CLUSTER.look("default", &format!("daemonset/{name}"), path)
}

#[test]
fn a_leader_that_is_killed_is_succeeded() {
    let one = candidate();
    one.eventually("the first leads", || leads(&one));
    let first = holder();
    let two = candidate();
    two.eventually("it says who leads", || two.log().contains(&first));
    assert!(!leads(&two), "ready, and waiting");
    one.signal("KILL");
    two.eventually("the second takes over", || leads(&two));
    assert_ne!(holder(), first);
    CLUSTER.schedext("default", "after-kill", &json!({"sched": "a:1"}));
    two.eventually("and works", || image("after-kill") == "a:1");
    two.stop();
}

#[test]
fn a_leader_that_stops_hands_over_at_once() {
    let one = candidate();
    one.eventually("the first leads", || leads(&one));
    let first = holder();
    let two = candidate();
    one.stop();
    // Empty, or the second was quick. A lease that was not given back would name the first for
    // another quarter of a minute.
    assert_ne!(holder(), first, "the lease is given back");
    two.eventually("the second takes over", || leads(&two));
    two.stop();
}

#[test]
fn a_leader_that_was_frozen_past_its_lease_writes_nothing_and_ends() {
    let mut one = candidate();
    one.eventually("the first leads", || leads(&one));
    CLUSTER.schedext("default", "frozen", &json!({"sched": "a:1"}));
    one.eventually("it works", || image("frozen") == "a:1");
    one.signal("STOP");
    let two = candidate();
    two.eventually("the second takes over", || leads(&two));
    two.stop();
    // Nobody leads now, and there is work that the frozen one learns of as it wakes up.
    CLUSTER.schedext("default", "frozen", &json!({"sched": "a:2"}));
    CLUSTER.kubectl(&["delete", "-n", "default", "daemonset/frozen"]);
    one.signal("CONT");
    let status = one.ends();
    assert!(!status.success(), "it says that it lost the lease");
    assert!(one.log().contains("was lost"), "{}", one.log());
    std::thread::sleep(Duration::from_secs(1));
    assert!(
        CLUSTER.get("default", "daemonset/frozen").is_none(),
        "it wrote nothing"
    );
    assert_eq!(holder(), "", "and did not take the lease back");
}
