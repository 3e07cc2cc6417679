//! A scheduler that flaps cannot flood the API server.

use std::thread;
use std::time::{Duration, Instant};

use testkit::node_agent::{AgentNode, KernelFiles, report_writes};

#[test]
fn a_flapping_scheduler_causes_one_write_per_second_and_its_last_state_is_reported() {
    let cluster = testkit::control_plane();
    let node = AgentNode::new(&cluster, "flaps");
    let mut kernel = KernelFiles::idle();
    let agent = node.agent(&kernel);
    agent.await_ready();
    let (counted, begin) = (report_writes(&cluster)[1], Instant::now());
    for number in 1..=15 {
        kernel.attached("lab", number);
        thread::sleep(Duration::from_millis(100));
        kernel.detached(number);
        thread::sleep(Duration::from_millis(100));
    }
    kernel.attached("lab", 16);
    agent.await_state(&node, "enabled", 16);
    let (written, seconds) = (
        report_writes(&cluster)[1] - counted,
        begin.elapsed().as_secs(),
    );
    assert!(
        written <= 5 + seconds + 1,
        "{written} writes in {seconds} s"
    );
    assert!(written >= 3, "{written} writes meanwhile");
}
