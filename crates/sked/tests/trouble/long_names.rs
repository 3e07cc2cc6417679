//! Names as long as admission takes them, all the way to pods, labels and events.

use serde_json::{Value, json};

use crate::ground::{CLUSTER, Nodes, condition};
use crate::support::schedext;

#[test]
fn the_longest_names_work_and_longer_ones_are_refused_in_a_sentence() {
    let nodes = Nodes::new("long", 2);
    let namespace = "n".repeat(63);
    CLUSTER.namespace(&namespace);
    let (base, host) = ("b".repeat(63), "p".repeat(40));
    let pool = "q".repeat(22);
    let both = format!("{host}-{pool}");
    assert_eq!(both.len(), 63);
    let pooled = |pool: &str| {
        let selector = json!({"kubernetes.io/hostname": "long-1"});
        json!({
            "sched": "registry.example/a:1", "nodeSelector": {"in": "long"}, "priority": 1,
            "pools": [{"name": pool, "nodeSelector": selector}],
        })
    };
    let too_long = CLUSTER.refusal(&schedext(&namespace, &"b".repeat(64), &nodes.wanted()));
    assert!(too_long.contains("at most 63 characters"), "{too_long}");
    let spec = pooled(&format!("{pool}q"));
    let too_long = CLUSTER.refusal(&schedext(&namespace, &host, &spec));
    assert!(
        too_long.contains("at most 62 characters together"),
        "{too_long}"
    );

    let manager = CLUSTER.ready_manager(&[&format!("--watch-namespaces={namespace}")]);
    CLUSTER.schedext(&namespace, &base, &nodes.wanted());
    let ready = |name: &str| {
        CLUSTER.look(
            &namespace,
            &format!("daemonset/{name}"),
            "/status/currentNumberScheduled",
        )
    };
    manager.eventually("the long one has its pods", || ready(&base) == 2);
    CLUSTER.schedext(&namespace, &host, &pooled(&pool));
    manager.eventually("the other one and its pool have theirs", || {
        (ready(&host), ready(&both), ready(&base)) == (json!(1), json!(1), json!(0))
    });

    let selector = format!("name={both}");
    let pods = CLUSTER.kubectl(&[
        "get", "pods", "-n", &namespace, "-l", &selector, "-o", "json",
    ]);
    let pods: Value = serde_json::from_str(&pods).unwrap();
    let labels = &pods["items"][0]["metadata"]["labels"];
    assert!(labels["controller-revision-hash"].is_string(), "{pods}");
    assert_eq!(pods["items"][0]["spec"]["nodeName"], "long-1");
    let owners = nodes.owners();
    assert!(owners.iter().all(Value::is_string), "{owners:?}");
    assert_ne!(owners[0], owners[1]);
    manager.eventually("the loser says to whom", || {
        let conflicted = condition(&namespace, &base, "Conflicted");
        conflicted["message"].to_string().contains(&host)
    });
    manager.eventually("in an event too", || {
        let events = CLUSTER.kubectl(&["get", "events", "-n", &namespace, "-o", "json"]);
        events.contains("OwnedByOther")
    });
    manager.stop();
}
