//! A Node that is deleted and comes back under its name, while the agent's process goes on: the
//! garbage collector takes the old report, and the new one belongs to the new Node.

use std::thread;
use std::time::{Duration, Instant};

use crate::ground::{Machine, Node, writes};

/// The client looks at its token's file once a minute.
const PATIENCE: Duration = Duration::from_secs(240);

#[test]
fn the_report_belongs_to_the_node_that_there_is_now() {
    let mut node = Node::new("reborn");
    let mut machine = Machine::idle();
    machine.attached("lab", 1);
    let agent = node.agent(&machine);
    agent.await_ready();
    let before = node.report();
    let (counted, begin) = (writes(), Instant::now());
    node.dies();
    agent.process.eventually("the old report is gone", || {
        node.report()["metadata"]["uid"] != before["metadata"]["uid"]
    });
    node.is_born();
    let is_right = || {
        let owner = &node.report()["metadata"]["ownerReferences"][0]["uid"];
        *owner == node.uid && node.status()["state"] == "enabled" && agent.is_ready()
    };
    while !is_right() {
        let waited = begin.elapsed();
        assert!(waited < PATIENCE, "{waited:?}\n{}", agent.process.log());
        thread::sleep(Duration::from_millis(500));
    }
    assert_eq!(
        node.status()["since"],
        before["status"]["since"],
        "the kernel went on"
    );
    // However often the garbage collector took a report of the old Node's, it was no flood.
    let (now, seconds) = (writes(), begin.elapsed().as_secs());
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
