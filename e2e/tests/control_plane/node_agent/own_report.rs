//! The report: created, changed with the kernel, otherwise left alone, restored after others changed
//! it.

use std::thread;
use std::time::Duration;

use serde_json::json;

use testkit::node_agent::{AgentNode, KernelFiles, report_writes};

#[test]
fn a_report_follows_the_kernel_and_is_left_alone_otherwise() {
    let cluster = testkit::control_plane();
    let node = AgentNode::new(&cluster, "follows");
    let mut kernel = KernelFiles::idle();
    let agent = node.agent(&kernel);
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

    kernel.attached("lab_1.0", 1);
    agent.await_state(&node, "enabled", 1);
    assert_eq!(node.status()["ops"], "lab_1.0");
    let since = node.status()["since"].clone();

    // Only event counters change, which are no part of the report.
    let (counted, version) = (
        report_writes(&cluster),
        node.report()["metadata"]["resourceVersion"].clone(),
    );
    kernel.attached("lab_1.0", 1);
    thread::sleep(Duration::from_secs(2));
    assert_eq!(report_writes(&cluster), counted);
    assert_eq!(node.report()["metadata"]["resourceVersion"], version);

    // The same scheduler attached again.
    kernel.attached("lab_1.0", 2);
    agent.await_state(&node, "enabled", 2);
    assert_ne!(node.status()["since"], since);
    kernel.detached(2);
    agent.await_state(&node, "disabled", 2);
    assert!(node.status().get("ops").is_none(), "{}", node.status());
    agent.process.stop();
    assert_eq!(node.status()["state"], "disabled", "the report stays");
}

#[test]
fn since_outlives_the_agent_but_not_the_attach() {
    let cluster = testkit::control_plane();
    let node = AgentNode::new(&cluster, "outlives");
    let mut kernel = KernelFiles::idle();
    kernel.attached("lab", 3);
    let agent = node.agent(&kernel);
    agent.await_ready();
    let (before, counted) = (node.report(), report_writes(&cluster));
    agent.process.stop();
    let agent = node.agent(&kernel);
    agent.await_ready();
    assert_eq!(node.report(), before);
    assert_eq!(
        report_writes(&cluster),
        counted,
        "there was nothing to write"
    );
    agent.process.stop();
    kernel.attached("lab", 4);
    let agent = node.agent(&kernel);
    agent.await_state(&node, "enabled", 4);
    assert_ne!(node.status()["since"], before["status"]["since"]);
}

#[test]
fn a_report_that_others_delete_or_change_is_restored() {
    let cluster = testkit::control_plane();
    let node = AgentNode::new(&cluster, "restored");
    let mut kernel = KernelFiles::idle();
    kernel.attached("lab", 1);
    let agent = node.agent(&kernel);
    agent.await_ready();
    let before = node.report();
    cluster.kubectl(&["delete", "schedextnode", "restored"]);
    agent.process.eventually("it is created again", || {
        let now = node.report();
        now["metadata"]["uid"].is_string()
            && now["metadata"]["uid"] != before["metadata"]["uid"]
            && now["status"] == before["status"]
    });
    let wrong = r#"{"status": {"state": "disabled", "ops": null, "trouble": "wrong"}}"#;
    let args = "patch schedextnode restored --subresource=status --type=merge -p";
    let args: Vec<&str> = args.split(' ').collect();
    cluster.kubectl(&[&args[..], &[wrong]].concat());
    agent.process.eventually("the status is restored", || {
        node.status() == before["status"]
    });
    agent.await_ready();
}

#[test]
fn a_report_of_another_owner_is_replaced() {
    let cluster = testkit::control_plane();
    let node = AgentNode::new(&cluster, "replaced");
    let other = AgentNode::new(&cluster, "replaced-other");
    let report = |owners: serde_json::Value| {
        json!({
            "apiVersion": "sked.schedkit.io/v1", "kind": "SchedExtNode",
            "metadata": {"name": "replaced", "ownerReferences": owners}, "spec": {},
        })
    };
    let kernel = KernelFiles::idle();
    // The other Node exists, so the garbage collector leaves the report alone.
    let owner = json!({"apiVersion": "v1", "kind": "Node", "name": other.name, "uid": other.uid});
    for owners in [json!([owner]), json!([])] {
        cluster.create(&report(owners));
        let before = node.report()["metadata"]["uid"].clone();
        let agent = node.agent(&kernel);
        agent.await_ready();
        let now = node.report();
        assert_ne!(now["metadata"]["uid"], before);
        assert_eq!(now["metadata"]["ownerReferences"][0]["uid"], node.uid);
        assert_eq!(now["status"]["state"], "disabled");
        agent.process.stop();
        cluster.kubectl(&["delete", "schedextnode", "replaced"]);
    }
}

#[test]
fn a_token_without_a_node_ends_the_agent_with_the_reason() {
    let cluster = testkit::control_plane();
    let node = AgentNode::new(&cluster, "nameless");
    let args = "create token sked-node-agent -n sked-system";
    let token = cluster.kubectl(&args.split(' ').collect::<Vec<_>>());
    std::fs::write(node.token(), token).unwrap();
    let mut agent = node.agent(&KernelFiles::idle());
    assert!(!agent.process.wait().success());
    let log = agent.process.log();
    assert!(log.contains("does not say which node it is for"), "{log}");
}
