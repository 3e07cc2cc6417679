//! Nodes that are deleted while their labels are being written.

use std::time::Duration;

use serde_json::json;
use testkit::KwokNodes;

const ALL: usize = 60;
const GONE: usize = 20;

#[test]
fn the_remaining_nodes_are_settled_and_nothing_is_retried_for_ever() {
    let cluster = testkit::control_plane();
    let nodes = KwokNodes::new(&cluster, "vanish", ALL);
    let others = KwokNodes::new(&cluster, "stay", 2);
    cluster.namespace("vanish");
    cluster.namespace("stay");
    let missing = || cluster.requests("PATCH", "nodes", Some(404));
    let missing_before = missing();
    let manager = cluster.ready_manager(&["--watch-namespaces=vanish,stay"]);
    cluster.schedext("stay", "a", &others.selecting_spec());
    manager.eventually("the others have their pods", || {
        cluster.field("stay", "daemonset/a", "/status/currentNumberScheduled") == 2
    });
    manager.eventually("the status has it", || {
        cluster.condition("stay", "a", "Progressing")["status"] == "False"
    });
    let untouched = || cluster.versions("stay", &["daemonset/a", "schedext/a"]);
    let before = untouched();

    cluster.schedext("vanish", "a", &nodes.selecting_spec());
    let mut better = nodes.selecting_spec();
    better["priority"] = json!(5);
    let going: Vec<String> = (0..GONE).map(|number| format!("vanish-{number}")).collect();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut args = vec!["delete", "nodes", "--wait=false"];
            args.extend(going.iter().map(String::as_str));
            cluster.kubectl(&args);
        });
        cluster.schedext("vanish", "b", &better);
    });
    let left = ALL - GONE;
    manager.eventually("every remaining node has the same owner", || {
        let mut owners = nodes.owners();
        let (count, first) = (owners.len(), owners[0].clone());
        owners.retain(|owner| *owner == first);
        count == left && first.is_string() && owners.len() == left
    });
    let counts = |name: &str, which: &str| {
        let (schedext, count) = (
            format!("schedext/{name}"),
            format!("/status/counts/{which}"),
        );
        cluster.field("vanish", &schedext, &count)
    };
    manager.eventually("both statuses count them", || {
        (counts("b", "desired"), counts("a", "conflicted")) == (json!(left), json!(left))
    });
    manager.eventually("all have pods", || {
        cluster.field("vanish", "daemonset/b", "/status/currentNumberScheduled") == left
    });
    let patches = || cluster.requests("PATCH", "nodes", None);
    let patches_before = patches();
    std::thread::sleep(Duration::from_secs(2));
    assert_eq!(patches(), patches_before, "{}", manager.log());
    assert_eq!(untouched(), before, "no other SchedExt was disturbed");
    let missing = missing() - missing_before;
    assert!(
        missing <= 2 * GONE as u64,
        "{missing} labels for nodes that are gone"
    );
    assert!(!manager.log().contains("cannot"), "{}", manager.log());
    manager.stop();
}
