//! Nodes that go while their labels are being written.

use std::time::Duration;

use serde_json::json;

use crate::ground::{CLUSTER, Nodes, condition, requests, versions};

const ALL: usize = 120;
const GONE: usize = 40;

#[test]
fn what_is_left_is_settled_and_nothing_is_tried_for_ever() {
    let nodes = Nodes::new("vanish", ALL);
    let others = Nodes::new("stay", 2);
    CLUSTER.namespace("vanish");
    CLUSTER.namespace("stay");
    let manager = CLUSTER.ready_manager(&["--watch-namespaces=vanish,stay"]);
    CLUSTER.schedext("stay", "a", &others.wanted());
    manager.eventually("the others have their pods", || {
        CLUSTER.look("stay", "daemonset/a", "/status/currentNumberScheduled") == 2
    });
    manager.eventually("that is said", || {
        condition("stay", "a", "Progressing")["status"] == "False"
    });
    let untouched = || versions("stay", &["daemonset/a", "schedext/a"]);
    let before = untouched();

    CLUSTER.schedext("vanish", "a", &nodes.wanted());
    let mut better = nodes.wanted();
    better["priority"] = json!(5);
    let going: Vec<String> = (0..GONE).map(|number| format!("vanish-{number}")).collect();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut words = vec!["delete", "nodes", "--wait=false"];
            words.extend(going.iter().map(String::as_str));
            CLUSTER.kubectl(&words);
        });
        CLUSTER.schedext("vanish", "b", &better);
    });
    let left = ALL - GONE;
    manager.eventually("every node that is left has its owner", || {
        let mut owners = nodes.owners();
        let (count, first) = (owners.len(), owners[0].clone());
        owners.retain(|owner| *owner == first);
        count == left && first.is_string() && owners.len() == left
    });
    let counts = |name: &str, which: &str| {
        CLUSTER.look(
            "vanish",
            &format!("schedext/{name}"),
            &format!("/status/counts/{which}"),
        )
    };
    manager.eventually("both say how many", || {
        (counts("b", "desired"), counts("a", "conflicted")) == (json!(left), json!(left))
    });
    manager.eventually("the pods are there", || {
        CLUSTER.look("vanish", "daemonset/b", "/status/currentNumberScheduled") == left
    });
    let asked = || requests("PATCH", "nodes", None);
    let writes = asked();
    std::thread::sleep(Duration::from_secs(3));
    assert_eq!(asked(), writes, "{}", manager.log());
    assert_eq!(untouched(), before, "nobody else was disturbed");
    let gone = requests("PATCH", "nodes", Some(404));
    assert!(
        gone <= 2 * GONE as u64,
        "{gone} labels for nodes that are gone"
    );
    assert!(!manager.log().contains("cannot"), "{}", manager.log());
    manager.stop();
}
