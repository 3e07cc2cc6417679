//! The life of a report: made, changed with the kernel, left alone, put right.

use std::thread;
use std::time::Duration;

use serde_json::json;

use crate::ground::{CLUSTER, Machine, Node, writes};

#[test]
fn a_report_is_made_follows_the_kernel_and_is_left_alone_otherwise() {
    let node = Node::new("follows");
    let mut machine = Machine::idle();
    let agent = node.agent(&machine);
    agent.await_ready();
    let report = node.report();
    assert_eq!(
        report["metadata"]["ownerReferences"],
        json!([{"apiVersion": "v1", "kind": "Node", "name": "follows", "uid": node.uid, "blockOwnerDeletion": false}])
    );
    let mut status = node.status();
    assert!(status["since"].is_string(), "{status}");
    status.as_object_mut().unwrap().remove("since");
    let expected = json!({
        "kernelRelease": "6.18.15+deb13-cloud-amd64", "bootID": "0fe6b9e5-93cb-4c3c-8d7e-3a0a4d1f0c11",
        "supported": true, "state": "disabled", "enableSeq": 0, "switchAll": false, "nrRejected": 0,
    });
    assert_eq!(status, expected);

    machine.attached("lab_1.0", 1);
    agent.await_state(&node, "enabled", 1);
    assert_eq!(node.status()["ops"], "lab_1.0");
    let since = node.status()["since"].clone();

    // Counters are the metrics' business; everything else is as it was.
    let (counted, version) = (
        writes(),
        node.report()["metadata"]["resourceVersion"].clone(),
    );
    machine.attached("lab_1.0", 1);
    thread::sleep(Duration::from_secs(2));
    assert_eq!(writes(), counted);
    assert_eq!(node.report()["metadata"]["resourceVersion"], version);

    // The same scheduler once more is another attach.
    machine.attached("lab_1.0", 2);
    agent.await_state(&node, "enabled", 2);
    assert_ne!(node.status()["since"], since);
    machine.detached(2);
    agent.await_state(&node, "disabled", 2);
    assert!(node.status().get("ops").is_none(), "{}", node.status());
    agent.process.stop();
    assert_eq!(node.status()["state"], "disabled", "the report stays");
}

#[test]
fn since_outlives_the_agent_and_not_the_attach() {
    let node = Node::new("outlives");
    let mut machine = Machine::idle();
    machine.attached("lab", 3);
    let agent = node.agent(&machine);
    agent.await_ready();
    let (before, counted) = (node.report(), writes());
    agent.process.stop();
    let agent = node.agent(&machine);
    agent.await_ready();
    assert_eq!(node.report(), before);
    assert_eq!(writes(), counted, "there was nothing to write");
    agent.process.stop();
    machine.attached("lab", 4);
    let agent = node.agent(&machine);
    agent.await_state(&node, "enabled", 4);
    assert_ne!(node.status()["since"], before["status"]["since"]);
}

#[test]
fn a_report_that_is_deleted_or_changed_by_others_is_put_right() {
    let node = Node::new("put-right");
    let mut machine = Machine::idle();
    machine.attached("lab", 1);
    let agent = node.agent(&machine);
    agent.await_ready();
    let before = node.report();
    CLUSTER.kubectl(&["delete", "schedextnode", "put-right"]);
    agent.process.eventually("it is made again", || {
        let now = node.report();
        now["metadata"]["uid"].is_string()
            && now["metadata"]["uid"] != before["metadata"]["uid"]
            && now["status"] == before["status"]
    });
    let lie = r#"{"status": {"state": "disabled", "ops": null, "trouble": "a lie"}}"#;
    let words = "patch schedextnode put-right --subresource=status --type=merge -p";
    let words: Vec<&str> = words.split(' ').collect();
    CLUSTER.kubectl(&[&words[..], &[lie]].concat());
    agent
        .process
        .eventually("the lie is gone", || node.status() == before["status"]);
    agent.await_ready();
}

#[test]
fn a_report_of_another_owner_is_replaced() {
    let node = Node::new("replaced");
    let other = Node::new("replaced-by-nobody");
    let report = |owners: serde_json::Value| {
        json!({
            "apiVersion": "sked.schedkit.io/v1", "kind": "SchedExtNode",
            "metadata": {"name": "replaced", "ownerReferences": owners}, "spec": {},
        })
    };
    let machine = Machine::idle();
    // The other Node lives, so that the garbage collector has nothing to do with it.
    let owner = json!({"apiVersion": "v1", "kind": "Node", "name": other.name, "uid": other.uid});
    for owners in [json!([owner]), json!([])] {
        CLUSTER.create(&report(owners));
        let before = node.report()["metadata"]["uid"].clone();
        let agent = node.agent(&machine);
        agent.await_ready();
        let now = node.report();
        assert_ne!(now["metadata"]["uid"], before);
        assert_eq!(now["metadata"]["ownerReferences"][0]["uid"], node.uid);
        assert_eq!(now["status"]["state"], "disabled");
        agent.process.stop();
        CLUSTER.kubectl(&["delete", "schedextnode", "replaced"]);
    }
}

#[test]
fn a_token_of_no_node_is_refused_with_a_remedy() {
    let node = Node::new("nameless");
    let words = "create token sked-node-agent -n sked-system";
    let token = CLUSTER.kubectl(&words.split(' ').collect::<Vec<_>>());
    std::fs::write(node.token(), token).unwrap();
    let mut agent = node.agent(&Machine::idle());
    assert!(!agent.process.ends().success());
    let log = agent.process.log();
    assert!(log.contains("does not say which node it is for"), "{log}");
}
