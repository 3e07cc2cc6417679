//! Names as long as admission accepts them, all the way to pods, labels and events.

use serde_json::{Value, json};
use testkit::KwokNodes;
use testkit::cluster::schedext;

#[test]
fn the_longest_names_work_and_longer_ones_are_rejected_with_the_limit() {
    let cluster = testkit::control_plane();
    let nodes = KwokNodes::new(&cluster, "long", 2);
    let namespace = "n".repeat(63);
    cluster.namespace(&namespace);
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
    let spec = nodes.selecting_spec();
    let too_long = cluster.refusal(&schedext(&namespace, &"b".repeat(64), &spec));
    assert!(too_long.contains("at most 63 characters"), "{too_long}");
    let spec = pooled(&format!("{pool}q"));
    let too_long = cluster.refusal(&schedext(&namespace, &host, &spec));
    assert!(
        too_long.contains("at most 62 characters together"),
        "{too_long}"
    );

    let manager = cluster.ready_manager(&[&format!("--watch-namespaces={namespace}")]);
    cluster.schedext(&namespace, &base, &nodes.selecting_spec());
    let scheduled = |name: &str| {
        let daemonset = format!("daemonset/{name}");
        cluster.field(&namespace, &daemonset, "/status/currentNumberScheduled")
    };
    manager.eventually("the long one has its pods", || scheduled(&base) == 2);
    cluster.schedext(&namespace, &host, &pooled(&pool));
    manager.eventually("the other one and its pool have theirs", || {
        (scheduled(&host), scheduled(&both), scheduled(&base)) == (json!(1), json!(1), json!(0))
    });

    let selector = format!("name={both}");
    manager.eventually("its pod is on its node", || {
        let pods = cluster.list(&["pods", "-n", &namespace, "-l", &selector]);
        let labels = &pods[0]["metadata"]["labels"];
        labels["controller-revision-hash"].is_string() && pods[0]["spec"]["nodeName"] == "long-1"
    });
    let owners = nodes.owners();
    assert!(owners.iter().all(Value::is_string), "{owners:?}");
    assert_ne!(owners[0], owners[1]);
    manager.eventually("the condition names the winner", || {
        let conflicted = cluster.condition(&namespace, &base, "Conflicted");
        conflicted["message"].to_string().contains(&host)
    });
    manager.eventually("so does an event", || {
        let events = cluster.kubectl(&["get", "events", "-n", &namespace, "-o", "json"]);
        events.contains("OwnedByOther")
    });
    manager.stop();
}
