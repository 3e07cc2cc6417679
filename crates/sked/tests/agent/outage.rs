//! An API server that is away while the kernel goes on: the state afterwards is the state then.

use crate::door::Door;
use crate::ground::{CLUSTER, Machine, Node, writes};

#[test]
fn after_an_outage_the_state_is_the_state_now() {
    let node = Node::new("cut-off");
    let mut machine = Machine::idle();
    machine.attached("lab", 1);
    let (door, kubeconfig) = Door::before(&CLUSTER, "agent-door.kubeconfig", |config| {
        node.sign(config);
    });
    let agent = node.agent_with(&machine, &kubeconfig);
    agent.await_ready();
    let (before, counted) = (node.report(), writes());

    door.shut();
    agent.await_unready();
    assert_eq!(agent.process.probe("healthz"), Some(200));
    // Nothing happened meanwhile: it is ready again without a write.
    door.open();
    agent.await_ready();
    assert_eq!(node.report(), before);
    assert_eq!(writes(), counted);

    door.shut();
    agent.await_unready();
    machine.detached(1);
    machine.attached("other", 2);
    machine.detached(2);
    agent.process.eventually("it has tried", || {
        agent.metrics().lines().any(|line| {
            line.starts_with("sked_node_report_writes_total{result=\"error\"}")
                && !line.ends_with(" 0")
        })
    });
    assert_eq!(node.report(), before, "the door is shut");
    assert!(!agent.is_ready());
    door.open();
    agent.await_state(&node, "disabled", 2);
    let now = writes();
    assert_eq!(
        [now[0], now[1], now[2]],
        [counted[0], counted[1] + 1, counted[2]],
        "one write"
    );
}

#[test]
fn an_agent_that_begins_without_an_api_server_reports_when_there_is_one() {
    let node = Node::new("early");
    let mut machine = Machine::idle();
    let (door, kubeconfig) = Door::before(&CLUSTER, "early-door.kubeconfig", |config| {
        node.sign(config);
    });
    door.shut();
    let agent = node.agent_with(&machine, &kubeconfig);
    agent.await_unready();
    machine.attached("lab", 1);
    door.open();
    agent.await_state(&node, "enabled", 1);
}
