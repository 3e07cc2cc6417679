//! Files with contents that no kernel writes: the report has them as trouble, and the agent goes on.

use serde_json::Value;

use testkit::node_agent::{AgentNode, KernelFiles};

#[test]
fn nonsense_is_reported_and_the_agent_goes_on() {
    let cluster = testkit::control_plane();
    let node = AgentNode::new(&cluster, "strange");
    let mut kernel = KernelFiles::idle();
    let agent = node.agent(&kernel);
    agent.await_ready();
    let huge = "x".repeat(1 << 20);
    let noise = "\u{1b}[2J\u{202e}".repeat(400);
    let await_status = |what: &str, wanted: &dyn Fn(&Value) -> bool| {
        agent.process.eventually(what, || wanted(&node.status()));
        agent.await_ready();
    };
    let trouble = |status: &Value, text: &str| {
        status["trouble"]
            .as_str()
            .is_some_and(|trouble| trouble.contains(text))
    };

    kernel.show(&[
        ("state", &huge),
        ("root/ops", &huge),
        ("root/events", &huge),
        ("enable_seq", &huge),
    ]);
    await_status("huge files are reported", &|status| {
        trouble(status, "state cannot be read: it has more than 4096 bytes")
            && status["state"].is_null()
            && status["supported"] == true
    });
    let _ = agent.metrics();

    kernel.show(&[
        ("state", &noise),
        ("root/ops", &noise),
        ("enable_seq", "-1\n"),
        ("nr_rejected", "99999999999999999999999\n"),
    ]);
    await_status("control characters are removed", &|status| {
        let state = status["state"].as_str().unwrap_or_default();
        trouble(status, "enable_seq is malformed")
            && !state.is_empty()
            && !state.contains(char::is_control)
    });

    kernel.show(&[
        ("state", "bypassing\n"),
        ("enable_seq", "7\n"),
        ("switch_all", "1\n"),
        ("nr_rejected", "0\n"),
    ]);
    await_status("an unknown state is reported as it is", &|status| {
        status["state"] == "bypassing" && status["trouble"].is_null()
    });

    std::fs::remove_file(kernel.path().join("sys/kernel/sched_ext")).unwrap();
    await_status("without the folder sched_ext is not supported", &|status| {
        status["supported"] == false && status["state"].is_null() && status["enableSeq"].is_null()
    });

    std::fs::write(kernel.path().join("sys/kernel/sched_ext"), "a file").unwrap();
    await_status("with a file in its place support is unknown", &|status| {
        status["supported"].is_null() && trouble(status, "/sys/kernel/sched_ext is malformed")
    });

    kernel.attached("lab", 8);
    agent.await_state(&node, "enabled", 8);
    assert!(node.status()["trouble"].is_null());
}
