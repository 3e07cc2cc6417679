//! An API server that goes away after the caches are filled, and comes back. Only the manager goes
//! through the proxy that is closed: everybody else changes things that it cannot see.

use std::thread;
use std::time::Duration;

use serde_json::json;
use testkit::{Cluster, KwokNodes, Manager, TcpProxy};

const IMAGE: &str = "/spec/template/spec/containers/0/image";

#[test]
fn nothing_is_lost_while_it_is_away_and_nothing_is_written_without_need_afterwards() {
    let cluster = testkit::control_plane();
    let nodes = KwokNodes::new(&cluster, "away", 2);
    cluster.namespace("away");
    let (proxy, kubeconfig) = TcpProxy::before(&cluster, "proxy.kubeconfig", |_| {});
    let manager = cluster
        .sked("manager", &kubeconfig, &["--watch-namespaces=away"])
        .ready();
    cluster.schedext("away", "a", &nodes.selecting_spec());
    cluster.schedext("away", "b", &nodes.selecting_spec());
    manager.eventually("one has both nodes", || {
        ["a", "b"]
            .map(|name| cluster.has_reason("away", name, "Conflicted", "OwnedByOther"))
            .contains(&true)
    });
    manager.eventually("its pods run", || {
        ["a", "b"].map(|name| cluster.condition("away", name, "Progressing")["status"] == "False")
            == [true; 2]
    });
    let objects = ["daemonset/a", "daemonset/b", "schedext/a", "schedext/b"];

    // Away, and nothing happens meanwhile.
    let before = cluster.versions("away", &objects);
    let mut expected = writes(&cluster);
    proxy.close();
    manager.eventually("the manager notices", || {
        manager.log().contains("cannot be reached")
    });
    assert_eq!(manager.probe("healthz"), Some(200));
    assert_eq!(manager.probe("readyz"), Some(200), "its caches are filled");
    thread::sleep(Duration::from_secs(2));
    proxy.open();
    await_watching(&cluster, &manager);
    expected[0].1 += 1;
    expected[4].1 += 1;
    assert_eq!(writes(&cluster), expected, "{}", manager.log());
    assert_eq!(cluster.versions("away", &objects), before);

    // Away, and somebody edits, creates and deletes.
    proxy.close();
    let edit = json!([{"op": "replace", "path": IMAGE, "value": "evil"}]).to_string();
    cluster.patch("away", "daemonset/a", &edit);
    cluster.kubectl(&["delete", "-n", "away", "daemonset/probe"]);
    let nowhere = json!({"sched": "registry.example/c:1", "nodeSelector": {"in": "nowhere"}});
    cluster.schedext("away", "c", &nowhere);
    thread::sleep(Duration::from_secs(1));
    assert!(
        cluster.get("away", "daemonset/c").is_none(),
        "the proxy is closed"
    );
    assert!(cluster.get("away", "daemonset/b").is_some());
    let before = writes(&cluster);
    proxy.open();
    manager.eventually("the edit is undone", || {
        cluster.field("away", "daemonset/a", IMAGE) == "registry.example/a:1"
    });
    manager.eventually("the missing DaemonSets are created", || {
        ["c", "probe"].map(|name| cluster.get("away", &format!("daemonset/{name}")).is_some())
            == [true; 2]
    });
    let now = writes(&cluster);
    assert_eq!(now[0].1, before[0].1 + 2, "two are created");
    assert_eq!(now[1].1, before[1].1 + 1, "one is updated");
    assert_eq!(now[2..4], before[2..4], "nothing deleted, no label moved");
    manager.stop();
}

/// What was written so far, as the API server counts it, and the events of SchedExts.
fn writes(cluster: &Cluster) -> Vec<(&'static str, u64)> {
    let ours = "--field-selector=involvedObject.kind=SchedExt";
    let events = cluster.kubectl(&["get", "events", "-n", "away", ours, "-o", "name"]);
    let requests = |verb, resource| cluster.requests(verb, resource, None);
    vec![
        ("created", requests("POST", "daemonsets")),
        ("updated", requests("PUT", "daemonsets")),
        ("deleted", requests("DELETE", "daemonsets")),
        ("node labels", requests("PATCH", "nodes")),
        ("statuses", requests("PATCH", "schedexts/status")),
        ("events", events.lines().count() as u64),
    ]
}

/// Creates a SchedExt that selects no node: the manager watches again when it has a DaemonSet and a
/// status.
fn await_watching(cluster: &Cluster, manager: &Manager) {
    let probe = json!({"sched": "registry.example/a:1", "nodeSelector": {"in": "nowhere"}});
    cluster.schedext("away", "probe", &probe);
    manager.eventually("the manager is back", || {
        cluster.field("away", "daemonset/probe", IMAGE) == "registry.example/a:1"
    });
    manager.eventually("it writes the status", || {
        cluster.field("away", "schedext/probe", "/status/observedGeneration") == 1
    });
}
