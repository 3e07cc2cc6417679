//! Files that no kernel should have: reported as trouble, and no agent stumbles.

use serde_json::Value;

use crate::ground::{Machine, Node};

#[test]
fn what_makes_no_sense_is_said_and_nothing_stumbles() {
    let node = Node::new("strange");
    let mut machine = Machine::idle();
    let agent = node.agent(&machine);
    agent.await_ready();
    let huge = "x".repeat(1 << 20);
    let noise = "\u{1b}[2J\u{202e}".repeat(400);
    let says = |what: &str, wanted: &dyn Fn(&Value) -> bool| {
        agent.process.eventually(what, || wanted(&node.status()));
        agent.await_ready();
    };
    let trouble = |status: &Value, words: &str| {
        status["trouble"]
            .as_str()
            .is_some_and(|trouble| trouble.contains(words))
    };

    machine.shows(&[
        ("state", &huge),
        ("root/ops", &huge),
        ("root/events", &huge),
        ("enable_seq", &huge),
    ]);
    says("huge files are trouble", &|status| {
        trouble(status, "state cannot be read: it has more than 4096 bytes")
            && status["state"].is_null()
            && status["supported"] == true
    });
    let _ = agent.metrics();

    machine.shows(&[
        ("state", &noise),
        ("root/ops", &noise),
        ("enable_seq", "-1\n"),
        ("nr_rejected", "99999999999999999999999\n"),
    ]);
    says("noise is printable", &|status| {
        let state = status["state"].as_str().unwrap_or_default();
        trouble(status, "enable_seq makes no sense")
            && !state.is_empty()
            && !state.contains(char::is_control)
    });

    machine.shows(&[
        ("state", "bypassing\n"),
        ("enable_seq", "7\n"),
        ("switch_all", "1\n"),
        ("nr_rejected", "0\n"),
    ]);
    says("a new word is the kernel's", &|status| {
        status["state"] == "bypassing" && status["trouble"].is_null()
    });

    std::fs::remove_file(machine.path().join("sys/kernel/sched_ext")).unwrap();
    says("no folder is no support", &|status| {
        status["supported"] == false && status["state"].is_null() && status["enableSeq"].is_null()
    });

    std::fs::write(machine.path().join("sys/kernel/sched_ext"), "a file").unwrap();
    says("a file in its place is neither", &|status| {
        status["supported"].is_null() && trouble(status, "/sys/kernel/sched_ext makes no sense")
    });

    machine.attached("lab", 8);
    agent.await_state(&node, "enabled", 8);
    assert!(node.status()["trouble"].is_null());
}
