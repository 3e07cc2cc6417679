//! A scheduler that flaps cannot flood the API server.

use std::thread;
use std::time::{Duration, Instant};

use crate::ground::{Machine, Node, writes};

#[test]
fn a_flapping_scheduler_costs_a_write_a_second_and_its_last_state_is_reported() {
    let node = Node::new("flaps");
    let mut machine = Machine::idle();
    let agent = node.agent(&machine);
    agent.await_ready();
    let (counted, begin) = (writes()[1], Instant::now());
    for number in 1..=30 {
        machine.attached("lab", number);
        thread::sleep(Duration::from_millis(100));
        machine.detached(number);
        thread::sleep(Duration::from_millis(100));
    }
    machine.attached("lab", 31);
    agent.await_state(&node, "enabled", 31);
    let (written, seconds) = (writes()[1] - counted, begin.elapsed().as_secs());
    assert!(
        written <= 5 + seconds + 1,
        "{written} writes in {seconds} s"
    );
    assert!(written >= 3, "{written}: it was told meanwhile");
}
