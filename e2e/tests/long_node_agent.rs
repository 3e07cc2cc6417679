//! A Node that is deleted and created again under its name while the agent's process goes on: the
//! garbage collector deletes the old report, and the new one belongs to the new Node.

use std::thread;
use std::time::{Duration, Instant};

use testkit::node_agent::{AgentNode, KernelFiles, report_writes};

/// The client reads its token file once a minute.
const TIMEOUT: Duration = Duration::from_secs(240);

#[test]
fn the_report_belongs_to_the_new_node() {
    let cluster = testkit::control_plane();
    let mut node = AgentNode::new(&cluster, "recreated");
    let mut kernel = KernelFiles::idle();
    kernel.attached("lab", 1);
    let agent = node.agent(&kernel);
    agent.await_ready();
    let before = node.report();
    let (counted, begin) = (report_writes(&cluster), Instant::now());
    node.delete();
    agent.process.eventually("the old report is deleted", || {
        node.report()["metadata"]["uid"] != before["metadata"]["uid"]
    });
    node.create();
    let is_new = || {
        let owner = &node.report()["metadata"]["ownerReferences"][0]["uid"];
        *owner == node.uid && node.status()["state"] == "enabled" && agent.is_ready()
    };
    while !is_new() {
        let waited = begin.elapsed();
        assert!(waited < TIMEOUT, "{waited:?}\n{}", agent.process.log());
        thread::sleep(Duration::from_millis(500));
    }
    assert_eq!(
        node.status()["since"],
        before["status"]["since"],
        "the kernel went on"
    );
    // However often the garbage collector deleted a report of the old Node, writes are limited.
    let (now, seconds) = (report_writes(&cluster), begin.elapsed().as_secs());
    let written: u64 = now
        .iter()
        .zip(counted)
        .map(|(now, before)| now - before)
        .sum();
    assert!(
        written <= 2 * (5 + seconds),
        "{written} writes in {seconds} s"
    );
}
