//! An API server that goes away after the caches are filled, and comes back. The way to it goes
//! through a door here: whoever is not the manager goes on as before, and so the world changes
//! while the manager cannot look.

use std::thread;
use std::time::Duration;

use serde_json::json;

use crate::door::Door;
use crate::ground::{CLUSTER, Nodes, condition, requests, says, versions};

#[test]
fn nothing_is_lost_while_it_is_away_and_nothing_is_written_without_need_afterwards() {
    let nodes = Nodes::new("away", 2);
    CLUSTER.namespace("away");
    let (door, kubeconfig) = Door::before(&CLUSTER, "door.kubeconfig", |_| {});
    let manager = CLUSTER.manager_with(&kubeconfig, &["--watch-namespaces=away"]);
    manager.eventually("it is ready", || manager.probe("readyz") == Some(200));
    CLUSTER.schedext("away", "a", &nodes.wanted());
    CLUSTER.schedext("away", "b", &nodes.wanted());
    manager.eventually("one has both nodes", || {
        ["a", "b"]
            .map(|name| says("away", name, "Conflicted", "OwnedByOther"))
            .contains(&true)
    });
    manager.eventually("its pods run", || {
        ["a", "b"].map(|name| condition("away", name, "Progressing")["status"] == "False")
            == [true; 2]
    });
    let told = || {
        let ours = "--field-selector=involvedObject.kind=SchedExt";
        let events = CLUSTER.kubectl(&["get", "events", "-n", "away", ours, "-o", "name"]);
        events.lines().count() as u64
    };
    let writes = || {
        ["POST", "PUT", "DELETE"]
            .map(|verb| (verb, requests(verb, "daemonsets", None)))
            .into_iter()
            .chain([
                ("nodes", requests("PATCH", "nodes", None)),
                ("statuses", requests("PATCH", "schedexts/status", None)),
                ("events", told()),
            ])
            .collect::<Vec<_>>()
    };
    let objects = ["daemonset/a", "daemonset/b", "schedext/a", "schedext/b"];

    // Away, and nothing happens meanwhile.
    let (before, counted) = (versions("away", &objects), writes());
    door.shut();
    manager.eventually("it is noticed", || {
        manager.log().contains("cannot be reached")
    });
    assert_eq!(manager.probe("healthz"), Some(200));
    assert_eq!(manager.probe("readyz"), Some(200), "its caches are filled");
    thread::sleep(Duration::from_secs(2));
    door.open();
    // A change that is nobody's business shows that somebody watches again.
    let seen = |round: u32| {
        manager.eventually("it is back", || {
            CLUSTER.schedext("away", "probe", &json!({
                "sched": format!("registry.example/a:{round}"), "nodeSelector": {"in": "nowhere"},
            }));
            let image = "/spec/template/spec/containers/0/image";
            let live = CLUSTER.look("away", "daemonset/probe", image);
            live == format!("registry.example/a:{round}")
        });
        manager.eventually("all is said", || {
            let told = CLUSTER.look("away", "schedext/probe", "/status/observedGeneration");
            told == CLUSTER.look("away", "schedext/probe", "/metadata/generation")
        });
    };
    seen(1);
    let mut expected = counted;
    expected[0].1 += 1;
    expected[4].1 += 1;
    assert_eq!(writes(), expected, "{}", manager.log());
    assert_eq!(versions("away", &objects), before);

    // Away, and somebody meddles, makes and deletes.
    door.shut();
    let image = "/spec/template/spec/containers/0/image";
    let meddle = json!([{"op": "replace", "path": image, "value": "evil"}]).to_string();
    CLUSTER.patch("away", "daemonset/a", &meddle);
    CLUSTER.kubectl(&["delete", "-n", "away", "daemonset/probe"]);
    let elsewhere = json!({"sched": "registry.example/c:1", "nodeSelector": {"in": "nowhere"}});
    CLUSTER.schedext("away", "c", &elsewhere);
    thread::sleep(Duration::from_secs(1));
    assert!(
        CLUSTER.get("away", "daemonset/c").is_none(),
        "the door is shut"
    );
    assert!(CLUSTER.get("away", "daemonset/b").is_some());
    let counted = writes();
    door.open();
    manager.eventually("it is put right", || {
        CLUSTER.look("away", "daemonset/a", image) == "registry.example/a:1"
    });
    manager.eventually("what is missing is made", || {
        ["c", "probe"].map(|name| CLUSTER.get("away", &format!("daemonset/{name}")).is_some())
            == [true; 2]
    });
    let now = writes();
    assert_eq!(now[0].1, counted[0].1 + 2, "two are made");
    assert_eq!(now[1].1, counted[1].1 + 1, "one is put right");
    assert_eq!(
        now[2..4],
        counted[2..4],
        "nothing is deleted, no label moves"
    );
    manager.stop();
}
